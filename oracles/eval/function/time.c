/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Date and time functions.  Dates with a zero month or day have rules of their own in each function
 * and server; where they are not plain the guards refuse them.
 */
#include <stdlib.h>

#include "eval/compile.h"
#include "eval/function/time.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"

bool has_zeros(struct run *run, const struct eval_value *v)
{
	zero_in_date_refused(run, v);
	return run->failed;
}

/* YEAR() and the like accept texts (in MariaDB numbers, too) of dates with zeros in every sql_mode.
 * Only in MySQL with NO_ZERO_DATE a text of nothing but zeros is NULL. */
static bool part_value(struct run *run, const struct eval_type *type, const struct eval_value *v, enum eval_kind kind,
	struct eval_value *out)
{
	const struct eval_env *env = run->env;
	bool maria = env->flavour == SQL_MARIADB, ok;
	struct eval_env lax;

	if (v->kind >= EVAL_DATE || (!maria && v->kind != EVAL_STRING))
		return time_from_value(run, type, v, kind, out);
	lax = *env;
	lax.mode &= ~(uint32_t)(EVAL_MODE_NO_ZERO_IN_DATE | (maria ? EVAL_MODE_NO_ZERO_DATE : 0));
	run->env = &lax;
	ok = time_from_value(run, type, v, kind, out);
	run->env = env;
	return ok;
}

bool part_arg(const struct node *n, struct frame *f, enum eval_kind kind, struct eval_value *out)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL || f->run->failed)
		return false;
	return part_value(f->run, &n->args[0]->type, &v, kind, out);
}

bool date_wanted(const struct node *n, struct frame *f, uint32_t i)
{
	as_date_refused(f->run, &n->args[i]->type);
	return !f->run->failed;
}

bool whole_date(const struct node *n, struct frame *f, uint32_t i, enum eval_kind kind,
	struct eval_value *out)
{
	if (!date_wanted(n, f, i) || !time_arg(n, f, i, kind, out))
		return false;
	return !has_zeros(f->run, out);
}

int64_t days_in(const struct eval_value *v)
{
	return days_of(v->t.year, v->t.month, v->t.day);
}

static struct node *compile_int(struct compiler *c, struct node *n, const struct function *function)
{
	if (date_part_refused(c, n))
		return NULL;
	n->type = type_int(span_ieq_str(SPAN_LIT("year"), function->name) &&
			   compile_mysql_has(c, MYSQL_YEAR_UNSIGNED));
	return c->failed ? NULL : n;
}

/* ---- parts ---- */

enum part {
	PART_YEAR,
	PART_MONTH,
	PART_DAY,
	PART_QUARTER,
	PART_DAYOFYEAR,
	PART_DAYOFWEEK,
	PART_WEEKDAY,
	PART_TO_DAYS,
	PART_TO_SECONDS,
	PART_HOUR,
	PART_MINUTE,
	PART_SECOND,
	PART_MICROSECOND,
	PART_TIME_TO_SEC,
};

static struct eval_value run_date_part(const struct node *n, struct frame *f)
{
	struct eval_value v;

	if (n->op <= PART_QUARTER) {
		if (!part_arg(n, f, EVAL_DATE, &v))
			return EVAL_NULL_VALUE;
		switch (n->op) {
		case PART_YEAR:
			return n->type.is_unsigned ? eval_uint(v.t.year) : eval_int(v.t.year);
		case PART_MONTH:
			return eval_int(v.t.month);
		case PART_DAY:
			return eval_int(v.t.day);
		default:
			return eval_int((v.t.month + 2) / 3);
		}
	}
	if (!whole_date(n, f, 0, n->op == PART_TO_SECONDS ? EVAL_DATETIME : EVAL_DATE, &v))
		return EVAL_NULL_VALUE;
	switch (n->op) {
	case PART_DAYOFYEAR:
		return eval_int(days_in(&v) - days_of(v.t.year, 1, 1) + 1);
	case PART_DAYOFWEEK:
		return eval_int(weekday_of(days_in(&v), true) + 1);
	case PART_WEEKDAY:
		return eval_int(weekday_of(days_in(&v), false));
	case PART_TO_DAYS:
		return eval_int(days_in(&v));
	default:
		return eval_int(
			days_in(&v) * 86400 + (v.t.hour * 60 + v.t.minute) * 60 + v.t.second);
	}
}

