/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of FROM, HAVING, LIMIT, WITH and of queries around queries, when they are compiled. */
#include "base/chars.h"
#include "eval/limits/guards.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "server/errors.h"

/* ---- FROM ---- */

bool table_name_refused(struct compiler *c, const struct sql_table_ref *ref)
{
	return compile_refuses(c, LIMIT_PARTITION, ref->u.name.partitions) ||
	       compile_refuses(c, LIMIT_FOR_SYSTEM_TIME,
		       ref->system_time != SQL_SYSTEM_TIME_NONE || ref->u.name.portion.ptr);
}

bool derived_table_refused(struct compiler *c, const struct sql_table_ref *ref)
{
	return compile_refuses(c, LIMIT_LATERAL, ref->u.derived.lateral) ||
	       compile_refuses(c, LIMIT_DERIVED_TABLE_OF_ANOTHER_TIME,
		       ref->system_time != SQL_SYSTEM_TIME_NONE);
}

/* NOT (b.c IS NOT NULL), b.c IS NULL OR ...: MySQL 9.7 asks it once and keeps the answer for all rows. */
static bool nests_null(const struct sql_expr *e, bool within)
{
	if (e->kind == SQL_EXPR_UNARY && (e->op == SQL_OP_NOT || e->op == SQL_OP_BANG))
		return nests_null(e->u.binary.left, true);
	if (e->kind == SQL_EXPR_BINARY &&
		(e->op == SQL_OP_AND || e->op == SQL_OP_OR || e->op == SQL_OP_XOR)) {
		within |= e->op != SQL_OP_AND;
		return nests_null(e->u.binary.left, within) || nests_null(e->u.binary.right, within);
	}
	return within && e->kind == SQL_EXPR_IS;
}

static bool is_rounded_in(const struct node *constant, const struct eval_type *column)
{
	const struct eval_type *t = &constant->type;

	if (column->kind == EVAL_T_DOUBLE || column->kind == EVAL_T_FLOAT || type_is_string(column))
		return false;
	if (!type_is_string(t))
		return t->kind == EVAL_T_DOUBLE || t->kind == EVAL_T_FLOAT ||
		       (t->kind != EVAL_T_INT && t->decimals > column->decimals);
	if (!constant->literal || constant->u.value.kind != EVAL_STRING)
		return true;
	for (size_t i = 0; i < constant->u.value.s.len; i++) {
		char byte = constant->u.value.s.ptr[i];

		if (byte == '.' || (!type_is_temporal(column) && (!char_is_digit(byte))))
			return true;
	}
	return false;
}

/* b.id = 1.1: where id has an index the servers look for 1 there, and ask no more. */
static bool meets_rounded(const struct node *n)
{
	if (!n->expr || n->arg_count != 2 ||
		!(n->expr->kind == SQL_EXPR_IN ||
			(n->expr->kind == SQL_EXPR_BINARY && n->expr->op == SQL_OP_EQ)))
		return false;
	for (int i = 0; i < 2; i++) {
		if (n->args[i]->column && n->args[1 - i]->constant &&
			is_rounded_in(n->args[1 - i], &n->args[i]->type))
			return true;
	}
	return false;
}

bool outer_join_refused(struct compiler *c, const struct sql_expr *text, const struct node *on)
{
	return compile_refuses(c, LIMIT_MYSQL_IS_NULL_WITHIN_OR_OR_NOT_IN_ON_OF_OUTER_JOIN,
		       c->env->flavour == SQL_MYSQL && c->env->version >= 80100 &&
			       nests_null(text, false)) ||
	       compile_refuses(c, LIMIT_COLUMN_CONSTANT_THAT_ROUNDS_IN_ON_OF_OUTER_JOIN,
		       node_any(on, meets_rounded));
}

static bool joins_outer(const struct join_tree *j)
{
	return j && j->kind != JOIN_TABLE && (j->kind == JOIN_LEFT || joins_outer(j->left) || joins_outer(j->right));
}

/* (1, b.c) <> (2, 3) is true where b.c is NULL; the servers think that it cannot be, and drop such rows. */
static bool denies_rows(const struct node *n)
{
	if (n->expr && n->expr->kind == SQL_EXPR_BINARY && n->expr->op == SQL_OP_AND) {
		for (uint32_t i = 0; i < n->arg_count; i++) {
			if (denies_rows(n->args[i]))
				return true;
		}
		return false;
	}
	/* Equal to something, or IN a list: never true of a NULL. */
	return compares_rows(n) &&
	       !(n->expr && ((n->expr->kind == SQL_EXPR_BINARY && n->expr->op == SQL_OP_EQ) ||
				    (n->expr->kind == SQL_EXPR_IN && !n->expr->negated)));
}

static bool is_case(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_CASE;
}

/* Functions that are not NULL though an argument is. */
static bool outlives_null(const struct node *n)
{
	static const char *const names[] = {
		"char", "elt", "export_set", "field", "interval", "make_set", "quote", "replace"};

	for (size_t i = 0; n->expr && n->expr->kind == SQL_EXPR_CALL && i < ARRAY_LEN(names); i++) {
		if (span_ieq_str(n->expr->u.call.name, names[i]))
			return true;
	}
	return false;
}

