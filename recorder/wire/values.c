/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/values.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/siphash.h"
#include "trace/pack.h"
#include "trace/value.h"
#include "wire/proto.h"

enum { CUT_PREFIX = 256 };

/* ---- single values ---- */

static void pack_cut(msgpack_packer *pk, struct span prefix, uint64_t total, uint64_t digest)
{
	char body[16 + CUT_PREFIX];

	if (prefix.len > CUT_PREFIX)
		prefix.len = CUT_PREFIX;
	for (int i = 0; i < 8; i++) {
		body[i] = (char)(total >> (56 - 8 * i));
		body[8 + i] = (char)(digest >> (56 - 8 * i));
	}
	memcpy(body + 16, prefix.ptr, prefix.len);
	pack_ext(pk, VALUE_CUT, span_of(body, 16 + prefix.len));
}

/* Strings of all kinds; both protocols send them alike. */
static void pack_string(msgpack_packer *pk, uint8_t type, bool binary_charset, bool json,
	struct span s, const struct values_limits *limits)
{
	if (UNLIKELY(s.len > limits->value_keep_max)) {
		pack_cut(pk, s, s.len, siphash_digest(s.ptr, s.len));
		return;
	}
	switch (type) {
	case TYPE_DECIMAL:
	case TYPE_NEWDECIMAL:
		pack_ext(pk, VALUE_DECIMAL, s);
		return;
	case TYPE_JSON:
		pack_ext(pk, VALUE_JSON, s);
		return;
	case TYPE_BIT:
		pack_ext(pk, VALUE_BIT, s);
		return;
	case TYPE_GEOMETRY:
		pack_ext(pk, VALUE_GEOMETRY, s);
		return;
	default:
		if (json)
			pack_ext(pk, VALUE_JSON, s);
		else if (binary_charset)
			pack_bin(pk, s);
		else
			pack_str(pk, s);
		return;
	}
}

/* Decimal digits with an optional sign; false when it is anything else or does not fit. */
static bool pack_digits(msgpack_packer *pk, struct span s)
{
	bool negative = s.len && s.ptr[0] == '-';
	uint64_t value = 0;

	if (s.len == (size_t)negative || s.len > 20)
		return false;
	for (size_t i = negative; i < s.len; i++) {
		unsigned digit = (unsigned)(unsigned char)s.ptr[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, digit, &value))
			return false;
	}
	if (negative && value > (uint64_t)INT64_MAX + 1)
		return false;
	if (negative && value)
		pack_int(pk, (int64_t)(0 - value));
	else
		pack_uint(pk, value);
	return true;
}

static bool pack_number_text(msgpack_packer *pk, bool is_float, struct span s)
{
	char text[64], *end;
	double value;

	if (s.len == 0 || s.len >= sizeof(text))
		return false;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	value = strtod(text, &end);
	if (end != text + s.len)
		return false;
	if (is_float)
		pack_float(pk, (float)value);
	else
		pack_double(pk, value);
	return true;
}

/* ---- the text protocol ---- */

static void pack_text_value(msgpack_packer *pk, const struct wire_column *column, struct span s,
	const struct values_limits *limits)
{
	switch (column->type) {
	case TYPE_TINY:
	case TYPE_SHORT:
	case TYPE_LONG:
	case TYPE_LONGLONG:
	case TYPE_INT24:
	case TYPE_YEAR:
		if (!pack_digits(pk, s))
			pack_str(pk, s);
		return;
	case TYPE_FLOAT:
	case TYPE_DOUBLE:
		if (!pack_number_text(pk, column->type == TYPE_FLOAT, s))
			pack_str(pk, s);
		return;
	case TYPE_DATE:
		pack_ext(pk, VALUE_DATE, s);
		return;
	case TYPE_DATETIME:
	case TYPE_TIMESTAMP:
		pack_ext(pk, VALUE_DATETIME, s);
		return;
	case TYPE_TIME:
		pack_ext(pk, VALUE_TIME, s);
		return;
	default:
		pack_string(pk, column->type, column->charset == CHARSET_BINARY, column->json, s,
			limits);
		return;
	}
}

