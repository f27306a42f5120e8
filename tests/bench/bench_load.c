/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast a trace becomes a history, and how much memory that takes.
 *
 *	bench_load SMALL.itr [LARGE.itr]
 *
 * The rule: a trace becomes a history at no less than twice the record rate of
 * msgpack_unpack_next() over the same bytes.  The bytes of a trace are compressed, and
 * msgpack_unpack_next() cannot read that; so there are three ways to compare, and all are printed:
 * 1. history_load() of the file (reading, checksums, decompression, decoding, the version orders,
 *    the assertions) against msgpack_unpack_next() over the records, decompressed beforehand and
 *    held in memory, which does none of that and keeps nothing.  The strictest one, and the one
 *    that has to hold;
 * 2. history_load_records() of those same records in memory against the same;
 * 3. history_load() of the file against reading the file and msgpack_unpack_next().
 * By the clock, since that is what a user waits for: the loader has a second thread, and gains
 * from it where a second processor is free; the yardstick cannot.  Processor time of all threads
 * is printed beside it.
 *
 * The file is in the page cache.  Each load runs in a process of its own, whose memory no other load
 * touched before and whose peak memory is its alone.  All are run several times in turns, the small
 * trace and the large one too; medians count.  With two traces the ratios of size, time and memory
 * are printed as well.
 *
 * On a virtual machine that gives free pages back to its host the first touch of memory may wait
 * for the host; a load of half a second finds what the process before it left, a load of five
 * seconds not all of it.  So time outside the kernel and in it are printed beside the clock.
 *
 * Exit status 1 when a ratio of semantics.md, section 11 does not hold (only with --strict).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <msgpack/unpack.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/history/load.h"

enum { ROUNDS_SMALL = 10, ROUNDS_LARGE = 5, YARDSTICKS = 5 };

struct measured {
	uint64_t records, bytes_raw, bytes_file;
	uint64_t ops, versions, stmts, txns, objects;
	double load_s, unpack_s;         /* wall clock */
	double load_cpu_s, unpack_cpu_s; /* of all threads */
	double load_user_s, load_sys_s;  /* ... outside the kernel, and in it */
	double decode_s, decode_cpu_s;   /* of history_load_records */
	double read_s, read_cpu_s;       /* of reading the file alone */
	double rss_mib, rss_base_mib;    /* of the loading process; before the load */
};

/* The times, by number. */
#define TIMES(do)                                                                                  \
	do                                                                                         \
	(load_s) do(unpack_s) do(load_cpu_s) do(unpack_cpu_s) do(load_user_s) do(load_sys_s) do(   \
		decode_s) do(decode_cpu_s) do(read_s) do(read_cpu_s)

/* All measurements of a trace. */
struct series {
	struct measured loads[ROUNDS_SMALL], yardsticks[YARDSTICKS];
	unsigned load_count, yardstick_count;
};

static void die(const char *what, const struct err *err)
{
	fprintf(stderr, "bench_load: %s: %s\n", what, err->text);
	exit(4);
}

static double now_s(void)
{
	return (double)clock_mono_ns() / 1e9;
}

static double cpu_s(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9;
}

static double seconds(struct timeval time)
{
	return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static double rss_mib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss / 1024;
}

/* All records of a trace, decompressed. */
static struct buf slurp(const char *path, struct measured *out)
{
	struct trace_reader_options options = {.salvage = false};
	struct trace_reader *reader;
	struct trace_totals totals;
	struct trace_block block;
	struct buf bytes = BUF_INIT;
	enum trace_next next;
	struct err err;

	reader = trace_reader_open(path, &options, &err);
	if (!reader)
		die(path, &err);
	while ((next = trace_next_block(reader, &block, &err)) == TRACE_NEXT_OK)
		buf_add_span(&bytes, block.records);
	if (next == TRACE_NEXT_ERROR)
		die(path, &err);
	trace_reader_totals(reader, &totals);
	out->bytes_file = totals.bytes_file;
	out->bytes_raw = bytes.len;
	trace_reader_close(reader);
	return bytes;
}

/* Reading, checksums and decompression alone. */
static void time_read(const char *path, struct measured *out)
{
	struct trace_reader_options options = {.unwalked = true};
	double begin = now_s(), cpu_begin = cpu_s();
	struct trace_reader *reader;
	struct trace_block block;
	enum trace_next next;
	struct err err;

	reader = trace_reader_open(path, &options, &err);
	if (!reader)
		die(path, &err);
	while ((next = trace_next_block(reader, &block, &err)) == TRACE_NEXT_OK)
		;
	if (next == TRACE_NEXT_ERROR)
		die(path, &err);
	trace_reader_close(reader);
	out->read_s = now_s() - begin;
	out->read_cpu_s = cpu_s() - cpu_begin;
}

