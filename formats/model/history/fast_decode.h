/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading the records that a trace has millions of.  FAST_READ is made from the same field lists as
 * record_X_read, with two differences: it is inlined, so that fields that are not used cost no more
 * than stepping over them; and it knows only the common encodings.  Where it meets anything else
 * (fields missing or too many, the last bytes of a block, damage) it says false, and the caller
 * takes record_X_read from the beginning: that one alone decides what is sound.
 *
 * They are always inlined: only then does the compiler see which fields are used.  The readers
 * branch on the first byte rather than compute with it: in a given field it is nearly always the
 * same, so the processor guesses where the next field begins.
 */
#ifndef MODEL_HISTORY_FAST_DECODE_H
#define MODEL_HISTORY_FAST_DECODE_H

#include "trace/record.h"

enum { FAST_SLACK = 9 }; /* no integer is longer */

/* ---- fields of a record: the bytes of all numbers that may follow are known to be there ---- */

/* No record has more fields than this many, of FAST_SLACK bytes each; what is longer (strings,
 * nested objects) looks for so many bytes again after itself. */
enum { FAST_ROOM = 32 * FAST_SLACK };

ALWAYS_INLINE bool fast_has_room(const struct mp *mp)
{
	return LIKELY(mp->end - mp->p >= FAST_ROOM);
}

ALWAYS_INLINE bool field_u64(struct mp *mp, uint64_t *out)
{
	const unsigned char *p = mp->p;
	unsigned char c = *p;

	if (c < 0x80) {
		*out = c;
		mp->p = p + 1;
	} else if (c == 0xce) {
		*out = mp_load_be(p + 1, 4);
		mp->p = p + 5;
	} else if (c == 0xcd) {
		*out = mp_load_be(p + 1, 2);
		mp->p = p + 3;
	} else if (c == 0xcf) {
		*out = mp_load_be(p + 1, 8);
		mp->p = p + 9;
	} else if (c == 0xcc) {
		*out = p[1];
		mp->p = p + 2;
	} else {
		return false;
	}
	return true;
}

ALWAYS_INLINE bool field_u32(struct mp *mp, uint32_t *out)
{
	uint64_t value;

	if (!field_u64(mp, &value) || UNLIKELY(value > UINT32_MAX))
		return false;
	*out = (uint32_t)value;
	return true;
}

ALWAYS_INLINE bool field_u8(struct mp *mp, uint8_t *out)
{
	uint64_t value;

	if (!field_u64(mp, &value) || UNLIKELY(value > UINT8_MAX))
		return false;
	*out = (uint8_t)value;
	return true;
}

ALWAYS_INLINE bool field_flag(struct mp *mp, bool *out)
{
	if ((*mp->p & 0xfe) != 0xc2)
		return false;
	*out = *mp->p++ & 1;
	return true;
}

ALWAYS_INLINE bool field_str(struct mp *mp, struct span *out)
{
	const unsigned char *p = mp->p;
	size_t head, len;

	if (*p == 0xc0) {
		*out = SPAN_NONE;
		mp->p = p + 1;
		return true;
	}
	if ((*p & 0xe0) == 0xa0) {
		head = 1;
		len = *p & 0x1f;
	} else if (*p == 0xd9) {
		head = 2;
		len = p[1];
	} else if (*p == 0xda) {
		head = 3;
		len = mp_load_be(p + 1, 2);
	} else {
		return false;
	}
	if (UNLIKELY((size_t)(mp->end - p) < head + len + FAST_ROOM))
		return false;
	*out = span_of(p + head, len);
	mp->p = p + head + len;
	return true;
}

ALWAYS_INLINE bool field_raw(struct mp *mp, struct span *out)
{
	if (LIKELY(*mp->p == 0xc0)) {
		*out = SPAN_NONE;
		mp->p++;
		return true;
	}
	*out = mp_raw(mp);
	return !mp->bad && fast_has_room(mp);
}

/* ---- others, wherever they stand ---- */

ALWAYS_INLINE bool lean_u64(struct mp *mp, uint64_t *out)
{
	return LIKELY(mp->end - mp->p >= FAST_SLACK) && field_u64(mp, out);
}

ALWAYS_INLINE bool lean_u8(struct mp *mp, uint8_t *out)
{
	return LIKELY(mp->end - mp->p >= FAST_SLACK) && field_u8(mp, out);
}

ALWAYS_INLINE bool fast_raw(struct mp *mp, struct span *out)
{
	if (LIKELY(mp->p < mp->end && *mp->p == 0xc0)) {
		*out = SPAN_NONE;
		mp->p++;
		return true;
	}
	*out = mp_raw(mp);
	return !mp->bad;
}

