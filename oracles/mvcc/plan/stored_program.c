/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/plan/stored_program.h"

#include <ctype.h>

#include "base/buf.h"
#include "mvcc/execute/stored_program_exec.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/plan/plan.h"
#include "mvcc/plan/session_settings.h"
#include "mvcc/plan/sql_view.h"
#include "mvcc/solver.h"
#include "trace/pack.h"

struct program {
	const struct record_program *in;
	const struct sql_program *tree; /* NULL: not known */
};

struct programs {
	struct program *list;
	size_t count;
	bool unknown; /* some may have been made, changed or dropped since */
	bool functions_write; /* a function may change rows, and so may a view that calls it */
};

/* ---- which there are ---- */

/* May the text define a program, or do away with one?  A look at its words: it may be a piece of what is put
 * together. */
static bool may_define(struct span text)
{
	static const char *const verbs[] = {"create", "alter", "drop"},
				 *const things[] = {"procedure", "function", "trigger", "package", "database",
					 "schema"};

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		for (size_t j = 0; span_ihas(text, verbs[i]) && j < ARRAY_LEN(things); j++) {
			if (span_ihas(text, things[j]))
				return true;
		}
	}
	return false;
}

/* CREATE [OR REPLACE] [DEFINER = ...] EVENT or ALTER [DEFINER = ...] EVENT, perhaps as a text that is prepared. */
static bool defines_event(struct span text)
{
	static const char *const verbs[] = {"create", "alter", "replace"};
	const size_t len = strlen("event");

	if (!span_ihas(text, "event"))
		return false;
	for (size_t i = 1; i + len < text.len; i++) {
		size_t end = i;

		if (!span_istarts(span_of(text.ptr + i, text.len - i), "event"))
			continue;
		while (end && isspace((unsigned char)text.ptr[end - 1]))
			end--;
		if (!end || (end == i && text.ptr[end - 1] != '/')) /* a comment ends there */
			continue;
		if (text.ptr[end - 1] == '/' || span_ihas(span_of(text.ptr, end), "definer"))
			return true;
		for (size_t v = 0; v < ARRAY_LEN(verbs); v++) {
			size_t verb = strlen(verbs[v]);

			if (end >= verb && span_istarts(span_of(text.ptr + end - verb, verb), verbs[v]))
				return true;
		}
	}
	return false;
}

bool events_may_write(const struct schedule *s)
{
	const struct execution *e = s->execution;
	struct span scheduler = execution_variable(e, "event_scheduler");
	bool runs = !span_ieq_str(scheduler, "OFF") && !span_ieq_str(scheduler, "DISABLED");
	bool any = execution_variable(e, EVENTS_VARIABLE).ptr || defines_event(e->scenario);

	for (size_t i = 0; i < s->stmt_count && !(any && runs); i++) {
		any |= defines_event(s->stmts[i].text);
		runs |= span_ihas(s->stmts[i].text, "event_scheduler");
	}
	for (size_t i = 0; i < e->program_count && !any; i++)
		any |= defines_event(e->programs[i].create_text);
	return any && runs;
}

static void parse_program(struct mvcc *m, struct program *p)
{
	struct sql_options options = m->sql;
	struct sql_program *tree = NULL;
	struct err err;

	if (!p->in->create_text.ptr || !p->in->sql_mode.ptr)
		return;
	options.mode = sql_mode_flags(p->in->sql_mode);
	if (sql_parse_program(&m->catalog.arena, p->in->create_text, &options, &tree, &err) &&
		(unsigned)tree->kind + PROGRAM_TRIGGER == p->in->type &&
		span_ieq(tree->name.name, p->in->name))
		p->tree = tree;
}

