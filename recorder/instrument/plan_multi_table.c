/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions over several tables, and over the first rows of one: the query itself, without what it
 * makes of its rows, in a form that says by itself which tables it means (docs/trace-format.md).
 * Whether anything follows from it is for the analyzer to say.
 */
#include "instrument/plan_internal.h"

enum { JOINT_TEXT_MAX = 8192 };

static bool note_query(void *ctx, const struct sql_query *q)
{
	(void)q;
	*(bool *)ctx = true;
	return false;
}

bool plan_has_query(const struct sql_expr *e)
{
	bool found = false;

	if (e)
		sql_walk_expr(e, &(struct sql_visitor){.query = note_query, .ctx = &found});
	return found;
}

static bool orders_have_query(const struct sql_order *order)
{
	bool found = false;

	for (; order; order = order->next)
		found |= plan_has_query(order->expr);
	return found;
}

/* Prepared tables by database and name, as the trace has them; what columns call them stays. */
static void qualify(void *ctx, const struct sql_table_name *name, const struct sql_table_ref *ref,
	enum sql_access_kind access)
{
	const struct planner *p = ctx;
	const struct instrument_table *table = plan_find(p, name);
	struct sql_table_ref *to = (struct sql_table_ref *)(uintptr_t)ref; /* of this plan's tree */

	(void)access;
	if (!table || !ref)
		return;
	if (!to->alias.ptr && !span_eq_str(to->u.name.table.name, table->name))
		to->alias = to->u.name.table.name;
	to->u.name.table.db = span_str(table->database);
	to->u.name.table.name = span_str(table->name);
	to->u.name.hints = NULL;
}

/* False: it has more parameters than there is room for, or is too long. */
static bool print_into(
	struct planner *p, const struct sql_query *q, struct plan_template *out)
{
	uint32_t indexes[PLAN_PARAMS_MAX];
	struct param_state state = {.indexes = indexes};
	struct sql_options print = p->options;

	print.mode = 0;
	sql_stmt_tables(p->stmt, qualify, p);
	sql_walk_query(q, &(struct sql_visitor){.expr = plan_note_param, .ctx = &state});
	sql_print_query(q, &print, &out->text);
	if (out->text.len <= JOINT_TEXT_MAX && state.count <= PLAN_PARAMS_MAX &&
		plan_find_params(out, indexes) == state.count)
		return true;
	buf_clear(&out->text);
	out->count = 0;
	return false;
}

struct names {
	struct span list[PLAN_TABLES_MAX];
	size_t count;
	bool adds, meets;
};

/* Adds the table's name, or looks whether it is one of them. */
static bool note_name(void *ctx, const struct sql_table_ref *ref)
{
	struct names *names = ctx;

	if (ref->kind != SQL_TABLE_NAME)
		return true;
	for (size_t i = 0; i < names->count && !names->adds; i++)
		names->meets |= span_ieq(names->list[i], ref->u.name.table.name);
	if (names->adds && names->count < ARRAY_LEN(names->list))
		names->list[names->count++] = ref->u.name.table.name;
	else if (names->adds)
		names->meets = true;
	return true;
}

/* Has the select list subqueries of tables that the query reads anyway?  Nothing shows the rows of
 * others, and these are what its condition says. */
static bool items_meet(const struct sql_query *q)
{
	struct names names = {.adds = true};
	struct sql_visitor visitor = {.table_ref = note_name, .ctx = &names};
	struct sql_query rest = *q;

	for (const struct sql_item *item = q->u.select.items; item; item = item->next)
		sql_walk_expr(item->expr, &visitor);
	names.adds = false;
	rest.u.select.items = NULL;
	sql_walk_query(&rest, &visitor);
	return names.meets;
}

/* SELECT 1 of its rows, before they are grouped, ordered and cut.  False: subqueries stand where
 * the result is made, and not in the select list alone. */
static bool strip(struct sql_query *q, struct sql_item *one, bool listed)
{
	bool inner = false;

	for (const struct sql_item *item = q->u.select.items; item; item = item->next)
		inner |= plan_has_query(item->expr);
	if (inner && (listed || q->with || items_meet(q)))
		return false;
	if (plan_has_query(q->u.select.having) || orders_have_query(q->u.select.group) ||
		orders_have_query(q->order) || q->u.select.qualify)
		return false;
	/* Rows that are not rows of the result. */
	if (!listed && (q->u.select.group || q->u.select.having || inner ||
			       plan_look_at_select(q).aggregate))
		q->u.select.flags |= SQL_SELECT_DISTINCT;
	q->u.select.flags &= SQL_SELECT_DISTINCT;
	q->u.select.items = one;
	q->u.select.group = NULL;
	q->u.select.rollup = false;
	q->u.select.having = NULL;
	q->u.select.windows = NULL;
	q->u.select.hint = SPAN_NONE;
	q->order = NULL;
	return true;
}

