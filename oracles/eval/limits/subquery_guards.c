/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of subqueries: as a value, and in IN, ANY and ALL. */
#include "eval/limits/guards.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"

/* What the subquery selects, as it is written; NULL: of UNION, VALUES and the like. */
static const struct sql_expr *selected(const struct guarded *g)
{
	const struct sql_query *q = g->expr->u.in.query;

	return q->kind == SQL_QUERY_SELECT && q->u.select.items ? q->u.select.items->expr : NULL;
}

static const struct eval_type *column_type(const struct guarded *g)
{
	return &g->query->types[0];
}

/* ---- of any subquery with one column ---- */

static bool is_hexadecimal(const struct guarded *g)
{
	return column_type(g)->hybrid;
}

static bool casts_to_time(const struct guarded *g)
{
	const struct sql_expr *e = selected(g);

	if (e && e->kind == SQL_EXPR_CALL)
		return span_ieq_str(e->u.call.name, "time") || span_ieq_str(e->u.call.name, "date");
	return e && e->kind == SQL_EXPR_CAST &&
	       (e->u.cast.type->kind == SQL_TYPE_DATE || e->u.cast.type->kind == SQL_TYPE_TIME ||
		       e->u.cast.type->kind == SQL_TYPE_DATETIME);
}

bool any_subquery_refused(
	struct compiler *c, const struct sql_expr *e, const struct eval_query *query)
{
	static const struct guard guards[] = {
		{LIMIT_SUBQUERY_OF_ENUM_SET_BIT_OR_HEX41, is_hexadecimal},
		{LIMIT_CAST_OF_NOT_DATE_USED_FURTHER, casts_to_time},
	};
	struct guarded g = {.env = c->env, .expr = e, .query = query};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- as a value ---- */

static bool is_float_or_date(const struct guarded *g)
{
	return column_type(g)->kind == EVAL_T_FLOAT || type_is_temporal(column_type(g));
}

/* A string or a number: it depends on what asks. */
static bool is_string_or_number(const struct guarded *g)
{
	const struct eval_type *t = column_type(g);

	return type_is_list(t) || t->kind == EVAL_T_BIT ||
	       (t->kind == EVAL_T_YEAR && g->env->flavour == SQL_MYSQL);
}

static bool is_zerofill(const struct guarded *g)
{
	return column_type(g)->zerofill;
}

/* As a text, it has fewer digits. */
static bool is_computed_time_with_fraction(const struct guarded *g)
{
	const struct sql_expr *e = selected(g);

	return type_is_temporal(column_type(g)) && column_type(g)->decimals &&
	       !(e && e->kind == SQL_EXPR_COLUMN);
}

/* Its text is the literal's own, which may be written over. */
static bool is_date_literal(const struct guarded *g)
{
	const struct sql_expr *e = selected(g);

	return type_is_temporal(column_type(g)) && e && e->kind == SQL_EXPR_LITERAL;
}

/* MariaDB keeps results by the outer values: 'a' is answered with what 'A' gave. */
static bool depends_on_outer_text(const struct guarded *g)
{
	return g->query->outer_text;
}

bool scalar_subquery_refused(
	struct compiler *c, const struct sql_expr *e, const struct eval_query *query)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL5_SUBQUERY_OF_FLOAT_OR_DATE, is_float_or_date},
		{LIMIT_SUBQUERY_OF_ENUM_SET_BIT_OR_HEX41, is_string_or_number},
		{LIMIT_SUBQUERY_OF_ZEROFILL_COLUMN, is_zerofill},
		{LIMIT_MYSQL_SUBQUERY_OF_COMPUTED_TIME_WITH_FRACTION, is_computed_time_with_fraction},
		{LIMIT_MYSQL_DATE_LITERAL_IN_TEXT, is_date_literal},
		{LIMIT_SUBQUERY_THAT_DEPENDS_ON_TEXT_OUTSIDE, depends_on_outer_text},
	};
	struct guarded g = {.env = c->env, .expr = e, .query = query};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- of IN, ANY and ALL ---- */

static const struct eval_type *left_type(const struct guarded *g)
{
	return &g->args[0]->type;
}

static bool both_texts(const struct guarded *g)
{
	return type_is_string(left_type(g)) && type_is_string(column_type(g));
}

static bool is_of_values(const struct guarded *g)
{
	return g->expr->u.in.query->kind == SQL_QUERY_VALUES;
}

/* What is made of literals only would give way. */
static bool of_different_collations(const struct guarded *g)
{
	const struct eval_type *l = left_type(g), *r = column_type(g);

	if ((type_is_string(l) || l->kind == EVAL_T_NULL) && type_is_string(r) &&
		r->coercibility == COERCIBLE_NONE)
		return true;
	return both_texts(g) && l->coercibility == g->args[1]->type.coercibility &&
	       l->collation != r->collation;
}

