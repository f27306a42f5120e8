/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as SQL, evaluated over a small table of every type.  The first byte chooses flavour and
 * sql_mode.  Whatever the text, the evaluator ends, within its bounds, with a value, an error or
 * "unsupported", and twice with the same.  Seeds: tests/fuzz/eval.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/bug.h"
#include "eval/eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char create[] =
	"CREATE TABLE t (id INT PRIMARY KEY, i BIGINT, u BIGINT UNSIGNED, d DECIMAL(20,5), f "
	"DOUBLE, "
	"r FLOAT, s VARCHAR(20), c CHAR(5), b VARBINARY(9), l VARCHAR(9) CHARACTER SET latin1, "
	"da DATE, tm TIME(3), dt DATETIME(6), y YEAR, e ENUM('a','b'), st SET('x','y'), bt BIT(5), "
	"gc BIGINT AS (i + 1) VIRTUAL, CHECK (id > -5))";
static const char insert[] =
	"INSERT INTO t (id, i, u, d, f, r, s, c, b, l, da, tm, dt, y, e, st, bt) VALUES "
	"(1, -9223372036854775807, 18446744073709551615, -99.5, -0e0, 1.1, '1abc', 'a', 'x', 'y', "
	"'2024-02-29', '-01:02:03.5', '9999-12-31 23:59:59.999999', 1999, 'b', 'x,y', 3), "
	"(2, NULL, 0, 0.00001, 1e300, NULL, '', NULL, NULL, '%', NULL, NULL, NULL, NULL, NULL, '', "
	"0)";

struct world {
	const struct eval_table *table;
	struct eval_rows rows;
};

static const struct eval_table *find_table(void *ctx, const struct sql_table_name *name)
{
	const struct world *w = ctx;

	return span_eq_str(name->name, "t") ? w->table : NULL;
}

static bool find_rows(void *ctx, const struct eval_table *table, const struct sql_table_ref *ref,
	struct eval_rows *out)
{
	const struct world *w = ctx;

	(void)table;
	(void)ref;
	*out = w->rows;
	return true;
}

static struct sql_stmt *parse(struct arena *arena, struct span text, const struct sql_options *opt)
{
	struct sql_stmt *stmt;
	struct err err;

	return sql_parse(arena, text, opt, &stmt, &err) ? stmt : NULL;
}

static void print_all(const struct eval_result *r, struct buf *out)
{
	for (size_t i = 0; i < r->row_count; i++) {
		for (uint32_t k = 0; k < r->column_count; k++) {
			eval_print(&r->types[k], &r->rows[i][k], out);
			eval_key(&r->types[k], &r->rows[i][k], out);
			CHECK(eval_same(&r->rows[i][k], &r->rows[i][k]));
		}
	}
}

static void run_query(struct arena *arena, const struct sql_query *query,
	const struct eval_env *env, const struct eval_source *source)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct eval_outcome a, b;
	struct eval_result r;
	struct eval_query *q = eval_query_compile(arena, query, env, source, &a);

	if (q) {
		bool first = eval_query_run(q, arena, env, source, &r, &a);

		CHECK(first == (a.status == EVAL_OK));
		if (first)
			print_all(&r, &once);
		CHECK(first == eval_query_run(q, arena, env, source, &r, &b));
		if (first)
			print_all(&r, &twice);
		CHECK(a.status == b.status && a.error == b.error);
		CHECK(span_eq(buf_span(&once), buf_span(&twice)));
	} else {
		CHECK(a.status != EVAL_OK);
	}
	buf_release(&once);
	buf_release(&twice);
}

static void run_change(struct arena *arena, const struct sql_stmt *stmt, const struct eval_env *env,
	const struct eval_source *source, const struct world *w)
{
	struct eval_outcome o;
	struct eval_change *change =
		stmt->kind == SQL_STMT_UPDATE
			? eval_update_compile(arena, stmt->u.update, env, source, &o)
			: eval_delete_compile(arena, stmt->u.del, env, source, &o);
	struct eval_join *join = eval_join_compile(arena, stmt, env, source, &o);
	const uint32_t *matches;
	size_t count;

	for (size_t i = 0; i < w->rows.count && change; i++) {
		const struct eval_value *out;
		enum eval_truth truth;
		bool changed;

		if (eval_change_test(change, arena, env, source, w->rows.row[i], &truth, &o) &&
			eval_change_apply(
				change, arena, env, source, w->rows.row[i], &out, &changed, &o))
			(void)!eval_check(arena, env, w->table, out, &o);
	}
	if (join)
		(void)!eval_join_run(join, arena, env, source, &matches, &count, &o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT;
	struct sql_options opt = sql_options_default();
	struct eval_env env = eval_env_default();
	struct eval_outcome o;
	struct world w = {NULL, {NULL, 0}};
	struct eval_source source = {find_table, find_rows, &w};
	struct eval_insert *ins;
	struct sql_stmt *stmt;

	if (size < 1)
		return 0;
	setenv("ISOTRACE_ABORT", "1", 1);
	w.table = eval_table_create(
		&arena, parse(&arena, span_str(create), &opt)->u.create_table, &env, &o);
	CHECK(w.table);
	ins = eval_insert_compile(
		&arena, parse(&arena, span_str(insert), &opt)->u.insert, &env, &source, &o);
	CHECK(ins && eval_insert_rows(ins, &arena, &env, &source, &w.rows, &o));
	if (data[0] & 0x80) {
		opt = sql_options_for_server(SPAN_LIT("8.0.45"));
		env = eval_env_for_server(SPAN_LIT("8.0.45"));
	}
	opt.depth_max = 60;
	env.mode = (uint32_t)(data[0] & 0x7f) * 0x101;
	env.has_now = data[0] & 1;
	env.rows_max = 1000;
	env.steps_max = 20000;
	stmt = parse(&arena, span_of(data + 1, size - 1), &opt);
	if (stmt && stmt->kind == SQL_STMT_SELECT) {
		run_query(&arena, stmt->u.query, &env, &source);
	} else if (stmt && (stmt->kind == SQL_STMT_INSERT || stmt->kind == SQL_STMT_REPLACE)) {
		struct eval_rows rows;
		const struct eval_value *out;

		ins = eval_insert_compile(&arena, stmt->u.insert, &env, &source, &o);
		if (ins && eval_insert_rows(ins, &arena, &env, &source, &rows, &o) && rows.count)
			(void)!eval_insert_duplicate(
				ins, &arena, &env, &source, w.rows.row[0], rows.row[0], &out, &o);
	} else if (stmt && (stmt->kind == SQL_STMT_UPDATE || stmt->kind == SQL_STMT_DELETE)) {
		run_change(&arena, stmt, &env, &source, &w);
	} else if (stmt && stmt->kind == SQL_STMT_CREATE_TABLE) {
		(void)!eval_table_create(&arena, stmt->u.create_table, &env, &o);
	}
	arena_release(&arena);
	return 0;
}
