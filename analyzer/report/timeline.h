/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timeline on a terminal: one column a session, time downwards.
 *
 * Records come in the order in which things ended; a reader wants to see where they began.  So rows
 * pass through a window (WINDOW_EVENTS, WINDOW_BYTES) that sorts beginnings and ends by the trace's
 * sequence numbers.  A statement that others overlap takes two rows, its beginning and its end; all
 * others take one.  Where a statement ran longer than the window, its one row says since when.
 *
 * There are as many columns as fit.  A session that closes leaves its column to the next; when more
 * are open than fit, the rest of the timeline is one line an event, with the session's name in it.
 */
#ifndef REPORT_TIMELINE_H
#define REPORT_TIMELINE_H

#include "base/attr.h"
#include "base/buf.h"
#include "report/trace_names.h"

enum timeline_layout {
	TIMELINE_AUTO,
	TIMELINE_COLUMNS, /* as AUTO, with narrower columns before giving up */
	TIMELINE_LINES,
};

enum timeline_style {
	STYLE_PLAIN,
	STYLE_ERROR,
	STYLE_BLOCKED,
	STYLE_QUIET, /* sessions, probes, what is around the statements */
	STYLE_NOTICE,
};

struct timeline_options {
	size_t width; /* columns of the terminal */
	int layout;   /* enum timeline_layout */
	bool color;
	bool full;          /* wrap long texts instead of cutting them */
	uint64_t anchor_ns; /* times are shown as seconds since this */
};

struct timeline;

struct timeline *timeline_new(const struct timeline_options *options, const struct names *names);
void timeline_free(struct timeline *timeline);

/* How many columns a text is worth cleaning for: nothing wider is ever shown. */
size_t timeline_text_max(const struct timeline *timeline);

/* All texts must be clean (text_add).  A row across all columns: */
void timeline_across(struct timeline *timeline, uint64_t seq, uint64_t at,
	enum timeline_style style, struct span text);
/* A row in a session's column; `closes`: the last one of the session. */
void timeline_cell(struct timeline *timeline, uint64_t seq, uint64_t at, uint32_t session,
	enum timeline_style style, bool closes, struct span text);
/* A word about a transaction, put after the statement that caused it. */
void timeline_txn(struct timeline *timeline, uint64_t seq, uint64_t at, uint32_t session,
	uint32_t number, enum timeline_style style, struct span text);

struct timeline_stmt {
	uint64_t seq, at, begin_seq, begin;
	uint32_t session, number;
	enum timeline_style style;
	struct span text, result;
};
void timeline_stmt(struct timeline *timeline, const struct timeline_stmt *stmt);

/* Moves finished rows to `out`; all of them when the trace is at its end. */
void timeline_take(struct timeline *timeline, struct buf *out, bool at_end);

#endif
