/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reduce/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NO_UNIT UINT32_MAX

struct table {
	struct span name;
	uint32_t unit;
};

struct taking {
	struct parts *parts;
	struct script script;
	const uint8_t *doubts;
	struct table *tables;
	size_t table_count, table_capacity;
	uint32_t user; /* the unit whose needs are being taken */
	struct span *values; /* constants of statements that matter */
	size_t value_count, value_capacity;
};

static uint32_t add_unit(struct taking *t, enum part_level level, uint8_t doubt)
{
	struct parts *p = t->parts;

	MEM_RESERVE(p->units, p->unit_count + 1, p->unit_capacity);
	p->units[p->unit_count] = (struct ddmin_unit){.level = (uint8_t)level, .doubt = doubt};
	return (uint32_t)p->unit_count++;
}

static void add_need(struct taking *t, uint32_t unit, uint32_t needed)
{
	struct parts *p = t->parts;

	if (unit == needed || needed == NO_UNIT)
		return;
	MEM_RESERVE(p->needs, p->need_count + 1, p->need_capacity);
	p->needs[p->need_count++] = (struct ddmin_need){unit, needed};
}

static uint8_t doubt_of(const struct taking *t, size_t scheduled)
{
	return t->doubts ? t->doubts[scheduled] : 1;
}

/* ---- tables ---- */

/* The name that a statement of the setup makes: of a table, a view or a sequence. */
static struct span defined_name(const struct sql_stmt *tree)
{
	if (tree->kind == SQL_STMT_CREATE_TABLE)
		return tree->u.create_table->table.name;
	if ((tree->kind == SQL_STMT_CREATE_VIEW || tree->kind == SQL_STMT_CREATE_SEQUENCE) && tree->tables)
		return tree->tables->name;
	return SPAN_NONE;
}

static const struct table *find_table(const struct taking *t, struct span name)
{
	for (size_t i = 0; i < t->table_count; i++)
		if (span_ieq(t->tables[i].name, name))
			return &t->tables[i];
	return NULL;
}

static void need_table(
	void *ctx, const struct sql_table_name *name, const struct sql_table_ref *ref, enum sql_access_kind access)
{
	struct taking *t = ctx;
	const struct table *table = find_table(t, name->name);

	(void)ref;
	(void)access;
	if (table && table->unit < t->user)
		add_need(t, t->user, table->unit);
}

static void need_tables(struct taking *t, uint32_t unit, const struct sql_stmt *tree)
{
	t->user = unit;
	if (tree)
		sql_stmt_tables(tree, need_table, t);
}

/* A table is doubted as much as the statement of the schedule that is doubted least of those that name it. */
static uint8_t table_doubt(const struct taking *t, struct span name)
{
	uint8_t least = UINT8_MAX;

	for (size_t i = 0; i < t->script.schedule_count; i++) {
		const struct sql_stmt *tree = t->script.stmts[t->script.setup_count + i].tree;

		if ((!tree || script_names_table(tree, name)) && doubt_of(t, i) < least)
			least = doubt_of(t, i);
	}
	return least;
}

static void take_tables(struct taking *t)
{
	for (size_t i = 0; i < t->script.setup_count; i++) {
		const struct sql_stmt *tree = t->script.stmts[i].tree;
		struct span name = tree ? defined_name(tree) : SPAN_NONE;
		uint32_t unit;

		if (!name.ptr)
			continue;
		unit = add_unit(t, PART_TABLE, table_doubt(t, name));
		t->parts->unit_of[i] = unit;
		need_tables(t, unit, tree);
		MEM_RESERVE(t->tables, t->table_count + 1, t->table_capacity);
		t->tables[t->table_count++] = (struct table){name, unit};
	}
}

/* ---- rows ---- */

static bool note_value(void *ctx, const struct sql_expr *e)
{
	struct taking *t = ctx;

	if (e->kind == SQL_EXPR_LITERAL) {
		MEM_RESERVE(t->values, t->value_count + 1, t->value_capacity);
		t->values[t->value_count++] = e->u.literal.text;
	}
	return true;
}

static void take_values(struct taking *t)
{
	struct sql_visitor visitor = {.expr = note_value, .ctx = t};

	for (size_t i = 0; t->doubts && i < t->script.schedule_count; i++)
		if (!doubt_of(t, i) && t->script.stmts[t->script.setup_count + i].tree)
			sql_walk_stmt(t->script.stmts[t->script.setup_count + i].tree, &visitor);
}

