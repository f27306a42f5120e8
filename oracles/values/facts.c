/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"

enum finding_class anomaly_finding_class(enum anomaly_class class)
{
	static const enum finding_class classes[ANOMALY_CLASS_COUNT] = {
		[ANOMALY_G1A] = CLASS_G1A,
		[ANOMALY_G1B] = CLASS_G1B,
		[ANOMALY_GARBAGE] = CLASS_GARBAGE_READ,
		[ANOMALY_INTERNAL] = CLASS_INTERNAL,
		[ANOMALY_FUTURE] = CLASS_FUTURE_READ,
		[ANOMALY_LOST_UPDATE] = CLASS_LOST_UPDATE,
		[ANOMALY_DUPLICATE] = CLASS_DUPLICATE_ELEMENTS,
		[ANOMALY_INCOMPATIBLE] = CLASS_INCOMPATIBLE_ORDER,
		[ANOMALY_DIRTY_UPDATE] = CLASS_DIRTY_UPDATE,
	};

	return classes[class];
}

static void note(struct facts *f, enum anomaly_class class, struct anomaly anomaly)
{
	struct anomalies *a = &f->anomalies[class];

	if (a->count < ANOMALY_EXAMPLES_MAX)
		a->examples[a->count] = anomaly;
	a->count++;
}

/* ---------------------------------------------------------------------- which transactions count */

/* The writers of an item, first and further ones. */
struct writers {
	const struct values *v;
	uint32_t item, next_dup, at;
};

static struct writers writers_of(const struct values *v, uint32_t item)
{
	struct writers w = {v, item, v->dup_count, 0};

	if (v->items[item].write_count > 1)
		w.next_dup = values_first_dup(v, item);
	return w;
}

/* The next write op of the item, or NONE. */
static uint32_t next_writer(struct writers *w)
{
	if (w->at++ == 0)
		return w->v->items[w->item].first_write;
	if (w->next_dup < w->v->dup_count && w->v->dups[w->next_dup].item == w->item)
		return w->v->dups[w->next_dup++].op;
	return VALUES_NONE;
}

struct counting {
	struct facts *f;
	uint32_t *queue;
	uint32_t queued;
	uint8_t *observed;   /* by item */
	uint32_t *list_seen; /* by key: list items already observed */
};

/* A transaction that counts read this item: its only possible writer, if the outcome is unknown,
 * counts too. */
static void observe(struct counting *c, uint32_t item)
{
	const struct values *v = c->f->v;
	struct writers w;
	uint32_t op, candidate = VALUES_NONE;

	if (c->observed[item])
		return;
	c->observed[item] = 1;
	if (v->items[item].initial)
		return;
	w = writers_of(v, item);
	while ((op = next_writer(&w)) != VALUES_NONE) {
		uint32_t t = v->ops[op].txn;

		if (c->f->counts[t])
			return;
		if (v->txns[t].outcome == VALUES_UNKNOWN) {
			if (candidate != VALUES_NONE && candidate != t)
				return; /* two of them: WRITER_SEVERAL says so later */
			candidate = t;
		}
	}
	if (candidate != VALUES_NONE) {
		c->f->counts[candidate] = 1;
		c->f->unknown_counted++;
		c->queue[c->queued++] = candidate;
	}
}

static void observe_txn(struct counting *c, uint32_t t)
{
	const struct values *v = c->f->v;
	const struct values_txn *txn = &v->txns[t];

	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
		const struct values_op *op = &v->ops[i];

		if (op->kind == VALUES_READ) {
			observe(c, op->value);
		} else if (op->kind == VALUES_READ_LIST && (op->flags & VALUES_OP_OWN_LIST)) {
			for (uint32_t e = 1; e <= v->lists[op->value]; e++)
				observe(c, v->lists[op->value + e]);
		} else if (op->kind == VALUES_READ_LIST) {
			const uint32_t *order = v->order + v->keys[op->key].first_order;

			for (uint32_t e = c->list_seen[op->key]; e < op->value; e++)
				observe(c, order[e]);
			if (op->value > c->list_seen[op->key])
				c->list_seen[op->key] = op->value;
		} else if (op->kind == VALUES_PREDICATE) {
			const struct values_predicate *p = &v->predicates[op->value];

			for (uint32_t m = 0; m < p->match_count; m++)
				observe(c, v->matches[p->first_match + m]);
		}
	}
}

