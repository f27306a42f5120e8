/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random expressions over the wide table. */
#include "eval_random_internal.h"

#include <string.h>

#include "eval_literals.h"

static const char *const ints[] = {"0", "1", "2", "3", "5", "7", "10", "42", "99", "100", "127",
	"128", "255", "256", "1000", "32767", "65535", "100000", "2147483647", "2147483648",
	"4294967295", "4294967296", "9007199254740992", "9007199254740993", "9223372036854775807",
	"9223372036854775808", "18446744073709551615", "20240229", "101112"};
static const char *const decimals[] = {"0.0", "0.5", "1.5", "2.50", "0.05", "1.005", "99.99",
	"100.0", "0.000000001", "123456.789", "12345678901234567890.5", "3.14159", "0.3333", "1.0",
	"2.5", "99999999.99", "1.0000000000000000001"};
static const char *const patterns[] = {"%", "a%", "%a", "%b%", "_", "__", "a_c", "A%C", "", "%%",
	"1%", "\\\\%", "a\\\\%c", "%\\\\_%", "abc", "% %", "2024%", "_%_", "%\xc3\xa9%", "a%\xc3\x9f",
	"\xc3\x84_"};

const char *generate_pattern(struct generator *g)
{
	return PICK(g, patterns);
}

static void column_of(struct generator *g, enum kind kind, struct buf *out)
{
	static const char *const by_kind[K_COUNT][9] = {
		[K_INT] = {"ti", "tu", "si", "i", "iu", "bi", "bu", "id", "i"},
		[K_DECIMAL] = {"d2", "d9", "d0", "d2", "d9", "d0", "d2", "d9", "d2"},
		[K_DOUBLE] = {"db", "f", "db", "f", "db", "db", "db", "db", "db"},
		[K_STRING] = {"vc", "ch", "vn", "vl", "vb", "tx", "vc", "vc", "ch"},
		[K_DATE] = {"da", "da", "da", "da", "da", "da", "da", "da", "da"},
		[K_TIME] = {"tm", "t3", "tm", "t3", "tm", "t3", "tm", "t3", "tm"},
		[K_DATETIME] = {"dt", "d6", "dt", "d6", "dt", "d6", "dt", "d6", "dt"},
		[K_OTHER] = {"y", "en", "st", "bt", "y", "en", "st", "bt", "y"},
	};
	/* Texts of many collations seldom go together: mostly one of them among the others. */
	static const char *const rare[K_COUNT][10] = {
		[K_INT] = {"bo", "su", "mi", "mu", "iz", "iz", "bo", "su", "mi", "mu"},
		[K_DECIMAL] = {"dx", "d4", "dx", "d4", "dx", "d4", "dx", "d4", "dx", "d4"},
		[K_DOUBLE] = {"db", "f", "db", "f", "db", "f", "db", "f", "db", "f"},
		[K_STRING] = {"vg", "vu", "v5", "vx", "v3", "lg", "lb", "va", "bn", "bl"},
		[K_DATE] = {"da", "da", "da", "da", "da", "da", "da", "da", "da", "da"},
		[K_TIME] = {"t6", "t6", "t6", "t6", "t6", "t6", "t6", "t6", "t6", "t6"},
		[K_DATETIME] = {"ts", "tk", "d1", "ts", "tk", "d1", "ts", "tk", "d1", "ts"},
		[K_OTHER] = {"b1", "b6", "b1", "b6", "b1", "b6", "b1", "b6", "b1", "b6"},
	};

	static const char *const calls[] = {"MIN", "MAX", "SUM", "AVG", "COUNT"};
	const char *name = chance(g, 5) ? rare[kind][below(g, 10)] : by_kind[kind][below(g, 9)];
	bool number = kind == K_INT || kind == K_DECIMAL || kind == K_DOUBLE;

	if (g->aggregated)
		buf_printf(out, "%s(%s%s%s)",
			number ? PICK(g, calls) : calls[chance(g, 8) ? 4 : below(g, 2)],
			chance(g, 9) ? "DISTINCT " : "", g->prefix, name);
	else
		buf_printf(out, "%s%s", g->prefix, name);
}

void generate_leaf(struct generator *g, enum kind kind, struct buf *out)
{
	if (chance(g, 15)) {
		buf_add_str(out, "NULL");
		return;
	}
	if (chance(g, 2)) {
		column_of(g, kind, out);
		return;
	}
	switch (kind) {
	case K_INT:
		buf_printf(out, "%s%s", chance(g, 5) ? "-" : "",
			chance(g, 2) ? ints[below(g, 12)] : PICK(g, ints));
		break;
	case K_DECIMAL:
		buf_printf(out, "%s%s", chance(g, 4) ? "-" : "", PICK(g, decimals));
		break;
	case K_DOUBLE:
		buf_printf(out, "%s%s", chance(g, 4) ? "-" : "", PICK(g, doubles));
		break;
	case K_STRING:
		buf_printf(out, "'%s'", PICK(g, strings));
		break;
	case K_DATE:
		buf_printf(out, "DATE '%s'", PICK(g, dates));
		break;
	case K_TIME:
		buf_printf(out, "TIME '%s'", PICK(g, times));
		break;
	case K_DATETIME:
		buf_printf(out, "TIMESTAMP '%s %s'", PICK(g, dates),
			chance(g, 2) ? "10:11:12" : "23:59:59.999999");
		break;
	case K_OTHER:
	case K_COUNT:
		switch (below(g, 5)) {
		case 0:
			buf_printf(out, "0x%02x", (unsigned)below(g, 256));
			break;
		case 1:
			buf_printf(out, "x'%02x%02x'", 0x30 + (unsigned)below(g, 10),
				(unsigned)below(g, 128));
			break;
		case 2:
			buf_printf(out, "b'%u%u%u'", (unsigned)below(g, 2), (unsigned)below(g, 2),
				(unsigned)below(g, 2));
			break;
		case 3:
			buf_add_str(out, "TRUE");
			break;
		default:
			buf_add_str(out, "FALSE");
		}
	}
}

