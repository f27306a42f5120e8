/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a statement, a table's rows or the final rows were not decided.
 *
 * Inside the solver a reason is a number: one of enum mvcc_reason, or, from REASON_COUNT on, a text of the evaluator
 * or the name of a kind of statement (struct reasons).  The text is made where the verdict is filled.
 */
#ifndef MVCC_REASON_H
#define MVCC_REASON_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

#define MVCC_REASONS(X) \
	X(TEMPORARY_TABLES, "temporary tables") \
	X(DEFINITION_UNKNOWN, "tables whose definition is not known") \
	X(OTHER_ENGINE, "tables of other engines than InnoDB") \
	X(TABLE_NOT_MODELLED, "tables that are not modelled") \
	X(VIEW_WRITTEN_OTHERWISE, "views that are altered, locked, or written as more than one table") \
	X(TABLE_NOT_DESCRIBED, "tables that the trace does not describe") \
	X(MANY_TABLES, "statements with more than 16 tables") \
	X(ERROR_BEFORE_EXECUTION, "errors that the server reported before it executed the statement") \
	X(LOCKING_READ_OF_SEVERAL_BLOCKS, "locking reads with several query blocks") \
	X(UPDATE_IGNORE_FOREIGN_KEYS, "UPDATE IGNORE of tables with foreign keys") \
	X(UPDATE_IGNORE_SEVERAL_TABLES, "UPDATE IGNORE of several tables") \
	X(SQL_SELECT_LIMIT, "queries under sql_select_limit") \
	X(SELECT_INTO, "SELECT ... INTO") \
	X(RETURNING, "RETURNING of expressions that are not modelled") \
	X(DUPLICATE_KEY_QUERY_OF_TABLE, "ON DUPLICATE KEY UPDATE with a subquery of the same table") \
	X(SET_STATEMENT_NOT_MODELLED, "SET STATEMENT of variables that are not modelled") \
	X(ANALYZE_OF_CHANGE, "ANALYZE of an INSERT, UPDATE or DELETE") \
	X(OWN_TIME_ZONE, "TIMESTAMP columns in a session that set its own time zone") \
	X(PAD_CHAR_TO_FULL_LENGTH, "sql_mode PAD_CHAR_TO_FULL_LENGTH") \
	X(LATIN1_AND_BYTES, "latin1 columns in sessions whose character set is binary") \
	X(STORED_FUNCTION, "functions that are not built in") \
	X(SQL_MODE_ORACLE, "sql_mode ORACLE") \
	X(TIME_PARAMETER_NOT_COMPARED, "parameters with dates or times that are not compared with a column") \
	X(DOES_NOT_PARSE, "statements that do not parse") \
	X(SEVERAL_STATEMENTS, "several statements in one text") \
	X(VIEW_CHECK_OPTION, "CHECK OPTION of a view together with other constraints, triggers or IGNORE") \
	X(LAST_INSERT_ID_TWICE, "LAST_INSERT_ID() together with LAST_INSERT_ID(...)") \
	X(ALTER_MAY_CHANGE_ROWS, "tables whose rows ALTER TABLE may have changed") \
	X(FOREIGN_KEY_NOT_MODELLED, "foreign keys that are not modelled") \
	X(TRIGGER_ROW_ORDER, "triggers on many rows whose order matters") \
	X(UNSUPPORTED_WROTE_TABLE, "tables that an unsupported statement wrote") \
	X(UNSUPPORTED_WROTE_ROWS, "rows that an unsupported statement wrote") \
	X(INITIAL_ROWS_NOT_IN_TRACE, "rows from before the recording that are not in the trace (see isorec --snapshot-rows)") \
	X(SAME_TIME_ASSIGNED, "rows set to a time that they may have had before") \
	X(TABLE_UNDER_TWO_NAMES, "a table written under two names") \
	X(SEVERAL_TABLES_TIED, "UPDATE or DELETE of several tables that a foreign key connects") \
	X(ROWS_REPLACE_EACH_OTHER, "rows that refer to each other and take each other's place") \
	X(CASCADE_CHANGED_BEFORE, "rows that a cascade of the same statement changed before") \
	X(LIMIT_BESIDE_CASCADES, "LIMIT on rows that cascades delete") \
	X(UPDATE_IGNORE_ROWS_IN_THE_WAY, "UPDATE IGNORE of rows that collide with each other") \
	X(TRIGGERS_BESIDE_CASCADES, "triggers on rows that cascades may delete") \
	X(MANY_MATCHES_OF_A_ROW, "rows that UPDATE of several tables may set to many values") \
	X(LIMIT_AMONG_EQUAL_ROWS, "LIMIT among many equal rows") \
	X(RETURNING_BESIDE_CASCADES, "RETURNING of rows that cascades may delete") \
	X(SUBQUERY_BESIDE_CASCADES, "subqueries of tables that cascades may change") \
	X(XA_NOT_RECORDED, "tables after the end of an XA transaction that was not recorded") \
	X(SKIP_LOCKED, "SKIP LOCKED") \
	X(RESULT_NOT_WHOLE, "results that were not recorded whole") \
	X(VALUE_NOT_COMPUTED, "values that were written and not computed") \
	X(DIRTY_READ_DURING_WAIT, "dirty reads while a statement waits") \
	X(LOCKING_READ_BESIDE_COMMITS, "locking reads with subqueries while other transactions commit") \
	X(VIEW_WITH_DUPLICATE_KEY, "read views in which a unique key has two rows") \
	X(WRITTEN_FROM_DIRTY_READS, "tables written from dirty reads while a statement waited") \
	X(FAILED_IN_PART, "statements that failed after part of their work") \
	X(UNRECORDED_MAY_HAVE_CHANGED, "tables that sessions which were not recorded may have changed") \
	X(CONTRADICTED_WROTE_TABLE, "tables written by a statement whose answer is wrong") \
	X(TABLE_READ_TWICE, "a table that a statement read twice while others committed") \
	X(MORE_ORDERS_THAN_TRIED, "more orders are possible than the budget allows (see --budget)") \
	X(ERROR_BY_OPTIMIZER, "errors that depend on what the optimizer evaluates") \
	X(FUNCTION_MAY_HAVE_WRITTEN, "tables that functions may have written") \
	X(VARIABLES_NOT_MODELLED, "session variables that are not modelled") \
	X(UNIQUE_CHECKS_OFF, "duplicates in sessions without unique_checks") \
	X(WRITTEN_BESIDE_DDL, "tables written while their definition changed") \
	X(STATEMENT_BESIDE_DDL, "statements that ran while a definition changed") \
	X(FAILED_IN_PART_WROTE_TABLE, "tables written by a statement that failed after part of its work") \
	X(TRANSACTION_MAY_BE_SEVERAL, "transactions that a CALL, an EXECUTE or several statements in one text may have ended and begun anew") \
	X(NO_ANSWER_WROTE_TABLE, "tables after a statement that got no answer") \
	X(NO_ANSWER, "statements that got no answer") \
	X(STOPPED, "statements that were not come to before the interruption") \
	X(TEXT_UNREADABLE, "statements whose text was cut, has a masked password, or is in a character set that is not parsed") \
	X(WRITTEN_IN_UNKNOWN_TRANSACTION, "tables written in an unknown transaction") \
	X(TRANSACTION_NOT_RECORDED, "statements whose transaction or isolation level was not recorded") \
	X(BESIDE_CALL, "statements that overlap a CALL, an EXECUTE or several statements in one text") \
	X(FOREIGN_KEY_NOT_DESCRIBED, "foreign keys of tables that the trace does not describe") \
	X(ERROR_NOT_MODELLED, "errors that are not modelled") \
	X(TRIGGERS_WRITTEN, "writes to tables with triggers") \
	X(DELETE_IGNORE_WARNINGS, "DELETE IGNORE with warnings") \
	X(AUTO_INCREMENT_NOT_RECORDED, "AUTO_INCREMENT values that were not recorded") \
	X(INSERT_IGNORE_CHECK, "a CHECK in INSERT IGNORE of one row") \
	X(QUERY_ROW_ORDER, "rows of a query whose order matters") \
	X(TRIGGER_GIVES_DEFAULT, "values that a trigger may give to a column that lacks one") \
	X(RECORDER_MADE_KEY, "rows whose hidden key the recorder made") \
	X(PROGRAM_EXPRESSION_ERROR, "errors in a stored program's expressions") \
	X(PROGRAM_SKIP_LOCKED, "SKIP LOCKED in a stored program or in a text of several statements") \
	X(PROGRAM_LONG_LOOP, "long loops of a stored program") \
	X(GENERATED_BESIDE_TRIGGER, "generated columns of a row that a trigger has set") \
	X(PROGRAM_BESIDE_COMMITS, "stored programs that ran while other transactions committed") \
	X(OPAQUE_KEYS, "keys made of times that only the server knows") \
	X(UNWEIGHTED_KEYS, "unique keys with characters whose weight is not known") \
	X(PARTIAL_KEYS, "unique keys on parts of columns") \
	X(SELF_REFERENCE_BY_ODD_INDEX, "rows that refer to themselves by an index that is not modelled") \
	X(ROWS_WITHOUT_PARENT, "rows whose parent is missing") \
	X(LONG_CASCADES, "long chains of cascades") \
	X(GENERATED_BESIDE_FOREIGN_KEY, "generated columns of rows that a foreign key changes") \
	X(VIEW_BEFORE_TABLE_KNOWN, "read views made before the rows of a table were known again") \
	X(DEFINITION_UNREADABLE, "tables whose definition cannot be read") \
	X(DEFINITION_WITHOUT_ENGINE, "tables whose definition does not name the engine") \
	X(HIDDEN_COLUMN_MISSING, "tables whose initial rows lack a hidden column (prepared, and recorded without --instrument)") \
	X(INITIAL_VALUES_NOT_KEPT, "tables with values in their initial rows that were not kept") \
	X(NO_INITIAL_ROWS, "tables without initial rows") \
	X(TABLE_WITH_TRIGGERS, "tables with triggers") \
	X(SEVERAL_NODES, "sessions on several nodes of a cluster") \
	X(FINAL_ROWS_NOT_WHOLE, "final rows that were not recorded whole") \
	X(ROWS_UNKNOWN_AT_END, "rows that are not known at the end of the trace") \
	X(NOT_TO_BE_RECORDED, "rows that sessions outside the recording may have written (--sample, --only-user ...)") \
	X(NO_RECORDED_WRITER, "rows that no recorded session can have written") \
	X(TRANSACTION_WROTE_SEVERAL, "tables written by a transaction that may have been several")

enum mvcc_reason {
	REASON_NONE,
#define REASON_NAME(name, text) REASON_##name,
	MVCC_REASONS(REASON_NAME)
#undef REASON_NAME
	REASON_COUNT
};

/* The texts that are not known before a trace is read. */
struct reasons {
	struct arena *arena; /* of the verdict, which keeps the texts */
	const char **texts;
	size_t count, capacity;
};

/* The number of a text that the evaluator gave; equal texts have the same. */
uint32_t reason_of_text(struct reasons *reasons, const char *text);
/* Lasts as long as the arena; NULL for REASON_NONE. */
const char *reason_text(const struct reasons *reasons, uint32_t reason);
void reasons_release(struct reasons *reasons);

#endif
