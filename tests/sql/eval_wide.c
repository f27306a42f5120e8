/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries of more kinds than eval_random.c makes: groups and orders of every column type, set
 * operations, subqueries in every place, derived tables, CTEs, nested joins. */
#include "eval_random_internal.h"

#include <string.h>

#include "base/attr.h"

/* ---- pieces ---- */

/* Any column of the wide table. */
static const char *wide_column(struct generator *g)
{
	return generated_columns[below(g, generated_column_count)].name;
}

static const char *const compare[] = {"=", "<>", "<", "<=", ">", ">="};

/* A key of GROUP BY over the small tables. */
static const char *group_key(struct generator *g)
{
	static const char *const keys[] = {"t1.g", "t1.v", "t1.s", "t1.g % 2", "t1.v IS NULL",
		"COALESCE(t1.v, -1)", "t1.s LIKE 'a%'", "t1.v + t1.g", "UPPER(t1.s)", "t1.v / 2",
		"CONCAT(t1.g, '-', t1.v)", "CASE WHEN t1.v > 1 THEN 'x' ELSE t1.s END", "NULL",
		"t1.id"};

	return PICK(g, keys);
}

static const char *aggregate(struct generator *g)
{
	static const char *const calls[] = {"COUNT(*)", "COUNT(t1.v)", "COUNT(DISTINCT t1.v)",
		"COUNT(DISTINCT t1.g, t1.v)", "COUNT(DISTINCT t1.s)", "SUM(t1.v)",
		"SUM(DISTINCT t1.v)", "AVG(t1.v)", "AVG(DISTINCT t1.v)", "MIN(t1.v)", "MAX(t1.v)",
		"MIN(t1.s)", "MAX(t1.s)", "MIN(DISTINCT t1.v)", "MAX(DISTINCT t1.s)",
		"BIT_AND(t1.v)", "BIT_OR(t1.v)", "BIT_XOR(t1.v)", "SUM(t1.v IS NULL)",
		"SUM(t1.v > 1)", "SUM(CASE WHEN t1.v > 1 THEN t1.g END)", "COUNT(*) * 2 + 1",
		"SUM(t1.v) / COUNT(*)", "SUM(t1.v / 3)", "AVG(t1.v + 0.5)",
		"COALESCE(SUM(t1.v), 0)", "MAX(t1.id) - MIN(t1.id)",
		"IF(COUNT(*) > 1, 'many', 'one')", "GROUP_CONCAT(t1.id ORDER BY t1.id DESC)",
		"GROUP_CONCAT(t1.id ORDER BY t1.id SEPARATOR '|')",
		"GROUP_CONCAT(t1.v, ':', t1.id ORDER BY t1.id)",
		"GROUP_CONCAT(DISTINCT t1.v ORDER BY t1.v SEPARATOR '')", "GROUP_CONCAT(t1.s)",
		"GROUP_CONCAT(t1.id ORDER BY t1.v, t1.id)", "GROUP_CONCAT(t1.g ORDER BY t1.s DESC, t1.id)",
		"GROUP_CONCAT(DISTINCT t1.v ORDER BY t1.s, t1.id)",
		"GROUP_CONCAT(DISTINCT t1.g ORDER BY t1.id DESC)",
		"COUNT(t1.v) > 1", "ROUND(AVG(t1.v), 1)", "SUM(-t1.v)", "MAX(t1.v + 0.25)"};

	return PICK(g, calls);
}

static void order_limit(struct generator *g, unsigned columns, struct buf *out)
{
	if (!chance(g, 3)) {
		buf_add_str(out, " ORDER BY ");
		for (unsigned i = 0, n = 1 + (unsigned)below(g, columns); i < n; i++)
			buf_printf(out, "%s%u%s", i ? ", " : "",
				1 + (n == columns ? i : (unsigned)below(g, columns)),
				chance(g, 3)   ? " DESC"
				: chance(g, 6) ? " ASC"
					       : "");
	}
	if (chance(g, 3)) {
		if (chance(g, 3))
			buf_printf(
				out, " LIMIT %u, %u", (unsigned)below(g, 3), (unsigned)below(g, 5));
		else
			buf_printf(out, " LIMIT %u", (unsigned)below(g, 5));
	}
}

