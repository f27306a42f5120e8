/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/solver_internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/interrupt.h"
#include "base/mem.h"

enum {
	RESTART_UNIT = 128,
	MEMORY_MAX = 1 << 27, /* literals and origins of clauses */
	BACK_MAX = 100, /* levels that a conflict takes back at once */
};
#define ACTIVITY_DECAY 0.95
#define ACTIVITY_MAX   1e80

/* --------------------------------------------------------------------------- activity */

static bool above(const struct solver *s, uint32_t a, uint32_t b)
{
	return s->variables[a].activity > s->variables[b].activity;
}

static void sift_up(struct solver *s, uint32_t place)
{
	uint32_t *heap = s->heap.at, v = heap[place];

	while (place > 0 && above(s, v, heap[(place - 1) / 2])) {
		heap[place] = heap[(place - 1) / 2];
		s->variables[heap[place]].heap = place;
		place = (place - 1) / 2;
	}
	heap[place] = v;
	s->variables[v].heap = place;
}

static void sift_down(struct solver *s, uint32_t place)
{
	uint32_t *heap = s->heap.at, v = heap[place], count = (uint32_t)s->heap.count;

	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= count)
			break;
		if (child + 1 < count && above(s, heap[child + 1], heap[child]))
			child++;
		if (!above(s, heap[child], v))
			break;
		heap[place] = heap[child];
		s->variables[heap[place]].heap = place;
		place = child;
	}
	heap[place] = v;
	s->variables[v].heap = place;
}

static void heap_insert(struct solver *s, uint32_t v)
{
	if (s->variables[v].heap != SOLVER_NONE)
		return;
	ids_add(&s->heap, v);
	sift_up(s, (uint32_t)s->heap.count - 1);
}

static uint32_t heap_take(struct solver *s)
{
	uint32_t v = s->heap.at[0], last = s->heap.at[--s->heap.count];

	s->variables[v].heap = SOLVER_NONE;
	if (s->heap.count) {
		s->heap.at[0] = last;
		sift_down(s, 0);
	}
	return v;
}

static void bump(struct solver *s, uint32_t v)
{
	s->variables[v].activity += s->bump;
	if (s->variables[v].activity > ACTIVITY_MAX) {
		for (uint32_t i = 0; i < s->variable_count; i++)
			s->variables[i].activity /= ACTIVITY_MAX;
		s->bump /= ACTIVITY_MAX;
	}
	if (s->variables[v].heap != SOLVER_NONE)
		sift_up(s, s->variables[v].heap);
}

/* ---------------------------------------------------------------------------- building */

struct solver *solver_new(uint32_t node_count, enum solver_cycles cycles, const uint64_t *priority)
{
	struct solver *s = mem_zero(1, sizeof(*s));

	s->cycles = cycles;
	s->node_count = node_count;
	s->bump = 1;
	s->out = mem_zero(node_count, sizeof(*s->out));
	s->in = mem_zero(node_count, sizeof(*s->in));
	s->anti_out = mem_zero(node_count, sizeof(*s->anti_out));
	s->anti_in = mem_zero(node_count, sizeof(*s->anti_in));
	s->free_out = mem_zero(node_count, sizeof(*s->free_out));
	s->free_in = mem_zero(node_count, sizeof(*s->free_in));
	s->order = mem_zero(node_count, sizeof(*s->order));
	s->first_order = mem_zero(node_count, sizeof(*s->first_order));
	s->mark = mem_zero(node_count, sizeof(*s->mark));
	s->back_mark = mem_zero(node_count, sizeof(*s->back_mark));
	s->parent = mem_zero(node_count, sizeof(*s->parent));
	s->back_parent = mem_zero(node_count, sizeof(*s->back_parent));
	s->priority = mem_zero(node_count, sizeof(*s->priority));
	for (uint32_t n = 0; n < node_count; n++) {
		s->order[n] = n;
		s->priority[n] = priority ? priority[n] : n;
	}
	return s;
}

static void free_lists(struct ids *lists, size_t count)
{
	for (size_t i = 0; lists && i < count; i++)
		mem_free(lists[i].at);
	mem_free(lists);
}

