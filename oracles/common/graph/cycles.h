/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cycles of a dependency graph: which isolation levels they refute, and the shortest of each class.
 *
 * Levels are decided by components of projected graphs, exactly and in linear time, never by
 * searching (semantics.md, section 3).  One pass over the whole graph with all edges comes first;
 * what is in no component is finished, and everything else happens on what is left, usually
 * nothing. PL-2+ has no such projection: where SI holds it holds; else a bit-parallel reachability
 * pass decides it, within a bound.
 *
 * Witnesses are searched afterwards, breadth first, within `budget` looked-at edges a class and
 * component; running out of it makes a witness perhaps not the shortest, or a class of cycles
 * unreported (`cut` counts these), but changes no level except, where said, PL-2+ to undecided.  After an
 * interruption (base/interrupt.h) the budget is as good as none.
 */
#ifndef COMMON_GRAPH_CYCLES_H
#define COMMON_GRAPH_CYCLES_H

#include "common/graph/graph.h"

/* semantics.md, section 3; a cycle is in the first class it fits. */
enum cycle_class {
	CYCLE_G0,            /* ww only */
	CYCLE_G1C,           /* ww and wr, at least one wr */
	CYCLE_G_SINGLE,      /* exactly one rw */
	CYCLE_G_NONADJACENT, /* several rw, no two next to each other */
	CYCLE_G2_ITEM,       /* rw edges, all of them item edges */
	CYCLE_G2,            /* a predicate rw among them */
};
enum { CYCLE_CLASS_COUNT = 6 };

/* What closes the cycle besides data. */
enum cycle_order {
	CYCLE_PLAIN,
	CYCLE_SESSION,  /* at least one session edge, no real-time edge */
	CYCLE_REALTIME, /* at least one real-time edge */
};
enum { CYCLE_ORDER_COUNT = 3 };

enum level_answer {
	LEVEL_HOLDS,
	LEVEL_FAILS,
	LEVEL_UNDECIDED,
};

/* Adya's levels as far as cycles decide them; PL-2 and up also forbid G1a and G1b. */
enum cycle_level {
	CYCLE_PL_1,
	CYCLE_PL_2,
	CYCLE_PL_2PLUS,
	CYCLE_PL_2_99,
	CYCLE_PL_SI,
	CYCLE_PL_3,
};
enum { CYCLE_LEVEL_COUNT = 6 };

struct cycle_step {
	uint32_t from, to;
	uint32_t detail;
	enum graph_kind kind;
};

struct cycle {
	enum cycle_class class;
	enum cycle_order order;
	/* A shorter one of its class is there too, but with predicate rw edges, which this one has
	 * not: it is a G2-item besides.  Only G-single and G-nonadjacent, only CYCLE_PLAIN. */
	bool longer;
	uint32_t length;
	uint32_t component;       /* cycles of one component have one number, by order */
	struct cycle_step *steps; /* step i leads to step i + 1, the last to the first; begins with
				     the smallest transaction */
};

struct cycles {
	struct cycle *cycles;
	size_t count, capacity;
	enum level_answer levels[CYCLE_ORDER_COUNT][CYCLE_LEVEL_COUNT];
	uint32_t component_count; /* of the graph with all edges */
	uint32_t largest;         /* nodes of the largest one */
	uint32_t cut;             /* searches that ran out of their budget */
};

struct cycles_options {
	bool session, realtime; /* look at these variants too */
	uint64_t budget;        /* 0: the default */
};

void cycles_find(
	struct cycles *out, const struct graph *graph, const struct cycles_options *options);
void cycles_release(struct cycles *cycles);

/* The class by the edges alone. */
enum cycle_class cycle_classify(const struct cycle_step *steps, uint32_t length);
/* Has no predicate rw. */
bool cycle_is_of_items(const struct cycle_step *steps, uint32_t length);
/* The weakest level that forbids the class. */
enum cycle_level cycle_refutes(enum cycle_class class);
const char *cycle_class_name(enum cycle_class class);
const char *cycle_level_name(enum cycle_level level);

#endif
