/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One statement: what it can have answered, against what was recorded.
 */
#include "mvcc/execute/execute.h"

#include "base/buf.h"
#include "base/bug.h"
#include "mvcc/execute/foreign_keys.h"
#include "mvcc/execute/returning.h"
#include "mvcc/execute/stored_program_exec.h"
#include "mvcc/execute/write.h"
#include "mvcc/explain/explain.h"
#include "mvcc/plan/answer_info.h"
#include "mvcc/plan/definitions.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/read/lock_wait.h"
#include "mvcc/read/serializable_reads.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"
#include "mvcc/unknown/forget.h"
#include "mvcc/unknown/learn_table.h"
#include "mvcc/unknown/unknown_rows.h"
#include "server/errors.h"
#include "sql/text/refused.h"

static void set_verdict(struct mvcc *m, enum stmt_verdict verdict, uint32_t reason)
{
	struct stmt_run *run = &m->runs[m->now.stmt];
	uint32_t culprit = verdict == STMT_UNDECIDED ? m->now.culprit : 0;

	TRAIL_SET(&m->store.trail, RUN, run, verdict, (uint32_t)verdict);
	TRAIL_SET(&m->store.trail, RUN, run, reason, reason);
	if (run->culprit != culprit)
		TRAIL_SET(&m->store.trail, RUN, run, culprit, culprit);
}

static bool mismatch(struct mvcc *m, enum mismatch_kind kind)
{
	m->search.mismatch = (struct mismatch){.kind = kind,
		.stmt = m->now.stmt,
		.table = m->now.plan->table_count ? m->now.plan->tables[0] : STORE_NONE,
		.other_txn = STORE_NONE};
	return false;
}

/* ---- errors that the engine's concurrency control gives ---- */

/* Is there a committed row in the statement's tables that is newer than the transaction's snapshot,
 * or, where it has none yet, than its beginning? */
static bool changed_since_snapshot(const struct mvcc *m)
{
	const struct store *s = &m->store;
	const struct store_txn *t = &s->txns[m->now.txn];
	uint32_t view = t->view != STORE_NONE ? t->view : t->first_commits;

	/* Through a view, a function or a trigger it may be any table. */
	if (m->now.plan->uses_unknown_tables || m->now.plan->bare || m->now.plan->effects || writes_anywhere(m, m->now.plan))
		return true;
	for (uint32_t i = 0; i < m->now.plan->table_count; i++) {
		const struct store_table *table = &s->tables[m->now.plan->tables[i]];

		if (table->unknown || table->others || table->known_since > view)
			return true;
		for (uint32_t r = 0; r < table->count; r++) {
			/* Own versions hide what they stand on, and so do those that are perhaps there. */
			for (const struct store_version *v =
					store_current(s, table->records[r], m->now.txn);
				v; v = v->previous) {
				if (v->txn != m->now.txn && s->txns[v->txn].state == STORE_COMMITTED &&
					s->txns[v->txn].commit_no > view)
					return true;
			}
		}
	}
	return m->catalog.foreign_key_count > 0;
}

/* True: the recorded error is one of these and was handled; *ok says whether it can be. */
static bool concurrency_error(struct mvcc *m, unsigned error, bool *ok)
{
	*ok = true;
	switch (error) {
	case ER_LOCK_DEADLOCK:
	case ER_LOCK_WAIT_TIMEOUT:
	case ER_LOCK_NOWAIT:
		if (!lock_possible(m))
			note_add(m, NOTE_NEEDLESS_DEADLOCK, STORE_NONE,
				m->now.plan->table_count ? m->now.plan->tables[0] : STORE_NONE,
				NULL);
		touch_tables(m);
		set_verdict(m, STMT_DECIDED, REASON_NONE);
		return true;
	case ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION:
		if (!m->schedule->txns[m->now.txn - 1].read_only ||
			!(m->now.plan->writes || m->now.plan->lock))
			return false;
		/* Statements of a procedure before the one that was refused may have locked rows. */
		if (plan_is_call(m->now.plan))
			touch_tables(m);
		set_verdict(m, STMT_DECIDED, REASON_NONE);
		return true;
	case ER_CHECKREAD:
		if (m->now.plan->stmt && m->now.plan->stmt->kind == SQL_STMT_HANDLER)
			return false; /* has another meaning for it */
		if (m->now.engine != ENGINE_INNODB_SI || !changed_since_snapshot(m)) {
			*ok = mismatch(m, MISMATCH_ERROR);
			return true;
		}
		touch_tables(m);
		set_verdict(m, STMT_DECIDED, REASON_NONE);
		return true;
	}
	return false;
}

/* ---- queries ---- */

/* Locks of a locking read of one table. */
static void lock_read_rows(struct mvcc *m, struct write_answer *a)
{
	const struct plan *plan = m->now.plan;
	enum store_lock_mode mode =
		plan->lock && plan->lock->mode == SQL_LOCK_FOR_UPDATE ? STORE_LOCK_X : STORE_LOCK_S;

	if (!plan->reads_all || read_mode_of(m) != READ_CURRENT || m->gathered.count != 1)
		return;
	for (size_t i = 0; i < m->gathered.list[0].count; i++) {
		const struct gathered *g = &m->gathered.list[0];
		enum eval_truth truth;

		if (!row_matches(m, g->rows[i], &truth) || truth != EVAL_TRUE)
			continue;
		act_on(m, g->table, g->records[i], mode, a);
	}
	meet_changed(m, m->gathered.list[0].table, a);
}

/* SKIP LOCKED: the rows that came were not locked by others, and are now. */
static void lock_rows_that_came(struct mvcc *m, const struct eval_result *result, struct write_answer *a)
{
	const struct plan *plan = m->now.plan;
	const struct execution_rows *recorded = schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]);
	struct store_table *table = &m->store.tables[plan->tables[0]];
	enum store_lock_mode mode =
		plan->lock->mode == SQL_LOCK_FOR_UPDATE ? STORE_LOCK_X : STORE_LOCK_S;
	const struct eval_value *const *rows;
	struct eval_value *row;
	size_t count;

	if (!plan->key_at || plan->key_at > result->column_count || !recorded ||
		!typed_rows(&m->scratch, result->types, result->column_count, recorded, &rows, &count))
		return;
	row = arena_zero(&m->scratch, (table->def->column_count + 1) * sizeof(*row));
	for (size_t i = 0; i < count; i++) {
		struct store_record *record;

		row[table->cluster->columns[0]] = rows[i][plan->key_at - 1];
		record = store_find(&m->store, table, row);
		if (record)
			act_on(m, table, record, mode, a);
	}
}

/* An answer that no statement could have got while the lock was held. */
static bool lock_mismatch(struct mvcc *m, const struct write_answer *a)
{
	m->search.mismatch = (struct mismatch){.kind = MISMATCH_LOCK,
		.stmt = m->now.stmt,
		.table = (uint32_t)(a->held_table - m->store.tables),
		.other_txn = a->held_by,
		.record = a->held_record};
	return false;
}

/* Snapshot isolation: it acted on what is not in its snapshot.  The transaction that committed it stands in the
 * way. */
static bool conflict_mismatch(struct mvcc *m, const struct write_answer *a)
{
	const struct store_version *v =
		store_current(&m->store, a->conflict_record, m->now.txn);

	mismatch(m, MISMATCH_CONFLICT);
	m->search.mismatch.record = a->conflict_record;
	m->search.mismatch.table = (uint32_t)(a->conflict_table - m->store.tables);
	m->search.mismatch.expected_error = ER_CHECKREAD;
	m->search.mismatch.passed = a->conflict_passed;
	while (v && v->txn == m->now.txn)
		v = v->previous;
	if (v && v->txn)
		m->search.mismatch.other_txn = v->txn;
	return false;
}

