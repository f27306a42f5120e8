/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/server_context.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "db/answer.h"
#include "db/levels_in_programs.h"
#include "db/own_objects.h"
#include "db/stored_programs.h"
#include "db/variables.h"
#include "instrument/recorder_tag.h"
#include "instrument/row_sql.h"
#include "instrument/row_values.h"
#include "server/flavour.h"
#include "sql/sql.h"
#include "trace/pack.h"

void server_context_init(struct server_context *context, const struct server_context_options *options,
	struct trace_writer *writer, struct trace_producer *producer)
{
	*context = (struct server_context){.options = options, .writer = writer, .producer = producer};
}

void server_context_release(struct server_context *context)
{
	for (size_t i = 0; i < context->count; i++) {
		buf_release(&context->tables[i].database);
		buf_release(&context->tables[i].name);
		buf_release(&context->tables[i].columns);
	}
	free(context->tables);
	context->tables = NULL;
	context->count = context->capacity = 0;
}

/* ---- the connection ---- */

static MYSQL *connect_to(const struct server_context *context, const struct capture_node *node,
	const struct db_address *address, struct err *err)
{
	MYSQL *db = db_connect(&context->options->login, node->name, address, err);

	if (!db)
		return NULL;
	/* Lists of column names; MySQL's default is 1024 bytes. */
	if (mysql_query(db, "set session group_concat_max_len = 1000000")) {
		db_error(db, node->name, "cannot set group_concat_max_len", err);
		mysql_close(db);
		return NULL;
	}
	return db;
}

/* Runs a query of names: each %s is put in as a quoted string. */
static MYSQL_RES *ask(MYSQL *db, const struct capture_node *node, struct err *err, const char *sql,
	struct span a, struct span b)
{
	struct buf text = BUF_INIT;
	struct span values[2] = {a, b};
	unsigned next = 0;
	MYSQL_RES *result = NULL;

	for (const char *p = sql; *p; p++) {
		if (*p != '?') {
			buf_add_char(&text, *p);
			continue;
		}
		query_add_quoted(&text, db, values[next++ & 1]);
	}
	if (mysql_real_query(db, text.data, (unsigned long)text.len) == 0)
		result = mysql_store_result(db);
	if (!result)
		db_error(db, node->name, text.data, err);
	buf_release(&text);
	return result;
}

/* ---- variables ---- */

static void use_variable(struct capture_node *node, struct span name, struct span value)
{
	if (span_eq_str(name, "transaction_isolation") || span_eq_str(name, "tx_isolation")) {
		uint8_t level = text_level(value);

		atomic_store(&node->level, level <= LEVEL_SERIALIZABLE ? level : LEVEL_UNKNOWN);
	}
	if (span_eq_str(name, "init_connect") && text_hides_level(value))
		atomic_fetch_or(&node->hidden_levels, HIDDEN_FROM_START);
	if (span_eq_str(name, "innodb_rollback_on_timeout"))
		node->rollback_on_timeout = span_ieq_str(value, "on") || span_eq_str(value, "1");
}

static void note_hidden_levels(struct server_context *context, const struct capture_node *node)
{
	unsigned hidden = (unsigned)atomic_load(&node->hidden_levels);
	struct record_note note = {
		.source = SPAN_LIT("recorder"), .topic = SPAN_LIT("levels not known")};
	struct buf text = BUF_INIT;

	if (!hidden)
		return;
	buf_printf(&text, "node %s: isolation levels may be set by%s%s%s", node->name,
		hidden & HIDDEN_FROM_START ? " init_connect or an event;" : "",
		hidden & HIDDEN_IN_CALLS ? " a procedure;" : "",
		hidden & HIDDEN_IN_ANY ? " a function or trigger;" : "");
	text.len--;
	note.text = buf_span(&text);
	trace_emit_note(context->producer, &note);
	buf_release(&text);
}

/* Keeps the connection: it holds the tag.  A server without user locks does no harm to what is
 * recorded, but the trace says it. */
