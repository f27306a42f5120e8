/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of values that are converted to another type. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"

/* Constants of the condition may have been converted when the statement was prepared. */
bool truncation_refused(struct run *run)
{
	return run_refuses(run, LIMIT_CONSTANT_NOT_NUMBER_IN_CONDITION_IN_STRICT_MODE,
		run->strict && run->folded);
}

/* ---- numbers ---- */

static bool is_whole_number(struct span s)
{
	enum { DIGITS_MAX = 15 };
	size_t first = s.len && s.ptr[0] == '-';

	for (size_t i = first; i < s.len; i++) {
		if (!char_is_digit(s.ptr[i]))
			return false;
	}
	return s.len > first && s.len <= DIGITS_MAX;
}

/* A no-break space, which is white space to DECIMALs and integers, and not to DOUBLEs. */
static bool begins_in_nbsp(struct span s)
{
	size_t i = 0;

	while (i < s.len && char_is_blank(s.ptr[i]))
		i++;
	return i < s.len && s.ptr[i] == (char)0xa0;
}

bool odd_as_number_refused(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	bool text = v->kind == EVAL_STRING;

	return run_refuses(run, LIMIT_JSON_NOT_WHOLE_NUMBER_AS_NUMBER,
		       type->kind == EVAL_T_JSON && text && !is_whole_number(v->s)) ||
	       run_refuses(run, LIMIT_STRING_OF_GREATEST_ELT_IF_OR_CASE_AS_NUMBER, type->text_only) ||
	       run_refuses(run, LIMIT_MYSQL_DATE_OR_TIME_OF_IF_OR_CASE_AS_NUMBER,
		       type->merged && v->kind >= EVAL_DATE) ||
	       run_refuses(run, LIMIT_NEGATIVE_TIME_OF_IF_CASE_OR_NULLIF_AS_NUMBER,
		       type->merged && v->kind == EVAL_TIME && v->t.neg) ||
	       run_refuses(run, LIMIT_NUMBER_BEHIND_NO_BREAK_SPACE,
		       text && run->env->flavour == SQL_MARIADB &&
			       charset_max_bytes(collation_charset(v->collation)) == 1 &&
			       begins_in_nbsp(v->s));
}

static bool has_doubted_average(const struct eval_type *type, const struct eval_value *v)
{
	return v->kind == EVAL_DECIMAL && v->decimals != EVAL_REAL_SAME &&
	       v->real != decimal_to_double(v->dec) &&
	       (v->decimals == EVAL_REAL_DOUBTED || type->merged);
}

static bool has_inexact_fraction(const struct eval_value *v)
{
	return v->kind == EVAL_TIME && v->t.micro &&
	       fabs(time_to_double(v)) != ((double)llabs(time_to_int(v)) * 1e6 + v->t.micro) / 1e6;
}

bool as_double_refused(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	bool large = v->kind == EVAL_UINT && v->u > INT64_MAX;

	return run_refuses(run, LIMIT_LARGE_UNSIGNED_NUMBER_OF_IF_OR_CASE_AS_DOUBLE,
		       large && type->merged) ||
	       /* Signed, of a column. */
	       run_refuses(run, LIMIT_BIT_BEYOND_BIGINT_AS_DOUBLE, large && type->kind == EVAL_T_BIT) ||
	       /* IF() asks its argument for a DOUBLE, COALESCE() for a DECIMAL, each server its own way. */
	       run_refuses(run, LIMIT_AVG_AS_DOUBLE_BEHIND_IF_AND_KIN_OR_OF_GROUPS,
		       has_doubted_average(type, v)) ||
	       /* A column's is a sum of DOUBLEs, a function's may go by DECIMAL. */
	       run_refuses(run, LIMIT_MYSQL_TIME_WITH_DECIMALS_AS_DOUBLE, has_inexact_fraction(v));
}

/* Is the number of these digits, which are too many for a DOUBLE, almost in the middle between two?  The servers round some
 * of them down: '990.00000000000005684341886080802'. */
