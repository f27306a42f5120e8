/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of the type that holds several: IF, CASE, COALESCE, GREATEST, UNION. */
#include "eval/function/time.h"
#include "eval/limits/guards.h"

/* ---- all operands ---- */

/* As a string it is the one value's own string, as a number a DOUBLE. */
static bool double_and_exact(const struct guarded *g)
{
	bool real = false, exact = false;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct eval_type *t = &g->args[i]->type;

		real |= t->kind == EVAL_T_DOUBLE;
		exact |= t->kind == EVAL_T_DECIMAL || (type_is_int(t) && type_int_digits(t) > 15);
	}
	return real && exact;
}

/* As a text, too, a FLOAT that came this far has the digits of a DOUBLE. */
static bool float_or_date_and_number(const struct guarded *g)
{
	bool number = false, temporal = false, is_float = false, alike = true;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct eval_type *t = &g->args[i]->type;

		number |= type_is_number(t);
		temporal |= type_is_temporal(t);
		is_float |= t->kind == EVAL_T_FLOAT || t->kind == EVAL_T_BIT;
		alike &= t->kind == g->args[0]->type.kind;
	}
	return (number && temporal) || (is_float && !alike) || g->args[0]->type.kind == EVAL_T_FLOAT;
}

/* The value keeps the character set of its own argument. */
static bool text_and_bytes(const struct guarded *g)
{
	bool bytes = false, wide_text = false;

	for (uint32_t i = 0; i < g->count; i++) {
		const struct node *n = g->args[i];

		if (type_is_string(&n->type) && n->type.collation == COLLATION_BINARY)
			bytes = true;
		else if (has_wide_text(n))
			wide_text = true;
	}
	return bytes && wide_text;
}

/* ---- one operand ---- */

/* YEAR() is unsigned here, and is not there. */
static bool calls_year(const struct guarded *g)
{
	const struct sql_expr *e = g->args[g->at]->expr;

	return g->count > 1 && e && e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, "year");
}

static bool of_another_sign(const struct guarded *g)
{
	return own_type(g)->is_unsigned != g->args[0]->type.is_unsigned;
}

/* It is a number to some releases and bytes to others. */
static bool bit_and_null(const struct guarded *g)
{
	return (own_type(g)->kind == EVAL_T_BIT || own_type(g)->hybrid) &&
	       (g->count == 1 || g->args[g->at == 0]->type.kind == EVAL_T_NULL);
}

/* Not the literal, but IF(a, NULL, NULL): the type is one thing to the printer and another to the
 * functions around it. */
static bool always_null(const struct guarded *g)
{
	return own_type(g)->kind == EVAL_T_NULL && g->args[g->at]->arg_count;
}

static bool is_zerofill(const struct guarded *g)
{
	return own_type(g)->zerofill;
}

static bool is_zerofill_of_several(const struct guarded *g)
{
	return g->count > 1 && own_type(g)->zerofill;
}

/* It may be written over there. */
static bool date_literal_and_text(const struct guarded *g)
{
	if (!g->args[g->at]->literal || !type_is_temporal(own_type(g)))
		return false;
	for (uint32_t i = 0; i < g->count; i++) {
		if (type_is_string(&g->args[i]->type))
			return true;
	}
	return false;
}

/* As a TIME it is none, whatever the others are. */
static bool year_and_another(const struct guarded *g)
{
	return own_type(g)->kind == EVAL_T_YEAR &&
	       g->args[g->at == 0 && g->count > 1]->type.kind != EVAL_T_YEAR;
}

/* DIV of it is out of range or not. */
static bool is_unsigned_decimal(const struct guarded *g)
{
	return own_type(g)->kind == EVAL_T_DECIMAL && own_type(g)->is_unsigned;
}

/* MySQL prints it with the scale of the inner expression. */
static bool is_merged_decimal(const struct guarded *g)
{
	return own_type(g)->kind == EVAL_T_DECIMAL && own_type(g)->merged;
}

static bool timediff_and_date(const struct guarded *g)
{
	if (!node_is_timediff(g->args[g->at]) || g->args[0]->type.kind == EVAL_T_NULL)
		return false;
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->args[i]->type.kind != EVAL_T_TIME && type_is_temporal(&g->args[i]->type))
			return true;
	}
	return false;
}

bool merge_refused(struct compiler *c, struct node *const *args, uint32_t count)
{
	static const struct guard all[] = {
		{LIMIT_MYSQL_RESULT_DOUBLE_OR_LONG_EXACT_NUMBER, double_and_exact},
		{LIMIT_MYSQL_RESULT_FLOAT_OR_DATE_OR_ANOTHER_NUMBER, float_or_date_and_number},
	};
	static const struct guard each[] = {
		{LIMIT_MYSQL_YEAR_IN_IF_CASE_OR_COALESCE, calls_year},
		{LIMIT_MYSQL5_IF_OR_CASE_OF_SIGNED_AND_UNSIGNED, of_another_sign},
		{LIMIT_BIT_OR_NULL, bit_and_null},
		{LIMIT_IF_CASE_OR_COALESCE_OF_ALWAYS_NULL, always_null},
		{LIMIT_MYSQL_ZEROFILL_IN_IF_CASE_OR_COALESCE, is_zerofill_of_several},
		{LIMIT_MYSQL_DATE_LITERAL_IN_TEXT, date_literal_and_text},
		{LIMIT_MYSQL_YEAR_OR_ANOTHER_TYPE_IN_IF_CASE_OR_COALESCE, year_and_another},
		{LIMIT_MYSQL96_DECIMAL_UNSIGNED_IN_IF_CASE_OR_COALESCE, is_unsigned_decimal},
		{LIMIT_MYSQL_DECIMAL_OF_COALESCE_OR_CASE_IN_ANOTHER, is_merged_decimal},
		{LIMIT_TIMEDIFF_AS_DATE, timediff_and_date},
	};
	static const struct guard texts[] = {
		{LIMIT_ONE_OF_TEXT_AND_BINARY_STRING, text_and_bytes},
	};
	struct guarded g = {.env = c->env, .args = args, .count = count};

	return guards_refuse(c, &g, all, ARRAY_LEN(all)) ||
	       guards_refuse_each(c, &g, 0, each, ARRAY_LEN(each)) ||
	       guards_refuse(c, &g, texts, ARRAY_LEN(texts));
}

/* ---- the result ---- */

/* How many digits an integer function counts for decides what is left for decimals. */
static bool has_all_digits(const struct guarded *g)
{
	return g->merged->kind == EVAL_T_DECIMAL && g->merged->length >= DECIMAL_PRECISION_MAX;
}

/* A number or bytes, as the place is. */
static bool is_bit(const struct guarded *g)
{
	return own_type(g)->kind == EVAL_T_BIT;
}

bool merged_type_refused(struct compiler *c, struct node *const *args, uint32_t count,
	const struct eval_type *merged)
{
	static const struct guard all[] = {
		{LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS, has_all_digits},
	};
	static const struct guard each[] = {
		{LIMIT_BIT_IN_IF_CASE_COALESCE_GREATEST_AND_KIN, is_bit},
		/* CONCAT sees the zeros, of some. */
		{LIMIT_MYSQL_ZEROFILL_COLUMN_IN_IF_CASE_COALESCE_AND_KIN, is_zerofill},
	};
	struct guarded g = {.env = c->env, .args = args, .count = count, .merged = merged};

	return guards_refuse(c, &g, all, ARRAY_LEN(all)) ||
	       guards_refuse_each(c, &g, 0, each, ARRAY_LEN(each));
}
