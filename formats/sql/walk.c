/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walking a tree, and the tables a statement names.  Chains of operators, joins and UNIONs lean to
 * the left and may be very long; their spines are kept on a stack of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sql/sql.h"

/* The left spine of a chain, outermost first. */
struct spine {
	const void **nodes;
	size_t count, capacity;
	const void *fixed[32];
};

static void spine_init(struct spine *s)
{
	s->nodes = s->fixed;
	s->count = 0;
	s->capacity = ARRAY_LEN(s->fixed);
}

static void spine_push(struct spine *s, const void *node)
{
	if (s->count == s->capacity) {
		const void **more = mem_alloc(2 * s->capacity * sizeof(*more));

		memcpy(more, s->nodes, s->count * sizeof(*more));
		if (s->nodes != s->fixed)
			mem_free(s->nodes);
		s->nodes = more;
		s->capacity *= 2;
	}
	s->nodes[s->count++] = node;
}

static void spine_release(struct spine *s)
{
	if (s->nodes != s->fixed)
		mem_free(s->nodes);
}

static void walk_expr(const struct sql_visitor *v, const struct sql_expr *e);
static void walk_query(const struct sql_visitor *v, const struct sql_query *q);
static void walk_refs(const struct sql_visitor *v, const struct sql_table_ref *ref);

static bool visit_expr(const struct sql_visitor *v, const struct sql_expr *e)
{
	return !v->expr || v->expr(v->ctx, e);
}

static void walk_list(const struct sql_visitor *v, const struct sql_expr *e)
{
	for (; e; e = e->next)
		walk_expr(v, e);
}

static void walk_order(const struct sql_visitor *v, const struct sql_order *o)
{
	for (; o; o = o->next)
		walk_expr(v, o->expr);
}

static void walk_window(const struct sql_visitor *v, const struct sql_window *w)
{
	walk_list(v, w->partition.first);
	walk_order(v, w->order);
	walk_list(v, w->bounds.first);
}

static void walk_call(const struct sql_visitor *v, const struct sql_expr *e)
{
	const struct sql_call_extra *x = e->u.call.extra;

	walk_list(v, e->u.call.args.first);
	if (!x)
		return;
	walk_order(v, x->order);
	walk_expr(v, x->offset);
	walk_expr(v, x->limit);
	if (x->over)
		walk_window(v, x->over);
}

static void walk_children(const struct sql_visitor *v, const struct sql_expr *e)
{
	switch ((enum sql_expr_kind)e->kind) {
	case SQL_EXPR_LITERAL:
	case SQL_EXPR_COLUMN:
	case SQL_EXPR_STAR:
	case SQL_EXPR_PARAM:
	case SQL_EXPR_USER_VAR:
	case SQL_EXPR_SYSTEM_VAR:
	case SQL_EXPR_SEQUENCE:
		return;
	case SQL_EXPR_ASSIGN:
	case SQL_EXPR_UNARY:
	case SQL_EXPR_BINARY:
	case SQL_EXPR_IS:
	case SQL_EXPR_POSITION:
	case SQL_EXPR_DEFAULT:
	case SQL_EXPR_VALUES:
		walk_expr(v, e->u.binary.left);
		walk_expr(v, e->u.binary.right);
		return;
	case SQL_EXPR_IN:
	case SQL_EXPR_QUANTIFIED:
	case SQL_EXPR_EXISTS:
	case SQL_EXPR_SUBQUERY:
		walk_expr(v, e->u.in.left);
		walk_list(v, e->u.in.list.first);
		walk_query(v, e->u.in.query);
		return;
	case SQL_EXPR_BETWEEN:
	case SQL_EXPR_LIKE:
		walk_expr(v, e->u.between.left);
		walk_expr(v, e->u.between.low);
		walk_expr(v, e->u.between.high);
		return;
	case SQL_EXPR_CASE:
		walk_expr(v, e->u.kase.value);
		for (const struct sql_when *w = e->u.kase.whens; w; w = w->next) {
			walk_expr(v, w->when);
			walk_expr(v, w->then);
		}
		walk_expr(v, e->u.kase.otherwise);
		return;
	case SQL_EXPR_ROW:
	case SQL_EXPR_CALL:
	case SQL_EXPR_ODBC:
		walk_call(v, e);
		return;
	case SQL_EXPR_CAST:
	case SQL_EXPR_CONVERT_USING:
	case SQL_EXPR_COLLATE:
		walk_expr(v, e->u.cast.left);
		return;
	case SQL_EXPR_INTERVAL:
	case SQL_EXPR_DATE_FUNC:
	case SQL_EXPR_EXTRACT:
		walk_expr(v, e->u.interval.date);
		walk_expr(v, e->u.interval.left);
		return;
	case SQL_EXPR_TRIM:
		walk_expr(v, e->u.trim.what);
		walk_expr(v, e->u.trim.left);
		return;
	case SQL_EXPR_MATCH:
		walk_list(v, e->u.match.columns.first);
		walk_expr(v, e->u.match.against);
		return;
	}
}

