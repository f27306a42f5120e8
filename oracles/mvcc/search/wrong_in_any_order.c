/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers that are wrong in every order, found without trying the orders.  Where sessions overlap there
 * are more orders than can be tried, but most rows have one history all the same: a row is locked
 * from its first write until the writer ends, so of two transactions that wrote it the one was over before the
 * other wrote, and mostly only one way round goes with when they were sent and answered.  What each makes of the
 * row follows from the row alone.  So it is known which states of a row a statement can have met between two moments
 * (more than he can, where it is not known exactly), and an answer that no choice of these explains is wrong.
 *
 * Sequence numbers: a statement is executed between its begin_seq and its seq.
 */
#include "mvcc/search/wrong_in_any_order.h"

#include "base/search.h"
#include "mvcc/execute/execute.h"
#include "mvcc/execute/transaction_control.h"
#include "mvcc/execute/write.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/key_ranges.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/read/visibility.h"
#include "mvcc/solver.h"

enum {
	WORK_MAX = 4000000, /* looks at a statement and a row, in all */
	STATES_MAX = 8,     /* of a row that an answer can have met */
	CHOICES_MAX = 256,  /* of states of all rows */
};

/* When a transaction's end was sent and answered; begin 0: no statement of the trace ended it. */
struct end {
	uint64_t begin, seq;
};

struct order_free {
	struct end *ends;  /* by transaction */
	bool *doubtful;    /* ... it may have been over before, and committed, by a statement that failed */
	uint32_t *writers; /* statements that may write, as they were sent */
	uint64_t *over;    /* by writer: when the transactions of it and of all before it were over */
	size_t writer_count;
	uint64_t work;
};

static struct order_free *certain_of(struct mvcc *m)
{
	const struct schedule *s = m->schedule;
	struct order_free *c = m->search.order_free;

	if (c)
		return c;
	c = m->search.order_free = arena_zero(&m->catalog.arena, sizeof(*c));
	c->ends = arena_zero(&m->catalog.arena, (s->txn_count + 1) * sizeof(*c->ends));
	c->doubtful = arena_zero(&m->catalog.arena, (s->txn_count + 1) * sizeof(*c->doubtful));
	c->writers = arena_alloc(&m->catalog.arena, (s->stmt_count + 1) * sizeof(*c->writers));
	for (uint32_t i = 0; i < s->stmt_count; i++) {
		const struct record_stmt *r = &s->stmts[i].in->record;

		for (const struct schedule_txn_event *e = s->stmts[i].txn_events; e; e = e->next) {
			if (e->event == TXN_END)
				c->ends[e->txn] = (struct end){r->begin_seq, r->seq};
		}
		if (may_commit_by_failing(m, i))
			c->doubtful[s->stmts[i].txn] = true;
		if (m->runs[i].plan->writes || m->runs[i].plan->redefines || m->runs[i].mixes)
			c->writers[c->writer_count++] = i;
	}
	c->over = arena_alloc(&m->catalog.arena, (c->writer_count + 1) * sizeof(*c->over));
	for (size_t i = 0; i < c->writer_count; i++) {
		uint32_t txn = s->stmts[c->writers[i]].txn;
		uint64_t seq = txn != SCHEDULE_NONE && c->ends[txn].begin && !m->runs[c->writers[i]].mixes ? c->ends[txn].seq
													   : UINT64_MAX;

		c->over[i] = i && c->over[i - 1] > seq ? c->over[i - 1] : seq;
	}
	return c;
}

/*
 * Is what the transaction wrote settled, and over before that moment?  The search cannot go back past its end any more: no
 * choice is left that could make another state of the rows (search.c, close_points).  So what was there before it need not
 * be looked at, nor who wrote that.  Where choices were given up it is not so.
 */
