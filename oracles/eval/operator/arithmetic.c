/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The manual, "Arithmetic Operators" and "Bit Functions and Operators". */
#include "eval/operator/arithmetic.h"

#include <math.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"
#include "server/errors.h"

struct eval_value division_by_zero(struct run *run)
{
	const struct eval_env *env = run->env;

	if (run->strict && (env->mode & EVAL_MODE_ERROR_FOR_DIVISION_BY_ZERO))
		return run_error(run, ER_DIVISION_BY_ZERO, "division by zero");
	return EVAL_NULL_VALUE;
}

struct eval_value check_integer(struct run *run, wide value, bool is_unsigned)
{
	if (is_unsigned) {
		if (value < 0 || value > (wide)UINT64_MAX)
			return run_error(run, ER_DATA_OUT_OF_RANGE, "BIGINT UNSIGNED value is out of range");
		return eval_uint((uint64_t)value);
	}
	if (value < INT64_MIN || value > INT64_MAX)
		return run_error(run, ER_DATA_OUT_OF_RANGE, "BIGINT value is out of range");
	return eval_int((int64_t)value);
}

struct eval_value check_double(struct run *run, double d)
{
	if (!isfinite(d))
		return run_error(run, ER_DATA_OUT_OF_RANGE, "DOUBLE value is out of range");
	if (tiny_double_refused(run, d))
		return EVAL_NULL_VALUE;
	return eval_double(d);
}

static wide wide_of(const struct eval_value *v)
{
	return v->kind == EVAL_UINT ? (wide)v->u : (wide)v->i;
}

struct eval_type arithmetic_type(const struct eval_type *type)
{
	struct eval_type t = type_int(false);

	switch ((enum eval_type_kind)type->kind) {
	case EVAL_T_INT:
		t = *type;
		t.zerofill = t.merged = false;
		return t;
	case EVAL_T_BIT:
	case EVAL_T_YEAR:
		t.is_unsigned = true;
		t.length = type_int_digits(type);
		return t;
	case EVAL_T_DECIMAL:
		t = *type;
		t.own_scale = t.merged = t.not_int = false;
		return t;
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE:
		t = type_double();
		t.decimals = type->decimals;
		return t;
	case EVAL_T_STRING:
		if (type->hybrid) {
			t.is_unsigned = true;
			return t;
		}
		t = type_double();
		t.decimals = type->decimals;
		return t;
	case EVAL_T_ENUM:
	case EVAL_T_SET:
		return t; /* by number */
	case EVAL_T_JSON:
		return type_double();
	case EVAL_T_NULL:
		t = type_double();
		t.decimals = 0;
		return t;
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		if (type->decimals && type->kind != EVAL_T_DATE)
			return type_decimal(type_precision(type), type->decimals);
		t.length = type_int_digits(type);
		return t;
	}
	return t;
}

/* ---- + - * ---- */

static struct eval_value null_beside(struct run *run, const struct eval_value *a, const struct eval_value *b)
{
	null_operand_refused(run, a, b);
	return EVAL_NULL_VALUE;
}

static struct eval_value run_int(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b = node_run(n->args[1], f);
	wide x, y, r;

	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL)
		return null_beside(f->run, &a, &b);
	a = to_integer(f->run, &n->args[0]->type, &a);
	b = to_integer(f->run, &n->args[1]->type, &b);
	x = wide_of(&a);
	y = wide_of(&b);
	switch (n->op) {
	case SQL_OP_ADD:
		r = x + y;
		break;
	case SQL_OP_SUB:
		r = x - y;
		if (x == 0 && y == INT64_MIN && zero_minus_least_refused(f->run))
			return EVAL_NULL_VALUE;
		/* MariaDB overlooks this overflow. */
		if (x == 0 && y == INT64_MIN && !n->type.is_unsigned &&
			f->run->env->flavour == SQL_MARIADB)
			return eval_int(INT64_MIN);
		break;
	default:
		r = x * y; /* |x|, |y| < 2^64: may exceed 127 bits only for two huge unsigned */
		if (x > INT64_MAX && y > INT64_MAX)
			return run_error(f->run, ER_DATA_OUT_OF_RANGE, "BIGINT UNSIGNED value is out of range");
		break;
	}
	if (n->op == SQL_OP_MUL && r == INT64_MIN && least_product_refused(f->run))
		return EVAL_NULL_VALUE;
	return check_integer(f->run, r, n->type.is_unsigned);
}