enum kind generate_kind(struct generator *g)
{
	static const enum kind weights[] = {K_INT, K_INT, K_INT, K_INT, K_DECIMAL, K_DECIMAL,
		K_DOUBLE, K_STRING, K_STRING, K_STRING, K_DATE, K_TIME, K_DATETIME, K_OTHER};

	return PICK(g, weights);
}

static void call(struct generator *g, const char *name, const enum kind *kinds, unsigned count,
	struct buf *out)
{
	buf_printf(out, "%s(", name);
	for (unsigned i = 0; i < count; i++) {
		if (i)
			buf_add_str(out, ", ");
		generate_of_kind(g, kinds[i], out);
	}
	/* 16 million blanks keep REGEXP_REPLACE on MariaDB and TRIM on MySQL busy for minutes, and cannot be killed. */
	buf_add_str(out, strcmp(name, "SPACE") ? ")" : " MOD 1000)");
}

static void binary(struct generator *g, const char *op, enum kind l, enum kind r, struct buf *out)
{
	buf_add_char(out, '(');
	generate_of_kind(g, l, out);
	buf_printf(out, " %s ", op);
	generate_of_kind(g, r, out);
	buf_add_char(out, ')');
}

/* Mostly of the kind wanted, sometimes of any: conversions are half of the matter. */
static enum kind like(struct generator *g, enum kind kind)
{
	return chance(g, 4) ? generate_kind(g) : kind;
}

static const char *const regexps[] = {"a", "^a", "b$", "^$", "", "a.c", "[a-c]+", "[^a-z]", "a|b", "(a)(b)?",
	"[0-9]{2,}", "^[[:alpha:]]+$", "[[:digit:]]", "\\\\d+", "\\\\w", "\\\\s", "a*", "x?y", "A", "ab+?",
	"(?:ab)+", "^(.)(.)", "[[:space:]]", "\\\\.", "-", "e", "\\\\bb", "(", "a{1", "[[:punct:]]", "\\\\W",
	"o.*o", "[aB]", "^.{3}$", "l+", "\xc3\xa9", ".", "(a|b)c", "[-1]", "a]", "\\\\\\\\", "^1", "[[:upper:]]",
	"(.)\\\\1", "(?i)A", "z(?=a)", "[.]5"};
static const char *const replacements[] = {"", "x", "-", "<\\\\0>", "\\\\2\\\\1", "\\\\\\\\", "$1", "yy"};

/* A pattern as a literal, or now and then computed. */
static void regexp(struct generator *g, struct buf *out)
{
	if (chance(g, 8))
		generate_of_kind(g, K_STRING, out);
	else
		buf_printf(out, "'%s'", PICK(g, regexps));
}

void generate_predicate(struct generator *g, struct buf *out)
{
	static const char *const compare[] = {"=", "<>", "<", "<=", ">", ">=", "<=>", "="};
	enum kind k = generate_kind(g);

	switch (below(g, 15)) {
	case 12:
		buf_add_char(out, '(');
		generate_of_kind(g, like(g, K_STRING), out);
		buf_printf(out, "%s %s ", chance(g, 4) ? " NOT" : "",
			chance(g, 3) ? "RLIKE" : "REGEXP");
		regexp(g, out);
		buf_add_char(out, ')');
		break;
	case 0:
	case 1:
	case 2:
	case 3:
		binary(g, PICK(g, compare), k, like(g, k), out);
		break;
	case 4:
		binary(g, chance(g, 2) ? "AND" : "OR", K_OTHER, generate_kind(g), out);
		break;
	case 5:
		binary(g, chance(g, 3) ? "XOR" : "AND", generate_kind(g), generate_kind(g), out);
		break;
	case 6:
		buf_add_str(out, "(NOT ");
		generate_of_kind(g, generate_kind(g), out);
		buf_add_char(out, ')');
		break;
	case 7: {
		static const char *const is[] = {"NULL", "NOT NULL", "TRUE", "NOT TRUE", "FALSE",
			"NOT FALSE", "UNKNOWN", "NOT UNKNOWN"};

		buf_add_char(out, '(');
		generate_of_kind(g, k, out);
		buf_printf(out, " IS %s)", PICK(g, is));
		break;
	}
	case 8:
	case 9:
		buf_add_char(out, '(');
		generate_of_kind(g, k, out);
		buf_printf(out, "%s BETWEEN ", chance(g, 4) ? " NOT" : "");
		generate_of_kind(g, like(g, k), out);
		buf_add_str(out, " AND ");
		generate_of_kind(g, like(g, k), out);
		buf_add_char(out, ')');
		break;
	case 10:
	case 11:
		buf_add_char(out, '(');
		generate_of_kind(g, k, out);
		buf_printf(out, "%s IN (", chance(g, 4) ? " NOT" : "");
		for (unsigned i = 0, n = 1 + (unsigned)below(g, 4); i < n; i++) {
			if (i)
				buf_add_str(out, ", ");
			generate_of_kind(g, like(g, k), out);
		}
		buf_add_str(out, "))");
		break;
	default:
		buf_add_char(out, '(');
		generate_of_kind(g, like(g, K_STRING), out);
		buf_printf(out, "%s LIKE ", chance(g, 4) ? " NOT" : "");
		if (chance(g, 4))
			generate_of_kind(g, K_STRING, out);
		else
			buf_printf(out, "'%s'", generate_pattern(g));
		if (chance(g, 6))
			buf_add_str(out, " ESCAPE '|'");
		buf_add_char(out, ')');
	}
}

