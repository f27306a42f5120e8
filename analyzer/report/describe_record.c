/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/describe_record.h"

#include <inttypes.h>

#include "base/text.h"
#include "server/commands.h"
#include "sql/text/raw_token.h"
#include "trace/value.h"

enum {
	VALUE_BYTES_MAX = 60, /* of one value in a row */
	PARAMS_BYTES_MAX = 400,
	BLOCKERS_MAX = 8,
};

#define ELLIPSIS "\xe2\x80\xa6"

const char *command_name(uint8_t command)
{
	switch (command) {
	case CMD_QUIT:
		return "quit";
	case CMD_INIT_DB:
		return "use";
	case CMD_QUERY:
		return "query";
	case CMD_FIELD_LIST:
		return "field list";
	case CMD_CREATE_DB:
		return "create database";
	case CMD_DROP_DB:
		return "drop database";
	case CMD_REFRESH:
		return "refresh";
	case CMD_SHUTDOWN:
		return "shutdown";
	case CMD_STATISTICS:
		return "statistics";
	case CMD_PROCESS_INFO:
		return "process list";
	case CMD_PROCESS_KILL:
		return "kill";
	case CMD_DEBUG:
		return "debug";
	case CMD_PING:
		return "ping";
	case CMD_CHANGE_USER:
		return "change user";
	case CMD_BINLOG_DUMP:
		return "binlog dump";
	case CMD_REGISTER_SLAVE:
		return "register replica";
	case CMD_STMT_PREPARE:
		return "prepare";
	case CMD_STMT_EXECUTE:
		return "execute";
	case CMD_STMT_SEND_LONG_DATA:
		return "send long data";
	case CMD_STMT_CLOSE:
		return "close statement";
	case CMD_STMT_RESET:
		return "reset statement";
	case CMD_SET_OPTION:
		return "set option";
	case CMD_STMT_FETCH:
		return "fetch";
	case CMD_BINLOG_DUMP_GTID:
		return "binlog dump gtid";
	case CMD_RESET_CONNECTION:
		return "reset connection";
	case CMD_STMT_BULK_EXECUTE:
		return "bulk execute";
	}
	return NULL;
}

/* ---- SQL ---- */

static bool changes_rows(struct span sql)
{
	static const char *const words[] = {"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD"};
	char word[TEXT_KEYWORD_SIZE];

	text_keyword(sql, word);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

/* ---- values ---- */

/* "1,'a',NULL": the values of an array, as long as they fit. */
static void add_values(struct buf *out, struct mp *mp, size_t bytes_max)
{
	uint32_t count = mp_array(mp);
	size_t begin = out->len;

	for (uint32_t i = 0; i < count && !mp->bad; i++) {
		struct value value;

		if (out->len - begin > bytes_max) {
			(void)mp_skip(mp);
			continue;
		}
		if (i)
			buf_add_char(out, ',');
		if (!value_read(mp, &value))
			return;
		value_print(out, &value, VALUE_BYTES_MAX);
		if (out->len - begin > bytes_max && i + 1 < count)
			buf_add_str(out, "," ELLIPSIS);
	}
}

uint64_t describe_rows(struct buf *out, struct span rows, size_t bytes_max)
{
	struct mp mp = mp_over(rows);
	uint32_t count = rows.ptr ? mp_array(&mp) : 0;
	uint64_t shown = 0;

	while (shown < count && !mp.bad && out->len < bytes_max) {
		buf_add_str(out, out->len ? " (" : "(");
		add_values(out, &mp, bytes_max - (out->len < bytes_max ? out->len : bytes_max));
		buf_add_char(out, ')');
		shown++;
	}
	return shown;
}

/* One encoded object: a value, or an array of them. */
static void add_object(struct buf *out, struct span raw)
{
	struct mp mp = mp_over(raw);
	struct value value;

	if (!raw.ptr) {
		buf_add_str(out, "none");
	} else if (mp_peek(&mp) == MP_ARRAY) {
		buf_add_char(out, '(');
		add_values(out, &mp, VALUE_BYTES_MAX);
		buf_add_char(out, ')');
	} else if (value_read(&mp, &value)) {
		value_print(out, &value, VALUE_BYTES_MAX);
	}
}

/* ---- statements ---- */

void describe_stmt(
	struct buf *out, const struct names *names, const struct record_stmt *stmt, size_t columns)
{
	struct span text = names_stmt_text(names, stmt);
	struct buf line = BUF_INIT;
	const char *command = command_name(stmt->command);

	if (stmt->flags & STMT_INJECTED)
		buf_add_str(&line, "[isorec] ");
	if (!text.ptr || (stmt->command != CMD_QUERY && stmt->command != CMD_STMT_EXECUTE &&
				stmt->command != CMD_SLEEP))
		buf_printf(
			&line, "%s%s", command ? command : "unknown command", text.ptr ? ": " : "");
	if (!text.ptr && stmt->prepared)
		buf_printf(&line, " of statement %" PRIu32, stmt->prepared);
	/* Enough for `columns`, however much white space is folded within reason. */
	if (text.ptr)
		buf_add(&line, text.ptr, text.len < 64 * 1024 ? text.len : 64 * 1024);
	if (stmt->params.ptr) {
		struct mp mp = mp_over(stmt->params);

		buf_add_str(&line, " [");
		add_values(&line, &mp, PARAMS_BYTES_MAX);
		buf_add_char(&line, ']');
	}
	if (stmt->flags & STMT_TEXT_CUT)
		buf_add_str(&line, ELLIPSIS);
	text_add(out, buf_span(&line), columns, TEXT_FOLD);
	buf_release(&line);
}

static void add_blocked(struct buf *out, const struct record_stmt *stmt)
{
	struct mp mp = mp_over(stmt->blockers);
	uint32_t count = stmt->blockers.ptr ? mp_array(&mp) : 0;

	buf_add_str(out, "blocked ");
	text_add_duration(out, stmt->blocked_ns);
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		if (i == BLOCKERS_MAX) {
			buf_printf(out, " and %" PRIu32 " more", count - i);
			break;
		}
		buf_printf(out, "%sS%" PRIu32, i ? ", " : " on ", mp_u32(&mp));
	}
}

