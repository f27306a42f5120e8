/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a history to its direct serialization graph: the edges of semantics.md, section 2.
 *
 * An edge's detail in the graph: for ww the later version, for wr and rw the version read, for
 * predicate edges an index into predicate_edges.  What the next version is follows from the order.
 */
#ifndef ADYA_DEPENDENCIES_H
#define ADYA_DEPENDENCIES_H

#include "adya/explanation.h"
#include "base/meter.h"
#include "common/graph/graph.h"
#include "model/history/history.h"

struct predicate_edge {
	uint32_t predicate;
	uint32_t seen;    /* the version in the predicate's version set */
	uint32_t changed; /* the version that changed the matches */
	bool forced;      /* it follows from the row's absence alone */
	uint8_t read_kind; /* of the predicate: enum probe_read_kind */
};

/* Why a read gives no certain edges. */
enum undecided {
	UNDECIDED_INEXACT, /* its probe is not exact */
	UNDECIDED_ORDER,   /* the version order of the object is not known */
	UNDECIDED_BUDGET,  /* a predicate past the limit of tests */
	UNDECIDED_COUNT
};

struct dependencies {
	struct graph graph;
	uint32_t *node_of; /* by transaction; GRAPH_NONE: not committed */
	uint32_t *txn_of;  /* by node */
	struct predicate_edge *predicate_edges;
	size_t predicate_edge_count, predicate_edge_capacity;
	/* Reads and (predicate, object) pairs that gave certain edges or certainly none; and reads that are
	 * in no graph, by reason. */
	uint64_t decided;
	uint64_t undecided[UNDECIDED_COUNT];
	uint8_t *open; /* by statement: enum undecided + 1; NULL: none */
	/* Reads that may have met one of several versions: for those the explanation chooses one. */
	struct explanation explanation;
	const struct history *timed; /* as dependencies_options.timed says; NULL */
	/* Certain edges that were left to the explanation, as sessions that were not recorded may have
	 * deleted rows. */
	uint64_t left_to_others;
	struct dependency_builder *builder; /* for the explanation; NULL: none is needed */
	bool stopped; /* by an interruption: edges are missing */
};

/* (predicate, version) tests; see struct dependencies_options. */
#define PREDICATE_TESTS_DEFAULT ((uint64_t)2 * 1000 * 1000 * 1000)

struct dependencies_options {
	bool session, realtime; /* edges of these orders too */
	bool inexact;           /* reads of items that are not exact draw edges as well */
	/*
	 * Explanations lack the edges that lead from a transaction to one that began after it had ended, and the reads that
	 * have no others: those of rows that no transaction wrote beside the reader.  What holds with the edges of real time
	 * holds with these as well, as it follows from them.  What holds without real time may not.
	 */
	bool timed;
	bool unseen;            /* any table may have versions that are not in the history */
	bool others;            /* sessions that were not recorded may have deleted rows */
	uint64_t tests_max;     /* (predicate, version) tests in all; 0: the default */
	const struct meter *meter; /* NULL: none */
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

/* The installed version after this one in its object's order, or HISTORY_NONE. */
uint32_t version_next(const struct history *history, uint32_t version);

#endif
