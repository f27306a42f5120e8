/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A wrong answer that has nothing to do with isolation.
 *
 * An isolation fault shows a statement other rows than it should see: older ones, rows that were not committed or were taken
 * back, some of one state and some of another.  So an answer is laid on the server's SQL, class wrong-sql, only where
 *
 *  - all rows that its tables have ever had are known for certain: those that were there at first, and those of INSERT ...
 *    VALUES.  A value that an UPDATE computed may have come from the wrong version of a row (a lost update), and the
 *    store does not have it then.  DELETE makes no values; which rows it took may be wrong, too;
 *  - every transaction that wrote into these tables had ended before the statement was sent, so that two parts of the
 *    statement cannot have seen two states;
 *  - for every set of these rows, one version of a row at most, the evaluator's answer is another one than the server's;
 *  - an answer of plain columns of one table has no row that the table never had: such a row is wrong data, wherever it is
 *    from.
 *
 * Whatever the statement saw then, its answer does not follow from it.  Where one of these cannot be shown, the class
 * stays what it was.
 */
#include "mvcc/explain/wrong_sql.h"

#include <string.h>

#include "mvcc/read/compare_answer.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"

enum {
	SETS_MAX = 1024,       /* of rows that are tried */
	ROWS_MAX = 1000000,    /* in all of them together */
	STMTS_MAX = 200000000, /* that are looked at for all findings of a run */
	IMAGES_MAX = 8,        /* of one record */
};

/* One record of a table, and the rows that it has been. */
struct candidate {
	const struct eval_value *images[IMAGES_MAX];
	uint32_t image_count;
	bool may_be_missing;
	uint32_t taken; /* in the set that is tried: image_count means none */
};

struct table_rows {
	struct store_table *table;
	uint64_t inserted; /* rows that INSERT said it made */
	bool deleted_from;
	struct candidate *candidates;
	const struct eval_value **rows; /* of the set that is tried */
	uint32_t count;
};

struct tried {
	struct table_rows tables[MVCC_TABLES_MAX];
	uint32_t table_count;
};

static struct table_rows *rows_of_table(struct tried *t, const struct store_table *table)
{
	for (uint32_t i = 0; i < t->table_count; i++) {
		if (t->tables[i].table == table)
			return &t->tables[i];
	}
	return NULL;
}

/* INSERT ... VALUES that put in all its rows, and nothing else. */
static bool inserts_values(const struct plan *plan, const struct schedule_stmt *stmt)
{
	const struct sql_insert *insert;

	if (!plan->stmt || plan->stmt->kind != SQL_STMT_INSERT || !plan->insert || stmt->in->record.error)
		return false;
	insert = plan->stmt->u.insert;
	return !insert->query && !insert->on_duplicate && !(insert->flags & SQL_DML_IGNORE) && !plan->reads_by_query;
}

static bool deletes_only(const struct plan *plan)
{
	return plan->stmt && plan->stmt->kind == SQL_STMT_DELETE && plan->one_table;
}

static bool is_over(const struct mvcc *m, const struct schedule_stmt *writer)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];
	const struct schedule_txn *txn;

	if (writer->txn == SCHEDULE_NONE)
		return false;
	if (writer->txn == stmt->txn)
		return writer->in->record.seq < stmt->in->record.begin_seq;
	txn = &m->schedule->txns[writer->txn];
	return txn->ended && txn->end_seq && txn->end_seq < stmt->in->record.begin_seq && txn->outcome != TXN_UNKNOWN;
}

/* What one earlier statement did to the tables.  False: it may have left rows that are not known. */
static bool add_writer(struct mvcc *m, struct tried *t, uint32_t index)
{
	const struct schedule_stmt *writer = &m->schedule->stmts[index];
	const struct plan *plan = m->runs[index].plan;

	if (plan->ddl || plan->redefines || plan->procedure || plan->effects || plan->bare || plan->may_write_any ||
		plan->uses_unknown_tables || plan->foreign || (!plan->stmt && !plan->harmless) || writes_anywhere(m, plan))
		return false;
	if (!plan->writes)
		return true;
	for (uint32_t i = 0; i < plan->table_count; i++) {
		struct table_rows *rows = rows_of_table(t, &m->store.tables[plan->tables[i]]);

		if (!rows || !plan->written[i])
			continue;
		if (!is_over(m, writer))
			return false;
		if (deletes_only(plan))
			rows->deleted_from = true;
		else if (inserts_values(plan, writer))
			rows->inserted += writer->in->record.affected;
		else
			return false;
	}
	return true;
}

static bool find_writers(struct mvcc *m, struct tried *t)
{
	uint64_t sent = m->schedule->stmts[m->now.stmt].in->record.seq;

	m->wrong_sql_work += m->schedule->stmt_count;
	if (m->wrong_sql_work > STMTS_MAX)
		return false;
	for (uint32_t i = 0; i < m->schedule->stmt_count; i++) {
		if (i != m->now.stmt && m->schedule->stmts[i].in->record.begin_seq < sent && !add_writer(m, t, i))
			return false;
	}
	return true;
}

/* The rows of a record.  `initial` and `inserted` count them: what the store has dropped is missing there. */
static bool add_candidate(const struct store_record *record, const struct table_rows *rows, struct candidate *out,
	uint64_t *initial, uint64_t *inserted)
{
	*out = (struct candidate){.may_be_missing = rows->deleted_from};
	for (const struct store_version *v = record->newest; v; v = v->previous) {
		if (v->unknown || v->maybe)
			return false;
		*initial += v->stmt == STORE_NONE && v->image;
		*inserted += v->stmt != STORE_NONE && v->image;
		out->may_be_missing |= v->stmt != STORE_NONE;
		if (!v->image)
			continue;
		if (out->image_count == IMAGES_MAX)
			return false;
		out->images[out->image_count++] = v->image;
	}
	out->may_be_missing |= !out->image_count;
	return true;
}

