/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Defaults of columns, SET, and the row that it makes of another: for INSERT, UPDATE and DELETE. */
#include <string.h>

#include "eval/change/change.h"
#include "eval/limits/value_guards.h"
#include "eval/query/query.h"
#include "eval/value/temporal.h"
#include "server/errors.h"

/* ---- what they share ---- */

bool fail_error(struct eval_outcome *outcome, unsigned error, const char *what)
{
	outcome_error(outcome, error, what);
	return false;
}

bool give_up(struct eval_outcome *outcome, enum eval_limit limit)
{
	outcome_unsupported(outcome, limit);
	return false;
}

bool is_null_literal(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_LITERAL && e->u.literal.kind == SQL_LIT_NULL;
}

struct eval_value implicit_default(struct run *run, const struct eval_type *type)
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
		if (binary_default_refused(run, type))
			return EVAL_NULL_VALUE;
		return eval_string(SPAN_LIT(""), type->collation);
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		return (struct eval_value){
			.kind = (uint8_t)eval_kind_of(type), .decimals = type->decimals};
	}
	return EVAL_NULL_VALUE;
}

bool is_strict_mode(const struct eval_env *env, unsigned flags)
{
	return !(flags & EVAL_ASSIGN_IGNORE) &&
	       (env->mode & (EVAL_MODE_STRICT_TRANS_TABLES | EVAL_MODE_STRICT_ALL_TABLES));
}

/* ---- values that cannot be computed here ---- */

static bool see_effect(void *ctx, const struct sql_expr *e)
{
	*(bool *)ctx |= e->kind == SQL_EXPR_ASSIGN || e->kind == SQL_EXPR_SEQUENCE || e->kind == SQL_EXPR_DEFAULT ||
			(e->kind == SQL_EXPR_CALL && (e->u.call.db.ptr || !sql_is_native(e->u.call.name)));
	return true;
}

static bool see_query(void *ctx, const struct sql_query *query)
{
	(void)query;
	*(bool *)ctx = true;
	return true;
}

/* Does it do nothing but to give a value, from the row and the session alone? */
static bool gives_value_alone(const struct sql_expr *e)
{
	bool more = false;

	sql_walk_expr(e, &(struct sql_visitor){.expr = see_effect, .query = see_query, .ctx = &more});
	return !more;
}

/* What is not known is some value of the column, as the server stored it. */
static struct eval_value unknown_value(const struct run *run, const struct eval_column *column)
{
	return (struct eval_value){.kind = EVAL_OPAQUE,
		.decimals = column->nullable ? EVAL_OPAQUE_PERHAPS_NULL : EVAL_OPAQUE_NOT_COMPUTED,
		.u = ++*run->env->opaque_count};
}

static struct eval_value run_unknown(const struct node *n, struct frame *f)
{
	(void)n;
	return run_gives_up(f->run, LIMIT_USER_VARIABLE_WHOSE_VALUE_IS_NOT_KNOWN);
}

struct node *compile_assigned(struct compiler *c, const struct sql_expr *e, const struct eval_column *column)
{
	struct compiler before = *c;
	struct eval_outcome outcome = *c->outcome;
	struct node *n = compile_value(c, e);

	if (n || c->outcome->status != EVAL_UNSUPPORTED || column->auto_increment || column->generated ||
		!c->env->opaque_count || !gives_value_alone(e))
		return n;
	*c = before;
	*c->outcome = outcome;
	n = node_new(c, run_unknown, e, 0);
	n->type = column->type;
	return n;
}

bool run_assigned(struct run *run, const struct eval_table *table, uint32_t i, const struct node *n, struct frame *f,
	unsigned flags, struct eval_value *out)
{
	const struct eval_column *column = &table->columns[i];
	struct eval_outcome outcome = *run->outcome;
	struct eval_value v;

	run->strict = is_strict_mode(run->env, flags);
	run->assigning = true;
	v = node_carry(n, f);
	run->strict = run->assigning = false;
	if (!run->failed && store_carried(run, table, i, n, &n->type, &v, flags, out))
		return true;
	if (run->outcome->status != EVAL_UNSUPPORTED || column->auto_increment || column->generated ||
		!run->env->unknown_fits || !run->env->opaque_count || !n->expr || !gives_value_alone(n->expr))
		return false;
	run->failed = false;
	*run->outcome = outcome;
	*out = unknown_value(run, column);
	return true;
}

