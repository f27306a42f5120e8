/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Views whose texts the trace has.  Where a statement reads one, its query stands in the view's
 * place as a derived table: servers merge a view and a derived table in the same way, or put the rows of both into a table
 * first.  The server prints a view's text without regard to sql_mode, and reads it so again
 * whenever the view is used; all other settings are the user's. What is written to a view of plain
 * columns of one table is written to that table.
 */
#include "mvcc/plan/sql_view.h"

#include <ctype.h>

#include "base/buf.h"
#include "base/mem.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/solver.h"

enum {
	VIEW_MENTIONS_MAX = 32, /* in one statement, or in one view */
	VIEW_DEPTH_MAX = 8,     /* of views within each other */
};

struct view {
	const struct record_program *in;
	const char *name;
	bool unknown; /* may have been made, changed or dropped meanwhile */
};

struct views {
	struct view *list;
	size_t count;
};

/* ---- which there are ---- */

static bool starts_with_any(struct span text, const char *const *words)
{
	for (; *words; words++) {
		if (span_istarts(text, *words))
			return true;
	}
	return false;
}

static bool has_any(struct span text, const char *const *words)
{
	for (; *words; words++) {
		if (span_ihas(text, *words))
			return true;
	}
	return false;
}

enum definer { DEFINES_NONE, DEFINES_NAMED, DEFINES_ANY };

/* May the text make, change or drop views?  A look at its words: it may be a piece of what is put
 * together. */
static enum definer may_define(struct span text)
{
	static const char *const verbs[] = {"create", "alter", "drop", "rename", NULL},
				 *const things[] = {"view", "rename", "database", "schema", NULL},
				 *const pieces[] = {"prepare", "execute", "set", NULL},
				 *const starts[] = {
					 "create", "alter", "drop", "rename", "/", "-", "#", NULL};

	if (!has_any(text, verbs) || !has_any(text, things))
		return DEFINES_NONE;
	while (text.len && isspace((unsigned char)*text.ptr))
		text = span_of(text.ptr + 1, text.len - 1);
	if (starts_with_any(text, pieces) ||
		(span_istarts(text, "select") && span_ihas(text, "into")))
		return DEFINES_ANY;
	return starts_with_any(text, starts) || (text.len && memchr(text.ptr, ';', text.len))
		       ? DEFINES_NAMED
		       : DEFINES_NONE;
}

static void lose_named(struct views *views, struct span text, bool all)
{
	static const char *const databases[] = {"database", "schema", NULL};

	for (size_t i = 0; i < views->count; i++) {
		struct view *v = &views->list[i];

		v->unknown |= all || has_any(text, databases) || span_ihas(text, v->name);
	}
}

/* What it says is known, and to us as to the server. */
static bool is_readable(const struct record_program *in)
{
	bool wide = settings_width_named(in->charset) == TEXT_WIDE;

	for (size_t i = 0; i < in->create_text.len && !wide; i++) {
		if ((unsigned char)in->create_text.ptr[i] >= 0x80)
			return false;
	}
	return in->create_text.ptr && in->charset.ptr && in->collation.ptr && in->name.len &&
	       in->database.len && !memchr(in->name.ptr, '`', in->name.len) &&
	       !memchr(in->name.ptr, 0, in->name.len);
}

