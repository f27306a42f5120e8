/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What instrumentation does with a statement: whether its log is to be read, which columns are
 * appended to it, what may be said of what it read.
 *
 * A read gets one column for each prepared table of its FROM clause, behind its own:
 * CAST(CONCAT(key, '|', version) AS BINARY).  The text of the statement stays as the client sent it
 * but for that.  Reads whose rows are not rows of their tables (DISTINCT, GROUP BY, aggregates,
 * UNION, derived tables) or whose columns go elsewhere (INTO) are left alone; what they read is not
 * seen, and said so (`blind`).
 */
#ifndef INSTRUMENT_PLAN_H
#define INSTRUMENT_PLAN_H

#include "instrument/log.h"
#include "sql/sql.h"

enum {
	PLAN_TABLES_MAX = 16,      /* with more, a read is left alone */
	PLAN_PARAMS_MAX = 64,      /* of a predicate */
	PLAN_TEXT_MAX = 64 * 1024, /* longer statements are not rewritten */
};

struct plan_param {
	uint32_t index;  /* of the statement's parameters */
	uint32_t offset; /* of its ? in the predicate */
};

struct plan {
	bool writes;      /* may fire triggers: its log is read behind it */
	bool diagnostics; /* tells of the statement before it: nothing may come between them */
	bool vague;       /* may be several statements, or end transactions: nothing is exact */
	bool no_tables;   /* touches no table but the server's own */
	bool locking;     /* FOR UPDATE and its like: reads what is current */
	bool reads;       /* rows are returned and their versions are known */
	bool rewritten;   /* `text` goes to the server */
	struct buf text;
	/* Tables whose column was appended, in this order. */
	const struct instrument_table *tables[PLAN_TABLES_MAX];
	size_t table_count;
	/* Tables that are read without being seen. */
	const struct instrument_table *blind[PLAN_TABLES_MAX];
	size_t blind_count;
	/* The condition that says which rows of `predicate_of` it takes; NULL: none is known. */
	const struct instrument_table *predicate_of;
	struct buf predicate;
	struct plan_param params[PLAN_PARAMS_MAX];
	size_t param_count;
};

/* Plans a statement, the only one of its text.  `database`: the current one.  A text that cannot be
 * read is a write: it may do anything.  Tables that it alters are marked as disturbed. */
void plan_statement(struct plan *plan, const struct instrument_tables *tables, struct span text,
	struct span database, const struct sql_options *options);
void plan_copy(struct plan *to, const struct plan *from);
void plan_release(struct plan *plan);

/* The predicate with its parameters, whose SQL literals `literals` has one by one. */
void plan_predicate(
	const struct plan *plan, const struct span *literals, size_t count, struct buf *out);

#endif
