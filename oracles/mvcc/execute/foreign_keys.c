/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/execute/foreign_keys.h"


#include "base/buf.h"
#include "base/mem.h"
#include "mvcc/execute/write.h"
#include "mvcc/plan/definitions.h"
#include "mvcc/plan/plan.h"
#include "mvcc/solver.h"
#include "server/errors.h"

enum {
	CASCADES_MAX = 15, /* FK_MAX_CASCADE_DEL */
};

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

bool foreign_refers(const struct mvcc *m, uint32_t table, const struct eval_value *child,
	const struct eval_value *parent)
{
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];

		if (f->alive && f->child == table && f->parent == table &&
			columns_equal(m->store.tables[table].def, f->child_columns, child,
				f->parent_columns, parent, f->count))
			return true;
	}
	return false;
}

/* Is it found by the first columns of the clustered index?  That index comes first wherever InnoDB
 * looks for one (dict_foreign_find_index). */
static bool in_cluster(const struct store_table *table, const uint32_t *columns, uint32_t count)
{
	if (!table->cluster || count > table->cluster->count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (table->cluster->columns[i] != columns[i])
			return false;
	}
	return true;
}

/* A row that refers to itself: where the one index is written after the other, it is seen as it is. */
static bool sees_itself(const struct mvcc *m, const struct foreign *f)
{
	const struct store_table *table = &m->store.tables[f->parent];

	return in_cluster(table, f->parent_columns, f->count) &&
	       !in_cluster(table, f->child_columns, 1);
}

static struct store_record *find_parent(
	struct mvcc *m, const struct foreign *f, const struct eval_value *row)
{
	const struct store_table *parent = &m->store.tables[f->parent];

	for (uint32_t i = 0; i < parent->count; i++) {
		const struct store_version *v =
			store_current(&m->store, parent->records[i], m->now.txn);

		if (store_alive(v) && columns_equal(parent->def, f->parent_columns, v->image,
					      f->child_columns, row, f->count))
			return parent->records[i];
	}
	return NULL;
}

static bool unknown(struct mvcc *m, uint32_t table, struct write_answer *a)
{
	if (!m->store.tables[table].unknown)
		return false;
	a->status = EVAL_UNSUPPORTED;
	a->reason = m->store.tables[table].unknown;
	return true;
}

static bool in_sql_layer(const struct mvcc *m)
{
	return m->now.env.flavour == SQL_MYSQL && m->now.env.version >= 90600;
}

/* MySQL from 9.6 on looks for the parent before the row is changed, and before AUTO_INCREMENT gave it a
 * number, so one that would refer to itself may be refused (seen on 9.7).  That it also takes what
 * the row was before for a parent is a bug: it leaves rows that refer to nothing. */
static bool looks_too_early(
	const struct mvcc *m, const struct foreign *f, const struct eval_value *old)
{
	return in_sql_layer(m) &&
	       m->schedule->stmts[m->now.stmt].in->record.error == ER_NO_REFERENCED_ROW_2 &&
	       (old || m->store.tables[f->parent]
				.def->columns[f->parent_columns[0]]
				.auto_increment);
}

/* InnoDB looks for the parent whenever a new entry goes into the index that serves the foreign key, be its columns the
 * same: always where the clustered key changes, else by which of several indexes serves it.  Rows that have no
 * parent, made without foreign_key_checks, are refused then (seen on 10.5 to 11.8 and 8.0). */
static void look_again(struct mvcc *m, const struct foreign *f, const struct store_table *table,
	const struct eval_value *old, const struct eval_value *new, struct write_answer *a)
{
	bool moves = false, perhaps = false;

	for (uint32_t i = 0; table->cluster && i < table->cluster->count; i++)
		moves |= !eval_same(&old[table->cluster->columns[i]], &new[table->cluster->columns[i]]);
	for (uint32_t i = 0; i < table->def->index_count; i++) {
		const struct eval_index *index = &table->def->indexes[i];

		for (uint32_t c = 0; c < index->count && index->columns[0] == f->child_columns[0]; c++)
			perhaps |= index->columns[c] == UINT32_MAX ||
				   !eval_same(&old[index->columns[c]], &new[index->columns[c]]);
	}
	if ((!moves && !perhaps) || find_parent(m, f, new))
		return;
	if (moves && f->parent != f->child && !m->store.tables[f->parent].has_unknown_rows)
		write_error(a, ER_NO_REFERENCED_ROW_2);
	else
		answer_unsupported(a, REASON_ROWS_WITHOUT_PARENT);
}

