/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of functions of dates and times. */
#include <string.h>

#include "eval/function/time.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"

static bool is_real(const struct eval_type *type)
{
	return type->kind == EVAL_T_DOUBLE || type->kind == EVAL_T_FLOAT;
}

/* ---- types ---- */

bool date_part_refused(struct compiler *c, const struct node *n)
{
	return compile_refuses(c, LIMIT_MYSQL_FLOATING_POINT_NUMBER_AS_DATE_OR_TIME,
		n->arg_count && is_real(&n->args[0]->type));
}

bool time_to_sec_refused(struct compiler *c, const struct node *n)
{
	const struct eval_type *t = &n->args[0]->type;

	return date_part_refused(c, n) ||
	       compile_refuses(c, LIMIT_TIME_TO_SEC_OF_STRING_OR_FLOATING_POINT_NUMBER,
		       c->env->flavour == SQL_MARIADB && (type_is_string(t) || is_real(t)));
}

static bool casts_no_date(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_CAST && n->arg_count &&
	       !type_is_temporal(&n->args[0]->type);
}

static bool is_day_and_time(enum sql_unit unit)
{
	return unit >= SQL_UNIT_DAY_MICROSECOND && unit <= SQL_UNIT_DAY_HOUR;
}

static bool was_made_date(const struct sql_expr *e, const struct eval_type *t)
{
	return t->kind == EVAL_T_DATE && e->kind != SQL_EXPR_COLUMN && e->kind != SQL_EXPR_LITERAL;
}

bool extract_refused(struct compiler *c, const struct sql_expr *e, const struct node *arg)
{
	const struct eval_type *t = &arg->type;
	enum sql_unit unit = e->u.interval.unit;
	bool older = c->env->flavour == SQL_MARIADB && mariadb_2026(c->env) != 1;
	bool day = is_day_and_time(unit), mysql = c->env->flavour == SQL_MYSQL;

	return compile_refuses(c, LIMIT_EXTRACT_OF_DAY_FROM_TIME,
		       !unit_is_time(unit) && t->kind == EVAL_T_TIME) ||
	       /* The day of a value that was made a DATE on the way comes out as another one. */
	       compile_refuses(c, LIMIT_EXTRACT_FROM_WHAT_WAS_MADE_DATE_OLDER_MARIADB,
		       older && day && was_made_date(e->u.interval.left, t)) ||
	       /* Releases before late 2026 convert the number or text under the cast again: 127 is a
		* time. */
	       compile_refuses(c, LIMIT_EXTRACT_FROM_CAST_OF_NO_DATE_OLDER_MARIADB,
		       older && node_any(arg, casts_no_date)) ||
	       compile_refuses(c, LIMIT_MYSQL80_EXTRACT_OF_DAYS_AND_HOURS,
		       mysql && day && !arg->column && !compile_mysql_has(c, MYSQL_EXTRACT_DAY)) ||
	       /* A string may be a date or an interval of days and time. */
	       compile_refuses(c, LIMIT_EXTRACT_FROM_OTHER_THAN_DATE_OR_TIME,
		       !type_is_temporal(t) && t->kind != EVAL_T_NULL);
}

bool to_date_refused(struct compiler *c, const struct node *arg, bool by_date_function)
{
	return /* Where the number is NULL, MySQL gives the date that it computed before. */
		compile_refuses(c, LIMIT_FLOATING_POINT_NUMBER_AS_DATE_OR_TIME,
			c->env->flavour == SQL_MYSQL && by_date_function && is_real(&arg->type)) ||
		compile_refuses(c, LIMIT_TIMEDIFF_AS_DATE,
			c->env->flavour == SQL_MARIADB && node_is_timediff(arg));
}

bool to_time_refused(struct compiler *c, const struct node *arg)
{
	return compile_refuses(c, LIMIT_TIME_OF_STRING_OR_NUMBER_WITH_FRACTION,
		type_is_string(&arg->type) || is_real(&arg->type) ||
			(arg->type.kind == EVAL_T_DECIMAL && arg->type.decimals));
}

bool maketime_refused(struct compiler *c, struct node *const *args)
{
	return compile_refuses(
		c, LIMIT_MAKETIME_WITH_SECONDS_NOT_INTEGER, !type_is_int(&args[2]->type));
}