static bool claim_tag(
	struct server_context *context, const struct capture_node *node, MYSQL *db, struct err *err)
{
	struct record_note note = {
		.source = SPAN_LIT("recorder"), .topic = SPAN_LIT("tag not claimed")};
	struct buf text = BUF_INIT;
	struct err why;

	switch (tag_claim(context->options->instrument, db, &why)) {
	case TAG_CLAIMED:
		return true;
	case TAG_FAILED:
		return err_set(err, why.code, "node %s: %s", node->name, why.text);
	case TAG_NOT_CLAIMED:
		break;
	}
	buf_printf(&text, "node %s: another recorder may give versions the same names: %s",
		node->name, why.text);
	note.text = buf_span(&text);
	trace_emit_note(context->producer, &note);
	buf_release(&text);
	return true;
}

bool server_context_server(struct server_context *context, struct capture_node *node,
	const struct db_address *address, struct err *err)
{
	MYSQL *db = connect_to(context, node, address, err);
	struct buf pairs = BUF_INIT, variables = BUF_INIT, version = BUF_INIT;
	msgpack_packer pk = pack_into(&pairs);
	MYSQL_RES *result;
	MYSQL_ROW row;
	uint32_t count = 0;
	bool ok = true;

	if (!db)
		return false;
	result = context->options->instrument &&
				 !instrument_tables_add_node(
					 context->options->instrument, db, node->name, err)
			 ? NULL
			 : ask(db, node, err, "show global variables", SPAN_NONE, SPAN_NONE);
	if (!result) {
		mysql_close(db);
		return false;
	}
	while ((row = mysql_fetch_row(result))) {
		struct span name = answer_field(result, row, 0), value = answer_field(result, row, 1);

		if (!name.ptr)
			continue;
		if (value.ptr)
			use_variable(node, name, value);
		if (!variable_is_recorded(name))
			continue;
		if (span_eq_str(name, "version") && value.ptr)
			buf_add_span(&version, value);
		pack_str(&pk, name);
		pack_str(&pk, value);
		count++;
	}
	mysql_free_result(result);
	count += variables_pack_login(db, &pk);
	atomic_fetch_or(&node->hidden_levels, hidden_levels_read(db));
	note_hidden_levels(context, node);
	count += programs_add_events(db, NULL, &pairs);
	if (!context->options->instrument)
		mysql_close(db);
	else if ((ok = claim_tag(context, node, db, err)))
		count += instrument_add_variables(context->options->instrument, &pairs);
	if (!ok)
		goto out;
	pk = pack_into(&variables);
	msgpack_pack_map(&pk, count);
	buf_add_span(&variables, buf_span(&pairs));
	enum server_flavour flavour = server_release_of(buf_span(&version)).flavour;
	struct record_server record = {
		.node = span_str(node->name),
		.version = buf_span(&version),
		.flavour = span_str(server_flavour_name(flavour)),
		.address = span_str(node->address),
		.variables = buf_span(&variables),
	};
	atomic_store(&node->flavour, (uint_fast8_t)flavour);
	atomic_store(&node->announced, true);
	trace_emit_server(context->producer, &record);
	struct buf key = BUF_INIT, packed = BUF_INIT;

	/* Later segments of the trace begin with it, and with the tables. */
	buf_printf(&key, "server %s", node->name);
	record_server_pack(&packed, &record);
	trace_context_set(context->writer, buf_span(&key), buf_span(&packed));
	buf_release(&key);
	buf_release(&packed);
out:
	buf_release(&pairs);
	buf_release(&variables);
	buf_release(&version);
	return ok;
}

/* ---- schema ---- */

struct columns {
	char **names;
	size_t count, capacity;
};

static uint32_t column_index(const struct columns *columns, struct span name)
{
	for (size_t i = 0; i < columns->count; i++)
		if (span_ieq_str(name, columns->names[i]))
			return (uint32_t)i;
	return UINT32_MAX;
}

/* A prepared table; its version column is no part of the table that the trace tells of. */
static struct instrument_table *instrumented(
	const struct server_context *context, const struct context_table *table)
{
	return context->options->instrument
		       ? instrument_tables_find(context->options->instrument,
				 buf_span(&table->database), buf_span(&table->name))
		       : NULL;
}