static void find_counting(struct facts *f)
{
	const struct values *v = f->v;
	struct counting c = {.f = f};
	bool unknown = false;

	for (uint32_t t = 0; t < v->txn_count; t++) {
		f->counts[t] = v->txns[t].outcome == VALUES_COMMITTED;
		unknown |= v->txns[t].outcome == VALUES_UNKNOWN;
	}
	if (!unknown)
		return;
	c.queue = mem_realloc(NULL, v->txn_count, sizeof(*c.queue));
	c.observed = mem_zero(v->item_count, 1);
	c.list_seen = mem_zero(v->key_count, sizeof(*c.list_seen));
	for (uint32_t t = 0; t < v->txn_count; t++) {
		if (v->txns[t].outcome == VALUES_COMMITTED)
			observe_txn(&c, t);
	}
	for (uint32_t i = 0; i < c.queued; i++)
		observe_txn(&c, c.queue[i]);
	mem_free(c.queue);
	mem_free(c.observed);
	mem_free(c.list_seen);
}

/* --------------------------------------------------------------------- writers and what they wrote */

static void find_writers(struct facts *f)
{
	const struct values *v = f->v;

	for (uint32_t i = 0; i < v->item_count; i++) {
		struct writers w;
		uint32_t op, found = VALUES_NONE;
		bool several = false, written = v->items[i].first_write != VALUES_NONE;

		w = writers_of(v, i);
		while ((op = next_writer(&w)) != VALUES_NONE) {
			uint32_t t = v->ops[op].txn;

			if (!f->counts[t]) {
				/* That no transaction is known to have read from it does not mean that it
				 * was not the one. */
				several |= v->txns[t].outcome == VALUES_UNKNOWN &&
					   v->items[i].write_count > 1;
				continue;
			}
			/* One element appended twice by one: which of them was seen is open. */
			several |= found != VALUES_NONE &&
				   (v->ops[found].txn != t || v->ops[op].kind == VALUES_APPEND);
			found = op; /* of one transaction: the last */
		}
		f->writer[i] = found;
		if (found != VALUES_NONE)
			f->state[i] = several || v->items[i].initial ? WRITER_SEVERAL : WRITER_ONE;
		else if (v->items[i].initial)
			f->state[i] = several ? WRITER_SEVERAL : WRITER_INITIAL;
		else if (several)
			f->state[i] = WRITER_SEVERAL;
		else
			f->state[i] = written ? WRITER_ABORTED : WRITER_NOBODY;
		/* What the key held at first, or what a transaction wrote that may not have committed. */
		if (f->state[i] == WRITER_INITIAL && written) {
			w = writers_of(v, i);
			while ((op = next_writer(&w)) != VALUES_NONE) {
				if (v->txns[v->ops[op].txn].outcome == VALUES_UNKNOWN)
					f->state[i] = WRITER_SEVERAL;
			}
		}
		if (f->state[i] == WRITER_ONE) {
			f->writer_txn[i] = v->ops[found].txn;
			f->care[i] = f->notes[found] & OP_FINAL ? 0 : ITEM_INTERMEDIATE;
		} else if (f->state[i] == WRITER_SEVERAL) {
			f->care[i] = ITEM_SEVERAL;
			f->ambiguous_list |=
				written && v->ops[v->items[i].first_write].kind == VALUES_APPEND;
		}
	}
}

/* -------------------------------------------------------------- inside a transaction */

/* What a transaction has done with a key so far; valid while txn is the current one. */
struct key_state {
	uint32_t txn;
	uint32_t last;  /* op: its last read or write; NONE */
	uint32_t own;   /* appends so far */
	uint32_t known; /* length of the list before them, as last read; NONE: not read */
	uint32_t read;  /* op: first external read; NONE */
	uint32_t since; /* appends since the last read */
	uint32_t *next; /* where to say what it wrote last; NULL: a blind write */
	bool wrote;
};