static void control(struct generator *g, enum kind kind, struct buf *out)
{
	switch (below(g, 7)) {
	case 0:
		buf_add_str(out, "IF(");
		generate_of_kind(g, K_OTHER, out);
		buf_add_str(out, ", ");
		generate_of_kind(g, kind, out);
		buf_add_str(out, ", ");
		generate_of_kind(g, like(g, kind), out);
		buf_add_char(out, ')');
		break;
	case 1:
		call(g, !g->mysql && chance(g, 8) ? "NVL" : "IFNULL",
			(enum kind[]){kind, like(g, kind)}, 2, out);
		break;
	case 2:
		call(g, "COALESCE", (enum kind[]){kind, like(g, kind), kind}, 3, out);
		break;
	case 3:
		call(g, "NULLIF", (enum kind[]){kind, like(g, kind)}, 2, out);
		break;
	case 4:
		call(g, chance(g, 2) ? "GREATEST" : "LEAST",
			(enum kind[]){kind, like(g, kind), kind}, 2 + (unsigned)below(g, 2), out);
		break;
	case 5:
		buf_add_str(out, "CASE ");
		generate_of_kind(g, kind, out);
		buf_add_str(out, " WHEN ");
		generate_of_kind(g, like(g, kind), out);
		buf_add_str(out, " THEN ");
		generate_of_kind(g, kind, out);
		buf_add_str(out, " ELSE ");
		generate_of_kind(g, like(g, kind), out);
		buf_add_str(out, " END");
		break;
	default:
		buf_add_str(out, "CASE WHEN ");
		generate_of_kind(g, K_OTHER, out);
		buf_add_str(out, " THEN ");
		generate_of_kind(g, kind, out);
		if (chance(g, 2)) {
			buf_add_str(out, " ELSE ");
			generate_of_kind(g, like(g, kind), out);
		}
		buf_add_str(out, " END");
	}
}

static void number_expr(struct generator *g, enum kind kind, struct buf *out)
{
	static const char *const arithmetic[] = {"+", "-", "*", "/", "DIV", "%", "+", "-", "*"};
	static const char *const bits[] = {"&", "|", "^", "<<", ">>"};

	switch (below(g, 15)) {
	case 13:
		buf_printf(out, "%s(", g->mysql && chance(g, 2) ? "REGEXP_LIKE" : "REGEXP_INSTR");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_add_str(out, ", ");
		regexp(g, out);
		buf_add_char(out, ')');
		break;
	case 0:
	case 1:
	case 2:
	case 3:
		binary(g, PICK(g, arithmetic), kind, like(g, kind), out);
		break;
	case 4:
		buf_add_str(out, "(- ");
		generate_of_kind(g, like(g, kind), out);
		buf_add_char(out, ')');
		break;
	case 5:
		binary(g, PICK(g, bits), K_INT, like(g, K_INT), out);
		break;
	case 6: {
		static const char *const one[] = {
			"ABS", "SIGN", "CEILING", "FLOOR", "ROUND", "BIT_COUNT"};

		call(g, PICK(g, one), (enum kind[]){like(g, kind)}, 1, out);
		break;
	}
	case 7:
		buf_printf(out, "%s(", chance(g, 2) ? "ROUND" : "TRUNCATE");
		generate_of_kind(g, like(g, kind), out);
		buf_printf(out, ", %d)", (int)below(g, 8) - 3);
		break;
	case 8: {
		static const char *const types[] = {"SIGNED", "UNSIGNED", "DECIMAL(10,2)",
			"DECIMAL(20)", "DECIMAL(30,10)", "DOUBLE", "DECIMAL"};

		buf_add_str(out, "CAST(");
		generate_of_kind(g, generate_kind(g), out);
		buf_printf(out, " AS %s)", PICK(g, types));
		break;
	}
	case 9: {
		static const char *const measure[] = {
			"LENGTH", "CHAR_LENGTH", "ASCII", "ORD", "BIT_LENGTH"};

		call(g, PICK(g, measure), (enum kind[]){like(g, K_STRING)}, 1, out);
		break;
	}
	case 10: {
		static const char *const relate[] = {
			"LOCATE", "INSTR", "STRCMP", "FIND_IN_SET", "FIELD"};

		call(g, PICK(g, relate), (enum kind[]){like(g, K_STRING), like(g, K_STRING)}, 2,
			out);
		break;
	}
	case 11: {
		static const char *const part[] = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE",
			"SECOND", "MICROSECOND", "DAYOFWEEK", "WEEKDAY", "DAYOFYEAR", "QUARTER",
			"TO_DAYS", "TIME_TO_SEC", "WEEK", "DAYOFMONTH", "LAST_DAY", "TO_SECONDS",
			"YEARWEEK"};
		enum kind k = chance(g, 3) ? K_DATE : chance(g, 2) ? K_DATETIME : K_TIME;

		call(g, PICK(g, part), (enum kind[]){like(g, k)}, 1, out);
		break;
	}
	case 12: {
		static const char *const units[] = {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE",
			"SECOND", "MICROSECOND", "QUARTER", "WEEK", "YEAR_MONTH", "DAY_HOUR",
			"DAY_MICROSECOND", "HOUR_SECOND"};
		enum kind k = chance(g, 2) ? K_DATE : K_DATETIME;

		if (chance(g, 2)) {
			buf_printf(out, "EXTRACT(%s FROM ", PICK(g, units));
			generate_of_kind(g, like(g, k), out);
			buf_add_char(out, ')');
		} else if (chance(g, 2)) {
			call(g, "DATEDIFF", (enum kind[]){k, like(g, k)}, 2, out);
		} else {
			buf_printf(out, "TIMESTAMPDIFF(%s, ", units[below(g, 9)]);
			generate_of_kind(g, k, out);
			buf_add_str(out, ", ");
			generate_of_kind(g, like(g, k), out);
			buf_add_char(out, ')');
		}
		break;
	}
	default:
		control(g, kind, out);
	}
}

