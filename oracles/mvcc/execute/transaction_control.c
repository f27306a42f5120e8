/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What happens to transactions when a statement is executed or a connection ends. */
#include "mvcc/execute/transaction_control.h"

#include "mvcc/execute/disconnects.h"
#include "mvcc/explain/explain.h"
#include "mvcc/plan/concurrent_ddl.h"
#include "mvcc/plan/definitions.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"
#include "mvcc/unknown/forget.h"
#include "server/errors.h"

/* What it did that is not known is gone with it. */
void roll_back(struct mvcc *m, uint32_t txn)
{
	store_rollback(&m->store, txn, m->search.event);
	for (uint32_t i = 0; i < m->store.table_count; i++) {
		struct store_table *table = &m->store.tables[i];

		if (table->unknown && table->unknown_by == txn)
			TRAIL_SET(&m->store.trail, TABLE, table, unknown, 0);
	}
}

void end_txn(struct mvcc *m, uint32_t txn)
{
	uint8_t outcome = m->schedule->txns[txn].outcome;
	uint32_t number = txn + 1;

	if (!store_is_active(&m->store, number))
		return;
	if (m->store.txns[number].mixed) {
		store_rollback(&m->store, number, m->search.event);
		m->now.forgetting = 0;
		forget_for_good(m, REASON_TRANSACTION_WROTE_SEVERAL);
		return;
	}
	if (outcome == TXN_UNKNOWN && m->store.txns[number].undo)
		outcome = choose(m, 2) == 0 ? TXN_ABORTED : TXN_COMMITTED;
	if (outcome == TXN_COMMITTED)
		store_commit(&m->store, number, m->search.event);
	else if (outcome == TXN_ABORTED)
		roll_back(m, number);
	else /* a prepared XA transaction: what it did that is not known may still be there */
		store_rollback(&m->store, number, m->search.event);
}

/* With autocommit on, only BEGIN and the like open a transaction (MDEV-27922: after a deadlock, the
 * next statement does).  MySQL 8.0 and 9.7 send the flag of autocommit also to sessions that have it off from the
 * server's configuration. */
static void judge_implicit_begin(struct mvcc *m, uint32_t txn)
{
	const struct record_stmt *r = &m->schedule->stmts[m->now.stmt].in->record;
	const struct plan *plan = m->now.plan;

	if (m->now.env.flavour == SQL_MYSQL &&
		(span_ieq_str(execution_variable(m->schedule->execution, "autocommit"), "OFF") || m->global_from))
		return;
	if (!plan->unsupported && (plan->reads || plan->writes) && m->now.txn == txn && !r->error &&
		r->status & STATUS_IN_TRANS && r->status & STATUS_AUTOCOMMIT)
		note_add(m, NOTE_NO_AUTOCOMMIT, STORE_NONE, STORE_NONE, NULL);
}

static bool is_xa(const struct plan *plan, enum sql_xa_kind kind)
{
	return plan->stmt && plan->stmt->kind == SQL_STMT_XA && plan->stmt->u.xa->kind == kind;
}

static bool same_word(const struct sql_expr *a, const struct sql_expr *b)
{
	return a && b ? span_eq(a->u.literal.text, b->u.literal.text) : a == b;
}

/* XA COMMIT or XA ROLLBACK of a transaction that was prepared before, by whichever session. */
static void end_prepared(struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	const struct sql_xa *xa = plan->stmt->u.xa;

	for (uint32_t i = stmt; i-- > 0;) {
		const struct plan *other = m->runs[i].plan;
		uint32_t txn = m->schedule->stmts[i].txn;

		if (!is_xa(other, SQL_XA_START) || txn == SCHEDULE_NONE ||
			!same_word(xa->gtrid, other->stmt->u.xa->gtrid) ||
			!same_word(xa->bqual, other->stmt->u.xa->bqual))
			continue;
		if (!store_is_active(&m->store, txn + 1)) {
			/* An error has rolled it back, and this only takes its name away. */
			if (xa->kind == SQL_XA_ROLLBACK &&
				m->schedule->txns[txn].outcome == TXN_ABORTED)
				return;
			continue;
		}
		if (xa->kind == SQL_XA_COMMIT)
			store_commit(&m->store, txn + 1, m->search.event);
		else
			roll_back(m, txn + 1);
		return;
	}
	m->now.forgetting = 0;
	forget_all(m, REASON_XA_NOT_RECORDED);
}

/* START TRANSACTION WITH CONSISTENT SNAPSHOT takes it between sending and answer, before or after
 * each commit that it overlaps. */
static uint32_t view_of_begin(struct mvcc *m, uint32_t txn)
{
	uint32_t options = m->store.commits - m->runs[m->now.stmt].begin_commits + 1;

	return m->store.commits - choose_for(m, txn, options);
}

/* A savepoint is the business of the engines that take part in the transaction when it is made;
 * one that came later is rolled back whole (ha_rollback_to_savepoint in sql/handler.cc).  So
 * InnoDB then lets go of its locks and of its read view (MYSQL-95049). */
