/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binlog/tables.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "binlog/charset.h"
#include "db/table_schema.h"
#include "trace/pack.h"
#include "wire/proto.h"

struct known_table {
	struct span database, name;
	uint32_t number;
	bool numbered;   /* else the number is to be given */
	bool defined;    /* the trace has its definition */
	bool keyed;
	bool asked;     /* of the server */
	bool described; /* the server has it: `schema` */
	struct table_schema schema;
	struct buf types; /* of the columns: another table has other ones */
};

struct binlog_tables {
	MYSQL *db;
	uint32_t next;
	bool logs_cascades;
	void (*define)(void *ctx, struct record_schema *record);
	void *ctx;
	struct arena arena;
	struct known_table **list;
	size_t count, capacity;
};

struct binlog_tables *binlog_tables_new(MYSQL *db, uint32_t first,
	void (*define)(void *ctx, struct record_schema *record), void *ctx)
{
	struct binlog_tables *tables = mem_zero(1, sizeof(*tables));

	tables->db = db;
	tables->next = first;
	tables->define = define;
	tables->ctx = ctx;
	return tables;
}

void binlog_tables_reconnect(struct binlog_tables *tables, MYSQL *db)
{
	tables->db = db;
}

void binlog_tables_log_cascades(struct binlog_tables *tables)
{
	tables->logs_cascades = true;
}

void binlog_tables_free(struct binlog_tables *tables)
{
	if (!tables)
		return;
	for (size_t i = 0; i < tables->count; i++) {
		table_schema_release(&tables->list[i]->schema);
		buf_release(&tables->list[i]->types);
		mem_free(tables->list[i]);
	}
	mem_free(tables->list);
	arena_release(&tables->arena);
	mem_free(tables);
}

static struct known_table *find(
	struct binlog_tables *tables, struct span database, struct span name)
{
	struct known_table *table;

	for (size_t i = 0; i < tables->count; i++)
		if (span_eq(tables->list[i]->name, name) &&
			span_eq(tables->list[i]->database, database))
			return tables->list[i];
	MEM_RESERVE(tables->list, tables->count + 1, tables->capacity);
	table = tables->list[tables->count++] = mem_zero(1, sizeof(*table));
	table->database = arena_copy(&tables->arena, database);
	table->name = arena_copy(&tables->arena, name);
	return table;
}

void binlog_tables_known(
	struct binlog_tables *tables, struct span database, struct span name, uint32_t number)
{
	struct known_table *table = find(tables, database, name);

	table->number = number;
	table->numbered = table->defined = true;
	if (tables->next <= number)
		tables->next = number + 1;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Does the name stand somewhere in the text as a word of its own? */
static bool names(struct span text, struct span name)
{
	for (size_t i = 0; name.len && i + name.len <= text.len; i++)
		if (span_ieq(span_of(text.ptr + i, name.len), name) &&
			(!i || !is_word(text.ptr[i - 1])) &&
			(i + name.len == text.len || !is_word(text.ptr[i + name.len])))
			return true;
	return false;
}

void binlog_tables_changed(struct binlog_tables *tables, struct span text)
{
	for (size_t i = 0; i < tables->count; i++) {
		struct known_table *table = tables->list[i];

		if (!names(text, table->name) &&
			!(span_ihas(text, "database") && names(text, table->database)))
			continue;
		table->numbered = false;
		table->defined = table->asked = table->described = false;
		table_schema_release(&table->schema);
		table->schema = (struct table_schema){.name_count = 0};
		buf_clear(&table->types);
	}
}

uint32_t binlog_tables_without_key(const struct binlog_tables *tables)
{
	uint32_t count = 0;

	for (size_t i = 0; i < tables->count; i++)
		count += tables->list[i]->numbered && !tables->list[i]->keyed;
	return count;
}

/* ---- the definition that the server has ---- */

/* 'a','it''s' of enum(...): unquoted, into the table's list. */
static void take_members(struct arena *arena, struct binlog_table *table,
	struct binlog_column *column, struct span type, size_t *capacity)
{
	const char *p = memchr(type.ptr, '(', type.len), *end = type.ptr + type.len;
	struct buf text = BUF_INIT;

