/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of IF, CASE, COALESCE, NULLIF, GREATEST and LEAST. */
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"

/* ---- NULLIF ---- */

static bool is_bit(const struct guarded *g)
{
	return type_at(g, 0)->kind == EVAL_T_BIT;
}

/* It is a number to MariaDB 10.11.19, bytes to 10.5 and 11.8. */
static bool is_hexadecimal(const struct guarded *g)
{
	return type_at(g, 0)->hybrid;
}

static bool is_zerofill(const struct guarded *g)
{
	return type_at(g, 0)->zerofill;
}

static bool is_float(const struct guarded *g)
{
	return type_at(g, 0)->kind == EVAL_T_FLOAT;
}

static bool differs_in_text(const struct eval_type *a, const struct eval_type *b)
{
	return type_is_string(a) != type_is_string(b) ||
	       (type_is_string(a) && a->collation != b->collation);
}

static bool double_date_or_different_types(const struct guarded *g)
{
	const struct eval_type *a = type_at(g, 0), *b = type_at(g, 1);

	return type_is_temporal(a) || a->kind == EVAL_T_DOUBLE || b->kind == EVAL_T_YEAR ||
	       a->is_unsigned != b->is_unsigned || differs_in_text(a, b) ||
	       (g->args[0]->constant && a->kind != b->kind);
}

bool nullif_refused(struct compiler *c, const struct node *nullif)
{
	static const struct guard guards[] = {
		{LIMIT_BIT_IN_IF_CASE_COALESCE_GREATEST_AND_KIN, is_bit},
		{LIMIT_NULLIF_OF_HEXADECIMAL_LITERAL, is_hexadecimal},
		{LIMIT_MYSQL_ZEROFILL_COLUMN_IN_IF_CASE_COALESCE_AND_KIN, is_zerofill},
		{LIMIT_MYSQL5_COMPUTED_FLOAT, is_float},
		{LIMIT_MYSQL_NULLIF_OF_DOUBLE_DATE_OR_DIFFERENT_TYPES, double_date_or_different_types},
	};
	struct guarded g = {.env = c->env, .args = nullif->args, .count = nullif->arg_count};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- GREATEST, LEAST ---- */

static bool is_null(const struct guarded *g)
{
	return own_type(g)->kind == EVAL_T_NULL;
}

/* A literal is compared as the number that it is (seen on all servers). */
static bool is_signed_and_computed(const struct node *n)
{
	return eval_kind_of(&n->type) == EVAL_INT && !n->literal;
}

static bool of_either_sign(const struct guarded *g)
{
	return type_is_int(own_type(g)) && type_is_int(type_at(g, 0)) &&
	       eval_kind_of(own_type(g)) != eval_kind_of(type_at(g, 0)) &&
	       (is_signed_and_computed(g->args[g->at]) || is_signed_and_computed(g->args[0]));
}

static bool float_and_other(const struct guarded *g)
{
	return (own_type(g)->kind == EVAL_T_FLOAT) != (type_at(g, 0)->kind == EVAL_T_FLOAT);
}

static bool different_decimals(const struct guarded *g)
{
	return g->merged->kind == EVAL_T_DECIMAL && own_type(g)->decimals != type_at(g, 0)->decimals;
}

static bool three_strings(const struct guarded *g)
{
	return g->merged->kind == EVAL_T_STRING && g->count > 2;
}

/* The servers compare as numbers when a number is among them. */
static bool string_and_other(const struct guarded *g)
{
	const struct eval_type *t = own_type(g);

	return g->merged->kind == EVAL_T_STRING &&
	       ((!type_is_string(t) && t->kind != EVAL_T_NULL) || t->hybrid);
}

static bool different_temporal_types(const struct guarded *g)
{
	const struct eval_type *t = own_type(g);

	return type_is_temporal(g->merged) && t->kind != g->merged->kind && t->kind != EVAL_T_NULL;
}

bool greatest_refused(struct compiler *c, const struct node *greatest)
{
	static const struct guard arguments[] = {
		{LIMIT_GREATEST_OR_LEAST_OF_LITERAL_NULL, is_null},
		{LIMIT_GREATEST_OR_LEAST_OF_SIGNED_AND_UNSIGNED, of_either_sign},
		{LIMIT_GREATEST_OR_LEAST_OF_FLOAT_AND_OTHERS, float_and_other},
		{LIMIT_MYSQL_GREATEST_OR_LEAST_OF_DIFFERENT_DECIMALS, different_decimals},
	};
	static const struct guard all[] = {
		{LIMIT_MARIADB_10_5_GREATEST_OR_LEAST_OF_THREE_STRINGS, three_strings},
	};
	static const struct guard merged[] = {
		{LIMIT_GREATEST_OF_STRINGS_AND_OTHERS, string_and_other},
		{LIMIT_GREATEST_OF_DIFFERENT_TEMPORAL_TYPES, different_temporal_types},
	};
	struct guarded g = {.env = c->env,
		.args = greatest->args,
		.count = greatest->arg_count,
		.merged = &greatest->type};

	return guards_refuse_each(c, &g, 0, arguments, ARRAY_LEN(arguments)) ||
	       guards_refuse(c, &g, all, ARRAY_LEN(all)) ||
	       guards_refuse_each(c, &g, 0, merged, ARRAY_LEN(merged));
}

/* ---- COALESCE, ISNULL, CASE ---- */

/* IF(x, NULL, NULL) has a type that the operands of IFNULL do not show. */
static bool is_computed_null(const struct guarded *g)
{
	return own_type(g)->kind == EVAL_T_NULL && !g->args[g->at]->literal;
}

bool coalesce_refused(struct compiler *c, const struct node *coalesce)
{
	static const struct guard arguments[] = {
		{LIMIT_EXPRESSION_ALWAYS_NULL_IN_COALESCE, is_computed_null},
	};
	struct guarded g = {.env = c->env, .args = coalesce->args, .count = coalesce->arg_count};

	return guards_refuse_each(c, &g, 0, arguments, ARRAY_LEN(arguments));
}

bool isnull_refused(struct compiler *c, const struct node *operand)
{
	return compile_refuses(c, LIMIT_IS_NULL_OF_COMPARISON_OF_ROWS,
		c->env->flavour == SQL_MARIADB && compares_rows(operand));
}

static bool has_null_operand(const struct node *n)
{
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (n->args[i] && n->args[i]->type.kind == EVAL_T_NULL)
			return true;
	}
	return false;
}

