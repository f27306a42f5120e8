/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/execute/foreign_keys.h"

#include <stdlib.h>

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

static bool carries(enum sql_ref_action action)
{
	return action == SQL_REF_CASCADE || action == SQL_REF_SET_NULL;
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
				!(carries(f->on_delete) || carries(f->on_update)))
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

void foreign_parents(struct mvcc *m, struct store_table *table, const struct eval_value *old,
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
	bool follows = carries(deleted ? f->on_delete : f->on_update);
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
