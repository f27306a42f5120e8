/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * COUNT, SUM, AVG, MIN, MAX, BIT_*, GROUP_CONCAT.  A server may read the rows of a group in any order.
 * A result that depends on the order (sums of DOUBLEs, GROUP_CONCAT without a total order) is
 * unsupported.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/arithmetic.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "eval/value/release.h"
#include "server/errors.h"

static const struct {
	const char *name;
	enum aggregate_kind kind;
} kinds[] = {
	{"count", AGG_COUNT},
	{"sum", AGG_SUM},
	{"avg", AGG_AVG},
	{"min", AGG_MIN},
	{"max", AGG_MAX},
	{"bit_and", AGG_BIT_AND},
	{"bit_or", AGG_BIT_OR},
	{"bit_xor", AGG_BIT_XOR},
	{"group_concat", AGG_GROUP_CONCAT},
	{"variance", AGG_VAR_POP},
	{"var_pop", AGG_VAR_POP},
	{"var_samp", AGG_VAR_SAMP},
	{"std", AGG_STD_POP},
	{"stddev", AGG_STD_POP},
	{"stddev_pop", AGG_STD_POP},
	{"stddev_samp", AGG_STD_SAMP},
};

/* Of a node with run_aggregate, in aux. */
enum aggregate_trait {
	AGGREGATE_EXTREME = 1, /* MIN, MAX */
	AGGREGATE_MEMBER = 2,  /* of an ENUM or a SET */
};

/* A variance is kept with what it may be off by. */
static bool is_between(const struct eval_value *v)
{
	return v->kind == EVAL_DOUBLE && v->decimals == EVAL_REAL_DOUBTED;
}

static bool prints_same(const struct eval_type *type, double a, double b)
{
	struct eval_value x = eval_double(a), y = eval_double(b);
	struct buf p = BUF_INIT, q = BUF_INIT;
	bool same;

	eval_print(type, &x, &p);
	eval_print(type, &y, &q);
	same = span_eq(buf_span(&p), buf_span(&q));
	buf_release(&p);
	buf_release(&q);
	return same;
}

static struct eval_value run_aggregate(const struct node *n, struct frame *f)
{
	struct eval_value v;

	if (!f->aggregates)
		return run_gives_up(f->run, LIMIT_EXPRESSION_NOT_MODELLED);
	v = f->aggregates[n->u.number];
	if (is_between(&v)) {
		double low = v.d > v.real ? v.d - v.real : 0, high = v.d + v.real;

		v.decimals = 0;
		if (!n->nested && variance_refused(f->run, prints_same(&n->type, low, high)))
			return EVAL_NULL_VALUE;
		/* Nothing but ROUND takes it (env->shows_variances). */
		f->run->bounded = n->nested;
		f->run->low = low;
		f->run->high = high;
		return v;
	}
	if (!n->nested)
		return v;
	if (nested_aggregate_refused(f->run, &v))
		return EVAL_NULL_VALUE;
	if ((n->aux & AGGREGATE_EXTREME) &&
		nested_extreme_refused(f->run, &v, n->aux & AGGREGATE_MEMBER))
		return EVAL_NULL_VALUE;
	return v;
}

bool node_is_aggregate(const struct node *n)
{
	return n->fn == run_aggregate;
}

bool node_aggregates(const struct node *n)
{
	return node_any(n, node_is_aggregate);
}

/* A column of this very query. */
static bool is_own_column(const struct node *n)
{
	return n->column && n->u.at.depth == 0;
}

static bool names_column(const struct eval_query *q, const struct node *n)
{
	const struct aggregate *a = q->aggregates;

	if (n->fn == run_aggregate) {
		for (int64_t i = 0; i < n->u.number && a; i++)
			a = a->next;
		for (uint32_t i = 0; a && i < a->arg_count; i++) {
			if (node_any(a->args[i], is_own_column))
				return true;
		}
		return false;
	}
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (names_column(q, n->args[i]))
			return true;
	}
	return n->column && n->u.at.depth == 0;
}

bool counts_alone(const struct eval_query *q)
{
	for (uint32_t i = 0; i < q->column_count; i++) {
		if (q->items[i]->fn == run_aggregate || names_column(q, q->items[i]))
			return false;
	}
	return true;
}