void solver_free(struct solver *s)
{
	for (uint32_t i = 0; i < 2 * s->variable_count; i++)
		mem_free(s->watches[i].at);
	mem_free(s->watches);
	free_lists(s->edges_of, 2 * (size_t)s->variable_count);
	free_lists(s->out, s->node_count);
	free_lists(s->in, s->node_count);
	free_lists(s->anti_out, s->node_count);
	free_lists(s->anti_in, s->node_count);
	free_lists(s->free_out, s->node_count);
	free_lists(s->free_in, s->node_count);
	mem_free(s->literals);
	mem_free(s->clauses);
	mem_free(s->origins);
	mem_free(s->variables);
	mem_free(s->value);
	mem_free(s->trail.at);
	mem_free(s->kept.at);
	mem_free(s->level_start.at);
	mem_free(s->heap.at);
	mem_free(s->learnt.at);
	mem_free(s->found);
	mem_free(s->edges);
	mem_free(s->order);
	mem_free(s->first_order);
	mem_free(s->mark);
	mem_free(s->back_mark);
	mem_free(s->parent);
	mem_free(s->back_parent);
	mem_free(s->queue.at);
	mem_free(s->back_queue.at);
	mem_free(s->region.at);
	mem_free(s->places.at);
	mem_free(s->base.at);
	mem_free(s->back.at);
	mem_free(s->back_at);
	mem_free(s->priority);
	mem_free(s);
}

uint32_t solver_variable(struct solver *s, bool phase)
{
	uint32_t v = s->variable_count++;
	size_t literals = 2 * (size_t)s->variable_count;

	MEM_RESERVE(s->variables, s->variable_count, s->variable_capacity);
	MEM_RESERVE(s->watches, literals, s->watch_capacity);
	MEM_RESERVE(s->edges_of, literals, s->edges_capacity);
	MEM_RESERVE(s->value, literals, s->value_capacity);
	memset(&s->watches[2 * v], 0, 2 * sizeof(*s->watches));
	memset(&s->edges_of[2 * v], 0, 2 * sizeof(*s->edges_of));
	s->value[2 * v] = s->value[2 * v + 1] = 0;
	s->variables[v] = (struct variable){.reason = SOLVER_NONE,
		.heap = SOLVER_NONE,
		.before = SOLVER_NONE,
		.after = SOLVER_NONE,
		.phase = phase};
	heap_insert(s, v);
	return v;
}

uint32_t solver_order_variable(struct solver *s, uint32_t a, uint32_t b)
{
	uint32_t v = solver_variable(s, true);

	s->variables[v].before = a;
	s->variables[v].after = b;
	return v;
}

static void assign(struct solver *s, uint32_t literal, uint32_t reason)
{
	struct variable *v = &s->variables[literal / 2];

	s->value[literal] = 1;
	s->value[literal ^ 1] = -1;
	v->reason = reason;
	v->level = (uint32_t)s->level_start.count;
	ids_add(&s->trail, literal);
}

static void watch(struct solver *s, uint32_t literal, uint32_t clause, uint32_t blocker)
{
	struct watches *w = &s->watches[literal];

	MEM_RESERVE(w->at, w->count + 1, w->capacity);
	w->at[w->count++] = (struct watch){clause, blocker};
}

static uint32_t store_clause(
	struct solver *s, const uint32_t *literals, uint32_t count, uint32_t tag)
{
	struct clause *c;

	MEM_RESERVE(s->clauses, s->clause_count + 1, s->clause_capacity);
	MEM_RESERVE(s->literals, s->literal_count + count, s->literal_capacity);
	c = &s->clauses[s->clause_count];
	*c = (struct clause){(uint32_t)s->literal_count, count, (uint32_t)s->origin_count, 0, tag};
	if (count)
		memcpy(s->literals + s->literal_count, literals, count * sizeof(*literals));
	s->literal_count += count;
	if (count > 1) {
		watch(s, literals[0], (uint32_t)s->clause_count, literals[1]);
		watch(s, literals[1], (uint32_t)s->clause_count, literals[0]);
	}
	return (uint32_t)s->clause_count++;
}

static void undo(struct solver *s, uint32_t level);

