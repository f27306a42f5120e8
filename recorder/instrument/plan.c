/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "instrument/plan.h"

#include <stdio.h>
#include <stdlib.h>

/* Functions whose result is made of several rows (manuals, "Aggregate Functions"). */
static const char *const aggregates[] = {"ANY_VALUE", "AVG", "BIT_AND", "BIT_OR", "BIT_XOR",
	"COUNT", "GROUP_CONCAT", "GROUPING", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "MAX", "MIN", "STD",
	"STDDEV", "STDDEV_POP", "STDDEV_SAMP", "ST_COLLECT", "SUM", "VARIANCE", "VAR_POP",
	"VAR_SAMP"};
/* ... that tell of the statement before. */
static const char *const looking_back[] = {"ROW_COUNT", "FOUND_ROWS"};
static const char *const looking_back_variables[] = {"warning_count", "error_count"};

struct planner {
	struct plan *plan;
	const struct instrument_tables *tables;
	struct span database;
	const struct sql_stmt *stmt;
	struct sql_options options;
};

static bool is_one_of(struct span name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (span_ieq_str(name, list[i]))
			return true;
	return false;
}

static struct instrument_table *find(const struct planner *p, const struct sql_table_name *name)
{
	return instrument_tables_find(p->tables, name->db.ptr ? name->db : p->database, name->name);
}

/* ---- what it looks at ---- */

/* ... that look at no table.  Any other may be a stored one that does. */
static const char *const harmless[] = {"ROW_COUNT", "FOUND_ROWS", "LAST_INSERT_ID", "CONNECTION_ID",
	"VERSION", "DATABASE", "SCHEMA", "USER", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER",
	"NOW", "SYSDATE", "UUID", "CONCAT", "SLEEP", "IF", "IFNULL", "COALESCE"};

/* ... that do something, or take something from a sequence of the session's. */
static const char *const active[] = {"BENCHMARK", "GET_LOCK", "LAST_INSERT_ID", "LASTVAL",
	"LOAD_FILE", "MASTER_GTID_WAIT", "MASTER_POS_WAIT", "NEXTVAL", "RAND", "RELEASE_ALL_LOCKS",
	"RELEASE_LOCK", "SETVAL", "SLEEP", "UUID_SHORT"};

struct look_state {
	const struct instrument_tables *tables; /* NULL: stored functions are not looked for */
	bool aggregate, looks_back, foreign_call, other_call, stored, active;
};

static bool is_stored(const struct instrument_tables *tables, struct span name)
{
	for (size_t i = 0; tables && i < tables->function_count; i++)
		if (span_ieq_str(name, tables->functions[i]))
			return true;
	return false;
}

static bool look_expr(void *ctx, const struct sql_expr *e)
{
	struct look_state *state = ctx;

	if (e->kind == SQL_EXPR_CALL) {
		const struct sql_call_extra *extra = e->u.call.extra;

		if (is_one_of(e->u.call.name, looking_back, ARRAY_LEN(looking_back)))
			state->looks_back = true;
		/* A window function leaves the rows as they are. */
		if (!(extra && extra->over) &&
			is_one_of(e->u.call.name, aggregates, ARRAY_LEN(aggregates)))
			state->aggregate = true;
		if (e->u.call.db.ptr)
			state->foreign_call = true;
		if (e->u.call.db.ptr || is_stored(state->tables, e->u.call.name))
			state->stored = true;
		if (is_one_of(e->u.call.name, active, ARRAY_LEN(active)))
			state->active = true;
		if (e->u.call.db.ptr || !is_one_of(e->u.call.name, harmless, ARRAY_LEN(harmless)))
			state->other_call = true;
	}
	if (e->kind == SQL_EXPR_ASSIGN || e->kind == SQL_EXPR_SEQUENCE)
		state->active = true;
	if (e->kind == SQL_EXPR_SYSTEM_VAR &&
		is_one_of(e->u.var.name, looking_back_variables, ARRAY_LEN(looking_back_variables)))
		state->looks_back = true;
	return true;
}

