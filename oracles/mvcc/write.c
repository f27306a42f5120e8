/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INSERT, REPLACE, UPDATE and DELETE on the store: rows are picked by their newest committed (or
 * own) version, constraints tested, versions appended.  A statement that fails leaves nothing
 * behind.
 */
#include "mvcc/write.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "mvcc/foreign.h"
#include "mvcc/solver.h"

enum {
	ER_DUP_ENTRY = 1062,
	ER_CHECKREAD = 1020,
};

/* A row that is to be changed. */
struct change {
	struct store_record *record;
	const struct eval_value *old, *new; /* new NULL: deleted */
	bool changed;
};

/* ---- answers ---- */

void write_error(struct write_answer *a, unsigned error)
{
	if (a->status == EVAL_UNSUPPORTED)
		return;
	if (a->status == EVAL_OK)
		a->error = error;
	a->status = EVAL_ERROR;
	if (!write_can_fail(a, error) && a->error_count < WRITE_ERRORS_MAX)
		a->errors[a->error_count++] = (uint16_t)error;
}

bool write_can_fail(const struct write_answer *a, unsigned error)
{
	for (uint32_t i = 0; i < a->error_count; i++) {
		if (a->errors[i] == error)
			return true;
	}
	return error == ER_DUP_ENTRY && a->order_matters;
}

static void answer_unsupported(struct mvcc *m, struct write_answer *a, const char *reason)
{
	a->status = EVAL_UNSUPPORTED;
	a->reason = m->reasons[reason_number(m, reason)];
}

static void answer_outcome(
	struct mvcc *m, struct write_answer *a, const struct eval_outcome *outcome)
{
	if (m->now_unknown)
		answer_unsupported(m, a, m->now_unknown);
	else if (outcome->status == EVAL_ERROR)
		write_error(a, outcome->error);
	else
		answer_unsupported(m, a, outcome->reason);
}

/* Somebody else holds the record. */
static void held(struct write_answer *a, uint32_t other, struct store_table *table,
	struct store_record *record)
{
	if (a->held_by != STORE_NONE)
		return;
	a->held_by = other;
	a->held_record = record;
	a->held_table = table;
}

/* ---- acting on a row ---- */

static uint32_t number_of(const struct mvcc *m, const struct store_table *table)
{
	return (uint32_t)(table - m->store.tables);
}

/* The lock, and whether the snapshot allows it. */
void act_on(struct mvcc *m, struct store_table *table, struct store_record *record,
	enum store_lock_mode mode, struct write_answer *a)
{
	struct store *s = &m->store;
	struct store_txn *t = &s->txns[m->now_txn];
	const struct store_version *v = store_current(s, record, m->now_txn);
	uint32_t other = store_lock_conflict(s, m->now_txn, record, mode);

	if (other != STORE_NONE && (mode == STORE_LOCK_X || !table->has_secondary))
		held(a, other, table, record);
	if (v && !v->maybe && v->txn != m->now_txn && t->view != STORE_NONE &&
		s->txns[v->txn].commit_no > t->view && m->now_level >= LEVEL_REPEATABLE_READ) {
		if (m->engine == ENGINE_INNODB_SI) {
			a->conflict = true;
			a->conflict_record = record;
			a->conflict_table = table;
		} else if (m->now_level == LEVEL_REPEATABLE_READ) {
			note_add(m, NOTE_CURRENT_WRITE, v->txn, number_of(m, table), record);
		}
	}
	if (mode == STORE_LOCK_X || !table->has_secondary) {
		MEM_RESERVE(m->now_locks, m->now_lock_count + 1, m->now_lock_capacity);
		m->now_locks[m->now_lock_count++] = (struct wanted_lock){record, mode};
	}
}

void take_locks(struct mvcc *m)
{
	for (size_t i = 0; i < m->now_lock_count; i++)
		store_lock(&m->store, m->now_txn, m->now_stmt, m->now_locks[i].record,
			m->now_locks[i].mode);
	m->now_lock_count = 0;
}

/* ---- unique keys ---- */

#define ODD_KEYS "unique keys with characters whose weight is not known"

struct duplicate {
	struct store_record *record; /* NULL: none */
	uint32_t waits_for;          /* an active transaction that has to end first; STORE_NONE */
};

static bool has_key(const struct store_table *table, const struct eval_index *index,
	const struct store_version *v, const struct eval_value *row)
{
	return store_alive(v) && store_key_equal(table->def, index, v->image, row);
}