static void where(struct generator *g, const char *table, struct buf *out)
{
	if (chance(g, 2)) {
		buf_add_str(out, " WHERE ");
		generate_small_predicate(g, table, out);
	}
}

/* ---- queries ---- */

static void groups(struct generator *g, struct buf *out)
{
	const char *first = group_key(g), *second = group_key(g);
	bool two = chance(g, 3), named = chance(g, 3);

	buf_printf(out, "SELECT %s%s", first, named ? " AS k1" : "");
	if (two)
		buf_printf(out, ", %s", second);
	buf_printf(out, ", %s%s", aggregate(g), chance(g, 3) ? " AS a1" : "");
	if (chance(g, 2))
		buf_printf(out, ", %s", aggregate(g));
	buf_printf(out, " FROM k t1%s",
		chance(g, 4)   ? " JOIN m t2 ON t1.g = t2.g"
		: chance(g, 6) ? " LEFT JOIN m t2 ON t1.v = t2.id"
			       : "");
	where(g, "t1", out);
	buf_printf(out, " GROUP BY %s", named ? "k1" : chance(g, 4) ? "1" : first);
	if (two)
		buf_printf(out, ", %s", second);
	if (chance(g, 3))
		buf_printf(
			out, " HAVING %s %s %d", aggregate(g), PICK(g, compare), (int)below(g, 4));
	if (chance(g, 3))
		buf_printf(out, " ORDER BY %s%s, %s", aggregate(g), chance(g, 2) ? " DESC" : "",
			named ? "k1" : first);
	else
		order_limit(g, two ? 3 : 2, out);
}

/* WITH ROLLUP: one to three keys, which also stand in expressions. */
static void rollups(struct generator *g, struct buf *out)
{
	static const char *const keys[] = {"t1.g", "t1.v", "t1.s"};
	static const char *const uses[] = {"%s", "%s", "%s", "%s IS NULL", "COALESCE(%s, 'all')",
		"IFNULL(%s, 7)", "CONCAT(%s, '-')", "%s + 1", "%s = 1", "IF(%s > 1, 'x', 'y')"};
	/* Not `%s = 1`, of which MariaDB 10.11.19 crashes beside WHERE id = 4 and two keys. */
	static const char *const havings[] = {
		"%s IS NULL", "%s IS NOT NULL", "%s <=> 1", "%s > 'a'", "COALESCE(%s, 9) > 1"};
	unsigned count = 1 + (unsigned)below(g, 3), first = (unsigned)below(g, 3);
	bool wide = chance(g, 5);
	const char *key[3];

	for (unsigned i = 0; i < 3; i++)
		key[i] = wide ? wide_column(g) : keys[(first + i) % 3];
	if (wide)
		count = 1;
	buf_printf(out, "SELECT %s", chance(g, 8) ? "DISTINCT " : "");
	for (unsigned i = 0; i < count; i++) {
		struct buf use = BUF_INIT;

		for (const char *at = PICK(g, uses); *at; at++) {
			if (*at == '%')
				buf_add_str(&use, key[i]), at++;
			else
				buf_add(&use, at, 1);
		}
		buf_printf(out, "%.*s, ", (int)use.len, use.data);
		buf_release(&use);
	}
	if (g->mysql && chance(g, 2))
		buf_printf(out, "GROUPING(%s%s%s), ", key[0], count > 1 ? ", " : "",
			count > 1 ? key[1] : "");
	buf_printf(out, "%s FROM %s", wide ? "COUNT(*)" : aggregate(g), wide ? "t" : "k t1");
	if (!wide)
		where(g, "t1", out);
	buf_add_str(out, " GROUP BY ");
	for (unsigned i = 0; i < count; i++)
		buf_printf(out, "%s%s", i ? ", " : "", key[i]);
	buf_add_str(out, " WITH ROLLUP");
	if (chance(g, 3) && !wide) {
		buf_add_str(out, " HAVING ");
		if (chance(g, 2)) {
			buf_printf(out, "%s %s %d", aggregate(g), PICK(g, compare), (int)below(g, 4));
		} else {
			for (const char *at = PICK(g, havings); *at; at++) {
				if (*at == '%')
					buf_add_str(out, key[below(g, count)]), at++;
				else
					buf_add(out, at, 1);
			}
		}
	}
	if (g->mysql ? !chance(g, 3) : chance(g, 20))
		order_limit(g, count + 1, out);
	else if (chance(g, 5))
		buf_printf(out, " LIMIT %u", (unsigned)below(g, 6));
}

