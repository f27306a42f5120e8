/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The solver's graph: edges come and go with the literals that are true, and an order of the nodes
 * is kept up to date (Pearce and Kelly, 2006), so that only edges against it need a search. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "values/solver_internal.h"

/* Anti edges against the order that are looked at one by one. */
enum { SPAN_MAX = 4096 };

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

/* Is an anti edge in `back`?  It is, if that is what its ends' places ask for. */
static void update_back(struct solver *s, uint32_t e, bool there)
{
	there = there && s->order[s->edges[e].to] < s->order[s->edges[e].from];
	while (s->back_count <= e) {
		MEM_RESERVE(s->back_at, s->back_count + 1, s->back_capacity);
		s->back_at[s->back_count++] = SOLVER_NONE;
	}
	if (there == (s->back_at[e] != SOLVER_NONE))
		return;
	if (there) {
		s->back_at[e] = (uint32_t)s->back.count;
		ids_add(&s->back, e);
	} else {
		uint32_t last = s->back.at[--s->back.count];

		s->back.at[s->back_at[e]] = last;
		s->back_at[last] = s->back_at[e];
		s->back_at[e] = SOLVER_NONE;
	}
}

/* The node has another place. */
static void update_node(struct solver *s, uint32_t node)
{
	const struct ids *lists[] = {&s->anti_out[node], &s->anti_in[node]};

	for (size_t l = 0; l < 2; l++) {
		count_steps(s, lists[l]->count);
		for (size_t i = 0; i < lists[l]->count; i++)
			update_back(s, lists[l]->at[i], true);
	}
}

static void present(struct solver *s, uint32_t e)
{
	s->edges[e].present = true;
	if (kind_of(s, &s->edges[e]) == SOLVER_ANTI) {
		s->anti_count++;
		update_back(s, e, true);
	}
	s->free_count += kind_of(s, &s->edges[e]) == SOLVER_FREE;
	ids_add(out_of(s, &s->edges[e]), e);
	ids_add(into(s, &s->edges[e]), e);
}

void solver_graph_remove(struct solver *s, uint32_t e)
{
	s->edges[e].present = false;
	if (kind_of(s, &s->edges[e]) == SOLVER_ANTI) {
		s->anti_count--;
		update_back(s, e, false);
	}
	s->free_count -= kind_of(s, &s->edges[e]) == SOLVER_FREE;
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
	for (size_t i = 0; s->anti_count && i < s->region.count; i++)
		update_node(s, s->region.at[i]);
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
	uint32_t last, limit = s->free_count ? UINT32_MAX : s->order[edge->from];

	/* Dependencies lead on in the order of the nodes, free edges need not. */
	if (s->order[edge->to] > limit) {
		present(s, e);
		return true;
	}
	search_forward(s, edge->to, SOLVER_NONE, limit, true);
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

/* The places between which a cycle over e (a -> b) and an anti edge u -> v lies: v's is not after
 * a's, and u's not before b's.  False: no anti edge is like that. */
static bool find_span(struct solver *s, uint32_t e, uint32_t *low, uint32_t *high)
{
	uint32_t a = s->order[s->edges[e].from], b = s->order[s->edges[e].to];

	*low = 0;
	*high = UINT32_MAX;
	if (s->free_count || s->edges[e].kind == SOLVER_FREE || s->back.count > SPAN_MAX)
		return true;
	*low = UINT32_MAX;
	*high = 0;
	count_steps(s, s->back.count / 8);
	for (size_t i = 0; i < s->back.count; i++) {
		const struct solver_edge *x = &s->edges[s->back.at[i]];
		uint32_t u = s->order[x->from], v = s->order[x->to];

		if (v > a || u < b)
			continue;
		*low = v < *low ? v : *low;
		*high = u > *high ? u : *high;
	}
	return *high > 0;
}

/* The edge e (a -> b) is new: is there an anti edge u -> v with a way from v over it to u? */
static bool check_singles(struct solver *s, uint32_t e)
{
	uint32_t a = s->edges[e].from, b = s->edges[e].to, low, high;

	if (!s->anti_count || !find_span(s, e, &low, &high))
		return true;
	search_forward(s, b, SOLVER_NONE, high, true);
	search_backward(s, a, low, true);
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

/* A heap of nodes. */
static void ready_push(const struct solver *s, struct ids *heap, uint32_t node)
{
	size_t i = heap->count;

	ids_add(heap, node);
	for (; i > 0 && comes_first(s, node, heap->at[(i - 1) / 2]); i = (i - 1) / 2)
		heap->at[i] = heap->at[(i - 1) / 2];
	heap->at[i] = node;
}

static uint32_t ready_pop(const struct solver *s, struct ids *ready)
{
	uint32_t *heap = ready->at, top = heap[0], last = heap[--ready->count];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= ready->count)
			break;
		if (child + 1 < ready->count && comes_first(s, heap[child + 1], heap[child]))
			child++;
		if (!comes_first(s, heap[child], last))
			break;
		heap[i] = heap[child];
		i = child;
	}
	if (ready->count)
		heap[i] = last;
	return top;
}

