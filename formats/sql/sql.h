/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SQL of the MySQL family (MySQL, MariaDB and what speaks like them): text to a typed tree, the
 * tree back to text, and the questions the rest of isotrace asks about a statement.
 *
 *	struct sql_options opt = sql_options_default();
 *	struct arena arena = ARENA_INIT;
 *	struct sql_stmt *stmt;
 *	if (!sql_parse(&arena, text, &opt, &stmt, &err))
 *		puts(err.text);    line 1, column 8: expected an expression, found "from"
 *
 * Ownership: everything a parse makes lives in the caller's arena, the statement text included
 * (it is copied there first), so a tree is valid until the arena is cleared and needs nothing
 * else.  A tree is never changed after the parse; any number of threads may read it.
 *
 * Spans: every node has `loc`, byte offsets into stmt->text.  Parentheses are not in the tree;
 * the printer puts them back where the grammar needs them.
 *
 * Lists are chained by `next`, in source order.  A span with a NULL ptr is an absent name.
 *
 * Bounds: text below SQL_TEXT_MAX, nesting below sql_options.depth_max.  Both are errors
 * (ERR_LIMIT), never a crash.  Time and memory are linear in the text.
 *
 * Text must be in a character set where bytes below 0x80 stand for themselves (UTF-8, latin1,
 * binary ...; not SJIS, GBK, BIG5, UTF-16).  sql.md says what is modelled and what is not.
 */
#ifndef SQL_SQL_H
#define SQL_SQL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"

#define SQL_TEXT_MAX      (1024u * 1024 * 1024) /* the servers' largest max_allowed_packet */
#define SQL_DEPTH_DEFAULT 400                   /* nested parentheses, queries, operators */

enum sql_flavour { SQL_MARIADB, SQL_MYSQL };

/* The parts of sql_mode that change how text is read. */
enum sql_mode_flag {
	SQL_MODE_ANSI_QUOTES = 1 << 0,          /* "x" is a name */
	SQL_MODE_NO_BACKSLASH_ESCAPES = 1 << 1, /* '\' is a string; also a server status flag */
	SQL_MODE_PIPES_AS_CONCAT = 1 << 2,      /* || concatenates */
	SQL_MODE_HIGH_NOT_PRECEDENCE = 1 << 3,  /* NOT binds as ! does */
	SQL_MODE_IGNORE_SPACE = 1 << 4,         /* COUNT (*) is COUNT(*) */
};

struct sql_options {
	enum sql_flavour flavour;
	uint32_t version; /* as in executable comments: 101119, 80045; decides their execution */
	uint32_t mode;    /* enum sql_mode_flag */
	uint32_t depth_max;
};

struct sql_options sql_options_default(void); /* MariaDB 10.11, empty sql_mode */
/* Reads a server's version string ("10.11.19-MariaDB-log", "5.5.5-10.5.29-MariaDB", "8.0.45"). */
struct sql_options sql_options_for_server(struct span version_string);
/* Flags of a sql_mode value such as "ANSI,NO_BACKSLASH_ESCAPES"; combination modes expanded. */
uint32_t sql_mode_flags(struct span sql_mode);

struct sql_loc {
	uint32_t start, end; /* [start, end) in the text that was parsed; stmt->text begins at stmt->offset of it */
};

/* ------------------------------------------------------------------ expressions */

enum sql_expr_kind {
	SQL_EXPR_LITERAL,       /* u.literal */
	SQL_EXPR_COLUMN,        /* u.column */
	SQL_EXPR_STAR,          /* u.column without name: * or t.* or db.t.* (select lists only) */
	SQL_EXPR_PARAM,         /* u.param: ? */
	SQL_EXPR_USER_VAR,      /* u.var.name: @name */
	SQL_EXPR_SYSTEM_VAR,    /* u.var: @@scope.base.name */
	SQL_EXPR_ASSIGN,        /* u.binary: @name := right */
	SQL_EXPR_UNARY,         /* op, u.binary.left */
	SQL_EXPR_BINARY,        /* op, u.binary */
	SQL_EXPR_IS,            /* op one of SQL_OP_IS_*, negated, u.binary.left */
	SQL_EXPR_IN,            /* u.in: left [NOT] IN (list) or (query) */
	SQL_EXPR_BETWEEN,       /* u.between */
	SQL_EXPR_LIKE,          /* u.between: left [NOT] LIKE low [ESCAPE high] */
	SQL_EXPR_QUANTIFIED,    /* op, quantifier, u.in: left op ALL|ANY (query) */
	SQL_EXPR_EXISTS,        /* u.in.query */
	SQL_EXPR_SUBQUERY,      /* u.in.query: scalar or row subquery */
	SQL_EXPR_ROW,           /* u.call.args: (a, b) */
	SQL_EXPR_CASE,          /* u.kase */
	SQL_EXPR_CALL,          /* u.call: any function written name(args) */
	SQL_EXPR_CAST,          /* u.cast: CAST(e AS type) or CONVERT(e, type) */
	SQL_EXPR_CONVERT_USING, /* u.cast: CONVERT(e USING charset) */
	SQL_EXPR_COLLATE,       /* u.cast.left, u.cast.charset is the collation */
	SQL_EXPR_INTERVAL,      /* op ADD or SUB, u.interval: date + INTERVAL left unit */
	SQL_EXPR_DATE_FUNC,     /* u.interval.name: DATE_ADD(date, INTERVAL left unit) and the like */
	SQL_EXPR_EXTRACT,       /* u.interval: EXTRACT(unit FROM left) */
	SQL_EXPR_TRIM,          /* u.trim: TRIM([LEADING|...] [what] FROM left) */
	SQL_EXPR_POSITION,      /* u.binary: POSITION(left IN right) */
	SQL_EXPR_DEFAULT,       /* DEFAULT, or DEFAULT(column) in u.binary.left */
	SQL_EXPR_VALUES,        /* u.binary.left: VALUES(column) in ON DUPLICATE KEY UPDATE */
	SQL_EXPR_MATCH,         /* u.match */
	SQL_EXPR_SEQUENCE,      /* NEXT VALUE FOR / PREVIOUS VALUE FOR: op, u.column.db, .name */
	SQL_EXPR_ODBC,          /* u.call.name, args: {fn f()} */
};

