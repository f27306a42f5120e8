/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A free-running load: tables of any size that are calculated from a seed, and sessions that run transactions of a model
 * on them at once.
 *
 * Every attribute of row i is a virtual value at the place of the column's spread that a bijection gives i: the content is
 * never held in memory, and can be calculated again.  Keys are in two parts (DBStorm's partitioned keys): static ones,
 * which are never inserted or deleted, and dynamic ones, each of which is there or not and is taken by one transaction at a
 * time.  SELECT and UPDATE take static keys, drawn from the access spread, or dynamic ones that are there; INSERT takes
 * one that is not, DELETE one that is.  So statements find what they ask for; conditions are made around a pivot key, and
 * find it, too.  Statements of a transaction go in the order of their keys, so that few deadlocks come.
 *
 * One thread a session.
 */
#ifndef LOAD_LOAD_H
#define LOAD_LOAD_H

#include <signal.h>

#include "load/access.h"
#include "run/client.h"
#include "workload/model.h"

#define LOAD_CLASSES(X)                                                                            \
	X(LOAD_ITEM_READ, "item read") X(LOAD_PREDICATE_READ, "predicate read") X(LOAD_UPDATE, "update")           \
	X(LOAD_PREDICATE_UPDATE, "predicate update") X(LOAD_INSERT, "insert") X(LOAD_DELETE, "delete")
/* Why a statement touched no row. */
#define LOAD_MISSES(X)                                                                             \
	X(MISS_NO_ROW, "no row") X(MISS_DEADLOCK, "deadlock") X(MISS_TIMEOUT, "lock wait timeout")                 \
	X(MISS_SNAPSHOT, "changed since the snapshot") X(MISS_ERROR, "other error")

enum load_class {
#define X(name, word) name,
	LOAD_CLASSES(X)
#undef X
		LOAD_CLASS_COUNT
};
enum load_miss {
#define X(name, word) name,
	LOAD_MISSES(X)
#undef X
		LOAD_MISS_COUNT
};
extern const char *const load_class_words[], *const load_miss_words[];

enum { LOAD_TABLES_MAX = 8, LOAD_SESSIONS_MAX = 256, LOAD_ROWS_MAX = 10 * 1000 * 1000, LOAD_COLUMNS_MAX = 12 };

struct load_options {
	const struct model *model;
	uint64_t seed, rows; /* rows of each table */
	unsigned sessions;
	uint64_t time_ns, transactions; /* 0: no end; one of them is given */
	struct spread access;
	bool stratified; /* access in equal parts of the spread instead of at random */
	struct run_target target; /* database: made, filled, dropped */
	bool drop_database, keep_database, use_database; /* use: it is there, filled by an earlier run with the same seed */
	const volatile sig_atomic_t *stop;
	void (*progress)(void *ctx, uint64_t done, uint64_t all); /* while it loads: rows */
	void *ctx;
};

struct load_report {
	uint64_t rows_loaded, load_ns, run_ns;
	uint64_t transactions, committed, statements;
	uint64_t all[LOAD_CLASS_COUNT], touched[LOAD_CLASS_COUNT], misses[LOAD_CLASS_COUNT][LOAD_MISS_COUNT];
	struct access_fit fit;
};

bool load_run(const struct load_options *options, struct load_report *report, struct err *err) MUST_CHECK;

#endif
