/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UPDATE and DELETE of several tables. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "mvcc/execute/foreign_keys.h"
#include "mvcc/execute/row_orders.h"
#include "mvcc/execute/stored_program_exec.h"
#include "mvcc/execute/write.h"
#include "mvcc/explain/explain.h"
#include "mvcc/plan/plan.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/search.h"
#include "mvcc/solver.h"
#include "server/errors.h"

static struct gathered *gathered_of(struct mvcc *m, const struct store_table *table)
{
	for (uint32_t i = 0; i < m->gathered.count; i++) {
		if (m->gathered.list[i].table == table)
			return &m->gathered.list[i];
	}
	return NULL;
}

static bool give_up(struct mvcc *m, struct eval_outcome *outcome, uint32_t reason)
{
	outcome->status = EVAL_UNSUPPORTED;
	snprintf(outcome->reason, sizeof(outcome->reason), "%s", reason_text(&m->reasons, reason));
	return false;
}

/* The rows of one match, one for each table; NULL: the NULL row of an outer join. */
static const struct eval_value **match_rows(struct mvcc *m, const struct plan *plan, const uint32_t *match)
{
	uint32_t width = eval_join_table_count(plan->join);
	const struct eval_value **rows = arena_alloc(&m->scratch, width * sizeof(*rows));

	for (uint32_t t = 0; t < width; t++) {
		struct gathered *source = gathered_of(m, solver_store_table(m, eval_join_table(plan->join, t)));

		rows[t] = match[t] == UINT32_MAX ? NULL : source->rows[match[t]];
	}
	return rows;
}

struct by_clusters {
	struct mvcc *m;
	const struct plan *plan;
};

/* The order in which nested loops over the clustered indexes come to the matches. */
static int compare_matches(const void *a, const void *b, void *ctx)
{
	const struct by_clusters *by = ctx;
	const struct eval_value *const *x = *(const struct eval_value *const *const *)a;
	const struct eval_value *const *y = *(const struct eval_value *const *const *)b;

	for (uint32_t t = 0; t < eval_join_table_count(by->plan->join); t++) {
		const struct store_table *table = solver_store_table(by->m, eval_join_table(by->plan->join, t));

		for (uint32_t i = 0; x[t] && y[t] && table->cluster && i < table->cluster->count; i++) {
			uint32_t c = table->cluster->columns[i];
			int order = eval_order(&table->def->columns[c].type, &x[t][c], &y[t][c]);

			if (order)
				return order;
		}
	}
	return 0;
}

/* A row that matches several times is changed once, by whichever match the server comes to first ("each matching row is
 * updated once, even if it matches the conditions multiple times": MySQL manual, "UPDATE Statement"). Which that is
 * depends on the order of the join, so each is tried.  Of more than can be tried, the answer may be right by one of the
 * others. */
static bool pick_match(struct mvcc *m, const struct plan *plan, uint32_t number,
	const uint32_t *matches, size_t match_count, uint32_t row, const struct eval_value **new,
	bool *changed, struct eval_outcome *outcome)
{
	enum { IMAGES_MAX = 16 };
	uint32_t width = eval_join_table_count(plan->join), found = 0, pick;
	const struct eval_table *def = eval_join_table(plan->join, number);
	const struct eval_value ***of_row = arena_alloc(&m->scratch, (match_count + 1) * sizeof(*of_row));
	const struct eval_value *images[IMAGES_MAX + 1];
	bool changes[IMAGES_MAX + 1];
	size_t count = 0;

	for (size_t i = 0; i < match_count; i++) {
		if (matches[i * width + number] == row)
			of_row[count++] = match_rows(m, plan, matches + i * width);
	}
	qsort_r(of_row, count, sizeof(*of_row), compare_matches, &(struct by_clusters){m, plan});
	for (size_t i = 0; i < count && found <= IMAGES_MAX; i++) {
		uint32_t k = 0;

		if (!eval_join_apply(plan->join, &m->store.arena, &m->now.env, &m->source, number, of_row[i],
			    &images[found], &changes[found], outcome))
			return false;
		if (outcome->opaque_change)
			return give_up(m, outcome, REASON_SAME_TIME_ASSIGNED);
		while (k < found && !same_row(def, images[k], images[found]))
			k++;
		found += k == found;
	}
	pick = choose(m, found);
	if (pick == IMAGES_MAX)
		return give_up(m, outcome, REASON_MANY_MATCHES_OF_A_ROW);
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
				/* Of the rows of an outer join the servers keep what is to be set in a
				 * temporary table, which has no NULL for it. */
				if (a->error == ER_BAD_NULL_ERROR)
					write_error(a, WARN_DATA_TRUNCATED);
				return;
			}
			if (c->changed &&
				!check_row(m, table->def, c->new, &outcome)) {
				answer_outcome(m, a, &outcome);
				return;
			}
		}
		if (!c->changed)
			leave_row(m, table, c->record);
		a->affected += c->changed;
		a->matched++;
		++*count;
	}
	return;
}

