/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of UNION, INTERSECT, EXCEPT and VALUES. */
#include "eval/limits/guards.h"
#include "eval/query/query.h"

/* ---- the operands, before their columns ---- */

/* MySQL 9.7 drops the operand's LIMIT. */
static bool operand_has_limit(const struct guarded *g)
{
	const struct eval_query *q = g->query;

	return q->op != SQL_UNION && (q->left->limit || q->right->limit);
}

static bool is_intersection(const struct eval_query *q)
{
	return q->kind == QUERY_SET_OP && q->op == SQL_INTERSECT;
}

/* MariaDB makes it a derived table, where no two columns may have one name. */
static bool operand_is_intersection(const struct guarded *g)
{
	const struct eval_query *q = g->query;

	return q->op != SQL_INTERSECT && q->left->column_count > 1 &&
	       (is_intersection(q->left) || is_intersection(q->right));
}

bool set_operands_refused(struct compiler *c, const struct eval_query *q)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_LIMIT_IN_OPERAND_OF_INTERSECT_OR_EXCEPT, operand_has_limit},
		{LIMIT_INTERSECT_WITHIN_UNION_OR_EXCEPT, operand_is_intersection},
	};
	struct guarded g = {.env = c->env, .query = q};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- a column of both, before its type ---- */

static const struct eval_type *left_type(const struct guarded *g)
{
	return &g->query->left->types[g->at];
}

static const struct eval_type *right_type(const struct guarded *g)
{
	return &g->query->right->types[g->at];
}

static bool is_bytes(const struct eval_type *t)
{
	return t->kind == EVAL_T_STRING && t->collation == COLLATION_BINARY;
}

/* Through a temporary table BIT is a number or its text, ZEROFILL cuts, a FLOAT has the digits of a
 * DOUBLE in some, and the text of a number may be cut. */
static bool unites_not(const struct eval_type *t, const struct eval_type *other)
{
	return t->kind == EVAL_T_BIT || t->zerofill ||
	       ((t->kind == EVAL_T_FLOAT || t->kind == EVAL_T_YEAR) && other->kind != t->kind) ||
	       (has_long_print(t) && !type_is_number(other) && other->kind != EVAL_T_NULL) ||
	       (is_bytes(t) && other->kind != EVAL_T_NULL && !is_bytes(other));
}

static bool unlike_types(const struct guarded *g)
{
	return unites_not(left_type(g), right_type(g)) || unites_not(right_type(g), left_type(g));
}

static bool is_plain_item(const struct eval_query *q, uint32_t i)
{
	if (q->kind == QUERY_SET_OP)
		return is_plain_item(q->left, i) && is_plain_item(q->right, i);
	return q->kind == QUERY_SELECT && (q->items[i]->column || q->items[i]->literal);
}

/* MariaDB makes a DECIMAL of as many digits as it counts for the numbers, and cuts. */
static bool computed_of_either_sign(const struct guarded *g)
{
	return left_type(g)->kind == EVAL_T_INT && right_type(g)->kind == EVAL_T_INT &&
	       left_type(g)->is_unsigned != right_type(g)->is_unsigned &&
	       !(is_plain_item(g->query->left, g->at) && is_plain_item(g->query->right, g->at));
}

static bool several_types(const struct guarded *g)
{
	return left_type(g)->kind != right_type(g)->kind || left_type(g)->bytes != right_type(g)->bytes;
}

/* MySQL 9.7: SELECT 1 EXCEPT SELECT v INTERSECT SELECT NULL is empty. */
static bool null_and_no_union(const struct guarded *g)
{
	return g->query->op != SQL_UNION &&
	       (left_type(g)->kind == EVAL_T_NULL || right_type(g)->kind == EVAL_T_NULL);
}

