/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/graph/cycles.h"

#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bug.h"
#include "base/interrupt.h"
#include "base/mem.h"

enum {
	BUDGET_DEFAULT = 20 * 1000 * 1000, /* edges looked at, a class and component */
	ENUMERATE_STEPS_MAX = 2000 * 1000, /* of the last resort, a component */
	STATE_MAX = 4,                     /* of an automaton */
};

static const unsigned order_masks[CYCLE_ORDER_COUNT] = {
	[CYCLE_PLAIN] = 0,
	[CYCLE_SESSION] = GRAPH_MASK_SESSION,
	[CYCLE_REALTIME] = GRAPH_MASK_SESSION | GRAPH_MASK_REALTIME,
};

const char *cycle_class_name(enum cycle_class class)
{
	static const char *const names[CYCLE_CLASS_COUNT] = {
		"G0", "G1c", "G-single", "G-nonadjacent", "G2-item", "G2"};

	return names[class];
}

const char *cycle_level_name(enum cycle_level level)
{
	static const char *const names[CYCLE_LEVEL_COUNT] = {
		"PL-1", "PL-2", "PL-2+", "PL-2.99", "PL-SI", "PL-3"};

	return names[level];
}

enum cycle_level cycle_refutes(enum cycle_class class)
{
	switch (class) {
	case CYCLE_G0:
		return CYCLE_PL_1;
	case CYCLE_G1C:
		return CYCLE_PL_2;
	case CYCLE_G_SINGLE:
		return CYCLE_PL_2PLUS;
	case CYCLE_G_NONADJACENT:
		return CYCLE_PL_SI;
	case CYCLE_G2_ITEM:
		return CYCLE_PL_2_99;
	case CYCLE_G2:
		return CYCLE_PL_3;
	}
	BUG("cycle class %d", (int)class);
}

static bool is_rw(enum graph_kind kind)
{
	return GRAPH_MASK_RW >> kind & 1;
}

enum cycle_class cycle_classify(const struct cycle_step *steps, uint32_t length)
{
	uint32_t rw = 0, predicate = 0, wr = 0;
	bool adjacent = false;

	for (uint32_t i = 0; i < length; i++) {
		rw += is_rw(steps[i].kind);
		predicate += steps[i].kind == GRAPH_PREDICATE_RW;
		wr += GRAPH_MASK_WR >> steps[i].kind & 1;
		adjacent |= is_rw(steps[i].kind) && is_rw(steps[(i + 1) % length].kind);
	}
	if (rw == 0)
		return wr ? CYCLE_G1C : CYCLE_G0;
	if (rw == 1)
		return CYCLE_G_SINGLE;
	if (!adjacent)
		return CYCLE_G_NONADJACENT;
	return predicate ? CYCLE_G2 : CYCLE_G2_ITEM;
}

/* ---- the search ---- */

/*
 * A path is searched in the product of the graph and a small automaton that reads the kinds of the
 * edges passed; so "exactly one rw" or "no two rw in a row" is a shape of the automaton and one
 * breadth-first search serves all classes.  Steps between points in time cost nothing, so that
 * real-time order counts as one edge however many points it passes.
 */
struct automaton {
	unsigned states;
	/* [state][by dependency, session or real time; by item rw; by predicate rw]; -1: no way */
	signed char next[STATE_MAX][3];
};

static const struct automaton any_of_mask = {1, {{0, 0, 0}}};
static const struct automaton dependency_only = {1, {{0, -1, -1}}};

/* Begins after an rw edge and ends before it, with a further rw on the way, no two in a row.
 * 0: just after the first rw; 1: a dependency since; 2: just after another rw; 3: a dependency
 * since that. */
static const struct automaton nonadjacent = {4, {{1, -1, -1}, {1, 2, 2}, {3, -1, -1}, {3, 2, 2}}};

/* Remembers a predicate rw: 0 none yet, 1 seen. */
static const struct automaton predicate_seen = {2, {{0, 0, 1}, {1, 1, 1}}};

struct search {
	const struct graph *graph; /* edges stay inside components */
	unsigned mask;             /* edges that may be used at all */
	uint32_t *distance;        /* by node * STATE_MAX + state; valid where stamp is current */
	uint32_t *stamp, now;
	uint32_t *parent_state, *parent_edge;
	uint32_t *queue; /* a deque of states: cost-free steps go to the front */
	size_t queue_size;
	uint64_t budget; /* edges left to look at */
	struct cycle_step *path;
	uint32_t path_length;
	uint32_t *mark, mark_now; /* by node, for sets of nodes */
};

static void search_init(struct search *search, const struct graph *graph)
{
	size_t n = graph->node_count, states = n * STATE_MAX;

	*search = (struct search){.graph = graph, .queue_size = 2 * states + 2};
	search->distance = mem_realloc(NULL, states, sizeof(uint32_t));
	search->stamp = mem_zero(states, sizeof(uint32_t));
	search->parent_state = mem_realloc(NULL, states, sizeof(uint32_t));
	search->parent_edge = mem_realloc(NULL, states, sizeof(uint32_t));
	search->queue = mem_realloc(NULL, search->queue_size, sizeof(uint32_t));
	/* A walk through the product may pass a node once a state, before it is found not simple.
	 */
	search->path = mem_realloc(NULL, states + 2, sizeof(*search->path));
	search->mark = mem_zero(n, sizeof(uint32_t));
}

static void search_release(struct search *search)
{
	mem_free(search->distance);
	mem_free(search->stamp);
	mem_free(search->parent_state);
	mem_free(search->parent_edge);
	mem_free(search->queue);
	mem_free(search->path);
	mem_free(search->mark);
}

static unsigned letter(enum graph_kind kind)
{
	return kind == GRAPH_RW ? 1 : kind == GRAPH_PREDICATE_RW ? 2 : 0;
}

struct source {
	uint32_t node;
	unsigned state;
};

static void push_state(struct search *search, size_t *at, size_t *count, bool front, uint32_t state)
{
	if (front) {
		*at = (*at ? *at : search->queue_size) - 1;
		search->queue[*at] = state;
	} else {
		size_t end = *at + *count;

		search->queue[end < search->queue_size ? end : end - search->queue_size] = state;
	}
	(*count)++;
}

