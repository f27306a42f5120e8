/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of running queries: what temporary tables keep, ORDER BY, DISTINCT, GROUP BY, windows, subqueries. */
#include <math.h>

#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "eval/query/run_query.h"
#include "eval/query/window.h"
#include "eval/value/release.h"

/* ---- temporary tables ---- */

/* A DOUBLE with more decimals than its type: a temporary table rounds it. */
static bool beyond_decimals(const struct eval_type *type, double d)
{
	double scaled;

	if (type->decimals >= EVAL_NOT_FIXED)
		return false;
	scaled = d * pow(10, type->decimals);
	return fabs(scaled - rint(scaled)) > 1e-3 || (scaled != 0 && rint(scaled) == 0);
}

static bool is_minus_zero(const struct eval_value *v)
{
	return v->kind == EVAL_DOUBLE && v->d == 0 && signbit(v->d);
}

static bool has_too_many_digits(const struct eval_type *type, const struct eval_value *v)
{
	return v->kind == EVAL_DECIMAL &&
	       decimal_int_digits(v->dec) + type->decimals > DECIMAL_PRECISION_MAX;
}

bool kept_value_refused(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	bool older = run->env->flavour == SQL_MARIADB || run->env->version < 90700;

	if (v->kind == EVAL_DOUBLE)
		return run_refuses(run, LIMIT_NEGATIVE_ZERO_SORTED_OR_GROUPED, is_minus_zero(v)) ||
		       /* The temporary table's column has a width, and cuts what is larger; it prints other
			* digits than the expression where there are very many. */
		       run_refuses(run, LIMIT_LARGE_DOUBLE_WITH_DECIMALS_GROUPED,
			       type->decimals < EVAL_NOT_FIXED &&
				       (fabs(v->d) >= 1e15 || type->decimals > 15)) ||
		       run_refuses(run, LIMIT_DOUBLE_OF_MORE_DECIMALS_THAN_COLUMN,
			       beyond_decimals(type, v->d));
	if (v->kind != EVAL_DECIMAL)
		return false;
	return run_refuses(run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS, has_too_many_digits(type, v)) ||
	       run_refuses(run, LIMIT_NEGATIVE_DECIMAL_UNSIGNED_SORTED_OR_GROUPED,
		       v->dec->neg && type->is_unsigned) ||
	       run_refuses(run, LIMIT_QUOTIENT_BY_QUOTIENT_SORTED_OR_GROUPED, type->roomless && older);
}

/* IF(x, 0.5, 1) is 1, and 1.0 out of a temporary table. */
static bool has_fewer_decimals(const struct eval_type *type, const struct eval_value *v)
{
	return type->own_scale && v->kind == EVAL_DECIMAL && v->dec->scale < type->decimals;
}

/* A temporary table has of no DECIMAL more than 65 digits; MariaDB's has less room for a DOUBLE than its
 * digits need, and no negative zero, and of a DECIMAL UNSIGNED no negative, which `du1 - du2` may be. */
static bool is_kept_otherwise(
	const struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	if (has_too_many_digits(type, v))
		return true;
	if (run->env->flavour != SQL_MARIADB)
		return false;
	if (v->kind == EVAL_DOUBLE)
		return fabs(v->d) >= 1e15 || is_minus_zero(v) || beyond_decimals(type, v->d);
	return v->kind == EVAL_DECIMAL && ((v->dec->neg && type->is_unsigned) || type->roomless);
}

/* Has the column a value of which that is so? */
static bool any_value(const struct output *out, uint32_t column, const struct run *run,
	const struct eval_type *type,
	bool (*is)(const struct run *run, const struct eval_type *type, const struct eval_value *v))
{
	for (size_t i = 0; i < out->count; i++) {
		if (is(run, type, &out->rows[i][column]))
			return true;
	}
	return false;
}

static bool fewer_decimals(
	const struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	(void)run;
	return has_fewer_decimals(type, v);
}

