/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order of things.  Events are taken as they were recorded.  Where statements overlap, or the
 * engine chose where we cannot look, a choice is made and remembered; when a later answer
 * contradicts it, the store goes back there (its trail) and the next possibility is tried.  Only
 * when none is left is the answer called wrong; when the budget ends first, undecided
 * (semantics.md, section 5).
 */
#include "mvcc/search/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bug.h"
#include "base/mem.h"
#include "base/search.h"
#include "mvcc/execute/disconnects.h"
#include "mvcc/execute/execute.h"
#include "mvcc/execute/final_rows.h"
#include "mvcc/execute/foreign_keys.h"
#include "mvcc/execute/transaction_control.h"
#include "mvcc/explain/explain.h"
#include "mvcc/plan/concurrent_ddl.h"
#include "mvcc/plan/definitions.h"
#include "mvcc/plan/key_ranges.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/read/visibility.h"
#include "mvcc/search/state_digest.h"
#include "mvcc/search/wrong_in_any_order.h"
#include "mvcc/solver.h"
#include "mvcc/store/purge.h"
#include "mvcc/unknown/forget.h"
#include "server/errors.h"

enum {
	BUDGET_DEFAULT = 20000, /* ways tried a contradiction */
	BUDGET_AGAIN = 50,     /* ... for each so many that come to a state from which all was tried */
	WORK_MAX = 20000000,   /* rows and transactions, summed over events, for each contradiction ... */
	WORK_MORE = 400000000, /* ... and for one that needs more, about half a minute, ... */
	WORK_ALL = 1000000000, /* ... as long as all together have not had so much */
	POINTS_MAX = 8192,     /* choices that can still be changed */
	CLOSED_MAX = 65536,    /* ... and those between them that need not be */
	CLOSE_EVERY = 32,      /* new choices after which all are looked at */
	TRAIL_TRIM = 65536,    /* entries past which the search cannot go back */
	WORK_EVENT = 500,      /* an event costs as much as so many rows */
	LIVE_MORE = 64,        /* transactions more than twice those that were left, after which all are looked at */
	BUDGET_QUICK = 200,    /* ... in a phase before the last, or where it would take too long */
	BUDGET_FLIP = 500,    /* ... that changes one choice only, and what follows for those concerned */
	FLIP_POINTS_MAX = 256, /* ... of the latest */
	BUDGET_FOLLOWS = 16,   /* ways tried of what follows */
	OVERLAPS_MAX = 16, /* statements that are tried before another one */
};

/* Its place among the choices of its event. */
static size_t place_of(const struct choice *key_set, size_t at, uint32_t event)
{
	size_t place = 0;

	while (place < at && key_set[at - place - 1].event == event)
		place++;
	return place;
}

/* The way that was taken of the choice that is about to be made, before the search went back past it: what
 * explained later answers then does so again, most likely. */
static uint32_t way_before(const struct mvcc *m, uint32_t options)
{
	size_t place = place_of(m->search.choices, m->search.choice_count, m->search.event);

	for (size_t i = m->search.abandoned_count; i-- > 0;) {
		const struct choice *p = &m->search.abandoned[i];

		if (p->event == m->search.event && p->options == options && place_of(m->search.abandoned, i, m->search.event) == place)
			return choice_taken(p);
	}
	return 0;
}

static uint32_t choose_in(struct mvcc *m, enum choice_scope to_whom, uint32_t txn, uint32_t options,
	bool order)
{
	struct choice *choice;
	uint32_t first;

	if (options <= 1)
		return 0;
	if (m->now.trying) {
		m->now.trial_open = true;
		return 0;
	}
	if (m->search.script < m->search.choice_count && m->search.choices[m->search.script].event == m->search.event) {
		choice = &m->search.choices[m->search.script++];
		/* The same state as when it was first made, but built anew. */
		choice->before = m->search.event_mark;
		return choice_taken(choice);
	}
	if (m->search.settled)
		return 0;
	first = way_before(m, options);
	MEM_RESERVE(m->search.choices, m->search.choice_count + 1, m->search.choice_capacity);
	choice = &m->search.choices[m->search.choice_count++];
	m->search.script = m->search.choice_count;
	*choice = (struct choice){.event = m->search.event,
		.options = options,
		.first = first,
		.scope = to_whom,
		.txn = txn,
		.order = order,
		.until = order ? m->search.order_until : 0,
		.before = m->search.event_mark};
	return first;
}

uint32_t choose(struct mvcc *m, uint32_t options)
{
	return choose_in(m, SCOPE_ALL, m->now.txn, options, false);
}

uint32_t choose_for(struct mvcc *m, uint32_t txn, uint32_t options)
{
	return choose_in(m, SCOPE_TXN, txn, options, false);
}

/* The first way of a choice that is not about what was written is the one that leaves all as it is:
 * what else could have been matters to few.  With another one, to all transactions who was there before the last of those
 * that were executed early was answered; for ever, where they do more than end transactions. */
static enum choice_scope scope(const struct choice *p)
{
	if (!p->order || !choice_taken(p) || p->scope == SCOPE_ALL)
		return (enum choice_scope)p->scope;
	return p->until == UINT64_MAX ? SCOPE_ALL : SCOPE_VIEWS;
}

/* The event at which the oldest transaction began that is still there; STORE_NONE: there is none. */
static uint32_t oldest_began(const struct mvcc *m)
{
	uint32_t oldest = STORE_NONE;

	/* A statement that was sent may have been executed long before its answer comes. */
	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		const struct stmt_run *run = &m->runs[m->search.in_flight[i]];

		if (run->state != STMT_DONE && run->begin_event < oldest)
			oldest = run->begin_event;
	}
	for (size_t i = 0; i < m->search.live_count; i++) {
		const struct store_txn *t = &m->store.txns[m->search.live[i]];

		if (t->state == STORE_ACTIVE && t->began < oldest)
			oldest = t->began;
	}
	return oldest;
}

/* Of SCOPE_VIEWS: can a transaction whose first statement was sent at `event` tell the ways apart?  It can until the
 * last of those was answered that were executed early.  (Not when that statement was answered: its read view may have been
 * made between two commits that were answered before.) */
static bool was_there(const struct mvcc *m, const struct choice *p, uint32_t event)
{
	return event <= p->event ||
	       ((choice_taken(p) || p->any_early) && event < m->schedule->event_count &&
		       m->schedule->events[event].seq <= p->until);
}

/* Is there a transaction left for which the other ways of a choice would make a difference? */
static bool still_matters(const struct mvcc *m, const struct choice *p, uint32_t oldest)
{
	if (p->closed || p->tried + 1 >= p->options)
		return false;
	switch (scope(p)) {
	case SCOPE_ALL:
		return true;
	case SCOPE_TXN:
		return store_is_active(&m->store, p->txn);
	case SCOPE_VIEWS:
		return oldest != STORE_NONE && was_there(m, p, oldest);
	}
	return true;
}

/* The first points are given up. */
static void lose_points(struct mvcc *m, size_t count)
{
	uint32_t oldest = oldest_began(m);

	for (size_t i = 0; i < count && !m->search.choices_lost; i++)
		m->search.choices_lost = still_matters(m, &m->search.choices[i], oldest);
}

/* The search goes back no further than the first choice that is left: what the trail has of before is not needed. */
static void trim_trail(struct mvcc *m)
{
	struct trail *trail = &m->store.trail;
	size_t drop = m->search.choice_count ? m->search.choices[0].before.trail : trail->count;

	if (drop < TRAIL_TRIM && drop < trail->count)
		return;
	memmove(trail->entries, trail->entries + drop, (trail->count - drop) * sizeof(*trail->entries));
	trail->count -= drop;
	for (size_t i = 0; i < m->search.choice_count; i++)
		m->search.choices[i].before.trail -= drop;
}

static void drop_points(struct mvcc *m, size_t drop)
{
	memmove(m->search.choices, m->search.choices + drop, (m->search.choice_count - drop) * sizeof(*m->search.choices));
	m->search.choice_count -= drop;
}