static struct sql_expr literal_one = {
	.kind = SQL_EXPR_LITERAL, .u.literal = {.kind = SQL_LIT_INT, .text = {"1", 1}}};

bool plan_set_joint(struct planner *p, const struct sql_query *query, bool listed)
{
	struct sql_item one = {.expr = &literal_one};
	struct sql_query q = *query;

	if (plan_depends_on_mode(p) || q.into || (q.limit && !listed) || p->plan->client_probe)
		return false;
	q.locks = NULL;
	q.limit = NULL;
	if (q.kind == SQL_QUERY_SELECT && !strip(&q, &one, listed))
		return false;
	return print_into(p, &q, &p->plan->predicate);
}

/* Is this the only thing that ORDER BY can mean by the name: a column, no alias of another? */
static bool is_column(const struct sql_query *q, const struct instrument_table *table,
	const struct sql_expr *e)
{
	bool found = false;

	if (e->kind != SQL_EXPR_COLUMN)
		return false;
	for (size_t i = 0; i < table->column_count; i++)
		found |= span_ieq_str(e->u.column.name, table->columns[i].name);
	for (const struct sql_item *item = q->u.select.items; item && !e->u.column.table.ptr;
		item = item->next)
		found &= !(item->alias.ptr && span_ieq(item->alias, e->u.column.name)) ||
			 (item->expr->kind == SQL_EXPR_COLUMN &&
				 span_ieq(item->expr->u.column.name, e->u.column.name));
	return found;
}

void plan_set_first_rows(
	struct planner *p, const struct sql_query *query, const struct instrument_table *table)
{
	struct sql_limit limit = {.count = &literal_one};
	struct sql_item one = {.expr = &literal_one};
	struct sql_query q = *query;

	if (!p->plan->limited || !q.order || q.u.select.group || q.u.select.having ||
		plan_look_at_select(&q).aggregate || plan_depends_on_mode(p) ||
		p->plan->client_probe)
		return;
	for (const struct sql_order *order = q.order; order; order = order->next)
		if (!is_column(query, table, order->expr))
			return;
	q.locks = NULL;
	if (!strip(&q, &one, true))
		return;
	q.order = query->order;
	q.limit = &limit;
	(void)!print_into(p, &q, &p->plan->first_rows);
}

/* ---- LIMIT that cuts nothing off ---- */

/* A constant that at most one value of the column equals: a number may equal many texts. */
static bool is_one_value(const struct instrument_column *column, const struct sql_expr *e)
{
	if (column->kind == COLUMN_NUMBER)
		return e->kind == SQL_EXPR_PARAM ||
		       (e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_INT);
	return (column->kind == COLUMN_TEXT || column->kind == COLUMN_BYTES) && e->kind == SQL_EXPR_LITERAL &&
	       e->u.literal.kind == SQL_LIT_STRING && !e->u.literal.charset.ptr;
}

/* Is this column set equal to a constant? */
static bool pins(const struct sql_expr *e, const struct instrument_column *column)
{
	const struct sql_expr *left, *right;

	if (!e || e->kind != SQL_EXPR_BINARY)
		return false;
	left = e->u.binary.left;
	right = e->u.binary.right;
	if (e->op == SQL_OP_AND)
		return pins(left, column) || pins(right, column);
	if (e->op != SQL_OP_EQ)
		return false;
	if (right->kind == SQL_EXPR_COLUMN) {
		left = right;
		right = e->u.binary.left;
	}
	return left->kind == SQL_EXPR_COLUMN && span_ieq_str(left->u.column.name, column->name) &&
	       is_one_value(column, right);
}

static bool pins_primary(const struct instrument_table *table, const struct sql_expr *where)
{
	for (size_t i = 0; i < table->key_count; i++)
		if (!pins(where, &table->columns[table->key[i]]))
			return false;
	return table->key_count > 0;
}

bool plan_pins_key(const struct instrument_table *table, const struct sql_expr *where)
{
	bool all = false;

	for (size_t i = 0; i < table->unique_count; i++) {
		const struct instrument_unique *u = &table->uniques[i];
		bool begins = i == 0 || table->uniques[i - 1].key != u->key;

		if (begins && all)
			return true;
		all = (begins || all) && u->column != INSTRUMENT_NO_NUMBER &&
		      pins(where, &table->columns[u->column]);
	}
	return all || pins_primary(table, where);
}
