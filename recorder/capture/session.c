/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions as records: their clients, from the connection phase to their end. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "capture/capture_internal.h"
#include "server/flavour.h"
#include "trace/pack.h"

void capture_emit_session(struct capture *c, enum session_event event, const char *reason)
{
	struct record_session record = {
		.session = c->id,
		.event = (uint8_t)event,
		.node = span_str(c->node->name),
		.client = buf_span(&c->client),
		.user = span_or_none(&c->user),
		.database = span_or_none(&c->database),
		.thread = c->thread,
		.capabilities = c->capabilities,
		.reason = span_str(reason),
		.attributes = event == SESSION_OPENED ? span_or_none(&c->attributes) : SPAN_NONE,
		.collation = c->collation,
	};

	record.at = trace_producer_now(c->worker->producer);
	trace_emit_session(c->worker->producer, &record);
	/* Later segments of the trace begin with the sessions that are open. */
	if (event == SESSION_OPENED || event == SESSION_CHANGED || event == SESSION_CLOSED) {
		struct buf packed = BUF_INIT;
		char key[24];

		snprintf(key, sizeof(key), "session %u", c->id);
		record.event = SESSION_OPENED;
		record.attributes = span_or_none(&c->attributes);
		record_session_pack(&packed, &record);
		trace_context_set(c->worker->writer, span_str(key),
			event == SESSION_CLOSED ? SPAN_NONE : buf_span(&packed));
		buf_release(&packed);
	}
}

void capture_opened(struct capture *c)
{
	if (c->opened || c->muted)
		return;
	c->opened = true;
	capture_emit_session(c, SESSION_OPENED, NULL);
}

void capture_open(struct capture *c, struct capture_worker *worker, struct capture_node *node,
	uint32_t id, const char *client)
{
	memset(c, 0, sizeof(*c));
	c->worker = worker;
	c->node = node;
	c->id = id;
	capture_keep(&c->client, span_str(client));
	txn_reset_session(c);
}

void capture_probe(struct capture *c, struct record_probe *probe)
{
	if (c->muted || !c->worker->producer)
		return;
	probe->session = c->id;
	trace_emit_probe(c->worker->producer, probe);
}

static void end_transaction(struct capture *c, const char *reason)
{
	buf_clear(&c->now.gtid);
	if (c->txn.open && c->txn.prepared)
		txn_end(c, 0, TXN_UNKNOWN, "prepared XA transaction left behind");
	else if (c->txn.open && c->txn.lost_commit)
		txn_end(c, 0, TXN_UNKNOWN, "no answer to what may have committed it");
	else if (c->txn.open)
		txn_end(c, 0, TXN_ABORTED, reason);
}

void capture_server_ended(struct capture *c, enum close_reason reason)
{
	const char *text = close_reason_text(reason);
	char with_error[64];

	if (c->ended || c->quit || c->muted)
		return;
	c->ended = true;
	c->now.at = 0;
	if (c->ended_error) {
		snprintf(with_error, sizeof(with_error), "%.40s, error %u", text, c->ended_error);
		text = with_error;
	}
	capture_emit_session(c, SESSION_ENDED, text);
	end_transaction(c, "ended by the server");
}

void capture_server_released(struct capture *c)
{
	c->now.at = 0;
	if (c->ended)
		capture_emit_session(c, SESSION_RELEASED, NULL);
}

void capture_close(struct capture *c, enum close_reason reason, const char *detail)
{
	struct buf *all[] = {&c->client, &c->user, &c->database, &c->pending_user,
		&c->pending_database, &c->attributes, &c->txn.name, &c->early_savepoints, &c->now.text, &c->now.params,
		&c->now.name, &c->now.track, &c->now.gtid, &c->now.blockers, &c->result.rows,
		&c->result.hidden};

	capture_opened(c);
	c->now.at = 0;
	if (c->quit) {
		reason = CLOSE_QUIT;
		detail = NULL;
	}
	end_transaction(c, "disconnect");
	if (!c->muted)
		capture_emit_session(
			c, SESSION_CLOSED, detail ? detail : close_reason_text(reason));
	capture_forget_prepared(c, 0);
	mem_free(c->prepared);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		buf_release(all[i]);
	for (size_t i = 0; i < CAPTURE_SHAPES; i++) {
		buf_release(&c->shapes[i].text);
		buf_release(&c->shapes[i].packed);
		buf_release(&c->shapes[i].secrecy);
	}
}

/* ---- the connection phase ---- */

