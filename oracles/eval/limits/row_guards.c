/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of comparing rows: two values of one place, args[0] of the left row and args[1] of the right one. */
#include "eval/limits/guards.h"
#include "eval/operator/comparison.h"

static bool any_row(const struct guarded *g)
{
	return node_is_row(g->args[0]) || node_is_row(g->args[1]);
}

bool row_pair_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_ROWS_WITHIN_ROWS, any_row},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool any_hexadecimal(const struct guarded *g)
{
	return type_at(g, 0)->hybrid || type_at(g, 1)->hybrid;
}

bool row_among_refused(struct compiler *c, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_ROWS_WITH_HEXADECIMAL_LITERAL_IN_IN, any_hexadecimal},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* No constant is a YEAR in rows, except with = in MySQL. */
static bool year_and_constant(const struct guarded *g)
{
	return g->how->year;
}

bool row_comparison_refused(
	struct compiler *c, struct node *const *pair, const struct comparison *how)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_YEAR_AND_CONSTANT_IN_ROWS, year_and_constant},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2, .how = how};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* MariaDB compares them in the collation of the left one, byte by byte as they are. */
static bool different_charsets(const struct guarded *g)
{
	const struct node *right = g->args[1];

	return g->how->as.kind == EVAL_T_STRING && type_is_string(type_at(g, 0)) &&
	       type_is_string(type_at(g, 1)) && !(right->literal && text_is_ascii(right->u.value.s)) &&
	       collation_charset(type_at(g, 0)->collation) != collation_charset(type_at(g, 1)->collation);
}

static bool any_null(const struct guarded *g)
{
	return type_at(g, 0)->kind == EVAL_T_NULL || type_at(g, 1)->kind == EVAL_T_NULL;
}

/* To MariaDB NULL is a text: with it an integer becomes a DECIMAL, and that a DOUBLE. */
static bool null_and_number(const struct guarded *g)
{
	return g->how->as.kind != EVAL_T_STRING && !type_is_temporal(&g->how->as) && any_null(g);
}

static bool text_and_number(const struct guarded *g)
{
	return !type_is_temporal(&g->how->as) &&
	       type_is_string(type_at(g, 0)) != type_is_string(type_at(g, 1)) && !any_null(g);
}

bool row_comparison_among_refused(
	struct compiler *c, struct node *const *pair, const struct comparison *how)
{
	static const struct guard guards[] = {
		{LIMIT_ROWS_OF_DIFFERENT_CHARACTER_SETS_IN_IN, different_charsets},
		{LIMIT_ROWS_WITH_NULL_AND_NUMBERS_IN_IN, null_and_number},
		{LIMIT_ROWS_OF_TEXTS_AND_NUMBERS_IN_IN, text_and_number},
	};
	struct guarded g = {.env = c->env, .args = pair, .count = 2, .how = how};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}
