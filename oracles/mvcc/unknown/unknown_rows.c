/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/unknown/unknown_rows.h"

#include "base/buf.h"
#include "mvcc/execute/execute.h"
#include "mvcc/execute/write.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/key_ranges.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"

/* ---- what meets it ---- */

static bool is_lasting(const struct mvcc *m)
{
	return m->now.level >= LEVEL_REPEATABLE_READ && m->store.txns[m->now.txn].view != STORE_NONE;
}

void view_range(const struct mvcc *m, uint32_t *low, uint32_t *high)
{
	*low = m->store.txns[m->now.txn].view_low;
	*high = m->store.txns[m->now.txn].view_high;
	if (is_lasting(m))
		return;
	*low = m->runs[m->now.stmt].begin_commits;
	*high = m->store.commits;
}

bool is_own(const struct mvcc *m, const struct store_version *v)
{
	return v->txn == m->now.txn;
}

bool is_committed(const struct mvcc *m, const struct store_version *v)
{
	return m->store.txns[v->txn].state == STORE_COMMITTED;
}

/* Did a transaction change the row after the read view, and before a version that was perhaps never written?  Where it
 * deleted it there was nothing to write, and the read view shows what it has of the row. */
static bool changed_since(const struct mvcc *m, const struct store_version *v, uint32_t view)
{
	for (v = v->previous; v; v = v->previous) {
		if (!is_own(m, v) && is_committed(m, v))
			return m->store.txns[v->txn].commit_no > view;
	}
	return false;
}

const struct store_version *record_unknown(
	const struct mvcc *m, const struct store_record *record, enum read_mode mode)
{
	uint32_t low, high;

	if (!record || !record->newest)
		return NULL;
	if (mode == READ_DIRTY)
		return record->newest->unknown ? record->newest : NULL;
	view_range(m, &low, &high);
	if (mode == READ_SNAPSHOT && is_lasting(m))
		low = high = m->store.txns[m->now.txn].view;
	if (mode == READ_CURRENT) {
		low = m->runs[m->now.stmt].begin_commits;
		high = STORE_NONE;
	}
	for (const struct store_version *v = record->newest; v; v = v->previous) {
		bool seen = is_own(m, v) || (is_committed(m, v) &&
						    m->store.txns[v->txn].commit_no <= high);

		if (v->unknown && (seen || mode == READ_CURRENT))
			return v;
		/* What is not committed may hold locks, or not. */
		if (v->maybe && !seen && mode == READ_CURRENT)
			return v;
		if (v->maybe && is_own(m, v) && mode == READ_SNAPSHOT && changed_since(m, v, low))
			return v;
		if (is_own(m, v) || (seen && m->store.txns[v->txn].commit_no <= low))
			break;
	}
	return NULL;
}

static const struct store_version *table_unknown(
	const struct mvcc *m, const struct store_table *table, enum read_mode mode)
{
	const struct store_version *unknown = table->has_unknown_rows ? record_unknown(m, table->others, mode) : NULL;

	for (uint32_t i = 0; table->has_unknown_rows && !unknown && i < table->count; i++)
		unknown = record_unknown(m, table->records[i], mode);
	return unknown;
}

static const struct store_version *key_unknown(struct mvcc *m, struct store_table *table, const struct eval_value *row,
	enum read_mode mode)
{
	struct store_record *record = store_find(&m->store, table, row);

	return record_unknown(m, record ? record : table->others, mode);
}

/* Does the current statement, which writes the parent, do anything to children? */
static bool moves_parents(const struct mvcc *m, const struct foreign *f)
{
	const struct plan *plan = m->now.plan;

	if (plan->stmt->kind == SQL_STMT_INSERT)
		return plan->stmt->u.insert->on_duplicate != NULL;
	return !plan->one_table || plan->stmt->kind != SQL_STMT_UPDATE ||
	       plan_sets(plan->stmt->u.update->set, m->store.tables[f->parent].def, f->parent_columns, f->count);
}

/* Does the current statement, which writes the child, look for parents? */
static bool moves_children(const struct mvcc *m, const struct foreign *f)
{
	const struct plan *plan = m->now.plan;

	if (plan->stmt->kind == SQL_STMT_DELETE)
		return false;
	return !plan->one_table || plan->stmt->kind != SQL_STMT_UPDATE ||
	       plan_sets(plan->stmt->u.update->set, m->store.tables[f->child].def, f->child_columns, f->count);
}

