/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the list of what the evaluator refuses (oracles/eval/limits): TAP on standard output.
 *
 *	sql_eval_limits ROWS PAGE      checks the examples, and that PAGE is what --page prints
 *	sql_eval_limits ROWS --page    prints docs/internals/sql-exclusions.md
 *	sql_eval_limits ROWS --try     examples from standard input, one a line: what each server says
 *
 * ROWS has INSERT statements for the tables of the examples: t and w (a column of every type), k and m
 * (id, g, v, s), jf (a: JSON, v, i).  No server takes part.
 *
 * An example is one statement, after others that prepare it, separated by "; ": CREATE TABLE, INSERT,
 * and settings (see `settings`), some of which only this program has.  {5:text} stands for the text five
 * times.  It must be refused with its limit on a release that the limit has, and must not be refused
 * with that limit on a release that it has not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/bug.h"
#include "eval/eval.h"
#include "eval/value/collation.h"
#include "eval_random.h"
#include "eval_tables.h"

/* Releases on both sides of every border that a limit has. */
static const char *const releases[] = {"10.5.29-MariaDB", "10.6.23-MariaDB", "10.11.14-MariaDB",
	"10.11.19-MariaDB", "11.4.8-MariaDB", "11.8.6-MariaDB", "11.8.9-MariaDB", "12.1.2-MariaDB",
	"5.6.51", "5.7.44", "8.0.45", "8.4.3", "9.4.0", "9.7.0"};
enum { RELEASES = ARRAY_LEN(releases) };

struct server {
	struct sql_options options;
	struct eval_env env;
	struct arena arena, scratch;
	struct eval_tables tables;
	const struct eval_table *lost; /* its rows are not known; NULL: none */
	bool stored; /* the first derived table of a FROM clause */
};

/* ---- tables and rows ---- */

static void create(struct server *s, struct arena *arena, const struct sql_create_table *create,
	struct eval_outcome *o)
{
	struct eval_table *t = eval_table_create(arena, create, &s->env, o);

	if (!t)
		return;
	CHECK(s->tables.count < EVAL_TABLES_MAX);
	s->tables.contents[s->tables.count] = (struct eval_rows){0};
	s->tables.list[s->tables.count++] = t;
}

static void insert(struct server *s, struct arena *arena, const struct sql_insert *stmt,
	struct eval_outcome *o)
{
	struct eval_source source = eval_tables_source(&s->tables);
	struct eval_insert *insert = eval_insert_compile(arena, stmt, &s->env, &source, o);
	const struct eval_value **all;
	struct eval_rows made, *rows = NULL;

	if (!insert || !eval_insert_rows(insert, arena, &s->env, &source, &made, o))
		return;
	for (unsigned i = 0; i < s->tables.count; i++) {
		if (s->tables.list[i] == eval_insert_table(insert))
			rows = &s->tables.contents[i];
	}
	CHECK(rows);
	all = arena_alloc(arena, (rows->count + made.count + 1) * sizeof(*all));
	for (size_t i = 0; i < rows->count; i++)
		all[i] = rows->row[i];
	for (size_t i = 0; i < made.count; i++)
		all[rows->count + i] = made.row[i];
	*rows = (struct eval_rows){all, rows->count + made.count};
}

