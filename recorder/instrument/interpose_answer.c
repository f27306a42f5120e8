/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes from the server of an instrumented session, and what the client gets of it. */
#include "instrument/interpose_internal.h"

#include "server/errors.h"

static void note_own_error(struct interpose *i, const struct packet *p)
{
	if (p->payload.len >= 3 && (uint8_t)p->payload.ptr[0] == 0xff &&
		!wire_is_progress(p->payload))
		i->own_error = (uint8_t)p->payload.ptr[1] | (unsigned)(uint8_t)p->payload.ptr[2]
								    << 8;
}

static void take_own_row(struct interpose *i, const struct packet *p, enum wire_expect expect)
{
	const struct own_query *q = instrument_next_query(&i->session);
	struct span values[PLAN_TABLES_MAX];

	note_own_error(i, p);
	if (i->own_error)
		return;
	buf_clear(&i->scratch);
	if (expect == EXPECT_ROWS && !wire_is_rows_end(&i->inner, p) &&
		strip_text_row(p->payload, (uint32_t)q->columns, (uint32_t)q->columns, &i->scratch,
			values))
		instrument_query_row(&i->session, i->capture, values);
}

static void client_command_done(struct interpose *i);

/* A query that the client's command waits for is answered; its last packet may be the client's
 * answer. */
static void own_done(struct interpose *i, bool is_answer, const struct packet *p,
	struct buf *to_client, struct buf *to_server, size_t *fed)
{
	if (is_answer && i->passing.waits && select_is_late_abort(i->own_error)) {
		/* The command is too long to be held and dropped, and must not be executed outside
		 * of the transaction that the client thinks it is in. */
		i->broken = true;
	} else if (is_answer && !i->passing.waits) {
		i->is_deferred = false;
		i->failed = true;
		i->error = i->own_error;
		strip_put(to_client, p->payload, 1);
		wire_feed_server(i->outer, span_of(to_client->data + *fed, to_client->len - *fed),
			interpose_stamp(i, false));
		*fed = to_client->len;
		client_command_done(i);
	} else if (interpose_send_before(i, to_server)) {
		return;
	} else if (i->is_deferred) {
		i->is_deferred = false;
		if (i->deferred_renumbered)
			interpose_send_for_statement(
				i, i->executed, buf_span(&i->original), to_server);
		else
			interpose_send_raw(i, buf_span(&i->deferred), to_server);
	} else if (i->passing.waits) {
		interpose_begin_passing(i, to_server);
	}
}

