/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/stored_programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "db/answer.h"
#include "db/own_objects.h"
#include "db/query.h"
#include "sql/sql.h"
#include "sql/text/stmt_classify.h"
#include "trace/pack.h"
#include "trace/writer.h"

static MYSQL_RES *ask(MYSQL *db, const char *sql)
{
	return db_send(db, sql) == 0 ? db_result(db) : NULL;
}

static void emit(
	struct trace_producer *producer, struct trace_writer *writer, struct record_program *record)
{
	struct buf key = BUF_INIT, packed = BUF_INIT;

	trace_emit_program(producer, record);
	if (writer) {
		buf_printf(&key, "program %u %.*s.%.*s", record->type, SPAN_ARG(record->database),
			SPAN_ARG(record->name));
		record_program_pack(&packed, record);
		trace_context_set(writer, buf_span(&key), buf_span(&packed));
	}
	buf_release(&key);
	buf_release(&packed);
}

static void tell_cut(struct trace_producer *producer)
{
	struct record_note note = {
		.source = SPAN_LIT("recorder"), .topic = SPAN_LIT("programs cut")};
	struct buf text = BUF_INIT;

	buf_printf(&text,
		"the server has more than %d stored programs and views; the texts of the others are not "
		"recorded",
		PROGRAMS_MAX);
	note.text = buf_span(&text);
	trace_emit_note(producer, &note);
	buf_release(&text);
}

static bool names_accounts(struct span text)
{
	struct text_secrets secrets;
	struct buf masked = BUF_INIT;

	if (text_mask_passwords(text, (struct text_dialect){0}, false, &masked, &secrets))
		buf_release(&masked);
	return secrets.masked || secrets.accounts;
}

/* What SHOW CREATE answered: of a view without sql_mode and the database's collation.  A text with a password is not
 * one to keep. */
static void take_text(struct record_program *record, MYSQL_RES *result)
{
	bool view = record->type == PROGRAM_VIEW;
	unsigned text = view ? 1 : 2, fields = view ? 4 : 6;
	MYSQL_ROW shown = result && mysql_num_fields(result) >= fields ? mysql_fetch_row(result) : NULL;

	if (!shown || text_may_hold_password(answer_field(result, shown, text)) ||
		names_accounts(answer_field(result, shown, text)))
		return;
	record->create_text = answer_field(result, shown, text);
	record->charset = answer_field(result, shown, text + 1);
	record->collation = answer_field(result, shown, text + 2);
	if (view)
		return;
	record->sql_mode = answer_field(result, shown, 1);
	record->database_collation = answer_field(result, shown, 5);
}

void programs_emit(MYSQL *db, struct trace_producer *producer, struct trace_writer *writer,
	const char *node, programs_wanted *wanted, const void *ctx)
{
	static const char sql[] =
		"select 'TRIGGER', trigger_schema, trigger_name, event_object_table, action_order "
		"from "
		"information_schema.triggers where left(trigger_name, 7) <> '" TRIGGER_PREFIX
		"' union all "
		"select routine_type, routine_schema, routine_name, null, 0 from "
		"information_schema.routines where routine_type in ('FUNCTION', 'PROCEDURE') union all "
		"select 'VIEW', table_schema, table_name, null, 0 from information_schema.tables "
		"where table_type = 'VIEW'";
	MYSQL_RES *list = ask(db, sql);
	size_t count = 0;
	MYSQL_ROW row;

	while (list && (row = mysql_fetch_row(list))) {
		struct record_program record = {.node = span_str(node),
			.database = answer_field(list, row, 1),
			.name = answer_field(list, row, 2),
			.table = answer_field(list, row, 3),
			.position = row[4] ? (uint32_t)strtoul(row[4], NULL, 10) : 0};
		struct buf show = BUF_INIT;
		MYSQL_RES *result;

		if (!wanted(ctx, record.database))
			continue;
		if (count++ == PROGRAMS_MAX) {
			tell_cut(producer);
			break;
		}
		record.type = row[0][0] == 'T'   ? PROGRAM_TRIGGER
			      : row[0][0] == 'F' ? PROGRAM_FUNCTION
			      : row[0][0] == 'V' ? PROGRAM_VIEW
						 : PROGRAM_PROCEDURE;
		buf_printf(&show, "show create %s ", row[0]);
		sql_print_name(record.database, &show);
		buf_add_char(&show, '.');
		sql_print_name(record.name, &show);
		result = ask(db, show.data);
		take_text(&record, result);
		emit(producer, writer, &record);
		mysql_free_result(result);
		buf_release(&show);
	}
	mysql_free_result(list);
}

uint32_t programs_add_events(MYSQL *db, const char *database, struct buf *pairs)
{
	struct buf sql = BUF_INIT;
	msgpack_packer pk = pack_into(pairs);
	uint32_t added = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql, "select count(*) from information_schema.events where status = 'ENABLED'");
	if (database) {
		buf_add_str(&sql, " and event_schema = ");
		query_add_quoted(&sql, db, span_str(database));
	}
	result = ask(db, sql.data);
	row = result ? mysql_fetch_row(result) : NULL;
	if (row && row[0] && strcmp(row[0], "0") != 0) {
		pack_str(&pk, SPAN_LIT(EVENTS_VARIABLE));
		pack_str(&pk, span_str(row[0]));
		added = 1;
	}
	mysql_free_result(result);
	buf_release(&sql);
	return added;
}
