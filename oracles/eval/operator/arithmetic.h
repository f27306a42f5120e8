/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic and bit operators: types and values. */
#ifndef EVAL_OPERATOR_ARITHMETIC_H
#define EVAL_OPERATOR_ARITHMETIC_H

#include "eval/node.h"

/* Wide enough for sums and products of 64-bit integers. */
__extension__ typedef __int128 wide;

struct node *compile_arithmetic(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r);
struct node *compile_negate(struct compiler *c, const struct sql_expr *e, struct node *arg);
bool node_is_negative(const struct node *n); /* -x */
struct node *compile_bit_not(struct compiler *c, const struct sql_expr *e, struct node *arg);
/* MySQL 9.7 rounds what it computes from an AVG(), which has more digits than its type, before it goes on.
 * False: a limit is reached. */
bool round_as_typed(struct run *run, const struct node *n, struct decimal *r) MUST_CHECK;
/* The type in which a value takes part in arithmetic: INT, DECIMAL or DOUBLE. */
struct eval_type arithmetic_type(const struct eval_type *type);
/* x'41' is a text to MariaDB's arithmetic, and unsigned: DIV by what is made of it has no negative. */
bool is_unsigned_text(const struct eval_env *env, const struct node *n);
/* -ti and ABS(ti): to MariaDB no small integers, with as many digits. */
void type_at_least_int(const struct compiler *c, struct eval_type *type);
/* A number as the operand of a bit operation. */
uint64_t bits_of(struct run *run, const struct eval_type *type, const struct eval_value *v);
/* x / 0: NULL, or error 1365 where sql_mode says so and a row is being stored. */
struct eval_value division_by_zero(struct run *run);
/* Integers of either sign as BIGINT of the wanted signedness, else error 1690. */
struct eval_value check_integer(struct run *run, wide value, bool is_unsigned);
struct eval_value check_double(struct run *run, double d);
/* How many digits after the point a quotient has for later operations. */
uint32_t quotient_scale(const struct decimal *a, const struct decimal *b, uint32_t more);

#endif
