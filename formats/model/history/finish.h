/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of build_orders() share: finish.c, and version_order.c for the versions. */
#ifndef MODEL_HISTORY_FINISH_H
#define MODEL_HISTORY_FINISH_H

#include "model/history/build.h"

enum {
	FINISH_PARTS = 2, /* of what is done at the same time */
	PREFETCH_AHEAD = 16,
};

static inline bool bit_get(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static inline void bit_set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= (uint64_t)1 << (i % 64);
}

static inline uint64_t *bits_new(uint32_t count)
{
	return mem_zero((size_t)count / 64 + 1, sizeof(uint64_t));
}

/* Puts the versions of every object in order, where that can be.  Versions are grouped by object
 * and by id; `committed` has a bit a transaction. */
void order_objects(struct history *history, const uint64_t *committed);

#endif
