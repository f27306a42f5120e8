/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numeric functions.  What rests on the C library's approximations (EXP, LN, SIN, POW ...) is not
 * here: two libraries may differ in the last digit.
 */
#include <math.h>
#include <stdlib.h>

#include "eval/compile.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/arithmetic.h"
#include "server/errors.h"

/* ---- ABS, SIGN, CEILING, FLOOR ---- */

static struct eval_value run_abs(const struct node *n, struct frame *f)
{
	const struct eval_type *t = &n->args[0]->type;
	struct eval_value v = node_run(n->args[0], f);
	struct decimal d;

	if (v.kind == EVAL_NULL)
		return v;
	switch (n->type.kind) {
	case EVAL_T_DOUBLE:
		return eval_double(fabs(to_double(f->run, t, &v)));
	case EVAL_T_DECIMAL:
		d = to_decimal(f->run, t, &v);
		d.neg = false;
		if (!round_as_typed(f->run, n, &d))
			return run_gives_up(f->run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
		return make_decimal(f->run, &d);
	default:
		v = to_integer(f->run, t, &v);
		if (v.kind == EVAL_UINT)
			return v;
		return check_integer(f->run, v.i < 0 ? -(wide)v.i : (wide)v.i, n->type.is_unsigned);
	}
}

/* MySQL: of a TINYINT a BIGINT, which with a signed number makes a DECIMAL. */
static void make_wide(const struct compiler *c, struct eval_type *type)
{
	if (c->env->flavour == SQL_MYSQL && type->kind == EVAL_T_INT)
		type->bytes = 8;
}

static struct node *compile_abs(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (abs_refused(c, n->args[0]))
		return NULL;
	n->type = arithmetic_type(&n->args[0]->type);
	/* MySQL prints the result with the scale of the inner expression. */
	n->type.merged = c->env->flavour == SQL_MYSQL && n->type.kind == EVAL_T_DECIMAL &&
			 n->args[0]->type.merged;
	if (type_is_temporal(&n->args[0]->type) && n->type.kind == EVAL_T_INT &&
		c->env->flavour == SQL_MARIADB)
		n->type = type_decimal(type_precision(&n->args[0]->type), 0);
	type_at_least_int(c, &n->type);
	make_wide(c, &n->type);
	return n;
}

static struct eval_value run_sign(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	double d;

	if (v.kind == EVAL_NULL)
		return v;
	if (v.kind == EVAL_DECIMAL)
		return eval_int(v.dec->count ? (v.dec->neg ? -1 : 1) : 0);
	d = to_double(f->run, &n->args[0]->type, &v);
	return eval_int((d > 0) - (d < 0));
}

static struct node *compile_int(struct compiler *c, struct node *n, const struct function *function)
{
	(void)c;
	(void)function;
	n->type = type_int(false);
	return n;
}

static struct eval_value run_integral(const struct node *n, struct frame *f)
{
	const struct eval_type *t = &n->args[0]->type;
	struct eval_value v = node_run(n->args[0], f);
	struct decimal d;
	double x;

