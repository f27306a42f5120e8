/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What answers tell of rows that were not known (unknown_rows.h). */
#include "mvcc/unknown/unknown_rows.h"

#include "mvcc/execute/transaction_control.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/key_ranges.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/wrong_in_any_order.h"
#include "mvcc/solver.h"
#include "mvcc/store/access_path.h"
#include "mvcc/unknown/learn_table.h"

/* A statement under way that may have changed the row already, without that we know: one that is a
 * transaction by itself, or, for dirty reads, any. */
static bool overlapped(struct mvcc *m, uint32_t number, const struct store_record *record, bool any)
{
	struct store_table *table = &m->store.tables[number];

	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		uint32_t other = m->search.in_flight[i];
		const struct plan *plan = m->runs[other].plan;
		struct eval_value *row = NULL;
		bool hit = false;

		if (other == m->now.stmt || (!any && m->runs[other].state == STMT_DONE))
			continue;
		if (any && ends_txn(m, other))
			return true;
		if (!plan->writes || (!any && !ends_txn(m, other)))
			continue;
		if (writes_anywhere(m, plan) || effects_write(plan->effects))
			return true;
		for (uint32_t t = 0; t < plan->table_count; t++)
			hit |= plan->written[t] && (plan->tables[t] == number ||
							   foreign_related(m, plan->tables[t], number));
		if (!hit)
			continue;
		if (!plan->reach || plan->tables[0] != number || plan->moves_cluster || !record->key.ptr)
			return true;
		for (uint64_t k = 0; key_set_key(m, table, plan->reach, k, &row); k++) {
			if (store_find(&m->store, table, row) == record)
				return true;
		}
	}
	return false;
}

static bool commit_under_way(const struct mvcc *m, uint32_t txn)
{
	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		uint32_t stmt = m->search.in_flight[i];

		if (m->runs[stmt].state == STMT_DONE)
			continue;
		if (ends_prepared_txn(m, stmt) ? m->store.txns[txn].prepared
					       : m->schedule->stmts[stmt].txn + 1 == txn &&
							 ends_txn(m, stmt))
			return true;
	}
	return false;
}

/* The version was perhaps never written, and then what shows is the one before it.  Do all transactions
 * see that one that see this one, and the current statement, too?  Then the image is certainly
 * this version's. */
static bool stands_on_seen(
	const struct mvcc *m, const struct store_version *v, enum read_mode mode, uint32_t low)
{
	const struct store_version *before = v->previous;

	while (before && before->txn == v->txn)
		before = before->previous;
	if (!before)
		return true;
	if (!is_committed(m, before) || (is_committed(m, v) && m->store.txns[before->txn].commit_no >
								       m->store.txns[v->txn].commit_no))
		return false;
	return mode != READ_SNAPSHOT || m->store.txns[before->txn].commit_no <= low;
}

/* The version of the record that the current statement certainly saw; NULL: not known. */
static struct store_version *version_seen(
	struct mvcc *m, uint32_t table, struct store_record *record, enum read_mode mode)
{
	struct store_version *v = NULL;
	uint32_t low = 0, high;

	if (overlapped(m, table, record, mode == READ_DIRTY))
		return NULL;
	switch (mode) {
	case READ_DIRTY:
		/* Only where nothing at all happened meanwhile. */
		if (m->search.event != m->runs[m->now.stmt].begin_event + 1)
			return NULL;
		v = record->newest;
		break;
	case READ_CURRENT:
		v = store_current(&m->store, record, m->now.txn);
		/* Nor what came while it waited: which was first is a choice. */
		if (v != record->newest ||
			(v && !is_own(m, v) &&
				m->store.txns[v->txn].commit_no > m->runs[m->now.stmt].begin_commits))
			return NULL;
		break;
	case READ_SNAPSHOT:
		view_range(m, &low, &high);
		v = store_visible(&m->store, record, m->now.txn, high);
		if (v != store_visible(&m->store, record, m->now.txn, low))
			return NULL;
		for (const struct store_version *u = record->newest; u != v; u = u->previous) {
			if (commit_under_way(m, u->txn))
				return NULL;
		}
		break;
	}
	return v && stands_on_seen(m, v, mode, low) ? v : NULL;
}

static void clear_up(struct mvcc *m, struct store_record *record, struct store_version *v, const struct eval_value *image)
{
	if (!v || !(v->unknown || (image && v->image && compare_is_uncomputed(v->image, m->store.tables[record->table].def->column_count))))
		return;
	TRAIL_SET(&m->store.trail, VERSION, v, image, image);
	TRAIL_SET(&m->store.trail, VERSION, v, unknown, 0);
	if (image)
		store_path_add(&m->store, &m->store.tables[record->table], record, image, NULL);
}

