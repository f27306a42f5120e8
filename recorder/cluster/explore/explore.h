/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks for sequences of operations that break a cluster: changes those that brought something new, drives a cluster through
 * each, and judges what was recorded by the oracle `sync`.
 *
 *	DIR/pool/N.ops          sequences that brought something new, and what
 *	DIR/findings/CLASS-N.*  of each kind of finding the first: .ops, .itr, and .txt with what is said of it and its rate
 *	DIR/seen                all signals so far (signals.h), one a line
 *
 * A later exploration in the same folder goes on from there.  Each try has a cluster of its own, in a process of its own: a
 * cluster that stalls, or a fault of ours, ends with its try.
 */
#ifndef CLUSTER_EXPLORE_EXPLORE_H
#define CLUSTER_EXPLORE_EXPLORE_H

#include <signal.h>

#include "cluster/drive/ops.h"

struct explore_options {
	const struct ops *base; /* what clusters are like; its operations are the first sequence */
	const char *folder, *servers;
	const char *contract; /* a text; NULL: the kind's */
	uint64_t seed, time_ns, tries, disk, try_ns, repeats; /* 0: no limit, but of repeats */
	const volatile sig_atomic_t *stop;
	void (*tell)(void *ctx, const char *what); /* NULL: nothing */
	void *ctx;
};

struct explore_report {
	uint64_t tries, stalled, failed, kept, signals, violations, suspicions, documented; /* findings: their kinds */
	bool skipped; /* the cluster cannot be had here */
	const char *ended; /* why */
};

bool explore(const struct explore_options *options, struct explore_report *report, struct err *err) MUST_CHECK;

#endif