static struct eval_value run_time_part(const struct node *n, struct frame *f)
{
	struct eval_value v;

	if (!time_arg(n, f, 0, EVAL_TIME, &v))
		return EVAL_NULL_VALUE;
	switch (n->op) {
	case PART_HOUR:
		return eval_int(v.t.hour);
	case PART_MINUTE:
		return eval_int(v.t.minute);
	case PART_SECOND:
		return eval_int(v.t.second);
	default:
		return eval_int(v.t.micro);
	}
}

static struct eval_value run_time_to_sec(const struct node *n, struct frame *f)
{
	struct eval_value v;
	struct decimal d;

	if (!time_arg(n, f, 0, EVAL_TIME, &v))
		return EVAL_NULL_VALUE;
	if (n->type.kind == EVAL_T_INT)
		return eval_int(time_micros(&v.t) / 1000000);
	/* Six digits or none: it shows in the digits of quotients, and where it is stored as a text. */
	d = decimal_from_int(v.t.micro ? time_micros(&v.t) : time_micros(&v.t) / 1000000);
	d.scale = v.t.micro ? 6 : 0;
	if (!d.count && zero_seconds_refused(f->run, &n->args[0]->type))
		return EVAL_NULL_VALUE;
	return make_decimal(f->run, &d);
}

/* MariaDB keeps the fraction. */
static struct node *compile_time_to_sec(
	struct compiler *c, struct node *n, const struct function *function)
{
	const struct eval_type *t = &n->args[0]->type;

	(void)function;
	n->type = type_int(false);
	if (time_to_sec_refused(c, n))
		return NULL;
	if (c->env->flavour == SQL_MYSQL)
		return n;
	if ((type_is_temporal(t) || t->kind == EVAL_T_DECIMAL) && t->decimals)
		n->type = type_decimal(16, t->decimals > 6 ? 6 : t->decimals);
	return n;
}

/* ---- weeks ---- */

uint32_t week_of(const struct eval_time *t, uint32_t behaviour, uint32_t *year)
{
	int64_t day = days_of(t->year, t->month, t->day), first = days_of(t->year, 1, 1);
	bool monday = behaviour & WEEK_MONDAY, first_weekday = behaviour & WEEK_FIRST_WEEKDAY;
	bool week_year = behaviour & WEEK_YEAR;
	uint32_t weekday = weekday_of(first, !monday), in_year;
	int64_t days;

	*year = t->year;
	if (t->month == 1 && t->day <= 7 - weekday) {
		if (!week_year &&
			((first_weekday && weekday != 0) || (!first_weekday && weekday >= 4)))
			return 0;
		week_year = true;
		(*year)--;
		in_year = days_in_year(*year);
		first -= in_year;
		weekday = (weekday + 53 * 7 - in_year) % 7;
	}
	if ((first_weekday && weekday != 0) || (!first_weekday && weekday >= 4))
		days = day - (first + (7 - weekday));
	else
		days = day - (first - weekday);
	if (week_year && days >= 52 * 7) {
		weekday = (weekday + days_in_year(*year)) % 7;
		if ((!first_weekday && weekday < 4) || (first_weekday && weekday == 0)) {
			(*year)++;
			return 1;
		}
	}
	return (uint32_t)(days / 7 + 1);
}

static uint32_t week_mode(int64_t mode)
{
	uint32_t behaviour = (uint32_t)mode & 7;

	/* For the modes that do not begin on Monday the third property is turned around. */
	return behaviour & WEEK_MONDAY ? behaviour : behaviour ^ WEEK_FIRST_WEEKDAY;
}

