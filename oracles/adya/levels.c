/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/levels.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mem.h"

enum {
	ATTEMPT_EDGES = 80 * 1000, /* of the graphs of all explanations together, for each that may be tried */
	/* Edges looked at for a cycle of an explanation.  Levels do not depend on it, and a cycle that is not the
	 * shortest serves as well to find choices to give up. */
	WITNESS_BUDGET = 100 * 1000,
};

/* How many explanations may be tried after the first, and how many edges all their graphs may have. */
static uint64_t attempts_max(const struct adya *a)
{
	return a->options->explanations ? a->options->explanations : EXPLANATIONS_DEFAULT;
}

static uint64_t attempt_edges_max(const struct adya *a)
{
	return attempts_max(a) * ATTEMPT_EDGES;
}

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
	mem_free(inside);
	origin = out->origin;
	out->origin = NULL; /* a graph of its own */
	return origin;
}

/* Those of all levels that there are. */
static unsigned all_promised(const struct adya *a)
{
	unsigned levels = 0, promised = 0;

	for (uint32_t v = 0; v < a->dependencies.graph.txn_count; v++)
		levels |= 1u << a->history->txns[a->dependencies.txn_of[v]].level;
	for (uint8_t level = 0; levels >> level; level++)
		promised |= levels >> level & 1 ? promised_levels(a, level) : 0;
	return promised;
}

static void find_explained(const struct adya *a, const struct graph *graph, struct cycles *cycles)
{
	cycles_find(cycles, graph,
		&(struct cycles_options){.session = a->options->session,
			.realtime = a->options->realtime,
			.budget = WITNESS_BUDGET});
}

/* Does what is promised hold with the edges of real time? */
static bool keeps_promises_in_time(const struct adya *a, const struct graph *explained)
{
	unsigned promised = all_promised(a);
	struct cycles cycles;
	bool keeps = true;

	find_explained(a, explained, &cycles);
	for (int level = 0; level < CYCLE_LEVEL_COUNT; level++)
		keeps &= !(promised >> level & 1) || cycles.levels[CYCLE_REALTIME][level] == LEVEL_HOLDS;
	cycles_release(&cycles);
	return keeps;
}

/* The levels that a cycle refutes (bits of enum cycle_level): the weakest, and all above.  One with a single rw edge, or
 * with none next to another, refutes PL-2.99 only if they are item edges. */
static unsigned refuted_levels(const struct cycle *cycle)
{
	static const unsigned all[CYCLE_CLASS_COUNT] = {
		[CYCLE_G0] = 0x3f,
		[CYCLE_G1C] = 0x3f & ~(1u << CYCLE_PL_1),
		[CYCLE_G_SINGLE] = 1u << CYCLE_PL_2PLUS | 1u << CYCLE_PL_SI | 1u << CYCLE_PL_3,
		[CYCLE_G_NONADJACENT] = 1u << CYCLE_PL_SI | 1u << CYCLE_PL_3,
		[CYCLE_G2_ITEM] = 1u << CYCLE_PL_2_99 | 1u << CYCLE_PL_3,
		[CYCLE_G2] = 1u << CYCLE_PL_3,
	};
	bool items = cycle->class <= CYCLE_G_NONADJACENT && cycle_is_of_items(cycle->steps, cycle->length);

	return all[cycle->class] | (unsigned)items << CYCLE_PL_2_99;
}

static bool mark(const struct adya *a, size_t meeting, bool *open)
{
	uint32_t stmt = a->history->ops[a->dependencies.explanation.meetings[meeting].op].stmt;

	if (stmt != HISTORY_NONE)
		open[stmt] = true;
	return stmt != HISTORY_NONE;
}

/* Does a chosen edge lead to a transaction that ended before the one that it comes from? */
static bool leads_back(const struct adya *a, const struct chosen_edge *edge)
{
	const struct history_txn *txns = a->history->txns;

	return txns[a->dependencies.txn_of[edge->to]].end_seq < txns[a->dependencies.txn_of[edge->from]].end_seq;
}

/* Chosen edges that stand in some cycle; `back`: of those that lead back, of which every cycle has one, unless a certain
 * edge is it. */
