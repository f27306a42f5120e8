/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of a text in a process of its own, judged there (judge_run.h), with a limit of time. */
#ifndef CLUSTER_EXPLORE_TRY_RUN_H
#define CLUSTER_EXPLORE_TRY_RUN_H

#include <signal.h>

#include "cluster/drive/ops.h"
#include "common/contract.h"

struct try_options {
	const struct ops *ops;
	const char *trace, *servers;
	const struct contract *contract;
	uint64_t limit_ns; /* then it has stalled; 0: none */
	const volatile sig_atomic_t *stop;
	/* A signal or a state that a node was in (judge_run.h); NULL: not asked for. */
	void (*seen)(void *ctx, struct span word, struct span text);
	void *ctx;
};

struct try_outcome {
	bool done, skipped, stalled;
	struct buf why;      /* it is not done */
	struct buf findings; /* lines "SEVERITY\tCLASS\tKEY\tTEXT" */
};

void try_run(const struct try_options *options, struct try_outcome *out);
void try_release(struct try_outcome *outcome);
/* Up to that character, which is taken away with it. */
struct span try_field(struct span *rest, char end);
/* The contract to judge by: a text, or NULL for that of the kind, or where it has none a strict one. */
bool try_contract(struct contract *out, const struct ops *ops, const char *text, struct err *err) MUST_CHECK;

#endif