/* Does it depend on somebody who has not ended whether the key is taken?  A writer of the row that
 * left a secondary key as it was holds no lock on its entry. */
static bool foreign_claim(const struct mvcc *m, const struct store_table *table,
	const struct eval_index *index, const struct store_record *record,
	const struct eval_value *row)
{
	const struct store_version *v = record->newest;
	const struct store_version *committed;

	if (!v || v->txn == m->now_txn || !store_is_active(&m->store, v->txn))
		return false;
	committed = store_current(&m->store, record, m->now_txn);
	if (index == table->cluster)
		return has_key(table, index, v, row) || has_key(table, index, committed, row);
	return has_key(table, index, v, row) != has_key(table, index, committed, row);
}

static struct duplicate find_duplicate(struct mvcc *m, struct store_table *table,
	const struct eval_index *index, const struct eval_value *row,
	const struct store_record *self)
{
	struct duplicate d = {NULL, STORE_NONE};
	struct store_record *only = NULL;
	bool clustered = index == table->cluster;

	if (clustered) {
		only = store_find(&m->store, table, row);
		if (!only)
			return d;
	}
	for (uint32_t i = 0; i < (clustered ? 1 : table->count); i++) {
		struct store_record *record = clustered ? only : table->records[i];
		const struct store_version *v;

		if (record == self)
			continue;
		if (foreign_claim(m, table, index, record, row)) {
			d.record = record;
			d.waits_for = record->newest->txn;
			return d;
		}
		v = store_current(&m->store, record, m->now_txn);
		if (store_alive(v) && store_key_equal(table->def, index, v->image, row)) {
			d.record = record;
			return d;
		}
	}
	return d;
}

/* ---- UPDATE and DELETE ---- */

static const struct change *change_of(
	const struct change *changes, size_t count, const struct store_record *record)
{
	for (size_t i = 0; i < count; i++) {
		if (changes[i].record == record)
			return &changes[i];
	}
	return NULL;
}

/* Do the new rows fit beside each other and beside what is there?  The order in which the server
 * goes through them is not known: a collision with a row that moves away as well is an error in
 * some orders and none in others. */
static void test_unique(struct mvcc *m, struct store_table *table, const struct change *changes,
	size_t count, struct write_answer *a)
{
	for (size_t i = 0; i < count; i++) {
		const struct change *c = &changes[i];

		for (uint32_t u = 0; c->new && c->changed &&u < table->unique_count; u++) {
			const struct eval_index *index = table->uniques[u];

			if (key_is_partial(index)) {
				answer_unsupported(m, a, "unique keys on parts of columns");
				return;
			}
			if (store_key_equal(table->def, index, c->old, c->new))
				continue;
			if (store_odd_keys(table, c->new)) {
				answer_unsupported(m, a, ODD_KEYS);
				return;
			}
			for (uint32_t r = 0; r < table->count; r++) {
				struct store_record *record = table->records[r];
				const struct change *other;
				const struct store_version *v;

				if (record == c->record)
					continue;
				if (foreign_claim(m, table, index, record, c->new))
					held(a, record->newest->txn, table, record);
				v = store_current(&m->store, record, m->now_txn);
				if (!store_alive(v))
					continue;
				other = change_of(changes, count, record);
				if (!other || !other->changed) {
					if (store_key_equal(table->def, index, v->image, c->new))
						write_error(a, ER_DUP_ENTRY);
				} else {
					if (store_key_equal(table->def, index, v->image, c->new))
						a->order_matters = true;
					if (other->new &&store_key_equal(
						    table->def, index, other->new, c->new))
						write_error(a, ER_DUP_ENTRY);
				}
			}
		}
	}
}

/* An UPDATE that changes nothing leaves the snapshot's version in sight (rule rr-noop-update). */
static void note_noop(struct mvcc *m, struct store_table *table, struct store_record *record)
{
	const struct store_version *v = store_current(&m->store, record, m->now_txn);
	uint32_t view = m->store.txns[m->now_txn].view;

	if (m->now_level == LEVEL_REPEATABLE_READ && view != STORE_NONE && !v->maybe &&
		v->txn != m->now_txn &&
		m->store.txns[v->txn].commit_no > view)
		note_add(m, NOTE_NOOP_UPDATE, v->txn, number_of(m, table), record);
}