static bool is_settled(const struct mvcc *m, const struct order_free *c, uint32_t txn, uint64_t moment)
{
	return !m->search.choices_lost && txn && txn < first_live(m) && m->store.txns[txn].state == STORE_COMMITTED &&
	       c->ends[txn - 1].begin && c->ends[txn - 1].seq < moment;
}

/* The first writer whose transaction, or that of one before it, may be neither. */
static size_t first_unsettled(const struct mvcc *m, const struct order_free *c, uint64_t moment)
{
	uint32_t first = first_live(m);
	uint32_t stmt = first > 1 && first < m->store.txn_count ? m->schedule->txns[first - 1].first_stmt : EXECUTION_NONE;

	if (m->search.choices_lost || stmt == EXECUTION_NONE)
		return 0;
	return FIRST_WHERE(
		i, 0, c->writer_count, c->over[i] >= moment || c->writers[i] >= stmt);
}

/* ---- the writes of a row ---- */

/* What is asked: what the current statement can have met between these moments. */
struct look {
	uint64_t low, high;
	uint32_t table;
	bool *ancestors; /* tables from which foreign keys carry changes to it */
};

static bool *ancestors_of(struct mvcc *m, uint32_t table)
{
	bool *found = arena_zero(&m->scratch, m->store.table_count + 1), more = true;

	while (more) {
		more = false;
		for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
			const struct foreign *f = &m->catalog.foreign_keys[i];

			if (found[f->parent] || !(f->child == table || found[f->child]) || !foreign_carries_on(f))
				continue;
			found[f->parent] = more = true;
		}
	}
	return found;
}

/* May what it does to a table be carried on to its children? */
static bool carries_on(const struct mvcc *m, const struct plan *plan, uint32_t table)
{
	if (plan->stmt->kind == SQL_STMT_INSERT && !plan->stmt->u.insert->on_duplicate)
		return false;
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		const struct foreign *f = &m->catalog.foreign_keys[i];

		if (f->parent == table && foreign_carries_on(f) &&
			!(plan->stmt->kind == SQL_STMT_UPDATE && plan->one_table &&
				!plan_sets(plan->stmt->u.update->set, m->store.tables[table].def, f->parent_columns,
					f->count)))
			return true;
	}
	return false;
}

static bool wrote(const struct store_record *record, uint32_t stmt)
{
	for (const struct store_version *v = record ? record->newest : NULL; v; v = v->previous) {
		if (v->stmt == stmt)
			return true;
	}
	return false;
}

enum touch {
	TOUCHES_NOT,
	TOUCHES,         /* wrote it */
	TOUCHES_PERHAPS, /* did not, but would have written it at another time */
	TOUCHES_SOMEHOW, /* not known */
};

static bool reaches(struct mvcc *m, struct store_table *table, const struct key_set *key_set,
	const struct store_record *record)
{
	struct eval_value *row = NULL;

	for (uint64_t i = 0; key_set_key(m, table, key_set, i, &row); i++) {
		if (store_find(&m->store, table, row) == record)
			return true;
	}
	return false;
}

/* Evaluates for another statement than the current one. */
static void settle_for(struct mvcc *m, uint32_t stmt)
{
	settings_apply(m, m->runs[stmt].plan);
	m->now.env.has_last_insert_id = m->runs[stmt].has_last_insert_id;
	m->now.env.last_insert_id = m->runs[stmt].number;
}

/* Is there a state of the row that UPDATE or DELETE would change? */
static bool matches_any(struct mvcc *m, uint32_t stmt, const struct store_record *record)
{
	const struct plan *plan = m->runs[stmt].plan;
	bool any = false;

	settle_for(m, stmt);
	for (const struct store_version *v = record ? record->newest : NULL; v && !any; v = v->previous) {
		struct eval_outcome outcome = {0};
		enum eval_truth truth = EVAL_TRUE;

		any = v->image && (!eval_change_test(plan->change, &m->scratch, &m->now.env, &m->source, v->image, &truth,
					   &outcome) ||
					  truth == EVAL_TRUE);
	}
	settle_for(m, m->now.stmt);
	return any;
}

