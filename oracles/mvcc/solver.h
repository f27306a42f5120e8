/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the solver: what its parts share.  mvcc.h is for everybody else.
 *
 * The solver goes through the events of the schedule.  A statement is executed on the store when
 * its answer was recorded, unless another order is tried (search.c); what it may answer is compared
 * with what was recorded (compare_answer.c).  Where the engine has a choice that we cannot see, choose()
 * picks one, and a later contradiction makes the search come back and pick another.
 */
#ifndef MVCC_SOLVER_H
#define MVCC_SOLVER_H

#include "base/buf.h"
#include "common/contract.h"
#include "common/verdict.h"
#include "eval/eval.h"
#include "mvcc/execute/compare_answer.h"
#include "mvcc/execute/foreign_keys.h"
#include "mvcc/execute/stored_program_exec.h"
#include "mvcc/execute/write.h"
#include "mvcc/mvcc.h"
#include "mvcc/plan/stored_program.h"
#include "mvcc/reason.h"
#include "mvcc/search/schedule.h"
#include "mvcc/search/state_digest.h"
#include "mvcc/store/store.h"
#include "mvcc/store/visibility.h"
#include "mvcc/unknown/learn_table.h"
#include "mvcc/unknown/unknown_rows.h"
#include "server/errors.h"
#include "sql/sql.h"

enum mvcc_engine { ENGINE_INNODB, ENGINE_INNODB_SI, ENGINE_TIDB };

enum { CLIENT_FOUND_ROWS = 2 }; /* of the protocol's capabilities */
enum { MVCC_TABLES_MAX = 16, MVCC_OPTIONAL_MAX = 10, MVCC_ROWS_MAX = 4, MVCC_VERSIONS_MAX = 8 };

struct order_free;
struct key_set;
struct ranges;
struct returning;

/* What triggers wait for. */
enum write_event { WRITE_INSERT = 1, WRITE_UPDATE = 2, WRITE_DELETE = 4, WRITE_ANY = 7 };

/* How much of a session's texts is what the server reads: the trace has their bytes, and takes them
 * for UTF-8. */
enum text_width {
	TEXT_WIDE,   /* utf8mb4: all */
	TEXT_NARROW, /* utf8mb3: all but characters of four bytes */
	TEXT_ASCII,  /* latin1, or not known */
};

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
	VALUE(bool, no_foreign_checks)                                                                                 \
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
	bool uses_unknown_tables;  /* uses tables that are not known to us, or are behind a view */
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
	bool plain;    /* and the answer has one row for each of them, of columns alone */
};

static inline bool skips_locked(const struct plan *plan)
{
	return plan->lock && plan->lock->wait == SQL_LOCK_SKIP_LOCKED;
}

/* Why an answer cannot be right. */
enum mismatch_kind {
	MISMATCH_NONE,
	MISMATCH_RESULT,
	MISMATCH_AFFECTED,
	MISMATCH_ERROR,    /* an error where none can be, none where one must be, another one */
	MISMATCH_LOCK,     /* missing-lock */
	MISMATCH_CONFLICT, /* error 1020 did not come */
	MISMATCH_FINAL,    /* final rows */
};

struct mismatch {
	enum mismatch_kind kind;
	uint32_t stmt; /* or STORE_NONE */
	uint32_t table;
	uint32_t other_txn; /* store number, or STORE_NONE */
	struct store_record *record;
	unsigned expected_error;
	struct eval_result expected; /* MISMATCH_RESULT; in the scratch arena */
	uint64_t expected_affected, expected_matched;
	const struct execution_rows *final; /* MISMATCH_FINAL: what was found */
	uint32_t read; /* MISMATCH_LOCK: number, from 1, of a query that would answer `expected`; 0: it is about a row */
};

/* To whom it matters how a choice was made. */
enum choice_scope {
	SCOPE_ALL,   /* to everybody, for ever: it is about what was written */
	SCOPE_TXN,   /* to one transaction: what it sees, what it locks */
	SCOPE_VIEWS, /* to transactions that had begun: the order of commits */
};