static void prepare_tables(struct server *s, const char *rows_path)
{
	static const char *const others[] = {
		"CREATE TABLE k (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(10))",
		"CREATE TABLE m (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(10))"};
	bool mysql = s->env.flavour == SQL_MYSQL, json = !mysql || s->env.version >= 80000;
	struct generator g = {.mysql = mysql, .version = s->env.version};
	struct buf sql = BUF_INIT;
	struct eval_outcome o;
	struct sql_stmt *stmt;
	struct err err;
	char *line = NULL;
	size_t size = 0;
	FILE *file;

	g.newest_collation = mysql ? (s->env.version >= 80000 ? "utf8mb4_0900_ai_ci" : "utf8mb4_bin")
				   : (s->env.version >= 101000 ? "utf8mb4_uca1400_ai_ci"
							       : "utf8mb4_general_nopad_ci");
	for (unsigned i = 0; i < 5; i++) {
		buf_clear(&sql);
		if (i == 0 || i == 3)
			generate_create(&g, i ? "w" : "t", &sql);
		else if (i < 3)
			buf_add_str(&sql, others[i - 1]);
		else
			buf_printf(&sql, "CREATE TABLE jf (id INT PRIMARY KEY, a %s, v VARCHAR(2000), i INT)",
				json ? "JSON" : "LONGTEXT");
		if (!sql_parse(&s->arena, arena_copy(&s->arena, buf_span(&sql)), &s->options, &stmt, &err))
			BUG("%s: %s", sql.data, err.text);
		o = (struct eval_outcome){0};
		create(s, &s->arena, stmt->u.create_table, &o);
		if (o.status != EVAL_OK)
			BUG("%s: %s", sql.data, o.reason);
	}
	file = fopen(rows_path, "r");
	if (!file)
		BUG("%s: no such file", rows_path);
	while (getline(&line, &size, file) > 0) {
		struct span text = arena_copy(&s->arena, span_of(line, strcspn(line, "\n")));

		if (!sql_parse(&s->arena, text, &s->options, &stmt, &err))
			BUG("%s: %s", line, err.text);
		o = (struct eval_outcome){0};
		insert(s, &s->arena, stmt->u.insert, &o);
		if (o.status != EVAL_OK)
			BUG("%s: %s", line, o.reason);
	}
	fclose(file);
	free(line);
	buf_release(&sql);
}

static void begin(struct server *s, const char *release, const char *rows_path)
{
	memset(s, 0, sizeof(*s));
	s->options = sql_options_for_server(span_str(release));
	s->env = eval_env_for_server(span_str(release));
	s->env.zone_known = s->env.has_now = true;
	s->env.now = (struct eval_time){
		.year = 2024, .month = 2, .day = 29, .hour = 12, .minute = 34, .second = 56};
	s->env.mode = 0;
	prepare_tables(s, rows_path);
	s->env.mode = EVAL_MODE_STRICT_TRANS_TABLES | EVAL_MODE_ERROR_FOR_DIVISION_BY_ZERO;
}

/* ---- examples ---- */

static bool starts(struct span s, const char *with)
{
	return s.len >= strlen(with) && !memcmp(s.ptr, with, strlen(with));
}

static void set_mode(struct server *s, const char *value, size_t len)
{
	s->env.mode = eval_mode_flags(span_of(value, len));
}

static void set_names(struct server *s, const char *value, size_t len)
{
	(void)value, (void)len;
	s->env.other_names = true;
}

static void set_concat_max(struct server *s, const char *value, size_t len)
{
	(void)len;
	s->env.group_concat_max_len = (uint32_t)atoi(value);
}

static void set_time_unknown(struct server *s, const char *value, size_t len)
{
	(void)value, (void)len;
	s->env.has_now = false;
}

static void set_time_opaque(struct server *s, const char *value, size_t len)
{
	static uint64_t count;

	(void)value, (void)len;
	s->env.has_now = false;
	s->env.opaque_count = &count;
}

static void set_zone_unknown(struct server *s, const char *value, size_t len)
{
	(void)value, (void)len;
	s->env.zone_known = false;
}

static void set_rows_max(struct server *s, const char *value, size_t len)
{
	(void)len;
	s->env.rows_max = (size_t)atoi(value);
}

static void set_steps_max(struct server *s, const char *value, size_t len)
{
	(void)len;
	s->env.steps_max = (uint64_t)atoi(value);
}

static void set_bytes_max(struct server *s, const char *value, size_t len)
{
	(void)len;
	s->env.bytes_max = (size_t)atoi(value);
}

static void set_literals_unknown(struct server *s, const char *value, size_t len)
{
	(void)value, (void)len;
	s->env.literals_uncertain = true;
}

static void set_collation(struct server *s, const char *value, size_t len)
{
	s->env.collation_connection = collation_find(span_of(value, len));
}

