/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What queries answered before.  The search executes a statement again for every view and every order that it tries,
 * and most of them show the same rows.  A query has no effect but its answer, and its answer depends on nothing but its
 * plan, the rows of the tables that it reads and LAST_INSERT_ID(): the same rows, the same answer.
 *
 * The rows are gathered all the same, because choices and notes come of that.  Rows are the same where they are at the same
 * place in memory: images are never changed, and their memory is never used again.
 */
#ifndef MVCC_READ_QUERY_MEMO_H
#define MVCC_READ_QUERY_MEMO_H

#include "base/arena.h"
#include "base/map.h"
#include "eval/eval.h"

struct mvcc;

/* After the tables that a key stands for, with their rows: the query reads another table, or answers. */
struct memo_step {
	const struct eval_table *table; /* NULL: it answers */
	struct eval_result result;
	bool fits; /* what was recorded */
};

struct query_memo {
	struct map steps; /* of keys to numbers in `list` */
	struct memo_step *list;
	size_t count, capacity;
	struct arena arena;
};

/* Gathers the tables of the current statement as far as they are known.  True: it has answered before, seeing these rows. */
bool query_memo_find(struct mvcc *m, struct eval_result *result, bool *fits);
/* Of the current statement, with the rows that it gathered. */
void query_memo_keep(struct mvcc *m, const struct eval_result *result, bool fits);
void query_memo_release(struct query_memo *memo);

#endif
