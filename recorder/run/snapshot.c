/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/snapshot.h"

#include <stdlib.h>

#include "base/mem.h"
#include "binlog/beside.h"
#include "db/answer.h"
#include "db/query.h"
#include "db/row.h"
#include "db/stored_programs.h"
#include "db/table_schema.h"
#include "db/variables.h"
#include "instrument/row_sql.h"
#include "instrument/row_values.h"
#include "server/flavour.h"
#include "sql/sql.h"
#include "trace/pack.h"

static bool ask(struct snapshot *s, const char *sql, MYSQL_RES **out, struct err *err)
{
	*out = NULL;
	if (db_send(s->control, sql) == 0)
		*out = db_result(s->control);
	if (!*out)
		return err_set(err, ERR_SERVER, "%s: %s", sql, mysql_error(s->control));
	return true;
}

bool snapshot_server(struct snapshot *s, struct err *err)
{
	const char *version = mysql_get_server_info(s->control);
	struct record_server record = {
		.node = span_str(s->node),
		.address = span_str(s->address),
		.version = span_str(version),
		.flavour = span_str(
			server_flavour_name(server_release_of(span_str(version)).flavour)),
	};
	struct buf pairs = BUF_INIT, map = BUF_INIT;
	msgpack_packer pk = pack_into(&pairs);
	MYSQL_RES *result;
	MYSQL_ROW row;
	uint32_t count = 0;

	if (!ask(s, "show global variables", &result, err))
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		if (!row[0] || !row[1] || !variable_is_recorded(span_str(row[0])))
			continue;
		pack_str(&pk, span_str(row[0]));
		pack_str(&pk, span_str(row[1]));
		if (strcmp(row[0], "version") == 0)
			record.version = span_str(row[1]);
		count++;
	}
	count += variables_pack_login(s->control, &pk);
	count += programs_add_events(s->control, s->database, &pairs);
	if (s->instrument)
		count += instrument_add_variables(s->instrument, &pairs);
	/* The database is the run's own: no other session writes. */
	if (s->logged)
		count += binlog_beside_variables(&pairs, true);
	pk = pack_into(&map);
	msgpack_pack_map(&pk, count);
	buf_add_span(&map, buf_span(&pairs));
	record.variables = buf_span(&map);
	trace_emit_server(s->producer, &record);
	mysql_free_result(result);
	buf_release(&pairs);
	buf_release(&map);
	return true;
}

/* ---- schema ---- */

/* A prepared table; its version column is no part of the table that the trace tells of. */
static const struct instrument_table *instrumented(const struct snapshot *s, const char *table)
{
	return s->instrument ? instrument_tables_find(
				       s->instrument, span_str(s->database), span_str(table))
			     : NULL;
}

static bool emit_schema(struct snapshot *s, uint32_t number, struct err *err)
{
	const char *table = s->tables[number];
	bool prepared = instrumented(s, table) != NULL;
	struct table_schema schema = {0};
	struct record_schema record = {.table = number,
		.node = span_str(s->node),
		.database = span_str(s->database),
		.name = span_str(table)};
	bool ok = table_schema_read(
		s->control, span_str(s->database), span_str(table), prepared, &schema, err);

	if (ok) {
		table_schema_fill(&schema, &record);
		trace_emit_schema(s->producer, &record);
	}
	table_schema_release(&schema);
	return ok;
}

static bool is_scenarios(const void *ctx, struct span database)
{
	const struct snapshot *s = ctx;

	return span_eq_str(database, s->database);
}

/* Definitions and rows as they are; the scenario's setup may have set the time zone. */
bool snapshot_session(struct snapshot *s, struct err *err)
{
	static const char sql[] = "set session " OWN_READING ", time_zone = @@global.time_zone";

	return (db_send(s->control, sql) == 0 && mysql_set_character_set(s->control, "utf8mb4") == 0) ||
	       err_set(err, ERR_SERVER, "%s: %s", sql, mysql_error(s->control));
}

bool snapshot_schema(struct snapshot *s, struct err *err)
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool ok;

	if (!snapshot_session(s, err))
		return false;

	buf_add_str(&sql, "select table_name from information_schema.tables where "
			  "table_type = 'BASE TABLE' and table_schema = ");
	query_add_quoted(&sql, s->control, span_str(s->database));
	buf_add_str(&sql, " order by binary table_name");
	ok = ask(s, sql.data, &result, err);
	buf_release(&sql);
	if (!ok)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL && s->table_count < SNAPSHOT_TABLES_MAX) {
		MEM_RESERVE(s->tables, s->table_count + 1, s->table_capacity);
		s->tables[s->table_count++] = mem_strdup(row[0]);
	}
	mysql_free_result(result);
	for (size_t i = 0; i < s->table_count; i++)
		if (!emit_schema(s, (uint32_t)i, err))
			return false;
	programs_emit(s->control, s->producer, NULL, s->node, is_scenarios, s);
	return true;
}

/* ---- rows ---- */

static bool order_by(struct snapshot *s, const char *table, struct buf *sql, struct err *err)
{
	struct table_schema schema = {0};
	bool ok = table_schema_read_keys(s->control, span_str(s->database), span_str(table),
		instrumented(s, table) != NULL, &schema, err);

	if (ok && schema.primary_names.len)
		buf_printf(sql, " order by %s", schema.primary_names.data);
	table_schema_release(&schema);
	return ok;
}

