/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/plan/foreign_key_list.h"

#include <stdlib.h>

#include "base/mem.h"
#include "mvcc/plan/definitions.h"
#include "mvcc/plan/plan.h"
#include "mvcc/solver.h"

static bool column_list(const struct eval_table *def, const struct sql_names *names,
	uint32_t *columns, uint32_t *count)
{
	*count = 0;
	for (const struct sql_names *n = names; n; n = n->next) {
		uint32_t column = eval_table_column(def, n->name);

		if (column == UINT32_MAX || *count == FOREIGN_COLUMNS_MAX)
			return false;
		columns[(*count)++] = column;
	}
	return true;
}

static uint32_t parent_of(const struct mvcc *m, uint32_t child, const struct sql_reference *ref)
{
	return solver_table(m,
		ref->table.db.ptr ? ref->table.db
				  : m->store.tables[child].database,
		ref->table.name);
}

/* `stmt` makes it be there. */
static bool collect(struct mvcc *m, uint32_t child, const struct sql_key *key, uint32_t stmt)
{
	const struct eval_table *def = m->store.tables[child].def, *parent_def;
	const struct sql_reference *ref = key->reference;
	struct foreign f = {
		.child = child,
		.key = key,
		.on_delete = ref->on_delete,
		.on_update = ref->on_update,
		.database = m->store.tables[child].database,
		.name = key->constraint,
		.made_by = stmt,
		.ended_by = STORE_NONE,
		.alive = stmt == STORE_NONE};
	uint32_t parent_count = 0;

	f.parent = parent_of(m, child, ref);
	if (f.parent == STORE_NONE || !m->store.tables[f.parent].def)
		return false;
	parent_def = m->store.tables[f.parent].def;
	for (const struct sql_key_part *part = key->parts; part; part = part->next) {
		uint32_t column = eval_table_column(def, part->column);

		if (column == UINT32_MAX || f.count == FOREIGN_COLUMNS_MAX)
			return false;
		f.child_columns[f.count++] = column;
	}
	if (ref->columns) {
		if (!column_list(parent_def, ref->columns, f.parent_columns, &parent_count))
			return false;
	} else if (parent_def->index_count && parent_def->indexes[0].primary) {
		parent_count = parent_def->indexes[0].count;
		for (uint32_t i = 0; i < parent_count && i < FOREIGN_COLUMNS_MAX; i++)
			f.parent_columns[i] = parent_def->indexes[0].columns[i];
	}
	if (parent_count != f.count || f.on_delete == SQL_REF_SET_DEFAULT ||
		f.on_update == SQL_REF_SET_DEFAULT)
		return false;
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		const struct foreign *g = &m->catalog.foreign_keys[i];

		if (g->ended_by == STORE_NONE && g->child == f.child && g->parent == f.parent &&
			g->key == key)
			return true; /* is there already */
	}
	MEM_RESERVE(m->catalog.foreign_keys, m->catalog.foreign_key_count + 1, m->catalog.foreign_key_capacity);
	m->catalog.foreign_keys[m->catalog.foreign_key_count++] = f;
	return true;
}

static void leave_out(struct mvcc *m, uint32_t table)
{
	if (table == STORE_NONE)
		return;
	m->store.tables[table].unknown = REASON_FOREIGN_KEY_NOT_MODELLED;
	m->store.tables[table].redefined = true;
}

