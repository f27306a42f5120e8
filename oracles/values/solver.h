/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small SAT solver that knows graphs: clauses over variables, and edges that are there when all
 * their literals are true, of which no forbidden cycle may come about.
 *
 * Conflict-driven clause learning (two watched literals, first unique implication point, activity,
 * Luby restarts) with a propagator for cycles: an order of the nodes is kept up to date while edges
 * come and go (Pearce and Kelly 2006), and an edge against it starts a search of the part between
 * its ends only.  A variable may stand for "node a before node b": it is then first decided as the
 * current order of the nodes has it, which rarely makes a cycle.
 *
 * Every conflict remembers what it came from, so that an answer of "no" names the edges and clauses
 * it rests on.
 */
#ifndef VALUES_SOLVER_H
#define VALUES_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOLVER_NONE UINT32_MAX

/* Which cycles are forbidden. */
enum solver_cycles {
	SOLVER_ANY,       /* all; edges of either sort count the same */
	SOLVER_SINGLE,    /* those with at most one anti edge */
	SOLVER_MONOTONIC, /* those with no anti edge, and those with one whose `place` is after the
			     place of the edge that comes back to its start (PL-2L) */
};

enum solver_kind {
	SOLVER_DEPENDENCY,
	SOLVER_ANTI,
	SOLVER_FREE, /* with SOLVER_SINGLE: part of cycles with an anti edge, but not of others */
};

enum solver_answer { SOLVER_YES, SOLVER_NO, SOLVER_UNDECIDED };

enum { SOLVER_EDGE_LITERALS = 4 };

/* A literal is 2 * variable, + 1 when negated. */
struct solver_edge {
	uint32_t from, to;
	uint32_t place;                          /* of SOLVER_MONOTONIC */
	uint32_t literals[SOLVER_EDGE_LITERALS]; /* SOLVER_NONE after the last */
	uint8_t missing;                         /* literals that are not true */
	uint8_t kind;                            /* enum solver_kind */
	bool present;
};

struct solver;

/* Nodes are at first in the order of their priority (by node; NULL: their number), as far as the
 * edges without literals allow. */
struct solver *solver_new(uint32_t node_count, enum solver_cycles cycles, const uint64_t *priority);
void solver_free(struct solver *s);

uint32_t solver_variable(struct solver *s, bool phase);
/* True means node a before node b. */
uint32_t solver_order_variable(struct solver *s, uint32_t a, uint32_t b);
/* `tag` is the caller's word on the clause, given back by solver_core. */
void solver_clause(struct solver *s, const uint32_t *literals, uint32_t count, uint32_t tag);
/* literals: up to SOLVER_EDGE_LITERALS of them. */
void solver_edge(struct solver *s, uint32_t from, uint32_t to, enum solver_kind kind,
	uint32_t place, const uint32_t *literals, uint32_t count);

/* `steps`: literals and edges looked at; counts down, and at 0 the answer is undecided.  May be
 * called again after more clauses and edges were added. */
enum solver_answer solver_run(struct solver *s, uint64_t *steps);

/* After SOLVER_YES. */
bool solver_true(const struct solver *s, uint32_t literal);
/* After SOLVER_YES, with SOLVER_ANY: the node's place in an order that all edges respect. */
uint32_t solver_place(const struct solver *s, uint32_t node);
/* After SOLVER_NO: calls back for every edge and every clause's tag that the answer rests on. */
void solver_core(struct solver *s, void (*edge)(void *context, const struct solver_edge *edge),
	void (*clause)(void *context, uint32_t tag), void *context);

#endif
