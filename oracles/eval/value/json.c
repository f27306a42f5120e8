/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manual, "The JSON Data Type".  A text is read strictly (RFC 8259, as RapidJSON does) and
 * printed in MySQL's normal form.  Numbers beyond BIGINT or with many digits, and rare escapes, are
 * refused.
 */
#include "base/chars.h"
#include "eval/value/json.h"

#include <math.h>
#include <string.h>

#include "eval/node.h"
#include "eval/value/collation.h"

enum { NESTING_MAX = 90, NESTING_SURE = 30, DIGITS_MAX = 15 }; /* MariaDB's limit is 32, MySQL's 100 */

struct json_reader {
	struct arena *arena;
	const char *at, *end;
	enum json_outcome outcome;
	enum json_form form;
	unsigned depth;
};

static bool fail(struct json_reader *r, enum json_outcome why)
{
	/* What is invalid further on makes the whole invalid, whatever is unsure here. */
	if (r->outcome == JSON_FINE)
		r->outcome = why;
	return false;
}

static void skip_space(struct json_reader *r)
{
	while (r->at < r->end && (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r' &&
							    *r->at != '\v' && *r->at != '\f')))
		r->at++;
}

static bool is_digit(const struct json_reader *r)
{
	return r->at < r->end && char_is_digit(*r->at);
}

static struct json_node *read_value(struct json_reader *r);

/* `"` is current; decoded.  *coded: there are escapes. */
static bool read_string(struct json_reader *r, struct buf *out, bool *coded)
{
	static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";

	*coded = false;
	for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
		const char *name;

		if ((unsigned char)*r->at < 0x20)
			return fail(r, JSON_INVALID);
		if (*r->at != '\\') {
			buf_add_char(out, *r->at);
			continue;
		}
		*coded = true;
		if (++r->at == r->end)
			return fail(r, JSON_INVALID);
		if (*r->at == 'u')
			return fail(r, JSON_UNSURE);
		name = *r->at ? strchr(names, *r->at) : NULL;
		if (!name)
			return fail(r, r->form == JSON_AS_WRITTEN ? JSON_UNSURE : JSON_INVALID);
		buf_add_char(out, codes[name - names]);
	}
	if (r->at == r->end)
		return fail(r, JSON_INVALID);
	r->at++;
	return true;
}

bool json_put_string(struct span s, struct buf *out)
{
	static const char names[] = "\"\\bfnrt", codes[] = "\"\\\b\f\n\r\t";

	buf_add_char(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		const char *code = s.ptr[i] ? strchr(codes, s.ptr[i]) : NULL;

		if (!code && (unsigned char)s.ptr[i] < 0x20)
			return false;
		if (code)
			buf_add_char(out, '\\');
		buf_add_char(out, code ? names[code - codes] : s.ptr[i]);
	}
	buf_add_char(out, '"');
	return true;
}

/* What it means, and how it is printed. */
static bool take_string(struct json_reader *r, struct span *value, struct span *text, bool *coded)
{
	struct buf meant = BUF_INIT, printed = BUF_INIT;
	const char *start = r->at;
	bool good = read_string(r, &meant, coded);

	if (good && r->form == JSON_AS_WRITTEN)
		buf_add(&printed, start, (size_t)(r->at - start));
	else if (good && !json_put_string(buf_span(&meant), &printed))
		good = fail(r, JSON_UNSURE);
	*value = arena_copy(r->arena, buf_span(&meant));
	*text = arena_copy(r->arena, buf_span(&printed));
	buf_release(&meant);
	buf_release(&printed);
	return good;
}

bool json_put_double(double d, struct buf *out)
{
	size_t before = out->len;

	if (!isfinite(d) || (d == 0 && signbit(d)) || (d != 0 && (fabs(d) < 1e-4 || fabs(d) >= 1e15)))
		return false;
	double_print(d, out);
	if (!memchr(out->data + before, '.', out->len - before))
		buf_add_str(out, ".0");
	return true;
}

