/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading msgpack: a bounds-checked cursor over bytes in memory.
 *
 * msgpack-c packs what we write; for reading, its object API allocates for every object (and for
 * forged array lengths), so the reader walks the bytes itself.  msgpack-c is the test twin.
 *
 * Rules:
 * 1. Nothing is read outside [p, end).  A length is believed only once the bytes are there, an
 *    element count only up to the number of bytes left (each element takes at least one).
 * 2. Errors stick: after the first one `bad` is set, p stays, and every call returns zero, false or
 *    SPAN_NONE.  So a record is decoded field by field and `bad` is looked at once, at the end.
 * 3. Strings are bytes and point into the input.
 * 4. mp_skip does not recurse: nesting costs nothing.
 *
 * Format: https://github.com/msgpack/msgpack/blob/master/spec.md
 */
#ifndef TRACE_MSGPACK_CURSOR_H
#define TRACE_MSGPACK_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"
#include "base/span.h"

struct mp {
	const unsigned char *p, *end;
	bool bad;
};

enum mp_type {
	MP_NIL,
	MP_BOOL,
	MP_UINT, /* zero and up, however it was encoded */
	MP_INT,  /* below zero */
	MP_FLOAT32,
	MP_FLOAT64,
	MP_STR,
	MP_BIN,
	MP_ARRAY,
	MP_MAP,
	MP_EXT,
	MP_BAD, /* the end, a truncated object, or the byte 0xc1 */
};

/* One object's head; fields that its type does not use are not set.  For MP_STR, MP_BIN and MP_EXT the bytes are in `bytes`; for MP_ARRAY and
 * MP_MAP the elements (pairs) follow at the cursor. */
struct mp_object {
	enum mp_type type;
	int8_t ext_type;
	uint32_t count; /* elements of an array, pairs of a map */
	union {
		uint64_t u;
		int64_t i;
		double d;
		bool b;
	};
	struct span bytes;
};

static inline struct mp mp_over(struct span s)
{
	const unsigned char *p = (const unsigned char *)s.ptr;

	return (struct mp){p, p ? p + s.len : p, false};
}

static inline size_t mp_left(const struct mp *mp)
{
	return (size_t)(mp->end - mp->p);
}

static inline bool mp_fail(struct mp *mp)
{
	mp->bad = true;
	return false;
}

static inline uint64_t mp_load_be(const unsigned char *p, unsigned size)
{
	uint64_t value;
	uint32_t half;

	switch (size) {
	case 1:
		return p[0];
	case 2:
		return (uint64_t)p[0] << 8 | p[1];
	case 4:
		memcpy(&half, p, 4);
		return __builtin_bswap32(half);
	case 8:
		memcpy(&value, p, 8);
		return __builtin_bswap64(value);
	}
	return 0;
}

/* The general reader: any object's head.  False (and bad) at the end or on damage. */
bool mp_next(struct mp *mp, struct mp_object *out);

/* What stands at the cursor, by its first byte alone; signed formats count as MP_INT. */
enum mp_type mp_peek(const struct mp *mp);

/* Steps over one whole object, nested or not. */
bool mp_skip(struct mp *mp);

/* Takes a nil if one is there. */
static inline bool mp_take_nil(struct mp *mp)
{
	if (mp->bad || mp->p >= mp->end || *mp->p != 0xc0)
		return false;
	mp->p++;
	return true;
}

struct span mp_raw_slow(struct mp *mp);

/* Steps over one whole object and returns its bytes; SPAN_NONE for nil. */
static inline struct span mp_raw(struct mp *mp)
{
	return mp_take_nil(mp) ? SPAN_NONE : mp_raw_slow(mp);
}

uint64_t mp_uint_slow(struct mp *mp);

/* Zero and up; nil reads as 0. */
static inline uint64_t mp_uint(struct mp *mp)
{
	if (LIKELY(!mp->bad && mp->p < mp->end)) {
		unsigned char c = *mp->p;
		size_t left = mp_left(mp);

		if (c < 0x80) {
			mp->p++;
			return c;
		}
		/* 0xcc..0xcf: uint 8, 16, 32, 64 */
		if (c >= 0xcc && c <= 0xcf) {
			unsigned size = 1u << (c - 0xcc);

			if (LIKELY(left > size)) {
				uint64_t value = mp_load_be(mp->p + 1, size);

				mp->p += 1 + size;
				return value;
			}
		}
	}
	return mp_uint_slow(mp);
}

/* mp_uint with an upper bound; more is damage. */
static inline uint32_t mp_uint_max(struct mp *mp, uint32_t max)
{
	uint64_t value = mp_uint(mp);

	if (UNLIKELY(value > max)) {
		mp_fail(mp);
		return 0;
	}
	return (uint32_t)value;
}

static inline uint32_t mp_u32(struct mp *mp)
{
	return mp_uint_max(mp, UINT32_MAX);
}

int64_t mp_int(struct mp *mp);
/* Nil reads as false. */
bool mp_bool(struct mp *mp);

struct span mp_bytes_slow(struct mp *mp);

/* A str or bin; SPAN_NONE for nil. */
static inline struct span mp_bytes(struct mp *mp)
{
	if (LIKELY(!mp->bad && mp->p < mp->end)) {
		unsigned char c = *mp->p;
		size_t len = c & 0x1f;

		if ((c & 0xe0) == 0xa0 && LIKELY(mp_left(mp) > len)) {
			struct span s = span_of(mp->p + 1, len);

			mp->p += 1 + len;
			return s;
		}
		if (c == 0xc0) {
			mp->p++;
			return SPAN_NONE;
		}
	}
	return mp_bytes_slow(mp);
}

uint32_t mp_array_slow(struct mp *mp);

/* Number of elements that follow; nil reads as an empty array. */
static inline uint32_t mp_array(struct mp *mp)
{
	if (LIKELY(!mp->bad && mp->p < mp->end && (*mp->p & 0xf0) == 0x90)) {
		uint32_t count = *mp->p & 0x0f;

		if (LIKELY(mp_left(mp) > count)) {
			mp->p++;
			return count;
		}
	}
	return mp_array_slow(mp);
}

/* Number of pairs that follow; nil reads as an empty map. */
uint32_t mp_map(struct mp *mp);

#endif
