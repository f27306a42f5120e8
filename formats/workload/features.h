/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The features of a workload that a model gives values and weights to (docs/workload-models.md).
 *
 * One list has all: its section, its name, what values it takes, and a phrase for the manual.  The words of a
 * feature are an enum in the same order.
 */
#ifndef WORKLOAD_FEATURES_H
#define WORKLOAD_FEATURES_H

#define MODEL_SECTIONS(X)                                                                          \
	X(SECTION_SCHEMA, "schema")                                                                \
	X(SECTION_DATA, "data")                                                                    \
	X(SECTION_STATEMENTS, "statements")                                                        \
	X(SECTION_TRANSACTIONS, "transactions")                                                    \
	X(SECTION_SCHEDULE, "schedule")

enum model_section {
#define X(name, word) name,
	MODEL_SECTIONS(X)
#undef X
		SECTION_COUNT
};

/* Each list of words: X(enumerator, word). */
#define KEY_WORDS(X)                                                                               \
	X(KEY_PRIMARY, "primary") X(KEY_PAIR, "pair") X(KEY_UNIQUE, "unique") X(KEY_NONE, "none") X(KEY_AUTO, "auto")
#define TYPE_WORDS(X)                                                                              \
	X(OF_INT, "int") X(OF_BIG, "big") X(OF_TEXT, "text") X(OF_CHAR, "char") X(OF_DEC, "dec")        \
	X(OF_DATE, "date") X(OF_TIME, "time") X(OF_STATE, "state") X(OF_FLAG, "flag") X(OF_FLOAT, "float")
#define COLLATION_WORDS(X)                                                                         \
	X(COLLATION_DEFAULT, "default") X(COLLATION_GENERAL, "general_ci") X(COLLATION_BIN, "bin")                \
	X(COLLATION_LATIN1, "latin1") X(COLLATION_UNICODE, "unicode_ci")
#define ACTION_WORDS(X)                                                                            \
	X(ACTION_NONE, "none") X(ACTION_RESTRICT, "restrict") X(ACTION_CASCADE, "cascade") X(ACTION_SET_NULL, "set_null")
#define STATEMENT_WORDS(X)                                                                         \
	X(STATEMENT_SELECT, "select") X(STATEMENT_LOCK, "lock") X(STATEMENT_UPDATE, "update")                     \
	X(STATEMENT_DELETE, "delete") X(STATEMENT_INSERT, "insert") X(STATEMENT_UPSERT, "upsert")                 \
	X(STATEMENT_REPLACE, "replace") X(STATEMENT_COPY, "copy")
#define READ_WORDS(X)                                                                              \
	X(READ_ROWS, "rows") X(READ_SOME, "columns") X(READ_COUNT, "count") X(READ_SUM, "sum") X(READ_GROUP, "group")   \
	X(READ_DISTINCT, "distinct") X(READ_ORDER, "order") X(READ_LIMIT, "limit") X(READ_JOIN, "join")           \
	X(READ_LEFT_JOIN, "left_join") X(READ_EXISTS, "exists") X(READ_IN, "in_subquery")                         \
	X(READ_SCALAR, "scalar_subquery") X(READ_UNION, "union") X(READ_DERIVED, "derived")                       \
	X(READ_EXPRESSION, "expression") X(READ_LAST_ID, "last_id")
#define CONDITION_WORDS(X)                                                                         \
	X(CONDITION_NONE, "none") X(CONDITION_KEY, "key") X(CONDITION_EQUAL, "equal") X(CONDITION_COMPARE, "compare")   \
	X(CONDITION_BETWEEN, "between") X(CONDITION_IN, "in") X(CONDITION_NULL, "null") X(CONDITION_SAFE, "null_safe")  \
	X(CONDITION_COLUMN, "column") X(CONDITION_FUNCTION, "function") X(CONDITION_TRUE, "true")                 \
	X(CONDITION_TUPLE, "tuple") X(CONDITION_SUBQUERY, "subquery") X(CONDITION_COMBINED, "combined")
#define LOCK_WORDS(X)                                                                              \
	X(LOCK_UPDATE, "update") X(LOCK_SHARE, "share") X(LOCK_NOWAIT, "nowait") X(LOCK_SKIP, "skip_locked")