/* ---- opaque values ---- */

/* An opaque value is one that only the server knows: a moment, the seconds since 1970, a UUID, a number
 * between 0 and 1.  Has the column room for every one of this type? */
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

bool store_carried(struct run *run, const struct eval_table *table, uint32_t i,
	const struct node *from, const struct eval_type *type, const struct eval_value *v,
	unsigned flags, struct eval_value *out)
{
	const struct eval_type *to = &table->columns[i].type;

	if (v->kind != EVAL_OPAQUE)
		return eval_column_assign(
			run->arena, run->env, table, i, type, v, flags, out, run->outcome);
	if (v->decimals == EVAL_OPAQUE_PERHAPS_NULL && !table->columns[i].nullable && !run->env->unknown_fits)
		return give_up(run->outcome, LIMIT_TIMES_THAT_ONLY_SERVER_KNOWS);
	if (!from || from->column ? type->kind != to->kind || type->decimals != to->decimals
				  : !has_room_for_opaque(&from->type, to))
		return give_up(run->outcome, LIMIT_TIMES_THAT_ONLY_SERVER_KNOWS);
	*out = *v;
	if (!table->columns[i].nullable && out->decimals)
		out->decimals = EVAL_OPAQUE_NOT_COMPUTED;
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

bool column_default(struct run *run, const struct eval_table *table, uint32_t i,
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

bool lacks_default(const struct eval_env *env, const struct eval_column *column, unsigned flags)
{
	return has_no_default(column) && is_strict_mode(env, flags);
}

bool wants_auto_value(
	const struct eval_env *env, const struct eval_column *column, const struct eval_value *v)
{
	if (!column->auto_increment)
		return false;
	if (v->kind == EVAL_NULL)
		return true;
	return !(env->mode & EVAL_MODE_NO_AUTO_VALUE_ON_ZERO) &&
	       (v->kind == EVAL_INT || v->kind == EVAL_UINT) && v->u == 0;
}

bool compile_assignments(
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
			compile_gives_up(c, LIMIT_EXPRESSION_NOT_MODELLED);
			return false;
		}
		as->table = target->u.at.table;
		as->column = target->u.at.column;
		if (!c->scope->tables[as->table].base) {
			compile_error(c, ER_NON_UPDATABLE_TABLE, "the target is not updatable");
			return false;
		}
		if (a->value->kind == SQL_EXPR_DEFAULT && !a->value->u.binary.left &&
			!a->value->negated) {
			const struct eval_column *column =
				&c->scope->tables[as->table].base->columns[as->column];

			/* MariaDB computes it before it searches for rows, in any sql_mode. */
			if (c->env->flavour == SQL_MARIADB && !c->scope->insert_table && has_no_default(column)) {
				compile_error(c, ER_NO_DEFAULT_FOR_FIELD, "column has no default");
				return false;
			}
			as->value = NULL;
		} else {
			c->bytes = type_is_bytes(&target->type);
			as->value = compile_assigned(c, a->value, &c->scope->tables[as->table].base->columns[as->column]);
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

bool is_computed_default(const struct eval_column *column)
{
	return column->dflt && column->dflt->kind != SQL_EXPR_LITERAL;
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
		if (!run->env->has_now ||
			!time_set_decimals(&now, table->columns[i].type.decimals, false))
			return give_up(run->outcome,
				LIMIT_ON_UPDATE_CURRENT_TIMESTAMP_TIME_IS_NOT_KNOWN);
		row[i] = now;
	}
	return true;
}

bool assign_row(struct run *run, const struct eval_table *table, uint32_t number,
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

		if (set[k].table != number)
			continue;
		if (!set[k].value) {
			if (!column_default(run, table, i, flags | EVAL_ASSIGN_UPDATE, row))
				return false;
			continue;
		}
		if (!run_assigned(run, table, i, set[k].value, f, flags, &row[i])) {
			assignment_error_refused(run, set, count, k);
			return false;
		}
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