static struct eval_value run_real(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b;
	/* Both are converted, one after the other, for their errors. */
	double x = to_double(f->run, &n->args[0]->type, &a), y;

	b = node_run(n->args[1], f);
	y = to_double(f->run, &n->args[1]->type, &b);

	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	switch (n->op) {
	case SQL_OP_ADD:
		return check_double(f->run, x + y);
	case SQL_OP_SUB:
		return check_double(f->run, x - y);
	case SQL_OP_MUL:
		return check_double(f->run, x * y);
	case SQL_OP_DIV:
		return y == 0 ? division_by_zero(f->run) : check_double(f->run, x / y);
	default:
		return y == 0 ? division_by_zero(f->run) : eval_double(fmod(x, y));
	}
}

/* The quotient has as many whole words of nine digits after the point as the operands' words and
 * the increment need (the servers' decimal_div); a later operation sees them all. */
uint32_t quotient_scale(const struct decimal *a, const struct decimal *b, uint32_t more)
{
	uint32_t fa = (a->scale + 8u) / 9 * 9, fb = (b->scale + 8u) / 9 * 9;
	uint32_t grown = fa - a->scale + fb - b->scale;

	more = more > grown ? more - grown : 0;
	return (fa + fb + more + 8) / 9 * 9;
}

static uint32_t product_words(const struct decimal *a, const struct decimal *b)
{
	uint32_t whole = (decimal_int_digits(a) + 8) / 9, other = (decimal_int_digits(b) + 8) / 9;

	/* The zero of 0.5 may count. */
	return (whole ? whole : 1) + (other ? other : 1) + (a->scale + 8u) / 9 + (b->scale + 8u) / 9;
}

/* A zero that was computed has no decimals, which shows in the digits of a later quotient: as difference
 * and quotient everywhere, as product and remainder in some releases. */
static void computed_zero(const struct node *n, struct run *run, const struct decimal *x,
	const struct decimal *y, struct decimal *r)
{
	bool mysql = run->env->flavour == SQL_MYSQL;

	switch (n->op) {
	case SQL_OP_ADD:
	case SQL_OP_SUB:
		if ((x->neg != y->neg) == (n->op == SQL_OP_ADD))
			r->scale = 0;
		return;
	case SQL_OP_MUL:
		if (mariadb_2026(run->env) == 0 || x->neg != y->neg)
			r->scale = 0;
		else
			zero_product_refused(run, n);
		return;
	case SQL_OP_MOD:
		if (mysql || !x->count)
			r->scale = 0;
		return;
	default:
		if (!x->count)
			r->scale = 0;
	}
}

static bool leads(const struct decimal *d)
{
	return d->led || decimal_int_digits(d) > 18;
}

bool round_as_typed(struct run *run, const struct node *n, struct decimal *r)
{
	return run->env->flavour != SQL_MYSQL || !n->nested || !decimal_beyond(&n->type, r) ||
	       !run_mysql_has(run, MYSQL_QUOTIENT_ROUNDED) ||
	       decimal_round(r, n->type.decimals, DECIMAL_HALF_UP, r);
}

