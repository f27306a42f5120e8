/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer: several producers and their order, time, sizes, files. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer_checks.h"

/* ---- several producers ---- */

/* Numbers are reserved for several things, and their records made later: fewer or more of them than
 * were reserved for. */
static void *work_later(void *arg)
{
	enum { THINGS = 7, RESERVED = 3 };
	struct worker *worker = arg;
	struct trace_producer *producer = trace_producer_open(worker->writer);
	uint64_t last = 0, i = 0;

	while (i < worker->count) {
		uint64_t first[THINGS];

		for (int k = 0; k < THINGS; k++)
			first[k] = trace_producer_reserve(producer, RESERVED);
		/* A block is written, and its watermark found, while they are reserved. */
		if (i % 10 == 0)
			trace_producer_flush(producer);
		for (int k = 0; k < THINGS; k++) {
			unsigned records = i % 101 == 0 ? 5 : (unsigned)k % 4;

			trace_producer_use(producer, first[k], RESERVED);
			for (unsigned n = 0; n < records && i < worker->count; n++, i++) {
				uint64_t seq = numbered_emit(producer, worker->thread, i);

				/* Those that were reserved, unless more were needed before. */
				if (seq <= last || (last < first[k] && n < RESERVED &&
							   seq != first[k] + n))
					abort();
				last = seq;
			}
		}
		trace_producer_use(producer, 0, 0);
	}
	trace_producer_close(producer);
	return NULL;
}

/* The promise of the block record: no later block has a smaller seq than the watermark. */
static void check_watermarks(const char *path)
{
	struct trace_reader *reader;
	struct trace_block block;
	uint64_t watermark = 0, blocks = 0;
	enum trace_next next;
	struct err err;

	reader = trace_reader_open(path, NULL, &err);
	ck_assert_msg(reader != NULL, "%s", err.text);
	while ((next = trace_next_block(reader, &block, &err)) == TRACE_NEXT_OK) {
		struct mp mp = mp_over(block.records);
		uint64_t low = UINT64_MAX, high = 0;

		for (uint32_t i = 0; i < block.record_count; i++) {
			uint32_t kind, left;
			uint64_t seq;

			HOLDS(record_begin(&mp, &kind, &left));
			seq = mp_uint(&mp);
			HOLDS(record_skip_fields(&mp, left - 1));
			low = seq < low ? seq : low;
			high = seq > high ? seq : high;
		}
		EQUAL(mp_left(&mp), 0);
		EQUAL(block.info.first_seq, low);
		EQUAL(block.info.last_seq, high);
		if (!block.info.context) {
			HOLDS(low >= watermark);
			HOLDS(block.info.watermark >= watermark);
			watermark = block.info.watermark;
		}
		blocks++;
	}
	ck_assert_msg(next == TRACE_NEXT_END, "%s", err.text);
	ck_assert_uint_gt(blocks, 10);
	trace_reader_close(reader);
}

static void several_producers(int level, uint64_t segment_size, void *(*main)(void *))
{
	struct trace_writer_options options;
	struct trace_writer *writer;
	struct seen seen;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");

	trace_writer_defaults(&options);
	options.block_size = 4096;
	options.flush_interval_ms = 1;
	options.compression_level = level;
	options.segment_size_max = segment_size;
	writer = open_writer(path, &options);
	run_workers(writer, EACH, main);
	close_writer(writer);

	see(path, false, &seen);
	ck_assert_uint_eq(seen.notes, THREADS * EACH);
	ck_assert(seen.totals.clean);
	see(path, true, &seen);
	ck_assert_uint_eq(seen.notes, THREADS * EACH);
	ck_assert(seen.in_order);
	ck_assert_uint_eq(seen.totals.out_of_order, 0);
	ck_assert_uint_eq(seen.lost, 0);
	ck_assert(seen.totals.clean);
	ck_assert_str_eq(seen.last_footer, "end");
	if (segment_size)
		ck_assert_uint_gt(seen.totals.segments, 3);
	check_watermarks(path);
	free(path);
	temp_dir_remove(dir);
}

START_TEST(producers_merge_in_order)
{
	several_producers(1, 0, work);
	several_producers(0, 0, work);
}
END_TEST

/* A thread of the lowest priority has some time here, or none: the records are the same. */
START_TEST(idle_time_compresses)
{
	several_producers(TRACE_COMPRESSION_AUTO, 0, work);
	several_producers(TRACE_COMPRESSION_AUTO, 100000, work);
}
END_TEST

