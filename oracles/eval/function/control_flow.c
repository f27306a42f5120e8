/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control flow and casts. */
#include <math.h>
#include <string.h>

#include "eval/compile.h"
#include "eval/function/time.h"
#include "eval/limits/guards.h"
#include "eval/operator/arithmetic.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"
#include "server/errors.h"

/* The value of an argument as one of `n`. */
static struct eval_value run_as(const struct node *n, const struct node *arg, struct frame *f)
{
	const struct eval_type *to = &n->type;
	struct eval_value v = node_run(arg, f);

	if (v.kind == EVAL_NULL)
		return v;
	/* A new value for each: IF() gives the AVG() itself, COALESCE() what is rounded. */
	if (v.kind == EVAL_DECIMAL && n->nested && f->run->env->flavour == SQL_MYSQL &&
		mysql_has(f->run->env, MYSQL_QUOTIENT_ROUNDED) != 0 && decimal_beyond(&arg->type, v.dec))
		return run_unsupported(f->run, LIMIT_MYSQL_AVG_BEHIND_IF_AND_KIN_USED_FURTHER);
	/* Some of them send it as the bytes that it is, some convert it from its own set. */
	if (v.kind == EVAL_STRING && type_is_string(to) && to->collation == COLLATION_BINARY &&
		type_is_string(&arg->type) && arg->type.collation != COLLATION_BINARY &&
		!text_is_ascii(v.s))
		return run_unsupported(f->run, LIMIT_ONE_OF_TEXT_AND_BINARY_STRING);
	if (arg->type.kind == to->kind && v.kind == eval_kind_of(to) && v.kind != EVAL_STRING &&
		!type_is_temporal(to)) {
		/* Printed with the digits of its own type, computed with all. */
		if (v.kind == EVAL_DECIMAL && to->own_scale && arg->type.decimals < to->decimals &&
			decimal_beyond(&arg->type, v.dec))
			return run_unsupported(f->run, LIMIT_MYSQL80_QUOTIENT_OF_IF_OR_CASE);
		if (v.kind == EVAL_DECIMAL && to->own_scale && !arg->type.own_scale &&
			(v.dec->scale < arg->type.decimals ||
				(v.dec->scale > arg->type.decimals && arg->type.decimals < to->decimals))) {
			struct decimal d;
			struct eval_value rounded;

			if (decimal_round(v.dec, arg->type.decimals, DECIMAL_HALF_UP, &d)) {
				rounded = make_decimal(f->run, &d);
				rounded.decimals = v.decimals;
				rounded.real = v.real;
				return rounded;
			}
		}
		/* IF(x, 2.5e0, PI()) is the number of all digits, and as a text '3.141593'. */
		if (v.kind == EVAL_DOUBLE && to->own_scale && n->nested &&
			arg->type.decimals < to->decimals)
			return run_unsupported(
				f->run, LIMIT_MYSQL_TEXT_OF_DOUBLE_WITH_DECIMALS_OF_IF_OR_CASE);
		return v;
	}
	return to_type(f->run, &arg->type, &v, to);
}

/* ---- CASE, IF and the like ---- */

static struct eval_value run_if(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	bool yes = v.kind != EVAL_NULL && to_bool(f->run, &n->args[0]->type, &v);

	return run_as(n, n->args[yes ? 1 : 2], f);
}

static struct node *compile_if(struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	return merge_types(c, n->args + 1, 2, OPERATION_IF, &n->type) ? n : NULL;
}

static struct eval_value run_coalesce(const struct node *n, struct frame *f)
{
	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = run_as(n, n->args[i], f);

		if (v.kind != EVAL_NULL || f->run->failed)
			return v;
	}
	return EVAL_NULL_VALUE;
}

static struct node *compile_coalesce(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	/* IF(x, NULL, NULL) has a type that the operands of IFNULL do not show. */
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (n->args[i]->type.kind == EVAL_T_NULL && !n->args[i]->literal)
			return compile_unsupported(c, LIMIT_EXPRESSION_ALWAYS_NULL_IN_COALESCE);
	}
	return merge_types(c, n->args, n->arg_count, OPERATION_BUILDS, &n->type) ? n : NULL;
}

