/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/explain/accesses.h"

#include <stdlib.h>

#include "base/mem.h"
#include "model/history/history.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"
#include "mvcc/store/purge.h"

enum { COLUMNS_MAX = 256 }; /* of a result */

struct own_write {
	uint32_t txn, stmt; /* of the store; of the schedule */
};

struct reader {
	struct row_versions *rv;
	struct mvcc *m;
	struct map last_read;       /* transaction and row to the position of its last plain read */
	struct map wheres;          /* plan (its address) to its condition */
	struct eval_expr **compiled;
	bool *compiles;
	size_t compiled_count, compiled_capacity, flags_capacity;
	struct own_write *own;      /* by row */
	uint32_t *first_begins;     /* by version: accesses_first_begins() */
	uint32_t *stamp;            /* by row: the statement, from 1, whose answer has it */
	/* The statement that is looked at. */
	uint32_t stmt, txn;         /* of the schedule */
	enum access_kind kind;
	uint64_t begin, end;        /* what it read was committed at a moment between these answers */
	const struct sql_query *query;
};

/* Positions that a read may have seen. */
struct window {
	uint32_t low, high;
};

/* ---- windows ---- */

/* The last position at which a time that only grows along the row is below, or at, a bound. */
static uint32_t last_until(const uint64_t *times, uint32_t count, uint64_t bound)
{
	uint32_t low = 0, high = count;

	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;

		if (times[middle] <= bound)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* By times alone.  The version at 0 was there at the start. */
static struct window window_of(const struct reader *r, uint32_t row)
{
	const struct access_row *x = &r->rv->out.rows[row];

	return (struct window){.low = r->begin ? last_until(r->rv->answered_first + x->first, x->count, r->begin - 1) : 0,
		.high = last_until(r->rv->sent_last + x->first, x->count, r->end)};
}

/* The rows that the transaction of the statement writes, each with the first statement that does. */
static void note_own_writes(struct reader *r)
{
	for (const struct store_undo *u = r->m->store.txns[r->txn + 1].undo; u; u = u->previous) {
		uint32_t row = row_of_record(r->rv, u->record), stmt = u->version->stmt == STORE_NONE ? 0 : u->version->stmt;

		if (row == ACCESS_NONE)
			continue;
		if (r->own[row].txn != r->txn + 1 || stmt < r->own[row].stmt)
			r->own[row] = (struct own_write){r->txn + 1, stmt};
	}
}

/* The transaction saw its own version, or makes one now: nothing of others is to be concluded.  Statements are numbered by
 * their begin. */
static bool wrote_before(const struct reader *r, uint32_t row)
{
	return r->own[row].txn == r->txn + 1 && r->own[row].stmt <= r->stmt;
}

static uint64_t read_key(const struct reader *r, uint32_t row)
{
	return (uint64_t)r->txn << 32 | row;
}

static void add_read(struct reader *r, uint32_t row, struct window w, enum access_kind kind)
{
	struct accesses *out = &r->rv->out;

	if (kind == ACCESS_PLAIN)
		map_put(&r->last_read, read_key(r, row), w.high);

	MEM_RESERVE(out->reads, out->read_count + 1, out->read_capacity);
	out->reads[out->read_count++] = (struct access_read){.txn = r->rv->txn_of[r->txn],
		.stmt = r->rv->stmt_of[r->stmt],
		.row = row,
		.low = w.low,
		.high = w.high,
		.kind = kind};
}

/* ---- conditions ---- */

/* The condition of a query of one table, compiled once; NULL with true: there is none. */
static bool where_of(struct reader *r, const struct eval_expr **where)
{
	struct mvcc *m = r->m;
	const struct sql_table_ref *from = r->query->u.select.from;
	uint32_t *at = map_at(&r->wheres, (uintptr_t)m->now.plan);
	struct eval_outcome outcome = {0};

	if (*at == MAP_NONE) {
		struct eval_expr *expr = NULL;

		*at = (uint32_t)r->compiled_count;
		if (r->query->u.select.where)
			expr = eval_expr_compile(&m->catalog.arena, r->query->u.select.where,
				m->store.tables[m->now.plan->tables[0]].def, from->alias, &m->now.env, &m->source, &outcome);
		MEM_RESERVE(r->compiled, r->compiled_count + 1, r->compiled_capacity);
		MEM_RESERVE(r->compiles, r->compiled_count + 1, r->flags_capacity);
		r->compiled[r->compiled_count] = expr;
		r->compiles[r->compiled_count++] = expr || !r->query->u.select.where;
	}
	*where = r->compiled[*at];
	return r->compiles[*at];
}

/* Is the condition true of the row as it is at a position?  EVAL_UNKNOWN: that is not known. */
static enum eval_truth matches_at(struct reader *r, const struct eval_expr *where, uint32_t row, uint32_t position)
{
	const struct eval_value *image = row_image(r->rv, row, position);
	struct eval_outcome outcome = {0};
	enum eval_truth truth = EVAL_TRUE;

	if (!image)
		return EVAL_FALSE;
	if (r->query && where &&
		!eval_expr_test(where, &r->m->scratch, &r->m->now.env, &r->m->source, image, &truth, &outcome))
		return EVAL_UNKNOWN;
	if (!r->query && !row_matches(r->m, image, &truth))
		return EVAL_UNKNOWN;
	return truth == EVAL_TRUE ? EVAL_TRUE : EVAL_FALSE;
}

/* Of all positions of a window; EVAL_UNKNOWN: not the same. */
static enum eval_truth matches_in(struct reader *r, const struct eval_expr *where, uint32_t row, struct window w)
{
	enum eval_truth first = matches_at(r, where, row, w.low);

	for (uint32_t p = w.low + 1; p <= w.high && first != EVAL_UNKNOWN; p++)
		if (matches_at(r, where, row, p) != first)
			return EVAL_UNKNOWN;
	return first;
}

/* The row was not in the answer; a later version of another transaction would have been. */
static void add_miss(struct reader *r, const struct eval_expr *where, uint32_t row, struct window w)
{
	const struct access_row *x = &r->rv->out.rows[row];
	const struct history *h = r->m->options->history;
	struct accesses *out = &r->rv->out;

	for (uint32_t p = w.high + 1; p < x->count; p++) {
		/* Those that began later have nothing to do with it. */
		if (r->first_begins[x->first + p] > h->txns[r->rv->txn_of[r->txn]].end_seq)
			return;
		if (matches_at(r, where, row, p) != EVAL_TRUE)
			continue;
		MEM_RESERVE(out->misses, out->miss_count + 1, out->miss_capacity);
		out->misses[out->miss_count++] =
			(struct access_miss){r->rv->txn_of[r->txn], r->rv->stmt_of[r->stmt], x->first + p};
		return;
	}
}

/* Calls `each` for every row of the table of which there are several versions and that the statement can be about. */
typedef void row_fn(struct reader *r, const struct eval_expr *where, uint32_t row);

static void each_row(struct reader *r, uint32_t number, const struct eval_expr *where, row_fn *each)
{
	struct store_table *table = &r->m->store.tables[number];
	struct store_record **records;
	size_t count = records_of(r->m, table, &records);

	/* All of the table's are more than those that have several versions. */
	if (records != table->records) {
		for (size_t i = 0; i < count; i++) {
			uint32_t row = row_of_record(r->rv, records[i]);

			if (row != ACCESS_NONE)
				each(r, where, row);
		}
		return;
	}
	for (uint32_t row = r->rv->first_row[number]; row < r->rv->first_row[number + 1]; row++)
		each(r, where, row);
}

/* ---- answers that show rows ---- */

/* The columns of the answer that are columns of a table. */
struct shown_columns {
	uint32_t of[COLUMNS_MAX]; /* by column of the answer: of the table; UINT32_MAX: none */
	uint32_t count;
};

static bool read_columns(const struct store_table *table, struct span columns, struct shown_columns *out)
{
	struct mp mp = mp_over(columns);
	uint32_t count = mp_array(&mp);

	if (count > COLUMNS_MAX)
		return false;
	out->count = count;
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint32_t fields = mp_array(&mp);
		struct span database, original, name;

		out->of[i] = UINT32_MAX;
		if (fields < 10)
			return false;
		if (!record_skip_fields(&mp, 7))
			return false;
		database = mp_bytes(&mp);
		original = mp_bytes(&mp);
		name = mp_bytes(&mp);
		if (fields > 10 && !record_skip_fields(&mp, fields - 10))
			return false;
		if (span_ieq(original, table->name) && span_ieq(database, table->database))
			out->of[i] = eval_table_column(table->def, name);
	}
	return !mp.bad;
}