static void see_definer(void *ctx, const struct sql_node *node)
{
	if (node->kind != SQL_NODE_STATEMENT)
		return;
	switch (node->stmt->kind) {
	case SQL_STMT_PREPARE:
	case SQL_STMT_EXECUTE:
	case SQL_STMT_CREATE_TRIGGER:
	case SQL_STMT_DROP_TRIGGER:
	case SQL_STMT_CREATE_ROUTINE:
	case SQL_STMT_DROP_ROUTINE:
	case SQL_STMT_CREATE_DATABASE:
	case SQL_STMT_DROP_DATABASE:
	case SQL_STMT_CREATE_OTHER:
	case SQL_STMT_DROP_OTHER:
	case SQL_STMT_ALTER_OTHER:
	case SQL_STMT_OTHER:
		*(bool *)ctx = true;
		break;
	default:
		break;
	}
}

static void see_writer(void *ctx, const struct sql_node *node)
{
	*(bool *)ctx |= node->stmt && node->stmt->kind != SQL_STMT_SELECT && node->stmt->kind != SQL_STMT_SET;
}

bool programs_write_by_views(const struct mvcc *m)
{
	return m->catalog.programs->functions_write;
}

void programs_open(struct mvcc *m)
{
	const struct execution *e = m->schedule->execution;
	struct programs *all = arena_zero(&m->catalog.arena, sizeof(*all));
	bool defines = false, calls = false;

	m->catalog.programs = all;
	views_open(m);
	if (!e->program_count)
		return;
	all->list = arena_zero(&m->catalog.arena, e->program_count * sizeof(*all->list));
	for (size_t i = 0; i < e->program_count; i++) {
		struct program *p;

		if (e->programs[i].type == PROGRAM_VIEW)
			continue;
		p = &all->list[all->count++];

		p->in = &e->programs[i];
		parse_program(m, p);
		if (p->in->type == PROGRAM_FUNCTION && p->tree)
			sql_walk_nodes(p->tree->body, see_writer, &all->functions_write);
		else if (p->in->type == PROGRAM_FUNCTION)
			all->functions_write = true;
		if (p->in->type == PROGRAM_PROCEDURE && !p->tree)
			defines = true;
		else if (p->tree)
			sql_walk_nodes(p->tree->body, see_definer, &defines);
	}
	for (size_t i = 0; i < m->schedule->stmt_count; i++) {
		const struct schedule_stmt *stmt = &m->schedule->stmts[i];

		all->unknown |= may_define(stmt->in->sql) || stmt->in->record.flags & STMT_OPAQUE;
		calls |= span_ihas(stmt->in->sql, "call") || span_ihas(stmt->in->sql, "execute");
	}
	all->unknown |= calls && defines;
}

/* Names of routines do not care for case. */
static const struct program *find_routine(
	const struct mvcc *m, enum program_type type, struct span database, struct span name)
{
	for (size_t i = 0; i < m->catalog.programs->count; i++) {
		const struct program *p = &m->catalog.programs->list[i];

		if (p->in->type == type && database.ptr && eval_same_name(&m->now.env, p->in->database, database) &&
			span_ieq(p->in->name, name))
			return p;
	}
	return NULL;
}

/* ---- what they do ---- */

struct looking {
	struct mvcc *m;
	struct effects *out;
	const struct program *program; /* whose body is looked at; NULL: the statement itself */
	struct span database;
	const struct session_settings *settings;
	const struct sql_stmt *stmt;
	bool *seen; /* by program */
	unsigned depth;
};

static void look_at(struct looking *l, const struct program *p);

static void add_effect(struct effects *e, uint32_t table, bool written, bool inserts, bool numbers, bool blind)
{
	for (uint32_t i = 0; i < e->count; i++) {
		if (e->list[i].table == table) {
			e->list[i].written |= written;
			e->list[i].inserts &= inserts || !written;
			e->list[i].numbers |= numbers;
			e->list[i].blind &= blind;
			return;
		}
	}
	if (e->count == EFFECTS_MAX)
		e->may_write_any = true;
	else
		e->list[e->count++] = (struct effect){table, written, inserts || !written, numbers, blind};
}

