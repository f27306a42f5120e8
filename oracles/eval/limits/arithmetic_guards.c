/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of arithmetic and of bit operations. */
#include <math.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/arithmetic.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"

static bool is_bit_operation(enum sql_op op)
{
	return op == SQL_OP_BIT_OR || op == SQL_OP_BIT_AND || op == SQL_OP_BIT_XOR ||
	       op == SQL_OP_SHIFT_LEFT || op == SQL_OP_SHIFT_RIGHT;
}

static bool any_operand(const struct guarded *g, bool (*is)(const struct node *n))
{
	for (uint32_t i = 0; i < g->count; i++) {
		if (is(g->args[i]))
			return true;
	}
	return false;
}

static bool is_odd_number(const struct node *n)
{
	const struct eval_type *t = &n->type;

	return t->kind == EVAL_T_ENUM || t->kind == EVAL_T_SET || t->hybrid || t->kind == EVAL_T_TIME ||
	       (type_is_temporal(t) && t->decimals);
}

static bool of_odd_numbers(const struct guarded *g)
{
	return any_operand(g, is_odd_number);
}

static bool is_computed_text(const struct node *n)
{
	return type_is_string(&n->type) && !n->column;
}

/* Whether the text of a function has decimals differs between functions. */
static bool of_computed_text(const struct guarded *g)
{
	return any_operand(g, is_computed_text);
}

static bool is_binary_string(const struct node *n)
{
	return n->type.kind == EVAL_T_STRING && n->type.collation == COLLATION_BINARY;
}

static bool bits_of_binary_string(const struct guarded *g)
{
	return is_bit_operation(g->op) && any_operand(g, is_binary_string);
}

static bool bit_not_of_binary_string(const struct guarded *g)
{
	return is_binary_string(g->args[0]);
}

/* How many digits are kept differs between the releases. */
static bool quotient_of_many_decimals(const struct guarded *g)
{
	struct eval_type a = arithmetic_type(&g->args[0]->type);

	return g->op == SQL_OP_DIV && a.kind == EVAL_T_DECIMAL && a.decimals >= 27 && !g->args[0]->column;
}

static bool quotient_by_computed_time(const struct guarded *g)
{
	const struct node *r = g->args[1];

	return g->op == SQL_OP_DIV && type_is_temporal(&r->type) && r->type.decimals && !r->column;
}

static bool any_double(const struct guarded *g)
{
	return arithmetic_type(&g->args[0]->type).kind == EVAL_T_DOUBLE ||
	       arithmetic_type(&g->args[1]->type).kind == EVAL_T_DOUBLE;
}

static bool remainder_of_long_decimals(const struct guarded *g)
{
	return g->op == SQL_OP_MOD && !any_double(g) &&
	       (arithmetic_type(&g->args[0]->type).decimals > 9 ||
		       arithmetic_type(&g->args[1]->type).decimals > 9);
}

static bool is_timestamp(const struct node *n)
{
	return n->type.kind == EVAL_T_TIMESTAMP;
}

/* The column is unsigned, and a negative result is out of range. */
static bool may_be_negative_timestamp(const struct guarded *g)
{
	if (is_bit_operation(g->op) || !any_operand(g, is_timestamp))
		return false;
	return g->op == SQL_OP_INT_DIV || g->op == SQL_OP_SUB || (g->op == SQL_OP_MOD && !any_double(g)) ||
	       arithmetic_type(&g->args[0]->type).is_unsigned ||
	       arithmetic_type(&g->args[1]->type).is_unsigned;
}

static bool remainder_of_hexadecimal(const struct guarded *g)
{
	return g->op == SQL_OP_MOD && any_double(g) && is_unsigned_text(g->env, g->args[0]);
}

bool arithmetic_refused(struct compiler *c, enum sql_op op, struct node *const *operands)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_ARITHMETIC_ON_ENUM_SET_OR_TIMES_WITH_FRACTION, of_odd_numbers},
		{LIMIT_MYSQL5_ARITHMETIC_ON_COMPUTED_TEXT, of_computed_text},
		{LIMIT_BIT_OPERATIONS_ON_BINARY_STRINGS, bits_of_binary_string},
		{LIMIT_QUOTIENT_OF_COMPUTED_DECIMAL_WITH_MANY_DECIMALS, quotient_of_many_decimals},
		{LIMIT_QUOTIENT_BY_COMPUTED_TIME_WITH_FRACTION, quotient_by_computed_time},
		{LIMIT_MYSQL5_REMAINDER_OF_LONG_DECIMALS, remainder_of_long_decimals},
		{LIMIT_DIFFERENCE_DIV_OR_REMAINDER_OF_TIMESTAMP, may_be_negative_timestamp},
		{LIMIT_REMAINDER_OF_HEXADECIMAL_LITERAL, remainder_of_hexadecimal},
	};
	struct guarded g = {.env = c->env, .op = op, .args = operands, .count = 2};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