static void wide_groups(struct generator *g, struct buf *out)
{
	static const char *const calls[] = {"COUNT(%s)", "COUNT(DISTINCT %s)", "MIN(%s)", "MAX(%s)",
		"SUM(%s)", "AVG(%s)", "SUM(DISTINCT %s)", "BIT_AND(%s)", "BIT_OR(%s)",
		"BIT_XOR(%s)", "GROUP_CONCAT(%s ORDER BY id)",
		"GROUP_CONCAT(DISTINCT %1$s ORDER BY %1$s)",
		"GROUP_CONCAT(DISTINCT %s ORDER BY id DESC)", "GROUP_CONCAT(id ORDER BY %s, id)", "AVG(DISTINCT %s)",
		"MIN(%1$s) = MAX(%1$s)"};
	char call[200];
	const char *key = wide_column(g), *c, *at;
	const char *format = PICK(g, calls);

	/* The format has the column once or twice. */
	c = wide_column(g);
	call[0] = '\0';
	for (at = format; *at; at++) {
		size_t len = strlen(call);

		if (*at == '%') {
			strcat(call, c);
			at = strchr(at, 's');
		} else {
			call[len] = *at;
			call[len + 1] = '\0';
		}
	}
	switch (below(g, 3)) {
	case 0:
		buf_printf(out, "SELECT COUNT(*), %s FROM t", call);
		break;
	case 1:
		buf_printf(out, "SELECT %s, %s FROM t GROUP BY %s ORDER BY %s%s", key, call, key,
			key, chance(g, 2) ? " DESC" : "");
		break;
	default:
		buf_printf(out, "SELECT %s FROM t GROUP BY %s HAVING COUNT(*) > %u", call, key,
			(unsigned)below(g, 2));
	}
}

/* What every column type looks like, ordered and distinct. */
static void wide_rows(struct generator *g, struct buf *out)
{
	const char *a = wide_column(g), *b = wide_column(g);

	switch (below(g, 6)) {
	case 5:
		buf_printf(out, "SELECT id FROM t WHERE %s%s %s %s (SELECT x.%s FROM t x WHERE x.id > %u)",
			chance(g, 3) ? "-" : chance(g, 3) ? "~" : "", a, PICK(g, compare),
			chance(g, 2) ? "ALL" : "ANY", chance(g, 3) ? b : a, (unsigned)below(g, 6));
		break;
	case 0:
		buf_printf(out, "SELECT DISTINCT %s FROM t ORDER BY 1%s", a,
			chance(g, 2) ? " DESC" : "");
		break;
	case 1:
		buf_printf(out, "SELECT id, %s FROM t ORDER BY %s%s, %s LIMIT %u", a, b,
			chance(g, 2) ? " DESC" : "", a, (unsigned)below(g, 9));
		break;
	case 2:
		buf_printf(out, "SELECT x.id, y.id FROM t x JOIN t y ON x.%s %s y.%s", a,
			PICK(g, compare), chance(g, 3) ? b : a);
		break;
	case 3:
		buf_printf(out, "SELECT id FROM t WHERE %s %s (SELECT %s(x.%s) FROM t x)", a,
			PICK(g, compare), chance(g, 2) ? "MIN" : "MAX", a);
		break;
	default:
		buf_printf(out,
			"SELECT id FROM t WHERE %s %sIN (SELECT x.%s FROM t x WHERE x.id > %u)", a,
			chance(g, 3) ? "NOT " : "", chance(g, 4) ? b : a, (unsigned)below(g, 6));
	}
}

