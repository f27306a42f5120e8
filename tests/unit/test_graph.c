/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The graph engine against what it is not made of: components against igraph, levels and classes of
 * cycles against every simple cycle of small random graphs, enumerated here by a naive search.
 */
#include "random.h"
#include "unit.h"

#include <igraph.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "common/graph/cycles.h"

static struct random numbers;

static uint32_t below(uint32_t limit)
{
	return (uint32_t)random_below(&numbers, limit);
}

START_TEST(components_agree_with_igraph)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		uint32_t nodes = 2 + seed * 7, edges;
		struct graph_builder builder;
		struct graph graph;
		igraph_t twin;
		igraph_vector_int_t list, member, size;
		igraph_integer_t count;
		uint32_t *component = mem_realloc(NULL, nodes, sizeof(*component)), big = 0;
		uint32_t *rank = mem_realloc(NULL, nodes, sizeof(*rank));

		numbers.state = seed;
		edges = nodes + below(nodes);
		graph_builder_init(&builder, nodes);
		igraph_vector_int_init(&list, 0);
		for (uint32_t i = 0; i < edges; i++) {
			uint32_t from = below(nodes), to = below(nodes);
			enum graph_kind kind = (enum graph_kind)below(5);

			graph_builder_add(&builder, from, to, kind, i);
			if (kind == GRAPH_RW)
				continue;
			igraph_vector_int_push_back(&list, from);
			igraph_vector_int_push_back(&list, to);
		}
		graph_build(&graph, &builder);
		igraph_create(&twin, &list, nodes, IGRAPH_DIRECTED);
		igraph_vector_int_init(&member, 0);
		igraph_vector_int_init(&size, 0);
		igraph_connected_components(&twin, &member, &size, &count, IGRAPH_STRONG);
		for (igraph_integer_t c = 0; c < count; c++)
			big += VECTOR(size)[c] > 1;
		UNIT_REQUIRE((graph_components(&graph, GRAPH_MASK_ALL & ~GRAPH_MASK_ITEM_RW,
				     component)) == (big));
		graph_ranks(&graph, GRAPH_MASK_ALL & ~GRAPH_MASK_ITEM_RW, rank);
		for (uint32_t a = 0; a < nodes; a++) {
			UNIT_REQUIRE((component[a] == GRAPH_NONE) ==
				     (VECTOR(size)[VECTOR(member)[a]] == 1));
			for (uint32_t b = 0; b < nodes; b++)
				UNIT_REQUIRE((rank[a] == rank[b]) ==
					     (VECTOR(member)[a] == VECTOR(member)[b]));
			for (uint32_t e = graph.head[a]; e < graph.head[a + 1]; e++)
				UNIT_REQUIRE(
					graph.kind[e] == GRAPH_RW || rank[graph.to[e]] <= rank[a]);
		}
		igraph_destroy(&twin);
		igraph_vector_int_destroy(&list);
		igraph_vector_int_destroy(&member);
		igraph_vector_int_destroy(&size);
		graph_release(&graph);
		free(component);
		free(rank);
	}
}
END_TEST

/* ---- the naive twin ---- */

enum { NODES_MAX = 7, EDGES_MAX = 40 };

struct naive_edge {
	uint32_t from, to;
	enum graph_kind kind;
};

struct naive {
	uint32_t nodes, edge_count;
	struct naive_edge edges[EDGES_MAX + NODES_MAX * NODES_MAX];
	bool found[CYCLE_ORDER_COUNT][NODES_MAX][CYCLE_CLASS_COUNT]; /* by component of its order */
	uint32_t shortest[CYCLE_ORDER_COUNT][NODES_MAX][CYCLE_CLASS_COUNT];
	bool reach[CYCLE_ORDER_COUNT][NODES_MAX][NODES_MAX];
};

static const unsigned extras[CYCLE_ORDER_COUNT] = {
	0, GRAPH_MASK_SESSION, GRAPH_MASK_SESSION | GRAPH_MASK_REALTIME};

static void close_over(const struct naive *g, unsigned mask, bool reach[NODES_MAX][NODES_MAX])
{
	memset(reach, 0, sizeof(bool) * NODES_MAX * NODES_MAX);
	for (uint32_t i = 0; i < g->edge_count; i++) {
		if (mask >> g->edges[i].kind & 1)
			reach[g->edges[i].from][g->edges[i].to] = true;
	}
	for (uint32_t k = 0; k < g->nodes; k++)
		for (uint32_t a = 0; a < g->nodes; a++)
			for (uint32_t b = 0; b < g->nodes; b++)
				reach[a][b] |= reach[a][k] && reach[k][b];
}

