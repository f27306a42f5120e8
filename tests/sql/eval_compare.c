/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the SQL evaluator with a server: random expressions over random rows, random queries,
 * random changes, each computed here and there.
 *
 *	sql_eval SOCKET [--seed=N] [--expressions=N] [--queries=N] [--changes=N] [--show=N]
 *	         [--database=NAME] [--coverage] [--div-precision-increment=N]
 *	sql_eval SOCKET --json=N       JSON texts stored, copied and read back (MySQL)
 *	sql_eval SOCKET --json-functions=N
 *	sql_eval SOCKET --joins=N      joins of up to eight tables
 *	sql_eval SOCKET --collations   every pair of bytes, and the order of all known characters
 *	sql_eval SOCKET --try          expressions, queries and changes (of table w, which has one row) from
 *	                               standard input, one a line
 *
 * What must hold: whatever we say is a value is the server's, to the byte as it is printed;
 *whatever we say is an error is the same error there.  What we call unsupported is counted by
 *reason. Prints differences and a summary; exits 1 if there was any difference.  --coverage also prints
 *which functions, operators, casts and columns occurred, how often, and how often where we decided.
 */
#include <ctype.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bug.h"
#include "eval/eval.h"
#include "eval/value/collation.h"
#include "eval_random.h"

enum { BATCH = 40, ROWS = 8, REASONS_MAX = 400, FEATURES_MAX = 1000 };

struct reason {
	char text[EVAL_REASON_MAX];
	unsigned long count;
};

/* What occurs in the expressions and queries, how often, and how often in one that was decided. */
struct feature {
	char name[40];
	unsigned long count, decided;
};

struct state {
	MYSQL *server;
	struct sql_options options;
	struct eval_env env;
	struct generator generator;
	struct arena schema, rows, scratch;
	struct eval_table *tables[16];
	struct eval_rows contents[16];
	unsigned changed; /* which table changes are made in */
	unsigned table_count;
	unsigned shown; /* the table whose rows a difference is shown with */
	struct reason reasons[REASONS_MAX];
	unsigned reason_count;
	struct feature features[FEATURES_MAX];
	unsigned feature_count;
	bool coverage, decided; /* to count them; of the text at hand */
	unsigned long expressions, values, unsupported, unsupported_values, errors, differences;
	unsigned long statements, statements_unsupported, statement_errors;
	unsigned long show;
	double cpu; /* seconds spent in the evaluator */
};

/* ---- the server ---- */

static void must(struct state *s, const char *sql)
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

static void use(struct state *s, const char *socket, const char *database)
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
	must(s, "SET NAMES utf8mb4");
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
	s->env.has_now = true;
	s->env.time_zone_utc = true;
	s->env.now = (struct eval_time){
		.year = 2024, .month = 2, .day = 29, .hour = 12, .minute = 34, .second = 56};
}

/* ---- tables ---- */

static const struct eval_table *find_table(void *ctx, const struct sql_table_name *name)
{
	struct state *s = ctx;

	for (unsigned i = 0; i < s->table_count; i++) {
		if (span_eq(s->tables[i]->name, name->name))
			return s->tables[i];
	}
	return NULL;
}

static bool find_rows(void *ctx, const struct eval_table *table, const struct sql_table_ref *ref,
	struct eval_rows *out)
{
	struct state *s = ctx;

	(void)ref;
	for (unsigned i = 0; i < s->table_count; i++) {
		if (s->tables[i] == table) {
			*out = s->contents[i];
			return true;
		}
	}
	return false;
}

static struct eval_source source_of(struct state *s)
{
	return (struct eval_source){find_table, find_rows, s};
}

static void add_table(struct state *s, const char *sql)
{
	struct sql_stmt *stmt;
	struct eval_outcome outcome;
	struct err err;

	must(s, sql);
	if (!sql_parse(&s->schema, span_str(sql), &s->options, &stmt, &err))
		BUG("%s: %s", sql, err.text);
	s->tables[s->table_count] =
		eval_table_create(&s->schema, stmt->u.create_table, &s->env, &outcome);
	if (!s->tables[s->table_count])
		BUG("%s: %s", sql, outcome.reason);
	s->table_count++;
}

/* Reads the rows of a table back.  FLOAT is printed with six digits only, so it is asked for as a
 * DOUBLE; BIT as a number. */
static void load_rows(struct state *s, unsigned number)
{
	const struct eval_table *t = s->tables[number];
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
	s->contents[number] = (struct eval_rows){rows, count};
	mysql_free_result(result);
	buf_release(&sql);
}

static void fill(struct state *s, unsigned number, unsigned count)
{
	struct buf sql = BUF_INIT;

	buf_printf(&sql, "DELETE FROM %.*s", SPAN_ARG(s->tables[number]->name));
	must(s, sql.data);
	for (unsigned i = 0; i < count; i++) {
		buf_clear(&sql);
		buf_printf(&sql, "INSERT INTO %.*s VALUES ", SPAN_ARG(s->tables[number]->name));
		generate_row(&s->generator, i + 1, &sql);
		must(s, sql.data);
	}
	load_rows(s, number);
	buf_release(&sql);
}

/* ---- counting ---- */

static void count_reason(struct state *s, const char *text)
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

static int by_count(const void *a, const void *b)
{
	unsigned long x = ((const struct reason *)a)->count, y = ((const struct reason *)b)->count;

	return (x < y) - (x > y);
}