static void one_select(struct generator *g, unsigned columns, struct buf *out)
{
	buf_printf(out, "SELECT %s", chance(g, 5) ? "DISTINCT " : "");
	for (unsigned i = 0; i < columns; i++) {
		buf_add_str(out, i ? ", " : "");
		if (chance(g, 5))
			buf_add_str(out, chance(g, 2) ? "NULL" : chance(g, 2) ? "'a'" : "1.5");
		else
			generate_small_value(g, "t1", out);
	}
	buf_printf(out, " FROM %s t1", chance(g, 2) ? "k" : "m");
	where(g, "t1", out);
}

/* The last two only alone: MariaDB (10.11.19, 11.8.6) runs for ever on a INTERSECT ALL b EXCEPT ALL
 * c. */
static const char *set_operator(struct generator *g, bool alone)
{
	static const char *const all[] = {"UNION", "UNION ALL", "UNION DISTINCT", "INTERSECT",
		"EXCEPT", "UNION", "INTERSECT ALL", "EXCEPT ALL"};

	return all[below(g, ARRAY_LEN(all) - (alone ? 0 : 2))];
}

static void set_operations(struct generator *g, struct buf *out)
{
	unsigned columns = 1 + (unsigned)below(g, 2);
	bool three = chance(g, 3);

	if (chance(g, 4)) {
		buf_printf(out, "SELECT %s FROM t %s SELECT %s FROM t", wide_column(g),
			set_operator(g, true), wide_column(g));
		return;
	}
	if (chance(g, 3)) {
		buf_add_str(out, "(");
		one_select(g, columns, out);
		order_limit(g, columns, out);
		buf_printf(out, ") %s (", set_operator(g, true));
		one_select(g, columns, out);
		buf_add_str(out, ")");
	} else {
		one_select(g, columns, out);
		buf_printf(out, " %s ", set_operator(g, !three));
		one_select(g, columns, out);
		if (three) {
			buf_printf(out, " %s ", set_operator(g, false));
			one_select(g, columns, out);
		}
	}
	order_limit(g, columns, out);
}

/* Subqueries that look outwards, in the select list, WHERE, HAVING and ORDER BY. */
static void correlated(struct generator *g, struct buf *out)
{
	switch (below(g, 8)) {
	case 0:
		buf_printf(out, "SELECT t1.id, (SELECT %s FROM m t1 WHERE t1.g = t0.g) FROM k t0",
			aggregate(g));
		buf_printf(out, "%s",
			chance(g, 2) ? " JOIN k t1 ON t1.id = t0.id"
				     : " JOIN m t1 ON t1.id = t0.v");
		break;
	case 1:
		buf_add_str(
			out, "SELECT t1.id, (SELECT t2.s FROM m t2 WHERE t2.id = t1.v) FROM k t1");
		where(g, "t1", out);
		break;
	case 2:
		buf_printf(out,
			"SELECT t1.id FROM k t1 WHERE (SELECT COUNT(*) FROM m t2 WHERE t2.g %s "
			"t1.g AND ",
			PICK(g, compare));
		generate_small_predicate(g, "t2", out);
		buf_printf(out, ") %s %u", PICK(g, compare), (unsigned)below(g, 3));
		break;
	case 3:
		buf_printf(out,
			"SELECT t1.id FROM k t1 WHERE %sEXISTS (SELECT * FROM m t2 JOIN k t3 ON "
			"t2.v = t3.id "
			"WHERE t3.g = t1.g AND ",
			chance(g, 2) ? "NOT " : "");
		generate_small_predicate(g, "t2", out);
		buf_add_str(out, ")");
		break;
	case 4:
		buf_printf(out,
			"SELECT t1.id, t1.v %sIN (SELECT t2.v FROM m t2 WHERE t2.g = t1.g) FROM k "
			"t1",
			chance(g, 2) ? "NOT " : "");
		break;
	case 5:
		buf_printf(out,
			"SELECT t1.g, COUNT(*) FROM k t1 GROUP BY t1.g HAVING COUNT(*) %s "
			"(SELECT COUNT(*) FROM m t2 WHERE t2.g = t1.g)",
			PICK(g, compare));
		break;
	case 6:
		buf_printf(out,
			"SELECT t1.id FROM k t1 ORDER BY (SELECT %s FROM m t1 WHERE t1.g = 1), "
			"t1.id",
			aggregate(g));
		break;
	default:
		buf_printf(out,
			"SELECT t1.id FROM k t1 WHERE %s(t1.v %s %s (SELECT t2.v FROM m t2 WHERE t2.g "
			"%s t1.g))",
			chance(g, 3) ? "NOT " : chance(g, 4) ? "NOT NOT " : "", PICK(g, compare),
			chance(g, 2) ? "ALL" : "ANY", PICK(g, compare));
	}
}

