/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a trace: what each kind carries, and how it becomes msgpack and back.
 *
 * A record is a msgpack array: the kind number, then the kind's fields in the order of its list
 * below.  The lists are the one place where fields are named: structs, packing, reading and the
 * JSON of `isotrace show` are all made from them.  docs/trace-format.md says what the fields mean to
 * a reader in another language; a test compares its tables with these lists.
 *
 * Rules:
 * 1. Fields are only ever appended to a list, and kind numbers never reused.  A reader takes a
 *    missing field as zero, false or nil and ignores fields it does not know; so old analyzers read
 *    new traces and new analyzers old ones.
 * 2. A field of type `raw` holds one encoded msgpack object whose shape is given in its comment; it
 *    is checked to be well-formed when read, its shape by the code that walks it.
 * 3. Reading copies nothing: spans point into the block.
 * 4. `seq` is one 64-bit counter for the whole trace, taken when the record is made; it orders
 *    records of different producers.  `at` is the monotonic clock in nanoseconds.  For what takes
 *    time, seq and at are those of its end; `begin_seq` and `begin` those of its start.
 * 5. The first field of every kind but `block` is seq, of kinds to come too: readers order records
 *    of kinds that they do not know.
 *
 * Field types: u64, u32, u8 unsigned; flag (bool); str, bin (SPAN_NONE is nil); raw.
 */
#ifndef TRACE_RECORD_H
#define TRACE_RECORD_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/span.h"
#include "trace/msgpack_cursor.h"

enum record_kind {
	RECORD_BLOCK = 0,
	RECORD_SERVER = 1,
	RECORD_SCHEMA = 2,
	RECORD_ROWS = 3,
	RECORD_SESSION = 4,
	RECORD_STMT = 5,
	RECORD_RESULT = 6,
	RECORD_PROBE = 7,
	RECORD_TXN = 8,
	RECORD_CLUSTER = 9,
	RECORD_NOTE = 10,
	RECORD_GAP = 11,
	RECORD_FOOTER = 12,
	RECORD_PROGRAM = 13,
	RECORD_LOGGED = 14,
};
enum { RECORD_KIND_COUNT = 15 };

/* The first record of every block, written by the writer: where the block stands. */
#define RECORD_BLOCK_FIELDS(F)                                                                   \
	F(u32, producer)  /* the recorder's thread; records of one producer are in order */      \
	F(u64, block)     /* number of this block in its segment, from 0 */                      \
	F(u64, first_seq) /* smallest and largest seq in the block; 0, 0 when it has none */     \
	F(u64, last_seq)                                                                         \
	F(u64, watermark) /* no later block has a record with a smaller seq */                   \
	F(u64, first_at)                                                                         \
	F(u64, last_at)                                                                          \
	F(flag, context) /* repeats records of earlier segments, for readers that begin here */

/* What an instrumenting recorder says of itself among a server's variables.  The names of versions
 * that its sessions write are the tag, VERSION_TAG_SHIFT bits up, and a number.  WRITERS: whether
 * sessions that are not in the trace may have written as well. */
#define VERSION_TAG_VARIABLE "isorec_tag"
#define WRITERS_VARIABLE     "isorec_writers"
#define WRITERS_ALL          "all"
#define WRITERS_SOME         "some"
enum { VERSION_TAG_SHIFT = 52 };
/* Where writes are told by the binary log: its rows come in the order of commits, and what a row overwrote
 * is the row that came before it. */
#define EVIDENCE_VARIABLE "isorec_evidence"
#define EVIDENCE_BINLOG   "binlog"
/* The same, beside recorded sessions: `logged` records tell what they wrote. */
#define EVIDENCE_LOGGED   "logged"
/* Of a server that has enabled events: their number.  They write in no session that is recorded. */
#define EVENTS_VARIABLE "isorec_events"
/* The primary key that it gives to tables without one; its trigger fills it. */
#define HIDDEN_KEY_COLUMN "isorec_key"

