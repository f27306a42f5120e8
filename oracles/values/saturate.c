/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/saturate.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "values/schedule.h"

enum { ROUNDS_MAX = 1000, PAIR_WRITERS_MAX = 512, BATCHES = 32 };
/* Words of the matrix that choices may cost, about a second; a look at one pair, which is mostly a
 * cache miss, counts as several. */
#define WORK_MAX ((uint64_t)1000 * 1000 * 1000)
enum { PAIR_WORK = 8 };

/* Where a read came from, beside transactions. */
#define SOURCE_OPEN    VALUES_NONE /* one of several */
#define SOURCE_INITIAL (VALUES_NONE - 1)

/* A read of a value that several transactions wrote. */
struct open_read {
	uint32_t op;
	uint32_t first, count; /* in candidates: transactions, or SOURCE_INITIAL */
};

struct saturation {
	const struct facts *f;
	const struct values *v;
	bool snapshot;
	uint32_t node_count;
	struct precedence edges; /* all of them, unsorted */
	size_t edge_capacity;
	uint32_t *head, *out; /* CSR of edge numbers by their start */
	uint32_t *order;      /* topological */
	uint64_t *reach;      /* node_count rows of `words` */
	size_t words;
	uint32_t *writer_head, *writers;    /* by key: transactions that write it */
	uint32_t *item_head, *item_writers; /* by item: those whose last write it is */
	uint32_t *source;                   /* by op, of external reads */
	struct open_read *open;
	size_t open_count, open_capacity;
	uint32_t *candidates;
	size_t candidate_count, candidate_capacity;
	uint32_t *trail; /* open reads with a source, in the order in which they got it */
	size_t trail_count;
	uint32_t *place;    /* by node: in a topological order near to `priority` */
	uint32_t *priority; /* by transaction: when it may have run, as its session went on */
	uint64_t work, work_max;
	uint64_t *more; /* beyond WORK_MAX, where reads have several candidates */
	bool deciding;  /* what is added is a choice, to be taken back perhaps */
	bool chosen;    /* some source was found by leaving out the others */
	bool vague;     /* some read may be of a transaction that perhaps did not commit */
	bool conflict;  /* some read has no source left */
};

static uint32_t start_of(const struct saturation *s, uint32_t t)
{
	return s->snapshot ? 2 * t : t;
}

static uint32_t commit_of(const struct saturation *s, uint32_t t)
{
	return s->snapshot ? 2 * t + 1 : t;
}

static bool reaches(const struct saturation *s, uint32_t from, uint32_t to)
{
	return s->reach[from * s->words + to / 64] >> to % 64 & 1;
}

static void add(
	struct saturation *s, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t detail)
{
	struct precedence *p = &s->edges;

	if (from == to)
		return;
	MEM_RESERVE(p->edges, p->count + 1, s->edge_capacity);
	p->edges[p->count++] = (struct precedence_edge){from, to, detail, (uint8_t)kind};
}

/* ----------------------------------------------------------------------- the beginning */

static bool is_read(const struct saturation *s, uint32_t i)
{
	return s->v->ops[i].kind == VALUES_READ && (s->f->notes[i] & OP_EXTERNAL);
}

/* The last writes of keys, by the key or by what was written: a counting sort. */
static uint32_t *group_writers(
	const struct saturation *s, bool by_item, uint32_t groups, uint32_t **writers)
{
	const struct values *v = s->v;
	uint32_t *head = mem_zero((size_t)groups + 2, sizeof(*head));

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < v->op_count; i++) {
			const struct values_op *op = &v->ops[i];
			uint32_t group = by_item ? op->value : op->key;

			if (!values_is_write(op) || !(s->f->notes[i] & OP_FINAL) ||
				!s->f->counts[op->txn] || group == VALUES_NONE)
				continue;
			if (pass == 0)
				head[group + 2]++;
			else
				(*writers)[head[group + 1]++] = op->txn;
		}
		if (pass == 1)
			break;
		for (uint32_t g = 0; g < groups; g++)
			head[g + 2] += head[g + 1];
		*writers = mem_realloc(NULL, head[groups + 1], sizeof(**writers));
	}
	return head;
}

