/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UNION, INTERSECT, EXCEPT and VALUES compiled. */
#include "eval/query/query.h"

#include "eval/limits/release.h"

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

/* Through a temporary table BIT is a number or its text, ZEROFILL cuts, a FLOAT has the digits of a
 * DOUBLE in some, and the text of a number may be cut. */
static bool unites(const struct eval_type *a, const struct eval_type *b)
{
	const struct eval_type *both[2] = {a, b};

	for (int i = 0; i < 2; i++) {
		const struct eval_type *t = both[i], *other = both[1 - i];

		if (t->kind == EVAL_T_BIT || t->zerofill ||
			((t->kind == EVAL_T_FLOAT || t->kind == EVAL_T_YEAR) && other->kind != t->kind) ||
			(has_long_print(t) && !type_is_number(other) && other->kind != EVAL_T_NULL) ||
			(t->kind == EVAL_T_STRING && t->collation == COLLATION_BINARY &&
				other->kind != EVAL_T_NULL &&
				(other->kind != EVAL_T_STRING || other->collation != COLLATION_BINARY)))
			return false;
	}
	return true;
}

/* MariaDB finds the type of all operands at once: 1 UNION 1.5 UNION 'a' has '1', not '1.0'. */
static bool mixes(const struct eval_query *q, const struct eval_type *type, uint32_t i)
{
	if (q->kind != QUERY_SET_OP || !type_is_string(type))
		return false;
	return (!type_is_string(&q->types[i]) &&
		       (q->left->types[i].kind != q->right->types[i].kind ||
			       q->left->types[i].decimals != q->right->types[i].decimals)) ||
	       mixes(q->left, type, i) || mixes(q->right, type, i);
}

static bool operand_is_cut(
	const struct compiler *c, const struct eval_query *q, const struct eval_type *type, uint32_t i)
{
	if (q->kind == QUERY_SET_OP)
		return operand_is_cut(c, q->left, type, i) || operand_is_cut(c, q->right, type, i);
	if (q->kind != QUERY_SELECT)
		return false;
	if (type_is_string(type) && c->env->flavour == SQL_MARIADB && outgrows(q->items[i], true))
		return true;
	return node_is_cut(c->env, q->items[i]) || (type->kind == EVAL_T_DECIMAL && node_is_narrow(c->env, q->items[i]));
}

static bool is_plain_item(const struct eval_query *q, uint32_t i)
{
	if (q->kind == QUERY_SET_OP)
		return is_plain_item(q->left, i) && is_plain_item(q->right, i);
	return q->kind == QUERY_SELECT && (q->items[i]->column || q->items[i]->literal);
}

/* As a text COALESCE(1, 2.50) has the digits of 1, and so has a sum of it: none. */
static bool has_own_digits(const struct eval_query *q, uint32_t i)
{
	const struct node *n;

	if (q->kind == QUERY_SET_OP)
		return has_own_digits(q->left, i) || has_own_digits(q->right, i);
	if (q->types[i].kind != EVAL_T_DECIMAL || !q->types[i].decimals)
		return false;
	if (q->kind != QUERY_SELECT)
		return true;
	n = q->items[i];
	return !n->literal && !(n->column && !n->u.at.depth && q->tables[n->u.at.table].base);
}

/* MySQL: a text that is made of it has the collation of its arguments. */
static bool has_related_texts(const struct eval_query *q, uint32_t i)
{
	if (q->kind == QUERY_SET_OP)
		return has_related_texts(q->left, i) || has_related_texts(q->right, i);
	return q->kind == QUERY_SELECT && !type_is_string(&q->types[i]) && relates_texts(&q->items[i], 1, 0);
}

