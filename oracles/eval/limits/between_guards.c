/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of x BETWEEN low AND high: args[0] is x. */
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"

enum { BETWEEN_ARGS = 3 };

/* ---- before it is known how they are compared ---- */

static bool unsigned_or_of_several_types(const struct guarded *g)
{
	return own_type(g)->kind != type_at(g, 0)->kind || own_type(g)->is_unsigned ||
	       type_at(g, 0)->is_unsigned;
}

static bool has_null_bound(const struct guarded *g)
{
	return type_at(g, 1)->kind == EVAL_T_NULL || type_at(g, 2)->kind == EVAL_T_NULL;
}

/* Whether the string is converted, and whether there is a warning, is up to the optimizer. */
static bool null_and_another_type(const struct guarded *g)
{
	const struct eval_type *bound = type_at(g, type_at(g, 1)->kind == EVAL_T_NULL ? 2 : 1);

	return has_null_bound(g) && bound->kind != EVAL_T_NULL &&
	       (bound->kind != type_at(g, 0)->kind || bound->is_unsigned != type_at(g, 0)->is_unsigned);
}

/* MySQL compares them as DOUBLEs. */
static bool bigint_and_null(const struct guarded *g)
{
	return has_null_bound(g) && type_at(g, 0)->kind == EVAL_T_INT && type_at(g, 0)->bytes == 8;
}

/* The type of NULLIF depends on what it is compared with. */
static bool of_nullif(const struct guarded *g)
{
	const struct sql_expr *e = g->args[0]->expr;

	return e && e->kind == SQL_EXPR_CALL && span_ieq_str(e->u.call.name, "nullif");
}

static bool is_year_column(const struct guarded *g)
{
	return own_type(g)->kind == EVAL_T_YEAR && g->args[g->at]->column;
}

static bool year_and_constant(const struct guarded *g)
{
	return is_year_column(g) && (may_be_constant(g->args[0]) || may_be_constant(g->args[1]) ||
					    may_be_constant(g->args[2]));
}

/* COALESCE('a', vc) IS NULL is a constant to MySQL. */
static bool year_and_computed(const struct guarded *g)
{
	return is_year_column(g) && !(g->args[0]->column && g->args[1]->column && g->args[2]->column);
}

bool between_refused(struct compiler *c, struct node *const *args)
{
	static const struct guard bounds[] = {
		{LIMIT_MYSQL5_BETWEEN_VALUES_UNSIGNED_OR_OF_SEVERAL_TYPES, unsigned_or_of_several_types},
	};
	static const struct guard all[] = {
		{LIMIT_BETWEEN_NULL_AND_VALUE_OF_ANOTHER_TYPE, null_and_another_type},
		{LIMIT_MYSQL_BIGINT_BETWEEN_NULL_AND_ANOTHER, bigint_and_null},
		{LIMIT_MYSQL_NULLIF_BETWEEN, of_nullif},
	};
	static const struct guard years[] = {
		{LIMIT_BETWEEN_WITH_YEAR_AND_CONSTANTS, year_and_constant},
		{LIMIT_MYSQL_BETWEEN_WITH_YEAR_AND_COMPUTED, year_and_computed},
	};
	struct guarded g = {.env = c->env, .args = args, .count = BETWEEN_ARGS};

	return guards_refuse_each(c, &g, 1, bounds, ARRAY_LEN(bounds)) ||
	       guards_refuse(c, &g, all, ARRAY_LEN(all)) ||
	       guards_refuse_each(c, &g, 0, years, ARRAY_LEN(years));
}

/* ---- compared as numbers: neither all texts nor any date or time ---- */

static bool any_of_class(const struct guarded *g, enum cmp_class class)
{
	for (uint32_t i = 0; i < g->count; i++) {
		if (class_of(type_at(g, i)) == class)
			return true;
	}
	return false;
}

static bool strings_and_numbers(const struct guarded *g)
{
	return !between_is_exact(g->args) && any_of_class(g, CMP_STRING);
}

static bool bytes_of_if_or_case(const struct guarded *g)
{
	const struct eval_type *t = own_type(g);

	return type_is_string(t) && t->merged && t->collation == COLLATION_BINARY;
}

/* MySQL compares them as DECIMALs or as DOUBLEs. */
static bool decimals_and_hexadecimal(const struct guarded *g)
{
	return own_type(g)->hybrid && between_is_exact(g->args) && !between_is_integer(g->args);
}

