/* SPDX-License-Identifier: GPL-2.0-or-later */
/* INSERT and REPLACE: the rows that they make. */
#include <string.h>

#include "eval/change/change.h"
#include "eval/limits/guards.h"
#include "eval/query/query.h"
#include "server/errors.h"

/* ---- INSERT ---- */

struct eval_insert {
	const struct eval_table *table;
	uint32_t *targets;
	uint32_t target_count;
	struct node ***rows; /* NULL nodes: DEFAULT */
	size_t row_count;
	struct eval_query *query;
	struct assignment *on_duplicate;
	uint32_t on_duplicate_count;
	unsigned flags;
	bool computes; /* VALUES or SET with more than constants */
};

static bool insert_targets(
	struct compiler *c, struct eval_insert *ins, const struct sql_insert *insert)
{
	const struct eval_table *table = ins->table;

	ins->targets = arena_zero(c->arena,
		(table->column_count + insert->columns.count + 1) * sizeof(*ins->targets));
	if (!insert->has_columns && !insert->set) {
		for (uint32_t i = 0; i < table->column_count; i++) {
			if (!table->columns[i].invisible)
				ins->targets[ins->target_count++] = i;
		}
		return true;
	}
	for (const struct sql_expr *e = insert->columns.first; e; e = e->next) {
		uint32_t column = eval_table_column(table, e->u.column.name);

		if (column == UINT32_MAX)
			return compile_error(c, ER_BAD_FIELD_ERROR, "unknown column") != NULL;
		for (uint32_t i = 0; i < ins->target_count; i++) {
			if (ins->targets[i] == column)
				return compile_error(c, ER_FIELD_SPECIFIED_TWICE, "a column named twice") != NULL;
		}
		ins->targets[ins->target_count++] = column;
	}
	return true;
}

struct reading {
	const struct eval_table *table;
	bool found;
};

static bool note_table(void *ctx, const struct sql_table_ref *ref)
{
	struct reading *r = ctx;

	r->found |= ref->kind == SQL_TABLE_NAME && span_ieq(ref->u.name.table.name, r->table->name);
	return true;
}

/* Whether a subquery does: it sees the rows that were inserted before. */
static bool reads_table(const struct sql_expr *e, const struct eval_table *table)
{
	struct reading r = {table, false};

	sql_walk_expr(e, &(struct sql_visitor){.table_ref = note_table, .ctx = &r});
	return r.found;
}

static bool is_named(const struct eval_insert *ins, uint32_t column)
{
	for (uint32_t k = 0; k < ins->target_count; k++) {
		if (ins->targets[k] == column)
			return true;
	}
	return false;
}

static bool see_column(void *ctx, const struct sql_expr *e)
{
	*(bool *)ctx |= e->kind == SQL_EXPR_COLUMN;
	return true;
}

/* DEFAULT (a + 1) is computed when the row has its other values.  Where the statement has the word DEFAULT
 * it is computed in its turn. */
static bool has_late_default(const struct eval_column *column)
{
	bool found = false;

	if (is_computed_default(column) && !column->generated)
		sql_walk_expr(column->dflt, &(struct sql_visitor){.expr = see_column, .ctx = &found});
	return found;
}

/* Another value may read a column before the statement sets it.  The column then has its default, or else
 * the implicit default of its type (seen on all releases).  Here are the columns for which this is not
 * modelled: computed defaults, AUTO_INCREMENT, dates and times, BINARY(n). */
static bool begins_odd(const struct eval_insert *ins, uint32_t i)
{
	const struct eval_column *column = &ins->table->columns[i];

	return has_late_default(column) ||
	       (is_named(ins, i) &&
		       (is_computed_default(column) || column->auto_increment || column->type.kind == EVAL_T_JSON ||
			       (!column->nullable &&
				       (type_is_temporal(&column->type) ||
					       (column->type.fixed && column->type.collation == COLLATION_BINARY)))));
}

static bool reads_odd_beginning(const struct eval_insert *ins, const struct node *n)
{
	if (n->column && !n->u.at.depth && begins_odd(ins, n->u.at.column))
		return true;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (n->args[i] && reads_odd_beginning(ins, n->args[i]))
			return true;
	}
	return false;
}

/* One of the values of a row. */
static bool note_value(struct compiler *c, struct eval_insert *ins, const struct node *value)
{
	if (!value || value->constant)
		return true;
	ins->computes = true;
	return !early_read_refused(c, reads_odd_beginning(ins, value));
}

