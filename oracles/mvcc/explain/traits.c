/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a note is like beyond its class (FINDING_TRAITS of verdict.h): by which statement, and what
 * another transaction had done to the row. */
#include "mvcc/explain/traits.h"

#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"
#include "server/errors.h"

static uint32_t statement_traits(const struct mvcc *m)
{
	const struct plan *plan = m->now.plan;
	uint32_t traits = m->schedule->stmts[m->now.stmt].in->record.blocked_ns ? TRAIT_WAITED : 0;

	if (!plan || !plan->stmt)
		return traits;
	switch (plan->stmt->kind) {
	case SQL_STMT_SELECT:
		return traits |
		       (read_mode_of(m) == READ_CURRENT ? TRAIT_LOCKING_READ : TRAIT_PLAIN_READ);
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		return traits | TRAIT_INSERT;
	case SQL_STMT_UPDATE:
		return traits | TRAIT_UPDATE;
	case SQL_STMT_DELETE:
		return traits | TRAIT_DELETE;
	default:
		return traits;
	}
}

static bool written_by(const struct mvcc *m, const struct store_version *v, enum sql_stmt_kind kind)
{
	const struct plan *plan = v->stmt == STORE_NONE ? NULL : m->runs[v->stmt].plan;

	return plan && plan->stmt && plan->stmt->kind == kind;
}

static uint32_t row_traits(const struct mvcc *m, const struct store_version *v)
{
	bool came = !store_alive(v->previous);

	if (v->txn == 0)
		return 0;
	if (!v->image)
		return written_by(m, v, SQL_STMT_UPDATE)   ? TRAIT_ROW_MOVED
		       : written_by(m, v, SQL_STMT_DELETE) ? TRAIT_ROW_DELETED
							   : 0;
	if (written_by(m, v, SQL_STMT_UPDATE))
		return came ? TRAIT_ROW_MOVED : TRAIT_ROW_UPDATED;
	return came ? TRAIT_ROW_INSERTED : 0;
}

/* Was what now makes the row match there, not committed, before the statement was sent? */
static uint32_t time_traits(struct mvcc *m, const struct store_version *v)
{
	const struct schedule_stmt *stmts = m->schedule->stmts;
	uint64_t sent = stmts[m->now.stmt].in->record.begin_seq;
	uint32_t writer = v->txn;
	enum eval_truth truth;

	for (; v && v->txn == writer && v->stmt != STORE_NONE; v = v->previous) {
		if (v->image && stmts[v->stmt].in->record.seq < sent &&
			row_matches(m, v->image, &truth) && truth == EVAL_TRUE)
			return TRAIT_BEFORE;
	}
	return TRAIT_MEANWHILE;
}

/* The transaction changed a row that the same statement moved which took this one away. */
static bool is_followed(const struct mvcc *m, uint32_t table, const struct store_version *dead)
{
	const struct store_table *t = &m->store.tables[table];

	for (uint32_t i = 0; i < t->count; i++) {
		const struct store_version *v = t->records[i]->newest;
		bool own = false;

		for (; v; v = v->previous) {
			if (own && v->image && v->txn == dead->txn && v->stmt == dead->stmt)
				return true;
			own = own || v->txn == m->now.txn;
		}
	}
	return false;
}

static bool meant(const struct mvcc *m, const struct store_record *record)
{
	for (const struct store_meant *x = m->store.txns[m->now.txn].meant; x; x = x->next) {
		if (x->record == record)
			return true;
	}
	return false;
}

static bool after_deadlock(const struct mvcc *m)
{
	const struct schedule_stmt *stmts = m->schedule->stmts;
	uint32_t session = stmts[m->now.stmt].in->session;

	for (uint32_t i = m->now.stmt; i-- > 0;) {
		/* What failed in between changed nothing of it. */
		if (stmts[i].in->session == session &&
			(!stmts[i].in->record.error || stmts[i].in->record.error == ER_LOCK_DEADLOCK))
			return stmts[i].in->record.error != 0;
	}
	return false;
}

