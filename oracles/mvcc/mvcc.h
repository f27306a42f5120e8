/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracle `mvcc`: executes the recorded schedule again, on a multi-version store and an SQL
 * evaluator of our own, and compares at every statement what was answered with what can be answered
 * (semantics.md, section 5; docs/oracles/mvcc.md).
 *
 * It needs the tables' definitions and their initial rows.  Judged are result rows, affected rows,
 * errors, the final rows, and of locks only what is certain.  What it cannot tell is counted as
 * undecided with a reason, and the recorded answer is followed.
 */
#ifndef MVCC_MVCC_H
#define MVCC_MVCC_H

#include "common/contract.h"
#include "common/verdict.h"
#include "mvcc/search/schedule.h"

struct mvcc_options {
	const struct contract *contract;
	uint32_t per_class_max; /* findings listed a class; 0: the default */
	uint64_t budget;        /* orders tried a contradiction; 0: the default */
	bool all_sessions;      /* every session that writes was recorded */
};

void mvcc_check(const struct schedule *schedule, const struct mvcc_options *options,
	struct verdict *verdict);

#endif