/* Where the answer has a column of the table; UINT32_MAX: nowhere, or twice. */
static uint32_t place_of(const struct shown_columns *shown, uint32_t column)
{
	uint32_t place = UINT32_MAX;

	for (uint32_t i = 0; i < shown->count; i++) {
		if (shown->of[i] != column)
			continue;
		if (place != UINT32_MAX)
			return UINT32_MAX;
		place = i;
	}
	return place;
}

static bool shows_key(const struct store_table *table, const struct shown_columns *shown)
{
	for (uint32_t i = 0; i < table->cluster->count; i++)
		if (table->cluster->columns[i] == UINT32_MAX || table->cluster->lengths[i] ||
			place_of(shown, table->cluster->columns[i]) == UINT32_MAX)
			return false;
	return true;
}

/* Is the row as it is at a position what the answer shows? */
static bool is_as_shown(const struct reader *r, uint32_t row, uint32_t position, const struct shown_columns *shown,
	const struct eval_value *values)
{
	const struct eval_value *image = row_image(r->rv, row, position);

	for (uint32_t i = 0; image && i < shown->count; i++) {
		uint32_t c = shown->of[i];

		if (c != UINT32_MAX && values[c].kind != EVAL_OPAQUE && image[c].kind != EVAL_OPAQUE &&
			!eval_same(&image[c], &values[c]))
			return false;
	}
	return image != NULL;
}

