/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans: statement texts, parsed, compiled and classified once. */
#ifndef MVCC_PLAN_PLAN_H
#define MVCC_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "eval/eval.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/search/schedule.h"
#include "sql/sql.h"

struct mvcc;

enum { MVCC_TABLES_MAX = 16 }; /* of one statement */

struct body;
struct effects;
struct firing;
struct key_set;
struct lookup;
struct ranges;
struct returning;

/* What triggers wait for. */
enum write_event { WRITE_INSERT = 1, WRITE_UPDATE = 2, WRITE_DELETE = 4, WRITE_ANY = 7 };

/*
 * Everything that a plan depends on: two statements of equal keys share one.  The struct, the comparison and
 * the list of what must be filled in all come from here, so that no setting can be forgotten in one of them.
 */
#define PLAN_KEY_FIELDS(SPAN, VALUE)                                                                                   \
	SPAN(text)                                                                                                     \
	SPAN(database)                                                                                                 \
	SPAN(temporary) /* temporary tables of the session */                                                          \
	SPAN(variables) /* where the text has @: those whose value is known, with it */                                \
	VALUE(uint32_t, eval_mode)                                                                                     \
	VALUE(uint32_t, sql_mode)                                                                                      \
	VALUE(uint32_t, label_state) /* what the names of tables stood for */                                          \
	VALUE(uint16_t, collation)   /* of the connection; COLLATION_NONE: not known */                                \
	VALUE(enum text_width, text_width)                                                                             \
	VALUE(enum mvcc_engine, engine)                                                                                \
	VALUE(uint32_t, auto_increment_step)                                                                           \
	VALUE(bool, own_time_zone)                                                                                     \
	VALUE(int32_t, zone_seconds)                                                                                   \
	VALUE(bool, no_foreign_checks)                                                                                 \
	VALUE(bool, no_unique_checks)                                                                                  \
	VALUE(uint32_t, group_concat_max_len)                                                                          \
	VALUE(uint32_t, altered) /* what depends on variables that are not modelled (session_variables.c) */           \
	VALUE(bool, select_limited)  /* by sql_select_limit */                                                         \
	VALUE(bool, temporal_params) /* has parameters that are dates or times (temporal_params.c) */                  \
	VALUE(bool, masked)          /* has passwords that the recorder masked (masked_passwords.c) */

struct plan_key {
#define KEY_SPAN(name) struct span name;
#define KEY_VALUE(type, name) type name;
	PLAN_KEY_FIELDS(KEY_SPAN, KEY_VALUE)
#undef KEY_SPAN
#undef KEY_VALUE
};