static struct eval_value run_week(const struct node *n, struct frame *f)
{
	struct eval_value v, m = eval_int(n->op == 0 ? f->run->env->default_week_format : 0);
	uint32_t year, week, mode;

	if (!whole_date(n, f, 0, EVAL_DATE, &v))
		return EVAL_NULL_VALUE;
	if (n->arg_count > 1) {
		m = node_run(n->args[1], f);
		if (m.kind == EVAL_NULL) {
			null_week_mode_refused(f->run);
			return EVAL_NULL_VALUE;
		}
		m = to_integer(f->run, &n->args[1]->type, &m);
		if (week_mode_refused(f->run, &n->args[1]->type, &m))
			return EVAL_NULL_VALUE;
	}
	mode = n->op == 2 ? 3 : (uint32_t)m.i; /* WEEKOFYEAR */
	mode = week_mode(mode);
	if (n->op == 1) { /* YEARWEEK */
		week = week_of(&v.t, mode | WEEK_YEAR, &year);
		return eval_int((int64_t)year * 100 + week);
	}
	return eval_int(week_of(&v.t, mode, &year));
}

/* ---- EXTRACT ---- */

bool unit_is_time(enum sql_unit unit)
{
	switch (unit) {
	case SQL_UNIT_MICROSECOND:
	case SQL_UNIT_SECOND:
	case SQL_UNIT_MINUTE:
	case SQL_UNIT_HOUR:
	case SQL_UNIT_SECOND_MICROSECOND:
	case SQL_UNIT_MINUTE_MICROSECOND:
	case SQL_UNIT_MINUTE_SECOND:
	case SQL_UNIT_HOUR_MICROSECOND:
	case SQL_UNIT_HOUR_SECOND:
	case SQL_UNIT_HOUR_MINUTE:
		return true;
	default:
		return false;
	}
}

static struct eval_value run_extract(const struct node *n, struct frame *f)
{
	enum sql_unit unit = (enum sql_unit)n->op;
	struct eval_value v;
	const struct eval_time *t = &v.t;
	int64_t out, micro;
	uint32_t year;

	if (!time_arg(n, f, 0, unit_is_time(unit) ? EVAL_TIME : EVAL_DATETIME, &v))
		return EVAL_NULL_VALUE;
	micro = t->micro;
	if (f->run->env->flavour == SQL_MARIADB)
		v.t.hour %= 24; /* the rest are days */
	switch (unit) {
	case SQL_UNIT_YEAR:
		return eval_int(t->year);
	case SQL_UNIT_YEAR_MONTH:
		return eval_int(t->year * 100 + t->month);
	case SQL_UNIT_QUARTER:
		return eval_int((t->month + 2) / 3);
	case SQL_UNIT_MONTH:
		return eval_int(t->month);
	case SQL_UNIT_DAY:
		return eval_int(t->day);
	case SQL_UNIT_DAY_HOUR:
		return eval_int(t->day * 100 + t->hour);
	case SQL_UNIT_DAY_MINUTE:
		return eval_int(t->day * 10000 + t->hour * 100 + t->minute);
	case SQL_UNIT_DAY_SECOND:
		return eval_int(t->day * 1000000ll + t->hour * 10000 + t->minute * 100 + t->second);
	case SQL_UNIT_DAY_MICROSECOND:
		return eval_int(
			(t->day * 1000000ll + t->hour * 10000 + t->minute * 100 + t->second) *
				1000000 +
			micro);
	case SQL_UNIT_HOUR:
		out = t->hour;
		break;
	case SQL_UNIT_HOUR_MINUTE:
		out = t->hour * 100 + t->minute;
		break;
	case SQL_UNIT_HOUR_SECOND:
		out = t->hour * 10000 + t->minute * 100 + t->second;
		break;
	case SQL_UNIT_HOUR_MICROSECOND:
		out = (t->hour * 10000ll + t->minute * 100 + t->second) * 1000000 + micro;
		break;
	case SQL_UNIT_MINUTE:
		out = t->minute;
		break;
	case SQL_UNIT_MINUTE_SECOND:
		out = t->minute * 100 + t->second;
		break;
	case SQL_UNIT_MINUTE_MICROSECOND:
		out = (t->minute * 100ll + t->second) * 1000000 + micro;
		break;
	case SQL_UNIT_SECOND:
		out = t->second;
		break;
	case SQL_UNIT_SECOND_MICROSECOND:
		out = t->second * 1000000ll + micro;
		break;
	case SQL_UNIT_MICROSECOND:
		out = micro;
		break;
	case SQL_UNIT_WEEK:
		if (extract_week_refused(f->run, t))
			return EVAL_NULL_VALUE;
		return eval_int(week_of(t, week_mode(f->run->env->default_week_format), &year));
	default:
		return run_gives_up(f->run, LIMIT_EXPRESSION_NOT_MODELLED);
	}
	return eval_int(t->neg ? -out : out);
}