static bool no_query(void *ctx, const struct sql_query *query)
{
	(void)ctx;
	(void)query;
	return false;
}

/* Aggregates of the query itself, not of its subqueries. */
static struct look_state look_at_select(const struct sql_query *q)
{
	struct look_state state = {0};
	struct sql_visitor visitor = {.expr = look_expr, .query = no_query, .ctx = &state};

	for (const struct sql_item *item = q->u.select.items; item; item = item->next)
		sql_walk_expr(item->expr, &visitor);
	for (const struct sql_order *order = q->order; order; order = order->next)
		sql_walk_expr(order->expr, &visitor);
	return state;
}

static struct look_state look_at_all(
	const struct sql_stmt *stmt, const struct instrument_tables *tables)
{
	struct look_state state = {.tables = tables};
	struct sql_visitor visitor = {.expr = look_expr, .ctx = &state};

	sql_walk_stmt(stmt, &visitor);
	return state;
}

static bool looks_back(const struct sql_stmt *stmt)
{
	return look_at_all(stmt, NULL).looks_back;
}

static void count_table(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	static const char *const own[] = {
		"information_schema", "performance_schema", "mysql", "sys"};

	(void)ref;
	(void)access;
	if (!name->db.ptr || !is_one_of(name->db, own, ARRAY_LEN(own)))
		++*(size_t *)ctx;
}

static bool names_no_table(const struct sql_stmt *stmt)
{
	size_t count = 0;

	sql_stmt_tables(stmt, count_table, &count);
	return count == 0 && !look_at_all(stmt, NULL).other_call;
}

/* ---- tables that are not seen ---- */

static bool is_covered(const struct plan *plan, const struct instrument_table *table)
{
	for (size_t i = 0; i < plan->table_count; i++)
		if (plan->tables[i] == table)
			return true;
	return plan->predicate_of == table;
}

static void add_blind(struct plan *plan, const struct instrument_table *table)
{
	for (size_t i = 0; i < plan->blind_count; i++)
		if (plan->blind[i] == table)
			return;
	if (plan->blind_count < PLAN_TABLES_MAX)
		plan->blind[plan->blind_count++] = table;
}

static void note_table(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct planner *p = ctx;
	const struct instrument_table *table = find(p, name);

	(void)ref;
	if (table && access == SQL_TABLE_READ && !is_covered(p->plan, table))
		add_blind(p->plan, table);
}

void plan_leave_alone(struct plan *plan)
{
	for (size_t i = 0; i < plan->table_count; i++)
		add_blind(plan, plan->tables[i]);
	plan->table_count = 0;
	plan->predicate_of = NULL;
	plan->reads = plan->rewritten = false;
}

/* Tables whose rows it may change. */
static void note_written(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct planner *p = ctx;
	struct instrument_table *table = find(p, name);

	(void)ref;
	if (!table || access == SQL_TABLE_READ)
		return;
	if (p->plan->written_count < PLAN_TABLES_MAX)
		p->plan->written[p->plan->written_count++] = table;
	else
		p->plan->vague = p->plan->anywhere = true;
}

/* Changes that fire no triggers. */
static void note_disturbed(void *ctx, const struct sql_table_name *name,
	const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct planner *p = ctx;
	struct instrument_table *table = find(p, name);

	(void)ref;
	if (!table || access == SQL_TABLE_READ)
		return;
	atomic_store(&table->disturbed, true);
	switch (p->stmt->kind) {
	case SQL_STMT_CREATE_TABLE:
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_DROP_TABLE:
	case SQL_STMT_RENAME_TABLE:
		atomic_store(&table->altered, true);
		break;
	default:
		break;
	}
}

/* ---- predicates ---- */

struct param_state {
	uint32_t *indexes;
	size_t count;
};