bool quantified_collations_refused(struct compiler *c, const struct sql_expr *e,
	const struct eval_query *query, struct node *const *pair)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL96_IN_ANY_OR_ALL_OF_VALUES, is_of_values},
		{LIMIT_DIFFERENT_COLLATIONS_IN_SUBQUERY, of_different_collations},
	};
	struct guarded g = {.env = c->env, .expr = e, .query = query, .args = pair, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool left_is_hexadecimal(const struct guarded *g)
{
	return left_type(g)->hybrid;
}

static bool any_bit(const struct guarded *g)
{
	return left_type(g)->kind == EVAL_T_BIT || column_type(g)->kind == EVAL_T_BIT;
}

static bool enum_and_another(const struct guarded *g)
{
	return left_type(g)->kind != column_type(g)->kind &&
	       (type_is_list(left_type(g)) || type_is_list(column_type(g)));
}

/* y IN (SELECT 5) is y = 5, and that a year. */
static bool year_and_another(const struct guarded *g)
{
	return (left_type(g)->kind == EVAL_T_YEAR) != (column_type(g)->kind == EVAL_T_YEAR);
}

/* d IN (SELECT 'x') is d = 'x', which is compared as DECIMALs. */
static bool decimal_and_text(const struct guarded *g)
{
	return g->how->as.kind != EVAL_T_STRING &&
	       ((left_type(g)->kind == EVAL_T_DECIMAL && type_is_string(column_type(g))) ||
		       (column_type(g)->kind == EVAL_T_DECIMAL && type_is_string(left_type(g))));
}

/* It is looked up there as an integer. */
static bool decimal_among_computed_integers(const struct guarded *g)
{
	return left_type(g)->kind == EVAL_T_DECIMAL && left_type(g)->decimals &&
	       type_is_int(column_type(g)) && g->query->kind == QUERY_SELECT &&
	       g->query->items[0]->arg_count;
}

/* A literal is not converted in there. */
static bool of_different_character_sets(const struct guarded *g)
{
	return both_texts(g) && collation_charset(left_type(g)->collation) !=
					collation_charset(column_type(g)->collation);
}

static bool date_and_another(const struct guarded *g)
{
	return type_is_temporal(left_type(g)) != type_is_temporal(column_type(g));
}

/* The servers look for the least or greatest text, and make that a number. */
static bool number_and_least_text(const struct guarded *g)
{
	const struct sql_expr *e = g->expr;

	return e->kind == SQL_EXPR_QUANTIFIED && e->op != SQL_OP_EQ && e->op != SQL_OP_NE &&
	       type_is_string(column_type(g)) && !type_is_string(left_type(g));
}

bool quantified_subquery_refused(struct compiler *c, const struct sql_expr *e,
	const struct eval_query *query, struct node *const *pair, const struct comparison *how)
{
	static const struct guard guards[] = {
		{LIMIT_HEXADECIMAL_LITERAL_IN_SUBQUERY, left_is_hexadecimal},
		{LIMIT_BIT_IN_SUBQUERY, any_bit},
		{LIMIT_ENUM_OR_SET_AND_ANOTHER_TYPE_IN_SUBQUERY, enum_and_another},
		{LIMIT_YEAR_AND_ANOTHER_TYPE_IN_SUBQUERY, year_and_another},
		{LIMIT_DECIMAL_AND_STRING_IN_SUBQUERY, decimal_and_text},
		{LIMIT_MYSQL_DECIMAL_IN_SUBQUERY_OF_COMPUTED_INTEGER, decimal_among_computed_integers},
		{LIMIT_DIFFERENT_CHARACTER_SETS_IN_SUBQUERY, of_different_character_sets},
		{LIMIT_DATE_OR_TIME_AND_ANOTHER_TYPE_IN_SUBQUERY, date_and_another},
		{LIMIT_NUMBER_AND_ALL_OR_ANY_OF_TEXTS, number_and_least_text},
	};
	struct guarded g = {
		.env = c->env, .expr = e, .query = query, .args = pair, .count = 2, .how = how};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

bool row_and_subquery_refused(struct compiler *c, const struct node *left)
{
	return compile_refuses(c, LIMIT_ROWS_COMPARED_WITH_SUBQUERY, node_is_row(left));
}

bool wide_subquery_refused(struct compiler *c, const struct sql_expr *e)
{
	return compile_refuses(
		c, LIMIT_SUBQUERY_WITH_SEVERAL_COLUMNS, e->kind == SQL_EXPR_SUBQUERY);
}