/* A statement that waits may have changed rows already, which a dirty read sees: how far it came is
 * not known. */
static bool half_done_writer(const struct mvcc *m)
{
	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		uint32_t other = m->search.in_flight[i];
		const struct plan *plan;

		if (other == m->now.stmt || m->runs[other].state == STMT_DONE)
			continue;
		plan = m->runs[other].plan;
		if (writes_anywhere(m, plan) || effects_write(plan->effects))
			return true;
		for (uint32_t t = 0; t < plan->table_count; t++) {
			for (uint32_t u = 0; u < m->now.plan->table_count; u++) {
				if (plan->written[t] &&
					(plan->tables[t] == m->now.plan->tables[u] ||
						foreign_related(m, plan->tables[t],
							m->now.plan->tables[u])))
					return true;
			}
		}
	}
	return false;
}

void doubt_view(struct mvcc *m)
{
	struct store_txn *t = &m->store.txns[m->now.txn];

	if (t->view != STORE_NONE && t->view_stmt == m->now.stmt &&
		choose_for(m, m->now.txn, 2) == 1) {
		TRAIL_SET(&m->store.trail, TXN, t, view, STORE_NONE);
		TRAIL_SET(&m->store.trail, TXN, t, view_stmt, STORE_NONE);
	}
}

/* The optimizer does not look at a table when it sees that nothing can match (EXPLAIN: "Impossible
 * WHERE", "Impossible HAVING"), and then makes no read view. */
static void forget_idle_view(struct mvcc *m, const struct eval_result *result)
{
	struct store_txn *t = &m->store.txns[m->now.txn];
	const struct plan *plan = m->now.plan;
	bool idle = result->row_count <= 1;

	if (t->view == STORE_NONE || t->view_stmt != m->now.stmt ||
		!(plan->filtered || plan->has_plain_subqueries || plan->nested))
		return;
	/* Subqueries are not always asked. */
	idle |= plan->has_plain_subqueries;
	if (plan->single && m->gathered.count == 1) {
		const struct gathered *g = &m->gathered.list[0];
		enum eval_truth truth;

		idle = true;
		for (size_t i = 0; i < g->count && idle; i++)
			idle = !row_matches(m, g->rows[i], &truth) || truth != EVAL_TRUE;
		idle |= plan->stmt->u.query->u.select.having && !result->row_count;
	}
	if (idle)
		doubt_view(m);
}

/* A read that is not evaluated makes a read view all the same, if it looks at a table at all: what
 * we came to before we gave up does not tell. */
static void assume_view(struct mvcc *m)
{
	struct store_txn *t = &m->store.txns[m->now.txn];
	const struct sql_stmt *stmt = m->now.plan->stmt;

	if (t->view != STORE_NONE && t->view_stmt == m->now.stmt) {
		doubt_view(m);
		return;
	}
	if (m->now.level != LEVEL_REPEATABLE_READ || t->view != STORE_NONE ||
		(stmt && m->now.plan->lock && !m->now.plan->has_plain_subqueries))
		return;
	if (choose_for(m, m->now.txn, 2) == 0)
		(void)statement_view(m);
}

enum query_answer {
	QUERY_FITS,
	QUERY_DIFFERS,
	QUERY_OPEN,  /* not known; judged */
	QUERY_FAILS, /* the wrong error; m->search.mismatch */
};

/* A row of my own beside one of my snapshot that has left the key to it: two rows of one unique key,
 * of which a search by that key may find one only. */
static bool sees_twins(const struct mvcc *m, const struct gathered *g)
{
	for (size_t i = 0; g->mode == READ_SNAPSHOT && i < g->count; i++) {
		const struct store_version *newest = g->records[i]->newest;

		if (!newest || newest->txn != m->now.txn)
			continue;
		for (uint32_t u = 0; u < g->table->unique_count; u++) {
			const struct eval_index *index = g->table->uniques[u];

			for (size_t other = 0; !index->primary && !key_is_partial(index) &&
					       other < g->count;
				other++) {
				if (other != i && store_key_equal(g->table->def, index, g->rows[i],
							  g->rows[other]))
					return true;
			}
		}
	}
	return false;
}

/* Is the answer not even in its own order? */
bool answer_is_out_of_order(struct mvcc *m, const struct eval_result *result,
	const struct execution_rows *recorded, uint32_t by)
{
	const struct eval_value *const *rows;
	size_t count;

	if (!by || !recorded || by > result->column_count ||
		!typed_rows(&m->scratch, result->types, result->column_count, recorded, &rows, &count))
		return false;
	for (size_t i = 1; i < count; i++) {
		int order;

		if (eval_order_known(&result->types[by - 1], &rows[i - 1][by - 1], &rows[i][by - 1],
			    &order) &&
			order > 0)
			return true;
	}
	return false;
}

/* The same row twice, where that cannot be whatever the table has. */
bool answer_has_equal_rows(const struct mvcc *m, const struct execution_rows *recorded)
{
	enum { ROWS_MAX = 1000 };

	if (!m->now.plan->rows_differ || !recorded || !recorded->complete ||
		recorded->count > ROWS_MAX)
		return false;
	for (size_t i = 0; i < recorded->count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (span_eq(recorded->rows[i], recorded->rows[j]))
				return true;
		}
	}
	return false;
}

/* SKIP LOCKED: some of the rows, and no more than LIMIT leaves.  QUERY_DIFFERS: not so. */
static enum query_answer passes_over_locked(struct mvcc *m, const struct eval_result *result,
	const struct execution_rows *recorded)
{
	const struct plan *plan = m->now.plan;
	struct eval_result all = *result;
	struct eval_outcome outcome = {0};
	bool undecided;

	if (plan->unlimited)
		m->gathered.count = 0;
	if ((!plan->plain && !plan->unlimited) ||
		(plan->unlimited && !eval_query_run(plan->unlimited, &m->scratch, &m->now.env,
					    &m->source, &all, &outcome))) {
		set_verdict(m, STMT_UNDECIDED, REASON_SKIP_LOCKED);
		return QUERY_OPEN;
	}
	return compare_within(m, &all, recorded, &undecided) &&
			       recorded->count <= result->row_count
		       ? QUERY_FITS
		       : QUERY_DIFFERS;
}

/* SELECT ... INTO @a answers with the count of rows, of which there may be one. */
static bool into_fits(const struct mvcc *m, const struct eval_result *result, bool *undecided)
{
	*undecided = false;
	return result->row_count <= 1 &&
	       result->row_count == m->schedule->stmts[m->now.stmt].in->record.affected;
}

/* Is the answer what was recorded?  False, too: not known (*undecided). */
static bool answer_fits(struct mvcc *m, const struct eval_result *result, bool *undecided)
{
	const struct execution_rows *recorded = schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]);

	return m->now.plan->into ? into_fits(m, result, undecided) : compare_result(m, result, recorded, undecided);
}

/* Does the query, asked once more, answer what it answered when it saw the same rows before? */
static bool answers_as_before(struct mvcc *m, const struct eval_result *before, bool fitted)
{
	struct eval_outcome outcome = {0};
	struct eval_result now = {0};
	bool undecided;

	return eval_query_run(m->now.plan->query, &m->scratch, &m->now.env, &m->source, &now, &outcome) &&
	       now.row_count == before->row_count && now.open_count == before->open_count &&
	       answer_fits(m, &now, &undecided) == fitted && answer_fits(m, before, &undecided) == fitted;
}