static bool rejects_null(const struct node *n)
{
	return denies_rows(n) || node_any(n, outlives_null);
}

static bool on_rejects_null(const struct join_tree *j)
{
	return j->kind != JOIN_TABLE && ((j->on && rejects_null(j->on)) || on_rejects_null(j->left) ||
						on_rejects_null(j->right));
}

bool hidden_rows_refused(struct compiler *c, const struct eval_query *q)
{
	bool rejects = (q->where && rejects_null(q->where)) ||
		       (q->table_count > 2 && on_rejects_null(q->from));

	return /* CASE NULL WHEN ... in any query. */
		compile_refuses(c, LIMIT_CASE_IN_CONDITION_OF_OLDER_RELEASES,
			c->env->flavour == SQL_MARIADB && c->env->version < 101100 && q->where &&
				node_any(q->where, is_case)) ||
		compile_refuses(c, LIMIT_ELT_AND_KIN_IN_CONDITION_BEHIND_OUTER_JOIN,
			rejects && joins_outer(q->from));
}

bool star_of_joins_refused(struct compiler *c, const struct join_tree *j)
{
	return compile_refuses(c, LIMIT_OVER_SEVERAL_NATURAL_OR_USING_JOINS,
		j->kind == JOIN_TABLE || j->left->kind != JOIN_TABLE || j->right->kind != JOIN_TABLE);
}

/* ---- clauses ---- */

static bool is_number(const struct sql_expr *e)
{
	return !e || e->kind == SQL_EXPR_LITERAL;
}

bool limit_refused(struct compiler *c, const struct sql_limit *limit)
{
	return compile_refuses(c, LIMIT_LIMIT_ROWS_EXAMINED_WITH_TIES,
		       limit->with_ties || limit->rows_examined) ||
	       /* A name is a variable of a stored program, whose value is not known; it is no column. */
	       compile_refuses(
		       c, LIMIT_LIMIT_NOT_NUMBER, !is_number(limit->count) || !is_number(limit->offset));
}

/* The server looks for its columns first: see having_sees(). */
bool having_error_refused(struct compiler *c)
{
	return compile_reopens(
		c, LIMIT_ERROR_IN_HAVING, c->outcome->error != ER_BAD_FIELD_ERROR);
}

bool having_column_refused(struct compiler *c, const struct eval_query *q)
{
	return compile_refuses(c, LIMIT_COLUMN_IN_HAVING_NOT_SELECTED, q->table_count != 1);
}

bool failing_constant_refused(struct compiler *c)
{
	return compile_refuses(c, LIMIT_CONSTANT_THAT_FAILS_IN_CONDITION, c->failing_constant);
}

bool select_into_refused(struct compiler *c, const struct sql_query *query)
{
	return compile_refuses(c, LIMIT_SELECT_INTO, query->into);
}

bool rollup_refused(struct compiler *c, bool of_keys_and_aggregates)
{
	return compile_refuses(c, LIMIT_WITH_ROLLUP_OF_OTHER_THAN_COLUMNS_AND_AGGREGATES,
		!of_keys_and_aggregates);
}

bool grouping_arguments_refused(struct compiler *c, const struct node *n)
{
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (compile_refuses(c, LIMIT_GROUPING_OF_NO_COLUMN,
			    !n->args[i]->column || n->args[i]->u.at.depth))
			return true;
	}
	return false;
}

/* ---- derived tables, WITH RECURSIVE, UNION, VALUES ---- */

bool kept_column_refused(
	struct compiler *c, const struct eval_query *q, uint32_t column, bool stored)
{
	const struct eval_type *t = &q->types[column];

	return compile_refuses(c, LIMIT_BIT_FLOAT_AND_ZEROFILL_OF_VIEW_PUT_INTO_TABLE,
		       stored && (t->kind == EVAL_T_BIT || t->kind == EVAL_T_FLOAT || t->zerofill)) ||
	       compile_refuses(c, LIMIT_TEXT_OF_NUMBER_THAT_TMP_TABLE_MAY_CUT,
		       q->kind == QUERY_SELECT && node_is_cut(c->env, q->items[column]));
}

bool recursive_query_refused(struct compiler *c, const struct eval_query *step)
{
	return compile_refuses(
		c, LIMIT_RECURSIVE_CTE_OF_ANOTHER_FORM, step->grouped || step->window_count);
}

bool recursive_column_refused(struct compiler *c, bool same_shape)
{
	return compile_refuses(
		c, LIMIT_RECURSIVE_CTE_WHOSE_COLUMNS_CHANGE_THEIR_TYPE, !same_shape);
}

bool union_limit_refused(struct compiler *c)
{
	return compile_refuses(c, LIMIT_MYSQL5_UNION_WITH_LIMIT, true);
}

/* The server leaves them as they are written, and LIMIT takes the first. */
bool values_order_refused(struct compiler *c, const struct sql_query *query)
{
	return compile_refuses(c, LIMIT_MYSQL_ORDER_BY_OF_VALUES, query->order);
}
