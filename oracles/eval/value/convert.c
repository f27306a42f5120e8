/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of one kind as values of another, and as text.  The manual, "Type Conversion in Expression
 * Evaluation": what cannot be converted gives what could be read of it, and a warning, which is not
 * kept here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/chars.h"
#include "eval/limits/value_guards.h"

#include "base/bug.h"
#include "base/mem.h"
#include "eval/node.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"
#include "server/errors.h"

/* ---- outcomes ---- */

void *outcome_error(struct eval_outcome *outcome, unsigned error, const char *what)
{
	if (outcome->status == EVAL_OK) {
		outcome->status = EVAL_ERROR;
		outcome->error = error;
		snprintf(outcome->reason, sizeof(outcome->reason), "%s", what);
	}
	return NULL;
}

void *outcome_unsupported(struct eval_outcome *outcome, enum eval_limit limit)
{
	if (outcome->status == EVAL_OK) {
		outcome->status = EVAL_UNSUPPORTED;
		outcome->limit = limit;
		snprintf(outcome->reason, sizeof(outcome->reason), "%s", limit_info(limit)->reason);
	}
	return NULL;
}

void outcome_warn(struct eval_outcome *outcome, unsigned code)
{
	if (outcome->warning_count < EVAL_WARNINGS_MAX)
		outcome->warnings[outcome->warning_count] = (uint16_t)code;
	outcome->warning_count++;
}

struct eval_value run_error(struct run *run, unsigned error, const char *what)
{
	run->failed = true;
	outcome_error(run->outcome, error, what);
	return EVAL_NULL_VALUE;
}

struct eval_value run_unsupported(struct run *run, enum eval_limit limit)
{
	CHECK_SLOW(run->failed || limit_covers(limit, run->env->flavour, run->env->version));
	run->failed = true;
	outcome_unsupported(run->outcome, limit);
	return EVAL_NULL_VALUE;
}

struct eval_value run_gives_up(struct run *run, enum eval_limit limit)
{
	return run_unsupported(run, limit);
}

struct eval_value run_passes_on(struct run *run, const struct eval_outcome *other)
{
	return other->status == EVAL_ERROR ? run_error(run, other->error, other->reason)
					   : run_unsupported(run, other->limit);
}

struct eval_value run_open_error(struct run *run, enum eval_limit limit)
{
	run->outcome->status = EVAL_OK;
	return run_unsupported(run, limit);
}

void run_truncated(struct run *run)
{
	if (!truncation_refused(run) && run->strict)
		run_error(run, ER_TRUNCATED_WRONG_VALUE, "truncated incorrect value");
}

/* ---- types ---- */

enum eval_kind eval_kind_of(const struct eval_type *type)
{
	switch ((enum eval_type_kind)type->kind) {
	case EVAL_T_NULL:
		return EVAL_NULL;
	case EVAL_T_INT:
		return type->is_unsigned ? EVAL_UINT : EVAL_INT;
	case EVAL_T_BIT:
	case EVAL_T_YEAR:
		return EVAL_UINT;
	case EVAL_T_DECIMAL:
		return EVAL_DECIMAL;
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE:
		return EVAL_DOUBLE;
	case EVAL_T_STRING:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_JSON:
		return EVAL_STRING;
	case EVAL_T_DATE:
		return EVAL_DATE;
	case EVAL_T_TIME:
		return EVAL_TIME;
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return EVAL_DATETIME;
	}
	return EVAL_NULL;
}

bool type_is_temporal(const struct eval_type *type)
{
	return type->kind >= EVAL_T_DATE;
}

bool type_is_number(const struct eval_type *type)
{
	return type->kind >= EVAL_T_INT && type->kind <= EVAL_T_DOUBLE;
}

bool type_is_string(const struct eval_type *type)
{
	return type->kind >= EVAL_T_STRING && type->kind <= EVAL_T_JSON;
}

bool type_is_list(const struct eval_type *type)
{
	return type->kind == EVAL_T_ENUM || type->kind == EVAL_T_SET;
}

bool type_is_int(const struct eval_type *type)
{
	return type->kind >= EVAL_T_INT && type->kind <= EVAL_T_YEAR;
}

bool type_is_bytes(const struct eval_type *type)
{
	return type_is_string(type) && type->collation == COLLATION_BINARY;
}

struct eval_type type_int(bool is_unsigned)
{
	return (struct eval_type){.kind = EVAL_T_INT,
		.bytes = 8,
		.is_unsigned = is_unsigned,
		.length = 21,
		.coercibility = 5};
}