#define CHANGE_WORDS(X)                                                                            \
	X(CHANGE_PLAIN, "plain") X(CHANGE_LIMIT, "limit") X(CHANGE_ORDER, "order_limit") X(CHANGE_JOIN, "join")   \
	X(CHANGE_IN, "in_subquery") X(CHANGE_EXISTS, "exists") X(CHANGE_IGNORE, "ignore")                         \
	X(CHANGE_RETURNING, "returning") X(CHANGE_PARTITION, "partition")
#define ASSIGN_WORDS(X)                                                                            \
	X(ASSIGN_VALUE, "value") X(ASSIGN_ADD, "add") X(ASSIGN_COLUMN, "column") X(ASSIGN_NOTHING, "nothing")     \
	X(ASSIGN_KEY, "key") X(ASSIGN_NULL, "null") X(ASSIGN_FUNCTION, "function") X(ASSIGN_SUBQUERY, "subquery") \
	X(ASSIGN_PARENT, "parent")
#define INSERT_WORDS(X)                                                                            \
	X(INSERT_VALUES, "values") X(INSERT_COLUMNS, "columns") X(INSERT_IGNORE, "ignore") X(INSERT_SET, "set")   \
	X(INSERT_RETURNING, "returning")
#define BEGIN_WORDS(X)                                                                             \
	X(BEGIN_PLAIN, "begin") X(BEGIN_SNAPSHOT, "snapshot") X(BEGIN_READ_ONLY, "read_only")                     \
	X(BEGIN_SINGLE, "single") X(BEGIN_AUTOCOMMIT, "autocommit_off") X(BEGIN_XA, "xa")                         \
	X(BEGIN_SET_LEVEL, "set_level")
#define END_WORDS(X) X(END_COMMIT, "commit") X(END_ROLLBACK, "rollback") X(END_CHAIN, "chain") X(END_OPEN, "open")
#define IDIOM_WORDS(X)                                                                             \
	X(IDIOM_NONE, "none") X(IDIOM_QUEUE, "queue") X(IDIOM_READ_WRITE, "read_write") X(IDIOM_TRANSFER, "transfer")   \
	X(IDIOM_CHECK_INSERT, "check_insert") X(IDIOM_INSERT_USE, "insert_use") X(IDIOM_AUDIT, "audit")           \
	X(IDIOM_OLTP, "oltp") X(IDIOM_READ_TWICE, "read_twice") X(IDIOM_SAME_CONDITION, "same_condition")
#define LEVEL_WORDS(X) X(LEVEL_WORD_RU, "RU") X(LEVEL_WORD_RC, "RC") X(LEVEL_WORD_RR, "RR") X(LEVEL_WORD_SER, "SER")
#define CONFLICT_WORDS(X)                                                                          \
	X(CONFLICT_NONE, "none") X(CONFLICT_FULL, "full") X(CONFLICT_PARTIAL, "partial") X(CONFLICT_ROW, "row")
#define GRAPH_WORDS(X) X(GRAPH_RING, "ring") X(GRAPH_STAR, "star") X(GRAPH_CHAIN, "chain") X(GRAPH_RANDOM, "random")
#define ORDER_WORDS(X) X(ORDER_OVERLAP, "overlap") X(ORDER_BURSTS, "bursts") X(ORDER_FAIR, "fair")

#define MODEL_WORD_LISTS(X)                                                                        \
	X(key, KEY_WORDS) X(type, TYPE_WORDS) X(collation, COLLATION_WORDS) X(action, ACTION_WORDS)               \
	X(statement, STATEMENT_WORDS) X(read, READ_WORDS) X(condition, CONDITION_WORDS) X(lock, LOCK_WORDS)       \
	X(change, CHANGE_WORDS) X(assign, ASSIGN_WORDS) X(insert, INSERT_WORDS) X(begin, BEGIN_WORDS)             \
	X(end, END_WORDS) X(idiom, IDIOM_WORDS) X(level, LEVEL_WORDS) X(conflict, CONFLICT_WORDS)                 \
	X(graph, GRAPH_WORDS) X(order, ORDER_WORDS)

