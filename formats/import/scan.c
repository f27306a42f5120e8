/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/scan.h"

#include <stdarg.h>
#include <stdio.h>

#include "import/window.h"

#define B (SCAN_BLANK | SCAN_DELIMITER)
#define D SCAN_DELIMITER
#define N SCAN_DIGIT
const unsigned char scan_classes[256] = {
	[0] = D,
	[' '] = B,
	['\t'] = B,
	['\n'] = B,
	['\r'] = B,
	['\f'] = B,
	[','] = B,
	['('] = D,
	[')'] = D,
	['['] = D,
	[']'] = D,
	['{'] = D,
	['}'] = D,
	['"'] = D,
	[';'] = D,
	['0'] = N,
	['1'] = N,
	['2'] = N,
	['3'] = N,
	['4'] = N,
	['5'] = N,
	['6'] = N,
	['7'] = N,
	['8'] = N,
	['9'] = N,
};
#undef B
#undef D
#undef N

const char *scan_fail(struct scan *s, const char *at, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(s->err, ERR_FORMAT, "%s", text);
	s->bad = at;
	return NULL;
}

const char *scan_end(struct scan *s, const char *at)
{
	if (!s->eof) {
		s->more = true;
		return NULL;
	}
	return scan_fail(s, at, "the input ends inside a record");
}

const char *scan_expected(struct scan *s, const char *at, const char *what)
{
	int len = 0;

	/* Half a word at the end of the window is no reason to complain. */
	if (at == s->end || (!s->eof && s->end - at < 20))
		return scan_end(s, at);
	while (len < 20 && at + len < s->end && at[len] >= ' ' && at[len] <= '~')
		len++;
	if (len == 0)
		return scan_fail(s, at, "expected %s, found byte 0x%02x", what, (unsigned char)*at);
	return scan_fail(s, at, "expected %s, found `%.*s'", what, len, at);
}

/* The brackets are matched on a stack of our own: input must not choose our stack depth. */
const char *scan_skip(struct scan *s, const char *p)
{
	char open[SCAN_DEPTH_MAX];
	int depth = 0;
	struct span ignored;

	for (;;) {
		p = scan_blank(s, p);
		if (!p)
			return NULL;
		switch (*p) {
		case '[':
		case '(':
		case '{':
			if (depth == SCAN_DEPTH_MAX)
				return scan_fail(
					s, p, "brackets nest deeper than %d", SCAN_DEPTH_MAX);
			open[depth++] = *p == '[' ? ']' : *p == '(' ? ')' : '}';
			p++;
			continue;
		case ']':
		case ')':
		case '}':
			if (depth == 0 || open[depth - 1] != *p)
				return scan_fail(s, p, "`%c' closes nothing that is open", *p);
			depth--;
			p++;
			break;
		case '"':
			p = scan_string(s, p, &ignored);
			break;
		default:
			p = scan_token(s, p, &ignored);
			break;
		}
		if (!p || depth == 0)
			return p;
	}
}

const char *scan_blank_slow(struct scan *s, const char *p)
{
	for (;;) {
		if (scan_is(*p, SCAN_BLANK) || (s->json && *p == ':')) {
			p++;
		} else if (*p == ';' && !s->json) {
			while (*p != '\n' && p != s->end)
				p++;
			if (p == s->end && !s->eof)
				return scan_end(s, p);
		} else if (*p == '#' && !s->json) {
			if (p + 1 == s->end)
				return scan_end(s, p);
			if (p[1] == '_') { /* discards the next form, in which another may stand */
				if (s->discards == SCAN_DEPTH_MAX)
					return scan_fail(s, p, "`#_' nests deeper than %d",
						SCAN_DEPTH_MAX);
				s->discards++;
				p = scan_skip(s, p + 2);
				s->discards--;
				if (!p)
					return NULL;
				continue;
			}
			if (p[1] == '{') /* a set reads as a map does: a bracketed form */
				return p + 1;
			p++;
			while (!scan_is(*p, SCAN_DELIMITER)) /* a tag: its form follows */
				p++;
			if (p == s->end)
				return scan_end(s, p);
		} else {
			return p;
		}
	}
}

const char *scan_string(struct scan *s, const char *p, struct span *out)
{
	const char *start = p + 1;

	if (*p != '"')
		return scan_expected(s, p, "a string");
	for (p++; *p != '"'; p++) {
		if (p == s->end)
			return scan_end(s, p);
		if (*p == '\\') {
			p++;
			if (p == s->end)
				return scan_end(s, p);
		}
	}
	*out = span_of(start, (size_t)(p - start));
	return p + 1;
}

const char *scan_token(struct scan *s, const char *p, struct span *out)
{
	const char *start = p;

	while (!scan_is(*p, SCAN_DELIMITER) && !(s->json && *p == ':'))
		p++;
	if (p == s->end && !s->eof)
		return scan_end(s, p);
	if (p == start)
		return scan_expected(s, p, "a value");
	*out = span_of(start, (size_t)(p - start));
	return p;
}

