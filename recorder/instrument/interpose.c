/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/interpose_internal.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "instrument/literal.h"

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

/* What went out with columns appended can no longer be distinguished from what did not. */
static void turn_off(struct interpose *i)
{
	i->off = true;
	i->broken |= i->appended != 0;
	for (const struct interposed_stmt *p = i->prepared; p; p = p->next)
		i->broken |= p->plan.rewritten;
}

static void on_opaque(void *ctx, const char *reason, struct wire_command *command)
{
	struct interpose *i = ctx;

	(void)reason;
	(void)command;
	turn_off(i);
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
	i->session.defers = tables->mode == INSTRUMENT_TRIGGER;
	return i;
}

void interpose_prepared_free(struct interpose *i, struct interposed_stmt *p)
{
	if (p->prev)
		p->prev->next = p->next;
	else
		i->prepared = p->next;
	if (p->next)
		p->next->prev = p->prev;
	plan_release(&p->plan);
	buf_release(&p->text);
	mem_free(p);
}

static struct interposed_stmt *prepared_new(struct interpose *i)
{
	struct interposed_stmt *p = mem_zero(1, sizeof(*p));

	p->next = i->prepared;
	if (p->next)
		p->next->prev = p;
	i->prepared = p;
	return p;
}

void interpose_abandon(struct interpose *i)
{
	if (!i->off)
		instrument_abandon(&i->session, i->capture);
}

void interpose_free(struct interpose *i)
{
	while (i->prepared)
		interpose_prepared_free(i, i->prepared);
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
	if (i->original.data)
		mem_wipe(i->original.data, i->original.capacity);
	buf_release(&i->original);
	buf_release(&i->again_error);
	buf_release(&i->ok);
	if (i->deferred.data)
		mem_wipe(i->deferred.data, i->deferred.capacity);
	buf_release(&i->deferred);
	mem_free(i);
}

/* ---- to the server ---- */

struct wire_stamp interpose_stamp(struct interpose *i, bool begins)
{
	return (struct wire_stamp){
		clock_mono_ns(), begins ? capture_begin_seq(i->capture->worker) : 0, 0};
}

/* The command being answered on the server's side; NULL: none. */
struct wire_command *interpose_inner_head(struct interpose *i)
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

enum job_kind interpose_kind_of(struct interpose *i, uint32_t number)
{
	size_t at = 0;

	while (at < i->job_count && i->jobs[at].number != number)
		at++;
	return at < i->job_count ? i->jobs[at].kind : JOB_CLIENT;
}

void interpose_forget_job(struct interpose *i, uint32_t number)
{
	size_t kept = 0;

	for (size_t at = 0; at < i->job_count; at++)
		if (i->jobs[at].number > number)
			i->jobs[kept++] = i->jobs[at];
	i->job_count = kept;
}

void interpose_send_packet(
	struct interpose *i, struct span payload, enum job_kind kind, struct buf *to_server)
{
	size_t start = to_server->len;

	strip_put(to_server, payload, 0);
	wire_feed_client(&i->inner, span_of(to_server->data + start, to_server->len - start),
		interpose_stamp(i, false));
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
	interpose_send_packet(i, buf_span(&payload), kind, to_server);
	buf_release(&payload);
}

static void send_log_query(struct interpose *i, struct buf *to_server)
{
	struct buf sql = BUF_INIT;

	instrument_log_query(&i->session, &sql);
	send_query(i, sql.data, JOB_LOG, to_server);
	buf_release(&sql);
}

/* What goes before a statement, unless interpose_send_before() does it. */
static void send_own(struct interpose *i, struct buf *to_server)
{
	bool reset = instrument_wants_reset(&i->session);

	if (i->careful)
		return;
	i->own_error = 0;
	if (instrument_wants_log(&i->session)) {
		send_log_query(i, to_server);
		reset = i->session.plan.writes && instrument_log_is_full(&i->session);
	}
	if (reset)
		send_query(i, i->tables->reset_sql, JOB_RESET, to_server);
}

