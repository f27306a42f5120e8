/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer: several producers, order, rotation, context, what the policies do when the disk
 * stalls, and what failing system calls leave behind.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace_make.h"

enum { THREADS = 4, EACH = 3000 };

static struct trace_writer *open_writer(
	const char *path, const struct trace_writer_options *options)
{
	struct trace_writer *writer;
	struct err err;

	writer = trace_writer_open(path, options, &err);
	ck_assert_msg(writer != NULL, "%s", err.text);
	return writer;
}

static void close_writer(struct trace_writer *writer)
{
	struct err err;

	ck_assert_msg(trace_writer_close(writer, &err), "%s", err.text);
}

/* ---- counting what is read ---- */

struct seen {
	uint64_t next[THREADS]; /* number expected next, by thread */
	uint64_t notes, gaps, lost, waited, stopped, rotated, footers, others;
	uint64_t last_seq;
	bool in_order; /* by seq, over all */
	struct trace_totals totals;
	char last_footer[16];
	char gap_detail[200];
};

static void see_gap(struct seen *seen, const struct trace_item *item)
{
	struct mp mp = item->mp;
	struct record_gap gap;

	HOLDS(record_gap_read(&mp, item->left, &gap));
	seen->gaps++;
	if (span_eq_str(gap.reason, "waited")) {
		seen->waited++;
		EQUAL(gap.records, 0);
		HOLDS(gap.at >= gap.begin && gap.begin);
	} else if (span_eq_str(gap.reason, "rotated")) {
		seen->rotated = gap.records;
	} else {
		seen->lost += gap.records;
		seen->stopped += span_eq_str(gap.reason, "stopped");
		HOLDS(span_eq_str(gap.reason, "stopped") || span_eq_str(gap.reason, "dropped"));
		if (gap.records && gap.first_seq)
			HOLDS(gap.first_seq <= gap.last_seq);
		snprintf(seen->gap_detail, sizeof(seen->gap_detail), "%.*s", SPAN_ARG(gap.detail));
	}
}

/* Reads a trace; numbers of a thread may be skipped (lost), never repeated or reordered. */
static void see(const char *path, bool ordered, struct seen *seen)
{
	struct trace_reader_options options = {.ordered = ordered};
	struct trace_reader *reader;
	struct trace_item item;
	enum trace_next next;
	struct err err;

	memset(seen, 0, sizeof(*seen));
	seen->in_order = true;
	reader = trace_reader_open(path, &options, &err);
	ck_assert_msg(reader != NULL, "%s", err.text);
	while ((next = trace_next_item(reader, &item, &err)) == TRACE_NEXT_OK) {
		uint64_t number, seq;
		uint32_t thread;

		if (item.kind == RECORD_GAP) {
			see_gap(seen, &item);
		} else if (item.kind == RECORD_FOOTER) {
			struct mp mp = item.mp;
			struct record_footer footer;

			HOLDS(record_footer_read(&mp, item.left, &footer));
			seen->footers++;
			snprintf(seen->last_footer, sizeof(seen->last_footer), "%.*s",
				SPAN_ARG(footer.reason));
		} else if (numbered_read(&item, &thread, &number, &seq)) {
			HOLDS(thread < THREADS);
			HOLDS(number >= seen->next[thread]);
			seen->next[thread] = number + 1;
			seen->notes++;
			if (seq <= seen->last_seq)
				seen->in_order = false;
			seen->last_seq = seq;
		} else {
			seen->others++;
		}
	}
	ck_assert_msg(next == TRACE_NEXT_END, "%s", err.text);
	trace_reader_totals(reader, &seen->totals);
	trace_reader_close(reader);
}

/* ---- several producers ---- */

struct worker {
	struct trace_writer *writer;
	uint32_t thread;
	uint64_t count;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct trace_producer *producer = trace_producer_open(worker->writer);
	uint64_t last = 0;

	for (uint64_t i = 0; i < worker->count; i++) {
		uint64_t seq = numbered_emit(producer, worker->thread, i);

		if (seq <= last)
			abort();
		last = seq;
		if (i % 997 == 0)
			trace_producer_flush(producer);
	}
	trace_producer_close(producer);
	return NULL;
}

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

