/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocol parser: commands and their answers. */
#include "../unit/unit.h"
#include "wire_checks.h"

/* ---- 4.3 and 4.4: commands and answers ---- */

START_TEST(simple_commands)
{
	static const unsigned char bytes[] = {CMD_INIT_DB, CMD_CREATE_DB, CMD_DROP_DB, CMD_REFRESH,
		CMD_SHUTDOWN, CMD_PROCESS_KILL, CMD_DEBUG, CMD_PING, CMD_REGISTER_SLAVE,
		CMD_STMT_RESET, CMD_SET_OPTION, CMD_RESET_CONNECTION};

	for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
		struct talk t = {0};
		struct buf expected = BUF_INIT;
		unsigned char packet[5] = {bytes[i], 'd', 0, 0, 0};
		const char *argument = bytes[i] == CMD_INIT_DB || bytes[i] == CMD_CREATE_DB ||
						       bytes[i] == CMD_DROP_DB
					       ? " d<00><00><00>"
				       : bytes[i] == CMD_PROCESS_KILL ? " value 100"
								      : "";

		talk_connect(&t, TALK_CAPS, TALK_CAPS);
		talk_add(&t, false, 0, packet, 5);
		talk_ok(&t, 2, 0);
		talk_add(&t, false, 0, packet, 5);
		talk_rows_end(&t, 2);
		talk_add(&t, false, 0, packet, 5);
		TALK_SERVER(&t, "\xff\x00\x04#HY000no");
		buf_printf(&expected,
			CONNECTED_MARIADB "1: %02x%s\n1: ok 0 status 2 last\n2: %02x%s\n"
					  "2: eof status 2 last\n3: %02x%s\n"
					  "3: err 1024 HY000 no last\n",
			bytes[i], argument, bytes[i], argument, bytes[i], argument);
		check_talk(&t, expected.data);
		buf_release(&expected);
	}
}
END_TEST

static void text_result(struct talk *t, unsigned status)
{
	talk_count(t, 2, true);
	talk_column(t, "id", TYPE_LONG, COLUMN_PRIMARY_KEY | COLUMN_NOT_NULL);
	talk_column(t, "name", TYPE_VAR_STRING, 0);
	talk_definitions_end(t, status);
	TALK_SERVER(t, "\x01"
		       "1\x03"
		       "abc");
	TALK_SERVER(t, "\x01"
		       "2\xfb");
	talk_rows_end(t, status);
}


START_TEST(query_with_every_capability_set)
{
	for (size_t i = 0; i < cap_set_count; i++) {
		struct talk t = {0};
		struct buf expected = BUF_INIT;
		const char *end = cap_sets[i] & CAP_DEPRECATE_EOF ? "ok 0 " : "eof ";

		talk_connect(&t, TALK_CAPS | cap_sets[i], TALK_CAPS | cap_sets[i]);
		TALK_COMMAND(&t, "\x03select * from t");
		text_result(&t, 3);
		TALK_COMMAND(&t, "\x03"
				 "delete from t");
		talk_ok(&t, 3, 2);
		buf_printf(&expected,
			"%s1: 03 select * from t\n1: set 0 t.id:3 t.name:253\n"
			"1: row <01>1<03>abc\n1: row <01>2<fb>\n1: %sstatus 3 last\n"
			"2: 03 delete from t\n2: ok 2 status 3 last\n",
			connected(cap_sets[i]), end);
		check_talk(&t, expected.data);
		buf_release(&expected);
	}
}
END_TEST

START_TEST(several_results)
{
	for (size_t i = 0; i < cap_set_count; i++) {
		struct talk t = {0};
		struct buf expected = BUF_INIT;
		const char *end = cap_sets[i] & CAP_DEPRECATE_EOF ? "ok 0 " : "eof ";

		talk_connect(&t, TALK_CAPS | cap_sets[i], TALK_CAPS | cap_sets[i]);
		TALK_COMMAND(&t, "\x03"
				 "a; b; c");
		talk_ok(&t, STATUS_MORE_RESULTS, 1);
		text_result(&t, STATUS_MORE_RESULTS);
		TALK_SERVER(&t, "\xff\x7a\x04#42S02no table");
		buf_printf(&expected,
			"%s1: 03 a; b; c\n1: ok 1 status 8\n1: set 1 t.id:3 t.name:253\n"
			"1: row <01>1<03>abc\n1: row <01>2<fb>\n1: %sstatus 8\n"
			"1: err 1146 42S02 no table last\n",
			connected(cap_sets[i]), end);
		check_talk(&t, expected.data);
		buf_release(&expected);
	}
}
END_TEST

START_TEST(error_after_rows)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x03select 1");
	talk_count(&t, 1, true);
	talk_column(&t, "1", TYPE_LONG, 0);
	talk_definitions_end(&t, 2);
	TALK_SERVER(&t, "\x01"
			"1");
	TALK_SERVER(&t, "\xff\x25\x05#70100interrupted");
	TALK_COMMAND(&t, "\x01");
	check_talk(&t,
		CONNECTED_MARIADB "1: 03 select 1\n1: set 0 t.1:3\n1: row <01>1\n"
				  "1: err 1317 70100 interrupted last\n2: 01\n2: none last\n");
}
END_TEST

