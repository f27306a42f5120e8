/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/answer.h"

/* Without DEPRECATE_EOF: 0xfe and under 9 bytes.  With it rows end with an OK packet under 0xfe,
 * of any length that fits one packet (an info or state may be long). */
bool wire_is_rows_end(const struct wire *w, const struct packet *p)
{
	if (p->payload.len == 0 || (uint8_t)p->payload.ptr[0] != 0xfe)
		return false;
	if (w->caps & CAP_DEPRECATE_EOF)
		return p->total < PROTO_PAYLOAD_MAX;
	return p->total < 9;
}

/* An OK under 0x00 or 0xfe, or an EOF. */
static bool parse_end(const struct wire *w, const struct packet *p, struct wire_reply *reply)
{
	if ((uint8_t)p->payload.ptr[0] == 0xfe && p->total < 7)
		return wire_eof_parse(p->payload, reply);
	return wire_ok_parse(p->payload, w->caps, reply);
}

/* A result of the chain is over. */
static void result_done(struct wire *w, struct wire_command *c, struct wire_reply *reply)
{
	if ((reply->status & STATUS_MORE_RESULTS) && c->byte != CMD_STMT_FETCH) {
		reply->last = false;
		c->end_at = w->now.at;
		w->sink->reply(w->ctx, c, reply);
		c->set++;
		c->expect = EXPECT_FIRST;
		return;
	}
	wire_command_done(w, c, reply);
}

static void expect_rows(struct wire *w, struct wire_command *c)
{
	const struct wire_columns *columns = &w->columns;

	c->no_columns = false;
	c->expect = EXPECT_ROWS;
	if (columns->count == 0) {
		columns = c->stmt && c->stmt->columns.count ? &c->stmt->columns : NULL;
		c->no_columns = !columns;
	} else if (c->stmt && c->byte == CMD_STMT_EXECUTE && c->set == 0) {
		if (!wire_stmt_keep_columns(&w->stmts, c->stmt, columns)) {
			wire_make_opaque(w, "statements past WIRE_STATEMENT_BYTES_MAX");
			return;
		}
	}
	w->sink->columns(w->ctx, c, columns);
}

/* The column count; MySQL puts the metadata flag before it, MariaDB behind. */
static void result_head(struct wire *w, struct wire_command *c, const struct packet *p)
{
	struct cursor cursor = cursor_over(p->payload);
	bool metadata = true;
	uint64_t count;

	if (w->caps & CAP_OPTIONAL_METADATA)
		metadata = cursor_uint(&cursor, 1) != 0;
	count = cursor_lenenc(&cursor);
	if ((w->caps & CAP_MARIADB_CACHE_METADATA) && cursor_left(&cursor))
		metadata = cursor_uint(&cursor, 1) != 0;
	if (cursor.bad || count == 0 || count > WIRE_COLUMNS_MAX) {
		wire_make_opaque(w, "column count not understood");
		return;
	}
	wire_columns_clear(&w->columns);
	c->definitions_left = metadata ? (uint32_t)count : 0;
	if (metadata)
		c->expect = EXPECT_COLUMNS;
	else if (w->caps & CAP_DEPRECATE_EOF)
		expect_rows(w, c);
	else
		c->expect = EXPECT_COLUMNS_END;
}

static void infile_begin(struct wire *w, struct wire_command *c, const struct packet *p)
{
	/* The server takes whatever the client sends next for data; so must we, or stop. */
	if (w->count > 1 || w->announced) {
		wire_make_opaque(w, "LOCAL INFILE with commands sent ahead");
		return;
	}
	(void)c;
	buf_clear(&w->infile_name);
	buf_add(&w->infile_name, p->payload.ptr + 1, p->payload.len - 1);
	w->infile = true;
	w->infile_size = 0;
	siphash_init(&w->infile_digest, NULL, false);
	w->client.stream = &w->infile_digest;
}

static void reply_first(struct wire *w, struct wire_command *c, const struct packet *p)
{
	uint8_t first = (uint8_t)p->payload.ptr[0];
	struct wire_reply reply;

	/* With OPTIONAL_RESULTSET_METADATA a leading 0 may be the flag; an OK has 7 bytes or more.
	 */
	if (first == 0x00 && (p->total >= 7 || !(w->caps & CAP_OPTIONAL_METADATA))) {
		if (wire_ok_parse(p->payload, w->caps, &reply))
			result_done(w, c, &reply);
		else
			wire_make_opaque(w, "OK packet not understood");
	} else if (first == 0xfb) {
		infile_begin(w, c, p);
	} else if (first == 0xfe && p->total < 9) {
		/* Old servers answer some commands with a bare EOF. */
		if (parse_end(w, p, &reply))
			result_done(w, c, &reply);
		else
			wire_make_opaque(w, "EOF packet not understood");
	} else {
		result_head(w, c, p);
	}
}