static bool pack_text_row(msgpack_packer *pk, const struct wire_columns *columns, struct span row,
	const struct values_limits *limits)
{
	struct cursor c = cursor_over(row);

	for (size_t i = 0; i < columns->count; i++) {
		struct span s;

		if (cursor_left(&c) && *c.p == 0xfb) {
			c.p++;
			pack_nil(pk);
			continue;
		}
		s = cursor_lenenc_str(&c);
		if (c.bad)
			return false;
		pack_text_value(pk, &columns->list[i], s, limits);
	}
	return cursor_left(&c) == 0;
}

/* ---- the binary protocol ---- */

static uint64_t little_endian(struct span s)
{
	uint64_t value = 0;

	for (size_t i = 0; i < s.len && i < 8; i++)
		value |= (uint64_t)(unsigned char)s.ptr[i] << (8 * i);
	return value;
}

static void pack_integer(msgpack_packer *pk, struct span s, bool is_unsigned)
{
	uint64_t value = little_endian(s);
	unsigned bits = (unsigned)s.len * 8;

	if (is_unsigned || bits == 0)
		pack_uint(pk, value);
	else
		pack_int(pk, (int64_t)(value << (64 - bits)) >> (64 - bits));
}

/* The fraction as the text protocol prints it: as many digits as the column has. */
static int print_fraction(char *out, size_t size, uint32_t micros, unsigned decimals)
{
	static const uint32_t divisors[] = {1000000, 100000, 10000, 1000, 100, 10, 1};

	if (decimals > 6)
		decimals = micros ? 6 : 0;
	if (decimals == 0)
		return 0;
	return snprintf(out, size, ".%0*u", (int)decimals, micros / divisors[decimals]);
}

static bool pack_date(msgpack_packer *pk, uint8_t type, struct span s, unsigned decimals)
{
	struct cursor c = cursor_over(s);
	unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, micros = 0;
	char text[64];
	int len;

	if (s.len != 0 && s.len != 4 && s.len != 7 && s.len != 11)
		return false;
	if (s.len >= 4) {
		year = (unsigned)cursor_uint(&c, 2);
		month = (unsigned)cursor_uint(&c, 1);
		day = (unsigned)cursor_uint(&c, 1);
	}
	if (s.len >= 7) {
		hour = (unsigned)cursor_uint(&c, 1);
		minute = (unsigned)cursor_uint(&c, 1);
		second = (unsigned)cursor_uint(&c, 1);
	}
	if (s.len >= 11)
		micros = (unsigned)cursor_uint(&c, 4);
	len = snprintf(text, sizeof(text), "%04u-%02u-%02u", year, month, day);
	if (type != TYPE_DATE) {
		len += snprintf(text + len, sizeof(text) - (size_t)len, " %02u:%02u:%02u", hour,
			minute, second);
		len += print_fraction(text + len, sizeof(text) - (size_t)len, micros, decimals);
	}
	pack_ext(pk, type == TYPE_DATE ? VALUE_DATE : VALUE_DATETIME, span_of(text, (size_t)len));
	return true;
}

static bool pack_time(msgpack_packer *pk, struct span s, unsigned decimals)
{
	struct cursor c = cursor_over(s);
	unsigned negative = 0, hour = 0, minute = 0, second = 0, micros = 0;
	uint64_t days = 0;
	char text[64];
	int len;

	if (s.len != 0 && s.len != 8 && s.len != 12)
		return false;
	if (s.len) {
		negative = (unsigned)cursor_uint(&c, 1);
		days = cursor_uint(&c, 4);
		hour = (unsigned)cursor_uint(&c, 1);
		minute = (unsigned)cursor_uint(&c, 1);
		second = (unsigned)cursor_uint(&c, 1);
	}
	if (s.len == 12)
		micros = (unsigned)cursor_uint(&c, 4);
	len = snprintf(text, sizeof(text), "%s%02llu:%02u:%02u", negative ? "-" : "",
		(unsigned long long)(days * 24 + hour), minute, second);
	len += print_fraction(text + len, sizeof(text) - (size_t)len, micros, decimals);
	pack_ext(pk, VALUE_TIME, span_of(text, (size_t)len));
	return true;
}

struct binary_type {
	uint8_t type;
	uint8_t decimals;
	bool is_unsigned, binary_charset, json;
};

