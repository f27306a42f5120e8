/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries back to text: SELECT and its clauses, tables and joins, UNION, WITH.
 */
#include "sql/print.h"

#include <stdlib.h>

#include "base/mem.h"

void put_order(struct printer *p, const char *words, const struct sql_order *order)
{
	put(p, words);
	for (const struct sql_order *o = order; o; o = o->next) {
		put_expr(p, o->expr);
		if (o->desc)
			put(p, " DESC");
		else if (o->asc)
			put(p, " ASC");
		if (o->next)
			put(p, ", ");
	}
}

void put_limit(struct printer *p, const struct sql_limit *limit)
{
	if (!limit)
		return;
	if (limit->fetch) {
		if (limit->offset) {
			put(p, " OFFSET ");
			put_expr(p, limit->offset);
			put(p, " ROWS");
		}
		/* OFFSET n ROWS alone has no count and no ties. */
		if (limit->count || limit->with_ties || !limit->offset) {
			put(p, " FETCH FIRST ");
			if (limit->count) {
				put_expr(p, limit->count);
				put(p, " ");
			}
			put(p, limit->with_ties ? "ROWS WITH TIES" : "ROWS ONLY");
		}
		return;
	}
	put(p, " LIMIT");
	if (limit->count) {
		put(p, " ");
		put_expr(p, limit->count);
	}
	if (limit->offset) {
		put(p, " OFFSET ");
		put_expr(p, limit->offset);
	}
	if (limit->rows_examined) {
		put(p, " ROWS EXAMINED ");
		put_expr(p, limit->rows_examined);
	}
}

static void put_locks(struct printer *p, const struct sql_lock *lock)
{
	for (; lock; lock = lock->next) {
		switch (lock->mode) {
		case SQL_LOCK_FOR_UPDATE:
			put(p, " FOR UPDATE");
			break;
		case SQL_LOCK_FOR_SHARE:
			put(p, " FOR SHARE");
			break;
		case SQL_LOCK_IN_SHARE_MODE:
			put(p, " LOCK IN SHARE MODE");
			break;
		}
		for (const struct sql_table_name *t = lock->of; t; t = t->next) {
			put(p, t == lock->of ? " OF " : ", ");
			put_table(p, t);
		}
		switch (lock->wait) {
		case SQL_LOCK_WAIT_DEFAULT:
			break;
		case SQL_LOCK_NOWAIT:
			put(p, " NOWAIT");
			break;
		case SQL_LOCK_SKIP_LOCKED:
			put(p, " SKIP LOCKED");
			break;
		case SQL_LOCK_WAIT_SECONDS:
			put(p, " WAIT ");
			put_span(p, lock->seconds);
			break;
		}
	}
}

static void put_into(struct printer *p, const struct sql_into *into)
{
	if (!into)
		return;
	put(p, " INTO ");
	if (into->is_file)
		put_span(p, into->text);
	else
		put_exprs(p, into->vars);
}

void put_with(struct printer *p, const struct sql_with *with)
{
	if (!with)
		return;
	put(p, with->recursive ? "WITH RECURSIVE " : "WITH ");
	for (const struct sql_cte *cte = with->ctes; cte; cte = cte->next) {
		put_name(p, cte->name);
		if (cte->columns) {
			put(p, " ");
			put_names(p, cte->columns);
		}
		put(p, " AS (");
		put_query(p, cte->query);
		put(p, ")");
		for (const struct sql_names *n = cte->cycle; n; n = n->next) {
			put(p, n == cte->cycle ? " CYCLE " : ", ");
			put_name(p, n->name);
		}
		if (cte->cycle)
			put(p, " RESTRICT");
		put(p, cte->next ? ", " : " ");
	}
}

static void put_table_ref(struct printer *p, const struct sql_table_ref *ref);

void put_hints(struct printer *p, const struct sql_index_hint *hint)
{
	static const char *const kinds[] = {" USE INDEX", " IGNORE INDEX", " FORCE INDEX"};
	static const char *const scopes[] = {" ", " FOR JOIN ", " FOR ORDER BY ", " FOR GROUP BY "};

	for (; hint; hint = hint->next) {
		put(p, kinds[hint->kind]);
		put(p, scopes[hint->scope]);
		put_names(p, hint->names);
	}
}