/* Is the record of one of the keys that INSERT gives?  True where they are not all given. */
static bool may_insert(struct mvcc *m, uint32_t stmt, struct store_table *table, const struct store_record *record)
{
	struct eval_outcome outcome = {0};
	struct eval_rows rows = {0};
	bool any;

	settle_for(m, stmt);
	any = !eval_insert_rows(
		m->runs[stmt].plan->insert, &m->scratch, &m->now.env, &m->source, &rows, &outcome);
	settle_for(m, m->now.stmt);
	for (size_t i = 0; i < rows.count && !any; i++) {
		for (uint32_t k = 0; k < table->cluster->count && !any; k++) {
			const struct eval_value *v = &rows.row[i][table->cluster->columns[k]];

			/* One that the server numbers. */
			any = v->kind == EVAL_NULL || v->kind == EVAL_OPAQUE ||
			      (table->def->columns[table->cluster->columns[k]].auto_increment && v->i == 0);
		}
		any = any || store_find(&m->store, table, rows.row[i]) == record;
	}
	return any;
}

static enum touch touch_of_insert(
	struct mvcc *m, struct store_table *table, const struct store_record *record, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	const struct sql_insert *insert = plan->stmt->u.insert;
	bool replace = plan->stmt->kind == SQL_STMT_REPLACE;
	bool plain = !replace && !insert->on_duplicate && !(insert->flags & SQL_DML_IGNORE);

	if (plan->unsupported || plan->uses_unknown_tables || plan->reads_by_query || plan->queries_own_table ||
		(!plain && table->unique_count > 1) ||
		(insert->on_duplicate &&
			plan_sets(insert->on_duplicate, table->def, table->cluster->columns, table->cluster->count)))
		return TOUCHES_SOMEHOW;
	if (wrote(record, stmt))
		return TOUCHES;
	/* It comes with keys of its own. */
	if (m->runs[stmt].state == STMT_DONE && (plain || replace))
		return TOUCHES_NOT;
	return may_insert(m, stmt, table, record) ? TOUCHES_SOMEHOW : TOUCHES_NOT;
}

/* Is the statement one of those that can have written the row, and follows what it made of it from
 * the row alone?  `record` NULL: any row that was never there. */
static enum touch touch_of(
	struct mvcc *m, const struct look *look, const struct store_record *record, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	const struct record_stmt *r = &m->schedule->stmts[stmt].in->record;
	uint32_t txn = m->schedule->stmts[stmt].txn;
	struct store_table *table = &m->store.tables[look->table];
	bool here = false, above = false;

	if (m->runs[stmt].replans || writes_anywhere(m, plan) || plan->effects || m->runs[stmt].mixes || !plan->stmt || plan_is_call(plan))
		return TOUCHES_SOMEHOW;
	for (uint32_t t = 0; t < plan->table_count; t++) {
		if (!plan->written[t] && !plan->redefines)
			continue;
		here |= plan->tables[t] == look->table;
		above |= look->ancestors[plan->tables[t]] && (plan->redefines || carries_on(m, plan, plan->tables[t]));
	}
	if (!here && !above)
		return TOUCHES_NOT;
	if (plan->redefines || m->sessions[m->schedule->stmts[stmt].in->session].unmodelled ||
		r->flags & (STMT_NO_REPLY | STMT_NOT_KEPT) || plan_is_unreadable(plan, r) || txn == SCHEDULE_NONE ||
		m->schedule->txns[txn].outcome == TXN_UNKNOWN || m->schedule->txns[txn].disconnected ||
		m->schedule->txns[txn].by_failed || certain_of(m)->doubtful[txn] || m->schedule->txns[txn].mixed == TXN_MIXED_YES)
		return TOUCHES_SOMEHOW;
	/* One that failed, or counts no rows, changed none. */
	if (r->error || (!r->affected && !r->result_sets))
		return TOUCHES_NOT;
	if (above)
		return TOUCHES_SOMEHOW;
	if (plan->insert)
		return touch_of_insert(m, table, record, stmt);
	if (plan->unsupported || plan->uses_unknown_tables || !plan->one_table || !plan->change || plan->moves_cluster)
		return TOUCHES_SOMEHOW;
	if (!record || (plan->reach && look->table == plan->tables[0] && !reaches(m, table, plan->reach, record)))
		return TOUCHES_NOT;
	if (plan->reads_by_query || plan->skips || leaves_out_rows(plan, r) || passes_dirty(m, m->schedule->txns[txn].level) ||
		(plan->stmt->kind == SQL_STMT_UPDATE ? plan->stmt->u.update->limit : plan->stmt->u.del->limit))
		return TOUCHES_SOMEHOW;
	if (wrote(record, stmt))
		return TOUCHES;
	return matches_any(m, stmt, record) ? TOUCHES_PERHAPS : TOUCHES_NOT;
}

