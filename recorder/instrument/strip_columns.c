/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/strip_columns.h"

unsigned strip_put(struct buf *out, struct span payload, uint8_t seq)
{
	unsigned parts = 0;
	size_t len;

	do {
		len = payload.len < PROTO_PAYLOAD_MAX ? payload.len : PROTO_PAYLOAD_MAX;
		buf_add_char(out, (char)len);
		buf_add_char(out, (char)(len >> 8));
		buf_add_char(out, (char)(len >> 16));
		buf_add_char(out, (char)(seq + parts));
		buf_add(out, payload.ptr, len);
		payload.ptr += len;
		payload.len -= len;
		parts++;
	} while (len == PROTO_PAYLOAD_MAX);
	return parts;
}

/* protocol.md, "Length-encoded integers" */
static void add_lenenc(struct buf *out, uint64_t value)
{
	unsigned bytes = value <= UINT16_MAX ? 2 : value < 1u << 24 ? 3 : 8;

	if (value < 0xfb) {
		buf_add_char(out, (char)value);
		return;
	}
	buf_add_char(out, (char)(bytes == 8 ? 0xfe : 0xfa + bytes));
	for (unsigned k = 0; k < bytes; k++)
		buf_add_char(out, (char)(value >> (8 * k)));
}

void strip_set_id(struct span ok, uint64_t id, struct buf *out)
{
	struct cursor c = cursor_over(ok);

	(void)cursor_uint(&c, 1);
	(void)cursor_lenenc(&c); /* rows */
	buf_add(out, ok.ptr, ok.len - cursor_left(&c));
	(void)cursor_lenenc(&c);
	add_lenenc(out, id);
	buf_add_span(out, cursor_rest(&c));
}

/* As wire.c reads it: MySQL's flag for left-out metadata stands before the count, MariaDB's after.
 */
bool strip_count(
	struct span payload, uint64_t caps, uint32_t appended, struct buf *out, uint32_t *columns)
{
	struct cursor c = cursor_over(payload);
	uint64_t count;

	if (caps & CAP_OPTIONAL_METADATA)
		buf_add_char(out, (char)cursor_uint(&c, 1));
	count = cursor_lenenc(&c);
	if (c.bad || count <= appended || count > WIRE_COLUMNS_MAX)
		return false;
	*columns = (uint32_t)count;
	add_lenenc(out, count - appended);
	buf_add_span(out, cursor_rest(&c));
	return true;
}

bool strip_prepared(struct span payload, uint32_t appended, struct buf *out, uint32_t *columns)
{
	struct cursor c = cursor_over(payload);

	(void)cursor_uint(&c, 1);
	(void)cursor_uint(&c, 4);
	*columns = (uint32_t)cursor_uint(&c, 2);
	if (c.bad || *columns <= appended)
		return false;
	buf_add(out, payload.ptr, 5);
	buf_add_char(out, (char)(*columns - appended));
	buf_add_char(out, (char)((*columns - appended) >> 8));
	buf_add_span(out, cursor_rest(&c));
	return true;
}

bool strip_text_row(
	struct span row, uint32_t columns, uint32_t appended, struct buf *out, struct span *values)
{
	struct cursor c = cursor_over(row);

	for (uint32_t i = 0; i < columns; i++) {
		struct span value = SPAN_NONE;

		if (i == columns - appended)
			buf_add(out, row.ptr, row.len - cursor_left(&c));
		if (cursor_left(&c) && *c.p == 0xfb)
			c.p++;
		else
			value = cursor_lenenc_str(&c);
		if (i >= columns - appended)
			values[i - (columns - appended)] = value;
	}
	return !c.bad && cursor_left(&c) == 0;
}

/* 0, a bitmap of NULLs that begins at bit 2, the values (protocol.md, "Text and binary rows"). */
bool strip_binary_row(struct span row, const struct wire_columns *columns, uint32_t appended,
	struct buf *out, struct span *values)
{
	struct cursor c = cursor_over(row);
	size_t count = columns->count, left, bitmap;
	const unsigned char *nulls, *start;

	if (count <= appended || cursor_uint(&c, 1) != 0)
		return false;
	left = count - appended;
	nulls = (const unsigned char *)cursor_take(&c, (count + 9) / 8).ptr;
	if (c.bad)
		return false;
	bitmap = (left + 9) / 8;
	buf_add_char(out, 0);
	buf_add(out, nulls, bitmap);
	/* Bits past the last column are 0. */
	if ((left + 2) % 8)
		out->data[out->len - 1] &= (char)((1 << (left + 2) % 8) - 1);
	start = c.p;
	for (size_t i = 0; i < count && !c.bad; i++) {
		struct span value = SPAN_NONE;

		if (i == left)
			buf_add(out, start, (size_t)(c.p - start));
		if (!(nulls[(i + 2) / 8] >> ((i + 2) % 8) & 1) &&
			!wire_binary_value(&c, columns->list[i].type, &value))
			return false;
		if (i >= left)
			values[i - left] = value;
	}
	return !c.bad && cursor_left(&c) == 0;
}