/* The columns that a differing text names, in all rows of its table: what one needs to look further. */
static void show_rows(const struct state *s, const char *text)
{
	const struct eval_table *t = s->tables[s->shown];
	struct buf out = BUF_INIT;

	for (size_t r = 0; r < s->contents[s->shown].count; r++) {
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
			eval_print(&t->columns[i].type, &s->contents[s->shown].row[r][i], &out);
		}
		buf_add_char(&out, '\n');
	}
	if (out.len)
		printf("%s", out.data);
	buf_release(&out);
}

static void difference(struct state *s, const char *text, const char *what)
{
	s->differences++;
	if (s->differences <= s->show) {
		printf("difference: %.1500s\n    %s\n", text, what);
		show_rows(s, text);
	}
}

static double cpu_now(void)
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

static void count_features(struct state *s, const struct sql_stmt *stmt, bool decided)
{
	if (!s->coverage)
		return;
	s->decided = decided;
	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = count_expr, .ctx = s});
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct feature *)a)->name, ((const struct feature *)b)->name);
}

/* ---- expressions ---- */

struct answer {
	char *text; /* of the expression */
	enum { WHOLE, FAILED, LEFT_OUT } kind;
	unsigned error;
	bool undecided; /* a row that we do not know, before any that fails */
	bool known[ROWS];
	struct span value[ROWS]; /* ptr NULL: NULL */
};

static void answer_ours(struct state *s, const char *text, struct answer *a)
{
	struct buf sql = BUF_INIT, print = BUF_INIT;
	struct eval_outcome outcome;
	struct eval_source source = source_of(s);
	struct sql_stmt *stmt;
	struct eval_expr *expr = NULL;
	struct err err;
	double start = cpu_now();

	a->text = arena_copy(&s->scratch, span_str(text)).ptr ? strdup(text) : NULL;
	a->kind = LEFT_OUT;
	buf_printf(&sql, "DO (%s)", text);
	/* CAST(x AS DOUBLE) on MySQL 5.6. */
	if (!sql_parse(&s->scratch, buf_span(&sql), &s->options, &stmt, &err))
		outcome = (struct eval_outcome){.status = EVAL_ERROR, .error = 1064};
	else
		expr = eval_expr_compile(&s->scratch, stmt->u.exprs.first, s->tables[0], SPAN_NONE,
			&s->env, &source, &outcome);
	s->expressions++;
	for (size_t i = 0; i < s->contents[0].count && expr; i++) {
		struct eval_value v;

		if (eval_expr_run(expr, &s->scratch, &s->env, &source, s->contents[0].row[i], &v,
			    &outcome)) {
			buf_clear(&print);
			eval_print(eval_expr_type(expr), &v, &print);
			a->known[i] = true;
			a->value[i] = v.kind == EVAL_NULL
					      ? SPAN_NONE
					      : arena_copy(&s->scratch, buf_span(&print));
			a->kind = WHOLE;
			s->values++;
		} else if (outcome.status == EVAL_UNSUPPORTED) {
			a->known[i] = false;
			a->undecided = true;
			s->unsupported_values++;
			count_reason(s, outcome.reason);
		} else {
			expr = NULL;
		}
	}
	s->cpu += cpu_now() - start;
	if (outcome.error != 1064)
		count_features(s, stmt, a->kind == WHOLE || (!expr && outcome.status == EVAL_ERROR));
	if (!expr) {
		a->kind = outcome.status == EVAL_ERROR ? FAILED : LEFT_OUT;
		a->error = outcome.error;
		if (a->kind == LEFT_OUT) {
			count_reason(s, outcome.reason);
			s->unsupported++;
		}
	}
	if (a->kind == FAILED) {
		/* The server may meet an unsupported row first. */
		for (size_t i = 0; i < s->contents[0].count; i++)
			s->errors += i == 0;
	}
	buf_release(&sql);
	buf_release(&print);
}

static void compare_cell(struct state *s, const struct answer *a, size_t row, struct span theirs)
{
	struct span ours = a->value[row];
	char what[600];

	if (!a->known[row] || (ours.ptr == NULL) == (theirs.ptr == NULL)) {
		if (!a->known[row] || !ours.ptr || span_eq(ours, theirs))
			return;
	}
	snprintf(what, sizeof(what), "row %zu: ours %s%.*s%s, the server's %s%.*s%s", row + 1,
		ours.ptr ? "'" : "", ours.ptr ? (int)(ours.len > 200 ? 200 : ours.len) : 4,
		ours.ptr ? ours.ptr : "NULL", ours.ptr ? "'" : "", theirs.ptr ? "'" : "",
		theirs.ptr ? (int)(theirs.len > 200 ? 200 : theirs.len) : 4,
		theirs.ptr ? theirs.ptr : "NULL", theirs.ptr ? "'" : "");
	difference(s, a->text, what);
}

