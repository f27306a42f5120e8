/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that take turns: the context that each begins with, and the size of all of them. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer_checks.h"

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

UNIT_MAIN("trace_rotation", context_is_repeated, total_size_is_kept)