void interpose_send_raw(struct interpose *i, struct span raw, struct buf *to_server)
{
	buf_add_span(to_server, raw);
	wire_feed_client(&i->inner, raw, interpose_stamp(i, false));
}

bool interpose_send_before(struct interpose *i, struct buf *to_server)
{
	const struct own_query *q = instrument_next_query(&i->session);

	i->own_error = 0;
	if (q) {
		send_query(i, q->sql.data, JOB_OWN, to_server);
	} else if (i->careful && instrument_wants_log(&i->session)) {
		send_log_query(i, to_server);
	} else if (i->careful && instrument_wants_reset(&i->session) && !i->emptied) {
		i->emptied = true;
		send_query(i, i->tables->reset_sql, JOB_RESET, to_server);
	} else {
		return false;
	}
	return true;
}

void interpose_roll_back(struct interpose *i, struct buf *to_server)
{
	i->own_error = 0;
	send_query(i, "/* isorec */ rollback", JOB_ROLLBACK, to_server);
}

void interpose_ask_id(struct interpose *i, struct buf *to_server)
{
	i->id = 0;
	send_query(i, "/* isorec */ select last_insert_id()", JOB_ID, to_server);
}

/* Sends a command of the client, or keeps it until the queries before it are answered. */
static void send_command(struct interpose *i, struct span raw, struct buf *to_server)
{
	if (!interpose_send_before(i, to_server)) {
		interpose_send_raw(i, raw, to_server);
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
	static const struct stmt_plan nothing;

	instrument_begin_planned(&i->session, i->capture, i->outer->numbers, &nothing, NULL, 0);
}

static void keep_original(struct interpose *i, struct span payload)
{
	if (i->original.capacity > INTERPOSE_ORIGINAL_IDLE)
		buf_release(&i->original);
	buf_clear(&i->original);
	buf_add_span(&i->original, payload);
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
	keep_original(i, payload);
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
	struct interposed_stmt *p = prepared_new(i);
	struct plan_context context;

	set_mode(i);
	context = instrument_context(&i->session, i->capture, true);
	plan_statement(&p->plan, &context,
		capture_can_parse(i->capture, text) ? text : INSTRUMENT_ANYTHING);
	i->preparing = p;
	if (!p->plan.rewritten) {
		interpose_send_raw(i, raw, to_server);
		return;
	}
	keep_original(i, payload);
	buf_add_span(&p->text, text);
	i->appended = (uint32_t)p->plan.table_count;
	buf_clear(&i->scratch);
	buf_add_char(&i->scratch, CMD_STMT_PREPARE);
	buf_add_span(&i->scratch, buf_span(&p->plan.text));
	interpose_send_packet(i, buf_span(&i->scratch), JOB_CLIENT, to_server);
}

/* The number of the statement that a command is for, as the client means it: EXECUTE may say "the
 * last one", which on the server's side may be another. */
static uint32_t statement_id(const struct interpose *i, struct span payload)
{
	struct cursor c = cursor_over(payload);
	uint32_t id;

	(void)cursor_uint(&c, 1);
	id = (uint32_t)cursor_uint(&c, 4);
	if (c.bad)
		return 0;
	return id == STMT_ID_LAST ? i->outer->stmts.last_id : id;
}

static struct interposed_stmt *prepared_of(struct interpose *i, struct span payload)
{
	uint32_t id = statement_id(i, payload);
	struct wire_stmt *stmt = id ? wire_stmts_find(&i->inner.stmts, id) : NULL;

	return stmt ? (struct interposed_stmt *)(uintptr_t)stmt->tag : NULL;
}

/* Appends a command for a prepared statement, with the server's number of it. */
static void put_id(struct buf *out, uint32_t id)
{
	for (int k = 0; k < 4; k++)
		buf_add_char(out, (char)(id >> (8 * k)));
}

/* An EXECUTE without the types of its parameters, which the client has sent before, gets them: the
 * server has forgotten them with the statement (protocol.md, "COM_STMT_EXECUTE"). */
static void put_execute(
	struct interpose *i, const struct wire_stmt *known, struct span payload, struct buf *out)
{
	bool attributes = (i->inner.caps & CAP_QUERY_ATTRIBUTES) != 0;
	struct cursor c = cursor_over(payload);
	uint64_t count = known->params;
	uint8_t flags;
	size_t head;

	(void)cursor_take(&c, 5);
	flags = (uint8_t)cursor_uint(&c, 1);
	(void)cursor_uint(&c, 4);
	if (attributes && (flags & EXECUTE_PARAMETER_COUNT))
		count = cursor_lenenc(&c);
	(void)cursor_take(&c, (count + 7) / 8);
	head = payload.len - cursor_left(&c);
	if (count == 0 || cursor_uint(&c, 1) != 0 || c.bad || known->types_count != count) {
		buf_add(out, payload.ptr + 5, payload.len - 5);
		return;
	}
	buf_add(out, payload.ptr + 5, head - 5);
	buf_add_char(out, 1);
	for (uint32_t k = 0; k < count; k++) {
		buf_add_char(out, (char)known->types[k]);
		buf_add_char(out, (char)(known->types[k] >> 8));
		if (attributes)
			buf_add_char(out, 0); /* a name, which is of attributes only */
	}
	buf_add_span(out, cursor_rest(&c));
}

/* Sends a command for a prepared statement under the number that the server has for it. */
void interpose_send_for_statement(
	struct interpose *i, struct interposed_stmt *p, struct span payload, struct buf *to_server)
{
	struct buf out = BUF_INIT;
	uint32_t id = statement_id(i, payload);
	const struct wire_stmt *known = id ? wire_stmts_find(&i->inner.stmts, id) : NULL;

	buf_add_char(&out, payload.ptr[0]);
	put_id(&out, p && p->again ? p->again : id);
	if (p && known && p->types_unknown && (uint8_t)payload.ptr[0] == CMD_STMT_EXECUTE) {
		put_execute(i, known, payload, &out);
		p->types_unknown = false;
	} else {
		buf_add(&out, payload.ptr + 5, payload.len - 5);
	}
	interpose_send_packet(i, buf_span(&out), JOB_CLIENT, to_server);
	mem_wipe(out.data, out.len);
	buf_release(&out);
}

/* There may be no place for two (max_prepared_stmt_count).  The parser keeps it in its table. */
static void close_refused(struct interposed_stmt *p, struct buf *to_server)
{
	struct buf payload = BUF_INIT;

	buf_add_char(&payload, CMD_STMT_CLOSE);
	put_id(&payload, p->id);
	strip_put(to_server, buf_span(&payload), 0);
	buf_release(&payload);
	p->closed = true;
	plan_leave_alone(&p->plan);
}

/* Prepares a statement as the client has it; `original` goes out after that.  Its number is kept
 * in the parser's table, for commands of the client. */
void interpose_prepare_again(struct interpose *i, struct interposed_stmt *p, struct buf *to_server)
{
	const struct wire_stmt *known = wire_stmts_find(&i->inner.stmts, p->id);
	struct buf payload = BUF_INIT;

	i->executed = p;
	if (known && !p->closed)
		p->columns = known->columns.count - p->plan.table_count;
	if (i->command == CMD_STMT_EXECUTE && !p->closed)
		close_refused(p, to_server);
	buf_clear(&i->again_error);
	buf_add_char(&payload, CMD_STMT_PREPARE);
	buf_add_span(&payload, buf_span(&p->text));
	interpose_send_packet(i, buf_span(&payload), JOB_AGAIN, to_server);
	buf_release(&payload);
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
		i->literals_same &= literal_is_same(&param);
		ends[i->literal_count++] = i->literals.len;
	}
	for (size_t k = 0; k < i->literal_count; start = ends[k++])
		i->literal[k] = span_of(i->literals.data + start, ends[k] - start);
}

