/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of any expression and its operands. */
#include "eval/limits/guards.h"

static bool is_text_of_aggregate(const struct guarded *g)
{
	return type_is_string(&g->node->type) && node_is_aggregate(g->args[g->at]);
}

/* CONCAT(COUNT(*), 'a') is a text of bytes. */
static bool is_text_of_number(const struct guarded *g)
{
	return is_text_of_aggregate(g) && !type_is_string(&g->args[g->at]->type);
}

/* MySQL prints it with the digits of a DOUBLE. */
static bool is_text_of_float(const struct guarded *g)
{
	return is_text_of_aggregate(g) && g->args[g->at]->type.kind == EVAL_T_FLOAT;
}

static bool compares_variable(const struct guarded *g)
{
	return g->env->locals && (g->node->type.is_bool || g->expr->kind == SQL_EXPR_CASE) &&
	       compares_local(g->node);
}

bool expression_refused(struct compiler *c, const struct sql_expr *e, const struct node *n)
{
	static const struct guard operands[] = {
		{LIMIT_TEXT_OF_AGGREGATE_IN_OLDER_RELEASES, is_text_of_number},
		{LIMIT_MYSQL_TEXT_OF_MIN_OR_MAX_OF_FLOAT, is_text_of_float},
	};
	static const struct guard all[] = {
		{LIMIT_VARIABLE_COMPARED_WITH_VALUE_OF_ANOTHER_KIND, compares_variable},
	};
	struct guarded g = {
		.env = c->env, .expr = e, .node = n, .args = n->args, .count = n->arg_count};

	return guards_refuse_each(c, &g, 0, operands, ARRAY_LEN(operands)) ||
	       guards_refuse(c, &g, all, ARRAY_LEN(all));
}
