/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The solver's graph: edges come and go with the literals that are true, and an order of the nodes
 * is kept up to date (Pearce and Kelly, 2006), so that only edges against it need a search. */
#include <stdlib.h>

#include "values/solver_internal.h"

static enum solver_kind kind_of(const struct solver *s, const struct solver_edge *edge)
{
	return s->cycles == SOLVER_ANY ? SOLVER_DEPENDENCY : (enum solver_kind)edge->kind;
}

static struct ids *out_of(struct solver *s, const struct solver_edge *edge)
{
	struct ids *const lists[] = {s->out, s->anti_out, s->free_out};

	return &lists[kind_of(s, edge)][edge->from];
}

static struct ids *into(struct solver *s, const struct solver_edge *edge)
{
	struct ids *const lists[] = {s->in, s->anti_in, s->free_in};

	return &lists[kind_of(s, edge)][edge->to];
}

static void present(struct solver *s, uint32_t e)
{
	s->edges[e].present = true;
	ids_add(out_of(s, &s->edges[e]), e);
	ids_add(into(s, &s->edges[e]), e);
}

void solver_graph_remove(struct solver *s, uint32_t e)
{
	s->edges[e].present = false;
	out_of(s, &s->edges[e])->count--;
	into(s, &s->edges[e])->count--;
}

/* One step of a search: to everything an edge of the list leads to.  True: the target. */
static bool step_forward(struct solver *s, const struct ids *out, uint32_t target, uint32_t limit)
{
	count_steps(s, out->count + 1);
	for (size_t i = 0; i < out->count; i++) {
		uint32_t to = s->edges[out->at[i]].to;

		if (s->mark[to] == s->mark_now || s->order[to] > limit)
			continue;
		s->mark[to] = s->mark_now;
		s->parent[to] = out->at[i];
		if (to == target)
			return true;
		ids_add(&s->queue, to);
	}
	return false;
}

/* Breadth first from a node along present edges to nodes placed up to `limit`, with `all` along
 * free ones too; true: found. */
static bool search_forward(
	struct solver *s, uint32_t root, uint32_t target, uint32_t limit, bool all)
{
	s->mark_now++;
	s->queue.count = 0;
	ids_add(&s->queue, root);
	s->mark[root] = s->mark_now;
	s->parent[root] = SOLVER_NONE;
	if (root == target)
		return true;
	for (size_t at = 0; at < s->queue.count; at++) {
		uint32_t node = s->queue.at[at];

		if (step_forward(s, &s->out[node], target, limit) ||
			(all && step_forward(s, &s->free_out[node], target, limit)))
			return true;
	}
	return false;
}

static void step_backward(struct solver *s, const struct ids *in, uint32_t limit)
{
	count_steps(s, in->count + 1);
	for (size_t i = 0; i < in->count; i++) {
		uint32_t from = s->edges[in->at[i]].from;

		if (s->back_mark[from] == s->mark_now || s->order[from] < limit)
			continue;
		s->back_mark[from] = s->mark_now;
		s->back_parent[from] = in->at[i];
		ids_add(&s->back_queue, from);
	}
}

