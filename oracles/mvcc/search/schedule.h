/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorded schedule: an execution (model/execution/execution.h) as a list of events by sequence
 * number.  A statement is sent, a statement is answered, a transaction ends by itself (its
 * connection closed).  What else the transaction records say (began, committed, savepoint ...)
 * hangs on the statement that caused it.
 *
 * Texts, rows and tables are the execution's, which must outlive the schedule.
 */
#ifndef MVCC_SEARCH_SCHEDULE_H
#define MVCC_SEARCH_SCHEDULE_H

#include <stdint.h>

#include "base/arena.h"
#include "model/execution/execution.h"

#define SCHEDULE_NONE UINT32_MAX

struct schedule_txn {
	uint64_t number;
	uint32_t session;
	uint8_t level, outcome;
	bool snapshot, autocommit, ended, read_only;
	bool disconnected; /* ended with its connection, or its end is not in the trace */
	uint64_t end_at;   /* when that was noticed */
	uint64_t end_seq;  /* of the record that tells of its end; 0: none */
	uint64_t begin_seq;
	uint32_t first_stmt; /* EXECUTION_NONE: none */
	bool after_failed; /* one goes on with it */
	uint32_t goes_on;  /* of one statement that failed without autocommit: the session's next,
			      which may be the same;  SCHEDULE_NONE: none */
	uint8_t mixed;     /* enum txn_mixed */
	bool by_failed; /* ended by the implicit commit of a statement that failed, noticed later */
};

struct schedule_txn_event {
	uint32_t txn; /* index */
	uint8_t event;
	struct span name; /* of the savepoint */
	struct schedule_txn_event *next;
};

struct schedule_stmt {
	const struct execution_stmt *in;
	uint32_t txn;                        /* index or SCHEDULE_NONE */
	struct span text;                    /* with parameters put in, where they are known */
	bool moments;                        /* some parameters are dates or times with decimals of their own */
	struct schedule_txn_event *txn_events;
};

enum schedule_event_kind {
	EVENT_SENT,
	EVENT_ANSWERED,
	EVENT_TXN, /* a transaction ended without a statement */
};

struct schedule_event {
	uint64_t seq;
	uint32_t index; /* of the statement; EVENT_TXN: of the transaction */
	uint32_t kind;
};

struct schedule {
	const struct execution *execution;
	struct arena arena;
	struct schedule_txn *txns;
	size_t txn_count, txn_capacity;
	struct schedule_stmt *stmts; /* as in the execution */
	size_t stmt_count;
	struct schedule_event *events;
	size_t event_count;
	bool one_at_a_time; /* a scenario was run: nothing is sent before it is known which sessions wait */
};

void schedule_init(struct schedule *schedule, const struct execution *execution);
void schedule_release(struct schedule *schedule);
/* The first result of a statement; NULL: none.  Valid as execution_set() says. */
static inline const struct execution_rows *schedule_result(
	const struct schedule *schedule, const struct schedule_stmt *stmt)
{
	return execution_set(schedule->execution, stmt->in, 0);
}

#endif