/* Shortest path from any source to a node whose `accept` has the bit of the state it is reached in,
 * at most `limit` steps, never through `avoid`.  Returns its length and the state reached;
 * GRAPH_NONE: none, or the budget ended, which search->budget == 0 tells. */
static uint32_t shortest(struct search *search, const struct automaton *automaton,
	const struct source *sources, uint32_t source_count, const uint8_t *accept, uint32_t avoid,
	uint32_t limit, uint32_t *end_state)
{
	const struct graph *graph = search->graph;
	size_t at = 0, count = 0;

	search->now++;
	for (uint32_t i = 0; i < source_count; i++) {
		uint32_t state = sources[i].node * STATE_MAX + sources[i].state;

		if (search->stamp[state] == search->now)
			continue;
		search->stamp[state] = search->now;
		search->distance[state] = 0;
		search->parent_state[state] = GRAPH_NONE;
		push_state(search, &at, &count, false, state);
	}
	while (count) {
		uint32_t state = search->queue[at], v = state / STATE_MAX, q = state % STATE_MAX;
		uint32_t distance = search->distance[state];

		at = at + 1 < search->queue_size ? at + 1 : 0;
		count--;
		if (accept[v] >> q & 1) {
			*end_state = state;
			return distance;
		}
		if (distance == limit && v < graph->txn_count)
			continue; /* every step from here costs one */
		for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++) {
			unsigned kind = graph->kind[e];
			uint32_t u = graph->to[e], next;
			bool free_step = kind == GRAPH_REALTIME && v >= graph->txn_count;
			int q_next;

			if (!(search->mask >> kind & 1) || u == avoid ||
				distance + !free_step > limit)
				continue;
			if (search->budget == 0)
				return GRAPH_NONE;
			search->budget--;
			q_next = automaton->next[q][letter(kind)];
			if (q_next < 0)
				continue;
			/* The last step: whatever is not the end leads nowhere.  Points in time may
			 * go on, their steps are free. */
			if (distance + !free_step == limit && u < graph->txn_count &&
				!(accept[u] >> q_next & 1))
				continue;
			next = u * STATE_MAX + (unsigned)q_next;
			if (search->stamp[next] == search->now &&
				search->distance[next] <= distance + !free_step)
				continue;
			search->stamp[next] = search->now;
			search->distance[next] = distance + !free_step;
			search->parent_state[next] = state;
			search->parent_edge[next] = e;
			push_state(search, &at, &count, free_step, next);
		}
	}
	return GRAPH_NONE;
}

/* The steps to `state`, forwards, after what is in search->path; points in time are folded into
 * one real-time step. */
static void take_path(struct search *search, uint32_t state)
{
	const struct graph *graph = search->graph;
	uint32_t first = search->path_length, last_to = GRAPH_NONE;

	for (; search->parent_state[state] != GRAPH_NONE; state = search->parent_state[state]) {
		uint32_t from = search->parent_state[state] / STATE_MAX, to = state / STATE_MAX;
		uint32_t e = search->parent_edge[state];

		if (to < graph->txn_count)
			last_to = to;
		if (from >= graph->txn_count)
			continue;
		search->path[search->path_length++] =
			(struct cycle_step){from, to < graph->txn_count ? to : last_to,
				graph->detail[e], (enum graph_kind)graph->kind[e]};
	}
	for (uint32_t a = first, b = search->path_length; a + 1 < b; a++) {
		struct cycle_step swap = search->path[a];

		search->path[a] = search->path[--b];
		search->path[b] = swap;
	}
}

static bool path_is_simple(struct search *search)
{
	search->mark_now++;
	for (uint32_t i = 0; i < search->path_length; i++) {
		uint32_t v = search->path[i].from;

		if (search->mark[v] == search->mark_now)
			return false;
		search->mark[v] = search->mark_now;
	}
	return true;
}

/* ---- one component ---- */

struct finder {
	struct cycles *out;
	const struct graph *graph; /* all components, cut from the caller's graph */
	struct search search;
	uint8_t *accept;       /* by node, zero between searches */
	const uint32_t *nodes; /* of the current component */
	uint32_t node_count;
	enum cycle_order order;
	uint32_t component;
	unsigned extra; /* session and real-time edges in force */
	uint64_t budget;
	struct cycle best[CYCLE_CLASS_COUNT]; /* length 0: none */
	/* Of G-single and G-nonadjacent, the shortest without a predicate rw: a G2-item as well. */
	struct cycle best_item[CYCLE_CLASS_COUNT];
	bool cut[CYCLE_CLASS_COUNT];
	struct source *sources;
	size_t source_capacity;
	uint32_t source_count;
	/* Of single_exists, made when it is first asked: the nodes by rank (graph_ranks). */
	uint32_t *rank, *first_of_rank, *by_position;
	uint64_t *bits; /* by node, zero between batches */
};

bool cycle_is_of_items(const struct cycle_step *steps, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++) {
		if (steps[i].kind == GRAPH_PREDICATE_RW)
			return false;
	}
	return true;
}

static void keep_shorter(struct cycle *best, const struct search *search)
{
	uint32_t length = search->path_length;

	if (best->length && best->length <= length)
		return;
	best->length = length;
	best->steps = mem_realloc(best->steps, length, sizeof(*best->steps));
	memcpy(best->steps, search->path, length * sizeof(*best->steps));
}

static void keep(struct finder *f, enum cycle_class class)
{
	keep_shorter(&f->best[class], &f->search);
	if ((class == CYCLE_G_SINGLE || class == CYCLE_G_NONADJACENT) &&
		cycle_is_of_items(f->search.path, f->search.path_length))
		keep_shorter(&f->best_item[class], &f->search);
}

static uint32_t limit_of(const struct finder *f, enum cycle_class class)
{
	/* A shorter cycle than the best: the path is one step less than the cycle. */
	return f->best[class].length ? f->best[class].length - 2 : UINT32_MAX - 1;
}

/* Two rw edges with something between them, both ways around, are four edges: when such a cycle is
 * found there is none shorter to look for. */
static uint32_t shortest_possible(enum cycle_class class)
{
	return class == CYCLE_G_NONADJACENT ? 4 : 2;
}

/* Cycles through an anchor edge of `anchors`: the shortest way back from its end to its start, of
 * at most `limit` steps.  False: no need to go on. */
