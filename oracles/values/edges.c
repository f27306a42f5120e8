/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/edges.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "values/stamps.h"

/* Most rw edges from readers of a last known version to all that may come next, a key. */
enum { JOIN_MAX = 1 << 20 };

enum chain {
	CHAIN_NONE,
	CHAIN_INITIAL, /* of the initial version */
	CHAIN_OTHER,
};

/* Transactions by key, for tails and blind writes. */
struct by_key {
	uint32_t *head; /* key_count + 1 */
	uint32_t *op;   /* first unread append, or blind write */
};

struct build {
	const struct facts *f;
	const struct values *v;
	const struct edges_options *options;
	struct edges *out;
	struct graph_builder g;
	bool ordered;          /* tails and open chains are given an order */
	uint64_t joins;        /* edges to late ones, all keys */
	struct by_key late;    /* what comes after the known part of a key's order */
	uint32_t *next_live;   /* by place in v->order: the writer of it or the next that has one */
	uint32_t *last_live;   /* by place: the same of it or the last before */
	uint32_t *joined;      /* by key: rw edges to late ones so far */
	uint8_t *closed_chain; /* by item: enum chain */
	uint32_t *follow;      /* by item, with rank: the first write of the chain after */
	uint32_t *stamp_next;  /* by item: the next by timestamp */
	uint32_t *stamp_first; /* by key */
};

static bool is_list(const struct values *v, uint32_t key)
{
	return (v->keys[key].flags & VALUES_KEY_LIST) != 0;
}

static void add(struct build *b, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t detail)
{
	graph_builder_add(&b->g, from, to, kind, detail);
}

/* ------------------------------------------------------------------------- late writers */

static bool is_late(const struct build *b, uint32_t i)
{
	const struct values_op *op = &b->v->ops[i];

	if (!values_is_write(op) || !b->f->counts[op->txn])
		return false;
	if (op->kind == VALUES_APPEND)
		return b->f->position[op->value] == VALUES_NONE;
	return (b->f->notes[i] & OP_BLIND) && !is_list(b->v, op->key);
}

/* By descending rank: the order of a topological sort. */
static int compare_late(const void *a, const void *b, void *context)
{
	const struct build *build = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t rx = build->options->rank[build->v->ops[x].txn];
	uint32_t ry = build->options->rank[build->v->ops[y].txn];

	if (rx != ry)
		return rx > ry ? -1 : 1;
	return (x > y) - (x < y);
}

static void find_late(struct build *b)
{
	const struct values *v = b->v;
	uint32_t *fill;

	b->late.head = mem_zero((size_t)v->key_count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < v->op_count; i++) {
		if (is_late(b, i))
			b->late.head[v->ops[i].key + 1]++;
	}
	for (uint32_t k = 0; k < v->key_count; k++)
		b->late.head[k + 1] += b->late.head[k];
	b->late.op = mem_realloc(NULL, b->late.head[v->key_count], sizeof(uint32_t));
	fill = mem_dup(b->late.head, v->key_count * sizeof(*fill));
	for (uint32_t i = 0; i < v->op_count; i++) {
		if (is_late(b, i))
			b->late.op[fill[v->ops[i].key]++] = i;
	}
	mem_free(fill);
	if (!b->options->rank)
		return;
	for (uint32_t k = 0; k < v->key_count; k++)
		qsort_r(b->late.op + b->late.head[k], b->late.head[k + 1] - b->late.head[k],
			sizeof(uint32_t), compare_late, b);
}

static uint32_t late_txn(const struct build *b, uint32_t at)
{
	return b->v->ops[b->late.op[at]].txn;
}

/* Late transactions of a key: several appends of one count once. */
static uint32_t late_txns(const struct build *b, uint32_t key)
{
	uint32_t count = 0;

	for (uint32_t i = b->late.head[key]; i < b->late.head[key + 1]; i++)
		count += i == b->late.head[key] || late_txn(b, i) != late_txn(b, i - 1);
	return count;
}

