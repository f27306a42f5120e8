/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conditions of WHERE, made around a row and checked by the evaluator. */
#include <stdio.h>
#include <string.h>

#include "generate/generate_internal.h"

/* ---- what they are for a row ---- */

/* What the evaluator says; false: it does not know. */
static bool evaluate(struct gen *g, const struct table *t, const char *prefix, const char *condition,
	const struct row *row, enum eval_truth *truth)
{
	bool aliased = prefix[0] != '\0';
	struct eval_outcome outcome = {0};
	struct eval_expr *expr;
	struct sql_stmt *stmt;
	const char *sql;

	if (!t->eval || !row->stored)
		return false;
	sql = text(g, "select 1 from %s %.*s where %s", t->name, aliased ? (int)strlen(prefix) - 1 : 0, prefix, condition);
	if (!sql_parse(&g->arena, span_str(sql), &g->dialect->sql, &stmt, NULL) || stmt->kind != SQL_STMT_SELECT)
		return false;
	expr = eval_expr_compile(&g->arena, stmt->u.query->u.select.where, t->eval,
		aliased ? span_of(prefix, strlen(prefix) - 1) : SPAN_NONE, &g->dialect->env, &g->source, &outcome);
	return expr && eval_expr_test(expr, &g->arena, &g->dialect->env, &g->source, row->stored, truth, &outcome);
}

/* True for the row and few others, whatever the evaluator knows. */
static const char *exact_key(struct gen *g, const struct table *t, const char *prefix, const struct row *row)
{
	const char *all = "";

	for (uint32_t i = 0; i < t->key_count; i++)
		all = text(g, "%s%s%s%s <=> %s", all, i ? " and " : "", prefix, t->columns[i].name,
			value_literal(g, &t->columns[i], row->values[i]));
	return all;
}

/* Made true for the row (Fucci's CTC); as it was where that is not known. */
static const char *made_true(struct gen *g, const struct table *t, const char *prefix, const char *condition,
	const struct row *row)
{
	enum eval_truth truth;

	if (!evaluate(g, t, prefix, condition, row, &truth))
		return exact_key(g, t, prefix, row);
	switch (truth) {
	case EVAL_TRUE:
		return condition;
	case EVAL_FALSE:
		return text(g, "not (%s)", condition);
	case EVAL_UNKNOWN:
		return text(g, "(%s) is null", condition);
	}
	return condition;
}

/* ---- single ones ---- */

/* A value of the column, mostly that of the row. */
static uint64_t near_value(struct gen *g, const struct table *t, const struct column *c, const struct row *pivot)
{
	uint64_t value = pivot ? pivot->values[c - t->columns] : VALUE_NULL;

	return value != VALUE_NULL && below(g, 10) < 7 ? value : any_value(g, c);
}

const char *key_condition(struct gen *g, const struct table *t, const char *prefix, const struct row *row)
{
	const struct column *c = &t->columns[0];
	const char *first;

	if (row && row->values[0] == VALUE_NULL)
		return text(g, "%s%s is null", prefix, c->name);
	first = text(g, "%s%s = %s", prefix, c->name, value_literal(g, c, near_value(g, t, c, row)));
	if (t->key_count < 2 || !below(g, 4))
		return first;
	c = &t->columns[1];
	return text(g, "%s and %s%s = %s", first, prefix, c->name, value_literal(g, c, near_value(g, t, c, row)));
}

static const char *compare(struct gen *g, const struct table *t, const char *prefix, const struct column *c,
	const struct row *pivot)
{
	return text(g, "%s%s %s %s", prefix, c->name, one_of(g, "<", ">", "<=", ">=", "<>"),
		value_literal(g, c, near_value(g, t, c, pivot)));
}

static const char *between(struct gen *g, const struct table *t, const char *prefix, const struct column *c,
	const struct row *pivot)
{
	uint64_t low = near_value(g, t, c, pivot), high = low + below(g, 5);

	return text(g, "%s%s between %s and %s", prefix, c->name, value_literal(g, c, low),
		value_literal(g, c, c->type == OF_STATE || c->type == OF_FLAG ? low : high));
}

static const char *in_list(struct gen *g, const struct table *t, const char *prefix, const struct column *c,
	const struct row *pivot)
{
	const char *first = value_literal(g, c, near_value(g, t, c, pivot));
	const char *second = value_literal(g, c, any_value(g, c)), *third = value_literal(g, c, any_value(g, c));

	return below(g, 2) ? text(g, "%s%s in (%s, %s)", prefix, c->name, first, second)
			   : text(g, "%s%s in (%s, %s, %s)", prefix, c->name, first, second, third);
}

static const char *function(struct gen *g, const char *prefix, const struct column *c)
{
	const char *n = text(g, "%s%s", prefix, c->name);

	switch (c->type) {
	case OF_TEXT:
	case OF_CHAR:
		switch (below(g, 5)) {
		case 0:
			return text(g, "%s like 'a%%'", n);
		case 1:
			return text(g, "lower(%s) = 'a'", n);
		case 2:
			return text(g, "%s not like '%%b'", n);
		case 3:
			return text(g, "length(%s) > 1", n);
		default:
			return text(g, "concat(%s, 'x') = 'ax'", n);
		}
	case OF_DATE:
	case OF_TIME:
		switch (below(g, 4)) {
		case 0:
			return text(g, "year(%s) = 2024", n);
		case 1:
			return text(g, "%s < '2024-01-02' + interval 1 day", n);
		case 2:
			return text(g, "month(%s) in (1, 2)", n);
		default:
			return text(g, "date(%s) = '2024-01-01'", n);
		}
	case OF_INT:
	case OF_BIG:
	case OF_DEC:
	case OF_FLAG:
		switch (below(g, 4)) {
		case 0:
			return text(g, "%s + 1 > 3", n);
		case 1:
			return text(g, "%s * 2 = 4", n);
		case 2:
			return text(g, "%s %% 2 = 0", n);
		default:
			return text(g, "abs(%s) < 3", n);
		}
	case OF_STATE:
	case OF_FLOAT:
	case TYPE_WORD_COUNT:
		break;
	}
	return text(g, "coalesce(%s, 'new') = %s", n, c->type == OF_STATE ? "'new'" : "1");
}