struct eval_type type_bool(void)
{
	struct eval_type t = type_int(false);

	t.is_bool = true;
	t.length = 1;
	return t;
}

struct eval_type type_double(void)
{
	return (struct eval_type){
		.kind = EVAL_T_DOUBLE, .decimals = EVAL_NOT_FIXED, .length = 23, .coercibility = 5};
}

struct eval_type type_decimal(uint32_t precision, uint32_t scale)
{
	if (precision > DECIMAL_PRECISION_MAX)
		precision = DECIMAL_PRECISION_MAX;
	if (precision < scale)
		precision = scale;
	return (struct eval_type){.kind = EVAL_T_DECIMAL,
		.length = precision,
		.decimals = (uint8_t)scale,
		.coercibility = 5};
}

struct eval_type type_string(uint16_t collation, uint8_t coercibility, uint32_t length)
{
	return (struct eval_type){.kind = EVAL_T_STRING,
		.collation = collation,
		.coercibility = coercibility,
		.decimals = EVAL_NOT_FIXED,
		.length = length};
}

struct eval_type type_temporal(enum eval_type_kind kind, uint32_t decimals)
{
	return (struct eval_type){
		.kind = (uint8_t)kind, .decimals = (uint8_t)decimals, .coercibility = 5};
}

uint32_t decimal_scale_max(const struct eval_env *env)
{
	return env->flavour == SQL_MARIADB ? 38 : 30;
}

bool decimal_beyond(const struct eval_type *type, const struct decimal *d)
{
	struct decimal shown_as;

	return type->kind == EVAL_T_DECIMAL && d->scale > type->decimals &&
	       decimal_round(d, type->decimals, DECIMAL_HALF_UP, &shown_as) &&
	       decimal_compare(d, &shown_as) != 0;
}

uint32_t type_int_digits(const struct eval_type *type)
{
	switch ((enum eval_type_kind)type->kind) {
	case EVAL_T_INT:
		switch (type->bytes) {
		case 1:
			return 3;
		case 2:
			return 5;
		case 3:
			return 8;
		case 4:
			return 10;
		default:
			return type->length && type->length < 20 ? type->length : 20;
		}
	case EVAL_T_YEAR:
		return 4;
	case EVAL_T_BIT:
		return 20;
	case EVAL_T_DECIMAL:
		return type->length - type->decimals;
	case EVAL_T_NULL:
		return 0;
	case EVAL_T_DATE:
		return 8;
	case EVAL_T_TIME:
		return 7;
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return 14;
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE:
	case EVAL_T_STRING:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_JSON:
		return 30;
	}
	return 30;
}

uint32_t type_precision(const struct eval_type *type)
{
	uint32_t scale =
		type->kind == EVAL_T_DECIMAL || type_is_temporal(type) ? type->decimals : 0;

	return type_int_digits(type) + scale;
}

/* ---- numbers as text ---- */

/* The shortest digits of |d| and where the point is: 0.DIGITS * 10^point. */
static int shortest(double d, char digits[20], int *point)
{
	char text[DOUBLE_TEXT_MAX];
	int count = 0, exponent;

	double_shortest(fabs(d), text);
	for (const char *p = text; *p != 'e'; p++) {
		if (*p != '.')
			digits[count++] = *p;
	}
	exponent = atoi(strchr(text, 'e') + 1);
	while (count > 1 && digits[count - 1] == '0')
		count--;
	digits[count] = '\0';
	*point = exponent + 1;
	return count;
}

static void print_digits(bool neg, const char *digits, int count, int point, struct buf *out)
{
	if (neg)
		buf_add_char(out, '-');
	/* An exponent where zeros would have to be filled in beyond 15 places. */
	if ((point > 15 && count <= point) || point < -14) {
		buf_add_char(out, digits[0]);
		if (count > 1) {
			buf_add_char(out, '.');
			buf_add(out, digits + 1, (size_t)count - 1);
		}
		buf_printf(out, "e%d", point - 1);
		return;
	}
	if (point <= 0) {
		buf_add_str(out, "0.");
		for (int i = point; i < 0; i++)
			buf_add_char(out, '0');
		buf_add(out, digits, (size_t)count);
		return;
	}
	for (int i = 0; i < point || i < count; i++) {
		if (i == point)
			buf_add_char(out, '.');
		buf_add_char(out, i < count ? digits[i] : '0');
	}
}