void views_open(struct mvcc *m)
{
	const struct execution *e = m->schedule->execution;
	struct views *views = arena_zero(&m->catalog.arena, sizeof(*views));
	bool calls = false;

	m->catalog.views = views;
	views->list = arena_zero(&m->catalog.arena, (e->program_count + 1) * sizeof(*views->list));
	for (size_t i = 0; i < e->program_count; i++) {
		struct view *v = &views->list[views->count];

		if (e->programs[i].type != PROGRAM_VIEW || !is_readable(&e->programs[i]))
			continue;
		v->in = &e->programs[i];
		v->name = arena_printf(&m->catalog.arena, "%.*s", SPAN_ARG(v->in->name));
		views->count++;
	}
	for (size_t i = 0; i < m->schedule->stmt_count && views->count; i++) {
		const struct execution_stmt *in = m->schedule->stmts[i].in;
		bool opaque = in->record.flags & (STMT_OPAQUE | STMT_TEXT_CUT);
		enum definer defines = may_define(in->sql);

		calls |= span_ihas(in->sql, "call");
		if (opaque || defines != DEFINES_NONE)
			lose_named(views, in->sql, opaque || defines == DEFINES_ANY);
	}
	for (size_t i = 0; i < e->program_count && calls; i++) {
		static const char *const words[] = {
			"prepare", "execute", "view", "rename", "database", "schema", NULL};
		const struct record_program *p = &e->programs[i];

		if (p->type == PROGRAM_PROCEDURE &&
			(!p->create_text.ptr || has_any(p->create_text, words)))
			lose_named(views, p->create_text, true);
	}
}

static const struct view *view_named(const struct mvcc *m, struct span database, struct span name)
{
	for (size_t i = 0; i < m->catalog.views->count; i++) {
		const struct view *v = &m->catalog.views->list[i];

		if (eval_same_name(&m->now.env, v->in->name, name) && database.ptr &&
			eval_same_name(&m->now.env, v->in->database, database))
			return v;
	}
	return NULL;
}

bool view_has_text(const struct mvcc *m, struct span database, struct span name)
{
	return view_named(m, database, name) != NULL;
}

static const struct view *find_view(const struct mvcc *m, const struct session_settings *settings,
	struct span database, struct span name)
{
	const struct view *v = view_named(m, database, name);
	struct sql_table_name table = {.db = database, .name = name};

	return !v || v->unknown || solver_table(m, database, name) != STORE_NONE ||
			       settings_temporary(settings, &table)
		       ? NULL
		       : v;
}

/* ---- in the place of their names ---- */

struct mentions {
	struct mvcc *m;
	const struct session_settings *settings;
	struct span database; /* of names without one */
	struct {
		struct sql_table_ref *ref;
		const struct view *view;
	} list[VIEW_MENTIONS_MAX];
	uint32_t count;
	bool full;
	bool names_without; /* TABLE v, which has no place for another query */
	bool qualify;
};

static void see_mention(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct mentions *all = ctx;
	struct span database = name->db.ptr ? name->db : all->database;
	const struct view *view = find_view(all->m, all->settings, database, name->name);

	/* A view is of tables that all see, whatever the session calls its own (MySQL manual, "CREATE VIEW"). */
	if (all->qualify && settings_temporary(all->settings, &(struct sql_table_name){.db = database, .name = name->name}))
		all->names_without = true;
	/* The tree is the plan's own. */
	if (all->qualify && !name->db.ptr)
		((struct sql_table_name *)(uintptr_t)name)->db = database;
	if (!view)
		return;
	if (!ref || access != SQL_TABLE_READ || ref->u.name.partitions || ref->u.name.hints ||
		ref->u.name.portion.ptr || ref->system_time != SQL_SYSTEM_TIME_NONE) {
		all->names_without = true;
		return;
	}
	if (all->count == VIEW_MENTIONS_MAX) {
		all->full = true;
		return;
	}
	all->list[all->count].ref = (struct sql_table_ref *)(uintptr_t)ref;
	all->list[all->count++].view = view;
}

static bool see_lock(void *ctx, const struct sql_query *query)
{
	*(bool *)ctx |= query->locks != NULL;
	return true;
}

static bool locks_anywhere(const struct sql_stmt *stmt)
{
	bool found = false;

	sql_walk_stmt(stmt, &(struct sql_visitor){.query = see_lock, .ctx = &found});
	return found;
}

static bool see_text(void *ctx, const struct sql_expr *e)
{
	*(bool *)ctx |= e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_STRING &&
			!e->u.literal.charset.ptr;
	return true;
}

struct expansion {
	struct mvcc *m;
	const struct session_settings *settings;
	uint32_t count;
	bool other_texts; /* literals of another collation than the session's */
};

static bool expand_all(struct expansion *x, const struct mentions *all, unsigned depth);