static bool note_param(void *ctx, const struct sql_expr *e)
{
	struct param_state *state = ctx;

	if (e->kind == SQL_EXPR_PARAM && state->count++ < PLAN_PARAMS_MAX)
		state->indexes[state->count - 1] = e->u.param;
	return true;
}

/* The places of the parameters in text that has no comments.  How many; more than
 * PLAN_PARAMS_MAX: too many. */
static size_t find_params(struct plan_template *template, const uint32_t *indexes)
{
	struct span text = buf_span(&template->text);
	size_t count = 0;
	char quote = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];

		if (quote) {
			if (c == '\\' && quote != '`')
				i++;
			else if (c == quote)
				quote = 0; /* a doubled one opens it again */
		} else if (c == '\'' || c == '"' || c == '`') {
			quote = c;
		} else if (c == '?' && count++ < PLAN_PARAMS_MAX) {
			template->params[count - 1] =
				(struct plan_param){indexes[count - 1], (uint32_t)i};
		}
	}
	template->count = count < PLAN_PARAMS_MAX ? count : PLAN_PARAMS_MAX;
	return count;
}

/* ... whose result is made of their arguments alone, in every session. */
static const char *const constant[] = {"ABS", "ASCII", "BIT_LENGTH", "CEIL", "CEILING",
	"CHAR_LENGTH", "COALESCE", "CONCAT", "FLOOR", "GREATEST", "HEX", "IF", "IFNULL", "INSTR",
	"LEAST", "LEFT", "LENGTH", "LOCATE", "LOWER", "MOD", "NULLIF", "POW", "REPLACE", "REVERSE",
	"RIGHT", "ROUND", "SIGN", "SUBSTR", "SUBSTRING", "TRUNCATE", "UPPER"};

static bool note_shared(void *ctx, const struct sql_expr *e)
{
	bool *shared = ctx;

	switch (e->kind) {
	case SQL_EXPR_LITERAL:
	case SQL_EXPR_COLUMN:
	case SQL_EXPR_PARAM:
	case SQL_EXPR_UNARY:
	case SQL_EXPR_BINARY:
	case SQL_EXPR_IS:
	case SQL_EXPR_IN:
	case SQL_EXPR_BETWEEN:
	case SQL_EXPR_LIKE:
	case SQL_EXPR_ROW:
	case SQL_EXPR_CASE:
	case SQL_EXPR_TRIM:
	case SQL_EXPR_POSITION:
		break;
	case SQL_EXPR_CALL:
		if (e->u.call.db.ptr || !is_one_of(e->u.call.name, constant, ARRAY_LEN(constant)))
			*shared = false;
		break;
	default:
		*shared = false;
	}
	return *shared;
}

static bool no_shared_query(void *ctx, const struct sql_query *query)
{
	(void)query;
	*(bool *)ctx = false;
	return false;
}

/* Whether a predicate takes the same rows in every session: no variables, time or subqueries. */
static bool is_shared(const struct sql_expr *where)
{
	bool shared = true;
	struct sql_visitor visitor = {
		.expr = note_shared, .query = no_shared_query, .ctx = &shared};

	sql_walk_expr(where, &visitor);
	return shared;
}

/* Printed anew, as the tree has no parentheses of the text; always with backslashes in strings. */
static void set_predicate(
	struct planner *p, const struct instrument_table *table, const struct sql_expr *where)
{
	uint32_t indexes[PLAN_PARAMS_MAX];
	struct param_state state = {.indexes = indexes};
	struct sql_visitor visitor = {.expr = note_param, .ctx = &state};
	struct sql_options print = p->options;
	struct plan *plan = p->plan;

	if (!where) {
		plan->predicate_of = table;
		buf_add_str(&plan->predicate.text, "TRUE");
		return;
	}
	print.mode = 0;
	sql_walk_expr(where, &visitor);
	sql_print_expr(where, &print, &plan->predicate.text);
	if (state.count > PLAN_PARAMS_MAX ||
		find_params(&plan->predicate, indexes) != state.count) {
		buf_clear(&plan->predicate.text);
		plan->predicate.count = 0;
		return;
	}
	plan->predicate_of = table;
	plan->shared = p->tables->predicates && is_shared(where);
}

