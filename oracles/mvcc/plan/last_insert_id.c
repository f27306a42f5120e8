/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LAST_INSERT_ID(): the first AUTO_INCREMENT value that the session's latest INSERT made, or the argument of
 * LAST_INSERT_ID(...) (MySQL manual, "Information Functions").  The answers tell it; a session's statements
 * follow one another, so it is known before the search.
 *
 * An answer's number is not always that one: of an INSERT that was given all its values it is the last of
 * those, and of ON DUPLICATE KEY UPDATE that of the row that was updated (mysql_insert in sql_insert.cc), while
 * LAST_INSERT_ID() stays.
 */
#include "mvcc/plan/last_insert_id.h"

#include "mvcc/plan/answer_info.h"
#include "mvcc/plan/plan.h"
#include "mvcc/solver.h"
#include "server/errors.h"

struct calls {
	bool asks, sets;
};

static bool see_call(void *ctx, const struct sql_expr *e)
{
	struct calls *calls = ctx;

	if (e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, "last_insert_id")) {
		if (e->u.call.args.count)
			calls->sets = true;
		else
			calls->asks = true;
	}
	return true;
}

/* From one AUTO_INCREMENT value to the next; 0: not known.  A Galera node changes it with the size
 * of the cluster (wsrep_auto_increment_control).  Traces that do not have it are taken to have the
 * servers' preset. */
uint32_t auto_increment_step_of(const struct execution *e)
{
	uint64_t step;

	if (execution_is_on(e, "wsrep_on"))
		return 0;
	if (!execution_variable(e, "auto_increment_increment").len)
		return 1;
	return execution_number(e, "auto_increment_increment", &step) && step <= 65535 ? (uint32_t)step : 0;
}

void plan_last_insert_id(struct plan *plan)
{
	struct calls calls = {false, false};

	sql_walk_stmt(plan->stmt, &(struct sql_visitor){.expr = see_call, .ctx = &calls});
	plan->sets_last_insert_id = calls.sets;
	/* Which is evaluated first, and how often, is the optimizer's choice. */
	if (calls.asks && calls.sets)
		plan->unsupported = REASON_LAST_INSERT_ID_TWICE;
}

enum numbered {
	NUMBERED_NONE,    /* every row came with a value */
	NUMBERED_ALL,     /* the server numbers each of them */
	NUMBERED_SOME,    /* ... at least one, and not all */
	NUMBERED_PERHAPS, /* what the values are cannot be said */
};

static enum numbered value_of(const struct sql_expr *e)
{
	if (e->kind == SQL_EXPR_DEFAULT && !e->u.binary.left && !e->negated)
		return NUMBERED_ALL;
	if (e->kind != SQL_EXPR_LITERAL || e->negated)
		return NUMBERED_PERHAPS;
	if (e->u.literal.kind == SQL_LIT_NULL)
		return NUMBERED_ALL;
	/* 0 is numbered or not by sql_mode. */
	return e->u.literal.kind == SQL_LIT_INT && e->u.literal.text.len &&
			       e->u.literal.text.ptr[0] >= '1' && e->u.literal.text.ptr[0] <= '9'
		       ? NUMBERED_NONE
		       : NUMBERED_PERHAPS;
}

static enum numbered both(enum numbered a, enum numbered b)
{
	if (a == b)
		return a;
	return a == NUMBERED_PERHAPS || b == NUMBERED_PERHAPS ? NUMBERED_PERHAPS : NUMBERED_SOME;
}

/* Where among the values of VALUES (...) the column stands; -1: not there. */
static int place_of(const struct sql_insert *insert, const struct eval_table *def, uint32_t column)
{
	int place = 0;

	if (insert->has_columns) {
		for (const struct sql_expr *e = insert->columns.first; e; e = e->next, place++) {
			if (eval_table_column(def, e->u.column.name) == column)
				return place;
		}
		return -1;
	}
	if (def->columns[column].invisible)
		return -1;
	for (uint32_t i = 0; i < column; i++)
		place += !def->columns[i].invisible;
	return place;
}

/* INSERT ... SELECT NULL, ...: by what stands there. */
static enum numbered numbered_items(const struct sql_query *query, int place)
{
	const struct sql_item *item =
		query && query->kind == SQL_QUERY_SELECT ? query->u.select.items : NULL;

	for (int i = 0; item && i < place; i++) {
		if (item->expr->kind == SQL_EXPR_STAR)
			return NUMBERED_PERHAPS;
		item = item->next;
	}
	return item && item->expr->kind == SQL_EXPR_LITERAL ? value_of(item->expr)
							    : NUMBERED_PERHAPS;
}

static enum numbered numbered_rows(
	const struct sql_insert *insert, const struct eval_table *def, uint32_t column)
{
	enum numbered all = NUMBERED_ALL;
	int place;

	for (const struct sql_assign *set = insert->set; set; set = set->next) {
		if (eval_table_column(def, set->target->u.column.name) == column)
			return value_of(set->value);
	}
	if (insert->set)
		return NUMBERED_ALL;
	place = place_of(insert, def, column);
	if (place < 0)
		return NUMBERED_ALL;
	if (!insert->rows)
		return numbered_items(insert->query, place);
	for (const struct sql_values_row *row = insert->rows; row; row = row->next) {
		const struct sql_expr *e = row->values.first;
		enum numbered one = NUMBERED_ALL; /* VALUES () */

		for (int i = 0; e && i < place; i++)
			e = e->next;
		if (e)
			one = value_of(e);
		all = row == insert->rows ? one : both(all, one);
	}
	return all;
}