static void roll_back_to(struct mvcc *m, uint32_t txn, struct span name)
{
	enum store_use used = store_savepoint_use(&m->store, txn, name);

	/* With autocommit off a savepoint may be older than what the server calls the
	 * transaction. */
	if (!store_savepoint_rollback(&m->store, txn, name))
		store_rollback_to(&m->store, txn, NULL, 0);
	if (m->now.engine == ENGINE_TIDB || used == STORE_USED)
		return;
	if (used == STORE_UNUSED || choose(m, 2))
		store_part_ended(&m->store, txn, m->now.stmt);
}

/* Notes that the transaction of a statement that was executed takes part in the engine. */
static void note_use(struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	enum store_use used = STORE_UNUSED;
	struct store_txn *t;

	if (s->txn == SCHEDULE_NONE)
		return;
	t = &m->store.txns[s->txn + 1];
	if ((plan->reads || plan->writes) && !plan->unsupported && !plan->uses_unknown_tables &&
		!s->in->record.error)
		used = STORE_USED;
	else if (!plan->harmless || plan->reads_incidentally)
		used = STORE_MAYBE_USED;
	if (used > t->used)
		TRAIL_SET(&m->store.trail, TXN, t, used, (uint32_t)used);
}

bool begins_view(const struct mvcc *m, uint32_t txn)
{
	const struct schedule_txn *t = &m->schedule->txns[txn];

	return t->level == LEVEL_REPEATABLE_READ && (t->snapshot || m->now.engine == ENGINE_TIDB);
}

static void txn_event(struct mvcc *m, const struct schedule_txn_event *e)
{
	const struct schedule_txn *txn = &m->schedule->txns[e->txn];
	struct store_txn *t = &m->store.txns[e->txn + 1];

	switch ((enum txn_event)e->event) {
	case TXN_BEGIN:
		judge_implicit_begin(m, e->txn + 1);
		if (t->began == STORE_NONE) {
			TRAIL_SET(&m->store.trail, TXN, t, began, m->runs[m->now.stmt].begin_event);
			TRAIL_SET(&m->store.trail, TXN, t, first_commits, m->store.commits);
		}
		if (t->view == STORE_NONE && begins_view(m, e->txn))
			set_view(m, e->txn + 1, view_of_begin(m, e->txn + 1),
				m->runs[m->now.stmt].begin_commits);
		if (txn->snapshot)
			TRAIL_SET(&m->store.trail, TXN, t, used, (uint32_t)STORE_USED);
		break;
	case TXN_END:
		/* MySQL parts session and transaction when it is prepared; its rows stay locked
		 * until a statement says how it ends. */
		if (txn->outcome == TXN_UNKNOWN && is_xa(m->now.plan, SQL_XA_PREPARE))
			break;
		end_txn(m, e->txn);
		break;
	case TXN_SAVEPOINT:
		store_savepoint(&m->store, e->txn + 1, e->name);
		break;
	case TXN_ROLLBACK_TO:
		roll_back_to(m, e->txn + 1, e->name);
		break;
	case TXN_RELEASE:
		store_savepoint_release(&m->store, e->txn + 1, e->name);
		break;
	}
}

bool may_commit_by_failing(const struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	uint16_t error = s->in->record.error;

	return error && error != ER_PARSE_ERROR && m->runs[stmt].plan->commits && s->txn != SCHEDULE_NONE;
}

uint32_t failed_commit(const struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	const struct store_txn *t;

	if (!may_commit_by_failing(m, stmt) || !store_is_active(&m->store, s->txn + 1))
		return SCHEDULE_NONE;
	t = &m->store.txns[s->txn + 1];
	return m->schedule->txns[s->txn].by_failed || t->undo || t->tables ? s->txn : SCHEDULE_NONE;
}

void commit_of_failed(struct mvcc *m, uint32_t stmt)
{
	uint32_t txn = failed_commit(m, stmt);

	if (txn == SCHEDULE_NONE)
		return;
	if (m->schedule->txns[txn].by_failed)
		end_txn(m, txn);
	else if (choose(m, 2) == 0)
		store_commit(&m->store, txn + 1, m->search.event);
}

/* An error may hide that the transaction was rolled back (1467 does where the lock for AUTO_INCREMENT made a
 * deadlock), which only the next answer tells. */
static void end_of_failed(struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];

	if (s->in->record.error && s->txn != SCHEDULE_NONE && m->schedule->txns[s->txn].ended &&
		m->schedule->txns[s->txn].outcome == TXN_UNKNOWN && store_is_active(&m->store, s->txn + 1) &&
		!m->store.txns[s->txn + 1].prepared && choose(m, 2) == 1)
		roll_back(m, s->txn + 1);
}

/* What is answered at once with a statement that changes a definition was before or after it, by what its names
 * stand for. */
