/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the solver: what its parts share.  mvcc.h is for other folders.
 *
 * The solver goes through the events of the schedule.  A statement is executed on the store when
 * its answer was recorded, unless another order is tried (search.c); what it may answer is compared
 * with what was recorded (compare_answer.c).  Where the engine has a choice that we cannot see, choose()
 * picks one, and a later contradiction makes the search come back and pick another.
 */
#ifndef MVCC_SOLVER_H
#define MVCC_SOLVER_H

#include "base/arena.h"
#include "common/contract.h"
#include "common/verdict.h"
#include "eval/eval.h"
#include "mvcc/execute/stmt_exec.h"
#include "mvcc/explain/note.h"
#include "mvcc/mvcc.h"
#include "mvcc/plan/catalog.h"
#include "mvcc/plan/plan.h"
#include "mvcc/read/query_memo.h"
#include "mvcc/reason.h"
#include "mvcc/search/schedule.h"
#include "mvcc/search/search.h"
#include "mvcc/store/store.h"
#include "sql/sql.h"

/* A transaction that ended with its connection (disconnects.c). */
struct loose_end {
	uint32_t txn;  /* store number */
	uint64_t from; /* from this sequence number on it may be gone; UINT64_MAX: as recorded */
};

/* A run of the solver over one schedule. */
struct mvcc {
	const struct schedule *schedule;
	const struct mvcc_options *options;
	struct verdict *verdict;
	struct arena scratch;
	struct sql_options sql;
	struct eval_source source;
	uint64_t opaque_count; /* the last value of env.opaque_count; those of each statement have a range of their own */
	struct session_settings settings_at_start; /* of a session that has set nothing, when the trace began */
	struct session_settings settings_of_new; /* ... and as SET GLOBAL has left it */
	bool login_ignored; /* skip-character-set-client-handshake: no login says in which character set its texts are */
	uint64_t global_from, global_to; /* when that was, first and last; 0: never */
	bool has_si;             /* a session has ENGINE_INNODB_SI */
	bool unrecorded_writers; /* sessions that were not recorded may have changed rows */
	bool some_not_recorded;  /* ... and the recorder knows of some: what they explain is no news */
	bool any_dirty; /* a transaction at READ UNCOMMITTED */
	bool gaps_open; /* gaps are not locked, by an old setting of the server */
	uint64_t *last_answers; /* by statement: the last answer to it or to one before; NULL: not asked yet */
	uint32_t *next_stmts; /* by statement: the next of its session; STORE_NONE */
	struct untold_numbers **untold; /* by table; NULL: not asked for yet (untold_numbers.c) */
	struct loose_end *loose_ends;
	size_t loose_end_count;
	struct reasons reasons;
	uint64_t wrong_sql_work; /* statements looked at (explain/wrong_sql.c) */

	struct catalog catalog;

	/* What the trail restores. */
	struct store store;
	struct stmt_run *runs;
	struct session_run *sessions;
	struct note *notes;
	size_t note_count, note_capacity;
	uint32_t noted[NOTE_COUNT]; /* notes by kind */

	struct search search;
	struct stmt_exec now;
	struct gathered_tables gathered;
	struct query_memo memo;
	struct wanted_locks wanted;
	struct note_draft draft;
};

#endif
