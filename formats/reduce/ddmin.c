/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reduce/ddmin.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/siphash.h"

struct search {
	const struct ddmin *d;
	bool *kept;
	bool *slots[DDMIN_WIDTH_MAX]; /* candidates */
	uint32_t *first_user, *next_user; /* of a unit: the needs that name it as needed */
	uint32_t *list;                   /* the units of the step under way */
	uint32_t *stack, *several;
	struct map lost; /* digests of sets that did not hold */
	bool stopped;
};

/* 64 bits: of the few thousand sets of a reduction two have the same digest once in 10^12 reductions, and then a set
 * that would have held is passed over. */
static uint64_t digest_of(const struct search *s, const bool *set)
{
	return siphash_digest(set, s->d->count * sizeof(*set));
}

static void index_needs(struct search *s)
{
	const struct ddmin *d = s->d;

	s->first_user = mem_alloc((d->count + 1) * sizeof(*s->first_user));
	s->next_user = mem_alloc((d->need_count + 1) * sizeof(*s->next_user));
	memset(s->first_user, 0xff, (d->count + 1) * sizeof(*s->first_user));
	for (size_t i = d->need_count; i--;) {
		s->next_user[i] = s->first_user[d->needs[i].needed];
		s->first_user[d->needs[i].needed] = (uint32_t)i;
	}
}

/* Removes a unit and what needs it from a set.  False: something of it is fixed. */
static bool take_out(const struct search *s, bool *set, uint32_t unit)
{
	size_t depth = 0;

	if (!set[unit])
		return true;
	set[unit] = false;
	s->stack[depth++] = unit;
	while (depth) {
		uint32_t at = s->stack[--depth];

		if (s->d->units[at].fixed)
			return false;
		for (uint32_t n = s->first_user[at]; n != UINT32_MAX; n = s->next_user[n]) {
			uint32_t user = s->d->needs[n].unit;

			if (!set[user])
				continue;
			set[user] = false;
			s->stack[depth++] = user;
		}
	}
	return true;
}

/* The set without those of the list; false: nothing would go, something fixed would, or it is known not to hold. */
static bool make_candidate(struct search *s, bool *out, const uint32_t *list, size_t count)
{
	memcpy(out, s->kept, s->d->count * sizeof(*out));
	for (size_t i = 0; i < count; i++)
		if (!take_out(s, out, list[i]))
			return false;
	return memcmp(out, s->kept, s->d->count * sizeof(*out)) != 0 && map_get(&s->lost, digest_of(s, out)) == MAP_NONE;
}

/* Tests what is in the first `count` slots, and takes over the one that holds; its number, or DDMIN_NONE. */
static size_t test_slots(struct search *s, size_t count, uint8_t level)
{
	size_t found = count ? s->d->test(s->d->ctx, s->slots, count) : DDMIN_NONE;

	if (found == DDMIN_STOP) {
		s->stopped = true;
		return DDMIN_NONE;
	}
	for (size_t i = 0; i < count && i < found; i++)
		map_put(&s->lost, digest_of(s, s->slots[i]), 1);
	if (found == DDMIN_NONE)
		return found;
	memcpy(s->kept, s->slots[found], s->d->count * sizeof(*s->kept));
	if (s->d->accepted)
		s->d->accepted(s->d->ctx, s->kept, level);
	return found;
}

static size_t width_of(const struct search *s)
{
	size_t width = s->d->width ? s->d->width : 1;

	return width > DDMIN_WIDTH_MAX ? DDMIN_WIDTH_MAX : width;
}

/* ---- step 1 ---- */

/* Everything at least as doubtful as that, at once. */
static bool try_doubted(struct search *s, unsigned doubt)
{
	size_t count = 0;

	for (size_t i = 0; i < s->d->count; i++)
		if (s->kept[i] && !s->d->units[i].fixed && s->d->units[i].doubt >= doubt)
			s->list[count++] = (uint32_t)i;
	memcpy(s->slots[0], s->kept, s->d->count * sizeof(*s->kept));
	/* One that a fixed unit needs stays, and so does what it needs itself. */
	for (size_t i = 0; i < count; i++) {
		memcpy(s->slots[1], s->slots[0], s->d->count * sizeof(*s->kept));
		if (take_out(s, s->slots[1], s->list[i]))
			memcpy(s->slots[0], s->slots[1], s->d->count * sizeof(*s->kept));
	}
	if (memcmp(s->slots[0], s->kept, s->d->count * sizeof(*s->kept)) == 0)
		return true;
	return map_get(&s->lost, digest_of(s, s->slots[0])) == MAP_NONE && test_slots(s, 1, UINT8_MAX) != DDMIN_NONE;
}

static void remove_doubted(struct search *s)
{
	bool there[256] = {false};

	for (size_t i = 0; i < s->d->count; i++)
		there[s->d->units[i].doubt] = true;
	for (unsigned doubt = 1; doubt < 256 && !s->stopped; doubt++)
		if (there[doubt] && try_doubted(s, doubt))
			return;
}

/* ---- step 2 ---- */

