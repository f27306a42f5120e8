/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of -x, ROUND and TRUNCATE. */
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/arithmetic.h"

static const struct eval_type *type_of(const struct guarded *g)
{
	return &g->args[0]->type;
}

static bool is_date_or_time(const struct guarded *g)
{
	return type_is_temporal(type_of(g));
}

/* ---- -x ---- */

/* It stays a truth value: FLOOR(-TRUE) is 1 in a column. */
static bool is_literal_true(const struct guarded *g)
{
	const struct node *n = g->args[0];

	return n->literal && n->expr && n->expr->kind == SQL_EXPR_LITERAL &&
	       n->expr->u.literal.kind == SQL_LIT_TRUE;
}

static bool is_computed_text(const struct guarded *g)
{
	return type_is_string(type_of(g)) && !g->args[0]->column;
}

/* -(SELECT 18446744073709551615) is a DECIMAL. */
static bool is_unsigned_subquery(const struct guarded *g)
{
	struct eval_type t = arithmetic_type(type_of(g));
	const struct sql_expr *e = g->args[0]->expr;

	return t.kind == EVAL_T_INT && t.is_unsigned && !type_is_temporal(type_of(g)) && e &&
	       e->kind == SQL_EXPR_SUBQUERY;
}

/* A DECIMAL, and of too few digits where a table keeps it: -(-0x2345) is 999 there. */
static bool is_negative_of_hexadecimal(const struct guarded *g)
{
	return node_is_negative(g->args[0]) && g->args[0]->args[0]->type.hybrid;
}

