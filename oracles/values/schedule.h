/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks for an execution that explains a register history: a proof that a level holds where version
 * orders are open.
 *
 * Transactions are run one after the other (PL-3), or each as a start and a commit (PL-SI: a
 * snapshot at the start, no two at a time that write one key), so that every read returns what its
 * key holds at that moment.  A version is overwritten only when every transaction that read it has run,
 * since it never comes back; apart from that the choice is greedy, so that finding none proves
 * nothing. Nearly linear.  Values that several transactions wrote are no difficulty: a read asks
 * for the value, not for its writer.
 */
#ifndef VALUES_SCHEDULE_H
#define VALUES_SCHEDULE_H

#include "common/graph/cycles.h"
#include "values/facts.h"

/* Edges between events: 2t and 2t + 1 are the start and commit of transaction t in a schedule of
 * snapshots, else t is the transaction. */
struct precedence_edge {
	uint32_t from, to, detail;
	uint8_t kind; /* enum graph_kind */
};

struct precedence {
	struct precedence_edge *edges;
	size_t count;
};

/* Did a schedule come to its end that respects these edges?  Then `commits` has, by transaction,
 * the place of its commit. */
bool schedule_guided(const struct facts *facts, bool snapshot, const struct precedence *edges,
	uint32_t *commits);

/* Did a schedule come to its end that respects the order (session, real time)?  `commits` as above.
 */
bool schedule_found(
	const struct facts *facts, enum cycle_order order, bool snapshot, uint32_t *commits);

#endif