/* SUM and AVG. */
static struct eval_type sum_type(const struct eval_env *env, const struct aggregate *a)
{
	struct eval_type t = arithmetic_type(&a->args[0]->type), sum = type_double();
	uint32_t more = a->kind == AGG_AVG ? env->div_precision_increment : 0;
	uint32_t scale = t.kind == EVAL_T_DECIMAL ? t.decimals : 0;

	if (t.kind == EVAL_T_DOUBLE) {
		sum.decimals = a->args[0]->type.kind == EVAL_T_NULL ? EVAL_NOT_FIXED : t.decimals;
		if (a->kind == AGG_AVG && t.decimals < EVAL_NOT_FIXED)
			sum.decimals = (uint8_t)(t.decimals + more);
		return sum;
	}
	if (a->kind == AGG_SUM)
		return type_decimal(type_precision(&t) + 22, scale);
	scale += more;
	if (scale > decimal_scale_max(env))
		scale = decimal_scale_max(env);
	return type_decimal(type_precision(&t) + more, scale);
}

/* MariaDB shows four digits more than the argument has, MySQL all. */
static struct eval_type variance_type(const struct eval_env *env, const struct aggregate *a)
{
	struct eval_type t = type_double();
	uint32_t decimals = a->args[0]->type.kind == EVAL_T_DECIMAL ? a->args[0]->type.decimals : 0;

	t.decimals = EVAL_NOT_FIXED;
	if (env->flavour == SQL_MARIADB && decimals + env->div_precision_increment < EVAL_NOT_FIXED)
		t.decimals = (uint8_t)(decimals + env->div_precision_increment);
	return t;
}

/* MIN and MAX. */
static struct eval_type extreme_type(const struct aggregate *a)
{
	struct eval_type t = a->args[0]->type;

	t.hybrid = t.own_scale = false;
	if (t.kind == EVAL_T_ENUM || t.kind == EVAL_T_SET)
		return type_string(t.collation, 2, 0); /* compared as text */
	return t;
}

static bool aggregate_type(struct compiler *c, struct aggregate *a)
{
	uint16_t collation;

	switch (a->kind) {
	case AGG_COUNT:
		a->type = type_int(false);
		break;
	case AGG_SUM:
	case AGG_AVG:
		a->type = sum_type(c->env, a);
		break;
	case AGG_MIN:
	case AGG_MAX:
		a->type = extreme_type(a);
		break;
	case AGG_BIT_AND:
	case AGG_BIT_OR:
	case AGG_BIT_XOR:
		a->type = type_int(true);
		break;
	case AGG_GROUP_CONCAT:
		if (!aggregate_collation(
			    c, a->args, a->arg_count, OPERATION_BUILDS, &collation, NULL))
			return false;
		a->type = type_string(collation, 2, 0);
		break;
	case AGG_VAR_POP:
	case AGG_VAR_SAMP:
	case AGG_STD_POP:
	case AGG_STD_SAMP:
		a->type = variance_type(c->env, a);
		break;
	}
	return true;
}

static bool group_concat_clauses(
	struct compiler *c, struct aggregate *a, const struct sql_call_extra *extra)
{
	uint32_t count = 0;
	bool *desc;

	a->separator = extra && extra->separator.ptr ? extra->separator : SPAN_LIT(",");
	if (!extra)
		return true;
	if (group_concat_clauses_refused(c, extra))
		return false;
	for (const struct sql_order *o = extra->order; o; o = o->next)
		count++;
	a->order = arena_zero(c->arena, (count + 1) * sizeof(*a->order));
	desc = arena_zero(c->arena, count + 1);
	for (const struct sql_order *o = extra->order; o; o = o->next) {
		if (group_concat_key_refused(c, o->expr))
			return false;
		a->order[a->order_count] = compile_value(c, o->expr);
		if (!a->order[a->order_count])
			return false;
		desc[a->order_count++] = o->desc;
	}
	a->order_desc = desc;
	return true;
}

/* An aggregate that names columns of outer queries only is computed there (MySQL manual, "MySQL
 * Handling of GROUP BY"; the standard's rule). */
static bool belongs_here(const struct scope *scope, const struct aggregate *a)
{
	if (!scope->outer_reach)
		return true;
	for (uint32_t i = 0; i < a->arg_count; i++) {
		if (node_any(a->args[i], is_own_column))
			return true;
	}
	return a->arg_count == 0;
}

bool aggregate_find(const struct sql_expr *e, enum aggregate_kind *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (span_ieq_str(e->u.call.name, kinds[i].name)) {
			*kind = kinds[i].kind;
			return true;
		}
	}
	return false;
}