bool buffered_rows_refused(struct run *run, const struct eval_query *q, const struct output *out)
{
	for (uint32_t k = 0; k < q->column_count && q->buffered; k++) {
		if (run_refuses(run, LIMIT_MYSQL_IF_OF_SEVERAL_SCALES_IN_TMP_TABLE,
			    any_value(out, k, run, &q->types[k], fewer_decimals)))
			return true;
	}
	for (uint32_t k = 0; k < q->column_count && q->buffered; k++) {
		if (q->kind != QUERY_SELECT || !type_is_number(&q->types[k]) || q->items[k]->column)
			continue;
		if (run_refuses(run, LIMIT_NUMBER_THAT_TEMPORARY_TABLE_KEEPS_OTHERWISE,
			    any_value(out, k, run, &q->types[k], is_kept_otherwise)))
			return true;
	}
	return false;
}

/* What an expression around it, or a table, sees of the digits after its scale is not certain. */
static bool lost_digits(const struct eval_value *kept, const struct eval_value *v)
{
	return kept->kind == EVAL_DECIMAL && decimal_compare(kept->dec, v->dec) != 0;
}

bool derived_value_refused(
	struct run *run, const struct eval_value *kept, const struct eval_value *v)
{
	return run_refuses(
		run, LIMIT_QUOTIENTS_WITH_MORE_DIGITS_IN_DERIVED_TABLE, lost_digits(kept, v));
}

/* ---- ORDER BY ---- */

bool ordered_type_refused(struct run *run, const struct eval_type *type)
{
	return run_refuses(run, LIMIT_COMPARING_JSON_VALUES, type->kind == EVAL_T_JSON);
}

/* CAST(230 AS DATE), which is NULL: MariaDB sorts it as the 30th of February. */
static bool is_number_of_no_date(const struct node *n, const struct eval_value *v, struct frame *f)
{
	bool casts = n->expr && (n->expr->kind == SQL_EXPR_CAST ||
					(n->expr->kind == SQL_EXPR_CALL &&
						span_ieq_str(n->expr->u.call.name, "date")));

	return casts && v->kind == EVAL_NULL && type_is_temporal(&n->type) &&
	       f->run->env->flavour == SQL_MARIADB && n->arg_count == 1 &&
	       type_is_number(&n->args[0]->type) && node_run(n->args[0], f).kind != EVAL_NULL;
}

/* A computed text of latin1_bin or ascii_bin: MariaDB sorts it with blanks after it, or without. */
static bool is_padded_or_not(const struct node *n, const struct eval_value *v, const struct run *run)
{
	if (run->env->flavour != SQL_MARIADB || n->column || v->kind != EVAL_STRING ||
		!type_is_string(&n->type) || n->type.collation == COLLATION_BINARY ||
		!collation_is_bin(n->type.collation) ||
		charset_max_bytes(collation_charset(n->type.collation)) > 1)
		return false;
	for (size_t i = 0; i < v->s.len; i++) {
		if ((unsigned char)v->s.ptr[i] <= ' ')
			return true;
	}
	return false;
}

bool order_key_refused(struct frame *f, const struct node *n, const struct eval_value *key)
{
	return run_refuses(f->run, LIMIT_NUMBER_NOT_DATE_CAST_TO_ONE_AND_SORTED,
		       is_number_of_no_date(n, key, f)) ||
	       run_refuses(f->run, LIMIT_COMPUTED_ONE_BYTE_BIN_TEXT_SORTED,
		       is_padded_or_not(n, key, f->run));
}

/* ---- SELECT ---- */

/* LIMIT may end it before. */
bool rollup_error_refused(struct run *run, const struct eval_query *q)
{
	return run_reopens(run, LIMIT_ERROR_IN_WITH_ROLLUP, q->rollup);
}

/* The server does not compute what LIMIT leaves out, or does. */
bool limit_error_refused(struct run *run, const struct eval_query *q)
{
	return run_reopens(run, LIMIT_ERROR_IN_QUERY_WITH_LIMIT, q->limit);
}

static bool all_constant_items(const struct eval_query *q)
{
	for (uint32_t i = 0; i < q->column_count; i++) {
		if (!q->items[i]->constant)
			return false;
	}
	return true;
}

static bool distinct_order_known(const struct eval_query *q)
{
	for (uint32_t i = 0; i < q->order_count; i++) {
		if (q->order[i].item == UINT32_MAX && !q->order[i].node->constant)
			return false;
	}
	return true;
}