static struct eval_value run_nullif(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value a = node_run(n->args[0], f), b;
	bool null;

	if (a.kind == EVAL_NULL)
		return a;
	b = node_run(n->args[1], f);
	/* Or that of the first, which is converted before. */
	if (f->run->strict && run_erred(f->run) &&
		a.kind == EVAL_STRING && how->as.kind != EVAL_T_STRING)
		return run_open_error(f->run, LIMIT_ONE_OF_SEVERAL_ERRORS_IN_STRICT_MODE);
	if (b.kind == EVAL_NULL && f->run->strict && type_is_temporal(&how->as) &&
		!type_is_temporal(&n->args[0]->type))
		return run_unsupported(f->run, LIMIT_NULL_COMPARED_WITH_DATE_IN_STRICT_MODE);
	if (b.kind == EVAL_NULL && n->args[1]->type.kind != EVAL_T_NULL)
		compare_alone(f->run, how, &n->args[0]->type, &a);
	if (b.kind != EVAL_NULL &&
		compare_as(f->run, how, &n->args[0]->type, &a, &n->args[1]->type, &b, &null) == 0 &&
		!null)
		return EVAL_NULL_VALUE;
	/* Constants are compared when the statement is prepared, and some complain then. */
	if (run_erred(f->run) && n->args[0]->literal &&
		n->args[1]->literal)
		return run_open_error(f->run, LIMIT_ERROR_IN_NULLIF_OF_CONSTANTS);
	return run_as(n, n->args[0], f);
}

static struct node *compile_nullif(
	struct compiler *c, struct node *n, const struct function *function)
{
	struct comparison *how = arena_zero(c->arena, sizeof(*how));

	(void)function;
	if (!operator_comparison_of(c, n->args[0], n->args[1], how))
		return NULL;
	n->u.data = how;
	n->type = n->args[0]->type;
	n->type.merged = true;
	if (nullif_refused(c, n))
		return NULL;
	/* As a number it is that of its text, or of its place in the list. */
	n->type.text_only |= n->type.kind == EVAL_T_ENUM || n->type.kind == EVAL_T_SET;
	n->type.hybrid = n->type.zerofill = false;
	if (n->type.kind == EVAL_T_ENUM || n->type.kind == EVAL_T_SET)
		n->type.kind = EVAL_T_STRING;
	return n;
}

static struct eval_value run_isnull(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);

	return eval_int(run_asks_null(n->args[0], f, &v));
}

static struct node *compile_isnull(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (c->env->flavour == SQL_MARIADB && compares_rows(n->args[0]))
		return compile_unsupported(c, LIMIT_IS_NULL_OF_COMPARISON_OF_ROWS);
	n->type = type_bool();
	return n;
}

/* args: [value,] when, then, when, then ... [, else]; aux: has value; op: has else. */
static struct eval_value run_case(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value value = EVAL_NULL_VALUE;
	bool asked = !n->aux;

	if (n->type.kind == EVAL_T_NULL) /* nothing need be asked */
		return value;
	for (uint32_t i = n->aux; i + 1 < n->arg_count - n->op; i += 2) {
		struct eval_value w;
		bool null, yes;

		if (n->aux && n->args[i]->type.kind == EVAL_T_NULL && n->args[i]->literal)
			continue; /* WHEN NULL is no reason to ask for the value */
		if (!asked)
			value = node_run(n->args[0], f);
		asked = true;

		if (n->aux && value.kind == EVAL_NULL)
			continue;
		w = node_run(n->args[i], f);
		/* Or that of the value, which is converted first. */
		if (f->run->failed && f->run->strict && f->run->outcome->status == EVAL_ERROR && n->aux &&
			value.kind == EVAL_STRING && how[i].as.kind != EVAL_T_STRING)
			run_open_error(f->run, LIMIT_ONE_OF_SEVERAL_ERRORS_IN_STRICT_MODE);
		if (f->run->failed)
			return EVAL_NULL_VALUE;
		if (w.kind == EVAL_NULL && n->aux && f->run->strict && type_is_temporal(&how[i].as) &&
			!type_is_temporal(&n->args[0]->type))
			return run_unsupported(
				f->run, LIMIT_NULL_COMPARED_WITH_DATE_IN_STRICT_MODE);
		if (w.kind == EVAL_NULL && n->aux)
			compare_alone(f->run, &how[i], &n->args[0]->type, &value);
		if (w.kind == EVAL_NULL)
			continue;
		/* MySQL 9.7 takes the bits of both as signed. */
		if (n->aux && f->run->env->flavour == SQL_MYSQL &&
			((value.kind == EVAL_UINT && w.kind == EVAL_INT && w.i < 0) ||
				(value.kind == EVAL_INT && value.i < 0 && w.kind == EVAL_UINT)))
			return run_unsupported(
				f->run, LIMIT_MYSQL_CASE_OF_SIGNED_AND_UNSIGNED_INTEGERS);
		if (n->aux)
			yes = compare_as(f->run, &how[i], &n->args[0]->type, &value,
				      &n->args[i]->type, &w, &null) == 0 &&
			      !null;
		else
			yes = to_bool(f->run, &n->args[i]->type, &w);
		if (yes)
			return run_as(n, n->args[i + 1], f);
	}
	return n->op ? run_as(n, n->args[n->arg_count - 1], f) : EVAL_NULL_VALUE;
}