/* The one table of a FROM clause; NULL when there are others. */
static const struct sql_table_ref *only_table(const struct sql_table_ref *from)
{
	return from && !from->next && from->kind == SQL_TABLE_NAME ? from : NULL;
}

/* Does WHERE alone say which rows of the table are meant?  Not with PARTITION (p), nor with a time
 * of a system-versioned table, and with a LIMIT the rows that came are not all that match. */
static bool where_is_all(const struct sql_table_ref *ref, const struct sql_limit *limit)
{
	return !limit && !ref->u.name.partitions && !ref->u.name.system_time &&
	       !ref->u.name.portion.ptr;
}

/* ---- reads ---- */

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* The place of FROM behind the select list's last expression: an alias and a closing bracket may
 * come before it. 0: not found. */
static size_t find_from(struct span text, size_t at)
{
	while (at < text.len) {
		const char *p = text.ptr + at;
		size_t left = text.len - at;

		if (is_space(*p)) {
			at++;
		} else if (left >= 2 && p[0] == '/' && p[1] == '*') {
			const char *end = memmem(p + 2, left - 2, "*/", 2);

			if (!end || p[2] == '!' || p[2] == 'M')
				return 0;
			at = (size_t)(end + 2 - text.ptr);
		} else if (*p == '#' ||
			   (left >= 3 && p[0] == '-' && p[1] == '-' && is_space(p[2]))) {
			const char *end = memchr(p, '\n', left);

			if (!end)
				return 0;
			at = (size_t)(end + 1 - text.ptr);
		} else if (*p == '`' || *p == '\'' || *p == '"') {
			const char *end = memchr(p + 1, *p, left - 1);

			if (!end || memchr(p, '\\', (size_t)(end - p)))
				return 0;
			at = (size_t)(end + 1 - text.ptr);
		} else if (is_word(*p)) {
			size_t len = 1;

			while (len < left && is_word(p[len]))
				len++;
			if (span_ieq_str(span_of(p, len), "FROM"))
				return at;
			at += len;
		} else if (*p == ')') {
			at++;
		} else {
			return 0;
		}
	}
	return 0;
}

/* How the rows of a table are called in its statement. */
static void add_row_name(struct buf *row, const struct sql_table_ref *ref)
{
	if (ref->alias.ptr) {
		instrument_add_name(row, ref->alias);
		return;
	}
	if (ref->u.name.table.db.ptr) {
		instrument_add_name(row, ref->u.name.table.db);
		buf_add_char(row, '.');
	}
	instrument_add_name(row, ref->u.name.table.name);
}

static void add_appended(
	struct planner *p, const struct sql_table_ref *ref, const struct instrument_table *table)
{
	struct plan *plan = p->plan;
	bool select = p->tables->mode == INSTRUMENT_SELECT;
	struct buf *out = select && !plan->client_probe ? &plan->columns : &plan->text;
	struct buf row = BUF_INIT;

	add_row_name(&row, ref);
	if (out == &plan->text || out->len)
		buf_add_str(out, ", ");
	if (!plan->client_probe) {
		buf_add_str(out, "cast(concat(");
		instrument_add_key(out, table, row.data);
		buf_printf(
			out, ",'|',cast(%s." VERSION_COLUMN " as binary)) as binary) ", row.data);
	} else {
		instrument_add_whole(out, table, row.data);
	}
	plan->tables[plan->table_count++] = table;
	buf_release(&row);
}