struct aggregate *aggregate_new(
	struct compiler *c, const struct sql_expr *e, enum aggregate_kind kind)
{
	const struct sql_call_extra *extra = e->u.call.extra;
	struct aggregate *a = arena_zero(c->arena, sizeof(*a));
	uint32_t reach = c->scope->outer_reach;

	a->expr = e;
	a->kind = kind;
	a->distinct = extra && extra->distinct;
	a->star = extra && extra->star;
	a->arg_count = e->u.call.args.count;
	a->args = arena_zero(c->arena, (a->arg_count + 1) * sizeof(*a->args));
	if (!a->star && a->arg_count == 0)
		return (struct aggregate *)compile_error(c, ER_PARSE_ERROR, "an aggregate without argument");
	c->scope->outer_reach = 0;
	if (!compile_list(c, &e->u.call.args, a->args) ||
		(a->kind == AGG_GROUP_CONCAT && !group_concat_clauses(c, a, extra)))
		return NULL;
	for (uint32_t k = 0; k < a->arg_count; k++)
		a->args[k]->nested = true;
	if (aggregate_arguments_refused(c, a))
		return NULL;
	if (outer_aggregate_refused(c, belongs_here(c->scope, a)))
		return NULL;
	if (c->scope->outer_reach < reach)
		c->scope->outer_reach = reach;
	if (aggregate_refused(c, a))
		return NULL;
	return aggregate_type(c, a) ? a : NULL;
}

struct node *compile_aggregate(struct compiler *c, const struct sql_expr *e, bool *is_aggregate)
{
	const struct sql_call_extra *extra = e->u.call.extra;
	enum aggregate_kind kind;
	struct aggregate *a;
	struct scope *scope = c->scope;
	struct node *n;

	*is_aggregate = false;
	if (e->u.call.quoted || (extra && extra->over))
		return NULL;
	if (aggregate_name_refused(c, e->u.call.name)) {
		*is_aggregate = true;
		return NULL;
	}
	if (!aggregate_find(e, &kind))
		return NULL;
	*is_aggregate = true;
	if (aggregate_clauses_refused(c, extra))
		return NULL;
	if (!scope || !scope->aggregates_allowed || scope->in_aggregate)
		return compile_error(c, ER_INVALID_GROUP_FUNC_USE, "an aggregate where none may stand");
	scope->in_aggregate = true;
	a = aggregate_new(c, e, kind);
	scope->in_aggregate = false;
	if (!a)
		return NULL;
	if (second_group_concat_refused(c, a, scope->aggregates))
		return NULL;
	*scope->aggregates_tail = a;
	scope->aggregates_tail = &a->next;
	n = node_new(c, run_aggregate, e, 0);
	n->type = a->type;
	n->u.number = scope->aggregate_count++;
	if (kind == AGG_MIN || kind == AGG_MAX)
		n->aux = AGGREGATE_EXTREME | (a->args[0]->type.kind == EVAL_T_ENUM ||
						     a->args[0]->type.kind == EVAL_T_SET
							     ? AGGREGATE_MEMBER
							     : 0);
	return n;
}

/* ---- values ---- */

/* GROUP_CONCAT sorts its rows without looking whether a key is NULL: it finds what an empty column has. */
static struct eval_value concat_key(struct run *run, const struct eval_type *type, struct eval_value v)
{
	struct eval_type integer = type_int(false);
	struct eval_value zero = eval_int(0);

	if (concat_order_refused(run, type, &v))
		return EVAL_NULL_VALUE;
	switch ((enum eval_type_kind)type->kind) {
	case EVAL_T_INT:
	case EVAL_T_DECIMAL:
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE:
		return v.kind == EVAL_NULL ? to_type(run, &integer, &zero, type) : v;
	case EVAL_T_STRING:
		return v.kind == EVAL_NULL ? eval_string(SPAN_LIT(""), type->collation) : v;
	case EVAL_T_DATE:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
	case EVAL_T_ENUM:
	case EVAL_T_NULL:
	case EVAL_T_BIT:
	case EVAL_T_YEAR:
	case EVAL_T_SET:
	case EVAL_T_JSON:
	case EVAL_T_TIME:
		break;
	}
	return v;
}

