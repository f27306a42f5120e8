/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows that are not known.
 *
 * A write that cannot be executed (not supported, contradicted, or itself about rows that are not
 * known) leaves versions without an image behind, only on the rows that it can have touched: fog.
 * They belong to its transaction like any other version, so they come into sight, or go, with it.
 * A read that meets fog is undecided; where its answer shows the row, the version that it saw gets
 * its image.  Of keys that have no record, the table's `others` record tells: fog there means that
 * there may be rows with any such key.
 *
 * Only tables with a primary key (or one that stands for it); of others the whole table is unknown.
 */
#ifndef MVCC_UNKNOWN_UNKNOWN_ROWS_H
#define MVCC_UNKNOWN_UNKNOWN_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "mvcc/store/visibility.h"

struct mvcc;

enum fog {
	FOG_NONE,
	FOG_WRITTEN, /* by a statement that could not be executed */
	FOG_INITIAL, /* the trace does not tell what was there at first */
};

/* Why the statement at hand can meet rows that are not known; NULL: it cannot. */
uint32_t fog_in_reach(struct mvcc *m);
/* At the start: of the keys that have no record by now, anything may be there. */
void fog_initial(struct mvcc *m, struct store_table *table);
/* What the statement at hand, which succeeded, may have done to a table that it writes.  False:
 * cannot be said by rows. */
bool fog_write(struct mvcc *m, uint32_t table);
/* The DELETE at hand met rows that are not known, and they are gone now.  False: cannot be said. */
bool fog_delete(struct mvcc *m);
/* Anything may be in the table.  False: likewise. */
bool fog_all(struct mvcc *m, struct store_table *table);
/* A row came with a key that is not known, and that no other has.  False: likewise. */
bool fog_new_row(struct mvcc *m, struct store_table *table);
/* Are there rows at the end of the trace that are not known? */
bool fog_at_end(const struct mvcc *m, const struct store_table *table);
/* What the answer of the query at hand tells of rows that were not known. */
void fog_learn(struct mvcc *m);

/* Shared by unknown_rows.c and learn_rows.c. */
/* The oldest and the newest read view that the statement at hand can have. */
void view_range(const struct mvcc *m, uint32_t *low, uint32_t *high);
bool is_own(const struct mvcc *m, const struct store_version *v);
bool is_committed(const struct mvcc *m, const struct store_version *v);
/* The version without an image that a statement that reads so may look at; NULL: none. */
const struct store_version *record_fogged(
	const struct mvcc *m, const struct store_record *record, enum read_mode mode);
/* May a record be made for one of the keys that have none?  What `others` says of it is copied
 * then; but not what may yet be taken back. */
bool others_are_settled(const struct mvcc *m, const struct store_table *table);

#endif
