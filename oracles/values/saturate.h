/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers whose version order is open: everything that reads force, to a fixpoint.
 *
 * Events: one a transaction for PL-3; a start and a commit for PL-SI.  Known from the beginning:
 * start before commit, session order, and the writer's commit before the reader's start.  Then for
 * every read of x by t3 from t1 and every other writer t2 of x: either t2 commits before t1 starts,
 * or t1 commits before t2 starts and t3 starts before t2 commits.  When the known order excludes
 * one of the two, the other is added.  A cycle refutes the level.  Without one, the order guides
 * the search for an execution (schedule.h); finding one proves the level.  Else it stays open.
 *
 * Reachability is a matrix of bits, so this is for histories of up to SATURATE_TXNS_MAX.
 */
#ifndef VALUES_SATURATE_H
#define VALUES_SATURATE_H

#include "graph/cycles.h"
#include "values/facts.h"

enum { SATURATE_TXNS_MAX = 20000 };

/* Reads must all have one known source.  On LEVEL_FAILS, cycle->steps is the contradiction (free
 * it), with forced order as ww edges whose detail is the read that forces it. */
enum level_answer saturate(
	const struct facts *facts, enum cycle_order order, bool snapshot, struct cycle *cycle);

#endif