struct node *compile_extract(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_extract, e, 1);

	n->args[0] = compile_value(c, e->u.interval.left);
	if (!n->args[0])
		return NULL;
	n->op = e->u.interval.unit;
	n->type = type_int(false);
	return extract_refused(c, e, n->args[0]) ? NULL : n;
}

/* ---- differences ---- */

static struct eval_value run_datediff(const struct node *n, struct frame *f)
{
	struct eval_value a, b;
	bool known = whole_date(n, f, 0, EVAL_DATE, &a);

	if (!whole_date(n, f, 1, EVAL_DATE, &b) || !known)
		return EVAL_NULL_VALUE;
	return eval_int(days_in(&a) - days_in(&b));
}

static int64_t datetime_micros(const struct eval_value *v)
{
	struct eval_time t = v->t;

	t.neg = false;
	return days_in(v) * DAY_MICROS + time_micros(&t);
}

int64_t clock_micros(const struct eval_value *v)
{
	struct eval_time t = v->t;

	t.neg = false;
	return time_micros(&t);
}

/* Whole months from a to b, b not before a. */
static int64_t months_between(const struct eval_value *a, const struct eval_value *b)
{
	int64_t months = ((int64_t)b->t.year - a->t.year) * 12 + b->t.month - a->t.month;

	if (b->t.day < a->t.day || (b->t.day == a->t.day && clock_micros(b) < clock_micros(a)))
		months--;
	return months;
}

struct eval_value run_timestampdiff(const struct node *n, struct frame *f)
{
	struct eval_value a, b;
	int64_t micros, months;
	bool neg = false;

	if (!whole_date(n, f, 0, EVAL_DATETIME, &a) || !whole_date(n, f, 1, EVAL_DATETIME, &b))
		return EVAL_NULL_VALUE;
	micros = datetime_micros(&b) - datetime_micros(&a);
	switch ((enum sql_unit)n->op) {
	case SQL_UNIT_MICROSECOND:
		return eval_int(micros);
	case SQL_UNIT_SECOND:
		return eval_int(micros / 1000000);
	case SQL_UNIT_MINUTE:
		return eval_int(micros / 1000000 / 60);
	case SQL_UNIT_HOUR:
		return eval_int(micros / 1000000 / 3600);
	case SQL_UNIT_DAY:
		return eval_int(micros / 1000000 / 86400);
	case SQL_UNIT_WEEK:
		return eval_int(micros / 1000000 / 86400 / 7);
	default:
		neg = micros < 0;
		months = neg ? months_between(&b, &a) : months_between(&a, &b);
		if (n->op == SQL_UNIT_QUARTER)
			months /= 3;
		else if (n->op == SQL_UNIT_YEAR)
			months /= 12;
		return eval_int(neg ? -months : months);
	}
}

/* ---- casts by name ---- */

static struct eval_value run_date(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f), out;

	if (v.kind == EVAL_NULL || f->run->failed)
		return EVAL_NULL_VALUE;
	return time_from_value(f->run, &n->args[0]->type, &v, EVAL_DATE, &out) ? out
									       : no_date(n, f);
}

