/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UPDATE and DELETE of one table. */
#include <stdlib.h>

#include "base/buf.h"
#include "mvcc/execute/foreign_keys.h"
#include "mvcc/execute/returning.h"
#include "mvcc/execute/row_orders.h"
#include "mvcc/execute/stored_program_exec.h"
#include "mvcc/execute/write.h"
#include "mvcc/explain/explain.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"
#include "server/errors.h"


/* MySQL compares old and new rows only where it has read the columns that are set, which without a row binary
 * log it need not have; else InnoDB writes a version that is like the one before it (seen on 5.6, 8.0 and 9.7
 * with --skip-log-bin). */
static bool writes_noop(struct mvcc *m)
{
	if (m->now.env.flavour == SQL_MYSQL && !m->now.noop)
		m->now.noop = 1 + choose_for(m, m->now.txn, 2);
	return m->now.noop == 2;
}

/* An UPDATE that changes nothing leaves the snapshot's version in sight (rule rr-noop-update). */
void leave_row(struct mvcc *m, struct store_table *table, struct store_record *record)
{
	const struct store_version *v = store_current(&m->store, record, m->now.txn);
	uint32_t view = m->store.txns[m->now.txn].view;

	if (m->now.level != LEVEL_REPEATABLE_READ || view == STORE_NONE || v->maybe ||
		v->txn == m->now.txn || m->store.txns[v->txn].commit_no <= view)
		return;
	if (writes_noop(m))
		store_write(&m->store, m->now.txn, m->now.stmt, record, v->image);
	else
		note_add(m, NOTE_NOOP_UPDATE, v->txn, number_of(m, table), record);
}

/* Picks which rows LIMIT leaves over where ORDER BY does not say. */
static bool pick_open(struct mvcc *m, uint32_t *order, size_t matched, size_t count)
{
	size_t combinations = 1;
	uint32_t pick;

	for (size_t i = 0; i < count; i++) {
		combinations = combinations * (matched - i) / (i + 1);
		if (combinations > 64)
			return false;
	}
	pick = choose(m, (uint32_t)combinations);
	if (pick == 0)
		return true;
	/* The pick-th combination in lexicographic order; which of them the first guess was does
	 * not matter. */
	for (size_t at = 0, next = 0; at < count; next++) {
		size_t rest = 1, left = matched - next - 1, need = count - at - 1;

		for (size_t i = 0; i < need; i++)
			rest = rest * (left - i) / (i + 1);
		if (pick < rest)
			order[at++] = (uint32_t)next;
		else
			pick -= (uint32_t)rest;
	}
	return true;
}

/* At REPEATABLE READ the statement picks rows as they are now; where its snapshot would have picked
 * others, the transaction sees two states of the database (rule rr-current-write). */
static bool sees_two_states(const struct mvcc *m)
{
	uint32_t view = m->store.txns[m->now.txn].view;

	return m->now.level == LEVEL_REPEATABLE_READ && m->now.engine == ENGINE_INNODB &&
	       view != STORE_NONE && view != m->store.commits;
}

static void note_other_rows(struct mvcc *m, struct store_table *table)
{
	struct store *s = &m->store;
	uint32_t view = s->txns[m->now.txn].view;
	struct store_record **records;
	size_t count;

	if (!sees_two_states(m))
		return;
	count = records_of(m, table, &records);
	for (size_t i = 0; i < count; i++) {
		struct store_record *record = records[i];
		const struct store_version *now = store_current(s, record, m->now.txn);
		const struct store_version *then = store_visible(s, record, m->now.txn, view);
		enum eval_truth truth;

		struct store_meant *meant;

		if (now == then || !store_alive(then) || store_alive(now) || now->maybe ||
			!row_matches(m, then->image, &truth) || truth != EVAL_TRUE)
			continue;
		note_add(m, NOTE_CURRENT_WRITE, now->txn, number_of(m, table), record);
		meant = arena_alloc(&s->arena, sizeof(*meant));
		*meant = (struct store_meant){s->txns[m->now.txn].meant, record};
		TRAIL_SET(&s->trail, TXN, &s->txns[m->now.txn], meant, meant);
	}
}

