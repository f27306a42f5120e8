/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of comparing two values, by their types. */
#include <string.h>

#include "eval/limits/guards.h"
#include "eval/operator/comparison.h"
#include "eval/value/temporal.h"

static bool any_kind(const struct guarded *g, enum eval_type_kind kind)
{
	return g->args[0]->type.kind == kind || g->args[1]->type.kind == kind;
}

/* ---- of any two values ---- */

static bool any_json(const struct guarded *g)
{
	return any_kind(g, EVAL_T_JSON);
}

/* MariaDB finds other rows by an index than without: where a date column is compared with a text that is no
 * date, or an integer with a text like 127.0.0.1. */
static bool is_odd_key(
	const struct eval_env *env, const struct node *column, const struct node *text)
{
	struct eval_value v = text->u.value, parsed;
	const char *point;

	if (!column->column || !text->literal || v.kind != EVAL_STRING)
		return false;
	if (type_is_temporal(&column->type) && column->type.kind != EVAL_T_TIME)
		return time_parse_datetime(env, v.s, &parsed) == TIME_INVALID;
	point = type_is_int(&column->type) && v.s.len ? memchr(v.s.ptr, '.', v.s.len) : NULL;
	return point && memchr(point + 1, '.', v.s.len - (size_t)(point + 1 - v.s.ptr));
}

static bool any_odd_key(const struct guarded *g)
{
	return is_odd_key(g->env, g->args[0], g->args[1]) || is_odd_key(g->env, g->args[1], g->args[0]);
}

bool comparison_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_COMPARING_JSON_VALUES, any_json},
		{LIMIT_COLUMN_WITH_TEXT_NONE_OF_VALUES, any_odd_key},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- of a date or time ---- */

static bool any_year(const struct guarded *g)
{
	return any_kind(g, EVAL_T_YEAR);
}

/* As an integer, where the release makes it one when the statement is prepared. */
static bool bigint_and_constant(const struct guarded *g)
{
	const struct node *a = g->args[0], *b = g->args[1];

	return (is_bigint_column(a) && may_be_constant(b)) || (is_bigint_column(b) && may_be_constant(a));
}

/* Nothing, or a point and up to six digits. */
static bool is_fraction(struct span s)
{
	if (s.len && (s.ptr[0] != '.' || s.len == 1 || s.len > 7))
		return false;
	for (size_t i = 1; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
	}
	return true;
}

/* "2024-02-29", "2024-02-29 23:59:59" or "2024-02-29 23:59:59.123456", and such a day.  Compared with a date it becomes
 * one on every server (MySQL: Arg_comparator::can_compare_as_dates). */
static bool is_date_text(const struct node *n)
{
	static const char form[] = "0000-00-00 00:00:00";
	enum { DAY = 10, SECOND = sizeof(form) - 1 };
	struct span s = n->literal && n->u.value.kind == EVAL_STRING ? n->u.value.s : SPAN_NONE;
	struct eval_time t = {0};

	if (!s.ptr || (s.len != DAY && s.len < SECOND) ||
		(s.len > SECOND && !is_fraction(span_of(s.ptr + SECOND, s.len - SECOND))))
		return false;
	for (size_t i = 0; i < s.len && i < SECOND; i++) {
		if (form[i] == '0' ? s.ptr[i] < '0' || s.ptr[i] > '9' : s.ptr[i] != form[i])
			return false;
	}
	t.year = (uint16_t)((s.ptr[0] - '0') * 1000 + (s.ptr[1] - '0') * 100 +
			    (s.ptr[2] - '0') * 10 + (s.ptr[3] - '0'));
	t.month = (uint8_t)((s.ptr[5] - '0') * 10 + (s.ptr[6] - '0'));
	t.day = (uint8_t)((s.ptr[8] - '0') * 10 + (s.ptr[9] - '0'));
	return t.year >= 1000 && t.month >= 1 && t.month <= 12 && t.day >= 1 &&
	       t.day <= days_in_month(t.year, t.month) &&
	       (s.len == DAY || (s.ptr[11] - '0') * 10 + (s.ptr[12] - '0') < 24) &&
	       (s.len == DAY || (s.ptr[14] < '6' && s.ptr[17] < '6'));
}

static bool is_date(const struct node *n)
{
	return n->type.kind == EVAL_T_DATE || n->type.kind == EVAL_T_DATETIME ||
	       n->type.kind == EVAL_T_TIMESTAMP;
}

static bool date_and_another(const struct guarded *g)
{
	const struct node *a = g->args[0], *b = g->args[1];

	return type_is_temporal(&a->type) != type_is_temporal(&b->type) && !any_kind(g, EVAL_T_NULL) &&
	       !(is_date(a) && is_date_text(b)) && !(is_date(b) && is_date_text(a));
}

static bool is_finer_constant(const struct node *n, const struct node *column)
{
	return column->column && n->constant && !n->literal && n->type.decimals > column->type.decimals;
}

/* The constant is made a value of the column first: 1.25 seconds are 1. */
static bool constant_of_more_digits(const struct guarded *g)
{
	return is_finer_constant(g->args[1], g->args[0]) || is_finer_constant(g->args[0], g->args[1]);
}

bool time_comparison_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_YEAR_COMPARED_WITH_DATE_OR_TIME, any_year},
		{LIMIT_BIGINT_COLUMN_COMPARED_WITH_CONSTANT_DATE_OR_TIME, bigint_and_constant},
		{LIMIT_MYSQL_COMPARING_DATE_OR_TIME_WITH_ANOTHER_TYPE, date_and_another},
		{LIMIT_MYSQL_TIME_COMPARED_WITH_CONSTANT_OF_MORE_DIGITS, constant_of_more_digits},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- of a number ---- */

static bool is_year_and_subquery(const struct node *year, const struct node *n)
{
	return year->type.kind == EVAL_T_YEAR && !n->constant && may_be_constant(n);
}

/* The subquery may be a constant to the server. */
static bool year_and_subquery(const struct guarded *g)
{
	return is_year_and_subquery(g->args[0], g->args[1]) ||
	       is_year_and_subquery(g->args[1], g->args[0]);
}

bool number_comparison_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_YEAR_COMPARED_WITH_SUBQUERY, year_and_subquery},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- of two tables by = ---- */

static bool is_long_decimal_and_real(const struct eval_type *a, const struct eval_type *b)
{
	return a->kind == EVAL_T_DECIMAL && type_precision(a) > 15 &&
	       (type_is_string(b) || b->kind == EVAL_T_DOUBLE || b->kind == EVAL_T_FLOAT);
}

/* They are compared as DOUBLEs, but searched as a DECIMAL in the table that MySQL makes of a subquery. */
static bool long_decimal_and_real(const struct guarded *g)
{
	return is_long_decimal_and_real(&g->args[0]->type, &g->args[1]->type) ||
	       is_long_decimal_and_real(&g->args[1]->type, &g->args[0]->type);
}

bool join_key_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_JOIN_OF_LONG_DECIMAL_AND_TEXT_OR_DOUBLE, long_decimal_and_real},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}
