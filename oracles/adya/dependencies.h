/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a history to its direct serialization graph: the edges of semantics.md, section 2.
 *
 * An edge's detail in the graph: for ww the later version, for wr and rw the version read, for
 * predicate edges an index into predicate_edges.  What the next version is follows from the order.
 */
#ifndef ADYA_DEPENDENCIES_H
#define ADYA_DEPENDENCIES_H

#include "common/graph/graph.h"
#include "model/history/history.h"

struct predicate_edge {
	uint32_t predicate;
	uint32_t seen;    /* the version in the predicate's version set */
	uint32_t changed; /* the version that changed the matches */
	bool forced;      /* it follows from the row's absence alone */
};

enum undecided {
	UNDECIDED_INEXACT, /* reads by a probe that is not exact */
	UNDECIDED_BLIND,   /* reads of a table whose condition is not known, or spans tables */
	UNDECIDED_ORDER,   /* reads of objects without a known version order */
	UNDECIDED_ABSENT,  /* "no row" that could be several versions */
	UNDECIDED_MATCH,   /* (predicate, object) */
	UNDECIDED_UNSEEN,  /* the same: rows that were not returned, of tables with unseen writes */
	UNDECIDED_OTHERS,  /* ... that sessions which were not recorded may have deleted */
	UNDECIDED_BUDGET,  /* ... past the limit of tests */
	UNDECIDED_COUNT
};

struct dependencies {
	struct graph graph;
	uint32_t *node_of; /* by transaction; GRAPH_NONE: not committed */
	uint32_t *txn_of;  /* by node */
	struct predicate_edge *predicate_edges;
	size_t predicate_edge_count, predicate_edge_capacity;
	/* Operations and (predicate, object) pairs that gave certain edges or certainly none; and
	 * the others, by reason. */
	uint64_t decided;
	uint64_t undecided[UNDECIDED_COUNT];
	uint32_t first[UNDECIDED_COUNT]; /* the first statement concerned; NONE: no statement */
};

struct dependencies_options {
	bool session, realtime; /* edges of these orders too */
	bool inexact;           /* reads of items that are not exact draw edges as well */
	bool unseen;            /* any table may have versions that are not in the history */
	bool others;            /* sessions that were not recorded may have deleted rows */
};

/* Is the transaction a node? */
static inline bool dependencies_has(const struct history *history, uint32_t txn)
{
	return history_committed(history, txn) && !(history->txns[txn].flags & HISTORY_TXN_MIXED);
}

void dependencies_build(struct dependencies *out, const struct history *history,
	const struct dependencies_options *options);
/* Whether operations with HISTORY_OP_RELEASED are no part of their transaction. */
bool dependencies_released(const struct history *history);
void dependencies_release(struct dependencies *dependencies);

/* The installed version behind this one in its object's order, or HISTORY_NONE. */
uint32_t version_next(const struct history *history, uint32_t version);

#endif