static void reply_columns(struct wire *w, struct wire_command *c, const struct packet *p)
{
	if (p->cut || !wire_columns_add(&w->columns, p->payload, w->caps)) {
		wire_make_opaque(w, "column definition not understood");
		return;
	}
	if (--c->definitions_left)
		return;
	if (w->caps & CAP_DEPRECATE_EOF)
		expect_rows(w, c);
	else
		c->expect = EXPECT_COLUMNS_END;
}

static void reply_columns_end(struct wire *w, struct wire_command *c, const struct packet *p)
{
	struct wire_reply reply;

	if (!wire_is_rows_end(w, p) || !wire_eof_parse(p->payload, &reply)) {
		wire_make_opaque(w, "no EOF after the column definitions");
		return;
	}
	expect_rows(w, c);
	/* With a cursor the answer ends here, and FETCH gets the rows. */
	if (w->phase == WIRE_COMMANDS && c->cursor && (reply.status & STATUS_CURSOR_EXISTS))
		result_done(w, c, &reply);
}

static const struct wire_columns *columns_of(const struct wire *w, const struct wire_command *c)
{
	if (c->no_columns)
		return NULL;
	if (c->byte != CMD_STMT_FETCH && w->columns.count)
		return &w->columns;
	return c->stmt ? &c->stmt->columns : NULL;
}

static void reply_rows(struct wire *w, struct wire_command *c, const struct packet *p)
{
	struct wire_reply reply;

	if (wire_is_rows_end(w, p)) {
		if (parse_end(w, p, &reply))
			result_done(w, c, &reply);
		else
			wire_make_opaque(w, "end of rows not understood");
		return;
	}
	w->sink->row(w->ctx, c, columns_of(w, c), p);
}

enum { ROWS_AHEAD = 512 };

/* The rows that lie whole at the front of the bytes, in one go: a packet that could be anything but
 * a row is left there. */
void wire_server_rows(struct wire *w, struct span *bytes)
{
	struct wire_command *c = wire_queue_at(w, 0);
	const unsigned char *p = (const unsigned char *)bytes->ptr, *end = p + bytes->len;
	size_t count = 0, taken;

	while (end - p > PROTO_HEAD_SIZE) {
		size_t len = p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16;

		/* Each head is found by the one before it: nothing else reads ahead. */
		__builtin_prefetch(p + ROWS_AHEAD);
		__builtin_prefetch(p + ROWS_AHEAD + 64);
		/* 0xfe may end the rows or begin a long value, 0xff is an error. */
		if (len == 0 || len >= PROTO_PAYLOAD_MAX || len > w->row_keep_max ||
			len > (size_t)(end - p) - PROTO_HEAD_SIZE || p[PROTO_HEAD_SIZE] >= 0xfe)
			break;
		p += PROTO_HEAD_SIZE + len;
		count++;
	}
	if (!count)
		return;
	taken = (size_t)(p - (const unsigned char *)bytes->ptr);
	c->reply_bytes += taken;
	w->sink->rows(w->ctx, c, columns_of(w, c), span_of(bytes->ptr, taken), count);
	*bytes = span_of(p, bytes->len - taken);
}

static void prepared_next(struct wire *w, struct wire_command *c)
{
	if (c->params_left) {
		c->expect = EXPECT_PREPARED_PARAMS;
	} else if (c->definitions_left) {
		c->expect = EXPECT_PREPARED_COLUMNS;
	} else {
		if (c->stmt && w->columns.count &&
			!wire_stmt_keep_columns(&w->stmts, c->stmt, &w->columns)) {
			wire_make_opaque(w, "statements past WIRE_STATEMENT_BYTES_MAX");
			return;
		}
		wire_command_done(w, c, &c->prepared);
	}
}

/* PREPARE's OK: id 4, columns 2, parameters 2, filler, warnings 2, perhaps the metadata flag. */
static void reply_prepared(struct wire *w, struct wire_command *c, const struct packet *p)
{
	struct cursor cursor = cursor_over(p->payload);
	bool metadata = true;

	c->prepared = (struct wire_reply){.kind = REPLY_PREPARED};
	if (cursor_uint(&cursor, 1) != 0) {
		wire_make_opaque(w, "answer to PREPARE not understood");
		return;
	}
	c->prepared.statement_id = (uint32_t)cursor_uint(&cursor, 4);
	c->prepared.columns = (uint16_t)cursor_uint(&cursor, 2);
	c->prepared.params = (uint16_t)cursor_uint(&cursor, 2);
	if (cursor_left(&cursor) >= 3) {
		cursor_uint(&cursor, 1);
		c->prepared.warnings = (uint16_t)cursor_uint(&cursor, 2);
	}
	if ((w->caps & CAP_OPTIONAL_METADATA) && cursor_left(&cursor))
		metadata = cursor_uint(&cursor, 1) != 0;
	if (cursor.bad) {
		wire_make_opaque(w, "answer to PREPARE not understood");
		return;
	}
	c->stmt = wire_stmts_add(&w->stmts, c->prepared.statement_id);
	if (!c->stmt) {
		wire_make_opaque(w, "more prepared statements than WIRE_STATEMENTS_MAX");
		return;
	}
	w->stmts.last_id = c->prepared.statement_id;
	c->stmt->number = c->number;
	c->stmt->params = c->prepared.params;
	wire_columns_clear(&w->columns);
	c->params_left = metadata ? c->prepared.params : 0;
	c->definitions_left = metadata ? c->prepared.columns : 0;
	prepared_next(w, c);
}

