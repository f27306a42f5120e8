/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that no transaction can meet any more are put aside, as InnoDB's purge removes them: a table through which
 * rows pass (a queue, sessions) would otherwise be searched in time that grows with the length of the trace.
 *
 * Nothing is freed.  A record that is put aside comes back when its key is inserted again, and all of them come back when
 * a contradiction has to be explained, since an answer may be wrong by showing one.
 */
#ifndef MVCC_STORE_PURGE_H
#define MVCC_STORE_PURGE_H

#include <stdint.h>

#include "mvcc/store/store.h"

/* What the search can still go back to. */
struct purge_limits {
	uint32_t event;   /* what was done before this event is never taken back */
	uint32_t commits; /* commits up to this number are in every view that is or will be */
};

/* Puts aside the dead records of tables that were written a lot since the last time. */
void store_purge(struct store *store, const struct purge_limits *limits);
/* Brings back all that was put aside; store_purge() does nothing from then on. */
void store_restore(struct store *store);
/* The trail may take back that the record was made: then it is found by its key, as if it were put aside.  A search that
 * tries many ways would otherwise make a new one in each, and all of them would stay in the access paths. */
void store_remember(struct store_table *table, struct store_record *record);
/* The record of a key that was put aside or taken back; NULL: there is none. */
struct store_record *store_find_purged(const struct store_table *table, uint64_t hash, struct span key);
void store_purged_release(struct store_table *table);

#endif
