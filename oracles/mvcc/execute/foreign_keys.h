/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Foreign keys: a child needs its parent (error 1452), a parent that has children cannot go (1451)
 * unless they go, change or are cut off with it (CASCADE, SET NULL).  InnoDB tests them row by row
 * on the newest committed rows (MySQL manual, "FOREIGN KEY Constraints").
 */
#ifndef MVCC_EXECUTE_FOREIGN_KEYS_H
#define MVCC_EXECUTE_FOREIGN_KEYS_H

#include "mvcc/execute/write.h"
#include "mvcc/plan/foreign_key_list.h"

/* Why a row is changed that refers to another: that one's change, by which key, and why it was
 * changed itself. */
struct foreign_step {
	const struct foreign_step *cause; /* NULL: by the statement */
	const struct foreign *by;
	const struct store_table *table;
	const struct change *change;
};

/* A row goes from `old` (NULL: none) to `new`: is everything there that it refers to?  Not asked of
 * the key by which it follows its parent. */
void foreign_parents(struct mvcc *m, struct store_table *table, const struct eval_value *old,
	const struct eval_value *new, const struct foreign *but, struct write_answer *answer);
/* A row that was taken from its place: what happens to those that refer to it. */
void foreign_children(struct mvcc *m, struct store_table *table, const struct change *change,
	const struct foreign_step *cause, struct write_answer *answer);
/* Does the one row refer to the other, of the same table? */
bool foreign_refers(const struct mvcc *m, uint32_t table, const struct eval_value *child,
	const struct eval_value *parent);

#endif