void double_print(double d, struct buf *out)
{
	char digits[20];
	int point, count;

	if (d == 0) {
		buf_add_str(out, signbit(d) ? "-0" : "0");
		return;
	}
	count = shortest(d, digits, &point);
	print_digits(d < 0, digits, count, point, out);
}

/* The shortest digits when they are few enough, else rounded. */
void double_print_fixed(double d, uint32_t decimals, struct buf *out)
{
	char digits[20];
	int point, count = d == 0 ? 0 : shortest(d, digits, &point);

	if (d == 0 || count - point > (int)decimals) {
		buf_printf(out, "%.*f", (int)decimals, d);
		if (d != 0 && !decimals && fabs(d) <= 0.5)
			buf_add_char(out, '.'); /* as MariaDB prints it */
		return;
	}
	if (d < 0)
		buf_add_char(out, '-');
	if (point <= 0)
		buf_add_char(out, '0');
	for (int i = 0; i < point; i++)
		buf_add_char(out, i < count ? digits[i] : '0');
	if (decimals)
		buf_add_char(out, '.');
	for (int i = point; i < point + (int)decimals; i++)
		buf_add_char(out, i >= 0 && i < count ? digits[i] : '0');
}

void float_print(float f, struct buf *out)
{
	char text[40], digits[12];
	int count = 0, exponent;

	if (f == 0) {
		buf_add_str(out, signbit(f) ? "-0" : "0");
		return;
	}
	/* FLOAT is printed with six digits (FLT_DIG), whatever it holds. */
	for (int n = 1; n <= 6; n++) {
		snprintf(text, sizeof(text), "%.*e", n - 1, fabs((double)f));
		if (strtof(text, NULL) == fabsf(f))
			break;
	}
	for (const char *p = text; *p != 'e'; p++) {
		if (*p != '.')
			digits[count++] = *p;
	}
	exponent = atoi(strchr(text, 'e') + 1);
	while (count > 1 && digits[count - 1] == '0')
		count--;
	print_digits(f < 0, digits, count, exponent + 1, out);
}

/* Nothing but blanks from `from` on. */
static bool only_blanks(struct span s, size_t from)
{
	while (from < s.len && char_is_blank(s.ptr[from]))
		from++;
	return from >= s.len;
}

double text_to_double(struct span s, size_t *used)
{
	char text[400];
	size_t i = 0, start, n = 0, digits = 0;
	double d;

	while (i < s.len && char_is_blank(s.ptr[i]))
		i++;
	start = i;
	if (i < s.len && (s.ptr[i] == '-' || s.ptr[i] == '+'))
		i++;
	for (bool point = false; i < s.len; i++) {
		if (s.ptr[i] == '.' && !point)
			point = true;
		else if (char_is_digit(s.ptr[i]))
			digits++;
		else
			break;
	}
	if (!digits) {
		*used = 0;
		return 0;
	}
	if (i < s.len && (s.ptr[i] == 'e' || s.ptr[i] == 'E')) {
		size_t j = i + 1;

		if (j < s.len && (s.ptr[j] == '-' || s.ptr[j] == '+'))
			j++;
		if (j < s.len && char_is_digit(s.ptr[j])) {
			while (j < s.len && char_is_digit(s.ptr[j]))
				j++;
			i = j;
		}
	}
	n = i - start;
	if (n >= sizeof(text)) {
		char *copy = strndup(s.ptr + start, n);

		d = copy ? strtod(copy, NULL) : 0;
		mem_free(copy);
	} else {
		memcpy(text, s.ptr + start, n);
		text[n] = '\0';
		d = strtod(text, NULL);
	}
	*used = i;
	if (isinf(d))
		d = d < 0 ? -__DBL_MAX__ : __DBL_MAX__;
	return d;
}

/* The integer at the start of a string: digits only, as strings are read where an integer is
 * wanted ("1.9" is 1, "1e3" is 1). */
static struct eval_value text_to_integer(struct run *run, struct span s)
{
	size_t i = 0, start;
	bool neg = false, over = false;
	uint64_t u = 0;

