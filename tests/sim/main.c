/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program isosim: the simulator on the command line.  simulator.md */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/output.h"
#include "base/version.h"
#include "sim/sim.h"
#include "trace/writer.h"

struct isosim {
	struct sim_options sim;
	uint64_t sessions, transactions, ops, tables, keys, predicate_keys, values;
	int discipline, probes, distribution;
	const char *compression;
	int compression_level;
	struct option_strings plants;
	const char *output, *truth;
	bool quiet, list_plants;
};

/* In the order of the enums. */
static const char *const disciplines[] = {"serializable", "si", "rr", "rc", "ru", NULL};
static const char *const probe_modes[] = {"trigger", "select", "off", NULL};
static const char *const distributions[] = {"uniform", "zipf", NULL};

#define SHARE(option, member, words)                                                               \
	{                                                                                          \
		.name = option, .argument = "SHARE", OPTION_REAL(struct isosim, sim.member),       \
		.help = words                                                                      \
	}
#define COUNT(option, member, words)                                                               \
	{                                                                                          \
		.name = option, .argument = "N", OPTION_UINT(struct isosim, member),               \
		.max = UINT32_MAX, .help = words                                                   \
	}

static const struct option_def table[] = {
	OPTION_HEADING("What runs"),
	{.name = "discipline",
		OPTION_CHOICE(struct isosim, discipline),
		.choices = disciplines,
		.preset = "serializable",
		.help = "what the store permits: serializable (two-phase locking), si (snapshot "
			"isolation), rr (InnoDB's REPEATABLE READ), rc, ru"},
	{.name = "seed",
		.argument = "N",
		OPTION_UINT(struct isosim, sim.seed),
		.help = "the same seed and options give the same records"},
	COUNT("sessions", sessions, "connections that run transactions side by side (8)"),
	{.name = "transactions",
		.argument = "N",
		OPTION_UINT(struct isosim, transactions),
		.help = "how many they run in all (1000)"},
	COUNT("ops", ops, "statements a transaction, on average (5)"),
	OPTION_HEADING("Data"),
	COUNT("tables", tables, "tables t0, t1 ... (1)"),
	COUNT("keys", keys, "keys of each table (100)"),
	{.name = "distribution",
		OPTION_CHOICE(struct isosim, distribution),
		.choices = distributions,
		.preset = "uniform",
		.help = "of the keys"},
	{.name = "theta",
		.argument = "X",
		OPTION_REAL(struct isosim, sim.theta),
		.help = "skew of zipf, below 1 (0.99)"},
	COUNT("values", values, "column v is below N (1000); 0: every value written is unique"),
	SHARE("present", present, "keys that have a row at first (0.75)"),
	COUNT("predicate-keys", predicate_keys,
		"keys of the small table p, where predicates go when the others are larger (32); "
		"0: "
		"predicates go over t0, t1 ..."),
	OPTION_HEADING("Statements (the rest are SELECTs by key)"),
	SHARE("update", update, "UPDATEs by key (0.35)"),
	SHARE("insert", insert, "INSERTs (0.05)"),
	SHARE("delete", delete, "DELETEs by key (0.05)"),
	SHARE("pk-update", pk_update, "UPDATEs of the primary key (0.01)"),
	SHARE("predicate", predicate, "statements with a range in WHERE (0.05)"),
	SHARE("predicate-update", predicate_update, "... of which UPDATEs (0.15)"),
	SHARE("predicate-delete", predicate_delete, "... of which DELETEs (0.05)"),
	SHARE("predicate-locking", predicate_locking, "... of which SELECT FOR UPDATE (0.1)"),
	SHARE("locking", locking, "SELECTs by key that are FOR UPDATE (0.1)"),
	OPTION_HEADING("Transactions"),
	SHARE("abort", abort, "end in ROLLBACK (0.05)"),
	SHARE("unknown", unknown, "never get an answer to COMMIT (0.005)"),
	SHARE("autocommit", autocommit, "are one statement without BEGIN (0.05)"),
	SHARE("savepoints", savepoint,
		"chance of SAVEPOINT or ROLLBACK TO before each statement (0.02)"),
	SHARE("consistent-snapshot", consistent_snapshot,
		"START TRANSACTION WITH CONSISTENT SNAPSHOT (0.2)"),
	{.name = "lock-timeout",
		.argument = "TIME",
		OPTION_DURATION(struct isosim, sim.lock_timeout_ns),
		.help = "waits longer than this, on the logical clock of about 1 us a step, end in "
			"error 1205 (never)"},
	OPTION_HEADING("Wrong answers"),
	{.name = "plant",
		.argument = "NAME[:N]",
		OPTION_STRINGS(struct isosim, plants),
		.help = "make a phenomenon happen, N times; may be given several times"},
	{.name = "tangle",
		OPTION_FLAG(struct isosim, sim.tangle),
		.help = "planted transactions run ordinary statements too; further phenomena may "
			"come of it"},
	{.name = "list-plants",
		OPTION_FLAG(struct isosim, list_plants),
		.help = "print the names that --plant takes"},
	{.name = "truth",
		.argument = "FILE",
		OPTION_STRING(struct isosim, truth),
		.files = true,
		.help = "write what was planted, as JSON"},
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "FILE",
		OPTION_STRING(struct isosim, output),
		.files = true,
		.help = "the trace; an existing file is replaced"},
	{.name = "probes",
		OPTION_CHOICE(struct isosim, probes),
		.choices = probe_modes,
		.preset = "trigger",
		.help = "what the trace knows of versions: trigger (all, exactly), select "
			"(separate "
			"SELECTs, not exact everywhere), off (statements and results only)"},
	{.name = "no-version-sets",
		OPTION_FLAG(struct isosim, sim.no_version_sets),
		.help = "leave out what predicates saw of rows that did not match (VSR)"},
	{.name = "no-images",
		OPTION_FLAG(struct isosim, sim.no_images),
		.help = "leave row images out of probes"},
	{.name = "no-results",
		OPTION_FLAG(struct isosim, sim.no_results),
		.help = "leave result rows out"},
	{.name = "compression",
		.argument = "LEVEL",
		OPTION_STRING(struct isosim, compression),
		.preset = "off",
		.help = "of the trace, as isorec has it: off, fast, or a level of zstd"},
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct isosim, quiet),
		.help = "say nothing of what was made"},
	OPTION_END,
};

