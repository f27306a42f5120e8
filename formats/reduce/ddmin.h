/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delta debugging: the fewest of a set of units with which something still holds.
 *
 * Units stand in levels, coarse to fine, and may need others (a statement its session, a row its table).  A candidate is
 * a set of units that holds, with each unit, all that this one needs; so with a unit goes what needs it.  The steps:
 *
 *  1. All units that are doubted go at once, then only those that are doubted more, and so on: where the caller knows
 *     which units matter, this is most of the work.
 *  2. Level by level: what is still doubted goes in halves, quarters ... (Zeller and Hildebrandt, "Simplifying and
 *     Isolating Failure-Inducing Input", 2002; Misherghi and Su, "HDD: Hierarchical Delta Debugging", 2006).
 *  3. Each unit that is left goes alone, round and round, until a whole round removed nothing.  After one that went,
 *     two are tried at once, then four: what often goes well need not be done one by one.
 *
 * So the result is 1-minimal: no unit that is left can go (with what needs it), where a test says the same each time.
 * The search is pure: it knows nothing of what the units stand for.  No set is tested twice.
 */
#ifndef REDUCE_DDMIN_H
#define REDUCE_DDMIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DDMIN_LEVELS_MAX = 16, DDMIN_WIDTH_MAX = 64 };

struct ddmin_unit {
	uint8_t level; /* below DDMIN_LEVELS_MAX */
	uint8_t doubt; /* 0: probably needed; the more, the less */
	bool fixed;    /* never removed */
};

/* `unit` is of no use without `needed`.  Units that need each other go together. */
struct ddmin_need {
	uint32_t unit, needed;
};

#define DDMIN_NONE SIZE_MAX /* none of the candidates holds */
#define DDMIN_STOP (SIZE_MAX - 1)

struct ddmin {
	const struct ddmin_unit *units;
	size_t count;
	const struct ddmin_need *needs;
	size_t need_count;
	/* Levels in the order in which they are reduced, level_count of them; NULL: ascending. */
	const uint8_t *order;
	size_t order_count;
	bool no_singles; /* leave the third step out */
	/* How many candidates test() gets at once, at most; 0 is 1. */
	size_t width;
	/* Candidates are arrays of `count`.  The number of the first that holds, DDMIN_NONE or DDMIN_STOP.  All of them
	 * have been taken from one set, so that the caller may try them at the same time. */
	size_t (*test)(void *ctx, bool *const *candidates, size_t count);
	/* A candidate was accepted; level: what was removed was of it, UINT8_MAX: of several.  May be NULL. */
	void (*accepted)(void *ctx, const bool *kept, uint8_t level);
	void *ctx;
};

/* kept[]: true for what is there; must hold to begin with, and holds what is left afterwards.  False: test() stopped it;
 * kept is the best so far. */
bool ddmin_run(const struct ddmin *d, bool *kept);

#endif