static void string_expr(struct generator *g, struct buf *out)
{
	switch (below(g, 18)) {
	case 15:
		buf_add_str(out, "REGEXP_SUBSTR(");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_add_str(out, ", ");
		regexp(g, out);
		buf_add_char(out, ')');
		break;
	case 16:
		buf_add_str(out, "REGEXP_REPLACE(");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_add_str(out, ", ");
		regexp(g, out);
		buf_printf(out, ", '%s')", PICK(g, replacements));
		break;
	case 0:
	case 1:
		call(g, "CONCAT", (enum kind[]){K_STRING, generate_kind(g), K_STRING},
			1 + (unsigned)below(g, 3), out);
		break;
	case 2:
		call(g, "CONCAT_WS", (enum kind[]){K_STRING, generate_kind(g), K_STRING},
			2 + (unsigned)below(g, 2), out);
		break;
	case 3: {
		static const char *const one[] = {"UPPER", "LOWER", "REVERSE", "TRIM", "LTRIM",
			"RTRIM", "HEX", "UNHEX", "QUOTE"};

		call(g, PICK(g, one), (enum kind[]){like(g, K_STRING)}, 1, out);
		break;
	}
	case 4:
		call(g, chance(g, 2) ? "LEFT" : "RIGHT", (enum kind[]){like(g, K_STRING), K_INT}, 2,
			out);
		break;
	case 5:
		buf_add_str(out, "SUBSTRING(");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_printf(out, ", %d", (int)below(g, 12) - 5);
		if (chance(g, 2))
			buf_printf(out, ", %d", (int)below(g, 8) - 2);
		buf_add_char(out, ')');
		break;
	case 6:
		call(g, "REPLACE", (enum kind[]){like(g, K_STRING), K_STRING, K_STRING}, 3, out);
		break;
	case 7:
		buf_printf(out, "%s(", chance(g, 2) ? "LPAD" : "RPAD");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_printf(out, ", %u, ", (unsigned)below(g, 20));
		generate_of_kind(g, K_STRING, out);
		buf_add_char(out, ')');
		break;
	case 8:
		buf_add_str(out, "REPEAT(");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_printf(out, ", %d)", (int)below(g, 6) - 1);
		break;
	case 9:
		buf_add_str(out, "TRIM(");
		buf_add_str(out, chance(g, 2) ? "BOTH " : chance(g, 2) ? "LEADING " : "TRAILING ");
		generate_of_kind(g, K_STRING, out);
		buf_add_str(out, " FROM ");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_add_char(out, ')');
		break;
	case 10: {
		static const char *const types[] = {
			"CHAR", "CHAR(3)", "BINARY", "BINARY(6)", "CHAR CHARACTER SET latin1"};

		buf_add_str(out, "CAST(");
		generate_of_kind(g, generate_kind(g), out);
		buf_printf(out, " AS %s)", PICK(g, types));
		break;
	}
	case 11:
		buf_add_str(out, "SUBSTRING_INDEX(");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_add_str(out, ", ");
		generate_of_kind(g, K_STRING, out);
		buf_printf(out, ", %d)", (int)below(g, 5) - 2);
		break;
	case 12:
		call(g, "ELT", (enum kind[]){K_INT, K_STRING, generate_kind(g), K_STRING}, 4, out);
		break;
	case 13:
		buf_add_str(out, "INSERT(");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_printf(out, ", %d, %d, ", (int)below(g, 8) - 1, (int)below(g, 6) - 1);
		generate_of_kind(g, K_STRING, out);
		buf_add_char(out, ')');
		break;
	case 14: {
		static const char *const formats[] = {"%Y-%m-%d", "%H:%i:%s.%f", "%W %M %e %y",
			"%a %b %c", "%j %k %l %p %r %T", "%D %d %h %I", "%u %v %x %X %V %w",
			"x%%y%z"};

		buf_add_str(out, "DATE_FORMAT(");
		generate_of_kind(g, chance(g, 2) ? K_DATE : K_DATETIME, out);
		buf_printf(out, ", '%s')", PICK(g, formats));
		break;
	}
	default:
		control(g, K_STRING, out);
	}
}

