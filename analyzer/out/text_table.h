/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of text for a terminal: cells are added left to right, row by row; widths are found when
 * it is printed.  Texts are cleaned.
 */
#ifndef OUT_TEXT_TABLE_H
#define OUT_TEXT_TABLE_H

#include "base/buf.h"
#include "base/strtab.h"

enum { TABLE_COLUMNS_MAX = 16, TABLE_CELL_MAX = 60 };

struct table {
	const char *align; /* 'l' or 'r' for each column */
	size_t columns;
	struct span *cells; /* owned by the arena */
	size_t count, capacity;
	struct arena arena;
	struct buf scratch;
};

/* Headings separated by '|'. */
void table_begin(struct table *table, const char *align, const char *headings);
void table_text(struct table *table, struct span text);
void table_str(struct table *table, const char *text);
void table_count(struct table *table, uint64_t count);
void table_duration(struct table *table, uint64_t ns);
void table_size(struct table *table, uint64_t bytes);
/* Prints, indented by two, and releases. */
void table_end(struct table *table, struct buf *out);

#endif