struct reading {
	struct facts *f;
	struct key_state *keys;
	uint32_t t;
};

static struct key_state *key_state(struct reading *r, uint32_t key)
{
	struct key_state *k = &r->keys[key];

	if (k->txn != r->t)
		*k = (struct key_state){
			r->t, VALUES_NONE, 0, VALUES_NONE, VALUES_NONE, 0, NULL, false};
	return k;
}

/* Is there a write of the item in transaction t from op `from` on (before `to`)? */
static bool writes_item(const struct values *v, uint32_t from, uint32_t to, uint32_t item)
{
	for (uint32_t i = from; i < to; i++) {
		if (values_is_write(&v->ops[i]) && v->ops[i].value == item)
			return true;
	}
	return false;
}

static uint32_t txn_end(const struct values *v, uint32_t t)
{
	return v->txns[t].first_op + v->txns[t].op_count;
}

/* Judges where a value came from that was read from others. */
static void judge_item(struct reading *r, uint32_t op, uint32_t key, uint32_t item)
{
	struct facts *f = r->f;
	const struct values *v = f->v;
	struct anomaly a = {r->t, op, VALUES_NONE, key, item};

	f->reads++;
	switch ((enum writer_state)f->state[item]) {
	case WRITER_ONE:
		a.other = f->writer_txn[item];
		if (f->care[item] == ITEM_INTERMEDIATE)
			note(f, ANOMALY_G1B, a);
		return;
	case WRITER_INITIAL:
		return;
	case WRITER_ABORTED:
		a.other = v->ops[v->items[item].first_write].txn;
		note(f, ANOMALY_G1A, a);
		return;
	case WRITER_NOBODY:
		note(f, ANOMALY_GARBAGE, a);
		return;
	case WRITER_SEVERAL:
		f->reads_ambiguous++;
		return;
	}
}

/* The first write of a key: of which version, read before, is it the next?  False: not known. */
static bool note_overwrite(struct reading *r, uint32_t key, struct key_state *k)
{
	struct facts *f = r->f;
	const struct values *v = f->v;
	const struct values_op *read;
	uint32_t item = VALUES_NONE, *slot;

	if (k->read == VALUES_NONE)
		return false;
	read = &v->ops[k->read];
	if (read->kind == VALUES_READ) {
		if (f->state[read->value] == WRITER_ONE)
			item = read->value;
		else if (f->state[read->value] != WRITER_INITIAL)
			return false;
	} else if (f->seen[k->read] != 0) {
		uint32_t n = f->seen[k->read] - 1;

		item = read->flags & VALUES_OP_OWN_LIST ? v->lists[read->value + 1 + n]
							: v->order[v->keys[key].first_order + n];
		if (f->state[item] != WRITER_ONE)
			return false;
	}
	slot = item == VALUES_NONE ? &f->overwriter_initial[key] : &f->overwriter[item];
	if (*slot == VALUES_NONE) {
		*slot = r->t;
		k->next = item == VALUES_NONE ? &f->next_initial[key] : &f->next[item];
	} else if (*slot != r->t) {
		note(f, ANOMALY_LOST_UPDATE, (struct anomaly){r->t, k->read, *slot, key, item});
	}
	return true;
}

