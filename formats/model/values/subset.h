/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a value history that is a history itself: some transactions, and of these some operations.
 *
 * What the others wrote is as if it had never been.  A read of one of their values is left out, and elements that they
 * appended are taken out of the lists that were read.  Values that no transaction wrote stay: that is what may be wrong
 * with them.
 */
#ifndef MODEL_VALUES_SUBSET_H
#define MODEL_VALUES_SUBSET_H

#include "model/values/values.h"

/* txns: ascending numbers of transactions.  keep_op: by operation of the history; NULL: all of these transactions. */
MUST_CHECK bool values_subset(const struct values *values, const uint32_t *txns, size_t count, const uint8_t *keep_op,
	struct values *out, struct err *err);

#endif