bool distinct_rows_refused(struct run *run, const struct eval_query *q, size_t count)
{
	return run_refuses(run, LIMIT_DISTINCT_ORDERED_BY_NOT_SELECTED,
		       q->order_count && !distinct_order_known(q)) ||
	       /* MariaDB does not count the duplicates that OFFSET skips. */
	       run_refuses(run, LIMIT_DISTINCT_CONSTANTS_WITH_OFFSET,
		       q->offset && all_constant_items(q)) ||
	       /* MariaDB 10.5 to 11.8 take them for constants, and give one row. */
	       run_refuses(run, LIMIT_DISTINCT_OF_WHAT_COUNT_AND_KIN_MAKE,
		       run->env->flavour == SQL_MARIADB && q->group_count && count > 1 &&
			       counts_alone(q));
}

/* ---- GROUP BY ---- */

bool null_groups_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MARIADB_NULL_AMONG_COMPUTED_DECIMALS_GROUPED_DESC, true);
}

bool rollup_of_nothing_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MYSQL_WITH_ROLLUP_OF_NO_ROWS, true);
}

/* The server computes them row by row, and may have met another error before. */
bool group_error_refused(struct run *run, bool computes_aggregates)
{
	return run_reopens(
		run, LIMIT_ERROR_IN_GROUP_BY_WITH_AGGREGATES_OF_COMPUTED, computes_aggregates);
}

bool grouping_refused(struct run *run, bool is_key)
{
	return run_refuses(run, LIMIT_GROUPING_OUTSIDE_OF_WITH_ROLLUP, !is_key);
}

/* ---- windows ---- */

bool nested_window_refused(struct run *run, const struct node *n, const struct eval_value *kept,
	const struct eval_value *v)
{
	return run_refuses(run, LIMIT_QUOTIENT_OF_WINDOW_FUNCTION_USED_FURTHER,
		n->nested && lost_digits(kept, v));
}

bool window_result_refused(struct run *run, const struct window *w, const struct eval_value *kept,
	const struct eval_value *v)
{
	return run_refuses(run, LIMIT_WINDOW_OVER_QUOTIENTS_WITH_MORE_DIGITS,
		w->kind != WINDOW_AGGREGATE && lost_digits(kept, v));
}

bool range_refused(struct run *run, bool overflow)
{
	return run_refuses(run, LIMIT_RANGE_BEYOND_BIGINT, overflow);
}

static bool is_extreme(const struct aggregate *a)
{
	return a->kind == AGG_MIN || a->kind == AGG_MAX;
}

bool moving_aggregate_refused(struct run *run, const struct window *w, const struct aggregate *a)
{
	bool following = w->unit && w->from == SQL_FRAME_FOLLOWING;

	return run_refuses(run, LIMIT_MYSQL80_MIN_OR_MAX_OF_ROWS_THAT_FOLLOW,
		       is_extreme(a) && following && run->env->flavour == SQL_MYSQL &&
			       !run_mysql_has(run, MYSQL_MAX_OF_FOLLOWING)) ||
	       /* MariaDB takes rows that leave the frame off the sum again. */
	       run_refuses(run, LIMIT_MOVING_SUM_OF_DOUBLES,
		       a->type.kind == EVAL_T_DOUBLE && run->env->flavour == SQL_MARIADB && w->unit &&
			       w->from != SQL_FRAME_FIRST);
}

/* MySQL takes the first or last row where the order is that of the values. */
bool null_in_window_refused(struct run *run, const struct window *w, const struct aggregate *a,
	const struct eval_value *key)
{
	return run_refuses(run, LIMIT_MYSQL_MIN_OR_MAX_OVER_WINDOW_WITH_NULL,
		is_extreme(a) && w->key_count > w->partition_count && key->kind == EVAL_NULL);
}

/* ---- subqueries ---- */

/* MySQL does not ask it: NULL, and EXISTS is false. */
bool correlated_subquery_refused(struct frame *f, const struct eval_query *query)
{
	return run_refuses(f->run, LIMIT_MYSQL_CORRELATED_SUBQUERY_OF_NO_ROWS,
		query->outer_reach && f->no_row);
}