static void run_workers(struct trace_writer *writer, uint64_t count, void *(*main)(void *))
{
	struct worker workers[THREADS];
	pthread_t threads[THREADS];

	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){writer, i, count};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, main, &workers[i]), 0);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
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

/* An idle producer's record reaches the file without anybody asking. */
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

/* ---- rotation and context ---- */

static void emit_session(
	struct trace_writer *writer, struct trace_producer *producer, uint32_t id, bool open)
{
	struct record_session session = {
		.session = id, .event = open ? SESSION_OPENED : SESSION_CLOSED};
	struct buf record = BUF_INIT;
	char key[16];

	snprintf(key, sizeof(key), "s%u", id);
	session.seq = trace_emit_session(producer, &session);
	session.at = 1;
	if (open)
		record_session_pack(&record, &session);
	trace_context_set(writer, span_str(key), open ? buf_span(&record) : SPAN_NONE);
	buf_release(&record);
}

/* Sessions that the records of a segment belong to are known in it, whatever was removed. */
static void check_sessions_known(const char *path, bool *sessions, uint32_t max)
{
	struct trace_reader_options options = {.ordered = true};
	struct trace_reader *reader;
	struct trace_item item;
	enum trace_next next;
	struct err err;
	uint64_t opened = 0;

	memset(sessions, 0, max * sizeof(*sessions));
	reader = trace_reader_open(path, &options, &err);
	ck_assert_msg(reader != NULL, "%s", err.text);
	while ((next = trace_next_item(reader, &item, &err)) == TRACE_NEXT_OK) {
		struct record_session session;
		struct record_txn txn;
		struct mp mp = item.mp;

		if (item.kind == RECORD_SESSION) {
			HOLDS(record_session_read(&mp, item.left, &session));
			HOLDS(session.session < max);
			if (session.event == SESSION_OPENED) {
				HOLDS(!sessions[session.session]);
				opened++;
			}
			sessions[session.session] = session.event == SESSION_OPENED;
		} else if (item.kind == RECORD_TXN) {
			HOLDS(record_txn_read(&mp, item.left, &txn));
			HOLDS(sessions[txn.session]);
		}
	}
	ck_assert_msg(next == TRACE_NEXT_END, "%s", err.text);
	ck_assert_uint_gt(opened, 0);
	trace_reader_close(reader);
}

enum { SESSIONS = 600 };

/* Sessions open and close all the time, several segments long; each works in between. */
static void run_sessions(struct trace_writer *writer)
{
	struct trace_producer *producers[2] = {
		trace_producer_open(writer), trace_producer_open(writer)};

	for (uint32_t id = 0; id < SESSIONS; id++) {
		/* Two producers that hand over at different times: records overtake each other. */
		struct trace_producer *producer = producers[id % 2];

		emit_session(writer, producer, id, true);
		for (int i = 0; i < 20; i++) {
			struct record_txn txn = {.session = id, .reason = SPAN_LIT("work")};

			trace_emit_txn(producer, &txn);
			/* An older one goes on beside it. */
			if (id >= 10) {
				txn.session = id - 10;
				trace_emit_txn(producers[(id - 10) % 2], &txn);
			}
		}
		if (id >= 10)
			emit_session(writer, producers[(id - 10) % 2], id - 10, false);
		if (id == 300)
			trace_writer_rotate(writer);
	}
	trace_producer_close(producers[0]);
	trace_producer_close(producers[1]);
}

