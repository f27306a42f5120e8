/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rows a statement need look at: those for which `column = literal`, `column = column of a table before it` and
 * bounds of an integer column can be true, where an index of the table begins with these columns.  Other rows do not match
 * whatever the rest of the condition says.  Like key_ranges.h only to look at fewer rows: the clause is still evaluated on
 * those.
 *
 * Integers are compared with integer columns as numbers.  A text literal of ASCII is compared with a column of texts under
 * the column's collation (MySQL manual, "Collation Coercibility in Expressions"), which is how the path has it, too.
 */
#include "mvcc/plan/lookups.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "eval/value/collation.h"
#include "mvcc/solver.h"
#include "mvcc/store/access_path.h"

enum { FACTS_MAX = 32, REFS_MAX = 8, COMBINATIONS_MAX = 10000, RANGE_MAX = 1000 };

/* What is known of a column of one of the tables. */
struct fact {
	uint32_t ref, column;
	bool has_value, has_low, has_high;
	struct eval_value value;
	int64_t low, high;
};

struct facts {
	struct mvcc *m;
	const struct sql_table_ref *refs[REFS_MAX];
	uint32_t tables[REFS_MAX]; /* numbers */
	uint32_t ref_count;
	struct fact list[FACTS_MAX];
	uint32_t count;
	struct {
		uint32_t a, b; /* of the list */
	} equal[FACTS_MAX];
	uint32_t equal_count;
};

enum part_kind { PART_VALUE, PART_RANGE, PART_COLUMN };

struct lookup_part {
	enum part_kind kind;
	uint32_t column;
	struct eval_value value;
	int64_t low, high;
	uint32_t table, from; /* PART_COLUMN: number and column of the other table */
};

struct lookup {
	const struct lookup *next;
	uint32_t table;
	const struct store_path *path;
	uint32_t count;
	struct lookup_part parts[PATH_COLUMNS_MAX];
};

static const struct eval_table *def_of(const struct facts *f, uint32_t ref)
{
	return f->m->store.tables[f->tables[ref]].def;
}

/* ---- conditions ---- */

static struct fact *fact_of(struct facts *f, const struct sql_expr *e)
{
	uint32_t ref = UINT32_MAX, column = UINT32_MAX;

	if (e->kind != SQL_EXPR_COLUMN || e->negated || e->u.column.db.ptr)
		return NULL;
	for (uint32_t i = 0; i < f->ref_count; i++) {
		struct span name = f->refs[i]->alias.ptr ? f->refs[i]->alias : f->refs[i]->u.name.table.name;
		uint32_t found = eval_table_column(def_of(f, i), e->u.column.name);

		if (found == UINT32_MAX || (e->u.column.table.ptr && !span_eq(e->u.column.table, name)))
			continue;
		if (ref != UINT32_MAX)
			return NULL; /* of two tables */
		ref = i;
		column = found;
	}
	for (uint32_t i = 0; i < f->count; i++) {
		if (f->list[i].ref == ref && f->list[i].column == column)
			return &f->list[i];
	}
	if (ref == UINT32_MAX || f->count == FACTS_MAX)
		return NULL;
	f->list[f->count] = (struct fact){.ref = ref, .column = column};
	return &f->list[f->count++];
}

static bool integer(const struct sql_expr *e, int64_t *out)
{
	*out = 0;
	if (e->kind != SQL_EXPR_LITERAL || e->u.literal.kind != SQL_LIT_INT || e->u.literal.text.len > 18)
		return false;
	for (size_t i = 0; i < e->u.literal.text.len; i++)
		*out = *out * 10 + (e->u.literal.text.ptr[i] - '0');
	return true;
}

static struct eval_value integer_of(const struct eval_type *type, int64_t i)
{
	return type->is_unsigned ? eval_uint((uint64_t)i) : eval_int(i);
}

static const struct eval_type *type_of(const struct facts *f, const struct fact *fact)
{
	return &def_of(f, fact->ref)->columns[fact->column].type;
}

static bool has_ascii(enum charset charset)
{
	return charset == CHARSET_UTF8MB4 || charset == CHARSET_UTF8MB3 || charset == CHARSET_LATIN1 || charset == CHARSET_ASCII;
}

