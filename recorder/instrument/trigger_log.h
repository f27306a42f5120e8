/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the triggers of prepared tables and the appended columns tell, as probe records.
 *
 * A session's log is a user variable; while it is NULL (in sessions that are not recorded) nothing
 *is logged.  An entry a row, each ended by a newline; TABLE is the database and the table in
 * hexadecimal digits with a dot between, ROW the values of all columns (instrument/tables.h) with
 * commas between:
 *
 *	ITABLE|version|ROW                                  inserted
 *	DTABLE|version|ROW                                  deleted
 *	UTABLE|version before|version after|ROW|ROW         updated
 *	NTABLE|version|ROW                                  matched by an UPDATE that changed
 *nothing
 *
 * The appended column of a read is KEY|version; NULL where an outer join found no row.
 *
 * User variables know no transactions: the log of a statement that failed is thrown away by the code that
 * reads it.  The log is exact: the triggers run inside the statement, on the rows it writes.
 */
#ifndef INSTRUMENT_TRIGGER_LOG_H
#define INSTRUMENT_TRIGGER_LOG_H

#include <inttypes.h>

#include "capture/capture.h"
#include "instrument/tables.h"

#define LOG_VARIABLE        "@isorec_log"
#define LOG_LONG_VARIABLE   "@isorec_long"
#define LOG_LOST_VARIABLE   "@isorec_lost"
#define LOG_MIDDLE_VARIABLE "@isorec_middle"
#define TAG_VARIABLE        "@isorec_tag"
/* Select mode: the name of the versions that the next statement writes, as text; NULL in sessions
 * that are not recorded. */
#define MARK_VARIABLE "@isorec_mark"
/* Begins a log, or empties it (with the tag: instrument_tables.reset_sql); and reads it: what was
 * lost, its beginning, its end. */
#define LOG_RESET_SQL                                                                              \
	"/* isorec */ set " LOG_VARIABLE " = '', " LOG_MIDDLE_VARIABLE " = '', " LOG_LONG_VARIABLE \
	" = '', " LOG_LOST_VARIABLE " = 0"
#define LOG_READ_SQL                                                                               \
	"/* isorec */ select cast(" LOG_LOST_VARIABLE " as char), cast(concat(" LOG_LONG_VARIABLE  \
	", " LOG_MIDDLE_VARIABLE ") as binary), cast(" LOG_VARIABLE " as binary)"

/* ... what stands behind the first part, which was read before; with its last byte. */
#define LOG_READ_ON_SQL                                                                            \
	"/* isorec */ select cast(" LOG_LOST_VARIABLE " as char), '', substr(cast(concat("         \
	LOG_LONG_VARIABLE ", " LOG_MIDDLE_VARIABLE ", " LOG_VARIABLE ") as binary), %" PRIu64 ")"

enum {
	LOG_INSERT = 'I',
	LOG_DELETE = 'D',
	LOG_UPDATE = 'U',
	LOG_LOOKED = 'N',
	LOG_KEPT = 16000, /* bytes that were read and are still in the variables before they are emptied */
	INSTRUMENT_LOG_SHORT = 8000,
	INSTRUMENT_LOG_MIDDLE = 250000,
	INSTRUMENT_LOG_MAX = 8000000,
};

/* Rows of one table that one statement touched, as elements of record_probe.rows. */
struct table_probes {
	const struct instrument_table *table;
	struct buf writes, matches, reads;
	uint32_t write_count, match_count, read_count;
	uint32_t update_count; /* of writes: those that changed a row */
	uint32_t looked_count; /* ... that left it as it was */
};

struct statement_probes {
	struct table_probes *list;
	size_t count, capacity;
	struct buf scratch[4];
	/* No row of it was changed: what the log has as an update was only looked at. */
	const struct instrument_table *unchanged;
};

void log_add_table(struct buf *out, const struct instrument_table *table);

/* Adds a log's rows.  False: it is not what it should be; what was good is kept. */
/* Takes the first `count` entries off a log.  False: it has less. */
bool log_split(struct span *log, uint64_t count, struct span *first) MUST_CHECK;
bool log_take(struct statement_probes *probes, const struct instrument_tables *tables,
	struct span log, const struct values_limits *limits) MUST_CHECK;
/* Adds a row of a read by its appended column. */
bool log_take_read(struct statement_probes *probes, const struct instrument_table *table,
	struct span text, const struct values_limits *limits) MUST_CHECK;

/* ... the rows of a group: "count;KEY|version;..." or a JSON array of KEY|version.  False as well
 * where some are missing. */
bool log_take_reads(struct statement_probes *probes, const struct instrument_table *table,
	struct span text, const struct values_limits *limits) MUST_CHECK;

/* How much of a row with its version (instrument_add_whole()) becomes a probe row. */
enum log_whole {
	LOG_WHOLE_NAMED,   /* key and version */
	LOG_WHOLE_ROW,     /* ... and image */
	LOG_WHOLE_WRITTEN, /* ... and what it overwrote */
};
/* `probes` lends its memory. */
bool log_pack_whole(struct statement_probes *probes, const struct instrument_table *table,
	struct span text, enum log_whole how, const struct values_limits *limits,
	struct buf *out) MUST_CHECK;
bool log_key_of_whole(const struct instrument_table *table, struct span text,
	const struct values_limits *limits, struct buf *key) MUST_CHECK;
/* Appends an SQL condition that only this row fulfils. */
bool log_add_key_condition(
	const struct instrument_table *table, struct span text, struct buf *out) MUST_CHECK;
struct table_probes *statement_probes_of(
	struct statement_probes *probes, const struct instrument_table *table);
void statement_probes_clear(struct statement_probes *probes);
void statement_probes_release(struct statement_probes *probes);

#endif