enum sql_op {
	SQL_OP_NONE,
	/* Binary, loosest first: the precedence table of the manual (12.4.1). */
	SQL_OP_OR,
	SQL_OP_XOR,
	SQL_OP_AND,
	SQL_OP_EQ,
	SQL_OP_NULL_EQ, /* <=> */
	SQL_OP_NE,
	SQL_OP_LT,
	SQL_OP_LE,
	SQL_OP_GT,
	SQL_OP_GE,
	SQL_OP_REGEXP,
	SQL_OP_SOUNDS_LIKE,
	SQL_OP_MEMBER_OF,
	SQL_OP_BIT_OR,
	SQL_OP_BIT_AND,
	SQL_OP_SHIFT_LEFT,
	SQL_OP_SHIFT_RIGHT,
	SQL_OP_ADD,
	SQL_OP_SUB,
	SQL_OP_MUL,
	SQL_OP_DIV,     /* / */
	SQL_OP_INT_DIV, /* DIV */
	SQL_OP_MOD,     /* % and MOD */
	SQL_OP_BIT_XOR,
	SQL_OP_CONCAT,       /* || under PIPES_AS_CONCAT */
	SQL_OP_JSON_EXTRACT, /* -> */
	SQL_OP_JSON_UNQUOTE, /* ->> */
	/* Unary. */
	SQL_OP_NOT,  /* NOT, loose; under HIGH_NOT_PRECEDENCE it is read as SQL_OP_BANG */
	SQL_OP_BANG, /* ! */
	SQL_OP_NEG,
	SQL_OP_PLUS,
	SQL_OP_BIT_NOT,
	SQL_OP_BINARY,
	/* SQL_EXPR_IS. */
	SQL_OP_IS_NULL,
	SQL_OP_IS_TRUE,
	SQL_OP_IS_FALSE,
	SQL_OP_IS_UNKNOWN,
	SQL_OP_IS_JSON,
	/* SQL_EXPR_SEQUENCE. */
	SQL_OP_NEXT_VALUE,
	SQL_OP_PREVIOUS_VALUE,
};

enum sql_literal_kind {
	SQL_LIT_NULL,
	SQL_LIT_TRUE,
	SQL_LIT_FALSE,
	SQL_LIT_INT,     /* text: the digits; may exceed 64 bits */
	SQL_LIT_DECIMAL, /* 1.50 */
	SQL_LIT_FLOAT,   /* 1e3 */
	SQL_LIT_STRING,  /* text: the value, escapes resolved; charset: its introducer */
	SQL_LIT_NSTRING, /* N'...' */
	SQL_LIT_HEX,     /* text: the digits of x'..' or 0x.. */
	SQL_LIT_BIT,     /* text: the digits of b'..' or 0b.. */
	SQL_LIT_DATE,    /* DATE '...' and {d '...'}; text: the string */
	SQL_LIT_TIME,
	SQL_LIT_TIMESTAMP,
};

enum sql_scope {
	SQL_SCOPE_NONE, /* not said: SET x, @@x, SET TRANSACTION */
	SQL_SCOPE_SESSION,
	SQL_SCOPE_GLOBAL,
	SQL_SCOPE_PERSIST,
	SQL_SCOPE_PERSIST_ONLY,
};

enum sql_unit {
	SQL_UNIT_MICROSECOND,
	SQL_UNIT_SECOND,
	SQL_UNIT_MINUTE,
	SQL_UNIT_HOUR,
	SQL_UNIT_DAY,
	SQL_UNIT_WEEK,
	SQL_UNIT_MONTH,
	SQL_UNIT_QUARTER,
	SQL_UNIT_YEAR,
	SQL_UNIT_SECOND_MICROSECOND,
	SQL_UNIT_MINUTE_MICROSECOND,
	SQL_UNIT_MINUTE_SECOND,
	SQL_UNIT_HOUR_MICROSECOND,
	SQL_UNIT_HOUR_SECOND,
	SQL_UNIT_HOUR_MINUTE,
	SQL_UNIT_DAY_MICROSECOND,
	SQL_UNIT_DAY_SECOND,
	SQL_UNIT_DAY_MINUTE,
	SQL_UNIT_DAY_HOUR,
	SQL_UNIT_YEAR_MONTH,
};

enum sql_trim { SQL_TRIM_NONE, SQL_TRIM_BOTH, SQL_TRIM_LEADING, SQL_TRIM_TRAILING };
enum sql_quantifier { SQL_ANY, SQL_SOME, SQL_ALL };

struct sql_expr;
struct sql_query;
struct sql_type;
struct sql_call_extra;

struct sql_exprs {
	struct sql_expr *first;
	uint32_t count;
};

struct sql_when {
	struct sql_expr *when, *then;
	struct sql_when *next;
};

struct sql_order {
	struct sql_expr *expr;
	bool desc, asc; /* both false: not said */
	struct sql_order *next;
};

struct sql_expr {
	uint8_t kind;       /* enum sql_expr_kind */
	uint8_t op;         /* enum sql_op */
	bool negated;       /* NOT IN, NOT BETWEEN, NOT LIKE, IS NOT, NOT REGEXP; a COLUMN that is
			       really a word (SET x = ON, MAXVALUE); DEFAULT that is IGNORE */
	uint8_t quantifier; /* enum sql_quantifier */
	struct sql_loc loc;
	struct sql_expr *next; /* in a list */
	union {
		struct {
			uint8_t kind; /* enum sql_literal_kind */
			struct span text;
			struct span charset; /* introducer without its underscore, or none */
			bool quoted;         /* x'41' rather than 0x41: to MariaDB no number */
		} literal;
		struct {
			struct span db, table, name;
		} column;
		uint32_t param; /* from 0, in order of appearance */
		struct {
			uint8_t scope;          /* enum sql_scope */
			struct span base, name; /* @@base.name: structured variables */
		} var;
		struct {
			struct sql_expr *left, *right;
		} binary;
		struct {
			struct sql_expr *left;
			struct sql_exprs list;
			struct sql_query *query; /* instead of the list */
		} in;
		struct {
			struct sql_expr *left, *low, *high;
		} between;
		struct {
			struct sql_expr *value; /* CASE value WHEN ..., or NULL */
			struct sql_when *whens;
			struct sql_expr *otherwise;
		} kase;
		struct {
			struct span db, name; /* name as written */
			struct sql_exprs args;
			struct sql_call_extra *extra; /* aggregates and window functions */
			bool quoted;                  /* `count`(x): not the aggregate */
		} call;
		struct {
			struct sql_expr *left;
			struct sql_type *type;
			struct span charset;
			struct span zone; /* CAST(e AT TIME ZONE '+00:00' AS DATETIME): MySQL */
			bool convert; /* written CONVERT(e, type) */
		} cast;
		struct {
			struct sql_expr *left; /* the amount; EXTRACT: the date */
			struct sql_expr *date;
			uint8_t unit; /* enum sql_unit */
			bool bare;    /* ADDDATE(date, days): no INTERVAL */
			struct span name;
		} interval;
		struct {
			struct sql_expr *left, *what;
			uint8_t where; /* enum sql_trim */
		} trim;
		struct {
			struct sql_exprs columns;
			struct sql_expr *against;
			struct span mode; /* "IN BOOLEAN MODE" ... as canonical words, or none */
		} match;
	} u;
};

