/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/weak.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/search.h"
#include "common/graph/cycles.h"
#include "values/report.h"

/*
 * The reads and writes of every transaction that counts, flat.  Node txn_count is the initial
 * state: it comes before everything, so that an edge into it is a contradiction, shown as a cycle
 * of two.
 */
struct weak {
	const struct facts *f;
	const struct values *v;
	uint32_t *read_head; /* by transaction; external reads with a known source, in order */
	uint32_t *read_key, *read_from, *read_op;
	uint32_t *write_head; /* by transaction; keys written, ascending */
	uint32_t *write_key;
	uint32_t *index; /* by transaction: place in its session, counting only those that count */
	uint32_t *order; /* of so and wr, topological; order_count < live when there is a cycle */
	uint32_t order_count, live;
	uint32_t initial; /* the node */
	struct graph_builder g;
};

static uint32_t source_of(const struct weak *w, uint32_t op)
{
	const struct facts *f = w->f;
	const struct values *v = w->v;
	const struct values_op *o = &v->ops[op];
	uint32_t item;

	if (!(f->notes[op] & OP_EXTERNAL))
		return VALUES_NONE;
	if (o->kind == VALUES_READ) {
		item = o->value;
	} else if (o->kind == VALUES_READ_LIST) {
		if (f->seen[op] == 0)
			return w->initial;
		item = (o->flags & VALUES_OP_OWN_LIST)
			       ? v->lists[o->value + f->seen[op]]
			       : v->order[v->keys[o->key].first_order + f->seen[op] - 1];
	} else {
		return VALUES_NONE;
	}
	if (f->state[item] == WRITER_INITIAL)
		return w->initial;
	return facts_writer(f, item);
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void sort_keys(uint32_t *keys, uint32_t count)
{
	if (count > 16) {
		qsort(keys, count, sizeof(*keys), compare_u32);
		return;
	}
	for (uint32_t i = 1; i < count; i++) {
		uint32_t key = keys[i], j = i;

		for (; j > 0 && keys[j - 1] > key; j--)
			keys[j] = keys[j - 1];
		keys[j] = key;
	}
}

static void collect(struct weak *w)
{
	const struct values *v = w->v;
	size_t reads = 0, writes = 0;

	w->read_head = mem_zero((size_t)v->txn_count + 1, sizeof(uint32_t));
	w->write_head = mem_zero((size_t)v->txn_count + 1, sizeof(uint32_t));
	w->read_key = mem_realloc(NULL, v->op_count, sizeof(uint32_t));
	w->read_from = mem_realloc(NULL, v->op_count, sizeof(uint32_t));
	w->read_op = mem_realloc(NULL, v->op_count, sizeof(uint32_t));
	w->write_key = mem_realloc(NULL, v->op_count, sizeof(uint32_t));
	for (uint32_t t = 0; t < v->txn_count; t++) {
		const struct values_txn *txn = &v->txns[t];

		w->read_head[t] = (uint32_t)reads;
		w->write_head[t] = (uint32_t)writes;
		if (!w->f->counts[t])
			continue;
		w->live++;
		for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
			uint32_t from;

			if (values_is_write(&v->ops[i])) {
				if (w->f->notes[i] & OP_FINAL)
					w->write_key[writes++] = v->ops[i].key;
				continue;
			}
			from = source_of(w, i);
			if (from == VALUES_NONE || from == t)
				continue;
			w->read_key[reads] = v->ops[i].key;
			w->read_from[reads] = from;
			w->read_op[reads++] = i;
		}
		sort_keys(w->write_key + w->write_head[t], (uint32_t)writes - w->write_head[t]);
	}
	w->read_head[v->txn_count] = (uint32_t)reads;
	w->write_head[v->txn_count] = (uint32_t)writes;
	w->index = mem_zero(v->txn_count, sizeof(uint32_t));
	for (uint32_t s = 0; s < v->session_count; s++) {
		uint32_t at = 0;

		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[s].first_txn + i];

			w->index[t] = at;
			at += w->f->counts[t];
		}
	}
}

