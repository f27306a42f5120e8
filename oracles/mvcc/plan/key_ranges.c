/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which primary keys a WHERE clause allows, where its text says so: `id = 5`, `id IN (1, 2)`,
 * `id BETWEEN 10 AND 109`, alone or joined by AND with anything (of a key of several columns: `a = 5 AND b = 6`); and
 * which values of an integer column, also joined by OR.  Only to look at fewer rows: the clause is still evaluated on those.
 */
#include "mvcc/plan/key_ranges.h"

#include <stddef.h>
#include <string.h>

#include "mvcc/solver.h"

enum { POINTS_MAX = 1000, RANGES_MAX = 64, RANGES_FROM_ROWS = 500 };

struct ranges {
	uint32_t column, count;
	struct {
		int64_t low, high;
	} list[RANGES_MAX];
};

struct key_set {
	int64_t low, high; /* a range; list NULL */
	const int64_t *list;
	uint32_t count;
	const int64_t *tuple; /* instead: of each column of the key */
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

static bool list_of(struct arena *arena, const struct sql_expr *e, struct key_set *out)
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
	*out = (struct key_set){.list = list, .count = count};
	return true;
}

static bool key_set_of(struct arena *arena, const struct sql_expr *e, const struct eval_column *key,
	struct key_set *out)
{
	int64_t low, high;

	switch (e->kind) {
	case SQL_EXPR_BINARY:
		if (e->op == SQL_OP_AND)
			return key_set_of(arena, e->u.binary.left, key, out) ||
			       key_set_of(arena, e->u.binary.right, key, out);
		if (e->op != SQL_OP_EQ || !is_key(e->u.binary.left, key) ||
			!integer(e->u.binary.right, &low))
			return false;
		*out = (struct key_set){.low = low, .high = low};
		return true;
	case SQL_EXPR_IN:
		return !e->negated && !e->u.in.query && is_key(e->u.in.left, key) &&
		       list_of(arena, e, out);
	case SQL_EXPR_BETWEEN:
		if (e->negated || !is_key(e->u.between.left, key) ||
			!integer(e->u.between.low, &low) || !integer(e->u.between.high, &high) ||
			high - low >= POINTS_MAX)
			return false;
		*out = (struct key_set){.low = low, .high = high};
		return true;
	}
	return false;
}

/* Finds the columns of the key that equal a number; counts the conditions that AND joins. */
static uint32_t tuple_of(const struct sql_expr *e, const struct store_table *table, int64_t *tuple, bool *there)
{
	if (e->kind == SQL_EXPR_BINARY && e->op == SQL_OP_AND)
		return tuple_of(e->u.binary.left, table, tuple, there) +
		       tuple_of(e->u.binary.right, table, tuple, there);
	for (uint32_t i = 0; e->kind == SQL_EXPR_BINARY && e->op == SQL_OP_EQ && i < table->cluster->count; i++) {
		int64_t value;

		if (!there[i] && is_key(e->u.binary.left, &table->def->columns[table->cluster->columns[i]]) &&
			integer(e->u.binary.right, &value)) {
			tuple[i] = value;
			there[i] = true;
			break;
		}
	}
	return 1;
}

static void plan_tuple(struct mvcc *m, struct plan *plan, const struct store_table *table, const struct sql_expr *where)
{
	uint32_t count = table->cluster->count, conditions;
	int64_t *tuple = arena_zero(&m->catalog.arena, count * sizeof(*tuple));
	bool *there = arena_zero(&m->catalog.arena, count * sizeof(*there));

	for (uint32_t i = 0; i < count; i++) {
		if (table->cluster->columns[i] == UINT32_MAX ||
			table->def->columns[table->cluster->columns[i]].type.kind != EVAL_T_INT)
			return;
	}
	conditions = tuple_of(where, table, tuple, there);
	for (uint32_t i = 0; i < count; i++) {
		if (!there[i])
			return;
	}
	plan->reach = arena_alloc(&m->catalog.arena, sizeof(*plan->reach));
	*plan->reach = (struct key_set){.tuple = tuple, .all = conditions == count};
}

void plan_key_set(struct mvcc *m, struct plan *plan, const struct sql_expr *where)
{
	const struct store_table *table = &m->store.tables[plan->tables[0]];
	const struct eval_column *key;
	struct key_set key_set;

	/* In a stored program the name of a column may be a variable's. */
	if (!where || m->now.env.locals || !table->cluster || key_is_partial(table->cluster))
		return;
	if (table->cluster->count != 1) {
		plan_tuple(m, plan, table, where);
		return;
	}
	key = &table->def->columns[table->cluster->columns[0]];
	if (key->type.kind != EVAL_T_INT || !key_set_of(&m->catalog.arena, where, key, &key_set))
		return;
	key_set.all = !(where->kind == SQL_EXPR_BINARY && where->op == SQL_OP_AND);
	plan->reach = arena_alloc(&m->catalog.arena, sizeof(*plan->reach));
	*plan->reach = key_set;
}

