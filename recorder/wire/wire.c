/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/answer.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"

void wire_init(struct wire *w, const struct wire_sink *sink, void *ctx, struct wire_budget *budget)
{
	*w = (struct wire){.sink = sink,
		.ctx = ctx,
		.phase = WIRE_GREETING,
		.keep_max = WIRE_PACKET_KEEP_MAX,
		.row_keep_max = WIRE_PACKET_KEEP_MAX};
	frame_init(&w->client, budget);
	frame_init(&w->server, budget);
	w->client.secret = w->server.secret = true;
}

static void drop_memory(struct wire *w)
{
	frame_release(&w->client);
	frame_release(&w->server);
	wire_inflate_release(&w->client_inflate);
	wire_inflate_release(&w->server_inflate);
	for (size_t i = 0; i < w->count; i++)
		buf_release(&w->queue[(w->head + i) % w->capacity].body);
	w->count = 0;
	w->queued_bytes = 0;
	mem_free(w->queue);
	w->queue = NULL;
	w->capacity = w->head = 0;
	wire_stmts_clear(&w->stmts);
	wire_columns_release(&w->columns);
	buf_release(&w->infile_name);
}

void wire_release(struct wire *w)
{
	drop_memory(w);
}

/* Nothing is read any more.  Memory stays until wire_end or wire_release: callers up the stack may
 * still hold a command. */
void wire_make_opaque(struct wire *w, const char *reason)
{
	struct wire_command *command = NULL;

	if (w->phase == WIRE_OPAQUE)
		return;
	w->phase = WIRE_OPAQUE;
	w->reason = reason;
	if (w->count && wire_queue_at(w, 0)->active) {
		command = wire_queue_at(w, 0);
		command->end_at = w->now.at;
	}
	w->sink->opaque(w->ctx, reason, command);
}

/* ---- the queue of commands ---- */

static struct wire_command *queue_push(struct wire *w, uint8_t byte)
{
	struct wire_command *c;

	if (w->count >= WIRE_PIPELINE_MAX) {
		wire_make_opaque(w, "more commands sent ahead than WIRE_PIPELINE_MAX");
		return NULL;
	}
	if (w->count == w->capacity) {
		size_t fresh = w->capacity ? w->capacity * 2 : 2;
		struct wire_command *queue = mem_zero(fresh, sizeof(*queue));

		for (size_t i = 0; i < w->count; i++)
			queue[i] = *wire_queue_at(w, i);
		mem_free(w->queue);
		w->queue = queue;
		w->head = 0;
		w->capacity = fresh;
	}
	c = wire_queue_at(w, w->count++);
	*c = (struct wire_command){.byte = byte, .number = ++w->numbers, .begin = w->client_stamp};
	return c;
}

static void queue_pop(struct wire *w)
{
	struct wire_command *c = wire_queue_at(w, 0);

	w->queued_bytes -= c->body.len;
	buf_release(&c->body);
	/* Mostly there is one: it shall have the same memory each time. */
	w->head = --w->count ? (w->head + 1) & (w->capacity - 1) : 0;
}

static enum wire_expect expect_of(uint8_t byte)
{
	switch (byte) {
	case CMD_QUIT:
	case CMD_STMT_SEND_LONG_DATA:
	case CMD_STMT_CLOSE:
		return EXPECT_NOTHING;
	case CMD_QUERY:
	case CMD_PROCESS_INFO:
	case CMD_STMT_EXECUTE:
	case CMD_STMT_BULK_EXECUTE:
		return EXPECT_FIRST;
	case CMD_FIELD_LIST:
		return EXPECT_FIELDS;
	case CMD_STATISTICS:
		return EXPECT_TEXT;
	case CMD_STMT_PREPARE:
		return EXPECT_PREPARED;
	case CMD_STMT_FETCH:
		return EXPECT_ROWS;
	case CMD_CHANGE_USER:
		return EXPECT_AUTH;
	case CMD_INIT_DB:
	case CMD_CREATE_DB:
	case CMD_DROP_DB:
	case CMD_REFRESH:
	case CMD_SHUTDOWN:
	case CMD_PROCESS_KILL:
	case CMD_DEBUG:
	case CMD_PING:
	case CMD_REGISTER_SLAVE:
	case CMD_STMT_RESET:
	case CMD_SET_OPTION:
	case CMD_RESET_CONNECTION:
		return EXPECT_SIMPLE;
	default:
		return EXPECT_UNKNOWN;
	}
}

static const char *opaque_command(uint8_t byte)
{
	switch (byte) {
	case CMD_BINLOG_DUMP:
	case CMD_BINLOG_DUMP_GTID:
		return "binlog dump";
	case CMD_TABLE_DUMP:
		return "table dump";
	case CMD_CLONE:
		return "clone";
	default:
		return NULL;
	}
}

