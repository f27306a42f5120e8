/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a trace that is a valid trace: some transactions, whole, with all that is known of their server, tables and
 * sessions.
 *
 * No statement may look wrong in the part that does not in the whole.  So what other transactions wrote into the tables
 * that these touch stays, without what those read.  Transactions that wrote other tables only are left out; the trace
 * then says that not all writers are in it, and those tables lose their recorded content.
 *
 * An exact part has what was chosen and nothing else, as if the rest had never been.  What it shows counts only where the
 * whole shows the same (reduce_trace.h).
 */
#ifndef REPORT_SLICE_TRACE_H
#define REPORT_SLICE_TRACE_H

#include "base/attr.h"
#include "base/err.h"
#include "base/map.h"
#include "base/span.h"

struct slice_conditions {
	struct map sessions, txns; /* empty: any */
	const struct span *tables; /* of names; a transaction of which one statement names one of them */
	size_t table_count;
	uint64_t from, to; /* on the trace's clock: it was under way at some moment of it */
	bool exact;
	struct map no_stmts, no_rows; /* exact: left out of what was chosen, by slice_stmt_key() and slice_row_key() */
};

static inline uint64_t slice_stmt_key(uint32_t session, uint32_t number)
{
	return (uint64_t)session << 32 | number;
}

/* A row that was there at the start: its place among those of its table. */
static inline uint64_t slice_row_key(uint32_t table, uint32_t place)
{
	return (uint64_t)table << 32 | place;
}

struct slice_summary {
	/* writers: transactions of which only what they wrote stays */
	uint64_t txns, txns_kept, stmts, stmts_kept, writers, rows_kept;
};

/* `words` are put into a note: how it was cut.  NULL: no note, of an exact part. */
bool slice_trace(const char *path, const char *output, const struct slice_conditions *conditions, const char *words,
	struct slice_summary *summary, struct err *err) MUST_CHECK;

#endif