/* How CASE value WHEN ... compares: texts all under one collation. */
static bool compile_whens(struct compiler *c, const struct node *n, struct comparison *how)
{
	struct node **all = arena_zero(c->arena, n->arg_count * sizeof(*all));
	bool strings = false, hybrid = n->args[0]->type.hybrid;
	uint32_t count = 0;
	uint16_t collation;

	all[count++] = n->args[0];
	for (uint32_t i = 1; i + 1 < n->arg_count; i += 2) {
		if (!comparison_type_of(c, n->args[0], n->args[i], &how[i]))
			return false;
		how[i].year = 0; /* no constant is made one */
		strings |= how[i].as.kind == EVAL_T_STRING;
		hybrid |= n->args[i]->type.hybrid;
		all[count++] = n->args[i];
	}
	if (!strings)
		return true;
	if (hybrid && count > 2) { /* of no collation, or of that of the others */
		compile_unsupported(c, LIMIT_HEXADECIMAL_LITERAL_IN_CASE_WITH_SEVERAL_TEXTS);
		return false;
	}
	if (!aggregate_collation(c, all, count, OPERATION_COMPARES, &collation, NULL))
		return false;
	for (uint32_t i = 1; i + 1 < n->arg_count; i += 2)
		how[i].collation = collation;
	return true;
}

struct node *compile_case(struct compiler *c, const struct sql_expr *e)
{
	uint32_t count = 0, i = 0, results = 0;
	struct node *n, **result;
	struct comparison *how;

	for (const struct sql_when *w = e->u.kase.whens; w; w = w->next)
		count += 2;
	count += (e->u.kase.value ? 1 : 0) + (e->u.kase.otherwise ? 1 : 0);
	n = node_new(c, run_case, e, count);
	how = arena_zero(c->arena, (count + 1) * sizeof(*how));
	result = arena_zero(c->arena, (count + 1) * sizeof(struct node *));
	n->aux = e->u.kase.value != NULL;
	n->op = e->u.kase.otherwise != NULL;
	if (n->aux && !(n->args[i++] = compile_value(c, e->u.kase.value)))
		return NULL;
	if (n->aux && type_is_temporal(&n->args[0]->type) &&
		compile_mysql_5(c, LIMIT_MYSQL5_CASE_OF_DATE_OR_TIME))
		return NULL;
	/* MySQL makes a value that is always NULL go away, and the type changes with it. */
	for (uint32_t a = 0; n->aux && a < n->args[0]->arg_count; a++) {
		if (c->env->flavour == SQL_MYSQL && n->args[0]->args[a] &&
			n->args[0]->args[a]->type.kind == EVAL_T_NULL)
			return compile_unsupported(c, LIMIT_MYSQL_CASE_OF_ALWAYS_NULL);
	}
	for (const struct sql_when *w = e->u.kase.whens; w; w = w->next) {
		n->args[i] = compile_value(c, w->when);
		if (!n->args[i])
			return NULL;
		i++;
		n->args[i] = compile_value(c, w->then);
		if (!n->args[i])
			return NULL;
		result[results++] = n->args[i++];
	}
	if (n->op) {
		n->args[i] = compile_value(c, e->u.kase.otherwise);
		if (!n->args[i])
			return NULL;
		result[results++] = n->args[i];
	}
	/* What is wrong with one of them is said before what is wrong between them; between results before the rest. */
	if (!merge_types(c, result, results, OPERATION_CASE, &n->type))
		return NULL;
	if (n->aux && !compile_whens(c, n, how))
		return NULL;
	n->u.data = how;
	/* Whether its conditions are asked for, and what it is beside others, differs. */
	return n->type.kind == EVAL_T_NULL ? compile_unsupported(c, LIMIT_CASE_OF_NULLS_ALONE) : n;
}

/* ---- GREATEST, LEAST ---- */