static void register_read(struct reading *r, uint32_t at)
{
	struct facts *f = r->f;
	const struct values *v = f->v;
	const struct values_op *op = &v->ops[at];
	struct key_state *k = key_state(r, op->key);
	uint32_t first = v->txns[r->t].first_op, end = txn_end(v, r->t);
	struct anomaly a = {r->t, at, VALUES_NONE, op->key, op->value};
	bool mine_before = k->wrote && writes_item(v, first, at, op->value);
	/* Of others' values only: a value that another transaction wrote, too, may be theirs. */
	bool mine_later = !mine_before && f->state[op->value] == WRITER_ONE &&
			  f->writer_txn[op->value] == r->t &&
			  writes_item(v, at + 1, end, op->value);

	if (mine_later) {
		note(f, ANOMALY_FUTURE, a);
	} else if (k->last != VALUES_NONE && v->ops[k->last].value != op->value) {
		/* Its own last read or write of the key was of another value. */
		note(f, ANOMALY_INTERNAL, a);
		f->own_missed += k->wrote;
	}
	if (f->any_initial && f->state[op->value] == WRITER_NOBODY) {
		f->left_out++;
	} else if (!mine_before && !mine_later) {
		f->notes[at] |= OP_EXTERNAL;
		if (!k->wrote && k->read == VALUES_NONE)
			k->read = at;
		judge_item(r, at, op->key, op->value);
	}
	k->last = at;
}

/* The items of a list read. */
static const uint32_t *list_of(const struct values *v, const struct values_op *op, uint32_t *count)
{
	if (op->flags & VALUES_OP_OWN_LIST) {
		*count = v->lists[op->value];
		return v->lists + op->value + 1;
	}
	*count = op->value;
	return v->order + v->keys[op->key].first_order;
}

/* Does the list end in exactly the transaction's appends to the key up to op `at`? */
static bool ends_in_own(const struct values *v, uint32_t t, uint32_t at, uint32_t key,
	const uint32_t *list, uint32_t count, uint32_t own)
{
	if (own > count)
		return false;
	for (uint32_t i = at; own && i-- > v->txns[t].first_op;) {
		const struct values_op *op = &v->ops[i];

		if (op->kind != VALUES_APPEND || op->key != key)
			continue;
		if (list[--count] != op->value)
			return false;
		own--;
	}
	return true;
}

/* Is one of the transaction's later appends in the list? */
static bool has_later(const struct values *v, uint32_t t, uint32_t at, const struct values_op *read,
	const uint32_t *list, uint32_t count, const struct facts *f)
{
	for (uint32_t i = at + 1; i < txn_end(v, t); i++) {
		const struct values_op *op = &v->ops[i];
		uint32_t place;

		if (op->kind != VALUES_APPEND || op->key != read->key)
			continue;
		if (f->state[op->value] != WRITER_ONE)
			continue; /* another transaction may have appended it */
		place = f->position[op->value];
		if (!(read->flags & VALUES_OP_OWN_LIST)) {
			if (place != VALUES_NONE && place < count)
				return true;
			continue;
		}
		for (uint32_t e = 0; e < count; e++) {
			if (list[e] == op->value)
				return true;
		}
	}
	return false;
}

static void list_read(struct reading *r, uint32_t at)
{
	struct facts *f = r->f;
	const struct values *v = f->v;
	const struct values_op *op = &v->ops[at];
	struct key_state *k = key_state(r, op->key);
	uint32_t count;
	const uint32_t *list = list_of(v, op, &count);
	struct anomaly a = {r->t, at, VALUES_NONE, op->key, count ? list[count - 1] : VALUES_NONE};
	bool own_tail = ends_in_own(v, r->t, at, op->key, list, count, k->own);

	if (has_later(v, r->t, at, op, list, count, f)) {
		note(f, ANOMALY_FUTURE, a);
	} else if (!own_tail || (k->known != VALUES_NONE && count != k->known + k->since)) {
		note(f, ANOMALY_INTERNAL, a);
		f->own_missed += !own_tail;
	}
	f->notes[at] |= OP_EXTERNAL;
	f->seen[at] = own_tail ? count - k->own : count;
	k->known = count;
	k->since = 0;
	if (k->read == VALUES_NONE && !k->wrote)
		k->read = at;
	k->last = at;
	/* Where its last item came from; aborted and garbage items are found a key at a time. */
	f->reads++;
	if (f->seen[at] > 0) {
		uint32_t item = list[f->seen[at] - 1];

		a.item = item;
		f->reads_ambiguous += f->care[item] == ITEM_SEVERAL;
		if (f->care[item] == ITEM_INTERMEDIATE && f->writer_txn[item] != r->t) {
			a.other = f->writer_txn[item];
			note(f, ANOMALY_G1B, a);
		}
	}
}

