/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "capture/look.h"
#include "instrument/tag.h"
#include "sql/sql.h"
#include "trace/writer.h"

static struct span column(MYSQL_RES *result, MYSQL_ROW row, unsigned at)
{
	return row[at] ? span_of(row[at], mysql_fetch_lengths(result)[at]) : SPAN_NONE;
}

static MYSQL_RES *ask(MYSQL *db, const char *sql)
{
	return mysql_query(db, sql) == 0 ? mysql_store_result(db) : NULL;
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

void programs_emit(MYSQL *db, struct trace_producer *producer, struct trace_writer *writer,
	const char *node, programs_wanted *wanted, const void *ctx)
{
	static const char sql[] =
		"select 'TRIGGER', trigger_schema, trigger_name, event_object_table, action_order "
		"from "
		"information_schema.triggers where left(trigger_name, 7) <> '" TRIGGER_PREFIX
		"' union all "
		"select routine_type, routine_schema, routine_name, null, 0 from "
		"information_schema.routines where routine_type in ('FUNCTION', 'PROCEDURE')";
	MYSQL_RES *list = ask(db, sql);
	size_t count = 0;
	MYSQL_ROW row;

	while (list && (row = mysql_fetch_row(list)) && count < PROGRAMS_MAX) {
		struct record_program record = {.node = span_str(node),
			.database = column(list, row, 1),
			.name = column(list, row, 2),
			.table = column(list, row, 3),
			.position = row[4] ? (uint32_t)strtoul(row[4], NULL, 10) : 0};
		struct buf show = BUF_INIT;
		MYSQL_RES *result;
		MYSQL_ROW shown;

		if (!wanted(ctx, record.database))
			continue;
		record.type = row[0][0] == 'T'   ? PROGRAM_TRIGGER
			      : row[0][0] == 'F' ? PROGRAM_FUNCTION
						 : PROGRAM_PROCEDURE;
		buf_printf(&show, "show create %s ", row[0]);
		sql_print_name(record.database, &show);
		buf_add_char(&show, '.');
		sql_print_name(record.name, &show);
		result = ask(db, show.data);
		shown = result && mysql_num_fields(result) >= 6 ? mysql_fetch_row(result) : NULL;
		/* A text with a password is not one to keep. */
		if (shown && !look_may_hold_password(column(result, shown, 2))) {
			record.sql_mode = column(result, shown, 1);
			record.create_text = column(result, shown, 2);
			record.charset = column(result, shown, 3);
			record.collation = column(result, shown, 4);
			record.database_collation = column(result, shown, 5);
		}
		emit(producer, writer, &record);
		mysql_free_result(result);
		buf_release(&show);
		count++;
	}
	mysql_free_result(list);
}
