/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of a row image: the storage formats of the servers' columns, as values of the trace in the
 * form in which an answer has them (docs/trace-format.md, "Values").  TIMESTAMP is printed in UTC.
 */
#include "binlog/binlog_internal.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <time.h>

#include "trace/pack.h"
#include "trace/value.h"
#include "wire/proto.h"

enum {
	FRACTION_MAX = 6,
	DECIMAL_DIGITS_MAX = 65,
	DECIMAL_GROUP = 9,
	BIT_BYTES_MAX = 8,
	STRING_BYTES_MAX = 1023
};

/* Big-endian. */
static uint64_t take_be(struct cursor *c, unsigned len)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < len; i++)
		value = value << 8 | cursor_uint(c, 1);
	return value;
}

static int64_t sign_extend(uint64_t value, unsigned bytes)
{
	unsigned shift = 64 - 8 * bytes;

	return (int64_t)(value << shift) >> shift;
}

static void pack_text(struct buf *out, enum value_type type, const char *text, int len)
{
	msgpack_packer pk = pack_into(out);

	pack_ext(&pk, (int8_t)type, span_of(text, (size_t)len));
}

/* ---- numbers ---- */

static bool take_integer(
	const struct binlog_column *column, unsigned bytes, struct cursor *c, struct buf *out)
{
	msgpack_packer pk = pack_into(out);
	uint64_t value = cursor_uint(c, bytes);

	if (column->is_unsigned)
		pack_uint(&pk, value);
	else
		pack_int(&pk, sign_extend(value, bytes));
	return !c->bad;
}

static unsigned decimal_bytes(unsigned digits)
{
	static const uint8_t rest[DECIMAL_GROUP] = {0, 1, 1, 2, 2, 3, 3, 4, 4};

	return digits / DECIMAL_GROUP * 4 + rest[digits % DECIMAL_GROUP];
}

/*
 * MySQL, decimal2bin(): groups of nine digits in four bytes, big-endian, an incomplete group first
 * before the point and last behind it.  The highest bit is inverted, and all bits of a negative
 * number.
 */
bool binary_decimal_print(unsigned precision, unsigned scale, struct cursor *c, struct buf *out)
{
	unsigned whole, len, at = 0;
	unsigned char bytes[40];
	char text[DECIMAL_DIGITS_MAX + 8], *p = text;
	bool negative, any = false;
	struct span in;

	if (precision > DECIMAL_DIGITS_MAX || scale > precision)
		return false;
	whole = precision - scale;
	len = decimal_bytes(whole) + decimal_bytes(scale);
	in = cursor_take(c, len);
	if (c->bad || len > sizeof(bytes) || !len)
		return false;
	memcpy(bytes, in.ptr, len);
	negative = !(bytes[0] & 0x80);
	bytes[0] ^= 0x80;
	if (negative)
		for (unsigned i = 0; i < len; i++)
			bytes[i] = (unsigned char)~bytes[i];
	if (negative)
		*p++ = '-';
	for (unsigned part = 0; part < 2; part++) {
		unsigned left = part ? scale : whole;

		if (part && scale) {
			if (!any)
				*p++ = '0';
			*p++ = '.';
		}
		while (left) {
			unsigned digits = part ? (left < DECIMAL_GROUP ? left : DECIMAL_GROUP)
					       : (left % DECIMAL_GROUP ? left % DECIMAL_GROUP
								       : DECIMAL_GROUP);
			unsigned size = decimal_bytes(digits);
			uint32_t value = 0;
			char group[12];

			for (unsigned i = 0; i < size; i++)
				value = value << 8 | bytes[at++];
			(void)snprintf(group, sizeof(group), "%0*u", (int)digits, value);
			if (strlen(group) != digits)
				return false;
			for (unsigned i = 0; i < digits; i++) {
				any |= part || group[i] != '0';
				if (any)
					*p++ = group[i];
			}
			left -= digits;
		}
	}
	if (!scale && !any)
		*p++ = '0';
	buf_add(out, text, (size_t)(p - text));
	return true;
}

