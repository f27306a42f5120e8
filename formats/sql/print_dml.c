/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INSERT, REPLACE, UPDATE and DELETE back to text.
 */
#include "sql/print.h"

static void put_assigns(struct printer *p, const struct sql_assign *a)
{
	for (; a; a = a->next) {
		put_expr(p, a->target);
		put(p, " = ");
		put_expr(p, a->value);
		if (a->next)
			put(p, ", ");
	}
}

static void put_dml_flags(struct printer *p, uint32_t flags)
{
	static const char *const words[] = {
		"LOW_PRIORITY ", "HIGH_PRIORITY ", "DELAYED ", "IGNORE ", "QUICK ", "HISTORY "};

	/* QUICK stands before IGNORE in DELETE, HISTORY last. */
	static const uint8_t order[] = {0, 1, 2, 4, 3, 5};

	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		if (flags & 1u << order[i])
			put(p, words[order[i]]);
	}
}

static bool starts_with_values(const struct sql_query *q)
{
	while (q->kind == SQL_QUERY_SET_OP && !q->with && !left_needs_parens(q, q->u.set.left))
		q = q->u.set.left;
	return q->kind == SQL_QUERY_VALUES && !q->with;
}

void put_insert(struct printer *p, const struct sql_insert *ins, bool replace)
{
	put(p, replace ? "REPLACE " : "INSERT ");
	put_hint(p, ins->hint);
	put_dml_flags(p, ins->flags);
	put(p, "INTO ");
	put_table(p, &ins->table);
	if (ins->partitions) {
		put(p, " PARTITION ");
		put_names(p, ins->partitions);
	}
	if (ins->has_columns) {
		put(p, " (");
		put_exprs(p, ins->columns);
		put(p, ")");
	}
	if (ins->rows) {
		put(p, " VALUES ");
		put_rows(p, ins->rows, "(");
	} else if (ins->set) {
		put(p, " SET ");
		put_assigns(p, ins->set);
	} else {
		/* INSERT INTO t VALUES would be rows. */
		bool parens = starts_with_values(ins->query);

		put(p, parens ? " (" : " ");
		put_query(p, ins->query);
		put(p, parens ? ")" : "");
	}
	if (ins->row_alias.ptr) {
		put(p, " AS ");
		put_name(p, ins->row_alias);
		if (ins->row_columns)
			put_names(p, ins->row_columns);
	}
	if (ins->on_duplicate) {
		put(p, " ON DUPLICATE KEY UPDATE ");
		put_assigns(p, ins->on_duplicate);
	}
	if (ins->returning) {
		put(p, " RETURNING ");
		put_items(p, ins->returning);
	}
}

void put_update(struct printer *p, const struct sql_update *up)
{
	put_with(p, up->with);
	put(p, "UPDATE ");
	put_hint(p, up->hint);
	put_dml_flags(p, up->flags);
	put_refs(p, up->tables);
	put(p, " SET ");
	put_assigns(p, up->set);
	if (up->where) {
		put(p, " WHERE ");
		put_expr(p, up->where);
	}
	if (up->order)
		put_order(p, " ORDER BY ", up->order);
	put_limit(p, up->limit);
}

static void put_targets(struct printer *p, const struct sql_table_name *t)
{
	for (; t; t = t->next) {
		put_table(p, t);
		if (t->next)
			put(p, ", ");
	}
}

static void put_single_delete(struct printer *p, const struct sql_table_ref *ref)
{
	/* An alias and index hints stand before PARTITION here, unlike in FROM. */
	struct sql_table_ref bare = *ref;

	bare.alias = SPAN_NONE;
	if (ref->alias.ptr || ref->u.name.hints) {
		bare.u.name.partitions = NULL;
		bare.u.name.hints = NULL;
		put_named_table(p, &bare);
		if (ref->alias.ptr) {
			put(p, " AS ");
			put_name(p, ref->alias);
		}
		put_hints(p, ref->u.name.hints);
		if (ref->u.name.partitions) {
			put(p, " PARTITION ");
			put_names(p, ref->u.name.partitions);
		}
		return;
	}
	put_named_table(p, &bare);
}

void put_delete(struct printer *p, const struct sql_delete *del)
{
	put_with(p, del->with);
	put(p, "DELETE ");
	put_hint(p, del->hint);
	put_dml_flags(p, del->flags);
	if (!del->targets) {
		put(p, "FROM ");
		put_single_delete(p, del->from);
	} else {
		put(p, del->using_form ? "FROM " : "");
		put_targets(p, del->targets);
		put(p, del->using_form ? " USING " : " FROM ");
		put_refs(p, del->from);
	}
	if (del->before) {
		put(p, " BEFORE SYSTEM_TIME ");
		if (del->before_is_transaction)
			put(p, "TRANSACTION ");
		else if (del->before_is_timestamp)
			put(p, "TIMESTAMP ");
		put_bit(p, del->before);
	}
	if (del->where) {
		put(p, " WHERE ");
		put_expr(p, del->where);
	}
	if (del->order)
		put_order(p, " ORDER BY ", del->order);
	put_limit(p, del->limit);
	if (del->returning) {
		put(p, " RETURNING ");
		put_items(p, del->returning);
	}
}
