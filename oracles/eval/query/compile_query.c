/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries compiled: the select list, GROUP BY, ORDER BY, LIMIT. */
#include "eval/query/query.h"

#include <string.h>

#include "eval/limits/guards.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"
#include "server/errors.h"

/* ---- the select list ---- */

struct expanded {
	struct compiler *c;
	struct node **nodes;
	struct span *names;
	const struct sql_item **items;
	uint32_t count, capacity;
};

static void expanded_add(
	struct expanded *x, struct node *node, struct span name, const struct sql_item *item)
{
	if (x->count == x->capacity) {
		uint32_t capacity = x->capacity ? 2 * x->capacity : 8;
		struct node **nodes = arena_zero(x->c->arena, capacity * sizeof(*nodes));
		struct span *names = arena_zero(x->c->arena, capacity * sizeof(*names));
		const struct sql_item **items = arena_zero(x->c->arena, capacity * sizeof(*items));

		if (x->count) {
			memcpy(nodes, x->nodes, x->count * sizeof(*nodes));
			memcpy(names, x->names, x->count * sizeof(*names));
			memcpy(items, x->items, x->count * sizeof(*items));
		}
		x->nodes = nodes;
		x->names = names;
		x->items = items;
		x->capacity = capacity;
	}
	x->nodes[x->count] = node;
	x->names[x->count] = name;
	x->items[x->count++] = item;
}

static void add_column(struct expanded *x, const struct scope *scope, uint32_t t, uint32_t i)
{
	const struct scope_table *st = &scope->tables[t];

	expanded_add(x, node_column(x->c, NULL, 0, t, i, &st->types[i]), st->names[i], NULL);
}

static void star_of_table(struct expanded *x, const struct scope *scope, uint32_t t, bool merged)
{
	const struct scope_table *st = &scope->tables[t];

	for (uint32_t i = 0; i < st->column_count; i++) {
		if ((st->base && st->base->columns[i].invisible) || (merged && st->merged[i]))
			continue;
		add_column(x, scope, t, i);
	}
}

static bool has_merged(const struct join_tree *j)
{
	return j && j->kind != JOIN_TABLE &&
	       (j->equal_count || has_merged(j->left) || has_merged(j->right));
}

/* One NATURAL or USING join of two plain tables: common columns first, then the others. */
static bool star_of_using(struct expanded *x, const struct eval_query *q, const struct scope *scope)
{
	const struct join_tree *j = q->from;
	uint32_t first, second;

	if (star_of_joins_refused(x->c, j))
		return false;
	first = j->left->table; /* the side whose columns are kept */
	second = j->right->table;
	for (uint32_t i = 0; i < scope->tables[first].column_count; i++) {
		uint32_t other = find_column(&scope->tables[second], scope->tables[first].names[i]);

		if (other != UINT32_MAX && scope->tables[second].merged[other])
			add_column(x, scope, first, i);
	}
	for (int side = 0; side < 2; side++) {
		/* A RIGHT JOIN is a LEFT JOIN turned around, here too. */
		uint32_t t = side ? second : first;
		uint32_t o = side ? first : second;

		for (uint32_t i = 0; i < scope->tables[t].column_count; i++) {
			uint32_t other = find_column(&scope->tables[o], scope->tables[t].names[i]);
			bool common =
				other != UINT32_MAX &&
				(scope->tables[t].merged[i] || scope->tables[o].merged[other]);

			if (!common)
				add_column(x, scope, t, i);
		}
	}
	return true;
}

static bool expand_star(struct expanded *x, const struct eval_query *q, const struct scope *scope,
	const struct sql_expr *e)
{
	bool found = false;

	if (!e->u.column.table.ptr) {
		if (!scope->table_count) {
			compile_error(x->c, ER_NO_TABLES_USED, "* without tables");
			return false;
		}
		if (has_merged(q->from))
			return star_of_using(x, q, scope);
		for (uint32_t t = 0; t < scope->table_count; t++)
			star_of_table(x, scope, t, true);
		return true;
	}
	for (uint32_t t = 0; t < scope->table_count; t++) {
		const struct scope_table *st = &scope->tables[t];

		if (!scope_names_table(x->c, st, e->u.column.db, e->u.column.table))
			continue;
		star_of_table(x, scope, t, false);
		found = true;
	}
	if (!found)
		compile_error(x->c, ER_BAD_TABLE_ERROR, "* of an unknown table");
	return found;
}

