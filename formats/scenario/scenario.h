/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scenario: setup SQL, sessions, and one schedule that says which session sends what, in order
 * (docs/scenario-format.md is the language's specification).
 *
 *	struct scenario s;
 *
 *	if (!scenario_parse(&s, text, "mdev-1.scn", &err))
 *		...
 *	for (size_t i = 0; i < s.schedule.count; i++)
 *		send(s.sessions[s.schedule.stmts[i].session].name, s.schedule.stmts[i].sql);
 *	scenario_release(&s);
 *
 * Invariants of a parsed or imported scenario, which the functions that add keep:
 *  1. All spans point into the scenario's own arena and live until scenario_release.
 *  2. A statement is one statement without its delimiter, without blanks at its ends, not empty,
 *     and does not begin with a line comment.
 *  3. The statements of a schedule have a session below session_count; all others SCENARIO_NO_SESSION.
 *  4. scenario_print of it gives a text that scenario_parse reads as the same scenario.
 */
#ifndef SCENARIO_SCENARIO_H
#define SCENARIO_SCENARIO_H

#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include "trace/record.h"
#include "trace/value.h"

/* Limits: a scenario is what a person types or a generator makes, not a data file. */
enum scenario_limits {
	SCENARIO_TEXT_MAX = 16 * 1024 * 1024, /* bytes of a file */
	SCENARIO_STMT_MAX = 1000 * 1000,      /* statements of a section */
	SCENARIO_SESSION_MAX = 250,
	SCENARIO_NAME_MAX = 64, /* bytes of a session's name, a key or a delimiter */
	SCENARIO_META_MAX = 10000,
	SCENARIO_IMPORT_MAX = 10000, /* scenarios of one imported file */
	SCENARIO_NODE_MAX = 16,
	SCENARIO_ROUNDS_MAX = 1000 * 1000,
};

#define SCENARIO_NO_SESSION UINT32_MAX

/* Where something stood in its file, from 1; 0 when it did not come from one.  Columns count
 * characters (UTF-8), not bytes. */
struct scenario_place {
	uint32_t line, column;
};

/* `# key: value`.  All of them in the order of the file, those with a meaning here included. */
struct scenario_meta {
	struct span key, value;
	struct scenario_place place;
};

struct scenario_session {
	struct span name;
	enum txn_level level; /* LEVEL_UNKNOWN: the scenario's */
	uint32_t node;        /* of a cluster, from 1; 0: the first */
};

enum scenario_value_kind {
	SCENARIO_VALUE_NULL,
	SCENARIO_VALUE_NUMBER, /* bytes: as typed */
	SCENARIO_VALUE_STRING, /* bytes: unquoted */
	SCENARIO_VALUE_ANY,    /* * */
};

struct scenario_value {
	enum scenario_value_kind kind;
	struct span bytes;
};

struct scenario_row {
	const struct scenario_value *values;
	uint32_t count;
};

enum scenario_outcome {
	SCENARIO_OUTCOME_ANY, /* nothing was said */
	SCENARIO_OUTCOME_OK,
	SCENARIO_OUTCOME_ERROR,
	SCENARIO_OUTCOME_ROWS,
};

enum scenario_blocking {
	SCENARIO_BLOCKING_ANY, /* nothing was said */
	SCENARIO_BLOCKED,
	SCENARIO_NOT_BLOCKED,
};

#define SCENARIO_ANY_COUNT UINT64_MAX

/* What stands after `-- =>`. */
struct scenario_expect {
	enum scenario_blocking blocking;
	enum scenario_outcome outcome;
	bool ordered;   /* ROWS: in this order; otherwise in any */
	uint64_t count; /* OK: affected rows; ERROR: the code; or SCENARIO_ANY_COUNT */
	const struct scenario_row *rows;
	uint32_t row_count;
};

struct scenario_stmt {
	struct span sql;
	uint32_t session;
	struct scenario_expect expect;
	struct scenario_place place;
};

struct scenario_section {
	struct scenario_stmt *stmts;
	size_t count, capacity;
};

/* `# expect: RELEASE [LEVEL,…] = VERDICT [what else]` */
struct scenario_verdict {
	struct span release; /* a pattern: * stands for any characters */
	uint32_t levels;     /* bit 1 << enum txn_level; 0: all */
	struct span verdict; /* one of scenario_verdict_words */
	struct span detail;  /* the rest, e.g. classes of findings; may be empty */
	struct scenario_place place;
};

struct scenario {
	struct arena arena;
	struct scenario_meta *meta;
	size_t meta_count, meta_capacity;
	struct scenario_session *sessions; /* in order of appearance */
	size_t session_count, session_capacity;
	enum txn_level level; /* of sessions that have none of their own; LEVEL_UNKNOWN: server's */
	struct scenario_section setup, schedule, final;
	struct scenario_verdict *verdicts;
	size_t verdict_count, verdict_capacity;
};

/* Reading.  name is for messages, "NAME:LINE:COLUMN: …"; on failure *out is empty and released,
 * and err->offset is the byte where the trouble is. */
bool scenario_parse(
	struct scenario *out, struct span text, const char *name, struct err *err) MUST_CHECK;

/* The shapes of other tools (docs/scenario-format.md, "Importing"). */
enum scenario_shape {
	SCENARIO_SHAPE_SCN,    /* our own */
	SCENARIO_SHAPE_CASE,   /* DT2, Troc, Fucci: blocks of statements, then 1-1-2-2 and END */
	SCENARIO_SHAPE_PROMPT, /* conn_0> SQL */
	SCENARIO_SHAPE_MARKED, /* slash-star T1 star-slash SQL;   or   SQL; -- T1 */
	SCENARIO_SHAPE_GENERAL_LOG, /* a server's log of what was sent */
	SCENARIO_SHAPE_RQG,    /* [PROCESS] SQL; */
};

/* The shape that a text has by its looks. */
enum scenario_shape scenario_guess(struct span text);

struct scenario_list {
	struct scenario *scenarios;
	size_t count, capacity;
};

/* All scenarios of a file (a case file may hold several).  On failure the list is empty. */
bool scenario_import(struct scenario_list *out, enum scenario_shape shape, struct span text,
	const char *name, struct err *err) MUST_CHECK;
void scenario_list_release(struct scenario_list *list);

/* Writing: the canonical text. */
void scenario_print(const struct scenario *s, struct buf *out);
void scenario_print_expect(const struct scenario_expect *expect, struct buf *out);
/* A string literal of SQL on one line. */
void scenario_print_string(struct span s, struct buf *out);

/* Building.  The bytes given are copied. */
void scenario_init(struct scenario *s);
void scenario_release(struct scenario *s);
/* The number of the session of that name, which is added when it is new. */
bool scenario_session(
	struct scenario *s, struct span name, uint32_t *out, struct err *err) MUST_CHECK;
/* session is SCENARIO_NO_SESSION except in the schedule.  The new statement is the section's last. */
bool scenario_add(struct scenario *s, struct scenario_section *section, uint32_t session,
	struct span sql, struct err *err) MUST_CHECK;
/* Understands `isolation`, `node`, `rounds`, `server` and `expect`.  Sessions that the first two name must be there. */
bool scenario_add_meta(
	struct scenario *s, struct span key, struct span value, struct err *err) MUST_CHECK;
/* `text` is what stands after "=>". */
bool scenario_expect_parse(struct scenario *s, struct scenario_expect *out, struct span text,
	struct err *err) MUST_CHECK;

/* Asking. */
/* The first value of that key, or SPAN_NONE. */
struct span scenario_meta(const struct scenario *s, const char *key);
/* The level a session runs at: its own, else the scenario's, else LEVEL_UNKNOWN. */
enum txn_level scenario_level(const struct scenario *s, uint32_t session);
/* `# rounds:`: sessions do not wait for each other, and send all they have so many times; 0: they take turns. */
uint32_t scenario_rounds(const struct scenario *s);
/* A `# server:` line: an option that the server must have been started with.  False: the line is another one. */
bool scenario_setting(const struct scenario_meta *meta, struct span *name, struct span *value);
/* How many nodes of a cluster its sessions are on. */
size_t scenario_nodes(const struct scenario *s);
/* What is expected of that release at that level: the last line that fits; NULL when none does. */
const struct scenario_verdict *scenario_verdict(
	const struct scenario *s, struct span release, enum txn_level level);
/* Whether that verdict says that what the scenario is about shows. */
bool scenario_verdict_shows(const struct scenario_verdict *verdict);
/* RR, rr, repeatable-read, "REPEATABLE READ" …; LEVEL_UNKNOWN for anything else. */
enum txn_level scenario_level_word(struct span word);
/* Whether a value that a server gave is the expected one.  Numbers are compared as numbers. */
bool scenario_value_matches(const struct scenario_value *expected, const struct value *got);
/* The same for rows, `values` being count times `columns` of them: one row; exactly the expected
 * ones, in order or not as the expectation says; at least those, in any order (up to 2,000). */
bool scenario_row_fits(const struct scenario_row *row, const struct value *values, size_t columns);
bool scenario_rows_fit(const struct scenario_expect *expect, const struct value *values,
	size_t columns, size_t count);
bool scenario_rows_include(const struct scenario_expect *expect, const struct value *values,
	size_t columns, size_t count);

#endif
