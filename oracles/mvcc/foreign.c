/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/foreign.h"

#include "base/mem.h"
#include "mvcc/solver.h"

enum {
	ER_ROW_IS_REFERENCED_2 = 1451,
	ER_NO_REFERENCED_ROW_2 = 1452,
};

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
				  : m->schedule->execution->tables[child].schema.database,
		ref->table.name);
}

static bool collect(struct mvcc *m, uint32_t child, const struct sql_key *key)
{
	const struct eval_table *def = m->store.tables[child].def, *parent_def;
	const struct sql_reference *ref = key->reference;
	struct foreign f = {
		.child = child, .on_delete = ref->on_delete, .on_update = ref->on_update};
	uint32_t parent_count = 0;

	f.parent = parent_of(m, child, ref);
	if (f.parent == STORE_NONE || !m->store.tables[f.parent].def || f.parent == child)
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
	MEM_RESERVE(m->foreigns, m->foreign_count + 1, m->foreign_capacity);
	m->foreigns[m->foreign_count++] = f;
	return true;
}

static void leave_out(struct mvcc *m, uint32_t table, bool to_itself)
{
	if (table == STORE_NONE)
		return;
	m->store.tables[table].unknown =
		reason_number(m, to_itself ? "foreign keys of a table to itself"
					   : "foreign keys that are not modelled");
	m->store.tables[table].redefined = true;
}

void foreign_init(struct mvcc *m)
{
	for (uint32_t t = 0; t < m->store.table_count; t++) {
		const struct eval_table *def = m->store.tables[t].def;

		for (uint32_t i = 0; def && i < def->foreign_count; i++) {
			uint32_t parent = parent_of(m, t, def->foreign[i]->reference);

			if (collect(m, t, def->foreign[i]))
				continue;
			leave_out(m, t, t == parent);
			/* What happens to the parent's rows depends on the child's. */
			leave_out(m, parent, t == parent);
		}
	}
}

bool foreign_related(const struct mvcc *m, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < m->foreign_count; i++) {
		const struct foreign *f = &m->foreigns[i];

		if ((f->child == a && f->parent == b) || (f->child == b && f->parent == a))
			return true;
	}
	return false;
}

/* Child columns against parent columns, or one row's against another's of the same side. */
static bool columns_equal(const struct eval_table *def, const uint32_t *columns,
	const struct eval_value *row, const uint32_t *other_columns, const struct eval_value *other,
	uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct eval_value *a = &row[columns[i]], *b = &other[other_columns[i]];

		if (a->kind == EVAL_NULL || b->kind == EVAL_NULL ||
			eval_order(&def->columns[columns[i]].type, a, b) != 0)
			return false;
	}
	return true;
}

static bool has_null(const struct eval_value *row, const uint32_t *columns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (row[columns[i]].kind == EVAL_NULL)
			return true;
	}
	return false;
}

static bool parent_exists(struct mvcc *m, const struct foreign *f, const struct eval_value *row)
{
	const struct store_table *parent = &m->store.tables[f->parent];

	for (uint32_t i = 0; i < parent->count; i++) {
		const struct store_version *v =
			store_current(&m->store, parent->records[i], m->now_txn);

		if (store_alive(v) && columns_equal(parent->def, f->parent_columns, v->image,
					      f->child_columns, row, f->count))
			return true;
	}
	return false;
}

static bool unknown(struct mvcc *m, uint32_t table, struct write_answer *a)
{
	if (!m->store.tables[table].unknown)
		return false;
	a->status = EVAL_UNSUPPORTED;
	a->reason = m->reasons[m->store.tables[table].unknown];
	return true;
}

/* Is the parent's key the same afterwards?  `new` NULL: deleted, and perhaps replaced. */
static bool key_stays(const struct mvcc *m, const struct foreign *f, const struct store_table *table,
	const struct eval_value *old, const struct eval_value *new)
{
	if (!new && m->now_plan->insert && eval_insert_table(m->now_plan->insert) == table->def)
		new = m->now_replacement;
	return new && columns_equal(
			      table->def, f->parent_columns, old, f->parent_columns, new, f->count);
}

