/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A growable byte string.  data is NUL-terminated once anything was appended, so it prints; the NUL
 * is not counted in len.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/span.h"

struct buf {
	char *data;
	size_t len, capacity;
};

#define BUF_INIT ((struct buf){NULL, 0, 0})

/* Used through buf_reserve. */
char *buf_grow(struct buf *buf, size_t more);
void buf_add_str(struct buf *buf, const char *s);
void buf_add_char(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *buf, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
void buf_release(struct buf *buf); /* frees; the buf is empty and usable */

/* Room for `more` bytes (and the NUL) after len; returns where they go. */
static inline char *buf_reserve(struct buf *buf, size_t more)
{
	if (UNLIKELY(buf->capacity - buf->len <= more))
		return buf_grow(buf, more);
	return buf->data + buf->len;
}

static inline void buf_add(struct buf *buf, const void *ptr, size_t len)
{
	char *to = buf_reserve(buf, len);

	if (len)
		memcpy(to, ptr, len);
	to[len] = '\0';
	buf->len += len;
}

static inline void buf_add_span(struct buf *buf, struct span s)
{
	buf_add(buf, s.ptr, s.len);
}

/* Forgets the bytes, keeps the memory. */
static inline void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

static inline struct span buf_span(const struct buf *buf)
{
	return span_of(buf->data ? buf->data : "", buf->len);
}

#endif
