/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stored procedures, functions and views of the server, as far as plans depend on them. */
#include <stdlib.h>

#include "base/mem.h"
#include "db/query.h"
#include "instrument/row_sql.h"
#include "instrument/tables_internal.h"
#include "sql/text/raw_token.h"

/* Words that a body without transaction control does not have, be it in a comment: what ends a
 * transaction, also by implication (manuals, "Statements That Cause an Implicit Commit"); SQL that
 * is not in the text; and what hides an error, whose statement is then undone while its log stays.
 */
static const char *const mixing_words[] = {"ALTER", "ANALYZE", "AUTOCOMMIT", "BINLOG", "CACHE",
	"CALL", "CHANGE", "CHECK", "COMMIT", "CREATE", "DROP", "EXECUTE", "FLUSH", "GRANT",
	"HANDLER", "IGNORE", "IMMEDIATE", "IMPORT", "INSTALL", "LOAD", "LOCK", "OPTIMIZE",
	"PREPARE", "RENAME", "REPAIR", "RESET", "REVOKE", "ROLLBACK", "SAVEPOINT", "SHUTDOWN",
	"START", "STOP", "TRANSACTION", "TRUNCATE", "UNINSTALL", "UNLOCK", "XA"};

static bool is_mixing_word(const struct instrument_tables *tables, struct span word)
{
	for (size_t i = 0; i < ARRAY_LEN(mixing_words); i++)
		if (span_ieq_str(word, mixing_words[i]))
			return true;
	for (size_t i = 0; i < tables->function_count; i++)
		if (span_ieq_str(word, tables->functions[i]))
			return true;
	return false;
}

static bool is_whole_body(const struct instrument_tables *tables, const char *body)
{
	struct span rest = span_str(body), word;

	while (raw_take_word(&rest, &word))
		if (is_mixing_word(tables, word))
			return false;
	return true;
}

bool tables_read_routines(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = db_query(mysql,
		"select routine_schema, routine_name, routine_definition from "
		"information_schema.routines where routine_type = 'PROCEDURE' and routine_schema "
		"not in ('mysql', 'sys') and routine_definition is not null",
		err);
	MYSQL_ROW row;

	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		if (!is_whole_body(tables, row[2]))
			continue;
		MEM_RESERVE(tables->routines, tables->routine_count + 1, tables->routine_capacity);
		tables->routines[tables->routine_count++] = (struct instrument_routine){
			mem_strdup(row[0]), mem_strdup(row[1]), mem_strdup(row[2])};
	}
	mysql_free_result(result);
	return true;
}

static bool read_view_columns(struct instrument_view *view, MYSQL *mysql, struct err *err)
{
	struct buf sql = BUF_INIT, names = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;

	buf_add_str(
		&sql, "select column_name from information_schema.columns where table_schema = ");
	instrument_add_string(&sql, span_str(view->database));
	buf_add_str(&sql, " and table_name = ");
	instrument_add_string(&sql, span_str(view->name));
	buf_add_str(&sql, " order by ordinal_position");
	result = db_query(mysql, sql.data, err);
	buf_release(&sql);
	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL)
		buf_add(&names, row[0], strlen(row[0]) + 1);
	mysql_free_result(result);
	view->columns_len = names.len;
	view->columns = names.data; /* and the view has it now */
	return true;
}

bool tables_read_views(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = db_query(mysql,
		"select table_schema, table_name, view_definition from information_schema.views "
		"where table_schema not in ('mysql', 'sys', 'information_schema', "
		"'performance_schema')",
		err);
	MYSQL_ROW row;
	bool ok = true;

	if (!result)
		return false;
	while (ok && (row = mysql_fetch_row(result)) != NULL) {
		struct instrument_view *view;

		MEM_RESERVE(tables->views, tables->view_count + 1, tables->view_capacity);
		view = &tables->views[tables->view_count++];
		*view = (struct instrument_view){.database = mem_strdup(row[0]),
			.name = mem_strdup(row[1]),
			.definition = row[2] ? mem_strdup(row[2]) : NULL};
		ok = read_view_columns(view, mysql, err);
	}
	mysql_free_result(result);
	return ok;
}

const struct instrument_routine *instrument_routine_find(
	const struct instrument_tables *tables, struct span database, struct span name)
{
	for (size_t i = 0; i < tables->routine_count && !atomic_load(&tables->routines_changed);
		i++)
		if (span_ieq_str(database, tables->routines[i].database) &&
			span_ieq_str(name, tables->routines[i].name))
			return &tables->routines[i];
	return NULL;
}

bool tables_read_functions(struct instrument_tables *tables, MYSQL *mysql, struct err *err)
{
	MYSQL_RES *result = db_query(mysql,
		"select distinct routine_name from information_schema.routines where "
		"routine_type = 'FUNCTION' and routine_schema not in ('mysql', 'sys')",
		err);
	MYSQL_ROW row;

	if (!result)
		return false;
	while ((row = mysql_fetch_row(result)) != NULL) {
		MEM_RESERVE(
			tables->functions, tables->function_count + 1, tables->function_capacity);
		tables->functions[tables->function_count++] = mem_strdup(row[0]);
	}
	mysql_free_result(result);
	return true;
}

/* 1: names are stored in lower case, 2: as they were given; both are compared in lower case. */
