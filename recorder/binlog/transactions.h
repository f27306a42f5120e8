/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of a binary log put together to transactions: which rows each of their statements changed,
 * as rows of probes.
 *
 * A statement's rows are a *group*: the servers mark the last event of each.
 */
#ifndef BINLOG_TRANSACTIONS_H
#define BINLOG_TRANSACTIONS_H

#include "binlog/binlog.h"
#include "binlog/tables.h"

enum {
	/* A transaction larger than this is handed on in pieces. */
	BINLOG_PIECE_MAX = 16 << 20,
};

struct binlog_table_rows {
	uint32_t table;
	uint32_t count;
	struct buf rows; /* an array that is not closed (pack_array_close) */
	bool keyless;    /* rows without names: none is here */
	bool silent;     /* others may have changed, which is not logged */
};

struct binlog_group {
	struct buf text; /* of the statement, where the server tells; else empty */
	struct binlog_table_rows *tables;
	size_t table_count, table_capacity;
	uint64_t count; /* rows */
	bool whole;     /* all could be decoded, with all columns */
	bool ended;
};

enum binlog_end { BINLOG_END_COMMIT, BINLOG_END_ROLLBACK, BINLOG_END_PREPARED, BINLOG_END_NONE };

struct binlog_txn {
	char gtid[BINLOG_GTID_SIZE]; /* empty: anonymous */
	uint32_t server_id, thread;
	uint64_t wall_ns; /* when it was committed, as the server says */
	bool first, last; /* pieces of it: the first, and the last */
	enum binlog_end end;
	struct buf xid;       /* of XA: X'...',X'...',1 */
	struct buf statement; /* a definition: its text */
	struct buf database;
	struct binlog_group *groups;
	size_t group_count, group_capacity;
	size_t bytes;
};

struct binlog_counts {
	uint64_t txns, rows, definitions, keyless_rows, refused_events, partial_rows, xa, incidents;
	uint64_t statements; /* in STATEMENT format: what they changed is not known */
};

struct binlog_txns_sink {
	/* The callback may move the groups elsewhere (binlog_txn_take). */
	void (*txn)(void *ctx, struct binlog_txn *txn);
	void (*place)(void *ctx, struct span file, uint64_t position);
	/* Something is missing: a sentence. */
	void (*gap)(void *ctx, struct span what);
	/* Where the log begins and the server is: a set or a list of GTIDs. */
	void (*before_file)(void *ctx, struct span gtids);
	void (*format)(void *ctx, struct span version);
	void (*alive)(void *ctx);
};

struct binlog_txns;

struct binlog_txns *binlog_txns_new(const struct binlog_txns_sink *sink, void *ctx,
	struct binlog_tables *tables, const struct binlog_options *options);
void binlog_txns_free(struct binlog_txns *txns);
bool binlog_txns_event(struct binlog_txns *txns, struct span event, struct err *err) MUST_CHECK;
/* A new file or connection; what was begun is forgotten and comes again. */
void binlog_txns_reset(struct binlog_txns *txns);
/* Is a transaction begun that has not ended? */
bool binlog_txns_open(const struct binlog_txns *txns);
const struct binlog_counts *binlog_txns_counts(const struct binlog_txns *txns);
/* Moves it, with all that it holds. */
void binlog_txn_take(struct binlog_txn *to, struct binlog_txn *from);
void binlog_txn_release(struct binlog_txn *txn);

#endif
