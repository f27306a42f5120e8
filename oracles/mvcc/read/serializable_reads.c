/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a SERIALIZABLE transaction has read stays as it is until the transaction ends.
 *
 * Which index InnoDB picked, and so what it locked, no client sees.  But an answer follows from what was looked at
 * on the way to it, and at SERIALIZABLE all of that is locked, gaps too (MySQL manual, "InnoDB Locking"): whatever
 * index that was in, a change by another transaction which makes the same query answer otherwise has to touch it, and
 * has to wait.  The same holds the other way round: a query that would answer otherwise with what an open
 * transaction has changed meets the locks on that.
 *
 * Only what is certain whatever the order of the rest is judged: the one statement was answered before the other
 * was sent, and the transaction of the first sent another one after the other's answer, which succeeded.
 */
#include "mvcc/read/serializable_reads.h"

#include <stdlib.h>

#include "base/mem.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"

enum {
	READS_WALKED = 1000, /* of a table; the list is long on long traces */
	WRITERS_MAX = 8,     /* that have changed what one query reads */
	ROWS_MAX = 10000,    /* of the tables of a query that is asked again */
};

void serializable_reads_open(struct mvcc *m)
{
	const struct schedule *s = m->schedule;
	uint32_t *next = mem_zero(s->execution->session_count + 1, sizeof(*next));

	m->next_stmts = mem_zero(s->stmt_count + 1, sizeof(*m->next_stmts));
	for (size_t i = 0; i < s->execution->session_count; i++)
		next[i] = STORE_NONE;
	for (uint32_t i = (uint32_t)s->stmt_count; i-- > 0;) {
		m->next_stmts[i] = next[s->stmts[i].in->session];
		next[s->stmts[i].in->session] = i;
	}
	mem_free(next);
	/* Gaps are not locked with it (MySQL up to 5.7, MariaDB up to 10.4). */
	m->gaps_open = span_ieq_str(
		execution_variable(s->execution, "innodb_locks_unsafe_for_binlog"), "ON");
}

static const struct record_stmt *record_of(const struct mvcc *m, uint32_t stmt)
{
	return &m->schedule->stmts[stmt].in->record;
}

/* Was the transaction of `first`, which was answered before `second` was sent, still there when that was answered? */
static bool surely_open(const struct mvcc *m, uint32_t first, uint32_t second)
{
	uint32_t i = first;

	if (record_of(m, first)->seq >= record_of(m, second)->begin_seq)
		return false;
	while (i != STORE_NONE && record_of(m, i)->begin_seq <= record_of(m, second)->seq)
		i = m->next_stmts[i];
	return i != STORE_NONE && m->schedule->stmts[i].txn == m->schedule->stmts[first].txn &&
	       !record_of(m, i)->error && !(record_of(m, i)->flags & STMT_NO_REPLY);
}

/* ---- asking again ---- */

/* Is it known what the query reads, and is that quick to ask again? */
static bool can_be_asked(const struct mvcc *m, const struct plan *plan)
{
	size_t rows = 0;

	for (uint32_t i = 0; i < plan->table_count; i++) {
		const struct store_table *table = &m->store.tables[plan->tables[i]];

		if (table->unknown || table->has_unknown_rows || table->others || table->redefined)
			return false;
		rows += table->count;
	}
	return rows <= ROWS_MAX || plan->key_set;
}

/* Did a statement open it although autocommit is on (MDEV-27922)?  Then no answer says whether its reads lock. */
static bool opened_by_itself(const struct mvcc *m, const struct schedule_txn *txn)
{
	const struct plan *first;

	if (txn->first_stmt == EXECUTION_NONE)
		return true;
	first = m->runs[txn->first_stmt].plan;
	return (first->reads || first->writes) && record_of(m, txn->first_stmt)->status & STATUS_AUTOCOMMIT;
}

/* At SERIALIZABLE, of a query that locks all that it looks at and waits for it. */
static bool is_kept(const struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	const struct execution_rows *result;
	const struct schedule_txn *txn;

	if (!plan->query || !plan->reads || plan->writes || plan->into || plan->uses_unknown_tables || plan->effects ||
		plan->unsupported || plan->procedure || m->gaps_open || plan->key.engine == ENGINE_TIDB ||
		s->txn == SCHEDULE_NONE || s->in->record.error ||
		(plan->lock && plan->lock->wait != SQL_LOCK_WAIT_DEFAULT))
		return false;
	txn = &m->schedule->txns[s->txn];
	if (txn->level != LEVEL_SERIALIZABLE || txn->autocommit || m->store.txns[s->txn + 1].level_unknown ||
		m->store.txns[s->txn + 1].mixed || opened_by_itself(m, txn))
		return false;
	result = schedule_result(m->schedule, s);
	return result && result->complete;
}