/* Are all that the schema tells of known? */
static bool knows_triggers(const struct mvcc *m, uint32_t table)
{
	const struct store_table *t = &m->store.tables[table];
	struct mp mp = mp_over(m->schedule->execution->tables[table].schema.triggers);
	uint32_t count = mp_array(&mp);

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint32_t fields = mp_array(&mp);
		struct span name = fields ? mp_bytes(&mp) : SPAN_NONE;
		bool found = false;

		for (size_t p = 0; p < m->catalog.programs->count && name.ptr; p++) {
			const struct program *program = &m->catalog.programs->list[p];

			found |= program->in->type == PROGRAM_TRIGGER && program->tree &&
				 eval_same_name(&m->now.env, program->in->database, t->database) &&
				 eval_same_name(&m->now.env, program->in->table, t->name) && span_eq(program->in->name, name);
		}
		for (uint32_t f = 1; f < fields && !mp.bad; f++)
			mp_skip(&mp);
		if (!found)
			return false;
	}
	return !mp.bad;
}

static bool is_trigger_of(const struct mvcc *m, const struct program *p, uint32_t table, uint32_t events)
{
	const struct store_table *t = &m->store.tables[table];

	return p->in->type == PROGRAM_TRIGGER && p->tree &&
	       eval_same_name(&m->now.env, p->in->database, t->database) &&
	       eval_same_name(&m->now.env, p->in->table, t->name) && (p->tree->events & events);
}

static void fire(struct looking *l, uint32_t table, uint32_t events)
{
	struct mvcc *m = l->m;

	if (!(m->store.tables[table].triggers & events) && m->store.tables[table].made_by == STORE_NONE)
		return;
	l->out->any = true;
	/* One that was made since may have taken them over from another. */
	if (m->catalog.programs->unknown || m->store.tables[table].made_by != STORE_NONE || !knows_triggers(m, table)) {
		l->out->may_write_any = true;
		return;
	}
	for (size_t i = 0; i < m->catalog.programs->count; i++) {
		if (is_trigger_of(m, &m->catalog.programs->list[i], table, events))
			look_at(l, &m->catalog.programs->list[i]);
	}
}

static uint32_t number_column(const struct eval_table *def)
{
	uint32_t column = 0;

	while (column < def->column_count && !def->columns[column].auto_increment)
		column++;
	return column;
}

static bool sets_column(const struct eval_table *def, const struct sql_assign *set, uint32_t column)
{
	for (; set; set = set->next) {
		if (set->target->kind != SQL_EXPR_COLUMN || eval_table_column(def, set->target->u.column.name) == column)
			return true;
	}
	return false;
}

/* Where among the values of a row the column has its own; SIZE_MAX: it has none. */
static size_t place_in_row(const struct eval_table *def, const struct sql_insert *insert, uint32_t column)
{
	size_t at = 0;

	if (!insert->has_columns) {
		for (uint32_t c = 0; c < column; c++)
			at += !def->columns[c].invisible;
		return def->columns[column].invisible ? SIZE_MAX : at;
	}
	for (const struct sql_expr *e = insert->columns.first; e; e = e->next, at++) {
		if (eval_table_column(def, e->u.column.name) == column)
			return at;
	}
	return SIZE_MAX;
}

/* NULL, DEFAULT or 0: even where 0 is kept it is smaller than what the server gives. */
static bool leaves_to_server(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_DEFAULT ||
	       (e->kind == SQL_EXPR_LITERAL && (e->u.literal.kind == SQL_LIT_NULL || span_eq_str(e->u.literal.text, "0")));
}

bool gives_numbers(const struct eval_table *def, const struct sql_stmt *stmt)
{
	const struct sql_insert *insert = stmt->u.insert;
	uint32_t column = number_column(def);
	size_t place;

	if (column == def->column_count || stmt->kind == SQL_STMT_DELETE)
		return false;
	if (stmt->kind == SQL_STMT_UPDATE)
		return sets_column(def, stmt->u.update->set, column);
	if (stmt->kind != SQL_STMT_INSERT && stmt->kind != SQL_STMT_REPLACE)
		return true;
	if (sets_column(def, insert->set, column) || sets_column(def, insert->on_duplicate, column))
		return true;
	place = insert->set ? SIZE_MAX : place_in_row(def, insert, column);
	for (const struct sql_values_row *row = insert->rows; row && place != SIZE_MAX; row = row->next) {
		const struct sql_expr *e = row->values.first;

		for (size_t i = 0; e && i < place; i++)
			e = e->next;
		if (e && !leaves_to_server(e))
			return true;
	}
	return insert->query && place != SIZE_MAX;
}

