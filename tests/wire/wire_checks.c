/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire_checks.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- a sink that writes down the parser's events ---- */

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

const struct wire_sink log_sink = {
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

struct wire_stamp stamp = {1, 1, 0};

void feed(struct wire *w, bool server, const char *p, size_t len)
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

size_t run_talk(
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

void same(const struct talk *t, const struct feeding *how, const char *expected)
{
	struct log log;

	run_talk(t, how, &log, NULL);
	if (strcmp(log.text.data ? log.text.data : "", expected) != 0)
		ck_abort_msg("run %zd cut at %zu, bytes %d, packets %d:\n%s\nexpected:\n%s",
			(ssize_t)how->run, how->at, how->bytes, how->packets, log.text.data,
			expected);
	buf_release(&log.text);
}

void check_talk(struct talk *t, const char *expected)
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

const uint64_t cap_sets[] = {
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
const size_t cap_set_count = ARRAY_LEN(cap_sets);

const char *connected(uint64_t caps)
{
	return caps & CAP_MYSQL ? CONNECTED_MYSQL : CONNECTED_MARIADB;
}
