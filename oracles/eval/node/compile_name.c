/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names compiled: columns, aliases, local variables of stored programs. */
#include "eval/compile.h"
#include "eval/limits/guards.h"

#include "server/errors.h"

/* ---- names ---- */

struct eval_value require_known(struct run *run, struct eval_value v)
{
	if (UNLIKELY(v.kind == EVAL_OPAQUE) && !run->carrying)
		return run_gives_up(run, LIMIT_TIMES_THAT_ONLY_SERVER_KNOWS);
	return v;
}

static struct eval_value run_column(const struct node *n, struct frame *f)
{
	const struct frame *at = f;
	const struct eval_value *row;

	for (uint32_t i = 0; i < n->u.at.depth; i++)
		at = at->outer;
	row = at->rows[n->u.at.table];
	return row ? require_known(f->run, row[n->u.at.column]) : EVAL_NULL_VALUE;
}

static struct eval_value run_own_column(const struct node *n, struct frame *f)
{
	const struct eval_value *row = f->rows[n->u.at.table];

	return row ? require_known(f->run, row[n->u.at.column]) : EVAL_NULL_VALUE;
}

struct node *node_column(struct compiler *c, const struct sql_expr *e, uint32_t depth,
	uint32_t table, uint32_t column, const struct eval_type *type)
{
	struct node *n = node_new(c, depth ? run_column : run_own_column, e, 0);

	n->type = *type;
	n->type.coercibility = type_is_string(type) ? 2 : 5;
	n->u.at.depth = depth;
	n->u.at.table = table;
	n->u.at.column = column;
	n->column = n->carries = true;
	return n;
}

static struct eval_value run_local(const struct node *n, struct frame *f)
{
	return require_known(f->run, f->run->env->locals->values[n->u.number]);
}

/* NULL: not the name of one. */
static struct node *compile_local(struct compiler *c, const struct sql_expr *e)
{
	const struct eval_locals *locals = c->env->locals;
	struct span base = e->u.column.table;

	if (!locals || c->no_locals || e->u.column.db.ptr)
		return NULL;
	for (uint32_t i = locals->count; i-- > 0;) {
		const struct eval_local *l = &locals->list[i];
		struct node *n;

		if (!span_ieq(l->name, e->u.column.name) || !base.ptr != !l->base.ptr ||
			(base.ptr && !span_ieq(l->base, base)))
			continue;
		n = node_new(c, run_local, e, 0);
		n->type = l->type;
		n->type.coercibility = type_is_string(&l->type) ? 2 : 5;
		n->u.number = i;
		n->carries = true;
		return n;
	}
	return NULL;
}

static uint32_t kind_of_value(const struct eval_type *type)
{
	return type->kind == EVAL_T_NULL ? 0
	       : type_is_string(type)	 ? 1
	       : type_is_number(type)	 ? 2
					 : 3u + type->kind;
}

bool compares_local(const struct node *n)
{
	bool local = false;
	uint32_t kind = 0, other = 0;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		local |= n->args[i]->fn == run_local;
		other = kind_of_value(&n->args[i]->type);
		if (other && kind && other != kind)
			kind = UINT32_MAX;
		else if (other)
			kind = other;
	}
	return local && kind == UINT32_MAX;
}

bool scope_names_table(const struct compiler *c, const struct scope_table *t, struct span db, struct span table)
{
	if (table.ptr && !eval_same_name(c->env, t->alias, table))
		return false;
	return !db.ptr || !t->db.ptr || eval_same_name(c->env, t->db, db);
}

/* 0: none, 1: found, 2: more than one. */
static int find_in_scope(const struct compiler *c, const struct scope *s, const struct sql_expr *e,
	uint32_t *table, uint32_t *column)
{
	int found = 0;

	for (uint32_t t = s->first_table; t < s->table_count; t++) {
		const struct scope_table *st = &s->tables[t];

		if (!scope_names_table(c, st, e->u.column.db, e->u.column.table))
			continue;
		for (uint32_t i = 0; i < st->column_count; i++) {
			if (!span_ieq(st->names[i], e->u.column.name))
				continue;
			if (!e->u.column.table.ptr && st->merged && st->merged[i])
				continue;
			if (found++)
				return 2;
			*table = t;
			*column = i;
		}
	}
	return found;
}

