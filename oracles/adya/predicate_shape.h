/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a query over several tables asks of each row: which mentions of tables it has, and how a row
 * of each takes part in its result.
 *
 * Only queries that are *monotone* are understood: a row more in a table never takes one out of the
 * result.  Those are selections and joins, UNION, DISTINCT, derived tables and CTEs of them, and IN
 * and EXISTS with such a query that stand alone in the WHERE clause or under AND.  So
 * rows that a table certainly had give results that certainly came, and from rows that it may have
 * had follows what at most came.  NOT IN and NOT EXISTS with a query of one table, in the outermost WHERE
 * clause, turn that round for this table: a row more never adds one to the result.  Aggregates, scalar
 * subqueries, LIMIT are not understood; the right side of a LEFT JOIN is where nothing but its ON clause speaks of it (it then
 * neither adds nor hides rows of the others), or where WHERE refuses its NULLs.  Nor are CTEs that
 * nothing names, which no server evaluates, and those beside a UNION, which may be on either side.
 */
#ifndef ADYA_PREDICATE_SHAPE_H
#define ADYA_PREDICATE_SHAPE_H

#include "base/arena.h"
#include "sql/sql.h"

enum { SHAPE_MENTIONS_MAX = 16, SHAPE_LOCALS_MAX = 16, SHAPE_UNIONS_MAX = 32 };

enum mention_role {
	MENTION_LISTED, /* its rows are rows of the result */
	MENTION_EXISTS, /* in IN or EXISTS: what its rows hold is not in the result */
	MENTION_VALUES, /* in a derived table, a CTE, a UNION or under DISTINCT */
};

struct mention {
	struct sql_table_ref *ref;
	enum mention_role role;
	bool negated; /* in NOT IN or NOT EXISTS; its role is MENTION_EXISTS */
	struct sql_table_ref *outer; /* the LEFT JOIN whose right side it is; NULL: none */
	const struct sql_query *block;
	/* UNIONs, a bit each, that it stands on the left side of, and on the right side. */
	uint32_t left, right;
	/* Conditions that a row fails or fulfils alone. */
	const struct sql_expr *locals[SHAPE_LOCALS_MAX];
	uint32_t local_count;
};

struct shape {
	struct sql_query *query;
	struct mention mentions[SHAPE_MENTIONS_MAX];
	uint32_t count;
	bool negates; /* some mention is negated */
	bool cut; /* ORDER BY and LIMIT at its end: the result is its first rows */
};

/* Do they stand on two sides of a UNION?  Then neither has a say in rows that come from the other. */
static inline bool mentions_apart(const struct mention *a, const struct mention *b)
{
	return (a->left & b->right) | (a->right & b->left);
}

/* Does the table of a mention have a column of this name? */
typedef bool shape_column_fn(void *ctx, const struct sql_table_ref *ref, struct span name);

/* False: not understood.  Mentions are tables whose name has a database. */
bool shape_of(struct shape *shape, struct sql_query *query, shape_column_fn *has, void *ctx);

#endif
