/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What went wrong in one execution of a scenario, and whether it is the same that went wrong in another.
 *
 * A smaller case may fail differently.  "The same" is therefore the same kind of failure, not the same sentence: class,
 * oracle, severity and level, and by default also the shape: the rule of the contract, what the statement and the row
 * were like (traits), and of a cycle its kinds of dependencies in order.
 */
#ifndef REDUCER_FAILURE_H
#define REDUCER_FAILURE_H

#include "base/attr.h"
#include "common/verdict.h"
#include "model/execution/execution.h"
#include "scenario/scenario.h"

enum failure_same { SAME_CLASS, SAME_SHAPE, SAME_KNOWN, SAME_OUTPUT };
extern const char *const failure_same_words[];

enum { FAILURE_TEXT_MAX = 320, OUTCOME_MAX = 24 };

/* Texts that are equal for two failures that are the same in that respect; known: "" for none. */
struct failure {
	char id[17];
	char class_[64]; /* "G-single", "crash", "hang", "error-1213", "shows" */
	char kind[FAILURE_TEXT_MAX], shape[FAILURE_TEXT_MAX], known[FAILURE_TEXT_MAX];
	bool violation; /* of a contract, a crash or a hang: worth telling when it turns up */
};

/* No pointers in it: it goes through pipes. */
struct outcome {
	bool ran;      /* false: it could not be run; `why` says it */
	char why[200];
	char label[64]; /* of the server */
	uint64_t ns;
	uint32_t statements, blocked;
	uint32_t count;
	struct failure failures[OUTCOME_MAX]; /* the gravest first */
};

/* Judges a recording of the scenario. */
bool outcome_judge(
	const struct scenario *scenario, const struct execution *e, struct outcome *out, struct err *err) MUST_CHECK;
/* A server that is gone, or sessions that had to be killed, as a failure of its own, before the others. */
void outcome_add_accident(struct outcome *out, const char *class_);

/* What a recording of any program shows: the finding of that class or id, NULL: the gravest.  False: none. */
bool failure_of_trace(
	const struct execution *e, const char *wanted, struct failure *out, struct err *err) MUST_CHECK;

/* Whether one of the outcome's failures is the same as that. */
bool outcome_shows(const struct outcome *outcome, const struct failure *failure, enum failure_same same) MUST_CHECK;

/*
 * Which statements of the scenario the failure is about, as doubts of reduce/ddmin.h, for each statement of the schedule.
 * 0: the statement that the finding names, and of the transactions of the witness those that begin and end them, write
 * the tables of that statement, or may make the snapshot; 1: others of these transactions that read these tables; 2: the
 * rest of these transactions, and others' writes of these tables; 3: the rest of their sessions; 4: other sessions.
 * False: the recording does not say.
 */
bool failure_doubts(const struct failure *failure, const struct scenario *scenario, const struct execution *e,
	uint8_t *doubts) MUST_CHECK;

#endif
