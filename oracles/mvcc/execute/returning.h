/* SPDX-License-Identifier: GPL-2.0-or-later */
/* INSERT, REPLACE and DELETE ... RETURNING. */
#ifndef MVCC_EXECUTE_RETURNING_H
#define MVCC_EXECUTE_RETURNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eval_result;
struct eval_table;
struct eval_value;
struct mvcc;
struct plan;
struct sql_item;
struct write_answer;

/* False: what it asks for is not modelled */
bool plan_returning(struct mvcc *m, struct plan *plan, const struct sql_item *items,
	const struct eval_table *def, bool in_order);
/* The AUTO_INCREMENT value of that row of the answer; 0: not known. */
uint64_t returning_auto_increment(struct mvcc *m, const struct plan *plan, size_t row);
/* The current statement answers with the row. */
void returning_row(struct mvcc *m, struct write_answer *answer, const struct eval_value *row);
bool returning_fits(struct mvcc *m, const struct write_answer *answer,
	struct eval_result *expected, bool *undecided);

#endif