/* The same where subqueries decide: would the rows of the snapshot have been picked? */
static void note_other_source(struct mvcc *m, struct store_table *table, const struct gathered *g,
	const enum eval_truth *truths)
{
	bool differs = false;

	if (!m->now.plan->reads_by_query || !sees_two_states(m))
		return;
	m->now.forced_read = FORCE_SNAPSHOT;
	m->gathered.count = 0;
	for (size_t i = 0; i < g->count && !differs; i++) {
		enum eval_truth truth;

		differs = row_matches(m, g->rows[i], &truth) &&
			  (truth == EVAL_TRUE) != (truths[i] == EVAL_TRUE);
	}
	m->now.forced_read = FORCE_NONE;
	m->gathered.count = 0;
	if (differs)
		note_add(m, NOTE_CURRENT_SOURCE, STORE_NONE, number_of(m, table), NULL);
}

/* ---- rows that depend on each other by foreign keys ---- */

struct scan {
	const struct store_table *table;
	const struct eval_index *index; /* NULL: as the rows came */
	const struct change *changes;
};

static int compare_columns(
	const struct scan *scan, const struct eval_index *index, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; index && i < index->count; i++) {
		uint32_t column = index->columns[i];
		int order = column == UINT32_MAX
				    ? 0
				    : eval_order(&scan->table->def->columns[column].type,
					      &scan->changes[a].old[column],
					      &scan->changes[b].old[column]);

		if (order)
			return order;
	}
	return 0;
}

static int by_index(const void *a, const void *b, void *ctx)
{
	const struct scan *scan = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_columns(scan, scan->index, x, y);

	if (!order)
		order = compare_columns(scan, scan->table->cluster, x, y);
	return order ? order
		     : (scan->changes[x].record->id > scan->changes[y].record->id) -
				(scan->changes[x].record->id < scan->changes[y].record->id);
}

static bool is_sorted(const struct plan *plan)
{
	if (plan->join)
		return false;
	return plan->stmt->kind == SQL_STMT_UPDATE ? plan->stmt->u.update->order != NULL
						   : plan->stmt->u.del->order != NULL;
}

/* The order in which the server comes to the rows: that of one of the indexes.  With ORDER BY they
 * are in order already. */
static const uint32_t *scan_order(struct mvcc *m, const struct plan *plan,
	const struct store_table *table, const struct change *changes, size_t count)
{
	enum { ORDERS_MAX = 16 };
	uint32_t *orders[ORDERS_MAX], found = 0;
	uint32_t indexes = is_sorted(plan) ? 0 : table->def->index_count;

	for (uint32_t i = 0; i <= indexes && found < ORDERS_MAX; i++) {
		struct scan scan = {table, i ? &table->def->indexes[i - 1] : NULL, changes};
		uint32_t *order = arena_alloc(&m->scratch, (count + 1) * sizeof(*order));
		bool there = false;

		for (size_t r = 0; r < count; r++)
			order[r] = (uint32_t)r;
		if (!is_sorted(plan))
			qsort_r(order, count, sizeof(*order), by_index, &scan);
		for (uint32_t k = 0; k < found && !there; k++)
			there = memcmp(orders[k], order, count * sizeof(*order)) == 0;
		if (!there)
			orders[found++] = order;
	}
	return orders[choose(m, found)];
}

/* What a cascade did to the row stays, but for what the statement sets. */
static void rebase(struct mvcc *m, const struct eval_table *def, struct change *c,
	const struct eval_value *now)
{
	struct eval_value *new;

	if (c->new && now != c->old) {
		new = arena_alloc(&m->store.arena, def->column_count * sizeof(*new));
		for (uint32_t i = 0; i < def->column_count; i++)
			new[i] = eval_same(&c->old[i], &c->new[i]) ? now[i] : c->new[i];
		c->new = new;
	}
	c->old = now;
}

void write_in_order(struct mvcc *m, const struct plan *plan, struct store_table *table,
	struct change *changes, size_t count, struct write_answer *a)
{
	const uint32_t *order = scan_order(m, plan, table, changes, count);
	bool limited = plan->change && plan->stmt->kind == SQL_STMT_DELETE && plan->stmt->u.del->limit;
	bool fails = a->status == EVAL_ERROR; /* in whichever order */