enum sql_frame_unit { SQL_FRAME_NONE, SQL_FRAME_ROWS, SQL_FRAME_RANGE, SQL_FRAME_GROUPS };

struct sql_frame_end {
	enum sql_frame_place { /* in the order of the rows */
		SQL_FRAME_FIRST,     /* UNBOUNDED PRECEDING */
		SQL_FRAME_PRECEDING, /* n PRECEDING */
		SQL_FRAME_CURRENT,
		SQL_FRAME_FOLLOWING,
		SQL_FRAME_LAST, /* UNBOUNDED FOLLOWING */
	} place;
	struct sql_expr *offset; /* n; in `bounds` too */
};

struct sql_window {
	struct span name;   /* OVER name, or WINDOW name AS; none in OVER (...) */
	struct span base;   /* (base PARTITION BY ...) */
	bool parenthesised; /* false: OVER name only */
	struct sql_exprs partition;
	struct sql_order *order;
	struct span frame;       /* the frame clause as source text, or none */
	struct sql_exprs bounds; /* expressions inside the frame clause */
	enum sql_frame_unit unit;
	struct sql_frame_end from, to; /* without BETWEEN `to` is the current row */
	bool exclude;                  /* EXCLUDE ... */
	struct sql_window *next;
};

struct sql_call_extra {
	bool distinct, star;             /* COUNT(DISTINCT a), COUNT(*) */
	struct span first;               /* GET_FORMAT's first argument, a word */
	struct sql_order *order;         /* GROUP_CONCAT, WITHIN GROUP */
	struct span separator;           /* GROUP_CONCAT; none when absent */
	struct sql_expr *limit, *offset; /* GROUP_CONCAT, MariaDB */
	bool within_group;
	struct span using_charset; /* CHAR(... USING cs) */
	struct span nulls;         /* "FROM FIRST RESPECT NULLS" and the like, as words */
	struct sql_window *over;
	struct span tail; /* what is kept as text: WEIGHT_STRING's AS clause, JSON_VALUE's
			     RETURNING and ON EMPTY clauses */
	struct span package; /* db.package.f(), MariaDB */
};

/* ------------------------------------------------------------------ queries */

struct sql_table_name {
	struct span db, name;
	struct sql_loc loc;
	struct sql_table_name *next;
};

struct sql_names {
	struct span name;
	struct sql_loc loc;
	struct sql_names *next;
};

enum sql_table_kind {
	SQL_TABLE_NAME,
	SQL_TABLE_DERIVED, /* (query) alias */
	SQL_TABLE_JOIN,
	SQL_TABLE_NEST, /* (a, b): more than one reference in parentheses */
	SQL_TABLE_FUNC, /* JSON_TABLE(...) alias; the arguments kept as text */
};

enum sql_join {
	SQL_JOIN_INNER, /* JOIN, INNER JOIN */
	SQL_JOIN_CROSS,
	SQL_JOIN_STRAIGHT,
	SQL_JOIN_LEFT,
	SQL_JOIN_RIGHT,
};

enum sql_index_hint_kind { SQL_HINT_USE, SQL_HINT_IGNORE, SQL_HINT_FORCE };
enum sql_index_hint_for {
	SQL_HINT_FOR_ALL,
	SQL_HINT_FOR_JOIN,
	SQL_HINT_FOR_ORDER,
	SQL_HINT_FOR_GROUP,
};

struct sql_index_hint {
	enum sql_index_hint_kind kind;
	enum sql_index_hint_for scope;
	struct sql_names *names; /* PRIMARY under that name */
	struct sql_index_hint *next;
};

enum sql_system_time {
	SQL_SYSTEM_TIME_NONE,
	SQL_SYSTEM_TIME_AS_OF,
	SQL_SYSTEM_TIME_FROM, /* FROM low TO high */
	SQL_SYSTEM_TIME_BETWEEN,
	SQL_SYSTEM_TIME_ALL,
};

struct sql_time_point {
	struct sql_expr *value;
	bool is_transaction, is_timestamp; /* the word before it */
};

struct sql_table_ref {
	enum sql_table_kind kind;
	struct sql_loc loc;
	struct sql_table_ref *next;
	struct span alias;
	enum sql_system_time system_time; /* of a table or a derived one: MariaDB */
	struct sql_time_point low, high;
	union {
		struct {
			struct sql_table_name table;
			struct sql_names *partitions;
			struct sql_index_hint *hints;
			struct span portion; /* FOR PORTION OF name FROM low TO high */
		} name;
		struct {
			struct sql_query *query;
			bool lateral;
			struct sql_names *columns; /* alias(a, b): MySQL */
			bool stored; /* a view in its place, whose rows are put into a table first */
		} derived;
		struct {
			enum sql_join join;
			bool natural;
			struct sql_table_ref *left, *right;
			struct sql_expr *on;
			struct sql_names *using_columns;
		} join;
		struct sql_table_ref *nest;
		struct {
			struct span name;
			struct span text; /* "JSON_TABLE(...)" as written */
			struct sql_expr *document;
		} func;
	} u;
};