struct choice { /* a choice that was made */
	uint32_t event;
	uint32_t options, tried; /* ways, and those that were tried before the current one */
	uint32_t first; /* the way that is tried first */
	uint32_t scope; /* enum choice_scope */
	uint32_t txn;   /* SCOPE_TXN: store number */
	bool order;     /* whether others were executed before; the first way: none */
	struct state_mark before; /* the event */
};

/* The current way: all but `first` come in their own order. */
static inline uint32_t choice_taken(const struct choice *p)
{
	return p->tried == 0 ? p->first : p->tried <= p->first ? p->tried - 1 : p->tried;
}

/* Documented behaviour and suspicions met on the way; become findings when their order stands. */
enum note_kind {
	NOTE_CURRENT_WRITE,  /* acted on a version that the own snapshot does not have */
	NOTE_CURRENT_SOURCE, /* its subqueries did */
	NOTE_OWN_WRITE_SHOWS,
	NOTE_NOOP_UPDATE,
	NOTE_DELETED_ROW,
	NOTE_SPLIT,     /* a row that was there all along */
	NOTE_SPLIT_GAP, /* one that came or moved meanwhile */
	NOTE_DIRTY_READ,
	NOTE_NEEDLESS_BLOCK,
	NOTE_NEEDLESS_DEADLOCK,
	NOTE_NO_AUTOCOMMIT, /* a statement outside of a transaction opened one */
	NOTE_MISMATCH,
	NOTE_COUNT
};

struct note {
	uint32_t kind; /* enum note_kind */
	uint32_t stmt, txn, other_txn;
	uint32_t traits; /* enum finding_trait */
	uint32_t table;
	struct store_record *record;
	const char *class_name; /* NOTE_MISMATCH */
	bool by_unrecorded_writer; /* what a session that was not recorded did may explain it */
	struct span text;       /* explanation, in the store's arena; none: only counted */
	struct finding_row *rows;
	uint32_t row_count;
	uint32_t *writers; /* statements that made the versions of these rows */
	uint32_t writer_count;
	struct finding_answer *answer; /* in the verdict's arena; NULL: none */
};

enum stmt_state { STMT_WAITING, STMT_IN_FLIGHT, STMT_DONE };

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

/* What a name stands for, as plans are made one after the other. */
struct label {
	struct span database, name;
	uint32_t table; /* STORE_NONE: nothing that is known */
	uint32_t next;  /* one of the same name, in the order in which they came; MAP_NONE: none */
};

/* A transaction that ended with its connection (disconnects.c). */
struct loose_end {
	uint32_t txn;  /* store number */
	uint64_t from; /* from this sequence number on it may be gone; UINT64_MAX: as recorded */
};

enum stmt_verdict { STMT_UNJUDGED, STMT_DECIDED, STMT_UNDECIDED, STMT_UNSUPPORTED, STMT_HARMLESS };

/* What a statement left its session with that is not modelled. */
enum session_unmodelled {
	SESSION_VARIABLES = 1,     /* variables */
	SESSION_RENAMES = 2, /* temporary tables, which may hide others */
};

struct session_run {
	uint32_t unmodelled; /* enum session_oddity */
};

struct prepared;

