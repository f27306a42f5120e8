/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mem.h"
#include "common/graph/cycles.h"
#include "values/edges.h"
#include "values/facts.h"
#include "values/guarantees.h"
#include "values/levels.h"
#include "values/model.h"
#include "values/report.h"
#include "values/saturate.h"
#include "values/schedule.h"
#include "values/stamps.h"
#include "values/weak.h"

enum {
	EXAMPLES_DEFAULT = 5,
	CHOICES_A_STEP = 250, /* by default some fifteen seconds */
	QUESTION_SCALE_MAX = 8, /* an edge takes some 60 bytes */
	SATURATION_SHARE = 2, /* of the solver's steps, for each of the four levels of saturation */
};
/* Literals and edges the solver looks at, all levels together: some five seconds, and more for a
 * long history. */
#define SOLVER_STEPS_DEFAULT ((uint64_t)30 * 1000 * 1000)
#define SOLVER_STEPS_A_TXN   ((uint64_t)2000)
/* For cursor stability, which needs many steps and decides quickly; those beyond its share are not
 * taken from other questions. */
#define CURSOR_STEPS ((uint64_t)30 * 1000 * 1000)
/* What saturation may take for each level: memory, more for a long history, and words of its table,
 * some ten seconds. */
#define TABLE_BYTES       ((uint64_t)1 << 28)
#define TABLE_BYTES_A_TXN ((uint64_t)4096)
#define FORCING_WORDS     ((uint64_t)10 * 1000 * 1000 * 1000)

struct judge {
	const struct values *v;
	const struct values_options *options;
	struct verdict *out;
	struct facts facts;
	struct cycles cycles;
	const char *level; /* the one asked for; NULL: all */
	bool first;        /* one violation of what was asked is enough */
	bool adya,
		any_adya; /* Adya's levels are looked at; all of them, one of them is asked for */
	enum weak_level weak; /* strongest of Biswas and Enea's polynomial levels to look at */
	bool session, realtime;
	bool session_helps; /* there are sessions; the level asked for is one without them */
	uint64_t choices;      /* of saturate, beyond what every level may use */
	uint64_t scale;        /* of other bounds, where --budget is larger than by default */
	uint64_t steps;        /* of the solver, left for all questions to come */
	uint64_t out_of_steps; /* levels that it did not finish */
	uint64_t too_large;    /* levels that it was not asked for */
	uint64_t not_saturated; /* levels whose table would have been too large */
	/* What of the versions is not known, of which Adya's levels are undecided. */
	uint64_t open_chains, open_tails, unordered, skipped;
	enum level_answer levels[CYCLE_ORDER_COUNT][CYCLE_LEVEL_COUNT];
	bool guessed;       /* open orders were tried as the input has them */
	struct edges guess; /* ... in a graph of its own */
	enum level_answer cursor, monotonic, forward; /* PL-CS, PL-2L, PL-FCV */
};

/* ---------------------------------------------------------------------------- levels */

static bool has_anomaly(const struct judge *j, enum anomaly_class class)
{
	return j->facts.anomalies[class].count > 0;
}

static bool asked(const struct judge *j, enum cycle_order order)
{
	return order == CYCLE_PLAIN || (order == CYCLE_SESSION ? j->session : j->realtime);
}

/* Is it looked at, be it for the sake of a level without it?  What holds with the order of sessions
 * holds without. */
static bool helps(const struct judge *j, enum cycle_order order)
{
	return asked(j, order) || (order == CYCLE_SESSION && j->session_helps);
}

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static bool is_guarantee(const char *level)
{
	return values_level_implies("be-CC", level) && !begins(level, "be-");
}

/* The one level asked for, if it is this one.  SI and SER of Biswas and Enea's are the strong
 * session levels. */
static bool is_wanted(const struct judge *j, const char *name)
{
	const char *level = j->level;

	if (level && strcmp(level, "be-SI") == 0)
		level = adya_level_names[CYCLE_SESSION][CYCLE_PL_SI];
	else if (level && strcmp(level, "be-SER") == 0)
		level = adya_level_names[CYCLE_SESSION][CYCLE_PL_3];
	return !level || strcmp(level, name) == 0;
}

static unsigned order_mask(enum cycle_order order)
{
	return order == CYCLE_PLAIN     ? 0
	       : order == CYCLE_SESSION ? GRAPH_MASK_SESSION
					: GRAPH_MASK_SESSION | GRAPH_MASK_REALTIME;
}

/* PL-1 and PL-2 without the edges that only hold from PL-2+ on. */
static void decide_hard(struct judge *j, const struct graph *graph)
{
	struct graph hard = *graph;
	uint32_t *component = mem_realloc(NULL, graph->node_count, sizeof(*component));
	static const unsigned masks[] = {GRAPH_MASK_WW, GRAPH_MASK_DEPENDENCY};

	/* A soft edge becomes an rw edge, which neither mask has. */
	hard.kind = mem_dup(graph->kind, graph->edge_count);
	for (uint32_t e = 0; e < graph->edge_count; e++) {
		if (graph->kind[e] == GRAPH_WW && (graph->detail[e] & EDGE_SOFT))
			hard.kind[e] = GRAPH_RW;
	}
	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int l = CYCLE_PL_1; l <= CYCLE_PL_2; l++) {
			unsigned mask = masks[l] | order_mask((enum cycle_order)o);

			if (asked(j, (enum cycle_order)o))
				j->levels[o][l] = graph_components(&hard, mask, component)
							  ? LEVEL_FAILS
							  : LEVEL_HOLDS;
		}
	}
	mem_free(hard.kind);
	mem_free(component);
}