/* One row of an answer. */
static void look_at_shown(struct reader *r, struct store_table *table, const struct shown_columns *shown, struct span encoded)
{
	struct value values[COLUMNS_MAX];
	struct eval_value *made = arena_zero(&r->m->scratch, ((size_t)table->def->column_count + 1) * sizeof(*made));
	const struct store_record *record;
	struct window w, seen = {UINT32_MAX, 0};
	uint32_t row;

	if (execution_row(encoded, values, COLUMNS_MAX) != shown->count)
		return;
	for (uint32_t c = 0; c < table->def->column_count; c++)
		made[c].kind = EVAL_OPAQUE;
	for (uint32_t i = 0; i < shown->count; i++) {
		uint32_t c = shown->of[i];

		if (c != UINT32_MAX && !eval_from_trace(&r->m->scratch, &table->def->columns[c].type, &values[i], &made[c]))
			made[c].kind = EVAL_OPAQUE;
	}
	for (uint32_t i = 0; i < table->cluster->count; i++)
		if (made[table->cluster->columns[i]].kind == EVAL_OPAQUE || made[table->cluster->columns[i]].kind == EVAL_NULL)
			return; /* of an outer join, say */
	record = store_find(&r->m->store, table, made);
	row = record ? row_of_record(r->rv, record) : ACCESS_NONE;
	if (row == ACCESS_NONE)
		return;
	r->stamp[row] = r->stmt + 1;
	if (wrote_before(r, row))
		return;
	w = window_of(r, row);
	for (uint32_t p = w.low; p <= w.high; p++) {
		if (!is_as_shown(r, row, p, shown, made))
			continue;
		seen.low = seen.low == UINT32_MAX ? p : seen.low;
		seen.high = p;
	}
	if (seen.low != UINT32_MAX)
		add_read(r, row, seen, r->kind);
}

static bool look_at_answer(struct reader *r, uint32_t number)
{
	struct store_table *table = &r->m->store.tables[number];
	const struct execution_rows *recorded = schedule_result(r->m->schedule, &r->m->schedule->stmts[r->stmt]);
	struct shown_columns shown;

	if (!recorded || !recorded->complete || !table->def || !table->cluster ||
		!read_columns(table, recorded->columns, &shown) || !shows_key(table, &shown))
		return false;
	for (size_t i = 0; i < recorded->count; i++)
		look_at_shown(r, table, &shown, recorded->rows[i]);
	return true;
}

/* ---- statements ---- */

/* Of a query whose answer shows its rows: those that it does not show. */
static void look_at_unshown(struct reader *r, const struct eval_expr *where, uint32_t row)
{
	struct window w;

	if (r->stamp[row] == r->stmt + 1 || wrote_before(r, row))
		return;
	w = window_of(r, row);
	if (r->kind == ACCESS_PLAIN && matches_in(r, where, row, w) == EVAL_FALSE)
		add_miss(r, where, row, w);
}

