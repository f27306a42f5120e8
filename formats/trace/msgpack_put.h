/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing msgpack to room that is there: the counterpart of msgpack_cursor.h for what the recorder
 * packs with every statement.  Each function writes the shortest form, the bytes that msgpack-c
 * writes, and returns where it stopped; the caller has reserved what it writes at most.
 *
 * A packer of msgpack-c writes through a function pointer, byte by byte and piece by piece; a
 * record has some thirty fields, most of them one byte.
 */
#ifndef TRACE_MSGPACK_PUT_H
#define TRACE_MSGPACK_PUT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"

enum {
	MP_PUT_NUMBER_MAX = 9, /* an integer or a float */
	MP_PUT_HEAD_MAX = 6,   /* of a string, an array, a map, an extension */
};

ALWAYS_INLINE char *mp_put_byte(char *p, unsigned byte)
{
	*p = (char)byte;
	return p + 1;
}

ALWAYS_INLINE char *mp_put_be16(char *p, uint16_t value)
{
	value = __builtin_bswap16(value);
	memcpy(p, &value, 2);
	return p + 2;
}

ALWAYS_INLINE char *mp_put_be32(char *p, uint32_t value)
{
	value = __builtin_bswap32(value);
	memcpy(p, &value, 4);
	return p + 4;
}

ALWAYS_INLINE char *mp_put_be64(char *p, uint64_t value)
{
	value = __builtin_bswap64(value);
	memcpy(p, &value, 8);
	return p + 8;
}

ALWAYS_INLINE char *mp_put_nil(char *p)
{
	return mp_put_byte(p, 0xc0);
}

ALWAYS_INLINE char *mp_put_bool(char *p, bool value)
{
	return mp_put_byte(p, 0xc2u + value);
}

ALWAYS_INLINE char *mp_put_uint(char *p, uint64_t value)
{
	if (LIKELY(value < 0x80))
		return mp_put_byte(p, (unsigned)value);
	if (value > UINT32_MAX)
		return mp_put_be64(mp_put_byte(p, 0xcf), value);
	if (value > UINT16_MAX)
		return mp_put_be32(mp_put_byte(p, 0xce), (uint32_t)value);
	if (value > UINT8_MAX)
		return mp_put_be16(mp_put_byte(p, 0xcd), (uint16_t)value);
	return mp_put_byte(mp_put_byte(p, 0xcc), (unsigned)value);
}

static inline char *mp_put_int(char *p, int64_t value)
{
	if (value >= 0)
		return mp_put_uint(p, (uint64_t)value);
	if (value >= -32)
		return mp_put_byte(p, (unsigned)(value & 0xff));
	if (value < INT32_MIN)
		return mp_put_be64(mp_put_byte(p, 0xd3), (uint64_t)value);
	if (value < INT16_MIN)
		return mp_put_be32(mp_put_byte(p, 0xd2), (uint32_t)value);
	if (value < INT8_MIN)
		return mp_put_be16(mp_put_byte(p, 0xd1), (uint16_t)value);
	return mp_put_byte(mp_put_byte(p, 0xd0), (unsigned)(value & 0xff));
}

/* A length of 8, 16 or 32 bits after its byte: first8, and the next two byte values. */
ALWAYS_INLINE char *mp_put_length(char *p, unsigned first8, uint32_t len)
{
	if (LIKELY(len <= UINT8_MAX))
		return mp_put_byte(mp_put_byte(p, first8), len);
	if (len <= UINT16_MAX)
		return mp_put_be16(mp_put_byte(p, first8 + 1), (uint16_t)len);
	return mp_put_be32(mp_put_byte(p, first8 + 2), len);
}

ALWAYS_INLINE char *mp_put_str_head(char *p, uint32_t len)
{
	return LIKELY(len < 32) ? mp_put_byte(p, 0xa0u | len) : mp_put_length(p, 0xd9, len);
}

ALWAYS_INLINE char *mp_put_bin_head(char *p, uint32_t len)
{
	return mp_put_length(p, 0xc4, len);
}

static inline char *mp_put_ext_head(char *p, int8_t type, uint32_t len)
{
	switch (len) {
	case 1:
	case 2:
	case 4:
	case 8:
	case 16:
		p = mp_put_byte(p, 0xd4u + (unsigned)__builtin_ctz(len));
		break;
	default:
		p = mp_put_length(p, 0xc7, len);
	}
	return mp_put_byte(p, (uint8_t)type);
}

ALWAYS_INLINE char *mp_put_array_head(char *p, uint32_t count)
{
	if (LIKELY(count < 16))
		return mp_put_byte(p, 0x90u | count);
	if (count <= UINT16_MAX)
		return mp_put_be16(mp_put_byte(p, 0xdc), (uint16_t)count);
	return mp_put_be32(mp_put_byte(p, 0xdd), count);
}

static inline char *mp_put_float(char *p, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, 4);
	return mp_put_be32(mp_put_byte(p, 0xca), bits);
}

static inline char *mp_put_double(char *p, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	return mp_put_be64(mp_put_byte(p, 0xcb), bits);
}

/* The bytes of a string, an extension, an object encoded before. */
ALWAYS_INLINE char *mp_put_bytes(char *p, const void *bytes, size_t len)
{
	memcpy(p, bytes, len);
	return p + len;
}

/* The same for one value among many.  Where the compiler knows that a length is small it makes of
 * memcpy an instruction that copies strings, which takes longer to begin than 100 bytes take. */
ALWAYS_INLINE char *mp_put_short(char *p, const void *bytes, size_t len)
{
	const char *from = bytes;
	size_t i = 0;

	if (len >= 16) {
		for (; i + 16 < len; i += 16)
			memcpy(p + i, from + i, 16);
		memcpy(p + len - 16, from + len - 16, 16);
	} else if (len >= 8) {
		memcpy(p, from, 8);
		memcpy(p + len - 8, from + len - 8, 8);
	} else if (len >= 4) {
		memcpy(p, from, 4);
		memcpy(p + len - 4, from + len - 4, 4);
	} else {
		for (; i < len; i++)
			p[i] = from[i];
	}
	return p + len;
}

#endif