/* NULL IN (...) does not always ask it, and what is left of IN may fail before. */
bool subquery_error_refused(struct run *run, bool possible)
{
	return run_reopens(run, LIMIT_ERROR_IN_SUBQUERY_OF_IN, possible);
}

/* The least or greatest of them is looked for among signed integers, in both. */
bool quantified_rows_refused(struct run *run, enum sql_op op, const struct eval_result *r)
{
	for (size_t i = 0; i < r->row_count && op != SQL_OP_EQ && op != SQL_OP_NE; i++) {
		if (run_refuses(run, LIMIT_ALL_OR_ANY_OF_INTEGERS_BEYOND_BIGINT,
			    is_above_bigint(&r->rows[i][0])))
			return true;
	}
	return false;
}

/* Is it -0 as it is compared, be it the text '-0'? */
static bool is_minus_zero_as(const struct comparison *how, const struct eval_value *v)
{
	size_t used;
	double d;

	if (v->kind != EVAL_DOUBLE && (v->kind != EVAL_STRING || how->as.kind != EVAL_T_DOUBLE))
		return false;
	d = v->kind == EVAL_DOUBLE ? v->d : text_to_double(v->s, &used);
	return d == 0 && signbit(d);
}

bool quantified_pair_refused(struct run *run, enum sql_op op, const struct comparison *how,
	const struct eval_value *left, const struct eval_value *v)
{
	bool mariadb = run->env->flavour == SQL_MARIADB;

	return /* Found or not, as the plan is. */
		run_refuses(run, LIMIT_NEGATIVE_ZERO_IN_SUBQUERY_OF_IN,
			is_minus_zero_as(how, left) || is_minus_zero_as(how, v)) ||
		/* Its MIN or MAX is compared with it as a signed integer. */
		run_refuses(run, LIMIT_INTEGER_BEYOND_BIGINT_AND_ALL_OR_ANY_OF_DOUBLES,
			mariadb && op != SQL_OP_EQ && v->kind == EVAL_DOUBLE && is_above_bigint(left)) ||
		/* It finds their least or greatest text. */
		run_refuses(run, LIMIT_MYSQL_ALL_OR_ANY_OF_EXTREME_TIMES,
			op != SQL_OP_EQ && op != SQL_OP_NE && v->kind == EVAL_TIME &&
				(v->t.neg || v->t.hour > 99));
}

/* A value that the subquery's type has no room for is not there, whatever else is NULL. */
bool null_in_subquery_refused(struct run *run, const struct node *left, bool same_room)
{
	return run_refuses(run, LIMIT_IN_OF_SEVERAL_TYPES_WITH_NULL_AMONG_THEM,
		run->env->flavour == SQL_MARIADB &&
			(!same_room || (type_is_int(&left->type) && !left->column)));
}

/* ---- UNION, WITH RECURSIVE ---- */

/* Older releases print the digits that it has. */
bool set_value_refused(struct run *run, const struct eval_type *from, const struct eval_value *v,
	const struct eval_type *to)
{
	return run_refuses(run, LIMIT_UNION_OF_TEXT_AND_OF_QUOTIENT_WITH_MORE_DIGITS,
		v->kind == EVAL_DECIMAL && type_is_string(to) &&
			(v->dec->scale > from->decimals ||
				(!v->dec->count && from->decimals && run->env->flavour == SQL_MYSQL)));
}

bool recursive_value_refused(struct run *run, bool fits)
{
	return run_refuses(run, LIMIT_RECURSIVE_CTE_WHOSE_VALUES_OUTGROW_COLUMNS, !fits);
}

bool recursive_error_refused(struct run *run)
{
	return run_reopens(run, LIMIT_MYSQL_ERROR_IN_RECURSIVE_CTE, true);
}

/* ---- WHERE ---- */

/* In which order a server evaluates the parts of a WHERE clause is its own affair, and so whether it meets an
 * error. */
bool where_error_refused(struct run *run, const struct node *where)
{
	return run_reopens(run, LIMIT_ERROR_IN_WHERE_WITH_AND_OR_OR,
		where->op == SQL_OP_AND || where->op == SQL_OP_OR);
}