/* Which column of the table each column of the answer is; false: not every one is there, and alone. */
static bool columns_of(const struct plan *plan, const struct eval_table *def, uint32_t *columns)
{
	if (!answer_columns(plan, def, columns, def->column_count))
		return false;
	for (uint32_t c = 0; c < def->column_count; c++) {
		for (uint32_t i = 0; i < c; i++) {
			if (columns[i] == columns[c])
				return false;
		}
	}
	return true;
}

static bool answer_rows(struct mvcc *m, const struct eval_table *def,
	const struct eval_value *const **out, size_t *count)
{
	const struct execution_rows *recorded = schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]);
	uint32_t *columns = arena_alloc(&m->scratch, (def->column_count + 1) * sizeof(*columns));
	struct eval_type *types =
		arena_alloc(&m->scratch, (def->column_count + 1) * sizeof(*types));
	const struct eval_value *const *rows;
	const struct eval_value **made;

	if (!recorded || !columns_of(m->now.plan, def, columns))
		return false;
	for (uint32_t c = 0; c < def->column_count; c++)
		types[c] = def->columns[columns[c]].type;
	if (!lasting_rows(&m->store.arena, types, def->column_count, recorded, &rows, count))
		return false;
	made = arena_alloc(&m->store.arena, (*count + 1) * sizeof(*made));
	for (size_t r = 0; r < *count; r++) {
		struct eval_value *row =
			arena_alloc(&m->store.arena, def->column_count * sizeof(*row));

		for (uint32_t c = 0; c < def->column_count; c++)
			row[columns[c]] = rows[r][c];
		made[r] = row;
	}
	*out = made;
	return true;
}

/* A row of the answer is what the version was that the statement saw. */
static void learn_row(struct mvcc *m, uint32_t number, const struct eval_value *row, enum read_mode mode)
{
	struct store_table *table = &m->store.tables[number];
	struct store_record *record = store_find(&m->store, table, row);

	if (!record) {
		if (!table->others || !others_are_settled(m, table) ||
			!version_seen(m, number, table->others, mode) ||
			!version_seen(m, number, table->others, mode)->unknown)
			return;
		record = store_record_for(&m->store, table, row);
	}
	clear_up(m, record, version_seen(m, number, record, mode), row);
}

/* Is it shown, though it was not known whose version that is? */
static bool has_key(const struct store_table *table, const struct eval_value *const *rows, size_t count,
	const struct eval_value *row)
{
	for (size_t i = 0; i < count; i++) {
		if (store_key_equal(table->def, table->cluster, rows[i], row))
			return true;
	}
	return false;
}

/* What the answer does not show is not there, where WHERE is about keys alone or there is none. */
static void learn_absent(struct mvcc *m, uint32_t number, const struct eval_value *const *rows,
	size_t count, enum read_mode mode)
{
	struct store_table *table = &m->store.tables[number];
	const struct plan *plan = m->now.plan;
	struct eval_value *row = NULL;
	uint32_t known = table->count;
	bool *shown = arena_zero(&m->scratch, (known + 1) * sizeof(*shown));

	if (skips_locked(plan))
		return;
	for (size_t i = 0; i < count; i++) {
		const struct store_record *record = store_find(&m->store, table, rows[i]);

		if (record)
			shown[record->id] = true;
	}
	if (!plan->stmt->u.query->u.select.where) {
		for (uint32_t i = 0; i < known; i++) {
			if (!shown[i] && record_unknown(m, table->records[i], mode))
				clear_up(m, table->records[i], version_seen(m, number, table->records[i], mode), NULL);
		}
		if (table->others && others_are_settled(m, table))
			clear_up(m, table->others, version_seen(m, number, table->others, mode), NULL);
		return;
	}
	if (!plan->key_set || !key_set_is_all(plan->key_set))
		return;
	for (uint64_t i = 0; key_set_key(m, table, plan->key_set, i, &row); i++) {
		struct store_record *record = store_find(&m->store, table, row);

		if (!record && has_key(table, rows, count, row))
			continue;
		if (!record && table->others && others_are_settled(m, table) &&
			record_unknown(m, table->others, mode))
			record = store_record_for(&m->store, table, row);
		if (record && (record->id >= known || !shown[record->id]))
			clear_up(m, record, version_seen(m, number, record, mode), NULL);
	}
}

void learn_unknown_rows(struct mvcc *m)
{
	const struct plan *plan = m->now.plan;
	const struct eval_value *const *rows;
	enum read_mode mode = read_mode_of(m);
	struct store_table *table;
	size_t count;

	if (!plan->query || !plan->single || !plan->plain || plan->table_count != 1)
		return;
	table = &m->store.tables[plan->tables[0]];
	if (!table->cluster || table->unknown || table->odd_keys || !answers_show_all(table->def) ||
		!answer_rows(m, table->def, &rows, &count))
		return;
	for (size_t i = 0; i < count; i++)
		learn_row(m, plan->tables[0], rows[i], mode);
	learn_absent(m, plan->tables[0], rows, count, mode);
}
