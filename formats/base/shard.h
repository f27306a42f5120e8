/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One of several machines' share of a list: "2/7" is every seventh thing, beginning with the second. */
#ifndef BASE_SHARD_H
#define BASE_SHARD_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

enum { SHARDS_MAX = 100000 };

struct shard {
	uint32_t number; /* from 1 */
	uint32_t of;     /* 0: there are no shards */
};

/* NULL: no shards. */
bool shard_parse(const char *text, struct shard *out, struct err *err) MUST_CHECK;

/* Is thing `index`, from 0, in the share? */
static inline bool shard_has(const struct shard *shard, uint64_t index)
{
	return !shard->of || index % shard->of == shard->number - 1;
}

#endif