	while (i < s.len && char_is_blank(s.ptr[i]))
		i++;
	text_before_int_refused(run, span_of(s.ptr, i));
	if (i < s.len && (s.ptr[i] == '-' || s.ptr[i] == '+'))
		neg = s.ptr[i++] == '-';
	start = i;
	for (; i < s.len && char_is_digit(s.ptr[i]); i++) {
		if (__builtin_mul_overflow(u, 10u, &u) ||
			__builtin_add_overflow(u, (uint64_t)(s.ptr[i] - '0'), &u))
			over = true;
	}
	if (i == start || !only_blanks(s, i) || over)
		run_truncated(run);
	if (!neg && !over)
		unsigned_text_as_int_refused(run, u);
	if (neg)
		return eval_int(over || u > (uint64_t)INT64_MAX + 1 ? INT64_MIN : (int64_t)(0 - u));
	if (over)
		return eval_uint(UINT64_MAX);
	return u > INT64_MAX ? eval_uint(u) : eval_int((int64_t)u);
}

static uint64_t hybrid_number(struct span s)
{
	uint64_t u = 0;
	size_t from = s.len > 8 ? s.len - 8 : 0;

	for (size_t i = from; i < s.len; i++)
		u = u << 8 | (unsigned char)s.ptr[i];
	return u;
}

/* ENUM and SET are their numbers where a number is wanted. */
static uint64_t member_number(const struct eval_type *type, struct span s)
{
	uint64_t set = 0;

	if (type->kind == EVAL_T_ENUM) {
		for (uint32_t i = 0; i < type->value_count; i++) {
			if (span_eq(type->values[i], s))
				return i + 1;
		}
		return 0;
	}
	for (size_t from = 0; from <= s.len && s.len;) {
		const char *comma = memchr(s.ptr + from, ',', s.len - from);
		size_t end = comma ? (size_t)(comma - s.ptr) : s.len;

		for (uint32_t i = 0; i < type->value_count && i < 64; i++) {
			if (span_eq(type->values[i], span_of(s.ptr + from, end - from)))
				set |= 1ull << i;
		}
		from = end + 1;
	}
	return set;
}

/* ---- conversions ---- */

double to_double(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	size_t used;
	double d;

	as_number_refused(run, type, v);
	switch ((enum eval_kind)v->kind) {
	case EVAL_NULL:
		return 0;
	case EVAL_INT:
		return (double)v->i;
	case EVAL_UINT:
		as_double_refused(run, type, v);
		return (double)v->u;
	case EVAL_DOUBLE:
		return v->d;
	case EVAL_DECIMAL:
		as_double_refused(run, type, v);
		return v->decimals == EVAL_REAL_SAME ? decimal_to_double(v->dec) : v->real;
	case EVAL_STRING:
		if (type->hybrid)
			return (double)hybrid_number(v->s);
		if (type->kind == EVAL_T_ENUM || type->kind == EVAL_T_SET)
			return (double)member_number(type, v->s);
		d = text_to_double(v->s, &used);
		text_as_double_refused(run, v->s, used, d);
		/* MySQL 9.7 says nothing of blanks alone, nor of any string in a TEXT or BLOB
		 * column. */
		if ((!used || !only_blanks(v->s, used) || fabs(d) == __DBL_MAX__) &&
			!(run->env->flavour == SQL_MYSQL && (type->blob || only_blanks(v->s, 0)))) {
			not_double_refused(run, type);
			run_truncated(run);
		}
		return d;
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		as_double_refused(run, type, v);
		return time_to_double(v);
	case EVAL_OPAQUE:
		break;
	}
	return 0;
}

struct eval_value to_integer(
	struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	bool overflow, strict = run->strict;
	struct eval_value i;

	as_number_refused(run, type, v);
	if (v->kind > EVAL_UINT || type->not_int)
		as_int_refused(run, type, v);
	switch ((enum eval_kind)v->kind) {
	case EVAL_NULL:
		return EVAL_NULL_VALUE;
	case EVAL_INT:
	case EVAL_UINT:
		return *v;
	case EVAL_DOUBLE: {
		double r = rint(v->d);

		if (type->is_unsigned && r >= 0)
			return eval_uint(r >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)r);
		if (r >= 9223372036854775808.0)
			return r < 18446744073709551616.0 && type->is_unsigned
				       ? eval_uint((uint64_t)r)
				       : eval_int(INT64_MAX);
		return eval_int(r <= -9223372036854775808.0 ? INT64_MIN : (int64_t)r);
	}
	case EVAL_DECIMAL:
		if (type->is_unsigned && !v->dec->neg)
			return eval_uint(decimal_to_uint(v->dec, &overflow));
		return eval_int(decimal_to_int(v->dec, &overflow));
	case EVAL_STRING:
		if (type->hybrid)
			return eval_uint(hybrid_number(v->s));
		if (type->kind == EVAL_T_ENUM || type->kind == EVAL_T_SET)
			return eval_uint(member_number(type, v->s));
		/* A TEXT or BLOB is no error to MySQL. */
		run->strict = strict && !(type->blob && run->env->flavour == SQL_MYSQL);
		i = text_to_integer(run, v->s);
		run->strict = strict;
		text_as_int_error_refused(run, type, v->s);
		return i;
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		return eval_int(time_to_int(v));
	case EVAL_OPAQUE:
		break;
	}
	return EVAL_NULL_VALUE;
}

