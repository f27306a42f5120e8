/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a scenario that fails to the smallest one that fails the same way, by executing candidates (docs/reducing.md).
 *
 * The order of things: the statements of the witness alone; then sessions, tables, transactions, statements and rows in
 * pieces (reduce/parts.h); what statements consist of (reduce/edits.h); the order of the schedule; each part once more
 * alone; then constants, levels and names (reduce/tidy.h).  No text is executed twice.
 *
 * A case that fails now and then has a rate.  A candidate is accepted at its first failure, and given up after as many
 * executions as have, at that rate, one chance in twenty to show none.
 */
#ifndef REDUCER_REDUCER_H
#define REDUCER_REDUCER_H

#include <signal.h>
#include <stdio.h>

#include "reducer/failure.h"

struct reducer_options {
	/* Executes scenarios (canonical texts) at the same time, at most `jobs`; and where it left the recording of each. */
	void (*execute)(void *ctx, const struct span *texts, size_t count, struct outcome *out);
	const char *(*trace)(void *ctx, size_t number);
	void *ctx;
	size_t jobs;
	const char *folder;  /* reduced.scn, reduced.itr; slipped-N.scn */
	const char *finding; /* the class or id to look for; NULL: the gravest */
	const struct failure *like; /* of the failures wanted, rather one like this; NULL: none is known */
	unsigned first_max;  /* executions until it failed for the first time; 0: a default */
	enum failure_same same;
	uint64_t time_ns, executions_max; /* 0: no end */
	double floor;                     /* the least rate that is accepted */
	const char *experience;           /* a file; NULL: none */
	bool at_random;                   /* kinds of changes are tried in any order: to compare with */
	FILE *log;                        /* what was tried; NULL: not told */
	void (*say)(void *say_ctx, const char *line);
	void *say_ctx;
	const volatile sig_atomic_t *stop;
};

struct reducer_size {
	size_t sessions, statements, rows, bytes;
};

struct reducer_summary {
	struct failure target;
	struct reducer_size before, after;
	uint64_t executions, accepted, not_run;
	double rate;     /* of failures; 1: each time */
	double seconds;
	bool reproduced; /* the scenario failed to begin with */
	bool whole;      /* false: ended early; the best so far is there */
	size_t slipped;
};

void reducer_measure(const struct scenario *s, struct reducer_size *out);

/* Leaves the result in the folder after each step.  False: it cannot be done at all.  A scenario that does not fail is
 * no error: summary->reproduced.  Executions and seconds are added to those that are in the summary. */
bool reducer_run(const struct reducer_options *options, const struct scenario *scenario, struct reducer_summary *summary,
	struct err *err) MUST_CHECK;

#endif
