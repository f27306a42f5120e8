/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracle adya against the brute-force twin: for each simulated history, the twin judges what
 * really happened and the oracle what the trace shows; both must name the same phenomena.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "adya/adya.h"
#include "model/history/load.h"
#include "sim/sim.h"
#include "twin/twin.h"

static const char *const class_names[TWIN_CLASSES] = {
	[TWIN_G0] = "G0",
	[TWIN_G1C] = "G1c",
	[TWIN_G_SINGLE] = "G-single",
	[TWIN_G_NONADJACENT] = "G-nonadjacent",
	[TWIN_G2_ITEM] = "G2-item",
	[TWIN_G2] = "G2",
	[TWIN_G1A] = "G1a",
	[TWIN_G1B] = "G1b",
	[TWIN_GARBAGE_READ] = "garbage-read",
	[TWIN_FUTURE_READ] = "future-read",
	[TWIN_OWN_WRITE] = "own-write",
	[TWIN_DUPLICATE_ROW] = "duplicate-row",
	[TWIN_LOST_VERSION] = "lost-version",
	[TWIN_UNSTABLE_SNAPSHOT] = "unstable-snapshot",
	[TWIN_SPLIT_STATEMENT] = "split-statement",
};

/* Each transaction at a level of its own, whatever it ran at: what a contract forbids depends on
 * it, and nothing else that cycles are made of. */
static void mix_levels(struct history *history, struct twin_history *truth, uint64_t seed)
{
	for (uint32_t t = 0; t < history->txn_count; t++) {
		uint64_t hash = (history->txns[t].number + 1) * (seed + 1) * 0x9e3779b97f4a7c15u;
		uint8_t level = (uint8_t)(LEVEL_READ_UNCOMMITTED + (hash >> 40) % 4);

		for (size_t i = 0; i < truth->txn_count; i++) {
			if (truth->txns[i].number == history->txns[t].number)
				truth->txns[i].level = level;
		}
		history->txns[t].level = level;
	}
}

struct outcome {
	struct history history;
	struct verdict verdict;
	struct twin_history truth;
	struct twin_result twin;
	struct buf records;
	bool mixed; /* levels */
};

static void make(struct outcome *o, const struct sim_options *options, bool mixed)
{
	struct sim_sink sink;
	struct err err;

	memset(o, 0, sizeof(*o));
	sink = sim_sink_memory(&o->records);
	if (!sim_run(options, &sink, &o->truth, NULL, NULL, &err) ||
		!history_load_records(&o->history, buf_span(&o->records), NULL, &err))
		ck_abort_msg("%s", err.text);
	o->mixed = mixed;
	if (mixed)
		mix_levels(&o->history, &o->truth, options->seed);
}

static void judge(struct outcome *o)
{
	struct contract contract;
	struct err err;

	if (!contract_builtin(&contract, "adya", &err))
		ck_abort_msg("%s", err.text);
	verdict_init(&o->verdict);
	adya_check(&o->history,
		&(struct adya_options){.contract = &contract, .session = true, .realtime = true},
		&o->verdict);
}

static void outcome_release(struct outcome *o)
{
	verdict_release(&o->verdict);
	history_release(&o->history);
	twin_history_release(&o->truth);
	twin_result_release(&o->twin);
	buf_release(&o->records);
}

static bool found(const struct verdict *verdict, const char *name, const char *suffix)
{
	char whole[64];

	snprintf(whole, sizeof(whole), "%s%s", name, suffix);
	for (size_t i = 0; i < verdict->finding_count; i++) {
		if (strcmp(finding_name(&verdict->findings[i]), whole) == 0)
			return true;
	}
	return false;
}

static void complain(const struct outcome *o, const struct sim_options *options, const char *name,
	const char *suffix, bool expected)
{
	struct buf text = BUF_INIT;

	twin_history_print(&text, &o->truth);
	for (size_t i = 0; i < o->verdict.finding_count; i++)
		buf_printf(&text, "\n%s: %.*s", finding_name(&o->verdict.findings[i]),
			SPAN_ARG(o->verdict.findings[i].explanation));
	for (size_t i = 0; i < o->verdict.reason_count; i++)
		buf_printf(&text, "\nundecided: %llu %s",
			(unsigned long long)o->verdict.reasons[i].count,
			o->verdict.reasons[i].name);
	ck_abort_msg("discipline %s, seed %llu: %s%s is %s the twin and %s the oracle\n%s",
		sim_discipline_name(options->discipline), (unsigned long long)options->seed, name,
		suffix, expected ? "found by" : "unknown to", expected ? "not by" : "found by",
		text.data);
}

