/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What executing a schedule needs, from wherever the schedule comes (run/run.h, replay/replay.h): a
 * control connection, the sessions and which of them wait for a lock, databases that are made and
 * dropped again, and the trace.
 *
 * One thread.  engine_serve and engine_settle call `answered` for every statement that is complete.
 */
#ifndef RUN_ENGINE_H
#define RUN_ENGINE_H

#include <poll.h>
#include <signal.h>

#include "binlog/beside.h"
#include "instrument/tables.h"
#include "run/client.h"
#include "run/lock_waits.h"
#include "run/snapshot.h"
#include "trace/record.h"

struct run_event;

enum { RUN_NODES_MAX = 16 };

/* A node of a cluster, beyond the first. */
struct run_node {
	char host[256];
	unsigned port;
};

struct run_options {
	struct run_target target;    /* database: the one to make */
	struct run_node nodes[RUN_NODES_MAX]; /* of a cluster: the second, the third ... */
	size_t node_count;
	enum txn_level level;        /* of all sessions; LEVEL_UNKNOWN: as the scenario says */
	uint64_t blocked_timeout_ns; /* without views: so long without an answer is blocked */
	uint64_t answer_timeout_ns;  /* with views: neither waiting nor answering */
	uint64_t hang_timeout_ns;    /* nothing moves any more */
	uint64_t rows_max;           /* kept of a table's content */
	bool drop_database;          /* one of that name may be there */
	bool quick_watch;            /* that a statement waits is enough to know, not for whom (run/lock_waits.h) */
	bool keep_database;
	const char *output; /* the trace */
	bool overwrite;
	enum instrument_mode instrument;   /* the tables are prepared after the setup */
	bool predicate_probes;             /* select mode: BPM and APM too */
	bool binlog;                       /* the binary log is read beside the sessions */
	const volatile sig_atomic_t *stop; /* not 0: end soon, and leave nothing behind */
	void (*tell)(void *ctx, const struct run_event *event);
	void *ctx;
};

/* What there is of each node. */
struct engine_node {
	MYSQL *control;
	struct run_target target;
	struct capture_node capture;
	struct watch watch;
	char name[24];
};

struct engine {
	const struct run_options *options;
	const char *source; /* of notes */
	struct err *err;    /* where failures are said */
	void (*answered)(void *ctx, struct client *c);
	void *ctx;

	struct engine_node nodes[RUN_NODES_MAX]; /* the first is the one that the run begins on */
	size_t node_count;                       /* those that are used */
	MYSQL *control;                          /* of the first */
	bool control_dead;                       /* the last query got no answer */
	char **databases;  /* made here */
	size_t database_count, database_capacity;
	struct trace_writer *writer;
	struct capture_config config;
	struct capture_worker worker;
	struct snapshot snapshot;
	struct instrument_tables tables; /* prepared ones */
	struct binlog_beside *beside;    /* NULL: none */
	struct client *clients; /* as many as were asked for */
	size_t client_max;
	size_t client_count; /* those that were ever opened come first */
	struct pollfd *fds;
	uint64_t event_ns; /* when something was last sent or answered */
	bool by_time;      /* time alone said that something was blocked */
	bool free;         /* sessions do not wait for each other: which are blocked is not looked for */
	uint64_t ended;    /* statements of all sessions that were answered */
	struct buf prepared; /* XA ROLLBACK of all that were prepared, each with its zero */
};

/* Connects to the first `nodes` nodes.  options, source, err, answered and ctx are set by the
 * caller. */
bool engine_open(struct engine *e, size_t client_max, size_t nodes) MUST_CHECK;
/* Ends sessions and trace, drops databases.  ok is what the run came to; the result, what it comes
 * to in the end. */
bool engine_close(struct engine *e, bool ok);

void engine_note(struct engine *e, const char *topic, struct span text);
/* On the control connection, results thrown away; false: mysql_error(e->control). */
bool engine_query(struct engine *e, struct span sql) MUST_CHECK;
bool engine_fail(struct engine *e, const char *what);
/* Makes a database and uses it on the control connection; engine_close drops it. */
bool engine_make_database(struct engine *e, const char *name) MUST_CHECK;

/* facts: pairs for the trace's header, or NULL. */
bool engine_open_trace(struct engine *e, const char *const *facts) MUST_CHECK;
/* Server, tables and their content; prepares the tables for instrumentation. */
bool engine_begin_trace(struct engine *e) MUST_CHECK;
/* The binary log up to now is in the trace; nothing where it is not read. */
void engine_end_binlog(struct engine *e);
/* Begins to look for lock waits. */
void engine_watch(struct engine *e);

/* Waits until each node has what the others have. */
bool engine_sync_nodes(struct engine *e) MUST_CHECK;
/* Connects session `index` with a node (from 0), gives it its level before anything of it is
 * recorded. */
bool engine_open_session(struct engine *e, size_t index, size_t node, uint32_t id, const char *name,
	const char *database, enum txn_level level) MUST_CHECK;
/* Why a session ends that is closed now. */
enum close_reason engine_end_reason(const struct client *c);
/* Ends all sessions, and waits until the server has rolled back what they left open. */
void engine_close_sessions(struct engine *e);
/* Before each statement that is sent. */
void engine_sending(struct engine *e, struct client *c);

/* Serves the sessions until at least one has its answer, or the time is over, or the user wants no
 * more.  True: one has. */
bool engine_serve(struct engine *e, int timeout_ms) MUST_CHECK;
/* Serves until the client is idle or known to wait; NULL: until all are. */
void engine_settle(struct engine *e, const struct client *c);
bool engine_any_busy(const struct engine *e);
bool engine_stopped(const struct engine *e);
/* Gives up on all answers that are awaited. */
void engine_abandon_all(struct engine *e);
bool engine_server_alive(struct engine *e);

#endif
