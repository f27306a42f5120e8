/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/values/values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/search.h"

uint32_t values_first_dup(const struct values *values, uint32_t item)
{
	return FIRST_WHERE(i, 0, values->dup_count, values->dups[i].item >= item);
}

void values_release(struct values *values)
{
	mem_free(values->sessions);
	mem_free(values->txns);
	mem_free(values->ops);
	mem_free(values->items);
	mem_free(values->dups);
	mem_free(values->keys);
	mem_free(values->predicates);
	mem_free(values->stamps);
	mem_free(values->session_txns);
	mem_free(values->order);
	mem_free(values->lists);
	mem_free(values->matches);
	strtab_release(&values->texts);
	memset(values, 0, sizeof(*values));
}

void values_atom_text(const struct values *values, uint32_t atom, struct buf *out)
{
	if (atom < VALUES_ATOM_TEXT)
		buf_printf(out, "%u", atom);
	else
		buf_add_span(out, strtab_get(&values->texts, atom - VALUES_ATOM_TEXT));
}

bool values_atom_int(const struct values *values, uint32_t atom, int64_t *number)
{
	char text[24], *end;
	struct span s;

	if (atom < VALUES_ATOM_TEXT) {
		*number = atom;
		return true;
	}
	s = strtab_get(&values->texts, atom - VALUES_ATOM_TEXT);
	if (s.len == 0 || s.len >= sizeof(text) ||
		!(s.ptr[0] == '-' || (s.ptr[0] >= '0' && s.ptr[0] <= '9')))
		return false;
	if (s.len > 1 && s.ptr[0] == '0')
		return false; /* another word for the same number */
	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	errno = 0;
	*number = strtoll(text, &end, 10);
	return *end == '\0' && errno == 0;
}

bool values_matches(
	const struct values *values, const struct values_predicate *predicate, uint32_t item)
{
	int64_t number, rest;

	if (item == VALUES_NONE)
		return false;
	if (!values_atom_int(values, values->items[item].atom, &number)) {
		struct buf text = BUF_INIT;
		bool nil;

		values_atom_text(values, values->items[item].atom, &text);
		nil = span_eq_str(buf_span(&text), "nil") || span_eq_str(buf_span(&text), "null");
		buf_release(&text);
		return !nil && predicate->kind == VALUES_PREDICATE_TRUE;
	}
	switch ((enum values_predicate_kind)predicate->kind) {
	case VALUES_PREDICATE_TRUE:
		return true;
	case VALUES_PREDICATE_EQUAL:
		return number == predicate->a;
	case VALUES_PREDICATE_MOD: /* the sign of the divisor, as in Clojure */
		if (predicate->a == 0 || predicate->a == -1)
			return predicate->a == -1 && predicate->b == 0;
		rest = number % predicate->a;
		if (rest != 0 && (rest < 0) != (predicate->a < 0))
			rest += predicate->a;
		return rest == predicate->b;
	}
	BUG("predicate kind %u", predicate->kind);
}

bool values_any_committed(const struct values *values)
{
	for (uint32_t t = 0; t < values->txn_count; t++) {
		if (values->txns[t].outcome == VALUES_COMMITTED)
			return true;
	}
	return false;
}

size_t values_memory(const struct values *values)
{
	return values->session_count * sizeof(*values->sessions) +
	       values->txn_count * (sizeof(*values->txns) + sizeof(*values->session_txns)) +
	       values->op_count * sizeof(*values->ops) +
	       values->item_count * sizeof(*values->items) +
	       values->key_count * sizeof(*values->keys) +
	       ((size_t)values->order_count + values->list_count) * sizeof(*values->order) +
	       (values->stamps ? values->txn_count * sizeof(*values->stamps) : 0);
}