static enum query_answer ask_query(struct mvcc *m, struct eval_result *result)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];
	const struct execution_rows *recorded = schedule_result(m->schedule, stmt);
	struct eval_outcome outcome = {0};
	bool undecided = false, fits = false, known;

	m->gathered.count = 0;
	*result = (struct eval_result){0};
	known = query_memo_find(m, result, &fits);
	CHECK_SLOW(!known || answers_as_before(m, result, fits));
	if (!known && !eval_query_run(
		    m->now.plan->query, &m->scratch, &m->now.env, &m->source, result, &outcome)) {
		if (m->now.unknown) {
			set_verdict(m, STMT_UNDECIDED, m->now.unknown);
			learn_table(m);
			doubt_view(m);
			return QUERY_OPEN;
		}
		if (outcome.status == EVAL_UNSUPPORTED) {
			assume_view(m);
			set_verdict(m, STMT_UNSUPPORTED, reason_of_text(&m->reasons, outcome.reason));
			return QUERY_OPEN;
		}
		if (stmt->in->record.error == outcome.error) {
			doubt_view(m);
			set_verdict(m, STMT_DECIDED, REASON_NONE);
			return QUERY_OPEN;
		}
		mismatch(m, MISMATCH_ERROR);
		m->search.mismatch.expected_error = outcome.error;
		return QUERY_FAILS;
	}
	if (m->now.plan->into && stmt->in->record.error == ER_TOO_MANY_ROWS) {
		if (result->row_count <= 1)
			return QUERY_DIFFERS;
		/* How many rows it had locked by then is not known. */
		touch_tables(m);
		assume_view(m);
		set_verdict(m, STMT_DECIDED, REASON_NONE);
		return QUERY_OPEN;
	}
	if (stmt->in->record.error) {
		mismatch(m, MISMATCH_ERROR);
		return QUERY_FAILS;
	}
	/* Rows may be missing where another transaction can hold locks, and then only some. */
	if (skips_locked(m->now.plan) &&
		lock_possible(m)) {
		enum query_answer answer = passes_over_locked(m, result, recorded);

		if (answer != QUERY_DIFFERS)
			return answer;
	}
	if (!known) {
		fits = answer_fits(m, result, &undecided);
		if (!undecided)
			query_memo_keep(m, result, fits);
	}
	if (fits)
		return QUERY_FITS;
	if (undecided) {
		set_verdict(m, STMT_UNDECIDED, compare_reason(m));
		if (m->now.uncomputed)
			learn_unknown_rows(m);
		return QUERY_OPEN;
	}
	if (m->now.plan->reads && read_mode_of(m) == READ_DIRTY && m->now.half_done) {
		if (answer_is_out_of_order(m, result, recorded, m->now.plan->sorted_by) ||
			(m->schedule->one_at_a_time && answer_has_equal_rows(m, recorded)))
			return QUERY_DIFFERS;
		set_verdict(m, STMT_UNDECIDED, REASON_DIRTY_READ_DURING_WAIT);
		return QUERY_OPEN;
	}
	/* Which rows of the locked table it may have passed before they changed is not followed there. */
	if (m->now.plan->outer && m->now.level <= LEVEL_READ_COMMITTED &&
		m->runs[m->now.stmt].begin_commits != m->store.commits) {
		set_verdict(m, STMT_UNDECIDED, REASON_LOCKING_READ_BESIDE_COMMITS);
		return QUERY_OPEN;
	}
	for (uint32_t i = 0; i < m->gathered.count; i++) {
		if (sees_twins(m, &m->gathered.list[i])) {
			set_verdict(m, STMT_UNDECIDED, REASON_VIEW_WITH_DUPLICATE_KEY);
			return QUERY_OPEN;
		}
	}
	return QUERY_DIFFERS;
}

/* m->now.view does not say which read view a query made: one that fitted before,
 * any of these, or none at all.  Later reads of its transaction tell. */
static void choose_open_view(struct mvcc *m, const uint32_t *fits, uint32_t count, uint32_t begin)
{
	struct store_txn *t = &m->store.txns[m->now.txn];
	uint32_t open = m->now.view - begin + 1, view,
		 pick = choose_for(m, m->now.txn, count + open + 1);

	if (pick == count + open)
		return;
	view = pick < count ? fits[pick] : m->now.view - (pick - count);
	set_view(m, m->now.txn, view, begin);
	TRAIL_SET(&m->store.trail, TXN, t, view_stmt, m->now.stmt);
}

/* A plain read that overlaps commits: each of its possible read views is tried.  One that is for
 * this statement only leaves no choice behind; a transaction's stays, so which of those that fit is
 * a choice. */
static enum query_answer ask_in_views(struct mvcc *m, struct eval_result *result)
{
	enum { VIEWS_MAX = 32 };
	struct store_txn *t = &m->store.txns[m->now.txn];
	uint32_t begin = m->runs[m->now.stmt].begin_commits, end = m->store.commits;
	uint32_t fits[VIEWS_MAX], count = 0, tried = end - begin + 1, pick;
	bool lasts = m->now.level >= LEVEL_REPEATABLE_READ;
	enum query_answer answer = QUERY_DIFFERS;

	if (begin == end || (lasts && t->view != STORE_NONE) || !m->now.plan->reads ||
		read_mode_of(m) != READ_SNAPSHOT)
		return ask_query(m, result);
	for (uint32_t view = end; view + 1 > begin && end - view < VIEWS_MAX; view--) {
		m->now.view = view;
		answer = ask_query(m, result);
		if (answer == QUERY_OPEN && lasts)
			choose_open_view(m, fits, count, begin);
		if (answer != QUERY_FITS && answer != QUERY_DIFFERS)
			return answer;
		if (answer == QUERY_FITS) {
			fits[count++] = view;
			if (!lasts)
				return QUERY_FITS;
		}
	}
	m->now.capped |= tried > VIEWS_MAX;
	tried = tried < VIEWS_MAX ? tried : VIEWS_MAX;
	m->now.view = end;
	if (count) {
		/* Those that were not tried come last. */
		pick = choose_for(m, m->now.txn, count + end - begin + 1 - tried);
		m->now.view = pick < count ? fits[pick] : end - tried - (pick - count);
		set_view(m, m->now.txn, m->now.view, begin);
		TRAIL_SET(&m->store.trail, TXN, t, view_stmt, m->now.stmt);
	}
	return ask_query(m, result);
}

static bool run_query(struct mvcc *m)
{
	struct write_answer answer = {.status = EVAL_OK, .held_by = STORE_NONE};
	struct eval_result result;

	switch (ask_in_views(m, &result)) {
	case QUERY_OPEN:
		return true;
	case QUERY_FAILS:
		return false;
	case QUERY_DIFFERS:
		if (m->now.plan->into) {
			mismatch(m, result.row_count > 1 || m->schedule->stmts[m->now.stmt].in->record.error
					    ? MISMATCH_ERROR
					    : MISMATCH_AFFECTED);
			m->search.mismatch.expected_error = result.row_count > 1 ? ER_TOO_MANY_ROWS : 0;
			m->search.mismatch.expected_affected = m->search.mismatch.expected_matched = result.row_count;
			return false;
		}
		mismatch(m, MISMATCH_RESULT);
		m->search.mismatch.expected = result;
		return false;
	case QUERY_FITS:
		break;
	}
	if (skips_locked(m->now.plan))
		lock_rows_that_came(m, &result, &answer);
	else
		lock_read_rows(m, &answer);
	if (answer.held_by != STORE_NONE)
		return lock_mismatch(m, &answer);
	if (answer.conflict)
		return conflict_mismatch(m, &answer);
	take_locks(m);
	set_verdict(m, STMT_DECIDED, REASON_NONE);
	/* A subquery that we did not come to may have been the first thing that the server asked: IF(1, 5, (SELECT
	 * ...)). */
	if ((m->now.plan->has_plain_subqueries || (m->now.plan->reads && !m->now.plan->lock)) &&
		m->store.txns[m->now.txn].view == STORE_NONE)
		assume_view(m);
	else
		forget_idle_view(m, &result);
	return true;
}