static void test_constraints(struct mvcc *m, struct store_table *table,
	const struct change *changes, size_t count, struct write_answer *a)
{
	test_unique(m, table, changes, count, a);
	for (size_t i = 0; i < count && a->status != EVAL_UNSUPPORTED; i++) {
		if (changes[i].changed)
			foreign_before(m, table, changes[i].old, changes[i].new, a);
	}
}

/* Appends the versions: first what goes away, then what comes. */
static void apply(struct mvcc *m, struct store_table *table, const struct change *changes,
	size_t count, struct write_answer *a)
{
	struct store *s = &m->store;

	for (size_t i = 0; i < count; i++) {
		const struct change *c = &changes[i];

		if (c->changed && (!c->new || !store_same_record(s, table, c->old, c->new)))
			store_write(s, m->now_txn, m->now_stmt, c->record, NULL);
	}
	for (size_t i = 0; i < count; i++) {
		const struct change *c = &changes[i];

		if (!c->changed || !c->new)
			continue;
		store_write(s, m->now_txn, m->now_stmt,
			store_same_record(s, table, c->old, c->new)
				? c->record
				: store_record_for(s, table, c->new),
			c->new);
	}
	for (size_t i = 0; i < count && a->status == EVAL_OK; i++) {
		const struct change *c = &changes[i];

		if (c->changed)
			foreign_after(m, table, c->old, c->new, a);
	}
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
	uint32_t view = m->store.txns[m->now_txn].view;

	return m->now_level == LEVEL_REPEATABLE_READ && m->engine == ENGINE_INNODB &&
	       view != STORE_NONE && view != m->store.commits;
}

static void note_other_rows(struct mvcc *m, struct store_table *table)
{
	struct store *s = &m->store;
	uint32_t view = s->txns[m->now_txn].view;
	struct store_record **records;
	size_t count;

	if (!sees_two_states(m))
		return;
	count = records_of(m, table, &records);
	for (size_t i = 0; i < count; i++) {
		struct store_record *record = records[i];
		const struct store_version *now = store_current(s, record, m->now_txn);
		const struct store_version *then = store_visible(s, record, m->now_txn, view);
		enum eval_truth truth;

		struct store_meant *meant;

		if (now == then || !store_alive(then) || store_alive(now) || now->maybe ||
			!row_matches(m, then->image, &truth) || truth != EVAL_TRUE)
			continue;
		note_add(m, NOTE_CURRENT_WRITE, now->txn, number_of(m, table), record);
		meant = arena_alloc(&s->arena, sizeof(*meant));
		*meant = (struct store_meant){s->txns[m->now_txn].meant, record};
		TRAIL_SET(&s->trail, s->txns[m->now_txn].meant, meant);
	}
}

/* The same where subqueries decide: would the rows of the snapshot have been picked? */
static void note_other_source(struct mvcc *m, struct store_table *table, const struct gathered *g,
	const enum eval_truth *truths)
{
	bool differs = false;

	if (!m->now_plan->sourced || !sees_two_states(m))
		return;
	m->force = FORCE_SNAPSHOT;
	m->now_gathered_count = 0;
	for (size_t i = 0; i < g->count && !differs; i++) {
		enum eval_truth truth;

		differs = row_matches(m, g->rows[i], &truth) &&
			  (truth == EVAL_TRUE) != (truths[i] == EVAL_TRUE);
	}
	m->force = FORCE_NONE;
	m->now_gathered_count = 0;
	if (differs)
		note_add(m, NOTE_CURRENT_SOURCE, STORE_NONE, number_of(m, table), NULL);
}