static void take_equal(struct facts *f, const struct sql_expr *column, const struct sql_expr *value)
{
	struct fact *a = fact_of(f, column), *b;
	const struct eval_type *type = a ? type_of(f, a) : NULL;
	int64_t i;

	if (!a)
		return;
	if (value->kind == SQL_EXPR_COLUMN) {
		b = fact_of(f, value);
		if (!b || type->kind != EVAL_T_INT || type_of(f, b)->kind != EVAL_T_INT || f->equal_count == FACTS_MAX)
			return;
		f->equal[f->equal_count].a = (uint32_t)(a - f->list);
		f->equal[f->equal_count++].b = (uint32_t)(b - f->list);
	} else if (type->kind == EVAL_T_INT && integer(value, &i)) {
		a->has_value = true;
		a->value = integer_of(type, i);
	} else if (type->kind == EVAL_T_STRING && has_ascii(collation_charset(type->collation)) &&
		   value->kind == SQL_EXPR_LITERAL && value->u.literal.kind == SQL_LIT_STRING &&
		   !value->u.literal.charset.ptr && text_is_ascii(value->u.literal.text)) {
		a->has_value = true;
		a->value = eval_string(value->u.literal.text, type->collation);
	}
}

static void take_low(struct facts *f, const struct sql_expr *column, int64_t low)
{
	struct fact *a = fact_of(f, column);

	if (!a || type_of(f, a)->kind != EVAL_T_INT || (a->has_low && a->low >= low))
		return;
	a->has_low = true;
	a->low = low;
}

static void take_high(struct facts *f, const struct sql_expr *column, int64_t high)
{
	struct fact *a = fact_of(f, column);

	if (!a || type_of(f, a)->kind != EVAL_T_INT || (a->has_high && a->high <= high))
		return;
	a->has_high = true;
	a->high = high;
}

/* What AND joins must each be true. */
static void take_condition(struct facts *f, const struct sql_expr *e)
{
	int64_t i;

	if (e->kind == SQL_EXPR_BETWEEN && !e->negated) {
		if (integer(e->u.between.low, &i))
			take_low(f, e->u.between.left, i);
		if (integer(e->u.between.high, &i))
			take_high(f, e->u.between.left, i);
	}
	if (e->kind != SQL_EXPR_BINARY)
		return;
	switch (e->op) {
	case SQL_OP_AND:
		take_condition(f, e->u.binary.left);
		take_condition(f, e->u.binary.right);
		break;
	case SQL_OP_EQ:
		take_equal(f, e->u.binary.left, e->u.binary.right);
		if (e->u.binary.right->kind == SQL_EXPR_COLUMN && e->u.binary.left->kind != SQL_EXPR_COLUMN)
			take_equal(f, e->u.binary.right, e->u.binary.left);
		break;
	case SQL_OP_LT:
	case SQL_OP_LE:
		if (integer(e->u.binary.right, &i))
			take_high(f, e->u.binary.left, i);
		break;
	case SQL_OP_GT:
	case SQL_OP_GE:
		if (integer(e->u.binary.right, &i))
			take_low(f, e->u.binary.left, i);
		break;
	default:
		break;
	}
}

/* Integer columns that equal one whose value is known. */
static void spread_values(struct facts *f)
{
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < f->equal_count; i++) {
			struct fact *a = &f->list[f->equal[i].a], *b = &f->list[f->equal[i].b];

			if (a->has_value == b->has_value)
				continue;
			more = true;
			if (a->has_value)
				b->value = integer_of(type_of(f, b), a->value.i);
			else
				a->value = integer_of(type_of(f, a), b->value.i);
			a->has_value = b->has_value = true;
		}
	}
}

/* ---- plans ---- */

static const struct fact *known_of(const struct facts *f, uint32_t ref, uint32_t column)
{
	for (uint32_t i = 0; i < f->count; i++) {
		if (f->list[i].ref == ref && f->list[i].column == column)
			return &f->list[i];
	}
	return NULL;
}

/* A column of a table that is read before which it equals. */
static const struct fact *equal_before(const struct facts *f, const struct fact *fact)
{
	for (uint32_t i = 0; i < f->equal_count; i++) {
		const struct fact *a = &f->list[f->equal[i].a], *b = &f->list[f->equal[i].b];

		if (a == fact && b->ref < fact->ref)
			return b;
		if (b == fact && a->ref < fact->ref)
			return a;
	}
	return NULL;
}

/* False: nothing that could be looked up is known of the column. */
static bool part_of(const struct facts *f, const struct fact *fact, struct lookup_part *part)
{
	const struct fact *other;

	if (!fact)
		return false;
	*part = (struct lookup_part){.kind = PART_VALUE, .column = fact->column, .value = fact->value};
	if (fact->has_value)
		return true;
	other = equal_before(f, fact);
	if (other) {
		part->kind = PART_COLUMN;
		part->table = f->tables[other->ref];
		part->from = other->column;
		return true;
	}
	part->kind = PART_RANGE;
	part->low = fact->low;
	part->high = fact->high;
	return fact->has_low && fact->has_high && fact->high >= fact->low && fact->high - fact->low < RANGE_MAX;
}