/* ---- writes ---- */

static bool counts_fit(struct mvcc *m, const struct write_answer *a)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];
	bool found = m->schedule->execution->sessions[stmt->in->session].capabilities &
		     CLIENT_FOUND_ROWS;
	uint64_t affected = a->affected, matched;

	if (found && m->now.plan->stmt->kind == SQL_STMT_UPDATE)
		affected = a->matched;
	else if (found && m->now.plan->insert && m->now.plan->stmt->u.insert->on_duplicate)
		affected += a->untouched;
	if (a->at_most ? !stmt->in->record.affected || stmt->in->record.affected > a->at_most
		       : affected != stmt->in->record.affected)
		return false;
	return m->now.plan->stmt->kind != SQL_STMT_UPDATE ||
	       !info_number(stmt->in->record.info, "matched", &matched) || matched == a->matched;
}

/* With unique_checks=0 the server need not look whether a secondary key is there already, nor wait for its writer (MySQL
 * manual, "unique_checks"): a duplicate, or a lock, that it passed over. */
static bool passes_unique_checks(const struct mvcc *m, const struct write_answer *a)
{
	return m->now.no_unique_checks && !m->schedule->stmts[m->now.stmt].in->record.error &&
	       (a->held_by != STORE_NONE || (a->status == EVAL_ERROR && write_can_fail(a, ER_DUP_ENTRY)));
}

static bool run_write(struct mvcc *m)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];
	struct write_answer a;
	struct eval_result expected;
	bool undecided = false;
	struct store_txn *t = &m->store.txns[m->now.txn];
	struct store_undo *undo = t->undo;
	uint32_t undo_count = t->undo_count, noted = t->noted;
	size_t notes = m->note_count;

	/* When it read while it waited, or while others did, is not known, and dirty states are
	 * not kept: what is there now may explain the answer, or not. */
	if (m->now.plan->reads_by_query && read_mode_of(m) == READ_DIRTY &&
		(m->now.half_done || may_have_waited(m)) && choose(m, 2) == 1) {
		if (!stmt->in->record.error)
			forget_written(m, REASON_WRITTEN_FROM_DIRTY_READS);
		set_verdict(m, STMT_UNDECIDED, REASON_DIRTY_READ_DURING_WAIT);
		return true;
	}
	write_execute(m, m->now.plan, &a);
	/* How far it came before it failed is not known. */
	if (stmt->in->record.error) {
		notes_drop(m, notes);
		TRAIL_SET(&m->store.trail, TXN, t, noted, noted);
	}
	if (passes_unique_checks(m, &a)) {
		store_rollback_to(&m->store, m->now.txn, undo, undo_count);
		forget_written(m, REASON_UNIQUE_CHECKS_OFF);
		set_verdict(m, STMT_UNDECIDED, REASON_UNIQUE_CHECKS_OFF);
		return true;
	}
	if (a.held_by != STORE_NONE && a.status != EVAL_UNSUPPORTED &&
		!(stmt->in->record.error && write_can_fail(&a, stmt->in->record.error)))
		return lock_mismatch(m, &a);
	switch (a.status) {
	case EVAL_UNSUPPORTED:
		if (m->now.plan->insert && !insert_may_count(m, m->now.plan)) {
			mismatch(m, MISMATCH_AFFECTED);
			m->search.mismatch.expected_affected = m->search.mismatch.expected_matched = a.matched;
			return false;
		}
		forget_unsupported(m);
		set_verdict(m, m->now.unknown ? STMT_UNDECIDED : STMT_UNSUPPORTED, a.reason);
		return true;
	case EVAL_ERROR:
		if (write_can_fail(&a, stmt->in->record.error)) {
			set_verdict(m, STMT_DECIDED, REASON_NONE);
			return true;
		}
		if (a.conflict)
			return conflict_mismatch(m, &a);
		mismatch(m, MISMATCH_ERROR);
		m->search.mismatch.expected_error = a.error;
		return false;
	case EVAL_OK:
		break;
	}
	if (stmt->in->record.error == ER_DUP_ENTRY && a.order_matters) {
		store_rollback_to(&m->store, m->now.txn, undo, undo_count);
		set_verdict(m, STMT_DECIDED, REASON_NONE);
		return true;
	}
	if (stmt->in->record.error)
		return mismatch(m, MISMATCH_ERROR);
	if (a.impossible) {
		mismatch(m, MISMATCH_AFFECTED);
		m->search.mismatch.expected_affected = a.affected;
		m->search.mismatch.expected_matched = a.matched;
		return false;
	}
	if (m->now.plan->returning) {
		if (!returning_fits(m, &a, &expected, &undecided) && !undecided) {
			mismatch(m, MISMATCH_RESULT);
			m->search.mismatch.expected = expected;
			return false;
		}
	} else if (!counts_fit(m, &a)) {
		mismatch(m, MISMATCH_AFFECTED);
		m->search.mismatch.expected_affected = a.affected;
		m->search.mismatch.expected_matched = a.matched;
		return false;
	}
	take_locks(m);
	set_verdict(m, undecided ? STMT_UNDECIDED : STMT_DECIDED,
		undecided ? compare_reason(m) : REASON_NONE);
	return true;
}

/* ---- CALL ---- */

/* A procedure, or several statements in one text, that can be executed.  What came before one that fails stays. */
static bool run_call(struct mvcc *m)
{
	const struct record_stmt *r = &m->schedule->stmts[m->now.stmt].in->record;
	const struct body *body = m->now.plan->procedure;
	struct store_txn *t = &m->store.txns[m->now.txn];
	struct store_undo *undo = t->undo;
	uint32_t undo_count = t->undo_count;
	uint64_t rows;
	struct call_answer a = {.write = {.status = EVAL_OK, .held_by = STORE_NONE}};

	/* Each of its statements may have waited, and seen what was committed before. */
	if (!body_is_long(body) || fires_at_once(m, &a.write))
		call_run(m, body, &a);
	/* One of its statements fails or not by the order of the rows: how far it came is not known. */
	if (r->error && a.write.order_matters)
		answer_unsupported(&a.write, REASON_FAILED_IN_PART);
	if (a.write.status == EVAL_UNSUPPORTED) {
		store_rollback_to(&m->store, m->now.txn, undo, undo_count);
		forget_unsupported(m);
		set_verdict(m, m->now.unknown ? STMT_UNDECIDED : STMT_UNSUPPORTED, a.write.reason);
		return true;
	}
	if (a.write.held_by != STORE_NONE)
		return lock_mismatch(m, &a.write);
	if (a.write.conflict)
		return conflict_mismatch(m, &a.write);
	if (a.differs) {
		mismatch(m, MISMATCH_RESULT);
		m->search.mismatch.expected = a.expected;
		return false;
	}
	if (r->error ? !write_can_fail(&a.write, r->error) : a.write.status == EVAL_ERROR) {
		mismatch(m, MISMATCH_ERROR);
		m->search.mismatch.expected_error = a.write.status == EVAL_ERROR ? a.write.error : 0;
		return false;
	}
	/* Of a procedure MariaDB counts the rows of all its statements, MySQL those of the last; where there was none,
	 * those of what was sent before (seen on 8.0 and 9.7). */
	rows = m->now.env.flavour == SQL_MARIADB || m->now.plan->stmt->kind != SQL_STMT_CALL ? a.sum : a.last;
	if (a.counts && !r->error && r->affected != rows &&
		(a.counted || m->now.env.flavour == SQL_MARIADB || m->now.plan->stmt->kind != SQL_STMT_CALL)) {
		mismatch(m, MISMATCH_AFFECTED);
		m->search.mismatch.expected_affected = m->search.mismatch.expected_matched = rows;
		return false;
	}
	set_verdict(m, a.undecided ? STMT_UNDECIDED : STMT_DECIDED,
		a.undecided ? compare_reason(m) : REASON_NONE);
	return true;
}

