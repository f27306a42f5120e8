/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a reader needs to believe a finding: the statements whose reads and writes make it up, in
 * order, each with what it saw or did; and the rows concerned with all their versions.
 */
#ifndef ADYA_WITNESS_H
#define ADYA_WITNESS_H

#include "adya/dependencies.h"
#include "common/verdict.h"

enum { WITNESS_STEPS_MAX = 64, WITNESS_ROWS_MAX = 16, WITNESS_VERSIONS_MAX = 128 };

struct witness_step {
	uint32_t txn, stmt;
	enum step_act act;
	struct span what;
};

struct witness {
	const struct history *history;
	struct arena *arena; /* the verdict's */
	struct witness_step steps[WITNESS_STEPS_MAX];
	uint32_t step_count;
	uint32_t objects[WITNESS_ROWS_MAX];
	uint32_t object_count;
	uint32_t versions[WITNESS_VERSIONS_MAX]; /* that were read or written */
	uint32_t version_count;
};

/* txn read, or wrote, a version; `stmt` NONE: whichever of its statements did. */
void witness_read(struct witness *witness, uint32_t txn, uint32_t stmt, uint32_t version);
void witness_write(struct witness *witness, uint32_t version);
/* All that one step of a cycle rests on. */
void witness_cycle_step(struct witness *witness, const struct dependencies *dependencies,
	const struct cycle_step *step);
/* Sorts the steps and puts everything into the finding. */
void witness_finish(struct witness *witness, struct finding *finding);

#endif
