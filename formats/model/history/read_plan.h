/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a statement's text says of the rows that it read, where no probe does: of which table, by
 * which condition, and whether it returned or changed all that satisfy it.
 *
 * Only the plain shapes are told: one table, columns as they are, a condition without subqueries.
 * Of all others it is said that they read.
 */
#ifndef MODEL_HISTORY_READ_PLAN_H
#define MODEL_HISTORY_READ_PLAN_H

#include "base/arena.h"
#include "sql/sql.h"
#include "trace/record.h"

enum read_plan_kind {
	READ_PLAN_NOTHING, /* reads no table: VALUES, SET, COMMIT ... */
	READ_PLAN_ROWS,    /* SELECT: rows of one table */
	READ_PLAN_UPDATE,
	READ_PLAN_DELETE,
	READ_PLAN_UNKNOWN, /* reads, and that is all that is known */
};

enum { READ_PLAN_TABLES_MAX = 16 };

struct read_plan {
	enum read_plan_kind kind;
	struct sql_table_name table; /* of ROWS, UPDATE and DELETE */
	struct span where;           /* printed, with its parameters; "TRUE" where there is none */
	const struct sql_expr *condition; /* NULL: none */
	bool locking;                /* FOR UPDATE and its like */
	bool cut;                    /* LIMIT ... */
	uint64_t limit;              /* ... which fewer rows do not reach; 0: any number does */
	/* UNKNOWN: what it names, and reads. */
	struct sql_table_name tables[READ_PLAN_TABLES_MAX];
	size_t table_count;
	bool tables_cut; /* more than that */
};

/* `text` as the server read it, `params` as the statement's record has them.  All that the plan names lives in the
 * arena. */
void read_plan_make(struct read_plan *plan, struct arena *arena, struct span text,
	const struct sql_options *options, struct span params);
/* The value that the condition pins the column to (`column` = constant, under AND alone); NULL: none. */
const struct sql_expr *read_plan_pin(const struct sql_expr *condition, struct span column);

#endif