static void fail_from(struct judge *j, const enum cycle_level *levels, size_t count)
{
	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (size_t i = 0; i < count; i++)
			j->levels[o][levels[i]] = LEVEL_FAILS;
	}
}

/* What is refuted without a cycle (docs/oracles/values.md, "Levels"). */
static void apply_anomalies(struct judge *j)
{
	static const enum cycle_level all[] = {CYCLE_PL_1}, from_2[] = {CYCLE_PL_2},
				      from_2plus[] = {CYCLE_PL_2PLUS, CYCLE_PL_2_99},
				      si_and_3[] = {CYCLE_PL_SI, CYCLE_PL_3};
	const struct anomalies *a = j->facts.anomalies;

	if (a[ANOMALY_DUPLICATE].count)
		fail_from(j, all, ARRAY_LEN(all));
	if (a[ANOMALY_G1A].count || a[ANOMALY_G1B].count || a[ANOMALY_GARBAGE].count ||
		a[ANOMALY_FUTURE].count || a[ANOMALY_INCOMPATIBLE].count ||
		a[ANOMALY_DIRTY_UPDATE].count)
		fail_from(j, from_2, ARRAY_LEN(from_2));
	if (a[ANOMALY_LOST_UPDATE].count)
		fail_from(j, from_2plus, ARRAY_LEN(from_2plus));
	if (a[ANOMALY_INTERNAL].count)
		fail_from(j, si_and_3, ARRAY_LEN(si_and_3));
}

/* Without predicates and without unstable reads, PL-2.99 and PL-3 forbid the same. */
static bool item_is_all(const struct judge *j)
{
	return !j->v->predicate_count && !has_anomaly(j, ANOMALY_INTERNAL) &&
	       !j->facts.ambiguous_list;
}

/* A level fails when a weaker one does, or the same without its session or real-time order. */
static void spread(struct judge *j)
{
	static const struct {
		enum cycle_level weaker, stronger;
	} pairs[] = {{CYCLE_PL_1, CYCLE_PL_2}, {CYCLE_PL_2, CYCLE_PL_2PLUS},
		{CYCLE_PL_2, CYCLE_PL_2_99}, {CYCLE_PL_2PLUS, CYCLE_PL_SI},
		{CYCLE_PL_2_99, CYCLE_PL_3}, {CYCLE_PL_SI, CYCLE_PL_3}};

	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int l = 0; o && l < CYCLE_LEVEL_COUNT; l++) {
			if (j->levels[o - 1][l] == LEVEL_FAILS)
				j->levels[o][l] = LEVEL_FAILS;
		}
		for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
			if (j->levels[o][pairs[i].weaker] == LEVEL_FAILS)
				j->levels[o][pairs[i].stronger] = LEVEL_FAILS;
		}
	}
	for (int o = 0; item_is_all(j) && o < CYCLE_ORDER_COUNT; o++) {
		enum level_answer *item = &j->levels[o][CYCLE_PL_2_99],
				  *all = &j->levels[o][CYCLE_PL_3];

		if (*item == LEVEL_UNDECIDED)
			*item = *all;
		else if (*all == LEVEL_UNDECIDED)
			*all = *item;
	}
	/* And the other way: what holds, holds without the order, and so do weaker levels. */
	for (int o = CYCLE_ORDER_COUNT - 1; o >= 0; o--) {
		for (int l = 0; o + 1 < CYCLE_ORDER_COUNT && l < CYCLE_LEVEL_COUNT; l++) {
			if (asked(j, (enum cycle_order)(o + 1)) &&
				j->levels[o + 1][l] == LEVEL_HOLDS &&
				j->levels[o][l] == LEVEL_UNDECIDED)
				j->levels[o][l] = LEVEL_HOLDS;
		}
		for (size_t i = ARRAY_LEN(pairs); i-- > 0;) {
			if (j->levels[o][pairs[i].stronger] == LEVEL_HOLDS &&
				j->levels[o][pairs[i].weaker] == LEVEL_UNDECIDED)
				j->levels[o][pairs[i].weaker] = LEVEL_HOLDS;
		}
	}
}

/* What "no cycle found" does not prove while some orders are not known. */
static void doubt(struct judge *j, const struct edges *edges)
{
	bool ambiguous = j->facts.reads_ambiguous > 0 || edges->unordered > 0 || edges->skipped > 0;
	bool predicates = j->v->predicate_count > 0; /* what they did not return is not in it */
	bool shaken[CYCLE_LEVEL_COUNT] = {
		[CYCLE_PL_1] = edges->unordered > 0,
		[CYCLE_PL_2] = ambiguous,
		[CYCLE_PL_2PLUS] = ambiguous || edges->open_chains || edges->open_tails,
		[CYCLE_PL_2_99] = ambiguous || edges->open_chains,
		[CYCLE_PL_SI] = predicates || ambiguous || edges->open_chains || edges->open_tails,
		[CYCLE_PL_3] = predicates || ambiguous || edges->open_chains,
	};

	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int l = 0; l < CYCLE_LEVEL_COUNT; l++) {
			if (shaken[l] && j->levels[o][l] == LEVEL_HOLDS)
				j->levels[o][l] = LEVEL_UNDECIDED;
		}
	}
}

static bool undecided_at(const struct judge *j, int order)
{
	bool any = false;

	for (int l = 0; asked(j, (enum cycle_order)order) && l < CYCLE_LEVEL_COUNT; l++)
		any |= j->levels[order][l] == LEVEL_UNDECIDED &&
		       (j->any_adya || is_wanted(j, adya_level_names[order][l]));
	return any;
}