static bool expand(
	struct expansion *x, struct sql_table_ref *ref, const struct view *view, unsigned depth)
{
	struct mvcc *m = x->m;
	struct sql_options options = m->sql;
	struct sql_stmt *create, query = {.kind = SQL_STMT_SELECT};
	struct mentions *inner = arena_zero(&m->catalog.arena, sizeof(*inner));
	bool texts = false;
	struct span alias = ref->alias.ptr ? ref->alias : ref->u.name.table.name;
	struct err err;

	options.mode = 0;
	if (depth == VIEW_DEPTH_MAX || x->count++ == VIEW_MENTIONS_MAX ||
		!sql_parse(&m->catalog.arena, view->in->create_text, &options, &create, &err) ||
		create->kind != SQL_STMT_CREATE_VIEW || locks_anywhere(create))
		return false;
	query.u.query = create->u.view->query;
	query.text = create->text;
	*inner = (struct mentions){
		.m = m, .settings = x->settings, .database = view->in->database, .qualify = true};
	sql_stmt_tables(&query, see_mention, inner);
	sql_walk_stmt(&query, &(struct sql_visitor){.expr = see_text, .ctx = &texts});
	x->other_texts |=
		texts && settings_collation_named(view->in->collation) != x->settings->collation;
	if (!expand_all(x, inner, depth + 1))
		return false;
	*ref = (struct sql_table_ref){
		.kind = SQL_TABLE_DERIVED, .loc = ref->loc, .next = ref->next, .alias = alias};
	ref->u.derived.query = create->u.view->query;
	ref->u.derived.columns = create->u.view->columns;
	ref->u.derived.stored = span_istarts(view->in->create_text, "CREATE ALGORITHM=TEMPTABLE");
	return true;
}

static bool expand_all(struct expansion *x, const struct mentions *all, unsigned depth)
{
	if (all->full || all->names_without)
		return false;
	for (uint32_t i = 0; i < all->count; i++) {
		if (!expand(x, all->list[i].ref, all->list[i].view, depth))
			return false;
	}
	return true;
}

/* Statements whose reads are those of derived tables in the same place. */
static bool reads_as_derived(const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_SELECT:
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
	case SQL_STMT_DO:
		return !sql_stmt_locking_read(stmt);
	case SQL_STMT_SET:
		return !stmt->u.set->statement;
	case SQL_STMT_UPDATE:
		return stmt->u.update->tables->kind == SQL_TABLE_NAME &&
		       !stmt->u.update->tables->next;
	case SQL_STMT_DELETE:
		return !stmt->u.del->targets;
	default:
		return false;
	}
}

/* ---- written ---- */

struct target {
	struct sql_table_name table;
	struct sql_expr *where;       /* of all views on the way; NULL: none */
	const struct sql_item *items; /* the columns of the outermost view */
	struct sql_expr *check;       /* ... that CHECK OPTION wants to be true of new rows */
};

/* Without their tables: there is one only. */
static bool strip_column(void *ctx, const struct sql_expr *e)
{
	(void)ctx;
	if (e->kind == SQL_EXPR_COLUMN) {
		struct sql_expr *column = (struct sql_expr *)(uintptr_t)e;

		column->u.column.db = column->u.column.table = SPAN_NONE;
	}
	return true;
}

struct sql_expr *both_conditions(struct mvcc *m, struct sql_expr *a, struct sql_expr *b)
{
	struct sql_expr *e;

	if (!a || !b)
		return a ? a : b;
	e = arena_zero(&m->catalog.arena, sizeof(*e));
	e->kind = SQL_EXPR_BINARY;
	e->op = SQL_OP_AND;
	e->u.binary.left = a;
	e->u.binary.right = b;
	return e;
}

static bool see_subquery(void *ctx, const struct sql_query *query)
{
	(void)query;
	*(bool *)ctx = true;
	return true;
}

