/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dependency graphs: transactions as nodes, typed edges, strongly connected components.
 *
 * Compressed sparse rows, 32-bit ids, linear passes: igraph needs about seven times the memory and
 * the time for the same components, so it serves on small witness graphs and as the test twin.
 *
 * Nodes below txn_count are transactions.  Nodes from there on are points in time that carry
 * real-time order (graph_builder_realtime): a path through them from one transaction to another is
 * one real-time edge.
 */
#ifndef COMMON_GRAPH_GRAPH_H
#define COMMON_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_NONE UINT32_MAX

/* semantics.md, section 2 */
enum graph_kind {
	GRAPH_WW,
	GRAPH_WR,
	GRAPH_PREDICATE_WR,
	GRAPH_RW,
	GRAPH_PREDICATE_RW,
	GRAPH_SESSION,
	GRAPH_REALTIME,
};
/* From here on the caller's own, in none of the masks. */
enum { GRAPH_KIND_OWN = GRAPH_REALTIME + 1 };

enum graph_mask {
	GRAPH_MASK_WW = 1 << GRAPH_WW,
	GRAPH_MASK_WR = 1 << GRAPH_WR | 1 << GRAPH_PREDICATE_WR,
	GRAPH_MASK_ITEM_RW = 1 << GRAPH_RW,
	GRAPH_MASK_PREDICATE_RW = 1 << GRAPH_PREDICATE_RW,
	GRAPH_MASK_RW = GRAPH_MASK_ITEM_RW | GRAPH_MASK_PREDICATE_RW,
	GRAPH_MASK_DEPENDENCY = GRAPH_MASK_WW | GRAPH_MASK_WR,
	GRAPH_MASK_DATA = GRAPH_MASK_DEPENDENCY | GRAPH_MASK_RW,
	GRAPH_MASK_SESSION = 1 << GRAPH_SESSION,
	GRAPH_MASK_REALTIME = 1 << GRAPH_REALTIME,
	GRAPH_MASK_ALL = GRAPH_MASK_DATA | GRAPH_MASK_SESSION | GRAPH_MASK_REALTIME,
};

struct graph {
	uint32_t node_count;
	uint32_t txn_count; /* nodes from here on are points in time */
	uint32_t edge_count;
	uint32_t *head; /* edges of node v: head[v] .. head[v + 1) */
	uint32_t *to;
	uint32_t *detail; /* the caller's word on each edge, e.g. a version id */
	uint8_t *kind;    /* enum graph_kind */
	uint32_t *origin; /* node in the graph this one was cut from; NULL: itself */
};

/* Edges in any order; graph_build sorts them. */
struct graph_builder {
	uint32_t *from, *to, *detail;
	uint8_t *kind;
	size_t count, capacity;
	uint32_t node_count, txn_count;
};

void graph_builder_init(struct graph_builder *builder, uint32_t txn_count);
/* An edge from a node to itself is no dependency (Ti != Tj) and is left out. */
void graph_builder_add(struct graph_builder *builder, uint32_t from, uint32_t to,
	enum graph_kind kind, uint32_t detail);
/* Leaves out edges that cannot be part of a cycle.  A cycle that passes from nodes of higher number to
 * lower ones does so by an edge against the numbers, so it lies where the spans of such edges hang together;
 * where nodes are numbered about as they follow each other, few do.  inside[v] tells whether v is in
 * such a part (zeroed by the caller; node_count).  Before graph_builder_realtime, which then needs
 * only these: the caller vouches that real time agrees with the numbers. */
void graph_builder_prune(struct graph_builder *builder, uint8_t *inside);
/* Real-time order: Ti before Tj when end[i] < begin[j].  UINT64_MAX as end: never known to have
 * ended; as begin: left out.  Adds at most one node for each distinct begin, and O(txns) edges. */
void graph_builder_realtime(
	struct graph_builder *builder, const uint64_t *begin, const uint64_t *end);
/* Takes the builder's edges; the builder is empty afterwards. */
void graph_build(struct graph *graph, struct graph_builder *builder);
void graph_builder_release(struct graph_builder *builder);
void graph_release(struct graph *graph);

/* Strongly connected components of the edges in `mask`: component[v] is a number from 0 for nodes
 * of components with at least two nodes, GRAPH_NONE for all others.  Returns how many there are.
 * Iterative Tarjan, linear. */
uint32_t graph_components(const struct graph *graph, unsigned mask, uint32_t *component);

/* Has no such component; ends as soon as one is met. */
bool graph_is_acyclic(const struct graph *graph, unsigned mask);

/* A rank for every node such that an edge of `mask` never leads to a higher one, and nodes have the
 * same rank exactly when they are in the same component: a topological order, backwards. */
void graph_ranks(const struct graph *graph, unsigned mask, uint32_t *rank);

/* The part of a graph that lies inside components: their nodes, renumbered (origin says whence),
 * and the edges of `mask` that stay inside one component. */
void graph_cut(
	struct graph *out, const struct graph *graph, unsigned mask, const uint32_t *component);

/* "ww", "wr", "rw", "predicate wr" ... */
const char *graph_kind_name(enum graph_kind kind);

#endif