/* A statement text, parsed and compiled once. */
struct plan {
	struct plan_key key;
	bool other_texts; /* some of its literals, those of a view, may be of another collation */
	enum { MASKS_NONE, MASKS_DEEP, MASKS_ASSIGNED } masks; /* passwords that the recorder masked (masked_passwords.c) */
	struct plan *next;           /* of the same hash */
	const struct sql_stmt *stmt; /* NULL: does not parse */
	uint32_t unsupported;        /* why it cannot be executed; REASON_NONE: it can */
	struct eval_query *query;
	struct eval_query *unlimited; /* of SKIP LOCKED with LIMIT: without it; NULL: none */
	struct eval_insert *insert;
	struct eval_change *change;
	struct eval_join *join;
	struct eval_expr *view_check; /* CHECK OPTION of a view through which it writes its one table; NULL: none */
	struct eval_expr *where; /* of a locking read of one table, without grouping or LIMIT */
	bool into; /* SELECT ... INTO @a: the answer has the count of rows alone */
	const struct sql_lock *lock;
	const struct sql_table_ref *outer; /* of a locking read with subqueries: what it locks; theirs are
					      plain reads */
	const struct key_set *key_set;      /* primary keys to look at; NULL: any */
	const struct ranges *ranges; /* of a column, outside of which WHERE is not true; NULL: any */
	const struct lookup *lookups; /* which rows of its tables it need look at (lookups.h); none for a table: all */
	struct key_set *reach;             /* those that WHERE of the first table allows; NULL: any */
	uint32_t tables[MVCC_TABLES_MAX]; /* numbers, each once */
	bool written[MVCC_TABLES_MAX];
	uint32_t table_count;
	const struct returning *returning; /* what it answers with of the rows; NULL: a count */
	uint32_t events; /* of the tables that it writes: bits of enum write_event */
	const struct effects *effects; /* what stored programs do that it runs; NULL: none, or not known */
	const struct firing *firing;   /* its triggers, where they can be executed */
	const struct body *procedure;  /* CALL: the procedure, where it can be executed */
	uint64_t tied;   /* tables that foreign keys may have it look at or change, as bits */
	bool uses_unknown_tables;  /* uses tables that are not known to us, or are read through a view */
	bool bare;       /* uses tables without a definition that is known, which are not among its tables */
	bool may_write_any;   /* may write any table */
	bool reads;    /* a query that reads a table */
	bool writes;   /* INSERT, REPLACE, UPDATE, DELETE */
	bool ddl;      /* changes definitions, or locks tables */
	bool harmless; /* touches no rows: transaction control, SET of what does not matter ... */
	bool reads_incidentally;    /* harmless, but may make a read view and lock what it reads: DO, SET @a = (SELECT ...),
			  EXPLAIN, SHOW */
	bool redefines; /* changes the definition of the tables that it names */
	bool commits;   /* commits the open transaction before anything else */
	bool foreign;   /* its text is another one to the server */
	bool sets_unmodelled;      /* leaves its session with variables that are not modelled */
	bool sets_last_insert_id; /* calls LAST_INSERT_ID(...) */
	bool queries_own_table; /* ON DUPLICATE KEY UPDATE has a query of the table itself */
	bool names_twice;     /* the same table in several places of FROM, or of its queries */
	bool reads_by_query;  /* a write that reads rows by a query of its own */
	bool filtered; /* has a WHERE, ON or HAVING */
	bool nested;   /* a query of several query blocks */
	bool may_run_as_join; /* UPDATE: assignments may not see those before them (plan_assignments) */
	bool one_table;     /* UPDATE or DELETE in the single-table form */
	bool moves_cluster; /* UPDATE of columns of the primary key */
	bool moves_unique;  /* ... of any unique key */
	bool skips;         /* UPDATE IGNORE: leaves out rows that a constraint does not allow */
	uint32_t key_at;    /* number, from 1, of a column of the answer that is the primary key, of a query of plain
			       columns of one table; 0: not so */
	uint32_t sorted_by; /* number, from 1, of a column of the answer that is the primary key and by which ORDER BY
			       sorts; 0: not so */
	uint32_t ordered_by; /* number, from 1, of an integer column of the answer by which ORDER BY sorts first; 0: none */
	bool rows_differ;      /* no two rows of the answer can be the same */
	bool names_rows;    /* of one table, by column alone, with all of its primary key */
	bool has_plain_subqueries; /* a locking read with other query blocks, which may make a read view */
	bool single;   /* `where` is all there is to know about the rows that are locked */
	bool reads_all; /* and it looks at each of them */
	bool reads_rows; /* and the rows themselves, not an index of them alone: so S locks are on the rows */
	bool asks_now; /* a query that compares the time */
	bool plain;    /* and the answer has one row for each of them, of columns alone */
};

static inline bool skips_locked(const struct plan *plan)
{
	return plan->lock && plan->lock->wait == SQL_LOCK_SKIP_LOCKED;
}

const struct plan *plan_of(
	struct mvcc *m, struct span text, const struct session_settings *settings);
/* Of a statement of a stored program. */
struct plan *plan_of_body(
	struct mvcc *m, const struct sql_stmt *stmt, const struct session_settings *settings);

/* One that has no statement, for settings_apply(). */
const struct plan *plan_settings(struct mvcc *m, const struct session_settings *settings);
uint32_t solver_table(const struct mvcc *m, struct span database, struct span name);
/* The same in a statement of the session whose settings apply: its temporary tables hide others. */
uint32_t table_in_sight(const struct mvcc *m, struct span database, struct span name);
/* The same for T and t. */
uint64_t label_hash(struct span name);
/* Does the UPDATE set one of these columns, or what they follow from?  UINT32_MAX: an expression */
bool plan_sets(const struct sql_assign *set, const struct eval_table *def, const uint32_t *columns,
	uint32_t count);
/* Events that triggers of the tables that it writes wait for, as bits */
uint32_t plan_events(const struct sql_stmt *stmt);
/* May it write any table, by itself or by a trigger? */
bool writes_anywhere(const struct mvcc *m, const struct plan *plan);
/* What it names and what its literals say is not known. */
bool plan_is_unreadable(const struct plan *plan, const struct record_stmt *r);
/* Of a query of one table: which of its columns each of the answer is.  False: some are none, or they are not
 * `width`. */
bool answer_columns(const struct plan *plan, const struct eval_table *def, uint32_t *columns,
	uint32_t width);

#endif