enum sql_select_flag {
	SQL_SELECT_DISTINCT = 1 << 0,
	SQL_SELECT_ALL = 1 << 1,
	SQL_SELECT_STRAIGHT_JOIN = 1 << 2,
	SQL_SELECT_HIGH_PRIORITY = 1 << 3,
	SQL_SELECT_SMALL_RESULT = 1 << 4,
	SQL_SELECT_BIG_RESULT = 1 << 5,
	SQL_SELECT_BUFFER_RESULT = 1 << 6,
	SQL_SELECT_CALC_FOUND_ROWS = 1 << 7,
	SQL_SELECT_CACHE = 1 << 8,
	SQL_SELECT_NO_CACHE = 1 << 9,
};

struct sql_item {
	struct sql_expr *expr;
	struct span alias;
	struct sql_item *next;
};

struct sql_cte {
	struct span name;
	struct sql_names *columns;
	struct sql_query *query;
	struct sql_names *cycle; /* CYCLE ... RESTRICT, MariaDB */
	struct sql_cte *next;
};

struct sql_with {
	bool recursive;
	struct sql_cte *ctes;
};

enum sql_lock_mode {
	SQL_LOCK_FOR_UPDATE,
	SQL_LOCK_FOR_SHARE,     /* MySQL 8 */
	SQL_LOCK_IN_SHARE_MODE, /* the old spelling */
};

enum sql_lock_wait {
	SQL_LOCK_WAIT_DEFAULT,
	SQL_LOCK_NOWAIT,
	SQL_LOCK_SKIP_LOCKED,
	SQL_LOCK_WAIT_SECONDS, /* WAIT n, MariaDB */
};

struct sql_lock {
	enum sql_lock_mode mode;
	enum sql_lock_wait wait;
	struct span seconds;
	struct sql_table_name *of; /* FOR UPDATE OF t1, t2: MySQL */
	struct sql_lock *next;
};

struct sql_limit {
	struct sql_expr *count, *offset;
	bool fetch; /* OFFSET .. ROWS FETCH FIRST .. ROWS, MariaDB 10.6 */
	bool with_ties;
	struct sql_expr *rows_examined; /* MariaDB */
};

struct sql_into {
	bool is_file; /* OUTFILE, DUMPFILE: `text` has the clause as written */
	struct span text;
	struct sql_exprs vars; /* @a, local variables as columns */
};

enum sql_query_kind {
	SQL_QUERY_SELECT,
	SQL_QUERY_SET_OP, /* UNION, INTERSECT, EXCEPT */
	SQL_QUERY_VALUES, /* VALUES (1), (2); MySQL: VALUES ROW(1) */
	SQL_QUERY_TABLE,  /* TABLE t: MySQL */
	SQL_QUERY_PAREN,  /* (inner) with a tail of its own, both not empty */
};

enum sql_set_op { SQL_UNION, SQL_INTERSECT, SQL_EXCEPT };

struct sql_values_row {
	struct sql_exprs values;
	struct sql_values_row *next;
};

struct sql_query {
	enum sql_query_kind kind;
	struct sql_loc loc;
	struct sql_with *with;
	/* The tail: belongs to this node and to nothing inside it. */
	struct sql_order *order;
	struct sql_limit *limit;
	struct sql_lock *locks;
	struct sql_into *into;
	union {
		struct {
			uint32_t flags;   /* enum sql_select_flag */
			struct span hint; /* inside of an optimizer hint comment, or none */
			struct sql_item *items;
			struct sql_table_ref *from; /* NULL: no FROM */
			bool dual;                  /* FROM DUAL */
			bool rollup; /* also of GROUP BY ROLLUP (...), CUBE, GROUPING SETS: MySQL 9 */
			bool cube;
			struct span grouping_sets; /* "GROUPING SETS (...)" as written, or none */
			struct sql_expr *where;
			struct sql_order *group;
			struct sql_expr *having;
			struct sql_window *windows;
			struct sql_expr *qualify; /* MySQL 9 */
			struct span procedure;    /* PROCEDURE ANALYSE(...), as text */
		} select;
		struct {
			enum sql_set_op op;
			bool all, distinct; /* both false: not said, which means distinct */
			struct sql_query *left, *right;
		} set;
		struct sql_values_row *values;
		struct sql_table_name *table;
		struct sql_query *inner;
	} u;
};

/* ------------------------------------------------------------------ statements */

