/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history: transactions, operations and versions, whatever they were loaded from.  The oracle
 * adya reads it.
 *
 * Flat arrays indexed by 32-bit ids; HISTORY_NONE is no id.  After loading it is read-only and may
 * be shared by threads.
 *
 * Invariants (asserted by the code that builds one, see build_finish(); history_check() asserts all of
 * them again):
 *  1. Every id in a record is below its array's count, or HISTORY_NONE where the field says so.
 *  2. Operations are grouped by transaction: ops[t.first_op .. + t.op_count) belong to t, in the
 *     order the session sent them; within a statement, reads come before writes.
 *  3. Transactions are numbered by begin (begin_seq); those of a session are linked by
 *     next_in_session in that order.  A session runs one transaction at a time: where the trace
 *     has two of them overlap all the same, counts.txns_overlapping says so, and session order may
 *     be concluded only from a.end_seq <= b.begin_seq.
 *  4. Every object has exactly one UNBORN version; it is first in the object's order.
 *  5. order[o.first_order .. + o.order_count) lists every version of o once.  When o.order_known,
 *     the first o.installed_count of them are the INSTALLED versions in version order: unborn,
 *     initial, then what history_committed() transactions installed last, deletions being DEAD
 *     versions; `position` of each is its index there.  Intermediate, rolled back and aborted
 *     versions, and versions of which no writer is known, stand after, by id, with
 *     position HISTORY_NONE.  When not order_known, only UNBORN has a position (0), the others
 *     follow by id, order_problem says why, and oracles decide nothing that needs the order of
 *     this object.
 *  6. v.previous is the version of the same object that v's write overwrote, as its probe said it,
 *     be that version installed or not; NONE: not known.  Only UNBORN has none by nature.
 *  7. Version, image and key bytes are encoded values (trace/value.h) in the byte pool.
 *  8. Nothing in here was guessed: what a probe did not show is NONE or counted in `counts`.
 *  9. A write operation's version has the operation's transaction and statement, and each version
 *     has at most one write; a version without one is UNBORN, INITIAL or UNWRITTEN.
 *
 * Definitions: semantics.md, section 1.  Object = (table, primary key).
 */
#ifndef MODEL_HISTORY_HISTORY_H
#define MODEL_HISTORY_HISTORY_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"
#include "base/strtab.h"
#include "trace/record.h"
#include "trace/value.h"

#define HISTORY_NONE UINT32_MAX

enum {
	HISTORY_POOL_UNIT = 4,
	/* What a trace may make us keep beside its operations; more is counted as skipped. */
	HISTORY_SESSIONS_MAX = 1 << 20,
	HISTORY_TABLES_MAX = 1 << 20,
	HISTORY_SAVEPOINTS_MAX = 1024,   /* open at a time in a transaction */
	HISTORY_STMT_PROBES_MAX = 1024,  /* BWR, AWR, VSR, PM of one statement */
	HISTORY_DEFERRED_MAX = 64 << 20, /* bytes of rows that wait for their table's schema */
};

struct history_session {
	uint32_t number; /* in the trace */
	uint32_t node;   /* string */
	uint32_t user;   /* string */
	uint32_t first_txn;
	uint64_t thread; /* the server's connection id */
	bool closed;     /* its end is in the trace */
	bool opaque;     /* not all of its statements were read */
};

struct history_table {
	uint32_t database, name; /* strings */
	struct span schema_ref;  /* encoded schema record; in the byte pool; SPAN_NONE: none seen */
	uint32_t number;         /* in the trace */
	bool has_initial_rows;   /* complete initial content was recorded, with versions */
	bool has_final_rows;     /* ... final content */
	bool unseen_writes;      /* a probe of writes of it is not exact: rows may be missing */
	bool unseen_some;        /* the same, but only of rows that history.unseen speaks of */
};

