/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast the evaluator is: compiled expressions a second, and statements compiled and run. */
#include <stdio.h>
#include <time.h>

#include "base/bug.h"
#include "eval/eval.h"

static const struct eval_table *table;
static struct eval_rows rows;

static const struct eval_table *find_table(void *ctx, const struct sql_table_name *name)
{
	(void)ctx;
	(void)name;
	return table;
}

static bool find_rows(void *ctx, const struct eval_table *t, const struct sql_table_ref *ref,
	struct eval_rows *out)
{
	(void)ctx;
	(void)t;
	(void)ref;
	*out = rows;
	return true;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* the machine may be busy */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct sql_stmt *parse(struct arena *arena, const char *sql)
{
	struct sql_options opt = sql_options_default();
	struct sql_stmt *stmt;
	struct err err;

	if (!sql_parse(arena, span_str(sql), &opt, &stmt, &err))
		BUG("%s: %s", sql, err.text);
	return stmt;
}

static void report(const char *name, size_t count, double seconds)
{
	printf("%-34s %10.0f a second  %6.0f ns each\n", name, (double)count / seconds,
		seconds * 1e9 / (double)count);
}

static void expressions(const struct eval_env *env, const char *text)
{
	struct arena arena = ARENA_INIT, scratch = ARENA_INIT;
	struct eval_outcome outcome;
	struct eval_expr *expr = eval_expr_compile(
		&arena, parse(&arena, text)->u.exprs.first, table, SPAN_NONE, env, NULL, &outcome);
	size_t count = 0;
	double start = now(), end;
	struct eval_value v;

	if (!expr)
		BUG("%s: %s", text, outcome.reason);
	do {
		for (int i = 0; i < 10000; i++, count++) {
			if (!eval_expr_run(expr, &scratch, env, NULL, rows.row[count % rows.count],
				    &v, &outcome))
				BUG("%s: %s", text, outcome.reason);
		}
		arena_clear(&scratch);
		end = now();
	} while (end - start < 0.5);
	report(text, count, end - start);
	arena_release(&scratch);
	arena_release(&arena);
}

static void queries(const struct eval_env *env, const char *text, int times)
{
	struct eval_source source = {find_table, find_rows, NULL};
	struct arena arena = ARENA_INIT, scratch = ARENA_INIT;
	struct sql_stmt *stmt = parse(&arena, text);
	struct eval_outcome outcome;
	struct eval_result result;
	size_t count = 0;
	double start = now(), end;

	do {
		for (int i = 0; i < times; i++, count++) {
			struct eval_query *q =
				eval_query_compile(&scratch, stmt->u.query, env, &source, &outcome);

			if (!q || !eval_query_run(q, &scratch, env, &source, &result, &outcome))
				BUG("%s: %s", text, outcome.reason);
			arena_clear(&scratch);
		}
		end = now();
	} while (end - start < 0.5);
	report(text, count, end - start);
	arena_release(&scratch);
	arena_release(&arena);
}

int main(void)
{
	struct arena arena = ARENA_INIT;
	struct eval_env env = eval_env_default();
	struct eval_outcome outcome;
	static struct eval_value values[4][4];
	static const struct eval_value *pointers[4];
	enum { JOINED = 1000 };
	static struct eval_value joined[JOINED][4];
	static const struct eval_value *joined_rows[JOINED];

	table = eval_table_create(&arena,
		parse(&arena, "CREATE TABLE t (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(10))")
			->u.create_table,
		&env, &outcome);
	if (!table)
		BUG("%s", outcome.reason);
	for (int i = 0; i < 4; i++) {
		values[i][0] = eval_int(i);
		values[i][1] = eval_int(i % 2);
		values[i][2] = eval_int(10 * i);
		values[i][3] = eval_string(SPAN_LIT("abc"), env.collation_connection);
		pointers[i] = values[i];
	}
	rows = (struct eval_rows){pointers, 4};
	expressions(&env, "DO (id = 2)");
	expressions(&env, "DO (v + 1)");
	expressions(&env, "DO (v / 3 > 1.5 AND s LIKE 'a%')");
	expressions(&env, "DO (CONCAT(s, id))");
	queries(&env, "SELECT v FROM t WHERE id = 2", 1000);
	queries(&env, "SELECT * FROM t ORDER BY v DESC", 1000);
	queries(&env, "SELECT g, COUNT(*), SUM(v) FROM t GROUP BY g", 1000);
	queries(&env, "SELECT a.v FROM t a JOIN t b ON a.id = b.g", 1000);
	/* A thousand rows. */
	for (int i = 0; i < JOINED; i++) {
		joined[i][0] = eval_int(i);
		joined[i][1] = eval_int(i * 7 % JOINED);
		joined[i][2] = eval_int(10 * i);
		joined[i][3] = values[0][3];
		joined_rows[i] = joined[i];
	}
	rows = (struct eval_rows){joined_rows, JOINED};
	queries(&env, "SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f WHERE a.id = b.g AND b.id = c.g AND "
		      "c.id = d.g AND d.id = e.g AND e.id = f.g AND a.v > 100", 1);
	arena_release(&arena);
	return 0;
}