void solver_clause(struct solver *s, const uint32_t *literals, uint32_t count, uint32_t tag)
{
	uint32_t clause, kept = 0, copy[64], *all = copy;

	undo(s, 0);
	if (count > 64)
		all = mem_realloc(NULL, count, sizeof(*all));
	/* Open literals to the front, where they are watched. */
	if (count)
		memcpy(all, literals, count * sizeof(*all));
	for (uint32_t i = 0; i < count; i++) {
		if (s->value[all[i]] >= 0) {
			uint32_t swap = all[kept];

			all[kept++] = all[i];
			all[i] = swap;
		}
	}
	clause = store_clause(s, all, count, tag);
	if (kept == 0 && !s->impossible) {
		s->impossible = true;
		s->found_count = 0;
		blame_origin(s, clause, ORIGIN_CLAUSE);
		for (uint32_t i = 0; i < count; i++)
			blame_origin(s, all[i] / 2, ORIGIN_VARIABLE);
	} else if (kept == 1 && s->value[all[0]] == 0) {
		assign(s, all[0], clause);
	}
	if (all != copy)
		mem_free(all);
}

void solver_edge(struct solver *s, uint32_t from, uint32_t to, enum solver_kind kind,
	uint32_t place, const uint32_t *literals, uint32_t count)
{
	struct solver_edge *edge;
	uint32_t e = (uint32_t)s->edge_count;

	CHECK(count <= SOLVER_EDGE_LITERALS);
	undo(s, 0);
	MEM_RESERVE(s->edges, s->edge_count + 1, s->edge_capacity);
	edge = &s->edges[s->edge_count++];
	*edge = (struct solver_edge){from, to, place,
		{SOLVER_NONE, SOLVER_NONE, SOLVER_NONE, SOLVER_NONE}, (uint8_t)count, (uint8_t)kind,
		false};
	for (uint32_t i = 0; i < count; i++) {
		edge->literals[i] = literals[i];
		ids_add(&s->edges_of[literals[i]], e);
	}
	if (count == 0)
		ids_add(&s->base, e);
	else
		s->graphed = 0; /* literals that are true already are counted again */
}

/* ------------------------------------------------------------------------- propagation */

/* A literal became true: edges that now have all of theirs.  False: a cycle. */
static bool graph_literal(struct solver *s, uint32_t literal)
{
	const struct ids *edges = &s->edges_of[literal];
	bool ok = true;

	count_steps(s, edges->count);
	for (size_t i = 0; i < edges->count; i++) {
		if (--s->edges[edges->at[i]].missing == 0 && ok)
			ok = solver_graph_add(s, edges->at[i]);
	}
	return ok;
}

static void ungraph_literal(struct solver *s, uint32_t literal)
{
	const struct ids *edges = &s->edges_of[literal];

	for (size_t i = edges->count; i-- > 0;) {
		struct solver_edge *edge = &s->edges[edges->at[i]];

		if (edge->missing++ == 0 && edge->present)
			solver_graph_remove(s, edges->at[i]);
	}
}

/* Literals that follow from lower levels (learn) stay, after what is left. */
static void undo(struct solver *s, uint32_t level)
{
	size_t start;

	if (s->level_start.count <= level)
		return;
	start = s->level_start.at[level];
	s->kept.count = 0;
	for (size_t i = s->trail.count; i-- > start;) {
		uint32_t literal = s->trail.at[i];

		if (s->variables[literal / 2].level <= level)
			ids_add(&s->kept, literal);
		if (i < s->graphed)
			ungraph_literal(s, literal);
		s->value[literal] = s->value[literal ^ 1] = 0;
		s->variables[literal / 2].phase = !(literal & 1);
		heap_insert(s, literal / 2);
	}
	s->trail.count = start;
	s->level_start.count = level;
	if (s->propagated > start)
		s->propagated = start;
	if (s->graphed > start)
		s->graphed = start;
	while (s->kept.count) {
		uint32_t literal = s->kept.at[--s->kept.count];
		uint32_t of_level = s->variables[literal / 2].level;

		assign(s, literal, s->variables[literal / 2].reason);
		s->variables[literal / 2].level = of_level;
	}
}