static bool mark_components(
	const struct adya *a, const struct graph *graph, const uint32_t *component, bool back, bool *open)
{
	const struct explanation *e = &a->dependencies.explanation;
	bool any = false;

	for (uint32_t v = 0; v < graph->node_count; v++) {
		for (uint32_t i = graph->head[v]; component[v] != GRAPH_NONE && i < graph->head[v + 1]; i++) {
			const struct chosen_edge *edge = &e->edges[graph->detail[i] & ~EXPLANATION_CHOSEN];

			if (component[graph->to[i]] == component[v] && graph->detail[i] & EXPLANATION_CHOSEN &&
				(!back || leads_back(a, edge)))
				any |= mark(a, edge->meeting, open);
		}
	}
	return any;
}

/* Chosen edges of forbidden cycles: their statements are open.  Where no such cycle is known, as the search for one
 * was cut short, they are among all in cycles.  `graph` has data edges alone. */
static void mark_cycles(const struct adya *a, const struct graph *graph, const struct cycles *cycles,
	unsigned forbidden, bool *open)
{
	const struct explanation *e = &a->dependencies.explanation;
	bool any = false;

	for (size_t i = 0; i < cycles->count; i++) {
		const struct cycle *cycle = &cycles->cycles[i];

		if (cycle->order != CYCLE_PLAIN || !(forbidden & refuted_levels(cycle)))
			continue;
		for (uint32_t k = 0; k < cycle->length; k++) {
			uint32_t detail = cycle->steps[k].detail;

			if (detail & EXPLANATION_CHOSEN)
				any |= mark(a, e->edges[detail & ~EXPLANATION_CHOSEN].meeting, open);
		}
	}
	if (!any) {
		uint32_t *component = mem_realloc(NULL, graph->node_count, sizeof(*component));

		graph_components(graph, GRAPH_MASK_DATA, component);
		if (!mark_components(a, graph, component, true, open))
			mark_components(a, graph, component, false, open);
		mem_free(component);
	}
}

/* Where what the contract forbids is in the explained graph, and not by certain edges alone, the statements concerned
 * are marked in `open`. */
static void mark_broken(
	const struct adya *a, const struct graph *explained, const struct cycles *certain, bool *open)
{
	const struct history *h = a->history;
	unsigned levels = 0;

	for (uint32_t v = 0; v < explained->txn_count; v++)
		levels |= 1u << h->txns[a->dependencies.txn_of[v]].level;
	for (uint8_t level = 0; levels >> level; level++) {
		unsigned promised = levels >> level & 1 ? promised_levels(a, level) : 0;
		struct cycles with, without;
		struct graph cut, alone;
		unsigned news;

		if (!promised)
			continue;
		mem_free(cut_level(a, explained, level, &cut));
		cycles_find(&with, &cut, &(struct cycles_options){.budget = WITNESS_BUDGET});
		news = failing_levels(&with) & promised;
		/* The transactions of a level have no cycle that all of them together have not. */
		if (news & failing_levels(certain)) {
			mem_free(cut_level(a, &a->dependencies.graph, level, &alone));
			cycles_find(&without, &alone, &(struct cycles_options){.budget = WITNESS_BUDGET});
			graph_release(&alone);
			news &= ~failing_levels(&without);
			cycles_release(&without);
		}
		if (news)
			mark_cycles(a, &cut, &with, news, open);
		graph_release(&cut);
		cycles_release(&with);
	}
}

/* What the explanation leaves open: statements are marked in `open`, and counted. */
static uint64_t judge_contract(
	const struct adya *a, const struct graph *explained, const struct cycles *certain, bool *open)
{
	const struct explanation *e = &a->dependencies.explanation;
	uint64_t count = 0;

	if (!graph_is_acyclic(explained, GRAPH_MASK_DATA))
		mark_broken(a, explained, certain, open);
	for (uint32_t i = 0; i < a->history->stmt_count; i++) {
		open[i] |= e->unsteady && e->unsteady[i] && !a->options->contract->untimed;
		count += open[i];
	}
	return count;
}

/* Pins another choice for a meeting of a statement that is open, the one that was changed least so far.  False: there
 * is none. */