static bool is_chain(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_BINARY ||
	       (e->kind == SQL_EXPR_INTERVAL && e->u.interval.date != NULL);
}

static void walk_expr(const struct sql_visitor *v, const struct sql_expr *e)
{
	struct spine s;
	const struct sql_expr *top = e;

	if (!e)
		return;
	if (!is_chain(e)) {
		if (visit_expr(v, e))
			walk_children(v, e);
		return;
	}
	spine_init(&s);
	while (is_chain(top) && visit_expr(v, top)) {
		spine_push(&s, top);
		top = top->kind == SQL_EXPR_BINARY ? top->u.binary.left : top->u.interval.date;
	}
	if (!is_chain(top))
		walk_expr(v, top);
	while (s.count > 0) {
		top = s.nodes[--s.count];
		walk_expr(v,
			top->kind == SQL_EXPR_BINARY ? top->u.binary.right : top->u.interval.left);
	}
	spine_release(&s);
}

/* ------------------------------------------------------------------ tables */

static bool visit_ref(const struct sql_visitor *v, const struct sql_table_ref *ref)
{
	return !v->table_ref || v->table_ref(v->ctx, ref);
}

static void walk_ref(const struct sql_visitor *v, const struct sql_table_ref *ref);

static void walk_joins(const struct sql_visitor *v, const struct sql_table_ref *ref)
{
	struct spine s;

	spine_init(&s);
	while (ref->kind == SQL_TABLE_JOIN && visit_ref(v, ref)) {
		spine_push(&s, ref);
		ref = ref->u.join.left;
	}
	if (ref->kind != SQL_TABLE_JOIN)
		walk_ref(v, ref);
	while (s.count > 0) {
		ref = s.nodes[--s.count];
		walk_ref(v, ref->u.join.right);
		walk_expr(v, ref->u.join.on);
	}
	spine_release(&s);
}

static void walk_ref(const struct sql_visitor *v, const struct sql_table_ref *ref)
{
	if (ref->kind == SQL_TABLE_JOIN) {
		walk_joins(v, ref);
		return;
	}
	if (!visit_ref(v, ref))
		return;
	switch (ref->kind) {
	case SQL_TABLE_NAME:
		walk_expr(v, ref->low.value);
		walk_expr(v, ref->high.value);
		return;
	case SQL_TABLE_DERIVED:
		walk_query(v, ref->u.derived.query);
		walk_expr(v, ref->low.value);
		walk_expr(v, ref->high.value);
		return;
	case SQL_TABLE_NEST:
		walk_refs(v, ref->u.nest);
		return;
	case SQL_TABLE_FUNC:
		walk_expr(v, ref->u.func.document);
		return;
	case SQL_TABLE_JOIN:
		return;
	}
}

