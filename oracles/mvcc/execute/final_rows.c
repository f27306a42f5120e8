/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/execute/final_rows.h"

#include "mvcc/plan/plan.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/solver.h"
#include "mvcc/unknown/unknown_rows.h"

static bool anything_open(const struct mvcc *m)
{
	for (size_t i = 0; i < m->search.live_count; i++) {
		if (store_is_active(&m->store, m->search.live[i]) && m->store.txns[m->search.live[i]].undo)
			return true;
	}
	return false;
}

/* The recorder asks for the columns that the table had at the start. */
static bool same_columns(const struct store_table *first, const struct store_table *last)
{
	if (first == last)
		return true;
	for (uint32_t i = 0; first->def && i < first->def->column_count; i++) {
		if (i >= last->def->column_count ||
			!span_eq(first->def->columns[i].name, last->def->columns[i].name))
			return false;
	}
	return first->def && first->def->column_count == last->def->column_count;
}

enum final_answer final_of(
	struct mvcc *m, uint32_t first, uint32_t *number, struct eval_result *expected)
{
	const struct execution_table *in = &m->schedule->execution->tables[first];
	bool undecided;

	m->now.uncomputed = false;
	*number = solver_table(m, in->schema.database, in->schema.name);
	if (!in->has_final)
		return FINAL_NONE;
	if (*number == STORE_NONE || !m->store.tables[*number].def || !m->store.tables[*number].born ||
		m->store.tables[*number].unknown || unknown_at_end(m, &m->store.tables[*number]))
		return FINAL_UNKNOWN;
	if (!in->final.complete || in->final.columns.ptr || anything_open(m) ||
		!same_columns(&m->store.tables[first], &m->store.tables[*number]) || !m->schedule->execution->complete)
		return FINAL_OPEN;
	arena_clear(&m->scratch);
	if (compare_final(m, *number, &in->final, expected, &undecided))
		return FINAL_FITS;
	return undecided ? FINAL_OPEN : FINAL_DIFFERS;
}

bool finals_fit(struct mvcc *m)
{
	struct eval_result expected;
	uint32_t number;

	for (uint32_t i = 0; i < m->schedule->execution->table_count; i++) {
		if (final_of(m, i, &number, &expected) == FINAL_DIFFERS)
			return false;
	}
	return true;
}
