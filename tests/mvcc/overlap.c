/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "overlap.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum {
	STMTS_MAX = 64, /* sets of statements are words */
	STEP = 1024,    /* from one old moment to the next: room for answers that are moved */
};

static int by_begin(const void *a, const void *b)
{
	const struct execution_stmt *x = a, *y = b;

	return (x->record.begin_seq > y->record.begin_seq) - (x->record.begin_seq < y->record.begin_seq);
}

static int by_seq(const void *a, const void *b)
{
	const struct execution_txn *x = a, *y = b;

	return (x->record.seq > y->record.seq) - (x->record.seq < y->record.seq);
}

/* The statement that the record of a transaction tells of; NULL: none. */
static struct execution_stmt *stmt_of(const struct execution *e, const struct execution_txn *txn)
{
	for (size_t i = 0; txn->record.number && i < e->stmt_count; i++) {
		if (e->stmts[i].session == txn->session && e->stmts[i].record.number == txn->record.number)
			return &e->stmts[i];
	}
	return NULL;
}

/* After moments have changed: the records of transactions come with the answers that they tell of. */
static void settle(struct execution *e)
{
	for (size_t i = 0; i < e->txn_count; i++) {
		const struct execution_stmt *stmt = stmt_of(e, &e->txns[i]);

		if (stmt)
			e->txns[i].record.seq = stmt->record.seq + 1 + i % (STEP / 8);
	}
	qsort(e->txns, e->txn_count, sizeof(*e->txns), by_seq);
}

bool overlap_free(struct execution *e)
{
	uint64_t last = 0;

	if (!e->scenario.ptr || e->stmt_count < 2 || e->stmt_count > STMTS_MAX || e->txn_count > STEP / 8)
		return false;
	for (size_t i = 0; i < e->stmt_count; i++) {
		struct record_stmt *r = &e->stmts[i].record;

		r->begin_seq *= STEP;
		r->seq *= STEP;
		r->blocked_ns = 0; /* a proxy does not know */
		if (r->flags & STMT_NO_REPLY || (i && r->begin_seq == e->stmts[i - 1].record.begin_seq))
			return false;
		last = r->seq > last ? r->seq : last;
	}
	for (size_t i = 0; i < e->session_count; i++) {
		struct execution_session *s = &e->sessions[i];

		if (s->ended_seq || s->released_seq)
			return false;
		/* No transaction ends with it (see below). */
		s->closed_seq = s->closed_seq ? last + STEP : 0;
	}
	for (size_t i = 0; i < e->txn_count; i++) {
		struct record_txn *r = &e->txns[i].record;

		r->begin_seq *= STEP;
		r->seq *= STEP;
		if (!stmt_of(e, &e->txns[i]) && r->seq < last)
			return false;
	}
	e->scenario = SPAN_NONE;
	settle(e);
	return true;
}

void overlap_widen(struct execution *e, uint64_t *state)
{
	uint64_t often = 1 + next_random(state) % 4;

	for (size_t i = 0; i < e->stmt_count; i++) {
		struct execution_stmt *stmt = &e->stmts[i];
		uint32_t next = stmt->next_in_session, end = next == EXECUTION_NONE ? (uint32_t)e->stmt_count : next;
		uint64_t seq;

		if (i + 1 >= end || next_random(state) % 4 >= often)
			continue;
		/* After the sending of one that comes before the next of its session. */
		seq = e->stmts[i + 1 + next_random(state) % (end - i - 1)].record.begin_seq + STEP / 8 + i;
		if (seq > stmt->record.seq)
			stmt->record.seq = seq;
	}
	settle(e);
}

/* ---- all orders ---- */

struct overlap_orders {
	uint32_t count;
	uint64_t before[STMTS_MAX]; /* those that must come before it, as bits */
	uint32_t order[STMTS_MAX];
	bool begun;
	struct execution_stmt *stmts; /* as they were */
	struct execution_txn *txns;
};

struct overlap_orders *overlap_orders(const struct execution *e)
{
	struct overlap_orders *o = mem_zero(1, sizeof(*o));

