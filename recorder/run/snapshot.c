/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/snapshot.h"

#include <stdlib.h>

#include "base/mem.h"
#include "db/answer.h"
#include "db/row.h"
#include "db/stored_programs.h"
#include "db/variables.h"
#include "instrument/row_sql.h"
#include "instrument/row_values.h"
#include "server/flavour.h"
#include "sql/sql.h"
#include "trace/pack.h"

static bool ask(struct snapshot *s, const char *sql, MYSQL_RES **out, struct err *err)
{
	*out = NULL;
	if (mysql_query(s->control, sql) == 0)
		*out = mysql_store_result(s->control);
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

struct schema_text {
	struct buf columns, primary_key, keys, foreign_keys, create, triggers;
	char **names; /* of the columns */
	size_t name_count, name_capacity;
};

static void schema_text_release(struct schema_text *t)
{
	for (size_t i = 0; i < t->name_count; i++)
		free(t->names[i]);
	free(t->names);
	buf_release(&t->columns);
	buf_release(&t->primary_key);
	buf_release(&t->keys);
	buf_release(&t->foreign_keys);
	buf_release(&t->create);
	buf_release(&t->triggers);
}

static void pack_text(msgpack_packer *pk, const char *text)
{
	pack_str(pk, text ? span_str(text) : SPAN_NONE);
}

static void add_where(struct snapshot *s, struct buf *sql, const char *prefix, const char *table)
{
	buf_printf(sql, " where %stable_schema = ", prefix);
	query_add_quoted(sql, s->control, span_str(s->database));
	buf_printf(sql, " and %stable_name = ", prefix);
	query_add_quoted(sql, s->control, span_str(table));
}

/* A prepared table; its version column is no part of the table that the trace tells of. */
static const struct instrument_table *instrumented(const struct snapshot *s, const char *table)
{
	return s->instrument ? instrument_tables_find(
				       s->instrument, span_str(s->database), span_str(table))
			     : NULL;
}

static bool read_columns(
	struct snapshot *s, const char *table, struct schema_text *out, struct err *err)
{
	struct buf sql = BUF_INIT;
	msgpack_packer pk = pack_into(&out->columns);
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool ok;

	buf_add_str(&sql, "select column_name, column_type, is_nullable, collation_name, "
			  "column_default, extra from information_schema.columns");
	add_where(s, &sql, "", table);
	buf_add_str(&sql, " order by ordinal_position");
	ok = ask(s, sql.data, &result, err);
	buf_release(&sql);
	if (!ok)
		return false;
	msgpack_pack_array(
		&pk, (uint32_t)mysql_num_rows(result) - (instrumented(s, table) != NULL));
	while ((row = mysql_fetch_row(result)) != NULL) {
		bool generated = row[5] && strcasestr(row[5], "GENERATED") &&
				 !strcasestr(row[5], "DEFAULT_GENERATED");

		if (instrumented(s, table) && strcmp(row[0], VERSION_COLUMN) == 0)
			continue;
		msgpack_pack_array(&pk, 7);
		pack_text(&pk, row[0]);
		pack_text(&pk, row[1]);
		pack_bool(&pk, row[2] && strcasecmp(row[2], "YES") == 0);
		pack_text(&pk, row[3]);
		pack_text(&pk, row[4]);
		pack_text(&pk, generated ? row[5] : NULL);
		pack_text(&pk, row[5] ? row[5] : "");
		MEM_RESERVE(out->names, out->name_count + 1, out->name_capacity);
		out->names[out->name_count++] = mem_strdup(row[0] ? row[0] : "");
	}
	mysql_free_result(result);
	return true;
}

static uint32_t column_index(const struct schema_text *t, const char *name)
{
	for (size_t i = 0; i < t->name_count; i++)
		if (name && strcasecmp(t->names[i], name) == 0)
			return (uint32_t)i;
	return UINT32_MAX;
}

/* One key: rows [first, end) of the result (index_name, non_unique, column_name). */
static void pack_key(msgpack_packer *pk, MYSQL_RES *result, uint64_t first, uint64_t end,
	const struct schema_text *t, bool named)
{
	MYSQL_ROW row;

	mysql_data_seek(result, first);
	row = mysql_fetch_row(result);
	if (named) {
		msgpack_pack_array(pk, 3);
		pack_text(pk, row[0]);
		pack_bool(pk, row[1] && row[1][0] == '0');
	}
	msgpack_pack_array(pk, (uint32_t)(end - first));
	for (uint64_t i = first; i < end; i++) {
		pack_uint(pk, column_index(t, row[2]));
		row = i + 1 < end ? mysql_fetch_row(result) : NULL;
	}
}

static bool read_keys(
	struct snapshot *s, const char *table, struct schema_text *out, struct err *err)
{
	struct buf sql = BUF_INIT, keys = BUF_INIT;
	msgpack_packer pk = pack_into(&keys), primary = pack_into(&out->primary_key);
	uint64_t first = 0, rows;
	uint32_t count = 0;
	MYSQL_RES *result;
	bool ok;

	buf_add_str(&sql, "select index_name, non_unique, column_name from "
			  "information_schema.statistics");
	add_where(s, &sql, "", table);
	buf_add_str(&sql, " order by index_name, seq_in_index");
	ok = ask(s, sql.data, &result, err);
	buf_release(&sql);
	if (!ok)
		return false;
	rows = mysql_num_rows(result);
	while (first < rows) {
		uint64_t end = first + 1;
		char *name;

		mysql_data_seek(result, first);
		name = mem_strdup(mysql_fetch_row(result)[0]);
		while (end < rows && strcmp(mysql_fetch_row(result)[0], name) == 0)
			end++;
		if (strcmp(name, "PRIMARY") == 0) {
			pack_key(&primary, result, first, end, out, false);
		} else {
			pack_key(&pk, result, first, end, out, true);
			count++;
		}
		free(name);
		first = end;
	}
	mysql_free_result(result);
	pk = pack_into(&out->keys);
	msgpack_pack_array(&pk, count);
	buf_add_span(&out->keys, buf_span(&keys));
	buf_release(&keys);
	return true;
}

static bool read_foreign_keys(
	struct snapshot *s, const char *table, struct schema_text *out, struct err *err)
{
	struct buf sql = BUF_INIT, keys = BUF_INIT;
	msgpack_packer pk = pack_into(&keys);
	uint32_t count = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool ok;

	/* One row a column; all columns of a key in two lists, as names cannot hold a newline. */
	buf_add_str(&sql,
		"select k.constraint_name, group_concat(k.column_name order by "
		"k.ordinal_position separator '\\n'), max(k.referenced_table_schema), "
		"max(k.referenced_table_name), group_concat(k.referenced_column_name order by "
		"k.ordinal_position separator '\\n'), max(r.delete_rule), max(r.update_rule) "
		"from information_schema.key_column_usage k join "
		"information_schema.referential_constraints r on "
		"r.constraint_schema = k.constraint_schema and "
		"r.constraint_name = k.constraint_name and r.table_name = k.table_name");
	add_where(s, &sql, "k.", table);
	buf_add_str(&sql, " and k.referenced_table_name is not null group by k.constraint_name");
	ok = ask(s, sql.data, &result, err);
	buf_release(&sql);
	if (!ok)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		uint32_t columns = 1;

		for (const char *at = row[1]; (at = strchr(at, '\n')) != NULL; at++)
			columns++;
		msgpack_pack_array(&pk, 7);
		pack_text(&pk, row[0]);
		msgpack_pack_array(&pk, columns);
		for (char *next = row[1], *name; (name = strsep(&next, "\n")) != NULL;)
			pack_uint(&pk, column_index(out, name));
		pack_text(&pk, row[2]);
		pack_text(&pk, row[3]);
		msgpack_pack_array(&pk, columns);
		for (char *next = row[4], *name; (name = strsep(&next, "\n")) != NULL;)
			pack_text(&pk, name);
		pack_text(&pk, row[5]);
		pack_text(&pk, row[6]);
		count++;
	}
	mysql_free_result(result);
	pk = pack_into(&out->foreign_keys);
	msgpack_pack_array(&pk, count);
	buf_add_span(&out->foreign_keys, buf_span(&keys));
	buf_release(&keys);
	return true;
}

