/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Version orders and the dependency edges that follow from them.
 *
 * Where an order comes from, by the key:
 *  - list: the longest read list.  Appended items that no transaction read come after it; the order among
 *    several such ("tails") is not known.
 *  - timestamps: the order of commits.
 *  - read-before-write: a transaction that read x_i and then wrote x installed the version next to
 *    x_i, or else the history has a lost update, which PL-2+ and every stronger level forbid.  So
 *    versions hang together in chains, the initial one's first.  With at most one further chain the
 *    order is known; with more the key is open.
 *
 * The last is sound for PL-2+ and above only.  Its edges need no ww inside a chain (the same
 * transactions are joined by wr), and the one from the first chain to the next is marked soft: it
 * is left out when PL-1 and PL-2 are decided.  For these two the order of such keys does not
 * matter: any order that agrees with an acyclic wr graph does.
 */
#ifndef VALUES_EDGES_H
#define VALUES_EDGES_H

#include "common/graph/graph.h"
#include "values/facts.h"

/* An edge's detail is an operation: the read of wr and rw, the later write of ww. */
#define EDGE_SOFT ((uint32_t)1 << 31)

/* An edge of an order that is only tried. */
#define EDGE_GUESS	((enum graph_kind)GRAPH_KIND_OWN)
#define EDGE_GUESS_MASK (1u << GRAPH_KIND_OWN)

struct edges_options {
	bool session, realtime;
	bool prune; /* leave out edges that can be in no cycle */
	bool guess; /* leaves tails open, and adds an order as by by_place in edges of its own kind; of
		       lists only, and not if that takes many edges: `crowded` */
	bool by_place; /* orders tails and open chains as the input has their transactions */
	const uint32_t *rank; /* ... by descending rank; NULL and not by_place: leave open */
};

struct edges {
	struct graph graph;
	uint64_t soft;        /* edges marked so */
	uint64_t open_tails;  /* list keys with several unread transactions */
	uint64_t open_chains; /* register keys whose order the data does not give */
	uint64_t unordered;   /* keys whose reads contradict each other, or are ambiguous */
	bool crowded;         /* gave up: ask by_place */
	uint64_t skipped;     /* keys with too many readers and unread writers to join them all */
};

void edges_build(
	struct edges *edges, const struct facts *facts, const struct edges_options *options);
/* When transactions began and ended, by transaction, as numbers that compare; UINT64_MAX: not known
 * to have ended. */
void edges_times(const struct facts *facts, uint64_t *begin, uint64_t *end);
void edges_release(struct edges *edges);

#endif
