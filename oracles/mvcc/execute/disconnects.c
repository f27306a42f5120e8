/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions that end with their connection.
 *
 * The trace has the time when the recorder noticed that a connection was closed.  The server rolled back
 * at another time: before it, where it closed the connection itself (KILL, a timeout, a shutdown)
 * and the client slept; a little after it, where the client left.  So the end of such a transaction
 * is loose.  It stays open as long as nothing speaks against it, which is the latest time that is
 * possible: what it did shows only to dirty reads and to statements that want its locks, and it is
 * these that tell when it was gone.
 */
#include "mvcc/execute/disconnects.h"

#include "base/mem.h"
#include "mvcc/execute/execute.h"
#include "mvcc/execute/transaction_control.h"
#include "mvcc/search/search.h"
#include "mvcc/search/state_digest.h"
#include "mvcc/solver.h"

enum {
	LOOSE_TRIED_MAX = 4, /* ends that are tried for one answer, in every combination */
	IDLE_SECONDS_SHORT = 600,
};

/* Of a connection that is no more: ER_SERVER_SHUTDOWN, ER_FORCING_CLOSE, ER_NEW_ABORTING_CONNECTION,
 * ER_QUERY_INTERRUPTED (MySQL's answer to what runs in a session that is killed),
 * ER_CONNECTION_KILLED, ER_CLIENT_INTERACTION_TIMEOUT, CR_SERVER_GONE_ERROR, CR_SERVER_LOST. */
static bool tells_of_an_end(const struct record_stmt *r)
{
	static const uint16_t errors[] = {1053, 1080, 1184, 1317, 1927, 4031, 2006, 2013};

	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		if (r->error == errors[i])
			return true;
	}
	return r->flags & STMT_NO_REPLY;
}

static bool sets_timeout(const struct sql_stmt *stmt)
{
	static const char *const names[] = {"wait_timeout", "interactive_timeout",
		"idle_transaction_timeout", "idle_write_transaction_timeout",
		"idle_readonly_transaction_timeout"};

	if (stmt->kind != SQL_STMT_SET)
		return false;
	for (const struct sql_set_item *item = stmt->u.set->items; item; item = item->next) {
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			if (item->kind == SQL_SET_VARIABLE && span_ieq_str(item->name, names[i]))
				return true;
		}
	}
	return false;
}

/* May a connection end at any time, by nothing that was recorded?  Behind a proxy, a session that was not
 * recorded may say KILL; a short timeout needs no statement. */
static bool ends_by_itself(const struct mvcc *m)
{
	const struct execution *e = m->schedule->execution;
	uint64_t idle;

	if (!m->schedule->one_at_a_time || e->server_gone ||
		(execution_number(e, "wait_timeout", &idle) && idle < IDLE_SECONDS_SHORT))
		return true;
	for (size_t i = 0; i < m->schedule->stmt_count; i++) {
		const struct plan *plan = m->runs[i].plan;

		if (plan->stmt && sets_timeout(plan->stmt))
			return true;
	}
	return false;
}

/* From which sequence number on the transaction may be gone; UINT64_MAX: it ended as recorded. */
static uint64_t loose_from(const struct mvcc *m, const struct schedule_txn *txn, bool any_time)
{
	const struct schedule *s = m->schedule;
	uint64_t heard = 0, cause = UINT64_MAX;

	for (uint32_t i = s->execution->sessions[txn->session].first_stmt; i != EXECUTION_NONE;
		i = s->execution->stmts[i].next_in_session) {
		const struct record_stmt *r = &s->stmts[i].in->record;

		if (!tells_of_an_end(r)) {
			heard = r->seq; /* it lived */
			cause = UINT64_MAX;
		} else if (cause == UINT64_MAX) {
			cause = r->begin_seq;
		}
	}
	if (any_time)
		return heard;
	/* KILL, or what may have said it. */
	for (size_t i = 0; i < s->stmt_count; i++) {
		const struct record_stmt *r = &s->stmts[i].in->record;
		const struct plan *plan = m->runs[i].plan;

		if (r->seq > heard && r->begin_seq < cause &&
			(plan->may_write_any || (plan->stmt && plan->stmt->kind == SQL_STMT_KILL)))
			cause = r->begin_seq;
	}
	return cause;
}

