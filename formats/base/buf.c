/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"

char *buf_grow(struct buf *buf, size_t more)
{
	CHECK(more < SIZE_MAX / 4 && buf->len < SIZE_MAX / 4);
	MEM_RESERVE(buf->data, buf->len + more + 1, buf->capacity);
	return buf->data + buf->len;
}

void buf_add_str(struct buf *buf, const char *s)
{
	buf_add(buf, s, strlen(s));
}

void buf_add_char(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_vprintf(struct buf *buf, const char *fmt, va_list ap)
{
	va_list again;
	size_t room;
	int len;

	/* Most texts are short: one pass does, where there is room. */
	buf_reserve(buf, 64);
	room = buf->capacity - buf->len;
	va_copy(again, ap);
	len = vsnprintf(buf->data + buf->len, room, fmt, again);
	va_end(again);
	CHECK(len >= 0);
	if ((size_t)len >= room)
		vsnprintf(buf_reserve(buf, (size_t)len), (size_t)len + 1, fmt, ap);
	buf->len += (size_t)len;
}

void buf_printf(struct buf *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(buf, fmt, ap);
	va_end(ap);
}

void buf_release(struct buf *buf)
{
	mem_free(buf->data);
	*buf = BUF_INIT;
}
