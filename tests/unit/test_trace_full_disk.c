/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the policies do when the disk stalls, and what failing system calls leave behind. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer_checks.h"

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
	bool sync_waits; /* until it is not set any more */
	uint64_t syncs;
	uint64_t sync_good; /* so many, then they fail; 0: as sync_fails says */
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
	bool fails;

	(void)fd;
	pthread_mutex_lock(&gate->lock);
	gate->syncs++;
	pthread_cond_broadcast(&gate->opened);
	while (gate->sync_waits)
		pthread_cond_wait(&gate->opened, &gate->lock);
	fails = gate->sync_fails || (gate->sync_good && gate->syncs > gate->sync_good);
	pthread_mutex_unlock(&gate->lock);
	if (!fails)
		return 0;
	errno = EIO;
	return -1;
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

/* A recorder that drops records goes on when there is room again, in one file and in segments. */
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
	EQUAL(seen.next[0], sent); /* what came after is there */
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

/* A footer says that all before it is there. */
START_TEST(failing_last_sync_takes_the_footer_away)
{
	for (unsigned good = 0; good < 2; good++) {
		struct trace_writer_options options;
		struct trace_producer *producer;
		struct trace_writer *writer;
		struct trace_io io;
		struct gate gate;
		struct seen seen;
		struct err err;
		char *dir = temp_dir(), *path = temp_path(dir, "trace");

		gate_init(&gate, &io);
		gate.sync_good = good;
		gate.sync_fails = good == 0;
		trace_writer_defaults(&options);
		options.sync_interval_ms = 1000000;
		options.io = &io;
		writer = open_writer(path, &options);
		producer = trace_producer_open(writer);
		numbered_emit(producer, 0, 0);
		trace_producer_close(producer);
		ck_assert(!trace_writer_close(writer, &err));
		ck_assert_int_eq(err.errnum, EIO);
		see(path, true, &seen);
		ck_assert_uint_eq(seen.footers, 0);
		ck_assert_uint_eq(seen.notes, 1);
		ck_assert(!seen.totals.clean);
		free(path);
		temp_dir_remove(dir);
	}
}
END_TEST

static uint64_t notes_in(const char *path)
{
	struct seen seen;

	see(path, true, &seen);
	return seen.notes;
}

