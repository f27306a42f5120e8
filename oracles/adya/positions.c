/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/positions.h"

#include <stdlib.h>

#include "base/mem.h"
#include "common/graph/graph.h"

/* ---- intervals ---- */

/* A transaction commits after its last statement was sent, which is the COMMIT where there is one. */
static void find_commits(struct positions *p, const uint32_t *txn_of)
{
	const struct history *h = p->history;
	uint32_t *last = mem_zero(h->txn_count, sizeof(*last));

	for (uint32_t i = 0; i < h->stmt_count; i++) {
		uint32_t txn = h->stmts[i].txn;

		if (txn != HISTORY_NONE && h->stmts[i].begin_seq > last[txn])
			last[txn] = h->stmts[i].begin_seq;
	}
	for (uint32_t node = 0; node < p->txn_count; node++) {
		const struct history_txn *t = &h->txns[txn_of[node]];

		p->commit_begin[node] = last[txn_of[node]];
		p->commit_end[node] = t->outcome == TXN_COMMITTED ? t->end_seq : HISTORY_NONE;
	}
	mem_free(last);
}

/* InnoDB takes the snapshot at the first consistent read (manual, "Consistent Nonlocking Reads"), or at
 * START TRANSACTION WITH CONSISTENT SNAPSHOT, which was answered before the first operation was sent.
 * A statement without a probe may have been that read, so the interval begins with the transaction. */
static void find_snapshots(struct positions *p, const uint32_t *txn_of)
{
	const struct history *h = p->history;

	for (uint32_t node = 0; node < p->txn_count; node++) {
		const struct history_txn *t = &h->txns[txn_of[node]];
		bool early = t->flags & HISTORY_TXN_SNAPSHOT;

		p->snapshot_begin[node] = t->flags & HISTORY_TXN_NO_BEGIN ? 0 : t->begin_seq;
		p->snapshot_end[node] = HISTORY_NONE;
		for (uint32_t i = t->first_op; i < t->first_op + t->op_count; i++) {
			const struct history_op *op = &h->ops[i];

			if (op->stmt == HISTORY_NONE ||
				(!early && (op->kind == HISTORY_WRITE || !view_is_snapshot(t, op->read_kind))))
				continue;
			p->snapshot_end[node] = early ? h->stmts[op->stmt].begin_seq : h->stmts[op->stmt].end_seq;
			break;
		}
	}
}

void positions_init(
	struct positions *p, const struct history *history, const uint32_t *txn_of, uint32_t txn_count)
{
	uint32_t *all = mem_realloc(NULL, 4 * ((size_t)txn_count + 1), sizeof(*all));
	size_t step = (size_t)txn_count + 1;

	*p = (struct positions){.history = history,
		.txn_count = txn_count,
		.commit_begin = all,
		.commit_end = all + step,
		.snapshot_begin = all + 2 * step,
		.snapshot_end = all + 3 * step};
	find_commits(p, txn_of);
	find_snapshots(p, txn_of);
}

void positions_release(struct positions *p)
{
	mem_free(p->commit_begin);
	mem_free(p->from);
	mem_free(p->to);
	mem_free(p->key);
	mem_free(p->moved);
	mem_free(p->contradicts);
	*p = (struct positions){0};
}

/* ---- constraints ---- */

static uint32_t place_count(const struct positions *p)
{
	return 2 * p->txn_count + p->history->stmt_count;
}

uint32_t positions_begin(const struct positions *p, uint32_t place)
{
	if (place < p->txn_count)
		return p->commit_begin[place];
	if (place < 2 * p->txn_count)
		return p->snapshot_begin[place - p->txn_count];
	return p->history->stmts[place - 2 * p->txn_count].begin_seq;
}

uint32_t positions_end(const struct positions *p, uint32_t place)
{
	if (place < p->txn_count)
		return p->commit_end[place];
	if (place < 2 * p->txn_count)
		return p->snapshot_end[place - p->txn_count];
	return p->history->stmts[place - 2 * p->txn_count].end_seq;
}

/* Where the intervals already say so, nothing is kept. */
static void add(struct positions *p, uint32_t from, uint32_t to)
{
	if (positions_end(p, from) < positions_begin(p, to))
		return;
	MEM_RESERVE(p->from, p->count + 1, p->from_capacity);
	MEM_RESERVE(p->to, p->count + 1, p->to_capacity);
	p->from[p->count] = from;
	p->to[p->count++] = to;
}

void positions_seen(struct positions *p, uint32_t node, uint32_t view)
{
	add(p, place_of_commit(node), view);
}

void positions_missed(struct positions *p, uint32_t node, uint32_t view)
{
	add(p, view, place_of_commit(node));
}

void positions_follow(struct positions *p, uint32_t before, uint32_t after)
{
	add(p, place_of_commit(before), place_of_commit(after));
}

/* ---- settling ---- */

