/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of comparing two values, by their types. */
#include <math.h>
#include <string.h>

#include "base/chars.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
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
		if (!char_is_digit(s.ptr[i]))
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
		if (form[i] == '0' ? !char_is_digit(s.ptr[i]) : s.ptr[i] != form[i])
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

static bool is_subquery(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_SUBQUERY;
}

/* Which type they are compared in depends on what the subquery is made into. */
bool subquery_comparison_refused(struct compiler *c, const struct node *a, const struct node *b)
{
	return compile_refuses(c, LIMIT_DECIMAL_AND_STRING_IN_SUBQUERY,
		(is_subquery(a) || is_subquery(b)) &&
			((class_of(&a->type) == CMP_DECIMAL && type_is_string(&b->type)) ||
				(class_of(&b->type) == CMP_DECIMAL && type_is_string(&a->type))));
}

/* The servers compute constants before anything is compared, and fail then. */
static bool constant_fails(struct compiler *c, const struct node *n)
{
	struct eval_outcome outcome = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};

	if (!n->constant || n->literal)
		return false;
	(void)node_run(n, &f);
	return outcome.status == EVAL_ERROR;
}

bool row_constants_refused(struct compiler *c, struct node *const *pair)
{
	return compile_refuses(c, LIMIT_ERROR_IN_CONSTANT_OF_ROW,
		constant_fails(c, pair[0]) || constant_fails(c, pair[1]));
}

/* ---- values ---- */

/* To MySQL 5.6 the column is signed. */
static bool is_large_bit(const struct compared *side)
{
	return side->type->kind == EVAL_T_BIT && side->value->u > INT64_MAX;
}

bool compared_bits_refused(struct run *run, const struct compared *a, const struct compared *b)
{
	return run_refuses(run, LIMIT_MYSQL5_BIT_BEYOND_BIGINT_COMPARED,
		is_large_bit(a) || is_large_bit(b));
}

static bool has_digit(struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (char_is_digit(s.ptr[i]))
			return true;
	}
	return false;
}

bool compared_no_time_refused(struct run *run, const struct eval_value *v, enum eval_kind kind)
{
	return run_refuses(run, LIMIT_NOT_DATE_OR_TIME_COMPARED_WITH_ONE,
		v->kind != EVAL_STRING || (kind == EVAL_TIME && has_digit(v->s)));
}

bool compared_year_refused(struct run *run, const struct eval_value *v)
{
	bool positive = v->kind == EVAL_UINT || v->i > 0;

	return run_refuses(run, LIMIT_YEAR_COMPARED_WITH_0, v->u == 0) ||
	       /* Where there is an index, MariaDB looks for what it would store, and MySQL forgets the
		* year 0. */
	       run_refuses(run, LIMIT_YEAR_COMPARED_WITH_NONE,
		       positive && (v->u <= 1900 || v->u > 2155));
}

bool year_and_fraction_refused(struct run *run, const struct comparison *how)
{
	return run_refuses(run, LIMIT_YEAR_COMPARED_WITH_CONSTANT_NOT_INTEGER, how->year);
}

/* A constant beside a column of integers becomes one, and a signed one. */
static bool is_bound_beyond_bigint(const struct run *run, const struct comparison *how,
	const struct eval_value *v, const struct eval_value *bound, double d)
{
	return how->between && v->kind == EVAL_UINT && d >= 0x1p63 &&
	       (bound->kind == EVAL_DOUBLE || bound->kind == EVAL_DECIMAL) &&
	       (run->env->flavour == SQL_MYSQL || how->as.kind == EVAL_T_DOUBLE);
}

/* A hash join of MySQL 8.0 makes the integer a DECIMAL of the other's type, and finds the largest one there. */
static bool is_cut_to(const struct decimal *integer, const struct eval_type *t, const struct decimal *d)
{
	struct decimal most;

	if (t->kind != EVAL_T_DECIMAL || integer->neg != d->neg)
		return false;
	most = decimal_max(t->length, t->decimals, d->neg);
	return decimal_compare(d, &most) == 0 && decimal_int_digits(integer) > t->length - t->decimals;
}

bool compared_decimals_refused(struct run *run, const struct comparison *how,
	const struct compared *a, const struct compared *b, const struct decimal *x,
	const struct decimal *y)
{
	if (!how->joins && !how->between)
		return false;
	return run_refuses(run, LIMIT_MYSQL_JOIN_OF_INTEGER_AND_DECIMAL_WITH_LESS_ROOM,
		       how->joins && (is_cut_to(x, b->type, y) || is_cut_to(y, a->type, x))) ||
	       run_refuses(run, LIMIT_BETWEEN_WITH_CONSTANT_BEYOND_BIGINT,
		       is_bound_beyond_bigint(run, how, a->value, b->value, decimal_to_double(y)) ||
			       is_bound_beyond_bigint(
				       run, how, b->value, a->value, decimal_to_double(x)));
}

