/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "workload/random_source.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"

static uint64_t splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

void random_seed(struct random_source *r, uint64_t seed, uint64_t stream)
{
	uint64_t state = seed;

	state = splitmix(&state) ^ stream * 0xd1342543de82ef95u;
	for (size_t i = 0; i < 4; i++)
		r->state[i] = splitmix(&state);
}

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

uint64_t random_next(struct random_source *r)
{
	uint64_t *s = r->state, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

/* Lemire: Fast random integer generation in an interval. */
uint64_t random_below(struct random_source *r, uint64_t limit)
{
	__uint128_t product;
	uint64_t least;

	if (!limit)
		return 0;
	least = -limit % limit;
	do {
		product = (__uint128_t)random_next(r) * limit;
	} while ((uint64_t)product < least);
	return (uint64_t)(product >> 64);
}

uint64_t random_between(struct random_source *r, uint64_t low, uint64_t high)
{
	return low + random_below(r, high - low + 1);
}

bool random_chance(struct random_source *r, uint32_t per_mille)
{
	return random_below(r, 1000) < per_mille;
}

/* ---- powers, in numbers with 32 bits after the point ---- */

enum { FRACTION_BITS = 32 };
#define FIXED_ONE (UINT64_C(1) << FRACTION_BITS)

/* log2 of x > 0: each squaring of a number from 1 to 2 gives one more bit. */
static uint64_t fixed_log2(uint64_t x)
{
	int whole = 63 - __builtin_clzll(x);
	uint64_t m = x << (63 - whole), out = (uint64_t)whole; /* m / 2^63 is from 1 to 2 */

	for (int bit = 0; bit < FRACTION_BITS; bit++) {
		__uint128_t square = (__uint128_t)m * m; /* of 2^126 */
		bool above = square >> 127;

		m = (uint64_t)(square >> (above ? 64 : 63));
		out = out << 1 | above;
	}
	return out;
}

static uint64_t square_root(__uint128_t x)
{
	uint64_t root = 0;

	for (int bit = 63; bit >= 0; bit--) {
		uint64_t next = root | UINT64_C(1) << bit;

		if ((__uint128_t)next * next <= x)
			root = next;
	}
	return root;
}

/* The square root of 1/2, its square root, and so on; of 2^62. */
static void fill_roots(uint64_t roots[FRACTION_BITS])
{
	uint64_t root = UINT64_C(1) << 61;

	for (size_t i = 0; i < FRACTION_BITS; i++)
		roots[i] = root = square_root((__uint128_t)root << 62);
}

/* 2^-x, of 2^62: bit by bit. */
static uint64_t fixed_exp2_minus(uint64_t x, const uint64_t roots[FRACTION_BITS])
{
	uint64_t whole = x >> FRACTION_BITS, out = UINT64_C(1) << 62;

	if (whole >= 62)
		return 1;
	for (int i = 0; i < FRACTION_BITS; i++)
		if (x >> (FRACTION_BITS - 1 - i) & 1)
			out = (uint64_t)((__uint128_t)out * roots[i] >> 62);
	return (out >> whole) | (out >> whole == 0);
}

/* i^-s for s in hundredths, of 2^40: a sum of ten million fits. */
static uint64_t zipf_weight(uint64_t i, uint32_t hundredths, const uint64_t roots[FRACTION_BITS])
{
	uint64_t power = (uint64_t)((__uint128_t)fixed_log2(i) * hundredths / 100);
	uint64_t weight = fixed_exp2_minus(power, roots) >> 22;

	return weight ? weight : 1;
}

/* ---- spreads ---- */

void sampler_init(struct sampler *s, const struct spread *spread, uint64_t count)
{
	uint64_t sum = 0, roots[FRACTION_BITS];

	CHECK(count && count <= SAMPLER_COUNT_MAX);
	*s = (struct sampler){.spread = *spread, .count = count};
	if (spread->kind != SPREAD_ZIPF)
		return;
	fill_roots(roots);
	s->sums = mem_zero(count, sizeof(*s->sums));
	for (uint64_t i = 0; i < count; i++)
		s->sums[i] = sum += zipf_weight(i + 1, spread->exponent, roots);
}

void sampler_release(struct sampler *s)
{
	mem_free(s->sums);
	s->sums = NULL;
}

static uint64_t scale(uint64_t at, uint64_t to)
{
	return (uint64_t)((__uint128_t)at * to >> 64);
}

/* The items that are asked for most. */
static uint64_t hot_count(const struct sampler *s)
{
	uint64_t hot = s->count * s->spread.hot_items / 1000;

	return hot ? hot : 1;
}

uint64_t sampler_at(const struct sampler *s, uint64_t at)
{
	uint64_t low = 0, high = s->count - 1, wanted, border;

	switch (s->spread.kind) {
	case SPREAD_UNIFORM:
		break;
	case SPREAD_ZIPF:
		wanted = scale(at, s->sums[s->count - 1]);
		while (low < high) {
			uint64_t middle = low + (high - low) / 2;

			if (s->sums[middle] > wanted)
				high = middle;
			else
				low = middle + 1;
		}
		return low;
	case SPREAD_HOTSPOT:
		border = UINT64_MAX / 1000 * s->spread.hot_share;
		if (hot_count(s) == s->count)
			break;
		if (at < border)
			return (uint64_t)((__uint128_t)at * hot_count(s) / border);
		return hot_count(s) + (uint64_t)((__uint128_t)(at - border) * (s->count - hot_count(s)) /
						 ((__uint128_t)UINT64_MAX - border + 1));
	}
	return scale(at, s->count);
}

uint64_t sampler_draw(const struct sampler *s, struct random_source *r)
{
	return sampler_at(s, random_next(r));
}

uint64_t sampler_share(const struct sampler *s, uint64_t item)
{
	uint64_t hot = hot_count(s);

	switch (s->spread.kind) {
	case SPREAD_UNIFORM:
		break;
	case SPREAD_ZIPF:
		return (uint64_t)((__uint128_t)(s->sums[item] - (item ? s->sums[item - 1] : 0)) * FIXED_ONE /
				  s->sums[s->count - 1]);
	case SPREAD_HOTSPOT:
		if (hot == s->count)
			break;
		return item < hot ? FIXED_ONE * s->spread.hot_share / 1000 / hot
				  : FIXED_ONE * (1000 - s->spread.hot_share) / 1000 / (s->count - hot);
	}
	return FIXED_ONE / s->count;
}
