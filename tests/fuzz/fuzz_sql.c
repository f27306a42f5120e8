/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as SQL.  The first byte chooses flavour and sql_mode, the rest is the text.  What
 * parses must print to something that parses to the same tree, and walking it must end.  Seeds:
 * tests/fuzz/sql.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/bug.h"
#include "sql/program.h"
#include "sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count_expr(void *ctx, const struct sql_expr *expr)
{
	(void)expr;
	++*(size_t *)ctx;
	return true;
}

static void count_table(void *ctx, const struct sql_table_name *table,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	(void)ref;
	(void)access;
	*(size_t *)ctx += table->name.len;
}

static void look_at(const struct sql_stmt *stmt, const struct sql_options *opt)
{
	size_t nodes = 0;
	struct sql_visitor v = {.expr = count_expr, .ctx = &nodes};

	sql_walk_stmt(stmt, &v);
	sql_stmt_tables(stmt, count_table, &nodes);
	(void)sql_stmt_is_read(stmt);
	(void)sql_stmt_is_write(stmt);
	(void)sql_stmt_locking_read(stmt);
	(void)sql_stmt_is_transaction_control(stmt);
	(void)sql_stmt_implicit_commit(stmt, opt);
	(void)sql_stmt_txn_setting(stmt);
}

static void round_trip(
	struct arena *arena, const struct sql_stmt *stmt, const struct sql_options *opt)
{
	struct buf once = BUF_INIT, before = BUF_INIT, after = BUF_INIT;
	struct sql_options deep = *opt;
	struct sql_stmt *again;
	struct err err;

	/* The print may need a few more parentheses than the source had. */
	deep.depth_max = 2 * opt->depth_max + 100;
	sql_print(stmt, opt, &once);
	if (!sql_parse(arena, buf_span(&once), &deep, &again, &err))
		BUG("the print does not parse: %s: %s", once.data, err.text);
	sql_print_explicit(stmt, opt, &before);
	sql_print_explicit(again, opt, &after);
	if (!span_eq(buf_span(&before), buf_span(&after)))
		BUG("the print changes the tree: %s: %s: %s", once.data, before.data, after.data);
	buf_release(&once);
	buf_release(&before);
	buf_release(&after);
}

static void program_round_trip(
	struct arena *arena, const struct sql_program *program, const struct sql_options *opt)
{
	struct buf once = BUF_INIT, before = BUF_INIT, after = BUF_INIT;
	struct sql_options deep = *opt;
	struct sql_program *again;
	struct err err;

	deep.depth_max = 2 * opt->depth_max + 100;
	sql_print_program(program, opt, false, &once);
	if (!sql_parse_program(arena, buf_span(&once), &deep, &again, &err))
		BUG("the print does not parse: %s: %s", once.data, err.text);
	sql_print_program(program, opt, true, &before);
	sql_print_program(again, opt, true, &after);
	if (!span_eq(buf_span(&before), buf_span(&after)))
		BUG("the print changes the tree: %s: %s: %s", once.data, before.data, after.data);
	buf_release(&once);
	buf_release(&before);
	buf_release(&after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sql_program *program;
	struct arena arena = ARENA_INIT;
	struct sql_options opt = sql_options_default();
	struct sql_stmt *stmt;
	struct err err;
	struct span text;

	if (size < 1)
		return 0;
	setenv("ISOTRACE_ABORT", "1", 1);
	if (data[0] & 0x80)
		opt = sql_options_for_server(SPAN_LIT("8.0.45"));
	opt.mode = data[0] & 0x1f;
	opt.depth_max = 60;
	text = span_of(data + 1, size - 1);
	if (sql_parse(&arena, text, &opt, &stmt, &err)) {
		look_at(stmt, &opt);
		round_trip(&arena, stmt, &opt);
	}
	if (sql_parse_multi(&arena, text, &opt, &stmt, &err)) {
		for (; stmt; stmt = stmt->next)
			look_at(stmt, &opt);
	}
	if (sql_parse_program(&arena, text, &opt, &program, &err))
		program_round_trip(&arena, program, &opt);
	CHECK(sql_statement_end(text, &opt) <= text.len);
	arena_release(&arena);
	return 0;
}
