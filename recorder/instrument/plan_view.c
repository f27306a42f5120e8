/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views that are some rows of one prepared table, with its columns by their own names: a statement
 * through one is a statement on the table, with the view's condition beside its own.  The text that
 * goes out stays as it is, so that the rows of a read are not seen.
 */
#include "instrument/plan_internal.h"

enum { VIEW_DEPTH_MAX = 4 };

static const struct instrument_view *find_view(
	const struct planner *p, const struct sql_table_name *name)
{
	struct span database = name->db.ptr ? name->db : p->database;

	if (plan_is_temporary(p, name) || plan_find(p, name))
		return NULL;
	for (size_t i = 0; i < p->tables->view_count; i++)
		if (span_ieq_str(name->name, p->tables->views[i].name) &&
			span_ieq_str(database, p->tables->views[i].database))
			return &p->tables->views[i];
	return NULL;
}

/* Are the view's columns those of its table, by the same names?  `columns` has them in order, each
 * ended by a NUL: MySQL does not say them in the definition. */
static bool keeps_names(const struct instrument_view *view, const struct sql_item *item)
{
	struct span rest = span_of(view->columns, view->columns_len), name;

	for (; item; item = item->next)
		if (!plan_next_word(&rest, &name) || item->expr->kind != SQL_EXPR_COLUMN ||
			!span_ieq(item->expr->u.column.name, name))
			return false;
	return !rest.len;
}

/* The one table of a view's definition, with its condition; NULL: it is another kind of view. */
static const struct sql_query *simple_query(
	const struct planner *p, const struct instrument_view *view)
{
	struct sql_options options = p->options;
	const struct sql_table_ref *from;
	const struct sql_query *q;
	struct sql_stmt *stmt;

	options.mode = 0; /* as the server prints it */
	if (!view->definition ||
		!sql_parse(p->arena, span_str(view->definition), &options, &stmt, NULL) ||
		stmt->kind != SQL_STMT_SELECT)
		return NULL;
	q = stmt->u.query;
	if (q->kind != SQL_QUERY_SELECT || q->with || q->into || q->limit || q->locks ||
		(q->u.select.flags & SQL_SELECT_DISTINCT) || q->u.select.group ||
		q->u.select.having || q->u.select.qualify || q->u.select.procedure.ptr)
		return NULL;
	from = plan_only_table(q->u.select.from);
	if (!from || !from->u.name.table.db.ptr || from->u.name.partitions || from->system_time ||
		plan_has_query(q->u.select.where) || !keeps_names(view, q->u.select.items))
		return NULL;
	return q;
}

static void add_condition(struct planner *p, struct sql_expr **where, struct sql_expr *more)
{
	struct sql_expr *both;

	if (!more)
		return;
	plan_strip_tables(more);
	if (!*where) {
		*where = more;
		return;
	}
	both = arena_alloc(p->arena, sizeof(*both));
	*both = (struct sql_expr){.kind = SQL_EXPR_BINARY, .op = SQL_OP_AND, .loc = (*where)->loc};
	both->u.binary.left = more;
	both->u.binary.right = *where;
	*where = both;
}

/* Puts the table in the view's place.  False: it is none, or not such a one. */
static bool resolve(struct planner *p, struct sql_table_ref *ref, struct sql_expr **where)
{
	struct sql_table_name name = ref->u.name.table;
	struct sql_expr *all = *where;
	const struct instrument_view *view = find_view(p, &name);

	if (!view)
		return false;
	for (int depth = 0; view; depth++) {
		const struct sql_query *q = depth < VIEW_DEPTH_MAX ? simple_query(p, view) : NULL;

		if (!q)
			return false;
		add_condition(p, &all, q->u.select.where);
		name = q->u.select.from->u.name.table;
		view = find_view(p, &name);
	}
	if (!plan_find(p, &name))
		return false;
	if (!ref->alias.ptr)
		ref->alias = ref->u.name.table.name;
	ref->u.name.table.db = name.db;
	ref->u.name.table.name = name.name;
	*where = all;
	return true;
}

void plan_resolve_views(struct planner *p)
{
	const struct sql_stmt *stmt = p->stmt;
	struct sql_table_ref *ref = NULL;
	struct sql_expr **where = NULL;
	struct sql_query *q;

	if (!p->tables->view_count || p->tables->mode == INSTRUMENT_SELECT ||
		atomic_load(&p->tables->views_changed))
		return;
	switch (stmt->kind) {
	case SQL_STMT_SELECT:
		q = stmt->u.query;
		if (q->kind == SQL_QUERY_SELECT && !q->with) {
			ref = q->u.select.from;
			where = &q->u.select.where;
		}
		break;
	case SQL_STMT_UPDATE:
		ref = stmt->u.update->with ? NULL : stmt->u.update->tables;
		where = &stmt->u.update->where;
		break;
	case SQL_STMT_DELETE:
		ref = stmt->u.del->with || stmt->u.del->targets ? NULL : stmt->u.del->from;
		where = &stmt->u.del->where;
		break;
	default:
		return;
	}
	/* Alone: what it is joined with may be the table itself. */
	if (ref && plan_only_table(ref) && !ref->u.name.partitions && !ref->system_time)
		p->plan->through_view = resolve(p, ref, where);
}
