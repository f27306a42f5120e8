/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our own history as a value history, for other tools: objects become keys 0, 1, ..., versions the
 * values of registers, each version of an object another; what was there before is the initial
 * value.  Predicate reads, reads of absent rows that could be several versions, and writes that
 * were taken back inside their transaction have no word there: they are left out and counted.
 */
#ifndef MODEL_VALUES_FROM_HISTORY_H
#define MODEL_VALUES_FROM_HISTORY_H

#include "model/history/history.h"
#include "model/values/values.h"

struct from_history_counts {
	uint64_t predicates, absent_reads, undone_writes;
};

MUST_CHECK bool values_from_history(struct values *out, const struct history *history,
	struct from_history_counts *counts, struct err *err);

#endif