static bool any_undecided(const struct judge *j)
{
	return undecided_at(j, CYCLE_PLAIN) || undecided_at(j, CYCLE_SESSION) ||
	       undecided_at(j, CYCLE_REALTIME);
}

/* Where the first violation is enough: has a level failed that was asked for? */
static bool is_refuted(const struct judge *j)
{
	bool any = false;

	for (int o = 0; j->first && o < CYCLE_ORDER_COUNT; o++) {
		for (int l = 0; asked(j, (enum cycle_order)o) && l < CYCLE_LEVEL_COUNT; l++)
			any |= j->levels[o][l] == LEVEL_FAILS &&
			       is_wanted(j, adya_level_names[o][l]);
	}
	return any;
}

/* Cursor stability and monotonic view follow from PL-2+ (decide_between). */
static bool is_between(const struct judge *j)
{
	return j->level && (strcmp(j->level, "PL-CS") == 0 || strcmp(j->level, "PL-2L") == 0);
}

/* Is there more to do? */
static bool goes_on(const struct judge *j)
{
	return any_undecided(j) && !is_refuted(j) && !interrupt_seen() &&
	       !(is_between(j) && j->levels[CYCLE_PLAIN][CYCLE_PL_2PLUS] == LEVEL_HOLDS);
}

/* Marks a level, and what it implies, as holding up to an order. */
static void mark_holds(struct judge *j, int order, enum cycle_level level)
{
	for (int o = 0; o <= order; o++) {
		if (asked(j, (enum cycle_order)o) && j->levels[o][level] == LEVEL_UNDECIDED)
			j->levels[o][level] = LEVEL_HOLDS;
	}
	spread(j);
}

/* Orders of unread appends that the data leaves open are tried in the order of a topological sort:
 * if a level holds with them, it holds.  That it does not proves nothing. */
/* What holds when open orders are as an attempt had them, holds. */
static void take_levels(
	struct judge *j, enum level_answer levels[CYCLE_ORDER_COUNT][CYCLE_LEVEL_COUNT])
{
	for (int l = CYCLE_PL_2PLUS; l < CYCLE_LEVEL_COUNT; l++) {
		for (int p = 0; p < CYCLE_ORDER_COUNT; p++) {
			if (asked(j, (enum cycle_order)p) && levels[p][l] == LEVEL_HOLDS)
				mark_holds(j, p, (enum cycle_level)l);
		}
	}
}

static void try_guess(struct judge *j, const struct edges *edges)
{
	struct cycles_options search = {
		.session = j->session, .realtime = j->realtime, .budget = 1};
	struct graph graph = j->guess.graph.head ? j->guess.graph : edges->graph;
	struct cycles found;

	graph.kind = mem_dup(graph.kind, graph.edge_count);
	for (uint32_t e = 0; e < graph.edge_count; e++) {
		if (graph.kind[e] == EDGE_GUESS)
			graph.kind[e] = GRAPH_WW;
	}
	cycles_find(&found, &graph, &search);
	take_levels(j, found.levels);
	cycles_release(&found);
	mem_free(graph.kind);
}

static void try_orders(struct judge *j)
{
	struct edges_options all = {.session = j->session, .realtime = j->realtime};
	struct edges edges;
	uint32_t *rank;

	edges_build(&edges, &j->facts, &all);
	rank = mem_realloc(NULL, edges.graph.node_count, sizeof(*rank));
	for (int o = CYCLE_ORDER_COUNT - 1; o >= 0; o--) {
		struct edges_options options = {
			.session = j->session, .realtime = j->realtime, .rank = rank};
		struct cycles_options search = {
			.session = j->session, .realtime = j->realtime, .budget = 1};
		struct edges tried;
		struct cycles found;

		if (!undecided_at(j, o))
			continue;
		graph_ranks(&edges.graph, GRAPH_MASK_DATA | order_mask((enum cycle_order)o), rank);
		edges_build(&tried, &j->facts, &options);
		cycles_find(&found, &tried.graph, &search);
		take_levels(j, found.levels);
		cycles_release(&found);
		edges_release(&tried);
	}
	mem_free(rank);
	edges_release(&edges);
}

/* An execution was found that explains all reads: the level holds, and what is still asked may be
 * looked for nearby.  Takes `commits`, the places of its commits. */
static void take_execution(struct judge *j, int order, enum cycle_level level, uint32_t *commits)
{
	mark_holds(j, order, level);
	if (j->facts.guide)
		mem_free(commits);
	else
		j->facts.guide = commits;
}

/* Registers whose order is open: an execution that explains all reads proves the level. */
static void try_schedules(struct judge *j)
{
	const struct facts *f = &j->facts;

	if (f->has_lists || f->own_missed || f->anomalies[ANOMALY_INTERNAL].count)
		return;
	for (int o = CYCLE_ORDER_COUNT - 1; o >= 0; o--) {
		uint32_t *commits;

		if (!helps(j, (enum cycle_order)o) || !goes_on(j))
			continue;
		commits = mem_zero(f->v->txn_count, sizeof(*commits));
		if (j->levels[o][CYCLE_PL_3] == LEVEL_UNDECIDED &&
			schedule_found(f, (enum cycle_order)o, false, commits))
			take_execution(j, o, CYCLE_PL_3, commits);
		else if (j->levels[o][CYCLE_PL_SI] == LEVEL_UNDECIDED &&
			 schedule_found(f, (enum cycle_order)o, true, commits))
			take_execution(j, o, CYCLE_PL_SI, commits);
		else
			mem_free(commits);
	}
}