static struct eval_value run_extreme(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value best = EVAL_NULL_VALUE;
	uint32_t at = 0;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);
		bool null;
		int order;

		if (v.kind == EVAL_NULL && f->run->strict && n->nested && n->type.kind == EVAL_T_STRING)
			return run_unsupported(
				f->run, LIMIT_GREATEST_OR_LEAST_OF_TEXTS_WITH_NULL_IN_STRICT_MODE);
		if (v.kind == EVAL_NULL || f->run->failed)
			return EVAL_NULL_VALUE;
		if (i == 0) {
			best = v;
			continue;
		}
		order = compare_as(
			f->run, how, &n->args[at]->type, &best, &n->args[i]->type, &v, &null);
		if (null)
			return run_unsupported(f->run, LIMIT_NOT_DATE_OR_TIME_COMPARED_WITH_ONE);
		if (order == 0 && n->type.kind == EVAL_T_DOUBLE && f->run->env->flavour == SQL_MYSQL &&
			to_double(f->run, &n->args[i]->type, &v) == 0)
			return run_unsupported(
				f->run, LIMIT_MYSQL_GREATEST_OR_LEAST_OF_ZEROS_OF_EITHER_SIGN);
		if (order == 0 && f->run->env->flavour == SQL_MYSQL && v.kind == EVAL_STRING &&
			best.kind == EVAL_STRING && !span_eq(v.s, best.s))
			return run_unsupported(
				f->run, LIMIT_MYSQL_GREATEST_OR_LEAST_OF_EQUAL_DIFFERENT_STRINGS);
		if (n->op ? order > 0 : order < 0) {
			best = v;
			at = i;
		}
	}
	if (n->type.kind == EVAL_T_DOUBLE && mariadb_2026(f->run->env) != 1 &&
		best.kind <= EVAL_DECIMAL && to_double(f->run, &n->args[at]->type, &best) == 0)
		return run_unsupported(f->run, LIMIT_GREATEST_OR_LEAST_ZERO_OF_EITHER_SIGN);
	return to_type(f->run, &n->args[at]->type, &best, &n->type);
}

static struct node *compile_extreme(
	struct compiler *c, struct node *n, const struct function *function)
{
	struct comparison *how = arena_zero(c->arena, sizeof(*how));

	(void)function;
	if (!merge_types(c, n->args, n->arg_count, OPERATION_BUILDS, &n->type) ||
		greatest_refused(c, n))
		return NULL;
	n->type.not_int = n->type.kind == EVAL_T_DECIMAL || n->type.kind == EVAL_T_DOUBLE;
	how->as = n->type;
	how->collation = n->type.collation;
	n->type.text_only |= n->type.kind == EVAL_T_STRING;
	n->u.data = how;
	return n;
}

/* ---- CAST ---- */

static uint32_t number_of(struct span s)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s.len && n < 100000000; i++)
		n = n * 10 + (uint32_t)(s.ptr[i] - '0');
	return n;
}

static struct eval_value negative_unsigned(struct run *run)
{
	if (run->env->flavour == SQL_MYSQL)
		return run_unsupported(run, LIMIT_MYSQL_NEGATIVE_NUMBER_CAST_TO_UNSIGNED);
	if (run->strict) /* error 1916 of some numbers */
		return run_unsupported(run, LIMIT_NEGATIVE_NUMBER_CAST_TO_UNSIGNED_IN_STRICT_MODE);
	return eval_uint(0);
}

static struct eval_value cast_overflow(struct run *run)
{
	return run_error(run, run->env->flavour == SQL_MYSQL ? 1292 : 1916, "a DECIMAL beyond BIGINT");
}

static node_fn run_cast_double;

static struct eval_value run_cast_int(const struct node *n, struct frame *f)
{
	const struct eval_type *t = &n->args[0]->type;
	struct eval_type from = *t;
	struct eval_value v = node_run(n->args[0], f);
	bool overflow;

