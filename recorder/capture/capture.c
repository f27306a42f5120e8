/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/capture_internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "sql/text/raw_token.h"
#include "trace/value.h"

/* ---- commands ---- */

struct text_dialect capture_dialect(const struct capture *c)
{
	return (struct text_dialect){(c->status & STATUS_NO_BACKSLASH_ESCAPES) != 0,
		(c->status & STATUS_ANSI_QUOTES) != 0, c->charset, c->flavour, c->version};
}

bool capture_can_parse(const struct capture *c, struct span text)
{
	return LIKELY(c->charset == CLIENT_CHARSET_PLAIN) ||
	       client_charset_reads_plain((enum client_charset)c->charset, text);
}

/* Whether one statement may hold another that sets a level, or is one that is not understood. */
static bool hides_level(const struct stmt_class *class, struct span text)
{
	return !class->level_session && !class->level_next && !class->level_global &&
	       text_hides_level(text);
}

static void classify_text(struct capture *c, struct span text)
{
	struct text_dialect dialect = capture_dialect(c);
	struct span rest = text, name;

	c->now.class_count = 0;
	do {
		struct stmt_class *class = &c->now.classes[c->now.class_count];
		struct span part = rest;

		if (c->now.class_count == CAPTURE_CLASSES_MAX) {
			c->now.classes_end = true;
			break;
		}
		if (UNLIKELY(dialect.charset == CLIENT_CHARSET_UNKNOWN &&
			     !client_charset_reads_plain(CLIENT_CHARSET_UNKNOWN, rest))) {
			/* Where it ends is not known. */
			*class = (struct stmt_class){.kind = CLASS_UNKNOWN};
			class->hides_level = text_hides_level(rest);
			c->now.class_count++;
			break;
		}
		stmt_classify(rest, dialect, class, &rest, &name);
		if (rest.len)
			part.len = (size_t)(rest.ptr - part.ptr);
		class->hides_level = hides_level(class, part);
		if (c->now.class_count++ == 0 && name.ptr)
			capture_keep(&c->now.name, name);
		if (UNLIKELY(class->charset)) {
			dialect.charset = class->charset - 1;
			c->now.unreadable |=
				dialect.charset != CLIENT_CHARSET_PLAIN && rest.len &&
				!client_charset_reads_plain(CLIENT_CHARSET_UNKNOWN, rest);
		}
		while (rest.len && (*rest.ptr == ' ' || *rest.ptr == '\n' || *rest.ptr == ';')) {
			rest.ptr++;
			rest.len--;
		}
	} while (rest.len);
	if (UNLIKELY(c->level_next != UINT8_MAX))
		c->now.tables = (uint8_t)text_touches_tables(text, capture_dialect(c));
}

/* The set is known, and the same for all of the text. */
static bool masks_surely(const struct capture *c)
{
	if (c->charset == CLIENT_CHARSET_UNKNOWN)
		return false;
	for (size_t i = 0; i + 1 < c->now.class_count; i++)
		if (c->now.classes[i].charset)
			return false;
	return true;
}

/* Names of tables without a schema are mysql's.  Without session tracking the server does not say
 * what USE in a text did. */
static bool is_in_mysql(const struct capture *c)
{
	return span_ieq_str(buf_span(&c->database), "mysql") || UNLIKELY(c->used_mysql);
}

/* USE mysql, of a server that does not tell the schema. */
static void see_use(struct capture *c, struct span text)
{
	if (c->capabilities & CAP_SESSION_TRACK || !text_may_hold_account(text))
		return;
	c->used_mysql |= text_holds_word(text, "use") && text_holds_word(text, "mysql");
}

