/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A scenario whose statements are trees that may be changed, and back to a scenario.
 *
 *	script_open(&script, &scenario, &sql);
 *	script.stmts[3].tree->u.update->where = NULL;
 *	script.stmts[3].changed = true;
 *	ok = script_build(&script, &smaller, &err);
 *	script_release(&script);
 *
 * Parsing and what is listed of a script are the same each time, so that "the fifth thing that could be changed" names
 * the same thing in every script of one scenario.
 */
#ifndef REDUCE_SCRIPT_H
#define REDUCE_SCRIPT_H

#include "base/attr.h"
#include "scenario/scenario.h"
#include "sql/sql.h"

struct script_stmt {
	struct sql_stmt *tree; /* NULL: it does not parse; it stays as it is */
	struct span text;      /* as the scenario has it */
	uint32_t session;      /* SCENARIO_NO_SESSION outside the schedule */
	bool changed;          /* the tree is printed instead of the text */
	bool dropped;
};

struct script {
	struct arena arena;
	struct sql_options sql;
	const struct scenario *scenario;
	struct script_stmt *stmts; /* setup, then schedule, then final */
	size_t setup_count, schedule_count, count;
	struct span *session_names;
	enum txn_level level, *session_levels;
	uint32_t rounds; /* `# rounds:`; 0: none */
	struct span *settings; /* of the server: the values of `# server:` lines */
	size_t setting_count;
	bool forget_shows; /* leave out the `# shows:` lines */
};

/* The scenario must outlive the script. */
void script_open(struct script *out, const struct scenario *scenario, const struct sql_options *sql);
void script_release(struct script *script);
/* Without expectations, and of the header with no more than who, where, which contract and what shows: numbers of
 * statements in the last (T1.3) are those of what is left.  False: no schedule is left, or not what a `# shows:` names. */
bool script_build(const struct script *script, struct scenario *out, struct err *err) MUST_CHECK;

/* Whether a statement of the script stands in the setup, in the schedule. */
static inline bool script_in_setup(const struct script *script, size_t stmt)
{
	return stmt < script->setup_count;
}

static inline bool script_in_schedule(const struct script *script, size_t stmt)
{
	return stmt >= script->setup_count && stmt < script->setup_count + script->schedule_count;
}

/* A statement as a person writes it: keywords in small letters, names without quotes where they need none. */
void script_print(const struct sql_stmt *tree, const struct sql_options *sql, struct buf *out);

/* Whether the statement names the table. */
bool script_names_table(const struct sql_stmt *tree, struct span table);

#endif
