/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a temporary table has too little room for: servers count the digits and characters of an expression, and some wrong. */
#include "eval/query/query.h"

bool has_long_print(const struct eval_type *t)
{
	return t->kind == EVAL_T_DOUBLE || t->kind == EVAL_T_FLOAT ||
	       (t->kind == EVAL_T_DECIMAL && t->decimals && t->length == t->decimals);
}

bool outgrows(const struct node *n, bool as_text)
{
	static const char *const keep[] = {"abs", "round", "truncate", "ceiling", "ceil", "floor"};
	const struct sql_expr *e = n->expr;
	bool passes = n->type.merged || (e && ((e->kind == SQL_EXPR_BINARY && !n->type.is_bool) ||
						      e->kind == SQL_EXPR_UNARY));

	if (!e || !type_is_int(&n->type) || node_aggregates(n) || node_windows(n))
		return false;
	if (e->kind == SQL_EXPR_BINARY && e->op == SQL_OP_INT_DIV)
		return as_text || !type_is_int(&n->args[0]->type) || !type_is_int(&n->args[1]->type);
	if (e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, "ord"))
		return has_wide_text(n->args[0]);
	if (e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, "to_days"))
		return as_text;
	if (e->kind == SQL_EXPR_EXTRACT ||
		(e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, "hour")))
		return as_text && n->args[0]->type.kind != EVAL_T_DATE &&
		       n->args[0]->type.kind != EVAL_T_DATETIME &&
		       n->args[0]->type.kind != EVAL_T_TIMESTAMP;
	for (size_t i = 0; i < ARRAY_LEN(keep) && e->kind == SQL_EXPR_CALL; i++)
		passes |= span_ieq_str(e->u.call.name, keep[i]);
	for (uint32_t i = 0; i < n->arg_count && passes; i++) {
		if (outgrows(n->args[i], as_text))
			return true;
	}
	return false;
}

/* Bytes of which some come from characters: their length was counted in characters. */
static bool counts_characters(const struct node *n)
{
	const struct sql_expr *e = n->expr;

	/* CAST(x AS BINARY(2)), which has two characters and room for two bytes, and CONVERT(x USING binary) */
	if (e && n->type.collation == COLLATION_BINARY &&
		(e->kind == SQL_EXPR_CONVERT_USING ||
			(e->kind == SQL_EXPR_CAST && e->u.cast.type->length.ptr)))
		return type_is_string(&n->type) && has_wide_text(n->args[0]);
	if (!e || !type_is_string(&n->type) || n->type.collation != COLLATION_BINARY ||
		(e->kind != SQL_EXPR_CALL && e->kind != SQL_EXPR_TRIM && !n->type.merged))
		return false;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (type_is_string(&n->args[i]->type) && n->args[i]->type.collation != COLLATION_BINARY &&
			has_wide_text(n->args[i]))
			return true;
	}
	return false;
}

bool has_long_text(const struct node *n)
{
	if (counts_characters(n) || (subquery_item(n) && has_long_text(subquery_item(n))))
		return true;
	for (uint32_t i = 0; i < n->arg_count && type_is_string(&n->type); i++) {
		const struct eval_type *t = &n->args[i]->type;

		if (has_long_print(t) || has_long_text(n->args[i]) || outgrows(n->args[i], true))
			return true;
		/* It may have more digits than a DECIMAL has. */
		if (t->kind == EVAL_T_DECIMAL && t->length >= DECIMAL_PRECISION_MAX && !n->args[i]->column)
			return true;
	}
	return false;
}

/* TRUNCATE(d, 1) and ROUND(d, 1) have the width of what they cut off. */
bool node_cuts_decimal(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_CALL && n->type.kind == EVAL_T_DECIMAL &&
	       (span_ieq_str(n->expr->u.call.name, "truncate") ||
		       span_ieq_str(n->expr->u.call.name, "round"));
}

/* ASCII('x') counts for two digits on MariaDB, YEARWEEK() for five, BIT_COUNT() for one; MySQL 8.0 is
 * wrong about ASCII() alone.  Beside a DECIMAL the column has no more. */
bool node_is_narrow(const struct eval_env *env, const struct node *n)
{
	static const char *const wide[] = {"length", "char_length", "octet_length", "ord", "to_days",
		"datediff", "mod", "field"};
	const struct sql_expr *e = n->expr;
	bool column = false, narrow = false;

	if (env->flavour == SQL_MARIADB && outgrows(n, true))
		return true;
	if (!e || (e->kind != SQL_EXPR_CALL && e->kind != SQL_EXPR_CASE) || node_aggregates(n) ||
		node_windows(n))
		return false;
	if (env->flavour == SQL_MYSQL)
		return env->version < 90700 && e->kind == SQL_EXPR_CALL &&
		       span_ieq_str(e->u.call.name, "ascii");
	for (size_t i = 0; i < ARRAY_LEN(wide) && e->kind == SQL_EXPR_CALL; i++) {
		if (span_ieq_str(e->u.call.name, wide[i]))
			return false;
	}
	/* COALESCE(i, 0) has room for as much as the column. */
	for (uint32_t i = 0; i < n->arg_count; i++) {
		column |= n->args[i]->column && n->args[i]->type.kind == EVAL_T_INT &&
			  n->args[i]->type.bytes >= 4;
		narrow |= node_is_narrow(env, n->args[i]);
	}
	if (n->type.merged && column && !narrow)
		return false;
	return type_is_int(&n->type) ||
	       (e->kind == SQL_EXPR_CALL && n->arg_count == 2 && type_is_int(&n->args[0]->type) &&
		       (span_ieq_str(e->u.call.name, "round") ||
			       span_ieq_str(e->u.call.name, "truncate")));
}

/* MySQL has no room for the zero before the point of a DECIMAL(n,n). */
static bool has_fraction_text(const struct node *n)
{
	for (uint32_t i = 0; i < n->arg_count && type_is_string(&n->type); i++) {
		const struct eval_type *t = &n->args[i]->type;

		if ((t->kind == EVAL_T_DECIMAL && t->decimals && t->length == t->decimals) ||
			has_fraction_text(n->args[i]))
			return true;
	}
	return false;
}

/* MySQL takes REPLACE('b', c, 'a ') for no longer than 'b', as c may be longer than what comes for it. */
static bool replaces_column(const struct node *n)
{
	return n->expr && n->expr->kind == SQL_EXPR_CALL && span_ieq_str(n->expr->u.call.name, "replace") &&
	       n->arg_count == 3 && !n->args[1]->literal;
}

bool node_is_cut(const struct eval_env *env, const struct node *n)
{
	if (type_is_string(&n->type))
		return env->flavour == SQL_MARIADB ? has_long_text(n)
							  : has_fraction_text(n) || node_any(n, replaces_column);
	if (type_is_int(&n->type))
		return env->flavour == SQL_MARIADB && outgrows(n, false);
	for (uint32_t i = 0; i < n->arg_count && n->type.kind == EVAL_T_DECIMAL; i++) {
		if (node_is_narrow(env, n->args[i]) || node_is_cut(env, n->args[i]))
			return true;
	}
	return false;
}