static void check_op(const struct values *v, const struct values_op *op)
{
	switch ((enum values_op_kind)op->kind) {
	case VALUES_READ:
	case VALUES_WRITE:
	case VALUES_APPEND:
	case VALUES_INSERT:
		CHECK(op->key < v->key_count && op->value < v->item_count);
		CHECK(v->items[op->value].key == op->key);
		return;
	case VALUES_READ_LIST:
		CHECK(op->key < v->key_count);
		if (op->flags & VALUES_OP_OWN_LIST) {
			CHECK(op->value < v->list_count);
			CHECK(v->lists[op->value] < v->list_count - op->value);
		} else {
			CHECK(op->value <= v->keys[op->key].order_count);
		}
		return;
	case VALUES_DELETE:
		CHECK(op->key < v->key_count);
		CHECK(op->value == VALUES_NONE || v->items[op->value].key == op->key);
		return;
	case VALUES_PREDICATE:
		CHECK(op->value < v->predicate_count);
		CHECK(v->predicates[op->value].first_match + v->predicates[op->value].match_count <=
			v->match_count);
		return;
	}
	BUG("operation kind %u", op->kind);
}

void values_check(const struct values *v)
{
	uint32_t sum = 0;

	for (uint32_t t = 0; t < v->txn_count; t++) {
		const struct values_txn *txn = &v->txns[t];

		CHECK(txn->session < v->session_count);
		CHECK(txn->first_op <= v->op_count && txn->op_count <= v->op_count - txn->first_op);
		for (uint32_t i = 0; i < txn->op_count; i++) {
			CHECK(v->ops[txn->first_op + i].txn == t);
			check_op(v, &v->ops[txn->first_op + i]);
		}
	}
	for (uint32_t s = 0; s < v->session_count; s++) {
		const struct values_session *session = &v->sessions[s];

		for (uint32_t i = 0; i < session->txn_count; i++)
			CHECK(v->txns[v->session_txns[session->first_txn + i]].session == s);
		sum += session->txn_count;
	}
	CHECK(sum == v->txn_count);
	for (uint32_t i = 0; i < v->item_count; i++) {
		CHECK(v->items[i].key < v->key_count);
		CHECK((v->items[i].first_write == VALUES_NONE) == (v->items[i].write_count == 0));
	}
}

/* ------------------------------------------------------------------------------- builder */

void values_builder_init(struct values_builder *b)
{
	memset(b, 0, sizeof(*b));
	b->v.texts = STRTAB_INIT;
}

static void release_lists(struct values_builder *b)
{
	for (uint32_t k = 0; k < b->v.key_count; k++) {
		mem_free(b->key_lists[k].item_of_number);
		mem_free(b->key_lists[k].slots);
		mem_free(b->key_lists[k].items);
		mem_free(b->key_lists[k].text);
		mem_free(b->key_lists[k].ends);
	}
	mem_free(b->key_lists);
	b->key_lists = NULL;
}

void values_builder_release(struct values_builder *b)
{
	release_lists(b);
	mem_free(b->own);
	mem_free(b->key_of_number);
	map_release(&b->key_of_atom);
	map_release(&b->session_of_number);
	values_release(&b->v);
	memset(b, 0, sizeof(*b));
}

/* A new element at the end of a counted array, or sets overflow and reuses the last one. */
static uint32_t next_id(struct values_builder *b, uint32_t *count)
{
	if (UNLIKELY(*count >= VALUES_COUNT_MAX)) {
		b->overflow = true;
		return *count - 1;
	}
	return (*count)++;
}

uint32_t values_atom_of_text(struct values_builder *b, struct span text)
{
	return VALUES_ATOM_TEXT + strtab_add(&b->v.texts, text);
}

uint32_t values_atom_of_int(struct values_builder *b, int64_t number)
{
	char text[24];

	if (LIKELY(number >= 0 && number < (int64_t)VALUES_ATOM_TEXT))
		return (uint32_t)number;
	return values_atom_of_text(
		b, span_of(text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)number)));
}

uint32_t values_atom_of_uint(struct values_builder *b, uint64_t number)
{
	char text[24];

	if (LIKELY(number < VALUES_ATOM_TEXT))
		return (uint32_t)number;
	return values_atom_of_text(b, span_of(text, (size_t)snprintf(text, sizeof(text), "%llu",
							    (unsigned long long)number)));
}

