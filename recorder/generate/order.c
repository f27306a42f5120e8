/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Orders of the statements of several sessions.  `overlap` keeps what makes a conflict: no transaction ends before the
 * others have sent their half of each conflict that they have with it.  Beginnings that stand side by side are sent in the
 * order of their sessions, since other orders of these are the same schedule.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "generate/generate_internal.h"

struct queue {
	const struct step **steps;
	size_t count, next;
};

struct merge {
	struct queue *queues; /* of sessions */
	uint32_t count;
	unsigned *left; /* of each edge: halves that were not sent */
	const struct plan *plan;
};

static bool is_sent(const struct merge *m, const struct step *step)
{
	for (uint32_t s = 0; s < m->count; s++)
		for (size_t i = 0; i < m->queues[s].next; i++)
			if (m->queues[s].steps[i] == step)
				return true;
	return false;
}

/* The end of a transaction one of whose conflicts still wants the other's half. */
static bool ends_too_early(const struct merge *m, uint32_t session)
{
	const struct queue *q = &m->queues[session];
	const struct step *end = q->steps[q->next];

	if (!end->ends)
		return false;
	for (uint32_t t = 0; t < m->plan->txn_count; t++) {
		const struct txn *txn = &m->plan->txns[t];

		if (end < txn->steps || end >= txn->steps + txn->count)
			continue;
		for (size_t i = 0; i < txn->count; i++) {
			uint32_t edge = txn->steps[i].edge;

			if (edge != UINT32_MAX && m->left[edge] && is_sent(m, &txn->steps[i]))
				return true;
		}
	}
	return false;
}

/* A session with steps left; those that should wait only where there is no other. */
static uint32_t choose_session(struct gen *g, const struct merge *m, enum order_word kind)
{
	uint64_t total = 0, at;
	bool strict = kind == ORDER_OVERLAP;

	for (unsigned pass = 0; pass < 2 && !total; pass++) {
		strict = strict && pass == 0;
		for (uint32_t s = 0; s < m->count; s++) {
			const struct queue *q = &m->queues[s];

			if (q->next < q->count && !(strict && ends_too_early(m, s)))
				total += kind == ORDER_FAIR ? 1 : q->count - q->next;
		}
	}
	at = below(g, total);
	for (uint32_t s = 0;; s++) {
		const struct queue *q = &m->queues[s];
		uint64_t weight = kind == ORDER_FAIR ? 1 : q->count - q->next;

		if (q->next == q->count || (strict && ends_too_early(m, s)))
			continue;
		if (at < weight)
			return s;
		at -= weight;
	}
}

static void send(struct merge *m, uint32_t session, struct slot *out, size_t *count)
{
	struct queue *q = &m->queues[session];
	const struct step *step = q->steps[q->next++];

	if (step->edge != UINT32_MAX)
		m->left[step->edge]--;
	out[(*count)++] = (struct slot){session, step};
}

static void fill_queues(struct merge *m, size_t *total)
{
	*total = 0;
	for (uint32_t t = 0; t < m->plan->txn_count; t++) {
		const struct txn *txn = &m->plan->txns[t];
		struct queue *q = &m->queues[txn->session];

		q->steps = mem_realloc(q->steps, q->count + txn->count + 1, sizeof(const struct step *));
		for (size_t i = 0; i < txn->count; i++)
			q->steps[q->count++] = &txn->steps[i];
		*total += txn->count;
	}
}

static bool is_begin(const struct slot *slot)
{
	return strcmp(slot->step->sql, "begin") == 0;
}

/* Beginnings side by side: by session. */
static void sort_begins(struct slot *slots, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t k = i; k && is_begin(&slots[k]) && is_begin(&slots[k - 1]) &&
				   slots[k].session < slots[k - 1].session; k--) {
			struct slot other = slots[k];

			slots[k] = slots[k - 1];
			slots[k - 1] = other;
		}
}

struct slot *make_order(struct gen *g, const struct plan *plan, enum order_word kind, size_t *count)
{
	struct merge m = {.plan = plan, .count = plan->session_count};
	struct slot *out;
	size_t total;

	m.queues = mem_zero(m.count, sizeof(*m.queues));
	m.left = mem_zero(plan->edge_count + 1, sizeof(*m.left));
	for (uint32_t i = 0; i < plan->edge_count; i++)
		m.left[i] = 2;
	fill_queues(&m, &total);
	out = arena_alloc(&g->arena, (total + 1) * sizeof(*out));
	*count = 0;
	while (*count < total) {
		uint32_t session = choose_session(g, &m, kind);
		uint64_t run = kind == ORDER_FAIR ? 1 : (const uint64_t[]){1, 1, 2, 3}[below(g, 4)];

		send(&m, session, out, count);
		/* Runs of one session bring transactions side by side more often than fair turns do. */
		while (--run && m.queues[session].next < m.queues[session].count &&
			!(kind == ORDER_OVERLAP && ends_too_early(&m, session)))
			send(&m, session, out, count);
	}
	sort_begins(out, total);
	for (uint32_t s = 0; s < m.count; s++)
		mem_free(m.queues[s].steps);
	mem_free(m.queues);
	mem_free(m.left);
	return out;
}
