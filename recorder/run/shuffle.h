/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random other orders of a scenario's schedule; each session's own order stays. */
#ifndef RUN_SHUFFLE_H
#define RUN_SHUFFLE_H

#include "scenario/scenario.h"

/* A copy of `s` without its expectations, in an order that depends on seed and number only: each
 * interleaving is equally likely. */
bool scenario_shuffle(struct scenario *out, const struct scenario *s, uint64_t seed,
	uint64_t number, struct err *err) MUST_CHECK;

#endif
