/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The multi-version store: tables of records, each a chain of versions, newest first; transactions
 * with what they wrote; and the locks that are certain (semantics.md, section 5).
 *
 * A record is what InnoDB's clustered index has: the rows of one primary key, one after the other
 * (or of the first UNIQUE key without NULLs; or one row for ever where the table has neither).  An
 * UPDATE of the key is a dead version of the old record and a live one of the new.
 *
 * Invariants:
 *  1. A version's transaction is active or committed: rolling back takes its versions out.
 *  2. commit_no of transactions are handed out in commit order, from 1; initial rows belong to the
 *     transaction 0 with commit_no 0, which every read view sees.
 *  3. Everything that changes after it was made is changed through the trail, so that the solver
 * can go back to an earlier state and try another order.  Memory is never given back: it may come
 *     into sight again.
 */
#ifndef MVCC_STORE_STORE_H
#define MVCC_STORE_STORE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "eval/eval.h"

#define STORE_NONE UINT32_MAX

struct store_path;
struct store_undo;

/* ---- the trail ---- */

struct trail_entry {
	void *at;
	uint64_t old;
	uint32_t size; /* 4 or 8 */
};

struct trail {
	struct trail_entry *entries;
	size_t count, capacity;
};

void trail_put(struct trail *trail, void *at, uint32_t size);
void trail_undo(struct trail *trail, size_t mark);

/*
 * Changes a field of an object of a kind (TXN, TABLE ...) so that the trail can restore it.  Each kind has one list of such
 * fields, X(field, how): *_TRAILED below.  A field that is not in it does not compile here.  `how` says in which way
 * the digest of the state covers it (state_digest.c):
 *	VALUE    as it is
 *	COMMITS  a count of commits: by which of the recent ones are among them
 *	APART    by code of its own
 *	UNUSED   not at all: nothing that is still to come is decided by it
 */