enum sql_stmt_kind {
	SQL_STMT_EMPTY,
	/* Modelled in full. */
	SQL_STMT_SELECT, /* any query expression: SELECT, UNION, VALUES, TABLE, WITH ... */
	SQL_STMT_INSERT,
	SQL_STMT_REPLACE,
	SQL_STMT_UPDATE,
	SQL_STMT_DELETE,
	SQL_STMT_DO,
	SQL_STMT_SET,
	SQL_STMT_BEGIN, /* BEGIN, START TRANSACTION */
	SQL_STMT_COMMIT,
	SQL_STMT_ROLLBACK,
	SQL_STMT_SAVEPOINT,
	SQL_STMT_ROLLBACK_TO,
	SQL_STMT_RELEASE_SAVEPOINT,
	SQL_STMT_SET_TRANSACTION,
	SQL_STMT_XA,
	SQL_STMT_CREATE_TABLE,
	SQL_STMT_ALTER_TABLE,
	SQL_STMT_DROP_TABLE,
	SQL_STMT_RENAME_TABLE,
	SQL_STMT_TRUNCATE,
	SQL_STMT_CREATE_INDEX,
	SQL_STMT_DROP_INDEX,
	SQL_STMT_CREATE_DATABASE, /* the options are opaque */
	SQL_STMT_DROP_DATABASE,
	SQL_STMT_USE,
	SQL_STMT_LOCK_TABLES,
	SQL_STMT_UNLOCK_TABLES,
	SQL_STMT_EXPLAIN, /* EXPLAIN/DESCRIBE/ANALYZE of a statement: u.explain */
	SQL_STMT_PREPARE,
	SQL_STMT_EXECUTE,
	SQL_STMT_DEALLOCATE,
	SQL_STMT_KILL,
	/* Recognised; tables named where marked (+), the rest is text in stmt->opaque. */
	SQL_STMT_HANDLER,        /* + */
	SQL_STMT_LOAD_DATA,      /* + */
	SQL_STMT_CREATE_VIEW,    /* + the view; ALTER VIEW too */
	SQL_STMT_DROP_VIEW,      /* + */
	SQL_STMT_CREATE_TRIGGER, /* + the table it watches */
	SQL_STMT_DROP_TRIGGER,
	SQL_STMT_CREATE_SEQUENCE, /* + */
	SQL_STMT_DROP_SEQUENCE,   /* + */
	SQL_STMT_CREATE_ROUTINE,
	SQL_STMT_DROP_ROUTINE,
	SQL_STMT_CREATE_OTHER, /* EVENT, SERVER, TABLESPACE, ROLE ... that commit */
	SQL_STMT_DROP_OTHER,
	SQL_STMT_ALTER_OTHER,
	SQL_STMT_TABLE_ADMIN, /* + ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM TABLE */
	SQL_STMT_ACCOUNT,     /* GRANT, REVOKE, CREATE/DROP/ALTER/RENAME USER, SET PASSWORD */
	SQL_STMT_SHOW,        /* + DESCRIBE t as well */
	SQL_STMT_HELP,
	SQL_STMT_CALL,
	SQL_STMT_COMPOUND, /* BEGIN NOT ATOMIC, IF, CASE, LOOP ...: MariaDB */
	SQL_STMT_FLUSH,
	SQL_STMT_RESET,
	SQL_STMT_PURGE,
	SQL_STMT_REPLICATION, /* CHANGE MASTER, START/STOP SLAVE, ... */
	SQL_STMT_BINLOG,
	SQL_STMT_CACHE_INDEX, /* CACHE INDEX, LOAD INDEX */
	SQL_STMT_SIGNAL,      /* SIGNAL, RESIGNAL */
	SQL_STMT_GET_DIAGNOSTICS,
	SQL_STMT_PLUGIN, /* INSTALL, UNINSTALL */
	SQL_STMT_BACKUP, /* BACKUP STAGE / LOCK, CLONE, LOCK INSTANCE */
	SQL_STMT_SHUTDOWN,
	SQL_STMT_OTHER, /* a first word that starts a statement somewhere, and no more known */
};

struct sql_assign {
	struct sql_expr *target; /* SQL_EXPR_COLUMN */
	struct sql_expr *value;  /* may be SQL_EXPR_DEFAULT */
	struct sql_assign *next;
};

enum sql_dml_flag {
	SQL_DML_LOW_PRIORITY = 1 << 0,
	SQL_DML_HIGH_PRIORITY = 1 << 1,
	SQL_DML_DELAYED = 1 << 2,
	SQL_DML_IGNORE = 1 << 3,
	SQL_DML_QUICK = 1 << 4,
	SQL_DML_HISTORY = 1 << 5, /* DELETE HISTORY, MariaDB */
};

struct sql_insert {     /* INSERT and REPLACE */
	uint32_t flags; /* enum sql_dml_flag */
	struct span hint;
	struct sql_table_name table;
	struct sql_names *partitions;
	bool has_columns;
	struct sql_exprs columns; /* SQL_EXPR_COLUMN, maybe qualified */
	/* Exactly one of the three: */
	struct sql_values_row *rows;
	struct sql_assign *set; /* INSERT ... SET */
	struct sql_query *query;
	struct span row_alias; /* VALUES (...) AS new(a, b): MySQL */
	struct sql_names *row_columns;
	struct sql_assign *on_duplicate;
	struct sql_item *returning;
};

struct sql_update {
	uint32_t flags;
	struct span hint;
	struct sql_with *with;
	struct sql_table_ref *tables; /* one plain name: single-table form */
	struct sql_assign *set;
	struct sql_expr *where;
	struct sql_order *order;
	struct sql_limit *limit;
};

struct sql_delete {
	uint32_t flags;
	struct span hint;
	struct sql_with *with;
	struct sql_table_name *targets; /* multi-table forms; NULL: single-table form */
	bool using_form;                /* DELETE FROM targets USING from */
	struct sql_table_ref *from;
	struct sql_expr *where;
	struct sql_order *order;
	struct sql_limit *limit;
	struct sql_item *returning;
	/* DELETE HISTORY FROM t BEFORE SYSTEM_TIME e */
	struct sql_expr *before;
	bool before_is_transaction, before_is_timestamp;
};

enum sql_isolation {
	SQL_ISOLATION_NONE,
	SQL_ISOLATION_READ_UNCOMMITTED,
	SQL_ISOLATION_READ_COMMITTED,
	SQL_ISOLATION_REPEATABLE_READ,
	SQL_ISOLATION_SERIALIZABLE,
	SQL_ISOLATION_DEFAULT, /* SET ... = DEFAULT: the global value */
	SQL_ISOLATION_UNKNOWN, /* an expression: only the server knows */
};

enum sql_access { SQL_ACCESS_NONE, SQL_ACCESS_READ_ONLY, SQL_ACCESS_READ_WRITE };
enum sql_choice { SQL_UNSAID, SQL_YES, SQL_NO };

struct sql_txn {                /* BEGIN, COMMIT, ROLLBACK, savepoints, SET TRANSACTION */
	bool start_transaction; /* START TRANSACTION rather than BEGIN */
	bool work;              /* the noise word WORK */
	bool snapshot;          /* WITH CONSISTENT SNAPSHOT */
	bool savepoint_word;    /* ROLLBACK TO SAVEPOINT x rather than ROLLBACK TO x */
	enum sql_access access;
	enum sql_choice chain, release;
	struct span savepoint;
	enum sql_scope scope; /* SET [scope] TRANSACTION; NONE: the next transaction only */
	enum sql_isolation isolation;
};

enum sql_xa_kind {
	SQL_XA_START,
	SQL_XA_END,
	SQL_XA_PREPARE,
	SQL_XA_COMMIT,
	SQL_XA_ROLLBACK,
	SQL_XA_RECOVER,
};

struct sql_xa {
	enum sql_xa_kind kind;
	bool begin;                     /* XA BEGIN for XA START */
	struct sql_expr *gtrid, *bqual; /* literals */
	struct span format_id;
	bool join, resume, suspend, for_migrate, one_phase, convert_xid;
};

