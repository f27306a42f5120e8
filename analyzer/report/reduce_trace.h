/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The smallest part of a trace that shows the same finding: fewest transactions, statements and rows.  Every part is judged
 * as `isotrace check` judges a trace.
 *
 * The finding is the same when its kind, its transactions and the statement that it is about are, the kinds of dependencies
 * of its cycle, and how the statement's answer differs from what it should have been.  A part may show no violation that the whole does not show: what
 * was left out was then needed to explain an answer.
 */
#ifndef REPORT_REDUCE_TRACE_H
#define REPORT_REDUCE_TRACE_H

#include "base/attr.h"
#include "base/meter.h"
#include "report/judge_trace.h"

struct reduce_trace_options {
	const struct judge_options *judge;
	const char *finding; /* a class, or how an id begins; NULL: the gravest */
	bool whole_txns;     /* transactions and rows are left out, and no statement of a transaction that stays */
	bool by_class;       /* any finding of its oracle, class, severity and level is the same */
	uint64_t time_ns;    /* 0: no end */
	/* After each part that was judged.  May be NULL. */
	void (*tried)(void *context, uint64_t parts, size_t txns, size_t stmts);
	void *context;
};

struct reduce_trace_size {
	uint64_t txns, stmts, rows;
};

struct reduce_trace_summary {
	char shape[320], id[17];
	struct reduce_trace_size before, after;
	uint64_t parts; /* judged */
	bool found;     /* false: the trace shows no such finding, and nothing was written */
	bool whole;     /* false: ended early, the best so far was written */
};

/* `output` must not be there. */
bool reduce_trace(const char *path, const char *output, const struct reduce_trace_options *options,
	struct reduce_trace_summary *summary, struct err *err) MUST_CHECK;

#endif
