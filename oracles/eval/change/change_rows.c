/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What INSERT, UPDATE and DELETE make of rows. */
#include <stdlib.h>
#include <string.h>

#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "eval/value/temporal.h"

struct assignment {
	uint32_t table, column;
	struct node *value; /* NULL: DEFAULT */
};

/* ---- what they share ---- */

static bool fail_error(struct eval_outcome *outcome, unsigned error, const char *what)
{
	outcome_error(outcome, error, what);
	return false;
}

static bool fail_unsupported(struct eval_outcome *outcome, enum eval_limit limit)
{
	outcome_unsupported(outcome, limit);
	return false;
}

static bool is_null_literal(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_NULL;
}

static struct eval_value implicit_default(struct run *run, const struct eval_type *type)
{
	struct decimal zero = {.scale = type->decimals};

	switch (eval_kind_of(type)) {
	case EVAL_NULL:
	case EVAL_OPAQUE:
		break;
	case EVAL_INT:
		return eval_int(0);
	case EVAL_UINT:
		return eval_uint(0);
	case EVAL_DOUBLE:
		return eval_double(0);
	case EVAL_DECIMAL:
		return make_decimal(run, &zero);
	case EVAL_STRING:
		if (type->kind == EVAL_T_ENUM && type->value_count)
			return eval_string(type->values[0], type->collation);
		if (type->fixed && type->collation == COLLATION_BINARY)
			return run_unsupported(run, LIMIT_IMPLICIT_DEFAULT_OF_BINARY_N);
		return eval_string(SPAN_LIT(""), type->collation);
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		return (struct eval_value){
			.kind = (uint8_t)eval_kind_of(type), .decimals = type->decimals};
	}
	return EVAL_NULL_VALUE;
}

static bool is_strict_mode(const struct eval_env *env, unsigned flags)
{
	return !(flags & EVAL_ASSIGN_IGNORE) &&
	       (env->mode & (EVAL_MODE_STRICT_TRANS_TABLES | EVAL_MODE_STRICT_ALL_TABLES));
}

/* Does the column hold anything that a function of this type may give which only the server knows: a moment, the
 * seconds since 1970, a UUID, a number between 0 and 1? */
static bool has_room_for_opaque(const struct eval_type *from, const struct eval_type *to)
{
	enum { LONGEST = sizeof("2024-01-02 10:11:12.000000") - 1, SECONDS = 10 };

	if (from->kind == EVAL_T_STRING)
		return to->kind == EVAL_T_STRING && to->length >= from->length;
	if (from->kind == EVAL_T_DOUBLE)
		return to->kind == EVAL_T_DOUBLE;
	if (from->kind == EVAL_T_INT)
		return (to->kind == EVAL_T_INT && to->bytes >= 4) || to->kind == EVAL_T_DOUBLE ||
		       (to->kind == EVAL_T_DECIMAL && to->length - to->decimals >= SECONDS) ||
		       (to->kind == EVAL_T_STRING && to->length >= SECONDS);
	return type_is_temporal(to) || to->kind == EVAL_T_DOUBLE || (to->kind == EVAL_T_INT && to->bytes == 8) ||
	       (to->kind == EVAL_T_STRING && to->length >= LONGEST);
}

/* What a column holds after a value was assigned to it that may be opaque.  Such a one is converted
 * to the column's type, whichever it has; a copy of another column must have the same type. */
static bool store_carried(struct run *run, const struct eval_table *table, uint32_t i,
	const struct node *from, const struct eval_type *type, const struct eval_value *v,
	unsigned flags, struct eval_value *out)
{
	const struct eval_type *to = &table->columns[i].type;

	if (v->kind != EVAL_OPAQUE)
		return eval_column_assign(
			run->arena, run->env, table, i, type, v, flags, out, run->outcome);
	if (!from || from->column ? type->kind != to->kind || type->decimals != to->decimals
				  : !has_room_for_opaque(&from->type, to))
		return fail_unsupported(run->outcome, LIMIT_TIMES_THAT_ONLY_SERVER_KNOWS);
	*out = *v;
	return true;
}

