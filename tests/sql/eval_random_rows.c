/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random rows of the wide table. */
#include "eval_random_internal.h"

#include <string.h>

#include "eval_literals.h"

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
const size_t generated_column_count = ARRAY_LEN(generated_columns) - 1;

static const char *const timestamps[] = {"2024-02-29", "2000-01-01", "1970-01-02", "2038-01-18",
	"2023-12-31"};

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

void generate_row_value(struct generator *g, const char *name, struct buf *out)
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
		generate_row_value(g, c->name, out);
	}
	buf_add_char(out, ')');
}