/* Does the server know the statement by another number than this? */
static bool is_renumbered(
	const struct interpose *i, const struct interposed_stmt *p, struct span payload)
{
	struct cursor c = cursor_over(payload);

	(void)cursor_uint(&c, 1);
	return (p && p->again) || (i->last_is_ours && cursor_uint(&c, 4) == STMT_ID_LAST);
}

/* In select mode after the queries before it. */
static void send_renumbered(
	struct interpose *i, struct interposed_stmt *p, struct span payload, struct buf *to_server)
{
	if (!interpose_send_before(i, to_server)) {
		interpose_send_for_statement(i, p, payload, to_server);
		return;
	}
	keep_original(i, payload);
	i->executed = p;
	i->is_deferred = i->deferred_renumbered = true;
}

/* EXECUTE, BULK_EXECUTE and FETCH. */
static void send_execute(
	struct interpose *i, struct span payload, struct span raw, struct buf *to_server)
{
	struct interposed_stmt *p = prepared_of(i, payload);
	bool whole = i->command == CMD_STMT_EXECUTE;

	if (whole)
		read_literals(i, span_of(payload.ptr + 1, payload.len - 1));
	if (p) {
		instrument_begin_planned(&i->session, i->capture, i->outer->numbers, &p->plan,
			i->literal, whole ? i->literal_count : 0);
		i->appended = p->plan.rewritten ? (uint32_t)p->plan.table_count : 0;
		/* Rows that a cursor gives piece by piece, or conditions of many rows. */
		if (!whole) {
			i->session.stmt.predicate = SPAN_NONE;
			i->session.plan.log_count = PLAN_LOG_UNCOUNTED;
		}
		if (!whole || !i->literals_same)
			instrument_ask_nothing(&i->session);
		/* What a cursor gives was read when it was opened, perhaps before later writes. */
		if (i->command == CMD_STMT_FETCH) {
			i->session.plan.writes = false;
			i->session.stmt.lost = true;
		}
	} else {
		instrument_begin(&i->session, i->capture, i->outer->numbers, INSTRUMENT_ANYTHING);
	}
	send_own(i, to_server);
	i->executed = p;
	if (p && (p->plan.rewritten || p->closed))
		keep_original(i, payload);
	if (p && p->closed && !p->again)
		interpose_prepare_again(i, p, to_server);
	else if (is_renumbered(i, p, payload))
		send_renumbered(i, p, payload, to_server);
	else
		send_command(i, raw, to_server);
}