/* A record's array head and kind. */
ALWAYS_INLINE bool fast_begin(struct mp *mp, uint32_t *kind, uint32_t *left)
{
	const unsigned char *p = mp->p;

	if (UNLIKELY(mp->end - p < FAST_SLACK))
		return false;
	if (*p == 0xdc) {
		*left = (uint32_t)mp_load_be(p + 1, 2) - 1;
		p += 3;
	} else {
		*left = (*p & 0x0fu) - 1;
		if ((*p++ & 0xf0) != 0x90)
			return false;
	}
	*kind = *p;
	mp->p = p + 1;
	/* Each field needs a byte; of an empty array `left` is larger than any block. */
	return *p < 0x80 && *left <= (size_t)(mp->end - mp->p);
}

/* Steps over one object; small integers, and arrays of them, without a call. */
ALWAYS_INLINE bool fast_skip(struct mp *mp)
{
	struct span ignored;
	uint64_t value;
	uint32_t count;

	if (UNLIKELY(mp->p >= mp->end))
		return false;
	if (lean_u64(mp, &value))
		return true;
	if ((*mp->p & 0xf0) != 0x90)
		return fast_raw(mp, &ignored);
	count = *mp->p++ & 0x0f;
	while (count--) {
		if (!lean_u64(mp, &value) && !mp_skip(mp))
			return false;
	}
	return true;
}

/* A small array of integers, most likely: a row's image. */
ALWAYS_INLINE bool fast_image(struct mp *mp, struct span *out)
{
	const unsigned char *start = mp->p;

	if (UNLIKELY(start >= mp->end) || *start == 0xc0)
		return fast_raw(mp, out);
	if (!fast_skip(mp))
		return false;
	*out = span_of(start, (size_t)(mp->p - start));
	return true;
}

/* One encoded value; SPAN_NONE for nil. */
ALWAYS_INLINE bool fast_value(struct mp *mp, struct span *out)
{
	const unsigned char *p = mp->p;
	size_t size;

	if (UNLIKELY(mp->end - p < FAST_SLACK))
		return false;
	if (*p == 0xce) {
		size = 5;
	} else if (*p < 0x80) {
		size = 1;
	} else if (*p == 0xcd) {
		size = 3;
	} else if (*p == 0xc0) {
		*out = SPAN_NONE;
		mp->p++;
		return true;
	} else if (*p == 0xcc) {
		size = 2;
	} else {
		*out = mp_raw(mp);
		return !mp->bad;
	}
	*out = span_of(p, size);
	mp->p = p + size;
	return true;
}

/* As probe_row_read. */
ALWAYS_INLINE bool fast_row(struct mp *mp, struct probe_row *row)
{
	uint32_t count;

	row->image = row->old_key = row->old_image = row->previous = SPAN_NONE;
	row->has_previous = false;
	row->op = PROBE_OP_NONE;
	if (UNLIKELY(mp->p >= mp->end) || *mp->p < 0x92 || *mp->p > 0x97)
		return false;
	count = *mp->p++ & 0x0f;
	if (!fast_value(mp, &row->key) || !fast_value(mp, &row->version))
		return false;
	if (count > 2) {
		if (LIKELY(mp->p < mp->end) && *mp->p == 0xc2) {
			mp->p++;
		} else {
			row->has_previous = true;
			if (!fast_value(mp, &row->previous))
				return false;
		}
	}
	if (count > 3 && !fast_image(mp, &row->image))
		return false;
	if (count > 4) {
		uint8_t op;

		if (!lean_u8(mp, &op) || op > PROBE_OP_DELETE)
			return false;
		row->op = (enum probe_op)op;
	}
	if (count > 5 && !fast_value(mp, &row->old_key))
		return false;
	return count <= 6 || fast_image(mp, &row->old_image);
}

#define FAST_COUNT(type, name) +1
#define FAST_FIELD(type, name)                                                                     \
	if (!field_##type(&fast_mp, &fast_record->name))                                           \
		break;
/* bool ok = FAST_READ(...): mp goes past the record only when ok. */
#define FAST_READ(upper, mp, left, record, ok)                                                     \
	do {                                                                                       \
		struct mp fast_mp = *(mp);                                                         \
		__typeof__(record) fast_record = (record);                                         \
                                                                                                   \
		(ok) = false;                                                                      \
		_Static_assert(0 RECORD_##upper##_FIELDS(FAST_COUNT) <= FAST_ROOM / FAST_SLACK,    \
			"FAST_ROOM is enough");                                                    \
		if ((left) != 0 RECORD_##upper##_FIELDS(FAST_COUNT) || !fast_has_room(&fast_mp))   \
			break;                                                                     \
		RECORD_##upper##_FIELDS(FAST_FIELD) * (mp) = fast_mp;                              \
		(ok) = true;                                                                       \
	} while (0)

#endif