/* Does what the current statement does to the table depend on others, or they on it? */
static bool has_foreign(const struct mvcc *m, const struct store_table *table)
{
	uint32_t number = (uint32_t)(table - m->store.tables);

	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];

		if (f->alive && ((f->child == number && moves_children(m, f)) ||
					(f->parent == number && moves_parents(m, f))))
			return true;
	}
	return false;
}

static bool has_children(const struct mvcc *m, const struct store_table *table)
{
	uint32_t number = (uint32_t)(table - m->store.tables);

	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		if (m->catalog.foreign_keys[i].alive && m->catalog.foreign_keys[i].parent == number &&
			moves_parents(m, &m->catalog.foreign_keys[i]))
			return true;
	}
	return false;
}

/* Are the rows that the statement looks at those of its keys, and no others? */
static bool only_points(const struct mvcc *m, const struct store_table *table)
{
	const struct plan *plan = m->now.plan;

	return plan->key_set && plan->table_count == 1 && !plan->reads_by_query &&
	       (!plan->writes || (!plan->moves_unique && !has_foreign(m, table)));
}

static const struct store_version *keys_unknown(struct mvcc *m, struct store_table *table, enum read_mode mode)
{
	struct eval_value *row = NULL;

	for (uint64_t i = 0; key_set_key(m, table, m->now.plan->key_set, i, &row); i++) {
		const struct store_version *unknown = key_unknown(m, table, row, mode);

		if (unknown)
			return unknown;
	}
	return NULL;
}

/* The rows of INSERT ... VALUES, complete with what the server numbered; in the store's arena.
 * False: not known. */
static bool inserted_rows(struct mvcc *m, struct eval_rows *rows)
{
	const struct plan *plan = m->now.plan;
	struct write_answer a = {.status = EVAL_OK, .held_by = STORE_NONE};
	struct eval_outcome outcome = {0};
	const struct eval_table *def;
	const struct eval_value **out;
	uint64_t next = 0;

	if (!plan->insert || plan->reads_by_query)
		return false;
	def = eval_insert_table(plan->insert);
	if (solver_store_table(m, def)->hidden_key ||
		!eval_insert_rows(
		    plan->insert, &m->store.arena, &m->now.env, &m->source, rows, &outcome))
		return false;
	out = arena_alloc(&m->store.arena, (rows->count + 1) * sizeof(*out));
	for (size_t i = 0; i < rows->count; i++) {
		struct eval_value *row =
			arena_alloc(&m->store.arena, def->column_count * sizeof(*row));

		memcpy(row, rows->row[i], def->column_count * sizeof(*row));
		a.tried = i;
		fill_autoinc(m, plan, def, rows->count, row, &next, &a);
		/* A number that was only tried is not a key to go by. */
		if (a.numbers != NUMBERS_KNOWN || opaque_key(m, solver_store_table(m, def), row))
			return false;
		out[i] = row;
	}
	rows->row = out;
	return a.status == EVAL_OK;
}

static bool secondary_unique(const struct store_table *table)
{
	for (uint32_t i = 0; i < table->unique_count; i++) {
		if (table->uniques[i] != table->cluster)
			return true;
	}
	return false;
}

/* ON DUPLICATE KEY UPDATE of the key itself: the row goes where another one may be. */
static bool moves_duplicates(const struct mvcc *m, const struct store_table *table)
{
	return plan_sets(m->now.plan->stmt->u.insert->on_duplicate, table->def,
		table->cluster->columns, table->cluster->count);
}

static const struct store_version *insert_unknown(struct mvcc *m, struct store_table *table)
{
	struct eval_rows rows = {0};

	if (secondary_unique(table) || moves_duplicates(m, table) || !inserted_rows(m, &rows))
		return table_unknown(m, table, READ_CURRENT);
	for (size_t i = 0; i < rows.count; i++) {
		const struct store_version *unknown = key_unknown(m, table, rows.row[i], READ_CURRENT);

		if (unknown)
			return unknown;
	}
	return NULL;
}

static const struct store_version *related_unknown(const struct mvcc *m, uint32_t table)
{
	for (uint32_t i = 0; i < m->store.table_count; i++) {
		const struct store_version *unknown = foreign_related(m, i, table)
				       ? table_unknown(m, &m->store.tables[i], READ_CURRENT)
				       : NULL;

		if (unknown)
			return unknown;
	}
	return NULL;
}

