/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What MariaDB compresses: events (log_bin_compress) and columns (COMPRESSED).  Both begin with a
 * byte that says how, and how many bytes the length has.
 */
#include "binlog/binlog_internal.h"

#include <zlib.h>

enum {
	/* zlib's best ratio, so a forged length asks for no more than the bytes can hold. */
	RATIO_MAX = 1100,
	ROOM_MIN = 64,
};

static bool inflate_bytes(struct span in, uint64_t size, int window, struct buf *out)
{
	z_stream stream = {.zalloc = Z_NULL};
	bool good;

	if (size > BINLOG_EVENT_MAX || size > (uint64_t)in.len * RATIO_MAX + ROOM_MIN)
		return false;
	if (inflateInit2(&stream, window) != Z_OK)
		return false;
	stream.next_in = (Bytef *)(uintptr_t)in.ptr;
	stream.avail_in = (uInt)in.len;
	stream.next_out = (Bytef *)buf_reserve(out, (size_t)size);
	stream.avail_out = (uInt)size;
	good = inflate(&stream, Z_FINISH) == Z_STREAM_END && !stream.avail_out;
	(void)inflateEnd(&stream);
	if (good)
		out->len += (size_t)size;
	return good;
}

static uint64_t big_endian(struct cursor *c, unsigned len)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < len; i++)
		value = value << 8 | cursor_uint(c, 1);
	return value;
}

/* MariaDB: binlog_buf_compress(): 0x80, the algorithm in bits 4 to 6 (0: zlib), the bytes of the
 * length in the lowest three. */
bool inflate_event(struct binlog *b, struct span in, struct span *out)
{
	struct cursor c = cursor_over(in);
	unsigned how = (unsigned)cursor_uint(&c, 1), len = how & 7;
	uint64_t size = big_endian(&c, len);

	if (c.bad || (how & 0xf8) != 0x80 || !len || len > 4)
		return false;
	buf_clear(&b->inflated);
	if (!inflate_bytes(cursor_rest(&c), size, MAX_WBITS, &b->inflated))
		return false;
	*out = buf_span(&b->inflated);
	return true;
}

/* MariaDB, Field_longstr::compress(): 0 before plain bytes; else 8 (zlib) in the upper half, a bit
 * for a stream without zlib's head, and the bytes of the length in the lowest three. */
bool inflate_column(struct span in, struct buf *out)
{
	struct cursor c = cursor_over(in);
	unsigned how, len;
	uint64_t size;

	if (!in.len)
		return true;
	how = (unsigned)cursor_uint(&c, 1);
	if (!how) {
		buf_add_span(out, cursor_rest(&c));
		return true;
	}
	len = how & 7;
	size = big_endian(&c, len);
	if (c.bad || how >> 4 != 8 || !len || len > 4)
		return false;
	return inflate_bytes(cursor_rest(&c), size, how & 8 ? -MAX_WBITS : MAX_WBITS, out);
}