/* The oldest choices cannot be changed any more. */
static void forget_old_points(struct mvcc *m)
{
	size_t drop = m->search.choice_count / 2;

	/* Those of one event stay together. */
	while (drop < m->search.choice_count && m->search.choices[drop].event == m->search.choices[drop - 1].event)
		drop++;
	if (drop == m->search.choice_count)
		return;
	lose_points(m, drop);
	drop_points(m, drop);
}

/* Records that no transaction can meet any more, in whichever order of those that are left, need not be searched. */
static void purge_records(struct mvcc *m)
{
	const struct search *s = &m->search;
	struct purge_limits limits = {s->choice_count ? s->choices[0].event : s->event, m->store.commits};

	for (size_t i = 0; i < s->in_flight_count; i++)
		lower_to(&limits.commits, m->runs[s->in_flight[i]].begin_commits);
	for (size_t i = 0; i < s->live_count; i++) {
		const struct store_txn *t = &m->store.txns[s->live[i]];

		if (t->began == STORE_NONE || (t->state != STORE_ACTIVE && t->ended_at < limits.event))
			continue;
		lower_to(&limits.commits, t->first_commits);
		if (t->view == STORE_NONE)
			continue;
		lower_to(&limits.commits, t->view);
		lower_to(&limits.commits, t->view_low);
		lower_to(&limits.commits, t->view_high);
	}
	store_purge(&m->store, &limits);
}

/* Transactions that every event up to the current one has named are live until they are over for good. */
static void name_txn(struct mvcc *m, uint32_t txn)
{
	struct search *s = &m->search;

	for (; s->named <= txn; s->named++) {
		MEM_RESERVE(s->live, s->live_count + 1, s->live_capacity);
		s->live[s->live_count++] = s->named;
	}
}

/* Those that ended before the search's first choice are over for good, in every order that is left. */
static void settle(struct mvcc *m)
{
	struct search *s = &m->search;
	uint32_t first = s->choice_count ? s->choices[0].event : s->event;
	size_t kept = 0;

	for (size_t i = 0; i < s->live_count; i++) {
		const struct store_txn *t = &m->store.txns[s->live[i]];

		if (t->state == STORE_ACTIVE || t->ended_at >= first)
			s->live[kept++] = s->live[i];
		else if (t->state == STORE_COMMITTED && t->commit_no > s->fixed_commits)
			s->fixed_commits = t->commit_no;
	}
	s->live_count = s->live_left = kept;
	store_settle(&m->store, first);
}

uint32_t first_live(const struct mvcc *m)
{
	return m->search.live_count ? m->search.live[0] : m->search.named;
}

/* Choices whose transactions have ended are not asked for again: they are closed.  Closed ones before the first that is
 * open go; between others they stay, so that what was chosen is chosen again when the search goes back past them. */
static void close_points(struct mvcc *m)
{
	struct search *s = &m->search;
	size_t drop = 0;
	uint32_t oldest;

	settle(m);
	oldest = oldest_began(m);
	s->open_count = 0;
	for (size_t i = 0; i < s->choice_count; i++) {
		struct choice *p = &s->choices[i];

		/* Of a choice that is still to come, where the search goes the same way again, nothing is known yet. */
		if (p->event < s->event)
			p->closed = !still_matters(m, p, oldest);
		s->open_count += !p->closed;
	}
	while (drop < s->choice_count && s->choices[drop].closed)
		drop++;
	while (drop && drop < s->choice_count && s->choices[drop].event == s->choices[drop - 1].event)
		drop--;
	drop_points(m, drop);
	trim_trail(m);
	if (s->open_count > POINTS_MAX || s->choice_count > CLOSED_MAX)
		forget_old_points(m);
	s->close_at = s->choice_count + s->choice_count / 4 + CLOSE_EVERY;
	purge_records(m);
}

/* ---- statements under way ---- */

/* Kept sorted: choices are numbers into it, and must mean the same after going back. */
static void enter_flight(struct mvcc *m, uint32_t stmt)
{
	size_t i;

	MEM_RESERVE(m->search.in_flight, m->search.in_flight_count + 1, m->search.in_flight_capacity);
	for (i = m->search.in_flight_count++; i && m->search.in_flight[i - 1] > stmt; i--)
		m->search.in_flight[i] = m->search.in_flight[i - 1];
	m->search.in_flight[i] = stmt;
}

static void leave_flight(struct mvcc *m, uint32_t stmt)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		if (m->search.in_flight[i] != stmt)
			m->search.in_flight[kept++] = m->search.in_flight[i];
	}
	m->search.in_flight_count = kept;
}

/* ---- the order of statements that overlap ---- */

static const struct record_stmt *record_of(const struct mvcc *m, uint32_t stmt)
{
	return &m->schedule->stmts[stmt].in->record;
}

/* Was it answered before anything else was sent?  Under isorec run nothing is sent while it is not
 * known whether a session waits, so only such statements can have run on already. */
static bool answered_soon(const struct mvcc *m, uint32_t stmt)
{
	return !m->schedule->one_at_a_time || record_of(m, stmt)->seq < m->search.next_sent_seq;
}

/* Of a scenario's run: the statement that was sent last, unless it is done.  All others under way
 * were waiting when it was sent, and go on because of it. */
static uint32_t trigger_of(const struct mvcc *m)
{
	for (uint32_t e = m->search.event; m->schedule->one_at_a_time && e-- > 0;) {
		const struct schedule_event *event = &m->schedule->events[e];

		if (event->kind == EVENT_SENT)
			return m->runs[event->index].state == STMT_IN_FLIGHT ? event->index
									     : STORE_NONE;
	}
	return STORE_NONE;
}

/* Does it commit its transaction though it fails, and has it yet to do so? */
static bool ends_by_failing(const struct mvcc *m, uint32_t stmt)
{
	return !m->schedule->one_at_a_time && failed_commit(m, stmt) != SCHEDULE_NONE;
}

/* A locking read reads what is current and makes no read view; its subqueries do (MySQL manual, "Locking Reads"). */
static bool only_locks(const struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;

	return plan->lock && plan->query && !plan->has_plain_subqueries && !plan->nested && !plan->unsupported &&
	       !plan->uses_unknown_tables && !plan->effects && !m->store.txns[m->schedule->stmts[stmt].txn + 1].level_unknown;
}

/* Will the statement make a read view that lasts? */
static bool makes_view(const struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];

	return !m->runs[stmt].plan->writes && s->txn != SCHEDULE_NONE &&
	       (m->schedule->txns[s->txn].level == LEVEL_REPEATABLE_READ ||
		       m->store.txns[s->txn + 1].level_unknown) &&
	       m->store.txns[s->txn + 1].view == STORE_NONE && !only_locks(m, stmt);
}

static bool reads_locking(const struct mvcc *m, uint32_t stmt)
{
	return m->runs[stmt].plan->lock ||
	       m->store.txns[m->schedule->stmts[stmt].txn + 1].level_unknown;
}

static bool tied_by_foreign(const struct mvcc *m, uint32_t table)
{
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		if (m->catalog.foreign_keys[i].child == table || m->catalog.foreign_keys[i].parent == table)
			return true;
	}
	return false;
}

/* Has the transaction written the record, or locked it? */
static bool has_to_do_with(const struct mvcc *m, const struct store_record *record, uint32_t txn)
{
	for (const struct store_version *v = record->newest; v && m->store.txns[v->txn].state != STORE_COMMITTED;
		v = v->previous) {
		if (v->txn == txn)
			return true;
	}
	for (const struct store_lock *l = record->locks; l; l = l->next) {
		if (l->txn == txn)
			return true;
	}
	return false;
}

/* The rows of the keys in WHERE, none of which the transaction has to do with. */
static bool other_keys(struct mvcc *m, const struct plan *plan, struct store_table *table, uint32_t txn)
{
	struct eval_value *row = NULL;

	for (uint64_t i = 0; key_set_key(m, table, plan->reach, i, &row); i++) {
		const struct store_record *record = store_find(&m->store, table, row);

		if (record ? has_to_do_with(m, record, txn) : table->others != NULL)
			return false;
	}
	return true;
}

