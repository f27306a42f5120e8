/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The row binary log of MariaDB and MySQL: bytes in, events out.  No sockets, no files.
 *
 * Sources: MySQL's "Binary Log Event" pages of the source documentation, MariaDB's "Replication
 * Protocol" pages.  Numbers are little-endian unless a comment says otherwise.
 *
 * One thread uses a decoder.  Everything that a callback gets is valid until it returns.  Every
 * length is checked; an event that does not fit its own lengths is an error, and the stream ends
 * there.
 */
#ifndef BINLOG_BINLOG_H
#define BINLOG_BINLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "trace/record.h"
#include "wire/values.h"

enum {
	BINLOG_HEAD_SIZE = 19,
	BINLOG_COLUMNS_MAX = 4096, /* of a table: both servers' limit */
	BINLOG_GTID_SIZE = 120,    /* as text, with a tag of 32 letters, and its NUL */
};

/* The largest event: servers refuse packets above 1 GiB. */
#define BINLOG_EVENT_MAX ((1u << 30) + (1u << 20))

/* A value whose bytes mean a text only to one who knows the column's type. */
enum binlog_print { BINLOG_PRINT_BYTES, BINLOG_PRINT_INET4, BINLOG_PRINT_INET6, BINLOG_PRINT_UUID };

struct binlog_column {
	uint8_t type; /* of the protocol (wire/proto.h), or one of enum binlog_type */
	bool nullable;
	bool sign_known, is_unsigned;
	bool json;        /* a text that MariaDB's JSON is */
	uint16_t meta;    /* what the type says about its length */
	uint16_t charset; /* the collation's number; 0: not known */
	uint16_t fixed;   /* BINARY(n): bytes of the declared length; 0: not known */
	enum binlog_print print;
	struct span name;              /* SPAN_NONE: not known */
	uint32_t member, member_count; /* ENUM, SET: first in the table's list, and how many */
};

struct binlog_table {
	uint64_t id;
	struct span database, name;
	struct binlog_column *columns;
	uint32_t column_count;
	const uint16_t *key; /* columns of the primary key, in its order */
	uint32_t key_count;  /* 0: none, or not known */
	bool names_known, key_known;
	bool silent;          /* foreign keys may change its rows, which is not logged */
	struct span *members; /* of ENUM and SET columns, as UTF-8 */
	size_t member_count;
	uint32_t number; /* the user's; kept while the definition stays */
	/* An event of this table cannot be decoded: why.  NULL: it can. */
	const char *refused;
};

/* Header of an event. */
struct binlog_head {
	uint32_t time; /* seconds since 1970 */
	uint8_t type;
	uint32_t server_id, size;
	uint64_t next; /* position behind it in its file; 0: it has none */
	uint16_t flags;
};

struct binlog_gtid {
	char text[BINLOG_GTID_SIZE]; /* as the OK packet of its COMMIT has it; empty: anonymous */
	uint64_t last_committed, sequence_number; /* MySQL's logical clock; 0: none */
	uint64_t commit_us;    /* when it was committed, since 1970; 0: not said */
	uint64_t group_commit; /* MariaDB's group; 0: none */
	bool standalone;       /* MariaDB: one event follows, without COMMIT */
	bool ddl;
	bool completes_xa, prepares_xa;
};

struct binlog_query {
	uint32_t thread;
	uint16_t error;
	struct span database, text;
};

enum binlog_change { BINLOG_INSERT, BINLOG_UPDATE, BINLOG_DELETE };

/* One row.  Images are msgpack arrays with a value for each column of the table
 * (docs/trace-format.md, "Values"). */
struct binlog_row {
	enum binlog_change change;
	const struct binlog_table *table;
	struct span before, after; /* SPAN_NONE: there is none */
	bool whole;                /* no column is missing in an image (binlog_row_image=FULL) */
};

struct binlog_sink {
	/* A new table, or one with another definition: the callback may fill in what the event does
	 * not have (names, members, signs, character sets, the key) from elsewhere, and `number`.
	 */
	void (*table)(void *ctx, struct binlog_table *table);
	void (*begin)(void *ctx, const struct binlog_head *head, const struct binlog_gtid *gtid);
	void (*query)(void *ctx, const struct binlog_head *head, const struct binlog_query *query);
	void (*text)(
		void *ctx, const struct binlog_head *head, struct span text); /* of the statement */
	/* Before the rows of an event, and behind them: `last` of its statement. */
	void (*row)(void *ctx, const struct binlog_head *head, const struct binlog_row *row);
	void (*rows_end)(void *ctx, const struct binlog_head *head,
		const struct binlog_table *table, uint64_t count, bool last);
	void (*commit)(void *ctx, const struct binlog_head *head, uint64_t xid);
	/* XA PREPARE, or with one_phase XA COMMIT ... ONE PHASE. */
	void (*prepare)(void *ctx, const struct binlog_head *head, bool one_phase, struct span xid);
	void (*rotate)(
		void *ctx, const struct binlog_head *head, struct span file, uint64_t position);
	/* The transactions before this file, as text; only MariaDB's list and MySQL's set. */
	void (*before_file)(void *ctx, const struct binlog_head *head, struct span gtids);
	void (*format)(void *ctx, const struct binlog_head *head, struct span version);
	/* The server says that something is missing. */
	void (*incident)(
		void *ctx, const struct binlog_head *head, unsigned number, struct span text);
	/* Alive, and where it is. */
	void (*heartbeat)(void *ctx, const struct binlog_head *head);
	/* Rows that cannot be decoded (binlog_table.refused), or statements in STATEMENT format. */
	void (*refused)(void *ctx, const struct binlog_head *head, const struct binlog_table *table,
		const char *why);
};

struct binlog_options {
	struct values_limits values;
	bool trust_checksums; /* do not verify them (fuzzing) */
};

struct binlog;

struct binlog *binlog_new(
	const struct binlog_sink *sink, void *ctx, const struct binlog_options *options);
void binlog_free(struct binlog *binlog);
/* A new file, or a new connection: the next event is a FORMAT_DESCRIPTION, or a ROTATE before one.
 */
void binlog_reset(struct binlog *binlog);
/* One whole event with its header.  False: it is damaged, or of a kind that cannot be skipped. */
bool binlog_event(struct binlog *binlog, struct span event, struct err *err) MUST_CHECK;
/* The length that a header claims; 0: it makes no sense. */
uint32_t binlog_event_size(struct span head);

/* "mysql_binlog" begins with this; false and err: it is no binary log, or an encrypted one. */
enum { BINLOG_MAGIC_SIZE = 4 };
bool binlog_magic(struct span head, struct err *err) MUST_CHECK;

/* The numbers of types that only binary logs have. */
enum binlog_type {
	BINLOG_TYPE_TIMESTAMP2 = 17,
	BINLOG_TYPE_DATETIME2 = 18,
	BINLOG_TYPE_TIME2 = 19,
	BINLOG_TYPE_BLOB_COMPRESSED = 140,
	BINLOG_TYPE_VARCHAR_COMPRESSED = 141,
};

#endif
