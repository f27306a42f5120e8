/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the solver met, in words. */
#ifndef MVCC_EXPLAIN_EXPLAIN_H
#define MVCC_EXPLAIN_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mvcc/explain/note.h"

struct mvcc;
struct store_record;

/* What was met, in words */
void note_add(struct mvcc *m, enum note_kind kind, uint32_t other, uint32_t table,
	struct store_record *record);
/* Of m->search.mismatch; the state is the one in which it showed. */
void note_mismatch(struct mvcc *m);
/* A statement changed the row with this key though another transaction that overlapped did, too. */
void note_concurrent(
	struct mvcc *m, uint32_t stmt, uint32_t other_txn, uint32_t table, int64_t key);
void notes_drop(struct mvcc *m, size_t count);
uint32_t notes_listed_max(const struct mvcc *m);

#endif