static uint32_t new_key(struct values_builder *b, uint32_t atom)
{
	uint32_t key = next_id(b, &b->v.key_count);

	MEM_RESERVE(b->v.keys, key + 1, b->key_capacity);
	b->v.keys[key] = (struct values_key){atom, VALUES_NONE, 0, 0, 0};
	MEM_RESERVE(b->key_lists, key + 1, b->key_list_capacity);
	memset(&b->key_lists[key], 0, sizeof(b->key_lists[key]));
	return key;
}

uint32_t values_key_of_atom(struct values_builder *b, uint32_t atom)
{
	/* Numbers of which not too many are left out, so that the array stays as small as the map
	 * would be. */
	size_t small = 64 + 4 * (size_t)b->v.key_count;
	uint32_t key = values_key_of_number(b, atom);

	if (LIKELY(key != VALUES_NONE))
		return key;
	key = map_get(&b->key_of_atom, atom);
	if (key != MAP_NONE)
		return key;
	key = new_key(b, atom);
	if (atom >= small) {
		map_put(&b->key_of_atom, atom, key);
		return key;
	}
	MEM_RESERVE(b->key_of_number, atom + 1, b->key_number_capacity);
	while (b->key_number_count <= atom)
		b->key_of_number[b->key_number_count++] = VALUES_NONE;
	b->key_of_number[atom] = key;
	return key;
}

static uint32_t slot_of(const struct values_list *list, uint32_t atom)
{
	uint32_t i = (uint32_t)(hash_u64(atom) >> 32) & (list->slot_count - 1);

	while (list->slots[i] != UINT64_MAX && list->slots[i] >> 32 != atom)
		i = (i + 1) & (list->slot_count - 1);
	return i;
}

static void grow_slots(struct values_list *list)
{
	uint64_t *old = list->slots;
	uint32_t old_count = list->slot_count;

	list->slot_count = old_count ? 2 * old_count : 4;
	list->slots = mem_realloc(NULL, list->slot_count, sizeof(*list->slots));
	memset(list->slots, 0xff, list->slot_count * sizeof(*list->slots));
	for (uint32_t i = 0; i < old_count; i++) {
		if (old[i] != UINT64_MAX)
			list->slots[slot_of(list, (uint32_t)(old[i] >> 32))] = old[i];
	}
	mem_free(old);
}

static uint32_t new_item(struct values_builder *b, uint32_t key, uint32_t atom)
{
	uint32_t item = next_id(b, &b->v.item_count);

	MEM_RESERVE(b->v.items, item + 1, b->item_capacity);
	b->v.items[item] = (struct values_item){key, atom, VALUES_NONE, 0, 0};
	return item;
}

uint32_t values_item_of(struct values_builder *b, uint32_t key, uint32_t atom)
{
	struct values_list *list = &b->key_lists[key];
	uint32_t slot, item;

	if (atom < list->number_count && list->item_of_number[atom] != VALUES_NONE)
		return list->item_of_number[atom];
	if (list->slot_count) {
		slot = slot_of(list, atom);
		if (list->slots[slot] != UINT64_MAX)
			return (uint32_t)list->slots[slot];
	}
	item = new_item(b, key, atom);
	/* As many numbers may be left out as there are, and a few. */
	if (atom < 8 + 2 * list->numbers_used) {
		MEM_RESERVE(list->item_of_number, atom + 1, list->number_capacity);
		while (list->number_count <= atom)
			list->item_of_number[list->number_count++] = VALUES_NONE;
		list->item_of_number[atom] = item;
		list->numbers_used++;
		return item;
	}
	if (list->slots_used >= list->slot_count / 4 * 3)
		grow_slots(list);
	list->slots[slot_of(list, atom)] = (uint64_t)atom << 32 | item;
	list->slots_used++;
	return item;
}

