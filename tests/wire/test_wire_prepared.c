/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocol parser: prepared statements: executions, long data, bulk, cursors, cached metadata. */
#include "../unit/unit.h"
#include "wire_checks.h"

/* ---- prepared statements ---- */

static void prepare_two(struct talk *t, uint32_t id)
{
	talk_prepared(t, id, 1, 2);
	talk_column(t, "?", TYPE_NULL, 0);
	talk_column(t, "?", TYPE_NULL, 0);
	talk_definitions_end(t, 2);
	talk_column(t, "id", TYPE_LONG, 0);
	talk_definitions_end(t, 2);
}

#define EXECUTE_1  "\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00"
#define TWO_TYPES  "\x00\x01\x08\x80\xfd\x00"
#define TWO_VALUES "\x07\x00\x00\x00\x00\x00\x00\x00\x02hi"

START_TEST(prepare_and_execute)
{
	for (size_t i = 0; i < cap_set_count; i++) {
		struct talk t = {0};
		struct buf expected = BUF_INIT;
		uint64_t caps = cap_sets[i];
		const char *end = caps & CAP_DEPRECATE_EOF ? "ok 0 " : "eof ";
		bool skip = caps & (CAP_OPTIONAL_METADATA | CAP_MARIADB_CACHE_METADATA);

		talk_connect(&t, TALK_CAPS | caps, TALK_CAPS | caps);
		TALK_COMMAND(&t, "\x16select id from t where a=? and b=?");
		prepare_two(&t, 1);
		TALK_COMMAND(&t, EXECUTE_1 TWO_TYPES TWO_VALUES);
		talk_count(&t, 1, !skip); /* skipped metadata: the columns of PREPARE are used */
		if (!skip)
			talk_column(&t, "id", TYPE_LONG, 0);
		talk_definitions_end(&t, 2);
		TALK_SERVER(&t, "\x00\x00\x05\x00\x00\x00");
		talk_rows_end(&t, 2);
		/* The types are not sent again; the first parameter is NULL. */
		TALK_COMMAND(&t, EXECUTE_1 "\x01\x00\x02yo");
		talk_ok(&t, 2, 1);
		TALK_COMMAND(&t, "\x19\x01\x00\x00\x00");
		TALK_COMMAND(&t, EXECUTE_1 "\x01\x00\x02yo");
		TALK_SERVER(&t, "\xff\xdb\x04#HY000unknown");
		buf_printf(&expected,
			"%s1: 16 select id from t where a=? and b=?\n"
			"1: prepared%s id 1 columns 1 params 2 last\n"
			"2: 17 of 1 8u:<07><00><00><00><00><00><00><00> 253:hi\n"
			"2: set 0 t.id:3\n2: row binary <00><00><05><00><00><00>\n"
			"2: %sstatus 2 last\n"
			"3: 17 of 1 8u:null 253:yo\n3: ok 1 status 2 last\n"
			"4: 19 of 1\n4: none last\n"
			"5: 17 bad\n5: err 1243 HY000 unknown last\n",
			connected(caps), caps & CAP_DEPRECATE_EOF ? "" : " status 2", end);
		check_talk(&t, expected.data);
		buf_release(&expected);
	}
}
END_TEST