/* A node and the variables that change what its statements mean. */
#define RECORD_SERVER_FIELDS(F)                                                                  \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(str, node)                                                                             \
	F(str, version)   /* as the server says it: "10.11.6-MariaDB-1" */                       \
	F(str, flavour)   /* mariadb, mysql, tidb, simulator */                                  \
	F(str, address)                                                                          \
	F(raw, variables) /* {name: value, ...} */

/* A table.  Its number names it in rows and probe records. */
#define RECORD_SCHEMA_FIELDS(F)                                                                  \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(u32, table)                                                                            \
	F(str, node)                                                                             \
	F(str, database)                                                                         \
	F(str, name)                                                                             \
	F(raw, columns)      /* [[name, type, nullable, collation, default, generated, extra]] */ \
	F(raw, primary_key)  /* [column index, ...]; nil: none */                                \
	F(raw, keys)         /* [[name, unique, [column index, ...]], ...] */                    \
	F(raw, foreign_keys) /* [[name, [column index], database, table, [column name],          \
				on delete, on update], ...] */                                   \
	F(str, partitions)   /* the PARTITION BY clause */                                       \
	F(str, create_text)  /* SHOW CREATE TABLE */                                             \
	F(raw, triggers)     /* [[name, timing, event], ...]; nil: not known */

/* A table's content at a named moment, in primary-key order, in parts. */
#define RECORD_ROWS_FIELDS(F)                                                                    \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(u32, table)                                                                            \
	F(str, node)                                                                             \
	F(str, moment)    /* initial, final, or a name of the driver's */                        \
	F(u32, part)      /* from 0 */                                                           \
	F(flag, last)     /* no part follows */                                                  \
	F(raw, columns)   /* [name, ...]; nil: all of the schema's, in order */                  \
	F(raw, rows)      /* [[value, ...], ...] */                                              \
	F(flag, complete) /* on the last part: no row was left out by a limit */                 \
	F(raw, versions)  /* [version, ...] beside rows, where the table has them; else nil */    \
	F(str, definition) /* at a point of a cluster, on the last part: SHOW CREATE TABLE there */

/* The server's status flags, as the protocol's OK packet has them: the field `status` of a stmt. */
enum server_status {
	STATUS_IN_TRANS = 1,
	STATUS_AUTOCOMMIT = 2,
	STATUS_MORE_RESULTS = 8,
	STATUS_CURSOR_EXISTS = 64, /* rows come when they are fetched */
	STATUS_LAST_ROW_SENT = 128,
	STATUS_NO_BACKSLASH_ESCAPES = 512,
	STATUS_METADATA_CHANGED = 1024,
	STATUS_PS_OUT_PARAMS = 4096,
	STATUS_IN_TRANS_READONLY = 8192,
	STATUS_SESSION_STATE_CHANGED = 16384,
	STATUS_ANSI_QUOTES = 32768,
};

enum session_event {
	SESSION_OPENED = 0,
	SESSION_CLOSED = 1,
	SESSION_OPAQUE = 2,  /* from here on traffic is relayed unread; reason says why */
	SESSION_CHANGED = 3, /* user, database or character set changed */
	/* The server ended the connection, and no statement of this session had asked for it: nothing sent
	 * from here on reaches it.  What the session held may be held until SESSION_RELEASED. */
	SESSION_ENDED = 4,
	SESSION_RELEASED = 5, /* the server no longer has it: its transaction is rolled back */
};

#define RECORD_SESSION_FIELDS(F)                                                                 \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(u32, session)                                                                          \
	F(u8, event) /* enum session_event */                                                    \
	F(str, node)                                                                             \
	F(str, client)                                                                           \
	F(str, user)                                                                             \
	F(str, database)                                                                         \
	F(u64, thread)       /* the server's connection id */                                    \
	F(u64, capabilities) /* in force: server AND client */                                   \
	F(str, reason)       /* of the close, of the end or of being opaque */                   \
	F(raw, attributes)   /* {name: value} */                                                 \
	F(u32, collation)    /* the number that the client asked for; 0: not known */