bool number_refused(struct compiler *c, struct node *operand)
{
	static const struct guard guards[] = {
		{LIMIT_MYSQL_ARITHMETIC_ON_ENUM_SET_OR_TIMES_WITH_FRACTION, of_odd_numbers},
	};
	struct guarded g = {.env = c->env, .args = &operand, .count = 1};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

bool bit_not_refused(struct compiler *c, struct node *operand)
{
	static const struct guard guards[] = {
		{LIMIT_BIT_OPERATIONS_ON_BINARY_STRINGS, bit_not_of_binary_string},
	};
	struct guarded g = {.env = c->env, .args = &operand, .count = 1};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* MySQL may report another error of the statement instead. */
bool negative_constant_refused(struct compiler *c, const struct eval_outcome *outcome)
{
	return compile_refuses(c, LIMIT_MYSQL_NEGATIVE_OF_CONSTANT_THAT_FAILS,
		outcome->status == EVAL_ERROR);
}

/* ---- values: errors ---- */

bool other_error_refused(struct run *run, bool possible)
{
	return run_reopens(
		run, LIMIT_ONE_OF_SEVERAL_ERRORS_IN_STRICT_MODE, run->strict && possible);
}

bool converted_error_refused(struct run *run, const struct eval_value *v)
{
	return other_error_refused(
		run, v->kind == EVAL_STRING || v->kind == EVAL_DECIMAL || v->kind == EVAL_DOUBLE);
}

/* ---- values: + - * ---- */

/* How many digits of it a text has depends on the text's room. */
bool tiny_double_refused(struct run *run, double d)
{
	return run_refuses(run, LIMIT_NUMBER_ALMOST_ZERO, d != 0 && fabs(d) < __DBL_MIN__);
}

static bool is_beyond_bigint(const struct eval_value *v)
{
	return v->kind == EVAL_DECIMAL && decimal_int_digits(v->dec) > 18;
}

/* A DECIMAL that no BIGINT holds is an error all the same. */
bool null_operand_refused(struct run *run, const struct eval_value *a, const struct eval_value *b)
{
	return run_refuses(run, LIMIT_DECIMAL_BEYOND_BIGINT_WITH_NULL_IN_STRICT_MODE,
		run->strict && (is_beyond_bigint(a) || is_beyond_bigint(b)));
}

bool zero_minus_least_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MYSQL5_0_MINUS_LEAST_BIGINT, true);
}

bool least_product_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MYSQL_PRODUCT_LEAST_BIGINT, true);
}

bool zero_product_refused(struct run *run, const struct node *n)
{
	return run_refuses(run, LIMIT_DECIMALS_OF_PRODUCT_ZERO,
		mariadb_2026(run->env) < 0 && n->nested);
}

bool decimal_difference_refused(struct run *run, const struct node *n, const struct decimal *r)
{
	return run_refuses(
		run, LIMIT_MYSQL_NEGATIVE_DECIMAL_UNSIGNED, r->neg && n->type.is_unsigned);
}

/* ---- values: / DIV % ---- */

/* Without the words of nine digits after the point that are zero at its end. */
static struct decimal without_zeros(const struct decimal *d)
{
	struct decimal best = *d, cut;

	for (uint32_t scale = (d->scale + 8u) / 9 * 9; scale >= 9; scale -= 9) {
		if (!decimal_round(d, scale - 9, DECIMAL_TRUNCATE, &cut) || decimal_compare(&cut, d) != 0)
			break;
		best = cut;
	}
	return best;
}

