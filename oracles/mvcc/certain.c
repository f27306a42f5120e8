/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that are wrong in every order, told without trying them.  Where sessions overlap there
 * are more orders than can be tried, but most rows have one history all the same: a row is locked
 * by whoever writes it, so writes that did not overlap are in the order in which they were sent,
 * and what each makes of the row follows from the row alone.  A row of an answer that is none of
 * the versions of such a row is wrong, whichever of them the read could see.
 */
#include "mvcc/solver.h"

bool answer_columns(
	const struct plan *plan, const struct eval_table *def, uint32_t *columns, uint32_t width)
{
	const struct sql_item *item = plan->stmt->u.query->u.select.items;
	uint32_t count = 0;

	for (; item; item = item->next) {
		if (item->expr->kind == SQL_EXPR_STAR) {
			for (uint32_t c = 0; c < def->column_count; c++) {
				if (def->columns[c].invisible)
					continue;
				if (count == width)
					return false;
				columns[count++] = c;
			}
			continue;
		}
		if (item->expr->kind != SQL_EXPR_COLUMN || count == width)
			return false;
		columns[count] = eval_table_column(def, item->expr->u.column.name);
		if (columns[count++] == UINT32_MAX)
			return false;
	}
	return count == width;
}

/* ---- the writes of a row ---- */

/* Can rows change that no statement names? */
static bool changed_by_others(const struct mvcc *m, uint32_t table)
{
	for (size_t i = 0; i < m->foreign_count; i++) {
		if (m->foreigns[i].child == table && foreign_carries_on(&m->foreigns[i]))
			return true;
	}
	return false;
}

static bool wrote(const struct store_record *record, uint32_t stmt)
{
	for (const struct store_version *v = record->newest; v; v = v->previous) {
		if (v->stmt == stmt)
			return true;
	}
	return false;
}

enum touch { TOUCHES_NOT, TOUCHES, TOUCHES_SOMEHOW };

static bool reaches(struct mvcc *m, struct store_table *table, const struct points *points,
	const struct store_record *record)
{
	struct eval_value *row = NULL;

	for (uint64_t i = 0; points_key(m, table, points, i, &row); i++) {
		if (store_find(&m->store, table, row) == record)
			return true;
	}
	return false;
}

/* Is the statement one of those that can have written the row, and follows what it made of it from
 * the row alone? */
static enum touch touch_of(
	struct mvcc *m, uint32_t number, const struct store_record *record, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	const struct record_stmt *r = &m->schedule->stmts[stmt].in->record;
	uint32_t txn = m->schedule->stmts[stmt].txn;
	bool here = false, plain_insert;

	if (writes_anywhere(m, plan) || plan->effects || m->runs[stmt].mixes)
		return TOUCHES_SOMEHOW;
	for (uint32_t t = 0; t < plan->table_count; t++)
		here |= plan->tables[t] == number && (plan->written[t] || plan->redefines);
	if (!here)
		return TOUCHES_NOT;
	if (plan->redefines || !plan->stmt ||
		m->odd_sessions[m->schedule->stmts[stmt].in->session] || r->flags & STMT_NO_REPLY ||
		plan_is_unreadable(plan, r) || txn == SCHEDULE_NONE ||
		m->schedule->txns[txn].outcome == TXN_UNKNOWN ||
		m->schedule->txns[txn].disconnected ||
		m->schedule->txns[txn].mixed == TXN_MIXED_YES)
		return TOUCHES_SOMEHOW;
	if (plan->reach && plan->one_table && !plan->moves_cluster && number == plan->tables[0] &&
		!reaches(m, &m->store.tables[number], plan->reach, record))
		return TOUCHES_NOT;
	plain_insert = plan->insert && !plan->sourced && plan->stmt->kind == SQL_STMT_INSERT &&
		       !plan->stmt->u.insert->on_duplicate &&
		       !(plan->stmt->u.insert->flags & SQL_DML_IGNORE);
	/* It comes with keys of its own, or fails. */
	if (plain_insert && !plan->unsupported)
		return wrote(record, stmt) ? TOUCHES : TOUCHES_NOT;
	if (plan->unsupported || plan->elsewhere || plan->sourced || plan->skips ||
		!plan->one_table || !plan->change || plan->moves_cluster ||
		(plan->stmt->kind == SQL_STMT_UPDATE ? plan->stmt->u.update->limit
						     : plan->stmt->u.del->limit))
		return TOUCHES_SOMEHOW;
	return TOUCHES;
}