static bool is_between_doubles(struct span s, double d)
{
	char text[100];
	long double most;
	double next;

	if (s.len < 18 || s.len >= sizeof(text))
		return false;
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	most = strtold(text, NULL);
	next = nextafter(d, most > d ? INFINITY : -INFINITY);
	return fabsl(most - d) > 0.498L * fabsl((long double)next - d);
}

bool text_as_double_refused(struct run *run, struct span s, size_t used, double d)
{
	bool short_of_length = s.len - used == 2 || s.len - used == 4;

	return run_refuses(run, LIMIT_TEXT_OF_DIGITS_BETWEEN_TWO_DOUBLES,
		       is_between_doubles(span_of(s.ptr, used), d)) ||
	       /* '1e 1' + 0 is 1, '1e 1' = 1 is false. */
	       run_refuses(run, LIMIT_NUMBER_WITH_EMPTY_EXPONENT,
		       used && used + 1 < s.len && (s.ptr[used] | 32) == 'e' && s.ptr[used + 1] == ' ') ||
	       /* Field_varstring forgets the bytes of the length, twice one or two, until 8.0. */
	       run_refuses(run, LIMIT_MYSQL80_ERROR_OF_VARCHAR_NOT_NUMBER,
		       run->strict && run->env->flavour == SQL_MYSQL && short_of_length &&
			       !run_mysql_has(run, MYSQL_VARCHAR_AS_DOUBLE));
}

bool not_double_refused(struct run *run, const struct eval_type *type)
{
	return run_refuses(run, LIMIT_MYSQL5_ERROR_OF_NOT_NUMBER, run->strict) ||
	       /* An error of IF and NULLIF, none of COALESCE. */
	       run_refuses(run, LIMIT_MYSQL_TEXT_OF_IF_OR_COALESCE_NOT_NUMBER,
		       run->strict && type->merged);
}

/* AVG(): by way of a DOUBLE to some functions, 2.5 is 2 then. */
bool average_as_int_refused(struct run *run, const struct eval_value *v)
{
	bool overflow;

	return run_refuses(run, LIMIT_AVG_BETWEEN_TWO_INTEGERS_AS_INTEGER,
		v->decimals != EVAL_REAL_SAME &&
			rint(v->real) != (double)decimal_to_int(v->dec, &overflow));
}

bool as_int_refused(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	bool mariadb = run->env->flavour == SQL_MARIADB;
	bool large = v->kind == EVAL_DOUBLE && fabs(rint(v->d)) >= 0x1p63;

	return run_refuses(
		       run, LIMIT_GREATEST_OR_LEAST_WITH_FRACTIONS_AS_INTEGER, type->not_int) ||
	       run_refuses(run, LIMIT_MYSQL_LARGE_DOUBLE_AS_INTEGER, large) ||
	       /* Error 1916 of a column, none of a literal. */
	       run_refuses(run, LIMIT_LARGE_DOUBLE_AS_INTEGER_IN_STRICT_MODE, large && run->strict) ||
	       /* The difference of unsigned numbers: 0 to some, itself to others. */
	       run_refuses(run, LIMIT_UNSIGNED_DECIMAL_BELOW_ZERO_AS_INTEGER,
		       v->kind == EVAL_DECIMAL && type->is_unsigned && v->dec->neg && mariadb) ||
	       run_refuses(run, LIMIT_LARGE_DECIMAL_AS_INTEGER_IN_STRICT_MODE,
		       v->kind == EVAL_DECIMAL && run->strict && mariadb &&
			       decimal_int_digits(v->dec) > 18) ||
	       (v->kind == EVAL_DECIMAL && average_as_int_refused(run, v)) ||
	       /* Rounded, so that a minute may be full. */
	       time_as_int_refused(run, v);
}