static void write_change(struct mvcc *m, const struct plan *plan, struct write_answer *a)
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
	size_t count = 0, kept;
	bool open = false, is_update = plan->stmt->kind == SQL_STMT_UPDATE;
	const void *limit = is_update ? (const void *)plan->stmt->u.update->limit
				      : (const void *)plan->stmt->u.del->limit;

	if (!gather(m, table, READ_CURRENT, &g)) {
		answer_unsupported(m, a, m->now_unknown);
		return;
	}
	rows = arena_alloc(&m->scratch, (g.count + 1) * sizeof(*rows));
	records = arena_alloc(&m->scratch, (g.count + 1) * sizeof(*records));
	order = arena_alloc(&m->scratch, (g.count + 1) * sizeof(*order));
	truths = arena_alloc(&m->scratch, (g.count + 1) * sizeof(*truths));
	for (size_t i = 0; i < g.count; i++) {
		truths[i] = EVAL_UNKNOWN;
		if (!eval_change_test(plan->change, &m->scratch, &m->env, &m->source, g.rows[i],
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
	if (limit) {
		if (!eval_change_limit(plan->change, &m->scratch, &m->env, &m->source,
			    (struct eval_rows){rows, count}, order, &kept, &open, &outcome)) {
			answer_outcome(m, a, &outcome);
			return;
		}
		if (open && !pick_open(m, order, count, kept)) {
			answer_unsupported(m, a, "LIMIT among many equal rows");
			return;
		}
	}
	changes = arena_alloc(&m->scratch, (kept + 1) * sizeof(*changes));
	for (size_t i = 0; i < kept; i++) {
		struct change *c = &changes[i];

		*c = (struct change){records[order[i]], rows[order[i]], NULL, true};
		act_on(m, table, c->record, STORE_LOCK_X, a);
		if ((is_update && !eval_change_apply(plan->change, &m->store.arena, &m->env,
					  &m->source, c->old, &c->new, &c->changed, &outcome)) ||
			(c->new && c->changed &&
				!eval_check(&m->scratch, &m->env, def, c->new, &outcome))) {
			answer_outcome(m, a, &outcome);
			if (a->status == EVAL_UNSUPPORTED)
				return;
			outcome = (struct eval_outcome){0};
			c->changed = false;
			continue;
		}
		a->affected += c->changed;
		if (!c->changed)
			note_noop(m, table, c->record);
	}
	a->matched = kept;
	note_other_rows(m, table);
	note_other_source(m, table, &g, truths);
	if (a->conflict)
		write_error(a, ER_CHECKREAD);
	test_constraints(m, table, changes, kept, a);
	if (a->status == EVAL_OK)
		apply(m, table, changes, kept, a);
}

/* ---- UPDATE and DELETE of several tables ---- */

static bool same_row(
	const struct eval_table *def, const struct eval_value *a, const struct eval_value *b)
{
	for (uint32_t c = 0; c < def->column_count; c++) {
		if (!eval_same(&a[c], &b[c]))
			return false;
	}
	return true;
}

static struct gathered *gathered_of(struct mvcc *m, const struct store_table *table)
{
	for (uint32_t i = 0; i < m->now_gathered_count; i++) {
		if (m->now_gathered[i].table == table)
			return &m->now_gathered[i];
	}
	return NULL;
}

/* A row that matches several times is changed once, by whichever match the server comes to first.
 */
static bool pick_match(struct mvcc *m, const struct plan *plan, uint32_t number,
	const uint32_t *matches, size_t match_count, uint32_t row, const struct eval_value **new,
	bool *changed, struct eval_outcome *outcome)
{
	enum { IMAGES_MAX = 8 };
	uint32_t width = eval_join_table_count(plan->join), found = 0, pick;
	const struct eval_table *def = eval_join_table(plan->join, number);
	const struct eval_value *images[IMAGES_MAX];
	bool changes[IMAGES_MAX];

	for (size_t i = 0; i < match_count && found < IMAGES_MAX; i++) {
		const struct eval_value **rows = arena_alloc(&m->scratch, width * sizeof(*rows));
		const uint32_t *match = matches + i * width;
		uint32_t k = 0;

		if (match[number] != row)
			continue;
		for (uint32_t t = 0; t < width; t++) {
			struct gathered *source = gathered_of(
				m, solver_store_table(m, eval_join_table(plan->join, t)));

			rows[t] = match[t] == UINT32_MAX ? NULL : source->rows[match[t]];
		}
		if (!eval_join_apply(plan->join, &m->store.arena, &m->env, &m->source, number, rows,
			    &images[found], &changes[found], outcome))
			return false;
		while (k < found && !same_row(def, images[k], images[found]))
			k++;
		found += k == found;
	}
	pick = choose(m, found);
	*new = images[pick];
	*changed = changes[pick];
	return true;
}

/* The changes of one target table: each row once. */
static void join_changes(struct mvcc *m, const struct plan *plan, uint32_t number,
	const uint32_t *matches, size_t match_count, struct change *changes, size_t *count,
	struct write_answer *a)
{
	uint32_t width = eval_join_table_count(plan->join);
	struct store_table *table = solver_store_table(m, eval_join_table(plan->join, number));
	struct gathered *g = gathered_of(m, table);
	struct eval_outcome outcome = {0};

	*count = 0;
	for (size_t i = 0; i < match_count; i++) {
		const uint32_t *match = matches + i * width;
		struct change *c = &changes[*count];

		if (match[number] == UINT32_MAX ||
			change_of(changes, *count, g->records[match[number]]))
			continue;
		*c = (struct change){g->records[match[number]], g->rows[match[number]], NULL, true};
		act_on(m, table, c->record, STORE_LOCK_X, a);
		if (plan->stmt->kind == SQL_STMT_UPDATE) {
			if (!pick_match(m, plan, number, matches, match_count, match[number],
				    &c->new, &c->changed, &outcome)) {
				answer_outcome(m, a, &outcome);
				return;
			}
			if (c->changed &&
				!eval_check(&m->scratch, &m->env, table->def, c->new, &outcome)) {
				answer_outcome(m, a, &outcome);
				return;
			}
		}
		a->affected += c->changed;
		a->matched++;
		++*count;
	}
	return;
}

static void write_join(struct mvcc *m, const struct plan *plan, struct write_answer *a)
{
	uint32_t width = eval_join_table_count(plan->join);
	struct eval_outcome outcome = {0};
	const uint32_t *matches;
	size_t match_count;

	/* One table twice: which of the two row numbers means what is more than we keep. */
	for (uint32_t i = 0; i < width; i++) {
		for (uint32_t j = i + 1; j < width; j++) {
			if (eval_join_table(plan->join, i) == eval_join_table(plan->join, j)) {
				answer_unsupported(
					m, a, "a table joined with itself in UPDATE or DELETE");
				return;
			}
			/* What a cascade takes away is not counted again, or not seen. */
			if (eval_join_is_target(plan->join, i) &&
				eval_join_is_target(plan->join, j) &&
				foreign_related(m,
					number_of(m, solver_store_table(
							     m, eval_join_table(plan->join, i))),
					number_of(m, solver_store_table(
							     m, eval_join_table(plan->join, j))))) {
				answer_unsupported(
					m, a, "UPDATE or DELETE of tables tied by a foreign key");
				return;
			}
		}
	}
	if (!eval_join_run(plan->join, &m->scratch, &m->env, &m->source, &matches, &match_count,
		    &outcome)) {
		answer_outcome(m, a, &outcome);
		return;
	}
	for (uint32_t t = 0; t < width && a->status == EVAL_OK; t++) {
		struct store_table *table;
		struct change *changes;
		size_t count;

		if (!eval_join_is_target(plan->join, t))
			continue;
		table = solver_store_table(m, eval_join_table(plan->join, t));
		changes = arena_alloc(&m->scratch, (match_count + 1) * sizeof(*changes));
		join_changes(m, plan, t, matches, match_count, changes, &count, a);
		if (a->status != EVAL_OK)
			return;
		if (a->conflict) {
			write_error(a, ER_CHECKREAD);
			return;
		}
		test_constraints(m, table, changes, count, a);
		if (a->status == EVAL_OK)
			apply(m, table, changes, count, a);
	}
	return;
}

/* ---- INSERT and REPLACE ---- */

/* From one AUTO_INCREMENT value to the next; 0: not known.  A Galera node changes it with the size
 * of the cluster (wsrep_auto_increment_control).  Traces that do not have it are taken to have the
 * servers' preset. */
static uint64_t autoinc_step(const struct execution *e)
{
	struct span value = execution_variable(e, "auto_increment_increment");
	uint64_t step = 0;

	if (execution_is_on(e, "wsrep_on"))
		return 0;
	if (!value.len)
		return 1;
	for (size_t i = 0; i < value.len; i++) {
		if (value.len > 5 || value.ptr[i] < '0' || value.ptr[i] > '9') /* at most 65535 */
			return 0;
		step = step * 10 + (uint64_t)(value.ptr[i] - '0');
	}
	return step;
}

/* Was every row of the statement inserted?  A row that is replaced or updated counts twice, one that
 * is left out not at all; where a row may be updated, two of them may count like two inserted. */
static bool all_came(const struct mvcc *m, const struct plan *plan, size_t row_count)
{
	const struct sql_insert *insert = plan->stmt->u.insert;

	if (insert->query || insert->on_duplicate)
		return false;
	return (plan->stmt->kind != SQL_STMT_REPLACE && !(insert->flags & SQL_DML_IGNORE)) ||
	       m->schedule->stmts[m->now_stmt].in->record.affected == row_count;
}

/* AUTO_INCREMENT: what the server said of the first row that it inserted, then one after the other.
 * Where rows may be left out or become updates it is not known which that was. */
void fill_autoinc(struct mvcc *m, const struct plan *plan, const struct eval_table *def,
	size_t row_count, struct eval_value *row, uint64_t *next, struct write_answer *a)
{
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now_stmt];
	uint64_t step;

	for (uint32_t c = 0; c < def->column_count; c++) {
		if (!def->columns[c].auto_increment || row[c].kind != EVAL_NULL)
			continue;
		step = row_count > 1 ? autoinc_step(m->schedule->execution) : 1;
		if (!*next)
			*next = stmt->in->record.insert_id;
		if (!stmt->in->record.error &&
			(!*next || (row_count > 1 && (!step || !all_came(m, plan, row_count))))) {
			answer_unsupported(m, a, "AUTO_INCREMENT values that were not recorded");
			return;
		}
		/* A failed statement does not tell: a new value, or one that is taken. */
		if (!*next) {
			*next = INT32_MAX / 2;
			a->order_matters = true;
		}
		row[c] = def->columns[c].type.is_unsigned ? eval_uint(*next)
							  : eval_int((int64_t)*next);
		*next += step ? step : 1;
	}
}

void write_row(struct mvcc *m, struct store_table *table, struct store_record *record,
	const struct eval_value *old, const struct eval_value *new, struct write_answer *a)
{
	struct change change = {record, old, new, true};

	test_constraints(m, table, &change, 1, a);
	if (a->status == EVAL_OK)
		apply(m, table, &change, 1, a);
}

/* When a query of the table itself in ON DUPLICATE KEY UPDATE is asked: the first time that it is needed,
 * for every row, or before the first row is inserted.  What the server does depends on how it optimized
 * it. */
enum asked { ASKED_ONCE, ASKED_ALWAYS, ASKED_BEFORE, ASKED_WAYS };

static void insert_duplicate(struct mvcc *m, const struct plan *plan, struct store_table *table,
	struct store_record *met, const struct eval_value *row, struct write_answer *a)
{
	const struct eval_value *old = store_current(&m->store, met, m->now_txn)->image;
	struct eval_outcome outcome = {0};
	const struct eval_value *new;

	act_on(m, table, met, STORE_LOCK_X, a);
	if (a->conflict) {
		write_error(a, ER_CHECKREAD);
		return;
	}
	if (m->now_asked == ASKED_ALWAYS)
		m->now_gathered_count = 0;
	if (!eval_insert_duplicate(
		    plan->insert, &m->store.arena, &m->env, &m->source, old, row, &new, &outcome)) {
		answer_outcome(m, a, &outcome);
		return;
	}
	if (same_row(table->def, old, new)) {
		a->untouched++;
		return;
	}
	if (!eval_check(&m->scratch, &m->env, table->def, new, &outcome)) {
		answer_outcome(m, a, &outcome);
		return;
	}
	a->affected += 2;
	write_row(m, table, met, old, new, a);
}

/* INSERT IGNORE leaves out the rows that a constraint does not allow. */
static void skip_ignored(const struct sql_insert *insert, struct write_answer *a)
{
	if (a->status != EVAL_ERROR || !(insert->flags & SQL_DML_IGNORE))
		return;
	a->status = EVAL_OK;
	a->error = 0;
	a->error_count = 0;
	a->untouched++;
}

/* InnoDB tests secondary and foreign keys in the order of their indexes, MySQL from 9.6 on foreign
 * keys before: where both fail, either error may come. */
static bool foreign_error_first(struct mvcc *m, struct store_table *table,
	const struct eval_value *row, struct write_answer *a)
{
	struct write_answer probe = {.status = EVAL_OK, .held_by = STORE_NONE};
	uint32_t recorded = m->schedule->stmts[m->now_stmt].in->record.error;

	if (!recorded || recorded == ER_DUP_ENTRY)
		return false;
	foreign_before(m, table, NULL, row, &probe);
	if (probe.status != EVAL_ERROR || probe.error != recorded)
		return false;
	write_error(a, probe.error);
	return true;
}

/* REPLACE updates the row where the last key is in the way, else it deletes and inserts; the parent
 * of a foreign key always. */
static bool replaces_in_place(const struct mvcc *m, const struct store_table *table)
{
	uint32_t number = number_of(m, table);

	for (size_t i = 0; i < m->foreign_count; i++) {
		if (m->foreigns[i].parent == number)
			return false;
	}
	return true;
}

static void insert_row(struct mvcc *m, const struct plan *plan, struct store_table *table,
	const struct eval_value *row, struct write_answer *a)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	bool replace = plan->stmt->kind == SQL_STMT_REPLACE;
	struct eval_outcome outcome = {0};

	if (!eval_check(&m->scratch, &m->env, table->def, row, &outcome)) {
		answer_outcome(m, a, &outcome);
		skip_ignored(insert, a);
		return;
	}
	for (uint32_t u = 0; u < table->unique_count; u++) {
		const struct eval_index *index = table->uniques[u];
		struct duplicate d;

		if (key_is_partial(index)) {
			answer_unsupported(m, a, "unique keys on parts of columns");
			return;
		}
		if (store_odd_keys(table, row)) {
			answer_unsupported(m, a, ODD_KEYS);
			return;
		}
		d = find_duplicate(m, table, index, row, NULL);
		if (!d.record)
			continue;
		if (d.waits_for != STORE_NONE) {
			held(a, d.waits_for, table, d.record);
			continue;
		}
		if (foreign_error_first(m, table, row, a))
			return;
		if (insert->on_duplicate) {
			insert_duplicate(m, plan, table, d.record, row, a);
			return;
		}
		if (!replace) {
			if (!(insert->flags & SQL_DML_IGNORE)) {
				write_error(a, ER_DUP_ENTRY);
				return;
			}
			a->untouched++;
			return;
		}
		act_on(m, table, d.record, STORE_LOCK_X, a);
		if (a->conflict) {
			write_error(a, ER_CHECKREAD);
			return;
		}
		const struct eval_value *old =
			store_current(&m->store, d.record, m->now_txn)->image;
		if (u + 1 == table->unique_count && replaces_in_place(m, table)) {
			/* A row that stays the same counts once. */
			a->affected += same_row(table->def, old, row) ? 1 : 2;
			if (!same_row(table->def, old, row))
				write_row(m, table, d.record, old, row, a);
			return;
		}
		/* To children that refer to a key which the new row has, too, nothing happens in
		 * MySQL from 9.6 on (seen on 9.7); others follow the deletion. */
		if (m->env.flavour == SQL_MYSQL && m->env.version >= 90600)
			m->now_replacement = row;
		write_row(m, table, d.record, old, NULL, a);
		m->now_replacement = NULL;
		if (a->status != EVAL_OK)
			return;
		a->affected++;
	}
	foreign_before(m, table, NULL, row, a);
	if (a->status != EVAL_OK) {
		skip_ignored(insert, a);
		return;
	}
	store_write(
		&m->store, m->now_txn, m->now_stmt, store_record_for(&m->store, table, row), row);
	a->affected++;
	return;
}