static bool cyclic(const struct naive *g, unsigned mask)
{
	bool reach[NODES_MAX][NODES_MAX];

	close_over(g, mask, reach);
	for (uint32_t a = 0; a < g->nodes; a++) {
		if (reach[a][a])
			return true;
	}
	return false;
}

/* D u D.rw, composed edge by edge (semantics.md, section 3). */
static bool si_cyclic(const struct naive *g, unsigned extra)
{
	bool d[NODES_MAX][NODES_MAX] = {{false}}, r[NODES_MAX][NODES_MAX] = {{false}};
	bool c[NODES_MAX][NODES_MAX] = {{false}};

	for (uint32_t i = 0; i < g->edge_count; i++) {
		const struct naive_edge *e = &g->edges[i];

		if ((GRAPH_MASK_DEPENDENCY | extra) >> e->kind & 1)
			d[e->from][e->to] = true;
		if (GRAPH_MASK_RW >> e->kind & 1)
			r[e->from][e->to] = true;
	}
	for (uint32_t a = 0; a < g->nodes; a++)
		for (uint32_t b = 0; b < g->nodes; b++) {
			c[a][b] |= d[a][b];
			for (uint32_t x = 0; x < g->nodes; x++)
				c[a][x] |= d[a][b] && r[b][x];
		}
	for (uint32_t k = 0; k < g->nodes; k++)
		for (uint32_t a = 0; a < g->nodes; a++)
			for (uint32_t b = 0; b < g->nodes; b++)
				c[a][b] |= c[a][k] && c[k][b];
	for (uint32_t a = 0; a < g->nodes; a++) {
		if (c[a][a])
			return true;
	}
	return false;
}

static uint32_t component_of(const struct naive *g, int order, uint32_t v)
{
	for (uint32_t u = 0; u < v; u++) {
		if (g->reach[order][u][v] && g->reach[order][v][u])
			return u;
	}
	return v;
}

static void note_cycle(struct naive *g, const struct naive_edge *const *path, uint32_t length)
{
	uint32_t rw = 0, predicate = 0, wr = 0, session = 0, realtime = 0, c;
	bool adjacent = false;
	int class, order;

	for (uint32_t i = 0; i < length; i++) {
		enum graph_kind kind = path[i]->kind, next = path[(i + 1) % length]->kind;
		bool this_rw = kind == GRAPH_RW || kind == GRAPH_PREDICATE_RW;
		bool next_rw = next == GRAPH_RW || next == GRAPH_PREDICATE_RW;

		rw += this_rw;
		predicate += kind == GRAPH_PREDICATE_RW;
		wr += kind == GRAPH_WR || kind == GRAPH_PREDICATE_WR;
		session += kind == GRAPH_SESSION;
		realtime += kind == GRAPH_REALTIME;
		adjacent |= this_rw && next_rw;
	}
	if (!rw)
		class = wr ? CYCLE_G1C : CYCLE_G0;
	else if (rw == 1)
		class = CYCLE_G_SINGLE;
	else if (!adjacent)
		class = CYCLE_G_NONADJACENT;
	else
		class = predicate ? CYCLE_G2 : CYCLE_G2_ITEM;
	order = realtime ? CYCLE_REALTIME : session ? CYCLE_SESSION : CYCLE_PLAIN;
	if (session + realtime == length)
		return; /* not a cycle of orders that could be */
	c = component_of(g, order, path[0]->from);
	if (!g->found[order][c][class] || g->shortest[order][c][class] > length)
		g->shortest[order][c][class] = length;
	g->found[order][c][class] = true;
}

static void extend(struct naive *g, const struct naive_edge **path, uint32_t depth, unsigned used)
{
	uint32_t root = path[0]->from, at = path[depth - 1]->to;

	if (at == root) {
		note_cycle(g, path, depth);
		return;
	}
	if (at < root || used >> at & 1)
		return;
	for (uint32_t i = 0; i < g->edge_count; i++) {
		if (g->edges[i].from == at) {
			path[depth] = &g->edges[i];
			extend(g, path, depth + 1, used | 1u << at);
		}
	}
}

/* Random edges; session edges follow a random order of the nodes in two sessions, real-time edges
 * random intervals that agree with it. */
