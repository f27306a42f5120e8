/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of AND, OR, XOR, NOT, IS, LIKE and of conditions. */
#include <math.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"

/* ---- types ---- */

bool logic_refused(
	struct compiler *c, enum sql_op op, const struct node *l, const struct node *r)
{
	bool integers = type_is_int(&l->type) && type_is_int(&r->type);

	return compile_refuses(
		       c, LIMIT_MYSQL5_XOR_OF_OTHER_THAN_INTEGERS, op == SQL_OP_XOR && !integers) ||
	       compile_refuses(c, LIMIT_MARIADB_10_5_STRING_LITERAL_AND_OR_OR_CONSTANT,
		       l->literal && type_is_string(&l->type) && r->constant && !r->literal);
}

/* Numbers that a condition, or AND and OR beside a constant, make integers of: 0.3 is false then. */
static bool has_fraction(const struct node *n)
{
	if (node_is_and_or(n))
		return has_fraction(n->args[0]) || has_fraction(n->args[1]);
	return !type_is_int(&n->type) && n->type.kind != EVAL_T_NULL;
}

/* (~0) + HEX(i), COALESCE(db, ~0): in a condition MariaDB keeps a constant that is computed as a signed number (seen
 * on 10.11). */
static bool loses_sign(const struct node *n)
{
	bool computes = n->expr && (n->expr->kind == SQL_EXPR_BINARY || n->type.merged) &&
			n->type.kind == EVAL_T_DOUBLE;

	for (uint32_t i = 0; computes && i < n->arg_count; i++) {
		const struct node *arg = n->args[i];

		if (arg->constant && !arg->literal && type_is_int(&arg->type) &&
			arg->type.is_unsigned)
			return true;
	}
	return false;
}

bool condition_refused(struct compiler *c, const struct node *n)
{
	bool older = mysql_5(c->env) || (c->env->flavour == SQL_MARIADB && c->env->version < 100600);

	return /* Constants of a condition are computed before any row is looked at, needed or not, where
		* there is none, too. */
		compile_refuses(c, LIMIT_CONSTANT_THAT_FAILS_IN_CONDITION, c->erring_constant) ||
		compile_refuses(c, LIMIT_UNSIGNED_CONSTANT_AS_DOUBLE_IN_CONDITION,
			c->env->flavour == SQL_MARIADB && node_any(n, loses_sign)) ||
		compile_refuses(
			c, LIMIT_CONDITION_NOT_INTEGER_IN_OLDER_RELEASES, older && has_fraction(n));
}

static bool is_any_or_all(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_QUANTIFIED && (e->op != SQL_OP_EQ || e->quantifier == SQL_ALL);
}

static bool is_strcmp(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_CALL && !e->u.call.db.ptr &&
	       span_ieq_str(e->u.call.name, "strcmp");
}

/* Something `is` that is denied in what is denied. */
static bool denies_again(
	const struct sql_expr *e, bool denied, bool (*is)(const struct sql_expr *e))
{
	if (e->kind == SQL_EXPR_UNARY && (e->op == SQL_OP_NOT || e->op == SQL_OP_BANG))
		return denies_again(e->u.binary.left, true, is);
	if (e->kind == SQL_EXPR_BINARY && (e->op == SQL_OP_AND || e->op == SQL_OP_OR))
		return denies_again(e->u.binary.left, denied, is) ||
		       denies_again(e->u.binary.right, denied, is);
	return denied && is(e);
}

bool not_refused(struct compiler *c, const struct sql_expr *e, const struct node *arg)
{
	const struct sql_expr *denied = e->u.binary.left;
	bool mariadb = c->env->flavour == SQL_MARIADB;

	return /* NOT (NOT (x <= ANY (...))): all but MySQL 9.7 turn ANY and ALL about once, and the
		* comparison twice. */
		compile_refuses(c, LIMIT_NOT_OF_NOT_OF_ANY_OR_ALL,
			(mariadb || c->env->version < 90700) &&
				denies_again(denied, false, is_any_or_all)) ||
		/* MariaDB drops both, in conditions, also where it is no truth value that is left: WHERE
		 * !!2 = 1. */
		compile_refuses(c, LIMIT_NOT_OF_NOT_OF_NOT_TRUTH_VALUE,
			mariadb && node_is_not(arg) && !arg->args[0]->type.is_bool) ||
		/* A truth value to MySQL, which drops both: -1. */
		compile_refuses(
			c, LIMIT_MYSQL_NOT_OF_NOT_OF_STRCMP, denies_again(denied, false, is_strcmp));
}

