/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FROM compiled: tables, joins, USING; and joins of which servers lose rows. */
#include "eval/limits/guards.h"
#include "eval/query/query.h"

#include "eval/operator/comparison.h"
#include "server/errors.h"

struct from_state {
	struct compiler *c;
	struct eval_query *q;
	struct scope *scope;
	const struct cte *ctes;
};

static uint32_t count_tables(const struct sql_table_ref *ref)
{
	uint32_t count = 0;

	for (; ref; ref = ref->next) {
		if (ref->kind == SQL_TABLE_JOIN) {
			count += count_tables(ref->u.join.left) + count_tables(ref->u.join.right);
		} else if (ref->kind == SQL_TABLE_NEST) {
			count += count_tables(ref->u.nest);
		} else {
			count++;
		}
	}
	return count;
}

static struct join_tree *join_leaf(struct from_state *s, uint32_t table)
{
	struct join_tree *j = arena_zero(s->c->arena, sizeof(*j));

	j->kind = JOIN_TABLE;
	j->table = table;
	return j;
}

static struct join_tree *add_table(
	struct from_state *s, struct span db, struct span alias, const struct from_table *from)
{
	uint32_t number = s->q->table_count++;
	struct scope_table *t = &s->scope->tables[number];

	for (uint32_t i = 0; i < number; i++) {
		if (eval_same_name(s->c->env, s->scope->tables[i].alias, alias) &&
			(from->derived || s->q->tables[i].derived || !db.ptr ||
				!s->scope->tables[i].db.ptr ||
				eval_same_name(s->c->env, s->scope->tables[i].db, db))) {
			compile_error(s->c, ER_NONUNIQ_TABLE, "two tables of one name");
			return NULL;
		}
	}
	s->q->tables[number] = *from;
	s->scope->table_count = s->q->table_count;
	t->db = db;
	t->alias = alias;
	t->base = from->base;
	if (from->base) {
		t->column_count = from->base->column_count;
		scope_table_columns(s->c, t, from->base);
	} else {
		const struct eval_query *made = from->cte ? from->cte->start : from->derived;

		t->column_count = made->column_count;
		t->names = made->names;
		t->types = made->types;
	}
	t->merged = arena_zero(s->c->arena, t->column_count + 1);
	return join_leaf(s, number);
}

static struct join_tree *from_name(struct from_state *s, const struct sql_table_ref *ref)
{
	const struct sql_table_name *name = &ref->u.name.table;
	const struct cte *cte = find_cte(s->ctes, name);
	struct from_table from = {.ref = ref};
	struct span alias = ref->alias.ptr ? ref->alias : name->name;

	if (table_name_refused(s->c, ref))
		return NULL;
	if (cte) {
		if (!cte->query && !cte->start)
			return compile_gives_up(s->c, LIMIT_RECURSIVE_CTE_OF_ANOTHER_FORM);
		from.derived = cte->query;
		from.cte = cte->query ? NULL : (struct cte *)(uintptr_t)cte;
		from.ref = NULL;
		return add_table(s, SPAN_NONE, alias, &from);
	}
	from.base = s->c->source ? s->c->source->table(s->c->source->ctx, name) : NULL;
	if (!from.base)
		return (struct join_tree *)compile_error(s->c, ER_NO_SUCH_TABLE, "no such table");
	return add_table(s, name->db.ptr ? name->db : from.base->db, alias, &from);
}

static struct join_tree *from_ref(struct from_state *s, const struct sql_table_ref *ref);

uint32_t find_column(const struct scope_table *t, struct span name)
{
	for (uint32_t i = 0; i < t->column_count; i++) {
		if (span_ieq(t->names[i], name))
			return i;
	}
	return UINT32_MAX;
}

/* The one column of that name among tables [from, to); 0 none, 1 found, 2 several. */
static int find_among(const struct scope *scope, uint32_t from, uint32_t to, struct span name,
	uint32_t *table, uint32_t *column)
{
	int found = 0;

	for (uint32_t t = from; t < to; t++) {
		uint32_t i = find_column(&scope->tables[t], name);

		if (i == UINT32_MAX || scope->tables[t].merged[i])
			continue;
		found++;
		*table = t;
		*column = i;
	}
	return found;
}

static bool merge_column(struct from_state *s, struct join_tree *j, bool right_join, uint32_t from,
	uint32_t middle, uint32_t to, struct span name, bool natural)
{
	uint32_t lt = 0, lc = 0, rt = 0, rc = 0;
	int l = find_among(s->scope, from, middle, name, &lt, &lc);
	int r = find_among(s->scope, middle, to, name, &rt, &rc);
	struct node *a, *b;

	if (natural && (l == 0 || r == 0))
		return true;
	if (l == 0 || r == 0) {
		compile_error(s->c, ER_BAD_FIELD_ERROR, "unknown column in USING");
		return false;
	}
	if (l > 1 || r > 1) {
		compile_error(s->c, ER_NON_UNIQ_ERROR, "a column of USING that two tables have");
		return false;
	}
	a = node_column(s->c, NULL, 0, lt, lc, &s->scope->tables[lt].types[lc]);
	b = node_column(s->c, NULL, 0, rt, rc, &s->scope->tables[rt].types[rc]);
	j->equal[j->equal_count] = compile_compare(s->c, NULL, SQL_OP_EQ, a, b);
	if (!j->equal[j->equal_count])
		return false;
	j->equal_count++;
	if (right_join)
		s->scope->tables[lt].merged[lc] = true;
	else
		s->scope->tables[rt].merged[rc] = true;
	return true;
}

