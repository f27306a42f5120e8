/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers that are wrong in every order of events. */
#ifndef MVCC_SEARCH_WRONG_IN_ANY_ORDER_H
#define MVCC_SEARCH_WRONG_IN_ANY_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct eval_table;
struct mvcc;
struct plan;

/* Is the current answer, which contradicts, wrong in every order? */
bool answer_is_impossible(struct mvcc *m);
/* Of a query of one table: which of its columns each of the answer is.  False: some are none, or they are not
 * `width`. */
bool answer_columns(const struct plan *plan, const struct eval_table *def, uint32_t *columns,
	uint32_t width);

#endif