/* Is one table written under two names? */
static bool written_twice(const struct plan *plan)
{
	uint32_t width = eval_join_table_count(plan->join);

	for (uint32_t i = 0; i < width; i++) {
		for (uint32_t j = i + 1; j < width; j++) {
			if (eval_join_table(plan->join, i) == eval_join_table(plan->join, j) &&
				eval_join_is_target(plan->join, i) &&
				eval_join_is_target(plan->join, j))
				return true;
		}
	}
	return false;
}

/* Does the statement do anything that the foreign keys of a target are about?  An UPDATE of other
 * columns does not. */
static bool concerns_keys(struct mvcc *m, const struct plan *plan, uint32_t table)
{
	const struct eval_table *def = m->store.tables[table].def;

	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];

		if (!f->alive)
			continue;
		if (plan->stmt->kind == SQL_STMT_DELETE
				? f->parent == table
				: (f->parent == table &&
					  plan_sets(plan->stmt->u.update->set, def, f->parent_columns, f->count)) ||
					  (f->child == table && plan_sets(plan->stmt->u.update->set, def,
									f->child_columns, f->count)))
			return true;
	}
	return false;
}

/* Can a cascade change rows of the join?  Those that it takes away are not counted again, or not
 * seen. */
static bool tied_by_foreign(struct mvcc *m, const struct plan *plan)
{
	uint32_t width = eval_join_table_count(plan->join);

	for (uint32_t i = 0; i < width; i++) {
		const struct store_table *table =
			solver_store_table(m, eval_join_table(plan->join, i));
		uint32_t number = number_of(m, table);

		if (!eval_join_is_target(plan->join, i) || !concerns_keys(m, plan, number))
			continue;
		if (table->in_order)
			return true;
		for (uint32_t j = 0; j < width; j++) {
			if (i != j && foreign_related(m, number,
					      number_of(m, solver_store_table(m,
								   eval_join_table(plan->join, j)))))
				return true;
		}
	}
	return false;
}

struct changing {
	struct store_table *table;
	const struct change *changes;
	const struct firing *firing;
};

/* One row and its AFTER triggers, which are fired also where nothing changes. */
static void change_one(struct mvcc *m, void *ctx, size_t number, struct write_answer *a)
{
	const struct changing *in = ctx;
	const struct change *c = &in->changes[number];

	write_changes(m, in->table, c, 1, NULL, a);
	if (a->status == EVAL_OK && a->held_by == STORE_NONE)
		fire_after(m, in->firing, c->old, c->new, a);
}

/* What the statement has read, by table, at one moment. */
struct kept_rows {
	struct gathered *list;
	uint32_t count;
};

static struct kept_rows keep_rows(struct mvcc *m)
{
	struct kept_rows kept = {arena_alloc(&m->scratch, (m->gathered.count + 1) * sizeof(*kept.list)), m->gathered.count};

	memcpy(kept.list, m->gathered.list, kept.count * sizeof(*kept.list));
	return kept;
}

static void take_rows(struct mvcc *m, struct kept_rows kept)
{
	m->gathered.count = kept.count;
	memcpy(m->gathered.list, kept.list, kept.count * sizeof(*kept.list));
}

/* The triggers write none of the tables of the join (may_fire in stored_program.c); what they read is put aside. */
static void change_firing(struct mvcc *m, const struct firing *firing, struct store_table *table,
	const struct change *changes, size_t count, bool tied, struct write_answer *a)
{
	struct kept_rows kept = keep_rows(m);

	if (tied || (table->in_order && count > 1))
		answer_unsupported(a, REASON_TRIGGERS_BESIDE_CASCADES);
	else if (!firing->asks || fires_at_once(m, a))
		rows_in_orders(m, count, change_one, &(struct changing){table, changes, firing}, a);
	take_rows(m, kept);
}

