/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/interpose.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "instrument/literal.h"
#include "proxy/strip.h"

/* What a command on the server's side is. */
enum job_kind {
	JOB_CLIENT,
	JOB_LOG,   /* LOG_READ_SQL */
	JOB_RESET, /* it is emptied */
	JOB_OWN,   /* a query of select mode */
};

struct job {
	uint32_t number; /* of the inner parser */
	enum job_kind kind;
};

/* The plan of a prepared statement; all of a session are linked. */
struct prepared {
	struct plan plan;
	struct prepared *prev, *next;
};

struct interpose {
	const struct instrument_tables *tables;
	struct wire *outer;
	struct capture *capture;
	struct wire inner;
	struct frame server;
	struct buf held; /* from the client, not sent yet */
	bool off;        /* everything passes unread */
	struct instrument_session session;
	struct job jobs[INTERPOSE_JOBS]; /* not answered yet */
	size_t job_count;

	/* The client's command under way. */
	uint8_t command;
	struct prepared *preparing; /* of a PREPARE */
	uint32_t appended;          /* columns to take out of its answer */
	uint32_t columns, column;   /* of its answer; how many definitions came */
	uint8_t shift;              /* by how much its packets' numbers are too high */
	bool failed;
	unsigned error;      /* the server's number */
	struct buf original; /* it, where it goes out with columns appended */
	bool again;          /* ... and without them, as the server does not take these */
	uint64_t affected, insert_id; /* of its OK */
	bool affected_known, warnings;
	/* It waits until queries of select mode are answered. */
	struct buf deferred;
	bool is_deferred;
	unsigned own_error; /* of the query of select mode that is being answered */

	struct prepared *prepared;
	struct buf scratch, raw, rewritten;
	/* The parameters of an EXECUTE, as SQL literals one behind the other. */
	struct buf literals;
	struct span literal[INTERPOSE_LITERALS];
	size_t literal_count;
};

/* ---- the parsers' sinks ---- */

static void on_greeting(void *ctx, const struct wire_greeting *greeting)
{
	(void)ctx;
	(void)greeting;
}

static void on_login(void *ctx, const struct wire_login *login)
{
	(void)ctx;
	(void)login;
}

static void on_reply_alone(void *ctx, const struct wire_reply *reply)
{
	(void)ctx;
	(void)reply;
}

static void on_command(void *ctx, struct wire_command *command, const struct wire_request *request)
{
	(void)ctx;
	(void)command;
	(void)request;
}

static void on_columns(void *ctx, struct wire_command *command, const struct wire_columns *columns)
{
	(void)ctx;
	(void)command;
	(void)columns;
}

static void on_row(void *ctx, struct wire_command *command, const struct wire_columns *columns,
	const struct packet *row)
{
	(void)ctx;
	(void)command;
	(void)columns;
	(void)row;
}

static void on_reply(void *ctx, struct wire_command *command, const struct wire_reply *reply)
{
	(void)ctx;
	(void)command;
	(void)reply;
}

static void on_infile(void *ctx, struct wire_command *command, struct span name, uint64_t size,
	const unsigned char digest[8])
{
	(void)ctx;
	(void)command;
	(void)name;
	(void)size;
	(void)digest;
}

static void on_opaque(void *ctx, const char *reason, struct wire_command *command)
{
	struct interpose *i = ctx;

	(void)reason;
	(void)command;
	i->off = true;
}

/* The inner parser is asked for its state, not listened to. */
static const struct wire_sink inner_sink = {
	.greeting = on_greeting,
	.login = on_login,
	.authenticated = on_reply_alone,
	.command = on_command,
	.columns = on_columns,
	.row = on_row,
	.reply = on_reply,
	.infile = on_infile,
	.unsolicited = on_reply_alone,
	.opaque = on_opaque,
};

/* ---- making and freeing ---- */