void find_loose_ends(struct mvcc *m)
{
	bool any_time = ends_by_itself(m);
	size_t capacity = 0;

	for (uint32_t i = 0; i < m->schedule->txn_count; i++) {
		const struct schedule_txn *txn = &m->schedule->txns[i];
		uint64_t from;

		m->any_dirty |= txn->level == LEVEL_READ_UNCOMMITTED;
		if (!txn->disconnected)
			continue;
		m->store.txns[i + 1].disconnected = true;
		from = loose_from(m, txn, any_time);
		MEM_RESERVE(m->loose_ends, m->loose_end_count + 1, capacity);
		m->loose_ends[m->loose_end_count++] = (struct loose_end){i + 1, from};
	}
}

/* The transaction may be gone when the current event happens. */
static bool may_be_gone(const struct mvcc *m, const struct loose_end *end)
{
	return store_is_active(&m->store, end->txn) && !m->store.txns[end->txn].prepared &&
	       (m->store.txns[end->txn].left ||
		       end->from < m->schedule->events[m->search.event].seq);
}

bool leaves_later(struct mvcc *m, uint32_t txn)
{
	if (!m->any_dirty || !m->schedule->txns[txn].disconnected || !m->store.txns[txn + 1].undo ||
		choose(m, 2) == 0)
		return false;
	TRAIL_SET(&m->store.trail, TXN, &m->store.txns[txn + 1], left, 1);
	return true;
}

void end_those_who_left(struct mvcc *m)
{
	for (size_t i = 0; i < m->loose_end_count; i++) {
		if (m->store.txns[m->loose_ends[i].txn].left &&
			store_is_active(&m->store, m->loose_ends[i].txn))
			roll_back(m, m->loose_ends[i].txn);
	}
}

/* Those whose end could matter to the statement. */
static uint32_t candidates(const struct mvcc *m, uint32_t stmt, uint32_t *out)
{
	uint64_t tables = stmt_tables(m, stmt);
	uint32_t count = 0;

	for (size_t i = 0; i < m->loose_end_count && count < LOOSE_TRIED_MAX; i++) {
		if (may_be_gone(m, &m->loose_ends[i]) &&
			m->schedule->stmts[stmt].txn + 1 != m->loose_ends[i].txn &&
			(m->store.txns[m->loose_ends[i].txn].tables & tables))
			out[count++] = m->loose_ends[i].txn;
	}
	return count;
}

static void end_some(struct mvcc *m, const uint32_t *txns, uint32_t count, uint32_t mask)
{
	for (uint32_t i = 0; i < count; i++) {
		if (mask & 1u << i)
			roll_back(m, txns[i]);
	}
}

static bool is_loose(const struct mvcc *m, uint32_t txn)
{
	for (size_t i = 0; i < m->loose_end_count; i++) {
		if (m->loose_ends[i].txn == txn)
			return may_be_gone(m, &m->loose_ends[i]);
	}
	return false;
}

/* Once more, with transactions gone whose end is loose.  An answer that a lock forbids says itself
 * whose; of others each combination is tried. */
static bool execute_after_ends(struct mvcc *m, uint32_t stmt)
{
	struct state_mark mark = state_mark(m);
	uint32_t found[LOOSE_TRIED_MAX], count;

	if (m->search.mismatch.kind == MISMATCH_LOCK) {
		while (m->search.mismatch.kind == MISMATCH_LOCK && is_loose(m, m->search.mismatch.other_txn)) {
			uint32_t holder = m->search.mismatch.other_txn;

			state_return(m, &mark);
			roll_back(m, holder);
			mark = state_mark(m);
			if (execute(m, stmt))
				return true;
		}
		return false;
	}
	count = candidates(m, stmt, found);
	if (!count)
		return false;
	end_some(m, found, count, choose(m, (1u << count) - 1) + 1);
	return execute(m, stmt);
}

bool execute_stmt(struct mvcc *m, uint32_t stmt)
{
	struct state_mark mark;
	size_t script;

	if (!m->loose_end_count)
		return execute(m, stmt);
	/* What a dirty read put into a table shows much later. */
	if (m->runs[stmt].plan->reads_by_query && m->any_dirty) {
		uint32_t found[LOOSE_TRIED_MAX], count = candidates(m, stmt, found);

		end_some(m, found, count, choose(m, 1u << count));
	}
	mark = state_mark(m);
	script = m->search.script;
	if (execute(m, stmt))
		return true;
	state_return(m, &mark);
	if (execute_after_ends(m, stmt))
		return true;
	/* The contradiction is the one of the usual order. */
	state_return(m, &mark);
	m->search.script = script;
	return execute(m, stmt);
}
