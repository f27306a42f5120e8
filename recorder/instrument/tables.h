/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instrumented tables: what `isorec prepare` adds to a table, which tables have it, and how their
 * values are written as text.
 *
 * A prepared table has a version column, VERSION_COLUMN, that its triggers give a new value in
 * every write that changes the row (UUID_SHORT(): unique on a server, and on a cluster whose nodes
 * have server ids of their own), and, if it had no primary key and the user asked for one, a column
 * KEY_COLUMN as its key.  Both are invisible: SELECT *, INSERT without a column list and NATURAL
 * JOIN do not see them.
 *
 * Values leave the server in one text form, in the log that the triggers write and in the column
 * that is appended to reads (instrument/log.h).  It depends neither on the character set of the
 * session nor on the protocol: numbers and times as the server prints them, strings as hexadecimal
 * digits of their bytes (text in utf8mb4), NULL as N, long values as C, length, ':' and 16 digits
 * of their SHA-256.
 */
#ifndef INSTRUMENT_TABLES_H
#define INSTRUMENT_TABLES_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "capture/values.h"
#include "run/mysql_library.h"

#define VERSION_COLUMN  "isorec_ver"
#define VERSION_COMMENT "isorec: version"
#define KEY_COLUMN      "isorec_key"
#define KEY_COMMENT     "isorec: key"
#define TRIGGER_PREFIX  "isorec_"

enum {
	INSTRUMENT_TABLES_MAX = 10000,
	INSTRUMENT_KEY_MAX = 32,      /* columns of a key; the servers have 16 and 32 */
	INSTRUMENT_LONG_VALUE = 1024, /* longer ones are written as length and digest */
};

#define INSTRUMENT_NO_NUMBER UINT32_MAX

enum column_kind {
	COLUMN_NUMBER, /* integers, YEAR */
	COLUMN_REAL,   /* FLOAT, DOUBLE */
	COLUMN_DECIMAL,
	COLUMN_TIME,      /* DATE, TIME, DATETIME */
	COLUMN_TIMESTAMP, /* what it prints depends on the session's time zone */
	COLUMN_BIT,
	COLUMN_TEXT,
	COLUMN_ENUM, /* and SET */
	COLUMN_BYTES,
	COLUMN_JSON,     /* MySQL's */
	COLUMN_GEOMETRY, /* also VECTOR: bytes that take no character set */
	COLUMN_OTHER,    /* UUID, INET6 ...: text */
};

struct instrument_column {
	char *name;
	enum column_kind kind;
	bool generated;
	bool key;                /* of the primary key: its values are never cut */
	struct wire_column wire; /* how the trace has its values */
};

struct instrument_table {
	char *database, *name;
	char *log_name;  /* how its triggers call it (instrument/log.h); NULL: not prepared */
	uint32_t number; /* in the trace; INSTRUMENT_NO_NUMBER: none yet */
	struct instrument_column *columns; /* all but the version column */
	size_t column_count, column_capacity;
	uint32_t key[INSTRUMENT_KEY_MAX]; /* indexes of columns */
	size_t key_count;
	/* A foreign key changes or deletes rows of it without firing triggers. */
	bool cascades;
	/* A statement that fires no triggers (TRUNCATE, ALTER ...) was sent for it while it was
	 * recorded: nothing is exact any more.  Set by any thread. */
	atomic_bool disturbed;
};

struct instrument_tables {
	struct instrument_table *list; /* by database and name */
	size_t count, capacity;
	char version[64]; /* of the server */
};

/* All prepared tables of the server, or of one database. */
bool instrument_tables_load(struct instrument_tables *tables, MYSQL *mysql, const char *database,
	struct err *err) MUST_CHECK;
void instrument_tables_release(struct instrument_tables *tables);
struct instrument_table *instrument_tables_find(
	const struct instrument_tables *tables, struct span database, struct span name);

/* Fills a table's columns, key and cascades from the server; prepared or not. */
bool instrument_table_describe(
	struct instrument_table *table, MYSQL *mysql, struct err *err) MUST_CHECK;
void instrument_table_release(struct instrument_table *table);
static inline bool instrument_table_exact(const struct instrument_table *table)
{
	return !table->cascades && !atomic_load(&table->disturbed);
}

/* Appends an SQL expression: the text form of column of the row `row` (an alias, NEW, OLD;
 * already quoted). */
void instrument_add_value(struct buf *out, const struct instrument_column *column, const char *row);
/* ... the key's columns with commas between, as arguments of CONCAT. */
void instrument_add_key(struct buf *out, const struct instrument_table *table, const char *row);
void instrument_add_name(struct buf *out, struct span name);
void instrument_add_string(struct buf *out, struct span text);

/* Appends "select COLUMN, ..., version from " for a prepared table, "select * from " for NULL. */
void instrument_add_select(struct buf *out, const struct instrument_table *table);
/* Appends what SHOW CREATE TABLE said, without the version column. */
void instrument_add_create(struct buf *out, struct span text);
/* A version as the server prints it.  False: it is none. */
bool instrument_pack_version(struct buf *out, struct span digits) MUST_CHECK;

/* A value in its text form as a value of the trace.  False: it is none. */
bool instrument_pack_value(struct buf *out, const struct instrument_column *column,
	struct span text, const struct values_limits *limits) MUST_CHECK;

bool instrument_add_unhex(struct buf *out, struct span digits) MUST_CHECK;

/* Runs a query on a connection of the recorder's own; NULL and err when it fails. */
MYSQL_RES *instrument_query(MYSQL *mysql, const char *sql, struct err *err) MUST_CHECK;
bool instrument_execute(MYSQL *mysql, const char *sql, struct err *err) MUST_CHECK;

#endif
