/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a server says of one table: its columns, keys and foreign keys. */
#include <stdlib.h>

#include "base/mem.h"
#include "db/query.h"
#include "instrument/row_sql.h"
#include "instrument/tables_internal.h"
#include "instrument/trigger_log.h"
#include "server/flavour.h"
#include "wire/proto.h"

enum { CHARSET_UTF8MB4 = 45 };

struct type_row {
	const char *name;
	enum column_kind kind;
	uint8_t wire;
};

static const struct type_row types[] = {
	{"tinyint", COLUMN_NUMBER, TYPE_LONGLONG},
	{"smallint", COLUMN_NUMBER, TYPE_LONGLONG},
	{"mediumint", COLUMN_NUMBER, TYPE_LONGLONG},
	{"int", COLUMN_NUMBER, TYPE_LONGLONG},
	{"bigint", COLUMN_NUMBER, TYPE_LONGLONG},
	{"year", COLUMN_NUMBER, TYPE_LONGLONG},
	{"float", COLUMN_REAL, TYPE_FLOAT},
	{"double", COLUMN_REAL, TYPE_DOUBLE},
	{"decimal", COLUMN_DECIMAL, TYPE_NEWDECIMAL},
	{"date", COLUMN_TIME, TYPE_DATE},
	{"time", COLUMN_TIME, TYPE_TIME},
	{"datetime", COLUMN_TIME, TYPE_DATETIME},
	{"timestamp", COLUMN_TIMESTAMP, TYPE_TIMESTAMP},
	{"bit", COLUMN_BIT, TYPE_BIT},
	{"char", COLUMN_TEXT, TYPE_VAR_STRING},
	{"varchar", COLUMN_TEXT, TYPE_VAR_STRING},
	{"tinytext", COLUMN_TEXT, TYPE_VAR_STRING},
	{"text", COLUMN_TEXT, TYPE_VAR_STRING},
	{"mediumtext", COLUMN_TEXT, TYPE_VAR_STRING},
	{"longtext", COLUMN_TEXT, TYPE_VAR_STRING},
	{"enum", COLUMN_ENUM, TYPE_VAR_STRING},
	{"set", COLUMN_ENUM, TYPE_VAR_STRING},
	{"binary", COLUMN_BYTES, TYPE_VAR_STRING},
	{"varbinary", COLUMN_BYTES, TYPE_VAR_STRING},
	{"tinyblob", COLUMN_BYTES, TYPE_VAR_STRING},
	{"blob", COLUMN_BYTES, TYPE_VAR_STRING},
	{"mediumblob", COLUMN_BYTES, TYPE_VAR_STRING},
	{"longblob", COLUMN_BYTES, TYPE_VAR_STRING},
	{"json", COLUMN_JSON, TYPE_JSON},
	{"geometry", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"point", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"linestring", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"polygon", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"multipoint", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"multilinestring", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"multipolygon", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"geometrycollection", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"geomcollection", COLUMN_GEOMETRY, TYPE_GEOMETRY},
	{"vector", COLUMN_GEOMETRY, TYPE_VAR_STRING},
};

/* No value of it has more bytes than INSTRUMENT_LONG_VALUE, in UTF-8 of at most 4 bytes a character. */
static bool is_brief(enum column_kind kind, const char *characters)
{
	enum { CHARACTER_BYTES = 4 };
	unsigned long long length = characters ? strtoull(characters, NULL, 10) : 0;

	if (!length)
		return false;
	if (kind == COLUMN_TEXT)
		return length <= INSTRUMENT_LONG_VALUE / CHARACTER_BYTES;
	return kind == COLUMN_BYTES && length <= INSTRUMENT_LONG_VALUE;
}

/* (name, data type, bits, extra, digits of the fraction, characters) of information_schema.columns. */
static void column_fill(struct instrument_column *column, MYSQL_ROW row, bool mariadb)
{
	struct type_row type = {"", COLUMN_OTHER, TYPE_VAR_STRING};
	bool bytes;

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (row[1] && strcasecmp(types[i].name, row[1]) == 0)
			type = types[i];
	bytes = type.kind == COLUMN_BYTES || type.kind == COLUMN_GEOMETRY;
	*column = (struct instrument_column){
		.name = mem_strdup(row[0]),
		.kind = type.kind,
		.wire = {.type = type.wire,
			.charset = (uint16_t)(bytes ? CHARSET_BINARY : CHARSET_UTF8MB4),
			.length = row[2] ? (uint32_t)strtoul(row[2], NULL, 10) : 0},
		.generated = row[3] && strcasestr(row[3], "GENERATED") &&
			     !strcasestr(row[3], "DEFAULT_GENERATED"),
		.brief = is_brief(type.kind, row[5]),
		.counts = row[3] && strcasestr(row[3], "auto_increment"),
		.renewed = mariadb && row[3] && strcasestr(row[3], "on update "),
		.decimals = (uint8_t)(row[4] ? strtoul(row[4], NULL, 10) : 0),
	};
}

