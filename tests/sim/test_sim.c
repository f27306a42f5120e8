/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulator against the brute-force twin: what each discipline permits, over many seeds.
 * SIM_SEEDS sets how many (default 400 a discipline and mix).
 */
#include "unit/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "sim/sim.h"
#include "trace/msgpack_cursor.h"
#include "trace/value.h"
#include "twin/twin.h"

static unsigned seeds(void)
{
	const char *text = getenv("SIM_SEEDS");

	return text ? (unsigned)strtoul(text, NULL, 10) : 400;
}

/* Small, and everything happens: few keys, many sessions, all kinds of statements. */
static void small_options(struct sim_options *o, enum sim_discipline discipline, uint64_t seed)
{
	sim_defaults(o);
	o->seed = seed;
	o->discipline = discipline;
	o->sessions = 2 + (uint32_t)(seed % 4);
	o->transactions = 6 + seed % 7;
	o->ops = 2 + (uint32_t)(seed / 3 % 3);
	o->keys = 2 + (uint32_t)(seed / 5 % 5);
	o->tables = 1 + (uint32_t)(seed / 7 % 2);
	o->predicate_keys = 0;
	o->values = seed % 11 == 0 ? 0 : 10;
	o->theta = seed % 2 ? 0.8 : 0;
	o->insert = o->delete = 0.1;
	o->pk_update = 0.05;
	o->predicate = 0.15;
	o->savepoint = 0.1;
	o->abort = 0.1;
	o->unknown = 0.1;
	o->autocommit = 0.1;
	o->lock_timeout_ns = seed % 3 ? 0 : 20000;
}

/* The classes that a discipline permits; the rest must never be there. */
static bool permitted(
	enum sim_discipline discipline, enum twin_class class, enum twin_strength strength)
{
	bool cycle_si = class == TWIN_G2_ITEM || class == TWIN_G2;
	bool cycle_rc = cycle_si || class == TWIN_G_SINGLE || class == TWIN_G_NONADJACENT;

	(void)strength;
	switch (discipline) {
	case SIM_SERIALIZABLE:
		return false;
	case SIM_SNAPSHOT:
		return cycle_si;
	case SIM_REPEATABLE_READ:
	case SIM_READ_COMMITTED:
		return cycle_rc || class == TWIN_LOST_UPDATE;
	case SIM_READ_UNCOMMITTED:
		return cycle_rc || class == TWIN_LOST_UPDATE || class == TWIN_G1A ||
		       class == TWIN_G1B || class == TWIN_G1C;
	}
	return false;
}

struct tally {
	unsigned runs, cut;
	unsigned seen[TWIN_CLASSES][TWIN_STRENGTHS];
};

static void check_permitted(
	const struct sim_options *o, const struct twin_history *truth, struct tally *tally)
{
	struct twin_result result;
	struct buf text = BUF_INIT;

	twin_check(truth, &result);
	tally->runs++;
	tally->cut += result.cut;
	for (int c = 0; c < TWIN_CLASSES; c++) {
		for (int s = 0; s < TWIN_STRENGTHS; s++) {
			if (!result.exists[c][s])
				continue;
			tally->seen[c][s]++;
			if (permitted(o->discipline, (enum twin_class)c, (enum twin_strength)s))
				continue;
			buf_printf(&text, "%s seed %llu: ", sim_discipline_name(o->discipline),
				(unsigned long long)o->seed);
			twin_class_print(&text, (enum twin_class)c, (enum twin_strength)s);
			buf_add_char(&text, '\n');
			twin_history_print(&text, truth);
			ck_abort_msg("%s", text.data);
		}
	}
	twin_result_release(&result);
	buf_release(&text);
}

static void run_discipline(enum sim_discipline discipline, struct tally *tally)
{
	struct twin_history truth = TWIN_HISTORY_INIT;
	struct buf records = BUF_INIT;
	struct sim_sink sink = sim_sink_memory(&records);
	struct sim_options options;
	struct err err;

	memset(tally, 0, sizeof(*tally));
	for (uint64_t seed = 1; seed <= seeds(); seed++) {
		small_options(&options, discipline, seed);
		twin_history_clear(&truth);
		buf_clear(&records);
		ck_assert_msg(sim_run(&options, &sink, &truth, NULL, NULL, &err), "%s", err.text);
		check_permitted(&options, &truth, tally);
	}
	/* Almost always all cycles were enumerated. */
	ck_assert_uint_le(tally->cut * 20, tally->runs);
	twin_history_release(&truth);
	buf_release(&records);
}

