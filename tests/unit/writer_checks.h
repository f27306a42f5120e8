/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the writer share: writers that must open and close, a count of what a trace has, threads that write. */
#ifndef WRITER_CHECKS_H
#define WRITER_CHECKS_H

#include "trace_make.h"

enum { THREADS = 4, EACH = 3000 };

struct trace_writer *open_writer(const char *path, const struct trace_writer_options *options);
void close_writer(struct trace_writer *writer);

struct seen {
	uint64_t next[THREADS]; /* number expected next, by thread */
	uint64_t notes, gaps, lost, waited, stopped, rotated, footers, others;
	uint64_t last_seq;
	bool in_order; /* by seq, over all */
	struct trace_totals totals;
	char last_footer[16];
	char gap_detail[200];
};

/* Reads a trace; numbers of a thread may be skipped (lost), never repeated or reordered. */
void see(const char *path, bool ordered, struct seen *seen);

struct worker {
	struct trace_writer *writer;
	uint32_t thread;
	uint64_t count;
};

/* A thread that emits its numbers; arg: a struct worker. */
void *work(void *arg);
void run_workers(struct trace_writer *writer, uint64_t count, void *(*main)(void *));

#endif