static struct node *compile_date(
	struct compiler *c, struct node *n, const struct function *function)
{
	if (to_date_refused(c, n->args[0], function->fn == run_date))
		return NULL;
	n->type = type_temporal(EVAL_T_DATE, 0);
	return n;
}

uint32_t time_decimals(const struct eval_type *t)
{
	if (type_is_temporal(t) || t->kind == EVAL_T_DECIMAL)
		return t->decimals > 6 ? 6 : t->decimals;
	if (t->kind == EVAL_T_DOUBLE || t->kind == EVAL_T_FLOAT)
		return t->decimals > 6 ? 6 : t->decimals;
	return type_is_int(t) || t->kind == EVAL_T_NULL ? 0 : 6;
}

static struct eval_value run_time(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f), out;

	if (v.kind == EVAL_NULL || f->run->failed)
		return EVAL_NULL_VALUE;
	if (!time_from_value(f->run, &n->args[0]->type, &v, EVAL_TIME, &out))
		return no_date(n, f);
	out.decimals = n->type.decimals;
	return out;
}

static struct node *compile_time(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (to_time_refused(c, n->args[0]))
		return NULL;
	n->type = type_temporal(EVAL_T_TIME, time_decimals(&n->args[0]->type));
	return n;
}

static struct eval_value run_last_day(const struct node *n, struct frame *f)
{
	struct eval_value v, arg = node_run(n->args[0], f);

	if (arg.kind == EVAL_NULL || f->run->failed)
		return EVAL_NULL_VALUE;
	if (f->run->env->flavour == SQL_MYSQL
			? !part_value(f->run, &n->args[0]->type, &arg, EVAL_DATE, &v)
			: !time_from_value(f->run, &n->args[0]->type, &arg, EVAL_DATE, &v))
		return no_date(n, f);
	if (last_day_refused(f->run, n, &v.t) || !v.t.month)
		return EVAL_NULL_VALUE;
	v.t.day = (uint8_t)days_in_month(v.t.year, v.t.month);
	return v;
}

static struct eval_value run_from_days(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f), out = {.kind = EVAL_DATE};

	if (v.kind == EVAL_NULL)
		return v;
	v = to_integer(f->run, &n->args[0]->type, &v);
	if (from_days_refused(f->run, v.i))
		return EVAL_NULL_VALUE;
	days_to_date(v.i, &out.t);
	return out;
}

static struct eval_value run_makedate(const struct node *n, struct frame *f)
{
	bool mysql = f->run->env->flavour == SQL_MYSQL;
	struct eval_value y, d, out = {.kind = EVAL_DATE};
	int64_t days;

	/* They ask for the day first; MySQL for the year only where there is one. */
	d = node_run(n->args[1], f);
	if (mysql && d.kind == EVAL_NULL && !f->run->failed)
		return d;
	if (d.kind != EVAL_NULL)
		d = to_integer(f->run, &n->args[1]->type, &d);
	y = node_run(n->args[0], f);
	if (makedate_error_refused(f->run, n))
		return EVAL_NULL_VALUE;
	/* Both are made numbers before the test for NULL. */
	if (y.kind != EVAL_NULL)
		y = to_integer(f->run, &n->args[0]->type, &y);
	if (y.kind == EVAL_NULL || d.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	if (y.i < 0 || y.i > 9999 || d.i <= 0 || d.i > 4000000)
		return EVAL_NULL_VALUE;
	if (y.i < 100)
		y.i += y.i < 70 ? 2000 : 1900;
	days = days_of((uint32_t)y.i, 1, 1) + d.i - 1;
	if (days > 3652424)
		return EVAL_NULL_VALUE;
	days_to_date(days, &out.t);
	return out;
}

static struct eval_value run_maketime(const struct node *n, struct frame *f)
{
	struct eval_value v[3], out = {.kind = EVAL_TIME};
	bool null = false, mysql = f->run->env->flavour == SQL_MYSQL;