START_TEST(rows_that_look_like_ends)
{
	struct talk t = {0};
	uint64_t caps = TALK_CAPS | CAP_DEPRECATE_EOF | CAP_SESSION_TRACK;

	/* Classic: a row that begins with 0xfe is long; with DEPRECATE_EOF the OK may be. */
	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x03q");
	talk_count(&t, 1, true);
	talk_column(&t, "x", TYPE_BLOB, 0);
	talk_definitions_end(&t, 2);
	TALK_SERVER(&t, "\xfe\x01\0\0\0\0\0\0\0A");
	TALK_SERVER(&t, "");
	talk_rows_end(&t, 2);
	check_talk(&t, CONNECTED_MARIADB
		"1: 03 q\n1: set 0 t.x:252\n1: row <fe><01><00><00><00><00><00><00><00>A\n"
		"1: row \n1: eof status 2 last\n");

	talk_connect(&t, caps, caps);
	TALK_COMMAND(&t, "\x03q");
	talk_count(&t, 1, true);
	talk_column(&t, "x", TYPE_BLOB, 0);
	TALK_SERVER(&t, "\xfe\x00\x00\x02\x40\x00\x00\x0cLong message\x17"
			"\x00\x0f\x0a"
			"autocommit\x03"
			"OFF"
			"\x01\x04\x03"
			"foo");
	check_talk(&t,
		CONNECTED_MARIADB "1: 03 q\n1: set 0 t.x:252\n1: ok 0 status 4002 info Long message"
				  " track 0 autocommit=OFF track 1 =foo last\n");
}
END_TEST

START_TEST(session_state)
{
	struct talk t = {0};
	uint64_t caps = TALK_CAPS | CAP_SESSION_TRACK;

	talk_connect(&t, caps, caps);
	TALK_COMMAND(&t, "\x03"
			 "commit");
	TALK_SERVER(&t, "\x00\x00\x00\x02\x40\x00\x00\x00\x39"
			"\x00\x15\x09last_gtid\x05"
			"0-1-7\x01"
			"a\x02"
			"bc"
			"\x02\x02\x01"
			"1"
			"\x03\x07\x00\x05uuid:"
			"\x04\x08\x07SET A;B"
			"\x05\x09\x08T_______");
	check_talk(&t, CONNECTED_MARIADB
		"1: 03 commit\n1: ok 0 status 4002 track 0 last_gtid=0-1-7 track 0 a=bc track 2 =1"
		" track 3 =uuid: track 4 =SET A;B track 5 =T_______ last\n");
}
END_TEST

START_TEST(statistics_fields_and_processes)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x09");
	TALK_SERVER(&t, "Uptime: 3");
	TALK_COMMAND(&t, "\x04t\0%");
	talk_column(&t, "id", TYPE_LONG, 0);
	talk_column(&t, "b", TYPE_LONG, 0);
	talk_rows_end(&t, 2);
	TALK_COMMAND(&t, "\x0a");
	text_result(&t, 2);
	check_talk(&t, CONNECTED_MARIADB
		"1: 09\n1: text info Uptime: 3 last\n2: 04 t\n2: eof status 2 last\n3: 0a\n"
		"3: set 0 t.id:3 t.name:253\n3: row <01>1<03>abc\n3: row <01>2<fb>\n"
		"3: eof status 2 last\n");
}
END_TEST

START_TEST(progress_reports)
{
	struct talk t = {0};
	uint64_t caps = TALK_CAPS | CAP_MARIADB_PROGRESS;

	talk_connect(&t, caps, caps);
	TALK_COMMAND(&t, "\x03"
			 "alter table t force");
	TALK_SERVER(&t, "\xff\xff\xff\x01\x01\x02\x10\x00\x00\x04"
			"copy");
	TALK_SERVER(&t, "\xff\xff\xff\x01\x02\x02\x10\x00\x00\x04"
			"sort");
	talk_ok(&t, 2, 0);
	check_talk(&t, CONNECTED_MARIADB "1: 03 alter table t force\n1: ok 0 status 2 last\n");
}
END_TEST

START_TEST(query_attributes)
{
	struct talk t = {0};
	uint64_t caps = TALK_CAPS | CAP_MYSQL | CAP_QUERY_ATTRIBUTES;

	talk_connect(&t, caps, caps);
	TALK_COMMAND(&t, "\x03\x00\x01select 1");
	talk_ok(&t, 2, 0);
	TALK_COMMAND(&t, "\x03\x02\x01\x02\x01"
			 "\xfe\x00\x02n1\x03\x80\x02n2\x02v1select 2");
	talk_ok(&t, 2, 0);
	check_talk(&t,
		CONNECTED_MYSQL "1: 03 select 1\n1: ok 0 status 2 last\n"
				"2: 03 select 2 254:n1=v1 3u:n2=null\n2: ok 0 status 2 last\n");
	/* A client may set the bit though the server never offered it. */
	talk_connect(&t, TALK_CAPS, caps);
	TALK_COMMAND(&t, "\x03select 1");
	talk_ok(&t, 2, 0);
	check_talk(&t, CONNECTED_MARIADB "1: 03 select 1\n1: ok 0 status 2 last\n");
}
END_TEST

UNIT_MAIN("wire_commands", simple_commands, query_with_every_capability_set, several_results,
	error_after_rows, rows_that_look_like_ends, session_state,
	statistics_fields_and_processes, progress_reports, query_attributes)