/* ---- the states of a row ---- */

/* What a transaction made of the row. */
struct stay {
	uint32_t txn; /* store number; 0: it was there at first */
	const struct eval_value *image; /* NULL: none */
	uint64_t first_begin, first_seq; /* its first write */
	struct end end;
};

struct states {
	const struct eval_value *images[STATES_MAX]; /* NULL: no row */
	uint32_t count;
};

/* Can what a transaction wrote have been met, if it was committed in time? */
static bool is_in_sight(const struct mvcc *m, const struct look *look, const struct order_free *c, uint32_t txn)
{
	if (txn == STORE_NONE || txn == 0 || txn == m->now.txn || c->doubtful[txn - 1])
		return true;
	return m->schedule->txns[txn - 1].outcome == TXN_COMMITTED && c->ends[txn - 1].begin <= look->high;
}

/* The transactions that wrote the row, oldest first; false: not certain. */
static bool stays_of(struct mvcc *m, const struct look *look, const struct order_free *c,
	const struct store_record *record, struct stay **out, size_t *count)
{
	size_t room = 1, at;

	for (const struct store_version *v = record->newest; v; v = v->previous) {
		if (v->unknown || v->maybe)
			return false;
		room++;
	}
	*out = arena_alloc(&m->scratch, room * sizeof(**out));
	at = room;
	for (const struct store_version *v = record->newest; v; v = v->previous) {
		/* What the current statement wrote itself comes after what it met. */
		if (!is_in_sight(m, look, c, v->txn) || v->stmt == m->now.stmt)
			continue;
		if (is_settled(m, c, v->txn, look->low)) {
			(*out)[--at] = (struct stay){.image = v->image, .first_begin = UINT64_MAX};
			break;
		}
		if (at < room && (*out)[at].txn == v->txn)
			continue;
		(*out)[--at] = (struct stay){.txn = v->txn, .image = v->image, .first_begin = UINT64_MAX};
		/* One's own end is still to come, but before it others may not have written yet. */
		if (v->txn && (v->txn != m->now.txn || c->ends[v->txn - 1].begin))
			(*out)[at].end = c->ends[v->txn - 1];
		else if (v->txn)
			(*out)[at].end = (struct end){UINT64_MAX, UINT64_MAX};
	}
	/* Before that there was none. */
	if (at == room || (*out)[at].txn)
		(*out)[--at] = (struct stay){.first_begin = UINT64_MAX};
	*out += at;
	*count = room - at;
	return true;
}

/* Were all other writers over before it was sent, or not begun when it was answered? */
static bool is_apart(const struct stay *stays, size_t count, uint32_t txn, const struct record_stmt *r)
{
	for (size_t i = 0; i < count; i++) {
		if (stays[i].txn && stays[i].txn != txn && stays[i].end.seq >= r->begin_seq &&
			r->seq >= stays[i].first_begin)
			return false;
	}
	return true;
}

