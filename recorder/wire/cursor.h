/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounds-checked reader of protocol bytes.  Reading past the end sets `bad` and yields zeros; the
 * caller looks once, at the end.
 */
#ifndef WIRE_CURSOR_H
#define WIRE_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/span.h"

struct cursor {
	const unsigned char *p, *end;
	bool bad;
};

static inline struct cursor cursor_over(struct span s)
{
	const unsigned char *p = (const unsigned char *)(s.ptr ? s.ptr : "");

	return (struct cursor){p, p + s.len, false};
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

static inline struct span cursor_rest(const struct cursor *c)
{
	return span_of(c->p, cursor_left(c));
}

static inline struct span cursor_take(struct cursor *c, uint64_t len)
{
	struct span s;

	if (UNLIKELY(c->bad || len > cursor_left(c))) {
		c->bad = true;
		return span_of("", 0);
	}
	s = span_of(c->p, (size_t)len);
	c->p += len;
	return s;
}

/* Little-endian, 1 to 8 bytes. */
static inline uint64_t cursor_uint(struct cursor *c, unsigned len)
{
	uint64_t value = 0;

	if (UNLIKELY(c->bad || len > cursor_left(c))) {
		c->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < len; i++)
		value |= (uint64_t)c->p[i] << (8 * i);
	c->p += len;
	return value;
}

/* A length-encoded integer; 0xfb and 0xff are not one. */
static inline uint64_t cursor_lenenc(struct cursor *c)
{
	unsigned first = (unsigned)cursor_uint(c, 1);

	if (LIKELY(first < 0xfb))
		return first;
	if (first == 0xfc)
		return cursor_uint(c, 2);
	if (first == 0xfd)
		return cursor_uint(c, 3);
	if (first == 0xfe)
		return cursor_uint(c, 8);
	c->bad = true;
	return 0;
}

static inline struct span cursor_lenenc_str(struct cursor *c)
{
	uint64_t len = cursor_lenenc(c);

	return cursor_take(c, len);
}

/* Up to a NUL, which is eaten; up to the end where none follows. */
static inline struct span cursor_nul_str(struct cursor *c)
{
	const unsigned char *nul;
	struct span s;

	if (c->bad)
		return span_of("", 0);
	nul = (const unsigned char *)memchr(c->p, 0, cursor_left(c));
	if (!nul) {
		s = cursor_rest(c);
		c->p = c->end;
		return s;
	}
	s = span_of(c->p, (size_t)(nul - c->p));
	c->p = nul + 1;
	return s;
}

#endif
