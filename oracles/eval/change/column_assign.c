/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a column holds after a value was assigned to it.  In strict mode what does not fit is an
 * error; otherwise the nearest value is stored with a warning (the manual, "Server SQL Modes" and
 * "Out-of-Range and Overflow Handling").
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "eval/operator/arithmetic.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "eval/value/json.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"
#include "server/errors.h"

struct column_assign {
	struct run *run;
	const struct eval_table *table;
	const struct eval_column *column;
	const struct eval_type *type; /* the column's */
	const struct eval_type *from; /* the value's */
	bool strict, ignore;
	bool numbers; /* NULL into an AUTO_INCREMENT column asks for the next number */
};

/* An error in strict mode, else a warning; true: go on. */
static bool complain(struct column_assign *s, unsigned code, const char *what)
{
	if (s->strict) {
		run_error(s->run, code, what);
		return false;
	}
	outcome_warn(s->run->outcome, code);
	return true;
}

/* ---- integers ---- */

static wide int_min(const struct eval_type *t)
{
	return t->is_unsigned ? 0 : -((wide)1 << (8 * t->bytes - 1));
}

static wide int_max(const struct eval_type *t)
{
	return ((wide)1 << (8 * t->bytes - !t->is_unsigned)) - 1;
}

static struct eval_value assign_wide(struct column_assign *s, wide w)
{
	wide low = int_min(s->type), high = int_max(s->type);

	if (w < low || w > high) {
		complain(s, 1264, "out of range");
		w = w < low ? low : high;
	}
	return s->type->is_unsigned ? eval_uint((uint64_t)w) : eval_int((int64_t)w);
}

static wide wide_of_double(double d)
{
	double r = rint(d);

	return r > 1e30 ? (wide)1 << 100 : r < -1e30 ? -((wide)1 << 100) : (wide)r;
}

