/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes: which rows they take, and where select mode finds them again. */
#include "instrument/plan_internal.h"
#include "sql/sql.h"

/* Do the values of an UPDATE come out of queries?  Their tables are none of the condition's. */
static bool values_come_from_queries(const struct planner *p)
{
	const struct sql_assign *set =
		p->stmt->kind == SQL_STMT_UPDATE ? p->stmt->u.update->set : NULL;

	for (; set; set = set->next)
		if (plan_has_query(set->value))
			return true;
	return false;
}

static struct sql_query query_of(const struct plan_clauses *clauses)
{
	struct sql_query q = {
		.kind = SQL_QUERY_SELECT, .order = clauses->order, .limit = clauses->limit};

	q.u.select.from = clauses->tables;
	q.u.select.where = clauses->where;
	return q;
}

/* The condition as a query: WHERE has subqueries, or there are several tables. */
static bool set_joint_condition(struct planner *p, const struct plan_clauses *clauses,
	const struct instrument_table *table)
{
	struct sql_query q = query_of(clauses);

	if (!plan_set_joint(p, &q, true))
		return false;
	p->plan->predicate_of = table;
	p->plan->parts = !values_come_from_queries(p);
	return true;
}

/* Prepared tables that a statement names. */
struct naming {
	const struct planner *planner;
	const struct instrument_table *tables[PLAN_TABLES_MAX];
	bool written[PLAN_TABLES_MAX];
	size_t count;
	bool odd; /* one twice, or too many */
};

static void note_naming(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct naming *naming = ctx;
	const struct instrument_table *table = plan_find(naming->planner, name);

	(void)ref;
	if (!table)
		return;
	for (size_t i = 0; i < naming->count; i++)
		naming->odd |= naming->tables[i] == table;
	if (naming->count == PLAN_TABLES_MAX) {
		naming->odd = true;
		return;
	}
	naming->tables[naming->count] = table;
	naming->written[naming->count++] = access == SQL_TABLE_WRITE;
}

/* A column that is set, looked for in a condition. */
struct reading {
	const struct sql_expr *column;
	bool found;
};

static bool note_reading(void *ctx, const struct sql_expr *e)
{
	struct reading *reading = ctx;
	struct span table = reading->column->u.column.table;

	if (e->kind == SQL_EXPR_COLUMN && span_ieq(e->u.column.name, reading->column->u.column.name))
		reading->found |= !e->u.column.table.ptr || span_ieq(e->u.column.table, table);
	return true;
}

/* Rows of the first table are written while the join goes on, and what is set there may already be
 * in force when it comes to the others. */
static bool reads_what_it_sets(const struct sql_assign *set, const struct sql_query *q)
{
	struct reading reading = {0};

	for (; set && !reading.found; set = set->next) {
		reading.column = set->target;
		sql_walk_query(q, &(struct sql_visitor){.expr = note_reading, .ctx = &reading});
	}
	return reading.found;
}

/* UPDATE and DELETE of several tables: of those that it writes the log has every row that takes part
 * in the join, be it that nothing changes.  Which these are must be plain, and each be named once:
 * rows of another mention are in no log. */
static void set_listed_condition(struct planner *p, const struct plan_clauses *clauses)
{
	const struct sql_assign *set =
		p->stmt->kind == SQL_STMT_UPDATE ? p->stmt->u.update->set : NULL;
	struct sql_query q = query_of(clauses);
	struct naming naming = {.planner = p};
	struct stmt_plan *plan = p->plan;

	for (const struct sql_assign *s = set; s; s = s->next)
		if (!s->target->u.column.table.ptr)
			return;
	sql_stmt_tables(p->stmt, note_naming, &naming);
	if (naming.odd || clauses->limit)
		return;
	for (size_t i = 0; i < naming.count; i++)
		if (naming.written[i])
			plan->listed[plan->listed_count++] = naming.tables[i];
	if (!plan->listed_count || (plan->listed_count > 1 && reads_what_it_sets(set, &q)) ||
		!set_joint_condition(p, clauses, plan->listed[0]))
		plan->listed_count = 0;
}

void plan_condition(struct planner *p, const struct plan_clauses *clauses)
{
	const struct sql_table_ref *ref = plan_only_table(clauses->tables);
	const struct instrument_table *table = ref ? plan_find(p, &ref->u.name.table) : NULL;
	bool select = p->tables->mode == INSTRUMENT_SELECT;

	if (!ref && !select)
		set_listed_condition(p, clauses);
	/* In select mode the rows that a LIMIT leaves out cannot be distinguished from the others. */
	if (!table || (clauses->limit && select) ||
		!plan_where_is_all(p, ref, clauses->where, clauses->limit))
		return;
	/* Select mode asks for the rows of a write by its condition. */
	if (plan_has_query(clauses->where) && !select) {
		set_joint_condition(p, clauses, table);
	} else {
		struct sql_query q = query_of(clauses);

		plan_set_predicate(p, table, clauses->where);
		if (!select)
			plan_set_first_rows(p, &q, table);
	}
}

static bool values_have_query(const struct sql_insert *ins)
{
	for (const struct sql_values_row *row = ins->rows; row; row = row->next)
		for (const struct sql_expr *e = row->values.first; e; e = e->next)
			if (plan_has_query(e))
				return true;
	for (const struct sql_assign *set = ins->set; set; set = set->next)
		if (plan_has_query(set->value))
			return true;
	return false;
}

/* The rows that an INSERT of values meets are those of its own keys, and it writes each: it passes
 * over none.  With IGNORE it may leave some alone. */
