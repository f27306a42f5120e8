/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UNION, INTERSECT, EXCEPT and VALUES compiled. */
#include "eval/query/query.h"

#include "eval/limits/guards.h"
#include "eval/value/release.h"
#include "server/errors.h"

static struct eval_value run_nothing(const struct node *n, struct frame *f)
{
	(void)n;
	(void)f;
	return EVAL_NULL_VALUE;
}

static uint32_t items_of(const struct eval_query *q, uint32_t column, struct node **out)
{
	uint32_t count;

	if (q->kind == QUERY_SET_OP) {
		count = items_of(q->left, column, out);
		return count + items_of(q->right, column, out ? out + count : NULL);
	}
	if (q->kind == QUERY_SELECT && out)
		out[0] = q->items[column];
	return q->kind == QUERY_SELECT;
}

/* Stands for a column of an operand; its arguments are what may be in it. */
static struct node *node_of_column(struct compiler *c, const struct eval_query *q, uint32_t column)
{
	bool null = q->types[column].kind == EVAL_T_NULL;
	struct node *n = node_new(c, run_nothing, NULL, null ? 0 : items_of(q, column, NULL));

	if (!null)
		items_of(q, column, n->args);
	n->type = q->types[column];
	return n;
}

/* ORDER BY of a union sees the columns of its result only. */
static bool compile_set_order(struct compiler *c, struct eval_query *q,
	const struct sql_query *query, struct scope *scope)
{
	struct node **items = arena_zero(c->arena, (q->column_count + 1) * sizeof(*items));

	scope->tables = arena_zero(c->arena, sizeof(*scope->tables));
	scope->table_count = 1;
	scope->tables[0].names = q->names;
	scope->tables[0].types = q->types;
	scope->tables[0].column_count = q->column_count;
	for (uint32_t i = 0; i < q->column_count; i++)
		items[i] = node_column(c, NULL, 0, 0, i, &q->types[i]);
	return compile_keys(c, query->order, items, q->column_count, &q->order, &q->order_count);
}

/* Its type is one that holds the values of both operands. */
static bool compile_set_column(struct compiler *c, struct eval_query *q, uint32_t column)
{
	struct node *pair[2] = {
		node_of_column(c, q->left, column), node_of_column(c, q->right, column)};

	return !set_column_refused(c, q, column) &&
	       merge_types(c, pair, 2, OPERATION_UNION, &q->types[column]) &&
	       !set_merged_column_refused(c, q, column);
}

struct eval_query *compile_set_op(struct compiler *c, struct eval_query *q,
	const struct sql_query *query, struct scope *scope, const struct cte *ctes)
{
	struct scope *saved = c->scope;

	q->op = query->u.set.op;
	q->all = query->u.set.all;
	q->left = compile_query(c, query->u.set.left, scope->outer, ctes);
	q->right = q->left ? compile_query(c, query->u.set.right, scope->outer, ctes) : NULL;
	if (!q->right)
		return NULL;
	c->scope = saved;
	if (set_operands_refused(c, q))
		return NULL;
	if (q->left->column_count != q->right->column_count)
		return (struct eval_query *)compile_error(
			c, ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, "queries with different numbers of columns");
	q->column_count = q->left->column_count;
	q->names = q->left->names;
	q->types = arena_zero(c->arena, (q->column_count + 1) * sizeof(*q->types));
	for (uint32_t i = 0; i < q->column_count; i++) {
		if (!compile_set_column(c, q, i))
			return NULL;
	}
	if (q->left->outer_reach > q->outer_reach)
		q->outer_reach = q->left->outer_reach;
	if (q->right->outer_reach > q->outer_reach)
		q->outer_reach = q->right->outer_reach;
	q->outer_text |= q->left->outer_text || q->right->outer_text;
	if (query->limit && !q->all && union_limit_refused(c))
		return NULL;
	return compile_set_order(c, q, query, scope) ? q : NULL;
}

struct eval_query *compile_values_query(
	struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	uint32_t r = 0;

	for (const struct sql_values_row *row = query->u.values; row; row = row->next)
		q->row_count++;
	q->column_count = query->u.values->values.count;
	q->rows = arena_zero(c->arena, (q->row_count + 1) * sizeof(*q->rows));
	for (const struct sql_values_row *row = query->u.values; row; row = row->next, r++) {
		if (row->values.count != q->column_count)
			return (struct eval_query *)compile_error(
				c, ER_JSON_PATH_ARRAY, "VALUES rows of different lengths");
		q->rows[r] = arena_zero(c->arena, (q->column_count + 1) * sizeof(struct node *));
		if (!compile_list(c, &row->values, q->rows[r]))
			return NULL;
	}
	q->names = arena_zero(c->arena, (q->column_count + 1) * sizeof(*q->names));
	q->types = arena_zero(c->arena, (q->column_count + 1) * sizeof(*q->types));
	for (uint32_t i = 0; i < q->column_count; i++) {
		struct node **column = arena_zero(c->arena, (q->row_count + 1) * sizeof(*column));

		for (r = 0; r < q->row_count; r++)
			column[r] = q->rows[r][i];
		if (values_column_refused(c, column, (uint32_t)q->row_count) ||
			!merge_types(c, column, (uint32_t)q->row_count, OPERATION_COMPARES, &q->types[i]))
			return NULL;
		/* Each row is printed as it is, there, but out of a derived table. */
		q->types[i].own_scale = c->env->flavour == SQL_MYSQL && c->depth == 1 &&
					q->types[i].kind == EVAL_T_DECIMAL;
		q->names[i] = SPAN_LIT("?");
		if (c->env->flavour == SQL_MYSQL) {
			struct buf name = BUF_INIT;

			buf_printf(&name, "column_%u", i);
			q->names[i] = arena_copy(c->arena, buf_span(&name));
			buf_release(&name);
		}
	}
	if (values_order_refused(c, query))
		return NULL;
	return compile_set_order(c, q, query, c->scope) ? q : NULL;
}