static void time_unpack(struct span bytes, struct measured *out)
{
	msgpack_unpacked unpacked;
	double begin = now_s(), cpu_begin = cpu_s();
	size_t at = 0;

	out->records = 0;
	msgpack_unpacked_init(&unpacked);
	while (msgpack_unpack_next(&unpacked, bytes.ptr, bytes.len, &at) == MSGPACK_UNPACK_SUCCESS)
		out->records++;
	msgpack_unpacked_destroy(&unpacked);
	out->unpack_s = now_s() - begin;
	out->unpack_cpu_s = cpu_s() - cpu_begin;
}

static void time_decode(struct span bytes, struct measured *out)
{
	double begin = now_s(), cpu_begin = cpu_s();
	struct history history;
	struct err err;

	if (!history_load_records(&history, bytes, NULL, &err))
		die("records", &err);
	out->decode_s = now_s() - begin;
	out->decode_cpu_s = cpu_s() - cpu_begin;
	history_release(&history);
}

/* In a child, so that its peak memory is the load's alone. */
static void time_load(const char *path, struct measured *out)
{
	struct measured *shared;
	int fds[2], status;
	pid_t child;

	if (pipe(fds) != 0 || (child = fork()) < 0) {
		perror("bench_load");
		exit(4);
	}
	if (child == 0) {
		struct measured m = *out;
		struct history history;
		struct err err;
		struct rusage before, after;
		double begin, cpu_begin;

		m.rss_base_mib = rss_mib();
		getrusage(RUSAGE_SELF, &before);
		begin = now_s();
		cpu_begin = cpu_s();
		if (!history_load(&history, path, NULL, &err))
			die(path, &err);
		m.load_s = now_s() - begin;
		m.load_cpu_s = cpu_s() - cpu_begin;
		getrusage(RUSAGE_SELF, &after);
		m.load_user_s = seconds(after.ru_utime) - seconds(before.ru_utime);
		m.load_sys_s = seconds(after.ru_stime) - seconds(before.ru_stime);
		m.rss_mib = rss_mib();
		m.ops = history.op_count;
		m.versions = history.version_count;
		m.stmts = history.stmt_count;
		m.txns = history.txn_count;
		m.objects = history.object_count;
		if (write(fds[1], &m, sizeof(m)) != (ssize_t)sizeof(m))
			_exit(4);
		_exit(0);
	}
	close(fds[1]);
	shared = mem_alloc(sizeof(*shared));
	if (read(fds[0], shared, sizeof(*shared)) != (ssize_t)sizeof(*shared)) {
		fprintf(stderr, "bench_load: the loading process failed\n");
		exit(4);
	}
	close(fds[0]);
	waitpid(child, &status, 0);
	*out = *shared;
	free(shared);
}

/* The unpacking runs in a child too: the loading children must not inherit its memory. */
static void time_unpack_apart(const char *path, struct measured *out)
{
	int fds[2], status;
	pid_t child;

	if (pipe(fds) != 0 || (child = fork()) < 0) {
		perror("bench_load");
		exit(4);
	}
	if (child == 0) {
		struct buf bytes = slurp(path, out);

		time_read(path, out);
		time_unpack(buf_span(&bytes), out);
		time_decode(buf_span(&bytes), out);
		if (write(fds[1], out, sizeof(*out)) != (ssize_t)sizeof(*out))
			_exit(4);
		_exit(0);
	}
	close(fds[1]);
	if (read(fds[0], out, sizeof(*out)) != (ssize_t)sizeof(*out)) {
		fprintf(stderr, "bench_load: the unpacking process failed\n");
		exit(4);
	}
	close(fds[0]);
	waitpid(child, &status, 0);
}