static bool is_intersection(const struct eval_query *q)
{
	return q->kind == QUERY_SET_OP && q->op == SQL_INTERSECT;
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
	/* MySQL 9.7 lets the operand's LIMIT go. */
	if (c->env->flavour == SQL_MYSQL && q->op != SQL_UNION &&
		(q->left->limit || q->right->limit))
		return compile_unsupported(
			c, LIMIT_MYSQL_LIMIT_IN_OPERAND_OF_INTERSECT_OR_EXCEPT);
	/* MariaDB makes it a derived table, where no two columns may have one name. */
	if (c->env->flavour == SQL_MARIADB && q->op != SQL_INTERSECT && q->left->column_count > 1 &&
		(is_intersection(q->left) || is_intersection(q->right)))
		return compile_unsupported(
			c, LIMIT_INTERSECT_WITHIN_UNION_OR_EXCEPT);
	if (q->left->column_count != q->right->column_count)
		return (struct eval_query *)compile_error(
			c, 1222, "queries with different numbers of columns");
	q->column_count = q->left->column_count;
	q->names = q->left->names;
	q->types = arena_zero(c->arena, (q->column_count + 1) * sizeof(*q->types));
	for (uint32_t i = 0; i < q->column_count; i++) {
		struct node *pair[2] = {
			node_of_column(c, q->left, i), node_of_column(c, q->right, i)};

		if (!unites(&pair[0]->type, &pair[1]->type))
			return compile_unsupported(
				c, LIMIT_UNION_OF_BIT_OR_OF_UNLIKE_TYPES);
		/* MariaDB makes a DECIMAL of as many digits as it thinks the numbers have, and cuts. */
		if (c->env->flavour == SQL_MARIADB && pair[0]->type.kind == EVAL_T_INT &&
			pair[1]->type.kind == EVAL_T_INT &&
			pair[0]->type.is_unsigned != pair[1]->type.is_unsigned &&
			!(is_plain_item(q->left, i) && is_plain_item(q->right, i)))
			return compile_unsupported(
				c, LIMIT_UNION_OF_SIGNED_AND_UNSIGNED_INTEGERS_COMPUTED);
		if ((pair[0]->type.kind != pair[1]->type.kind || pair[0]->type.bytes != pair[1]->type.bytes) &&
			compile_mysql_5(c, LIMIT_MYSQL5_UNION_OF_SEVERAL_TYPES))
			return NULL;
		/* MySQL 9.7: SELECT 1 EXCEPT SELECT v INTERSECT SELECT NULL is empty. */
		if (c->env->flavour == SQL_MYSQL && q->op != SQL_UNION &&
			(pair[0]->type.kind == EVAL_T_NULL || pair[1]->type.kind == EVAL_T_NULL))
			return compile_unsupported(
				c, LIMIT_MYSQL_NULL_AS_COLUMN_OF_INTERSECT_OR_EXCEPT);
		if (!merge_types(c, pair, 2, OPERATION_UNION, &q->types[i]))
			return NULL;
		if (operand_is_cut(c, q->left, &q->types[i], i) ||
			operand_is_cut(c, q->right, &q->types[i], i))
			return compile_unsupported(c, LIMIT_TEXT_OF_NUMBER_THAT_TMP_TABLE_MAY_CUT);
		if (c->env->flavour == SQL_MYSQL && type_is_string(&q->types[i]) &&
			(has_related_texts(q->left, i) || has_related_texts(q->right, i)))
			return compile_unsupported(
				c, LIMIT_MYSQL_TEXT_OF_REGEXP_LIKE_INSTR_AND_KIN);
		if (type_is_string(&q->types[i]) &&
			(has_own_digits(q->left, i) || has_own_digits(q->right, i)))
			return compile_unsupported(
				c, LIMIT_UNION_OF_TEXT_AND_OF_COMPUTED_DECIMAL);
		if (mixes(q->left, &q->types[i], i) || mixes(q->right, &q->types[i], i))
			return compile_unsupported(
				c, LIMIT_UNION_OF_TEXT_AND_SEVERAL_TYPES);
	}
	if (q->left->outer_reach > q->outer_reach)
		q->outer_reach = q->left->outer_reach;
	if (q->right->outer_reach > q->outer_reach)
		q->outer_reach = q->right->outer_reach;
	q->outer_text |= q->left->outer_text || q->right->outer_text;
	if (query->limit && !q->all && compile_mysql_5(c, LIMIT_MYSQL5_UNION_WITH_LIMIT))
		return NULL;
	return compile_set_order(c, q, query, scope) ? q : NULL;
}

/* Of one type, but for NULLs. */
static bool all_alike(struct node *const *values, uint32_t count)
{
	const struct eval_type *first = NULL;

	for (uint32_t i = 0; i < count; i++) {
		const struct eval_type *t = &values[i]->type;

		if (values[i]->literal && t->kind == EVAL_T_NULL)
			continue;
		if (first && (t->kind != first->kind || t->decimals != first->decimals))
			return false;
		first = t;
	}
	return true;
}

/* Literals that are integers, DECIMALs or NULL. */
static bool all_exact(struct node *const *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct eval_type *t = &values[i]->type;

		if (!values[i]->literal ||
			(t->kind != EVAL_T_INT && t->kind != EVAL_T_DECIMAL && t->kind != EVAL_T_NULL))
			return false;
	}
	return true;
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
				c, 4045, "VALUES rows of different lengths");
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
		if (c->env->flavour == SQL_MYSQL && !all_alike(column, (uint32_t)q->row_count) &&
			!all_exact(column, (uint32_t)q->row_count))
			return compile_unsupported(
				c, LIMIT_MYSQL_VALUES_OF_SEVERAL_TYPES_IN_ONE_COLUMN);
		if (!merge_types(c, column, (uint32_t)q->row_count, OPERATION_COMPARES, &q->types[i]))
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
	/* The server leaves them as they are written, and LIMIT takes the first. */
	if (query->order && c->env->flavour == SQL_MYSQL)
		return compile_unsupported(c, LIMIT_MYSQL_ORDER_BY_OF_VALUES);
	return compile_set_order(c, q, query, c->scope) ? q : NULL;
}
