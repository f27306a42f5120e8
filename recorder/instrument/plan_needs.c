/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a statement looks at: aggregates, what the last statement left, functions with effects. */
#include "instrument/plan_internal.h"

/* Functions whose result is made of several rows (manuals, "Aggregate Functions"). */
static const char *const aggregates[] = {"AVG", "BIT_AND", "BIT_OR", "BIT_XOR", "COUNT",
	"GROUP_CONCAT", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "STD", "STDDEV", "STDDEV_POP",
	"STDDEV_SAMP", "ST_COLLECT", "SUM", "VARIANCE", "VAR_POP", "VAR_SAMP"};
/* ... that the end of an index may answer. */
static const char *const ends[] = {"MAX", "MIN"};
/* ... that need no grouping, but are rarely found without it. */
static const char *const any_values[] = {"ANY_VALUE", "GROUPING"};
/* ... that tell of the statement before. */
static const char *const looking_back[] = {"ROW_COUNT", "FOUND_ROWS"};
static const char *const looking_back_variables[] = {"warning_count", "error_count"};

bool plan_is_one_of(struct span name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_ieq_str(name, list[i]))
			return true;
	return false;
}

/* Functions that the servers have built in and that look at a table all the same: at one of a sequence's. */
static const char *const of_sequences[] = {"LASTVAL", "NEXTVAL", "SETVAL"};

/* Functions that do something, or take something from a sequence of the session's. */
static const char *const active[] = {"BENCHMARK", "GET_LOCK", "LAST_INSERT_ID", "LASTVAL",
	"LOAD_FILE", "MASTER_GTID_WAIT", "MASTER_POS_WAIT", "NEXTVAL", "RAND", "RELEASE_ALL_LOCKS",
	"RELEASE_LOCK", "SETVAL", "SLEEP", "UUID_SHORT"};

static bool is_stored(const struct instrument_tables *tables, struct span name)
{
	for (size_t i = 0; tables && i < tables->function_count; i++)
		if (span_ieq_str(name, tables->functions[i]))
			return true;
	return false;
}

static void look_aggregate(struct look_state *state, const struct sql_expr *e)
{
	const struct sql_call_extra *extra = e->u.call.extra;

	if (plan_is_one_of(e->u.call.name, aggregates, ARRAY_LEN(aggregates))) {
		state->aggregate = true;
		state->needs_all |= !(extra && extra->distinct);
	} else if (plan_is_one_of(e->u.call.name, ends, ARRAY_LEN(ends))) {
		state->aggregate = true;
	} else if (plan_is_one_of(e->u.call.name, any_values, ARRAY_LEN(any_values))) {
		state->any_value = true;
	}
}

static bool look_expr(void *ctx, const struct sql_expr *e)
{
	struct look_state *state = ctx;

	if (e->kind == SQL_EXPR_CALL) {
		const struct sql_call_extra *extra = e->u.call.extra;

		if (plan_is_one_of(e->u.call.name, looking_back, ARRAY_LEN(looking_back)))
			state->looks_back = true;
		/* A window function leaves the rows as they are. */
		if (!(extra && extra->over))
			look_aggregate(state, e);
		if (e->u.call.db.ptr)
			state->foreign_call = true;
		if (e->u.call.db.ptr || is_stored(state->tables, e->u.call.name))
			state->stored = true;
		if (plan_is_one_of(e->u.call.name, active, ARRAY_LEN(active)))
			state->active = true;
		/* Any other may be a stored one, which reads what it likes. */
		if (e->u.call.db.ptr || !sql_is_native(e->u.call.name) ||
			plan_is_one_of(e->u.call.name, of_sequences, ARRAY_LEN(of_sequences)))
			state->other_call = true;
	}
	if (e->kind == SQL_EXPR_ASSIGN || e->kind == SQL_EXPR_SEQUENCE)
		state->active = true;
	if (e->kind == SQL_EXPR_SYSTEM_VAR &&
		plan_is_one_of(e->u.var.name, looking_back_variables, ARRAY_LEN(looking_back_variables)))
		state->looks_back = true;
	return true;
}

static bool no_query(void *ctx, const struct sql_query *query)
{
	(void)ctx;
	(void)query;
	return false;
}

struct look_state plan_look_at_select(const struct sql_query *q)
{
	struct look_state state = {0};
	struct sql_visitor visitor = {.expr = look_expr, .query = no_query, .ctx = &state};

	for (const struct sql_item *item = q->u.select.items; item; item = item->next)
		sql_walk_expr(item->expr, &visitor);
	for (const struct sql_order *order = q->order; order; order = order->next)
		sql_walk_expr(order->expr, &visitor);
	return state;
}

struct look_state plan_look_at_expr(const struct sql_expr *e)
{
	struct look_state state = {0};

	look_expr(&state, e);
	return state;
}

struct look_state plan_look_at_all(
	const struct sql_stmt *stmt, const struct instrument_tables *tables)
{
	struct look_state state = {.tables = tables};
	struct sql_visitor visitor = {.expr = look_expr, .ctx = &state};

	sql_walk_stmt(stmt, &visitor);
	return state;
}

bool plan_looks_back(const struct sql_stmt *stmt)
{
	return plan_look_at_all(stmt, NULL).looks_back;
}

static bool look_for_id(void *ctx, const struct sql_expr *e)
{
	bool *found = ctx;

	*found |= e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, "LAST_INSERT_ID") &&
		  e->u.call.args.count > 0;
	return true;
}

bool plan_sets_id(const struct sql_assign *set)
{
	bool found = false;
	struct sql_visitor visitor = {.expr = look_for_id, .query = no_query, .ctx = &found};

	for (; set; set = set->next)
		sql_walk_expr(set->value, &visitor);
	return found;
}

struct count_state {
	const struct planner *planner;
	size_t count;
};

static void count_table(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	static const char *const own[] = {
		"information_schema", "performance_schema", "mysql", "sys"};
	struct count_state *state = ctx;

	(void)ref;
	(void)access;
	if (!(name->db.ptr && plan_is_one_of(name->db, own, ARRAY_LEN(own))) &&
		!plan_is_temporary(state->planner, name))
		state->count++;
}

bool plan_names_no_table(const struct planner *p, const struct sql_stmt *stmt)
{
	struct count_state state = {.planner = p};

	sql_stmt_tables(stmt, count_table, &state);
	return state.count == 0 && !plan_look_at_all(stmt, NULL).other_call;
}
