/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/table_schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "db/answer.h"
#include "db/own_objects.h"
#include "db/query.h"
#include "sql/sql.h"
#include "sql/text/stmt_classify.h"
#include "trace/pack.h"

struct reading {
	MYSQL *db;
	struct span database, table;
	bool prepared;
	struct table_schema *out;
	struct err *err;
};

/* Runs a query with the names of database and table in the place of its two question marks. */
static MYSQL_RES *ask(const struct reading *r, const char *sql)
{
	struct span names[2] = {r->database, r->table};
	struct buf text = BUF_INIT;
	unsigned next = 0;
	MYSQL_RES *result;

	for (const char *p = sql; *p; p++) {
		if (*p == '?')
			query_add_quoted(&text, r->db, names[next++ & 1]);
		else
			buf_add_char(&text, *p);
	}
	result = db_query(r->db, text.data, r->err);
	buf_release(&text);
	return result;
}

/* MySQL has the column from 5.7.6 on, MariaDB from 10.2.5; those before have no generated columns that it would tell of. */
static bool tells_generated(MYSQL *db)
{
	enum { MYSQL_SINCE = 50706, MARIADB_FIRST = 100000, MARIADB_SINCE = 100205 };
	unsigned long version = mysql_get_server_version(db);

	return version >= MARIADB_SINCE || (version >= MYSQL_SINCE && version < MARIADB_FIRST);
}