/* Is the argument put into a temporary table, and taken from there? */
static bool is_kept(const struct aggregate *a, uint32_t k, const struct eval_value *v)
{
	/* 7 / i has more digits than the table's column. */
	if (a->distinct && v->kind == EVAL_DECIMAL)
		return true;
	return a->kind == AGG_GROUP_CONCAT && !a->args[k]->constant && v->kind != EVAL_OPAQUE &&
	       (a->distinct || a->order_count || v->kind != EVAL_DOUBLE || v->d != 0);
}

/* The arguments of one group's rows; rows with a NULL among them are left out. */
static struct arguments collect(const struct eval_query *q, const struct aggregate *a,
	struct frame *f, const uint32_t *matches, const uint32_t *members, size_t count,
	const struct eval_rows *rows)
{
	struct arguments out = {arena_alloc(f->run->arena, (count + 1) * sizeof(void *)), 0};

	for (size_t i = 0; i < count && run_step(f->run); i++) {
		struct eval_value *values = arena_alloc(
			f->run->arena, (a->arg_count + a->order_count + 1) * sizeof(*values));
		bool null = false;

		frame_set(q, f, rows, matches + members[i] * q->table_count);
		for (uint32_t k = 0; k < a->arg_count; k++) {
			values[k] = node_run(a->args[k], f);
			null |= values[k].kind == EVAL_NULL;
			aggregated_value_refused(f->run, a, &values[k]);
			if (is_kept(a, k, &values[k]))
				values[k] = materialized(f->run, &a->args[k]->type, values[k]);
		}
		if (null)
			continue;
		for (uint32_t k = 0; k < a->order_count; k++)
			values[a->arg_count + k] =
				concat_key(f->run, &a->order[k]->type, node_run(a->order[k], f));
		out.rows[out.count++] = values;
	}
	return out;
}

static int compare_arguments(struct run *run, const struct aggregate *a, const struct eval_value *x,
	const struct eval_value *y)
{
	for (uint32_t k = 0; k < a->arg_count; k++) {
		int c = order_values(run, &a->args[k]->type, &x[k], &y[k]);

		if (c)
			return c;
	}
	return 0;
}

/* Quadratic: groups are small, and the number of steps is bounded.  Of equal rows the server keeps the one
 * that it reads first.  GROUP_CONCAT sorts those that are kept, so their places are certain only where equal
 * rows are neighbours in the order of all. */
static void drop_equal(struct run *run, const struct aggregate *a, struct arguments *args)
{
	size_t kept = 0;

	for (size_t i = 0; i < args->count; i++) {
		bool seen = false;

		for (size_t k = 0; k < kept && !seen && run_step(run); k++) {
			seen = compare_arguments(run, a, args->rows[k], args->rows[i]) == 0;
			if (seen && a->kind == AGG_GROUP_CONCAT) {
				for (uint32_t j = 0; j < a->arg_count; j++) {
					if (!eval_same(&args->rows[k][j], &args->rows[i][j]))
						run_gives_up(
							run, LIMIT_DISTINCT_AMONG_TEXTS_EQUAL_AND_DIFFER);
				}
				if (k + 1 < kept)
					run_gives_up(run,
						LIMIT_GROUP_CONCAT_DISTINCT_IN_ORDER_OF_ANOTHER_VALUE);
			}
		}
		if (!seen)
			args->rows[kept++] = args->rows[i];
	}
	args->count = kept;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return (x > y) - (x < y);
}

/* The sum, if it is the same in several orders. */
static struct eval_value sum_doubles(
	struct run *run, const struct aggregate *a, const struct arguments *args)
{
	double forward = 0, backward = 0, up = 0, down = 0;
	double *values = arena_alloc(run->arena, (args->count + 1) * sizeof(*values));

	for (size_t i = 0; i < args->count; i++) {
		values[i] = to_double(run, &a->args[0]->type, &args->rows[i][0]);
		forward += values[i];
	}
	for (size_t i = args->count; i-- > 0;)
		backward += values[i];
	if (forward == 0 && zero_sum_refused(run))
		return EVAL_NULL_VALUE;
	qsort(values, args->count, sizeof(*values), compare_doubles);
	for (size_t i = 0; i < args->count; i++)
		up += values[i];
	for (size_t i = args->count; i-- > 0;)
		down += values[i];
	if (forward != backward || forward != up || forward != down)
		return run_gives_up(run, LIMIT_SUM_OF_DOUBLES_THAT_DEPENDS_ON_THEIR_ORDER);
	if (!isfinite(forward))
		return run_gives_up(run, LIMIT_SUM_BEYOND_DOUBLE);
	return eval_double(forward);
}