/* ---- all ---- */

static bool is_among(const uint16_t *errors, size_t count, unsigned error)
{
	for (size_t i = 0; i < count; i++) {
		if (errors[i] == error)
			return true;
	}
	return false;
}

/* Errors of the statement itself that we do not foresee (syntax, privileges, a lost connection
 * ...): it did nothing. */
static bool known_error(unsigned error)
{
	static const uint16_t errors[] = {
		ER_CHECKREAD, ER_BAD_NULL_ERROR, ER_DUP_ENTRY, ER_LOCK_WAIT_TIMEOUT,
		ER_LOCK_DEADLOCK, ER_NO_REFERENCED_ROW, ER_ROW_IS_REFERENCED,
		ER_SUBQUERY_NO_1_ROW, ER_WARN_DATA_OUT_OF_RANGE, WARN_DATA_TRUNCATED,
		ER_TRUNCATED_WRONG_VALUE, ER_NO_DEFAULT_FOR_FIELD, ER_DIVISION_BY_ZERO,
		ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_DATA_TOO_LONG, ER_ROW_IS_REFERENCED_2,
		ER_NO_REFERENCED_ROW_2, ER_DATA_OUT_OF_RANGE,
		ER_FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO,
		ER_FOREIGN_DUPLICATE_KEY_WITHOUT_CHILD_INFO, ER_LOCK_NOWAIT,
		ER_CHECK_CONSTRAINT_VIOLATED, ER_CONSTRAINT_FAILED};

	return is_among(errors, ARRAY_LEN(errors), error);
}

/* What the servers find wrong while they parse a statement, look up its names and check privileges: not a row
 * was looked at.  (MySQL manual, "Server Error Message Reference".) */
static bool error_before_rows(unsigned error)
{
	static const uint16_t errors[] = {
		ER_DBACCESS_DENIED_ERROR, ER_NO_DB_ERROR, ER_BAD_DB_ERROR, ER_NON_UNIQ_ERROR,
		ER_BAD_FIELD_ERROR, ER_WRONG_FIELD_WITH_GROUP, ER_WRONG_GROUP_FIELD,
		ER_DUP_FIELDNAME, ER_PARSE_ERROR, ER_NONUNIQ_TABLE, ER_UPDATE_TABLE_USED,
		ER_UNKNOWN_TABLE, ER_FIELD_SPECIFIED_TWICE, ER_INVALID_GROUP_FUNC_USE,
		ER_UNKNOWN_CHARACTER_SET, ER_WRONG_VALUE_COUNT_ON_ROW,
		ER_MIX_OF_GROUP_FUNC_AND_FIELDS, ER_TABLEACCESS_DENIED_ERROR,
		ER_COLUMNACCESS_DENIED_ERROR, ER_NO_SUCH_TABLE, ER_WRONG_USAGE,
		ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, ER_NOT_SUPPORTED_YET, ER_OPERAND_COLUMNS,
		ER_ILLEGAL_REFERENCE, ER_DERIVED_MUST_HAVE_ALIAS, ER_TABLENAME_NOT_ALLOWED_HERE,
		ER_UNKNOWN_COLLATION, ER_NON_UPDATABLE_TABLE, ER_SP_DOES_NOT_EXIST,
		ER_NONUPDATEABLE_COLUMN, ER_VIEW_INVALID, ER_VIEW_MULTIUPDATE,
		ER_VIEW_NO_INSERT_FIELD_LIST, ER_VIEW_DELETE_MERGE_VIEW, ER_VIEW_PREVENT_UPDATE,
		ER_NON_INSERTABLE_TABLE, ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
		ER_WRONG_PARAMETERS_TO_NATIVE_FCT, ER_FUNC_INEXISTENT_NAME_COLLISION};

	return is_among(errors, ARRAY_LEN(errors), error);
}

/* Those of the server that a stored program can raise: SIGNAL, SELECT ... INTO with more than one row. */
static bool error_of_program(unsigned error)
{
	return error == ER_SIGNAL_EXCEPTION || error == ER_TOO_MANY_ROWS;
}

/* Which conditions are evaluated, on which rows, and whether a subquery is executed at all is the
 * optimizer's choice, so an error that only evaluation raises may come or not: too many rows of a
 * scalar subquery, a truncated value, a division by zero, a value out of range, a bad date, a text that is
 * looked up in an index of numbers.  MySQL 9.7 and MariaDB 10.11 differ in it on the same statements. */
static bool error_of_evaluation(unsigned error)
{
	return error == ER_SUBQUERY_NO_1_ROW || error == ER_TRUNCATED_WRONG_VALUE ||
	       error == ER_DIVISION_BY_ZERO || error == ER_TRUNCATED_WRONG_VALUE_FOR_FIELD ||
	       error == ER_WRONG_VALUE_FOR_TYPE || error == ER_DATETIME_FUNCTION_OVERFLOW ||
	       error == ER_DATA_OUT_OF_RANGE;
}

/* "Out of range value for column 'i' at row 2", "Column 'i' cannot be null" */
static bool names_column(struct span text, struct span name)
{
	static const char before[] = "olumn '";
	const char *at = memmem(text.ptr, text.len, before, sizeof(before) - 1);

	if (!at)
		return false;
	at += sizeof(before) - 1;
	return (size_t)(text.ptr + text.len - at) > name.len && at[name.len] == '\'' &&
	       span_ieq(span_of(at, name.len), name);
}

/* A row that IGNORE, or another sql_mode, let have a VIRTUAL column which cannot hold its value: a statement that
 * writes may compute the column when it reads the row, and fails then (seen on all releases). */
static bool error_of_virtual(const struct mvcc *m, uint32_t stmt)
{
	const struct record_stmt *r = &m->schedule->stmts[stmt].in->record;
	const struct plan *plan = m->runs[stmt].plan;

	if (r->error != ER_BAD_NULL_ERROR && r->error != ER_WARN_DATA_OUT_OF_RANGE &&
		r->error != WARN_DATA_TRUNCATED && r->error != ER_DATA_TOO_LONG)
		return false;
	for (uint32_t t = 0; t < plan->table_count; t++) {
		const struct eval_table *def = m->store.tables[plan->tables[t]].def;

		for (uint32_t c = 0; def && c < def->column_count; c++) {
			if (eval_is_virtual(&def->columns[c]) && names_column(r->error_text, def->columns[c].name))
				return true;
		}
	}
	return false;
}

/* A locking read or a write at READ COMMITTED or below that names a table twice may meet its rows at two moments, and
 * commits came between: of such rows one state for both is not all there can be. */
static bool read_twice_meanwhile(const struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	uint32_t txn = m->schedule->stmts[stmt].txn;

	return plan->names_twice && (plan->writes || plan->lock) && txn != SCHEDULE_NONE &&
	       m->schedule->txns[txn].level <= LEVEL_READ_COMMITTED && m->runs[stmt].begin_commits != m->store.commits;
}

uint32_t mismatch_reason(const struct mvcc *m)
{
	const struct mismatch *mismatch = &m->search.mismatch;

	switch (mismatch->kind) {
	case MISMATCH_ERROR:
		return error_of_evaluation(mismatch->expected_error) ||
				       error_of_evaluation(m->schedule->stmts[mismatch->stmt].in->record.error) ||
				       error_of_virtual(m, mismatch->stmt)
			       ? REASON_ERROR_BY_OPTIMIZER
			       : REASON_NONE;
	case MISMATCH_RESULT:
	case MISMATCH_AFFECTED:
		return read_twice_meanwhile(m, mismatch->stmt) ? REASON_TABLE_READ_TWICE : REASON_NONE;
	case MISMATCH_NONE:
	case MISMATCH_LOCK:
	case MISMATCH_CONFLICT:
	case MISMATCH_FINAL:
		break;
	}
	return REASON_NONE;
}