/* Appends for each base table of a join.  False: too many. */
static bool append_tables(struct planner *p, const struct sql_table_ref *ref)
{
	for (; ref; ref = ref->next) {
		const struct instrument_table *table;

		switch (ref->kind) {
		case SQL_TABLE_NAME:
			table = find(p, &ref->u.name.table);
			if (!table || atomic_load(&table->altered) ||
				ref->u.name.system_time != SQL_SYSTEM_TIME_NONE)
				break;
			if (p->plan->table_count == PLAN_TABLES_MAX)
				return false;
			add_appended(p, ref, table);
			break;
		case SQL_TABLE_JOIN:
			if (!append_tables(p, ref->u.join.left) ||
				!append_tables(p, ref->u.join.right))
				return false;
			break;
		case SQL_TABLE_NEST:
			if (!append_tables(p, ref->u.nest))
				return false;
			break;
		case SQL_TABLE_DERIVED:
		case SQL_TABLE_FUNC:
			break;
		}
	}
	return true;
}

/* Names that a CTE hides are not tables; such a query is left alone. */
static bool can_append(const struct planner *p, const struct sql_query *q)
{
	struct look_state state;

	if (q->kind != SQL_QUERY_SELECT || q->with || q->into || !q->u.select.from ||
		(q->u.select.flags & SQL_SELECT_DISTINCT) || q->u.select.group ||
		q->u.select.having || q->u.select.rollup || q->u.select.procedure.ptr ||
		p->stmt->text.len > PLAN_TEXT_MAX)
		return false;
	state = look_at_select(q);
	return !state.aggregate && !state.foreign_call;
}

/* Select mode: what follows FROM, to be asked once more with other columns. */
static void set_tail(struct planner *p, struct span text, size_t at)
{
	uint32_t indexes[PLAN_PARAMS_MAX];
	struct plan_template before = {0};
	struct plan_template *tail = &p->plan->tail;
	uint32_t nothing[PLAN_PARAMS_MAX] = {0};
	size_t first;

	buf_add(&tail->text, text.ptr + at, text.len - at);
	if (memchr(text.ptr, '?', text.len)) {
		bool comments = memmem(text.ptr, text.len, "/*", 2) ||
				memmem(text.ptr, text.len, "--", 2) ||
				memchr(text.ptr, '#', text.len);

		buf_add(&before.text, text.ptr, at);
		first = find_params(&before, nothing);
		for (size_t i = 0; i < PLAN_PARAMS_MAX; i++)
			indexes[i] = (uint32_t)(first + i);
		if (comments || first > PLAN_PARAMS_MAX ||
			find_params(tail, indexes) > PLAN_PARAMS_MAX) {
			buf_clear(&tail->text);
			tail->count = 0;
		}
		buf_release(&before.text);
	}
}

static void plan_read(struct planner *p, const struct sql_query *q)
{
	const struct sql_item *last = q->kind == SQL_QUERY_SELECT ? q->u.select.items : NULL;
	struct plan *plan = p->plan;
	struct span text = p->stmt->text;
	size_t at;

	if (!can_append(p, q) || !last)
		return;
	while (last->next)
		last = last->next;
	at = find_from(text, last->expr->loc.end);
	if (!at)
		return;
	buf_add(&plan->text, text.ptr, at);
	if (!append_tables(p, q->u.select.from)) {
		plan->table_count = 0;
		return;
	}
	if (!plan->table_count)
		return;
	if (p->tables->mode == INSTRUMENT_SELECT && !plan->client_probe) {
		set_tail(p, text, at);
		if (!plan->plain || !plan->tail.text.len) {
			plan->table_count = 0;
			return;
		}
	} else {
		buf_add_char(&plan->text, ' ');
		buf_add(&plan->text, text.ptr + at, text.len - at);
		plan->rewritten = true;
	}
	plan->reads = true;
	if (only_table(q->u.select.from) && where_is_all(q->u.select.from, q->limit))
		set_predicate(p, plan->tables[0], q->u.select.where);
}

/* ---- writes ---- */

static void plan_condition(struct planner *p, const struct sql_table_ref *tables,
	const struct sql_expr *where, const struct sql_limit *limit)
{
	const struct sql_table_ref *ref = only_table(tables);
	const struct instrument_table *table = ref ? find(p, &ref->u.name.table) : NULL;

	if (table && where_is_all(ref, limit))
		set_predicate(p, table, where);
}

