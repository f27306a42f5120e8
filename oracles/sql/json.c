/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manual, "The JSON Data Type".  A text is read strictly (RFC 8259, as RapidJSON does) and
 * printed in MySQL's normal form.  Numbers beyond BIGINT or with many digits, and rare escapes, are
 * not told.
 */
#include "sql/json.h"

#include <math.h>
#include <string.h>

#include "sql/collation.h"
#include "sql/node.h"

enum { NESTING_MAX = 90, DIGITS_MAX = 15 };

struct member {
	struct span key, value; /* decoded; printed */
	uint32_t number;        /* as it was read */
	struct member *next;
};

struct reader {
	struct arena *arena;
	const char *at, *end;
	enum json_outcome outcome;
	unsigned depth;
};

static bool fail(struct reader *r, enum json_outcome why)
{
	/* What is invalid further on makes the whole invalid, whatever is unsure here. */
	if (r->outcome == JSON_FINE)
		r->outcome = why;
	return false;
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r' &&
							    *r->at != '\v' && *r->at != '\f')))
		r->at++;
}

static bool is_digit(const struct reader *r)
{
	return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static bool read_value(struct reader *r, struct buf *out);

/* `"` is current; decoded. */
static bool read_string(struct reader *r, struct buf *out)
{
	static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";

	for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
		const char *name;

		if ((unsigned char)*r->at < 0x20)
			return fail(r, JSON_INVALID);
		if (*r->at != '\\') {
			buf_add_char(out, *r->at);
			continue;
		}
		if (++r->at == r->end)
			return fail(r, JSON_INVALID);
		if (*r->at == 'u')
			return fail(r, JSON_UNSURE);
		name = *r->at ? strchr(names, *r->at) : NULL;
		if (!name)
			return fail(r, JSON_INVALID);
		buf_add_char(out, codes[name - names]);
	}
	if (r->at == r->end)
		return fail(r, JSON_INVALID);
	r->at++;
	return true;
}

static bool put_string(struct reader *r, struct span s, struct buf *out)
{
	static const char names[] = "\"\\bfnrt", codes[] = "\"\\\b\f\n\r\t";

	buf_add_char(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		const char *code = s.ptr[i] ? strchr(codes, s.ptr[i]) : NULL;

		if (!code && (unsigned char)s.ptr[i] < 0x20)
			return fail(r, JSON_UNSURE);
		if (code)
			buf_add_char(out, '\\');
		buf_add_char(out, code ? names[code - codes] : s.ptr[i]);
	}
	buf_add_char(out, '"');
	return true;
}

static bool read_number(struct reader *r, struct buf *out)
{
	const char *start = r->at;
	size_t digits = 0, used;
	bool whole = true;
	double d;

	if (*r->at == '-')
		r->at++;
	if (!is_digit(r))
		return fail(r, JSON_INVALID);
	if (*r->at == '0')
		r->at++, digits++;
	else
		for (; is_digit(r); r->at++)
			digits++;
	if (r->at < r->end && *r->at == '.') {
		whole = false;
		r->at++;
		if (!is_digit(r))
			return fail(r, JSON_INVALID);
		for (; is_digit(r); r->at++)
			digits++;
	}
	if (r->at < r->end && (*r->at | 32) == 'e')
		return fail(r, JSON_UNSURE);
	if (digits > DIGITS_MAX + (whole ? 3 : 0) || (*start == '-' && start[1] == '0'))
		return fail(r, JSON_UNSURE);
	if (whole) {
		buf_add(out, start, (size_t)(r->at - start));
		return true;
	}
	d = text_to_double(span_of(start, (size_t)(r->at - start)), &used);
	if (d != 0 && fabs(d) < 1e-4)
		return fail(r, JSON_UNSURE);
	used = out->len;
	double_print(d, out);
	if (!memchr(out->data + used, '.', out->len - used))
		buf_add_str(out, ".0");
	return true;
}

static bool before(const struct member *a, const struct member *b)
{
	int order = a->key.len != b->key.len ? (a->key.len < b->key.len ? -1 : 1)
					     : memcmp(a->key.ptr, b->key.ptr, a->key.len);

	return order < 0 || (order == 0 && a->number < b->number);
}

/* Merge sort of a list: a text may have many members. */
static struct member *sorted(struct member *list)
{
	struct member *half = list, *end = list, *a, *b, *out = NULL, **tail = &out;