/* The text of 1451 and 1452 names the child: "... constraint fails (`db`.`child`, CONSTRAINT ..." */
bool unknown_foreign_key(const struct mvcc *m, const struct record_stmt *r)
{
	struct span names[2] = {SPAN_NONE, SPAN_NONE};
	size_t count = 0, begin = 0;
	uint32_t table;

	if (r->error != ER_ROW_IS_REFERENCED_2 && r->error != ER_NO_REFERENCED_ROW_2)
		return false;
	for (size_t i = 0, ticks = 0; i < r->error_text.len && count < 2; i++) {
		if (r->error_text.ptr[i] != '`')
			continue;
		if (++ticks % 2)
			begin = i + 1;
		else
			names[count++] = span_of(r->error_text.ptr + begin, i - begin);
	}
	if (count < 2)
		return false;
	table = solver_table(m, names[0], names[1]);
	return table == STORE_NONE || !m->store.tables[table].def;
}

/* Opaque values of a statement, at most: a power of two. */
enum { OPAQUE_BITS = 28 };

static void begin_statement(struct mvcc *m, uint32_t index)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[index];

	arena_clear(&m->scratch);
	/* Executed again, in another order, it makes the same ones. */
	m->opaque_count = ((uint64_t)index + 1) << OPAQUE_BITS;
	m->now.stmt = index;
	m->now.txn = stmt->txn == SCHEDULE_NONE ? STORE_NONE : stmt->txn + 1;
	m->now.view = STORE_NONE;
	m->now.optional = 0;
	m->now.capped = false;
	m->now.split = false;
	m->now.split_record = NULL;
	m->now.unknown = REASON_NONE;
	m->now.culprit = 0;
	m->now.forgetting = index + 1;
	m->gathered.count = 0;
	m->wanted.count = 0;
	m->now.level =
		stmt->txn == SCHEDULE_NONE ? LEVEL_UNKNOWN : m->schedule->txns[stmt->txn].level;
	m->now.autocommit = stmt->txn != SCHEDULE_NONE && m->schedule->txns[stmt->txn].autocommit;
	/* Of one statement both can be tried. */
	if (m->now.txn != STORE_NONE && m->store.txns[m->now.txn].level_unknown)
		m->now.level = !m->now.autocommit   ? LEVEL_UNKNOWN
			       : choose(m, 2) == 0 ? m->now.level
						   : m->store.txns[m->now.txn].level_other;
	m->now.plan = m->runs[index].plan;
	settings_apply(m, m->now.plan);
	m->now.env.has_last_insert_id = m->runs[index].has_last_insert_id;
	m->now.env.last_insert_id = m->runs[index].number;
	m->now.env.unknown_fits = !stmt->in->record.error;
	m->now.env.has_about = false;
	if (m->now.txn != STORE_NONE && m->store.txns[m->now.txn].began == STORE_NONE) {
		TRAIL_SET(&m->store.trail, TXN, &m->store.txns[m->now.txn], began, m->runs[index].begin_event);
		TRAIL_SET(&m->store.trail, TXN, &m->store.txns[m->now.txn], first_commits,
			m->runs[index].begin_commits);
	}
}

static bool is_aborted(const struct mvcc *m)
{
	return m->now.txn != STORE_NONE && m->store.txns[m->now.txn].state == STORE_ABORTED;
}

static bool execute_plan(struct mvcc *m)
{
	const struct plan *plan = m->now.plan;

	return plan->procedure ? run_call(m) : plan->query ? run_query(m) : run_write(m);
}

/* A server that misses that a row has changed since the snapshot acts on what is there, as without snapshot isolation.
 * True: that explains the answer. */
static bool accept_missed_conflict(struct mvcc *m)
{
	struct store_txn *t = &m->store.txns[m->now.txn];
	struct store_undo *undo = t->undo;
	uint32_t undo_count = t->undo_count, noted = t->noted;
	size_t notes = m->note_count;
	bool fits;

	m->now.engine = ENGINE_INNODB;
	fits = execute_plan(m) && m->runs[m->now.stmt].verdict == STMT_DECIDED;
	m->now.engine = ENGINE_INNODB_SI;
	notes_drop(m, notes);
	TRAIL_SET(&m->store.trail, TXN, t, noted, noted);
	if (!fits)
		store_rollback_to(&m->store, m->now.txn, undo, undo_count);
	return fits;
}

/* The recorded answer stands, whatever we think of it. */
static bool accept_answer(struct mvcc *m, const struct accepted *accepted)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];

	if (accepted->conflict && !accepted->open && !accepted->unrecorded && !m->search.uncertain &&
		m->now.engine == ENGINE_INNODB_SI && accept_missed_conflict(m))
		return true;
	/* Where not every order was tried the rows may be as we think. */
	for (uint32_t i = 0; accepted->unrecorded && !m->search.uncertain && i < m->now.plan->table_count; i++)
		forget_table(m, &m->store.tables[m->now.plan->tables[i]],
			REASON_UNRECORDED_MAY_HAVE_CHANGED);
	if (m->now.plan->writes && (!stmt->in->record.error || plan_is_call(m->now.plan)))
		forget_written(m, REASON_CONTRADICTED_WROTE_TABLE);
	touch_tables(m);
	if (m->search.uncertain)
		set_verdict(m, STMT_UNDECIDED, REASON_MORE_ORDERS_THAN_TRIED);
	else if (accepted->open)
		set_verdict(m, STMT_UNDECIDED, accepted->open);
	else if (accepted->unrecorded)
		set_verdict(m, STMT_UNDECIDED, unrecorded_reason(m));
	else
		set_verdict(m, STMT_DECIDED, REASON_NONE);
	return true;
}

/* InnoDB has no older versions of a table that was made, or made anew, after the read view. */
static bool view_is_older(const struct mvcc *m)
{
	uint32_t view = m->store.txns[m->now.txn].view;

	for (uint32_t i = 0; i < m->now.plan->table_count && view != STORE_NONE; i++) {
		if (view < m->store.tables[m->now.plan->tables[i]].known_since)
			return true;
	}
	return false;
}

/* The statement may be about rows that are not known. */
static void judge_among_unknown(struct mvcc *m, uint32_t reason)
{
	if (m->now.plan->writes) {
		if (!delete_unknown(m))
			forget_unsupported(m);
	} else {
		learn_unknown_rows(m);
		/* A transaction's read view is made, whatever was seen. */
		if ((read_mode_of(m) == READ_SNAPSHOT || m->now.plan->has_plain_subqueries) &&
			m->now.level >= LEVEL_REPEATABLE_READ &&
			!m->schedule->stmts[m->now.stmt].in->record.error)
			assume_view(m);
	}
	set_verdict(m, STMT_UNDECIDED, reason);
}

/* Sent on a connection that the server had closed: nothing ever came of it. */
static bool never_arrived(const struct mvcc *m, const struct schedule_stmt *stmt)
{
	uint64_t ended = m->schedule->execution->sessions[stmt->in->session].ended_seq;

	return ended && stmt->in->record.begin_seq > ended;
}

bool plan_mixes(const struct plan *plan)
{
	if (!plan->may_write_any || !plan->stmt)
		return plan->may_write_any;
	switch (plan->stmt->kind) {
	case SQL_STMT_CALL:
	case SQL_STMT_EXECUTE:
	case SQL_STMT_COMPOUND:
	case SQL_STMT_OTHER:
		return true;
	default:
		return false;
	}
}

bool refused_whole(const struct plan *plan, const struct record_stmt *r)
{
	return r->error && !r->result_sets && !r->affected &&
	       stmt_refused(plan->key.text, plan->key.database, r->error, r->error_text);
}

