/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the SQL evaluator with a server: random expressions over random rows, random queries,
 * random changes, each computed here and there.
 *
 *	sql_eval SOCKET [--seed=N] [--expressions=N] [--queries=N] [--changes=N] [--show=N] [--binary]
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
#include "eval_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

	fill_table(s, 0, ROWS);
	fill_small(s, 1);
	fill_small(s, 2);
	fill_table(s, 3, 1);
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
			flush_batch(s, batch, &pending);
		}
	}
	free(line);
	free(batch);
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
		else if (!strcmp(argv[i], "--binary"))
			s.binary = true;
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
	use_server(&s, argv[1], database);
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
		json_texts(&s, json_count);
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