/* What SHOW CREATE TABLE prints; the result holds it, NULL: it cannot be read. */
static MYSQL_RES *read_definition(struct snapshot *s, struct span name, struct span *out)
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;
	struct err err;

	*out = SPAN_NONE;
	if (!s->definitions)
		return NULL;
	buf_printf(&sql, "show create table %.*s", SPAN_ARG(name));
	if (!ask(s, sql.data, &result, &err))
		result = NULL;
	row = result ? mysql_fetch_row(result) : NULL;
	if (row)
		*out = answer_field(result, row, 1);
	buf_release(&sql);
	return result;
}

/* The names of the result's columns. */
static void pack_columns(MYSQL_RES *result, struct buf *out)
{
	msgpack_packer pk = pack_into(out);
	unsigned count = mysql_num_fields(result);
	const MYSQL_FIELD *fields = mysql_fetch_fields(result);

	msgpack_pack_array(&pk, count);
	for (unsigned i = 0; i < count; i++)
		pack_str(&pk, span_of(fields[i].name, fields[i].name_length));
}

/* table: a prepared one, whose version is the last column. */
static void emit_rows(struct snapshot *s, uint32_t number, const char *moment, MYSQL_RES *result,
	const struct instrument_table *table, struct span definition)
{
	struct buf columns = BUF_INIT;
	bool versioned = table != NULL;
	/* Rows changed without triggers: their versions prove nothing. */
	bool unknown = table && strcmp(moment, "final") == 0 && !instrument_table_exact(table);
	unsigned version_at = mysql_num_fields(result) - 1;
	struct buf versions = BUF_INIT, version_part = BUF_INIT;
	struct record_rows record = {
		.table = number, .node = span_str(s->node), .moment = span_str(moment)};
	struct row_packer packer;
	struct buf rows = BUF_INIT, part = BUF_INIT;
	uint64_t left = mysql_num_rows(result), kept = 0;
	uint32_t count = 0;
	MYSQL_ROW row;

	if (s->definitions) {
		pack_columns(result, &columns);
		record.columns = buf_span(&columns);
	}
	row_packer_init(&packer, result);
	if (versioned)
		packer.columns.count--;
	do {
		row = left && kept < s->rows_max ? mysql_fetch_row(result) : NULL;
		if (row && row_pack(&packer, row, mysql_fetch_lengths(result), &rows, &s->limits)) {
			left--;
			kept++;
			count++;
			if (versioned &&
				!instrument_pack_version(&versions, span_str(row[version_at])))
				buf_add_char(&versions, (char)0xc0); /* nil: no version */
		} else {
			row = NULL;
		}
		if (!row || rows.len >= CAPTURE_PART_SIZE) {
			msgpack_packer pk;

			buf_clear(&part);
			pk = pack_into(&part);
			msgpack_pack_array(&pk, count);
			buf_add_span(&part, buf_span(&rows));
			record.rows = buf_span(&part);
			if (versioned && !unknown) {
				buf_clear(&version_part);
				pk = pack_into(&version_part);
				msgpack_pack_array(&pk, count);
				buf_add_span(&version_part, buf_span(&versions));
				record.versions = buf_span(&version_part);
				buf_clear(&versions);
			}
			record.last = !row;
			record.complete = !row && !left && !(unknown && !kept);
			record.definition = row ? SPAN_NONE : definition;
			trace_emit_rows(s->producer, &record);
			record.part++;
			count = 0;
			buf_clear(&rows);
		}
	} while (row);
	row_packer_release(&packer);
	buf_release(&columns);
	buf_release(&rows);
	buf_release(&part);
	buf_release(&versions);
	buf_release(&version_part);
}

bool snapshot_rows(struct snapshot *s, const char *moment, struct err *err)
{
	for (size_t i = 0; i < s->table_count; i++) {
		struct buf sql = BUF_INIT, name = BUF_INIT;
		MYSQL_RES *result, *defined;
		struct span definition;
		bool ok;

		sql_print_name(span_str(s->database), &name);
		buf_add_char(&name, '.');
		sql_print_name(span_str(s->tables[i]), &name);
		instrument_add_select(&sql, s->control, instrumented(s, s->tables[i]), buf_span(&name));
		defined = read_definition(s, buf_span(&name), &definition);
		buf_release(&name);
		ok = order_by(s, s->tables[i], &sql, err) && ask(s, sql.data, &result, err);
		buf_release(&sql);
		if (ok)
			emit_rows(s, (uint32_t)i, moment, result, instrumented(s, s->tables[i]), definition);
		mysql_free_result(defined);
		if (!ok && instrument_table_gone(mysql_errno(s->control)))
			continue;
		if (!ok)
			return false;
		mysql_free_result(result);
	}
	return true;
}

void snapshot_release(struct snapshot *s)
{
	for (size_t i = 0; i < s->table_count; i++)
		mem_free(s->tables[i]);
	mem_free(s->tables);
	s->tables = NULL;
	s->table_count = s->table_capacity = 0;
}
