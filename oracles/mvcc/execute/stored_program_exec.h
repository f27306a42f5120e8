/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stored programs executed on the store: triggers row by row as their statement comes to it, procedures
 * statement by statement.  Only what is straight: variables, assignments (also of NEW), IF, CASE, loops,
 * SIGNAL, writes, and queries INTO variables.  Their statements are those of the session that runs them, in its
 * transaction; a query in a body is a plain read (seen on all servers).
 */
#ifndef MVCC_EXECUTE_STORED_PROGRAM_EXEC_H
#define MVCC_EXECUTE_STORED_PROGRAM_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eval/eval.h"
#include "mvcc/execute/write.h"

struct body;
struct mvcc;
struct plan;
struct session_settings;
struct sql_program;
struct record_program;

enum { BODIES_MAX = 8 };

/* The triggers of a table that a statement fires, in their order. */
struct firing {
	uint32_t table; /* number */
	const struct body *before[BODIES_MAX], *after[BODIES_MAX];
	uint32_t before_count, after_count;
	bool asks; /* a body reads or writes tables */
};

/* NULL: not one that is executed. */
const struct body *body_compile(struct mvcc *m, const struct record_program *in,
	const struct sql_program *tree, const struct eval_table *table, uint32_t event,
	const struct session_settings *settings);
/* Several statements in one text. */
const struct body *body_of_statements(
	struct mvcc *m, const struct sql_stmt *first, const struct session_settings *settings);
/* Does it look at NEW's column of that name? */
bool body_mentions_new(const struct sql_program *tree, struct span column);
/* More than one of its statements reads or writes tables. */
bool body_is_long(const struct body *body);
bool body_asks(const struct body *body);

/* `old` and `new` NULL where the event has none; BEFORE triggers may change `new`. */
void fire_before(struct mvcc *m, const struct firing *firing, const struct eval_value *old,
	struct eval_value *new, struct write_answer *answer);
void fire_after(struct mvcc *m, const struct firing *firing, const struct eval_value *old,
	const struct eval_value *new, struct write_answer *answer);
/* What a wait, or commits beside it, may have changed between the steps of a statement is not followed: false
 * where that is taken to be so, and the answer is unsupported. */
bool fires_at_once(struct mvcc *m, struct write_answer *answer);

/* CALL: false: m->search.mismatch says why the recorded answer cannot be. */
struct call_answer {
	struct write_answer write;
	uint64_t sum, last; /* rows that its statements counted: all, and the last of them */
	bool counts;        /* ... which is what the answer has */
	bool counted;       /* one of them did */
	uint32_t sets;      /* result sets */
	bool differs;       /* one of them is not what was recorded: */
	struct eval_result expected;
	bool undecided; /* one was not recorded whole */
};
void call_run(struct mvcc *m, const struct body *body, struct call_answer *answer);

#endif
