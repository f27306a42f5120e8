/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parser saw of a session, as records of the trace.
 *
 * One struct capture a session, one capture_worker (capture/worker.h) a thread.
 *
 * Order in the trace: a transaction's begin stands before the statement that began it, its end
 * after the statement that ended it; results stand before their statement's record, which is made
 * when its answer is complete.
 *
 * Transactions are what the server's status flags say (protocol.md, "Transaction state"); the
 * class of the SQL only tells whether an end was a commit or a rollback.  ERR packets carry no
 * flags: errors known to roll back the whole transaction (1213, 1020 ...) end it, after others the
 * next flags decide.
 */
#ifndef CAPTURE_CAPTURE_H
#define CAPTURE_CAPTURE_H

#include "capture/close_reason.h"
#include "capture/node.h"
#include "capture/worker.h"
#include "sql/text/stmt_classify.h"
#include "wire/wire.h"

enum capture_flavours { FLAVOUR_UNKNOWN, FLAVOUR_MARIADB, FLAVOUR_MYSQL, FLAVOUR_TIDB };

enum {
	/* Statements of one text that are distinguished. */
	CAPTURE_CLASSES_MAX = 32,
	/* Prepared statements of a session that later segments repeat. */
	CAPTURE_PREPARED_MAX = 1024,
	/* Column definitions of a session that are kept packed. */
	CAPTURE_SHAPES = 16,
};

/* Column definitions as they came, and packed: a server repeats them with every result. */
struct capture_shape {
	struct buf text, packed;
	struct buf secrecy; /* enum column_secrecy of each column by its origin; empty: all are open */
};

struct capture_txn {
	bool open;
	bool prepared;    /* XA PREPARE was answered */
	bool doubt;       /* a failed statement may have committed implicitly */
	bool lost_commit; /* a command that may commit got no answer */
	bool mixed;       /* a statement may have ended it inside, and left another one open */
	bool read_only, consistent_snapshot;
	uint8_t level;
	uint16_t last_error; /* of a statement since it began */
	uint64_t id, begin, begin_seq;
	struct buf name; /* XA */
};

/* Owned by its session's worker. */
struct capture {
	struct capture_worker *worker;
	struct capture_node *node;
	uint32_t id;
	bool opened, quit;
	bool ended; /* the server ended the connection */
	uint16_t ended_error; /* an error that answers no statement, last seen */
	bool muted; /* the filter does not want it: nothing more is recorded */
	uint64_t statements;
	uint64_t thread, capabilities;
	uint16_t collation, pending_collation;
	struct buf client, user, database, pending_user, pending_database, attributes;
	uint16_t status; /* the server's, last seen */
	bool status_known;
	enum sql_flavour flavour; /* of the server, and its version; 0: not known */
	uint32_t version;
	/* enum client_charset: of texts now, after the login, and of the server by itself */
	uint8_t charset, login_charset, server_charset, pending_charset;
	bool charset_noted; /* that texts in such a set are not parsed */
	bool secret_sent; /* a statement with a password was sent */
	bool used_mysql;  /* the session's schema may be mysql, and the server does not say */

	/* Prepared statements that later segments of the trace begin with. */
	uint32_t *prepared;
	size_t prepared_count, prepared_capacity;

	/* A commit, or what may have been one, was answered since the relay last looked (--durable). */
	bool answered_commit;

	/* Isolation levels: the session's, and the one set for the next transaction only. */
	uint8_t level_session, level_next;
	bool hides_level; /* it sent a text that may hold one which sets a level */
	struct capture_txn txn;
	/* autocommit=0: a failed statement may have opened a transaction */
	uint64_t maybe_begin, maybe_begin_seq;
	/* autocommit=0: savepoints that were set before the transaction touched a table, which is
	 * when the server says that it is open; number (4 bytes), name and a NUL of each */
	struct buf early_savepoints;

	/* The command being answered. */
	struct {
		bool active, not_kept, text_cut, secret;
		bool accounts; /* it names a table of accounts of the schema mysql */
		bool masked; /* the text is whole but for passwords */
		bool unreadable; /* its text is not in a character set that can be parsed */
		uint8_t redacted; /* enum redact_reach */
		bool filtered; /* it names no table that is wanted */
		bool data;  /* a transaction of its own, as none is open */
		bool began; /* it began the open transaction */
		bool schema_changed;
		uint8_t level_default; /* of new sessions, when it was sent */
		uint8_t told_charset;  /* enum client_charset that the server reported + 1; 0: none */
		uint32_t prepared;
		uint64_t txn;
		/* When the answer was complete, which is the time of all records that it makes; 0:
		 * it is not, and records get the time when they are made. */
		uint64_t at;
		struct buf text, params, name;
		struct stmt_class classes[CAPTURE_CLASSES_MAX];
		size_t class_count;
		bool classes_end; /* more statements than classes */
		uint32_t result_sets;
		uint64_t rows;
		uint64_t affected, insert_id;
		uint32_t warnings;
		uint8_t tables; /* enum text_tables */
		struct buf track, gtid;
		/* Set before the reply by the part that watches lock waits; the proxy has none. */
		bool blocked_seen;
		/* Set by instrumentation: STMT_NO_TABLES, STMT_ELSEWHERE; a call that ends no
		 * transaction. */
		bool no_tables, elsewhere, whole;
		uint64_t blocked_ns;
		struct buf blockers; /* [session, ...], packed */
	} now;

	struct capture_shape shapes[CAPTURE_SHAPES];
	/* The result being read. */
	struct {
		bool open, left_out;
		uint32_t part;
		uint64_t total, kept, bytes;
		uint32_t part_rows;
		struct buf rows;
		const struct capture_shape *shape; /* NULL: not known */
		struct siphash digest;
		struct buf hidden; /* a byte a column: 1 when it is redacted; empty: none is */
	} result;
};

extern const struct wire_sink capture_sink;


void capture_open(struct capture *c, struct capture_worker *worker, struct capture_node *node,
	uint32_t id, const char *client);
/* The server closed the connection of a session that is logged in and did not quit; after wire_end.
 * Its transaction is over.  `reason` says how that was seen. */
void capture_server_ended(struct capture *c, enum close_reason reason);
/* ... and was seen to have the connection no longer. */
void capture_server_released(struct capture *c);
/* After wire_end.  Frees.  detail: what the record says in place of the reason's text; or NULL. */
void capture_close(struct capture *c, enum close_reason reason, const char *detail);

/* Whether formats/sql may read a text of the session. */
bool capture_can_parse(const struct capture *c, struct span text);
/* The isolation level that the next statement runs at; enum txn_level. */
uint8_t capture_level(const struct capture *c);
/* A probe record of this session; fills its session.  Nothing where nothing is recorded. */
void capture_probe(struct capture *c, struct record_probe *probe);
/* A note of the recorder about a statement of the session. */
void capture_note_statement(struct capture *c, struct span topic, struct span text, uint32_t number);

/* Of the command being answered, for the code that sends it through a client library: its parameters, packed. */
void capture_set_params(struct capture *c, struct span params);
/* Of the command being answered, for the code that watches lock waits: a session that it waits for ... */
void capture_add_blocker(struct capture *c, uint32_t session);
/* ... and, before its reply, whether and how long it waited. */
void capture_set_blocked(struct capture *c, bool blocked, uint64_t ns);

static inline bool capture_in_txn(const struct capture *c)
{
	return c->txn.open;
}

#endif
