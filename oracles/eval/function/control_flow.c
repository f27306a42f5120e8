/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control flow and casts. */
#include <math.h>
#include <string.h>

#include "eval/compile.h"
#include "eval/function/time.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
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
	if (merged_value_refused(f->run, n, arg, &v))
		return EVAL_NULL_VALUE;
	if (arg->type.kind == to->kind && v.kind == eval_kind_of(to) && v.kind != EVAL_STRING &&
		!type_is_temporal(to)) {
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
	if (coalesce_refused(c, n))
		return NULL;
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
	if (compared_operand_refused(f->run, how, &n->args[0]->type, &a, &b))
		return EVAL_NULL_VALUE;
	if (b.kind == EVAL_NULL && n->args[1]->type.kind != EVAL_T_NULL)
		compare_alone(f->run, how, &n->args[0]->type, &a);
	if (b.kind != EVAL_NULL &&
		compare_as(f->run, how, &n->args[0]->type, &a, &n->args[1]->type, &b, &null) == 0 &&
		!null)
		return EVAL_NULL_VALUE;
	if (nullif_constants_refused(f->run, n))
		return EVAL_NULL_VALUE;
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
	if (isnull_refused(c, n->args[0]))
		return NULL;
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
		if (n->aux && compared_operand_refused(f->run, &how[i], &n->args[0]->type, &value, &w))
			return EVAL_NULL_VALUE;
		if (f->run->failed)
			return EVAL_NULL_VALUE;
		if (w.kind == EVAL_NULL && n->aux)
			compare_alone(f->run, &how[i], &n->args[0]->type, &value);
		if (w.kind == EVAL_NULL)
			continue;
		if (n->aux && case_pair_refused(f->run, &value, &w))
			return EVAL_NULL_VALUE;
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
	bool strings = false;
	uint32_t count = 0;
	uint16_t collation;

	all[count++] = n->args[0];
	for (uint32_t i = 1; i + 1 < n->arg_count; i += 2) {
		if (!comparison_type_of(c, n->args[0], n->args[i], &how[i]))
			return false;
		how[i].year = 0; /* no constant is made one */
		strings |= how[i].as.kind == EVAL_T_STRING;
		all[count++] = n->args[i];
	}
	if (!strings)
		return true;
	if (case_texts_refused(c, all, count))
		return false;
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
	if (n->aux && case_value_refused(c, n->args[0]))
		return NULL;
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
	return case_refused(c, n) ? NULL : n;
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

		if (v.kind == EVAL_NULL)
			greatest_null_refused(f->run, n);
		if (v.kind == EVAL_NULL || f->run->failed)
			return EVAL_NULL_VALUE;
		if (i == 0) {
			best = v;
			continue;
		}
		order = compare_as(
			f->run, how, &n->args[at]->type, &best, &n->args[i]->type, &v, &null);
		if (null)
			return run_gives_up(f->run, LIMIT_NOT_DATE_OR_TIME_COMPARED_WITH_ONE);
		if (order == 0 &&
			greatest_equal_refused(f->run, n, &n->args[i]->type, &v, &best))
			return EVAL_NULL_VALUE;
		if (n->op ? order > 0 : order < 0) {
			best = v;
			at = i;
		}
	}
	if (greatest_value_refused(f->run, n, &n->args[at]->type, &best))
		return EVAL_NULL_VALUE;
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