/* "(blocked 1.2 ms on S1)", "(35 ms)", or nothing. */
static void add_time_taken(struct buf *out, const struct record_stmt *stmt)
{
	uint64_t took = stmt->begin && stmt->at > stmt->begin ? stmt->at - stmt->begin : 0;

	if (stmt->blocked_ns) {
		buf_add_str(out, " (");
		add_blocked(out, stmt);
		buf_add_char(out, ')');
	} else if (took >= 10 * 1000000) {
		buf_add_str(out, " (");
		text_add_duration(out, took);
		buf_add_char(out, ')');
	}
}

void describe_outcome(
	struct buf *out, const struct record_stmt *stmt, struct span rows, size_t columns)
{
	struct buf line = BUF_INIT, tail = BUF_INIT;
	size_t tail_columns;

	if (stmt->warnings) {
		buf_add_str(&tail, ", ");
		text_add_counted(&tail, stmt->warnings, "warning", "warnings");
	}
	add_time_taken(&tail, stmt);
	if (stmt->error) {
		buf_printf(&line, "error %" PRIu32 " ", stmt->error);
		buf_add(&line, stmt->error_text.ptr ? stmt->error_text.ptr : "",
			stmt->error_text.len < 4096 ? stmt->error_text.len : 4096);
	} else if (stmt->flags & STMT_NO_REPLY) {
		buf_add_str(&line, "no reply");
	} else if (stmt->flags & STMT_OPAQUE) {
		buf_add_str(&line, "not read");
	} else if (rows.ptr && rows.len) {
		buf_add_span(&line, rows);
	} else if (stmt->result_sets) {
		text_add_counted(&line, stmt->rows, "row", "rows");
	} else if (stmt->affected || changes_rows(stmt->text)) {
		buf_printf(&line, "ok %" PRIu64, stmt->affected);
	} else {
		buf_add_str(&line, "ok");
	}
	/* What was waited for must be seen even where the rows are cut. */
	tail_columns = text_columns(buf_span(&tail));
	text_add(out, buf_span(&line),
		columns > tail_columns + 8 ? columns - tail_columns : columns, TEXT_FOLD);
	if (columns > tail_columns + 8)
		buf_add_span(out, buf_span(&tail));
	buf_release(&line);
	buf_release(&tail);
}

/* ---- the other kinds ---- */

/* Cleans what `line` holds into out, and releases line. */
static void finish(struct buf *out, struct buf *line, size_t columns)
{
	text_add(out, buf_span(line), columns, TEXT_FOLD);
	buf_release(line);
}

/* At most what could ever be shown: fields may be megabytes. */
static void add_field(struct buf *line, const char *before, struct span field)
{
	if (!field.ptr || !field.len)
		return;
	buf_add_str(line, before);
	buf_add(line, field.ptr, field.len < 16 * 1024 ? field.len : 16 * 1024);
}

