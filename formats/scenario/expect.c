/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expectations: what stands after `-- =>`, read, printed and compared with a server's answer.
 *
 *	expectation = [ "blocked" | "not" "blocked" ] [ "," ] [ "then" ] [ outcome ]
 *	outcome     = "ok" [ count ] | "error" [ code [ ":" text ] ] | "empty" [ "set" ]
 *	            | [ "ordered" ] rows
 *	rows        = row { [ "," ] row } | "[" [ row { [ "," ] row } ] "]" | "()"
 *	row         = "(" value { "," value } ")"
 *	value       = NULL | number | 'string' | "string" | x'hex' | *
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "scenario/scenario_internal.h"
#include "sql/text/raw_token.h"

/* ---- reading ---- */

struct reader {
	struct span text;
	size_t at;
	struct arena *arena;
	struct err *err;
};

static void skip_blanks(struct reader *r)
{
	while (r->at < r->text.len && char_is_blank(r->text.ptr[r->at]))
		r->at++;
}

static bool at_char(struct reader *r, char c)
{
	skip_blanks(r);
	return r->at < r->text.len && r->text.ptr[r->at] == c;
}

static struct span peek_word(struct reader *r)
{
	size_t end;

	skip_blanks(r);
	for (end = r->at; end < r->text.len && isalpha((unsigned char)r->text.ptr[end]); end++)
		;
	return span_of(r->text.ptr + r->at, end - r->at);
}

static bool take_word(struct reader *r, const char *word)
{
	struct span found = peek_word(r);

	if (!span_ieq_str(found, word))
		return false;
	r->at += found.len;
	return true;
}

/* After ok and error: a count that may be missing. */
static bool read_count(struct reader *r, uint64_t *out)
{
	uint64_t count = 0;
	size_t start;

	skip_blanks(r);
	start = r->at;
	while (r->at < r->text.len && isdigit((unsigned char)r->text.ptr[r->at])) {
		unsigned digit = (unsigned)(r->text.ptr[r->at] - '0');

		if (count > (UINT64_MAX - 1 - digit) / 10)
			return err_set_at(r->err, ERR_FORMAT, start, "the number is too large");
		count = count * 10 + digit;
		r->at++;
	}
	*out = r->at == start ? SCENARIO_ANY_COUNT : count;
	return true;
}

/* The escapes of SQL string literals; any other character stands for itself. */
static char unescape(char c)
{
	switch (c) {
	case '0':
		return '\0';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case 'Z':
		return 26;
	default:
		return c;
	}
}

static bool read_string(struct reader *r, struct scenario_value *out)
{
	size_t start = r->at;
	char quote = r->text.ptr[r->at++];
	char *bytes = arena_alloc(r->arena, r->text.len - start + 1);
	size_t len = 0;

	for (; r->at < r->text.len; r->at++) {
		char c = r->text.ptr[r->at];

		if (c == '\\' && r->at + 1 < r->text.len) {
			c = unescape(r->text.ptr[++r->at]);
		} else if (c == quote) {
			if (r->at + 1 >= r->text.len || r->text.ptr[r->at + 1] != quote) {
				r->at++;
				*out = (struct scenario_value){
					SCENARIO_VALUE_STRING, span_of(bytes, len)};
				return true;
			}
			r->at++;
		}
		bytes[len++] = c;
	}
	return err_set_at(r->err, ERR_FORMAT, start, "the string is not closed");
}

static bool read_hex(struct reader *r, struct scenario_value *out)
{
	size_t start = r->at;
	char *bytes;
	size_t len = 0;

	r->at += 2; /* x' */
	bytes = arena_alloc(r->arena, r->text.len - start + 1);
	while (r->at + 1 < r->text.len && r->text.ptr[r->at] != '\'') {
		int high = char_hex_value(r->text.ptr[r->at]),
		    low = char_hex_value(r->text.ptr[r->at + 1]);

		if (high < 0 || low < 0)
			return err_set_at(r->err, ERR_FORMAT, r->at,
				"a pair of hexadecimal digits must stand here");
		bytes[len++] = (char)(high * 16 + low);
		r->at += 2;
	}
	if (r->at >= r->text.len || r->text.ptr[r->at] != '\'')
		return err_set_at(r->err, ERR_FORMAT, start, "the string is not closed");
	r->at++;
	*out = (struct scenario_value){SCENARIO_VALUE_STRING, span_of(bytes, len)};
	return true;
}