#define TRAIL_SET(trail, KIND, object, field, value)                                               \
	do {                                                                                       \
		_Static_assert(KIND##_TRAILS_##field, "in the list of the kind");                  \
		_Static_assert(sizeof((object)->field) == 4 || sizeof((object)->field) == 8,       \
			"trailed field");                                                          \
		trail_put((trail), &(object)->field, sizeof((object)->field));                     \
		(object)->field = (value);                                                         \
	} while (0)

/* ---- tables ---- */

#define VERSION_TRAILED(X)                                                                         \
	X(image, APART)                                                                            \
	X(previous, APART)                                                                         \
	X(unknown, APART)

struct store_version {
	const struct eval_value *image; /* NULL: dead */
	struct store_version *previous; /* NULL: unborn */
	struct store_version *under;    /* what its transaction found when it first wrote the record */
	uint32_t txn;
	uint32_t stmt; /* of the schedule; STORE_NONE: initial */
	uint32_t unknown;  /* enum unknown_kind: image is not known, nor whether there is one */
	bool maybe;    /* perhaps it was never written, and shows what was there before */
};

enum store_lock_mode { STORE_LOCK_S = 1, STORE_LOCK_X = 2 };

/* A lock that is certainly held until its transaction ends. */
struct store_lock {
	struct store_lock *next;        /* of the record */
	struct store_lock *held_before; /* of the transaction */
	struct store_record *record;
	uint32_t txn, mode, stmt;
};

#define RECORD_TRAILED(X)                                                                          \
	X(newest, APART)                                                                           \
	X(locks, APART)

struct store_record {
	struct store_version *newest;
	struct store_lock *locks;
	uint64_t key_hash; /* of the cluster key; 0 where the table has none */
	struct span key;   /* encoded, SPAN_NONE where the table has none */
	uint32_t id;
	uint32_t table; /* number */
	uint32_t seen;  /* by the lookup of this number (lookups.c) */
	uint32_t touched; /* event at which it was last written or locked, in whichever order */
	bool is_recent;   /* it is among those of its table */
};

#define TOUCH_TRAILED(X) X(next, APART)

/* A transaction used the table in a way that may lock anything in it. */
struct store_touch {
	struct store_touch *next;
	uint32_t txn, mode;
};

#define READ_TRAILED(X) X(next, APART)

/* A query whose answer has to stay as it is until its transaction ends (serializable_reads.c). */
struct store_read {
	struct store_read *next;
	uint32_t txn, stmt;
	const struct store_undo *undo; /* the transaction's last change before it */
};

#define TABLE_TRAILED(X)                                                                           \
	X(born, VALUE)                                                                             \
	X(count, APART) /* by the rows */                                                          \
	X(known_since, APART)                                                                      \
	X(unknown_by, VALUE)                                                                       \
	X(unknown, VALUE)                                                                          \
	X(culprit, UNUSED) /* names a statement in an explanation */                               \
	X(redefined, VALUE)                                                                        \
	X(triggers, VALUE)                                                                         \
	X(touches, APART)                                                                          \
	X(reads, APART)                                                                            \
	X(has_unknown_rows, VALUE)                                                                           \
	X(numbered, VALUE)                                                                         \
	X(numbers_unseen, VALUE)                                                                   \
	X(numbers_taken, VALUE)                                                                    \
	X(numbers_from, UNUSED) /* follows from them */                                        \
	X(others, APART)

struct store_table {
	struct span database, name;
	const struct sql_create_table *create; /* what `def` was made of */
	struct eval_table *def;
	bool bare;        /* made in the trace, so without triggers, but `def` is not known */
	bool temporary; /* of one session, which alone sees it */
	bool alien; /* of another engine, and without triggers: what is done to it touches no other */
	uint32_t made_by; /* statement of the schedule that made it; STORE_NONE: there from the start */
	uint32_t born;    /* that was executed */
	struct store_record **records, **retired; /* retired: what store_restore() replaced */
	uint32_t count;
	size_t capacity;
	struct map by_key;                 /* of key_hash to record number */
	struct store_record **recent; /* all that were written or locked since the store was last settled; and others */
	uint32_t recent_count;
	size_t recent_capacity;
	struct store_path *paths;          /* by other columns (access_path.h) */
	uint32_t path_count;
	struct store_record **purged; /* put aside or taken back, and those that may be; some are in the table (purge.h) */
	uint32_t purged_count;
	size_t purged_capacity;
	struct map purged_by_key; /* of key_hash to number in `purged` */
	uint64_t writes; /* since dead records were last put aside */
	const struct eval_index *cluster;  /* NULL: none, rows are what they are */
	const struct eval_index **uniques; /* all unique keys, the primary one first */
	uint32_t unique_count;
	bool has_secondary;
	uint32_t known_since; /* read views from before this commit do not know it */
	uint32_t unknown_by;  /* the transaction that made it unknown; 0: cannot be taken back */
	uint32_t unknown;     /* its content is not known (any more): why, as a reason number */
	uint32_t culprit;     /* number, from 1, of the statement that made it unknown; 0: none */
	uint32_t redefined;   /* nor is its definition: it stays unknown */
	bool odd_keys;        /* a row was there whose unique keys we cannot compare */
	bool hidden_key;      /* the recorder's trigger makes the keys, and the trace has none */
	uint32_t triggers;    /* events that have one, as bits of enum write_event */
	struct store_touch *touches;
	struct store_read *reads; /* newest first */
	uint32_t tied; /* the same number for tables that foreign keys tie together */
	bool in_order; /* it matters in which order rows go, because of foreign keys */
	uint64_t numbered;     /* the largest AUTO_INCREMENT number that no answer told (untold_numbers.c) */
	uint32_t numbers_unseen; /* how many of them no answer shows */
	uint64_t numbers_taken; /* those that are seen and were taken, as a sum */
	uint32_t numbers_from; /* of those that are seen, the ones before this are taken */
	uint32_t has_unknown_rows;             /* there were ever rows that are not known */
	struct store_record *others; /* stands for the keys that have no record; NULL: none of them exists */
};

enum store_txn_state { STORE_ACTIVE, STORE_COMMITTED, STORE_ABORTED };

struct store_undo {
	struct store_undo *previous;
	struct store_record *record;
	struct store_version *version;
};

/* A row of the snapshot that another transaction deleted since, and that a write of the transaction's own
 * would have taken otherwise. */
struct store_meant {
	struct store_meant *next;
	const struct store_record *record;
};

#define SAVEPOINT_TRAILED(X) X(gone, VALUE)

struct store_savepoint {
	struct store_savepoint *previous; /* of the transaction; those that are gone stay in the list */
	struct store_savepoint *same;     /* one made before whose name has the same hash */
	struct span name;
	uint32_t txn;
	uint32_t gone; /* released, rolled back past it, or its name is another one's */
	struct store_undo *undo;
	uint32_t undo_count;
	uint32_t used; /* of the transaction, when it was made */
};

/* Whether a transaction has taken part in the engine: read or written a table of it. */
enum store_use { STORE_UNUSED, STORE_MAYBE_USED, STORE_USED };

#define TXN_TRAILED(X)                                                                             \
	X(state, APART)                                                                            \
	X(commit_no, APART)                                                                        \
	X(ended_at, APART)                                                                         \
	X(began, VALUE)                                                                            \
	X(view, COMMITS)                                                                           \
	X(view_stmt, VALUE)                                                                        \
	X(view_low, COMMITS)                                                                       \
	X(view_high, COMMITS)                                                                      \
	X(undo_count, VALUE)                                                                       \
	X(first_commits, APART)                                                                    \
	X(noted, UNUSED) /* gates notes, which contradict nothing */                               \
	X(hidden, VALUE)                                                                           \
	X(left, VALUE)                                                                             \
	X(prepared, VALUE)                                                                         \
	X(used, VALUE)                                                                             \
	X(locks_from, VALUE)                                                                       \
	X(tables, VALUE)                                                                           \
	X(undo, APART) /* by the versions */                                                       \
	X(held, APART) /* by the records */                                                        \
	X(meant, APART)                                                                            \
	X(savepoints, APART)

struct store_txn {
	uint32_t state;
	uint32_t commit_no; /* of committed ones */
	uint32_t ended_at;  /* event at which it ended; STORE_NONE: has not */
	uint32_t began;     /* event at which its first statement was sent: its read view may be as old, however late the answer */
	uint32_t view; /* what its read view sees: commit numbers up to this; STORE_NONE: none */
	uint32_t view_stmt; /* that made the view */
	uint32_t view_low, view_high; /* what the view can have been, where that was a choice */
	uint32_t undo_count;
	uint32_t first_commits; /* commits before its first statement */
	uint32_t noted;         /* documented rules it was noted for, as bits */
	bool level_unknown;     /* whatever the trace says */
	uint8_t level_other;    /* what it may be instead */
	bool disconnected;      /* ended with its connection, and perhaps later than it seems */
	bool mixed;             /* perhaps several transactions (enum txn_mixed) */
	uint32_t hidden;        /* wrote what is not known: its commit moves what others see */
	uint32_t left;          /* its client left, and it was not rolled back then (disconnects.c) */
	uint32_t prepared;      /* XA PREPARE: of its locks only those on what it wrote are left */
	uint32_t used;          /* enum store_use */
	uint32_t locks_from;    /* locks of statements before this one were let go of */
	uint64_t tables; /* that it used in a locking way, as bits; the last one: all others */
	struct store_undo *undo;
	struct store_lock *held;
	struct store_meant *meant;
	struct store_savepoint *savepoints;
};

/* Savepoints whose names have one hash. */
#define SAVEPOINT_LIST_TRAILED(X) X(first, UNUSED) /* those of transactions cover them */

struct store_savepoint_list {
	struct store_savepoint *first;
};

#define STORE_TRAILED(X) X(commits, APART)

/* KIND_TRAILS_field, for TRAIL_SET. */
#define TRAILED_NAME(KIND, field) KIND##_TRAILS_##field = 1,
enum {
#define X(field, how) TRAILED_NAME(VERSION, field)
	VERSION_TRAILED(X)
#undef X
#define X(field, how) TRAILED_NAME(RECORD, field)
	RECORD_TRAILED(X)
#undef X
#define X(field, how) TRAILED_NAME(TOUCH, field)
	TOUCH_TRAILED(X)
#undef X
#define X(field, how) TRAILED_NAME(READ, field)
	READ_TRAILED(X)
#undef X
#define X(field, how) TRAILED_NAME(TABLE, field)
	TABLE_TRAILED(X)
#undef X
#define X(field, how) TRAILED_NAME(SAVEPOINT, field)
	SAVEPOINT_TRAILED(X)
#undef X
#define X(field, how) TRAILED_NAME(SAVEPOINT_LIST, field)
	SAVEPOINT_LIST_TRAILED(X)
#undef X
#define X(field, how) TRAILED_NAME(TXN, field)
	TXN_TRAILED(X)
#undef X
#define X(field, how) TRAILED_NAME(STORE, field)
	STORE_TRAILED(X)
#undef X
};

enum { SAVEPOINT_HASHES = 256 }; /* few transactions have more than a handful */

struct store {
	struct arena arena;
	struct trail trail;
	struct store_table *tables;
	uint32_t table_count;
	size_t table_capacity;
	struct store_txn *txns; /* by number of the schedule + 1; 0 made the initial rows */
	uint32_t txn_count;
	uint32_t commits;
	struct store_savepoint_list *savepoints; /* SAVEPOINT_HASHES of them, by hash of their names; NULL: none yet */
	uint32_t lookups; /* how many were made */
	uint32_t event;   /* that is being executed */
	uint32_t settled; /* what was done before this event is never taken back */
	uint32_t no_wait; /* no statement that is under way can have waited for a transaction that ended before this event */
	uint32_t purges;  /* how often records got new numbers */
	uint64_t writes; /* to all tables, since the last look for dead records */
	bool keeps_all;   /* no record is put aside any more */
	struct buf key; /* room for keys */
};

void store_init(struct store *store, uint32_t table_count, uint32_t txn_count);
void store_release(struct store *store);
/* A new table's number; pointers to others are not valid any more. */
uint32_t store_add_table(struct store *store);
void store_table_init(struct store_table *table, struct eval_table *def, struct arena *arena);

/* The record of a row: the one of its cluster key, made where there is none yet. */
struct store_record *store_record_for(
	struct store *store, struct store_table *table, const struct eval_value *row);
/* The same without making one: NULL. */
struct store_record *store_find(
	struct store *store, struct store_table *table, const struct eval_value *row);
/* Does an UPDATE from one row to the other stay in its record? */
bool store_same_record(struct store *store, const struct store_table *table,
	const struct eval_value *a, const struct eval_value *b);

/* Has the row, or had one that was ever in the table, characters in a unique key whose weight we do
 * not know?  Then it is not known which keys are equal. */
bool store_odd_keys(struct store_table *table, const struct eval_value *row);
/* Has it parts that are prefixes of columns, or expressions? */
bool key_is_partial(const struct eval_index *index);
/* Equal key values, none of them NULL.  `index` has no expression parts. */
bool store_key_equal(const struct eval_table *def, const struct eval_index *index,
	const struct eval_value *a, const struct eval_value *b);

/* Appends a version; image NULL: dead. */
void store_write(struct store *store, uint32_t txn, uint32_t stmt, struct store_record *record,
	const struct eval_value *image);
void store_commit(struct store *store, uint32_t txn, uint32_t event);
void store_rollback(struct store *store, uint32_t txn, uint32_t event);
/* Takes back what was written since `undo`. */
void store_rollback_to(struct store *store, uint32_t txn, struct store_undo *undo, uint32_t count);
void store_savepoint(struct store *store, uint32_t txn, struct span name);
/* False: there is no such savepoint. */
bool store_savepoint_rollback(struct store *store, uint32_t txn, struct span name);
/* Of the savepoint of that name: whether the transaction had used the engine when it was made. */
enum store_use store_savepoint_use(struct store *store, uint32_t txn, struct span name);
/* The engine has taken its part of the transaction back whole: no locks, no read view. */
void store_part_ended(struct store *store, uint32_t txn, uint32_t stmt);
void store_savepoint_release(struct store *store, uint32_t txn, struct span name);

void store_lock(struct store *store, uint32_t txn, uint32_t stmt, struct store_record *record,
	enum store_lock_mode mode);
/* An active other transaction whose certain lock conflicts; STORE_NONE. */
uint32_t store_lock_conflict(const struct store *store, uint32_t txn,
	const struct store_record *record, enum store_lock_mode mode);
/* Can no statement have waited for the transaction that has yet to be answered? */
static inline bool store_is_past(const struct store *store, uint32_t txn)
{
	const struct store_txn *t = &store->txns[txn];

	return t->state != STORE_ACTIVE && t->ended_at < store->no_wait && !t->disconnected;
}

void store_touch(struct store *store, uint32_t txn, struct store_table *table, uint32_t mode);
void store_read(struct store *store, uint32_t txn, uint32_t stmt, struct store_table *table);

/* From now on nothing that was done before the event is taken back. */
void store_settle(struct store *store, uint32_t event);

static inline uint64_t store_table_bit(uint32_t table)
{
	return (uint64_t)1 << (table < 63 ? table : 63);
}

static inline bool store_is_active(const struct store *store, uint32_t txn)
{
	return store->txns[txn].state == STORE_ACTIVE;
}

/* The newest version that is committed or txn's own. */
static inline struct store_version *store_current(
	const struct store *store, const struct store_record *record, uint32_t txn)
{
	struct store_version *v = record->newest;

	while (v && v->txn != txn && store->txns[v->txn].state != STORE_COMMITTED)
		v = v->previous;
	return v;
}

/* What a read view of txn sees; may be dead or NULL (unborn). */
static inline struct store_version *store_visible(
	const struct store *store, const struct store_record *record, uint32_t txn, uint32_t view)
{
	struct store_version *v = record->newest;

	while (v && v->txn != txn &&
		(store->txns[v->txn].state != STORE_COMMITTED ||
			store->txns[v->txn].commit_no > view))
		v = v->previous;
	return v;
}

static inline bool store_alive(const struct store_version *version)
{
	return version && version->image;
}

#endif
