/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TABLE_MAP: which table a number means for the rows that follow, the types of its columns, and
 * what the server adds of its own will (binlog_row_metadata): signs, character sets, names, members
 * of ENUM and SET, the primary key.
 */
#include "binlog/binlog_internal.h"

#include <stdlib.h>

#include "base/mem.h"
#include "wire/proto.h"

/* Kinds of optional metadata.  Others are skipped: each has its length. */
enum {
	META_SIGNEDNESS = 1,
	META_DEFAULT_CHARSET = 2,
	META_COLUMN_CHARSET = 3,
	META_COLUMN_NAME = 4,
	META_SET_MEMBERS = 5,
	META_ENUM_MEMBERS = 6,
	META_PRIMARY_KEY = 8,
	META_PRIMARY_KEY_PREFIX = 9,
	META_ENUM_DEFAULT_CHARSET = 10,
	META_ENUM_COLUMN_CHARSET = 11,
};

enum {
	TABLES_MAX = 65536,  /* in one statement */
	MEMBERS_MAX = 65536, /* ENUM's limit */
};

static void table_map_free(struct table_map *map)
{
	arena_release(&map->arena);
	buf_release(&map->raw);
	mem_free(map->table.members);
	mem_free(map);
}

void table_maps_forget(struct binlog *b)
{
	for (size_t i = 0; i < b->table_count; i++)
		table_map_free(b->tables[i]);
	b->table_count = 0;
}

static struct table_map *find(struct binlog *b, uint64_t id)
{
	/* The newest ones are the ones in use. */
	for (size_t i = b->table_count; i > 0; i--)
		if (b->tables[i - 1]->table.id == id)
			return b->tables[i - 1];
	return NULL;
}

struct binlog_table *table_map_find(struct binlog *b, uint64_t id)
{
	struct table_map *map = find(b, id);

	return map ? &map->table : NULL;
}

/* ---- types ---- */

static bool take_meta(struct cursor *c, struct binlog_column *column)
{
	switch (column->type) {
	case TYPE_FLOAT:
	case TYPE_DOUBLE:
	case TYPE_BLOB:
	case TYPE_TINY_BLOB:
	case TYPE_MEDIUM_BLOB:
	case TYPE_LONG_BLOB:
	case TYPE_GEOMETRY:
	case TYPE_JSON:
	case TYPE_VECTOR:
	case BINLOG_TYPE_TIMESTAMP2:
	case BINLOG_TYPE_DATETIME2:
	case BINLOG_TYPE_TIME2:
	case BINLOG_TYPE_BLOB_COMPRESSED:
		column->meta = (uint16_t)cursor_uint(c, 1);
		return !c->bad;
	case TYPE_VARCHAR:
	case TYPE_BIT:
	case BINLOG_TYPE_VARCHAR_COMPRESSED:
		column->meta = (uint16_t)cursor_uint(c, 2);
		return !c->bad;
	case TYPE_NEWDECIMAL: /* precision, then scale */
		column->meta = (uint16_t)(cursor_uint(c, 1) << 8);
		column->meta = (uint16_t)(column->meta | cursor_uint(c, 1));
		return !c->bad;
	case TYPE_ENUM:
	case TYPE_SET:
	case TYPE_STRING:
	case TYPE_VAR_STRING: {
		unsigned real = (unsigned)cursor_uint(c, 1), len = (unsigned)cursor_uint(c, 1);

		/* The real type; lengths above 255 have their upper bits in it, inverted. */
		if ((real & 0x30) != 0x30) {
			len |= ((real & 0x30) ^ 0x30) << 4;
			real |= 0x30;
		}
		column->type = (uint8_t)real;
		column->meta = (uint16_t)len;
		return !c->bad;
	}
	default:
		column->meta = 0;
		return true;
	}
}

static bool has_sign(uint8_t type)
{
	switch (type) {
	case TYPE_TINY:
	case TYPE_SHORT:
	case TYPE_INT24:
	case TYPE_LONG:
	case TYPE_LONGLONG:
	case TYPE_NEWDECIMAL:
	case TYPE_FLOAT:
	case TYPE_DOUBLE:
		return true;
	default:
		return false;
	}
}

static bool has_charset(const struct binlog *b, uint8_t type)
{
	switch (type) {
	case TYPE_GEOMETRY: /* for MariaDB it is a kind of BLOB */
		return b->mariadb;
	case TYPE_VARCHAR:
	case TYPE_STRING:
	case TYPE_VAR_STRING:
	case TYPE_BLOB:
	case TYPE_TINY_BLOB:
	case TYPE_MEDIUM_BLOB:
	case TYPE_LONG_BLOB:
	case BINLOG_TYPE_BLOB_COMPRESSED:
	case BINLOG_TYPE_VARCHAR_COMPRESSED:
		return true;
	default:
		return false;
	}
}