/* The number that the server gave to the one row of a plain INSERT; 0: not known. */
static uint64_t number_given(const struct mvcc *m, const struct plan *plan, const struct eval_rows *rows)
{
	const struct record_stmt *record = record_of(m, m->now.stmt);
	const struct sql_insert *insert = plan->stmt->u.insert;

	return rows->count == 1 && !record->error && !insert->on_duplicate && !(insert->flags & SQL_DML_IGNORE) &&
			       plan->stmt->kind == SQL_STMT_INSERT
		       ? record->insert_id
		       : 0;
}

/* The key of a row that INSERT brings is known, with what the server numbered.  `numbered`: room for the row. */
static const struct eval_value *row_with_key(struct mvcc *m, const struct plan *plan, const struct store_table *table,
	const struct eval_rows *rows, size_t i, struct eval_value *numbered)
{
	const struct eval_table *def = table->def;
	uint64_t number = number_given(m, plan, rows);

	memcpy(numbered, rows->row[i], def->column_count * sizeof(*numbered));
	for (uint32_t k = 0; k < table->cluster->count; k++) {
		const struct eval_column *column = &def->columns[table->cluster->columns[k]];
		struct eval_value *v = &numbered[table->cluster->columns[k]];

		if (column->auto_increment && number && (v->kind == EVAL_NULL || v->i == 0))
			*v = column->type.is_unsigned ? eval_uint(number) : eval_int((int64_t)number);
		else if (v->kind == EVAL_NULL || v->kind == EVAL_OPAQUE || (column->auto_increment && v->i == 0))
			return NULL;
	}
	return numbered;
}

/* Those that INSERT brings.  Only the row of the same key can be in the way of one where that is the table's only unique
 * key. */
static bool other_keys_inserted(struct mvcc *m, const struct plan *plan, struct store_table *table, uint32_t txn)
{
	struct eval_outcome outcome = {0};
	struct eval_rows rows = {0};
	struct eval_value *room;

	if (!table->cluster || table->unique_count != 1 || table->hidden_key || table->others ||
		eval_insert_table(plan->insert) != table->def ||
		!eval_insert_rows(plan->insert, &m->scratch, &m->now.env, &m->source, &rows, &outcome))
		return false;
	room = arena_alloc(&m->scratch, table->def->column_count * sizeof(*room));
	for (size_t i = 0; i < rows.count; i++) {
		const struct eval_value *row = row_with_key(m, plan, table, &rows, i, room);
		const struct store_record *record;

		if (!row)
			return false;
		record = store_find(&m->store, table, row);
		if (record && has_to_do_with(m, record, txn))
			return false;
	}
	return true;
}

static bool is_of_table(const struct store_table *table, const struct store_record *record)
{
	return record->id < table->count && table->records[record->id] == record;
}

/* May the condition of the current plan be true of it? */
static bool may_match(struct mvcc *m, const struct store_version *v)
{
	enum eval_truth truth;

	return v && (v->unknown || v->maybe || (v->image && (!row_matches(m, v->image, &truth) || truth == EVAL_TRUE)));
}

/* None of the rows that the transaction has written or locked matches, before or after. */
static bool matches_none_of(struct mvcc *m, const struct store_table *table, uint32_t txn)
{
	const struct store_txn *t = &m->store.txns[txn];

	for (const struct store_undo *u = t->undo; u; u = u->previous) {
		if (is_of_table(table, u->record) && (may_match(m, u->version) || may_match(m, u->version->previous)))
			return false;
	}
	for (const struct store_lock *l = t->held; l; l = l->held_before) {
		if (!is_of_table(table, l->record))
			continue;
		for (const struct store_version *v = l->record->newest; v; v = v->previous) {
			if (may_match(m, v))
				return false;
			if (m->store.txns[v->txn].state == STORE_COMMITTED)
				break;
		}
	}
	return true;
}

/* Are the rows that the two are about certainly others?  Those that a statement of one table finds or brings, and
 * those that a transaction, which the other ends, has written or locked.  Then both orders give the same. */
static bool other_rows(struct mvcc *m, uint32_t stmt, uint32_t other)
{
	const struct plan *plan = m->runs[stmt].plan;
	uint32_t txn = m->schedule->stmts[other].txn;
	struct stmt_exec before;
	struct store_table *table;
	bool apart = false;

	if (plan->table_count != 1 || plan->reads_by_query || plan->moves_unique ||
		plan->unsupported || !(plan->reads || plan->writes) || makes_view(m, stmt) ||
		plan->effects || m->runs[other].plan->table_count || m->runs[other].plan->effects ||
		writes_anywhere(m, m->runs[other].plan) ||
		txn == SCHEDULE_NONE || ends_other_txn(&m->schedule->stmts[other]) ||
		/* It also comes of the row after those that are looked for. */
		record_of(m, stmt)->error == ER_CHECKREAD || tied_by_foreign(m, plan->tables[0]))
		return false;
	table = &m->store.tables[plan->tables[0]];
	/* It may have written others, which are not known. */
	for (const struct store_version *v = table->others ? table->others->newest : NULL; v;
		v = v->previous) {
		if (v->txn == txn + 1)
			return false;
	}
	/* What a SERIALIZABLE transaction has read is locked, with the gaps (serializable_reads.c). */
	for (const struct store_read *r = table->reads; r; r = r->next) {
		if (r->txn == txn + 1)
			return false;
	}
	if (plan->reach)
		return other_keys(m, plan, table, txn + 1);
	if (!plan->insert && !plan->change && !(plan->single && plan->where))
		return false;
	before = m->now;
	m->now.stmt = stmt;
	m->now.plan = plan;
	settings_apply(m, plan);
	m->now.env.has_last_insert_id = m->runs[stmt].has_last_insert_id;
	m->now.env.last_insert_id = m->runs[stmt].number;
	apart = plan->insert ? other_keys_inserted(m, plan, table, txn + 1) : matches_none_of(m, table, txn + 1);
	m->now = before;
	return apart;
}

/* Does the statement end a transaction that has written something, or by writing it? */
static bool has_written(const struct mvcc *m, uint32_t stmt)
{
	if (m->runs[stmt].plan->writes || ends_prepared_txn(m, stmt))
		return true;
	for (const struct schedule_txn_event *e = m->schedule->stmts[stmt].txn_events; e; e = e->next) {
		const struct store_txn *t = &m->store.txns[e->txn + 1];

		if (e->event == TXN_END && (t->undo || t->hidden))
			return true;
	}
	return ends_by_failing(m, stmt) && m->store.txns[m->schedule->stmts[stmt].txn + 1].undo;
}

/* Did it look for a parent's row in vain?  That leaves no lock behind, so that the row may have come at
 * once afterwards. */
static bool may_miss_parent(const struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;

	return record_of(m, stmt)->error == ER_NO_REFERENCED_ROW_2 ||
	       (plan->insert && plan->stmt->u.insert->flags & SQL_DML_IGNORE && m->catalog.foreign_key_count);
}

/* Does `plan` write a table with several unique keys that `before` uses? */
static bool shares_uniques(const struct mvcc *m, const struct plan *plan, const struct plan *before)
{
	for (uint32_t i = 0; i < plan->table_count; i++) {
		for (uint32_t k = 0; plan->written[i] && k < before->table_count; k++) {
			if (plan->tables[i] == before->tables[k] && m->store.tables[plan->tables[i]].unique_count > 1)
				return true;
		}
	}
	return false;
}

/* May `other`, an INSERT that met another row or failed, or an UPDATE that left rows out, have been before `stmt` put a row in its way?
 * It has let go of the key that it tried first. */
static bool may_meet_new_row(const struct mvcc *m, uint32_t stmt, uint32_t other)
{
	const struct plan *plan = m->runs[stmt].plan, *before = m->runs[other].plan;

	if (before->skips && before->moves_unique && (plan->insert || plan->moves_unique))
		return true;
	/* One that waited for a row by another unique key than the primary has not locked the gap before it: the row goes, and
	 * one with the same key comes where the scan has been. */
	if ((before->lock || before->change) && (plan->insert || plan->moves_unique) && shares_uniques(m, plan, before))
		return true;
	if (!before->insert || !(plan->insert || plan->moves_unique) ||
		!(record_of(m, other)->error || before->stmt->kind == SQL_STMT_REPLACE ||
			before->stmt->u.insert->on_duplicate ||
			before->stmt->u.insert->flags & SQL_DML_IGNORE))
		return false;
	for (uint32_t i = 0; i < plan->table_count; i++) {
		const struct store_table *table = &m->store.tables[plan->tables[i]];

		if (plan->written[i] && table->unique_count > 1 &&
			table->def == eval_insert_table(before->insert))
			return true;
	}
	return false;
}