	if (v.kind == EVAL_NULL)
		return v;
	if (v.kind == EVAL_DECIMAL) {
		bool mysql = f->run->env->flavour == SQL_MYSQL;

		if (mysql)
			average_as_integer(f->run, &v);
		if (n->type.is_unsigned && !v.dec->neg) {
			uint64_t u = decimal_to_uint(v.dec, &overflow);

			return overflow && f->run->strict ? cast_overflow(f->run) : eval_uint(u);
		}
		if (decimal_int_digits(v.dec) > 18 && mysql)
			return run_unsupported(f->run, LIMIT_MYSQL_LARGE_DECIMAL_AS_INTEGER);
		if (n->type.is_unsigned) { /* MariaDB: 0; MySQL: as its bits */
			return negative_unsigned(f->run);
		} else {
			int64_t i = decimal_to_int(v.dec, &overflow);

			return overflow && f->run->strict ? cast_overflow(f->run) : eval_int(i);
		}
	}
	if (v.kind == EVAL_DOUBLE) {
		double r = rint(v.d);

		if (t->not_int && n->args[0]->fn != run_extreme && r != v.d)
			return run_unsupported(f->run, LIMIT_MYSQL80_CAST_DOUBLE_AS_INTEGER);
		if (fabs(r) > 9e18 && f->run->env->flavour == SQL_MYSQL)
			return run_unsupported(f->run, LIMIT_MYSQL_LARGE_DOUBLE_AS_INTEGER);
		if (n->type.is_unsigned && r < 0)
			return negative_unsigned(f->run);
		if (n->type.is_unsigned)
			return eval_uint(r >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)r);
		v = to_integer(f->run, &(struct eval_type){.kind = EVAL_T_DOUBLE}, &v);
		return v;
	}
	if (v.kind >= EVAL_DATE && v.t.micro && f->run->env->flavour == SQL_MYSQL)
		return run_unsupported(f->run, LIMIT_MYSQL_TIME_WITH_FRACTION_AS_INTEGER);
	if (v.kind >= EVAL_DATE && v.t.neg && n->type.is_unsigned)
		return negative_unsigned(f->run);
	from.blob = false; /* here it is an error */
	from.fixed = true;
	v = to_integer(f->run, &from, &v);
	if (n->type.is_unsigned)
		return eval_uint(v.kind == EVAL_UINT ? v.u : (uint64_t)v.i);
	return eval_int(v.kind == EVAL_INT ? v.i : (int64_t)v.u);
}

static struct eval_value run_cast_decimal(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	struct decimal d, most;

	if (v.kind == EVAL_NULL)
		return v;
	d = to_decimal(f->run, &n->args[0]->type, &v);
	if ((v.kind == EVAL_STRING || v.kind == EVAL_DOUBLE) && !d.count && mysql_5(f->run->env))
		return run_unsupported(f->run, LIMIT_MYSQL5_DECIMAL_OF_MINUS_ZERO);
	if (f->run->failed)
		return EVAL_NULL_VALUE;
	if (!decimal_round(&d, n->type.decimals, DECIMAL_HALF_UP, &d) ||
		decimal_int_digits(&d) > n->type.length - n->type.decimals) {
		if (f->run->strict)
			return run_error(f->run, ER_WARN_DATA_OUT_OF_RANGE, "out of range");
		most = decimal_max(n->type.length, n->type.decimals, d.neg);
		return make_decimal(f->run, &most);
	}
	if (n->type.is_unsigned && d.neg)
		d = (struct decimal){.scale = n->type.decimals};
	return make_decimal(f->run, &d);
}

static struct eval_value run_cast_double(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL)
		return v;
	return eval_double(to_double(f->run, &n->args[0]->type, &v));
}

static struct eval_value run_cast_text(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	enum charset charset = collation_charset(n->type.collation);
	struct span s;

	if (v.kind == EVAL_NULL)
		return v;
	s = to_text(f->run, &n->args[0]->type, &v);
	if (n->type.collation != COLLATION_BINARY && !text_is_valid(charset, s) &&
		(v.kind != EVAL_STRING || v.collation == COLLATION_BINARY))
		return run_unsupported(f->run, LIMIT_BYTES_NOT_CHARACTERS);
	/* RPAD('abc', 5, column) counts as ASCII there, and is not converted. */
	if (charset == CHARSET_LATIN1 && f->run->env->flavour == SQL_MYSQL &&
		n->args[0]->arg_count && !text_is_ascii(s))
		return run_unsupported(f->run, LIMIT_MYSQL_COMPUTED_TEXT_MADE_LATIN1);
	s = text_in(f->run, &n->args[0]->type, &v, n->type.collation);
	if (n->aux) { /* CHAR(n) */
		/* MariaDB cuts a text for BINARY(n) behind n of its characters, not bytes. */
		enum charset unit = charset == CHARSET_BINARY && v.kind == EVAL_STRING &&
						    f->run->env->flavour == SQL_MARIADB
					    ? collation_charset(v.collation)
					    : charset;
		size_t end = text_offset(unit, s, n->type.length);

		/* A constant may be cut when the statement is prepared. */
		if (end < s.len && f->run->strict && (v.kind == EVAL_STRING || n->constant))
			run_unsupported(f->run, LIMIT_CAST_THAT_CUTS_STRING_IN_STRICT_MODE);
		if (end < s.len)
			run_truncated(f->run);
		s.len = end;
	}
	if (n->op && s.len < n->type.length) { /* BINARY(n) is filled up */
		char *padded;

		if (n->type.length > 65536)
			return run_unsupported(f->run, LIMIT_LONG_BINARY_N);
		padded = arena_zero(f->run->arena, n->type.length + 1);
		memcpy(padded, s.ptr, s.len);
		s = span_of(padded, n->type.length);
	}
	return eval_string(s, n->type.collation);
}