/* ---- writes in select mode ---- */

/* The table that a statement writes, and how it is called. */
static void set_target(struct planner *p, const struct sql_table_ref *ref, enum plan_write write)
{
	struct plan *plan = p->plan;
	struct instrument_table *table = ref ? find(p, &ref->u.name.table) : NULL;

	if (!table || !plan->plain || p->tables->mode != INSTRUMENT_SELECT ||
		plan->predicate_of != table)
		return;
	add_row_name(&plan->row, ref);
	if (ref->u.name.table.db.ptr) {
		instrument_add_name(&plan->source, ref->u.name.table.db);
		buf_add_char(&plan->source, '.');
	}
	instrument_add_name(&plan->source, ref->u.name.table.name);
	if (ref->alias.ptr) {
		buf_add_str(&plan->source, " as ");
		instrument_add_name(&plan->source, ref->alias);
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

static bool sets_key(const struct instrument_table *table, const struct sql_assign *set)
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
	struct sql_visitor visitor = {.expr = note_param, .ctx = params};
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
		instrument_add_name(out, span_str(table->columns[table->key[i]].name));
		buf_add_str(out, " = ");
		sql_walk_expr(e, &visitor);
		sql_print_expr(e, &print, out);
	}
	buf_add_char(out, ')');
	return true;
}

/* Where the new rows will be: by their keys, if the statement has them. */
static void set_insert(struct planner *p, const struct sql_insert *ins, bool replaces)
{
	struct plan *plan = p->plan;
	struct instrument_table *table = find(p, &ins->table);
	uint32_t indexes[PLAN_PARAMS_MAX];
	struct param_state state = {.indexes = indexes};
	const struct sql_values_row *row = ins->rows;
	size_t rows = 0;
	bool known = !ins->query;

	if (!table || !plan->plain || p->tables->mode != INSTRUMENT_SELECT ||
		sets_key(table, ins->on_duplicate) ||
		((replaces || ins->on_duplicate) && table->other_unique))
		return;
	instrument_add_name(&plan->source, span_str(table->database));
	buf_add_char(&plan->source, '.');
	instrument_add_name(&plan->source, span_str(table->name));
	buf_add_span(&plan->row, buf_span(&plan->source));
	plan->target = table;
	plan->write = replaces            ? PLAN_WRITE_REPLACE
		      : ins->on_duplicate ? PLAN_WRITE_UPSERT
					  : PLAN_WRITE_INSERT;
	for (; known && (row || (ins->set && !rows)); row = row ? row->next : NULL, rows++)
		known = rows < PLAN_ROWS_MAX && add_key_condition(p, ins, row, table, &state);
	known = known && state.count <= PLAN_PARAMS_MAX &&
		find_params(&plan->keys, indexes) == state.count;
	if (known)
		return;
	buf_clear(&plan->keys.text);
	plan->keys.count = 0;
	plan->counts_key = table->auto_key && !ins->query && (!ins->rows || !ins->rows->next);
	/* What a REPLACE of unknown rows deletes is not seen. */
	if (replaces && !plan->counts_key)
		plan->target = NULL;
}

static bool mentions(struct span text, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
		if (strncasecmp(text.ptr + i, word, len) == 0)
			return true;
	return false;
}

/* SHOW WARNINGS, SHOW ERRORS, SHOW COUNT(*) WARNINGS */
static bool shows_diagnostics(struct span text)
{
	struct span beginning = span_of(text.ptr, text.len < 64 ? text.len : 64);

	return mentions(beginning, "warnings") || mentions(beginning, "errors");
}