/* By a statement that was sent while this one ran: it may be answered later. */
static bool somebody_rolled_back(const struct mvcc *m)
{
	const struct schedule *s = m->schedule;
	const struct record_stmt *r = &s->stmts[m->now.stmt].in->record;

	for (size_t i = 0; i < s->stmt_count; i++) {
		const struct schedule_stmt *stmt = &s->stmts[i];

		if (stmt->in->record.begin_seq <= r->begin_seq || stmt->in->record.begin_seq >= r->seq)
			continue;
		for (const struct schedule_txn_event *e = stmt->txn_events; e; e = e->next) {
			if (e->event == TXN_END && s->txns[e->txn].outcome == TXN_ABORTED)
				return true;
		}
	}
	return false;
}

/* While the statement ran another transaction deleted a row and inserted another one under the same unique key. */
static bool key_reused(const struct mvcc *m, const struct store_table *t)
{
	uint64_t sent = m->schedule->stmts[m->now.stmt].in->record.begin_seq;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct store_version *came = t->records[i]->newest;

		if (!store_alive(came) || store_alive(came->previous) || came->stmt == STORE_NONE ||
			m->schedule->stmts[came->stmt].in->record.seq < sent)
			continue;
		for (uint32_t k = 0; k < t->count; k++) {
			const struct store_version *gone = t->records[k]->newest;

			if (!gone || gone->image || gone->txn != came->txn || !gone->previous ||
				!gone->previous->image)
				continue;
			for (uint32_t u = 0; u < t->unique_count; u++) {
				if (t->uniques[u] != t->cluster && !key_is_partial(t->uniques[u]) &&
					store_key_equal(t->def, t->uniques[u],
						gone->previous->image, came->image))
					return true;
			}
		}
	}
	return false;
}

uint32_t note_traits(
	struct mvcc *m, enum note_kind kind, uint32_t table, const struct store_record *record)
{
	const struct store_version *v = record ? store_current(&m->store, record, m->now.txn) : NULL;
	uint32_t traits = statement_traits(m);

	switch (kind) {
	case NOTE_CURRENT_SOURCE:
		return traits | TRAIT_BY_SUBQUERY;
	case NOTE_NO_AUTOCOMMIT:
		return traits | (after_deadlock(m) ? TRAIT_AFTER_DEADLOCK : 0);
	case NOTE_MISMATCH:
		if (somebody_rolled_back(m))
			traits |= TRAIT_ROLLED_BACK;
		if (m->search.mismatch.kind == MISMATCH_CONFLICT && v)
			traits |= row_traits(m, v);
		for (uint32_t i = 0; m->now.plan && i < m->now.plan->table_count; i++) {
			if (key_reused(m, &m->store.tables[m->now.plan->tables[i]]))
				traits |= TRAIT_KEY_REUSED;
		}
		return traits;
	case NOTE_SPLIT:
	case NOTE_SPLIT_GAP:
		return v ? traits | row_traits(m, v) | time_traits(m, v) : traits;
	case NOTE_DELETED_ROW:
		traits |= v ? row_traits(m, v) : 0;
		if (meant(m, record))
			traits |= TRAIT_MEANT;
		if (v && (traits & TRAIT_ROW_MOVED) && is_followed(m, table, v))
			traits |= TRAIT_FOLLOWED;
		return traits;
	case NOTE_CURRENT_WRITE:
	case NOTE_NOOP_UPDATE:
		return v ? traits | row_traits(m, v) : traits;
	case NOTE_OWN_WRITE_SHOWS:
	case NOTE_DIRTY_READ:
	case NOTE_NEEDLESS_BLOCK:
	case NOTE_NEEDLESS_DEADLOCK:
	case NOTE_COUNT:
		break;
	}
	return traits;
}