/* Several statements in one text, a call: those before the one that failed may have written.  Where it can be
 * executed in a transaction, how far it came shows; but not which statement waited in vain. */
static bool fails_in_part(const struct mvcc *m, const struct plan *plan, const struct record_stmt *r)
{
	if (!r->error)
		return false;
	/* Nothing can be written in it, and the procedure is known not to end it. */
	if (r->error == ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION && m->now.txn != STORE_NONE &&
		m->schedule->txns[m->now.txn - 1].read_only && plan_is_call(plan))
		return false;
	if (plan_is_call(plan) && plan->procedure && m->now.txn != STORE_NONE && !m->now.autocommit &&
		!m->runs[m->now.stmt].mixes && r->error != ER_LOCK_WAIT_TIMEOUT && r->error != ER_LOCK_NOWAIT)
		return false;
	return r->affected || plan_mixes(plan) || plan_is_call(plan);
}

/* Can it have written anything? */
static bool may_have_written(const struct plan *plan, const struct record_stmt *r)
{
	return plan->writes && (!r->error || plan_is_call(plan));
}

static bool mixes_under_way(const struct mvcc *m, uint32_t stmt)
{
	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		uint32_t other = m->search.in_flight[i];

		/* A session's own follow each other. */
		if (m->runs[other].mixes &&
			m->schedule->stmts[other].in->session != m->schedule->stmts[stmt].in->session)
			return true;
	}
	return false;
}

bool leaves_out_rows(const struct plan *plan, const struct record_stmt *r)
{
	return plan->stmt && plan->stmt->kind == SQL_STMT_DELETE &&
	       plan->stmt->u.del->flags & SQL_DML_IGNORE && r->warnings;
}

/* Statements that are not executed because of what they are or where they stand, whatever they answered: true,
 * and judged. */
static bool judge_unexecuted(struct mvcc *m, uint32_t index)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[index];
	const struct plan *plan = m->now.plan;

	/* SET and CREATE TABLE ... SELECT call functions, too. */
	if (plan->may_write_any && (plan->sets_unmodelled || plan->redefines))
		forget_written_for_good(m, REASON_FUNCTION_MAY_HAVE_WRITTEN);
	/* All variables of a SET that fails are as they were (MySQL manual, "SET Syntax for Variable Assignment"). */
	if (plan->sets_unmodelled && plan->stmt->kind == SQL_STMT_SET && stmt->in->record.error) {
		if (plan->reads_incidentally && m->now.txn != STORE_NONE)
			assume_view(m);
		set_verdict(m, STMT_HARMLESS, REASON_NONE);
		return true;
	}
	if (plan->sets_unmodelled) {
		if (!stmt->in->record.error)
			TRAIL_SET(&m->store.trail, SESSION, &m->sessions[stmt->in->session], unmodelled,
				plan->redefines || m->sessions[stmt->in->session].unmodelled ==
							   SESSION_RENAMES
					? SESSION_RENAMES
					: SESSION_VARIABLES);
		set_verdict(m, STMT_UNSUPPORTED, REASON_VARIABLES_NOT_MODELLED);
		return true;
	}
	if (refused_whole(plan, &stmt->in->record)) {
		set_verdict(m, STMT_HARMLESS, REASON_NONE);
		return true;
	}
	if (m->runs[index].defines) {
		define_run(m);
		set_verdict(m, STMT_HARMLESS, REASON_NONE);
		return true;
	}
	if (m->runs[index].beside || define_maker(m, index) != STORE_NONE) {
		if (m->now.txn != STORE_NONE) {
			touch_tables(m);
			assume_view(m);
		}
		if (may_have_written(plan, &stmt->in->record))
			forget_written(m, REASON_WRITTEN_BESIDE_DDL);
		set_verdict(m, STMT_UNDECIDED, REASON_STATEMENT_BESIDE_DDL);
		return true;
	}
	if (fails_in_part(m, plan, &stmt->in->record)) {
		forget_written_for_good(m, REASON_FAILED_IN_PART_WROTE_TABLE);
		if (m->now.txn != STORE_NONE) {
			touch_tables(m);
			assume_view(m);
		}
		set_verdict(m, STMT_UNDECIDED, REASON_FAILED_IN_PART);
		return true;
	}
	if (plan->harmless || !(plan->reads || plan->writes || plan->query)) {
		/* Queries in SET and DO lock what they read (seen on all servers, at all levels). */
		if (plan->reads_incidentally && m->now.txn != STORE_NONE) {
			touch_tables(m);
			assume_view(m);
		}
		set_verdict(m, STMT_HARMLESS, REASON_NONE);
		return true;
	}
	if (m->now.txn != STORE_NONE && m->store.txns[m->now.txn].mixed) {
		touch_tables(m);
		if (may_have_written(plan, &stmt->in->record))
			forget_written(m, REASON_TRANSACTION_WROTE_SEVERAL);
		/* What was open before it may be committed now, and so may what it did. */
		if (plan_mixes(plan))
			forget_for_good(m, REASON_TRANSACTION_WROTE_SEVERAL);
		set_verdict(m, STMT_UNDECIDED,
			REASON_TRANSACTION_MAY_BE_SEVERAL);
		return true;
	}
	if (stmt->in->record.flags & STMT_NO_REPLY || plan_is_unreadable(plan, &stmt->in->record)) {
		/* In a transaction that is gone nothing of it is left. */
		if (plan->writes && !is_aborted(m) && !never_arrived(m, stmt))
			forget_written(m, REASON_NO_ANSWER_WROTE_TABLE);
		set_verdict(m, STMT_UNDECIDED,
			stmt->in->record.flags & (STMT_NO_REPLY | STMT_OPAQUE)
				? REASON_NO_ANSWER
				: REASON_TEXT_UNREADABLE);
		return true;
	}
	if (m->sessions[stmt->in->session].unmodelled) {
		if (may_have_written(plan, &stmt->in->record))
			forget_written(m, REASON_UNSUPPORTED_WROTE_TABLE);
		if (m->now.txn != STORE_NONE)
			touch_tables(m);
		if (m->now.txn != STORE_NONE && plan->stmt)
			assume_view(m);
		set_verdict(m, STMT_UNSUPPORTED, REASON_VARIABLES_NOT_MODELLED);
		return true;
	}
	if (m->now.txn == STORE_NONE || !m->now.level) {
		if (may_have_written(plan, &stmt->in->record))
			forget_written(m, REASON_WRITTEN_IN_UNKNOWN_TRANSACTION);
		if (m->now.txn != STORE_NONE)
			touch_tables(m);
		set_verdict(m, STMT_UNDECIDED, REASON_TRANSACTION_NOT_RECORDED);
		return true;
	}
	/* What it commits inside shows at once, and what others commit it may change before it ends. */
	if (mixes_under_way(m, index) && !sees_snapshot(m, index)) {
		if (may_have_written(plan, &stmt->in->record))
			forget_written(m, REASON_TRANSACTION_WROTE_SEVERAL);
		touch_tables(m);
		assume_view(m);
		set_verdict(m, STMT_UNDECIDED,
			REASON_BESIDE_CALL);
		return true;
	}
	return false;
}