/* A parameter in pieces.  Were the statement executed with columns that the server does not take,
 * the pieces would be lost with it: it goes on without them. */
static void send_long_data(
	struct interpose *i, struct span payload, struct span raw, struct buf *to_server)
{
	struct interposed_stmt *p = prepared_of(i, payload);

	if (p && p->plan.rewritten && !p->stays) {
		keep_original(i, payload);
		interpose_prepare_again(i, p, to_server);
	} else if (is_renumbered(i, p, payload)) {
		interpose_send_for_statement(i, p, payload, to_server);
	} else {
		interpose_send_raw(i, raw, to_server);
	}
}

static void send_close(
	struct interpose *i, struct span payload, struct span raw, struct buf *to_server)
{
	struct interposed_stmt *p = prepared_of(i, payload);

	if (p && p->again)
		interpose_send_for_statement(i, p, payload, to_server);
	if (p)
		interpose_prepared_free(i, p);
	interpose_send_raw(i, raw, to_server);
}

static void begin_command(struct interpose *i, uint8_t byte)
{
	i->command = byte;
	i->appended = 0;
	i->shift = 0;
	i->unparsed = false;
	i->failed = i->again = i->deferred_renumbered = i->columns_changed = false;
	i->error = 0;
	i->preparing = i->executed = NULL;
	i->affected_known = i->matched_known = i->warnings = false;
	buf_clear(&i->ok);
	/* Were the command sent at once, a node that has rolled the transaction back would tell
	 * that to our query, and execute the command outside of it. */
	i->careful = i->tables->galera && i->capture->txn.open;
	i->emptied = false;
	i->literal_count = 0;
	i->literals_same = true;
	buf_clear(&i->literals);
}

static void handle_command(
	struct interpose *i, struct span payload, struct span raw, struct buf *to_server)
{
	uint8_t byte = payload.len ? (uint8_t)payload.ptr[0] : CMD_SLEEP;