/* ---- ORDER BY, GROUP BY, LIMIT ---- */

bool key_is_ordinal(const struct eval_env *env, const struct sql_expr *e, uint64_t *out)
{
	if (e->kind != SQL_EXPR_LITERAL)
		return false;
	*out = e->u.literal.kind == SQL_LIT_TRUE;
	if (e->u.literal.kind == SQL_LIT_TRUE || e->u.literal.kind == SQL_LIT_FALSE)
		return env->flavour == SQL_MARIADB || mysql_5(env); /* to MySQL 8 they are values */
	if (e->u.literal.kind != SQL_LIT_INT)
		return false;
	for (size_t i = 0; i < e->u.literal.text.len && *out < KEY_ORDINAL_MAX; i++)
		*out = *out * 10 + (uint64_t)(e->u.literal.text.ptr[i] - '0');
	return true;
}

/* ORDER BY 2: the second item. */
static struct node *item_of_ordinal(
	struct compiler *c, uint64_t ordinal, struct node **items, uint32_t item_count)
{
	struct node *item;

	if (ordinal < 1 || ordinal > item_count)
		return compile_error(c, ER_BAD_FIELD_ERROR, "no such column");
	item = items[ordinal - 1];
	if (key_ordinal_refused(c, item))
		return NULL;
	if (c->scope->aggregate_count && !c->scope->aggregates_allowed && node_aggregates(item))
		return compile_error(c, ER_WRONG_GROUP_FIELD, "grouping by an aggregate");
	return item;
}

static struct node *compile_key(
	struct compiler *c, const struct sql_expr *e, struct node **items, uint32_t item_count)
{
	bool groups = items && !c->scope->aggregates_allowed;
	struct node *key;
	uint64_t ordinal;

	if (items && key_text_refused(c, e))
		return NULL;
	key = items && key_is_ordinal(c->env, e, &ordinal)
		      ? item_of_ordinal(c, ordinal, items, item_count)
		      : compile_value(c, e);
	if (!key || key_refused(c, key) || (groups && group_key_refused(c, e, key)))
		return NULL;
	return key;
}

bool compile_keys(struct compiler *c, const struct sql_order *order, struct node **items,
	uint32_t item_count, struct select_order **out, uint32_t *count)
{
	uint32_t n = 0;

	for (const struct sql_order *o = order; o; o = o->next)
		n++;
	*out = arena_zero(c->arena, (n + 1) * sizeof(**out));
	*count = 0;
	for (const struct sql_order *o = order; o; o = o->next) {
		struct select_order *key = &(*out)[(*count)++];

		key->desc = o->desc;
		key->item = UINT32_MAX;
		key->node = compile_key(c, o->expr, items, item_count);
		if (!key->node)
			return false;
		for (uint32_t i = 0; i < item_count && items; i++) {
			if (items[i] == key->node)
				key->item = i;
		}
	}
	return true;
}

bool compile_order(struct compiler *c, const struct sql_order *order, struct select_order **out,
	uint32_t *count)
{
	return compile_keys(c, order, NULL, 0, out, count);
}

bool compile_limit(struct compiler *c, const struct sql_limit *limit, struct node **count,
	struct node **offset)
{
	*count = *offset = NULL;
	if (!limit)
		return true;
	if (limit_refused(c, limit))
		return false;
	if (limit->count && !(*count = compile_value(c, limit->count)))
		return false;
	if (limit->offset && !(*offset = compile_value(c, limit->offset)))
		return false;
	return true;
}

/* ---- SELECT ---- */

bool same_column(const struct node *a, const struct node *b)
{
	return a->column && b->column && a->fn == b->fn && a->u.at.depth == b->u.at.depth &&
	       a->u.at.table == b->u.at.table && a->u.at.column == b->u.at.column;
}

/* HAVING sees what is selected and what the groups are by, and nothing else of the tables. */
static bool having_sees(const struct eval_query *q, const struct node *n)
{
	bool seen = !n->column || n->u.at.depth > 0;

	if (node_is_aggregate(n))
		return true;
	for (uint32_t i = 0; i < q->column_count; i++) {
		if (q->items[i] == n)
			return true;
		seen = seen || same_column(q->items[i], n);
	}
	for (uint32_t i = 0; i < q->group_count && !seen; i++)
		seen = same_column(q->group[i].node, n);
	for (uint32_t i = 0; i < n->arg_count && seen; i++)
		seen = having_sees(q, n->args[i]);
	return seen;
}