static bool cascades(const struct foreign *f, bool deleted)
{
	enum sql_ref_action action = deleted ? f->on_delete : f->on_update;

	return action == SQL_REF_CASCADE || action == SQL_REF_SET_NULL;
}

void foreign_before(struct mvcc *m, struct store_table *table, const struct eval_value *old,
	const struct eval_value *new, struct write_answer *a)
{
	uint32_t number = (uint32_t)(table - m->store.tables);

	for (size_t i = 0; i < m->foreign_count && !m->no_foreign_checks; i++) {
		const struct foreign *f = &m->foreigns[i];

		if (f->child == number && new && !has_null(new, f->child_columns, f->count) &&
			!(old && columns_equal(table->def, f->child_columns, old, f->child_columns,
					 new, f->count))) {
			if (unknown(m, f->parent, a))
				return;
			store_touch(
				&m->store, m->now_txn, &m->store.tables[f->parent], STORE_LOCK_S);
			if (!parent_exists(m, f, new)) {
				write_error(a, ER_NO_REFERENCED_ROW_2);
				return;
			}
		}
		if (f->parent != number || !old || key_stays(m, f, table, old, new))
			continue;
		if (unknown(m, f->child, a))
			return;
		store_touch(&m->store, m->now_txn, &m->store.tables[f->child], STORE_LOCK_X);
		if (cascades(f, !new))
			continue;
		for (uint32_t r = 0; r < m->store.tables[f->child].count; r++) {
			const struct store_version *v = store_current(
				&m->store, m->store.tables[f->child].records[r], m->now_txn);

			if (store_alive(v) && columns_equal(table->def, f->parent_columns, old,
						      f->child_columns, v->image, f->count)) {
				write_error(a, ER_ROW_IS_REFERENCED_2);
				return;
			}
		}
	}
}

/* One child row follows its parent. */
static void follow(struct mvcc *m, const struct foreign *f, struct store_record *record,
	const struct eval_value *image, const struct eval_value *parent, struct write_answer *a)
{
	struct store_table *child = &m->store.tables[f->child];
	enum sql_ref_action action = parent ? f->on_update : f->on_delete;
	struct eval_value *changed = NULL;

	act_on(m, child, record, STORE_LOCK_X, a);
	if (action == SQL_REF_SET_NULL || parent) {
		size_t size = child->def->column_count * sizeof(*changed);

		changed = arena_alloc(&m->store.arena, size);
		memcpy(changed, image, size);
		for (uint32_t i = 0; i < f->count; i++)
			changed[f->child_columns[i]] = action == SQL_REF_SET_NULL
							       ? EVAL_NULL_VALUE
							       : parent[f->parent_columns[i]];
	}
	write_row(m, child, record, image, changed, a);
}

void foreign_after(struct mvcc *m, struct store_table *table, const struct eval_value *old,
	const struct eval_value *new, struct write_answer *a)
{
	uint32_t number = (uint32_t)(table - m->store.tables);

	for (size_t i = 0; i < m->foreign_count && !m->no_foreign_checks; i++) {
		const struct foreign *f = &m->foreigns[i];
		uint32_t count = m->store.tables[f->child].count;

		if (f->parent != number || !old || !cascades(f, !new) ||
			key_stays(m, f, table, old, new))
			continue;
		for (uint32_t r = 0; r < count && a->status == EVAL_OK; r++) {
			struct store_record *record = m->store.tables[f->child].records[r];
			const struct store_version *v =
				store_current(&m->store, record, m->now_txn);

			if (store_alive(v) && columns_equal(table->def, f->parent_columns, old,
						      f->child_columns, v->image, f->count))
				follow(m, f, record, v->image, new, a);
		}
	}
}
