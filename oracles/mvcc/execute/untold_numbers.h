/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AUTO_INCREMENT numbers of rows that stored programs insert: no answer tells them. */
#ifndef MVCC_EXECUTE_UNTOLD_NUMBERS_H
#define MVCC_EXECUTE_UNTOLD_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "eval/eval.h"

struct mvcc;
struct plan;
struct untold_numbers;

/* Of a plain INSERT in a stored program, into a table whose primary key is the number: the first of those that the
 * server gave to its rows.  0: not known, or not one of these. */
uint64_t untold_number(struct mvcc *m, const struct plan *plan, const struct eval_rows *rows);
void untold_numbers_release(struct mvcc *m);

#endif
