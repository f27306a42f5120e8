/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash map from 64-bit keys to 32-bit values: linear probing, grown at 70 %, no deletion.  Any
 * key is allowed; the value MAP_NONE is not.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define MAP_NONE UINT32_MAX

struct map_slot {
	uint64_t key;
	uint32_t value; /* MAP_NONE: free */
};

struct map {
	struct map_slot *slots;
	size_t mask; /* capacity - 1; capacity is a power of two; 0 while slots is NULL */
	size_t count;
};

#define MAP_INIT ((struct map){NULL, 0, 0})

/* Room for `count` entries without growing again. */
void map_reserve(struct map *map, size_t count);
/* The slot's value for key; MAP_NONE in it when new: the caller fills it at once. */
uint32_t *map_at(struct map *map, uint64_t key);
void map_release(struct map *map);

static inline uint32_t map_get(const struct map *map, uint64_t key)
{
	if (!map->slots)
		return MAP_NONE;
	for (size_t i = hash_u64(key) & map->mask;; i = (i + 1) & map->mask) {
		const struct map_slot *slot = &map->slots[i];

		if (slot->value == MAP_NONE || slot->key == key)
			return slot->value;
	}
}

static inline void map_put(struct map *map, uint64_t key, uint32_t value)
{
	*map_at(map, key) = value;
}

#endif
