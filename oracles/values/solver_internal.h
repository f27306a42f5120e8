/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The solver's state, for its two halves: solver.c (clauses) and solver_graph.c (cycles). */
#ifndef VALUES_SOLVER_INTERNAL_H
#define VALUES_SOLVER_INTERNAL_H

#include "base/mem.h"
#include "values/solver.h"

struct ids {
	uint32_t *at;
	size_t count, capacity;
};

static inline void ids_add(struct ids *ids, uint32_t id)
{
	MEM_RESERVE(ids->at, ids->count + 1, ids->capacity);
	ids->at[ids->count++] = id;
}

/* Where a clause came from: `first` .. + `count` in `origins`. */
struct clause {
	uint32_t start, size; /* in `literals` */
	uint32_t origin, origin_count;
	uint32_t tag; /* of the caller's clauses; else SOLVER_NONE */
};

/* What a learnt clause rests on. */
enum origin_kind { ORIGIN_CLAUSE, ORIGIN_EDGE, ORIGIN_VARIABLE };

struct origin {
	uint32_t id;
	uint8_t kind;
};

struct watch {
	uint32_t clause, blocker;
};

struct watches {
	struct watch *at;
	size_t count, capacity;
};

struct variable {
	uint32_t reason; /* clause; SOLVER_NONE: decided */
	uint32_t level;
	uint32_t heap;          /* place in the heap; SOLVER_NONE */
	uint32_t before, after; /* nodes; SOLVER_NONE: no order */
	double activity;
	bool phase, seen;
};

struct solver {
	enum solver_cycles cycles;
	/* clauses */
	uint32_t *literals;
	size_t literal_count, literal_capacity;
	struct clause *clauses;
	size_t clause_count, clause_capacity;
	struct origin *origins;
	size_t origin_count, origin_capacity;
	struct watches *watches; /* by literal */
	struct variable *variables;
	struct ids *edges_of; /* by literal */
	int8_t *value;        /* by literal: 1 true, -1 false, 0 open */
	uint32_t variable_count;
	size_t variable_capacity, watch_capacity, edges_capacity, value_capacity;
	/* assignment */
	struct ids trail, kept; /* kept: scratch of undo */
	struct ids level_start;
	size_t propagated, graphed; /* how far the trail went through clauses and graph */
	struct ids heap;
	double bump;
	bool impossible;
	struct ids learnt;    /* scratch */
	struct origin *found; /* scratch: origins of the clause being learnt */
	size_t found_count, found_capacity;
	/* graph */
	struct solver_edge *edges;
	size_t edge_count, edge_capacity;
	uint32_t node_count;
	struct ids *out, *in;           /* by node: edges present */
	struct ids *anti_out, *anti_in; /* anti edges, when they are not like others */
	struct ids *free_out, *free_in; /* free edges */
	uint32_t *order;                /* by node: its place */
	uint32_t *first_order;          /* by node: its place before the first run */
	uint32_t *mark, *back_mark, mark_now;
	uint32_t *parent, *back_parent; /* by node: edge */
	struct ids queue, back_queue, region, places;
	size_t anti_count;  /* anti edges present, when they are not like others */
	size_t free_count;  /* free edges present */
	/* Anti edges present whose end is placed before their start: only these can be closed to a
	 * cycle by what follows the order. */
	struct ids back;
	uint32_t *back_at; /* by edge: its place in `back`; SOLVER_NONE */
	size_t back_capacity, back_count;
	struct ids base;    /* edges without literals, not yet in the graph */
	uint64_t *priority; /* by node: before the first run */
	uint64_t *steps;
};

/* Nothing is left: what is going on may be left as it is, the answer is undecided. */
static inline bool out_of_steps(const struct solver *s)
{
	return *s->steps == 0;
}

static inline void count_steps(struct solver *s, uint64_t steps)
{
	*s->steps = *s->steps > steps ? *s->steps - steps : 0;
}

/* What the clause being learnt rests on. */
static inline void blame_origin(struct solver *s, uint32_t id, enum origin_kind kind)
{
	MEM_RESERVE(s->found, s->found_count + 1, s->found_capacity);
	s->found[s->found_count++] = (struct origin){id, (uint8_t)kind};
}

static inline void blame_begin(struct solver *s)
{
	s->learnt.count = 0;
	s->found_count = 0;
}

/* Puts an edge into the graph.  False: it closes a forbidden cycle, whose literals and edges are
 * blamed. */
bool solver_graph_add(struct solver *s, uint32_t e);
/* Takes it out; edges go in the reverse order of their coming. */
void solver_graph_remove(struct solver *s, uint32_t e);
/* The edges without literals; false as above.  Some may be left when the steps are used up. */
bool solver_graph_base(struct solver *s);

#endif