struct interpose *interpose_new(
	const struct instrument_tables *tables, struct wire *outer, struct capture *capture)
{
	struct interpose *i = mem_zero(1, sizeof(*i));
	struct sql_options options = sql_options_for_server(span_str(tables->version));

	i->tables = tables;
	i->outer = outer;
	i->capture = capture;
	wire_init(&i->inner, &inner_sink, i, NULL);
	i->inner.phase = WIRE_COMMANDS;
	i->inner.caps = outer->caps;
	i->inner.server_caps = outer->server_caps;
	i->inner.client.secret = i->inner.server.secret = false;
	frame_init(&i->server, NULL);
	instrument_session_init(&i->session, tables, &options);
	return i;
}

static void prepared_free(struct interpose *i, struct prepared *p)
{
	if (p->prev)
		p->prev->next = p->next;
	else
		i->prepared = p->next;
	if (p->next)
		p->next->prev = p->prev;
	plan_release(&p->plan);
	free(p);
}

static struct prepared *prepared_new(struct interpose *i)
{
	struct prepared *p = mem_zero(1, sizeof(*p));

	p->next = i->prepared;
	if (p->next)
		p->next->prev = p;
	i->prepared = p;
	return p;
}

void interpose_free(struct interpose *i)
{
	while (i->prepared)
		prepared_free(i, i->prepared);
	wire_release(&i->inner);
	frame_release(&i->server);
	instrument_session_release(&i->session);
	if (i->held.data)
		mem_wipe(i->held.data, i->held.capacity);
	buf_release(&i->held);
	buf_release(&i->scratch);
	buf_release(&i->raw);
	buf_release(&i->rewritten);
	buf_release(&i->literals);
	buf_release(&i->original);
	if (i->deferred.data)
		mem_wipe(i->deferred.data, i->deferred.capacity);
	buf_release(&i->deferred);
	free(i);
}

/* ---- to the server ---- */

static struct wire_stamp stamp(struct interpose *i, bool begins)
{
	return (struct wire_stamp){
		clock_mono_ns(), begins ? capture_begin_seq(i->capture->worker) : 0, 0};
}

/* The command being answered on the server's side; NULL: none. */
static struct wire_command *inner_head(struct interpose *i)
{
	return i->inner.count ? &i->inner.queue[i->inner.head] : NULL;
}

static bool waits_for_answer(const struct interpose *i)
{
	const struct wire *w = &i->inner;

	return w->count > 1 || (w->count == 1 && w->queue[w->head].expect != EXPECT_UNREAD);
}

bool interpose_is_full(const struct interpose *i)
{
	return !i->off && i->held.len && waits_for_answer(i) && !i->inner.infile &&
	       i->inner.queue[i->inner.head].expect != EXPECT_AUTH;
}

/* What was sent last; only commands of our own need to be remembered. */
static void add_job(struct interpose *i, enum job_kind kind)
{
	if (kind == JOB_CLIENT)
		return;
	CHECK(i->job_count < INTERPOSE_JOBS);
	i->jobs[i->job_count++] = (struct job){i->inner.numbers, kind};
}

static enum job_kind kind_of(struct interpose *i, uint32_t number)
{
	size_t at = 0;

	while (at < i->job_count && i->jobs[at].number != number)
		at++;
	return at < i->job_count ? i->jobs[at].kind : JOB_CLIENT;
}

static void forget_job(struct interpose *i, uint32_t number)
{
	size_t kept = 0;

	for (size_t at = 0; at < i->job_count; at++)
		if (i->jobs[at].number > number)
			i->jobs[kept++] = i->jobs[at];
	i->job_count = kept;
}

static void send_packet(
	struct interpose *i, struct span payload, enum job_kind kind, struct buf *to_server)
{
	size_t start = to_server->len;

	strip_put(to_server, payload, 0);
	wire_feed_client(&i->inner, span_of(to_server->data + start, to_server->len - start),
		stamp(i, false));
	add_job(i, kind);
}

static void send_query(
	struct interpose *i, const char *sql, enum job_kind kind, struct buf *to_server)
{
	struct buf payload = BUF_INIT;