/* Children that follow may have children themselves, and other parents. */
static const struct store_version *foreign_unknown(const struct mvcc *m, uint32_t table)
{
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];

		const struct store_version *unknown = NULL;

		if (f->alive && f->child == table && moves_children(m, f))
			unknown = table_unknown(m, &m->store.tables[f->parent], READ_CURRENT);
		if (!unknown && f->alive && f->parent == table && moves_parents(m, f))
			unknown = related_unknown(m, table);
		if (unknown)
			return unknown;
	}
	return NULL;
}

/* Of tables that stored programs use. */
static const struct store_version *effects_unknown(const struct mvcc *m, const struct effects *effects)
{
	static const enum read_mode modes[] = {READ_CURRENT, READ_SNAPSHOT, READ_DIRTY};
	const struct store_version *unknown = NULL;

	for (uint32_t i = 0; effects && !unknown && i < effects->count; i++) {
		const struct effect *e = &effects->list[i];

		if (e->blind)
			continue;
		for (size_t r = 0; r < ARRAY_LEN(modes) && !unknown; r++)
			unknown = table_unknown(m, &m->store.tables[e->table], modes[r]);
		if (!unknown && e->written)
			unknown = related_unknown(m, e->table);
	}
	return unknown;
}

static const struct store_version *unknown_of_table(struct mvcc *m, uint32_t i)
{
	const struct plan *plan = m->now.plan;
	struct store_table *table = &m->store.tables[plan->tables[i]];
	enum read_mode mode = plan->written[i] ? READ_CURRENT : read_mode_of(m);
	const struct store_version *unknown = plan->written[i] ? foreign_unknown(m, plan->tables[i]) : NULL;

	if (unknown || !table->has_unknown_rows)
		return unknown;
	unknown = plan->insert && plan->written[i] ? insert_unknown(m, table)
	      : only_points(m, table)	       ? keys_unknown(m, table, mode)
					       : table_unknown(m, table, mode);
	/* Its subqueries may read the same table in another way. */
	if (!unknown && plan->written[i] && plan->reads_by_query)
		unknown = table_unknown(m, table, read_mode_of(m));
	if (!unknown && plan->outer)
		unknown = table_unknown(m, table, READ_SNAPSHOT);
	return unknown;
}

uint32_t unknown_in_reach(struct mvcc *m)
{
	static const uint32_t reasons[] = {REASON_NONE, REASON_UNSUPPORTED_WROTE_ROWS, REASON_INITIAL_ROWS_NOT_IN_TRACE};
	const struct store_version *unknown = effects_unknown(m, m->now.plan->effects);

	for (uint32_t i = 0; i < m->now.plan->table_count && !unknown; i++)
		unknown = unknown_of_table(m, i);
	if (!unknown)
		return REASON_NONE;
	m->now.culprit = unknown->stmt + 1;
	return reasons[unknown->unknown ? unknown->unknown : UNKNOWN_WRITTEN];
}

bool unknown_at_end(const struct mvcc *m, const struct store_table *table)
{
	for (uint32_t i = 0; table->has_unknown_rows && i <= table->count; i++) {
		const struct store_record *record =
			i < table->count ? table->records[i] : table->others;
		const struct store_version *v =
			record ? store_current(&m->store, record, 0) : NULL;

		if (v && v->unknown)
			return true;
	}
	return false;
}

/* ---- making it ---- */

static void set_has_unknown_rows(struct mvcc *m, struct store_table *table)
{
	if (!table->has_unknown_rows)
		TRAIL_SET(&m->store.trail, TABLE, table, has_unknown_rows, 1);
}

static void make_record_unknown(struct mvcc *m, struct store_table *table, struct store_record *record)
{
	set_has_unknown_rows(m, table);
	store_write(&m->store, m->now.txn, m->now.stmt, record, NULL);
	record->newest->unknown = UNKNOWN_WRITTEN;
	record->newest->maybe = true;
}

static void make_others(struct mvcc *m, struct store_table *table)
{
	struct store_record *made = arena_zero(&m->store.arena, sizeof(*made));

	TRAIL_SET(&m->store.trail, TABLE, table, others, made);
}

static void make_other_keys_unknown(struct mvcc *m, struct store_table *table)
{
	if (!table->others)
		make_others(m, table);
	make_record_unknown(m, table, table->others);
}