static bool read_create(
	struct snapshot *s, const char *table, struct schema_text *out, struct err *err)
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool ok;

	buf_add_str(&sql, "show create table ");
	sql_print_name(span_str(s->database), &sql);
	buf_add_char(&sql, '.');
	sql_print_name(span_str(table), &sql);
	ok = ask(s, sql.data, &result, err);
	buf_release(&sql);
	if (!ok)
		return false;
	row = mysql_fetch_row(result);
	if (row && row[1] && instrumented(s, table))
		instrument_add_create(&out->create, span_str(row[1]));
	else if (row && row[1])
		buf_add_str(&out->create, row[1]);
	mysql_free_result(result);
	return true;
}

/* Left empty (nil) where the server does not say. */
static void read_triggers(struct snapshot *s, const char *table, struct schema_text *out)
{
	struct buf sql = BUF_INIT;
	msgpack_packer pk = pack_into(&out->triggers);
	struct err ignored;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql, "select trigger_name, action_timing, event_manipulation from "
			  "information_schema.triggers where left(trigger_name, 7) <> "
			  "'" TRIGGER_PREFIX "' and event_object_schema = ");
	query_add_quoted(&sql, s->control, span_str(s->database));
	buf_add_str(&sql, " and event_object_table = ");
	query_add_quoted(&sql, s->control, span_str(table));
	buf_add_str(&sql, " order by trigger_name");
	if (ask(s, sql.data, &result, &ignored)) {
		msgpack_pack_array(&pk, (uint32_t)mysql_num_rows(result));
		while ((row = mysql_fetch_row(result)) != NULL) {
			msgpack_pack_array(&pk, 3);
			for (unsigned i = 0; i < 3; i++)
				pack_text(&pk, row[i]);
		}
		mysql_free_result(result);
	}
	buf_release(&sql);
}

