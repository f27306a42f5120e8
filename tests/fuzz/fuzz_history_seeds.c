/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the seed corpus of fuzz_history into a directory: the records of small simulated runs,
 * under each discipline with each kind of probes, and with each phenomenon that can be planted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/sim.h"

/* Of what the fuzzer takes (tests/fuzz/run). */
enum { SEED_MAX = 16384 };

static void store(const char *dir, const char *name, unsigned variant, struct span bytes)
{
	char path[1000];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s-%u", dir, name, variant);
	file = fopen(path, "wb");
	if (!file || fwrite(bytes.ptr, 1, bytes.len, file) != bytes.len || fclose(file) != 0) {
		perror(path);
		exit(1);
	}
}

/* Few keys and many kinds of statements: versions, deletions and predicates of the same rows. */
static struct sim_options small_run(uint64_t seed)
{
	struct sim_options options;

	sim_defaults(&options);
	options.seed = seed;
	options.sessions = 3;
	options.transactions = 6;
	options.ops = 3;
	options.keys = 6;
	options.predicate_keys = 0;
	options.savepoint = 0.2;
	options.unknown = 0.1;
	options.autocommit = 0.2;
	options.pk_update = 0.1;
	return options;
}

static void run(const char *dir, const char *name, unsigned variant, struct sim_options options)
{
	struct buf records = BUF_INIT;
	struct sim_sink sink = sim_sink_memory(&records);
	struct err err;

	if (!sim_run(&options, &sink, NULL, NULL, NULL, &err)) {
		fprintf(stderr, "fuzz_history_seeds: %s: %s\n", name, err.text);
		exit(1);
	}
	/* What is longer would be cut in the middle of a record: still a seed, of the damaged kind.
	 */
	if (records.len > SEED_MAX)
		records.len = SEED_MAX;
	store(dir, name, variant, buf_span(&records));
	buf_release(&records);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: fuzz_history_seeds DIRECTORY\n");
		return 2;
	}
	for (unsigned d = 0; d < SIM_DISCIPLINE_COUNT; d++) {
		for (unsigned probes = SIM_PROBES_TRIGGER; probes <= SIM_PROBES_OFF; probes++) {
			struct sim_options options = small_run(d + 1);

			options.discipline = (enum sim_discipline)d;
			options.probes = (enum sim_probes)probes;
			run(argv[1], sim_discipline_name(options.discipline), probes, options);
		}
	}
	for (unsigned plant = 0; plant < SIM_PLANT_KINDS; plant++) {
		struct sim_options options = small_run(plant + 1);

		options.transactions = 1;
		options.plants[plant] = 1;
		run(argv[1], sim_plant_name((enum sim_plant)plant), 0, options);
	}
	return 0;
}