/* ROLLBACK TO SAVEPOINT takes rows back, and may let go of all locks (roll_back_to in transaction_control.c). */
static bool takes_back(const struct mvcc *m, uint32_t stmt)
{
	for (const struct schedule_txn_event *e = m->schedule->stmts[stmt].txn_events; e; e = e->next) {
		if (e->event == TXN_ROLLBACK_TO)
			return true;
	}
	return false;
}

/* Can it matter to `stmt` that `other`, which changes definitions, was before it?  While another transaction has written the table,
 * it was not. */
static bool definition_matters(const struct mvcc *m, uint32_t stmt, uint32_t other)
{
	const struct plan *plan = m->runs[other].plan;

	if (!plan->redefines || record_of(m, other)->error || define_has_to_wait(m, other))
		return false;
	if (concurrent_ddl_matters(m, stmt, other))
		return !concurrent_ddl_must_precede(m, stmt, other);
	return define_leaves_out(m, other, stmt) ||
	       (!m->runs[other].defines && (stmt_tables(m, stmt) & plan->tied));
}

/* Can it matter to `stmt` that `other` was before it?  What a transaction wrote shows when it ends;
 * a plain read finds its read view itself (execute.c); dirty reads see all. */
static bool matters(struct mvcc *m, uint32_t stmt, uint32_t other)
{
	uint32_t txn = m->schedule->stmts[other].txn;

	if (m->schedule->one_at_a_time)
		return true;
	if (m->runs[other].plan->redefines && definition_matters(m, stmt, other))
		return true;
	/* Once it has committed, what it does otherwise is all that is left of it. */
	if (m->runs[other].plan->commits && !commits_first(m, other))
		return false;
	/* What the read view has of others shows in later reads, of any table.  A locking read waits
	 * for locks as well. */
	if (makes_view(m, stmt) && ends_txn(m, other) &&
		(has_written(m, other) || !reads_locking(m, stmt)))
		return has_written(m, other);
	if (!(stmt_tables(m, stmt) & stmt_tables(m, other)) || sees_snapshot(m, stmt) ||
		other_rows(m, stmt, other))
		return false;
	return ends_txn(m, other) || takes_back(m, other) ||
	       (ends_txn(m, stmt) && may_miss_parent(m, other)) ||
	       may_meet_new_row(m, stmt, other) ||
	       (txn != SCHEDULE_NONE && m->schedule->txns[txn].level == LEVEL_READ_UNCOMMITTED);
}

/* May it have been executed before the one whose answer came first, as far as the schedule tells? */
static bool may_precede(const struct mvcc *m, uint32_t stmt, uint32_t other, uint32_t trigger)
{
	/* Before the trigger only those whose waiting it ended with an error.  Statements of one session
	 * follow each other, also where an answer was noted late. */
	return other != stmt && m->schedule->stmts[other].in->session != m->schedule->stmts[stmt].in->session &&
	       m->runs[other].state == STMT_IN_FLIGHT && answered_soon(m, other) &&
	       (stmt != trigger || m->search.victim_failed || record_of(m, other)->error);
}

/* Does it matter to one of those that may come first, and change what others find? */
static bool matters_to_any(struct mvcc *m, const uint32_t *stmts, uint32_t count, uint32_t other)
{
	for (uint32_t i = 0; i < count; i++) {
		if (stmts[i] == other)
			return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (m->schedule->stmts[stmts[i]].in->session != m->schedule->stmts[other].in->session &&
			has_written(m, stmts[i]) && matters(m, stmts[i], other))
			return true;
	}
	return false;
}

/* Others that may have been executed before the one whose answer came first: those that matter to it, and those
 * that matter to them. */
static uint32_t candidates(struct mvcc *m, uint32_t stmt, uint32_t *out, uint32_t max)
{
	uint32_t count = 0, before, trigger = trigger_of(m);

	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		uint32_t other = m->search.in_flight[i];

		if (may_precede(m, stmt, other, trigger) && matters(m, stmt, other)) {
			if (count < max)
				out[count++] = other;
			else
				m->search.choices_lost = true;
		}
	}
	do {
		before = count;
		for (size_t i = 0; i < m->search.in_flight_count && before; i++) {
			uint32_t other = m->search.in_flight[i];

			if (!may_precede(m, stmt, other, trigger) || !matters_to_any(m, out, count, other))
				continue;
			if (count < max)
				out[count++] = other;
			else
				m->search.choices_lost = true;
		}
	} while (count > before && !m->schedule->one_at_a_time);
	return count;
}

/* Victims of deadlocks are rolled back before other statements are released, and so are
 * transactions whose end lets others go on. */
static bool goes_first(const struct mvcc *m, uint32_t stmt)
{
	return ends_txn(m, stmt) &&
	       (record_of(m, stmt)->error || !record_of(m, stmt)->blocked_ns);
}

/* To whom it matters what was before the statement.  Whatever is not executed before a statement that
 * only looks can still be before the next one; what is, cannot be after it any more, and that matters
 * to all transactions (see `scope`). */
static enum choice_scope scope_of(const struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;

	if (m->schedule->one_at_a_time || plan->writes || !plan->stmt || plan->ddl ||
		m->schedule->stmts[stmt].txn == SCHEDULE_NONE)
		return SCOPE_ALL;
	if (plan->stmt->kind == SQL_STMT_SELECT)
		return SCOPE_TXN;
	return plan->harmless ? SCOPE_VIEWS : SCOPE_ALL;
}

enum place { AT_EVENT, AT_ORDER };

/* The work of the contradiction that is being explained.  A few that need more may have it; where many do, the trace would
 * take hours. */
static bool takes_too_long(const struct mvcc *m)
{
	uint64_t left = m->search.extra_work < WORK_ALL ? WORK_ALL - m->search.extra_work : 0;

	return m->search.work > WORK_MAX + (left < WORK_MORE ? left : WORK_MORE);
}

/* Was all tried from here?  Otherwise it will have been when the search comes here again. */
static bool was_here(struct mvcc *m, enum place at)
{
	uint64_t digest;
	uint32_t *slot;

	if (!m->search.dead_ends || m->search.script < m->search.choice_count || takes_too_long(m) || !state_digest(m, at, &digest))
		return false;
	m->search.work += state_digest_size(m);
	slot = map_at(m->search.dead_ends, digest);
	m->search.at_dead_end = *slot != MAP_NONE;
	*slot = 1;
	return m->search.at_dead_end;
}

/* When the last of those is answered that may be executed first; UINT64_MAX: one of them does more than to end a
 * transaction. */
static uint64_t answered_last(const struct mvcc *m, const uint32_t *others, uint32_t count)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct plan *plan = m->runs[others[i]].plan;
		uint64_t seq = record_of(m, others[i])->seq;

		if (!plan->harmless || plan->table_count || plan->redefines || plan->effects || plan->reads_incidentally ||
			takes_back(m, others[i]))
			return UINT64_MAX;
		last = seq > last ? seq : last;
	}
	return last;
}

/* Was it executed after the end of the transaction that `other` ends, because of a lock?  A statement that found a row by
 * its primary key alone, and changed or returned it with a lock, waited for an open transaction that had written it.  (Where
 * its WHERE says more, another index may have been read, and the row not looked at.) */
static bool waited_for(struct mvcc *m, uint32_t stmt, uint32_t other)
{
	const struct plan *plan = m->runs[stmt].plan;
	uint32_t txn = m->schedule->stmts[other].txn;
	struct store_record *record;
	struct store_table *table;
	struct eval_value *row = NULL;
	uint64_t found;

	if (m->schedule->one_at_a_time || !plan->reach || !key_set_is_all(plan->reach) || key_set_size(plan->reach) != 1 ||
		plan->table_count != 1 || plan->unsupported || plan->effects || record_of(m, stmt)->error ||
		txn == SCHEDULE_NONE || ends_other_txn(&m->schedule->stmts[other]) || !ends_txn(m, other) ||
		m->runs[other].plan->table_count || !m->runs[other].plan->harmless)
		return false;
	found = plan->change && plan->one_table ? record_of(m, stmt)->affected
		: plan->lock && plan->single ? record_of(m, stmt)->rows
					     : 0;
	table = &m->store.tables[plan->tables[0]];
	if (!found || skips_locked(plan) || table->unknown || !key_set_key(m, table, plan->reach, 0, &row))
		return false;
	record = store_find(&m->store, table, row);
	return record && record->newest && record->newest->txn == txn + 1 && store_is_active(&m->store, txn + 1);
}