static uint32_t twin_index(const struct outcome *o, struct span name)
{
	for (size_t t = 0; t < o->truth.txn_count; t++) {
		char text[32];

		snprintf(text, sizeof(text), "T%llu", (unsigned long long)o->truth.txns[t].number);
		if (span_eq_str(name, text))
			return (uint32_t)t;
	}
	ck_abort_msg("no transaction %.*s", SPAN_ARG(name));
}

static enum twin_edge edge_kind(struct span name)
{
	static const struct {
		const char *name;
		enum twin_edge edge;
	} kinds[] = {{"ww", TWIN_EDGE_WW}, {"wr", TWIN_EDGE_WR}, {"rw", TWIN_EDGE_RW},
		{"predicate wr", TWIN_EDGE_PRED_WR}, {"predicate rw", TWIN_EDGE_PRED_RW},
		{"session", TWIN_EDGE_SESSION}, {"real time", TWIN_EDGE_REALTIME}};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		if (span_eq_str(name, kinds[k].name))
			return kinds[k].edge;
	}
	ck_abort_msg("no kind of edge: %.*s", SPAN_ARG(name));
}

/* Each edge of a witness is an edge of the twin's graph, and together they are a cycle. */
static void verify_witness(const struct outcome *o, const struct finding *finding)
{
	for (uint32_t i = 0; i < finding->edge_count; i++) {
		const struct finding_edge *edge = &finding->edges[i];
		const struct finding_edge *next = &finding->edges[(i + 1) % finding->edge_count];
		uint8_t real = o->twin.edge[twin_index(o, edge->from)][twin_index(o, edge->to)];

		ck_assert(span_eq(edge->to, next->from));
		if (!(real & edge_kind(edge->kind))) {
			struct buf text = BUF_INIT;

			twin_history_print(&text, &o->truth);
			ck_abort_msg("%.*s is no edge of the twin\n%s", SPAN_ARG(edge->sentence),
				text.data);
		}
	}
}

/* A row's absence does not say who deleted it: the twin may know of a commit that the trace does
 * not prove, and that stands between two transactions of an edge. */
static bool same_commits(const struct outcome *o)
{
	for (uint32_t t = 0; t < o->history.txn_count; t++) {
		for (size_t i = 0; i < o->truth.txn_count; i++) {
			if (o->truth.txns[i].number == o->history.txns[t].number &&
				o->twin.committed[i] != history_committed(&o->history, t))
				return false;
		}
	}
	return true;
}

/* What the trace shows has one reading.  Where it has several, the truth is one of them, and another may explain
 * the phenomenon away: test_explanations.c has these. */
static bool is_unambiguous(const struct outcome *o)
{
	const struct history_counts *counts = &o->history.counts;

	return o->verdict.undecided == 0 && o->verdict.chosen == 0 &&
	       counts->unknown_outcomes == counts->unknown_counted_committed;
}

/* What the textbook levels forbid: cycles of these edges (contract adya). */
static const unsigned forbidden[] = {
	[LEVEL_UNKNOWN] = 0,
	[LEVEL_READ_UNCOMMITTED] = TWIN_EDGE_WW,
	[LEVEL_READ_COMMITTED] = TWIN_EDGE_WW | TWIN_EDGE_WR | TWIN_EDGE_PRED_WR,
	[LEVEL_REPEATABLE_READ] =
		TWIN_EDGE_WW | TWIN_EDGE_WR | TWIN_EDGE_PRED_WR | TWIN_EDGE_RW,
	[LEVEL_SERIALIZABLE] = TWIN_EDGE_WW | TWIN_EDGE_WR | TWIN_EDGE_PRED_WR | TWIN_EDGE_RW |
			       TWIN_EDGE_PRED_RW,
};

/* Is there a cycle of what `level` forbids among the transactions that were promised as much? */
static bool twin_forbids(const struct outcome *o, uint8_t level)
{
	bool reach[TWIN_TXN_MAX][TWIN_TXN_MAX];
	size_t n = o->truth.txn_count;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			reach[i][j] = o->twin.edge[i][j] & forbidden[level] &&
				      o->truth.txns[i].level >= level &&
				      o->truth.txns[j].level >= level;
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++)
				reach[i][j] |= reach[i][k] && reach[k][j];
	for (size_t i = 0; i < n; i++) {
		if (reach[i][i])
			return true;
	}
	return false;
}