/* True: the server computed it. */
static bool ask(struct state *s, struct answer *answers, unsigned count)
{
	struct buf sql = BUF_INIT;
	MYSQL_RES *result;
	MYSQL_ROW row;
	bool good = false;
	char *reported[BATCH] = {NULL};

	buf_add_str(&sql, "SELECT ");
	for (unsigned i = 0; i < count; i++)
		buf_printf(&sql, "%s%s", i ? ", " : "", answers[i].text);
	buf_add_str(&sql, " FROM t ORDER BY id");
	if (mysql_real_query(s->server, sql.data, sql.len))
		goto out;
	result = mysql_store_result(s->server);
	if (!result)
		goto out;
	for (size_t r = 0; (row = mysql_fetch_row(result)); r++) {
		unsigned long *lengths = mysql_fetch_lengths(result);

		for (unsigned i = 0; i < count; i++) {
			unsigned long before = s->differences;

			if (reported[i]) /* once an expression is enough */
				continue;
			compare_cell(s, &answers[i], r,
				row[i] ? span_of(row[i], lengths[i]) : SPAN_NONE);
			if (s->differences != before)
				reported[i] = answers[i].text;
		}
	}
	mysql_free_result(result);
	good = true;
out:
	buf_release(&sql);
	return good;
}

static void ask_one(struct state *s, struct answer *a)
{
	char what[300];
	bool unknown = false;

	for (unsigned i = 0; i < ROWS; i++)
		unknown |= !a->known[i];
	if (ask(s, a, 1)) {
		if (a->kind == FAILED) {
			snprintf(what, sizeof(what), "ours: error %u, the server has none",
				a->error);
			difference(s, a->text, what);
		}
		return;
	}
	if (a->kind == FAILED && mysql_errno(s->server) == a->error)
		return;
	/* REGEXP_LIKE('ab', SPACE(16777215)) */
	if (mysql_errno(s->server) == 1969 || mysql_errno(s->server) == 3024) {
		count_reason(s, "the server did not end");
		return;
	}
	/* On a row that we did not decide: out of range, no regular expression, characters that the
	 * other set lacks. */
	if (((a->kind == WHOLE && unknown) || (a->kind == FAILED && a->undecided)) &&
		(mysql_errno(s->server) == 1690 || mysql_errno(s->server) == 3854 ||
			mysql_errno(s->server) == 4007 ||
			(mysql_errno(s->server) >= 3685 && mysql_errno(s->server) <= 3700)))
		return;
	if (a->kind == FAILED)
		snprintf(what, sizeof(what), "ours: error %u, the server's: %.200s", a->error,
			mysql_error(s->server));
	else
		snprintf(what, sizeof(what), "ours: none, the server's error %u: %.200s",
			mysql_errno(s->server), mysql_error(s->server));
	difference(s, a->text, what);
}

static void flush(struct state *s, struct answer *answers, unsigned *count)
{
	if (*count && !ask(s, answers, *count)) {
		for (unsigned i = 0; i < *count; i++)
			ask_one(s, &answers[i]);
	}
	for (unsigned i = 0; i < *count; i++)
		free(answers[i].text);
	*count = 0;
	arena_clear(&s->scratch);
}

static void one_expression(struct state *s, const char *text, struct answer *batch, unsigned *count)
{
	struct answer *a = &batch[*count];

	memset(a, 0, sizeof(*a));
	answer_ours(s, text, a);
	if (a->kind == WHOLE) {
		if (++*count == BATCH)
			flush(s, batch, count);
		return;
	}
	if (a->kind == FAILED)
		ask_one(s, a);
	free(a->text);
}

static void expressions(struct state *s, unsigned long count)
{
	struct answer *batch = calloc(BATCH, sizeof(*batch));
	struct buf text = BUF_INIT;
	unsigned pending = 0;

	for (unsigned long i = 0; i < count; i++) {
		if (i % 2000 == 0) {
			flush(s, batch, &pending);
			arena_clear(&s->rows);
			fill(s, 0, ROWS);
		}
		buf_clear(&text);
		s->generator.prefix = "";
		generate_expr(&s->generator, &text);
		one_expression(s, text.data, batch, &pending);
	}
	flush(s, batch, &pending);
	buf_release(&text);
	free(batch);
}

/* ---- queries ---- */

static void print_row(const struct eval_result *r, const struct eval_value *row, struct buf *out)
{
	for (uint32_t i = 0; i < r->column_count; i++) {
		if (i)
			buf_add_char(out, '\t');
		eval_print(&r->types[i], &row[i], out);
	}
}

/* The rows as lines; unordered ones sorted. */
struct lines {
	char **line;
	size_t count;
};

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void free_lines(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->line[i]);
	free(l->line);
}

static void sort_groups(const struct eval_result *r, struct lines *l)
{
	size_t from = 0;

	while (from < l->count) {
		size_t to = from + 1;

		while (to < l->count &&
			(!r->order_group || r->order_group[to] == r->order_group[from]))
			to++;
		qsort(l->line + from, to - from, sizeof(*l->line), compare_lines);
		from = to;
	}
}

/* Every line of `some` from `from` on is among the open rows, as often as there. */
static bool among_open(const struct eval_result *r, const struct lines *some, size_t from)
{
	bool *used = calloc(r->open_count + 1, sizeof(*used)), good = true;
	struct buf text = BUF_INIT;

	for (size_t i = from; i < some->count && good; i++) {
		good = false;
		for (size_t k = 0; k < r->open_count && !good; k++) {
			if (used[k])
				continue;
			buf_clear(&text);
			print_row(r, r->open[k], &text);
			if (!strcmp(text.data, some->line[i]))
				used[k] = good = true;
		}
	}
	buf_release(&text);
	free(used);
	return good;
}

static struct lines server_lines(MYSQL_RES *result)
{
	struct lines l = {calloc(mysql_num_rows(result) + 1, sizeof(char *)), 0};
	unsigned columns = mysql_num_fields(result);
	struct buf text = BUF_INIT;
	MYSQL_ROW row;