static void random_graph(struct naive *g, struct graph *graph, uint32_t seed)
{
	struct graph_builder builder;
	uint64_t begin[NODES_MAX], end[NODES_MAX];
	uint32_t edges, last[2] = {GRAPH_NONE, GRAPH_NONE};
	unsigned kinds;

	memset(g, 0, sizeof(*g));
	numbers.state = seed;
	g->nodes = 2 + below(NODES_MAX - 1);
	edges = 1 + below(g->nodes * 2 + 2);
	kinds = 1 +
		below(31); /* which kinds occur, so that weak classes are not crowded out */
	graph_builder_init(&builder, g->nodes);
	for (uint32_t i = 0; i < edges; i++) {
		struct naive_edge e = {below(g->nodes), below(g->nodes),
			(enum graph_kind)below(5)};

		if (e.from == e.to || !(kinds >> e.kind & 1))
			continue;
		g->edges[g->edge_count++] = e;
		graph_builder_add(&builder, e.from, e.to, e.kind, i);
	}
	for (uint32_t v = 0; v < g->nodes; v++) {
		uint32_t session = below(3);

		begin[v] = v * 10 + below(9);
		end[v] = begin[v] + 1 + below(40);
		if (below(6) == 0)
			end[v] = UINT64_MAX;
		if (session == 2)
			continue;
		if (last[session] != GRAPH_NONE) {
			/* A session ends one transaction before it begins the next. */
			if (end[last[session]] >= begin[v])
				end[last[session]] = begin[v] - 1;
			g->edges[g->edge_count++] =
				(struct naive_edge){last[session], v, GRAPH_SESSION};
			graph_builder_add(&builder, last[session], v, GRAPH_SESSION, 0);
		}
		last[session] = v;
	}
	graph_builder_realtime(&builder, begin, end);
	for (uint32_t a = 0; a < g->nodes; a++)
		for (uint32_t b = 0; b < g->nodes; b++) {
			if (end[a] < begin[b])
				g->edges[g->edge_count++] =
					(struct naive_edge){a, b, GRAPH_REALTIME};
		}
	graph_build(graph, &builder);
	for (int order = 0; order < CYCLE_ORDER_COUNT; order++)
		close_over(g, GRAPH_MASK_DATA | extras[order], g->reach[order]);
	for (uint32_t i = 0; i < g->edge_count; i++) {
		const struct naive_edge *path[NODES_MAX + 1] = {&g->edges[i]};

		extend(g, path, 1, 1u << g->edges[i].from);
	}
}

/* A class in a component under session order counts when the component has it not without. */
static bool expected(const struct naive *g, int order, uint32_t component, int class)
{
	if (!g->found[order][component][class])
		return false;
	for (int weaker = 0; weaker < order; weaker++) {
		for (uint32_t v = 0; v < g->nodes; v++) {
			if (component_of(g, order, v) == component &&
				g->found[weaker][component_of(g, weaker, v)][class])
				return false;
		}
	}
	return true;
}

static void check_witness(const struct naive *g, const struct cycle *cycle)
{
	bool session = false, realtime = false;

	for (uint32_t i = 0; i < cycle->length; i++) {
		const struct cycle_step *step = &cycle->steps[i];
		bool real = false;

		UNIT_REQUIRE((step->to) == (cycle->steps[(i + 1) % cycle->length].from));
		for (uint32_t k = 0; k < i; k++)
			UNIT_REQUIRE((step->from) != (cycle->steps[k].from));
		for (uint32_t k = 0; k < g->edge_count; k++)
			real |= g->edges[k].from == step->from && g->edges[k].to == step->to &&
				g->edges[k].kind == step->kind;
		UNIT_REQUIRE(real);
		session |= step->kind == GRAPH_SESSION;
		realtime |= step->kind == GRAPH_REALTIME;
	}
	UNIT_REQUIRE((cycle_classify(cycle->steps, cycle->length)) == (cycle->class));
	UNIT_REQUIRE((cycle->order) == (realtime         ? CYCLE_REALTIME
					       : session ? CYCLE_SESSION
							 : CYCLE_PLAIN));
}

