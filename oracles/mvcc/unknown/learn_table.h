/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Knowing a table's content again (see learn_table.c).
 */
#ifndef MVCC_UNKNOWN_LEARN_TABLE_H
#define MVCC_UNKNOWN_LEARN_TABLE_H

#include <stdbool.h>

struct eval_table;
struct mvcc;
struct store_table;

/* Whether what a SELECT shows is all that is in a row: of a FLOAT it is six digits. */
bool answers_show_all(const struct eval_table *def);
/* Called where the current statement read a table whose content is not known: takes it from the
 * recorded answer where that is all of it.  Read views from before stay blind for the table. */
void learn_table(struct mvcc *m);
/* TRUNCATE: whatever was in it. */
void learn_empty(struct mvcc *m, struct store_table *table);
/* Its content is known from here on; what was not known may have been committed after older read views were
 * made, without a commit that we counted. */
void know_from_now(struct mvcc *m, struct store_table *table);

#endif
