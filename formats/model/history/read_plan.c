/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/read_plan.h"

#include <string.h>

#include "base/text.h"
#include "trace/value.h"

/* ---- parameters ---- */

struct filling {
	struct arena *arena;
	const struct value *values;
	size_t count;
	bool failed;
};

static bool fill_literal(struct filling *f, struct sql_expr *e, const struct value *v)
{
	struct buf text = BUF_INIT;

	switch (v->type) {
	case VALUE_NULL:
		e->u.literal.kind = SQL_LIT_NULL;
		break;
	case VALUE_INT:
	case VALUE_UINT:
		e->u.literal.kind = SQL_LIT_INT;
		value_print(&text, v, 0);
		break;
	case VALUE_DECIMAL:
		e->u.literal.kind = SQL_LIT_DECIMAL;
		buf_add_span(&text, v->bytes);
		break;
	case VALUE_TEXT:
	case VALUE_DATE:
	case VALUE_DATETIME:
	case VALUE_TIME:
		e->u.literal.kind = SQL_LIT_STRING;
		buf_add_span(&text, v->bytes);
		break;
	default:
		buf_release(&text);
		return false;
	}
	e->u.literal.text = arena_copy(f->arena, text.len ? buf_span(&text) : SPAN_LIT(""));
	buf_release(&text);
	return true;
}

/* Puts the values in the places of the parameters; the words for tables are taken away, as there is
 * one. */
static bool fill(void *ctx, const struct sql_expr *e)
{
	struct filling *f = ctx;
	struct sql_expr *to = (struct sql_expr *)(uintptr_t)e; /* of our own tree */

	if (e->kind == SQL_EXPR_COLUMN)
		to->u.column.db = to->u.column.table = SPAN_NONE;
	if (e->kind != SQL_EXPR_PARAM)
		return true;
	if (e->u.param >= f->count) {
		f->failed = true;
		return true;
	}
	const struct value *v = &f->values[e->u.param];

	memset(&to->u, 0, sizeof(to->u));
	to->kind = SQL_EXPR_LITERAL;
	f->failed |= !fill_literal(f, to, v);
	return true;
}

/* ---- shapes ---- */

static bool no_query(void *ctx, const struct sql_query *query)
{
	(void)query;
	*(bool *)ctx = false;
	return false;
}

static bool is_not_call(void *ctx, const struct sql_expr *e)
{
	switch (e->kind) {
	case SQL_EXPR_CALL:
	case SQL_EXPR_ASSIGN:
	case SQL_EXPR_SEQUENCE:
	case SQL_EXPR_ODBC:
		*(bool *)ctx = false;
		break;
	default:
		break;
	}
	return *(bool *)ctx;
}

/* Rows of the table, one by one: an aggregate would be a call. */
static bool are_plain_items(const struct sql_item *item)
{
	bool plain = true;
	struct sql_visitor visitor = {.expr = is_not_call, .query = no_query, .ctx = &plain};

	for (; item; item = item->next)
		sql_walk_expr(item->expr, &visitor);
	return plain;
}

static bool has_query(const struct sql_expr *e)
{
	bool none = true;

	if (e)
		sql_walk_expr(e, &(struct sql_visitor){.query = no_query, .ctx = &none});
	return !none;
}

static bool is_one_table(const struct sql_table_ref *ref)
{
	return ref && !ref->next && ref->kind == SQL_TABLE_NAME && !ref->u.name.partitions &&
	       !ref->u.name.portion.ptr && ref->system_time == SQL_SYSTEM_TIME_NONE;
}

static void take_limit(struct read_plan *plan, const struct sql_limit *limit)
{
	if (!limit)
		return;
	plan->cut = true;
	if (limit->offset || limit->with_ties || limit->rows_examined || !limit->count ||
		limit->count->kind != SQL_EXPR_LITERAL || limit->count->u.literal.kind != SQL_LIT_INT ||
		!text_number(limit->count->u.literal.text, &plan->limit))
		plan->limit = 0;
}

static void add_read_table(
	void *ctx, const struct sql_table_name *name, const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct read_plan *plan = ctx;

	(void)ref;
	if (access == SQL_TABLE_DEFINE)
		return;
	if (plan->table_count < READ_PLAN_TABLES_MAX)
		plan->tables[plan->table_count++] = *name;
	else
		plan->tables_cut = true;
}

static void set_rows(struct read_plan *plan, enum read_plan_kind kind, const struct sql_table_ref *ref,
	const struct sql_expr *where, const struct sql_limit *limit)
{
	plan->kind = kind;
	plan->table = ref->u.name.table;
	plan->condition = where;
	take_limit(plan, limit);
}

static bool skips_locked(const struct sql_query *q)
{
	for (const struct sql_lock *lock = q->locks; lock; lock = lock->next)
		if (lock->wait == SQL_LOCK_SKIP_LOCKED)
			return true;
	return false;
}

static void plan_query(struct read_plan *plan, const struct sql_query *q)
{
	if (q->kind != SQL_QUERY_SELECT || q->with || q->into || skips_locked(q) ||
		q->u.select.flags & SQL_SELECT_DISTINCT || q->u.select.group || q->u.select.having ||
		q->u.select.rollup || q->u.select.windows || q->u.select.qualify || q->u.select.procedure.ptr ||
		!is_one_table(q->u.select.from) || has_query(q->u.select.where) ||
		!are_plain_items(q->u.select.items))
		return;
	set_rows(plan, READ_PLAN_ROWS, q->u.select.from, q->u.select.where, q->limit);
}