static void reply_prepared_definition(
	struct wire *w, struct wire_command *c, const struct packet *p)
{
	bool end = !(w->caps & CAP_DEPRECATE_EOF);

	if (c->expect == EXPECT_PREPARED_PARAMS) {
		if (--c->params_left == 0) {
			c->expect = EXPECT_PREPARED_PARAMS_END;
			if (!end)
				prepared_next(w, c);
		}
		return;
	}
	if (p->cut || !wire_columns_add(&w->columns, p->payload, w->caps)) {
		wire_make_opaque(w, "column definition not understood");
		return;
	}
	if (--c->definitions_left == 0) {
		c->expect = EXPECT_PREPARED_COLUMNS_END;
		if (!end)
			prepared_next(w, c);
	}
}

static void reply_prepared_end(struct wire *w, struct wire_command *c, const struct packet *p)
{
	struct wire_reply reply;

	if (!wire_is_rows_end(w, p) || !wire_eof_parse(p->payload, &reply)) {
		wire_make_opaque(w, "no EOF after the definitions of a prepared statement");
		return;
	}
	c->prepared.status = reply.status;
	c->prepared.has_status = true;
	prepared_next(w, c);
}

static void reply_simple(struct wire *w, struct wire_command *c, const struct packet *p)
{
	uint8_t first = (uint8_t)p->payload.ptr[0];
	struct wire_reply reply;

	if ((first != 0x00 && first != 0xfe) || !parse_end(w, p, &reply)) {
		wire_make_opaque(w, "answer not understood");
		return;
	}
	if (c->byte == CMD_RESET_CONNECTION)
		wire_stmts_clear(&w->stmts);
	wire_command_done(w, c, &reply);
}

static void reply_auth(struct wire *w, struct wire_command *c, const struct packet *p)
{
	struct wire_reply reply;

	if ((uint8_t)p->payload.ptr[0] != 0x00)
		return; /* the dialogue goes on */
	if (!wire_ok_parse(p->payload, w->caps, &reply)) {
		wire_make_opaque(w, "OK packet not understood");
		return;
	}
	wire_stmts_clear(&w->stmts);
	reply.info = SPAN_NONE; /* may hold a proof made from the password */
	wire_command_done(w, c, &reply);
}

static void reply_unknown(struct wire *w, struct wire_command *c, const struct packet *p)
{
	uint8_t first = (uint8_t)p->payload.ptr[0];
	struct wire_reply reply;

	if ((first == 0x00 || (first == 0xfe && p->total < 9)) && parse_end(w, p, &reply)) {
		wire_command_done(w, c, &reply);
		return;
	}
	if (w->count > 1)
		wire_make_opaque(w, "unknown command with commands sent ahead");
	c->expect = EXPECT_UNREAD;
}

static void reply_error(struct wire *w, struct wire_command *c, const struct packet *p)
{
	struct wire_reply reply;

	if (!wire_err_parse(p->payload, &reply)) {
		wire_make_opaque(w, "ERR packet not understood");
		return;
	}
	/* A failed PREPARE leaves nothing for EXECUTE(-1) to run. */
	if (c->byte == CMD_STMT_PREPARE)
		w->stmts.last_id = 0;
	wire_command_done(w, c, &reply);
}

