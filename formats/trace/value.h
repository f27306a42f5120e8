/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A typed SQL value as it stands in a trace: in rows, parameters, keys, versions and images.
 *
 * NULL, integers, doubles, floats, text and binary strings are msgpack's own; the rest are msgpack
 * extensions of the type numbers below (docs/trace-format.md, "Values").
 */
#ifndef TRACE_VALUE_H
#define TRACE_VALUE_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/json.h"
#include "trace/msgpack_cursor.h"

enum value_type {
	VALUE_NULL = 0, /* nil */
	VALUE_INT = 1,  /* below zero */
	VALUE_UINT = 2, /* zero and up */
	VALUE_DOUBLE = 3,
	VALUE_FLOAT = 4, /* 32 bits */
	VALUE_TEXT = 5,  /* str: a column with a character set; bytes, not always UTF-8 */
	VALUE_BYTES = 6, /* bin: a binary string */
	/* Extensions; the number is the msgpack extension type. */
	VALUE_DECIMAL = 16,  /* ASCII, as the server prints it */
	VALUE_DATE = 17,     /* ASCII: 2026-11-16 */
	VALUE_DATETIME = 18, /* ASCII: 2026-11-16 01:58:00[.ffffff] */
	VALUE_TIME = 19,     /* ASCII: [-]hhh:mm:ss[.ffffff] */
	VALUE_JSON = 20,     /* text */
	VALUE_BIT = 21,      /* big-endian bytes */
	VALUE_GEOMETRY = 22, /* the server's bytes */
	VALUE_HASHED = 23,   /* redacted: a keyed hash; equal values, equal bytes */
	VALUE_CUT = 24,      /* too long to keep: length (8 bytes, big-endian), 8 bytes of the
				value's digest, then its first bytes */
	VALUE_DROPPED = 25,  /* redacted without a trace; empty */
};

struct value {
	enum value_type type;
	union {
		int64_t i;
		uint64_t u;
		double d; /* DOUBLE and FLOAT */
	};
	struct span bytes; /* all other types; points into the input */
};

/* False (and mp->bad) for anything that is not a value. */
bool value_read(struct mp *mp, struct value *out);
void value_pack(struct buf *out, const struct value *value);
/* Equal type and equal content; doubles by their bits. */
bool value_eq(const struct value *a, const struct value *b);
/* For people: as an SQL literal, strings in quotes, at most `width` bytes when width is not 0. */
void value_print(struct buf *out, const struct value *value, size_t width);
/* Integers and doubles as numbers, TEXT as a string, all else {"decimal": "1.50"} by type name. */
void value_json(struct json *json, const struct value *value);
const char *value_type_name(enum value_type type);

static inline struct value value_uint(uint64_t u)
{
	return (struct value){.type = VALUE_UINT, .u = u};
}

static inline struct value value_int(int64_t i)
{
	return i < 0 ? (struct value){.type = VALUE_INT, .i = i} : value_uint((uint64_t)i);
}

static inline struct value value_bytes(enum value_type type, struct span s)
{
	return (struct value){.type = s.ptr ? type : VALUE_NULL, .bytes = s};
}

#endif
