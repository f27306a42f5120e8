/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GROUP BY ... WITH ROLLUP and GROUPING(). */
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/query/query.h"

#include "server/errors.h"

static bool has_query(void *ctx, const struct sql_query *query)
{
	(void)query;
	*(bool *)ctx = true;
	return false;
}

static bool asks_query(const struct sql_expr *e)
{
	bool found = false;
	struct sql_visitor v = {.query = has_query, .ctx = &found};

	if (e)
		sql_walk_expr(e, &v);
	return found;
}

/* Columns of this query in it are keys of its groups. */
static bool only_keys(const struct eval_query *q, const struct node *n)
{
	if (n->column && n->u.at.depth == 0) {
		for (uint32_t k = 0; k < q->group_count; k++) {
			if (same_column(n, q->group[k].node))
				return true;
		}
		return false;
	}
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!only_keys(q, n->args[i]))
			return false;
	}
	return true;
}

/* Types that a temporary table keeps as they are. */
static bool keeps_type(const struct eval_type *t)
{
	switch (t->kind) {
	case EVAL_T_INT:
		return !t->zerofill;
	case EVAL_T_DECIMAL:
		return !has_long_print(t);
	case EVAL_T_STRING:
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
		return true;
	default:
		return false;
	}
}

/* A row more for each prefix of the keys: the others are NULL in it.  Keys are columns, and nothing else
 * of the tables is shown, so that it is clear what is NULL. */
bool compile_rollup(struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	/* MariaDB counts rows as equal that differ in what is NULL. */
	bool good = !q->window_count && !(q->distinct && c->env->flavour == SQL_MARIADB);

	if (query->order && c->env->flavour == SQL_MARIADB) {
		compile_error(c, ER_WRONG_USAGE, "WITH ROLLUP and ORDER BY");
		return false;
	}
	for (uint32_t k = 0; k < q->group_count; k++) {
		const struct node *key = q->group[k].node;

		good &= key->column && key->u.at.depth == 0 && keeps_type(&key->type);
		for (uint32_t i = 0; i < k; i++)
			good &= !same_column(key, q->group[i].node);
	}
	/* MariaDB takes what is distinct in groups of one row for distinct in all. */
	for (const struct aggregate *a = q->aggregates; a && c->env->flavour == SQL_MARIADB; a = a->next)
		good &= !a->distinct;
	for (uint32_t i = 0; good && i < q->column_count; i++)
		good = only_keys(q, q->items[i]);
	for (uint32_t i = 0; good && i < q->order_count; i++)
		good = only_keys(q, q->order[i].node);
	for (const struct sql_item *item = query->u.select.items; item; item = item->next)
		good &= !asks_query(item->expr);
	for (const struct sql_order *o = query->order; o; o = o->next)
		good &= !asks_query(o->expr);
	good = good && (!q->having || only_keys(q, q->having)) && !asks_query(query->u.select.having);
	return !rollup_refused(c, good);
}

static struct eval_value run_grouping(const struct node *n, struct frame *f)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		uint32_t k = 0;

		if (grouping_refused(f->run, f->rollup))
			return EVAL_NULL_VALUE;
		while (k < f->rollup->group_count &&
			!same_column(n->args[i], f->rollup->group[k].node))
			k++;
		if (grouping_refused(f->run, k < f->rollup->group_count))
			return EVAL_NULL_VALUE;
		bits = bits << 1 | (k >= f->rollup_kept);
	}
	return eval_int((int64_t)bits);
}

struct node *compile_grouping(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_grouping, e, e->u.call.args.count);

	if (!compile_list(c, &e->u.call.args, n->args))
		return NULL;
	if (grouping_arguments_refused(c, n))
		return NULL;
	n->type = type_int(false);
	return n;
}