	buf_add_char(&payload, CMD_QUERY);
	if (i->inner.caps & CAP_QUERY_ATTRIBUTES) {
		buf_add_char(&payload, 0); /* parameters */
		buf_add_char(&payload, 1); /* sets of them */
	}
	buf_add_str(&payload, sql);
	send_packet(i, buf_span(&payload), kind, to_server);
	buf_release(&payload);
}

/* What goes before a statement. */
static void send_own(struct interpose *i, struct buf *to_server)
{
	bool reset = instrument_wants_reset(&i->session);

	if (instrument_wants_log(&i->session)) {
		send_query(i, LOG_READ_SQL, JOB_LOG, to_server);
		reset = i->session.plan.writes;
	}
	if (reset)
		send_query(i, i->tables->reset_sql, JOB_RESET, to_server);
}

static void send_raw(struct interpose *i, struct span raw, struct buf *to_server)
{
	buf_add_span(to_server, raw);
	wire_feed_client(&i->inner, raw, stamp(i, false));
}

/* Select mode: true if something goes out before the command. */
static bool send_before(struct interpose *i, struct buf *to_server)
{
	const struct own_query *q = instrument_next_query(&i->session);

	if (!q)
		return false;
	i->own_error = 0;
	send_query(i, q->sql.data, JOB_OWN, to_server);
	return true;
}

/* Sends a command of the client, or keeps it until the queries before it are answered. */
static void send_command(struct interpose *i, struct span raw, struct buf *to_server)
{
	if (!send_before(i, to_server)) {
		send_raw(i, raw, to_server);
		return;
	}
	buf_clear(&i->deferred);
	buf_add_span(&i->deferred, raw);
	i->is_deferred = true;
}

/* ---- commands of the client ---- */

/* Status flags change how text is read. */
static void set_mode(struct interpose *i)
{
	uint16_t status = i->capture->status;

	i->session.options.mode = 0;
	if (status & STATUS_NO_BACKSLASH_ESCAPES)
		i->session.options.mode |= SQL_MODE_NO_BACKSLASH_ESCAPES;
	if ((status & STATUS_ANSI_QUOTES) && i->session.options.flavour == SQL_MARIADB)
		i->session.options.mode |= SQL_MODE_ANSI_QUOTES;
}

/* A command that is neither a read nor a write of ours to follow. */
static void plain_command(struct interpose *i)
{
	static const struct plan nothing;

	instrument_begin_planned(&i->session, i->capture, i->outer->numbers, &nothing, NULL, 0);
}

static void keep_original(struct interpose *i, struct span raw)
{
	buf_clear(&i->original);
	buf_add_span(&i->original, raw);
}

static void send_query_command(
	struct interpose *i, struct span payload, struct span raw, struct buf *to_server)
{
	struct span body = span_of(payload.ptr + 1, payload.len - 1), text;
	struct wire_params attributes;

	set_mode(i);
	if (!wire_query_parse(body, i->inner.caps, &text, &attributes))
		text = INSTRUMENT_ANYTHING;
	instrument_begin(&i->session, i->capture, i->outer->numbers, text);
	send_own(i, to_server);
	if (!i->session.plan.rewritten) {
		send_command(i, raw, to_server);
		return;
	}
	keep_original(i, raw);
	i->appended = (uint32_t)i->session.plan.table_count;
	buf_clear(&i->scratch);
	buf_add(&i->scratch, payload.ptr, (size_t)(text.ptr - payload.ptr));
	buf_add_span(&i->scratch, buf_span(&i->session.plan.text));
	buf_clear(&i->rewritten);
	strip_put(&i->rewritten, buf_span(&i->scratch), 0);
	send_command(i, buf_span(&i->rewritten), to_server);
}

static void send_prepare(
	struct interpose *i, struct span payload, struct span raw, struct buf *to_server)
{
	struct span text = span_of(payload.ptr + 1, payload.len - 1);
	struct prepared *p = prepared_new(i);
	struct plan_context context;