static bool read_columns(const struct reading *r)
{
	MYSQL_RES *result = ask(r,
		tells_generated(r->db)
			? "select column_name, column_type, is_nullable, collation_name, column_default, "
			  "generation_expression, extra from information_schema.columns "
			  "where table_schema = ? and table_name = ? order by ordinal_position"
			: "select column_name, column_type, is_nullable, collation_name, column_default, "
			  "null, extra from information_schema.columns "
			  "where table_schema = ? and table_name = ? order by ordinal_position");
	msgpack_packer pk = pack_into(&r->out->columns);
	MYSQL_ROW row;

	if (!result)
		return false;
	msgpack_pack_array(&pk, (size_t)mysql_num_rows(result) - r->prepared);
	while ((row = mysql_fetch_row(result))) {
		struct span generated = answer_field(result, row, 5);

		if (r->prepared && strcmp(row[0], VERSION_COLUMN) == 0)
			continue;
		MEM_RESERVE(r->out->names, r->out->name_count + 1, r->out->name_capacity);
		r->out->names[r->out->name_count++] = mem_strdup(row[0]);
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

static uint32_t column_index(const struct table_schema *schema, struct span name)
{
	for (size_t i = 0; i < schema->name_count; i++)
		if (span_ieq_str(name, schema->names[i]))
			return (uint32_t)i;
	return UINT32_MAX;
}

/* Closes a list of `count` packed elements. */
static void add_list(struct buf *out, uint32_t count, const struct buf *elements)
{
	msgpack_packer pk = pack_into(out);

	msgpack_pack_array(&pk, count);
	buf_add_span(out, buf_span(elements));
}

/* The columns of the key whose first one is *row; *row: the first column of the next key. */
static uint32_t read_key_columns(const struct reading *r, MYSQL_RES *result, MYSQL_ROW *row,
	struct buf *numbers, struct buf *names)
{
	msgpack_packer pk = pack_into(numbers);
	char *key = mem_strdup((*row)[0]);
	uint32_t count = 0;

	do {
		struct span name = answer_field(result, *row, 2);

		pack_uint(&pk, column_index(r->out, name));
		buf_add_str(names, count++ ? ", " : "");
		sql_print_name(name, names);
		*row = mysql_fetch_row(result);
	} while (*row && strcmp((*row)[0], key) == 0);
	mem_free(key);
	return count;
}

/* Reads one key, whose first column is *row; *row: the first of the next.  False: it is not for the list. */
typedef bool read_key_fn(const struct reading *r, MYSQL_RES *result, MYSQL_ROW *row, struct buf *out);

/* The list of what `read_key` makes of the query's rows. */
static bool read_list(
	const struct reading *r, const char *query, read_key_fn *read_key, struct buf *out)
{
	MYSQL_RES *result = ask(r, query);
	struct buf keys = BUF_INIT;
	uint32_t count = 0;
	MYSQL_ROW row;

	if (!result)
		return false;
	row = mysql_fetch_row(result);
	while (row)
		count += read_key(r, result, &row, &keys);
	mysql_free_result(result);
	add_list(out, count, &keys);
	buf_release(&keys);
	return true;
}

/* The primary key has a place of its own. */
static bool read_key(const struct reading *r, MYSQL_RES *result, MYSQL_ROW *row, struct buf *out)
{
	struct buf numbers = BUF_INIT, names = BUF_INIT, head = BUF_INIT;
	bool primary = strcmp((*row)[0], "PRIMARY") == 0;
	msgpack_packer pk = pack_into(&head);
	uint32_t width;

	msgpack_pack_array(&pk, 3);
	pack_str(&pk, answer_field(result, *row, 0));
	pack_bool(&pk, (*row)[1] && (*row)[1][0] == '0');
	width = read_key_columns(r, result, row, &numbers, &names);
	if (primary) {
		add_list(&r->out->primary_key, width, &numbers);
		buf_add_span(&r->out->primary_names, buf_span(&names));
	} else {
		buf_add_span(out, buf_span(&head));
		add_list(out, width, &numbers);
	}
	buf_release(&numbers);
	buf_release(&names);
	buf_release(&head);
	return !primary;
}

static bool read_keys(const struct reading *r)
{
	return read_list(r,
		"select index_name, non_unique, column_name from information_schema.statistics "
		"where table_schema = ? and table_name = ? order by index_name, seq_in_index",
		read_key, &r->out->keys);
}

static bool read_foreign_key(const struct reading *r, MYSQL_RES *result, MYSQL_ROW *row, struct buf *out)
{
	struct buf mine = BUF_INIT, theirs = BUF_INIT, target = BUF_INIT, rules = BUF_INIT;
	msgpack_packer pk = pack_into(out), numbers = pack_into(&mine), names = pack_into(&theirs);
	msgpack_packer to = pack_into(&target), end = pack_into(&rules);
	char *key = mem_strdup((*row)[0]);
	uint32_t count = 0;

	msgpack_pack_array(&pk, 7);
	pack_str(&pk, answer_field(result, *row, 0));
	pack_str(&to, answer_field(result, *row, 2));
	pack_str(&to, answer_field(result, *row, 3));
	pack_str(&end, answer_field(result, *row, 5));
	pack_str(&end, answer_field(result, *row, 6));
	do {
		pack_uint(&numbers, column_index(r->out, answer_field(result, *row, 1)));
		pack_str(&names, answer_field(result, *row, 4));
		count++;
		*row = mysql_fetch_row(result);
	} while (*row && strcmp((*row)[0], key) == 0);
	add_list(out, count, &mine);
	buf_add_span(out, buf_span(&target));
	add_list(out, count, &theirs);
	buf_add_span(out, buf_span(&rules));
	mem_free(key);
	buf_release(&mine);
	buf_release(&theirs);
	buf_release(&target);
	buf_release(&rules);
	return true;
}

static bool read_foreign_keys(const struct reading *r)
{
	return read_list(r,
		"select k.constraint_name, k.column_name, k.referenced_table_schema, "
		"k.referenced_table_name, k.referenced_column_name, r.delete_rule, r.update_rule "
		"from information_schema.key_column_usage k join "
		"information_schema.referential_constraints r on r.constraint_schema = "
		"k.constraint_schema and r.constraint_name = k.constraint_name and r.table_name = "
		"k.table_name where k.table_schema = ? and k.table_name = ? and "
		"k.referenced_table_name is not null order by k.constraint_name, "
		"k.ordinal_position",
		read_foreign_key, &r->out->foreign_keys);
}

/* What the server does not say is no failure. */
static void read_triggers(const struct reading *reading)
{
	struct err ignored;
	struct reading r = *reading;
	msgpack_packer pk = pack_into(&r.out->triggers);
	MYSQL_RES *result;
	MYSQL_ROW row;

	r.err = &ignored;
	result = ask(&r, "select trigger_name, action_timing, event_manipulation from "
			 "information_schema.triggers where event_object_schema = ? and "
			 "event_object_table = ? and left(trigger_name, 7) <> '" TRIGGER_PREFIX
			 "' order by trigger_name");
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

/* A create text without the line of the version column. */
static void add_without_version(struct buf *out, struct span text)
{
	static const char ours[] = "  `" VERSION_COLUMN "`";
	size_t start = out->len;

	while (text.len) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;

		if (len < sizeof(ours) || memcmp(text.ptr, ours, sizeof(ours) - 1) != 0) {
			if (out->len > start)
				buf_add_char(out, '\n');
			buf_add(out, text.ptr, len);
		}
		text = end ? span_of(end + 1, text.len - len - 1) : SPAN_LIT("");
	}
}

/* CONNECTION='mysql://user:password@host' and its like. */
static void mask_create(struct buf *text)
{
	struct text_secrets secrets;
	struct buf masked = BUF_INIT;

	if (!text_mask_passwords(
		    buf_span(text), (struct text_dialect){0}, false, &masked, &secrets))
		return;
	mem_wipe(text->data, text->len);
	buf_release(text);
	*text = masked;
}

static bool read_create(const struct reading *r)
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(&sql, "show create table ");
	sql_print_name(r->database, &sql);
	buf_add_char(&sql, '.');
	sql_print_name(r->table, &sql);
	result = db_query(r->db, sql.data, r->err);
	buf_release(&sql);
	if (!result)
		return false;
	row = mysql_fetch_row(result);
	if (row && mysql_num_fields(result) >= 2 && r->prepared)
		add_without_version(&r->out->create_text, answer_field(result, row, 1));
	else if (row && mysql_num_fields(result) >= 2)
		buf_add_span(&r->out->create_text, answer_field(result, row, 1));
	mysql_free_result(result);
	mask_create(&r->out->create_text);
	return true;
}

bool table_schema_read_keys(MYSQL *db, struct span database, struct span table, bool prepared,
	struct table_schema *out, struct err *err)
{
	struct reading r = {db, database, table, prepared, out, err};

	return read_columns(&r) && read_keys(&r);
}

bool table_schema_read(MYSQL *db, struct span database, struct span table, bool prepared,
	struct table_schema *out, struct err *err)
{
	struct reading r = {db, database, table, prepared, out, err};

	if (!read_columns(&r) || !read_keys(&r) || !read_foreign_keys(&r) || !read_create(&r))
		return false;
	read_triggers(&r);
	return true;
}

void table_schema_fill(const struct table_schema *schema, struct record_schema *record)
{
	struct span create = buf_span(&schema->create_text);
	const char *partition = create.len ? memmem(create.ptr, create.len, "PARTITION BY", 12) : NULL;

	record->columns = buf_span(&schema->columns);
	record->primary_key = schema->primary_key.len ? buf_span(&schema->primary_key) : SPAN_NONE;
	record->keys = buf_span(&schema->keys);
	record->foreign_keys = buf_span(&schema->foreign_keys);
	record->triggers = schema->triggers.len ? buf_span(&schema->triggers) : SPAN_NONE;
	record->create_text = create;
	if (partition)
		record->partitions = span_of(partition, (size_t)(create.ptr + create.len - partition));
}

void table_schema_release(struct table_schema *schema)
{
	for (size_t i = 0; i < schema->name_count; i++)
		mem_free(schema->names[i]);
	mem_free(schema->names);
	buf_release(&schema->columns);
	buf_release(&schema->primary_key);
	buf_release(&schema->primary_names);
	buf_release(&schema->keys);
	buf_release(&schema->foreign_keys);
	buf_release(&schema->create_text);
	buf_release(&schema->triggers);
}