START_TEST(context_is_repeated)
{
	struct trace_writer_options options;
	struct trace_writer *writer;
	bool sessions[SESSIONS];
	struct seen seen;
	char *dir = temp_dir(), *path = temp_path(dir, "trace"), name[300];
	uint32_t segments;

	trace_writer_defaults(&options);
	options.block_size = 1024;
	options.segment_size_max = 30 * 1024;
	options.flush_interval_ms = 1000000;
	writer = open_writer(path, &options);
	run_sessions(writer);
	close_writer(writer);
	/* As a whole, nothing comes twice. */
	check_sessions_known(path, sessions, SESSIONS);
	see(path, false, &seen);
	ck_assert(seen.totals.clean);
	segments = seen.totals.segments;
	ck_assert_uint_gt(segments, 3);
	/* Each single segment stands alone; and so does what is left when the oldest are removed.
	 */
	for (uint32_t i = 1; i <= segments; i++) {
		snprintf(name, sizeof(name), "%s/%06u.itr", path, i);
		check_sessions_known(name, sessions, SESSIONS);
	}
	for (uint32_t i = 1; i < segments; i++) {
		snprintf(name, sizeof(name), "%s/%06u.itr", path, i);
		ck_assert_int_eq(unlink(name), 0);
		check_sessions_known(path, sessions, SESSIONS);
	}
	free(path);
	temp_dir_remove(dir);
}
END_TEST

static uint64_t directory_size(const char *path, uint32_t *files)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	uint64_t size = 0;

	*files = 0;
	while ((entry = readdir(dir))) {
		char *file = temp_path(path, entry->d_name);
		struct stat st;

		if (stat(file, &st) == 0 && S_ISREG(st.st_mode)) {
			size += (uint64_t)st.st_size;
			++*files;
		}
		free(file);
	}
	closedir(dir);
	return size;
}

START_TEST(total_size_is_kept)
{
	struct trace_writer_options options;
	struct trace_writer *writer;
	struct seen seen;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	uint32_t files;

	trace_writer_defaults(&options);
	options.block_size = 4096;
	options.segment_size_max = 50 * 1000;
	options.total_size_max = 220 * 1000;
	writer = open_writer(path, &options);
	run_workers(writer, 4000, work);
	close_writer(writer);
	ck_assert_uint_le(directory_size(path, &files), options.total_size_max);
	ck_assert_uint_ge(files, 3);
	see(path, true, &seen);
	ck_assert(seen.in_order);
	ck_assert_uint_gt(seen.rotated, 0);
	ck_assert(!seen.totals.clean); /* the beginning is missing, and that is said */
	/* Notes, removed records and their gap records make up everything that was sent. */
	ck_assert_uint_eq(seen.totals.lost_records, seen.rotated);
	ck_assert_uint_ge(seen.notes + seen.rotated, THREADS * 4000);
	ck_assert_uint_le(
		seen.notes + seen.rotated, THREADS * 4000 + 2 * seen.totals.segments + 500);
	/* The newest are there. */
	ck_assert(seen.next[0] == 4000 || seen.next[1] == 4000 || seen.next[2] == 4000 ||
		  seen.next[3] == 4000);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* ---- a disk that stalls ---- */

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	bool open;
	uint64_t writes;
	/* faults */
	uint64_t room; /* bytes until the disk is full */
	int errnum;    /* what it says then */
	bool short_writes;
	bool sync_fails;
	struct random random;
};

static ssize_t gate_write(void *data, int fd, const void *ptr, size_t len)
{
	struct gate *gate = data;

	pthread_mutex_lock(&gate->lock);
	gate->writes++;
	while (!gate->open)
		pthread_cond_wait(&gate->opened, &gate->lock);
	if (gate->short_writes) {
		if (random_below(&gate->random, 4) == 0) {
			pthread_mutex_unlock(&gate->lock);
			errno = EINTR;
			return -1;
		}
		len = 1 + random_below(&gate->random, len);
	}
	if (gate->errnum && len > gate->room) {
		len = gate->room; /* as a real file system: what fits is written first */
		if (!len) {
			pthread_mutex_unlock(&gate->lock);
			errno = gate->errnum;
			return -1;
		}
	}
	gate->room -= len;
	pthread_mutex_unlock(&gate->lock);
	return write(fd, ptr, len);
}

static int gate_sync(void *data, int fd)
{
	struct gate *gate = data;

	(void)fd;
	if (gate->sync_fails) {
		errno = EIO;
		return -1;
	}
	return 0;
}

static int gate_truncate(void *data, int fd, uint64_t size)
{
	(void)data;
	return ftruncate(fd, (off_t)size);
}

