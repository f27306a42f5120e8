/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQL evaluated as MySQL and MariaDB evaluate it: expressions, queries, and what INSERT, UPDATE and
 * DELETE make of a row, as functions of (tree, rows, session).  No server, no state.
 *
 * Two steps, as in the servers: *compile* resolves names and gives every expression its static
 * type (conversions depend on types, not on values alone), *run* computes.  A compiled object may
 * be run any number of times, on other rows and in other sessions with the same sql_mode,
 * collation and version; the user variables and parameters of a session are read when it runs, but
 * their types when it is compiled.
 *
 *	struct eval_outcome o = {0};
 *	struct eval_query *q = eval_query_compile(&arena, tree, &env, &source, &o);
 *	if (q && eval_query_run(q, &arena, &env, &source, &result, &o)) ... result.rows
 *
 * Three outcomes, never a fourth: a value, the server's error (its number), or *unsupported* with
 * the reason: something that is not modelled, or that only the server knows (NOW() without a
 * recorded time).  Nothing is guessed.  docs/sql-evaluator.md says what is modelled, by construct.
 *
 * Memory: everything compiled or computed lives in the arena that was given and borrows from the
 * syntax tree and from the source's rows.  Threads: no shared state; one arena, one thread.
 */
#ifndef EVAL_EVAL_H
#define EVAL_EVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "eval/limits/limits.h"
#include "sql/sql.h"
#include "trace/value.h"

/* ------------------------------------------------------------------ values */

enum eval_kind {
	EVAL_NULL,
	EVAL_INT,    /* i */
	EVAL_UINT,   /* u: BIGINT UNSIGNED and the like, also when small */
	EVAL_DOUBLE, /* d; FLOAT columns too */
	EVAL_DECIMAL,
	EVAL_STRING,   /* s, in the character set of `collation` */
	EVAL_DATE,     /* t */
	EVAL_TIME,     /* t */
	EVAL_DATETIME, /* t; TIMESTAMP in the session's time zone */
	EVAL_OPAQUE,   /* u tells them apart: not NULL, and only the server knows it (env->opaque_count) */
};

/* `decimals` of an opaque value that is not one by its nature: it was not computed, and may be NULL, too. */
enum { EVAL_OPAQUE_NOT_COMPUTED = 1, EVAL_OPAQUE_PERHAPS_NULL = 2 };

struct eval_time {
	uint16_t year;
	uint8_t month, day; /* 0 is a value: 2024-00-00 */
	uint16_t hour;      /* of a TIME up to 838 */
	uint8_t minute, second;
	uint32_t micro;
	bool neg; /* TIME only */
};

struct decimal;

/* What a DECIMAL is as a DOUBLE.  AVG() of exact numbers is then the sum's DOUBLE divided by the count
 * (Item_sum_avg::val_real), which has more digits. */
enum eval_real {
	EVAL_REAL_SAME,
	EVAL_REAL_OWN,
	EVAL_REAL_DOUBTED, /* its own, or not: a temporary table may have kept it */
};

struct eval_value {
	uint8_t kind;       /* enum eval_kind */
	uint8_t decimals;   /* temporal: digits of the fraction; EVAL_DECIMAL: enum eval_real */
	uint16_t collation; /* EVAL_STRING: enum collation (eval/value/collation.h) */
	union {
		int64_t i;
		uint64_t u;
		double d;
		struct {
			const struct decimal *dec;
			double real; /* with EVAL_REAL_OWN, EVAL_REAL_DOUBTED */
		};
		struct span s;
		struct eval_time t;
	};
};

#define EVAL_NULL_VALUE ((struct eval_value){.kind = EVAL_NULL})

static inline struct eval_value eval_int(int64_t i)
{
	return (struct eval_value){.kind = EVAL_INT, .i = i};
}

static inline struct eval_value eval_uint(uint64_t u)
{
	return (struct eval_value){.kind = EVAL_UINT, .u = u};
}

static inline struct eval_value eval_double(double d)
{
	return (struct eval_value){.kind = EVAL_DOUBLE, .d = d};
}

static inline struct eval_value eval_string(struct span s, uint16_t collation)
{
	return (struct eval_value){.kind = EVAL_STRING, .collation = collation, .s = s};
}

