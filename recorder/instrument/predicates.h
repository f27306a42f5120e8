/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Select mode, on request: the predicates that statements had, and which rows of a later write they
 * match before it (BPM) and after it (APM).
 *
 * The sessions of a recorder share them.  Only predicates that mean the same in every session are
 * kept (plan.shared), the newest PREDICATES_KEPT of them; of those of its table a write is asked
 * for the newest PREDICATES_ASKED.
 */
#ifndef INSTRUMENT_PREDICATES_H
#define INSTRUMENT_PREDICATES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	PREDICATES_KEPT = 64,
	PREDICATES_ASKED = 8,
	PREDICATE_TEXT_MAX = 1000, /* longer ones are not kept */
};

struct instrument_table;
struct predicates;

struct predicate_match {
	struct buf text;
	uint32_t session, number; /* the last statement that had it */
	struct buf before, after; /* rows that match, each ended by a newline */
};

/* Of one write. */
struct predicate_matches {
	struct predicate_match list[PREDICATES_ASKED];
	size_t count;
	bool before_done, after_done;
};

struct predicates *predicates_new(void);
void predicates_free(struct predicates *predicates);
/* `text`: as the SQL printer writes it, with names in backticks. */
void predicates_add(struct predicates *predicates, const struct instrument_table *table,
	struct span text, uint32_t session, uint32_t number);
/* The newest of a table, into a list that is empty. */
void predicates_take(struct predicates *predicates, const struct instrument_table *table,
	struct predicate_matches *out);

void predicate_matches_clear(struct predicate_matches *matches);
void predicate_matches_release(struct predicate_matches *matches);

#endif
