/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and bytes written as texts, and back: FORMAT, CONV, CHAR, TO_BASE64, INET_ATON, STR_TO_DATE. */
#include <string.h>

#include "base/chars.h"
#include "eval/compile.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/temporal.h"

enum { BASE64_LINE = 76, ENCODED_MAX = 1 << 20 };

static struct node *text_of_connection(struct compiler *c, struct node *n)
{
	n->collation = c->env->collation_connection;
	n->type = type_string(n->collation, 4, 0);
	return n;
}

static struct eval_value text_done(const struct node *n, struct frame *f, struct buf *text)
{
	struct eval_value v = make_text(f->run, text, n->collation);

	buf_release(text);
	return v;
}

/* ---- FORMAT(number, decimals) ---- */

static struct eval_value run_format(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct buf digits = BUF_INIT, text = BUF_INIT;
	struct decimal d;
	size_t whole, at = 0;

	if (v.kind == EVAL_NULL || f->run->failed)
		return EVAL_NULL_VALUE;
	d = to_decimal(f->run, &n->args[0]->type, &v);
	if (f->run->failed || !decimal_round(&d, (int)n->u.number, DECIMAL_HALF_UP, &d) ||
		decimal_int_digits(&d) + d.scale > DECIMAL_PRECISION_MAX)
		return run_gives_up(f->run, LIMIT_FORMAT_OF_NUMBER_OF_VERY_MANY_DIGITS);
	if (format_value_refused(f->run, &v, &d))
		return EVAL_NULL_VALUE;
	decimal_print(&d, &digits);
	if (digits.data[0] == '-') {
		buf_add_char(&text, '-');
		at = 1;
	}
	whole = digits.len - at - (d.scale ? d.scale + 1u : 0);
	for (size_t i = 0; at + i < digits.len; i++) {
		if (i && i < whole && (whole - i) % 3 == 0)
			buf_add_char(&text, ',');
		buf_add_char(&text, digits.data[at + i]);
	}
	buf_release(&digits);
	return text_done(n, f, &text);
}

static struct node *compile_format(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (format_refused(c, n->args))
		return NULL;
	n->u.number = n->args[1]->u.value.i;
	return text_of_connection(c, n);
}

/* ---- CONV(text, from, to) ---- */

static struct eval_value run_conv(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct buf text = BUF_INIT;
	uint32_t from = (uint32_t)n->u.number >> 8, to = (uint32_t)n->u.number & 0xff;
	uint64_t number = 0;
	char digits[64];
	int count = 0;

	if (v.kind == EVAL_NULL || f->run->failed)
		return EVAL_NULL_VALUE;
	if (v.kind != EVAL_STRING && from == 10) {
		number = v.u;
	} else {
		struct span s = to_text(f->run, &n->args[0]->type, &v);

		if (conv_text_refused(f->run, s))
			return EVAL_NULL_VALUE;
		for (size_t i = 0; i < s.len; i++) {
			char c = s.ptr[i];
			uint32_t digit = char_is_digit(c)       ? (uint32_t)(c - '0')
					 : c >= 'a' && c <= 'z' ? (uint32_t)(c - 'a') + 10
					 : c >= 'A' && c <= 'Z' ? (uint32_t)(c - 'A') + 10
								: UINT32_MAX;

			if (digit >= from || __builtin_mul_overflow(number, from, &number) ||
				__builtin_add_overflow(number, digit, &number))
				return run_gives_up(f->run, LIMIT_CONV_OF_NOT_NUMBER_AS_WHOLE);
		}
	}
	do {
		digits[count++] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % to];
		number /= to;
	} while (number);
	while (count)
		buf_add_char(&text, digits[--count]);
	return text_done(n, f, &text);
}

static struct node *compile_conv(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	for (int i = 1; i < 3; i++) {
		const struct node *base = n->args[i];

		if (conv_base_refused(c, base))
			return NULL;
		n->u.number = n->u.number << 8 | base->u.value.i;
	}
	return conv_refused(c, &n->args[0]->type) ? NULL : text_of_connection(c, n);
}

/* ---- CHAR(77, 121): bytes ---- */

static struct eval_value run_char(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);
		uint32_t number = (uint32_t)v.u;

		if (v.kind == EVAL_NULL) /* left out */
			continue;
		for (int shift = 24; shift > 0; shift -= 8) {
			if (number >> shift)
				buf_add_char(&text, (char)(number >> shift));
		}
		buf_add_char(&text, (char)number);
	}
	return text_done(n, f, &text);
}