static bool find_within(struct finder *f, enum cycle_class class, unsigned anchors,
	const uint32_t *inside, const struct automaton *automaton, unsigned accept, uint32_t limit)
{
	const struct graph *graph = f->graph;
	struct search *search = &f->search;

	for (uint32_t i = 0; i < f->node_count; i++) {
		uint32_t u = f->nodes[i];

		for (uint32_t e = graph->head[u]; e < graph->head[u + 1]; e++) {
			uint32_t v = graph->to[e], length, end;
			uint32_t shorter = limit_of(f, class);

			if (!(anchors >> graph->kind[e] & 1) ||
				(inside && (inside[u] == GRAPH_NONE || inside[u] != inside[v])))
				continue;
			f->accept[u] = (uint8_t)accept;
			length = shortest(search, automaton, &(struct source){v, 0}, 1, f->accept,
				GRAPH_NONE, limit < shorter ? limit : shorter, &end);
			f->accept[u] = 0;
			if (length != GRAPH_NONE) {
				search->path_length = 0;
				search->path[search->path_length++] = (struct cycle_step){
					u, v, graph->detail[e], (enum graph_kind)graph->kind[e]};
				take_path(search, end);
				if (path_is_simple(search))
					keep(f, cycle_classify(search->path, search->path_length));
			}
			if (f->best[class].length == shortest_possible(class))
				return false;
			if (search->budget == 0) {
				f->cut[class] = true;
				return false;
			}
		}
	}
	return true;
}

/* At first only the shortest there can be: mostly one is there, and a wider search that meets some
 * other anchor before looks at much more. */
static void find_through(struct finder *f, enum cycle_class class, unsigned anchors,
	const uint32_t *inside, const struct automaton *automaton, unsigned accept, unsigned mask)
{
	f->search.mask = mask;
	f->search.budget = f->budget;
	if (find_within(f, class, anchors, inside, automaton, accept, shortest_possible(class) - 1))
		find_within(f, class, anchors, inside, automaton, accept, UINT32_MAX);
}

static void add_source(struct finder *f, uint32_t node, unsigned state)
{
	MEM_RESERVE(f->sources, f->source_count + 1, f->source_capacity);
	f->sources[f->source_count++] = (struct source){node, state};
}

/* The edge of a kind in `mask` from v to u; there is one. */
static struct cycle_step edge_between(
	const struct graph *graph, uint32_t v, uint32_t u, unsigned mask)
{
	for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++) {
		if (graph->to[e] == u && mask >> graph->kind[e] & 1)
			return (struct cycle_step){
				v, u, graph->detail[e], (enum graph_kind)graph->kind[e]};
	}
	BUG("no edge of mask %x from %u to %u", mask, v, u);
}

/* One pivot of find_adjacent: rw edges lead into v and out of it. */
static void try_pivot(struct finder *f, enum cycle_class class, uint32_t v,
	const uint32_t *in_edges, const uint32_t *in_from, uint32_t in_count)
{
	const struct graph *graph = f->graph;
	struct search *search = &f->search;
	bool predicates = class == CYCLE_G2;
	uint32_t length, end, first, last;
	unsigned want;

	f->source_count = 0;
	for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++) {
		if ((search->mask & GRAPH_MASK_RW) >> graph->kind[e] & 1)
			add_source(f, graph->to[e],
				predicates && graph->kind[e] == GRAPH_PREDICATE_RW);
	}
	for (uint32_t i = 0; i < in_count; i++)
		f->accept[in_from[i]] |=
			!predicates || graph->kind[in_edges[i]] == GRAPH_PREDICATE_RW ? 3 : 2;
	length = shortest(search, predicates ? &predicate_seen : &any_of_mask, f->sources,
		f->source_count, f->accept, v, limit_of(f, class) - 1, &end);
	for (uint32_t i = 0; i < in_count; i++)
		f->accept[in_from[i]] = 0;
	if (length == GRAPH_NONE)
		return;
	search->path_length = 1; /* room for the edge out of the pivot */
	take_path(search, end);
	last = end / STATE_MAX;
	first = search->path_length > 1 ? search->path[1].from : last;
	/* Which of parallel edges to take: the path began in the state its first edge gave. */
	for (uint32_t state = end;; state = search->parent_state[state]) {
		if (search->parent_state[state] == GRAPH_NONE) {
			want = !predicates         ? GRAPH_MASK_RW & search->mask
			       : state % STATE_MAX ? GRAPH_MASK_PREDICATE_RW
						   : GRAPH_MASK_ITEM_RW;
			break;
		}
	}
	search->path[0] = edge_between(graph, v, first, want);
	want = predicates && end % STATE_MAX == 0 ? GRAPH_MASK_PREDICATE_RW
						  : GRAPH_MASK_RW & search->mask;
	search->path[search->path_length++] = edge_between(graph, last, v, want);
	if (path_is_simple(search))
		keep(f, cycle_classify(search->path, search->path_length));
}

/* Cycles with two rw edges in a row: those that meet in a pivot, and the shortest way around. */
static void find_adjacent(struct finder *f, enum cycle_class class, unsigned mask)
{
	const struct graph *graph = f->graph;
	uint32_t *head = mem_zero((size_t)f->node_count + 2, sizeof(*head));
	uint32_t *local =
		mem_realloc(NULL, graph->node_count, sizeof(*local)); /* place in f->nodes */
	uint32_t *edges = NULL, *from = NULL;
	uint32_t count = 0;

	f->search.mask = mask;
	f->search.budget = f->budget;
	/* rw edges by their end: an edge list turned around. */
	for (uint32_t i = 0; i < f->node_count; i++)
		local[f->nodes[i]] = i;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < f->node_count; i++) {
			uint32_t v = f->nodes[i];

			for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++) {
				uint32_t to = local[graph->to[e]];

				if (!((mask & GRAPH_MASK_RW) >> graph->kind[e] & 1))
					continue;
				if (pass == 0) {
					head[to + 2]++;
					count++;
				} else {
					edges[head[to + 1]] = e;
					from[head[to + 1]++] = v;
				}
			}
		}
		if (pass == 0) {
			for (uint32_t i = 0; i < f->node_count; i++)
				head[i + 2] += head[i + 1];
			edges = mem_realloc(NULL, count, sizeof(*edges));
			from = mem_realloc(NULL, count, sizeof(*from));
		}
	}
	for (uint32_t i = 0; i < f->node_count && f->best[class].length != 2; i++) {
		uint32_t in_count = head[i + 1] - head[i];

		if (in_count)
			try_pivot(f, class, f->nodes[i], edges + head[i], from + head[i], in_count);
		if (f->search.budget == 0) {
			f->cut[class] = true;
			break;
		}
	}
	mem_free(local);
	mem_free(head);
	mem_free(edges);
	mem_free(from);
}