enum stmt_flags {
	STMT_NO_REPLY = 1u << 0,    /* sent, and no answer ever came */
	STMT_INJECTED = 1u << 1,    /* the recorder's own, not the client's */
	STMT_TEXT_CUT = 1u << 2,    /* text is a prefix, has '***' for a password, or cannot be parsed */
	STMT_NOT_KEPT = 1u << 3,    /* its results were not recorded (capture level) */
	STMT_OPAQUE = 1u << 4,      /* relayed unread */
	STMT_BLOCKED_SEEN = 1u << 5, /* blocked_ns and blockers were looked at, even when 0 */
	STMT_FILTERED = 1u << 6,    /* names only tables that were not to be recorded */
	STMT_NO_TABLES = 1u << 7,   /* touches no table of the database's: nothing to probe */
	/* Writes tables that are not prepared, and no others that have no probe. */
	STMT_ELSEWHERE = 1u << 8,
	STMT_MASKED = 1u << 9, /* beside STMT_TEXT_CUT: the text is whole but for passwords, each '***' */
};

/* One command and how it ended; made when it ended, so seq and at are its end. */
#define RECORD_STMT_FIELDS(F)                                                                    \
	F(u64, seq)                                                                              \
	F(u64, at) /* just after the read that completed the answer, or of its loss */           \
	F(u32, session)                                                                          \
	F(u32, number) /* from 1, in the order sent in this session */                           \
	F(u64, txn)    /* the transaction it ran in; 0: none or unknown */                       \
	F(u64, begin_seq)                                                                        \
	F(u64, begin)      /* just before the first byte was written to the server */            \
	F(u64, first_byte) /* first byte of the answer; 0: none came */                          \
	F(u8, command)     /* the protocol's command byte: 3 QUERY, 0x17 EXECUTE ... */          \
	F(u32, flags)      /* enum stmt_flags */                                                 \
	F(str, text)                                                                             \
	F(u32, prepared)    /* number of the PREPARE in this session; 0: none */                 \
	F(raw, params)      /* [value, ...] */                                                   \
	F(u32, status)      /* the server's status flags at the end */                           \
	F(u64, affected)                                                                         \
	F(u64, insert_id)                                                                        \
	F(u32, warnings)                                                                         \
	F(str, info)                                                                             \
	F(u32, error)       /* 0: none */                                                        \
	F(str, sqlstate)                                                                         \
	F(str, error_text)                                                                       \
	F(u32, result_sets) /* result records of this statement, by set number from 0 */         \
	F(u64, rows)        /* in all of them */                                                 \
	F(u64, reply_bytes)                                                                      \
	F(u64, blocked_ns)  /* how long it was seen waiting for a lock */                        \
	F(raw, blockers)    /* [session, ...] it was seen waiting for */                         \
	F(raw, track)       /* {variable: value} and "schema", "gtid", "state" that the server reported */ \
	F(u64, client_begin) /* command read from the client */                                  \
	F(u64, client_end)   /* answer written to the client */                                  \
	F(u64, request_bytes) /* without an answer: of the command, read for the server */

/* Rows of one result set, in parts. */
#define RECORD_RESULT_FIELDS(F)                                                                  \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(u32, session)                                                                          \
	F(u32, number) /* of the statement */                                                    \
	F(u32, set)                                                                              \
	F(u32, part)                                                                             \
	F(flag, last)                                                                            \
	F(raw, columns) /* on part 0: [[name, table, type, flags, charset, length, decimals,     \
			   database, original table, original name], ...] */                     \
	F(raw, rows)    /* [[value, ...], ...] */                                                \
	F(u64, total)   /* on the last part: rows of the set, kept or not */                     \
	F(bin, digest)  /* on the last part, where rows were left out: of all rows */

/* Instrumentation reads.  BWR to APM are the published SELECTs; READ and WRITE come from columns
 * appended to the statement and from triggers. */