bool sec_to_time_refused(struct compiler *c, const struct node *arg)
{
	const struct eval_type *t = &arg->type;
	bool decimal = t->kind == EVAL_T_DECIMAL;

	return compile_refuses(c, LIMIT_SEC_TO_TIME_OF_OTHER_THAN_EXACT_NUMBERS,
		       !type_is_int(t) && !decimal && t->kind != EVAL_T_NULL) ||
	       compile_refuses(c, LIMIT_SEC_TO_TIME_OF_COMPUTED_DECIMAL_UNSIGNED,
		       decimal && t->is_unsigned && !arg->column) ||
	       compile_refuses(c, LIMIT_SEC_TO_TIME_OF_GREATEST_OR_LEAST, t->not_int);
}

static bool is_number_to_6(const struct node *n)
{
	return n->literal && n->u.value.kind == EVAL_INT && n->u.value.i <= 6;
}

bool now_refused(struct compiler *c, const struct node *n, const char *function)
{
	return /* 11.8 gives a TIME. */
		compile_refuses(c, LIMIT_LOCALTIME_TIME_OR_DATE_BY_RELEASE,
			c->env->flavour == SQL_MARIADB && c->env->version >= 110000 &&
				!strcmp(function, "localtime")) ||
		compile_refuses(c, LIMIT_NOW_WITH_OTHER_THAN_0_TO_6_DIGITS,
			n->arg_count && !is_number_to_6(n->args[0]));
}

/* UNIX_TIMESTAMP and CONVERT_TZ. */
bool moment_type_refused(struct compiler *c, const struct node *arg)
{
	const struct eval_type *t = &arg->type;
	bool text = t->kind == EVAL_T_STRING && !t->hybrid && (arg->literal || arg->column);

	return compile_refuses(c, LIMIT_TIME_ZONE_OF_OTHER_THAN_DATES_AND_TEXTS,
		t->kind != EVAL_T_DATE && t->kind != EVAL_T_DATETIME && t->kind != EVAL_T_TIMESTAMP && t->kind != EVAL_T_NULL &&
			!text);
}

bool named_zone_refused(struct compiler *c, bool known)
{
	return compile_refuses(c, LIMIT_CONVERT_TZ_WITH_NAMED_ZONES, !known);
}

bool from_unixtime_refused(struct compiler *c, const struct node *n)
{
	const struct eval_type *t = &n->args[0]->type;

	return compile_refuses(c, LIMIT_FROM_UNIXTIME_WITH_FORMAT, n->arg_count > 1) ||
	       /* MariaDB cuts a seventh digit, MySQL rounds. */
	       compile_refuses(c, LIMIT_FROM_UNIXTIME_OF_OTHER_THAN_EXACT_NUMBERS,
		       t->not_int || !((type_is_int(t) && !t->is_bool) || (t->kind == EVAL_T_DECIMAL && t->decimals <= 6)));
}

/* ---- values ---- */

bool zone_refused(struct run *run)
{
	return run_refuses(run, LIMIT_TIME_ZONE_NOT_KNOWN, !run->env->zone_known);
}

bool no_date_in_zone_refused(struct run *run, bool is_date)
{
	return run_refuses(run, LIMIT_TIME_ZONE_OF_NO_DATE, !is_date);
}

/* Where TIMESTAMPs end differs by release, and the day before or after by zone. */
bool moment_refused(struct run *run, int64_t seconds)
{
	enum { FIRST = 2 * 86400, LAST = 2147483647 - 2 * 86400 };

	return run_refuses(run, LIMIT_MOMENT_BEYOND_RANGE_OF_TIMESTAMP, seconds < FIRST || seconds > LAST);
}

bool zero_in_date_refused(struct run *run, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_DATE_WITH_ZERO_IN, date_is_zeroish(&v->t));
}

bool as_date_refused(struct run *run, const struct eval_type *type)
{
	return run_refuses(run, LIMIT_TIME_WHERE_DATE_IS_WANTED, type->kind == EVAL_T_TIME) ||
	       /* Where the number is NULL, MySQL gives the date that it computed before. */
	       run_refuses(run, LIMIT_FLOATING_POINT_NUMBER_AS_DATE_OR_TIME,
		       run->env->flavour == SQL_MYSQL && is_real(type));
}