static void time_expr(struct generator *g, enum kind kind, struct buf *out)
{
	static const char *const units[] = {"MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY",
		"WEEK", "MONTH", "QUARTER", "YEAR"};
	static const char *const compound[] = {"'1:2' MINUTE_SECOND", "'1 2' DAY_HOUR",
		"'1-2' YEAR_MONTH", "'-1:30' HOUR_MINUTE", "'1.5' SECOND_MICROSECOND"};

	switch (below(g, 9)) {
	case 0:
	case 1:
		buf_printf(out, "DATE_%s(", chance(g, 2) ? "ADD" : "SUB");
		generate_of_kind(g, kind == K_TIME ? K_TIME : kind, out);
		buf_add_str(out, ", INTERVAL ");
		if (chance(g, 3)) {
			buf_add_str(out, PICK(g, compound));
		} else {
			generate_of_kind(g, chance(g, 3) ? K_DECIMAL : K_INT, out);
			buf_printf(out, " %s", PICK(g, units));
		}
		buf_add_char(out, ')');
		break;
	case 2:
		buf_add_str(out, "CAST(");
		generate_of_kind(g, generate_kind(g), out);
		buf_printf(out, " AS %s)",
			kind == K_DATE   ? "DATE"
			: kind == K_TIME ? (chance(g, 2) ? "TIME" : "TIME(2)")
					 : (chance(g, 2) ? "DATETIME" : "DATETIME(4)"));
		break;
	case 3:
		call(g, kind == K_TIME ? "TIME" : "DATE", (enum kind[]){like(g, K_DATETIME)}, 1,
			out);
		break;
	case 4:
		if (kind == K_TIME)
			call(g, chance(g, 2) ? "SEC_TO_TIME" : "TIME", (enum kind[]){K_INT}, 1,
				out);
		else
			call(g, chance(g, 2) ? "LAST_DAY" : "DATE", (enum kind[]){kind}, 1, out);
		break;
	case 5:
		if (kind == K_TIME)
			call(g, chance(g, 2) ? "TIMEDIFF" : "ADDTIME",
				(enum kind[]){K_TIME, K_TIME}, 2, out);
		else
			call(g, chance(g, 2) ? "ADDTIME" : "SUBTIME",
				(enum kind[]){K_DATETIME, K_TIME}, 2, out);
		break;
	case 6:
		if (kind == K_TIME)
			buf_printf(out, "MAKETIME(%d, %d, %d)", (int)below(g, 50) - 10,
				(int)below(g, 65), (int)below(g, 65));
		else
			buf_printf(out, "MAKEDATE(%u, %d)", 1990 + (unsigned)below(g, 50),
				(int)below(g, 800) - 10);
		break;
	default:
		control(g, kind, out);
	}
}

/* (a, b) = (c, d) and (a, b) IN (...). */
static void row_predicate(struct generator *g, struct buf *out)
{
	static const char *const compare[] = {"=", "<>", "<", ">=", "<=>"};
	enum kind a = generate_kind(g), b = generate_kind(g);
	unsigned rows = chance(g, 2) ? 1 : 1 + (unsigned)below(g, 2);

	buf_add_str(out, "((");
	generate_of_kind(g, a, out);
	buf_add_str(out, ", ");
	generate_of_kind(g, b, out);
	if (rows == 1 && chance(g, 2))
		buf_printf(out, ") %s ", PICK(g, compare));
	else
		buf_printf(out, ")%s IN (", chance(g, 3) ? " NOT" : "");
	bool in = out->data[out->len - 1] == '(';
	for (unsigned i = 0; i < rows; i++) {
		buf_add_str(out, i ? ", (" : "(");
		generate_of_kind(g, like(g, a), out);
		buf_add_str(out, ", ");
		generate_of_kind(g, like(g, b), out);
		buf_add_char(out, ')');
	}
	buf_add_str(out, in ? "))" : ")");
}

/* Numbers and bytes as texts, and back. */
static void encode_expr(struct generator *g, struct buf *out)
{
	static const char *const days[] = {"'2024-02-29'", "'29/02/2024'", "'2024-2-9 1:02:03'", "'2023-02-29'",
		"'2024-12-31 23:59:59'", "'31.12.1999'", "'20240229'", "'x'", "vc", "vx", "''", "'2024-02-29 '"};
	static const char *const formats[] = {"'%Y-%m-%d'", "'%d/%m/%Y'", "'%Y-%m-%d %H:%i:%s'", "'%Y%m%d'",
		"'%d.%m.%Y'", "'%Y-%c-%e %k:%i:%S'", "'%M'", "'%Y-%m-%d'"};
	static const char *const addresses[] = {"'10.0.0.1'", "'255.255.255.255'", "'1.2.3'", "'256.1.1.1'", "vc",
		"'0.0.0.0'", "''"};
	static const char *const numerals[] = {"'ff'", "'101'", "'zz'", "'12'", "vc", "''", "'FFFFFFFFFFFFFFFF'", "i", "bu"};
	static const char *const texts[] = {"vc", "vl", "vb", "'abc'", "'a'", "''", "i", "bl", "vx", "ch", "tx", "v3"};
	static const char *const coded[] = {"'YWJj'", "'YQ=='", "'YWI='", "''", "'x'", "vc", "TO_BASE64(vc)"};
	static const char *const listed[] = {"'1'", "'2'", "'0'", "'127'", "'x'", "'12345'", "3", "NULL", "'-1'"};
	static const char *const words[] = {"'a'", "'B'", "'abc'", "'A'", "vc", "''", "'x'", "vx", "NULL"};
	static const char *const integers[] = {"i", "bi", "bu", "ti", "su", "id"};
	static const char *const columns[] = {"vc", "vx", "ch", "vn", "vl", "tx"};

	switch (below(g, 10)) {
	case 0:
		buf_add_str(out, "FORMAT(");
		generate_of_kind(g, chance(g, 2) ? K_INT : K_DECIMAL, out);
		buf_printf(out, ", %u)", (unsigned)below(g, 7));
		break;
	case 1:
		buf_printf(out, "CONV(%s, %u, %u)", PICK(g, numerals), (unsigned)(chance(g, 2) ? 10 : 16),
			(unsigned)(2 + below(g, 35)));
		break;
	case 2:
		call(g, "CHAR", (enum kind[]){K_INT, K_INT, K_INT}, 1 + (unsigned)below(g, 3), out);
		break;
	case 3:
		buf_printf(out, "TO_BASE64(%s)", PICK(g, texts));
		break;
	case 4:
		buf_printf(out, "FROM_BASE64(%s)", PICK(g, coded));
		break;
	case 5:
		buf_printf(out, "INET_ATON(%s)", PICK(g, addresses));
		break;
	case 6:
		call(g, "INET_NTOA", (enum kind[]){K_INT}, 1, out);
		break;
	case 7:
		buf_printf(out, "STR_TO_DATE(%s, %s)", PICK(g, days), PICK(g, formats));
		break;
	case 8:
		buf_printf(out, "(%s IN (%s, %s, %s))", PICK(g, integers), PICK(g, listed), PICK(g, listed),
			PICK(g, listed));
		break;
	default:
		buf_printf(out, "FIELD(%s, %s, %s, %s)", PICK(g, columns), PICK(g, words), PICK(g, words),
			PICK(g, words));
		break;
	}
}