enum history_txn_flags {
	HISTORY_TXN_READ_ONLY = 1 << 0,
	HISTORY_TXN_SNAPSHOT = 1 << 1, /* WITH CONSISTENT SNAPSHOT */
	HISTORY_TXN_AUTOCOMMIT = 1 << 2,
	/* Its begin is not in the trace; begin_seq is then that of the first record that names it:
	 * it sorts, and no real-time order may be concluded from it. */
	HISTORY_TXN_NO_BEGIN = 1 << 3,
	HISTORY_TXN_NO_END = 1 << 4,   /* its end is not in the trace: outcome unknown */
	HISTORY_TXN_OBSERVED = 1 << 5, /* outcome unknown, and a read saw its writes */
	/* Perhaps several transactions, of which some were committed and others not: nothing may be
	 * concluded from what it did (history.md, rule 18). */
	HISTORY_TXN_MIXED = 1 << 6,
};

struct history_txn {
	uint64_t number; /* in the trace, or the other tool's id */
	uint64_t begin_ns, end_ns;
	/* Relative to history.seq_base; real-time order.  Where the trace does not tell, begin is 0
	 * and end is HISTORY_NONE: nothing began after, nothing ended before. */
	uint32_t begin_seq, end_seq;
	uint32_t session;
	uint32_t next_in_session;
	uint32_t first_op, op_count;
	uint32_t gtid;   /* string; 0: none */
	uint8_t level;   /* enum txn_level: the effective one */
	uint8_t outcome; /* enum txn_outcome */
	uint16_t flags;
};

enum history_stmt_flags {
	HISTORY_STMT_RECORD = 1 << 0, /* its stmt record was seen; else only probes name it */
	HISTORY_STMT_NO_REPLY = 1 << 1,
	HISTORY_STMT_INJECTED = 1 << 2, /* the recorder's own */
	HISTORY_STMT_PROBE = 1 << 3,    /* has a probe */
	HISTORY_STMT_WRITES = 1 << 4,   /* has a probe of writes, be it without rows */
	HISTORY_STMT_DATA = 1 << 5,     /* returned a result set or changed rows */
	HISTORY_STMT_CHANGED = 1 << 6,  /* changed rows */
	HISTORY_STMT_ELSEWHERE = 1 << 7, /* ... of tables without versions, where it has no probe */
	HISTORY_STMT_UNSEEN = 1 << 8,    /* what it wrote is not known exactly */
	HISTORY_STMT_UNEXPLAINED = 1 << 9, /* it returned a row that is none of the versions that are known */
};

/* Sorted by nothing; find one through an operation or a version. */
struct history_stmt {
	uint32_t session : 20; /* below HISTORY_SESSIONS_MAX */
	uint32_t flags : 12;   /* enum history_stmt_flags */
	uint32_t number;
	uint32_t txn; /* or NONE */
	uint32_t begin_seq, end_seq;
	uint32_t block; /* where its record is, for history_fetch_stmt */
	uint16_t index; /* in that block; UINT16_MAX: look through the block */
	uint16_t error; /* UINT16_MAX: that or more */
};

enum history_op_kind {
	HISTORY_READ,      /* of (object, version) */
	HISTORY_WRITE,     /* installs version; version.previous is what it overwrote */
	HISTORY_PREDICATE, /* predicate read; `predicate` says which */
};

enum history_op_flags {
	HISTORY_OP_EXACT = 1 << 0,  /* rests on an exact probe */
	HISTORY_OP_ABSENT = 1 << 1, /* the read found no row: version is an UNBORN or DEAD one, or
				       NONE where several are possible */
	HISTORY_OP_UNDONE = 1 << 2, /* a write taken back by ROLLBACK TO or a failed statement */
	/* Before a ROLLBACK TO a savepoint that was set before the transaction touched any table:
	 * the servers then end the engine's transaction, locks and snapshot with it. */
	HISTORY_OP_RELEASED = 1 << 3,
};

struct history_op {
	uint32_t txn;
	uint32_t stmt;
	uint32_t object; /* NONE for predicates */
	union {
		uint32_t version;
		uint32_t predicate;
	};
	uint8_t kind;      /* enum history_op_kind */
	uint8_t read_kind; /* enum probe_read_kind */
	uint8_t flags;     /* enum history_op_flags */
	uint8_t probe;     /* enum probe_kind it came from */
};