static void search_backward(struct solver *s, uint32_t root, uint32_t limit, bool all)
{
	s->back_queue.count = 0;
	ids_add(&s->back_queue, root);
	s->back_mark[root] = s->mark_now;
	s->back_parent[root] = SOLVER_NONE;
	for (size_t at = 0; at < s->back_queue.count; at++) {
		uint32_t node = s->back_queue.at[at];

		step_backward(s, &s->in[node], limit);
		if (all)
			step_backward(s, &s->free_in[node], limit);
	}
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static int compare_order(const void *a, const void *b, void *context)
{
	const uint32_t *order = context;
	uint32_t x = order[*(const uint32_t *)a], y = order[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

/* The nodes found backward take the first of all their places, those found forward the rest. */
static void reorder(struct solver *s)
{
	s->region.count = s->places.count = 0;
	qsort_r(s->back_queue.at, s->back_queue.count, sizeof(uint32_t), compare_order, s->order);
	qsort_r(s->queue.at, s->queue.count, sizeof(uint32_t), compare_order, s->order);
	for (size_t i = 0; i < s->back_queue.count; i++)
		ids_add(&s->region, s->back_queue.at[i]);
	for (size_t i = 0; i < s->queue.count; i++)
		ids_add(&s->region, s->queue.at[i]);
	for (size_t i = 0; i < s->region.count; i++)
		ids_add(&s->places, s->order[s->region.at[i]]);
	if (s->places.count)
		qsort(s->places.at, s->places.count, sizeof(uint32_t), compare_u32);
	for (size_t i = 0; i < s->region.count; i++)
		s->order[s->region.at[i]] = s->places.at[i];
}

/* The conflict's literals: all edges' of the cycle, negated. */
static void blame_edge(struct solver *s, uint32_t e)
{
	const struct solver_edge *edge = &s->edges[e];

	blame_origin(s, e, ORIGIN_EDGE);
	for (uint32_t i = 0; i < SOLVER_EDGE_LITERALS; i++) {
		uint32_t literal = edge->literals[i];

		if (literal == SOLVER_NONE)
			break;
		ids_add(&s->learnt, literal ^ 1);
	}
}

static void blame_forward(struct solver *s, uint32_t node)
{
	for (; s->parent[node] != SOLVER_NONE; node = s->edges[s->parent[node]].from)
		blame_edge(s, s->parent[node]);
}

static void blame_backward(struct solver *s, uint32_t node)
{
	for (; s->back_parent[node] != SOLVER_NONE; node = s->edges[s->back_parent[node]].to)
		blame_edge(s, s->back_parent[node]);
}

/* An anti edge u -> v: is there a way back from v?  What search_forward from v marked is known.
 * Returns the last edge of that way, or NONE. */
static uint32_t way_back(struct solver *s, const struct solver_edge *anti)
{
	const struct ids *lists[] = {&s->in[anti->from], &s->free_in[anti->from]};

	for (size_t l = 0; l < 2; l++) {
		count_steps(s, lists[l]->count + 1);
		for (size_t i = 0; i < lists[l]->count; i++) {
			const struct solver_edge *e = &s->edges[lists[l]->at[i]];

			if (s->mark[e->from] == s->mark_now &&
				(s->cycles == SOLVER_SINGLE || e->place < anti->place))
				return lists[l]->at[i];
		}
	}
	return SOLVER_NONE;
}

/* False: the edge closes a forbidden cycle, whose literals are blamed. */
static bool add_anti(struct solver *s, uint32_t e)
{
	const struct solver_edge *edge = &s->edges[e];
	uint32_t last;

	search_forward(s, edge->to, SOLVER_NONE, UINT32_MAX, true);
	last = way_back(s, edge);
	if (last == SOLVER_NONE) {
		present(s, e);
		return true;
	}
	blame_begin(s);
	blame_edge(s, e);
	blame_edge(s, last);
	blame_forward(s, s->edges[last].from);
	return false;
}

/* The edge e (a -> b) is new: is there an anti edge u -> v with a way from v over it to u? */
static bool check_singles(struct solver *s, uint32_t e)
{
	uint32_t a = s->edges[e].from, b = s->edges[e].to;

	search_forward(s, b, SOLVER_NONE, UINT32_MAX, true);
	search_backward(s, a, 0, true);
	for (size_t at = 0; at < s->queue.count; at++) {
		uint32_t u = s->queue.at[at];
		const struct ids *anti = &s->anti_out[u];

		count_steps(s, anti->count + 1);
		for (size_t i = 0; i < anti->count; i++) {
			const struct solver_edge *x = &s->edges[anti->at[i]];
			uint32_t last;

			if (s->back_mark[x->to] != s->mark_now)
				continue;
			if (u == b) /* e itself is the last; else e were on another cycle */
				last = s->cycles == SOLVER_SINGLE || s->edges[e].place < x->place
					       ? e
					       : SOLVER_NONE;
			else
				last = way_back(s, x);
			if (last == SOLVER_NONE)
				continue;
			blame_begin(s);
			blame_edge(s, anti->at[i]);
			blame_edge(s, e);
			blame_backward(s, x->to);
			if (last != e) {
				blame_edge(s, last);
				blame_forward(s, s->edges[last].from);
			}
			return false;
		}
	}
	return true;
}

bool solver_graph_add(struct solver *s, uint32_t e)
{
	struct solver_edge *edge = &s->edges[e];

	if (kind_of(s, edge) == SOLVER_ANTI)
		return add_anti(s, e);
	if (kind_of(s, edge) == SOLVER_DEPENDENCY && s->order[edge->from] >= s->order[edge->to]) {
		if (search_forward(s, edge->to, edge->from, s->order[edge->from], false)) {
			blame_begin(s);
			blame_edge(s, e);
			blame_forward(s, edge->from);
			return false;
		}
		search_backward(s, edge->from, s->order[edge->to], false);
		reorder(s);
	}
	if (s->cycles != SOLVER_ANY && !check_singles(s, e))
		return false;
	present(s, e);
	return true;
}

static bool comes_first(const struct solver *s, uint32_t a, uint32_t b)
{
	return s->priority[a] != s->priority[b] ? s->priority[a] < s->priority[b] : a < b;
}

/* A heap of nodes, in s->queue. */
static void ready_push(struct solver *s, uint32_t node)
{
	size_t i = s->queue.count;

	ids_add(&s->queue, node);
	for (; i > 0 && comes_first(s, node, s->queue.at[(i - 1) / 2]); i = (i - 1) / 2)
		s->queue.at[i] = s->queue.at[(i - 1) / 2];
	s->queue.at[i] = node;
}

static uint32_t ready_pop(struct solver *s)
{
	uint32_t *heap = s->queue.at, top = heap[0], last = heap[--s->queue.count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= s->queue.count)
			break;
		if (child + 1 < s->queue.count && comes_first(s, heap[child + 1], heap[child]))
			child++;
		if (!comes_first(s, heap[child], last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	if (s->queue.count)
		heap[i] = last;
	return top;
}

/* Before the first run: all edges without literals at once, nodes as their priority wants it.  What
 * a cycle leaves over comes last; the edges find the cycle again. */
static void first_order(struct solver *s)
{
	uint32_t *missing = mem_zero(s->node_count, sizeof(*missing)), place = 0;

	for (size_t i = 0; i < s->base.count; i++) {
		const struct solver_edge *e = &s->edges[s->base.at[i]];

		if (kind_of(s, e) != SOLVER_DEPENDENCY)
			continue;
		missing[e->to]++;
		ids_add(&s->out[e->from], s->base.at[i]);
	}
	s->queue.count = 0;
	for (uint32_t n = 0; n < s->node_count; n++) {
		s->order[n] = SOLVER_NONE;
		if (missing[n] == 0)
			ready_push(s, n);
	}
	while (s->queue.count) {
		uint32_t n = ready_pop(s);

		s->order[n] = place++;
		for (size_t i = 0; i < s->out[n].count; i++) {
			if (--missing[s->edges[s->out[n].at[i]].to] == 0)
				ready_push(s, s->edges[s->out[n].at[i]].to);
		}
	}
	for (uint32_t n = 0; n < s->node_count; n++) {
		if (s->order[n] == SOLVER_NONE)
			s->order[n] = place++;
		s->out[n].count = 0;
	}
	free(missing);
}

bool solver_graph_base(struct solver *s)
{
	if (s->priority)
		first_order(s);
	free(s->priority);
	s->priority = NULL;
	/* Anti edges last: then each of them looks for a way back once. */
	for (int anti = 0; anti < 2; anti++) {
		for (size_t i = 0; i < s->base.count; i++) {
			const struct solver_edge *e = &s->edges[s->base.at[i]];

			if ((e->kind == SOLVER_ANTI) == anti && !solver_graph_add(s, s->base.at[i]))
				return false;
		}
	}
	s->base.count = 0;
	return true;
}
