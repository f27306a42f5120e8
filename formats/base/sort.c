/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/sort.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"

struct sorting {
	char *base;
	size_t size;
	int (*compare)(const void *a, const void *b);
};

static bool in_order(const struct sorting *s, uint32_t a, uint32_t b)
{
	return s->compare(s->base + a * s->size, s->base + b * s->size) <= 0;
}

/* Merges order[from..middle) and order[middle..to), each in order, by way of spare. */
static void merge(const struct sorting *s, uint32_t *order, uint32_t *spare, size_t from, size_t middle, size_t to)
{
	size_t left = from, right = middle, n = 0;

	if (in_order(s, order[middle - 1], order[middle]))
		return;
	while (left < middle && right < to)
		spare[n++] = in_order(s, order[left], order[right]) ? order[left++] : order[right++];
	memcpy(spare + n, order + left, (middle - left) * sizeof(*spare));
	n += middle - left;
	memcpy(order + from, spare, n * sizeof(*order));
}

/* Element order[i] goes to place i, for all i: along each circle of the permutation, with one element aside. */
static void permute(const struct sorting *s, uint32_t *order, size_t count)
{
	char *aside = mem_alloc(s->size);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at = i, from;

		if (order[i] == i)
			continue;
		memcpy(aside, s->base + i * s->size, s->size);
		for (; (from = order[at]) != i; at = from) {
			memcpy(s->base + at * s->size, s->base + from * s->size, s->size);
			order[at] = at;
		}
		memcpy(s->base + at * s->size, aside, s->size);
		order[at] = at;
	}
	mem_free(aside);
}

void sort_large(void *base, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
	const struct sorting s = {base, size, compare};
	uint32_t *order, *spare;

	CHECK(count < UINT32_MAX);
	if (count < 2)
		return;
	order = mem_realloc(NULL, count, sizeof(*order));
	spare = mem_realloc(NULL, count, sizeof(*spare));
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	for (size_t width = 1; width < count; width *= 2) {
		for (size_t from = 0; from + width < count; from += 2 * width)
			merge(&s, order, spare, from, from + width, from + 2 * width < count ? from + 2 * width : count);
	}
	mem_free(spare);
	permute(&s, order, count);
	mem_free(order);
}