/* Two of the writes' last answers, of different transactions. */
struct latest {
	uint64_t seq[2];
	uint32_t txn[2];
};

static void take_latest(struct latest *l, uint64_t seq, uint32_t txn)
{
	if (l->txn[0] == txn) {
		if (seq > l->seq[0])
			l->seq[0] = seq;
		return;
	}
	if (seq > l->seq[0]) {
		l->seq[1] = l->seq[0];
		l->txn[1] = l->txn[0];
		l->seq[0] = seq;
		l->txn[0] = txn;
	} else if (seq > l->seq[1]) {
		l->seq[1] = seq;
		l->txn[1] = txn;
	}
}

/* Are these all versions that anybody can have seen by the answer at hand? */
static bool is_certain(struct mvcc *m, uint32_t number, const struct store_record *record)
{
	const struct record_stmt *now = &m->schedule->stmts[m->now_stmt].in->record;
	struct latest latest = {{0, 0}, {SCHEDULE_NONE, SCHEDULE_NONE}};

	for (const struct store_version *v = record->newest; v; v = v->previous) {
		if (v->fog || v->maybe)
			return false;
	}
	for (uint32_t i = 0; i < m->schedule->stmt_count; i++) {
		const struct record_stmt *r = &m->schedule->stmts[i].in->record;
		uint32_t txn = m->schedule->stmts[i].txn;

		if (r->begin_seq > now->seq)
			break;
		if (!m->runs[i].plan->writes && !m->runs[i].plan->redefines && !m->runs[i].mixes)
			continue;
		switch (touch_of(m, number, record, i)) {
		case TOUCHES_SOMEHOW:
			return false;
		case TOUCHES_NOT:
			continue;
		case TOUCHES:
			break;
		}
		/* It may have been before the answer. */
		if (i != m->now_stmt && m->runs[i].state != STMT_DONE)
			return false;
		if (r->begin_seq < (latest.txn[0] == txn ? latest.seq[1] : latest.seq[0]))
			return false;
		take_latest(&latest, r->seq, txn);
	}
	return true;
}

/* ---- the answer ---- */

static bool is_version(const struct store_version *v, const struct eval_type *types,
	const uint32_t *columns, uint32_t width, const struct eval_value *row)
{
	for (uint32_t c = 0; c < width && store_alive(v); c++) {
		if (!compare_value(&types[c], &v->image[columns[c]], &row[c]))
			return false;
	}
	return store_alive(v);
}

bool answer_is_impossible(struct mvcc *m)
{
	enum { LOOKS_MAX = 200, WIDTH_MAX = 64 };
	const struct plan *plan = m->now_plan;
	const struct execution_rows *recorded = m->schedule->stmts[m->now_stmt].result;
	uint32_t columns[WIDTH_MAX], width = m->mismatch.expected.column_count, number;
	const struct eval_value *const *rows;
	struct eval_type types[WIDTH_MAX];
	struct eval_value *whole;
	struct store_table *table;
	size_t count;

	if (m->mismatch.kind != MISMATCH_RESULT || m->mismatch.stmt != m->now_stmt ||
		!plan->names_rows || plan->table_count != 1 || plan->unsupported || !recorded ||
		width > WIDTH_MAX || read_mode_of(m) == READ_DIRTY || m->certain_looks == LOOKS_MAX)
		return false;
	m->certain_looks++;
	number = plan->tables[0];
	table = &m->store.tables[number];
	if (!table->cluster || table->unknown || table->odd_keys || table->known_since ||
		changed_by_others(m, number) || !answer_columns(plan, table->def, columns, width))
		return false;
	for (uint32_t c = 0; c < width; c++)
		types[c] = table->def->columns[columns[c]].type;
	if (!typed_rows(&m->scratch, types, width, recorded, &rows, &count))
		return false;
	whole = arena_zero(&m->scratch, table->def->column_count * sizeof(*whole));
	for (size_t i = 0; i < count; i++) {
		const struct store_record *record;
		const struct store_version *v;

		for (uint32_t c = 0; c < width; c++)
			whole[columns[c]] = rows[i][c];
		record = store_find(&m->store, table, whole);
		v = record ? record->newest : NULL;
		while (v && !is_version(v, types, columns, width, rows[i]))
			v = v->previous;
		if (record && !v && is_certain(m, number, record))
			return true;
	}
	return false;
}
