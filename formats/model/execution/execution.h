/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An execution: what a trace says was sent and what came back, whole and in memory, in the order it
 * was sent.  For what compares, repeats or retells a recording (diff, replay, export, corpus); the
 * oracles that judge versions read a history instead (model/history/history.h).
 *
 * Invariants after execution_load:
 *  1. Everything points into the execution's arena and lives until execution_release.
 *  2. stmts are in the order in which they were begun; those of a session are linked by
 *     next_in_session in that order, and `ordinal` counts them from 1.
 *  3. The recorder's own statements (STMT_INJECTED) and the protocol's housekeeping (CLOSE, RESET,
 *     PING, QUIT ...) are not in it; a PREPARE is, and an EXECUTE knows its text.
 *  4. A session is one connection; `name` is unique in the execution.
 */
#ifndef MODEL_EXECUTION_EXECUTION_H
#define MODEL_EXECUTION_EXECUTION_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/meter.h"
#include "trace/reader.h"
#include "trace/value.h"

#define EXECUTION_NONE UINT32_MAX

struct execution_results;

/* Rows as they stand in the trace: each an encoded array of values. */
struct execution_rows {
	struct span *rows;
	size_t count, capacity;
	uint64_t total; /* that there were; more than count where some were not kept */
	/* Encoded: of a result [[name, table, type ...]]; of a table's content [name ...], or
	 * SPAN_NONE for all columns of the schema. */
	struct span columns;
	bool complete;
	uint32_t first_part; /* with results_apart, of a table's content: of execution_results; NONE */
	uint32_t own;        /* ... columns of each row that are the application's; 0: all */
};

struct execution_stmt {
	struct record_stmt record;
	uint32_t session;         /* index */
	uint32_t ordinal;         /* in its session, from 1 */
	uint32_t next_in_session; /* index or NONE */
	uint32_t collation;       /* of CHANGE_USER: as of a session */
	/* The text; of an EXECUTE that of its PREPARE; of INIT_DB and CHANGE_USER the database. */
	struct span sql;
	/* Of an execution that keeps its results in memory; otherwise execution_set() reads them. */
	struct execution_rows *sets;
	uint32_t set_count;
	uint32_t first_part; /* of execution_results; NONE */
};

struct execution_txn {
	struct record_txn record;
	uint32_t session;
};

struct execution_session {
	uint32_t number; /* in the trace */
	struct span
		name; /* the recorder's name for it where that is a name, else S and the number */
	bool named;
	struct span node, user, database;
	uint32_t collation; /* that it logged in with, the server's number; 0: not known */
	uint64_t opened_at;
	uint64_t started_at; /* the same, or when it was last reset */
	uint64_t capabilities; /* in force: server AND client */
	uint64_t closed_seq; /* 0: its end is not in the trace */
	/* The server ended it, and was seen to have released all it held; 0: did not, was not. */
	uint64_t ended_seq, released_seq;
	uint32_t first_stmt, last_stmt; /* index or NONE */
	uint32_t stmt_count;
	uint32_t last_change; /* index of the last CHANGE_USER, while loading; or NONE */
	uint8_t level; /* enum txn_level: of its first transaction */
	bool opaque;   /* not all of it was read */
};

struct execution_table {
	struct record_schema schema;
	struct execution_rows initial, final;
	bool has_initial, has_final;
};

struct execution {
	struct arena arena;
	struct execution_session *sessions;
	size_t session_count, session_capacity;
	struct execution_stmt *stmts;
	size_t stmt_count, stmt_capacity;
	struct execution_txn *txns; /* all txn records, by seq */
	size_t txn_count, txn_capacity;
	struct execution_table *tables;
	size_t table_count, table_capacity;
	struct record_program *programs;
	size_t program_count, program_capacity;
	struct record_server server; /* the first one */
	bool has_server;
	struct execution_results *results; /* left in the trace (results.c); NULL: in memory */
	uint64_t wall_ns; /* when the recording began, since 1970; 0: not from a trace */
	uint64_t mono_ns; /* the same moment on the clock of records */
	struct span scenario; /* the text of the scenario that was run; SPAN_NONE: none */
	bool all_sessions; /* a note says so: every session that wrote was recorded */
	bool some_sessions; /* ... some were not to be recorded (--sample, --only-user ...) */
	bool is_part; /* of another trace: isotrace slice or reduce wrote it */
	uint64_t injected;    /* the recorder's own statements, left out */
	uint64_t records, malformed;
	uint64_t probes;
	bool hang, server_gone, interrupted; /* as the recorder noted it */
	bool complete;          /* clean end, no damage, nothing lost */
	char damage[200];       /* what is missing, in words, when not complete */
};

struct execution_load_options {
	bool salvage;
	bool results_apart; /* results and tables' rows stay in the trace, and are read when execution_set() and
				execution_each_row() ask for them */
	const struct meter *meter; /* NULL: none */
	bool may_stop; /* an interruption (base/interrupt.h) ends it: ERR_INTERRUPTED */
};