bool inserts_blindly(const struct mvcc *m, uint32_t number, const struct sql_stmt *stmt)
{
	const struct store_table *table = &m->store.tables[number];
	const struct sql_insert *insert = stmt->u.insert;
	uint32_t column;

	if (stmt->kind != SQL_STMT_INSERT || insert->query || insert->on_duplicate ||
		insert->flags & SQL_DML_IGNORE || insert->set || !insert->has_columns || !table->cluster ||
		table->unique_count != 1 || table->cluster->count != 1 || table->unknown)
		return false;
	column = table->cluster->columns[0];
	if (column == UINT32_MAX || !table->def->columns[column].auto_increment)
		return false;
	for (const struct sql_expr *e = insert->columns.first; e; e = e->next) {
		if (eval_table_column(table->def, e->u.column.name) == column)
			return false;
	}
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		if (m->catalog.foreign_keys[i].child == number || m->catalog.foreign_keys[i].parent == number)
			return false;
	}
	return true;
}

static void see_table(void *ctx, const struct sql_table_name *name, const struct sql_table_ref *ref,
	enum sql_access_kind access)
{
	struct looking *l = ctx;
	struct sql_table_name whole = {.db = name->db.ptr ? name->db : l->database, .name = name->name};
	uint32_t table = solver_table(l->m, whole.db, whole.name);
	bool written = access != SQL_TABLE_READ;

	(void)ref;
	/* A view may be of anything, and the name may be one of the session's own tables there. */
	if (settings_temporary(l->settings, &whole) || table == STORE_NONE || !l->m->store.tables[table].def || l->m->store.tables[table].bare) {
		l->out->may_write_any = true;
		return;
	}
	add_effect(l->out, table, written, l->stmt->kind == SQL_STMT_INSERT && !l->stmt->u.insert->on_duplicate,
		written && gives_numbers(l->m->store.tables[table].def, l->stmt), written && inserts_blindly(l->m, table, l->stmt));
	if (written)
		fire(l, table, plan_events(l->stmt));
}

static bool see_expr(void *ctx, const struct sql_expr *e)
{
	struct looking *l = ctx;
	const struct program *p;

	/* Variables of the session change what EXECUTE means. */
	l->out->may_write_any |= l->program && e->kind == SQL_EXPR_ASSIGN;
	if (e->kind != SQL_EXPR_CALL || (!e->u.call.db.ptr && sql_is_native(e->u.call.name)))
		return true;
	l->out->any = true;
	p = find_routine(l->m, PROGRAM_FUNCTION, e->u.call.db.ptr ? e->u.call.db : l->database,
		e->u.call.name);
	if (p && p->tree && !l->m->catalog.programs->unknown)
		look_at(l, p);
	else
		l->out->may_write_any = true;
	return true;
}

static void see_procedure(struct looking *l, const struct sql_call *call)
{
	const struct program *p = call ? find_routine(l->m, PROGRAM_PROCEDURE,
						 call->db.ptr ? call->db : l->database, call->name)
				       : NULL;

	l->out->any = true;
	/* What comes back through a parameter changes a variable of the session, too. */
	for (const struct sql_expr *e = call ? call->args.first : NULL; e && l->program; e = e->next)
		l->out->may_write_any |= e->kind == SQL_EXPR_USER_VAR;
	if (p && p->tree && !l->m->catalog.programs->unknown)
		look_at(l, p);
	else
		l->out->may_write_any = true;
}