const char *scan_name(struct scan *s, const char *p, struct span *out)
{
	if (*p == '"')
		return scan_string(s, p, out);
	p = scan_token(s, p, out);
	if (p && !s->json && out->ptr[0] == ':') {
		out->ptr++;
		out->len--;
	}
	return p;
}

static const char *number(struct scan *s, const char *p, uint64_t *magnitude, bool *negative)
{
	const char *start = p;
	bool quoted = *p == '"';
	uint64_t x = 0;

	p += quoted;
	*negative = *p == '-';
	p += *p == '-' || *p == '+';
	if (p == s->end)
		return scan_end(s, p);
	if (!scan_is(*p, SCAN_DIGIT))
		return scan_expected(s, start, "an integer");
	for (; scan_is(*p, SCAN_DIGIT); p++) {
		if (__builtin_mul_overflow(x, (uint64_t)10, &x) ||
			__builtin_add_overflow(x, (uint64_t)(*p - '0'), &x))
			return scan_fail(s, start, "an integer beyond 64 bits");
	}
	if (*p == 'N' && !s->json) /* arbitrary precision, in EDN */
		p++;
	if (p == s->end && !s->eof)
		return scan_end(s, p);
	if (quoted ? *p != '"' : !scan_is(*p, SCAN_DELIMITER))
		return scan_expected(s, start, "an integer");
	*magnitude = x;
	return p + quoted;
}

const char *scan_int(struct scan *s, const char *p, int64_t *out)
{
	uint64_t x;
	bool negative;
	const char *q = number(s, p, &x, &negative);

	if (!q)
		return NULL;
	if (x > (uint64_t)INT64_MAX)
		return scan_fail(s, p, "an integer beyond 64 bits");
	*out = negative ? -(int64_t)x : (int64_t)x;
	return q;
}

const char *scan_uint(struct scan *s, const char *p, uint64_t *out)
{
	bool negative;
	const char *q = number(s, p, out, &negative);

	if (q && negative && *out != 0)
		return scan_fail(s, p, "a negative number where none can stand");
	return q;
}

const char *scan_open(struct scan *s, const char *p, char open, const char *what)
{
	p = scan_blank(s, p);
	if (!p)
		return NULL;
	if (*p == open || (open == '[' && *p == '(' && !s->json))
		return p + 1;
	return scan_expected(s, p, what);
}

bool scan_close(struct scan *s, const char **p)
{
	const char *q = scan_blank(s, *p);

	if (q && q == s->end)
		q = scan_end(s, q);
	*p = q;
	if (!q)
		return false;
	if (*q == ']' || *q == ')' || *q == '}') {
		*p = q + 1;
		return true;
	}
	return false;
}

bool scan_is_nil(const struct scan *s, const char *p)
{
	const char *word = s->json ? "null" : "nil";
	size_t len = s->json ? 4 : 3;

	return (size_t)(s->end - p) > len && memcmp(p, word, len) == 0 &&
	       scan_is(p[len], SCAN_DELIMITER);
}

/* The end of the input, with or without its closing bracket. */
static bool at_end(struct scan *s, struct window *in, const char *p, bool open, struct err *err)
{
	if (!open && p == s->end)
		return true;
	if (p == s->end)
		err_set(err, ERR_FORMAT, "the input ends before its closing bracket");
	else
		err_set(err, ERR_FORMAT, "there is text after the closing bracket");
	return window_error(in, p, err);
}

bool scan_records(struct scan *s, struct window *in, bool enclosed, scan_record_fn *fn,
	void *context, struct err *err)
{
	bool first = true, open = false, closed = false;

	s->err = err;
	s->more = true;
	if (!window_skip_mark(in, err))
		return false;
	for (;;) {
		const char *p, *next;

		if (s->more && !in->eof && !window_more(in, err))
			return false;
		s->end = in->data + in->len;
		s->eof = in->eof;
		s->more = false;
		next = p = scan_blank(s, in->data + in->pos);
		if (p) {
			in->pos = (size_t)(p - in->data);
			if (p == s->end && !s->eof) {
				s->more = true;
				continue;
			}
			if (p == s->end || closed)
				return at_end(s, in, p, open, err);
			if (first && enclosed && (*p == '[' || (*p == '(' && !s->json))) {
				open = true;
				next = p + 1;
			} else if (open && (*p == ']' || *p == ')')) {
				open = false;
				closed = true;
				next = p + 1;
			} else {
				next = fn(context, p);
			}
		}
		if (!next && !s->more)
			return window_error(in, s->bad, err);
		if (next) {
			in->pos = (size_t)(next - in->data);
			first = false;
		}
	}
}