static void walk_refs(const struct sql_visitor *v, const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next)
		walk_ref(v, ref);
}

/* ------------------------------------------------------------------ queries */

static void walk_items(const struct sql_visitor *v, const struct sql_item *item)
{
	for (; item; item = item->next)
		walk_expr(v, item->expr);
}

static void walk_limit(const struct sql_visitor *v, const struct sql_limit *limit)
{
	if (!limit)
		return;
	walk_expr(v, limit->count);
	walk_expr(v, limit->offset);
	walk_expr(v, limit->rows_examined);
}

static void walk_with(const struct sql_visitor *v, const struct sql_with *with)
{
	if (!with)
		return;
	for (const struct sql_cte *cte = with->ctes; cte; cte = cte->next)
		walk_query(v, cte->query);
}

static void walk_rows(const struct sql_visitor *v, const struct sql_values_row *row)
{
	for (; row; row = row->next)
		walk_list(v, row->values.first);
}

static void walk_tail(const struct sql_visitor *v, const struct sql_query *q)
{
	walk_order(v, q->order);
	walk_limit(v, q->limit);
	if (q->into)
		walk_list(v, q->into->vars.first);
}

static void walk_select(const struct sql_visitor *v, const struct sql_query *q)
{
	walk_items(v, q->u.select.items);
	walk_refs(v, q->u.select.from);
	walk_expr(v, q->u.select.where);
	walk_order(v, q->u.select.group);
	walk_expr(v, q->u.select.having);
	for (const struct sql_window *w = q->u.select.windows; w; w = w->next)
		walk_window(v, w);
	walk_expr(v, q->u.select.qualify);
}

static void walk_set_ops(const struct sql_visitor *v, const struct sql_query *q)
{
	struct spine s;

	spine_init(&s);
	while (q->kind == SQL_QUERY_SET_OP && (!v->query || v->query(v->ctx, q))) {
		walk_with(v, q->with);
		spine_push(&s, q);
		q = q->u.set.left;
	}
	if (q->kind != SQL_QUERY_SET_OP)
		walk_query(v, q);
	while (s.count > 0) {
		q = s.nodes[--s.count];
		walk_query(v, q->u.set.right);
		walk_tail(v, q);
	}
	spine_release(&s);
}

static void walk_query(const struct sql_visitor *v, const struct sql_query *q)
{
	if (!q)
		return;
	if (q->kind == SQL_QUERY_SET_OP) {
		walk_set_ops(v, q);
		return;
	}
	if (v->query && !v->query(v->ctx, q))
		return;
	walk_with(v, q->with);
	switch (q->kind) {
	case SQL_QUERY_SELECT:
		walk_select(v, q);
		break;
	case SQL_QUERY_VALUES:
		walk_rows(v, q->u.values);
		break;
	case SQL_QUERY_PAREN:
		walk_query(v, q->u.inner);
		break;
	case SQL_QUERY_TABLE:
	case SQL_QUERY_SET_OP:
		break;
	}
	walk_tail(v, q);
}

/* ------------------------------------------------------------------ statements */

static void walk_assigns(const struct sql_visitor *v, const struct sql_assign *a)
{
	for (; a; a = a->next) {
		walk_expr(v, a->target);
		walk_expr(v, a->value);
	}
}

static void walk_insert(const struct sql_visitor *v, const struct sql_insert *ins)
{
	walk_list(v, ins->columns.first);
	walk_rows(v, ins->rows);
	walk_assigns(v, ins->set);
	walk_query(v, ins->query);
	walk_assigns(v, ins->on_duplicate);
	walk_items(v, ins->returning);
}

static void walk_update(const struct sql_visitor *v, const struct sql_update *up)
{
	walk_with(v, up->with);
	walk_refs(v, up->tables);
	walk_assigns(v, up->set);
	walk_expr(v, up->where);
	walk_order(v, up->order);
	walk_limit(v, up->limit);
}

