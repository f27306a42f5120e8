/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adding to dates and times: + INTERVAL, DATE_ADD, ADDTIME and the like. */
#include <stdlib.h>

#include "base/chars.h"
#include "eval/compile.h"
#include "eval/function/time.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"
#include "server/errors.h"

struct amount {
	int64_t months, days, micros;
	bool with_time;
	bool silent; /* an overflow is NULL even in strict mode */
};

/* The numbers in '1:2' or '-1 2:3', up to `count` of them, as the compound units read them. */
static bool read_numbers(struct span s, uint32_t count, int64_t *out, bool *neg, bool fraction)
{
	size_t i = 0;
	uint32_t found = 0;
	int64_t numbers[5] = {0};
	uint32_t last_digits = 0;

	while (i < s.len && s.ptr[i] == ' ')
		i++;
	*neg = i < s.len && s.ptr[i] == '-';
	i += *neg;
	while (i < s.len && found < 5) {
		uint32_t digits = 0;

		if (!char_is_digit(s.ptr[i]))
			return false;
		for (; i < s.len && char_is_digit(s.ptr[i]); i++, digits++) {
			if (digits > 9)
				return false;
			numbers[found] = numbers[found] * 10 + (s.ptr[i] - '0');
		}
		last_digits = digits;
		found++;
		if (i < s.len)
			i++; /* one separator */
	}
	/* With fewer numbers than the unit has, the servers take the last ones; kept to whole. */
	if (found != count || i < s.len)
		return false;
	if (fraction) {
		if (last_digits > 6)
			return false;
		for (; last_digits < 6; last_digits++)
			numbers[found - 1] *= 10;
	}
	for (uint32_t k = 0; k < count; k++)
		out[k] = numbers[k];
	return true;
}

static bool compound_amount(struct run *run, enum sql_unit unit, struct span s, struct amount *out)
{
	static const int64_t scales[] = {DAY_MICROS, 3600000000ll, 60000000ll, 1000000ll, 1};
	uint32_t from, to;
	int64_t v[5];
	bool neg;

	switch (unit) {
	case SQL_UNIT_YEAR_MONTH:
		if (!read_numbers(s, 2, v, &neg, false))
			break;
		out->months = v[0] * 12 + v[1];
		if (neg)
			out->months = -out->months;
		return true;
	case SQL_UNIT_DAY_HOUR:
	case SQL_UNIT_DAY_MINUTE:
	case SQL_UNIT_DAY_SECOND:
	case SQL_UNIT_DAY_MICROSECOND:
	case SQL_UNIT_HOUR_MINUTE:
	case SQL_UNIT_HOUR_SECOND:
	case SQL_UNIT_HOUR_MICROSECOND:
	case SQL_UNIT_MINUTE_SECOND:
	case SQL_UNIT_MINUTE_MICROSECOND:
	case SQL_UNIT_SECOND_MICROSECOND:
		from = unit >= SQL_UNIT_DAY_MICROSECOND      ? 0
		       : unit >= SQL_UNIT_HOUR_MICROSECOND   ? 1
		       : unit >= SQL_UNIT_MINUTE_MICROSECOND ? 2
							     : 3;
		to = unit == SQL_UNIT_DAY_HOUR                                     ? 1
		     : unit == SQL_UNIT_DAY_MINUTE || unit == SQL_UNIT_HOUR_MINUTE ? 2
		     : unit == SQL_UNIT_DAY_SECOND || unit == SQL_UNIT_HOUR_SECOND ||
				     unit == SQL_UNIT_MINUTE_SECOND
			     ? 3
			     : 4;
		if (!read_numbers(s, to - from + 1, v, &neg, to == 4))
			break;
		for (uint32_t i = from; i <= to; i++)
			out->micros += v[i - from] * scales[i];
		if (neg)
			out->micros = -out->micros;
		out->with_time = true;
		return true;
	default:
		break;
	}
	run_gives_up(run, LIMIT_INTERVAL_IN_ANOTHER_FORM);
	return false;
}