static int compare_spans(struct span a, struct span b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int order = len ? memcmp(a.ptr, b.ptr, len) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Those of one parent are gone through by their id, which is "database/name" (dict_foreign_set). */
static int by_id(const void *a, const void *b)
{
	const struct foreign *x = a, *y = b;
	int order = compare_spans(x->database, y->database);

	return order ? order : compare_spans(x->name, y->name);
}

/* Tables that foreign keys tie together get the same number. */
static void tie(struct mvcc *m, uint32_t a, uint32_t b)
{
	struct store_table *tables = m->store.tables;
	uint32_t from = tables[b].tied, to = tables[a].tied;

	for (uint32_t i = 0; i < m->store.table_count; i++) {
		if (tables[i].tied == from)
			tables[i].tied = to;
	}
}

/* Can what happens to one row of the table have to do with another one of it?  It can where it comes
 * back to the table, or to another by two ways. */
static bool meets_again(const struct mvcc *m, uint32_t table, bool *reached)
{
	bool more = true;

	reached[table] = true;
	while (more) {
		more = false;
		for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
			const struct foreign *f = &m->catalog.foreign_keys[i];

			if (!reached[f->parent] || reached[f->child] ||
				!foreign_carries_on(f))
				continue;
			reached[f->child] = more = true;
		}
	}
	for (size_t i = 0, ways = 0; i < m->catalog.foreign_key_count; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];

		if (!reached[f->parent])
			continue;
		ways = f->child == table;
		for (size_t j = 0; j < m->catalog.foreign_key_count; j++)
			ways += reached[m->catalog.foreign_keys[j].parent] && m->catalog.foreign_keys[j].child == f->child;
		if (ways > 1)
			return true;
	}
	return false;
}

void foreign_init(struct mvcc *m)
{
	for (uint32_t t = 0; t < m->store.table_count; t++) {
		const struct eval_table *def = m->store.tables[t].def;

		for (uint32_t i = 0; def && i < def->foreign_count; i++) {
			if (collect(m, t, def->foreign[i], STORE_NONE))
				continue;
			leave_out(m, t);
			/* What happens to the parent's rows depends on the child's. */
			leave_out(m, parent_of(m, t, def->foreign[i]->reference));
		}
	}
}

static bool is_current(const struct mvcc *m, uint32_t table)
{
	return solver_table(m, m->store.tables[table].database, m->store.tables[table].name) == table;
}

/* Those among the tables that came since the last time. */
static void find_children(struct mvcc *m)
{
	for (; m->catalog.children_seen < m->store.table_count; m->catalog.children_seen++) {
		const struct eval_table *def = m->store.tables[m->catalog.children_seen].def;

		if (!def || !def->foreign_count)
			continue;
		MEM_RESERVE(m->catalog.children, m->catalog.child_count + 1, m->catalog.child_capacity);
		m->catalog.children[m->catalog.child_count++] = m->catalog.children_seen;
	}
}

void foreign_redefine(struct mvcc *m, uint32_t stmt)
{
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		struct foreign *f = &m->catalog.foreign_keys[i];

		if (f->ended_by == STORE_NONE && !(is_current(m, f->child) && is_current(m, f->parent)))
			f->ended_by = stmt;
	}
	find_children(m);
	for (size_t c = 0; c < m->catalog.child_count; c++) {
		uint32_t t = m->catalog.children[c];
		const struct eval_table *def = m->store.tables[t].def;

		if (!is_current(m, t))
			continue;
		for (uint32_t i = 0; i < def->foreign_count; i++) {
			if (collect(m, t, def->foreign[i], stmt))
				continue;
			define_leave_out(m, stmt, t);
			define_leave_out(m, stmt, parent_of(m, t, def->foreign[i]->reference));
		}
	}
}

void foreign_take_effect(struct mvcc *m, uint32_t stmt)
{
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		struct foreign *f = &m->catalog.foreign_keys[i];

		if (f->made_by == stmt || f->ended_by == stmt)
			TRAIL_SET(&m->store.trail, FOREIGN_KEY, f, alive, (uint32_t)(f->ended_by != stmt));
	}
}

void foreign_arrange(struct mvcc *m)
{
	bool *reached = arena_alloc(&m->catalog.arena, m->store.table_count + 1);

	for (uint32_t t = 0; t < m->store.table_count; t++)
		m->store.tables[t].tied = t;
	if (!m->catalog.foreign_key_count)
		return;
	qsort(m->catalog.foreign_keys, m->catalog.foreign_key_count, sizeof(*m->catalog.foreign_keys), by_id);
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++)
		tie(m, m->catalog.foreign_keys[i].parent, m->catalog.foreign_keys[i].child);
	for (uint32_t t = 0; t < m->store.table_count; t++) {
		memset(reached, 0, m->store.table_count + 1);
		m->store.tables[t].in_order = meets_again(m, t, reached);
	}
}

bool foreign_related(const struct mvcc *m, uint32_t a, uint32_t b)
{
	return m->store.tables[a].tied == m->store.tables[b].tied;
}
