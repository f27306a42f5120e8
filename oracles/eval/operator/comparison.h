/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparison (comparison.c), logic.c, between.c, in.c, like.c: how two values meet, and three-valued truth. */
#ifndef EVAL_OPERATOR_COMPARISON_H
#define EVAL_OPERATOR_COMPARISON_H

#include "eval/node.h"

enum cmp_class { CMP_STRING, CMP_INT, CMP_DECIMAL, CMP_REAL, CMP_TIME, CMP_NULL };

enum cmp_class class_of(const struct eval_type *type);
/* MariaDB compares these as DECIMALs, all digits of either; MySQL as DOUBLEs. */
bool integer_and_text(enum cmp_class a, enum cmp_class b);
/* A subquery without tables is constant to the servers, and so is what is made of it. */
bool may_be_constant(const struct node *n);
bool node_is_and_or(const struct node *n);
bool node_is_not(const struct node *n);
bool is_bigint_column(const struct node *n);

/* How two expressions are compared: in which type, under which collation. */
struct comparison {
	struct eval_type as;
	uint16_t collation;
	bool rounds; /* DECIMALs are compared as they would be printed */
	bool between;
	bool joins; /* a hash join of MySQL may do it */
	enum comparison_sorted { NOT_SORTED, SORTED, MAY_BE_SORTED } sorted; /* of an IN list, in the first */
	double within; /* DOUBLEs with decimals: equal when nearer than this */
	uint8_t year;  /* 1, 2: the first, second value is a constant beside a YEAR column */
	/* MariaDB: a constant text beside a BIGINT column (signed, unsigned), which it makes an integer when
	 * the statement is prepared, before strict mode begins. */
	enum { NOT_AHEAD, AHEAD_SIGNED, AHEAD_UNSIGNED } ahead;
};

/* False: the compiler failed (error 1267, or a pair of types that is not modelled). */
bool comparison_of(struct compiler *c, const struct node *a, const struct node *b,
	struct comparison *out) MUST_CHECK;
/* The same as the operators =, < ... compare. */
bool operator_comparison_of(struct compiler *c, const struct node *a, const struct node *b,
	struct comparison *out) MUST_CHECK;
/* Without the collation: IN and BETWEEN have one for all of their operands. */
bool comparison_type_of(struct compiler *c, const struct node *a, const struct node *b,
	struct comparison *out) MUST_CHECK;
/* x IN (list): is a value of the list, which is args[1] and on, compared as a text? */
bool in_list_compares_texts(const struct eval_env *env, struct node *const *args, uint32_t count,
	const struct comparison *how);
/* What the operators do and IN, BETWEEN and CASE do not. */
void as_operator(struct compiler *c, const struct node *a, const struct node *b,
	struct comparison *how);
/* A constant text beside a BIGINT column: see `ahead`.  MySQL makes it a number then, too, and it is an error in
 * strict mode whether it is asked for or not. */
void note_ahead(struct compiler *c, const struct node *column, const struct node *constant,
	struct comparison *how);
/* An index may find other rows than the comparison does (index_lookup_guards.c). */
bool index_lookup_refused(
	struct compiler *c, const struct node *column, const struct node *value, bool equal);
bool items_ask_for_extremes(const struct sql_item *items);
/* Neither value is NULL.  *null: one has no value in the type of the comparison. */
int compare_as(struct run *run, const struct comparison *how, const struct eval_type *at,
	const struct eval_value *a, const struct eval_type *bt, const struct eval_value *b,
	bool *null);
/* The other value is NULL: this one is converted all the same, an error in strict mode where it is a
 * string that is no number. */
void compare_alone(struct run *run, const struct comparison *how, const struct eval_type *type,
	const struct eval_value *v);
/* A string, or a number as text, in the character set of `collation`. */
struct span text_in(struct run *run, const struct eval_type *type, const struct eval_value *v,
	uint16_t collation);

struct node *compile_compare(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r);
struct node *compile_logic(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r);
struct node *compile_not(struct compiler *c, const struct sql_expr *e, struct node *arg);
struct node *compile_is(struct compiler *c, const struct sql_expr *e, struct node *arg);
/* Whether it IS NULL; v: its value. */
bool run_asks_null(const struct node *arg, struct frame *f, const struct eval_value *v);
struct node *compile_between(struct compiler *c, const struct sql_expr *e);
/* Are all three, x and its bounds, integers (between_is_integer) or exact numbers, but for NULLs? */
bool between_is_integer(struct node *const *args);
bool between_is_exact(struct node *const *args);
struct node *compile_in_list(struct compiler *c, const struct sql_expr *e);
struct node *compile_like(struct compiler *c, const struct sql_expr *e);

/* The whole of WHERE, ON or HAVING. */
struct node *compile_condition(struct compiler *c, const struct sql_expr *e);

bool node_is_row(const struct node *n);
/* NULL, or a subquery that may hold it, somewhere within. */
bool has_null(const struct node *n);
/* AND, guarded or not; one of = < <= > >= <> <=> of two values that are no rows and no JSON, not guarded. */
bool node_is_and(const struct node *n);
bool node_is_comparison(const struct node *n);
/* Somewhere within: MariaDB takes (NULL, 1) = (1, 1) for never NULL, and says so where IS NULL asks. */
bool compares_rows(const struct node *n);
struct node *compile_row(struct compiler *c, const struct sql_expr *e);

static inline struct eval_value truth(bool b)
{
	return eval_int(b);
}

/* Truth of op given the order of two values that are not NULL. */
bool order_satisfies(enum sql_op op, int order);

/* Is a constant text no number as a whole? */
bool constant_is_cut(struct compiler *c, const struct node *constant);

#endif