bool eval_assign(const struct eval_expr *expr, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const struct eval_table *table, uint32_t column,
	struct eval_value *out, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	const struct eval_value *row = NULL;
	struct frame f = {.run = &run, .rows = &row};
	struct eval_value v;

	run.strict = is_strict_mode(env, 0);
	v = shown(&run, node_carry(expr->node, &f));
	return !run.failed &&
	       store_carried(&run, table, column, expr->node, &expr->node->type, &v, EVAL_ASSIGN_UPDATE, out);
}

/* The default of a column as it is stored.  `said`: DEFAULT was written, or the column left out. */
static bool column_default(struct run *run, const struct eval_table *table, uint32_t i,
	unsigned flags, struct eval_value *row)
{
	const struct eval_column *column = &table->columns[i];
	struct eval_outcome inner;
	struct eval_expr *expr;
	struct eval_value v;

	row[i] = EVAL_NULL_VALUE;
	if (column->auto_increment && flags & EVAL_ASSIGN_UPDATE)
		row[i] = implicit_default(run, &column->type);
	if (column->generated || column->auto_increment)
		return true;
	if (!column->dflt) {
		if (column->nullable)
			return true;
		if (column->type.kind == EVAL_T_ENUM) {
			row[i] = implicit_default(run, &column->type);
			return !run->failed;
		}
		if (is_strict_mode(run->env, flags))
			return fail_error(run->outcome, 1364, "column has no default");
		outcome_warn(run->outcome, 1364);
		row[i] = implicit_default(run, &column->type);
		return !run->failed;
	}
	expr = eval_expr_compile(
		run->arena, column->dflt, table, SPAN_NONE, run->env, run->source, &inner);
	if (!expr || !expr_carry(expr, run->arena, run->env, run->source, row, &v, &inner)) {
		*run->outcome = inner;
		return false;
	}
	/* An opaque default is the column's own, whatever its type. */
	if (v.kind == EVAL_OPAQUE) {
		row[i] = v;
		return true;
	}
	return eval_column_assign(run->arena, run->env, table, i, eval_expr_type(expr), &v, flags, &row[i],
		run->outcome);
}

static bool has_no_default(const struct eval_column *column)
{
	return !column->dflt && !column->nullable && !column->generated && !column->auto_increment &&
	       column->type.kind != EVAL_T_ENUM;
}

/* Whether column_default() is error 1364. */
static bool lacks_default(const struct eval_env *env, const struct eval_column *column, unsigned flags)
{
	return has_no_default(column) && is_strict_mode(env, flags);
}

static bool wants_auto_value(
	const struct eval_env *env, const struct eval_column *column, const struct eval_value *v)
{
	if (!column->auto_increment)
		return false;
	if (v->kind == EVAL_NULL)
		return true;
	return !(env->mode & EVAL_MODE_NO_AUTO_VALUE_ON_ZERO) &&
	       (v->kind == EVAL_INT || v->kind == EVAL_UINT) && v->u == 0;
}

static bool compile_assignments(
	struct compiler *c, const struct sql_assign *set, struct assignment **out, uint32_t *count)
{
	uint32_t n = 0;

	for (const struct sql_assign *a = set; a; a = a->next)
		n++;
	*out = arena_zero(c->arena, (n + 1) * sizeof(**out));
	*count = 0;
	for (const struct sql_assign *a = set; a; a = a->next) {
		struct assignment *as = &(*out)[*count];
		uint32_t tables = c->scope->table_count;
		struct node *target;

		/* The alias of the new row names no target, though it has the same columns. */
		if (c->scope->insert_table)
			c->scope->table_count = 1;
		c->no_locals = true;
		target = compile_expr(c, a->target);
		c->no_locals = false;
		c->scope->table_count = tables;
		if (!target)
			return false;
		if (!target->column || target->u.at.depth) {
			compile_unsupported(c, LIMIT_ASSIGNMENT_TO_NOT_COLUMN);
			return false;
		}
		as->table = target->u.at.table;
		as->column = target->u.at.column;
		if (!c->scope->tables[as->table].base) {
			compile_error(c, 1288, "the target is not updatable");
			return false;
		}
		if (a->value->kind == SQL_EXPR_DEFAULT && !a->value->u.binary.left &&
			!a->value->negated) {
			const struct eval_column *column =
				&c->scope->tables[as->table].base->columns[as->column];

			/* MariaDB asks for it before it looks for rows, in any sql_mode. */
			if (c->env->flavour == SQL_MARIADB && !c->scope->insert_table && has_no_default(column)) {
				compile_error(c, 1364, "column has no default");
				return false;
			}
			as->value = NULL;
		} else {
			c->bytes = type_is_bytes(&target->type);
			as->value = compile_value(c, a->value);
			c->bytes = false;
			if (!as->value)
				return false;
		}
		if (c->scope->tables[as->table].base->columns[as->column].generated && as->value) {
			compile_error(c, c->env->flavour == SQL_MARIADB ? 1906 : 3105,
				"a value for a generated column");
			return false;
		}
		(*count)++;
	}
	return true;
}

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