struct store_version *serializable_read_version(const struct mvcc *m, const struct store_record *record)
{
	const struct reread *again = &m->now.reread;
	struct store_version *v = record->newest;

	for (; v; v = v->previous) {
		if (v->txn == again->reader ? v->stmt < again->stmt
		    : v->txn == again->writer
			    ? v->stmt != again->without
			    : m->store.txns[v->txn].state == STORE_COMMITTED)
			return v;
	}
	return NULL;
}

enum asked_again { AGAIN_SAME, AGAIN_OTHER, AGAIN_OPEN };

/* May the statement of the current writer make a difference to a query whose WHERE says all about its rows?  Only
 * by rows that match it before or after. */
static bool may_matter(struct mvcc *m, const struct store_undo *since)
{
	const struct plan *plan = m->now.plan;
	const struct store_table *table = &m->store.tables[plan->tables[0]];
	const struct store_undo *u = m->store.txns[m->now.reread.writer].undo;

	if (!plan->single || plan->table_count != 1)
		return true;
	for (; u && u != since; u = u->previous) {
		const struct store_version *sides[2] = {u->version, u->version->previous};
		enum eval_truth truth;

		if (u->record->id >= table->count || table->records[u->record->id] != u->record)
			continue;
		for (int i = 0; i < 2; i++) {
			if (store_alive(sides[i]) &&
				(!row_matches(m, sides[i]->image, &truth) || truth == EVAL_TRUE))
				return true;
		}
	}
	return false;
}

/* The query of m->now.reread, against what it answered. */
static enum asked_again ask(struct mvcc *m, struct eval_result *result)
{
	struct eval_outcome outcome = {0};
	bool undecided;

	m->gathered.count = 0;
	m->now.unknown = REASON_NONE;
	*result = (struct eval_result){0};
	if (!eval_query_run(m->now.plan->query, &m->scratch, &m->now.env, &m->source, result, &outcome))
		return AGAIN_OPEN;
	if (compare_result(m, result, schedule_result(m->schedule, &m->schedule->stmts[m->now.reread.stmt]), &undecided))
		return AGAIN_SAME;
	return undecided ? AGAIN_OPEN : AGAIN_OTHER;
}

/* Makes the query of now.reread the statement that is executed, and returns the one that was.  The caller puts
 * that one back: asking again must leave no trace in it. */
static struct stmt_exec become_reader(struct mvcc *m)
{
	const struct stmt_exec before = m->now;
	uint32_t stmt = m->now.reread.stmt;

	m->now.stmt = stmt;
	m->now.txn = m->now.reread.reader;
	m->now.level = LEVEL_SERIALIZABLE;
	m->now.autocommit = false;
	m->now.plan = m->runs[stmt].plan;
	settings_apply(m, m->now.plan);
	m->now.env.has_last_insert_id = m->runs[stmt].has_last_insert_id;
	m->now.env.last_insert_id = m->runs[stmt].number;
	m->now.forced_read = FORCE_AGAIN;
	return before;
}

static void put_back(struct mvcc *m, const struct stmt_exec *before)
{
	m->now = *before;
	m->gathered.count = 0;
}

static bool contradicts(struct mvcc *m, uint32_t other_txn, const struct eval_result *expected)
{
	m->search.mismatch = (struct mismatch){.kind = MISMATCH_LOCK,
		.stmt = m->now.stmt,
		.table = m->now.plan->tables[0],
		.other_txn = other_txn,
		.read = m->now.reread.stmt + 1,
		.expected = *expected};
	return false;
}

/* ---- a write beside what others have read ---- */

static bool wrote(const struct mvcc *m, const struct store_table *table, const struct store_undo *since)
{
	for (const struct store_undo *u = m->store.txns[m->now.txn].undo; u && u != since; u = u->previous) {
		if (u->record->id < table->count && table->records[u->record->id] == u->record)
			return true;
	}
	return false;
}

/* Are the transaction's own changes from before the read all still there?  A savepoint may take them back. */
static bool keeps_own(const struct mvcc *m, const struct store_read *read)
{
	const struct store_undo *u = m->store.txns[read->txn].undo;

	while (u && u != read->undo)
		u = u->previous;
	return u == read->undo;
}