static void put_time_point(struct printer *p, const struct sql_time_point *point)
{
	if (point->is_transaction)
		put(p, "TRANSACTION ");
	else if (point->is_timestamp)
		put(p, "TIMESTAMP ");
	put_bit(p, point->value);
}

static void put_system_time(struct printer *p, const struct sql_table_ref *ref)
{
	switch (ref->system_time) {
	case SQL_SYSTEM_TIME_NONE:
		return;
	case SQL_SYSTEM_TIME_ALL:
		put(p, " FOR SYSTEM_TIME ALL");
		return;
	case SQL_SYSTEM_TIME_AS_OF:
		put(p, " FOR SYSTEM_TIME AS OF ");
		put_time_point(p, &ref->low);
		return;
	case SQL_SYSTEM_TIME_FROM:
	case SQL_SYSTEM_TIME_BETWEEN:
		put(p, ref->system_time == SQL_SYSTEM_TIME_FROM
				? " FOR SYSTEM_TIME FROM "
				: " FOR SYSTEM_TIME BETWEEN ");
		put_time_point(p, &ref->low);
		put(p, ref->system_time == SQL_SYSTEM_TIME_FROM ? " TO " : " AND ");
		put_time_point(p, &ref->high);
		return;
	}
}

void put_named_table(struct printer *p, const struct sql_table_ref *ref)
{
	put_table(p, &ref->u.name.table);
	if (ref->u.name.partitions) {
		put(p, " PARTITION ");
		put_names(p, ref->u.name.partitions);
	}
	put_system_time(p, ref);
	if (ref->alias.ptr) {
		put(p, " AS ");
		put_name(p, ref->alias);
	}
	put_hints(p, ref->u.name.hints);
	if (ref->u.name.portion.ptr) {
		put(p, " FOR PORTION OF ");
		put_name(p, ref->u.name.portion);
		put(p, " FROM ");
		put_bit(p, ref->low.value);
		put(p, " TO ");
		put_bit(p, ref->high.value);
	}
}

void put_refs(struct printer *p, const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		put_table_ref(p, ref);
		if (ref->next)
			put(p, ", ");
	}
}

/* A join without a condition takes the next join into its right side, so it needs parentheses
 * where another follows. */
static bool left_join_needs_parens(const struct sql_table_ref *left)
{
	return left->kind == SQL_TABLE_JOIN && !left->u.join.natural && !left->u.join.on &&
	       !left->u.join.using_columns;
}

static void put_join_rest(struct printer *p, const struct sql_table_ref *ref)
{
	static const char *const joins[] = {
		"JOIN ", "CROSS JOIN ", "STRAIGHT_JOIN ", "LEFT JOIN ", "RIGHT JOIN "};
	const struct sql_table_ref *right = ref->u.join.right;

	put(p, ref->u.join.natural ? " NATURAL " : " ");
	put(p, joins[ref->u.join.join]);
	if (right->kind == SQL_TABLE_JOIN) {
		put(p, "(");
		put_table_ref(p, right);
		put(p, ")");
	} else {
		put_table_ref(p, right);
	}
	if (ref->u.join.on) {
		put(p, " ON ");
		put_expr(p, ref->u.join.on);
	} else if (ref->u.join.using_columns) {
		put(p, " USING ");
		put_names(p, ref->u.join.using_columns);
	}
}

static void put_join(struct printer *p, const struct sql_table_ref *top)
{
	const struct sql_table_ref *ref = top, *fixed[32], **stack = fixed;
	size_t count = 0, capacity = ARRAY_LEN(fixed);

	while (ref->kind == SQL_TABLE_JOIN) {
		if (count == capacity) {
			const struct sql_table_ref **more = mem_alloc(2 * capacity * sizeof(*more));

			memcpy(more, stack, count * sizeof(*more));
			if (stack != fixed)
				mem_free(stack);
			stack = more;
			capacity *= 2;
		}
		if (p->explicit || (count > 0 && left_join_needs_parens(ref)))
			put(p, "(");
		stack[count++] = ref;
		ref = ref->u.join.left;
	}
	put_table_ref(p, ref);
	while (count > 0) {
		ref = stack[--count];
		put_join_rest(p, ref);
		if (p->explicit || (count > 0 && left_join_needs_parens(ref)))
			put(p, ")");
	}
	if (stack != fixed)
		mem_free(stack);
}