/* rw edges from a reader of the last known version to what may come next. */
static void join_late(struct build *b, uint32_t reader_op, uint32_t key)
{
	uint32_t first = b->late.head[key], end = b->late.head[key + 1];

	if (b->ordered && end > first)
		end = first + 1;
	if (b->joined[key] == VALUES_NONE || end == first)
		return;
	if (end - first > JOIN_MAX - b->joined[key]) {
		b->joined[key] = VALUES_NONE;
		b->out->skipped++;
		return;
	}
	b->joined[key] += end - first;
	b->joins += end - first;
	if (b->options->guess && b->joins > b->v->op_count / 4) {
		b->out->crowded = true;
		return;
	}
	for (uint32_t i = first; i < end; i++)
		add(b, b->v->ops[reader_op].txn, late_txn(b, i), GRAPH_RW, reader_op);
}

/* ------------------------------------------------------------------------------- lists */

/* For every place of every list the nearest writers, after and before. */
static void find_live(struct build *b)
{
	const struct values *v = b->v;

	b->next_live = mem_realloc(NULL, v->order_count, sizeof(uint32_t));
	b->last_live = mem_realloc(NULL, v->order_count, sizeof(uint32_t));
	for (uint32_t k = 0; k < v->key_count; k++) {
		uint32_t first = v->keys[k].first_order, count = b->f->list_end[k];
		uint32_t near = VALUES_NONE;

		for (uint32_t e = 0; e < count; e++) {
			uint32_t writer = facts_writer(b->f, v->order[first + e]);

			near = writer != VALUES_NONE ? writer : near;
			b->last_live[first + e] = near;
			b->next_live[first + e] = writer;
		}
		near = VALUES_NONE;
		for (uint32_t e = count; e-- > 0;) {
			if (b->next_live[first + e] == VALUES_NONE)
				b->next_live[first + e] = near;
			near = b->next_live[first + e];
		}
	}
}

static void list_key(struct build *b, uint32_t k)
{
	const struct values *v = b->v;
	uint32_t first = v->keys[k].first_order, count = b->f->list_end[k];
	uint32_t last = VALUES_NONE, late = late_txns(b, k);
	bool several = false;

	for (uint32_t e = 0; e < count; e++) {
		uint32_t item = v->order[first + e], t = facts_writer(b->f, item);

		if (t == VALUES_NONE) {
			several |= b->f->state[item] == WRITER_SEVERAL;
			continue;
		}
		if (last != VALUES_NONE)
			add(b, last, t, GRAPH_WW, b->f->writer[item]);
		last = t;
	}
	b->out->unordered += several || count < v->keys[k].order_count;
	if (count < v->keys[k].order_count)
		return; /* after the agreed part nothing is known */
	if (late > 1)
		b->out->open_tails++;
	for (uint32_t i = b->late.head[k]; i < b->late.head[k + 1]; i++) {
		if (last != VALUES_NONE)
			add(b, last, late_txn(b, i), GRAPH_WW, b->late.op[i]);
		if (b->ordered)
			last = late_txn(b, i);
		else if (b->options->guess && i > b->late.head[k])
			add(b, late_txn(b, i - 1), late_txn(b, i), EDGE_GUESS, b->late.op[i]);
	}
}

static void list_read_edges(struct build *b, uint32_t i)
{
	const struct values *v = b->v;
	const struct values_op *op = &v->ops[i];
	const struct values_key *key = &v->keys[op->key];
	uint32_t seen = b->f->seen[i], end = b->f->list_end[op->key], writer;

	/* Of a list that others contradict, only the agreed part. */
	if (seen > end) {
		if (end && (writer = b->last_live[key->first_order + end - 1]) != VALUES_NONE)
			add(b, writer, op->txn, GRAPH_WR, i);
		return;
	}
	if (seen && (writer = b->last_live[key->first_order + seen - 1]) != VALUES_NONE)
		add(b, writer, op->txn, GRAPH_WR, i);
	writer = seen < end ? b->next_live[key->first_order + seen] : VALUES_NONE;
	if (writer != VALUES_NONE)
		add(b, op->txn, writer, GRAPH_RW, i);
	else if (end == key->order_count)
		join_late(b, i, op->key);
}

