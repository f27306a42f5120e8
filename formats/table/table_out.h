/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables for other programs, row by row: CSV, JSON lines, or Parquet (parquet.c).
 *
 * A table's columns are an array; the cells of a row stand in the same order.  Bytes go out through a
 * sink, in pieces, so a table may be larger than memory.
 */
#ifndef TABLE_TABLE_OUT_H
#define TABLE_TABLE_OUT_H

#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"

enum column_type {
	COLUMN_UINT,
	COLUMN_BOOL,
	COLUMN_TEXT, /* what is not UTF-8 is written as U+FFFD */
	COLUMN_TIME, /* nanoseconds since 1970, UTC */
};

struct data_column {
	const char *name;
	enum column_type type;
	const char *meaning;
};

struct data_table {
	const char *name, *meaning;
	const struct data_column *columns;
	size_t column_count;
};

enum { DATA_COLUMNS_MAX = 40 };

struct cell {
	bool is_null;
	uint64_t number; /* UINT, BOOL, TIME */
	struct span text;
};

static inline struct cell cell_null(void)
{
	return (struct cell){.is_null = true};
}

static inline struct cell cell_uint(uint64_t number)
{
	return (struct cell){.number = number};
}

/* SPAN_NONE is NULL. */
static inline struct cell cell_text(struct span text)
{
	return (struct cell){.is_null = !text.ptr, .text = text};
}

/* Takes the bytes and empties the buffer; false: the output is gone. */
typedef bool table_sink(void *context, struct buf *bytes);

enum table_format { TABLE_CSV, TABLE_NDJSON, TABLE_PARQUET };

struct table_out;

struct table_out *table_out_new(
	enum table_format format, const struct data_table *table, table_sink *sink, void *context);
/* One cell a column, which are copied.  False: the output is gone. */
bool table_out_row(struct table_out *out, const struct cell *cells) MUST_CHECK;
/* Writes what is left. */
bool table_out_end(struct table_out *out) MUST_CHECK;
void table_out_free(struct table_out *out);

#endif