/* Did the oracle call such a cycle a violation? */
static bool oracle_forbids(const struct outcome *o, uint8_t level)
{
	for (size_t i = 0; i < o->verdict.finding_count; i++) {
		const struct finding *finding = &o->verdict.findings[i];
		bool is = finding->severity == SEVERITY_VIOLATION && finding->edge_count;

		for (uint32_t k = 0; is && k < finding->edge_count; k++) {
			const struct finding_edge *edge = &finding->edges[k];

			is = edge_kind(edge->kind) & forbidden[level] &&
			     o->truth.txns[twin_index(o, edge->from)].level >= level;
		}
		if (is)
			return true;
	}
	return false;
}

/* A cycle that is a violation is one by its weakest transaction's level. */
static void verify_severity(const struct outcome *o, const struct finding *finding)
{
	uint8_t weakest = LEVEL_SERIALIZABLE;

	for (uint32_t k = 0; k < finding->edge_count; k++) {
		uint8_t level = o->truth.txns[twin_index(o, finding->edges[k].from)].level;

		weakest = level < weakest ? level : weakest;
	}
	for (uint32_t k = 0; k < finding->edge_count && finding->severity == SEVERITY_VIOLATION; k++)
		ck_assert(edge_kind(finding->edges[k].kind) & forbidden[weakest]);
}

static void compare_severities(const struct outcome *o, const struct sim_options *options)
{
	static const char *const names[] = {
		"", "a violation at RU", "at RC", "at RR", "at SER"};

	for (size_t i = 0; i < o->verdict.finding_count; i++)
		verify_severity(o, &o->verdict.findings[i]);
	for (uint8_t level = LEVEL_READ_UNCOMMITTED; level <= LEVEL_SERIALIZABLE; level++) {
		bool expected = twin_forbids(o, level), seen = oracle_forbids(o, level);

		if (seen != expected && (seen || is_unambiguous(o)))
			complain(o, options, names[level], "", expected);
	}
}

/* Plain classes are the same; a session or real-time variant is reported where the class is not
 * there without that order.  A snapshot that is none because its transaction ran at another level
 * may show by a row that an aborted transaction did not find, which the oracle does not look for. */
static void compare(const struct outcome *o, const struct sim_options *options)
{
	static const char *const suffixes[TWIN_STRENGTHS] = {"", "-session", "-realtime"};

	for (int class = 0; class < TWIN_CLASSES; class ++) {
		const char *name = class_names[class];
		bool weaker = false;

		for (int s = 0; name && s < TWIN_STRENGTHS; s++) {
			bool expected = o->twin.exists[class][s];
			bool seen = found(&o->verdict, name, suffixes[s]);

			if (seen && !expected)
				complain(o, options, name, suffixes[s], expected);
			/* What the trace leaves open may hide it, and then the verdict says so. */
			if (expected && !seen && !weaker && is_unambiguous(o) &&
				!(o->mixed && class == TWIN_UNSTABLE_SNAPSHOT))
				complain(o, options, name, suffixes[s], expected);
			weaker |= seen;
		}
	}
	for (size_t i = 0; same_commits(o) && i < o->verdict.finding_count; i++)
		verify_witness(o, &o->verdict.findings[i]);
	if (same_commits(o))
		compare_severities(o, options);
}

/* How many seeds: SEEDS in the environment, for longer runs. */
static uint64_t seeds(uint64_t preset)
{
	const char *text = getenv("SEEDS");

	return text ? strtoull(text, NULL, 10) : preset;
}

static void small(struct sim_options *options, uint64_t seed)
{
	sim_defaults(options);
	options->seed = seed;
	options->discipline = (enum sim_discipline)(seed % SIM_DISCIPLINE_COUNT);
	options->sessions = 2 + (uint32_t)(seed / 5 % 3);
	options->transactions = 4 + seed % 8;
	options->ops = 3;
	options->tables = 1 + (uint32_t)(seed / 3 % 2);
	options->keys = 2 + (uint32_t)(seed / 7 % 4);
	options->values = 6;
	options->predicate_keys = 0;
	options->predicate = seed % 3 ? 0.2 : 0;
	options->insert = options->delete = 0.1;
	options->abort = 0.15;
	options->unknown = seed % 4 ? 0 : 0.1;
	options->savepoint = seed % 5 ? 0 : 0.1;
}