	column->member = (uint32_t)table->member_count;
	column->member_count = 0;
	while (p && ++p < end && *p == '\'') {
		buf_clear(&text);
		for (p++; p < end; p++) {
			if (*p == '\'' && (p + 1 == end || *++p != '\''))
				break;
			buf_add_char(&text, *p);
		}
		MEM_RESERVE(table->members, table->member_count + 1, *capacity);
		table->members[table->member_count++] = arena_copy(arena, buf_span(&text));
		column->member_count++;
		if (p >= end || *p != ',')
			break;
	}
	buf_release(&text);
}

static void complete_column(struct arena *arena, struct binlog_table *table,
	struct binlog_column *column, struct span type, struct span collation, size_t *capacity)
{
	if (!column->sign_known) {
		column->is_unsigned = span_ihas(type, "unsigned") || span_ihas(type, "zerofill");
		column->sign_known = true;
	}
	if (column->type != TYPE_ENUM && column->type != TYPE_SET)
		column->charset =
			collation.ptr ? charset_collation_like(collation) : CHARSET_BINARY;
	if (span_ieq_str(type, "inet4"))
		column->print = BINLOG_PRINT_INET4;
	else if (span_ieq_str(type, "inet6"))
		column->print = BINLOG_PRINT_INET6;
	else if (span_ieq_str(type, "uuid"))
		column->print = BINLOG_PRINT_UUID;
	if ((column->type == TYPE_ENUM || column->type == TYPE_SET) && !column->member_count)
		take_members(arena, table, column, type, capacity);
}

/* False: the server's table is another one by now. */
static bool complete_columns(
	struct binlog_tables *tables, struct known_table *known, struct binlog_table *table)
{
	struct mp mp = mp_over(buf_span(&known->schema.columns)), key;
	uint32_t count = mp_array(&mp);
	size_t capacity = table->member_count;
	uint16_t *numbers;

	if (count != table->column_count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t fields = mp_array(&mp);
		struct span name = mp_bytes(&mp), type = mp_bytes(&mp), collation;

		(void)mp_skip(&mp);
		collation = mp_bytes(&mp);
		for (uint32_t k = 4; k < fields; k++)
			(void)mp_skip(&mp);
		if (mp.bad)
			return false;
		if (!table->names_known)
			table->columns[i].name = name;
		complete_column(
			&tables->arena, table, &table->columns[i], type, collation, &capacity);
	}
	table->names_known = true;
	if (table->key_known || !known->schema.primary_key.len)
		return true;
	key = mp_over(buf_span(&known->schema.primary_key));
	table->key_count = mp_array(&key);
	numbers = arena_alloc(&tables->arena, sizeof(*numbers) * (table->key_count + 1));
	for (uint32_t i = 0; i < table->key_count; i++)
		numbers[i] = (uint16_t)mp_uint_max(&key, table->column_count - 1);
	table->key = numbers;
	table->key_known = true;
	return true;
}

static void ask_server(struct binlog_tables *tables, struct known_table *known)
{
	struct err ignored;

	known->asked = true;
	known->described = tables->db && table_schema_read(tables->db, known->database, known->name,
						 false, &known->schema, &ignored);
}

/* Has it a foreign key that changes or deletes its rows? */
static bool has_cascades(const struct table_schema *schema)
{
	struct mp mp = mp_over(buf_span(&schema->foreign_keys));
	uint32_t count = mp_array(&mp);
	bool any = false;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint32_t fields = mp_array(&mp);

		for (uint32_t k = 0; k < fields; k++) {
			struct span value = mp_raw(&mp);
			struct mp text = mp_over(value);
			struct span rule = k >= 5 ? mp_bytes(&text) : SPAN_NONE;

			any |= rule.ptr && !span_ieq_str(rule, "restrict") &&
			       !span_ieq_str(rule, "no action");
		}
	}
	return any;
}

/* ---- a definition from the event alone ---- */