static void keep_text(struct capture *c, struct span text)
{
	struct text_secrets secrets;

	capture_reuse(&c->now.text);
	if (!text.ptr)
		return;
	if (!text_mask_passwords(
		    text, capture_dialect(c), is_in_mysql(c), &c->now.text, &secrets))
		buf_add_span(&c->now.text, text);
	c->now.masked = secrets.masked; /* '***' must not be taken for what was written */
	c->now.accounts = secrets.accounts;
	c->now.secret = secrets.masked || secrets.params || secrets.accounts;
	if (UNLIKELY(c->now.unreadable)) {
		c->now.text_cut = true;
		/* Which string is a password depends on where strings end. */
		if (!masks_surely(c) && text_may_hold_password(text)) {
			c->now.secret = true;
			mem_wipe(c->now.text.data, c->now.text.len);
			buf_clear(&c->now.text);
		}
	}
	c->secret_sent |= c->now.secret;
	if (UNLIKELY(c->now.redacted >= REDACT_COMPUTED)) {
		struct buf redacted = BUF_INIT;

		secrets_xid(c, &c->now.name);

		if (c->now.unreadable ||
			!redact_text(&c->worker->config->redact, buf_span(&c->now.text),
				capture_dialect(c), &redacted))
			c->now.text_cut = true;
		mem_wipe(c->now.text.data, c->now.text.len);
		capture_keep(&c->now.text, buf_span(&redacted));
		buf_release(&redacted);
	}
}

/* What --redact and the filter of tables make of a text. */
static void judge_text(struct capture *c, struct span text)
{
	const struct capture_config *config = c->worker->config;
	const struct filter *filter = capture_filter(c);
	struct text_dialect dialect = capture_dialect(c);

	/* Redacted whole, wanted whatever its tables are. */
	c->now.unreadable |= !capture_can_parse(c, text);
	if (UNLIKELY(c->now.unreadable)) {
		if (!c->charset_noted)
			capture_note(c, SPAN_LIT("character set"),
				SPAN_LIT("statements of this session are in a character set in "
					 "which they are not parsed"));
		c->charset_noted = true;
		return;
	}
	if (UNLIKELY(config->redact.on)) {
		c->now.classes[0].one_query = secrets_one_query(text);
		/* Without session tracking the server does not say what USE in a text did. */
		c->now.redacted = (uint8_t)redact_statement(&config->redact, text,
			c->capabilities & CAP_SESSION_TRACK ? buf_span(&c->database) : SPAN_NONE,
			dialect);
	}
	if (UNLIKELY(filter && (filter->table.code || filter->not_table.code))) {
		struct sql_options options = text_sql_options(dialect);

		c->now.filtered = !filter_wants_statement(
			filter, text, buf_span(&c->database), &options);
	}
}

static void keep_params(struct capture *c, const struct wire_request *request)
{
	struct wire_params params = request->params;
	struct wire_param param;
	uint32_t count = 0;

	capture_reuse(&c->now.params);
	if (!params.count || request->params_bad || c->now.filtered ||
		!(c->worker->config->levels & CAPTURE_PARAMS))
		return;
	pack_array_open(&c->now.params);
	while (wire_params_next(&params, &param)) {
		size_t before = c->now.params.len;

		if (c->now.secret) {
			struct value dropped = {.type = VALUE_DROPPED, .bytes = span_of("", 0)};

			value_pack(&c->now.params, &dropped);
			c->worker->left_out.values++;
		} else {
			values_pack_param(&c->now.params, &param, &c->worker->config->values);
			if (UNLIKELY(c->now.redacted >= REDACT_COMPUTED))
				redact_packed(&c->worker->config->redact, &c->now.params, before);
		}
		count++;
	}
	pack_array_close(&c->now.params, 0, count);
	if (params.bad)
		buf_clear(&c->now.params);
}

void capture_set_params(struct capture *c, struct span params)
{
	capture_keep(&c->now.params, params);
	secrets_params(c, &c->now.params);
}

/* The list is an array 16, whose count is renewed. */
void capture_add_blocker(struct capture *c, uint32_t session)
{
	struct buf *list = &c->now.blockers;
	struct mp mp = mp_over(buf_span(list));
	uint32_t count = list->len ? mp_array(&mp) : 0;
	msgpack_packer pk;

	for (uint32_t i = 0; i < count; i++)
		if (mp_uint(&mp) == session)
			return;
	if (!list->len)
		buf_add(list, "\xdc\0\0", 3);
	pk = pack_into(list);
	pack_uint(&pk, session);
	(void)mp_put_be16(list->data + 1, (uint16_t)(count + 1));
}

void capture_set_blocked(struct capture *c, bool blocked, uint64_t ns)
{
	c->now.blocked_seen = true;
	c->now.blocked_ns = ns;
	if (!blocked)
		buf_clear(&c->now.blockers);
}

static struct stmt_class class_from_tag(uint64_t tag)
{
	struct stmt_class class;

	memcpy(&class, &tag, sizeof(class));
	return class;
}