	set_mode(i);
	context = instrument_context(&i->session, i->capture, true);
	plan_statement(&p->plan, &context,
		capture_can_parse(i->capture, text) ? text : INSTRUMENT_ANYTHING);
	i->preparing = p;
	if (!p->plan.rewritten) {
		send_raw(i, raw, to_server);
		return;
	}
	keep_original(i, raw);
	i->appended = (uint32_t)p->plan.table_count;
	buf_clear(&i->scratch);
	buf_add_char(&i->scratch, CMD_STMT_PREPARE);
	buf_add_span(&i->scratch, buf_span(&p->plan.text));
	send_packet(i, buf_span(&i->scratch), JOB_CLIENT, to_server);
}

static struct prepared *prepared_of(struct interpose *i, struct span payload)
{
	struct cursor c = cursor_over(payload);
	struct wire_stmt *stmt;
	uint32_t id;

	(void)cursor_uint(&c, 1);
	id = (uint32_t)cursor_uint(&c, 4);
	stmt = c.bad ? NULL : wire_stmts_find(&i->inner.stmts, id);
	return stmt ? (struct prepared *)(uintptr_t)stmt->tag : NULL;
}

/* The statement table is the server's own, as nothing is under way. */
static void read_literals(struct interpose *i, struct span body)
{
	size_t ends[INTERPOSE_LITERALS], start = 0;
	struct wire_execute execute;
	struct wire_param param;

	if (!wire_execute_parse(body, i->inner.caps, &i->inner.stmts, &execute) || !execute.stmt)
		return;
	while (i->literal_count < INTERPOSE_LITERALS && wire_params_next(&execute.params, &param)) {
		literal_add(&i->literals, &param);
		ends[i->literal_count++] = i->literals.len;
	}
	for (size_t k = 0; k < i->literal_count; start = ends[k++])
		i->literal[k] = span_of(i->literals.data + start, ends[k] - start);
}

/* EXECUTE, BULK_EXECUTE and FETCH. */
static void send_execute(
	struct interpose *i, struct span payload, struct span raw, struct buf *to_server)
{
	struct prepared *p = prepared_of(i, payload);
	bool whole = i->command == CMD_STMT_EXECUTE;

	if (whole)
		read_literals(i, span_of(payload.ptr + 1, payload.len - 1));
	if (p) {
		instrument_begin_planned(&i->session, i->capture, i->outer->numbers, &p->plan,
			i->literal, whole ? i->literal_count : 0);
		i->appended = p->plan.rewritten ? (uint32_t)p->plan.table_count : 0;
		/* Rows that a cursor gives piece by piece, or conditions of many rows. */
		if (!whole)
			i->session.stmt.predicate = SPAN_NONE;
		/* What a cursor gives was read when it was opened, perhaps before later writes. */
		if (i->command == CMD_STMT_FETCH) {
			i->session.plan.writes = false;
			i->session.stmt.lost = true;
		}
	} else {
		instrument_begin(&i->session, i->capture, i->outer->numbers, INSTRUMENT_ANYTHING);
	}
	send_own(i, to_server);
	send_command(i, raw, to_server);
}

static void close_prepared(struct interpose *i, struct span payload)
{
	struct prepared *p = prepared_of(i, payload);

	if (p)
		prepared_free(i, p);
}

static void handle_command(
	struct interpose *i, struct span payload, struct span raw, struct buf *to_server)
{
	uint8_t byte = payload.len ? (uint8_t)payload.ptr[0] : CMD_SLEEP;