static bool take_decimal(
	struct binlog *b, const struct binlog_column *column, struct cursor *c, struct buf *out)
{
	msgpack_packer pk = pack_into(out);

	buf_clear(&b->text);
	if (!binary_decimal_print(column->meta >> 8, column->meta & 0xff, c, &b->text))
		return false;
	pack_ext(&pk, VALUE_DECIMAL, buf_span(&b->text));
	return true;
}

/* ---- times ---- */

static unsigned fraction_bytes(unsigned digits)
{
	return (digits + 1) / 2;
}

/* As many digits as the column has, from a number of an even number of digits. */
static int print_fraction(char *out, size_t size, uint64_t value, unsigned digits)
{
	if (!digits)
		return 0;
	if (digits & 1)
		value /= 10;
	return snprintf(out, size, ".%0*llu", (int)digits, (unsigned long long)value);
}

static bool take_timestamp(unsigned digits, struct cursor *c, struct buf *out)
{
	time_t seconds;
	uint64_t fraction;
	char text[64];
	struct tm tm;
	int len;

	if (digits > FRACTION_MAX)
		return false;
	seconds = (time_t)take_be(c, 4);
	fraction = take_be(c, fraction_bytes(digits));
	if (!seconds && !fraction) /* zero is no moment */
		memset(&tm, 0, sizeof(tm));
	else if (!gmtime_r(&seconds, &tm))
		return false;
	len = seconds || fraction ? snprintf(text, sizeof(text), "%04d-%02d-%02d %02d:%02d:%02d",
					    tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
					    tm.tm_hour, tm.tm_min, tm.tm_sec)
				  : snprintf(text, sizeof(text), "0000-00-00 00:00:00");
	len += print_fraction(text + len, sizeof(text) - (size_t)len, fraction, digits);
	pack_text(out, VALUE_DATETIME, text, len);
	return !c->bad;
}

/* Sign, 17 bits of year * 13 + month, 5 of the day, 5 of the hour, 6 of the minute, 6 of the
 * second. */
static bool take_datetime(unsigned digits, struct cursor *c, struct buf *out)
{
	uint64_t packed, fraction, month;
	char text[64];
	int len;

	if (digits > FRACTION_MAX)
		return false;
	packed = take_be(c, 5) & 0x7fffffffff;
	fraction = take_be(c, fraction_bytes(digits));
	month = packed >> 22;
	len = snprintf(text, sizeof(text), "%04u-%02u-%02u %02u:%02u:%02u", (unsigned)(month / 13),
		(unsigned)(month % 13), (unsigned)(packed >> 17 & 31),
		(unsigned)(packed >> 12 & 31), (unsigned)(packed >> 6 & 63),
		(unsigned)(packed & 63));
	len += print_fraction(text + len, sizeof(text) - (size_t)len, fraction, digits);
	pack_text(out, VALUE_DATETIME, text, len);
	return !c->bad;
}

/* Three bytes of 12 bits of the hour, 6 of the minute, 6 of the second, above an offset; the
 * fraction behind them belongs to the same number, so it is inverted where that is below zero. */
static bool take_time(unsigned digits, struct cursor *c, struct buf *out)
{
	unsigned bytes = fraction_bytes(digits);
	int64_t packed;
	uint64_t clock, fraction;
	bool negative;
	char text[64];
	int len;

	if (digits > FRACTION_MAX)
		return false;
	packed = (int64_t)take_be(c, 3 + bytes) - (INT64_C(0x800000) << (8 * bytes));
	negative = packed < 0;
	if (negative)
		packed = -packed;
	clock = (uint64_t)packed >> (8 * bytes);
	fraction = (uint64_t)packed & ((UINT64_C(1) << (8 * bytes)) - 1);
	len = snprintf(text, sizeof(text), "%s%02u:%02u:%02u", negative ? "-" : "",
		(unsigned)(clock >> 12 & 1023), (unsigned)(clock >> 6 & 63),
		(unsigned)(clock & 63));
	len += print_fraction(text + len, sizeof(text) - (size_t)len, fraction, digits);
	pack_text(out, VALUE_TIME, text, len);
	return !c->bad;
}