static struct eval_value run_decimal(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b;
	struct decimal x, y, r;
	bool good = true;

	if (a.kind == EVAL_NULL) /* the second is not asked for */
		return a;
	b = node_run(n->args[1], f);
	if (b.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	x = to_decimal(f->run, &n->args[0]->type, &a);
	y = to_decimal(f->run, &n->args[1]->type, &b);
	switch (n->op) {
	case SQL_OP_ADD:
		good = decimal_add(&x, &y, &r);
		r.led = r.count && (leads(&x) || leads(&y));
		break;
	case SQL_OP_SUB:
		good = decimal_sub(&x, &y, &r);
		r.led = r.count && (leads(&x) || leads(&y));
		if (good && decimal_difference_refused(f->run, n, &r))
			return EVAL_NULL_VALUE;
		break;
	case SQL_OP_MUL:
		/* Nine words of nine digits; where they are too few the servers cut decimals. */
		good = product_words(&x, &y) <= 9 && decimal_mul(&x, &y, &r);
		/* The servers keep no more than the largest scale of a product. */
		if (good && r.scale > decimal_scale_max(f->run->env))
			good = false;
		break;
	case SQL_OP_DIV:
		if (!y.count)
			return division_by_zero(f->run);
		good = decimal_div(
			&x, &y, quotient_scale(&x, &y, f->run->env->div_precision_increment), &r);
		if (good && exact_quotient_refused(f->run, n, &x, &y, &r))
			return EVAL_NULL_VALUE;
		if (good && mysql_has(f->run->env, MYSQL_QUOTIENT_ROUNDED) == 1)
			good = decimal_round(&r, n->type.decimals, DECIMAL_HALF_UP, &r);
		if (good && quotient_refused(f->run, n, &x, &y, &r))
			return EVAL_NULL_VALUE;
		break;
	default:
		if (!y.count)
			return division_by_zero(f->run);
		good = decimal_mod(&x, &y, &r);
		if (good && remainder_refused(f->run, &x, &r))
			return EVAL_NULL_VALUE;
		break;
	}
	if (!good || !round_as_typed(f->run, n, &r))
		return run_gives_up(f->run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
	if (!r.count)
		computed_zero(n, f->run, &x, &y, &r);
	return make_decimal(f->run, &r);
}

static struct eval_value run_int_mod(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b = node_run(n->args[1], f);
	wide y;

	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL)
		return null_beside(f->run, &a, &b);
	a = to_integer(f->run, &n->args[0]->type, &a);
	b = to_integer(f->run, &n->args[1]->type, &b);
	y = wide_of(&b);
	if (y == 0)
		return division_by_zero(f->run);
	return check_integer(f->run, wide_of(&a) % y, n->type.is_unsigned);
}

static struct eval_value integer_of_quotient(
	struct run *run, const struct decimal *quotient, bool is_unsigned)
{
	bool overflow;
	struct eval_value v = is_unsigned ? eval_uint(decimal_to_uint(quotient, &overflow))
					  : eval_int(decimal_to_int(quotient, &overflow));

	if (!overflow)
		return v;
	if (div_overflow_refused(run))
		return EVAL_NULL_VALUE;
	return run_error(
		run, ER_DATA_OUT_OF_RANGE, is_unsigned ? "BIGINT UNSIGNED out of range" : "BIGINT out of range");
}

static struct eval_value divide_decimals(
	const struct node *n, struct run *run, const struct eval_value *a, const struct eval_value *b)
{
	struct decimal x = to_decimal(run, &n->args[0]->type, a);
	struct decimal y = to_decimal(run, &n->args[1]->type, b), r;

	if (div_error_refused(run) || run->failed)
		return EVAL_NULL_VALUE;
	if (!y.count)
		return division_by_zero(run);
	if (!decimal_div(&x, &y, 0, &r))
		return run_gives_up(run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
	if (div_of_decimals_refused(run, n, a, b, &x, &y, &r))
		return EVAL_NULL_VALUE;
	return integer_of_quotient(run, &r, n->type.is_unsigned);
}

static struct eval_value divide_integers(
	const struct node *n, struct run *run, struct eval_value a, struct eval_value b)
{
	a = to_integer(run, &n->args[0]->type, &a);
	b = to_integer(run, &n->args[1]->type, &b);
	if (wide_of(&b) == 0)
		return division_by_zero(run);
	if (div_of_integers_refused(run, n, &a, wide_of(&a) / wide_of(&b) < 0))
		return EVAL_NULL_VALUE;
	return check_integer(run, wide_of(&a) / wide_of(&b), n->type.is_unsigned);
}

/* aux: not two integers. */
static struct eval_value run_int_div(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b;

	if (a.kind == EVAL_NULL && n->aux)
		return a;
	b = node_run(n->args[1], f);
	if (div_operands_refused(f->run, n, &a, &b))
		return EVAL_NULL_VALUE;
	if (b.kind == EVAL_NULL && n->aux && f->run->strict)
		(void)to_decimal(f->run, &n->args[0]->type, &a); /* for its errors */
	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	return n->aux ? divide_decimals(n, f->run, &a, &b) : divide_integers(n, f->run, a, b);
}

/* ---- bits ---- */

uint64_t bits_of(struct run *run, const struct eval_type *type, const struct eval_value *v)
{
	bool text = v->kind == EVAL_STRING && !type->hybrid && type->kind != EVAL_T_ENUM &&
		    type->kind != EVAL_T_SET;
	struct eval_value i;

	/* MariaDB goes through DECIMAL, which rounds halves away from zero. */
	if (v->kind == EVAL_DECIMAL || v->kind == EVAL_DOUBLE || text || v->kind >= EVAL_DATE) {
		if (text && text_as_bits_refused(run))
			return 0;
		struct decimal d = to_decimal(run, type, v);
		bool overflow;
		uint64_t u = d.neg ? (uint64_t)decimal_to_int(&d, &overflow)
				   : decimal_to_uint(&d, &overflow);

		as_bits_refused(run, type, v, &d, u, overflow);
		return u;
	}
	i = to_integer(run, type, v);
	return i.kind == EVAL_UINT ? i.u : (uint64_t)i.i;
}

/* Operands are converted for their errors alone, where the other one is NULL. */
static void convert_for_errors(
	const struct node *n, struct run *run, const struct eval_value *a, const struct eval_value *b)
{
	bool mariadb = run->env->flavour == SQL_MARIADB;

	if (a->kind == EVAL_NULL && b->kind != EVAL_NULL && n->op != SQL_OP_BIT_XOR)
		(void)to_integer(run, &n->args[1]->type, b);
	if (mariadb && run->strict && a->kind == EVAL_NULL && b->kind != EVAL_NULL &&
		n->op == SQL_OP_BIT_XOR)
		(void)bits_of(run, &n->args[1]->type, b);
	if (mariadb && run->strict && b->kind == EVAL_NULL && a->kind != EVAL_NULL)
		(void)bits_of(run, &n->args[0]->type, a);
	if (mariadb || b->kind != EVAL_NULL || bits_beside_null_refused(run, a))
		return;
	if (a->kind == EVAL_DOUBLE)
		(void)bits_of(run, &n->args[0]->type, a);
}

static struct eval_value shift(
	const struct node *n, struct run *run, uint64_t x, const struct eval_value *by)
{
	struct eval_value count;
	uint64_t y;

	if (shift_operand_refused(run, by))
		return EVAL_NULL_VALUE;
	count = to_integer(run, &n->args[1]->type, by);
	if (shift_refused(run, by, &count))
		return EVAL_NULL_VALUE;
	/* MariaDB uses the low 32 bits. */
	y = run->env->flavour == SQL_MARIADB ? (uint32_t)count.u : count.u;
	if (y >= 64)
		return eval_uint(0);
	return eval_uint(n->op == SQL_OP_SHIFT_LEFT ? x << y : x >> y);
}

static struct eval_value run_bit_not(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f);

	if (a.kind == EVAL_NULL)
		return a;
	if (converted_error_refused(f->run, &a))
		return EVAL_NULL_VALUE;
	return eval_uint(~bits_of(f->run, &n->args[0]->type, &a));
}

static struct eval_value run_bits(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b;
	struct run *run = f->run;
	uint64_t x, y;

	if (a.kind == EVAL_NULL &&
		(n->op == SQL_OP_BIT_AND || n->op == SQL_OP_BIT_OR || run->env->flavour == SQL_MYSQL))
		return a; /* the second is not asked for */
	/* The second may be asked first. */
	if (other_error_refused(run, n->args[1]->arg_count || !type_is_int(&n->args[1]->type)))
		return EVAL_NULL_VALUE;
	b = node_run(n->args[1], f);
	if (converted_error_refused(run, &a))
		return EVAL_NULL_VALUE;
	convert_for_errors(n, run, &a, &b);
	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	x = bits_of(run, &n->args[0]->type, &a);
	if (other_error_refused(run, b.kind != EVAL_INT && b.kind != EVAL_UINT))
		return EVAL_NULL_VALUE;
	if (n->op == SQL_OP_SHIFT_LEFT || n->op == SQL_OP_SHIFT_RIGHT)
		return shift(n, run, x, &b);
	y = bits_of(run, &n->args[1]->type, &b);
	return eval_uint(n->op == SQL_OP_BIT_OR ? x | y : n->op == SQL_OP_BIT_AND ? x & y : x ^ y);
}

/* ---- types ---- */

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static struct eval_type real_result(const struct eval_env *env, enum sql_op op,
	const struct eval_type *a, const struct eval_type *b)
{
	struct eval_type t = type_double();
	uint32_t da = a->kind == EVAL_T_INT ? 0 : a->decimals;
	uint32_t db = b->kind == EVAL_T_INT ? 0 : b->decimals, d = max_u32(da, db);

	/* A number of decimals that all operands have stays one. */
	if (op == SQL_OP_DIV)
		d += env->div_precision_increment;
	t.decimals = (uint8_t)min_u32(d, EVAL_NOT_FIXED);
	return t;
}

static struct eval_type decimal_result(const struct eval_env *env, enum sql_op op,
	const struct eval_type *a, const struct eval_type *b)
{
	uint32_t most = decimal_scale_max(env), scale, whole;
	struct eval_type t;
	uint32_t sa = a->kind == EVAL_T_DECIMAL ? a->decimals : 0;
	uint32_t sb = b->kind == EVAL_T_DECIMAL ? b->decimals : 0;

	switch (op) {
	case SQL_OP_ADD:
	case SQL_OP_SUB:
		scale = max_u32(sa, sb);
		whole = max_u32(type_int_digits(a), type_int_digits(b)) + 1;
		break;
	case SQL_OP_MUL:
		scale = min_u32(sa + sb, most);
		whole = type_int_digits(a) + type_int_digits(b);
		break;
	case SQL_OP_DIV:
		scale = min_u32(sa + env->div_precision_increment, most);
		whole = type_int_digits(a) + sb;
		break;
	default:
		scale = max_u32(sa, sb);
		whole = max_u32(type_int_digits(a), type_int_digits(b));
		break;
	}
	t = type_decimal(whole + scale, scale);
	t.is_unsigned = a->is_unsigned && (b->is_unsigned || op == SQL_OP_MOD);
	return t;
}

bool is_unsigned_text(const struct eval_env *env, const struct node *n)
{
	return env->flavour == SQL_MARIADB && n->expr && n->expr->kind == SQL_EXPR_LITERAL &&
	       n->expr->u.literal.kind == SQL_LIT_HEX && arithmetic_type(&n->type).kind == EVAL_T_DOUBLE;
}

/* DIV; its type is an integer, whatever the operands are. */
static void integer_quotient(struct node *n, const struct eval_type *a, const struct eval_type *b)
{
	const struct eval_type *l = &n->args[0]->type, *r = &n->args[1]->type;
	bool ints = a->kind == EVAL_T_INT && b->kind == EVAL_T_INT;

	n->fn = run_int_div;
	n->aux = !ints || type_is_temporal(l) || type_is_temporal(r);
	n->type = type_int(a->is_unsigned || b->is_unsigned || l->is_unsigned || r->is_unsigned);
}

static void real_operation(const struct eval_env *env, struct node *n, const struct eval_type *a,
	const struct eval_type *b)
{
	bool timestamp = env->flavour == SQL_MARIADB && n->args[0]->type.kind == EVAL_T_TIMESTAMP;

	n->fn = run_real;
	n->type = real_result(env, (enum sql_op)n->op, a, b);
	/* DIV needs to know it.  To MariaDB a TIMESTAMP is unsigned. */
	n->type.is_unsigned = n->op == SQL_OP_MOD && (a->is_unsigned || timestamp);
}

static void integer_operation(const struct eval_env *env, struct node *n,
	const struct eval_type *a, const struct eval_type *b)
{
	uint32_t digits = n->op == SQL_OP_MUL ? type_int_digits(a) + type_int_digits(b)
					      : max_u32(type_int_digits(a), type_int_digits(b)) +
							(n->op != SQL_OP_MOD);

	n->fn = n->op == SQL_OP_MOD ? run_int_mod : run_int;
	n->type = type_int(a->is_unsigned || (b->is_unsigned && n->op != SQL_OP_MOD));
	if (n->op == SQL_OP_SUB && (env->mode & EVAL_MODE_NO_UNSIGNED_SUBTRACTION))
		n->type.is_unsigned = false;
	n->type.length = min_u32(digits, 20);
}

/* To MariaDB all that has a date in it and no fraction is a signed BIGINT. */
static bool is_date_operation(const struct eval_env *env, const struct node *n,
	const struct eval_type *a, const struct eval_type *b)
{
	return env->flavour == SQL_MARIADB && n->op != SQL_OP_DIV &&
	       (type_is_temporal(&n->args[0]->type) || type_is_temporal(&n->args[1]->type)) &&
	       decimal_result(env, (enum sql_op)n->op, a, b).decimals == 0;
}

static void decimal_operation(const struct eval_env *env, struct node *n,
	const struct eval_type *a, const struct eval_type *b)
{
	const struct eval_type *l = &n->args[0]->type, *r = &n->args[1]->type;
	bool divides = n->op == SQL_OP_DIV;

	n->fn = run_decimal;
	n->type = decimal_result(env, (enum sql_op)n->op, a, b);
	/* 8.0 and MariaDB divide by what is smaller than the smallest number of the divisor's type. */
	n->type.quotient = divides || l->quotient || r->quotient;
	n->type.roomless = l->roomless || r->roomless || (divides && r->quotient && !n->args[1]->column);
	/* MySQL prints the result with the scale of the inner expression. */
	if (env->flavour == SQL_MYSQL && ((l->kind == EVAL_T_DECIMAL && l->merged) ||
						 (r->kind == EVAL_T_DECIMAL && r->merged)))
		n->type.merged = true;
}

static bool is_bit_operation(enum sql_op op)
{
	return op == SQL_OP_BIT_OR || op == SQL_OP_BIT_AND || op == SQL_OP_BIT_XOR ||
	       op == SQL_OP_SHIFT_LEFT || op == SQL_OP_SHIFT_RIGHT;
}

struct node *compile_arithmetic(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r)
{
	struct node *n = node_new(c, run_bits, e, 2);
	struct eval_type a = arithmetic_type(&l->type), b = arithmetic_type(&r->type);

	n->args[0] = l;
	n->args[1] = r;
	n->op = (uint8_t)op;
	n->type = type_int(true);
	if (arithmetic_refused(c, op, n->args))
		return NULL;
	if (is_bit_operation(op))
		return n;
	if (op == SQL_OP_INT_DIV) {
		integer_quotient(n, &a, &b);
	} else if (a.kind == EVAL_T_DOUBLE || b.kind == EVAL_T_DOUBLE) {
		real_operation(c->env, n, &a, &b);
	} else if (is_date_operation(c->env, n, &a, &b)) {
		n->fn = op == SQL_OP_MOD ? run_int_mod : run_int;
		n->type = type_int(op == SQL_OP_MOD && a.is_unsigned);
	} else if (a.kind == EVAL_T_INT && b.kind == EVAL_T_INT && op != SQL_OP_DIV) {
		integer_operation(c->env, n, &a, &b);
	} else {
		decimal_operation(c->env, n, &a, &b);
	}
	return n;
}

/* ---- unary ---- */

static struct eval_value run_negate(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct decimal d;
	double d0;

	if (v.kind == EVAL_NULL)
		return v;
	switch (n->type.kind) {
	case EVAL_T_DOUBLE:
		d0 = to_double(f->run, &n->args[0]->type, &v);
		if (negative_double_refused(f->run, n, &v, d0))
			return EVAL_NULL_VALUE;
		return eval_double(-d0);
	case EVAL_T_DECIMAL:
		d = to_decimal(f->run, &n->args[0]->type, &v);
		d.neg = d.count && !d.neg;
		if (!round_as_typed(f->run, n, &d))
			return run_gives_up(f->run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
		return make_decimal(f->run, &d);
	default:
		v = to_integer(f->run, &n->args[0]->type, &v);
		if (negative_integer_refused(f->run, n->args[0], &v))
			return EVAL_NULL_VALUE;
		return check_integer(f->run, -wide_of(&v), false);
	}
}

void type_at_least_int(const struct compiler *c, struct eval_type *type)
{
	if (c->env->flavour != SQL_MARIADB || type->kind != EVAL_T_INT || type->bytes >= 4)
		return;
	type->length = type_int_digits(type);
	type->bytes = 8;
}

bool node_is_negative(const struct node *n)
{
	return n->fn == run_negate;
}

/* Has the constant no negative in BIGINT?  MySQL counts more constants among them. */
static bool negative_is_decimal(
	const struct eval_env *env, const struct node *constant, const struct eval_value *v)
{
	uint64_t least = (uint64_t)INT64_MAX + 1;

	if (v->kind == EVAL_UINT)
		return v->u > least || (v->u == least && !constant->literal);
	if (v->kind != EVAL_INT)
		return false;
	return v->i == INT64_MIN || (v->i < 0 && (!constant->literal || env->flavour == SQL_MYSQL));
}

/* The servers compute the constant when they prepare the statement. */
static bool negate_constant(struct compiler *c, struct node *n)
{
	const struct node *arg = n->args[0];
	struct eval_outcome outcome = {0};
	struct run run = {.env = c->env, .arena = c->arena, .outcome = &outcome};
	struct frame f = {.run = &run};
	struct eval_value v = node_run(arg, &f);

	if (run.failed) {
		if (!negative_constant_refused(c, &outcome))
			compile_passes_on(c, &outcome);
		return false;
	}
	if (v.kind == EVAL_NULL)
		return true;
	v = to_integer(&run, &arg->type, &v);
	if (negative_is_decimal(c->env, arg, &v))
		n->type = type_decimal(
			c->env->flavour == SQL_MYSQL ? type_int_digits(&arg->type) : 20, 0);
	return true;
}

struct node *compile_negate(struct compiler *c, const struct sql_expr *e, struct node *arg)
{
	struct node *n = node_new(c, run_negate, e, 1);

	if (negative_refused(c, arg))
		return NULL;
	n->args[0] = arg;
	n->type = arithmetic_type(&arg->type);
	type_at_least_int(c, &n->type);
	if (type_is_temporal(&arg->type))
		n->type = type_decimal(type_precision(&arg->type),
			n->type.kind == EVAL_T_DECIMAL ? n->type.decimals : 0);
	n->literal = arg->literal;
	n->constant = arg->constant;
	if (n->type.kind == EVAL_T_INT && arg->constant && !negate_constant(c, n))
		return NULL;
	n->type.is_unsigned = false;
	if (c->env->flavour == SQL_MYSQL && n->type.kind == EVAL_T_DECIMAL && arg->type.merged)
		n->type.merged = true; /* printed with the scale of the inner expression */
	return n;
}

struct node *compile_bit_not(struct compiler *c, const struct sql_expr *e, struct node *arg)
{
	struct node *n = node_new(c, run_bit_not, e, 1);

	if (bit_not_refused(c, arg))
		return NULL;
	n->args[0] = arg;
	n->op = SQL_OP_BIT_NOT;
	n->type = type_int(true);
	return n;
}