	/* Whether a place is free yet depends on the order, too, and on when the server looks. */
	if (a->order_matters && choose(m, 2) == 1) {
		answer_unsupported(a, REASON_ROWS_REPLACE_EACH_OTHER);
		return;
	}
	for (size_t i = 0; i < count && (a->status == EVAL_OK || (fails && a->status == EVAL_ERROR));
		i++) {
		struct change *c = &changes[order[i]];
		const struct store_version *v = store_current(&m->store, c->record, m->now.txn);
		enum eval_truth truth = EVAL_TRUE;

		if (!c->changed)
			continue;
		if (v->image && v->image != c->old && !row_matches(m, v->image, &truth)) {
			answer_unsupported(a, REASON_CASCADE_CHANGED_BEFORE);
			return;
		}
		if (!v->image || truth != EVAL_TRUE) {
			/* Another row may have come in its place. */
			if (limited)
				answer_unsupported(a, REASON_LIMIT_BESIDE_CASCADES);
			a->affected--;
			a->matched--;
			continue;
		}
		rebase(m, table->def, c, v->image);
		if (a->order_matters)
			test_unique(m, table, c, 1, a);
		write_changes(m, table, c, 1, NULL, a);
	}
}

/* ---- UPDATE IGNORE ---- */

static bool fit_together(
	struct mvcc *m, struct store_table *table, const struct change *changes, size_t count)
{
	struct write_answer probe = {.status = EVAL_OK, .held_by = STORE_NONE};

	test_unique(m, table, changes, count, &probe);
	return probe.status == EVAL_OK && !probe.order_matters;
}

/* A row whose new key is taken when the server comes to it stays as it is. */
static void write_those_that_fit(struct mvcc *m, const struct plan *plan, struct store_table *table,
	struct change *changes, size_t count, struct write_answer *a)
{
	const uint32_t *order;

	/* In which order it comes to them is not known. */
	if (count > 1 && choose(m, 2) == 1) {
		answer_unsupported(a, REASON_UPDATE_IGNORE_ROWS_IN_THE_WAY);
		return;
	}
	order = scan_order(m, plan, table, changes, count);
	for (size_t i = 0; i < count && a->status == EVAL_OK; i++) {
		const struct change *c = &changes[order[i]];
		struct write_answer row = {.status = EVAL_OK, .held_by = STORE_NONE};

		if (!c->changed)
			continue;
		test_unique(m, table, c, 1, &row);
		if (row.status == EVAL_UNSUPPORTED)
			answer_unsupported(a, row.reason);
		else if (row.status == EVAL_ERROR)
			a->affected--;
		else if (row.held_by != STORE_NONE)
			held(a, row.held_by, row.held_table, row.held_record);
		else
			write_changes(m, table, c, 1, NULL, a);
	}
}

/* Are there subqueries of tables that foreign keys tie to the one that is written?  Rows after the first may
 * find what its cascades have left there. */
static bool asks_tied(const struct mvcc *m, const struct plan *plan, const struct store_table *table)
{
	uint32_t number = number_of(m, table);

	for (uint32_t i = 0; plan->reads_by_query && i < plan->table_count; i++) {
		if (plan->tables[i] != number && foreign_related(m, number, plan->tables[i]))
			return true;
	}
	return false;
}

/* Was one of the latest `count` versions written to another table? */
static bool cascaded(const struct mvcc *m, const struct store_table *table, uint32_t count)
{
	const struct store_undo *undo = m->store.txns[m->now.txn].undo;

	for (; undo && count; undo = undo->previous, count--) {
		uint32_t id = undo->record->id;

		if (id >= table->count || table->records[id] != undo->record)
			return true;
	}
	return false;
}

/* Did a cascade change a row that did not match, so that it does now?  The server acts on it, too, if its scan has not
 * passed it yet (DELETE FROM t WHERE parent IS NULL, where t refers to itself with ON DELETE SET NULL: seen on MariaDB and
 * MySQL). */
static bool made_to_match(struct mvcc *m, const struct gathered *g, const enum eval_truth *truths)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct store_version *v;
		enum eval_truth truth = EVAL_TRUE;

		if (truths[i] == EVAL_TRUE)
			continue;
		v = store_current(&m->store, g->records[i], m->now.txn);
		if (v->image && v->image != g->rows[i] && (!row_matches(m, v->image, &truth) || truth == EVAL_TRUE))
			return true;
	}
	return false;
}

/* ---- triggers ---- */

struct changing {
	const struct plan *plan;
	struct store_table *table;
	struct store_record **records;
	const struct eval_value **rows;
	const uint32_t *order;
};