static void index_writers(struct saturation *s)
{
	s->writer_head = group_writers(s, false, s->v->key_count, &s->writers);
	s->item_head = group_writers(s, true, s->v->item_count, &s->item_writers);
}

/* By item: did somebody write it who may not have committed? */
static uint8_t *perhaps_written(const struct saturation *s)
{
	const struct values *v = s->v;
	uint8_t *perhaps = mem_zero(v->item_count, 1);

	for (uint32_t i = 0; i < v->op_count; i++) {
		const struct values_op *op = &v->ops[i];

		if (values_is_write(op) && op->value != VALUES_NONE && !s->f->counts[op->txn] &&
			v->txns[op->txn].outcome == VALUES_UNKNOWN)
			perhaps[op->value] = 1;
	}
	return perhaps;
}

/* The transactions that may have written what op i read. */
static void find_candidates(struct saturation *s, uint32_t i)
{
	const struct values *v = s->v;
	const struct values_op *op = &v->ops[i];
	struct open_read *open;

	MEM_RESERVE(s->open, s->open_count + 1, s->open_capacity);
	open = &s->open[s->open_count++];
	*open = (struct open_read){i, (uint32_t)s->candidate_count, 0};
	for (uint32_t w = s->item_head[op->value]; w < s->item_head[op->value + 1]; w++) {
		if (s->item_writers[w] == op->txn)
			continue;
		MEM_RESERVE(s->candidates, s->candidate_count + 1, s->candidate_capacity);
		s->candidates[s->candidate_count++] = s->item_writers[w];
		open->count++;
	}
	if (v->items[op->value].initial) {
		MEM_RESERVE(s->candidates, s->candidate_count + 1, s->candidate_capacity);
		s->candidates[s->candidate_count++] = SOURCE_INITIAL;
		open->count++;
	}
}

/* Everybody who writes the key comes after a reader of what it held initially. */
static void initial_edges(struct saturation *s, uint32_t i)
{
	const struct values_op *op = &s->v->ops[i];

	for (uint32_t w = s->writer_head[op->key]; w < s->writer_head[op->key + 1]; w++) {
		if (s->writers[w] != op->txn)
			add(s, start_of(s, op->txn), commit_of(s, s->writers[w]), GRAPH_RW, i);
	}
}

/* The read came from there. */
static void source_edges(struct saturation *s, uint32_t i)
{
	if (s->source[i] == SOURCE_INITIAL)
		initial_edges(s, i);
	else
		add(s, commit_of(s, s->source[i]), start_of(s, s->v->ops[i].txn), GRAPH_WR, i);
}

static void known_edges(struct saturation *s, enum cycle_order order)
{
	const struct values *v = s->v;
	uint8_t *perhaps = perhaps_written(s);

	for (uint32_t t = 0; s->snapshot && t < v->txn_count; t++)
		add(s, start_of(s, t), commit_of(s, t), GRAPH_SESSION, 0);
	for (uint32_t k = 0; order != CYCLE_PLAIN && k < v->session_count; k++) {
		uint32_t last = VALUES_NONE;

		for (uint32_t i = 0; i < v->sessions[k].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[k].first_txn + i];

			if (!s->f->counts[t])
				continue;
			if (last != VALUES_NONE)
				add(s, commit_of(s, last), start_of(s, t), GRAPH_SESSION, 0);
			last = t;
		}
	}
	for (uint32_t i = 0; i < v->op_count; i++) {
		const struct values_op *op = &v->ops[i];

		if (!is_read(s, i) || !s->f->counts[op->txn])
			continue;
		s->source[i] = facts_writer(s->f, op->value);
		if (s->f->state[op->value] == WRITER_INITIAL)
			s->source[i] = SOURCE_INITIAL;
		if (s->source[i] != SOURCE_OPEN) {
			source_edges(s, i);
		} else {
			s->vague |= perhaps[op->value];
			find_candidates(s, i);
		}
	}
	free(perhaps);
	s->trail = mem_realloc(NULL, s->open_count, sizeof(*s->trail));
}

