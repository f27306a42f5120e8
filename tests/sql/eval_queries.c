/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random queries. */
#include "eval_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void one_query(struct state *s, const char *sql)
{
	struct eval_source source = eval_tables_source(&s->tables);
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

void fill_small(struct state *s, unsigned number)
{
	struct buf sql = BUF_INIT;
	struct generator *g = &s->generator;
	static const char *const texts[] = {"a", "b", "abc", "a_c", "1", "", "10"};

	buf_printf(&sql, "DELETE FROM %.*s", SPAN_ARG(s->tables.list[number]->name));
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
			SPAN_ARG(s->tables.list[number]->name), i + 1,
			(unsigned)random_below(&g->random, 4), v, s_text);
		must(s, sql.data);
	}
	load_rows(s, number);
	buf_release(&sql);
}

void queries(struct state *s, unsigned long count)
{
	struct buf text = BUF_INIT;

	for (unsigned long i = 0; i < count; i++) {
		if (i % 500 == 0) {
			arena_clear(&s->rows);
			fill_table(s, 0, ROWS);
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
