/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the loader wants of a block's records, taken out of them: the half of loading that needs
 * nothing but the bytes, so that another thread can do it.
 *
 * `kinds` has an entry a record that matters, in the trace's order; each says in which array the
 * next element is meant.  Results, and kinds we do not know, have none.  A probe's rows are in
 * `rows`, one after the other.  Everything points into the bytes that were decoded.
 */
#ifndef MODEL_HISTORY_DECODE_H
#define MODEL_HISTORY_DECODE_H

#include "base/attr.h"
#include "base/buf.h"
#include "model/history/build.h"
#include "trace/record.h"

enum decoded_kind {
	DECODED_STMT,
	DECODED_TXN,
	DECODED_PROBE,
	DECODED_OTHER,
};

/* Could the statement have ended a transaction inside and left another one open?  For traces whose
 * recorder did not tell (enum txn_mixed); by the words alone, so sometimes for nothing. */
enum decoded_mix {
	DECODED_MIX_NO,
	DECODED_MIX_YES,
	DECODED_MIX_PREPARES, /* prepares such a statement */
	DECODED_MIX_EXECUTES, /* executes a prepared one: which, its session tells */
};

struct decoded_stmt {
	uint64_t txn, seq, begin_seq;
	uint32_t session, number;
	uint32_t index; /* of the record in its block */
	uint16_t error; /* UINT16_MAX: that or more */
	uint16_t flags; /* enum history_stmt_flags */
	uint8_t mix;    /* enum decoded_mix */
};

enum decoded_row_flags {
	DECODED_ROW_NAME = 1 << 0,     /* the version has a name; else nil */
	DECODED_ROW_PREVIOUS = 1 << 1, /* ... the one it overwrote */
	DECODED_ROW_SAYS = 1 << 2,     /* the row says what it overwrote, be it nil */
	/* Something is out of the ordinary (a long key, a version that is no integer, a key that
	 * changed ...): decode_row() of `image` says all; nothing else is filled. */
	DECODED_ROW_LONG = 1 << 3,
};

struct decoded_row {
	uint64_t key; /* struct build_key */
	uint64_t name, previous;
	const char *image, *old_image; /* NULL: none; LONG: the encoded row, up to the end */
	uint32_t image_len, old_image_len;
	uint8_t op; /* enum probe_op */
	uint8_t flags;
};

struct decoded_probe {
	uint64_t seq, txn;
	struct span predicate;
	uint64_t predicate_hash; /* hash_bytes() of it, if there is one */
	struct span rows; /* encoded; for the kinds whose rows are not in `rows` */
	uint32_t session, number, table;
	uint32_t row_count; /* in decoded.rows */
	uint8_t probe, read_kind;
	bool exact;
	bool sound; /* kind and rows are as they should be */
};

struct decoded_other {
	struct span whole; /* the record; that its fields are sound is still to be seen */
	uint32_t kind;
	uint32_t index; /* in its block */
};

enum { DECODE_COLUMNS_KEPT = 16 };

struct decoded {
	uint8_t *kinds;
	struct decoded_stmt *stmts;
	struct record_txn *txns;
	struct decoded_probe *probes;
	struct decoded_row *rows;
	struct decoded_other *others;
	size_t kind_count, stmt_count, txn_count, probe_count, row_count, other_count;
	size_t kind_capacity, stmt_capacity, txn_capacity, probe_capacity, row_capacity,
		other_capacity;
	uint32_t taken;           /* records that are sound, from the first */
	const unsigned char *end; /* after them: where the bytes end, unless one is malformed */
	/* For history_counts. */
	uint64_t probe_rows, rows_skipped, records_skipped;
	bool sets_snapshots; /* for history.sets_snapshots */
	/* Column lists of results, by a hash of their first bytes, to know them again. */
	struct buf columns[DECODE_COLUMNS_KEPT];
};

void decoded_release(struct decoded *decoded);
/* Takes at most `count` records from the front of `records`; what was decoded before is gone. */
void decode_records(struct decoded *decoded, struct span records, uint32_t count);
/* The next row of a probe.  False: it is no row; mp goes past it if it is anything at all. */
bool decode_row(struct mp *mp, struct probe_row *row) MUST_CHECK;

#endif
