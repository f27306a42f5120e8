/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of values that are converted to a date or time. */
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"

bool minus_zero_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MYSQL80_TIME_OF_MINUS_ZERO,
		run->env->flavour == SQL_MYSQL && !run_mysql_has(run, MYSQL_NO_MINUS_ZERO));
}

/* ---- numbers ---- */

bool number_as_time_refused(struct run *run, const struct eval_type *type,
	const struct eval_value *v, const struct decimal *d)
{
	return run_refuses(
		       run, LIMIT_FLOATING_POINT_NUMBER_AS_DATE_OR_TIME, v->kind == EVAL_DOUBLE) ||
	       run_refuses(run, LIMIT_QUOTIENT_AS_DATE_OR_TIME,
		       type->kind == EVAL_T_DECIMAL && d->scale > type->decimals) ||
	       run_refuses(run, LIMIT_MYSQL_DIFFERENCE_OF_LONG_DECIMALS_AS_DATE_OR_TIME, d->led) ||
	       run_refuses(
		       run, LIMIT_MYSQL_NUMBER_WITH_MORE_THAN_SIX_DECIMALS_AS_TIME, d->scale > 6);
}

/* Rounded up it is none; of MariaDB's TIMEs none in any case. */
bool fraction_as_time_refused(
	struct run *run, enum eval_kind kind, const struct decimal *d, uint32_t micro)
{
	bool cut = d->scale > 6 || (kind == EVAL_TIME && run->env->flavour == SQL_MARIADB);

	return run_refuses(
		run, LIMIT_NUMBER_JUST_BELOW_SECOND_AS_DATE_OR_TIME, micro == 999999 && cut);
}

bool small_number_as_date_refused(struct run *run, enum eval_kind kind, uint64_t n)
{
	return run_refuses(
		run, LIMIT_MYSQL_SMALL_NUMBER_AS_DATE, kind != EVAL_TIME && n < 10000101);
}

bool large_number_as_date_refused(struct run *run, uint64_t n)
{
	return run_refuses(run, LIMIT_LARGE_NUMBER_AS_DATE,
		n > 99991231235959ull || (n > 991231235959ull && n < 10000101000000ull));
}

/* Some functions take a day that the month lacks: TO_DAYS(20240231). */
bool no_date_number_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MYSQL_NUMBER_NOT_DATE, true);
}

bool fraction_as_date_refused(struct run *run, const struct eval_value *date, uint32_t micro)
{
	return run_refuses(
		run, LIMIT_NUMBER_WITH_FRACTION_AS_DATE, date->kind == EVAL_DATE && micro);
}

/* ---- other values ---- */

bool as_time_refused(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	bool merged = type->merged && v->kind < EVAL_DATE && type->kind != EVAL_T_YEAR;

	return run_refuses(run, LIMIT_MYSQL_YEAR_AS_DATE_OR_TIME, type->kind == EVAL_T_YEAR) ||
	       run_refuses(run, LIMIT_BIT_AS_DATE_OR_TIME, type->kind == EVAL_T_BIT) ||
	       run_refuses(run, LIMIT_MYSQL80_NULLIF_OR_CASE_AS_DATE,
		       merged && run->env->flavour == SQL_MYSQL &&
			       !run_mysql_has(run, MYSQL_NULLIF_AS_DATE)) ||
	       run_refuses(run, LIMIT_STRING_OF_CONVERT_IF_OR_CASE_AS_DATE_OR_TIME,
		       v->kind == EVAL_STRING && type->text_only &&
			       run->env->flavour == SQL_MARIADB);
}

bool no_time_text_refused(struct run *run, enum eval_kind kind)
{
	return run_refuses(run, LIMIT_MYSQL5_NOT_TIME, kind == EVAL_TIME);
}

bool time_as_date_refused(struct run *run, const struct eval_type *type, const struct eval_time *t)
{
	return run_refuses(run, LIMIT_MYSQL_TIME_AS_DATE, true) ||
	       /* NULL or a date, as the expression around it is. */
	       run_refuses(run, LIMIT_NEGATIVE_TIME_OR_ONE_AT_LIMIT_AS_DATE,
		       t->neg || (t->hour >= 838 && type->kind == EVAL_T_TIME));
}

/* NO_ZERO_DATE is for what becomes a date.  What is one stays as it is in MySQL 8.0; MariaDB and MySQL
 * 9.7 have NULL for it in CAST, not in YEAR(). */
bool doubtful_date_refused(struct run *run, const struct eval_value *v, const struct eval_time *date)
{
	return run_refuses(run, LIMIT_COLUMN_DATE_WITH_ZERO_IN_WHICH_SQL_MODE_FORBIDS,
		v->kind >= EVAL_DATE && date_is_doubtful(run->env, date));
}

bool nested_no_date_refused(struct run *run, const struct node *n)
{
	if (!n->nested || run->env->flavour != SQL_MARIADB)
		return false;
	return /* TIME(CAST(230 AS DATETIME)) is no error either. */
		run_reopens(run, LIMIT_CAST_OF_NOT_DATE_USED_FURTHER,
			n->arg_count && type_is_number(&n->args[0]->type)) ||
		run_refuses(run, LIMIT_CAST_OF_NOT_DATE_USED_FURTHER, true);
}