enum history_version_flags {
	HISTORY_VERSION_UNBORN = 1 << 0,
	/* There before the recording began.  With UNWRITTEN: presumed so, since no transaction wrote it and
	 * the table's initial rows were not recorded. */
	HISTORY_VERSION_INITIAL = 1 << 1,
	HISTORY_VERSION_DEAD = 1 << 2,
	HISTORY_VERSION_INTERMEDIATE = 1 << 3, /* its transaction overwrote it itself, it seems */
	HISTORY_VERSION_UNDONE = 1 << 4,       /* by ROLLBACK TO or a failed statement */
	HISTORY_VERSION_UNWRITTEN = 1 << 5,    /* read, or overwritten, but no write is recorded */
	HISTORY_VERSION_FINAL = 1 << 6,        /* seen in the final rows */
	HISTORY_VERSION_EXACT = 1 << 7,        /* `previous` rests on an exact probe */
	HISTORY_VERSION_NAMELESS = 1 << 8,     /* UNBORN, and deletions without a tombstone */
	HISTORY_VERSION_DUPLICATE = 1 << 9,    /* a second write claimed to be this version too */
	HISTORY_VERSION_INSTALLED = 1 << 10,   /* stands in the version order, if there is one */
	HISTORY_VERSION_REPLACED = 1 << 11,    /* INTERMEDIATE by an exact probe */
	HISTORY_VERSION_MOVED = 1 << 12,       /* DEAD, as its row got another key */
};

struct history_version {
	/* The version column's value when it is an integer from zero up, else a pool reference to
	 * the encoded value; 0 when NAMELESS. */
	uint64_t name;
	uint32_t object;
	uint32_t txn;      /* installer; NONE: initial, unborn, or not known */
	uint32_t stmt;     /* or NONE */
	uint32_t previous; /* or NONE */
	uint32_t position; /* in the order; NONE: not installed */
	uint32_t image;    /* pool reference; 0: not recorded */
	uint16_t flags;    /* enum history_version_flags */
	bool name_is_bytes;
};

enum history_order_problem {
	HISTORY_ORDER_OK,
	HISTORY_ORDER_UNKNOWN, /* some overwritten version was not recorded exactly */
	HISTORY_ORDER_FORK,    /* two committed writes claim to overwrite the same version */
	HISTORY_ORDER_BROKEN,  /* a chain does not link up: a version is missing */
	HISTORY_ORDER_CYCLE,
	HISTORY_ORDER_UNDECIDED, /* depends on a transaction of unknown outcome whose writes no read saw */
};

struct history_object {
	uint32_t table;
	uint32_t key; /* pool reference to the encoded key */
	uint32_t first_order, order_count, installed_count;
	bool order_known;
	uint8_t order_problem;    /* enum history_order_problem */
	uint32_t problem_version; /* where it shows; NONE when order_known */
};

enum history_predicate_flags {
	HISTORY_PREDICATE_EXACT = 1 << 0,
	HISTORY_PREDICATE_MATCHES = 1 << 1, /* the matched versions are recorded */
	HISTORY_PREDICATE_SET = 1 << 2,     /* the whole version set is recorded */
	HISTORY_PREDICATE_WRITE = 1 << 3,   /* of an UPDATE or DELETE */
};

struct history_predicate {
	uint32_t txn, stmt, table;
	uint32_t text;                     /* pool reference to the WHERE clause; 0: not recorded */
	uint32_t first_match, match_count; /* in predicate_versions */
	uint32_t first_set, set_count;     /* in predicate_versions; with HISTORY_PREDICATE_SET */
	uint16_t flags;
};

/* A statement may have changed rows that satisfied this, and nothing tells. */
struct history_unseen {
	uint32_t table;
	uint32_t text; /* pool reference to the WHERE clause */
};

/* ROLLBACK TO SAVEPOINT: statement `to` of the transaction took back what its statements after
 * number `from` and before `to` wrote.  Sorted by transaction, then by `from`. */
struct history_undo {
	uint32_t txn, from, to;
};