static bool sets_locals_only(struct looking *l, const struct sql_set *set)
{
	for (const struct sql_set_item *i = set->items; i; i = i->next) {
		bool row = i->kind == SQL_SET_VARIABLE && !i->at_at && span_ieq_str(i->base, "new");

		if (row && l->program->in->type == PROGRAM_TRIGGER)
			continue;
		if (i->kind != SQL_SET_VARIABLE || i->at_at || i->scope != SQL_SCOPE_NONE || i->base.ptr ||
			!program_declares(l->program->tree, i->name))
			return false;
	}
	return !set->statement;
}

static bool into_locals_only(const struct sql_into *into)
{
	for (const struct sql_expr *e = into ? into->vars.first : NULL; e; e = e->next) {
		if (e->kind != SQL_EXPR_COLUMN)
			return false;
	}
	return !into || !into->is_file;
}

/* A statement of a body.  What changes the session, or ends transactions, may do anything. */
static void see_statement(struct looking *l, const struct sql_stmt *stmt)
{
	const struct sql_stmt *outer = l->stmt;

	switch (stmt->kind) {
	case SQL_STMT_SELECT:
		l->out->may_write_any |= !into_locals_only(stmt->u.query->into);
		break;
	case SQL_STMT_SET:
		l->out->may_write_any |= !sets_locals_only(l, stmt->u.set);
		break;
	case SQL_STMT_CALL:
		see_procedure(l, stmt->u.call);
		break;
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
	case SQL_STMT_UPDATE:
	case SQL_STMT_DELETE:
	case SQL_STMT_DO:
		break;
	default:
		l->out->may_write_any = true;
		return;
	}
	l->stmt = stmt;
	sql_stmt_tables(stmt, see_table, l);
	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = see_expr, .ctx = l});
	l->stmt = outer;
}

static void see_value(struct looking *l, const struct sql_expr *e)
{
	if (e)
		sql_walk_expr(e, &(struct sql_visitor){.expr = see_expr, .ctx = l});
}

/* Subqueries of expressions outside of statements. */
static bool see_query(void *ctx, const struct sql_query *query)
{
	struct looking *l = ctx;
	struct sql_stmt stmt = {.kind = SQL_STMT_SELECT, .u.query = (struct sql_query *)(uintptr_t)query};
	const struct sql_stmt *outer = l->stmt;

	l->stmt = &stmt;
	sql_stmt_tables(&stmt, see_table, l);
	l->stmt = outer;
	return true;
}

static void see_node(void *ctx, const struct sql_node *node)
{
	struct looking *l = ctx;
	struct sql_visitor queries = {.query = see_query, .ctx = l};

	see_value(l, node->value);
	if (node->value)
		sql_walk_expr(node->value, &queries);
	for (const struct sql_expr *e = node->args.first; e; e = e->next) {
		see_value(l, e);
		sql_walk_expr(e, &queries);
	}
	for (const struct sql_branch *i = node->branches; i; i = i->next) {
		see_value(l, i->value);
		if (i->value)
			sql_walk_expr(i->value, &queries);
	}
	for (const struct sql_signal_item *i = node->items; i; i = i->next)
		see_value(l, i->value);
	if (node->stmt)
		see_statement(l, node->stmt);
}

static void look_at(struct looking *l, const struct program *p)
{
	enum { DEPTH_MAX = 16 };
	struct looking inner = *l;
	size_t number = (size_t)(p - l->m->catalog.programs->list);

	if (l->seen[number])
		return;
	l->seen[number] = true;
	if (l->depth == DEPTH_MAX) {
		l->out->may_write_any = true;
		return;
	}
	inner.program = p;
	inner.database = p->in->database;
	inner.depth++;
	for (const struct sql_parameter *i = p->tree->params; i; i = i->next)
		l->out->may_write_any |= i->dflt != NULL;
	sql_walk_nodes(p->tree->body, see_node, &inner);
}

struct declared {
	struct span name;
	bool found;
};

static void see_declaration(void *ctx, const struct sql_node *node)
{
	struct declared *d = ctx;

	if (node->kind != SQL_NODE_VARIABLE)
		return;
	for (const struct sql_names *n = node->names; n; n = n->next)
		d->found |= span_ieq(n->name, d->name);
}