START_TEST(serializable_has_no_phenomenon)
{
	struct tally tally;

	run_discipline(SIM_SERIALIZABLE, &tally);
}
END_TEST

START_TEST(snapshot_isolation_has_write_skew_only)
{
	struct tally tally;

	run_discipline(SIM_SNAPSHOT, &tally);
	ck_assert_uint_gt(tally.seen[TWIN_G2_ITEM][TWIN_PLAIN], 0);
	ck_assert_uint_gt(tally.seen[TWIN_G2][TWIN_PLAIN], 0);
}
END_TEST

START_TEST(repeatable_read_loses_updates)
{
	struct tally tally;

	run_discipline(SIM_REPEATABLE_READ, &tally);
	ck_assert_uint_gt(tally.seen[TWIN_LOST_UPDATE][TWIN_PLAIN], 0);
	ck_assert_uint_gt(tally.seen[TWIN_G_SINGLE][TWIN_PLAIN], 0);
}
END_TEST

START_TEST(read_committed_has_read_skew)
{
	struct tally tally;

	run_discipline(SIM_READ_COMMITTED, &tally);
	ck_assert_uint_gt(tally.seen[TWIN_G_SINGLE][TWIN_PLAIN], 0);
	ck_assert_uint_gt(tally.seen[TWIN_G2][TWIN_PLAIN], 0);
}
END_TEST

START_TEST(read_uncommitted_has_dirty_reads)
{
	struct tally tally;

	run_discipline(SIM_READ_UNCOMMITTED, &tally);
	ck_assert_uint_gt(tally.seen[TWIN_G1A][TWIN_PLAIN], 0);
	ck_assert_uint_gt(tally.seen[TWIN_G1B][TWIN_PLAIN], 0);
	ck_assert_uint_gt(tally.seen[TWIN_G1C][TWIN_PLAIN], 0);
}
END_TEST

/* A plant in a correct history: its class is there, by its own transactions, and nothing else that
 * the discipline would not have had by itself. */
static void check_plant(
	const struct sim_options *o, enum sim_plant plant, const struct twin_history *truth)
{
	struct twin_result result;
	struct buf text = BUF_INIT;
	enum twin_class class, companion = TWIN_CLASSES;
	enum twin_strength strength;
	bool found = false, good = true;

	sim_plant_class(plant, &class, &strength);
	(void)!sim_plant_companion(plant, &companion);
	twin_check(truth, &result);
	for (size_t i = 0; i < result.finding_count; i++) {
		const struct twin_finding *f = &result.findings[i];
		bool own = f->class == class && f->strength == strength;
		bool with = f->class == companion && f->strength == TWIN_PLAIN;

		found |= own;
		if (own || with || permitted(o->discipline, f->class, f->strength))
			continue;
		good = false;
		buf_add_str(&text, "unexpected ");
		twin_class_print(&text, f->class, f->strength);
		for (uint32_t k = 0; k < f->txn_count; k++)
			buf_printf(&text, " T%llu",
				(unsigned long long)truth->txns[f->txns[k]].number);
		buf_add_char(&text, '\n');
	}
	if (!found || !good) {
		buf_printf(&text, "%s in %s, seed %llu%s\n", sim_plant_name(plant),
			sim_discipline_name(o->discipline), (unsigned long long)o->seed,
			found ? "" : ": not found");
		twin_history_print(&text, truth);
		ck_abort_msg("%s", text.data);
	}
	twin_result_release(&result);
	buf_release(&text);
}

/* The transactions that the side file names, of a run with one plant. */
static size_t named_txns(const struct buf *side_file, uint64_t out[8])
{
	const char *at = strstr(side_file->data, "\"transactions\":[");
	size_t count = 0;

	ck_assert_ptr_nonnull(at);
	at = strchr(at, '[');
	while (*at != ']' && count < 8) {
		char *end;

		out[count++] = strtoull(at + 1, &end, 10);
		at = end;
	}
	return count;
}

/* Where nothing else happens, what the twin finds is what the side file names: the same cycle from
 * some transaction on, or, for what is no cycle, transactions of that list. */
static void check_names(
	enum sim_plant plant, const struct twin_history *truth, const struct buf *side_file)
{
	enum twin_class class;
	enum twin_strength strength;
	struct twin_result result;
	uint64_t named[8];
	size_t count = named_txns(side_file, named);
	bool good = false;

