/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random JSON: texts, and functions over table jf (id, a: JSON, v: text, i). */
#include "eval_random.h"

void generate_json(struct random *r, unsigned depth, struct buf *out)
{
	/* As they stand in a string literal; the rare ones are at the end, and seldom taken. */
	static const char *const scalars[] = {"1", "0", "-7", "12345678901", "1.5", "-0.25", "2.0",
		"100.125", "true", "false", "null", "\"a\"", "\"\"", "\"x y\"", "\"\\\\n\"",
		"\"\\\\\"q\\\\\"\"", "\"\\\\/\"", "\"äß漢\"", "1e2", "-0", "01", "tru",
		"\"\\\\u0041\"", "9223372036854775807", "18446744073709551615", "+1", ".5", "1.",
		"\"\\\\x\"", ""};
	static const char *const keys[] = {"a", "b", "aa", "B", "ab", "", "key", "ä", "a b"};
	static const char *const spaces[] = {"", "", "", " ", "  ", "\\n"};
	unsigned count = (unsigned)random_below(r, 4), kind = (unsigned)random_below(r, 5);
	bool object = kind < 4;

	buf_add_str(out, spaces[random_below(r, ARRAY_LEN(spaces))]);
	if (depth == 0 || kind < 2) {
		buf_add_str(out,
			scalars[random_below(r, random_below(r, 12) ? 18 : ARRAY_LEN(scalars))]);
	} else {
		buf_add_char(out, object ? '{' : '[');
		for (unsigned i = 0; i < count; i++) {
			buf_add_str(out, i ? "," : "");
			buf_add_str(out, spaces[random_below(r, ARRAY_LEN(spaces))]);
			if (object)
				buf_printf(out, "\"%s\"%s:", keys[random_below(r, ARRAY_LEN(keys))],
					spaces[random_below(r, ARRAY_LEN(spaces))]);
			generate_json(r, depth - 1, out);
		}
		buf_add_char(out, !random_below(r, 60) ? ',' : object ? '}' : ']');
	}
	buf_add_str(out, spaces[random_below(r, ARRAY_LEN(spaces))]);
}


static const char *pick(struct generator *g, const char *const *list, unsigned count)
{
	return list[random_below(&g->random, count)];
}

#define PICK(g, list) pick(g, list, ARRAY_LEN(list))

static void quoted(struct generator *g, unsigned depth, struct buf *out)
{
	buf_add_char(out, '\'');
	generate_json(&g->random, depth, out);
	buf_add_char(out, '\'');
}

static void path(struct generator *g, struct buf *out)
{
	static const char *const legs[] = {".a", ".b", ".aa", ".B", ".key", ".\"a b\"", ".\"ä\"", "[0]", "[1]",
		"[0]", "[2]", ".\"\"", ".*", "[last]"};
	unsigned count = random_below(&g->random, 8) ? 1 + (unsigned)random_below(&g->random, 3) : 0;

	buf_add_str(out, "'$");
	for (unsigned i = 0; i < count; i++)
		buf_add_str(out, pick(g, legs, random_below(&g->random, 30) ? 11 : ARRAY_LEN(legs)));
	buf_add_char(out, '\'');
}

static void json_expr(struct generator *g, unsigned depth, struct buf *out);

static void document(struct generator *g, unsigned depth, struct buf *out)
{
	switch (random_below(&g->random, 8)) {
	case 0:
		quoted(g, 3, out);
		return;
	case 1:
		if (depth) {
			json_expr(g, depth - 1, out);
			return;
		}
		break;
	case 2:
		buf_add_str(out, "v");
		return;
	default:
		break;
	}
	buf_add_str(out, "a");
}

static void value(struct generator *g, unsigned depth, struct buf *out)
{
	static const char *const values[] = {"7", "-1", "'x'", "'a\"b'", "'ä'", "NULL", "TRUE", "FALSE", "i", "id",
		"v", "a", "i + 1", "'{\"a\": 1}'", "1.50", "2.5e0", "i IS NULL", "CONCAT(v, 'x')",
		"DATE '2024-02-29'", "IFNULL(v, 'n')"};
	unsigned usual = random_below(&g->random, 20) ? 14 : ARRAY_LEN(values);

	if (depth && !random_below(&g->random, 3))
		json_expr(g, depth - 1, out);
	else
		buf_add_str(out, pick(g, values, usual));
}

/* A function whose result is JSON. */
static void json_expr(struct generator *g, unsigned depth, struct buf *out)
{
	static const char *const changes[] = {"JSON_SET", "JSON_INSERT", "JSON_REPLACE"};
	static const char *const keys[] = {"'a'", "'b'", "'aa'", "'a'", "'ä'", "v", "''"};
	unsigned count = (unsigned)random_below(&g->random, 3);

	switch (random_below(&g->random, 7)) {
	case 0:
		buf_add_str(out, "JSON_OBJECT(");
		for (unsigned i = 0; i < count; i++) {
			buf_printf(out, "%s%s, ", i ? ", " : "", PICK(g, keys));
			value(g, depth, out);
		}
		break;
	case 1:
		buf_add_str(out, "JSON_ARRAY(");
		for (unsigned i = 0; i < count; i++) {
			buf_add_str(out, i ? ", " : "");
			value(g, depth, out);
		}
		break;
	case 2:
	case 3:
		buf_printf(out, "%s(", PICK(g, changes));
		document(g, depth, out);
		for (unsigned i = 0; i <= count; i++) {
			buf_add_str(out, ", ");
			path(g, out);
			buf_add_str(out, ", ");
			value(g, depth, out);
		}
		break;
	case 4:
		buf_add_str(out, "JSON_REMOVE(");
		document(g, depth, out);
		for (unsigned i = 0; i <= count / 2; i++) {
			buf_add_str(out, ", ");
			path(g, out);
		}
		break;
	case 5:
		buf_add_str(out, "JSON_KEYS(");
		document(g, depth, out);
		if (count) {
			buf_add_str(out, ", ");
			path(g, out);
		}
		break;
	default:
		if (g->mysql && !random_below(&g->random, 3)) {
			buf_add_str(out, "(a->");
		} else {
			buf_add_str(out, "JSON_EXTRACT(");
			document(g, depth, out);
			buf_add_str(out, ", ");
		}
		path(g, out);
		break;
	}
	buf_add_char(out, ')');
}

