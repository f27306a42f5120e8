/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the text of a run smaller: leaves out operations, statements of [setup] and options of the servers, as long as the same
 * class of finding comes.  A cluster does not do the same each time, so a text counts as without the finding only after
 * several runs.
 */
#ifndef CLUSTER_EXPLORE_REDUCE_OPS_H
#define CLUSTER_EXPLORE_REDUCE_OPS_H

#include <signal.h>

#include "cluster/drive/ops.h"

struct reduce_ops_options {
	const struct ops *ops;
	const char *servers, *contract, *trace; /* trace: that of a run, written over and over */
	const char *class;                      /* NULL: the worst that the first runs have */
	uint64_t repeats, time_ns, try_ns;      /* 0: no limit of time */
	const volatile sig_atomic_t *stop;
	void (*tell)(void *ctx, const char *what); /* NULL: nothing */
	void *ctx;
};

struct reduce_ops_report {
	char class[40];
	uint64_t runs; /* in all */
	unsigned before, after;   /* units */
	bool stopped;             /* before it was done: what is left may be smaller yet */
};

/* The smaller text.  False with ERR_UNSUPPORTED: no run had the finding. */
bool reduce_ops(const struct reduce_ops_options *options, struct buf *out, struct reduce_ops_report *report, struct err *err) MUST_CHECK;

#endif
