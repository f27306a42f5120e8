/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instrumentation of one session: between what its statements are and what its
 * driver (the runner, the proxy) sends.
 *
 * For each statement, in this order:
 *	instrument_begin(s, ...)        what is to be done with it: s->plan
 *	if (instrument_wants_log(s))    send instrument_log_query(), give the answer to
 *	                                instrument_take_log()
 *	if (instrument_wants_reset(s))  send LOG_RESET_SQL, then instrument_log_emptied()
 *	in a transaction on a cluster, where one of these fails with select_is_late_abort():
 *	instrument_is_answered(), and the error is the statement's answer
 *	while (instrument_next_query(s)): send it, instrument_query_row() for
 *	each row, instrument_query_end(); if that is true, its error is the statement's answer
 *	the statement: s->plan.text if rewritten
 *	instrument_take_row(...)        for each row of a rewritten read
 *	instrument_end(s, ...)          when its own record was made
 * and before the connection is reset or given up instrument_wants_log() once more.
 *
 * The log of a write is read as late as that: right before the next statement that is not one which
 * tells of the last one (ROW_COUNT(), FOUND_ROWS(), SHOW WARNINGS ...), so that these tell the
 *client what they would have told it.  A user variable outlives the transaction; nothing is lost by
 *waiting but with the connection.
 *
 * Within a transaction it waits longer: while all statements are reads, and writes whose OK says how
 * many rows they touched, so that their entries can be distinguished by number, table and kind; at
 * the latest right before the statement that ends the transaction.  What was read stays in the
 * variable, and the next query asks for what stands behind it; so it is rarely emptied.
 */
#ifndef INSTRUMENT_SESSION_H
#define INSTRUMENT_SESSION_H

#include "instrument/select_mode.h"

enum {
	SESSION_PENDING_MAX = 32, /* writes whose logs are read together */
	/* ... and statements from the first of them on: the analyzer finds as many again quickly
	 * (model/history/build.h) */
	SESSION_PENDING_STMTS = 60,
	SESSION_PENDING_ROWS = 1000,
};

/* A write whose log was not read yet. */
struct pending_write {
	struct stmt_plan plan;
	struct probed stmt;
	struct buf predicate, first_rows;
	bool counted;
	uint64_t rows; /* ... entries of the log are its own */
};

/* In place of a text that cannot be read: a write that may be anything. */
#define INSTRUMENT_ANYTHING SPAN_LIT("?")

struct instrument_session {
	const struct instrument_tables *tables;
	struct sql_options options;
	struct stmt_plan plan; /* of the statement under way */
	struct probed stmt;
	struct buf named;      /* struct plan_context */
	struct buf predicate;  /* of stmt */
	struct buf beside_predicate; /* ... where the query beside it is asked */
	struct buf first_rows; /* ... where LIMIT cut others off */
	uint32_t row_count;   /* of its result, as far as rows with versions came */
	struct buf temporary; /* its temporary tables: struct plan_context */
	bool by_itself;       /* stmt is a transaction of its own */
	bool cut;             /* SELECT leaves rows out, perhaps (sql_select_limit) */
	struct statement_probes reads;
	/* Writes whose logs were not read yet; all but the last one say how much of it is theirs. */
	bool pending;
	struct pending_write *waiting;
	size_t waiting_count, waiting_capacity;
	uint64_t waiting_rows;
	bool defers;      /* logs of a transaction's writes may be read together */
	bool mixed;       /* ... which cannot be distinguished any more */
	bool failed_last; /* a write that failed has logged something after them, perhaps */
	bool log_ready;   /* the server has a log, ... */
	uint64_t log_read; /* ... of which these bytes were read */
	struct buf joined; /* a log that came in two parts */
	struct statement_probes writes;
	struct select_state select;
	const uint64_t *ended; /* statements of all sessions that ended; NULL: not counted */
};

void instrument_session_init(struct instrument_session *s, const struct instrument_tables *tables,
	const struct sql_options *options);
void instrument_session_release(struct instrument_session *s);

