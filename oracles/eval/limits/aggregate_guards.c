/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of aggregates: COUNT, SUM, AVG, MIN, MAX, BIT_*, GROUP_CONCAT. */
#include <math.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/arithmetic.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "eval/value/release.h"

static const struct node *argument(const struct guarded *g)
{
	return g->args[g->at];
}

static const struct eval_type *first_type(const struct guarded *g)
{
	return &g->args[0]->type;
}

static struct guarded arguments_of(const struct compiler *c, const struct aggregate *a)
{
	return (struct guarded){.env = c->env,
		.compiler = c,
		.aggregate = a,
		.args = a->args,
		.count = a->arg_count};
}

/* ---- all aggregates ---- */

/* Its rows are put into a temporary table. */
static bool concat_is_cut(const struct guarded *g)
{
	const struct aggregate *a = g->aggregate;

	return a->kind == AGG_GROUP_CONCAT && (a->distinct || a->order_count) &&
	       node_is_cut(g->env, argument(g));
}

/* MariaDB takes the comparison for never NULL, and its table has no room for NULL. */
static bool distinct_of_row_comparison(const struct guarded *g)
{
	return g->aggregate->distinct && compares_rows(argument(g));
}

bool aggregate_arguments_refused(struct compiler *c, const struct aggregate *a)
{
	static const struct guard guards[] = {
		{LIMIT_TEXT_OF_NUMBER_THAT_TMP_TABLE_MAY_CUT, concat_is_cut},
		{LIMIT_DISTINCT_OF_COMPARISON_OF_ROWS, distinct_of_row_comparison},
	};
	struct guarded g = arguments_of(c, a);

	return guards_refuse_each(c, &g, 0, guards, ARRAY_LEN(guards));
}

static bool distinct_bit(const struct guarded *g)
{
	return g->aggregate->distinct && argument(g)->type.kind == EVAL_T_BIT;
}

static bool distinct_refused(struct compiler *c, struct guarded *g)
{
	static const struct guard guards[] = {
		{LIMIT_DISTINCT_OF_BIT, distinct_bit},
	};

	return guards_refuse_each(c, g, 0, guards, ARRAY_LEN(guards));
}

/* ---- SUM, AVG ---- */

/* '1' and '1.0' are one number in newer releases, two texts in others. */
static bool distinct_texts_summed(const struct guarded *g)
{
	return g->aggregate->distinct && first_type(g)->kind == EVAL_T_STRING;
}

static bool sum_of_no_number(const struct guarded *g)
{
	return type_is_temporal(first_type(g)) || first_type(g)->kind == EVAL_T_BIT || first_type(g)->hybrid;
}

static bool sum_of_text_without_decimals(const struct guarded *g)
{
	return type_is_string(first_type(g)) && arithmetic_type(first_type(g)).decimals < EVAL_NOT_FIXED;
}

static bool sum_refused(struct compiler *c, struct guarded *g)
{
	static const struct guard texts[] = {
		{LIMIT_SUM_OR_AVG_DISTINCT_OF_TEXT, distinct_texts_summed},
	};
	static const struct guard numbers[] = {
		{LIMIT_SUM_OR_AVG_OF_DATES_BITS_OR_HEXADECIMAL_LITERALS, sum_of_no_number},
		{LIMIT_SUM_OR_AVG_OF_STRING_WITH_NO_DECIMALS, sum_of_text_without_decimals},
	};

	return guards_refuse(c, g, texts, ARRAY_LEN(texts)) || distinct_refused(c, g) ||
	       guards_refuse(c, g, numbers, ARRAY_LEN(numbers));
}

/* ---- MIN, MAX ---- */

static bool is_text(const struct guarded *g)
{
	return first_type(g)->kind == EVAL_T_STRING;
}

static bool is_float(const struct guarded *g)
{
	return first_type(g)->kind == EVAL_T_FLOAT;
}

static bool is_computed_float(const struct guarded *g)
{
	return is_float(g) && !g->args[0]->column;
}

static bool is_long_text(const struct guarded *g)
{
	return is_text(g) && has_long_text(g->args[0]);
}

static bool is_zerofill(const struct guarded *g)
{
	return first_type(g)->zerofill;
}

/* The temporary table that keeps the least text may have the bytes of one character set and the name of the
 * other. */
static bool changes_charset(const struct node *n)
{
	const struct sql_expr *e = n->expr;

	return e && (e->kind == SQL_EXPR_CAST || e->kind == SQL_EXPR_CONVERT_USING) &&
	       type_is_string(&n->type) && type_is_string(&n->args[0]->type) &&
	       collation_charset(n->type.collation) !=
		       collation_charset(n->args[0]->type.collation);
}