/* MySQL has the column from 5.7.6 on, MariaDB from 10.2.5; those before have no generated columns that it would tell of. */
static bool tells_generated(MYSQL *db)
{
	enum { MYSQL_SINCE = 50706, MARIADB_FIRST = 100000, MARIADB_SINCE = 100205 };
	unsigned long version = mysql_get_server_version(db);

	return version >= MARIADB_SINCE || (version >= MYSQL_SINCE && version < MARIADB_FIRST);
}

static bool read_columns(MYSQL *db, const struct capture_node *node,
	const struct context_table *table, bool versioned, struct columns *columns,
	struct buf *out, struct err *err)
{
	MYSQL_RES *result = ask(db, node, err,
		tells_generated(db)
			? "select column_name, column_type, is_nullable, collation_name, column_default, "
			  "generation_expression, extra from information_schema.columns "
			  "where table_schema = ? and table_name = ? order by ordinal_position"
			: "select column_name, column_type, is_nullable, collation_name, column_default, "
			  "null, extra from information_schema.columns "
			  "where table_schema = ? and table_name = ? order by ordinal_position",
		buf_span(&table->database), buf_span(&table->name));
	msgpack_packer pk = pack_into(out);
	MYSQL_ROW row;

	if (!result)
		return false;
	msgpack_pack_array(&pk, (size_t)mysql_num_rows(result) - versioned);
	while ((row = mysql_fetch_row(result))) {
		struct span generated = answer_field(result, row, 5);

		if (versioned && strcmp(row[0], VERSION_COLUMN) == 0)
			continue;

		MEM_RESERVE(columns->names, columns->count + 1, columns->capacity);
		columns->names[columns->count++] = mem_strdup(row[0]);
		msgpack_pack_array(&pk, 7);
		pack_str(&pk, answer_field(result, row, 0));
		pack_str(&pk, answer_field(result, row, 1));
		pack_bool(&pk, span_ieq_str(answer_field(result, row, 2), "yes"));
		pack_str(&pk, answer_field(result, row, 3));
		pack_str(&pk, answer_field(result, row, 4));
		pack_str(&pk, generated.len ? generated : SPAN_NONE);
		pack_str(&pk, answer_field(result, row, 6));
	}
	mysql_free_result(result);
	return true;
}

/* [[name, unique, [index, ...]], ...]; the primary key's columns go to `primary`. */
static bool read_keys(MYSQL *db, const struct capture_node *node, struct context_table *table,
	const struct columns *columns, struct buf *primary, struct buf *out, struct err *err)
{
	MYSQL_RES *result = ask(db, node, err,
		"select index_name, min(non_unique), group_concat(column_name order by "
		"seq_in_index "
		"separator '\\n') from information_schema.statistics where table_schema = ? and "
		"table_name = ? group by index_name order by index_name",
		buf_span(&table->database), buf_span(&table->name));
	msgpack_packer pk = pack_into(out);
	MYSQL_ROW row;

	if (!result)
		return false;
	msgpack_pack_array(&pk, (size_t)mysql_num_rows(result));
	while ((row = mysql_fetch_row(result))) {
		struct span names = answer_field(result, row, 2);
		bool is_primary = span_ieq_str(answer_field(result, row, 0), "primary");
		struct buf list = BUF_INIT;
		msgpack_packer numbers = pack_into(&list);
		uint32_t count = 0;

		while (names.ptr && names.len) {
			const char *end = memchr(names.ptr, '\n', names.len);
			size_t len = end ? (size_t)(end - names.ptr) : names.len;

			pack_uint(&numbers, column_index(columns, span_of(names.ptr, len)));
			if (is_primary) {
				buf_add_str(&table->columns, count ? ", " : "");
				sql_print_name(span_of(names.ptr, len), &table->columns);
			}
			count++;
			names.ptr += len + (end != NULL);
			names.len -= len + (end != NULL);
		}
		msgpack_pack_array(&pk, 3);
		pack_str(&pk, answer_field(result, row, 0));
		pack_bool(&pk, row[1] && row[1][0] == '0');
		msgpack_pack_array(&pk, count);
		buf_add_span(out, buf_span(&list));
		if (is_primary) {
			msgpack_packer to = pack_into(primary);

			msgpack_pack_array(&to, count);
			buf_add_span(primary, buf_span(&list));
		}
		buf_release(&list);
	}
	mysql_free_result(result);
	return true;
}