static bool emit_schema(struct snapshot *s, uint32_t number, struct err *err)
{
	const char *table = s->tables[number], *partitions;
	struct schema_text text = {0};
	struct record_schema record = {.table = number,
		.node = span_str(s->node),
		.database = span_str(s->database),
		.name = span_str(table)};
	bool ok = read_columns(s, table, &text, err) && read_keys(s, table, &text, err) &&
		  read_foreign_keys(s, table, &text, err) && read_create(s, table, &text, err);

	if (ok) {
		read_triggers(s, table, &text);
		record.triggers = text.triggers.len ? buf_span(&text.triggers) : SPAN_NONE;
		record.columns = buf_span(&text.columns);
		record.primary_key = text.primary_key.len ? buf_span(&text.primary_key) : SPAN_NONE;
		record.keys = buf_span(&text.keys);
		record.foreign_keys = buf_span(&text.foreign_keys);
		record.create_text = buf_span(&text.create);
		partitions = text.create.data ? strstr(text.create.data, "PARTITION BY") : NULL;
		record.partitions = partitions ? span_str(partitions) : SPAN_NONE;
		trace_emit_schema(s->producer, &record);
	}
	schema_text_release(&text);
	return ok;
}

static bool is_scenarios(const void *ctx, struct span database)
{
	const struct snapshot *s = ctx;

	return span_eq_str(database, s->database);
}

/* Definitions and rows as they are; the scenario's setup may have set the time zone. */
static bool set_session(struct snapshot *s, struct err *err)
{
	static const char sql[] = "set session " OWN_READING ", time_zone = @@global.time_zone";

	return (mysql_query(s->control, sql) == 0 && mysql_set_character_set(s->control, "utf8mb4") == 0) ||
	       err_set(err, ERR_SERVER, "%s: %s", sql, mysql_error(s->control));
}

bool snapshot_schema(struct snapshot *s, struct err *err)
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool ok;

	if (!set_session(s, err))
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
	struct schema_text text = {0};
	bool ok = read_columns(s, table, &text, err) && read_keys(s, table, &text, err);

	if (ok && text.primary_key.len) {
		struct mp mp = mp_over(buf_span(&text.primary_key));
		uint32_t count = mp_array(&mp);

		for (uint32_t i = 0; i < count; i++) {
			uint64_t column = mp_uint(&mp);

			buf_add_str(sql, i ? ", " : " order by ");
			if (column < text.name_count)
				sql_print_name(span_str(text.names[column]), sql);
		}
	}
	schema_text_release(&text);
	return ok;
}

/* table: a prepared one, whose version is the last column. */
static void emit_rows(struct snapshot *s, uint32_t number, const char *moment, MYSQL_RES *result,
	const struct instrument_table *table)
{
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
			trace_emit_rows(s->producer, &record);
			record.part++;
			count = 0;
			buf_clear(&rows);
		}
	} while (row);
	row_packer_release(&packer);
	buf_release(&rows);
	buf_release(&part);
	buf_release(&versions);
	buf_release(&version_part);
}

bool snapshot_rows(struct snapshot *s, const char *moment, struct err *err)
{
	for (size_t i = 0; i < s->table_count; i++) {
		struct buf sql = BUF_INIT, name = BUF_INIT;
		MYSQL_RES *result;
		bool ok;

		sql_print_name(span_str(s->database), &name);
		buf_add_char(&name, '.');
		sql_print_name(span_str(s->tables[i]), &name);
		instrument_add_select(&sql, s->control, instrumented(s, s->tables[i]), buf_span(&name));
		buf_release(&name);
		ok = order_by(s, s->tables[i], &sql, err) && ask(s, sql.data, &result, err);
		buf_release(&sql);
		if (!ok && instrument_table_gone(mysql_errno(s->control)))
			continue;
		if (!ok)
			return false;
		emit_rows(s, (uint32_t)i, moment, result, instrumented(s, s->tables[i]));
		mysql_free_result(result);
	}
	return true;
}

void snapshot_release(struct snapshot *s)
{
	for (size_t i = 0; i < s->table_count; i++)
		free(s->tables[i]);
	free(s->tables);
	s->tables = NULL;
	s->table_count = s->table_capacity = 0;
}