static bool is_text_of_changed_set(const struct guarded *g)
{
	return is_text(g) && (node_any(g->args[0], changes_charset) ||
				     first_type(g)->coercibility == COERCIBLE_NONE);
}

static bool is_merged_time(const struct node *n)
{
	return type_is_temporal(&n->type) && n->type.merged;
}

/* MySQL takes the bytes of the first for latin1. */
static bool is_text_of_merged_time(const struct guarded *g)
{
	return is_text(g) && has_wide_text(g->args[0]) && node_any(g->args[0], is_merged_time);
}

/* The table has room for as many bytes as the text has characters. */
static bool is_bytes_of_text(const struct guarded *g)
{
	return is_text(g) && first_type(g)->collation == COLLATION_BINARY && !g->args[0]->column &&
	       has_wide_text(g->args[0]);
}

static bool is_bit_or_fixed_double(const struct guarded *g)
{
	return first_type(g)->kind == EVAL_T_BIT ||
	       (first_type(g)->kind == EVAL_T_DOUBLE && first_type(g)->decimals < EVAL_NOT_FIXED);
}

static bool has_index(const struct scope *scope, const struct node *n)
{
	const struct eval_table *table =
		n->column && !n->u.at.depth ? scope->tables[n->u.at.table].base : NULL;

	for (uint32_t i = 0; table && i < table->index_count; i++) {
		for (uint32_t k = 0; k < table->indexes[i].count; k++) {
			if (table->indexes[i].columns[k] == n->u.at.column)
				return true;
		}
	}
	return false;
}

/* By an index the servers find the least number of an ENUM or SET, else the least text. */
static bool is_indexed_member(const struct guarded *g)
{
	return (first_type(g)->kind == EVAL_T_ENUM || first_type(g)->kind == EVAL_T_SET) &&
	       has_index(g->compiler->scope, g->args[0]);
}

static bool is_json(const struct guarded *g)
{
	return first_type(g)->kind == EVAL_T_JSON;
}

static bool extreme_refused(struct compiler *c, struct guarded *g)
{
	static const struct guard guards[] = {
		{LIMIT_MIN_OR_MAX_OF_COMPUTED_FLOAT, is_computed_float},
		{LIMIT_MIN_OR_MAX_OF_TEXT_OF_DOUBLE_OR_OF_DECIMAL_N_N, is_long_text},
		{LIMIT_MIN_OR_MAX_OF_ZEROFILL, is_zerofill},
		{LIMIT_MYSQL5_COMPUTED_FLOAT, is_float},
		{LIMIT_MIN_OR_MAX_OF_TEXT_OF_CHANGED_SET_OR_NO_COLLATION, is_text_of_changed_set},
		{LIMIT_MYSQL_MIN_OR_MAX_OF_TEXT_WITH_DATE_OF_IF_OR_CASE, is_text_of_merged_time},
		{LIMIT_MIN_OR_MAX_OF_BYTES_ONCE_TEXT, is_bytes_of_text},
		{LIMIT_MIN_OR_MAX_OF_BIT_OR_OF_DOUBLE_WITH_DECIMALS, is_bit_or_fixed_double},
		{LIMIT_MIN_OR_MAX_OF_ENUM_OR_SET_WITH_INDEX, is_indexed_member},
		{LIMIT_MIN_OR_MAX_OF_JSON, is_json},
	};

	return distinct_refused(c, g) || guards_refuse(c, g, guards, ARRAY_LEN(guards));
}

/* ---- BIT_AND, BIT_OR, BIT_XOR; GROUP_CONCAT ---- */

static bool is_bytes(const struct guarded *g)
{
	return type_is_bytes(first_type(g));
}

static bool bits_refused(struct compiler *c, struct guarded *g)
{
	static const struct guard guards[] = {
		{LIMIT_BIT_OPERATIONS_ON_BINARY_STRINGS, is_bytes},
	};

	return distinct_refused(c, g) || guards_refuse(c, g, guards, ARRAY_LEN(guards));
}

static bool concat_of_bit_or_zerofill(const struct guarded *g)
{
	return argument(g)->type.kind == EVAL_T_BIT || argument(g)->type.zerofill;
}

static bool concat_refused(struct compiler *c, struct guarded *g)
{
	static const struct guard guards[] = {
		{LIMIT_GROUP_CONCAT_OF_BIT_OR_ZEROFILL, concat_of_bit_or_zerofill},
	};

	return distinct_refused(c, g) || guards_refuse_each(c, g, 0, guards, ARRAY_LEN(guards));
}