/* ---- a command's turn has come ---- */

static void read_execute(
	struct wire *w, struct wire_command *c, struct span body, struct wire_request *request)
{
	struct wire_execute execute;
	bool ok;

	if (c->byte == CMD_STMT_BULK_EXECUTE) {
		ok = wire_bulk_parse(body, &w->stmts, &execute);
		request->bulk = true;
	} else {
		ok = wire_execute_parse(body, w->caps, &w->stmts, &execute);
		c->cursor = execute.flags & EXECUTE_CURSOR_MASK;
	}
	c->stmt = execute.stmt;
	c->binary = true;
	request->flags = execute.flags;
	request->iterations = execute.iterations;
	request->params = execute.params;
	request->params_bad = !ok || !execute.stmt || c->cut;
	/* What is there of them may lack its types. */
	if (request->params_bad)
		request->params = (struct wire_params){.count = 0};
}

static void read_long_data(
	struct wire *w, struct wire_command *c, struct span body, struct wire_request *request)
{
	struct cursor cursor = cursor_over(body);
	uint32_t id = (uint32_t)cursor_uint(&cursor, 4);
	uint16_t param = (uint16_t)cursor_uint(&cursor, 2);
	uint64_t total;

	if (cursor.bad)
		return;
	c->stmt = wire_stmts_find(&w->stmts, id);
	total = c->length - 7;
	request->value = total;
	if (c->stmt && !wire_stmt_long_data(
			       &w->stmts, c->stmt, param, cursor_rest(&cursor), total, c->cut))
		wire_make_opaque(w, "long data past WIRE_STATEMENT_BYTES_MAX");
}

static void read_request(struct wire *w, struct wire_command *c, struct span body,
	struct wire_request *request, struct wire_login *login)
{
	struct cursor cursor = cursor_over(body);

	switch (c->byte) {
	case CMD_QUERY:
		if (!wire_query_parse(body, w->caps, &request->text, &request->params)) {
			request->text = SPAN_NONE;
			request->params_bad = true;
			request->params = (struct wire_params){.count = 0};
		}
		request->text_cut = c->cut;
		break;
	case CMD_INIT_DB:
	case CMD_CREATE_DB:
	case CMD_DROP_DB:
	case CMD_STMT_PREPARE:
		request->text = body;
		request->text_cut = c->cut;
		break;
	case CMD_FIELD_LIST:
		request->text = cursor_nul_str(&cursor);
		break;
	case CMD_PROCESS_KILL:
		request->value = cursor_uint(&cursor, 4);
		break;
	case CMD_CHANGE_USER:
		if (wire_change_user_parse(body, w->caps, login))
			request->login = login;
		break;
	case CMD_STMT_EXECUTE:
	case CMD_STMT_BULK_EXECUTE:
		read_execute(w, c, body, request);
		break;
	case CMD_STMT_FETCH:
		c->stmt = wire_stmts_find(&w->stmts, (uint32_t)cursor_uint(&cursor, 4));
		request->value = cursor_uint(&cursor, 4);
		c->binary = true;
		c->no_columns = !c->stmt || !c->stmt->columns.count;
		break;
	case CMD_STMT_SEND_LONG_DATA:
		read_long_data(w, c, body, request);
		break;
	case CMD_STMT_RESET:
	case CMD_STMT_CLOSE:
		c->stmt = wire_stmts_find(&w->stmts, (uint32_t)cursor_uint(&cursor, 4));
		break;
	default:
		break;
	}
}

void wire_activate(struct wire *w, struct wire_command *c, struct span body)
{
	struct wire_request request = {.text = SPAN_NONE};
	struct wire_login login;
	const char *reason = opaque_command(c->byte);

	c->active = true;
	read_request(w, c, body, &request, &login);
	if (w->phase == WIRE_OPAQUE)
		return;
	w->sink->command(w->ctx, c, &request);
	if (c->stmt && (c->byte == CMD_STMT_EXECUTE || c->byte == CMD_STMT_RESET))
		wire_stmt_drop_long_data(&w->stmts, c->stmt);
	if (c->byte == CMD_STMT_CLOSE && c->stmt) {
		wire_stmts_remove(&w->stmts, c->stmt->id);
		c->stmt = NULL;
	}
	if (reason)
		wire_make_opaque(w, reason);
}

