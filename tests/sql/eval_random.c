/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "eval_random.h"

#include <string.h>

#include "base/attr.h"

const struct generated_column generated_columns[] = {
	{"ti", "TINYINT"},
	{"tu", "TINYINT UNSIGNED"},
	{"si", "SMALLINT"},
	{"i", "INT"},
	{"iu", "INT UNSIGNED"},
	{"bi", "BIGINT"},
	{"bu", "BIGINT UNSIGNED"},
	{"d2", "DECIMAL(10,2)"},
	{"d9", "DECIMAL(30,9)"},
	{"d0", "DECIMAL(20,0) UNSIGNED"},
	{"db", "DOUBLE"},
	{"f", "FLOAT"},
	{"vc", "VARCHAR(40)"},
	{"ch", "CHAR(10)"},
	{"vn", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"},
	{"vl", "VARCHAR(20) CHARACTER SET latin1"},
	{"vb", "VARBINARY(20)"},
	{"tx", "TEXT"},
	{"da", "DATE"},
	{"tm", "TIME"},
	{"t3", "TIME(3)"},
	{"dt", "DATETIME"},
	{"d6", "DATETIME(6)"},
	{"y", "YEAR"},
	{"en", "ENUM('a','B','cc','10')"},
	{"st", "SET('x','y','z')"},
	{"bt", "BIT(8)"},
	/* Less often met: see column_of(). */
	{"bo", "BOOLEAN"},
	{"su", "SMALLINT UNSIGNED"},
	{"mi", "MEDIUMINT"},
	{"mu", "MEDIUMINT UNSIGNED"},
	{"iz", "INT(6) UNSIGNED ZEROFILL"},
	{"dx", "DECIMAL(65,30)"},
	{"d4", "DECIMAL(4,4)"},
	{"vg", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"},
	{"vu", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"},
	{"v5", "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci"},
	{"vx", "VARCHAR(20)"}, /* of the server's newest collation */
	{"v3", "VARCHAR(20) CHARACTER SET utf8mb3"},
	{"lg", "VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_general_ci"},
	{"lb", "CHAR(20) CHARACTER SET latin1 COLLATE latin1_bin"},
	{"va", "VARCHAR(20) CHARACTER SET ascii"},
	{"bn", "BINARY(6)"},
	{"bl", "BLOB"},
	{"t6", "TIME(6)"},
	{"ts", "TIMESTAMP NULL"},
	{"tk", "TIMESTAMP(4) NULL"},
	{"d1", "DATETIME(1)"},
	{"b1", "BIT(1)"},
	{"b6", "BIT(64)"},
	{NULL, NULL},
};

enum kind { K_INT, K_DECIMAL, K_DOUBLE, K_STRING, K_DATE, K_TIME, K_DATETIME, K_OTHER, K_COUNT };

static uint64_t below(struct generator *g, uint64_t limit)
{
	return random_below(&g->random, limit);
}

static bool chance(struct generator *g, uint64_t one_in)
{
	return below(g, one_in) == 0;
}

#define PICK(g, list) ((list)[below((g), ARRAY_LEN(list))])

static const char *const ints[] = {"0", "1", "2", "3", "5", "7", "10", "42", "99", "100", "127",
	"128", "255", "256", "1000", "32767", "65535", "100000", "2147483647", "2147483648",
	"4294967295", "4294967296", "9007199254740992", "9007199254740993", "9223372036854775807",
	"9223372036854775808", "18446744073709551615", "20240229", "101112"};
static const char *const decimals[] = {"0.0", "0.5", "1.5", "2.50", "0.05", "1.005", "99.99",
	"100.0", "0.000000001", "123456.789", "12345678901234567890.5", "3.14159", "0.3333", "1.0",
	"2.5", "99999999.99", "1.0000000000000000001"};
static const char *const doubles[] = {"0e0", "1e0", "1.5e0", "2.5e0", "1e-3", "1e10", "1.1e0",
	"3e15", "1.7e308", "4.9e-320", "1e-20", "123456.789e0", "0.1e0", "9007199254740993e0",
	"5.6843418860808015e-14", "1e20"};
static const char *const strings[] = {"", "a", "A", "b", "abc", "ABC", "abcdef", "0", "1", "-1",
	"1.5", "10", "1e2", " 1", "1 ", "1abc", "abc1", "a b", "a%c", "a_c", "%", "_", "\\\\",
	"a\\\\b", "''", "Hello World", "x,y", "x", ",", "9223372036854775808", "0x41", "  ", "a ",
	"a  ", "-0", "+5", ".5", "5.", "1e", "1e400", "null", "TRUE", "z", "2024-02-29",
	"2023-12-31 23:59:59", "12:34:56", "20240229", "99", "-12.75", "\\t", "~", "`", "^", "[",
	"{", "1.00000000000000001", "9007199254740992", "9007199254740993", "2.5", "1.49", "1e-30",
	"18446744073709551615", "-9223372036854775808", "aB", "Ab", "ab", "\xc3\xa9", "\xc3\xa4" "b", "AB\xc3\x9f", "\xc3\x9c", "stra\xc3\x9f" "e",
	/* from here on not of latin1 */
	"\xd0\x96\xd0\xb6", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80", "\xc5\x82"};
enum { BEYOND_LATIN1 = 4, BEYOND_ASCII = BEYOND_LATIN1 + 5 };
static const char *const dates[] = {"2024-02-29", "2023-12-31", "2000-01-01", "1999-12-31",
	"1970-01-01", "2038-01-19", "9999-12-31", "1000-01-01", "2024-03-31", "2023-02-28",
	"2024-01-31"};
static const char *const timestamps[] = {"2024-02-29", "2000-01-01", "1970-01-02", "2038-01-18",
	"2023-12-31"};
static const char *const times[] = {"00:00:00", "12:34:56", "23:59:59", "-01:30:00", "838:59:59",
	"-838:59:59", "100:00:00", "00:00:01", "01:02:03"};
static const char *const patterns[] = {"%", "a%", "%a", "%b%", "_", "__", "a_c", "A%C", "", "%%",
	"1%", "\\\\%", "a\\\\%c", "%\\\\_%", "abc", "% %", "2024%", "_%_", "%\xc3\xa9%", "a%\xc3\x9f",
	"\xc3\x84_"};

/* ---- rows ---- */

void generate_create(struct generator *g, const char *name, struct buf *out)
{
	buf_printf(out, "CREATE TABLE %s (id INT PRIMARY KEY", name);
	for (const struct generated_column *c = generated_columns; c->name; c++) {
		buf_printf(out, ", %s %s", c->name, c->definition);
		/* Its default there is not modelled. */
		if (!strcmp(c->name, "v3") && !g->mysql && g->version >= 110600)
			buf_add_str(out, " COLLATE utf8mb3_general_ci");
		if (!strcmp(c->name, "vx"))
			buf_printf(out, " CHARACTER SET utf8mb4 COLLATE %s", g->newest_collation);
	}
	buf_add_str(out, ") ENGINE=InnoDB");
}

static void signed_int(struct generator *g, int64_t low, int64_t high, struct buf *out)
{
	switch (below(g, 6)) {
	case 0:
		buf_printf(out, "%lld", (long long)low);
		break;
	case 1:
		buf_printf(out, "%lld", (long long)high);
		break;
	case 2:
	case 3:
		buf_printf(out, "%lld", (long long)(below(g, 12)) - (low < 0 ? 3 : 0));
		break;
	default: {
		uint64_t range = (uint64_t)high - (uint64_t)low;
		uint64_t v = range == UINT64_MAX ? random_next(&g->random) : below(g, range + 1);

		buf_printf(out, "%lld", (long long)((uint64_t)low + v));
	}
	}
}

static void row_value(struct generator *g, const char *name, struct buf *out)
{
	if (chance(g, 6)) {
		buf_add_str(out, "NULL");
		return;
	}
	if (!strcmp(name, "ti")) {
		signed_int(g, -128, 127, out);
	} else if (!strcmp(name, "tu") || !strcmp(name, "bt")) {
		signed_int(g, 0, 255, out);
	} else if (!strcmp(name, "si")) {
		signed_int(g, -32768, 32767, out);
	} else if (!strcmp(name, "su")) {
		signed_int(g, 0, 65535, out);
	} else if (!strcmp(name, "mi")) {
		signed_int(g, -8388608, 8388607, out);
	} else if (!strcmp(name, "mu")) {
		signed_int(g, 0, 16777215, out);
	} else if (!strcmp(name, "bo") || !strcmp(name, "b1")) {
		buf_printf(out, "%u", (unsigned)below(g, 2));
	} else if (!strcmp(name, "i")) {
		signed_int(g, INT32_MIN, INT32_MAX, out);
	} else if (!strcmp(name, "iu") || !strcmp(name, "iz")) {
		signed_int(g, 0, UINT32_MAX, out);
	} else if (!strcmp(name, "bi")) {
		signed_int(g, INT64_MIN, INT64_MAX, out);
	} else if (!strcmp(name, "bu") || !strcmp(name, "d0") || !strcmp(name, "b6")) {
		if (chance(g, 4))
			buf_add_str(out, "18446744073709551615");
		else
			signed_int(g, 0, INT64_MAX, out);
	} else if (!strcmp(name, "d2")) {
		buf_printf(out, "%s%s", chance(g, 3) ? "-" : "",
			chance(g, 2)   ? "99999999.99"
			: chance(g, 2) ? "1.50"
				       : "12.34");
	} else if (!strcmp(name, "d9")) {
		buf_printf(out, "%s%llu.%09llu", chance(g, 3) ? "-" : "",
			(unsigned long long)below(g, chance(g, 2) ? 10 : 1000000000000000ull),
			(unsigned long long)below(g, 1000000000));
	} else if (!strcmp(name, "dx")) {
		buf_printf(out, "%s%s%llu.%0*llu", chance(g, 3) ? "-" : "",
			chance(g, 3) ? "9999999999999999" : "",
			(unsigned long long)below(g, chance(g, 2) ? 10 : 1000000000000000ull),
			1 + (int)below(g, 30), (unsigned long long)below(g, 1000000000));
	} else if (!strcmp(name, "d4")) {
		buf_printf(out, "%s0.%04u", chance(g, 3) ? "-" : "", (unsigned)below(g, 10000));
	} else if (!strcmp(name, "db")) {
		buf_printf(out, "%s%s", chance(g, 3) ? "-" : "", PICK(g, doubles));
	} else if (!strcmp(name, "f")) {
		buf_printf(out, "%s%s", chance(g, 3) ? "-" : "",
			chance(g, 2)   ? "1.1"
			: chance(g, 2) ? "2.5"
				       : "123456.789");
	} else if (!strcmp(name, "da")) {
		buf_printf(out, "'%s'", PICK(g, dates));
	} else if (!strcmp(name, "tm")) {
		buf_printf(out, "'%s'", PICK(g, times));
	} else if (!strcmp(name, "t3")) {
		buf_printf(out, "'%s%s'", times[6 + below(g, 3)], chance(g, 2) ? "" : ".125");
	} else if (!strcmp(name, "t6")) {
		buf_printf(out, "'%s.%06u'", times[below(g, 4)], (unsigned)below(g, 1000000));
	} else if (!strcmp(name, "ts") || !strcmp(name, "tk")) {
		buf_printf(out, "'%s %02u:%02u:%02u.%04u'",
			timestamps[below(g, ARRAY_LEN(timestamps))], (unsigned)below(g, 24),
			(unsigned)below(g, 60), (unsigned)below(g, 60),
			name[1] == 'k' ? (unsigned)below(g, 10000) : 0);
	} else if (!strcmp(name, "d1")) {
		buf_printf(out, "'%s %02u:%02u:%02u.%u'", PICK(g, dates), (unsigned)below(g, 24),
			(unsigned)below(g, 60), (unsigned)below(g, 60), (unsigned)below(g, 10));
	} else if (!strcmp(name, "dt")) {
		buf_printf(out, "'%s %02u:%02u:%02u'", PICK(g, dates), (unsigned)below(g, 24),
			(unsigned)below(g, 60), (unsigned)below(g, 60));
	} else if (!strcmp(name, "d6")) {
		buf_printf(out, "'%s %02u:%02u:%02u.%06u'", PICK(g, dates), (unsigned)below(g, 24),
			(unsigned)below(g, 60), (unsigned)below(g, 60),
			(unsigned)below(g, 1000000));
	} else if (!strcmp(name, "y")) {
		buf_printf(out, "%u", 1901 + (unsigned)below(g, 255));
	} else if (!strcmp(name, "en")) {
		buf_printf(out, "%u", 1 + (unsigned)below(g, 4));
	} else if (!strcmp(name, "st")) {
		buf_printf(out, "%u", (unsigned)below(g, 8));
	} else if (!strcmp(name, "ch")) {
		buf_printf(out, "LEFT('%s', 10)", PICK(g, strings));
	} else if (!strcmp(name, "bn")) {
		buf_printf(out, "LEFT(BINARY '%s', 6)", PICK(g, strings));
	} else if (!strcmp(name, "vl") || !strcmp(name, "lg") || !strcmp(name, "lb")) {
		buf_printf(out, "'%s'", strings[below(g, ARRAY_LEN(strings) - BEYOND_LATIN1)]);
	} else if (!strcmp(name, "va")) {
		buf_printf(out, "'%s'", strings[below(g, ARRAY_LEN(strings) - BEYOND_ASCII)]);
	} else if (!strcmp(name, "v3")) {
		buf_printf(out, "REPLACE('%s', '\xf0\x9f\x98\x80', '')", PICK(g, strings));
	} else {
		buf_printf(out, "'%s'", PICK(g, strings));
	}
}

void generate_row(struct generator *g, unsigned id, struct buf *out)
{
	buf_printf(out, "(%u", id);
	for (const struct generated_column *c = generated_columns; c->name; c++) {
		buf_add_str(out, ", ");
		row_value(g, c->name, out);
	}
	buf_add_char(out, ')');
}

/* ---- expressions ---- */

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

static void leaf(struct generator *g, enum kind kind, struct buf *out)
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

static enum kind any_kind(struct generator *g)
{
	static const enum kind weights[] = {K_INT, K_INT, K_INT, K_INT, K_DECIMAL, K_DECIMAL,
		K_DOUBLE, K_STRING, K_STRING, K_STRING, K_DATE, K_TIME, K_DATETIME, K_OTHER};

	return PICK(g, weights);
}

static void expr(struct generator *g, enum kind kind, struct buf *out);

static void call(struct generator *g, const char *name, const enum kind *kinds, unsigned count,
	struct buf *out)
{
	buf_printf(out, "%s(", name);
	for (unsigned i = 0; i < count; i++) {
		if (i)
			buf_add_str(out, ", ");
		expr(g, kinds[i], out);
	}
	/* 16 million blanks keep REGEXP_REPLACE on MariaDB and TRIM on MySQL busy for minutes, and cannot be killed. */
	buf_add_str(out, strcmp(name, "SPACE") ? ")" : " MOD 1000)");
}

static void binary(struct generator *g, const char *op, enum kind l, enum kind r, struct buf *out)
{
	buf_add_char(out, '(');
	expr(g, l, out);
	buf_printf(out, " %s ", op);
	expr(g, r, out);
	buf_add_char(out, ')');
}

/* Mostly of the kind wanted, sometimes of any: conversions are half of the matter. */
static enum kind like(struct generator *g, enum kind kind)
{
	return chance(g, 4) ? any_kind(g) : kind;
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
		expr(g, K_STRING, out);
	else
		buf_printf(out, "'%s'", PICK(g, regexps));
}

static void predicate(struct generator *g, struct buf *out)
{
	static const char *const compare[] = {"=", "<>", "<", "<=", ">", ">=", "<=>", "="};
	enum kind k = any_kind(g);

	switch (below(g, 15)) {
	case 12:
		buf_add_char(out, '(');
		expr(g, like(g, K_STRING), out);
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
		binary(g, chance(g, 2) ? "AND" : "OR", K_OTHER, any_kind(g), out);
		break;
	case 5:
		binary(g, chance(g, 3) ? "XOR" : "AND", any_kind(g), any_kind(g), out);
		break;
	case 6:
		buf_add_str(out, "(NOT ");
		expr(g, any_kind(g), out);
		buf_add_char(out, ')');
		break;
	case 7: {
		static const char *const is[] = {"NULL", "NOT NULL", "TRUE", "NOT TRUE", "FALSE",
			"NOT FALSE", "UNKNOWN", "NOT UNKNOWN"};

		buf_add_char(out, '(');
		expr(g, k, out);
		buf_printf(out, " IS %s)", PICK(g, is));
		break;
	}
	case 8:
	case 9:
		buf_add_char(out, '(');
		expr(g, k, out);
		buf_printf(out, "%s BETWEEN ", chance(g, 4) ? " NOT" : "");
		expr(g, like(g, k), out);
		buf_add_str(out, " AND ");
		expr(g, like(g, k), out);
		buf_add_char(out, ')');
		break;
	case 10:
	case 11:
		buf_add_char(out, '(');
		expr(g, k, out);
		buf_printf(out, "%s IN (", chance(g, 4) ? " NOT" : "");
		for (unsigned i = 0, n = 1 + (unsigned)below(g, 4); i < n; i++) {
			if (i)
				buf_add_str(out, ", ");
			expr(g, like(g, k), out);
		}
		buf_add_str(out, "))");
		break;
	default:
		buf_add_char(out, '(');
		expr(g, like(g, K_STRING), out);
		buf_printf(out, "%s LIKE ", chance(g, 4) ? " NOT" : "");
		if (chance(g, 4))
			expr(g, K_STRING, out);
		else
			buf_printf(out, "'%s'", PICK(g, patterns));
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
		expr(g, K_OTHER, out);
		buf_add_str(out, ", ");
		expr(g, kind, out);
		buf_add_str(out, ", ");
		expr(g, like(g, kind), out);
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
		expr(g, kind, out);
		buf_add_str(out, " WHEN ");
		expr(g, like(g, kind), out);
		buf_add_str(out, " THEN ");
		expr(g, kind, out);
		buf_add_str(out, " ELSE ");
		expr(g, like(g, kind), out);
		buf_add_str(out, " END");
		break;
	default:
		buf_add_str(out, "CASE WHEN ");
		expr(g, K_OTHER, out);
		buf_add_str(out, " THEN ");
		expr(g, kind, out);
		if (chance(g, 2)) {
			buf_add_str(out, " ELSE ");
			expr(g, like(g, kind), out);
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
		expr(g, like(g, K_STRING), out);
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
		expr(g, like(g, kind), out);
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
		expr(g, like(g, kind), out);
		buf_printf(out, ", %d)", (int)below(g, 8) - 3);
		break;
	case 8: {
		static const char *const types[] = {"SIGNED", "UNSIGNED", "DECIMAL(10,2)",
			"DECIMAL(20)", "DECIMAL(30,10)", "DOUBLE", "DECIMAL"};

		buf_add_str(out, "CAST(");
		expr(g, any_kind(g), out);
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
			expr(g, like(g, k), out);
			buf_add_char(out, ')');
		} else if (chance(g, 2)) {
			call(g, "DATEDIFF", (enum kind[]){k, like(g, k)}, 2, out);
		} else {
			buf_printf(out, "TIMESTAMPDIFF(%s, ", units[below(g, 9)]);
			expr(g, k, out);
			buf_add_str(out, ", ");
			expr(g, like(g, k), out);
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
		expr(g, like(g, K_STRING), out);
		buf_add_str(out, ", ");
		regexp(g, out);
		buf_add_char(out, ')');
		break;
	case 16:
		buf_add_str(out, "REGEXP_REPLACE(");
		expr(g, like(g, K_STRING), out);
		buf_add_str(out, ", ");
		regexp(g, out);
		buf_printf(out, ", '%s')", PICK(g, replacements));
		break;
	case 0:
	case 1:
		call(g, "CONCAT", (enum kind[]){K_STRING, any_kind(g), K_STRING},
			1 + (unsigned)below(g, 3), out);
		break;
	case 2:
		call(g, "CONCAT_WS", (enum kind[]){K_STRING, any_kind(g), K_STRING},
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
		expr(g, like(g, K_STRING), out);
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
		expr(g, like(g, K_STRING), out);
		buf_printf(out, ", %u, ", (unsigned)below(g, 20));
		expr(g, K_STRING, out);
		buf_add_char(out, ')');
		break;
	case 8:
		buf_add_str(out, "REPEAT(");
		expr(g, like(g, K_STRING), out);
		buf_printf(out, ", %d)", (int)below(g, 6) - 1);
		break;
	case 9:
		buf_add_str(out, "TRIM(");
		buf_add_str(out, chance(g, 2) ? "BOTH " : chance(g, 2) ? "LEADING " : "TRAILING ");
		expr(g, K_STRING, out);
		buf_add_str(out, " FROM ");
		expr(g, like(g, K_STRING), out);
		buf_add_char(out, ')');
		break;
	case 10: {
		static const char *const types[] = {
			"CHAR", "CHAR(3)", "BINARY", "BINARY(6)", "CHAR CHARACTER SET latin1"};

		buf_add_str(out, "CAST(");
		expr(g, any_kind(g), out);
		buf_printf(out, " AS %s)", PICK(g, types));
		break;
	}
	case 11:
		buf_add_str(out, "SUBSTRING_INDEX(");
		expr(g, like(g, K_STRING), out);
		buf_add_str(out, ", ");
		expr(g, K_STRING, out);
		buf_printf(out, ", %d)", (int)below(g, 5) - 2);
		break;
	case 12:
		call(g, "ELT", (enum kind[]){K_INT, K_STRING, any_kind(g), K_STRING}, 4, out);
		break;
	case 13:
		buf_add_str(out, "INSERT(");
		expr(g, like(g, K_STRING), out);
		buf_printf(out, ", %d, %d, ", (int)below(g, 8) - 1, (int)below(g, 6) - 1);
		expr(g, K_STRING, out);
		buf_add_char(out, ')');
		break;
	case 14: {
		static const char *const formats[] = {"%Y-%m-%d", "%H:%i:%s.%f", "%W %M %e %y",
			"%a %b %c", "%j %k %l %p %r %T", "%D %d %h %I", "%u %v %x %X %V %w",
			"x%%y%z"};

		buf_add_str(out, "DATE_FORMAT(");
		expr(g, chance(g, 2) ? K_DATE : K_DATETIME, out);
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
		expr(g, kind == K_TIME ? K_TIME : kind, out);
		buf_add_str(out, ", INTERVAL ");
		if (chance(g, 3)) {
			buf_add_str(out, PICK(g, compound));
		} else {
			expr(g, chance(g, 3) ? K_DECIMAL : K_INT, out);
			buf_printf(out, " %s", PICK(g, units));
		}
		buf_add_char(out, ')');
		break;
	case 2:
		buf_add_str(out, "CAST(");
		expr(g, any_kind(g), out);
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
	enum kind a = any_kind(g), b = any_kind(g);
	unsigned rows = chance(g, 2) ? 1 : 1 + (unsigned)below(g, 2);

	buf_add_str(out, "((");
	expr(g, a, out);
	buf_add_str(out, ", ");
	expr(g, b, out);
	if (rows == 1 && chance(g, 2))
		buf_printf(out, ") %s ", PICK(g, compare));
	else
		buf_printf(out, ")%s IN (", chance(g, 3) ? " NOT" : "");
	bool in = out->data[out->len - 1] == '(';
	for (unsigned i = 0; i < rows; i++) {
		buf_add_str(out, i ? ", (" : "(");
		expr(g, like(g, a), out);
		buf_add_str(out, ", ");
		expr(g, like(g, b), out);
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
		expr(g, chance(g, 2) ? K_INT : K_DECIMAL, out);
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

	switch (below(g, 16)) {
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
		expr(g, like(g, K_STRING), out);
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
		expr(g, K_STRING, out);
		buf_printf(out, " COLLATE %s = ", PICK(g, collations));
		expr(g, K_STRING, out);
		buf_add_char(out, ')');
		break;
	case 6:
		buf_add_str(out, "CONVERT(");
		expr(g, like(g, K_STRING), out);
		buf_printf(out, " USING %s)", PICK(g, sets));
		break;
	case 7:
		call(g, chance(g, 2) ? "ISNULL" : "SPACE", (enum kind[]){K_INT}, 1, out);
		break;
	case 8: {
		bool mod = chance(g, 2);

		buf_add_str(out, mod ? "MOD(" : "LOCATE(");
		expr(g, any_kind(g), out);
		buf_add_str(out, ", ");
		expr(g, any_kind(g), out);
		if (!mod && chance(g, 2))
			buf_printf(out, ", %d", (int)below(g, 6) - 1);
		buf_add_char(out, ')');
		break;
	}
	case 9:
		buf_add_str(out, chance(g, 2) ? "WEEK(" : "YEARWEEK(");
		expr(g, chance(g, 2) ? K_DATE : K_DATETIME, out);
		buf_printf(out, ", %u)", (unsigned)below(g, 9));
		break;
	case 10:
		buf_add_str(out, "(SELECT ");
		expr(g, any_kind(g), out);
		buf_add_char(out, ')');
		break;
	case 11:
		buf_add_char(out, '(');
		expr(g, any_kind(g), out);
		buf_printf(out, " %sIN (SELECT ", chance(g, 3) ? "NOT " : "");
		expr(g, any_kind(g), out);
		buf_add_str(out, "))");
		break;
	default:
		buf_printf(out, "CAST(");
		expr(g, any_kind(g), out);
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
	enum kind k = any_kind(g), day = chance(g, 2) ? K_DATE : K_DATETIME;

	switch (below(g, 20)) {
	case 0:
	case 1:
		if (chance(g, 20)) {
			buf_add_str(out, "SHA2(");
			expr(g, k, out);
			buf_printf(out, ", %u)", PICK(g, sha2));
		} else {
			call(g, PICK(g, others), (enum kind[]){k}, 1, out);
		}
		break;
	case 2:
		buf_add_str(out, chance(g, 3) ? "(! " : chance(g, 2) ? "(~ " : "(BINARY ");
		expr(g, k, out);
		buf_add_char(out, ')');
		break;
	case 3:
		binary(g, chance(g, 2) ? "MOD" : chance(g, 2) ? "&&" : "||", k, like(g, k), out);
		break;
	case 4:
		buf_add_str(out, "POSITION(");
		leaf(g, K_STRING, out);
		buf_add_str(out, " IN ");
		expr(g, like(g, K_STRING), out);
		buf_add_char(out, ')');
		break;
	case 5:
		buf_add_str(out, "CONVERT(");
		expr(g, k, out);
		buf_printf(out, ", %s)", PICK(g, casts));
		break;
	case 6:
		buf_add_char(out, '(');
		if (chance(g, 2)) {
			expr(g, day, out);
			buf_add_str(out, chance(g, 2) ? " + " : " - ");
			interval(g, out);
		} else {
			interval(g, out);
			buf_add_str(out, " + ");
			expr(g, day, out);
		}
		buf_add_char(out, ')');
		break;
	case 7:
		call(g, chance(g, 2) ? "ADDDATE" : "SUBDATE", (enum kind[]){day, K_INT}, 2, out);
		break;
	case 8:
	case 9:
		buf_printf(out, "EXTRACT(%s FROM ", PICK(g, units));
		expr(g, chance(g, 3) ? K_TIME : day, out);
		buf_add_char(out, ')');
		break;
	case 10:
		buf_printf(out, "TIMESTAMPDIFF(%s, ", units[below(g, 9)]);
		expr(g, day, out);
		buf_add_str(out, ", ");
		expr(g, chance(g, 2) ? K_DATE : K_DATETIME, out);
		buf_add_char(out, ')');
		break;
	case 11:
		buf_add_str(out, "DATE_FORMAT(");
		expr(g, chance(g, 4) ? K_TIME : day, out);
		buf_printf(out, ", '%%%c-%%%c')", letters[below(g, strlen(letters))],
			letters[below(g, strlen(letters))]);
		break;
	case 12:
		buf_printf(out, "%s(", chance(g, 2) ? "ADDTIME" : "SUBTIME");
		expr(g, chance(g, 2) ? K_TIME : chance(g, 6) ? K_STRING : K_DATETIME, out);
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
		expr(g, K_STRING, out);
		buf_printf(out, ", %s)", PICK(g, bounds));
		break;
	}
	case 15:
		buf_add_str(out, "SUBSTRING(");
		expr(g, K_STRING, out);
		buf_printf(out, " FROM %s FOR %s)", PICK(g, bounds), PICK(g, bounds));
		break;
	case 16:
		buf_add_char(out, '(');
		expr(g, chance(g, 2) ? K_STRING : like(g, K_STRING), out);
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
		expr(g, k, out);
		buf_printf(out, " AS %s)", PICK(g, casts));
	}
}

static void expr(struct generator *g, enum kind kind, struct buf *out)
{
	if (g->depth <= 0 || chance(g, 3)) {
		leaf(g, kind, out);
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
		predicate(g, out);
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
		predicate(g, out);
		break;
	default: {
		static const enum kind tops[] = {K_INT, K_INT, K_DECIMAL, K_DOUBLE, K_STRING,
			K_STRING, K_DATE, K_TIME, K_DATETIME, K_OTHER};

		expr(g, PICK(g, tops), out);
	}
	}
}

/* ---- queries ---- */

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
		buf_printf(out, "%s.s LIKE '%s'", table, PICK(g, patterns));
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
		predicate(g, out);
		buf_add_str(out, " ORDER BY id");
		break;
	case 6:
		buf_add_str(out, "SELECT id, ");
		g->prefix = "";
		g->depth = 1;
		expr(g, any_kind(g), out);
		buf_add_str(out, " AS c FROM t ORDER BY c, id");
		break;
	case 7:
		buf_add_str(out, "SELECT COUNT(*), ");
		g->prefix = "";
		g->depth = 1;
		buf_printf(out, "%s(", chance(g, 2) ? "MIN" : chance(g, 2) ? "MAX" : "SUM");
		expr(g, any_kind(g), out);
		buf_add_str(out, ") FROM t GROUP BY ");
		expr(g, any_kind(g), out);
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
	size_t count = ARRAY_LEN(generated_columns) - 1;
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
			row_value(g, generated_columns[below(g, count)].name, out);
		else
			leaf(g, any_kind(g), out);
		buf_add_char(out, ')');
		return;
	}
	buf_printf(out, "UPDATE %sw SET %s = ", ignore, generated_columns[below(g, count)].name);
	if (chance(g, 3)) /* conversions inside of comparisons are errors too */
		predicate(g, out);
	else
		expr(g, any_kind(g), out);
	if (chance(g, 3)) {
		buf_printf(out, ", %s = ", generated_columns[below(g, count)].name);
		expr(g, any_kind(g), out);
	}
	buf_add_str(out, " WHERE id = 1");
}