/* ------------------------------------------------------------------------ reachability */

static void sort_edges(struct saturation *s)
{
	const struct precedence *p = &s->edges;

	memset(s->head, 0, ((size_t)s->node_count + 2) * sizeof(*s->head));
	s->out = mem_realloc(s->out, p->count, sizeof(*s->out));
	for (size_t e = 0; e < p->count; e++)
		s->head[p->edges[e].from + 2]++;
	for (uint32_t n = 0; n < s->node_count; n++)
		s->head[n + 2] += s->head[n + 1];
	for (size_t e = 0; e < p->count; e++)
		s->out[s->head[p->edges[e].from + 1]++] = (uint32_t)e;
}

/* False: there is a cycle. */
static bool close_over(struct saturation *s)
{
	uint32_t *missing = mem_zero(s->node_count, sizeof(*missing));
	uint32_t tail = 0;

	sort_edges(s);
	for (size_t e = 0; e < s->edges.count; e++)
		missing[s->edges.edges[e].to]++;
	for (uint32_t n = 0; n < s->node_count; n++) {
		if (missing[n] == 0)
			s->order[tail++] = n;
	}
	for (uint32_t at = 0; at < tail; at++) {
		for (uint32_t i = s->head[s->order[at]]; i < s->head[s->order[at] + 1]; i++) {
			uint32_t to = s->edges.edges[s->out[i]].to;

			if (--missing[to] == 0)
				s->order[tail++] = to;
		}
	}
	free(missing);
	if (tail < s->node_count)
		return false;
	memset(s->reach, 0, s->node_count * s->words * sizeof(*s->reach));
	for (uint32_t at = s->node_count; at-- > 0;) {
		uint32_t n = s->order[at];
		uint64_t *row = s->reach + n * s->words;

		for (uint32_t i = s->head[n]; i < s->head[n + 1]; i++) {
			uint32_t to = s->edges.edges[s->out[i]].to;
			const uint64_t *other = s->reach + to * s->words;

			if (row[to / 64] >> to % 64 & 1)
				continue; /* it and all behind it are there */
			for (size_t w = 0; w < s->words; w++)
				row[w] |= other[w];
			s->work += s->words;
			row[to / 64] |= (uint64_t)1 << to % 64;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------------ forcing */

static bool add_new(
	struct saturation *s, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t detail)
{
	if (from == to || reaches(s, from, to))
		return false;
	add(s, from, to, kind, detail);
	return true;
}

/* t3 reads op from t1; t2 writes the key too. */
static bool force(struct saturation *s, uint32_t op, uint32_t t1, uint32_t t2)
{
	uint32_t t3 = s->v->ops[op].txn;
	bool before_ok = !reaches(s, start_of(s, t1), commit_of(s, t2)) && t1 != t2;
	bool after_ok = !reaches(s, start_of(s, t2), commit_of(s, t1)) &&
			(t2 == t3 || !reaches(s, commit_of(s, t2), start_of(s, t3)));
	bool changed = false;

	if (!before_ok) { /* so t2 is after, and t3 did not see it */
		changed |= add_new(s, commit_of(s, t1), start_of(s, t2), GRAPH_WW, op);
		if (t2 != t3)
			changed |= add_new(s, start_of(s, t3), commit_of(s, t2), GRAPH_RW, op);
	}
	if (!after_ok)
		changed |= add_new(s, commit_of(s, t2), start_of(s, t1), GRAPH_WW, op);
	return changed;
}

static bool force_reads(struct saturation *s)
{
	const struct values *v = s->v;
	bool changed = false;

	for (uint32_t i = 0; i < v->op_count; i++) {
		uint32_t t1 = s->source[i], key = v->ops[i].key;

		if (t1 == SOURCE_OPEN || t1 == SOURCE_INITIAL)
			continue;
		s->work += PAIR_WORK * (s->writer_head[key + 1] - s->writer_head[key]);
		for (uint32_t w = s->writer_head[key]; w < s->writer_head[key + 1]; w++) {
			if (s->writers[w] != t1)
				changed |= force(s, i, t1, s->writers[w]);
		}
	}
	return changed;
}

/* Can the read have come from there, as far as the order is known? */
static bool is_possible(struct saturation *s, uint32_t op, uint32_t from)
{
	uint32_t t3 = s->v->ops[op].txn, key = s->v->ops[op].key;
	bool initial = from == SOURCE_INITIAL;

	if (!initial && reaches(s, start_of(s, t3), commit_of(s, from)))
		return false;
	s->work += PAIR_WORK * (s->writer_head[key + 1] - s->writer_head[key]);
	for (uint32_t w = s->writer_head[key]; w < s->writer_head[key + 1]; w++) {
		uint32_t t2 = s->writers[w];

		/* Somebody between the two. */
		if (t2 != t3 && t2 != from && reaches(s, commit_of(s, t2), start_of(s, t3)) &&
			(initial || reaches(s, start_of(s, from), commit_of(s, t2))))
			return false;
	}
	return true;
}

static void take_source(struct saturation *s, uint32_t op, uint32_t from)
{
	s->source[op] = from;
	s->trail[s->trail_count++] = op;
	source_edges(s, op);
}

/* Reads of values that several wrote: candidates that the order excludes are left out, and the last
 * one is it. */
static bool force_sources(struct saturation *s)
{
	bool changed = false;

	for (size_t i = 0; i < s->open_count; i++) {
		struct open_read *r = &s->open[i];
		uint32_t left = 0, last = SOURCE_OPEN;

		if (s->source[r->op] != SOURCE_OPEN)
			continue;
		for (uint32_t c = 0; c < r->count; c++) {
			uint32_t from = s->candidates[r->first + c];

			if (!is_possible(s, r->op, from))
				continue;
			last = from;
			if (!s->deciding)
				s->candidates[r->first + left] = from;
			left++;
		}
		if (!s->deciding)
			r->count = left;
		s->conflict |= left == 0;
		if (left != 1)
			continue;
		s->chosen = changed = true;
		take_source(s, r->op, last);
	}
	return changed;
}

/* Two writers of a key do not overlap under snapshot isolation. */
static bool force_pairs(struct saturation *s)
{
	bool changed = false;

	for (uint32_t k = 0; s->snapshot && k < s->v->key_count; k++) {
		uint32_t first = s->writer_head[k], end = s->writer_head[k + 1];

		for (uint32_t a = first; end - first <= PAIR_WRITERS_MAX && a < end; a++) {
			for (uint32_t b = first; b < end; b++) {
				uint32_t x = s->writers[a], y = s->writers[b];

				if (x != y && reaches(s, start_of(s, x), commit_of(s, y)) &&
					!reaches(s, commit_of(s, x), start_of(s, y))) {
					add(s, commit_of(s, x), start_of(s, y), GRAPH_WW,
						VALUES_NONE);
					changed = true;
				}
			}
		}
	}
	return changed;
}

/* With reads of several possible sources the forcing itself is bounded: then not all is forced. */
static bool out_of_work(const struct saturation *s)
{
	return s->open_count && s->work > s->work_max;
}

/* Forces until nothing changes.  False: a cycle, or a read without a source. */
static bool settle(struct saturation *s)
{
	bool fine = true, changed = true;

	for (int round = 0; fine && changed && round < ROUNDS_MAX; round++) {
		/* Many candidates for many reads: what is forced so far is right, and not all. */
		if (out_of_work(s))
			break;
		changed = force_reads(s);
		changed |= force_pairs(s);
		changed |= force_sources(s);
		fine = !s->conflict && (!changed || close_over(s));
	}
	return fine;
}

/* ----------------------------------------------------------------------- what stays open */

static int compare_places(const void *a, const void *b, void *context)
{
	const struct saturation *s = context;
	uint32_t x = s->place[commit_of(s, *(const uint32_t *)a)],
		 y = s->place[commit_of(s, *(const uint32_t *)b)];

	return (x > y) - (x < y);
}

/* A heap of nodes that may come next, the earliest on top. */
static void heap_push(const struct saturation *s, uint32_t *heap, uint32_t *count, uint32_t node)
{
	uint32_t i = (*count)++;

	for (; i > 0 && s->priority[heap[(i - 1) / 2]] > s->priority[node]; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = node;
}

static uint32_t heap_pop(const struct saturation *s, uint32_t *heap, uint32_t *count)
{
	uint32_t top = heap[0], last = heap[--*count], i = 0;

	for (uint32_t child = 1; child < *count; child = 2 * i + 1) {
		child += child + 1 < *count &&
			 s->priority[heap[child + 1]] < s->priority[heap[child]];
		if (s->priority[heap[child]] >= s->priority[last])
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return top;
}

/* Places by a topological sort that follows what sessions did side by side, as far as the order
 * lets it: choices that are made by it are mostly those that happened. */
static void find_places(struct saturation *s)
{
	uint32_t *missing = mem_zero(s->node_count, sizeof(*missing));
	uint32_t *heap = mem_realloc(NULL, s->node_count, sizeof(*heap));
	uint32_t count = 0, at = 0;

	sort_edges(s);
	for (size_t e = 0; e < s->edges.count; e++)
		missing[s->edges.edges[e].to]++;
	for (uint32_t n = 0; n < s->node_count; n++) {
		if (missing[n] == 0)
			heap_push(s, heap, &count, n);
	}
	while (count) {
		uint32_t n = heap_pop(s, heap, &count);

		s->place[n] = at++;
		for (uint32_t i = s->head[n]; i < s->head[n + 1]; i++) {
			if (--missing[s->edges.edges[s->out[i]].to] == 0)
				heap_push(s, heap, &count, s->edges.edges[s->out[i]].to);
		}
	}
	CHECK(at == s->node_count);
	free(missing);
	free(heap);
}

/* Sessions are taken to have gone on side by side, each from the beginning to the end. */
static void find_priorities(struct saturation *s)
{
	const struct values *v = s->v;

	s->priority = mem_realloc(NULL, s->node_count, sizeof(*s->priority));
	for (uint32_t n = 0; n < s->node_count; n++)
		s->priority[n] = n;
	for (uint32_t k = 0; v->has_sessions && k < v->session_count; k++) {
		uint32_t count = v->sessions[k].txn_count;

		for (uint32_t i = 0; i < count; i++) {
			uint32_t t = v->session_txns[v->sessions[k].first_txn + i];
			uint32_t when = (uint32_t)((2 * (uint64_t)i + 1) * (1u << 30) / count);

			s->priority[start_of(s, t)] = s->priority[commit_of(s, t)] = when;
		}
	}
}

/* Orders the writers of a key as a topological sort has them. */
static void order_writers(struct saturation *s, uint32_t key)
{
	uint32_t first = s->writer_head[key], end = s->writer_head[key + 1];

	qsort_r(s->writers + first, end - first, sizeof(uint32_t), compare_places, s);
	for (uint32_t w = first; w + 1 < end; w++)
		add_new(s, commit_of(s, s->writers[w]), start_of(s, s->writers[w + 1]), GRAPH_WW,
			VALUES_NONE);
}

/* The last candidate before the reader, if one is possible. */
static void choose_source(struct saturation *s, const struct open_read *r)
{
	uint32_t reader = s->place[start_of(s, s->v->ops[r->op].txn)];
	uint32_t best = SOURCE_OPEN, best_place = 0;

	for (uint32_t c = 0; c < r->count; c++) {
		uint32_t from = s->candidates[r->first + c];
		uint32_t place = from == SOURCE_INITIAL ? 0 : s->place[commit_of(s, from)] + 1;

		if (place <= reader && place >= best_place && is_possible(s, r->op, from)) {
			best = from;
			best_place = place;
		}
	}
	if (best != SOURCE_OPEN)
		take_source(s, r->op, best);
}

/* What a choice is taken back to. */
struct checkpoint {
	uint64_t *reach;
	uint32_t *order;
	size_t edge_count, trail_count;
};

static void save(const struct saturation *s, struct checkpoint *c)
{
	c->reach = mem_dup(s->reach, s->node_count * s->words * sizeof(*s->reach));
	c->order = mem_dup(s->order, s->node_count * sizeof(*s->order));
	c->edge_count = s->edges.count;
	c->trail_count = s->trail_count;
}

static void restore(struct saturation *s, const struct checkpoint *c)
{
	memcpy(s->reach, c->reach, s->node_count * s->words * sizeof(*s->reach));
	memcpy(s->order, c->order, s->node_count * sizeof(*s->order));
	s->edges.count = c->edge_count;
	while (s->trail_count > c->trail_count)
		s->source[s->trail[--s->trail_count]] = SOURCE_OPEN;
	s->conflict = false;
	s->work += s->node_count * s->words;
}

static void forget(struct checkpoint *c)
{
	free(c->reach);
	free(c->order);
}

/* Two neighbours in the topological order of a key that are in no order yet: one way, or else the
 * other.  False: neither. */
static bool decide_pair(struct saturation *s, uint32_t a, uint32_t b)
{
	struct checkpoint before;
	bool fine = false;

	save(s, &before);
	for (int way = 0; way < 2 && !fine; way++) {
		add_new(s, commit_of(s, way ? b : a), start_of(s, way ? a : b), GRAPH_WW,
			VALUES_NONE);
		fine = close_over(s) && settle(s);
		if (!fine)
			restore(s, &before);
	}
	forget(&before);
	return fine;
}

/* A key's writers pair by pair. */
static bool decide_key(struct saturation *s, uint32_t key)
{
	uint32_t first = s->writer_head[key], end = s->writer_head[key + 1];

	for (uint32_t w = first; w + 1 < end;) {
		uint32_t a, b;

		find_places(s);
		qsort_r(s->writers + first, end - first, sizeof(uint32_t), compare_places, s);
		a = s->writers[w];
		b = s->writers[w + 1];
		if (reaches(s, commit_of(s, a), start_of(s, b))) {
			w++;
			continue;
		}
		if (s->work > s->work_max || !decide_pair(s, a, b))
			return false;
		/* The other way round it may stand before the ones that are done. */
		w = first;
	}
	return true;
}

/* Some keys at once; where that does not go, half of them and the other half; a single one pair by
 * pair. */
static bool decide_keys(struct saturation *s, const uint32_t *keys, uint32_t count)
{
	struct checkpoint before;
	bool fine;

	save(s, &before);
	find_places(s);
	for (uint32_t i = 0; i < count; i++)
		order_writers(s, keys[i]);
	fine = close_over(s) && settle(s);
	if (!fine)
		restore(s, &before);
	forget(&before);
	if (fine || s->work > s->work_max)
		return fine;
	if (count == 1)
		return decide_key(s, keys[0]);
	return decide_keys(s, keys, count / 2) &&
	       decide_keys(s, keys + count / 2, count - count / 2);
}

/* One read, with one of its candidates after the other. */
static bool decide_source(struct saturation *s, const struct open_read *r)
{
	struct checkpoint before;
	bool fine = false;

	save(s, &before);
	for (uint32_t c = 0; c < r->count && !fine && s->work <= s->work_max; c++) {
		uint32_t from = s->candidates[r->first + c];

		if (!is_possible(s, r->op, from))
			continue;
		take_source(s, r->op, from);
		fine = close_over(s) && settle(s);
		if (!fine)
			restore(s, &before);
	}
	forget(&before);
	return fine;
}

/* Some reads at once, each from the last candidate before it.  False: nothing has changed. */
static bool choose_sources(struct saturation *s, const uint32_t *reads, uint32_t count)
{
	struct checkpoint before;
	bool fine;

	save(s, &before);
	find_places(s);
	for (uint32_t i = 0; i < count; i++) {
		if (s->source[s->open[reads[i]].op] == SOURCE_OPEN)
			choose_source(s, &s->open[reads[i]]);
	}
	fine = close_over(s) && settle(s);
	for (uint32_t i = 0; i < count; i++)
		fine &= s->source[s->open[reads[i]].op] != SOURCE_OPEN;
	if (!fine)
		restore(s, &before);
	forget(&before);
	return fine;
}

static int compare_readers(const void *a, const void *b, void *context)
{
	const struct saturation *s = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t at = s->place[start_of(s, s->v->ops[s->open[x].op].txn)],
		 bt = s->place[start_of(s, s->v->ops[s->open[y].op].txn)];

	return at != bt ? (at > bt) - (at < bt) : (x > y) - (x < y);
}

/* Reads whose source is open, as they may have followed each other: as many at once as goes well.
 */
static bool decide_sources(struct saturation *s)
{
	uint32_t *reads = mem_realloc(NULL, s->open_count, sizeof(*reads));
	uint32_t count = 0, at = 0, size;
	bool fine = true;

	find_places(s);
	for (uint32_t i = 0; i < s->open_count; i++) {
		if (s->source[s->open[i].op] == SOURCE_OPEN)
			reads[count++] = i;
	}
	if (count)
		qsort_r(reads, count, sizeof(*reads), compare_readers, s);
	size = count / BATCHES + 1;
	while (fine && at < count) {
		/* What followed from others needs no choice. */
		if (s->source[s->open[reads[at]].op] != SOURCE_OPEN) {
			at++;
			continue;
		}
		size = size < count - at ? size : count - at;
		if (choose_sources(s, reads + at, size)) {
			at += size;
			size *= 2;
		} else if (size > 1) {
			size = (size + 3) / 4;
		} else {
			fine = decide_source(s, &s->open[reads[at]]);
		}
		fine &= s->work <= s->work_max;
	}
	free(reads);
	return fine;
}

/* Decides what is open, some reads and then some keys at a time, by a topological sort, and what
 * follows from it.  True: every key is ordered, every read has a source and there is no cycle,
 * which proves the level. False proves nothing. */
static bool decide_open(struct saturation *s)
{
	uint32_t *keys = mem_realloc(NULL, s->v->key_count, sizeof(*keys));
	bool fine = !s->vague && !out_of_work(s);

	s->deciding = true;
	s->work = 0;
	s->work_max = WORK_MAX + (s->open_count ? *s->more : 0);
	fine = fine && decide_sources(s);
	for (uint32_t batch = 0; fine && batch < BATCHES; batch++) {
		uint32_t count = 0;

		for (uint32_t k = batch; k < s->v->key_count; k += BATCHES) {
			if (s->writer_head[k + 1] - s->writer_head[k] > 1)
				keys[count++] = k;
		}
		fine = count == 0 || decide_keys(s, keys, count);
	}
	free(keys);
	fine = fine && !out_of_work(s);
	if (s->open_count && s->work > WORK_MAX)
		*s->more -= s->work - WORK_MAX < *s->more ? s->work - WORK_MAX : *s->more;
	return fine;
}

/* ------------------------------------------------------------------------ contradiction */

/* The shortest cycle through one node, breadth first; returns its length in edges, which are left
 * in `path`. */
static uint32_t cycle_through(struct saturation *s, uint32_t root, uint32_t *path, uint32_t limit)
{
	uint32_t *parent = mem_realloc(NULL, s->node_count, sizeof(*parent)); /* edge */
	uint32_t *queue = mem_realloc(NULL, s->node_count, sizeof(*queue));
	uint32_t *depth = mem_zero(s->node_count, sizeof(*depth));
	uint32_t tail = 0, length = 0, closing = VALUES_NONE;

	memset(parent, 0xff, s->node_count * sizeof(*parent));
	queue[tail++] = root;
	for (uint32_t at = 0; at < tail && closing == VALUES_NONE && depth[queue[at]] < limit;
		at++) {
		uint32_t n = queue[at];

		for (uint32_t i = s->head[n]; i < s->head[n + 1] && closing == VALUES_NONE; i++) {
			uint32_t to = s->edges.edges[s->out[i]].to;

			if (to == root) {
				closing = s->out[i];
			} else if (parent[to] == VALUES_NONE) {
				parent[to] = s->out[i];
				depth[to] = depth[n] + 1;
				queue[tail++] = to;
			}
		}
	}
	for (uint32_t e = closing; e != VALUES_NONE; e = parent[s->edges.edges[e].from]) {
		path[length++] = e;
		if (s->edges.edges[e].from == root)
			break;
	}
	free(parent);
	free(queue);
	free(depth);
	return length;
}

/* Some nodes on cycles are tried; the shortest cycle found is reported, transactions only. */
static void find_cycle(struct saturation *s, struct cycle *cycle)
{
	uint32_t *path = mem_realloc(NULL, s->node_count, sizeof(*path));
	uint32_t *best = mem_realloc(NULL, s->node_count, sizeof(*best));
	uint32_t best_length = 0, tries = 0;
	uint32_t *missing = mem_zero(s->node_count, sizeof(*missing));

	/* What Kahn's sort does not reach from both ends lies on or between cycles. */
	for (size_t e = 0; e < s->edges.count; e++)
		missing[s->edges.edges[e].to]++;
	for (uint32_t n = 0; n < s->node_count && tries < 200; n++) {
		uint32_t length;

		if (missing[n] == 0 || s->head[n] == s->head[n + 1])
			continue;
		length = cycle_through(s, n, path, best_length ? best_length - 1 : s->node_count);
		tries += length > 0;
		if (length && (!best_length || length < best_length)) {
			best_length = length;
			memcpy(best, path, length * sizeof(*best));
		}
	}
	free(missing);
	*cycle = (struct cycle){.class = CYCLE_G2_ITEM};
	cycle->steps = mem_zero(best_length, sizeof(*cycle->steps));
	for (uint32_t i = best_length; i-- > 0;) {
		const struct precedence_edge *e = &s->edges.edges[best[i]];
		uint32_t from = s->snapshot ? e->from / 2 : e->from,
			 to = s->snapshot ? e->to / 2 : e->to;

		if (from != to)
			cycle->steps[cycle->length++] =
				(struct cycle_step){from, to, e->detail, (enum graph_kind)e->kind};
	}
	free(path);
	free(best);
}

enum level_answer saturate(const struct facts *f, enum cycle_order order, bool snapshot,
	uint64_t *more, struct cycle *cycle)
{
	const struct values *v = f->v;
	struct saturation s = {
		.f = f, .v = v, .snapshot = snapshot, .work_max = WORK_MAX, .more = more};
	enum level_answer answer = LEVEL_UNDECIDED;
	bool acyclic;

	*cycle = (struct cycle){0};
	if (v->txn_count > SATURATE_TXNS_MAX || v->txn_count == 0)
		return LEVEL_UNDECIDED;
	s.node_count = snapshot ? 2 * v->txn_count : v->txn_count;
	s.words = (s.node_count + 63) / 64;
	s.head = mem_zero((size_t)s.node_count + 2, sizeof(uint32_t));
	s.order = mem_realloc(NULL, s.node_count, sizeof(uint32_t));
	s.reach = mem_realloc(NULL, s.node_count * s.words, sizeof(uint64_t));
	s.place = mem_realloc(NULL, s.node_count, sizeof(uint32_t));
	s.source = mem_realloc(NULL, v->op_count, sizeof(uint32_t));
	memset(s.source, 0xff, v->op_count * sizeof(uint32_t));
	index_writers(&s);
	find_priorities(&s);
	known_edges(&s, order);
	acyclic = close_over(&s);
	acyclic = acyclic && settle(&s);
	if (!acyclic && !s.chosen && !s.conflict) {
		answer = LEVEL_FAILS;
		find_cycle(&s, cycle);
	} else if (!acyclic) {
		/* It fails, but which transactions show it is the solver's to say. */
	} else if (schedule_guided(f, snapshot, &s.edges) || decide_open(&s)) {
		answer = LEVEL_HOLDS;
	}
	free(s.edges.edges);
	free(s.head);
	free(s.out);
	free(s.order);
	free(s.reach);
	free(s.writer_head);
	free(s.writers);
	free(s.item_head);
	free(s.item_writers);
	free(s.source);
	free(s.open);
	free(s.candidates);
	free(s.trail);
	free(s.place);
	free(s.priority);
	return answer;
}
