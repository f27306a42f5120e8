/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of x IN (list): args[0] is x. */
#include "base/chars.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "server/errors.h"

static bool several(const struct guarded *g)
{
	return g->count > 2;
}

static const struct eval_type *left_type(const struct guarded *g)
{
	return &g->args[0]->type;
}

static bool constant_among_years(const struct guarded *g)
{
	for (uint32_t i = 1; i < g->count && g->args[0]->constant && several(g); i++) {
		if (g->args[i]->type.kind == EVAL_T_YEAR)
			return true;
	}
	return false;
}

static bool year_and_no_constant(const struct guarded *g)
{
	return left_type(g)->kind == EVAL_T_YEAR && several(g) && !g->args[g->at]->constant;
}

static bool year_and_hexadecimal(const struct guarded *g)
{
	return left_type(g)->kind == EVAL_T_YEAR && g->args[g->at]->type.hybrid;
}

static bool dates_and_times(const struct guarded *g)
{
	return type_is_temporal(left_type(g)) && several(g) &&
	       (g->args[g->at]->type.kind == EVAL_T_TIME) != (left_type(g)->kind == EVAL_T_TIME);
}

/* MySQL 8.0 never finds a TIME among constants of fewer decimals. */
static bool time_of_other_decimals(const struct guarded *g)
{
	const struct node *value = g->args[g->at];

	return left_type(g)->kind == EVAL_T_TIME && several(g) &&
	       (left_type(g)->decimals > value->type.decimals || !value->literal);
}

/* A literal like '123' that is the same number whichever way it is read. */
static bool is_short_integer(const struct node *n)
{
	if (!n->literal || n->type.hybrid || n->u.value.kind != EVAL_STRING || !n->u.value.s.len || n->u.value.s.len > 15)
		return false;
	for (size_t i = 0; i < n->u.value.s.len; i++) {
		if (!char_is_digit(n->u.value.s.ptr[i]))
			return false;
	}
	return true;
}

/* id IN ('1', '2'): by integers where all are such texts, else by DOUBLEs, which is the same. */
static bool integer_among_doubles(const struct guarded *g)
{
	for (uint32_t i = 1; i < g->count && type_is_int(left_type(g)); i++) {
		if (g->how[i].as.kind == EVAL_T_DOUBLE && !is_short_integer(g->args[i]))
			return true;
	}
	return false;
}

static bool all_texts(const struct guarded *g)
{
	for (uint32_t i = 1; i < g->count; i++) {
		if (g->how[i].as.kind != EVAL_T_STRING)
			return false;
	}
	return true;
}

static bool any_text(const struct guarded *g)
{
	return in_list_compares_texts(g->env, g->args, g->count, g->how);
}

static bool texts_and_others(const struct guarded *g)
{
	return any_text(g) && !all_texts(g);
}

static bool is_hexadecimal(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_LITERAL && n->expr->u.literal.kind == SQL_LIT_HEX;
}

/* Its bytes are of no collation, or of that of the others. */
static bool hexadecimal_among_others(const struct guarded *g)
{
	bool text = any_text(g), mixed = text || !all_texts(g);

	if (!several(g))
		return false;
	if (left_type(g)->hybrid)
		return true;
	for (uint32_t i = 1; i < g->count; i++) {
		if ((text && g->args[i]->type.hybrid) ||
			(mixed && g->env->flavour == SQL_MARIADB && is_hexadecimal(g->args[i])))
			return true;
	}
	return false;
}

bool in_list_refused(struct compiler *c, const struct node *in, const struct comparison *how)
{
	static const struct guard first[] = {
		{LIMIT_CONSTANT_IN_VALUES_WITH_YEAR, constant_among_years},
	};
	static const struct guard years[] = {
		{LIMIT_YEAR_IN_VALUES_NOT_CONSTANT, year_and_no_constant},
		{LIMIT_MYSQL_YEAR_IN_HEXADECIMAL_LITERALS, year_and_hexadecimal},
	};
	static const struct guard times[] = {
		{LIMIT_MYSQL_IN_WITH_DATES_AND_TIMES, dates_and_times},
		{LIMIT_MYSQL81_TIME_IN_LIST, time_of_other_decimals},
		{LIMIT_MYSQL80_TIME_IN_VALUES_OF_OTHER_DECIMALS, time_of_other_decimals},
	};
	static const struct guard last[] = {
		{LIMIT_MYSQL_INTEGER_IN_DOUBLES, integer_among_doubles},
		{LIMIT_MYSQL_IN_WITH_STRINGS_AND_OTHERS, texts_and_others},
		{LIMIT_HEXADECIMAL_LITERAL_IN_VALUES_OF_SEVERAL_TYPES, hexadecimal_among_others},
	};
	struct guarded g = {.env = c->env, .args = in->args, .count = in->arg_count, .how = how};

	return guards_refuse(c, &g, first, ARRAY_LEN(first)) ||
	       guards_refuse_each(c, &g, 1, years, ARRAY_LEN(years)) ||
	       guards_refuse_each(c, &g, 1, times, ARRAY_LEN(times)) ||
	       guards_refuse(c, &g, last, ARRAY_LEN(last));
}