bool text_before_int_refused(struct run *run, struct span blanks)
{
	return /* CAST knows blanks and tabs alone there, a column every kind. */
		run_refuses(run, LIMIT_MYSQL_TEXT_THAT_BEGINS_WITH_LINE_END_AS_INTEGER,
			blanks.len && blanks.ptr[blanks.len - 1] != ' ' &&
				blanks.ptr[blanks.len - 1] != '\t');
}

bool unsigned_text_as_int_refused(struct run *run, uint64_t u)
{
	return /* A column's text must be a BIGINT, a literal may be unsigned. */
		run_refuses(run, LIMIT_TEXT_BEYOND_BIGINT_AS_INTEGER_IN_STRICT_MODE,
			run->strict && u > INT64_MAX);
}

bool text_as_int_error_refused(struct run *run, const struct eval_type *type, struct span s)
{
	size_t used;

	if (!run->strict || !run_erred(run))
		return false;
	return /* '1.5' of a VARCHAR column is none, of other texts it is. */
		run_reopens(run, LIMIT_MYSQL_TEXT_THAT_BEGINS_WITH_NUMBER,
			!type->fixed && text_to_double(s, &used) != 0) ||
		/* Of COALESCE it is none. */
		run_reopens(run, LIMIT_MYSQL_TEXT_OF_COALESCE_AS_STRICT_INTEGER, type->merged);
}

/* GREATEST(0, double, decimal) compares DECIMALs then. */
bool double_as_decimal_refused(struct run *run, const struct eval_type *type)
{
	return run_refuses(run, LIMIT_GREATEST_OR_LEAST_OF_DOUBLES_AS_DECIMAL,
		type->not_int && type->kind == EVAL_T_DOUBLE && run->env->flavour == SQL_MARIADB);
}

bool text_as_decimal_refused(struct run *run, bool overflow, bool cut)
{
	return run_refuses(run, LIMIT_STRING_BEYOND_DECIMAL, overflow) ||
	       /* 1366 or 1292, as the place is. */
	       run_refuses(run, LIMIT_MYSQL_NO_NUMBER_IN_STRICT_MODE, cut && run->strict);
}

/* ---- texts ---- */

bool negative_zero_refused(struct run *run)
{
	return run_refuses(run, LIMIT_NEGATIVE_ZERO_WHICH_RELEASES_PRINT_DIFFERENTLY,
		mariadb_2026(run->env) < 0);
}

bool as_text_refused(struct run *run, const struct eval_type *type, const struct eval_value *v,
	size_t length)
{
	bool real = v->kind == EVAL_DOUBLE;

	return run_refuses(run, LIMIT_MYSQL_TEXT_OF_DOUBLE_WITH_DECIMALS_OF_IF_OR_CASE,
		       real && type->merged && type->decimals < EVAL_NOT_FIXED) ||
	       /* IFNULL(y, NULL) is '0' on MariaDB. */
	       run_refuses(run, LIMIT_TEXT_OF_YEAR_0000_OF_IFNULL_IF_AND_KIN,
		       type->kind == EVAL_T_YEAR && type->merged && v->kind == EVAL_UINT && !v->u) ||
	       run_refuses(run, LIMIT_MYSQL_DOUBLE_OF_MORE_THAN_22_CHARACTERS_AS_TEXT,
		       real && length > 22);
}

/* ---- conditions ---- */

/* Error 1292 or, of MariaDB 10.5, 1916. */
bool text_as_condition_refused(struct run *run)
{
	return run_refuses(
		run, LIMIT_MARIADB_10_5_STRING_AS_CONDITION_IN_STRICT_MODE, run->strict);
}

/* MariaDB makes a DECIMAL of a column's text, beside NOT, AND and OR: whatever else was met. */
bool number_as_condition_refused(struct run *run, double d)
{
	if (run->env->flavour != SQL_MARIADB ||
		!((d != 0 && fabs(d) < 1e-30) || (run->strict && fabs(d) >= 1e65)))
		return false;
	run_open_error(run, LIMIT_TEXT_ALMOST_ZERO_OR_BEYOND_DECIMAL_AS_CONDITION);
	return true;
}