static uint64_t tag_from_class(struct stmt_class class)
{
	uint64_t tag;

	_Static_assert(sizeof(class) == sizeof(tag), "a class fits beside a prepared statement");
	memcpy(&tag, &class, sizeof(tag));
	return tag;
}

/* What a command without SQL does to transactions. */
static enum stmt_class_kind class_of_command(uint8_t byte)
{
	switch (byte) {
	case CMD_RESET_CONNECTION:
	case CMD_CHANGE_USER:
		return CLASS_ROLLBACK;
	case CMD_CREATE_DB:
	case CMD_DROP_DB:
		return CLASS_DEFINE;
	default:
		return CLASS_NEUTRAL;
	}
}

static void on_command(void *ctx, struct wire_command *command, const struct wire_request *request)
{
	struct capture *c = ctx;

	c->now.active = true;
	c->now.at = 0;
	c->now.secret = c->now.accounts = c->now.data = c->now.classes_end = c->now.began = false;
	c->now.schema_changed = c->now.filtered = c->now.unreadable = false;
	/* Of what is not known to be harmless. */
	c->now.redacted = c->worker->config->redact.on ? REDACT_WHOLE : REDACT_NOTHING;
	c->now.text_cut = request->text_cut;
	c->now.masked = false;
	c->now.not_kept = !(c->worker->config->levels & CAPTURE_RESULTS);
	c->now.told_charset = 0;
	c->now.level_default = txn_default_level(c);
	c->now.prepared = command->stmt ? command->stmt->number : 0;
	c->now.txn = 0;
	c->now.result_sets = 0;
	c->now.rows = c->now.affected = c->now.insert_id = 0;
	c->now.warnings = 0;
	c->now.tables = TEXT_TABLES_PERHAPS;
	buf_clear(&c->now.name);
	buf_clear(&c->now.track);
	buf_clear(&c->now.gtid);
	buf_clear(&c->now.blockers);
	c->now.blocked_seen = false;
	c->now.no_tables = c->now.elsewhere = c->now.whole = false;
	c->now.blocked_ns = 0;
	c->now.class_count = 1;
	c->now.classes[0] = (struct stmt_class){.kind = (uint8_t)class_of_command(command->byte)};
	if (command->byte == CMD_QUERY || command->byte == CMD_STMT_PREPARE) {
		if (request->text.ptr) {
			classify_text(c, request->text);
			txn_see_text(c, request->text, command->byte == CMD_QUERY);
			judge_text(c, request->text);
			see_use(c, request->text);
		} else {
			c->now.classes[0].kind = CLASS_UNKNOWN;
		}
	} else if (command->byte == CMD_STMT_EXECUTE || command->byte == CMD_STMT_BULK_EXECUTE) {
		c->now.classes[0] = command->stmt ? class_from_tag(command->stmt->tag)
						  : (struct stmt_class){.kind = CLASS_UNKNOWN};
		if (c->now.classes[0].kind == CLASS_READ || c->now.classes[0].kind == CLASS_WRITE)
			c->now.tables = TEXT_TABLES_SURE;
		txn_see_text(c, SPAN_NONE, true);
	} else if (command->byte != CMD_PROCESS_INFO) {
		c->now.redacted = REDACT_NOTHING; /* names, not values */
	}
	if (command->stmt && command->byte != CMD_STMT_PREPARE) {
		struct stmt_class class = class_from_tag(command->stmt->tag);

		c->now.secret = class.secret;
		c->now.accounts = class.accounts;
		c->now.classes[0].one_query = class.one_query;
		c->secret_sent |= c->now.secret;
		c->now.redacted = (uint8_t) class.redacted;
		c->now.filtered = class.filtered;
	}
	c->now.not_kept |= c->now.filtered;
	if (command->byte == CMD_STMT_EXECUTE || command->byte == CMD_STMT_BULK_EXECUTE)
		capture_reuse(&c->now.text);
	else
		keep_text(c, request->text);
	keep_params(c, request);
	if (command->byte == CMD_STMT_PREPARE) {
		/* PREPARE itself runs nothing; its class is for the executions. */
		c->now.classes[0].secret = c->now.secret;
		c->now.classes[0].accounts = c->now.accounts;
		c->now.classes[0].redacted = c->now.redacted & 3u;
		c->now.classes[0].filtered = c->now.filtered;
	}
	if (c->now.filtered)
		buf_clear(&c->now.text);
	if (request->login) {
		capture_keep(&c->pending_user, request->login->user);
		capture_keep(&c->pending_database, request->login->schema);
		c->pending_charset = (uint8_t)client_charset_of_collation(
			request->login->charset, (enum client_charset)c->server_charset);
		c->pending_collation = request->login->charset;
	}
	if (command->byte == CMD_QUIT)
		c->quit = true;
	if (command->byte == CMD_PROCESS_KILL)
		buf_printf(&c->now.text, "%llu", (unsigned long long)request->value);
}

