/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows that are not known.
 *
 * The solver cannot execute some writes: they are not supported, contradicted, or act on unknown rows themselves.  Such a
 * write leaves an unknown version, one without an image, on each row that it can have touched.  The version belongs to
 * the writer's transaction like any other, so it becomes visible, or goes, with it.  A read that meets one is undecided;
 * where its answer shows the row, the version gets its image.  The table's `others` record stands for all keys that have
 * no record: an unknown version there means that there may be rows with any such key.
 *
 * Only tables with a primary key (or one that stands for it); of others the whole table is unknown.
 */
#ifndef MVCC_UNKNOWN_UNKNOWN_ROWS_H
#define MVCC_UNKNOWN_UNKNOWN_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "mvcc/read/visibility.h"

struct mvcc;

enum unknown_kind {
	UNKNOWN_NONE,
	UNKNOWN_WRITTEN, /* by a statement that could not be executed */
	UNKNOWN_INITIAL, /* the trace does not tell what was there at first */
};

/* Why the current statement can meet rows that are not known, as a reason; REASON_NONE: it cannot. */
uint32_t unknown_in_reach(struct mvcc *m);
/* At the start: of the keys that have no record by now, anything may be there. */
void make_initial_unknown(struct mvcc *m, struct store_table *table);
/* What the current statement, which succeeded, may have done to a table that it writes.  False:
 * cannot be said by rows. */
bool write_unknown(struct mvcc *m, uint32_t table);
/* The current DELETE met rows that are not known, and they are gone now.  False: cannot be said. */
bool delete_unknown(struct mvcc *m);
/* Anything may be in the table.  False: cannot be said. */
bool make_all_unknown(struct mvcc *m, struct store_table *table);
/* A row came with a key that is not known, and that no other has.  False: cannot be said. */
bool make_new_row_unknown(struct mvcc *m, struct store_table *table);
/* Are there rows at the end of the trace that are not known? */
bool unknown_at_end(const struct mvcc *m, const struct store_table *table);
/* What the answer of the current query tells of rows that were not known. */
void learn_unknown_rows(struct mvcc *m);

/* Shared by unknown_rows.c and learn_rows.c. */
/* The oldest and the newest read view that the current statement can have. */
void view_range(const struct mvcc *m, uint32_t *low, uint32_t *high);
bool is_own(const struct mvcc *m, const struct store_version *v);
bool is_committed(const struct mvcc *m, const struct store_version *v);
/* The version without an image that a statement that reads so may look at; NULL: none. */
const struct store_version *record_unknown(
	const struct mvcc *m, const struct store_record *record, enum read_mode mode);
/* May a record be made for one of the keys that have none?  What `others` says of it is copied
 * then; but not what may yet be taken back. */
bool others_are_settled(const struct mvcc *m, const struct store_table *table);

#endif