static void walk_delete(const struct sql_visitor *v, const struct sql_delete *del)
{
	walk_with(v, del->with);
	walk_refs(v, del->from);
	walk_expr(v, del->before);
	walk_expr(v, del->where);
	walk_order(v, del->order);
	walk_limit(v, del->limit);
	walk_items(v, del->returning);
}

static void walk_key(const struct sql_visitor *v, const struct sql_key *key)
{
	for (const struct sql_key_part *part = key->parts; part; part = part->next)
		walk_expr(v, part->expr);
	walk_expr(v, key->check);
}

static void walk_column(const struct sql_visitor *v, const struct sql_column_def *col)
{
	walk_expr(v, col->generated);
	walk_expr(v, col->dflt);
	walk_expr(v, col->on_update);
	for (const struct sql_key *key = col->checks; key; key = key->next)
		walk_key(v, key);
}

static void walk_elements(const struct sql_visitor *v, const struct sql_element *el)
{
	for (; el; el = el->next) {
		if (el->column)
			walk_column(v, el->column);
		if (el->key)
			walk_key(v, el->key);
	}
}

static void walk_partition(const struct sql_visitor *v, const struct sql_partition_by *by)
{
	if (!by)
		return;
	walk_expr(v, by->expr);
	if (by->sub)
		walk_expr(v, by->sub->expr);
	for (const struct sql_partition *part = by->partitions; part; part = part->next)
		walk_list(v, part->values.first);
}

static void walk_alters(const struct sql_visitor *v, const struct sql_alter *a)
{
	for (; a; a = a->next) {
		if (a->column)
			walk_column(v, a->column);
		walk_elements(v, a->elements);
		if (a->key)
			walk_key(v, a->key);
		walk_expr(v, a->value);
		walk_order(v, a->order);
		walk_partition(v, a->partition);
	}
}

void sql_walk_stmt(const struct sql_stmt *stmt, const struct sql_visitor *v)
{
	switch (stmt->kind) {
	case SQL_STMT_SELECT:
		walk_query(v, stmt->u.query);
		return;
	case SQL_STMT_CREATE_VIEW:
		walk_query(v, stmt->u.view->query);
		return;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		walk_insert(v, stmt->u.insert);
		return;
	case SQL_STMT_UPDATE:
		walk_update(v, stmt->u.update);
		return;
	case SQL_STMT_DELETE:
		walk_delete(v, stmt->u.del);
		return;
	case SQL_STMT_DO:
		walk_list(v, stmt->u.exprs.first);
		return;
	case SQL_STMT_CALL:
		if (stmt->u.call)
			walk_list(v, stmt->u.call->args.first);
		return;
	case SQL_STMT_SET:
		for (const struct sql_set_item *i = stmt->u.set->items; i; i = i->next)
			walk_expr(v, i->value);
		if (stmt->u.set->statement)
			sql_walk_stmt(stmt->u.set->statement, v);
		return;
	case SQL_STMT_EXPLAIN:
		if (stmt->u.explain->statement)
			sql_walk_stmt(stmt->u.explain->statement, v);
		walk_expr(v, stmt->u.explain->connection);
		return;
	case SQL_STMT_PREPARE:
	case SQL_STMT_EXECUTE:
		walk_expr(v, stmt->u.prepared->source);
		walk_list(v, stmt->u.prepared->using_args.first);
		return;
	case SQL_STMT_CREATE_TABLE:
		walk_elements(v, stmt->u.create_table->elements);
		walk_partition(v, stmt->u.create_table->partition);
		walk_query(v, stmt->u.create_table->query);
		return;
	case SQL_STMT_ALTER_TABLE:
		walk_alters(v, stmt->u.alter_table->actions);
		return;
	case SQL_STMT_CREATE_INDEX:
		walk_key(v, &stmt->u.index->key);
		return;
	case SQL_STMT_KILL:
		walk_expr(v, stmt->u.kill);
		return;
	default: /* nothing in it to walk */
		return;
	}
}

