/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random queries and changes. */
#include "eval_random_internal.h"

#include <string.h>

/* Over a, b (wide) and k(id, g, v, s): mostly of small integers, so that joins and groups meet. */
static void small_column(struct generator *g, const char *table, struct buf *out)
{
	static const char *const columns[] = {"id", "g", "v", "s", "g", "v"};

	buf_printf(out, "%s.%s", table, PICK(g, columns));
}

void generate_small_value(struct generator *g, const char *table, struct buf *out)
{
	switch (below(g, 7)) {
	case 0:
		buf_printf(out, "%d", (int)below(g, 7) - 2);
		break;
	case 1:
		buf_printf(out, "%s.v + %s.g", table, table);
		break;
	case 2:
		buf_printf(out, "%s.g * %u", table, (unsigned)below(g, 4));
		break;
	case 3:
		buf_printf(out, "COALESCE(%s.v, %s.id)", table, table);
		break;
	case 4:
		buf_printf(out, "%s.g %% 2", table);
		break;
	default:
		small_column(g, table, out);
	}
}

void generate_small_predicate(struct generator *g, const char *table, struct buf *out)
{
	static const char *const compare[] = {"=", "<>", "<", "<=", ">", ">=", "<=>"};

	switch (below(g, 9)) {
	case 0:
		buf_printf(out, "%s.v IS %sNULL", table, chance(g, 2) ? "NOT " : "");
		break;
	case 1:
		buf_printf(out, "%s.g IN (%u, %u, NULL)", table, (unsigned)below(g, 4),
			(unsigned)below(g, 4));
		break;
	case 2:
		buf_printf(out, "%s.v BETWEEN %d AND %d", table, (int)below(g, 4) - 2,
			(int)below(g, 6));
		break;
	case 3:
		buf_printf(out, "%s.s LIKE '%s'", table, generate_pattern(g));
		break;
	case 4:
		buf_add_str(out, "(");
		generate_small_predicate(g, table, out);
		buf_add_str(out, chance(g, 2) ? " AND " : " OR ");
		generate_small_predicate(g, table, out);
		buf_add_str(out, ")");
		break;
	case 5:
		buf_add_str(out, "NOT (");
		generate_small_predicate(g, table, out);
		buf_add_str(out, ")");
		break;
	default:
		generate_small_value(g, table, out);
		buf_printf(out, " %s ", PICK(g, compare));
		generate_small_value(g, table, out);
	}
}

/* A subquery in WHERE; `table` is in sight. */
static void sub_predicate(struct generator *g, const char *table, struct buf *out)
{
	static const char *const compare[] = {"=", "<>", "<", "<=", ">", ">="};

	switch (below(g, 5)) {
	case 0:
		buf_printf(out, "%s.g %sIN (SELECT x.g FROM k x WHERE ", table,
			chance(g, 3) ? "NOT " : "");
		generate_small_predicate(g, "x", out);
		buf_add_str(out, ")");
		break;
	case 1:
		buf_printf(out, "%sEXISTS (SELECT 1 FROM k x WHERE x.g %s %s.v)",
			chance(g, 2) ? "NOT " : "", PICK(g, compare), table);
		break;
	case 2:
		buf_printf(out, "%s.v %s (SELECT %s(x.v) FROM k x WHERE x.g = %s.g)", table,
			PICK(g, compare), chance(g, 2) ? "MAX" : "COUNT", table);
		break;
	case 3:
		buf_printf(out, "%s.v %s %s (SELECT x.v FROM k x WHERE ", table, PICK(g, compare),
			chance(g, 2) ? "ALL" : "ANY");
		generate_small_predicate(g, "x", out);
		buf_add_str(out, ")");
		break;
	default:
		generate_small_predicate(g, table, out);
	}
}

static void order_limit(struct generator *g, unsigned columns, struct buf *out)
{
	if (chance(g, 2)) {
		buf_add_str(out, " ORDER BY ");
		for (unsigned i = 0; i < columns; i++)
			buf_printf(
				out, "%s%u%s", i ? ", " : "", i + 1, chance(g, 3) ? " DESC" : "");
	}
	if (chance(g, 4)) {
		buf_printf(out, " LIMIT %u", (unsigned)below(g, 6));
		if (chance(g, 2))
			buf_printf(out, " OFFSET %u", (unsigned)below(g, 4));
	}
}

