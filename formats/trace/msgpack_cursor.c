/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/msgpack_cursor.h"

/* Takes `size` bytes after the first byte, or fails. */
static const unsigned char *take_head(struct mp *mp, size_t size)
{
	const unsigned char *p = mp->p;

	if (mp_left(mp) <= size) {
		mp_fail(mp);
		return NULL;
	}
	mp->p += 1 + size;
	return p + 1;
}

static bool take_body(struct mp *mp, struct mp_object *out, enum mp_type type, uint64_t len)
{
	if (mp_left(mp) < len)
		return mp_fail(mp);
	out->type = type;
	out->bytes = span_of(mp->p, (size_t)len);
	mp->p += len;
	return true;
}

static bool take_count(struct mp *mp, struct mp_object *out, enum mp_type type, uint64_t count)
{
	/* A pair is two objects of a byte each at least. */
	if (count > mp_left(mp) / (type == MP_MAP ? 2 : 1))
		return mp_fail(mp);
	out->type = type;
	out->count = (uint32_t)count;
	return true;
}

static bool take_ext(struct mp *mp, struct mp_object *out, uint64_t len)
{
	if (mp_left(mp) < 1)
		return mp_fail(mp);
	out->ext_type = (int8_t)*mp->p++;
	return take_body(mp, out, MP_EXT, len);
}

static bool next_sized(struct mp *mp, struct mp_object *out, unsigned char c);

bool mp_next(struct mp *mp, struct mp_object *out)
{
	const unsigned char *start = mp->p;
	unsigned char c;
	bool ok;

	if (UNLIKELY(mp->bad || mp->p >= mp->end)) {
		out->type = MP_BAD;
		return mp_fail(mp);
	}
	c = *mp->p;
	if (c < 0x80) {
		mp->p++;
		out->type = MP_UINT;
		out->u = c;
		return true;
	}
	if (c >= 0xe0) {
		mp->p++;
		out->type = MP_INT;
		out->i = (int8_t)c;
		return true;
	}
	if (c < 0xc0) {
		mp->p++;
		if (c >= 0xa0)
			ok = take_body(mp, out, MP_STR, c & 0x1f);
		else
			ok = take_count(mp, out, c < 0x90 ? MP_MAP : MP_ARRAY, c & 0x0f);
	} else {
		ok = next_sized(mp, out, c);
	}
	if (UNLIKELY(!ok)) {
		mp->p = start;
		out->type = MP_BAD;
	}
	return ok;
}

/* The formats from 0xc0 to 0xdf. */
static bool next_sized(struct mp *mp, struct mp_object *out, unsigned char c)
{
	const unsigned char *head;
	unsigned size = 1u << (c & 3);
	uint64_t value;

	switch (c) {
	case 0xc0:
		/* Nil reads as nothing of any type. */
		mp->p++;
		memset(out, 0, sizeof(*out));
		out->type = MP_NIL;
		return true;
	case 0xc2:
	case 0xc3:
		mp->p++;
		out->type = MP_BOOL;
		out->b = c == 0xc3;
		return true;
	case 0xc4: /* bin 8, 16, 32 */
	case 0xc5:
	case 0xc6:
	case 0xd9: /* str 8, 16, 32 */
	case 0xda:
	case 0xdb:
		size = c < 0xd0 ? 1u << (c - 0xc4) : 1u << (c - 0xd9);
		head = take_head(mp, size);
		return head &&
			take_body(mp, out, c < 0xd0 ? MP_BIN : MP_STR, mp_load_be(head, size));
	case 0xc7: /* ext 8, 16, 32 */
	case 0xc8:
	case 0xc9:
		size = 1u << (c - 0xc7);
		head = take_head(mp, size);
		return head && take_ext(mp, out, mp_load_be(head, size));
	case 0xca:
		head = take_head(mp, 4);
		if (head) {
			uint32_t bits = (uint32_t)mp_load_be(head, 4);
			float f;

			memcpy(&f, &bits, 4);
			out->type = MP_FLOAT32;
			out->d = (double)f;
		}
		return head;
	case 0xcb:
		head = take_head(mp, 8);
		if (head) {
			uint64_t bits = mp_load_be(head, 8);

			memcpy(&out->d, &bits, 8);
			out->type = MP_FLOAT64;
		}
		return head;
	case 0xcc: /* uint 8, 16, 32, 64 */
	case 0xcd:
	case 0xce:
	case 0xcf:
		head = take_head(mp, size);
		if (head) {
			out->type = MP_UINT;
			out->u = mp_load_be(head, size);
		}
		return head;
	case 0xd0: /* int 8, 16, 32, 64 */
	case 0xd1:
	case 0xd2:
	case 0xd3:
		head = take_head(mp, size);
		if (!head)
			return false;
		value = mp_load_be(head, size);
		out->i = (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size);
		out->type = out->i < 0 ? MP_INT : MP_UINT;
		return true;
	case 0xd4: /* fixext 1, 2, 4, 8, 16 */
	case 0xd5:
	case 0xd6:
	case 0xd7:
	case 0xd8:
		mp->p++;
		return take_ext(mp, out, (uint64_t)1 << (c - 0xd4));
	case 0xdc: /* array 16, 32 */
	case 0xdd:
		size = c == 0xdc ? 2 : 4;
		head = take_head(mp, size);
		return head && take_count(mp, out, MP_ARRAY, mp_load_be(head, size));
	case 0xde: /* map 16, 32 */
	case 0xdf:
		size = c == 0xde ? 2 : 4;
		head = take_head(mp, size);
		return head && take_count(mp, out, MP_MAP, mp_load_be(head, size));
	}
	return mp_fail(mp); /* 0xc1 is never used */
}