/* [[name, [column index], database, table, [column name], on delete, on update], ...] */
static bool read_foreign_keys(MYSQL *db, const struct capture_node *node,
	const struct context_table *table, const struct columns *columns, struct buf *out,
	struct err *err)
{
	MYSQL_RES *result = ask(db, node, err,
		"select k.constraint_name, k.column_name, k.referenced_table_schema, "
		"k.referenced_table_name, k.referenced_column_name, r.delete_rule, r.update_rule "
		"from information_schema.key_column_usage k join "
		"information_schema.referential_constraints r on r.constraint_schema = "
		"k.constraint_schema and r.constraint_name = k.constraint_name and r.table_name = "
		"k.table_name where k.table_schema = ? and k.table_name = ? and "
		"k.referenced_table_name is not null order by k.constraint_name, "
		"k.ordinal_position",
		buf_span(&table->database), buf_span(&table->name));
	struct buf keys = BUF_INIT;
	uint32_t count = 0;
	MYSQL_ROW row;

	if (!result)
		return false;
	row = mysql_fetch_row(result);
	while (row) {
		struct buf mine = BUF_INIT, theirs = BUF_INIT, head = BUF_INIT, tail = BUF_INIT;
		msgpack_packer pk = pack_into(&head), end = pack_into(&tail);
		msgpack_packer numbers = pack_into(&mine), names = pack_into(&theirs);
		char *name = mem_strdup(row[0]);
		uint32_t parts = 0;

		msgpack_pack_array(&pk, 7);
		pack_str(&pk, answer_field(result, row, 0));
		pack_str(&end, answer_field(result, row, 5));
		pack_str(&end, answer_field(result, row, 6));
		struct buf target = BUF_INIT;
		msgpack_packer to = pack_into(&target);

		pack_str(&to, answer_field(result, row, 2));
		pack_str(&to, answer_field(result, row, 3));
		do {
			pack_uint(&numbers, column_index(columns, answer_field(result, row, 1)));
			pack_str(&names, answer_field(result, row, 4));
			parts++;
			row = mysql_fetch_row(result);
		} while (row && strcmp(row[0], name) == 0);
		msgpack_pack_array(&pk, parts);
		buf_add_span(&head, buf_span(&mine));
		buf_add_span(&head, buf_span(&target));
		msgpack_pack_array(&pk, parts);
		buf_add_span(&head, buf_span(&theirs));
		buf_add_span(&head, buf_span(&tail));
		buf_add_span(&keys, buf_span(&head));
		count++;
		free(name);
		buf_release(&mine);
		buf_release(&theirs);
		buf_release(&head);
		buf_release(&tail);
		buf_release(&target);
	}
	mysql_free_result(result);
	msgpack_packer pk = pack_into(out);

	msgpack_pack_array(&pk, count);
	buf_add_span(out, buf_span(&keys));
	buf_release(&keys);
	return true;
}

/* [[name, timing, event], ...]; left empty (nil) where the server does not say. */
static void read_triggers(MYSQL *db, const struct capture_node *node,
	const struct context_table *table, struct buf *out)
{
	struct err ignored;
	MYSQL_RES *result = ask(db, node, &ignored,
		"select trigger_name, action_timing, event_manipulation from "
		"information_schema.triggers where event_object_schema = ? and "
		"event_object_table = ? and left(trigger_name, 7) <> '" TRIGGER_PREFIX
		"' order by trigger_name",
		buf_span(&table->database), buf_span(&table->name));
	msgpack_packer pk = pack_into(out);
	MYSQL_ROW row;

	if (!result)
		return;
	msgpack_pack_array(&pk, (size_t)mysql_num_rows(result));
	while ((row = mysql_fetch_row(result))) {
		msgpack_pack_array(&pk, 3);
		for (unsigned i = 0; i < 3; i++)
			pack_str(&pk, answer_field(result, row, i));
	}
	mysql_free_result(result);
}