/* MariaDB before 2026: a product ends where its digits do, and the quotient by it has fewer. */
static bool lost_zeros(const struct node *n, const struct run *run, const struct decimal *x,
	const struct decimal *y, const struct decimal *r)
{
	struct decimal a = *x, b = *y, other;

	if (!n->nested || run->env->flavour != SQL_MARIADB || mariadb_2026(run->env) == 1)
		return false;
	if (n->args[0]->arg_count)
		a = without_zeros(x);
	if (n->args[1]->arg_count)
		b = without_zeros(y);
	return (a.scale != x->scale || b.scale != y->scale) &&
	       (!decimal_div(&a, &b, quotient_scale(&a, &b, run->env->div_precision_increment), &other) ||
		       decimal_compare(&other, r) != 0);
}

/* As an integer (LEFT(s, a / b)) MySQL 9.7 rounds it from all digits at once. */
static bool rounds_to_other_integer(
	const struct node *n, const struct run *run, const struct decimal *r)
{
	struct decimal all, cut;

	return n->nested && mysql_has(run->env, MYSQL_QUOTIENT_ROUNDED) == 1 &&
	       decimal_round(r, n->type.decimals, DECIMAL_HALF_UP, &cut) &&
	       decimal_round(r, 0, DECIMAL_HALF_UP, &all) &&
	       decimal_round(&cut, 0, DECIMAL_HALF_UP, &cut) && decimal_compare(&all, &cut) != 0;
}

bool exact_quotient_refused(struct run *run, const struct node *n, const struct decimal *x,
	const struct decimal *y, const struct decimal *r)
{
	return run_refuses(run, LIMIT_QUOTIENT_OF_PRODUCTS_USED_FURTHER, lost_zeros(n, run, x, y, r)) ||
	       run_refuses(run, LIMIT_MYSQL_QUOTIENT_JUST_BELOW_HALF,
		       rounds_to_other_integer(n, run, r));
}

bool quotient_refused(struct run *run, const struct node *n, const struct decimal *x,
	const struct decimal *y, const struct decimal *r)
{
	bool vanished = x->count && !r->count;

	return /* Printed and compared as -0. */
		run_refuses(run, LIMIT_NEGATIVE_DECIMAL_QUOTIENT_ZERO, vanished && x->neg != y->neg) ||
		/* It has no decimals then, or those of a quotient: as a text that shows. */
		run_refuses(run, LIMIT_MYSQL_QUOTIENT_ALMOST_ZERO_USED_FURTHER, vanished && n->nested);
}

/* MariaDB prints -0.0, which is no value here. */
bool remainder_refused(struct run *run, const struct decimal *x, const struct decimal *r)
{
	return run_refuses(run, LIMIT_NEGATIVE_DECIMAL_MODULO_ZERO, x->neg && !r->count);
}

bool div_operands_refused(struct run *run, const struct node *n, const struct eval_value *a,
	const struct eval_value *b)
{
	return /* An error, or not. */
		run_refuses(run, LIMIT_DOUBLE_BEYOND_DECIMAL,
			run->strict && b->kind == EVAL_NULL && a->kind == EVAL_DOUBLE &&
				fabs(a->d) > 1e60) ||
		/* 0x03 is unsigned to some releases. */
		run_refuses(run, LIMIT_NEGATIVE_NUMBER_DIV_HEXADECIMAL_LITERAL,
			b->kind != EVAL_NULL && n->args[1]->type.hybrid && a->kind == EVAL_INT &&
				a->i < 0);
}

static bool is_large_double(const struct eval_value *v)
{
	return v->kind == EVAL_DOUBLE && fabs(v->d) > 9e18;
}

bool div_of_decimals_refused(struct run *run, const struct node *n, const struct eval_value *a,
	const struct eval_value *b, const struct decimal *x, const struct decimal *y,
	const struct decimal *r)
{
	bool large = decimal_int_digits(r) > 18;
	bool real = a->kind == EVAL_DOUBLE || b->kind == EVAL_DOUBLE;

	return run_refuses(run, LIMIT_NEGATIVE_DECIMAL_QUOTIENT_ZERO,
			!r->count && x->count && x->neg != y->neg) ||
		/* A DOUBLE beyond BIGINT wraps around in some releases. */
		run_refuses(run, LIMIT_DIV_OF_DOUBLES_BEYOND_BIGINT,
			is_large_double(a) || is_large_double(b) || (real && large)) ||
		/* LEAST(DECIMAL UNSIGNED) is unsigned to some releases. */
		run_refuses(run, LIMIT_DIV_OF_LEAST_OR_GREATEST_BEYOND_BIGINT,
			n->args[0]->type.not_int && large);
}

