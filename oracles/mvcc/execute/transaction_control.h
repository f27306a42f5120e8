/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How transactions begin and end when statements are executed. */
#ifndef MVCC_EXECUTE_TRANSACTION_CONTROL_H
#define MVCC_EXECUTE_TRANSACTION_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;
struct schedule_stmt;

bool run_stmt(struct mvcc *m, uint32_t stmt);
/* As the trace says; `txn` is the schedule's number. */
void end_txn(struct mvcc *m, uint32_t txn);
void roll_back(struct mvcc *m, uint32_t txn);
/* Is its read view made when it begins? */
bool begins_view(const struct mvcc *m, uint32_t txn);
/* A statement that commits implicitly has done so when it fails, unless it could not even be parsed, and
 * only a later answer tells; that of COMMIT or ROLLBACK does not. */
void commit_of_failed(struct mvcc *m, uint32_t stmt);
/* By the trace alone: may it have ended its transaction so, at another time than the trace says, or not as it says?  */
bool may_commit_by_failing(const struct mvcc *m, uint32_t stmt);
/* The transaction that it may have ended so, where that is not over yet; SCHEDULE_NONE. */
uint32_t failed_commit(const struct mvcc *m, uint32_t stmt);
/* Where clients ran at once: has it yet to commit, before all else that it does? */
bool commits_first(const struct mvcc *m, uint32_t stmt);
void commit_first(struct mvcc *m, uint32_t stmt);
bool ends_txn(const struct mvcc *m, uint32_t stmt);
/* XA COMMIT or XA ROLLBACK of one that was prepared before, by whichever session? */
bool ends_prepared_txn(const struct mvcc *m, uint32_t stmt);
/* Does it end a transaction that is not its own, as BEGIN does? */
bool ends_other_txn(const struct schedule_stmt *stmt);
/* Tables whose state a statement looks at or changes, as bits. */
uint64_t stmt_tables(const struct mvcc *m, uint32_t stmt);

#endif