/* One row with its triggers; they are fired also where nothing changes. */
static void change_one(struct mvcc *m, void *ctx, size_t number, struct write_answer *a)
{
	const struct changing *in = ctx;
	const struct eval_table *def = in->table->def;
	struct store_record *record = in->records[in->order[number]];
	const struct eval_value *old = in->rows[in->order[number]], *made = NULL;
	struct change change = {record, old, NULL, true};
	struct eval_outcome outcome = {0};
	struct eval_value *new = NULL;

	act_on(m, in->table, record, STORE_LOCK_X, a);
	if (a->conflict) {
		write_error(a, ER_CHECKREAD);
		return;
	}
	if (in->plan->stmt->kind == SQL_STMT_UPDATE) {
		if (!eval_change_apply(in->plan->change, &m->store.arena, &m->now.env, &m->source, old, &made,
			    &change.changed, &outcome)) {
			/* Whether a column may be NULL is tested after BEFORE triggers, which may give it another value. */
			if (outcome.status == EVAL_ERROR && outcome.error == ER_BAD_NULL_ERROR && in->plan->firing->before_count)
				answer_unsupported(a, REASON_TRIGGER_GIVES_DEFAULT);
			else
				answer_outcome(m, a, &outcome);
			return;
		}
		if (outcome.opaque_change && !row_changes(m, change.changed, &outcome, a))
			made = old;
		if (a->status != EVAL_OK)
			return;
		new = arena_alloc(&m->store.arena, def->column_count * sizeof(*new));
		memcpy(new, made, def->column_count * sizeof(*new));
	}
	fire_before(m, in->plan->firing, old, new, a);
	if (a->status != EVAL_OK || a->held_by != STORE_NONE)
		return;
	if (new)
		change.changed = !same_row(def, old, new);
	change.new = new;
	if (new && change.changed && !check_row(m, def, new, &outcome)) {
		answer_outcome(m, a, &outcome);
		return;
	}
	if (change.changed) {
		test_unique(m, in->table, &change, 1, a);
		if (a->status == EVAL_OK)
			write_changes(m, in->table, &change, 1, NULL, a);
		a->affected++;
	} else {
		leave_row(m, in->table, record);
	}
	if (a->status == EVAL_OK && a->held_by == STORE_NONE)
		fire_after(m, in->plan->firing, old, new, a);
}

static void change_firing(struct mvcc *m, struct changing *changing, size_t count, struct write_answer *a)
{
	const struct firing *f = changing->plan->firing;

	a->matched = count;
	if (f->asks && !fires_at_once(m, a))
		return;
	if (changing->table->in_order && count > 1)
		answer_unsupported(a, REASON_TRIGGERS_BESIDE_CASCADES);
	else if (is_sorted(changing->plan))
		for (size_t i = 0; i < count && a->status == EVAL_OK && a->held_by == STORE_NONE; i++)
			change_one(m, changing, i, a);
	else
		rows_in_orders(m, count, change_one, changing, a);
}