	i->command = byte;
	i->appended = 0;
	i->shift = 0;
	i->failed = i->again = false;
	i->error = 0;
	i->preparing = NULL;
	i->affected_known = i->warnings = false;
	i->literal_count = 0;
	buf_clear(&i->literals);
	wire_feed_client(i->outer, raw, stamp(i, true));
	switch (byte) {
	case CMD_QUERY:
		send_query_command(i, payload, raw, to_server);
		return;
	case CMD_STMT_PREPARE:
		send_prepare(i, payload, raw, to_server);
		return;
	case CMD_STMT_EXECUTE:
	case CMD_STMT_BULK_EXECUTE:
	case CMD_STMT_FETCH:
		send_execute(i, payload, raw, to_server);
		return;
	case CMD_QUIT:
	case CMD_CHANGE_USER:
	case CMD_RESET_CONNECTION:
		plain_command(i);
		send_own(i, to_server);
		send_command(i, raw, to_server);
		return;
	case CMD_STMT_CLOSE:
		close_prepared(i, payload);
		break;
	default:
		break;
	}
	send_raw(i, raw, to_server);
}

/* The packet at the front of what is held: its payload and its size with all headers; false: not
 * all of it is here.  The payload of a packet in several parts is put together in scratch. */
static bool next_packet(struct interpose *i, size_t at, struct span *payload, size_t *size)
{
	const unsigned char *p = (const unsigned char *)i->held.data + at;
	size_t left = i->held.len - at, len;
	bool joined = false;

	*size = 0;
	do {
		if (left - *size < PROTO_HEAD_SIZE)
			return false;
		len = p[*size] | (size_t)p[*size + 1] << 8 | (size_t)p[*size + 2] << 16;
		if (left - *size - PROTO_HEAD_SIZE < len)
			return false;
		if (!joined)
			*payload = span_of(p + PROTO_HEAD_SIZE, len);
		if (len == PROTO_PAYLOAD_MAX && !joined) {
			joined = true;
			buf_clear(&i->raw);
		}
		if (joined)
			buf_add(&i->raw, p + *size + PROTO_HEAD_SIZE, len);
		*size += PROTO_HEAD_SIZE + len;
	} while (len == PROTO_PAYLOAD_MAX);
	if (joined)
		*payload = buf_span(&i->raw);
	return true;
}

static void pass_all(struct interpose *i, struct buf *to_server)
{
	wire_feed_client(i->outer, buf_span(&i->held), stamp(i, true));
	buf_add_span(to_server, buf_span(&i->held));
	buf_clear(&i->held);
}

/* Sends what can be sent. */
static void send_held(struct interpose *i, struct buf *to_server)
{
	struct span payload;
	size_t at = 0, size;
	bool secret = false;

	while (!i->off && at < i->held.len && next_packet(i, at, &payload, &size)) {
		struct span raw = span_of(i->held.data + at, size);
		struct wire_command *head = inner_head(i);
		bool dialogue =
			i->inner.infile || (head && head->expect == EXPECT_AUTH && raw.ptr[3] != 0);

		if (!dialogue && waits_for_answer(i))
			break;
		secret |= wire_is_secret(i->outer);
		if (dialogue) {
			wire_feed_client(i->outer, raw, stamp(i, true));
			send_raw(i, raw, to_server);
		} else {
			handle_command(i, payload, raw, to_server);
		}
		secret |= wire_is_secret(i->outer);
		at += size;
	}
	if (at) {
		memmove(i->held.data, i->held.data + at, i->held.len - at);
		i->held.len -= at;
		if (secret)
			mem_wipe(i->held.data + i->held.len, at);
	}
	if (i->off || i->held.len > INTERPOSE_PACKET_MAX) {
		i->off = true;
		pass_all(i, to_server);
	}
}

void interpose_client(struct interpose *i, struct span bytes, struct buf *to_server)
{
	buf_add_span(&i->held, bytes);
	send_held(i, to_server);
}

bool interpose_has_log(const struct interpose *i)
{
	return !i->off && i->session.pending;
}

void interpose_flush(struct interpose *i, struct buf *to_server)
{
	if (!interpose_has_log(i) || waits_for_answer(i) || i->held.len)
		return;
	plain_command(i);
	send_own(i, to_server);
	(void)!send_before(i, to_server);
}

/* ---- from the server ---- */