	while ((row = mysql_fetch_row(result))) {
		unsigned long *lengths = mysql_fetch_lengths(result);

		buf_clear(&text);
		for (unsigned i = 0; i < columns; i++) {
			if (i)
				buf_add_char(&text, '\t');
			buf_add(&text, row[i] ? row[i] : "NULL", row[i] ? lengths[i] : 4);
		}
		l.line[l.count++] = strdup(columns ? text.data : "");
	}
	buf_release(&text);
	return l;
}

static void compare_result(
	struct state *s, const char *sql, const struct eval_result *r, MYSQL_RES *result)
{
	struct lines ours = {calloc(r->row_count + 1, sizeof(char *)), 0};
	struct lines theirs = server_lines(result);
	struct buf text = BUF_INIT;
	size_t certain = r->open_count ? r->open_from : r->row_count;
	bool same = theirs.count == r->row_count;

	for (size_t i = 0; i < r->row_count; i++) {
		buf_clear(&text);
		print_row(r, r->rows[i], &text);
		ours.line[ours.count++] = strdup(text.data ? text.data : "");
	}
	if (same) {
		struct lines tail = theirs;

		if (r->open_count)
			same = among_open(r, &tail, certain);
		ours.count = theirs.count = certain;
		sort_groups(r, &ours);
		sort_groups(r, &theirs);
		for (size_t i = 0; i < certain && same; i++)
			same = !strcmp(ours.line[i], theirs.line[i]);
		ours.count = theirs.count = r->row_count;
	}
	if (!same) {
		char what[700];
		size_t at = 0;

		while (at < ours.count && at < theirs.count &&
			!strcmp(ours.line[at], theirs.line[at]))
			at++;
		snprintf(what, sizeof(what), "ours %zu rows, theirs %zu; first: [%.250s] [%.250s]",
			ours.count, theirs.count, at < ours.count ? ours.line[at] : "",
			at < theirs.count ? theirs.line[at] : "");
		difference(s, sql, what);
	}
	free_lines(&ours);
	free_lines(&theirs);
	buf_release(&text);
}

static void one_query(struct state *s, const char *sql)
{
	struct eval_source source = source_of(s);
	struct eval_outcome outcome;
	struct eval_result r;
	struct eval_query *q;
	struct sql_stmt *stmt;
	struct err err;
	double start = cpu_now();
	bool good;
	char what[300];

	s->statements++;
	if (!sql_parse(&s->scratch, span_str(sql), &s->options, &stmt, &err)) {
		s->statements_unsupported++;
		count_reason(s, "the release lacks the syntax");
		return;
	}
	q = eval_query_compile(&s->scratch, stmt->u.query, &s->env, &source, &outcome);
	good = q && eval_query_run(q, &s->scratch, &s->env, &source, &r, &outcome);
	s->cpu += cpu_now() - start;
	count_features(s, stmt, good || outcome.status == EVAL_ERROR);
	if (!good && outcome.status == EVAL_UNSUPPORTED) {
		s->statements_unsupported++;
		count_reason(s, outcome.reason);
		return;
	}
	if (mysql_real_query(s->server, sql, strlen(sql)) == 0) {
		MYSQL_RES *result = mysql_store_result(s->server);

		if (result) {
			if (good) {
				compare_result(s, sql, &r, result);
			} else {
				snprintf(what, sizeof(what), "ours: error %u, the server has none",
					outcome.error);
				difference(s, sql, what);
			}
			mysql_free_result(result);
			return;
		}
	}
	if (mysql_errno(s->server) == 1969 || mysql_errno(s->server) == 3024) {
		s->statements_unsupported++;
		count_reason(s, "the server did not end");
		return;
	}
	if (mysql_errno(s->server) == 1038) { /* a text of 65535 characters is sorted */
		s->statements_unsupported++;
		count_reason(s, "the server had no room");
		return;
	}
	s->statement_errors++;
	if (good || outcome.error != mysql_errno(s->server)) {
		snprintf(what, sizeof(what), "ours: error %u, the server's %u: %.150s",
			good ? 0 : outcome.error, mysql_errno(s->server), mysql_error(s->server));
		difference(s, sql, what);
	}
}

static void fill_small(struct state *s, unsigned number)
{
	struct buf sql = BUF_INIT;
	struct generator *g = &s->generator;
	static const char *const texts[] = {"a", "b", "abc", "a_c", "1", "", "10"};

	buf_printf(&sql, "DELETE FROM %.*s", SPAN_ARG(s->tables[number]->name));
	must(s, sql.data);
	for (unsigned i = 0; i < 7; i++) {
		char v[20] = "NULL", s_text[20] = "NULL";

		if (random_below(&g->random, 5))
			snprintf(v, sizeof(v), "%d", (int)random_below(&g->random, 6) - 1);
		if (random_below(&g->random, 5))
			snprintf(s_text, sizeof(s_text), "'%s'",
				texts[random_below(&g->random, ARRAY_LEN(texts))]);
		buf_clear(&sql);
		buf_printf(&sql, "INSERT INTO %.*s VALUES (%u, %u, %s, %s)",
			SPAN_ARG(s->tables[number]->name), i + 1,
			(unsigned)random_below(&g->random, 4), v, s_text);
		must(s, sql.data);
	}
	load_rows(s, number);
	buf_release(&sql);
}