bool aggregate_refused(struct compiler *c, const struct aggregate *a)
{
	struct guarded g = arguments_of(c, a);

	switch (a->kind) {
	case AGG_COUNT:
		return distinct_refused(c, &g);
	case AGG_SUM:
	case AGG_AVG:
		return sum_refused(c, &g);
	case AGG_MIN:
	case AGG_MAX:
		return extreme_refused(c, &g);
	case AGG_BIT_AND:
	case AGG_BIT_OR:
	case AGG_BIT_XOR:
		return bits_refused(c, &g);
	case AGG_GROUP_CONCAT:
		return concat_refused(c, &g);
	case AGG_VAR_POP:
	case AGG_VAR_SAMP:
	case AGG_STD_POP:
	case AGG_STD_SAMP:
		return compile_refuses(c, LIMIT_AGGREGATE_NOT_MODELLED,
			a->distinct || a->arg_count != 1 ||
				(a->args[0]->type.kind != EVAL_T_INT && a->args[0]->type.kind != EVAL_T_DECIMAL));
	}
	return false;
}

/* ---- the text of an aggregate ---- */

static const char *const variances[] = {
	"std", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp"};
static const char *const unmodelled[] = {"json_arrayagg", "json_objectagg", "any_value", "median",
	"percentile_cont", "percentile_disc", "st_collect"};

bool aggregate_name_refused(struct compiler *c, struct span name)
{
	for (size_t i = 0; i < ARRAY_LEN(variances); i++) {
		if (compile_refuses(
			    c, LIMIT_AGGREGATE_NOT_MODELLED, !c->env->shows_variances && span_ieq_str(name, variances[i])))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(unmodelled); i++) {
		if (compile_refuses(c, LIMIT_AGGREGATE_NOT_MODELLED, span_ieq_str(name, unmodelled[i])))
			return true;
	}
	return false;
}

bool aggregate_clauses_refused(struct compiler *c, const struct sql_call_extra *extra)
{
	return compile_refuses(c, LIMIT_WITHIN_GROUP, extra && extra->within_group);
}

bool group_concat_clauses_refused(struct compiler *c, const struct sql_call_extra *extra)
{
	return compile_refuses(c, LIMIT_GROUP_CONCAT_WITH_LIMIT, extra->limit);
}

bool group_concat_key_refused(struct compiler *c, const struct sql_expr *key)
{
	return compile_refuses(
		c, LIMIT_GROUP_CONCAT_ORDERED_BY_CONSTANT, key->kind == SQL_EXPR_LITERAL);
}

bool outer_aggregate_refused(struct compiler *c, bool belongs_here)
{
	return compile_refuses(c, LIMIT_AGGREGATE_OF_OUTER_COLUMNS, !belongs_here);
}

static bool different_columns(const struct node *a, const struct node *b)
{
	return a->column && b->column && a->expr && b->expr && a->expr->kind == SQL_EXPR_COLUMN &&
	       b->expr->kind == SQL_EXPR_COLUMN &&
	       !span_ieq(a->expr->u.column.name, b->expr->u.column.name);
}

/* MySQL takes one that differs in the order or separator only for the other. */
bool second_group_concat_refused(
	struct compiler *c, const struct aggregate *a, const struct aggregate *others)
{
	for (const struct aggregate *b = others; b && a->kind == AGG_GROUP_CONCAT; b = b->next) {
		if (compile_refuses(c, LIMIT_MYSQL_SEVERAL_GROUP_CONCATS,
			    b->kind == AGG_GROUP_CONCAT && !different_columns(a->args[0], b->args[0])))
			return true;
	}
	return false;
}

/* ---- values ---- */

bool variance_refused(struct run *run, bool same)
{
	return run_refuses(run, LIMIT_AGGREGATE_NOT_MODELLED, !same);
}

bool nested_aggregate_refused(struct run *run, const struct eval_value *v)
{
	return /* MySQL: as an integer it is error 1690, also where the answer does not need it. */
		run_refuses(run, LIMIT_MYSQL_AVG_BEYOND_BIGINT_USED_FURTHER,
			v->kind == EVAL_DECIMAL && v->decimals != EVAL_REAL_SAME &&
				fabs(v->real) >= 0x1p63);
}

bool nested_extreme_refused(struct run *run, const struct eval_value *v, bool of_member)
{
	return /* A text, or out of a temporary table a number, too. */
		run_refuses(run, LIMIT_MIN_OR_MAX_OF_ENUM_OR_SET_USED_FURTHER, of_member) ||
		/* MariaDB keeps it as a signed integer: SIGN(MAX(bu)) is -1. */
		run_refuses(run, LIMIT_MIN_OR_MAX_BEYOND_BIGINT_USED_FURTHER,
			v->kind == EVAL_UINT && v->u > INT64_MAX && run->env->flavour == SQL_MARIADB);
}

static bool is_kept_by_number(const struct eval_type *type)
{
	return type->kind == EVAL_T_BIT || type->kind == EVAL_T_YEAR || type->kind == EVAL_T_SET ||
	       type->kind == EVAL_T_JSON || type->kind == EVAL_T_TIME;
}

bool concat_order_refused(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	bool null = v->kind == EVAL_NULL;
	bool date = type_is_temporal(type) && type->kind != EVAL_T_TIME;

	return /* BINARY(3) has three bytes that the server does not set. */
		run_refuses(run, LIMIT_GROUP_CONCAT_ORDERED_BY_NULL,
			null && (is_kept_by_number(type) || (type->kind == EVAL_T_STRING && type->fixed &&
								    type->collation == COLLATION_BINARY))) ||
		/* The least, as NULL. */
		run_refuses(run, LIMIT_GROUP_CONCAT_ORDERED_BY_DATE_OF_ZEROS,
			!null && date && !(v->t.year || v->t.month || v->t.day)) ||
		run_refuses(run, LIMIT_GROUP_CONCAT_ORDERED_BY_EMPTY_ENUM,
			!null && type->kind == EVAL_T_ENUM && !v->s.len);
}

/* MySQL, and MariaDB until 2026, count the bytes of a DOUBLE: AVG(DISTINCT) has both zeros. */
static bool counts_bytes(const struct run *run, const struct aggregate *a)
{
	if (a->kind == AGG_GROUP_CONCAT)
		return a->distinct || a->order_count;
	return a->distinct && (run->env->flavour == SQL_MYSQL || mariadb_2026(run->env) != 1);
}

bool aggregated_value_refused(
	struct run *run, const struct aggregate *a, const struct eval_value *v)
{
	return run_refuses(run, LIMIT_NEGATIVE_ZERO_SORTED_OR_GROUPED,
		v->kind == EVAL_DOUBLE && v->d == 0 && signbit(v->d) && counts_bytes(run, a));
}

bool zero_sum_refused(struct run *run)
{
	return run_refuses(
		run, LIMIT_SUM_OF_DOUBLES_ZERO_OF_EITHER_SIGN, mariadb_2026(run->env) != 1);
}

/* Through a temporary table the digits beyond the scale are lost, otherwise not. */
bool summand_refused(struct run *run, const struct eval_type *type, const struct decimal *d)
{
	return run_refuses(run, LIMIT_SUM_OF_QUOTIENTS_WITH_MORE_DIGITS, decimal_beyond(type, d));
}

bool extreme_value_refused(struct run *run, const struct aggregate *a, const struct eval_type *type,
	const struct eval_value *v)
{
	if (v->kind != EVAL_DECIMAL)
		return false;
	return /* MAX(i / 3) - MIN(i / 3): a temporary table rounds them, or there is none. */
		run_refuses(run, LIMIT_MIN_OR_MAX_OF_QUOTIENTS_WITH_MORE_DIGITS,
			decimal_beyond(&a->args[0]->type, v->dec)) ||
		/* d0 - iu: a temporary table cuts it to 0. */
		run_refuses(run, LIMIT_MIN_OR_MAX_OF_NEGATIVE_DECIMAL_UNSIGNED,
			v->dec->neg && type->is_unsigned) ||
		/* A temporary table cuts it, where there is one. */
		run_refuses(run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS,
			decimal_int_digits(v->dec) + a->type.decimals > DECIMAL_PRECISION_MAX);
}

bool equal_extremes_refused(struct run *run, const struct eval_value *v, const struct eval_value *best)
{
	return run_refuses(run, LIMIT_MIN_OR_MAX_OF_TEXTS_EQUAL_AND_DIFFER, !eval_same(v, best));
}

static bool is_at_end(const struct eval_value *v)
{
	return v->kind == EVAL_UINT ? v->u >= INT64_MAX : v->i == INT64_MAX || v->i == INT64_MIN;
}

bool aggregated_bits_refused(
	struct run *run, const struct eval_value *v, const struct eval_value *integer)
{
	return run_refuses(run, LIMIT_BIT_AND_AND_KIN_OF_NUMBERS_WITH_FRACTIONS,
		       v->kind == EVAL_DOUBLE || v->kind == EVAL_DECIMAL) ||
	       /* Cut to BIGINT. */
	       run_refuses(run, LIMIT_BIT_AND_AND_KIN_OF_TEXT_BEYOND_BIGINT,
		       v->kind == EVAL_STRING && is_at_end(integer));
}

bool concat_length_refused(struct run *run, size_t length)
{
	return run_refuses(run, LIMIT_GROUP_CONCAT_BEYOND_GROUP_CONCAT_MAX_LEN,
		length > run->env->group_concat_max_len);
}