static void take_own_row(struct interpose *i, const struct packet *p, enum wire_expect expect)
{
	const struct own_query *q = instrument_next_query(&i->session);
	struct span values[PLAN_TABLES_MAX];

	if (p->payload.len >= 3 && (uint8_t)p->payload.ptr[0] == 0xff &&
		!wire_is_progress(p->payload)) {
		i->own_error = (uint8_t)p->payload.ptr[1] | (unsigned)(uint8_t)p->payload.ptr[2]
								    << 8;
		return;
	}
	buf_clear(&i->scratch);
	if (expect == EXPECT_ROWS && !wire_is_rows_end(&i->inner, p) &&
		strip_text_row(p->payload, (uint32_t)q->columns, (uint32_t)q->columns, &i->scratch,
			values))
		instrument_query_row(&i->session, i->capture, values);
}

static void client_command_done(struct interpose *i);

/* A query of select mode is answered; its last packet may be the client's answer. */
static void own_done(struct interpose *i, const struct packet *p, struct buf *to_client,
	struct buf *to_server, size_t *fed)
{
	if (instrument_query_end(&i->session, i->capture, i->own_error, false)) {
		i->is_deferred = false;
		i->failed = true;
		strip_put(to_client, p->payload, 1);
		wire_feed_server(i->outer, span_of(to_client->data + *fed, to_client->len - *fed),
			stamp(i, false));
		*fed = to_client->len;
		client_command_done(i);
	} else if (!send_before(i, to_server) && i->is_deferred) {
		i->is_deferred = false;
		send_raw(i, buf_span(&i->deferred), to_server);
	}
}

static void take_log(struct interpose *i, const struct packet *p, enum wire_expect expect)
{
	struct span values[3];

	buf_clear(&i->scratch);
	if (expect == EXPECT_ROWS && !wire_is_rows_end(&i->inner, p) &&
		strip_text_row(p->payload, 3, 3, &i->scratch, values))
		instrument_take_log(&i->session, i->capture, values[1].ptr && values[2].ptr,
			values[0], values[1], values[2]);
}

/* The columns that a row of the command being answered has. */
static const struct wire_columns *row_columns(
	const struct interpose *i, const struct wire_command *c)
{
	if (c->byte != CMD_STMT_FETCH && i->inner.columns.count)
		return &i->inner.columns;
	return c->stmt ? &c->stmt->columns : NULL;
}

static bool strip_row(struct interpose *i, const struct wire_command *c, struct span row)
{
	struct span values[PLAN_TABLES_MAX];
	const struct wire_columns *columns = row_columns(i, c);
	bool ok;

	if (c->binary)
		ok = columns && strip_binary_row(row, columns, i->appended, &i->scratch, values);
	else
		ok = strip_text_row(row, i->columns, i->appended, &i->scratch, values);
	for (uint32_t k = 0; ok && k < i->appended; k++)
		instrument_take_row(&i->session, i->capture, k, values[k]);
	return ok;
}

/* What the client gets for a packet of a rewritten statement's answer, in scratch.  False: the
 * packet as it is. */
static bool strip_packet(
	struct interpose *i, const struct wire_command *c, const struct packet *p, bool *drop)
{
	uint8_t first = p->payload.len ? (uint8_t)p->payload.ptr[0] : 0;

	*drop = false;
	buf_clear(&i->scratch);
	if (first == 0xff && c->expect != EXPECT_ROWS)
		return false;
	switch (c->expect) {
	case EXPECT_FIRST:
		if (first == 0xfb || (first == 0xfe && p->total < 9) ||
			(first == 0x00 &&
				(p->total >= 7 || !(i->inner.caps & CAP_OPTIONAL_METADATA))))
			return false;
		i->column = 0;
		return strip_count(
			p->payload, i->inner.caps, i->appended, &i->scratch, &i->columns);
	case EXPECT_PREPARED:
		i->column = 0;
		return strip_prepared(p->payload, i->appended, &i->scratch, &i->columns);
	case EXPECT_COLUMNS:
	case EXPECT_PREPARED_COLUMNS:
		*drop = ++i->column > i->columns - i->appended;
		return false;
	case EXPECT_ROWS:
		if (wire_is_rows_end(&i->inner, p) || (first == 0xff && !c->binary))
			return false;
		return strip_row(i, c, p->payload);
	case EXPECT_NOTHING:
	case EXPECT_SIMPLE:
	case EXPECT_COLUMNS_END:
	case EXPECT_PREPARED_PARAMS:
	case EXPECT_PREPARED_PARAMS_END:
	case EXPECT_PREPARED_COLUMNS_END:
	case EXPECT_FIELDS:
	case EXPECT_TEXT:
	case EXPECT_AUTH:
	case EXPECT_UNKNOWN:
	case EXPECT_UNREAD:
		break;
	}
	return false;
}

