/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/levels.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mem.h"

enum {
	ATTEMPTS_MAX = 64,                    /* explanations tried after the first */
	ATTEMPT_EDGES_MAX = 5 * 1000 * 1000, /* edges of all their graphs together */
	/* Edges looked at for a cycle of an explanation.  Levels do not depend on it, and a cycle that is not the
	 * shortest serves as well to find choices to give up. */
	WITNESS_BUDGET = 100 * 1000,
};

/* ---- the contract ---- */

/* The levels (bits of enum cycle_level) that the contract promises to transactions of a level. */
static unsigned promised_levels(const struct adya *a, uint8_t level)
{
	unsigned promised = 0;

	for (int class = 0; class < CYCLE_CLASS_COUNT; class++) {
		const char *rule;

		if (contract_judge(a->options->contract, level,
			    finding_class_of_cycle((enum cycle_class) class, CYCLE_PLAIN),
			    &rule) == SEVERITY_VIOLATION)
			promised |= 1u << cycle_refutes((enum cycle_class) class);
	}
	return promised;
}

static unsigned failing_levels(const struct cycles *cycles)
{
	unsigned failing = 0;

	for (int level = 0; level < CYCLE_LEVEL_COUNT; level++)
		failing |= (unsigned)(cycles->levels[CYCLE_PLAIN][level] != LEVEL_HOLDS) << level;
	return failing;
}

uint32_t *cut_level(const struct adya *a, const struct graph *graph, uint8_t level, struct graph *out)
{
	uint32_t *inside = mem_realloc(NULL, graph->node_count, sizeof(*inside)), *origin;

	for (uint32_t v = 0; v < graph->node_count; v++) {
		bool is = v < graph->txn_count && a->history->txns[a->dependencies.txn_of[v]].level >= level;

		inside[v] = is ? 0 : GRAPH_NONE;
	}
	graph_cut(out, graph, GRAPH_MASK_DATA, inside);
	free(inside);
	origin = out->origin;
	out->origin = NULL; /* a graph of its own */
	return origin;
}

/* Chosen edges of forbidden cycles: their statements are open. */
static void mark_cycles(const struct adya *a, const struct cycles *cycles, unsigned forbidden, bool *open)
{
	const struct explanation *e = &a->dependencies.explanation;

	for (size_t i = 0; i < cycles->count; i++) {
		const struct cycle *cycle = &cycles->cycles[i];

		if (cycle->order != CYCLE_PLAIN || !(forbidden >> cycle_refutes(cycle->class) & 1))
			continue;
		for (uint32_t k = 0; k < cycle->length; k++) {
			uint32_t detail = cycle->steps[k].detail, stmt;

			if (!(detail & EXPLANATION_CHOSEN))
				continue;
			stmt = a->history->ops[e->meetings[e->edges[detail & ~EXPLANATION_CHOSEN].meeting].op].stmt;
			if (stmt != HISTORY_NONE)
				open[stmt] = true;
		}
	}
}

/* Is what the contract forbids in the explained graph, and not by certain edges alone?  Then the statements
 * concerned are marked in `open`. */
static bool breaks_contract(
	const struct adya *a, const struct graph *explained, const struct cycles *certain, bool *open)
{
	const struct history *h = a->history;
	unsigned levels = 0;
	bool broken = false;

	for (uint32_t v = 0; v < explained->txn_count; v++)
		levels |= 1u << h->txns[a->dependencies.txn_of[v]].level;
	for (uint8_t level = 0; levels >> level; level++) {
		unsigned promised = levels >> level & 1 ? promised_levels(a, level) : 0;
		struct cycles with, without;
		struct graph cut;
		unsigned news;

		if (!promised)
			continue;
		free(cut_level(a, explained, level, &cut));
		cycles_find(&with, &cut, &(struct cycles_options){.budget = WITNESS_BUDGET});
		graph_release(&cut);
		news = failing_levels(&with) & promised;
		/* The transactions of a level have no cycle that all of them together have not. */
		if (news & failing_levels(certain)) {
			free(cut_level(a, &a->dependencies.graph, level, &cut));
			cycles_find(&without, &cut, &(struct cycles_options){.budget = WITNESS_BUDGET});
			graph_release(&cut);
			news &= ~failing_levels(&without);
			cycles_release(&without);
		}
		if (news) {
			broken = true;
			mark_cycles(a, &with, news, open);
		}
		cycles_release(&with);
	}
	return broken;
}

/* ---- levels ---- */