static void gate_init(struct gate *gate, struct trace_io *io)
{
	memset(gate, 0, sizeof(*gate));
	pthread_mutex_init(&gate->lock, NULL);
	pthread_cond_init(&gate->opened, NULL);
	gate->open = true;
	gate->room = UINT64_MAX;
	*io = (struct trace_io){gate_write, gate_sync, gate_truncate, gate};
}

static void gate_set(struct gate *gate, bool open)
{
	pthread_mutex_lock(&gate->lock);
	gate->open = open;
	pthread_cond_broadcast(&gate->opened);
	pthread_mutex_unlock(&gate->lock);
}

/* Emits into a stalled disk until something is lost, lets the disk go, emits on. */
static void stall(enum trace_policy policy, struct seen *seen, uint64_t *sent, bool *closed_ok,
	struct err *err)
{
	struct trace_writer_options options;
	struct trace_writer_stats stats;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_io io;
	struct gate gate;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	uint64_t number = 0, after;

	gate_init(&gate, &io);
	trace_writer_defaults(&options);
	options.block_size = 4096;
	options.buffer_size_max = 64 * 1024;
	options.policy = policy;
	options.wait_ms_max = 20;
	options.io = &io;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	gate_set(&gate, false);
	do {
		for (int i = 0; i < 100; i++)
			numbered_emit(producer, 0, number++);
		trace_writer_stats(writer, &stats);
		/* At most the buffer, the block in hand and the stale ones wait in memory. */
		HOLDS(stats.backlog_bytes <= options.buffer_size_max + 4 * 8192);
	} while (!stats.lost_records);
	gate_set(&gate, true);
	/* Until the disk has caught up. */
	do
		trace_writer_stats(writer, &stats);
	while (stats.backlog_bytes);
	after = number;
	while (number < after + 100)
		numbered_emit(producer, 0, number++);
	trace_producer_close(producer);
	*closed_ok = trace_writer_close(writer, err);
	see(path, false, seen);
	*sent = number;
	free(path);
	temp_dir_remove(dir);
}

START_TEST(drop_policy_tells_how_much)
{
	struct seen seen;
	struct err err;
	uint64_t sent;
	bool ok;

	stall(TRACE_POLICY_DROP, &seen, &sent, &ok, &err);
	ck_assert(ok);
	ck_assert_uint_gt(seen.lost, 0);
	ck_assert_uint_eq(seen.notes + seen.lost, sent);
	ck_assert_uint_eq(seen.next[0], sent); /* what came after is there */
	ck_assert_uint_eq(seen.waited, 0);
	ck_assert_uint_eq(seen.totals.lost_records, seen.lost);
	ck_assert_str_eq(seen.last_footer, "end");
}
END_TEST

START_TEST(wait_policy_waits_then_drops)
{
	struct seen seen;
	struct err err;
	uint64_t sent;
	bool ok;

	stall(TRACE_POLICY_WAIT, &seen, &sent, &ok, &err);
	ck_assert(ok);
	ck_assert_uint_gt(seen.lost, 0);
	ck_assert_uint_eq(seen.notes + seen.lost, sent);
	ck_assert_uint_eq(seen.next[0], sent);
}
END_TEST

START_TEST(stop_policy_stops)
{
	struct seen seen;
	struct err err;
	uint64_t sent;
	bool ok;

	stall(TRACE_POLICY_STOP, &seen, &sent, &ok, &err);
	ck_assert(!ok);
	ck_assert_msg(strstr(err.text, "policy stop") && strstr(err.text, "records were lost"),
		"%s", err.text);
	ck_assert_uint_gt(seen.stopped, 0);
	ck_assert_uint_eq(seen.notes + seen.lost, sent);
	ck_assert_uint_lt(seen.next[0], sent - 100); /* nothing after the stop */
	ck_assert_str_eq(seen.last_footer, "stopped");
}
END_TEST

static void *open_gate_when_waiting(void *arg)
{
	struct gate *gate = arg;

	gate_set(gate, true);
	return NULL;
}