	if (!list || !list->next)
		return list;
	while (end->next && end->next->next) {
		half = half->next;
		end = end->next->next;
	}
	b = half->next;
	half->next = NULL;
	a = sorted(list);
	b = sorted(b);
	while (a || b) {
		struct member **from = !b || (a && before(a, b)) ? &a : &b;

		*tail = *from;
		*from = (*from)->next;
		tail = &(*tail)->next;
	}
	*tail = NULL;
	return out;
}

static bool read_member(struct reader *r, struct member *m)
{
	struct buf text = BUF_INIT;
	bool good;

	skip_space(r);
	if (r->at == r->end || *r->at != '"')
		return fail(r, JSON_INVALID);
	good = read_string(r, &text);
	m->key = arena_copy(r->arena, buf_span(&text));
	buf_clear(&text);
	skip_space(r);
	if (good && (r->at == r->end || *r->at++ != ':'))
		good = fail(r, JSON_INVALID);
	good = good && read_value(r, &text);
	m->value = arena_copy(r->arena, buf_span(&text));
	buf_release(&text);
	return good;
}

/* `{` is current. */
static bool read_object(struct reader *r, struct buf *out)
{
	struct member *list = NULL, **tail = &list;
	uint32_t count = 0;
	bool first = true;

	r->at++;
	skip_space(r);
	if (r->at < r->end && *r->at == '}') {
		r->at++;
		buf_add_str(out, "{}");
		return true;
	}
	for (;;) {
		struct member *m = arena_zero(r->arena, sizeof(*m));

		m->number = count++;
		if (!read_member(r, m))
			return false;
		*tail = m;
		tail = &m->next;
		skip_space(r);
		if (r->at < r->end && *r->at == ',') {
			r->at++;
			continue;
		}
		if (r->at == r->end || *r->at++ != '}')
			return fail(r, JSON_INVALID);
		break;
	}
	buf_add_char(out, '{');
	for (struct member *m = sorted(list); m; m = m->next) {
		if (m->next && span_eq(m->key, m->next->key))
			continue; /* the last one counts */
		buf_add_str(out, first ? "" : ", ");
		first = false;
		if (!put_string(r, m->key, out))
			return false;
		buf_add_str(out, ": ");
		buf_add_span(out, m->value);
	}
	buf_add_char(out, '}');
	return true;
}

static bool read_array(struct reader *r, struct buf *out)
{
	r->at++;
	buf_add_char(out, '[');
	skip_space(r);
	if (r->at < r->end && *r->at == ']') {
		r->at++;
		buf_add_char(out, ']');
		return true;
	}
	while (read_value(r, out)) {
		skip_space(r);
		if (r->at < r->end && *r->at == ',') {
			r->at++;
			buf_add_str(out, ", ");
			continue;
		}
		if (r->at == r->end || *r->at++ != ']')
			return fail(r, JSON_INVALID);
		buf_add_char(out, ']');
		return true;
	}
	return false;
}

static bool read_word(struct reader *r, const char *word, struct buf *out)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return fail(r, JSON_INVALID);
	r->at += len;
	buf_add(out, word, len);
	return true;
}

static bool read_value(struct reader *r, struct buf *out)
{
	struct buf text = BUF_INIT;
	bool good = false;

	skip_space(r);
	if (r->at == r->end)
		return fail(r, JSON_INVALID);
	if (r->depth >= NESTING_MAX)
		return fail(r, JSON_UNSURE);
	r->depth++;
	switch (*r->at) {
	case '{':
		good = read_object(r, out);
		break;
	case '[':
		good = read_array(r, out);
		break;
	case '"':
		good = read_string(r, &text) && put_string(r, buf_span(&text), out);
		break;
	case 't':
		good = read_word(r, "true", out);
		break;
	case 'f':
		good = read_word(r, "false", out);
		break;
	case 'n':
		good = read_word(r, "null", out);
		break;
	default:
		good = read_number(r, out);
		break;
	}
	r->depth--;
	buf_release(&text);
	return good;
}

enum json_outcome json_normal(struct arena *arena, struct span text, struct buf *out)
{
	struct reader r = {.arena = arena, .at = text.ptr, .end = text.ptr + text.len};