static void plan_parsed(struct planner *p)
{
	const struct sql_stmt *stmt = p->stmt;
	struct plan *plan = p->plan;

	switch (stmt->kind) {
	case SQL_STMT_EMPTY:
	case SQL_STMT_BEGIN:
	case SQL_STMT_COMMIT:
	case SQL_STMT_ROLLBACK:
	case SQL_STMT_SAVEPOINT:
	case SQL_STMT_ROLLBACK_TO:
	case SQL_STMT_RELEASE_SAVEPOINT:
	case SQL_STMT_SET_TRANSACTION:
	case SQL_STMT_XA:
	case SQL_STMT_USE:
	case SQL_STMT_EXPLAIN:
	case SQL_STMT_PREPARE:
	case SQL_STMT_DEALLOCATE:
	case SQL_STMT_KILL:
	case SQL_STMT_HELP:
	case SQL_STMT_LOCK_TABLES:
	case SQL_STMT_UNLOCK_TABLES:
		plan->no_tables = true;
		return;
	case SQL_STMT_SHOW:
		plan->no_tables = true;
		plan->diagnostics = shows_diagnostics(stmt->text);
		return;
	case SQL_STMT_GET_DIAGNOSTICS:
		plan->diagnostics = true;
		return;
	case SQL_STMT_SET:
	case SQL_STMT_DO:
		plan->diagnostics = looks_back(stmt);
		/* SET autocommit ends a transaction. */
		plan->idle = names_no_table(stmt) && !mentions(stmt->text, "autocommit");
		return;
	case SQL_STMT_SELECT:
		plan->diagnostics = looks_back(stmt);
		/* What a stored function writes is logged like anything else. */
		if (look_at_all(stmt, p->tables).stored)
			plan->writes = plan->vague = plan->anywhere = true;
		plan->no_tables = names_no_table(stmt);
		plan->idle = plan->no_tables && !plan->writes;
		plan->locking = sql_stmt_locking_read(stmt) != NULL;
		plan_read(p, stmt->u.query);
		sql_stmt_tables(stmt, note_table, p);
		return;
	case SQL_STMT_UPDATE:
		plan->writes = true;
		plan->diagnostics = looks_back(stmt);
		if (!stmt->u.update->with)
			plan_condition(p, stmt->u.update->tables, stmt->u.update->where,
				stmt->u.update->limit);
		if (!sets_key(plan->predicate_of, stmt->u.update->set))
			set_target(p, only_table(stmt->u.update->tables), PLAN_WRITE_UPDATE);
		sql_stmt_tables(stmt, note_table, p);
		return;
	case SQL_STMT_DELETE:
		plan->writes = true;
		plan->diagnostics = looks_back(stmt);
		if (!stmt->u.del->with && !stmt->u.del->targets)
			plan_condition(
				p, stmt->u.del->from, stmt->u.del->where, stmt->u.del->limit);
		set_target(p, only_table(stmt->u.del->from), PLAN_WRITE_DELETE);
		sql_stmt_tables(stmt, note_table, p);
		return;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
		plan->writes = true;
		plan->diagnostics = looks_back(stmt);
		set_insert(p, stmt->u.insert, stmt->kind == SQL_STMT_REPLACE);
		sql_stmt_tables(stmt, note_table, p);
		return;
	case SQL_STMT_LOAD_DATA:
		plan->writes = true;
		return;
	case SQL_STMT_CREATE_TABLE:
	case SQL_STMT_ALTER_TABLE:
	case SQL_STMT_DROP_TABLE:
	case SQL_STMT_RENAME_TABLE:
	case SQL_STMT_TRUNCATE:
	case SQL_STMT_CREATE_INDEX:
	case SQL_STMT_DROP_INDEX:
	case SQL_STMT_CREATE_TRIGGER:
		sql_stmt_tables(stmt, note_disturbed, p);
		plan->writes = plan->vague = true;
		return;
	default:
		/* Routines, EXECUTE, what is not known: rows may be written. */
		plan->writes = plan->vague = plan->anywhere = true;
		return;
	}
}

/* ---- all ---- */

static struct buf *buffers_of(struct plan *plan, size_t index)
{
	struct buf *const all[] = {&plan->text, &plan->predicate.text, &plan->columns,
		&plan->tail.text, &plan->source, &plan->row, &plan->keys.text};

