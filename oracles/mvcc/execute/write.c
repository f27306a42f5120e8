/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What writing statements have in common: answers, the locks on rows, and how changed rows get into
 * the store.  A statement that fails leaves nothing behind.
 */
#include "mvcc/execute/write.h"

#include "base/mem.h"
#include "mvcc/execute/foreign_keys.h"
#include "mvcc/explain/explain.h"
#include "mvcc/plan/answer_info.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"
#include "server/errors.h"

/* ---- answers ---- */

void write_error(struct write_answer *a, unsigned error)
{
	if (a->status == EVAL_UNSUPPORTED)
		return;
	if (a->status == EVAL_OK)
		a->error = error;
	a->status = EVAL_ERROR;
	if (!write_can_fail(a, error) && a->error_count < WRITE_ERRORS_MAX)
		a->errors[a->error_count++] = (uint16_t)error;
}

bool write_can_fail(const struct write_answer *a, unsigned error)
{
	for (uint32_t i = 0; i < a->error_count; i++) {
		if (a->errors[i] == error)
			return true;
	}
	return error == ER_DUP_ENTRY && a->order_matters;
}

void answer_unsupported(struct write_answer *a, uint32_t reason)
{
	a->status = EVAL_UNSUPPORTED;
	a->reason = reason;
}

void answer_outcome(
	struct mvcc *m, struct write_answer *a, const struct eval_outcome *outcome)
{
	if (m->now.unknown)
		answer_unsupported(a, m->now.unknown);
	else if (outcome->status == EVAL_ERROR)
		write_error(a, outcome->error);
	else
		answer_unsupported(a, reason_of_text(&m->reasons, outcome->reason));
}

/* Another transaction holds the record. */
void held(struct write_answer *a, uint32_t other, struct store_table *table,
	struct store_record *record)
{
	if (a->held_by != STORE_NONE)
		return;
	a->held_by = other;
	a->held_record = record;
	a->held_table = table;
}

/* ---- acting on a row ---- */

uint32_t number_of(const struct mvcc *m, const struct store_table *table)
{
	return (uint32_t)(table - m->store.tables);
}

static void want_lock(struct mvcc *m, struct store_record *record, enum store_lock_mode mode)
{
	MEM_RESERVE(m->wanted.locks, m->wanted.count + 1, m->wanted.capacity);
	m->wanted.locks[m->wanted.count++] = (struct wanted_lock){record, mode};
}

/* Snapshot isolation: acting on the row must give error 1020. */
static void meet_conflict(
	struct write_answer *a, struct store_table *table, struct store_record *record)
{
	a->conflict = true;
	a->conflict_record = record;
	a->conflict_table = table;
}

/* The version that the statement's snapshot has of a record whose row another transaction has changed or deleted
 * since; NULL: it is not so. */
static const struct store_version *changed_since(const struct mvcc *m,
	const struct store_record *record, uint32_t view)
{
	const struct store_version *now = store_current(&m->store, record, m->now.txn);
	const struct store_version *then = store_visible(&m->store, record, m->now.txn, view);

	if (now == then || !now || now->maybe || now->txn == m->now.txn || !store_alive(then))
		return NULL;
	return then;
}

void meet_changed(struct mvcc *m, struct store_table *table, struct write_answer *a)
{
	uint32_t view = m->store.txns[m->now.txn].view;
	struct store_record **records;
	size_t count;

	if (m->now.engine != ENGINE_INNODB_SI || m->now.level < LEVEL_REPEATABLE_READ ||
		view == STORE_NONE || view == m->store.commits)
		return;
	count = records_of(m, table, &records);
	for (size_t i = 0; i < count && !a->conflict; i++) {
		const struct store_version *then = changed_since(m, records[i], view);
		enum eval_truth truth;

		if (then && row_matches(m, then->image, &truth) && truth == EVAL_TRUE)
			meet_conflict(a, table, records[i]);
		a->conflict_passed |= a->conflict;
	}
}