static void plain_select(struct generator *g, unsigned columns, struct buf *out)
{
	buf_printf(out, "SELECT %s", chance(g, 4) ? "DISTINCT " : "");
	for (unsigned i = 0; i < columns; i++) {
		buf_add_str(out, i ? ", " : "");
		generate_small_value(g, "t1", out);
	}
	buf_add_str(out, " FROM k t1");
	if (chance(g, 2)) {
		buf_add_str(out, " WHERE ");
		sub_predicate(g, "t1", out);
	}
}

static void join_select(struct generator *g, struct buf *out)
{
	static const char *const joins[] = {
		"JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN", "LEFT JOIN"};
	const char *join = PICK(g, joins);

	switch (below(g, 4)) {
	case 0:
		buf_printf(out, "SELECT * FROM k t1 NATURAL %s m t2",
			chance(g, 2) ? "LEFT JOIN" : "JOIN");
		break;
	case 1:
		buf_printf(out, "SELECT t1.v, t2.s, g FROM k t1 %s m t2 USING (g)",
			chance(g, 2) ? "RIGHT JOIN" : "JOIN");
		break;
	default:
		buf_add_str(out, "SELECT ");
		generate_small_value(g, "t1", out);
		buf_add_str(out, ", ");
		generate_small_value(g, "t2", out);
		buf_printf(out, " FROM k t1 %s m t2", join);
		if (strcmp(join, "CROSS JOIN")) {
			buf_add_str(out, " ON ");
			if (chance(g, 2))
				buf_add_str(out, "t1.g = t2.g");
			else
				generate_small_predicate(g, chance(g, 2) ? "t1" : "t2", out);
		}
		if (chance(g, 4))
			buf_add_str(out, " LEFT JOIN k t3 ON t3.id = t2.v");
	}
	if (chance(g, 2)) {
		buf_add_str(out, " WHERE ");
		generate_small_predicate(g, chance(g, 2) ? "t1" : "t2", out);
	}
}

static void group_select(struct generator *g, struct buf *out)
{
	static const char *const aggregates[] = {"COUNT(*)", "COUNT(t1.v)", "SUM(t1.v)",
		"AVG(t1.v)", "MIN(t1.v)", "MAX(t1.s)", "COUNT(DISTINCT t1.g)", "SUM(t1.id + 0.5)",
		"AVG(t1.id)", "BIT_OR(t1.id)", "BIT_AND(t1.g)", "SUM(DISTINCT t1.g)",
		"MAX(t1.v) - MIN(t1.v)", "GROUP_CONCAT(t1.id ORDER BY t1.id)",
		"GROUP_CONCAT(DISTINCT t1.g ORDER BY 1 + t1.g DESC)", "SUM(t1.v) IS NULL",
		"MIN(t1.s)", "AVG(t1.v / 3)"};
	bool grouped = !chance(g, 4);

	buf_printf(out, "SELECT %s%s, %s", grouped ? "t1.g, " : "", PICK(g, aggregates),
		PICK(g, aggregates));
	buf_add_str(out, " FROM k t1");
	if (chance(g, 3)) {
		buf_add_str(out, " WHERE ");
		generate_small_predicate(g, "t1", out);
	}
	if (grouped)
		buf_add_str(out, " GROUP BY t1.g");
	if (chance(g, 3))
		buf_printf(out, " HAVING %s %s %d", PICK(g, aggregates),
			chance(g, 2) ? ">" : "<=", (int)below(g, 4));
}

/* One end of a frame. */
static void frame_end(struct generator *g, bool last, struct buf *out)
{
	switch (below(g, 4)) {
	case 0:
		buf_printf(out, "UNBOUNDED %s", last ? "FOLLOWING" : "PRECEDING");
		break;
	case 1:
		buf_add_str(out, "CURRENT ROW");
		break;
	default:
		buf_printf(out, "%u %s", (unsigned)below(g, 4),
			chance(g, 3) == last ? "PRECEDING" : "FOLLOWING");
	}
}