/* False: NULL or failed. */
static bool simple_amount(struct run *run, enum sql_unit unit, const struct eval_type *type,
	const struct eval_value *v, struct amount *out)
{
	struct eval_value i;
	struct decimal d, micros = decimal_from_int(1000000);
	bool overflow;

	if (amount_refused(run, unit, type, v))
		return false;
	if (unit == SQL_UNIT_SECOND && !type_is_int(type)) {
		d = to_decimal(run, type, v);
		if (!decimal_mul(&d, &micros, &d) || !decimal_round(&d, 0, DECIMAL_TRUNCATE, &d)) {
			run_gives_up(run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
			return false;
		}
		out->micros = decimal_to_int(&d, &overflow);
		out->with_time = true;
		return !large_seconds_amount_refused(run, out->micros, overflow);
	}
	i = to_integer(run, type, v);
	if (large_amount_refused(run, unit, &i))
		return false;
	switch (unit) {
	case SQL_UNIT_YEAR:
		out->months = i.i * 12;
		break;
	case SQL_UNIT_QUARTER:
		out->months = i.i * 3;
		break;
	case SQL_UNIT_MONTH:
		out->months = i.i;
		break;
	case SQL_UNIT_WEEK:
		out->days = i.i * 7;
		break;
	case SQL_UNIT_DAY:
		out->days = i.i;
		break;
	case SQL_UNIT_HOUR:
	case SQL_UNIT_MINUTE:
	case SQL_UNIT_SECOND:
	case SQL_UNIT_MICROSECOND:
		if (__builtin_mul_overflow(i.i,
			    unit == SQL_UNIT_HOUR     ? 3600000000ll
			    : unit == SQL_UNIT_MINUTE ? 60000000ll
			    : unit == SQL_UNIT_SECOND ? 1000000ll
						      : 1ll,
			    &out->micros)) {
			run_gives_up(run, LIMIT_LARGE_INTERVAL);
			return false;
		}
		out->with_time = true;
		break;
	default:
		return false;
	}
	return true;
}

/* NULL; an error in strict mode, which MariaDB's ADDTIME has not. */
static struct eval_value overflow(
	struct frame *f, const struct eval_type *type, const struct amount *a)
{
	bool mysql = f->run->env->flavour == SQL_MYSQL;

	if (!f->run->strict || (a->silent && !mysql))
		return EVAL_NULL_VALUE;
	if (mysql && (type->kind == EVAL_T_DATE || a->silent) &&
		run_mysql_has(f->run, MYSQL_DATE_RANGE_6527))
		return run_error(f->run, 6527, "a date out of range");
	return run_error(f->run, ER_DATETIME_FUNCTION_OVERFLOW, "datetime overflow");
}

static struct eval_value add_to_date(
	struct frame *f, const struct eval_type *type, struct eval_value v, struct amount a)
{
	int64_t days, micros;

	if (a.months) {
		int64_t months = (int64_t)v.t.year * 12 + v.t.month - 1 + a.months;

		if (months < 0 || months >= 120000)
			return overflow(f, type, &a);
		v.t.year = (uint16_t)(months / 12);
		v.t.month = (uint8_t)(months % 12 + 1);
		if (v.t.day > days_in_month(v.t.year, v.t.month))
			v.t.day = (uint8_t)days_in_month(v.t.year, v.t.month);
		return year_0_refused(f->run, v.t.year == 0) ? EVAL_NULL_VALUE : v;
	}
	micros = clock_micros(&v) + a.micros % DAY_MICROS;
	days = days_in(&v) + a.days + a.micros / DAY_MICROS;
	if (micros < 0) {
		micros += DAY_MICROS;
		days--;
	} else if (micros >= DAY_MICROS) {
		micros -= DAY_MICROS;
		days++;
	}
	if (days < 0 || days > 3652424)
		return overflow(f, type, &a);
	if (year_0_refused(f->run, days <= 366))
		return EVAL_NULL_VALUE;
	{
		struct eval_value clock = time_from_micros(micros, 6);

		v.t.hour = clock.t.hour;
		v.t.minute = clock.t.minute;
		v.t.second = clock.t.second;
		v.t.micro = clock.t.micro;
	}
	days_to_date(days, &v.t);
	return v;
}

/* op: the unit; aux: 1 subtract. */
static struct eval_value run_interval(const struct node *n, struct frame *f)
{
	enum sql_unit unit = (enum sql_unit)n->op;
	struct eval_value date = node_run(n->args[0], f), by, v;
	struct amount a = {0};
	enum eval_kind kind = eval_kind_of(&n->type);

	if (date.kind == EVAL_NULL || f->run->failed)
		return EVAL_NULL_VALUE;
	if (!time_from_value(f->run, &n->args[0]->type, &date, kind, &v))
		return EVAL_NULL_VALUE;
	if (interval_date_refused(f->run, kind, &v))
		return EVAL_NULL_VALUE;
	by = node_run(n->args[1], f);
	if (by.kind == EVAL_NULL)
		null_amount_refused(f->run);
	if (by.kind == EVAL_NULL || f->run->failed)
		return EVAL_NULL_VALUE;
	if (unit >= SQL_UNIT_SECOND_MICROSECOND) {
		if (!compound_amount(f->run, unit, to_text(f->run, &n->args[1]->type, &by), &a))
			return EVAL_NULL_VALUE;
	} else if (!simple_amount(f->run, unit, &n->args[1]->type, &by, &a)) {
		return EVAL_NULL_VALUE;
	}
	if (n->aux)
		a = (struct amount){-a.months, -a.days, -a.micros, a.with_time, a.silent};
	if (kind == EVAL_TIME) {
		int64_t micros = time_micros(&v.t) + a.days * DAY_MICROS + a.micros;

		if (time_and_interval_refused(f->run, n, &v, a.micros, micros))
			return EVAL_NULL_VALUE;
		return time_from_micros(micros, n->type.decimals);
	}
	v = add_to_date(f, &n->type, v, a);
	v.decimals = n->type.decimals;
	return v;
}

static struct eval_value run_null(const struct node *n, struct frame *f)
{
	(void)n;
	(void)f;
	return EVAL_NULL_VALUE;
}

static struct eval_value run_no_time(const struct node *n, struct frame *f)
{
	(void)n;
	months_and_time_refused(f->run);
	return EVAL_NULL_VALUE;
}

/* Functions of dates make a string of the literal NULL, which is NULL.  In MariaDB it has, as a number, the
 * decimals that a date would have. */
static struct node *null_string(struct compiler *c, const struct node *of, uint32_t decimals)
{
	struct node *n = node_new(c, run_null, of->expr, 0);

	n->type = type_string(c->env->collation_connection, 4, 0);
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = (uint8_t)decimals;
	n->constant = of->args[0]->constant && of->args[1]->constant;
	return n;
}

/* The parser has TIMESTAMPDIFF(unit, a, b) as left = a, date = b. */
static struct node *compile_timestampdiff(const struct sql_expr *e, struct node *n)
{
	enum sql_unit unit = (enum sql_unit)e->u.interval.unit;
	struct node *end = n->args[0];

	n->args[0] = n->args[1];
	n->args[1] = end;
	n->fn = run_timestampdiff;
	n->op = (uint8_t)unit;
	n->type = type_int(false);
	return n;
}

bool interval_has_time(enum sql_unit unit)
{
	return unit_is_time(unit) || (unit >= SQL_UNIT_DAY_MICROSECOND && unit != SQL_UNIT_YEAR_MONTH);
}

/* How many decimals an amount adds to a time. */
static uint32_t amount_decimals(enum sql_unit unit, const struct eval_type *amount)
{
	if (unit == SQL_UNIT_MICROSECOND || unit == SQL_UNIT_SECOND_MICROSECOND ||
		unit == SQL_UNIT_MINUTE_MICROSECOND || unit == SQL_UNIT_HOUR_MICROSECOND ||
		unit == SQL_UNIT_DAY_MICROSECOND)
		return 6;
	if (unit != SQL_UNIT_SECOND || amount->kind == EVAL_T_NULL || type_is_int(amount))
		return 0;
	return amount->kind == EVAL_T_STRING && amount->decimals < 6 ? amount->decimals
								     : time_decimals(amount);
}

/* MariaDB: a TIME has none of them. */
static bool is_beyond_time(enum sql_unit unit)
{
	return unit == SQL_UNIT_YEAR || unit == SQL_UNIT_MONTH || unit == SQL_UNIT_QUARTER ||
	       unit == SQL_UNIT_WEEK || unit == SQL_UNIT_YEAR_MONTH;
}

/* TIMESTAMPADD(unit, n, d) is DATE_ADD(d, INTERVAL n unit) to the servers (Item_date_add_interval). */
static bool is_date_add(struct span name)
{
	return span_ieq_str(name, "date_add") || span_ieq_str(name, "adddate") || span_ieq_str(name, "timestampadd");
}

static bool is_date_sub(struct span name)
{
	return span_ieq_str(name, "date_sub") || span_ieq_str(name, "subdate");
}

struct node *compile_interval(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_interval, e, 2);
	enum sql_unit unit = e->u.interval.bare ? SQL_UNIT_DAY : (enum sql_unit)e->u.interval.unit;
	bool call = e->kind == SQL_EXPR_DATE_FUNC;
	const struct eval_type *date;
	uint32_t decimals;

	n->args[0] = compile_value(c, e->u.interval.date);
	n->args[1] = n->args[0] ? compile_value(c, e->u.interval.left) : NULL;
	if (!n->args[1])
		return NULL;
	n->aux = call ? is_date_sub(e->u.interval.name) : e->op == SQL_OP_SUB;
	if (call && !n->aux && !is_date_add(e->u.interval.name))
		return compile_timestampdiff(e, n);
	n->op = (uint8_t)unit;
	date = &n->args[0]->type;
	decimals = amount_decimals(unit, &n->args[1]->type);
	if (date->kind == EVAL_T_NULL)
		return null_string(c, n, decimals);
	if (interval_refused(c, n, unit))
		return NULL;
	if (date->kind == EVAL_T_DATE) {
		n->type = interval_has_time(unit) ? type_temporal(EVAL_T_DATETIME, decimals)
						  : type_temporal(EVAL_T_DATE, 0);
	} else if (date->kind == EVAL_T_TIME && is_beyond_time(unit)) {
		n->fn = run_no_time;
		n->type = type_temporal(EVAL_T_DATETIME, date->decimals);
	} else {
		n->type = type_temporal(date->kind == EVAL_T_TIME ? EVAL_T_TIME : EVAL_T_DATETIME,
			date->decimals > decimals ? date->decimals : decimals);
	}
	return n;
}