/* The row that is there and that `row` meets; NULL: none. */
static const struct store_record *record_met(
	struct mvcc *m, struct store_table *table, const struct eval_value *row)
{
	for (uint32_t u = 0; u < table->unique_count; u++) {
		struct duplicate d = find_duplicate(m, table, table->uniques[u], row, NULL);

		if (d.record)
			return d.record;
	}
	return NULL;
}

/* Do two of the rows meet each other, or the same row that is there? */
static bool rows_meet(struct mvcc *m, struct store_table *table, const struct eval_rows *rows)
{
	const struct store_record **met =
		arena_alloc(&m->scratch, (rows->count + 1) * sizeof(*met));

	for (size_t i = 0; i < rows->count; i++) {
		met[i] = record_met(m, table, rows->row[i]);
		for (size_t j = 0; j < i; j++) {
			if (met[i] && met[i] == met[j])
				return true;
			for (uint32_t u = 0; u < table->unique_count; u++) {
				if (store_key_equal(table->def, table->uniques[u], rows->row[i],
					    rows->row[j]))
					return true;
			}
		}
	}
	return false;
}

/* A query's rows come in an order that is not known.  Where it matters each is tried. */
static bool order_rows(struct mvcc *m, const struct plan *plan, struct store_table *table,
	struct eval_rows *rows, struct write_answer *a)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	const struct eval_value **order;
	uint32_t ways = 1, pick;

	if (!insert->query || rows->count < 2 ||
		!(insert->on_duplicate || insert->flags & SQL_DML_IGNORE ||
			plan->stmt->kind == SQL_STMT_REPLACE))
		return true;
	for (uint32_t u = 0; u < table->unique_count; u++) {
		if (key_is_partial(table->uniques[u]))
			return true; /* unsupported in any order */
	}
	if (!rows_meet(m, table, rows))
		return true;
	if (rows->count > 4) {
		answer_unsupported(m, a, "a query's rows in an order that matters");
		return false;
	}
	for (uint32_t i = 2; i <= rows->count; i++)
		ways *= i;
	pick = choose(m, ways);
	order = arena_alloc(&m->scratch, rows->count * sizeof(*order));
	memcpy(order, rows->row, rows->count * sizeof(*order));
	/* The pick-th permutation: which of the rest comes next, again and again. */
	for (size_t i = 0; i < rows->count; i++) {
		size_t left = rows->count - i, at = i + pick % left;
		const struct eval_value *next = order[at];

		pick /= (uint32_t)left;
		memmove(order + i + 1, order + i, (at - i) * sizeof(*order));
		order[i] = next;
	}
	rows->row = order;
	return true;
}