/* options may be NULL.  A torn tail is no failure: complete is then false. */
bool execution_load(struct execution *out, const char *path,
	const struct execution_load_options *options, struct err *err) MUST_CHECK;
/* From encoded records in memory, one after the other; those after the first that is malformed
 * are not read, and complete is then false. */
void execution_load_records(struct execution *out, struct span records);
void execution_release(struct execution *e);
/* With results_apart: true, and why, once a result or a row could not be read from the trace again.  What
 * was asked for then counted as not recorded, so a verdict is none. */
bool execution_read_failed(const struct execution *e, struct err *err);

/* A server variable as recorded; SPAN_NONE: not there. */
struct span execution_variable(const struct execution *e, const char *name);
/* False: it is not there, or no number. */
bool execution_number(const struct execution *e, const char *name, uint64_t *out);
bool execution_is_on(const struct execution *e, const char *name);

/* The release's label: "mysql-9.7.4", "mariadb-11.8.6+si": flavour, version, and what changes its
 * isolation: +si innodb_snapshot_isolation, +rocksdb the default engine, +wsrep Galera. */
void execution_label(const struct execution *e, struct buf *out);

/* A result of a statement, by its number from 0; NULL: there is none, or (with results_apart) the trace was changed since
 * it was loaded.  With results_apart it is valid until EXECUTION_RESULTS_KEPT others were asked for. */
enum { EXECUTION_RESULTS_KEPT = 16 };
const struct execution_rows *execution_set(const struct execution *e, const struct execution_stmt *stmt, uint32_t set);
/* How many there are. */
uint32_t execution_set_count(const struct execution *e, const struct execution_stmt *stmt);

/* Whether the statement was seen waiting for a lock. */
static inline bool execution_blocked(const struct execution_stmt *stmt)
{
	return stmt->record.blocked_ns != 0;
}

/* The session of that name, or NONE. */
uint32_t execution_session(const struct execution *e, struct span name);
/* The statement of that session and ordinal, or NULL. */
const struct execution_stmt *execution_stmt(
	const struct execution *e, uint32_t session, uint32_t ordinal);

/* Calls `each` for every row of a table's content, in order; the row is valid until it returns.  False: `each` said no, or
 * the trace was changed since it was loaded. */
typedef bool execution_row_fn(void *ctx, struct span row);
bool execution_each_row(
	const struct execution *e, const struct execution_rows *content, execution_row_fn *each, void *ctx) MUST_CHECK;
/* The content with all rows in memory, in the arena. */
bool execution_whole_content(const struct execution *e, const struct execution_rows *content, struct arena *arena,
	struct execution_rows *out) MUST_CHECK;

/* Reads a row into values[0..max); the number of columns, or SIZE_MAX when it cannot be read. */
size_t execution_row(struct span row, struct value *values, size_t max);

/* The rows as an array of arrays. */
void execution_rows_json(struct json *json, const struct execution_rows *rows);

/* How parameters that are dates and times are put in. */
enum execution_moments {
	MOMENTS_AS_TEXTS, /* what every sql_mode takes */
	MOMENTS_TYPED,    /* TIMESTAMP'...' and the like, of the type that they had */
	MOMENTS_MICROS,   /* ... which on MySQL have six decimals */
};

/* The statement as text that can be sent: parameters put in as literals.  False: it cannot be
 * said as one text (a value was not kept, the text was cut). */
bool execution_sql(const struct execution_stmt *stmt, enum execution_moments moments,
	struct buf *out, struct err *err) MUST_CHECK;
/* A bulk execution as statements, one for each set of parameters, with semicolons between.  False: it cannot be said so,
 * or is too long. */
bool execution_bulk_sql(
	const struct execution_stmt *stmt, enum execution_moments moments, struct buf *out) MUST_CHECK;
/* An SQL literal that the server reads as this value. */
bool execution_literal(const struct value *value, struct buf *out, struct err *err) MUST_CHECK;

struct scenario;

struct execution_scenario_options {
	bool expect; /* what came back, as expectations */
	bool skip;   /* leave out what cannot be said, instead of failing */
	const bool *keep;  /* by statement: whether it is to be in it; NULL: all are */
	uint32_t *origins; /* of each statement of the schedule its place in stmts; NULL: not wanted */
};

/* The scenario that would do it again: setup from the scenario that was run, or from the recorded
 * tables; statements in the order they were begun.  *skipped counts what was left out. */
bool execution_to_scenario(const struct execution *e,
	const struct execution_scenario_options *options, struct scenario *out, uint64_t *skipped,
	struct err *err) MUST_CHECK;

/* A digest of what happened, as 32 hex digits: equal for two recordings that differ in times, ids
 * and the server's name for itself only.  docs/corpus.md says what is in it. */
void execution_digest(const struct execution *e, char out[33]);

#endif