static wide wide_of_decimal(const struct decimal *d)
{
	struct decimal r;
	wide w = 0;

	if (!decimal_round(d, 0, DECIMAL_HALF_UP, &r) || r.count > 4)
		return d->neg ? -((wide)1 << 100) : (wide)1 << 100;
	for (uint32_t i = r.count; i-- > 0;)
		w = w * 1000000000 + r.words[i];
	return r.neg ? -w : w;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The number in a string: 0 none, 1 the whole string, 2 its start. */
static int read_number(struct span s, struct decimal *d, bool *overflow)
{
	size_t start = 0, used;

	while (start < s.len && is_blank(s.ptr[start]))
		start++;
	used = decimal_parse(span_of(s.ptr + start, s.len - start), d, overflow);
	if (!used)
		return 0;
	for (size_t i = start + used; i < s.len; i++) {
		if (!is_blank(s.ptr[i]))
			return 2;
	}
	return 1;
}

/* Blanks and tabs before a number are passed over everywhere, others not. */
static bool begins_with_line_end(struct span s)
{
	size_t i = 0;

	while (i < s.len && (s.ptr[i] == ' ' || s.ptr[i] == '\t'))
		i++;
	return i < s.len && is_blank(s.ptr[i]);
}

/* Strings whose number the servers read in ways of their own: bytes (not text) that end in a blank,
 * which is then more than a number, exponents near the least DOUBLE, and those beyond 32 bits, which wrap around. */
static bool odd_number(const struct eval_value *v)
{
	struct span s = v->s;

	if (v->kind != EVAL_STRING)
		return false;
	if (v->collation == COLLATION_BINARY && s.len && is_blank(s.ptr[s.len - 1]))
		return true;
	for (size_t i = 0; i + 4 < s.len; i++) {
		if ((s.ptr[i] | 32) == 'e' && s.ptr[i + 1] == '-' && isdigit((unsigned char)s.ptr[i + 2]) &&
			isdigit((unsigned char)s.ptr[i + 3]) && isdigit((unsigned char)s.ptr[i + 4]))
			return true;
		if ((s.ptr[i] | 32) == 'e') {
			size_t digits = s.ptr[i + 1] == '+';

			while (i + 1 + digits < s.len && isdigit((unsigned char)s.ptr[i + 1 + digits]))
				digits++;
			if (digits > 9)
				return true;
		}
	}
	return false;
}

static bool two_dots(struct span s)
{
	const char *first = memchr(s.ptr, '.', s.len);

	return first && memchr(first + 1, '.', (size_t)(s.ptr + s.len - first - 1));
}

/* '1e 4', whose exponent DECIMALs have and integers have not. */
static bool blank_exponent(struct span s)
{
	for (size_t i = 0; i + 2 < s.len; i++) {
		if ((s.ptr[i] | 32) == 'e' && is_blank(s.ptr[i + 1]))
			return true;
	}
	return false;
}

static bool in_range(const struct eval_type *t, wide w)
{
	return w >= int_min(t) && w <= int_max(t);
}

static struct eval_value assign_int(struct column_assign *s, const struct eval_value *v)
{
	struct decimal d = {0};
	bool overflow;
	int read;

	switch ((enum eval_kind)v->kind) {
	case EVAL_INT:
		return assign_wide(s, v->i);
	case EVAL_UINT:
		return assign_wide(s, v->u);
	case EVAL_DOUBLE:
		/* As a DOUBLE it is the greatest BIGINT too, and not above it. */
		if (s->run->env->flavour == SQL_MARIADB && s->type->bytes == 8 &&
			!s->type->is_unsigned && v->d == 0x1p63)
			return eval_int(INT64_MAX);
		return assign_wide(s, wide_of_double(v->d));
	case EVAL_DECIMAL:
		if (s->type->is_unsigned && v->dec->neg) /* however small */
			complain(s, 1264, "out of range");
		return assign_wide(
			s, v->dec->neg && s->type->is_unsigned ? 0 : wide_of_decimal(v->dec));
	case EVAL_STRING:
		if (s->from->hybrid || s->from->kind == EVAL_T_ENUM ||
			s->from->kind == EVAL_T_SET) {
			struct eval_value i = to_integer(s->run, s->from, v);

			return assign_wide(s, i.u);
		}
		read = read_number(v->s, &d, &overflow);
		if (read && s->run->env->flavour == SQL_MYSQL && begins_with_line_end(v->s))
			return run_unsupported(
				s->run, LIMIT_MYSQL_TEXT_THAT_BEGINS_WITH_LINE_END_AS_INTEGER);
		if (read && blank_exponent(v->s))
			return run_unsupported(
				s->run, LIMIT_EXPONENT_BEHIND_BLANK_STORED_AS_INTEGER);
		if (read == 0)
			complain(s, 1366, "not an integer");
		else if (read == 2 && two_dots(v->s)) /* MariaDB takes '1.6.5' for 16 */
			return run_unsupported(
				s->run, LIMIT_NUMBER_WITH_TWO_DOTS_STORED_AS_INTEGER);
		else if (read == 2 && s->run->env->flavour == SQL_MYSQL)
			return run_unsupported(s->run, LIMIT_MYSQL_STRING_WITH_MORE_THAN_NUMBER);
		else if (read == 2 && !overflow && in_range(s->type, wide_of_decimal(&d)))
			complain(s, 1265, "data truncated");
		/* MariaDB: the largest number of all. */
		if ((overflow || decimal_int_digits(&d) > 18) && d.neg && s->type->is_unsigned)
			return run_unsupported(s->run, LIMIT_HUGE_NEGATIVE_NUMBER_IN_STRING);
		return assign_wide(
			s, overflow ? ((wide)1 << 100) * (d.neg ? -1 : 1) : wide_of_decimal(&d));
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		if (v->t.micro)
			return run_unsupported(s->run, LIMIT_TIME_WITH_FRACTION_STORED_AS_INTEGER);
		/* Of a column it was the number of its midnight. */
		if (v->kind == EVAL_DATE && s->run->env->flavour == SQL_MYSQL &&
			!run_mysql_has(s->run, MYSQL_DATE_AS_INTEGER))
			return run_unsupported(s->run, LIMIT_MYSQL80_DATE_STORED_AS_INTEGER);
		return assign_wide(s, time_to_int(v));
	case EVAL_NULL:
	case EVAL_OPAQUE:
		break;
	}
	return EVAL_NULL_VALUE;
}

/* ---- DECIMAL, FLOAT, DOUBLE ---- */

static struct eval_value assign_decimal(struct column_assign *s, const struct eval_value *v)
{
	struct decimal d, rounded;
	bool overflow = false, cut = false;
	int read;

	if (v->kind == EVAL_STRING && !s->from->hybrid && s->from->kind != EVAL_T_ENUM &&
		s->from->kind != EVAL_T_SET) {
		read = read_number(v->s, &d, &overflow);
		if (read == 0) {
			complain(s, 1366, "not a number");
			d = (struct decimal){0};
		}
		cut = read == 2;
	} else if (v->kind == EVAL_DOUBLE && !decimal_from_double(v->d, &d)) {
		overflow = true;
		d = (struct decimal){.neg = v->d < 0};
	} else if (v->kind != EVAL_DOUBLE) {
		d = to_decimal(s->run, s->from, v);
	}
	if (cut && !overflow)
		complain(s, s->run->env->flavour == SQL_MYSQL ? 1366 : 1265, "data truncated");
	/* A string of more digits than a DECIMAL can have: MySQL 9.7 may leave 0 without strict mode. */
	if (overflow && v->kind == EVAL_STRING && s->run->env->flavour == SQL_MYSQL)
		return complain(s, 1366, "no DECIMAL")
			       ? run_unsupported(s->run, LIMIT_MYSQL_STRING_BEYOND_DECIMAL_STORED)
			       : EVAL_NULL_VALUE;
	if (d.neg && (d.count || overflow) && s->type->is_unsigned) {
		complain(s, 1264, "out of range");
		d = (struct decimal){0};
		overflow = false;
	}
	if (overflow || !decimal_round(&d, s->type->decimals, DECIMAL_HALF_UP, &rounded) ||
		decimal_int_digits(&rounded) > s->type->length - s->type->decimals) {
		complain(s, 1264, "out of range");
		rounded = decimal_max(s->type->length, s->type->decimals, d.neg);
	} else if (d.scale > rounded.scale && decimal_compare(&d, &rounded) != 0) {
		outcome_warn(s->run->outcome, 1265); /* a note, in strict mode too */
	}
	return make_decimal(s->run, &rounded);
}

static struct eval_value assign_real(struct column_assign *s, const struct eval_value *v)
{
	double d, most = s->type->kind == EVAL_T_FLOAT ? __FLT_MAX__ : __DBL_MAX__;
	bool only_blanks, mysql = s->run->env->flavour == SQL_MYSQL;
	size_t used;

	if (v->kind == EVAL_STRING && !s->from->hybrid && s->from->kind != EVAL_T_ENUM &&
		s->from->kind != EVAL_T_SET) {
		d = text_to_double(v->s, &used);
		only_blanks = used == 0;
		for (; used < v->s.len && is_blank(v->s.ptr[used]); used++)
			;
		if (fabs(d) == __DBL_MAX__)
			complain(s, 1264, "out of range");
		else if (!used || only_blanks)
			complain(s, mysql && !run_mysql_has(s->run, MYSQL_NO_DOUBLE_1366) ? 1265 : 1366,
				"not a number");
		else if (used < v->s.len)
			complain(s, mysql && run_mysql_has(s->run, MYSQL_NO_DOUBLE_1366) ? 1366 : 1265,
				"data truncated");
	} else {
		d = to_double(s->run, s->from, v);
	}
	if (s->type->is_unsigned && d < 0) {
		complain(s, 1264, "out of range");
		d = 0;
	}
	if (s->type->decimals < EVAL_NOT_FIXED) {
		double limit = pow(10, (double)s->type->length - s->type->decimals) -
			       pow(10, -(double)s->type->decimals);
		double unit = pow(10, s->type->decimals);

		if (fabs(d) < 1e15)
			d = rint(d * unit) / unit;
		if (fabs(d) > limit) {
			complain(s, 1264, "out of range");
			d = d < 0 ? -limit : limit;
		}
	}
	if (fabs(d) > most) {
		complain(s, 1264, "out of range");
		d = d < 0 ? -most : most;
	}
	return shown(s->run, eval_double(s->type->kind == EVAL_T_FLOAT ? (double)(float)d : d));
}

/* ---- strings ---- */

/* A product is kept in groups of nine digits behind the point, and without a last one that is zero; what
 * was read has all. */
static bool ends_in_zero_group(uint32_t scale, struct span text)
{
	uint32_t digits = scale ? (scale - 1) % 9 + 1 : 0;

	for (uint32_t i = 1; i <= digits && i <= text.len; i++) {
		if (text.ptr[text.len - i] != '0')
			return false;
	}
	return digits > 0;
}

static struct eval_value assign_text(struct column_assign *s, const struct eval_value *v)
{
	enum charset charset = collation_charset(s->type->collation);
	struct eval_type own = type_decimal(65, v->kind == EVAL_DECIMAL ? v->dec->scale : 0);
	/* Numbers are stored with the digits that they have, not with those of their type. */
	struct eval_type real = type_double();
	struct span text = to_text(s->run,
		v->kind == EVAL_DECIMAL          ? &own
		: s->from->kind == EVAL_T_DOUBLE ? &real
						 : s->from,
		v);
	bool malformed = false, binary = charset == CHARSET_BINARY;
	size_t fits;

	/* A zero that was computed has lost its decimals, one that was read has not. */
	if (v->kind == EVAL_DECIMAL && !v->dec->count && v->dec->scale)
		return run_unsupported(s->run, LIMIT_DECIMAL_ZERO_STORED_AS_TEXT);
	if (v->kind == EVAL_DECIMAL && s->run->env->flavour == SQL_MARIADB &&
		mariadb_2026(s->run->env) != 1 && ends_in_zero_group(v->dec->scale, text))
		return run_unsupported(s->run, LIMIT_DECIMAL_WITH_ZEROS_AT_END_STORED_AS_TEXT);
	if (s->from->kind == EVAL_T_BIT || s->from->kind == EVAL_T_FLOAT || s->from->zerofill)
		return run_unsupported(s->run, LIMIT_BIT_FLOAT_OR_ZEROFILL_STORED_AS_TEXT);
	/* '0' in CHAR and VARCHAR, '0000' in TEXT. */
	if (s->from->kind == EVAL_T_YEAR && v->u == 0)
		return run_unsupported(s->run, LIMIT_YEAR_OF_ZERO_STORED_AS_TEXT);
	/* They are kept, or not. */
	if (v->kind == EVAL_STRING && v->collation == COLLATION_BINARY && charset == CHARSET_ASCII &&
		!text_is_ascii(text))
		return run_unsupported(s->run, LIMIT_BYTES_STORED_AS_ASCII);
	if (v->kind == EVAL_STRING && !text_convert(s->run->arena, collation_charset(v->collation),
					      charset, text, &text, &malformed)) {
		/* Or behind what the column has room for. */
		if (text_chars(collation_charset(v->collation), text) > s->type->length)
			return run_unsupported(
				s->run, LIMIT_LONG_TEXT_WITH_CHARACTERS_THAT_COLUMN_SET_LACKS);
		if (complain(s, 1366, "characters that the column's set lacks"))
			return run_unsupported(s->run, LIMIT_TEXT_THAT_COLUMN_SET_LACKS);
		return EVAL_NULL_VALUE;
	}
	if (s->type->blob)
		fits = text.len <= s->type->length ? text.len : s->type->length;
	else
		fits = text_offset(charset, text, s->type->length);
	if (fits < text.len) {
		size_t end = text.len;

		if (v->kind == EVAL_DOUBLE) /* the server tries to print it shorter */
			return run_unsupported(s->run, LIMIT_DOUBLE_LONGER_THAN_COLUMN);

		while (!binary && end > fits && is_blank(text.ptr[end - 1]))
			end--;
		if (end > fits && text.ptr[end - 1] == (char)0xa0 && v->kind == EVAL_STRING &&
			collation_charset(v->collation) == CHARSET_LATIN1)
			return run_unsupported(s->run, LIMIT_LONG_TEXT_THAT_ENDS_IN_NO_BREAK_SPACE);
		if (end == fits) {
			if (!s->type->fixed)
				outcome_warn(s->run->outcome, 1265); /* blanks: a note */
		} else if (s->strict) {
			return run_error(s->run, ER_DATA_TOO_LONG, "data too long");
		} else {
			outcome_warn(s->run->outcome, 1265);
		}
		if (s->type->blob && !binary)
			return run_unsupported(s->run, LIMIT_TEXT_BEYOND_COLUMN_BYTES);
		text.len = fits;
	}
	if (s->type->fixed && binary && text.len < s->type->length) {
		char *padded = arena_zero(s->run->arena, s->type->length + 1);

		memcpy(padded, text.ptr, text.len);
		text = span_of(padded, s->type->length);
	} else if (s->type->fixed && !binary) {
		if (s->run->env->mode & EVAL_MODE_PAD_CHAR_TO_FULL_LENGTH)
			return run_unsupported(s->run, LIMIT_PAD_CHAR_TO_FULL_LENGTH);
		while (text.len && text.ptr[text.len - 1] == ' ')
			text.len--;
	}
	return eval_string(text, s->type->collation);
}

static uint32_t find_member(struct column_assign *s, struct span text)
{
	bool unknown = false;

	for (uint32_t i = 0; i < s->type->value_count; i++) {
		if (collation_compare(s->type->collation, s->type->values[i], text, &unknown) ==
				0 &&
			!unknown)
			return i;
		if (unknown && span_eq(s->type->values[i], text))
			return i;
	}
	if (unknown)
		run_unsupported(s->run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
	return UINT32_MAX;
}

/* Blanks at the end are cut off, but not of bytes. */
static bool ends_in_blank_byte(const struct column_assign *s, struct span text)
{
	return s->type->collation == COLLATION_BINARY && text.len && text.ptr[text.len - 1] == ' ';
}

static bool is_letter(char c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

static struct eval_value assign_enum(struct column_assign *s, const struct eval_value *v)
{
	struct eval_value i;
	uint32_t member;

	if (s->from->hybrid)
		return run_unsupported(s->run, LIMIT_HEXADECIMAL_LITERAL_AS_ENUM_OR_SET);
	if (v->kind == EVAL_STRING && ends_in_blank_byte(s, v->s))
		return run_unsupported(
			s->run, LIMIT_BLANK_AT_END_OF_MEMBER_OF_ENUM_OR_SET_OF_BYTES);
	if (v->kind == EVAL_STRING) {
		struct span text = v->s;

		while (text.len && text.ptr[text.len - 1] == ' ')
			text.len--;
		member = find_member(s, text);
		if (!text.len && member == UINT32_MAX && !s->run->failed)
			return run_unsupported(s->run, LIMIT_EMPTY_STRING_AS_MEMBER_OF_ENUM);
		if (member == UINT32_MAX && !s->run->failed && !is_letter(text.ptr[0]))
			return run_unsupported(s->run, LIMIT_NUMBER_IN_STRING_AS_MEMBER_OF_ENUM);
		if (member != UINT32_MAX)
			return eval_string(s->type->values[member], s->type->collation);
	} else {
		if (v->kind != EVAL_INT && v->kind != EVAL_UINT && v->kind != EVAL_STRING)
			return run_unsupported(
				s->run, LIMIT_NUMBER_WITH_FRACTION_OR_TIME_AS_ENUM_OR_SET);
		i = to_integer(s->run, s->from, v);
		if (i.u >= 1 && i.u <= s->type->value_count)
			return eval_string(s->type->values[i.u - 1], s->type->collation);
	}
	complain(s, 1265, "no member of the ENUM");
	return eval_string(SPAN_LIT(""), s->type->collation);
}

static struct eval_value assign_set(struct column_assign *s, const struct eval_value *v)
{
	struct buf text = BUF_INIT;
	struct eval_value out, i;
	uint64_t bits = 0, all;
	bool bad = false;

	all = s->type->value_count >= 64 ? UINT64_MAX : (1ull << s->type->value_count) - 1;
	if (s->from->hybrid)
		return run_unsupported(s->run, LIMIT_HEXADECIMAL_LITERAL_AS_ENUM_OR_SET);
	if (v->kind == EVAL_STRING && ends_in_blank_byte(s, v->s))
		return run_unsupported(
			s->run, LIMIT_BLANK_AT_END_OF_MEMBER_OF_ENUM_OR_SET_OF_BYTES);
	if (v->kind == EVAL_STRING) {
		size_t len = v->s.len;

		while (len && v->s.ptr[len - 1] == ' ') /* whatever the collation says of blanks */
			len--;
		bad = v->s.len && !len;
		for (size_t from = 0; from <= len && len;) {
			const char *comma = memchr(v->s.ptr + from, ',', len - from);
			size_t end = comma ? (size_t)(comma - v->s.ptr) : len;
			uint32_t member = find_member(s, span_of(v->s.ptr + from, end - from));

			/* Those before the last are compared with their blanks. */
			if (member == UINT32_MAX || (end > from && v->s.ptr[end - 1] == ' '))
				bad = true;
			else
				bits |= 1ull << member;
			from = end + 1;
		}
		if (bad && !is_letter(v->s.ptr[0]))
			return run_unsupported(s->run, LIMIT_NUMBER_IN_STRING_AS_SET);
	} else {
		if (v->kind != EVAL_INT && v->kind != EVAL_UINT && v->kind != EVAL_STRING)
			return run_unsupported(
				s->run, LIMIT_NUMBER_WITH_FRACTION_OR_TIME_AS_ENUM_OR_SET);
		i = to_integer(s->run, s->from, v);
		bad = (i.u & ~all) != 0;
		bits = i.u & all;
	}
	if (bad)
		complain(s, 1265, "no member of the SET");
	for (uint32_t k = 0; k < s->type->value_count && k < 64; k++) {
		if (!(bits >> k & 1))
			continue;
		if (text.len)
			buf_add_char(&text, ',');
		buf_add_span(&text, s->type->values[k]);
	}
	out = make_text(s->run, &text, s->type->collation);
	buf_release(&text);
	return out;
}

/* ---- the rest ---- */

static struct eval_value assign_bit(struct column_assign *s, const struct eval_value *v)
{
	uint64_t most = s->type->length >= 64 ? UINT64_MAX : (1ull << s->type->length) - 1, u = 0;
	bool over = false;

	if (v->kind == EVAL_STRING) {
		size_t from = 0;

		while (from < v->s.len && v->s.ptr[from] == 0)
			from++;
		over = v->s.len - from > 8;
		for (; from < v->s.len; from++)
			u = u << 8 | (unsigned char)v->s.ptr[from];
	} else if (v->kind == EVAL_INT || v->kind == EVAL_UINT) {
		u = v->u;
	} else {
		return run_unsupported(s->run, LIMIT_NUMBER_WITH_FRACTION_OR_TIME_STORED_AS_BIT);
	}
	if (over || u > most) {
		complain(s,
			s->run->env->flavour == SQL_MYSQL || v->kind == EVAL_STRING ? 1406 : 1406,
			"data too long");
		u = most;
	}
	return eval_uint(u);
}

static struct eval_value assign_year(struct column_assign *s, const struct eval_value *v)
{
	struct eval_value i = *v;
	wide w;

	if (v->kind == EVAL_STRING) {
		if (v->s.len != 4 || !text_is_ascii(v->s))
			return run_unsupported(
				s->run, LIMIT_STRING_OF_OTHER_THAN_FOUR_DIGITS_AS_YEAR);
		for (size_t k = 0; k < 4; k++) {
			if (v->s.ptr[k] < '0' || v->s.ptr[k] > '9')
				return run_unsupported(s->run, LIMIT_STRING_AS_YEAR);
		}
		i = to_integer(s->run, s->from, v);
		if (i.i && i.i < 1901)
			return run_unsupported(s->run, LIMIT_STRING_AS_YEAR);
	} else if (v->kind != EVAL_INT && v->kind != EVAL_UINT) {
		return run_unsupported(s->run, LIMIT_NUMBER_WITH_FRACTION_OR_TIME_STORED_AS_YEAR);
	}
	w = i.kind == EVAL_UINT ? (wide)i.u : (wide)i.i;
	if (w < 0 || (w > 99 && w < 1901) || w > 2155) {
		complain(s, 1264, "out of range");
		return eval_uint(0);
	}
	if (w && w < 70)
		w += 2000;
	else if (w >= 70 && w < 100)
		w += 1900;
	return eval_uint((uint64_t)w);
}

static bool assign_rounds(const struct eval_env *env)
{
	if (env->flavour == SQL_MYSQL)
		return !(env->mode & EVAL_MODE_TIME_TRUNCATE_FRACTIONAL);
	return env->mode & EVAL_MODE_TIME_ROUND_FRACTIONAL;
}

static bool near_midnight(const struct eval_value *v)
{
	return v->t.micro >= 500000 && v->t.second == 59 && v->t.minute == 59 && v->t.hour == 23;
}

static struct eval_value assign_time(struct column_assign *s, const struct eval_value *v)
{
	enum eval_kind kind = eval_kind_of(s->type);
	struct eval_value out, zero = {.kind = (uint8_t)kind, .decimals = s->type->decimals};
	bool cut = kind == EVAL_DATE && v->kind == EVAL_DATETIME && time_pack(v) % 86400000000ll;

	if (s->from->kind == EVAL_T_YEAR)
		return run_unsupported(s->run, LIMIT_YEAR_STORED_AS_DATE_OR_TIME);
	/* It is rounded to the next day, or not; MySQL rounds a string's too. */
	if (kind == EVAL_DATE && v->kind == EVAL_DATETIME && near_midnight(v))
		return run_unsupported(s->run, LIMIT_TIME_ROUNDED_BEYOND_LAST_DAY);
	if (kind == EVAL_DATE && v->kind == EVAL_STRING && s->run->env->flavour == SQL_MYSQL &&
		memchr(v->s.ptr, '.', v->s.len) &&
		time_from_value(s->run, s->from, v, EVAL_DATETIME, &out) && near_midnight(&out))
		return run_unsupported(s->run, LIMIT_TIME_ROUNDED_BEYOND_LAST_DAY);
	if (v->kind >= EVAL_DATE && v->kind != EVAL_TIME && date_is_doubtful(s->run->env, &v->t))
		return run_unsupported(
			s->run, LIMIT_DATE_WITH_ZERO_IN_STORED_AGAIN_WHICH_SQL_MODE_FORBIDS);
	if (!time_from_value(s->run, s->from, v, kind, &out)) {
		if (!s->run->failed)
			complain(s, 1292, "not a date or time");
		return zero;
	}
	if (cut)
		outcome_warn(s->run->outcome, 1265);
	if (!(assign_rounds(s->run->env) ? time_round(s->run->env, &out, s->type->decimals)
					: time_set_decimals(&out, s->type->decimals, false)))
		return run_unsupported(s->run, LIMIT_TIME_ROUNDED_BEYOND_LAST_DAY);
	if (s->type->kind == EVAL_T_TIMESTAMP) {
		if (out.t.year && (out.t.year < 1971 || out.t.year > 2036))
			return run_unsupported(s->run, LIMIT_TIMESTAMP_NEAR_ENDS_OF_RANGE);
		if (date_is_zeroish(&out.t) && !date_is_zero(&out.t)) {
			complain(s, 1292, "not a date or time");
			return zero;
		}
	}
	return out;
}

static struct eval_value assign_null(struct column_assign *s)
{
	if (s->column->nullable || (s->column->auto_increment && s->numbers))
		return EVAL_NULL_VALUE;
	if (s->type->kind == EVAL_T_TIMESTAMP)
		return run_unsupported(s->run, LIMIT_NULL_INTO_TIMESTAMP_NOT_NULL);
	if (s->strict)
		return run_error(s->run, ER_BAD_NULL_ERROR, "column cannot be null");
	/* IGNORE takes what the type has for nothing. */
	if (s->ignore && s->type->kind == EVAL_T_INT) {
		outcome_warn(s->run->outcome, 1048);
		return s->type->is_unsigned ? eval_uint(0) : eval_int(0);
	}
	/* A statement with one row fails in any mode; which one this is, only the caller knows. */
	return run_unsupported(s->run, LIMIT_NULL_INTO_NOT_NULL_OUTSIDE_STRICT_MODE);
}

/* MySQL's: a copy, or a text that is read. */
static struct eval_value assign_json(struct column_assign *s, const struct eval_value *v)
{
	struct buf text = BUF_INIT;
	struct eval_value out = *v;

	if (s->from->kind == EVAL_T_JSON)
		return *v;
	if (v->kind != EVAL_STRING || s->from->kind != EVAL_T_STRING || s->from->hybrid ||
		collation_charset(v->collation) != CHARSET_UTF8MB4 || s->from->merged ||
		s->run->env->version < 80003)
		return run_unsupported(s->run, LIMIT_STORING_OTHER_THAN_TEXT_AS_JSON);
	switch (json_normal(s->run->arena, v->s, &text)) {
	case JSON_FINE:
		out = eval_string(arena_copy(s->run->arena, buf_span(&text)), s->type->collation);
		break;
	case JSON_INVALID:
		out = s->ignore ? run_unsupported(s->run, LIMIT_IGNORE_OF_NOT_JSON)
				: run_error(s->run, ER_INVALID_JSON_TEXT, "invalid JSON text");
		break;
	case JSON_UNSURE:
		out = run_unsupported(s->run, LIMIT_STORING_RARE_JSON);
		break;
	}
	buf_release(&text);
	return out;
}

static struct eval_value assign_value(struct column_assign *s, const struct eval_value *v)
{
	if (s->run->env->flavour == SQL_MYSQL && s->from->merged && v->kind >= EVAL_DATE)
		return run_unsupported(s->run, LIMIT_MYSQL_STORING_DATE_OR_TIME_OF_IF_OR_CASE);
	if (mariadb_2026(s->run->env) != 1 && s->type->kind == EVAL_T_FLOAT &&
		(v->kind == EVAL_STRING || (v->kind == EVAL_DOUBLE && v->d == 0)))
		return run_unsupported(s->run, LIMIT_STORING_WHAT_MAY_BE_NEGATIVE_ZERO_AS_FLOAT);
	if (v->kind == EVAL_NULL)
		return assign_null(s);
	if (v->kind == EVAL_DECIMAL && s->run->env->flavour == SQL_MYSQL &&
		decimal_beyond(s->from, v->dec))
		(void)run_mysql_has(s->run, MYSQL_QUOTIENT_ROUNDED);
	if ((s->run->env->mode & EVAL_MODE_EMPTY_STRING_IS_NULL) && v->kind == EVAL_STRING)
		return run_unsupported(s->run, LIMIT_EMPTY_STRING_IS_NULL);
	if (odd_number(v) && !s->from->hybrid &&
		(type_is_int(s->type) || s->type->kind == EVAL_T_DECIMAL ||
			s->type->kind == EVAL_T_FLOAT || s->type->kind == EVAL_T_DOUBLE))
		return run_unsupported(s->run, LIMIT_ODD_NUMBER_IN_STRING_STORED);
	switch ((enum eval_type_kind)s->type->kind) {
	case EVAL_T_NULL:
		break;
	case EVAL_T_INT:
		return assign_int(s, v);
	case EVAL_T_BIT:
		/* By number from a column, by its text from an expression. */
		if (s->from->kind == EVAL_T_ENUM || s->from->kind == EVAL_T_SET)
			return run_unsupported(s->run, LIMIT_STORING_ENUM_OR_SET_AS_BIT);
		return assign_bit(s, v);
	case EVAL_T_YEAR:
		return assign_year(s, v);
	case EVAL_T_DECIMAL:
		return assign_decimal(s, v);
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE:
		return assign_real(s, v);
	case EVAL_T_STRING:
		return assign_text(s, v);
	case EVAL_T_ENUM:
		return assign_enum(s, v);
	case EVAL_T_SET:
		return assign_set(s, v);
	case EVAL_T_JSON:
		return assign_json(s, v);
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return assign_time(s, v);
	}
	return EVAL_NULL_VALUE;
}

static bool is_strict(const struct eval_env *env, const struct eval_table *table, unsigned flags)
{
	if (flags & EVAL_ASSIGN_IGNORE)
		return false;
	if (env->mode & EVAL_MODE_STRICT_ALL_TABLES)
		return true;
	return (env->mode & EVAL_MODE_STRICT_TRANS_TABLES) &&
	       (table->transactional || !(flags & EVAL_ASSIGN_LATER_ROW));
}

bool eval_column_assign(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	uint32_t column, const struct eval_type *type, const struct eval_value *value,
	unsigned flags, struct eval_value *out, struct eval_outcome *outcome)
{
	struct run run = {.env = env, .arena = arena, .outcome = outcome};
	struct column_assign s = {.run = &run,
		.table = table,
		.column = &table->columns[column],
		.type = &table->columns[column].type,
		.from = type,
		.strict = is_strict(env, table, flags),
		.ignore = (flags & EVAL_ASSIGN_IGNORE) != 0,
		.numbers = !(flags & EVAL_ASSIGN_UPDATE)};

	if (outcome->status != EVAL_OK)
		return false;
	*out = assign_value(&s, value);
	return !run.failed;
}

/* ---- generated columns and checks ---- */

bool eval_is_virtual(const struct eval_column *column)
{
	return column->generated && column->storage != SQL_GENERATED_STORED;
}

/* MariaDB computes a VIRTUAL column of a row that it writes where something needs it: an index, or a CHECK, a
 * trigger, RETURNING, another column.  Where nothing does, what it cannot hold is no error, and the nearest value is
 * read. */
static bool may_stay_uncomputed(const struct eval_env *env, const struct eval_table *table, uint32_t column)
{
	if (env->flavour != SQL_MARIADB || !eval_is_virtual(&table->columns[column]))
		return false;
	for (uint32_t i = 0; i < table->index_count; i++) {
		for (uint32_t k = 0; k < table->indexes[i].count; k++) {
			if (table->indexes[i].columns[k] == column)
				return false;
		}
	}
	return true;
}

static bool generate_one(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	uint32_t i, unsigned flags, struct eval_value *row, struct eval_outcome *outcome)
{
	struct eval_outcome inner;
	struct eval_value v;
	struct eval_expr *expr =
		eval_expr_compile(arena, table->columns[i].generated, table, SPAN_NONE, env, NULL, &inner);

	if (!expr || !eval_expr_run(expr, arena, env, NULL, row, &v, &inner)) {
		*outcome = inner;
		return false;
	}
	return eval_column_assign(arena, env, table, i, eval_expr_type(expr), &v, flags, &row[i], outcome);
}

bool eval_generate(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	unsigned flags, struct eval_value *row, struct eval_outcome *outcome)
{
	for (uint32_t i = 0; i < table->column_count; i++) {
		const struct eval_column *column = &table->columns[i];

		if (!column->generated || (flags & EVAL_ASSIGN_CASCADE && !eval_is_virtual(column)))
			continue;
		if (generate_one(arena, env, table, i, flags, row, outcome))
			continue;
		if (outcome->status == EVAL_ERROR && may_stay_uncomputed(env, table, i)) {
			outcome->status = EVAL_OK;
			outcome_unsupported(
				outcome, LIMIT_MARIADB_VIRTUAL_COLUMN_THAT_CANNOT_HOLD_VALUE);
		}
		return false;
	}
	return true;
}

/* In strict mode what a text that is no number makes a warning of elsewhere is an error here, and the row is refused
 * (seen on MySQL 9.7; not on MariaDB). */
static bool fails_strictly(const struct eval_expr *expr, struct arena *arena, const struct eval_env *env,
	const struct eval_value *row)
{
	struct eval_outcome outcome = {0};
	struct run run = run_begin(env, NULL, arena, &outcome);
	struct frame f = {.run = &run, .rows = &row};

	if (env->flavour != SQL_MYSQL ||
		!(env->mode & (EVAL_MODE_STRICT_TRANS_TABLES | EVAL_MODE_STRICT_ALL_TABLES)))
		return false;
	run.strict = true;
	(void)node_run(expr->node, &f);
	return run.failed;
}

bool eval_check(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	const struct eval_value *row, struct eval_outcome *outcome)
{
	for (uint32_t i = 0; i < table->check_count; i++) {
		struct eval_expr *expr = eval_expr_compile(
			arena, table->checks[i]->check, table, SPAN_NONE, env, NULL, outcome);
		enum eval_truth truth;

		if (!expr || !eval_expr_test(expr, arena, env, NULL, row, &truth, outcome))
			return false;
		if (fails_strictly(expr, arena, env, row)) {
			outcome_unsupported(
				outcome, LIMIT_MYSQL_CHECK_THAT_CANNOT_BE_COMPUTED_IN_STRICT_MODE);
			return false;
		}
		if (truth == EVAL_FALSE) {
			outcome_error(outcome, env->flavour == SQL_MARIADB ? 4025 : 3819,
				"a CHECK constraint fails");
			return false;
		}
	}
	return true;
}