struct decimal to_decimal(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	struct decimal d = {0};
	bool overflow, cut;
	size_t i = 0, used;

	as_number_refused(run, type, v);
	switch ((enum eval_kind)v->kind) {
	case EVAL_NULL:
		break;
	case EVAL_INT:
		return decimal_from_int(v->i);
	case EVAL_UINT:
		return decimal_from_uint(v->u);
	case EVAL_DOUBLE:
		double_as_decimal_refused(run, type);
		if (!decimal_from_double(v->d, &d))
			run_gives_up(run, LIMIT_DOUBLE_BEYOND_DECIMAL);
		break;
	case EVAL_DECIMAL:
		return *v->dec;
	case EVAL_STRING:
		if (type->hybrid)
			return decimal_from_uint(hybrid_number(v->s));
		if (type->kind == EVAL_T_ENUM || type->kind == EVAL_T_SET)
			return decimal_from_uint(member_number(type, v->s));
		while (i < v->s.len && char_is_blank(v->s.ptr[i]))
			i++;
		used = decimal_parse(span_of(v->s.ptr + i, v->s.len - i), &d, &overflow);
		cut = !used || !only_blanks(v->s, i + used);
		text_as_decimal_refused(run, used && overflow, cut);
		if (cut)
			run_truncated(run);
		if (!used)
			d = (struct decimal){0};
		break;
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		return time_to_decimal(v);
	case EVAL_OPAQUE:
		break;
	}
	return d;
}

static void print_value(const struct eval_type *type, const struct eval_value *v, struct buf *out)
{
	struct decimal rounded;

	switch ((enum eval_kind)v->kind) {
	case EVAL_NULL:
		buf_add_str(out, "NULL");
		return;
	case EVAL_INT:
		buf_printf(out, "%lld", (long long)v->i);
		return;
	case EVAL_UINT:
		if (type->kind == EVAL_T_BIT) {
			for (uint32_t i = (type->length + 7) / 8; i-- > 0;)
				buf_add_char(out, (char)(v->u >> (8 * i)));
		} else if (type->kind == EVAL_T_YEAR) {
			buf_printf(out, "%04llu", (unsigned long long)v->u);
		} else if (type->zerofill) {
			buf_printf(out, "%0*llu", (int)type->length, (unsigned long long)v->u);
		} else {
			buf_printf(out, "%llu", (unsigned long long)v->u);
		}
		return;
	case EVAL_DOUBLE:
		if (type->decimals < EVAL_NOT_FIXED)
			double_print_fixed(v->d, type->decimals, out);
		else if (type->kind == EVAL_T_FLOAT)
			float_print((float)v->d, out);
		else
			double_print(v->d, out);
		return;
	case EVAL_DECIMAL:
		if (type->kind == EVAL_T_DECIMAL && type->decimals != v->dec->scale &&
			!(type->own_scale && v->dec->scale < type->decimals) &&
			decimal_round(v->dec, type->decimals, DECIMAL_HALF_UP, &rounded))
			decimal_print(&rounded, out);
		else
			decimal_print(v->dec, out);
		return;
	case EVAL_STRING:
		buf_add_span(out, v->s);
		return;
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		time_print(v, type_is_temporal(type) ? type->decimals : v->decimals, out);
		return;
	case EVAL_OPAQUE:
		buf_add_str(out, "?");
		return;
	}
}

void eval_print(const struct eval_type *type, const struct eval_value *value, struct buf *out)
{
	print_value(type, value, out);
}

struct eval_value shown(struct run *run, struct eval_value v)
{

	if (v.kind != EVAL_DOUBLE || v.d != 0 || !signbit(v.d))
		return v;
	if (negative_zero_refused(run))
		return EVAL_NULL_VALUE;
	if (mariadb_2026(run->env) > 0)
		v.d = 0;
	return v;
}

