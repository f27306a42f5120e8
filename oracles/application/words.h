/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said about a candidate: its witness, why it may be harmless, and what would prevent it. */
#ifndef APPLICATION_WORDS_H
#define APPLICATION_WORDS_H

#include "application/candidates.h"
#include "application/judge.h"
#include "common/verdict.h"

/* A witness. */
struct told {
	struct span *transactions; /* two */
	struct finding_edge *edges;
	uint32_t edge_count;
	struct finding_step *steps;
	uint32_t step_count;
	struct finding_row *rows;
	uint32_t row_count;
	struct span explanation, caveat;
};

void tell_candidate(struct told *out, struct arena *arena, const struct history *history,
	const struct accesses *accesses, const struct candidate *candidate);
/* "stock, sold" */
struct span column_words(struct arena *arena, const struct access_table *table, uint64_t columns);
/* Of one of the harmless ones. */
const char *harmless_words(enum judgement judgement);
/* What a candidate is, as far as the advice differs. */
enum advice_about {
	ABOUT_LOST_UPDATE,
	ABOUT_FOUND_GONE,
	ABOUT_WRITE_SKEW,
	ABOUT_INSERT_SKEW, /* rows that the other did not see come new: no lock on a row helps */
	ABOUT_READ_SKEW,
};

enum advice_about advice_about(const struct accesses *accesses, const struct candidate *candidate);
/* The best first; ends with NULL. */
const char *const *advice_for(enum advice_about about, uint8_t level);
/* All of a finding in sentences: how often, by which code, an example, what would prevent it. */
struct span explain_pattern(struct arena *arena, const struct finding_pattern *pattern, struct span example);

#endif