/*
 * Is there a cycle with exactly one rw?  For each rw edge u -> v: does v reach u by dependencies?
 * Sixty-four edges at a time, bits carried along the dependencies in topological order, only
 * through the ranks between v and u.  Returns the anchor edge (and its node), GRAPH_NONE: none.
 */
struct anchor {
	uint32_t from, edge;
	uint32_t high, low; /* ranks of v and u; v must not be below u */
};

static int by_rank(const void *a, const void *b)
{
	const struct anchor *x = a, *y = b;

	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return x->edge < y->edge ? -1 : x->edge > y->edge;
}

static uint32_t reach_batch(
	const struct finder *f, const struct anchor *anchors, uint32_t count, uint64_t *budget)
{
	const struct graph *graph = f->graph;
	const uint32_t *by_position = f->by_position, *first_of_rank = f->first_of_rank,
		       *rank_of = f->rank;
	uint64_t *bits = f->bits;
	unsigned mask = GRAPH_MASK_DEPENDENCY | f->extra;
	uint32_t high = anchors[0].high, low = UINT32_MAX, found = GRAPH_NONE;

	for (uint32_t i = 0; i < count; i++) {
		bits[graph->to[anchors[i].edge]] |= (uint64_t)1 << i;
		if (anchors[i].low < low)
			low = anchors[i].low;
	}
	/* Nodes of one rank reach each other; one pass more spreads the bits among them. */
	for (uint32_t rank = high;; rank--) {
		uint32_t begin = first_of_rank[rank], end = first_of_rank[rank + 1];
		uint64_t all = 0;

		for (uint32_t i = begin; i < end; i++)
			all |= bits[by_position[i]];
		for (uint32_t i = begin; all && i < end; i++) {
			uint32_t v = by_position[i];

			bits[v] = all;
			for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++) {
				if (mask >> graph->kind[e] & 1)
					bits[graph->to[e]] |= all;
			}
			*budget -= *budget < graph->head[v + 1] - graph->head[v]
					   ? *budget
					   : graph->head[v + 1] - graph->head[v];
		}
		if (rank == low)
			break;
	}
	for (uint32_t i = 0; i < count && found == GRAPH_NONE; i++) {
		if (bits[anchors[i].from] >> i & 1)
			found = i;
	}
	/* Bits went no further than one edge below `low`. */
	for (uint32_t i = first_of_rank[low]; i < first_of_rank[high + 1]; i++) {
		uint32_t v = by_position[i];

		for (uint32_t e = graph->head[v]; bits[v] && e < graph->head[v + 1]; e++) {
			if (rank_of[graph->to[e]] < low)
				bits[graph->to[e]] = 0;
		}
		bits[v] = 0;
	}
	return found;
}

/* Of the whole graph, once for all its components. */
static void rank_nodes(struct finder *f)
{
	uint32_t n = f->graph->node_count, rank_count = 0;

	f->rank = mem_realloc(NULL, n, sizeof(*f->rank));
	f->by_position = mem_realloc(NULL, n, sizeof(*f->by_position));
	f->bits = mem_zero(n, sizeof(*f->bits));
	graph_ranks(f->graph, GRAPH_MASK_DEPENDENCY | f->extra, f->rank);
	for (uint32_t v = 0; v < n; v++)
		rank_count = f->rank[v] >= rank_count ? f->rank[v] + 1 : rank_count;
	f->first_of_rank = mem_zero((size_t)rank_count + 2, sizeof(*f->first_of_rank));
	for (uint32_t v = 0; v < n; v++)
		f->first_of_rank[f->rank[v] + 2]++;
	for (uint32_t r = 0; r < rank_count; r++)
		f->first_of_rank[r + 2] += f->first_of_rank[r + 1];
	for (uint32_t v = 0; v < n; v++)
		f->by_position[f->first_of_rank[f->rank[v] + 1]++] = v;
}

/* True: `anchor` says which edge; false with *undecided when the bound was hit. */
static bool single_exists(struct finder *f, struct anchor *anchor, bool *undecided)
{
	const struct graph *graph = f->graph;
	uint32_t found = GRAPH_NONE, *rank;
	struct anchor *anchors = NULL;
	size_t count = 0, capacity = 0;
	uint64_t budget = f->budget * 16;

	if (!f->rank)
		rank_nodes(f);
	rank = f->rank;
	for (uint32_t i = 0; i < f->node_count; i++) {
		uint32_t u = f->nodes[i];

		for (uint32_t e = graph->head[u]; e < graph->head[u + 1]; e++) {
			if (!is_rw((enum graph_kind)graph->kind[e]) || rank[graph->to[e]] < rank[u])
				continue;
			MEM_RESERVE(anchors, count + 1, capacity);
			anchors[count++] = (struct anchor){u, e, rank[graph->to[e]], rank[u]};
		}
	}
	if (count)
		qsort(anchors, count, sizeof(*anchors), by_rank);
	for (size_t i = 0; i < count && found == GRAPH_NONE && budget; i += 64) {
		uint32_t batch = count - i < 64 ? (uint32_t)(count - i) : 64;

		found = reach_batch(f, anchors + i, batch, &budget);
		if (found != GRAPH_NONE)
			*anchor = anchors[i + found];
	}
	*undecided = found == GRAPH_NONE && count && budget == 0;
	mem_free(anchors);
	return found != GRAPH_NONE;
}

/* The last resort, exact on small components: every simple cycle, from its smallest transaction.
 * Points in time may be passed again: they carry several real-time edges, and lead only forward. */
struct enumeration {
	struct finder *f;
	unsigned mask;
	uint32_t *node, *edge; /* by depth: where the walk is, and the next edge to try there */
	uint32_t depth_max;
	uint64_t steps; /* left */
	bool cut;
};

