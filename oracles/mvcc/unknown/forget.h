/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables and rows become unknown. */
#ifndef MVCC_UNKNOWN_FORGET_H
#define MVCC_UNKNOWN_FORGET_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;
struct store_table;

/* The content of the tables is not known any more */
void forget_all(struct mvcc *m, uint32_t reason);
void forget_table(struct mvcc *m, struct store_table *table, uint32_t reason);
/* ... in the rows that the current statement can have written. */
void forget_written(struct mvcc *m, uint32_t reason);
/* The same of one that we cannot execute, unless its answer counts no rows.  With RETURNING there is no
 * count. */
void forget_unsupported(struct mvcc *m);
/* Also where the current transaction is rolled back: it may have been another that wrote. */
void forget_for_good(struct mvcc *m, uint32_t reason);
/* The same of what it can have written. */
void forget_written_for_good(struct mvcc *m, uint32_t reason);

#endif