static bool read_number(struct json_reader *r, struct json_node *v)
{
	const char *start = r->at;
	struct buf printed = BUF_INIT;
	size_t digits = 0, used;
	bool whole = true, good = true;

	if (*r->at == '-')
		r->at++;
	if (!is_digit(r))
		return fail(r, r->form == JSON_AS_WRITTEN && *start == '-' ? JSON_UNSURE : JSON_INVALID);
	if (*r->at == '0')
		r->at++, digits++;
	else
		for (; is_digit(r); r->at++)
			digits++;
	if (r->at < r->end && *r->at == '.') {
		whole = false;
		r->at++;
		if (!is_digit(r))
			return fail(r, r->form == JSON_AS_WRITTEN ? JSON_UNSURE : JSON_INVALID);
		for (; is_digit(r); r->at++)
			digits++;
	}
	if (r->at < r->end && (*r->at | 32) == 'e')
		return fail(r, JSON_UNSURE);
	if (digits > DIGITS_MAX + (whole ? 3 : 0) || (*start == '-' && start[1] == '0'))
		return fail(r, JSON_UNSURE);
	v->whole = whole;
	v->text = arena_copy(r->arena, span_of(start, (size_t)(r->at - start)));
	if (whole || r->form == JSON_AS_WRITTEN)
		return true;
	good = json_put_double(text_to_double(v->text, &used), &printed);
	/* It is stored as another number, a DECIMAL. */
	if (good && r->form == JSON_STORED && !span_eq(buf_span(&printed), v->text))
		good = false;
	if (good)
		v->text = arena_copy(r->arena, buf_span(&printed));
	buf_release(&printed);
	return good || fail(r, JSON_UNSURE);
}

bool json_before(struct span a, struct span b)
{
	return a.len != b.len ? a.len < b.len : memcmp(a.ptr, b.ptr, a.len) < 0;
}

/* Merge sort of a list: a text may have many members.  Of equals those that came first stay so. */
static struct json_node *sorted(struct json_node *list)
{
	struct json_node *half = list, *end = list, *a, *b, *out = NULL, **tail = &out;

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
		struct json_node **from = !b || (a && !json_before(b->key, a->key)) ? &a : &b;

		*tail = *from;
		*from = (*from)->next;
		tail = &(*tail)->next;
	}
	*tail = NULL;
	return out;
}

void json_arrange(struct json_node *object)
{
	object->first = sorted(object->first);
	for (struct json_node **at = &object->first; *at;) {
		if ((*at)->next && span_eq((*at)->key, (*at)->next->key))
			*at = (*at)->next; /* the last one counts */
		else
			at = &(*at)->next;
	}
}

/* MariaDB keeps all of one name, and its functions do not agree which of them they mean. */
static bool has_equal_keys(const struct json_node *object)
{
	enum { KEYS_SURE = 200 };
	unsigned count = 0;

	for (const struct json_node *m = object->first; m; m = m->next) {
		if (++count > KEYS_SURE)
			return true;
		for (const struct json_node *n = object->first; n != m; n = n->next) {
			if (span_eq(m->key, n->key))
				return true;
		}
	}
	return false;
}

static struct json_node *read_member(struct json_reader *r)
{
	struct span key, key_text;
	struct json_node *v;
	bool coded;

	skip_space(r);
	if (r->at == r->end || *r->at != '"') {
		fail(r, JSON_INVALID);
		return NULL;
	}
	if (!take_string(r, &key, &key_text, &coded))
		return NULL;
	if (coded && r->form == JSON_AS_WRITTEN) {
		fail(r, JSON_UNSURE);
		return NULL;
	}
	skip_space(r);
	if (r->at == r->end || *r->at++ != ':') {
		fail(r, JSON_INVALID);
		return NULL;
	}
	v = read_value(r);
	if (v) {
		v->key = key;
		v->key_text = key_text;
	}
	return v;
}

/* The bracket is current. */
static bool read_list(struct json_reader *r, struct json_node *list)
{
	char close = list->kind == JSON_OBJECT ? '}' : ']';
	struct json_node **tail = &list->first;

	r->at++;
	skip_space(r);
	if (r->at < r->end && *r->at == close) {
		r->at++;
		return true;
	}
	for (;;) {
		struct json_node *v = list->kind == JSON_OBJECT ? read_member(r) : read_value(r);

		if (!v)
			return false;
		*tail = v;
		tail = &v->next;
		skip_space(r);
		if (r->at < r->end && *r->at == ',') {
			r->at++;
			continue;
		}
		if (r->at == r->end || *r->at++ != close)
			return fail(r, JSON_INVALID);
		break;
	}
	if (list->kind == JSON_OBJECT && r->form != JSON_AS_WRITTEN)
		json_arrange(list);
	else if (list->kind == JSON_OBJECT && has_equal_keys(list))
		return fail(r, JSON_UNSURE);
	return true;
}