static bool is_foreign_call(void *ctx, const struct sql_expr *e)
{
	*(bool *)ctx |= e->kind == SQL_EXPR_CALL && (e->u.call.db.ptr || !sql_is_native(e->u.call.name));
	return true;
}

/* A stored function reads and writes what it likes. */
static bool calls_stored(const struct sql_stmt *stmt)
{
	bool found = false;

	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = is_foreign_call, .ctx = &found});
	return found;
}

/* Is there a query anywhere in it? */
static bool asks(const struct sql_stmt *stmt)
{
	bool none = true;

	sql_walk_stmt(stmt, &(struct sql_visitor){.query = no_query, .ctx = &none});
	return !none;
}

static void plan_parsed(struct read_plan *plan, const struct sql_stmt *stmt)
{
	plan->kind = READ_PLAN_UNKNOWN;
	switch (stmt->kind) {
	case SQL_STMT_SELECT:
		plan->locking = sql_stmt_locking_read(stmt) != NULL;
		plan_query(plan, stmt->u.query);
		break;
	case SQL_STMT_UPDATE:
		if (is_one_table(stmt->u.update->tables) && !stmt->u.update->with &&
			!has_query(stmt->u.update->where) && !(stmt->u.update->flags & SQL_DML_IGNORE))
			set_rows(plan, READ_PLAN_UPDATE, stmt->u.update->tables, stmt->u.update->where,
				stmt->u.update->limit);
		for (const struct sql_assign *set = stmt->u.update->set; set; set = set->next)
			if (has_query(set->value))
				plan->kind = READ_PLAN_UNKNOWN;
		break;
	case SQL_STMT_DELETE:
		if (is_one_table(stmt->u.del->from) && !stmt->u.del->targets && !stmt->u.del->with &&
			!stmt->u.del->before && !has_query(stmt->u.del->where) &&
			!(stmt->u.del->flags & SQL_DML_IGNORE))
			set_rows(plan, READ_PLAN_DELETE, stmt->u.del->from, stmt->u.del->where,
				stmt->u.del->limit);
		break;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		/* By its keys alone. */
		if (!asks(stmt))
			plan->kind = READ_PLAN_NOTHING;
		break;
	default:
		if (sql_stmt_is_transaction_control(stmt) || (stmt->kind == SQL_STMT_SET && !asks(stmt)) ||
			stmt->kind == SQL_STMT_USE || stmt->kind == SQL_STMT_EMPTY)
			plan->kind = READ_PLAN_NOTHING;
		break;
	}
	if (plan->kind == READ_PLAN_UNKNOWN)
		sql_stmt_tables(stmt, add_read_table, plan);
}

/* What the session's sql_mode makes of the text is not known (MySQL's status flags do not tell of ANSI_QUOTES, and
 * || is OR, or joins strings). */
static bool depends_on_mode(struct span text, const struct sql_options *options)
{
	return memmem(text.ptr, text.len, "||", 2) ||
	       (options->flavour != SQL_MARIADB && memchr(text.ptr, '"', text.len));
}

static void print_condition(struct read_plan *plan, struct filling *f, const struct sql_options *options)
{
	struct sql_options print = *options;
	struct buf text = BUF_INIT;

	if (!plan->condition) {
		plan->where = SPAN_LIT("TRUE");
		return;
	}
	sql_walk_expr(plan->condition, &(struct sql_visitor){.expr = fill, .ctx = f});
	if (f->failed)
		return;
	print.mode = 0;
	sql_print_expr(plan->condition, &print, &text);
	plan->where = arena_copy(f->arena, buf_span(&text));
	buf_release(&text);
}

void read_plan_make(struct read_plan *plan, struct arena *arena, struct span text,
	const struct sql_options *options, struct span params)
{
	enum { PARAMS_MAX = 256 };
	struct value values[PARAMS_MAX];
	struct filling f = {.arena = arena, .values = values};
	struct mp mp = mp_over(params);
	uint32_t count = params.ptr ? mp_array(&mp) : 0;
	struct sql_stmt *stmt;

	*plan = (struct read_plan){.kind = READ_PLAN_UNKNOWN, .tables_cut = true};
	if (!text.ptr || !sql_parse(arena, text, options, &stmt, NULL))
		return;
	if (calls_stored(stmt))
		return;
	plan->tables_cut = false;
	plan_parsed(plan, stmt);
	if (plan->kind == READ_PLAN_UNKNOWN || plan->kind == READ_PLAN_NOTHING)
		return;
	while (f.count < count && f.count < PARAMS_MAX && value_read(&mp, &values[f.count]))
		f.count++;
	if (!(plan->condition && depends_on_mode(text, options)))
		print_condition(plan, &f, options);
	if (!plan->where.ptr) {
		plan->kind = READ_PLAN_UNKNOWN;
		sql_stmt_tables(stmt, add_read_table, plan);
	}
}

const struct sql_expr *read_plan_pin(const struct sql_expr *e, struct span column)
{
	const struct sql_expr *left, *right, *found;

	if (!e || e->kind != SQL_EXPR_BINARY)
		return NULL;
	left = e->u.binary.left;
	right = e->u.binary.right;
	if (e->op == SQL_OP_AND) {
		found = read_plan_pin(left, column);
		return found ? found : read_plan_pin(right, column);
	}
	if (e->op != SQL_OP_EQ)
		return NULL;
	if (left->kind == SQL_EXPR_LITERAL) {
		const struct sql_expr *swap = left;

		left = right;
		right = swap;
	}
	return left->kind == SQL_EXPR_COLUMN && span_ieq(left->u.column.name, column) &&
			       right->kind == SQL_EXPR_LITERAL
		       ? right
		       : NULL;
}
