/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of a reduction share: reducer.c begins it and says what comes when, attempts.c executes and accepts
 * candidates, steps.c makes them, rounds.c has what is only of sessions that do not wait for each other. */
#ifndef REDUCER_REDUCER_INTERNAL_H
#define REDUCER_REDUCER_INTERNAL_H

#include "base/map.h"
#include "reduce/ddmin.h"
#include "reduce/script.h"
#include "reducer/experience.h"
#include "reducer/reducer.h"

enum {
	ESTIMATE_MAX = 20, /* executions for a first estimate of the rate */
	ESTIMATE_AGAIN = 10,
	SLIPPED_MAX = 16,
};

/* At this rate a candidate is given up after five executions. */
#define RATE_GOOD 0.5

struct reduction {
	const struct reducer_options *o;
	struct reducer_summary *summary;
	struct err *err;
	struct failure target;
	struct sql_options sql;
	struct scenario best;
	struct map tried;          /* digests of texts: TRIED_... */
	struct outcome *outcomes;  /* of one batch */
	struct outcome first;      /* what the scenario showed to begin with */
	char slipped[SLIPPED_MAX][FAILURE_TEXT_MAX];
	size_t slipped_count;
	uint64_t begin_ns;
	double rate, floor;
	uint32_t blocked, blocked_max; /* statements of the best that waited; more than so many are not accepted */
	unsigned misses; /* executions after which a candidate is given up */
	struct experience experience;
	const char *kind; /* of what is being tried */
	bool stopped, failed; /* failed: the result cannot be written */
};

/* ---- attempts.c ---- */

void reduction_say(struct reduction *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
double reduction_seconds(const struct reduction *r);
/* The time or the tries are over, the user wants no more, or nothing can be written. */
bool reduction_is_over(struct reduction *r);
/* Executes texts at once; the outcomes are in r->outcomes. */
void reduction_execute(struct reduction *r, const struct span *texts, size_t count);
/* Takes the recording of that number of the batch over. */
void reduction_keep_trace(struct reduction *r, size_t number);
/* Writes reduced.scn; false: it cannot be written. */
bool reduction_write_best(struct reduction *r);
/* Executions that show no failure, at that rate, once in twenty times. */
unsigned reduction_misses(double rate);
/* The same text again and again, until it fails (*number of the batch) or was tried often enough. */
bool reduction_fails(struct reduction *r, struct span text, unsigned most, size_t *number);
/* How often it fails, of some executions more. */
double reduction_estimate(struct reduction *r, struct span text, unsigned count);
/* The first of the candidates that fails as the case does, which is then the best; DDMIN_NONE, DDMIN_STOP.  Releases
 * them all; not made: one that is none. */
size_t reduction_test(struct reduction *r, struct scenario *candidates, const bool *made, size_t count);

/* ---- steps.c: true: something was accepted ---- */

/* doubts: of the statements of the schedule; NULL: nothing is known. */
bool reduction_parts(struct reduction *r, const uint8_t *doubts, bool no_singles);
bool reduction_edits(struct reduction *r);
bool reduction_order(struct reduction *r);
void reduction_constants(struct reduction *r);
void reduction_names(struct reduction *r);
void reduction_levels(struct reduction *r);
void reduction_settings(struct reduction *r);

/* ---- rounds.c: nothing without rounds ---- */

/* What fails too rarely is given more time to: with a small rate each candidate takes many executions. */
void reduction_raise_rounds(struct reduction *r);
/* As few as will do, as long as it fails as often as not. */
void reduction_lower_rounds(struct reduction *r);

#endif
