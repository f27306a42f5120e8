/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Foreign keys: a child needs its parent (error 1452), a parent that has children cannot go (1451)
 * unless they go, change or are cut off with it (CASCADE, SET NULL).  InnoDB tests them row by row
 * on the newest committed rows (MySQL manual, "FOREIGN KEY Constraints").
 */
#ifndef MVCC_EXECUTE_FOREIGN_KEYS_H
#define MVCC_EXECUTE_FOREIGN_KEYS_H

#include "mvcc/execute/write.h"
#include "sql/sql.h"

enum { FOREIGN_COLUMNS_MAX = 16 };

#define FOREIGN_KEY_TRAILED(X) X(alive, VALUE)

enum {
#define X(field, how) TRAILED_NAME(FOREIGN_KEY, field)
	FOREIGN_KEY_TRAILED(X)
#undef X
};

struct foreign {
	uint32_t child, parent; /* tables */
	const struct sql_key *key;
	uint32_t child_columns[FOREIGN_COLUMNS_MAX], parent_columns[FOREIGN_COLUMNS_MAX];
	uint32_t count;
	enum sql_ref_action on_delete, on_update;
	struct span database, name; /* by which InnoDB puts them in order */
	uint32_t made_by, ended_by; /* statements of the schedule; STORE_NONE: from the start, never */
	uint32_t alive;             /* between the two */
};

/* Does what happens to a parent's row change or delete the child's? */
static inline bool foreign_carries_on(const struct foreign *f)
{
	return f->on_delete == SQL_REF_CASCADE || f->on_delete == SQL_REF_SET_NULL ||
	       f->on_update == SQL_REF_CASCADE || f->on_update == SQL_REF_SET_NULL;
}

/* Why a row is changed that refers to another: that one's change, by which key, and why it was
 * changed itself. */
struct foreign_step {
	const struct foreign_step *cause; /* NULL: by the statement */
	const struct foreign *by;
	const struct store_table *table;
	const struct change *change;
};

/* Collects the foreign keys of all tables.  A table with one that cannot be modelled becomes
 * unknown. */
void foreign_init(struct mvcc *m);
/* A statement has changed definitions: which keys there are from then on. */
void foreign_redefine(struct mvcc *m, uint32_t stmt);
/* The keys of all tables in the order in which they are gone through, once all are known. */
void foreign_arrange(struct mvcc *m);
/* The statement is executed. */
void foreign_take_effect(struct mvcc *m, uint32_t stmt);
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
/* Do locks in the one table follow from statements on the other? */
bool foreign_related(const struct mvcc *m, uint32_t a, uint32_t b);

#endif
