/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Select mode: what is asked before and after a statement, and what the answers prove.
 *
 * Before a statement, in this order:
 *	APM   on request: the same rows as the AWR, and which earlier predicates they match
 *	AWR   the rows of the write before it, with what they overwrote
 *	MARK  sets MARK_VARIABLE: the name of the versions that a write makes
 *	VSR   every row of the tables of a plain read
 *	PM    the rows that a read's FROM and WHERE give
 *	BWR   the rows that the WHERE of an UPDATE or DELETE gives
 *	BPM   on request: the same rows, and which earlier predicates they match
 * Nothing is asked before a statement that tells of the one before it (ROW_COUNT() ...), so that
 * the AWR may come later; and nothing whose repetition would do something.
 *
 * No query may do what the client could notice, or what it could not have met itself:
 *	- Under REPEATABLE READ a plain SELECT fixes the snapshot: around writes only locking reads
 *	  of the rows they lock anyway are used, or plain ones where there is a snapshot already.
 *	- An AWR locks nothing that its statement did not lock: it cannot wait.
 *	- A locking query before the statement that fails as the statement would have (`locks`:
 *	  deadlock, lock wait timeout, snapshot conflict) is the statement's answer.
 *
 * What is exact (semantics.md, section 9), `alone` being that no other session did anything between
 * the probe's answer and the end of its statement, which only `isorec run` can know:
 *	VSR, PM of plain reads   alone; or REPEATABLE READ inside a transaction: one snapshot
 *	PM of locking reads, BWR alone, where the query locks as the statement does (not for UPDATE
 *	                         at READ COMMITTED and READ UNCOMMITTED: see docs)
 *	AWR                      always where all rows are found: the row names what it overwrote
 *	                         itself, and its writer
 *	deletions                as their BWR, where it has as many rows as were deleted
 *	BPM, APM                 as BWR and AWR
 */
#ifndef INSTRUMENT_SELECT_MODE_H
#define INSTRUMENT_SELECT_MODE_H

#include "instrument/emit_probes.h"
#include "server/errors.h"

enum own_kind { OWN_AWR, OWN_APM, OWN_MARK, OWN_VSR, OWN_PM, OWN_BWR, OWN_BPM };

struct own_query {
	enum own_kind kind;
	struct instrument_table *table;    /* AWR, BWR, APM, BPM */
	const struct instrument_table *of; /* VSR */
	size_t columns;                    /* of its rows */
	bool locks;                        /* an error of locking is the statement's */
	struct buf sql;
};

/* A write on its way: its rows before it, and what is needed to find them after it. */
struct select_write {
	uint64_t mark; /* 0: no name was given */
	enum plan_write write;
	struct instrument_table *target;
	struct probed stmt;
	struct buf predicate, source, row;
	struct buf before; /* BWR: ROW|version, each ended by a newline */
	uint32_t before_count;
	bool before_done, before_locks;
	struct buf keys; /* a condition */
	bool counts_key;
	bool alone, in_txn;
	uint8_t level;
	uint64_t affected, insert_id;
	bool affected_known, warnings;
	struct predicate_matches asked; /* BPM, APM */
};

/* How a statement ended. */
struct instrument_outcome {
	bool ok;
	unsigned error; /* where not ok; 0: not known */
	bool alone; /* nothing of other sessions ended since instrument_begin() */
	bool affected_known;
	bool warnings;
	uint64_t affected; /* rows changed, not rows found */
	bool matched_known;
	uint64_t matched; /* rows that an UPDATE found */
	uint64_t insert_id;
};

struct select_state {
	struct own_query queue[PLAN_TABLES_MAX + 6];
	size_t count, at;
	uint32_t rows; /* of the query being answered */
	struct statement_probes sets;
	bool sets_done, matches_done;
	bool asked, asked_quiet; /* VSR, PM or BWR of this statement were answered */
	uint64_t asked_ended;    /* *instrument_session.ended at the first of them */
	struct select_write now, pending;
	struct buf after; /* AWR: ROW|version/overwritten, each ended by a newline */
	/* A plain read fixed the snapshot of this transaction. */
	uint64_t view_txn;
	/* The client sends its own probes: none is added.  What they said, for the next statement.
	 */
	bool client_probes;
	uint64_t client_ended; /* *instrument_session.ended after the last of them */
	bool client_apart;     /* something of others ended between them */
	bool client_alone;     /* nothing did, nor between them and the statement */
	struct buf client_before;
	uint32_t client_before_count;
	bool client_before_done, client_before_locks, client_matches_done, client_sets_done;
	struct statement_probes client_matches, client_sets, scratch;
};

struct instrument_session;

void select_release(struct select_state *select);
/* What is to be asked before the statement whose plan s has. */
void select_begin(struct instrument_session *s, struct capture *capture,
	const struct span *literals, size_t count);
/* Trigger mode: the query of the plan beside a read, as a PM. */
void select_ask_beside(struct instrument_session *s, const struct span *literals, size_t count);
void select_take_row(struct instrument_session *s, const struct capture *capture,
	const struct own_query *query, const struct span *values);
/* The query was answered; ok: without an error; quiet: while no other session executed anything. */
void select_query_end(struct instrument_session *s, struct capture *capture,
	const struct own_query *query, bool ok, bool quiet);
/* A row of a probe of the client's own: the value of appended column `index`. */
void select_take_client_row(struct instrument_session *s, const struct capture *capture,
	size_t index, struct span value);
void select_end(struct instrument_session *s, struct capture *capture,
	const struct instrument_outcome *outcome);

/* Nothing of it was executed. */
static inline bool select_is_refused(unsigned error)
{
	return error == ER_PARSE_ERROR || error == ER_EMPTY_QUERY ||
	       error == ER_SP_DOES_NOT_EXIST || error == ER_UNKNOWN_STMT_HANDLER;
}

/* Errors that the statement itself would have met. */
static inline bool select_is_lock_error(unsigned error)
{
	return error == ER_LOCK_DEADLOCK || error == ER_LOCK_WAIT_TIMEOUT || error == ER_CHECKREAD ||
	       error == ER_LOCK_NOWAIT || error == ER_QUERY_INTERRUPTED;
}

/* The error by which a node of a cluster tells, at the next command whatever that is, that the
 * transaction was rolled back (a brute-force abort). */
static inline bool select_is_late_abort(unsigned error)
{
	return error == ER_LOCK_DEADLOCK;
}

#endif