static bool insert_row(struct compiler *c, struct eval_insert *ins, const struct sql_exprs *values)
{
	struct node **row = arena_zero(c->arena, (values->count + 1) * sizeof(*row));
	uint32_t i = 0;

	if (values->count != ins->target_count && values->count != 0)
		return compile_error(c, ER_WRONG_VALUE_COUNT_ON_ROW, "as many values as columns") != NULL;
	for (const struct sql_expr *e = values->first; e; e = e->next, i++) {
		const struct eval_column *column = &ins->table->columns[ins->targets[i]];
		bool dflt = e->kind == SQL_EXPR_DEFAULT && !e->u.binary.left && !e->negated;

		if (column->generated && !dflt)
			return compile_error(c, c->env->flavour == SQL_MARIADB ? 1906 : 3105,
				       "a value for a generated column") != NULL;
		if (dflt)
			continue;
		c->bytes = type_is_bytes(&column->type);
		row[i] = compile_assigned(c, e, column);
		c->bytes = false;
		if (!row[i] || !note_value(c, ins, row[i]))
			return false;
		if (later_row_refused(c, ins->row_count && reads_table(e, ins->table)))
			return false;
	}
	/* VALUES () leaves every column to its default. */
	ins->rows[ins->row_count++] = values->count ? row : NULL;
	return true;
}

static bool insert_values(
	struct compiler *c, struct eval_insert *ins, const struct sql_insert *insert)
{
	size_t count = 1;

	for (const struct sql_values_row *r = insert->rows; r; r = r->next)
		count++;
	ins->rows = arena_zero(c->arena, count * sizeof(*ins->rows));
	c->scope = scope_of_table(c, ins->table, SPAN_NONE);
	if (insert->set) {
		struct assignment *set;
		uint32_t n;

		if (!compile_assignments(c, insert->set, &set, &n))
			return false;
		ins->targets = arena_zero(c->arena, (n + 1) * sizeof(*ins->targets));
		ins->rows[0] = arena_zero(c->arena, (n + 1) * sizeof(struct node *));
		for (uint32_t i = 0; i < n; i++) {
			ins->targets[i] = set[i].column;
			ins->rows[0][i] = set[i].value;
		}
		ins->target_count = n;
		ins->row_count = 1;
		for (uint32_t i = 0; i < n; i++) {
			if (!note_value(c, ins, set[i].value))
				return false;
		}
		return true;
	}
	for (const struct sql_values_row *r = insert->rows; r; r = r->next) {
		if (!insert_row(c, ins, &r->values))
			return false;
	}
	return true;
}

static bool insert_duplicate(
	struct compiler *c, struct eval_insert *ins, const struct sql_insert *insert)
{
	struct scope *scope = scope_of_table(c, ins->table, SPAN_NONE);

	if (!insert->on_duplicate)
		return true;
	scope->insert_table = ins->table;
	if (insert->row_alias.ptr) {
		uint32_t i = 0;
		struct span *names =
			arena_alloc(c->arena, (ins->table->column_count + 1) * sizeof(*names));

		scope->tables[1] = scope->tables[0];
		scope->tables[1].alias = insert->row_alias;
		scope->tables[1].db = SPAN_NONE;
		memcpy(names, scope->tables[0].names, ins->table->column_count * sizeof(*names));
		for (const struct sql_names *n = insert->row_columns; n; n = n->next, i++) {
			if (i < ins->target_count)
				names[ins->targets[i]] = n->name;
		}
		scope->tables[1].names = names;
		scope->table_count = 2;
	}
	c->scope = scope;
	if (!compile_assignments(
		    c, insert->on_duplicate, &ins->on_duplicate, &ins->on_duplicate_count)) {
		duplicate_error_refused(c, insert);
		return false;
	}
	return true;
}

struct eval_insert *eval_insert_compile(struct arena *arena, const struct sql_insert *insert,
	const struct eval_env *env, const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);
	struct eval_insert *ins = arena_zero(arena, sizeof(*ins));

	ins->table = source ? source->table(source->ctx, &insert->table) : NULL;
	if (!ins->table)
		return outcome_error(outcome, 1146, "no such table");
	if (insert_clauses_refused(outcome, env, insert))
		return NULL;
	ins->flags = insert->flags & SQL_DML_IGNORE ? EVAL_ASSIGN_IGNORE : 0;
	if (!insert_targets(&c, ins, insert))
		return NULL;
	if (insert->query) {
		ins->query = compile_query(&c, insert->query, NULL, NULL);
		if (!ins->query)
			return NULL;
		if (ins->query->column_count != ins->target_count)
			return outcome_error(outcome, 1136, "as many values as columns");
		for (uint32_t i = 0; i < ins->target_count; i++) {
			if (query_into_column_refused(
				    outcome, env, &ins->table->columns[ins->targets[i]]))
				return NULL;
		}
	} else if (!insert_values(&c, ins, insert)) {
		return NULL;
	}
	return insert_duplicate(&c, ins, insert) ? ins : NULL;
}

const struct eval_table *eval_insert_table(const struct eval_insert *insert)
{
	return insert->table;
}

/* A column that ON DUPLICATE KEY UPDATE sets needs no default in MariaDB: it has the implicit default of its
 * type.  It needs one where a query makes the rows, and in MySQL. */
static bool set_on_duplicate(const struct eval_insert *ins, const struct eval_env *env, uint32_t i)
{
	const struct eval_column *column = &ins->table->columns[i];

	if (env->flavour != SQL_MARIADB || ins->query || column->dflt || column->nullable ||
		column->generated || column->auto_increment)
		return false;
	for (uint32_t k = 0; k < ins->on_duplicate_count; k++) {
		if (ins->on_duplicate[k].column == i)
			return true;
	}
	return false;
}