static bool take_date(struct cursor *c, struct buf *out)
{
	uint32_t packed = (uint32_t)cursor_uint(c, 3);
	char text[24];
	int len = snprintf(
		text, sizeof(text), "%04u-%02u-%02u", packed >> 9, packed >> 5 & 15, packed & 31);

	pack_text(out, VALUE_DATE, text, len);
	return !c->bad;
}

/* Before MySQL 5.6: decimal digits as a number. */
static bool take_old_time(struct cursor *c, struct buf *out)
{
	int64_t packed = sign_extend(cursor_uint(c, 3), 3);
	uint64_t digits = (uint64_t)(packed < 0 ? -packed : packed);
	char text[32];
	int len = snprintf(text, sizeof(text), "%s%02u:%02u:%02u", packed < 0 ? "-" : "",
		(unsigned)(digits / 10000), (unsigned)(digits / 100 % 100),
		(unsigned)(digits % 100));

	pack_text(out, VALUE_TIME, text, len);
	return !c->bad;
}

static bool take_old_datetime(struct cursor *c, struct buf *out)
{
	uint64_t digits = cursor_uint(c, 8), day = digits / 1000000, time = digits % 1000000;
	char text[64];
	int len = snprintf(text, sizeof(text), "%04u-%02u-%02u %02u:%02u:%02u",
		(unsigned)(day / 10000 % 10000), (unsigned)(day / 100 % 100), (unsigned)(day % 100),
		(unsigned)(time / 10000), (unsigned)(time / 100 % 100), (unsigned)(time % 100));

	pack_text(out, VALUE_DATETIME, text, len);
	return !c->bad;
}

static bool take_old_timestamp(struct cursor *c, struct buf *out)
{
	uint32_t seconds = (uint32_t)cursor_uint(c, 4);
	unsigned char swapped[4];
	struct cursor big;

	for (unsigned i = 0; i < 4; i++)
		swapped[i] = (unsigned char)(seconds >> (24 - 8 * i));
	big = cursor_over(span_of(swapped, sizeof(swapped)));
	return take_timestamp(0, &big, out) && !c->bad;
}

/* ---- strings ---- */

static void print_uuid(const unsigned char *in, char text[40])
{
	char *p = text;

	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		p += snprintf(p, 3, "%02x", in[i]);
	}
}

static void pack_named(const struct binlog_column *column, struct span s, struct buf *out)
{
	unsigned char bytes[16] = {0};
	msgpack_packer pk = pack_into(out);
	char text[64];

	memcpy(bytes, s.ptr, s.len < sizeof(bytes) ? s.len : sizeof(bytes));
	if (column->print == BINLOG_PRINT_UUID)
		print_uuid(bytes, text);
	else
		(void)inet_ntop(column->print == BINLOG_PRINT_INET4 ? AF_INET : AF_INET6, bytes,
			text, sizeof(text));
	pack_str(&pk, span_str(text));
}

/* A text in the connection's character set, utf8mb4; without its column's set it is bytes. */
static void pack_chars(
	struct binlog *b, const struct binlog_column *column, struct span s, struct buf *out)
{
	const struct values_limits *limits = &b->options.values;

	if (column->print != BINLOG_PRINT_BYTES) {
		pack_named(column, s, out);
		return;
	}
	if (column->charset == CHARSET_BINARY) {
		values_pack_bytes(out, VALUE_BYTES, s, limits);
		return;
	}
	if (column->charset && !charset_is_utf8(column->charset)) {
		buf_clear(&b->text);
		if (!charset_to_utf8(b, column->charset, s, &b->text)) {
			values_pack_bytes(out, VALUE_BYTES, s, limits);
			return;
		}
		s = buf_span(&b->text);
	}
	values_pack_bytes(out, column->json ? VALUE_JSON : VALUE_TEXT, s, limits);
}

/* The server leaves out zero bytes at the end of BINARY(n). */
static void pack_fixed(
	struct binlog *b, const struct binlog_column *column, struct span s, struct buf *out)
{
	size_t wanted = column->charset == CHARSET_BINARY ? column->meta : 0;

