/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that make plans share; plan.h is for other files. */
#ifndef INSTRUMENT_PLAN_INTERNAL_H
#define INSTRUMENT_PLAN_INTERNAL_H

#include "instrument/plan.h"

struct planner {
	struct stmt_plan *plan;
	const struct instrument_tables *tables;
	struct span database;
	struct span temporary; /* struct plan_context */
	const struct plan_context *context;
	bool locks;
	const struct sql_stmt *stmt;
	struct arena *arena; /* of the statement */
	struct sql_options options;
	/* Mentions of tables whose rows the plan shows; other mentions of them are not seen. */
	const struct sql_table_ref *shown[PLAN_TABLES_MAX];
	size_t shown_count;
};

bool plan_is_temporary(const struct planner *p, const struct sql_table_name *name);
/* A prepared table by its name in the statement; NULL: it is none, or a temporary one hides it. */
struct instrument_table *plan_find(const struct planner *p, const struct sql_table_name *name);

/* Words that each end with a NUL. */
bool plan_next_word(struct span *rest, struct span *word);
void plan_add_blind(struct stmt_plan *plan, const struct instrument_table *table);

/* ---- plan_call.c ---- */

/* CALL, EXECUTE and PREPARE by text. */
void plan_call(struct planner *p);
void plan_execute(struct planner *p);
void plan_prepare(struct planner *p);

/* ---- plan_needs.c ---- */

struct look_state {
	const struct instrument_tables *tables; /* NULL: stored functions are not looked for */
	bool aggregate, looks_back, foreign_call, other_call, stored, active;
	bool needs_all; /* an aggregate that needs every row: no index answers it alone */
	bool any_value; /* ANY_VALUE, GROUPING: none by themselves, but only of use with some */
};

bool plan_is_one_of(struct span name, const char *const *list, size_t count);
/* Of the query itself, not of its subqueries. */
struct look_state plan_look_at_select(const struct sql_query *q);
/* Of one node. */
struct look_state plan_look_at_expr(const struct sql_expr *e);
struct look_state plan_look_at_all(
	const struct sql_stmt *stmt, const struct instrument_tables *tables);
bool plan_looks_back(const struct sql_stmt *stmt);
/* Does it call LAST_INSERT_ID(x)? */
bool plan_sets_id(const struct sql_assign *set);
/* ... but the server's own and temporary ones. */
bool plan_names_no_table(const struct planner *p, const struct sql_stmt *stmt);

/* ---- plan_predicate.c ---- */

struct param_state {
	uint32_t *indexes;
	size_t count;
};

bool plan_note_param(void *ctx, const struct sql_expr *e);
/* The places of the parameters in text that has no comments.  How many; more than
 * PLAN_PARAMS_MAX: too many. */
size_t plan_find_params(struct plan_template *template, const uint32_t *indexes);
void plan_set_predicate(
	struct planner *p, const struct instrument_table *table, const struct sql_expr *where);
/* Whether a condition takes the same rows in every session: no variables, time or subqueries. */
bool plan_is_shared(const struct sql_expr *where);
/* Takes the words for tables from its columns. */
void plan_strip_tables(struct sql_expr *expr);
/* The one table of a FROM clause; NULL when there are others. */
const struct sql_table_ref *plan_only_table(const struct sql_table_ref *from);
/* What its text means depends on the session's sql_mode. */
bool plan_depends_on_mode(const struct planner *p);
/* Does a statement look at all rows that its condition gives?  A LIMIT that is a number goes into
 * the plan: where fewer rows came, it cut nothing off. */
bool plan_takes_all(struct planner *p, const struct sql_limit *limit);
/* ... of this table, which is the only one. */
bool plan_where_is_all(struct planner *p, const struct sql_table_ref *ref,
	const struct sql_expr *where, const struct sql_limit *limit);

/* ---- plan_multi_table.c ---- */

bool plan_has_query(const struct sql_expr *expr);
/* Makes the query the predicate: `listed`: of the rows of a result that the plan sees. */
bool plan_set_joint(struct planner *p, const struct sql_query *query, bool listed);
/* A query of one table with ORDER BY and LIMIT: what the rows are that came, if LIMIT cut some. */
void plan_set_first_rows(
	struct planner *p, const struct sql_query *query, const struct instrument_table *table);
/* Can the condition give one row at most? */
bool plan_pins_key(const struct instrument_table *table, const struct sql_expr *where);

/* ---- plan_read.c ---- */

/* How the rows of a table are called in its statement. */
void plan_add_row_name(struct buf *row, const struct sql_table_ref *ref);
void plan_read(struct planner *p, const struct sql_query *q);
/* A query that gives the rows of one whose own columns stay as they are. */
void plan_read_beside(struct planner *p, const struct sql_query *q);
/* What is known of a query whose rows are not seen. */
void plan_read_unseen(struct planner *p, const struct sql_query *q);

/* ---- plan_view.c ---- */

void plan_resolve_views(struct planner *p);

/* ---- plan_write.c ---- */

/* Of an UPDATE or a DELETE. */
struct plan_clauses {
	struct sql_table_ref *tables;
	struct sql_expr *where;
	struct sql_order *order;
	struct sql_limit *limit;
};
void plan_condition(struct planner *p, const struct plan_clauses *clauses);
/* The table that a statement writes, and how it is called. */
void plan_set_target(
	struct planner *p, const struct sql_table_ref *ref, enum plan_write write);
bool plan_sets_key(const struct instrument_table *table, const struct sql_assign *set);
void plan_set_keyed(struct planner *p, const struct sql_insert *ins);
/* Where the new rows will be: by their keys, if the statement has them. */
void plan_set_insert(struct planner *p, const struct sql_insert *ins, bool replaces);

#endif