/* PL-2+ alone may stay undecided, when there was no budget to search with. */
static void check_levels(const struct naive *g, const struct cycles *cycles, bool exact)
{
	for (int order = 0; order < CYCLE_ORDER_COUNT; order++) {
		const enum level_answer *levels = cycles->levels[order];
		unsigned extra = extras[order], d = GRAPH_MASK_DEPENDENCY | extra;
		bool single = false;
		bool reach[NODES_MAX][NODES_MAX];

		close_over(g, d, reach);
		for (uint32_t i = 0; i < g->edge_count; i++)
			single |= GRAPH_MASK_RW >> g->edges[i].kind & 1 &&
				  reach[g->edges[i].to][g->edges[i].from];
		UNIT_REQUIRE((levels[CYCLE_PL_1]) == (cyclic(g, GRAPH_MASK_WW | extra)));
		UNIT_REQUIRE((levels[CYCLE_PL_2]) == (cyclic(g, d)));
		UNIT_REQUIRE((levels[CYCLE_PL_2_99]) == (cyclic(g, d | GRAPH_MASK_ITEM_RW)));
		UNIT_REQUIRE((levels[CYCLE_PL_3]) == (cyclic(g, GRAPH_MASK_DATA | extra)));
		UNIT_REQUIRE((levels[CYCLE_PL_SI]) == (si_cyclic(g, extra)));
		if (levels[CYCLE_PL_2PLUS] != LEVEL_UNDECIDED)
			UNIT_REQUIRE((levels[CYCLE_PL_2PLUS]) == (cyclic(g, d) || single));
		else
			UNIT_REQUIRE(!exact && single);
	}
}

/* Where a component has a cycle without predicate rw, one is reported: no phantom hides it. */
static void check_items(const struct naive *g, const bool *items)
{
	bool reach[NODES_MAX][NODES_MAX], expected[NODES_MAX] = {false};

	close_over(g, GRAPH_MASK_DEPENDENCY | GRAPH_MASK_ITEM_RW, reach);
	for (uint32_t v = 0; v < g->nodes; v++) {
		if (reach[v][v])
			expected[component_of(g, CYCLE_PLAIN, v)] = true;
	}
	for (uint32_t c = 0; c < g->nodes; c++)
		UNIT_REQUIRE(items[c] == expected[c]);
}

static void check_seed(uint32_t seed, uint64_t budget, bool exact)
{
	static struct naive g;
	struct graph graph;
	struct cycles cycles;
	struct cycles_options options = {true, true, budget};
	bool seen[CYCLE_ORDER_COUNT][NODES_MAX][CYCLE_CLASS_COUNT] = {{{false}}};
	bool items[NODES_MAX] = {false};

	random_graph(&g, &graph, seed);
	cycles_find(&cycles, &graph, &options);
	for (size_t i = 0; i < cycles.count; i++) {
		const struct cycle *cycle = &cycles.cycles[i];
		uint32_t c = component_of(&g, cycle->order, cycle->steps[0].from);

		check_witness(&g, cycle);
		if (cycle->order == CYCLE_PLAIN)
			items[c] |= cycle_is_of_items(cycle->steps, cycle->length);
		if (cycle->longer) {
			UNIT_REQUIRE(cycle_is_of_items(cycle->steps, cycle->length));
			UNIT_REQUIRE(seen[cycle->order][c][cycle->class]);
			continue;
		}
		UNIT_REQUIRE(!exact || !seen[cycle->order][c][cycle->class]);
		seen[cycle->order][c][cycle->class] = true;
		if (exact && cycle->class <= CYCLE_G_SINGLE)
			UNIT_REQUIRE(
				(cycle->length) == (g.shortest[cycle->order][c][cycle->class]));
	}
	for (int order = 0; exact && order < CYCLE_ORDER_COUNT; order++)
		for (uint32_t c = 0; c < g.nodes; c++)
			for (int class = 0; class < CYCLE_CLASS_COUNT; class ++)
				if (seen[order][c][class] != expected(&g, order, c, class))
					ck_abort_msg("seed %u order %d component %u class %s: found %d",
						seed, order, c,
						cycle_class_name((enum cycle_class) class),
						seen[order][c][class]);
	if (exact)
		check_items(&g, items);
	check_levels(&g, &cycles, exact);
	cycles_release(&cycles);
	graph_release(&graph);
}

START_TEST(cycles_agree_with_enumeration)
{
	for (uint32_t seed = 1; seed <= 30000; seed++)
		check_seed(seed, 0, true);
}
END_TEST

/* Out of budget: fewer witnesses perhaps, never a false one, and the same levels. */
START_TEST(cycles_survive_a_small_budget)
{
	for (uint32_t seed = 1; seed <= 3000; seed++)
		check_seed(seed, 1 + seed % 7, false);
}
END_TEST

UNIT_MAIN("graph", components_agree_with_igraph, cycles_agree_with_enumeration,
	cycles_survive_a_small_budget)