/* Looks for a literal to watch instead of all[1], which is false. */
static bool move_watch(struct solver *s, uint32_t clause, uint32_t *all)
{
	for (uint32_t k = 2; k < s->clauses[clause].size; k++) {
		if (s->value[all[k]] >= 0) {
			uint32_t other = all[k];

			all[k] = all[1];
			all[1] = other;
			watch(s, other, clause, all[0]);
			return true;
		}
	}
	return false;
}

/* Returns a clause that is false, or NONE. */
static uint32_t propagate_clauses(struct solver *s, uint32_t false_literal)
{
	struct watches *w = &s->watches[false_literal];
	size_t keep = 0, i = 0;
	uint32_t conflict = SOLVER_NONE;

	count_steps(s, w->count + 1);
	for (; i < w->count && conflict == SOLVER_NONE; i++) {
		struct watch at = w->at[i];
		uint32_t *all = s->literals + s->clauses[at.clause].start;

		if (s->value[at.blocker] > 0) {
			w->at[keep++] = at;
			continue;
		}
		if (all[0] == false_literal) {
			all[0] = all[1];
			all[1] = false_literal;
		}
		if (s->value[all[0]] > 0) {
			w->at[keep++] = (struct watch){at.clause, all[0]};
		} else if (!move_watch(s, at.clause, all)) {
			w->at[keep++] = at;
			if (s->value[all[0]] < 0)
				conflict = at.clause;
			else
				assign(s, all[0], at.clause);
		}
	}
	for (; i < w->count; i++)
		w->at[keep++] = w->at[i];
	w->count = keep;
	return conflict;
}

/* False: a conflict, whose literals (all false) and origins are in learnt and found.  It may end
 * early when the steps are used up. */
static bool propagate(struct solver *s)
{
	while ((s->propagated < s->trail.count || s->graphed < s->trail.count) &&
		!out_of_steps(s)) {
		if (s->propagated < s->trail.count) {
			uint32_t conflict = propagate_clauses(s, s->trail.at[s->propagated++] ^ 1);

			if (conflict == SOLVER_NONE)
				continue;
			blame_begin(s);
			blame_origin(s, conflict, ORIGIN_CLAUSE);
			for (uint32_t i = 0; i < s->clauses[conflict].size; i++)
				ids_add(&s->learnt, s->literals[s->clauses[conflict].start + i]);
			return false;
		}
		if (!graph_literal(s, s->trail.at[s->graphed++]))
			return false;
	}
	return true;
}

/* ---------------------------------------------------------------------------- learning */

/* Marks a false literal of the conflict; those of level 0 are only remembered. */
static void mark_literal(struct solver *s, uint32_t literal, struct ids *lower, uint32_t *open)
{
	struct variable *v = &s->variables[literal / 2];

	if (v->seen)
		return;
	if (v->level == 0) {
		blame_origin(s, literal / 2, ORIGIN_VARIABLE);
		return;
	}
	v->seen = true;
	bump(s, literal / 2);
	if (v->level == s->level_start.count)
		++*open;
	else
		ids_add(lower, literal);
}

/* From the conflict in learnt to the first unique implication point; goes back and asserts. */
static void learn(struct solver *s)
{
	struct ids lower = {0};
	size_t at = s->trail.count;
	uint32_t open = 0, literal, back = 0, clause, second = 0;
	uint32_t now = (uint32_t)s->level_start.count;

	ids_add(&lower, 0); /* for the asserting literal */
	for (size_t i = 0; i < s->learnt.count; i++)
		mark_literal(s, s->learnt.at[i], &lower, &open);
	for (;;) {
		const struct clause *reason;

		do
			literal = s->trail.at[--at];
		while (!s->variables[literal / 2].seen || s->variables[literal / 2].level != now);
		s->variables[literal / 2].seen = false;
		if (--open == 0)
			break;
		CHECK(s->variables[literal / 2].reason != SOLVER_NONE);
		blame_origin(s, s->variables[literal / 2].reason, ORIGIN_CLAUSE);
		reason = &s->clauses[s->variables[literal / 2].reason];
		count_steps(s, reason->size);
		for (uint32_t i = 0; i < reason->size; i++) {
			if (s->literals[reason->start + i] != literal)
				mark_literal(s, s->literals[reason->start + i], &lower, &open);
		}
	}
	lower.at[0] = literal ^ 1;
	for (size_t i = 1; i < lower.count; i++) {
		uint32_t level = s->variables[lower.at[i] / 2].level;

		s->variables[lower.at[i] / 2].seen = false;
		if (level > back) {
			back = level;
			second = (uint32_t)i;
		}
	}
	if (second) {
		uint32_t swap = lower.at[1];

		lower.at[1] = lower.at[second];
		lower.at[second] = swap;
	}
	/* Most decisions have nothing to do with the conflict, and each one costs searches when it is
	 * made again: instead of far back it goes back one level (Nadel and Ryvchin, Chronological
	 * Backtracking, SAT 2018). */
	undo(s, s->level_start.count - back > BACK_MAX ? (uint32_t)s->level_start.count - 1 : back);
	clause = store_clause(s, lower.at, (uint32_t)lower.count, SOLVER_NONE);
	MEM_RESERVE(s->origins, s->origin_count + s->found_count, s->origin_capacity);
	if (s->found_count)
		memcpy(s->origins + s->origin_count, s->found, s->found_count * sizeof(*s->found));
	s->clauses[clause].origin_count = (uint32_t)s->found_count;
	s->origin_count += s->found_count;
	assign(s, lower.at[0], clause);
	s->variables[lower.at[0] / 2].level = back;
	s->bump /= ACTIVITY_DECAY;
	mem_free(lower.at);
}

