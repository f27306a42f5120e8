/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshot isolation without the search.  Of two transactions that both changed one row and both
 * committed, one must have its snapshot after the other's commit (first committer wins; MariaDB:
 * error 1020).  Where both snapshots were there before either COMMIT was sent, that is broken in
 * whichever order anything was executed; so it is certain also where sessions overlap so much that the
 * search gives up (MDEV-39263 shows under such loads only).
 *
 * Only what is certain counts: rows named by their primary key in WHERE alone or beside other
 * conditions, and counted as changed; snapshots whose making was answered.
 */
#include "mvcc/search/first_committer_wins.h"

#include <stdlib.h>

#include "base/mem.h"
#include "mvcc/execute/transaction_control.h"
#include "mvcc/explain/explain.h"
#include "mvcc/plan/key_ranges.h"
#include "mvcc/solver.h"

/* A transaction that changed the row. */
struct writer {
	uint32_t table, txn, stmt;
	int64_t key;
	uint64_t seen; /* its snapshot was there */
	uint64_t ends; /* its COMMIT was sent */
};

struct span_of_txn {
	uint64_t seen, ends;
};

/* Did it make its transaction's read view, if there was none?  A read by the primary key alone is
 * always carried out. */
static bool makes_view_surely(const struct mvcc *m, uint32_t i)
{
	const struct schedule_stmt *s = &m->schedule->stmts[i];
	const struct plan *plan = m->runs[i].plan;

	if (s->in->record.error || (s->in->record.flags & STMT_NO_REPLY))
		return false;
	for (const struct schedule_txn_event *e = s->txn_events; e; e = e->next)
		if (e->event == TXN_BEGIN && e->txn == s->txn)
			return m->schedule->txns[s->txn].snapshot;
	return plan->query && plan->reads && !plan->lock && !plan->writes && !plan->unsupported &&
	       !plan->uses_unknown_tables && plan->table_count == 1 && plan->reach &&
	       key_set_is_all(plan->reach);
}

/* Is its level, what it did and its end beyond doubt? */
static bool is_plain(const struct mvcc *m, uint32_t txn)
{
	const struct schedule_txn *t = &m->schedule->txns[txn];

	return t->level == LEVEL_REPEATABLE_READ && !m->store.txns[txn + 1].level_unknown &&
	       t->outcome == TXN_COMMITTED && !t->autocommit && t->mixed == TXN_MIXED_NO && !t->disconnected;
}

static struct span_of_txn *spans_of(const struct mvcc *m)
{
	const struct schedule *s = m->schedule;
	struct span_of_txn *spans = mem_zero(s->txn_count + 1, sizeof(*spans));

	for (size_t i = 0; i < s->txn_count; i++)
		spans[i] = (struct span_of_txn){UINT64_MAX, 0};
	for (uint32_t i = 0; i < s->stmt_count; i++) {
		const struct schedule_stmt *stmt = &s->stmts[i];

		for (const struct schedule_txn_event *e = stmt->txn_events; e; e = e->next) {
			if (e->event == TXN_END)
				spans[e->txn].ends = stmt->in->record.begin_seq;
			else if (e->event == TXN_ROLLBACK_TO)
				spans[e->txn].seen = 0; /* not certain what is left of it */
		}
		if (stmt->txn != SCHEDULE_NONE && spans[stmt->txn].seen == UINT64_MAX &&
			makes_view_surely(m, i))
			spans[stmt->txn].seen = stmt->in->record.seq;
		/* It was over before, perhaps, and the read view gone with it. */
		if (may_commit_by_failing(m, i))
			spans[stmt->txn].seen = 0;
	}
	return spans;
}

static bool is_write(const struct mvcc *m, uint32_t i, const struct span_of_txn *spans,
	int64_t *key)
{
	const struct schedule_stmt *s = &m->schedule->stmts[i];
	const struct plan *plan = m->runs[i].plan;

	return !m->runs[i].replans && plan->key.engine == ENGINE_INNODB_SI && plan->change && plan->one_table &&
	       !plan->unsupported && !plan->uses_unknown_tables &&
	       !plan->reads_by_query && plan->reach && key_set_single(plan->reach, key) &&
	       s->txn != SCHEDULE_NONE && !s->in->record.error &&
	       !(s->in->record.flags & STMT_NO_REPLY) && s->in->record.affected == 1 &&
	       is_plain(m, s->txn) && !m->sessions[s->in->session].unmodelled && spans[s->txn].seen &&
	       spans[s->txn].seen < spans[s->txn].ends;
}

static int by_row(const void *a, const void *b)
{
	const struct writer *x = a, *y = b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->seen != y->seen)
		return x->seen < y->seen ? -1 : 1;
	return (x->stmt > y->stmt) - (x->stmt < y->stmt);
}

/* The one that wrote later is the one that had to fail. */
static void tell(struct mvcc *m, const struct writer *a, const struct writer *b)
{
	const struct writer *late = a->stmt > b->stmt ? a : b, *early = late == a ? b : a;

	/* The search has reported what it decided. */
	if (m->runs[late->stmt].verdict != STMT_UNDECIDED &&
		m->runs[early->stmt].verdict != STMT_UNDECIDED)
		return;
	m->runs[late->stmt].verdict = STMT_DECIDED;
	note_concurrent(m, late->stmt, early->txn + 1, late->table, late->key);
}

/* All that are sorted by their snapshots: of those before it, the ones that had not sent COMMIT. */
static void judge_row(struct mvcc *m, const struct writer *writers, size_t count)
{
	enum { OPEN_MAX = 256 };
	size_t open[OPEN_MAX], open_count = 0;

	for (size_t i = 0; i < count; i++) {
		size_t kept = 0;

		for (size_t k = 0; k < open_count; k++) {
			const struct writer *other = &writers[open[k]];

			if (other->ends <= writers[i].seen)
				continue;
			open[kept++] = open[k];
			if (other->txn != writers[i].txn)
				tell(m, other, &writers[i]);
		}
		open_count = kept;
		if (open_count < OPEN_MAX)
			open[open_count++] = i;
	}
}

void judge_concurrent(struct mvcc *m)
{
	struct span_of_txn *spans;
	struct writer *writers;
	size_t count = 0;

	if (!m->has_si || m->schedule->one_at_a_time)
		return;
	spans = spans_of(m);
	writers = mem_zero(m->schedule->stmt_count + 1, sizeof(*writers));
	for (uint32_t i = 0; i < m->schedule->stmt_count; i++) {
		uint32_t txn = m->schedule->stmts[i].txn;
		int64_t key;

		if (is_write(m, i, spans, &key))
			writers[count++] = (struct writer){m->runs[i].plan->tables[0], txn, i, key,
				spans[txn].seen, spans[txn].ends};
	}
	qsort(writers, count, sizeof(*writers), by_row);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && writers[end].table == writers[i].table &&
				  writers[end].key == writers[i].key;
			end++) {
		}
		judge_row(m, writers + i, end - i);
	}
	mem_free(writers);
	mem_free(spans);
}