static void queries(struct state *s, unsigned long count)
{
	struct buf text = BUF_INIT;

	for (unsigned long i = 0; i < count; i++) {
		if (i % 500 == 0) {
			arena_clear(&s->rows);
			fill(s, 0, ROWS);
			fill_small(s, 1);
			fill_small(s, 2);
		}
		buf_clear(&text);
		generate_query(&s->generator, &text);
		one_query(s, text.data);
		arena_clear(&s->scratch);
	}
	buf_release(&text);
}

/* ---- changes ---- */

static bool change_ours(struct state *s, const struct sql_stmt *stmt, struct eval_value *before,
	const struct eval_value **row, struct eval_outcome *outcome)
{
	struct eval_source source = source_of(s);
	struct arena *a = &s->scratch;

	if (stmt->kind == SQL_STMT_INSERT) {
		struct eval_insert *insert =
			eval_insert_compile(a, stmt->u.insert, &s->env, &source, outcome);
		struct eval_rows rows;

		if (!insert || !eval_insert_rows(insert, a, &s->env, &source, &rows, outcome))
			return false;
		*row = rows.row[0];
		return true;
	} else {
		struct eval_change *change =
			eval_update_compile(a, stmt->u.update, &s->env, &source, outcome);
		bool changed;

		return change && eval_change_apply(change, a, &s->env, &source, before, row,
					 &changed, outcome);
	}
}

static void compare_row(struct state *s, const char *sql, const struct eval_value *ours, size_t id)
{
	const struct eval_table *t = s->tables[s->changed];
	struct buf a = BUF_INIT, b = BUF_INIT;
	char what[500];

	load_rows(s, s->changed);
	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct eval_value *theirs = &s->contents[s->changed].row[id][i];

		if (eval_same(&ours[i], theirs))
			continue;
		buf_clear(&a);
		buf_clear(&b);
		eval_print(&t->columns[i].type, &ours[i], &a);
		eval_print(&t->columns[i].type, theirs, &b);
		if (ours[i].kind == theirs->kind && span_eq(buf_span(&a), buf_span(&b)))
			continue;
		snprintf(what, sizeof(what), "column %.*s: ours '%.150s', the server's '%.150s'",
			SPAN_ARG(t->columns[i].name), a.data, b.data);
		difference(s, sql, what);
		break;
	}
	buf_release(&a);
	buf_release(&b);
}

static void one_change(struct state *s, const char *sql)
{
	struct eval_outcome outcome;
	const struct eval_value *row;
	struct sql_stmt *stmt;
	struct err err;
	char what[300];
	bool good;

	s->statements++;
	if (!sql_parse(&s->scratch, span_str(sql), &s->options, &stmt, &err)) {
		s->statements_unsupported++;
		count_reason(s, "the release lacks the syntax");
		return;
	}
	good = change_ours(
		s, stmt, (struct eval_value *)(uintptr_t)s->contents[s->changed].row[0], &row, &outcome);
	if (!good && outcome.status == EVAL_UNSUPPORTED) {
		s->statements_unsupported++;
		count_reason(s, outcome.reason);
		return;
	}
	must(s, "START TRANSACTION");
	if (mysql_real_query(s->server, sql, strlen(sql))) {
		s->statement_errors++;
		if (mysql_errno(s->server) == 1969) {
			s->statements_unsupported++;
			count_reason(s, "the server did not end");
			must(s, "ROLLBACK");
			return;
		}
		if (good || outcome.error != mysql_errno(s->server)) {
			snprintf(what, sizeof(what), "ours: error %u, the server's %u: %.150s",
				good ? 0 : outcome.error, mysql_errno(s->server),
				mysql_error(s->server));
			difference(s, sql, what);
		}
	} else if (!good) {
		snprintf(what, sizeof(what), "ours: error %u, the server has none", outcome.error);
		difference(s, sql, what);
	} else {
		compare_row(s, sql, row, stmt->kind == SQL_STMT_INSERT ? 1 : 0);
	}
	must(s, "ROLLBACK");
}

static void changes(struct state *s, unsigned long count)
{
	struct buf text = BUF_INIT;
	bool strict = true;

	s->changed = 3;
	s->shown = 3;
	for (unsigned long i = 0; i < count; i++) {
		if (i % 100 == 0) {
			strict = !strict;
			must(s, strict ? "SET sql_mode = 'STRICT_TRANS_TABLES,"
					 "ERROR_FOR_DIVISION_BY_ZERO'"
				       : "SET sql_mode = ''");
			s->env.mode = strict ? EVAL_MODE_STRICT_TRANS_TABLES |
						       EVAL_MODE_ERROR_FOR_DIVISION_BY_ZERO
					     : 0;
		}
		arena_clear(&s->rows);
		if (i % 20 == 0)
			fill(s, 3, 1);
		else
			load_rows(s, 3);
		buf_clear(&text);
		generate_change(&s->generator, 2, &text);
		one_change(s, text.data);
		arena_clear(&s->scratch);
	}
	buf_release(&text);
}

/* ---- what standard input has ---- */

static void print_value(const char *line, struct span value)
{
	printf("%s = %.*s\n", line, value.ptr ? (int)value.len : 4, value.ptr ? value.ptr : "NULL");
}