/* The length of the number at the start of s, 0 when there is none. */
static size_t number_length(struct span s)
{
	size_t at = 0, digits = 0;

	if (at < s.len && (s.ptr[at] == '-' || s.ptr[at] == '+'))
		at++;
	for (; at < s.len && isdigit((unsigned char)s.ptr[at]); at++)
		digits++;
	if (at < s.len && s.ptr[at] == '.')
		for (at++; at < s.len && isdigit((unsigned char)s.ptr[at]); at++)
			digits++;
	if (!digits)
		return 0;
	if (at < s.len && (s.ptr[at] == 'e' || s.ptr[at] == 'E')) {
		size_t mark = at++;

		if (at < s.len && (s.ptr[at] == '-' || s.ptr[at] == '+'))
			at++;
		if (at >= s.len || !isdigit((unsigned char)s.ptr[at]))
			return mark;
		while (at < s.len && isdigit((unsigned char)s.ptr[at]))
			at++;
	}
	return at;
}

static bool read_value(struct reader *r, struct scenario_value *out)
{
	struct span rest;
	size_t len;

	skip_blanks(r);
	rest = span_of(r->text.ptr + r->at, r->text.len - r->at);
	if (rest.len && (rest.ptr[0] == '\'' || rest.ptr[0] == '"'))
		return read_string(r, out);
	if (rest.len >= 2 && (rest.ptr[0] | 32) == 'x' && rest.ptr[1] == '\'')
		return read_hex(r, out);
	if (rest.len && rest.ptr[0] == '*') {
		r->at++;
		*out = (struct scenario_value){SCENARIO_VALUE_ANY, SPAN_LIT("*")};
		return true;
	}
	if (take_word(r, "null")) {
		*out = (struct scenario_value){SCENARIO_VALUE_NULL, SPAN_LIT("")};
		return true;
	}
	len = number_length(rest);
	if (!len)
		return err_set_at(r->err, ERR_FORMAT, r->at,
			"a value must stand here: NULL, a number, a 'string' or *");
	r->at += len;
	*out = (struct scenario_value){
		SCENARIO_VALUE_NUMBER, arena_copy(r->arena, span_of(rest.ptr, len))};
	return true;
}

static bool read_row(struct reader *r, struct expect_builder *b)
{
	struct scenario_value *values;
	size_t count = 0;

	r->at++; /* ( */
	do {
		if (count == UINT32_MAX)
			return err_set_at(r->err, ERR_LIMIT, r->at, "the row is too long");
		MEM_RESERVE(b->values, count + 1, b->value_capacity);
		if (!read_value(r, &b->values[count]))
			return false;
		count++;
		skip_blanks(r);
	} while (r->at < r->text.len && r->text.ptr[r->at] == ',' && r->at++ < r->text.len);
	if (!at_char(r, ')'))
		return err_set_at(r->err, ERR_FORMAT, r->at,
			"',' or ')' must stand here: a row is (1,'a',NULL)");
	r->at++;
	if (b->row_count && b->rows[0].count != count)
		return err_set_at(r->err, ERR_FORMAT, r->at - 1,
			"this row has %zu values, the first one %u", count, b->rows[0].count);
	values = arena_alloc(r->arena, count * sizeof(*values));
	memcpy(values, b->values, count * sizeof(*values));
	if (b->row_count == UINT32_MAX)
		return err_set_at(r->err, ERR_LIMIT, r->at, "too many rows");
	MEM_RESERVE(b->rows, b->row_count + 1, b->row_capacity);
	b->rows[b->row_count++] = (struct scenario_row){values, (uint32_t)count};
	return true;
}

