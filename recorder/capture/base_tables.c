/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/base_tables.h"

#include <stdlib.h>

#include "base/mem.h"

/* ---- known tables ---- */

static struct buf joined(struct span database, struct span table)
{
	struct buf name = BUF_INIT;

	buf_add_span(&name, database);
	buf_add_char(&name, '\0');
	buf_add_span(&name, table);
	return name;
}

void base_tables_add(struct base_tables *base_tables, struct span database, struct span table)
{
	struct buf name = joined(database, table);

	MEM_RESERVE(base_tables->names, base_tables->count + 1, base_tables->capacity);
	MEM_RESERVE(base_tables->lengths, base_tables->count + 1, base_tables->length_capacity);
	base_tables->names[base_tables->count] = name.data;
	base_tables->lengths[base_tables->count++] = name.len;
	base_tables->sorted = false;
}

static int compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* Two arrays are sorted together: by insertion, as the server lists tables in order already. */
void base_tables_sort(struct base_tables *base_tables)
{
	for (size_t i = 1; i < base_tables->count; i++) {
		char *name = base_tables->names[i];
		size_t len = base_tables->lengths[i], at = i;

		for (; at && compare(base_tables->names[at - 1], base_tables->lengths[at - 1], name, len) > 0;
			at--) {
			base_tables->names[at] = base_tables->names[at - 1];
			base_tables->lengths[at] = base_tables->lengths[at - 1];
		}
		base_tables->names[at] = name;
		base_tables->lengths[at] = len;
	}
	base_tables->sorted = true;
}

void base_tables_release(struct base_tables *base_tables)
{
	for (size_t i = 0; i < base_tables->count; i++)
		mem_free(base_tables->names[i]);
	mem_free(base_tables->names);
	mem_free(base_tables->lengths);
	base_tables->names = NULL;
	base_tables->lengths = NULL;
	base_tables->count = base_tables->capacity = base_tables->length_capacity = 0;
}

