/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of WRITE, UPDATE and DELETE events, version 1 and 2, compressed, and partial. */
#include "binlog/binlog_internal.h"

#include "trace/pack.h"
#include "trace/value.h"
#include "wire/proto.h"

enum { ROWS_STATEMENT_END = 1, PARTIAL_JSON = 1 };

struct rows_event {
	struct binlog_table *table;
	enum binlog_change change;
	bool partial;
	struct span before_bits, after_bits; /* which columns the images have */
	bool before_whole, after_whole;
};

static bool bit_at(struct span bits, uint32_t i)
{
	return (unsigned char)bits.ptr[i / 8] >> (i % 8) & 1;
}

static uint32_t bits_set(struct span bits, uint32_t count)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < count; i++)
		set += bit_at(bits, i);
	return set;
}

static enum binlog_change change_of(uint8_t type)
{
	switch (type) {
	case EVENT_WRITE_ROWS_V1:
	case EVENT_WRITE_ROWS:
	case EVENT_WRITE_ROWS_COMPRESSED_V1:
	case EVENT_WRITE_ROWS_COMPRESSED:
		return BINLOG_INSERT;
	case EVENT_DELETE_ROWS_V1:
	case EVENT_DELETE_ROWS:
	case EVENT_DELETE_ROWS_COMPRESSED_V1:
	case EVENT_DELETE_ROWS_COMPRESSED:
		return BINLOG_DELETE;
	default:
		return BINLOG_UPDATE;
	}
}

/* The value of one column of the image before, as it is packed there. */
static struct span value_before(const struct buf *image, uint32_t column)
{
	struct mp mp = mp_over(buf_span(image));
	uint32_t count = mp_array(&mp);

	for (uint32_t i = 0; i < column && i < count; i++)
		(void)mp_skip(&mp);
	return mp_raw(&mp);
}

/* A JSON value that is told as what changed in it. */
static bool take_partial(struct binlog *b, uint32_t column, struct cursor *c, struct buf *out)
{
	uint64_t len = cursor_uint(c, 4);
	struct span diffs = cursor_take(c, len), packed = value_before(&b->before, column);
	msgpack_packer pk = pack_into(out);
	struct mp mp = mp_over(packed);
	struct value before;

	if (c->bad || !packed.ptr || !value_read(&mp, &before))
		return false;
	if (before.type == VALUE_CUT) { /* it was too long to be kept */
		pack_ext(&pk, VALUE_DROPPED, SPAN_LIT(""));
		return true;
	}
	if (before.type != VALUE_JSON)
		return false;
	buf_clear(&b->text);
	if (!json_binary_patch(before.bytes, diffs, &b->text))
		return false;
	pack_ext(&pk, VALUE_JSON, buf_span(&b->text));
	return true;
}

static bool take_image(struct binlog *b, const struct rows_event *rows, struct span bits,
	bool after, struct cursor *c, struct buf *out)
{
	const struct binlog_table *table = rows->table;
	struct span partial = SPAN_NONE, nulls;
	uint32_t present = 0, json = 0;
	msgpack_packer pk = pack_into(out);

	buf_clear(out);
	/* The partial bits have one for each JSON column, be it in the image or not. */
	if (rows->partial && after && (cursor_lenenc(c) & PARTIAL_JSON)) {
		for (uint32_t i = 0; i < table->column_count; i++)
			json += table->columns[i].type == TYPE_JSON;
		partial = cursor_take(c, (json + 7) / 8);
		json = 0;
	}
	nulls = cursor_take(c, (bits_set(bits, table->column_count) + 7) / 8);
	if (c->bad)
		return false;
	pack_array(&pk, table->column_count);
	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct binlog_column *column = &table->columns[i];
		bool is_partial = false;

		if (column->type == TYPE_JSON && partial.ptr)
			is_partial = bit_at(partial, json++);
		if (!bit_at(bits, i)) {
			pack_nil(&pk);
			continue;
		}
		if (bit_at(nulls, present++))
			pack_nil(&pk);
		else if (is_partial ? !take_partial(b, i, c, out)
				    : !row_value_take(b, table, column, c, out))
			return false;
	}
	return !c->bad;
}

