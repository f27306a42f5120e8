/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One session's conversation, understood: bytes of both directions in, events out.
 *
 * The relay gives the bytes of a direction as it forwards them, in any pieces, and before the other
 * side can answer them; the parser keeps no pointer to them.  What it learns goes to a sink.  It
 * never asks for anything: when the bytes make no sense, or a limit of wire/limits.h is hit, the
 * session becomes opaque, the sink gets the reason, and all further bytes are ignored.
 *
 * Invariants:
 * 1. Commands are answered in the order they were sent, so a queue holds those not yet answered.
 *    Clients may send ahead (MariaDB's connectors send PREPARE and EXECUTE together).
 * 2. A command's event comes when all commands before it are answered: only then are the statement
 *    table and the parameter types what the server will use for it.  Commands without an answer go
 *    through the queue too, for the same reason.
 * 3. Every command event is followed by exactly one reply event with `last` set, if need be from
 *    wire_end; result events of a command lie between.
 *
 * Thread: the worker that owns the session.
 */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include "wire/compress.h"
#include "wire/frame.h"
#include "wire/handshake.h"
#include "wire/params.h"

/* A moment: monotonic clock and the trace's sequence (0: none was taken). */
struct wire_stamp {
	uint64_t at, seq;
	uint64_t sent; /* bytes of the server: when the client's socket had them; 0: not known */
};

enum wire_phase {
	WIRE_GREETING, /* waiting for the server's first packet */
	WIRE_LOGIN,    /* waiting for the client's answer */
	WIRE_AUTH,     /* the authentication dialogue */
	WIRE_COMMANDS,
	WIRE_REFUSED, /* an ERR ended the connection phase */
	WIRE_OPAQUE,
};

/* What the next packet of an answer may be. */
enum wire_expect {
	EXPECT_NOTHING, /* the command has no answer */
	EXPECT_SIMPLE,  /* OK, EOF or ERR */
	EXPECT_FIRST,   /* OK, ERR, LOCAL INFILE or a column count */
	EXPECT_COLUMNS, /* definitions of a result */
	EXPECT_COLUMNS_END,
	EXPECT_ROWS,
	EXPECT_PREPARED,
	EXPECT_PREPARED_PARAMS,
	EXPECT_PREPARED_PARAMS_END,
	EXPECT_PREPARED_COLUMNS,
	EXPECT_PREPARED_COLUMNS_END,
	EXPECT_FIELDS,  /* of FIELD_LIST */
	EXPECT_TEXT,    /* of STATISTICS */
	EXPECT_AUTH,    /* of CHANGE_USER */
	EXPECT_UNKNOWN, /* of a command we do not know */
	EXPECT_UNREAD,  /* ... whose answer is not one packet: until the next command */
};

struct wire_command {
	uint8_t byte;
	bool complete; /* all of it went to the server */
	bool active;   /* its event was given */
	bool cut;
	uint8_t cursor;  /* cursor flags of EXECUTE */
	bool binary;     /* rows come in the binary protocol */
	bool no_columns; /* metadata left out, and not known from before */
	enum wire_expect expect;
	uint32_t number; /* in the session, from 1 */
	uint32_t set;    /* result set being read, from 0 */
	uint32_t definitions_left;
	uint16_t params_left;
	struct wire_stamp begin;
	uint64_t first_byte_at;
	uint64_t end_at;         /* of the bytes that completed the answer, or of its loss */
	uint64_t sent_at;        /* ... when they were written to the client; 0: not known */
	uint64_t length, digest; /* payload bytes; digest of all of them when cut */
	uint64_t reply_bytes;
	struct wire_stmt *stmt; /* EXECUTE, FETCH, and PREPARE once answered */
	struct wire_reply prepared;
	struct buf body; /* kept until its turn */
};

/* A command's content; spans and pointers are valid during the event only. */
struct wire_request {
	struct span text; /* SQL, schema or table name; SPAN_NONE where there is none */
	bool text_cut;
	struct wire_params params;
	bool params_bad; /* could not be read */
	bool bulk;
	uint32_t flags, iterations;
	uint64_t value; /* PROCESS_KILL: thread id; FETCH: rows; SEND_LONG_DATA: bytes */
	const struct wire_login *login; /* CHANGE_USER */
};

struct wire_sink {
	void (*greeting)(void *ctx, const struct wire_greeting *greeting);
	void (*login)(void *ctx, const struct wire_login *login);
	/* OK or ERR at the end of the connection phase; ERR may come instead of the greeting. */
	void (*authenticated)(void *ctx, const struct wire_reply *reply);
	void (*command)(
		void *ctx, struct wire_command *command, const struct wire_request *request);
	/* columns is NULL when they are not known. */
	void (*columns)(
		void *ctx, struct wire_command *command, const struct wire_columns *columns);
	void (*row)(void *ctx, struct wire_command *command, const struct wire_columns *columns,
		const struct packet *row);
	/* Several at once: packets as they came, with their headers, none of them empty, cut or
	 * joined.  NULL: each is given to `row`. */
	void (*rows)(void *ctx, struct wire_command *command, const struct wire_columns *columns,
		struct span packets, size_t count);
	/* Ends a result of the command, or with `last` the command. */
	void (*reply)(void *ctx, struct wire_command *command, const struct wire_reply *reply);
	void (*infile)(void *ctx, struct wire_command *command, struct span name, uint64_t size,
		const unsigned char digest[8]);
	/* An ERR that answers no command: the server is about to close. */
	void (*unsolicited)(void *ctx, const struct wire_reply *reply);
	/* command: the one being answered, which gets no further event; or NULL. */
	void (*opaque)(void *ctx, const char *reason, struct wire_command *command);
};

struct wire {
	const struct wire_sink *sink;
	void *ctx;
	enum wire_phase phase;
	size_t keep_max, row_keep_max;
	uint64_t caps_cleared; /* by the relay, in the greeting */
	bool tls_ends;         /* the relay decrypts: a request for TLS hides nothing */
	uint64_t server_caps;  /* as forwarded */
	uint64_t caps;         /* in force: server AND client */
	struct frame client, server;
	struct wire_stamp now;          /* of the bytes being read */
	struct wire_stamp client_stamp; /* of the first byte of the client's current packet */
	struct wire_inflate client_inflate, server_inflate;
	struct wire_command *queue; /* a ring */
	size_t head, count, capacity;
	size_t queued_bytes;
	uint32_t numbers;   /* given out */
	uint32_t announced; /* number of the command whose packet is not complete; 0: none */
	struct wire_stmts stmts;
	struct wire_columns columns;
	bool dialogue; /* a change of user was among the bytes; for the relay, which resets it */
	bool infile;
	struct siphash infile_digest;
	uint64_t infile_size;
	struct buf infile_name;
	const char *reason; /* why it is opaque */
};

void wire_init(struct wire *w, const struct wire_sink *sink, void *ctx, struct wire_budget *budget);
void wire_release(struct wire *w);

void wire_feed_client(struct wire *w, struct span bytes, struct wire_stamp now);
void wire_feed_server(struct wire *w, struct span bytes, struct wire_stamp now);
/* The connection is over: commands without an answer get their last event. */
void wire_end(struct wire *w, struct wire_stamp now);
/* From outside: stop reading this session. */
void wire_make_opaque(struct wire *w, const char *reason);

/* Whether a packet ends rows rather than being one. */
bool wire_is_rows_end(const struct wire *w, const struct packet *p);

/* Authentication data may be in the bytes: the relay wipes its copies. */
static inline bool wire_is_secret(const struct wire *w)
{
	return w->phase <= WIRE_AUTH || (w->count && w->queue[w->head].expect == EXPECT_AUTH);
}

#endif