static bool compile_items(
	struct compiler *c, struct eval_query *q, const struct sql_query *query, struct expanded *x)
{
	for (const struct sql_item *item = query->u.select.items; item; item = item->next) {
		struct span name = item->alias;
		struct node *n;

		if (item->expr->kind == SQL_EXPR_STAR) {
			if (!expand_star(x, q, c->scope, item->expr))
				return false;
			continue;
		}
		n = compile_value(c, item->expr);
		if (!n)
			return false;
		if (!name.ptr && item->expr->kind == SQL_EXPR_COLUMN)
			name = item->expr->u.column.name;
		if (!name.ptr)
			name = SPAN_LIT("?");
		expanded_add(x, n, name, item);
	}
	return true;
}

/* The select list's nodes by item, for aliases: a `*` has none. */
static void set_aliases(struct compiler *c, const struct sql_query *query, const struct expanded *x)
{
	uint32_t count = 0, i = 0;

	for (const struct sql_item *item = query->u.select.items; item; item = item->next)
		count++;
	c->scope->item_nodes = arena_zero(c->arena, (count + 1) * sizeof(struct node *));
	for (const struct sql_item *item = query->u.select.items; item; item = item->next, i++) {
		for (uint32_t k = 0; k < x->count; k++) {
			if (x->items[k] == item)
				c->scope->item_nodes[i] = x->nodes[k];
		}
	}
	c->scope->items = query->u.select.items;
}

static bool compile_groups(struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	struct scope *scope = c->scope;
	bool good;

	scope->aggregates_allowed = false;
	scope->alias_last = true;
	good = compile_keys(
		c, query->u.select.group, q->items, q->column_count, &q->group, &q->group_count);
	scope->alias_last = false;
	scope->aggregates_allowed = true;
	return good;
}

/* MariaDB 10.5 to 11.8 leave an ORDER BY out whose keys are those that the rows were grouped by, in
 * whichever direction; window functions then sort the groups their own way, and so the rows come,
 * and LIMIT cuts them.  A key with an aggregate or a window function is none of GROUP BY's. */
static bool order_is_lost(const struct compiler *c, const struct eval_query *q)
{
	if (c->env->flavour != SQL_MARIADB || !q->group_count || !q->window_count)
		return false;
	for (uint32_t k = 0; k < q->order_count; k++) {
		if (node_aggregates(q->order[k].node) || node_windows(q->order[k].node))
			return false;
	}
	return true;
}

static bool compile_select_list(struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	struct expanded x = {.c = c};

	c->scope->aggregates_allowed = c->scope->windows_allowed = true;
	if (!compile_items(c, q, query, &x))
		return false;
	c->scope->windows_allowed = false;
	q->items = x.nodes;
	q->names = x.names;
	q->column_count = x.count;
	q->types = arena_zero(c->arena, (x.count + 1) * sizeof(*q->types));
	for (uint32_t i = 0; i < x.count; i++)
		q->types[i] = x.nodes[i]->type;
	q->distinct = query->u.select.flags & SQL_SELECT_DISTINCT;
	if (select_list_refused(c, q))
		return false;
	set_aliases(c, query, &x);
	return true;
}

static bool compile_having(struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	if (!query->u.select.having)
		return true;
	q->having = compile_condition(c, query->u.select.having);
	if (!q->having) {
		having_error_refused(c);
		return false;
	}
	if (!having_sees(q, q->having)) {
		if (!having_column_refused(c, q))
			compile_error(c, ER_BAD_FIELD_ERROR, "a column in HAVING that is not selected");
		return false;
	}
	q->having->nested = true; /* its truth is used, not its value */
	/* The optimizer decides whether HAVING or the select list is computed first. */
	if (failing_constant_refused(c))
		return false;
	return true;
}

static bool compile_order_by(struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	c->scope->windows_allowed = true;
	if (!compile_keys(c, query->order, q->items, q->column_count, &q->order, &q->order_count))
		return false;
	c->scope->windows_allowed = false;
	for (uint32_t k = 0; k < q->order_count; k++) {
		for (uint32_t i = 0; i < q->column_count && q->order[k].item == UINT32_MAX; i++) {
			if (same_column(q->order[k].node, q->items[i]))
				q->order[k].item = i;
		}
	}
	return !select_order_refused(c, q);
}