enum mp_type mp_peek(const struct mp *mp)
{
	unsigned char c;

	if (mp->bad || mp->p >= mp->end)
		return MP_BAD;
	c = *mp->p;
	if (c < 0x80)
		return MP_UINT;
	if (c < 0x90)
		return MP_MAP;
	if (c < 0xa0)
		return MP_ARRAY;
	if (c < 0xc0)
		return MP_STR;
	if (c >= 0xe0)
		return MP_INT;
	switch (c) {
	case 0xc0:
		return MP_NIL;
	case 0xc1:
		return MP_BAD;
	case 0xc2:
	case 0xc3:
		return MP_BOOL;
	case 0xc4:
	case 0xc5:
	case 0xc6:
		return MP_BIN;
	case 0xca:
		return MP_FLOAT32;
	case 0xcb:
		return MP_FLOAT64;
	case 0xcc:
	case 0xcd:
	case 0xce:
	case 0xcf:
		return MP_UINT;
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return MP_INT;
	case 0xd9:
	case 0xda:
	case 0xdb:
		return MP_STR;
	case 0xdc:
	case 0xdd:
		return MP_ARRAY;
	case 0xde:
	case 0xdf:
		return MP_MAP;
	}
	return MP_EXT; /* 0xc7..0xc9, 0xd4..0xd8 */
}

/* The size of an object by its first byte, where that says it all; 0 where it does not. */
#define SIZE_16(n) n, n, n, n, n, n, n, n, n, n, n, n, n, n, n, n
static const unsigned char whole_size[256] = {
	/* 0x00 */ SIZE_16(1), SIZE_16(1), SIZE_16(1), SIZE_16(1),
	/* 0x40 */ SIZE_16(1), SIZE_16(1), SIZE_16(1), SIZE_16(1),
	/* 0x80 */ SIZE_16(0), SIZE_16(0), /* maps and arrays */
	/* 0xa0 */ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
	/* 0xb0 */ 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
	/* 0xc0 */ 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 5, 9, 2, 3, 5, 9,
	/* 0xd0 */ 2, 3, 5, 9, 3, 4, 6, 10, 18, 0, 0, 0, 0, 0, 0, 0,
	/* 0xe0 */ SIZE_16(1), SIZE_16(1)};

bool mp_skip(struct mp *mp)
{
	const unsigned char *start = mp->p, *end = mp->end, *p = mp->p;
	uint64_t open = 1; /* objects still to step over */

	if (mp->bad)
		return false;
	while (open) {
		struct mp_object object;
		size_t size = p < end ? whole_size[*p] : 0;

		if (LIKELY(size && size <= (size_t)(end - p))) {
			p += size;
			open--;
			continue;
		}
		if (p < end && (*p & 0xf0) == 0x90) {
			object.type = MP_ARRAY;
			object.count = *p++ & 0x0f;
		} else {
			mp->p = p;
			if (!mp_next(mp, &object)) {
				mp->p = start;
				return false;
			}
			p = mp->p;
		}
		open--;
		if (object.type == MP_ARRAY)
			open += object.count;
		else if (object.type == MP_MAP)
			open += 2 * (uint64_t)object.count;
		/* Each object still open needs a byte. */
		if (open > (size_t)(end - p)) {
			mp->p = start;
			return mp_fail(mp);
		}
	}
	mp->p = p;
	return true;
}

struct span mp_raw_slow(struct mp *mp)
{
	const unsigned char *start = mp->p;

	if (!mp_skip(mp))
		return SPAN_NONE;
	return span_of(start, (size_t)(mp->p - start));
}

/* The typed readers: an object of another type is damage, and the cursor stays before it. */
static bool next_of(struct mp *mp, struct mp_object *object, enum mp_type type, enum mp_type other)
{
	const unsigned char *start = mp->p;

	if (!mp_next(mp, object))
		return false;
	if (object->type == type || object->type == other || object->type == MP_NIL)
		return true;
	mp->p = start;
	return mp_fail(mp);
}

uint64_t mp_uint_slow(struct mp *mp)
{
	struct mp_object object;

	return next_of(mp, &object, MP_UINT, MP_UINT) ? object.u : 0;
}

int64_t mp_int(struct mp *mp)
{
	struct mp_object object;

	if (!next_of(mp, &object, MP_UINT, MP_INT))
		return 0;
	if (object.type == MP_UINT && object.u > INT64_MAX) {
		mp_fail(mp);
		return 0;
	}
	return object.i;
}

bool mp_bool(struct mp *mp)
{
	struct mp_object object;

	return next_of(mp, &object, MP_BOOL, MP_BOOL) && object.b;
}

struct span mp_bytes_slow(struct mp *mp)
{
	struct mp_object object;

	return next_of(mp, &object, MP_STR, MP_BIN) ? object.bytes : SPAN_NONE;
}

uint32_t mp_array_slow(struct mp *mp)
{
	struct mp_object object;

	return next_of(mp, &object, MP_ARRAY, MP_ARRAY) ? object.count : 0;
}

uint32_t mp_map(struct mp *mp)
{
	struct mp_object object;

	return next_of(mp, &object, MP_MAP, MP_MAP) ? object.count : 0;
}
