/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/map.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"

static void rehash(struct map *map, size_t capacity)
{
	struct map_slot *old = map->slots;
	size_t old_capacity = old ? map->mask + 1 : 0;

	map->slots = mem_realloc(NULL, capacity, sizeof(*map->slots));
	map->mask = capacity - 1;
	for (size_t i = 0; i < capacity; i++)
		map->slots[i].value = MAP_NONE;
	for (size_t k = 0; k < old_capacity; k++) {
		size_t i;

		if (old[k].value == MAP_NONE)
			continue;
		i = hash_u64(old[k].key) & map->mask;
		while (map->slots[i].value != MAP_NONE)
			i = (i + 1) & map->mask;
		map->slots[i] = old[k];
	}
	mem_free(old);
}

void map_reserve(struct map *map, size_t count)
{
	size_t capacity = map->slots ? map->mask + 1 : 16;

	while (count > capacity / 10 * 7) {
		CHECK(capacity <= SIZE_MAX / 2);
		capacity *= 2;
	}
	if (!map->slots || capacity > map->mask + 1)
		rehash(map, capacity);
}

uint32_t *map_at(struct map *map, uint64_t key)
{
	map_reserve(map, map->count + 1);
	for (size_t i = hash_u64(key) & map->mask;; i = (i + 1) & map->mask) {
		struct map_slot *slot = &map->slots[i];

		if (slot->value == MAP_NONE) {
			slot->key = key;
			map->count++;
			return &slot->value;
		}
		if (slot->key == key)
			return &slot->value;
	}
}

void map_release(struct map *map)
{
	mem_free(map->slots);
	*map = MAP_INIT;
}