static bool writes_key(const struct weak *w, uint32_t t, uint32_t key)
{
	uint32_t end = w->write_head[t + 1];
	uint32_t at = FIRST_WHERE(i, w->write_head[t], end, w->write_key[i] >= key);

	return at < end && w->write_key[at] == key;
}

/* t2 before t1, because of the read `op`. */
static void force(struct weak *w, uint32_t t2, uint32_t t1, uint32_t op)
{
	if (t2 == t1 || t2 == w->initial)
		return;
	graph_builder_add(&w->g, t2, t1, GRAPH_WW, op);
	if (t1 == w->initial)
		graph_builder_add(&w->g, t1, t2, GRAPH_SESSION, op);
}

/* ------------------------------------------------------------------------------ be-RC */

/* What the current transaction reads of a key. */
struct key_reads {
	uint32_t txn;
	uint32_t first, last; /* places in read_*; linked by next_same */
	uint32_t at;          /* the first after the current place */
};

struct reader {
	struct weak *w;
	struct key_reads *keys;
	uint32_t *seen;      /* by transaction and the initial state: last reader of it */
	uint32_t *next_same; /* by read: the next of the same key */
};

static void reader_init(struct reader *r, struct weak *w)
{
	const struct values *v = w->v;

	r->w = w;
	r->keys = mem_realloc(NULL, v->key_count, sizeof(*r->keys));
	for (uint32_t k = 0; k < v->key_count; k++)
		r->keys[k].txn = VALUES_NONE;
	r->seen = mem_realloc(NULL, (size_t)v->txn_count + 1, sizeof(*r->seen));
	memset(r->seen, 0xff, ((size_t)v->txn_count + 1) * sizeof(*r->seen));
	r->next_same = mem_realloc(NULL, w->read_head[v->txn_count], sizeof(*r->next_same));
}

static void reader_release(struct reader *r)
{
	mem_free(r->keys);
	mem_free(r->seen);
	mem_free(r->next_same);
}

/* Links the reads of t by key; a change of source between two of one key is an edge already. */
static void link_reads(struct reader *r, uint32_t t, bool both_ways)
{
	struct weak *w = r->w;

	for (uint32_t p = w->read_head[t]; p < w->read_head[t + 1]; p++) {
		struct key_reads *k = &r->keys[w->read_key[p]];

		r->next_same[p] = VALUES_NONE;
		if (k->txn != t) {
			*k = (struct key_reads){t, p, p, p};
			continue;
		}
		if (w->read_from[k->last] != w->read_from[p]) {
			force(w, w->read_from[k->last], w->read_from[p], w->read_op[p]);
			if (both_ways)
				force(w, w->read_from[p], w->read_from[k->last],
					w->read_op[k->last]);
		}
		r->next_same[k->last] = p;
		k->last = p;
	}
}

/* t reads from t2 at place p first: a read of key after it must not be older. */
static void later_read(struct reader *r, uint32_t t, uint32_t t2, uint32_t p, uint32_t key)
{
	struct key_reads *k = &r->keys[key];

	if (k->txn != t)
		return;
	while (k->at != VALUES_NONE && k->at <= p)
		k->at = r->next_same[k->at];
	if (k->at != VALUES_NONE)
		force(r->w, t2, r->w->read_from[k->at], r->w->read_op[k->at]);
}

static void read_committed(struct weak *w)
{
	struct reader r;

	reader_init(&r, w);
	for (uint32_t t = 0; t < w->v->txn_count; t++) {
		uint32_t count = w->read_head[t + 1] - w->read_head[t];

		if (count < 2)
			continue;
		link_reads(&r, t, false);
		for (uint32_t p = w->read_head[t]; p + 1 < w->read_head[t + 1]; p++) {
			uint32_t t2 = w->read_from[p];

			if (t2 == w->initial || r.seen[t2] == t)
				continue;
			r.seen[t2] = t;
			if (w->write_head[t2 + 1] - w->write_head[t2] <= w->read_head[t + 1] - p) {
				for (uint32_t i = w->write_head[t2]; i < w->write_head[t2 + 1]; i++)
					later_read(&r, t, t2, p, w->write_key[i]);
			} else {
				for (uint32_t q = p + 1; q < w->read_head[t + 1]; q++) {
					if (writes_key(w, t2, w->read_key[q]))
						later_read(&r, t, t2, p, w->read_key[q]);
				}
			}
		}
	}
	reader_release(&r);
}

