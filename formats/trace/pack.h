/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing msgpack into a struct buf.  What is packed often is written directly (msgpack_put.h); the
 * rest of msgpack-c's packer works on the same buf.
 *
 *	msgpack_packer pk = pack_into(&buf);
 *	pack_array(&pk, 2);  pack_uint(&pk, 7);  pack_str(&pk, SPAN_LIT("x"));
 */
#ifndef TRACE_PACK_H
#define TRACE_PACK_H

/* Include order matters to msgpack-c: this header alone, not <msgpack.h>, which pulls in more. */
#include <msgpack/pack.h>

#include "base/buf.h"
#include "base/span.h"
#include "trace/msgpack_put.h"

/* In line by force: then the sizes are constants, and a small number costs a store. */
__attribute__((always_inline)) static inline int pack_write(
	void *data, const char *bytes, size_t len)
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

/* Where at most `len` bytes may be written; pack_to then says where they end. */
ALWAYS_INLINE char *pack_room(msgpack_packer *pk, size_t len)
{
	struct buf *buf = (struct buf *)pk->data;

	if (UNLIKELY(buf->capacity - buf->len <= len))
		return buf_reserve(buf, len);
	return buf->data + buf->len;
}

ALWAYS_INLINE void pack_to(msgpack_packer *pk, const char *end)
{
	struct buf *buf = (struct buf *)pk->data;

	buf->len = (size_t)(end - buf->data);
}

static inline void pack_nil(msgpack_packer *pk)
{
	pack_to(pk, mp_put_nil(pack_room(pk, 1)));
}

static inline void pack_uint(msgpack_packer *pk, uint64_t value)
{
	pack_to(pk, mp_put_uint(pack_room(pk, MP_PUT_NUMBER_MAX), value));
}

static inline void pack_int(msgpack_packer *pk, int64_t value)
{
	pack_to(pk, mp_put_int(pack_room(pk, MP_PUT_NUMBER_MAX), value));
}

static inline void pack_float(msgpack_packer *pk, float value)
{
	pack_to(pk, mp_put_float(pack_room(pk, MP_PUT_NUMBER_MAX), value));
}

static inline void pack_double(msgpack_packer *pk, double value)
{
	pack_to(pk, mp_put_double(pack_room(pk, MP_PUT_NUMBER_MAX), value));
}

static inline void pack_bool(msgpack_packer *pk, bool value)
{
	pack_to(pk, mp_put_bool(pack_room(pk, 1), value));
}

static inline void pack_array(msgpack_packer *pk, size_t count)
{
	pack_to(pk, mp_put_array_head(pack_room(pk, MP_PUT_HEAD_MAX), (uint32_t)count));
}

/* An array whose count is not known yet.  Its head begins at the buf's end; pack_array_close() with that
 * place fills the count in. */
static inline void pack_array_open(struct buf *buf)
{
	buf_add(buf, "\xdd\0\0\0\0", 5);
}

static inline void pack_array_close(struct buf *buf, size_t head, uint32_t count)
{
	(void)mp_put_be32(buf->data + head + 1, count);
}

/* nil for SPAN_NONE. */
static inline void pack_str(msgpack_packer *pk, struct span s)
{
	char *p = pack_room(pk, MP_PUT_HEAD_MAX + s.len);

	if (!s.ptr)
		p = mp_put_nil(p);
	else
		p = mp_put_bytes(mp_put_str_head(p, (uint32_t)s.len), s.ptr, s.len);
	pack_to(pk, p);
}

static inline void pack_bin(msgpack_packer *pk, struct span s)
{
	char *p = pack_room(pk, MP_PUT_HEAD_MAX + s.len);

	if (!s.ptr)
		p = mp_put_nil(p);
	else
		p = mp_put_bytes(mp_put_bin_head(p, (uint32_t)s.len), s.ptr, s.len);
	pack_to(pk, p);
}

static inline void pack_ext(msgpack_packer *pk, int8_t type, struct span s)
{
	char *p = mp_put_ext_head(pack_room(pk, MP_PUT_HEAD_MAX + s.len), type, (uint32_t)s.len);

	pack_to(pk, mp_put_bytes(p, s.ptr, s.len));
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