/* ---- answers ---- */

static void keep_track(struct capture *c, const struct wire_reply *reply)
{
	struct cursor state = cursor_over(reply->state), pending = {0};
	struct wire_track item;
	struct buf pairs = BUF_INIT;
	msgpack_packer pk = pack_into(&pairs);
	uint32_t count = 0;

	while (wire_track_next(&state, &pending, &item)) {
		struct span name = SPAN_NONE;

		switch (item.type) {
		case TRACK_VARIABLES:
			name = item.name;
			if (span_eq_str(name, "last_gtid"))
				capture_keep(&c->now.gtid, item.value);
			else if (span_eq_str(name, "transaction_isolation") ||
				 span_eq_str(name, "tx_isolation"))
				c->level_session = text_level(item.value) <= LEVEL_SERIALIZABLE
							   ? text_level(item.value)
							   : LEVEL_UNKNOWN;
			else if (span_eq_str(name, "character_set_client"))
				c->now.told_charset =
					(uint8_t)(client_charset_of_name(item.value) + 1);
			break;
		case TRACK_SCHEMA:
			name = SPAN_LIT("schema");
			c->now.schema_changed |= !span_eq(item.value, buf_span(&c->database));
			capture_keep(&c->database, item.value);
			break;
		case TRACK_GTIDS:
			name = SPAN_LIT("gtid");
			capture_keep(&c->now.gtid, item.value);
			break;
		case TRACK_CHARACTERISTICS:
			name = SPAN_LIT("characteristics");
			break;
		case TRACK_TXN_STATE:
			name = SPAN_LIT("state");
			break;
		default:
			continue;
		}
		pack_str(&pk, name);
		pack_str(&pk, item.type == TRACK_VARIABLES
				      ? secrets_variable(c, name, item.value)
				      : item.value);
		count++;
	}
	if (count) {
		buf_clear(&c->now.track);
		pk = pack_into(&c->now.track);
		msgpack_pack_map(&pk, count);
		buf_add_span(&c->now.track, buf_span(&pairs));
	}
	buf_release(&pairs);
}

static const struct stmt_class *class_now(
	const struct capture *c, const struct wire_command *command)
{
	static const struct stmt_class unknown = {.kind = CLASS_UNKNOWN};
	static const struct stmt_class neutral = {.kind = CLASS_NEUTRAL};

	if (command->byte == CMD_STMT_PREPARE)
		return &neutral;
	/* One statement, or the n-th of several; a call before it makes the count unsure. */
	if (c->now.class_count == 1)
		return &c->now.classes[0];
	for (size_t i = 0; i < command->set && i < c->now.class_count; i++)
		if (c->now.classes[i].kind == CLASS_CALL || c->now.classes[i].kind == CLASS_UNKNOWN)
			return &unknown;
	return command->set < c->now.class_count ? &c->now.classes[command->set] : &unknown;
}

/* A statement's PREPARE in the context of later segments: set, or with record NULL forgotten. */
static void prepared_context(struct capture *c, uint32_t number, const struct record_stmt *record)
{
	struct buf packed = BUF_INIT;
	char key[40];

	snprintf(key, sizeof(key), "prepare %u %u", c->id, number);
	if (record)
		record_stmt_pack(&packed, record);
	trace_context_set(c->worker->writer, span_str(key), record ? buf_span(&packed) : SPAN_NONE);
	buf_release(&packed);
}

void capture_forget_prepared(struct capture *c, uint32_t number)
{
	for (size_t i = 0; i < c->prepared_count; i++) {
		if (number && c->prepared[i] != number)
			continue;
		prepared_context(c, c->prepared[i], NULL);
		c->prepared[i--] = c->prepared[--c->prepared_count];
	}
}

