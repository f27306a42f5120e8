/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What writing statements do to the store, and what they then answer.
 */
#ifndef MVCC_WRITE_H
#define MVCC_WRITE_H

#include "mvcc/store.h"

struct mvcc;
struct plan;

enum { WRITE_ERRORS_MAX = 8 };

struct write_answer {
	enum eval_status status;
	unsigned error; /* the first that was met; which comes first depends on the order of rows */
	uint16_t errors[WRITE_ERRORS_MAX]; /* all that can come */
	uint32_t error_count;
	const char *reason; /* EVAL_UNSUPPORTED */
	bool order_matters; /* error 1062 comes or not by the order of the rows */
	uint64_t affected;  /* as the server counts without CLIENT_FOUND_ROWS */
	uint64_t matched;   /* rows that WHERE picked; INSERT: rows given */
	uint64_t untouched; /* INSERT IGNORE: left out; ON DUPLICATE KEY: stayed as they are */
	uint32_t held_by;   /* an active transaction whose lock is in the way; STORE_NONE */
	struct store_record *held_record;
	struct store_table *held_table;
	bool conflict; /* snapshot isolation: a row has changed since the snapshot */
	struct store_record *conflict_record;
	struct store_table *conflict_table;
};

void write_error(struct write_answer *answer, unsigned error);
bool write_can_fail(const struct write_answer *answer, unsigned error);

/* AUTO_INCREMENT of one of the rows that an INSERT makes, from what the server said of the first;
 * *next is 0 before that. */
void fill_autoinc(struct mvcc *m, const struct plan *plan, const struct eval_table *def,
	size_t row_count, struct eval_value *row, uint64_t *next, struct write_answer *answer);

/* Executes the statement at hand.  Nothing is left behind unless the answer's status is EVAL_OK.
 * Where somebody holds a lock that is in the way (held_by), the statement can have answered only
 * with an error, which it met before it came to that row. */
void write_execute(struct mvcc *m, const struct plan *plan, struct write_answer *answer);

struct wanted_lock {
	struct store_record *record;
	enum store_lock_mode mode;
};

/* The locks that act_on asked for, once it is known that the statement got to all of its rows: one
 * that fails does not. */
void take_locks(struct mvcc *m);
/* The lock on a row that the statement at hand acts on. */
void act_on(struct mvcc *m, struct store_table *table, struct store_record *record,
	enum store_lock_mode mode, struct write_answer *answer);
/* One row from `old` to `new` (NULL: deleted), constraints tested. */
void write_row(struct mvcc *m, struct store_table *table, struct store_record *record,
	const struct eval_value *old, const struct eval_value *new, struct write_answer *answer);

#endif
