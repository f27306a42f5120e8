/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bug.h"
#include "base/mem.h"

void graph_builder_init(struct graph_builder *builder, uint32_t txn_count)
{
	*builder = (struct graph_builder){.node_count = txn_count, .txn_count = txn_count};
}

static void *grow_array(void *array, size_t need, size_t capacity, size_t size)
{
	return mem_grow_small(array, need, &capacity, size);
}

/* Filled and read in order. */
static void grow(struct graph_builder *builder)
{
	size_t before = builder->capacity, need = before ? before * 2 : 1024;

	builder->from = grow_array(builder->from, need, before, sizeof(*builder->from));
	builder->to = grow_array(builder->to, need, before, sizeof(*builder->to));
	builder->detail = grow_array(builder->detail, need, before, sizeof(*builder->detail));
	builder->kind = grow_array(builder->kind, need, before, sizeof(*builder->kind));
	builder->capacity = need;
}

void graph_builder_add(struct graph_builder *builder, uint32_t from, uint32_t to,
	enum graph_kind kind, uint32_t detail)
{
	size_t i = builder->count;

	CHECK(from < builder->node_count && to < builder->node_count);
	if (from == to)
		return;
	CHECK(i < UINT32_MAX);
	if (UNLIKELY(i == builder->capacity))
		grow(builder);
	builder->from[i] = from;
	builder->to[i] = to;
	builder->detail[i] = detail;
	builder->kind[i] = (uint8_t)kind;
	builder->count++;
}

/* The parts, as their first nodes see them: by node, how far an edge against the numbers that ends
 * there came from.  Then a number for every node inside one. */
void graph_builder_prune(struct graph_builder *builder, uint8_t *inside)
{
	uint32_t n = builder->node_count, number = 0, end = 0, *part;
	size_t kept = 0;
	bool any = false;

	part = mem_zero(n, sizeof(*part));
	for (size_t i = 0; i < builder->count; i++) {
		uint32_t from = builder->from[i], to = builder->to[i];

		if (from > to && part[to] < from) {
			part[to] = from;
			any = true;
		}
	}
	for (uint32_t v = 0; any && v < n; v++) {
		uint32_t far = part[v];

		if (far && (number == 0 || v > end)) {
			number++;
			end = far;
		} else if (far > end) {
			end = far;
		}
		inside[v] = number && v <= end;
		part[v] = inside[v] ? number : 0;
	}
	for (size_t i = 0; any && i < builder->count; i++) {
		uint32_t from = builder->from[i], to = builder->to[i];

		if (!part[from] || part[from] != part[to])
			continue;
		builder->from[kept] = from;
		builder->to[kept] = to;
		builder->detail[kept] = builder->detail[i];
		builder->kind[kept] = builder->kind[i];
		kept++;
	}
	builder->count = kept;
	mem_free(part);
}

struct moment {
	uint64_t at;
	uint32_t txn;
};

enum { RADIX_MIN = 1 << 14 };

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->txn < y->txn ? -1 : x->txn > y->txn;
}

/* By time, then by transaction, of those that are not left out (skip is UINT64_MAX): where there
 * are many and they are not in order already, a stable radix sort over the bits that differ, 16 at
 * a time. UINT64_MAX, for what never ended, sorts as the number after the last. */
static struct moment *sorted_moments(
	const uint64_t *at, const uint64_t *skip, uint32_t all, uint32_t *kept)
{
	struct moment *moments = mem_realloc(NULL, all, sizeof(*moments)), *other;
	uint32_t *place, count = 0;
	uint64_t last = 0;
	bool sorted = true;

	for (uint32_t i = 0; i < all; i++) {
		if (skip[i] == UINT64_MAX)
			continue;
		sorted &= count == 0 || moments[count - 1].at <= at[i];
		moments[count++] = (struct moment){at[i], i};
		if (at[i] != UINT64_MAX && at[i] > last)
			last = at[i];
	}
	*kept = count;
	if (sorted)
		return moments;
	if (count < RADIX_MIN) {
		qsort(moments, count, sizeof(*moments), by_time);
		return moments;
	}
	other = mem_realloc(NULL, count, sizeof(*other));
	place = mem_realloc(NULL, 1 << 16, sizeof(*place));
	last++;
	for (unsigned shift = 0; shift < 64 && last >> shift; shift += 16) {
		struct moment *swap = moments;
		uint32_t sum = 0;

		memset(place, 0, (1 << 16) * sizeof(*place));
		for (uint32_t i = 0; i < count; i++)
			place[(moments[i].at < last ? moments[i].at : last) >> shift & 0xffff]++;
		for (uint32_t d = 0; d < 1 << 16; d++) {
			uint32_t here = place[d];

			place[d] = sum;
			sum += here;
		}
		for (uint32_t i = 0; i < count; i++) {
			uint64_t key = moments[i].at < last ? moments[i].at : last;

			other[place[key >> shift & 0xffff]++] = moments[i];
		}
		moments = other;
		other = swap;
	}
	mem_free(other);
	mem_free(place);
	return moments;
}