/* A row is believed to matter when a statement that does has one of its values. */
static uint8_t row_doubt(const struct taking *t, const struct sql_values_row *row)
{
	for (const struct sql_expr *e = row->values.first; e; e = e->next)
		for (size_t i = 0; e->kind == SQL_EXPR_LITERAL && i < t->value_count; i++)
			if (span_eq(t->values[i], e->u.literal.text))
				return 0;
	return 1;
}

static const struct sql_values_row *inserted_rows(const struct sql_stmt *tree)
{
	return tree && (tree->kind == SQL_STMT_INSERT || tree->kind == SQL_STMT_REPLACE) ? tree->u.insert->rows : NULL;
}

static void take_setup(struct taking *t)
{
	for (size_t i = 0; i < t->script.setup_count; i++) {
		const struct sql_stmt *tree = t->script.stmts[i].tree;
		const struct sql_values_row *row = inserted_rows(tree);

		if (t->parts->unit_of[i] != NO_UNIT)
			continue;
		if (!row) {
			t->parts->unit_of[i] = add_unit(t, PART_SETUP, 1);
			need_tables(t, t->parts->unit_of[i], tree);
			continue;
		}
		t->parts->unit_of[i] = (uint32_t)t->parts->unit_count;
		for (; row; row = row->next) {
			need_tables(t, add_unit(t, PART_ROW, row_doubt(t, row)), tree);
			t->parts->rows_of[i]++;
		}
	}
}

/* ---- the schedule ---- */

struct transaction {
	uint32_t unit, bracket; /* NO_UNIT: none */
	size_t first, last;     /* of the schedule */
};

/* The next transaction of the session at or behind `at`; false: there is none. */
static bool next_transaction(const struct taking *t, uint32_t session, size_t at, struct transaction *out)
{
	bool open = false, found = false;

	for (size_t i = at; i < t->script.schedule_count; i++) {
		const struct script_stmt *stmt = &t->script.stmts[t->script.setup_count + i];
		enum sql_stmt_kind kind = stmt->tree ? stmt->tree->kind : SQL_STMT_OTHER;

		if (stmt->session != session)
			continue;
		if (found && !open && kind == SQL_STMT_BEGIN)
			return true;
		if (!found)
			*out = (struct transaction){NO_UNIT, NO_UNIT, i, i};
		found = true;
		out->last = i;
		if (kind == SQL_STMT_BEGIN)
			open = true;
		else if (kind == SQL_STMT_COMMIT || kind == SQL_STMT_ROLLBACK || !open)
			return true;
	}
	return found;
}

static bool has_kind(const struct taking *t, size_t scheduled, enum sql_stmt_kind kind)
{
	const struct sql_stmt *tree = t->script.stmts[t->script.setup_count + scheduled].tree;

	return tree && tree->kind == kind;
}

static uint8_t least_doubt(const struct taking *t, uint32_t session, size_t first, size_t last)
{
	uint8_t least = UINT8_MAX;

	for (size_t i = first; i <= last; i++)
		if (t->script.stmts[t->script.setup_count + i].session == session && doubt_of(t, i) < least)
			least = doubt_of(t, i);
	return least;
}

/* ROLLBACK TO and RELEASE need the SAVEPOINT. */
static void need_savepoint(struct taking *t, size_t scheduled)
{
	size_t at = t->script.setup_count + scheduled;
	const struct sql_stmt *tree = t->script.stmts[at].tree;

	if (!has_kind(t, scheduled, SQL_STMT_ROLLBACK_TO) && !has_kind(t, scheduled, SQL_STMT_RELEASE_SAVEPOINT))
		return;
	for (size_t i = scheduled; i--;) {
		size_t other = t->script.setup_count + i;

		if (t->script.stmts[other].session != t->script.stmts[at].session || !has_kind(t, i, SQL_STMT_SAVEPOINT) ||
			!span_ieq(t->script.stmts[other].tree->u.txn->savepoint, tree->u.txn->savepoint))
			continue;
		add_need(t, t->parts->unit_of[at], t->parts->unit_of[other]);
		return;
	}
}