enum sql_set_kind {
	SQL_SET_USER_VAR, /* name */
	SQL_SET_VARIABLE, /* scope, base, name */
	SQL_SET_NAMES,    /* value: charset, or NULL for DEFAULT; collation */
	SQL_SET_CHARSET,  /* SET CHARACTER SET */
};

struct sql_set_item {
	enum sql_set_kind kind;
	enum sql_scope scope;
	bool at_at; /* written @@x: a missing scope then means "next transaction" for isolation */
	struct span base, name;
	struct sql_expr *value; /* SQL_EXPR_DEFAULT for DEFAULT */
	struct span collation;
	struct sql_set_item *next;
};

struct sql_set {
	struct sql_set_item *items;
	struct sql_stmt *statement; /* SET STATEMENT items FOR statement: MariaDB */
};

/* ------------------------------------------------------------------ data definition */

enum sql_type_kind {
	SQL_TYPE_TINYINT,
	SQL_TYPE_SMALLINT,
	SQL_TYPE_MEDIUMINT,
	SQL_TYPE_INT,
	SQL_TYPE_BIGINT,
	SQL_TYPE_SERIAL,
	SQL_TYPE_BOOL,
	SQL_TYPE_DECIMAL,
	SQL_TYPE_FLOAT,
	SQL_TYPE_DOUBLE,
	SQL_TYPE_BIT,
	SQL_TYPE_DATE,
	SQL_TYPE_TIME,
	SQL_TYPE_DATETIME,
	SQL_TYPE_TIMESTAMP,
	SQL_TYPE_YEAR,
	SQL_TYPE_CHAR,
	SQL_TYPE_VARCHAR,
	SQL_TYPE_NCHAR,
	SQL_TYPE_NVARCHAR,
	SQL_TYPE_BINARY,
	SQL_TYPE_VARBINARY,
	SQL_TYPE_TINYBLOB,
	SQL_TYPE_BLOB,
	SQL_TYPE_MEDIUMBLOB,
	SQL_TYPE_LONGBLOB,
	SQL_TYPE_TINYTEXT,
	SQL_TYPE_TEXT,
	SQL_TYPE_MEDIUMTEXT,
	SQL_TYPE_LONGTEXT,
	SQL_TYPE_ENUM,
	SQL_TYPE_SET,
	SQL_TYPE_JSON,
	SQL_TYPE_GEOMETRY, /* and the like: `name` says which */
	SQL_TYPE_SIGNED,   /* CAST only */
	SQL_TYPE_UNSIGNED,
	SQL_TYPE_OTHER, /* a type of a plugin (UUID, INET6, XMLTYPE, VECTOR ...): `name` */
};

struct sql_type {
	enum sql_type_kind kind;
	struct span name; /* GEOMETRY and OTHER */
	struct span length, decimals;
	bool is_unsigned, zerofill, is_signed;
	bool binary, ascii, unicode, byte;
	bool compressed; /* MariaDB */
	bool array;      /* CAST(... AS t ARRAY), MySQL */
	struct span charset, collate;
	struct sql_expr *values; /* ENUM, SET: string literals */
};

enum sql_ref_action {
	SQL_REF_NONE,
	SQL_REF_RESTRICT,
	SQL_REF_CASCADE,
	SQL_REF_SET_NULL,
	SQL_REF_NO_ACTION,
	SQL_REF_SET_DEFAULT,
};

struct sql_reference {
	struct sql_table_name table;
	struct sql_names *columns;
	struct span match;
	enum sql_ref_action on_delete, on_update;
};

enum sql_key_kind {
	SQL_KEY_INDEX,
	SQL_KEY_PRIMARY,
	SQL_KEY_UNIQUE,
	SQL_KEY_FULLTEXT,
	SQL_KEY_SPATIAL,
	SQL_KEY_VECTOR,
	SQL_KEY_FOREIGN,
	SQL_KEY_CHECK,
};

struct sql_key_part {
	struct span column;
	struct span length;
	struct sql_expr *expr; /* functional key part, MySQL */
	bool desc, asc, without_overlaps;
	struct sql_key_part *next;
};

struct sql_option { /* NAME [=] value, value as written */
	struct span name;
	struct span value;
	struct sql_option *next;
};

struct sql_key {
	enum sql_key_kind kind;
	bool has_constraint; /* CONSTRAINT [name] */
	bool if_not_exists;
	struct span constraint, name;
	struct sql_key_part *parts;
	struct sql_reference *reference; /* FOREIGN */
	struct sql_expr *check;          /* CHECK */
	enum sql_choice enforced;        /* CHECK, MySQL */
	struct sql_option *options;      /* USING, COMMENT, KEY_BLOCK_SIZE, VISIBLE ... */
	struct sql_key *next;
};

enum sql_generated { SQL_GENERATED_NONE, SQL_GENERATED_VIRTUAL, SQL_GENERATED_STORED };
enum sql_row_time { SQL_ROW_TIME_NONE, SQL_ROW_START, SQL_ROW_END };

struct sql_column_def {
	struct span name;
	struct sql_loc loc;
	bool has_type; /* false: MariaDB's generated columns without one */
	struct sql_type type;
	enum sql_choice nullable;
	struct sql_expr *dflt; /* DEFAULT value; MySQL and MariaDB: (expr) as well */
	struct sql_expr *on_update;
	bool auto_increment, unique, primary, key, serial_default;
	struct sql_expr *generated;
	enum sql_generated storage;
	enum sql_row_time row_time;
	struct sql_key *checks;
	struct sql_reference *reference;
	enum sql_choice visible; /* NO: INVISIBLE */
	struct span comment;
	struct sql_option *options; /* COLUMN_FORMAT, STORAGE, SRID, engine attributes ... */
};

enum sql_partition_method {
	SQL_PARTITION_HASH,
	SQL_PARTITION_KEY,
	SQL_PARTITION_RANGE,
	SQL_PARTITION_LIST,
	SQL_PARTITION_SYSTEM_TIME,
};

struct sql_partition {
	struct span name;
	bool less_than, in, maxvalue; /* VALUES LESS THAN (...) | IN (...) | LESS THAN MAXVALUE */
	bool history, current, dflt;  /* system versioning; DEFAULT list partition */
	struct sql_exprs values;      /* MAXVALUE as column "MAXVALUE", rows for IN ((1,2)) */
	struct sql_option *options;
	struct sql_partition *subpartitions;
	struct sql_partition *next;
};

