/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol parser against written conversations: each is fed whole, packet by packet, byte by
 * byte, and cut in two at every position, and must be understood the same each time, as written in
 * the test.
 */
#include <stdio.h>

#include "../unit/unit.h"
#include "talk.h"
#include "wire/wire.h"

/* ---- a sink that writes down what it is told ---- */

struct log {
	struct buf text;
};

static void put_text(struct buf *out, struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];

		if (c < 32 || c > 126)
			buf_printf(out, "<%02x>", c);
		else
			buf_add_char(out, (char)c);
	}
}

static void log_greeting(void *ctx, const struct wire_greeting *g)
{
	struct log *log = ctx;

	buf_printf(&log->text, "greeting %.*s thread %u\n", SPAN_ARG(g->version), g->thread);
}

static void log_login(void *ctx, const struct wire_login *l)
{
	struct log *log = ctx;

	buf_printf(&log->text, "login %.*s@%.*s\n", SPAN_ARG(l->user), (int)l->schema.len,
		l->schema.ptr ? l->schema.ptr : "");
}

static void put_reply(struct buf *out, const struct wire_reply *r)
{
	static const char *const names[] = {
		"none", "ok", "eof", "err", "prepared", "text", "unread"};

	buf_add_str(out, names[r->kind]);
	if (r->kind == REPLY_OK)
		buf_printf(out, " %llu", (unsigned long long)r->affected);
	if (r->has_status)
		buf_printf(out, " status %x", r->status);
	if (r->error)
		buf_printf(out, " %u %.*s %.*s", r->error, (int)r->sqlstate.len,
			r->sqlstate.ptr ? r->sqlstate.ptr : "", SPAN_ARG(r->message));
	if (r->kind == REPLY_PREPARED)
		buf_printf(
			out, " id %u columns %u params %u", r->statement_id, r->columns, r->params);
	if (r->info.len) {
		buf_add_str(out, " info ");
		put_text(out, r->info);
	}
	if (r->state.len) {
		struct cursor state = cursor_over(r->state), pending = {0};
		struct wire_track item;

		while (wire_track_next(&state, &pending, &item)) {
			buf_printf(out, " track %u ", item.type);
			put_text(out, item.name);
			buf_add_char(out, '=');
			put_text(out, item.value);
		}
		buf_add_str(out, state.bad ? " bad" : "");
	}
	buf_add_str(out, r->lost ? " lost" : "");
	buf_add_str(out, r->last ? " last\n" : "\n");
}

static void log_authenticated(void *ctx, const struct wire_reply *r)
{
	struct log *log = ctx;

	buf_add_str(&log->text, "auth ");
	put_reply(&log->text, r);
}

static void log_command(void *ctx, struct wire_command *c, const struct wire_request *r)
{
	struct log *log = ctx;
	struct wire_params params = r->params;
	struct wire_param p;

	buf_printf(&log->text, "%u: %02x", c->number, c->byte);
	if (r->text.ptr) {
		buf_add_char(&log->text, ' ');
		put_text(&log->text, span_of(r->text.ptr, r->text.len > 60 ? 60 : r->text.len));
	}
	if (r->text_cut)
		buf_printf(&log->text, " cut of %llu", (unsigned long long)c->length);
	if (r->value)
		buf_printf(&log->text, " value %llu", (unsigned long long)r->value);
	if (r->login)
		buf_printf(&log->text, " %.*s@%.*s", SPAN_ARG(r->login->user),
			SPAN_ARG(r->login->schema));
	if (c->stmt)
		buf_printf(&log->text, " of %u", c->stmt->number);
	while (wire_params_next(&params, &p)) {
		buf_printf(&log->text, " %u%s:", p.type, p.is_unsigned ? "u" : "");
		if (p.name.len)
			buf_printf(&log->text, "%.*s=", SPAN_ARG(p.name));
		if (p.null)
			buf_printf(
				&log->text, p.indicator > 1 ? "indicator%u" : "null", p.indicator);
		else if (p.long_data)
			buf_printf(&log->text, "long(%llu)%.*s",
				(unsigned long long)p.long_data->total,
				SPAN_ARG(buf_span(&p.long_data->kept)));
		else
			put_text(&log->text, p.value);
	}
	if (params.bad || r->params_bad)
		buf_add_str(&log->text, " bad");
	buf_add_char(&log->text, '\n');
}

