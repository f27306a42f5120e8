/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which version of which row a statement sees. */
#include "mvcc/read/visibility.h"

#include "base/bug.h"
#include "mvcc/explain/explain.h"
#include "mvcc/plan/key_ranges.h"
#include "mvcc/plan/lookups.h"
#include "mvcc/read/lock_wait.h"
#include "mvcc/read/serializable_reads.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"

struct store_table *solver_store_table(struct mvcc *m, const struct eval_table *def)
{
	for (uint32_t i = 0; i < m->store.table_count; i++) {
		if (m->store.tables[i].def == def)
			return &m->store.tables[i];
	}
	return NULL;
}

/* Reads in a SELECT's subqueries stay plain ones; one query block is locked by its own clause. */
enum read_mode read_mode_of(const struct mvcc *m)
{
	const struct plan *plan = m->now.plan;
	bool dirty = m->now.level == LEVEL_READ_UNCOMMITTED;
	bool weak = m->now.level <= LEVEL_READ_COMMITTED;

	if (plan->stmt->kind == SQL_STMT_SELECT) {
		if (plan->lock)
			/* TiDB's FOR SHARE is a plain read (contract tidb-pessimistic). */
			return m->now.engine == ENGINE_TIDB && plan->lock->mode != SQL_LOCK_FOR_UPDATE
				       ? READ_SNAPSHOT
				       : READ_CURRENT;
		if (dirty && m->now.engine != ENGINE_TIDB)
			return READ_DIRTY;
		if (m->now.level == LEVEL_SERIALIZABLE && m->now.engine != ENGINE_TIDB &&
			!m->now.autocommit)
			return READ_CURRENT;
		return READ_SNAPSHOT;
	}
	/* At READ COMMITTED and below InnoDB reads the source of INSERT ... SELECT and the
	 * subqueries of a single-table UPDATE without locks (ha_innobase::store_lock; MySQL manual,
	 * "Locks Set by Different SQL Statements in InnoDB"). */
	if (weak && m->now.engine != ENGINE_TIDB &&
		(plan->insert || (plan->stmt->kind == SQL_STMT_UPDATE && plan->change)))
		return dirty ? READ_DIRTY : READ_SNAPSHOT;
	return READ_CURRENT;
}

/* ---- rows that a waiting statement may have passed before they changed ---- */

/* Is it this table's rows that WHERE of the statement tests?  Not those of its subqueries. */
static bool is_tested(const struct mvcc *m, const struct store_table *table)
{
	if (m->now.matching)
		return false;
	return m->now.plan->change ? eval_change_table(m->now.plan->change) == table->def
				   : m->now.plan->single;
}

static bool moved_in_index(
	const struct store_table *table, const struct eval_value *from, const struct eval_value *to)
{
	const struct eval_table *def = table->def;

	for (uint32_t i = 0; i < def->index_count; i++) {
		const struct eval_index *index = &def->indexes[i];

		for (uint32_t c = 0; c < index->count; c++) {
			uint32_t column = index->columns[c];

			if (column == UINT32_MAX || eval_order(&def->columns[column].type,
							    &from[column], &to[column]) != 0)
				return true;
		}
	}
	return false;
}

/* How a scan can have missed a row that is there now. */
enum passed {
	PASSED_NOT,
	PASSED_JUDGED, /* it was there under the same keys all along, and did not match before */
	PASSED_GAP,    /* it came, or moved in an index, to where the scan had been */
};

/* At READ COMMITTED a scan lets go of rows that do not match.  Was there, since the statement was
 * sent, a committed state of the record in which it did not match? */
static enum passed may_have_passed(
	struct mvcc *m, const struct store_table *table, const struct store_record *record)
{
	const struct store *s = &m->store;
	uint32_t begin = m->runs[m->now.stmt].begin_commits;
	const struct store_version *v = store_current(s, record, m->now.txn), *later = v;
	uint32_t last = STORE_NONE;