static struct node *compile_char(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (char_refused(c, n))
		return NULL;
	n->collation = COLLATION_BINARY;
	n->type = type_string(COLLATION_BINARY, 4, 0);
	return n;
}

/* ---- TO_BASE64, FROM_BASE64 ---- */

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool bytes_arg(const struct node *n, struct frame *f, struct span *out)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL || f->run->failed)
		return false;
	*out = to_text(f->run, &n->args[0]->type, &v);
	if (out->len > ENCODED_MAX)
		run_gives_up(f->run, LIMIT_VERY_LONG_STRING);
	return !f->run->failed;
}

static struct eval_value run_to_base64(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;
	struct span s;

	if (!bytes_arg(n, f, &s))
		return EVAL_NULL_VALUE;
	for (size_t i = 0; i < s.len; i += 3) {
		size_t left = s.len - i;
		uint32_t bits = (uint32_t)(unsigned char)s.ptr[i] << 16 |
				(left > 1 ? (uint32_t)(unsigned char)s.ptr[i + 1] << 8 : 0) |
				(left > 2 ? (uint32_t)(unsigned char)s.ptr[i + 2] : 0);

		if (i && i / 3 * 4 % BASE64_LINE == 0)
			buf_add_char(&text, '\n');
		buf_add_char(&text, base64[bits >> 18]);
		buf_add_char(&text, base64[bits >> 12 & 63]);
		buf_add_char(&text, left > 1 ? base64[bits >> 6 & 63] : '=');
		buf_add_char(&text, left > 2 ? base64[bits & 63] : '=');
	}
	return text_done(n, f, &text);
}

static struct eval_value run_from_base64(const struct node *n, struct frame *f)
{
	struct buf text = BUF_INIT;
	uint32_t bits = 0, padding = 0;
	struct span s;

	if (!bytes_arg(n, f, &s))
		return EVAL_NULL_VALUE;
	while (padding < 2 && s.len > padding && s.ptr[s.len - 1 - padding] == '=')
		padding++;
	if (s.len % 4)
		return run_gives_up(f->run, LIMIT_FROM_BASE64_OF_NOT_BASE64);
	for (size_t i = 0; i < s.len; i++) {
		const char *at = i >= s.len - padding ? base64 : s.ptr[i] ? strchr(base64, s.ptr[i]) : NULL;

		if (!at) {
			buf_release(&text);
			return run_gives_up(f->run, LIMIT_FROM_BASE64_OF_NOT_BASE64);
		}
		bits = bits << 6 | (uint32_t)(at - base64);
		if (i % 4 == 3) {
			uint32_t cut = i == s.len - 1 ? padding : 0;

			buf_add_char(&text, (char)(bits >> 16));
			if (cut < 2)
				buf_add_char(&text, (char)(bits >> 8));
			if (cut < 1)
				buf_add_char(&text, (char)bits);
			bits = 0;
		}
	}
	return text_done(n, f, &text);
}

static struct node *compile_base64(struct compiler *c, struct node *n, const struct function *function)
{
	if (base64_refused(c, n->args[0]))
		return NULL;
	text_of_connection(c, n);
	if (function->number) {
		n->collation = COLLATION_BINARY;
		n->type.collation = COLLATION_BINARY;
	}
	return n;
}

/* ---- INET_ATON, INET_NTOA ---- */

static struct eval_value run_inet_aton(const struct node *n, struct frame *f)
{
	uint64_t number = 0, byte = 0;
	unsigned dots = 0;
	struct span s;

	if (!bytes_arg(n, f, &s))
		return EVAL_NULL_VALUE;
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == '.') {
			number = number << 8 | byte;
			byte = 0;
			dots++;
		} else {
			byte = byte * 10 + (uint64_t)(s.ptr[i] - '0');
		}
		if ((s.ptr[i] != '.' && !char_is_digit(s.ptr[i])) || byte > 255 || dots > 3)
			return run_gives_up(f->run, LIMIT_INET_ATON_OF_NOT_ADDRESS);
	}
	if (dots != 3 || s.ptr[s.len - 1] == '.')
		return run_gives_up(f->run, LIMIT_INET_ATON_OF_NOT_ADDRESS);
	return eval_uint(number << 8 | byte);
}

static struct node *compile_inet_aton(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (inet_aton_refused(c, &n->args[0]->type))
		return NULL;
	n->type = type_int(true);
	return n;
}