	for (int i = 0; i < 3; i++) {
		v[i] = node_run(n->args[i], f);
		null |= v[i].kind == EVAL_NULL;
		if (mysql && null)
			return EVAL_NULL_VALUE;
		v[i] = to_integer(f->run, &n->args[i]->type, &v[i]);
	}
	/* MariaDB's first complaint. */
	if (!mysql && v[2].kind != EVAL_NULL && (v[2].i < 0 || v[2].i > 59)) {
		if (v[2].kind == EVAL_UINT || v[2].i > 0)
			run_truncated(f->run);
		else
			negative_seconds_refused(f->run, n->args[2]);
		return EVAL_NULL_VALUE;
	}
	/* Two words of nine digits, as a DECIMAL has them. */
	if (mysql && (v[2].kind == EVAL_UINT ? v[2].u > 999999999999999999u
					     : llabs(v[2].i / 2) > 499999999999999999))
		run_truncated(f->run);
	if (null || v[1].i < 0 || v[1].i > 59 || v[2].i < 0 || v[2].i > 59)
		return EVAL_NULL_VALUE;
	if (maketime_hour_refused(f->run, &v[0]))
		return EVAL_NULL_VALUE;
	out.t.neg = v[0].i < 0;
	out.t.hour = (uint16_t)(v[0].i < 0 ? -v[0].i : v[0].i);
	out.t.minute = (uint8_t)v[1].i;
	out.t.second = (uint8_t)v[2].i;
	return out;
}

static struct node *compile_maketime(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (maketime_refused(c, n->args))
		return NULL;
	n->type = type_temporal(EVAL_T_TIME, 0);
	return n;
}

static struct eval_value run_sec_to_time(const struct node *n, struct frame *f)
{
	const struct eval_type *t = &n->args[0]->type;
	struct eval_value v = node_run(n->args[0], f);
	struct decimal d;
	bool overflow;
	int64_t micros;

	if (v.kind == EVAL_NULL)
		return v;
	d = to_decimal(f->run, t, &v);
	if (number_as_time_refused(f->run, t, &v, &d))
		return EVAL_NULL_VALUE;
	if (!decimal_round(&d, 6, DECIMAL_TRUNCATE, &d))
		return run_gives_up(f->run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
	d.scale = 0;
	if (!d.count && negative_seconds_to_zero_refused(f->run, &v))
		return EVAL_NULL_VALUE;
	micros = decimal_to_int(&d, &overflow);
	if (overflow && large_seconds_refused(f->run))
		return EVAL_NULL_VALUE;
	if (overflow)
		micros = d.neg ? INT64_MIN / 2 : INT64_MAX / 2;
	if (micros >= 3020399000001ll || micros <= -3020399000001ll) {
		/* Beyond the range: the largest TIME. */
		run_truncated(f->run);
		v = time_from_micros(micros < 0 ? -3020399000000ll : 3020399000000ll, 0);
		if (seconds_beyond_time_refused(f->run, n))
			return EVAL_NULL_VALUE;
	} else {
		v = time_from_micros(micros, n->type.decimals);
	}
	v.decimals = n->type.decimals;
	return v;
}

static struct node *compile_sec_to_time(
	struct compiler *c, struct node *n, const struct function *function)
{
	const struct eval_type *t = &n->args[0]->type;

	(void)function;
	if (sec_to_time_refused(c, n->args[0]))
		return NULL;
	n->type = type_temporal(EVAL_T_TIME, time_decimals(t));
	return n;
}

/* ---- the current time, if it was recorded ---- */

enum { NOW_DATETIME, NOW_DATE, NOW_TIME };

static struct eval_value run_now(const struct node *n, struct frame *f)
{
	struct eval_value v = {.kind = EVAL_DATETIME, .decimals = 6, .t = f->run->env->now};