/* How many rows an OK says were changed: by its text where the client wants rows found counted. */
static void note_affected(struct interpose *i, struct span payload)
{
	struct cursor c = cursor_over(payload);
	const char *changed;

	i->affected_known = false;
	if (cursor_uint(&c, 1) != 0)
		return;
	i->affected = cursor_lenenc(&c);
	i->insert_id = cursor_lenenc(&c);
	(void)cursor_uint(&c, 2); /* status */
	i->warnings = cursor_uint(&c, 2) != 0;
	i->affected_known = !c.bad;
	changed = memmem(payload.ptr, payload.len, "Changed: ", 9);
	if (changed) {
		i->affected = 0;
		for (changed += 9;
			changed < payload.ptr + payload.len && *changed >= '0' && *changed <= '9';
			changed++)
			i->affected = i->affected * 10 + (uint64_t)(*changed - '0');
	} else if (i->inner.caps & CAP_FOUND_ROWS) {
		i->affected_known = i->session.plan.write == PLAN_WRITE_INSERT ||
				    i->session.plan.write == PLAN_WRITE_REPLACE ||
				    i->session.plan.write == PLAN_WRITE_DELETE;
	}
}

/* The server does not know our columns here, or does not let this user read them: a temporary table
 * of the same name, a table that was made anew unseen, grants by column.  Nothing was executed. */
static bool refuses_columns(
	const struct interpose *i, const struct wire_command *c, const struct packet *p)
{
	enum { ER_BAD_FIELD = 1054, ER_COLUMN_ACCESS_DENIED = 1143 };
	const unsigned char *bytes = (const unsigned char *)p->payload.ptr;
	unsigned error;

	if (!i->appended || (i->command != CMD_QUERY && i->command != CMD_STMT_PREPARE) ||
		(c->expect != EXPECT_FIRST && c->expect != EXPECT_PREPARED) ||
		p->payload.len < 3 || bytes[0] != 0xff)
		return false;
	error = bytes[1] | (unsigned)bytes[2] << 8;
	return error == ER_BAD_FIELD || error == ER_COLUMN_ACCESS_DENIED;
}

static void send_again(struct interpose *i, struct buf *to_server)
{
	i->again = false;
	i->appended = 0;
	if (i->preparing)
		plan_leave_alone(&i->preparing->plan);
	else
		instrument_leave_alone(&i->session);
	send_raw(i, buf_span(&i->original), to_server);
}

static void to_the_client(struct interpose *i, const struct wire_command *c, const struct packet *p,
	struct buf *to_client)
{
	uint8_t seq = (uint8_t)(p->seq - i->shift);
	unsigned came = 1 + (unsigned)(p->total / PROTO_PAYLOAD_MAX), sent;
	bool drop = false;

	i->again = refuses_columns(i, c, p);
	if (i->again)
		return;
	if (p->payload.len && (uint8_t)p->payload.ptr[0] == 0xff && !wire_is_progress(p->payload) &&
		c->expect != EXPECT_TEXT) {
		i->failed = true;
		if (p->payload.len >= 3)
			i->error = (uint8_t)p->payload.ptr[1] |
				   (unsigned)(uint8_t)p->payload.ptr[2] << 8;
	}
	if (c->expect == EXPECT_FIRST)
		note_affected(i, p->payload);
	if (i->appended && strip_packet(i, c, p, &drop))
		sent = strip_put(to_client, buf_span(&i->scratch), seq);
	else
		sent = drop ? 0 : strip_put(to_client, p->payload, seq);
	i->shift = (uint8_t)(i->shift + (came - sent));
}