/* The walk's edges as a cycle, points in time folded away. */
static void keep_walk(struct enumeration *en, uint32_t depth)
{
	struct finder *f = en->f;
	const struct graph *graph = f->graph;

	f->search.path_length = 0;
	for (uint32_t d = 0; d <= depth; d++) {
		uint32_t e = en->edge[d] - 1; /* the one taken */
		uint32_t to = graph->to[e];

		if (en->node[d] >= graph->txn_count)
			continue;
		for (uint32_t k = d; to >= graph->txn_count;)
			to = graph->to[en->edge[++k] - 1];
		f->search.path[f->search.path_length++] = (struct cycle_step){
			en->node[d], to, graph->detail[e], (enum graph_kind)graph->kind[e]};
	}
	keep(f, cycle_classify(f->search.path, f->search.path_length));
}

static void enumerate_from(struct enumeration *en, uint32_t root)
{
	const struct graph *graph = en->f->graph;
	struct search *search = &en->f->search;
	uint32_t depth = 0;

	search->mark_now++;
	search->mark[root] = search->mark_now;
	en->node[0] = root;
	en->edge[0] = graph->head[root];
	for (;;) {
		uint32_t v = en->node[depth], e = en->edge[depth], to;

		if (e == graph->head[v + 1] || en->steps == 0) {
			if (depth == 0)
				return;
			if (v < graph->txn_count)
				search->mark[v] = 0;
			depth--;
			continue;
		}
		en->edge[depth]++;
		to = graph->to[e];
		if (!(en->mask >> graph->kind[e] & 1) || to < root)
			continue;
		en->steps--;
		if (to == root) {
			keep_walk(en, depth);
		} else if (depth + 1 == en->depth_max) {
			en->cut = true;
		} else if (to >= graph->txn_count || search->mark[to] != search->mark_now) {
			if (to < graph->txn_count)
				search->mark[to] = search->mark_now;
			en->node[++depth] = to;
			en->edge[depth] = graph->head[to];
		}
	}
}

static void enumerate(struct finder *f, unsigned mask)
{
	struct enumeration en = {.f = f, .mask = mask, .steps = ENUMERATE_STEPS_MAX};

	if (en.steps > f->budget)
		en.steps = f->budget;
	en.depth_max = 4 * f->node_count + 16;
	en.node = mem_realloc(NULL, en.depth_max, sizeof(uint32_t));
	en.edge = mem_realloc(NULL, en.depth_max, sizeof(uint32_t));
	for (uint32_t i = 0; i < f->node_count && en.steps; i++) {
		if (f->nodes[i] < f->graph->txn_count)
			enumerate_from(&en, f->nodes[i]);
	}
	if (en.steps == 0 || en.cut) {
		f->cut[CYCLE_G_NONADJACENT] = true;
		f->cut[CYCLE_G2] = true;
	}
	mem_free(en.node);
	mem_free(en.edge);
}

/* ---- all components of one order ---- */

struct projections {
	uint32_t *ww, *dependency, *item, *data, *product; /* component numbers */
	uint32_t ww_count, dependency_count, item_count, data_count, product_count;
};

static uint32_t project(const struct graph *graph, unsigned mask, uint32_t **component)
{
	*component = mem_realloc(NULL, graph->node_count, sizeof(**component));
	return graph_components(graph, mask, *component);
}

/* By component of the data: does it have a cycle of dependencies? */
static uint8_t *with_dependency_cycle(const struct projections *p, uint32_t nodes)
{
	uint8_t *with = mem_zero(p->data_count, 1);

	for (uint32_t v = 0; v < nodes; v++) {
		if (p->dependency[v] != GRAPH_NONE)
			with[p->data[v]] = 1;
	}
	return with;
}

/* Is D u D.rw cyclic inside the components?  Two nodes a transaction: 2v reached by a dependency,
 * 2v+1 reached by rw, from where only a dependency may go on (semantics.md, section 3).  p->product
 * gets the product's components, by product node.  Where there is a cycle of dependencies, it is
 * one of the product, and there is nothing to look for. */
static void project_product(struct projections *p, const struct graph *graph, unsigned extra)
{
	unsigned dependency = GRAPH_MASK_DEPENDENCY | extra;
	uint8_t *settled = with_dependency_cycle(p, graph->node_count);
	struct graph product = {
		.node_count = 2 * graph->node_count, .txn_count = 2 * graph->node_count};
	uint32_t at = 0;

	CHECK(graph->edge_count < UINT32_MAX / 2);
	product.head = mem_realloc(NULL, (size_t)product.node_count + 1, sizeof(*product.head));
	product.to = mem_realloc(NULL, 2 * (size_t)graph->edge_count, sizeof(*product.to));
	for (uint32_t v = 0; v < graph->node_count; v++) {
		for (uint32_t by_rw = 0; by_rw < 2; by_rw++) {
			unsigned mask = by_rw ? dependency : dependency | GRAPH_MASK_RW;

			product.head[2 * v + by_rw] = at;
			for (uint32_t e = graph->head[v];
				e < graph->head[v + 1] && !settled[p->data[v]]; e++) {
				if (mask >> graph->kind[e] & 1)
					product.to[at++] = 2 * graph->to[e] +
							   is_rw((enum graph_kind)graph->kind[e]);
			}
		}
	}
	product.head[product.node_count] = product.edge_count = at;
	product.kind = mem_zero(at, 1); /* all the same: the ends tell the rest */
	p->product_count = project(&product, GRAPH_MASK_ALL, &p->product) + p->dependency_count;
	for (uint32_t v = 0; v < graph->node_count; v++) {
		if (p->dependency[v] != GRAPH_NONE)
			p->product[2 * v] = p->dependency[v];
	}
	graph_release(&product);
	mem_free(settled);
}

/* A component under session or real-time edges alone is none of ours to report: both are orders.
 * p->data is there already: by it the graph was cut. */
static void project_all(struct projections *p, const struct graph *graph, unsigned extra)
{
	p->ww_count = project(graph, GRAPH_MASK_WW | extra, &p->ww);
	p->dependency_count = project(graph, GRAPH_MASK_DEPENDENCY | extra, &p->dependency);
	if (memchr(graph->kind, GRAPH_PREDICATE_RW, graph->edge_count)) {
		p->item_count = project(
			graph, GRAPH_MASK_DEPENDENCY | GRAPH_MASK_ITEM_RW | extra, &p->item);
	} else {
		p->item_count = p->data_count;
		p->item = mem_dup(p->data, graph->node_count * sizeof(*p->item));
	}
	project_product(p, graph, extra);
}