/* Moments as numbers, and clocks of other zones. */
static void zone_expr(struct generator *g, struct buf *out)
{
	static const char *const zones[] = {"'+00:00'", "'+02:00'", "'-09:30'", "'+5:45'", "'+12:00'", "'-12:59'", "'+1:00'"};
	static const char *const moments[] = {"'2024-02-29 10:11:12.5'", "'2024-02-29'", "'2001-09-09 01:46:40.123456'",
		"'2037-12-31 23:59:59'", "'2024-02-29 10:11:12.500'", "'x'", "''", "vc", "tx"};
	static const char *const numbers[] = {"1709201472", "1709201472.25", "86400000", "1e9", "2147000000.123456", "id * 100000000",
		"i", "d9", "bu", "ti * 10000000 + 0.5", "-1", "d2"};

	switch (below(g, 3)) {
	case 0:
		buf_add_str(out, "UNIX_TIMESTAMP(");
		break;
	case 1:
		buf_printf(out, "FROM_UNIXTIME(%s)", PICK(g, numbers));
		return;
	default:
		buf_add_str(out, "CONVERT_TZ(");
	}
	bool convert = out->data[out->len - 4] == '_';

	if (chance(g, 3))
		buf_add_str(out, PICK(g, moments));
	else
		generate_of_kind(g, like(g, chance(g, 2) ? K_DATE : K_DATETIME), out);
	if (convert)
		buf_printf(out, ", %s, %s", PICK(g, zones), PICK(g, zones));
	buf_add_char(out, ')');
}

/* What the other functions leave out. */
static void rare_expr(struct generator *g, struct buf *out)
{
	static const char *const numbers[] = {"SQRT", "BIN", "OCT", "CEIL", "FROM_DAYS", "HEX"};
	static const char *const texts[] = {"MID", "SUBSTR"};
	static const char *const days[] = {"DAYNAME", "MONTHNAME", "WEEKOFYEAR"};
	static const char *const clocks[] = {"NOW()", "CURDATE()", "CURTIME()", "NOW(3)", "PI()",
		"CURRENT_TIMESTAMP(6)", "LOCALTIME", "CURRENT_DATE", "LOCALTIMESTAMP(2)", "CURRENT_TIME",
		"SYSDATE()", "UTC_DATE()", "UTC_TIME(1)", "UTC_TIMESTAMP()"};
	static const char *const collations[] = {"utf8mb4_bin", "utf8mb4_general_ci",
		"utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci"};
	static const char *const sets[] = {"utf8mb4", "latin1", "binary", "utf8mb3", "ascii"};

	switch (below(g, 18)) {
	case 16:
	case 17:
		zone_expr(g, out);
		break;
	case 13:
	case 14:
	case 15:
		encode_expr(g, out);
		break;
	case 0:
		row_predicate(g, out);
		break;
	case 1:
		call(g, PICK(g, numbers), (enum kind[]){like(g, chance(g, 2) ? K_INT : K_DOUBLE)}, 1,
			out);
		break;
	case 2:
		buf_printf(out, "%s(", PICK(g, texts));
		generate_of_kind(g, like(g, K_STRING), out);
		buf_printf(out, ", %d, %d)", (int)below(g, 9) - 4, (int)below(g, 6) - 1);
		break;
	case 3:
		call(g, PICK(g, days), (enum kind[]){like(g, chance(g, 2) ? K_DATE : K_DATETIME)},
			1, out);
		break;
	case 4:
		buf_add_str(out, PICK(g, clocks));
		break;
	case 5:
		buf_add_char(out, '(');
		generate_of_kind(g, K_STRING, out);
		buf_printf(out, " COLLATE %s = ", PICK(g, collations));
		generate_of_kind(g, K_STRING, out);
		buf_add_char(out, ')');
		break;
	case 6:
		buf_add_str(out, "CONVERT(");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_printf(out, " USING %s)", PICK(g, sets));
		break;
	case 7:
		call(g, chance(g, 2) ? "ISNULL" : "SPACE", (enum kind[]){K_INT}, 1, out);
		break;
	case 8: {
		bool mod = chance(g, 2);

		buf_add_str(out, mod ? "MOD(" : "LOCATE(");
		generate_of_kind(g, generate_kind(g), out);
		buf_add_str(out, ", ");
		generate_of_kind(g, generate_kind(g), out);
		if (!mod && chance(g, 2))
			buf_printf(out, ", %d", (int)below(g, 6) - 1);
		buf_add_char(out, ')');
		break;
	}
	case 9:
		buf_add_str(out, chance(g, 2) ? "WEEK(" : "YEARWEEK(");
		generate_of_kind(g, chance(g, 2) ? K_DATE : K_DATETIME, out);
		buf_printf(out, ", %u)", (unsigned)below(g, 9));
		break;
	case 10:
		buf_add_str(out, "(SELECT ");
		generate_of_kind(g, generate_kind(g), out);
		buf_add_char(out, ')');
		break;
	case 11:
		buf_add_char(out, '(');
		generate_of_kind(g, generate_kind(g), out);
		buf_printf(out, " %sIN (SELECT ", chance(g, 3) ? "NOT " : "");
		generate_of_kind(g, generate_kind(g), out);
		buf_add_str(out, "))");
		break;
	default:
		buf_printf(out, "CAST(");
		generate_of_kind(g, generate_kind(g), out);
		buf_printf(out, " AS %s)",
			chance(g, 2)   ? "CHAR(3)"
			: chance(g, 2) ? "BINARY(4)"
				       : "CHAR CHARACTER SET latin1");
	}
}

