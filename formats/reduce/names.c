/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "reduce/tidy.h"

struct renaming {
	struct span from, to;
};

struct renamings {
	struct renaming *items;
	size_t count, capacity;
};

struct names {
	struct script *script;
	struct renamings tables, columns;
	bool keys_named; /* something refers to a key by its name */
};

static struct span renamed(const struct renamings *r, struct span name)
{
	for (size_t i = 0; i < r->count; i++)
		if (name.ptr && span_ieq(r->items[i].from, name))
			return r->items[i].to;
	return name;
}

/* The n-th of a row of single letters, and then of letters with a number. */
static struct span letter(struct names *n, char first, unsigned letters, size_t index)
{
	if (index < letters)
		return span_str(arena_printf(&n->script->arena, "%c", first + (int)index));
	return span_str(arena_printf(&n->script->arena, "%c%zu", first, index));
}

static void add(struct renamings *r, struct span from, struct span to)
{
	for (size_t i = 0; i < r->count; i++)
		if (span_ieq(r->items[i].from, from))
			return;
	MEM_RESERVE(r->items, r->count + 1, r->capacity);
	r->items[r->count++] = (struct renaming){from, to};
}

static void choose(struct names *n)
{
	for (size_t i = 0; i < n->script->count; i++) {
		const struct sql_stmt *tree = n->script->stmts[i].tree;

		if (!tree || tree->kind != SQL_STMT_CREATE_TABLE)
			continue;
		add(&n->tables, tree->u.create_table->table.name, letter(n, 't', 7, n->tables.count));
		for (const struct sql_element *el = tree->u.create_table->elements; el; el = el->next)
			if (el->column)
				add(&n->columns, el->column->name, letter(n, 'a', 18, n->columns.count));
	}
}

/* ---- tables ---- */

/* Trees of a script are its own; the walkers give them out as const. */
static void rename_table(
	void *ctx, const struct sql_table_name *given, const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct names *n = ctx;
	struct sql_table_name *table = (struct sql_table_name *)(uintptr_t)given;

	(void)ref;
	(void)access;
	table->name = renamed(&n->tables, table->name);
}

static bool rename_qualifier(void *ctx, const struct sql_expr *given)
{
	struct names *n = ctx;
	struct sql_expr *e = (struct sql_expr *)(uintptr_t)given;

	if (e->kind == SQL_EXPR_COLUMN || e->kind == SQL_EXPR_STAR)
		e->u.column.table = renamed(&n->tables, e->u.column.table);
	return true;
}

/* ---- columns ---- */

static bool rename_column(void *ctx, const struct sql_expr *given)
{
	struct names *n = ctx;
	struct sql_expr *e = (struct sql_expr *)(uintptr_t)given;

	if (e->kind == SQL_EXPR_COLUMN && !e->negated)
		e->u.column.name = renamed(&n->columns, e->u.column.name);
	return true;
}

static bool rename_using(void *ctx, const struct sql_table_ref *ref)
{
	struct names *n = ctx;

	if (ref->kind == SQL_TABLE_JOIN)
		for (struct sql_names *name = ref->u.join.using_columns; name; name = name->next)
			name->name = renamed(&n->columns, name->name);
	return true;
}

static void rename_reference(struct names *n, struct sql_reference *reference)
{
	for (struct sql_names *name = reference ? reference->columns : NULL; name; name = name->next)
		name->name = renamed(&n->columns, name->name);
}

static void rename_key(struct names *n, struct sql_key *key)
{
	for (struct sql_key_part *part = key->parts; part; part = part->next)
		part->column = renamed(&n->columns, part->column);
	rename_reference(n, key->reference);
}

static void rename_definition(struct names *n, struct sql_create_table *ct)
{
	for (struct sql_element *el = ct->elements; el; el = el->next) {
		if (el->column) {
			el->column->name = renamed(&n->columns, el->column->name);
			rename_reference(n, el->column->reference);
		}
		if (el->key)
			rename_key(n, el->key);
	}
	for (struct sql_names *name = ct->partition ? ct->partition->names : NULL; name; name = name->next)
		name->name = renamed(&n->columns, name->name);
}

/* ---- keys ---- */

static bool note_hint(void *ctx, const struct sql_table_ref *ref)
{
	struct names *n = ctx;

	n->keys_named |= ref->kind == SQL_TABLE_NAME && ref->u.name.hints;
	return true;
}

static void look_for_keys(struct names *n)
{
	struct sql_visitor visitor = {.table_ref = note_hint, .ctx = n};

	for (size_t i = 0; i < n->script->count; i++) {
		const struct sql_stmt *tree = n->script->stmts[i].tree;

		if (!tree)
			continue;
		n->keys_named |= tree->kind == SQL_STMT_DROP_INDEX || tree->kind == SQL_STMT_ALTER_TABLE ||
				 tree->kind == SQL_STMT_HANDLER;
		sql_walk_stmt(tree, &visitor);
	}
}

static void forget_key_names(struct sql_create_table *ct)
{
	for (struct sql_element *el = ct->elements; el; el = el->next) {
		if (!el->key)
			continue;
		el->key->name = SPAN_NONE;
		el->key->constraint = SPAN_NONE;
		el->key->has_constraint = false;
	}
}

/* ---- all ---- */

static void rename_stmt(struct names *n, struct sql_stmt *tree, const bool *kept)
{
	struct sql_visitor qualifiers = {.expr = rename_qualifier, .ctx = n};
	struct sql_visitor columns = {.expr = rename_column, .table_ref = rename_using, .ctx = n};
	bool creates = tree->kind == SQL_STMT_CREATE_TABLE;

	if (!kept[NAMES_TABLES]) {
		sql_stmt_tables(tree, rename_table, n);
		sql_walk_stmt(tree, &qualifiers);
	}
	if (!kept[NAMES_COLUMNS]) {
		sql_walk_stmt(tree, &columns);
		if (creates)
			rename_definition(n, tree->u.create_table);
		if (tree->kind == SQL_STMT_CREATE_INDEX)
			rename_key(n, &tree->u.index->key);
	}
	if (!kept[NAMES_KEYS] && creates && !n->keys_named)
		forget_key_names(tree->u.create_table);
}

static void name_sessions(struct script *script)
{
	size_t count = 0;
	bool *named = arena_zero(&script->arena, script->scenario->session_count + 1);

	for (size_t i = script->setup_count; i < script->setup_count + script->schedule_count; i++) {
		uint32_t session = script->stmts[i].session;

		if (named[session])
			continue;
		named[session] = true;
		script->session_names[session] = span_str(arena_printf(&script->arena, "T%zu", ++count));
	}
}

void names_apply(struct script *script, const bool *kept)
{
	struct names n = {.script = script};

	choose(&n);
	look_for_keys(&n);
	for (size_t i = 0; i < script->count; i++) {
		struct script_stmt *stmt = &script->stmts[i];

		if (!stmt->tree)
			continue;
		rename_stmt(&n, stmt->tree, kept);
		stmt->changed = true; /* all in one form */
	}
	if (!kept[NAMES_SESSIONS])
		name_sessions(script);
	mem_free(n.tables.items);
	mem_free(n.columns.items);
}