static bool run_others_first(struct mvcc *m, uint32_t stmt)
{
	uint32_t maker = define_maker(m, stmt);

	if (maker != STORE_NONE && m->runs[maker].state == STMT_IN_FLIGHT && !run_stmt(m, maker))
		return false;
	for (size_t i = 0; m->runs[stmt].defines && i < m->search.in_flight_count; i++) {
		uint32_t other = m->search.in_flight[i];

		if (other != stmt && m->runs[other].state == STMT_IN_FLIGHT &&
			(m->schedule->one_at_a_time ? define_replaces(m, stmt, other)
						    : concurrent_ddl_must_precede(m, other, stmt)) &&
			!run_stmt(m, other))
			return false;
	}
	return true;
}

bool commits_first(const struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];

	if (m->schedule->one_at_a_time || !m->runs[stmt].plan->commits || m->runs[stmt].committed)
		return false;
	if (failed_commit(m, stmt) != SCHEDULE_NONE)
		return true;
	for (const struct schedule_txn_event *e = s->txn_events; e; e = e->next) {
		if (e->event == TXN_END && store_is_active(&m->store, e->txn + 1))
			return true;
	}
	return false;
}

void commit_first(struct mvcc *m, uint32_t stmt)
{
	TRAIL_SET(&m->store.trail, RUN, &m->runs[stmt], committed, 1);
	commit_of_failed(m, stmt);
	for (const struct schedule_txn_event *e = m->schedule->stmts[stmt].txn_events; e; e = e->next) {
		if (e->event == TXN_END)
			end_txn(m, e->txn);
	}
}

bool run_stmt(struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];

	if (!run_others_first(m, stmt))
		return false;
	if (commits_first(m, stmt))
		commit_first(m, stmt);
	if (!execute_stmt(m, stmt))
		return false;
	TRAIL_SET(&m->store.trail, RUN, &m->runs[stmt], state, (uint32_t)STMT_DONE);
	for (size_t i = 0; m->runs[stmt].plan->redefines && i < m->search.in_flight_count; i++) {
		if (m->runs[m->search.in_flight[i]].state == STMT_IN_FLIGHT)
			concurrent_ddl_replan(m, m->search.in_flight[i]);
	}
	note_use(m, stmt);
	/* InnoDB lets go of what it locked without writing it (lock_release_on_prepare). */
	if (is_xa(m->runs[stmt].plan, SQL_XA_PREPARE) && !s->in->record.error &&
		s->txn != SCHEDULE_NONE)
		TRAIL_SET(&m->store.trail, TXN, &m->store.txns[s->txn + 1], prepared, 1);
	if (!m->runs[stmt].committed)
		commit_of_failed(m, stmt);
	end_of_failed(m, stmt);
	if (ends_prepared_txn(m, stmt))
		end_prepared(m, stmt);
	for (const struct schedule_txn_event *e = s->txn_events; e; e = e->next)
		txn_event(m, e);
	return true;
}

bool ends_prepared_txn(const struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	const struct plan *plan = m->runs[stmt].plan;

	return !s->txn_events && !s->in->record.error &&
	       (is_xa(plan, SQL_XA_COMMIT) || is_xa(plan, SQL_XA_ROLLBACK));
}

bool ends_txn(const struct mvcc *m, uint32_t stmt)
{
	const struct schedule_txn_event *e = m->schedule->stmts[stmt].txn_events;

	for (; e; e = e->next) {
		if (e->event == TXN_END)
			return true;
	}
	return ends_prepared_txn(m, stmt) || (!m->schedule->one_at_a_time && failed_commit(m, stmt) != SCHEDULE_NONE);
}

bool ends_other_txn(const struct schedule_stmt *stmt)
{
	for (const struct schedule_txn_event *e = stmt->txn_events; e; e = e->next) {
		if (e->event == TXN_END && e->txn != stmt->txn)
			return true;
	}
	return false;
}

uint64_t stmt_tables(const struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	const struct plan *plan = m->runs[stmt].plan;
	uint64_t tables = plan->tied;

	for (uint32_t i = 0; i < plan->table_count; i++)
		tables |= store_table_bit(plan->tables[i]);
	if (writes_anywhere(m, plan) || ends_prepared_txn(m, stmt))
		tables = UINT64_MAX;
	/* BEGIN belongs to the transaction that it begins, and ends another.  A read view that is made
	 * at the beginning is of all tables. */
	for (const struct schedule_txn_event *e = s->txn_events; e; e = e->next) {
		if (e->event == TXN_END || e->event == TXN_ROLLBACK_TO)
			tables |= m->store.txns[e->txn + 1].tables;
		else if (e->event == TXN_BEGIN && begins_view(m, e->txn))
			tables = UINT64_MAX;
	}
	if (!m->schedule->one_at_a_time && failed_commit(m, stmt) != SCHEDULE_NONE)
		tables |= m->store.txns[s->txn + 1].tables;
	return tables;
}
