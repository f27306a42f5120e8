/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Joint classification: where two oracles speak of the same transactions, one finding says what
 * each of them has to say.
 */
#ifndef COMMON_MERGE_FINDINGS_H
#define COMMON_MERGE_FINDINGS_H

#include "common/verdict.h"

/* Joins findings of `mvcc` to those of `adya` with the same transactions.  The graph's class and
 * witness stay, what the solver found becomes the remark, and the graver severity counts.
 * Suspicions are not joined: they speak of something else.  Call before verdict_sort. */
void verdict_join(struct verdict *verdict);

#endif