START_TEST(reserved_numbers_are_kept_in_order)
{
	several_producers(0, 0, work_later);
}
END_TEST

static void emit_notes(struct trace_producer *producer, int count, uint64_t *state)
{
	char text[1000];
	struct record_note note = {.topic = SPAN_LIT("t"), .text = span_of(text, sizeof(text))};

	memset(text, 'a', sizeof(text));
	for (int i = 0; i < count; i++) {
		for (size_t k = 0; state && k < sizeof(text); k++) {
			*state = *state * 6364136223846793005u + 1442695040888963407u;
			text[k] = (char)(*state >> 56);
		}
		trace_emit_note(producer, &note);
	}
	trace_producer_flush(producer);
}

/* What does not shrink is written as it is, and soon not even tried; what comes later is. */
START_TEST(compression_must_pay)
{
	struct trace_writer_options options;
	struct trace_writer_stats random, all;
	struct trace_writer *writer;
	struct trace_producer *producer;
	struct seen seen;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	uint64_t state = 1;

	trace_writer_defaults(&options);
	options.block_size = 4096;
	options.compression_level = TRACE_COMPRESSION_FAST;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	emit_notes(producer, 1000, &state);
	do
		trace_writer_stats(writer, &random);
	while (random.backlog_bytes);
	emit_notes(producer, 1000, NULL);
	trace_producer_close(producer);
	do
		trace_writer_stats(writer, &all);
	while (all.backlog_bytes);
	close_writer(writer);
	ck_assert_uint_gt(random.bytes_written, random.bytes_raw);
	/* At most 32 of the 250 blocks of 4 KiB passed before the next was tried. */
	ck_assert_uint_lt(all.bytes_written - random.bytes_written,
		(all.bytes_raw - random.bytes_raw) / 4);
	see(path, true, &seen);
	ck_assert_uint_eq(seen.others, 2000);
	ck_assert(seen.totals.clean);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

START_TEST(segments_merge_in_order)
{
	several_producers(1, 64 * 1024, work);
}
END_TEST

/* With a window of nothing the order is lost, and it is said how often; no record is. */
START_TEST(small_window_is_counted)
{
	struct trace_reader_options options = {.ordered = true, .order_bytes_max = 1};
	struct trace_writer_options wopts;
	struct trace_writer *writer;
	struct trace_producer *a, *b;
	struct trace_reader *reader;
	struct trace_totals totals;
	struct trace_item item;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	struct err err;

	trace_writer_defaults(&wopts);
	wopts.flush_interval_ms = 1000000;
	writer = open_writer(path, &wopts);
	a = trace_producer_open(writer);
	b = trace_producer_open(writer);
	for (int i = 0; i < 10; i++) {
		numbered_emit(a, 0, (uint64_t)i);
		numbered_emit(b, 1, (uint64_t)i);
	}
	trace_producer_close(b); /* b's later seqs stand first in the file */
	trace_producer_close(a);
	close_writer(writer);
	reader = trace_reader_open(path, &options, &err);
	ck_assert_msg(reader != NULL, "%s", err.text);
	while (trace_next_item(reader, &item, &err) == TRACE_NEXT_OK)
		;
	trace_reader_totals(reader, &totals);
	ck_assert_uint_eq(totals.records, 21);
	ck_assert_uint_eq(totals.out_of_order, 10);
	trace_reader_close(reader);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* ---- time ---- */

/* An idle producer's record reaches the file without being asked for. */
START_TEST(idle_records_are_flushed)
{
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct seen seen = {0};
	char *dir = temp_dir(), *path = temp_path(dir, "trace");

	trace_writer_defaults(&options);
	options.flush_interval_ms = 5;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	numbered_emit(producer, 0, 0);
	while (seen.notes == 0) /* ends by the test's time limit if it never comes */
		see(path, false, &seen);
	ck_assert(!seen.totals.clean); /* no footer yet */
	trace_producer_close(producer);
	close_writer(writer);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* ---- sizes ---- */

START_TEST(large_records_stand_alone)
{
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_block block;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	size_t size = 3 * 1000 * 1000;
	char *text = malloc(size);
	struct record_note note = {.text = span_of(text, size)};
	struct err err;
	int large = 0;

	memset(text, 'x', size);
	trace_writer_defaults(&options);
	options.flush_interval_ms = 1000000;
	options.buffer_size_max = 1000 * 1000; /* an empty queue takes a larger one all the same */
	options.policy = TRACE_POLICY_WAIT;
	options.wait_ms_max = 100000;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	for (uint64_t i = 0; i < 100; i++) {
		numbered_emit(producer, 0, i);
		if (i % 10 == 5)
			trace_emit_note(producer, &note);
	}
	trace_producer_close(producer);
	close_writer(writer);
	reader = trace_reader_open(path, NULL, &err);
	ck_assert(reader != NULL);
	while (trace_next_block(reader, &block, &err) == TRACE_NEXT_OK) {
		if (block.records.len > size) {
			/* Alone, but for the news that its producer had to wait. */
			ck_assert_uint_le(block.record_count, 2);
			ck_assert_uint_le(block.records.len, size + 300);
			large++;
		} else {
			ck_assert_uint_le(block.records.len, TRACE_BLOCK_SIZE_DEFAULT);
		}
	}
	ck_assert_int_eq(large, 10);
	trace_reader_close(reader);
	free(text);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

START_TEST(impossible_records_are_told)
{
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct seen seen;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	size_t size = TRACE_BLOCK_RAW_MAX;
	char *text = calloc(1, size);
	struct record_note note = {.text = span_of(text, size)};

	trace_writer_defaults(&options);
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	numbered_emit(producer, 0, 0);
	trace_emit_note(producer, &note);
	numbered_emit(producer, 0, 1);
	trace_producer_close(producer);
	close_writer(writer);
	see(path, false, &seen);
	ck_assert_uint_eq(seen.notes, 2);
	ck_assert_uint_eq(seen.lost, 1);
	ck_assert_uint_eq(seen.totals.lost_records, 1);
	free(text);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* ---- files ---- */

START_TEST(existing_files_are_kept)
{
	struct trace_writer_options options;
	struct trace_writer *writer, *second;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	struct stat st;
	struct err err;

	trace_writer_defaults(&options);
	file_store(path, "precious", 8);
	ck_assert(trace_writer_open(path, &options, &err) == NULL);
	ck_assert(strstr(err.text, "exists and is not empty"));
	ck_assert_int_eq(err.code, ERR_USAGE);
	options.overwrite = true;
	chmod(path, 0644);
	writer = open_writer(path, &options);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	second = trace_writer_open(path, &options, &err);
	ck_assert(second == NULL);
	ck_assert(strstr(err.text, "another recorder"));
	close_writer(writer);
	/* A directory of segments is not mixed with another. */
	options.segment_size_max = 10000;
	unlink(path);
	close_writer(open_writer(path, &options));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0700);
	ck_assert(trace_writer_open(path, &options, &err) == NULL);
	ck_assert(strstr(err.text, "holds segments of a trace already"));
	ck_assert(trace_writer_open("/no/such/place/trace", &options, &err) == NULL);
	ck_assert_int_eq(err.errnum, ENOENT);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

static void *read_pipe(void *arg)
{
	struct seen *seen = arg;

	see("-", true, seen);
	return NULL;
}

/* A trace through a pipe: written to a FIFO, read from standard input. */
START_TEST(pipes_work)
{
	struct trace_writer_options options;
	struct trace_writer *writer;
	struct seen seen;
	char *dir = temp_dir(), *path = temp_path(dir, "fifo");
	pthread_t thread;
	int fd;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_ge(dup2(fd, STDIN_FILENO), 0);
	close(fd);
	trace_writer_defaults(&options);
	writer = open_writer(path, &options);
	/* Standard input must not be its own writer, or it never ends. */
	fd = open(path, O_RDONLY);
	ck_assert_int_ge(dup2(fd, STDIN_FILENO), 0);
	close(fd);
	ck_assert_int_eq(pthread_create(&thread, NULL, read_pipe, &seen), 0);
	run_workers(writer, 1000, work);
	close_writer(writer);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(seen.notes, THREADS * 1000);
	ck_assert(seen.totals.clean && seen.in_order);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

UNIT_MAIN("trace_writer", producers_merge_in_order, idle_time_compresses, reserved_numbers_are_kept_in_order, compression_must_pay,
	segments_merge_in_order, small_window_is_counted, idle_records_are_flushed, large_records_stand_alone,
	impossible_records_are_told, existing_files_are_kept, pipes_work)