/* Of a query that counts or sums: the rows of its condition. */
static void look_at_counted(struct reader *r, const struct eval_expr *where, uint32_t row)
{
	struct window w;

	if (wrote_before(r, row))
		return;
	w = window_of(r, row);
	switch (matches_in(r, where, row, w)) {
	case EVAL_TRUE:
		add_read(r, row, w, r->kind);
		break;
	case EVAL_FALSE:
		if (r->kind == ACCESS_PLAIN)
			add_miss(r, where, row, w);
		break;
	case EVAL_UNKNOWN:
		break;
	}
}

/* Of an UPDATE that found the row and wrote no version of it: the positions at which it would not have. */
static bool is_left_at(struct reader *r, uint32_t row, uint32_t position)
{
	const struct eval_value *image = row_image(r->rv, row, position), *after;
	struct eval_outcome outcome = {0};
	bool changed = true;

	return image && eval_change_apply(r->m->now.plan->change, &r->m->scratch, &r->m->now.env, &r->m->source, image, &after,
				&changed, &outcome) &&
	       !changed;
}

static void widen(struct window *w, uint32_t position)
{
	w->low = position < w->low ? position : w->low;
	w->high = position;
}

/* Of an UPDATE or DELETE, a row of which it wrote no version: it found the row and left it as it was, or did not find it.
 * Where only one of the two is possible, that is what happened. */
static void look_at_left(struct reader *r, const struct eval_expr *where, uint32_t row)
{
	struct accesses *out = &r->rv->out;
	struct window w, left = {UINT32_MAX, 0}, none = {UINT32_MAX, 0};
	bool update = r->m->now.plan->stmt->kind == SQL_STMT_UPDATE;
	uint32_t read;

	if (wrote_before(r, row))
		return;
	w = window_of(r, row);
	for (uint32_t p = w.low; p <= w.high; p++) {
		enum eval_truth truth = matches_at(r, where, row, p);

		if (truth == EVAL_UNKNOWN)
			return;
		if (truth == EVAL_FALSE)
			widen(&none, p);
		else if (update && is_left_at(r, row, p))
			widen(&left, p);
	}
	if (left.low != UINT32_MAX && none.low == UINT32_MAX)
		add_read(r, row, left, ACCESS_NO_CHANGE);
	read = map_get(&r->last_read, read_key(r, row));
	if (left.low != UINT32_MAX || none.low == UINT32_MAX || read == MAP_NONE || read >= none.low ||
		matches_at(r, where, row, read) != EVAL_TRUE)
		return;
	MEM_RESERVE(out->gone, out->gone_count + 1, out->gone_capacity);
	out->gone[out->gone_count++] =
		(struct access_found_gone){r->rv->txn_of[r->txn], r->rv->stmt_of[r->stmt], row, read};
}

static bool is_one_table(const struct mvcc *m, const struct sql_query *query)
{
	return query->kind == SQL_QUERY_SELECT && !m->now.plan->nested && query->u.select.from && !query->u.select.from->next &&
	       query->u.select.from->kind == SQL_TABLE_NAME && m->now.plan->table_count == 1 && !query->with;
}

static void look_at_query(struct reader *r)
{
	struct mvcc *m = r->m;
	const struct plan *plan = m->now.plan;
	const struct eval_expr *where = NULL;
	bool followed = true;

	r->query = plan->stmt->u.query;
	if (is_one_table(m, r->query)) {
		bool shows = look_at_answer(r, plan->tables[0]);
		bool whole = !r->query->limit && !skips_locked(plan) && where_of(r, &where);

		if (whole)
			each_row(r, plan->tables[0], where, shows ? look_at_unshown : look_at_counted);
		followed = shows || whole;
	} else {
		for (uint32_t i = 0; i < plan->table_count; i++)
			followed &= look_at_answer(r, plan->tables[i]);
	}
	r->rv->out.not_followed += !followed;
}

static void look_at_change(struct reader *r)
{
	const struct plan *plan = r->m->now.plan;

	r->query = NULL;
	if (!plan->change || !plan->one_table || plan->table_count != 1 || plan->reads_by_query ||
		(plan->stmt->kind == SQL_STMT_UPDATE ? plan->stmt->u.update->limit : plan->stmt->u.del->limit))
		return;
	each_row(r, plan->tables[0], NULL, look_at_left);
}