static void projections_release(struct projections *p)
{
	mem_free(p->ww);
	mem_free(p->dependency);
	mem_free(p->item);
	mem_free(p->data);
	mem_free(p->product);
}

/* Is any node of the component in a component of the projection? */
static bool touches(const struct finder *f, const uint32_t *component)
{
	for (uint32_t i = 0; i < f->node_count; i++) {
		if (component[f->nodes[i]] != GRAPH_NONE)
			return true;
	}
	return false;
}

static bool touches_product(const struct finder *f, const uint32_t *component)
{
	for (uint32_t i = 0; i < f->node_count; i++) {
		if (component[2 * f->nodes[i]] != GRAPH_NONE ||
			component[2 * f->nodes[i] + 1] != GRAPH_NONE)
			return true;
	}
	return false;
}

static void find_single(struct finder *f, const struct projections *p, bool *undecided)
{
	unsigned mask = GRAPH_MASK_DEPENDENCY | f->extra;
	struct anchor anchor;

	*undecided = false;
	if (!touches_product(f, p->product))
		return;
	find_through(f, CYCLE_G_SINGLE, GRAPH_MASK_RW, NULL, &dependency_only, 1, mask);
	if (f->best[CYCLE_G_SINGLE].length || !f->cut[CYCLE_G_SINGLE])
		return;
	if (!single_exists(f, &anchor, undecided))
		return;
	/* The witness of that one edge, whatever it costs: one search. */
	f->search.budget = UINT64_MAX;
	f->search.mask = mask;
	f->accept[anchor.from] = 1;
	{
		uint32_t end, v = f->graph->to[anchor.edge];
		uint32_t length = shortest(&f->search, &dependency_only, &(struct source){v, 0}, 1,
			f->accept, GRAPH_NONE, UINT32_MAX - 1, &end);

		CHECK(length != GRAPH_NONE);
		f->search.path_length = 0;
		f->search.path[f->search.path_length++] =
			(struct cycle_step){anchor.from, v, f->graph->detail[anchor.edge],
				(enum graph_kind)f->graph->kind[anchor.edge]};
		take_path(&f->search, end);
		keep(f, CYCLE_G_SINGLE);
	}
	f->accept[anchor.from] = 0;
}

/* Is there a predicate rw edge in the component?  Without one there is no G2. */
static bool has_predicate_rw(const struct finder *f)
{
	const struct graph *graph = f->graph;

	for (uint32_t i = 0; i < f->node_count; i++) {
		uint32_t v = f->nodes[i];

		for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++) {
			if (graph->kind[e] == GRAPH_PREDICATE_RW)
				return true;
		}
	}
	return false;
}

static bool has_item_cycle(const struct finder *f)
{
	return f->best[CYCLE_G0].length || f->best[CYCLE_G1C].length ||
	       f->best_item[CYCLE_G_SINGLE].length || f->best_item[CYCLE_G_NONADJACENT].length ||
	       f->best[CYCLE_G2_ITEM].length;
}

/* Cycles with one rw, or none next to another, may be phantoms or not; what PL-2.99 forbids is only
 * the latter, and a shorter phantom must not hide it.  First, so that of two as long this one is
 * kept.  Only data counts: the variants with an order are no contract's. */
static void find_items(struct finder *f, const struct projections *p)
{
	unsigned dependency = GRAPH_MASK_DEPENDENCY;

	if (f->order != CYCLE_PLAIN || !has_predicate_rw(f) || !touches(f, p->item))
		return;
	find_through(f, CYCLE_G_SINGLE, GRAPH_MASK_ITEM_RW, p->item, &dependency_only, 1, dependency);
	f->cut[CYCLE_G_SINGLE] = false; /* the search of all will say */
	find_through(f, CYCLE_G_NONADJACENT, GRAPH_MASK_ITEM_RW, p->item, &nonadjacent, 1 << 3,
		dependency | GRAPH_MASK_ITEM_RW);
}

/* Finds the shortest cycle of each class in the component; `skip` has the classes that are there
 * already without session or real-time edges. */
static void find_in_component(
	struct finder *f, const struct projections *p, unsigned skip, bool *single_undecided)
{
	unsigned dependency = GRAPH_MASK_DEPENDENCY | f->extra;
	unsigned all = GRAPH_MASK_DATA | f->extra;

	for (int class = 0; class < CYCLE_CLASS_COUNT; class ++) {
		f->best[class] = (struct cycle){0};
		f->best_item[class] = (struct cycle){0};
		f->cut[class] = false;
	}
	if (!(skip >> CYCLE_G0 & 1))
		find_through(f, CYCLE_G0, GRAPH_MASK_WW, p->ww, &any_of_mask, 1,
			GRAPH_MASK_WW | f->extra);
	if (!(skip >> CYCLE_G1C & 1))
		find_through(
			f, CYCLE_G1C, GRAPH_MASK_WR, p->dependency, &any_of_mask, 1, dependency);
	find_items(f, p);
	*single_undecided = false;
	if (!(skip >> CYCLE_G_SINGLE & 1))
		find_single(f, p, single_undecided);
	if (!(skip >> CYCLE_G_NONADJACENT & 1) && touches_product(f, p->product))
		find_through(
			f, CYCLE_G_NONADJACENT, GRAPH_MASK_RW, NULL, &nonadjacent, 1 << 3, all);
	if (!(skip >> CYCLE_G2_ITEM & 1) && touches(f, p->item))
		find_adjacent(f, CYCLE_G2_ITEM, dependency | GRAPH_MASK_ITEM_RW);
	if (!has_predicate_rw(f))
		skip |= 1u << CYCLE_G2;
	if (!(skip >> CYCLE_G2 & 1))
		find_adjacent(f, CYCLE_G2, all);
	/* Two classes whose search walks may cross themselves: where nothing was found and it is
	 * not excluded, look at every cycle. */
	if ((!f->best[CYCLE_G_NONADJACENT].length && !(skip >> CYCLE_G_NONADJACENT & 1) &&
		    touches_product(f, p->product)) ||
		(!f->best[CYCLE_G2].length && !(skip >> CYCLE_G2 & 1)))
		enumerate(f, all);
	else if (f->order == CYCLE_PLAIN && touches(f, p->item) && !has_item_cycle(f))
		enumerate(f, dependency | GRAPH_MASK_ITEM_RW);
}