bool case_value_refused(struct compiler *c, const struct node *value)
{
	return compile_refuses(
		       c, LIMIT_MYSQL5_CASE_OF_DATE_OR_TIME, type_is_temporal(&value->type)) ||
	       /* MySQL makes a value that is always NULL go away, and the type changes with it. */
	       compile_refuses(c, LIMIT_MYSQL_CASE_OF_ALWAYS_NULL, has_null_operand(value));
}

/* The literal has no collation, or that of the others. */
bool case_texts_refused(struct compiler *c, struct node *const *compared, uint32_t count)
{
	bool hybrid = false;

	for (uint32_t i = 0; i < count; i++)
		hybrid |= compared[i]->type.hybrid;
	return compile_refuses(
		c, LIMIT_HEXADECIMAL_LITERAL_IN_CASE_WITH_SEVERAL_TEXTS, hybrid && count > 2);
}

/* The servers differ in whether its conditions are asked for, and in its type. */
bool case_refused(struct compiler *c, const struct node *kase)
{
	return compile_refuses(c, LIMIT_CASE_OF_NULLS_ALONE, kase->type.kind == EVAL_T_NULL);
}

bool last_insert_id_refused(struct compiler *c, const struct node *n)
{
	return compile_refuses(c, LIMIT_LAST_INSERT_ID_OF_NOT_NUMBER,
		n->arg_count && !type_is_number(&n->args[0]->type));
}

/* ---- values ---- */

/* The servers differ in which of them send the text as its bytes, and which convert it. */
static bool is_text_among_bytes(
	const struct eval_type *from, const struct eval_value *v, const struct eval_type *to)
{
	return v->kind == EVAL_STRING && type_is_bytes(to) && type_is_string(from) &&
	       from->collation != COLLATION_BINARY && !text_is_ascii(v->s);
}

static bool is_merged_decimal(
	const struct eval_type *from, const struct eval_value *v, const struct eval_type *to)
{
	return v->kind == EVAL_DECIMAL && from->kind == to->kind && to->own_scale &&
	       from->decimals < to->decimals && decimal_beyond(from, v->dec);
}

static bool is_merged_double(
	const struct eval_type *from, const struct eval_value *v, const struct eval_type *to)
{
	return v->kind == EVAL_DOUBLE && from->kind == to->kind && to->own_scale &&
	       from->decimals < to->decimals;
}