static bool is_column(const struct node *n, uint32_t table, uint32_t column)
{
	return n->fn == run_own_column && n->u.at.table == table && n->u.at.column == column;
}

static struct node *find_alias(const struct scope *s, const struct sql_expr *e, bool *ambiguous)
{
	struct node *found = NULL;
	uint32_t i = 0;

	*ambiguous = false;
	if (e->u.column.table.ptr || !s->items)
		return NULL;
	for (const struct sql_item *item = s->items; item; item = item->next, i++) {
		struct span name = item->alias;

		if (!name.ptr && item->expr->kind == SQL_EXPR_COLUMN)
			name = item->expr->u.column.name;
		/* The column of a text has the text for its name. */
		if (!name.ptr && item->expr->kind == SQL_EXPR_LITERAL &&
			item->expr->u.literal.kind == SQL_LIT_STRING)
			name = item->expr->u.literal.text;
		if (!name.ptr || !span_ieq(name, e->u.column.name) || !s->item_nodes[i])
			continue;
		/* The same column twice is no matter. */
		if (found && found != s->item_nodes[i] &&
			!(found->fn == run_own_column &&
				is_column(s->item_nodes[i], found->u.at.table, found->u.at.column)))
			*ambiguous = true;
		found = s->item_nodes[i];
	}
	return found;
}

/* A text of a derived table is still as weak as the expression that it comes from, and x'41' a number where the table is
 * merged into the query. */
static struct node *known_column(struct compiler *c, const struct scope *s, const struct sql_expr *e,
	uint32_t depth, uint32_t table, uint32_t column)
{
	const struct eval_type *type = &s->tables[table].types[column];
	struct node *n = node_column(c, e, depth, table, column, type);

	if (!s->tables[table].base && type->kind == EVAL_T_STRING) {
		n->computed = type->coercibility != n->type.coercibility;
		if (type->coercibility == COERCIBLE_NONE)
			n->type.coercibility = COERCIBLE_NONE;
		n->type.text_only |= type->hybrid;
		n->type.hybrid = false;
	}
	return n;
}

struct node *compile_column(struct compiler *c, const struct sql_expr *e)
{
	uint32_t depth = 0, table = 0, column = 0;
	struct node *local;
	bool ambiguous;

	if (e->negated)
		return compile_gives_up(c, LIMIT_EXPRESSION_NOT_MODELLED);
	local = compile_local(c, e);
	if (local)
		return local;
	for (struct scope *s = c->scope; s; s = s->outer, depth++) {
		int found;
		struct node *alias;

		found = find_in_scope(c, s, e, &table, &column);
		if (depth == 0 && s->alias_first && (alias = find_alias(s, e, &ambiguous))) {
			return alias_or_column_refused(c,
				       ambiguous || (found && !is_column(alias, table, column)))
				       ? NULL
				       : alias;
		}
		if (found == 2)
			return compile_error(c, ER_NON_UNIQ_ERROR, "a column name that two tables have");
		if (found) {
			struct scope *inner = c->scope;

			for (uint32_t i = 0; i < depth; i++, inner = inner->outer) {
				const struct eval_type *t = &s->tables[table].types[column];

				if (inner->outer_reach < depth - i)
					inner->outer_reach = depth - i;
				inner->outer_text += type_is_string(t) &&
						     t->collation != COLLATION_BINARY;
			}
			return known_column(c, s, e, depth, table, column);
		}
		if (depth == 0 && s->alias_last && (alias = find_alias(s, e, &ambiguous))) {
			return ambiguous_alias_refused(c, ambiguous) ? NULL : alias;
		}
		if (outer_alias_refused(c, depth > 0 && find_alias(s, e, &ambiguous)))
			return NULL;
	}
	return compile_error(c, ER_BAD_FIELD_ERROR, "unknown column");
}
