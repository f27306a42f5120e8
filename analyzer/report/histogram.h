/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A histogram of durations over the whole range of 64 bits in 30 KB: up to 127 exact, above that 64
 * buckets for each doubling.  A quantile is the middle of its bucket, at most 1/128 (0.8 %) off;
 * count, sum, minimum and maximum are exact (the sum stops at 2^64 - 1).
 */
#ifndef REPORT_HISTOGRAM_H
#define REPORT_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_ERROR 0.0078125

struct histogram {
	uint64_t count, sum, min, max;
	uint64_t *buckets; /* NULL until the first value */
};

void histogram_add(struct histogram *histogram, uint64_t value);
/* The smallest value that at least the fraction q of all values do not exceed; 0 when empty. */
uint64_t histogram_quantile(const struct histogram *histogram, double q);
void histogram_release(struct histogram *histogram);

#endif