/* By the index of which the most columns are known from its beginning on. */
static void plan_lookup(struct facts *f, struct plan *plan, uint32_t ref)
{
	struct store_table *table = &f->m->store.tables[f->tables[ref]];
	struct lookup best = {.table = f->tables[ref]}, *made;
	uint32_t columns[PATH_COLUMNS_MAX];
	const struct store_path *path;
	size_t size;

	for (uint32_t i = 0; i < table->def->index_count; i++) {
		const struct eval_index *index = &table->def->indexes[i];
		struct lookup found = {.table = f->tables[ref]};

		while (found.count < index->count && found.count < PATH_COLUMNS_MAX) {
			uint32_t column = index->columns[found.count];

			if (column == UINT32_MAX || index->lengths[found.count] ||
				!part_of(f, known_of(f, ref, column), &found.parts[found.count]))
				break;
			if (found.parts[found.count++].kind == PART_RANGE)
				break;
		}
		if (found.count > best.count)
			best = found;
	}
	if (!best.count)
		return;
	for (uint32_t i = 0; i < best.count; i++)
		columns[i] = best.parts[i].column;
	path = store_path(&f->m->store, table, columns, best.count);
	if (!path)
		return;
	size = offsetof(struct lookup, parts) + best.count * sizeof(best.parts[0]);
	made = arena_alloc(&f->m->catalog.arena, size);
	memcpy(made, &best, size);
	made->path = path;
	made->next = plan->lookups;
	plan->lookups = made;
}

static void plan_all(struct facts *f, struct plan *plan)
{
	spread_values(f);
	for (uint32_t i = 0; i < f->ref_count; i++)
		plan_lookup(f, plan, i);
}

/* The tables of FROM and the conditions of its joins; false: there is more to it. */
static bool take_refs(struct facts *f, const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		const struct sql_table_name *name = &ref->u.name.table;
		uint32_t table;

		if (ref->kind == SQL_TABLE_JOIN) {
			if (ref->u.join.natural || ref->u.join.using_columns || ref->u.join.join == SQL_JOIN_LEFT ||
				ref->u.join.join == SQL_JOIN_RIGHT || !take_refs(f, ref->u.join.left) ||
				!take_refs(f, ref->u.join.right))
				return false;
			continue;
		}
		if (ref->kind != SQL_TABLE_NAME || f->ref_count == REFS_MAX || ref->u.name.partitions)
			return false;
		table = table_in_sight(f->m, name->db.ptr ? name->db : f->m->now.env.database, name->name);
		if (table == STORE_NONE || !f->m->store.tables[table].def)
			return false;
		f->refs[f->ref_count] = ref;
		f->tables[f->ref_count++] = table;
	}
	return true;
}

static void take_joins(struct facts *f, const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		if (ref->kind != SQL_TABLE_JOIN)
			continue;
		take_joins(f, ref->u.join.left);
		take_joins(f, ref->u.join.right);
		if (ref->u.join.on)
			take_condition(f, ref->u.join.on);
	}
}

static bool is_twice(const struct facts *f)
{
	for (uint32_t i = 0; i < f->ref_count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (f->tables[i] == f->tables[k])
				return true;
		}
	}
	return false;
}

static bool count_query(void *ctx, const struct sql_query *query)
{
	(void)query;
	++*(unsigned *)ctx;
	return true;
}

void plan_lookups_change(struct mvcc *m, struct plan *plan, const struct sql_expr *where)
{
	const struct sql_stmt *stmt = plan->stmt;
	struct facts f = {.m = m};

	/* In a stored program the name of a column may be a variable's. */
	if (!where || m->now.env.locals || !plan->one_table)
		return;
	if (!take_refs(&f, stmt->kind == SQL_STMT_UPDATE ? stmt->u.update->tables : stmt->u.del->from) || f.ref_count != 1)
		return;
	take_condition(&f, where);
	plan_all(&f, plan);
}