/* --------------------------------------------------------------------------- registers */

/* The last item of the chain that begins with `item`, and the transaction that wrote it. */
static uint32_t chain_end(struct build *b, uint32_t item, uint32_t *txn, uint8_t mark)
{
	const struct facts *f = b->f;

	while (!b->closed_chain[item]) {
		b->closed_chain[item] = mark;
		if (f->state[item] != WRITER_ONE || f->overwriter[item] == VALUES_NONE ||
			f->next[item] == VALUES_NONE)
			break;
		*txn = f->overwriter[item];
		item = f->next[item];
	}
	return item;
}

/* What transaction t wrote last to the key. */
static uint32_t final_item(const struct build *b, uint32_t t, uint32_t key)
{
	for (uint32_t i = b->v->txns[t].first_op;; i++) {
		const struct values_op *op = &b->v->ops[i];

		if (values_is_write(op) && op->key == key && (b->f->notes[i] & OP_FINAL))
			return op->value;
	}
}

/* The chain of the initial version, and what comes after it: with a rank, the other chains in that
 * order; without, all of them and no order among them. */
static void register_key(struct build *b, uint32_t k)
{
	const struct facts *f = b->f;
	uint32_t end = f->overwriter_initial[k];

	if (b->v->stamps)
		return;
	if (f->next_initial[k] != VALUES_NONE)
		chain_end(b, f->next_initial[k], &end, CHAIN_INITIAL);
	if (late_txns(b, k) > 1)
		b->out->open_chains++;
	for (uint32_t i = b->late.head[k]; i < b->late.head[k + 1]; i++) {
		uint32_t item;

		if (end != VALUES_NONE) {
			add(b, end, late_txn(b, i), GRAPH_WW, b->late.op[i] | EDGE_SOFT);
			b->out->soft++;
		}
		if (!b->ordered)
			continue;
		end = late_txn(b, i);
		item = final_item(b, end, k);
		if (item == VALUES_NONE)
			continue;
		item = chain_end(b, item, &end, CHAIN_OTHER);
		if (i + 1 < b->late.head[k + 1])
			b->follow[item] = b->late.op[i + 1];
	}
}

static void register_read_edges(struct build *b, uint32_t i)
{
	const struct facts *f = b->f;
	const struct values_op *op = &b->v->ops[i];
	uint32_t writer = facts_writer(f, op->value), next;
	bool initial = f->state[op->value] == WRITER_INITIAL;

	if (writer != VALUES_NONE)
		add(b, writer, op->txn, GRAPH_WR, i);
	else if (!initial)
		return;
	if (b->v->stamps) {
		next = initial ? b->stamp_first[op->key] : b->stamp_next[op->value];
		if (next != VALUES_NONE)
			add(b, op->txn, b->v->ops[next].txn, GRAPH_RW, i);
		return;
	}
	if (!initial && !(f->notes[f->writer[op->value]] & OP_FINAL))
		return; /* G1b: what comes next is its writer's own business */
	next = initial ? f->overwriter_initial[op->key] : f->overwriter[op->value];
	if (next != VALUES_NONE)
		add(b, op->txn, next, GRAPH_RW, i);
	else if (initial || b->closed_chain[op->value] == CHAIN_INITIAL)
		join_late(b, i, op->key);
	else if (b->follow && b->follow[op->value] != VALUES_NONE)
		add(b, op->txn, b->v->ops[b->follow[op->value]].txn, GRAPH_RW, i);
}

/* ---- timestamps ---- */

