/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which levels hold, and whether the contract is kept: by the certain edges where these contradict it, by an
 * explanation where one satisfies it (semantics.md, section 2a).
 */
#ifndef ADYA_LEVELS_H
#define ADYA_LEVELS_H

#include "adya/adya_internal.h"
#include "common/graph/cycles.h"

struct level_answers {
	enum level_answer levels[CYCLE_ORDER_COUNT][CYCLE_LEVEL_COUNT];
	/* By statement: its choices stand in cycles that the contract forbids, and no others were found; or they
	 * do not fit one state of the database at one moment.  NULL: there are none. */
	bool *open;
	bool timed_promises; /* what the contract promises holds with the edges of real time, too */
};

/* `certain`: the cycles of the certain edges.  `can_hold`: no level is in doubt for other reasons, so that further
 * explanations are worth a try. */
void levels_decide(struct adya *a, const struct cycles *certain, bool can_hold, struct level_answers *out);
void levels_release(struct level_answers *answers);
/* Does all that holds hold with the edges of reads that were left out, too (dependencies_options.timed)?  Then it holds with the
 * edges of real time, which they follow from.  What certain edges refute needs no others, and what is open stays open. */
bool levels_bear_what_was_left_out(const struct level_answers *answers);
/* The transactions of a level and above, with the data edges between them.  Returns the node of `graph` for each of
 * `out`; the caller frees both. */
uint32_t *cut_level(const struct adya *a, const struct graph *graph, uint8_t level, struct graph *out);

#endif
