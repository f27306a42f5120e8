/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server, the tables as both sides have them, and what is counted. */
#include "eval_compare.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "eval/value/collation.h"

/* ---- the server ---- */

void must(struct state *s, const char *sql)
{
	MYSQL_RES *result;

	if (mysql_real_query(s->server, sql, strlen(sql))) {
		fprintf(stderr, "sql_eval: %s: %s\n", sql, mysql_error(s->server));
		exit(2);
	}
	result = mysql_store_result(s->server);
	if (result)
		mysql_free_result(result);
}

void use_server(struct state *s, const char *socket, const char *database)
{
	struct buf sql = BUF_INIT;

	s->server = mysql_init(NULL);
	if (!s->server || !mysql_real_connect(s->server, NULL, "root", NULL, NULL, 0, socket, 0)) {
		fprintf(stderr, "sql_eval: %s\n", s->server ? mysql_error(s->server) : "no memory");
		exit(2);
	}
	s->options = sql_options_for_server(span_str(mysql_get_server_info(s->server)));
	s->env = eval_env_for_server(span_str(mysql_get_server_info(s->server)));
	s->generator.mysql = s->env.flavour == SQL_MYSQL;
	s->generator.version = s->env.version;
	s->generator.newest_collation =
		s->generator.mysql ? (s->env.version >= 80000 ? "utf8mb4_0900_ai_ci" : "utf8mb4_bin")
				   : (s->env.version >= 101000 ? "utf8mb4_uca1400_ai_ci"
								: "utf8mb4_general_nopad_ci");
	buf_printf(&sql, "DROP DATABASE IF EXISTS %s", database);
	must(s, sql.data);
	buf_clear(&sql);
	buf_printf(&sql, "CREATE DATABASE %s CHARACTER SET utf8mb4", database);
	must(s, sql.data);
	buf_clear(&sql);
	buf_printf(&sql, "USE %s", database);
	must(s, sql.data);
	buf_release(&sql);
	must(s, s->binary ? "SET NAMES binary" : "SET NAMES utf8mb4");
	must(s, "SET character_set_results = NULL");
	must(s, "SET sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO'");
	must(s, "SET timestamp = 1709210096"); /* 2024-02-29 12:34:56 UTC */
	must(s, "SET time_zone = '+00:00'");
	/* There are queries that a server never ends and that fill its disk, and it goes on when we are gone. */
	if (!s->generator.mysql) {
		must(s, "SET max_statement_time = 5");
		must(s, "SET tmp_disk_table_size = 268435456");
	} else if (s->env.version >= 50708) {
		must(s, "SET max_execution_time = 5000");
	}
	s->env.mode = EVAL_MODE_STRICT_TRANS_TABLES | EVAL_MODE_ERROR_FOR_DIVISION_BY_ZERO;
	if (s->binary)
		s->env.collation_connection = COLLATION_BINARY;
	s->env.has_now = true;
	s->env.zone_known = true;
	s->env.now = (struct eval_time){
		.year = 2024, .month = 2, .day = 29, .hour = 12, .minute = 34, .second = 56};
}

/* ---- tables ---- */

void add_table(struct state *s, const char *sql)
{
	struct sql_stmt *stmt;
	struct eval_outcome outcome;
	struct err err;

	must(s, sql);
	if (!sql_parse(&s->schema, span_str(sql), &s->options, &stmt, &err))
		BUG("%s: %s", sql, err.text);
	s->tables.list[s->tables.count] =
		eval_table_create(&s->schema, stmt->u.create_table, &s->env, &outcome);
	if (!s->tables.list[s->tables.count])
		BUG("%s: %s", sql, outcome.reason);
	s->tables.count++;
}

/* Reads the rows of a table back.  FLOAT is printed with six digits only, so it is asked for as a
 * DOUBLE; BIT as a number. */