/* ------------------------------------------------------------------------------ be-RA */

static void any_read(struct reader *r, uint32_t t, uint32_t t2, uint32_t key)
{
	struct key_reads *k = &r->keys[key];

	if (k->txn == t)
		force(r->w, t2, r->w->read_from[k->first], r->w->read_op[k->first]);
}

/* The sources of t's reads: none of them may have written a key that t reads from before it. */
static void read_atomic_sources(struct reader *r, uint32_t t)
{
	struct weak *w = r->w;

	for (uint32_t p = w->read_head[t]; p < w->read_head[t + 1]; p++) {
		uint32_t t2 = w->read_from[p];

		if (t2 == w->initial || r->seen[t2] == t)
			continue;
		r->seen[t2] = t;
		if (w->write_head[t2 + 1] - w->write_head[t2] <=
			w->read_head[t + 1] - w->read_head[t]) {
			for (uint32_t i = w->write_head[t2]; i < w->write_head[t2 + 1]; i++)
				any_read(r, t, t2, w->write_key[i]);
		} else {
			for (uint32_t q = w->read_head[t]; q < w->read_head[t + 1]; q++) {
				if (writes_key(w, t2, w->read_key[q]))
					any_read(r, t, t2, w->read_key[q]);
			}
		}
	}
}

struct last_writer {
	uint32_t session, txn;
};

static void read_atomic(struct weak *w)
{
	const struct values *v = w->v;
	struct reader r;
	struct last_writer *last = mem_realloc(NULL, v->key_count, sizeof(*last));

	for (uint32_t k = 0; k < v->key_count; k++)
		last[k].session = VALUES_NONE;
	reader_init(&r, w);
	for (uint32_t s = 0; s < v->session_count; s++) {
		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[s].first_txn + i];

			if (!w->f->counts[t])
				continue;
			link_reads(&r, t, true);
			read_atomic_sources(&r, t);
			for (uint32_t p = w->read_head[t]; p < w->read_head[t + 1]; p++) {
				struct last_writer *l = &last[w->read_key[p]];

				if (l->session == s)
					force(w, l->txn, w->read_from[p], w->read_op[p]);
			}
			for (uint32_t k = w->write_head[t]; k < w->write_head[t + 1]; k++)
				last[w->write_key[k]] = (struct last_writer){s, t};
		}
	}
	reader_release(&r);
	mem_free(last);
}

/* ------------------------------------------------------------------------------ be-CC */

/* The writers of each key, by session, then in session order. */
struct writers_index {
	uint32_t *head;                        /* by key: its groups */
	uint32_t *group_session, *group_start; /* by group; a sentinel after the last */
	uint32_t *txn;
};

static void index_writers(const struct weak *w, struct writers_index *x)
{
	const struct values *v = w->v;
	size_t total = w->write_head[v->txn_count];
	uint32_t *start = mem_zero((size_t)v->key_count + 1, sizeof(*start));
	uint32_t groups = 0;

	for (size_t i = 0; i < total; i++)
		start[w->write_key[i] + 1]++;
	for (uint32_t k = 0; k < v->key_count; k++)
		start[k + 1] += start[k];
	x->txn = mem_realloc(NULL, total, sizeof(uint32_t));
	for (uint32_t s = 0; s < v->session_count; s++) {
		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[s].first_txn + i];

			for (uint32_t k = w->write_head[t]; k < w->write_head[t + 1]; k++)
				x->txn[start[w->write_key[k]]++] = t;
		}
	}
	/* start[k] is now where k ends; groups are where the session changes. */
	x->head = mem_zero((size_t)v->key_count + 1, sizeof(uint32_t));
	x->group_session = mem_realloc(NULL, total + 1, sizeof(uint32_t));
	x->group_start = mem_realloc(NULL, total + 1, sizeof(uint32_t));
	for (uint32_t k = 0, i = 0; k < v->key_count; k++) {
		x->head[k] = groups;
		for (uint32_t first = i; i < start[k]; i++) {
			uint32_t s = v->txns[x->txn[i]].session;

			if (i == first || v->txns[x->txn[i - 1]].session != s) {
				x->group_session[groups] = s;
				x->group_start[groups++] = i;
			}
		}
	}
	x->head[v->key_count] = groups;
	x->group_start[groups] = (uint32_t)total;
	mem_free(start);
}

