/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/reach.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Chains that are tried at first; numbers of a row come in full registers. */
enum { CHAINS_FIRST = 64, ROW_STEP = 16 };

/* Everything before one event is before the other, too. */
static void raise_row(int16_t *to, const int16_t *from, size_t width)
{
	for (size_t i = 0; i < width; i++)
		to[i] = to[i] > from[i] ? to[i] : from[i];
}

/* What comes after n hears of it. */
static void push_row(struct reach *r, const struct reach_edges *edges, uint32_t n)
{
	const int16_t *row = r->clock + n * r->width;
	uint32_t chain = r->chain[n / r->events];

	for (uint32_t i = edges->head[n]; i < edges->head[n + 1]; i++) {
		int16_t *to = r->clock + edges->all->edges[edges->out[i]].to * r->width;

		raise_row(to, row, r->width);
		if (to[chain] <= r->place[n])
			to[chain] = (int16_t)(r->place[n] + 1);
	}
}

/* A chain that ends before the transaction begins: its session's, or the first. */
static uint32_t find_chain(
	const struct reach *r, const uint32_t *before, const int16_t *length, uint32_t t)
{
	const int16_t *row = r->clock + t * r->events * r->width;

	if (before[t] != VALUES_NONE) {
		uint32_t c = r->chain[before[t]];

		if (row[c] == length[c] && length[c] < REACH_CHAIN_MAX)
			return c;
	}
	for (uint32_t c = 0; c < r->chain_count; c++) {
		if (row[c] == length[c] && length[c] < REACH_CHAIN_MAX)
			return c;
	}
	return r->chain_count;
}

/* Chains, at most `width` of them.  False: there are more. */
static bool plan_chains(struct reach *r, const struct reach_edges *edges, const uint8_t *counts,
	const uint32_t *before, size_t width)
{
	int16_t *length = mem_zero(width, sizeof(*length));
	bool enough = true;

	r->width = width;
	r->chain_count = 0;
	r->chain = mem_zero(r->node_count / r->events + 1, sizeof(*r->chain));
	r->place = mem_zero(r->node_count, sizeof(*r->place));
	r->clock = mem_zero(r->node_count * width + 1, sizeof(*r->clock));
	for (uint32_t at = 0; at < r->node_count && enough; at++) {
		uint32_t n = edges->order[at], t = n / r->events;

		if (!counts[t])
			continue; /* without edges */
		if (n % r->events == 0) {
			uint32_t c = find_chain(r, before, length, t);

			enough = c < width;
			if (!enough)
				break;
			r->chain_count += c == r->chain_count;
			r->chain[t] = c;
			for (uint32_t e = 0; e < r->events; e++)
				r->place[t * r->events + e] = length[c]++;
		}
		push_row(r, edges, n);
	}
	mem_free(length);
	return enough;
}

static void drop_chains(struct reach *r)
{
	mem_free(r->chain);
	mem_free(r->place);
	mem_free(r->clock);
	r->chain = NULL;
	r->place = r->clock = NULL;
}

bool reach_plan(struct reach *r, const struct reach_edges *edges, uint32_t node_count,
	uint32_t events, const uint8_t *counts, const uint32_t *before, uint64_t bytes)
{
	size_t words = ((size_t)node_count + 63) / 64;
	size_t most = words * sizeof(uint64_t) / sizeof(int16_t);

	*r = (struct reach){.node_count = node_count, .events = events};
	most = most > CHAINS_FIRST ? most : CHAINS_FIRST;
	for (size_t width = CHAINS_FIRST; width <= most; width *= 4) {
		if (node_count * width * sizeof(int16_t) > bytes)
			return false;
		if (plan_chains(r, edges, counts, before, width)) {
			size_t used = (r->chain_count + ROW_STEP - 1) / ROW_STEP * ROW_STEP;

			r->width = used < width ? used : width;
			return true;
		}
		drop_chains(r);
	}
	if (node_count * words * sizeof(uint64_t) > bytes)
		return false;
	r->width = words;
	r->bits = mem_realloc(NULL, node_count * words, sizeof(uint64_t));
	return true;
}

void reach_release(struct reach *r)
{
	drop_chains(r);
	mem_free(r->bits);
	r->bits = NULL;
}

static uint64_t close_chains(struct reach *r, const struct reach_edges *edges)
{
	memset(r->clock, 0, r->node_count * r->width * sizeof(*r->clock));
	for (uint32_t at = 0; at < r->node_count; at++)
		push_row(r, edges, edges->order[at]);
	return (edges->all->count + r->node_count) * (r->width / 4 + 1);
}