/* The levels of saturation.  PL-3 first, which has half as many events as PL-SI and implies the
 * others. */
static const struct {
	enum saturation_level saturation;
	enum cycle_level level;
	enum finding_class class;
} saturations[] = {{SATURATE_PL_3, CYCLE_PL_3, CLASS_NOT_SERIALIZABLE},
	{SATURATE_PL_SI, CYCLE_PL_SI, CLASS_NOT_SI},
	{SATURATE_PL_2PLUS, CYCLE_PL_2PLUS, CLASS_NOT_PL_2PLUS}};

/* Can saturation say something? */
static bool may_saturate(const struct judge *j)
{
	const struct facts *f = &j->facts;

	return !f->has_lists && !f->own_missed && !f->anomalies[ANOMALY_INTERNAL].count &&
	       !f->v->predicate_count && !interrupt_seen();
}

/* What reads force, to a fixpoint: refutes, or leads to an execution, the places of whose commits are
 * in `commits`.  `name`: of the level, for a finding; NULL: none. */
static enum level_answer ask_saturation(struct judge *j, enum saturation_level level,
	enum cycle_order order, enum finding_class class, const char *name, uint32_t *commits)
{
	struct saturation_result r = {.more = &j->choices,
		.steps = j->steps / SATURATION_SHARE,
		.bytes = (TABLE_BYTES + TABLE_BYTES_A_TXN * j->v->txn_count) * j->scale,
		.forcing = FORCING_WORDS * j->scale,
		.commits = commits};
	enum level_answer answer = saturate(&j->facts, order, level, &r);

	if (answer == LEVEL_FAILS && name && r.cycle.length)
		report_cycle(&j->facts, &r.cycle, class, name, true, j->out);
	else if (answer == LEVEL_FAILS && name)
		report_core(&j->facts, &r.core, class, name, j->out);
	j->not_saturated += r.too_large;
	mem_free(r.cycle.steps);
	mem_free(r.core.txns);
	return answer;
}

static void saturate_level(struct judge *j, int order, size_t which)
{
	enum cycle_level level = saturations[which].level;
	const char *name = adya_level_names[order][level];
	uint32_t *commits = mem_zero(j->v->txn_count, sizeof(*commits));
	enum level_answer answer = ask_saturation(j, saturations[which].saturation,
		(enum cycle_order)order, saturations[which].class,
		is_wanted(j, name) ? name : NULL, commits);

	if (answer == LEVEL_HOLDS && level != CYCLE_PL_2PLUS) {
		take_execution(j, order, level, commits);
	} else {
		mem_free(commits);
		if (answer == LEVEL_HOLDS)
			mark_holds(j, order, level);
	}
	if (answer == LEVEL_FAILS) {
		j->levels[order][level] = LEVEL_FAILS;
		spread(j);
	}
}

/* For a level asked for without the order of sessions: with it there are far fewer executions to
 * look through.  The level with it proves the one without, and snapshots are a guide for PL-3. */
static void saturate_sessions(struct judge *j)
{
	bool serial = is_wanted(j, adya_level_names[CYCLE_PLAIN][CYCLE_PL_3]) ||
		      is_wanted(j, adya_level_names[CYCLE_PLAIN][CYCLE_PL_2_99]);

	for (size_t i = 0; i < ARRAY_LEN(saturations); i++) {
		enum cycle_level level = saturations[i].level;

		if (j->levels[CYCLE_SESSION][level] == LEVEL_UNDECIDED && goes_on(j) &&
			(is_between(j) || is_wanted(j, adya_level_names[CYCLE_PLAIN][level]) ||
				(serial && level == CYCLE_PL_SI && !j->facts.guide)))
			saturate_level(j, CYCLE_SESSION, i);
	}
}

/* The level asked for at first, then those that imply it. */
static void try_saturation(struct judge *j)
{
	if (!may_saturate(j))
		return;
	if (j->session_helps)
		saturate_sessions(j);
	for (int others = 0; others < 2; others++) {
		for (int o = CYCLE_SESSION; o >= CYCLE_PLAIN; o--) {
			for (size_t i = 0; i < ARRAY_LEN(saturations); i++) {
				enum cycle_level level = saturations[i].level;

				if (asked(j, (enum cycle_order)o) &&
					is_wanted(j, adya_level_names[o][level]) != others &&
					j->levels[o][level] == LEVEL_UNDECIDED && goes_on(j))
					saturate_level(j, o, i);
			}
		}
	}
}

/* Questions that come after those of try_solver, at most, with equal shares of what is left then:
 * three of decide_between, four of biswas_enea, five of guarantees, in this order. */
enum { QUESTIONS_GUARANTEES = 5, QUESTIONS_WEAK = 9, QUESTIONS_AFTER = 12 };

/* Of so many questions to come, unless one level is asked for. */
static uint64_t share(const struct judge *j, uint64_t questions)
{
	return j->level ? j->steps : j->steps / questions;
}

/* `steps`: for this question; what it leaves is left for the others. */
static enum level_answer ask_solver(struct judge *j, enum model_level model, enum cycle_order order,
	enum finding_class class, const char *level, uint64_t steps)
{
	struct model_core core;
	uint64_t left = steps;
	enum level_answer answer = model_decide(&j->facts, model, order, NULL, &left, &core);

	if (answer == LEVEL_FAILS)
		report_core(&j->facts, &core, class, level, j->out);
	j->steps -= steps - left;
	j->out_of_steps += answer == LEVEL_UNDECIDED && left == 0;
	j->too_large += answer == LEVEL_UNDECIDED && left > 0;
	mem_free(core.txns);
	return answer;
}