void load_rows(struct state *s, unsigned number)
{
	const struct eval_table *t = s->tables.list[number];
	struct buf sql = BUF_INIT;
	const struct eval_value **rows;
	MYSQL_RES *result;
	MYSQL_ROW row;
	size_t count = 0;

	buf_add_str(&sql, "SELECT ");
	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct eval_type *type = &t->columns[i].type;
		/* A trace has texts in UTF-8. */
		bool other = type->kind == EVAL_T_STRING &&
			     collation_charset(type->collation) == CHARSET_LATIN1;

		buf_printf(&sql, "%s%s`%.*s`%s", i ? ", " : "", other ? "convert(" : "",
			SPAN_ARG(t->columns[i].name),
			other                           ? " using utf8mb4)"
			: type->kind == EVAL_T_FLOAT    ? "*1e0" /* which keeps the sign of a zero */
			: type->kind == EVAL_T_BIT      ? "+0"
							: "");
	}
	buf_printf(&sql, " FROM %.*s ORDER BY id", SPAN_ARG(t->name));
	if (mysql_real_query(s->server, sql.data, sql.len))
		BUG("%s: %s", sql.data, mysql_error(s->server));
	result = mysql_store_result(s->server);
	rows = arena_alloc(&s->rows, (mysql_num_rows(result) + 1) * sizeof(*rows));
	while ((row = mysql_fetch_row(result))) {
		unsigned long *lengths = mysql_fetch_lengths(result);
		struct eval_value *values =
			arena_zero(&s->rows, (t->column_count + 1) * sizeof(*values));

		for (uint32_t i = 0; i < t->column_count; i++) {
			struct value v = {.type = VALUE_NULL};

			if (row[i] && t->columns[i].type.kind == EVAL_T_BIT)
				v = value_uint(strtoull(row[i], NULL, 10));
			else if (row[i])
				v = value_bytes(VALUE_TEXT,
					arena_copy(&s->rows, span_of(row[i], lengths[i])));
			if (!eval_from_trace(&s->rows, &t->columns[i].type, &v, &values[i]))
				BUG("column %.*s: %s", SPAN_ARG(t->columns[i].name), row[i]);
		}
		rows[count++] = values;
	}
	s->tables.contents[number] = (struct eval_rows){rows, count};
	mysql_free_result(result);
	buf_release(&sql);
}

void fill_table(struct state *s, unsigned number, unsigned count)
{
	struct buf sql = BUF_INIT;

	buf_printf(&sql, "DELETE FROM %.*s", SPAN_ARG(s->tables.list[number]->name));
	must(s, sql.data);
	for (unsigned i = 0; i < count; i++) {
		buf_clear(&sql);
		buf_printf(&sql, "INSERT INTO %.*s VALUES ", SPAN_ARG(s->tables.list[number]->name));
		generate_row(&s->generator, i + 1, &sql);
		must(s, sql.data);
	}
	load_rows(s, number);
	buf_release(&sql);
}

/* ---- counting ---- */

void count_reason(struct state *s, const char *text)
{
	for (unsigned i = 0; i < s->reason_count; i++) {
		if (!strcmp(s->reasons[i].text, text)) {
			s->reasons[i].count++;
			return;
		}
	}
	if (s->reason_count < REASONS_MAX) {
		snprintf(s->reasons[s->reason_count].text, EVAL_REASON_MAX, "%s", text);
		s->reasons[s->reason_count++].count = 1;
	}
}

int by_count(const void *a, const void *b)
{
	unsigned long x = ((const struct reason *)a)->count, y = ((const struct reason *)b)->count;

	return (x < y) - (x > y);
}

