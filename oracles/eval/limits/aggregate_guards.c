/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of aggregates: COUNT, SUM, AVG, MIN, MAX, BIT_*, GROUP_CONCAT. */
#include "eval/limits/guards.h"
#include "eval/operator/arithmetic.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"

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
	}
	return false;
}
