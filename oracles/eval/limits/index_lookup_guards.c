/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Columns that an index has, beside values that they cannot hold.  To look for a value in an index the servers store it
 * in a field of the column's type; where that changes the value they may find rows that are not equal, or miss some: it
 * depends on the index that the optimizer takes, of which an answer tells nothing.  (MariaDB 10.5 to 11.8: `c = 12.34`
 * finds 12, `MAX(c) ... WHERE c < 0.1` is not the largest; nor in MySQL, where c is a FLOAT.  All servers: a BIT with a text.)
 */
#include <string.h>

#include "base/chars.h"
#include "eval/compile.h"
#include "eval/operator/comparison.h"

/* The column, where an index has it; NULL: none has. */
static const struct eval_column *indexed_column(
	const struct compiler *c, const struct node *n, const struct eval_table **table)
{
	const struct scope *s = c->scope;

	if (!n->column)
		return NULL;
	for (uint32_t depth = 0; depth < n->u.at.depth && s; depth++)
		s = s->outer;
	*table = s && n->u.at.table < s->table_count ? s->tables[n->u.at.table].base : NULL;
	for (uint32_t i = 0; *table && i < (*table)->index_count; i++) {
		const struct eval_index *index = &(*table)->indexes[i];

		for (uint32_t k = 0; k < index->count; k++) {
			if (index->columns[k] == n->u.at.column)
				return &(*table)->columns[n->u.at.column];
		}
	}
	return NULL;
}

static bool find_extreme(void *ctx, const struct sql_expr *e)
{
	bool *found = ctx;

	*found |= e->kind == SQL_EXPR_CALL &&
		  (span_ieq_str(e->u.call.name, "min") || span_ieq_str(e->u.call.name, "max"));
	return true;
}

bool items_ask_for_extremes(const struct sql_item *items)
{
	bool found = false;

	for (const struct sql_item *item = items; item; item = item->next)
		sql_walk_expr(item->expr, &(struct sql_visitor){.expr = find_extreme, .ctx = &found});
	return found;
}

/* A text with more than the time of day. */
static bool has_date(struct compiler *c, const struct node *value)
{
	enum { DIGITS = 12 }; /* 20240131101112, or with a short year */
	struct eval_outcome outcome = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};
	struct eval_value v = node_run(value, &f);
	size_t digits = 0;

	if (run.failed || v.kind != EVAL_STRING)
		return false;
	for (size_t i = 0; i < v.s.len; i++) {
		if (v.s.ptr[i] == '-' && digits)
			return true;
		digits += char_is_digit(v.s.ptr[i]);
	}
	return digits >= DIGITS;
}

/* What every integer column holds; most keys are compared with such. */
static bool is_small_number(const struct node *value)
{
	return value->literal && value->u.value.kind == EVAL_INT && value->u.value.i >= 0 && value->u.value.i <= INT8_MAX;
}

/* Is it another value when it is stored? */
static bool changes_when_stored(struct compiler *c, const struct eval_table *table, const struct node *column,
	const struct node *value)
{
	struct eval_outcome outcome = {0}, stores = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};
	struct eval_value v = node_run(value, &f), stored;
	struct comparison how;
	bool null = false;

	if (run.failed || v.kind == EVAL_NULL)
		return false;
	if (!eval_column_assign(c->arena, c->env, table, column->u.at.column, &value->type, &v, EVAL_ASSIGN_UPDATE, &stored,
		    &stores) ||
		stores.warning_count || stored.kind == EVAL_NULL)
		return true;
	memset(&how, 0, sizeof(how));
	return operator_comparison_of(c, column, value, &how) &&
	       (compare_as(&run, &how, &column->type, &stored, &value->type, &v, &null) != 0 || null || run.failed);
}

bool index_lookup_refused(struct compiler *c, const struct node *column, const struct node *value, bool equal)
{
	const struct eval_table *table;
	const struct eval_column *of = indexed_column(c, column, &table);
	bool odd = false;

	/* MariaDB puts such a constant in place of the column elsewhere in WHERE, and finds nothing. */
	if (equal && c->env->flavour == SQL_MARIADB && column->column && column->type.kind == EVAL_T_TIME &&
		value->constant && type_is_string(&value->type) && has_date(c, value)) {
		compile_unsupported(c, LIMIT_TIME_WITH_TEXT_WITH_DATE);
		return true;
	}
	if (!of)
		return false;
	if (of->type.kind == EVAL_T_BIT || (of->type.kind == EVAL_T_YEAR && c->env->flavour == SQL_MYSQL))
		odd = type_is_string(&value->type);
	else if (of->type.kind == EVAL_T_FLOAT && c->env->flavour == SQL_MYSQL && value->constant &&
		 c->scope->extremes)
		odd = changes_when_stored(c, table, column, value);
	else if (!value->constant || c->env->flavour != SQL_MARIADB || of->type.kind == EVAL_T_JSON)
		odd = false;
	else if (type_is_string(&of->type))
		odd = !type_is_string(&value->type) &&
		      (of->type.collation == COLLATION_BINARY || c->scope->extremes);
	else if ((equal || c->scope->extremes) && !(type_is_int(&of->type) && is_small_number(value)))
		odd = changes_when_stored(c, table, column, value);
	if (odd)
		compile_unsupported(c, LIMIT_INDEXED_COLUMN_WITH_VALUE_THAT_CANNOT_HOLD);
	return odd;
}
