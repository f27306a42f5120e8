/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes a recorded schedule again: the same sessions, statements and parameters, begun in the
 * recorded order, each end awaited where the recording has it.
 *
 * Rules:
 * 1. The recorded begins and ends are walked in their order.  At an end the statement's answer is
 *    awaited before anything else is sent.
 * 2. A statement that the recording saw blocked is sent at its begin, and nothing else until it is
 *    known to wait or has answered.  So are those that had sent much before others ended.
 * 3. Of other statements that were under way together the one that ended first was most likely
 *    executed first, though that cannot be known: each is held until its recorded end.  When it then
 *    waits for a lock, the others that had begun are sent too, in the order of their ends, until it
 *    is free: one of them let it go on.  At the recorded pace (as_recorded) each goes out at its
 *    begin instead, and the server decides.
 * 4. Where the new server does not allow the order (a statement still waits at the place of its
 *    recorded end), the rest goes on without it; its session's further statements are sent as soon
 *    as the session is free.  Each such place is reported as a divergence, and so is a statement that
 *    did not wait, or got another error than the recorded one.
 * 5. A bulk execution is sent as one where the server can do that, and otherwise row by row, until a
 *    row fails; the place is reported.
 *
 * Before it, the recorded tables are made and filled, in databases of the recorded names, which
 * must not exist and are dropped afterwards.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "model/execution/execution.h"
#include "run/engine.h"

enum { REPLAY_SESSIONS_MAX = 250 };

enum divergence_kind {
	DIVERGED_BLOCKED,     /* waits here, had its answer there */
	DIVERGED_NOT_BLOCKED, /* waited there, not here */
	DIVERGED_ERROR,       /* another error, or none */
	DIVERGED_NOT_SENT,    /* cannot be sent: values not recorded, session gone */
	DIVERGED_ROW_BY_ROW,  /* one execution for many rows became an execution for each */
};
enum { DIVERGED_KINDS = 5 };

struct divergence {
	enum divergence_kind kind;
	const struct execution_stmt *stmt;
	struct span session;
	uint32_t error;  /* ERROR: the one that came */
	const char *why; /* NOT_SENT, ROW_BY_ROW */
};

struct replay_options {
	struct run_options run; /* target.database: instead of the recorded one; NULL: the same */
	bool as_recorded;       /* keep the recorded times between begins */
	void (*diverged)(void *ctx, const struct divergence *divergence);
	void *ctx;
};

struct replay_summary {
	uint64_t statements, sessions, tables, rows;
	uint64_t diverged[DIVERGED_KINDS];
	uint64_t lost;
	bool partial; /* not all rows of a table were recorded */
	bool server_gone, by_time;
};

bool replay(const struct execution *e, const struct replay_options *options,
	struct replay_summary *summary, struct err *err) MUST_CHECK;

/* Makes the recorded databases and tables, with their rows (replay/restore.c).  *database is the
 * one that most tables are in, as it is called here; NULL: there is none. */
bool replay_restore(struct engine *engine, const struct execution *e, const char *rename,
	struct replay_summary *summary, const char **database) MUST_CHECK;

#endif
