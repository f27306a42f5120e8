/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of what is assigned to a column. */
#include <string.h>

#include "base/chars.h"
#include "eval/change/change.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"

static bool is_integer(const struct eval_value *v)
{
	return v->kind == EVAL_INT || v->kind == EVAL_UINT;
}

static bool ends_in(struct span s, char c)
{
	return s.len && s.ptr[s.len - 1] == c;
}

/* ---- any column ---- */

/* Strings whose number the servers read in ways of their own: bytes (not text) that end in a blank,
 * which is then more than a number, exponents near the least DOUBLE, and those beyond 32 bits, which wrap around. */
static bool odd_number(const struct eval_value *v)
{
	struct span s = v->s;

	if (v->kind != EVAL_STRING)
		return false;
	if (v->collation == COLLATION_BINARY && s.len && char_is_blank(s.ptr[s.len - 1]))
		return true;
	for (size_t i = 0; i + 4 < s.len; i++) {
		if ((s.ptr[i] | 32) == 'e' && s.ptr[i + 1] == '-' && char_is_digit(s.ptr[i + 2]) &&
			char_is_digit(s.ptr[i + 3]) && char_is_digit(s.ptr[i + 4]))
			return true;
		if ((s.ptr[i] | 32) == 'e') {
			size_t digits = s.ptr[i + 1] == '+';

			while (i + 1 + digits < s.len && char_is_digit(s.ptr[i + 1 + digits]))
				digits++;
			if (digits > 9)
				return true;
		}
	}
	return false;
}

static bool may_be_negative_zero(const struct eval_env *env, const struct eval_value *v)
{
	return mariadb_2026(env) != 1 &&
	       (v->kind == EVAL_STRING || (v->kind == EVAL_DOUBLE && v->d == 0));
}

bool assign_refused(const struct column_assign *s, const struct eval_value *v)
{
	struct run *run = s->run;
	bool real = s->type->kind == EVAL_T_FLOAT || s->type->kind == EVAL_T_DOUBLE;
	bool number = type_is_int(s->type) || s->type->kind == EVAL_T_DECIMAL || real;

	return run_refuses(run, LIMIT_MYSQL_STORING_DATE_OR_TIME_OF_IF_OR_CASE,
		       s->from->merged && v->kind >= EVAL_DATE) ||
	       run_refuses(run, LIMIT_STORING_WHAT_MAY_BE_NEGATIVE_ZERO_AS_FLOAT,
		       s->type->kind == EVAL_T_FLOAT && may_be_negative_zero(run->env, v)) ||
	       run_refuses(run, LIMIT_EMPTY_STRING_IS_NULL,
		       v->kind == EVAL_STRING && (run->env->mode & EVAL_MODE_EMPTY_STRING_IS_NULL)) ||
	       run_refuses(run, LIMIT_ODD_NUMBER_IN_STRING_STORED,
		       number && !s->from->hybrid && odd_number(v));
}

/* ---- integers, DECIMAL ---- */

/* Blanks and tabs before a number are passed over everywhere, others not. */
static bool begins_with_line_end(struct span s)
{
	size_t i = 0;

	while (i < s.len && (s.ptr[i] == ' ' || s.ptr[i] == '\t'))
		i++;
	return i < s.len && char_is_blank(s.ptr[i]);
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
		if ((s.ptr[i] | 32) == 'e' && char_is_blank(s.ptr[i + 1]))
			return true;
	}
	return false;
}

bool assign_text_as_int_refused(const struct column_assign *s, struct span text, int read,
	const struct decimal *d, bool overflow)
{
	struct run *run = s->run;
	bool huge = overflow || decimal_int_digits(d) > 18;

	if (!read)
		return false;
	return run_refuses(run, LIMIT_MYSQL_TEXT_THAT_BEGINS_WITH_LINE_END_AS_INTEGER,
		       begins_with_line_end(text)) ||
	       run_refuses(run, LIMIT_EXPONENT_BEHIND_BLANK_STORED_AS_INTEGER, blank_exponent(text)) ||
	       /* MariaDB takes '1.6.5' for 16. */
	       run_refuses(run, LIMIT_NUMBER_WITH_TWO_DOTS_STORED_AS_INTEGER,
		       read == 2 && two_dots(text)) ||
	       run_refuses(run, LIMIT_MYSQL_STRING_WITH_MORE_THAN_NUMBER, read == 2) ||
	       /* MariaDB: the largest number of all. */
	       run_refuses(run, LIMIT_HUGE_NEGATIVE_NUMBER_IN_STRING,
		       huge && d->neg && s->type->is_unsigned);
}