bool base_tables_knows(const struct base_tables *base_tables, struct span database, struct span table)
{
	struct buf name;
	size_t low = 0, high = base_tables ? base_tables->count : 0;
	bool found = false;

	if (!high || !base_tables->sorted || atomic_load_explicit(&base_tables->doubt, memory_order_relaxed))
		return false;
	name = joined(database, table);
	while (low < high && !found) {
		size_t middle = low + (high - low) / 2;
		int order = compare(
			name.data, name.len, base_tables->names[middle], base_tables->lengths[middle]);

		found = order == 0;
		if (order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	buf_release(&name);
	return found;
}

/* ---- statements ---- */

/* Functions of the server that make a value of their arguments, or of no data at all.  A stored
 * function cannot take such a name unless it is called with its database (MariaDB's manual, Function
 * Name Parsing and Resolution).  What is not here, as LOAD_FILE, may bring values from anywhere. */
static const char *const own_functions[] = {"abs", "adddate", "addtime", "ascii", "avg", "bin",
	"bit_and", "bit_count", "bit_length", "bit_or", "bit_xor", "ceil", "ceiling", "char",
	"char_length", "character_length", "coalesce", "concat", "concat_ws", "connection_id",
	"conv", "count", "crc32", "curdate", "current_date", "current_role", "current_time",
	"current_timestamp", "current_user", "curtime", "database", "date", "date_add",
	"date_format", "date_sub", "datediff", "day", "dayname", "dayofmonth", "dayofweek",
	"dayofyear", "dense_rank", "elt", "field", "find_in_set", "first_value", "floor", "format",
	"found_rows", "from_days", "from_unixtime", "greatest", "group_concat", "hex", "hour", "if",
	"ifnull", "insert", "instr", "isnull", "json_array", "json_extract", "json_object",
	"json_unquote", "json_valid", "lag", "last_day", "last_insert_id", "last_value", "lcase",
	"lead", "least", "left", "length", "localtime", "localtimestamp", "locate", "lower", "lpad",
	"ltrim", "makedate", "maketime", "max", "md5", "microsecond", "mid", "min", "minute", "mod",
	"month", "monthname", "now", "ntile", "nullif", "oct", "octet_length", "ord", "pi", "pow",
	"power", "quarter", "quote", "rand", "rank", "repeat", "replace", "reverse", "right",
	"round", "row_count", "row_number", "rpad", "rtrim", "schema", "second", "sha", "sha1",
	"sha2", "sign", "sleep", "soundex", "space", "sqrt", "std", "stddev", "str_to_date",
	"strcmp", "subdate", "substr", "substring", "substring_index", "subtime", "sum", "sysdate",
	"time", "time_format", "timediff", "timestamp", "timestampadd", "timestampdiff", "to_days",
	"trim", "truncate", "ucase", "unhex", "unix_timestamp", "upper", "user", "utc_date",
	"utc_time", "utc_timestamp", "uuid", "variance", "version", "week", "weekday",
	"weekofyear", "year", "yearweek"};

static bool is_own_function(struct span name)
{
	for (size_t i = 0; i < ARRAY_LEN(own_functions); i++)
		if (span_ieq_str(name, own_functions[i]))
			return true;
	return false;
}

struct search {
	const struct base_tables *base_tables;
	struct span database;
	bool unknown;  /* a table or function that may bring any value */
	bool redefine; /* a known table is defined */
};

static void see_table(void *ctx, const struct sql_table_name *table,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct search *search = ctx;
	struct span database = table->db.len ? table->db : search->database;
	bool known = database.ptr && base_tables_knows(search->base_tables, database, table->name);

	(void)ref;
	search->unknown |= !known;
	search->redefine |= access == SQL_TABLE_DEFINE && (known || !database.ptr);
}

static bool see_expr(void *ctx, const struct sql_expr *expr)
{
	struct search *search = ctx;

	if (expr->kind == SQL_EXPR_CALL || expr->kind == SQL_EXPR_ODBC)
		search->unknown |= expr->u.call.db.len || !is_own_function(expr->u.call.name);
	return true;
}

/* Anywhere, whatever it stands for. */
static bool is_stmt_certain(struct base_tables *base_tables, const struct sql_stmt *stmt, struct span text,
	struct span database)
{
	struct search search = {.base_tables = base_tables, .database = database};
	const struct sql_visitor visitor = {.expr = see_expr, .ctx = &search};

	sql_stmt_tables(stmt, see_table, &search);
	sql_walk_stmt(stmt, &visitor);
	if (sql_kind_controls_transactions(stmt->kind))
		return true;
	switch (stmt->kind) {
	case SQL_STMT_SELECT:
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
	case SQL_STMT_UPDATE:
	case SQL_STMT_DELETE:
	case SQL_STMT_DO:
	case SQL_STMT_SET:
	case SQL_STMT_EXPLAIN:
		return !search.unknown;
	case SQL_STMT_CREATE_TABLE:
	case SQL_STMT_CREATE_VIEW:
	case SQL_STMT_CREATE_SEQUENCE:
		if (base_tables && search.redefine)
			atomic_store(&base_tables->doubt, true);
		return !search.unknown;
	case SQL_STMT_ALTER_TABLE:
		if (!span_ihas(text, "rename") && !span_ihas(text, "change"))
			return !search.unknown;
		/* fall through */
	case SQL_STMT_RENAME_TABLE:
		if (base_tables)
			atomic_store(&base_tables->doubt, true);
		return false;
	case SQL_STMT_EMPTY:
	case SQL_STMT_DROP_TABLE:
	case SQL_STMT_TRUNCATE:
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
	case SQL_STMT_CREATE_DATABASE:
	case SQL_STMT_DROP_DATABASE:
	case SQL_STMT_USE:
	case SQL_STMT_LOCK_TABLES:
	case SQL_STMT_UNLOCK_TABLES:
	case SQL_STMT_DEALLOCATE:
	case SQL_STMT_KILL:
	case SQL_STMT_SHOW: /* those that may quote values: see redact.c */
	case SQL_STMT_FLUSH:
		return true;
	default:
		return false;
	}
}

bool base_tables_is_certain(struct base_tables *base_tables, struct span text, struct span database,
	const struct sql_options *options)
{
	struct arena arena = ARENA_INIT;
	struct sql_stmt *first = NULL;
	struct err err;
	bool certain = sql_parse_multi(&arena, text, options, &first, &err);

	for (; first; first = first->next)
		certain &= is_stmt_certain(base_tables, first, text, database);
	arena_release(&arena);
	return certain;
}