void plan_lookups_query(struct mvcc *m, struct plan *plan, const struct sql_query *query)
{
	struct facts f = {.m = m};
	unsigned queries = 0;

	sql_walk_stmt(plan->stmt, &(struct sql_visitor){.query = count_query, .ctx = &queries});
	if (m->now.env.locals || query->kind != SQL_QUERY_SELECT || queries != 1 || query->with ||
		!take_refs(&f, query->u.select.from) || is_twice(&f))
		return;
	take_joins(&f, query->u.select.from);
	if (query->u.select.where)
		take_condition(&f, query->u.select.where);
	plan_all(&f, plan);
}

/* ---- looking up ---- */

struct walk {
	struct mvcc *m;
	struct store_table *table;
	const struct lookup *lookup;
	struct eval_value *row;
	struct store_record **out;
	size_t count, capacity, combinations;
	bool in_order;
};

static void take_entries(struct walk *w, uint32_t at)
{
	for (; at != MAP_NONE; at = w->lookup->path->entries[at].next) {
		struct store_record *record = w->lookup->path->entries[at].record;

		/* Records that the trail took back stay in the path. */
		if (record->seen == w->m->store.lookups || record->id >= w->table->count ||
			w->table->records[record->id] != record)
			continue;
		record->seen = w->m->store.lookups;
		if (w->count == w->capacity) {
			size_t capacity = w->capacity ? 2 * w->capacity : 16;
			struct store_record **more = arena_alloc(&w->m->scratch, capacity * sizeof(*more));

			if (w->count)
				memcpy(more, w->out, w->count * sizeof(*more));
			w->out = more;
			w->capacity = capacity;
		}
		w->in_order &= !w->count || w->out[w->count - 1]->id < record->id;
		w->out[w->count++] = record;
	}
}

static bool walk_parts(struct walk *w, uint32_t number);

static bool walk_value(struct walk *w, uint32_t number, struct eval_value value)
{
	w->row[w->lookup->parts[number].column] = value;
	return walk_parts(w, number + 1);
}

/* The values that the rows of the other table have.  False: it was not read, or they are not known. */
static bool walk_column(struct walk *w, uint32_t number)
{
	const struct lookup_part *part = &w->lookup->parts[number];
	const struct eval_type *type = &w->table->def->columns[part->column].type;
	const struct gathered *g = NULL;

	for (uint32_t i = 0; i < w->m->gathered.count; i++) {
		if (w->m->gathered.list[i].table == &w->m->store.tables[part->table])
			g = &w->m->gathered.list[i];
	}
	for (size_t i = 0; g && i < g->count; i++) {
		const struct eval_value *v = &g->rows[i][part->from];

		if (v->kind == EVAL_NULL)
			continue;
		if ((v->kind != EVAL_INT && v->kind != EVAL_UINT) || !walk_value(w, number, integer_of(type, v->i)))
			return false;
	}
	return g != NULL;
}

/* False: there are too many. */
static bool walk_parts(struct walk *w, uint32_t number)
{
	const struct lookup_part *part = &w->lookup->parts[number];
	const struct eval_type *type;
	uint64_t hash;

	if (number == w->lookup->count) {
		if (++w->combinations > COMBINATIONS_MAX)
			return false;
		if (store_path_hash(&w->m->store, w->table, w->lookup->path, w->row, &hash))
			take_entries(w, map_get(&w->lookup->path->first, hash));
		return true;
	}
	switch (part->kind) {
	case PART_VALUE:
		return walk_value(w, number, part->value);
	case PART_COLUMN:
		return walk_column(w, number);
	case PART_RANGE:
		break;
	}
	type = &w->table->def->columns[part->column].type;
	for (int64_t i = part->low; i <= part->high; i++) {
		if (!walk_value(w, number, integer_of(type, i)))
			return false;
	}
	return true;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = (*(struct store_record *const *)a)->id, y = (*(struct store_record *const *)b)->id;

	return (x > y) - (x < y);
}

bool lookup_records(struct mvcc *m, struct store_table *table, struct store_record ***out, size_t *count)
{
	uint32_t number = (uint32_t)(table - m->store.tables);
	struct walk w = {.m = m, .table = table, .lookup = m->now.plan->lookups, .in_order = true};

	while (w.lookup && w.lookup->table != number)
		w.lookup = w.lookup->next;
	if (!w.lookup)
		return false;
	m->store.lookups++;
	w.row = arena_zero(&m->scratch, table->def->column_count * sizeof(*w.row));
	if (!walk_parts(&w, 0))
		return false;
	take_entries(&w, w.lookup->path->odd);
	if (!w.in_order)
		qsort(w.out, w.count, sizeof(*w.out), by_id);
	*out = w.out;
	*count = w.count;
	return true;
}
