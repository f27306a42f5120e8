/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One statement: what it can have answered, against what was recorded. */
#ifndef MVCC_EXECUTE_EXECUTE_H
#define MVCC_EXECUTE_EXECUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "mvcc/solver.h"

struct eval_result;
struct execution_rows;
struct plan;
struct record_stmt;

/* False: m->search.mismatch says why the recorded answer cannot be */
bool execute(struct mvcc *m, uint32_t stmt);
/* By the answer alone: is it not in the order of its column number `by` (from 1; 0: none), or has
 * it a row twice that no table has? */
bool answer_is_out_of_order(struct mvcc *m, const struct eval_result *result,
	const struct execution_rows *recorded, uint32_t by);
bool answer_has_equal_rows(const struct mvcc *m, const struct execution_rows *recorded);
/* Of m->search.mismatch: why it cannot be decided whether it is one (reason.h), be all orders tried; REASON_NONE: it can. */
uint32_t mismatch_reason(const struct mvcc *m);
/* Why a contradiction is undecided where m->unrecorded_writers. */
static inline uint32_t unrecorded_reason(const struct mvcc *m)
{
	return m->some_not_recorded ? REASON_NOT_TO_BE_RECORDED
				: REASON_NO_RECORDED_WRITER;
}

/* Is it an error for a foreign key of a table that is not known (as names are now)? */
bool unknown_foreign_key(const struct mvcc *m, const struct record_stmt *r);
/* May it have ended the open transaction inside, and left another one open? */
bool plan_mixes(const struct plan *plan);
/* MariaDB's DELETE IGNORE leaves out rows whose locks it did not get in time, with a warning. */
bool leaves_out_rows(const struct plan *plan, const struct record_stmt *r);
/* Did it nothing at all? */
bool refused_whole(const struct plan *plan, const struct record_stmt *r);

#endif