static struct eval_value sum(
	struct run *run, const struct aggregate *a, const struct arguments *args)
{
	struct decimal total = {0};
	struct eval_value v;
	double real;

	if (!args->count)
		return EVAL_NULL_VALUE;
	if (a->type.kind == EVAL_T_DOUBLE) {
		v = sum_doubles(run, a, args);
		if (a->kind == AGG_AVG && v.kind == EVAL_DOUBLE)
			v.d /= (double)args->count;
		return v;
	}
	for (size_t i = 0; i < args->count; i++) {
		struct decimal d = to_decimal(run, &a->args[0]->type, &args->rows[i][0]);

		if (summand_refused(run, &a->args[0]->type, &d))
			return EVAL_NULL_VALUE;
		if (!decimal_add(&total, &d, &total))
			return run_gives_up(run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
	}
	real = decimal_to_double(&total) / (double)args->count;
	if (a->kind == AGG_AVG) {
		struct decimal n = decimal_from_uint(args->count);

		/* More digits than are shown, as the servers keep them. */
		uint32_t scale = (total.scale + run->env->div_precision_increment + 8u) / 9 * 9;

		if (!decimal_div(&total, &n, scale, &total))
			return run_gives_up(run, LIMIT_DECIMAL_NEAR_LIMIT_OF_DIGITS);
	}
	v = make_decimal(run, &total);
	if (a->kind == AGG_AVG && v.kind == EVAL_DECIMAL) {
		v.decimals = EVAL_REAL_OWN;
		v.real = real;
	}
	return v;
}

static struct eval_value extreme(
	struct run *run, const struct aggregate *a, const struct arguments *args)
{
	struct eval_value best = EVAL_NULL_VALUE;
	const struct eval_type *type = a->type.kind == EVAL_T_STRING ? &a->type : &a->args[0]->type;

	for (size_t i = 0; i < args->count; i++) {
		const struct eval_value *v = &args->rows[i][0];
		int order = i ? order_values(run, type, v, &best) : 0;

		if (extreme_value_refused(run, a, type, v) ||
			(i && order == 0 && equal_extremes_refused(run, v, &best)))
			return EVAL_NULL_VALUE;
		if (i == 0 || (a->kind == AGG_MIN ? order < 0 : order > 0))
			best = *v;
	}
	return best;
}

static struct eval_value bits(
	struct run *run, const struct aggregate *a, const struct arguments *args)
{
	uint64_t u = a->kind == AGG_BIT_AND ? UINT64_MAX : 0;

	for (size_t i = 0; i < args->count; i++) {
		struct eval_value v = to_integer(run, &a->args[0]->type, &args->rows[i][0]);
		uint64_t x = v.kind == EVAL_UINT ? v.u : (uint64_t)v.i;

		if (aggregated_bits_refused(run, &args->rows[i][0], &v))
			return EVAL_NULL_VALUE;
		u = a->kind == AGG_BIT_AND ? u & x : a->kind == AGG_BIT_OR ? u | x : u ^ x;
	}
	return eval_uint(u);
}

struct concat {
	struct run *run;
	const struct aggregate *a;
};

static int compare_concat(const void *px, const void *py, void *ctx)
{
	const struct concat *s = ctx;
	const struct eval_value *x = *(const struct eval_value *const *)px;
	const struct eval_value *y = *(const struct eval_value *const *)py;

	for (uint32_t k = 0; k < s->a->order_count; k++) {
		int c = order_values(s->run, &s->a->order[k]->type, &x[s->a->arg_count + k],
			&y[s->a->arg_count + k]);

		if (c)
			return s->a->order_desc[k] ? -c : c;
	}
	return 0;
}

static struct eval_value group_concat(
	struct run *run, const struct aggregate *a, struct arguments *args)
{
	struct concat s = {run, a};
	struct buf text = BUF_INIT;
	struct eval_value v;