START_TEST(agrees_with_the_twin)
{
	uint64_t count = seeds(4000), decided = 0;

	for (uint64_t seed = 1; seed <= count; seed++) {
		struct sim_options options;
		struct outcome o;

		small(&options, seed);
		make(&o, &options, seed % 2);
		twin_check(&o.truth, &o.twin);
		judge(&o);
		if (!o.twin.cut)
			compare(&o, &options);
		decided += !o.twin.cut && is_unambiguous(&o);
		outcome_release(&o);
	}
	ck_assert_msg(decided > count / 2, "only %llu of %llu histories were fully decided",
		(unsigned long long)decided, (unsigned long long)count);
}
END_TEST

/* Also where much is undecided, and too large for the twin: a level that was promised to all and
 * fails is broken by a violation. */
START_TEST(a_level_that_fails_is_a_violation)
{
	static const char *const names[] = {"", "PL-1", "PL-2", "PL-2.99", "PL-3"};
	uint64_t count = seeds(4000) / 10, failing = 0;

	for (uint64_t seed = 1; seed <= count; seed++) {
		struct sim_options options;
		struct outcome o;
		uint8_t level;
		bool violated = false;

		small(&options, seed);
		options.sessions = 6;
		options.transactions = 60;
		options.keys = 6;
		options.predicate = 0.3;
		options.update = options.insert = options.delete = 0.2;
		options.savepoint = 0.2;
		make(&o, &options, false);
		judge(&o);
		level = o.history.txns[0].level;
		for (size_t i = 0; i < o.verdict.finding_count; i++)
			violated |= o.verdict.findings[i].severity == SEVERITY_VIOLATION;
		for (size_t i = 0; i < o.verdict.level_count; i++) {
			if (strcmp(o.verdict.levels[i].name, names[level]) != 0 ||
				o.verdict.levels[i].answer != LEVEL_FAILS)
				continue;
			failing++;
			if (!violated)
				complain(&o, &options, "a violation at ", names[level], true);
		}
		outcome_release(&o);
	}
	ck_assert_uint_gt(failing, count / 50);
}
END_TEST

/* Everything planted is found, and nothing else in a correct history. */
START_TEST(finds_what_was_planted)
{
	for (int plant = 0; plant < SIM_PLANT_KINDS; plant++) {
		for (uint64_t seed = 1; seed <= 40; seed++) {
			struct sim_options options;
			struct outcome o;

			small(&options, seed);
			options.discipline = SIM_SERIALIZABLE;
			options.unknown = 0;
			options.plants[plant] = 1;
			make(&o, &options, false);
			twin_check(&o.truth, &o.twin);
			judge(&o);
			if (!o.twin.cut)
				compare(&o, &options);
			ck_assert_msg(o.verdict.finding_count > 0, "%s, seed %llu: nothing found",
				sim_plant_name((enum sim_plant)plant), (unsigned long long)seed);
			outcome_release(&o);
		}
	}
}
END_TEST

/* No findings at a level where nothing can be wrong. */
START_TEST(serializable_is_clean)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct sim_options options;
		struct outcome o;

		small(&options, seed);
		options.discipline = SIM_SERIALIZABLE;
		options.transactions = 40;
		options.sessions = 6;
		make(&o, &options, false);
		judge(&o);
		if (o.verdict.finding_count)
			ck_abort_msg("seed %llu: %.*s", (unsigned long long)seed,
				SPAN_ARG(o.verdict.findings[0].explanation));
		outcome_release(&o);
	}
}
END_TEST

/* A read that only the deletion of a transaction of unknown outcome explains at its time is no read of an older one, and spoils
 * no other choices.  Few of these histories have a choice left that closes a forbidden cycle. */
START_TEST(unknown_outcomes_spoil_no_explanation)
{
	uint64_t met = 0, spoilt = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct sim_options options;
		struct outcome o;

		small(&options, seed);
		options.discipline = SIM_SERIALIZABLE;
		options.transactions = 300;
		options.sessions = 6;
		options.unknown = 0.1;
		make(&o, &options, false);
		judge(&o);
		for (size_t i = 0; i < o.verdict.reason_count; i++) {
			const char *reason = o.verdict.reasons[i].name;

			if (strcmp(reason, "reads from transactions of unknown outcome") == 0)
				met += o.verdict.reasons[i].count;
			if (strstr(reason, "of which none was found that keeps the contract"))
				spoilt += o.verdict.reasons[i].count;
		}
		outcome_release(&o);
	}
	ck_assert_uint_gt(met, 0);
	ck_assert_uint_lt(spoilt, met);
}
END_TEST

UNIT_MAIN("adya", agrees_with_the_twin, a_level_that_fails_is_a_violation,
	finds_what_was_planted, serializable_is_clean, unknown_outcomes_spoil_no_explanation)
