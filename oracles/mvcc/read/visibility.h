/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a statement sees: read views, current reads, dirty reads (semantics.md, section 5).
 */
#ifndef MVCC_READ_VISIBILITY_H
#define MVCC_READ_VISIBILITY_H

#include "mvcc/store/store.h"

struct mvcc;

/* How a mention of a table is read. */
enum read_mode {
	READ_DIRTY,    /* the newest version, of any transaction */
	READ_SNAPSHOT, /* a read view */
	READ_CURRENT,  /* the newest committed version and own ones; locks */
};

struct gathered {
	const struct eval_value *const *rows;
	struct store_record *const *records;
	size_t count;
	struct store_table *table;
	enum read_mode mode;
};

struct store_table *solver_store_table(struct mvcc *m, const struct eval_table *def);
/* Of the tables that the current statement reads; what it changes is always READ_CURRENT. */
enum read_mode read_mode_of(const struct mvcc *m);
/* The records of a table that the current statement can be about. */
size_t records_of(struct mvcc *m, struct store_table *table, struct store_record ***out);
/* The rows of a table as the current statement sees them; in the scratch arena.  False: the
 * table's content is not known. */
bool gather(struct mvcc *m, struct store_table *table, enum read_mode mode, struct gathered *out);
/* The transaction's read view from now on, one of those from `low` to what is committed now. */
void set_view(struct mvcc *m, uint32_t txn, uint32_t view, uint32_t low);
/* The read view of the current statement; made where there is none yet. */
uint32_t statement_view(struct mvcc *m);
/* Whether the current statement made the read view that we think it made only the server knows. */
void doubt_view(struct mvcc *m);
/* Does the row satisfy the statement's WHERE?  False: not known. */
bool passes_dirty(const struct mvcc *m, uint32_t level);
bool row_matches(struct mvcc *m, const struct eval_value *row, enum eval_truth *truth);

/* A plain read whose read view was made before. */
bool sees_snapshot(const struct mvcc *m, uint32_t stmt);

/* For struct eval_source. */
bool rows_of(void *ctx, const struct eval_table *table, const struct sql_table_ref *ref,
	struct eval_rows *out);
/* A table of numbers of this name; NULL: it is none. */
const struct eval_table *sequence_named(struct mvcc *m, struct span name);
/* False: it is no such table. */
bool sequence_rows(const struct mvcc *m, const struct eval_table *def, struct eval_rows *out);
const struct eval_table *table_named(void *ctx, const struct sql_table_name *name);

#endif