static bool read_word(struct json_reader *r, const char *word, struct json_node *v)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return fail(r, JSON_INVALID);
	r->at += len;
	v->text = span_of(word, len);
	return true;
}

static struct json_node *read_value(struct json_reader *r)
{
	struct json_node *v = arena_zero(r->arena, sizeof(*v));
	bool good = false;

	skip_space(r);
	if (r->at == r->end) {
		fail(r, JSON_INVALID);
		return NULL;
	}
	if (r->depth >= (r->form == JSON_AS_WRITTEN ? NESTING_SURE : NESTING_MAX)) {
		fail(r, JSON_UNSURE);
		return NULL;
	}
	r->depth++;
	switch (*r->at) {
	case '{':
	case '[':
		v->kind = *r->at == '{' ? JSON_OBJECT : JSON_ARRAY;
		good = read_list(r, v);
		break;
	case '"':
		v->kind = JSON_STRING;
		good = take_string(r, &v->value, &v->text, &v->coded);
		break;
	case 't':
		v->kind = JSON_TRUE;
		good = read_word(r, "true", v);
		break;
	case 'f':
		v->kind = JSON_FALSE;
		good = read_word(r, "false", v);
		break;
	case 'n':
		v->kind = JSON_NULL;
		good = read_word(r, "null", v);
		break;
	default:
		v->kind = JSON_NUMBER;
		good = read_number(r, v);
		break;
	}
	r->depth--;
	return good ? v : NULL;
}

enum json_outcome json_read(
	struct arena *arena, struct span text, enum json_form form, struct json_node **out)
{
	struct json_reader r = {.arena = arena, .at = text.ptr, .end = text.ptr + text.len, .form = form};

	if (!text_is_valid(CHARSET_UTF8MB4, text))
		return JSON_UNSURE;
	*out = read_value(&r);
	if (*out) {
		skip_space(&r);
		if (r.at != r.end)
			fail(&r, JSON_INVALID);
	}
	return r.outcome;
}

void json_print(const struct json_node *v, struct buf *out)
{
	if (v->kind != JSON_ARRAY && v->kind != JSON_OBJECT) {
		buf_add_span(out, v->text);
		return;
	}
	buf_add_char(out, v->kind == JSON_OBJECT ? '{' : '[');
	for (const struct json_node *m = v->first; m; m = m->next) {
		if (m != v->first)
			buf_add_str(out, ", ");
		if (v->kind == JSON_OBJECT) {
			buf_add_span(out, m->key_text);
			buf_add_str(out, ": ");
		}
		json_print(m, out);
	}
	buf_add_char(out, v->kind == JSON_OBJECT ? '}' : ']');
}

enum json_outcome json_normal(struct arena *arena, struct span text, struct buf *out)
{
	struct json_node *v;
	enum json_outcome outcome = json_read(arena, text, JSON_NORMAL, &v);

	if (outcome == JSON_FINE)
		json_print(v, out);
	return outcome;
}

/* ---- without its value ---- */

static bool pass(struct json_reader *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return false;
	r->at++;
	return true;
}

static bool pass_word(struct json_reader *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return fail(r, JSON_INVALID);
	r->at += len;
	return true;
}

static bool check_string(struct json_reader *r)
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

static bool check_digits(struct json_reader *r)
{
	/* MariaDB takes `-`, `1.` and `1e` for numbers. */
	if (!is_digit(r))
		return fail(r, JSON_UNSURE);
	while (is_digit(r))
		r->at++;
	return true;
}

static bool check_number(struct json_reader *r)
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

static bool check_value(struct json_reader *r);

/* After the bracket; members have a name. */
static bool check_list(struct json_reader *r, char close, bool named)
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

static bool check_value(struct json_reader *r)
{
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
	struct json_reader r = {.at = text.ptr, .end = text.ptr + text.len};

	if (!text_is_valid(CHARSET_UTF8MB4, text))
		return JSON_UNSURE;
	if (check_value(&r)) {
		skip_space(&r);
		if (r.at != r.end)
			fail(&r, JSON_INVALID);
	}
	return r.outcome;
}