/* SELECT of columns, under their own names, FROM one table WHERE ... without subqueries. */
static bool is_plain(const struct sql_create_view *view)
{
	const struct sql_query *q = view->query;
	const struct sql_table_ref *from = q->kind == SQL_QUERY_SELECT ? q->u.select.from : NULL;
	bool nested = false;

	if (!from || from->next || from->kind != SQL_TABLE_NAME || from->u.name.partitions ||
		from->u.name.hints || from->system_time != SQL_SYSTEM_TIME_NONE || view->columns ||
		q->with || q->order || q->limit || q->locks || q->into ||
		q->u.select.flags & SQL_SELECT_DISTINCT || q->u.select.group ||
		q->u.select.having || q->u.select.windows || q->u.select.qualify ||
		q->u.select.procedure.ptr)
		return false;
	for (const struct sql_item *i = q->u.select.items; i; i = i->next) {
		if (i->expr->kind != SQL_EXPR_COLUMN ||
			(i->alias.ptr && !span_ieq(i->alias, i->expr->u.column.name)))
			return false;
	}
	if (q->u.select.where)
		sql_walk_expr(q->u.select.where,
			&(struct sql_visitor){.query = see_subquery, .ctx = &nested});
	return !nested;
}

static bool find_target(struct expansion *x, const struct view *view, struct target *out)
{
	struct mvcc *m = x->m;
	struct sql_options options = m->sql;
	bool cascades = false; /* to the views that it reads, whatever these say (MySQL manual, "WITH
				  CHECK OPTION") */
	struct err err;

	options.mode = 0;
	*out = (struct target){.where = NULL};
	for (unsigned depth = 0; view; depth++) {
		struct sql_stmt *create;
		struct sql_query *q;
		bool texts = false;

		if (depth == VIEW_DEPTH_MAX ||
			span_istarts(view->in->create_text, "CREATE ALGORITHM=TEMPTABLE") ||
			!sql_parse(
				&m->catalog.arena, view->in->create_text, &options, &create, &err) ||
			create->kind != SQL_STMT_CREATE_VIEW || !is_plain(create->u.view))
			return false;
		q = create->u.view->query;
		sql_walk_query(q, &(struct sql_visitor){.expr = see_text, .ctx = &texts});
		x->other_texts |= texts && settings_collation_named(view->in->collation) !=
						   x->settings->collation;
		if (q->u.select.where)
			sql_walk_expr(
				q->u.select.where, &(struct sql_visitor){.expr = strip_column});
		out->where = both_conditions(m, q->u.select.where, out->where);
		cascades |= create->u.view->check == SQL_CHECK_CASCADED;
		if (cascades || create->u.view->check == SQL_CHECK_LOCAL)
			out->check = both_conditions(m, q->u.select.where, out->check);
		out->items = depth ? out->items : q->u.select.items;
		out->table = q->u.select.from->u.name.table;
		if (!out->table.db.ptr)
			out->table.db = view->in->database;
		view = find_view(m, x->settings, out->table.db, out->table.name);
	}
	return true;
}

static const struct store_table *stored_table(
	const struct mvcc *m, const struct sql_table_name *name)
{
	uint32_t number = solver_table(m, name->db, name->name);

	return number == STORE_NONE || !m->store.tables[number].def ? NULL
								    : &m->store.tables[number];
}

/* CHECK OPTION is tested on every row that is new or changed, like a CHECK that NULL does not
 * satisfy.  Which of several errors comes first, and which rows IGNORE leaves out, only the server knows. */
static void plan_check(struct expansion *x, struct plan *plan, const struct sql_stmt *stmt,
	const struct store_table *table, const struct target *target)
{
	bool insert = stmt->kind == SQL_STMT_INSERT || stmt->kind == SQL_STMT_REPLACE;
	uint32_t flags = insert ? stmt->u.insert->flags : stmt->u.update->flags;
	struct eval_outcome outcome = {0};

	if (!target->check)
		return;
	if (!x->other_texts && !table->triggers && !table->def->check_count &&
		!(flags & SQL_DML_IGNORE) && !(insert && stmt->u.insert->on_duplicate))
		plan->view_check = eval_expr_compile(&x->m->catalog.arena, target->check, table->def,
			SPAN_NONE, &x->m->now.env, NULL, &outcome);
	if (!plan->view_check)
		plan->unsupported =
			REASON_VIEW_CHECK_OPTION;
}