/* The last level that the conflict needs: literals of lower levels may have come later. */
static uint32_t conflict_level(const struct solver *s)
{
	uint32_t level = 0;

	for (size_t i = 0; i < s->learnt.count; i++) {
		uint32_t of_literal = s->variables[s->learnt.at[i] / 2].level;

		level = of_literal > level ? of_literal : level;
	}
	return level;
}

/* A conflict without decisions: the literals of the conflict were all forced. */
static void give_up(struct solver *s)
{
	for (size_t i = 0; i < s->learnt.count; i++)
		blame_origin(s, s->learnt.at[i] / 2, ORIGIN_VARIABLE);
	s->impossible = true;
}

/* -------------------------------------------------------------------------------- run */

/* Luby's sequence: 1 1 2 1 1 2 4 ... */
static uint64_t luby(uint64_t i)
{
	uint64_t size = 1;

	while (size < i + 1)
		size = 2 * size + 1;
	while (size - 1 != i) {
		size = (size - 1) / 2;
		i %= size;
	}
	return (size + 1) / 2;
}

/* Which of two nodes is first: as their order is now, or as it was at first, which stays near to
 * what the caller knows while searches for cycles move nodes about. */
static bool guess_order(const struct solver *s, const struct variable *x, bool at_first)
{
	const uint32_t *order = at_first ? s->first_order : s->order;

	return order[x->before] < order[x->after];
}

static bool decide(struct solver *s, bool at_first)
{
	while (s->heap.count) {
		uint32_t v = heap_take(s);
		const struct variable *x = &s->variables[v];
		bool phase = x->phase;

		if (s->value[2 * v] != 0)
			continue;
		if (x->before != SOLVER_NONE)
			phase = guess_order(s, x, at_first);
		ids_add(&s->level_start, (uint32_t)s->trail.count);
		assign(s, 2 * v + !phase, SOLVER_NONE);
		return true;
	}
	return false;
}

/* After edges were added: all edges hear again what is true already. */
static void count_again(struct solver *s)
{
	if (s->graphed || !s->trail.count)
		return;
	for (size_t i = s->trail.count; i-- > 0;) {
		const struct ids *edges = &s->edges_of[s->trail.at[i]];

		for (size_t k = edges->count; k-- > 0;) {
			struct solver_edge *edge = &s->edges[edges->at[k]];

			if (edge->present)
				solver_graph_remove(s, edges->at[k]);
		}
	}
	for (size_t e = 0; e < s->edge_count; e++) {
		struct solver_edge *edge = &s->edges[e];

		edge->missing = 0;
		for (uint32_t i = 0; i < SOLVER_EDGE_LITERALS; i++)
			edge->missing += edge->literals[i] != SOLVER_NONE;
	}
}

enum solver_answer solver_run(struct solver *s, uint64_t *steps)
{
	uint64_t restarts = 0, conflicts = 0;