static void release_writers(struct writers_index *x)
{
	mem_free(x->head);
	mem_free(x->group_session);
	mem_free(x->group_start);
	mem_free(x->txn);
}

/* Clocks: by session, how many of its transactions happened before.  Kept only while a transaction that
 * has yet to come reads from the transaction or follows it in its session. */
struct clocks {
	uint32_t width;
	uint32_t *pool;
	size_t pool_capacity, pool_used;
	uint32_t *free_list;
	size_t free_count, free_capacity;
	uint32_t *slot;  /* by transaction */
	uint32_t *users; /* by transaction: still to come */
};

static uint32_t clock_new(struct clocks *c)
{
	if (c->free_count)
		return c->free_list[--c->free_count];
	MEM_RESERVE(c->pool, (c->pool_used + 1) * c->width, c->pool_capacity);
	return (uint32_t)c->pool_used++;
}

static uint32_t *clock_at(struct clocks *c, uint32_t slot)
{
	return c->pool + (size_t)slot * c->width;
}

static void clock_done(struct clocks *c, uint32_t t)
{
	if (--c->users[t] > 0)
		return;
	MEM_RESERVE(c->free_list, c->free_count + 1, c->free_capacity);
	c->free_list[c->free_count++] = c->slot[t];
}

static uint32_t previous_in_session(const struct weak *w, const uint32_t *last, uint32_t t)
{
	return last[w->v->txns[t].session];
}

/* t3 = t reads key from t1: the last writers of the key, one a session, that happen before t. */
static void causal_read(struct weak *w, struct clocks *c, const struct writers_index *x,
	const uint32_t *clock, uint32_t read)
{
	const struct values *v = w->v;
	uint32_t key = w->read_key[read], t1 = w->read_from[read];
	const uint32_t *source = t1 == w->initial ? NULL : clock_at(c, c->slot[t1]);

	for (uint32_t g = x->head[key]; g < x->head[key + 1]; g++) {
		uint32_t s = x->group_session[g], low = x->group_start[g];
		uint32_t high = x->group_start[g + 1], t2;

		if (clock[s] == 0 || w->index[x->txn[low]] >= clock[s])
			continue;
		/* The last one with index below the clock. */
		while (high - low > 1) {
			uint32_t middle = low + (high - low) / 2;

			if (w->index[x->txn[middle]] < clock[s])
				low = middle;
			else
				high = middle;
		}
		t2 = x->txn[low];
		if (t2 == t1)
			continue;
		/* Known already: t2 happens before t1. */
		if (source && (v->txns[t1].session == s ? w->index[t2] < w->index[t1]
							: w->index[t2] < source[s]))
			continue;
		force(w, t2, t1, w->read_op[read]);
	}
}