/* The answer to a command of the client is complete, and the session's parser has seen it. */
static void client_command_done(struct interpose *i)
{
	switch (i->command) {
	case CMD_STMT_PREPARE: {
		struct wire_stmt *stmt =
			i->failed ? NULL : wire_stmts_find(&i->inner.stmts, STMT_ID_LAST);

		if (stmt)
			stmt->tag = (uint64_t)(uintptr_t)i->preparing;
		else if (i->preparing)
			prepared_free(i, i->preparing);
		i->preparing = NULL;
		return;
	}
	case CMD_CHANGE_USER:
	case CMD_RESET_CONNECTION:
		while (!i->failed && i->prepared)
			prepared_free(i, i->prepared);
		if (!i->failed)
			instrument_reset(&i->session);
		return;
	case CMD_QUERY:
	case CMD_STMT_EXECUTE:
	case CMD_STMT_BULK_EXECUTE:
	case CMD_STMT_FETCH: {
		struct instrument_outcome outcome = {.ok = !i->failed,
			.error = i->error,
			.affected_known = i->affected_known,
			.affected = i->affected,
			.insert_id = i->insert_id,
			.warnings = i->warnings};

		instrument_end(&i->session, i->capture, &outcome);
		return;
	}
	default:
		return;
	}
}

/* One packet.  `fed`: up to where to_client was shown to the session's parser. */
static void server_packet(struct interpose *i, const struct packet *p, struct buf *to_client,
	struct buf *to_server, size_t *fed)
{
	struct wire_command *head = inner_head(i);
	enum job_kind kind = head ? kind_of(i, head->number) : JOB_CLIENT;
	enum wire_expect expect = head ? head->expect : EXPECT_UNKNOWN;
	uint32_t number = head ? head->number : 0;

	if (!head)
		strip_put(to_client, p->payload, p->seq);
	else if (kind == JOB_CLIENT)
		to_the_client(i, head, p, to_client);
	else if (kind == JOB_LOG)
		take_log(i, p, expect);
	else if (kind == JOB_OWN)
		take_own_row(i, p, expect);
	buf_clear(&i->raw);
	strip_put(&i->raw, p->payload, p->seq);
	wire_feed_server(&i->inner, buf_span(&i->raw), stamp(i, false));
	head = inner_head(i);
	if (!number || (head && head->number == number))
		return;
	forget_job(i, number);
	if (kind == JOB_LOG && i->session.pending && expect != EXPECT_ROWS) {
		/* It failed: a connection that was killed, mostly. */
		instrument_take_log(
			&i->session, i->capture, false, SPAN_NONE, SPAN_NONE, SPAN_NONE);
	} else if (kind == JOB_OWN) {
		own_done(i, p, to_client, to_server, fed);
	} else if (kind == JOB_CLIENT && i->again) {
		send_again(i, to_server);
	} else if (kind == JOB_CLIENT) {
		wire_feed_server(i->outer, span_of(to_client->data + *fed, to_client->len - *fed),
			stamp(i, false));
		*fed = to_client->len;
		client_command_done(i);
	}
}

void interpose_server(
	struct interpose *i, struct span bytes, struct buf *to_client, struct buf *to_server)
{
	size_t fed = to_client->len;
	struct packet p;

	while (!i->off && frame_next(&i->server, &bytes, SIZE_MAX, &p)) {
		server_packet(i, &p, to_client, to_server, &fed);
		frame_forget(&i->server);
	}
	if (i->off)
		buf_add_span(to_client, bytes);
	if (to_client->len > fed)
		wire_feed_server(i->outer, span_of(to_client->data + fed, to_client->len - fed),
			stamp(i, false));
	send_held(i, to_server);
}