	if (v->txn == m->now.txn || s->txns[v->txn].commit_no <= begin)
		return PASSED_NOT;
	/* Without a semi-consistent read, what was there uncommitted when the scan came is waited
	 * for, not passed. */
	if ((m->now.plan->stmt->kind != SQL_STMT_UPDATE ||
		    (m->now.engine == ENGINE_INNODB_SI && m->now.level == LEVEL_READ_COMMITTED)) &&
		m->schedule->one_at_a_time && v->stmt != STORE_NONE &&
		m->schedule->stmts[v->stmt].in->record.seq <
			m->schedule->stmts[m->now.stmt].in->record.begin_seq)
		return PASSED_NOT;
	/* Backwards through the versions that were the newest committed one at some time. */
	for (v = v->previous;; v = v->previous) {
		enum eval_truth truth = EVAL_TRUE;

		while (v && (s->txns[v->txn].state != STORE_COMMITTED || v->txn == last))
			v = v->previous;
		if (!store_alive(v))
			return PASSED_GAP;
		last = v->txn;
		/* Its entry in an index went from a place ahead of the scan to one that it had passed. */
		if (moved_in_index(table, v->image, later->image))
			return PASSED_GAP;
		later = v;
		if (!is_tested(m, table) || !row_matches(m, v->image, &truth) || truth != EVAL_TRUE)
			return PASSED_JUDGED;
		if (s->txns[v->txn].commit_no <= begin)
			return PASSED_NOT;
	}
}

bool row_matches(struct mvcc *m, const struct eval_value *row, enum eval_truth *truth)
{
	const struct plan *plan = m->now.plan;
	struct eval_outcome outcome = {0};
	bool was = m->now.matching, told = true;

	*truth = EVAL_TRUE;
	m->now.matching = true;
	if (plan->change)
		told = eval_change_test(
			plan->change, &m->scratch, &m->now.env, &m->source, row, truth, &outcome);
	else if (plan->where)
		told = eval_expr_test(
			plan->where, &m->scratch, &m->now.env, &m->source, row, truth, &outcome);
	m->now.matching = was;
	return told;
}

/* The newest version when the statement was sent, where it was not committed then; NULL: there was none such. */
static const struct store_version *dirty_at_begin(const struct mvcc *m, const struct store_version *v)
{
	uint64_t begin = m->schedule->stmts[m->now.stmt].in->record.begin_seq;

	while (v && v->stmt != STORE_NONE && m->schedule->stmts[v->stmt].in->record.seq > begin)
		v = v->previous;
	return v && v->txn != m->now.txn &&
			       m->store.txns[v->txn].commit_no > m->runs[m->now.stmt].begin_commits
		       ? v
		       : NULL;
}

/* MariaDB with innodb_snapshot_isolation=ON looks at what is not committed yet when an UPDATE at
 * READ UNCOMMITTED meets a locked row, and passes over it where that does not match (seen on 11.8).
 * That may be taken back later.
 */
bool passes_dirty(const struct mvcc *m, uint32_t level)
{
	return m->now.engine == ENGINE_INNODB_SI && level == LEVEL_READ_UNCOMMITTED;
}

static bool may_pass_dirty(struct mvcc *m, const struct store_table *table,
	const struct store_record *record, bool *likely)
{
	const struct store_version *v = record->newest;
	enum eval_truth truth;

	if (!passes_dirty(m, m->now.level) || m->now.plan->stmt->kind != SQL_STMT_UPDATE || !is_tested(m, table))
		return false;
	if (v->txn == m->now.txn)
		return false;
	if (!store_is_active(&m->store, v->txn)) {
		/* A statement that waits may have changed any row already; what a transaction had
		 * changed while this one waited may be rolled back by now. */
		v = dirty_at_begin(m, v);
		*likely = v && (!store_alive(v) || (row_matches(m, v->image, &truth) && truth != EVAL_TRUE));
		return m->now.half_done || may_have_waited(m);
	}
	*likely = true;
	return !store_alive(v) || !row_matches(m, v->image, &truth) || truth != EVAL_TRUE;
}

/* Does the statement leave out a row that is there now? */
static bool left_out(struct mvcc *m, const struct store_table *table, struct store_record *record)
{
	enum passed passed = PASSED_NOT;
	bool dirty = false, likely = false;
	enum eval_truth truth;

	if (m->now.level > LEVEL_READ_COMMITTED || m->now.engine == ENGINE_TIDB)
		return false;
	if (m->runs[m->now.stmt].begin_commits != m->store.commits)
		passed = may_have_passed(m, table, record);
	dirty = may_pass_dirty(m, table, record, &likely);
	if (!passed && !dirty)
		return false;
	/* What does not match is of no consequence. */
	if (is_tested(m, table) &&
		row_matches(m, store_current(&m->store, record, m->now.txn)->image, &truth) &&
		truth != EVAL_TRUE)
		return false;
	if (m->now.optional == MVCC_OPTIONAL_MAX) {
		m->now.capped = true;
		return false;
	}
	m->now.optional++;
	/* Where it had to wait otherwise, leaving out is what happens. */
	if (((m->now.plan->writes ? choose(m, 2) : choose_for(m, m->now.txn, 2)) == 0) != likely)
		return false;
	/* Of several rows the one that says most about the engine. */
	if (m->now.split && !m->now.split_gap)
		return true;
	m->now.split = true;
	m->now.split_gap = passed == PASSED_GAP;
	m->now.split_record = record;
	m->now.split_table = (uint32_t)(table - m->store.tables);
	return true;
}

