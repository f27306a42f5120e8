/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statements of the schedule while they are executed. */
#ifndef MVCC_EXECUTE_STMT_EXEC_H
#define MVCC_EXECUTE_STMT_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "eval/eval.h"
#include "mvcc/execute/write.h"
#include "mvcc/plan/plan.h"
#include "mvcc/read/visibility.h"
#include "mvcc/store/store.h"

enum { CLIENT_FOUND_ROWS = 2 }; /* of the protocol's capabilities: UPDATE counts matched rows */
enum { MVCC_OPTIONAL_MAX = 10 }; /* rows of a statement that it may have met or not, each way tried */

struct redefinition;
struct replan;

enum stmt_state { STMT_WAITING, STMT_IN_FLIGHT, STMT_DONE };

enum stmt_verdict { STMT_UNJUDGED, STMT_DECIDED, STMT_UNDECIDED, STMT_UNSUPPORTED, STMT_HARMLESS };

/* What a statement left its session with that is not modelled. */
enum session_unmodelled {
	SESSION_VARIABLES = 1,     /* variables */
	SESSION_RENAMES = 2, /* temporary tables, which may hide others */
};

/* As in store.h. */
#define RUN_TRAILED(X)                                                                             \
	X(state, VALUE)                                                                            \
	X(begin_commits, APART)                                                                    \
	X(begin_event, UNUSED) /* the schedule has it: always the same */                          \
	X(plan, APART)                                                                             \
	X(committed, APART)                                                                        \
	X(verdict, UNUSED) /* decides about notes alone */                                         \
	X(reason, UNUSED)                                                                          \
	X(culprit, UNUSED)
#define SESSION_TRAILED(X) X(unmodelled, VALUE)

enum {
#define X(field, how) TRAILED_NAME(RUN, field)
	RUN_TRAILED(X)
#undef X
#define X(field, how) TRAILED_NAME(SESSION, field)
	SESSION_TRAILED(X)
#undef X
};

struct stmt_run { /* of a statement */
	uint32_t state;
	uint32_t begin_commits; /* commits before it was sent */
	uint32_t begin_event;
	uint32_t flight_from; /* when the first of those was sent that were under way when it was sent, it too */
	const struct plan *plan; /* set for all before the search; another one once a definition has changed */
	bool executes;           /* the plan is of what EXECUTE stands for */
	bool has_last_insert_id;         /* LAST_INSERT_ID() is known, and is: */
	uint64_t number;
	bool mixes;              /* may commit more than once, while others are under way */
	uint32_t verdict;        /* enum stmt_verdict */
	uint32_t reason;         /* reason.h */
	uint32_t culprit;        /* number, from 1, of the statement because of which it is undecided; 0: none */
	bool defines;            /* changed definitions, and how is known (definitions.c) */
	bool near, beside;       /* ran beside a statement that did, of one of its tables */
	bool contested;          /* one that did ran beside another of the same tables */
	const struct plan *first; /* where it ran beside one that did: before all of them (concurrent_ddl.c) */
	struct replan *replans;   /* ... and after each */
	uint32_t committed;      /* what it commits implicitly is committed, the rest is to be done */
	bool unknown_foreign;    /* failed for a foreign key of a table that the trace does not describe */
	struct redefinition *redefinitions;
};

struct session_run {
	uint32_t unmodelled; /* enum session_oddity */
};

/* How the rows are read that the statement sees, where that is not what its transaction would see. */
enum forced_read {
	FORCE_NONE,
	FORCE_DIRTY,
	FORCE_CURRENT,
	FORCE_SNAPSHOT,
	FORCE_NOT_OWN,
	FORCE_AGAIN /* as `reread` says */
};

/* A query that is asked again (serializable_reads.c). */
struct reread {
	uint32_t stmt, reader; /* with its transaction's own changes from before it, */
	uint32_t writer;       /* all of this one's, */
	uint32_t without;      /* ... but for those of this statement; STORE_NONE: none, and what is committed */
};

/*
 * The statement that is being executed (or compiled).  It holds no memory of its own, so that it
 * can be saved and restored as a value: code that executes another statement in between does so.
 */
struct stmt_exec {
	uint32_t stmt, txn;
	const struct plan *plan;
	enum mvcc_engine engine;
	struct eval_env env; /* the settings of its session, as the evaluator takes them */
	struct span temporary; /* the session's temporary tables (struct session_settings) */
	bool no_foreign_checks, no_unique_checks;
	uint32_t view;
	uint8_t level;
	uint32_t optional;
	bool split, split_gap;
	struct store_record *split_record;
	uint32_t split_table;
	bool autocommit;
	bool matching;  /* WHERE is being tested: its subqueries read, too */
	bool capped;    /* more rows may have been missed than are tried */
	bool half_done; /* a statement that waits may have changed rows that this one reads */
	bool uncomputed;  /* the answer fits, and has values that were not computed */
	uint32_t unknown; /* why a table's content is not known */
	uint32_t culprit;    /* ... or rows are not: because of which statement, from 1; 0: none */
	uint32_t forgetting; /* the statement, from 1, because of which tables become unknown; 0: none */
	uint32_t body_depth; /* stored programs within each other */
	uint64_t untold;     /* the first number of the rows of the program's INSERT that is being executed; 0: not known */
	bool trying;         /* what is done will be undone: no choices */
	bool trial_open;     /* ... and one would have been wanted */
	uint32_t asked;      /* enum asked */
	uint32_t noop; /* 1 + whether UPDATE writes rows that it leaves as they are; 0: not asked yet */
	const struct eval_value *replacement; /* REPLACE: the row that comes instead */
	enum forced_read forced_read;
	struct reread reread;
};

/* What the statement that is being executed has read, by table. */
struct gathered_tables {
	struct gathered list[MVCC_TABLES_MAX * 2];
	uint32_t count;
};

/* The locks that the statement that is being executed needs. */
struct wanted_locks {
	struct wanted_lock *locks;
	size_t count, capacity;
};

#endif
