/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace as tables for other programs: statements, transactions, versions, edges, findings.  What each column is
 * stands in the lists below; docs/tables.md is compared with them.
 */
#ifndef REPORT_TRACE_TABLES_H
#define REPORT_TRACE_TABLES_H

#include "adya/dependencies.h"
#include "base/attr.h"
#include "common/verdict.h"
#include "model/history/history.h"
#include "table/table_out.h"
#include "report/trace_names.h"
#include "trace/record.h"

#define STATEMENT_COLUMNS(C)                                                                                          \
	C(session, UINT, "number of the session in the trace")                                                        \
	C(number, UINT, "number of the statement in its session")                                                     \
	C(transaction, UINT, "number of the transaction that it ran in; NULL: in none, or not known")                 \
	C(node, TEXT, "node that the session is connected to")                                                        \
	C(user, TEXT, "user of the session")                                                                          \
	C(database, TEXT, "database that the session was opened with or changed to")                                  \
	C(begin, TIME, "just before its first byte was sent to the server")                                           \
	C(first_byte, TIME, "first byte of the answer; NULL: none came")                                              \
	C(end, TIME, "end of the answer, or of the connection")                                                       \
	C(begin_seq, UINT, "place of its begin in the order of all that was recorded")                                \
	C(end_seq, UINT, "place of its end in that order")                                                            \
	C(command, UINT, "command byte of the protocol: 3 for a text, 23 for a prepared statement")                   \
	C(text, TEXT, "its text; of a prepared statement the text that was prepared")                                 \
	C(tag, TEXT, "what its comments say about where it comes from, as a view or a controller")                    \
	C(traceparent, TEXT, "the request that it belongs to, from a comment (W3C Trace Context)")                    \
	C(answered, BOOL, "an answer came")                                                                           \
	C(of_recorder, BOOL, "the recorder's own, not the client's")                                                  \
	C(rows, UINT, "rows that it returned")                                                                        \
	C(affected, UINT, "rows that the server counts as affected")                                                  \
	C(insert_id, UINT, "last AUTO_INCREMENT value of the answer")                                                 \
	C(warnings, UINT, "warnings")                                                                                 \
	C(error, UINT, "error number; NULL: none")                                                                    \
	C(sqlstate, TEXT, "SQLSTATE of the error")                                                                    \
	C(error_text, TEXT, "message of the error")                                                                   \
	C(blocked_ns, UINT, "nanoseconds that it was seen waiting for a lock; NULL: nothing looked")                  \
	C(blockers, TEXT, "sessions that it was seen waiting for, with blanks between")                               \
	C(reply_bytes, UINT, "bytes of the answer")

#define TRANSACTION_COLUMNS(C)                                                                                        \
	C(transaction, UINT, "number of the transaction in the trace")                                                \
	C(session, UINT, "number of its session")                                                                     \
	C(begin, TIME, "begin of its first statement; NULL: not in the trace")                                        \
	C(end, TIME, "end of its last one; NULL: not in the trace")                                                   \
	C(level, TEXT, "its isolation level")                                                                         \
	C(outcome, TEXT, "committed, aborted, or unknown")                                                            \
	C(counts, BOOL, "committed, or of unknown outcome and seen by others")                                        \
	C(autocommit, BOOL, "a single statement that the server committed")                                           \
	C(read_only, BOOL, "START TRANSACTION READ ONLY")                                                             \
	C(snapshot, BOOL, "START TRANSACTION WITH CONSISTENT SNAPSHOT")                                               \
	C(reads, UINT, "reads of rows whose versions are known")                                                      \
	C(writes, UINT, "writes of rows whose versions are known, those taken back among them")                       \
	C(predicates, UINT, "conditions that it tested on whole tables")                                              \
	C(gtid, TEXT, "global transaction id, where the server told it")

