/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracle `sync`: what a cluster lost, applied twice, or came out of with nodes that differ
 * (semantics.md, section 7; docs/oracles/sync.md).
 *
 * It compares what the nodes held at points (model/life/life.h) with each other and with what the recorded
 * transactions wrote, as far as their statements' text says that.  What it cannot tell is counted as undecided.
 */
#ifndef SYNC_SYNC_H
#define SYNC_SYNC_H

#include "base/meter.h"
#include "common/contract.h"
#include "common/verdict.h"
#include "model/execution/execution.h"
#include "model/life/life.h"

enum { SYNC_HANG_S = 20 };

struct sync_options {
	const struct contract *contract;
	uint64_t hang_ns; /* a hang is longer; 0: SYNC_HANG_S */
	const struct meter *meter; /* NULL: none */
};

/* The execution may have its results apart; its final rows are not looked at. */
void sync_check(const struct life *life, const struct execution *execution, const struct sync_options *options,
	struct verdict *verdict);
/* Is there something of several nodes to judge? */
bool sync_applies(const struct life *life, const struct execution *execution);

#endif