/* ADDTIME, SUBTIME of a DATETIME or TIME and a TIME; TIMEDIFF of two of a kind. */
static struct eval_value run_addtime(const struct node *n, struct frame *f)
{
	struct eval_value a, b;
	int64_t micros;
	enum eval_kind kind = eval_kind_of(&n->type);

	if (!time_arg(n, f, 0, kind, &a) || !time_arg(n, f, 1, EVAL_TIME, &b))
		return EVAL_NULL_VALUE;
	if (added_time_refused(f->run, n))
		return EVAL_NULL_VALUE;
	micros = n->op == 0 ? time_micros(&b.t) : -time_micros(&b.t);
	if (kind == EVAL_DATETIME) {
		if (interval_date_refused(f->run, kind, &a))
			return EVAL_NULL_VALUE;
		a = add_to_date(f, &n->type, a, (struct amount){.micros = micros, .silent = true});
		a.decimals = n->type.decimals;
		return a;
	}
	micros += time_micros(&a.t);
	if (llabs(micros) > 3020399000000ll) {
		if (time_sum_refused(f->run, n))
			return EVAL_NULL_VALUE;
		run_truncated(f->run);
		micros = micros < 0 ? -3020399000000ll : 3020399000000ll;
	}
	a = time_from_micros(micros, n->type.decimals);
	return a;
}