static void compared(struct generator *g, struct buf *out)
{
	static const char *const ops[] = {"=", "=", "<>", "<", ">=", "<=>"};
	static const char *const others[] = {"1", "0", "-7", "'a'", "''", "'A'", "i", "v", "1.5", "TRUE", "NULL",
		"'1'", "'x y'", "12345678901"};

	if (random_below(&g->random, 8)) {
		json_expr(g, 1, out);
	} else {
		buf_add_str(out, "JSON_VALUE(a, ");
		path(g, out);
		buf_add_char(out, ')');
	}
	buf_printf(out, " %s ", PICK(g, ops));
	if (random_below(&g->random, 5))
		buf_add_str(out, PICK(g, others));
	else
		json_expr(g, 1, out);
}

/* A function of a document that gives something else. */
static void asked(struct generator *g, struct buf *out)
{
	static const char *const of_json[] = {"JSON_UNQUOTE", "JSON_TYPE", "JSON_LENGTH", "JSON_DEPTH", "JSON_VALID",
		"LENGTH", "JSON_UNQUOTE", "HEX", "ISNULL", "CHAR_LENGTH"};

	switch (random_below(&g->random, 10)) {
	case 8:
		buf_add_str(out, "JSON_VALUE(");
		document(g, 1, out);
		buf_add_str(out, ", ");
		path(g, out);
		break;
	case 9:
		buf_printf(out, "(%s(JSON_VALUE(", random_below(&g->random, 2) ? "HEX" : "LENGTH");
		document(g, 0, out);
		buf_add_str(out, ", ");
		path(g, out);
		buf_add_str(out, random_below(&g->random, 2) ? ")) > '4'" : ")) = 1");
		break;
	case 0:
		buf_add_str(out, "JSON_CONTAINS(");
		document(g, 1, out);
		buf_add_str(out, ", ");
		quoted(g, 1, out);
		if (!random_below(&g->random, 3)) {
			buf_add_str(out, ", ");
			path(g, out);
		}
		break;
	case 1:
		buf_printf(out, "JSON_CONTAINS_PATH(a, '%s', ", random_below(&g->random, 2) ? "one" : "all");
		path(g, out);
		buf_add_str(out, ", ");
		path(g, out);
		break;
	case 2:
		buf_add_str(out, "JSON_LENGTH(");
		document(g, 1, out);
		buf_add_str(out, ", ");
		path(g, out);
		break;
	case 3:
		buf_add_str(out, "CAST(");
		json_expr(g, 1, out);
		buf_add_str(out, random_below(&g->random, 2) ? " AS CHAR" : " AS SIGNED");
		break;
	case 4:
		buf_add_str(out, "(JSON_UNQUOTE(");
		json_expr(g, 0, out);
		buf_add_str(out, random_below(&g->random, 2) ? ") = 'a'" : ") LIKE 'a%'");
		break;
	case 5:
		if (g->mysql) {
			buf_add_str(out, "(a->>");
			path(g, out);
			break;
		}
		/* fall through */
	default:
		buf_printf(out, "%s(", PICK(g, of_json));
		if (random_below(&g->random, 2))
			json_expr(g, 1, out);
		else
			document(g, 1, out);
		break;
	}
	buf_add_char(out, ')');
}

void generate_json_row(struct generator *g, unsigned id, struct buf *out)
{
	static const char *const texts[] = {"'a'", "''", "NULL", "'[1, 2]'", "'{\"a\": \"x\"}'", "'\"q\"'", "'ä'", "'7'"};

	buf_printf(out, "INSERT INTO jf VALUES (%u, ", id);
	if (random_below(&g->random, 10))
		quoted(g, 3, out);
	else
		buf_add_str(out, "NULL");
	buf_printf(out, ", %s, ", PICK(g, texts));
	if (random_below(&g->random, 5))
		buf_printf(out, "%d)", (int)random_below(&g->random, 20) - 7);
	else
		buf_add_str(out, "NULL)");
}

void generate_json_query(struct generator *g, struct buf *out)
{
	buf_add_str(out, "SELECT id, ");
	json_expr(g, 2, out);
	buf_add_str(out, ", ");
	asked(g, out);
	buf_add_str(out, " FROM jf");
	if (random_below(&g->random, 2)) {
		buf_add_str(out, " WHERE ");
		compared(g, out);
	}
	buf_add_str(out, " ORDER BY id");
}

void generate_json_change(struct generator *g, struct buf *out)
{
	buf_printf(out, "UPDATE jf SET %s = ", random_below(&g->random, 4) ? "a" : "v");
	json_expr(g, 2, out);
	if (!random_below(&g->random, 3))
		buf_add_str(out, ", i = JSON_LENGTH(a)");
}