/* What plans of this session's statements depend on.  `prepares`: they are executed later. */
struct plan_context instrument_context(
	const struct instrument_session *s, const struct capture *capture, bool prepares);

/* After the capture's own event of the command.
 * A statement by its text; or a prepared one by its plan and the literals of its parameters. */
void instrument_begin(
	struct instrument_session *s, struct capture *capture, uint32_t number, struct span text);
void instrument_begin_planned(struct instrument_session *s, struct capture *capture,
	uint32_t number, const struct stmt_plan *plan, const struct span *literals, size_t count);

/* Nothing is asked beside it. */
static inline void instrument_ask_nothing(struct instrument_session *s)
{
	if (s->tables->mode != INSTRUMENT_SELECT)
		s->select.at = s->select.count = 0;
}

/* The server does not take the statement with its columns: it goes out as the client sent it. */
void instrument_leave_alone(struct instrument_session *s);

static inline bool instrument_in_select_mode(const struct instrument_session *s)
{
	return s->tables && s->tables->mode == INSTRUMENT_SELECT;
}

/* The logs of earlier writes can be read later, with that of this statement. */
bool instrument_can_wait(const struct instrument_session *s);

static inline bool instrument_wants_log(const struct instrument_session *s)
{
	return s->pending && !s->plan.diagnostics && !instrument_in_select_mode(s) &&
	       !instrument_can_wait(s);
}

/* Select mode: the last write was a transaction of its own, so that nothing keeps its rows as they
 * are. */
static inline bool instrument_wants_rows_now(const struct instrument_session *s)
{
	return instrument_in_select_mode(s) && s->pending && !s->select.pending.in_txn &&
	       !s->select.client_probes;
}

/* There is no log yet, or one of which much was read, or will be. */
bool instrument_log_is_full(const struct instrument_session *s);

static inline bool instrument_wants_reset(const struct instrument_session *s)
{
	return s->plan.writes && !s->pending && !instrument_in_select_mode(s) &&
	       instrument_log_is_full(s);
}

/* On a cluster the answer to what was sent for a statement in a transaction was its end: it is the
 * statement's answer, which was not sent.  The log is still there. */
static inline void instrument_is_answered(struct instrument_session *s)
{
	s->plan.writes = false;
}

/* The query that goes out next; NULL: the statement itself. */
static inline const struct own_query *instrument_next_query(const struct instrument_session *s)
{
	return s->select.at < s->select.count ? &s->select.queue[s->select.at] : NULL;
}
void instrument_query_row(
	struct instrument_session *s, const struct capture *capture, const struct span *values);
/* error: 0 when there was none.  quiet: no other session is executing anything.  True: it is the
 * statement's error, which is not sent. */
bool instrument_query_end(
	struct instrument_session *s, struct capture *capture, unsigned error, bool quiet);

/* The query that reads the log: of what was not read before. */
void instrument_log_query(const struct instrument_session *s, struct buf *sql);
/* It was emptied, or begun. */
void instrument_log_emptied(struct instrument_session *s, bool ok);
/* The columns of its only row; `complete` false: it could not be read. */
void instrument_take_log(struct instrument_session *s, struct capture *capture, bool complete,
	struct span lost, struct span first, struct span second);
/* The value of appended column `index` of a row; SPAN_NONE: NULL. */
void instrument_take_row(struct instrument_session *s, const struct capture *capture, size_t index,
	struct span value);
/* A write was answered: its log is to be read.  Or it failed, and may have logged something. */
void instrument_await_log(struct instrument_session *s, const struct instrument_outcome *outcome);
void instrument_write_failed(struct instrument_session *s);
void instrument_waiting_release(struct instrument_session *s);
/* The connection is lost: what its last statements wrote, if anything, is not known. */
void instrument_abandon(struct instrument_session *s, struct capture *capture);
/* The connection was reset: temporary tables and variables are gone. */
void instrument_reset(struct instrument_session *s);
/* The statement was answered. */
void instrument_end(struct instrument_session *s, struct capture *capture,
	const struct instrument_outcome *outcome);

#endif
