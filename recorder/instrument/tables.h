/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instrumented tables: what `isorec prepare` adds to a table, and which tables have it.  Their
 * values as text: instrument/row_sql.h.
 *
 * A prepared table has a version column, VERSION_COLUMN, that its triggers give a new value in
 * every write that changes the row, and, if it had no primary key and the user asked for one, a
 * column KEY_COLUMN as its key.  Both are invisible: SELECT *, INSERT without a column list and
 * NATURAL JOIN do not see them.
 *
 * A version's name is a number: the recorder's tag, 0 in sessions that are not recorded, and 52
 * bits that are unique on a server, and on a cluster whose nodes have server ids of their own.  In
 * trigger mode the column is that number (from UUID_SHORT()); in select mode it is text, the number
 * that the recorder gave the statement, a slash, and the number that it overwrote (none where the
 * row was inserted).
 */
#ifndef INSTRUMENT_TABLES_H
#define INSTRUMENT_TABLES_H

#include <mysql.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "db/own_objects.h"
#include "instrument/predicates.h"
#include "server/errors.h"
#include "wire/values.h"

#define VERSION_COMMENT "isorec: version"
#define KEY_COLUMN      HIDDEN_KEY_COLUMN
#define KEY_COMMENT     "isorec: key"

enum {
	INSTRUMENT_TABLES_MAX = 10000,
	INSTRUMENT_KEY_MAX = 32,      /* columns of a key; the servers have 16 and 32 */
	INSTRUMENT_LONG_VALUE = 1024, /* longer ones are written as length and digest */
	INSTRUMENT_TAG_MAX = 4095,
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
	bool brief;              /* its values are never longer than INSTRUMENT_LONG_VALUE */
	bool counts;             /* AUTO_INCREMENT */
	bool renewed;            /* ON UPDATE CURRENT_TIMESTAMP, on MariaDB (see prepare.c) */
	uint8_t decimals;        /* ... its digits */
	bool key;                /* of the primary key: its values are never cut */
	struct wire_column wire; /* how the trace has its values */
};

/* A column of a unique key that is not the primary one; those of one key stand together. */
struct instrument_unique {
	uint32_t key;
	uint32_t column; /* INSTRUMENT_NO_NUMBER: an expression */
};

struct instrument_table {
	char *database, *name;
	char *log_name;  /* how its triggers call it (instrument/trigger_log.h); NULL: not prepared */
	uint32_t number; /* in the trace; INSTRUMENT_NO_NUMBER: none yet */
	struct instrument_column *columns; /* all but the version column */
	size_t column_count, column_capacity;
	uint32_t key[INSTRUMENT_KEY_MAX]; /* indexes of columns */
	size_t key_count;
	bool for_select;   /* prepared for select mode */
	bool auto_key;     /* the key is one AUTO_INCREMENT column */
	bool triggered;    /* the application has triggers on it */
	bool renews;       /* has a column that is renewed */
	struct instrument_unique *uniques; /* beside the primary key */
	size_t unique_count, unique_capacity;
	/* A foreign key may change or delete rows of it without firing triggers at any time; in
	 * select mode also triggers of the application. */
	bool cascades;
	bool follows;   /* a foreign key of it has actions ... */
	bool rewritten; /* ... that change its rows, not only delete them */
	/* A statement that fires no triggers (TRUNCATE, ALTER ...) was sent for it while it was
	 * recorded: nothing is exact any more.  Set by any thread. */
	atomic_bool disturbed;
	/* ... and one after which it may lack its version column (DROP and CREATE, ALTER, a temporary
	 * table of the same name): nothing is appended to reads of it. */
	atomic_bool altered;
};

/* How versions come to be known (docs/instrumentation.md).  The binary log is read beside the sessions
 * (binlog/beside.h), which are recorded as they are. */
enum instrument_mode { INSTRUMENT_OFF, INSTRUMENT_TRIGGER, INSTRUMENT_SELECT, INSTRUMENT_BINLOG };
extern const char *const instrument_mode_words[]; /* for --instrument */

/* A foreign key whose actions change rows of `child`, where all that can fire them is recorded; or
 * that deletes them with a row whose deletion is logged, so that the analyzer can tell which. */
struct instrument_cascade {
	char *database, *parent; /* the table that it refers to ... */
	char *column;            /* ... and one column of it */
	uint32_t child;          /* in instrument_tables.list */
	bool on_delete, on_update; /* when it changes rows */
	bool followed;             /* on_delete: by the analyzer (history.md, rule 19) */
};

/* A procedure whose body neither ends transactions nor goes on after an error: where a transaction
 * is open it does its work in that, and all of it or an error. */