static void set_number(struct session_settings *s, bool known, uint64_t number)
{
	s->has_last_insert_id = known;
	s->number = number;
}

static bool is_one_row(const struct sql_insert *insert)
{
	return insert->set || (insert->rows && !insert->rows->next);
}

static enum numbered numbered_by(const struct mvcc *m, const struct plan *plan)
{
	const struct eval_table *def = NULL;
	uint32_t column = 0;

	if (plan->table_count && plan->written[0])
		def = m->store.tables[plan->tables[0]].def;
	if (!def || plan->uses_unknown_tables)
		return NUMBERED_PERHAPS;
	while (column < def->column_count && !def->columns[column].auto_increment)
		column++;
	return column == def->column_count ? NUMBERED_NONE
					   : numbered_rows(plan->stmt->u.insert, def, column);
}

static bool numbers_one_row(const struct mvcc *m, const struct plan *plan)
{
	return is_one_row(plan->stmt->u.insert) && numbered_by(m, plan) == NUMBERED_ALL;
}

bool numbers_every_row(const struct mvcc *m, const struct plan *plan)
{
	return !plan->stmt->u.insert->query && numbered_by(m, plan) == NUMBERED_ALL;
}

static void after_insert(struct mvcc *m, struct session_settings *s, const struct plan *plan,
	const struct execution_stmt *in)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	const struct record_stmt *r = &in->record;
	bool one_row = is_one_row(insert);
	bool found = m->schedule->execution->sessions[in->session].capabilities & CLIENT_FOUND_ROWS;
	enum numbered numbered = numbered_by(m, plan);

	if (numbered == NUMBERED_NONE)
		return;
	/* Rows before the one that failed may have come, and count although they are gone again. */
	if (r->error || r->result_sets) {
		if (!(r->error && one_row))
			set_number(s, false, 0);
		return;
	}
	if (!r->affected)
		return; /* all were left out, or stayed as they are */
	if (insert->on_duplicate && one_row && r->affected == 2)
		return; /* updated */
	if (numbered == NUMBERED_ALL && r->insert_id &&
		(!insert->on_duplicate || (one_row && r->affected == 1 && !found)))
		set_number(s, true, r->insert_id);
	/* Without IGNORE all of them came. */
	else if (numbered == NUMBERED_SOME && r->insert_id && !insert->on_duplicate &&
		 !(insert->flags & SQL_DML_IGNORE))
		set_number(s, true, r->insert_id);
	else
		set_number(s, false, 0);
}

/* Neither rows that are numbered, nor anything that may hide some. */
static bool leaves_number(const struct plan *plan)
{
	if (sql_kind_controls_transactions(plan->stmt->kind))
		return true;
	switch (plan->stmt->kind) {
	case SQL_STMT_EMPTY:
	case SQL_STMT_SELECT:
	case SQL_STMT_UPDATE:
	case SQL_STMT_DELETE:
	case SQL_STMT_USE:
	case SQL_STMT_SHOW:
	case SQL_STMT_PREPARE:
	case SQL_STMT_DEALLOCATE:
	case SQL_STMT_KILL:
		return true;
	case SQL_STMT_SET:
		return !plan->sets_unmodelled;
	default:
		return false;
	}
}

/* UPDATE: does WHERE, which is evaluated for rows that do not match, not call LAST_INSERT_ID(...)? */
static bool sets_in_list_only(const struct plan *plan)
{
	const struct sql_update *update = plan->stmt->u.update;
	struct calls calls = {false, false};

	if (update->where)
		sql_walk_expr(
			update->where, &(struct sql_visitor){.expr = see_call, .ctx = &calls});
	return plan->one_table && !calls.sets && !update->order;
}

void last_insert_id_after(struct mvcc *m, struct session_settings *s, const struct execution_stmt *in,
	const struct plan *plan)
{
	const struct record_stmt *r = &in->record;
	uint64_t matched;

	if (r->error == ER_PARSE_ERROR && plan->stmt)
		return;
	/* Also where parameters cannot be put into the text, as of a bulk execution. */
	if (!plan->stmt || r->flags & STMT_NO_REPLY || plan_is_unreadable(plan, r) ||
		plan->may_write_any || (plan->stmt->kind == SQL_STMT_EMPTY && in->sql.len)) {
		set_number(s, false, 0);
		return;
	}
	/* LAST_INSERT_ID(...) counts even if the statement fails later; where no row was come to there is
	 * no number in the answer.  The one row of an INSERT was either numbered or met another, and
	 * had it evaluated: `on duplicate key update id = last_insert_id(id)`. */
	if (plan->sets_last_insert_id && plan->stmt->kind == SQL_STMT_UPDATE && !r->error && !r->insert_id &&
		info_number(r->info, "matched", &matched) && !matched && sets_in_list_only(plan))
		return;
	if (plan->sets_last_insert_id) {
		bool told = plan->stmt->kind == SQL_STMT_UPDATE ||
			    (plan->stmt->kind == SQL_STMT_INSERT && numbers_one_row(m, plan));

		set_number(s, told && !r->error && r->insert_id, r->insert_id);
		return;
	}
	if (plan->stmt->kind == SQL_STMT_INSERT || plan->stmt->kind == SQL_STMT_REPLACE)
		after_insert(m, s, plan, in);
	else if (!leaves_number(plan))
		set_number(s, false, 0);
}