void make_initial_unknown(struct mvcc *m, struct store_table *table)
{
	set_has_unknown_rows(m, table);
	make_others(m, table);
	store_write(&m->store, 0, STORE_NONE, table->others, NULL);
	table->others->newest->unknown = UNKNOWN_INITIAL;
}

bool make_all_unknown(struct mvcc *m, struct store_table *table)
{
	if (!table->cluster || table->unknown || m->now.txn == STORE_NONE ||
		!store_is_active(&m->store, m->now.txn))
		return false;
	for (uint32_t i = 0; i < table->count; i++)
		make_record_unknown(m, table, table->records[i]);
	make_other_keys_unknown(m, table);
	return true;
}

bool make_new_row_unknown(struct mvcc *m, struct store_table *table)
{
	if (!table->cluster || table->unknown || m->now.txn == STORE_NONE ||
		!store_is_active(&m->store, m->now.txn))
		return false;
	for (uint32_t i = 0; i < table->count; i++) {
		struct store_record *record = table->records[i];

		/* A key that was there once, or may be. */
		if (!store_alive(store_current(&m->store, record, m->now.txn)))
			make_record_unknown(m, table, record);
	}
	make_other_keys_unknown(m, table);
	return true;
}

bool others_are_settled(const struct mvcc *m, const struct store_table *table)
{
	for (const struct store_version *v = table->others ? table->others->newest : NULL; v;
		v = v->previous) {
		if (!is_committed(m, v))
			return false;
	}
	return true;
}

/* The record of a key, made where that can be; NULL: `others` has to stand for it. */
static struct store_record *record_of_key(
	struct mvcc *m, struct store_table *table, const struct eval_value *row)
{
	struct store_record *record = store_find(&m->store, table, row);

	if (!record && others_are_settled(m, table))
		record = store_record_for(&m->store, table, row);
	return record;
}

static void make_key_unknown(struct mvcc *m, struct store_table *table, const struct eval_value *row)
{
	struct store_record *record = record_of_key(m, table, row);

	if (record)
		make_record_unknown(m, table, record);
	else
		make_other_keys_unknown(m, table);
}

/* Rows that existed may be others now, or gone. */
static void learn_present(struct mvcc *m, struct store_table *table)
{
	for (uint32_t i = 0; i < table->count; i++) {
		struct store_record *record = table->records[i];

		if (record_unknown(m, record, READ_CURRENT) ||
			store_alive(store_current(&m->store, record, m->now.txn)))
			make_record_unknown(m, table, record);
	}
	if (record_unknown(m, table->others, READ_CURRENT))
		make_other_keys_unknown(m, table);
}

/* Rows that did not exist may exist now. */
static void learn_absent(struct mvcc *m, struct store_table *table)
{
	for (uint32_t i = 0; i < table->count; i++) {
		struct store_record *record = table->records[i];

		if (record_unknown(m, record, READ_CURRENT) ||
			!store_alive(store_current(&m->store, record, m->now.txn)))
			make_record_unknown(m, table, record);
	}
	make_other_keys_unknown(m, table);
}

static void put_row(struct mvcc *m, struct store_table *table, const struct eval_value *row)
{
	struct store_record *record = record_of_key(m, table, row);

	if (record)
		store_write(&m->store, m->now.txn, m->now.stmt, record, row);
	else
		make_other_keys_unknown(m, table);
}

static void insert_makes_unknown(struct mvcc *m, struct store_table *table)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];
	const struct sql_insert *insert = m->now.plan->stmt->u.insert;
	bool replace = m->now.plan->stmt->kind == SQL_STMT_REPLACE;
	bool plain = !replace && !insert->on_duplicate && !(insert->flags & SQL_DML_IGNORE);
	bool counts = !insert->returning &&
		      !(m->schedule->execution->sessions[stmt->in->session].capabilities &
			      CLIENT_FOUND_ROWS);
	struct eval_rows rows = {0};

	/* Which row was met, or where it went, is not known. */
	if (((replace || insert->on_duplicate) && secondary_unique(table)) ||
		moves_duplicates(m, table)) {
		(void)make_all_unknown(m, table);
		return;
	}
	if (!inserted_rows(m, &rows)) {
		if (plain)
			learn_absent(m, table);
		else
			(void)make_all_unknown(m, table);
		return;
	}
	/* Whether it was there before, a replaced row is there now; and so is an inserted one, where
	 * the count says that all were.  One row that was updated instead counts twice. */
	if (counts && stmt->in->record.affected == rows.count &&
		(!insert->on_duplicate || rows.count == 1))
		plain = true;
	for (size_t i = 0; i < rows.count; i++) {
		if (plain || replace)
			put_row(m, table, rows.row[i]);
		else
			make_key_unknown(m, table, rows.row[i]);
	}
}