/* What a named column is before it has its value; begins_odd() has the rest. */
static bool begin_column(struct run *run, const struct eval_insert *ins, uint32_t i, unsigned flags, struct eval_value *row)
{
	const struct eval_column *column = &ins->table->columns[i];

	if (begins_odd(ins, i) || column->generated)
		return true;
	if (column->dflt)
		return is_null_literal(column->dflt) || column_default(run, ins->table, i, flags, row);
	if (!column->nullable)
		row[i] = implicit_default(run, &column->type);
	return true;
}

/* One row.  The defaults of columns that are not named come first, so that expressions may read them.
 * Computed defaults come last, because they read the other columns. */
static bool build_row(const struct eval_insert *ins, struct run *run, size_t number,
	struct node *const *nodes, const struct eval_value *values, struct eval_value *row)
{
	const struct eval_table *table = ins->table;
	unsigned flags = ins->flags | (number ? EVAL_ASSIGN_LATER_ROW : 0u);
	const struct eval_value *view = row;
	struct frame f = {.run = run, .rows = &view};
	bool all_default = !nodes && !values, lacks = false;

	for (uint32_t i = 0; i < table->column_count; i++) {
		bool named = is_named(ins, i) && !all_default;
		/* MySQL checks the values first: error 1406 of another column, not 1364. */
		bool later = !named && run->env->flavour == SQL_MYSQL &&
			     lacks_default(run->env, &table->columns[i], flags);

		lacks |= later;
		row[i] = EVAL_NULL_VALUE;
		if (!named && (later || set_on_duplicate(ins, run->env, i)))
			row[i] = implicit_default(run, &table->columns[i].type);
		else if (!named && !has_late_default(&table->columns[i]) &&
			 !column_default(run, table, i, flags, row))
			return false;
		else if (named && nodes && ins->computes && !begin_column(run, ins, i, flags, row))
			return false;
		/* The next number comes last. */
		if (!named && nodes && ins->computes && table->columns[i].auto_increment)
			row[i] = implicit_default(run, &table->columns[i].type);
		if (run->failed)
			return false;
	}
	for (uint32_t k = 0; k < ins->target_count && !all_default; k++) {
		uint32_t i = ins->targets[k];
		const struct eval_type *type = values ? &ins->query->types[k] : NULL;

		if (!values && !nodes[k]) {
			if (!column_default(run, table, i, flags, row))
				return false;
			continue;
		}
		if (values ? !store_carried(run, table, i, NULL, type, &values[k], flags, &row[i])
			   : !run_assigned(run, table, i, nodes[k], &f, flags, &row[i]))
			return false;
		if (wants_auto_value(run->env, &table->columns[i], &row[i]))
			row[i] = EVAL_NULL_VALUE;
	}
	for (uint32_t i = 0; i < table->column_count; i++) {
		if (is_named(ins, i) && !all_default)
			continue;
		if (has_late_default(&table->columns[i]) && !column_default(run, table, i, flags, row))
			return false;
		if (table->columns[i].auto_increment)
			row[i] = EVAL_NULL_VALUE;
	}
	if (lacks)
		return fail_error(run->outcome, 1364, "column has no default");
	return eval_generate(run->arena, run->env, table, flags, row, run->outcome);
}

bool eval_insert_rows(const struct eval_insert *ins, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, struct eval_rows *out,
	struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct eval_result result = {0};
	const struct eval_value **rows;
	size_t count = ins->row_count;

	if (ins->query) {
		/* MariaDB checks that there are defaults before there are rows. */
		for (uint32_t i = 0; i < ins->table->column_count && env->flavour == SQL_MARIADB; i++) {
			if (!is_named(ins, i) && lacks_default(env, &ins->table->columns[i], ins->flags))
				return fail_error(outcome, 1364, "column has no default");
		}
		if (!run_query(ins->query, &run, NULL, &result))
			return false;
		if (result.open_count)
			return give_up(outcome, LIMIT_LIMIT_THAT_CUTS_BETWEEN_EQUAL_ROWS);
		count = result.row_count;
	}
	rows = arena_alloc(arena, (count + 1) * sizeof(*rows));
	*out = (struct eval_rows){rows, 0};
	for (size_t i = 0; i < count; i++) {
		struct eval_value *row =
			arena_alloc(arena, (ins->table->column_count + 1) * sizeof(*row));

		if (!build_row(ins, &run, i, ins->query ? NULL : ins->rows[i],
			    ins->query ? result.rows[i] : NULL, row))
			return false;
		rows[out->count++] = row;
	}
	return true;
}

bool eval_insert_duplicate(const struct eval_insert *ins, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, const struct eval_value *old,
	const struct eval_value *attempt, const struct eval_value **out,
	struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	const struct eval_value *rows[2] = {old, attempt};
	struct frame f = {.run = &run, .rows = rows, .insert = attempt};
	bool changed;

	return assign_row(&run, ins->table, 0, ins->on_duplicate, ins->on_duplicate_count, &f, true,
		ins->flags, old, out, &changed);
}
