/* SPDX-License-Identifier: GPL-2.0-or-later */
/* WITH: common table expressions, recursive ones too. */
#include "eval/limits/guards.h"
#include "eval/query/query.h"

#include "server/errors.h"

const struct cte *find_cte(const struct cte *ctes, const struct sql_table_name *name)
{
	if (name->db.ptr)
		return NULL;
	for (; ctes; ctes = ctes->next) {
		if (span_ieq(ctes->tree->name, name->name))
			return ctes;
	}
	return NULL;
}

bool rename_columns(struct compiler *c, struct eval_query *q, const struct sql_names *names)
{
	uint32_t i = 0;

	for (const struct sql_names *n = names; n; n = n->next, i++) {
		if (i < q->column_count)
			q->names[i] = n->name;
	}
	if (names && i != q->column_count) {
		compile_error(c, ER_VIEW_WRONG_LIST, "a list of columns of another length");
		return false;
	}
	return true;
}

/* A text in whose buffer some functions write what they make of it. */
static bool has_own_buffer(const struct compiler *c, const struct node *n)
{
	const struct sql_expr *e = n->expr;

	if (!e || !type_is_string(&n->type) || !n->arg_count)
		return false;
	return c->env->flavour == SQL_MYSQL || e->kind == SQL_EXPR_CAST ||
	       (e->kind == SQL_EXPR_CALL && function_writes_over(c, e->u.call.name));
}

/* The rows of a derived table that is merged into the query around it are in no table. */
bool settle_columns(struct compiler *c, struct eval_query *q, bool stored)
{
	if (!stored && q->kind == QUERY_SELECT && !q->limit && !q->distinct && !q->grouped && !q->window_count) {
		for (uint32_t i = 0; i < q->column_count; i++)
			q->types[i].shared |= has_own_buffer(c, q->items[i]);
		return true;
	}
	for (uint32_t i = 0; i < q->column_count; i++) {
		q->types[i].own_scale = false;
		if (kept_column_refused(c, q, i, stored))
			return false;
	}
	return true;
}

/* ---- recursion ---- */

struct mentions {
	struct span name;
	uint32_t count;
};

static bool count_mention(void *ctx, const struct sql_table_ref *ref)
{
	struct mentions *m = ctx;

	if (ref->kind == SQL_TABLE_NAME && !ref->u.name.table.db.ptr &&
		span_ieq(ref->u.name.table.name, m->name))
		m->count++;
	return true;
}

static uint32_t mentions_in(const struct sql_query *query, struct span name)
{
	struct mentions m = {.name = name};
	struct sql_visitor v = {.table_ref = count_mention, .ctx = &m};

	sql_walk_query(query, &v);
	return m.count;
}

/* In FROM itself, and on no side of an outer join. */
static uint32_t plain_mentions(const struct sql_table_ref *ref, struct span name)
{
	struct mentions m = {.name = name};

	for (; ref; ref = ref->next) {
		if (ref->kind == SQL_TABLE_NAME)
			count_mention(&m, ref);
		else if (ref->kind == SQL_TABLE_JOIN && ref->u.join.join != SQL_JOIN_LEFT &&
			 ref->u.join.join != SQL_JOIN_RIGHT)
			m.count += plain_mentions(ref->u.join.left, name) +
				   plain_mentions(ref->u.join.right, name);
	}
	return m.count;
}

/* start UNION [ALL] SELECT ... FROM itself once: SQL's linear recursion, without what servers forbid or
 * do each their own way in it. */
static bool is_linear(const struct sql_cte *t)
{
	const struct sql_query *q = t->query, *right;

	if (q->kind != SQL_QUERY_SET_OP || q->u.set.op != SQL_UNION || q->order || q->limit || q->with ||
		t->cycle || mentions_in(q->u.set.left, t->name))
		return false;
	right = q->u.set.right;
	return right->kind == SQL_QUERY_SELECT && !right->with && !right->order && !right->limit &&
	       !right->u.select.group && !right->u.select.having && !right->u.select.windows &&
	       !(right->u.select.flags & SQL_SELECT_DISTINCT) &&
	       mentions_in(right, t->name) == 1 &&
	       plain_mentions(right->u.select.from, t->name) == 1;
}

/* Is it a column of a table, or of what goes round, as it is? */
static bool is_column(const struct eval_query *q, uint32_t i)
{
	return q->kind == QUERY_SELECT && q->items[i]->column;
}

/* Columns are what the start makes them; what goes round must fit (run_set_operation.c checks its length).  `columns`: both are
 * columns as they are, so that an unsigned one cannot become less than 0. */
static bool same_shape(const struct eval_type *a, const struct eval_type *b, bool columns)
{
	if (a->kind != b->kind || a->is_unsigned != b->is_unsigned || a->zerofill || a->hybrid)
		return false;
	switch (a->kind) {
	case EVAL_T_INT:
		return !a->is_unsigned || (columns && a->bytes == b->bytes);
	case EVAL_T_DECIMAL:
		return a->decimals == b->decimals;
	case EVAL_T_STRING:
		return a->collation == b->collation && !a->blob;
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
		return a->decimals == b->decimals;
	default:
		return false;
	}
}

static struct eval_query *compile_recursive(
	struct compiler *c, struct cte *cte, struct scope *outer, const struct cte *before)
{
	struct eval_query *q = arena_zero(c->arena, sizeof(*q));
	const struct sql_query *tree = cte->tree->query;

	q->kind = QUERY_RECURSIVE;
	q->cte = cte;
	q->all = tree->u.set.all;
	q->left = compile_query(c, tree->u.set.left, outer, before);
	if (!q->left || !rename_columns(c, q->left, cte->tree->columns))
		return NULL;
	cte->start = q->left;
	q->right = compile_query(c, tree->u.set.right, outer, cte);
	if (!q->right)
		return NULL;
	if (q->left->column_count != q->right->column_count)
		return (struct eval_query *)compile_error(
			c, ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, "queries with different numbers of columns");
	if (recursive_query_refused(c, q->right))
		return NULL;
	q->column_count = q->left->column_count;
	q->names = q->left->names;
	q->types = q->left->types;
	for (uint32_t i = 0; i < q->column_count; i++) {
		bool columns = is_column(q->left, i) && is_column(q->right, i);

		if (recursive_column_refused(c, same_shape(&q->types[i], &q->right->types[i], columns)))
			return NULL;
	}
	q->outer_reach = q->left->outer_reach > q->right->outer_reach ? q->left->outer_reach
								      : q->right->outer_reach;
	q->outer_text = q->left->outer_text || q->right->outer_text;
	return q;
}

bool compile_ctes(struct compiler *c, const struct sql_with *with, struct scope *outer,
	const struct cte **ctes)
{
	for (const struct sql_cte *t = with ? with->ctes : NULL; t; t = t->next) {
		struct cte *cte = arena_zero(c->arena, sizeof(*cte));
		const struct cte *sight = *ctes;

		cte->tree = t;
		cte->next = (struct cte *)(uintptr_t)*ctes;
		if (with->recursive) {
			cte->recursive = true;
			sight = cte; /* a mention of itself is found */
		}
		cte->query = with->recursive && mentions_in(t->query, t->name) && is_linear(t)
				     ? compile_recursive(c, cte, outer, *ctes)
				     : compile_query(c, t->query, outer, sight);
		if (!cte->query || !rename_columns(c, cte->query, t->columns))
			return false;
		if (!settle_columns(c, cte->query, false))
			return false;
		*ctes = cte;
	}
	return true;
}
