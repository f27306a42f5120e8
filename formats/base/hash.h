/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hashing of short keys for tables in memory, seeded once a process so that a hostile trace cannot
 * choose its collisions.  Values are never stored and never decide an order that is printed.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern uint64_t hash_seed; /* set before main from getrandom() */

static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
	__uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_u64(uint64_t x)
{
	return hash_mix(x ^ hash_seed, 0x9e3779b97f4a7c15u);
}

static inline uint64_t hash_load(const unsigned char *p, size_t len)
{
	uint64_t word = 0;

	if (len) /* no bytes may come without a pointer */
		memcpy(&word, p, len);
	return word;
}

static inline uint64_t hash_bytes(const void *ptr, size_t len)
{
	const unsigned char *p = (const unsigned char *)ptr;
	uint64_t h = hash_seed ^ (len * 0xa0761d6478bd642fu);

	while (len > 16) {
		h = hash_mix(hash_load(p, 8) ^ h, hash_load(p + 8, 8) ^ 0xe7037ed1a0b428dbu);
		p += 16;
		len -= 16;
	}
	if (len > 8)
		return hash_mix(hash_load(p, 8) ^ h, hash_load(p + len - 8, 8) ^ 0x8ebc6af09c88c6e3u);
	return hash_mix(hash_load(p, len) ^ h, 0x589965cc75374cc3u);
}

#endif
