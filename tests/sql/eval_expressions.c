/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random expressions over random rows, in batches. */
#include "eval_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void answer_ours(struct state *s, const char *text, struct answer *a)
{
	struct buf sql = BUF_INIT, print = BUF_INIT;
	struct eval_outcome outcome;
	struct eval_source source = eval_tables_source(&s->tables);
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
		expr = eval_expr_compile(&s->scratch, stmt->u.exprs.first, s->tables.list[0], SPAN_NONE,
			&s->env, &source, &outcome);
	s->expressions++;
	for (size_t i = 0; i < s->tables.contents[0].count && expr; i++) {
		struct eval_value v;

		if (eval_expr_run(expr, &s->scratch, &s->env, &source, s->tables.contents[0].row[i], &v,
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
		for (size_t i = 0; i < s->tables.contents[0].count; i++)
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

void flush_batch(struct state *s, struct answer *answers, unsigned *count)
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

void one_expression(struct state *s, const char *text, struct answer *batch, unsigned *count)
{
	struct answer *a = &batch[*count];

	memset(a, 0, sizeof(*a));
	answer_ours(s, text, a);
	if (a->kind == WHOLE) {
		if (++*count == BATCH)
			flush_batch(s, batch, count);
		return;
	}
	if (a->kind == FAILED)
		ask_one(s, a);
	free(a->text);
}

void expressions(struct state *s, unsigned long count)
{
	struct answer *batch = calloc(BATCH, sizeof(*batch));
	struct buf text = BUF_INIT;
	unsigned pending = 0;

	for (unsigned long i = 0; i < count; i++) {
		if (i % 2000 == 0) {
			flush_batch(s, batch, &pending);
			arena_clear(&s->rows);
			fill_table(s, 0, ROWS);
		}
		buf_clear(&text);
		s->generator.prefix = "";
		generate_expr(&s->generator, &text);
		one_expression(s, text.data, batch, &pending);
	}
	flush_batch(s, batch, &pending);
	buf_release(&text);
	free(batch);
}