static void derived(struct generator *g, struct buf *out)
{
	switch (below(g, 5)) {
	case 0:
		buf_printf(out,
			"SELECT t1.id, d.a FROM k t1 %s (SELECT t1.g AS g, %s AS a FROM m t1 GROUP "
			"BY t1.g) d "
			"ON d.g = t1.g",
			chance(g, 2) ? "JOIN" : "LEFT JOIN", aggregate(g));
		break;
	case 1:
		buf_printf(out,
			"WITH a AS (SELECT t1.g AS g, %s AS n FROM k t1 GROUP BY t1.g), b AS "
			"(SELECT g, n "
			"FROM a WHERE g %s %u) SELECT a.g, b.n FROM a LEFT JOIN b ON a.g = b.g",
			aggregate(g), PICK(g, compare), (unsigned)below(g, 4));
		break;
	case 2:
		buf_add_str(out, "WITH a (x, y) AS (");
		one_select(g, 2, out);
		buf_printf(out, " %s ", chance(g, 2) ? "UNION" : "UNION ALL");
		one_select(g, 2, out);
		buf_printf(out, ") SELECT %s FROM a", chance(g, 2) ? "x, COUNT(*)" : "DISTINCT y");
		if (!strncmp(out->data + out->len - 15, "COUNT(*) FROM a", 15))
			buf_add_str(out, " GROUP BY x");
		break;
	case 3:
		buf_add_str(out, "SELECT * FROM (");
		one_select(g, 1, out);
		order_limit(g, 1, out);
		buf_add_str(out, ") d");
		break;
	default:
		buf_printf(out,
			"SELECT d.%s, COUNT(*) FROM (SELECT %s, id FROM t WHERE id > %u) d GROUP "
			"BY 1",
			"id", wide_column(g), (unsigned)below(g, 5));
	}
}

/* Recursion that ends: a counter in the row is bounded by a literal, or UNION DISTINCT walks a few rows. */
static void recursive(struct generator *g, struct buf *out)
{
	static const char *const starts[] = {"1", "0", "-2", "id", "t1.g"};
	static const char *const extras[][2] = {{"t1.s", "r.x"}, {"CAST('a' AS CHAR(30))", "CONCAT(r.x, 'b')"},
		{"t1.v", "r.x + t2.v"}, {"t1.v", "r.x"}, {"CAST(1.5 AS DECIMAL(20,4))", "CAST(r.x * 2 AS DECIMAL(20,4))"},
		{"DATE '2024-02-27'", "r.x + INTERVAL 1 DAY"}, {"'a'", "CONCAT(r.x, 'b')"}, {"1", "r.x + 1.5"},
		{"NULL", "r.n"}, {"t1.s", "t2.s"}, {"1 + 1", "r.x * 3"}};
	size_t extra = below(g, ARRAY_LEN(extras));
	bool two = strstr(extras[extra][1], "t2.") || chance(g, 3);
	const char *all = chance(g, 2) ? " ALL" : chance(g, 2) ? " DISTINCT" : "";

	switch (below(g, 4)) {
	case 0: /* a graph: rows of m whose v is the id of the row before */
		buf_printf(out,
			"WITH RECURSIVE r AS (SELECT id, v FROM m t1 WHERE t1.id %s %u UNION SELECT t2.id, "
			"t2.v FROM r JOIN m t2 ON t2.%s = r.%s) SELECT %s FROM r",
			PICK(g, compare), (unsigned)below(g, 8), chance(g, 2) ? "id" : "v",
			chance(g, 2) ? "v" : "id", chance(g, 2) ? "*" : "COUNT(*), MIN(v)");
		return;
	case 1: /* a series */
		buf_printf(out,
			"WITH RECURSIVE r (n) AS (SELECT %d UNION%s SELECT n + 1 FROM r WHERE n < %u) ",
			(int)below(g, 5) - 2, all, (unsigned)below(g, 30));
		buf_add_str(out, chance(g, 2) ? "SELECT n, t1.id FROM r LEFT JOIN k t1 ON t1.v = r.n"
					      : "SELECT SUM(n), COUNT(*) FROM r");
		return;
	default:
		break;
	}
	buf_printf(out, "WITH RECURSIVE r (n, x) AS (SELECT %s, %s FROM k t1", PICK(g, starts),
		extras[extra][0]);
	where(g, "t1", out);
	buf_printf(out, " UNION%s SELECT r.n + 1, %s FROM r%s WHERE r.n < %u", all, extras[extra][1],
		two ? " JOIN m t2 ON t2.g = r.n" : "", (unsigned)below(g, 4));
	buf_printf(out, ") SELECT %s FROM r", chance(g, 3) ? "COUNT(*), SUM(n), MAX(x)" : "n, x");
	if (chance(g, 3))
		buf_printf(out, " ORDER BY 1%s", chance(g, 2) ? " DESC" : "");
}