static bool pack_binary_value(msgpack_packer *pk, struct binary_type type, struct span s,
	const struct values_limits *limits)
{
	switch (type.type) {
	case TYPE_TINY:
	case TYPE_SHORT:
	case TYPE_LONG:
	case TYPE_LONGLONG:
	case TYPE_INT24:
		pack_integer(pk, s, type.is_unsigned);
		return true;
	case TYPE_YEAR:
		pack_integer(pk, s, true);
		return true;
	case TYPE_FLOAT: {
		uint32_t bits = (uint32_t)little_endian(s);
		float value;

		memcpy(&value, &bits, 4);
		pack_float(pk, value);
		return true;
	}
	case TYPE_DOUBLE: {
		uint64_t bits = little_endian(s);
		double value;

		memcpy(&value, &bits, 8);
		pack_double(pk, value);
		return true;
	}
	case TYPE_DATE:
	case TYPE_DATETIME:
	case TYPE_TIMESTAMP:
		return pack_date(pk, type.type, s, type.decimals);
	case TYPE_TIME:
		return pack_time(pk, s, type.decimals);
	case TYPE_NULL:
		pack_nil(pk);
		return true;
	default:
		pack_string(pk, type.type, type.binary_charset, type.json, s, limits);
		return true;
	}
}

static bool pack_binary_row(msgpack_packer *pk, const struct wire_columns *columns, struct span row,
	const struct values_limits *limits)
{
	struct cursor c = cursor_over(row);
	const unsigned char *nulls;

	if (cursor_uint(&c, 1) != 0)
		return false;
	nulls = (const unsigned char *)cursor_take(&c, (columns->count + 9) / 8).ptr;
	for (size_t i = 0; i < columns->count && !c.bad; i++) {
		const struct wire_column *column = &columns->list[i];
		struct binary_type type = {column->type, column->decimals,
			(column->flags & COLUMN_UNSIGNED) != 0, column->charset == CHARSET_BINARY,
			column->json};
		struct span s;

		if (nulls[(i + 2) / 8] >> ((i + 2) % 8) & 1)
			pack_nil(pk);
		else if (!wire_binary_value(&c, column->type, &s) ||
			 !pack_binary_value(pk, type, s, limits))
			return false;
	}
	return !c.bad && cursor_left(&c) == 0;
}

/* ---- the common types of the binary protocol ---- */

ALWAYS_INLINE uint64_t load_le64(const unsigned char *p)
{
	uint64_t value;

	memcpy(&value, p, 8);
	return le64toh(value);
}

/* Of 1, 2, 4 or 8 bytes.  Reads 8 where they are there. */
ALWAYS_INLINE char *put_integer(char *out, const unsigned char *p, unsigned size, bool is_unsigned)
{
	unsigned shift = 64 - size * 8;
	uint64_t value = 0;

	if (size == 8)
		value = load_le64(p);
	else
		for (unsigned i = 0; i < size; i++)
			value |= (uint64_t)p[i] << (8 * i);
	if (is_unsigned)
		return mp_put_uint(out, value);
	return mp_put_int(out, (int64_t)(value << shift) >> shift);
}

/*
 * A row of integers and strings of up to 250 bytes, which is what most rows are: the same bytes as
 * values_pack_row, with one look at the room.  No value takes more than MP_PUT_HEAD_MAX bytes beyond
 * those that it has in the packet, counting a NULL as none.  False, and nothing is packed: any other
 * row.
 */
bool values_pack_quick(struct buf *out, const struct wire_columns *columns, struct span row,
	const struct values_limits *limits)
{
	const unsigned char *p = (const unsigned char *)row.ptr, *end = p + row.len, *nulls = p + 1;
	size_t count = columns->count, bitmap = (count + 9) / 8;
	char *to;

	if (UNLIKELY(row.len <= bitmap || *p != 0))
		return false;
	to = buf_reserve(out, row.len + (count + 1) * MP_PUT_HEAD_MAX);
	to = mp_put_array_head(to, (uint32_t)count);
	p += 1 + bitmap;
	for (size_t i = 0; i < count; i++) {
		const struct wire_column *column = &columns->list[i];
		bool is_unsigned = (column->flags & COLUMN_UNSIGNED) != 0;
		unsigned size;

		if (UNLIKELY(nulls[(i + 2) / 8] >> ((i + 2) % 8) & 1)) {
			to = mp_put_nil(to);
			continue;
		}
		switch (column->type) {
		case TYPE_TINY:
			size = 1;
			break;
		case TYPE_SHORT:
			size = 2;
			break;
		case TYPE_LONG:
		case TYPE_INT24:
			size = 4;
			break;
		case TYPE_LONGLONG:
			size = 8;
			break;
		case TYPE_VARCHAR:
		case TYPE_VAR_STRING:
		case TYPE_STRING:
		case TYPE_BLOB:
			if (UNLIKELY(p == end || *p >= 0xfb || *p > limits->value_keep_max ||
				    column->json || (size_t)(end - p) <= *p))
				return false;
			size = *p++;
			to = column->charset == CHARSET_BINARY ? mp_put_bin_head(to, size)
							       : mp_put_str_head(to, size);
			to = mp_put_short(to, p, size);
			p += size;
			continue;
		default:
			return false;
		}
		if (UNLIKELY((size_t)(end - p) < size))
			return false;
		to = put_integer(to, p, size, is_unsigned);
		p += size;
	}
	if (UNLIKELY(p != end))
		return false;
	out->len = (size_t)(to - out->data);
	return true;
}

