/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Generated cases: the same bytes from the same seed, statements that parse, conditions that are true for a row. */
#include <stdio.h>
#include <string.h>

#include "../unit/unit.h"
#include "generate/generate.h"

static struct model model_of(const char *name)
{
	struct model m;
	struct err err;

	ck_assert_msg(model_builtin(&m, name, &err), "%s", err.text);
	return m;
}

static struct dialect dialect_of(const char *name)
{
	struct dialect d;
	struct err err;

	ck_assert_msg(dialect_named(&d, name, &err), "%s", err.text);
	return d;
}

static void make(const struct generate_options *options, uint64_t number, struct scenario *s)
{
	struct case_tags tags;
	struct err err;

	ck_assert_msg(generate_case(options, number, s, &tags, &err), "case %d: %s", (int)number, err.text);
}

/* FNV-1a. */
static uint64_t digest(uint64_t h, struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		h = (h ^ (unsigned char)text.ptr[i]) * 0x100000001b3u;
	return h;
}

static uint64_t digest_of_cases(const char *name, uint64_t count)
{
	struct model model = model_of(name);
	struct dialect dialect = dialect_of("common");
	struct generate_options options = {.model = &model, .dialect = &dialect, .seed = 42, .orders = 2};
	uint64_t h = 0xcbf29ce484222325u;

	for (uint64_t i = 0; i < count; i++) {
		struct buf text = BUF_INIT;
		struct scenario s;

		make(&options, i, &s);
		scenario_print(&s, &text);
		h = digest(h, buf_span(&text));
		buf_release(&text);
		scenario_release(&s);
	}
	return h;
}

/* Of every compiler and machine.  A change of a model or of the generator changes the digests, and is to be meant. */
START_TEST(same_seed_same_bytes)
{
	static const struct {
		const char *name;
		uint64_t digest;
	} expected[] = {
#include "digests.inc"
	};

	for (size_t i = 0; model_names[i]; i++) {
		uint64_t h = digest_of_cases(model_names[i], 60);

		if (getenv("ISOTRACE_UPDATE")) {
			printf("# digest: {\"%s\", 0x%016llx},\n", model_names[i], (unsigned long long)h);
			continue;
		}
		ck_assert_uint_eq(h, digest_of_cases(model_names[i], 60));
		ck_assert_str_eq(expected[i].name, model_names[i]);
		ck_assert_msg(expected[i].digest == h, "%s: 0x%016llx", model_names[i], (unsigned long long)h);
	}
}
END_TEST

START_TEST(cases_are_made_alone)
{
	struct model model = model_of("default");
	struct dialect dialect = dialect_of("mariadb-10.11");
	struct generate_options options = {.model = &model, .dialect = &dialect, .seed = 9};
	struct scenario a, b;

	make(&options, 5, &a);
	make(&options, 17, &b);
	ck_assert(!span_eq(a.schedule.stmts[1].sql, b.schedule.stmts[1].sql) || a.schedule.count != b.schedule.count);
	scenario_release(&b);
	make(&options, 5, &b);
	ck_assert_uint_eq(a.schedule.count, b.schedule.count);
	for (size_t i = 0; i < a.schedule.count; i++)
		ck_assert(span_eq(a.schedule.stmts[i].sql, b.schedule.stmts[i].sql));
	scenario_release(&a);
	scenario_release(&b);
}
END_TEST

static void parse_all(const struct scenario_section *section, const struct dialect *dialect)
{
	for (size_t i = 0; i < section->count; i++) {
		struct arena arena = ARENA_INIT;
		struct sql_stmt *stmt;
		struct err err;

		ck_assert_msg(sql_parse(&arena, section->stmts[i].sql, &dialect->sql, &stmt, &err), "%.*s: %s",
			SPAN_ARG(section->stmts[i].sql), err.text);
		arena_release(&arena);
	}
}

/* What is printed is read back, and every statement is one that the parser knows. */
START_TEST(every_statement_parses)
{
	static const char *const dialects[] = {"common", "mariadb-10.11", "mysql-8.0"};

	for (size_t d = 0; d < 3; d++) {
		struct dialect dialect = dialect_of(dialects[d]);

		for (size_t i = 0; model_names[i]; i++) {
			struct model model = model_of(model_names[i]);
			struct generate_options options = {.model = &model, .dialect = &dialect, .seed = 3};

			for (uint64_t n = 0; n < 100; n++) {
				struct buf text = BUF_INIT;
				struct scenario s, again;
				struct err err;

				make(&options, n, &s);
				parse_all(&s.setup, &dialect);
				parse_all(&s.schedule, &dialect);
				scenario_print(&s, &text);
				ck_assert_msg(scenario_parse(&again, buf_span(&text), "printed", &err), "%s", err.text);
				ck_assert_uint_eq(again.schedule.count, s.schedule.count);
				buf_release(&text);
				scenario_release(&again);
				scenario_release(&s);
			}
		}
	}
}
END_TEST

/* ---- conditions against the rows of the setup, by a query of the evaluator's own ---- */

struct rows_source {
	const struct eval_table *tables[8];
	struct eval_rows rows[8];
	size_t count;
};