bool assign_time_as_int_refused(const struct column_assign *s, const struct eval_value *v)
{
	bool mysql_date = v->kind == EVAL_DATE && s->run->env->flavour == SQL_MYSQL;

	return run_refuses(s->run, LIMIT_TIME_WITH_FRACTION_STORED_AS_INTEGER, v->t.micro) ||
	       /* Of a column it was the number of its midnight. */
	       run_refuses(s->run, LIMIT_MYSQL80_DATE_STORED_AS_INTEGER,
		       mysql_date && !run_mysql_has(s->run, MYSQL_DATE_AS_INTEGER));
}

/* More digits than a DECIMAL can have: MySQL 9.7 may leave 0 without strict mode. */
bool assign_text_as_decimal_refused(const struct column_assign *s)
{
	return run_refuses(s->run, LIMIT_MYSQL_STRING_BEYOND_DECIMAL_STORED, !s->strict);
}

/* ---- strings ---- */

/* MariaDB keeps a product in groups of nine digits after the point, without a last group of zeros; a
 * number that was read has all its digits. */
static bool ends_in_zero_group(uint32_t scale, struct span text)
{
	uint32_t digits = scale ? (scale - 1) % 9 + 1 : 0;

	for (uint32_t i = 1; i <= digits && i <= text.len; i++) {
		if (text.ptr[text.len - i] != '0')
			return false;
	}
	return digits > 0;
}

bool assign_text_refused(
	const struct column_assign *s, const struct eval_value *v, struct span text)
{
	struct run *run = s->run;
	const struct eval_type *from = s->from;
	bool older_mariadb = run->env->flavour == SQL_MARIADB && mariadb_2026(run->env) != 1;

	return /* A zero that was computed has lost its decimals, one that was read has not. */
		run_refuses(run, LIMIT_DECIMAL_ZERO_STORED_AS_TEXT,
			v->kind == EVAL_DECIMAL && !v->dec->count && v->dec->scale) ||
		run_refuses(run, LIMIT_DECIMAL_WITH_ZEROS_AT_END_STORED_AS_TEXT,
			v->kind == EVAL_DECIMAL && older_mariadb &&
				ends_in_zero_group(v->dec->scale, text)) ||
		run_refuses(run, LIMIT_BIT_FLOAT_OR_ZEROFILL_STORED_AS_TEXT,
			from->kind == EVAL_T_BIT || from->kind == EVAL_T_FLOAT || from->zerofill) ||
		/* '0' in CHAR and VARCHAR, '0000' in TEXT. */
		run_refuses(run, LIMIT_YEAR_OF_ZERO_STORED_AS_TEXT,
			from->kind == EVAL_T_YEAR && v->u == 0) ||
		/* Some servers keep them. */
		run_refuses(run, LIMIT_BYTES_STORED_AS_ASCII,
			v->kind == EVAL_STRING && v->collation == COLLATION_BINARY &&
				collation_charset(s->type->collation) == CHARSET_ASCII &&
				!text_is_ascii(text));
}

bool assign_lacking_text_refused(
	const struct column_assign *s, const struct eval_value *v, struct span text)
{
	return /* The column may have no room for the character in any case. */
		run_refuses(s->run, LIMIT_LONG_TEXT_WITH_CHARACTERS_THAT_COLUMN_SET_LACKS,
			text_chars(collation_charset(v->collation), text) > s->type->length) ||
		run_refuses(s->run, LIMIT_TEXT_THAT_COLUMN_SET_LACKS, !s->strict);
}