/* The lock, and whether the snapshot allows it. */
void act_on(struct mvcc *m, struct store_table *table, struct store_record *record,
	enum store_lock_mode mode, struct write_answer *a)
{
	struct store *s = &m->store;
	struct store_txn *t = &s->txns[m->now.txn];
	const struct store_version *v = store_current(s, record, m->now.txn);
	uint32_t other = store_lock_conflict(s, m->now.txn, record, mode);
	bool certain = mode == STORE_LOCK_X || !table->has_secondary || m->now.plan->reads_rows;

	if (other != STORE_NONE && certain)
		held(a, other, table, record);
	if (v && !v->maybe && v->txn != m->now.txn && t->view != STORE_NONE &&
		s->txns[v->txn].commit_no > t->view && m->now.level >= LEVEL_REPEATABLE_READ) {
		if (m->now.engine == ENGINE_INNODB_SI) {
			meet_conflict(a, table, record);
		} else if (m->now.level == LEVEL_REPEATABLE_READ) {
			note_add(m, NOTE_CURRENT_WRITE, v->txn, number_of(m, table), record);
		}
	}
	if (certain)
		want_lock(m, record, mode);
}

void lock_parent(struct mvcc *m, struct store_table *table, struct store_record *record,
	struct write_answer *a)
{
	uint32_t other = store_lock_conflict(&m->store, m->now.txn, record, STORE_LOCK_S);

	if (other != STORE_NONE)
		held(a, other, table, record);
	want_lock(m, record, STORE_LOCK_S);
}

void take_locks(struct mvcc *m)
{
	for (size_t i = 0; i < m->wanted.count; i++)
		store_lock(&m->store, m->now.txn, m->now.stmt, m->wanted.locks[i].record,
			m->wanted.locks[i].mode);
	m->wanted.count = 0;
}

/* ---- rows ---- */

bool same_row(
	const struct eval_table *def, const struct eval_value *a, const struct eval_value *b)
{
	for (uint32_t c = 0; c < def->column_count; c++) {
		if (!eval_same(&a[c], &b[c]))
			return false;
	}
	return true;
}

bool perhaps_same_row(
	const struct eval_table *def, const struct eval_value *a, const struct eval_value *b)
{
	for (uint32_t c = 0; c < def->column_count; c++) {
		if (a[c].kind != EVAL_OPAQUE && b[c].kind != EVAL_OPAQUE && !eval_same(&a[c], &b[c]))
			return false;
	}
	return true;
}

enum opaque_pick { OPAQUE_NOT_ASKED, OPAQUE_CHANGES, OPAQUE_STAYS, OPAQUE_OPEN };

bool row_changes(struct mvcc *m, bool changed, const struct eval_outcome *outcome,
	struct write_answer *a)
{
	if (!outcome->opaque_change)
		return changed;
	if (a->opaque == OPAQUE_NOT_ASKED) {
		static const uint32_t picks[2][3] = {{OPAQUE_STAYS, OPAQUE_CHANGES, OPAQUE_OPEN},
			{OPAQUE_CHANGES, OPAQUE_STAYS, OPAQUE_OPEN}};
		const struct record_stmt *r = &m->schedule->stmts[m->now.stmt].in->record;
		uint64_t count = r->affected;
		bool told = !m->now.body_depth && info_number(r->info, "Changed", &count);

		a->opaque = told && !count ? OPAQUE_STAYS : picks[count != 0][choose(m, 3)];
	}
	if (a->opaque == OPAQUE_OPEN)
		answer_unsupported(a, REASON_SAME_TIME_ASSIGNED);
	return a->opaque == OPAQUE_CHANGES;
}

static bool is_opaque(const struct eval_value *row, const uint32_t *columns, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (columns[i] != UINT32_MAX && row[columns[i]].kind == EVAL_OPAQUE)
			return true;
	}
	return false;
}