	begin_command(i, byte);
	wire_feed_client(i->outer, raw, interpose_stamp(i, true));
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
		i->careful = false; /* the transaction ends anyway */
		send_own(i, to_server);
		send_command(i, raw, to_server);
		return;
	case CMD_STMT_CLOSE:
		send_close(i, payload, raw, to_server);
		return;
	case CMD_STMT_SEND_LONG_DATA:
		send_long_data(i, payload, raw, to_server);
		return;
	case CMD_STMT_RESET:
		if (is_renumbered(i, prepared_of(i, payload), payload)) {
			interpose_send_for_statement(
				i, prepared_of(i, payload), payload, to_server);
			return;
		}
		break;
	default:
		break;
	}
	interpose_send_raw(i, raw, to_server);
}

static size_t part_length(const unsigned char *head)
{
	return head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
}

/* The packet at the front of what is held: its payload and its size with all headers; false: not
 * all of it is here.  The payload of a packet in several parts is put together in raw. */
static bool next_packet(struct interpose *i, size_t at, struct span *payload, size_t *size)
{
	const unsigned char *p = (const unsigned char *)i->held.data + at;
	size_t left = i->held.len - at, len;

	*size = 0;
	do {
		if (left - *size < PROTO_HEAD_SIZE)
			return false;
		len = part_length(p + *size);
		if (left - *size - PROTO_HEAD_SIZE < len)
			return false;
		*size += PROTO_HEAD_SIZE + len;
	} while (len == PROTO_PAYLOAD_MAX);
	*payload = span_of(p + PROTO_HEAD_SIZE, *size - PROTO_HEAD_SIZE);
	if (part_length(p) < PROTO_PAYLOAD_MAX)
		return true;
	buf_clear(&i->raw);
	for (size_t part = 0; part < *size; part += PROTO_HEAD_SIZE + len) {
		len = part_length(p + part);
		buf_add(&i->raw, p + part + PROTO_HEAD_SIZE, len);
	}
	*payload = buf_span(&i->raw);
	return true;
}

static void pass_all(struct interpose *i, struct buf *to_server)
{
	if (i->is_deferred && i->deferred_renumbered)
		interpose_send_for_statement(i, i->executed, buf_span(&i->original), to_server);
	else if (i->is_deferred)
		buf_add_span(to_server, buf_span(&i->deferred));
	i->is_deferred = false;
	wire_feed_client(i->outer, buf_span(&i->held), interpose_stamp(i, true));
	buf_add_span(to_server, buf_span(&i->held));
	buf_clear(&i->held);
}

/* How many of the bytes belong to the command that is passing. */
static size_t passing_take(struct passing *p, struct span bytes)
{
	size_t at = 0;

	while (p->on && at < bytes.len) {
		if (p->left) {
			size_t n = bytes.len - at < p->left ? bytes.len - at : p->left;

			p->left -= n;
			at += n;
		} else {
			p->head[p->head_len++] = (unsigned char)bytes.ptr[at++];
			if (p->head_len < PROTO_HEAD_SIZE)
				continue;
			p->head_len = 0;
			p->left = part_length(p->head);
			p->more = p->left == PROTO_PAYLOAD_MAX;
		}
		if (!p->left && !p->more && !p->head_len)
			p->on = false;
	}
	return at;
}

static void pass_held(struct interpose *i, struct buf *to_server)
{
	size_t taken = passing_take(&i->passing, buf_span(&i->held));
	struct span bytes = span_of(i->held.data, taken);

	wire_feed_client(i->outer, bytes, interpose_stamp(i, true));
	interpose_send_raw(i, bytes, to_server);
	memmove(i->held.data, i->held.data + taken, i->held.len - taken);
	i->held.len -= taken;
	if (!i->passing.on && i->held.capacity > INTERPOSE_PACKET_MAX / 2 && !i->held.len)
		buf_release(&i->held);
}

void interpose_begin_passing(struct interpose *i, struct buf *to_server)
{
	i->passing = (struct passing){.on = true};
	pass_held(i, to_server);
}

/* A command that is too long to be held: it may do anything, and goes out as it is, after what
 * goes before any command.  A prepared statement keeps its number, but gives up its columns. */