/* A kill loses what is not written: a sync that takes long must not keep others from being written. */
START_TEST(writing_goes_on_while_a_sync_waits)
{
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_io io;
	struct gate gate;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	uint64_t tries = 0;

	gate_init(&gate, &io);
	gate.sync_waits = true;
	trace_writer_defaults(&options);
	options.flush_interval_ms = options.sync_interval_ms = 1;
	options.io = &io;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	numbered_emit(producer, 0, 0);
	pthread_mutex_lock(&gate.lock);
	while (!gate.syncs)
		pthread_cond_wait(&gate.opened, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
	for (uint64_t i = 1; i < 20; i++) {
		numbered_emit(producer, 0, i);
		/* The limit is for a broken writer only. */
		while (notes_in(path) < i + 1 && tries++ < 100000)
			usleep(100);
	}
	ck_assert_uint_lt(tries, 100000);
	ck_assert_uint_eq(gate.syncs, 1);
	pthread_mutex_lock(&gate.lock);
	gate.sync_waits = false;
	pthread_cond_broadcast(&gate.opened);
	pthread_mutex_unlock(&gate.lock);
	trace_producer_close(producer);
	close_writer(writer);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* ... and where the disk takes nothing, that is said while it happens and stands in the trace. */
START_TEST(records_that_wait_too_long_are_told)
{
	struct trace_writer_options options;
	struct trace_writer_stats stats;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_io io;
	struct gate gate;
	struct seen seen;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");

	gate_init(&gate, &io);
	trace_writer_defaults(&options);
	options.flush_interval_ms = 1;
	options.io = &io;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	gate_set(&gate, false);
	numbered_emit(producer, 0, 0);
	do {
		usleep(1000);
		trace_writer_stats(writer, &stats);
	} while (!stats.late_ns);
	ck_assert_uint_gt(stats.late_ns, 200000000u);
	gate_set(&gate, true);
	trace_producer_close(producer);
	close_writer(writer);
	see(path, true, &seen);
	ck_assert_uint_eq(seen.notes, 1);
	ck_assert_uint_eq(seen.gaps, 1);
	ck_assert_uint_eq(seen.lost, 0);
	ck_assert(strstr(seen.gap_detail, "the disk was slow"));
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* ... nor must the syncs of rotated segments: the last one goes on until the disk has caught up. */
START_TEST(rotation_does_not_wait_for_syncs)
{
	struct trace_writer_options options;
	struct trace_writer_stats stats;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_io io;
	struct gate gate;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	uint64_t tries = 0;

	gate_init(&gate, &io);
	gate.sync_waits = true;
	trace_writer_defaults(&options);
	options.flush_interval_ms = 1;
	options.sync_interval_ms = 600000;
	options.block_size = 256;
	options.segment_size_max = 4096;
	options.compression_level = 0;
	options.io = &io;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	for (uint64_t i = 0; i < 2000; i++)
		numbered_emit(producer, 0, i);
	trace_producer_flush(producer);
	do {
		usleep(100);
		trace_writer_stats(writer, &stats);
	} while (stats.records < 2000 && tries++ < 100000);
	ck_assert_uint_lt(tries, 100000);
	ck_assert_uint_lt(stats.segments, 10);
	ck_assert_uint_gt(stats.segments, 1);
	pthread_mutex_lock(&gate.lock);
	gate.sync_waits = false;
	pthread_cond_broadcast(&gate.opened);
	pthread_mutex_unlock(&gate.lock);
	trace_producer_close(producer);
	close_writer(writer);
	ck_assert_uint_eq(notes_in(path), 2000);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

static void await_durable(struct trace_writer *writer, uint64_t ticket, bool *kept)
{
	uint64_t tries = 0;

	/* The limit is for a broken writer only. */
	while (!trace_writer_is_durable(writer, ticket, kept) && tries++ < 100000)
		usleep(100);
	ck_assert_uint_lt(tries, 100000);
}

static void count_call(void *data)
{
	atomic_fetch_add((atomic_uint *)data, 1);
}

/* What has a ticket is durable once a sync that began after it was written is done, not before. */
START_TEST(tickets_wait_for_the_sync)
{
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_io io;
	struct gate gate;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	uint64_t first, second;
	atomic_uint calls = 0;
	bool kept;

	gate_init(&gate, &io);
	gate.sync_waits = true;
	trace_writer_defaults(&options);
	options.sync_interval_ms = 600000;
	options.io = &io;
	writer = open_writer(path, &options);
	trace_writer_watch_durable(writer, count_call, &calls);
	producer = trace_producer_open(writer);
	numbered_emit(producer, 0, 0);
	first = trace_producer_durable(producer);
	pthread_mutex_lock(&gate.lock);
	while (!gate.syncs)
		pthread_cond_wait(&gate.opened, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
	ck_assert_uint_eq(notes_in(path), 1);
	ck_assert(!trace_writer_is_durable(writer, first, &kept));
	numbered_emit(producer, 0, 1);
	second = trace_producer_durable(producer);
	ck_assert_uint_gt(second, first);
	/* Written, and the sync that runs does not count for it. */
	while (notes_in(path) < 2)
		usleep(100);
	pthread_mutex_lock(&gate.lock);
	gate.sync_waits = false;
	pthread_cond_broadcast(&gate.opened);
	pthread_mutex_unlock(&gate.lock);
	await_durable(writer, second, &kept);
	ck_assert(kept);
	ck_assert(trace_writer_is_durable(writer, first, &kept) && kept);
	ck_assert_uint_eq(gate.syncs, 2);
	trace_writer_watch_durable(writer, NULL, NULL);
	ck_assert_uint_eq(atomic_load(&calls), 2);
	/* Nothing new: done at once, or with one more sync. */
	await_durable(writer, trace_producer_durable(producer), &kept);
	ck_assert(kept);
	trace_producer_close(producer);
	close_writer(writer);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* A ticket whose records are lost is told from one whose records are there. */
static void ticket_is_not_kept(bool sync_fails)
{
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_io io;
	struct gate gate;
	struct err err;
	char *dir = temp_dir(), *path = temp_path(dir, "trace");
	bool kept;

	gate_init(&gate, &io);
	trace_writer_defaults(&options);
	options.io = &io;
	options.compression_level = 0;
	writer = open_writer(path, &options);
	producer = trace_producer_open(writer);
	numbered_emit(producer, 0, 0);
	await_durable(writer, trace_producer_durable(producer), &kept);
	ck_assert(kept);
	pthread_mutex_lock(&gate.lock);
	gate.sync_fails = sync_fails;
	if (!sync_fails) {
		gate.errnum = ENOSPC;
		gate.room = 10;
	}
	pthread_mutex_unlock(&gate.lock);
	numbered_emit(producer, 0, 1);
	await_durable(writer, trace_producer_durable(producer), &kept);
	ck_assert(!kept);
	numbered_emit(producer, 0, 2);
	await_durable(writer, trace_producer_durable(producer), &kept);
	ck_assert(!kept);
	trace_producer_close(producer);
	ck_assert(!trace_writer_close(writer, &err));
	free(path);
	temp_dir_remove(dir);
}

START_TEST(tickets_of_lost_records_are_not_kept)
{
	ticket_is_not_kept(true);
	ticket_is_not_kept(false);
}
END_TEST

UNIT_MAIN("trace_full_disk", rotation_does_not_wait_for_syncs, tickets_wait_for_the_sync, tickets_of_lost_records_are_not_kept, failing_last_sync_takes_the_footer_away,
	writing_goes_on_while_a_sync_waits, records_that_wait_too_long_are_told, drop_policy_tells_how_much, wait_policy_waits_then_drops, stop_policy_stops,
	wait_policy_tells_of_waiting, short_writes_are_completed, full_disk_with_room_again,
	full_disk_leaves_a_readable_trace, failing_sync_stops)
