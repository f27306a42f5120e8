/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A borrowed view of bytes.  It owns nothing, need not be UTF-8 and has no NUL at its end.  A span
 * is not kept beyond the call that got it unless its name ends in _ref and a comment names the
 * owner.  A NULL ptr means "no value" (SQL NULL, field absent); an empty string has a ptr.
 */
#ifndef BASE_SPAN_H
#define BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct span {
	const char *ptr;
	size_t len;
};

#define SPAN_NONE ((struct span){NULL, 0})
#define SPAN_LIT(s) ((struct span){"" s, sizeof(s) - 1})
/* For printf("%.*s", SPAN_ARG(s)). */
#define SPAN_ARG(s) (int)(s).len, (s).ptr

static inline struct span span_of(const void *ptr, size_t len)
{
	return (struct span){(const char *)ptr, len};
}

static inline struct span span_str(const char *s)
{
	return s ? (struct span){s, strlen(s)} : SPAN_NONE;
}

static inline bool span_eq(struct span a, struct span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool span_eq_str(struct span a, const char *s)
{
	return span_eq(a, span_str(s));
}

/* ASCII letters only, whatever the locale. */
static inline bool span_ieq(struct span a, struct span b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++) {
		unsigned char x = (unsigned char)a.ptr[i], y = (unsigned char)b.ptr[i];

		if (x >= 'A' && x <= 'Z')
			x = (unsigned char)(x + 32);
		if (y >= 'A' && y <= 'Z')
			y = (unsigned char)(y + 32);
		if (x != y)
			return false;
	}
	return true;
}

static inline bool span_ieq_str(struct span a, const char *s)
{
	return span_ieq(a, span_str(s));
}

static inline bool span_starts(struct span a, const char *head)
{
	size_t len = strlen(head);

	return a.len >= len && memcmp(a.ptr, head, len) == 0;
}

static inline bool span_istarts(struct span a, const char *head)
{
	size_t len = strlen(head);

	return a.len >= len && span_ieq(span_of(a.ptr, len), span_of(head, len));
}

static inline bool span_ihas(struct span a, const char *part)
{
	size_t len = strlen(part);

	for (size_t i = 0; i + len <= a.len; i++) {
		/* Few places begin like it; letters differ in one bit from the other case. */
		if ((len == 0 || ((a.ptr[i] ^ part[0]) & ~32) == 0) &&
			span_ieq(span_of(a.ptr + i, len), span_of(part, len)))
			return true;
	}
	return false;
}

/* Takes a line from the rest, without its end; false: no line end is left. */
static inline bool span_next_line(struct span *rest, struct span *line)
{
	const char *end = rest->len ? (const char *)memchr(rest->ptr, '\n', rest->len) : NULL;

	if (!end)
		return false;
	*line = span_of(rest->ptr, (size_t)(end - rest->ptr));
	*rest = span_of(end + 1, rest->len - line->len - 1);
	return true;
}

static inline int span_cmp(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int c = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return c ? c : (a.len > b.len) - (a.len < b.len);
}

#endif