/* ---- rows ---- */

bool rows_in_list_refused(struct compiler *c, uint32_t count)
{
	return compile_refuses(c, LIMIT_MYSQL5_ROWS_IN_LIST, count > 1);
}

bool row_collations_refused(struct compiler *c, uint32_t count)
{
	if (count < 2 || c->outcome->error != ER_CANT_AGGREGATE_2COLLATIONS)
		return false;
	c->outcome->status = EVAL_OK;
	return compile_refuses(c, LIMIT_ROWS_OF_DIFFERENT_COLLATIONS_IN_IN, true);
}

/* The servers compare a column of all rows in one type. */
static bool alike(const struct node *a, const struct node *b)
{
	const struct comparison *x = a->u.data, *y = b->u.data;

	for (uint32_t i = 0; i < a->arg_count / 2; i++) {
		if (x[i].as.kind != y[i].as.kind || x[i].collation != y[i].collation)
			return false;
	}
	return true;
}

/* Numbers beside numbers and strings beside strings. */
static bool plain_row(const struct node *a, const struct node *b)
{
	for (uint32_t i = 0; i < a->arg_count; i++) {
		const struct eval_type *x = &a->args[i]->type, *y = &b->args[i]->type;

		if (x->kind != y->kind || (x->kind != EVAL_T_INT && x->kind != EVAL_T_DECIMAL &&
						  x->kind != EVAL_T_STRING))
			return false;
	}
	return true;
}

bool row_in_list_refused(struct compiler *c, const struct node *left, const struct node *row,
	struct node *const *comparisons, uint32_t at, uint32_t count)
{
	return compile_refuses(c, LIMIT_MYSQL_ROWS_OF_MANY_TYPES_IN_IN,
		       count > 1 && c->env->flavour == SQL_MYSQL && !plain_row(left, row)) ||
	       compile_refuses(c, LIMIT_ROWS_OF_DIFFERENT_TYPES_IN_IN,
		       !alike(comparisons[0], comparisons[at]));
}

/* ---- values ---- */

/* Texts may have been made numbers by then, or not. */
bool null_in_texts_refused(
	struct run *run, const struct eval_type *type, const struct comparison *how)
{
	return run_refuses(run, LIMIT_NULL_IN_TEXTS_WITH_NUMBERS_IN_STRICT_MODE,
		run->strict && type_is_string(type) && how->as.kind != EVAL_T_STRING);
}

/* The servers differ in whether they ask for the value: they sort constants, and may find a match
 * without it. */
bool error_in_list_refused(struct run *run)
{
	return run_reopens(run, LIMIT_ERROR_IN_VALUE_OF_IN, true);
}

/* It may have been converted when the statement was prepared. */
bool conversion_in_list_refused(
	struct run *run, const struct node *in, uint32_t at, const struct comparison *how)
{
	return run_reopens(run, LIMIT_ERROR_IN_VALUE_OF_IN,
		run->strict && in->arg_count > 2 && may_be_constant(in->args[at]) &&
			(type_is_temporal(&how->as) || is_bigint_column(in->args[0])));
}

bool value_in_list_refused(struct run *run, const struct comparison *how,
	const struct eval_value *left, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_MYSQL_IN_WITH_LARGE_UNSIGNED_NUMBERS,
		left->kind != v->kind && how->as.kind == EVAL_T_INT &&
			(is_above_bigint(left) || is_above_bigint(v)));
}

/* What is left of IN is made a date for all rows, also where its first value is in none of them. */
bool dates_in_rows_refused(struct run *run, const struct node *in)
{
	const struct node *row = in->args[0];

	for (uint32_t i = 0; in->arg_count > 1 && run->strict && i < row->arg_count; i += 2) {
		if (run_refuses(run, LIMIT_ROWS_OF_DATES_AND_OTHER_TYPES_IN_LIST_IN_STRICT_MODE,
			    type_is_temporal(&row->args[i]->type) !=
				    type_is_temporal(&row->args[i + 1]->type)))
			return true;
	}
	return false;
}

/* What a comparison did not ask for, the server may have computed before. */
bool error_in_row_refused(struct run *run)
{
	return run_reopens(run, LIMIT_ERROR_IN_ROW_OF_IN, true);
}
