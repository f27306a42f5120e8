/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which statements a failure is about, as doubts of reduce/ddmin.h.
 *
 * Of a finding: 0: the statement that it names (of a cycle, those of its witness), and of the transactions of the witness
 * those that begin and end them, write the tables of that statement, or may make the snapshot; 1: others of these
 * transactions that read these tables; 2: the rest of these transactions, and others' writes of these tables; 3: the rest of
 * their sessions; 4: other sessions.
 *
 * Of an error of the server's: 0: the transaction that got it; 1, 2: what others wrote and read in its tables while it was
 * under way, with the rest of their transactions; 4: all else.
 */
#ifndef REDUCER_DOUBTS_H
#define REDUCER_DOUBTS_H

#include "reducer/failure.h"

enum { DOUBT_OTHERS = 3 }; /* from here on they have probably nothing to do with it */

/* By statement of the execution.  path, contract: reducer/judge.h.  False: the recording does not say. */
bool doubts_of_trace(const struct failure *failure, const struct execution *e, const char *path, const char *contract,
	uint8_t *doubts) MUST_CHECK;
/* By statement of the schedule of the scenario, of which the execution is a run. */
bool doubts_of_run(const struct failure *failure, const struct scenario *scenario, const struct execution *e, const char *path,
	uint8_t *doubts) MUST_CHECK;

#endif
