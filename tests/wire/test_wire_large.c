/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocol parser: large packets, limits, and answers before a command is complete. */
#include "../unit/unit.h"
#include "wire_checks.h"

/* ---- 4.1: large packets ---- */

/* Packets of 16 MB - 2 to 16 MB + 1 and 48 MB, cut near the borders of their parts. */
START_TEST(large_packets)
{
	static const size_t sizes[] = {0xfffffe, 0xffffff, 0x1000000, 3 * 0xffffff};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct talk t = {0};
		char *big = malloc(sizes[i]);
		struct buf expected = BUF_INIT;
		struct feeding how = {.keep_max = 64 * 1024};

		memset(big, 'x', sizes[i]);
		big[0] = CMD_QUERY;
		talk_connect(&t, TALK_CAPS, TALK_CAPS);
		talk_add(&t, false, 0, big, sizes[i]);
		talk_count(&t, 1, true);
		talk_column(&t, "x", TYPE_BLOB, 0);
		talk_definitions_end(&t, 2);
		big[0] = (char)0xfe; /* a row that begins like an EOF */
		talk_add(&t, true, t.seq, big, sizes[i]);
		talk_rows_end(&t, 2);
		buf_add_str(&expected, CONNECTED_MARIADB "1: 03 ");
		for (int k = 0; k < 60; k++)
			buf_add_char(&expected, 'x');
		buf_printf(&expected, " cut of %zu\n1: set 0 t.x:252\n1: row <fe>", sizes[i]);
		for (int k = 0; k < 39; k++)
			buf_add_char(&expected, 'x');
		buf_printf(&expected, " %zu cut\n1: eof status 2 last\n", sizes[i]);
		for (size_t at = 2; at < 8; at += 2) {
			/* Run 3 is the command, run 4 the answer with the large row. */
			how.run = 3;
			how.at = 0xffffff + at;
			if (how.at <= sizes[i] + 4)
				same(&t, &how, expected.data);
		}
		how.run = SIZE_MAX;
		same(&t, &how, expected.data);
		buf_release(&expected);
		talk_release(&t);
		free(big);
	}
}
END_TEST

START_TEST(limits_hold)
{
	struct talk t = {0};
	struct log log;
	struct feeding how = {.run = SIZE_MAX};

	/* A pipeline longer than the limit. */
	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	for (int i = 0; i < WIRE_PIPELINE_MAX + 1; i++)
		TALK_COMMAND(&t, "\x0e");
	run_talk(&t, &how, &log, NULL);
	ck_assert_ptr_nonnull(
		strstr(log.text.data, "opaque: more commands sent ahead than WIRE_PIPELINE_MAX\n"));
	buf_release(&log.text);
	talk_release(&t);
	/* A column count from nowhere. */
	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x03q");
	TALK_SERVER(&t, "\xfd\xff\xff\xff");
	check_talk(&t, CONNECTED_MARIADB "1: 03 q\nopaque: column count not understood\n");
}
END_TEST

/* FETCH expects rows from its first byte on; its event comes before theirs all the same. */
START_TEST(rows_before_their_fetch_is_complete)
{
	struct wire w;
	struct log log = {BUF_INIT};
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_SERVER(&t, "\x00\x00\x05\x00\x00\x00");
	wire_init(&w, &log_sink, &log, NULL);
	for (size_t i = 0; i < 3; i++)
		feed(&w, t.steps[i].server, t.steps[i].bytes.data, t.steps[i].bytes.len);
	feed(&w, false, "\x09\x00\x00\x00\x1c\x01", 6);
	feed(&w, true, t.steps[3].bytes.data, t.steps[3].bytes.len);
	wire_end(&w, stamp);
	ck_assert_str_eq(log.text.data, CONNECTED_MARIADB
		"1: 1c\n1: row binary ? <00><00><05><00><00><00>\n1: none lost last\n");
	wire_release(&w);
	talk_release(&t);
	buf_release(&log.text);
}
END_TEST

START_TEST(answer_before_the_command_is_complete)
{
	struct wire w;
	struct log log = {BUF_INIT};
	struct talk t = {0};
	static const char start[] = "\x40\x00\x00\x00\x03insert in";
	char rest[0x40 - 9];

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_SERVER(&t, "\xff\x81\x04#08S01too big");
	wire_init(&w, &log_sink, &log, NULL);
	for (size_t i = 0; i < 3; i++)
		feed(&w, t.steps[i].server, t.steps[i].bytes.data, t.steps[i].bytes.len);
	feed(&w, false, start, sizeof(start) - 1);
	feed(&w, true, t.steps[3].bytes.data, t.steps[3].bytes.len);
	memset(rest, 'x', sizeof(rest));
	feed(&w, false, rest, 0x40 - (sizeof(start) - 1 - 4));
	feed(&w, false, "\x01\0\0\0\x0e", 5);
	wire_end(&w, stamp);
	ck_assert_str_eq(log.text.data, CONNECTED_MARIADB
		"1: 03 insert in cut of 10\n1: err 1153 08S01 too big last\n2: 0e\n"
		"2: none lost last\n");
	wire_release(&w);
	talk_release(&t);
	buf_release(&log.text);
}
END_TEST

UNIT_MAIN("wire_large", large_packets, limits_hold, answer_before_the_command_is_complete,
	rows_before_their_fetch_is_complete)
