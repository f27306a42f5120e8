/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From traces to a history: one pass over the blocks, then the version orders.
 */
#ifndef HISTORY_LOAD_H
#define HISTORY_LOAD_H

#include "history/history.h"
#include "trace/reader.h"

struct history_load_options {
	bool salvage;
	bool no_images; /* leave out row images, where no predicate has to be evaluated */
	/* Called now and then with bytes done and in all (0: not known). */
	void (*progress)(void *data, uint64_t done, uint64_t all);
	void *progress_data;
};

/* path: a file, a directory of segments, or "-".  False and err when it cannot be read; damage that
 * salvage stepped over, and a torn tail, are in history->counts and !history->complete. */
bool history_load(struct history *history, const char *path,
	const struct history_load_options *options, struct err *err) MUST_CHECK;

/* Reads a statement's record again from the trace, for explanations; spans live in the arena. */
bool history_fetch_stmt(const struct history *history, uint32_t stmt, struct arena *arena,
	struct record_stmt *out, struct err *err) MUST_CHECK;

#endif