#define VERSION_COLUMNS(C)                                                                                            \
	C(table, TEXT, "database and table")                                                                          \
	C(key, TEXT, "primary key")                                                                                   \
	C(position, UINT, "place among the versions of its row, from 0; NULL: never installed, or the order is open") \
	C(version, TEXT, "name of the version; unborn: before the row was first inserted")                            \
	C(kind, TEXT, "unborn, initial (there before the recording), written, dead (deleted), unwritten (seen only)")  \
	C(transaction, UINT, "the transaction that wrote it; NULL: none that is in the trace")                        \
	C(session, UINT, "session of the statement that wrote it")                                                    \
	C(number, UINT, "number of that statement in its session")                                                    \
	C(previous, TEXT, "name of the version that it overwrote; NULL: not known")                                   \
	C(intermediate, BOOL, "its transaction overwrote it itself")                                                  \
	C(undone, BOOL, "taken back by ROLLBACK TO, or by the failure of its statement")                              \
	C(final, BOOL, "seen in the final rows")                                                                      \
	C(row, TEXT, "the row, as SQL literals; NULL: not recorded")

#define EDGE_COLUMNS(C)                                                                                               \
	C(from, UINT, "transaction that comes first")                                                                 \
	C(to, UINT, "transaction that depends on it")                                                                 \
	C(kind, TEXT, "ww, wr, rw, predicate wr, predicate rw, session")                                              \
	C(table, TEXT, "database and table; NULL: order of a session")                                                \
	C(key, TEXT, "primary key of the row")                                                                        \
	C(from_version, TEXT, "version that the first transaction wrote or read")                                     \
	C(to_version, TEXT, "version that the second one read or wrote")                                              \
	C(condition, TEXT, "of a predicate edge: the condition")                                                      \
	C(explanation, TEXT, "the dependency in a sentence")

#define FINDING_COLUMNS(C)                                                                                            \
	C(id, TEXT, "16 hexadecimal digits, the same in every run")                                                   \
	C(class, TEXT, "what it is: G-single, lost-update, wrong-result ...")                                         \
	C(oracle, TEXT, "the oracle that found it")                                                                   \
	C(severity, TEXT, "violation, application, documented, suspicion, compat")                                    \
	C(level, TEXT, "isolation level")                                                                             \
	C(rule, TEXT, "of what is documented: the rule of the contract")                                              \
	C(known, TEXT, "known bugs that it fits, with blanks between")                                                \
	C(transactions, TEXT, "transactions concerned, with blanks between")                                          \
	C(session, UINT, "session of the statement that went wrong; NULL: not a single one")                          \
	C(number, UINT, "number of that statement")                                                                   \
	C(similar, UINT, "findings of this class and level that are not listed")                                      \
	C(explanation, TEXT, "in sentences")

/* enum { STATEMENT_session, ... }, for the cells of a row. */
#define COLUMN_NUMBER_S(name, type, meaning) STATEMENT_##name,
#define COLUMN_NUMBER_T(name, type, meaning) TRANSACTION_##name,
#define COLUMN_NUMBER_V(name, type, meaning) VERSION_##name,
#define COLUMN_NUMBER_E(name, type, meaning) EDGE_##name,
#define COLUMN_NUMBER_F(name, type, meaning) FINDING_##name,
enum statement_column { STATEMENT_COLUMNS(COLUMN_NUMBER_S) STATEMENT_COLUMN_COUNT };
enum transaction_column { TRANSACTION_COLUMNS(COLUMN_NUMBER_T) TRANSACTION_COLUMN_COUNT };
enum version_column { VERSION_COLUMNS(COLUMN_NUMBER_V) VERSION_COLUMN_COUNT };
enum edge_column { EDGE_COLUMNS(COLUMN_NUMBER_E) EDGE_COLUMN_COUNT };
enum finding_column { FINDING_COLUMNS(COLUMN_NUMBER_F) FINDING_COLUMN_COUNT };

enum trace_table { TABLE_STATEMENTS, TABLE_TRANSACTIONS, TABLE_VERSIONS, TABLE_EDGES, TABLE_FINDINGS, TRACE_TABLE_COUNT };
extern const struct data_table trace_tables[TRACE_TABLE_COUNT];

/* One row; wall_ns turns a moment of the trace into one since 1970.  False: the output is gone. */
bool table_add_stmt(struct table_out *out, const struct record_stmt *stmt, const struct names *names,
	uint64_t mono_ns, uint64_t wall_ns) MUST_CHECK;
/* All rows. */
bool table_add_transactions(struct table_out *out, const struct history *history) MUST_CHECK;
bool table_add_versions(struct table_out *out, const struct history *history) MUST_CHECK;
bool table_add_edges(struct table_out *out, const struct history *history) MUST_CHECK;
bool table_add_findings(struct table_out *out, const struct verdict *verdict) MUST_CHECK;

#endif
