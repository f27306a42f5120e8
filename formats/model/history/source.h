/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a history came from, kept with it such that statements can be read again
 * (history_fetch_stmt): a path, or the copy of a standard input that is no file.
 */
#ifndef MODEL_HISTORY_SOURCE_H
#define MODEL_HISTORY_SOURCE_H

#include "base/err.h"
#include "model/history/history.h"
#include "trace/reader.h"

struct history_source {
	char *path;
	int fd; /* of the copy of standard input, whose path it is; -1 */
	bool salvage;
	struct trace_reader *reader; /* stands before block `next` */
	uint32_t next;
	struct trace_block block; /* the one before it */
	struct err failed; /* the first time that the trace could not be read again */
};

/* Where the trace is, such that it can be read twice.  NULL and err when standard input cannot be
 * copied. */
struct history_source *history_source_open(
	const char *path, bool salvage, struct err *err) MUST_CHECK;

#endif
