/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/header.h"

#include "base/crc32c.h"
#include "trace/format.h"
#include "trace/msgpack_cursor.h"
#include "trace/pack.h"

/* The key and value of the first pair, which every header begins with. */
static const char first_pair[] = "\xa5magic\xa8" TRACE_MAGIC;
/* The key of the last pair; its value is a uint 32, always in the five-byte form. */
static const char crc_key[] = "\xa3"
			      "crc";
enum { CRC_KEY_SIZE = 4 };

void trace_header_pack(struct buf *out, const struct trace_header *header)
{
	size_t start = out->len;
	msgpack_packer pk = pack_into(out);
	uint32_t crc;
	unsigned char value[5];

	msgpack_pack_map(&pk, 10);
	pack_str(&pk, SPAN_LIT("magic"));
	pack_str(&pk, SPAN_LIT(TRACE_MAGIC));
	pack_str(&pk, SPAN_LIT("version"));
	pack_uint(&pk, header->version);
	pack_str(&pk, SPAN_LIT("recorder"));
	pack_str(&pk, header->recorder_ref);
	pack_str(&pk, SPAN_LIT("trace"));
	pack_bin(&pk, span_of(header->trace_id, sizeof(header->trace_id)));
	pack_str(&pk, SPAN_LIT("segment"));
	pack_uint(&pk, header->segment);
	pack_str(&pk, SPAN_LIT("marker"));
	pack_bin(&pk, span_of(header->marker, sizeof(header->marker)));
	pack_str(&pk, SPAN_LIT("mono_ns"));
	pack_uint(&pk, header->clock_mono_ns);
	pack_str(&pk, SPAN_LIT("wall_ns"));
	pack_uint(&pk, header->clock_wall_ns);
	pack_str(&pk, SPAN_LIT("facts"));
	pack_raw(&pk, header->facts_ref.ptr ? header->facts_ref : SPAN_LIT("\x80"));
	crc = crc32c(0, out->data + start, out->len - start);
	pack_str(&pk, SPAN_LIT("crc"));
	value[0] = 0xce;
	for (int i = 0; i < 4; i++)
		value[1 + i] = (unsigned char)(crc >> (24 - 8 * i));
	buf_add(out, value, sizeof(value));
}

/* Takes the map's head and the first pair.  The bytes may end anywhere. */
static enum header_result parse_start(struct mp *mp, uint32_t *pairs)
{
	size_t head = 1, need, have;
	unsigned char c;

	if (mp->p == mp->end)
		return HEADER_SHORT;
	c = *mp->p;
	if (c == 0xde)
		head = 3;
	else if (c == 0xdf)
		head = 5;
	else if ((c & 0xf0) != 0x80)
		return HEADER_NONE;
	have = mp_left(mp);
	if (have <= head)
		return HEADER_SHORT;
	need = sizeof(first_pair) - 1;
	if (memcmp(mp->p + head, first_pair, have - head < need ? have - head : need) != 0)
		return HEADER_NONE;
	if (have < head + need)
		return HEADER_SHORT;
	*pairs = head == 1 ? (uint32_t)(c & 0x0f)
			   : (uint32_t)mp_load_be(mp->p + 1, (unsigned)head - 1);
	mp->p += head + need;
	return HEADER_OK;
}

static bool take_16(struct mp *mp, unsigned char out[16])
{
	struct span s = mp_bytes(mp);

	if (mp->bad || s.len != 16)
		return mp_fail(mp);
	memcpy(out, s.ptr, 16);
	return true;
}

static void parse_pair(struct mp *mp, struct span key, struct trace_header *out)
{
	if (span_eq_str(key, "version"))
		out->version = mp_u32(mp);
	else if (span_eq_str(key, "recorder"))
		out->recorder_ref = mp_bytes(mp);
	else if (span_eq_str(key, "trace"))
		(void)take_16(mp, out->trace_id);
	else if (span_eq_str(key, "segment"))
		out->segment = mp_u32(mp);
	else if (span_eq_str(key, "marker"))
		(void)take_16(mp, out->marker);
	else if (span_eq_str(key, "mono_ns"))
		out->clock_mono_ns = mp_uint(mp);
	else if (span_eq_str(key, "wall_ns"))
		out->clock_wall_ns = mp_uint(mp);
	else if (span_eq_str(key, "facts"))
		out->facts_ref = mp_peek(mp) == MP_MAP ? mp_raw(mp) : (mp_skip(mp), SPAN_NONE);
	else
		(void)mp_skip(mp);
}

/* Steps over all pairs; HEADER_SHORT when the bytes end before the last. */
static enum header_result skip_pairs(
	struct mp mp, uint32_t pairs, struct span bytes, size_t *size, const char **cause)
{
	/* mp_skip cannot tell an end from damage, so damage is what room for the largest header
	 * does not mend. */
	for (uint32_t i = 0; i < 2 * (uint64_t)pairs - 2; i++) {
		if (mp_skip(&mp))
			continue;
		if (bytes.len < TRACE_HEADER_SIZE_MAX)
			return HEADER_SHORT;
		*cause = "the header is larger than any header may be";
		return HEADER_DAMAGED;
	}
	*size = (size_t)((const char *)mp.p - bytes.ptr);
	return HEADER_OK;
}

static bool crc_holds(struct span header)
{
	const size_t tail = CRC_KEY_SIZE + 5;
	const unsigned char *at = (const unsigned char *)header.ptr + header.len - tail;

	return header.len > tail && memcmp(at, crc_key, CRC_KEY_SIZE) == 0 &&
	       at[CRC_KEY_SIZE] == 0xce &&
	       mp_load_be(at + CRC_KEY_SIZE + 1, 4) == crc32c(0, header.ptr, header.len - tail);
}

enum header_result trace_header_parse(
	struct span bytes, struct trace_header *out, size_t *size, const char **cause)
{
	struct mp mp = mp_over(bytes);
	enum header_result result;
	uint32_t pairs = 0;

	memset(out, 0, sizeof(*out));
	*cause = "";
	result = parse_start(&mp, &pairs);
	if (result != HEADER_OK)
		return result;
	if (pairs < 2 || pairs > TRACE_HEADER_SIZE_MAX) {
		*cause = "the header's number of entries is impossible";
		return HEADER_DAMAGED;
	}
	result = skip_pairs(mp, pairs, bytes, size, cause);
	if (result != HEADER_OK)
		return result;
	if (!crc_holds(span_of(bytes.ptr, *size))) {
		*cause = "the header's checksum does not match";
		return HEADER_DAMAGED;
	}
	mp.end = (const unsigned char *)bytes.ptr + *size;
	for (uint32_t i = 1; i < pairs && !mp.bad; i++) {
		struct span key = mp_bytes(&mp);

		if (!mp.bad)
			parse_pair(&mp, key, out);
	}
	if (out->version > TRACE_VERSION)
		return HEADER_NEWER;
	if (mp.bad || out->version == 0 ||
		memcmp(out->marker, TRACE_MARKER_PREFIX, TRACE_MARKER_PREFIX_SIZE) != 0) {
		*cause = "the header lacks a field or has one of a wrong type";
		return HEADER_DAMAGED;
	}
	return HEADER_OK;
}
