/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Levels as a question to the solver: is there a choice of everything the data leaves open that
 * makes the level hold?  Complete, and the last resort: everything cheaper is asked before.
 *
 * Open are: the order of a register's versions, and of a list's unread appends; which of several
 * transactions wrote the value that was read; whether a transaction of unknown outcome that may
 * have written it committed.  Edges (dependencies, or precedence of starts and commits) follow from
 * these choices.
 */
#ifndef VALUES_MODEL_H
#define VALUES_MODEL_H

#include "common/graph/cycles.h"
#include "values/facts.h"
#include "values/reach.h"
#include "values/schedule.h"

enum model_level {
	MODEL_PL_1,
	MODEL_PL_2,
	MODEL_PL_CS,
	MODEL_PL_2L,
	MODEL_PL_2PLUS,
	MODEL_PL_2_99,
	MODEL_PL_3, /* the same, and own appends are seen as such */
	MODEL_PREFIX,
	MODEL_PL_SI,
	MODEL_FCV, /* PL-2+ with real time between the dependencies of a cycle, not in PL-2 */
	MODEL_RC,  /* Biswas and Enea's */
	MODEL_RA,
	MODEL_CC,
	MODEL_RYW, /* session guarantees */
	MODEL_MR,
	MODEL_MW,
	MODEL_WFR,
	MODEL_PRAM,
};

/* What a level that fails rests on: no choice makes it hold for these transactions alone. */
struct model_core {
	uint32_t *txns;
	uint32_t count;
};

/* What is known of PL-3, PL-SI or PL-2+ before the question: edges that every choice respects, and
 * where to begin.  They change the way to the answer, not the answer. */
struct model_hints {
	const struct precedence *edges; /* between events, as for schedules; dependencies */
	const uint32_t *place;          /* by event */
	const struct reach *reach;      /* of these edges */
	uint32_t *commits; /* by transaction: place of its commit, filled on LEVEL_HOLDS; or NULL */
};

/* `steps` counts down; at 0 the answer is undecided.  On LEVEL_FAILS the core is filled (free
 * txns), as small as some more steps make it.  `hints` may be NULL. */
enum level_answer model_decide(const struct facts *facts, enum model_level level,
	enum cycle_order order, const struct model_hints *hints, uint64_t *steps,
	struct model_core *core);

#endif