/* Places that constraints name, sorted, each once. */
static uint32_t *find_constrained(const struct positions *p, uint32_t *number, uint32_t *count)
{
	uint32_t *places = mem_realloc(NULL, 2 * p->count + 1, sizeof(*places));

	*count = 0;
	for (size_t i = 0; i < p->count; i++) {
		const uint32_t ends[2] = {p->from[i], p->to[i]};

		for (int k = 0; k < 2; k++) {
			if (number[ends[k]])
				continue;
			places[(*count)++] = ends[k];
			number[ends[k]] = *count;
		}
	}
	return places;
}

/* Nodes by rank, those that nothing leads out of first. */
static uint32_t *sort_by_rank(const uint32_t *rank, uint32_t count)
{
	uint32_t *head = mem_zero((size_t)count + 2, sizeof(*head));
	uint32_t *sorted = mem_realloc(NULL, (size_t)count + 1, sizeof(*sorted));

	for (uint32_t i = 0; i < count; i++)
		head[rank[i] + 1]++;
	for (uint32_t r = 0; r < count; r++)
		head[r + 1] += head[r];
	for (uint32_t i = 0; i < count; i++)
		sorted[head[rank[i]]++] = i;
	mem_free(head);
	return sorted;
}

/* The latest moment of each: its own end, and no later than what must follow it.  Two passes, as places
 * of one rank (constraints that contradict each other) lead to each other. */
static void move_back(const struct graph *g, const uint32_t *sorted, uint32_t *latest)
{
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < g->node_count; i++) {
			uint32_t v = sorted[i];

			for (uint32_t e = g->head[v]; e < g->head[v + 1]; e++) {
				if (latest[g->to[e]] < latest[v])
					latest[v] = latest[g->to[e]];
			}
		}
	}
}

/* What comes before its own interval begins got there by what must follow it: each place on the way from there to the
 * one whose end it is takes part in the contradiction.  Two passes, as in move_back(). */
static void note_contradictions(struct positions *p, const struct graph *g, const uint32_t *sorted,
	const uint32_t *constrained, const uint32_t *latest)
{
	mem_free(p->contradicts);
	p->contradicts = NULL;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = g->node_count; i-- > 0;) {
			uint32_t v = sorted[i];

			if (pass == 0 && latest[v] < positions_begin(p, constrained[v])) {
				if (!p->contradicts)
					p->contradicts = mem_zero(place_count(p), sizeof(*p->contradicts));
				p->contradicts[constrained[v]] = true;
			}
			if (!positions_contradict(p, constrained[v]))
				continue;
			for (uint32_t e = g->head[v]; e < g->head[v + 1]; e++) {
				if (latest[g->to[e]] == latest[v])
					p->contradicts[constrained[g->to[e]]] = true;
			}
		}
	}
}

/* Of places with one moment, the one of the higher rank comes first: edges never lead to a higher one. */
static uint64_t key_of(uint32_t moment, uint32_t rank)
{
	return (uint64_t)moment << 32 | (UINT32_MAX - rank);
}

/* Of constrained places, which alone have other keys than what their intervals say. */
static void set_keys(struct positions *p, const uint32_t *constrained, uint32_t count, const uint32_t *latest,
	const uint32_t *rank, bool again)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t place = constrained[i];
		uint64_t key = key_of(latest[i], rank[i]);

		if (again && key != p->key[place]) {
			MEM_RESERVE(p->moved, p->moved_count + 1, p->moved_capacity);
			p->moved[p->moved_count++] = (struct place_moved){place, p->key[place]};
		}
		p->key[place] = key;
	}
}

void positions_forget(struct positions *p)
{
	mem_free(p->key);
	mem_free(p->contradicts);
	p->key = NULL;
	p->contradicts = NULL;
}

void positions_settle(struct positions *p)
{
	uint32_t places = place_count(p), count;
	uint32_t *number = mem_zero(places, sizeof(*number)); /* from 1 */
	uint32_t *constrained = find_constrained(p, number, &count);
	uint32_t *rank = mem_realloc(NULL, (size_t)count + 1, sizeof(*rank));
	uint32_t *latest = mem_realloc(NULL, (size_t)count + 1, sizeof(*latest));
	struct graph_builder builder;
	struct graph graph;
	uint32_t *sorted;

	graph_builder_init(&builder, count);
	for (size_t i = 0; i < p->count; i++)
		graph_builder_add(&builder, number[p->from[i]] - 1, number[p->to[i]] - 1, GRAPH_WW, 0);
	graph_build(&graph, &builder);
	graph_ranks(&graph, GRAPH_MASK_WW, rank);
	sorted = sort_by_rank(rank, count);
	for (uint32_t i = 0; i < count; i++)
		latest[i] = positions_end(p, constrained[i]);
	move_back(&graph, sorted, latest);
	note_contradictions(p, &graph, sorted, constrained, latest);
	p->moved_count = 0;
	if (!p->key) {
		p->key = mem_realloc(NULL, places, sizeof(*p->key));
		for (uint32_t i = 0; i < places; i++)
			p->key[i] = key_of(positions_end(p, i), 0);
		set_keys(p, constrained, count, latest, rank, false);
	} else {
		set_keys(p, constrained, count, latest, rank, true);
	}
	graph_release(&graph);
	mem_free(sorted);
	mem_free(latest);
	mem_free(rank);
	mem_free(constrained);
	mem_free(number);
}