/* One round, with or without the yardstick. */
static void measure(const char *path, bool yardstick, struct series *series)
{
	if (yardstick && series->yardstick_count < YARDSTICKS)
		time_unpack_apart(path, &series->yardsticks[series->yardstick_count++]);
	time_load(path, &series->loads[series->load_count++]);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
	qsort(values, count, sizeof(*values), by_size);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The medians; what is the same in each round from the first. */
static struct measured medians(const struct series *series)
{
	struct measured m = series->loads[0];
	double values[ROUNDS_SMALL];

	m.records = series->yardsticks[0].records;
	m.bytes_raw = series->yardsticks[0].bytes_raw;
	m.bytes_file = series->yardsticks[0].bytes_file;
#define MEDIAN(name)                                                                               \
	{                                                                                          \
		bool load = strncmp(#name, "load", 4) == 0;                                        \
		unsigned count = load ? series->load_count : series->yardstick_count;              \
                                                                                                   \
		for (unsigned i = 0; i < count; i++)                                               \
			values[i] = load ? series->loads[i].name : series->yardsticks[i].name;     \
		m.name = median(values, count);                                                    \
	}
	TIMES(MEDIAN)
	for (unsigned i = 0; i < series->load_count; i++)
		m.rss_mib =
			series->loads[i].rss_mib > m.rss_mib ? series->loads[i].rss_mib : m.rss_mib;
	return m;
}

static double least_load(const struct series *series)
{
	double least = series->loads[0].load_s;

	for (unsigned i = 1; i < series->load_count; i++)
		least = series->loads[i].load_s < least ? series->loads[i].load_s : least;
	return least;
}

static void print(const char *path, const struct measured *m)
{
	double records = (double)m->records;

	printf("%s: %.1f MiB, %.1f MiB of records, %llu records\n", path,
		(double)m->bytes_file / 1048576, (double)m->bytes_raw / 1048576,
		(unsigned long long)m->records);
	printf("  history: %llu operations, %llu statements, %llu transactions, %llu objects, "
	       "%llu versions\n",
		(unsigned long long)m->ops, (unsigned long long)m->stmts,
		(unsigned long long)m->txns, (unsigned long long)m->objects,
		(unsigned long long)m->versions);
	printf("  history_load        %8.3f s  %10.0f records/s  %6.0f ns/record; %.3f s of "
	       "processor: %.3f outside the kernel, %.3f in it\n",
		m->load_s, records / m->load_s, m->load_s / records * 1e9, m->load_cpu_s,
		m->load_user_s, m->load_sys_s);
	printf("  msgpack_unpack_next %8.3f s  %10.0f records/s  %6.0f ns/record; %.3f s of "
	       "processor\n",
		m->unpack_s, records / m->unpack_s, m->unpack_s / records * 1e9, m->unpack_cpu_s);
	printf("  history_load_records%8.3f s  %10.0f records/s  %6.0f ns/record; %.3f s of "
	       "processor\n",
		m->decode_s, records / m->decode_s, m->decode_s / records * 1e9, m->decode_cpu_s);
	printf("  ratio of record rates: %.2f (at least 2); by processor time %.2f\n",
		m->unpack_s / m->load_s, m->unpack_cpu_s / m->load_cpu_s);
	printf("  ... over the same bytes in memory: %.2f; by processor time %.2f\n",
		m->unpack_s / m->decode_s, m->unpack_cpu_s / m->decode_cpu_s);
	printf("  ... with the reading of the file on both sides: %.2f; by processor time %.2f\n",
		(m->read_s + m->unpack_s) / m->load_s,
		(m->read_cpu_s + m->unpack_cpu_s) / m->load_cpu_s);
	printf("  peak memory: %.0f MiB, of which %.0f MiB before the load\n", m->rss_mib,
		m->rss_base_mib);
}

int main(int argc, char **argv)
{
	bool strict = argc > 1 && strcmp(argv[1], "--strict") == 0;
	static struct series all[2];
	struct measured small, large;
	bool ok;

	argv += strict;
	argc -= strict;
	if (argc == 3 && strcmp(argv[1], "--once") == 0) {
		/* For a profiler. */
		struct measured m = {.records = 1};

		time_load(argv[2], &m);
		return 0;
	}
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: bench_load [--strict] SMALL.itr [LARGE.itr]\n");
		return 2;
	}
	printf("Timed: history_load from a file in the page cache (read, checksum, decompress, "
	       "decode, order, check)\n"
	       "against msgpack_unpack_next over the same records, decompressed beforehand.  "
	       "Medians of %d loads in processes of their own and of %d yardsticks (of %d and 1 "
	       "for a second trace).\n",
		ROUNDS_SMALL, YARDSTICKS, ROUNDS_LARGE);
	for (int i = 0; i < ROUNDS_SMALL; i++) {
		measure(argv[1], i % (ROUNDS_SMALL / YARDSTICKS) == 0, &all[0]);
		if (argc == 3 && i % (ROUNDS_SMALL / ROUNDS_LARGE) == 0)
			measure(argv[2], i == 0, &all[1]);
	}
	small = medians(&all[0]);
	print(argv[1], &small);
	ok = small.unpack_s / small.load_s >= 2;
	if (argc == 3) {
		double size, time, memory;

		large = medians(&all[1]);
		print(argv[2], &large);
		size = (double)large.ops / (double)small.ops;
		time = large.load_s / small.load_s;
		memory =
			(large.rss_mib - large.rss_base_mib) / (small.rss_mib - small.rss_base_mib);
		printf("operations x %.2f, bytes x %.2f: time x %.2f, memory x %.2f (for x 10, at "
		       "most x 11 each)\n",
			size, (double)large.bytes_raw / (double)small.bytes_raw, time, memory);
		printf("  best loads: time x %.2f; processor time x %.2f: outside the kernel x "
		       "%.2f, in it x %.2f\n",
			least_load(&all[1]) / least_load(&all[0]),
			large.load_cpu_s / small.load_cpu_s,
			large.load_user_s / (small.load_user_s > 0.01 ? small.load_user_s : 0.01),
			large.load_sys_s / (small.load_sys_s > 0.01 ? small.load_sys_s : 0.01));
		printf("peak memory of the large one: %.2f GiB (at most 1.5 for 10 million "
		       "operations)\n",
			large.rss_mib / 1024);
		ok &= time <= 1.1 * size && memory <= 1.1 * size && large.rss_mib <= 1536;
	}
	return strict && !ok;
}