/* Topological order of session order and reads; order_count says how far it came. */
static void sort_history(struct weak *w, uint32_t *users)
{
	const struct values *v = w->v;
	uint32_t *missing = mem_zero(v->txn_count, sizeof(*missing));
	uint32_t *head = mem_zero((size_t)v->txn_count + 2, sizeof(*head)); /* readers of each */
	uint32_t *out = mem_realloc(NULL, w->read_head[v->txn_count] + 1, sizeof(*out));
	uint32_t *next = mem_realloc(NULL, v->txn_count, sizeof(*next)); /* in session */
	uint32_t tail = 0;

	memset(next, 0xff, v->txn_count * sizeof(*next));
	for (uint32_t s = 0; s < v->session_count; s++) {
		uint32_t last = VALUES_NONE;

		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[s].first_txn + i];

			if (!w->f->counts[t])
				continue;
			if (last != VALUES_NONE) {
				next[last] = t;
				missing[t]++;
				users[last]++;
			}
			last = t;
		}
	}
	for (uint32_t t = 0; t < v->txn_count; t++) {
		for (uint32_t p = w->read_head[t]; p < w->read_head[t + 1]; p++) {
			if (w->read_from[p] == w->initial)
				continue;
			head[w->read_from[p] + 2]++;
			missing[t]++;
			users[w->read_from[p]]++;
		}
	}
	for (uint32_t t = 0; t < v->txn_count; t++)
		head[t + 2] += head[t + 1];
	for (uint32_t t = 0; t < v->txn_count; t++) {
		for (uint32_t p = w->read_head[t]; p < w->read_head[t + 1]; p++) {
			if (w->read_from[p] != w->initial)
				out[head[w->read_from[p] + 1]++] = t;
		}
	}
	/* The readers of u are now at head[u] .. head[u + 1). */
	w->order = mem_realloc(NULL, v->txn_count, sizeof(uint32_t));
	for (uint32_t t = 0; t < v->txn_count; t++) {
		if (w->f->counts[t] && missing[t] == 0)
			w->order[tail++] = t;
	}
	for (uint32_t at = 0; at < tail; at++) {
		uint32_t t = w->order[at];

		for (uint32_t e = head[t]; e < head[t + 1]; e++) {
			if (--missing[out[e]] == 0)
				w->order[tail++] = out[e];
		}
		if (next[t] != VALUES_NONE && --missing[next[t]] == 0)
			w->order[tail++] = next[t];
	}
	w->order_count = tail;
	mem_free(missing);
	mem_free(head);
	mem_free(out);
	mem_free(next);
}

static void causal(struct weak *w)
{
	const struct values *v = w->v;
	struct clocks c = {.width = v->session_count ? v->session_count : 1};
	struct writers_index x;
	uint32_t *last = mem_realloc(NULL, v->session_count, sizeof(*last));

	memset(last, 0xff, v->session_count * sizeof(*last));
	c.users = mem_zero(v->txn_count, sizeof(uint32_t));
	c.slot = mem_realloc(NULL, v->txn_count, sizeof(uint32_t));
	sort_history(w, c.users);
	index_writers(w, &x);
	for (uint32_t at = 0; at < w->order_count; at++) {
		uint32_t t = w->order[at], slot = clock_new(&c);
		uint32_t before = previous_in_session(w, last, t);
		uint32_t *clock = clock_at(&c, slot);

		if (before == VALUES_NONE) {
			memset(clock, 0, c.width * sizeof(*clock));
		} else {
			memcpy(clock, clock_at(&c, c.slot[before]), c.width * sizeof(*clock));
			clock[v->txns[t].session] = w->index[before] + 1;
		}
		for (uint32_t p = w->read_head[t]; p < w->read_head[t + 1]; p++) {
			uint32_t from = w->read_from[p];
			const uint32_t *other;

			if (from == w->initial ||
				(p > w->read_head[t] && w->read_from[p - 1] == from))
				continue;
			other = clock_at(&c, c.slot[from]);
			for (uint32_t s = 0; s < c.width; s++)
				clock[s] = clock[s] > other[s] ? clock[s] : other[s];
			if (clock[v->txns[from].session] < w->index[from] + 1)
				clock[v->txns[from].session] = w->index[from] + 1;
		}
		for (uint32_t p = w->read_head[t]; p < w->read_head[t + 1]; p++)
			causal_read(w, &c, &x, clock, p);
		c.slot[t] = slot;
		last[v->txns[t].session] = t;
		if (before != VALUES_NONE)
			clock_done(&c, before);
		for (uint32_t p = w->read_head[t]; p < w->read_head[t + 1]; p++) {
			if (w->read_from[p] != w->initial)
				clock_done(&c, w->read_from[p]);
		}
		if (c.users[t] == 0) {
			c.users[t] = 1;
			clock_done(&c, t);
		}
	}
	release_writers(&x);
	mem_free(last);
	mem_free(c.pool);
	mem_free(c.free_list);
	mem_free(c.slot);
	mem_free(c.users);
}