enum probe_kind {
	PROBE_BWR = 0,   /* before-write read: rows the write is about to overwrite */
	PROBE_AWR = 1,   /* after-write read: rows as the write left them */
	PROBE_VSR = 2,   /* version-set read: every row of the table, as the statement sees it */
	PROBE_PM = 3,    /* predicate match: rows the statement's predicate matched */
	PROBE_BPM = 4,   /* what an earlier predicate matches before this write */
	PROBE_APM = 5,   /* ... and after it */
	PROBE_READ = 6,  /* rows the statement itself returned, with their versions */
	PROBE_WRITE = 7, /* rows the statement itself wrote */
};

enum probe_read_kind {
	PROBE_READ_UNKNOWN = 0,
	PROBE_READ_SNAPSHOT = 1, /* from the transaction's or statement's snapshot */
	PROBE_READ_CURRENT = 2,  /* the newest committed version, locking */
	PROBE_READ_DIRTY = 3,    /* the newest version, committed or not */
};

/* How a probe row came about (field `op` of a PROBE_WRITE row). */
enum probe_op {
	PROBE_OP_NONE = 0,
	PROBE_OP_INSERT = 1,
	PROBE_OP_UPDATE = 2,
	PROBE_OP_DELETE = 3,
};

#define RECORD_PROBE_FIELDS(F)                                                                   \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(u32, session)                                                                          \
	F(u32, number) /* of the statement it belongs to */                                      \
	F(u64, txn)                                                                              \
	F(u8, probe) /* enum probe_kind */                                                       \
	F(u32, table)                                                                            \
	F(flag, exact)    /* saw what the statement saw, with nothing in between */              \
	F(u8, read_kind)  /* enum probe_read_kind */                                             \
	F(str, predicate) /* the WHERE clause it tests, where it tests one */                    \
	F(raw, rows)      /* [[key, version, previous, image, op, old key, old image], ...]:     \
			     see struct probe_row */                                             \
	F(u64, begin)                                                                            \
	F(u32, of_number) /* BPM, APM: statement that has the predicate */                       \
	F(u32, of_session)

enum txn_event {
	TXN_BEGIN = 0,
	TXN_END = 1, /* alone, without a BEGIN before: a transaction of one statement */
	TXN_SAVEPOINT = 2,
	TXN_ROLLBACK_TO = 3,
	TXN_RELEASE = 4,
};

/* Did a statement (CALL, EXECUTE ...) perhaps end the transaction inside and leave another one open,
 * or begin it behind others of its own?  What the trace calls one transaction was then several. */
enum txn_mixed { TXN_MIXED_NOT_TOLD, TXN_MIXED_NO, TXN_MIXED_YES };

enum txn_outcome {
	TXN_UNKNOWN = 0, /* neither may be assumed */
	TXN_COMMITTED = 1,
	TXN_ABORTED = 2,
};

enum txn_level {
	LEVEL_UNKNOWN = 0,
	LEVEL_READ_UNCOMMITTED = 1,
	LEVEL_READ_COMMITTED = 2,
	LEVEL_REPEATABLE_READ = 3,
	LEVEL_SERIALIZABLE = 4,
};

#define RECORD_TXN_FIELDS(F)                                                                     \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(u32, session)                                                                          \
	F(u64, txn)   /* unique in the trace, from 1 */                                          \
	F(u8, event)  /* enum txn_event */                                                       \
	F(u32, number) /* the statement that caused it; 0: none did */                           \
	F(u8, level)  /* enum txn_level: the effective one of this transaction */                \
	F(flag, read_only)                                                                       \
	F(flag, consistent_snapshot)                                                             \
	F(flag, autocommit) /* one statement, committed by the server */                         \
	F(u8, outcome)      /* at the end: enum txn_outcome */                                   \
	F(u64, begin_seq)   /* at the end: when it began */                                      \
	F(u64, begin)                                                                            \
	F(str, gtid)                                                                             \
	F(str, name)   /* of the savepoint or the XA transaction */                              \
	F(str, reason) /* at the end: commit, rollback, implicit commit, error 1213 ... */       \
	F(u8, mixed)   /* at the end: enum txn_mixed */

#define RECORD_CLUSTER_FIELDS(F)                                                                 \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(u64, begin)                                                                            \
	F(str, node)                                                                             \
	F(str, what) /* state, membership, connection, operation, exit, log */                   \
	F(str, detail)                                                                           \
	F(raw, data) /* {name: value} */

