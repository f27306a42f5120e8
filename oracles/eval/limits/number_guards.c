/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of -x, ROUND and TRUNCATE. */
#include "eval/limits/guards.h"
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