bool program_declares(const struct sql_program *tree, struct span name)
{
	struct declared d = {name, false};

	for (const struct sql_parameter *p = tree->params; p; p = p->next)
		d.found |= span_ieq(p->name, name);
	sql_walk_nodes(tree->body, see_declaration, &d);
	return d.found;
}

static void see_new(void *ctx, const struct sql_node *node)
{
	bool *sets = ctx;

	if (!node->stmt)
		return;
	if (node->stmt->kind == SQL_STMT_SELECT && node->stmt->u.query->into)
		*sets = true;
	if (node->stmt->kind != SQL_STMT_SET)
		return;
	for (const struct sql_set_item *i = node->stmt->u.set->items; i; i = i->next)
		*sets |= i->kind == SQL_SET_VARIABLE && span_ieq_str(i->base, "new");
}

/* ---- plans ---- */

bool effects_known(const struct plan *plan)
{
	return plan->effects && !plan->effects->may_write_any;
}

bool plan_is_call(const struct plan *plan)
{
	return effects_known(plan) &&
	       (plan->stmt->kind == SQL_STMT_CALL || plan->stmt->kind == SQL_STMT_COMPOUND);
}

bool effects_write(const struct effects *e)
{
	for (uint32_t i = 0; e && i < e->count; i++) {
		if (e->list[i].written)
			return true;
	}
	return false;
}

bool effects_touch(const struct effects *e, uint32_t table, bool written)
{
	for (uint32_t i = 0; e && i < e->count; i++) {
		if (e->list[i].table == table && (e->list[i].written || !written))
			return true;
	}
	return false;
}

bool effects_give_numbers(const struct effects *e, uint32_t table)
{
	for (uint32_t i = 0; e && i < e->count; i++) {
		if (e->list[i].table == table)
			return e->list[i].numbers;
	}
	return false;
}

bool effects_only_insert(const struct effects *e, uint32_t table)
{
	for (uint32_t i = 0; e && i < e->count; i++) {
		if (e->list[i].table == table)
			return e->list[i].inserts;
	}
	return true;
}

static void fire_own(struct looking *l, struct plan *plan, uint32_t table)
{
	fire(l, table, plan->events);
	for (size_t i = 0; i < l->m->catalog.programs->count; i++) {
		const struct program *p = &l->m->catalog.programs->list[i];

		if (is_trigger_of(l->m, p, table, plan->events))
			sql_walk_nodes(p->tree->body, see_new, &l->out->sets_row);
	}
	l->out->fires = true;
}

/* ---- those that are executed ---- */

static bool add_body(const struct body **list, uint32_t *count, const struct body *body)
{
	if (!body || *count == BODIES_MAX)
		return false;
	list[(*count)++] = body;
	return true;
}

/* In their order. */
static const struct program *next_trigger(const struct mvcc *m, uint32_t table, uint32_t event, bool after,
	uint32_t position, uint32_t *same)
{
	const struct program *found = NULL;

	*same = 0;
	for (size_t i = 0; i < m->catalog.programs->count; i++) {
		const struct program *p = &m->catalog.programs->list[i];

		if (is_trigger_of(m, p, table, event) && p->tree->after == after &&
			p->in->position == position) {
			found = p;
			++*same;
		}
	}
	return found;
}

/* How many there are, and the largest of their positions. */
static uint32_t triggers_of(const struct mvcc *m, uint32_t table, uint32_t event, uint32_t *last)
{
	uint32_t count = 0;

	*last = 0;
	for (size_t i = 0; i < m->catalog.programs->count; i++) {
		const struct program *p = &m->catalog.programs->list[i];

		if (!is_trigger_of(m, p, table, event))
			continue;
		count++;
		if (p->in->position > *last)
			*last = p->in->position;
	}
	return count;
}

static bool has_generated(const struct eval_table *def)
{
	for (uint32_t i = 0; i < def->column_count; i++) {
		if (def->columns[i].generated)
			return true;
	}
	return false;
}