static void qualified(struct buf *out, const struct context_table *table)
{
	sql_print_name(buf_span(&table->database), out);
	buf_add_char(out, '.');
	sql_print_name(buf_span(&table->name), out);
}

static bool table_schema(struct server_context *context, MYSQL *db, struct capture_node *node,
	size_t index, struct err *err)
{
	struct context_table *table = &context->tables[index];
	struct columns names = {NULL, 0, 0};
	struct buf columns = BUF_INIT, primary = BUF_INIT, keys = BUF_INIT, foreign = BUF_INIT;
	struct buf sql = BUF_INIT, create_text = BUF_INIT, triggers = BUF_INIT;
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;
	bool ok = false;

	buf_add_str(&sql, "show create table ");
	qualified(&sql, table);
	if (!read_columns(
		    db, node, table, instrumented(context, table) != NULL, &names, &columns, err) ||
		!read_keys(db, node, table, &names, &primary, &keys, err) ||
		!read_foreign_keys(db, node, table, &names, &foreign, err))
		goto out;
	read_triggers(db, node, table, &triggers);
	result = ask(db, node, err, sql.data, SPAN_NONE, SPAN_NONE);
	if (!result)
		goto out;
	row = mysql_fetch_row(result);
	if (row && mysql_num_fields(result) >= 2) {
		struct span create = answer_field(result, row, 1);
		struct instrument_table *prepared = instrumented(context, table);

		if (prepared) {
			prepared->number = (uint32_t)index + 1;
			instrument_add_create(&create_text, create);
			create = buf_span(&create_text);
		}
		const char *partition = memmem(create.ptr, create.len, "PARTITION BY", 12);
		struct record_schema record = {
			.table = (uint32_t)index + 1,
			.node = span_str(node->name),
			.database = buf_span(&table->database),
			.name = buf_span(&table->name),
			.columns = buf_span(&columns),
			.primary_key = primary.len ? buf_span(&primary) : SPAN_NONE,
			.keys = buf_span(&keys),
			.foreign_keys = buf_span(&foreign),
			.create_text = create,
			.triggers = triggers.len ? buf_span(&triggers) : SPAN_NONE,
		};

		if (partition)
			record.partitions =
				span_of(partition, (size_t)(create.ptr + create.len - partition));
		trace_emit_schema(context->producer, &record);
		struct buf key = BUF_INIT, packed = BUF_INIT;

		buf_printf(&key, "schema %zu", index + 1);
		record_schema_pack(&packed, &record);
		trace_context_set(context->writer, buf_span(&key), buf_span(&packed));
		buf_release(&key);
		buf_release(&packed);
	}
	ok = true;
out:
	if (result)
		mysql_free_result(result);
	for (size_t i = 0; i < names.count; i++)
		free(names.names[i]);
	free(names.names);
	buf_release(&columns);
	buf_release(&primary);
	buf_release(&keys);
	buf_release(&foreign);
	buf_release(&create_text);
	buf_release(&triggers);
	buf_release(&sql);
	return ok;
}

static bool wanted_database(const struct server_context_options *options, struct span name)
{
	static const char *const own[] = {
		"mysql", "information_schema", "performance_schema", "sys", "metrics_schema"};

	for (size_t i = 0; i < options->database_count; i++)
		if (span_eq_str(name, options->databases[i]))
			return true;
	if (options->database_count)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (span_ieq_str(name, own[i]))
			return false;
	return true;
}

static bool known_table(const struct server_context *context, struct span database, struct span name)
{
	for (size_t i = 0; i < context->count; i++)
		if (span_eq(database, buf_span(&context->tables[i].database)) &&
			span_eq(name, buf_span(&context->tables[i].name)))
			return true;
	return false;
}