static void pass_long(struct interpose *i, struct buf *to_server)
{
	struct span payload =
		span_of(i->held.data + PROTO_HEAD_SIZE, i->held.len - PROTO_HEAD_SIZE);
	uint8_t byte = (uint8_t)payload.ptr[0];
	bool executes = byte == CMD_STMT_EXECUTE || byte == CMD_STMT_BULK_EXECUTE;
	struct interposed_stmt *p =
		executes || byte == CMD_STMT_SEND_LONG_DATA ? prepared_of(i, payload) : NULL;

	if (p && p->plan.rewritten && !p->stays) {
		begin_command(i, CMD_SLEEP);
		buf_clear(&i->original);
		interpose_prepare_again(i, p, to_server);
		return;
	}
	begin_command(i, byte);
	if (is_renumbered(i, p, payload) && p) {
		buf_clear(&i->scratch);
		put_id(&i->scratch, p->again);
		/* Types that were sent before are not put in: with parameters of this size a client
		 * is not expected to have left them out. */
		memcpy(i->held.data + PROTO_HEAD_SIZE + 1, i->scratch.data, 4);
	}
	if (byte == CMD_STMT_PREPARE) {
		struct plan_context context = instrument_context(&i->session, i->capture, true);

		i->preparing = prepared_new(i);
		plan_statement(&i->preparing->plan, &context, INSTRUMENT_ANYTHING);
	} else if (executes && p) {
		instrument_begin_planned(
			&i->session, i->capture, i->outer->numbers + 1, &p->plan, NULL, 0);
		i->session.stmt.predicate = SPAN_NONE;
		instrument_ask_nothing(&i->session);
		i->appended = p->plan.rewritten ? (uint32_t)p->plan.table_count : 0;
	} else if (executes || byte == CMD_QUERY) {
		instrument_begin(
			&i->session, i->capture, i->outer->numbers + 1, INSTRUMENT_ANYTHING);
	}
	if (executes || byte == CMD_QUERY) {
		send_own(i, to_server);
		i->passing.waits = interpose_send_before(i, to_server);
	}
	if (!i->passing.waits)
		interpose_begin_passing(i, to_server);
}

/* Sends what can be sent. */
void interpose_send_held(struct interpose *i, struct buf *to_server)
{
	struct span payload;
	size_t at = 0, size;
	bool secret = false;

	if (i->passing.on && i->held.len)
		pass_held(i, to_server);
	while (!i->off && !i->passing.on && !i->passing.waits && at < i->held.len &&
		next_packet(i, at, &payload, &size)) {
		struct span raw = span_of(i->held.data + at, size);
		struct wire_command *head = interpose_inner_head(i);
		bool dialogue =
			i->inner.infile || (head && head->expect == EXPECT_AUTH && raw.ptr[3] != 0);

		if (!dialogue && waits_for_answer(i))
			break;
		secret |= wire_is_secret(i->outer);
		if (dialogue) {
			wire_feed_client(i->outer, raw, interpose_stamp(i, true));
			interpose_send_raw(i, raw, to_server);
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
	if (i->off)
		pass_all(i, to_server);
	else if (i->held.len > INTERPOSE_PACKET_MAX && !i->passing.on && !i->passing.waits &&
		 !waits_for_answer(i))
		pass_long(i, to_server);
}

void interpose_client(struct interpose *i, struct span bytes, struct buf *to_server)
{
	buf_add_span(&i->held, bytes);
	interpose_send_held(i, to_server);
}

bool interpose_is_broken(const struct interpose *i)
{
	return i->broken;
}

bool interpose_has_log(const struct interpose *i)
{
	return !i->off && i->session.pending;
}

bool interpose_is_writing(const struct interpose *i)
{
	return !i->off && waits_for_answer(i) && (i->session.plan.writes || i->session.pending);
}

void interpose_flush(struct interpose *i, struct buf *to_server)
{
	if (!interpose_has_log(i) || waits_for_answer(i) || i->held.len)
		return;
	plain_command(i);
	i->careful = false;
	send_own(i, to_server);
	(void)!interpose_send_before(i, to_server);
}