/* The static type of a column or an expression. */
enum eval_type_kind {
	EVAL_T_NULL, /* the literal NULL */
	EVAL_T_INT,  /* TINYINT to BIGINT, by `bytes`; BOOL; results of comparisons */
	EVAL_T_BIT,
	EVAL_T_YEAR,
	EVAL_T_DECIMAL,
	EVAL_T_FLOAT,
	EVAL_T_DOUBLE,
	EVAL_T_STRING, /* CHAR, VARCHAR, TEXT, BINARY ...: see `fixed`, `blob` */
	EVAL_T_ENUM,
	EVAL_T_SET,
	EVAL_T_JSON, /* MySQL's; MariaDB's is a LONGTEXT */
	EVAL_T_DATE,
	EVAL_T_TIME,
	EVAL_T_DATETIME,
	EVAL_T_TIMESTAMP,
};

#define EVAL_NOT_FIXED 31 /* `decimals` of a DOUBLE or FLOAT without a number of decimals */

struct eval_type {
	uint8_t kind;         /* enum eval_type_kind */
	uint8_t bytes;        /* INT: 1, 2, 3, 4, 8; YEAR: display digits */
	uint8_t decimals;     /* DECIMAL, FLOAT, DOUBLE: scale; temporal: digits of the fraction */
	uint8_t coercibility; /* strings: 0 COLLATE, 2 column, 4 literal, 5 number, 6 NULL */
	bool is_unsigned, zerofill;
	bool fixed;     /* CHAR, BINARY: padded */
	bool blob;      /* TEXT and BLOB kinds */
	bool text_only; /* as a number it is not what its text says: GREATEST of strings */
	bool not_int;   /* as an integer it is not the integer of its value: LEAST of DECIMALs */
	bool merged;    /* of IF, CASE, COALESCE, NULLIF ... */
	bool own_scale; /* a DECIMAL that is printed with the digits that it has (MySQL) */
	bool quotient;  /* of a DECIMAL division: it has more digits than are shown */
	bool roomless;  /* divided by such a one: it may be too large for its own type */
	bool shared;    /* a computed text of a derived table that is merged: all its uses have one buffer */
	bool hybrid;    /* 0x41, b'1': a string that is a number where a number is wanted */
	bool is_bool;   /* result of a comparison or logical operator */
	bool json;      /* MariaDB: a column of texts with CHECK (JSON_VALID(column)), which is what its JSON is */

	uint16_t collation;        /* strings, ENUM, SET; binary for the rest */
	uint32_t length;           /* strings: characters (bytes when binary); DECIMAL: precision;
				      BIT: bits; INT ZEROFILL: display width */
	const struct span *values; /* ENUM, SET: the members */
	uint32_t value_count;
};

/* As the server's text protocol prints it; "NULL" for NULL.  `type` is the static type of the
 * column or expression that has the value: it decides ZEROFILL, scales, FLOAT. */
void eval_print(const struct eval_type *type, const struct eval_value *value, struct buf *out);
/* Two values of one column type: <0, 0, >0 as ORDER BY and keys have them, NULL first. */
int eval_order(
	const struct eval_type *type, const struct eval_value *a, const struct eval_value *b);
/* The same, where it is known what the server makes of them.  False: eval_order() would have some
 * order that is total. */
bool eval_order_known(const struct eval_type *type, const struct eval_value *a,
	const struct eval_value *b, int *order);
/* Equal bytes for equal values of a column type under its collation: a key for hash tables. */
void eval_key(const struct eval_type *type, const struct eval_value *value, struct buf *out);
/* The same to the last bit: what SELECT would print.  Stricter than eval_order() == 0.  An opaque value
 * is the same as its copies only. */
bool eval_same(const struct eval_value *a, const struct eval_value *b);

/* A recorded value as a value of a column.  False: not one (hashed, cut, dropped, of another
 * type). */
bool eval_from_trace(struct arena *arena, const struct eval_type *type, const struct value *in,
	struct eval_value *out) MUST_CHECK;

/* ------------------------------------------------------------------ the session */