static void log_columns(void *ctx, struct wire_command *c, const struct wire_columns *columns)
{
	struct log *log = ctx;

	buf_printf(&log->text, "%u: set %u", c->number, c->set);
	for (size_t i = 0; columns && i < columns->count; i++) {
		struct wire_column_names names;

		wire_column_names(columns, i, &names);
		buf_printf(&log->text, " %.*s.%.*s:%u", SPAN_ARG(names.table_original),
			SPAN_ARG(names.name), columns->list[i].type);
	}
	buf_add_str(&log->text, columns ? "\n" : " unknown\n");
}

static void log_row(void *ctx, struct wire_command *c, const struct wire_columns *columns,
	const struct packet *p)
{
	struct log *log = ctx;

	buf_printf(&log->text, "%u: row%s%s ", c->number, c->binary ? " binary" : "",
		columns ? "" : " ?");
	put_text(&log->text, span_of(p->payload.ptr, p->payload.len > 40 ? 40 : p->payload.len));
	if (p->total > 40)
		buf_printf(&log->text, " %llu", (unsigned long long)p->total);
	buf_add_str(&log->text, p->cut ? " cut\n" : "\n");
}

static void log_rows(void *ctx, struct wire_command *c, const struct wire_columns *columns,
	struct span packets, size_t count)
{
	for (; packets.len; count--) {
		struct span payload = wire_packet_take(&packets);

		log_row(ctx, c, columns, &(struct packet){.payload = payload, .total = payload.len});
	}
	ck_assert_uint_eq(count, 0);
}

static void log_reply(void *ctx, struct wire_command *c, const struct wire_reply *r)
{
	struct log *log = ctx;

	buf_printf(&log->text, "%u: ", c->number);
	put_reply(&log->text, r);
}

static void log_infile(void *ctx, struct wire_command *c, struct span name, uint64_t size,
	const unsigned char digest[8])
{
	struct log *log = ctx;

	buf_printf(&log->text, "%u: infile %.*s %llu %02x%02x\n", c->number, SPAN_ARG(name),
		(unsigned long long)size, digest[0], digest[7]);
}

static void log_unsolicited(void *ctx, const struct wire_reply *r)
{
	struct log *log = ctx;

	buf_add_str(&log->text, "unsolicited ");
	put_reply(&log->text, r);
}

static void log_opaque(void *ctx, const char *reason, struct wire_command *command)
{
	struct log *log = ctx;

	(void)command;
	buf_printf(&log->text, "opaque: %s\n", reason);
}

static const struct wire_sink log_sink = {
	.greeting = log_greeting,
	.login = log_login,
	.authenticated = log_authenticated,
	.command = log_command,
	.columns = log_columns,
	.row = log_row,
	.rows = log_rows,
	.reply = log_reply,
	.infile = log_infile,
	.unsolicited = log_unsolicited,
	.opaque = log_opaque,
};

/* ---- feeding ---- */

struct feeding {
	size_t keep_max;
	size_t run, at; /* cut this run of one direction at this offset; run SIZE_MAX: none */
	bool bytes;     /* one byte at a time */
	bool packets;   /* each step by itself; else runs of one direction are joined */
};

static struct wire_stamp stamp = {1, 1, 0};

static void feed(struct wire *w, bool server, const char *p, size_t len)
{
	/* A copy of exactly this size, so that the sanitizer sees any step beyond. */
	char *copy = malloc(len ? len : 1);

	memcpy(copy, p, len);
	stamp.at++;
	if (server)
		wire_feed_server(w, span_of(copy, len), stamp);
	else
		wire_feed_client(w, span_of(copy, len), stamp);
	memset(copy, 0xdd, len);
	free(copy);
}

static void feed_run(
	struct wire *w, const struct feeding *how, size_t run, bool server, struct span s)
{
	if (how->bytes) {
		for (size_t i = 0; i < s.len; i++)
			feed(w, server, s.ptr + i, 1);
	} else if (run == how->run) {
		feed(w, server, s.ptr, how->at);
		feed(w, server, s.ptr + how->at, s.len - how->at);
	} else {
		feed(w, server, s.ptr, s.len);
	}
}