static bool read_rows(struct reader *r, struct expect_builder *b)
{
	b->expect.outcome = SCENARIO_OUTCOME_ROWS;
	do {
		if (!read_row(r, b))
			return false;
		/* (1,1), (2,2) reads well too. */
		if (at_char(r, ',')) {
			r->at++;
			if (!at_char(r, '('))
				return err_set_at(r->err, ERR_FORMAT, r->at,
					"a row must stand here: (1,'a',NULL)");
		}
	} while (at_char(r, '('));
	return true;
}

/* "[]" and "()": no row. */
static bool take_nothing(struct reader *r, char open, char close)
{
	size_t at;

	if (!at_char(r, open))
		return false;
	for (at = r->at + 1; at < r->text.len && char_is_blank(r->text.ptr[at]); at++)
		;
	if (at == r->text.len || r->text.ptr[at] != close)
		return false;
	r->at = at + 1;
	return true;
}

static bool read_outcome(struct reader *r, struct expect_builder *b)
{
	struct scenario_expect *expect = &b->expect;

	if (take_word(r, "ok")) {
		expect->outcome = SCENARIO_OUTCOME_OK;
		return read_count(r, &expect->count);
	}
	if (take_word(r, "error")) {
		expect->outcome = SCENARIO_OUTCOME_ERROR;
		if (!read_count(r, &expect->count))
			return false;
		/* As isorec run prints it, with what the server said. */
		if (at_char(r, ':'))
			r->at = r->text.len;
		return true;
	}
	if (take_word(r, "empty")) {
		expect->outcome = SCENARIO_OUTCOME_ROWS;
		(void)take_word(r, "set");
		return true;
	}
	if (take_nothing(r, '[', ']') || take_nothing(r, '(', ')')) {
		expect->outcome = SCENARIO_OUTCOME_ROWS;
		return true;
	}
	if (take_word(r, "ordered")) {
		expect->ordered = true;
		if (!at_char(r, '('))
			return err_set_at(r->err, ERR_FORMAT, r->at,
				"rows must follow `ordered`: ordered (1,1) (2,2)");
	}
	if (at_char(r, '('))
		return read_rows(r, b);
	if (at_char(r, '[')) {
		r->at++;
		if (at_char(r, '(') && !read_rows(r, b))
			return false;
		if (!at_char(r, ']'))
			return err_set_at(r->err, ERR_FORMAT, r->at, "']' must stand here");
		r->at++;
		return true;
	}
	return err_set_at(r->err, ERR_FORMAT, r->at,
		"an expectation is `blocked`, `not blocked`, `ok 2`, `error 1213`, `empty` or rows "
		"such as (1,'a') (2,NULL)");
}

bool expect_builder_line(
	struct expect_builder *b, struct arena *arena, struct span text, struct err *err)
{
	struct reader r = {.text = text, .arena = arena, .err = err};

	if (b->any) {
		/* A further line can only bring further rows. */
		if (b->expect.outcome != SCENARIO_OUTCOME_ROWS || !b->row_count ||
			!at_char(&r, '('))
			return err_set_at(
				err, ERR_FORMAT, 0, "the statement has an expectation already");
		if (!read_rows(&r, b))
			return false;
	} else {
		b->any = true;
		b->expect = (struct scenario_expect){.count = SCENARIO_ANY_COUNT};
		if (take_word(&r, "blocked")) {
			b->expect.blocking = SCENARIO_BLOCKED;
		} else if (take_word(&r, "not")) {
			if (!take_word(&r, "blocked"))
				return err_set_at(
					err, ERR_FORMAT, r.at, "`blocked` must follow `not`");
			b->expect.blocking = SCENARIO_NOT_BLOCKED;
		}
		skip_blanks(&r);
		if (b->expect.blocking && r.at < text.len && text.ptr[r.at] == ',')
			r.at++;
		else if (b->expect.blocking && r.at == text.len)
			return true;
		if (b->expect.blocking)
			(void)take_word(&r, "then"); /* as isorec run prints it */
		if (!read_outcome(&r, b))
			return false;
	}
	skip_blanks(&r);
	if (r.at < text.len)
		return err_set_at(err, ERR_FORMAT, r.at, "nothing more is understood here");
	return true;
}