static void write_target(struct mvcc *m, const struct plan *plan, uint32_t number, bool tied,
	const uint32_t *matches, size_t match_count, struct write_answer *a)
{
	struct store_table *table = solver_store_table(m, eval_join_table(plan->join, number));
	struct change *changes = arena_alloc(&m->scratch, (match_count + 1) * sizeof(*changes));
	size_t count;

	join_changes(m, plan, number, matches, match_count, changes, &count, a);
	if (a->status != EVAL_OK)
		return;
	if (a->conflict) {
		write_error(a, ER_CHECKREAD);
		return;
	}
	test_unique(m, table, changes, count, a);
	if (a->status == EVAL_UNSUPPORTED)
		return;
	if (plan->firing && plan->firing->table == number_of(m, table))
		change_firing(m, plan->firing, table, changes, count, tied, a);
	else if (tied)
		write_in_order(m, plan, table, changes, count, a);
	else
		write_changes(m, table, changes, count, NULL, a);
}

static void write_targets(struct mvcc *m, const struct plan *plan, bool backwards, bool tied,
	const uint32_t *matches, size_t match_count, struct write_answer *a)
{
	uint32_t width = eval_join_table_count(plan->join);

	for (uint32_t i = 0; i < width && a->status == EVAL_OK; i++) {
		uint32_t t = backwards ? width - 1 - i : i;

		if (eval_join_is_target(plan->join, t))
			write_target(m, plan, t, tied, matches, match_count, a);
	}
}

/* ---- DELETE whose end is certain ---- */

static bool has_outer_join(const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		if (ref->kind == SQL_TABLE_NEST ? has_outer_join(ref->u.nest)
			    : ref->kind == SQL_TABLE_JOIN &&
				      (ref->u.join.join == SQL_JOIN_LEFT ||
					      ref->u.join.join == SQL_JOIN_RIGHT ||
					      has_outer_join(ref->u.join.left) ||
					      has_outer_join(ref->u.join.right)))
			return true;
	}
	return false;
}

/* Do cascades only take rows away?  One that sets a key to NULL may make new matches. */
static bool only_deletes(struct mvcc *m, const struct plan *plan)
{
	bool *reached = arena_zero(&m->scratch, m->store.table_count + 1), more = true;

	for (uint32_t i = 0; i < eval_join_table_count(plan->join); i++) {
		if (eval_join_is_target(plan->join, i))
			reached[number_of(m, solver_store_table(m, eval_join_table(plan->join, i)))] = true;
	}
	while (more) {
		more = false;
		for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
			const struct foreign *f = &m->catalog.foreign_keys[i];

			if (!f->alive || !reached[f->parent])
				continue;
			if (f->on_delete == SQL_REF_SET_NULL)
				return false;
			more |= f->on_delete == SQL_REF_CASCADE && !reached[f->child];
			reached[f->child] |= f->on_delete == SQL_REF_CASCADE;
		}
	}
	return true;
}

static bool is_gone(const struct mvcc *m, const struct store_record *record)
{
	return !store_alive(store_current(&m->store, record, m->now.txn));
}

/* The record of a table's row in a match; NULL: the NULL row. */
static const struct store_record *member(struct mvcc *m, const struct plan *plan, const uint32_t *match, uint32_t t)
{
	return match[t] == UINT32_MAX
		       ? NULL
		       : gathered_of(m, solver_store_table(m, eval_join_table(plan->join, t)))->records[match[t]];
}

/* Is each match that lost a row by what was just deleted without any row that is to be deleted?  Else a server
 * which comes to it later does not find it, and leaves those. */
static bool goes_whole(struct mvcc *m, const struct plan *plan, const uint32_t *matches, size_t match_count)
{
	uint32_t width = eval_join_table_count(plan->join);

	for (size_t i = 0; i < match_count; i++) {
		bool lost = false, left = false;

		for (uint32_t t = 0; t < width; t++) {
			const struct store_record *record = member(m, plan, matches + i * width, t);
			bool gone = record && is_gone(m, record);

			lost |= gone;
			left |= record && !gone && eval_join_is_target(plan->join, t);
		}
		if (lost && left)
			return false;
	}
	return true;
}