bool opaque_key(const struct mvcc *m, const struct store_table *table, const struct eval_value *row)
{
	uint32_t number = number_of(m, table);
	bool any = false;

	for (uint32_t c = 0; c < table->def->column_count && !any; c++)
		any = row[c].kind == EVAL_OPAQUE;
	/* In which order rows are come to by an index matters where cascades meet. */
	for (uint32_t i = 0; any && i < table->def->index_count; i++) {
		const struct eval_index *index = &table->def->indexes[i];

		if ((index->unique || index->primary || table->in_order) &&
			is_opaque(row, index->columns, index->count))
			return true;
	}
	for (size_t i = 0; any && i < m->catalog.foreign_key_count; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];

		if (f->alive &&
			((f->child == number && is_opaque(row, f->child_columns, f->count)) ||
				(f->parent == number &&
					is_opaque(row, f->parent_columns, f->count))))
			return true;
	}
	return false;
}

static bool leaves_record(
	struct mvcc *m, const struct store_table *table, const struct change *c)
{
	return !c->new || !store_same_record(&m->store, table, c->old, c->new);
}

/* Each row by itself: which one fails first depends on their order, so all errors can come. */
static void children_of_row(struct mvcc *m, struct store_table *table, const struct change *change,
	const struct foreign_step *cause, struct write_answer *a)
{
	struct write_answer row = {.status = EVAL_OK, .held_by = STORE_NONE};

	foreign_children(m, table, change, cause, &row);
	for (uint32_t i = 0; i < row.error_count; i++)
		write_error(a, row.errors[i]);
	if (row.status == EVAL_UNSUPPORTED)
		answer_unsupported(a, row.reason);
	if (row.held_by != STORE_NONE)
		held(a, row.held_by, row.held_table, row.held_record);
}

void write_changes(struct mvcc *m, struct store_table *table, const struct change *changes,
	size_t count, const struct foreign_step *cause, struct write_answer *a)
{
	struct store *s = &m->store;

	for (size_t i = 0; i < count; i++) {
		if (changes[i].changed && leaves_record(m, table, &changes[i]))
			store_write(s, m->now.txn, m->now.stmt, changes[i].record, NULL);
	}
	for (size_t i = 0; i < count && a->status != EVAL_UNSUPPORTED; i++) {
		if (changes[i].changed)
			children_of_row(m, table, &changes[i], cause, a);
	}
	for (size_t i = 0; i < count; i++) {
		const struct change *c = &changes[i];

		if (c->changed && c->new)
			store_write(s, m->now.txn, m->now.stmt,
				leaves_record(m, table, c) ? store_record_for(s, table, c->new)
							   : c->record,
				c->new);
	}
	for (size_t i = 0; i < count && a->status != EVAL_UNSUPPORTED; i++) {
		if (changes[i].changed && changes[i].new)
			foreign_parents(
				m, table, changes[i].old, changes[i].new, cause ? cause->by : NULL, a);
	}
}

void write_row(struct mvcc *m, struct store_table *table, struct store_record *record,
	const struct eval_value *old, const struct eval_value *new, struct write_answer *a)
{
	struct change change = {record, old, new, true};

	test_unique(m, table, &change, 1, a);
	/* Which of several constraints says no first is the server's choice. */
	if (a->status != EVAL_UNSUPPORTED)
		write_changes(m, table, &change, 1, NULL, a);
}

void write_execute(struct mvcc *m, const struct plan *plan, struct write_answer *a)
{
	struct store_txn *t = &m->store.txns[m->now.txn];
	struct store_undo *undo = t->undo;
	uint32_t undo_count = t->undo_count;

	*a = (struct write_answer){.status = EVAL_OK, .held_by = STORE_NONE};
	m->now.noop = 0;
	if (plan->insert)
		write_insert(m, plan, a);
	else if (plan->change)
		write_change(m, plan, a);
	else
		write_join(m, plan, a);
	if (a->status != EVAL_OK || a->held_by != STORE_NONE)
		store_rollback_to(&m->store, m->now.txn, undo, undo_count);
}