/* The questions of try_solver: these levels, for every order. */
static const struct {
	enum cycle_level level;
	enum model_level model;
	enum finding_class class;
} asks[] = {{CYCLE_PL_1, MODEL_PL_1, CLASS_NOT_PL_1}, {CYCLE_PL_2, MODEL_PL_2, CLASS_NOT_PL_2},
	{CYCLE_PL_SI, MODEL_PL_SI, CLASS_NOT_SI}, {CYCLE_PL_3, MODEL_PL_3, CLASS_NOT_SERIALIZABLE},
	{CYCLE_PL_2PLUS, MODEL_PL_2PLUS, CLASS_NOT_PL_2PLUS},
	{CYCLE_PL_2_99, MODEL_PL_2_99, CLASS_NOT_PL_2_99}};
enum { ASK_COUNT = CYCLE_ORDER_COUNT * (int)ARRAY_LEN(asks) };

/* Strong session PL-2+ proves the guarantees of sessions, also where they cannot be asked for. */
static bool may_ask(const struct judge *j, enum cycle_order order, enum cycle_level level)
{
	return is_wanted(j, adya_level_names[order][level]) ||
	       (is_guarantee(j->level) && order == CYCLE_SESSION && level == CYCLE_PL_2PLUS);
}

/* Is question n open?  Once more: only if it ran out of the steps given to it. */
static bool is_open(const struct judge *j, size_t n, const uint64_t *given, bool again)
{
	enum cycle_order order = (enum cycle_order)(n / ARRAY_LEN(asks));

	/* Where PL-3 is the same question, it has been asked. */
	if (!j->level && asks[n % ARRAY_LEN(asks)].level == CYCLE_PL_2_99 && item_is_all(j))
		return false;
	return asked(j, order) && (!again || given[n]) &&
	       may_ask(j, order, asks[n % ARRAY_LEN(asks)].level) &&
	       j->levels[order][asks[n % ARRAY_LEN(asks)].level] == LEVEL_UNDECIDED;
}

/* What is still open, exactly.  Every level gets an equal share of the steps, so that one hard
 * level leaves the others theirs, and what a level does not need goes to those after it.  Those
 * that ran out are asked once more if the rest makes a difference.  A quarter stays for other
 * questions. */
static void try_solver(struct judge *j)
{
	uint64_t given[ASK_COUNT] = {0}, reserve = j->level ? 0 : j->steps / 4;

	for (size_t at = 0; at < 2 * ASK_COUNT; at++) {
		size_t n = at % ASK_COUNT, o = n / ARRAY_LEN(asks), i = n % ARRAY_LEN(asks);
		bool again = at >= ASK_COUNT;
		uint64_t open = 0, steps, ran_out;

		if (!is_open(j, n, given, again))
			continue;
		for (size_t k = n; k < ASK_COUNT; k++)
			open += is_open(j, k, given, again);
		steps = (j->steps - reserve) / open;
		if (again && steps < 2 * given[n])
			continue;
		j->out_of_steps -= again;
		ran_out = j->out_of_steps;
		j->levels[o][asks[i].level] = ask_solver(j, asks[i].model, (enum cycle_order)o,
			asks[i].class, adya_level_names[o][asks[i].level], steps);
		given[n] = j->out_of_steps > ran_out ? steps : 0;
		spread(j);
	}
}

static void decide(struct judge *j, const struct edges *edges)
{
	memcpy(j->levels, j->cycles.levels, sizeof(j->levels));
	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int l = 0; !asked(j, (enum cycle_order)o) && l < CYCLE_LEVEL_COUNT; l++)
			j->levels[o][l] = LEVEL_UNDECIDED;
	}
	if (edges->soft)
		decide_hard(j, &edges->graph);
	apply_anomalies(j);
	spread(j);
	doubt(j, edges);
	spread(j);
	if (goes_on(j) && j->guessed && !j->v->predicate_count)
		try_guess(j, edges);
	edges_release(&j->guess);
	if (goes_on(j) && !j->v->predicate_count)
		try_schedules(j);
	if (goes_on(j))
		try_saturation(j);
	if (goes_on(j) && !j->v->predicate_count && !j->facts.reads_ambiguous &&
		!edges->unordered && !edges->skipped)
		try_orders(j);
	if (goes_on(j))
		try_solver(j);
}

/* --------------------------------------------------------------------------- findings */

/* A cycle that is G0 or G1c only by an order that holds from PL-2+ on is a G-single in every order
 * there is. */
static enum cycle_class class_of(const struct cycle *cycle)
{
	if (cycle->class > CYCLE_G1C)
		return cycle->class;
	for (uint32_t i = 0; i < cycle->length; i++) {
		if (cycle->steps[i].kind == GRAPH_WW && (cycle->steps[i].detail & EDGE_SOFT))
			return CYCLE_G_SINGLE;
	}
	return cycle->class;
}

static void report_cycles(struct judge *j, uint32_t examples)
{
	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int c = 0; c < CYCLE_CLASS_COUNT; c++) {
			size_t first = SIZE_MAX;
			uint64_t listed = 0;

			for (size_t i = 0; i < j->cycles.count; i++) {
				const struct cycle *cycle = &j->cycles.cycles[i];

				if ((int)cycle->order != o || (int)class_of(cycle) != c)
					continue;
				if (listed++ >= examples) {
					j->out->findings[first].similar++;
					continue;
				}
				report_cycle(&j->facts, cycle, finding_class_of_cycle((enum cycle_class)c, (enum cycle_order)o),
					adya_level_names[o][cycle_refutes((enum cycle_class)c)], false,
					j->out);
				if (first == SIZE_MAX)
					first = j->out->finding_count - 1;
			}
		}
	}
}