/* Finds when each transaction first wrote the row, and whether another transaction can have. */
static bool find_writes(struct mvcc *m, const struct look *look, struct order_free *c,
	const struct store_record *record, struct stay *stays, size_t count)
{
	const struct record_stmt *now = &m->schedule->stmts[m->now.stmt].in->record;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = first_unsettled(m, c, look->low); i < c->writer_count; i++) {
			uint32_t stmt = c->writers[i], txn = m->schedule->stmts[stmt].txn + 1;
			const struct record_stmt *r = &m->schedule->stmts[stmt].in->record;
			const struct plan *plan = m->runs[stmt].plan;
			size_t k = 0;

			if (r->begin_seq > now->seq)
				break; /* they are as they were sent */
			if (stmt == m->now.stmt ||
				(m->schedule->stmts[stmt].txn != SCHEDULE_NONE && !is_in_sight(m, look, c, txn) &&
					m->schedule->txns[txn - 1].mixed != TXN_MIXED_YES &&
					(m->schedule->txns[txn - 1].outcome != TXN_COMMITTED || c->ends[txn - 1].begin) &&
					m->schedule->txns[txn - 1].outcome != TXN_UNKNOWN))
				continue;
			if (c->work++ > WORK_MAX)
				return false;
			switch (touch_of(m, look, record, stmt)) {
			case TOUCHES_NOT:
				continue;
			case TOUCHES_SOMEHOW:
				return false;
			case TOUCHES_PERHAPS:
				if (m->runs[stmt].state != STMT_DONE ||
					(pass == 1 && !is_apart(stays, count, txn, r)))
					return false;
				continue;
			case TOUCHES:
				break;
			}
			while (k < count && stays[k].txn != txn)
				k++;
			if (m->runs[stmt].state != STMT_DONE || k == count)
				return false;
			if (pass == 0 && stays[k].first_begin == UINT64_MAX) {
				stays[k].first_begin = r->begin_seq;
				stays[k].first_seq = r->seq;
			}
			/* At READ COMMITTED and below a row that changes meanwhile may be missed. */
			if (pass == 1 && plan->change &&
				(m->schedule->txns[txn - 1].level <= LEVEL_READ_COMMITTED || m->store.txns[txn].level_unknown) &&
				!is_apart(stays, count, txn, r))
				return false;
		}
	}
	return true;
}

/* Can they have been in no other order? */
static bool is_only_order(const struct stay *stays, size_t count)
{
	uint64_t written = 0;

	for (size_t i = 0; i < count; i++) {
		if (stays[i].txn && (!stays[i].first_seq || !stays[i].end.begin || stays[i].end.begin < written))
			return false;
		if (stays[i].first_seq > written)
			written = stays[i].first_seq;
	}
	return true;
}

/* The states in which the current statement can have met the row; false: not certain. */
static bool states_of(struct mvcc *m, const struct look *look, const struct store_record *record,
	struct states *out)
{
	struct order_free *c = certain_of(m);
	struct look until_now = *look;
	struct stay *stays;
	size_t count;

	out->count = 0;
	/* One's own writes stand on what was there when they were made, whatever the read view has. */
	for (const struct store_version *v = record->newest; v; v = v->previous) {
		if (v->txn == m->now.txn)
			until_now.high = m->schedule->stmts[m->now.stmt].in->record.seq;
	}
	if (!stays_of(m, &until_now, c, record, &stays, &count) ||
		!find_writes(m, &until_now, c, record, stays, count) || !is_only_order(stays, count))
		return false;
	if (stays[count - 1].txn == m->now.txn) {
		/* Beside it there may be one of the snapshot that has the same key (sees_twins in execute.c). */
		if (read_mode_of(m) == READ_SNAPSHOT && m->store.tables[look->table].unique_count > 1)
			return false;
		out->images[out->count++] = stays[count - 1].image;
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		if (stays[i].end.begin > look->high || (i + 1 < count && stays[i + 1].end.seq < look->low))
			continue;
		if (out->count == STATES_MAX)
			return false;
		out->images[out->count++] = stays[i].image;
	}
	/* A scan that waits may have been where the row came to, and come to where it was.  (Of an UPDATE only the subqueries
	 * are read otherwise.) */
	if (out->count > 1 && m->now.level <= LEVEL_READ_COMMITTED &&
		(m->now.plan->change || read_mode_of(m) == READ_CURRENT)) {
		if (out->count == STATES_MAX)
			return false;
		out->images[out->count++] = NULL;
	}
	return out->count > 0;
}

