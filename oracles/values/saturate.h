/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers whose version order is open: everything that reads force, to a fixpoint.
 *
 * Events: one a transaction for PL-3 and PL-2+; a start and a commit for PL-SI.  Known from the
 * beginning: start before commit, session order, and the writer's commit before the reader's start.
 * Then for every read of x by t3 from t1 and every other writer t2 of x: either t2 commits before t1
 * starts, or t1 commits before t2 starts and t3 starts before t2 commits.  When the known order
 * excludes one of the two, the other is added.  For PL-2+ the order has dependencies only: where t2
 * comes before t3 by these, t2's version is older than t1's, or else there is a G-single.  So forced
 * orders of versions are the only edges that are added.  For PL-2L the same, but only where t3 had
 * read something that comes after t2 before it read x: a later read says nothing (G-monotonic).  For
 * prefix consistency t2 commits before t1, or t3 starts before t2 commits.
 *
 * A cycle refutes the level.  Without one, the order guides the search for an execution
 * (schedule.h); finding one proves the level.  Else it guides the solver (model.h), for some steps,
 * which begins with a topological order of it, has the forced edges from the beginning and is asked only
 * for what they leave open.  Then reads of values
 * that several wrote get a source, and the writers of the keys are ordered, as a topological sort
 * has them that follows the sessions side by side, some at a time, with everything that follows;
 * what leads to a cycle is taken back and done in smaller steps, at last a pair of writers at a
 * time, one way or else the other.  Every key in order proves the level too.  Else it stays open.
 *
 * A value that several transactions wrote: those of them that the order excludes (they come after
 * the reader, or a transaction wrote the key between the two) are left out; the one that remains is it.
 *
 * Which event comes before which is asked of a table (reach.h).  Its chains have another use: of the
 * writers of a key that stand in one chain, only the last before and the first after an event
 * matter, since the chain's order implies the rest.
 */
#ifndef VALUES_SATURATE_H
#define VALUES_SATURATE_H

#include "common/graph/cycles.h"
#include "values/facts.h"
#include "values/model.h"

enum saturation_level {
	SATURATE_PL_3,
	SATURATE_PL_SI,
	SATURATE_PL_2PLUS,
	SATURATE_PREFIX,
	SATURATE_PL_2L
};

/* How much it may cost, and what came out. */
struct saturation_result {
	/* Words of the table that choices may cost where values have several writers, beyond about
	 * a second's; what was used is taken off. */
	uint64_t *more;
	uint64_t steps;   /* of the solver */
	uint64_t bytes;   /* of the table */
	uint64_t forcing; /* words of the table that forcing may cost */
	/* LEVEL_HOLDS of PL-3 and PL-SI: by transaction, the place of its commit in an execution that
	 * shows it. */
	uint32_t *commits;
	bool too_large; /* the table would have been larger than that */
	/* LEVEL_FAILS: the contradiction, with forced order as ww edges whose detail is the read
	 * that forces it; or without steps, the transactions that have no choice.  Free both. */
	struct cycle cycle;
	struct model_core core;
};

/* Registers only. */
enum level_answer saturate(const struct facts *facts, enum cycle_order order,
	enum saturation_level level, struct saturation_result *result);

#endif