/* The parts of sql_mode that change results.  The parser has its own (enum sql_mode_flag). */
enum eval_mode {
	EVAL_MODE_STRICT_TRANS_TABLES = 1 << 0,
	EVAL_MODE_STRICT_ALL_TABLES = 1 << 1,
	EVAL_MODE_ERROR_FOR_DIVISION_BY_ZERO = 1 << 2,
	EVAL_MODE_NO_ZERO_DATE = 1 << 3,
	EVAL_MODE_NO_ZERO_IN_DATE = 1 << 4,
	EVAL_MODE_ALLOW_INVALID_DATES = 1 << 5,
	EVAL_MODE_NO_UNSIGNED_SUBTRACTION = 1 << 6,
	EVAL_MODE_NO_AUTO_VALUE_ON_ZERO = 1 << 7,
	EVAL_MODE_PAD_CHAR_TO_FULL_LENGTH = 1 << 8,
	EVAL_MODE_ONLY_FULL_GROUP_BY = 1 << 9,
	EVAL_MODE_TIME_ROUND_FRACTIONAL = 1 << 10,    /* MariaDB */
	EVAL_MODE_TIME_TRUNCATE_FRACTIONAL = 1 << 11, /* MySQL 8 */
	EVAL_MODE_EMPTY_STRING_IS_NULL = 1 << 12,     /* MariaDB */
	EVAL_MODE_REAL_AS_FLOAT = 1 << 13,
	EVAL_MODE_SIMULTANEOUS_ASSIGNMENT = 1 << 14, /* MariaDB */
	EVAL_MODE_PIPES_AS_CONCAT = 1 << 15,
	EVAL_MODE_NO_BACKSLASH_ESCAPES = 1 << 16, /* also for LIKE */
	EVAL_MODE_ORACLE = 1 << 17, /* MariaDB: LENGTH, CONCAT, SUBSTR ... are others */
};

/* Names that come before those of columns: variables of a stored program, and NEW.c and OLD.c of a
 * trigger.  Of several with one name the last is meant. */
struct eval_local {
	struct span base, name; /* base: NEW or OLD; none: a variable */
	struct eval_type type;
};

struct eval_locals {
	const struct eval_local *list; /* for compiling */
	uint32_t count;
	const struct eval_value *values; /* for running: by the same numbers */
};

struct eval_env {
	enum sql_flavour flavour;
	uint32_t version; /* 101119, 80045 */
	uint32_t mode;    /* enum eval_mode */
	uint16_t collation_connection;
	bool masked;             /* the text '***' stands for a password that was not recorded */
	bool literals_uncertain; /* which one that is, is not known: it is a guess */
	uint16_t collation_database; /* of new tables that name none */
	uint8_t div_precision_increment;
	uint8_t default_week_format;
	bool any_case; /* lower_case_table_names: T and t are one table, database, or alias */
	bool other_names; /* lc_time_names: days and months are not those of English */
	uint32_t group_concat_max_len;
	uint64_t max_allowed_packet;
	/* What only the server knows; absent: the functions that need it are unsupported. */
	bool has_now, has_last_insert_id, has_row_count, has_connection_id;
	bool zone_known;      /* the session's time zone is an offset from UTC: FROM_UNIXTIME works */
	int32_t zone_seconds; /* that offset, to the east */
	struct eval_time now; /* in the session's time zone */
	/* Not NULL: a time that is not known may be stored (NOW() in a SET list or VALUES, DEFAULT
	 * CURRENT_TIMESTAMP, ON UPDATE) as an opaque value, numbered by this.  It can be
	 * copied and be a column of a result; everything else that looks at it is unsupported. */
	uint64_t *opaque_count;
	bool has_about; /* what NOW() is about, where it is compared and not kept: */
	struct eval_time about;
	bool unknown_fits; /* what cannot be computed and is assigned had room in its column: the statement did not fail */
	uint64_t last_insert_id;
	int64_t row_count;
	uint64_t connection_id;
	struct span database;            /* DATABASE(); none: NULL */
	const struct eval_value *params; /* of ?, in order */
	uint32_t param_count;
	const struct eval_locals *locals; /* NULL: none */
	/* @name: false where not known (unset is NULL and true).  May be NULL. */
	bool (*user_var)(void *ctx, struct span name, struct eval_value *out);
	void *ctx;
	bool shows_variances; /* STD, VARIANCE and the like stand in the select list alone, or rounded there */
	bool assigns_items; /* @name := value stands in the select list alone, and no other part reads the variable */
	/* Bounds; 0: the defaults. */
	size_t rows_max;    /* rows that one query may produce or join */
	uint64_t steps_max; /* combinations of rows looked at */
	size_t bytes_max;   /* that one evaluation may allocate */
};