/* The lengths of the runs go to `lengths` when it is not NULL; returns how many there are. */
static size_t run_talk(
	const struct talk *t, const struct feeding *how, struct log *log, size_t *lengths)
{
	struct wire w;
	struct wire_budget budget = {0, 1 << 30};
	size_t runs = 0;

	log->text = BUF_INIT;
	wire_init(&w, &log_sink, log, &budget);
	if (how->keep_max)
		w.keep_max = w.row_keep_max = how->keep_max;
	for (size_t i = 0; i < t->count; runs++) {
		struct buf joined = BUF_INIT;
		bool server = t->steps[i].server;

		do {
			buf_add_span(&joined, buf_span(&t->steps[i].bytes));
			i++;
		} while (!how->packets && i < t->count && t->steps[i].server == server);
		feed_run(&w, how, runs, server, buf_span(&joined));
		if (lengths)
			lengths[runs] = joined.len;
		buf_release(&joined);
	}
	wire_end(&w, stamp);
	wire_release(&w);
	ck_assert_uint_eq(budget.used, 0);
	return runs;
}

static void same(const struct talk *t, const struct feeding *how, const char *expected)
{
	struct log log;

	run_talk(t, how, &log, NULL);
	if (strcmp(log.text.data ? log.text.data : "", expected) != 0)
		ck_abort_msg("run %zd cut at %zu, bytes %d, packets %d:\n%s\nexpected:\n%s",
			(ssize_t)how->run, how->at, how->bytes, how->packets, log.text.data,
			expected);
	buf_release(&log.text);
}

static void check_talk(struct talk *t, const char *expected)
{
	size_t lengths[200], runs;
	struct log log;
	struct feeding how = {.run = SIZE_MAX};

	runs = run_talk(t, &how, &log, lengths);
	ck_assert_uint_lt(runs, 200);
	ck_assert_str_eq(log.text.data ? log.text.data : "", expected);
	buf_release(&log.text);
	same(t, &(struct feeding){.run = SIZE_MAX, .packets = true}, expected);
	same(t, &(struct feeding){.run = SIZE_MAX, .bytes = true}, expected);
	for (size_t run = 0; run < runs; run++)
		for (size_t at = 0; at <= lengths[run]; at++)
			same(t, &(struct feeding){.run = run, .at = at}, expected);
	talk_release(t);
}

#define CONNECTED_MARIADB                                                                          \
	"greeting 10.11.6-MariaDB thread 7\nlogin bob@shop\nauth ok 0 status 2 last\n"
#define CONNECTED_MYSQL "greeting 8.0.45 thread 7\nlogin bob@shop\nauth ok 0 status 2 last\n"

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

static const uint64_t cap_sets[] = {
	0,
	CAP_MYSQL,
	CAP_DEPRECATE_EOF,
	CAP_DEPRECATE_EOF | CAP_MYSQL,
	CAP_SESSION_TRACK,
	CAP_SESSION_TRACK | CAP_DEPRECATE_EOF,
	CAP_MYSQL | CAP_OPTIONAL_METADATA,
	CAP_MYSQL | CAP_OPTIONAL_METADATA | CAP_DEPRECATE_EOF | CAP_SESSION_TRACK,
	CAP_MARIADB_CACHE_METADATA | CAP_MARIADB_EXT_METADATA,
	CAP_MARIADB_CACHE_METADATA | CAP_MARIADB_EXT_METADATA | CAP_DEPRECATE_EOF,
};

static const char *connected(uint64_t caps)
{
	return caps & CAP_MYSQL ? CONNECTED_MYSQL : CONNECTED_MARIADB;
}

START_TEST(query_with_every_capability_set)
{
	for (size_t i = 0; i < ARRAY_LEN(cap_sets); i++) {
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
	for (size_t i = 0; i < ARRAY_LEN(cap_sets); i++) {
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
	for (size_t i = 0; i < ARRAY_LEN(cap_sets); i++) {
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
	for (size_t i = 0; i < ARRAY_LEN(cap_sets); i++) {
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

UNIT_MAIN("wire", error_instead_of_greeting, authentication_dialogue, access_denied,
	tls_and_old_clients_are_opaque, login_without_plugin_or_schema,
	only_capability_bits_are_cleared, simple_commands, query_with_every_capability_set,
	several_results, error_after_rows, rows_that_look_like_ends, session_state,
	statistics_fields_and_processes, progress_reports, query_attributes, prepare_and_execute,
	pipelined_prepare_and_execute, long_data, bulk_execute, cursors,
	metadata_left_out_of_a_text_result, local_infile, change_user_and_reset, unknown_commands,
	binlog_dump_is_opaque, nonsense_makes_the_session_opaque, lost_answers, large_packets,
	limits_hold, answer_before_the_command_is_complete, rows_before_their_fetch_is_complete)