struct instrument_routine {
	char *database, *name;
	char *body;
};

struct instrument_view {
	char *database, *name;
	char *definition;    /* NULL: not known */
	char *columns;       /* their names, each ended by a NUL */
	size_t columns_len;
};

/* A node, and the part of UUID_SHORT() that does not count: its server id and when it started. */
struct instrument_node {
	char *name;
	char *server; /* where it runs: several names may be one server */
	uint64_t range;
};

struct instrument_tables {
	enum instrument_mode mode;
	struct instrument_table *list; /* by database and name */
	size_t count, capacity;
	char version[64]; /* of the server */
	bool any_case;    /* lower_case_table_names: T and t are one table */
	bool galera;      /* other nodes may roll a transaction back while it is idle */
	/* Those to be recorded: elsewhere tables may be prepared for another mode.  None: all. */
	const char *const *databases;
	size_t database_count;
	/* In the names of the versions that recorded sessions write; other sessions' have 0. */
	uint32_t tag;
	MYSQL **claims; /* connections that hold it on the nodes: instrument/recorder_tag.h */
	size_t claim_count, claim_capacity;
	bool all_writers;    /* no other session writes */
	uint64_t first_mark; /* select mode: a version's name, without the tag */
	char reset_sql[256]; /* trigger mode: begins a log, or empties it */
	struct instrument_node *nodes; /* trigger mode */
	size_t node_count, node_capacity;
	struct instrument_cascade *actions;
	size_t action_count, action_capacity;
	struct instrument_routine *routines; /* procedures */
	size_t routine_count, routine_capacity;
	atomic_bool routines_changed; /* one was made or dropped since: none is known */
	struct instrument_view *views;
	atomic_bool views_changed; /* one was made, changed or dropped since: none is known */
	size_t view_count, view_capacity;
	bool triggers;       /* the application has some of its own */
	char **functions;    /* names of stored ones: a SELECT that calls one may write */
	size_t function_count, function_capacity;
	/* Select mode: those of earlier statements, for BPM and APM; NULL: not wanted. */
	struct predicates *predicates;
};

/* Before the tables are loaded: what the recorder's versions will be called. */
bool instrument_tables_init(struct instrument_tables *tables, enum instrument_mode mode,
	bool all_writers, bool predicates, struct err *err) MUST_CHECK;
/* Select mode: the name of the version that a statement's rows get. */
uint64_t instrument_next_mark(const struct instrument_tables *tables);
/* Appends the recorder's own pairs to a server record's variables; how many. */
uint32_t instrument_add_variables(const struct instrument_tables *tables, struct buf *pairs);

/* All prepared tables of the server, or of one database. */
bool instrument_tables_load(struct instrument_tables *tables, MYSQL *mysql, const char *database,
	struct err *err) MUST_CHECK;
/* A further node on which they are written: false where its triggers would give versions the names
 * that those of another one give. */
bool instrument_tables_add_node(struct instrument_tables *tables, MYSQL *mysql, const char *name,
	struct err *err) MUST_CHECK;
void instrument_tables_release(struct instrument_tables *tables);
/* A whole one by its name; NULL: none is known. */
const struct instrument_routine *instrument_routine_find(
	const struct instrument_tables *tables, struct span database, struct span name);
struct instrument_table *instrument_tables_find(
	const struct instrument_tables *tables, struct span database, struct span name);

/* Fills a table's columns, key and cascades from the server; prepared or not. */
bool instrument_table_describe(
	struct instrument_table *table, MYSQL *mysql, struct err *err) MUST_CHECK;
void instrument_table_release(struct instrument_table *table);
/* A statement deletes rows of the table, or changes the column: marks the children that a foreign
 * key makes follow it as disturbed, and theirs.  `column` SPAN_NONE: it deletes; `database`
 * SPAN_NONE: whatever table it is, and both.  False: there are none. */
bool instrument_tables_disturb_children(const struct instrument_tables *tables,
	struct span database, struct span name, struct span column);
/* Foreign keys may not do from now on what they should. */
void instrument_tables_unfollow(const struct instrument_tables *tables);
static inline bool instrument_table_exact(const struct instrument_table *table)
{
	return !table->cascades && !atomic_load(&table->disturbed);
}

/* A table that was dropped since it was described, or made anew with other columns, has no rows to
 * tell of. */
static inline bool instrument_table_gone(unsigned error)
{
	return error == ER_NO_SUCH_TABLE || error == ER_BAD_FIELD_ERROR ||
	       error == ER_TABLE_DEF_CHANGED;
}

#endif
