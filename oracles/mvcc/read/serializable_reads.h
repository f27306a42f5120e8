/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What SERIALIZABLE transactions have read stays as it is. */
#ifndef MVCC_READ_SERIALIZABLE_READS_H
#define MVCC_READ_SERIALIZABLE_READS_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;
struct store_record;
struct store_undo;
struct store_version;

/* What SERIALIZABLE transactions have read stays.  False: m->search.mismatch.  The current statement has written
 * what is newer than `since`: does it leave it so? */
bool serializable_reads_stay(struct mvcc *m, const struct store_undo *since);
/* The current statement is a query that was answered: had no open transaction changed what it read?  Keeps it. */
bool serializable_read_keep(struct mvcc *m);
/* FORCE_AGAIN: what the query sees of a record. */
struct store_version *serializable_read_version(const struct mvcc *m, const struct store_record *record);

void serializable_reads_open(struct mvcc *m);

#endif