static struct scope *scope_of_table(struct compiler *c, const struct eval_table *table, struct span alias)
{
	struct scope *scope = arena_zero(c->arena, sizeof(*scope));
	struct scope_table *t = arena_zero(c->arena, 2 * sizeof(*t));
	struct span *names = arena_alloc(c->arena, (table->column_count + 1) * sizeof(*names));
	struct eval_type *types = arena_alloc(c->arena, (table->column_count + 1) * sizeof(*types));

	for (uint32_t i = 0; i < table->column_count; i++) {
		names[i] = table->columns[i].name;
		types[i] = table->columns[i].type;
	}
	*t = (struct scope_table){.db = table->db,
		.alias = alias.ptr ? alias : table->name,
		.base = table,
		.column_count = table->column_count,
		.names = names,
		.types = types};
	scope->tables = t;
	scope->table_count = 1;
	return scope;
}

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
			return compile_error(c, 1054, "unknown column") != NULL;
		for (uint32_t i = 0; i < ins->target_count; i++) {
			if (ins->targets[i] == column)
				return compile_error(c, 1110, "a column named twice") != NULL;
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

static bool is_computed_default(const struct eval_column *column)
{
	return column->dflt && column->dflt->kind != SQL_EXPR_LITERAL;
}

static bool see_column(void *ctx, const struct sql_expr *e)
{
	*(bool *)ctx |= e->kind == SQL_EXPR_COLUMN;
	return true;
}

/* DEFAULT (a + 1), which is computed when the row has its values; but where the statement says DEFAULT itself, in the
 * place where it says so. */
static bool has_late_default(const struct eval_column *column)
{
	bool found = false;

	if (is_computed_default(column) && !column->generated)
		sql_walk_expr(column->dflt, &(struct sql_visitor){.expr = see_column, .ctx = &found});
	return found;
}

/* What a column that the statement names is before it has its value, where another value reads it: its default, or what
 * its type has for nothing (seen on all releases).  Not followed: those that are computed, the next number, times and
 * BINARY(n). */
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
	return !reads_odd_beginning(ins, value) ||
	       compile_unsupported(
		c, LIMIT_VALUE_THAT_READS_COLUMN_OF_NEW_ROW_BEFORE_HAS_ONE) != NULL;
}

