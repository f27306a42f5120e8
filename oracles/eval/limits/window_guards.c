/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of window functions: their keys, frames, values, and the function itself. */
#include "eval/limits/guards.h"
#include "eval/query/window.h"

/* ---- keys ---- */

/* Error 1267 at times. */
static bool is_text_of_no_collation(const struct guarded *g)
{
	return type_at(g, 0)->kind == EVAL_T_STRING && type_at(g, 0)->coercibility == COERCIBLE_NONE;
}

bool window_key_refused(struct compiler *c, struct node *key)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_WINDOW_OVER_TEXT_OF_NO_COLLATION, is_text_of_no_collation},
	};
	struct guarded g = {.env = c->env, .args = &key, .count = 1};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- frames ---- */

static bool is_rare_frame(const struct guarded *g)
{
	const struct window *w = g->window;

	return g->definition->exclude || w->unit == SQL_FRAME_GROUPS ||
	       (w->unit && (w->from > w->to || w->from == SQL_FRAME_LAST || w->to == SQL_FRAME_FIRST));
}

bool window_frame_refused(struct compiler *c, const struct window *w, const struct sql_window *definition)
{
	static const struct guard guards[] = {
		{LIMIT_FRAME_OF_GROUPS_WITH_EXCLUDE_OR_THAT_ENDS_EARLY, is_rare_frame},
	};
	struct guarded g = {.env = c->env, .window = w, .definition = definition};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* MariaDB has strange values where 2 FOLLOWING comes before 1 FOLLOWING. */
static bool ends_before_it_starts(const struct guarded *g)
{
	const struct window *w = g->window;

	return w->from == w->to && ((w->from == SQL_FRAME_PRECEDING && w->from_n < w->to_n) ||
					   (w->from == SQL_FRAME_FOLLOWING && w->from_n > w->to_n));
}

static bool is_range_of_numbers(const struct guarded *g)
{
	return g->window->unit == SQL_FRAME_RANGE &&
	       (g->definition->from.offset || g->definition->to.offset);
}

static bool is_range_over_several(const struct guarded *g)
{
	return is_range_of_numbers(g) && g->window->key_count - g->window->partition_count != 1;
}

static bool is_range_over_others(const struct guarded *g)
{
	const struct eval_type *type;

	if (!is_range_of_numbers(g))
		return false;
	type = &g->window->keys[g->window->partition_count].node->type;
	return type->kind != EVAL_T_INT || type->is_unsigned;
}

bool window_offsets_refused(struct compiler *c, const struct window *w, const struct sql_window *definition)
{
	static const struct guard guards[] = {
		{LIMIT_FRAME_THAT_ENDS_BEFORE_STARTS, ends_before_it_starts},
		{LIMIT_RANGE_OVER_SEVERAL_KEYS, is_range_over_several},
		{LIMIT_RANGE_OVER_OTHER_THAN_SIGNED_INTEGERS, is_range_over_others},
	};
	struct guarded g = {.env = c->env, .window = w, .definition = definition};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- values ---- */

/* On MariaDB, what is not a date is a zero then, and not NULL. */
static bool is_made_date(const struct guarded *g)
{
	const struct node *value = g->window->value;

	return g->env->flavour == SQL_MARIADB && value->expr && value->expr->kind == SQL_EXPR_CAST &&
	       type_is_temporal(&value->type) && !type_is_temporal(&value->args[0]->type);
}

static bool is_cut(const struct guarded *g)
{
	return node_is_cut(g->env, g->window->value);
}

bool window_value_refused(struct compiler *c, const struct window *w)
{
	static const struct guard guards[] = {
		{LIMIT_LAG_AND_KIN_OF_MADE_DATE, is_made_date},
		{LIMIT_TEXT_OF_NUMBER_THAT_TMP_TABLE_MAY_CUT, is_cut},
	};
	struct guarded g = {.env = c->env, .window = w};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool is_of_rare_type(const struct guarded *g)
{
	switch ((enum eval_type_kind)g->window->type.kind) {
	case EVAL_T_NULL:
	case EVAL_T_BIT:
	case EVAL_T_YEAR:
	case EVAL_T_FLOAT:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_JSON:
		return true;
	case EVAL_T_INT:
	case EVAL_T_DECIMAL:
	case EVAL_T_DOUBLE:
	case EVAL_T_STRING:
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return false;
	}
	return false;
}

static bool is_fixed_double(const struct guarded *g)
{
	return g->window->type.kind == EVAL_T_DOUBLE && g->window->type.decimals != EVAL_NOT_FIXED;
}

bool window_type_refused(struct compiler *c, const struct window *w)
{
	static const struct guard guards[] = {
		{LIMIT_LAG_AND_KIN_OF_UNMODELLED_TYPE, is_of_rare_type},
		{LIMIT_LAG_AND_KIN_OF_DOUBLE_WITH_DECIMALS, is_fixed_double},
	};
	struct guarded g = {.env = c->env, .window = w};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- the function ---- */

static bool is_ntile_of_zero(const struct guarded *g)
{
	return g->window->kind == WINDOW_NTILE && g->window->number == 0;
}

static bool is_nth_of_zero(const struct guarded *g)
{
	return g->window->kind != WINDOW_NTILE && g->window->number == 0;
}

bool window_number_refused(struct compiler *c, const struct window *w)
{
	static const struct guard guards[] = {
		{LIMIT_NTILE_0, is_ntile_of_zero},
		{LIMIT_NTH_VALUE_X_0, is_nth_of_zero},
	};
	struct guarded g = {.env = c->env, .window = w};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool concatenates_or_is_distinct(const struct guarded *g)
{
	return g->kind == AGG_GROUP_CONCAT || g->expr->u.call.extra->distinct;
}

/* Of numbers beyond 31 bits it is wrong: the server counts bits, and shifts an int. */
static bool is_bit_xor(const struct guarded *g)
{
	return g->kind == AGG_BIT_XOR;
}

bool window_aggregate_refused(struct compiler *c, const struct sql_expr *e, enum aggregate_kind kind)
{
	static const struct guard guards[] = {
		{LIMIT_GROUP_CONCAT_OR_DISTINCT_WITH_OVER, concatenates_or_is_distinct},
		{LIMIT_MARIADB_BIT_XOR_OVER_WINDOW, is_bit_xor},
	};
	struct guarded g = {.env = c->env, .expr = e, .kind = kind};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool has_needless_frame(const struct guarded *g)
{
	return !window_is_framed(g->window) && g->window->unit;
}

static bool is_zerofill(const struct guarded *g)
{
	return g->window->type.zerofill;
}

/* MySQL takes the first or last row of such an order, which is that of the members' numbers. */
static bool is_extreme_of_members(const struct guarded *g)
{
	const struct window *w = g->window;

	return w->aggregate && (w->aggregate->kind == AGG_MIN || w->aggregate->kind == AGG_MAX) &&
	       w->key_count > w->partition_count && type_is_list(&w->aggregate->args[0]->type) &&
	       type_is_list(&w->keys[w->partition_count].node->type);
}

bool window_refused(struct compiler *c, const struct window *w)
{
	static const struct guard guards[] = {
		{LIMIT_FRAME_FOR_FUNCTION_WITH_NONE, has_needless_frame},
		{LIMIT_ZEROFILL_IN_WINDOW_FUNCTION, is_zerofill},
		{LIMIT_MYSQL_MIN_OR_MAX_OF_ENUM_OVER_WINDOW, is_extreme_of_members},
	};
	struct guarded g = {.env = c->env, .window = w};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- the text of a window ---- */

bool window_literal_refused(struct compiler *c, const struct sql_expr *e)
{
	return compile_refuses(c, LIMIT_WINDOW_FUNCTION_NUMBER_NOT_SMALL_LITERAL,
		!e || e->kind != SQL_EXPR_LITERAL || e->u.literal.kind != SQL_LIT_INT ||
			e->u.literal.text.len > 9);
}

/* Something said twice is an error of one kind or another. */
bool window_over_another_refused(struct compiler *c, const struct sql_window *over,
	const struct sql_window *so_far, const struct sql_window *named)
{
	return compile_refuses(c, LIMIT_WINDOW_DEFINED_OVER_ANOTHER_IN_OTHER_WAYS,
		(named->unit && over->parenthesised) || so_far->partition.count ||
			(named->order && so_far->order));
}

bool window_key_text_refused(struct compiler *c, const struct sql_expr *key)
{
	return compile_refuses(
		c, LIMIT_WINDOW_ORDERED_BY_LITERAL, key->kind == SQL_EXPR_LITERAL);
}

/* An alias, maybe: which names are seen here differs. */
bool window_key_error_refused(struct compiler *c)
{
	return compile_reopens(c, LIMIT_ERROR_IN_WINDOW_DEFINITION, true);
}
