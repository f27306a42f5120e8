/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/histogram.h"

#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"

enum {
	SUB_BITS = 6,
	SUB = 1 << SUB_BITS,
	EXACT = 2 * SUB,
	BUCKETS = EXACT + (63 - SUB_BITS) * SUB
};

static unsigned bucket_of(uint64_t value)
{
	unsigned exponent;

	if (value < EXACT)
		return (unsigned)value;
	exponent = 63 - (unsigned)__builtin_clzll(value); /* at least SUB_BITS + 1 */
	return EXACT + (exponent - SUB_BITS - 1) * SUB +
	       (unsigned)(value >> (exponent - SUB_BITS) & (SUB - 1));
}

static uint64_t bucket_middle(unsigned bucket)
{
	unsigned shift;

	if (bucket < EXACT)
		return bucket;
	shift = (bucket - EXACT) / SUB + 1;
	return ((uint64_t)(SUB + (bucket - EXACT) % SUB) << shift) + ((uint64_t)1 << shift) / 2;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	unsigned bucket = bucket_of(value);

	CHECK(bucket < BUCKETS);
	if (!histogram->buckets)
		histogram->buckets = mem_zero(BUCKETS, sizeof(*histogram->buckets));
	histogram->buckets[bucket]++;
	if (histogram->count == 0 || value < histogram->min)
		histogram->min = value;
	if (value > histogram->max)
		histogram->max = value;
	histogram->count++;
	histogram->sum = histogram->sum + value < value ? UINT64_MAX : histogram->sum + value;
}

uint64_t histogram_quantile(const struct histogram *histogram, double q)
{
	uint64_t rank = (uint64_t)ceil(q * (double)histogram->count), seen = 0;
	uint64_t value = 0;

	if (histogram->count == 0)
		return 0;
	if (rank == 0)
		rank = 1;
	for (unsigned i = 0; i < BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= rank) {
			value = bucket_middle(i);
			break;
		}
	}
	return value < histogram->min   ? histogram->min
	       : value > histogram->max ? histogram->max
					: value;
}

void histogram_release(struct histogram *histogram)
{
	mem_free(histogram->buckets);
	*histogram = (struct histogram){0, 0, 0, 0, NULL};
}
