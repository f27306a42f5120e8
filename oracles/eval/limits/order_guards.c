/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of the keys of ORDER BY and GROUP BY. */
#include "eval/limits/guards.h"
#include "eval/query/query.h"

/* ---- a key as it is written, where it may be the number of an item ---- */

static bool is_negative_ordinal(const struct guarded *g)
{
	uint64_t ordinal;

	return g->expr->kind == SQL_EXPR_UNARY && g->expr->op == SQL_OP_NEG &&
	       key_is_ordinal(g->env, g->expr->u.binary.left, &ordinal);
}

static bool is_large_ordinal(const struct guarded *g)
{
	uint64_t ordinal;

	return key_is_ordinal(g->env, g->expr, &ordinal) && ordinal >= KEY_ORDINAL_MAX;
}

static bool is_sign_of_sign(const struct guarded *g)
{
	return g->expr->kind == SQL_EXPR_UNARY && g->expr->u.binary.left->kind == SQL_EXPR_UNARY;
}

bool key_text_refused(struct compiler *c, const struct sql_expr *key)
{
	static const struct guard guards[] = {
		{LIMIT_CONSTANT_IN_GROUP_BY_OR_ORDER_BY, is_negative_ordinal},
		{LIMIT_CONSTANT_IN_GROUP_BY_OR_ORDER_BY, is_large_ordinal},
		{LIMIT_CONSTANT_IN_GROUP_BY_OR_ORDER_BY, is_sign_of_sign},
	};
	struct guarded g = {.env = c->env, .expr = key};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- the item that a number means ---- */

/* In a derived table MySQL takes it for a column's name (error 1054). */
static bool constant_of_derived_table(const struct guarded *g)
{
	return g->args[0]->constant && g->env->flavour == SQL_MYSQL &&
	       !(g->compiler->depth == 1 && g->compiler->scope->aggregates_allowed);
}

bool key_ordinal_refused(struct compiler *c, struct node *item)
{
	static const struct guard guards[] = {
		{LIMIT_CONSTANT_IN_GROUP_BY_OR_ORDER_BY, constant_of_derived_table},
	};
	struct guarded g = {.env = c->env, .compiler = c, .args = &item, .count = 1};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- a key that is compiled ---- */

/* The servers compare as many of its bytes as the text has characters. */
static bool is_bytes_of_text(const struct guarded *g)
{
	const struct node *key = g->args[0];

	return key->type.kind == EVAL_T_STRING && !key->column && key->type.collation == COLLATION_BINARY &&
	       has_wide_text(key);
}

bool key_refused(struct compiler *c, struct node *key)
{
	static const struct guard guards[] = {
		{LIMIT_ORDERING_BYTES_ONCE_TEXT, is_bytes_of_text},
	};
	struct guarded g = {.env = c->env, .args = &key, .count = 1};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool is_computed_decimal(const struct guarded *g)
{
	return !g->args[0]->column && g->args[0]->type.kind == EVAL_T_DECIMAL;
}

/* The temporary table's column has the digits of the dividend. */
static bool is_div_of_no_integers(const struct guarded *g)
{
	const struct node *key = g->args[0];

	return key->expr && key->expr->kind == SQL_EXPR_BINARY && key->expr->op == SQL_OP_INT_DIV &&
	       !(type_is_int(&key->args[0]->type) && type_is_int(&key->args[1]->type));
}

/* The servers may fold it into a number, and take that for a column's. */
static bool may_become_ordinal(const struct guarded *g)
{
	uint64_t ordinal;

	return g->args[0]->constant && !g->args[0]->literal && !key_is_ordinal(g->env, g->expr, &ordinal);
}

bool group_key_refused(struct compiler *c, const struct sql_expr *e, struct node *key)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL5_GROUP_BY_COMPUTED_DECIMAL, is_computed_decimal},
		{LIMIT_GROUP_BY_DIV_OF_OTHER_THAN_INTEGERS, is_div_of_no_integers},
		{LIMIT_CONSTANT_IN_GROUP_BY_OR_ORDER_BY, may_become_ordinal},
	};
	struct guarded g = {.env = c->env, .expr = e, .args = &key, .count = 1};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}