struct scenario_expect expect_builder_finish(struct expect_builder *b, struct arena *arena)
{
	struct scenario_expect out = b->expect;

	if (!b->any)
		out = (struct scenario_expect){.count = SCENARIO_ANY_COUNT};
	if (b->any && b->row_count) {
		struct scenario_row *rows = arena_alloc(arena, b->row_count * sizeof(*rows));

		memcpy(rows, b->rows, b->row_count * sizeof(*rows));
		out.rows = rows;
		out.row_count = (uint32_t)b->row_count;
	}
	b->any = false;
	b->row_count = 0;
	return out;
}

void expect_builder_release(struct expect_builder *b)
{
	mem_free(b->rows);
	mem_free(b->values);
	*b = (struct expect_builder){0};
}

bool scenario_expect_parse(
	struct scenario *s, struct scenario_expect *out, struct span text, struct err *err)
{
	struct expect_builder b = {0};
	bool ok = expect_builder_line(&b, &s->arena, text, err);

	*out = expect_builder_finish(&b, &s->arena);
	expect_builder_release(&b);
	if (!ok)
		*out = (struct scenario_expect){.count = SCENARIO_ANY_COUNT};
	return ok;
}

/* ---- printing ---- */

void scenario_print_string(struct span s, struct buf *out)
{
	buf_add_char(out, '\'');
	for (size_t i = 0; i < s.len; i++) {
		switch (s.ptr[i]) {
		case '\0':
			buf_add_str(out, "\\0");
			break;
		case '\n':
			buf_add_str(out, "\\n");
			break;
		case '\r':
			buf_add_str(out, "\\r");
			break;
		case '\\':
			buf_add_str(out, "\\\\");
			break;
		case '\'':
			buf_add_str(out, "''");
			break;
		default:
			buf_add_char(out, s.ptr[i]);
		}
	}
	buf_add_char(out, '\'');
}

static void print_value(const struct scenario_value *value, struct buf *out)
{
	switch (value->kind) {
	case SCENARIO_VALUE_NULL:
		buf_add_str(out, "NULL");
		break;
	case SCENARIO_VALUE_NUMBER:
		buf_add_span(out, value->bytes);
		break;
	case SCENARIO_VALUE_STRING:
		scenario_print_string(value->bytes, out);
		break;
	case SCENARIO_VALUE_ANY:
		buf_add_char(out, '*');
		break;
	}
}

static void print_rows(const struct scenario_expect *expect, struct buf *out)
{
	if (!expect->row_count) {
		buf_add_str(out, "empty");
		return;
	}
	if (expect->ordered)
		buf_add_str(out, "ordered ");
	for (uint32_t i = 0; i < expect->row_count; i++) {
		buf_add_str(out, i ? " (" : "(");
		for (uint32_t j = 0; j < expect->rows[i].count; j++) {
			if (j)
				buf_add_char(out, ',');
			print_value(&expect->rows[i].values[j], out);
		}
		buf_add_char(out, ')');
	}
}

void scenario_print_expect(const struct scenario_expect *expect, struct buf *out)
{
	if (expect->blocking != SCENARIO_BLOCKING_ANY) {
		buf_add_str(out, expect->blocking == SCENARIO_BLOCKED ? "blocked" : "not blocked");
		if (expect->outcome != SCENARIO_OUTCOME_ANY)
			buf_add_str(out, ", ");
	}
	switch (expect->outcome) {
	case SCENARIO_OUTCOME_ANY:
		return;
	case SCENARIO_OUTCOME_OK:
		buf_add_str(out, "ok");
		break;
	case SCENARIO_OUTCOME_ERROR:
		buf_add_str(out, "error");
		break;
	case SCENARIO_OUTCOME_ROWS:
		print_rows(expect, out);
		return;
	}
	if (expect->count != SCENARIO_ANY_COUNT)
		buf_printf(out, " %llu", (unsigned long long)expect->count);
}