static bool insert_row(struct compiler *c, struct eval_insert *ins, const struct sql_exprs *values)
{
	struct node **row = arena_zero(c->arena, (values->count + 1) * sizeof(*row));
	uint32_t i = 0;

	if (values->count != ins->target_count && values->count != 0)
		return compile_error(c, 1136, "as many values as columns") != NULL;
	for (const struct sql_expr *e = values->first; e; e = e->next, i++) {
		const struct eval_column *column = &ins->table->columns[ins->targets[i]];
		bool dflt = e->kind == SQL_EXPR_DEFAULT && !e->u.binary.left && !e->negated;

		if (column->generated && !dflt)
			return compile_error(c, c->env->flavour == SQL_MARIADB ? 1906 : 3105,
				       "a value for a generated column") != NULL;
		if (dflt)
			continue;
		c->bytes = type_is_bytes(&column->type);
		row[i] = compile_value(c, e);
		c->bytes = false;
		if (!row[i] || !note_value(c, ins, row[i]))
			return false;
		if (ins->row_count && reads_table(e, ins->table))
			return compile_unsupported(
				c, LIMIT_LATER_ROW_OF_INSERT_THAT_READS_TABLE) != NULL;
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
		if (insert->query && c->outcome->status == EVAL_ERROR) {
			/* The names may be those of the query's tables. */
			c->outcome->status = EVAL_OK;
			compile_unsupported(c, LIMIT_ON_DUPLICATE_KEY_UPDATE_WITH_QUERY_COLUMNS);
		}
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
	if (insert->partitions)
		return outcome_unsupported(outcome, LIMIT_PARTITION);
	if (insert->flags & SQL_DML_DELAYED)
		return outcome_unsupported(outcome, LIMIT_INSERT_DELAYED);
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
			if (ins->table->columns[ins->targets[i]].generated)
				return outcome_unsupported(
					outcome, LIMIT_QUERY_INTO_GENERATED_COLUMNS);
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

/* MariaDB asks for no value of a column that ON DUPLICATE KEY UPDATE sets: it has what its type has for
 * nothing.  Not so where a query makes the rows, nor on MySQL. */
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

/* One row: defaults of what is not named first, so that expressions may use them; those that are computed last, from
 * what the others have got. */
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
		/* MySQL looks at the values first: error 1406 of another column, not 1364. */
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
		struct eval_value v;

		if (values) {
			v = values[k];
		} else if (nodes[k]) {
			type = &nodes[k]->type;
			run->strict = is_strict_mode(run->env, flags);
			v = node_carry(nodes[k], &f);
			run->strict = false;
			if (run->failed)
				return false;
		} else {
			if (!column_default(run, table, i, flags, row))
				return false;
			continue;
		}
		if (!store_carried(run, table, i, nodes ? nodes[k] : NULL, type, &v, flags, &row[i]))
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
		/* MariaDB asks for defaults before there are rows. */
		for (uint32_t i = 0; i < ins->table->column_count && env->flavour == SQL_MARIADB; i++) {
			if (!is_named(ins, i) && lacks_default(env, &ins->table->columns[i], ins->flags))
				return fail_error(outcome, 1364, "column has no default");
		}
		if (!run_query(ins->query, &run, NULL, &result))
			return false;
		if (result.open_count)
			return fail_unsupported(outcome, LIMIT_LIMIT_THAT_CUTS_BETWEEN_EQUAL_ROWS);
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

/* ---- assigning ---- */

static bool touch_on_update(struct run *run, const struct eval_table *table,
	const struct assignment *set, uint32_t count, uint32_t number, struct eval_value *row)
{
	for (uint32_t i = 0; i < table->column_count; i++) {
		bool assigned = false;
		struct eval_value now = {.kind = EVAL_DATETIME, .decimals = 6, .t = run->env->now};

		if (!table->columns[i].on_update)
			continue;
		for (uint32_t k = 0; k < count; k++)
			assigned |= set[k].table == number && set[k].column == i;
		if (assigned)
			continue;
		if (!run->env->has_now && run->env->opaque_count) {
			row[i] = (struct eval_value){.kind = EVAL_OPAQUE, .u = ++*run->env->opaque_count};
			continue;
		}
		if (!run->env->has_now)
			return fail_unsupported(
				run->outcome, LIMIT_ON_UPDATE_CURRENT_TIMESTAMP_TIME_IS_NOT_KNOWN);
		if (!time_set_decimals(&now, table->columns[i].type.decimals, false))
			return fail_unsupported(run->outcome, LIMIT_TIME_OUT_OF_RANGE);
		row[i] = now;
	}
	return true;
}

/* MySQL computes constants when the statement is prepared: one that fails is reported before what an assignment to
 * the left of it does. */
static bool failed_assignment(struct run *run, const struct assignment *set, uint32_t count, uint32_t k)
{
	if (run->env->flavour != SQL_MYSQL || run->outcome->status != EVAL_ERROR)
		return false;
	while (++k < count) {
		if (set[k].value && (set[k].value->with_failing || set[k].value->with_cut)) {
			run->outcome->status = EVAL_OK;
			return fail_unsupported(
				run->outcome, LIMIT_MYSQL_ONE_OF_SEVERAL_ERRORS_IN_ASSIGNMENTS);
		}
	}
	return false;
}

/* The assignments to table `number`, from left to right. */
static bool assign_row(struct run *run, const struct eval_table *table, uint32_t number,
	const struct assignment *set, uint32_t count, struct frame *f, bool sees_changes,
	unsigned flags, const struct eval_value *old, const struct eval_value **out, bool *changed)
{
	struct eval_value *row = arena_alloc(run->arena, (table->column_count + 1) * sizeof(*row));
	bool differs = false, surely = false, null_again = false;

	memcpy(row, old, table->column_count * sizeof(*row));
	if (sees_changes && !(run->env->mode & EVAL_MODE_SIMULTANEOUS_ASSIGNMENT))
		f->rows[number] = row;
	for (uint32_t k = 0; k < count; k++) {
		uint32_t i = set[k].column;
		struct eval_value v;

		if (set[k].table != number)
			continue;
		if (!set[k].value) {
			if (!column_default(run, table, i, flags | EVAL_ASSIGN_UPDATE, row))
				return false;
			continue;
		}
		run->strict = is_strict_mode(run->env, flags);
		v = node_carry(set[k].value, f);
		run->strict = false;
		if (run->failed || !store_carried(run, table, i, set[k].value, &set[k].value->type, &v,
					   flags, &row[i]))
			return failed_assignment(run, set, count, k);
		/* ON DUPLICATE KEY UPDATE: no error, and no next number (seen on all servers). */
		if (row[i].kind == EVAL_NULL && table->columns[i].auto_increment)
			row[i] = implicit_default(run, &table->columns[i].type);
		null_again |= row[i].kind == EVAL_NULL && old[i].kind == EVAL_NULL &&
			      table->columns[i].dflt && !is_null_literal(table->columns[i].dflt);
	}
	if (!eval_generate(run->arena, run->env, table, flags, row, run->outcome))
		return false;
	for (uint32_t i = 0; i < table->column_count; i++) {
		bool same = eval_same(&row[i], &old[i]);

		differs |= !same;
		surely |= !same && (old[i].kind == EVAL_NULL || row[i].kind == EVAL_NULL ||
					   (old[i].kind != EVAL_OPAQUE && row[i].kind != EVAL_OPAQUE));
	}
	if ((differs || null_again) && !touch_on_update(run, table, set, count, number, row))
		return false;
	/* The time is set for bytes that differ, and may be what was there. */
	for (uint32_t i = 0; null_again && i < table->column_count; i++)
		differs |= !eval_same(&row[i], &old[i]);
	run->outcome->opaque_change = differs && !surely;
	run->outcome->null_again = null_again && !differs;
	f->rows[number] = old;
	*out = row;
	*changed = differs;
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

/* ---- UPDATE and DELETE of one table ---- */

struct eval_change {
	const struct eval_table *table;
	struct node *where;
	struct assignment *set;
	uint32_t set_count;
	struct select_order *order;
	uint32_t order_count;
	struct node *limit;
	unsigned flags;
	bool is_delete;
};

static struct eval_change *change_compile(struct compiler *c, const struct sql_table_ref *ref,
	const struct sql_with *with, const struct sql_expr *where, const struct sql_order *order,
	const struct sql_limit *limit, const struct sql_assign *set, uint32_t flags)
{
	struct eval_change *change = arena_zero(c->arena, sizeof(*change));
	struct node *offset;

	if (!ref || ref->next || ref->kind != SQL_TABLE_NAME)
		return outcome_unsupported(c->outcome, LIMIT_SEVERAL_TABLES);
	if (ref->u.name.partitions || ref->u.name.portion.ptr ||
		ref->system_time != SQL_SYSTEM_TIME_NONE)
		return outcome_unsupported(c->outcome, LIMIT_PARTITION_FOR_PORTION_OF);
	if (with)
		return outcome_unsupported(c->outcome, LIMIT_WITH_BEFORE_UPDATE_OR_DELETE);
	change->table = c->source ? c->source->table(c->source->ctx, &ref->u.name.table) : NULL;
	if (!change->table)
		return outcome_error(c->outcome, 1146, "no such table");
	change->flags = EVAL_ASSIGN_UPDATE | (flags & SQL_DML_IGNORE ? EVAL_ASSIGN_IGNORE : 0);
	c->scope = scope_of_table(c, change->table, ref->alias);
	if (where && !(change->where = compile_condition(c, where)))
		return NULL;
	if (!compile_assignments(c, set, &change->set, &change->set_count) ||
		!compile_order(c, order, &change->order, &change->order_count) ||
		!compile_limit(c, limit, &change->limit, &offset))
		return NULL;
	return change;
}

struct eval_change *eval_update_compile(struct arena *arena, const struct sql_update *update,
	const struct eval_env *env, const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);

	return change_compile(&c, update->tables, update->with, update->where, update->order,
		update->limit, update->set, update->flags);
}

struct eval_change *eval_delete_compile(struct arena *arena, const struct sql_delete *del,
	const struct eval_env *env, const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);
	struct eval_change *change;

	if (del->before || (del->flags & SQL_DML_HISTORY))
		return outcome_unsupported(outcome, LIMIT_DELETE_HISTORY);
	if (del->targets)
		return outcome_unsupported(outcome, LIMIT_SEVERAL_TABLES);
	change = change_compile(
		&c, del->from, del->with, del->where, del->order, del->limit, NULL, del->flags);
	if (change)
		change->is_delete = true;
	return change;
}

const struct eval_table *eval_change_table(const struct eval_change *change)
{
	return change->table;
}

/* A string that is the same for every row. */
static bool is_constant_string(const struct node *n)
{
	return n->constant && type_is_string(&n->type);
}

/* Strict mode for a condition.  MariaDB turns it on when it begins to change rows.  Constants that
 * were converted before, when the condition was resolved and optimized, only brought warnings;
 * which those are (all of `WHERE 'a'`, of `id = 'a'`, not of `id + 'a'`) is not modelled.  A
 * DELETE never turns it on (mysql_delete in sql/sql_delete.cc). */
static void begin_strict_condition(struct run *run, const struct eval_change *change)
{
	run->strict = is_strict_mode(run->env, change->flags);
	if (run->env->flavour != SQL_MARIADB)
		return;
	if (change->is_delete || change->where->constant)
		run->strict = false;
	else
		run->folded = node_any(change->where, is_constant_string);
}

bool eval_change_test(const struct eval_change *change, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, const struct eval_value *row,
	enum eval_truth *truth, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct frame f = {.run = &run, .rows = &row};
	struct eval_value v;

	*truth = EVAL_TRUE;
	if (!change->where)
		return true;
	begin_strict_condition(&run, change);
	v = node_run(change->where, &f);
	if (v.kind == EVAL_NULL)
		*truth = EVAL_UNKNOWN;
	else
		*truth = to_bool(&run, &change->where->type, &v) ? EVAL_TRUE : EVAL_FALSE;
	return !run.failed;
}

bool eval_change_apply(const struct eval_change *change, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, const struct eval_value *row,
	const struct eval_value **out, bool *changed, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	const struct eval_value *rows = row;
	struct frame f = {.run = &run, .rows = &rows};

	return assign_row(&run, change->table, 0, change->set, change->set_count, &f, true,
		change->flags, row, out, changed);
}

struct change_sort {
	struct run *run;
	const struct eval_change *change;
	const struct eval_value *const *keys;
};

static int compare_changes(const void *pa, const void *pb, void *ctx)
{
	const struct change_sort *s = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = compare_keys(
		s->run, s->change->order, s->change->order_count, s->keys[a], s->keys[b]);

	return c ? c : (a > b) - (a < b);
}

bool eval_change_limit(const struct eval_change *change, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, struct eval_rows rows,
	uint32_t *order, size_t *count, bool *open, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	const struct eval_value **keys = arena_alloc(arena, (rows.count + 1) * sizeof(*keys));
	struct change_sort sort = {&run, change, keys};
	uint64_t limit = UINT64_MAX;

	*open = false;
	*count = rows.count;
	for (size_t i = 0; i < rows.count; i++) {
		const struct eval_value *view = rows.row[i];
		struct frame f = {.run = &run, .rows = &view};
		struct eval_value *key =
			arena_alloc(arena, (change->order_count + 1) * sizeof(*key));

		for (uint32_t k = 0; k < change->order_count; k++)
			key[k] = node_run(change->order[k].node, &f);
		keys[i] = key;
		order[i] = (uint32_t)i;
	}
	if (rows.count > 1)
		qsort_r(order, rows.count, sizeof(*order), compare_changes, &sort);
	if (change->limit && !run_limit(&run, change->limit, &limit))
		return false;
	if (limit < rows.count) {
		*count = (size_t)limit;
		*open = limit > 0 && compare_keys(&run, change->order, change->order_count,
					     keys[order[limit - 1]], keys[order[limit]]) == 0;
	}
	return !run.failed;
}

/* ---- UPDATE and DELETE of several tables ---- */

struct eval_join {
	struct eval_query *query;
	bool *target;
	struct assignment *set;
	uint32_t set_count;
	unsigned flags;
};

struct reads {
	const struct sql_assign *set, *own;
	bool found;
};

/* Does an expression read a column that another assignment of the statement writes? */
static bool reads_assigned(void *ctx, const struct sql_expr *e)
{
	struct reads *r = ctx;

	if (e->kind != SQL_EXPR_COLUMN)
		return true;
	for (const struct sql_assign *a = r->set; a; a = a->next) {
		if (a != r->own && span_ieq(a->target->u.column.name, e->u.column.name))
			r->found = true;
	}
	return true;
}

bool eval_reads_assigned(const struct sql_assign *set)
{
	bool found = false;

	for (const struct sql_assign *a = set; a && !found; a = a->next) {
		struct reads r = {set, a, false};

		sql_walk_expr(a->value, &(struct sql_visitor){.expr = reads_assigned, .ctx = &r});
		found = r.found;
	}
	return found;
}

static bool on_reads_assigned(void *ctx, const struct sql_table_ref *ref)
{
	if (ref->kind == SQL_TABLE_JOIN && ref->u.join.on)
		sql_walk_expr(ref->u.join.on, &(struct sql_visitor){.expr = reads_assigned, .ctx = ctx});
	return true;
}

/* MariaDB before 11.1 may write rows of one of several tables while it goes on joining them. */
static bool meets_own_writes(const struct compiler *c, const struct eval_join *join, const struct sql_stmt *stmt)
{
	struct reads r = {stmt->u.update->set, NULL, false};
	bool several = false;

	for (uint32_t i = 1; i < join->set_count; i++)
		several |= join->set[i].table != join->set[0].table;
	if (!several || c->env->flavour != SQL_MARIADB || c->env->version >= 110100)
		return false;
	sql_walk_stmt(stmt, &(struct sql_visitor){.table_ref = on_reads_assigned, .ctx = &r});
	if (stmt->u.update->where)
		sql_walk_expr(stmt->u.update->where, &(struct sql_visitor){.expr = reads_assigned, .ctx = &r});
	return r.found;
}

static bool mark_targets(struct compiler *c, struct eval_join *join, const struct sql_delete *del)
{
	for (const struct sql_table_name *t = del->targets; t; t = t->next) {
		bool found = false;

		for (uint32_t i = 0; i < join->query->table_count && !found; i++) {
			const struct scope_table *st = &join->query->scope_tables[i];

			if (!st->base || !scope_names_table(c, st, t->db, t->name))
				continue;
			join->target[i] = found = true;
		}
		if (!found) {
			compile_error(c, 1109, "unknown table");
			return false;
		}
	}
	return true;
}

struct eval_join *eval_join_compile(struct arena *arena, const struct sql_stmt *stmt,
	const struct eval_env *env, const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);
	struct eval_join *join = arena_zero(arena, sizeof(*join));
	struct eval_query *q = arena_zero(arena, sizeof(*q));
	struct scope *scope = arena_zero(arena, sizeof(*scope));
	bool update = stmt->kind == SQL_STMT_UPDATE;
	const struct sql_with *with;
	const struct cte *ctes = NULL;
	const struct sql_expr *where;

	if (!update && stmt->kind != SQL_STMT_DELETE)
		return outcome_unsupported(outcome, LIMIT_NOT_UPDATE_OR_DELETE);
	with = update ? stmt->u.update->with : stmt->u.del->with;
	where = update ? stmt->u.update->where : stmt->u.del->where;
	if ((update && (stmt->u.update->order || stmt->u.update->limit)) ||
		(!update && (stmt->u.del->order || stmt->u.del->limit)))
		return outcome_unsupported(outcome, LIMIT_ORDER_BY_OR_LIMIT_OVER_SEVERAL_TABLES);
	join->query = q;
	join->flags = EVAL_ASSIGN_UPDATE;
	if ((update ? stmt->u.update->flags : stmt->u.del->flags) & SQL_DML_IGNORE)
		join->flags |= EVAL_ASSIGN_IGNORE;
	if (!compile_ctes(&c, with, NULL, &ctes))
		return NULL;
	c.ctes = ctes;
	c.scope = scope;
	if (!compile_from(&c, q, update ? stmt->u.update->tables : stmt->u.del->from, scope, ctes))
		return NULL;
	join->target = arena_zero(arena, q->table_count + 1);
	if ((where && !(q->where = compile_condition(&c, where))) || hides_rows(&c, q))
		return NULL;
	if (!update)
		return mark_targets(&c, join, stmt->u.del) ? join : NULL;
	if (!compile_assignments(&c, stmt->u.update->set, &join->set, &join->set_count))
		return NULL;
	/* MySQL may not have read the columns that it is computed from (seen on 8.0 and 9.7: NULL). */
	for (uint32_t i = 0; i < join->set_count && env->flavour == SQL_MYSQL; i++) {
		const struct assignment *a = &join->set[i];

		if (!a->value && is_computed_default(&scope->tables[a->table].base->columns[a->column]))
			return outcome_unsupported(
				outcome, LIMIT_MYSQL_DEFAULT_COMPUTED_IN_UPDATE_OF_SEVERAL_TABLES);
	}
	if (eval_reads_assigned(stmt->u.update->set) || meets_own_writes(&c, join, stmt))
		return outcome_unsupported(
			outcome, LIMIT_UPDATE_OF_SEVERAL_TABLES_THAT_READS_WRITTEN);
	for (uint32_t i = 0; i < q->table_count; i++) {
		/* Its rows are made while the statement runs, and nobody keeps them. */
		if (!q->tables[i].base)
			return outcome_unsupported(outcome, LIMIT_UPDATE_JOINED_WITH_DERIVED_TABLE);
	}
	for (uint32_t i = 0; i < join->set_count; i++)
		join->target[join->set[i].table] = true;
	return join;
}

