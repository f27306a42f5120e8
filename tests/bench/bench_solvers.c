/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the solver takes for serializability and snapshot isolation with session order, of histories of
 * registers whose order is open; see solvers.cc.  Without saturation and the other short cuts of the oracle:
 * the whole question.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bug.h"
#include "bench/histories.h"
#include "bench/solvers.h"
#include "import/import.h"
#include "values/model.h"

enum { SECONDS = 30 };

enum bench_solver bench_solver;
uint64_t bench_rounds, bench_cycles;

struct outcome {
	uint64_t rounds, cycles;
	int answer; /* enum level_answer; -1: not finished */
};

static void decide(const struct facts *f, enum model_level level, struct outcome *out)
{
	uint64_t steps = UINT64_MAX;
	struct model_core core;

	out->answer = (int)model_decide(f, level, CYCLE_SESSION, NULL, &steps, &core);
	out->rounds = bench_rounds;
	out->cycles = bench_cycles;
}

static void measure(const struct facts *f, const char *name, enum model_level level)
{
	static const char *const answers[] = {"holds", "fails", "undecided"};
#ifdef BENCH_OWN
	static const char *const solvers[] = {"own"};
#else
	static const char *const solvers[] = {"MiniSat", "CaDiCaL"};
#endif
	struct outcome *out = mmap(NULL, sizeof(*out), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(out != MAP_FAILED);
	for (size_t i = 0; i < sizeof(solvers) / sizeof(*solvers); i++) {
		struct rusage usage;
		int status;
		pid_t pid;

		fflush(stdout);
		*out = (struct outcome){.answer = -1};
		pid = fork();
		if (pid == 0) {
			setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS, SECONDS});
			bench_solver = (enum bench_solver)i;
			decide(f, level, out);
			_exit(0);
		}
		if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
			BUG("fork or wait failed");
		printf("%-36s %-4s %-8s %-9s %7.2f s %7.1f MiB %8llu rounds %9llu cycles\n", name,
			level == MODEL_PL_3 ? "SER" : "SI", solvers[i],
			out->answer < 0 ? "timeout" : answers[out->answer],
			(double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6,
			(double)usage.ru_maxrss / 1024, (unsigned long long)out->rounds,
			(unsigned long long)out->cycles);
	}
	munmap(out, sizeof(*out));
}

static void judge(enum import_format format, const char *path, const char *name)
{
	struct values v;
	struct facts f;
	struct err err;

	if (!import_path(format, path, NULL, &v, &err))
		BUG("%s", err.text);
	facts_find(&f, &v, false);
	measure(&f, name, MODEL_PL_3);
	measure(&f, name, MODEL_PL_SI);
	facts_release(&f);
	values_release(&v);
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = {300, 1000, 3000}, shares[] = {50, 30};
	enum import_format format;

	if (argc > 2 && import_format_parse(argv[1], &format)) {
		for (int i = 2; i < argc; i++)
			judge(format, argv[i], argv[i]);
		return 0;
	}
	for (int i = 0; i < 12; i++) {
		struct history_shape shape = {.txns = sizes[i / 4],
			.store = i % 4 < 2 ? STORE_SERIAL : STORE_SNAPSHOT,
			.processes = 25,
			.keys = sizes[i / 4] / 10,
			.ops_max = 10,
			.read_percent = shares[i % 2],
			.by_session = true,
			.seed = 11};
		char name[64];
		FILE *file = fopen("bench-solvers.txt", "w");

		if (!file)
			BUG("cannot write bench-solvers.txt");
		history_write(&shape, file);
		fclose(file);
		snprintf(name, sizeof(name), "%u txns, %s, %u %% reads", shape.txns,
			shape.store == STORE_SERIAL ? "serial" : "snapshots", shape.read_percent);
		judge(IMPORT_PLUME, "bench-solvers.txt", name);
		unlink("bench-solvers.txt");
	}
	return 0;
}