static void reply_packet(struct wire *w, struct wire_command *c, const struct packet *p)
{
	c->reply_bytes += p->total + PROTO_HEAD_SIZE * (1 + p->total / PROTO_PAYLOAD_MAX);
	if (!c->active) {
		/* Refused before it was complete, as a packet too large is. */
		struct span body = buf_span(&w->client.kept);

		c->cut = true;
		c->length = w->client.total;
		wire_activate(w, c, body.len ? span_of(body.ptr + 1, body.len - 1) : body);
		if (w->phase != WIRE_COMMANDS)
			return;
	}
	if (p->payload.len == 0 && c->expect != EXPECT_TEXT && c->expect != EXPECT_ROWS) {
		wire_make_opaque(w, "empty packet in an answer");
		return;
	}
	if (p->payload.len && (uint8_t)p->payload.ptr[0] == 0xff && c->expect != EXPECT_UNREAD) {
		if (wire_is_progress(p->payload) && (w->caps & CAP_MARIADB_PROGRESS))
			return;
		reply_error(w, c, p);
		return;
	}
	switch (c->expect) {
	case EXPECT_NOTHING:
		wire_make_opaque(w, "an answer where none was due");
		return;
	case EXPECT_SIMPLE:
		reply_simple(w, c, p);
		return;
	case EXPECT_FIRST:
		reply_first(w, c, p);
		return;
	case EXPECT_COLUMNS:
		reply_columns(w, c, p);
		return;
	case EXPECT_COLUMNS_END:
		reply_columns_end(w, c, p);
		return;
	case EXPECT_ROWS:
		reply_rows(w, c, p);
		return;
	case EXPECT_PREPARED:
		reply_prepared(w, c, p);
		return;
	case EXPECT_PREPARED_PARAMS:
	case EXPECT_PREPARED_COLUMNS:
		reply_prepared_definition(w, c, p);
		return;
	case EXPECT_PREPARED_PARAMS_END:
	case EXPECT_PREPARED_COLUMNS_END:
		reply_prepared_end(w, c, p);
		return;
	case EXPECT_FIELDS:
		if (wire_is_rows_end(w, p))
			reply_simple(w, c, p);
		return;
	case EXPECT_TEXT:
		wire_command_done(w, c, &(struct wire_reply){.kind = REPLY_TEXT, .info = p->payload});
		return;
	case EXPECT_AUTH:
		reply_auth(w, c, p);
		return;
	case EXPECT_UNKNOWN:
		reply_unknown(w, c, p);
		return;
	case EXPECT_UNREAD:
		if (w->count > 1)
			wire_make_opaque(w, "unknown command with commands sent ahead");
		return;
	}
}

static void server_greeting(struct wire *w, const struct packet *p)
{
	struct wire_greeting greeting;
	struct wire_reply reply;

	if (p->payload.len && (uint8_t)p->payload.ptr[0] == 0xff &&
		wire_err_parse(p->payload, &reply)) {
		w->phase = WIRE_REFUSED;
		reply.last = true;
		w->sink->authenticated(w->ctx, &reply);
		return;
	}
	if (!wire_greeting_parse(p->payload, &greeting)) {
		wire_make_opaque(w, "greeting not understood");
		return;
	}
	w->server_caps = greeting.caps & ~w->caps_cleared;
	w->phase = WIRE_LOGIN;
	w->sink->greeting(w->ctx, &greeting);
}

static void server_auth(struct wire *w, const struct packet *p)
{
	uint8_t first = p->payload.len ? (uint8_t)p->payload.ptr[0] : 1;
	struct wire_reply reply;

	if (first == 0xff && wire_err_parse(p->payload, &reply)) {
		w->phase = WIRE_REFUSED;
		reply.last = true;
		w->sink->authenticated(w->ctx, &reply);
		return;
	}
	/* Switch, more data, next factor, or a plugin's own bytes: any number of rounds. */
	if (first != 0x00)
		return;
	if (!wire_ok_parse(p->payload, w->caps, &reply)) {
		wire_make_opaque(w, "OK packet not understood");
		return;
	}
	w->phase = WIRE_COMMANDS;
	w->client.secret = w->server.secret = false;
	if (w->caps & (CAP_COMPRESS | CAP_ZSTD)) {
		/* zlib wins when both are there. */
		enum wire_compression kind =
			w->caps & CAP_COMPRESS ? COMPRESSION_ZLIB : COMPRESSION_ZSTD;

		w->client_inflate.kind = w->server_inflate.kind = kind;
	}
	reply.info = SPAN_NONE; /* MariaDB's proof of the certificate, made from the password */
	reply.last = true;
	w->sink->authenticated(w->ctx, &reply);
}

void wire_server_packet(struct wire *w, const struct packet *p)
{
	struct wire_reply reply;

	switch (w->phase) {
	case WIRE_GREETING:
		server_greeting(w, p);
		return;
	case WIRE_LOGIN:
	case WIRE_AUTH:
		server_auth(w, p);
		return;
	case WIRE_REFUSED:
	case WIRE_OPAQUE:
		return;
	case WIRE_COMMANDS:
		break;
	}
	if (w->count) {
		reply_packet(w, wire_queue_at(w, 0), p);
		return;
	}
	if (p->payload.len && (uint8_t)p->payload.ptr[0] == 0xff &&
		wire_err_parse(p->payload, &reply)) {
		w->sink->unsolicited(w->ctx, &reply);
		return;
	}
	wire_make_opaque(w, "an answer without a command");
}
