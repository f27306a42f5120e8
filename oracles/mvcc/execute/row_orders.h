/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows that a statement takes one after the other, in an order that only the server knows. */
#ifndef MVCC_EXECUTE_ROW_ORDERS_H
#define MVCC_EXECUTE_ROW_ORDERS_H

#include <stddef.h>
#include <stdint.h>

#include "mvcc/execute/write.h"

struct mvcc;

/* The way-th permutation of 0 .. count - 1. */
void nth_order(uint32_t way, size_t count, uint32_t *order);

/* Calls `each` for every number below `count`: orders that make a difference are tried. */
typedef void row_step(struct mvcc *m, void *ctx, size_t number, struct write_answer *answer);
void rows_in_orders(
	struct mvcc *m, size_t count, row_step *each, void *ctx, struct write_answer *answer);

#endif