static void emit_stmt(struct capture *c, const struct wire_command *command,
	const struct wire_reply *reply, uint32_t flags)
{
	struct record_stmt record = {
		.at = command->end_at,
		.session = c->id,
		.number = command->number,
		.txn = c->now.txn,
		.begin_seq = command->begin.seq,
		.begin = command->begin.at,
		.first_byte = command->first_byte_at,
		.command = command->byte,
		.text = c->now.text.len || command->byte == CMD_QUERY ? buf_span(&c->now.text)
								      : SPAN_NONE,
		.prepared = command->byte == CMD_STMT_PREPARE ? 0 : c->now.prepared,
		.params = span_or_none(&c->now.params),
		.status = reply->status,
		.affected = c->now.affected,
		.insert_id = c->now.insert_id,
		.warnings = c->now.warnings,
		.info = secrets_info(c, reply->info),
		.error = reply->error,
		.sqlstate = reply->sqlstate.len ? reply->sqlstate : SPAN_NONE,
		.error_text = secrets_message(c, reply->error, reply->message),
		.result_sets = c->now.not_kept ? 0 : c->now.result_sets,
		.rows = c->now.rows,
		.reply_bytes = command->reply_bytes,
		.blocked_ns = c->now.blocked_ns,
		.blockers = span_or_none(&c->now.blockers),
		.track = span_or_none(&c->now.track),
		.client_begin = command->begin.at,
		.client_end = command->sent_at,
		.request_bytes = reply->lost ? command->length : 0,
		.flags = flags,
	};

	if (c->now.blocked_seen)
		record.flags |= STMT_BLOCKED_SEEN;
	if (c->now.no_tables)
		record.flags |= STMT_NO_TABLES;
	if (c->now.elsewhere)
		record.flags |= STMT_ELSEWHERE;
	if (reply->lost)
		record.flags |= STMT_NO_REPLY;
	if (c->now.text_cut || (!command->complete && c->now.text.len))
		record.flags |= STMT_TEXT_CUT;
	else if (c->now.masked)
		record.flags |= STMT_TEXT_CUT | STMT_MASKED;
	if (c->now.not_kept && c->now.result_sets)
		record.flags |= STMT_NOT_KEPT;
	if (UNLIKELY(c->now.filtered)) {
		record.flags |= STMT_FILTERED;
		record.text = record.params = SPAN_NONE;
	}
	if (reply->kind == REPLY_UNREAD)
		record.flags |= STMT_OPAQUE;
	trace_emit_stmt(c->worker->producer, &record);
	if (reply->kind == REPLY_PREPARED && c->worker->config->segments &&
		c->prepared_count < CAPTURE_PREPARED_MAX) {
		MEM_RESERVE(c->prepared, c->prepared_count + 1, c->prepared_capacity);
		c->prepared[c->prepared_count++] = command->number;
		prepared_context(c, command->number, &record);
	}
}

/* Effects on the session, once the server has agreed. */
static void apply(struct capture *c, const struct wire_command *command)
{
	switch (command->byte) {
	case CMD_INIT_DB:
		capture_keep(&c->database, buf_span(&c->now.text));
		capture_emit_session(c, SESSION_CHANGED, "database");
		break;
	case CMD_STMT_CLOSE:
		capture_forget_prepared(c, c->now.prepared);
		break;
	case CMD_CHANGE_USER:
		capture_forget_prepared(c, 0);
		capture_keep(&c->user, buf_span(&c->pending_user));
		capture_keep(&c->database, buf_span(&c->pending_database));
		c->charset = c->login_charset = c->pending_charset;
		c->collation = c->pending_collation;
		txn_reset_session(c);
		txn_check_default(c, c->now.level_default);
		capture_emit_session(c, SESSION_CHANGED, "change user");
		break;
	case CMD_RESET_CONNECTION:
		capture_forget_prepared(c, 0);
		/* MariaDB goes back to what the login said, MySQL to its own. */
		c->charset = c->flavour == SQL_MARIADB ? c->login_charset : c->server_charset;
		txn_reset_session(c);
		txn_check_default(c, c->now.level_default);
		capture_emit_session(c, SESSION_CHANGED, "reset");
		break;
	case CMD_STMT_PREPARE:
		if (command->stmt)
			command->stmt->tag = tag_from_class(c->now.classes[0]);
		break;
	default:
		break;
	}
}