static bool merge_columns(struct from_state *s, const struct sql_table_ref *ref,
	struct join_tree *j, uint32_t from, uint32_t middle)
{
	uint32_t to = s->q->table_count, most = 0;
	bool right = ref->u.join.join == SQL_JOIN_RIGHT;

	for (const struct sql_names *n = ref->u.join.using_columns; n; n = n->next)
		most++;
	for (uint32_t t = from; t < middle && ref->u.join.natural; t++)
		most += s->scope->tables[t].column_count;
	j->equal = arena_zero(s->c->arena, (most + 1) * sizeof(struct node *));
	for (const struct sql_names *n = ref->u.join.using_columns; n; n = n->next) {
		if (!merge_column(s, j, right, from, middle, to, n->name, false))
			return false;
	}
	if (ref->u.join.natural) {
		for (uint32_t t = from; t < middle; t++) {
			const struct scope_table *st = &s->scope->tables[t];

			for (uint32_t i = 0; i < st->column_count; i++) {
				if (st->merged[i])
					continue;
				if (st->base && st->base->columns[i].invisible)
					continue;
				if (!merge_column(
					    s, j, right, from, middle, to, st->names[i], true))
					return false;
			}
		}
	}
	return true;
}

static struct join_tree *from_join(struct from_state *s, const struct sql_table_ref *ref)
{
	struct join_tree *j = arena_zero(s->c->arena, sizeof(*j)), *l, *r;
	uint32_t from = s->q->table_count, middle;
	bool outer = ref->u.join.join == SQL_JOIN_LEFT || ref->u.join.join == SQL_JOIN_RIGHT;

	l = from_ref(s, ref->u.join.left);
	middle = s->q->table_count;
	r = l ? from_ref(s, ref->u.join.right) : NULL;
	if (!r)
		return NULL;
	j->kind = outer ? JOIN_LEFT : JOIN_INNER;
	j->left = ref->u.join.join == SQL_JOIN_RIGHT ? r : l;
	j->right = ref->u.join.join == SQL_JOIN_RIGHT ? l : r;
	if ((ref->u.join.natural || ref->u.join.using_columns) &&
		!merge_columns(s, ref, j, from, middle))
		return NULL;
	if (ref->u.join.on) {
		struct scope *saved = s->c->scope;

		s->c->scope = s->scope;
		s->scope->first_table = from;
		j->on = compile_condition(s->c, ref->u.join.on);
		s->scope->first_table = 0;
		s->c->scope = saved;
		if (!j->on)
			return NULL;
		if (outer && outer_join_refused(s->c, ref->u.join.on, j->on))
			return NULL;
	}
	return j;
}

static struct join_tree *from_list(struct from_state *s, const struct sql_table_ref *ref)
{
	struct join_tree *all = NULL;

	for (; ref; ref = ref->next) {
		struct join_tree *one = from_ref(s, ref);

		if (!one)
			return NULL;
		if (all) {
			struct join_tree *j = arena_zero(s->c->arena, sizeof(*j));

			j->kind = JOIN_INNER;
			j->left = all;
			j->right = one;
			all = j;
		} else {
			all = one;
		}
	}
	return all;
}

static struct join_tree *from_ref(struct from_state *s, const struct sql_table_ref *ref)
{
	struct from_table from = {0};

	if (s->c->failed)
		return NULL;
	switch (ref->kind) {
	case SQL_TABLE_NAME:
		return from_name(s, ref);
	case SQL_TABLE_DERIVED:
		if (derived_table_refused(s->c, ref))
			return NULL;
		/* A derived table sees nothing of the queries around it but, in MySQL, columns
		 * of the outer query; that is left out. */
		from.derived = compile_query(s->c, ref->u.derived.query, NULL, s->ctes);
		if (!from.derived || !rename_columns(s->c, from.derived, ref->u.derived.columns))
			return NULL;
		if (!settle_columns(s->c, from.derived, ref->u.derived.stored))
			return NULL;
		return add_table(s, SPAN_NONE, ref->alias, &from);
	case SQL_TABLE_JOIN:
		return from_join(s, ref);
	case SQL_TABLE_NEST:
		return from_list(s, ref->u.nest);
	case SQL_TABLE_FUNC:
		return compile_gives_up(s->c, LIMIT_JSON_TABLE);
	}
	return NULL;
}

bool compile_from(struct compiler *c, struct eval_query *q, const struct sql_table_ref *from,
	struct scope *scope, const struct cte *ctes)
{
	uint32_t count = count_tables(from);
	struct from_state s = {.c = c, .q = q, .scope = scope, .ctes = ctes};

	q->tables = arena_zero(c->arena, (count + 1) * sizeof(*q->tables));
	scope->tables = arena_zero(c->arena, (count + 1) * sizeof(*scope->tables));
	q->scope_tables = scope->tables;
	q->from = from ? from_list(&s, from) : NULL;
	return !c->failed;
}