/* ---- gathering ---- */

void set_view(struct mvcc *m, uint32_t txn, uint32_t view, uint32_t low)
{
	struct store_txn *t = &m->store.txns[txn];

	TRAIL_SET(&m->store.trail, TXN, t, view, view);
	TRAIL_SET(&m->store.trail, TXN, t, view_low, low);
	TRAIL_SET(&m->store.trail, TXN, t, view_high, m->store.commits);
}

uint32_t statement_view(struct mvcc *m)
{
	struct store_txn *t = &m->store.txns[m->now.txn];
	uint32_t begin = m->runs[m->now.stmt].begin_commits, view;

	if (t->view != STORE_NONE && m->now.level >= LEVEL_REPEATABLE_READ)
		return t->view;
	if (m->now.view != STORE_NONE) /* tried by a query (execute.c), or made before */
		return m->now.view;
	/* A statement that overlaps commits may have begun to read before or after each of them. */
	view = m->store.commits;
	if (begin < view) {
		uint32_t taken = m->now.plan->writes
					 ? choose(m, view - begin + 1)
					 : choose_for(m, m->now.txn, view - begin + 1);

		view = m->schedule->stmts[m->now.stmt].in->record.blocked_ns ? begin + taken
									     : view - taken;
	}
	m->now.view = view;
	if (m->now.level >= LEVEL_REPEATABLE_READ) {
		set_view(m, m->now.txn, view, begin);
		TRAIL_SET(&m->store.trail, TXN, t, view_stmt, m->now.stmt);
	}
	return view;
}

/* Versions of its own that a statement steps over one by one: what a transaction found may have been taken back since. */
enum { OWN_WALKED = 64 };

/* Once a transaction and rule. */
static void note_snapshot_oddities(
	struct mvcc *m, struct store_table *table, struct store_record *record, uint32_t view)
{
	const struct store *s = &m->store;
	struct store_version *seen = store_visible(s, record, m->now.txn, view);
	struct store_version *before;

	if (m->now.level != LEVEL_REPEATABLE_READ || !store_alive(seen) || seen->maybe)
		return;
	if (seen->txn != m->now.txn) {
		const struct store_version *now = store_current(s, record, m->now.txn);

		if (now != seen && !store_alive(now) && !now->maybe &&
			s->txns[m->now.txn].noted & 1u << NOTE_CURRENT_WRITE)
			note_add(m, NOTE_DELETED_ROW, now->txn, (uint32_t)(table - m->store.tables),
				record);
		return;
	}
	before = seen->previous;
	for (uint32_t own = 0; before && before->txn == m->now.txn; own++)
		before = own < OWN_WALKED ? before->previous : before->under;
	/* Where that is forbidden the write had to fail; one that could not be judged may have been
	 * before the other. */
	if (m->now.engine == ENGINE_INNODB_SI && seen->stmt != STORE_NONE &&
		m->runs[seen->stmt].verdict != STMT_DECIDED)
		return;
	/* My own version stands on one that my snapshot does not have. */
	if (before && !before->maybe && s->txns[before->txn].state == STORE_COMMITTED &&
		s->txns[before->txn].commit_no > view)
		note_add(m, NOTE_OWN_WRITE_SHOWS, before->txn, (uint32_t)(table - m->store.tables),
			record);
}

size_t records_of(struct mvcc *m, struct store_table *table, struct store_record ***out)
{
	size_t count;

	if (m->now.plan->key_set && table == &m->store.tables[m->now.plan->tables[0]])
		return key_set_records(m, table, out);
	if (lookup_records(m, table, out, &count))
		return count;
	*out = table->records;
	return table->count;
}

