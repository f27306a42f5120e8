/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The final rows of the tables against what is committed in the store. */
#ifndef MVCC_EXECUTE_FINAL_ROWS_H
#define MVCC_EXECUTE_FINAL_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct eval_result;
struct mvcc;

enum final_answer { FINAL_FITS, FINAL_DIFFERS, FINAL_OPEN, FINAL_UNKNOWN, FINAL_NONE };

/* Of a table that was there at the start; *number: what its name stands for at the end. */
enum final_answer final_of(
	struct mvcc *m, uint32_t first, uint32_t *number, struct eval_result *expected);
/* Whether the store holds the final rows, as far as they can be judged. */
bool finals_fit(struct mvcc *m);

#endif
