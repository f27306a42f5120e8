/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out/text_table.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/text.h"

static void add_scratch(struct table *table)
{
	MEM_RESERVE(table->cells, table->count + 1, table->capacity);
	table->cells[table->count++] = arena_copy(&table->arena, buf_span(&table->scratch));
	buf_clear(&table->scratch);
}

void table_begin(struct table *table, const char *align, const char *headings)
{
	*table = (struct table){.align = align, .columns = strlen(align), .arena = ARENA_INIT};
	CHECK(table->columns <= TABLE_COLUMNS_MAX);
	for (size_t i = 0; i < table->columns; i++) {
		size_t len = strcspn(headings, "|");

		table_text(table, span_of(headings, len));
		headings += len + (headings[len] == '|');
	}
}

void table_text(struct table *table, struct span text)
{
	text_add(&table->scratch, text, TABLE_CELL_MAX, TEXT_FOLD);
	add_scratch(table);
}

void table_str(struct table *table, const char *text)
{
	table_text(table, span_str(text));
}

void table_count(struct table *table, uint64_t count)
{
	text_add_count(&table->scratch, count);
	add_scratch(table);
}

void table_duration(struct table *table, uint64_t ns)
{
	text_add_duration(&table->scratch, ns);
	add_scratch(table);
}

void table_size(struct table *table, uint64_t bytes)
{
	text_add_size(&table->scratch, bytes);
	add_scratch(table);
}

void table_end(struct table *table, struct buf *out)
{
	size_t widths[TABLE_COLUMNS_MAX] = {0};

	CHECK(table->count % table->columns == 0);
	for (size_t i = 0; i < table->count; i++) {
		size_t width = text_columns(table->cells[i]);

		if (width > widths[i % table->columns])
			widths[i % table->columns] = width;
	}
	for (size_t i = 0; i < table->count; i++) {
		size_t column = i % table->columns;
		size_t blanks = widths[column] - text_columns(table->cells[i]);

		buf_add_str(out, "  ");
		if (table->align[column] == 'r')
			text_add_blanks(out, blanks);
		buf_add_span(out, table->cells[i]);
		if (column + 1 == table->columns)
			buf_add_char(out, '\n');
		else if (table->align[column] == 'l')
			text_add_blanks(out, blanks);
	}
	mem_free(table->cells);
	arena_release(&table->arena);
	buf_release(&table->scratch);
}