/* An INTERVAL's amount and unit. */
static void interval(struct generator *g, struct buf *out)
{
	static const char *const compound[] = {"SECOND_MICROSECOND", "MINUTE_MICROSECOND",
		"MINUTE_SECOND", "HOUR_MICROSECOND", "HOUR_SECOND", "HOUR_MINUTE",
		"DAY_MICROSECOND", "DAY_SECOND", "DAY_MINUTE", "DAY_HOUR", "YEAR_MONTH"};
	static const char *const amounts[] = {"'1'", "'1:2'", "'1 2:3'", "'1 2:3:4'", "'-1:30'",
		"'1.5'", "'1:2:3.000004'", "'2-3'", "'-5-1'", "''", "'1 2:3:4.5'", "7", "-12",
		"1.25", "'x'"};

	buf_printf(out, "INTERVAL %s %s", PICK(g, amounts), PICK(g, compound));
}

/* Other ways to write the same, and arguments that are seldom given. */
static void wide_expr(struct generator *g, struct buf *out)
{
	static const char *const others[] = {"OCTET_LENGTH", "CHARACTER_LENGTH", "LCASE", "UCASE",
		"BIT_LENGTH", "CEIL", "COALESCE", "ISNULL", "HEX", "QUOTE", "TO_SECONDS",
		"DAYOFMONTH", "MICROSECOND", "QUARTER", "WEEKOFYEAR", "SQRT", "SPACE", "MD5", "SHA1", "CRC32"};
	static const unsigned sha2[] = {0, 224, 256, 384, 512};
	static const char *const units[] = {"MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY",
		"WEEK", "MONTH", "QUARTER", "YEAR", "SECOND_MICROSECOND", "MINUTE_MICROSECOND",
		"MINUTE_SECOND", "HOUR_MICROSECOND", "HOUR_SECOND", "HOUR_MINUTE",
		"DAY_MICROSECOND", "DAY_SECOND", "DAY_MINUTE", "DAY_HOUR", "YEAR_MONTH"};
	static const char *const casts[] = {"SIGNED INTEGER", "UNSIGNED INTEGER", "DECIMAL(65,30)",
		"DECIMAL(5,5)", "DECIMAL(3)", "CHAR CHARACTER SET utf8mb4", "CHAR(2) CHARACTER SET utf8mb3",
		"CHAR CHARACTER SET ascii", "NCHAR(2)", "CHAR CHARACTER SET binary", "BINARY(2)", "TIME(6)",
		"TIME(1)", "DATETIME(6)", "DATETIME(1)", "DATE", "CHAR(0)", "CHAR"};
	static const char *const texts[] = {"_utf8mb4'abc'", "_latin1'abc'", "_binary'abc'", "N'abc'",
		"_utf8mb4'\xc3\xa9'", "_utf8mb4 x'61'", "'abc' COLLATE utf8mb4_bin", "_ascii'1.5'"};
	static const char *const added[] = {"'1:2:3'", "'-10:00'", "'1 1:1:1.000002'", "'0.5'", "'25:00:00'",
		"'x'", "'2024-02-29'", "'12'"};
	static const char *const letters = "aBbcDdefHhIijklMmprSsTUuVvWwXxYyz%qEL";
	static const char *const bounds[] = {"NULL", "0", "-1", "2", "100"};
	enum kind k = generate_kind(g), day = chance(g, 2) ? K_DATE : K_DATETIME;

	switch (below(g, 20)) {
	case 0:
	case 1:
		if (chance(g, 20)) {
			buf_add_str(out, "SHA2(");
			generate_of_kind(g, k, out);
			buf_printf(out, ", %u)", PICK(g, sha2));
		} else {
			call(g, PICK(g, others), (enum kind[]){k}, 1, out);
		}
		break;
	case 2:
		buf_add_str(out, chance(g, 3) ? "(! " : chance(g, 2) ? "(~ " : "(BINARY ");
		generate_of_kind(g, k, out);
		buf_add_char(out, ')');
		break;
	case 3:
		binary(g, chance(g, 2) ? "MOD" : chance(g, 2) ? "&&" : "||", k, like(g, k), out);
		break;
	case 4:
		buf_add_str(out, "POSITION(");
		generate_leaf(g, K_STRING, out);
		buf_add_str(out, " IN ");
		generate_of_kind(g, like(g, K_STRING), out);
		buf_add_char(out, ')');
		break;
	case 5:
		buf_add_str(out, "CONVERT(");
		generate_of_kind(g, k, out);
		buf_printf(out, ", %s)", PICK(g, casts));
		break;
	case 6:
		buf_add_char(out, '(');
		if (chance(g, 2)) {
			generate_of_kind(g, day, out);
			buf_add_str(out, chance(g, 2) ? " + " : " - ");
			interval(g, out);
		} else {
			interval(g, out);
			buf_add_str(out, " + ");
			generate_of_kind(g, day, out);
		}
		buf_add_char(out, ')');
		break;
	case 7:
		call(g, chance(g, 2) ? "ADDDATE" : "SUBDATE", (enum kind[]){day, K_INT}, 2, out);
		break;
	case 8:
	case 9:
		buf_printf(out, "EXTRACT(%s FROM ", PICK(g, units));
		generate_of_kind(g, chance(g, 3) ? K_TIME : day, out);
		buf_add_char(out, ')');
		break;
	case 10:
		buf_printf(out, "TIMESTAMPDIFF(%s, ", units[below(g, 9)]);
		generate_of_kind(g, day, out);
		buf_add_str(out, ", ");
		generate_of_kind(g, chance(g, 2) ? K_DATE : K_DATETIME, out);
		buf_add_char(out, ')');
		break;
	case 11:
		buf_add_str(out, "DATE_FORMAT(");
		generate_of_kind(g, chance(g, 4) ? K_TIME : day, out);
		buf_printf(out, ", '%%%c-%%%c')", letters[below(g, strlen(letters))],
			letters[below(g, strlen(letters))]);
		break;
	case 12:
		buf_printf(out, "%s(", chance(g, 2) ? "ADDTIME" : "SUBTIME");
		generate_of_kind(g, chance(g, 2) ? K_TIME : chance(g, 6) ? K_STRING : K_DATETIME, out);
		buf_printf(out, ", %s)", PICK(g, added));
		break;
	case 13:
		call(g, chance(g, 2) ? "FIELD" : "CONCAT_WS",
			(enum kind[]){K_STRING, like(g, K_STRING), K_STRING, like(g, K_STRING)},
			3 + (unsigned)below(g, 2), out);
		break;
	case 14: {
		static const char *const with_count[] = {"LEFT", "RIGHT", "SUBSTRING", "REPEAT"};

		buf_printf(out, "%s(", PICK(g, with_count));
		generate_of_kind(g, K_STRING, out);
		buf_printf(out, ", %s)", PICK(g, bounds));
		break;
	}
	case 15:
		buf_add_str(out, "SUBSTRING(");
		generate_of_kind(g, K_STRING, out);
		buf_printf(out, " FROM %s FOR %s)", PICK(g, bounds), PICK(g, bounds));
		break;
	case 16:
		buf_add_char(out, '(');
		generate_of_kind(g, chance(g, 2) ? K_STRING : like(g, K_STRING), out);
		buf_printf(out, " %s ", chance(g, 2) ? "=" : chance(g, 2) ? "<" : "LIKE");
		buf_printf(out, "%s)", PICK(g, texts));
		break;
	case 17:
		call(g, chance(g, 2) ? "MAKETIME" : "GREATEST", (enum kind[]){K_INT, K_INT, K_DECIMAL, K_INT},
			3, out);
		break;
	case 18:
		if (chance(g, 2))
			call(g, chance(g, 2) ? "MAKEDATE" : "MOD", (enum kind[]){K_INT, K_INT}, 2, out);
		else
			call(g, chance(g, 2) ? "SEC_TO_TIME" : "FROM_DAYS",
				(enum kind[]){chance(g, 2) ? K_DECIMAL : K_INT}, 1, out);
		break;
	default:
		buf_add_str(out, "CAST(");
		generate_of_kind(g, k, out);
		buf_printf(out, " AS %s)", PICK(g, casts));
	}
}