/* ---- what the current statement can have met ---- */

/* Does it surely look at rows, so that it makes a read view? */
static bool looks_surely(const struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	const struct execution_rows *result;

	if (!plan->query || !plan->reads || plan->lock || plan->writes || plan->unsupported || plan->uses_unknown_tables ||
		!plan->names_rows || s->in->record.error)
		return false;
	result = schedule_result(m->schedule, s);
	return result && result->count > 0;
}

/* Between which moments can the state be that the current statement sees?  False: not known. */
static bool look_of(struct mvcc *m, struct look *look)
{
	const struct schedule *s = m->schedule;
	const struct record_stmt *now = &s->stmts[m->now.stmt].in->record;
	uint32_t txn = s->stmts[m->now.stmt].txn;
	enum read_mode mode = read_mode_of(m);

	if (mode == READ_DIRTY || txn == SCHEDULE_NONE || m->store.txns[m->now.txn].level_unknown ||
		m->store.txns[m->now.txn].mixed || m->now.engine == ENGINE_TIDB)
		return false;
	look->low = now->begin_seq;
	look->high = now->seq;
	if (mode == READ_CURRENT || m->now.autocommit || m->now.level != LEVEL_REPEATABLE_READ)
		return true;
	/* One that failed before it may have begun it, and more before that. */
	if (s->txns[txn].after_failed || certain_of(m)->doubtful[txn])
		return false;
	/* The transaction's read view: from its first statement that may make it, at the latest by the first that
	 * surely does. */
	look->low = UINT64_MAX;
	for (uint32_t i = s->txns[txn].first_stmt; i != EXECUTION_NONE && i <= m->now.stmt;
		i = s->stmts[i].in->next_in_session) {
		const struct record_stmt *r = &s->stmts[i].in->record;
		const struct plan *plan = m->runs[i].plan;
		bool begins = false, ends = false;

		for (const struct schedule_txn_event *e = s->stmts[i].txn_events; e; e = e->next) {
			begins |= e->txn == txn && e->event == TXN_BEGIN && begins_view(m, txn);
			ends |= e->txn == txn && e->event == TXN_ROLLBACK_TO;
		}
		if (s->stmts[i].txn != txn && !begins && !ends)
			continue;
		/* May have taken the read view away (roll_back_to in transaction_control.c). */
		if (ends)
			return false;
		/* MySQL may write rows that stay as they are: then they show as they are now. */
		if (m->now.env.flavour == SQL_MYSQL && plan->stmt &&
			(plan->stmt->kind == SQL_STMT_UPDATE || (plan->insert && plan->stmt->u.insert->on_duplicate)))
			return false;
		if ((!plan->harmless || plan->reads_incidentally || begins) && r->begin_seq < look->low)
			look->low = r->begin_seq;
		if ((looks_surely(m, i) || begins) && r->seq < look->high)
			look->high = r->seq;
	}
	return look->low <= look->high;
}

/* Is all known of the table that the states of its rows follow from? */
static bool is_told(struct mvcc *m, struct look *look, uint32_t number)
{
	const struct store_table *table = &m->store.tables[number];
	struct order_free *c = certain_of(m);

	look->table = number;
	if (!table->def || !table->cluster || table->unknown || table->odd_keys || table->known_since || table->others ||
		table->hidden_key || table->redefined || table->made_by != STORE_NONE)
		return false;
	look->ancestors = ancestors_of(m, number);
	return find_writes(m, look, c, NULL, NULL, 0);
}