/* MariaDB: 0; MySQL: as its bits. */
static struct eval_value negative_unsigned(struct run *run)
{
	return negative_as_unsigned_refused(run) ? EVAL_NULL_VALUE : eval_uint(0);
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
			average_as_int_refused(f->run, &v);
		if (n->type.is_unsigned && !v.dec->neg) {
			uint64_t u = decimal_to_uint(v.dec, &overflow);

			return overflow && f->run->strict ? cast_overflow(f->run) : eval_uint(u);
		}
		if (large_decimal_as_int_refused(f->run, v.dec))
			return EVAL_NULL_VALUE;
		if (n->type.is_unsigned) {
			return negative_unsigned(f->run);
		} else {
			int64_t i = decimal_to_int(v.dec, &overflow);

			return overflow && f->run->strict ? cast_overflow(f->run) : eval_int(i);
		}
	}
	if (v.kind == EVAL_DOUBLE) {
		double r = rint(v.d);

		if (double_as_int_refused(f->run, v.d, t->not_int && n->args[0]->fn != run_extreme))
			return EVAL_NULL_VALUE;
		if (n->type.is_unsigned && r < 0)
			return negative_unsigned(f->run);
		if (n->type.is_unsigned)
			return eval_uint(r >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)r);
		v = to_integer(f->run, &(struct eval_type){.kind = EVAL_T_DOUBLE}, &v);
		return v;
	}
	if (time_as_int_refused(f->run, &v))
		return EVAL_NULL_VALUE;
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
	if (cast_decimal_refused(f->run, &v, &d) || f->run->failed)
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
	if (cast_text_refused(f->run, n, &v, s))
		return EVAL_NULL_VALUE;
	s = text_in(f->run, &n->args[0]->type, &v, n->type.collation);
	if (n->aux) { /* CHAR(n) */
		/* MariaDB cuts a text for BINARY(n) after n of its characters, not bytes. */
		enum charset unit = charset == CHARSET_BINARY && v.kind == EVAL_STRING &&
						    f->run->env->flavour == SQL_MARIADB
					    ? collation_charset(v.collation)
					    : charset;
		size_t end = text_offset(unit, s, n->type.length);

		if (end < s.len && !cast_cut_refused(f->run, n, &v))
			run_truncated(f->run);
		s.len = end;
	}
	if (n->op && s.len < n->type.length) { /* BINARY(n) is filled up */
		char *padded;

		if (cast_binary_refused(f->run, n))
			return EVAL_NULL_VALUE;
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
		if (cast_rounding_refused(f->run, &out))
			return EVAL_NULL_VALUE;
		return f->run->strict ? run_error(f->run, ER_DATETIME_FUNCTION_OVERFLOW, "beyond the last date") : EVAL_NULL_VALUE;
	}
	if (negative && !time_micros(&out.t))
		minus_zero_refused(f->run);
	return out;
}

static struct node *cast_time(
	struct compiler *c, struct node *n, enum eval_type_kind kind, const struct sql_type *type)
{
	uint32_t decimals = type_number(type->length, 0);

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

	if (cast_to_text_refused(c, type, n->args[0]))
		return NULL;
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
	if (collation == COLLATION_NONE)
		return compile_gives_up(c, LIMIT_COLLATION_NOT_MODELLED);
	/* On a connection in bytes CHAR(n) is BINARY(n), which is filled with zeros. */
	if (collation == COLLATION_BINARY && type->kind == SQL_TYPE_CHAR && type->length.ptr)
		n->op = 1;
	n->type = type_string(collation, type->collate.ptr ? 0 : 2,
		type_number(type->length, 0));
	if (c->env->flavour == SQL_MARIADB)
		n->type.decimals = 0;
	n->aux = type->length.ptr != NULL;
	n->fn = run_cast_text;
	return n;
}

static struct node *cast_decimal(struct compiler *c, struct node *n, const struct sql_type *type)
{
	uint32_t precision = type_number(type->length, 10);
	uint32_t scale = type_number(type->decimals, 0);

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
		return compile_gives_up(c, LIMIT_CAST_TO_TYPE_NOT_MODELLED);
	}
}

/* CAST, CONVERT and the operator BINARY. */
struct node *compile_cast(struct compiler *c, const struct sql_expr *e)
{
	static const struct sql_type binary = {.kind = SQL_TYPE_BINARY};
	const struct sql_expr *left = e->kind == SQL_EXPR_UNARY ? e->u.binary.left : e->u.cast.left;
	const struct sql_type *type = e->kind == SQL_EXPR_UNARY ? &binary : e->u.cast.type;
	struct node *n = node_new(c, run_cast_int, e, 1);

	if (e->kind != SQL_EXPR_UNARY && cast_zone_refused(c, e->u.cast.zone))
		return NULL;
	n->args[0] = compile_value(c, left);
	if (!n->args[0])
		return NULL;
	return cast_refused(c, type, n->args) ? NULL : cast_to(c, n, type);
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
		return compile_gives_up(c, LIMIT_CHARACTER_SET_NOT_MODELLED);
	if (convert_using_refused(c, n->args[0]))
		return NULL;
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

	n->args[0] = compile_value(c, e->u.cast.left);
	if (!n->args[0])
		return NULL;
	if (collation == COLLATION_NONE)
		return compile_gives_up(c, LIMIT_COLLATION_NOT_MODELLED);
	if (collate_refused(c, n->args, collation))
		return NULL;
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
			return run_gives_up(f->run, LIMIT_LAST_INSERT_ID_NUMBER_IS_NOT_KNOWN);
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
	if (last_insert_id_refused(c, n))
		return NULL;
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