static void set_stored(struct server *s, const char *value, size_t len)
{
	(void)value, (void)len;
	s->stored = true;
}

static void set_local(struct server *s, const char *value, size_t len)
{
	static struct eval_local local;
	static struct eval_value v;
	static const struct eval_locals locals = {&local, 1, &v};

	local = (struct eval_local){.name = SPAN_LIT("v"), .type = s->tables.list[1]->columns[3].type};
	v = eval_string(span_of(value, len), local.type.collation);
	s->env.locals = &locals;
}

static void lose_rows(struct server *s, const char *value, size_t len)
{
	(void)value, (void)len;
	s->lost = s->tables.list[1];
}

/* What an example may set before its statement. */
static const struct {
	const char *text; /* with a value after it where it ends with '=' */
	void (*set)(struct server *s, const char *value, size_t len);
} settings[] = {
	{"SET sql_mode =", set_mode},
	{"SET lc_time_names =", set_names},
	{"SET group_concat_max_len =", set_concat_max},
	{"SET timestamp = DEFAULT", set_time_unknown}, /* the time is not known */
	{"SET timestamp = OPAQUE", set_time_opaque},   /* ... and may be stored without being known */
	{"SET time_zone = UNKNOWN", set_zone_unknown},
	{"SET max_rows =", set_rows_max},              /* the bounds of an evaluation */
	{"SET max_steps =", set_steps_max},
	{"SET max_bytes =", set_bytes_max},
	{"SET collation_connection = UNKNOWN", set_literals_unknown},
	{"SET collation_connection =", set_collation},
	{"STORE DERIVED TABLES", set_stored},          /* as the server does with views of ALGORITHM=TEMPTABLE */
	{"DECLARE v =", set_local},                    /* of a stored program, VARCHAR(9) */
	{"LOSE ROWS OF k", lose_rows},                 /* the rows of k are not known */
};

static bool set(struct server *s, struct span text)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		size_t len = strlen(settings[i].text);

		if (!starts(text, settings[i].text))
			continue;
		while (len < text.len && (text.ptr[len] == ' ' || text.ptr[len] == '\''))
			len++;
		settings[i].set(s, text.ptr + len,
			text.len - len - (len < text.len && text.ptr[text.len - 1] == '\''));
		return true;
	}
	return false;
}

static bool find_rows(void *ctx, const struct eval_table *table, const struct sql_table_ref *ref,
	struct eval_rows *out)
{
	struct server *s = ctx;

	return table != s->lost && eval_tables_rows(&s->tables, table, ref, out);
}

static const struct eval_table *find_table(void *ctx, const struct sql_table_name *name)
{
	struct server *s = ctx;

	return eval_tables_find(&s->tables, name);
}

static void run_select(struct server *s, const struct sql_query *query, struct eval_outcome *o)
{
	struct eval_source source = {find_table, find_rows, s};
	struct sql_table_ref *from = s->stored ? query->u.select.from : NULL;
	struct eval_query *q;
	struct eval_result r;

	if (from && from->kind == SQL_TABLE_DERIVED)
		from->u.derived.stored = true;
	q = eval_query_compile(&s->scratch, query, &s->env, &source, o);
	if (q && !eval_query_run(q, &s->scratch, &s->env, &source, &r, o))
		CHECK(o->status != EVAL_OK);
}

static void run_change(struct server *s, const struct sql_stmt *stmt, struct eval_outcome *o)
{
	struct eval_source source = eval_tables_source(&s->tables);
	struct arena *a = &s->scratch;
	struct eval_change *change =
		stmt->kind == SQL_STMT_UPDATE
			? eval_update_compile(a, stmt->u.update, &s->env, &source, o)
			: eval_delete_compile(a, stmt->u.del, &s->env, &source, o);
	struct eval_rows rows;

	if (!change || !eval_tables_rows(&s->tables, eval_change_table(change), NULL, &rows))
		return;
	for (size_t i = 0; i < rows.count && o->status == EVAL_OK; i++) {
		const struct eval_value *row;
		enum eval_truth truth;
		bool changed;

		if (eval_change_test(change, a, &s->env, &source, rows.row[i], &truth, o) &&
			truth == EVAL_TRUE && stmt->kind == SQL_STMT_UPDATE &&
			eval_change_apply(change, a, &s->env, &source, rows.row[i], &row, &changed, o) &&
			!eval_check(a, &s->env, eval_change_table(change), row, o))
			return;
	}
}