/* As a constant beside a BIGINT column a string is compared as an integer, exactly. */
static bool beyond_double(const struct eval_value *v)
{
	return (v->kind == EVAL_INT && (v->i > 1ll << 53 || v->i < -(1ll << 53))) ||
	       (v->kind == EVAL_UINT && v->u > 1ull << 53);
}

/* A constant DOUBLE beside a BIGINT column becomes an integer, where that has room for it. */
static bool is_rounded(const struct eval_value *v, double d)
{
	if (v->kind == EVAL_UINT)
		return d < 0x1p64 ? (uint64_t)d != v->u : v->u != 0;
	return v->kind == EVAL_INT && fabs(d) < 0x1p63 && (int64_t)d != v->i;
}

static bool is_almost_zero(double d)
{
	return d != 0 && fabs(d) < 1e-200;
}

bool compared_doubles_refused(struct run *run, const struct comparison *how,
	const struct eval_value *a, const struct eval_value *b, double x, double y)
{
	bool a_text = a->kind == EVAL_STRING, b_text = b->kind == EVAL_STRING;

	return /* The order of DOUBLEs that are not equal is that of what was rounded. */
		run_refuses(run, LIMIT_INTEGER_BEYOND_2_53_COMPARED_WITH_STRING,
			(beyond_double(a) || beyond_double(b)) && (how->between || a_text || b_text) &&
				(x == y || run->env->flavour == SQL_MARIADB)) ||
		run_refuses(run, LIMIT_INTEGER_BEYOND_2_53_COMPARED_WITH_DOUBLE,
			x == y && (is_rounded(a, x) || is_rounded(b, y))) ||
		run_refuses(run, LIMIT_BETWEEN_WITH_CONSTANT_BEYOND_BIGINT,
			is_bound_beyond_bigint(run, how, a, b, y) ||
				is_bound_beyond_bigint(run, how, b, a, x)) ||
		/* Made an integer when the statement was prepared, it is one without a sign no longer. */
		run_refuses(run, LIMIT_BETWEEN_WITH_TEXT_BEYOND_BIGINT,
			how->between && how->ahead == AHEAD_UNSIGNED &&
				((a_text && x >= 0x1p63) || (b_text && y >= 0x1p63))) ||
		run_refuses(run, LIMIT_BETWEEN_WITH_NUMBER_ALMOST_ZERO,
			how->between && (is_almost_zero(x) || is_almost_zero(y))) ||
		run_refuses(run, LIMIT_STRING_WITH_NUMBER_ALMOST_ZERO,
			(a_text && is_almost_zero(x)) || (b_text && is_almost_zero(y)));
}

/* MariaDB may have computed the constant when the statement was prepared, before strict mode began. */
bool constant_error_refused(struct run *run, const struct node *n, const struct comparison *how)
{
	return run_reopens(run, LIMIT_CONSTANT_ERROR_IN_STRICT_MODE,
		run->strict && n->constant && how->as.kind == EVAL_T_STRING &&
			run->env->flavour == SQL_MARIADB);
}

/* Is a text compared with a number, or a date with what is none? */
static bool converts(const struct eval_type *a, const struct eval_type *b)
{
	return type_is_string(a) != type_is_string(b) || type_is_temporal(a) != type_is_temporal(b);
}

/* What is converted may have been so before, and be the error that shows. */
bool conversion_error_refused(
	struct run *run, const struct eval_type *a, const struct eval_type *b)
{
	return other_error_refused(run, converts(a, b));
}

/* An error met while two operands are compared, of which the first is `a`. */
bool compared_error_refused(struct run *run, struct node *const *pair, const struct eval_value *a,
	const struct comparison *how)
{
	return constant_error_refused(run, pair[1], how) ||
	       run_reopens(run, LIMIT_ERROR_WITH_NULL, a->kind == EVAL_NULL) ||
	       conversion_error_refused(run, &pair[0]->type, &pair[1]->type);
}

bool null_and_date_refused(struct run *run, const struct comparison *how, const struct eval_type *a,
	const struct eval_type *b)
{
	return run_refuses(run, LIMIT_NULL_COMPARED_WITH_DATE_IN_STRICT_MODE,
		run->strict && type_is_temporal(&how->as) &&
			((a && !type_is_temporal(a)) || (b && !type_is_temporal(b))));
}

bool second_error_refused(struct run *run, const struct eval_value *a)
{
	return run_reopens(run, LIMIT_MYSQL_ERROR_WITH_NULL, a->kind == EVAL_NULL);
}

/* A constant may have been asked for before. */
bool row_error_refused(struct run *run, const struct eval_value *a)
{
	return run_reopens(run, LIMIT_ERROR_IN_ROW_WITH_NULL, a->kind == EVAL_NULL);
}

/* By their bits, among several rows. */
bool row_values_refused(struct run *run, const struct eval_value *a, const struct eval_value *b)
{
	return run_refuses(run, LIMIT_MYSQL_ROWS_OF_LARGE_UNSIGNED_AND_NEGATIVE_NUMBERS,
		are_large_and_negative(a, b) || are_large_and_negative(b, a));
}
