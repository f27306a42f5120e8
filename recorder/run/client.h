/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A session of `isorec run`: a connection on which one statement at a time is under way.
 *
 * Statements go out and answers come in through libmariadb's non-blocking calls, so that one thread
 * serves all sessions.  What happens goes to the session's capture as the events that the
 * proxy's parser would give (wire/wire.h): the traces of both are alike.
 */
#ifndef RUN_CLIENT_H
#define RUN_CLIENT_H

#include <mysql.h>

#include "capture/capture.h"
#include "db/row.h"
#include "instrument/session.h"

/* Where the server is and who logs in. */
struct run_target {
	const char *host, *user, *password, *socket, *database;
	unsigned port;
	unsigned timeout_s;      /* of connecting */
	unsigned read_timeout_s; /* of answers; 0: none */
};

enum { CLIENT_SET_WORDS = 4 }; /* room for SCENARIO_SESSION_MAX and one more */

enum client_state {
	CLIENT_IDLE,
	CLIENT_QUERY, /* sent; the answer's first packet is awaited */
	CLIENT_STORE, /* rows are being read */
	CLIENT_NEXT,  /* a further result is awaited */
	/* The same of prepared statements (run/prepared.h). */
	CLIENT_PREPARE,
	CLIENT_EXECUTE,
	CLIENT_EXECUTE_STORE,
	/* A query of select mode that goes before the statement. */
	CLIENT_OWN_QUERY,
	CLIENT_OWN_STORE,
};

struct client {
	const char *name;
	MYSQL *mysql;
	struct capture capture;
	bool recorded; /* capture is open */
	bool dead;     /* the connection was lost */
	bool tracked;  /* answers tell the names of commits */
	enum client_state state;
	int wait; /* MYSQL_WAIT_* that is awaited */
	int status;
	MYSQL_RES *result;
	struct wire_command command;
	struct row_packer packer;
	struct buf sql;
	bool instrumented;
	struct instrument_session instrument;
	uint64_t ended_before; /* *instrument.ended when the statement began */
	bool alone;            /* no other session was executing anything then */
	/* The engine's: no other session is executing anything. */
	bool (*is_alone)(const struct client *c);
	MYSQL *aside; /* a connection of the recorder's own to the same node */
	const void *engine;
	struct client_prepared **prepared;
	size_t prepared_count, prepared_capacity;
	struct client_prepared *executing; /* PREPARE, EXECUTE */

	/* The last statement's outcome, valid when idle. */
	uint32_t error;
	char message[512];
	uint64_t affected, row_count, insert_id;
	bool has_rows, rows_bad;
	struct buf rows; /* of the first result: packed arrays, one after the other */

	/* The runner's. */
	size_t node;   /* of a cluster, from 0 */
	uint32_t stmt; /* index in the section of the statement that is under way */
	bool settled;  /* known to wait for a lock, as of the last event */
	bool waiting;  /* was seen waiting */
	bool blocked;  /* the schedule went on while it waited */
	bool by_time;  /* ... only because no answer came */
	/* The answer to a query of select mode is there, and is not read while others are doing
	 * something; what it says may be out of date by then. */
	bool held;
	/* See run/disconnects.h; end_announced_ns and ended_ns: 0, or when. */
	bool release_over;
	uint64_t end_announced_ns, ended_ns;
	uint64_t waiting_since;
	uint64_t waits_for[CLIENT_SET_WORDS]; /* as of the last look: a set of clients' indexes */
	uint64_t waits_since;                 /* the look that saw this set first */
};

/* A connection of its own, used with the blocking calls; NULL and err on failure. */
MYSQL *client_dial(const struct run_target *target, struct err *err) MUST_CHECK;
/* Whether a connection can be made, whatever databases there are. */
bool client_answers(const struct run_target *target) MUST_CHECK;

/* Connects and begins the session's record. */
bool client_open(struct client *c, const struct run_target *target, struct capture_worker *worker,
	struct capture_node *node, uint32_t id, const char *name, struct err *err) MUST_CHECK;
/* From here on statements are instrumented.  `ended` counts the statements of all sessions that
 * ended. */
void client_instrument(
	struct client *c, const struct instrument_tables *tables, const uint64_t *ended);
/* Ends the session and its record. */
void client_close(struct client *c, enum close_reason reason);

void client_send(struct client *c, struct span sql);
/* Begins a command of its kind: what the answer brings is empty, times are taken. */
void client_begin(struct client *c, uint8_t command, size_t length);
/* For run/prepared.c: gives the capture what came. */
void client_tell_row(struct client *c, MYSQL_ROW row, const unsigned long *lengths, bool keep);
void client_tell_columns(struct client *c, MYSQL_RES *metadata, bool *first);
void client_tell_reply(struct client *c, const struct wire_reply *more, bool rows);
void client_tell_error(struct client *c, unsigned error, const char *sqlstate, const char *message);
/* Goes on as far as it can; `ready` is what of c->wait happened (MYSQL_WAIT_*).  True when the
 * answer is complete and the session idle (or dead). */
bool client_step(struct client *c, int ready) MUST_CHECK;
/* Gives up on an answer: the connection is dropped, the statement recorded as without reply. */
void client_abandon(struct client *c, const char *reason);

#endif