void sql_walk_expr(const struct sql_expr *expr, const struct sql_visitor *visitor)
{
	walk_expr(visitor, expr);
}

void sql_walk_query(const struct sql_query *query, const struct sql_visitor *visitor)
{
	walk_query(visitor, query);
}

/* ------------------------------------------------------------------ tables of a statement */

/* The CTE names in scope, innermost first.  Inside a WITH RECURSIVE every name of the list is
 * visible in it; otherwise a CTE sees those before it ("WITH (Common Table Expressions)"). */
struct scope {
	const struct sql_with *with;
	const struct sql_cte *until; /* names before this one; NULL: all */
	const struct scope *outer;
};

struct tables {
	sql_table_fn *fn;
	void *ctx;
	const struct scope *scope;
	enum sql_access_kind access;          /* of plain references here */
	const struct sql_table_name *targets; /* multi-table DELETE, UPDATE: see below */
	bool update;
	const struct sql_assign *set;
};

static bool is_cte(const struct tables *t, const struct sql_table_name *name)
{
	if (name->db.ptr)
		return false;
	for (const struct scope *s = t->scope; s; s = s->outer) {
		for (const struct sql_cte *cte = s->with->ctes; cte && cte != s->until;
			cte = cte->next) {
			if (span_ieq(cte->name, name->name))
				return true;
		}
	}
	return false;
}

static void tables_query(struct tables *t, const struct sql_query *q);

/* Subqueries inside expressions: the general walk, stopped at every query. */
static bool tables_subquery(void *ctx, const struct sql_query *q)
{
	struct tables *t = ctx;
	struct tables inner = *t;

	inner.access = SQL_TABLE_READ;
	inner.targets = NULL;
	inner.update = false;
	tables_query(&inner, q);
	return false;
}

static struct sql_visitor subqueries(struct tables *t)
{
	return (struct sql_visitor){.query = tables_subquery, .ctx = t};
}

static void tables_expr(struct tables *t, const struct sql_expr *e)
{
	struct sql_visitor v = subqueries(t);

	walk_expr(&v, e);
}

/* Whether a multi-table statement writes this reference: it is a target of the DELETE, or the
 * SET list names it or names columns without a table. */
static enum sql_access_kind ref_access(const struct tables *t, const struct sql_table_ref *ref)
{
	struct span called = ref->alias.ptr ? ref->alias : ref->u.name.table.name;

	for (const struct sql_table_name *n = t->targets; n; n = n->next) {
		if (span_ieq(n->name, called))
			return SQL_TABLE_WRITE;
	}
	if (t->update) {
		for (const struct sql_assign *a = t->set; a; a = a->next) {
			struct span table = a->target->u.column.table;

			if (!table.ptr || span_ieq(table, called))
				return SQL_TABLE_WRITE;
		}
		return SQL_TABLE_READ;
	}
	return t->access;
}

static bool tables_ref(void *ctx, const struct sql_table_ref *ref)
{
	struct tables *t = ctx;

	if (ref->kind == SQL_TABLE_NAME && !is_cte(t, &ref->u.name.table))
		t->fn(t->ctx, &ref->u.name.table, ref, ref_access(t, ref));
	return true;
}

static void tables_refs(struct tables *t, const struct sql_table_ref *refs)
{
	struct sql_visitor v = subqueries(t);

	v.table_ref = tables_ref;
	walk_refs(&v, refs);
}

static void tables_with(struct tables *t, const struct sql_with *with)
{
	for (const struct sql_cte *cte = with->ctes; cte; cte = cte->next) {
		struct scope scope = {with, with->recursive ? NULL : cte, t->scope};
		struct tables inner = *t;

		inner.scope = &scope;
		inner.access = SQL_TABLE_READ;
		inner.targets = NULL;
		inner.update = false;
		tables_query(&inner, cte->query);
	}
}