static void write_op(struct reading *r, uint32_t at)
{
	const struct values_op *op = &r->f->v->ops[at];
	struct key_state *k = key_state(r, op->key);

	if (!k->wrote && !note_overwrite(r, op->key, k))
		r->f->notes[at] |= OP_BLIND;
	if (k->next && (r->f->notes[at] & OP_FINAL))
		*k->next = op->value;
	k->wrote = true;
	k->last = at;
	if (op->kind == VALUES_APPEND) {
		k->own++;
		k->since++;
	}
}

static void find_final_writes(struct facts *f)
{
	const struct values *v = f->v;
	uint32_t *stamp = mem_realloc(NULL, v->key_count, sizeof(*stamp));

	memset(stamp, 0xff, v->key_count * sizeof(*stamp));
	for (uint32_t t = 0; t < v->txn_count; t++) {
		for (uint32_t i = txn_end(v, t); i-- > v->txns[t].first_op;) {
			const struct values_op *op = &v->ops[i];

			if (!values_is_write(op) || stamp[op->key] == t)
				continue;
			stamp[op->key] = t;
			f->notes[i] |= OP_FINAL;
		}
	}
	mem_free(stamp);
}

/* Transactions that keys are fetched before their turn. */
enum { AHEAD = 6 };

static void judge_reads(struct facts *f)
{
	const struct values *v = f->v;
	struct reading r = {.f = f};

	r.keys = mem_realloc(NULL, v->key_count, sizeof(*r.keys));
	for (uint32_t k = 0; k < v->key_count; k++)
		r.keys[k].txn = VALUES_NONE;
	for (r.t = 0; r.t < v->txn_count; r.t++) {
		uint32_t next = r.t + AHEAD < v->txn_count ? r.t + AHEAD : r.t;

		/* Of many keys hardly any is in the cache when its turn comes. */
		for (uint32_t i = v->txns[next].first_op; i < txn_end(v, next); i++) {
			uint32_t key = v->ops[i].key;

			if (key == VALUES_NONE)
				continue;
			MEM_PREFETCH(&r.keys[key]);
			__builtin_prefetch(&v->keys[key]);
			if (values_is_write(&v->ops[i]))
				__builtin_prefetch(&f->overwriter_initial[key]);
		}
		if (!f->counts[r.t])
			continue;
		for (uint32_t i = v->txns[r.t].first_op; i < txn_end(v, r.t); i++) {
			if (values_is_write(&v->ops[i]))
				write_op(&r, i);
			else if (v->ops[i].kind == VALUES_READ)
				register_read(&r, i);
			else if (v->ops[i].kind == VALUES_READ_LIST)
				list_read(&r, i);
		}
	}
	mem_free(r.keys);
}

static uint32_t *none_array(size_t count)
{
	uint32_t *array = mem_realloc(NULL, count, sizeof(*array));

	memset(array, 0xff, count * sizeof(*array));
	return array;
}

/* -------------------------------------------------------------------- lists by the key */

/* Length that two lists have in common. */
static uint32_t common_items(
	const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count)
{
	uint32_t n = 0;

	while (n < a_count && n < b_count && a[n] == b[n])
		n++;
	return n;
}

/* How often elements are in the current list, and may be: as often as they were appended, and not
 * taken back.  By item. */
struct repeats {
	uint32_t *times, *in; /* in: the read, or the key, that `times` counts for */
	uint32_t *allowed;    /* NONE: not counted yet */
};

static void repeats_init(struct repeats *r, const struct values *v)
{
	r->times = mem_zero(v->item_count, sizeof(uint32_t));
	r->in = none_array(v->item_count);
	r->allowed = none_array(v->item_count);
}

static void repeats_release(struct repeats *r)
{
	mem_free(r->times);
	mem_free(r->in);
	mem_free(r->allowed);
}