static void on_reply(void *ctx, struct wire_command *command, const struct wire_reply *reply)
{
	struct capture *c = ctx;
	const struct stmt_class *class = class_now(c, command);
	bool inside_call = !reply->last && c->now.class_count == 1 &&
			   (class->kind == CLASS_CALL || class->kind == CLASS_UNKNOWN);

	c->now.at = command->end_at;
	capture_result_end(c, command);
	/* A level that the server tells of is known again. */
	txn_lose_level(c, class);
	if (reply->state.len)
		keep_track(c, reply);
	if (reply->kind == REPLY_OK) {
		c->now.affected += reply->affected;
		if (reply->insert_id)
			c->now.insert_id = reply->insert_id;
	}
	c->now.warnings += reply->warnings;
	/* What a call did shows in the flags of its last answer. */
	if (inside_call)
		return;
	txn_before(c, command, class, reply);
	if (reply->last && command->byte != CMD_QUIT && command->byte != CMD_STMT_SEND_LONG_DATA) {
		emit_stmt(c, command, reply, 0);
		c->statements++;
	}
	txn_after(c, command, class, reply);
	if (reply->kind != REPLY_ERR && !reply->lost) {
		if (class->kind == CLASS_SET)
			txn_set_levels(c, class);
		if (class->kind == CLASS_SET && class->charset)
			c->charset = class->charset - 1;
		if (c->now.told_charset)
			c->charset = c->now.told_charset - 1;
		apply(c, command);
	}
	if (!reply->last) {
		/* The next result of a text may be a transaction of its own. */
		c->now.data = c->now.began = false;
		c->now.txn = 0;
		return;
	}
	if (c->now.schema_changed && command->byte != CMD_INIT_DB &&
		command->byte != CMD_CHANGE_USER)
		capture_emit_session(c, SESSION_CHANGED, "database");
	c->now.active = false;
	capture_reuse(&c->now.text);
	capture_reuse(&c->now.params);
}

static void on_infile(void *ctx, struct wire_command *command, struct span name, uint64_t size,
	const unsigned char digest[8])
{
	struct capture *c = ctx;
	struct record_note note = {
		.source = SPAN_LIT("recorder"),
		.topic = SPAN_LIT("local infile"),
		.text = secrets_file(c, name)};
	struct buf data = BUF_INIT;
	msgpack_packer pk = pack_into(&data);

	bool hidden = c->worker->config->redact.on; /* the digest has no key */

	msgpack_pack_map(&pk, hidden ? 3 : 4);
	pack_str(&pk, SPAN_LIT("session"));
	pack_uint(&pk, c->id);
	pack_str(&pk, SPAN_LIT("number"));
	pack_uint(&pk, command->number);
	pack_str(&pk, SPAN_LIT("size"));
	pack_uint(&pk, size);
	if (!hidden) {
		pack_str(&pk, SPAN_LIT("digest"));
		pack_bin(&pk, span_of(digest, 8));
	}
	note.data = buf_span(&data);
	trace_emit_note(c->worker->producer, &note);
	buf_release(&data);
}

static void on_unsolicited(void *ctx, const struct wire_reply *reply)
{
	struct capture *c = ctx;

	c->ended_error = reply->error;
	capture_note_error(c, SPAN_LIT("unsolicited error"), reply);
}

static void on_opaque(void *ctx, const char *reason, struct wire_command *command)
{
	struct capture *c = ctx;
	const struct wire_reply none = {.kind = REPLY_NONE};

	if (c->muted)
		return;
	capture_opened(c);
	c->result.open = false;
	c->now.at = 0;
	if (command && c->now.active) {
		txn_before(c, command, class_now(c, command), &none);
		emit_stmt(c, command, &none, STMT_OPAQUE);
		if (c->now.data)
			txn_single(c, command, TXN_UNKNOWN, "the session became opaque");
		c->statements++;
	}
	if (c->txn.open)
		txn_end(c, 0, TXN_UNKNOWN, "the session became opaque");
	capture_emit_session(c, SESSION_OPAQUE, reason);
}

const struct wire_sink capture_sink = {
	.greeting = capture_greeting,
	.login = capture_login,
	.authenticated = capture_authenticated,
	.command = on_command,
	.columns = capture_columns,
	.row = capture_row,
	.rows = capture_rows,
	.reply = on_reply,
	.infile = on_infile,
	.unsolicited = on_unsolicited,
	.opaque = on_opaque,
};