	if (!f->run->env->has_now && f->run->carrying && f->run->env->opaque_count)
		return (struct eval_value){.kind = EVAL_OPAQUE, .u = ++*f->run->env->opaque_count};
	if (!f->run->env->has_now && (!f->run->env->has_about || f->run->assigning))
		return run_gives_up(f->run, LIMIT_NOW_TIME_IS_NOT_KNOWN);
	if (!f->run->env->has_now)
		v.t = f->run->env->about;
	if (n->op == NOW_DATE) {
		v.kind = EVAL_DATE;
		v.t.hour = 0;
		v.t.minute = v.t.second = 0;
		v.t.micro = 0;
		v.decimals = 0;
		return v;
	}
	if (n->op == NOW_TIME) {
		v.kind = EVAL_TIME;
		v.t.year = 0;
		v.t.month = v.t.day = 0;
	}
	return time_set_decimals(&v, n->type.decimals, false) ? v : EVAL_NULL_VALUE;
}

static struct node *compile_now(struct compiler *c, struct node *n, const struct function *function)
{
	uint32_t decimals = 0;

	if (now_refused(c, n, function->name))
		return NULL;
	if (n->arg_count)
		decimals = (uint32_t)n->args[0]->u.value.i;
	n->type = type_temporal(function->number == NOW_DATE   ? EVAL_T_DATE
				: function->number == NOW_TIME ? EVAL_T_TIME
							       : EVAL_T_DATETIME,
		function->number == NOW_DATE ? 0 : decimals);
	n->carries = true;
	return n;
}

const struct function functions_time[] = {
	{"year", 1, 1, compile_int, run_date_part, PART_YEAR},
	{"month", 1, 1, compile_int, run_date_part, PART_MONTH},
	{"day", 1, 1, compile_int, run_date_part, PART_DAY},
	{"dayofmonth", 1, 1, compile_int, run_date_part, PART_DAY},
	{"quarter", 1, 1, compile_int, run_date_part, PART_QUARTER},
	{"dayofyear", 1, 1, compile_int, run_date_part, PART_DAYOFYEAR},
	{"dayofweek", 1, 1, compile_int, run_date_part, PART_DAYOFWEEK},
	{"weekday", 1, 1, compile_int, run_date_part, PART_WEEKDAY},
	{"to_days", 1, 1, compile_int, run_date_part, PART_TO_DAYS},
	{"to_seconds", 1, 1, compile_int, run_date_part, PART_TO_SECONDS},
	{"hour", 1, 1, compile_int, run_time_part, PART_HOUR},
	{"minute", 1, 1, compile_int, run_time_part, PART_MINUTE},
	{"second", 1, 1, compile_int, run_time_part, PART_SECOND},
	{"microsecond", 1, 1, compile_int, run_time_part, PART_MICROSECOND},
	{"time_to_sec", 1, 1, compile_time_to_sec, run_time_to_sec, 0},
	{"week", 1, 2, compile_int, run_week, 0},
	{"yearweek", 1, 2, compile_int, run_week, 1},
	{"weekofyear", 1, 1, compile_int, run_week, 2},
	{"datediff", 2, 2, compile_int, run_datediff, 0},
	{"date", 1, 1, compile_date, run_date, 0},
	{"time", 1, 1, compile_time, run_time, 0},
	{"last_day", 1, 1, compile_date, run_last_day, 0},
	{"from_days", 1, 1, compile_date, run_from_days, 0},
	{"makedate", 2, 2, compile_date, run_makedate, 0},
	{"maketime", 3, 3, compile_maketime, run_maketime, 0},
	{"sec_to_time", 1, 1, compile_sec_to_time, run_sec_to_time, 0},
	{"now", 0, 1, compile_now, run_now, NOW_DATETIME},
	{"current_timestamp", 0, 1, compile_now, run_now, NOW_DATETIME},
	{"localtime", 0, 1, compile_now, run_now, NOW_DATETIME},
	{"localtimestamp", 0, 1, compile_now, run_now, NOW_DATETIME},
	{"curdate", 0, 0, compile_now, run_now, NOW_DATE},
	{"current_date", 0, 0, compile_now, run_now, NOW_DATE},
	{"curtime", 0, 1, compile_now, run_now, NOW_TIME},
	{"current_time", 0, 1, compile_now, run_now, NOW_TIME},
	{NULL, 0, 0, NULL, NULL, 0},
};