static bool pin_other(const struct adya *a, struct dependencies *d, const bool *open)
{
	const struct explanation *e = &d->explanation;

	for (;;) {
		size_t best = SIZE_MAX;

		for (size_t i = 0; i < e->meeting_count; i++) {
			const struct meeting *m = &e->meetings[i];
			uint32_t stmt = a->history->ops[m->op].stmt;

			if (stmt == HISTORY_NONE || !open[stmt] || m->tried == UINT8_MAX)
				continue;
			if (best == SIZE_MAX || m->tried < e->meetings[best].tried)
				best = i;
		}
		if (best == SIZE_MAX)
			return false;
		if (explanation_pin(d, best))
			return true;
	}
}

/*
 * The first explanation does not keep the contract.  Others are tried: a choice that stands in a forbidden cycle, or
 * that does not fit one state at one moment, is changed and kept; all others follow (positions.h), so that snapshots
 * stay whole.  What is open in the one that leaves least open, stays open.
 */
static void search_contract(struct adya *a, const struct cycles *certain, uint64_t least, struct level_answers *out)
{
	struct dependencies *d = &a->dependencies;
	bool *open = mem_zero(a->history->stmt_count, sizeof(*open));
	/* Positions and choices are made anew as well. */
	uint64_t cost = 2 * (d->graph.edge_count + d->explanation.edge_count + d->explanation.meeting_count), edges = cost;

	explanation_unpin(d);
	memcpy(open, out->open, a->history->stmt_count * sizeof(*open));
	for (uint64_t attempt = 0; attempt < attempts_max(a) && edges <= attempt_edges_max(a) && least && !interrupt_seen() &&
				   pin_other(a, d, open);
		attempt++, edges += cost) {
		struct graph graph;
		uint64_t count;

		explanation_choose_again(d);
		explanation_graph(d, &graph);
		memset(open, 0, a->history->stmt_count * sizeof(*open));
		count = judge_contract(a, &graph, certain, open);
		if (count < least && d->timed && !keeps_promises_in_time(a, &graph))
			count = least;
		graph_release(&graph);
		if (count < least) {
			least = count;
			memcpy(out->open, open, a->history->stmt_count * sizeof(*open));
		}
	}
	if (least && edges > cost) {
		explanation_unpin(d);
		explanation_choose_again(d);
	}
	mem_free(open);
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

	for (uint64_t attempt = 0; attempt <= attempts_max(a) && is_open(out) && !interrupt_seen(); attempt++) {
		struct cycles explained;
		struct graph other;
		bool more;

		if (attempt > 0)
			explanation_graph(&a->dependencies, &other);
		find_explained(a, attempt > 0 ? &other : graph, &explained);
		take_levels(out, &explained);
		edges += attempt > 0 ? other.edge_count : graph->edge_count;
		more = edges < attempt_edges_max(a) && is_open(out) && try_others(a, out, &explained);
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
	uint64_t open;

	*out = (struct level_answers){.open = NULL};
	memcpy(out->levels, certain->levels, sizeof(out->levels));
	if (!e->edge_count && !e->unsteady) {
		out->timed_promises = a->dependencies.timed && keeps_promises_in_time(a, &a->dependencies.graph);
		return;
	}
	hold_nothing(out);
	explanation_graph(&a->dependencies, &graph);
	out->open = mem_zero(a->history->stmt_count, sizeof(*out->open));
	open = judge_contract(a, &graph, certain, out->open);
	out->timed_promises = a->dependencies.timed && keeps_promises_in_time(a, &graph);
	if (can_hold)
		try_explanations(a, &graph, out);
	graph_release(&graph);
	if (open)
		search_contract(a, certain, open, out);
}

bool levels_bear_what_was_left_out(const struct level_answers *answers)
{
	bool bears = answers->timed_promises;

	for (int order = 0; order < CYCLE_ORDER_COUNT; order++)
		for (int level = 0; level < CYCLE_LEVEL_COUNT; level++)
			bears &= answers->levels[order][level] != LEVEL_HOLDS ||
				 answers->levels[CYCLE_REALTIME][level] == LEVEL_HOLDS;
	return bears;
}

void levels_release(struct level_answers *answers)
{
	mem_free(answers->open);
}