bool assign_long_text_refused(const struct column_assign *s, const struct eval_value *v,
	struct span text, size_t fits, size_t end)
{
	bool latin1 = v->kind == EVAL_STRING && collation_charset(v->collation) == CHARSET_LATIN1;
	bool too_long = end > fits;

	return /* The server tries to print it shorter. */
		run_refuses(s->run, LIMIT_DOUBLE_LONGER_THAN_COLUMN, v->kind == EVAL_DOUBLE) ||
		run_refuses(s->run, LIMIT_LONG_TEXT_THAT_ENDS_IN_NO_BREAK_SPACE,
			too_long && latin1 && ends_in(span_of(text.ptr, end), (char)0xa0)) ||
		run_refuses(s->run, LIMIT_TEXT_BEYOND_COLUMN_BYTES,
			s->type->blob && s->type->collation != COLLATION_BINARY &&
				!(too_long && s->strict));
}

bool assign_char_refused(const struct column_assign *s)
{
	return run_refuses(s->run, LIMIT_PAD_CHAR_TO_FULL_LENGTH,
		s->run->env->mode & EVAL_MODE_PAD_CHAR_TO_FULL_LENGTH);
}

/* ---- ENUM, SET ---- */

bool assign_member_refused(const struct column_assign *s, const struct eval_value *v)
{
	bool text = v->kind == EVAL_STRING;

	return run_refuses(s->run, LIMIT_HEXADECIMAL_LITERAL_AS_ENUM_OR_SET, s->from->hybrid) ||
	       /* Blanks at the end are cut off, but not of bytes. */
	       run_refuses(s->run, LIMIT_BLANK_AT_END_OF_MEMBER_OF_ENUM_OR_SET_OF_BYTES,
		       text && s->type->collation == COLLATION_BINARY && ends_in(v->s, ' ')) ||
	       run_refuses(s->run, LIMIT_NUMBER_WITH_FRACTION_OR_TIME_AS_ENUM_OR_SET,
		       !text && !is_integer(v));
}

static bool is_letter(char c)
{
	return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* The servers take some of these texts for the member's number. */
bool assign_no_member_refused(const struct column_assign *s, struct span text)
{
	bool is_set = s->type->kind == EVAL_T_SET;

	return run_refuses(s->run, LIMIT_EMPTY_STRING_AS_MEMBER_OF_ENUM, !text.len) ||
	       run_refuses(s->run,
		       is_set ? LIMIT_NUMBER_IN_STRING_AS_SET : LIMIT_NUMBER_IN_STRING_AS_MEMBER_OF_ENUM,
		       !is_letter(text.ptr[0]));
}

/* ---- BIT, YEAR ---- */

bool assign_bit_refused(const struct column_assign *s, const struct eval_value *v)
{
	return /* By number from a column, by its text from an expression. */
		run_refuses(s->run, LIMIT_STORING_ENUM_OR_SET_AS_BIT, type_is_list(s->from)) ||
		run_refuses(s->run, LIMIT_NUMBER_WITH_FRACTION_OR_TIME_STORED_AS_BIT,
			v->kind != EVAL_STRING && !is_integer(v));
}

static bool is_year(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!char_is_digit(s.ptr[i]))
			return false;
	}
	return memcmp(s.ptr, "1901", 4) >= 0 || !memcmp(s.ptr, "0000", 4);
}

bool assign_year_refused(const struct column_assign *s, const struct eval_value *v)
{
	bool text = v->kind == EVAL_STRING;

	return run_refuses(s->run, LIMIT_STRING_OF_OTHER_THAN_FOUR_DIGITS_AS_YEAR,
		       text && (v->s.len != 4 || !text_is_ascii(v->s))) ||
	       run_refuses(s->run, LIMIT_STRING_AS_YEAR, text && !is_year(v->s)) ||
	       run_refuses(s->run, LIMIT_NUMBER_WITH_FRACTION_OR_TIME_STORED_AS_YEAR,
		       !text && !is_integer(v));
}