static void window_call(struct generator *g, struct buf *out)
{
	static const char *const ranks[] = {"ROW_NUMBER()", "RANK()", "DENSE_RANK()",
		"PERCENT_RANK()", "CUME_DIST()", "NTILE(2)", "NTILE(3)", "LAG(t1.v)", "LEAD(t1.s)",
		"LAG(t1.id, 2)", "LEAD(t1.v + 0.5, 1)", "LAG(t1.g, 0)"};
	static const char *const framed[] = {"SUM(t1.v)", "COUNT(*)", "COUNT(t1.v)", "AVG(t1.v)",
		"MIN(t1.v)", "MAX(t1.s)", "FIRST_VALUE(t1.v)", "LAST_VALUE(t1.id)",
		"NTH_VALUE(t1.v, 2)", "SUM(t1.id / 2)", "BIT_OR(t1.id)", "AVG(t1.id + 0e0)",
		"FIRST_VALUE(t1.s)", "SUM(t1.v + 0e0)", "MIN(t1.s)"};
	static const char *const orders[] = {"t1.id", "t1.id DESC", "t1.g, t1.id", "t1.v, t1.id",
		"t1.v", "t1.g DESC", "t1.s DESC, t1.id", "-t1.v", "t1.id"};
	bool rank = chance(g, 2), frame = !rank && chance(g, 2);
	const char *order = PICK(g, orders);

	if (rank && g->mysql && chance(g, 8))
		buf_printf(out, "LAG(t1.v, 1, %s) OVER (", chance(g, 2) ? "99" : "t1.id * 1.5");
	else
		buf_printf(out, "%s OVER (", rank ? PICK(g, ranks) : PICK(g, framed));
	if (chance(g, 2))
		buf_printf(out, "PARTITION BY %s ",
			chance(g, 2) ? "t1.g" : chance(g, 2) ? "t1.s" : "t1.v IS NULL, t1.g % 2");
	if (rank || !chance(g, 5))
		buf_printf(out, "ORDER BY %s ", order);
	if (frame) {
		buf_add_str(out, chance(g, 3) ? "RANGE " : "ROWS ");
		if (chance(g, 4)) {
			frame_end(g, false, out);
		} else {
			buf_add_str(out, "BETWEEN ");
			frame_end(g, false, out);
			buf_add_str(out, " AND ");
			frame_end(g, true, out);
		}
	}
	buf_add_char(out, ')');
}

static void window_select(struct generator *g, struct buf *out)
{
	switch (below(g, 6)) {
	case 0:
		buf_printf(out, "SELECT t1.g, SUM(t1.v), %s OVER (%sORDER BY %s) FROM k t1",
			chance(g, 2)   ? "RANK()"
			: chance(g, 2) ? "SUM(COUNT(*))"
				       : "MAX(SUM(t1.v))",
			chance(g, 3) ? "PARTITION BY t1.g % 2 " : "",
			chance(g, 2) ? "t1.g" : "COUNT(*) DESC");
		buf_printf(out, " GROUP BY t1.g%s", chance(g, 3) ? " HAVING COUNT(*) > 1" : "");
		order_limit(g, 1, out);
		break;
	case 1:
		buf_printf(out,
			"SELECT t1.id, SUM(t1.v) OVER w, %s OVER (w) FROM k t1 WINDOW w AS (%sORDER BY "
			"t1.%s)",
			chance(g, 2) ? "RANK()" : "COUNT(*)",
			chance(g, 2) ? "PARTITION BY t1.g " : "", chance(g, 2) ? "id" : "v");
		break;
	case 2:
		buf_add_str(out, "SELECT d.id, d.r FROM (SELECT t1.id, ");
		window_call(g, out);
		buf_printf(out, " AS r FROM k t1) d WHERE d.r %s %u",
			chance(g, 2) ? "=" : "<=", (unsigned)below(g, 4));
		break;
	case 3:
		buf_printf(out, "SELECT %s", chance(g, 3) ? "DISTINCT " : "t1.id, ");
		window_call(g, out);
		buf_add_str(out, " - ");
		generate_small_value(g, "t1", out);
		buf_add_str(out, " AS r FROM k t1");
		if (chance(g, 2))
			buf_add_str(out, " ORDER BY r");
		break;
	default:
		buf_add_str(out, "SELECT t1.id, ");
		window_call(g, out);
		if (chance(g, 2)) {
			buf_add_str(out, ", ");
			window_call(g, out);
		}
		buf_printf(out, " FROM k t1%s", chance(g, 4) ? " JOIN m t2 ON t1.id = t2.id" : "");
		if (chance(g, 3)) {
			buf_add_str(out, " WHERE ");
			generate_small_predicate(g, "t1", out);
		}
		if (chance(g, 4))
			order_limit(g, 1, out);
	}
}