static void add_where(
	struct buf *sql, const struct instrument_table *t, const char *schema, const char *table)
{
	buf_printf(sql, " where %s = ", schema);
	instrument_add_string(sql, span_str(t->database));
	buf_printf(sql, " and %s = ", table);
	instrument_add_string(sql, span_str(t->name));
}

static bool read_columns(struct instrument_table *t, MYSQL *mysql, struct err *err)
{
	bool mariadb = server_release_of(span_str(mysql_get_server_info(mysql))).flavour == SERVER_MARIADB;
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql, "select column_name, data_type, numeric_precision, extra, "
			  "datetime_precision, character_maximum_length from "
			  "information_schema.columns");
	add_where(&sql, t, "table_schema", "table_name");
	buf_add_str(&sql, " order by ordinal_position");
	result = db_query(mysql, sql.data, err);
	buf_release(&sql);
	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		if (strcmp(row[0], VERSION_COLUMN) == 0) {
			t->for_select = strcasecmp(row[1], "bigint") != 0;
			continue;
		}
		MEM_RESERVE(t->columns, t->column_count + 1, t->column_capacity);
		column_fill(&t->columns[t->column_count++], row, mariadb);
		t->renews |= t->columns[t->column_count - 1].renewed;
	}
	mysql_free_result(result);
	return true;
}

static uint32_t find_column(const struct instrument_table *t, const char *name)
{
	for (uint32_t i = 0; name && i < t->column_count; i++)
		if (strcasecmp(t->columns[i].name, name) == 0)
			return i;
	return INSTRUMENT_NO_NUMBER;
}

static bool read_key(struct instrument_table *t, MYSQL *mysql, struct err *err)
{
	struct buf sql = BUF_INIT;
	uint32_t key = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql,
		"select column_name, index_name, seq_in_index from information_schema.statistics");
	add_where(&sql, t, "table_schema", "table_name");
	buf_add_str(&sql, " and non_unique = 0 order by index_name, seq_in_index");
	result = db_query(mysql, sql.data, err);
	buf_release(&sql);
	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL && t->key_count < INSTRUMENT_KEY_MAX) {
		uint32_t column = find_column(t, row[0]);

		if (!row[1] || strcmp(row[1], "PRIMARY") != 0) {
			key += row[2] && strcmp(row[2], "1") == 0;
			MEM_RESERVE(t->uniques, t->unique_count + 1, t->unique_capacity);
			t->uniques[t->unique_count++] = (struct instrument_unique){key, column};
		} else if (column != INSTRUMENT_NO_NUMBER) {
			t->columns[column].key = true;
			t->key[t->key_count++] = column;
		}
	}
	mysql_free_result(result);
	t->auto_key = t->key_count == 1 && t->columns[t->key[0]].counts;
	return true;
}

/* Which actions of foreign keys change or delete its rows. */
static bool read_follows(struct instrument_table *t, MYSQL *mysql, struct err *err)
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql, "select delete_rule in " REWRITES " or update_rule in " ACTIONS
			  " from information_schema.referential_constraints");
	add_where(&sql, t, "constraint_schema", "table_name");
	buf_add_str(&sql, " and (delete_rule in " ACTIONS " or update_rule in " ACTIONS ")");
	result = db_query(mysql, sql.data, err);
	buf_release(&sql);
	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		t->follows = true;
		t->rewritten |= row[0] && strcmp(row[0], "0") != 0;
	}
	mysql_free_result(result);
	return true;
}

bool instrument_table_describe(struct instrument_table *table, MYSQL *mysql, struct err *err)
{
	struct buf name = BUF_INIT;

	log_add_table(&name, table);
	table->log_name = mem_strdup(name.data);
	buf_release(&name);
	return read_columns(table, mysql, err) && read_key(table, mysql, err) &&
	       read_follows(table, mysql, err);
}

void instrument_table_release(struct instrument_table *t)
{
	for (size_t i = 0; i < t->column_count; i++)
		mem_free(t->columns[i].name);
	mem_free(t->columns);
	mem_free(t->uniques);
	mem_free(t->database);
	mem_free(t->name);
	mem_free(t->log_name);
	*t = (struct instrument_table){.number = INSTRUMENT_NO_NUMBER};
}
