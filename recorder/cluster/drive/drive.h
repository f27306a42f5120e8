/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drives a cluster: starts it, puts a load of dependent data on it, performs the operations of a text (drive/ops.h), and
 * records all of it, with what the nodes hold at points at which the clients are held.
 *
 * The cluster is one of our own, started by the command that its kind names, and ends with this process.
 */
#ifndef CLUSTER_DRIVE_DRIVE_H
#define CLUSTER_DRIVE_DRIVE_H

#include <signal.h>

#include "base/buf.h"
#include "cluster/drive/ops.h"
#include "workload/model.h"

struct drive_options {
	const struct ops *ops;
	const char *output; /* the trace */
	bool overwrite;
	const char *servers;       /* the path of isorec-servers */
	const volatile sig_atomic_t *stop;
	void (*tell)(void *ctx, const char *what); /* for a person; NULL: nothing */
	void *ctx;
	/* Before the nodes are stopped: where their logs are, and the states that they were seen in.  NULL: not asked for. */
	void (*log)(void *ctx, const char *node, const char *path);
	void (*state)(void *ctx, const char *state);
	void (*block)(void *ctx, uint64_t address); /* that was reached */
	void *end_ctx;
};

struct drive_report {
	uint64_t statements, transactions, committed, unknown, failed;
	unsigned operations, operations_failed, operations_late; /* late: their moment did not come */
	bool skipped; /* the cluster cannot be had here */
};

/* The text of a run once more: its operations at the statements, and on the nodes, at which its trace has them. */
bool drive_text_of_trace(const char *trace, struct buf *out, struct err *err) MUST_CHECK;
bool drive_run(const struct drive_options *options, struct drive_report *report, struct err *err) MUST_CHECK;

#endif