/* Gives the command at the head its event, and those after it that need no answer. */
static void activate_head(struct wire *w)
{
	while (w->count && w->phase == WIRE_COMMANDS) {
		struct wire_command *c = wire_queue_at(w, 0);

		if (!c->active) {
			if (!c->complete)
				return;
			wire_activate(w, c, buf_span(&c->body));
		}
		if (c->expect != EXPECT_NOTHING || w->phase != WIRE_COMMANDS)
			return;
		c->end_at = w->now.at;
		w->sink->reply(w->ctx, c, &(struct wire_reply){.kind = REPLY_NONE, .last = true});
		queue_pop(w);
	}
}

void wire_command_done(struct wire *w, struct wire_command *c, struct wire_reply *reply)
{
	reply->last = true;
	c->end_at = w->now.at;
	c->sent_at = w->now.sent;
	w->sink->reply(w->ctx, c, reply);
	queue_pop(w);
	activate_head(w);
}

/* ---- client to server ---- */

/* The first byte of a command is here, the rest perhaps not. */
static struct wire_command *announce(struct wire *w, uint8_t byte)
{
	struct wire_command *c;

	/* A command we did not know is over when the client goes on. */
	if (w->count == 1 && wire_queue_at(w, 0)->expect == EXPECT_UNREAD)
		wire_command_done(w, wire_queue_at(w, 0), &(struct wire_reply){.kind = REPLY_UNREAD});
	w->dialogue |= byte == CMD_CHANGE_USER;
	c = queue_push(w, byte);
	if (c)
		c->expect = expect_of(byte);
	return c;
}

static void client_command(struct wire *w, const struct packet *p)
{
	uint8_t byte = p->payload.len ? (uint8_t)p->payload.ptr[0] : CMD_SLEEP;
	struct wire_command *c;
	struct span body;

	if (w->announced) {
		c = w->count ? wire_queue_at(w, w->count - 1) : NULL;
		/* Answered before it was complete: nothing is left to do with it. */
		if (!c || c->number != w->announced)
			c = NULL;
		w->announced = 0;
		if (!c)
			return;
	} else {
		c = announce(w, byte);
		if (!c)
			return;
	}
	c->complete = true;
	c->cut = p->cut;
	c->length = p->total;
	c->digest = p->digest;
	body = p->payload.len ? span_of(p->payload.ptr + 1, p->payload.len - 1) : p->payload;
	if (c->active)
		return; /* the answer was faster than the command's end */
	if (w->count == 1) {
		wire_activate(w, c, body);
		activate_head(w);
		return;
	}
	w->queued_bytes += body.len;
	if (w->queued_bytes > WIRE_PIPELINE_BYTES_MAX) {
		w->queued_bytes -= body.len;
		wire_make_opaque(w, "commands sent ahead past WIRE_PIPELINE_BYTES_MAX");
		return;
	}
	buf_add_span(&c->body, body);
}

static void client_login(struct wire *w, const struct packet *p)
{
	struct wire_login login;

	if (!wire_login_parse(p->payload, w->server_caps, &login)) {
		wire_make_opaque(w, "login packet not understood (a client of before 4.1?)");
		return;
	}
	if (login.ssl_request) {
		if (!w->tls_ends)
			wire_make_opaque(w, "TLS passed through");
		return;
	}
	w->caps = w->server_caps & login.caps;
	w->phase = WIRE_AUTH;
	w->sink->login(w->ctx, &login);
}

static void infile_end(struct wire *w)
{
	unsigned char digest[8];

	siphash_final(&w->infile_digest, digest);
	w->infile = false;
	w->client.stream = NULL;
	if (w->count)
		w->sink->infile(
			w->ctx, wire_queue_at(w, 0), buf_span(&w->infile_name), w->infile_size, digest);
}

static void client_packet(struct wire *w, const struct packet *p)
{
	switch (w->phase) {
	case WIRE_GREETING:
		wire_make_opaque(w, "the client spoke before the server");
		return;
	case WIRE_LOGIN:
		client_login(w, p);
		return;
	case WIRE_AUTH:
	case WIRE_REFUSED:
	case WIRE_OPAQUE:
		return;
	case WIRE_COMMANDS:
		break;
	}
	if (w->infile) {
		w->infile_size += p->total;
		if (p->total == 0)
			infile_end(w);
		return;
	}
	/* Answers in the dialogue of CHANGE_USER go on counting; a command starts at 0. */
	if (w->count && wire_queue_at(w, 0)->expect == EXPECT_AUTH && p->seq != 0)
		return;
	client_command(w, p);
}