/* The rows of one table. */
struct rows_met {
	struct store_table *table;
	struct store_record **records;
	struct states *states;
	size_t count;
};

static bool rows_met(struct mvcc *m, struct look *look, uint32_t number, struct rows_met *out)
{
	if (!is_told(m, look, number))
		return false;
	out->table = &m->store.tables[number];
	out->count = records_of(m, out->table, &out->records);
	out->states = arena_alloc(&m->scratch, (out->count + 1) * sizeof(*out->states));
	for (size_t i = 0; i < out->count; i++) {
		if (!states_of(m, look, out->records[i], &out->states[i]))
			return false;
	}
	return true;
}

/* ---- queries ---- */

/* Whatever the rows are: the same one twice, or not in order. */
static bool is_malformed(struct mvcc *m, const struct execution_rows *recorded)
{
	return m->now.plan->reads && read_mode_of(m) != READ_DIRTY &&
	       (answer_is_out_of_order(m, &m->search.mismatch.expected, recorded, m->now.plan->ordered_by) ||
		       answer_has_equal_rows(m, recorded));
}

/* Does the answer follow from one choice of the states?  True also where that is not known. */
static bool explains(struct mvcc *m, const struct rows_met *met, const uint32_t *choice)
{
	struct eval_outcome outcome = {0};
	struct eval_result result = {0};
	bool undecided, fits;

	m->gathered.count = 0;
	for (uint32_t t = 0; t < m->now.plan->table_count; t++) {
		const struct eval_value **rows = arena_alloc(&m->scratch, (met[t].count + 1) * sizeof(*rows));
		struct store_record **records = arena_alloc(&m->scratch, (met[t].count + 1) * sizeof(*records));
		size_t count = 0;

		for (size_t i = 0; i < met[t].count; i++) {
			rows[count] = met[t].states[i].images[*choice++];
			records[count] = met[t].records[i];
			count += rows[count] != NULL;
		}
		m->gathered.list[m->gathered.count++] =
			(struct gathered){rows, records, count, met[t].table, read_mode_of(m)};
	}
	fits = !eval_query_run(m->now.plan->query, &m->scratch, &m->now.env, &m->source, &result, &outcome) ||
	       compare_result(m, &result, schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]), &undecided) || undecided;
	m->gathered.count = 0;
	return fits;
}

static bool query_is_impossible(struct mvcc *m)
{
	const struct plan *plan = m->now.plan;
	const struct execution_rows *recorded = schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]);
	struct rows_met *met;
	struct look look;
	uint32_t *choice, *sizes, tables = plan->table_count;
	uint64_t choices = 1;
	size_t count = 0, at = 0;

	if (!plan->query || !plan->reads || plan->writes || plan->unsupported || plan->uses_unknown_tables || plan->outer || plan->effects ||
		!recorded || skips_locked(plan))
		return false;
	if (is_malformed(m, recorded))
		return true;
	if (!tables || !look_of(m, &look))
		return false;
	met = arena_alloc(&m->scratch, tables * sizeof(*met));
	for (uint32_t t = 0; t < tables; t++) {
		if (!rows_met(m, &look, plan->tables[t], &met[t]))
			return false;
		count += met[t].count;
	}
	choice = arena_zero(&m->scratch, (count + 1) * sizeof(*choice));
	sizes = arena_alloc(&m->scratch, (count + 1) * sizeof(*sizes));
	for (uint32_t t = 0; t < tables; t++) {
		for (size_t i = 0; i < met[t].count; i++) {
			sizes[at++] = met[t].states[i].count;
			choices *= met[t].states[i].count;
			if (choices > CHOICES_MAX)
				return false;
		}
	}
	for (;;) {
		if (explains(m, met, choice))
			return false;
		for (at = 0; at < count && ++choice[at] == sizes[at]; at++)
			choice[at] = 0;
		if (at == count)
			return true;
	}
}