/* ------------------------------------------------------- between PL-2 and the strong ones */

static enum level_answer ask_cursor(struct judge *j)
{
	uint64_t part = share(j, QUESTIONS_AFTER), left = j->steps - part;
	enum level_answer answer;

	if (part < CURSOR_STEPS && !j->options->budget) {
		j->steps = CURSOR_STEPS;
		answer = ask_solver(
			j, MODEL_PL_CS, CYCLE_PLAIN, CLASS_G_CURSOR, "PL-CS", CURSOR_STEPS);
		/* What is left of its share is left for others. */
		j->steps = left + (CURSOR_STEPS - j->steps < part ? part - (CURSOR_STEPS - j->steps) : 0);
		return answer;
	}
	return ask_solver(j, MODEL_PL_CS, CYCLE_PLAIN, CLASS_G_CURSOR, "PL-CS", part);
}

/* For PL-2L as for cursor stability: where it is open, a little more is mostly enough. */
static enum level_answer ask_monotonic(struct judge *j)
{
	enum level_answer answer = LEVEL_UNDECIDED;

	if (may_saturate(j))
		answer = ask_saturation(
			j, SATURATE_PL_2L, CYCLE_PLAIN, CLASS_G_MONOTONIC, "PL-2L", NULL);
	if (answer != LEVEL_UNDECIDED)
		return answer;
	return ask_solver(j, MODEL_PL_2L, CYCLE_PLAIN, CLASS_G_MONOTONIC, "PL-2L",
		share(j, QUESTIONS_AFTER - 1));
}

/* Cursor stability, monotonic view, and with real time forward consistent view. */
static void decide_between(struct judge *j)
{
	enum level_answer weaker = j->levels[CYCLE_PLAIN][CYCLE_PL_2];
	enum level_answer stronger = j->levels[CYCLE_PLAIN][CYCLE_PL_2PLUS];

	j->cursor = j->monotonic = stronger == LEVEL_HOLDS ? LEVEL_HOLDS
				   : weaker == LEVEL_FAILS ? LEVEL_FAILS
							   : LEVEL_UNDECIDED;
	if (has_anomaly(j, ANOMALY_LOST_UPDATE))
		j->cursor = LEVEL_FAILS;
	if (j->cursor == LEVEL_UNDECIDED && is_wanted(j, "PL-CS"))
		j->cursor = ask_cursor(j);
	if (j->monotonic == LEVEL_UNDECIDED && is_wanted(j, "PL-2L"))
		j->monotonic = ask_monotonic(j);
	j->forward = LEVEL_UNDECIDED;
	if (!j->realtime)
		return;
	if (j->levels[CYCLE_REALTIME][CYCLE_PL_2PLUS] == LEVEL_HOLDS)
		j->forward = LEVEL_HOLDS;
	else if (stronger == LEVEL_FAILS)
		j->forward = LEVEL_FAILS;
	else if (is_wanted(j, "PL-FCV"))
		j->forward = ask_solver(j, MODEL_FCV, CYCLE_REALTIME, CLASS_G_SIB, "PL-FCV",
			share(j, QUESTIONS_AFTER - 2));
}

static void report_levels(struct judge *j)
{
	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int l = 0; asked(j, (enum cycle_order)o) && l < CYCLE_LEVEL_COUNT; l++) {
			verdict_level(j->out, adya_level_names[o][l], j->levels[o][l]);
			if (o != CYCLE_PLAIN || l != CYCLE_PL_2)
				continue;
			verdict_level(j->out, "PL-CS", j->cursor);
			verdict_level(j->out, "PL-2L", j->monotonic);
		}
		if (o == CYCLE_REALTIME && j->realtime)
			verdict_level(j->out, "PL-FCV", j->forward);
	}
}

/* Of each session, and both ways of proving them without a question: strong session PL-2+, and
 * causal consistency. */
static void guarantees(struct judge *j, bool causal)
{
	static const struct {
		enum model_level model;
		const char *name;
	} all[] = {/* in the order of enum guarantee */
		{MODEL_RYW, "read-your-writes"}, {MODEL_MR, "monotonic-reads"},
		{MODEL_MW, "monotonic-writes"}, {MODEL_WFR, "writes-follow-reads"},
		{MODEL_PRAM, "PRAM"}};
	struct guarantee_breach breaches[GUARANTEE_COUNT];
	bool proven = causal || j->levels[CYCLE_SESSION][CYCLE_PL_2PLUS] == LEVEL_HOLDS;
	bool known = !proven && guarantees_of_lists(&j->facts, breaches), fails = false;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		enum level_answer answer = LEVEL_HOLDS;

		if (all[i].model == MODEL_PRAM && fails) {
			answer = LEVEL_FAILS;
		} else if (known && i < GUARANTEE_COUNT && breaches[i].first != VALUES_NONE) {
			struct model_core core = {&breaches[i].first, 2};

			core.count -= breaches[i].first == breaches[i].second;
			report_core(&j->facts, &core, CLASS_LEVEL, all[i].name, j->out);
			answer = LEVEL_FAILS;
		} else if (!known && !proven && !is_wanted(j, all[i].name)) {
			answer = LEVEL_UNDECIDED;
		} else if (!known && !proven) {
			answer = ask_solver(j, all[i].model, CYCLE_SESSION, CLASS_LEVEL,
				all[i].name, share(j, QUESTIONS_GUARANTEES - i));
		}
		fails |= answer == LEVEL_FAILS && all[i].model != MODEL_WFR;
		verdict_level(j->out, all[i].name, answer);
	}
}

