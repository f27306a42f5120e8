/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes scenarios and judges them: in this process, or several at once in worker processes with servers of their own.
 *
 * A worker is a process of its own so that nothing that a candidate does to it ends the reduction: a server that dies is
 * started again, a worker that says nothing for too long is killed, an oracle that crashes costs one candidate.
 */
#ifndef REDUCER_EXECUTOR_H
#define REDUCER_EXECUTOR_H

#include <signal.h>

#include "reducer/failure.h"
#include "run/case_server.h"

enum { EXECUTOR_JOBS_MAX = 64 };

struct executor_options {
	struct case_server server;
	struct run_options run; /* database NAME: worker 0 uses NAME_0, worker 1 NAME_1 ... */
	const char *folder;     /* for recordings, 0.itr, 1.itr ... */
	unsigned jobs;
	bool answers_only;    /* no oracle is run: what is looked for is an error, a crash or a hang */
	uint64_t memory_max;  /* bytes of a worker */
	uint64_t stuck_ns;    /* a worker that says nothing for so long is killed */
	const volatile sig_atomic_t *stop;
};

/* One execution in this process, into the trace that run->output names.  *gone: the server is. */
void execute_here(const struct scenario *scenario, const struct run_options *run, bool answers_only, struct outcome *out,
	bool *gone);

struct executor;

struct executor *executor_open(const struct executor_options *options);
/* Executes `count` scenarios (canonical texts), at most one for each job, at the same time. */
void executor_run(struct executor *executor, const struct span *texts, size_t count, struct outcome *out);
/* The recording of the one of that number of the last executor_run(). */
const char *executor_trace(const struct executor *executor, size_t number);
void executor_close(struct executor *executor);

#endif
