/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weights of characters, as make_collation_weights takes them from Unicode's tables; see there. */
#ifndef EVAL_VALUE_COLLATION_WEIGHTS_H
#define EVAL_VALUE_COLLATION_WEIGHTS_H

#include <stdint.h>

enum {
	WEIGHT_RANGES = 10,
	WEIGHT_COUNT = 2935,
	WEIGHT_UNKNOWN = 0xffff,
	WEIGHT_MANY = 0xf000, /* and above: the row of weight_many */
};

struct weight_range {
	uint32_t low, high; /* code points */
	uint32_t at;        /* the place of `low` in the tables */
};

extern const struct weight_range weight_ranges[WEIGHT_RANGES];
extern const uint16_t weight_uca[WEIGHT_COUNT]; /* 0: the character is skipped */
extern const uint16_t weight_many[][4];         /* ends at 0 */
extern const uint16_t weight_general[WEIGHT_COUNT];
extern const uint8_t weight_base[WEIGHT_COUNT]; /* a small letter, or 0 */

#endif