void describe_session(struct buf *out, const struct record_session *session, size_t columns)
{
	struct buf line = BUF_INIT;

	buf_add_str(&line, session->event == SESSION_OPAQUE ? "NOT READ from here on"
							    : session_event_name(session->event));
	if (session->event == SESSION_OPENED || session->event == SESSION_CHANGED) {
		add_field(&line, ": ", session->user);
		add_field(&line, "@", session->client);
		add_field(&line, ", database ", session->database);
	}
	add_field(&line, ": ", session->reason);
	finish(out, &line, columns);
}

void describe_txn(struct buf *out, const struct record_txn *txn, size_t columns)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "T%" PRIu64, txn->txn);
	switch ((enum txn_event)txn->event) {
	case TXN_BEGIN:
		buf_printf(&line, " %s%s%s", txn_level_short(txn->level),
			txn->read_only ? " read only" : "",
			txn->consistent_snapshot ? " snapshot" : "");
		add_field(&line, " ", txn->name);
		break;
	case TXN_END:
		if (txn->outcome == TXN_COMMITTED)
			buf_add_str(&line, " committed");
		else if (txn->outcome == TXN_ABORTED)
			buf_add_str(&line, " rolled back");
		else
			buf_add_str(&line, " OUTCOME UNKNOWN");
		if (!span_eq_str(txn->reason, "commit") && !span_eq_str(txn->reason, "rollback"))
			add_field(&line, ": ", txn->reason);
		add_field(&line, ", GTID ", txn->gtid);
		break;
	case TXN_SAVEPOINT:
		add_field(&line, " savepoint ", txn->name);
		break;
	case TXN_ROLLBACK_TO:
		add_field(&line, " rolled back to ", txn->name);
		break;
	case TXN_RELEASE:
		add_field(&line, " released ", txn->name);
		break;
	}
	finish(out, &line, columns);
}

static void add_table(struct buf *line, const struct names *names, uint32_t number)
{
	const struct names_table *table = names_table(names, number);

	if (!table) {
		buf_printf(line, "table %" PRIu32, number);
		return;
	}
	add_field(line, "", table->database_ref);
	add_field(line, ".", table->name_ref);
}

/* Rows of a probe, or of the binary log. */
static void add_probe_rows(struct buf *line, struct span rows)
{
	struct mp mp = mp_over(rows);
	uint32_t count = rows.ptr ? mp_array(&mp) : 0;

	buf_printf(line, ": %s", count ? "" : "no rows");
	for (uint32_t i = 0; i < count && line->len < 4096; i++) {
		struct probe_row row;

		if (!probe_row_read(&mp, &row))
			break;
		if (i)
			buf_add_char(line, ' ');
		if (row.op != PROBE_OP_NONE)
			buf_printf(line, "%s ", probe_op_name((uint8_t)row.op));
		add_object(line, row.key);
		buf_add_char(line, '@');
		add_object(line, row.version);
		if (row.has_previous) {
			buf_add_str(line, "<-");
			add_object(line, row.previous);
		}
	}
}

void describe_probe(struct buf *out, const struct names *names, const struct record_probe *probe,
	size_t columns)
{
	struct buf line = BUF_INIT;

	buf_printf(&line, "probe %s %s #%" PRIu32 " ", probe_kind_name(probe->probe),
		probe->exact ? "exact" : "inexact", probe->number);
	add_table(&line, names, probe->table);
	if (probe->read_kind != PROBE_READ_UNKNOWN)
		buf_printf(&line, " (%s)", probe_read_kind_name(probe->read_kind));
	add_field(&line, " where ", probe->predicate);
	add_probe_rows(&line, probe->rows);
	finish(out, &line, columns);
}

void describe_logged(struct buf *out, const struct names *names, const struct record_logged *logged,
	size_t columns)
{
	static const char *const ends[] = {"committed", "rolled back", "prepared"};
	struct buf line = BUF_INIT;

	buf_add_str(&line, "logged");
	add_field(&line, " on ", logged->node);
	add_field(&line, " ", logged->gtid);
	if (logged->event == LOGGED_ROWS) {
		buf_printf(&line, " statement %" PRIu32 " %s", logged->group + 1, logged->exact ? "" : "inexact ");
		add_table(&line, names, logged->table);
		add_probe_rows(&line, logged->rows);
	} else {
		add_field(&line, ": ", span_str(ends[logged->end <= LOGGED_PREPARED ? logged->end : LOGGED_PREPARED]));
	}
	add_field(&line, ": ", logged->text);
	finish(out, &line, columns);
}