static const struct eval_table *source_table(void *ctx, const struct sql_table_name *name)
{
	struct rows_source *source = ctx;

	for (size_t i = 0; i < source->count; i++)
		if (span_eq(source->tables[i]->name, name->name))
			return source->tables[i];
	return NULL;
}

static bool source_rows(void *ctx, const struct eval_table *table, const struct sql_table_ref *ref, struct eval_rows *out)
{
	struct rows_source *source = ctx;

	(void)ref;
	for (size_t i = 0; i < source->count; i++)
		if (source->tables[i] == table) {
			*out = source->rows[i];
			return true;
		}
	return false;
}

static void load_setup(struct rows_source *source, const struct eval_source *eval, const struct scenario *s,
	const struct dialect *dialect, struct arena *arena)
{
	for (size_t i = 0; i < s->setup.count; i++) {
		struct eval_outcome outcome = {0};
		struct sql_stmt *stmt;

		ck_assert(sql_parse(arena, s->setup.stmts[i].sql, &dialect->sql, &stmt, NULL));
		if (stmt->kind == SQL_STMT_CREATE_TABLE) {
			source->tables[source->count] = eval_table_create(arena, stmt->u.create_table, &dialect->env, &outcome);
			ck_assert_msg(source->tables[source->count], "%s", outcome.reason);
			source->count++;
		} else {
			struct eval_insert *insert = eval_insert_compile(arena, stmt->u.insert, &dialect->env, eval, &outcome);

			ck_assert(insert && eval_insert_rows(insert, arena, &dialect->env, eval,
						    &source->rows[source->count - 1], &outcome));
		}
	}
}

/* Statements that are to hit, hit: each SELECT ... WHERE finds a row of the setup. */
START_TEST(conditions_hit)
{
	struct dialect dialect = dialect_of("mariadb-10.11");
	struct model model;
	struct generate_options options = {.model = &model, .dialect = &dialect, .seed = 11};
	unsigned asked = 0, found = 0, open = 0;
	struct err err;

	ck_assert(model_parse(&model, SPAN_LIT("like wide\n[schema]\npartitioned = 0%\n[data]\nrows = 1..8\n"
					       "[statements]\nstatement = select\nread = rows\nhit = 100%\n"
					       "[transactions]\nidiom = none\nbegin = begin\nend = commit\n"
					       "[schedule]\nconflict = row\n"),
		"hit", &err));
	for (uint64_t n = 0; n < 300; n++) {
		struct arena arena = ARENA_INIT;
		struct rows_source source = {.count = 0};
		struct eval_source eval = {.table = source_table, .rows = source_rows, .ctx = &source};
		struct scenario s;

		make(&options, n, &s);
		load_setup(&source, &eval, &s, &dialect, &arena);
		for (size_t i = 0; i < s.schedule.count; i++) {
			struct eval_outcome outcome = {0};
			struct eval_result result;
			struct eval_query *query;
			struct sql_stmt *stmt;

			if (!span_ihas(s.schedule.stmts[i].sql, " where "))
				continue;
			ck_assert(sql_parse(&arena, s.schedule.stmts[i].sql, &dialect.sql, &stmt, NULL));
			query = eval_query_compile(&arena, stmt->u.query, &dialect.env, &eval, &outcome);
			asked++;
			if (query && eval_query_run(query, &arena, &dialect.env, &eval, &result, &outcome))
				found += result.row_count > 0;
			else
				open++;
		}
		scenario_release(&s);
		arena_release(&arena);
	}
	ck_assert_uint_gt(asked, 500);
	/* What the evaluator does not know is asked for by key: it hits, too, and is not counted. */
	ck_assert_msg(found + open >= asked * 995 / 1000, "%u of %u, %u not known", found, asked, open);
	ck_assert_uint_lt(open * 20, asked);
}
END_TEST

/* No transaction ends before the other's half of a conflict, in the order `overlap`: both of two transactions with one
 * statement each are sent before either commits. */
START_TEST(transactions_overlap)
{
	struct dialect dialect = dialect_of("common");
	struct model model;
	struct generate_options options = {.model = &model, .dialect = &dialect, .seed = 2};
	struct err err;

	ck_assert(model_parse(&model, SPAN_LIT("[transactions]\nsessions = 2\nper_session = 1\nlength = 1\nidiom = none\n"
					       "begin = begin\nend = commit\nsavepoint = 0%\nsetting = 0%\n"
					       "[schedule]\norder = overlap\n"),
		"overlap", &err));
	for (uint64_t n = 0; n < 200; n++) {
		size_t sent = 0;
		struct scenario s;

		make(&options, n, &s);
		for (size_t i = 0; i < s.schedule.count; i++) {
			struct span sql = s.schedule.stmts[i].sql;

			if (span_eq_str(sql, "commit"))
				ck_assert_uint_ge(sent, 2);
			else if (!span_eq_str(sql, "begin"))
				sent++;
		}
		scenario_release(&s);
	}
}
END_TEST

UNIT_MAIN("generate", same_seed_same_bytes, cases_are_made_alone, every_statement_parses, conditions_hit, transactions_overlap)