/* What UPDATE or DELETE of one table did to a row whose own version is known. */
enum row_fate { ROW_STAYS, ROW_CHANGES, ROW_UNKNOWN };

/* A row that came or changed while the statement was under way: where scans lock no gaps, and let go of what
 * does not match, it may have passed by before. */
static bool may_be_missed(const struct mvcc *m, const struct store_version *v)
{
	if (!v || is_own(m, v))
		return false;
	return passes_dirty(m, m->now.level) ||
	       (m->now.level <= LEVEL_READ_COMMITTED &&
		       m->store.txns[v->txn].commit_no > m->runs[m->now.stmt].begin_commits);
}

static enum row_fate fate_of(struct mvcc *m, const struct store_table *table,
	const struct store_record *record, const struct eval_value **new)
{
	const struct plan *plan = m->now.plan;
	const struct store_version *v = store_current(&m->store, record, m->now.txn);
	struct eval_outcome outcome = {0};
	enum eval_truth truth;
	bool changed = true, limited;

	*new = NULL;
	if (record_unknown(m, record, READ_CURRENT))
		return ROW_UNKNOWN;
	if (!store_alive(v))
		return ROW_STAYS;
	if (may_be_missed(m, v) || !plan->change || plan->reads_by_query || !row_matches(m, v->image, &truth))
		return ROW_UNKNOWN;
	if (truth != EVAL_TRUE)
		return ROW_STAYS;
	limited = plan->stmt->kind == SQL_STMT_UPDATE ? plan->stmt->u.update->limit != NULL
						      : plan->stmt->u.del->limit != NULL;
	if (limited || plan->unsupported || plan->skips || has_children(m, table) ||
		leaves_out_rows(plan, &m->schedule->stmts[m->now.stmt].in->record))
		return ROW_UNKNOWN;
	if (plan->stmt->kind == SQL_STMT_UPDATE &&
		(!eval_change_apply(plan->change, &m->store.arena, &m->now.env, &m->source, v->image, new,
			&changed, &outcome) ||
			outcome.opaque_change || opaque_key(m, table, *new)))
		return ROW_UNKNOWN;
	return changed ? ROW_CHANGES : ROW_STAYS;
}

/* The records that UPDATE or DELETE can be about; `others` where they can be others. */
static size_t records_in_reach(
	struct mvcc *m, struct store_table *table, struct store_record ***out, bool *others)
{
	const struct key_set *key_set = m->now.plan->reach;
	bool open = record_unknown(m, table->others, READ_CURRENT) != NULL;
	struct eval_value *row = NULL;
	size_t count = 0, capacity = 0;

	*others = open && (!key_set || !others_are_settled(m, table));
	if (!key_set) {
		*out = table->records;
		return table->count;
	}
	while (key_set_key(m, table, key_set, capacity, &row))
		capacity++;
	*out = arena_alloc(&m->scratch, (capacity + 1) * sizeof(**out));
	for (size_t i = 0; i < capacity && key_set_key(m, table, key_set, i, &row); i++) {
		struct store_record *record = open ? record_of_key(m, table, row)
						   : store_find(&m->store, table, row);

		if (record)
			(*out)[count++] = record;
	}
	return count;
}

