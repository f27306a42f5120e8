/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run in a process of its own: drives a cluster, judges the trace, and sends what came of it as lines. */
#ifndef CLUSTER_EXPLORE_JUDGE_RUN_H
#define CLUSTER_EXPLORE_JUDGE_RUN_H

#include <signal.h>

#include "cluster/drive/drive.h"
#include "common/contract.h"
#include "common/verdict.h"

/* One line, tabs between its fields:
 *	signal TEXT
 *	state TEXT                       a word that a node said of itself
 *	finding SEVERITY CLASS KEY TEXT  KEY: equal for findings of one kind
 *	done
 *	skip TEXT, fail TEXT             why it could not be driven or judged
 */
struct judge_run {
	struct drive_options drive;
	const struct contract *contract;
	int to; /* where the lines go */
};

/* In the child: never returns. */
void judge_run_and_exit(const struct judge_run *run) __attribute__((noreturn));

#endif