static bool take_rows(struct binlog *b, const struct binlog_head *head,
	const struct rows_event *rows, struct cursor *c, uint64_t *count)
{
	while (cursor_left(c)) {
		struct binlog_row row = {.change = rows->change,
			.table = rows->table,
			.whole = rows->before_whole && rows->after_whole};
		const unsigned char *start = c->p;

		if (rows->change != BINLOG_INSERT) {
			if (!take_image(b, rows, rows->before_bits, false, c, &b->before))
				return false;
			row.before = buf_span(&b->before);
		}
		if (rows->change != BINLOG_DELETE) {
			if (!take_image(b, rows, rows->after_bits, true, c, &b->after))
				return false;
			row.after = buf_span(&b->after);
		}
		/* A row without columns would be there for ever. */
		if (c->p == start)
			return false;
		++*count;
		if (b->sink->row)
			b->sink->row(b->ctx, head, &row);
	}
	return true;
}

bool rows_take(struct binlog *b, const struct binlog_head *head, struct span body, struct err *err)
{
	struct rows_event rows = {.change = change_of(head->type),
		.partial = head->type == EVENT_PARTIAL_UPDATE_ROWS};
	struct cursor c = cursor_over(body);
	/* MariaDB's compressed kinds 169 to 171 are beyond the lengths that older servers list. */
	uint8_t fixed = b->post_head[head->type];
	uint64_t id = cursor_uint(&c, fixed == 6 ? 4 : 6), width, count = 0;
	unsigned flags = (unsigned)cursor_uint(&c, 2);
	bool version2 = (head->type >= EVENT_WRITE_ROWS && head->type <= EVENT_DELETE_ROWS) ||
			rows.partial || head->type >= EVENT_WRITE_ROWS_COMPRESSED;
	struct span bits;

	/* What version 2 adds has its length, which counts itself. */
	if (version2) {
		unsigned extra = (unsigned)cursor_uint(&c, 2);

		(void)cursor_take(&c, extra >= 2 ? extra - 2 : UINT64_MAX);
	}
	width = cursor_lenenc(&c);
	if (c.bad || width > BINLOG_COLUMNS_MAX)
		return event_damaged(head, "no columns", err);
	bits = cursor_take(&c, (width + 7) / 8);
	rows.before_bits = rows.after_bits = bits;
	if (rows.change == BINLOG_UPDATE)
		rows.after_bits = cursor_take(&c, (width + 7) / 8);
	if (c.bad)
		return event_damaged(head, "no columns", err);
	if (head->type >= EVENT_WRITE_ROWS_COMPRESSED_V1) {
		struct span plain;

		if (!inflate_event(b, cursor_rest(&c), &plain))
			return event_damaged(head, "it cannot be decompressed", err);
		c = cursor_over(plain);
	}
	rows.table = table_map_find(b, id);
	if (!rows.table) {
		/* MySQL ends a statement of tables that it mapped for nothing with such an event.
		 */
		if (id == 0xffffff || !cursor_left(&c)) {
			if (b->sink->rows_end)
				b->sink->rows_end(
					b->ctx, head, NULL, 0, flags & ROWS_STATEMENT_END);
			return true;
		}
		return event_damaged(head, "it names a table that was not mapped", err);
	}
	if (width != rows.table->column_count)
		return event_damaged(head, "it has other columns than its table", err);
	rows.before_whole = bits_set(rows.before_bits, rows.table->column_count) == width;
	rows.after_whole = bits_set(rows.after_bits, rows.table->column_count) == width;
	if (rows.table->refused) {
		if (b->sink->refused)
			b->sink->refused(b->ctx, head, rows.table, rows.table->refused);
	} else if (!take_rows(b, head, &rows, &c, &count)) {
		return event_damaged(head, "its rows do not fit its columns", err);
	}
	if (b->sink->rows_end)
		b->sink->rows_end(b->ctx, head, rows.table, count, flags & ROWS_STATEMENT_END);
	return true;
}
