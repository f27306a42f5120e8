/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of a grammar: files .zz of the Random Query Generator.
 *
 *	$tables = { rows => [0, 10], pk => ['int auto_increment', undef] };
 *	$fields = { types => ['int', 'varchar(10)'], indexes => [undef, 'key'], null => [undef, 'not null'] };
 *	$data = { numbers => ['digit', undef], strings => ['letter', 'english'], temporals => ['date'] };
 *
 * Every combination of a table's properties is a table, every combination of a field's properties a column of each.
 * The file is Perl; of that only lists of literals are read here, and all else is refused.
 */
#ifndef WORKLOAD_TABLE_PLAN_H
#define WORKLOAD_TABLE_PLAN_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

enum { TABLE_PLAN_VALUES_MAX = 64, TABLE_PLAN_TABLES_MAX = 32, TABLE_PLAN_COLUMNS_MAX = 64, TABLE_PLAN_ROWS_MAX = 1000, TABLE_PLAN_TEXT_MAX = 1024 * 1024 };

#define TABLE_PLAN_KEYS(X)                                                                         \
	X(TABLE_PLAN_NAMES, "tables", "names")                                                           \
	X(TABLE_PLAN_ROWS, "tables", "rows")                                                             \
	X(TABLE_PLAN_ENGINES, "tables", "engines")                                                       \
	X(TABLE_PLAN_PK, "tables", "pk")                                                                 \
	X(TABLE_PLAN_PARTITIONS, "tables", "partitions")                                                 \
	X(TABLE_PLAN_ROW_FORMATS, "tables", "row_formats")                                               \
	X(TABLE_PLAN_TABLE_CHARSETS, "tables", "charsets")                                               \
	X(TABLE_PLAN_TABLE_COLLATIONS, "tables", "collations")                                           \
	X(TABLE_PLAN_TYPES, "fields", "types")                                                           \
	X(TABLE_PLAN_INDEXES, "fields", "indexes")                                                       \
	X(TABLE_PLAN_NULL, "fields", "null")                                                             \
	X(TABLE_PLAN_SIGN, "fields", "sign")                                                             \
	X(TABLE_PLAN_DEFAULT, "fields", "default")                                                       \
	X(TABLE_PLAN_CHARSETS, "fields", "charsets")                                                     \
	X(TABLE_PLAN_COLLATIONS, "fields", "collations")                                                 \
	X(TABLE_PLAN_NUMBERS, "data", "numbers")                                                         \
	X(TABLE_PLAN_STRINGS, "data", "strings")                                                         \
	X(TABLE_PLAN_BLOBS, "data", "blobs")                                                             \
	X(TABLE_PLAN_TEMPORALS, "data", "temporals")

enum table_plan_key {
#define X(id, section, name) id,
	TABLE_PLAN_KEYS(X)
#undef X
		TABLE_PLAN_KEY_COUNT
};

/* Values of one key, in the order of the file; SPAN_NONE is undef. */
struct table_plan_list {
	struct span *values;
	uint32_t count;
};

struct table_plan {
	struct arena arena;
	struct table_plan_list lists[TABLE_PLAN_KEY_COUNT]; /* at least one value each */
	uint64_t digest;
};

/* False: the plan is empty again. */
bool table_plan_open(struct table_plan *out, const char *path, struct err *err) MUST_CHECK;
bool table_plan_parse(struct table_plan *out, struct span text, const char *name, struct err *err) MUST_CHECK;
/* Some small tables with the columns that most grammars name: pk, col_int, col_int_key, col_varchar_10 ... */
void table_plan_simple(struct table_plan *out);
void table_plan_release(struct table_plan *plan);

#endif