/* Names of databases and tables, and aliases; columns do not care for case anywhere. */
static inline bool eval_same_name(const struct eval_env *env, struct span a, struct span b)
{
	return env->any_case ? span_ieq(a, b) : span_eq(a, b);
}

/* MariaDB 10.11 as it comes: utf8mb4, strict mode. */
struct eval_env eval_env_default(void);
/* Flavour, version and the version's own default sql_mode and collation. */
struct eval_env eval_env_for_server(struct span version_string);
/* A time zone like +02:00 or -9:30 as seconds to the east; false: not one. */
bool eval_zone_offset(struct span zone, int32_t *seconds);
/* A DATETIME, by seconds since 1970 on its own clock. */
struct eval_value eval_moment(int64_t seconds, uint32_t micro, uint32_t decimals);
/* Flags of a sql_mode value; combination modes expanded. */
uint32_t eval_mode_flags(struct span sql_mode);

/* ------------------------------------------------------------------ outcomes */

enum eval_status { EVAL_OK, EVAL_ERROR, EVAL_UNSUPPORTED };

enum { EVAL_WARNINGS_MAX = 16, EVAL_REASON_MAX = 120 };

struct eval_outcome {
	enum eval_status status;
	unsigned error;               /* the server's error number: 1690, 1054, 1366 ... */
	enum eval_limit limit;        /* EVAL_UNSUPPORTED: what was met, see limits/limits.h */
	char reason[EVAL_REASON_MAX]; /* EVAL_UNSUPPORTED: a phrase without values, to count by;
					 EVAL_ERROR: what is wrong */
	/* UPDATE: whether the row changed at all depends on an opaque value. */
	bool opaque_change;
	/* ON DUPLICATE KEY UPDATE: nothing changed, but a column that was NULL was set to NULL and has another
	 * DEFAULT.  The servers compare the bytes under the NULLs, which then differ
	 * (compare_records), and count the row as copied. */
	bool null_again;
	/* Warnings of storing values (eval_column_assign and what uses it) only. */
	unsigned warning_count;
	uint16_t warnings[EVAL_WARNINGS_MAX]; /* the first of them */
};

/* ------------------------------------------------------------------ tables */

struct eval_column {
	struct span name;
	struct eval_type type;
	bool nullable, auto_increment, invisible;
	bool no_default;                  /* NOT NULL without DEFAULT */
	const struct sql_expr *dflt;      /* DEFAULT value, or NULL */
	const struct sql_expr *on_update; /* ON UPDATE CURRENT_TIMESTAMP */
	const struct sql_expr *generated;
	enum sql_generated storage;
};

struct eval_index {
	const struct sql_key *key;
	struct span name;
	bool primary, unique;
	uint32_t *columns; /* numbers of columns; UINT32_MAX: an expression */
	uint32_t *lengths; /* prefix in characters; 0: whole */
	uint32_t count;
};

struct eval_table {
	struct span db, name;
	struct eval_column *columns;
	uint32_t column_count;
	struct eval_index
		*indexes; /* PRIMARY first where there is one; no foreign keys or checks */
	uint32_t index_count;
	const struct sql_key **checks;
	uint32_t check_count;
	const struct sql_key **foreign;
	uint32_t foreign_count;
	bool transactional; /* InnoDB and not known to be otherwise: strict mode applies */
	/* The columns' names and types once more, one after the other, for all that compiles; NULL: each has its own. */
	const struct span *names;
	const struct eval_type *types;
};

/* From CREATE TABLE.  NULL: a type or clause that is not modelled (outcome says which). */
struct eval_table *eval_table_create(struct arena *arena, const struct sql_create_table *create,
	const struct eval_env *env, struct eval_outcome *outcome) MUST_CHECK;
uint32_t eval_table_column(const struct eval_table *table, struct span name); /* UINT32_MAX: none */

/* Where queries find tables and rows. */
struct eval_rows {
	const struct eval_value *const *row; /* column_count values each */
	size_t count;
};