	if (v.kind == EVAL_NULL)
		return v;
	switch (n->type.kind) {
	case EVAL_T_DOUBLE:
		x = to_double(f->run, t, &v);
		return eval_double(n->op ? floor(x) : ceil(x));
	case EVAL_T_DECIMAL:
		d = to_decimal(f->run, t, &v);
		if (!decimal_round(&d, 0, n->op ? DECIMAL_FLOOR : DECIMAL_CEILING, &d))
			return run_gives_up(f->run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
		return make_decimal(f->run, &d);
	default:
		if (v.kind == EVAL_DECIMAL) {
			if (!decimal_round(v.dec, 0, n->op ? DECIMAL_FLOOR : DECIMAL_CEILING, &d))
				return run_gives_up(f->run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
			v = (struct eval_value){.kind = EVAL_DECIMAL, .dec = &d};
		}
		return to_type(f->run, t, &v, &n->type);
	}
}

static struct node *compile_integral(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (ceiling_refused(c, n->args[0]))
		return NULL;
	n->type = arithmetic_type(&n->args[0]->type);
	if (n->type.kind == EVAL_T_DECIMAL) {
		struct eval_type t = n->type;
		uint32_t digits = type_int_digits(&t) + (t.decimals > 0) + !t.is_unsigned;

		/* An integer where it surely fits. */
		n->type = digits < 20 ? type_int(t.is_unsigned)
				      : type_decimal(type_int_digits(&t) + 1, 0);
		n->type.is_unsigned = t.is_unsigned && c->env->flavour == SQL_MARIADB;
	}
	if (n->type.kind == EVAL_T_DOUBLE)
		n->type.decimals = c->env->flavour == SQL_MARIADB ? 0 : EVAL_NOT_FIXED;
	make_wide(c, &n->type);
	return n;
}

/* ---- ROUND, TRUNCATE ---- */

static struct eval_value round_int(struct run *run, struct eval_value v, int64_t places, bool cut)
{
	wide w = v.kind == EVAL_UINT ? (wide)v.u : (wide)v.i, unit = 1, rest;
	bool is_unsigned = v.kind == EVAL_UINT;

	if (places >= 0)
		return v;
	if (places < -20)
		return is_unsigned ? eval_uint(0) : eval_int(0);
	for (; places < 0; places++)
		unit *= 10;
	rest = w % unit;
	w -= rest;
	if (!cut && (rest < 0 ? -rest : rest) * 2 >= unit)
		w += rest < 0 ? -unit : unit;
	if (is_unsigned ? w > (wide)UINT64_MAX : w > INT64_MAX || w < INT64_MIN)
		return rounded_overflow_refused(run)
			       ? EVAL_NULL_VALUE
			       : run_error(run, ER_DATA_OUT_OF_RANGE, "BIGINT out of range");
	return is_unsigned ? eval_uint((uint64_t)w) : eval_int((int64_t)w);
}

/* As the servers compute it: scaled, rounded to even halves by rint, scaled back. */
static double round_double(double x, int64_t places, bool cut)
{
	double unit, scaled;

	if (places > 400)
		places = 400;
	if (places < -400)
		places = -400;
	unit = pow(10.0, (double)llabs(places));
	if (places < 0 && isinf(unit))
		return 0;
	scaled = places < 0 ? x / unit : x * unit;
	if (places >= 0 && !isfinite(scaled)) /* or 0 times what is too large */
		return x;
	scaled = cut ? (x >= 0 ? floor(scaled) : ceil(scaled)) : rint(scaled);
	return places < 0 ? scaled * unit : scaled / unit;
}

static struct eval_value run_round(const struct node *n, struct frame *f)
{
	const struct eval_type *t = &n->args[0]->type;
	struct eval_value v = node_run(n->args[0], f), p;
	struct decimal d;
	int64_t places = 0;
	bool cut = n->op, bounded = f->run->bounded;
	double x;

	f->run->bounded = false;

	if (v.kind == EVAL_NULL && !(f->run->strict && n->arg_count > 1))
		return v;
	if (n->arg_count > 1) {
		p = node_run(n->args[1], f);
		if (p.kind == EVAL_NULL)
			return p;
		p = to_integer(f->run, &n->args[1]->type, &p);
		places = p.kind == EVAL_UINT && p.u > INT64_MAX ? INT64_MAX : p.i;
	}
	if (v.kind == EVAL_NULL)
		round_error_refused(f->run);
	if (v.kind == EVAL_NULL)
		return v;
	switch (n->type.kind) {
	case EVAL_T_DOUBLE:
		x = round_double(to_double(f->run, t, &v), places, cut);
		if (bounded && variance_refused(f->run, round_double(f->run->low, places, cut) == x &&
							round_double(f->run->high, places, cut) == x))
			return EVAL_NULL_VALUE;
		if (!isfinite(x))
			return run_gives_up(f->run, LIMIT_ROUND_BEYOND_DOUBLE);
		return eval_double(x);
	case EVAL_T_DECIMAL:
		d = to_decimal(f->run, t, &v);
		if (f->run->failed)
			return EVAL_NULL_VALUE;
		if (places > n->type.decimals)
			places = n->type.decimals; /* no more than the largest scale */
		if (places < -100)
			places = -100;
		if (!decimal_round(&d, (int)places, cut ? DECIMAL_TRUNCATE : DECIMAL_HALF_UP, &d))
			return run_gives_up(f->run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
		return make_decimal(f->run, &d);
	default:
		return round_int(f->run, to_type(f->run, t, &v, &n->type), places, cut);
	}
}

/* The digits to round to, a constant.  False: refused. */
static bool round_places(struct compiler *c, struct node *digits, int64_t *places)
{
	struct eval_outcome outcome = {0};
	struct run run = {.env = c->env, .arena = c->arena, .outcome = &outcome};
	struct frame f = {.run = &run};
	struct eval_value p = node_run(digits, &f);

	if (null_digits_refused(c, &p))
		return false;
	p = to_integer(&run, &digits->type, &p);
	if (digits_refused(c, &digits->type, &p))
		return false;
	*places = p.kind == EVAL_UINT && p.u > INT64_MAX ? INT64_MAX : p.i;
	return true;
}

static struct eval_type rounded_decimal(
	const struct eval_env *env, const struct eval_type *t, int64_t places)
{
	bool mariadb = env->flavour == SQL_MARIADB;
	uint32_t most = mariadb ? decimal_scale_max(env) : t->decimals;
	uint32_t scale = places < 0 ? 0 : places < most ? (uint32_t)places : most;
	struct eval_type rounded = type_decimal(type_int_digits(t) + 1 + scale, scale);

	rounded.is_unsigned = t->is_unsigned && mariadb;
	return rounded;
}

static uint8_t double_places(const struct eval_env *env, int64_t places)
{
	if (env->flavour == SQL_MYSQL || places > EVAL_NOT_FIXED)
		return EVAL_NOT_FIXED;
	return places < 0 ? 0 : (uint8_t)places;
}

static struct node *compile_round(
	struct compiler *c, struct node *n, const struct function *function)
{
	struct eval_type t = arithmetic_type(&n->args[0]->type);
	int64_t places = 0;
	bool to_tens;

	(void)function;
	if (round_refused(c, n) || (n->arg_count > 1 && !round_places(c, n->args[1], &places)) ||
		round_to_places_refused(c, n))
		return NULL;
	to_tens = places < 0 && !n->op; /* ROUND alone */
	if (to_tens && round_to_tens_refused(c, n))
		return NULL;
	n->type = t;
	if (to_tens && t.kind == EVAL_T_INT && c->env->flavour == SQL_MARIADB &&
		n->args[0]->type.kind != EVAL_T_BIT && type_int_digits(&t) >= 18)
		n->type = type_decimal(21, 0); /* it may grow */
	n->type.is_unsigned = t.is_unsigned;
	if (t.kind == EVAL_T_DOUBLE)
		n->type.decimals = double_places(c->env, places);
	else if (t.kind == EVAL_T_DECIMAL)
		n->type = rounded_decimal(c->env, &t, places);
	make_wide(c, &n->type);
	return n;
}

/* ---- the rest ---- */

static struct node *compile_mod(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	return compile_arithmetic(c, n->expr, SQL_OP_MOD, n->args[0], n->args[1]);
}

static struct eval_value run_sqrt(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	double d;

	if (v.kind == EVAL_NULL)
		return v;
	d = to_double(f->run, &n->args[0]->type, &v);
	return d < 0 ? EVAL_NULL_VALUE : eval_double(sqrt(d));
}

static struct node *compile_double(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)c;
	(void)function;
	n->type = type_double();
	return n;
}

static struct eval_value run_pi(const struct node *n, struct frame *f)
{
	(void)n;
	(void)f;
	return eval_double(3.14159265358979323846);
}

static struct node *compile_pi(struct compiler *c, struct node *n, const struct function *function)
{
	(void)c;
	(void)function;
	n->type = type_double();
	n->type.decimals = 6;
	n->constant = true;
	return n;
}

static struct eval_value run_bit_count(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL)
		return v;
	return eval_int(__builtin_popcountll(bits_of(f->run, &n->args[0]->type, &v)));
}

const struct function functions_number[] = {
	{"abs", 1, 1, compile_abs, run_abs, 0},
	{"sign", 1, 1, compile_int, run_sign, 0},
	{"ceil", 1, 1, compile_integral, run_integral, 0},
	{"ceiling", 1, 1, compile_integral, run_integral, 0},
	{"floor", 1, 1, compile_integral, run_integral, 1},
	{"round", 1, 2, compile_round, run_round, 0},
	{"truncate", 2, 2, compile_round, run_round, 1},
	{"mod", 2, 2, compile_mod, NULL, 0},
	{"sqrt", 1, 1, compile_double, run_sqrt, 0},
	{"pi", 0, 0, compile_pi, run_pi, 0},
	{"bit_count", 1, 1, compile_int, run_bit_count, 0},
	{NULL, 0, 0, NULL, NULL, 0},
};