/* ---- writes ---- */

/* How many rows can UPDATE or DELETE have matched and changed?  False: not known. */
static bool count_row(struct mvcc *m, const struct states *states, bool found, uint64_t *low, uint64_t *high)
{
	const struct plan *plan = m->now.plan;
	bool always = true, ever = false;

	for (uint32_t i = 0; i < states->count; i++) {
		const struct eval_value *image = states->images[i], *new = NULL;
		struct eval_outcome outcome = {0};
		enum eval_truth truth = EVAL_FALSE;
		bool counts;

		if (image && !row_matches(m, image, &truth))
			return false;
		counts = truth == EVAL_TRUE;
		if (counts && plan->stmt->kind == SQL_STMT_UPDATE && !found &&
			(!eval_change_apply(plan->change, &m->scratch, &m->now.env, &m->source, image, &new, &counts, &outcome) ||
				outcome.opaque_change))
			return false;
		always &= counts;
		ever |= counts;
	}
	*low += always;
	*high += ever;
	return true;
}

/* *most: what it can have counted. */
static bool change_is_impossible(struct mvcc *m, uint64_t *most)
{
	const struct plan *plan = m->now.plan;
	const struct schedule_stmt *stmt = &m->schedule->stmts[m->now.stmt];
	bool found = m->schedule->execution->sessions[stmt->in->session].capabilities & CLIENT_FOUND_ROWS;
	uint64_t low = 0, high = 0;
	struct rows_met met;
	struct look look = {stmt->in->record.begin_seq, stmt->in->record.seq, 0, NULL};

	if (!plan->change || !plan->one_table || plan->unsupported || plan->uses_unknown_tables || plan->reads_by_query || plan->skips ||
		plan->effects || plan->firing || plan->returning || leaves_out_rows(plan, &stmt->in->record) ||
		stmt->in->record.error || stmt->txn == SCHEDULE_NONE || m->store.txns[m->now.txn].level_unknown ||
		m->store.txns[m->now.txn].mixed || m->now.engine == ENGINE_TIDB ||
		passes_dirty(m, m->now.level) ||
		(plan->stmt->kind == SQL_STMT_UPDATE ? plan->stmt->u.update->limit : plan->stmt->u.del->limit) ||
		m->store.tables[plan->tables[0]].in_order || !rows_met(m, &look, plan->tables[0], &met))
		return false;
	for (size_t i = 0; i < met.count; i++) {
		if (!count_row(m, &met.states[i], found, &low, &high))
			return false;
	}
	*most = high;
	return stmt->in->record.affected < low || stmt->in->record.affected > high;
}

bool answer_is_impossible(struct mvcc *m)
{
	uint64_t most;

	if (m->search.mismatch.stmt != m->now.stmt || m->now.stmt == STORE_NONE || m->now.txn == STORE_NONE || m->runs[m->now.stmt].replans)
		return false;
	switch (m->search.mismatch.kind) {
	case MISMATCH_RESULT:
		return query_is_impossible(m);
	case MISMATCH_AFFECTED:
		return m->now.plan->insert ? !insert_may_count(m, m->now.plan) : change_is_impossible(m, &most);
	case MISMATCH_LOCK:
		/* The holder of the lock may have ended before, but that does not explain the count either. */
		if (!change_is_impossible(m, &most))
			return false;
		m->search.mismatch = (struct mismatch){.kind = MISMATCH_AFFECTED,
			.stmt = m->now.stmt,
			.table = m->now.plan->tables[0],
			.other_txn = STORE_NONE,
			.expected_affected = most,
			.expected_matched = most};
		return true;
	case MISMATCH_NONE:
	case MISMATCH_ERROR:
	case MISMATCH_CONFLICT:
	case MISMATCH_FINAL:
		break;
	}
	return false;
}