void capture_greeting(void *ctx, const struct wire_greeting *greeting)
{
	struct capture *c = ctx;
	enum server_flavour flavour = server_release_of(greeting->version).flavour;
	struct record_server record = {
		.node = span_str(c->node->name),
		.version = greeting->version,
		.flavour = span_str(server_flavour_name(flavour)),
		.address = span_str(c->node->address),
	};

	/* MariaDB before 11 hides its version from old replicas behind this; VERSION() does not. */
	if (flavour == SERVER_MARIADB && record.version.len > 6 && memcmp(record.version.ptr, "5.5.5-", 6) == 0)
		record.version = span_of(record.version.ptr + 6, record.version.len - 6);
	c->thread = greeting->thread;
	c->server_charset =
		(uint8_t)client_charset_of_collation(greeting->charset, CLIENT_CHARSET_UNKNOWN);
	c->charset = c->login_charset = c->server_charset;
	if (flavour != SERVER_TIDB) {
		struct sql_options options = sql_options_for_server(record.version);

		c->flavour = options.flavour;
		c->version = options.version;
	}
	if (atomic_load_explicit(&c->node->announced, memory_order_relaxed))
		return;
	atomic_store(&c->node->flavour, (uint_fast8_t)flavour);
	if (!atomic_exchange(&c->node->announced, true))
		trace_emit_server(c->worker->producer, &record);
}

/* Attributes that say what the client is; others may hold anything. */
static bool attribute_allowed(struct span name)
{
	return (name.len && name.ptr[0] == '_') || span_eq_str(name, "program_name");
}

static void keep_attributes(struct capture *c, struct span attributes)
{
	struct cursor cursor = cursor_over(attributes);
	struct buf pairs = BUF_INIT;
	msgpack_packer pk = pack_into(&pairs);
	uint32_t count = 0;

	while (!cursor.bad && cursor_left(&cursor) && count < 64) {
		struct span name = cursor_lenenc_str(&cursor), value = cursor_lenenc_str(&cursor);

		if (cursor.bad || !attribute_allowed(name))
			continue;
		pack_str(&pk, name);
		pack_str(&pk, value);
		count++;
	}
	buf_clear(&c->attributes);
	pk = pack_into(&c->attributes);
	msgpack_pack_map(&pk, count);
	buf_add_span(&c->attributes, buf_span(&pairs));
	buf_release(&pairs);
}

void capture_login(void *ctx, const struct wire_login *login)
{
	struct capture *c = ctx;
	const struct filter *filter = capture_filter(c);

	capture_keep(&c->user, login->user);
	capture_keep(&c->database, login->schema);
	c->muted = filter && !filter_wants(filter, login->user, login->schema);
	c->capabilities = login->in_force;
	c->charset = c->login_charset = (uint8_t)client_charset_of_collation(
		login->charset, (enum client_charset)c->server_charset);
	c->collation = login->charset;
	if (login->attributes.ptr)
		keep_attributes(c, login->attributes);
}

/* `more`: the name of a number beside the session's; NULL: none. */
static void emit_session_note(struct capture *c, struct span topic, struct span text, const char *more, uint64_t number)
{
	struct record_note note = {.source = SPAN_LIT("recorder"), .topic = topic, .text = text};
	struct buf data = BUF_INIT;
	msgpack_packer pk = pack_into(&data);

	msgpack_pack_map(&pk, more ? 2 : 1);
	pack_str(&pk, SPAN_LIT("session"));
	pack_uint(&pk, c->id);
	if (more) {
		pack_str(&pk, span_str(more));
		pack_uint(&pk, number);
	}
	note.data = buf_span(&data);
	trace_emit_note(c->worker->producer, &note);
	buf_release(&data);
}

/* Of the session. */
void capture_note(struct capture *c, struct span topic, struct span text)
{
	emit_session_note(c, topic, text, NULL, 0);
}

void capture_note_statement(struct capture *c, struct span topic, struct span text, uint32_t number)
{
	emit_session_note(c, topic, text, "statement", number);
}

/* An error that answers no statement, as a note with its code. */
void capture_note_error(struct capture *c, struct span topic, const struct wire_reply *reply)
{
	emit_session_note(c, topic, secrets_message(c, reply->error, reply->message), "error", reply->error);
}

void capture_authenticated(void *ctx, const struct wire_reply *reply)
{
	struct capture *c = ctx;

	capture_opened(c);
	if (reply->kind == REPLY_OK) {
		txn_check_default(c, c->level_session);
		c->status = reply->status;
		c->status_known = true;
		return;
	}
	capture_note_error(c, SPAN_LIT("refused"), reply);
}