/* Edges into a node from nodes that have no place yet. */
struct degree {
	uint32_t hard; /* dependencies */
	uint32_t soft; /* others: the order need not follow them */
};

/* The node has its place: what only waited for it may come. */
static void release_next(struct solver *s, uint32_t node, struct degree *missing)
{
	for (size_t i = 0; i < s->out[node].count; i++) {
		uint32_t to = s->edges[s->out[node].at[i]].to;

		if (--missing[to].hard == 0)
			ready_push(s, missing[to].soft ? &s->back_queue : &s->queue, to);
	}
	for (size_t i = 0; i < s->anti_out[node].count; i++) {
		uint32_t to = s->edges[s->anti_out[node].at[i]].to;

		if (--missing[to].soft == 0 && missing[to].hard == 0 && s->order[to] == SOLVER_NONE)
			ready_push(s, &s->queue, to);
	}
}

/* Before the first run: all edges without literals at once, nodes as their priority wants it.  Anti
 * edges are followed where dependencies let it: the fewer go against the order, the less is searched
 * later.  What a cycle leaves over comes last; the edges find the cycle again. */
static void first_order(struct solver *s)
{
	struct degree *missing = mem_zero(s->node_count, sizeof(*missing));
	uint32_t place = 0;

	for (size_t i = 0; i < s->base.count; i++) {
		const struct solver_edge *e = &s->edges[s->base.at[i]];
		bool hard = kind_of(s, e) == SOLVER_DEPENDENCY;

		missing[e->to].hard += hard;
		missing[e->to].soft += !hard;
		ids_add(hard ? &s->out[e->from] : &s->anti_out[e->from], s->base.at[i]);
	}
	s->queue.count = s->back_queue.count = 0;
	for (uint32_t n = 0; n < s->node_count; n++) {
		s->order[n] = SOLVER_NONE;
		if (missing[n].hard == 0)
			ready_push(s, missing[n].soft ? &s->back_queue : &s->queue, n);
	}
	while (s->queue.count || s->back_queue.count) {
		uint32_t n = ready_pop(s, s->queue.count ? &s->queue : &s->back_queue);

		if (s->order[n] != SOLVER_NONE)
			continue; /* from the other heap */
		s->order[n] = place++;
		release_next(s, n, missing);
	}
	for (uint32_t n = 0; n < s->node_count; n++) {
		if (s->order[n] == SOLVER_NONE)
			s->order[n] = place++;
		s->out[n].count = s->anti_out[n].count = 0;
	}
	memcpy(s->first_order, s->order, s->node_count * sizeof(*s->order));
	mem_free(missing);
}

/* ------------------------------------------------- anti edges without literals, in bulk */

/* Targets of anti edges that are followed at once, one bit each. */
enum { BULK_WORDS = 8, BULK_TARGETS = 64 * BULK_WORDS, BULK_MIN = 16 };

struct bulk {
	struct solver *s;
	uint32_t *order;  /* nodes as dependencies and free edges have them */
	uint32_t *anti;   /* anti edges, by their targets */
	uint64_t *marks;  /* by node: the targets that lead to it */
	size_t anti_count;
};

static void forward_degrees(const struct solver *s, uint32_t node, uint32_t *missing, int change,
	struct ids *ready)
{
	const struct ids *lists[] = {&s->out[node], &s->free_out[node]};

	for (size_t l = 0; l < 2; l++) {
		for (size_t i = 0; i < lists[l]->count; i++) {
			uint32_t to = s->edges[lists[l]->at[i]].to;

			missing[to] += (uint32_t)change;
			if (ready && missing[to] == 0)
				ids_add(ready, to);
		}
	}
}

/* False: free edges and dependencies contradict each other, which no rule forbids. */
static bool bulk_order(struct bulk *b)
{
	struct solver *s = b->s;
	uint32_t *missing = mem_zero(s->node_count, sizeof(*missing));
	struct ids ready = {0};

	for (uint32_t n = 0; n < s->node_count; n++)
		forward_degrees(s, n, missing, 1, NULL);
	for (uint32_t n = 0; n < s->node_count; n++) {
		if (missing[n] == 0)
			ids_add(&ready, n);
	}
	for (size_t at = 0; at < ready.count; at++)
		forward_degrees(s, ready.at[at], missing, -1, &ready);
	mem_free(missing);
	b->order = ready.at;
	return ready.count == s->node_count;
}

