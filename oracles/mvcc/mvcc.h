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

#include "common/accesses.h"
#include "common/contract.h"
#include "common/verdict.h"
#include "mvcc/search/schedule.h"

struct history;

/* What was said of one statement, or of the final rows of one table. */
struct mvcc_judged {
	const struct execution_stmt *stmt;   /* NULL: final rows */
	const struct execution_table *table; /* NULL: a statement */
	const char *verdict;                 /* "decided", "undecided", "unsupported", "not judged" */
	const char *reason;                  /* NULL: decided, or nothing to judge */
};

struct mvcc_options {
	const struct contract *contract;
	uint32_t per_class_max; /* findings listed a class; 0: the default */
	uint64_t budget;        /* orders tried a contradiction; 0: the default */
	bool all_sessions;      /* every session that writes was recorded */
	/* Called with each verdict; tests compare them one by one.  NULL: not wanted. */
	void (*judged)(void *context, const struct mvcc_judged *judged);
	/* Called now and then with the events that were executed and all there are.  False: the rest is not executed, and
	 * counted as undecided.  NULL: not wanted. */
	bool (*goes_on)(void *context, uint64_t done, uint64_t all);
	/* Called at the end with what statements read and wrote.  NULL: not wanted; else `history` is of the same trace. */
	void (*accesses)(void *context, const struct accesses *accesses);
	const struct history *history;
	void *context;
};

void mvcc_check(const struct schedule *schedule, const struct mvcc_options *options,
	struct verdict *verdict);

#endif
