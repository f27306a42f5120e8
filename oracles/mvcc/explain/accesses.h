/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What statements read and wrote, as far as it is certain, for the oracle `application` (common/accesses.h).
 *
 * The solver's order is one of those that explain the answers, and others may, too.  So no version is taken from it but
 * what was written and by whom.  Which version of a row a statement saw follows from three things alone, which hold in
 * every order:
 *	the order of the versions of a row: a writer holds its lock from the write to its transaction's end;
 *	times: a commit that was sent after the statement was answered is not seen, one that was answered before the
 *	transaction (at READ COMMITTED and for locking reads: the statement) began is;
 *	values: what the answer shows of the row.
 * Where several versions are possible the read has all of them (low to high).
 */
#ifndef MVCC_EXPLAIN_ACCESSES_H
#define MVCC_EXPLAIN_ACCESSES_H

#include "base/map.h"
#include "common/accesses.h"
#include "mvcc/store/store.h"

struct mvcc;

/* When a transaction ended: its COMMIT was sent, and answered.  0 and UINT64_MAX: not known. */
struct txn_end {
	uint64_t sent, answered;
};

struct row_versions {
	struct mvcc *m;
	struct accesses out;
	struct txn_end *ends;  /* by transaction of the schedule */
	uint64_t *snapshot;    /* by transaction: the answer at which it has its read view for certain; UINT64_MAX */
	uint32_t *txn_of;      /* by transaction of the schedule: of the history; ACCESS_NONE: not committed, or not there */
	uint32_t *stmt_of;     /* by statement of the schedule: of the history; ACCESS_NONE: not there */
	struct map row_of;     /* record (its address) to row */
	struct store_record **records;      /* by row */
	const struct store_version **shown; /* by version: where its image is; NULL: absent */
	uint32_t *first_row;   /* by table, one more: its rows */
	/* By version.  The end of it, or of an earlier one of the row, that was sent last; the end of it, or of a later one,
	 * that was answered first.  Both only grow along a row. */
	uint64_t *sent_last, *answered_first;
};

void row_versions_init(struct row_versions *rv, struct mvcc *m);
void row_versions_release(struct row_versions *rv);
/* ACCESS_NONE: its versions are not known, or there is only one. */
uint32_t row_of_record(const struct row_versions *rv, const struct store_record *record);
/* Values of a row at a position; NULL: it is not there. */
const struct eval_value *row_image(const struct row_versions *rv, uint32_t row, uint32_t position);

/* Calls mvcc_options.accesses with all of it. */
void accesses_report(struct mvcc *m);

#endif