static void run_join(struct server *s, const struct sql_stmt *stmt, struct eval_outcome *o)
{
	struct eval_source source = eval_tables_source(&s->tables);
	struct eval_join *join = eval_join_compile(&s->scratch, stmt, &s->env, &source, o);
	const uint32_t *matches;
	size_t count;

	if (join && !eval_join_run(join, &s->scratch, &s->env, &source, &matches, &count, o))
		CHECK(o->status != EVAL_OK);
}

static void run_insert(struct server *s, const struct sql_insert *stmt, struct eval_outcome *o)
{
	struct eval_source source = eval_tables_source(&s->tables);
	struct arena *a = &s->scratch;
	struct eval_insert *insert = eval_insert_compile(a, stmt, &s->env, &source, o);
	const struct eval_value *row;
	struct eval_rows made, old;

	if (!insert || !eval_insert_rows(insert, a, &s->env, &source, &made, o) ||
		!eval_tables_rows(&s->tables, eval_insert_table(insert), NULL, &old))
		return;
	for (size_t i = 0; i < made.count && o->status == EVAL_OK; i++) {
		if (stmt->on_duplicate && old.count &&
			!eval_insert_duplicate(
				insert, a, &s->env, &source, old.row[0], made.row[i], &row, o))
			return;
		if (!eval_check(a, &s->env, eval_insert_table(insert), made.row[i], o))
			return;
	}
}

/* What the last statement of an example meets; `other` too, for UPDATE and DELETE of several tables. */
static void run_last(struct server *s, const struct sql_stmt *stmt, struct eval_outcome *o,
	struct eval_outcome *other)
{
	if (stmt->kind == SQL_STMT_SELECT) {
		run_select(s, stmt->u.query, o);
	} else if (stmt->kind == SQL_STMT_INSERT || stmt->kind == SQL_STMT_REPLACE) {
		run_insert(s, stmt->u.insert, o);
	} else if (stmt->kind == SQL_STMT_UPDATE || stmt->kind == SQL_STMT_DELETE) {
		run_change(s, stmt, o);
		if (o->status == EVAL_UNSUPPORTED && o->limit == LIMIT_SEVERAL_TABLES)
			run_join(s, stmt, other);
	} else if (stmt->kind == SQL_STMT_CREATE_TABLE) {
		create(s, &s->scratch, stmt->u.create_table, o);
	} else {
		run_join(s, stmt, o);
	}
}

struct met {
	struct eval_outcome outcome, other;
	bool lacks_syntax;
};

static bool is_met(const struct met *m, enum eval_limit limit)
{
	return (m->outcome.status == EVAL_UNSUPPORTED && m->outcome.limit == limit) ||
	       (m->other.status == EVAL_UNSUPPORTED && m->other.limit == limit);
}

/* {5:text}: five times the text. */
static struct span expand(struct arena *arena, const char *example)
{
	struct buf out = BUF_INIT;
	struct span text;

	for (const char *p = example; *p; p++) {
		char *colon, *end;
		unsigned long times = *p == '{' ? strtoul(p + 1, &colon, 10) : 0;

		if (!times || *colon != ':' || !(end = strchr(colon, '}'))) {
			buf_add_char(&out, *p);
			continue;
		}
		while (times--)
			buf_add(&out, colon + 1, (size_t)(end - colon - 1));
		p = end;
	}
	text = arena_copy(arena, buf_span(&out));
	buf_release(&out);
	return text;
}

/* The server's tables and settings are afterwards as they were. */
static struct met run_example(const struct server *server, const char *example)
{
	struct server s = *server;
	struct met m = {0};
	struct span rest;