	if (!text_is_valid(CHARSET_UTF8MB4, text))
		return JSON_UNSURE;
	if (read_value(&r, out)) {
		skip_space(&r);
		if (r.at != r.end)
			fail(&r, JSON_INVALID);
	}
	return r.outcome;
}

/* ---- without its value ---- */

static bool pass(struct reader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool pass_word(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return fail(r, JSON_INVALID);
	r->at += len;
	return true;
}

static bool check_string(struct reader *r)
{
	if (!pass(r, '"'))
		return fail(r, JSON_INVALID);
	for (; r->at < r->end && *r->at != '"'; r->at++) {
		if ((unsigned char)*r->at < 0x20)
			return fail(r, JSON_INVALID);
		if (*r->at != '\\')
			continue;
		/* MariaDB takes any letter there. */
		if (++r->at == r->end || !*r->at || !strchr("\"\\/bfnrtu", *r->at))
			return fail(r, JSON_UNSURE);
		if (*r->at != 'u')
			continue;
		for (unsigned i = 0; i < 4; i++) {
			if (++r->at == r->end || !strchr("0123456789abcdefABCDEF", *r->at) || !*r->at)
				return fail(r, JSON_INVALID);
		}
		/* Half of a pair; a zero. */
		if ((r->at[-3] | 32) == 'd' || memcmp(r->at - 3, "0000", 4) == 0)
			return fail(r, JSON_UNSURE);
	}
	return pass(r, '"') || fail(r, JSON_INVALID);
}

static bool check_digits(struct reader *r)
{
	/* MariaDB takes `-`, `1.` and `1e` for numbers. */
	if (!is_digit(r))
		return fail(r, JSON_UNSURE);
	while (is_digit(r))
		r->at++;
	return true;
}

static bool check_number(struct reader *r)
{
	enum { LENGTH_SURE = 40, EXPONENT_SURE = 2 };
	const char *start = r->at, *exponent;

	if (*r->at != '-' && !is_digit(r))
		return fail(r, JSON_INVALID);
	(void)pass(r, '-');
	if (!pass(r, '0') && !check_digits(r))
		return false;
	if (pass(r, '.') && !check_digits(r))
		return false;
	if (r->at < r->end && (*r->at | 32) == 'e') {
		r->at++;
		if (!pass(r, '-'))
			(void)pass(r, '+');
		exponent = r->at;
		if (!check_digits(r))
			return false;
		if (r->at - exponent > EXPONENT_SURE)
			return fail(r, JSON_UNSURE);
	}
	return r->at - start <= LENGTH_SURE || fail(r, JSON_UNSURE);
}

static bool check_value(struct reader *r);

/* Behind the bracket; members have a name. */
static bool check_list(struct reader *r, char close, bool named)
{
	skip_space(r);
	if (pass(r, close))
		return true;
	do {
		skip_space(r);
		if (named) {
			if (!check_string(r))
				return false;
			skip_space(r);
			if (!pass(r, ':'))
				return fail(r, JSON_INVALID);
		}
		if (!check_value(r))
			return false;
		skip_space(r);
	} while (pass(r, ','));
	return pass(r, close) || fail(r, JSON_INVALID);
}

static bool check_value(struct reader *r)
{
	enum { NESTING_SURE = 30 }; /* MariaDB's limit is 32, MySQL's 100 */
	bool good;

	skip_space(r);
	if (r->at == r->end)
		return fail(r, JSON_INVALID);
	if (++r->depth > NESTING_SURE)
		return fail(r, JSON_UNSURE);
	if (*r->at == '"')
		good = check_string(r);
	else if (pass(r, '['))
		good = check_list(r, ']', false);
	else if (pass(r, '{'))
		good = check_list(r, '}', true);
	else if (*r->at == 't')
		good = pass_word(r, "true");
	else if (*r->at == 'f')
		good = pass_word(r, "false");
	else if (*r->at == 'n')
		good = pass_word(r, "null");
	else
		good = check_number(r);
	r->depth--;
	return good;
}

enum json_outcome json_check(struct span text)
{
	struct reader r = {.at = text.ptr, .end = text.ptr + text.len};

	if (!text_is_valid(CHARSET_UTF8MB4, text))
		return JSON_UNSURE;
	if (check_value(&r)) {
		skip_space(&r);
		if (r.at != r.end)
			fail(&r, JSON_INVALID);
	}
	return r.outcome;
}