/* The rows of a table as the current statement sees them. */
bool gather(struct mvcc *m, struct store_table *table, enum read_mode mode, struct gathered *out)
{
	uint32_t view = mode == READ_SNAPSHOT ? statement_view(m) : 0;
	const struct ranges *ranges = ranges_for(m, table);
	struct store_record **from, **records;
	const struct eval_value **rows;
	size_t count = 0, from_count;

	if (table->unknown) {
		m->now.unknown = table->unknown;
		m->now.culprit = table->culprit;
		return false;
	}
	if (mode == READ_SNAPSHOT && view < table->known_since) {
		m->now.unknown = REASON_VIEW_BEFORE_TABLE_KNOWN;
		m->now.culprit = table->culprit;
		return false;
	}
	from_count = records_of(m, table, &from);
	rows = arena_alloc(&m->scratch, (from_count + 1) * sizeof(*rows));
	records = arena_alloc(&m->scratch, (from_count + 1) * sizeof(*records));
	for (size_t i = 0; i < from_count; i++) {
		struct store_record *record = from[i];
		const struct store_version *v = NULL;

		switch (m->now.forced_read) {
		case FORCE_NONE:
			break;
		case FORCE_DIRTY:
			mode = READ_DIRTY;
			break;
		case FORCE_CURRENT:
			mode = READ_CURRENT;
			break;
		case FORCE_SNAPSHOT:
			mode = READ_SNAPSHOT;
			view = m->store.txns[m->now.txn].view;
			break;
		case FORCE_NOT_OWN:
			v = store_visible(&m->store, record, STORE_NONE, view);
			if (store_alive(v)) {
				rows[count] = v->image;
				records[count++] = record;
			}
			continue;
		case FORCE_AGAIN:
			v = serializable_read_version(m, record);
			if (store_alive(v)) {
				rows[count] = v->image;
				records[count++] = record;
			}
			continue;
		}
		switch (mode) {
		case READ_DIRTY:
			v = record->newest;
			break;
		case READ_SNAPSHOT:
			v = store_visible(&m->store, record, m->now.txn, view);
			break;
		case READ_CURRENT:
			v = store_current(&m->store, record, m->now.txn);
			break;
		}
		if (!store_alive(v) || (ranges && !ranges_allow(ranges, v->image)) ||
			(mode == READ_CURRENT && !m->now.forced_read && left_out(m, table, record)))
			continue;
		if (mode == READ_DIRTY && !m->now.forced_read && !v->maybe && v->txn != m->now.txn &&
			store_is_active(&m->store, v->txn))
			note_add(m, NOTE_DIRTY_READ, v->txn, (uint32_t)(table - m->store.tables),
				record);
		if (mode == READ_SNAPSHOT && !m->now.forced_read)
			note_snapshot_oddities(m, table, record, view);
		rows[count] = v->image;
		records[count++] = record;
	}
	*out = (struct gathered){rows, records, count, table, mode};
	return true;
}

bool rows_of(void *ctx, const struct eval_table *def, const struct sql_table_ref *ref,
	struct eval_rows *out)
{
	struct mvcc *m = ctx;
	struct store_table *table = solver_store_table(m, def);
	enum read_mode mode = read_mode_of(m);
	struct gathered *g;

	if (!table)
		return sequence_rows(m, def, out);
	/* At SERIALIZABLE as all other plain reads: of a statement that is a transaction by itself they lock nothing. */
	if (m->now.plan->outer && ref != m->now.plan->outer &&
		(m->now.level < LEVEL_SERIALIZABLE || m->now.autocommit))
		mode = READ_SNAPSHOT;
	/* Every mention in one statement sees the same rows, but for those of a locking read and of its
	 * subqueries. */
	for (uint32_t i = 0; i < m->gathered.count; i++) {
		g = &m->gathered.list[i];
		if (g->table == table && (!m->now.plan->outer || g->mode == mode)) {
			*out = (struct eval_rows){g->rows, g->count};
			return true;
		}
	}
	CHECK(m->gathered.count < MVCC_TABLES_MAX * 2);
	g = &m->gathered.list[m->gathered.count];
	if (!gather(m, table, mode, g))
		return false;
	m->gathered.count++;
	*out = (struct eval_rows){g->rows, g->count};
	return true;
}

bool sees_snapshot(const struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	const struct plan *plan = m->runs[stmt].plan;

	return s->txn != SCHEDULE_NONE && m->schedule->txns[s->txn].level == LEVEL_REPEATABLE_READ &&
	       !m->store.txns[s->txn + 1].level_unknown &&
	       m->store.txns[s->txn + 1].view != STORE_NONE && plan->query && !plan->lock &&
	       !plan->writes && !plan->unsupported;
}