/* A sweep over time.  Each run of ends that is followed by a begin becomes one point in time: ends
 * lead into it, begins come out of the latest one, and each point leads to the next. */
void graph_builder_realtime(
	struct graph_builder *builder, const uint64_t *begin, const uint64_t *end)
{
	uint32_t count, done = 0, point = GRAPH_NONE;
	struct moment *begins = sorted_moments(begin, begin, builder->txn_count, &count);
	struct moment *ends = sorted_moments(end, begin, builder->txn_count, &count);

	CHECK(builder->node_count == builder->txn_count);
	for (uint32_t b = 0; b < count; b++) {
		uint32_t first = done;

		while (done < count && ends[done].at < begins[b].at)
			done++;
		if (done > first) {
			uint32_t fresh = builder->node_count++;

			for (uint32_t e = first; e < done; e++)
				graph_builder_add(builder, ends[e].txn, fresh, GRAPH_REALTIME, 0);
			if (point != GRAPH_NONE)
				graph_builder_add(builder, point, fresh, GRAPH_REALTIME, 0);
			point = fresh;
		}
		if (point != GRAPH_NONE)
			graph_builder_add(builder, point, begins[b].txn, GRAPH_REALTIME, 0);
	}
	mem_free(begins);
	mem_free(ends);
}

void graph_builder_release(struct graph_builder *builder)
{
	mem_free(builder->from);
	mem_free(builder->to);
	mem_free(builder->detail);
	mem_free(builder->kind);
	*builder = (struct graph_builder){0};
}

static void allocate(struct graph *graph, uint32_t nodes, uint32_t txns, uint32_t edges)
{
	*graph = (struct graph){.node_count = nodes, .txn_count = txns, .edge_count = edges};
	graph->head = mem_zero((size_t)nodes + 2, sizeof(*graph->head));
	graph->to = mem_realloc(NULL, edges, sizeof(*graph->to));
	graph->detail = mem_realloc(NULL, edges, sizeof(*graph->detail));
	graph->kind = mem_realloc(NULL, edges, sizeof(*graph->kind));
}

void graph_build(struct graph *graph, struct graph_builder *builder)
{
	uint32_t count = (uint32_t)builder->count;

	allocate(graph, builder->node_count, builder->txn_count, count);
	/* Counting sort by source; head is shifted by one while filling. */
	for (uint32_t i = 0; i < count; i++)
		graph->head[builder->from[i] + 2]++;
	for (uint32_t v = 0; v < graph->node_count; v++)
		graph->head[v + 2] += graph->head[v + 1];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = graph->head[builder->from[i] + 1]++;

		graph->to[at] = builder->to[i];
		graph->detail[at] = builder->detail[i];
		graph->kind[at] = builder->kind[i];
	}
	graph_builder_release(builder);
}

void graph_release(struct graph *graph)
{
	mem_free(graph->head);
	mem_free(graph->to);
	mem_free(graph->detail);
	mem_free(graph->kind);
	mem_free(graph->origin);
	*graph = (struct graph){0};
}

/* Tarjan's algorithm (SIAM J. Comput. 1(2), 1972) with its recursion on a stack of our own. */
struct tarjan {
	uint32_t *index; /* 0: not seen; CLOSED; order of discovery otherwise */
	uint32_t *low;
	uint32_t *path, path_count;   /* nodes being visited */
	uint32_t *stack, stack_count; /* nodes whose component is open */
	uint32_t *next_edge;          /* where each node on the path goes on */
	uint32_t seen;
};

/* Its component is done: above every index, so that no later node takes it for open. */
#define CLOSED UINT32_MAX

static void visit(struct tarjan *t, const struct graph *graph, uint32_t v)
{
	t->index[v] = t->low[v] = ++t->seen;
	t->next_edge[v] = graph->head[v];
	t->path[t->path_count++] = v;
	t->stack[t->stack_count++] = v;
}

/* v is the root of a component: takes it from the stack.  Components of one node get a number only
 * where `singles` says so. */
static uint32_t close_component(
	struct tarjan *t, uint32_t v, bool singles, uint32_t *component, uint32_t number)
{
	uint32_t u;

	if (!singles && t->stack[t->stack_count - 1] == v) {
		t->stack_count--;
		t->index[v] = CLOSED;
		return number;
	}
	do {
		u = t->stack[--t->stack_count];
		t->index[u] = CLOSED;
		component[u] = number;
	} while (u != v);
	return number + 1;
}

