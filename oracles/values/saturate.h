/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers whose version order is open: everything that reads force, to a fixpoint.
 *
 * Events: one a transaction for PL-3; a start and a commit for PL-SI.  Known from the beginning:
 * start before commit, session order, and the writer's commit before the reader's start.  Then for
 * every read of x by t3 from t1 and every other writer t2 of x: either t2 commits before t1 starts,
 * or t1 commits before t2 starts and t3 starts before t2 commits.  When the known order excludes
 * one of the two, the other is added.  A cycle refutes the level.  Without one, the order guides
 * the search for an execution (schedule.h); finding one proves the level.  Else it guides the
 * solver (model.h), for some steps, which begins with a topological order of it and has the forced
 * edges from the beginning.  Then reads of values
 * that several wrote get a source, and the writers of the keys are ordered, as a topological sort
 * has them that follows the sessions side by side, some at a time, with everything that follows;
 * what leads to a cycle is taken back and done in smaller steps, at last a pair of writers at a
 * time, one way or else the other.  Every key in order proves the level too.  Else it stays open.
 *
 * A value that several transactions wrote: those of them that the order excludes (they come after
 * the reader, or a transaction wrote the key between the two) are left out; the one that remains is it.
 *
 * Reachability is a matrix of bits, so this is for histories of up to SATURATE_TXNS_MAX.
 */
#ifndef VALUES_SATURATE_H
#define VALUES_SATURATE_H

#include "common/graph/cycles.h"
#include "values/facts.h"
#include "values/model.h"

enum { SATURATE_TXNS_MAX = 20000 };

/* How much it may cost, and what came out. */
struct saturation_result {
	/* Words of the matrix that choices may cost where values have several writers, beyond about
	 * a second's; what was used is taken off. */
	uint64_t *more;
	uint64_t steps; /* of the solver */
	/* LEVEL_HOLDS: by transaction, the place of its commit in an execution that shows it. */
	uint32_t *commits;
	/* LEVEL_FAILS: the contradiction, with forced order as ww edges whose detail is the read
	 * that forces it; or without steps, the transactions that have no choice.  Free both. */
	struct cycle cycle;
	struct model_core core;
};

/* Registers only. */
enum level_answer saturate(const struct facts *facts, enum cycle_order order, bool snapshot,
	struct saturation_result *result);

#endif