uint32_t values_session_of(struct values_builder *b, int64_t number)
{
	uint32_t *slot = map_at(&b->session_of_number, (uint64_t)number);

	if (*slot == MAP_NONE) {
		uint32_t session = next_id(b, &b->v.session_count);

		MEM_RESERVE(b->v.sessions, session + 1, b->session_capacity);
		b->v.sessions[session] = (struct values_session){number, 0, 0};
		*slot = session;
	}
	return *slot;
}

void values_begin_txn(struct values_builder *b)
{
	b->mark_ops = b->v.op_count;
	b->mark_lists = b->v.list_count;
	b->mark_predicates = b->v.predicate_count;
	b->mark_matches = b->v.match_count;
	b->mark_unknown = b->v.counts.reads_unknown;
}

void values_drop_txn(struct values_builder *b)
{
	b->v.op_count = b->mark_ops;
	b->v.list_count = b->mark_lists;
	b->v.predicate_count = b->mark_predicates;
	b->v.match_count = b->mark_matches;
	b->v.counts.reads_unknown = b->mark_unknown;
}

static struct values_op *push_op(struct values_builder *b)
{
	uint32_t at = next_id(b, &b->v.op_count);

	MEM_RESERVE(b->v.ops, at + 1, b->op_capacity);
	return &b->v.ops[at];
}

void values_add_op(struct values_builder *b, enum values_op_kind kind, uint32_t key, uint32_t value)
{
	*push_op(b) = (struct values_op){b->v.txn_count, key, value, (uint8_t)kind, 0};
}

void values_add_initial_read(struct values_builder *b, uint32_t key)
{
	uint32_t item = b->v.keys[key].initial_item;

	if (item == VALUES_NONE) {
		item = values_item_of(b, key, values_atom_of_text(b, SPAN_LIT("nil")));
		b->v.items[item].initial = 1;
		b->v.keys[key].initial_item = item;
	}
	values_add_op(b, VALUES_READ, key, item);
}

static uint32_t nil_item(struct values_builder *b, uint32_t key)
{
	return values_item_of(b, key, values_atom_of_text(b, SPAN_LIT("nil")));
}

void values_add_nil_read(struct values_builder *b, uint32_t key)
{
	uint32_t initial = b->v.keys[key].initial_item;

	/* In a closed universe the key may have begun with something else. */
	if (b->v.closed && initial != VALUES_NONE && initial != nil_item(b, key))
		values_add_op(b, VALUES_READ, key, nil_item(b, key));
	else
		values_add_initial_read(b, key);
}

void values_add_delete(struct values_builder *b, uint32_t key)
{
	values_add_op(b, VALUES_DELETE, key, nil_item(b, key));
}

void values_add_predicate(
	struct values_builder *b, enum values_predicate_kind kind, int64_t p, int64_t q)
{
	uint32_t at = next_id(b, &b->v.predicate_count);

	MEM_RESERVE(b->v.predicates, at + 1, b->predicate_capacity);
	b->v.predicates[at] = (struct values_predicate){p, q, b->v.match_count, 0, (uint8_t)kind};
	values_add_op(b, VALUES_PREDICATE, VALUES_NONE, at);
}

void values_add_match(struct values_builder *b, uint32_t item)
{
	uint32_t at = next_id(b, &b->v.match_count);

	MEM_RESERVE(b->v.matches, at + 1, b->match_capacity);
	b->v.matches[at] = item;
	b->v.predicates[b->v.predicate_count - 1].match_count++;
	values_add_op(b, VALUES_READ, b->v.items[item].key, item);
	b->v.ops[b->v.op_count - 1].flags |= VALUES_OP_MATCH;
}

static bool repeats(const uint32_t *items, size_t count)
{
	struct map seen = MAP_INIT;
	bool twice = false;

	for (size_t i = 0; i < count && !twice; i++) {
		uint32_t *slot = map_at(&seen, items[i]);

		twice = *slot != MAP_NONE;
		*slot = 1;
	}
	map_release(&seen);
	return twice;
}