static bool wanted_table(const struct server_context *context, struct span database, struct span name)
{
	return wanted_database(context->options, database) &&
	       (!context->options->filter ||
		       filter_wants_table(context->options->filter, database, name)) &&
	       !known_table(context, database, name);
}

/* Their texts have values, and names of tables that may not be wanted. */
static bool may_tell_programs(const struct server_context_options *options)
{
	const struct filter *filter = options->filter;

	return !(options->redact && options->redact->on) &&
	       !(filter && (filter->table.code || filter->not_table.code));
}

static bool wanted_program(const void *ctx, struct span database)
{
	return wanted_database(ctx, database);
}

bool server_context_schema(struct server_context *context, struct capture_node *node,
	const struct db_address *address, struct err *err)
{
	MYSQL *db = connect_to(context, node, address, err);
	size_t before = context->count;
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool ok = true;

	if (!db)
		return false;
	if (context->options->instrument && !before &&
		!instrument_tables_load(context->options->instrument, db, NULL, err)) {
		mysql_close(db);
		return false;
	}
	result = ask(db, node, err,
		"select table_schema, table_name from information_schema.tables where table_type "
		"like "
		"'%BASE TABLE%' or table_type = 'SYSTEM VERSIONED' order by table_schema, "
		"table_name",
		SPAN_NONE, SPAN_NONE);
	if (!result) {
		mysql_close(db);
		return false;
	}
	while ((row = mysql_fetch_row(result))) {
		struct context_table *table;

		if (!wanted_table(context, answer_field(result, row, 0), answer_field(result, row, 1)))
			continue;
		if (context->count == CONTEXT_TABLES_MAX) {
			ok = err_set(err, ERR_LIMIT,
				"node %s has more than %d tables: choose databases with --database",
				node->name, CONTEXT_TABLES_MAX);
			break;
		}
		MEM_RESERVE(context->tables, context->count + 1, context->capacity);
		table = &context->tables[context->count++];
		*table = (struct context_table){BUF_INIT, BUF_INIT, BUF_INIT};
		buf_add_span(&table->database, answer_field(result, row, 0));
		buf_add_span(&table->name, answer_field(result, row, 1));
	}
	mysql_free_result(result);
	for (size_t i = before; ok && i < context->count; i++)
		ok = table_schema(context, db, node, i, err);
	if (ok && !context->programs_told && may_tell_programs(context->options))
		programs_emit(db, context->producer, context->writer, node->name, wanted_program,
			context->options);
	context->programs_told = true;
	mysql_close(db);
	return ok;
}

/* ---- rows ---- */

struct part {
	struct server_context *context;
	struct record_rows record;
	struct buf rows;
	struct buf versions, version_list; /* of a prepared table */
	bool versioned;
	bool unknown; /* rows changed without triggers: their versions prove nothing */
	uint32_t count;
};

static void part_flush(struct part *part, bool last, bool complete)
{
	struct record_rows *record = &part->record;

	pack_array_close(&part->rows, 0, part->count);
	record->seq = record->at = 0;
	record->last = last;
	record->complete = last && complete;
	record->rows = buf_span(&part->rows);
	if (part->versioned && !part->unknown) {
		msgpack_packer pk = pack_into(&part->version_list);

		buf_clear(&part->version_list);
		msgpack_pack_array(&pk, part->count);
		buf_add_span(&part->version_list, buf_span(&part->versions));
		record->versions = buf_span(&part->version_list);
		buf_clear(&part->versions);
	}
	trace_emit_rows(part->context->producer, record);
	record->part++;
	buf_clear(&part->rows);
	pack_array_open(&part->rows);
	part->count = 0;
}

static struct wire_column column_of(const MYSQL_FIELD *field)
{
	struct wire_column column = {
		.charset = (uint16_t)field->charsetnr,
		.flags = (uint16_t)field->flags,
		.type = (uint8_t)field->type,
		.decimals = (uint8_t)field->decimals,
	};
	MARIADB_CONST_STRING format;

	if (mariadb_field_attr(&format, field, MARIADB_FIELD_ATTR_FORMAT_NAME) == 0)
		column.json = span_eq_str(span_of(format.str, format.length), "json");
	return column;
}