/* ----------------------------------------------------------------- Biswas and Enea's */

static enum level_answer ask_prefix(struct judge *j)
{
	enum level_answer answer = LEVEL_UNDECIDED;

	if (may_saturate(j))
		answer = ask_saturation(
			j, SATURATE_PREFIX, CYCLE_SESSION, CLASS_LEVEL, "be-prefix", NULL);
	if (answer != LEVEL_UNDECIDED)
		return answer;
	return ask_solver(j, MODEL_PREFIX, CYCLE_SESSION, CLASS_LEVEL, "be-prefix",
		share(j, QUESTIONS_WEAK - WEAK_LEVEL_COUNT));
}

/* SI and SER have session order in them: they are the strong session levels.  (The twin of the
 * tests checks their axioms as written.)  Lists show more than the last writer; these levels are
 * defined on registers.  True: causal consistency holds. */
static bool biswas_enea(struct judge *j, uint32_t examples)
{
	static const char *const names[] = {"be-RC", "be-RA", "be-CC"};
	static const enum model_level models[] = {MODEL_RC, MODEL_RA, MODEL_CC};
	enum level_answer answers[WEAK_LEVEL_COUNT], prefix = LEVEL_UNDECIDED;
	enum level_answer si =
		j->session && j->adya ? j->levels[CYCLE_SESSION][CYCLE_PL_SI] : LEVEL_UNDECIDED;

	if (!j->v->has_sessions || j->facts.has_lists)
		return false;
	weak_judge(&j->facts, j->weak, examples, j->first, answers, j->out);
	for (int l = 0; l < WEAK_LEVEL_COUNT; l++) {
		if (l && answers[l - 1] == LEVEL_FAILS)
			answers[l] = LEVEL_FAILS;
		else if (answers[l] == LEVEL_UNDECIDED && si == LEVEL_HOLDS)
			answers[l] = LEVEL_HOLDS;
		else if (answers[l] == LEVEL_UNDECIDED && is_wanted(j, names[l]))
			answers[l] = ask_solver(j, models[l], CYCLE_SESSION, CLASS_LEVEL, names[l],
				share(j, QUESTIONS_WEAK - (uint64_t)l));
	}
	for (int l = 0; l < WEAK_LEVEL_COUNT; l++)
		verdict_level(j->out, names[l], answers[l]);
	if (!j->session || !j->adya)
		return answers[WEAK_CC] == LEVEL_HOLDS;
	if (answers[WEAK_CC] == LEVEL_FAILS)
		prefix = LEVEL_FAILS;
	else if (si == LEVEL_HOLDS)
		prefix = LEVEL_HOLDS;
	else if (is_wanted(j, "be-prefix"))
		prefix = ask_prefix(j);
	verdict_level(j->out, "be-prefix", prefix);
	verdict_level(j->out, "be-SI", si);
	verdict_level(j->out, "be-SER", j->levels[CYCLE_SESSION][CYCLE_PL_3]);
	return answers[WEAK_CC] == LEVEL_HOLDS;
}

/* Snapshot isolation by the times that the history gives. */
static void timed(struct judge *j, uint32_t examples)
{
	enum level_answer answer = stamps_judge(&j->facts, examples, j->out);
	enum level_answer plain = j->levels[CYCLE_PLAIN][CYCLE_PL_SI];

	if (plain == LEVEL_FAILS)
		answer = LEVEL_FAILS;
	verdict_level(j->out, "timed-PL-SI", answer);
}

/*
 * The edges and their cycles.  At first with versions whose order is open as the input has them: a
 * level that holds in that order holds, and mostly there is no cycle at all.  If there is one, and
 * something was open, without a guess.
 */
static void find_edges(struct judge *j, struct edges *edges)
{
	struct edges_options options = {
		.session = j->session, .realtime = j->realtime, .prune = true, .guess = true};
	struct cycles_options search = {
		.session = j->session, .realtime = j->realtime, .budget = j->options->budget};

	edges_build(edges, &j->facts, &options);
	options.guess = false;
	options.by_place = edges->crowded;
	if (options.by_place) {
		edges_release(edges);
		edges_build(edges, &j->facts, &options);
	}
	if (edges->open_tails || edges->open_chains) {
		j->guessed = !j->facts.reads_ambiguous && !edges->unordered && !edges->skipped;
		if (j->guessed &&
			graph_is_acyclic(&edges->graph, GRAPH_MASK_ALL | EDGE_GUESS_MASK)) {
			j->cycles = (struct cycles){0}; /* every level holds: LEVEL_HOLDS is zero */
			edges->open_tails = edges->open_chains = 0;
			j->guessed = false;
			return;
		}
		if (options.by_place) {
			j->guess = *edges;
			options.by_place = false;
			edges_build(edges, &j->facts, &options);
		}
	}
	cycles_find(&j->cycles, &edges->graph, &search);
}

/* Do the anomalies alone refute what was asked for? */
static bool ends_early(struct judge *j)
{
	if (!j->first)
		return false;
	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int l = 0; l < CYCLE_LEVEL_COUNT; l++)
			j->levels[o][l] = LEVEL_UNDECIDED;
	}
	apply_anomalies(j);
	spread(j);
	return is_refuted(j);
}