void values_add_list_read(struct values_builder *b, uint32_t key, bool extend)
{
	struct values_list *list = &b->key_lists[key];
	size_t common = list->count < b->own_count ? list->count : b->own_count;
	uint32_t at;

	b->v.keys[key].flags |= VALUES_KEY_LIST;
	if (common == 0 || memcmp(list->items, b->own, common * sizeof(*b->own)) == 0) {
		if (b->own_count > list->count && extend) {
			MEM_RESERVE(list->items, b->own_count, list->capacity);
			memcpy(list->items + common, b->own + common,
				(b->own_count - common) * sizeof(*b->own));
			list->count = b->own_count;
		}
		if (b->own_count <= list->count) {
			values_add_op(b, VALUES_READ_LIST, key, (uint32_t)b->own_count);
			return;
		}
	} else if (extend) {
		b->v.keys[key].flags |= VALUES_KEY_INCOMPATIBLE;
		if (repeats(b->own, b->own_count))
			b->v.keys[key].flags |= VALUES_KEY_REPEATS;
	}
	at = b->v.list_count;
	if (b->own_count + 1 > VALUES_COUNT_MAX - at) {
		b->overflow = true;
		return;
	}
	MEM_RESERVE(b->v.lists, at + b->own_count + 1, b->list_capacity);
	b->v.lists[at] = (uint32_t)b->own_count;
	memcpy(b->v.lists + at + 1, b->own, b->own_count * sizeof(*b->own));
	b->v.list_count += (uint32_t)b->own_count + 1;
	*push_op(b) =
		(struct values_op){b->v.txn_count, key, at, VALUES_READ_LIST, VALUES_OP_OWN_LIST};
}

/* The operations [first, count) of transaction t, wherever they came from, to where they stay. */
static void settle_ops(
	struct values_builder *b, uint32_t t, const struct values_op *from, uint32_t count)
{
	struct values *v = &b->v;
	struct values_txn *txn = &v->txns[t];

	for (uint32_t i = 0; i < count; i++) {
		struct values_op op = from[i];
		uint32_t at = txn->first_op + txn->op_count;

		if (txn->outcome == VALUES_ABORTED && !values_is_write(&op))
			continue;
		op.txn = t;
		if (values_is_write(&op)) {
			v->keys[op.key].flags |=
				op.kind == VALUES_APPEND ? VALUES_KEY_LIST : VALUES_KEY_REGISTER;
			if (op.value != VALUES_NONE) {
				struct values_item *item = &v->items[op.value];

				if (item->first_write == VALUES_NONE)
					item->first_write = at;
				item->write_count++;
			}
		} else if (op.kind == VALUES_READ && !v->items[op.value].initial) {
			v->keys[op.key].flags |= VALUES_KEY_REGISTER;
		}
		v->ops[at] = op;
		txn->op_count++;
	}
}

static uint32_t new_txn(
	struct values_builder *b, uint32_t session, uint64_t id, enum values_outcome outcome)
{
	uint32_t t = next_id(b, &b->v.txn_count);

	MEM_RESERVE(b->v.txns, t + 1, b->txn_capacity);
	b->v.txns[t] = (struct values_txn){.id = id,
		.session = session,
		.invoke = VALUES_NONE,
		.complete = VALUES_NONE,
		.outcome = (uint8_t)outcome};
	b->v.sessions[session].txn_count++;
	return t;
}

struct values_txn *values_end_txn(
	struct values_builder *b, uint32_t session, uint64_t id, enum values_outcome outcome)
{
	uint32_t t = new_txn(b, session, id, outcome);
	uint32_t count = b->v.op_count - b->mark_ops;

	b->v.txns[t].first_op = b->mark_ops;
	if (count)
		settle_ops(b, t, b->v.ops + b->mark_ops, count);
	b->v.op_count = b->mark_ops + b->v.txns[t].op_count;
	values_begin_txn(b);
	return &b->v.txns[t];
}

uint32_t values_open_txn(
	struct values_builder *b, uint32_t session, uint64_t id, enum values_outcome outcome)
{
	b->loose = true;
	return new_txn(b, session, id, outcome);
}