/* What the loader could not turn into certain facts; printed with every verdict. */
struct history_counts {
	uint64_t probes, inexact_probes, probe_rows;
	uint64_t
		stmts_without_probe; /* returned a result set or changed rows, and no probe tells */
	uint64_t unseen_writes;      /* probes of writes that are not exact */
	uint64_t reads_undecided;    /* absent rows with several candidates */
	uint64_t orders_unknown;     /* objects without a known version order */
	uint64_t unwritten_versions; /* seen, and no write of them recorded */
	uint64_t unknown_outcomes, unknown_counted_committed;
	uint64_t lost_records, damaged_bytes, torn_bytes;
	uint64_t opaque_sessions, unfinished_txns;
	uint64_t records_skipped; /* unknown kinds, and records that make no sense where they stand
				   */
	uint64_t rows_skipped; /* rows of probes and of contents that name no version or no key */
	uint64_t predicate_probes_skipped; /* BPM and APM: images serve instead */
	uint64_t unpaired_probes;          /* a BWR without its AWR, or the reverse */
	uint64_t ops_without_txn;          /* reads and writes in no transaction: left out */
	uint64_t duplicate_writes;         /* writes of a version that has one already: left out */
	uint64_t txns_undeclared;          /* named, and no txn record of them */
	uint64_t tables_undeclared;        /* named, and no schema record of them */
	uint64_t txns_overlapping;         /* ... with the next one of their session */
	uint64_t txns_mixed;               /* perhaps several transactions */
	uint64_t txns_holed;               /* ... of them, because statements of theirs are lost */
	uint64_t out_of_place;             /* statements whose records came out of session order */
	uint64_t answers_doubted;          /* UPDATEs whose answer triggers of the recorder may have changed */
};

struct history {
	struct history_session *sessions;
	struct history_table *tables;
	struct history_txn *txns;
	struct history_stmt *stmts;
	struct history_op *ops;
	struct history_object *objects;
	struct history_version *versions;
	struct history_predicate *predicates;
	uint32_t *predicate_versions; /* version ids of matches and version sets */
	uint32_t *order;              /* version ids, by object */
	struct history_undo *undos;
	struct history_unseen *unseen;
	uint32_t unseen_count;
	uint32_t session_count, table_count, txn_count, stmt_count, op_count, object_count,
		version_count, predicate_count, order_count, undo_count;
	uint64_t predicate_version_count;

	struct strtab strings;
	/* Length-prefixed bytes; a reference is an offset in units of HISTORY_POOL_UNIT, 0: none.
	 */
	char *pool;
	uint64_t pool_size;

	uint64_t seq_base;
	uint64_t wall_ns, mono_ns;        /* the clock anchor */
	uint32_t server_version, flavour; /* strings of the first server record */
	struct span server_ref;           /* encoded server record of the first node, in the pool */
	struct history_counts counts;
	bool sets_snapshots;           /* a statement sets innodb_snapshot_isolation, in any session */
	bool complete;                 /* clean end, no damage, nothing lost */
	struct history_source *source; /* for history_fetch_stmt; NULL: the input is gone */
};

/* The bytes that a pool reference stands for; SPAN_NONE for 0. */
struct span history_bytes(const struct history *history, uint32_t reference);

/* The first server record; false when there is none.  Bytes live in the history. */
bool history_server(const struct history *history, struct record_server *out);
/* A variable of it; false when the trace does not say. */
bool history_variable(const struct history *history, const char *name, struct value *out);
/* ... that is told, and ON. */
bool history_is_on(const struct history *history, const char *name);

void history_release(struct history *history);
/* Asserts the invariants; O(size). */
void history_check(const struct history *history);

/* May rows of the table have been changed by writes that were not seen?  Some of them, perhaps. */
static inline bool history_unseen_in(const struct history *history, uint32_t table)
{
	return history->tables[table].unseen_writes || history->tables[table].unseen_some;
}

/* A transaction's outcome as semantics.md, section 1 has it: unknown counts as committed if and
 * only if a read saw its writes or the final rows show them.  The reader is another
 * transaction, by an item read that is not dirty, by a predicate, or by overwriting it. */
static inline bool history_committed(const struct history *history, uint32_t txn)
{
	const struct history_txn *t = &history->txns[txn];

	return t->outcome == TXN_COMMITTED ||
	       (t->outcome == TXN_UNKNOWN && (t->flags & HISTORY_TXN_OBSERVED));
}

/* Was an UNDONE write taken back before statement `stmt` of its transaction began? */
bool history_is_taken_back(const struct history *history, const struct history_op *write, uint32_t stmt);

const char *history_order_problem_name(uint8_t problem);

#endif