	if (column->print == BINLOG_PRINT_BYTES && wanted > s.len && wanted <= STRING_BYTES_MAX) {
		buf_clear(&b->text);
		buf_add_span(&b->text, s);
		memset(buf_reserve(&b->text, wanted - s.len), 0, wanted - s.len);
		b->text.len = wanted;
		s = buf_span(&b->text);
	}
	pack_chars(b, column, s, out);
}

static bool take_compressed(
	struct binlog *b, const struct binlog_column *column, struct span s, struct buf *out)
{
	buf_clear(&b->scratch);
	if (!inflate_column(s, &b->scratch))
		return false;
	pack_chars(b, column, buf_span(&b->scratch), out);
	return true;
}

static bool take_json(struct binlog *b, struct span s, struct buf *out)
{
	buf_clear(&b->text);
	if (!json_binary_print(s, &b->text))
		return false;
	values_pack_bytes(out, VALUE_JSON, buf_span(&b->text), &b->options.values);
	return true;
}

/* ---- ENUM and SET ---- */

static bool take_enum(const struct binlog_table *table, const struct binlog_column *column,
	struct cursor *c, struct buf *out)
{
	unsigned bytes = column->meta & 0xff;
	msgpack_packer pk = pack_into(out);
	uint64_t number;

	if (bytes != 1 && bytes != 2)
		return false;
	number = cursor_uint(c, bytes);
	if (c->bad)
		return false;
	if (!column->member_count)
		pack_uint(&pk, number);
	else if (!number) /* the value that a wrong one becomes outside of strict mode */
		pack_str(&pk, SPAN_LIT(""));
	else if (number > column->member_count)
		return false;
	else
		pack_str(&pk, table->members[column->member + number - 1]);
	return true;
}

static bool take_set(struct binlog *b, const struct binlog_table *table,
	const struct binlog_column *column, struct cursor *c, struct buf *out)
{
	unsigned bytes = column->meta & 0xff;
	msgpack_packer pk = pack_into(out);
	uint64_t bits;

	if (!bytes || bytes > 8)
		return false;
	bits = cursor_uint(c, bytes);
	if (c->bad)
		return false;
	if (!column->member_count) {
		pack_uint(&pk, bits);
		return true;
	}
	if (column->member_count < 64 && bits >> column->member_count)
		return false;
	buf_clear(&b->text);
	for (uint32_t i = 0; i < column->member_count && i < 64; i++) {
		if (!(bits >> i & 1))
			continue;
		if (b->text.len)
			buf_add_char(&b->text, ',');
		buf_add_span(&b->text, table->members[column->member + i]);
	}
	pack_str(&pk, buf_span(&b->text));
	return true;
}

static bool take_bit(const struct binlog_column *column, struct cursor *c, struct buf *out)
{
	unsigned bits = (column->meta >> 8) * 8u + (column->meta & 0xff), bytes = (bits + 7) / 8;
	struct span s = cursor_take(c, bytes);
	msgpack_packer pk = pack_into(out);

	if (c->bad || bytes > BIT_BYTES_MAX)
		return false;
	pack_ext(&pk, VALUE_BIT, s);
	return true;
}

/* ---- all ---- */

const char *row_value_refuses(const struct binlog_column *column)
{
	switch (column->type) {
	case TYPE_TINY:
	case TYPE_SHORT:
	case TYPE_INT24:
	case TYPE_LONG:
	case TYPE_LONGLONG:
		return column->sign_known
			       ? NULL
			       : "it is not known which columns are UNSIGNED (binlog_row_metadata)";
	case TYPE_FLOAT:
	case TYPE_DOUBLE:
	case TYPE_NEWDECIMAL:
	case TYPE_TIMESTAMP:
	case TYPE_DATE:
	case TYPE_TIME:
	case TYPE_DATETIME:
	case TYPE_YEAR:
	case BINLOG_TYPE_TIMESTAMP2:
	case BINLOG_TYPE_DATETIME2:
	case BINLOG_TYPE_TIME2:
	case TYPE_BIT:
	case TYPE_ENUM:
	case TYPE_SET:
	case TYPE_VARCHAR:
	case TYPE_VAR_STRING:
	case TYPE_STRING:
	case TYPE_BLOB:
	case TYPE_TINY_BLOB:
	case TYPE_MEDIUM_BLOB:
	case TYPE_LONG_BLOB:
	case TYPE_GEOMETRY:
	case TYPE_JSON:
	case TYPE_VECTOR:
	case BINLOG_TYPE_BLOB_COMPRESSED:
	case BINLOG_TYPE_VARCHAR_COMPRESSED:
		return NULL;
	default:
		return "it has a column of an unknown type";
	}
}

