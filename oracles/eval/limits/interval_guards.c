/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of date + INTERVAL and of DATE_ADD and the like: args[0] is the date, args[1] the amount. */
#include <stdlib.h>

#include "eval/function/time.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"

static bool not_date(const struct guarded *g)
{
	return !type_is_temporal(&g->args[0]->type);
}

/* With days or months it is a DATETIME, of today; before 8.0.28 a text. */
static bool time_becomes_another_type(const struct guarded *g)
{
	return g->args[0]->type.kind == EVAL_T_TIME &&
	       (!interval_has_time(g->unit) || g->unit >= SQL_UNIT_DAY_MICROSECOND ||
		       g->env->version < 80028);
}

bool interval_refused(struct compiler *c, const struct node *interval, enum sql_unit unit)
{
	static const struct guard guards[] = {
		{LIMIT_INTERVAL_ARITHMETIC_ON_OTHER_THAN_DATES, not_date},
		{LIMIT_MYSQL_INTERVAL_ARITHMETIC_ON_TIME, time_becomes_another_type},
	};
	struct guarded g = {.env = c->env,
		.unit = unit,
		.args = interval->args,
		.count = interval->arg_count};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- ADDTIME, TIMEDIFF ---- */

bool addtime_refused(struct compiler *c, const struct eval_type *a, const struct eval_type *b)
{
	return compile_refuses(c, LIMIT_ADDTIME_OF_OTHER_THAN_DATE_OR_TIME_AND_TIME,
		       (!type_is_temporal(a) && a->kind != EVAL_T_NULL) ||
			       (b->kind != EVAL_T_TIME && b->kind != EVAL_T_NULL)) ||
	       /* As a text, it has the digits of the one that was chosen. */
	       compile_refuses(c, LIMIT_MYSQL_ADDTIME_OF_IF_CASE_OR_COALESCE, a->merged || b->merged) ||
	       compile_refuses(c, LIMIT_ADDTIME_OF_LITERAL_NULL,
		       a->kind != EVAL_T_NULL && b->kind == EVAL_T_NULL) ||
	       compile_refuses(c, LIMIT_ADDTIME_OF_DATE, a->kind == EVAL_T_DATE);
}

bool timediff_refused(struct compiler *c, struct node *const *args)
{
	return compile_refuses(c, LIMIT_TIMEDIFF_OF_OTHER_THAN_TIMES,
		args[0]->type.kind != EVAL_T_TIME || args[1]->type.kind != EVAL_T_TIME);
}

/* ---- values ---- */

bool amount_refused(struct run *run, enum sql_unit unit, const struct eval_type *type,
	const struct eval_value *v)
{
	bool decimal = v->kind == EVAL_DECIMAL;
	bool inexact = v->kind == EVAL_DOUBLE || v->kind == EVAL_STRING ||
		       (decimal && v->dec->scale > type->decimals);

	return /* The difference of unsigned DECIMALs, as an amount: 0 or itself. */
		run_refuses(run, LIMIT_INTERVAL_OF_UNSIGNED_NUMBER_BELOW_ZERO,
			type->kind == EVAL_T_DECIMAL && type->is_unsigned && decimal && v->dec->neg) ||
		run_refuses(run, LIMIT_INTERVAL_OF_AMOUNT_OF_IF_CASE_OR_LEAST,
			type->merged && !type_is_int(type)) ||
		run_refuses(run, LIMIT_INTERVAL_OF_SECONDS_NOT_EXACT_NUMBER,
			unit == SQL_UNIT_SECOND && !type_is_int(type) && inexact);
}

bool large_seconds_amount_refused(struct run *run, int64_t micros, bool overflow)
{
	return run_refuses(
		run, LIMIT_LARGE_INTERVAL, overflow || llabs(micros) > 400000000000000000ll);
}

/* The servers' numbers may wrap around. */
static bool is_large_amount(enum sql_unit unit, const struct eval_value *i)
{
	if (i->kind == EVAL_UINT ? i->u > 400000000000ull
				 : i->i > 400000000000ll || i->i < -400000000000ll)
		return true;
	switch (unit) {
	case SQL_UNIT_YEAR:
	case SQL_UNIT_QUARTER:
	case SQL_UNIT_MONTH:
	case SQL_UNIT_WEEK:
	case SQL_UNIT_DAY:
		return llabs(i->i) > 1000000;
	case SQL_UNIT_HOUR:
	case SQL_UNIT_MINUTE:
	case SQL_UNIT_SECOND:
		return i->i > 100000000000ll / 3600 * 3600 || i->i < -100000000000ll;
	default:
		return false;
	}
}

bool large_amount_refused(struct run *run, enum sql_unit unit, const struct eval_value *i)
{
	return run_refuses(run, LIMIT_LARGE_INTERVAL, is_large_amount(unit, i));
}

bool year_0_refused(struct run *run, bool in_year_0)
{
	return run_refuses(run, LIMIT_DATE_IN_YEAR_0, in_year_0);
}

bool interval_date_refused(struct run *run, enum eval_kind kind, const struct eval_value *v)
{
	return run_refuses(
		run, LIMIT_DATE_WITH_ZERO_IN, kind != EVAL_TIME && date_is_zeroish(&v->t));
}

/* The date itself, at times. */
bool null_amount_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MYSQL5_INTERVAL_OF_NULL, true);
}

bool time_and_interval_refused(struct run *run, const struct node *n, const struct eval_value *v,
	int64_t amount, int64_t sum)
{
	const int64_t most = 3020399000000ll;

	return /* As a text it has six decimals then, or none. */
		run_refuses(run, LIMIT_MYSQL_INTERVAL_AND_TIME_WITH_FRACTION_USED_FURTHER,
			n->nested && n->type.decimals && run->env->flavour == SQL_MYSQL &&
				run->env->version >= 80100) ||
		/* 9.7 has no such interval. */
		run_refuses(run, LIMIT_LARGE_INTERVAL,
			llabs(amount) > most && run->env->flavour == SQL_MYSQL) ||
		run_refuses(run, LIMIT_TIME_BEYOND_RANGE, llabs(sum) > most) ||
		/* The server prints -00:00:00. */
		run_refuses(run, LIMIT_NEGATIVE_TIME_THAT_BECOMES_ZERO, !sum && v->t.neg);
}

bool months_and_time_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MONTHS_OR_WEEKS_ADDED_TO_TIME_IN_STRICT_MODE, run->strict);
}

bool added_time_refused(struct run *run, const struct node *n)
{
	return run_refuses(run, LIMIT_MYSQL_ADDTIME_WITH_FRACTION_USED_FURTHER,
		n->nested && n->type.decimals && n->type.decimals < 6);
}

/* The largest TIME; with a fraction it would have one of nines. */
bool time_sum_refused(struct run *run, const struct node *n)
{
	return run_refuses(run, LIMIT_TIME_BEYOND_RANGE,
		n->type.decimals || run->env->flavour == SQL_MYSQL);
}