/* One more of the element in list `in`: is it there too often?  False: then. */
static bool judge_repeat(struct facts *f, struct repeats *r, struct anomaly a, uint32_t in)
{
	const struct values *v = f->v;
	struct writers w = writers_of(v, a.item);
	uint32_t op;

	r->times[a.item] = r->in[a.item] == in ? r->times[a.item] + 1 : 1;
	r->in[a.item] = in;
	if (r->times[a.item] < 2)
		return true;
	if (r->allowed[a.item] == VALUES_NONE) {
		r->allowed[a.item] = 0;
		while ((op = next_writer(&w)) != VALUES_NONE) {
			bool aborted = v->txns[v->ops[op].txn].outcome == VALUES_ABORTED;

			r->allowed[a.item] += !aborted;
		}
	}
	if (r->times[a.item] <= r->allowed[a.item])
		return true;
	if (r->times[a.item] > v->items[a.item].write_count) {
		note(f, ANOMALY_DUPLICATE, a);
		return false;
	}
	/* One of them is of a transaction that was taken back. */
	w = writers_of(v, a.item);
	do
		op = next_writer(&w);
	while (v->txns[v->ops[op].txn].outcome != VALUES_ABORTED);
	a.other = v->ops[op].txn;
	note(f, ANOMALY_G1A, a);
	return false;
}

/* Lists that are no prefix of their key's longest one. */
static void judge_own_lists(struct facts *f)
{
	const struct values *v = f->v;
	struct repeats repeats = {NULL, NULL, NULL};

	for (uint32_t i = 0; i < v->op_count; i++) {
		const struct values_op *op = &v->ops[i];
		const struct values_key *k = &v->keys[op->key];
		uint32_t count, common;
		const uint32_t *list;

		if (op->kind != VALUES_READ_LIST || !(op->flags & VALUES_OP_OWN_LIST) ||
			!f->counts[op->txn])
			continue;
		list = list_of(v, op, &count);
		common = common_items(list, count, v->order + k->first_order, k->order_count);
		if (common < f->list_end[op->key])
			f->list_end[op->key] = common;
		if (common < count && common < k->order_count)
			note(f, ANOMALY_INCOMPATIBLE,
				(struct anomaly){op->txn, i, VALUES_NONE, op->key, list[common]});
		if (!repeats.times)
			repeats_init(&repeats, v);
		for (uint32_t e = 0; e < count; e++)
			judge_repeat(f, &repeats,
				(struct anomaly){op->txn, i, VALUES_NONE, op->key, list[e]}, i);
		for (uint32_t e = common; e < count; e++) {
			struct anomaly a = {op->txn, i, VALUES_NONE, op->key, list[e]};

			if (f->state[list[e]] == WRITER_ABORTED) {
				a.other = v->ops[v->items[list[e]].first_write].txn;
				note(f, ANOMALY_G1A, a);
			} else if (f->state[list[e]] == WRITER_NOBODY) {
				note(f, ANOMALY_GARBAGE, a);
			}
		}
	}
	repeats_release(&repeats);
}