/* Without `component`: the first one is enough. */
static uint32_t find_components(
	const struct graph *graph, unsigned mask, bool singles, uint32_t *component)
{
	uint32_t n = graph->node_count, number = 0;
	struct tarjan t = {
		.index = mem_zero(n, sizeof(uint32_t)),
		.low = mem_realloc(NULL, n, sizeof(uint32_t)),
		.path = mem_realloc(NULL, n, sizeof(uint32_t)),
		.stack = mem_realloc(NULL, n, sizeof(uint32_t)),
		.next_edge = mem_realloc(NULL, n, sizeof(uint32_t)),
	};
	bool done = false;

	if (component)
		memset(component, 0xff, (size_t)n * sizeof(*component));
	for (uint32_t root = 0; root < n && !done; root++) {
		if (t.index[root])
			continue;
		visit(&t, graph, root);
		while (t.path_count && !done) {
			uint32_t v = t.path[t.path_count - 1];
			uint32_t e = t.next_edge[v], end = graph->head[v + 1];
			uint32_t low = t.low[v], fresh = GRAPH_NONE;

			for (; e < end; e++) {
				uint32_t u = graph->to[e];

				if (!(mask >> graph->kind[e] & 1))
					continue;
				if (!t.index[u]) {
					fresh = u;
					break;
				}
				/* An open node leads here: there is a cycle. */
				done |= !component && t.index[u] != CLOSED;
				if (t.index[u] < low)
					low = t.index[u];
			}
			t.low[v] = low;
			if (fresh != GRAPH_NONE) {
				t.next_edge[v] = e + 1;
				visit(&t, graph, fresh);
				continue;
			}
			t.path_count--;
			if (t.path_count) {
				uint32_t parent = t.path[t.path_count - 1];

				if (low < t.low[parent])
					t.low[parent] = low;
			}
			if (low == t.index[v] && !done)
				number = close_component(&t, v, singles, component, number);
		}
	}
	mem_free(t.index);
	mem_free(t.low);
	mem_free(t.path);
	mem_free(t.stack);
	mem_free(t.next_edge);
	return number + done;
}

uint32_t graph_components(const struct graph *graph, unsigned mask, uint32_t *component)
{
	return find_components(graph, mask, false, component);
}

bool graph_is_acyclic(const struct graph *graph, unsigned mask)
{
	return find_components(graph, mask, false, NULL) == 0;
}

/* Tarjan closes a component after all that can be reached from it. */
void graph_ranks(const struct graph *graph, unsigned mask, uint32_t *rank)
{
	find_components(graph, mask, true, rank);
}

void graph_cut(
	struct graph *out, const struct graph *graph, unsigned mask, const uint32_t *component)
{
	uint32_t *fresh = mem_realloc(NULL, graph->node_count, sizeof(*fresh));
	uint32_t *origin;
	uint32_t nodes = 0, txns = 0, edges = 0;

	for (uint32_t v = 0; v < graph->node_count; v++) {
		if (v == graph->txn_count)
			txns = nodes;
		fresh[v] = component[v] == GRAPH_NONE ? GRAPH_NONE : nodes++;
		if (fresh[v] == GRAPH_NONE)
			continue;
		for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++)
			edges += (mask >> graph->kind[e] & 1) &&
				 component[graph->to[e]] == component[v];
	}
	if (graph->txn_count == graph->node_count)
		txns = nodes;
	allocate(out, nodes, txns, edges);
	origin = mem_realloc(NULL, nodes, sizeof(*origin));
	edges = 0;
	for (uint32_t v = 0; v < graph->node_count; v++) {
		if (fresh[v] == GRAPH_NONE)
			continue;
		origin[fresh[v]] = graph->origin ? graph->origin[v] : v;
		out->head[fresh[v]] = edges;
		for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++) {
			if (!(mask >> graph->kind[e] & 1) ||
				component[graph->to[e]] != component[v])
				continue;
			out->to[edges] = fresh[graph->to[e]];
			out->detail[edges] = graph->detail[e];
			out->kind[edges] = graph->kind[e];
			edges++;
		}
	}
	out->head[nodes] = edges;
	out->origin = origin;
	mem_free(fresh);
}

const char *graph_kind_name(enum graph_kind kind)
{
	switch (kind) {
	case GRAPH_WW:
		return "ww";
	case GRAPH_WR:
		return "wr";
	case GRAPH_PREDICATE_WR:
		return "predicate wr";
	case GRAPH_RW:
		return "rw";
	case GRAPH_PREDICATE_RW:
		return "predicate rw";
	case GRAPH_SESSION:
		return "session";
	case GRAPH_REALTIME:
		return "real time";
	}
	return "unknown";
}