/* DELETE of tables that cascades tie: in whichever order rows and tables go, the same rows are gone in the end, where
 * cascades only take rows away, whatever is deleted for one match takes with it all that is to be deleted of the other
 * matches that it breaks, and nothing matches afterwards.  (What the server finds is then at most what matched at first;
 * what it does not find any more is gone.)  Leaves the store as it was. */
static bool ends_certainly(struct mvcc *m, const struct plan *plan, const uint32_t *matches, size_t match_count)
{
	enum { MATCHES_MAX = 64 };
	struct store_txn *t = &m->store.txns[m->now.txn];
	struct store_undo *undo = t->undo;
	uint32_t undo_count = t->undo_count, width = eval_join_table_count(plan->join), noted = t->noted;
	struct kept_rows kept = keep_rows(m);
	size_t locks = m->wanted.count, notes = m->note_count, again;
	bool trying = m->now.trying, open = m->now.trial_open, certain = true;
	struct eval_outcome outcome = {0};
	const uint32_t *left;

	if (plan->stmt->kind != SQL_STMT_DELETE || plan->reads_by_query || plan->stmt->u.del->limit || match_count > MATCHES_MAX ||
		m->runs[m->now.stmt].begin_commits != m->store.commits || !only_deletes(m, plan) ||
		(width > 2 && has_outer_join(plan->stmt->u.del->from)))
		return false;
	m->now.trying = true;
	/* One match at a time, then all of them. */
	for (size_t i = 0; i <= match_count && certain; i++) {
		struct write_answer a = {.status = EVAL_OK, .held_by = STORE_NONE};
		bool all = i == match_count;

		write_targets(m, plan, false, true, all ? matches : matches + i * width, all ? match_count : 1, &a);
		certain = a.status == EVAL_OK && goes_whole(m, plan, matches, match_count);
		if (all && certain) {
			m->gathered.count = 0;
			certain = eval_join_run(plan->join, &m->scratch, &m->now.env, &m->source, &left, &again, &outcome) &&
				  !again;
			take_rows(m, kept);
		}
		store_rollback_to(&m->store, m->now.txn, undo, undo_count);
	}
	m->now.trying = trying;
	m->now.trial_open = open;
	m->wanted.count = locks;
	notes_drop(m, notes);
	TRAIL_SET(&m->store.trail, TXN, t, noted, noted);
	return certain;
}

static uint64_t target_rows(const struct plan *plan, const uint32_t *matches, size_t match_count)
{
	uint32_t width = eval_join_table_count(plan->join);
	uint64_t count = 0;

	for (uint32_t t = 0; t < width; t++) {
		for (size_t i = 0, j; eval_join_is_target(plan->join, t) && i < match_count; i++) {
			for (j = 0; j < i && matches[j * width + t] != matches[i * width + t]; j++) {
			}
			count += j == i && matches[i * width + t] != UINT32_MAX;
		}
	}
	return count;
}

void write_join(struct mvcc *m, const struct plan *plan, struct write_answer *a)
{
	enum { IN_TURN, BACKWARDS, NOT_TOLD, WAYS };
	uint32_t way = IN_TURN;
	bool tied = tied_by_foreign(m, plan), trying = m->now.trying;
	struct eval_outcome outcome = {0};
	const uint32_t *matches;
	size_t match_count;

	/* A table that is only read under its other names is read whole before a row changes: the servers do
	 * not change rows on the way where it is named twice (unique_table in sql_update.cc, sql_delete.cc). */
	if (written_twice(plan)) {
		answer_unsupported(a, REASON_TABLE_UNDER_TWO_NAMES);
		return;
	}
	if (!eval_join_run(plan->join, &m->scratch, &m->now.env, &m->source, &matches, &match_count,
		    &outcome)) {
		answer_outcome(m, a, &outcome);
		return;
	}
	/* In which order tables and rows go, and what the join still finds then, is not known: where
	 * neither way explains the answer, it stays open, or how many rows the statement itself deleted does. */
	if (tied && match_count)
		way = choose(m, WAYS);
	if (way == NOT_TOLD && !ends_certainly(m, plan, matches, match_count)) {
		answer_unsupported(a, REASON_SEVERAL_TABLES_TIED);
		return;
	}
	if (way == NOT_TOLD)
		a->at_most = target_rows(plan, matches, match_count);
	m->now.trying |= way == NOT_TOLD;
	write_targets(m, plan, way == BACKWARDS, tied, matches, match_count, a);
	m->now.trying = trying;
}