#define RECORD_NOTE_FIELDS(F)                                                                    \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(str, source) /* recorder, user, driver ... */                                          \
	F(str, topic)                                                                            \
	F(str, text)                                                                             \
	F(raw, data) /* {name: value} */

/* Something is missing here, or was nearly: the writer could not keep up or could not write. */
#define RECORD_GAP_FIELDS(F)                                                                     \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(u64, begin)                                                                            \
	F(u32, producer)                                                                         \
	F(str, reason)  /* waited, late, dropped, stopped, rotated */                            \
	F(u64, records) /* lost; 0 when the producer only waited; for rotated, all that were     \
			   removed since the trace began */                                      \
	F(u64, bytes)                                                                            \
	F(u64, first_seq) /* of the lost ones */                                                 \
	F(u64, last_seq)                                                                         \
	F(str, detail)

/* The last record of a segment that was closed in order. */
#define RECORD_FOOTER_FIELDS(F)                                                                  \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(u64, blocks)  /* before the footer's own */                                            \
	F(u64, records) /* in them, block records not counted */                                 \
	F(u64, bytes)   /* of those records, uncompressed */                                     \
	F(raw, counts)  /* {kind: records, ...} */                                               \
	F(raw, index)   /* [[offset, size, records, first_seq, last_seq, first_at, last_at]] */  \
	F(str, reason)  /* end, rotated, stopped */                                              \
	F(u64, lost)    /* records dropped in this segment */

enum program_type { PROGRAM_TRIGGER = 1, PROGRAM_FUNCTION = 2, PROGRAM_PROCEDURE = 3, PROGRAM_VIEW = 4 };

/* A stored program or a view, as it was when the recording began. */
#define RECORD_PROGRAM_FIELDS(F)                                                                 \
	F(u64, seq)                                                                              \
	F(u64, at)                                                                               \
	F(str, node)                                                                             \
	F(str, database)                                                                         \
	F(str, name)                                                                             \
	F(u8, type)         /* enum program_type */                                              \
	F(str, table)       /* of a trigger: in the same database */                             \
	F(u32, position)    /* of a trigger: among those of its event and time, from 1 */        \
	F(str, create_text) /* SHOW CREATE ...; nil: not shown to the recorder's account */      \
	F(str, sql_mode)    /* that it runs with; of a view: none */                              \
	F(str, charset)     /* character_set_client of its text */                               \
	F(str, collation)   /* collation_connection that it runs with */                         \
	F(str, database_collation)

enum logged_event {
	LOGGED_ROWS = 0, /* rows of one table that one statement of the transaction changed */
	LOGGED_END = 1,  /* the transaction's end */
};

enum logged_end {
	LOGGED_COMMITTED = 0,
	LOGGED_ROLLED_BACK = 1, /* ... and logged all the same, as it changed tables without transactions */
	LOGGED_PREPARED = 2,    /* XA PREPARE: whether it was committed is told later */
};

/* What a server's binary log says of a transaction.  Those of one node are in the order of the log, which
 * is that of the commits; the records of one transaction follow each other. */
#define RECORD_LOGGED_FIELDS(F)                                                                  \
	F(u64, seq)                                                                              \
	F(u64, at) /* when the recorder read it */                                               \
	F(str, node)                                                                             \
	F(str, gtid) /* as the answer to its COMMIT has it */                                    \
	F(u8, event) /* enum logged_event */                                                     \
	F(u32, group)  /* rows: of which statement, from 0; at the end: how many statements */   \
	F(u32, table)                                                                            \
	F(flag, exact) /* all rows are here, with all columns */                                 \
	F(raw, rows)   /* as those of a WRITE probe; versions are numbered from 1 on each node */ \
	F(str, text)   /* of the statement, where the server logs it; of a definition */         \
	F(u8, end)     /* enum logged_end */                                                     \
	F(u32, server) /* the server's number on which it was committed first */                 \
	F(u64, thread) /* ... and the connection; 0: not told */                                 \
	F(u64, wall)   /* when, as the server says, since 1970, ns */                            \
	F(str, xid)    /* of an XA transaction: X'...',X'...',1 */

