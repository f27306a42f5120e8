/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON texts and functions, and joins of several tables. */
#include "eval_compare.h"

#include <stdio.h>

/* What MySQL makes of a text; MariaDB keeps it as it is. */
void json_texts(struct state *s, unsigned long count)
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
void json_functions(struct state *s, unsigned long count)
{
	struct buf sql = BUF_INIT;
	unsigned number = s->tables.count;

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
		if (s->tables.contents[number].count == 1) {
			buf_clear(&sql);
			generate_json_change(&s->generator, &sql);
			one_change(s, sql.data);
		}
		arena_clear(&s->scratch);
	}
	buf_release(&sql);
}

/* Joins of up to eight tables of up to a thousand rows. */
void joins(struct state *s, unsigned long count)
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
		load_rows(s, s->tables.count - 1);
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
