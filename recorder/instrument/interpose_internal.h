/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the two halves of instrumentation in the proxy share: interpose.c has the way to the server,
 * interpose_answer.c the way back.
 */
#ifndef INSTRUMENT_INTERPOSE_INTERNAL_H
#define INSTRUMENT_INTERPOSE_INTERNAL_H

#include "instrument/interpose.h"
#include "instrument/strip_columns.h"

/* What a command on the server's side is. */
enum job_kind {
	JOB_CLIENT,
	JOB_LOG,   /* LOG_READ_SQL */
	JOB_RESET, /* it is emptied */
	JOB_OWN,   /* a query of select mode */
	JOB_AGAIN, /* PREPARE of a statement as the client has it */
	JOB_ID,    /* the insert id that the client's OK is to tell */
	JOB_ROLLBACK, /* of a transaction that met a trigger which the server could not parse */
};

struct job {
	uint32_t number; /* of the inner parser */
	enum job_kind kind;
};

/* The plan of a prepared statement; all of a session are linked.  The server knows it by the number
 * that the client has; where it went out with columns appended that the server does not take any
 * more, it was prepared again without them, and goes by another one. */
struct interposed_stmt {
	struct stmt_plan plan;
	uint32_t id;         /* the client's number of it */
	struct buf text;     /* as the client sent it, of a rewritten one */
	uint32_t again;      /* the server's number; 0: the client's */
	bool closed;         /* the server has none under the client's number */
	bool stays;          /* it could not be prepared again, and keeps its columns */
	bool types_unknown;  /* ... which knows no parameter types from before */
	bool columns_unsent; /* ... and whose columns the client did not get */
	size_t columns;      /* how many the client was told of before */
	struct interposed_stmt *prev, *next;
};

/* A command longer than INTERPOSE_PACKET_MAX passes in pieces. */
struct passing {
	bool waits; /* for answers to queries of our own */
	bool on;
	bool more;   /* this part of the packet is not its last */
	size_t left; /* bytes of this part */
	unsigned char head[PROTO_HEAD_SIZE];
	size_t head_len;
};

struct interpose {
	const struct instrument_tables *tables;
	struct wire *outer;
	struct capture *capture;
	struct wire inner;
	struct frame server;
	struct buf held; /* from the client, not sent yet */
	bool off;        /* everything passes unread */
	bool broken;     /* nothing may pass any more: columns are appended to what comes ... */
	struct passing passing;
	struct instrument_session session;
	struct job jobs[INTERPOSE_JOBS]; /* not answered yet */
	size_t job_count;

	/* The client's command under way. */
	uint8_t command;
	struct interposed_stmt *preparing; /* of a PREPARE */
	uint32_t appended;          /* columns to take out of its answer */
	uint32_t columns, column;   /* of its answer; how many definitions came */
	uint8_t shift;              /* by how much its packets' numbers are too high */
	bool failed;
	unsigned error;      /* the server's number */
	struct buf original; /* its payload, where it goes out with columns appended */
	bool again;          /* ... and without them, as the server does not take these */
	struct interposed_stmt *executed;
	bool columns_changed;   /* its result has others than the client was told of */
	struct buf again_error; /* why a statement could not be prepared again; empty: it was */
	uint64_t affected, insert_id; /* of its OK */
	uint64_t matched;             /* "Rows matched" of its text */
	bool affected_known, matched_known, warnings;
	bool unparsed; /* it met a trigger that the server could not parse: its error, in `ok` */
	struct buf ok; /* its OK, while the insert id that it is to tell is asked for; or empty */
	uint8_t ok_seq;
	uint64_t id;
	/* It waits until queries of select mode are answered. */
	struct buf deferred;
	bool is_deferred;
	bool deferred_renumbered; /* ... and it is `original`, for `executed` */
	bool last_is_ours;        /* the statement that the server prepared last is a second one */
	unsigned own_error;       /* of the query of ours that is being answered */
	bool careful; /* nothing goes out after a query of ours before that is answered */
	bool emptied; /* ... and the log is ready for this command */

	struct interposed_stmt *prepared;
	struct buf scratch, raw, rewritten;
	/* The parameters of an EXECUTE, as SQL literals one after the other. */
	struct buf literals;
	struct span literal[INTERPOSE_LITERALS];
	size_t literal_count;
	bool literals_same; /* literal_is_same() of all */
};

/* interpose.c */
struct wire_stamp interpose_stamp(struct interpose *i, bool begins);
/* The command being answered on the server's side; NULL: none. */
struct wire_command *interpose_inner_head(struct interpose *i);
enum job_kind interpose_kind_of(struct interpose *i, uint32_t number);
void interpose_forget_job(struct interpose *i, uint32_t number);
void interpose_send_raw(struct interpose *i, struct span raw, struct buf *to_server);
void interpose_send_packet(
	struct interpose *i, struct span payload, enum job_kind kind, struct buf *to_server);
/* Select mode, and transactions on a cluster: true if something goes out before the command, which
 * waits for its answer. */
bool interpose_send_before(struct interpose *i, struct buf *to_server);
/* Sends a command for a prepared statement under the number that the server has for it. */
void interpose_send_for_statement(
	struct interpose *i, struct interposed_stmt *p, struct span payload, struct buf *to_server);
void interpose_roll_back(struct interpose *i, struct buf *to_server);
/* Asks for the insert id that the client's OK is to tell. */
void interpose_ask_id(struct interpose *i, struct buf *to_server);
/* Prepares a statement as the client has it; `original` goes out after that. */
void interpose_prepare_again(struct interpose *i, struct interposed_stmt *p, struct buf *to_server);
void interpose_begin_passing(struct interpose *i, struct buf *to_server);
/* Sends what can be sent. */
void interpose_send_held(struct interpose *i, struct buf *to_server);
void interpose_prepared_free(struct interpose *i, struct interposed_stmt *p);

#endif