/* HAVING and ORDER BY find the select list's aliases before columns. */
static bool compile_having_and_order(
	struct compiler *c, struct eval_query *q, const struct sql_query *query)
{
	bool alias_first = c->scope->alias_first;

	c->scope->alias_first = true;
	if (!compile_having(c, q, query) || !compile_order_by(c, q, query))
		return false;
	c->scope->alias_first = alias_first;
	return true;
}

static struct eval_query *compile_select(struct compiler *c, struct eval_query *q,
	const struct sql_query *query, struct scope *scope, const struct cte *ctes)
{
	if (select_clauses_refused(c, query))
		return NULL;
	if (!compile_from(c, q, query->u.select.from, scope, ctes))
		return NULL;
	scope->aggregates_tail = &scope->aggregates;
	scope->windows_tail = &scope->windows;
	scope->named_windows = query->u.select.windows;
	scope->extremes = items_ask_for_extremes(query->u.select.items);
	if (query->u.select.where && !(q->where = compile_condition(c, query->u.select.where)))
		return NULL;
	if (hidden_rows_refused(c, q))
		return NULL;
	if (!compile_select_list(c, q, query) || !compile_groups(c, q, query) ||
		!compile_having_and_order(c, q, query))
		return NULL;
	q->aggregates = scope->aggregates;
	q->aggregate_count = scope->aggregate_count;
	q->grouped = q->group_count || q->aggregate_count;
	q->windows = scope->windows;
	q->window_count = scope->window_count;
	q->window_inputs = scope->window_inputs;
	if (order_is_lost(c, q))
		q->order_count = 0;
	q->buffered = q->distinct || q->grouped || q->window_count ||
		      (q->order_count && q->table_count > 1) ||
		      (query->u.select.flags & SQL_SELECT_BUFFER_RESULT);
	if (select_refused(c, q))
		return NULL;
	q->rollup = query->u.select.rollup;
	return !q->rollup || compile_rollup(c, q, query) ? q : NULL;
}

struct eval_query *compile_query(struct compiler *c, const struct sql_query *query,
	struct scope *outer, const struct cte *ctes)
{
	struct eval_query *q = arena_zero(c->arena, sizeof(*q)), *done = NULL;
	struct scope *scope = arena_zero(c->arena, sizeof(*scope)), *saved = c->scope;
	const struct cte *saved_ctes = c->ctes;

	if (c->failed)
		return NULL;
	if (select_into_refused(c, query))
		return NULL;
	if (++c->depth > 200)
		return compile_gives_up(c, LIMIT_QUERIES_NESTED_TOO_DEEPLY);
	scope->outer = outer;
	c->scope = scope;
	if (!compile_ctes(c, query->with, outer, &ctes))
		return NULL;
	c->ctes = ctes;
	switch (query->kind) {
	case SQL_QUERY_SELECT:
		q->kind = QUERY_SELECT;
		done = compile_select(c, q, query, scope, ctes);
		break;
	case SQL_QUERY_SET_OP:
		q->kind = QUERY_SET_OP;
		done = compile_set_op(c, q, query, scope, ctes);
		break;
	case SQL_QUERY_VALUES:
		q->kind = QUERY_VALUES;
		done = compile_values_query(c, q, query);
		break;
	case SQL_QUERY_TABLE:
		done = compile_gives_up(c, LIMIT_TABLE_T);
		break;
	case SQL_QUERY_PAREN:
		/* The inner query's own order is lost under the outer one's, its limit is not:
		 * a union of one. */
		done = compile_gives_up(c, LIMIT_PARENTHESISED_QUERY_WITH_TWO_TAILS);
		break;
	}
	if (done && !compile_limit(c, query->limit, &q->limit, &q->offset))
		done = NULL;
	if (scope->outer_reach > q->outer_reach)
		q->outer_reach = scope->outer_reach;
	q->outer_text |= scope->outer_text > 0;
	c->scope = saved;
	c->ctes = saved_ctes;
	c->depth--;
	return c->failed ? NULL : done;
}

struct eval_query *eval_query_compile(struct arena *arena, const struct sql_query *query,
	const struct eval_env *env, const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);

	return compile_query(&c, query, NULL, NULL);
}