void values_add_op_to(struct values_builder *b, uint32_t txn, enum values_op_kind kind,
	uint32_t key, uint32_t value)
{
	*push_op(b) = (struct values_op){txn, key, value, (uint8_t)kind, 0};
}

uint32_t values_initial_item(struct values_builder *b, uint32_t key, uint32_t atom)
{
	uint32_t item = values_item_of(b, key, atom);

	b->v.items[item].initial = 1;
	b->v.keys[key].initial_item = item;
	return item;
}

void values_add_stamp(struct values_builder *b, const struct values_stamp *stamp)
{
	MEM_RESERVE(b->v.stamps, b->v.txn_count, b->stamp_capacity);
	b->v.stamps[b->v.txn_count - 1] = *stamp;
}

/* Counting sort of loose operations by transaction; nothing moves when they already are. */
static void group_ops(struct values_builder *b)
{
	struct values *v = &b->v;
	uint32_t count = v->op_count, last = 0, *next;
	struct values_op *sorted = NULL;
	bool grouped = true;

	for (uint32_t i = 0; i < count && grouped; i++) {
		grouped = v->ops[i].txn >= last;
		last = v->ops[i].txn;
	}
	next = mem_zero((size_t)v->txn_count + 1, sizeof(*next));
	for (uint32_t i = 0; i < count; i++)
		next[v->ops[i].txn + 1]++;
	for (uint32_t t = 0; t < v->txn_count; t++)
		next[t + 1] += next[t];
	if (!grouped) {
		uint32_t *fill = mem_dup(next, v->txn_count * sizeof(*fill));

		sorted = mem_realloc(NULL, count, sizeof(*sorted));
		for (uint32_t i = 0; i < count; i++)
			sorted[fill[v->ops[i].txn]++] = v->ops[i];
		mem_free(fill);
		mem_free(v->ops);
		v->ops = sorted;
	}
	v->op_count = 0;
	for (uint32_t t = 0; count > 0 && t < v->txn_count; t++) {
		v->txns[t].first_op = v->op_count;
		settle_ops(b, t, v->ops + next[t], next[t + 1] - next[t]);
		v->op_count += v->txns[t].op_count;
	}
	mem_free(next);
}

/* Counting sort of the transactions by session; a session's own order is kept. */
static void number_sessions(struct values *v)
{
	uint32_t sum = 0;
	uint32_t *next = mem_zero(v->session_count + 1, sizeof(*next));

	for (uint32_t s = 0; s < v->session_count; s++) {
		v->sessions[s].first_txn = next[s] = sum;
		sum += v->sessions[s].txn_count;
	}
	v->session_txns = mem_zero(v->txn_count, sizeof(*v->session_txns));
	for (uint32_t t = 0; t < v->txn_count; t++)
		v->session_txns[next[v->txns[t].session]++] = t;
	mem_free(next);
}

static void collect_dups(struct values *v)
{
	size_t total = 0, *fill;
	uint32_t at = 0;
	struct map slot = MAP_INIT;

	for (uint32_t i = 0; i < v->item_count; i++) {
		if (v->items[i].write_count > 1)
			total += v->items[i].write_count - 1;
	}
	if (total == 0)
		return;
	v->dups = mem_realloc(NULL, total, sizeof(*v->dups));
	fill = mem_zero(total, sizeof(*fill));
	for (uint32_t i = 0; i < v->item_count; i++) {
		if (v->items[i].write_count > 1) {
			map_put(&slot, i, at);
			at += v->items[i].write_count - 1;
		}
	}
	for (uint32_t i = 0; i < v->op_count; i++) {
		const struct values_op *op = &v->ops[i];
		uint32_t first;

		if (!values_is_write(op) || op->value == VALUES_NONE ||
			v->items[op->value].first_write == i)
			continue;
		first = map_get(&slot, op->value);
		v->dups[first + fill[first]++] = (struct values_dup){op->value, i};
	}
	v->dup_count = at;
	map_release(&slot);
	mem_free(fill);
}

/* The longest lists into one array.  A key that is a list turns its reads of nil into reads of the
 * empty list. */
