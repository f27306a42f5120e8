/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table whose content is not known any more (an unsupported or contradicted statement wrote it)
 * is known again when a statement reads all of it while no other transaction can have changed it.
 */
#include "mvcc/unknown/learn_table.h"

#include "mvcc/plan/plan.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"

/* SELECT * FROM t, and nothing that leaves out rows. */
static bool reads_everything(const struct plan *plan)
{
	const struct sql_query *q = plan->stmt->u.query;

	return plan->single && plan->table_count == 1 && !q->limit && !q->u.select.where &&
	       !q->u.select.group && !q->u.select.having &&
	       !(q->u.select.flags & SQL_SELECT_DISTINCT) && q->u.select.items &&
	       !q->u.select.items->next && q->u.select.items->expr->kind == SQL_EXPR_STAR &&
	       !skips_locked(plan);
}

/* Has an open transaction written the table?  With `others` false: the reader itself. */
static bool written_by(const struct mvcc *m, const struct store_table *table, bool others)
{
	unsigned looked = 0;

	for (const struct store_touch *t = table->touches; t; t = t->next) {
		if (t->mode == STORE_LOCK_X && store_is_active(&m->store, t->txn) &&
			(t->txn != m->now.txn) == others)
			return true;
		if (++looked > 1000)
			return true;
	}
	return false;
}

static bool somebody_writes(const struct mvcc *m, uint32_t table)
{
	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		const struct plan *plan = m->runs[m->search.in_flight[i]].plan;

		if (m->search.in_flight[i] == m->now.stmt || m->runs[m->search.in_flight[i]].state == STMT_DONE ||
			!plan->writes)
			continue;
		if (writes_anywhere(m, plan) || effects_write(plan->effects))
			return true;
		for (uint32_t t = 0; t < plan->table_count; t++) {
			if (plan->tables[t] == table)
				return true;
		}
	}
	return false;
}

/* Whatever is in it goes away, for reads from now on. */
static void clear(struct store *s, struct store_table *table)
{
	uint32_t before = table->count;

	for (uint32_t i = 0; i < before; i++) {
		const struct store_version *v = table->records[i]->newest;

		if (store_alive(v) || (v && v->unknown))
			store_write(s, 0, STORE_NONE, table->records[i], NULL);
	}
	if (table->others)
		store_write(s, 0, STORE_NONE, table->others, NULL);
}

void know_from_now(struct mvcc *m, struct store_table *table)
{
	struct store *s = &m->store;

	TRAIL_SET(&s->trail, TABLE, table, unknown, 0);
	TRAIL_SET(&s->trail, STORE, s, commits, s->commits + 1);
	TRAIL_SET(&s->trail, TABLE, table, known_since, s->commits);
}

void learn_empty(struct mvcc *m, struct store_table *table)
{
	if (table->redefined || !table->def)
		return;
	clear(&m->store, table);
	know_from_now(m, table);
}

bool answers_show_all(const struct eval_table *def)
{
	for (uint32_t i = 0; i < def->column_count; i++) {
		if (def->columns[i].type.kind == EVAL_T_FLOAT)
			return false;
	}
	return true;
}

void learn_table(struct mvcc *m)
{
	struct store *s = &m->store;
	const struct execution_rows *recorded = schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]);
	enum read_mode mode = read_mode_of(m);
	const struct eval_value *const *rows;
	struct store_table *table;
	size_t count;

	if (!m->now.plan->query || !m->now.plan->reads || !recorded ||
		!reads_everything(m->now.plan))
		return;
	table = &s->tables[m->now.plan->tables[0]];
	if (!table->unknown || table->redefined || !table->def || !answers_show_all(table->def) ||
		written_by(m, table, false))
		return;
	/* A locking read has waited for all others; a plain one must have had none, nor may one have
	 * committed since it was sent: nor with a locking one that leaves gaps open, to where it had been. */
	if (mode == READ_DIRTY ||
		((mode == READ_SNAPSHOT || m->now.level <= LEVEL_READ_COMMITTED || s->txns[m->now.txn].level_unknown) &&
			(m->runs[m->now.stmt].begin_commits != s->commits ||
				somebody_writes(m, m->now.plan->tables[0]))) ||
		(mode == READ_SNAPSHOT && (statement_view(m) != s->commits || written_by(m, table, true))))
		return;
	if (!result_rows(m, &s->arena, table->def, recorded, &rows, &count))
		return;
	clear(s, table);
	for (size_t i = 0; i < count; i++)
		store_write(s, 0, STORE_NONE, store_record_for(s, table, rows[i]), rows[i]);
	know_from_now(m, table);
	if (mode == READ_SNAPSHOT && s->txns[m->now.txn].view_stmt == m->now.stmt)
		set_view(m, m->now.txn, s->commits, s->commits);
}
