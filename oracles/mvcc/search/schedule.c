/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/search/schedule.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/sort.h"
#include "server/commands.h"
#include "server/errors.h"
#include "server/flavour.h"

struct maker {
	struct schedule *s;
	struct map txns;
	struct map stmts; /* (session, number) to index */
	struct schedule_event *txn_ends;
	size_t txn_end_count, txn_end_capacity;
};

static uint64_t stmt_key(uint32_t session, uint32_t number)
{
	return (uint64_t)session << 32 | number;
}

static uint32_t txn_at(struct maker *maker, uint64_t number)
{
	struct schedule *s = maker->s;
	uint32_t *slot;

	if (!number)
		return SCHEDULE_NONE;
	slot = map_at(&maker->txns, number);
	if (*slot == MAP_NONE) {
		MEM_RESERVE(s->txns, s->txn_count + 1, s->txn_capacity);
		*slot = (uint32_t)s->txn_count++;
		s->txns[*slot] = (struct schedule_txn){
			.number = number, .goes_on = SCHEDULE_NONE, .first_stmt = EXECUTION_NONE};
	}
	return *slot;
}

/* MySQL gives all of them six decimals. */
static bool has_moments(const struct schedule *s, const struct execution_stmt *in)
{
	bool mysql = server_flavour_named(s->execution->server.flavour) == SERVER_MYSQL;
	struct mp mp = mp_over(in->record.params);
	uint32_t left = in->record.params.ptr ? mp_array(&mp) : 0;
	struct value value;

	for (; left && value_read(&mp, &value); left--) {
		if ((value.type == VALUE_DATETIME || value.type == VALUE_TIME) &&
			(mysql || (value.bytes.len && memchr(value.bytes.ptr, '.', value.bytes.len))))
			return true;
	}
	return false;
}

/* With the values of its parameters; where those are not known, with question marks, which cannot be executed. */
static struct span text_of(struct schedule *s, const struct execution_stmt *in)
{
	enum execution_moments moments =
		server_flavour_named(s->execution->server.flavour) == SERVER_MYSQL ? MOMENTS_MICROS
										   : MOMENTS_TYPED;
	struct buf text = BUF_INIT;
	struct span out = in->sql;

	/* Of one that failed the sets before the one that did may be done, or not. */
	if (in->record.params.ptr && (in->record.command == CMD_STMT_BULK_EXECUTE
						     ? !in->record.error && execution_bulk_sql(in, moments, &text)
						     : execution_sql(in, moments, &text, NULL)))
		out = arena_copy(&s->arena, buf_span(&text));
	buf_release(&text);
	return out;
}

static void take_stmt(struct maker *maker, uint32_t index)
{
	struct schedule *s = maker->s;
	const struct execution_stmt *in = &s->execution->stmts[index];

	map_put(&maker->stmts, stmt_key(in->record.session, in->record.number), index);
	s->stmts[index] = (struct schedule_stmt){.in = in,
		.txn = txn_at(maker, in->record.txn),
		.text = text_of(s, in),
		.moments = has_moments(s, in)};
	if (s->stmts[index].txn != SCHEDULE_NONE && s->txns[s->stmts[index].txn].first_stmt == EXECUTION_NONE)
		s->txns[s->stmts[index].txn].first_stmt = index;
}

/* A statement has few events: the list is walked. */
static void hang_event(struct schedule_stmt *stmt, struct schedule_txn_event *event)
{
	struct schedule_txn_event **end = &stmt->txn_events;

	while (*end)
		end = &(*end)->next;
	*end = event;
}

/* Whether the transaction ended well is not known, nor when: at any time since its last statement was sent, to
 * which no client got an answer. */
static uint32_t unanswered_end(const struct schedule *s, const struct execution_txn *in)
{
	uint32_t last = s->execution->sessions[in->session].last_stmt;

	if (in->record.event != TXN_END || in->record.outcome != TXN_UNKNOWN || last == EXECUTION_NONE ||
		s->stmts[last].in->record.txn != in->record.txn ||
		!(s->stmts[last].in->record.flags & STMT_NO_REPLY))
		return MAP_NONE;
	return last;
}

static void take_txn(struct maker *maker, const struct execution_txn *in)
{
	struct schedule *s = maker->s;
	const struct record_txn *r = &in->record;
	uint32_t index = txn_at(maker, r->txn), stmt;
	struct schedule_txn_event *event;
	struct schedule_txn *txn;

	if (index == SCHEDULE_NONE)
		return;
	txn = &s->txns[index];
	txn->session = in->session;
	txn->level = r->level;
	txn->begin_seq = r->begin_seq;
	txn->snapshot |= r->consistent_snapshot;
	txn->read_only |= r->read_only;
	if (r->event == TXN_END) {
		txn->ended = true;
		txn->outcome = r->outcome;
		txn->end_seq = r->seq;
		txn->by_failed = span_eq_str(
			r->reason, "implicit commit of a statement that failed");
		txn->autocommit = r->autocommit;
		txn->mixed = r->mixed;
	}
	stmt = r->number ? map_get(&maker->stmts, stmt_key(r->session, r->number))
			 : unanswered_end(s, in);
	if (stmt == MAP_NONE) {
		if (r->event != TXN_END)
			return;
		txn->disconnected = r->outcome == TXN_ABORTED;
		txn->end_at = r->at;
		MEM_RESERVE(maker->txn_ends, maker->txn_end_count + 1, maker->txn_end_capacity);
		maker->txn_ends[maker->txn_end_count++] =
			(struct schedule_event){r->seq, index, EVENT_TXN};
		return;
	}
	event = arena_zero(&s->arena, sizeof(*event));
	*event = (struct schedule_txn_event){index, r->event, r->name, NULL};
	hang_event(&s->stmts[stmt], event);
}