struct eval_source {
	/* The definition of a base table; NULL: there is none (error 1146). */
	const struct eval_table *(*table)(void *ctx, const struct sql_table_name *name);
	/* The rows that this mention of the table sees; `ref` tells mentions apart, and is NULL
	 * outside of FROM.  False: not known, the outcome is unsupported.  The rows stay until the
	 * run ends. */
	bool (*rows)(void *ctx, const struct eval_table *table, const struct sql_table_ref *ref,
		struct eval_rows *out);
	void *ctx;
};

/* ------------------------------------------------------------------ queries */

struct eval_query;

struct eval_result {
	uint32_t column_count;
	const struct span *names;
	const struct eval_type *types;
	const struct eval_value *const *rows;
	size_t row_count;
	/* Rows with the same number may come in any order; ascending.  NULL: any order at all. */
	const uint32_t *order_group;
	/* LIMIT cut between rows that are equal under ORDER BY (or had none): the rows from
	 * `open_from` on are `open_count` candidates of which the server may return any
	 * row_count - open_from.  open_count 0: nothing is open. */
	size_t open_from;
	const struct eval_value *const *open;
	size_t open_count;
};

struct eval_query *eval_query_compile(struct arena *arena, const struct sql_query *query,
	const struct eval_env *env, const struct eval_source *source,
	struct eval_outcome *outcome) MUST_CHECK;
bool eval_query_run(const struct eval_query *query, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, struct eval_result *result,
	struct eval_outcome *outcome) MUST_CHECK;

/* ------------------------------------------------------------------ single expressions */

enum eval_truth { EVAL_FALSE, EVAL_TRUE, EVAL_UNKNOWN };

struct eval_expr;

/* An expression over the columns of `table` (NULL: none), which is known as `alias` (none: its
 * name).  `source` may be NULL; subqueries need it. */
struct eval_expr *eval_expr_compile(struct arena *arena, const struct sql_expr *expr,
	const struct eval_table *table, struct span alias, const struct eval_env *env,
	const struct eval_source *source, struct eval_outcome *outcome) MUST_CHECK;
const struct eval_type *eval_expr_type(const struct eval_expr *expr);
bool eval_expr_run(const struct eval_expr *expr, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const struct eval_value *row, struct eval_value *out,
	struct eval_outcome *outcome) MUST_CHECK;
/* Assigned to a column, of a table that need not have rows: the value may be opaque.  Strict
 * mode's errors are those of a write. */
bool eval_assign(const struct eval_expr *expr, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const struct eval_table *table, uint32_t column,
	struct eval_value *out, struct eval_outcome *outcome) MUST_CHECK;
/* Does the row satisfy it, as a WHERE clause?  *truth is set when true is returned. */
bool eval_expr_test(const struct eval_expr *expr, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const struct eval_value *row, enum eval_truth *truth,
	struct eval_outcome *outcome) MUST_CHECK;

/* ------------------------------------------------------------------ storing */

enum eval_assign_flag {
	EVAL_ASSIGN_IGNORE = 1 << 0,    /* INSERT IGNORE, UPDATE IGNORE: errors become warnings */
	EVAL_ASSIGN_LATER_ROW = 1 << 1, /* not the first row of its statement (non-transactional
					  tables in STRICT_TRANS_TABLES) */
	EVAL_ASSIGN_UPDATE = 1 << 2,    /* UPDATE: an AUTO_INCREMENT column is one like others */
	EVAL_ASSIGN_CASCADE = 1 << 3,   /* by a foreign key: STORED columns stay (servers refuse those over
					  columns that it writes) */
};

/* What a column holds after a value was assigned to it: range, rounding, truncation, charset; by
 * sql_mode an error (1264, 1265, 1366, 1406, 1048, 1292 ...) or a warning.  `type` is the static
 * type of the expression that gave the value. */
bool eval_column_assign(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	uint32_t column, const struct eval_type *type, const struct eval_value *value,
	unsigned flags, struct eval_value *out, struct eval_outcome *outcome) MUST_CHECK;

/* Generated columns of a row computed anew, in place. */
bool eval_generate(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	unsigned flags, struct eval_value *row, struct eval_outcome *outcome) MUST_CHECK;
bool eval_is_virtual(const struct eval_column *column);
/* CHECK constraints: error 4025 (MariaDB) or 3819 (MySQL) in the outcome when one fails. */
bool eval_check(struct arena *arena, const struct eval_env *env, const struct eval_table *table,
	const struct eval_value *row, struct eval_outcome *outcome) MUST_CHECK;

