/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers for tests: the same in every run (SplitMix64, Steele et al. 2014). */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state; /* the seed, to begin with */
};

static inline uint64_t random_next(struct random *random)
{
	uint64_t z = (random->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* 0 .. limit-1; 0 for a limit of 0. */
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
	return limit ? random_next(random) % limit : 0;
}

#endif