	sim_plant_class(plant, &class, &strength);
	twin_check(truth, &result);
	for (size_t i = 0; i < result.finding_count; i++) {
		const struct twin_finding *f = &result.findings[i];

		if (f->class != class || f->strength != strength || f->txn_count > count)
			continue;
		for (size_t shift = 0; shift < count; shift++) {
			bool same = class >= TWIN_CYCLE_CLASSES || f->txn_count == count;

			for (uint32_t k = 0; k < f->txn_count && same; k++)
				same = truth->txns[f->txns[k]].number == named[(k + shift) % count];
			good |= same;
		}
	}
	ck_assert_msg(good, "%s: the side file names other transactions: %s", sim_plant_name(plant),
		side_file->data);
	twin_result_release(&result);
}

START_TEST(plants_are_what_they_say)
{
	struct twin_history truth = TWIN_HISTORY_INIT;
	struct buf records = BUF_INIT;
	struct sim_sink sink = sim_sink_memory(&records);
	struct buf side_file = BUF_INIT;
	struct err err;

	for (int plant = 0; plant < SIM_PLANT_KINDS; plant++) {
		for (int d = 0; d < SIM_DISCIPLINE_COUNT; d++) {
			for (uint64_t seed = 1; seed <= (seeds() + 9) / 10; seed++) {
				struct sim_options options;

				small_options(&options, (enum sim_discipline)d, seed);
				options.plants[plant] = 1 + seed % 2;
				twin_history_clear(&truth);
				buf_clear(&records);
				buf_clear(&side_file);
				ck_assert(sim_run(&options, &sink, &truth, &side_file, NULL, &err));
				check_plant(&options, (enum sim_plant)plant, &truth);
				if (d == SIM_SERIALIZABLE && options.plants[plant] == 1)
					check_names((enum sim_plant)plant, &truth, &side_file);
			}
		}
	}
	twin_history_release(&truth);
	buf_release(&records);
	buf_release(&side_file);
}
END_TEST

/* Tangled, the planted class is still there, whatever else is. */
START_TEST(tangled_plants_are_still_there)
{
	struct twin_history truth = TWIN_HISTORY_INIT;
	struct buf records = BUF_INIT;
	struct sim_sink sink = sim_sink_memory(&records);
	unsigned larger = 0;
	struct err err;

	for (int plant = 0; plant < SIM_PLANT_KINDS; plant++) {
		for (uint64_t seed = 1; seed <= 40; seed++) {
			enum twin_class class;
			enum twin_strength strength;
			struct twin_result result;
			struct sim_options options;
			bool found;

			small_options(&options, (enum sim_discipline)(seed % 5), seed);
			options.plants[plant] = 1;
			options.tangle = true;
			twin_history_clear(&truth);
			buf_clear(&records);
			ck_assert(sim_run(&options, &sink, &truth, NULL, NULL, &err));
			sim_plant_class((enum sim_plant)plant, &class, &strength);
			twin_check(&truth, &result);
			found = result.exists[class][strength] || result.cut;
			ck_assert_msg(found, "%s, seed %llu", sim_plant_name((enum sim_plant)plant),
				(unsigned long long)seed);
			larger += result.cycles > 1;
			twin_result_release(&result);
		}
	}
	/* Some got into more cycles than their own. */
	ck_assert_uint_gt(larger, 100);
	twin_history_release(&truth);
	buf_release(&records);
}
END_TEST

START_TEST(same_seed_same_records)
{
	for (int d = 0; d < SIM_DISCIPLINE_COUNT; d++) {
		struct buf a = BUF_INIT, b = BUF_INIT, c = BUF_INIT;
		struct sim_sink sinks[] = {
			sim_sink_memory(&a), sim_sink_memory(&b), sim_sink_memory(&c)};
		struct twin_history truth = TWIN_HISTORY_INIT;
		struct sim_options options;
		struct err err;

		sim_defaults(&options);
		options.discipline = (enum sim_discipline)d;
		options.theta = 0.9;
		ck_assert(sim_run(&options, &sinks[0], NULL, NULL, NULL, &err));
		/* Keeping the truth beside it changes nothing. */
		ck_assert(sim_run(&options, &sinks[1], &truth, NULL, NULL, &err));
		options.seed++;
		ck_assert(sim_run(&options, &sinks[2], NULL, NULL, NULL, &err));
		ck_assert(span_eq(buf_span(&a), buf_span(&b)));
		ck_assert(!span_eq(buf_span(&a), buf_span(&c)));
		buf_release(&a);
		buf_release(&b);
		buf_release(&c);
		twin_history_release(&truth);
	}
}
END_TEST

UNIT_MAIN("sim", serializable_has_no_phenomenon, snapshot_isolation_has_write_skew_only,
	repeatable_read_loses_updates, read_committed_has_read_skew,
	read_uncommitted_has_dirty_reads, plants_are_what_they_say, tangled_plants_are_still_there,
	same_seed_same_records)