/* One of those under way that surely was before the statement; STORE_NONE: there is none. */
static uint32_t find_waited_for(struct mvcc *m, uint32_t stmt, const uint32_t *others, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (others[i] != stmt && waited_for(m, stmt, others[i]))
			return others[i];
	}
	return STORE_NONE;
}

/* Executes a statement that surely was before the one whose answer came: before or after which other commits, a choice
 * that concerns read views alone. */
static bool run_before(struct mvcc *m, uint32_t first, const uint32_t *others, uint32_t count)
{
	uint32_t list[OVERLAPS_MAX], kept = 0, pick;

	for (uint32_t i = 0; i < count; i++) {
		if (others[i] != first && matters(m, first, others[i]))
			list[kept++] = others[i];
	}
	m->search.order_until = answered_last(m, list, kept);
	pick = choose_in(m, scope_of(m, first), m->schedule->stmts[first].txn + 1, kept + 1, true);
	if (!pick)
		return run_stmt(m, first);
	if (commits_first(m, list[pick - 1]))
		commit_first(m, list[pick - 1]);
	else if (!run_stmt(m, list[pick - 1]))
		return false;
	return true;
}

static bool answered(struct mvcc *m, uint32_t stmt)
{
	uint32_t others[OVERLAPS_MAX], trigger = trigger_of(m);

	if (m->runs[stmt].state == STMT_DONE) {
		m->now.forgetting = stmt + 1;
		if (m->runs[stmt].mixes)
			forget_for_good(m, REASON_TRANSACTION_WROTE_SEVERAL);
		leave_flight(m, stmt);
		return true;
	}
	/* A wait that ended well ended by what the trigger did. */
	if (trigger != STORE_NONE && trigger != stmt && !m->search.victim_failed &&
		!m->runs[trigger].plan->commits && /* did that when it was sent */
		!record_of(m, trigger)->blocked_ns && !record_of(m, stmt)->error &&
		record_of(m, stmt)->blocked_ns && answered_soon(m, trigger) &&
		!run_stmt(m, trigger))
		return false;
	for (;;) {
		uint32_t count = candidates(m, stmt, others, ARRAY_LEN(others)), first = count,
			 pick, before;

		if (count == 0)
			break;
		before = find_waited_for(m, stmt, others, count);
		if (before != STORE_NONE) {
			if (!run_before(m, before, others, count) || was_here(m, AT_ORDER))
				return false;
			continue;
		}
		/* What it commits itself was before all else that it does, and before others, perhaps. */
		if (count < ARRAY_LEN(others) && commits_first(m, stmt))
			others[count++] = stmt;
		first = count;
		for (uint32_t i = 0; i < count && first == count; i++) {
			if (goes_first(m, others[i]) && !goes_first(m, stmt))
				first = i;
		}
		/* The usual order first, then each of the others before this one. */
		if (scope_of(m, stmt) != SCOPE_ALL)
			first = count;
		m->search.order_until = answered_last(m, others, count);
		pick = choose_in(m, scope_of(m, stmt), m->schedule->stmts[stmt].txn + 1, count + 1,
			true);
		if (first < count)
			pick = pick == 0 ? first : pick == first + 1 ? count : pick - 1;
		else
			pick = pick == 0 ? count : pick - 1;
		if (pick == count)
			break;
		if (commits_first(m, others[pick]))
			commit_first(m, others[pick]);
		else if (!run_stmt(m, others[pick]))
			return false;
		if (was_here(m, AT_ORDER))
			return false;
	}
	if (!run_stmt(m, stmt))
		return false;
	leave_flight(m, stmt);
	return true;
}

/* What happened between the last sending and the next. */
static void look_around(struct mvcc *m)
{
	const struct schedule *s = m->schedule;
	uint32_t e = m->search.event;

	m->search.next_sent_seq = UINT64_MAX;
	m->search.victim_failed = false;
	while (e > 0 && s->events[e].kind != EVENT_SENT)
		e--;
	for (e++; e < s->event_count && s->events[e].kind != EVENT_SENT; e++) {
		if (s->events[e].kind == EVENT_ANSWERED && record_of(m, s->events[e].index)->error)
			m->search.victim_failed = true;
	}
	if (e < s->event_count)
		m->search.next_sent_seq = s->events[e].seq;
}

static void sent(struct mvcc *m, uint32_t stmt)
{
	const struct schedule_stmt *s = &m->schedule->stmts[stmt];
	struct stmt_run *run = &m->runs[stmt];

	if (s->txn != SCHEDULE_NONE) {
		name_txn(m, s->txn + 1);
		if (m->schedule->txns[s->txn].goes_on != SCHEDULE_NONE)
			name_txn(m, m->schedule->txns[s->txn].goes_on + 1);
	}
	for (const struct schedule_txn_event *e = s->txn_events; e; e = e->next)
		name_txn(m, e->txn + 1);
	TRAIL_SET(&m->store.trail, RUN, run, state, (uint32_t)STMT_IN_FLIGHT);
	TRAIL_SET(&m->store.trail, RUN, run, begin_commits, m->store.commits);
	TRAIL_SET(&m->store.trail, RUN, run, begin_event, m->search.event);
	enter_flight(m, stmt);
	run->flight_from = m->search.event;
	for (size_t i = 0; i < m->search.in_flight_count; i++)
		lower_to(&run->flight_from, m->runs[m->search.in_flight[i]].begin_event);
	m->now.forgetting = stmt + 1;
	if (run->mixes)
		forget_for_good(m, REASON_TRANSACTION_WROTE_SEVERAL);
	concurrent_ddl_replan(m, stmt);
	/* What commits implicitly does so before it waits (MySQL manual, "Statements
	 * That Cause an Implicit Commit").  Where statements overlap freely, when that was is tried
	 * (candidates). */
	if (!m->schedule->one_at_a_time || !run->plan->commits)
		return;
	commit_of_failed(m, stmt);
	for (const struct schedule_txn_event *e = m->schedule->stmts[stmt].txn_events; e;
		e = e->next) {
		if (e->event == TXN_END)
			end_txn(m, e->txn);
	}
}

static bool process(struct mvcc *m)
{
	const struct schedule_event *e = &m->schedule->events[m->search.event];

	if (was_here(m, AT_EVENT))
		return false;
	m->search.work += WORK_EVENT;
	/* After all of them: the tables as they were found at the end. */
	if (m->search.event == m->schedule->event_count) {
		end_those_who_left(m);
		return finals_fit(m);
	}
	switch ((enum schedule_event_kind)e->kind) {
	case EVENT_SENT:
		sent(m, e->index);
		return true;
	case EVENT_ANSWERED:
		if (m->search.in_flight_count > 1)
			look_around(m);
		return answered(m, e->index);
	case EVENT_TXN:
		name_txn(m, e->index + 1);
		if (!leaves_later(m, e->index))
			end_txn(m, e->index);
		return true;
	}
	return true;
}

/* ---- going back ---- */

/* The list of statements under way, as it was before an event. */
static void rebuild_flight(struct mvcc *m, uint32_t event)
{
	/* It follows from the events alone: sent and not answered yet. */
	size_t kept = 0;

	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		if (m->runs[m->search.in_flight[i]].state != STMT_WAITING)
			m->search.in_flight[kept++] = m->search.in_flight[i];
	}
	m->search.in_flight_count = kept;
	for (uint32_t e = event; e < m->search.event + 1 && e < m->schedule->event_count; e++) {
		const struct schedule_event *ev = &m->schedule->events[e];
		bool there = false;

		if (ev->kind != EVENT_ANSWERED || m->runs[ev->index].state == STMT_WAITING)
			continue;
		for (size_t i = 0; i < m->search.in_flight_count && !there; i++)
			there = m->search.in_flight[i] == ev->index;
		if (there)
			continue;
		enter_flight(m, ev->index);
	}
}

