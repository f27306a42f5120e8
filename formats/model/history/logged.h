/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace whose writes the binary log tells (`logged` records) and whose statements stand beside it:
 * which session's transaction a logged one is, which of its statements wrote what, and which version
 * each returned row was (history.md, rules 23 to 25).
 *
 * Writes become operations while the log is read, of transactions that are numbered by the log; the
 * sessions' statements and answers are read in a second pass, when all writes are known.  Then the
 * log's transactions are renamed, and reads are added.
 */
#ifndef MODEL_HISTORY_LOGGED_H
#define MODEL_HISTORY_LOGGED_H

#include "model/history/build.h"

struct logged;

struct logged *logged_new(struct history_build *build);
void logged_free(struct logged *logged);

/* The transaction and statement that the writes of a rows record get for now. */
struct logged_names {
	uint32_t txn, stmt;
};
struct logged_names logged_rows(struct logged *logged, const struct record_logged *record, uint32_t rows);
/* NONE, or the name that writes have which were prepared (XA) and are rolled back now: no other transaction has
 * written these rows since. */
uint32_t logged_end(struct logged *logged, const struct record_logged *record);
/* The first operation that may be one of that transaction's. */
uint32_t logged_first_op(const struct logged *logged, uint32_t txn);

/* The second pass: records as they come. */
bool logged_wants(uint32_t kind);
void logged_take(struct logged *logged, uint32_t kind, struct mp *mp, uint32_t left);
/* All were taken: renames the transactions, and adds the reads. */
void logged_finish(struct logged *logged);

#endif
