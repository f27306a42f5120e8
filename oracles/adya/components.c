/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/components.h"

#include <stdlib.h>
#include <string.h>

#include "adya/sentences.h"
#include "base/mem.h"

/* A component while it is looked at: its transactions get numbers from 0, and all dependencies between the same two
 * become one arrow. */
struct gathering {
	const struct dependencies *dependencies;
	const uint32_t *component; /* by node of the graph */
	uint32_t *number;          /* by node of the graph: its number in the component */
	uint32_t *members;
	uint32_t member_count;
	/* By number: the last node from which an arrow leads to it, from 1, and which arrow that is. */
	uint32_t *reached_from, *reached_by;
	struct arrow *arrows;
	struct cycle_step *steps; /* a dependency of each arrow */
	size_t arrow_count, arrow_capacity, step_capacity;
};

static bool is_data(enum graph_kind kind)
{
	return GRAPH_MASK_DATA >> kind & 1;
}

static bool is_anti(enum graph_kind kind)
{
	return GRAPH_MASK_RW >> kind & 1;
}

static void add_step(struct gathering *g, const struct cycle_step *step)
{
	uint32_t from = g->number[step->from], to = g->number[step->to];

	/* The dependencies of one transaction come one after the other. */
	if (g->reached_from[to] == from + 1) {
		struct cycle_step *first = &g->steps[g->reached_by[to]];

		if (is_anti(step->kind) && !is_anti(first->kind))
			*first = *step;
		return;
	}
	g->reached_from[to] = from + 1;
	g->reached_by[to] = (uint32_t)g->arrow_count;
	MEM_RESERVE(g->arrows, g->arrow_count + 1, g->arrow_capacity);
	MEM_RESERVE(g->steps, g->arrow_count + 1, g->step_capacity);
	g->arrows[g->arrow_count] = (struct arrow){from, to};
	g->steps[g->arrow_count++] = *step;
}

static void gather(struct gathering *g, uint32_t component)
{
	const struct graph *graph = &g->dependencies->graph;

	g->member_count = 0;
	g->arrow_count = 0;
	for (uint32_t v = 0; v < graph->txn_count; v++) {
		if (g->component[v] == component) {
			g->number[v] = g->member_count;
			g->members[g->member_count++] = v;
		}
	}
	memset(g->reached_from, 0, g->member_count * sizeof(*g->reached_from));
	for (uint32_t m = 0; m < g->member_count; m++) {
		uint32_t v = g->members[m];

		for (uint32_t e = graph->head[v]; e < graph->head[v + 1]; e++) {
			if (is_data((enum graph_kind)graph->kind[e]) && g->component[graph->to[e]] == component)
				add_step(g, &(struct cycle_step){
						    v, graph->to[e], graph->detail[e], (enum graph_kind)graph->kind[e]});
		}
	}
}

static void draw(struct verdict_component *out, struct arena *arena, const struct history *history,
	const struct gathering *g, const bool *removed)
{
	double x[LAYERS_NODES_MAX], y[LAYERS_NODES_MAX];

	if (!layers_place(g->arrows, (uint32_t)g->arrow_count, g->member_count, removed, x, y))
		return;
	out->nodes = arena_alloc(arena, g->member_count * sizeof(*out->nodes));
	for (uint32_t i = 0; i < g->member_count; i++)
		out->nodes[i] = (struct component_node){
			say_txn(arena, history, g->dependencies->txn_of[g->members[i]]), x[i], y[i]};
	out->arrows = arena_alloc(arena, g->arrow_count * sizeof(*out->arrows));
	for (size_t i = 0; i < g->arrow_count; i++)
		out->arrows[i] = (struct component_arrow){
			g->arrows[i].from, g->arrows[i].to, g->steps[i].kind, removed[i]};
}

static void describe(struct verdict_component *out, struct arena *arena, const struct history *history,
	const struct gathering *g)
{
	bool *removed = mem_zero(g->arrow_count + 1, sizeof(*removed));

	out->arrow_count = (uint32_t)g->arrow_count;
	out->quality = feedback_find(g->arrows, (uint32_t)g->arrow_count, g->member_count, removed);
	out->removed = arena_zero(arena, COMPONENT_REMOVED_MAX * sizeof(*out->removed));
	for (size_t i = 0; i < g->arrow_count; i++) {
		if (!removed[i])
			continue;
		if (out->removed_listed < COMPONENT_REMOVED_MAX)
			say_edge(&out->removed[out->removed_listed++], arena, history, g->dependencies, &g->steps[i]);
		out->removed_count++;
	}
	if (out->quality != FEEDBACK_NONE)
		draw(out, arena, history, g, removed);
	mem_free(removed);
}

/* The one with most findings first; of equals the larger one, then the one that is found first. */
struct ranked {
	uint32_t component, findings, nodes;
};

static int by_findings(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->findings != y->findings)
		return x->findings > y->findings ? -1 : 1;
	if (x->nodes != y->nodes)
		return x->nodes > y->nodes ? -1 : 1;
	return x->component < y->component ? -1 : 1;
}

void components_add(struct verdict *verdict, const struct history *history, const struct dependencies *dependencies,
	const struct cycles *cycles)
{
	const struct graph *graph = &dependencies->graph;
	uint32_t *component, *number, count;
	struct gathering g = {.dependencies = dependencies};
	struct ranked *ranked;

	if (!cycles->count)
		return;
	component = mem_zero((size_t)graph->node_count + 1, sizeof(*component));
	count = graph_components(graph, GRAPH_MASK_DATA, component);
	ranked = mem_zero((size_t)count + 1, sizeof(*ranked));
	for (uint32_t c = 0; c < count; c++)
		ranked[c].component = c;
	for (uint32_t v = 0; v < graph->txn_count; v++) {
		if (component[v] != GRAPH_NONE)
			ranked[component[v]].nodes++;
	}
	for (size_t i = 0; i < cycles->count; i++) {
		const struct cycle *cycle = &cycles->cycles[i];

		if (cycle->order == CYCLE_PLAIN)
			ranked[component[cycle->steps[0].from]].findings++;
	}
	qsort(ranked, count, sizeof(*ranked), by_findings);
	number = mem_zero((size_t)graph->node_count + 1, sizeof(*number));
	g.component = component;
	g.number = number;
	g.members = mem_zero((size_t)graph->txn_count + 1, sizeof(*g.members));
	g.reached_from = mem_zero(FEEDBACK_NODES_MAX + 1, sizeof(*g.reached_from));
	g.reached_by = mem_zero(FEEDBACK_NODES_MAX + 1, sizeof(*g.reached_by));
	verdict->components = arena_zero(&verdict->arena, COMPONENTS_LISTED_MAX * sizeof(*verdict->components));
	for (uint32_t c = 0; c < count && verdict->component_count < COMPONENTS_LISTED_MAX; c++) {
		struct verdict_component *out = &verdict->components[verdict->component_count];

		if (ranked[c].nodes < 3 || !ranked[c].findings)
			continue;
		out->finding_count = ranked[c].findings;
		out->transaction_count = ranked[c].nodes;
		out->quality = FEEDBACK_NONE;
		verdict->component_count++;
		if (ranked[c].nodes > FEEDBACK_NODES_MAX)
			continue;
		gather(&g, ranked[c].component);
		describe(out, &verdict->arena, history, &g);
	}
	mem_free(g.arrows);
	mem_free(g.steps);
	mem_free(g.members);
	mem_free(g.reached_from);
	mem_free(g.reached_by);
	mem_free(number);
	mem_free(ranked);
	mem_free(component);
}