bool negative_refused(struct compiler *c, struct node *operand)
{
	static const struct guard guards[] = {
		{LIMIT_TRUE, is_literal_true},
		{LIMIT_MYSQL_NEGATIVE_OF_DATE_OR_TIME, is_date_or_time},
		{LIMIT_MYSQL5_ARITHMETIC_ON_COMPUTED_TEXT, is_computed_text},
		{LIMIT_NEGATIVE_OF_UNSIGNED_SUBQUERY, is_unsigned_subquery},
		{LIMIT_NEGATIVE_OF_HEXADECIMAL_LITERAL_NEGATIVE, is_negative_of_hexadecimal},
	};
	struct guarded g = {.env = c->env, .args = &operand, .count = 1};

	return number_refused(c, operand) || guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- ROUND, TRUNCATE ---- */

static bool is_member(const struct guarded *g)
{
	return type_of(g)->kind == EVAL_T_ENUM || type_of(g)->kind == EVAL_T_SET;
}

static bool is_hexadecimal(const struct guarded *g)
{
	return is_unsigned_text(g->env, g->args[0]);
}

static bool places_vary(const struct guarded *g)
{
	return g->count > 1 && !g->args[1]->constant;
}

bool round_refused(struct compiler *c, const struct node *round)
{
	static const struct guard dates[] = {
		{LIMIT_ROUND_OF_DATE_OR_TIME, is_date_or_time},
	};
	static const struct guard guards[] = {
		{LIMIT_ROUND_OF_ENUM_OR_SET, is_member},
		{LIMIT_ABS_OR_ROUND_OF_HEXADECIMAL_LITERAL, is_hexadecimal},
		{LIMIT_ROUND_TO_VARIABLE_NUMBER_OF_DIGITS, places_vary},
	};
	struct guarded g = {.env = c->env, .args = round->args, .count = round->arg_count};

	return guards_refuse(c, &g, dates, ARRAY_LEN(dates)) || number_refused(c, round->args[0]) ||
	       guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool is_long_bit(const struct guarded *g)
{
	return type_of(g)->kind == EVAL_T_BIT && type_of(g)->length > 56;
}

bool round_to_places_refused(struct compiler *c, const struct node *round)
{
	static const struct guard guards[] = {
		{LIMIT_ROUND_OF_BIT_OF_MORE_THAN_56_BITS, is_long_bit},
	};
	struct guarded g = {.env = c->env, .args = round->args, .count = round->arg_count};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool is_computed_integer(const struct guarded *g)
{
	struct eval_type t = arithmetic_type(type_of(g));
	const struct node *n = g->args[0];

	return t.kind == EVAL_T_INT && !n->column && (!n->literal || type_int_digits(&t) > 9);
}

bool round_to_tens_refused(struct compiler *c, const struct node *round)
{
	static const struct guard guards[] = {
		{LIMIT_ROUND_OF_INTEGER_TO_TENS, is_computed_integer},
	};
	struct guarded g = {.env = c->env, .args = round->args, .count = round->arg_count};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- ABS, CEILING, FLOOR ---- */

bool abs_refused(struct compiler *c, struct node *arg)
{
	return number_refused(c, arg) ||
	       compile_refuses(c, LIMIT_MYSQL_ABS_OF_DATE_OR_TIME, type_is_temporal(&arg->type)) ||
	       compile_refuses(
		       c, LIMIT_ABS_OR_ROUND_OF_HEXADECIMAL_LITERAL, is_unsigned_text(c->env, arg)) ||
	       /* Unsigned; DIV needs to know it. */
	       compile_refuses(c, LIMIT_ABS_OF_TIMESTAMP, arg->type.kind == EVAL_T_TIMESTAMP);
}

/* A constant integer that is computed, and so negative that its negation is a DECIMAL. */
static bool negated_constant(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_UNARY && n->expr->op == SQL_OP_NEG &&
		n->type.kind == EVAL_T_DECIMAL && type_is_int(&n->args[0]->type) && !n->literal;
}

static bool is_of_integers(const struct node *n)
{
	bool decimal = n->type.kind == EVAL_T_DECIMAL && n->type.merged;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (n->args[i]->type.kind == EVAL_T_BIT || (decimal && type_is_int(&n->args[i]->type)))
			return true;
	}
	return false;
}

bool ceiling_refused(struct compiler *c, const struct node *arg)
{
	bool mysql = c->env->flavour == SQL_MYSQL;

	return compile_refuses(c, LIMIT_CEILING_OR_FLOOR_OF_DATE_TIME_OR_NULL,
		       type_is_temporal(&arg->type) || (arg->type.kind == EVAL_T_NULL && mysql)) ||
	       compile_refuses(c, LIMIT_CEILING_OR_FLOOR_OF_ENUM_OR_SET, type_is_list(&arg->type)) ||
	       compile_refuses(
		       c, LIMIT_CEILING_OR_FLOOR_OF_INTEGERS_OF_IF_OR_CASE, is_of_integers(arg)) ||
	       compile_refuses(
		       c, LIMIT_MYSQL_CEILING_OR_FLOOR_OF_HEXADECIMAL_LITERAL, arg->type.hybrid) ||
	       /* -(ASCII('a') - 200) is a DECIMAL of as many digits as the server gives ASCII. */
	       compile_refuses(
		       c, LIMIT_CEILING_OR_FLOOR_OF_NEGATED_CONSTANT, negated_constant(arg));
}

/* ---- the digits to round to ---- */

bool null_digits_refused(struct compiler *c, const struct eval_value *v)
{
	return compile_refuses(c, LIMIT_ROUND_TO_NULL_DIGITS, v->kind == EVAL_NULL);
}

bool digits_refused(struct compiler *c, const struct eval_type *type, const struct eval_value *v)
{
	return compile_refuses(c, LIMIT_ROUND_TO_DIGITS_OF_TEXT_BEYOND_BIGINT,
		is_above_bigint(v) && type_is_string(type));
}

/* ---- values ---- */

bool rounded_overflow_refused(struct run *run)
{
	return run_refuses(
		run, LIMIT_ROUND_OF_INTEGER_TO_TENS, run->env->flavour == SQL_MARIADB);
}

/* Some say what is wrong with it when the statement is prepared. */
bool round_error_refused(struct run *run)
{
	return run_reopens(run, LIMIT_ERROR_WITH_NULL_IN_ROUND, true);
}