static void put_table_ref(struct printer *p, const struct sql_table_ref *ref)
{
	switch (ref->kind) {
	case SQL_TABLE_NAME:
		put_named_table(p, ref);
		return;
	case SQL_TABLE_DERIVED:
		put(p, ref->u.derived.lateral ? "LATERAL (" : "(");
		put_query(p, ref->u.derived.query);
		put(p, ")");
		put_system_time(p, ref);
		if (ref->alias.ptr) {
			put(p, " AS ");
			put_name(p, ref->alias);
		}
		if (ref->u.derived.columns) {
			put(p, " ");
			put_names(p, ref->u.derived.columns);
		}
		return;
	case SQL_TABLE_JOIN:
		put_join(p, ref);
		return;
	case SQL_TABLE_NEST:
		put(p, "(");
		put_refs(p, ref->u.nest);
		put(p, ")");
		return;
	case SQL_TABLE_FUNC:
		put_span(p, ref->u.func.text);
		if (ref->alias.ptr) {
			put(p, " AS ");
			put_name(p, ref->alias);
		}
		return;
	}
}

void put_items(struct printer *p, const struct sql_item *item)
{
	for (; item; item = item->next) {
		put_expr(p, item->expr);
		if (item->alias.ptr) {
			put(p, " AS ");
			if (memchr(item->alias.ptr, '\0', item->alias.len))
				put_string(p, item->alias); /* no name has a NUL */
			else
				put_name(p, item->alias);
		}
		if (item->next)
			put(p, ", ");
	}
}

void put_hint(struct printer *p, struct span hint)
{
	if (!hint.ptr)
		return;
	put(p, "/*+");
	put_span(p, hint);
	put(p, "*/ ");
}

static void put_select_flags(struct printer *p, uint32_t flags)
{
	static const char *const words[] = {"DISTINCT ", "ALL ", "STRAIGHT_JOIN ", "HIGH_PRIORITY ",
		"SQL_SMALL_RESULT ", "SQL_BIG_RESULT ", "SQL_BUFFER_RESULT ",
		"SQL_CALC_FOUND_ROWS ", "SQL_CACHE ", "SQL_NO_CACHE "};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (flags & 1u << i)
			put(p, words[i]);
	}
}

static void put_select(struct printer *p, const struct sql_query *q)
{
	put(p, "SELECT ");
	put_hint(p, q->u.select.hint);
	put_select_flags(p, q->u.select.flags);
	put_items(p, q->u.select.items);
	if (q->u.select.dual)
		put(p, " FROM DUAL");
	if (q->u.select.from) {
		put(p, " FROM ");
		put_refs(p, q->u.select.from);
	}
	if (q->u.select.where) {
		put(p, " WHERE ");
		put_expr(p, q->u.select.where);
	}
	if (q->u.select.grouping_sets.ptr) {
		put(p, " GROUP BY ");
		put_span(p, q->u.select.grouping_sets);
	} else if (q->u.select.group) {
		put_order(p, q->u.select.cube ? " GROUP BY CUBE (" : " GROUP BY ",
			q->u.select.group);
		if (q->u.select.rollup)
			put(p, q->u.select.cube ? ")" : " WITH ROLLUP");
	}
	if (q->u.select.having) {
		put(p, " HAVING ");
		put_expr(p, q->u.select.having);
	}
	for (const struct sql_window *w = q->u.select.windows; w; w = w->next) {
		put(p, w == q->u.select.windows ? " WINDOW " : ", ");
		put_name(p, w->name);
		put(p, " AS ");
		put_window(p, w);
	}
	if (q->u.select.qualify) {
		put(p, " QUALIFY ");
		put_expr(p, q->u.select.qualify);
	}
}