/* It is -0. */
bool zero_seconds_refused(struct run *run, const struct eval_type *type)
{
	return run_refuses(run, LIMIT_TIME_TO_SEC_OF_NUMBER_ALMOST_ZERO,
		type->kind == EVAL_T_DECIMAL && type->decimals > 6);
}

bool week_mode_refused(struct run *run, const struct eval_type *type, const struct eval_value *mode)
{
	return run_refuses(run, LIMIT_TEXT_BEYOND_BIGINT_AS_MODE_OF_WEEK,
		type_is_string(type) && mode->kind == EVAL_UINT && mode->u > INT64_MAX);
}

bool null_week_mode_refused(struct run *run)
{
	return run_refuses(run, LIMIT_WEEK_WITH_NULL_MODE, true);
}

bool extract_week_refused(struct run *run, const struct eval_time *t)
{
	return run_refuses(run, LIMIT_EXTRACT_WEEK_OF_DATE_WITH_ZEROS, date_is_zeroish(t));
}

bool last_day_refused(struct run *run, const struct node *n, const struct eval_time *t)
{
	return run_refuses(run, LIMIT_DATE_WITH_ZERO_IN, t->month ? !t->day : n->nested);
}

bool from_days_refused(struct run *run, int64_t days)
{
	return run_refuses(run, LIMIT_FROM_DAYS_OUT_OF_RANGE, days < 366 || days >= 3652425);
}

/* LEAST(MAKEDATE(...), ...) has none there. */
bool makedate_error_refused(struct run *run, const struct node *n)
{
	return run_reopens(run, LIMIT_MYSQL_ERROR_IN_MAKEDATE, n->nested);
}

bool negative_seconds_refused(struct run *run, const struct node *seconds)
{
	return run_refuses(run, LIMIT_MAKETIME_WITH_NEGATIVE_SECONDS_COMPUTED,
		run->strict && !seconds->literal);
}

bool maketime_hour_refused(struct run *run, const struct eval_value *hour)
{
	return run_refuses(run, LIMIT_MAKETIME_BEYOND_RANGE_OF_TIME,
		hour->kind == EVAL_UINT || hour->i > TIME_HOUR_MAX || hour->i < -TIME_HOUR_MAX);
}

/* The server prints -00:00:00. */
bool negative_seconds_to_zero_refused(struct run *run, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_NEGATIVE_TIME_THAT_BECOMES_ZERO,
		v->kind == EVAL_DECIMAL && v->dec->neg);
}

/* Error 1916 of some. */
bool large_seconds_refused(struct run *run)
{
	return run_refuses(run, LIMIT_SEC_TO_TIME_OF_LARGE_NUMBER_IN_STRICT_MODE, run->strict);
}

bool seconds_beyond_time_refused(struct run *run, const struct node *n)
{
	return run_refuses(run, LIMIT_SEC_TO_TIME_BEYOND_RANGE_OF_TIME, n->type.decimals);
}

/* ---- DATE_FORMAT, DAYNAME ---- */

bool day_name_refused(struct compiler *c)
{
	return compile_refuses(
		c, LIMIT_NAMES_OF_DAYS_OR_MONTHS_BY_LC_TIME_NAMES, c->env->other_names);
}

bool date_format_refused(struct compiler *c, struct node *const *args)
{
	return compile_refuses(c, LIMIT_DATE_FORMAT_WITH_FORMAT_NOT_STRING,
		       args[1]->type.kind != EVAL_T_STRING) ||
	       compile_refuses(c, LIMIT_DATE_FORMAT_OF_TIME, args[0]->type.kind == EVAL_T_TIME);
}

bool date_format_part_refused(struct run *run, char part)
{
	return run_refuses(run, LIMIT_DATE_FORMAT_WITH_TIME_ZONE, part == 'z' || part == 'Z') ||
	       run_refuses(run, LIMIT_NAMES_OF_DAYS_OR_MONTHS_BY_LC_TIME_NAMES,
		       run->env->other_names && memchr("MbWa", part, 4));
}
