/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What writing statements do to the store, and what they then answer.  Rows are picked by their newest
 * committed (or own) version, constraints tested, versions appended.
 */
#ifndef MVCC_EXECUTE_WRITE_H
#define MVCC_EXECUTE_WRITE_H

#include "mvcc/store/store.h"

struct change;
struct mvcc;
struct plan;

enum { WRITE_ERRORS_MAX = 8 };

struct returned {
	const struct eval_value *row;
	struct returned *next;
};

struct write_answer {
	enum eval_status status;
	unsigned error; /* the first that was met; which comes first depends on the order of rows */
	uint16_t errors[WRITE_ERRORS_MAX]; /* all that can come */
	uint32_t error_count;
	uint32_t reason; /* EVAL_UNSUPPORTED */
	bool order_matters; /* error 1062 comes or not by the order of the rows */
	uint64_t affected;  /* as the server counts without CLIENT_FOUND_ROWS */
	uint64_t at_most;   /* instead: at least one, and not more than so many; 0: exactly `affected` */
	uint64_t matched;   /* rows that WHERE picked; INSERT: rows given */
	uint64_t untouched; /* INSERT IGNORE: left out; ON DUPLICATE KEY: stayed as they are */
	uint32_t held_by;   /* an active transaction whose lock is in the way; STORE_NONE */
	struct store_record *held_record;
	struct store_table *held_table;
	struct returned *returned, *returned_last; /* RETURNING: the rows, in the order in which they went */
	size_t returned_count;
	size_t tried; /* INSERT: rows that were come to */
	size_t came;  /* ... that are in the table now */
	struct eval_rows given; /* INSERT: all rows */
	bool in_turn;           /* ... which the server numbered one after the other */
	uint64_t number;        /* AUTO_INCREMENT of the current row; 0: it was given */
	enum {
		NUMBERS_KNOWN,
		NUMBERS_CAME, /* taken so: a row that was numbered came */
		NUMBERS_NONE, /* ... none did */
		NUMBERS_TAKEN, /* ... none did, since another row had its number already */
		NUMBERS_UNKNOWN, /* not known */
	} numbers;
	bool number_met; /* a row was met by the number that the server gave */
	bool impossible; /* what was taken so cannot be */
	uint32_t opaque; /* enum opaque_pick, once it was asked for */
	bool conflict; /* snapshot isolation: a row has changed since the snapshot */
	struct store_record *conflict_record;
	struct store_table *conflict_table;
	bool conflict_passed; /* the statement passed the row by, which matches only as the snapshot has it */
};

void write_error(struct write_answer *answer, unsigned error);
bool write_can_fail(const struct write_answer *answer, unsigned error);
void answer_unsupported(struct write_answer *answer, uint32_t reason);
/* Of an evaluation that failed. */
void answer_outcome(
	struct mvcc *m, struct write_answer *answer, const struct eval_outcome *outcome);
/* Another transaction holds the record. */
void held(struct write_answer *answer, uint32_t other, struct store_table *table,
	struct store_record *record);

/* Executes the current statement.  Nothing is left behind unless the answer's status is EVAL_OK.
 * Where another transaction holds a lock that is in the way (held_by), the statement can have answered only
 * with an error, which it met before it came to that row. */
void write_execute(struct mvcc *m, const struct plan *plan, struct write_answer *answer);
/* insert.c, update_delete.c, multi_table_change.c */
void write_insert(struct mvcc *m, const struct plan *plan, struct write_answer *answer);
void write_change(struct mvcc *m, const struct plan *plan, struct write_answer *answer);
void write_join(struct mvcc *m, const struct plan *plan, struct write_answer *answer);

/* update_delete.c: row by row, each as the ones before have left it: a cascade may have taken it away, or
 * changed it so that it does not match any more. */
void write_in_order(struct mvcc *m, const struct plan *plan, struct store_table *table,
	struct change *changes, size_t count, struct write_answer *answer);

/* insert.c: AUTO_INCREMENT of one of the rows that an INSERT makes, from what the server said of
 * the first; *next is 0 before that. */