/* Everything that the targets of these anti edges lead to. */
static void bulk_follow(struct bulk *b, size_t first, size_t end)
{
	struct solver *s = b->s;
	uint32_t bit = 0;

	memset(b->marks, 0, s->node_count * BULK_WORDS * sizeof(*b->marks));
	for (size_t i = first; i < end; i++) {
		uint32_t to = s->edges[b->anti[i]].to;

		bit += i > first && s->edges[b->anti[i - 1]].to != to;
		b->marks[to * BULK_WORDS + bit / 64] |= (uint64_t)1 << bit % 64;
	}
	for (uint32_t at = 0; at < s->node_count && !out_of_steps(s); at++) {
		uint32_t n = b->order[at];
		const struct ids *lists[] = {&s->out[n], &s->free_out[n]};
		const uint64_t *from = b->marks + n * BULK_WORDS;

		count_steps(s, lists[0]->count + lists[1]->count + 1);
		for (size_t l = 0; l < 2; l++) {
			for (size_t i = 0; i < lists[l]->count; i++) {
				uint64_t *to = b->marks +
					       s->edges[lists[l]->at[i]].to * (size_t)BULK_WORDS;

				for (int w = 0; w < BULK_WORDS; w++)
					to[w] |= from[w];
			}
		}
	}
}

/* Does a way lead back from the anti edge's target, which has this bit? */
static bool bulk_closes(const struct bulk *b, const struct solver_edge *anti, uint32_t bit)
{
	const struct solver *s = b->s;
	const struct ids *lists[] = {&s->in[anti->from], &s->free_in[anti->from]};

	for (size_t l = 0; l < 2; l++) {
		for (size_t i = 0; i < lists[l]->count; i++) {
			const struct solver_edge *e = &s->edges[lists[l]->at[i]];

			if ((b->marks[e->from * BULK_WORDS + bit / 64] >> bit % 64 & 1) &&
				(s->cycles == SOLVER_SINGLE || e->place < anti->place))
				return true;
		}
	}
	return false;
}

static int compare_targets(const void *a, const void *b, void *context)
{
	const struct solver_edge *edges = context;
	uint32_t x = edges[*(const uint32_t *)a].to, y = edges[*(const uint32_t *)b].to;

	return (x > y) - (x < y);
}

/* Up to BULK_TARGETS targets from `first` on.  False: a cycle, which is blamed. */
static bool bulk_part(struct bulk *b, size_t first, size_t *next)
{
	struct solver *s = b->s;
	uint32_t targets = 0, bit = 0;
	size_t end = first;

	for (; end < b->anti_count; end++) {
		targets += end == first ||
			   s->edges[b->anti[end]].to != s->edges[b->anti[end - 1]].to;
		if (targets > BULK_TARGETS)
			break;
	}
	*next = end;
	bulk_follow(b, first, end);
	for (size_t i = first; i < end && !out_of_steps(s); i++) {
		const struct solver_edge *anti = &s->edges[b->anti[i]];

		bit += i > first && s->edges[b->anti[i - 1]].to != anti->to;
		if (!bulk_closes(b, anti, bit))
			present(s, b->anti[i]);
		else if (!solver_graph_add(s, b->anti[i]))
			return false;
	}
	return true;
}

/* Anti edges do not depend on each other: where dependencies lead from the targets of many is found
 * at once. */
static bool bulk_anti(struct solver *s)
{
	struct bulk b = {.s = s};
	bool fine = true;

	b.anti = mem_realloc(NULL, s->base.count, sizeof(*b.anti));
	for (size_t i = 0; i < s->base.count; i++) {
		const struct solver_edge *e = &s->edges[s->base.at[i]];

		if (kind_of(s, e) == SOLVER_ANTI && !e->present)
			b.anti[b.anti_count++] = s->base.at[i];
	}
	if (b.anti_count >= BULK_MIN && bulk_order(&b)) {
		qsort_r(b.anti, b.anti_count, sizeof(*b.anti), compare_targets, s->edges);
		b.marks = mem_realloc(
			NULL, s->node_count * (size_t)BULK_WORDS, sizeof(*b.marks));
		for (size_t at = 0; fine && at < b.anti_count && !out_of_steps(s);)
			fine = bulk_part(&b, at, &at);
	} else {
		for (size_t i = 0; fine && i < b.anti_count && !out_of_steps(s); i++)
			fine = solver_graph_add(s, b.anti[i]);
	}
	mem_free(b.order);
	mem_free(b.anti);
	mem_free(b.marks);
	return fine;
}

bool solver_graph_base(struct solver *s)
{
	bool fine = true;

	if (s->priority)
		first_order(s);
	mem_free(s->priority);
	s->priority = NULL;
	if (!s->base.count)
		return true;
	/* Anti edges last: then each of them looks for a way back once. */
	for (size_t i = 0; fine && i < s->base.count && !out_of_steps(s); i++) {
		const struct solver_edge *e = &s->edges[s->base.at[i]];

		if (kind_of(s, e) != SOLVER_ANTI && !e->present)
			fine = solver_graph_add(s, s->base.at[i]);
	}
	fine = fine && bulk_anti(s);
	if (fine && !out_of_steps(s))
		s->base.count = 0;
	return fine;
}