static void print_type(const struct binlog_column *column, struct buf *out)
{
	static const char *const named[256] = {[TYPE_TINY] = "tinyint",
		[TYPE_SHORT] = "smallint",
		[TYPE_INT24] = "mediumint",
		[TYPE_LONG] = "int",
		[TYPE_LONGLONG] = "bigint",
		[TYPE_FLOAT] = "float",
		[TYPE_DOUBLE] = "double",
		[TYPE_YEAR] = "year",
		[TYPE_DATE] = "date",
		[TYPE_TIME] = "time",
		[TYPE_DATETIME] = "datetime",
		[TYPE_TIMESTAMP] = "timestamp",
		[TYPE_ENUM] = "enum",
		[TYPE_SET] = "set",
		[TYPE_JSON] = "json",
		[TYPE_GEOMETRY] = "geometry",
		[TYPE_VECTOR] = "vector"};
	bool binary = column->charset == CHARSET_BINARY;

	switch (column->type) {
	case TYPE_NEWDECIMAL:
		buf_printf(out, "decimal(%u,%u)", column->meta >> 8, column->meta & 0xff);
		break;
	case TYPE_BIT:
		buf_printf(out, "bit(%u)", (column->meta >> 8) * 8u + (column->meta & 0xff));
		break;
	case BINLOG_TYPE_TIMESTAMP2:
		buf_printf(out, "timestamp(%u)", column->meta);
		break;
	case BINLOG_TYPE_DATETIME2:
		buf_printf(out, "datetime(%u)", column->meta);
		break;
	case BINLOG_TYPE_TIME2:
		buf_printf(out, "time(%u)", column->meta);
		break;
	case TYPE_VARCHAR:
	case TYPE_VAR_STRING:
	case BINLOG_TYPE_VARCHAR_COMPRESSED:
		buf_printf(out, "%s(%u)", binary ? "varbinary" : "varchar", column->meta);
		break;
	case TYPE_STRING:
		buf_printf(out, "%s(%u)", binary ? "binary" : "char", column->meta);
		break;
	default:
		buf_add_str(out, named[column->type] ? named[column->type]
				 : binary            ? "blob"
						     : "text");
		break;
	}
	if (column->is_unsigned)
		buf_add_str(out, " unsigned");
}

static void define_from_event(
	struct binlog_tables *tables, struct known_table *known, const struct binlog_table *table)
{
	struct record_schema record = {
		.table = known->number, .database = known->database, .name = known->name};
	struct buf columns = BUF_INIT, key = BUF_INIT, type = BUF_INIT;
	msgpack_packer pk = pack_into(&columns), kp = pack_into(&key);

	pack_array(&pk, table->column_count);
	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct binlog_column *column = &table->columns[i];
		char place[16];

		(void)snprintf(place, sizeof(place), "@%u", i + 1);
		buf_clear(&type);
		print_type(column, &type);
		pack_array(&pk, 7);
		pack_str(&pk, column->name.ptr ? column->name : span_str(place));
		pack_str(&pk, buf_span(&type));
		pack_bool(&pk, column->nullable);
		for (unsigned k = 3; k < 7; k++)
			pack_nil(&pk);
	}
	record.columns = buf_span(&columns);
	if (table->key_count) {
		pack_array(&kp, table->key_count);
		for (uint32_t i = 0; i < table->key_count; i++)
			pack_uint(&kp, table->key[i]);
		record.primary_key = buf_span(&key);
	}
	tables->define(tables->ctx, &record);
	buf_release(&columns);
	buf_release(&key);
	buf_release(&type);
}

void binlog_tables_complete(struct binlog_tables *tables, struct binlog_table *table)
{
	struct known_table *known = find(tables, table->database, table->name);
	struct buf types = BUF_INIT;
	bool complete;

	for (uint32_t i = 0; i < table->column_count; i++)
		buf_printf(&types, "%u.%u,", table->columns[i].type, table->columns[i].meta);
	/* Other columns than before: rows of before and of now have nothing in common. */
	if (known->types.len && !span_eq(buf_span(&known->types), buf_span(&types))) {
		known->numbered = false;
		known->defined = known->asked = false;
		table_schema_release(&known->schema);
		known->schema = (struct table_schema){.name_count = 0};
	}
	buf_clear(&known->types);
	buf_add_span(&known->types, buf_span(&types));
	buf_release(&types);
	if (!known->asked)
		ask_server(tables, known);
	complete = known->described && complete_columns(tables, known, table);
	if (!known->numbered)
		known->number = tables->next++;
	known->numbered = true;
	known->keyed = table->key_count != 0;
	table->silent = complete && !tables->logs_cascades && has_cascades(&known->schema);
	table->number = known->number;
	if (known->defined)
		return;
	known->defined = true;
	if (complete) {
		struct record_schema record = {
			.table = known->number, .database = known->database, .name = known->name};

		table_schema_fill(&known->schema, &record);
		record.table = known->number;
		record.database = known->database;
		record.name = known->name;
		tables->define(tables->ctx, &record);
	} else {
		define_from_event(tables, known, table);
	}
}
