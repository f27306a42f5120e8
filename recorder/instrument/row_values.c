/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/row_values.h"

#include "base/chars.h"
#include "trace/pack.h"
#include "trace/value.h"

bool instrument_pack_version(struct buf *out, struct span digits)
{
	msgpack_packer pk = pack_into(out);
	uint64_t value = 0;

	const char *slash = digits.len ? memchr(digits.ptr, '/', digits.len) : NULL;

	if (slash)
		digits.len = (size_t)(slash - digits.ptr);
	if (!digits.len || digits.len > 20)
		return false;
	for (size_t i = 0; i < digits.len; i++) {
		unsigned digit = (unsigned)(unsigned char)digits.ptr[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return false;
	}
	pack_uint(&pk, value);
	return true;
}

bool instrument_add_unhex(struct buf *out, struct span digits)
{
	if (digits.len % 2)
		return false;
	for (size_t i = 0; i < digits.len; i += 2) {
		int high = char_hex_value(digits.ptr[i]), low = char_hex_value(digits.ptr[i + 1]);

		if (high < 0 || low < 0)
			return false;
		buf_add_char(out, (char)(high << 4 | low));
	}
	return true;
}

/* C, length, ':', 16 digits: VALUE_CUT without any of its bytes. */
static bool pack_long(struct buf *out, struct span text)
{
	msgpack_packer pk = pack_into(out);
	struct buf body = BUF_INIT;
	uint64_t length = 0;
	size_t i = 1;
	bool ok;

	for (; i < text.len && text.ptr[i] >= '0' && text.ptr[i] <= '9' && i < 20; i++)
		length = length * 10 + (uint64_t)(text.ptr[i] - '0');
	if (i + 17 != text.len || text.ptr[i] != ':')
		return false;
	for (int k = 0; k < 8; k++)
		buf_add_char(&body, (char)(length >> (56 - 8 * k)));
	ok = instrument_add_unhex(&body, span_of(text.ptr + i + 1, 16));
	if (ok) {
		msgpack_pack_ext(&pk, body.len, VALUE_CUT);
		msgpack_pack_ext_body(&pk, body.data, body.len);
	}
	buf_release(&body);
	return ok;
}

static bool pack_bits(struct buf *out, const struct instrument_column *column, struct span text,
	const struct values_limits *limits)
{
	uint64_t value = 0;
	char bytes[8];
	size_t size = (column->wire.length + 7) / 8;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9' || i >= 20)
			return false;
		value = value * 10 + (uint64_t)(text.ptr[i] - '0');
	}
	size = size == 0 ? 1 : size > 8 ? 8 : size;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(value >> (8 * (size - 1 - i)));
	values_pack_text(out, &column->wire, span_of(bytes, size), limits);
	return true;
}

bool instrument_pack_value(struct buf *out, const struct instrument_column *column,
	struct span text, const struct values_limits *limits)
{
	struct buf bytes = BUF_INIT;
	bool ok;

	if (span_eq_str(text, "N")) {
		values_pack_text(out, &column->wire, SPAN_NONE, limits);
		return true;
	}
	switch (column->kind) {
	case COLUMN_NUMBER:
	case COLUMN_REAL:
	case COLUMN_DECIMAL:
	case COLUMN_TIME:
	case COLUMN_TIMESTAMP:
		values_pack_text(out, &column->wire, text, limits);
		return text.len != 0;
	case COLUMN_BIT:
		return pack_bits(out, column, text, limits);
	case COLUMN_TEXT:
	case COLUMN_ENUM:
	case COLUMN_BYTES:
	case COLUMN_GEOMETRY:
	case COLUMN_JSON:
	case COLUMN_OTHER:
		break;
	}
	/* No hexadecimal digits of whole bytes begin with C and have a colon. */
	if (text.len > 17 && text.ptr[0] == 'C' && text.ptr[text.len - 17] == ':')
		return pack_long(out, text);
	ok = instrument_add_unhex(&bytes, text);
	if (ok)
		values_pack_text(out, &column->wire, buf_span(&bytes), limits);
	buf_release(&bytes);
	return ok;
}