/* Writers of one key with the same stamp: their order is not known, and nothing follows from it. */
static void stamp_orders(struct build *b)
{
	const struct values *v = b->v;
	size_t count;
	struct stamped *all = stamps_writes(b->f, &count);

	b->stamp_next = mem_realloc(NULL, v->item_count, sizeof(uint32_t));
	b->stamp_first = mem_realloc(NULL, v->key_count, sizeof(uint32_t));
	memset(b->stamp_next, 0xff, v->item_count * sizeof(uint32_t));
	memset(b->stamp_first, 0xff, v->key_count * sizeof(uint32_t));
	for (size_t i = 0; i < count; i++) {
		bool first = i == 0 || all[i - 1].key != all[i].key;
		bool tied = i + 1 < count && stamps_tie(&all[i], &all[i + 1]);
		const struct values_op *op = &v->ops[all[i].op];

		if (op->kind == VALUES_APPEND)
			continue;
		b->out->unordered += tied;
		if (tied || (!first && stamps_tie(&all[i - 1], &all[i])))
			continue;
		if (first) {
			b->stamp_first[op->key] = all[i].op;
			continue;
		}
		if (i > 1 && stamps_tie(&all[i - 2], &all[i - 1]))
			continue;
		if (v->ops[all[i - 1].op].value != VALUES_NONE)
			b->stamp_next[v->ops[all[i - 1].op].value] = all[i].op;
		add(b, v->ops[all[i - 1].op].txn, op->txn, GRAPH_WW, all[i].op);
	}
	mem_free(all);
}

/* --------------------------------------------------------------------------------- all */

static void session_edges(struct build *b)
{
	const struct values *v = b->v;

	for (uint32_t s = 0; s < v->session_count; s++) {
		uint32_t last = VALUES_NONE;

		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[s].first_txn + i];

			if (!b->f->counts[t])
				continue;
			if (last != VALUES_NONE)
				add(b, last, t, GRAPH_SESSION, 0);
			last = t;
		}
	}
}

struct moment {
	uint64_t physical;
	uint32_t logical, slot;
};

static int compare_moments(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->physical != y->physical)
		return x->physical < y->physical ? -1 : 1;
	return (x->logical > y->logical) - (x->logical < y->logical);
}

/* Hybrid stamps as numbers that order like them. */
static void stamp_times(const struct values *v, uint64_t *begin, uint64_t *end)
{
	size_t count = 2 * (size_t)v->txn_count;
	struct moment *all = mem_realloc(NULL, count, sizeof(*all));
	uint64_t now = 1;

	for (uint32_t t = 0; t < v->txn_count; t++) {
		const struct values_stamp *s = &v->stamps[t];

		all[2 * t] = (struct moment){s->start, s->start_logical, 2 * t};
		all[2 * t + 1] = (struct moment){s->commit, s->commit_logical, 2 * t + 1};
	}
	qsort(all, count, sizeof(*all), compare_moments);
	for (size_t i = 0; i < count; i++) {
		if (i && compare_moments(&all[i - 1], &all[i]) != 0)
			now++;
		*(all[i].slot % 2 ? &end[all[i].slot / 2] : &begin[all[i].slot / 2]) = now;
	}
	mem_free(all);
}

void edges_times(const struct facts *f, uint64_t *begin, uint64_t *end)
{
	const struct values *v = f->v;

	for (uint32_t t = 0; t < v->txn_count; t++) {
		const struct values_txn *txn = &v->txns[t];

		begin[t] = 0;
		end[t] = UINT64_MAX;
		if (!f->counts[t] && txn->outcome != VALUES_UNKNOWN)
			continue;
		if (txn->invoke != VALUES_NONE)
			begin[t] = (uint64_t)txn->invoke + 1;
		/* When an unknown transaction took effect is not known either. */
		if (txn->complete != VALUES_NONE && txn->outcome == VALUES_COMMITTED)
			end[t] = (uint64_t)txn->complete + 1;
	}
	if (v->stamps)
		stamp_times(v, begin, end);
}

/* Do transactions stand in the order in which they ended?  Then real time agrees with it: a transaction that ended
 * before another began also ended before it. */