	if (!args->count)
		return EVAL_NULL_VALUE;
	qsort_r(args->rows, args->count, sizeof(*args->rows), compare_concat, &s);
	for (size_t i = 0; i < args->count; i++) {
		if (!i || compare_concat(&args->rows[i - 1], &args->rows[i], &s) != 0)
			continue;
		for (uint32_t k = 0; k < a->arg_count; k++) {
			if (!eval_same(&args->rows[i - 1][k], &args->rows[i][k]))
				run_gives_up(run, LIMIT_GROUP_CONCAT_IN_NO_CERTAIN_ORDER);
		}
	}
	if (a->distinct)
		drop_equal(run, a, args);
	for (size_t i = 0; i < args->count; i++) {
		if (i)
			buf_add_span(&text, a->separator);
		for (uint32_t k = 0; k < a->arg_count; k++) {
			struct eval_type type = a->args[k]->type;
			struct span part;
			bool malformed;

			type.own_scale &= a->args[k]->constant; /* it is in no table */
			part = to_text(run, &type, &args->rows[i][k]);
			if (args->rows[i][k].kind == EVAL_STRING &&
				!text_convert(run->arena,
					collation_charset(args->rows[i][k].collation),
					collation_charset(a->type.collation), part, &part,
					&malformed))
				run_gives_up(run, LIMIT_TEXT_THAT_OTHER_CHARACTER_SET_LACKS);
			buf_add_span(&text, part);
		}
	}
	concat_length_refused(run, text.len);
	v = make_text(run, &text, a->type.collation);
	buf_release(&text);
	return v;
}

/* The servers go through the rows once, in an order that is not known, with doubles (Item_sum_variance). */
static struct eval_value variance(struct run *run, const struct aggregate *a, const struct arguments *args)
{
	bool sample = a->kind == AGG_VAR_SAMP || a->kind == AGG_STD_SAMP;
	bool root = a->kind == AGG_STD_POP || a->kind == AGG_STD_SAMP;
	size_t count = args->count;
	double largest = 0, off, low, high;
	long double mean = 0, sum = 0;
	struct eval_value v;

	if (count <= (sample ? 1 : 0))
		return EVAL_NULL_VALUE;
	for (size_t i = 0; i < count; i++) {
		double x = to_double(run, &a->args[0]->type, &args->rows[i][0]);

		mean += x;
		largest = fabs(x) > largest ? fabs(x) : largest;
	}
	mean /= (long double)count;
	for (size_t i = 0; i < count; i++) {
		long double x = to_double(run, &a->args[0]->type, &args->rows[i][0]) - mean;

		sum += x * x;
	}
	/* All are the same: so is it in every order. */
	if (sum == 0)
		return eval_double(0);
	sum /= (long double)(sample ? count - 1 : count);
	off = (double)count * largest * largest * 8 * DBL_EPSILON;
	low = (double)sum > off ? (double)sum - off : 0;
	high = (double)sum + off;
	v = eval_double(root ? sqrt((double)sum) : (double)sum);
	v.decimals = EVAL_REAL_DOUBTED;
	v.real = root ? fmax(v.d - sqrt(low), sqrt(high) - v.d) : off;
	return v;
}

struct eval_value aggregate_value(
	struct run *run, const struct aggregate *a, struct arguments *args)
{
	switch (a->kind) {
	case AGG_COUNT:
		return eval_int((int64_t)args->count);
	case AGG_SUM:
	case AGG_AVG:
		return sum(run, a, args);
	case AGG_MIN:
	case AGG_MAX:
		return extreme(run, a, args);
	case AGG_BIT_AND:
	case AGG_BIT_OR:
	case AGG_BIT_XOR:
		return bits(run, a, args);
	case AGG_GROUP_CONCAT:
		return group_concat(run, a, args);
	case AGG_VAR_POP:
	case AGG_VAR_SAMP:
	case AGG_STD_POP:
	case AGG_STD_SAMP:
		return variance(run, a, args);
	}
	return EVAL_NULL_VALUE;
}

bool run_aggregates(const struct eval_query *q, struct frame *f, const uint32_t *matches,
	const uint32_t *members, size_t count, const struct eval_rows *rows, struct eval_value *out)
{
	for (const struct aggregate *a = q->aggregates; a; a = a->next, out++) {
		struct arguments args;

		if (a->star) {
			*out = eval_int((int64_t)count);
			continue;
		}
		args = collect(q, a, f, matches, members, count, rows);
		if (a->distinct && a->kind != AGG_GROUP_CONCAT)
			drop_equal(f->run, a, &args);
		*out = aggregate_value(f->run, a, &args);
		if (out->kind == EVAL_DECIMAL && out->decimals &&
			(q->group_count || q->window_count || q->distinct))
			out->decimals = EVAL_REAL_DOUBTED;
		if (f->run->failed)
			return false;
	}
	return true;
}
