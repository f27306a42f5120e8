/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which waits and locks can be, where only the use of a table is certain. */
#include "mvcc/read/lock_wait.h"

#include "mvcc/explain/explain.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/solver.h"

enum { CLEANUP_NS_MAX = 1000 * 1000 * 1000 }; /* from a client's leaving to the end of its locks */

/* May its locks still have been there when the statement was sent, after its client had left? */
static bool may_be_left_over(const struct mvcc *m, uint32_t txn, uint32_t stmt)
{
	const struct schedule_txn *t = txn ? &m->schedule->txns[txn - 1] : NULL;

	return t && t->disconnected && t->ended &&
	       m->schedule->stmts[stmt].in->record.begin < t->end_at + CLEANUP_NS_MAX;
}

bool lock_possible(const struct mvcc *m)
{
	const struct plan *plan = m->now.plan;
	uint32_t begin = m->runs[m->now.stmt].begin_event;
	uint64_t sent = m->schedule->stmts[m->now.stmt].in->record.begin_seq;

	if (m->catalog.any_ddl || plan->uses_unknown_tables || writes_anywhere(m, plan))
		return true;
	for (uint32_t i = 0; i < m->store.table_count; i++) {
		bool concerned = false;
		unsigned looked = 0;

		for (uint32_t j = 0; j < plan->table_count && !concerned; j++)
			concerned = plan->tables[j] == i || foreign_related(m, plan->tables[j], i);
		for (uint32_t j = 0; plan->effects && j < plan->effects->count && !concerned; j++)
			concerned = plan->effects->list[j].table == i ||
				    foreign_related(m, plan->effects->list[j].table, i);
		if (!concerned)
			continue;
		for (const struct store_touch *t = m->store.tables[i].touches; t; t = t->next) {
			uint32_t ended = m->store.txns[t->txn].ended_at;

			/* It may have been executed early here, and have lasted until its answer. */
			if (t->txn != m->now.txn &&
				(ended == STORE_NONE || ended >= begin ||
					(t->txn && m->schedule->txns[t->txn - 1].end_seq > sent) ||
					may_be_left_over(m, t->txn, m->now.stmt)))
				return true;
			if (++looked > 1000)
				return true;
		}
	}
	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		if (m->search.in_flight[i] != m->now.stmt)
			return true;
	}
	return false;
}

bool may_lock(const struct mvcc *m)
{
	/* At SERIALIZABLE also where the trace says autocommit: an error does not tell. */
	return m->now.plan->writes || m->now.plan->lock || m->now.plan->reads_incidentally ||
	       (m->now.plan->reads && m->now.level == LEVEL_SERIALIZABLE);
}

bool may_have_waited(const struct mvcc *m)
{
	if (m->schedule->stmts[m->now.stmt].in->record.blocked_ns || m->schedule->one_at_a_time)
		return m->schedule->stmts[m->now.stmt].in->record.blocked_ns != 0;
	/* Behind a proxy: while others were under way. */
	return m->search.in_flight_count > 1 || m->search.event > m->runs[m->now.stmt].begin_event + 1;
}

void judge_wait(struct mvcc *m)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];

	if (!stmt->in->record.blocked_ns || m->now.plan->unsupported)
		return;
	if (!may_lock(m) ? !m->catalog.any_ddl : !lock_possible(m))
		note_add(m, NOTE_NEEDLESS_BLOCK, STORE_NONE,
			m->now.plan->table_count ? m->now.plan->tables[0] : STORE_NONE, NULL);
}

void touch_tables(struct mvcc *m)
{
	const struct plan *plan = m->now.plan;
	bool may_write_any = writes_anywhere(m, plan);

	if (!may_lock(m))
		return;
	for (uint32_t i = 0; i < plan->table_count; i++)
		store_touch(&m->store, m->now.txn, &m->store.tables[plan->tables[i]],
			plan->written[i] ? STORE_LOCK_X : STORE_LOCK_S);
	for (uint32_t i = 0; plan->effects && i < plan->effects->count; i++)
		store_touch(&m->store, m->now.txn, &m->store.tables[plan->effects->list[i].table],
			plan->effects->list[i].written ? STORE_LOCK_X : STORE_LOCK_S);
	for (uint32_t i = 0; (may_write_any || plan->uses_unknown_tables) && i < m->store.table_count; i++)
		store_touch(&m->store, m->now.txn, &m->store.tables[i],
			may_write_any ? STORE_LOCK_X : STORE_LOCK_S);
}