/* The parts of one query node; nested queries come back through tables_subquery. */
static void tables_query(struct tables *t, const struct sql_query *q)
{
	struct scope scope = {q->with, NULL, t->scope};
	struct tables here = *t;
	struct sql_visitor v;

	if (q->with) {
		tables_with(t, q->with);
		here.scope = &scope;
	}
	v = subqueries(&here);
	v.table_ref = tables_ref;
	switch (q->kind) {
	case SQL_QUERY_SELECT:
		walk_select(&v, q);
		break;
	case SQL_QUERY_VALUES:
		walk_rows(&v, q->u.values);
		break;
	case SQL_QUERY_TABLE:
		if (!is_cte(&here, q->u.table))
			t->fn(t->ctx, q->u.table, NULL, SQL_TABLE_READ);
		break;
	case SQL_QUERY_PAREN:
		tables_query(&here, q->u.inner);
		break;
	case SQL_QUERY_SET_OP: {
		struct spine s;
		const struct sql_query *left = q;

		spine_init(&s);
		/* A left side with a WITH of its own has its own scope. */
		while (left->kind == SQL_QUERY_SET_OP && (left == q || !left->with)) {
			spine_push(&s, left);
			left = left->u.set.left;
		}
		tables_query(&here, left);
		while (s.count > 0) {
			const struct sql_query *set = s.nodes[--s.count];

			tables_query(&here, set->u.set.right);
			if (set != q)
				walk_tail(&v, set);
		}
		spine_release(&s);
		break;
	}
	}
	walk_tail(&v, q);
}

static void name_list(
	const struct tables *t, const struct sql_table_name *name, enum sql_access_kind access)
{
	for (; name; name = name->next)
		t->fn(t->ctx, name, NULL, access);
}

static void tables_insert(struct tables *t, const struct sql_insert *ins)
{
	struct sql_visitor v = subqueries(t);

	t->fn(t->ctx, &ins->table, NULL, SQL_TABLE_WRITE);
	walk_insert(&v, ins);
}

static void tables_update(struct tables *t, const struct sql_update *up)
{
	struct scope scope = {up->with, NULL, NULL};
	struct sql_visitor v;

	if (up->with) {
		tables_with(t, up->with);
		t->scope = &scope;
	}
	v = subqueries(t);
	t->update = true;
	t->set = up->set;
	tables_refs(t, up->tables);
	walk_assigns(&v, up->set);
	walk_expr(&v, up->where);
	walk_order(&v, up->order);
	walk_limit(&v, up->limit);
	t->scope = NULL;
}

static void tables_delete(struct tables *t, const struct sql_delete *del)
{
	struct scope scope = {del->with, NULL, NULL};
	struct sql_visitor v;

	if (del->with) {
		tables_with(t, del->with);
		t->scope = &scope;
	}
	v = subqueries(t);
	t->targets = del->targets;
	t->access = del->targets ? SQL_TABLE_READ : SQL_TABLE_WRITE;
	tables_refs(t, del->from);
	walk_expr(&v, del->before);
	walk_expr(&v, del->where);
	walk_order(&v, del->order);
	walk_limit(&v, del->limit);
	walk_items(&v, del->returning);
	t->scope = NULL;
}

static void key_tables(struct tables *t, const struct sql_key *key)
{
	if (key && key->reference)
		t->fn(t->ctx, &key->reference->table, NULL, SQL_TABLE_DEFINE);
}

static void element_tables(struct tables *t, const struct sql_element *el)
{
	for (; el; el = el->next) {
		key_tables(t, el->key);
		if (el->column && el->column->reference)
			t->fn(t->ctx, &el->column->reference->table, NULL, SQL_TABLE_DEFINE);
	}
}