static void rotate(struct cycle *cycle)
{
	uint32_t first = 0;
	struct cycle_step *turned;

	for (uint32_t i = 1; i < cycle->length; i++) {
		if (cycle->steps[i].from < cycle->steps[first].from)
			first = i;
	}
	turned = mem_realloc(NULL, cycle->length, sizeof(*turned));
	for (uint32_t i = 0; i < cycle->length; i++)
		turned[i] = cycle->steps[(first + i) % cycle->length];
	mem_free(cycle->steps);
	cycle->steps = turned;
}

static enum cycle_order order_of(const struct cycle *cycle)
{
	enum cycle_order order = CYCLE_PLAIN;

	for (uint32_t i = 0; i < cycle->length; i++) {
		if (cycle->steps[i].kind == GRAPH_REALTIME)
			order = CYCLE_REALTIME;
		else if (cycle->steps[i].kind == GRAPH_SESSION && order == CYCLE_PLAIN)
			order = CYCLE_SESSION;
	}
	return order;
}

/* Takes the steps over, in the caller's numbers. */
static void report_cycle(struct finder *f, struct cycle *cycle, enum cycle_class class)
{
	for (uint32_t i = 0; i < cycle->length; i++) {
		cycle->steps[i].from = f->graph->origin[cycle->steps[i].from];
		cycle->steps[i].to = f->graph->origin[cycle->steps[i].to];
	}
	rotate(cycle);
	cycle->class = class;
	cycle->order = order_of(cycle);
	cycle->component = f->component;
	MEM_RESERVE(f->out->cycles, f->out->count + 1, f->out->capacity);
	f->out->cycles[f->out->count++] = *cycle;
}

/* Hands a component's cycles over.  Returns the classes reported. */
static unsigned report(struct finder *f, unsigned skip)
{
	unsigned classes = 0;

	for (int class = 0; class < CYCLE_CLASS_COUNT; class ++) {
		struct cycle *cycle = &f->best[class], *item = &f->best_item[class];
		bool reported = cycle->length && !(skip >> class & 1);

		f->out->cut += f->cut[class];
		item->longer = cycle->length < item->length;
		if (reported) {
			report_cycle(f, cycle, (enum cycle_class) class);
			classes |= 1u << class;
		} else {
			mem_free(cycle->steps);
		}
		if (reported && item->longer)
			report_cycle(f, item, (enum cycle_class) class);
		else
			mem_free(item->steps);
	}
	return classes;
}

static enum level_answer answer(bool fails)
{
	return fails ? LEVEL_FAILS : LEVEL_HOLDS;
}

static void decide_levels(
	enum level_answer *levels, const struct projections *p, bool single, bool single_undecided)
{
	levels[CYCLE_PL_1] = answer(p->ww_count);
	levels[CYCLE_PL_2] = answer(p->dependency_count);
	levels[CYCLE_PL_2_99] = answer(p->item_count);
	levels[CYCLE_PL_3] = answer(p->data_count);
	levels[CYCLE_PL_SI] = answer(p->product_count);
	levels[CYCLE_PL_2PLUS] = answer(p->dependency_count || single);
	if (single_undecided && levels[CYCLE_PL_2PLUS] == LEVEL_HOLDS)
		levels[CYCLE_PL_2PLUS] = LEVEL_UNDECIDED;
}

/* Nodes of each component, one component after the other. */
static uint32_t *group_nodes(
	const uint32_t *component, uint32_t count, uint32_t nodes, uint32_t **head)
{
	uint32_t *grouped = mem_realloc(NULL, nodes, sizeof(*grouped));

	*head = mem_zero((size_t)count + 2, sizeof(**head));
	for (uint32_t v = 0; v < nodes; v++) {
		if (component[v] != GRAPH_NONE)
			(*head)[component[v] + 2]++;
	}
	for (uint32_t c = 0; c < count; c++)
		(*head)[c + 2] += (*head)[c + 1];
	for (uint32_t v = 0; v < nodes; v++) {
		if (component[v] != GRAPH_NONE)
			grouped[(*head)[component[v] + 1]++] = v;
	}
	return grouped;
}

/* A set of all classes that there can be. */
static unsigned all_classes(const struct graph *graph)
{
	unsigned all = (1u << CYCLE_CLASS_COUNT) - 1;

	if (!memchr(graph->kind, GRAPH_PREDICATE_RW, graph->edge_count))
		all &= ~(1u << CYCLE_G2);
	return all;
}

static uint32_t origin_of(const struct graph *graph, uint32_t v)
{
	return graph->origin ? graph->origin[v] : v;
}

/* What is known of a node from weaker orders. */
struct past {
	unsigned classes;   /* found in its component */
	uint32_t component; /* numbered through all orders */
};

/*
 * The components of the edges in `mask`, without those that have nothing left to show because a
 * weaker order has shown every class in them; their levels fail already.  A component of a weaker
 * order that has is one node here: a giant one costs a look at its edges.
 */