static bool holds(const struct mvcc *m, const struct store_read *read)
{
	const struct store_txn *t = &m->store.txns[read->txn];

	return store_is_active(&m->store, read->txn) && read->stmt >= t->locks_from && !t->prepared;
}

/* Would it answer otherwise because of the current statement? */
static bool ask_with_and_without(struct mvcc *m, const struct store_read *read, const struct store_undo *since,
	struct eval_result *expected)
{
	struct eval_result before;
	struct stmt_exec writing;
	bool disturbed;

	m->now.reread = (struct reread){read->stmt, read->txn, m->now.txn, STORE_NONE};
	writing = become_reader(m);
	disturbed = may_matter(m, since) && ask(m, expected) == AGAIN_OTHER;
	m->now.reread.without = writing.stmt;
	disturbed = disturbed && ask(m, &before) == AGAIN_SAME;
	put_back(m, &writing);
	return disturbed;
}

bool serializable_reads_stay(struct mvcc *m, const struct store_undo *since)
{
	const struct store_txn *t = &m->store.txns[m->now.txn];
	struct eval_result expected;

	if (m->now.plan->procedure || t->undo == since)
		return true;
	for (uint32_t i = 0; i < m->store.table_count; i++) {
		const struct store_table *table = &m->store.tables[i];
		const struct store_read *read = table->reads;

		if (!read || !wrote(m, table, since))
			continue;
		for (unsigned walked = 0; read && walked < READS_WALKED; read = read->next, walked++) {
			if (read->txn != m->now.txn && holds(m, read) && keeps_own(m, read) &&
				surely_open(m, read->stmt, m->now.stmt) &&
				can_be_asked(m, m->runs[read->stmt].plan) &&
				ask_with_and_without(m, read, since, &expected))
				return contradicts(m, read->txn, &expected);
		}
	}
	return true;
}

/* ---- a read beside what others have written ---- */

/* Open transactions that have changed rows of its tables, by their last change. */
static uint32_t writers_of(const struct mvcc *m, const struct plan *plan, const struct store_version **out)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < plan->table_count; t++) {
		const struct store_table *table = &m->store.tables[plan->tables[t]];

		for (uint32_t r = 0; r < table->count && count < WRITERS_MAX; r++) {
			const struct store_version *v = table->records[r]->newest;
			uint32_t i = 0;

			if (!v || v->txn == m->now.txn || !store_is_active(&m->store, v->txn) || v->stmt == STORE_NONE)
				continue;
			while (i < count && out[i]->txn != v->txn)
				i++;
			if (i == count)
				out[count++] = v;
			else if (v->stmt > out[i]->stmt)
				out[i] = v;
		}
	}
	return count;
}

static bool met_no_writer(struct mvcc *m)
{
	const struct store_version *writers[WRITERS_MAX];
	uint32_t count = writers_of(m, m->now.plan, writers);

	for (uint32_t i = 0; i < count; i++) {
		struct eval_result expected;
		struct stmt_exec reading;
		bool differs;
		/* Nothing of it may be under way. */
		uint32_t next = m->next_stmts[writers[i]->stmt];

		while (next != STORE_NONE && record_of(m, next)->seq < record_of(m, m->now.stmt)->begin_seq)
			next = m->next_stmts[next];
		if (next == STORE_NONE || record_of(m, next)->begin_seq < record_of(m, m->now.stmt)->seq ||
			m->store.txns[writers[i]->txn].mixed || !surely_open(m, writers[i]->stmt, m->now.stmt))
			continue;
		m->now.reread = (struct reread){m->now.stmt, m->now.txn, writers[i]->txn, STORE_NONE};
		reading = become_reader(m);
		differs = ask(m, &expected) == AGAIN_OTHER;
		put_back(m, &reading);
		if (differs)
			return contradicts(m, writers[i]->txn, &expected);
	}
	return true;
}

bool serializable_read_keep(struct mvcc *m)
{
	struct store *s = &m->store;

	if (!is_kept(m, m->now.stmt) || !can_be_asked(m, m->now.plan))
		return true;
	if (!met_no_writer(m))
		return false;
	for (uint32_t i = 0; i < m->now.plan->table_count; i++)
		store_read(s, m->now.txn, m->now.stmt, &s->tables[m->now.plan->tables[i]]);
	return true;
}