static void go_back(struct mvcc *m, uint32_t event, const struct state_mark *mark)
{
	state_return(m, mark);
	rebuild_flight(m, event);
	m->search.event = event;
}

/* The first choice that is not of an earlier event. */
static size_t first_choice_of(const struct mvcc *m, uint32_t event)
{
	size_t count = m->search.choice_count;

	if (count && m->search.choices[count - 1].event < event)
		return count;
	return FIRST_WHERE(i, 0, count, m->search.choices[i].event >= event);
}

/* `failing`: the search is looking for another way, and the choices are those of its way so far. */
static void begin_event(struct mvcc *m, bool failing)
{
	m->store.event = m->store.no_wait = m->search.event;
	for (size_t i = 0; i < m->search.in_flight_count; i++)
		lower_to(&m->store.no_wait, m->runs[m->search.in_flight[i]].flight_from);
	if (!m->search.choice_count)
		m->store.trail.count = 0;
	if (!failing && m->search.live_count > 2 * m->search.live_left + LIVE_MORE)
		settle(m);
	if (!failing && !m->search.choice_count)
		purge_records(m);
	if (!failing && m->search.choice_count > m->search.close_at &&
		m->search.choices[m->search.choice_count - 1].event != m->search.event)
		close_points(m);
	m->search.event_mark = state_mark(m);
	/* Choices of this event that are made already, after going back. */
	m->search.script = first_choice_of(m, m->search.event);
}

/* The contradictions met since the search went back: the statements that met them, and the transactions in the way.  Where
 * there are too many, everything may be their cause. */
enum { FAILED_MAX = 32 };

struct failed {
	uint32_t txns[2];
	uint32_t sent; /* event */
};

/* Can the choice have anything to do with them? */
static bool concerns(
	const struct mvcc *m, const struct choice *p, const struct failed *failed, size_t count)
{
	if (scope(p) == SCOPE_ALL || count > FAILED_MAX)
		return true;
	for (size_t i = 0; i < count; i++) {
		if (scope(p) == SCOPE_TXN
				? p->txn == failed[i].txns[0] || p->txn == failed[i].txns[1]
				: was_there(m, p, failed[i].sent) ||
					  (failed[i].txns[0] != STORE_NONE &&
						  was_there(m, p, m->store.txns[failed[i].txns[0]].began)))
			return true;
	}
	return false;
}

/* A plain read that contradicts is most likely to have another read view: what its transaction sees is
 * tried first (and of those that contradict then).  The search in order would try all combinations of what others
 * did in between before it came to that.
 * Then what was chosen at this very event: often a count tells which of two things a statement did.
 * Then one choice at a time is changed, from the latest back, with all others as they were: what one order of two
 * statements explains would be found last otherwise, when it is long ago. */
enum phase { PHASE_OWN, PHASE_EVENT, PHASE_FLIP, PHASE_ALL };

/* The first contradiction met, and the way that led to it. */
struct failure {
	bool any;
	uint32_t event;
	uint64_t tried, again;
	bool capped; /* not all was tried on one of the ways */
	size_t deepest; /* the first choice that was changed since: the states before it are as they were */
	struct map seen;
	struct choice *way;
	size_t way_count, way_capacity;
	struct failed failed[FAILED_MAX];
	size_t failed_count;
	enum phase phase;
	size_t flip;      /* PHASE_FLIP: the choice that is changed */
	uint64_t view_seq; /* ... of those before this moment: when the read view of a plain read that contradicts was there */
	uint64_t follows; /* ways tried of what follows from it */
};

static enum phase first_phase(const struct mvcc *m)
{
	if (m->schedule->one_at_a_time)
		return PHASE_ALL;
	return m->search.mismatch.kind == MISMATCH_RESULT && sees_snapshot(m, m->search.mismatch.stmt) ? PHASE_OWN
											   : PHASE_EVENT;
}

static uint64_t phase_budget(const struct mvcc *m, enum phase phase)
{
	if (phase < PHASE_FLIP)
		return BUDGET_QUICK;
	if (phase == PHASE_FLIP)
		return takes_too_long(m) ? 0 : BUDGET_FLIP;
	if (m->options->budget)
		return m->options->budget;
	/* Where it can be no finding any more, it is not worth so much time. */
	return (m->search.choices_lost && !m->schedule->one_at_a_time) || takes_too_long(m) ? BUDGET_QUICK : BUDGET_DEFAULT;
}

static bool is_in_phase(const struct mvcc *m, const struct choice *p, const struct failure *f)
{
	if (f->phase == PHASE_ALL)
		return concerns(m, p, f->failed, f->failed_count);
	if (f->phase == PHASE_EVENT)
		return p->event == f->event;
	for (size_t i = 0; p->scope == SCOPE_TXN && i < f->failed_count && i < FAILED_MAX; i++) {
		if (p->txn == f->failed[i].txns[0])
			return true;
	}
	return false;
}

static bool take_next(struct mvcc *m, struct failure *f)
{
	struct choice *p = &m->search.choices[m->search.choice_count - 1];

	if (m->search.choice_count - 1 < f->deepest)
		f->deepest = m->search.choice_count - 1;
	p->tried++;
	go_back(m, p->event, &p->before);
	return true;
}

/* Only what was before what is changed by itself: the last way of other choices is often that nothing is known,
 * which explains everything. */
static bool can_flip(const struct mvcc *m, const struct failure *f, const struct choice *p)
{
	/* What a read view has was decided before it was made, but for what was written. */
	if (scope(p) != SCOPE_ALL && m->schedule->events[p->event].seq > f->view_seq)
		return false;
	return p->order && !p->closed && p->tried + 1 < p->options;
}

/* When the read view was there that a contradicting plain read has; UINT64_MAX: it is no such read, or not known. */
static uint64_t view_made(const struct mvcc *m)
{
	uint32_t stmt = m->search.mismatch.stmt, maker;

	if (m->search.mismatch.kind != MISMATCH_RESULT || stmt == STORE_NONE || !sees_snapshot(m, stmt))
		return UINT64_MAX;
	maker = m->store.txns[m->schedule->stmts[stmt].txn + 1].view_stmt;
	return maker == STORE_NONE ? UINT64_MAX : record_of(m, maker)->seq;
}

/* The next way in which one choice is another one. */
static bool next_flip(struct mvcc *m, struct failure *f)
{
	/* What may follow from it. */
	while (m->search.choice_count > f->flip + 1 && f->follows < BUDGET_FOLLOWS) {
		const struct choice *p = &m->search.choices[m->search.choice_count - 1];

		if (!p->closed && p->tried + 1 < p->options && is_in_phase(m, p, f)) {
			f->follows++;
			return take_next(m, f);
		}
		m->search.choice_count--;
	}
	f->follows = 0;
	if (f->flip < f->way_count && can_flip(m, f, &m->search.choices[f->flip])) {
		m->search.choice_count = f->flip + 1;
		return take_next(m, f);
	}
	while (f->flip && f->way_count - f->flip < FLIP_POINTS_MAX) {
		struct choice *p = &m->search.choices[--f->flip];
		const struct state_mark before = p->before;

		*p = f->way[f->flip];
		p->before = before; /* the way's is of a state that was built anew since */
		m->search.choice_count = f->flip + 1;
		if (can_flip(m, f, p))
			return take_next(m, f);
	}
	return false;
}

/* The next possibility; false: there is none left. */
static bool next_way(struct mvcc *m, struct failure *f)
{
	if (f->phase == PHASE_FLIP)
		return next_flip(m, f);
	while (m->search.choice_count) {
		struct choice *p = &m->search.choices[m->search.choice_count - 1];

		if (f->phase == PHASE_EVENT && p->event < f->event)
			return false;
		if (!p->closed && p->tried + 1 < p->options && is_in_phase(m, p, f))
			return take_next(m, f);
		m->search.choice_count--;
	}
	return false;
}