struct sql_partition_by {
	enum sql_partition_method method;
	bool linear, columns; /* RANGE COLUMNS, LIST COLUMNS */
	struct span algorithm;
	struct sql_expr *expr;
	struct sql_names *names;
	struct span system_time;      /* what follows SYSTEM_TIME, as written */
	struct span count;            /* PARTITIONS n */
	struct sql_partition_by *sub; /* SUBPARTITION BY */
	struct sql_partition *partitions;
};

enum sql_element_kind { SQL_ELEMENT_COLUMN, SQL_ELEMENT_KEY, SQL_ELEMENT_PERIOD };

struct sql_element { /* one line of CREATE TABLE (...) */
	enum sql_element_kind kind;
	struct sql_column_def *column;
	struct sql_key *key;
	struct span period, period_from, period_to; /* PERIOD FOR name (from, to) */
	struct sql_element *next;
};

struct sql_create_table {
	bool or_replace, temporary, if_not_exists;
	struct sql_table_name table;
	struct sql_table_name *like; /* CREATE TABLE t LIKE u */
	struct sql_element *elements;
	struct sql_option *options;
	struct sql_partition_by *partition;
	bool ignore, replace; /* before the query */
	struct sql_query *query;
};

enum sql_alter_kind {
	SQL_ALTER_ADD_COLUMN,
	SQL_ALTER_ADD_COLUMNS, /* ADD (a int, key (b)) */
	SQL_ALTER_ADD_KEY,
	SQL_ALTER_ADD_PERIOD,
	SQL_ALTER_MODIFY_COLUMN,
	SQL_ALTER_CHANGE_COLUMN,
	SQL_ALTER_RENAME_COLUMN,
	SQL_ALTER_COLUMN_DEFAULT, /* ALTER c SET DEFAULT e | DROP DEFAULT (value NULL) */
	SQL_ALTER_COLUMN_VISIBLE,
	SQL_ALTER_DROP_COLUMN,
	SQL_ALTER_DROP_PRIMARY,
	SQL_ALTER_DROP_KEY,
	SQL_ALTER_DROP_FOREIGN,
	SQL_ALTER_DROP_CONSTRAINT, /* CONSTRAINT or CHECK */
	SQL_ALTER_INDEX,           /* ALTER INDEX x VISIBLE ... ; text */
	SQL_ALTER_RENAME_KEY,
	SQL_ALTER_RENAME_TABLE,
	SQL_ALTER_ORDER,
	SQL_ALTER_OPTION, /* a table option */
	SQL_ALTER_PARTITION_BY,
	SQL_ALTER_TEXT, /* everything else, as written: FORCE, DISABLE KEYS, partitions ... */
};

struct sql_alter {
	enum sql_alter_kind kind;
	bool if_exists, if_not_exists;
	struct sql_loc loc;
	struct span name, new_name; /* column or key */
	struct sql_column_def *column;
	bool first;
	struct span after;
	struct sql_element *elements;
	struct sql_key *key;
	struct sql_expr *value;
	bool check_word; /* DROP CHECK rather than DROP CONSTRAINT */
	struct span text;
	struct span period_from, period_to;
	struct sql_table_name table; /* RENAME TO */
	struct sql_order *order;
	struct sql_option *option;
	struct sql_partition_by *partition;
	bool comma; /* followed by a comma: table options need none */
	struct sql_alter *next;
};

struct sql_alter_table {
	bool online, ignore, if_exists;
	struct sql_table_name table;
	struct span wait; /* "NOWAIT" or "WAIT n", MariaDB */
	struct sql_alter *actions;
};

struct sql_index_stmt { /* CREATE INDEX, DROP INDEX */
	bool or_replace, if_exists;
	struct sql_table_name table;
	struct sql_key key;         /* CREATE; DROP: the name only */
	struct sql_option *options; /* after the column list: ALGORITHM, LOCK ... */
	struct span wait;
};

struct sql_rename {
	struct sql_table_name from, to;
	struct span wait;
	struct sql_rename *next;
};

enum sql_check_option { SQL_CHECK_NONE, SQL_CHECK_LOCAL, SQL_CHECK_CASCADED };

struct sql_create_view {
	struct sql_names *columns;
	struct sql_query *query;
	enum sql_check_option check;
};

struct sql_drop { /* DROP TABLE, VIEW, SEQUENCE, DATABASE; TRUNCATE */
	bool temporary, if_exists, cascade, restrict_word;
	bool table_word; /* TRUNCATE TABLE t rather than TRUNCATE t */
	struct sql_table_name *tables;
	struct span wait;
};

enum sql_table_lock {
	SQL_TABLE_LOCK_READ,
	SQL_TABLE_LOCK_READ_LOCAL,
	SQL_TABLE_LOCK_WRITE,
	SQL_TABLE_LOCK_WRITE_LOW,
	SQL_TABLE_LOCK_WRITE_CONCURRENT
};

struct sql_lock_table {
	struct sql_table_name table;
	struct span alias;
	enum sql_table_lock lock;
	struct sql_lock_table *next;
};

struct sql_explain {
	struct span words; /* between the verb and the statement, as written: "EXTENDED" ... */
	struct sql_stmt *statement;
	struct sql_expr *connection; /* FOR CONNECTION n */
};

struct sql_prepared { /* PREPARE, EXECUTE, DEALLOCATE */
	struct span name;
	struct sql_expr *source; /* PREPARE FROM; EXECUTE IMMEDIATE */
	bool immediate;
	bool drop; /* DROP PREPARE */
	struct sql_exprs using_args;
};

struct sql_call { /* CALL */
	struct span db, name;
	struct sql_exprs args;
};

