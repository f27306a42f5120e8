/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of SELECT: its clauses, and what a temporary table keeps of it. */
#include "eval/limits/guards.h"
#include "eval/query/query.h"

bool select_clauses_refused(struct compiler *c, const struct sql_query *query)
{
	if (query->u.select.cube || query->u.select.grouping_sets.ptr)
		compile_unsupported(c, LIMIT_CUBE_GROUPING_SETS);
	else if (query->u.select.qualify)
		compile_unsupported(c, LIMIT_QUALIFY);
	else if (query->u.select.procedure.ptr)
		compile_unsupported(c, LIMIT_PROCEDURE);
	else
		return false;
	return true;
}

static struct guarded select_list(const struct compiler *c, const struct eval_query *q)
{
	return (struct guarded){.env = c->env, .query = q, .args = q->items, .count = q->column_count};
}

static bool distinct_of_bit(const struct guarded *g)
{
	return g->query->distinct && g->args[g->at]->type.kind == EVAL_T_BIT;
}

bool select_list_refused(struct compiler *c, const struct eval_query *q)
{
	static const struct guard guards[] = {
		{LIMIT_DISTINCT_OF_BIT, distinct_of_bit},
	};
	struct guarded g = select_list(c, q);

	return guards_refuse_each(c, &g, 0, guards, ARRAY_LEN(guards));
}

/* The rows that are sorted are in a table. */
bool select_order_refused(struct compiler *c, const struct eval_query *q)
{
	for (uint32_t k = 0; k < q->order_count; k++) {
		if (q->order[k].item != UINT32_MAX &&
			node_is_cut(c->env, q->items[q->order[k].item])) {
			compile_unsupported(c, LIMIT_TEXT_OF_NUMBER_THAT_TMP_TABLE_MAY_CUT);
			return true;
		}
	}
	return false;
}

/* SELECT ~5, COUNT(*): cut to BIGINT. */
static bool unsigned_constant_and_aggregate(const struct guarded *g)
{
	const struct node *n = g->args[g->at];

	return g->query->grouped && !g->query->group_count && n->constant && !n->literal &&
	       n->type.kind == EVAL_T_INT && n->type.is_unsigned;
}

/* What is made of a group comes after its table. */
static bool is_kept(const struct guarded *g)
{
	const struct eval_query *q = g->query;

	return q->buffered && (!node_aggregates(g->args[g->at]) || q->distinct || q->window_count);
}

static bool is_cut(const struct guarded *g)
{
	const struct node *n = g->args[g->at];

	/* After a window function a text of a number may find too little room, too. */
	return is_kept(g) && (node_is_cut(g->env, n) ||
				     (g->query->window_count && type_is_string(&n->type) &&
					     node_any(n, node_cuts_decimal)));
}

/* The other columns of a SELECT with a window function are kept in its table, too. */
static bool double_and_window(const struct guarded *g)
{
	const struct node *n = g->args[g->at];

	return is_kept(g) && g->query->window_count && !n->column && n->type.kind == EVAL_T_DOUBLE &&
	       n->type.decimals < EVAL_NOT_FIXED;
}

static bool is_tiny_text(const struct node *n)
{
	return n->column && n->type.blob && n->type.length == 255;
}

static bool mixes_tiny_text(const struct node *n)
{
	return !n->column && n->type.merged && node_any(n, is_tiny_text);
}

/* Groups of IF, COALESCE, GREATEST ... of a TINYTEXT: MariaDB compares with what it has of the row before,
 * which is where the column's value is, and finds all equal. */
static bool groups_tiny_text(const struct guarded *g)
{
	const struct eval_query *q = g->query;

	for (uint32_t i = 0; i < q->group_count; i++) {
		if (mixes_tiny_text(q->group[i].node))
			return true;
	}
	for (uint32_t i = 0; i < q->column_count && q->distinct; i++) {
		if (mixes_tiny_text(q->items[i]))
			return true;
	}
	return false;
}

bool select_refused(struct compiler *c, const struct eval_query *q)
{
	static const struct guard constants[] = {
		{LIMIT_MARIADB_UNSIGNED_CONSTANT_WITH_AGGREGATE, unsigned_constant_and_aggregate},
	};
	static const struct guard kept[] = {
		{LIMIT_TEXT_OF_NUMBER_THAT_TMP_TABLE_MAY_CUT, is_cut},
		{LIMIT_DOUBLE_WITH_DECIMALS_WITH_WINDOW_FUNCTION, double_and_window},
	};
	static const struct guard groups[] = {
		{LIMIT_GROUPS_OF_COMPUTED_TINYTEXT, groups_tiny_text},
	};
	struct guarded g = select_list(c, q);

	return guards_refuse_each(c, &g, 0, constants, ARRAY_LEN(constants)) ||
	       guards_refuse_each(c, &g, 0, kept, ARRAY_LEN(kept)) ||
	       guards_refuse(c, &g, groups, ARRAY_LEN(groups));
}