static void note_failed(struct mvcc *m, struct failure *f)
{
	struct failed now = {{STORE_NONE, m->search.mismatch.other_txn}, STORE_NONE};

	/* Of final rows only what was written can be the cause. */
	if (m->search.event == m->schedule->event_count)
		return;
	if (m->search.mismatch.stmt != STORE_NONE && m->schedule->stmts[m->search.mismatch.stmt].txn != SCHEDULE_NONE)
		now.txns[0] = m->schedule->stmts[m->search.mismatch.stmt].txn + 1;
	if (m->search.mismatch.stmt != STORE_NONE)
		now.sent = m->runs[m->search.mismatch.stmt].begin_event;
	for (size_t i = 0; i < f->failed_count && i < FAILED_MAX; i++) {
		if (memcmp(&f->failed[i], &now, sizeof(now)) == 0)
			return;
	}
	if (f->failed_count < FAILED_MAX)
		f->failed[f->failed_count] = now;
	f->failed_count += f->failed_count <= FAILED_MAX;
}

static void note_failure(struct mvcc *m, struct failure *f)
{
	if (!f->any)
		f->failed_count = 0;
	note_failed(m, f);
	if (f->any)
		return;
	f->any = true;
	f->event = m->search.event;
	f->tried = f->again = m->search.work = 0;
	f->capped = false;
	f->phase = first_phase(m);
	f->view_seq = view_made(m);
	MEM_RESERVE(f->way, m->search.choice_count + 1, f->way_capacity);
	f->way_count = m->search.choice_count;
	if (m->search.choice_count)
		memcpy(f->way, m->search.choices, m->search.choice_count * sizeof(*f->way));
	m->search.abandoned = f->way;
	m->search.abandoned_count = f->way_count;
	f->flip = f->deepest = f->way_count;
	f->follows = 0;
}

static void end_failure(struct mvcc *m, struct failure *f)
{
	/* Before the last phase ways were passed over that another contradiction may yet need; not of choices that stayed as
	 * they were. */
	for (size_t i = f->deepest; f->phase < PHASE_ALL && i < m->search.choice_count; i++) {
		m->search.choices[i].first = choice_taken(&m->search.choices[i]);
		m->search.choices[i].tried = 0;
	}
	if (f->any && m->search.work > WORK_MAX)
		m->search.extra_work += m->search.work - WORK_MAX;
	f->any = false;
	m->search.dead_ends = NULL;
	m->search.settled = false;
	m->search.abandoned_count = 0;
}

/* Takes the way of the first contradiction once more, from where it was left. */
static void take_way(struct mvcc *m, struct failure *f)
{
	size_t from = f->deepest;

	if (from >= f->way_count) {
		go_back(m, f->event, &m->search.event_mark);
	} else {
		/* The marks of those before it are in the list: states were built anew since the way was kept. */
		struct state_mark before = m->search.choices[from].before;

		go_back(m, f->way[from].event, &before);
	}
	MEM_RESERVE(m->search.choices, f->way_count + 1, m->search.choice_capacity);
	for (size_t i = from; i < f->way_count; i++)
		m->search.choices[i] = f->way[i];
	m->search.choice_count = f->way_count;
	f->deepest = f->way_count;
}

/* The recorded answers stand, each contradiction is noted, and what follows is judged from there.
 */
static void accept_contradiction(struct mvcc *m)
{
	bool uncertain = m->search.uncertain;

	m->search.accepted_count = 0;
	do {
		struct accepted *accepted = &m->search.accepted[m->search.accepted_count];
		uint32_t open = mismatch_reason(m);
		size_t notes;

		CHECK(m->search.accepted_count < ARRAY_LEN(m->search.accepted));
		m->search.uncertain = uncertain && (m->unrecorded_writers || !answer_is_impossible(m));
		if (m->search.uncertain)
			notes_drop(m, m->search.event_mark.notes);
		notes = m->note_count;
		if (!open)
			note_mismatch(m);
		*accepted = (struct accepted){.stmt = m->search.mismatch.stmt,
			.open = open,
			.unrecorded = m->note_count > notes ? m->notes[notes].by_unrecorded_writer : m->unrecorded_writers,
			.conflict = m->search.mismatch.kind == MISMATCH_CONFLICT};
		m->search.accepted_count++;
		/* The contradiction is noted for good. */
		m->search.event_mark.notes = m->note_count;
		go_back(m, m->search.event, &m->search.event_mark);
		begin_event(m, true);
	} while (!process(m));
	m->search.accepted_count = 0;
}

static bool is_used_up(const struct mvcc *m, const struct failure *f)
{
	uint64_t budget = phase_budget(m, f->phase);

	return f->tried > budget || f->again > budget * BUDGET_AGAIN;
}

/* Once all ways are tried: from where. */
static void begin_all(struct mvcc *m, struct failure *f)
{
	if (f->phase != PHASE_ALL)
		return;
	map_release(&f->seen);
	f->seen = MAP_INIT;
	m->search.dead_ends = &f->seen;
}

/* A contradiction, or a state from which there is none but contradictions: takes another way.  False: there is none
 * left, or enough were tried. */
static bool goes_on(struct mvcc *m, struct failure *f)
{
	if (m->search.at_dead_end) {
		m->search.at_dead_end = false;
		f->again++;
	} else {
		bool first = !f->any;

		note_failure(m, f);
		f->capped |= m->now.capped;
		f->tried++;
		if (first)
			begin_all(m, f);
	}
	return !is_used_up(m, f) && next_way(m, f);
}

/* Goes back to the last choice of this event that has another way left, and takes that.  False: none has. */
static bool next_in_event(struct mvcc *m, size_t first)
{
	struct search *s = &m->search;

	while (s->choice_count > first && s->choices[s->choice_count - 1].tried + 1 >= s->choices[s->choice_count - 1].options)
		s->choice_count--;
	if (s->choice_count == first)
		return false;
	s->choices[s->choice_count - 1].tried++;
	return true;
}

static bool process_again(struct mvcc *m)
{
	bool explains;

	go_back(m, m->search.event, &m->search.event_mark);
	begin_event(m, true);
	explains = process(m);
	m->search.at_dead_end = false;
	return explains;
}

/* Does it stay open for ever, because it is about what was written? */
static bool is_lasting(const struct choice *p)
{
	return !p->closed && p->tried + 1 < p->options && scope(p) == SCOPE_ALL && p->txn != STORE_NONE;
}

/* Is one of the choices lasting? */
static bool has_lasting(struct choice *choices, size_t count, uint32_t *txn)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		struct choice *p = &choices[i];

		any |= is_lasting(p);
		*txn = is_lasting(p) ? p->txn : *txn;
		p->looked_at = true;
	}
	return any;
}

enum { LASTING_MAX = 8, LASTING_WAYS_MAX = 64 };

/* What the other ways of a choice that the recorded answer allows, with all choices before it as they are, have in common
 * with the way that was taken. */
struct common {
	bool state; /* all lead to the same state */
	bool txn;   /* in all of them the transaction of the statement that was answered did the same */
};

/* No way of this choice is left. */
static void skip_ways(struct mvcc *m, size_t choice)
{
	m->search.choices[choice].tried = m->search.choices[choice].options - 1;
	m->search.choice_count = choice + 1;
}

/* Takes all other ways of the current event: those of its last choice, then those of the one before, with whatever is
 * chosen behind it ...  `first`: its first choice; `common`: by choice of the event. */
static void try_ways(struct mvcc *m, size_t first, uint32_t txn, struct common *common)
{
	size_t at = m->search.choice_count - first;
	uint64_t done = state_of_txn(m, txn), state, other;
	bool known = state_digest(m, AT_EVENT, &state);
	uint32_t ways = 0;

	for (size_t i = 0; i < at; i++)
		common[i] = (struct common){false, false};
	while (next_in_event(m, first)) {
		size_t changed = m->search.choice_count - 1 - first;

		while (at > changed)
			common[--at] = (struct common){known, true};
		if (++ways > LASTING_WAYS_MAX) {
			common[at] = (struct common){false, false};
			return;
		}
		if (!process_again(m))
			continue;
		common[at].txn = state_of_txn(m, txn) == done;
		common[at].state &= common[at].txn && state_digest(m, AT_EVENT, &other) && other == state;
		if (!common[at].txn)
			skip_ways(m, first + at);
	}
	while (at > 0)
		common[--at] = (struct common){known, true};
}