/* ---- dates and times ---- */

static bool near_midnight(const struct eval_value *v)
{
	return v->t.micro >= 500000 && v->t.second == 59 && v->t.minute == 59 && v->t.hour == 23;
}

/* It is rounded to the next day, or not; MySQL rounds a string's too. */
static bool rounds_to_next_day(const struct column_assign *s, const struct eval_value *v)
{
	struct eval_value read;

	if (s->type->kind != EVAL_T_DATE)
		return false;
	if (v->kind == EVAL_DATETIME)
		return near_midnight(v);
	return v->kind == EVAL_STRING && s->run->env->flavour == SQL_MYSQL &&
	       memchr(v->s.ptr, '.', v->s.len) &&
	       time_from_value(s->run, s->from, v, EVAL_DATETIME, &read) && near_midnight(&read);
}

bool assign_time_refused(const struct column_assign *s, const struct eval_value *v)
{
	return run_refuses(s->run, LIMIT_YEAR_STORED_AS_DATE_OR_TIME, s->from->kind == EVAL_T_YEAR) ||
	       run_refuses(s->run, LIMIT_TIME_ROUNDED_BEYOND_LAST_DAY, rounds_to_next_day(s, v)) ||
	       run_refuses(s->run, LIMIT_DATE_WITH_ZERO_IN_STORED_AGAIN_WHICH_SQL_MODE_FORBIDS,
		       v->kind >= EVAL_DATE && v->kind != EVAL_TIME &&
			       date_is_doubtful(s->run->env, &v->t));
}

bool assign_timestamp_refused(const struct column_assign *s, const struct eval_value *v)
{
	return run_refuses(s->run, LIMIT_TIMESTAMP_NEAR_ENDS_OF_RANGE,
		v->t.year && (v->t.year < 1971 || v->t.year > 2036));
}

/* ---- NULL ---- */

bool assign_null_refused(const struct column_assign *s)
{
	return run_refuses(s->run, LIMIT_NULL_INTO_TIMESTAMP_NOT_NULL,
		       s->type->kind == EVAL_T_TIMESTAMP) ||
	       /* A statement with one row fails in any mode; which one this is, only the caller knows. */
	       run_refuses(s->run, LIMIT_NULL_INTO_NOT_NULL_OUTSIDE_STRICT_MODE,
		       !s->strict && !(s->ignore && s->type->kind == EVAL_T_INT));
}

/* ---- JSON ---- */

bool assign_json_refused(const struct column_assign *s, const struct eval_value *v)
{
	return run_refuses(s->run, LIMIT_STORING_OTHER_THAN_TEXT_AS_JSON,
		v->kind != EVAL_STRING || s->from->kind != EVAL_T_STRING || s->from->hybrid ||
			collation_charset(v->collation) != CHARSET_UTF8MB4 || s->from->merged ||
			s->run->env->version < 80003);
}

/* ---- generated columns, CHECK ---- */

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

bool virtual_column_refused(const struct eval_env *env, const struct eval_table *table,
	uint32_t column, struct eval_outcome *outcome)
{
	if (outcome->status != EVAL_ERROR || !may_stay_uncomputed(env, table, column))
		return false;
	outcome->status = EVAL_OK;
	outcome_unsupported(outcome, LIMIT_MARIADB_VIRTUAL_COLUMN_THAT_CANNOT_HOLD_VALUE);
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

bool check_refused(const struct eval_expr *check, struct arena *arena, const struct eval_env *env,
	const struct eval_value *row, struct eval_outcome *outcome)
{
	if (!fails_strictly(check, arena, env, row))
		return false;
	outcome_unsupported(outcome, LIMIT_MYSQL_CHECK_THAT_CANNOT_BE_COMPUTED_IN_STRICT_MODE);
	return true;
}

/* ---- defaults ---- */

bool binary_default_refused(struct run *run, const struct eval_type *type)
{
	return run_refuses(run, LIMIT_IMPLICIT_DEFAULT_OF_BINARY_N,
		type->fixed && type->collation == COLLATION_BINARY);
}
