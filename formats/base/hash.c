/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/hash.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t hash_seed = 0x2545f4914f6cdd1du;

__attribute__((constructor)) static void seed_once(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
		hash_seed = seed;
	else
		hash_seed ^= (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u + (uint64_t)getpid();
}