/* What a session has set, as far as it is modelled (session_settings.c). */
struct session_settings {
	struct span database;
	struct span mode_text; /* sql_mode; none: not recorded */
	uint32_t eval_mode, sql_mode;
	uint16_t collation;    /* of the connection; COLLATION_NONE: not known */
	enum text_width text_width;
	bool own_time_zone;    /* has a time zone of its own: TIMESTAMPs show otherwise */
	struct span temporary; /* its temporary tables: database and name, each with a zero byte */
	struct prepared *prepared; /* statements and user variables (prepared_text.c) */
	uint64_t number; /* LAST_INSERT_ID(), where it is known (last_insert_id.c) */
	bool has_last_insert_id;
	bool sets_unmodelled; /* it has set what is not modelled */
	bool no_foreign_checks;
	bool any_case; /* as in struct eval_env */
	bool select_limited; /* sql_select_limit: a SELECT without LIMIT does not answer with all rows */
	enum mvcc_engine engine; /* a session of MariaDB may set innodb_snapshot_isolation for itself */
	uint32_t auto_increment_step; /* from one AUTO_INCREMENT value to the next; 0: not known */
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
 * can be saved and restored as a value: whoever executes another statement in between does so.
 */
struct stmt_exec {
	uint32_t stmt, txn;
	const struct plan *plan;
	enum mvcc_engine engine;
	struct eval_env env; /* the settings of its session, as the evaluator takes them */
	bool no_foreign_checks;
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
	uint32_t unknown; /* why a table's content is not known */
	uint32_t culprit;    /* ... or rows are not: because of which statement, from 1; 0: none */
	uint32_t forgetting; /* the statement, from 1, because of which tables become unknown; 0: none */
	uint32_t body_depth; /* stored programs within each other */
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

/* Rows and writers of the note that is being made. */
struct note_draft {
	struct finding_row rows[MVCC_ROWS_MAX];
	uint32_t row_count;
	uint32_t writers[MVCC_ROWS_MAX * MVCC_VERSIONS_MAX];
	uint32_t writer_count;
};

/* Contradictions of one event that are accepted, at most. */
enum { ACCEPTED_MAX = 64 };

/* The search for an order of events that explains the answers (search.c). */
struct search {
	struct choice *choices;
	size_t choice_count, choice_capacity;
	const struct choice *abandoned; /* choices that the search may have gone back behind: they were right till then */
	size_t abandoned_count;
	size_t script; /* choices of the current event that are already decided */
	uint32_t event;
	struct state_mark event_mark; /* before it */
	uint64_t next_sent_seq;
	bool victim_failed; /* a waiting statement failed before that: others went on because of it */
	uint32_t *in_flight; /* statements that were sent and not answered */
	size_t in_flight_count, in_flight_capacity;
	bool settled;   /* no new choices: the usual way is taken */
	bool uncertain; /* not every way was tried */
	struct order_free *order_free; /* of answer_is_impossible(), once it was asked; NULL */
	bool choices_lost;
	struct map *dead_ends; /* states from which no way was found (state_digest.h); NULL: they are not kept */
	bool at_dead_end;      /* ... and the search has come to one of them */
	uint64_t work;         /* since the contradiction that is being explained */
	struct mismatch mismatch;
	uint32_t accepted[ACCEPTED_MAX]; /* statements whose answer is a contradiction and is taken as it is */
	bool accepted_open[ACCEPTED_MAX]; /* of those: whether it is one cannot be decided */
	uint32_t accepted_count;
};

/* What names stand for, and everything that is made of definitions and texts before the search. */
struct catalog {
	struct arena arena;
	struct map plans; /* hash to index of plan_list */
	struct plan **plan_list;
	size_t plan_count, plan_capacity;
	struct programs *programs;
	struct views *views;
	struct sequence *sequences; /* those that were named (sequence_tables.c) */
	struct foreign *foreign_keys;
	size_t foreign_key_count, foreign_key_capacity;
	uint32_t *children; /* tables with foreign keys, of the first children_seen */
	size_t child_count, child_capacity;
	uint32_t children_seen;
	struct label *labels;
	size_t label_count, label_capacity;
	struct map label_heads; /* hash of a name to the first */
	uint32_t label_state; /* counts their changes */
	enum { SCENARIO_UNREAD, SCENARIO_PLAIN, SCENARIO_OTHER } scenario; /* does it name databases? */
	bool engine_changed; /* somebody has set of which engine new tables are that say nothing */
	bool sql_notes_changed; /* ... that nothing is said of a table that was there */
	bool any_ddl;
};

/* A run of the solver over one schedule. */
struct mvcc {
	const struct schedule *schedule;
	const struct mvcc_options *options;
	struct verdict *verdict;
	struct arena scratch;
	struct sql_options sql;
	struct eval_source source;
	uint64_t untold; /* values of env.untold so far */
	struct session_settings settings_at_start; /* of a session that has set nothing, when the trace began */
	struct session_settings settings_of_new; /* ... and as SET GLOBAL has left it */
	bool login_ignored; /* skip-character-set-client-handshake: nobody's login says what its texts are */
	uint64_t global_from, global_to; /* when that was, first and last; 0: never */
	bool has_si;             /* a session has ENGINE_INNODB_SI */
	bool unrecorded_writers; /* sessions that were not recorded may have changed rows */
	bool some_not_recorded;  /* ... and the recorder knows of some: what they explain is no news */
	bool any_dirty; /* a transaction at READ UNCOMMITTED */
	bool gaps_open; /* gaps are not locked, by an old setting of the server */
	uint64_t *last_answers; /* by statement: the last answer to it or to one before; NULL: not asked yet */
	uint32_t *next_stmts; /* by statement: the next of its session; STORE_NONE */
	struct loose_end *loose_ends;
	size_t loose_end_count;
	struct reasons reasons;