START_TEST(pipelined_prepare_and_execute)
{
	struct talk t = {0};

	/* MariaDB's connectors: EXECUTE of statement -1 before PREPARE's answer. */
	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x16select id from t where a=? and b=?");
	TALK_COMMAND(&t, "\x17\xff\xff\xff\xff\x00\x01\x00\x00\x00" TWO_TYPES TWO_VALUES);
	TALK_COMMAND(&t, "\x19\xff\xff\xff\xff");
	TALK_COMMAND(&t, "\x0e");
	prepare_two(&t, 9);
	talk_ok(&t, 2, 1);
	talk_ok(&t, 2, 0);
	check_talk(&t, CONNECTED_MARIADB
		"1: 16 select id from t where a=? and b=?\n"
		"1: prepared status 2 id 9 columns 1 params 2 last\n"
		"2: 17 of 1 8u:<07><00><00><00><00><00><00><00> 253:hi\n2: ok 1 status 2 last\n"
		"3: 19 of 1\n3: none last\n4: 0e\n4: ok 0 status 2 last\n");
	/* A failed PREPARE makes the EXECUTE fail too, whatever was prepared before. */
	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x16select 1");
	talk_prepared(&t, 3, 0, 0);
	TALK_COMMAND(&t, "\x16nonsense");
	TALK_COMMAND(&t, "\x17\xff\xff\xff\xff\x00\x01\x00\x00\x00");
	TALK_SERVER(&t, "\xff\x28\x04#42000no");
	TALK_SERVER(&t, "\xff\xdb\x04#HY000unknown");
	check_talk(&t, CONNECTED_MARIADB
		"1: 16 select 1\n1: prepared id 3 columns 0 params 0 last\n2: 16 nonsense\n"
		"2: err 1064 42000 no last\n3: 17 bad\n3: err 1243 HY000 unknown last\n");
}
END_TEST

START_TEST(long_data)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x16insert into t values (?,?)");
	talk_prepared(&t, 1, 0, 2);
	talk_column(&t, "?", TYPE_NULL, 0);
	talk_column(&t, "?", TYPE_NULL, 0);
	talk_definitions_end(&t, 2);
	TALK_COMMAND(&t, "\x18\x01\x00\x00\x00\x01\x00hello ");
	TALK_COMMAND(&t, "\x18\x01\x00\x00\x00\x01\x00world");
	TALK_COMMAND(&t, EXECUTE_1 "\x00\x01\x08\x80\xfc\x00\x07\x00\x00\x00\x00\x00\x00\x00");
	talk_ok(&t, 2, 1);
	/* Used up: the second execution has its value inline. */
	TALK_COMMAND(&t, EXECUTE_1 "\x00\x00" TWO_VALUES);
	talk_ok(&t, 2, 1);
	TALK_COMMAND(&t, "\x18\x01\x00\x00\x00\x01\x00lost");
	TALK_COMMAND(&t, "\x1a\x01\x00\x00\x00");
	talk_ok(&t, 2, 0);
	TALK_COMMAND(&t, EXECUTE_1 "\x00\x00" TWO_VALUES);
	talk_ok(&t, 2, 1);
	check_talk(&t, CONNECTED_MARIADB
		"1: 16 insert into t values (?,?)\n1: prepared status 2 id 1 columns 0 params 2 "
		"last\n"
		"2: 18 value 6 of 1\n2: none last\n3: 18 value 5 of 1\n3: none last\n"
		"4: 17 of 1 8u:<07><00><00><00><00><00><00><00> 252:long(11)hello world\n"
		"4: ok 1 status 2 last\n"
		"5: 17 of 1 8u:<07><00><00><00><00><00><00><00> 252:hi\n5: ok 1 status 2 last\n"
		"6: 18 value 4 of 1\n6: none last\n7: 1a of 1\n7: ok 0 status 2 last\n"
		"8: 17 of 1 8u:<07><00><00><00><00><00><00><00> 252:hi\n8: ok 1 status 2 last\n");
}
END_TEST

START_TEST(bulk_execute)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS | CAP_MARIADB_BULK, TALK_CAPS | CAP_MARIADB_BULK);
	TALK_COMMAND(&t, "\x16insert into t values (?,?)");
	talk_prepared(&t, 1, 0, 2);
	talk_column(&t, "?", TYPE_NULL, 0);
	talk_column(&t, "?", TYPE_NULL, 0);
	talk_definitions_end(&t, 2);
	TALK_COMMAND(&t, "\xfa\x01\x00\x00\x00\x80\x00\x01\x00\xfd\x00"
			 "\x00\x05\x00\x01"
			 "a"
			 "\x00\x06\x01"
			 "\x02\x03");
	talk_ok(&t, 2, 3);
	check_talk(&t, CONNECTED_MARIADB
		"1: 16 insert into t values (?,?)\n1: prepared status 2 id 1 columns 0 params 2 "
		"last\n"
		"2: fa of 1 1:<05> 253:a 1:<06> 253:null 1:indicator2 253:indicator3\n"
		"2: ok 3 status 2 last\n");
}
END_TEST