static void flatten_lists(struct values_builder *b)
{
	struct values *v = &b->v;
	size_t total = 0, at = 0;
	uint8_t *seen; /* an item belongs to one key, so one array serves all */

	for (uint32_t k = 0; k < v->key_count; k++)
		total += b->key_lists[k].count;
	if (total > VALUES_COUNT_MAX) {
		b->overflow = true;
		return;
	}
	v->order = mem_realloc(NULL, total, sizeof(*v->order));
	seen = mem_zero(v->item_count, sizeof(*seen));
	for (uint32_t k = 0; k < v->key_count; k++) {
		struct values_list *list = &b->key_lists[k];

		v->keys[k].first_order = (uint32_t)at;
		v->keys[k].order_count = (uint32_t)list->count;
		if (list->count)
			memcpy(v->order + at, list->items, list->count * sizeof(*v->order));
		for (size_t i = 0; i < list->count; i++) {
			if (seen[list->items[i]])
				v->keys[k].flags |= VALUES_KEY_REPEATS;
			seen[list->items[i]] = 1;
		}
		at += list->count;
	}
	mem_free(seen);
	v->order_count = (uint32_t)at;
	for (uint32_t i = 0; i < v->op_count; i++) {
		struct values_op *op = &v->ops[i];

		if (op->kind == VALUES_READ && v->items[op->value].initial &&
			v->items[op->value].write_count == 0 &&
			(v->keys[op->key].flags & VALUES_KEY_LIST)) {
			op->kind = VALUES_READ_LIST;
			op->value = 0;
		}
	}
}

/* VALUES_INITIAL_UNWRITTEN: two values of a key that no transaction wrote cannot both be the initial one,
 * and which of them is garbage cannot be said; then none is initial. */
static void infer_unwritten(struct values *v)
{
	uint8_t *several = mem_zero(v->key_count, sizeof(*several));

	for (uint32_t i = 0; i < v->item_count; i++) {
		const struct values_item *item = &v->items[i];
		struct values_key *key = &v->keys[item->key];

		if (item->write_count || item->initial)
			continue;
		several[item->key] |= key->initial_item != VALUES_NONE;
		if (key->initial_item == VALUES_NONE)
			key->initial_item = i;
	}
	for (uint32_t k = 0; k < v->key_count; k++) {
		uint32_t item = v->keys[k].initial_item;

		if (item == VALUES_NONE || v->items[item].initial)
			continue;
		if (several[k])
			v->keys[k].initial_item = VALUES_NONE;
		else
			v->items[item].initial = 1;
	}
	mem_free(several);
}

/* VALUES_INITIAL_ZERO */
static void infer_zero(struct values *v)
{
	for (uint32_t k = 0; k < v->key_count; k++) {
		if (v->keys[k].initial_item != VALUES_NONE)
			return;
	}
	for (uint32_t i = 0; i < v->item_count; i++) {
		struct values_item *item = &v->items[i];

		if (item->atom == 0 && item->write_count == 0) {
			item->initial = 1;
			v->keys[item->key].initial_item = i;
		}
	}
}

bool values_finish(struct values_builder *b, struct values *out, struct err *err)
{
	if (b->loose && !b->overflow)
		group_ops(b);
	if (b->initial_rule == VALUES_INITIAL_ZERO)
		infer_zero(&b->v);
	else if (b->initial_rule == VALUES_INITIAL_UNWRITTEN)
		infer_unwritten(&b->v);
	flatten_lists(b);
	if (b->overflow)
		return err_set(err, ERR_LIMIT,
			"more than %u transactions, operations or values; check a part of the "
			"history",
			VALUES_COUNT_MAX);
	number_sessions(&b->v);
	collect_dups(&b->v);
	*out = b->v;
	/* What stays in the builder is what the history does not own. */
	release_lists(b);
	memset(&b->v, 0, sizeof(b->v));
	b->key_list_capacity = 0;
	values_builder_release(b);
	values_builder_init(b);
	return true;
}