/* Every error that one of a query's rows can be the first to meet. */
static void collect_errors(struct mvcc *m, struct store_table *table, const struct eval_rows *rows,
	const struct eval_outcome *outcome, struct write_answer *a)
{
	if (outcome->status == EVAL_ERROR)
		write_error(a, outcome->error);
	for (size_t i = 0; i < rows->count && a->status == EVAL_ERROR; i++) {
		struct eval_outcome check = {0};

		if (record_met(m, table, rows->row[i]))
			write_error(a, ER_DUP_ENTRY);
		if (!eval_check(&m->scratch, &m->env, table->def, rows->row[i], &check) &&
			check.status == EVAL_ERROR)
			write_error(a, check.error);
		foreign_before(m, table, NULL, rows->row[i], a);
	}
}

/* The rows live as long as the store. */
static void write_insert(struct mvcc *m, const struct plan *plan, struct write_answer *a)
{
	const struct eval_table *def = eval_insert_table(plan->insert);
	struct store_table *table = solver_store_table(m, def);
	struct eval_outcome outcome = {0};
	struct eval_rows rows = {0};
	uint64_t next = 0;
	bool made;

	if (table->unknown) {
		answer_unsupported(m, a, m->reasons[table->unknown]);
		return;
	}
	if (table->hidden_key) {
		answer_unsupported(m, a, "rows whose hidden key the recorder made");
		return;
	}
	made = eval_insert_rows(
		plan->insert, &m->store.arena, &m->env, &m->source, &rows, &outcome);
	if (!made && (m->now_unknown || outcome.status == EVAL_UNSUPPORTED)) {
		answer_outcome(m, a, &outcome);
		return;
	}
	a->matched = rows.count;
	if (!order_rows(m, plan, table, &rows, a))
		return;
	m->now_asked = ASKED_ONCE;
	if (plan->asks_own && rows.count > 1) {
		struct eval_rows before;

		m->now_asked = choose(m, ASKED_WAYS);
		if (m->now_asked == ASKED_BEFORE && !rows_of(m, def, NULL, &before)) {
			answer_outcome(m, a, &outcome);
			return;
		}
	}
	for (size_t i = 0; i < rows.count && a->status == EVAL_OK; i++) {
		struct eval_value *row =
			arena_alloc(&m->store.arena, def->column_count * sizeof(*row));

		memcpy(row, rows.row[i], def->column_count * sizeof(*row));
		fill_autoinc(m, plan, def, rows.count, row, &next, a);
		if (a->status == EVAL_OK)
			insert_row(m, plan, table, row, a);
	}
	/* The rows before the one that cannot be made came first, and so did their errors. */
	if (!made && a->status == EVAL_OK)
		answer_outcome(m, a, &outcome);
	if (a->status == EVAL_ERROR && plan->stmt->u.insert->query && a->held_by == STORE_NONE) {
		collect_errors(m, table, &rows, &outcome, a);
		/* Rows behind the one that cannot be made were not looked at. */
		if (!made && !write_can_fail(a, m->schedule->stmts[m->now_stmt].in->record.error))
			answer_unsupported(m, a, "a query's rows in an order that matters");
	}
}

void write_execute(struct mvcc *m, const struct plan *plan, struct write_answer *a)
{
	struct store_txn *t = &m->store.txns[m->now_txn];
	struct store_undo *undo = t->undo;
	uint32_t undo_count = t->undo_count;

	*a = (struct write_answer){.status = EVAL_OK, .held_by = STORE_NONE};
	if (plan->insert)
		write_insert(m, plan, a);
	else if (plan->change)
		write_change(m, plan, a);
	else
		write_join(m, plan, a);
	if (a->status != EVAL_OK || a->held_by != STORE_NONE)
		store_rollback_to(&m->store, m->now_txn, undo, undo_count);
}