#define RECORD_KINDS(K)                                                                          \
	K(block, BLOCK)                                                                          \
	K(server, SERVER)                                                                        \
	K(schema, SCHEMA)                                                                        \
	K(rows, ROWS)                                                                            \
	K(session, SESSION)                                                                      \
	K(stmt, STMT)                                                                            \
	K(result, RESULT)                                                                        \
	K(probe, PROBE)                                                                          \
	K(txn, TXN)                                                                              \
	K(cluster, CLUSTER)                                                                      \
	K(note, NOTE)                                                                            \
	K(gap, GAP)                                                                              \
	K(footer, FOOTER)                                                                        \
	K(program, PROGRAM)                                                                      \
	K(logged, LOGGED)

typedef uint64_t record_field_u64;
typedef uint32_t record_field_u32;
typedef uint8_t record_field_u8;
typedef bool record_field_flag;
typedef struct span record_field_str;
typedef struct span record_field_bin;
typedef struct span record_field_raw;

/* struct record_stmt { uint64_t seq; ... }, record_stmt_pack(), record_stmt_read() and so on. */
#define RECORD_DECLARE_FIELD(type, name) record_field_##type name;
#define RECORD_DECLARE(lower, upper)                                                             \
	struct record_##lower {                                                                  \
		RECORD_##upper##_FIELDS(RECORD_DECLARE_FIELD)                                    \
	};                                                                                       \
	/* Appends the record. */                                                                \
	void record_##lower##_pack(struct buf *out, const struct record_##lower *record);        \
	/* mp stands after the kind; `left` fields follow.  False and mp->bad on damage. */     \
	bool record_##lower##_read(struct mp *mp, uint32_t left, struct record_##lower *record)  \
		MUST_CHECK;
RECORD_KINDS(RECORD_DECLARE)
#undef RECORD_DECLARE
#undef RECORD_DECLARE_FIELD

/* One row of a probe.  `key` is the primary key's value, or an array of values where it has several
 * columns; `version` what the row's version column holds (nil for a dead row); `previous` what it
 * overwrote (nil: unborn, or not known where `has_previous` is false).  All are encoded values. */
struct probe_row {
	struct span key, version, previous, image;
	enum probe_op op;
	struct span old_key;   /* a primary-key update: the key before */
	struct span old_image; /* the image it overwrote */
	bool has_previous;     /* the row says what it overwrote, be it nil */
};

void probe_row_pack(struct buf *out, const struct probe_row *row);
/* Reads one element of record_probe.rows. */
bool probe_row_read(struct mp *mp, struct probe_row *row) MUST_CHECK;

/* Takes a record's array head and kind: the kind number (perhaps one we do not know) and the fields
 * left.  Then record_X_read, or record_skip. */
bool record_begin(struct mp *mp, uint32_t *kind, uint32_t *left) MUST_CHECK;
bool record_skip_fields(struct mp *mp, uint32_t left) MUST_CHECK;

/* "stmt"; NULL for a number we do not know. */
const char *record_kind_name(uint32_t kind);
const char *session_event_name(uint8_t event);
const char *probe_kind_name(uint8_t kind);
const char *probe_op_name(uint8_t op);
const char *probe_read_kind_name(uint8_t kind);
const char *txn_event_name(uint8_t event);
const char *txn_outcome_name(uint8_t outcome);
/* "REPEATABLE READ" and "RR". */
const char *txn_level_name(uint8_t level);
const char *txn_level_short(uint8_t level);

/* Did a statement touch a row: did a read find one, a write change one, or match one that it left as it was? */
bool record_stmt_touched(const struct record_stmt *stmt);

/* One whole record as a JSON object: {"kind":"stmt","seq":1,...}; mp stands before the record.
 * False on damage, with as much written as made sense, well-formed. */
bool record_json(struct json *json, struct mp *mp);

#endif