	return index < ARRAY_LEN(all) ? all[index] : NULL;
}

/* Keeps the buffers' memory. */
static void plan_clear(struct plan *plan)
{
	struct plan empty = {0};

	for (size_t i = 0; buffers_of(plan, i); i++) {
		buf_clear(buffers_of(plan, i));
		*buffers_of(&empty, i) = *buffers_of(plan, i);
	}
	*plan = empty;
}

/* The comment that a statement begins with, where it says that the statement is a probe. */
static int client_probe_of(struct span text)
{
	static const char *const marks[] = {"BWR", "AWR", "VSR", "PM", "BPM", "APM"};
	const char *end;
	struct span word;

	while (text.len && is_space(*text.ptr))
		text = span_of(text.ptr + 1, text.len - 1);
	if (text.len < 4 || memcmp(text.ptr, "/*", 2) != 0)
		return 0;
	end = memmem(text.ptr + 2, text.len - 2, "*/", 2);
	if (!end)
		return 0;
	word = span_of(text.ptr + 2, (size_t)(end - text.ptr) - 2);
	while (word.len && is_space(*word.ptr))
		word = span_of(word.ptr + 1, word.len - 1);
	while (word.len && is_space(word.ptr[word.len - 1]))
		word.len--;
	if (word.len > 7 && span_ieq_str(span_of(word.ptr, 7), "isorec:")) {
		word = span_of(word.ptr + 7, word.len - 7);
		while (word.len && is_space(*word.ptr))
			word = span_of(word.ptr + 1, word.len - 1);
	}
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (span_eq_str(word, marks[i]))
			return (int)(PROBE_BWR + i) + 1;
	return 0;
}

void plan_statement(struct plan *plan, const struct instrument_tables *tables, struct span text,
	struct span database, const struct sql_options *options)
{
	struct arena arena = ARENA_INIT;
	struct sql_stmt *stmt;
	struct planner p = {
		.plan = plan, .tables = tables, .database = database, .options = *options};

	plan_clear(plan);
	plan->client_probe = tables->mode == INSTRUMENT_SELECT ? client_probe_of(text) : 0;
	/* What an executable comment holds depends on the server. */
	if (memmem(text.ptr, text.len, "/*!", 3) || memmem(text.ptr, text.len, "/*M!", 4) ||
		!sql_parse(&arena, text, options, &stmt, NULL)) {
		plan->writes = plan->vague = plan->anywhere = true;
	} else {
		struct look_state state = look_at_all(stmt, tables);

		p.stmt = stmt;
		plan->plain = !state.active && !state.stored;
		plan_parsed(&p);
		if (plan->writes)
			sql_stmt_tables(stmt, note_written, &p);
	}
	arena_release(&arena);
}

void plan_copy(struct plan *to, const struct plan *from)
{
	struct plan copy = *from;

	for (size_t i = 0; buffers_of(to, i); i++) {
		struct buf kept = *buffers_of(to, i);

		buf_clear(&kept);
		buf_add_span(&kept, buf_span(buffers_of(&copy, i)));
		*buffers_of(&copy, i) = kept;
	}
	*to = copy;
}

void plan_release(struct plan *plan)
{
	for (size_t i = 0; buffers_of(plan, i); i++)
		buf_release(buffers_of(plan, i));
	*plan = (struct plan){0};
}

void plan_fill(const struct plan_template *template, const struct span *literals, size_t count,
	struct buf *out)
{
	struct span text = buf_span(&template->text);
	size_t at = 0;

	for (size_t i = 0; i < template->count; i++) {
		const struct plan_param *param = &template->params[i];

		buf_add(out, text.ptr + at, param->offset - at);
		if (param->index < count)
			buf_add_span(out, literals[param->index]);
		else
			buf_add_char(out, '?');
		at = param->offset + 1;
	}
	buf_add(out, text.ptr + at, text.len - at);
}
