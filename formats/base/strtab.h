/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interned byte strings: equal bytes, equal 32-bit id, stored once.  Id 0 is always the empty
 * string.  Ids are handed out in order of first use, so they are the same in every run.
 */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"

struct strtab_slot {
	uint32_t hash; /* upper bits of the hash, to skip most comparisons */
	uint32_t id;   /* UINT32_MAX: free */
};

struct strtab {
	struct span *strings; /* by id; the bytes live in the arena, a NUL after each */
	size_t count, capacity;
	struct strtab_slot *slots;
	size_t mask;
	struct arena arena;
};

#define STRTAB_INIT ((struct strtab){NULL, 0, 0, NULL, 0, ARENA_INIT})
#define STRTAB_NONE UINT32_MAX

uint32_t strtab_add(struct strtab *tab, struct span s);
/* STRTAB_NONE when it was never added. */
uint32_t strtab_find(const struct strtab *tab, struct span s);
void strtab_release(struct strtab *tab);

static inline struct span strtab_get(const struct strtab *tab, uint32_t id)
{
	return id < tab->count ? tab->strings[id] : SPAN_LIT("");
}

#endif
