/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of NULLIF, GREATEST and LEAST. */
#include "eval/limits/guards.h"

/* ---- NULLIF ---- */

static bool is_bit(const struct guarded *g)
{
	return type_at(g, 0)->kind == EVAL_T_BIT;
}

/* It is a number to MariaDB 10.11.19, bytes to 10.5 and 11.8. */
static bool is_hexadecimal(const struct guarded *g)
{
	return type_at(g, 0)->hybrid;
}

static bool is_zerofill(const struct guarded *g)
{
	return type_at(g, 0)->zerofill;
}

static bool is_float(const struct guarded *g)
{
	return type_at(g, 0)->kind == EVAL_T_FLOAT;
}

static bool differs_in_text(const struct eval_type *a, const struct eval_type *b)
{
	return type_is_string(a) != type_is_string(b) ||
	       (type_is_string(a) && a->collation != b->collation);
}

static bool double_date_or_different_types(const struct guarded *g)
{
	const struct eval_type *a = type_at(g, 0), *b = type_at(g, 1);

	return type_is_temporal(a) || a->kind == EVAL_T_DOUBLE || b->kind == EVAL_T_YEAR ||
	       a->is_unsigned != b->is_unsigned || differs_in_text(a, b) ||
	       (g->args[0]->constant && a->kind != b->kind);
}

bool nullif_refused(struct compiler *c, const struct node *nullif)
{
	static const struct guard guards[] = {
		{LIMIT_BIT_IN_IF_CASE_COALESCE_GREATEST_AND_KIN, is_bit},
		{LIMIT_NULLIF_OF_HEXADECIMAL_LITERAL, is_hexadecimal},
		{LIMIT_MYSQL_ZEROFILL_COLUMN_IN_IF_CASE_COALESCE_AND_KIN, is_zerofill},
		{LIMIT_MYSQL5_COMPUTED_FLOAT, is_float},
		{LIMIT_MYSQL_NULLIF_OF_DOUBLE_DATE_OR_DIFFERENT_TYPES, double_date_or_different_types},
	};
	struct guarded g = {.env = c->env, .args = nullif->args, .count = nullif->arg_count};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- GREATEST, LEAST ---- */

static bool is_null(const struct guarded *g)
{
	return own_type(g)->kind == EVAL_T_NULL;
}

/* A literal is compared as the number that it is (seen on all servers). */
static bool is_signed_and_computed(const struct node *n)
{
	return eval_kind_of(&n->type) == EVAL_INT && !n->literal;
}

static bool of_either_sign(const struct guarded *g)
{
	return type_is_int(own_type(g)) && type_is_int(type_at(g, 0)) &&
	       eval_kind_of(own_type(g)) != eval_kind_of(type_at(g, 0)) &&
	       (is_signed_and_computed(g->args[g->at]) || is_signed_and_computed(g->args[0]));
}

static bool float_and_other(const struct guarded *g)
{
	return (own_type(g)->kind == EVAL_T_FLOAT) != (type_at(g, 0)->kind == EVAL_T_FLOAT);
}

static bool different_decimals(const struct guarded *g)
{
	return g->merged->kind == EVAL_T_DECIMAL && own_type(g)->decimals != type_at(g, 0)->decimals;
}

static bool three_strings(const struct guarded *g)
{
	return g->merged->kind == EVAL_T_STRING && g->count > 2;
}

/* The servers compare as numbers when a number is among them. */
static bool string_and_other(const struct guarded *g)
{
	const struct eval_type *t = own_type(g);

	return g->merged->kind == EVAL_T_STRING &&
	       ((!type_is_string(t) && t->kind != EVAL_T_NULL) || t->hybrid);
}

static bool different_temporal_types(const struct guarded *g)
{
	const struct eval_type *t = own_type(g);

	return type_is_temporal(g->merged) && t->kind != g->merged->kind && t->kind != EVAL_T_NULL;
}

bool greatest_refused(struct compiler *c, const struct node *greatest)
{
	static const struct guard arguments[] = {
		{LIMIT_GREATEST_OR_LEAST_OF_LITERAL_NULL, is_null},
		{LIMIT_GREATEST_OR_LEAST_OF_SIGNED_AND_UNSIGNED, of_either_sign},
		{LIMIT_GREATEST_OR_LEAST_OF_FLOAT_AND_OTHERS, float_and_other},
		{LIMIT_MYSQL_GREATEST_OR_LEAST_OF_DIFFERENT_DECIMALS, different_decimals},
	};
	static const struct guard all[] = {
		{LIMIT_MARIADB_10_5_GREATEST_OR_LEAST_OF_THREE_STRINGS, three_strings},
	};
	static const struct guard merged[] = {
		{LIMIT_GREATEST_OF_STRINGS_AND_OTHERS, string_and_other},
		{LIMIT_GREATEST_OF_DIFFERENT_TEMPORAL_TYPES, different_temporal_types},
	};
	struct guarded g = {.env = c->env,
		.args = greatest->args,
		.count = greatest->arg_count,
		.merged = &greatest->type};

	return guards_refuse_each(c, &g, 0, arguments, ARRAY_LEN(arguments)) ||
	       guards_refuse(c, &g, all, ARRAY_LEN(all)) ||
	       guards_refuse_each(c, &g, 0, merged, ARRAY_LEN(merged));
}
