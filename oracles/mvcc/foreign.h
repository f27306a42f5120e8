/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Foreign keys: a child needs its parent (error 1452), a parent that has children cannot go (1451)
 * unless they go, change or are cut off with it (CASCADE, SET NULL).  InnoDB tests them row by row
 * on the newest committed rows (MySQL manual, "FOREIGN KEY Constraints").
 */
#ifndef MVCC_FOREIGN_H
#define MVCC_FOREIGN_H

#include "mvcc/write.h"
#include "sql/sql.h"

enum { FOREIGN_COLUMNS_MAX = 16 };

struct foreign {
	uint32_t child, parent; /* tables */
	uint32_t child_columns[FOREIGN_COLUMNS_MAX], parent_columns[FOREIGN_COLUMNS_MAX];
	uint32_t count;
	enum sql_ref_action on_delete, on_update;
};

/* Collects the foreign keys of all tables.  A table with one that cannot be modelled becomes
 * unknown. */
void foreign_init(struct mvcc *m);
/* Before a row goes from `old` to `new` (NULL: is not there): errors into the answer. */
void foreign_before(struct mvcc *m, struct store_table *table, const struct eval_value *old,
	const struct eval_value *new, struct write_answer *answer);
/* After that: what happens to its children. */
void foreign_after(struct mvcc *m, struct store_table *table, const struct eval_value *old,
	const struct eval_value *new, struct write_answer *answer);
/* Do locks in the one table follow from statements on the other? */
bool foreign_related(const struct mvcc *m, uint32_t a, uint32_t b);

#endif