static void change_rows(struct mvcc *m, const struct plan *plan, struct write_answer *a)
{
	const struct eval_table *def = eval_change_table(plan->change);
	struct store_table *table = solver_store_table(m, def);
	struct eval_outcome outcome = {0};
	struct gathered g;
	struct change *changes;
	const struct eval_value **rows;
	struct store_record **records;
	enum eval_truth *truths;
	uint32_t *order;
	size_t count = 0, kept, unmatched = 0;
	uint32_t written_before = m->store.txns[m->now.txn].undo_count;
	bool open = false, is_update = plan->stmt->kind == SQL_STMT_UPDATE;
	const void *limit = is_update ? (const void *)plan->stmt->u.update->limit
				      : (const void *)plan->stmt->u.del->limit;

	if (!gather(m, table, READ_CURRENT, &g)) {
		answer_unsupported(a, m->now.unknown);
		return;
	}
	rows = arena_alloc(&m->scratch, (g.count + 1) * sizeof(*rows));
	records = arena_alloc(&m->scratch, (g.count + 1) * sizeof(*records));
	order = arena_alloc(&m->scratch, (g.count + 1) * sizeof(*order));
	truths = arena_alloc(&m->scratch, (g.count + 1) * sizeof(*truths));
	for (size_t i = 0; i < g.count; i++) {
		truths[i] = EVAL_UNKNOWN;
		if (!eval_change_test(plan->change, &m->scratch, &m->now.env, &m->source, g.rows[i],
			    &truths[i], &outcome)) {
			answer_outcome(m, a, &outcome);
			return;
		}
		if (truths[i] != EVAL_TRUE)
			continue;
		rows[count] = g.rows[i];
		records[count] = g.records[i];
		order[count] = (uint32_t)count;
		count++;
	}
	kept = count;
	if (limit || table->in_order || plan->skips || (plan->firing && is_sorted(plan))) {
		if (!eval_change_limit(plan->change, &m->scratch, &m->now.env, &m->source,
			    (struct eval_rows){rows, count}, order, &kept, &open, &outcome)) {
			answer_outcome(m, a, &outcome);
			return;
		}
		if (open && !pick_open(m, order, count, kept)) {
			answer_unsupported(a, REASON_LIMIT_AMONG_EQUAL_ROWS);
			return;
		}
	}
	if (plan->firing) {
		change_firing(m, &(struct changing){plan, table, records, rows, order}, kept, a);
		note_other_rows(m, table);
		if (!limit && !plan->reads_by_query)
			meet_changed(m, table, a);
		if (a->conflict)
			write_error(a, ER_CHECKREAD);
		return;
	}
	changes = arena_alloc(&m->scratch, (kept + 1) * sizeof(*changes));
	for (size_t i = 0; i < kept; i++) {
		struct change *c = &changes[i];

		*c = (struct change){records[order[i]], rows[order[i]], NULL, true};
		act_on(m, table, c->record, STORE_LOCK_X, a);
		if ((is_update && !eval_change_apply(plan->change, &m->store.arena, &m->now.env,
					  &m->source, c->old, &c->new, &c->changed, &outcome)) ||
			(c->new && c->changed &&
				!check_row(m, def, c->new, &outcome))) {
			c->changed = false;
			if (plan->skips && c->new && outcome.status == EVAL_ERROR) {
				/* MariaDB does not even call it matched. */
				unmatched += m->now.env.flavour == SQL_MARIADB;
				outcome = (struct eval_outcome){0};
				continue;
			}
			answer_outcome(m, a, &outcome);
			if (a->status == EVAL_UNSUPPORTED)
				return;
			outcome = (struct eval_outcome){0};
			continue;
		}
		if (is_update)
			c->changed = row_changes(m, c->changed, &outcome, a);
		if (outcome.opaque_change && !c->changed)
			c->new = c->old;
		if (a->status == EVAL_UNSUPPORTED)
			return;
		a->affected += c->changed;
		returning_row(m, a, c->old);
		if (!c->changed)
			leave_row(m, table, c->record);
	}
	a->matched = kept - unmatched;
	note_other_rows(m, table);
	note_other_source(m, table, &g, truths);
	/* With LIMIT others may have been enough; a subquery may have picked others. */
	if (!limit && !plan->reads_by_query)
		meet_changed(m, table, a);
	if (a->conflict)
		write_error(a, ER_CHECKREAD);
	if (plan->skips && a->status == EVAL_OK && !fit_together(m, table, changes, kept)) {
		write_those_that_fit(m, plan, table, changes, kept, a);
		return;
	}
	test_unique(m, table, changes, kept, a);
	/* Where a row fails, another may fail before it in another way. */
	if (a->status == EVAL_UNSUPPORTED)
		return;
	if (table->in_order && kept > 1 && plan->returning)
		answer_unsupported(a, REASON_RETURNING_BESIDE_CASCADES);
	else if (table->in_order && kept > 1)
		write_in_order(m, plan, table, changes, kept, a);
	else
		write_changes(m, table, changes, kept, NULL, a);
	if (a->status == EVAL_OK && table->in_order && made_to_match(m, &g, truths) && choose(m, 2) == 1)
		answer_unsupported(a, REASON_CASCADE_CHANGED_BEFORE);
	if (a->status == EVAL_OK && asks_tied(m, plan, table) &&
		cascaded(m, table, m->store.txns[m->now.txn].undo_count - written_before) &&
		choose(m, 2) == 1)
		answer_unsupported(a, REASON_SUBQUERY_BESIDE_CASCADES);
}

void write_change(struct mvcc *m, const struct plan *plan, struct write_answer *a)
{
	uint32_t mode = m->now.env.mode;

	if (plan->may_run_as_join && choose(m, 2) == 1)
		m->now.env.mode |= EVAL_MODE_SIMULTANEOUS_ASSIGNMENT;
	change_rows(m, plan, a);
	m->now.env.mode = mode;
}
