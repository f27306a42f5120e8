/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/compress.h"

#include <zlib.h>
#include <zstd.h>

enum { COMPRESSED_HEAD_SIZE = 7 };

static bool expand(struct wire_inflate *inflate, struct span in)
{
	uLongf len = inflate->plain;
	size_t got;

	buf_clear(&inflate->out);
	buf_reserve(&inflate->out, inflate->plain);
	if (inflate->kind == COMPRESSION_ZSTD) {
		got = ZSTD_decompress(inflate->out.data, inflate->plain, in.ptr, in.len);
		if (ZSTD_isError(got) || got != inflate->plain)
			return false;
	} else {
		if (uncompress((Bytef *)inflate->out.data, &len, (const Bytef *)in.ptr,
			    (uLong)in.len) != Z_OK ||
			len != inflate->plain)
			return false;
	}
	inflate->out.len = inflate->plain;
	return true;
}

bool wire_inflate_next(
	struct wire_inflate *inflate, struct span *bytes, struct span *out, bool *bad)
{
	*bad = false;
	while (bytes->len) {
		size_t take;
		struct span in;

		if (inflate->head_len < COMPRESSED_HEAD_SIZE) {
			inflate->head[inflate->head_len++] = (unsigned char)*bytes->ptr++;
			bytes->len--;
			if (inflate->head_len < COMPRESSED_HEAD_SIZE)
				continue;
			inflate->stored = inflate->head[0] | (uint32_t)inflate->head[1] << 8 |
					  (uint32_t)inflate->head[2] << 16;
			inflate->plain = inflate->head[4] | (uint32_t)inflate->head[5] << 8 |
					 (uint32_t)inflate->head[6] << 16;
			if (inflate->in.capacity > WIRE_BUFFER_IDLE_MAX)
				buf_release(&inflate->in);
			buf_clear(&inflate->in);
			if (inflate->stored == 0) {
				inflate->head_len = 0;
				continue;
			}
			if (!bytes->len)
				return false;
		}
		take = inflate->stored - inflate->in.len;
		if (take > bytes->len)
			take = bytes->len;
		in = span_of(bytes->ptr, take);
		bytes->ptr += take;
		bytes->len -= take;
		if (take < inflate->stored) {
			buf_add_span(&inflate->in, in);
			if (inflate->in.len < inflate->stored)
				return false;
			in = buf_span(&inflate->in);
		}
		inflate->head_len = 0;
		if (inflate->plain == 0) {
			*out = in;
			return true;
		}
		if (!expand(inflate, in)) {
			*bad = true;
			return false;
		}
		*out = buf_span(&inflate->out);
		return true;
	}
	return false;
}

void wire_inflate_release(struct wire_inflate *inflate)
{
	buf_release(&inflate->in);
	buf_release(&inflate->out);
}