static bool find_candidates(struct mvcc *m, struct table_rows *rows)
{
	const struct store_table *table = rows->table;
	const struct execution_table *recorded = &m->schedule->execution->tables[table - m->store.tables];
	uint64_t initial = 0, inserted = 0;

	if (table->unknown || table->has_unknown_rows || table->others || table->redefined || !recorded->has_initial)
		return false;
	rows->candidates = arena_alloc(&m->scratch, (table->count + 1) * sizeof(*rows->candidates));
	rows->rows = arena_alloc(&m->scratch, (table->count + 1) * sizeof(*rows->rows));
	for (uint32_t i = 0; i < table->count; i++) {
		if (!add_candidate(table->records[i], rows, &rows->candidates[i], &initial, &inserted))
			return false;
	}
	rows->count = table->count;
	return initial == recorded->initial.total && inserted == rows->inserted;
}

static uint32_t ways_of(const struct candidate *c)
{
	return c->image_count + c->may_be_missing;
}

/* False: too many to try. */
static bool few_enough(const struct tried *t)
{
	uint64_t sets = 1, rows = 0;

	for (uint32_t i = 0; i < t->table_count; i++) {
		rows += t->tables[i].count;
		for (uint32_t r = 0; r < t->tables[i].count && sets <= SETS_MAX; r++)
			sets *= ways_of(&t->tables[i].candidates[r]);
	}
	return sets <= SETS_MAX && sets * rows <= ROWS_MAX;
}

/* Takes the next set.  False: that was the last one. */
static bool next_set(struct tried *t)
{
	for (uint32_t i = 0; i < t->table_count; i++) {
		for (uint32_t r = 0; r < t->tables[i].count; r++) {
			struct candidate *c = &t->tables[i].candidates[r];

			if (++c->taken < ways_of(c))
				return true;
			c->taken = 0;
		}
	}
	return false;
}

static void show_set(struct mvcc *m, const struct tried *t)
{
	m->gathered.count = 0;
	for (uint32_t i = 0; i < t->table_count; i++) {
		const struct table_rows *rows = &t->tables[i];
		size_t count = 0;

		for (uint32_t r = 0; r < rows->count; r++) {
			const struct candidate *c = &rows->candidates[r];

			if (c->taken < c->image_count)
				rows->rows[count++] = c->images[c->taken];
		}
		m->gathered.list[m->gathered.count++] = (struct gathered){
			.rows = rows->rows, .count = count, .table = rows->table, .mode = read_mode_of(m)};
	}
}

/* Is the answer certainly another one on these rows? */
static bool is_wrong(struct mvcc *m, const struct tried *t)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];
	struct eval_outcome outcome = {0};
	struct eval_result result;
	bool undecided = false;

	show_set(m, t);
	return eval_query_run(m->now.plan->query, &m->scratch, &m->now.env, &m->source, &result, &outcome) &&
	       !compare_result(m, &result, schedule_result(m->schedule, stmt), &undecided) && !undecided;
}

static bool was_in_table(const struct table_rows *rows, const struct eval_type *types, const uint32_t *columns,
	uint32_t width, const struct eval_value *row)
{
	for (uint32_t r = 0; r < rows->count; r++) {
		const struct candidate *candidate = &rows->candidates[r];

		for (uint32_t i = 0; i < candidate->image_count; i++) {
			uint32_t c = 0;

			while (c < width && compare_value(&types[c], &candidate->images[i][columns[c]], &row[c]))
				c++;
			if (c == width)
				return true;
		}
	}
	return false;
}

/* Is each row of an answer of plain columns one that the table has had? */
static bool shows_known_rows(struct mvcc *m, const struct tried *t)
{
	const struct table_rows *rows = &t->tables[0];
	const struct execution_rows *recorded = schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]);
	uint32_t width = m->search.mismatch.expected.column_count;
	uint32_t *columns = arena_alloc(&m->scratch, (width + 1) * sizeof(*columns));
	const struct eval_type *types = m->search.mismatch.expected.types;
	const struct eval_value *const *answered;
	size_t count;

	if (t->table_count != 1 || m->now.plan->nested || !answer_columns(m->now.plan, rows->table->def, columns, width))
		return true;
	if (!typed_rows(&m->scratch, types, width, recorded, &answered, &count))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!was_in_table(rows, types, columns, width, answered[i]))
			return false;
	}
	return true;
}

bool wrong_on_any_rows(struct mvcc *m)
{
	const struct plan *plan = m->now.plan;
	struct tried *t;
	bool wrong;

	/* Parts that read in two ways may see two states; what NOWAIT and SKIP LOCKED leave out depends on others. */
	if (!plan->query || plan->outer || plan->into || (plan->lock && plan->lock->wait != SQL_LOCK_WAIT_DEFAULT) ||
		plan->uses_unknown_tables || plan->bare || plan->effects || m->unrecorded_writers || m->some_not_recorded ||
		m->catalog.foreign_key_count || m->now.engine == ENGINE_TIDB)
		return false;
	t = arena_zero(&m->scratch, sizeof(*t));
	for (uint32_t i = 0; i < plan->table_count; i++)
		t->tables[t->table_count++].table = &m->store.tables[plan->tables[i]];
	if (!find_writers(m, t))
		return false;
	for (uint32_t i = 0; i < t->table_count; i++) {
		if (!find_candidates(m, &t->tables[i]))
			return false;
	}
	if (!few_enough(t) || !shows_known_rows(m, t))
		return false;
	do
		wrong = is_wrong(m, t);
	while (wrong && next_set(t));
	m->gathered.count = 0;
	return wrong;
}