	struct catalog catalog;

	/* What the trail restores. */
	struct store store;
	struct stmt_run *runs;
	struct session_run *sessions;
	struct note *notes;
	size_t note_count, note_capacity;
	uint32_t noted[NOTE_COUNT]; /* notes by kind */

	struct search search;
	struct stmt_exec now;
	struct gathered_tables gathered;
	struct wanted_locks wanted;
	struct note_draft draft;
};

/* search.c */
uint32_t choose(struct mvcc *m, uint32_t options);
/* The same, about what one transaction sees. */
uint32_t choose_for(struct mvcc *m, uint32_t txn, uint32_t options);
void solver_search(struct mvcc *m);
/* A plain read whose read view was made before. */
bool sees_snapshot(const struct mvcc *m, uint32_t stmt);
/* Tables whose state a statement looks at or changes, as bits. */
uint64_t stmt_tables(const struct mvcc *m, uint32_t stmt);

/* transaction_control.c */
bool run_stmt(struct mvcc *m, uint32_t stmt);
/* As the trace says; `txn` is the schedule's number. */
void end_txn(struct mvcc *m, uint32_t txn);
void roll_back(struct mvcc *m, uint32_t txn);
/* Is its read view made when it begins? */
bool begins_view(const struct mvcc *m, uint32_t txn);
/* A statement that commits implicitly has done so when it fails, unless it could not even be parsed, and
 * only a later answer tells; that of COMMIT or ROLLBACK does not. */
void commit_of_failed(struct mvcc *m, uint32_t stmt);
/* The transaction that it may have ended so; SCHEDULE_NONE. */
uint32_t failed_commit(const struct mvcc *m, uint32_t stmt);
/* Where clients ran at once: has it yet to commit, before all else that it does? */
bool commits_first(const struct mvcc *m, uint32_t stmt);
void commit_first(struct mvcc *m, uint32_t stmt);
bool ends_txn(const struct mvcc *m, uint32_t stmt);
/* XA COMMIT or XA ROLLBACK of one that was prepared before, by whichever session? */
bool ends_prepared_txn(const struct mvcc *m, uint32_t stmt);
/* Does it end a transaction that is not its own, as BEGIN does? */
bool ends_other_txn(const struct schedule_stmt *stmt);

/* disconnects.c */
void find_loose_ends(struct mvcc *m);
/* execute(), with transactions ended whose end is loose, where that explains the answer. */
bool execute_stmt(struct mvcc *m, uint32_t stmt);
/* Its connection is closed now: is it rolled back only later?  A choice. */
bool leaves_later(struct mvcc *m, uint32_t txn);
/* May its locks still have been there when the statement was sent, after its client had left? */
bool may_be_left_over(const struct mvcc *m, uint32_t txn, uint32_t stmt);
void end_those_who_left(struct mvcc *m);

/* order_free.c: is the current answer, which contradicts, wrong in every order? */
bool answer_is_impossible(struct mvcc *m);
/* Of a query of one table: which of its columns each of the answer is.  False: some are none, or they are not
 * `width`. */
bool answer_columns(const struct plan *plan, const struct eval_table *def, uint32_t *columns,
	uint32_t width);

/* key_ranges.c: what WHERE says of primary keys, as plan->reach */
void plan_key_set(struct mvcc *m, struct plan *plan, const struct sql_expr *where);
/* What it says of an integer column, as plan->ranges */
void plan_ranges(struct mvcc *m, struct plan *plan, const struct sql_expr *where);
/* Those of the current plan, where the table is large enough to care; NULL: any row. */
const struct ranges *ranges_for(const struct mvcc *m, const struct store_table *table);
bool ranges_allow(const struct ranges *ranges, const struct eval_value *row);
/* Does WHERE say nothing else? */
bool key_set_is_all(const struct key_set *key_set);
/* Is it about one key, of one column? */
bool key_set_single(const struct key_set *key_set, int64_t *key);
/* Writes the number-th key into *row (made where it is NULL); false: there are not so many. */
bool key_set_key(struct mvcc *m, const struct store_table *table, const struct key_set *key_set,
	uint64_t number, struct eval_value **row);
/* The records of the keys that the current plan allows; its key_set is not NULL. */
size_t key_set_records(struct mvcc *m, struct store_table *table, struct store_record ***out);

/* plan.c */
const struct plan *plan_of(
	struct mvcc *m, struct span text, const struct session_settings *settings);
/* Of a statement of a stored program. */
struct plan *plan_of_body(
	struct mvcc *m, const struct sql_stmt *stmt, const struct session_settings *settings);
/* One that has no statement, for settings_apply(). */
const struct plan *plan_settings(struct mvcc *m, const struct session_settings *settings);
uint32_t solver_table(const struct mvcc *m, struct span database, struct span name);
/* The same for T and t. */
uint64_t label_hash(struct span name);

/* definitions.c: definitions over time.  A table that is made, changed or renamed is another one from then on, so that
 * plans need to know only what names stood for when their statement was executed. */
void label_tables(struct mvcc *m);
/* The statements in the order in which names had to mean something to them; to be freed. */
uint32_t *definition_order(const struct mvcc *m);
/* What a statement that was answered makes of names and definitions; plans are made in that order. */
bool define_names_engine(const struct sql_create_table *create);
void define_after(struct mvcc *m, uint32_t stmt, const struct session_settings *settings);
/* May it change what names of tables stand for? */
bool define_may_change(const struct mvcc *m, uint32_t stmt, const struct plan *plan);
/* Does it make another table of one that the other uses? */
bool define_changes_table_of(const struct mvcc *m, uint32_t change, uint32_t stmt);
/* Has another transaction that is there still a metadata lock on a table that it changes?  Told by rows alone. */
bool define_has_to_wait(const struct mvcc *m, uint32_t stmt);
/* Is nothing known after it of a table that the other uses? */
bool define_leaves_out(const struct mvcc *m, uint32_t change, uint32_t stmt);
/* Executes it. */
void define_run(struct mvcc *m);
/* From the statement on nothing is known of the table any more. */
void define_leave_out(struct mvcc *m, uint32_t stmt, uint32_t table);
/* The statement that makes a table which this one uses, and was not executed yet; STORE_NONE. */
uint32_t define_maker(const struct mvcc *m, uint32_t stmt);
/* Does `stmt` make another table of one that `other` uses? */
bool define_replaces(const struct mvcc *m, uint32_t stmt, uint32_t other);

/* concurrent_ddl.c: statements that overlap changes of definitions.  Before and after define_after(); `settings` and `opened` by
 * session. */
void concurrent_ddl_before(struct mvcc *m, uint32_t change, struct session_settings *settings, bool *opened);
void concurrent_ddl_after(struct mvcc *m, uint32_t change, const struct session_settings *settings);
/* When all plans are made. */
void concurrent_ddl_begin(struct mvcc *m);
/* Gives a statement that is under way the plan that goes with what was executed. */
void concurrent_ddl_replan(struct mvcc *m, uint32_t stmt);
/* Does its plan depend on the change? */
bool concurrent_ddl_matters(const struct mvcc *m, uint32_t stmt, uint32_t change);
/* Did it succeed with a name that is none after the change? */
bool concurrent_ddl_must_precede(const struct mvcc *m, uint32_t stmt, uint32_t change);
/* What a statement says, to make a plan of. */
struct span plan_text(const struct schedule_stmt *stmt);

/* alter_table.c: the definition that ALTER TABLE makes of another; NULL: not modelled */
struct altered {
	const struct sql_create_table *create;
	/* By column of the new table: the one it was, or UINT32_MAX. */
	const uint32_t *origins;
	bool drops_rows; /* which rows are left is not known */
	bool renames;    /* a column has another name */
};
bool alter_definition(struct mvcc *m, const struct sql_create_table *old,
	const struct sql_alter *actions, struct altered *out);

/* sql_view.c: the views of the trace */
void views_open(struct mvcc *m);
/* Of a view that was not expanded. */
bool view_has_text(const struct mvcc *m, struct span database, struct span name);
/* Puts the queries of views in the place of their names, where the statement reads them, and tables in the place of
 * views that it writes.  True: they may have literals of another collation than the session's. */
bool views_expand(struct mvcc *m, struct plan *plan, struct sql_stmt *stmt, const struct session_settings *settings);

/* sql_view.c: a AND b; either may be NULL */
struct sql_expr *both_conditions(struct mvcc *m, struct sql_expr *a, struct sql_expr *b);
/* partition.c: makes a condition of PARTITION (...), where it is certain which one */
void partitions_expand(struct mvcc *m, struct sql_stmt *stmt, const struct session_settings *settings);

/* prepared_text.c: the values of a session's user variables, for compiling; NULL: of none */
void variables_in_sight(struct mvcc *m, const struct session_settings *s);
/* ... and all of them in a text, where the statement may name some; in m->scratch. */
struct span variables_named(struct mvcc *m, const struct session_settings *s, struct span text);
/* prepared_text.c: what a statement that was answered leaves of prepared statements and user variables */
void prepared_after(
	struct mvcc *m, struct session_settings *s, const struct plan *plan, bool failed);
/* The text that EXECUTE stands for; SPAN_NONE: is none, or not known. */
struct span prepared_text(
	struct mvcc *m, const struct session_settings *s, const struct plan *plan);

/* last_insert_id.c: the step of the server's own; 0: not known */
uint32_t auto_increment_step_of(const struct execution *e);
void plan_last_insert_id(struct plan *plan);
/* INSERT ... VALUES: does the server number each row? */
bool numbers_every_row(const struct mvcc *m, const struct plan *plan);
/* What a statement that was answered leaves of LAST_INSERT_ID(). */
void last_insert_id_after(struct mvcc *m, struct session_settings *s, const struct execution_stmt *in,
	const struct plan *plan);

/* plan.c: does the UPDATE set one of these columns, or what they follow from?  UINT32_MAX: an expression */
bool plan_sets(const struct sql_assign *set, const struct eval_table *def, const uint32_t *columns,
	uint32_t count);
/* plan.c: events that triggers of the tables that it writes wait for, as bits */
uint32_t plan_events(const struct sql_stmt *stmt);
/* plan.c: may it write any table, by itself or by a trigger? */
bool writes_anywhere(const struct mvcc *m, const struct plan *plan);

/* session_settings.c: the connection's collation by name; COLLATION_NONE: not one of utf8mb4 */
uint16_t settings_collation_named(struct span name);
enum text_width settings_width_named(struct span charset);
enum text_width settings_width_numbered(uint32_t collation);
/* session_settings.c: what the server's configuration gives to all */
void settings_of_server(struct mvcc *m);
/* ... of a session that has said nothing yet */
void settings_first(struct mvcc *m, struct session_settings *s, uint32_t session);
/* What they mean to the evaluator, from now on. */
void settings_apply(struct mvcc *m, const struct plan *plan);
/* SET of what decides how literals compare: true, and *out where it is understood. */
bool settings_collation(const struct mvcc *m, const struct session_settings *s,
	const struct sql_set_item *item, struct session_settings *out);
/* What they are once the statement was answered; its plan was made with those before it. */
void settings_after(struct mvcc *m, struct session_settings *s, const struct execution_stmt *in,
	const struct plan *plan);
/* SET of another variable that is followed: true, and *out. */
bool settings_variable(const struct mvcc *m, const struct session_settings *s,
	const struct sql_set_item *item, struct session_settings *out);
/* SET GLOBAL: sessions that are there keep their values. */
static inline bool settings_is_global(const struct sql_set_item *item)
{
	return item->scope == SQL_SCOPE_GLOBAL || item->scope == SQL_SCOPE_PERSIST ||
	       item->scope == SQL_SCOPE_PERSIST_ONLY;
}
/* plan.c: a variable that changes neither results nor effects of what is modelled, or in a way that is */
bool plan_harmless_variable(
	struct mvcc *m, const struct sql_set_item *item, const struct session_settings *settings);
/* With sql_mode set to a value; false: which one that is cannot be told. */
bool settings_mode(struct mvcc *m, const struct session_settings *s, const struct sql_expr *value,
	struct session_settings *out);
bool settings_temporary(const struct session_settings *s, const struct sql_table_name *table);
/* Are all dates and times of the statement compared, or assigned to columns of such types? */
bool masks_are_assigned(const struct sql_stmt *stmt);
bool temporal_params_are_plain(const struct mvcc *m, const struct plan *plan);
/* What SET gives, where it is one word or literal. */
struct span settings_word(const struct sql_expr *value);
/* Is what a command of the protocol brings a statement, and not the name of a database? */
bool settings_has_text(uint8_t command);

/* mvcc.c: whether the store holds the final rows, as far as they can be judged */
bool finals_fit(struct mvcc *m);

/* execute.c: false: m->search.mismatch says why the recorded answer cannot be */
bool execute(struct mvcc *m, uint32_t stmt);
/* What the answer's text says behind a word. */
bool info_number(struct span info, const char *word, uint64_t *out);
/* Is the answer, which can be told from it alone, not in the order of its column number `by` (from 1; 0: none), or has
 * it a row twice that no table has? */
bool answer_is_out_of_order(struct mvcc *m, const struct eval_result *result,
	const struct execution_rows *recorded, uint32_t by);
bool answer_has_equal_rows(const struct mvcc *m, const struct execution_rows *recorded);
/* Of m->search.mismatch: an error that comes or not by what the optimizer chose to evaluate. */
bool mismatch_is_open(const struct mvcc *m);
/* Why a contradiction is undecided where m->unrecorded_writers. */
static inline uint32_t unrecorded_reason(const struct mvcc *m)
{
	return m->some_not_recorded ? REASON_NOT_TO_BE_RECORDED
				: REASON_NOBODY_RECORDED_LEFT_SO;
}
/* Is it an error for a foreign key of a table that is not known (as names are now)? */
bool unknown_foreign_key(const struct mvcc *m, const struct record_stmt *r);
/* May it have ended the open transaction inside, and left another one open? */
bool plan_mixes(const struct plan *plan);
/* What it names and what its literals say is not known. */
bool plan_is_unreadable(const struct plan *plan, const struct record_stmt *r);
/* MariaDB's DELETE IGNORE leaves out rows whose locks it did not get in time, with a warning. */
bool leaves_out_rows(const struct plan *plan, const struct record_stmt *r);
/* Did it nothing at all? */
bool refused_whole(const struct plan *plan, const struct record_stmt *r);

/* forget.c: nobody knows any more what is in the tables */
void forget_all(struct mvcc *m, uint32_t reason);
void forget_table(struct mvcc *m, struct store_table *table, uint32_t reason);
/* ... in the rows that the current statement can have written. */
void forget_written(struct mvcc *m, uint32_t reason);
/* The same of one that we cannot execute, unless its answer counts no rows.  With RETURNING there is no
 * count. */
void forget_unsupported(struct mvcc *m);
/* Also where the current transaction is rolled back: it may have been another that wrote. */
void forget_for_good(struct mvcc *m, uint32_t reason);
/* The same of what it can have written. */
void forget_written_for_good(struct mvcc *m, uint32_t reason);

/* serializable_reads.c: what SERIALIZABLE transactions have read stays.  False: m->search.mismatch.  The current statement has written
 * what is newer than `since`: does it leave it so? */
bool serializable_reads_stay(struct mvcc *m, const struct store_undo *since);
/* The current statement is a query that was answered: had nobody who is still there changed what it read?  Keeps it. */
bool serializable_read_keep(struct mvcc *m);
/* FORCE_AGAIN: what the query sees of a record. */
struct store_version *serializable_read_version(const struct mvcc *m, const struct store_record *record);
void serializable_reads_open(struct mvcc *m);

/* lock_wait.c: could anybody at all have held a lock that the current statement needed?  Whoever used one of its
 * tables in a locking way and had not ended when it was sent; or waits as it does. */
bool lock_possible(const struct mvcc *m);
bool may_lock(const struct mvcc *m);
/* Did the current statement wait, or, where nobody looked, may it have? */
bool may_have_waited(const struct mvcc *m);
void judge_wait(struct mvcc *m);
/* The current statement uses its tables from now on. */
void touch_tables(struct mvcc *m);

/* explain.c: what was met, in words */
void note_add(struct mvcc *m, enum note_kind kind, uint32_t other, uint32_t table,
	struct store_record *record);
/* Of m->search.mismatch; the state is the one in which it showed. */
void note_mismatch(struct mvcc *m);
/* A statement changed the row with this key though another transaction that overlapped did, too. */
void note_concurrent(
	struct mvcc *m, uint32_t stmt, uint32_t other_txn, uint32_t table, int64_t key);
void notes_drop(struct mvcc *m, size_t count);
uint32_t notes_listed_max(const struct mvcc *m);

/* traits.c: bits of enum finding_trait, of a note that is being made */
uint32_t note_traits(
	struct mvcc *m, enum note_kind kind, uint32_t table, const struct store_record *record);

/* returning.c: false: what it asks for is not modelled */
bool plan_returning(struct mvcc *m, struct plan *plan, const struct sql_item *items,
	const struct eval_table *def, bool in_order);
/* The AUTO_INCREMENT value of that row of the answer; 0: not told. */
uint64_t returning_auto_increment(struct mvcc *m, const struct plan *plan, size_t row);
/* The current statement answers with the row. */
void returning_row(struct mvcc *m, struct write_answer *answer, const struct eval_value *row);
bool returning_fits(struct mvcc *m, const struct write_answer *answer,
	struct eval_result *expected, bool *undecided);

/* first_committer_wins.c: what snapshot isolation forbids in any order */
void judge_concurrent(struct mvcc *m);

/* findings.c */
const char *note_class(enum note_kind kind);
void notes_report(struct mvcc *m);

#endif
