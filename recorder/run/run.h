/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes a scenario under a deterministic schedule and records it (DT2's protocol, section 3.2 of
 * "Differentially Testing Database Transactions for Fun and Profit").
 *
 * Rules:
 * 1. One statement is under way a session.  The next one of the schedule whose session is free is
 *    sent when all sessions are settled: each is idle, or known to wait for a lock *after* the last
 *    answer of any session came.  A session that an answer let go on is therefore noticed before
 *    anything else is sent, and the schedule is scanned from its start again.
 * 2. That a statement is blocked is known from the server (run/lock_waits.h).  Time alone decides only
 *    where the server's views cannot be read, and for statements that neither wait nor answer.
 * 3. Statements after an error or a deadlock still go out, to the same session.
 * 4. A lost connection ends its session: the rest of its statements is not sent.  A server that
 *    dies or hangs is recorded as that; the trace is complete up to it.
 *
 * The scenario runs in a database of its own, which must not exist and is dropped afterwards.
 * One thread.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include "run/engine.h"
#include "scenario/scenario.h"

enum run_event_kind {
	RUN_BLOCKED,  /* the statement waits */
	RUN_ANSWERED, /* or failed, or was lost: see the client */
	RUN_NOT_SENT, /* its session is gone */
};

struct run_event {
	enum run_event_kind kind;
	const char *session;
	const struct scenario_stmt *stmt;
	const struct client *client; /* NULL for NOT_SENT */
	const char *unmet;           /* what was expected and did not come; NULL: nothing */
};

struct run_summary {
	bool opened; /* the server was there to begin with */
	uint64_t statements, blocked, errors, unmet, lost, not_sent;
	enum watch_kind watch;
	bool by_time; /* time alone said that something was blocked */
	bool server_gone;
	bool hung; /* nothing moved any more, and the sessions were killed */
};

/* False when the scenario could not be run at all; what the server did wrong while it ran is in the
 * trace and in the summary. */
bool run_scenario(const struct scenario *scenario, const struct run_options *options,
	struct run_summary *summary, struct err *err) MUST_CHECK;

#endif
