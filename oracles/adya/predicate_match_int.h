/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quick half of evaluating predicates: integers, NULL and integer columns, with comparison,
 * BETWEEN, IN, IS, three-valued logic and + - * %, as the manual's chapter "Functions and
 * Operators" has them.  Anything else in a predicate is a leaf whose value is not known; it may
 * still not matter (k = 5 AND f(x), where k is 6).
 */
#ifndef ADYA_PREDICATE_MATCH_INT_H
#define ADYA_PREDICATE_MATCH_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "sql/sql.h"

/* Wide enough for sums of BIGINT and BIGINT UNSIGNED. */
__extension__ typedef __int128 wide;

struct operand {
	enum { OPERAND_UNKNOWN, OPERAND_NULL, OPERAND_INT } type;
	wide i;
};

struct int_names {
	const struct span *columns; /* in the order of row images */
	uint32_t count;
	struct span table;
	const bool *odd; /* columns whose numbers compare by rules of their own: YEAR; NULL: none */
};

struct int_node;

struct int_predicate {
	const struct int_node *root;
	bool whole;           /* no leaf is unknown */
	bool foreign;         /* names a column that the table does not have */
	uint32_t column_last; /* past the last column it looks at */
};

void int_compile(struct int_predicate *out, struct arena *arena, const struct sql_expr *expr,
	const struct int_names *names);
/* `columns`: of the row, up to column_last. */
struct operand int_evaluate(const struct int_predicate *predicate, const struct operand *columns);
/* Rows whose column is outside [*low, *high] do not satisfy it. */
void int_range(const struct int_predicate *predicate, uint32_t column, wide *low, wide *high);
/* True where it says nothing but that one column is within [*low, *high]: NULL and what is outside
 * do not satisfy it, all else does. */
bool int_is_range(
	const struct int_predicate *predicate, uint32_t *column, wide *low, wide *high);

/* 5 < k is k > 5. */
enum sql_op turned_comparison(enum sql_op op);

#endif
