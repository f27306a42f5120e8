/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/row_sql.h"

#include "db/query.h"
#include "sql/sql.h"

/* As hexadecimal digits: the same in every sql_mode and character set. */
void instrument_add_string(struct buf *out, struct span text)
{
	buf_add_str(out, "_utf8mb4 X'");
	for (size_t i = 0; i < text.len; i++)
		buf_printf(out, "%02X", (unsigned)(unsigned char)text.ptr[i]);
	buf_add_char(out, '\'');
}

static void add_field(struct buf *out, const struct instrument_column *column, const char *row)
{
	buf_printf(out, "%s.", row);
	sql_print_name(span_str(column->name), out);
}

/* Hexadecimal digits of what `before` and `behind` make of the field; or its length and digest. */
static void add_hex(struct buf *out, const struct instrument_column *column, const char *row,
	const char *before, const char *behind)
{
	bool may_be_long = column->kind != COLUMN_ENUM && !column->key && !column->brief;

	if (may_be_long) {
		buf_add_str(out, "IF(OCTET_LENGTH(");
		buf_add_str(out, before);
		add_field(out, column, row);
		buf_printf(out, "%s)>%d,CONCAT('C',OCTET_LENGTH(%s", behind,
			(int)INSTRUMENT_LONG_VALUE, before);
		add_field(out, column, row);
		buf_printf(out, "%s),':',LEFT(SHA2(%s", behind, before);
		add_field(out, column, row);
		buf_printf(out, "%s,256),16)),", behind);
	}
	buf_printf(out, "IFNULL(HEX(%s", before);
	add_field(out, column, row);
	buf_printf(out, "%s),'N')%s", behind, may_be_long ? ")" : "");
}

void instrument_add_value(struct buf *out, const struct instrument_column *column, const char *row)
{
	switch (column->kind) {
	case COLUMN_NUMBER:
	case COLUMN_REAL:
	case COLUMN_DECIMAL:
	case COLUMN_TIME:
	case COLUMN_TIMESTAMP:
		buf_add_str(out, "IFNULL(");
		add_field(out, column, row);
		buf_add_str(out, ",'N')");
		return;
	case COLUMN_BIT:
		buf_add_str(out, "IFNULL(");
		add_field(out, column, row);
		buf_add_str(out, "+0,'N')");
		return;
	case COLUMN_TEXT:
	case COLUMN_ENUM:
		add_hex(out, column, row, "CONVERT(", " USING utf8mb4)");
		return;
	case COLUMN_BYTES:
	case COLUMN_GEOMETRY:
		add_hex(out, column, row, "", "");
		return;
	case COLUMN_JSON:
	case COLUMN_OTHER:
		add_hex(out, column, row, "CAST(", " AS CHAR CHARACTER SET utf8mb4)");
		return;
	}
}

void instrument_add_key(struct buf *out, const struct instrument_table *table, const char *row)
{
	for (size_t i = 0; i < table->key_count; i++) {
		if (i)
			buf_add_str(out, ",',',");
		instrument_add_value(out, &table->columns[table->key[i]], row);
	}
}

void instrument_add_whole(struct buf *out, const struct instrument_table *table, const char *row)
{
	buf_add_str(out, "cast(concat(");
	for (size_t i = 0; i < table->column_count; i++) {
		buf_add_str(out, i ? ",','," : "");
		instrument_add_value(out, &table->columns[i], row);
	}
	/* Character sets of columns, literals and the session do not always mix. */
	buf_printf(out, ",'|',cast(%s." VERSION_COLUMN " as binary)) as binary)", row);
}

/* All columns of a table that is not instrumented: * leaves out those that are invisible. */
static void add_all_columns(struct buf *out, MYSQL *mysql, struct span name)
{
	struct buf sql = BUF_INIT, list = BUF_INIT;
	MYSQL_RES *result = NULL;
	MYSQL_ROW row;
	bool invisible = false;

	buf_add_str(&sql, "show columns from ");
	buf_add_span(&sql, name);
	if (db_send(mysql, sql.data) == 0)
		result = db_result(mysql);
	while (result && (row = mysql_fetch_row(result))) {
		enum { FIELD = 0, EXTRA = 5 };

		invisible |= row[EXTRA] && strcasestr(row[EXTRA], "invisible");
		buf_add_str(&list, list.len ? ", " : "");
		sql_print_name(span_str(row[FIELD]), &list);
	}
	if (invisible)
		buf_add_span(out, buf_span(&list));
	else
		buf_add_char(out, '*');
	mysql_free_result(result);
	buf_release(&list);
	buf_release(&sql);
}

static void add_plain_select(
	struct buf *out, MYSQL *mysql, const struct instrument_table *table, struct span name)
{
	buf_add_str(out, "select ");
	for (size_t i = 0; table && i < table->column_count; i++) {
		sql_print_name(span_str(table->columns[i].name), out);
		buf_add_str(out, ", ");
	}
	if (table)
		buf_add_str(out, VERSION_COLUMN);
	else
		add_all_columns(out, mysql, name);
	buf_add_str(out, " from ");
	buf_add_span(out, name);
}

static bool has_float(MYSQL_RES *result)
{
	for (unsigned i = 0; i < mysql_num_fields(result); i++) {
		if (mysql_fetch_field_direct(result, i)->type == MYSQL_TYPE_FLOAT)
			return true;
	}
	return false;
}

void instrument_add_select(
	struct buf *out, MYSQL *mysql, const struct instrument_table *table, struct span name)
{
	struct buf sql = BUF_INIT;
	struct span plain;
	MYSQL_RES *result = NULL;

	add_plain_select(&sql, mysql, table, name);
	buf_add_str(&sql, " limit 0");
	plain = span_of(sql.data, sql.len - strlen(" limit 0"));
	if (db_send(mysql, sql.data) == 0)
		result = db_result(mysql);
	if (!result || !has_float(result)) {
		buf_add_span(out, plain); /* what is wrong will be said then */
		mysql_free_result(result);
		buf_release(&sql);
		return;
	}
	buf_release(&sql);
	for (unsigned i = 0; i < mysql_num_fields(result); i++) {
		const MYSQL_FIELD *field = mysql_fetch_field_direct(result, i);
		struct span column = span_of(field->name, field->name_length);

		buf_add_str(out, i ? ", " : "select ");
		sql_print_name(column, out);
		if (field->type == MYSQL_TYPE_FLOAT) {
			buf_add_str(out, " * 1e0 as ");
			sql_print_name(column, out);
		}
	}
	buf_add_str(out, " from ");
	buf_add_span(out, name);
	mysql_free_result(result);
}