static void try_input(struct state *s)
{
	struct answer *batch = calloc(BATCH, sizeof(*batch));
	char *line = NULL;
	size_t size = 0;
	unsigned pending = 0;
	ssize_t len;

	fill(s, 0, ROWS);
	fill_small(s, 1);
	fill_small(s, 2);
	fill(s, 3, 1);
	s->changed = 3;
	while ((len = getline(&line, &size, stdin)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncasecmp(line, "SELECT ", 7) || !strncasecmp(line, "WITH ", 5)) {
			one_query(s, line);
		} else if (!strncasecmp(line, "UPDATE ", 7) || !strncasecmp(line, "INSERT ", 7)) {
			s->shown = 3;
			load_rows(s, 3);
			one_change(s, line);
			s->shown = 0;
		} else {
			one_expression(s, line, batch, &pending);
		}
		if (pending) {
			print_value(line, batch[0].value[0]);
			flush(s, batch, &pending);
		}
	}
	free(line);
	free(batch);
}

/* ---- JSON ---- */

/* What MySQL makes of a text; MariaDB keeps it as it is. */
static void json(struct state *s, unsigned long count)
{
	static const char *const then[] = {"UPDATE j SET b = a, a = v", "UPDATE j SET a = b",
		"UPDATE j SET a = v, b = a"};
	static const char *const queries[] = {"SELECT id, a, b IS NULL, v FROM j ORDER BY id",
		"SELECT COUNT(a), COUNT(b), COUNT(*) FROM j", "SELECT x.a, y.b FROM j x JOIN j y",
		"SELECT b FROM j WHERE a IS NOT NULL"};
	struct random *r = &s->generator.random;
	struct buf text = BUF_INIT, sql = BUF_INIT;

	if (s->env.flavour != SQL_MYSQL)
		return;
	add_table(s, "CREATE TABLE j (id INT PRIMARY KEY, a JSON, b JSON, "
		     "v VARCHAR(2000) CHARACTER SET utf8mb4) ENGINE=InnoDB");
	s->changed = 4;
	for (unsigned long i = 0; i < count; i++) {
		buf_clear(&text);
		generate_json(r, 3, &text);
		arena_clear(&s->rows);
		must(s, "DELETE FROM j");
		buf_clear(&sql);
		buf_printf(&sql, "INSERT INTO j VALUES (1, '{\"k\": [1, 2.5]}', NULL, '%s')",
			text.data);
		must(s, sql.data);
		load_rows(s, 4);
		buf_clear(&sql);
		buf_printf(&sql, "INSERT INTO j VALUES (2, '%s', NULL, 'x')", text.data);
		one_change(s, sql.data);
		load_rows(s, 4);
		one_change(s, then[random_below(r, ARRAY_LEN(then))]);
		load_rows(s, 4);
		one_query(s, queries[random_below(r, ARRAY_LEN(queries))]);
		arena_clear(&s->scratch);
	}
	buf_release(&text);
	buf_release(&sql);
}

/* JSON functions over columns of JSON and others, in queries and in what is stored. */
static void json_functions(struct state *s, unsigned long count)
{
	struct buf sql = BUF_INIT;
	unsigned number = s->table_count;

	add_table(s, s->env.flavour == SQL_MYSQL
			     ? "CREATE TABLE jf (id INT PRIMARY KEY, a JSON, v VARCHAR(2000) CHARACTER SET utf8mb4, "
			       "i INT) ENGINE=InnoDB"
			     : "CREATE TABLE jf (id INT PRIMARY KEY, a LONGTEXT CHARACTER SET utf8mb4 COLLATE "
			       "utf8mb4_bin CHECK (json_valid(a)), v VARCHAR(2000) CHARACTER SET utf8mb4, i INT) "
			       "ENGINE=InnoDB");
	s->changed = number;
	for (unsigned long i = 0; i < count; i++) {
		arena_clear(&s->rows);
		must(s, "DELETE FROM jf");
		for (unsigned id = 1; id <= 3; id++) {
			buf_clear(&sql);
			generate_json_row(&s->generator, id, &sql);
			/* Some are refused. */
			if (mysql_real_query(s->server, sql.data, sql.len) == 0)
				mysql_free_result(mysql_store_result(s->server));
		}
		load_rows(s, number);
		buf_clear(&sql);
		generate_json_query(&s->generator, &sql);
		one_query(s, sql.data);
		must(s, "DELETE FROM jf WHERE id > 1");
		load_rows(s, number);
		if (s->contents[number].count == 1) {
			buf_clear(&sql);
			generate_json_change(&s->generator, &sql);
			one_change(s, sql.data);
		}
		arena_clear(&s->scratch);
	}
	buf_release(&sql);
}

/* Joins of up to eight tables of up to a thousand rows. */
static void joins(struct state *s, unsigned long count)
{
	struct buf sql = BUF_INIT;

	arena_clear(&s->rows);
	for (unsigned i = 0; generated_join_tables[i].name; i++) {
		const struct generated_join_table *t = &generated_join_tables[i];

		buf_clear(&sql);
		buf_printf(&sql, "CREATE TABLE %s (%s) ENGINE=InnoDB", t->name, t->columns);
		add_table(s, sql.data);
		buf_clear(&sql);
		for (unsigned id = 1; id <= t->rows; id++) {
			if (id == 1)
				buf_printf(&sql, "INSERT INTO %s VALUES ", t->name);
			else
				buf_add_str(&sql, ", ");
			generate_join_row(&s->generator, i, id, &sql);
		}
		must(s, sql.data);
		load_rows(s, s->table_count - 1);
		buf_clear(&sql);
		buf_printf(&sql, "ANALYZE TABLE %s", t->name);
		must(s, sql.data);
	}
	for (unsigned long i = 0; i < count; i++) {
		buf_clear(&sql);
		generate_join_query(&s->generator, &sql);
		one_query(s, sql.data);
		arena_clear(&s->scratch);
	}
	buf_release(&sql);
}