/* The servers compare some of them as DOUBLEs. */
static bool null_and_decimal(const struct guarded *g)
{
	return g->how->as.kind == EVAL_T_DECIMAL && own_type(g)->kind == EVAL_T_NULL;
}

bool between_numbers_refused(
	struct compiler *c, struct node *const *args, const struct comparison *how)
{
	static const struct guard texts[] = {
		{LIMIT_MYSQL_BETWEEN_WITH_STRINGS_AND_NUMBERS, strings_and_numbers},
	};
	static const struct guard bytes[] = {
		{LIMIT_BETWEEN_WITH_BYTES_OF_IF_OR_CASE, bytes_of_if_or_case},
	};
	static const struct guard hexadecimals[] = {
		{LIMIT_MYSQL_BETWEEN_OF_DECIMALS_AND_HEXADECIMAL_LITERALS, decimals_and_hexadecimal},
	};
	static const struct guard nulls[] = {
		{LIMIT_BETWEEN_LITERAL_NULL_AND_DECIMAL, null_and_decimal},
	};
	struct guarded g = {.env = c->env, .args = args, .count = BETWEEN_ARGS, .how = how};

	return guards_refuse(c, &g, texts, ARRAY_LEN(texts)) ||
	       guards_refuse_each(c, &g, 0, bytes, ARRAY_LEN(bytes)) ||
	       guards_refuse_each(c, &g, 0, hexadecimals, ARRAY_LEN(hexadecimals)) ||
	       guards_refuse_each(c, &g, 0, nulls, ARRAY_LEN(nulls));
}

/* ---- compared as dates or times ---- */

/* how[0]: x and low; how[1]: x and high; how[2]: low and high. */
static bool different_temporal_types(const struct guarded *g)
{
	enum eval_type_kind low = g->how[0].as.kind, high = g->how[1].as.kind;

	return low != high || (type_is_temporal(&g->how[2].as) && g->how[2].as.kind != low);
}

bool between_times_refused(struct compiler *c, const struct comparison *how)
{
	static const struct guard guards[] = {
		{LIMIT_BETWEEN_WITH_DIFFERENT_TEMPORAL_TYPES, different_temporal_types},
	};
	struct guarded g = {.env = c->env, .how = how};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- values ---- */

bool between_dates_refused(struct run *run, const struct eval_type *type, const struct comparison *how)
{
	return run_refuses(run, LIMIT_BETWEEN_DATES_OF_NONE_IN_STRICT_MODE,
		run->strict && type_is_temporal(&how->as) && !type_is_temporal(type));
}

/* The server may not compute the upper bound. */
bool upper_bound_error_refused(struct run *run)
{
	return run_reopens(run, LIMIT_ERROR_IN_UPPER_BOUND_OF_BETWEEN, true);
}

/* MariaDB searches an index for one value where both bounds are equal, and compares the bounds in their own
 * collation.  So `c BETWEEN 'A' AND 'a'` finds only 'A', even if 'A' and 'a' differ in the collation of the
 * column (seen on 10.11 and 11.8; without an index it finds both). */
static bool may_be_one_value(const struct node *n, const struct comparison *how,
	const struct eval_value *low, const struct eval_value *high)
{
	bool unknown = false;

	return !n->aux && n->args[0]->column && n->args[1]->literal && n->args[2]->literal &&
	       low->kind == EVAL_STRING && high->kind == EVAL_STRING &&
	       low->collation != how->collation && !span_eq(low->s, high->s) &&
	       (collation_compare(low->collation, low->s, high->s, &unknown) == 0 || unknown);
}

bool between_values_refused(struct run *run, const struct node *n, const struct comparison *how,
	const struct eval_value v[3])
{
	bool hybrid = n->args[0]->type.hybrid || n->args[1]->type.hybrid || n->args[2]->type.hybrid;

	return /* 0x5d is unsigned to some of it, and signed to the rest. */
		run_refuses(run, LIMIT_MYSQL_BETWEEN_OF_LARGE_NUMBER_AND_HEX,
			hybrid && how->as.kind == EVAL_T_INT &&
				(is_above_bigint(&v[0]) || is_above_bigint(&v[1]) ||
					is_above_bigint(&v[2]))) ||
		run_refuses(run, LIMIT_BETWEEN_BOUNDS_THAT_ONLY_COLUMN_TELLS_APART,
			run->env->flavour == SQL_MARIADB && may_be_one_value(n, how, &v[1], &v[2]));
}
