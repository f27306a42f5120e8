/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Speed and memory of importing and judging value histories of stated shape.
 *
 *	bench_values [TXNS [NAME...]]    default 1000000, all; also a tenth of it, for growth
 *	bench_values TXNS write NAME     the history of that name to standard output; also
 *	                                 strong-serial-PERCENT[-SEED],
 *	                                 strong-snapshots-PERCENT[-SEED],
 *	                                 WORD=NUMBER,...: registers (own_shape() has the words)
 *
 * The end is a table of all limits with what was measured against them, in this run.  What other
 * tools need is from their runs on another machine of the same kind: Elle 102 CPU seconds and 6.9
 *GB for a million list transactions; AWDIT 1.3, 1.7 and 2.9 s for RC, RA and causal of a million
 *register transactions, 3.3, 5.8 and 33 s with 50 sessions; VeriStrong for SER and SI of ten
 *thousand by the share of reads.  All other limits are ratios within the run.
 *
 * Every measurement runs in a process of its own, the quicker of two counts (CPU seconds and peak
 *memory are the kernel's).  Histories are written to the current directory and removed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bug.h"
#include "bench/histories.h"
#include "import/import.h"
#include "import/scan.h"
#include "values/check.h"

struct cost {
	double cpu;
	double mib;
	int status;
};

/* Of a check: some level fails, some level is undecided. */
enum { STATUS_VIOLATED = 1, STATUS_OPEN = 2 };

enum task {
	TASK_TOKENISE,
	TASK_IMPORT,
	TASK_CHECK,
	TASK_RC,
	TASK_RA,
	TASK_CC,
	TASK_SER,
	TASK_SI,
	TASK_PL_3,
	TASK_PL_2L,
};

static const char *skip_form(void *context, const char *p)
{
	return scan_skip(context, p);
}

/* Goes over every token of the input and does nothing with them. */
static void tokenise(const char *path, bool json)
{
	struct window in;
	struct err err;
	struct scan s = {.json = json, .err = &err};

	if (!window_open(&in, path, &err) || !scan_records(&s, &in, true, skip_form, &s, &err))
		BUG("%s", err.text);
	window_close(&in);
}

static int perform(enum task task, enum import_format format, const char *path)
{
	struct values v;
	struct verdict verdict;
	struct values_options options = {0};
	struct err err;
	int failing = 0, open = 0;

	if (task == TASK_TOKENISE) {
		tokenise(path, false);
		return 0;
	}
	if (!import_path(format, path, NULL, &v, &err))
		BUG("%s", err.text);
	if (task == TASK_IMPORT)
		return 0;
	verdict_init(&verdict);
	options.no_weak = task == TASK_CHECK;
	if (task >= TASK_RC)
		options.level = ((const char *[]){"be-RC", "be-RA", "be-CC", "strong-session-PL-3",
			"strong-session-PL-SI", "PL-3", "PL-2L"})[task - TASK_RC];
	values_judge(&v, &options, &verdict);
	for (size_t i = 0; i < verdict.level_count; i++) {
		failing += verdict.levels[i].answer == LEVEL_FAILS;
		open += verdict.levels[i].answer == LEVEL_UNDECIDED;
	}
	if (getenv("BENCH_LEVELS")) {
		for (size_t i = 0; i < verdict.level_count; i++)
			printf("%s=%s ", verdict.levels[i].name,
				level_answer_name(verdict.levels[i].answer));
		printf("\n");
		for (size_t i = 0; i < verdict.finding_count; i++)
			printf("  %s %u edges, %llu more\n", finding_name(&verdict.findings[i]),
				verdict.findings[i].edge_count,
				(unsigned long long)verdict.findings[i].similar);
		fflush(stdout);
	}
	return (failing ? STATUS_VIOLATED : 0) | (open ? STATUS_OPEN : 0);
}

static struct cost measure(enum task task, enum import_format format, const char *path)
{
	struct rusage usage;
	struct cost cost = {0};
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(perform(task, format, path));
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		BUG("fork or wait failed");
	cost.cpu = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
		   (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
	cost.mib = (double)usage.ru_maxrss / 1024;
	cost.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return cost;
}

/* ------------------------------------------------------------------------- the shapes */

struct shape {
	const char *name, *what;
	struct history_shape h;
	bool tenth; /* a tenth of the transactions */
};

enum { NONE = 101 }; /* no transaction aborts; 26 percent do where nothing is said */

static struct shape shapes[] = {
	{"edn-small", "lists, 100 keys, serial", {.keys = 100, .processes = 10}, true},
	{"edn", "lists, 100 keys, serial", {.keys = 100, .processes = 10}, false},
	{"edn-cold", "lists, 100,000 keys, serial", {.keys = 100000, .processes = 10}, false},
	{"edn-hot", "lists, 10 keys, snapshots",
		{.keys = 10, .processes = 20, .store = STORE_SNAPSHOT}, false},
	{"edn-clean", "lists, 10 keys, serial, all commit",
		{.keys = 10, .processes = 20, .fail_percent = NONE}, true},
	{"edn-loose", "lists, 10 keys, no control, many components",
		{.keys = 10, .processes = 20, .store = STORE_NONE, .fail_percent = NONE}, true},
	{"edn-giant", "lists, 10 keys, no control, one component",
		{.keys = 10, .processes = 100, .store = STORE_NONE, .fail_percent = NONE}, true},
	{"text-small", "registers, 100 keys, serial", {.keys = 100, .processes = 10}, true},
	{"text", "registers, 100 keys, serial", {.keys = 100, .processes = 10}, false},
	{"text-50", "registers, 1000 keys, snapshots, 50 sessions",
		{.keys = 1000, .processes = 50, .ops_max = 9, .store = STORE_SNAPSHOT}, false},
};

static struct history_shape complete(const struct shape *shape, uint32_t txns)
{
	struct history_shape h = shape->h;

	h.lists = strncmp(shape->name, "edn", 3) == 0;
	h.txns = shape->tenth ? txns / 10 : txns;
	h.read_percent = 50;
	h.seed = 7;
	if (h.ops_max)
		return h;
	h.ops_max = 4;
	h.writes_per_key = 128;
	h.fail_percent = h.fail_percent == NONE ? 0 : 26;
	return h;
}

static void write_history(const char *path, const struct history_shape *shape)
{
	FILE *out = fopen(path, "w");

	if (!out)
		BUG("cannot write %s", path);
	history_write(shape, out);
	fclose(out);
}

static double file_mib(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (double)st.st_size / 1048576 : 0;
}

/* -------------------------------------------------------------------------- the limits */

static struct {
	char text[200];
	bool met;
} limits[128];
static size_t limit_count;

static void limit(double figure, double bound, const char *unit, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

static void limit(double figure, double bound, const char *unit, const char *fmt, ...)
{
	char what[100];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (limit_count == ARRAY_LEN(limits))
		BUG("too many limits");
	limits[limit_count].met = figure <= bound;
	snprintf(limits[limit_count++].text, sizeof(limits[0].text), "%-70s %9.2f %-4s %9.2f", what,
		figure, unit, bound);
}

static struct cost better(enum task task, enum import_format format, const char *path)
{
	struct cost a = measure(task, format, path), b = measure(task, format, path);

	return a.cpu < b.cpu ? a : b;
}

/* Returns the CPU seconds of everything. */
static double lists(const struct shape *shape, uint32_t txns)
{
	static const char path[] = "bench-history.edn";
	struct history_shape h = complete(shape, txns);
	struct cost token, import, check;

	write_history(path, &h);
	token = better(TASK_TOKENISE, IMPORT_ELLE, path);
	import = better(TASK_IMPORT, IMPORT_ELLE, path);
	check = better(TASK_CHECK, IMPORT_ELLE, path);
	printf("%-44s %8u txns %6.1f MiB  tokenise %5.2f s  import %5.2f s  all %5.2f s %6.1f MiB "
	       " %s\n",
		shape->what, h.txns, file_mib(path), token.cpu, import.cpu, check.cpu, check.mib,
		check.status ? "violations" : "clean");
	unlink(path);
	if (!shape->tenth)
		limit(check.cpu / token.cpu, 3, "x", "%s: all against tokenising", shape->what);
	if (h.txns == 1000000) {
		limit(check.cpu, 102.0 / 20, "s", "%s: 1/20 of Elle's CPU", shape->what);
		limit(check.mib, 6900.0 / 10, "MiB", "%s: 1/10 of Elle's memory", shape->what);
	}
	return check.cpu;
}

/* Returns the CPU seconds of the weak levels. */
static double registers(const struct shape *shape, uint32_t txns)
{
	static const char path[] = "bench-history.txt";
	static const double awdit[2][3] = {{1.3, 1.7, 2.9}, {3.3, 5.8, 33}};
	struct history_shape h = complete(shape, txns);
	struct cost import, weak[3], check;

	write_history(path, &h);
	import = better(TASK_IMPORT, IMPORT_PLUME, path);
	for (int l = 0; l < 3; l++)
		weak[l] = better((enum task)(TASK_RC + l), IMPORT_PLUME, path);
	check = measure(TASK_CHECK, IMPORT_PLUME, path);
	printf("%-44s %8u txns %6.1f MiB  import %5.2f s  RC %5.2f  RA %5.2f  CC %5.2f s %6.1f MiB "
	       " Adya %5.2f s %6.1f MiB  %s\n",
		shape->what, h.txns, file_mib(path), import.cpu, weak[0].cpu, weak[1].cpu,
		weak[2].cpu, weak[2].mib, check.cpu, check.mib,
		weak[2].status ? "violations" : "clean");
	for (int l = 0; h.txns == 1000000 && l < 3; l++)
		limit(weak[l].cpu, awdit[h.processes == 50][l], "s", "%s: AWDIT's %s", shape->what,
			((const char *[]){"RC", "RA", "causal"})[l]);
	unlink(path);
	return weak[2].cpu;
}

/* The shape of peers' measurements of SI and SER. */
static struct history_shape strong_shape(enum store_kind store, uint32_t percent)
{
	return (struct history_shape){.txns = 10000,
		.store = store,
		.processes = 25,
		.keys = 10000,
		.ops_max = 15,
		.read_percent = percent,
		.by_session = true,
		.seed = 11};
}

/* SI and SER of ten thousand, all levels in one run, against the best tool for one of them. */
static void strong(enum store_kind store, uint32_t percent, double ser, double si)
{
	static const char path[] = "bench-history.txt";
	struct history_shape h = strong_shape(store, percent);
	const char *name = store == STORE_SERIAL ? "serial" : "snapshots";
	struct cost check, alone;

	write_history(path, &h);
	check = better(TASK_CHECK, IMPORT_PLUME, path);
	printf("registers, 10,000 keys, %s, %u %% reads: all levels %5.2f s %6.1f MiB  %s%s\n",
		name, percent, check.cpu, check.mib,
		check.status & STATUS_VIOLATED ? "violations" : "clean",
		check.status & STATUS_OPEN ? ", some levels undecided" : "");
	limit(check.cpu, ser < si ? ser : si, "s",
		"10k registers, %s, %u %% reads: VeriStrong's quicker", name, percent);
	limit((check.status & STATUS_OPEN) != 0, 0, "", "the same: levels undecided (1: some)");
	/* Without the order of sessions there are more executions to look through. */
	for (enum task task = TASK_PL_3; task <= TASK_PL_2L; task++) {
		alone = measure(task, IMPORT_PLUME, path);
		limit(alone.cpu, ser < si ? ser : si, "s", "the same: %s alone",
			task == TASK_PL_3 ? "PL-3" : "PL-2L");
		limit((alone.status & STATUS_OPEN) != 0, 0, "", "the same: undecided");
	}
	unlink(path);
}

/* strong-STORE-PERCENT or strong-STORE-PERCENT-SEED, to standard output; false: not such a name. */
static bool write_strong(const char *name, uint32_t txns)
{
	char store[16];
	unsigned percent, seed = 11;
	struct history_shape h;

	if (sscanf(name, "strong-%15[a-z]-%u-%u", store, &percent, &seed) < 2)
		return false;
	h = strong_shape(strcmp(store, "serial") == 0 ? STORE_SERIAL : STORE_SNAPSHOT, percent);
	h.txns = txns;
	h.seed = seed;
	history_write(&h, stdout);
	return true;
}

/* keys=100,reads=30,...: false: not such a name. */
static bool own_shape(const char *name, uint32_t txns, struct history_shape *shape)
{
	struct history_shape h = strong_shape(STORE_SERIAL, 50);
	char *text, *word, *rest;

	if (!strchr(name, '='))
		return false;
	h.txns = txns;
	rest = text = strdup(name);
	while ((word = strsep(&rest, ","))) {
		char what[16];
		unsigned n;

		if (sscanf(word, "%15[a-z]=%u", what, &n) != 2)
			BUG("%s: a word, = and a number", word);
		if (strcmp(what, "keys") == 0)
			h.keys = n;
		else if (strcmp(what, "sessions") == 0)
			h.processes = n;
		else if (strcmp(what, "ops") == 0)
			h.ops_max = n;
		else if (strcmp(what, "reads") == 0)
			h.read_percent = n;
		else if (strcmp(what, "same") == 0)
			h.same_percent = n;
		else if (strcmp(what, "zipf") == 0)
			h.zipf = n;
		else if (strcmp(what, "snapshots") == 0)
			h.store = n ? STORE_SNAPSHOT : STORE_SERIAL;
		else if (strcmp(what, "none") == 0)
			h.store = n ? STORE_NONE : h.store;
		else if (strcmp(what, "bysession") == 0)
			h.by_session = n;
		else if (strcmp(what, "seed") == 0)
			h.seed = n;
		else
			BUG("%s: not a word of a shape", what);
	}
	free(text);
	*shape = h;
	return true;
}

/* The same to standard output. */
static bool write_own(const char *name, uint32_t txns)
{
	struct history_shape h;

	if (!own_shape(name, txns, &h))
		return false;
	history_write(&h, stdout);
	return true;
}

/* Long, write-heavy, with many sessions, with hot keys: strong session SER and SI, each alone, which other
 * tools decide in minutes or not at all (docs/oracles/values.md, "Long histories"). */
static void hard(void)
{
	static const struct {
		uint32_t txns;
		const char *shape;
		double seconds, mib; /* at most, of both levels */
	} cases[] = {{30000, "reads=50", 15, 500}, {21000, "reads=30", 15, 500},
		{30000, "reads=10", 15, 500}, {30000, "reads=50,sessions=1000,snapshots=1", 60, 500},
		{30000, "reads=50,zipf=1,snapshots=1", 60, 500},
		{30000, "reads=30,snapshots=1", 60, 500}, {30000, "reads=50,keys=100", 60, 500},
		{30000, "reads=50,zipf=1", 60, 500}, {10000, "reads=50,sessions=1000", 15, 360},
		{30000, "reads=50,sessions=1000", 60, 500}, {100000, "reads=50", 60, 500},
		{100000, "reads=30", 60, 500}};
	static const char path[] = "bench-history.txt";

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct history_shape h;
		struct cost ser, si;

		own_shape(cases[i].shape, cases[i].txns, &h);
		write_history(path, &h);
		ser = measure(TASK_SER, IMPORT_PLUME, path);
		si = measure(TASK_SI, IMPORT_PLUME, path);
		printf("%-40s %6u txns  SER %5.2f s %6.1f MiB %s  SI %5.2f s %6.1f MiB %s\n",
			cases[i].shape, h.txns, ser.cpu, ser.mib,
			ser.status & STATUS_OPEN ? "undecided" : "decided", si.cpu, si.mib,
			si.status & STATUS_OPEN ? "undecided" : "decided");
		limit(ser.cpu + si.cpu, cases[i].seconds, "s", "%u, %s: SER and SI", h.txns,
			cases[i].shape);
		limit(ser.mib > si.mib ? ser.mib : si.mib, cases[i].mib, "MiB", "the same: memory");
		limit((ser.status & STATUS_OPEN) + (si.status & STATUS_OPEN), 0, "",
			"the same: undecided (2: one, 4: both)");
		unlink(path);
	}
}

static bool wanted(int argc, char **argv, const char *name)
{
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return argc <= 2;
}

/* The cost of one shape by that of another, where both were measured. */
static void growth(
	const double *cpu, const char *from, const char *to, double bound, const char *what)
{
	double a = 0, b = 0;

	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		a = strcmp(shapes[i].name, from) == 0 ? cpu[i] : a;
		b = strcmp(shapes[i].name, to) == 0 ? cpu[i] : b;
	}
	if (a > 0 && b > 0)
		limit(b / a, bound, "x", "%s", what);
}

int main(int argc, char **argv)
{
	uint32_t txns = argc > 1 ? (uint32_t)atol(argv[1]) : 1000000;
	double cpu[ARRAY_LEN(shapes)] = {0};

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && strcmp(argv[2], "write") == 0 &&
		(write_own(argv[3], txns) || write_strong(argv[3], txns)))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		const struct shape *shape = &shapes[i];

		if (argc == 4 && strcmp(argv[2], "write") == 0 &&
			strcmp(argv[3], shape->name) == 0) {
			struct history_shape h = complete(shape, txns);

			history_write(&h, stdout);
			return 0;
		}
		if (!wanted(argc, argv, shape->name))
			continue;
		cpu[i] = strncmp(shape->name, "edn", 3) == 0 ? lists(shape, txns)
							     : registers(shape, txns);
	}
	for (int i = 0; wanted(argc, argv, "strong") && i < 6; i++) {
		static const double best[][3] = {{95, 0.8, 0.8}, {50, 7.1, 10.5}, {30, 11.6, 20.3}};
		const double *b = best[i % 3];

		strong(i < 3 ? STORE_SERIAL : STORE_SNAPSHOT, (uint32_t)b[0], b[1], b[2]);
	}
	if (wanted(argc, argv, "hard"))
		hard();
	growth(cpu, "edn-small", "edn", 12, "10 x the EDN history");
	growth(cpu, "text-small", "text", 12, "10 x the register text, weak levels");
	growth(cpu, "edn-clean", "edn-giant", 2, "one giant component against a clean history");
	growth(cpu, "edn-clean", "edn-loose", 2, "thousands of components against a clean history");
	printf("\n%-70s %9s %-4s %9s\n", "limit", "measured", "", "at most");
	for (size_t i = 0; i < limit_count; i++)
		printf("%s  %s\n", limits[i].text, limits[i].met ? "met" : "MISSED");
	return 0;
}