static void take_log(struct interpose *i, const struct packet *p, enum wire_expect expect)
{
	struct span values[3];

	note_own_error(i, p);
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

/* The number after the words, in the text of an OK.  False: they are not there. */
static bool number_after(struct span payload, const char *words, uint64_t *number)
{
	const char *at = memmem(payload.ptr, payload.len, words, strlen(words));

	if (!at)
		return false;
	*number = 0;
	for (at += strlen(words); at < payload.ptr + payload.len && *at >= '0' && *at <= '9'; at++)
		*number = *number * 10 + (uint64_t)(*at - '0');
	return true;
}

/* How many rows an OK says were changed: by its text where the client wants rows found counted. */
static void note_affected(struct interpose *i, struct span payload)
{
	struct cursor c = cursor_over(payload);

	i->affected_known = i->matched_known = false;
	if (cursor_uint(&c, 1) != 0)
		return;
	i->affected = cursor_lenenc(&c);
	i->insert_id = cursor_lenenc(&c);
	(void)cursor_uint(&c, 2); /* status */
	i->warnings = cursor_uint(&c, 2) != 0;
	i->affected_known = !c.bad;
	i->matched_known = i->affected_known && number_after(payload, "Rows matched: ", &i->matched);
	if (!number_after(payload, "Changed: ", &i->affected) && (i->inner.caps & CAP_FOUND_ROWS)) {
		i->affected_known = i->session.plan.log_count == PLAN_LOG_AFFECTED ||
				    i->session.plan.write == PLAN_WRITE_INSERT ||
				    i->session.plan.write == PLAN_WRITE_REPLACE ||
				    i->session.plan.write == PLAN_WRITE_DELETE;
	}
}

/* A number other than 0 after the word, in the text of an OK. */
static bool counts_some(struct span payload, const char *word)
{
	uint64_t number;

	return number_after(payload, word, &number) && number;
}

/* An OK that would tell the x of LAST_INSERT_ID(x), had the trigger not run: each of its statements
 * makes the server forget that the function was called (THD::cleanup_after_query in sql_class.cc;
 * sql_update.cc and sql_insert.cc have what an OK tells).  It was called where a row was updated, be
 * it to what it was.  An INSERT changes one row where that was new, none or two where it was there;
 * for clients that want rows found counted, one also where it was there and stayed. */
static bool misses_id(const struct interpose *i, struct span payload)
{
	const struct stmt_plan *plan = &i->session.plan;
	struct cursor c = cursor_over(payload);
	uint64_t affected;
	unsigned status;

	if (!plan->tells_id || (i->command != CMD_QUERY && i->command != CMD_STMT_EXECUTE) ||
		cursor_uint(&c, 1) != 0)
		return false;
	affected = cursor_lenenc(&c);
	if (cursor_lenenc(&c) != 0)
		return false;
	status = (unsigned)cursor_uint(&c, 2);
	if ((status & STATUS_MORE_RESULTS) || c.bad)
		return false;
	/* Had another node rolled the transaction back meanwhile, our query would get the error, not the client. */
	if (i->tables->galera && (status & STATUS_IN_TRANS))
		return false;
	if (plan->passes)
		return affected > 0 || counts_some(payload, "Rows matched: ");
	if (affected != 1)
		return affected == 0 || counts_some(payload, "Duplicates: ") ||
		       !memmem(payload.ptr, payload.len, "Records: ", 9);
	return (i->inner.caps & CAP_FOUND_ROWS) && plan->auto_key;
}

/* The server does not know our columns here, or does not let this user read them: a temporary table
 * of the same name, a table that was made anew unseen, grants by column.  Nothing was executed. */
static bool refuses_columns(
	const struct interpose *i, const struct wire_command *c, const struct packet *p)
{
	enum { ER_BAD_FIELD = 1054, ER_COLUMN_ACCESS_DENIED = 1143 };
	const unsigned char *bytes = (const unsigned char *)p->payload.ptr;
	unsigned error;

	if (!i->appended ||
		(i->command != CMD_QUERY && i->command != CMD_STMT_PREPARE &&
			(i->command != CMD_STMT_EXECUTE || !i->executed)) ||
		(c->expect != EXPECT_FIRST && c->expect != EXPECT_PREPARED) || p->payload.len < 3 ||
		bytes[0] != 0xff)
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
	if (i->command == CMD_STMT_EXECUTE) {
		interpose_prepare_again(i, i->executed, to_server);
	} else {
		interpose_send_packet(i, buf_span(&i->original), JOB_CLIENT, to_server);
	}
}

/* A statement was prepared again, or not: the command that waited for that goes out, or has failed
 * with the error. */
static void again_done(
	struct interpose *i, struct buf *to_client, struct buf *to_server, size_t *fed)
{
	struct interposed_stmt *p = i->executed;
	struct span original = buf_span(&i->original);

	/* The client's own error, if it was one. */
	if (i->again_error.len && i->command == CMD_STMT_EXECUTE) {
		i->failed = true;
		strip_put(to_client, buf_span(&i->again_error), 1);
		wire_feed_server(i->outer, span_of(to_client->data + *fed, to_client->len - *fed),
			interpose_stamp(i, false));
		*fed = to_client->len;
		client_command_done(i);
		return;
	}
	if (!i->again_error.len) {
		plan_leave_alone(&p->plan);
		p->again = i->inner.stmts.last_id;
		p->types_unknown = p->columns_unsent = i->last_is_ours = true;
	}
	p->stays = !p->again;
	if (original.len)
		interpose_send_for_statement(i, p, original, to_server);
}

/* The server leaves out the columns of a result which it sent when the statement was prepared: but
 * that was when we prepared it again (protocol.md, "CACHE_METADATA"). */
static bool put_columns(struct interpose *i, const struct wire_command *c, const struct packet *p,
	struct buf *to_client)
{
	struct cursor cursor = cursor_over(p->payload);
	uint8_t first = p->payload.len ? (uint8_t)p->payload.ptr[0] : 0;
	const struct wire_columns *columns = c->stmt ? &c->stmt->columns : NULL;
	uint8_t seq = (uint8_t)(p->seq - i->shift);
	uint64_t count;

	if (first == 0xff || first == 0x00 || first == 0xfb || first == 0xfe)
		return false;
	i->executed->columns_unsent = false;
	if (i->inner.caps & CAP_OPTIONAL_METADATA)
		(void)cursor_uint(&cursor, 1);
	count = cursor_lenenc(&cursor);
	i->columns_changed = count != i->executed->columns;
	if (!(i->inner.caps & CAP_MARIADB_CACHE_METADATA) || cursor.bad ||
		cursor_left(&cursor) != 1 || *cursor.p != 0 || !columns || columns->count != count)
		return false;
	buf_clear(&i->scratch);
	buf_add(&i->scratch, p->payload.ptr, p->payload.len - 1);
	buf_add_char(&i->scratch, 1);
	strip_put(to_client, buf_span(&i->scratch), seq++);
	for (size_t k = 0; k < count; k++)
		strip_put(to_client,
			span_of(columns->text.data + columns->list[k].text,
				columns->list[k].text_len),
			seq++);
	i->shift = (uint8_t)(i->shift - count);
	return true;
}

/* EOF or OK after columns and rows, with the flag by which a server says that a prepared statement
 * has not as many columns as it had (SERVER_STATUS_METADATA_CHANGED). */
static bool put_changed(
	struct interpose *i, const struct packet *p, struct buf *to_client, uint8_t seq)
{
	struct cursor c = cursor_over(p->payload);
	size_t at = 3;

	if (!wire_is_rows_end(&i->inner, p))
		return false;
	if (p->total >= 7) {
		(void)cursor_uint(&c, 1);
		(void)cursor_lenenc(&c);
		(void)cursor_lenenc(&c);
		at = p->payload.len - cursor_left(&c);
	}
	if (c.bad || at + 2 > p->payload.len)
		return false;
	buf_clear(&i->scratch);
	buf_add_span(&i->scratch, p->payload);
	i->scratch.data[at + 1] |= (char)(STATUS_METADATA_CHANGED >> 8);
	strip_put(to_client, buf_span(&i->scratch), seq);
	return true;
}

/* On Galera a server that opens a table for a transaction which another node's write set is rolling back
 * fails to parse the table's triggers, whatever they are (docs/limits.md, "Galera").  Without
 * triggers the client would have met the error of a transaction that was rolled back, which it can
 * handle. */
static bool is_unparsed_trigger(const struct interpose *i, struct span payload)
{
	static const char text[] = " has an error in its body: ";
	struct cursor c = cursor_over(payload);

	return i->tables->galera && i->session.plan.writes && !i->passing.on &&
	       cursor_uint(&c, 1) == 0xff && cursor_uint(&c, 2) == ER_PARSE_ERROR &&
	       memmem(payload.ptr, payload.len, text, strlen(text));
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
	if (i->executed && i->executed->columns_unsent && c->expect == EXPECT_FIRST &&
		put_columns(i, c, p, to_client))
		return;
	if (p->payload.len && (uint8_t)p->payload.ptr[0] == 0xff && !wire_is_progress(p->payload) &&
		c->expect != EXPECT_TEXT) {
		i->failed = true;
		if (p->payload.len >= 3)
			i->error = (uint8_t)p->payload.ptr[1] | (unsigned)(uint8_t)p->payload.ptr[2]
									<< 8;
	}
	if (c->expect == EXPECT_FIRST) {
		i->unparsed = is_unparsed_trigger(i, p->payload);
		if (i->unparsed) {
			buf_add_span(&i->ok, p->payload);
			i->ok_seq = seq;
			return;
		}
		note_affected(i, p->payload);
		if (misses_id(i, p->payload)) {
			buf_add_span(&i->ok, p->payload);
			i->ok_seq = seq;
			return;
		}
	}
	if (i->columns_changed && put_changed(i, p, to_client, seq))
		return;
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

		if (stmt) {
			stmt->tag = (uint64_t)(uintptr_t)i->preparing;
			i->preparing->id = stmt->id;
		} else if (i->preparing)
			interpose_prepared_free(i, i->preparing);
		i->preparing = NULL;
		i->last_is_ours = false;
		return;
	}
	case CMD_CHANGE_USER:
	case CMD_RESET_CONNECTION:
		while (!i->failed && i->prepared)
			interpose_prepared_free(i, i->prepared);
		i->last_is_ours &= i->failed;
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
			.matched_known = i->matched_known,
			.matched = i->matched,
			.insert_id = i->insert_id,
			.warnings = i->warnings};

		instrument_end(&i->session, i->capture, &outcome);
		return;
	}
	default:
		return;
	}
}