static void take_transaction(struct taking *t, uint32_t session, struct transaction *txn)
{
	bool brackets = txn->last > txn->first && has_kind(t, txn->first, SQL_STMT_BEGIN) &&
			(has_kind(t, txn->last, SQL_STMT_COMMIT) || has_kind(t, txn->last, SQL_STMT_ROLLBACK));

	if (txn->last > txn->first) {
		txn->unit = add_unit(t, PART_TRANSACTION, least_doubt(t, session, txn->first, txn->last));
		add_need(t, txn->unit, session);
	}
	if (brackets) {
		txn->bracket = add_unit(t, PART_BRACKET, 0);
		add_need(t, txn->bracket, txn->unit);
	}
	for (size_t i = txn->first; i <= txn->last; i++) {
		size_t at = t->script.setup_count + i;
		uint32_t unit;

		if (t->script.stmts[at].session != session)
			continue;
		unit = add_unit(t, PART_STATEMENT, doubt_of(t, i));
		t->parts->unit_of[at] = unit;
		add_need(t, unit, txn->unit == NO_UNIT ? session : txn->unit);
		if (brackets && (i == txn->first || i == txn->last))
			add_need(t, unit, txn->bracket);
		need_tables(t, unit, t->script.stmts[at].tree);
		need_savepoint(t, i);
	}
}

static void take_sessions(struct taking *t)
{
	size_t sessions = t->script.scenario->session_count;

	for (uint32_t s = 0; s < sessions; s++)
		(void)add_unit(t, PART_SESSION, least_doubt(t, s, 0, t->script.schedule_count - 1));
}

static void take_schedule(struct taking *t)
{
	for (uint32_t s = 0; s < t->script.scenario->session_count; s++) {
		struct transaction txn = {NO_UNIT, NO_UNIT, 0, 0};

		for (size_t at = 0; next_transaction(t, s, at, &txn); at = txn.last + 1)
			take_transaction(t, s, &txn);
	}
}

static void take_final(struct taking *t)
{
	for (size_t i = t->script.setup_count + t->script.schedule_count; i < t->script.count; i++) {
		t->parts->unit_of[i] = add_unit(t, PART_FINAL, 1);
		need_tables(t, t->parts->unit_of[i], t->script.stmts[i].tree);
	}
}

void parts_open(struct parts *out, const struct scenario *scenario, const struct sql_options *sql, const uint8_t *doubts)
{
	struct taking t = {.parts = out, .doubts = doubts};

	*out = (struct parts){.scenario = scenario, .sql = *sql};
	script_open(&t.script, scenario, sql);
	out->stmt_count = t.script.count;
	out->setup_count = t.script.setup_count;
	out->unit_of = mem_alloc((out->stmt_count + 1) * sizeof(*out->unit_of));
	out->rows_of = mem_zero(out->stmt_count + 1, sizeof(*out->rows_of));
	memset(out->unit_of, 0xff, (out->stmt_count + 1) * sizeof(*out->unit_of));
	take_values(&t);
	take_sessions(&t); /* first: a session's unit is its number */
	take_tables(&t);
	take_schedule(&t);
	take_final(&t);
	take_setup(&t);
	script_release(&t.script);
	mem_free(t.tables);
	mem_free(t.values);
}

void parts_release(struct parts *parts)
{
	mem_free(parts->units);
	mem_free(parts->needs);
	mem_free(parts->unit_of);
	mem_free(parts->rows_of);
}

/* ---- back ---- */

/* Leaves the rows in the tree whose units are kept; false: all or none of them are, and *none says which. */
static bool leave_rows(struct sql_values_row **rows, const bool *kept, uint32_t count, bool *none)
{
	struct sql_values_row **at = rows;
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++)
		left += kept[i];
	*none = left == 0;
	if (left == 0 || left == count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (kept[i])
			at = &(*at)->next;
		else
			*at = (*at)->next;
	}
	return true;
}

/* Whether a statement is left that does more than begin or end transactions. */
static bool touches_tables(const struct script *script)
{
	for (size_t i = script->setup_count; i < script->setup_count + script->schedule_count; i++) {
		const struct script_stmt *stmt = &script->stmts[i];

		if (!stmt->dropped && (!stmt->tree || !sql_stmt_is_transaction_control(stmt->tree)))
			return true;
	}
	return false;
}

bool parts_build(const struct parts *parts, const bool *kept, struct scenario *out, struct err *err)
{
	struct script script;
	bool ok;

	script_open(&script, parts->scenario, &parts->sql);
	for (size_t i = 0; i < script.count; i++) {
		struct script_stmt *stmt = &script.stmts[i];
		uint32_t unit = parts->unit_of[i];

		if (parts->rows_of[i])
			stmt->changed = leave_rows(
				&stmt->tree->u.insert->rows, kept + unit, parts->rows_of[i], &stmt->dropped);
		else
			stmt->dropped = unit != NO_UNIT && !kept[unit];
	}
	ok = touches_tables(&script) ? script_build(&script, out, err)
				     : err_set(err, ERR_EMPTY, "no statement that reads or writes is left");
	script_release(&script);
	return ok;
}