bool node_is_timediff(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_CALL &&
	       span_ieq_str(n->expr->u.call.name, "timediff");
}

static struct node *compile_addtime(
	struct compiler *c, struct node *n, const struct function *function)
{
	const struct eval_type *a = &n->args[0]->type, *b = &n->args[1]->type;
	uint8_t decimals;

	(void)function;
	if (addtime_refused(c, a, b))
		return NULL;
	if (a->kind == EVAL_T_NULL)
		return null_string(c, n, b->kind == EVAL_T_TIME ? b->decimals : 0);
	decimals = a->decimals > b->decimals ? a->decimals : b->decimals;
	n->type = type_temporal(
		a->kind == EVAL_T_TIME || a->kind == EVAL_T_NULL ? EVAL_T_TIME : EVAL_T_DATETIME,
		decimals);
	return n;
}

static struct node *compile_timediff(
	struct compiler *c, struct node *n, const struct function *function)
{
	return timediff_refused(c, n->args) ? NULL : compile_addtime(c, n, function);
}

const struct function functions_interval[] = {
	{"addtime", 2, 2, compile_addtime, run_addtime, 0},
	{"subtime", 2, 2, compile_addtime, run_addtime, 1},
	{"timediff", 2, 2, compile_timediff, run_addtime, 1},
	{NULL, 0, 0, NULL, NULL, 0},
};
