/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The foreign keys of all tables, and from which statement to which each is there. */
#ifndef MVCC_PLAN_FOREIGN_KEY_LIST_H
#define MVCC_PLAN_FOREIGN_KEY_LIST_H

#include "mvcc/store/store.h"
#include "sql/sql.h"

struct mvcc;

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

static inline bool ref_action_carries(enum sql_ref_action action)
{
	return action == SQL_REF_CASCADE || action == SQL_REF_SET_NULL;
}

/* Does what happens to a parent's row change or delete the child's? */
static inline bool foreign_carries_on(const struct foreign *f)
{
	return ref_action_carries(f->on_delete) || ref_action_carries(f->on_update);
}

/* Collects the foreign keys of all tables.  A table with one that cannot be modelled becomes
 * unknown. */
void foreign_init(struct mvcc *m);
/* A statement has changed definitions: which keys there are from then on. */
void foreign_redefine(struct mvcc *m, uint32_t stmt);
/* The keys of all tables in the order in which they are gone through, once all are known. */
void foreign_arrange(struct mvcc *m);
/* The statement is executed. */
void foreign_take_effect(struct mvcc *m, uint32_t stmt);
/* Do locks in the one table follow from statements on the other? */
bool foreign_related(const struct mvcc *m, uint32_t a, uint32_t b);

#endif