/* ------------------------------------------------------------------ INSERT, UPDATE, DELETE */

/* INSERT and REPLACE, every form: the rows as they are to be stored, generated columns and
 * defaults included, CHECKs not yet tested.  An AUTO_INCREMENT column that the server is to fill
 * in is NULL in the row.  When a row cannot be made, `out` has those before it: the server has
 * stored them when it comes to that row. */
struct eval_insert;
struct eval_insert *eval_insert_compile(struct arena *arena, const struct sql_insert *insert,
	const struct eval_env *env, const struct eval_source *source,
	struct eval_outcome *outcome) MUST_CHECK;
const struct eval_table *eval_insert_table(const struct eval_insert *insert);
bool eval_insert_rows(const struct eval_insert *insert, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, struct eval_rows *out,
	struct eval_outcome *outcome) MUST_CHECK;
/* ON DUPLICATE KEY UPDATE: what becomes of row `old` when `attempt` met it. */
bool eval_insert_duplicate(const struct eval_insert *insert, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, const struct eval_value *old,
	const struct eval_value *attempt, const struct eval_value **out,
	struct eval_outcome *outcome) MUST_CHECK;

/* UPDATE and DELETE of one table, row by row; the caller decides which version of which row it
 * shows, and in which order.  Several tables: EVAL_UNSUPPORTED here, see eval_join. */
struct eval_change;
struct eval_change *eval_update_compile(struct arena *arena, const struct sql_update *update,
	const struct eval_env *env, const struct eval_source *source,
	struct eval_outcome *outcome) MUST_CHECK;
struct eval_change *eval_delete_compile(struct arena *arena, const struct sql_delete *del,
	const struct eval_env *env, const struct eval_source *source,
	struct eval_outcome *outcome) MUST_CHECK;
const struct eval_table *eval_change_table(const struct eval_change *change);
bool eval_change_test(const struct eval_change *change, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, const struct eval_value *row,
	enum eval_truth *truth, struct eval_outcome *outcome) MUST_CHECK;
/* The row after the SET list, assignments from left to right, generated columns and ON UPDATE
 * included.  *changed is false when every column is as it was (the server then writes nothing). */
bool eval_change_apply(const struct eval_change *change, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, const struct eval_value *row,
	const struct eval_value **out, bool *changed, struct eval_outcome *outcome) MUST_CHECK;
/* ORDER BY and LIMIT: the rows that are changed, as indexes into `rows`, which all matched; *open
 * is true when LIMIT cuts between rows that are equal under ORDER BY. */
bool eval_change_limit(const struct eval_change *change, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, struct eval_rows rows,
	uint32_t *order, size_t *count, bool *open, struct eval_outcome *outcome) MUST_CHECK;

/* Does an assignment read a column that another one writes? */
bool eval_reads_assigned(const struct sql_assign *set);

/* UPDATE and DELETE of several tables: which combinations of rows match.  The tables are those of
 * the FROM clause in source order; a row number UINT32_MAX is the NULL row of an outer join. */
struct eval_join;
struct eval_join *eval_join_compile(struct arena *arena, const struct sql_stmt *stmt,
	const struct eval_env *env, const struct eval_source *source,
	struct eval_outcome *outcome) MUST_CHECK;
uint32_t eval_join_table_count(const struct eval_join *join);
const struct eval_table *eval_join_table(const struct eval_join *join, uint32_t table);
bool eval_join_is_target(const struct eval_join *join, uint32_t table); /* deleted or updated */
/* *matches has table_count row numbers (into what the source gave) for each of *count matches. */
bool eval_join_run(const struct eval_join *join, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const uint32_t **matches, size_t *count,
	struct eval_outcome *outcome) MUST_CHECK;
/* UPDATE: the new row of table number `table` for one match.  `rows` are the rows of the match
 * (table_count pointers, NULL for the NULL row). */
bool eval_join_apply(const struct eval_join *join, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, uint32_t table, const struct eval_value *const *rows,
	const struct eval_value **out, bool *changed, struct eval_outcome *outcome) MUST_CHECK;

#endif