/* The locks on the parents of one row; see foreign_parents(). */
static void find_parents(struct mvcc *m, struct store_table *table, const struct eval_value *old,
	const struct eval_value *new, const struct foreign *but, struct write_answer *a)
{
	uint32_t number = number_of(m, table);

	for (size_t i = 0; i < m->catalog.foreign_key_count && !m->now.no_foreign_checks; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];
		struct store_table *parent = &m->store.tables[f->parent];
		struct store_record *record;

		if (f == but || !f->alive || f->child != number || has_null(new, f->child_columns, f->count))
			continue;
		if (old && columns_equal(table->def, f->child_columns, old, f->child_columns, new, f->count)) {
			/* Rows of the table itself may be on their way to another key. */
			if (!in_sql_layer(m) && !m->store.tables[f->parent].unknown &&
				(f->parent != number || m->schedule->stmts[m->now.stmt].in->record.error ==
								ER_NO_REFERENCED_ROW_2))
				look_again(m, f, table, old, new, a);
			continue;
		}
		if (unknown(m, f->parent, a))
			return;
		store_touch(&m->store, m->now.txn, parent, STORE_LOCK_S);
		if (f->parent == number && columns_equal(table->def, f->child_columns, new,
						   f->parent_columns, new, f->count)) {
			if (!sees_itself(m, f))
				answer_unsupported(a, REASON_SELF_REFERENCE_BY_ODD_INDEX);
			if (looks_too_early(m, f, old))
				write_error(a, ER_NO_REFERENCED_ROW_2);
			continue;
		}
		record = find_parent(m, f, new);
		if (!record)
			write_error(a, ER_NO_REFERENCED_ROW_2);
		else if (in_cluster(parent, f->parent_columns, f->count))
			lock_parent(m, parent, record, a);
	}
}

/* InnoDB tests the constraints of a row one by one, in the order of their indexes, and the first that fails is the
 * last one tested (row_ins).  So of a row that is refused, or that IGNORE leaves out, no lock on a parent is certain: its
 * foreign key may never have been looked at. */
void foreign_parents(struct mvcc *m, struct store_table *table, const struct eval_value *old,
	const struct eval_value *new, const struct foreign *but, struct write_answer *a)
{
	size_t wanted = m->wanted.count;
	struct write_answer row = *a;

	find_parents(m, table, old, new, but, &row);
	if (row.status == EVAL_ERROR) {
		m->wanted.count = wanted;
		row.held_by = a->held_by;
		row.held_record = a->held_record;
		row.held_table = a->held_table;
	}
	*a = row;
}

/* Is the parent's key the same afterwards, to the byte (row_upd_changes_first_fields_binary)?  One that
 * only compares as equal is carried to the children.  `new` NULL: deleted, and perhaps replaced. */
static bool key_stays(const struct mvcc *m, const struct foreign *f, const struct store_table *table,
	const struct eval_value *old, const struct eval_value *new)
{
	if (!new && m->now.plan->insert && eval_insert_table(m->now.plan->insert) == table->def)
		new = m->now.replacement;
	for (uint32_t i = 0; new && i < f->count; i++) {
		if (!eval_same(&old[f->parent_columns[i]], &new[f->parent_columns[i]]))
			return false;
	}
	return new != NULL;
}

/* The row is being changed further up, so that the entry which refers is still there. */
static const struct change *under_way(
	const struct foreign_step *step, const struct store_record *record)
{
	for (; step; step = step->cause) {
		if (step->change->record == record)
			return step->change;
	}
	return NULL;
}

/* A cascade does not update a table that an UPDATE further up is about
 * (row_ins_cascade_ancestor_updates_table). */
static bool updates_above(const struct foreign_step *step, const struct store_table *table)
{
	for (; step; step = step->cause) {
		if (step->table == table && step->change->new)
			return true;
	}
	return false;
}

static unsigned depth_of(const struct foreign_step *step)
{
	unsigned depth = 0;

	for (; step; step = step->cause)
		depth++;
	return depth;
}