void generate_query(struct generator *g, struct buf *out)
{
	unsigned columns = 1 + (unsigned)below(g, 3);

	if (chance(g, 2)) {
		generate_wide_query(g, out);
		return;
	}
	switch (below(g, 12)) {
	case 9:
	case 10:
		window_select(g, out);
		break;
	case 0:
		join_select(g, out);
		break;
	case 1:
		group_select(g, out);
		order_limit(g, 1 + (unsigned)below(g, 2), out);
		break;
	case 2:
		plain_select(g, columns, out);
		buf_printf(out, " UNION %s", chance(g, 2) ? "ALL " : "");
		plain_select(g, columns, out);
		order_limit(g, columns, out);
		break;
	case 3:
		buf_add_str(out, "SELECT d.c, COUNT(*) FROM (SELECT ");
		generate_small_value(g, "t1", out);
		buf_add_str(out, " AS c FROM k t1) d GROUP BY d.c");
		order_limit(g, 1, out);
		break;
	case 4:
		buf_add_str(out, "WITH q AS (SELECT t1.id AS a, ");
		generate_small_value(g, "t1", out);
		buf_add_str(out, " AS b FROM k t1 WHERE ");
		generate_small_predicate(g, "t1", out);
		buf_add_str(out, ") SELECT x.a, y.b FROM q x JOIN q y ON x.a = y.b");
		break;
	case 5:
		buf_add_str(out, "SELECT id FROM t WHERE ");
		g->prefix = "";
		g->depth = 2;
		generate_predicate(g, out);
		buf_add_str(out, " ORDER BY id");
		break;
	case 6:
		buf_add_str(out, "SELECT id, ");
		g->prefix = "";
		g->depth = 1;
		generate_of_kind(g, generate_kind(g), out);
		buf_add_str(out, " AS c FROM t ORDER BY c, id");
		break;
	case 7:
		buf_add_str(out, "SELECT COUNT(*), ");
		g->prefix = "";
		g->depth = 1;
		buf_printf(out, "%s(", chance(g, 2) ? "MIN" : chance(g, 2) ? "MAX" : "SUM");
		generate_of_kind(g, generate_kind(g), out);
		buf_add_str(out, ") FROM t GROUP BY ");
		generate_of_kind(g, generate_kind(g), out);
		break;
	default:
		plain_select(g, columns, out);
		order_limit(g, columns, out);
	}
}

/* ---- changes ---- */

void generate_change(struct generator *g, unsigned id, struct buf *out)
{
	/* At the edge of what a column takes. */
	static const char *const sets[] = {"'x '", "'x,y '", "'y ,x'", "'x, '", "'z,'", "' x'",
		"CONCAT('z', '  ')", "LOWER('X ')", "RPAD('y,x', 5, ' ')", "'a '", "''", "'x,x'"};
	static const char *const enums[] = {"'a '", "'B  '", "CONCAT('cc', ' ')", "' a'", "'A '"};
	static const char *const large[] = {"9223372036854775807e0", "9223372036854777856e0",
		"-9223372036854775808e0", "-9223372036854777856e0", "18446744073709551615e0",
		"9223372036854775807.4", "9223372036854775807.5", "IF(id, bi + 0e0, db)",
		"2147483647.5e0", "-0.4e0"};
	size_t count = generated_column_count;
	const char *ignore = chance(g, 8) ? "IGNORE " : "";

	if (chance(g, 10)) {
		unsigned kind = (unsigned)below(g, 3);

		buf_printf(out, "UPDATE %sw SET %s = %s WHERE id = 1", ignore,
			kind == 0   ? "st"
			: kind == 1 ? "en"
			: chance(g, 2) ? "bi"
				    : generated_columns[below(g, count)].name,
			kind == 0 ? PICK(g, sets) : kind == 1 ? PICK(g, enums) : PICK(g, large));
		return;
	}

	g->prefix = "";
	g->depth = 1 + (int)below(g, 2);
	if (chance(g, 2)) {
		const char *column = generated_columns[below(g, count)].name;

		buf_printf(out, "INSERT %sINTO w (id, %s) VALUES (%u, ", ignore, column, id);
		if (chance(g, 2))
			generate_row_value(g, generated_columns[below(g, count)].name, out);
		else
			generate_leaf(g, generate_kind(g), out);
		buf_add_char(out, ')');
		return;
	}
	buf_printf(out, "UPDATE %sw SET %s = ", ignore, generated_columns[below(g, count)].name);
	if (chance(g, 3)) /* conversions inside of comparisons are errors too */
		generate_predicate(g, out);
	else
		generate_of_kind(g, generate_kind(g), out);
	if (chance(g, 3)) {
		buf_printf(out, ", %s = ", generated_columns[below(g, count)].name);
		generate_of_kind(g, generate_kind(g), out);
	}
	buf_add_str(out, " WHERE id = 1");
}