/* Columns that the view does not have take their defaults; where one has none the error is another
 * one than that of the table. */
static bool may_insert(const struct eval_table *def, const struct sql_item *items)
{
	for (uint32_t i = 0; i < def->column_count; i++) {
		const struct sql_item *item = items;

		while (item && !span_ieq(item->expr->u.column.name, def->columns[i].name))
			item = item->next;
		if (!item && def->columns[i].no_default && !def->columns[i].auto_increment)
			return false;
	}
	return true;
}

static void list_columns(struct mvcc *m, struct sql_insert *insert, const struct sql_item *items)
{
	struct sql_expr **end = &insert->columns.first;

	for (; items; items = items->next) {
		struct sql_expr *column = arena_zero(&m->catalog.arena, sizeof(*column));

		column->kind = SQL_EXPR_COLUMN;
		column->u.column.name = items->expr->u.column.name;
		*end = column;
		end = &column->next;
		insert->columns.count++;
	}
	insert->has_columns = true;
}

/* The one table reference of UPDATE or DELETE of one table; NULL: another statement. */
static struct sql_table_ref *written_ref(const struct sql_stmt *stmt)
{
	struct sql_table_ref *ref =
		stmt->kind == SQL_STMT_UPDATE ? stmt->u.update->tables
		: stmt->kind == SQL_STMT_DELETE && !stmt->u.del->targets && !stmt->u.del->before
			? stmt->u.del->from
			: NULL;

	return ref && ref->kind == SQL_TABLE_NAME && !ref->next && !ref->u.name.partitions &&
			       !ref->u.name.hints && !ref->u.name.portion.ptr
		       ? ref
		       : NULL;
}

/* Puts the table in the place of a view that the statement writes. */
static void write_behind(struct expansion *x, struct plan *plan, struct sql_stmt *stmt)
{
	struct sql_table_ref *ref = written_ref(stmt);
	struct sql_insert *insert = stmt->kind == SQL_STMT_INSERT || stmt->kind == SQL_STMT_REPLACE
					    ? stmt->u.insert
					    : NULL;
	struct sql_table_name *name = ref ? &ref->u.name.table : insert ? &insert->table : NULL;
	const struct store_table *table;
	const struct view *view;
	struct target target;

	if (!name)
		return;
	view = find_view(
		x->m, x->settings, name->db.ptr ? name->db : x->settings->database, name->name);
	table = view && find_target(x, view, &target) ? stored_table(x->m, &target.table) : NULL;
	if (!table)
		return;
	if (insert) {
		if (insert->partitions || insert->returning ||
			!may_insert(table->def, target.items))
			return;
		if (!insert->has_columns && !insert->set)
			list_columns(x->m, insert, target.items);
		plan_check(x, plan, stmt, table, &target);
	} else if (stmt->kind == SQL_STMT_UPDATE) {
		plan_check(x, plan, stmt, table, &target);
		stmt->u.update->where = both_conditions(x->m, target.where, stmt->u.update->where);
	} else {
		stmt->u.del->where = both_conditions(x->m, target.where, stmt->u.del->where);
	}
	if (ref && !ref->alias.ptr)
		ref->alias = name->name;
	name->db = target.table.db;
	name->name = target.table.name;
}

bool views_expand(struct mvcc *m, struct plan *plan, struct sql_stmt *stmt,
	const struct session_settings *settings)
{
	struct expansion x = {m, settings, 0, false};
	struct mentions *all;

	if (!m->catalog.views->count || !reads_as_derived(stmt))
		return false;
	write_behind(&x, plan, stmt);
	all = arena_zero(&m->catalog.arena, sizeof(*all));
	*all = (struct mentions){.m = m, .settings = settings, .database = settings->database};
	sql_stmt_tables(stmt, see_mention, all);
	/* What became of some of them does no harm: those that are left are not known. */
	if (!all->count || locks_anywhere(stmt))
		return x.other_texts;
	return !expand_all(&x, all, 0) || x.other_texts;
}