void put_rows(struct printer *p, const struct sql_values_row *row, const char *open)
{
	for (; row; row = row->next) {
		put(p, open);
		put_exprs(p, row->values);
		put(p, row->next ? "), " : ")");
	}
}

static bool has_tail(const struct sql_query *q)
{
	return q->with || q->order || q->limit || q->locks || q->into ||
	       (q->kind == SQL_QUERY_SELECT && q->u.select.procedure.ptr);
}

static void put_set_operand(struct printer *p, const struct sql_query *q, bool parens)
{
	if (parens)
		put(p, "(");
	put_query(p, q);
	if (parens)
		put(p, ")");
}

static bool intersects(const struct sql_query *q)
{
	return q->kind == SQL_QUERY_SET_OP && q->u.set.op == SQL_INTERSECT;
}

/* On the left: anything that binds as tight; INTERSECT takes no UNION. */
bool left_needs_parens(const struct sql_query *q, const struct sql_query *left)
{
	if (has_tail(left) || left->kind == SQL_QUERY_PAREN)
		return true;
	return left->kind == SQL_QUERY_SET_OP && intersects(q) && !intersects(left);
}

static bool right_needs_parens(const struct sql_query *q, const struct sql_query *right)
{
	if (has_tail(right) || right->kind == SQL_QUERY_PAREN)
		return true;
	return right->kind == SQL_QUERY_SET_OP && (intersects(q) || !intersects(right));
}

static void put_set_op(struct printer *p, const struct sql_query *top)
{
	static const char *const ops[] = {" UNION ", " INTERSECT ", " EXCEPT "};
	const struct sql_query *q = top, *fixed[32], **stack = fixed;
	size_t count = 0, capacity = ARRAY_LEN(fixed);

	/* Long chains of UNION lean to the left; only the top may have a tail here. */
	while (q->kind == SQL_QUERY_SET_OP) {
		if (count == capacity) {
			const struct sql_query **more = mem_alloc(2 * capacity * sizeof(*more));

			memcpy(more, stack, count * sizeof(*more));
			if (stack != fixed)
				mem_free(stack);
			stack = more;
			capacity *= 2;
		}
		stack[count++] = q;
		if (left_needs_parens(q, q->u.set.left))
			break;
		q = q->u.set.left;
	}
	q = stack[count - 1];
	for (size_t i = 0; p->explicit && i < count; i++)
		put(p, "(");
	put_set_operand(p, q->u.set.left, left_needs_parens(q, q->u.set.left));
	while (count > 0) {
		q = stack[--count];
		put(p, ops[q->u.set.op]);
		if (q->u.set.all)
			put(p, "ALL ");
		else if (q->u.set.distinct)
			put(p, "DISTINCT ");
		put_set_operand(p, q->u.set.right, right_needs_parens(q, q->u.set.right));
		put(p, p->explicit ? ")" : "");
	}
	if (stack != fixed)
		mem_free(stack);
}

void put_query(struct printer *p, const struct sql_query *q)
{
	put_with(p, q->with);
	switch (q->kind) {
	case SQL_QUERY_SELECT:
		put_select(p, q);
		break;
	case SQL_QUERY_SET_OP:
		put_set_op(p, q);
		break;
	case SQL_QUERY_VALUES:
		put(p, "VALUES ");
		put_rows(p, q->u.values, p->opt.flavour == SQL_MYSQL ? "ROW(" : "(");
		break;
	case SQL_QUERY_TABLE:
		put(p, "TABLE ");
		put_table(p, q->u.table);
		break;
	case SQL_QUERY_PAREN:
		put(p, "(");
		put_query(p, q->u.inner);
		put(p, ")");
		break;
	}
	if (q->order)
		put_order(p, " ORDER BY ", q->order);
	put_limit(p, q->limit);
	if (q->kind == SQL_QUERY_SELECT && q->u.select.procedure.ptr) {
		put(p, " ");
		put_span(p, q->u.select.procedure);
	}
	put_into(p, q->into);
	put_locks(p, q->locks);
}

void sql_print_query(const struct sql_query *query, const struct sql_options *opt, struct buf *out)
{
	struct printer p = {out, *opt, false};

	put_query(&p, query);
}