static void feed_client_plain(struct wire *w, struct span bytes)
{
	struct packet p;

	for (;;) {
		size_t keep = w->phase == WIRE_COMMANDS ? w->keep_max : WIRE_HANDSHAKE_KEEP_MAX;

		if (w->phase == WIRE_OPAQUE)
			return;
		if (frame_idle(&w->client))
			w->client_stamp = w->now;
		if (!frame_next(&w->client, &bytes, keep, &p))
			break;
		client_packet(w, &p);
		frame_forget(&w->client);
	}
	/* A command of which only a part is here must be in the queue before it can be answered. */
	if (w->phase == WIRE_COMMANDS && !w->announced && !w->infile && w->client.inside &&
		w->client.kept.len &&
		!(w->count && wire_queue_at(w, 0)->expect == EXPECT_AUTH && w->client.seq != 0)) {
		struct wire_command *c = announce(w, (uint8_t)w->client.kept.data[0]);

		if (c)
			w->announced = c->number;
	}
}

/* ---- server to client ---- */

static size_t server_keep(const struct wire *w)
{
	if (w->phase != WIRE_COMMANDS)
		return WIRE_HANDSHAKE_KEEP_MAX;
	if (w->count && w->queue[w->head].expect == EXPECT_ROWS)
		return w->row_keep_max;
	return w->keep_max;
}

/* FETCH expects rows at once, even when it is not complete. */
static bool may_have_rows(const struct wire *w)
{
	return w->phase == WIRE_COMMANDS && w->count && w->queue[w->head].expect == EXPECT_ROWS &&
	       w->queue[w->head].active && w->sink->rows && frame_idle(&w->server) &&
	       !w->server.kept.len;
}

/* Returns what is left when compression begins in the middle of the bytes. */
static struct span feed_server_plain(struct wire *w, struct span bytes)
{
	enum wire_compression kind = w->server_inflate.kind;
	struct packet p;

	if (w->count && bytes.len && !w->queue[w->head].first_byte_at)
		w->queue[w->head].first_byte_at = w->now.at;
	for (;;) {
		if (may_have_rows(w))
			wire_server_rows(w, &bytes);
		if (w->phase == WIRE_OPAQUE || !frame_next(&w->server, &bytes, server_keep(w), &p))
			break;
		wire_server_packet(w, &p);
		frame_forget(&w->server);
		if (w->count && bytes.len && !w->queue[w->head].first_byte_at)
			w->queue[w->head].first_byte_at = w->now.at;
		if (w->server_inflate.kind != kind)
			return bytes;
	}
	/* Not a greeting, and by its length it may never be complete. */
	if (w->phase == WIRE_GREETING && w->server.inside &&
		w->server.total + w->server.left > WIRE_HANDSHAKE_KEEP_MAX)
		wire_make_opaque(w, "greeting not understood");
	return SPAN_NONE;
}

void wire_feed_client(struct wire *w, struct span bytes, struct wire_stamp now)
{
	struct span plain;
	bool bad = false;

	if (w->phase == WIRE_OPAQUE)
		return;
	w->now = now;
	if (w->client_inflate.kind == COMPRESSION_NONE) {
		feed_client_plain(w, bytes);
		return;
	}
	while (w->phase != WIRE_OPAQUE &&
		wire_inflate_next(&w->client_inflate, &bytes, &plain, &bad))
		feed_client_plain(w, plain);
	if (bad)
		wire_make_opaque(w, "compressed frame of the client damaged");
}

void wire_feed_server(struct wire *w, struct span bytes, struct wire_stamp now)
{
	struct span plain;
	bool bad = false;

	if (w->phase == WIRE_OPAQUE)
		return;
	w->now = now;
	if (w->server_inflate.kind == COMPRESSION_NONE) {
		bytes = feed_server_plain(w, bytes);
		if (w->server_inflate.kind == COMPRESSION_NONE)
			return;
	}
	while (w->phase != WIRE_OPAQUE && bytes.len &&
		wire_inflate_next(&w->server_inflate, &bytes, &plain, &bad))
		(void)feed_server_plain(w, plain);
	if (bad)
		wire_make_opaque(w, "compressed frame of the server damaged");
}

void wire_end(struct wire *w, struct wire_stamp now)
{
	w->now = now;
	while (w->count && w->phase == WIRE_COMMANDS) {
		struct wire_command *c = wire_queue_at(w, 0);

		if (!c->active) {
			struct span body = c->complete ? buf_span(&c->body) : SPAN_NONE;

			if (!c->complete && w->client.kept.len)
				body = span_of(w->client.kept.data + 1, w->client.kept.len - 1);
			c->cut |= !c->complete;
			if (!c->complete)
				c->length = w->client.total;
			wire_activate(w, c, body);
			if (w->phase != WIRE_COMMANDS)
				break;
		}
		c->end_at = now.at;
		w->sink->reply(w->ctx, c,
			&(struct wire_reply){.kind = REPLY_NONE,
				.last = true,
				.lost = c->expect != EXPECT_NOTHING});
		queue_pop(w);
	}
	drop_memory(w);
}