/* --------------------------------------------------------------------------------- all */

/* Session order, reads, and the order that lists show. */
static void base_edges(struct weak *w)
{
	const struct values *v = w->v;

	graph_builder_init(&w->g, v->txn_count + 1);
	for (uint32_t s = 0; s < v->session_count; s++) {
		uint32_t last = VALUES_NONE;

		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[s].first_txn + i];

			if (!w->f->counts[t])
				continue;
			if (last != VALUES_NONE)
				graph_builder_add(&w->g, last, t, GRAPH_SESSION, 0);
			last = t;
		}
	}
	for (uint32_t t = 0; t < v->txn_count; t++) {
		for (uint32_t p = w->read_head[t]; p < w->read_head[t + 1]; p++) {
			if (w->read_from[p] != w->initial)
				graph_builder_add(
					&w->g, w->read_from[p], t, GRAPH_WR, w->read_op[p]);
		}
	}
}

static const char *const weak_names[WEAK_LEVEL_COUNT] = {"be-RC", "be-RA", "be-CC"};

/* The shortest cycles, one a component. */
static void report(struct weak *w, const struct graph *graph, enum weak_level level,
	uint32_t examples, struct verdict *out)
{
	struct cycles cycles;
	struct cycles_options options = {.session = true};
	uint64_t listed = 0;
	size_t first = SIZE_MAX;
	uint32_t component = GRAPH_NONE;

	cycles_find(&cycles, graph, &options);
	for (size_t i = 0; i < cycles.count; i++) {
		const struct cycle *best = &cycles.cycles[i];

		if (best->component == component)
			continue;
		component = best->component;
		for (size_t k = i + 1; k < cycles.count; k++) {
			if (cycles.cycles[k].component == component &&
				cycles.cycles[k].length < best->length)
				best = &cycles.cycles[k];
		}
		if (listed++ >= examples) {
			out->findings[first].similar++;
			continue;
		}
		report_cycle(w->f, best, CLASS_LEVEL, weak_names[level], true, out);
		if (first == SIZE_MAX)
			first = out->finding_count - 1;
	}
	cycles_release(&cycles);
}

/* The shortest cycle through the first node of the smallest component: the first violation is
 * enough. */
static void report_first(
	struct weak *w, const struct graph *graph, enum weak_level level, struct verdict *out)
{
	uint32_t *component = mem_realloc(NULL, graph->node_count, sizeof(*component));
	uint32_t *parent = mem_realloc(NULL, graph->node_count, sizeof(*parent)); /* edge */
	uint32_t *from = mem_realloc(NULL, graph->node_count, sizeof(*from));
	/* The root comes twice: at the beginning, and where the cycle is closed. */
	uint32_t *queue = mem_realloc(NULL, (size_t)graph->node_count + 1, sizeof(*queue)), tail = 0;
	uint32_t count = graph_components(graph, GRAPH_MASK_ALL, component), best = 0, root = 0;
	uint32_t *size = mem_zero(count, sizeof(*size)), last = GRAPH_NONE;
	struct cycle cycle = {.class = CYCLE_G2_ITEM, .order = CYCLE_SESSION};