static bool table_rows(struct server_context *context, MYSQL *db, struct capture_node *node, size_t index,
	const char *moment, struct err *err)
{
	struct context_table *table = &context->tables[index];
	struct part part = {.context = context, .rows = BUF_INIT};
	struct buf sql = BUF_INIT, name = BUF_INIT;
	const struct redact *redact = context->options->redact;
	struct wire_column *columns = NULL;
	bool *hidden = NULL;
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;
	unsigned count;
	uint64_t rows = 0;
	bool ok = false, complete = true;

	qualified(&name, table);
	instrument_add_select(&sql, db, instrumented(context, table), buf_span(&name));
	buf_release(&name);
	part.versioned = instrumented(context, table) != NULL;
	part.unknown = part.versioned && strcmp(moment, "final") == 0 &&
		       !instrument_table_exact(instrumented(context, table));
	if (table->columns.len)
		buf_printf(&sql, " order by %s", table->columns.data);
	buf_printf(&sql, " limit %llu", (unsigned long long)context->options->rows_max + 1);
	if (mysql_real_query(db, sql.data, (unsigned long)sql.len) == 0)
		result = mysql_use_result(db);
	if (!result) {
		ok = instrument_table_gone(mysql_errno(db));
		db_error(db, node->name, sql.data, err);
		goto out;
	}
	count = mysql_num_fields(result) - part.versioned;
	columns = mem_zero(count, sizeof(*columns));
	hidden = mem_zero(count, sizeof(*hidden));
	for (unsigned i = 0; i < count; i++) {
		const MYSQL_FIELD *of = mysql_fetch_field_direct(result, i);

		columns[i] = column_of(of);
		hidden[i] = redact && redact->on && redact_column(redact, span_str(of->name));
	}
	part.record = (struct record_rows){.table = (uint32_t)index + 1,
		.node = span_str(node->name),
		.moment = span_str(moment)};
	pack_array_open(&part.rows);
	while ((row = mysql_fetch_row(result))) {
		msgpack_packer pk = pack_into(&part.rows);

		/* The rest is read, not kept: the connection must be free for the next table. */
		if (rows++ >= context->options->rows_max) {
			complete = false;
			continue;
		}
		msgpack_pack_array(&pk, count);
		for (unsigned i = 0; i < count; i++) {
			size_t before = part.rows.len;

			values_pack_text(&part.rows, &columns[i], answer_field(result, row, i),
				context->options->values);
			if (hidden[i])
				redact_packed(context->options->redact, &part.rows, before);
		}
		if (part.versioned &&
			!instrument_pack_version(&part.versions, answer_field(result, row, count)))
			buf_add_char(&part.versions, (char)0xc0); /* nil: no version */
		part.count++;
		if (part.rows.len >= CAPTURE_PART_SIZE)
			part_flush(&part, false, false);
	}
	if (mysql_errno(db)) {
		db_error(db, node->name, sql.data, err);
		complete = false;
	} else {
		ok = true;
	}
	part_flush(&part, true, complete && !(part.unknown && !rows));
	if (ok && !complete && context->cut_count++ == 0)
		context->first_cut = index;
out:
	if (result)
		mysql_free_result(result);
	free(columns);
	free(hidden);
	buf_release(&part.rows);
	buf_release(&part.versions);
	buf_release(&part.version_list);
	buf_release(&sql);
	return ok;
}

bool server_context_rows(struct server_context *context, struct capture_node *node,
	const struct db_address *address, const char *moment, struct err *err)
{
	MYSQL *db;
	bool ok = true;

	if (context->options->rows_max == 0 || context->count == 0)
		return true;
	db = connect_to(context, node, address, err);
	if (!db)
		return false;
	if (mysql_query(db, "set session transaction isolation level repeatable read") ||
		mysql_query(db, "start transaction with consistent snapshot"))
		ok = db_error(db, node->name, "cannot begin a consistent snapshot", err);
	for (size_t i = 0; ok && i < context->count; i++)
		ok = table_rows(context, db, node, i, moment, err);
	mysql_close(db);
	return ok;
}