uint32_t eval_join_table_count(const struct eval_join *join)
{
	return join->query->table_count;
}

const struct eval_table *eval_join_table(const struct eval_join *join, uint32_t table)
{
	return join->query->tables[table].base;
}

bool eval_join_is_target(const struct eval_join *join, uint32_t table)
{
	return join->target[table];
}

bool eval_join_run(const struct eval_join *join, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const uint32_t **matches, size_t *count,
	struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct eval_rows *rows = arena_zero(arena, (join->query->table_count + 1) * sizeof(*rows));
	struct frame f = {.run = &run};
	uint32_t *found;

	f.rows = arena_zero(arena, (join->query->table_count + 1) * sizeof(*f.rows));
	if (!run_from(join->query, &f, rows, &found, count))
		return false;
	*matches = found;
	return true;
}

bool eval_join_apply(const struct eval_join *join, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, uint32_t table, const struct eval_value *const *rows,
	const struct eval_value **out, bool *changed, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct frame f = {.run = &run};
	uint32_t count = join->query->table_count;

	f.rows = arena_alloc(arena, (count + 1) * sizeof(*f.rows));
	memcpy(f.rows, rows, count * sizeof(*f.rows));
	return assign_row(&run, join->query->tables[table].base, table, join->set, join->set_count, &f,
		false, join->flags, rows[table], out, changed);
}
