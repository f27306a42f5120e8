/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Session guarantees as a question to the solver: is there a version order of every key, and a
 * choice of writers, that keeps the guarantee?  Of one key at a time, so nodes are versions: the
 * writers of each register.  Positions in lists are known and compared at once.
 *
 * Reads that no final version explains say nothing here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "values/guarantees.h"
#include "values/model_internal.h"

enum { PAIRS_MAX = 20 * 1000 * 1000 };

/* Something a session did with a key. */
struct event {
	uint32_t key, op, txn;
	uint32_t turn; /* of the transaction in its session */
	uint32_t read; /* in m->reads; VALUES_NONE: a write, or a list */
	uint32_t end;  /* lists: how many elements of others were read; place of the append */
	bool write;
};

struct events {
	struct event *at;
	size_t count, capacity;
	uint64_t pairs;
};

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->turn != y->turn)
		return x->turn < y->turn ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

static void add_event(struct events *e, struct event event)
{
	MEM_RESERVE(e->at, e->count + 1, e->capacity);
	e->at[e->count++] = event;
}

static void session_events(struct model *m, uint32_t session, struct events *e)
{
	const struct values *v = m->v;
	const uint32_t *txns = v->session_txns + v->sessions[session].first_txn;

	e->count = 0;
	for (uint32_t i = 0; i < v->sessions[session].txn_count; i++) {
		uint32_t t = txns[i];

		if (!inside(m, t))
			continue;
		for (uint32_t r = m->reads_of[t]; r < m->reads_of[t + 1]; r++)
			add_event(e,
				(struct event){m->reads[r].key, m->reads[r].op, t, i, r, 0, false});
		for (uint32_t o = v->txns[t].first_op;
			o < v->txns[t].first_op + v->txns[t].op_count; o++) {
			const struct values_op *op = &v->ops[o];
			struct event event = {
				op->key, o, t, i, VALUES_NONE, 0, values_is_write(op)};

			if (op->kind == VALUES_APPEND) {
				event.end = guarantee_append_place(m->f, o);
				m->incomplete |= v->items[op->value].write_count > 1;
			} else if (event.write) {
				if (!(m->f->notes[o] & OP_FINAL) || is_list(v, op->key))
					continue;
			} else if (guarantee_read_counts(m->f, o)) {
				event.end = guarantee_read_end(m->f, o);
			} else {
				continue;
			}
			add_event(e, event);
		}
	}
	if (e->count)
		qsort(e->at, e->count, sizeof(*e->at), compare_events);
}

/* Both transactions are to blame, whatever is chosen. */
static void contradiction(struct model *m, uint32_t a, uint32_t b)
{
	uint32_t literal = 2 * solver_variable(m->solver, true);

	solver_clause(m->solver, (uint32_t[]){literal, m->counted[a] ^ 1}, 2, a);
	solver_clause(m->solver, (uint32_t[]){literal ^ 1, m->counted[b] ^ 1}, 2, b);
}

/* One of the versions an event may be about: the own one, or a candidate of the read. */
static struct candidate version(const struct model *m, const struct event *e, uint32_t i)
{
	return e->write ? (struct candidate){e->txn, TRUE_LITERAL}
			: m->candidates[m->reads[e->read].first + i];
}

static uint32_t version_count(const struct model *m, const struct event *e)
{
	return e->write ? 1 : m->reads[e->read].count;
}

/* The version of `a` is that of `b` or before it. */
static void not_behind(struct model *m, const struct event *a, const struct event *b)
{
	for (uint32_t x = 0; x < version_count(m, a); x++) {
		for (uint32_t y = 0; y < version_count(m, b); y++) {
			struct candidate from = version(m, a, x), to = version(m, b, y);
			uint32_t all[4] = {
				from.literal, to.literal, m->counted[a->txn], m->counted[b->txn]};
			uint32_t literals[4], count = 0;

			/* What it read is what it wrote itself, later. */
			bool future = from.txn == to.txn && !a->write && b->write;

			if ((from.txn == to.txn && !future) || from.txn == INITIAL_STATE)
				continue;
			if (to.txn == INITIAL_STATE || future) {
				model_forbid(m, all, 4, b->txn);
				continue;
			}
			for (int i = 0; i < 4; i++) {
				if (all[i] != TRUE_LITERAL)
					literals[count++] = all[i];
			}
			solver_edge(m->solver,
				m->writer_head[a->key] + model_writer_place(m, a->key, from.txn),
				m->writer_head[a->key] + model_writer_place(m, a->key, to.txn),
				SOLVER_DEPENDENCY, 0, literals, count);
		}
	}
}

/* a comes before b in the session: what does the guarantee ask of the two? */
static bool concerns(const struct model *m, const struct event *a, const struct event *b)
{
	bool same = a->txn == b->txn;

	switch (m->level) {
	case MODEL_RYW:
		return a->write && !b->write && !same;
	case MODEL_MR:
		return !a->write && !b->write;
	case MODEL_MW:
		return a->write && b->write && !same;
	case MODEL_WFR:
		return !a->write && b->write;
	case MODEL_PRAM:
		return (a->write || !b->write) && (!a->write || !same);
	default:
		return false;
	}
}

static void relate(struct model *m, const struct event *a, const struct event *b)
{
	if (!is_list(m->v, a->key)) {
		not_behind(m, a, b);
	} else if (a->write ? (b->write ? a->end > b->end : a->end >= b->end) : a->end > b->end) {
		contradiction(m, a->txn, b->txn);
	}
}

void model_guarantees(struct model *m)
{
	struct events e = {0};

	for (uint32_t s = 0; s < m->v->session_count && !m->incomplete; s++) {
		session_events(m, s, &e);
		for (size_t b = 0; b < e.count; b++) {
			for (size_t a = b; a-- > 0 && e.at[a].key == e.at[b].key;) {
				if (++e.pairs > PAIRS_MAX * m->f->scale) {
					m->incomplete = true;
					break;
				}
				if (concerns(m, &e.at[a], &e.at[b]))
					relate(m, &e.at[a], &e.at[b]);
			}
		}
	}
	mem_free(e.at);
}
