/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Session guarantees where nothing has to be chosen: lists whose every element has one writer.
 * Linear; model_guarantees.c answers for the rest.
 */
#ifndef VALUES_GUARANTEES_H
#define VALUES_GUARANTEES_H

#include "values/facts.h"

enum guarantee {
	GUARANTEE_RYW, /* read your writes */
	GUARANTEE_MR,  /* monotonic reads */
	GUARANTEE_MW,  /* monotonic writes */
	GUARANTEE_WFR, /* writes follow reads */
};
enum { GUARANTEE_COUNT = 4 };

/* Two transactions of a session that break it; VALUES_NONE: it holds. */
struct guarantee_breach {
	uint32_t first, second;
};

/* False: there are registers, or ambiguous elements. */
bool guarantees_of_lists(
	const struct facts *facts, struct guarantee_breach breaches[GUARANTEE_COUNT]);

/* Up to where a list that was read is of others than its reader. */
uint32_t guarantee_read_end(const struct facts *facts, uint32_t op);
/* The place of an append in its key's list; UINT32_MAX: after all on which the reads agree. */
uint32_t guarantee_append_place(const struct facts *facts, uint32_t op);
/* Does a list that was read say anything? */
bool guarantee_read_counts(const struct facts *facts, uint32_t op);

#endif