/* Aborted and garbage items in a key's longest list, each with a transaction that read it. */
static void judge_lists(struct facts *f)
{
	const struct values *v = f->v;
	uint32_t *reader =
		mem_realloc(NULL, v->key_count, sizeof(*reader)); /* op of the longest read */
	struct repeats repeats = {NULL, NULL, NULL};

	if (f->repeats)
		repeats_init(&repeats, v);
	memset(reader, 0xff, v->key_count * sizeof(*reader));
	for (uint32_t i = 0; i < v->op_count; i++) {
		const struct values_op *op = &v->ops[i];

		if (op->kind == VALUES_READ_LIST && !(op->flags & VALUES_OP_OWN_LIST) &&
			f->counts[op->txn] &&
			(reader[op->key] == VALUES_NONE ||
				v->ops[reader[op->key]].value < op->value))
			reader[op->key] = i;
	}
	for (uint32_t k = 0; k < v->key_count; k++) {
		const struct values_key *key = &v->keys[k];
		const uint32_t *order = v->order + key->first_order;
		uint32_t aborted = VALUES_NONE, last = VALUES_NONE;

		for (uint32_t e = 0; e < key->order_count; e++) {
			struct anomaly a = {VALUES_NONE, reader[k], VALUES_NONE, k, order[e]};

			if (reader[k] == VALUES_NONE)
				break;
			a.txn = v->ops[reader[k]].txn;
			if (f->repeats && !judge_repeat(f, &repeats, a, k) && e < f->list_end[k])
				f->list_end[k] = e;
			switch ((enum writer_state)f->state[order[e]]) {
			case WRITER_ABORTED:
				a.other = v->ops[v->items[order[e]].first_write].txn;
				note(f, ANOMALY_G1A, a);
				aborted = a.other;
				break;
			case WRITER_NOBODY:
				note(f, ANOMALY_GARBAGE, a);
				break;
			case WRITER_ONE:
				if (aborted != VALUES_NONE) {
					a.txn = facts_writer(f, order[e]);
					a.other = aborted;
					note(f, ANOMALY_DIRTY_UPDATE, a);
				}
				aborted = VALUES_NONE;
				/* One transaction's appends in another order than it made them. */
				if (last != VALUES_NONE &&
					v->ops[last].txn == v->ops[f->writer[order[e]]].txn &&
					last > f->writer[order[e]])
					note(f, ANOMALY_INTERNAL,
						(struct anomaly){v->ops[last].txn, VALUES_NONE,
							VALUES_NONE, k, order[e]});
				last = f->writer[order[e]];
				break;
			case WRITER_INITIAL:
			case WRITER_SEVERAL:
				aborted = VALUES_NONE;
				break;
			}
		}
	}
	mem_free(reader);
	repeats_release(&repeats);
}

/* --------------------------------------------------------------------------------- all */

void facts_find(struct facts *f, const struct values *v, bool any_initial)
{
	memset(f, 0, sizeof(*f));
	f->v = v;
	f->any_initial = any_initial;
	f->scale = 1;
	f->counts = mem_zero(v->txn_count, 1);
	f->state = mem_zero(v->item_count, 1);
	f->writer = none_array(v->item_count);
	f->writer_txn = none_array(v->item_count);
	f->care = mem_zero(v->item_count, 1);
	f->notes = mem_zero(v->op_count, 1);
	f->overwriter = none_array(v->item_count);
	f->overwriter_initial = none_array(v->key_count);
	f->next = none_array(v->item_count);
	f->next_initial = none_array(v->key_count);
	f->list_end = mem_zero(v->key_count, sizeof(*f->list_end));
	f->position = none_array(v->item_count);
	for (uint32_t k = 0; k < v->key_count; k++) {
		f->has_lists |= (v->keys[k].flags & VALUES_KEY_LIST) != 0;
		f->has_registers |= (v->keys[k].flags & VALUES_KEY_REGISTER) != 0;
		f->repeats |= (v->keys[k].flags & VALUES_KEY_REPEATS) != 0;
		f->list_end[k] = v->keys[k].order_count;
		for (uint32_t e = v->keys[k].order_count; e-- > 0;)
			f->position[v->order[v->keys[k].first_order + e]] = e; /* the first wins */
	}
	f->seen = f->has_lists ? mem_zero(v->op_count, sizeof(*f->seen)) : NULL;
	find_counting(f);
	find_final_writes(f);
	find_writers(f);
	judge_reads(f);
	if (f->has_lists) {
		judge_own_lists(f);
		judge_lists(f);
	}
}

void facts_release(struct facts *f)
{
	mem_free(f->counts);
	mem_free(f->state);
	mem_free(f->writer);
	mem_free(f->writer_txn);
	mem_free(f->care);
	mem_free(f->notes);
	mem_free(f->seen);
	mem_free(f->overwriter);
	mem_free(f->overwriter_initial);
	mem_free(f->next);
	mem_free(f->next_initial);
	mem_free(f->list_end);
	mem_free(f->position);
	mem_free(f->guide);
	memset(f, 0, sizeof(*f));
}