static bool is_enum_or_set(const struct binlog *b, uint8_t type)
{
	(void)b;
	return type == TYPE_ENUM || type == TYPE_SET;
}

/* ---- optional metadata ---- */

/* One bit for each column with a sign, the highest first.  MariaDB counts YEAR, too. */
static bool take_signs(const struct binlog *b, struct cursor c, struct binlog_table *table)
{
	unsigned bit = 8, bits = 0;

	for (uint32_t i = 0; i < table->column_count; i++) {
		struct binlog_column *column = &table->columns[i];

		if (!has_sign(column->type) && !(b->mariadb && column->type == TYPE_YEAR))
			continue;
		if (bit == 8) {
			bits = (unsigned)cursor_uint(&c, 1);
			bit = 0;
		}
		column->is_unsigned = bits << bit & 0x80;
		column->sign_known = true;
		bit++;
	}
	return !c.bad;
}

/* The collation of all columns, then column and collation of those that differ. */
static bool take_default_charset(const struct binlog *b, struct cursor c,
	struct binlog_table *table, bool (*wanted)(const struct binlog *b, uint8_t type))
{
	uint16_t all = (uint16_t)cursor_lenenc(&c);
	uint32_t number = 0;

	for (uint32_t i = 0; i < table->column_count; i++)
		if (wanted(b, table->columns[i].type))
			table->columns[i].charset = all;
	while (cursor_left(&c) && !c.bad) {
		uint64_t which = cursor_lenenc(&c);
		uint16_t charset = (uint16_t)cursor_lenenc(&c);

		number = 0;
		for (uint32_t i = 0; i < table->column_count; i++)
			if (wanted(b, table->columns[i].type) && number++ == which)
				table->columns[i].charset = charset;
	}
	return !c.bad;
}

static bool take_column_charsets(const struct binlog *b, struct cursor c,
	struct binlog_table *table, bool (*wanted)(const struct binlog *b, uint8_t type))
{
	for (uint32_t i = 0; i < table->column_count && cursor_left(&c); i++)
		if (wanted(b, table->columns[i].type))
			table->columns[i].charset = (uint16_t)cursor_lenenc(&c);
	return !c.bad;
}

static bool take_names(struct cursor c, struct table_map *map)
{
	struct binlog_table *table = &map->table;

	for (uint32_t i = 0; i < table->column_count; i++)
		table->columns[i].name = arena_copy(&map->arena, cursor_lenenc_str(&c));
	table->names_known = !c.bad;
	return !c.bad;
}

static bool take_members(struct cursor c, struct table_map *map, size_t *capacity, uint8_t type)
{
	struct binlog_table *table = &map->table;

	for (uint32_t i = 0; i < table->column_count; i++) {
		struct binlog_column *column = &table->columns[i];
		uint64_t count;

		if (column->type != type)
			continue;
		count = cursor_lenenc(&c);
		if (c.bad || count > MEMBERS_MAX || count > cursor_left(&c))
			return false;
		MEM_RESERVE(table->members, table->member_count + count, *capacity);
		column->member = (uint32_t)table->member_count;
		column->member_count = (uint32_t)count;
		for (uint64_t k = 0; k < count; k++)
			table->members[table->member_count++] =
				arena_copy(&map->arena, cursor_lenenc_str(&c));
	}
	return !c.bad;
}

static bool take_key(struct cursor c, struct table_map *map, bool prefixes)
{
	struct binlog_table *table = &map->table;
	uint16_t *key = arena_alloc(&map->arena, sizeof(*key) * (table->column_count + 1));
	uint32_t count = 0;

	while (cursor_left(&c) && !c.bad && count < table->column_count) {
		uint64_t column = cursor_lenenc(&c);

		if (prefixes)
			(void)cursor_lenenc(&c);
		if (column >= table->column_count)
			return false;
		key[count++] = (uint16_t)column;
	}
	table->key = key;
	table->key_count = count;
	table->key_known = true;
	return !c.bad;
}

/* Members come in the column's character set. */
static void convert_members(struct binlog *b, struct table_map *map)
{
	struct binlog_table *table = &map->table;

	for (uint32_t i = 0; i < table->column_count; i++) {
		struct binlog_column *column = &table->columns[i];

		if (!column->member_count || !column->charset || charset_is_utf8(column->charset))
			continue;
		for (uint32_t k = 0; k < column->member_count; k++) {
			struct span *member = &table->members[column->member + k];

			buf_clear(&b->scratch);
			if (charset_to_utf8(b, column->charset, *member, &b->scratch))
				*member = arena_copy(&map->arena, buf_span(&b->scratch));
		}
	}
}