#define X(name, word) name,
enum key_word { KEY_WORDS(X) KEY_WORD_COUNT };
enum type_word { TYPE_WORDS(X) TYPE_WORD_COUNT };
enum collation_word { COLLATION_WORDS(X) COLLATION_WORD_COUNT };
enum action_word { ACTION_WORDS(X) ACTION_WORD_COUNT };
enum statement_word { STATEMENT_WORDS(X) STATEMENT_WORD_COUNT };
enum read_word { READ_WORDS(X) READ_WORD_COUNT };
enum condition_word { CONDITION_WORDS(X) CONDITION_WORD_COUNT };
enum lock_word { LOCK_WORDS(X) LOCK_WORD_COUNT };
enum change_word { CHANGE_WORDS(X) CHANGE_WORD_COUNT };
enum assign_word { ASSIGN_WORDS(X) ASSIGN_WORD_COUNT };
enum insert_word { INSERT_WORDS(X) INSERT_WORD_COUNT };
enum begin_word { BEGIN_WORDS(X) BEGIN_WORD_COUNT };
enum end_word { END_WORDS(X) END_WORD_COUNT };
enum idiom_word { IDIOM_WORDS(X) IDIOM_WORD_COUNT };
enum level_word { LEVEL_WORDS(X) LEVEL_WORD_COUNT };
enum conflict_word { CONFLICT_WORDS(X) CONFLICT_WORD_COUNT };
enum graph_word { GRAPH_WORDS(X) GRAPH_WORD_COUNT };
enum order_word { ORDER_WORDS(X) ORDER_WORD_COUNT };
#undef X