struct sql_stmt {
	enum sql_stmt_kind kind;
	struct span text;   /* of this statement, in the arena; loc offsets count from here */
	uint32_t offset;    /* of `text` in what was given to sql_parse_multi */
	uint32_t params;    /* number of ? */
	struct span opaque; /* kinds that are only recognised: the whole text, comments opened */
	struct sql_table_name *tables; /* opaque statements: the tables that could be named */
	union {
		struct sql_query *query;
		struct sql_create_view *view;
		struct sql_insert *insert;
		struct sql_update *update;
		struct sql_delete *del;
		struct sql_exprs exprs; /* DO */
		struct sql_set *set;
		struct sql_txn *txn;
		struct sql_xa *xa;
		struct sql_create_table *create_table;
		struct sql_alter_table *alter_table;
		struct sql_drop *drop;
		struct sql_rename *rename;
		struct sql_index_stmt *index;
		struct span name; /* USE */
		struct sql_lock_table *locks;
		struct sql_explain *explain;
		struct sql_prepared *prepared;
		struct sql_call *call; /* NULL: of a package.  Printed from `opaque` */
		struct sql_expr
			*kill; /* KILL: the id; NULL for KILL USER.  Printed from `opaque` */
	} u;
	struct sql_stmt *next; /* of sql_parse_multi */
};

/* ------------------------------------------------------------------ functions */

/* Exactly one statement; a `;` after it is allowed, text after that is not.  An empty text is
 * SQL_STMT_EMPTY.  Errors: ERR_FORMAT (syntax; err.offset is the byte), ERR_LIMIT. */
bool sql_parse(struct arena *arena, struct span text, const struct sql_options *opt,
	struct sql_stmt **stmt, struct err *err) MUST_CHECK;

/* Every statement of a text separated by `;`.  Empty ones are left out; *first is NULL when there
 * is none.  When the text has an error, the statements before it are still handed out and false
 * is returned. */
bool sql_parse_multi(struct arena *arena, struct span text, const struct sql_options *opt,
	struct sql_stmt **first, struct err *err) MUST_CHECK;

/* The end of the first statement of a text: the offset after its `;`, or text.len.  It looks at
 * tokens only, so it also finds the end of a statement that does not parse. */
size_t sql_statement_end(struct span text, const struct sql_options *opt);

/* Appends the statement in a canonical form that parses, under the same options, to an equal
 * tree.  The options decide quoting (ANSI_QUOTES, NO_BACKSLASH_ESCAPES). */
void sql_print(const struct sql_stmt *stmt, const struct sql_options *opt, struct buf *out);
/* The same with parentheses around every operator, join and set operation: two trees are equal
 * exactly when these texts are. */
void sql_print_explicit(
	const struct sql_stmt *stmt, const struct sql_options *opt, struct buf *out);
void sql_print_expr(const struct sql_expr *expr, const struct sql_options *opt, struct buf *out);
void sql_print_query(const struct sql_query *query, const struct sql_options *opt, struct buf *out);
/* A name in backticks (always), a string literal in quotes. */
void sql_print_name(struct span name, struct buf *out);
void sql_print_string(struct span value, const struct sql_options *opt, struct buf *out);

const char *sql_stmt_kind_name(enum sql_stmt_kind kind);  /* "create table" */
const char *sql_isolation_name(enum sql_isolation level); /* "READ COMMITTED" */

/* Is this the name of a function that the servers have built in?  Else it may be a stored one. */
bool sql_is_native(struct span name);

/* What a statement does, as far as its text tells.  A CALL, a function or a trigger can do more. */
bool sql_stmt_is_read(const struct sql_stmt *stmt);  /* a query without INTO OUTFILE; VALUES ... */
bool sql_stmt_is_write(const struct sql_stmt *stmt); /* changes rows: INSERT ... LOAD DATA */
/* The strongest lock a query asks for anywhere in it; NULL: none. */
const struct sql_lock *sql_stmt_locking_read(const struct sql_stmt *stmt);
bool sql_stmt_is_ddl(const struct sql_stmt *stmt);
/* = <=> <> < <= > >= */
bool sql_expr_compares(const struct sql_expr *e);
/* BEGIN, COMMIT, ROLLBACK, savepoints, SET TRANSACTION, XA: statements that only say where transactions
 * begin and end, and how.  They touch no table. */
bool sql_kind_controls_transactions(enum sql_stmt_kind kind);
bool sql_stmt_is_transaction_control(const struct sql_stmt *stmt);
/* Commits the open transaction before it runs (MySQL manual, "Statements That Cause an Implicit
 * Commit").  DDL on TEMPORARY tables, where the text says TEMPORARY, does not. */
bool sql_stmt_implicit_commit(const struct sql_stmt *stmt, const struct sql_options *opt);

/* What SET, SET TRANSACTION and START TRANSACTION say about transactions, whatever the spelling. */
struct sql_txn_setting {
	enum sql_choice autocommit; /* SQL_UNSAID: not set; scope in autocommit_scope */
	bool autocommit_unknown;    /* set to an expression only the server knows */
	enum sql_scope autocommit_scope;
	enum sql_isolation isolation;   /* SQL_ISOLATION_NONE: not set */
	enum sql_scope isolation_scope; /* NONE: the next transaction only */
	enum sql_access access;
	enum sql_scope access_scope;
	bool access_unknown;
};
struct sql_txn_setting sql_stmt_txn_setting(const struct sql_stmt *stmt);

/* Walks a tree in source order, parents first.  A callback that returns false keeps the walk out
 * of the children of that node.  NULL callbacks are skipped. */
enum sql_access_kind {
	SQL_TABLE_READ,
	SQL_TABLE_WRITE,  /* rows inserted, updated, deleted */
	SQL_TABLE_DEFINE, /* DDL, LOCK TABLES, TRUNCATE: the table as a whole */
};
struct sql_visitor {
	bool (*expr)(void *ctx, const struct sql_expr *expr);
	bool (*query)(void *ctx, const struct sql_query *query);
	bool (*table_ref)(void *ctx, const struct sql_table_ref *ref);
	void *ctx;
};
void sql_walk_stmt(const struct sql_stmt *stmt, const struct sql_visitor *visitor);
void sql_walk_expr(const struct sql_expr *expr, const struct sql_visitor *visitor);
void sql_walk_query(const struct sql_query *query, const struct sql_visitor *visitor);

/* Calls back for every base table the statement names (not for CTE names in their scope, not for
 * derived tables), in source order, once a mention.  `ref` is NULL where the name does not stand
 * in a FROM clause. */
typedef void sql_table_fn(void *ctx, const struct sql_table_name *table,
	const struct sql_table_ref *ref, enum sql_access_kind access);
void sql_stmt_tables(const struct sql_stmt *stmt, sql_table_fn *fn, void *ctx);

#endif