bool div_overflow_refused(struct run *run)
{
	return run_refuses(run, LIMIT_DIV_BEYOND_BIGINT_IN_STRICT_MODE, run->strict);
}

/* 1292 or 1366, of the one or the other. */
bool div_error_refused(struct run *run)
{
	return run_reopens(run, LIMIT_MYSQL_ERROR_IN_OPERAND_OF_DIV_IN_STRICT_MODE, run->strict);
}

bool div_of_integers_refused(
	struct run *run, const struct node *n, const struct eval_value *a, bool negative)
{
	bool hybrid = n->args[0]->type.hybrid || n->args[1]->type.hybrid;

	return run_refuses(run, LIMIT_MYSQL_LEAST_BIGINT_DIV_ANOTHER,
		       a->kind == EVAL_INT && a->i == INT64_MIN) ||
	       /* Error 1916 then, and not 1690. */
	       run_refuses(run, LIMIT_DIV_BEYOND_BIGINT_IN_STRICT_MODE,
		       run->strict && n->type.is_unsigned && negative && hybrid);
}

/* ---- values: bits ---- */

/* 1292 or 1366. */
bool text_as_bits_refused(struct run *run)
{
	return run_refuses(run, LIMIT_MYSQL_STRING_IN_BIT_OPERATION_IN_STRICT_MODE, run->strict);
}

bool as_bits_refused(struct run *run, const struct eval_type *type, const struct eval_value *v,
	const struct decimal *d, uint64_t bits, bool overflow)
{
	bool large = v->kind == EVAL_DOUBLE && fabs(v->d) > 0x1p53;
	bool fraction = v->kind == EVAL_DECIMAL ? d->scale > type->decimals : d->scale > 0;

	return run_refuses(run, LIMIT_MYSQL_INEXACT_NUMBER_IN_BIT_OPERATION,
		       v->kind == EVAL_STRING || fraction || large || bits > INT64_MAX) ||
	       run_refuses(run, LIMIT_LARGE_NUMBER_IN_BIT_OPERATION, overflow || large);
}

bool bits_beside_null_refused(struct run *run, const struct eval_value *a)
{
	return run_refuses(run, LIMIT_MYSQL_BIT_OPERATION_WITH_NULL_IN_STRICT_MODE,
		run->strict && a->kind != EVAL_INT && a->kind != EVAL_UINT);
}

static bool is_beyond_shift(const struct eval_value *count)
{
	return (count->kind == EVAL_DOUBLE && fabs(count->d) >= 9e18) || is_beyond_bigint(count);
}

bool shift_operand_refused(struct run *run, const struct eval_value *by)
{
	return run_refuses(run, LIMIT_LARGE_NUMBER_IN_BIT_OPERATION, is_beyond_shift(by)) ||
	       (by->kind == EVAL_STRING && text_as_bits_refused(run));
}

bool shift_refused(struct run *run, const struct eval_value *by, const struct eval_value *count)
{
	return run_refuses(run, LIMIT_LARGE_NUMBER_IN_BIT_OPERATION,
		       by->kind == EVAL_STRING && count->kind == EVAL_UINT && count->u > INT64_MAX) ||
	       run_refuses(run, LIMIT_MYSQL5_LARGE_SHIFT, count->u > UINT32_MAX);
}

/* ---- values: -x ---- */

bool negative_double_refused(struct run *run, const struct node *n, const struct eval_value *v, double d)
{
	return run_refuses(run, LIMIT_NEGATIVE_OF_STRING_ZERO,
		d == 0 && n->type.decimals < EVAL_NOT_FIXED && v->kind == EVAL_STRING);
}

/* A DECIMAL where the servers find that it is a constant. */
bool negative_integer_refused(struct run *run, const struct node *arg, const struct eval_value *v)
{
	bool mysql = run->env->flavour == SQL_MYSQL;
	bool no_negative = v->kind == EVAL_UINT ? v->u > INT64_MAX
						: v->i == INT64_MIN || (mysql && v->i < 0);

	return run_refuses(run, LIMIT_NEGATIVE_OF_SUBQUERY_NEGATIVE_OR_BEYOND_BIGINT,
		no_negative && !arg->constant && may_be_constant(arg));
}
