/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The levels' names, and which implies which (peers: Elle's lattice, Adya's thesis, Biswas and
 * Enea).  docs/oracles/values.md says what each means.
 */
#ifndef VALUES_LEVELS_H
#define VALUES_LEVELS_H

#include <stdbool.h>

#include "common/graph/cycles.h"
#include "common/verdict.h"

/* Adya's, plain, strong session and strong. */
extern const char *const adya_level_names[CYCLE_ORDER_COUNT][CYCLE_LEVEL_COUNT];

/* Does a history that satisfies level a satisfy level b?  A level implies itself. */
bool values_level_implies(const char *a, const char *b);

/* The level of that name, in whatever case; NULL: there is none. */
const char *values_level_named(const char *name);

/* Is it one of the strongest that hold, or of the weakest that fail? */
bool level_is_extreme(const struct verdict *verdict, size_t level);

/* Decides levels that are open by those that they imply, or that imply them. */
void levels_complete(struct verdict *verdict);
bool levels_are_decided(const struct verdict *verdict);

#endif
