/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From traces to a history: one pass over the blocks, then the version orders.
 *
 * What each record becomes, and from where the rule is, stands in history.md; the rules are
 * numbered there and named by number in the code.  In short: txn records make transactions, stmt
 * records statements, probe rows operations and versions, rows records initial and final versions.
 * Times decide only in which order an object was deleted and inserted again (rule 17) and which
 * absent version a read can have seen (rule 12).  SQL text decides only whether a transaction may be
 * several (rule 18), where the recorder did not say, and whether a session sets
 * innodb_snapshot_isolation (rule 21).  Results decide nothing.
 *
 * Hostile traces: a record may name anything, in any order.  Memory grows with the (uncompressed)
 * bytes read and by no more than a fixed factor; what does not fit is counted, never followed.
 */
#ifndef MODEL_HISTORY_LOAD_H
#define MODEL_HISTORY_LOAD_H

#include "base/arena.h"
#include "base/meter.h"
#include "model/history/history.h"
#include "trace/reader.h"

struct history_load_options {
	bool salvage;
	bool no_images; /* leave out row images, where no predicate has to be evaluated */
	const struct meter *meter; /* NULL: none */
};

/* path: a file, a directory of segments, or "-".  False and err when it cannot be read or was interrupted; damage that
 * salvage stepped over, and a torn tail, are in history->counts and !history->complete.  Standard
 * input that is no file is copied to an unlinked temporary file, so that statements can be read
 * again; where that fails they cannot.  options may be NULL. */
bool history_load(struct history *history, const char *path,
	const struct history_load_options *options, struct err *err) MUST_CHECK;

/* From encoded records in memory, one after the other; there are no statements to fetch. */
bool history_load_records(struct history *history, struct span records,
	const struct history_load_options *options, struct err *err) MUST_CHECK;

/* Reads a statement's record again from the trace, for explanations; spans live in the arena.
 * Cheapest in the order of the trace.  One thread at a time. */
bool history_fetch_stmt(const struct history *history, uint32_t stmt, struct arena *arena,
	struct record_stmt *out, struct err *err) MUST_CHECK;
/* True, and why, once the trace could not be read again for that: texts are missing where they are not
 * missing in the trace. */
bool history_read_failed(const struct history *history, struct err *err);
/* Where the block begins that the last statement was fetched from; 0: the trace is not one file. */
uint64_t history_fetched_at(const struct history *history);

/* What can be read again: the path, or that of the copy of standard input.  It lives as long as the
 * history. */
const char *history_source_path(const struct history *history);

/* For history_release; NULL is allowed. */
void history_source_free(struct history_source *source);

#endif