/* What BEFORE INSERT sees of a number that the server has yet to give is another matter. */
static bool asks_for_number(const struct program *p, const struct eval_table *def, uint32_t event)
{
	for (uint32_t i = 0; i < def->column_count; i++) {
		if (event == WRITE_INSERT && def->columns[i].auto_increment &&
			body_mentions_new(p->tree, def->columns[i].name))
			return true;
	}
	return false;
}

/* Which of the tables that the statement writes has triggers that it fires: the place of the first. */
static uint32_t first_fired(const struct mvcc *m, const struct plan *plan)
{
	uint32_t i = 0;

	while (i + 1 < plan->table_count &&
		!(plan->written[i] && m->store.tables[plan->tables[i]].triggers & plan->events))
		i++;
	return i;
}

static const struct firing *plan_firing(
	struct mvcc *m, struct plan *plan, const struct session_settings *settings)
{
	enum { TRIGGERS_MAX = 1000 };
	uint32_t table = plan->tables[first_fired(m, plan)], same, count = 0, last;
	uint32_t all = triggers_of(m, table, plan->events, &last);
	const struct eval_table *def = m->store.tables[table].def;
	struct firing *f = arena_zero(&m->catalog.arena, sizeof(*f));

	f->table = table;
	/* A position that no server gives would be counted up to. */
	if (last > TRIGGERS_MAX)
		return NULL;
	for (int after = 0; after < 2; after++) {
		for (uint32_t position = 0; position <= last; position++) {
			const struct program *p = next_trigger(m, table, plan->events, after, position, &same);
			const struct body *body;

			if (!p)
				continue;
			/* Which of two comes first is not known, or it is for more than one event. */
			if (same != 1 || p->tree->events != plan->events || (!after && plan->join) ||
				(!after && (has_generated(def) || asks_for_number(p, def, plan->events))))
				return NULL;
			body = body_compile(m, p->in, p->tree, def, plan->events, settings);
			if (!(after ? add_body(f->after, &f->after_count, body)
				    : add_body(f->before, &f->before_count, body)))
				return NULL;
			f->asks |= body_asks(body);
			count++;
		}
	}
	return count == all ? f : NULL;
}

/* Statements whose triggers can be executed: one of the tables that they write has them, and they read none that
 * the triggers write. */
static bool may_fire(const struct mvcc *m, const struct plan *plan)
{
	const struct sql_stmt *stmt = plan->stmt;
	uint32_t fired;

	if (plan->unsupported || plan->returning || !plan->table_count ||
		!(plan->events == WRITE_INSERT || plan->events == WRITE_UPDATE || plan->events == WRITE_DELETE))
		return false;
	fired = first_fired(m, plan);
	if (!plan->written[fired] || !m->store.tables[plan->tables[fired]].def)
		return false;
	for (uint32_t i = 0; i < plan->table_count; i++) {
		bool fires = plan->written[i] && m->store.tables[plan->tables[i]].triggers & plan->events;

		if ((i != fired && (plan->join ? fires : plan->written[i])) ||
			effects_touch(plan->effects, plan->tables[i], true))
			return false;
	}
	if (plan->insert)
		return stmt->kind == SQL_STMT_INSERT && !(stmt->u.insert->flags & SQL_DML_IGNORE);
	return (plan->change || plan->join) && (stmt->kind == SQL_STMT_UPDATE ? !(stmt->u.update->flags & SQL_DML_IGNORE)
							       : !(stmt->u.del->flags & SQL_DML_IGNORE));
}

static bool is_value(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_LITERAL ||
	       (e->kind == SQL_EXPR_UNARY && e->op == SQL_OP_NEG && e->u.binary.left->kind == SQL_EXPR_LITERAL);
}

