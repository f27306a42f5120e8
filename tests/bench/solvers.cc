/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The questions that the values oracle gives to its solver, given to MiniSat and CaDiCaL.
 *
 *	bench_solvers [FORMAT FILE...]      without: generated histories of registers
 *
 * This file has the interface of values/solver.h and is linked in its place.  Neither of the two can be told of
 * cycles while it searches, so a model is asked for, cycles of its edges are forbidden by clauses, and
 * it is asked again, keeping what it has learnt; at most CYCLES_MAX cycles a round, the shortest
 * through as many edges.  `own' is the solver of the oracle (bench_solvers_own, the same program
 * with the oracle's solver).  Every question runs in a process of its own, for at most SECONDS.
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cadical.hpp>
#include <minisat/core/Solver.h>

extern "C" {
#include "bench/solvers.h"
#include "values/solver.h"
}

enum { CYCLES_MAX = 2000 };

/* A literal is 2 * variable, + 1 when negated, as in the interface. */
struct backend {
	virtual ~backend() {}
	virtual void variable(bool phase) = 0;
	virtual void clause(const std::vector<uint32_t> &literals) = 0;
	virtual bool solve() = 0;
	virtual bool is_true(uint32_t literal) = 0;
};

struct minisat : backend {
	Minisat::Solver s;

	static Minisat::Lit lit(uint32_t l) { return Minisat::mkLit((int)(l / 2), l & 1); }
	void variable(bool phase) override { s.newVar(Minisat::lbool((uint8_t)(phase ? 1 : 0))); }
	void clause(const std::vector<uint32_t> &literals) override
	{
		Minisat::vec<Minisat::Lit> c;

		for (uint32_t l : literals)
			c.push(lit(l));
		s.addClause(c);
	}
	bool solve() override { return s.solve(); }
	bool is_true(uint32_t l) override
	{
		return (s.modelValue((int)(l / 2)) == Minisat::lbool((uint8_t)0)) != (l & 1);
	}
};

struct cadical : backend {
	CaDiCaL::Solver s;
	int count = 0;

	static int lit(uint32_t l) { return l & 1 ? -(int)(l / 2 + 1) : (int)(l / 2 + 1); }
	void variable(bool phase) override
	{
		count++;
		s.reserve(count);
		if (phase)
			s.phase(count);
		else
			s.phase(-count);
	}
	void clause(const std::vector<uint32_t> &literals) override
	{
		for (uint32_t l : literals)
			s.add(lit(l));
		s.add(0);
	}
	bool solve() override { return s.solve() == 10; }
	bool is_true(uint32_t l) override
	{
		int v = s.val((int)(l / 2 + 1));

		return (v > 0) != (l & 1);
	}
};

struct edge {
	uint32_t from, to;
	std::vector<uint32_t> literals;
};

struct solver {
	backend *b;
	uint32_t nodes, variables = 0;
	enum solver_cycles cycles;
	std::vector<edge> edges;
	std::vector<uint64_t> priority;
};

extern "C" {

struct solver *solver_new(uint32_t nodes, enum solver_cycles cycles, const uint64_t *priority)
{
	struct solver *s = new solver;

	s->b = bench_solver == BENCH_MINISAT ? (backend *)new minisat : (backend *)new cadical;
	s->nodes = nodes;
	s->cycles = cycles;
	for (uint32_t n = 0; n < nodes; n++)
		s->priority.push_back(priority ? priority[n] : n);
	return s;
}

void solver_free(struct solver *s)
{
	delete s->b;
	delete s;
}

uint32_t solver_variable(struct solver *s, bool phase)
{
	s->b->variable(phase);
	return s->variables++;
}

/* First as the oracle's own solver has it: by the priority of the nodes. */
uint32_t solver_order_variable(struct solver *s, uint32_t a, uint32_t b)
{
	return solver_variable(s, s->priority[a] <= s->priority[b]);
}

void solver_clause(struct solver *s, const uint32_t *literals, uint32_t count, uint32_t)
{
	s->b->clause(std::vector<uint32_t>(literals, literals + count));
}

void solver_edge(struct solver *s, uint32_t from, uint32_t to, enum solver_kind, uint32_t,
	const uint32_t *literals, uint32_t count)
{
	s->edges.push_back({from, to, std::vector<uint32_t>(literals, literals + count)});
}

bool solver_true(const struct solver *s, uint32_t literal)
{
	return s->b->is_true(literal);
}

void solver_core(struct solver *, void (*)(void *, const struct solver_edge *),
	void (*)(void *, uint32_t), void *)
{
}
}

/* The graph of the edges whose literals are all true. */
struct present {
	std::vector<std::vector<uint32_t>> out; /* by node: edges */
	std::vector<uint32_t> component;

	present(struct solver *s) : out(s->nodes), component(s->nodes, UINT32_MAX)
	{
		for (uint32_t e = 0; e < s->edges.size(); e++) {
			const edge &x = s->edges[e];

			if (std::all_of(x.literals.begin(), x.literals.end(),
				    [s](uint32_t l) { return s->b->is_true(l); }))
				out[x.from].push_back(e);
		}
		find_components(s);
	}

	/* Kosaraju's two passes, on stacks of their own. */
	void find_components(struct solver *s)
	{
		std::vector<std::vector<uint32_t>> in(s->nodes);
		std::vector<uint32_t> order, stack, at(s->nodes, 0);
		std::vector<char> seen(s->nodes, 0);
		uint32_t number = 0;

		for (uint32_t n = 0; n < s->nodes; n++) {
			for (uint32_t e : out[n])
				in[s->edges[e].to].push_back(n);
		}
		for (uint32_t root = 0; root < s->nodes; root++) {
			if (seen[root])
				continue;
			seen[root] = 1;
			stack.push_back(root);
			while (!stack.empty()) {
				uint32_t n = stack.back();

				if (at[n] == out[n].size()) {
					order.push_back(n);
					stack.pop_back();
					continue;
				}
				uint32_t to = s->edges[out[n][at[n]++]].to;
				if (!seen[to]) {
					seen[to] = 1;
					stack.push_back(to);
				}
			}
		}
		for (size_t i = order.size(); i-- > 0;) {
			if (component[order[i]] != UINT32_MAX)
				continue;
			component[order[i]] = number;
			stack.push_back(order[i]);
			while (!stack.empty()) {
				uint32_t n = stack.back();

				stack.pop_back();
				for (uint32_t from : in[n]) {
					if (component[from] == UINT32_MAX) {
						component[from] = number;
						stack.push_back(from);
					}
				}
			}
			number++;
		}
	}
};

/* Forbids the shortest cycle through the edge. */
static void forbid(struct solver *s, const present &p, uint32_t first, std::vector<uint32_t> &mark,
	std::vector<uint32_t> &parent, uint32_t now)
{
	std::vector<uint32_t> queue{s->edges[first].to}, clause;
	uint32_t goal = s->edges[first].from;

	mark[s->edges[first].to] = now;
	for (size_t i = 0; i < queue.size() && mark[goal] != now; i++) {
		for (uint32_t e : p.out[queue[i]]) {
			uint32_t to = s->edges[e].to;

			if (p.component[to] != p.component[goal] || mark[to] == now)
				continue;
			mark[to] = now;
			parent[to] = e;
			queue.push_back(to);
		}
	}
	for (uint32_t l : s->edges[first].literals)
		clause.push_back(l ^ 1);
	for (uint32_t n = goal; n != s->edges[first].to; n = s->edges[parent[n]].from) {
		for (uint32_t l : s->edges[parent[n]].literals)
			clause.push_back(l ^ 1);
	}
	std::sort(clause.begin(), clause.end());
	clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
	s->b->clause(clause);
}

extern "C" enum solver_answer solver_run(struct solver *s, uint64_t *)
{
	std::vector<uint32_t> mark(s->nodes, 0), parent(s->nodes, 0);
	uint32_t now = 0;

	if (s->cycles != SOLVER_ANY)
		return SOLVER_UNDECIDED;
	for (;;) {
		uint32_t forbidden = 0;

		bench_rounds++;
		if (!s->b->solve())
			return SOLVER_NO;
		present p(s);
		for (uint32_t n = 0; n < s->nodes && forbidden < CYCLES_MAX; n++) {
			for (uint32_t e : p.out[n]) {
				if (p.component[s->edges[e].to] != p.component[n])
					continue;
				forbid(s, p, e, mark, parent, ++now);
				bench_cycles++;
				if (++forbidden == CYCLES_MAX)
					break;
			}
		}
		if (!forbidden)
			return SOLVER_YES;
	}
}