/* ---- rows, columns, parameters ---- */

bool values_pack_row(struct buf *out, const struct wire_columns *columns, struct span row,
	bool binary, const struct values_limits *limits)
{
	msgpack_packer pk = pack_into(out);
	size_t start = out->len;

	pack_array(&pk, columns->count);
	if (binary ? pack_binary_row(&pk, columns, row, limits)
		   : pack_text_row(&pk, columns, row, limits))
		return true;
	out->len = start;
	return false;
}

void values_pack_text(struct buf *out, const struct wire_column *column, struct span s,
	const struct values_limits *limits)
{
	msgpack_packer pk = pack_into(out);

	if (s.ptr)
		pack_text_value(&pk, column, s, limits);
	else
		pack_nil(&pk);
}

void values_pack_bytes(struct buf *out, enum value_type type, struct span s, const struct values_limits *limits)
{
	msgpack_packer pk = pack_into(out);

	if (s.len > limits->value_keep_max)
		pack_cut(&pk, s, s.len, siphash_digest(s.ptr, s.len));
	else if (type == VALUE_TEXT)
		pack_str(&pk, s);
	else if (type == VALUE_BYTES)
		pack_bin(&pk, s);
	else
		pack_ext(&pk, (int8_t)type, s);
}

void values_pack_columns(struct buf *out, const struct wire_columns *columns,
	void (*edit)(void *ctx, struct wire_column_names *names), void *ctx)
{
	msgpack_packer pk = pack_into(out);

	pack_array(&pk, columns->count);
	for (size_t i = 0; i < columns->count; i++) {
		const struct wire_column *column = &columns->list[i];
		struct wire_column_names names;

		wire_column_names(columns, i, &names);
		if (edit)
			edit(ctx, &names);
		pack_array(&pk, 10);
		pack_str(&pk, names.name);
		pack_str(&pk, names.table);
		pack_uint(&pk, column->type);
		pack_uint(&pk, column->flags);
		pack_uint(&pk, column->charset);
		pack_uint(&pk, column->length);
		pack_uint(&pk, column->decimals);
		pack_str(&pk, names.schema);
		pack_str(&pk, names.table_original);
		pack_str(&pk, names.name_original);
	}
}

void values_pack_param(
	struct buf *out, const struct wire_param *param, const struct values_limits *limits)
{
	msgpack_packer pk = pack_into(out);
	/* Clients send blobs with a blob type and text with a string type. */
	bool blob = param->type >= TYPE_TINY_BLOB && param->type <= TYPE_BLOB;
	struct binary_type type = {param->type, 31, param->is_unsigned, blob, false};
	size_t start = out->len;

	/* DEFAULT and IGNORE of a bulk row are no value, and NULL would be a wrong one. */
	if (param->indicator > BULK_NULL) {
		value_pack(out, &(struct value){.type = VALUE_DROPPED, .bytes = span_of("", 0)});
		return;
	}
	if (param->null) {
		pack_nil(&pk);
		return;
	}
	if (param->long_data) {
		const struct wire_long_data *data = param->long_data;
		unsigned char digest[8];
		uint64_t number;

		if (data->total == data->kept.len && data->total <= limits->value_keep_max) {
			pack_string(&pk, param->type, blob, false, buf_span(&data->kept), limits);
			return;
		}
		siphash_final(&data->digest, digest);
		memcpy(&number, digest, 8);
		pack_cut(&pk, buf_span(&data->kept), data->total, number);
		return;
	}
	if (!pack_binary_value(&pk, type, param->value, limits)) {
		out->len = start;
		pack_bin(&pk, param->value);
	}
}
