/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strtab.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/hash.h"
#include "base/mem.h"

static void rehash(struct strtab *tab, size_t capacity)
{
	mem_free(tab->slots);
	tab->slots = mem_realloc(NULL, capacity, sizeof(*tab->slots));
	tab->mask = capacity - 1;
	memset(tab->slots, 0xff, capacity * sizeof(*tab->slots));
	for (size_t id = 0; id < tab->count; id++) {
		uint64_t hash = hash_bytes(tab->strings[id].ptr, tab->strings[id].len);
		size_t i = hash & tab->mask;

		while (tab->slots[i].id != STRTAB_NONE)
			i = (i + 1) & tab->mask;
		tab->slots[i] = (struct strtab_slot){(uint32_t)(hash >> 32), (uint32_t)id};
	}
}

static size_t find_slot(const struct strtab *tab, struct span s, uint64_t hash)
{
	size_t i = hash & tab->mask;

	for (;; i = (i + 1) & tab->mask) {
		const struct strtab_slot *slot = &tab->slots[i];

		if (slot->id == STRTAB_NONE)
			return i;
		if (slot->hash == (uint32_t)(hash >> 32) && span_eq(tab->strings[slot->id], s))
			return i;
	}
}

static void add_at(struct strtab *tab, size_t slot, struct span s, uint64_t hash)
{
	CHECK(tab->count < STRTAB_NONE);
	MEM_RESERVE(tab->strings, tab->count + 1, tab->capacity);
	tab->strings[tab->count] = arena_copy(&tab->arena, s.ptr ? s : SPAN_LIT(""));
	tab->slots[slot] =
		(struct strtab_slot){(uint32_t)(hash >> 32), (uint32_t)tab->count};
	tab->count++;
}

uint32_t strtab_add(struct strtab *tab, struct span s)
{
	uint64_t hash;
	size_t slot;

	if (!tab->slots) {
		rehash(tab, 64);
		hash = hash_bytes("", 0);
		add_at(tab, find_slot(tab, SPAN_LIT(""), hash), SPAN_LIT(""), hash);
	}
	hash = hash_bytes(s.ptr, s.len);
	slot = find_slot(tab, s, hash);
	if (tab->slots[slot].id == STRTAB_NONE) {
		if (tab->count >= (tab->mask + 1) / 10 * 7) {
			rehash(tab, (tab->mask + 1) * 2);
			slot = find_slot(tab, s, hash);
		}
		add_at(tab, slot, s, hash);
	}
	return tab->slots[slot].id;
}

uint32_t strtab_find(const struct strtab *tab, struct span s)
{
	return tab->slots ? tab->slots[find_slot(tab, s, hash_bytes(s.ptr, s.len))].id
			  : STRTAB_NONE;
}

void strtab_release(struct strtab *tab)
{
	mem_free(tab->strings);
	mem_free(tab->slots);
	arena_release(&tab->arena);
	*tab = STRTAB_INIT;
}
