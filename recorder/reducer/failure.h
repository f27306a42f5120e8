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
	bool needs_versions; /* candidates have to be recorded with versions, or it is not seen */
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

/* Judges a recording of the scenario, by the contract that the scenario names.  path: reducer/judge.h. */
bool outcome_judge(const struct scenario *scenario, const struct execution *e, const char *path, struct outcome *out,
	struct err *err) MUST_CHECK;
/* ... by what the server answered alone: errors, and what `# shows:` asks for.  No oracle is run. */
bool outcome_take_answers(
	const struct scenario *scenario, const struct execution *e, struct outcome *out, struct err *err) MUST_CHECK;
/* A server that is gone, or sessions that had to be killed, as a failure of its own, before the others. */
void outcome_add_accident(struct outcome *out, const char *class_);

/* What a recording of any program shows: the finding of that class or id, or error-N; NULL: the gravest.  False: none.  path, contract:
 * reducer/judge.h. */
bool failure_of_trace(const struct execution *e, const char *path, const char *contract, const char *wanted,
	struct failure *out, struct err *err) MUST_CHECK;

/* 0: another class; 1: the same; 2: and oracle, severity, level; 3: and shape. */
unsigned failure_likeness(const struct failure *a, const struct failure *b);
/* Whether one of the outcome's failures is the same as that. */
bool outcome_shows(const struct outcome *outcome, const struct failure *failure, enum failure_same same) MUST_CHECK;

#endif