static struct eval_value run_cast_time(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f), out;
	bool round = f->run->env->flavour == SQL_MYSQL ||
		     (f->run->env->mode & EVAL_MODE_TIME_ROUND_FRACTIONAL);
	bool negative;

	if (v.kind == EVAL_NULL)
		return v;
	if (!time_from_value(f->run, &n->args[0]->type, &v, eval_kind_of(&n->type), &out))
		return no_date(n, f);
	negative = out.kind == EVAL_TIME && out.t.neg;
	if (!(round ? time_round(f->run->env, &out, n->type.decimals)
		    : time_set_decimals(&out, n->type.decimals, false))) {
		if (f->run->strict && date_is_zeroish(&out.t))
			return run_unsupported(
				f->run, LIMIT_DATE_WITH_ZERO_IN_ROUNDED_IN_STRICT_MODE);
		return f->run->strict ? run_error(f->run, ER_DATETIME_FUNCTION_OVERFLOW, "beyond the last date") : EVAL_NULL_VALUE;
	}
	if (negative && !time_micros(&out.t))
		time_minus_zero(f->run);
	return out;
}

static struct node *cast_time(
	struct compiler *c, struct node *n, enum eval_type_kind kind, const struct sql_type *type)
{
	uint32_t decimals = type->length.ptr ? number_of(type->length) : 0;

	if (decimals > 6)
		return compile_error(c, ER_TOO_BIG_PRECISION, "too many digits of a fraction");
	n->type = type_temporal(kind, kind == EVAL_T_DATE ? 0 : decimals);
	n->fn = run_cast_time;
	return n;
}

static struct node *cast_text(struct compiler *c, struct node *n, const struct sql_type *type)
{
	uint16_t collation = c->env->collation_connection;
	bool mysql = c->env->flavour == SQL_MYSQL;

	if (mysql && n->args[0]->literal && type_is_temporal(&n->args[0]->type))
		return compile_unsupported(c, LIMIT_MYSQL_DATE_LITERAL_IN_TEXT);

	if (type->kind == SQL_TYPE_BINARY || type->kind == SQL_TYPE_VARBINARY || type->byte) {
		collation = COLLATION_BINARY;
		n->op = type->length.ptr && type->kind == SQL_TYPE_BINARY;
	} else if (type->charset.ptr) {
		collation = collation_of_charset(type->charset, mysql, c->env->version);
	} else if (type->kind == SQL_TYPE_NCHAR || type->kind == SQL_TYPE_NVARCHAR) {
		collation = COLLATION_UTF8MB3_GENERAL_CI;
	}
	if (type->collate.ptr)
		collation = collation_find(type->collate);
	if (type->binary || type->ascii || type->unicode)
		return compile_unsupported(c, LIMIT_CAST_TO_CHAR_WITH_BINARY_ASCII_OR_UNICODE);
	if (collation == COLLATION_NONE)
		return compile_unsupported(c, LIMIT_COLLATION_NOT_MODELLED);
	/* On a connection in bytes CHAR(n) is BINARY(n), which is filled with zeros. */
	if (collation == COLLATION_BINARY && type->kind == SQL_TYPE_CHAR && type->length.ptr)
		n->op = 1;
	n->type = type_string(collation, type->collate.ptr ? 0 : 2,
		type->length.ptr ? number_of(type->length) : 0);
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = 0;
	n->aux = type->length.ptr != NULL;
	n->fn = run_cast_text;
	return n;
}

static struct node *cast_decimal(struct compiler *c, struct node *n, const struct sql_type *type)
{
	uint32_t precision = type->length.ptr ? number_of(type->length) : 10;
	uint32_t scale = type->decimals.ptr ? number_of(type->decimals) : 0;