/* ---- comparing ---- */

/* A decimal number as digits without leading zeros, a point position and no trailing zeros. */
struct decimal {
	bool negative;
	const char *digits; /* may hold one point */
	size_t len;
};

static struct decimal decimal_of(struct span s)
{
	struct decimal out = {0};
	size_t at = 0, end = s.len;

	if (at < end && (s.ptr[at] == '-' || s.ptr[at] == '+'))
		out.negative = s.ptr[at++] == '-';
	while (at < end && s.ptr[at] == '0')
		at++;
	if (memchr(s.ptr + at, '.', end - at)) {
		while (end > at && s.ptr[end - 1] == '0')
			end--;
		if (end > at && s.ptr[end - 1] == '.')
			end--;
	}
	out.digits = s.ptr + at;
	out.len = end - at;
	if (out.len == 0)
		out.negative = false; /* -0 is 0 */
	return out;
}

static bool is_plain_decimal(struct span s)
{
	return s.len && number_length(s) == s.len && !memchr(s.ptr, 'e', s.len) &&
	       !memchr(s.ptr, 'E', s.len);
}

static bool decimal_eq(struct span a, struct span b)
{
	struct decimal x = decimal_of(a), y = decimal_of(b);

	return x.negative == y.negative && x.len == y.len && memcmp(x.digits, y.digits, x.len) == 0;
}

/* The number that s is, NAN when it is none or longer than any number that a person types. */
static double double_of(struct span s)
{
	char text[400];

	if (!s.len || s.len >= sizeof(text) || number_length(s) != s.len)
		return (double)NAN;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return strtod(text, NULL);
}

static bool text_matches(struct span expected, bool number, struct span got)
{
	if (span_eq(expected, got))
		return true;
	if (!number)
		return false;
	if (is_plain_decimal(expected) && is_plain_decimal(got))
		return decimal_eq(expected, got);
	return double_of(expected) == double_of(got);
}

static bool bit_text(struct span bytes, char *out, size_t size)
{
	uint64_t bits = 0;

	if (bytes.len > 8)
		return false;
	for (size_t i = 0; i < bytes.len; i++)
		bits = bits << 8 | (unsigned char)bytes.ptr[i];
	snprintf(out, size, "%llu", (unsigned long long)bits);
	return true;
}

bool scenario_value_matches(const struct scenario_value *expected, const struct value *got)
{
	bool number = expected->kind == SCENARIO_VALUE_NUMBER;
	char text[32];

	if (expected->kind == SCENARIO_VALUE_ANY)
		return true;
	if (expected->kind == SCENARIO_VALUE_NULL || got->type == VALUE_NULL)
		return expected->kind == SCENARIO_VALUE_NULL && got->type == VALUE_NULL;
	switch (got->type) {
	case VALUE_INT:
		snprintf(text, sizeof(text), "%lld", (long long)got->i);
		return text_matches(expected->bytes, true, span_str(text));
	case VALUE_UINT:
		snprintf(text, sizeof(text), "%llu", (unsigned long long)got->u);
		return text_matches(expected->bytes, true, span_str(text));
	case VALUE_DOUBLE:
		return double_of(expected->bytes) == got->d;
	case VALUE_FLOAT:
		return (float)double_of(expected->bytes) == (float)got->d;
	case VALUE_DECIMAL:
		return text_matches(expected->bytes, true, got->bytes);
	case VALUE_BIT:
		if (number)
			return bit_text(got->bytes, text, sizeof(text)) &&
			       text_matches(expected->bytes, true, span_str(text));
		return span_eq(expected->bytes, got->bytes);
	case VALUE_NULL:
	case VALUE_TEXT:
	case VALUE_BYTES:
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
	case VALUE_JSON:
	case VALUE_GEOMETRY:
		return span_eq(expected->bytes, got->bytes);
	case VALUE_HASHED:
	case VALUE_CUT:
	case VALUE_DROPPED:
		return false; /* the value is not there to compare */
	}
	return false;
}