void generate_of_kind(struct generator *g, enum kind kind, struct buf *out)
{
	if (g->depth <= 0 || chance(g, 3)) {
		generate_leaf(g, kind, out);
		return;
	}
	g->depth--;
	if (chance(g, 14)) {
		rare_expr(g, out);
		g->depth++;
		return;
	}
	if (chance(g, 14)) {
		wide_expr(g, out);
		g->depth++;
		return;
	}
	switch (kind) {
	case K_INT:
	case K_DECIMAL:
	case K_DOUBLE:
		number_expr(g, kind, out);
		break;
	case K_STRING:
		string_expr(g, out);
		break;
	case K_DATE:
	case K_TIME:
	case K_DATETIME:
		time_expr(g, kind, out);
		break;
	case K_OTHER:
	case K_COUNT:
		generate_predicate(g, out);
		break;
	}
	g->depth++;
}

void generate_expr(struct generator *g, struct buf *out)
{
	g->depth = 1 + (int)below(g, 3);
	switch (below(g, 4)) {
	case 0:
		g->depth--;
		generate_predicate(g, out);
		break;
	default: {
		static const enum kind tops[] = {K_INT, K_INT, K_DECIMAL, K_DOUBLE, K_STRING,
			K_STRING, K_DATE, K_TIME, K_DATETIME, K_OTHER};

		generate_of_kind(g, PICK(g, tops), out);
	}
	}
}
