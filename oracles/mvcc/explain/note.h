/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: what the solver met on the way, before findings are made of it. */
#ifndef MVCC_EXPLAIN_NOTE_H
#define MVCC_EXPLAIN_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "common/verdict.h"
#include "mvcc/store/store.h"

enum { MVCC_ROWS_MAX = 4, MVCC_VERSIONS_MAX = 8 }; /* that a note names */

/* Documented behaviour and suspicions met on the way; become findings when their order stands. */
enum note_kind {
	NOTE_CURRENT_WRITE,  /* acted on a version that the own snapshot does not have */
	NOTE_CURRENT_SOURCE, /* its subqueries did */
	NOTE_OWN_WRITE_SHOWS,
	NOTE_NOOP_UPDATE,
	NOTE_DELETED_ROW,
	NOTE_SPLIT,     /* a row that was there all along */
	NOTE_SPLIT_GAP, /* one that came or moved meanwhile */
	NOTE_DIRTY_READ,
	NOTE_NEEDLESS_BLOCK,
	NOTE_NEEDLESS_DEADLOCK,
	NOTE_NO_AUTOCOMMIT, /* a statement outside of a transaction opened one */
	NOTE_MISMATCH,
	NOTE_COUNT
};

struct note {
	uint32_t kind; /* enum note_kind */
	uint32_t stmt, txn, other_txn;
	uint32_t traits; /* enum finding_trait */
	uint8_t level;   /* that the solver took the transaction to have; the trace may not tell which of two */
	uint32_t table;
	struct store_record *record;
	enum finding_class class; /* NOTE_MISMATCH */
	bool by_unrecorded_writer; /* what a session that was not recorded did may explain it */
	struct span text;       /* explanation, in the store's arena; none: only counted */
	struct finding_row *rows;
	uint32_t row_count;
	uint32_t *writers; /* statements that made the versions of these rows */
	uint32_t writer_count;
	struct finding_answer *answer; /* in the verdict's arena; NULL: none */
};

/* Rows and writers of the note that is being made. */
struct note_draft {
	struct finding_row rows[MVCC_ROWS_MAX];
	uint32_t row_count;
	uint32_t writers[MVCC_ROWS_MAX * MVCC_VERSIONS_MAX];
	uint32_t writer_count;
};

#endif