static void joins(struct generator *g, struct buf *out)
{
	static const char *const kinds[] = {
		"JOIN", "LEFT JOIN", "RIGHT JOIN", "INNER JOIN", "LEFT OUTER JOIN"};

	switch (below(g, 4)) {
	case 0:
		buf_printf(out,
			"SELECT t1.id, t2.id, t3.id FROM k t1 %s (m t2 %s k t3 ON t2.g = t3.v) ON "
			"t1.v = t2.id",
			PICK(g, kinds), PICK(g, kinds));
		where(g, chance(g, 2) ? "t1" : "t3", out);
		break;
	case 1:
		buf_printf(out, "SELECT id, t1.v, t2.v FROM k t1 %s m t2 USING (id, g)",
			PICK(g, kinds));
		break;
	case 2:
		buf_add_str(out, "SELECT t1.id, t2.id FROM k t1, m t2");
		if (chance(g, 4))
			buf_add_str(out, " STRAIGHT_JOIN k t3 ON t3.id = t2.id");
		buf_add_str(out, " WHERE t1.g = t2.g AND ");
		generate_small_predicate(g, chance(g, 2) ? "t1" : "t2", out);
		order_limit(g, 2, out);
		break;
	default:
		buf_printf(out, "SELECT COUNT(*), SUM(t2.v) FROM k t1 %s m t2 ON t1.id = t2.v AND ",
			PICK(g, kinds));
		generate_small_predicate(g, "t2", out);
		buf_printf(out, " %s k t3 ON t3.g = t1.g", PICK(g, kinds));
	}
}

static void values(struct generator *g, struct buf *out)
{
	const char *row = g->mysql ? "ROW" : "";

	if (g->mysql && chance(g, 3)) {
		buf_add_str(out, "TABLE k ORDER BY id LIMIT 3");
		return;
	}
	buf_printf(out, "%sVALUES %s(%d, 'a'), %s(%s, NULL), %s(2.5, 'b')%s",
		chance(g, 2) ? "SELECT * FROM (" : "", row, (int)below(g, 4), row,
		chance(g, 2) ? "1" : "NULL", row, "");
	if (!strncmp(out->data, "SELECT", 6))
		buf_add_str(out, ") d");
}

static void wide_window(struct generator *g, struct buf *out)
{
	static const char *const calls[] = {"MIN", "MAX", "COUNT", "SUM", "AVG", "FIRST_VALUE",
		"LAST_VALUE", "LAG", "LEAD", "BIT_OR", "BIT_AND", "BIT_XOR"};

	buf_printf(out, "SELECT id, %s, ", wide_column(g));
	if (chance(g, 4))
		buf_add_str(out, chance(g, 2) ? "RANK() OVER (" : "DENSE_RANK() OVER (");
	else
		buf_printf(out, "%s(%s) OVER (", PICK(g, calls), wide_column(g));
	if (chance(g, 2))
		buf_printf(out, "PARTITION BY %s ", wide_column(g));
	buf_printf(out, "ORDER BY %s%s, id) FROM t", wide_column(g), chance(g, 2) ? " DESC" : "");
}

