/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which primary keys a WHERE clause allows, where its text says so: `id = 5`, `id IN (1, 2)`,
 * `id BETWEEN 10 AND 109`, alone or joined by AND with anything.  Only to look at fewer rows: the
 * clause is still evaluated on those.
 */
#include "mvcc/solver.h"

enum { POINTS_MAX = 1000 };

struct points {
	int64_t low, high; /* a range; list NULL */
	const int64_t *list;
	uint32_t count;
	bool all; /* WHERE says nothing else */
};

static bool is_key(const struct sql_expr *e, const struct eval_column *key)
{
	return e->kind == SQL_EXPR_COLUMN && !e->negated && span_ieq(e->u.column.name, key->name);
}

static bool integer(const struct sql_expr *e, int64_t *out)
{
	int64_t value = 0;

	if (e->kind != SQL_EXPR_LITERAL || e->u.literal.kind != SQL_LIT_INT ||
		e->u.literal.text.len > 18)
		return false;
	for (size_t i = 0; i < e->u.literal.text.len; i++) {
		char c = e->u.literal.text.ptr[i];

		if (c < '0' || c > '9')
			return false;
		value = value * 10 + (c - '0');
	}
	*out = value;
	return true;
}

static bool list_of(struct arena *arena, const struct sql_expr *e, struct points *out)
{
	int64_t *list = arena_alloc(arena, (e->u.in.list.count + 1) * sizeof(*list));
	uint32_t count = 0;

	for (const struct sql_expr *v = e->u.in.list.first; v; v = v->next) {
		bool there = false;

		if (count == POINTS_MAX || !integer(v, &list[count]))
			return false;
		for (uint32_t i = 0; i < count && !there; i++)
			there = list[i] == list[count];
		count += !there;
	}
	*out = (struct points){.list = list, .count = count};
	return true;
}

static bool points_of(struct arena *arena, const struct sql_expr *e, const struct eval_column *key,
	struct points *out)
{
	int64_t low, high;

	switch (e->kind) {
	case SQL_EXPR_BINARY:
		if (e->op == SQL_OP_AND)
			return points_of(arena, e->u.binary.left, key, out) ||
			       points_of(arena, e->u.binary.right, key, out);
		if (e->op != SQL_OP_EQ || !is_key(e->u.binary.left, key) ||
			!integer(e->u.binary.right, &low))
			return false;
		*out = (struct points){.low = low, .high = low};
		return true;
	case SQL_EXPR_IN:
		return !e->negated && !e->u.in.query && is_key(e->u.in.left, key) &&
		       list_of(arena, e, out);
	case SQL_EXPR_BETWEEN:
		if (e->negated || !is_key(e->u.between.left, key) ||
			!integer(e->u.between.low, &low) || !integer(e->u.between.high, &high) ||
			high - low >= POINTS_MAX)
			return false;
		*out = (struct points){.low = low, .high = high};
		return true;
	}
	return false;
}

void plan_points(struct mvcc *m, struct plan *plan, const struct sql_expr *where)
{
	const struct store_table *table = &m->store.tables[plan->tables[0]];
	const struct eval_column *key;
	struct points points;

	if (!where || !table->cluster || table->cluster->count != 1)
		return;
	key = &table->def->columns[table->cluster->columns[0]];
	if (key->type.kind != EVAL_T_INT || !points_of(&m->plans_arena, where, key, &points))
		return;
	points.all = !(where->kind == SQL_EXPR_BINARY && where->op == SQL_OP_AND);
	plan->reach = arena_alloc(&m->plans_arena, sizeof(*plan->reach));
	*plan->reach = points;
}

bool points_are_all(const struct points *points)
{
	return points->all;
}

static uint64_t span_of_points(const struct points *p)
{
	if (p->list)
		return p->count;
	return p->high < p->low ? 0 : (uint64_t)(p->high - p->low) + 1;
}

bool points_single(const struct points *points, int64_t *key)
{
	if (span_of_points(points) != 1)
		return false;
	*key = points->list ? points->list[0] : points->low;
	return true;
}

static void set_key(const struct store_table *table, const struct points *p, uint64_t i,
	struct eval_value *row)
{
	uint32_t column = table->cluster->columns[0];
	int64_t key = p->list ? p->list[i] : p->low + (int64_t)i;

	row[column] = table->def->columns[column].type.is_unsigned ? eval_uint((uint64_t)key)
								   : eval_int(key);
}

bool points_key(struct mvcc *m, const struct store_table *table, const struct points *points,
	uint64_t number, struct eval_value **row)
{
	if (number >= span_of_points(points))
		return false;
	if (!*row)
		*row = arena_zero(&m->scratch, table->def->column_count * sizeof(**row));
	set_key(table, points, number, *row);
	return true;
}

size_t point_records(struct mvcc *m, struct store_table *table, struct store_record ***out)
{
	const struct points *p = m->now_plan->points;
	struct eval_value *probe =
		arena_zero(&m->scratch, table->def->column_count * sizeof(*probe));
	uint64_t span = span_of_points(p);
	size_t count = 0;

	*out = arena_alloc(&m->scratch, (span + 1) * sizeof(**out));
	for (uint64_t i = 0; i < span; i++) {
		struct store_record *record;

		set_key(table, p, i, probe);
		record = store_find(&m->store, table, probe);
		if (record)
			(*out)[count++] = record;
	}
	return count;
}
