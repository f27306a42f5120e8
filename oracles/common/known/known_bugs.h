/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known anomalies: whether a recording of a scenario shows what the scenario is about.
 *
 * A scenario says by its header lines `# shows:` what is seen when the anomaly is there; each line
 * is an alternative, its clauses joined by `and`:
 *
 *	# shows: T2.4 has (2,2)                  statement 4 of session T2 returned such a row
 *	# shows: T2.2 is ok and final t has (*,1)
 *
 *	clause = SESSION.N is EXPECTATION        as after -- => (docs/scenario-format.md)
 *	       | SESSION.N has ROW...            at least these rows
 *	       | SESSION.N lacks ROW             a result, and no such row in it
 *	       | SESSION.N equals|differs from SESSION.N     two results, as multisets
 *	       | final TABLE is|has|lacks ROW...|empty       the table at the end
 *	       | any error N                     some statement got it
 */
#ifndef COMMON_KNOWN_KNOWN_BUGS_H
#define COMMON_KNOWN_KNOWN_BUGS_H

#include "model/execution/execution.h"
#include "scenario/scenario.h"

enum known_state {
	KNOWN_UNSAID,  /* the scenario has no `shows` line */
	KNOWN_SHOWN,   /* the anomaly is there */
	KNOWN_ABSENT,  /* it is not */
	KNOWN_UNKNOWN, /* the recording is not complete enough to tell */
};

enum { KNOWN_ERRORS_MAX = 8 };

struct known_answer {
	enum known_state state;
	uint32_t errors[KNOWN_ERRORS_MAX]; /* distinct codes, in the order they came */
	size_t error_count;
};

/* False when a `shows` line is not understood; err says which. */
bool known_judge(const struct scenario *scenario, const struct execution *e,
	struct known_answer *out, struct err *err) MUST_CHECK;

/* The level that all sessions of the recording ran at; LEVEL_UNKNOWN when they differ. */
enum txn_level known_level(const struct execution *e);

/* Whether the answer is the expected one. */
bool known_as_expected(
	const struct known_answer *answer, const struct scenario_verdict *expected) MUST_CHECK;
/* "shown", "absent, error 1020". */
void known_print(const struct known_answer *answer, struct buf *out);

#endif
