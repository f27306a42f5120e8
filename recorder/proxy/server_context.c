/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "proxy/server_context.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "binlog/beside.h"
#include "db/answer.h"
#include "db/levels_in_programs.h"
#include "db/query.h"
#include "db/stored_programs.h"
#include "db/table_schema.h"
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
	mem_free(context->tables);
	context->tables = NULL;
	context->count = context->capacity = 0;
}

/* ---- the connection ---- */

static MYSQL *connect_to(const struct server_context *context, const struct capture_node *node,
	const struct db_address *address, struct err *err)
{
	return db_connect(&context->options->login, node->name, address, err);
}

static MYSQL_RES *ask(
	MYSQL *db, const struct capture_node *node, struct err *err, const char *sql)
{
	struct err why;
	MYSQL_RES *result = db_query(db, sql, &why);

	if (!result)
		err_set(err, why.code, "node %s: %s", node->name, why.text);
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
			 : ask(db, node, err, "show global variables");
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
	if (context->options->logged)
		count += binlog_beside_variables(&pairs, context->options->all_writers);
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

/* A prepared table; its version column is no part of the table that the trace tells of. */
static struct instrument_table *instrumented(
	const struct server_context *context, const struct context_table *table)
{
	return context->options->instrument
		       ? instrument_tables_find(context->options->instrument,
				 buf_span(&table->database), buf_span(&table->name))
		       : NULL;
}

static void qualified(struct buf *out, const struct context_table *table)
{
	sql_print_name(buf_span(&table->database), out);
	buf_add_char(out, '.');
	sql_print_name(buf_span(&table->name), out);
}

/* Of one column's definition in the record: its default, and the expression that makes it. */
static void redact_definition(const struct redact *redact, struct mp *mp, struct buf *out)
{
	enum { DEFAULT = 4, GENERATED = 5 };
	uint32_t fields = mp_array(mp);
	msgpack_packer pk = pack_into(out);
	bool hidden = false;

	msgpack_pack_array(&pk, fields);
	for (uint32_t i = 0; i < fields && !mp->bad; i++) {
		const unsigned char *from = mp->p;

		if (i == 0) {
			hidden = redact_column(redact, mp_bytes(mp));
			buf_add(out, from, (size_t)(mp->p - from));
		} else if ((i == DEFAULT && hidden) || i == GENERATED) {
			struct span text = mp_bytes(mp);

			pack_str(&pk, text.ptr ? SPAN_LIT("'***'") : text);
		} else {
			mp_skip(mp);
			buf_add(out, from, (size_t)(mp->p - from));
		}
	}
}

/* Definitions have values: defaults, conditions, bounds of partitions, comments. */
static void redact_schema(const struct redact *redact, struct table_schema *schema)
{
	struct buf columns = BUF_INIT, text = BUF_INIT;
	struct mp mp = mp_over(buf_span(&schema->columns));
	uint32_t count = mp_array(&mp);
	msgpack_packer pk = pack_into(&columns);

	msgpack_pack_array(&pk, count);
	for (uint32_t i = 0; i < count && !mp.bad; i++)
		redact_definition(redact, &mp, &columns);
	if (!redact_text(redact, buf_span(&schema->create_text), (struct text_dialect){0}, &text))
		buf_clear(&text);
	buf_release(&schema->columns);
	buf_release(&schema->create_text);
	schema->columns = columns;
	schema->create_text = text;
}

static void emit_schema(struct server_context *context, struct capture_node *node, size_t index,
	const struct table_schema *schema)
{
	struct context_table *table = &context->tables[index];
	struct record_schema record = {
		.table = (uint32_t)index + 1,
		.node = span_str(node->name),
		.database = buf_span(&table->database),
		.name = buf_span(&table->name),
	};
	struct buf key = BUF_INIT, packed = BUF_INIT;

	table_schema_fill(schema, &record);
	trace_emit_schema(context->producer, &record);
	buf_printf(&key, "schema %zu", index + 1);
	record_schema_pack(&packed, &record);
	trace_context_set(context->writer, buf_span(&key), buf_span(&packed));
	buf_release(&key);
	buf_release(&packed);
}

static bool add_schema(struct server_context *context, MYSQL *db, struct capture_node *node,
	size_t index, struct err *err)
{
	struct context_table *table = &context->tables[index];
	struct instrument_table *prepared = instrumented(context, table);
	struct table_schema schema = {0};
	struct err why;
	bool ok = table_schema_read(db, buf_span(&table->database), buf_span(&table->name),
		prepared != NULL, &schema, &why);

	if (!ok)
		err_set(err, why.code, "node %s: %s", node->name, why.text);
	if (ok && prepared)
		prepared->number = (uint32_t)index + 1;
	if (ok) {
		buf_add_span(&table->columns, buf_span(&schema.primary_names));
		if (context->options->redact && context->options->redact->on)
			redact_schema(context->options->redact, &schema);
		emit_schema(context, node, index, &schema);
	}
	table_schema_release(&schema);
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
		"like '%BASE TABLE%' or table_type = 'SYSTEM VERSIONED' order by table_schema, "
		"table_name");
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
		ok = add_schema(context, db, node, i, err);
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

/* How many rows there is room for, by what the server thinks a row has; one more tells that there are more.  So a table that
 * is far too large is not read to its end. */
static uint64_t rows_with_room(const struct server_context *context, MYSQL *db, const struct context_table *table)
{
	enum { ROW_BYTES_MIN = 16 };
	const struct server_context_options *options = context->options;
	uint64_t left, length = 0;
	struct buf sql = BUF_INIT;
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;

	if (options->bytes_max == UINT64_MAX)
		return options->rows_max;
	left = options->bytes_max > context->row_bytes ? options->bytes_max - context->row_bytes : 0;
	buf_add_str(&sql, "select avg_row_length from information_schema.tables where table_schema = ");
	query_add_quoted(&sql, db, buf_span(&table->database));
	buf_add_str(&sql, " and table_name = ");
	query_add_quoted(&sql, db, buf_span(&table->name));
	if (db_send_bytes(db, sql.data, (unsigned long)sql.len) == 0)
		result = db_result(db);
	row = result ? mysql_fetch_row(result) : NULL;
	if (row && row[0])
		length = strtoull(row[0], NULL, 10);
	if (result)
		mysql_free_result(result);
	buf_release(&sql);
	left /= length > ROW_BYTES_MIN ? length : ROW_BYTES_MIN;
	return left < options->rows_max ? left : options->rows_max;
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
	uint64_t rows = 0, rows_max = rows_with_room(context, db, table);
	bool ok = false, complete = true;

	qualified(&name, table);
	instrument_add_select(&sql, db, instrumented(context, table), buf_span(&name));
	buf_release(&name);
	part.versioned = instrumented(context, table) != NULL;
	part.unknown = part.versioned && strcmp(moment, "final") == 0 &&
		       !instrument_table_exact(instrumented(context, table));
	if (table->columns.len)
		buf_printf(&sql, " order by %s", table->columns.data);
	buf_printf(&sql, " limit %llu", (unsigned long long)rows_max + (rows_max < UINT64_MAX));
	if (db_send_bytes(db, sql.data, (unsigned long)sql.len) == 0)
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
		size_t before_row = part.rows.len;

		/* The rest is read, not kept: the connection must be free for the next table. */
		if (rows++ >= rows_max || context->row_bytes > context->options->bytes_max) {
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
		context->row_bytes += part.rows.len - before_row;
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
	mem_free(columns);
	mem_free(hidden);
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
	if (db_send(db, "set session transaction isolation level repeatable read") ||
		db_send(db, "start transaction with consistent snapshot"))
		ok = db_error(db, node->name, "cannot begin a consistent snapshot", err);
	context->row_bytes = 0;
	for (size_t i = 0; ok && i < context->count; i++)
		ok = table_rows(context, db, node, i, moment, err);
	mysql_close(db);
	return ok;
}
