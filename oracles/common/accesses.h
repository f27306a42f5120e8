/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who read and who wrote which versions of which rows, whatever told it: probes (a history), or the solver's
 * execution.  The oracle `application` looks for anomalies in it.
 *
 * Transactions and statements are ids of the history (model/history/history.h).  Only rows are in here of which
 * there is more than one version, and only committed transactions.
 *
 * A read saw a version at a position from `low` to `high` of its row: the same one where probes tell, several where
 * only times and values do.  So "did not see" and "saw" are certain statements:
 *	high < p	it saw neither the version at p nor a later one
 *	low >= p	it saw the version at p or a later one
 */
#ifndef COMMON_ACCESSES_H
#define COMMON_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"

#define ACCESS_NONE UINT32_MAX

struct access_table {
	struct span name; /* "shop.stock" */
	struct span *columns;
	uint32_t column_count;
	uint64_t key; /* columns of the primary key, as bits */
	uint64_t quantities; /* columns of numbers that take many values: no marks, nor kinds of something */
};

/* Values of a column that are told apart before it is a quantity. */
enum { QUANTITY_VALUES = 8 };

/* The different numbers in the columns of a table, so far. */
struct quantities {
	uint64_t values[64][QUANTITY_VALUES];
	uint8_t count[64];
};

/* A column of the table holds this number, or one of this hash. */
void quantities_note(struct quantities *quantities, struct access_table *table, uint32_t column, uint64_t value);

/* Sets of columns are 64 bits.  The last one stands for all columns from there on. */
static inline uint64_t access_column(uint32_t column)
{
	return (uint64_t)1 << (column < 63 ? column : 63);
}

struct access_row {
	uint32_t table;
	uint32_t first, count; /* its versions, in their order; the first one was there at the start, or is none yet */
	struct span name;      /* "shop.stock(5)" */
};

struct access_version {
	uint32_t row;
	uint32_t txn, stmt; /* that installed it; ACCESS_NONE: there at the start, or not known */
	bool absent;        /* not there yet, or deleted */
	uint64_t columns;   /* in which it differs from the one before; all of them where it came or went */
	uint64_t moments;   /* columns that hold the time at which it was written */
	/* Sequence numbers.  Its statement was answered; its transaction's end was sent, and answered. */
	uint64_t written, ending, ended;
};

enum access_kind {
	ACCESS_PLAIN,   /* a plain read */
	ACCESS_LOCKING, /* FOR UPDATE, FOR SHARE, and plain reads at SERIALIZABLE */
	ACCESS_NO_CHANGE, /* an UPDATE found the row and left it as it was */
};

struct access_read {
	uint32_t txn, stmt, row;
	uint32_t low, high; /* positions */
	enum access_kind kind;
};

/* A read by a condition that certainly saw no row as this version, or a later one, would have shown it, and whose
 * answer would have been another one then. */
struct access_miss {
	uint32_t txn, stmt, version;
};

/* An UPDATE or DELETE that found nothing of a row which its condition matched as it stood at `position`: it saw a
 * later version. */
struct access_found_gone {
	uint32_t txn, stmt, row, position;
};

struct accesses {
	struct arena arena;
	struct access_table *tables;
	uint32_t table_count;
	struct access_row *rows;
	uint32_t row_count;
	struct access_version *versions;
	uint32_t version_count;
	struct access_read *reads; /* those of a transaction one after the other, in the order of its statements */
	size_t read_count, read_capacity;
	struct access_miss *misses;
	size_t miss_count, miss_capacity;
	struct access_found_gone *gone;
	size_t gone_count, gone_capacity;
	uint64_t not_followed; /* statements that read rows, of which it is not known which */
	/* What a version holds, in words: "(5, 'nails', 40)"; SPAN_NONE: not known. */
	struct span (*image)(const void *context, struct arena *arena, uint32_t version);
	const void *context;
};

void accesses_release(struct accesses *accesses);

struct history;

/* By version: the earliest begin of a transaction that installed it, or a later one of its row.  The caller frees it. */
uint32_t *accesses_first_begins(const struct accesses *accesses, const struct history *history);

/* A date and time as the servers print it is one between two moments of the wall clock, in whichever time zone. */
bool moment_is_between(struct span text, uint64_t from_ns, uint64_t to_ns);

#endif
