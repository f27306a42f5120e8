/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was written is what is read: every record kind, several producers, files and directories. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "trace/reader.h"
#include "trace/writer.h"
#include "trace_util.h"

START_TEST(notes_come_back)
{
	struct trace_writer_options options;
	struct trace_producer *producer;
	struct trace_writer *writer;
	struct trace_reader *reader;
	struct trace_totals totals;
	struct trace_item item;
	struct err err;
	char *dir = temp_dir(), *path = temp_path(dir, "a.itr");
	enum trace_next next;
	uint64_t want = 1;
	struct stat st;

	trace_writer_defaults(&options);
	writer = trace_writer_open(path, &options, &err);
	ck_assert_msg(writer != NULL, "%s", err.text);
	producer = trace_producer_open(writer);
	for (uint64_t i = 1; i <= 20000; i++) {
		struct record_note note = {.topic = SPAN_LIT("t"), .text = SPAN_LIT("some words")};

		ck_assert_uint_eq(trace_emit_note(producer, &note), i);
	}
	trace_producer_close(producer);
	ck_assert_msg(trace_writer_close(writer, &err), "%s", err.text);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);

	reader = trace_reader_open(path, NULL, &err);
	ck_assert_msg(reader != NULL, "%s", err.text);
	while ((next = trace_next_item(reader, &item, &err)) == TRACE_NEXT_OK) {
		struct mp mp = item.mp;
		struct record_note note;

		if (item.kind == RECORD_FOOTER)
			continue;
		ck_assert_uint_eq(item.kind, RECORD_NOTE);
		ck_assert(record_note_read(&mp, item.left, &note));
		ck_assert_uint_eq(note.seq, want++);
		ck_assert(span_eq_str(note.text, "some words"));
	}
	ck_assert_msg(next == TRACE_NEXT_END, "%s", err.text);
	ck_assert_uint_eq(want, 20001);
	trace_reader_totals(reader, &totals);
	ck_assert(totals.clean);
	ck_assert_uint_eq(totals.records, 20001);
	trace_reader_close(reader);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

UNIT_MAIN("trace_roundtrip", notes_come_back)