/* The log was read, emptied, or not. */
static void log_done(struct interpose *i, enum job_kind kind, const struct packet *p,
	struct buf *to_client, struct buf *to_server, size_t *fed)
{
	bool is_answer = i->careful && select_is_late_abort(i->own_error);

	if (kind == JOB_RESET)
		instrument_log_emptied(&i->session, !i->own_error);
	if (is_answer)
		instrument_is_answered(&i->session);
	else if (kind == JOB_LOG && i->session.pending)
		/* It failed: a connection that was killed, mostly. */
		instrument_take_log(
			&i->session, i->capture, false, SPAN_NONE, SPAN_NONE, SPAN_NONE);
	if (i->careful)
		own_done(i, is_answer, p, to_client, to_server, fed);
}

static void take_id(struct interpose *i, const struct packet *p, enum wire_expect expect)
{
	struct span value;

	buf_clear(&i->scratch);
	if (expect != EXPECT_ROWS || wire_is_rows_end(&i->inner, p) ||
		!strip_text_row(p->payload, 1, 1, &i->scratch, &value))
		return;
	for (size_t k = 0; k < value.len && value.ptr[k] >= '0' && value.ptr[k] <= '9'; k++)
		i->id = i->id * 10 + (uint64_t)(value.ptr[k] - '0');
}