/* What comes in is in the text of the CALL; what goes out is a user variable's. */
static bool args_are_known(const struct sql_parameter *params, const struct sql_expr *args)
{
	for (; args; args = args->next) {
		bool out = params && params->direction == SQL_PARAM_OUT;

		if (out ? args->kind != SQL_EXPR_USER_VAR : !is_value(args))
			return false;
		params = params ? params->next : NULL;
	}
	return true;
}

static void plan_execution(struct mvcc *m, struct plan *plan, const struct session_settings *settings)
{
	const struct sql_call *call = plan->stmt->kind == SQL_STMT_CALL ? plan->stmt->u.call : NULL;
	const struct program *p;

	if (plan->effects->may_write_any)
		return;
	if (plan->effects->fires && may_fire(m, plan))
		plan->firing = plan_firing(m, plan, settings);
	if (call) {
		p = find_routine(m, PROGRAM_PROCEDURE, call->db.ptr ? call->db : settings->database, call->name);
		if (!args_are_known(p->tree->params, call->args.first))
			return;
		plan->procedure = body_compile(m, p->in, p->tree, NULL, 0, settings);
	}
	settings_apply(m, plan);
}

void plan_effects(struct mvcc *m, struct plan *plan, const struct session_settings *settings)
{
	struct effects *e;
	struct looking look = {.m = m, .database = settings->database, .settings = settings, .stmt = plan->stmt};

	if (!m->catalog.programs->count || !plan->stmt || plan->redefines)
		return;
	e = arena_zero(&m->catalog.arena, sizeof(*e));
	look.out = e;
	look.seen = arena_zero(&m->catalog.arena, m->catalog.programs->count + 1);
	sql_walk_stmt(plan->stmt, &(struct sql_visitor){.expr = see_expr, .ctx = &look});
	if (plan->stmt->kind == SQL_STMT_CALL)
		see_procedure(&look, plan->stmt->u.call);
	for (uint32_t i = 0; i < plan->table_count; i++) {
		if (plan->written[i] && m->store.tables[plan->tables[i]].triggers & plan->events)
			fire_own(&look, plan, plan->tables[i]);
	}
	if (!e->any)
		return;
	e->may_write_any |= settings->sets_unmodelled;
	plan->effects = e;
	plan_execution(m, plan, settings);
}

static bool is_row_statement(const struct sql_stmt *stmt)
{
	switch (stmt->kind) {
	case SQL_STMT_SELECT:
		return !stmt->u.query->into && !memmem(stmt->text.ptr, stmt->text.len, ":=", 2);
	case SQL_STMT_INSERT:
	case SQL_STMT_REPLACE:
	case SQL_STMT_UPDATE:
	case SQL_STMT_DELETE:
		return !memmem(stmt->text.ptr, stmt->text.len, ":=", 2);
	default:
		return false;
	}
}

bool plan_several(struct mvcc *m, struct plan *plan, const struct sql_stmt *first,
	const struct session_settings *settings)
{
	struct effects *e = arena_zero(&m->catalog.arena, sizeof(*e));
	struct looking look = {.m = m, .out = e, .database = settings->database, .settings = settings};
	struct sql_stmt *all = arena_zero(&m->catalog.arena, sizeof(*all));
	bool writes = false;

	look.seen = arena_zero(&m->catalog.arena, m->catalog.programs->count + 1);
	if (settings->sets_unmodelled || settings->altered || settings->own_time_zone)
		return false;
	for (const struct sql_stmt *stmt = first; stmt; stmt = stmt->next) {
		if (!is_row_statement(stmt))
			return false;
		see_statement(&look, stmt);
		writes |= stmt->kind != SQL_STMT_SELECT;
	}
	if (e->may_write_any)
		return false;
	e->any = true;
	*all = (struct sql_stmt){.kind = SQL_STMT_COMPOUND, .text = plan->key.text, .opaque = plan->key.text};
	plan->stmt = all;
	plan->unsupported = REASON_SEVERAL_STATEMENTS;
	plan->writes = writes || effects_write(e);
	plan->reads = !plan->writes;
	plan->effects = e;
	plan->procedure = body_of_statements(m, first, settings);
	settings_apply(m, plan);
	return true;
}