	s.scratch = ARENA_INIT;
	rest = expand(&s.scratch, example);
	while (rest.len && !m.lacks_syntax && m.outcome.status == EVAL_OK) {
		const char *end = memmem(rest.ptr, rest.len, "; ", 2);
		struct span text = span_of(rest.ptr, end ? (size_t)(end - rest.ptr) : rest.len);
		struct sql_stmt *stmt;
		struct err err;

		rest = end ? span_of(end + 2, rest.len - text.len - 2) : SPAN_NONE;
		if (end && set(&s, text))
			continue;
		if (!sql_parse(&s.scratch, text, &s.options, &stmt, &err))
			m.lacks_syntax = true;
		else if (!end)
			run_last(&s, stmt, &m.outcome, &m.other);
		else if (stmt->kind == SQL_STMT_INSERT)
			insert(&s, &s.scratch, stmt->u.insert, &m.outcome);
		else if (stmt->kind == SQL_STMT_CREATE_TABLE)
			create(&s, &s.scratch, stmt->u.create_table, &m.outcome);
		else
			BUG("%s: what prepares an example is SET, CREATE TABLE or INSERT", example);
	}
	arena_release(&s.scratch);
	return m;
}

/* ---- the page ---- */

static void print_release(FILE *out, uint32_t version)
{
	if (version % 100)
		fprintf(out, "%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
	else
		fprintf(out, "%u.%u", version / 10000, version / 100 % 100);
}

static void print_releases(FILE *out, const char *server, struct limit_releases r)
{
	fprintf(out, "%s", server);
	if (r.first) {
		fprintf(out, " %s ", r.last == UINT32_MAX ? "since" : "from");
		print_release(out, r.first);
	}
	if (r.last != UINT32_MAX) {
		fprintf(out, " before ");
		print_release(out, r.last + 1);
	}
}

static void print_servers(FILE *out, const struct limit_info *l)
{
	bool mariadb = l->mariadb.first <= l->mariadb.last, mysql = l->mysql.first <= l->mysql.last;

	if (mariadb && mysql && !l->mariadb.first && !l->mysql.first && l->mariadb.last == UINT32_MAX &&
		l->mysql.last == UINT32_MAX) {
		fprintf(out, "all");
		return;
	}
	if (mariadb)
		print_releases(out, "MariaDB", l->mariadb);
	if (mariadb && mysql)
		fprintf(out, ", ");
	if (mysql)
		print_releases(out, "MySQL", l->mysql);
}

static void print_example(FILE *out, const char *example)
{
	if (!*example)
		return;
	/* `` ` `` is how Markdown quotes a backtick; a bar would end the cell. */
	fprintf(out, "`");
	for (const char *p = example; *p; p++)
		fprintf(out, "%s%c", *p == '|' ? "\\" : "", *p == '`' ? '\'' : *p);
	fprintf(out, "`");
}

static void print_page(FILE *out)
{
	const char *subject = "";

	fprintf(out, "# SQL: what the evaluator refuses\n\n"
	       "This page is made from `oracles/eval/limits`: `sql_eval_limits ROWS --page` prints it, and the\n"
	       "test `eval limits` fails where the page differs.  [The evaluator](../sql-evaluator.md) says what\n"
	       "is modelled.\n\n"
	       "The reason is the one that a verdict shows for a statement it did not decide.  The releases are\n"
	       "those in which the reason can appear.  The example is a statement that is refused for it, over\n"
	       "the tables of `tests/sql/eval_limits.c`: `t` and `w` have a column of every type, `k` and `m`\n"
	       "are `(id, g, v, s)`, `jf` has JSON.  Settings before the statement that no server has are those of\n"
	       "that program: bounds, tables whose rows are not known, times that only the server knows.\n");
	for (int i = LIMIT_NONE + 1; i < LIMIT_COUNT; i++) {
		const struct limit_info *l = limit_info((enum eval_limit)i);

		if (strcmp(l->subject, subject) != 0) {
			subject = l->subject;
			fprintf(out, "\n## %c%s\n\n| reason | servers | example |\n| --- | --- | --- |\n",
				subject[0] - 32, subject + 1);
		}
		fprintf(out, "| %s | ", l->reason);
		print_servers(out, l);
		fprintf(out, " | ");
		print_example(out, l->example);
		fprintf(out, " |\n");
	}
}

/* Is the file what print_page() prints? */
static bool page_is_current(const char *path)
{
	char *mine = NULL, *line = NULL;
	size_t size = 0, line_size = 0, at = 0;
	FILE *out = open_memstream(&mine, &size), *file = fopen(path, "r");
	bool same = file != NULL;

	print_page(out);
	fclose(out);
	while (same) {
		ssize_t got = getline(&line, &line_size, file);

		if (got < 0)
			break;
		same = at + (size_t)got <= size && !memcmp(mine + at, line, (size_t)got);
		at += (size_t)got;
	}
	same = same && at == size;
	if (file)
		fclose(file);
	free(line);
	free(mine);
	return same;
}

/* ---- the whole ---- */

static struct server servers[RELEASES];

static void try_input(void)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		printf("%s\n", line);
		for (unsigned k = 0; k < RELEASES; k++) {
			struct met m = run_example(&servers[k], line);

			printf("    %-18s %s%s\n", releases[k],
				m.lacks_syntax                         ? "no such syntax"
				: m.outcome.status == EVAL_UNSUPPORTED ? limit_info(m.outcome.limit)->name
				: m.outcome.status == EVAL_ERROR       ? m.outcome.reason
								       : "computed",
				m.other.status == EVAL_UNSUPPORTED ? limit_info(m.other.limit)->name : "");
		}
	}
	free(line);
}