/* The client gets its OK, with what the server said; or as it was, where it said nothing. */
static void id_done(struct interpose *i, struct buf *to_client, size_t *fed)
{
	buf_clear(&i->scratch);
	strip_set_id(buf_span(&i->ok), i->id, &i->scratch);
	buf_clear(&i->ok);
	strip_put(to_client, buf_span(&i->scratch), i->ok_seq);
	wire_feed_server(i->outer, span_of(to_client->data + *fed, to_client->len - *fed),
		interpose_stamp(i, false));
	*fed = to_client->len;
	client_command_done(i);
}

/* The transaction is gone, and the client is told what it would have been told without triggers. */
static void rollback_done(struct interpose *i, struct buf *to_client, size_t *fed)
{
	static const char rolled_back[] =
		"\xff\xbd\x04#40001Deadlock found when trying to get lock; try restarting transaction";
	bool gone = !i->own_error;

	if (gone)
		i->error = ER_LOCK_DEADLOCK;
	strip_put(to_client,
		gone ? span_of(rolled_back, sizeof(rolled_back) - 1) : buf_span(&i->ok), i->ok_seq);
	buf_clear(&i->ok);
	wire_feed_server(i->outer, span_of(to_client->data + *fed, to_client->len - *fed),
		interpose_stamp(i, false));
	*fed = to_client->len;
	/* Other than an error that rolls back, ROLLBACK uses up what SET TRANSACTION has set. */
	if (gone)
		i->capture->level_next = UINT8_MAX;
	client_command_done(i);
}

/* One packet.  `fed`: up to where to_client was shown to the session's parser. */
static void server_packet(struct interpose *i, const struct packet *p, struct buf *to_client,
	struct buf *to_server, size_t *fed)
{
	struct wire_command *head = interpose_inner_head(i);
	enum job_kind kind = head ? interpose_kind_of(i, head->number) : JOB_CLIENT;
	enum wire_expect expect = head ? head->expect : EXPECT_UNKNOWN;
	uint32_t number = head ? head->number : 0;

	if (!head)
		strip_put(to_client, p->payload, p->seq);
	else if (kind == JOB_CLIENT)
		to_the_client(i, head, p, to_client);
	else if (kind == JOB_LOG)
		take_log(i, p, expect);
	else if (kind == JOB_RESET || kind == JOB_ROLLBACK)
		note_own_error(i, p);
	else if (kind == JOB_OWN)
		take_own_row(i, p, expect);
	else if (kind == JOB_ID)
		take_id(i, p, expect);
	else if (kind == JOB_AGAIN && p->payload.len && (uint8_t)p->payload.ptr[0] == 0xff)
		buf_add_span(&i->again_error, p->payload);
	buf_clear(&i->raw);
	strip_put(&i->raw, p->payload, p->seq);
	wire_feed_server(&i->inner, buf_span(&i->raw), interpose_stamp(i, false));
	head = interpose_inner_head(i);
	if (!number || (head && head->number == number))
		return;
	interpose_forget_job(i, number);
	if (kind == JOB_OWN) {
		own_done(i, instrument_query_end(&i->session, i->capture, i->own_error, false), p,
			to_client, to_server, fed);
	} else if (kind == JOB_LOG || kind == JOB_RESET) {
		log_done(i, kind, p, to_client, to_server, fed);
	} else if (kind == JOB_AGAIN) {
		again_done(i, to_client, to_server, fed);
	} else if (kind == JOB_ID) {
		id_done(i, to_client, fed);
	} else if (kind == JOB_ROLLBACK) {
		rollback_done(i, to_client, fed);
	} else if (kind == JOB_CLIENT && i->unparsed) {
		interpose_roll_back(i, to_server);
	} else if (kind == JOB_CLIENT && i->ok.len) {
		interpose_ask_id(i, to_server);
	} else if (kind == JOB_CLIENT && i->again) {
		send_again(i, to_server);
	} else if (kind == JOB_CLIENT) {
		wire_feed_server(i->outer, span_of(to_client->data + *fed, to_client->len - *fed),
			interpose_stamp(i, false));
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
	if (i->off && !i->broken)
		buf_add_span(to_client, bytes);
	if (to_client->len > fed)
		wire_feed_server(i->outer, span_of(to_client->data + fed, to_client->len - fed),
			interpose_stamp(i, false));
	interpose_send_held(i, to_server);
}