/* One child row follows its parent. */
static void follow(struct mvcc *m, const struct foreign_step *step, struct store_record *record,
	const struct eval_value *image, struct write_answer *a)
{
	const struct foreign *f = step->by;
	struct store_table *child = &m->store.tables[f->child];
	const struct eval_value *parent = step->change->new;
	enum sql_ref_action action = parent ? f->on_update : f->on_delete;
	struct write_answer fits = {.status = EVAL_OK, .held_by = STORE_NONE};
	struct change change = {record, image, NULL, true};
	struct eval_outcome outcome = {0};

	if (depth_of(step) >= CASCADES_MAX) {
		answer_unsupported(a, REASON_LONG_CASCADES);
		return;
	}
	act_on(m, child, record, STORE_LOCK_X, a);
	if (action == SQL_REF_SET_NULL || parent) {
		size_t size = child->def->column_count * sizeof(*change.new);
		struct eval_value *changed = arena_alloc(&m->store.arena, size);

		memcpy(changed, image, size);
		for (uint32_t i = 0; i < f->count; i++)
			changed[f->child_columns[i]] = action == SQL_REF_SET_NULL
							       ? EVAL_NULL_VALUE
							       : parent[f->parent_columns[i]];
		/* Values that do not fit are errors, or not, by index and release. */
		if (!eval_generate(&m->store.arena, &m->now.env, child->def, EVAL_ASSIGN_CASCADE, changed, &outcome)) {
			answer_unsupported(a, REASON_GENERATED_BESIDE_FOREIGN_KEY);
			return;
		}
		change.new = changed;
	}
	test_unique(m, child, &change, 1, &fits);
	if (fits.held_by != STORE_NONE)
		held(a, fits.held_by, fits.held_table, fits.held_record);
	if (fits.status == EVAL_UNSUPPORTED) {
		answer_unsupported(a, fits.reason);
		return;
	}
	if (fits.status == EVAL_ERROR || fits.order_matters) {
		write_error(a, ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO);
		write_error(a, ER_FOREIGN_DUPLICATE_KEY_WITHOUT_CHILD_INFO);
		return;
	}
	write_changes(m, child, &change, 1, step, a);
}

/* MySQL from 9.6 on does not look at what a row refers to that goes away by the same cascade, be it
 * itself (seen on 9.7; with innodb_native_foreign_keys InnoDB still does). */
static bool may_be_passed_over(
	const struct mvcc *m, const struct foreign_step *step, const struct change *busy)
{
	return busy && !busy->new && step->cause && in_sql_layer(m) &&
	       m->schedule->stmts[m->now.stmt].in->record.error != ER_ROW_IS_REFERENCED_2;
}

static void children_by(struct mvcc *m, const struct foreign_step *step, struct write_answer *a)
{
	const struct foreign *f = step->by;
	struct store_table *child = &m->store.tables[f->child];
	bool deleted = !step->change->new;
	bool follows = ref_action_carries(deleted ? f->on_delete : f->on_update);
	bool updates = !deleted || f->on_delete == SQL_REF_SET_NULL;
	uint32_t count = child->count;

	for (uint32_t r = 0; r < count && a->status == EVAL_OK; r++) {
		struct store_record *record = child->records[r];
		const struct change *busy = under_way(step, record);
		const struct store_version *v =
			busy ? NULL : store_current(&m->store, record, m->now.txn);
		const struct eval_value *image = busy ? busy->old : v ? v->image : NULL;

		if (!image || !columns_equal(step->table->def, f->parent_columns, step->change->old,
				      f->child_columns, image, f->count))
			continue;
		if (may_be_passed_over(m, step, busy))
			continue;
		if (busy && !sees_itself(m, f))
			answer_unsupported(a, REASON_SELF_REFERENCE_BY_ODD_INDEX);
		else if (follows && busy && !busy->new)
			continue; /* goes away anyhow */
		else if (!follows || (updates && updates_above(step, child)))
			write_error(a, ER_ROW_IS_REFERENCED_2);
		else
			follow(m, step, record, image, a);
	}
}

void foreign_children(struct mvcc *m, struct store_table *table, const struct change *change,
	const struct foreign_step *cause, struct write_answer *a)
{
	uint32_t number = number_of(m, table);

	for (size_t i = 0; i < m->catalog.foreign_key_count && !m->now.no_foreign_checks; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];

		if (!f->alive || f->parent != number || key_stays(m, f, table, change->old, change->new))
			continue;
		if (unknown(m, f->child, a))
			return;
		store_touch(&m->store, m->now.txn, &m->store.tables[f->child], STORE_LOCK_X);
		children_by(m, &(struct foreign_step){cause, f, table, change}, a);
		if (a->status != EVAL_OK)
			return;
	}
}
