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

/* Room for `more` bytes (and the NUL) behind len; returns where they go. */
char *buf_reserve(struct buf *buf, size_t more);
void buf_add(struct buf *buf, const void *ptr, size_t len);
void buf_add_span(struct buf *buf, struct span s);
void buf_add_str(struct buf *buf, const char *s);
void buf_add_char(struct buf *buf, char c);
void buf_printf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_vprintf(struct buf *buf, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
void buf_clear(struct buf *buf);   /* forgets the bytes, keeps the memory */
void buf_release(struct buf *buf); /* frees; the buf is empty and usable */

static inline struct span buf_span(const struct buf *buf)
{
	return span_of(buf->data ? buf->data : "", buf->len);
}

#endif