/* What values a feature takes: numbers from min to max, words of a list, a chance, a spread. */
#define MODEL_FEATURES(NUMBER, WORDS, CHANCE, SPREAD)                                              \
	NUMBER(FEATURE_TABLES, SECTION_SCHEMA, "tables", 1, 8, "tables")                                          \
	WORDS(FEATURE_KEY, SECTION_SCHEMA, "key", key, "the key of a table: a primary key of one column, of a pair of columns, a unique key that is not the primary one, none, or numbers that the server gives") \
	WORDS(FEATURE_KEY_TYPE, SECTION_SCHEMA, "key_type", type, "types of key columns")                         \
	NUMBER(FEATURE_COLUMNS, SECTION_SCHEMA, "columns", 1, 12, "columns beside the key")                       \
	WORDS(FEATURE_TYPE, SECTION_SCHEMA, "type", type, "their types")                                          \
	WORDS(FEATURE_COLLATION, SECTION_SCHEMA, "collation", collation, "collations of columns of texts")        \
	CHANCE(FEATURE_NULLABLE, SECTION_SCHEMA, "nullable", "columns that may be NULL")                          \
	CHANCE(FEATURE_DEFAULT, SECTION_SCHEMA, "default", "columns with a DEFAULT")                              \
	CHANCE(FEATURE_CHECK, SECTION_SCHEMA, "check", "tables with a CHECK")                                     \
	CHANCE(FEATURE_GENERATED, SECTION_SCHEMA, "generated", "tables with a generated column")                  \
	NUMBER(FEATURE_INDEXES, SECTION_SCHEMA, "indexes", 0, 6, "indexes of a table beside its key")             \
	NUMBER(FEATURE_INDEX_COLUMNS, SECTION_SCHEMA, "index_columns", 1, 3, "columns of an index")               \
	CHANCE(FEATURE_UNIQUE, SECTION_SCHEMA, "unique", "indexes that are unique")                               \
	CHANCE(FEATURE_FOREIGN, SECTION_SCHEMA, "foreign", "tables with a foreign key to an earlier table")       \
	CHANCE(FEATURE_FOREIGN_SELF, SECTION_SCHEMA, "foreign_self", "tables with a foreign key to themselves")   \
	WORDS(FEATURE_ON_DELETE, SECTION_SCHEMA, "on_delete", action, "what a foreign key does when the parent is deleted")   \
	WORDS(FEATURE_ON_UPDATE, SECTION_SCHEMA, "on_update", action, "... and when the parent's key changes")    \
	CHANCE(FEATURE_PARTITIONED, SECTION_SCHEMA, "partitioned", "tables with partitions")                      \
	NUMBER(FEATURE_ROWS, SECTION_DATA, "rows", 0, 5000, "rows of a table to begin with")                    \
	NUMBER(FEATURE_DOMAIN, SECTION_DATA, "domain", 2, 1000000, "distinct values of a column; few make transactions meet")   \
	SPREAD(FEATURE_VALUES, SECTION_DATA, "values", "how values spread over the domain")                       \
	CHANCE(FEATURE_NULL, SECTION_DATA, "null", "values that are NULL, where that may be")                     \
	SPREAD(FEATURE_ACCESS, SECTION_DATA, "access", "how statements spread over the rows")                     \
	WORDS(FEATURE_STATEMENT, SECTION_STATEMENTS, "statement", statement, "kinds of statements: copy is INSERT ... SELECT")  \
	WORDS(FEATURE_READ, SECTION_STATEMENTS, "read", read, "what a SELECT asks for")                           \
	WORDS(FEATURE_CONDITION, SECTION_STATEMENTS, "condition", condition, "conditions of WHERE; combined is AND, OR and NOT of others")  \
	NUMBER(FEATURE_DEPTH, SECTION_STATEMENTS, "depth", 1, 4, "how deep AND, OR and NOT are nested")           \
	CHANCE(FEATURE_HIT, SECTION_STATEMENTS, "hit", "conditions that are made true for the chosen row")        \
	WORDS(FEATURE_LOCK, SECTION_STATEMENTS, "lock", lock, "how locking reads lock")                           \
	WORDS(FEATURE_CHANGE, SECTION_STATEMENTS, "change", change, "forms of UPDATE and DELETE")                 \
	WORDS(FEATURE_ASSIGN, SECTION_STATEMENTS, "assign", assign, "what UPDATE sets a column to; nothing: to itself") \
	NUMBER(FEATURE_ASSIGNMENTS, SECTION_STATEMENTS, "assignments", 1, 4, "columns that an UPDATE sets")       \
	WORDS(FEATURE_INSERT, SECTION_STATEMENTS, "insert", insert, "forms of INSERT")                            \
	NUMBER(FEATURE_INSERT_ROWS, SECTION_STATEMENTS, "insert_rows", 1, 10, "rows of an INSERT")                \
	CHANCE(FEATURE_DUPLICATE, SECTION_STATEMENTS, "duplicate", "inserted rows whose key is there already")    \
	NUMBER(FEATURE_SESSIONS, SECTION_TRANSACTIONS, "sessions", 1, 16, "sessions of a case")                   \
	NUMBER(FEATURE_PER_SESSION, SECTION_TRANSACTIONS, "per_session", 1, 10, "transactions of a session")      \
	NUMBER(FEATURE_LENGTH, SECTION_TRANSACTIONS, "length", 1, 30, "statements of a transaction")              \
	WORDS(FEATURE_IDIOM, SECTION_TRANSACTIONS, "idiom", idiom, "transactions as applications write them")     \
	WORDS(FEATURE_BEGIN, SECTION_TRANSACTIONS, "begin", begin, "how transactions begin")                      \
	WORDS(FEATURE_END, SECTION_TRANSACTIONS, "end", end, "how they end; open: the session ends first")        \
	CHANCE(FEATURE_SAVEPOINT, SECTION_TRANSACTIONS, "savepoint", "statements after which a savepoint is set or used")      \
	WORDS(FEATURE_LEVEL, SECTION_TRANSACTIONS, "level", level, "isolation levels")                            \
	CHANCE(FEATURE_MIXED_LEVELS, SECTION_TRANSACTIONS, "mixed_levels", "cases whose sessions each have a level of their own")     \
	CHANCE(FEATURE_DEFINITION, SECTION_TRANSACTIONS, "definition", "statements after which a definition is changed (DDL)")  \
	CHANCE(FEATURE_SETTING, SECTION_TRANSACTIONS, "setting", "transactions that change a session variable")   \
	CHANCE(FEATURE_TIMEOUT, SECTION_TRANSACTIONS, "timeout", "cases whose lock waits end after a second")     \
	WORDS(FEATURE_CONFLICT, SECTION_SCHEDULE, "conflict", conflict, "how two transactions are made to meet: full (one condition for both), partial (p OR q), row (both conditions true for one row), none") \
	WORDS(FEATURE_GRAPH, SECTION_SCHEDULE, "graph", graph, "which transactions meet")                         \
	CHANCE(FEATURE_FOCUS, SECTION_SCHEDULE, "focus", "other statements that are about the rows of a conflict, too")         \
	WORDS(FEATURE_ORDER, SECTION_SCHEDULE, "order", order, "orders of the schedule: overlap (none commits before the other's conflicting statement), bursts of one session, fair turns")   \
	NUMBER(FEATURE_NODES, SECTION_SCHEDULE, "nodes", 1, 16, "nodes of a cluster that sessions are spread over")

#endif