bool set_column_refused(struct compiler *c, const struct eval_query *q, uint32_t column)
{
	static const struct guard guards[] = {
		{LIMIT_UNION_OF_BIT_OR_OF_UNLIKE_TYPES, unlike_types},
		{LIMIT_UNION_OF_SIGNED_AND_UNSIGNED_INTEGERS_COMPUTED, computed_of_either_sign},
		{LIMIT_MYSQL5_UNION_OF_SEVERAL_TYPES, several_types},
		{LIMIT_MYSQL_NULL_AS_COLUMN_OF_INTERSECT_OR_EXCEPT, null_and_no_union},
	};
	struct guarded g = {.env = c->env, .query = q, .at = column};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- a column of both, and the type that holds them ---- */

static bool operand_is_cut(
	const struct eval_env *env, const struct eval_query *q, const struct eval_type *type, uint32_t i)
{
	if (q->kind == QUERY_SET_OP)
		return operand_is_cut(env, q->left, type, i) || operand_is_cut(env, q->right, type, i);
	if (q->kind != QUERY_SELECT)
		return false;
	if (type_is_string(type) && env->flavour == SQL_MARIADB && outgrows(q->items[i], true))
		return true;
	return node_is_cut(env, q->items[i]) ||
	       (type->kind == EVAL_T_DECIMAL && node_is_narrow(env, q->items[i]));
}

static bool either_is_cut(const struct guarded *g)
{
	return operand_is_cut(g->env, g->query->left, g->merged, g->at) ||
	       operand_is_cut(g->env, g->query->right, g->merged, g->at);
}

static bool relates_item(const struct eval_query *q, uint32_t i)
{
	if (q->kind == QUERY_SET_OP)
		return relates_item(q->left, i) || relates_item(q->right, i);
	return q->kind == QUERY_SELECT && !type_is_string(&q->types[i]) &&
	       relates_texts(&q->items[i], 1, 0);
}

/* MySQL: a text that is made of it has the collation of its arguments. */
static bool text_and_related_texts(const struct guarded *g)
{
	return type_is_string(g->merged) &&
	       (relates_item(g->query->left, g->at) || relates_item(g->query->right, g->at));
}

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

/* As a text COALESCE(1, 2.50) has the digits of 1, and so has a sum of it: none. */
static bool text_and_computed_decimal(const struct guarded *g)
{
	return type_is_string(g->merged) &&
	       (has_own_digits(g->query->left, g->at) || has_own_digits(g->query->right, g->at));
}

static bool mixes(const struct eval_query *q, uint32_t i)
{
	if (q->kind != QUERY_SET_OP)
		return false;
	return (!type_is_string(&q->types[i]) &&
		       (q->left->types[i].kind != q->right->types[i].kind ||
			       q->left->types[i].decimals != q->right->types[i].decimals)) ||
	       mixes(q->left, i) || mixes(q->right, i);
}

/* MariaDB finds the type of all operands at once: 1 UNION 1.5 UNION 'a' has '1', not '1.0'. */
static bool text_and_several_types(const struct guarded *g)
{
	return type_is_string(g->merged) && (mixes(g->query->left, g->at) || mixes(g->query->right, g->at));
}

bool set_merged_column_refused(struct compiler *c, const struct eval_query *q, uint32_t column)
{
	static const struct guard guards[] = {
		{LIMIT_TEXT_OF_NUMBER_THAT_TMP_TABLE_MAY_CUT, either_is_cut},
		{LIMIT_MYSQL_TEXT_OF_REGEXP_LIKE_INSTR_AND_KIN, text_and_related_texts},
		{LIMIT_UNION_OF_TEXT_AND_OF_COMPUTED_DECIMAL, text_and_computed_decimal},
		{LIMIT_UNION_OF_TEXT_AND_SEVERAL_TYPES, text_and_several_types},
	};
	struct guarded g = {.env = c->env, .query = q, .at = column, .merged = &q->types[column]};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- VALUES ---- */

/* Of one type, but for NULLs. */
static bool all_alike(const struct guarded *g)
{
	const struct eval_type *first = NULL;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct eval_type *t = &g->args[i]->type;

		if (g->args[i]->literal && t->kind == EVAL_T_NULL)
			continue;
		if (first && (t->kind != first->kind || t->decimals != first->decimals))
			return false;
		first = t;
	}
	return true;
}

/* Literals that are integers, DECIMALs or NULL. */
static bool all_exact(const struct guarded *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		const struct eval_type *t = &g->args[i]->type;

		if (!g->args[i]->literal ||
			(t->kind != EVAL_T_INT && t->kind != EVAL_T_DECIMAL && t->kind != EVAL_T_NULL))
			return false;
	}
	return true;
}

static bool neither_alike_nor_exact(const struct guarded *g)
{
	return !all_alike(g) && !all_exact(g);
}

bool values_column_refused(struct compiler *c, struct node *const *column, uint32_t row_count)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_VALUES_OF_SEVERAL_TYPES_IN_ONE_COLUMN, neither_alike_nor_exact},
	};
	struct guarded g = {.env = c->env, .args = column, .count = row_count};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}