static void tables_create(struct tables *t, const struct sql_create_table *ct)
{
	t->fn(t->ctx, &ct->table, NULL, SQL_TABLE_DEFINE);
	if (ct->like)
		t->fn(t->ctx, ct->like, NULL, SQL_TABLE_READ);
	element_tables(t, ct->elements);
	if (ct->query)
		tables_query(t, ct->query);
}

static void tables_alter(struct tables *t, const struct sql_alter_table *at)
{
	t->fn(t->ctx, &at->table, NULL, SQL_TABLE_DEFINE);
	for (const struct sql_alter *a = at->actions; a; a = a->next) {
		key_tables(t, a->key);
		element_tables(t, a->elements);
		if (a->column && a->column->reference)
			t->fn(t->ctx, &a->column->reference->table, NULL, SQL_TABLE_DEFINE);
		if (a->kind == SQL_ALTER_RENAME_TABLE)
			t->fn(t->ctx, &a->table, NULL, SQL_TABLE_DEFINE);
	}
}

static void tables_of(struct tables *t, const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_SELECT:
		tables_query(t, stmt->u.query);
		return;
	case SQL_STMT_CREATE_VIEW:
		name_list(t, stmt->tables, SQL_TABLE_DEFINE);
		tables_query(t, stmt->u.view->query);
		return;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		tables_insert(t, stmt->u.insert);
		return;
	case SQL_STMT_UPDATE:
		tables_update(t, stmt->u.update);
		return;
	case SQL_STMT_DELETE:
		tables_delete(t, stmt->u.del);
		return;
	case SQL_STMT_DO:
		for (const struct sql_expr *e = stmt->u.exprs.first; e; e = e->next)
			tables_expr(t, e);
		return;
	case SQL_STMT_SET:
		for (const struct sql_set_item *i = stmt->u.set->items; i; i = i->next)
			tables_expr(t, i->value);
		if (stmt->u.set->statement)
			tables_of(t, stmt->u.set->statement);
		return;
	case SQL_STMT_EXPLAIN:
		if (stmt->u.explain->statement)
			tables_of(t, stmt->u.explain->statement);
		return;
	case SQL_STMT_CREATE_TABLE:
		tables_create(t, stmt->u.create_table);
		return;
	case SQL_STMT_ALTER_TABLE:
		tables_alter(t, stmt->u.alter_table);
		return;
	case SQL_STMT_DROP_TABLE:
	case SQL_STMT_DROP_VIEW:
	case SQL_STMT_DROP_SEQUENCE:
	case SQL_STMT_TRUNCATE:
		name_list(t, stmt->u.drop->tables, SQL_TABLE_DEFINE);
		return;
	case SQL_STMT_RENAME_TABLE:
		for (const struct sql_rename *r = stmt->u.rename; r; r = r->next) {
			t->fn(t->ctx, &r->from, NULL, SQL_TABLE_DEFINE);
			t->fn(t->ctx, &r->to, NULL, SQL_TABLE_DEFINE);
		}
		return;
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
		t->fn(t->ctx, &stmt->u.index->table, NULL, SQL_TABLE_DEFINE);
		return;
	case SQL_STMT_LOCK_TABLES:
		for (const struct sql_lock_table *l = stmt->u.locks; l; l = l->next)
			t->fn(t->ctx, &l->table, NULL, SQL_TABLE_DEFINE);
		return;
	case SQL_STMT_LOAD_DATA:
		name_list(t, stmt->tables, SQL_TABLE_WRITE);
		return;
	case SQL_STMT_HANDLER:
	case SQL_STMT_SHOW:
		name_list(t, stmt->tables, SQL_TABLE_READ);
		return;
	default: /* whatever could be named */
		name_list(t, stmt->tables, SQL_TABLE_DEFINE);
		return;
	}
}

void sql_stmt_tables(const struct sql_stmt *stmt, sql_table_fn *fn, void *ctx)
{
	struct tables t = {.fn = fn, .ctx = ctx};

	tables_of(&t, stmt);
}
