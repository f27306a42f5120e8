/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random INSERTs and UPDATEs of one row. */
#include "eval_compare.h"

#include <stdio.h>
#include <string.h>

static bool change_ours(struct state *s, const struct sql_stmt *stmt, struct eval_value *before,
	const struct eval_value **row, struct eval_outcome *outcome)
{
	struct eval_source source = eval_tables_source(&s->tables);
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
	const struct eval_table *t = s->tables.list[s->changed];
	struct buf a = BUF_INIT, b = BUF_INIT;
	char what[500];

	load_rows(s, s->changed);
	for (uint32_t i = 0; i < t->column_count; i++) {
		const struct eval_value *theirs = &s->tables.contents[s->changed].row[id][i];

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

void one_change(struct state *s, const char *sql)
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
		s, stmt, (struct eval_value *)(uintptr_t)s->tables.contents[s->changed].row[0], &row, &outcome);
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

void changes(struct state *s, unsigned long count)
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
			fill_table(s, 3, 1);
		else
			load_rows(s, 3);
		buf_clear(&text);
		generate_change(&s->generator, 2, &text);
		one_change(s, text.data);
		arena_clear(&s->scratch);
	}
	buf_release(&text);
}