static bool take_optional(struct binlog *b, struct cursor *c, struct table_map *map)
{
	struct binlog_table *table = &map->table;
	size_t capacity = 0;
	bool good = true;

	while (cursor_left(c) && good) {
		unsigned kind = (unsigned)cursor_uint(c, 1);
		uint64_t len = cursor_lenenc(c);
		struct cursor value = cursor_over(cursor_take(c, len));

		if (c->bad)
			return false;
		switch (kind) {
		case META_SIGNEDNESS:
			good = take_signs(b, value, table);
			break;
		case META_DEFAULT_CHARSET:
			good = take_default_charset(b, value, table, has_charset);
			break;
		case META_COLUMN_CHARSET:
			good = take_column_charsets(b, value, table, has_charset);
			break;
		case META_ENUM_DEFAULT_CHARSET:
			good = take_default_charset(b, value, table, is_enum_or_set);
			break;
		case META_ENUM_COLUMN_CHARSET:
			good = take_column_charsets(b, value, table, is_enum_or_set);
			break;
		case META_COLUMN_NAME:
			good = take_names(value, map);
			break;
		case META_SET_MEMBERS:
			good = take_members(value, map, &capacity, TYPE_SET);
			break;
		case META_ENUM_MEMBERS:
			good = take_members(value, map, &capacity, TYPE_ENUM);
			break;
		case META_PRIMARY_KEY:
		case META_PRIMARY_KEY_PREFIX:
			good = take_key(value, map, kind == META_PRIMARY_KEY_PREFIX);
			break;
		default: /* geometry types, visibility, dimensions, and what is not known */
			break;
		}
	}
	convert_members(b, map);
	/* Where keys are told, a table without one has none. */
	if (table->names_known)
		table->key_known = true;
	return good;
}

/* ---- the event ---- */

static bool read_map(struct binlog *b, struct cursor *c, struct table_map *map)
{
	struct binlog_table *table = &map->table;
	struct cursor types, metas;
	struct span nulls;
	uint64_t count, meta_len;

	(void)cursor_uint(c, 2);
	table->database = arena_copy(&map->arena, cursor_take(c, cursor_uint(c, 1)));
	(void)cursor_uint(c, 1);
	table->name = arena_copy(&map->arena, cursor_take(c, cursor_uint(c, 1)));
	(void)cursor_uint(c, 1);
	count = cursor_lenenc(c);
	if (c->bad || count > BINLOG_COLUMNS_MAX || count > cursor_left(c))
		return false;
	table->column_count = (uint32_t)count;
	table->columns = arena_zero(&map->arena, sizeof(*table->columns) * (count + 1));
	types = cursor_over(cursor_take(c, count));
	meta_len = cursor_lenenc(c);
	metas = cursor_over(cursor_take(c, meta_len));
	nulls = cursor_take(c, (count + 7) / 8);
	if (c->bad)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct binlog_column *column = &table->columns[i];

		column->type = (uint8_t)cursor_uint(&types, 1);
		column->nullable = (unsigned char)nulls.ptr[i / 8] >> (i % 8) & 1;
		column->name = SPAN_NONE;
		if (!take_meta(&metas, column))
			return false;
	}
	return take_optional(b, c, map);
}

static void note_refusal(struct binlog_table *table)
{
	table->refused = NULL;
	for (uint32_t i = 0; i < table->column_count && !table->refused; i++)
		table->refused = row_value_refuses(&table->columns[i]);
}

bool table_map_take(
	struct binlog *b, const struct binlog_head *head, struct span body, struct err *err)
{
	struct cursor c = cursor_over(body);
	unsigned id_size = b->post_head[EVENT_TABLE_MAP] == 6 ? 4 : 6;
	uint64_t id = cursor_uint(&c, id_size);
	struct table_map *map = c.bad ? NULL : find(b, id);

	if (c.bad)
		return event_damaged(head, "no table", err);
	if (map && span_eq(buf_span(&map->raw), body))
		return true;
	if (map) {
		arena_release(&map->arena);
		mem_free(map->table.members);
	} else {
		if (b->table_count >= TABLES_MAX)
			return event_damaged(head, "too many tables", err);
		MEM_RESERVE(b->tables, b->table_count + 1, b->table_capacity);
		map = b->tables[b->table_count++] = mem_zero(1, sizeof(*map));
	}
	map->arena = ARENA_INIT;
	map->table = (struct binlog_table){.id = id};
	buf_clear(&map->raw);
	if (!read_map(b, &c, map))
		return event_damaged(head, "its columns do not fit its length", err);
	buf_add_span(&map->raw, body);
	if (b->sink->table)
		b->sink->table(b->ctx, &map->table);
	note_refusal(&map->table);
	return true;
}