/* ---- collations ---- */

enum { LETTERS_MAX = 20000, CODES_DENSE = 0x3400, CODES_PICTURES = 0x1f300, CODES_END = 0x1f650 };

struct letter {
	char text[5];
	uint8_t len;
	uint16_t collation;
};

static int by_weight(const void *a, const void *b)
{
	const struct letter *x = a, *y = b;
	bool unknown = false;
	int order = collation_compare(
		x->collation, span_of(x->text, x->len), span_of(y->text, y->len), &unknown);

	return order ? order : strcmp(x->text, y->text);
}

/* The characters beyond ASCII whose weight is known here, each alone and behind an "s", in our order:
 * where the server agrees on every two neighbours it agrees on all. */
static unsigned character_order(struct state *s, uint16_t collation)
{
	static struct letter letters[LETTERS_MAX];
	enum charset charset = collation_charset(collation);
	struct buf sql = BUF_INIT;
	unsigned count = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;

	for (uint32_t code = 0x80; code < CODES_END && count + 50 <= LETTERS_MAX;
		code += code < CODES_DENSE || code >= CODES_PICTURES ? 1 : 97) {
		struct letter *letter = &letters[count];
		bool unknown = false;

		if (code >= 0xd800 && code < 0xe000)
			continue;
		memset(letter, 0, sizeof(letter[0]) * 2);
		letter->collation = collation;
		letter->len = (uint8_t)char_put(charset, code, letter->text);
		if (!letter->len)
			continue;
		collation_compare(collation, span_of(letter->text, letter->len),
			span_of(letter->text, letter->len), &unknown);
		if (unknown)
			continue;
		count++;
		if (letter->len < 4) {
			letter[1] = (struct letter){"s", letter->len + 1, collation};
			memcpy(letter[1].text + 1, letter->text, letter->len);
			count++;
		}
	}
	for (const char *c = "abcdefghijklmnopqrstuvwxyz0123456789_-.,#"; *c; c++)
		letters[count++] = (struct letter){{*c}, 1, collation};
	qsort(letters, count, sizeof(letters[0]), by_weight);
	must(s, "TRUNCATE TABLE letters");
	for (unsigned i = 0; i < count; i++) {
		buf_printf(&sql, "%s(%u, 0x", sql.len ? "," : "INSERT INTO letters VALUES ", i);
		for (unsigned k = 0; k < letters[i].len; k++)
			buf_printf(&sql, "%02x", (unsigned char)letters[i].text[k]);
		buf_add_char(&sql, ')');
		if (i % 1000 == 999 || i + 1 == count) {
			must(s, sql.data);
			buf_clear(&sql);
		}
	}
	buf_printf(&sql,
		"SELECT a.pos, STRCMP(CONVERT(a.c USING %s) COLLATE %s, CONVERT(b.c USING %s) "
		"COLLATE %s) FROM letters a JOIN letters b ON b.pos = a.pos + 1",
		charset_name(charset), collation_name(collation), charset_name(charset),
		collation_name(collation));
	if (mysql_real_query(s->server, sql.data, sql.len)) {
		fprintf(stderr, "sql_eval: %s\n", mysql_error(s->server));
		exit(2);
	}
	result = mysql_store_result(s->server);
	while ((row = mysql_fetch_row(result))) {
		const struct letter *a = &letters[atoi(row[0])], *b = a + 1;
		bool unknown = false;
		char what[80];
		int ours = collation_compare(collation, span_of(a->text, a->len),
			span_of(b->text, b->len), &unknown);

		if (ours == atoi(row[1]))
			continue;
		snprintf(what, sizeof(what), "%s and %s: ours %d, the server's %s", a->text,
			b->text, ours, row[1]);
		difference(s, collation_name(collation), what);
	}
	mysql_free_result(result);
	buf_release(&sql);
	return count;
}

/* Every pair of bytes under every collation that the server knows too. */
static void collations(struct state *s)
{
	struct buf sql = BUF_INIT;
	unsigned compared = 0, characters = 0;

	must(s, "CREATE TABLE letters (pos INT PRIMARY KEY, c VARCHAR(5) CHARACTER SET utf8mb4)");
	must(s, "CREATE TABLE n (i INT)");
	for (unsigned i = 1; i < 256; i++) {
		buf_clear(&sql);
		buf_printf(&sql, "INSERT INTO n VALUES (%u)", i);
		must(s, sql.data);
	}
	for (uint16_t c = 0; c < COLLATION_COUNT; c++) {
		enum charset charset = collation_charset(c);
		unsigned last = charset == CHARSET_LATIN1 || charset == CHARSET_BINARY ? 255 : 127;
		MYSQL_RES *result;
		MYSQL_ROW row;

		buf_clear(&sql);
		buf_printf(&sql,
			"SELECT a.i, b.i, STRCMP(CONVERT(CHAR(a.i) USING %s) COLLATE %s, "
			"CONVERT(CHAR(b.i) USING %s) COLLATE %s) FROM n a, n b WHERE a.i <= %u AND "
			"b.i <= %u",
			charset_name(charset), collation_name(c), charset_name(charset),
			collation_name(c), last, last);
		if (mysql_real_query(s->server, sql.data, sql.len))
			continue; /* the other flavour's */
		result = mysql_store_result(s->server);
		compared++;
		while ((row = mysql_fetch_row(result))) {
			char a = (char)atoi(row[0]), b = (char)atoi(row[1]), what[80];
			bool unknown = false;
			int ours = collation_compare(c, span_of(&a, 1), span_of(&b, 1), &unknown);

			if (unknown || ours == atoi(row[2]))
				continue;
			snprintf(what, sizeof(what), "bytes %s and %s: ours %d, the server's %s",
				row[0], row[1], ours, row[2]);
			difference(s, collation_name(c), what);
		}
		mysql_free_result(result);
		if (charset_max_bytes(charset) > 1)
			characters += character_order(s, c);
	}
	must(s, "DROP TABLE n, letters");
	printf("%u collations compared, %u texts beyond ASCII\n", compared, characters);
	buf_release(&sql);
}