static uint32_t project_unfinished(
	const struct graph *graph, unsigned mask, const struct past *past, uint32_t **component)
{
	unsigned all = all_classes(graph), *classes;
	uint32_t *node = mem_realloc(NULL, graph->node_count, sizeof(*node));
	uint32_t *finished = NULL, nodes = 0, count;
	size_t capacity = 0, known = 0;
	struct graph_builder builder;
	struct graph small;

	for (uint32_t v = 0; v < graph->node_count; v++) {
		const struct past *p = &past[origin_of(graph, v)];

		if ((p->classes & all) != all) {
			node[v] = nodes++;
			continue;
		}
		MEM_RESERVE(finished, p->component + 1, capacity);
		for (; known <= p->component; known++)
			finished[known] = GRAPH_NONE;
		if (finished[p->component] == GRAPH_NONE)
			finished[p->component] = nodes++;
		node[v] = finished[p->component];
	}
	mem_free(finished);
	graph_builder_init(&builder, nodes);
	for (uint32_t v = 0; v < graph->node_count; v++) {
		for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++) {
			if ((mask >> graph->kind[e] & 1) && node[v] != node[graph->to[e]])
				graph_builder_add(
					&builder, node[v], node[graph->to[e]], GRAPH_WW, 0);
		}
	}
	graph_build(&small, &builder);
	count = project(&small, GRAPH_MASK_ALL, component);
	graph_release(&small);
	classes = mem_zero(count, sizeof(*classes));
	for (uint32_t v = 0; v < graph->node_count; v++) {
		if ((*component)[node[v]] != GRAPH_NONE)
			classes[(*component)[node[v]]] |= past[origin_of(graph, v)].classes;
	}
	/* From the small graph's nodes to those of the graph; a finished one alone has no number.
	 */
	for (uint32_t v = 0; v < graph->node_count; v++) {
		uint32_t c = (*component)[node[v]];

		node[v] = c != GRAPH_NONE && (classes[c] & all) != all ? c : GRAPH_NONE;
	}
	mem_free(classes);
	mem_free(*component);
	*component = node;
	return count;
}

/* The components of the nodes that were not cut away, numbered anew without gaps. */
static uint32_t gather(uint32_t *component, uint32_t nodes, uint32_t count)
{
	uint32_t *fresh = mem_realloc(NULL, count, sizeof(*fresh)), kept = 0, number = 0;

	memset(fresh, 0xff, (size_t)count * sizeof(*fresh));
	for (uint32_t v = 0; v < nodes; v++) {
		uint32_t c = component[v];

		if (c == GRAPH_NONE)
			continue;
		if (fresh[c] == GRAPH_NONE)
			fresh[c] = number++;
		component[kept++] = fresh[c];
	}
	mem_free(fresh);
	return number;
}

/* `past`: by node of the caller's graph. */
static void find_of_order(struct cycles *out, const struct graph *graph, enum cycle_order order,
	uint64_t budget, struct past *past, uint32_t *numbered)
{
	struct finder f = {
		.out = out, .order = order, .extra = order_masks[order], .budget = budget};
	struct projections p;
	struct graph cut;
	uint32_t *head, *grouped, *component, count;
	bool single = false, undecided = false;

	count = order == CYCLE_PLAIN
			? project(graph, GRAPH_MASK_DATA, &component)
			: project_unfinished(graph, GRAPH_MASK_DATA | f.extra, past, &component);
	graph_cut(&cut, graph, GRAPH_MASK_DATA | f.extra, component);
	p.data_count = gather(component, graph->node_count, count);
	p.data = component;
	f.graph = &cut;
	search_init(&f.search, &cut);
	f.accept = mem_zero(cut.node_count, 1);
	project_all(&p, &cut, f.extra);
	grouped = group_nodes(p.data, p.data_count, cut.node_count, &head);
	for (uint32_t c = 0; c < p.data_count; c++) {
		unsigned skip = 0, found;
		bool one_undecided;

		f.nodes = grouped + head[c];
		f.node_count = head[c + 1] - head[c];
		f.component = c;
		if (interrupt_seen())
			f.budget = 1;
		for (uint32_t i = 0; i < f.node_count; i++)
			skip |= past[cut.origin[f.nodes[i]]].classes;
		find_in_component(&f, &p, skip, &one_undecided);
		single |= f.best[CYCLE_G_SINGLE].length || skip >> CYCLE_G_SINGLE & 1;
		undecided |= one_undecided;
		found = report(&f, skip) | skip;
		for (uint32_t i = 0; i < f.node_count; i++)
			past[cut.origin[f.nodes[i]]] = (struct past){found, *numbered};
		(*numbered)++;
	}
	decide_levels(out->levels[order], &p, single, undecided);
	for (int l = 0; order != CYCLE_PLAIN && l < CYCLE_LEVEL_COUNT; l++) {
		if (out->levels[CYCLE_PLAIN][l] == LEVEL_FAILS ||
			out->levels[order - 1][l] == LEVEL_FAILS)
			out->levels[order][l] = LEVEL_FAILS;
	}
	mem_free(head);
	mem_free(grouped);
	mem_free(f.accept);
	mem_free(f.sources);
	mem_free(f.rank);
	mem_free(f.first_of_rank);
	mem_free(f.by_position);
	mem_free(f.bits);
	projections_release(&p);
	search_release(&f.search);
	graph_release(&cut);
}

void cycles_find(
	struct cycles *out, const struct graph *graph, const struct cycles_options *options)
{
	unsigned mask = GRAPH_MASK_DATA;
	uint32_t *component;
	struct graph cut = {0};
	struct past *past;
	uint32_t *sizes, numbered = 0, inside = 0, node_count = graph->node_count;

	*out = (struct cycles){0};
	if (options->session)
		mask |= GRAPH_MASK_SESSION;
	if (options->realtime)
		mask |= order_masks[CYCLE_REALTIME];
	out->component_count = project(graph, mask, &component);
	if (out->component_count == 0) {
		mem_free(component);
		return; /* every level holds: LEVEL_HOLDS is zero */
	}
	sizes = mem_zero(out->component_count, sizeof(*sizes));
	for (uint32_t v = 0; v < graph->node_count; v++) {
		inside += component[v] != GRAPH_NONE;
		if (v < graph->txn_count && component[v] != GRAPH_NONE &&
			++sizes[component[v]] > out->largest)
			out->largest = sizes[component[v]];
	}
	mem_free(sizes);
	/* Nearly all of it: the whole graph is as good. */
	if (inside < graph->node_count - graph->node_count / 4) {
		graph_cut(&cut, graph, mask, component);
		graph = &cut;
	}
	mem_free(component);
	past = mem_zero(node_count, sizeof(*past));
	for (int order = 0; order < CYCLE_ORDER_COUNT; order++) {
		if (!(order_masks[order] & ~mask))
			find_of_order(out, graph, (enum cycle_order)order,
				options->budget ? options->budget : BUDGET_DEFAULT, past,
				&numbered);
	}
	mem_free(past);
	graph_release(&cut);
}

void cycles_release(struct cycles *cycles)
{
	for (size_t i = 0; i < cycles->count; i++)
		mem_free(cycles->cycles[i].steps);
	mem_free(cycles->cycles);
	*cycles = (struct cycles){0};
}