static void print_help(void)
{
	struct buf out = BUF_INIT;

	buf_add_str(&out,
		"usage: isosim [OPTION...] -o TRACE\n\n"
		"Writes the trace of transactions on a simulated store, without a database: as "
		"many\n"
		"as you like, correct by construction at the chosen discipline, the same for the\n"
		"same seed.  --plant adds transactions that do what no discipline allows.\n\n");
	options_help(&out, table, output_columns() > 100 ? 100 : output_columns());
	buf_add_str(&out,
		"\nExamples:\n"
		"  isosim -o ser.itr\n"
		"      a thousand serializable transactions of 8 sessions\n"
		"  isosim --discipline=si --distribution=zipf --plant=G-single:3 --truth=x.json "
		"-o x.itr\n"
		"      snapshot isolation on skewed keys, with three read skews that x.json names\n"
		"  isosim --transactions=2000000 --keys=100000 --sessions=64 -o big.itr\n"
		"      ten million statements\n");
	(void)!fwrite(out.data, 1, out.len, stdout);
	buf_release(&out);
}

static bool parse_plant(const char *text, struct sim_options *sim, struct err *err)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : strlen(text);
	char name[64];
	uint64_t count = 1;
	enum sim_plant plant;

	if (colon && !parse_uint(colon + 1, 1, 1000000, "--plant", &count, err))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(len < 63 ? len : 63), text);
	if (!sim_plant_parse(name, &plant)) {
		const char *words[SIM_PLANT_KINDS + 1] = {NULL};
		const char *near;

		for (int i = 0; i < SIM_PLANT_KINDS; i++)
			words[i] = sim_plant_name((enum sim_plant)i);
		near = nearest_word(name, words);
		return err_set(err, ERR_USAGE,
			"--plant: '%s' cannot be planted; --list-plants prints what can%s%s%s",
			name, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
	sim->plants[plant] += (uint32_t)count;
	return true;
}

static bool take_options(struct isosim *o, struct err *err)
{
	o->sim.discipline = (enum sim_discipline)o->discipline;
	o->sim.probes = (enum sim_probes)o->probes;
	o->sim.sessions = (uint32_t)o->sessions;
	o->sim.transactions = o->transactions;
	o->sim.ops = (uint32_t)o->ops;
	o->sim.tables = (uint32_t)o->tables;
	o->sim.keys = (uint32_t)o->keys;
	o->sim.predicate_keys = (uint32_t)o->predicate_keys;
	o->sim.values = (uint32_t)o->values;
	if (o->distribution == 0)
		o->sim.theta = 0;
	for (size_t i = 0; i < o->plants.count; i++)
		if (!parse_plant(o->plants.items[i], &o->sim, err))
			return false;
	if (!trace_compression_level(o->compression, &o->compression_level))
		return err_set(
			err, ERR_USAGE, "--compression takes off, fast, or a level from 1 to 19");
	if (!o->output)
		return err_set(err, ERR_USAGE, "where to? give -o FILE");
	return sim_options_check(&o->sim, err);
}

static bool write_file(const char *path, const struct buf *text, struct err *err)
{
	FILE *file = fopen(path, "w");
	bool good;

	if (!file)
		return err_set_errno(err, errno, "cannot write %s", path);
	good = fwrite(text->data, 1, text->len, file) == text->len;
	if (fclose(file) != 0 || !good)
		return err_set_errno(err, errno, "cannot write %s", path);
	return true;
}

static bool run(const struct isosim *o, struct sim_stats *stats, struct err *err)
{
	struct buf plants = BUF_INIT;
	bool good = sim_write(&o->sim, o->output, o->compression_level, NULL, &plants, stats, err);

	if (good && o->truth)
		good = write_file(o->truth, &plants, err);
	buf_release(&plants);
	return good;
}

int main(int argc, char **argv)
{
	struct isosim o = {.compression = "off"};
	struct sim_stats stats = {0};
	struct err err;
	int first;

	output_init("isosim");
	sim_defaults(&o.sim);
	o.sim.theta = 0.99;
	o.sessions = o.sim.sessions;
	o.transactions = o.sim.transactions;
	o.ops = o.sim.ops;
	o.tables = o.sim.tables;
	o.keys = o.sim.keys;
	o.predicate_keys = o.sim.predicate_keys;
	o.values = o.sim.values;
	switch (options_parse(table, &o, argc, argv, &first, &err)) {
	case OPTIONS_HELP:
		print_help();
		return EXIT_STATUS_OK;
	case OPTIONS_VERSION:
		printf("isosim " ISOTRACE_VERSION "\n");
		return EXIT_STATUS_OK;
	case OPTIONS_ERROR:
		output_message("%s", err.text);
		return EXIT_STATUS_USAGE;
	case OPTIONS_OK:
		break;
	}
	if (o.list_plants) {
		for (int i = 0; i < SIM_PLANT_KINDS; i++)
			printf("%s\n", sim_plant_name((enum sim_plant)i));
		return EXIT_STATUS_OK;
	}
	if (first < argc) {
		output_message("isosim takes no argument '%s'; try --help", argv[first]);
		return EXIT_STATUS_USAGE;
	}
	if (!take_options(&o, &err) || !run(&o, &stats, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	if (!o.quiet)
		fprintf(stderr,
			"%s: %llu transactions (%llu committed, %llu aborted, %llu unknown), "
			"%llu statements, %llu waits, %llu timeouts, %llu deadlocks, %llu "
			"conflicts, %llu "
			"records\n",
			o.output, (unsigned long long)stats.transactions,
			(unsigned long long)stats.committed, (unsigned long long)stats.aborted,
			(unsigned long long)stats.unknown, (unsigned long long)stats.statements,
			(unsigned long long)stats.blocked, (unsigned long long)stats.timeouts,
			(unsigned long long)stats.deadlocks, (unsigned long long)stats.conflicts,
			(unsigned long long)stats.records);
	return EXIT_STATUS_OK;
}