static bool in_order_of_ends(const struct facts *f)
{
	const struct values *v = f->v;
	uint32_t last = 0, begun = 0; /* latest end; latest begin of one without an end */

	if (v->stamps)
		return false;
	for (uint32_t t = 0; t < v->txn_count; t++) {
		const struct values_txn *txn = &v->txns[t];
		uint32_t invoke = txn->invoke != VALUES_NONE ? txn->invoke : 0;

		if (!f->counts[t])
			continue;
		if (txn->complete == VALUES_NONE || txn->outcome != VALUES_COMMITTED) {
			begun = invoke > begun ? invoke : begun;
			continue;
		}
		if (txn->complete < last || txn->complete < invoke || txn->complete < begun)
			return false;
		last = txn->complete;
	}
	return true;
}

/* With `inside`: only of these. */
static void realtime_edges(struct build *b, const uint8_t *inside)
{
	uint64_t *begin = mem_realloc(NULL, b->v->txn_count, sizeof(*begin));
	uint64_t *end = mem_realloc(NULL, b->v->txn_count, sizeof(*end));

	edges_times(b->f, begin, end);
	for (uint32_t t = 0; inside && t < b->v->txn_count; t++) {
		if (!inside[t])
			begin[t] = UINT64_MAX;
	}
	graph_builder_realtime(&b->g, begin, end);
	mem_free(begin);
	mem_free(end);
}

static void prune(struct build *b)
{
	uint8_t *inside = mem_zero(b->v->txn_count, 1);

	graph_builder_prune(&b->g, inside);
	if (b->options->realtime && b->g.count)
		realtime_edges(b, inside);
	mem_free(inside);
}

static void add_all(struct build *b)
{
	const struct values *v = b->v;

	for (uint32_t k = 0; k < v->key_count; k++) {
		uint32_t flags = v->keys[k].flags;

		if ((flags & VALUES_KEY_LIST) && (flags & VALUES_KEY_REGISTER))
			b->out->unordered++;
		else if (flags & VALUES_KEY_LIST)
			list_key(b, k);
		else
			register_key(b, k);
	}
	for (uint32_t i = 0; i < v->op_count; i++) {
		const struct values_op *op = &v->ops[i];

		if (!(b->f->notes[i] & OP_EXTERNAL))
			continue;
		if (op->kind == VALUES_READ_LIST)
			list_read_edges(b, i);
		else if (op->kind == VALUES_READ && !is_list(v, op->key))
			register_read_edges(b, i);
	}
}

/* Session and real-time order. */
static void add_orders(struct build *b)
{
	const struct edges_options *options = b->options;

	if (options->session)
		session_edges(b);
	if (options->prune && (!options->realtime || in_order_of_ends(b->f)))
		prune(b);
	else if (options->realtime)
		realtime_edges(b, NULL);
}

void edges_build(struct edges *edges, const struct facts *f, const struct edges_options *options)
{
	const struct values *v = f->v;
	struct build b = {.f = f, .v = v, .options = options, .out = edges};

	memset(edges, 0, sizeof(*edges));
	edges->crowded = options->guess && f->has_registers;
	if (edges->crowded)
		return;
	graph_builder_init(&b.g, v->txn_count);
	b.joined = mem_zero(v->key_count, sizeof(uint32_t));
	b.closed_chain = mem_zero(v->item_count, 1);
	b.ordered = options->rank || options->by_place;
	if (b.ordered) {
		b.follow = mem_realloc(NULL, v->item_count, sizeof(uint32_t));
		memset(b.follow, 0xff, v->item_count * sizeof(uint32_t));
	}
	find_late(&b);
	find_live(&b);
	if (v->stamps)
		stamp_orders(&b);
	add_all(&b);
	if (edges->crowded)
		b.g.count = 0; /* all for nothing */
	else
		add_orders(&b);
	graph_build(&edges->graph, &b.g);
	mem_free(b.joined);
	mem_free(b.closed_chain);
	mem_free(b.follow);
	mem_free(b.late.head);
	mem_free(b.late.op);
	mem_free(b.next_live);
	mem_free(b.last_live);
	mem_free(b.stamp_next);
	mem_free(b.stamp_first);
}

void edges_release(struct edges *edges)
{
	graph_release(&edges->graph);
}