bool row_value_take(struct binlog *b, const struct binlog_table *table,
	const struct binlog_column *column, struct cursor *c, struct buf *out)
{
	msgpack_packer pk = pack_into(out);
	struct span s;

	switch (column->type) {
	case TYPE_TINY:
		return take_integer(column, 1, c, out);
	case TYPE_SHORT:
		return take_integer(column, 2, c, out);
	case TYPE_INT24:
		return take_integer(column, 3, c, out);
	case TYPE_LONG:
		return take_integer(column, 4, c, out);
	case TYPE_LONGLONG:
		return take_integer(column, 8, c, out);
	case TYPE_FLOAT: {
		uint32_t bits = (uint32_t)cursor_uint(c, 4);
		float value;

		memcpy(&value, &bits, sizeof(value));
		pack_float(&pk, value);
		return !c->bad;
	}
	case TYPE_DOUBLE: {
		uint64_t bits = cursor_uint(c, 8);
		double value;

		memcpy(&value, &bits, sizeof(value));
		pack_double(&pk, value);
		return !c->bad;
	}
	case TYPE_NEWDECIMAL:
		return take_decimal(b, column, c, out);
	case TYPE_YEAR: {
		uint64_t year = cursor_uint(c, 1);

		pack_uint(&pk, year ? 1900 + year : 0);
		return !c->bad;
	}
	case TYPE_DATE:
		return take_date(c, out);
	case TYPE_TIME:
		return take_old_time(c, out);
	case TYPE_DATETIME:
		return take_old_datetime(c, out);
	case TYPE_TIMESTAMP:
		return take_old_timestamp(c, out);
	case BINLOG_TYPE_TIMESTAMP2:
		return take_timestamp(column->meta, c, out);
	case BINLOG_TYPE_DATETIME2:
		return take_datetime(column->meta, c, out);
	case BINLOG_TYPE_TIME2:
		return take_time(column->meta, c, out);
	case TYPE_BIT:
		return take_bit(column, c, out);
	case TYPE_ENUM:
		return take_enum(table, column, c, out);
	case TYPE_SET:
		return take_set(b, table, column, c, out);
	case TYPE_STRING:
	case TYPE_VAR_STRING:
		s = cursor_take(c, cursor_uint(c, column->meta > 255 ? 2 : 1));
		if (!c->bad)
			pack_fixed(b, column, s, out);
		return !c->bad;
	case TYPE_VARCHAR:
	case BINLOG_TYPE_VARCHAR_COMPRESSED:
		s = cursor_take(c, cursor_uint(c, column->meta > 255 ? 2 : 1));
		if (!c->bad && column->type == BINLOG_TYPE_VARCHAR_COMPRESSED)
			return take_compressed(b, column, s, out);
		if (!c->bad)
			pack_chars(b, column, s, out);
		return !c->bad;
	default:
		break;
	}
	/* The rest has a length of as many bytes as the map says. */
	if (!column->meta || column->meta > 4)
		return false;
	s = cursor_take(c, cursor_uint(c, column->meta));
	if (c->bad)
		return false;
	switch (column->type) {
	case TYPE_GEOMETRY:
		values_pack_bytes(out, VALUE_GEOMETRY, s, &b->options.values);
		return true;
	case TYPE_VECTOR:
		values_pack_bytes(out, VALUE_BYTES, s, &b->options.values);
		return true;
	case TYPE_JSON:
		return take_json(b, s, out);
	case BINLOG_TYPE_BLOB_COMPRESSED:
		return take_compressed(b, column, s, out);
	default:
		pack_chars(b, column, s, out);
		return true;
	}
}
