/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The random numbers of generated workloads: the same seed gives the same numbers on every machine.
 *
 * Only whole numbers are calculated with, so that no compiler, library or processor can round differently.
 * The generator is xoshiro256** (Blackman, Vigna: Scrambled linear pseudorandom number generators), its state
 * filled by splitmix64.
 */
#ifndef WORKLOAD_RANDOM_SOURCE_H
#define WORKLOAD_RANDOM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random_source {
	uint64_t state[4];
};

/* `stream` tells several sources of one seed apart: the number of a case, of a session. */
void random_seed(struct random_source *r, uint64_t seed, uint64_t stream);
uint64_t random_next(struct random_source *r);
/* 0 to limit - 1, each equally likely; 0 for a limit of 0. */
uint64_t random_below(struct random_source *r, uint64_t limit);
/* low to high, both included. */
uint64_t random_between(struct random_source *r, uint64_t low, uint64_t high);
/* True in so many of a thousand cases. */
bool random_chance(struct random_source *r, uint32_t per_mille);

/* How accesses, or values, spread over 0 to count - 1. */
enum spread_kind { SPREAD_UNIFORM, SPREAD_ZIPF, SPREAD_HOTSPOT };

struct spread {
	enum spread_kind kind;
	uint32_t exponent;             /* ZIPF: in hundredths; the item of rank i has weight (i + 1)^-exponent */
	uint32_t hot_items, hot_share; /* HOTSPOT: so many per mille of the items get so many per mille of the accesses */
};

/* A spread made ready for one count. */
struct sampler {
	struct spread spread;
	uint64_t count;
	uint64_t *sums; /* ZIPF: of the weights, ascending; NULL: not needed */
};

enum { SAMPLER_COUNT_MAX = 10 * 1000 * 1000 };

/* count is at least 1 and at most SAMPLER_COUNT_MAX. */
void sampler_init(struct sampler *s, const struct spread *spread, uint64_t count);
void sampler_release(struct sampler *s);
uint64_t sampler_draw(const struct sampler *s, struct random_source *r);
/* The item at a place of the distribution: `at` of 2^64 (G^-1 of the papers).  Equal parts of 0 to 2^64 give equal shares. */
uint64_t sampler_at(const struct sampler *s, uint64_t at);
/* An item's share of the accesses, of 2^32. */
uint64_t sampler_share(const struct sampler *s, uint64_t item);

#endif