void describe_server(struct buf *out, const struct record_server *server, size_t columns)
{
	struct buf line = BUF_INIT;

	buf_add_str(&line, "server");
	add_field(&line, " ", server->node);
	add_field(&line, ": ", server->version);
	add_field(&line, ", ", server->flavour);
	add_field(&line, " at ", server->address);
	finish(out, &line, columns);
}

void describe_schema(struct buf *out, const struct record_schema *schema, size_t columns)
{
	struct buf line = BUF_INIT;
	struct mp mp = mp_over(schema->columns);
	uint32_t count = schema->columns.ptr ? mp_array(&mp) : 0;

	buf_add_str(&line, "table ");
	add_field(&line, "", schema->database);
	add_field(&line, schema->database.len ? "." : "", schema->name);
	add_field(&line, " on ", schema->node);
	for (uint32_t i = 0; i < count && !mp.bad && line.len < 4096; i++) {
		uint32_t fields = mp_array(&mp);

		buf_add_str(&line, i ? ", " : " (");
		if (fields > 0)
			add_field(&line, "", mp_bytes(&mp));
		if (fields > 1)
			add_field(&line, " ", mp_bytes(&mp));
		if (!record_skip_fields(&mp, fields > 2 ? fields - 2 : 0))
			break;
	}
	buf_add_str(&line, count ? ")" : "");
	finish(out, &line, columns);
}

void describe_table_rows(
	struct buf *out, const struct names *names, const struct record_rows *rows, size_t columns)
{
	struct buf line = BUF_INIT, values = BUF_INIT;
	struct mp mp = mp_over(rows->rows);
	uint32_t count = rows->rows.ptr ? mp_array(&mp) : 0;

	add_field(&line, "", rows->moment);
	buf_add_str(&line, " rows of ");
	add_table(&line, names, rows->table);
	add_field(&line, " on ", rows->node);
	if (rows->part || !rows->last)
		buf_printf(&line, " (part %" PRIu32 ")", rows->part + 1);
	if (rows->last && !rows->complete)
		buf_add_str(&line, " (NOT COMPLETE)");
	buf_add_str(&line, ": ");
	if (describe_rows(&values, rows->rows, 1000) < count)
		buf_printf(&values, " " ELLIPSIS " %" PRIu32 " rows", count);
	buf_add_str(&line, values.len ? values.data : "none");
	buf_release(&values);
	finish(out, &line, columns);
}

void describe_cluster(struct buf *out, const struct record_cluster *cluster, size_t columns)
{
	struct buf line = BUF_INIT;

	buf_add_str(&line, "cluster");
	add_field(&line, " ", cluster->node);
	add_field(&line, ": ", cluster->what);
	add_field(&line, ": ", cluster->detail);
	if (cluster->begin && cluster->at > cluster->begin) {
		buf_add_str(&line, " (took ");
		text_add_duration(&line, cluster->at - cluster->begin);
		buf_add_char(&line, ')');
	}
	finish(out, &line, columns);
}

void describe_program(struct buf *out, const struct record_program *program, size_t columns)
{
	static const char *const words[] = {"program ", "trigger ", "function ", "procedure ",
						"view "};
	struct buf line = BUF_INIT;

	buf_add_str(&line, words[program->type <= PROGRAM_VIEW ? program->type : 0]);
	add_field(&line, "", program->database);
	add_field(&line, program->database.len ? "." : "", program->name);
	add_field(&line, " on ", program->node);
	add_field(&line, ": ", program->create_text);
	finish(out, &line, columns);
}

void describe_note(struct buf *out, const struct record_note *note, size_t columns)
{
	struct buf line = BUF_INIT;

	buf_add_str(&line, "note");
	add_field(&line, " by ", note->source);
	add_field(&line, ", ", note->topic);
	add_field(&line, ": ", note->text);
	finish(out, &line, columns);
}

void describe_gap(struct buf *out, const struct record_gap *gap, size_t columns)
{
	struct buf line = BUF_INIT;

	buf_add_str(&line, gap->records ? "GAP: " : "gap: ");
	if (gap->records) {
		text_add_counted(&line, gap->records, "record", "records");
		buf_add_str(&line, " lost");
	} else {
		buf_add_str(&line, "nothing lost");
	}
	add_field(&line, ", ", gap->reason);
	add_field(&line, ": ", gap->detail);
	finish(out, &line, columns);
}
