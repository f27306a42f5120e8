/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is not known any more after a statement: rows where that can be said (unknown_rows.c), else tables. */
#include "mvcc/unknown/forget.h"

#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/solver.h"
#include "mvcc/unknown/unknown_rows.h"

void forget_table(struct mvcc *m, struct store_table *table, uint32_t reason)
{
	uint32_t by = m->now.txn == STORE_NONE ? 0 : m->now.txn;

	/* A second reason cannot be taken back with the first. */
	TRAIL_SET(&m->store.trail, TABLE, table, unknown_by,
		!table->unknown || table->unknown_by == by ? by : 0);
	/* It stays unknown: its first reason is the one that a reader can do something about. */
	if (!table->redefined || !table->unknown) {
		TRAIL_SET(&m->store.trail, TABLE, table, unknown, reason);
		TRAIL_SET(&m->store.trail, TABLE, table, culprit, m->now.forgetting);
	}
	/* Until it ends, no read teaches what is in the table; and never by a read
	 * view from before that. */
	if (by && store_is_active(&m->store, by)) {
		store_touch(&m->store, by, table, STORE_LOCK_X);
		TRAIL_SET(&m->store.trail, TXN, &m->store.txns[by], hidden, 1);
	}
	if (m->unrecorded_writers || !by || !store_is_active(&m->store, by))
		TRAIL_SET(&m->store.trail, STORE, &m->store, commits, m->store.commits + 1);
}

/* By rows, where that can be said. */
static void forget_rows(struct mvcc *m, uint32_t table, bool all, uint32_t reason)
{
	if (!(all ? make_all_unknown(m, &m->store.tables[table]) : write_unknown(m, table)))
		forget_table(m, &m->store.tables[table], reason);
}

void forget_all(struct mvcc *m, uint32_t reason)
{
	for (uint32_t i = 0; i < m->store.table_count; i++)
		forget_rows(m, i, true, reason);
}

void forget_written(struct mvcc *m, uint32_t reason)
{
	const struct plan *plan = m->now.plan;
	enum forgotten { FORGOTTEN_NOT, FORGOTTEN_WRITTEN, FORGOTTEN_ALL };
	uint8_t *forgotten = arena_zero(&m->scratch, m->store.table_count + 1);
	bool more = true;
	uint32_t oddity = m->sessions[m->schedule->stmts[m->now.stmt].in->session].unmodelled;

	if (writes_anywhere(m, plan)) {
		forget_all(m, reason);
		return;
	}
	for (uint32_t i = 0; i < plan->table_count; i++) {
		struct store_table *table = &m->store.tables[plan->tables[i]];

		if (!plan->written[i])
			continue;
		forgotten[plan->tables[i]] = FORGOTTEN_WRITTEN;
		/* Under a temporary table's name no row of ours may have been written or locked. */
		if (plan->redefines || oddity == SESSION_RENAMES)
			forget_table(m, table, reason);
		/* A setting that is not modelled may choose other keys (auto_increment_increment) or
		 * other rows (sql_auto_is_null), and give the text another meaning. */
		else
			forget_rows(m, plan->tables[i],
				oddity == SESSION_VARIABLES || (plan->effects && plan->effects->sets_row), reason);
		if (plan->redefines && plan->stmt->kind != SQL_STMT_TRUNCATE)
			TRAIL_SET(&m->store.trail, TABLE, table, redefined, 1);
		if (plan->stmt->kind == SQL_STMT_CREATE_TRIGGER)
			TRAIL_SET(&m->store.trail, TABLE, table, triggers, (uint32_t)WRITE_ANY);
	}
	for (uint32_t i = 0; plan->effects && i < plan->effects->count; i++) {
		const struct effect *effect = &plan->effects->list[i];

		if (!effect->written)
			continue;
		if (!effect->blind || !make_new_row_unknown(m, &m->store.tables[effect->table]))
			forget_rows(m, effect->table, true, reason);
		forgotten[effect->table] = FORGOTTEN_ALL;
	}
	/* Foreign keys carry it on, unless rows only came. */
	while (more && (effects_write(plan->effects) ||
			       !(plan->insert && plan->stmt->kind == SQL_STMT_INSERT &&
				       !plan->stmt->u.insert->on_duplicate))) {
		more = false;
		for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
			const struct foreign *f = &m->catalog.foreign_keys[i];

			if (!f->alive || !forgotten[f->parent] || forgotten[f->child] == FORGOTTEN_ALL ||
				!foreign_carries_on(f))
				continue;
			forget_rows(m, f->child, true, reason);
			forgotten[f->child] = FORGOTTEN_ALL;
			more = true;
		}
	}
}

void forget_unsupported(struct mvcc *m)
{
	const struct record_stmt *r = &m->schedule->stmts[m->now.stmt].in->record;
	const struct sql_stmt *stmt = m->now.plan->stmt;

	if (r->error && !plan_is_call(m->now.plan))
		return;
	if (stmt && (stmt->kind == SQL_STMT_INSERT || stmt->kind == SQL_STMT_UPDATE ||
			    stmt->kind == SQL_STMT_DELETE) &&
		!r->affected && !r->result_sets && !(r->flags & STMT_NOT_KEPT) &&
		!effects_write(m->now.plan->effects) && !writes_anywhere(m, m->now.plan))
		return;
	forget_written(m, REASON_UNSUPPORTED_WROTE_TABLE);
}

void forget_for_good(struct mvcc *m, uint32_t reason)
{
	uint32_t txn = m->now.txn;

	m->now.txn = STORE_NONE;
	forget_all(m, reason);
	m->now.txn = txn;
}

void forget_written_for_good(struct mvcc *m, uint32_t reason)
{
	uint32_t txn = m->now.txn;

	m->now.txn = STORE_NONE;
	forget_written(m, reason);
	m->now.txn = txn;
}