/* A computed column that a temporary table may hold before it is seen. */
static void computed(struct generator *g, struct buf *out)
{
	unsigned kind = (unsigned)below(g, 9);

	g->prefix = "";
	buf_printf(out, "SELECT %s", kind == 0 ? "DISTINCT " : kind == 1 ? "SQL_BUFFER_RESULT " : "");
	if (kind == 7) {
		buf_add_str(out, "c FROM (SELECT ");
		generate_expr(g, out);
		buf_printf(out, " AS c FROM t%s) d", chance(g, 2) ? " LIMIT 100" : "");
		return;
	}
	buf_add_str(out, kind == 8 ? "GROUP_CONCAT(DISTINCT " : "");
	generate_expr(g, out);
	switch (kind) {
	case 2:
		buf_add_str(out, " AS c FROM t GROUP BY c");
		break;
	case 3:
		buf_add_str(out, " FROM t JOIN k USING (id) ORDER BY k.id + t.id");
		break;
	case 4:
		buf_add_str(out, ", RANK() OVER (ORDER BY id) FROM t");
		break;
	case 5:
	case 6:
		buf_printf(out, " FROM t UNION %sSELECT ", chance(g, 2) ? "ALL " : "");
		generate_expr(g, out);
		buf_add_str(out, " FROM t");
		break;
	case 8:
		buf_printf(out, " ORDER BY %s) FROM t", chance(g, 2) ? "id DESC" : wide_column(g));
		break;
	default:
		buf_add_str(out, " FROM t");
	}
}

/* One more table of a chain of joins; ON may be missing, or come after the next join. */
static void chained(struct generator *g, unsigned *tables, struct buf *out)
{
	static const char *const joins[] = {"JOIN", "CROSS JOIN", "STRAIGHT_JOIN", "LEFT JOIN", "RIGHT JOIN"};
	unsigned join = (unsigned)below(g, 5), own = ++*tables;

	buf_printf(out, " %s %s t%u", joins[join], chance(g, 2) ? "k" : "m", own);
	if (*tables < 4 && chance(g, 4))
		chained(g, tables, out);
	if (join >= 3 || (join != 1 && chance(g, 2)))
		buf_printf(out, " ON t%u.%s = t%u.%s", 1 + (unsigned)below(g, own), chance(g, 2) ? "id" : "g", own,
			chance(g, 2) ? "id" : "v");
}

static void join_chains(struct generator *g, struct buf *out)
{
	struct buf from = BUF_INIT;
	unsigned tables = 1;

	buf_printf(&from, " FROM %s t1", chance(g, 2) ? "k" : "m");
	while (tables < 4 && (tables < 3 || chance(g, 2)))
		chained(g, &tables, &from);
	buf_add_str(out, "SELECT COUNT(*), SUM(t1.id)");
	for (unsigned i = 2; i <= tables; i++)
		buf_printf(out, ", SUM(t%u.id)", i);
	buf_add_span(out, buf_span(&from));
	buf_release(&from);
}

/* Expressions over what is made of groups. */
static void over_groups(struct generator *g, struct buf *out)
{
	const char *prefix = g->prefix;
	bool grouped = chance(g, 3);

	g->prefix = "";
	g->aggregated = true;
	buf_add_str(out, "SELECT ");
	generate_expr(g, out);
	buf_printf(out, " FROM t WHERE id <= %u", (unsigned)below(g, 9));
	if (grouped)
		buf_add_str(out, " GROUP BY id % 3");
	if (chance(g, 4)) {
		buf_add_str(out, " HAVING ");
		generate_expr(g, out);
	}
	g->aggregated = false;
	g->prefix = prefix;
}

void generate_wide_query(struct generator *g, struct buf *out)
{
	static void (*const makers[])(struct generator *, struct buf *) = {groups, groups,
		rollups, wide_groups, wide_rows, set_operations, set_operations, correlated, derived,
		recursive, joins, values, wide_window, computed, over_groups, over_groups, join_chains};

	PICK(g, makers)(g, out);
}
