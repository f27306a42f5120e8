/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reads do not force is chosen: sources of ambiguous reads, then orders of the writers of
 * keys. */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "values/saturate_internal.h"

/* Parts in which choices are made at first. */
enum { BATCHES = 32 };
/* Words that one event or edge of a topological sort counts for. */
enum { PLACE_WORK = 8 };

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
void saturation_places(struct saturation *s)
{
	uint32_t *missing = mem_zero(s->node_count, sizeof(*missing));
	uint32_t *heap = mem_realloc(NULL, s->node_count, sizeof(*heap));
	uint32_t count = 0, at = 0;

	saturation_sort(s);
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
	saturation_spend(s, PLACE_WORK * (s->edges.count + s->node_count));
	mem_free(missing);
	mem_free(heap);
}

/* As a known execution with snapshots has them; else sessions are taken to have gone on side by
 * side, each from the beginning to the end. */
void saturation_priorities(struct saturation *s)
{
	const struct values *v = s->v;

	s->priority = mem_realloc(NULL, s->node_count, sizeof(*s->priority));
	for (uint32_t n = 0; n < s->node_count; n++)
		s->priority[n] = n;
	for (uint32_t t = 0; s->f->guide && t < v->txn_count; t++)
		s->priority[start_of(s, t)] = s->priority[commit_of(s, t)] = s->f->guide[t];
	for (uint32_t k = 0; !s->f->guide && v->has_sessions && k < v->session_count; k++) {
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
		saturation_add(s, commit_of(s, s->writers[w]), after_ww(s, s->writers[w + 1]),
			GRAPH_WW, VALUES_NONE);
}

/* The last candidate before the reader, if one is possible. */
static void choose_source(struct saturation *s, const struct open_read *r)
{
	uint32_t reader = s->place[start_of(s, s->v->ops[r->op].txn)];
	uint32_t best = SOURCE_OPEN, best_place = 0;

	for (uint32_t c = 0; c < r->count; c++) {
		uint32_t from = s->candidates[r->first + c];
		uint32_t place = from == SOURCE_INITIAL ? 0 : s->place[commit_of(s, from)] + 1;

		if (place <= reader && place >= best_place && saturation_possible(s, r->op, from)) {
			best = from;
			best_place = place;
		}
	}
	if (best != SOURCE_OPEN)
		saturation_take(s, r->op, best);
}

/* What a choice is taken back to. */
struct checkpoint {
	void *reach;
	uint32_t *order;
	size_t edge_count, trail_count;
};

static void save(const struct saturation *s, struct checkpoint *c)
{
	c->reach = reach_save(&s->reach);
	c->order = mem_dup(s->order, s->node_count * sizeof(*s->order));
	c->edge_count = s->edges.count;
	c->trail_count = s->trail_count;
}

static void restore(struct saturation *s, const struct checkpoint *c)
{
	reach_restore(&s->reach, c->reach);
	memcpy(s->order, c->order, s->node_count * sizeof(*s->order));
	s->edges.count = c->edge_count;
	while (s->trail_count > c->trail_count)
		s->source[s->trail[--s->trail_count]] = SOURCE_OPEN;
	s->conflict = false;
	s->work += reach_size(&s->reach) / sizeof(uint64_t);
}

static void forget(struct checkpoint *c)
{
	mem_free(c->reach);
	mem_free(c->order);
}

/* Two neighbours in the topological order of a key that are in no order yet: one way, or else the
 * other.  False: neither. */
static bool decide_pair(struct saturation *s, uint32_t a, uint32_t b)
{
	struct checkpoint before;
	bool fine = false;

	save(s, &before);
	for (int way = 0; way < 2 && !fine; way++) {
		saturation_add(s, commit_of(s, way ? b : a), after_ww(s, way ? a : b), GRAPH_WW,
			VALUES_NONE);
		fine = saturation_close(s) && saturation_settle(s);
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

		saturation_places(s);
		qsort_r(s->writers + first, end - first, sizeof(uint32_t), compare_places, s);
		a = s->writers[w];
		b = s->writers[w + 1];
		if (reaches(s, commit_of(s, a), after_ww(s, b))) {
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
	saturation_places(s);
	for (uint32_t i = 0; i < count; i++)
		order_writers(s, keys[i]);
	fine = saturation_close(s) && saturation_settle(s);
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

		if (!saturation_possible(s, r->op, from))
			continue;
		saturation_take(s, r->op, from);
		fine = saturation_close(s) && saturation_settle(s);
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
	saturation_places(s);
	for (uint32_t i = 0; i < count; i++) {
		if (s->source[s->open[reads[i]].op] == SOURCE_OPEN)
			choose_source(s, &s->open[reads[i]]);
	}
	fine = saturation_close(s) && saturation_settle(s);
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

	saturation_places(s);
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
	mem_free(reads);
	return fine;
}

/* Decides what is open, some reads and then some keys at a time, by a topological sort, and what
 * follows from it.  True: every key is ordered, every read has a source and there is no cycle,
 * which proves the level. False proves nothing. */
bool saturation_decide(struct saturation *s, uint32_t *commits)
{
	uint32_t *keys = mem_realloc(NULL, s->v->key_count, sizeof(*keys));
	bool fine = !s->vague && !saturation_tired(s);

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
	mem_free(keys);
	fine = fine && !saturation_tired(s);
	if (s->open_count && s->work > WORK_MAX)
		*s->more -= s->work - WORK_MAX < *s->more ? s->work - WORK_MAX : *s->more;
	if (fine && saturation_executes(s)) {
		saturation_places(s);
		for (uint32_t t = 0; t < s->v->txn_count; t++)
			commits[t] = s->place[commit_of(s, t)];
	}
	return fine;
}