static uint64_t close_bits(struct reach *r, const struct reach_edges *edges)
{
	uint64_t work = 0;

	memset(r->bits, 0, r->node_count * r->width * sizeof(*r->bits));
	for (uint32_t at = r->node_count; at-- > 0;) {
		uint32_t n = edges->order[at];
		uint64_t *row = r->bits + n * r->width;

		for (uint32_t i = edges->head[n]; i < edges->head[n + 1]; i++) {
			uint32_t to = edges->all->edges[edges->out[i]].to;
			const uint64_t *other = r->bits + to * r->width;

			if (row[to / 64] >> to % 64 & 1)
				continue; /* it and all after it are there */
			for (size_t w = 0; w < r->width; w++)
				row[w] |= other[w];
			work += r->width;
			row[to / 64] |= (uint64_t)1 << to % 64;
		}
	}
	return work;
}

uint64_t reach_close(struct reach *r, const struct reach_edges *edges)
{
	return r->chain ? close_chains(r, edges) : close_bits(r, edges);
}

/* The events of all chains, one after the other: those of chain c at head[c] .. head[c + 1]. */
static uint32_t *list_chains(const struct reach *r, const uint8_t *counts, uint32_t *head)
{
	uint32_t *events = mem_realloc(NULL, r->node_count, sizeof(*events));

	memset(head, 0, ((size_t)r->chain_count + 1) * sizeof(*head));
	for (uint32_t n = 0; n < r->node_count; n++)
		head[r->chain[n / r->events] + 1] += counts[n / r->events];
	for (uint32_t c = 0; c < r->chain_count; c++)
		head[c + 1] += head[c];
	for (uint32_t n = 0; n < r->node_count; n++) {
		if (counts[n / r->events])
			events[head[r->chain[n / r->events]] + (uint32_t)r->place[n]] = n;
	}
	return events;
}

static uint64_t middle_of_chains(const struct reach *r, const uint8_t *counts, uint32_t *middle)
{
	uint32_t *head = mem_realloc(NULL, (size_t)r->chain_count + 1, sizeof(*head));
	uint32_t *events = list_chains(r, counts, head);

	for (uint32_t c = 0; c < r->chain_count; c++) {
		const int16_t *last = NULL;

		for (uint32_t i = head[c]; i < head[c + 1]; i++) {
			const int16_t *row = r->clock + events[i] * r->width;

			/* Of every chain those that this event has before it and the last one had
			 * not: the rest of this chain comes after them. */
			for (uint32_t o = 0; o < r->chain_count; o++) {
				middle[events[i]] += (uint32_t)row[o];
				for (int16_t p = last ? last[o] : 0; p < row[o]; p++)
					middle[events[head[o] + (uint32_t)p]] -= head[c + 1] - i;
			}
			last = row;
		}
	}
	mem_free(head);
	mem_free(events);
	return r->node_count * (uint64_t)r->width;
}

static uint64_t middle_of_bits(const struct reach *r, uint32_t *middle)
{
	uint64_t pairs = 0;

	for (uint32_t n = 0; n < r->node_count; n++) {
		for (size_t w = 0; w < r->width; w++) {
			for (uint64_t rest = r->bits[n * r->width + w]; rest; rest &= rest - 1) {
				middle[w * 64 + (size_t)__builtin_ctzll(rest)]++;
				middle[n]--;
				pairs++;
			}
		}
	}
	return pairs;
}

uint64_t reach_middle(const struct reach *r, const uint8_t *counts, uint32_t *middle)
{
	for (uint32_t n = 0; n < r->node_count; n++)
		middle[n] = r->node_count;
	return r->chain ? middle_of_chains(r, counts, middle) : middle_of_bits(r, middle);
}

size_t reach_size(const struct reach *r)
{
	return r->node_count * r->width * (r->chain ? sizeof(*r->clock) : sizeof(*r->bits));
}

void *reach_save(const struct reach *r)
{
	return mem_dup(r->chain ? (const void *)r->clock : (const void *)r->bits, reach_size(r));
}

void reach_restore(struct reach *r, const void *saved)
{
	memcpy(r->chain ? (void *)r->clock : (void *)r->bits, saved, reach_size(r));
}

static int compare_chains(const void *a, const void *b, void *context)
{
	const struct reach *r = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (r->chain[x] != r->chain[y])
		return r->chain[x] < r->chain[y] ? -1 : 1;
	return r->place[x * r->events] - r->place[y * r->events];
}

void reach_group(const struct reach *r, const uint32_t *head, uint32_t count, uint32_t *txns,
	uint32_t **group_head, uint32_t **groups)
{
	uint32_t found = 0;

	*group_head = mem_zero((size_t)count + 1, sizeof(uint32_t));
	*groups = mem_realloc(NULL, (size_t)head[count] + 1, sizeof(uint32_t));
	for (uint32_t k = 0; k < count; k++) {
		uint32_t first = head[k], end = head[k + 1];

		(*group_head)[k] = found;
		if (r->chain && end - first > 1)
			qsort_r(txns + first, end - first, sizeof(uint32_t), compare_chains,
				(void *)(uintptr_t)r);
		for (uint32_t i = first; i < end; i++) {
			if (i == first || !r->chain || r->chain[txns[i]] != r->chain[txns[i - 1]])
				(*groups)[found++] = i;
		}
	}
	(*group_head)[count] = found;
	(*groups)[found] = head[count];
}