static bool is_open(const struct level_answers *out)
{
	for (int order = 0; order < CYCLE_ORDER_COUNT; order++)
		for (int level = 0; level < CYCLE_LEVEL_COUNT; level++)
			if (out->levels[order][level] == LEVEL_UNDECIDED)
				return true;
	return false;
}

/* What this explanation satisfies, holds. */
static void take_levels(struct level_answers *out, const struct cycles *explained)
{
	for (int order = 0; order < CYCLE_ORDER_COUNT; order++) {
		for (int level = 0; level < CYCLE_LEVEL_COUNT; level++) {
			if (out->levels[order][level] == LEVEL_UNDECIDED &&
				explained->levels[order][level] == LEVEL_HOLDS)
				out->levels[order][level] = LEVEL_HOLDS;
		}
	}
}

/* Gives up choices of cycles that stand against a level which is open.  False: there are no others. */
static bool try_others(struct adya *a, const struct level_answers *out, const struct cycles *explained)
{
	bool changed = false;

	for (size_t i = 0; i < explained->count; i++) {
		const struct cycle *cycle = &explained->cycles[i];
		bool given_up = false;

		if (out->levels[cycle->order][cycle_refutes(cycle->class)] != LEVEL_UNDECIDED &&
			out->levels[cycle->order][CYCLE_PL_3] != LEVEL_UNDECIDED)
			continue;
		for (uint32_t k = 0; k < cycle->length && !given_up; k++) {
			uint32_t detail = cycle->steps[k].detail;

			given_up = detail & EXPLANATION_CHOSEN && cycle->steps[k].kind < GRAPH_SESSION &&
				   explanation_give_up(&a->dependencies, detail & ~EXPLANATION_CHOSEN);
		}
		changed |= given_up;
	}
	if (changed)
		explanation_redraw(&a->dependencies);
	return changed;
}

static void find_explained(const struct adya *a, const struct graph *graph, struct cycles *cycles)
{
	cycles_find(cycles, graph,
		&(struct cycles_options){.session = a->options->session,
			.realtime = a->options->realtime,
			.budget = WITNESS_BUDGET});
}

/* The first explanation is the one that the contract is judged by: it alone keeps snapshots whole. */
static void judge_contract(
	struct adya *a, const struct graph *explained, const struct cycles *certain, struct level_answers *out)
{
	struct explanation *e = &a->dependencies.explanation;
	bool *open = mem_zero(a->history->stmt_count, sizeof(*open));
	bool any = false;

	if (!graph_is_acyclic(explained, GRAPH_MASK_DATA))
		any = breaks_contract(a, explained, certain, open);
	for (uint32_t i = 0; e->unsteady && i < a->history->stmt_count; i++) {
		any |= e->unsteady[i];
		open[i] |= e->unsteady[i];
	}
	if (any)
		out->open = open;
	else
		free(open);
}

static void hold_nothing(struct level_answers *out)
{
	for (int order = 0; order < CYCLE_ORDER_COUNT; order++)
		for (int level = 0; level < CYCLE_LEVEL_COUNT; level++)
			if (out->levels[order][level] == LEVEL_HOLDS)
				out->levels[order][level] = LEVEL_UNDECIDED;
}

/* Tries explanations until none of the levels is open.  `graph` is the first one's. */
static void try_explanations(struct adya *a, const struct graph *graph, struct level_answers *out)
{
	uint64_t edges = 0;

	for (int attempt = 0; attempt <= ATTEMPTS_MAX && is_open(out) && !interrupt_seen(); attempt++) {
		struct cycles explained;
		struct graph other;
		bool more;

		if (attempt > 0)
			explanation_graph(&a->dependencies, &other);
		find_explained(a, attempt > 0 ? &other : graph, &explained);
		take_levels(out, &explained);
		edges += attempt > 0 ? other.edge_count : graph->edge_count;
		more = edges < ATTEMPT_EDGES_MAX && is_open(out) && try_others(a, out, &explained);
		if (attempt > 0)
			graph_release(&other);
		cycles_release(&explained);
		if (!more)
			break;
	}
}

void levels_decide(struct adya *a, const struct cycles *certain, bool can_hold, struct level_answers *out)
{
	const struct explanation *e = &a->dependencies.explanation;
	struct graph graph;

	*out = (struct level_answers){.open = NULL};
	memcpy(out->levels, certain->levels, sizeof(out->levels));
	if (!e->edge_count && !e->unsteady)
		return;
	hold_nothing(out);
	explanation_graph(&a->dependencies, &graph);
	judge_contract(a, &graph, certain, out);
	if (can_hold)
		try_explanations(a, &graph, out);
	graph_release(&graph);
}

void levels_release(struct level_answers *answers)
{
	free(answers->open);
}