/* Error 1467 may mean that the transaction was rolled back (a deadlock about AUTO_INCREMENT).  The answer to what comes next
 * tells, but not that to COMMIT. */
static void doubt_commits(struct schedule *s, const struct execution_session *session)
{
	uint32_t doubted = SCHEDULE_NONE;

	for (uint32_t i = session->first_stmt; i != EXECUTION_NONE; i = s->stmts[i].in->next_in_session) {
		const struct schedule_txn_event *e = s->stmts[i].txn_events;

		while (e && !(e->txn == doubted && e->event == TXN_END))
			e = e->next;
		if (e && s->txns[doubted].outcome == TXN_COMMITTED)
			s->txns[doubted].outcome = TXN_UNKNOWN;
		doubted = s->stmts[i].in->record.error == ER_AUTOINC_READ_FAILED ? s->stmts[i].txn
										 : SCHEDULE_NONE;
	}
}

/* A statement that failed, and the next one of its session where that may go on with its
 * transaction. */
static void find_going_on(struct schedule *s, const struct execution_session *session)
{
	uint32_t failed = SCHEDULE_NONE; /* the transaction of the one before */
	bool autocommit = true;

	for (uint32_t i = session->first_stmt; i != EXECUTION_NONE;
		i = s->stmts[i].in->next_in_session) {
		const struct record_stmt *r = &s->stmts[i].in->record;
		uint32_t txn = s->stmts[i].txn;
		bool fails = txn != SCHEDULE_NONE && s->txns[txn].autocommit && r->error;

		if (!r->error && !(r->flags & STMT_NO_REPLY))
			autocommit = r->status & STATUS_AUTOCOMMIT;
		if (txn == SCHEDULE_NONE)
			continue;
		if (failed != SCHEDULE_NONE &&
			(fails ? !autocommit
			       : !s->txns[txn].autocommit && s->txns[failed].begin_seq >=
								     s->txns[txn].begin_seq)) {
			s->txns[failed].goes_on = txn;
			s->txns[txn].after_failed = true;
		}
		failed = fails ? txn : SCHEDULE_NONE;
	}
}

static int by_seq(const void *a, const void *b)
{
	const struct schedule_event *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

static void make_events(struct maker *maker)
{
	struct schedule *s = maker->s;
	size_t n = 0;

	s->event_count = 2 * s->stmt_count + maker->txn_end_count;
	s->events = mem_zero(s->event_count + 1, sizeof(*s->events));
	for (uint32_t i = 0; i < s->stmt_count; i++) {
		const struct record_stmt *r = &s->stmts[i].in->record;

		s->events[n++] = (struct schedule_event){r->begin_seq, i, EVENT_SENT};
		s->events[n++] = (struct schedule_event){r->seq, i, EVENT_ANSWERED};
	}
	for (size_t i = 0; i < maker->txn_end_count; i++)
		s->events[n++] = maker->txn_ends[i];
	sort_large(s->events, s->event_count, sizeof(*s->events), by_seq);
}

void schedule_init(struct schedule *s, const struct execution *execution)
{
	struct maker maker = {.s = s};

	*s = (struct schedule){.execution = execution,
		.arena = ARENA_INIT,
		.stmt_count = execution->stmt_count,
		.one_at_a_time = execution->scenario.ptr != NULL};
	s->stmts = mem_zero(s->stmt_count + 1, sizeof(*s->stmts));
	for (uint32_t i = 0; i < s->stmt_count; i++)
		take_stmt(&maker, i);
	for (size_t i = 0; i < execution->txn_count; i++)
		take_txn(&maker, &execution->txns[i]);
	for (size_t i = 0; i < s->txn_count; i++)
		s->txns[i].disconnected |= !s->txns[i].ended;
	for (size_t i = 0; i < execution->session_count; i++) {
		find_going_on(s, &execution->sessions[i]);
		doubt_commits(s, &execution->sessions[i]);
	}
	make_events(&maker);
	map_release(&maker.txns);
	map_release(&maker.stmts);
	mem_free(maker.txn_ends);
}

void schedule_release(struct schedule *s)
{
	mem_free(s->txns);
	mem_free(s->stmts);
	mem_free(s->events);
	arena_release(&s->arena);
}