static void change_makes_unknown(struct mvcc *m, struct store_table *table)
{
	struct store_record **records;
	bool others;
	size_t count = records_in_reach(m, table, &records, &others);
	const struct eval_value **new = arena_alloc(&m->scratch, (count + 1) * sizeof(*new));
	enum row_fate *fates = arena_alloc(&m->scratch, (count + 1) * sizeof(*fates));
	uint64_t changed = 0, affected = m->schedule->stmts[m->now.stmt].in->record.affected;
	bool counts = !(m->now.plan->stmt->kind == SQL_STMT_DELETE && m->now.plan->stmt->u.del->returning);
	bool told;

	for (size_t i = 0; i < count; i++) {
		fates[i] = fate_of(m, table, records[i], &new[i]);
		changed += fates[i] == ROW_CHANGES;
	}
	/* Where those that are known are as many as the answer counts, the others stayed as they are.
	 * (With CLIENT_FOUND_ROWS it counts more.) */
	told = counts && changed == affected;
	/* It did not change as many as we think: which ones is not known. */
	for (size_t i = 0; counts && changed > affected && i < count; i++) {
		if (fates[i] == ROW_CHANGES)
			fates[i] = ROW_UNKNOWN;
	}
	/* Rows that move leave first. */
	for (size_t i = 0; i < count; i++) {
		bool moves = new[i] && m->now.plan->moves_cluster &&
			     store_find(&m->store, table, new[i]) != records[i];

		if (fates[i] == ROW_CHANGES)
			store_write(&m->store, m->now.txn, m->now.stmt, records[i],
				moves ? NULL : new[i]);
		else if (fates[i] == ROW_UNKNOWN && !told)
			make_record_unknown(m, table, records[i]);
		if (fates[i] != ROW_CHANGES || !moves)
			new[i] = NULL;
	}
	for (size_t i = 0; i < count; i++) {
		if (new[i])
			put_row(m, table, new[i]);
	}
	/* Those that are not known may have moved anywhere. */
	if (!told && m->now.plan->moves_cluster)
		learn_absent(m, table);
	else if (others && !told)
		make_other_keys_unknown(m, table);
}

/* DELETE of every row, or by primary keys alone, which left none of them out. */
static bool deletes_what_it_meets(const struct mvcc *m)
{
	const struct plan *plan = m->now.plan;
	const struct sql_delete *del = plan->stmt->kind == SQL_STMT_DELETE ? plan->stmt->u.del : NULL;

	return del && plan->change && plan->one_table && !plan->reads_by_query && !plan->firing && !del->limit &&
	       !(del->flags & SQL_DML_IGNORE) &&
	       (!del->where || (plan->reach && key_set_is_all(plan->reach)));
}

/* Was the newest version there before the current statement was sent, or is its own? */
static bool was_before(const struct mvcc *m, const struct store_record *record)
{
	const struct store_version *v = record ? record->newest : NULL;

	return !v || is_own(m, v) ||
	       (is_committed(m, v) &&
		       m->store.txns[v->txn].commit_no <= m->runs[m->now.stmt].begin_commits);
}

/* Gone; where it was not known, perhaps before. */
static void delete_record(struct mvcc *m, struct store_record *record)
{
	bool has_unknown_rows = record_unknown(m, record, READ_CURRENT);

	if (!has_unknown_rows && !store_alive(store_current(&m->store, record, m->now.txn)))
		return;
	store_write(&m->store, m->now.txn, m->now.stmt, record, NULL);
	record->newest->maybe = has_unknown_rows;
}

bool delete_unknown(struct mvcc *m)
{
	struct store_table *table = &m->store.tables[m->now.plan->tables[0]];
	struct store_record **records;
	bool others;
	size_t count;

	if (!deletes_what_it_meets(m) || m->schedule->stmts[m->now.stmt].in->record.error ||
		!table->cluster || table->unknown || has_children(m, table))
		return false;
	count = records_in_reach(m, table, &records, &others);
	if (others && (m->now.plan->reach || !was_before(m, table->others)))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!was_before(m, records[i]))
			return false;
	}
	for (size_t i = 0; i < count; i++)
		delete_record(m, records[i]);
	if (others)
		delete_record(m, table->others);
	return true;
}

bool write_unknown(struct mvcc *m, uint32_t number)
{
	struct store_table *table = &m->store.tables[number];
	const struct plan *plan = m->now.plan;

	if (!table->cluster || table->unknown || m->now.txn == STORE_NONE ||
		!store_is_active(&m->store, m->now.txn) || !plan->stmt)
		return false;
	if (plan_is_unreadable(plan, &m->schedule->stmts[m->now.stmt].in->record))
		return make_all_unknown(m, table);
	switch (plan->stmt->kind) {
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		insert_makes_unknown(m, table);
		return true;
	case SQL_STMT_UPDATE:
	case SQL_STMT_DELETE:
		if (plan->one_table)
			change_makes_unknown(m, table);
		else if (plan->stmt->kind == SQL_STMT_DELETE || !plan->moves_cluster)
			learn_present(m, table);
		else
			return make_all_unknown(m, table);
		return true;
	default:
		return make_all_unknown(m, table);
	}
}