bool is_refused(struct compiler *c, enum sql_op op, const struct node *arg)
{
	return compile_refuses(c, LIMIT_IS_NULL_OF_COMPARISON_OF_ROWS,
		c->env->flavour == SQL_MARIADB && op != SQL_OP_IS_TRUE && op != SQL_OP_IS_FALSE &&
			compares_rows(arg));
}

bool like_refused(struct compiler *c, struct node *const *pair)
{
	return compile_refuses(c, LIMIT_MYSQL5_LIKE_OF_OTHER_THAN_TEXTS,
		!type_is_string(&pair[0]->type) || !type_is_string(&pair[1]->type));
}

static bool is_ascii_or_empty(struct span s)
{
	return !s.len || (s.len == 1 && (unsigned char)s.ptr[0] < 0x80);
}

bool escape_refused(struct compiler *c, const struct node *escape)
{
	return compile_refuses(c, LIMIT_ESCAPE_NOT_ONE_ASCII_CHARACTER,
		!escape->literal || escape->type.kind != EVAL_T_STRING ||
			!is_ascii_or_empty(escape->u.value.s));
}

/* ---- values ---- */

/* Where NULL is as good as false (WHERE, IF) the rest is not asked for. */
bool error_after_null_refused(struct run *run)
{
	return run_reopens(run, LIMIT_ERROR_BEHIND_NULL_AND, true);
}

bool xor_refused(struct run *run, struct node *const *args, const struct eval_value *b)
{
	bool integers = type_is_int(&args[0]->type) && type_is_int(&args[1]->type);

	return run_refuses(run, LIMIT_XOR_OF_OTHER_THAN_INTEGERS_IN_OLDER_RELEASES,
		!integers && run->env->flavour == SQL_MARIADB && mariadb_2026(run->env) != 1 &&
			(b->kind != EVAL_NULL || run->strict));
}

static bool is_printed_as_zero(const struct eval_type *type, const struct eval_value *v)
{
	struct decimal printed;

	return v->kind == EVAL_DECIMAL && type->kind == EVAL_T_DECIMAL && v->dec->count &&
	       v->dec->scale > type->decimals &&
	       decimal_round(v->dec, type->decimals, DECIMAL_HALF_UP, &printed) && !printed.count;
}

static bool is_text_below_half(const struct eval_type *type, const struct eval_value *v)
{
	size_t used;
	double d;

	if (v->kind != EVAL_STRING || type->decimals >= EVAL_NOT_FIXED)
		return false;
	d = text_to_double(v->s, &used);
	return d != 0 && fabs(d) < 0.5;
}

static bool is_almost_zero(const struct eval_type *type, const struct eval_value *v)
{
	return v->kind == EVAL_DOUBLE && v->d != 0 && type->kind == EVAL_T_DOUBLE &&
	       type->decimals < EVAL_NOT_FIXED && fabs(v->d) < 5 / pow(10, type->decimals + 1);
}

bool denied_value_refused(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	return /* NOT NOT x is x <> 0 to MariaDB, which compares what is printed. */
		run_refuses(run, LIMIT_NOT_OF_QUOTIENT_ALMOST_ZERO, is_printed_as_zero(type, v)) ||
		/* CAST(0.3 AS CHAR) has no decimals then. */
		run_refuses(run, LIMIT_NOT_OF_TEXT_ALMOST_ZERO, is_text_below_half(type, v)) ||
		/* To MySQL it is x = 0, which DOUBLEs with decimals almost are. */
		run_refuses(run, LIMIT_NOT_OF_DOUBLE_ALMOST_ZERO, is_almost_zero(type, v));
}

bool asked_for_null_refused(struct run *run, const struct node *arg, const struct eval_value *v)
{
	bool date = v->kind == EVAL_DATE || v->kind == EVAL_DATETIME;

	return /* What cannot be NULL is not computed. */
		run_reopens(run, LIMIT_ERROR_IN_WHAT_IS_NULL_ASKS, true) ||
		/* In a condition a column that is NOT NULL is then NULL, in some. */
		run_refuses(run, LIMIT_IS_NULL_OF_COLUMN_ZERO_DATE,
			arg->column && date && date_is_zero(&v->t));
}

/* MariaDB reads a constant pattern when the statement is prepared, before strict mode begins. */
bool constant_pattern_refused(struct run *run, const struct node *pattern)
{
	return run_reopens(run, LIMIT_CONSTANT_ERROR_IN_STRICT_MODE,
		run->strict && pattern->constant && run->env->flavour == SQL_MARIADB);
}