static struct eval_value run_inet_ntoa(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct buf text = BUF_INIT;

	if (inet_ntoa_value_refused(f->run, &v) || v.kind == EVAL_NULL || v.u > UINT32_MAX)
		return EVAL_NULL_VALUE;
	buf_printf(&text, "%u.%u.%u.%u", (unsigned)(v.u >> 24), (unsigned)(v.u >> 16 & 255),
		(unsigned)(v.u >> 8 & 255), (unsigned)(v.u & 255));
	return text_done(n, f, &text);
}

static struct node *compile_inet_ntoa(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (inet_ntoa_refused(c, &n->args[0]->type))
		return NULL;
	text_of_connection(c, n);
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = 0;
	return n;
}

/* ---- STR_TO_DATE(text, '%Y-%m-%d') ---- */

/* The digits of one part: as many as it has, or fewer before what is no digit. */
static bool read_part(struct span s, size_t *at, unsigned most, unsigned *out)
{
	unsigned count = 0;

	*out = 0;
	while (count < most && *at < s.len && char_is_digit(s.ptr[*at])) {
		*out = *out * 10 + (unsigned)(s.ptr[(*at)++] - '0');
		count++;
	}
	return count == most || (count && most == 2 && (*at == s.len || !char_is_digit(s.ptr[*at])));
}

/* The servers read much more than this, by rules of their own. */
static bool read_date(struct span s, struct span format, struct eval_time *t)
{
	size_t at = 0;

	for (size_t i = 0; i < format.len; i++) {
		unsigned number;

		if (format.ptr[i] != '%') {
			if (at >= s.len || s.ptr[at++] != format.ptr[i])
				return false;
			continue;
		}
		if (!read_part(s, &at, format.ptr[++i] == 'Y' ? 4 : 2, &number))
			return false;
		switch (format.ptr[i]) {
		case 'Y':
			t->year = (uint16_t)number;
			break;
		case 'm':
		case 'c':
			t->month = (uint8_t)number;
			break;
		case 'd':
		case 'e':
			t->day = (uint8_t)number;
			break;
		case 'H':
		case 'k':
			t->hour = (uint16_t)number;
			break;
		case 'i':
			t->minute = (uint8_t)number;
			break;
		default:
			t->second = (uint8_t)number;
			break;
		}
	}
	return at == s.len && t->year && t->month && t->month <= 12 && t->day &&
	       t->day <= days_in_month(t->year, t->month) && t->hour < 24 && t->minute < 60 && t->second < 60;
}

static struct eval_value run_str_to_date(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct eval_value out = {.kind = n->type.kind == EVAL_T_DATE ? EVAL_DATE : EVAL_DATETIME};

	if (v.kind == EVAL_NULL || f->run->failed)
		return EVAL_NULL_VALUE;
	if (!read_date(v.s, n->args[1]->u.value.s, &out.t))
		return run_gives_up(f->run, LIMIT_STR_TO_DATE_OF_TEXT_IN_ANOTHER_FORM);
	return out;
}

static struct node *compile_str_to_date(struct compiler *c, struct node *n, const struct function *function)
{
	struct span format = n->args[1]->u.value.s;
	bool date[3] = {false}, time = false;

	(void)function;
	if (str_to_date_refused(c, n->args))
		return NULL;
	for (size_t i = 0; i + 1 < format.len; i++) {
		char part = format.ptr[i + 1];

		if (format.ptr[i] != '%')
			continue;
		i++;
		date[0] |= part == 'Y';
		date[1] |= part == 'm' || part == 'c';
		date[2] |= part == 'd' || part == 'e';
		time |= strchr("HkisS", part) != NULL;
	}
	if (str_to_date_parts_refused(c, date[0] && date[1] && date[2]))
		return NULL;
	n->type = type_temporal(time ? EVAL_T_DATETIME : EVAL_T_DATE, 0);
	return n;
}

const struct function functions_encode[] = {
	{"format", 2, 2, compile_format, run_format, 0},
	{"conv", 3, 3, compile_conv, run_conv, 0},
	{"char", 1, 255, compile_char, run_char, 0},
	{"to_base64", 1, 1, compile_base64, run_to_base64, 0},
	{"from_base64", 1, 1, compile_base64, run_from_base64, 1},
	{"inet_aton", 1, 1, compile_inet_aton, run_inet_aton, 0},
	{"inet_ntoa", 1, 1, compile_inet_ntoa, run_inet_ntoa, 0},
	{"str_to_date", 2, 2, compile_str_to_date, run_str_to_date, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