START_TEST(cursors)
{
	for (size_t i = 0; i < cap_set_count; i++) {
		struct talk t = {0};
		struct buf expected = BUF_INIT;
		uint64_t caps = cap_sets[i];
		const char *end = caps & CAP_DEPRECATE_EOF ? "ok 0 " : "eof ";

		talk_connect(&t, TALK_CAPS | caps, TALK_CAPS | caps);
		TALK_COMMAND(&t, "\x16select id from t");
		talk_prepared(&t, 1, 1, 0);
		talk_column(&t, "id", TYPE_LONG, 0);
		talk_definitions_end(&t, 2);
		TALK_COMMAND(&t, "\x17\x01\x00\x00\x00\x01\x01\x00\x00\x00");
		talk_count(&t, 1, true);
		talk_column(&t, "id", TYPE_LONG, 0);
		talk_rows_end(&t, 2 | STATUS_CURSOR_EXISTS);
		TALK_COMMAND(&t, "\x1c\x01\x00\x00\x00\x02\x00\x00\x00");
		TALK_SERVER(&t, "\x00\x00\x05\x00\x00\x00");
		TALK_SERVER(&t, "\x00\x00\x06\x00\x00\x00");
		talk_rows_end(&t, 2 | STATUS_CURSOR_EXISTS);
		TALK_COMMAND(&t, "\x1c\x01\x00\x00\x00\x02\x00\x00\x00");
		talk_rows_end(&t, 2 | STATUS_LAST_ROW_SENT);
		/* A cursor was asked for and not opened: rows follow. */
		TALK_COMMAND(&t, "\x17\x01\x00\x00\x00\x01\x01\x00\x00\x00");
		talk_count(&t, 1, true);
		talk_column(&t, "id", TYPE_LONG, 0);
		talk_definitions_end(&t, 2);
		TALK_SERVER(&t, "\x00\x00\x05\x00\x00\x00");
		talk_rows_end(&t, 2);
		buf_printf(&expected,
			"%s1: 16 select id from t\n1: prepared%s id 1 columns 1 params 0 last\n"
			"2: 17 of 1\n2: set 0 t.id:3\n2: %sstatus 42 last\n"
			"3: 1c value 2 of 1\n3: row binary <00><00><05><00><00><00>\n"
			"3: row binary <00><00><06><00><00><00>\n3: %sstatus 42 last\n"
			"4: 1c value 2 of 1\n4: %sstatus 82 last\n"
			"5: 17 of 1\n5: set 0 t.id:3\n5: row binary <00><00><05><00><00><00>\n"
			"5: %sstatus 2 last\n",
			connected(caps), caps & CAP_DEPRECATE_EOF ? "" : " status 2", end, end, end,
			end);
		check_talk(&t, expected.data);
		buf_release(&expected);
	}
}
END_TEST

START_TEST(metadata_left_out_of_a_text_result)
{
	struct talk t = {0};
	uint64_t caps = TALK_CAPS | CAP_MYSQL | CAP_OPTIONAL_METADATA;

	talk_connect(&t, caps, caps);
	TALK_COMMAND(&t, "\x03select 1");
	talk_count(&t, 1, false);
	talk_definitions_end(&t, 2);
	TALK_SERVER(&t, "\x01"
			"1");
	talk_rows_end(&t, 2);
	check_talk(&t, CONNECTED_MYSQL
		"1: 03 select 1\n1: set 0 unknown\n1: row ? <01>1\n1: eof status 2 last\n");
}
END_TEST

UNIT_MAIN("wire_prepared", prepare_and_execute, pipelined_prepare_and_execute, long_data,
	bulk_execute, cursors, metadata_left_out_of_a_text_result)