/* ---- the whole ---- */

static void summary(struct state *s)
{
	unsigned long all = s->expressions ? s->expressions : 1;

	if (s->statements)
		printf("%lu statements: %lu unsupported (%.2f %%), %lu errors; %lu differences in "
		       "all\n",
			s->statements, s->statements_unsupported,
			100.0 * (double)s->statements_unsupported / (double)s->statements,
			s->statement_errors, s->differences);

	printf("%lu expressions, %lu values: %lu differences, %lu errors, %lu unsupported (%.2f "
	       "%%), "
	       "%lu values unsupported (%.2f %%); %.0f expressions a second of CPU\n",
		s->expressions, s->values, s->differences, s->errors, s->unsupported,
		100.0 * (double)s->unsupported / (double)all, s->unsupported_values,
		100.0 * (double)s->unsupported_values /
			(double)(s->values + s->unsupported_values + !s->values),
		(double)s->expressions / (s->cpu > 0 ? s->cpu : 1));
	qsort(s->reasons, s->reason_count, sizeof(*s->reasons), by_count);
	for (unsigned i = 0; i < s->reason_count; i++)
		printf("  %8lu  %s\n", s->reasons[i].count, s->reasons[i].text);
	qsort(s->features, s->feature_count, sizeof(*s->features), by_name);
	for (unsigned i = 0; i < s->feature_count; i++)
		printf("coverage %-32s %8lu %8lu\n", s->features[i].name, s->features[i].count,
			s->features[i].decided);
}

static bool number_option(const char *arg, const char *name, unsigned long *out)
{
	size_t len = strlen(name);

	if (strncmp(arg, name, len) || arg[len] != '=')
		return false;
	*out = strtoul(arg + len + 1, NULL, 10);
	return true;
}

int main(int argc, char **argv)
{
	static struct state s;
	unsigned long seed = 1, expression_count = 0, query_count = 0, change_count = 0;
	unsigned long json_count = 0, json_function_count = 0, join_count = 0, increment = 4;
	struct buf sql = BUF_INIT;
	bool try = false, with_collations = false;
	const char *database = "sql_eval";

	s.show = 40;
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--try"))
			try = true;
		else if (!strcmp(argv[i], "--coverage"))
			s.coverage = true;
		else if (!strcmp(argv[i], "--collations"))
			with_collations = true;
		else if (!strncmp(argv[i], "--database=", 11))
			database = argv[i] + 11;
		else if (!number_option(argv[i], "--seed", &seed) &&
			 !number_option(argv[i], "--expressions", &expression_count) &&
			 !number_option(argv[i], "--queries", &query_count) &&
			 !number_option(argv[i], "--changes", &change_count) &&
			 !number_option(argv[i], "--json", &json_count) &&
			 !number_option(argv[i], "--json-functions", &json_function_count) &&
			 !number_option(argv[i], "--joins", &join_count) &&
			 !number_option(argv[i], "--div-precision-increment", &increment) &&
			 !number_option(argv[i], "--show", &s.show)) {
			fprintf(stderr, "sql_eval: what is %s?\n", argv[i]);
			return 2;
		}
	}
	if (argc < 2) {
		fprintf(stderr, "usage: sql_eval SOCKET [--seed=N] [--expressions=N] ...\n");
		return 2;
	}
	s.generator.random.state = seed;
	use(&s, argv[1], database);
	buf_printf(&sql, "SET div_precision_increment = %lu", increment);
	must(&s, sql.data);
	buf_clear(&sql);
	s.env.div_precision_increment = (uint8_t)increment;
	generate_create(&s.generator, "t", &sql);
	add_table(&s, sql.data);
	add_table(&s,
		"CREATE TABLE k (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(10)) ENGINE=InnoDB");
	add_table(&s,
		"CREATE TABLE m (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(10)) ENGINE=InnoDB");
	buf_clear(&sql);
	generate_create(&s.generator, "w", &sql);
	add_table(&s, sql.data);
	if (try)
		try_input(&s);
	if (with_collations)
		collations(&s);
	if (expression_count)
		expressions(&s, expression_count);
	if (query_count)
		queries(&s, query_count);
	if (change_count)
		changes(&s, change_count);
	if (json_count)
		json(&s, json_count);
	if (json_function_count)
		json_functions(&s, json_function_count);
	if (join_count)
		joins(&s, join_count);
	summary(&s);
	buf_release(&sql);
	arena_release(&s.schema);
	arena_release(&s.rows);
	arena_release(&s.scratch);
	mysql_close(s.server);
	mysql_library_end();
	return s.differences ? 1 : 0;
}
