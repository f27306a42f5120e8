/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocol parser: the connection phase, commands that are no statements, and how connections end. */
#include "../unit/unit.h"
#include "wire_checks.h"

/* ---- 4.2: the connection phase ---- */

START_TEST(error_instead_of_greeting)
{
	struct talk t = {0};

	TALK_SERVER(&t, "\xff\x10\x04Too many connections");
	check_talk(&t, "auth err 1040  Too many connections last\n");
}
END_TEST

START_TEST(authentication_dialogue)
{
	struct talk t = {0};

	talk_greeting(&t, "8.0.45", TALK_CAPS | CAP_MYSQL);
	talk_login(&t, TALK_CAPS | CAP_MYSQL);
	TALK_SERVER(&t, "\xfe"
			"caching_sha2_password\0abcdefghijklmnopqrst\0");
	TALK_CONTINUE(&t, "scramble scramble scramble scram");
	TALK_SERVER(&t, "\x01\x04");
	TALK_CONTINUE(&t, "\x02");
	TALK_SERVER(&t, "\x01-----BEGIN PUBLIC KEY-----");
	TALK_CONTINUE(&t, "\x00\xff\xfe encrypted");
	TALK_SERVER(&t, "\x02next_factor\0data");
	TALK_CONTINUE(&t, "");
	TALK_SERVER(&t, "plugin data without a header");
	TALK_CONTINUE(&t, "x");
	TALK_SERVER(&t, "\0\0\0\x02\0\0\0certificate proof");
	TALK_COMMAND(&t, "\x0e");
	talk_ok(&t, 2, 0);
	check_talk(&t, CONNECTED_MYSQL "1: 0e\n1: ok 0 status 2 last\n");
}
END_TEST

START_TEST(access_denied)
{
	struct talk t = {0};

	talk_greeting(&t, "8.0.45", TALK_CAPS | CAP_MYSQL);
	talk_login(&t, TALK_CAPS | CAP_MYSQL);
	TALK_SERVER(&t, "\xff\x15\x04#28000Access denied");
	check_talk(&t, "greeting 8.0.45 thread 7\nlogin bob@shop\n"
		       "auth err 1045 28000 Access denied last\n");
}
END_TEST

START_TEST(tls_and_old_clients_are_opaque)
{
	struct talk t = {0};

	talk_greeting(&t, "8.0.45", TALK_CAPS | CAP_MYSQL | CAP_SSL);
	TALK_CONTINUE(&t, "\x00\x0a\x00\x00\x00\x00\x00\x01-00000000000000000000000");
	TALK_CONTINUE(&t, "\x16\x03\x01 hello of TLS");
	TALK_SERVER(&t, "\x16\x03\x01 hello of TLS");
	check_talk(&t, "greeting 8.0.45 thread 7\nopaque: TLS passed through\n");

	talk_greeting(&t, "8.0.45", TALK_CAPS | CAP_MYSQL);
	TALK_CONTINUE(&t, "\x05\x00\x00\x00\x01root\0password");
	TALK_SERVER(&t, "\0\0\0");
	check_talk(&t, "greeting 8.0.45 thread 7\n"
		       "opaque: login packet not understood (a client of before 4.1?)\n");

	TALK_SERVER(&t, "SSH-2.0-OpenSSH_9.2p1 Debian");
	check_talk(&t, "opaque: greeting not understood\n");
}
END_TEST

START_TEST(login_without_plugin_or_schema)
{
	struct talk t = {0};
	uint64_t old = CAP_PROTOCOL_41 | CAP_SECURE_CONNECTION | CAP_MYSQL;

	talk_connect(&t, TALK_CAPS | CAP_MYSQL, old);
	TALK_COMMAND(&t, "\x02shop");
	talk_ok(&t, 2, 0);
	check_talk(&t, "greeting 8.0.45 thread 7\nlogin bob@\nauth ok 0 status 2 last\n"
		       "1: 02 shop\n1: ok 0 status 2 last\n");

	talk_connect(&t, TALK_CAPS | CAP_MYSQL, CAP_PROTOCOL_41 | CAP_MYSQL | CAP_CONNECT_WITH_DB);
	check_talk(&t, CONNECTED_MYSQL);
}
END_TEST

START_TEST(only_capability_bits_are_cleared)
{
	struct talk t = {0}, plain = {0};
	uint64_t caps = TALK_CAPS | CAP_SSL | CAP_COMPRESS | CAP_ZSTD | CAP_MARIADB_BULK;

	talk_greeting(&t, "10.11.6-MariaDB", caps);
	TALK_SERVER(&t, "\xff\xff\xff\xff\xff\xff\xff\xff");
	talk_greeting(&plain, "10.11.6-MariaDB", caps & ~(CAP_SSL | CAP_COMPRESS | CAP_ZSTD));
	for (size_t at = 0; at <= t.steps[0].bytes.len; at++) {
		struct buf bytes = BUF_INIT;
		struct wire_clearing clearing = {.clear = CAP_SSL | CAP_COMPRESS | CAP_ZSTD};
		size_t first = t.steps[0].bytes.len;

		buf_add_span(&bytes, buf_span(&t.steps[0].bytes));
		buf_add_span(&bytes, buf_span(&t.steps[1].bytes));
		wire_clearing_apply(&clearing, (unsigned char *)bytes.data, at);
		wire_clearing_apply(&clearing, (unsigned char *)bytes.data + at, bytes.len - at);
		ck_assert_mem_eq(bytes.data, plain.steps[0].bytes.data, first);
		ck_assert_mem_eq(bytes.data + first, t.steps[1].bytes.data, t.steps[1].bytes.len);
		buf_release(&bytes);
	}
	talk_release(&t);
	talk_release(&plain);
}
END_TEST