	if (n->args[0]->type.hybrid && c->env->flavour == SQL_MARIADB && mariadb_2026(c->env) != 1)
		return compile_unsupported(
			c, LIMIT_HEXADECIMAL_LITERAL_CAST_TO_DECIMAL_IN_OLDER_RELEASES);
	if (precision == 0)
		precision = 10;
	if (scale > decimal_scale_max(c->env))
		return compile_error(c, ER_TOO_BIG_SCALE, "too big a scale");
	if (precision > DECIMAL_PRECISION_MAX)
		return compile_error(c, ER_TOO_BIG_PRECISION, "too big a precision");
	if (scale > precision)
		return compile_error(c, ER_M_BIGGER_THAN_D, "a scale above the precision");
	n->type = type_decimal(precision, scale);
	n->type.is_unsigned = type->is_unsigned;
	n->fn = run_cast_decimal;
	return n;
}

static struct node *cast_to(struct compiler *c, struct node *n, const struct sql_type *type)
{
	if (type->array)
		return compile_unsupported(c, LIMIT_CAST_TO_ARRAY);
	switch (type->kind) {
	case SQL_TYPE_SIGNED:
	case SQL_TYPE_UNSIGNED:
	case SQL_TYPE_INT:
	case SQL_TYPE_BIGINT:
		n->fn = run_cast_int;
		n->type = type_int(type->kind == SQL_TYPE_UNSIGNED || type->is_unsigned);
		return n;
	case SQL_TYPE_DECIMAL:
		return cast_decimal(c, n, type);
	case SQL_TYPE_DOUBLE:
		if (type->length.ptr)
			return compile_unsupported(c, LIMIT_CAST_TO_DOUBLE_M_D);
		n->fn = run_cast_double;
		n->type = type_double();
		n->type.not_int = c->env->flavour == SQL_MYSQL &&
				  mysql_has(c->env, MYSQL_DOUBLE_ROUNDED) != 1;
		return n;
	case SQL_TYPE_CHAR:
	case SQL_TYPE_VARCHAR:
	case SQL_TYPE_NCHAR:
	case SQL_TYPE_NVARCHAR:
	case SQL_TYPE_BINARY:
	case SQL_TYPE_VARBINARY:
		return cast_text(c, n, type);
	case SQL_TYPE_DATE:
		return cast_time(c, n, EVAL_T_DATE, type);
	case SQL_TYPE_TIME:
		return cast_time(c, n, EVAL_T_TIME, type);
	case SQL_TYPE_DATETIME:
		return cast_time(c, n, EVAL_T_DATETIME, type);
	default:
		return compile_unsupported(c, LIMIT_CAST_TO_TYPE_NOT_MODELLED);
	}
}

/* CAST, CONVERT and the operator BINARY. */
struct node *compile_cast(struct compiler *c, const struct sql_expr *e)
{
	static const struct sql_type binary = {.kind = SQL_TYPE_BINARY};
	const struct sql_expr *left = e->kind == SQL_EXPR_UNARY ? e->u.binary.left : e->u.cast.left;
	struct node *n = node_new(c, run_cast_int, e, 1);

	if (e->kind != SQL_EXPR_UNARY && e->u.cast.zone.ptr)
		return compile_unsupported(c, LIMIT_AT_TIME_ZONE);
	n->args[0] = compile_value(c, left);
	if (!n->args[0])
		return NULL;
	/* Where the number is NULL, MySQL gives the date that it computed before. */
	if (c->env->flavour == SQL_MYSQL && e->kind != SQL_EXPR_UNARY &&
		(n->args[0]->type.kind == EVAL_T_DOUBLE ||
			n->args[0]->type.kind == EVAL_T_FLOAT) &&
		(e->u.cast.type->kind == SQL_TYPE_DATE || e->u.cast.type->kind == SQL_TYPE_TIME ||
			e->u.cast.type->kind == SQL_TYPE_DATETIME))
		return compile_unsupported(c, LIMIT_FLOATING_POINT_NUMBER_AS_DATE_OR_TIME);
	if (e->kind != SQL_EXPR_UNARY && c->env->flavour == SQL_MARIADB && node_is_timediff(n->args[0]) &&
		(e->u.cast.type->kind == SQL_TYPE_DATE || e->u.cast.type->kind == SQL_TYPE_DATETIME))
		return compile_unsupported(c, LIMIT_TIMEDIFF_AS_DATE);
	return cast_to(c, n, e->kind == SQL_EXPR_UNARY ? &binary : e->u.cast.type);
}