struct span to_text(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	struct buf text = BUF_INIT;
	struct eval_value plain;
	struct span out;

	if (v->kind == EVAL_STRING)
		return v->s;
	plain = shown(run, *v);
	print_value(type, &plain, &text);
	as_text_refused(run, type, v, text.len);
	out = arena_copy(run->arena, buf_span(&text));
	buf_release(&text);
	return out;
}

bool text_convert(struct arena *arena, enum charset from, enum charset to, struct span s,
	struct span *out, bool *malformed)
{
	struct buf text = BUF_INIT;
	bool good = true;

	*malformed = false;
	if (from == to || to == CHARSET_BINARY || (text_is_ascii(s) && from != CHARSET_BINARY)) {
		*out = s;
		return true;
	}
	if (from == CHARSET_BINARY) {
		/* The bytes are taken as characters of the new set. */
		*out = s;
		*malformed = !text_is_valid(to, s);
		return !*malformed;
	}
	for (size_t i = 0; i < s.len && good;) {
		uint32_t n = char_bytes(from, span_of(s.ptr + i, s.len - i)), put;
		char bytes[4];

		if (!n) {
			*malformed = true;
			good = false;
			break;
		}
		put = char_put(to, char_code(from, s.ptr + i, n), bytes);
		if (!put)
			good = false;
		else
			buf_add(&text, bytes, put);
		i += n;
	}
	*out = good ? arena_copy(arena, buf_span(&text)) : s;
	buf_release(&text);
	return good;
}

struct eval_value make_decimal(struct run *run, const struct decimal *d)
{
	struct decimal *copy = arena_alloc(run->arena, sizeof(*copy));

	*copy = *d;
	return (struct eval_value){.kind = EVAL_DECIMAL, .dec = copy};
}

struct eval_value make_text(struct run *run, const struct buf *text, uint16_t collation)
{
	return eval_string(arena_copy(run->arena, buf_span(text)), collation);
}

bool to_bool(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	double d;

	if (run->failed)
		return false;
	switch ((enum eval_kind)v->kind) {
	case EVAL_NULL:
		return false;
	case EVAL_INT:
		return v->i != 0;
	case EVAL_UINT:
		return v->u != 0;
	case EVAL_DOUBLE:
		return v->d != 0;
	case EVAL_DECIMAL:
		return v->dec->count != 0;
	case EVAL_STRING:
		if (text_as_condition_refused(run))
			return false;
		d = to_double(run, type, v);
		number_as_condition_refused(run, d);
		return d != 0;
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		return time_to_double(v) != 0;
	case EVAL_OPAQUE:
		break;
	}
	return false;
}

struct eval_value to_type(struct run *run, const struct eval_type *from, const struct eval_value *v,
	const struct eval_type *to)
{
	struct decimal d;
	struct eval_value out;
	struct span text;
	bool malformed;

	if (v->kind == EVAL_NULL)
		return *v;
	switch ((enum eval_type_kind)to->kind) {
	case EVAL_T_NULL:
		return EVAL_NULL_VALUE;
	case EVAL_T_INT:
	case EVAL_T_BIT:
	case EVAL_T_YEAR:
		out = to_integer(run, from, v);
		if (eval_kind_of(to) == EVAL_UINT)
			return out.kind == EVAL_UINT ? out : eval_uint((uint64_t)out.i);
		return out.kind == EVAL_INT ? out : eval_int((int64_t)out.u);
	case EVAL_T_DECIMAL:
		d = to_decimal(run, from, v);
		/* The value keeps its own digits; printing rounds (as the servers do). */
		return make_decimal(run, &d);
	case EVAL_T_FLOAT:
		return eval_double((double)(float)to_double(run, from, v));
	case EVAL_T_DOUBLE:
		return eval_double(to_double(run, from, v));
	case EVAL_T_STRING:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_JSON:
		text = to_text(run, from, v);
		if (v->kind == EVAL_STRING &&
			!text_convert(run->arena, collation_charset(v->collation),
				collation_charset(to->collation), text, &text, &malformed))
			return run_gives_up(run, LIMIT_TEXT_THAT_OTHER_CHARACTER_SET_LACKS);
		return eval_string(text, to->collation);
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		if (!time_from_value(run, from, v, eval_kind_of(to), &out))
			return EVAL_NULL_VALUE;
		out.decimals = to->decimals;
		return out;
	}
	return EVAL_NULL_VALUE;
}