/* The same of what is known only once its wait and its deadlock are judged. */
static bool judge_unexecuted_by_answer(struct mvcc *m, uint32_t index)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[index];
	const struct plan *plan = m->now.plan;

	/* One that failed changed nothing; what may have been changed all the same is not known by name any more
	 * (definitions.c). */
	if (plan->redefines && stmt->in->record.error) {
		set_verdict(m, STMT_HARMLESS, REASON_NONE);
		return true;
	}
	if (m->runs[index].unknown_foreign) {
		set_verdict(m, STMT_UNDECIDED, REASON_FOREIGN_KEY_NOT_DESCRIBED);
		return true;
	}
	if (stmt->in->record.error == ER_TABLE_DEF_CHANGED && view_is_older(m)) {
		set_verdict(m, STMT_DECIDED, REASON_NONE);
		return true;
	}
	if (stmt->in->record.error && !known_error(stmt->in->record.error) &&
		!(plan->into && stmt->in->record.error == ER_TOO_MANY_ROWS) &&
		!(plan->view_check && stmt->in->record.error == ER_VIEW_CHECK_FAILED) &&
		!((plan->firing || plan->procedure) && error_of_program(stmt->in->record.error))) {
		if (plan_is_call(plan))
			forget_written(m, REASON_FAILED_IN_PART_WROTE_TABLE);
		/* A trigger or function may have read, and locked, before its body met the error. */
		assume_view(m);
		if (!error_before_rows(stmt->in->record.error))
			touch_tables(m);
		if (error_before_rows(stmt->in->record.error))
			set_verdict(m, STMT_HARMLESS, REASON_NONE);
		else
			set_verdict(m, STMT_UNDECIDED, REASON_ERROR_NOT_MODELLED);
		return true;
	}
	if (plan->stmt && plan->stmt->kind == SQL_STMT_TRUNCATE && !stmt->in->record.error &&
		plan->table_count == 1) {
		learn_empty(m, &m->store.tables[plan->tables[0]]);
		set_verdict(m, STMT_HARMLESS, REASON_NONE);
		return true;
	}
	/* Dirty reads beside current ones. */
	if (plan->outer && (m->now.level == LEVEL_READ_UNCOMMITTED || m->now.engine == ENGINE_TIDB)) {
		touch_tables(m);
		assume_view(m);
		set_verdict(m, STMT_UNSUPPORTED, REASON_LOCKING_READ_OF_SEVERAL_BLOCKS);
		return true;
	}
	if ((plan->unsupported && !plan->procedure) || (plan->effects && !plan->firing && !plan->procedure) ||
		writes_anywhere(m, plan) || m->runs[index].mixes || leaves_out_rows(plan, &stmt->in->record)) {
		/* What it committed before its end others may have seen. */
		if (plan->writes && m->runs[index].mixes)
			forget_written_for_good(m, REASON_TRANSACTION_WROTE_SEVERAL);
		else if (plan->writes)
			forget_unsupported(m);
		touch_tables(m);
		assume_view(m);
		set_verdict(m, STMT_UNSUPPORTED,
			plan->unsupported	   ? plan->unsupported
			: plan->effects || writes_anywhere(m, plan) ? REASON_TRIGGERS_WRITTEN
						   : REASON_DELETE_IGNORE_WARNINGS);
		return true;
	}
	return false;
}

/* Without autocommit a statement that fails leaves its transaction open, which the recorder sees
 * only by the next one that succeeds; it may have made the read view. */
static void view_of_what_goes_on(struct mvcc *m, uint32_t index)
{
	uint32_t own = m->schedule->stmts[index].txn, next, begin = m->runs[index].begin_commits,
		 view;

	next = own == SCHEDULE_NONE ? SCHEDULE_NONE : m->schedule->txns[own].goes_on;
	/* At SERIALIZABLE, too, error 1020 is about rows that changed since then. */
	if (next != SCHEDULE_NONE && m->store.txns[next + 1].began == STORE_NONE) {
		struct store_txn *t = &m->store.txns[next + 1];

		TRAIL_SET(&m->store.trail, TXN, t, began, m->store.txns[own + 1].began);
		TRAIL_SET(&m->store.trail, TXN, t, first_commits, m->store.txns[own + 1].first_commits);
	}
	if (next == SCHEDULE_NONE || m->schedule->txns[next].level != LEVEL_REPEATABLE_READ ||
		m->store.txns[next + 1].view != STORE_NONE || choose_for(m, next + 1, 2) == 0)
		return;
	view = m->store.txns[own + 1].view; /* of one that failed before it */
	if (view == STORE_NONE)
		view = m->store.commits - choose_for(m, next + 1, m->store.commits - begin + 1);
	set_view(m, next + 1, view, view < begin ? view : begin);
	TRAIL_SET(&m->store.trail, TXN, &m->store.txns[next + 1], view_stmt, index);
}

static bool writes_temporary_only(const struct mvcc *m, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->table_count; i++) {
		if (plan->written[i] && !m->store.tables[plan->tables[i]].temporary)
			return false;
	}
	return true;
}

/* A write in a READ ONLY transaction fails with error 1792 before it looks at a row (MySQL manual, "START TRANSACTION"); only
 * temporary tables may be written. */
static bool writes_read_only(struct mvcc *m)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];

	if (!m->now.plan->writes || m->now.plan->unsupported || stmt->in->record.error || stmt->txn == SCHEDULE_NONE ||
		!m->schedule->txns[stmt->txn].read_only || m->store.txns[m->now.txn].mixed ||
		writes_temporary_only(m, m->now.plan))
		return false;
	mismatch(m, MISMATCH_ERROR);
	m->search.mismatch.expected_error = ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION;
	return true;
}

/* A query that compares NOW(): the time at which it was sent, or answered, by the recorder's clock and the zone of its
 * session.  Where neither explains the answer, another clock may, and the time is not known. */
static void choose_now(struct mvcc *m)
{
	enum { BILLION = 1000000000, THOUSAND = 1000 };
	const struct execution *e = m->schedule->execution;
	const struct record_stmt *r = &m->schedule->stmts[m->now.stmt].in->record;
	uint64_t moments[2] = {r->begin, r->at}, ns;
	uint32_t ways = r->begin == r->at ? 1 : 2, way;

	if (!e->wall_ns || !m->now.env.zone_known || m->now.env.has_now || r->error || r->begin < e->mono_ns || r->at < r->begin)
		return;
	way = choose_for(m, m->now.txn, ways + 1);
	if (way == ways)
		return;
	ns = e->wall_ns + (moments[way] - e->mono_ns);
	m->now.env.about = eval_moment((int64_t)(ns / BILLION) + m->now.env.zone_seconds, (uint32_t)(ns % BILLION / THOUSAND), 6).t;
	m->now.env.has_about = true;
}

bool execute(struct mvcc *m, uint32_t index)
{
	const struct plan *plan;
	const struct store_undo *since;
	uint32_t has_unknown_rows;
	bool ok;

	begin_statement(m, index);
	view_of_what_goes_on(m, index);
	plan = m->now.plan;
	if (judge_unexecuted(m, index))
		return true;
	judge_wait(m);
	for (uint32_t i = 0; i < m->search.accepted_count; i++) {
		if (m->search.accepted[i].stmt == index)
			return accept_answer(m, &m->search.accepted[i]);
	}
	if (concurrency_error(m, m->schedule->stmts[index].in->record.error, &ok))
		return ok;
	if (writes_read_only(m))
		return false;
	if (judge_unexecuted_by_answer(m, index))
		return true;
	touch_tables(m);
	m->now.half_done = m->now.level == LEVEL_READ_UNCOMMITTED && half_done_writer(m);
	has_unknown_rows = unknown_in_reach(m);
	if (has_unknown_rows) {
		judge_among_unknown(m, has_unknown_rows);
		return true;
	}
	since = m->store.txns[m->now.txn].undo;
	if (plan->asks_now)
		choose_now(m);
	ok = execute_plan(m);
	m->now.env.has_about = false;
	if (ok && m->runs[index].verdict == STMT_DECIDED)
		ok = plan->query ? serializable_read_keep(m) : serializable_reads_stay(m, since);
	if (ok && m->now.split)
		note_add(m, m->now.split_gap ? NOTE_SPLIT_GAP : NOTE_SPLIT, STORE_NONE,
			m->now.split_table, m->now.split_record);
	return ok;
}