/* A wait that ends well loses nothing, and stands in the trace. */
START_TEST(wait_policy_tells_of_waiting)
{
	struct trace_writer_options options;
	struct trace_writer_stats stats = {0};
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_io io;
	struct gate gate;
	struct seen seen;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	pthread_t thread;
	uint64_t number = 0;

	gate_init(&gate, &io);
	trace_writer_defaults(&options);
	options.block_size = 4096;
	options.buffer_size_max = 64 * 1024;
	options.policy = TRACE_POLICY_WAIT;
	options.wait_ms_max = 250 * 1000;
	options.io = &io;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	/* Whether the producer is caught waiting depends on the scheduler: until it was. */
	while (stats.waited_ns == 0) {
		gate_set(&gate, false);
		do {
			numbered_emit(producer, 0, number++);
			trace_writer_stats(writer, &stats);
		} while (stats.backlog_bytes + 2 * 4096 < options.buffer_size_max);
		ck_assert_int_eq(pthread_create(&thread, NULL, open_gate_when_waiting, &gate), 0);
		for (int i = 0; i < 5000; i++)
			numbered_emit(producer, 0, number++);
		pthread_join(thread, NULL);
		trace_writer_stats(writer, &stats);
	}
	trace_producer_close(producer);
	close_writer(writer);
	see(path, false, &seen);
	ck_assert_uint_eq(seen.notes, number);
	ck_assert_uint_eq(seen.lost, 0);
	ck_assert_uint_gt(seen.waited, 0);
	ck_assert(seen.totals.clean);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* ---- system calls that fail ---- */

START_TEST(short_writes_are_completed)
{
	struct trace_writer_options options;
	struct trace_writer *writer;
	struct trace_io io;
	struct gate gate;
	struct seen seen;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");

	gate_init(&gate, &io);
	gate.short_writes = true;
	trace_writer_defaults(&options);
	options.block_size = 4096;
	options.io = &io;
	writer = open_writer(path, &options);
	run_workers(writer, 1000, work);
	close_writer(writer);
	see(path, true, &seen);
	ck_assert_uint_eq(seen.notes, THREADS * 1000);
	ck_assert(seen.totals.clean);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* The disk fills up at any byte of the file: what is there reads, and the numbers add up. */
static void full_disk(uint64_t room, int errnum, bool room_again)
{
	struct trace_writer_options options;
	struct trace_writer *writer;
	struct trace_producer *producer;
	struct trace_io io;
	struct gate gate;
	struct seen seen;
	struct stat st;
	struct err err;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	uint64_t sent = 0;

	gate_init(&gate, &io);
	gate.room = room;
	gate.errnum = errnum;
	trace_writer_defaults(&options);
	options.block_size = 1024;
	options.sync = TRACE_SYNC_ALWAYS;
	options.io = &io;
	writer = trace_writer_open(path, &options, &err);
	if (!writer) {
		HOLDS(err.errnum == errnum);
		HOLDS(stat(path, &st) < 0); /* no header, no file */
		free(path);
		temp_dir_remove(dir);
		return;
	}
	producer = trace_producer_open(writer);
	while (!trace_writer_stopped(writer, NULL)) {
		numbered_emit(producer, 0, sent++);
		HOLDS(sent < 1000000);
	}
	for (int i = 0; i < 10; i++)
		numbered_emit(producer, 0, sent++);
	HOLDS(trace_writer_stopped(writer, &err));
	HOLDS(strstr(err.text, strerror(errnum)));
	trace_producer_close(producer);
	if (room_again) {
		pthread_mutex_lock(&gate.lock);
		gate.room = UINT64_MAX;
		pthread_mutex_unlock(&gate.lock);
	}
	HOLDS(!trace_writer_close(writer, &err));
	HOLDS(strstr(err.text, path) && strstr(err.text, "bytes") && strstr(err.text, "readable") &&
		strstr(err.text, "records were lost"));
	EQUAL(err.errnum, errnum);
	see(path, false, &seen);
	EQUAL(seen.totals.bytes_torn, 0); /* the torn block was cut off */
	EQUAL(seen.totals.bytes_damaged, 0);
	if (room_again) {
		EQUAL(seen.notes + seen.lost, sent);
		HOLDS(seen.stopped > 0);
		HOLDS(seen.totals.clean);
		HOLDS(strcmp(seen.last_footer, "stopped") == 0);
		HOLDS(strstr(seen.gap_detail, "recording stopped"));
	} else {
		HOLDS(seen.notes < sent);
	}
	free(path);
	temp_dir_remove(dir);
}

START_TEST(full_disk_leaves_a_readable_trace)
{
	for (uint64_t room = 0; room < 3000; room += 37) {
		full_disk(room, ENOSPC, room % 2);
		full_disk(room, room % 3 ? EIO : EFBIG, room % 5 == 0);
	}
}
END_TEST

/* Who drops records goes on when there is room again, in one file and in segments. */
static void room_comes_back(uint64_t room, uint64_t segment_size)
{
	struct trace_writer_options options;
	struct trace_writer_stats stats;
	struct trace_writer *writer;
	struct trace_producer *producer;
	struct trace_io io;
	struct gate gate;
	struct seen seen;
	struct err err;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	uint64_t sent = 0, after;

	gate_init(&gate, &io);
	gate.room = room;
	gate.errnum = ENOSPC;
	trace_writer_defaults(&options);
	options.block_size = 1024;
	options.flush_interval_ms = 1;
	options.policy = TRACE_POLICY_DROP;
	options.segment_size_max = segment_size;
	options.io = &io;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	do {
		numbered_emit(producer, 0, sent++);
		trace_writer_stats(writer, &stats);
	} while (!stats.paused || stats.lost_records < 10);
	HOLDS(!trace_writer_stopped(writer, NULL));
	pthread_mutex_lock(&gate.lock);
	gate.room = UINT64_MAX;
	pthread_mutex_unlock(&gate.lock);
	do {
		numbered_emit(producer, 0, sent++);
		trace_writer_stats(writer, &stats);
	} while (stats.paused);
	after = sent;
	while (sent < after + 100)
		numbered_emit(producer, 0, sent++);
	trace_producer_close(producer);
	HOLDS(trace_writer_close(writer, &err));
	see(path, false, &seen);
	EQUAL(seen.totals.bytes_torn, 0);
	EQUAL(seen.totals.bytes_damaged, 0);
	EQUAL(seen.stopped, 0);
	HOLDS(seen.lost > 0);
	EQUAL(seen.notes + seen.lost, sent);
	EQUAL(seen.next[0], sent); /* what came behind is there */
	EQUAL(seen.totals.lost_records, seen.lost);
	HOLDS(strcmp(seen.last_footer, "end") == 0);
	free(path);
	temp_dir_remove(dir);
}

START_TEST(full_disk_with_room_again)
{
	for (uint64_t room = 1000; room < 3000; room += 137)
		room_comes_back(room, 0);
	for (uint64_t room = 5000; room < 15000; room += 371)
		room_comes_back(room, 4096);
}
END_TEST

START_TEST(failing_sync_stops)
{
	struct trace_writer_options options;
	struct trace_writer *writer;
	struct trace_producer *producer;
	struct trace_io io;
	struct gate gate;
	struct err err;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");

	gate_init(&gate, &io);
	gate.sync_fails = true;
	trace_writer_defaults(&options);
	options.sync = TRACE_SYNC_ALWAYS;
	options.io = &io;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	numbered_emit(producer, 0, 0);
	trace_producer_flush(producer);
	while (!trace_writer_stopped(writer, NULL))
		;
	trace_producer_close(producer);
	ck_assert(!trace_writer_close(writer, &err));
	ck_assert_int_eq(err.errnum, EIO);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

UNIT_MAIN("trace_writer", producers_merge_in_order,
	reserved_numbers_are_kept_in_order, compression_must_pay, segments_merge_in_order,
	small_window_is_counted, idle_records_are_flushed, large_records_stand_alone,
	impossible_records_are_told, existing_files_are_kept, pipes_work, context_is_repeated,
	total_size_is_kept, drop_policy_tells_how_much, wait_policy_waits_then_drops,
	stop_policy_stops, wait_policy_tells_of_waiting, short_writes_are_completed,
	full_disk_with_room_again,
	full_disk_leaves_a_readable_trace, failing_sync_stops)