static const char *tuple(struct gen *g, const struct table *t, const char *prefix, const struct row *pivot)
{
	const struct column *a = &t->columns[0], *b = &t->columns[t->column_count > 1];

	return text(g, "(%s%s, %s%s) %s (%s, %s)", prefix, a->name, prefix, b->name, one_of(g, "=", "=", "<=>"),
		value_literal(g, a, near_value(g, t, a, pivot)), value_literal(g, b, near_value(g, t, b, pivot)));
}

/* A column of another table that can be compared with c; NULL: none. */
static const struct column *comparable(struct gen *g, const struct table *u, const struct column *c)
{
	uint32_t first = (uint32_t)below(g, u->column_count);

	for (uint32_t i = 0; i < u->column_count; i++) {
		const struct column *d = &u->columns[(first + i) % u->column_count];

		if (!d->generated && (d->declared == c->declared || strcmp(d->declared, c->declared) == 0))
			return d;
	}
	return NULL;
}

static const char *subquery(struct gen *g, const struct table *t, const char *prefix, const struct column *c)
{
	const struct table *u = other_table(g, t);
	const struct column *d = u == t ? NULL : comparable(g, u, c);

	/* A statement that changes a table may not ask it in a subquery (error 1093). */
	if (!d)
		return NULL;
	if (below(g, 2))
		return text(g, "%s%s %s (select %s(%s) from %s)", prefix, c->name, one_of(g, "<=", ">=", "="),
			one_of(g, "min", "max"), d->name, u->name);
	return text(g, "%s%s in (select %s from %s)", prefix, c->name, d->name, u->name);
}

static const char *single(struct gen *g, const struct table *t, const char *prefix, const struct row *pivot, unsigned depth);

/* AND, OR, NOT of others. */
static const char *combined(
	struct gen *g, const struct table *t, const char *prefix, const struct row *pivot, unsigned depth)
{
	const char *a = single(g, t, prefix, pivot, depth - 1);

	if (below(g, 5) == 0)
		return text(g, "not (%s)", a);
	return text(g, "(%s) %s (%s)", a, one_of(g, "and", "or"), single(g, t, prefix, pivot, depth - 1));
}

static const char *single(
	struct gen *g, const struct table *t, const char *prefix, const struct row *pivot, unsigned depth)
{
	const struct column *c = &t->columns[below(g, t->column_count)];
	const char *out = NULL;

	switch ((enum condition_word)draw_word(g, FEATURE_CONDITION)) {
	case CONDITION_NONE:
	case CONDITION_KEY:
		return key_condition(g, t, prefix, pivot);
	case CONDITION_EQUAL:
	case CONDITION_WORD_COUNT:
		break;
	case CONDITION_COMPARE:
		return compare(g, t, prefix, c, pivot);
	case CONDITION_BETWEEN:
		return between(g, t, prefix, c, pivot);
	case CONDITION_IN:
		return in_list(g, t, prefix, c, pivot);
	case CONDITION_NULL:
		return text(g, "%s%s is %snull", prefix, c->name, one_of(g, "", "not "));
	case CONDITION_SAFE:
		return text(g, "%s%s <=> %s", prefix, c->name, value_literal(g, c, any_value_or_null(g, c)));
	case CONDITION_COLUMN:
		/* Other types are cast, with warnings, or errors in writes. */
		return is_number(c) ? text(g, "%s%s", prefix, c->name) : compare(g, t, prefix, c, pivot);
	case CONDITION_FUNCTION:
		return function(g, prefix, c);
	case CONDITION_TRUE:
		return one_of(g, "true", "1");
	case CONDITION_TUPLE:
		return tuple(g, t, prefix, pivot);
	case CONDITION_SUBQUERY:
		out = subquery(g, t, prefix, c);
		break;
	case CONDITION_COMBINED:
		if (depth)
			return combined(g, t, prefix, pivot, depth);
		break;
	}
	return out ? out : text(g, "%s%s = %s", prefix, c->name, value_literal(g, c, near_value(g, t, c, pivot)));
}

const char *make_some_condition(
	struct gen *g, const struct table *t, const char *prefix, const struct row *pivot, bool aim)
{
	const char *condition = single(g, t, prefix, pivot, (unsigned)draw_number(g, FEATURE_DEPTH));

	return aim && pivot ? made_true(g, t, prefix, condition, pivot) : condition;
}

/* How often WHERE is left out: `none` has its weight among the conditions. */
static bool leaves_out(struct gen *g)
{
	const struct model_values *values = &g->model->features[FEATURE_CONDITION];
	uint64_t at = below(g, values->weight);

	for (uint32_t i = 0; i < values->count; i++) {
		if (at < values->items[i].weight)
			return values->items[i].low == CONDITION_NONE;
		at -= values->items[i].weight;
	}
	return false;
}

const char *make_condition(struct gen *g, const struct table *t, const char *prefix, const struct row *pivot, bool aim)
{
	return leaves_out(g) ? NULL : make_some_condition(g, t, prefix, pivot, aim);
}

const char *where_of(struct gen *g, const char *condition)
{
	return condition ? text(g, " where %s", condition) : "";
}
