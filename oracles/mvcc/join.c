/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UPDATE and DELETE of several tables. */
#include <stdio.h>

#include "mvcc/solver.h"

enum { ER_CHECKREAD = 1020 };

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
		if (outcome->untold_change) {
			outcome->status = EVAL_UNSUPPORTED;
			snprintf(outcome->reason, sizeof(outcome->reason),
				"rows set to a time that they may have had before");
			return false;
		}
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

	for (size_t i = 0; i < m->foreign_count; i++) {
		const struct foreign *f = &m->foreigns[i];

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
	if (tied)
		write_in_order(m, plan, table, changes, count, a);
	else
		write_changes(m, table, changes, count, NULL, a);
}

void write_join(struct mvcc *m, const struct plan *plan, struct write_answer *a)
{
	enum { IN_TURN, BACKWARDS, NOT_TOLD, WAYS };
	uint32_t width = eval_join_table_count(plan->join), way = IN_TURN;
	bool tied = tied_by_foreign(m, plan);
	struct eval_outcome outcome = {0};
	const uint32_t *matches;
	size_t match_count;

	/* A table that is only read under its other names is read whole before a row changes: the servers do
	 * not change rows on the way where it is named twice (unique_table in sql_update.cc, sql_delete.cc). */
	if (written_twice(plan)) {
		answer_unsupported(m, a, "a table written under two names");
		return;
	}
	if (!eval_join_run(plan->join, &m->scratch, &m->env, &m->source, &matches, &match_count,
		    &outcome)) {
		answer_outcome(m, a, &outcome);
		return;
	}
	/* In which order tables and rows go, and what the join still finds then, is not known: where
	 * neither way explains the answer, it stays open. */
	if (tied && match_count)
		way = choose(m, WAYS);
	if (way == NOT_TOLD) {
		answer_unsupported(m, a, "UPDATE or DELETE of tables tied by a foreign key");
		return;
	}
	for (uint32_t i = 0; i < width && a->status == EVAL_OK; i++) {
		uint32_t t = way == BACKWARDS ? width - 1 - i : i;

		if (eval_join_is_target(plan->join, t))
			write_target(m, plan, t, tied, matches, match_count, a);
	}
}