struct node *compile_convert_using(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_cast_text, e, 1);
	uint16_t collation = collation_of_charset(
		e->u.cast.charset, c->env->flavour == SQL_MYSQL, c->env->version);

	n->args[0] = compile_value(c, e->u.cast.left);
	if (!n->args[0])
		return NULL;
	if (collation == COLLATION_NONE)
		return compile_unsupported(c, LIMIT_CHARACTER_SET_NOT_MODELLED);
	if (n->args[0]->type.hybrid || n->args[0]->type.kind == EVAL_T_BIT)
		return compile_unsupported(c, LIMIT_CONVERT_USING_OF_BIT_OR_HEXADECIMAL_LITERAL);
	if (c->env->flavour == SQL_MYSQL && n->args[0]->literal && type_is_temporal(&n->args[0]->type))
		return compile_unsupported(c, LIMIT_MYSQL_DATE_LITERAL_IN_TEXT);
	n->type = type_string(collation, 2, 0);
	n->type.text_only = !type_is_string(&n->args[0]->type); /* as a number it may be the number */
	return n;
}

static struct eval_value run_collate(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL)
		return v;
	return eval_string(to_text(f->run, &n->args[0]->type, &v), n->type.collation);
}

struct node *compile_collate(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_collate, e, 1);
	uint16_t collation = collation_find(e->u.cast.charset);
	enum charset charset;

	n->args[0] = compile_value(c, e->u.cast.left);
	if (!n->args[0])
		return NULL;
	if (collation == COLLATION_NONE)
		return compile_unsupported(c, LIMIT_COLLATION_NOT_MODELLED);
	if (!type_is_string(&n->args[0]->type) && compile_mysql_5(
		c, LIMIT_MYSQL5_COLLATE_OF_NUMBER))
		return NULL;
	/* Binary in MySQL and MariaDB 10.5, a function of it too: error 1253. */
	if (has_null(n->args[0]) || (c->env->flavour == SQL_MYSQL && n->args[0]->constant &&
					    !n->args[0]->literal))
		return compile_unsupported(c, LIMIT_NULL_COLLATE);
	charset =
		collation_charset(type_is_string(&n->args[0]->type) ? n->args[0]->type.collation
								    : c->env->collation_connection);
	if (charset != collation_charset(collation))
		return compile_unsupported(c, LIMIT_COLLATE_OF_ANOTHER_CHARACTER_SET);
	/* POSITION(bytes IN bytes) is binary, and error 1253. */
	if (c->env->flavour == SQL_MYSQL && !type_is_string(&n->args[0]->type) && relates_texts(n->args, 1, 0))
		return compile_unsupported(c, LIMIT_MYSQL_TEXT_OF_REGEXP_LIKE_INSTR_AND_KIN);
	n->type = type_string(collation, 0, n->args[0]->type.length);
	return n;
}

/* ---- LAST_INSERT_ID ---- */

/* With an argument it is that, and the session's number from the next statement on. */
static struct eval_value run_last_insert_id(const struct node *n, struct frame *f)
{
	struct eval_value v;

	if (!n->arg_count) {
		if (!f->run->env->has_last_insert_id)
			return run_unsupported(f->run, LIMIT_LAST_INSERT_ID_NUMBER_IS_NOT_KNOWN);
		return eval_uint(f->run->env->last_insert_id);
	}
	v = node_run(n->args[0], f);
	if (v.kind == EVAL_NULL)
		return v;
	v = to_integer(f->run, &n->args[0]->type, &v);
	return eval_uint(v.u);
}

static struct node *compile_last_insert_id(
	struct compiler *c, struct node *n, const struct function *function)
{
	(void)function;
	if (n->arg_count && !type_is_number(&n->args[0]->type))
		return compile_unsupported(c, LIMIT_LAST_INSERT_ID_OF_NOT_NUMBER);
	n->type = type_int(true);
	return n;
}

const struct function functions_control[] = {
	{"last_insert_id", 0, 1, compile_last_insert_id, run_last_insert_id, 0},
	{"if", 3, 3, compile_if, run_if, 0},
	{"ifnull", 2, 2, compile_coalesce, run_coalesce, 0},
	{"nvl", 2, 2, compile_coalesce, run_coalesce, 0},
	{"coalesce", 1, 255, compile_coalesce, run_coalesce, 0},
	{"nullif", 2, 2, compile_nullif, run_nullif, 0},
	{"isnull", 1, 1, compile_isnull, run_isnull, 0},
	{"greatest", 2, 255, compile_extreme, run_extreme, 0},
	{"least", 2, 255, compile_extreme, run_extreme, 1},
	{NULL, 0, 0, NULL, NULL, 0},
};