static void adya(struct judge *j, uint32_t examples)
{
	struct edges edges;

	j->cursor = j->monotonic = j->forward = LEVEL_UNDECIDED;
	if (ends_early(j)) {
		report_levels(j);
		return;
	}
	find_edges(j, &edges);
	decide(j, &edges);
	if (!is_refuted(j))
		decide_between(j);
	report_cycles(j, examples);
	report_levels(j);
	if (j->v->stamps)
		timed(j, examples);
	j->open_chains = edges.open_chains;
	j->open_tails = edges.open_tails;
	j->unordered = edges.unordered;
	j->skipped = edges.skipped;
	verdict_undecided(j->out, "witness search cut short", j->cycles.cut);
	cycles_release(&j->cycles);
	edges_release(&edges);
}

/* What the one level asked for needs. */
static void narrow(struct judge *j, const char *level)
{
	static const char *const weak[] = {"be-RC", "be-RA", "be-CC"};
	bool real_time = (begins(level, "strong-") && !begins(level, "strong-session-")) ||
			 strcmp(level, "PL-FCV") == 0;

	j->level = level;
	j->realtime &= real_time;
	j->session_helps = j->session && begins(level, "PL-") && !real_time;
	j->session &= real_time || (!begins(level, "PL-") && !begins(level, "timed-"));
	for (int l = 0; l < WEAK_LEVEL_COUNT; l++) {
		/* With several writers of a value a stronger level may be the quickest proof. */
		if (strcmp(level, weak[l]) == 0) {
			j->weak = (enum weak_level)l;
			j->adya = j->facts.reads_ambiguous > 0;
		}
	}
	j->any_adya = true;
	for (int o = 0; o < CYCLE_ORDER_COUNT; o++) {
		for (int l = 0; l < CYCLE_LEVEL_COUNT; l++)
			j->any_adya &= !is_wanted(j, adya_level_names[o][l]);
	}
}

/* Of the others only what it implies, as far as it is decided. */
static void keep_implied(struct verdict *out, const char *level)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->level_count; i++) {
		const struct verdict_level *l = &out->levels[i];

		if (strcmp(l->name, level) == 0 ||
			(l->answer != LEVEL_UNDECIDED && values_level_implies(level, l->name)))
			out->levels[kept++] = *l;
	}
	out->level_count = kept;
}

/* Why levels are not decided, once all that implies others is known. */
static void report_reasons(struct judge *j)
{
	struct verdict *out = j->out;

	if (levels_are_decided(out) || is_refuted(j))
		return;
	if (any_undecided(j) && !(j->level && j->any_adya)) {
		verdict_undecided(out, "version order not known", j->open_chains);
		verdict_undecided(out, "order of unread appends not known", j->open_tails);
		verdict_undecided(out, "reads of the key contradict each other", j->unordered);
		verdict_undecided(out, "too many unread writes of a key", j->skipped);
		verdict_undecided(out, "several writers of the value read", j->facts.reads_ambiguous);
	}
	if (any_undecided(j))
		verdict_undecided(out, "what reads force was not looked for: too much memory (--budget)",
			j->not_saturated);
	if (!interrupt_seen())
		verdict_undecided(out, "the solver ran out of steps (--budget)", j->out_of_steps);
}

void values_judge(const struct values *v, const struct values_options *options, struct verdict *out)
{
	struct judge j = {.v = v,
		.options = options,
		.out = out,
		.adya = true,
		.any_adya = true,
		.weak = WEAK_CC};
	uint32_t examples = options->examples ? options->examples : EXAMPLES_DEFAULT;
	bool causal = false, stopped;

	j.steps = SOLVER_STEPS_DEFAULT + SOLVER_STEPS_A_TXN * v->txn_count;
	j.scale = options->budget > j.steps ? options->budget / j.steps : 1;
	j.steps = options->budget ? options->budget : j.steps;
	j.choices = CHOICES_A_STEP * j.steps;
	j.first = options->first || options->level;
	j.session = v->has_sessions && !options->no_session;
	j.realtime = (v->has_real_time || v->stamps) && !options->no_realtime;
	meter_things(options->meter, "matching reads with writes", 0, 0);
	facts_find(&j.facts, v, options->any_initial);
	j.facts.scale = j.scale < QUESTION_SCALE_MAX ? j.scale : QUESTION_SCALE_MAX;
	if (options->level)
		narrow(&j, options->level);
	report_anomalies(&j.facts, examples, out);
	meter_things(options->meter, "judging Adya's levels", 0, 0);
	if (j.adya)
		adya(&j, examples);
	meter_things(options->meter, "judging levels of Biswas and Enea", 0, 0);
	stopped = j.first && !j.level && is_refuted(&j);
	if (!stopped && !options->no_weak && (!j.level || begins(j.level, "be-") || is_guarantee(j.level)))
		causal = biswas_enea(&j, examples);
	if (!stopped && j.adya && j.session && (!j.level || is_guarantee(j.level)))
		guarantees(&j, causal);
	levels_complete(out);
	if (j.level)
		keep_implied(out, j.level);
	out->decided += j.facts.reads;
	report_reasons(&j);
	verdict_undecided(
		out, "too large for the solver (--budget), or equal elements of a list", j.too_large);
	verdict_undecided(out, "result of a read not known", v->counts.reads_unknown);
	verdict_undecided(out, "no transaction is known to have committed",
		values_any_committed(v) ? 0 : v->txn_count);
	if (j.facts.left_out)
		out->note = "reads of values that no transaction wrote were left out (--initial=any)";
	if (stopped)
		out->note = "the first violation was enough (--first): what is undecided was not looked at";
	facts_release(&j.facts);
	verdict_sort(out);
}