void plan_set_keyed(struct planner *p, const struct sql_insert *ins)
{
	if (ins->query || values_have_query(ins))
		return;
	p->plan->keyed = true;
	if (!(ins->flags & SQL_DML_IGNORE))
		return;
	p->plan->insert_rows = ins->set ? 1 : 0;
	for (const struct sql_values_row *row = ins->rows; row; row = row->next)
		p->plan->insert_rows++;
}

/* ---- writes in select mode ---- */

void plan_set_target(struct planner *p, const struct sql_table_ref *ref, enum plan_write write)
{
	struct stmt_plan *plan = p->plan;
	struct instrument_table *table = ref ? plan_find(p, &ref->u.name.table) : NULL;

	if (!table || !plan->plain || p->tables->mode != INSTRUMENT_SELECT ||
		plan->predicate_of != table)
		return;
	plan_add_row_name(&plan->row, ref);
	/* In full: it may be asked for where another database is the current one. */
	sql_print_name(span_str(table->database), &plan->source);
	buf_add_char(&plan->source, '.');
	sql_print_name(ref->u.name.table.name, &plan->source);
	if (ref->alias.ptr) {
		buf_add_str(&plan->source, " as ");
		sql_print_name(ref->alias, &plan->source);
	}
	plan->target = table;
	plan->write = write;
}

static bool is_key(const struct instrument_table *table, struct span name)
{
	for (size_t i = 0; i < table->key_count; i++)
		if (span_ieq_str(name, table->columns[table->key[i]].name))
			return true;
	return false;
}

bool plan_sets_key(const struct instrument_table *table, const struct sql_assign *set)
{
	for (; set; set = set->next)
		if (!table || is_key(table, set->target->u.column.name))
			return true;
	return false;
}

static const struct sql_expr *nth(const struct sql_exprs *list, size_t index)
{
	const struct sql_expr *e = list->first;

	while (e && index--)
		e = e->next;
	return e;
}

/* The value that a row of an INSERT gives a column; NULL: none. */
static const struct sql_expr *value_for(const struct sql_insert *ins,
	const struct sql_values_row *row, const struct instrument_table *table, uint32_t column)
{
	size_t at = 0;

	for (const struct sql_assign *set = ins->set; set; set = set->next)
		if (span_ieq_str(set->target->u.column.name, table->columns[column].name))
			return set->value;
	if (!row || ins->set)
		return NULL;
	if (!ins->has_columns)
		return nth(&row->values, column);
	for (const struct sql_expr *e = ins->columns.first; e; e = e->next, at++)
		if (span_ieq_str(e->u.column.name, table->columns[column].name))
			return nth(&row->values, at);
	return NULL;
}

/* One row's key as a condition.  False: it is not in the text. */
static bool add_key_condition(struct planner *p, const struct sql_insert *ins,
	const struct sql_values_row *row, const struct instrument_table *table,
	struct param_state *params)
{
	struct sql_visitor visitor = {.expr = plan_note_param, .ctx = params};
	struct sql_options print = p->options;
	struct buf *out = &p->plan->keys.text;

	print.mode = 0;
	buf_add_str(out, out->len ? " or (" : "(");
	for (size_t i = 0; i < table->key_count; i++) {
		const struct sql_expr *e = value_for(ins, row, table, table->key[i]);

		if (!e || (e->kind != SQL_EXPR_LITERAL && e->kind != SQL_EXPR_PARAM &&
				  e->kind != SQL_EXPR_UNARY))
			return false;
		if (e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_NULL)
			return false;
		buf_add_str(out, i ? " and " : "");
		sql_print_name(span_str(table->columns[table->key[i]].name), out);
		buf_add_str(out, " = ");
		sql_walk_expr(e, &visitor);
		sql_print_expr(e, &print, out);
	}
	buf_add_char(out, ')');
	return true;
}

void plan_set_insert(struct planner *p, const struct sql_insert *ins, bool replaces)
{
	struct stmt_plan *plan = p->plan;
	struct instrument_table *table = plan_find(p, &ins->table);
	uint32_t indexes[PLAN_PARAMS_MAX];
	struct param_state state = {.indexes = indexes};
	const struct sql_values_row *row = ins->rows;
	size_t rows = 0;
	bool known = !ins->query;

	if (!table || !plan->plain || p->tables->mode != INSTRUMENT_SELECT ||
		plan_sets_key(table, ins->on_duplicate) ||
		((replaces || ins->on_duplicate) && table->unique_count))
		return;
	sql_print_name(span_str(table->database), &plan->source);
	buf_add_char(&plan->source, '.');
	sql_print_name(span_str(table->name), &plan->source);
	buf_add_span(&plan->row, buf_span(&plan->source));
	plan->target = table;
	plan->write = replaces            ? PLAN_WRITE_REPLACE
		      : ins->on_duplicate ? PLAN_WRITE_UPSERT
					  : PLAN_WRITE_INSERT;
	for (; known && (row || (ins->set && !rows)); row = row ? row->next : NULL, rows++)
		known = rows < PLAN_ROWS_MAX && add_key_condition(p, ins, row, table, &state);
	known = known && state.count <= PLAN_PARAMS_MAX &&
		plan_find_params(&plan->keys, indexes) == state.count;
	if (known)
		return;
	buf_clear(&plan->keys.text);
	plan->keys.count = 0;
	plan->counts_key = table->auto_key && !ins->query && (!ins->rows || !ins->rows->next);
	/* What a REPLACE of unknown rows deletes is not seen. */
	if (replaces && !plan->counts_key)
		plan->target = NULL;
}