/* The units of a level that are left and doubted. */
static size_t list_level(struct search *s, uint8_t level)
{
	size_t count = 0;

	for (size_t i = 0; i < s->d->count; i++)
		if (s->kept[i] && !s->d->units[i].fixed && s->d->units[i].level == level && s->d->units[i].doubt)
			s->list[count++] = (uint32_t)i;
	return count;
}

/* Tries to do without each piece of the list of that size, several at once; what went leaves the list. */
static size_t remove_pieces(struct search *s, size_t count, size_t size, uint8_t level)
{
	size_t at = 0;

	while (at < count && !s->stopped) {
		size_t starts[DDMIN_WIDTH_MAX], slots = 0, next = at, found, left;

		while (next < count && slots < width_of(s)) {
			size_t len = count - next < size ? count - next : size;

			if (make_candidate(s, s->slots[slots], s->list + next, len))
				starts[slots++] = next;
			next += size;
		}
		found = test_slots(s, slots, level);
		if (found == DDMIN_NONE) {
			at = next;
			continue;
		}
		at = starts[found];
		left = at;
		for (size_t i = at; i < count; i++)
			if (s->kept[s->list[i]])
				s->list[left++] = s->list[i];
		count = left;
	}
	return count;
}

static void reduce_level(struct search *s, uint8_t level)
{
	size_t count = list_level(s, level);

	/* Pieces of one are the third step's. */
	for (size_t size = count; size >= 2 && !s->stopped; size = size < count ? (size + 1) / 2 : (count + 1) / 2) {
		count = remove_pieces(s, count, size, level);
		if (size == 2)
			break;
	}
}

/* ---- step 3 ---- */

static size_t list_all(struct search *s)
{
	size_t count = 0;

	for (size_t l = 0; l < s->d->order_count; l++)
		for (size_t i = 0; i < s->d->count; i++)
			if (s->kept[i] && !s->d->units[i].fixed && s->d->units[i].level == s->d->order[l])
				s->list[count++] = (uint32_t)i;
	return count;
}

/* The next `size` units of the round that are left. */
static size_t pick(const struct search *s, size_t count, size_t at, size_t size, uint32_t *out)
{
	size_t picked = 0;

	for (size_t i = 0; i < count && picked < size; i++)
		if (s->kept[s->list[(at + i) % count]])
			out[picked++] = s->list[(at + i) % count];
	return picked;
}

/* Several units at once while that goes well; true: at least one went. */
static bool gallop(struct search *s, size_t count, size_t at, size_t size)
{
	size_t picked = pick(s, count, at, size, s->several);

	return picked >= 2 && make_candidate(s, s->slots[0], s->several, picked) &&
	       test_slots(s, 1, s->d->units[s->several[0]].level) != DDMIN_NONE;
}

/* Round and round: a unit that could not go may when another has gone. */
static void remove_singles(struct search *s)
{
	size_t count = list_all(s), at = 0, idle = 0, size = 1;

	while (idle < count && !s->stopped) {
		size_t units[DDMIN_WIDTH_MAX], slots = 0, looked = 0, found;

		if (size > 1) {
			size = gallop(s, count, at, size) ? 2 * size : 1;
			idle = size > 1 ? 0 : idle;
			continue;
		}
		while (looked < count - idle && slots < width_of(s)) {
			size_t place = (at + looked++) % count;

			if (s->kept[s->list[place]] && make_candidate(s, s->slots[slots], s->list + place, 1))
				units[slots++] = place;
		}
		found = test_slots(s, slots, slots ? s->d->units[s->list[units[0]]].level : 0);
		if (found == DDMIN_NONE) {
			idle += looked;
			at = (at + looked) % count;
		} else {
			idle = 0;
			at = (units[found] + 1) % count;
			size = 2;
		}
	}
}

bool ddmin_run(const struct ddmin *d, bool *kept)
{
	struct ddmin ordered = *d;
	struct search s = {.d = &ordered, .kept = kept, .lost = MAP_INIT};
	uint8_t ascending[DDMIN_LEVELS_MAX];

	for (uint8_t i = 0; i < DDMIN_LEVELS_MAX; i++)
		ascending[i] = i;
	if (!d->order) {
		ordered.order = ascending;
		ordered.order_count = DDMIN_LEVELS_MAX;
	}
	s.list = mem_alloc((d->count + 1) * sizeof(*s.list));
	s.stack = mem_alloc((d->count + 1) * sizeof(*s.stack));
	s.several = mem_alloc((d->count + 1) * sizeof(*s.several));
	for (size_t i = 0; i < width_of(&s) || i < 2; i++)
		s.slots[i] = mem_zero(d->count + 1, sizeof(bool));
	index_needs(&s);
	remove_doubted(&s);
	for (size_t l = 0; l < ordered.order_count && !s.stopped; l++)
		reduce_level(&s, ordered.order[l]);
	if (!d->no_singles)
		remove_singles(&s);
	for (size_t i = 0; i < DDMIN_WIDTH_MAX; i++)
		mem_free(s.slots[i]);
	mem_free(s.list);
	mem_free(s.stack);
	mem_free(s.several);
	mem_free(s.first_user);
	mem_free(s.next_user);
	map_release(&s.lost);
	return !s.stopped;
}