bool merged_value_refused(struct run *run, const struct node *n, const struct node *arg,
	const struct eval_value *v)
{
	const struct eval_type *from = &arg->type, *to = &n->type;

	return /* IF() gives the AVG() itself, COALESCE() what is rounded. */
		run_refuses(run, LIMIT_MYSQL_AVG_BEHIND_IF_AND_KIN_USED_FURTHER,
			v->kind == EVAL_DECIMAL && n->nested &&
				mysql_has(run->env, MYSQL_QUOTIENT_ROUNDED) != 0 &&
				decimal_beyond(from, v->dec)) ||
		run_refuses(run, LIMIT_ONE_OF_TEXT_AND_BINARY_STRING, is_text_among_bytes(from, v, to)) ||
		/* Printed with the digits of its own type, computed with all. */
		run_refuses(run, LIMIT_MYSQL80_QUOTIENT_OF_IF_OR_CASE, is_merged_decimal(from, v, to)) ||
		/* IF(x, 2.5e0, PI()) is the number of all digits, and as a text '3.141593'. */
		run_refuses(run, LIMIT_MYSQL_TEXT_OF_DOUBLE_WITH_DECIMALS_OF_IF_OR_CASE,
			n->nested && is_merged_double(from, v, to));
}

/* A value that NULLIF or CASE has compared with another one. */
bool compared_operand_refused(struct run *run, const struct comparison *how,
	const struct eval_type *type, const struct eval_value *v, const struct eval_value *other)
{
	return /* The server may report the error of the first, which is converted before. */
		run_reopens(run, LIMIT_ONE_OF_SEVERAL_ERRORS_IN_STRICT_MODE,
			run->strict && v->kind == EVAL_STRING && how->as.kind != EVAL_T_STRING) ||
		run_refuses(run, LIMIT_NULL_COMPARED_WITH_DATE_IN_STRICT_MODE,
			other->kind == EVAL_NULL && run->strict &&
				type_is_temporal(&how->as) && !type_is_temporal(type));
}

/* Constants are compared when the statement is prepared, and some complain then. */
bool nullif_constants_refused(struct run *run, const struct node *nullif)
{
	return run_reopens(run, LIMIT_ERROR_IN_NULLIF_OF_CONSTANTS,
		nullif->args[0]->literal && nullif->args[1]->literal);
}

static bool are_unsigned_and_negative(const struct eval_value *a, const struct eval_value *b)
{
	return a->kind == EVAL_UINT && b->kind == EVAL_INT && b->i < 0;
}

/* MySQL 9.7 takes the bits of both as signed. */
bool case_pair_refused(struct run *run, const struct eval_value *value, const struct eval_value *when)
{
	return run_refuses(run, LIMIT_MYSQL_CASE_OF_SIGNED_AND_UNSIGNED_INTEGERS,
		are_unsigned_and_negative(value, when) || are_unsigned_and_negative(when, value));
}

bool greatest_null_refused(struct run *run, const struct node *greatest)
{
	return run_refuses(run, LIMIT_GREATEST_OR_LEAST_OF_TEXTS_WITH_NULL_IN_STRICT_MODE,
		run->strict && greatest->nested && greatest->type.kind == EVAL_T_STRING);
}

bool greatest_equal_refused(struct run *run, const struct node *greatest,
	const struct eval_type *type, const struct eval_value *v, const struct eval_value *best)
{
	return run_refuses(run, LIMIT_MYSQL_GREATEST_OR_LEAST_OF_ZEROS_OF_EITHER_SIGN,
		       greatest->type.kind == EVAL_T_DOUBLE && run->env->flavour == SQL_MYSQL &&
			       to_double(run, type, v) == 0) ||
	       run_refuses(run, LIMIT_MYSQL_GREATEST_OR_LEAST_OF_EQUAL_DIFFERENT_STRINGS,
		       v->kind == EVAL_STRING && best->kind == EVAL_STRING && !span_eq(v->s, best->s));
}

bool greatest_value_refused(struct run *run, const struct node *greatest,
	const struct eval_type *type, const struct eval_value *best)
{
	return run_refuses(run, LIMIT_GREATEST_OR_LEAST_ZERO_OF_EITHER_SIGN,
		greatest->type.kind == EVAL_T_DOUBLE && mariadb_2026(run->env) != 1 &&
			best->kind <= EVAL_DECIMAL && to_double(run, type, best) == 0);
}