	o->count = (uint32_t)e->stmt_count;
	o->stmts = mem_zero(e->stmt_count, sizeof(*o->stmts));
	o->txns = mem_zero(e->txn_count + 1, sizeof(*o->txns));
	memcpy(o->stmts, e->stmts, e->stmt_count * sizeof(*o->stmts));
	if (e->txn_count)
		memcpy(o->txns, e->txns, e->txn_count * sizeof(*o->txns));
	for (uint32_t i = 0; i < o->count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (o->stmts[k].session == o->stmts[i].session ||
				o->stmts[k].record.seq < o->stmts[i].record.begin_seq)
				o->before[i] |= (uint64_t)1 << k;
		}
	}
	return o;
}

void overlap_orders_free(struct overlap_orders *o)
{
	free(o->stmts);
	free(o->txns);
	free(o);
}

static void link_sessions(struct execution *e)
{
	for (size_t i = 0; i < e->session_count; i++)
		e->sessions[i].first_stmt = e->sessions[i].last_stmt = EXECUTION_NONE;
	for (uint32_t i = (uint32_t)e->stmt_count; i-- > 0;) {
		struct execution_session *s = &e->sessions[e->stmts[i].session];

		e->stmts[i].next_in_session = s->first_stmt;
		s->first_stmt = i;
		if (s->last_stmt == EXECUTION_NONE)
			s->last_stmt = i;
	}
}

void overlap_restore(struct overlap_orders *o, struct execution *e)
{
	memcpy(e->stmts, o->stmts, o->count * sizeof(*e->stmts));
	if (e->txn_count)
		memcpy(e->txns, o->txns, e->txn_count * sizeof(*e->txns));
	link_sessions(e);
}

/* Sends them one after the other, each when the one before is answered. */
static void put(struct overlap_orders *o, struct execution *e)
{
	uint64_t shift = o->stmts[0].record.begin_seq;

	overlap_restore(o, e);
	for (uint32_t k = 0; k < o->count; k++) {
		struct record_stmt *r = &e->stmts[o->order[k]].record;
		uint64_t was = r->begin_seq;

		r->begin_seq = shift + (uint64_t)k * STEP;
		r->seq = r->begin_seq + STEP / 8;
		for (size_t i = 0; i < e->txn_count; i++) {
			if (o->txns[i].record.begin_seq == was)
				e->txns[i].record.begin_seq = r->begin_seq;
		}
	}
	settle(e);
	qsort(e->stmts, o->count, sizeof(*e->stmts), by_begin);
	link_sessions(e);
}

/* Fills the order from `at` on with the first ones that go, after those in `done`. */
static void fill(struct overlap_orders *o, uint32_t at, uint64_t done)
{
	for (; at < o->count; at++) {
		uint32_t i = 0;

		while (done >> i & 1 || o->before[i] & ~done)
			i++;
		o->order[at] = i;
		done |= (uint64_t)1 << i;
	}
}

bool overlap_next(struct overlap_orders *o, struct execution *e)
{
	uint64_t done = UINT64_MAX >> (64 - o->count);

	if (!o->begun) {
		o->begun = true;
		fill(o, 0, 0);
		put(o, e);
		return true;
	}
	for (uint32_t at = o->count; at-- > 0;) {
		done &= ~((uint64_t)1 << o->order[at]);
		for (uint32_t i = o->order[at] + 1; i < o->count; i++) {
			if (done >> i & 1 || o->before[i] & ~done)
				continue;
			o->order[at] = i;
			fill(o, at + 1, done | (uint64_t)1 << i);
			put(o, e);
			return true;
		}
	}
	return false;
}

void overlap_any(struct overlap_orders *o, struct execution *e, uint64_t *state)
{
	uint64_t done = 0;

	for (uint32_t at = 0; at < o->count; at++) {
		uint32_t i = (uint32_t)(next_random(state) % o->count);

		while (done >> i & 1 || o->before[i] & ~done)
			i = (i + 1) % o->count;
		o->order[at] = i;
		done |= (uint64_t)1 << i;
	}
	put(o, e);
}