static bool add_range(struct ranges *r, const struct eval_table *def, const struct sql_expr *column,
	int64_t low, int64_t high)
{
	uint32_t number = column->kind == SQL_EXPR_COLUMN && !column->negated
				  ? eval_table_column(def, column->u.column.name)
				  : UINT32_MAX;

	if (number == UINT32_MAX || def->columns[number].type.kind != EVAL_T_INT ||
		(r->count && number != r->column) || r->count == RANGES_MAX)
		return false;
	r->column = number;
	r->list[r->count].low = low;
	r->list[r->count++].high = high;
	return true;
}

static bool range_of_comparison(
	struct ranges *r, const struct eval_table *def, const struct sql_expr *e)
{
	int64_t value;

	if (!integer(e->u.binary.right, &value))
		return false;
	switch (e->op) {
	case SQL_OP_EQ:
		return add_range(r, def, e->u.binary.left, value, value);
	case SQL_OP_LT:
	case SQL_OP_LE:
		return add_range(r, def, e->u.binary.left, INT64_MIN, value);
	case SQL_OP_GT:
	case SQL_OP_GE:
		return add_range(r, def, e->u.binary.left, value, INT64_MAX);
	default:
		return false;
	}
}

/* Outside of these ranges the clause is not true. */
static bool ranges_of(struct ranges *r, const struct eval_table *def, const struct sql_expr *e)
{
	uint32_t count = r->count, column = r->column;
	int64_t low, high;

	switch (e->kind) {
	case SQL_EXPR_BINARY:
		if (e->op == SQL_OP_OR)
			return ranges_of(r, def, e->u.binary.left) &&
			       ranges_of(r, def, e->u.binary.right);
		if (e->op != SQL_OP_AND)
			return range_of_comparison(r, def, e);
		if (ranges_of(r, def, e->u.binary.left))
			return true;
		r->count = count;
		r->column = column;
		return ranges_of(r, def, e->u.binary.right);
	case SQL_EXPR_IN:
		if (e->negated || e->u.in.query)
			return false;
		for (const struct sql_expr *v = e->u.in.list.first; v; v = v->next) {
			if (!integer(v, &low) || !add_range(r, def, e->u.in.left, low, low))
				return false;
		}
		return true;
	case SQL_EXPR_BETWEEN:
		return !e->negated && integer(e->u.between.low, &low) &&
		       integer(e->u.between.high, &high) &&
		       add_range(r, def, e->u.between.left, low, high);
	}
	return false;
}

void plan_ranges(struct mvcc *m, struct plan *plan, const struct sql_expr *where)
{
	struct ranges ranges, *made;
	size_t size;

	ranges.count = ranges.column = 0;
	if (!where || m->now.env.locals || !ranges_of(&ranges, m->store.tables[plan->tables[0]].def, where))
		return;
	/* As many as there are: a plan is made for each text. */
	size = offsetof(struct ranges, list) + ranges.count * sizeof(ranges.list[0]);
	made = arena_alloc(&m->catalog.arena, size);
	memcpy(made, &ranges, size);
	plan->ranges = made;
}

const struct ranges *ranges_for(const struct mvcc *m, const struct store_table *table)
{
	return table->count >= RANGES_FROM_ROWS &&
			       table == &m->store.tables[m->now.plan->tables[0]]
		       ? m->now.plan->ranges
		       : NULL;
}

bool ranges_allow(const struct ranges *r, const struct eval_value *row)
{
	const struct eval_value *v = &row[r->column];

	if (v->kind != EVAL_INT && v->kind != EVAL_UINT)
		return v->kind != EVAL_NULL;
	for (uint32_t i = 0; i < r->count; i++) {
		if (v->kind == EVAL_UINT && v->u > INT64_MAX ? r->list[i].high == INT64_MAX
			    : v->i >= r->list[i].low && v->i <= r->list[i].high)
			return true;
	}
	return false;
}

bool key_set_is_all(const struct key_set *key_set)
{
	return key_set->all;
}

static uint64_t span_of_points(const struct key_set *p)
{
	if (p->tuple)
		return 1;
	if (p->list)
		return p->count;
	return p->high < p->low ? 0 : (uint64_t)(p->high - p->low) + 1;
}

uint64_t key_set_size(const struct key_set *key_set)
{
	return span_of_points(key_set);
}

bool key_set_single(const struct key_set *key_set, int64_t *key)
{
	if (key_set->tuple || span_of_points(key_set) != 1)
		return false;
	*key = key_set->list ? key_set->list[0] : key_set->low;
	return true;
}

static void set_key(const struct store_table *table, const struct key_set *p, uint64_t i,
	struct eval_value *row)
{
	for (uint32_t c = 0; c < table->cluster->count; c++) {
		uint32_t column = table->cluster->columns[c];
		int64_t key = p->tuple ? p->tuple[c] : p->list ? p->list[i] : p->low + (int64_t)i;

		row[column] = table->def->columns[column].type.is_unsigned ? eval_uint((uint64_t)key)
									   : eval_int(key);
	}
}

bool key_set_key(struct mvcc *m, const struct store_table *table, const struct key_set *key_set,
	uint64_t number, struct eval_value **row)
{
	if (number >= span_of_points(key_set))
		return false;
	if (!*row)
		*row = arena_zero(&m->scratch, table->def->column_count * sizeof(**row));
	set_key(table, key_set, number, *row);
	return true;
}

size_t key_set_records(struct mvcc *m, struct store_table *table, struct store_record ***out)
{
	const struct key_set *p = m->now.plan->key_set;
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