/* The columns that a differing text names, in all rows of its table: what one needs to look further. */
static void show_rows(const struct state *s, const char *text)
{
	const struct eval_table *t = s->tables.list[s->shown];
	struct buf out = BUF_INIT;

	for (size_t r = 0; r < s->tables.contents[s->shown].count; r++) {
		buf_printf(&out, "    row %zu:", r + 1);
		for (uint32_t i = 0; i < t->column_count; i++) {
			struct span name = t->columns[i].name;
			const char *at = text;

			while ((at = memmem(at, strlen(at), name.ptr, name.len)) &&
				((at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')) ||
					isalnum((unsigned char)at[name.len]) || at[name.len] == '_'))
				at++;
			if (!at)
				continue;
			buf_printf(&out, " %.*s=", SPAN_ARG(name));
			eval_print(&t->columns[i].type, &s->tables.contents[s->shown].row[r][i], &out);
		}
		buf_add_char(&out, '\n');
	}
	if (out.len)
		printf("%s", out.data);
	buf_release(&out);
}

void difference(struct state *s, const char *text, const char *what)
{
	s->differences++;
	if (s->differences <= s->show) {
		printf("difference: %.1500s\n    %s\n", text, what);
		show_rows(s, text);
	}
}

double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- coverage ---- */

static void count_feature(struct state *s, const char *what, struct span name)
{
	char text[40];
	unsigned i = 0;

	snprintf(text, sizeof(text), "%s %.*s", what, (int)(name.len > 30 ? 30 : name.len), name.ptr);
	for (char *p = text; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	while (i < s->feature_count && strcmp(s->features[i].name, text) != 0)
		i++;
	if (i == FEATURES_MAX)
		return;
	if (i == s->feature_count)
		snprintf(s->features[s->feature_count++].name, sizeof(text), "%s", text);
	s->features[i].count++;
	s->features[i].decided += s->decided;
}

static bool count_expr(void *ctx, const struct sql_expr *e)
{
	static const char *const kinds[] = {[SQL_EXPR_IS] = "IS", [SQL_EXPR_IN] = "IN",
		[SQL_EXPR_BETWEEN] = "BETWEEN", [SQL_EXPR_LIKE] = "LIKE", [SQL_EXPR_QUANTIFIED] = "ANY, ALL",
		[SQL_EXPR_EXISTS] = "EXISTS", [SQL_EXPR_SUBQUERY] = "subquery", [SQL_EXPR_ROW] = "row",
		[SQL_EXPR_CASE] = "CASE", [SQL_EXPR_CONVERT_USING] = "CONVERT USING",
		[SQL_EXPR_COLLATE] = "COLLATE", [SQL_EXPR_EXTRACT] = "EXTRACT",
		[SQL_EXPR_INTERVAL] = "+ INTERVAL", [SQL_EXPR_TRIM] = "TRIM FROM",
		[SQL_EXPR_POSITION] = "POSITION", [SQL_EXPR_DATE_FUNC] = "DATE_ADD"};
	static const char *const operators[] = {[SQL_OP_OR] = "OR", [SQL_OP_XOR] = "XOR", [SQL_OP_AND] = "AND",
		[SQL_OP_EQ] = "=", [SQL_OP_NULL_EQ] = "<=>", [SQL_OP_NE] = "<>", [SQL_OP_LT] = "<",
		[SQL_OP_LE] = "<=", [SQL_OP_GT] = ">", [SQL_OP_GE] = ">=", [SQL_OP_REGEXP] = "REGEXP",
		[SQL_OP_BIT_OR] = "|", [SQL_OP_BIT_AND] = "&", [SQL_OP_SHIFT_LEFT] = "<<",
		[SQL_OP_SHIFT_RIGHT] = ">>", [SQL_OP_ADD] = "+", [SQL_OP_SUB] = "-", [SQL_OP_MUL] = "*",
		[SQL_OP_DIV] = "/", [SQL_OP_INT_DIV] = "DIV", [SQL_OP_MOD] = "%", [SQL_OP_BIT_XOR] = "^",
		[SQL_OP_NOT] = "NOT", [SQL_OP_BANG] = "!", [SQL_OP_NEG] = "unary -", [SQL_OP_BIT_NOT] = "~",
		[SQL_OP_BINARY] = "BINARY"};
	static const char *const types[] = {[SQL_TYPE_SIGNED] = "SIGNED", [SQL_TYPE_UNSIGNED] = "UNSIGNED",
		[SQL_TYPE_DECIMAL] = "DECIMAL", [SQL_TYPE_DOUBLE] = "DOUBLE", [SQL_TYPE_CHAR] = "CHAR",
		[SQL_TYPE_NCHAR] = "NCHAR", [SQL_TYPE_BINARY] = "BINARY", [SQL_TYPE_DATE] = "DATE",
		[SQL_TYPE_TIME] = "TIME", [SQL_TYPE_DATETIME] = "DATETIME"};
	struct state *s = ctx;

	switch ((enum sql_expr_kind)e->kind) {
	case SQL_EXPR_COLUMN:
		count_feature(s, "column", e->u.column.name);
		break;
	case SQL_EXPR_CALL:
		count_feature(s,
			e->u.call.extra && e->u.call.extra->over       ? "window"
			: e->u.call.extra && e->u.call.extra->distinct ? "distinct"
								       : "function",
			e->u.call.name);
		break;
	case SQL_EXPR_UNARY:
	case SQL_EXPR_BINARY:
		if (e->op < ARRAY_LEN(operators) && operators[e->op])
			count_feature(s, "operator", span_str(operators[e->op]));
		break;
	case SQL_EXPR_CAST:
		if (e->u.cast.type->kind < ARRAY_LEN(types) && types[e->u.cast.type->kind])
			count_feature(s, "cast", span_str(types[e->u.cast.type->kind]));
		break;
	default:
		if (e->kind < ARRAY_LEN(kinds) && kinds[e->kind])
			count_feature(s, "syntax", span_str(kinds[e->kind]));
	}
	return true;
}

void count_features(struct state *s, const struct sql_stmt *stmt, bool decided)
{
	if (!s->coverage)
		return;
	s->decided = decided;
	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = count_expr, .ctx = s});
}

int by_name(const void *a, const void *b)
{
	return strcmp(((const struct feature *)a)->name, ((const struct feature *)b)->name);
}