void fill_autoinc(struct mvcc *m, const struct plan *plan, const struct eval_table *def,
	size_t row_count, struct eval_value *row, uint64_t *next, struct write_answer *answer);

/* Can INSERT have counted, or returned, so many rows, whatever became of them? */
bool insert_may_count(const struct mvcc *m, const struct plan *plan);

/* Snapshot isolation: rows of the snapshot that another transaction has changed or deleted since are met, too, by
 * a locking read, UPDATE or DELETE that they match as the snapshot has them.  Their records are there as long as
 * the read view is, and acting on them must give error 1020, by whichever index (manual of MariaDB,
 * innodb_snapshot_isolation); the servers pass by those that they look for in a secondary index
 * (MDEV-40092). */
void meet_changed(struct mvcc *m, struct store_table *table, struct write_answer *answer);

/* ---- locks ---- */

struct wanted_lock {
	struct store_record *record;
	enum store_lock_mode mode;
};

/* The locks that act_on asked for, once it is known that the statement got to all of its rows: one
 * that fails does not. */
void take_locks(struct mvcc *m);
/* The lock on a row that the current statement acts on. */
void act_on(struct mvcc *m, struct store_table *table, struct store_record *record,
	enum store_lock_mode mode, struct write_answer *answer);
/* The lock on a row that a foreign key refers to by the clustered index. */
void lock_parent(struct mvcc *m, struct store_table *table, struct store_record *record,
	struct write_answer *answer);

/* ---- rows ---- */

struct foreign_step;

/* A row that is to be changed. */
struct change {
	struct store_record *record;
	const struct eval_value *old, *new; /* new NULL: deleted */
	bool changed;
};

/* Did an UPDATE change the row, by what the evaluator says?  Where it set nothing but times that only the
 * server knows, they may be what was there before: a choice, the same for all rows. */
bool row_changes(struct mvcc *m, bool changed, const struct eval_outcome *outcome,
	struct write_answer *answer);
/* Has the row a value that only the server knows where the store wants to compare it? */
bool opaque_key(const struct mvcc *m, const struct store_table *table, const struct eval_value *row);

uint32_t number_of(const struct mvcc *m, const struct store_table *table);
bool same_row(const struct eval_table *def, const struct eval_value *a, const struct eval_value *b);
/* Except for values that are opaque. */
bool perhaps_same_row(
	const struct eval_table *def, const struct eval_value *a, const struct eval_value *b);
/* UPDATE has found the row as it is to be. */
void leave_row(struct mvcc *m, struct store_table *table, struct store_record *record);
/* One row from `old` to `new` (NULL: deleted), constraints tested. */
void write_row(struct mvcc *m, struct store_table *table, struct store_record *record,
	const struct eval_value *old, const struct eval_value *new, struct write_answer *answer);
/* Rows, whose unique keys were tested, as InnoDB's steps are for each of them (row_upd_clust_step,
 * row_upd_sec_step): it leaves its old place, what refers to it follows, it comes to its new place, and
 * what it refers to must be there.  `cause` NULL: the statement itself. */
void write_changes(struct mvcc *m, struct store_table *table, const struct change *changes,
	size_t count, const struct foreign_step *cause, struct write_answer *answer);

/* insert.c: do the CHECK constraints allow it? */
bool check_row(struct mvcc *m, const struct eval_table *def, const struct eval_value *row,
	struct eval_outcome *outcome);

/* ---- unique keys (unique_keys.c) ---- */


struct duplicate {
	struct store_record *record; /* NULL: none */
	uint32_t waits_for;          /* an active transaction that has to end first; STORE_NONE */
};

struct duplicate find_duplicate(struct mvcc *m, struct store_table *table,
	const struct eval_index *index, const struct eval_value *row,
	const struct store_record *self);
const struct change *change_of(
	const struct change *changes, size_t count, const struct store_record *record);
/* Do the new rows fit beside each other and beside what is there?  The order in which the server
 * goes through them is not known: a collision with a row that moves away as well is an error in
 * some orders and none in others. */
void test_unique(struct mvcc *m, struct store_table *table, const struct change *changes,
	size_t count, struct write_answer *answer);

#endif