/* ---- the odd ones ---- */

START_TEST(local_infile)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x03load data local infile 'x' into table t");
	TALK_SERVER(&t, "\xfb/tmp/x");
	TALK_CONTINUE(&t, "1\n2\n");
	TALK_CONTINUE(&t, "3\n");
	TALK_CONTINUE(&t, "");
	talk_ok(&t, 2, 3);
	TALK_COMMAND(&t, "\x0e");
	talk_ok(&t, 2, 0);
	/* SipHash-2-4 of "1\n2\n3\n" with the zero key, by openssl mac: 00...a3 */
	check_talk(&t, CONNECTED_MARIADB "1: 03 load data local infile 'x' into table t\n"
					 "1: infile /tmp/x 6 00a3\n1: ok 3 status 2 last\n2: 0e\n"
					 "2: ok 0 status 2 last\n");
}
END_TEST

START_TEST(change_user_and_reset)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x16select 1");
	talk_prepared(&t, 1, 0, 0);
	TALK_COMMAND(&t, "\x11"
			 "eve\0\x04HUSHnext\0\x2d\x00mysql_native_password\0\x00");
	TALK_SERVER(&t, "\xfe"
			"client_ed25519\0abcdefgh");
	TALK_CONTINUE(&t, "\x03 not a command");
	talk_ok(&t, 2, 0);
	TALK_COMMAND(&t, "\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00");
	TALK_SERVER(&t, "\xff\xdb\x04#HY000unknown");
	TALK_COMMAND(&t, "\x16select 2");
	talk_prepared(&t, 1, 0, 0);
	TALK_COMMAND(&t, "\x1f");
	talk_ok(&t, 2, 0);
	TALK_COMMAND(&t, "\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00");
	TALK_SERVER(&t, "\xff\xdb\x04#HY000unknown");
	check_talk(&t, CONNECTED_MARIADB
		"1: 16 select 1\n1: prepared id 1 columns 0 params 0 last\n"
		"2: 11 eve@next\n2: ok 0 status 2 last\n"
		"3: 17 bad\n3: err 1243 HY000 unknown last\n"
		"4: 16 select 2\n4: prepared id 1 columns 0 params 0 last\n"
		"5: 1f\n5: ok 0 status 2 last\n6: 17 bad\n6: err 1243 HY000 unknown last\n");
}
END_TEST

START_TEST(unknown_commands)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x0f");
	TALK_SERVER(&t, "\xff\x17\x04#08S01Unknown command");
	TALK_COMMAND(&t, "");
	TALK_SERVER(&t, "\xff\x17\x04#08S01Unknown command");
	TALK_COMMAND(&t, "\xfd what");
	TALK_SERVER(&t, "\x07some");
	TALK_SERVER(&t, "\x07thing");
	TALK_SERVER(&t, "\xff\x17\x04");
	TALK_COMMAND(&t, "\x0e");
	talk_ok(&t, 2, 0);
	check_talk(&t, CONNECTED_MARIADB "1: 0f\n1: err 1047 08S01 Unknown command last\n"
					 "2: 00\n2: err 1047 08S01 Unknown command last\n"
					 "3: fd\n3: unread last\n4: 0e\n4: ok 0 status 2 last\n");
}
END_TEST

START_TEST(binlog_dump_is_opaque)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x12\x04\x00\x00\x00\x00\x00\x01\x00\x00\x00"
			 "binlog.1");
	TALK_SERVER(&t, "\x00\xef event");
	TALK_COMMAND(&t, "\xef\x01 semi-sync ack");
	TALK_SERVER(&t, "\x00 event");
	check_talk(&t, CONNECTED_MARIADB "1: 12\nopaque: binlog dump\n");
}
END_TEST

START_TEST(nonsense_makes_the_session_opaque)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x0e");
	TALK_SERVER(&t, "\x42");
	TALK_COMMAND(&t, "\x0e");
	check_talk(&t, CONNECTED_MARIADB "1: 0e\nopaque: answer not understood\n");

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_SERVER(&t, "\x00\x00\x00\x02\x00\x00\x00");
	check_talk(&t, CONNECTED_MARIADB "opaque: an answer without a command\n");

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_SERVER(&t, "\xff\xbf\x0f#HY000idle too long");
	check_talk(&t, CONNECTED_MARIADB "unsolicited err 4031 HY000 idle too long\n");
}
END_TEST

/* ---- 4.5: endings ---- */

START_TEST(lost_answers)
{
	struct talk t = {0};

	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x03"
			 "commit");
	TALK_COMMAND(&t, "\x03select 2");
	check_talk(&t, CONNECTED_MARIADB
		"1: 03 commit\n1: none lost last\n2: 03 select 2\n2: none lost last\n");

	/* In the middle of a result. */
	talk_connect(&t, TALK_CAPS, TALK_CAPS);
	TALK_COMMAND(&t, "\x03select 1");
	talk_count(&t, 1, true);
	talk_column(&t, "1", TYPE_LONG, 0);
	talk_definitions_end(&t, 2);
	TALK_SERVER(&t, "\x01"
			"1");
	check_talk(&t, CONNECTED_MARIADB
		"1: 03 select 1\n1: set 0 t.1:3\n1: row <01>1\n1: none lost last\n");
}
END_TEST

UNIT_MAIN("wire_connection", error_instead_of_greeting, authentication_dialogue, access_denied,
	tls_and_old_clients_are_opaque, login_without_plugin_or_schema,
	only_capability_bits_are_cleared, local_infile, change_user_and_reset, unknown_commands,
	binlog_dump_is_opaque, nonsense_makes_the_session_opaque, lost_answers)