/* False: a problem was printed. */
static bool check_limit(enum eval_limit limit)
{
	const struct limit_info *l = limit_info(limit);
	/* For what the parser never gives the evaluator. */
	bool met = limit == LIMIT_EXPRESSION_NOT_MODELLED && !*l->example, good = true;

	for (unsigned k = 0; k < RELEASES && *l->example; k++) {
		struct met m = run_example(&servers[k], l->example);
		bool covers = limit_covers(limit, servers[k].env.flavour, servers[k].env.version);

		met |= covers && is_met(&m, limit);
		if (!covers && is_met(&m, limit)) {
			printf("# %s: met by %s, which the list does not name\n", l->name, releases[k]);
			good = false;
		}
	}
	if (!met)
		printf("# %s: no release meets it: %s\n", l->name, l->example);
	return good && met;
}

int main(int argc, char **argv)
{
	unsigned tests = 0;
	bool good = true, all = true;

	if (argc != 3) {
		fprintf(stderr, "usage: sql_eval_limits ROWS PAGE|--page|--try\n");
		return 2;
	}
	if (!strcmp(argv[2], "--page")) {
		print_page(stdout);
		return 0;
	}
	for (unsigned k = 0; k < RELEASES; k++)
		begin(&servers[k], releases[k], argv[1]);
	if (!strcmp(argv[2], "--try")) {
		try_input();
		return 0;
	}
	for (int i = LIMIT_NONE + 1; i < LIMIT_COUNT; i++) {
		const char *subject = limit_info((enum eval_limit)i)->subject;

		good &= check_limit((enum eval_limit)i);
		if (i + 1 < LIMIT_COUNT && !strcmp(subject, limit_info((enum eval_limit)(i + 1))->subject))
			continue;
		printf("%s %u - limits of %s are met by their examples\n", good ? "ok" : "not ok", ++tests,
			subject);
		all &= good;
		good = true;
	}
	good = page_is_current(argv[2]);
	printf("%s %u - the page of exclusions is the list\n1..%u\n", good ? "ok" : "not ok", tests + 1,
		tests + 1);
	for (unsigned k = 0; k < RELEASES; k++) {
		arena_release(&servers[k].arena);
		arena_release(&servers[k].scratch);
	}
	return all && good ? 0 : 1;
}