	for (uint32_t n = 0; n < graph->node_count; n++) {
		parent[n] = GRAPH_NONE;
		if (component[n] != GRAPH_NONE)
			size[component[n]]++;
	}
	for (uint32_t c = 1; c < count; c++)
		best = size[c] < size[best] ? c : best;
	while (component[root] != best)
		root++;
	queue[tail++] = root;
	for (uint32_t at = 0; last == GRAPH_NONE; at++) {
		uint32_t n = queue[at];

		for (uint32_t e = graph->head[n]; e < graph->head[n + 1]; e++) {
			uint32_t to = graph->to[e];

			if (component[to] != best || parent[to] != GRAPH_NONE)
				continue;
			parent[to] = e;
			from[to] = n;
			queue[tail++] = to;
			last = to == root ? n : last;
		}
	}
	cycle.steps = mem_realloc(NULL, tail, sizeof(*cycle.steps));
	for (uint32_t n = root; cycle.length == 0 || n != root; n = from[n]) {
		uint32_t e = parent[n];

		cycle.steps[cycle.length++] = (struct cycle_step){
			from[n], n, graph->detail[e], (enum graph_kind)graph->kind[e]};
	}
	for (uint32_t i = 0; i < cycle.length / 2; i++) {
		struct cycle_step swap = cycle.steps[i];

		cycle.steps[i] = cycle.steps[cycle.length - 1 - i];
		cycle.steps[cycle.length - 1 - i] = swap;
	}
	report_cycle(w->f, &cycle, CLASS_LEVEL, weak_names[level], true, out);
	mem_free(cycle.steps);
	mem_free(size);
	mem_free(component);
	mem_free(parent);
	mem_free(from);
	mem_free(queue);
}

static bool holds(struct weak *w, enum weak_level level, uint32_t examples, bool first,
	struct verdict *out)
{
	struct graph graph;
	uint8_t *inside;
	bool acyclic;

	base_edges(w);
	switch (level) {
	case WEAK_RC:
		read_committed(w);
		break;
	case WEAK_RA:
		read_atomic(w);
		break;
	case WEAK_CC:
		causal(w);
		break;
	}
	inside = mem_zero(w->g.node_count, 1);
	graph_builder_prune(&w->g, inside);
	mem_free(inside);
	graph_build(&graph, &w->g);
	acyclic = graph_is_acyclic(&graph, GRAPH_MASK_ALL);
	if (!acyclic && first)
		report_first(w, &graph, level, out);
	else if (!acyclic)
		report(w, &graph, level, examples, out);
	graph_release(&graph);
	return acyclic;
}

void weak_judge(const struct facts *f, enum weak_level strongest, uint32_t examples, bool first,
	enum level_answer answers[WEAK_LEVEL_COUNT], struct verdict *out)
{
	struct weak w = {.f = f, .v = f->v, .initial = f->v->txn_count};
	const struct anomalies *a = f->anomalies;
	bool inconsistent = a[ANOMALY_G1A].count || a[ANOMALY_G1B].count ||
			    a[ANOMALY_GARBAGE].count || a[ANOMALY_FUTURE].count || f->own_missed;
	bool ambiguous = f->reads_ambiguous > 0;

	for (int l = 0; first && l < WEAK_LEVEL_COUNT; l++)
		answers[l] = l == (int)strongest && inconsistent ? LEVEL_FAILS : LEVEL_UNDECIDED;
	if (first && inconsistent)
		return;
	collect(&w);
	/* The strongest first: when it holds, so do the others. */
	for (int l = WEAK_LEVEL_COUNT - 1; l > (int)strongest; l--)
		answers[l] = LEVEL_UNDECIDED;
	for (int l = (int)strongest; l >= 0; l--) {
		if (l < (int)strongest && answers[l + 1] != LEVEL_FAILS) {
			answers[l] = answers[l + 1];
			continue;
		}
		if (first && l < (int)strongest)
			break;
		if (!holds(&w, (enum weak_level)l, examples, first, out) || inconsistent)
			answers[l] = LEVEL_FAILS;
		else
			answers[l] = ambiguous ? LEVEL_UNDECIDED : LEVEL_HOLDS;
		mem_free(w.order);
		w.order = NULL;
	}
	mem_free(w.read_head);
	mem_free(w.read_key);
	mem_free(w.read_from);
	mem_free(w.read_op);
	mem_free(w.write_head);
	mem_free(w.write_key);
	mem_free(w.index);
}
