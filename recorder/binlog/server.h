/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a server's binary log as a replica does: by GTID, where the server has them; by file and
 * position otherwise.  The connection is libmariadb's (login, TLS); the events are decoded here.
 */
#ifndef BINLOG_SERVER_H
#define BINLOG_SERVER_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "db/connect.h"

enum binlog_start {
	BINLOG_FROM_NOW,
	BINLOG_FROM_BEGINNING, /* all that the server still has */
	BINLOG_FROM_GTIDS,     /* behind these */
};

/* What a server says of its binary log. */
struct binlog_state {
	bool on, mariadb, gtids; /* gtids: transactions have names */
	bool row_format, full_image, metadata_full;
	bool ordered;        /* binlog_order_commits */
	uint32_t version;    /* 101119, 80045 */
	struct buf executed; /* a set or list of GTIDs */
	struct buf file;
	uint64_t position;
};

void binlog_state_release(struct binlog_state *state);
/* On any connection. */
bool binlog_state_read(
	MYSQL *db, const char *node, struct binlog_state *state, struct err *err) MUST_CHECK;
/* Refuses what cannot be evidence, and says what to set. */
bool binlog_state_check(
	const struct binlog_state *state, const char *node, struct err *err) MUST_CHECK;

struct binlog_stream {
	MYSQL *db;
	const char *node;
	bool mariadb, gtids;
};

struct binlog_place {
	struct buf gtids; /* transactions that are here already; with GTIDs */
	struct buf file;  /* without */
	uint64_t position;
};

enum binlog_stream_flags {
	BINLOG_WAIT = 1 << 0,  /* for more, when the log has ended */
	BINLOG_TEXTS = 1 << 1, /* of statements, where MariaDB logs them */
};

/* Logs in and asks for the events behind the place. */
bool binlog_stream_open(struct binlog_stream *stream, const struct db_login *login,
	const char *node, const struct db_address *address, const struct binlog_state *state,
	const struct binlog_place *place, uint32_t server_id, unsigned flags,
	struct err *err) MUST_CHECK;
void binlog_stream_close(struct binlog_stream *stream);
/* The next event; false with err: the connection is gone, or the server refuses.  An empty event:
 * the log has ended, and the stream was not to wait. */
bool binlog_stream_next(
	struct binlog_stream *stream, struct span *event, struct err *err) MUST_CHECK;
/* A descriptor to poll for more; and whether some is there already. */
int binlog_stream_fd(const struct binlog_stream *stream);

/* MySQL's set and MariaDB's list: adds the transaction to them. */
void binlog_gtids_add(struct buf *set, const char *gtid);

#endif