	s->steps = steps;
	undo(s, 0);
	count_again(s);
	if (!s->impossible && !solver_graph_base(s))
		give_up(s);
	while (!s->impossible) {
		bool fine = propagate(s);

		if (interrupt_seen())
			*steps = 0;
		if (out_of_steps(s) || s->literal_count + s->origin_count > MEMORY_MAX)
			return SOLVER_UNDECIDED;
		if (!fine) {
			undo(s, conflict_level(s));
			if (s->level_start.count == 0) {
				give_up(s);
				break;
			}
			learn(s);
			if (++conflicts >= luby(restarts) * RESTART_UNIT) {
				conflicts = 0;
				restarts++;
				undo(s, 0);
			}
		} else if (!decide(s, restarts % 2)) {
			return SOLVER_YES;
		}
	}
	return SOLVER_NO;
}

bool solver_true(const struct solver *s, uint32_t literal)
{
	return s->value[literal] > 0;
}

uint32_t solver_place(const struct solver *s, uint32_t node)
{
	return s->order[node];
}

/* -------------------------------------------------------------------------------- core */

struct core {
	struct solver *s;
	uint8_t *clauses, *edges, *variables; /* already on the stack, or reported */
	struct origin *stack;
	size_t count, capacity;
};

static void core_add(struct core *c, uint32_t id, enum origin_kind kind)
{
	uint8_t *seen = kind == ORIGIN_CLAUSE ? c->clauses
			: kind == ORIGIN_EDGE ? c->edges
					      : c->variables;

	if (id == SOLVER_NONE || seen[id])
		return;
	seen[id] = 1;
	MEM_RESERVE(c->stack, c->count + 1, c->capacity);
	c->stack[c->count++] = (struct origin){id, (uint8_t)kind};
}

/* A clause stands on what it was learnt from, or is the caller's; the other literals of a forced
 * variable's reason were false before. */
static void core_clause(struct core *c, uint32_t id, void (*tell)(void *, uint32_t), void *context)
{
	const struct clause *clause = &c->s->clauses[id];

	if (clause->tag != SOLVER_NONE)
		tell(context, clause->tag);
	for (uint32_t i = 0; i < clause->origin_count; i++)
		core_add(c, c->s->origins[clause->origin + i].id,
			(enum origin_kind)c->s->origins[clause->origin + i].kind);
}

static void core_variable(struct core *c, uint32_t id)
{
	uint32_t reason = c->s->variables[id].reason;
	const struct clause *clause;

	if (reason == SOLVER_NONE)
		return;
	core_add(c, reason, ORIGIN_CLAUSE);
	clause = &c->s->clauses[reason];
	for (uint32_t i = 0; i < clause->size; i++) {
		uint32_t v = c->s->literals[clause->start + i] / 2;

		if (v != id)
			core_add(c, v, ORIGIN_VARIABLE);
	}
}

void solver_core(struct solver *s, void (*edge)(void *context, const struct solver_edge *edge),
	void (*clause)(void *context, uint32_t tag), void *context)
{
	struct core c = {.s = s};

	CHECK(s->impossible);
	c.clauses = mem_zero(s->clause_count, 1);
	c.edges = mem_zero(s->edge_count, 1);
	c.variables = mem_zero(s->variable_count, 1);
	for (size_t i = 0; i < s->found_count; i++)
		core_add(&c, s->found[i].id, (enum origin_kind)s->found[i].kind);
	while (c.count) {
		struct origin o = c.stack[--c.count];

		switch ((enum origin_kind)o.kind) {
		case ORIGIN_CLAUSE:
			core_clause(&c, o.id, clause, context);
			break;
		case ORIGIN_EDGE:
			edge(context, &s->edges[o.id]);
			for (uint32_t i = 0; i < SOLVER_EDGE_LITERALS; i++) {
				uint32_t literal = s->edges[o.id].literals[i];

				if (literal != SOLVER_NONE && s->variables[literal / 2].level == 0)
					core_add(&c, literal / 2, ORIGIN_VARIABLE);
			}
			break;
		case ORIGIN_VARIABLE:
			core_variable(&c, o.id);
			break;
		}
	}
	mem_free(c.clauses);
	mem_free(c.edges);
	mem_free(c.variables);
	mem_free(c.stack);
}