/* Makes the statement the one that is executed. */
static void become(struct reader *r, uint32_t stmt)
{
	struct mvcc *m = r->m;
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	const struct schedule_txn *t = &m->schedule->txns[s->txn];

	r->stmt = stmt;
	r->txn = s->txn;
	m->now.stmt = stmt;
	m->now.txn = s->txn + 1;
	m->now.level = t->level;
	m->now.autocommit = t->autocommit;
	m->now.plan = m->runs[stmt].plan;
	settings_apply(m, m->now.plan);
	m->now.env.has_last_insert_id = m->runs[stmt].has_last_insert_id;
	m->now.env.last_insert_id = m->runs[stmt].number;
	m->gathered.count = 0;
	note_own_writes(r);
	r->begin = s->in->record.begin_seq;
	r->end = s->in->record.seq;
}

/* Before the snapshot of a transaction at REPEATABLE READ can have been made. */
static uint64_t began_at(const struct mvcc *m, const struct schedule_txn *t)
{
	uint64_t first = t->first_stmt == EXECUTION_NONE ? t->begin_seq
							 : m->schedule->stmts[t->first_stmt].in->record.begin_seq;

	return first < t->begin_seq ? first : t->begin_seq;
}

static void look_at(struct reader *r, uint32_t i)
{
	struct mvcc *m = r->m;
	const struct schedule_stmt *s = &m->schedule->stmts[i];
	const struct plan *plan = m->runs[i].plan;

	if (s->txn == SCHEDULE_NONE || r->rv->txn_of[s->txn] == ACCESS_NONE || r->rv->stmt_of[i] == ACCESS_NONE ||
		m->runs[i].verdict != STMT_DECIDED || s->in->record.error || !plan || plan->unsupported || !plan->stmt ||
		m->store.txns[s->txn + 1].level_unknown)
		return;
	become(r, i);
	if (plan->query && plan->reads && plan->stmt->kind == SQL_STMT_SELECT) {
		enum read_mode mode = read_mode_of(m);

		if (mode == READ_DIRTY)
			return;
		r->kind = mode == READ_CURRENT ? ACCESS_LOCKING : ACCESS_PLAIN;
		if (r->kind == ACCESS_PLAIN && m->now.level >= LEVEL_REPEATABLE_READ) {
			r->begin = began_at(m, &m->schedule->txns[s->txn]);
			if (r->rv->snapshot[s->txn] < r->end)
				r->end = r->rv->snapshot[s->txn];
		}
		look_at_query(r);
	} else if (plan->change) {
		r->kind = ACCESS_LOCKING;
		look_at_change(r);
	}
	arena_clear(&m->scratch);
}

static int by_txn(const void *a, const void *b, void *history)
{
	const struct access_read *x = a, *y = b;
	const struct history_stmt *stmts = ((const struct history *)history)->stmts;

	if (x->txn != y->txn)
		return x->txn < y->txn ? -1 : 1;
	if (x->stmt != y->stmt)
		return stmts[x->stmt].begin_seq < stmts[y->stmt].begin_seq ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

void accesses_report(struct mvcc *m)
{
	struct row_versions rv;
	struct reader r = {.rv = &rv, .m = m};

	/* Rows that came and went are part of what happened. */
	store_restore(&m->store);
	row_versions_init(&rv, m);
	r.stamp = mem_zero((size_t)rv.out.row_count + 1, sizeof(*r.stamp));
	r.first_begins = accesses_first_begins(&rv.out, m->options->history);
	r.own = mem_zero((size_t)rv.out.row_count + 1, sizeof(*r.own));
	for (size_t i = 0; i < m->schedule->stmt_count; i++)
		look_at(&r, (uint32_t)i);
	if (rv.out.read_count)
		qsort_r(rv.out.reads, rv.out.read_count, sizeof(*rv.out.reads), by_txn, (void *)(uintptr_t)m->options->history);
	m->options->accesses(m->options->context, &rv.out);
	map_release(&r.wheres);
	map_release(&r.last_read);
	mem_free(r.compiled);
	mem_free(r.compiles);
	mem_free(r.stamp);
	mem_free(r.own);
	mem_free(r.first_begins);
	row_versions_release(&rv);
}