/* May the statement write what it read without locks?  At READ COMMITTED and below the source of INSERT ... SELECT and the
 * subqueries of an UPDATE are plain reads (read/visibility.c), and so are the queries of stored programs at any level. */
static bool may_write_a_view(const struct mvcc *m, uint32_t stmt)
{
	const struct plan *plan = m->runs[stmt].plan;
	uint32_t txn = m->schedule->stmts[stmt].txn;

	if (plan->effects)
		return true;
	return plan->writes && (plan->reads_by_query || (plan->insert && plan->stmt->u.insert->query)) &&
	       (txn == SCHEDULE_NONE || m->schedule->txns[txn].level <= LEVEL_READ_COMMITTED);
}

/* The same of the statement and of all that come after it in its transaction. */
static bool txn_may_write_a_view(const struct mvcc *m, uint32_t stmt)
{
	const struct schedule *s = m->schedule;

	for (uint32_t i = stmt; i != EXECUTION_NONE && s->stmts[i].txn == s->stmts[stmt].txn; i = s->stmts[i].in->next_in_session) {
		if (may_write_a_view(m, i))
			return true;
		if (s->stmts[i].txn == SCHEDULE_NONE)
			break;
	}
	return false;
}

/*
 * Can a transaction that tells the ways of the current event apart write what it read?  Then they make a difference to all
 * who read that, for ever.  Those that can tell them apart have a statement under way between the event and `until`.
 */
static bool ways_may_be_written(const struct mvcc *m, uint64_t until)
{
	const struct schedule *s = m->schedule;

	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		if (txn_may_write_a_view(m, m->search.in_flight[i]))
			return true;
	}
	if (s->events[m->search.event].kind == EVENT_ANSWERED && txn_may_write_a_view(m, s->events[m->search.event].index))
		return true;
	for (size_t i = m->search.event + 1; i < s->event_count && s->events[i].seq <= until; i++) {
		if (s->events[i].kind == EVENT_SENT && txn_may_write_a_view(m, s->events[i].index))
			return true;
	}
	return false;
}

/*
 * The event is explained.  Where it left choices that would stay open for ever, all other ways of the event are tried at
 * once.  Most of them contradict here and now, by a lock that is held or a count, or make no difference: then there is
 * nothing to choose.  In others the statement that was answered does the same before and after another transaction's
 * end: then only transactions that were there can tell the order.
 */
static void close_choices_without_effect(struct mvcc *m)
{
	struct search *s = &m->search;
	size_t first = first_choice_of(m, s->event), count = first_choice_of(m, s->event + 1) - first;
	/* What was chosen later, where the search has come here again. */
	size_t later_count = s->choice_count - first - count;
	struct choice kept[LASTING_MAX], *later;
	struct common common[LASTING_MAX];
	uint32_t txn = STORE_NONE;

	if (m->schedule->one_at_a_time || s->settled || !has_lasting(&s->choices[first], count, &txn) || count > LASTING_MAX)
		return;
	memcpy(kept, &s->choices[first], count * sizeof(*kept));
	later = mem_dup(&s->choices[first + count], later_count * sizeof(*later));
	s->choice_count = first + count;
	try_ways(m, first, txn, common);
	for (size_t i = 0; i < count; i++) {
		if (!is_lasting(&kept[i]))
			continue;
		kept[i].closed = common[i].state;
		if (common[i].txn && kept[i].order && kept[i].until != UINT64_MAX && !ways_may_be_written(m, kept[i].until)) {
			kept[i].scope = SCOPE_VIEWS;
			kept[i].any_early = true;
		}
	}
	s->choice_count = first;
	MEM_RESERVE(s->choices, first + count + later_count, s->choice_capacity);
	memcpy(&s->choices[first], kept, count * sizeof(*kept));
	if (later_count)
		memcpy(&s->choices[first + count], later, later_count * sizeof(*later));
	s->choice_count = first + count + later_count;
	mem_free(later);
	CHECK(process_again(m));
}

enum { RERUN_MAX = 1000 }; /* events */

/* While the search was looking for another way, lasting choices were not looked at: it goes on from the first of them. */
static bool look_again(struct mvcc *m)
{
	size_t i = m->search.choice_count;
	const struct choice *found = NULL;

	while (i-- > 0 && m->search.choices[i].event + RERUN_MAX > m->search.event) {
		const struct choice *p = &m->search.choices[i];

		if (p->event < m->search.event && is_lasting(p) && !p->looked_at)
			found = p;
	}
	if (!found || m->schedule->one_at_a_time)
		return false;
	go_back(m, found->event, &found->before);
	return true;
}

/* Is it an explanation that leaves nothing open and needs no documented fault?  Another order may be a better one. */
static bool explains_well(const struct mvcc *m)
{
	const struct schedule_event *e = &m->schedule->events[m->search.event];

	if (m->search.event == m->schedule->event_count)
		return true;

	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		const struct stmt_run *run = &m->runs[m->search.in_flight[i]];

		if (run->state == STMT_DONE && (run->verdict == STMT_UNDECIDED || run->verdict == STMT_UNSUPPORTED))
			return false;
	}
	for (size_t i = m->search.event_mark.notes; i < m->note_count; i++) {
		if (m->notes[i].kind != NOTE_CURRENT_WRITE && m->notes[i].kind != NOTE_CURRENT_SOURCE &&
			m->notes[i].kind != NOTE_OWN_WRITE_SHOWS)
			return false;
	}
	return e->kind != EVENT_ANSWERED ||
	       (m->runs[e->index].verdict != STMT_UNDECIDED && m->runs[e->index].verdict != STMT_UNSUPPORTED);
}

/* Executes the event; false: it contradicts, or something else should be tried first. */
static bool process_well(struct mvcc *m, const struct failure *f)
{
	return process(m) && (!f->any || f->phase != PHASE_EVENT || m->search.event != f->event || explains_well(m));
}

/* Asks the caller now and then: a step takes microseconds. */
static bool is_stopped(struct mvcc *m, uint64_t step)
{
	enum { ASKED_EVERY = 16 };

	if (m->options->goes_on && step % ASKED_EVERY == 0)
		m->search.stopped |= !m->options->goes_on(m->options->context, m->search.event, m->schedule->event_count);
	return m->search.stopped;
}

void solver_search(struct mvcc *m)
{
	struct failure failure = {0};
	uint64_t steps = 0;

	m->search.named = 1; /* 0 made the initial rows */
	for (m->search.event = 0; m->search.event <= m->schedule->event_count;) {
		if (is_stopped(m, steps++))
			break;
		begin_event(m, failure.any || m->search.settled);
		if (process_well(m, &failure)) {
			/* Past it: what was chosen explains it. */
			if (failure.any && m->search.event >= failure.event) {
			end_failure(m, &failure);
				if (look_again(m))
					continue;
			}
			if (!failure.any)
				close_choices_without_effect(m);
			m->search.event++;
			continue;
		}
		if (m->search.settled && m->search.event == m->schedule->event_count)
			break; /* no way leads to these final rows */
		/* Of what cannot be in any order no other is tried.  (Rows of a session that was not recorded are in none.) */
		if (!m->search.settled && !failure.any && !m->unrecorded_writers && m->search.event < m->schedule->event_count &&
			answer_is_impossible(m))
			m->search.settled = m->search.uncertain = true;
		if (m->search.settled) {
			accept_contradiction(m);
			end_failure(m, &failure);
			/* What was chosen before cannot be changed any more. */
			lose_points(m, m->search.choice_count);
			m->search.choice_count = 0;
			m->search.uncertain = false;
			m->search.event++;
			continue;
		}
		if (goes_on(m, &failure))
			continue;
		if (failure.phase < PHASE_ALL) {
			failure.phase++;
			failure.tried = 0;
			begin_all(m, &failure);
			take_way(m, &failure);
			continue;
		}
		/* Nothing explains it, or the budget is used up: to say what is wrong there. */
		m->search.uncertain = is_used_up(m, &failure) || m->search.choices_lost || failure.capped;
		m->search.settled = true;
		m->search.dead_ends = NULL;
		take_way(m, &failure);
	}
	map_release(&failure.seen);
	mem_free(failure.way);
}
