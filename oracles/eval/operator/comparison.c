/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manual, "Type Conversion in Expression Evaluation" and "Comparison Functions and Operators":
 * two strings are compared as strings, two integers as integers, DECIMAL with DECIMAL or integer as
 * DECIMAL, temporal values as such with whatever can be read as one, and everything else as DOUBLE.
 */
#include "eval/compile.h"
#include "eval/operator/comparison.h"

#include <math.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"
#include "server/errors.h"

/* ---- how to compare ---- */

enum cmp_class class_of(const struct eval_type *type)
{
	switch ((enum eval_type_kind)type->kind) {
	case EVAL_T_NULL:
		return CMP_NULL;
	case EVAL_T_INT:
	case EVAL_T_BIT:
	case EVAL_T_YEAR:
		return CMP_INT;
	case EVAL_T_DECIMAL:
		return CMP_DECIMAL;
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE:
		return CMP_REAL;
	case EVAL_T_STRING:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_JSON:
		return CMP_STRING;
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return CMP_TIME;
	}
	return CMP_REAL;
}

bool integer_and_text(enum cmp_class a, enum cmp_class b)
{
	return (a == CMP_INT && b == CMP_STRING) || (a == CMP_STRING && b == CMP_INT);
}

bool may_be_constant(const struct node *n)
{
	if (n->constant || (n->expr && n->expr->kind == SQL_EXPR_SUBQUERY))
		return true;
	/* NOW() and the like, in one statement */
	if (n->expr && n->expr->kind == SQL_EXPR_CALL && !n->arg_count && type_is_temporal(&n->type))
		return true;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!may_be_constant(n->args[i]))
			return false;
	}
	return n->arg_count > 0;
}

bool is_bigint_column(const struct node *n)
{
	return n->column && n->type.kind == EVAL_T_INT && n->type.bytes == 8;
}

bool constant_is_cut(struct compiler *c, const struct node *constant)
{
	struct eval_outcome outcome = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};
	struct eval_value v = node_run(constant, &f);

	run.strict = true;
	if (v.kind != EVAL_NULL && !run.failed)
		(void)to_double(&run, &constant->type, &v);
	return run.failed;
}

/* The classes that two values are compared as: 0x41 is a number beside a number, NULL is as the other. */
static void classes_of(
	const struct eval_type *a, const struct eval_type *b, enum cmp_class *x, enum cmp_class *y)
{
	*x = class_of(a);
	*y = class_of(b);
	if (a->hybrid && (*y == CMP_INT || *y == CMP_DECIMAL || *y == CMP_REAL))
		*x = CMP_INT;
	if (b->hybrid && (*x == CMP_INT || *x == CMP_DECIMAL || *x == CMP_REAL))
		*y = CMP_INT;
	if (*x == CMP_NULL)
		*x = *y;
	if (*y == CMP_NULL)
		*y = *x;
}

/* The type of a comparison of which at least one side is a number, and none a date or time. */
static struct eval_type number_comparison(
	bool mysql, const struct eval_type *a, const struct eval_type *b)
{
	enum cmp_class x, y;

	classes_of(a, b, &x, &y);
	if ((a->hybrid && y == CMP_DECIMAL) || (b->hybrid && x == CMP_DECIMAL))
		return type_double();
	if (x == CMP_NULL || (x == CMP_INT && y == CMP_INT))
		return type_int(false);
	if ((x == CMP_INT || x == CMP_DECIMAL) && (y == CMP_INT || y == CMP_DECIMAL))
		return type_decimal(65, 0);
	return !mysql && integer_and_text(x, y) ? type_decimal(65, 0) : type_double();
}

bool comparison_type_of(
	struct compiler *c, const struct node *a, const struct node *b, struct comparison *out)
{
	struct node *pair[2] = {(struct node *)(uintptr_t)a, (struct node *)(uintptr_t)b};
	enum cmp_class x, y;

	*out = (struct comparison){.collation = COLLATION_BINARY};
	if (node_is_row(a) || node_is_row(b)) {
		compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
		return false;
	}
	if (comparison_refused(c, pair))
		return false;
	classes_of(&a->type, &b->type, &x, &y);
	if (x == CMP_STRING && y == CMP_STRING) {
		out->as = type_string(COLLATION_BINARY, 4, 0);
		return true;
	}
	if (x == CMP_TIME || y == CMP_TIME) {
		bool time = (x != CMP_TIME || a->type.kind == EVAL_T_TIME) &&
			    (y != CMP_TIME || b->type.kind == EVAL_T_TIME);

		out->as = type_temporal(time ? EVAL_T_TIME : EVAL_T_DATETIME, 6);
		return !time_comparison_refused(c, pair);
	}
	out->as = number_comparison(c->env->flavour == SQL_MYSQL, &a->type, &b->type);
	if (number_comparison_refused(c, pair))
		return false;
	if (a->type.kind == EVAL_T_YEAR && a->column && b->constant)
		out->year = 2;
	else if (b->type.kind == EVAL_T_YEAR && b->column && a->constant)
		out->year = 1;
	return true;
}

bool comparison_of(
	struct compiler *c, const struct node *a, const struct node *b, struct comparison *out)
{
	struct node *pair[2] = {(struct node *)(uintptr_t)a, (struct node *)(uintptr_t)b};

	return comparison_type_of(c, a, b, out) &&
	       (out->as.kind != EVAL_T_STRING ||
		       aggregate_collation(c, pair, 2, OPERATION_COMPARES, &out->collation, NULL));
}

/* ---- comparing ---- */

struct span text_in(struct run *run, const struct eval_type *type, const struct eval_value *v,
	uint16_t collation)
{
	struct span s = to_text(run, type, v);
	bool malformed;

	if (v->kind == EVAL_STRING && v->collation != collation &&
		!text_convert(run->arena, collation_charset(v->collation),
			collation_charset(collation), s, &s, &malformed))
		run_gives_up(run, LIMIT_TEXT_THAT_OTHER_CHARACTER_SET_LACKS);
	return s;
}

static int sign_of(bool greater, bool less)
{
	return greater - less;
}

static int compare_integers(const struct eval_value *a, const struct eval_value *b)
{
	if (a->kind == b->kind)
		return a->kind == EVAL_INT ? sign_of(a->i > b->i, a->i < b->i)
					   : sign_of(a->u > b->u, a->u < b->u);
	if (a->kind == EVAL_INT)
		return a->i < 0 ? -1 : sign_of((uint64_t)a->i > b->u, (uint64_t)a->i < b->u);
	return b->i < 0 ? 1 : sign_of(a->u > (uint64_t)b->i, a->u < (uint64_t)b->i);
}

/* MariaDB compares what is no date as 0000-00-00, and dates such as 2024-02-30 as they are. */
static bool time_operand(struct run *run, const struct eval_type *type, const struct eval_value *v,
	enum eval_kind kind, struct eval_value *out)
{
	const struct eval_env *env = run->env;
	struct eval_env loose = *env;
	bool found;

	if (env->flavour == SQL_MYSQL)
		return time_from_value(run, type, v, kind, out);
	loose.mode &= ~(uint32_t)(EVAL_MODE_NO_ZERO_DATE | EVAL_MODE_NO_ZERO_IN_DATE);
	loose.mode |= EVAL_MODE_ALLOW_INVALID_DATES;
	run->env = &loose;
	found = time_from_value(run, type, v, kind, out);
	run->env = env;
	if (!found) {
		compared_no_time_refused(run, v, kind);
		*out = (struct eval_value){.kind = (uint8_t)kind};
	}
	return !run->failed;
}

/* A constant beside a YEAR column is a YEAR: 5 is 2005. */
static void as_year(struct run *run, struct eval_value *v)
{
	if (v->kind == EVAL_INT && v->i > 0 && v->i < 100)
		v->i += v->i < 70 ? 2000 : 1900;
	else if (v->kind == EVAL_UINT && v->u > 0 && v->u < 100)
		v->u += v->u < 70 ? 2000 : 1900;
	else
		compared_year_refused(run, v);
}

/* Strings have decimals too: none where CAST(x AS CHAR) made them, so that 2 = CAST('1.5' AS CHAR). */
static void round_to(const struct eval_type *type, struct decimal *d)
{
	if ((type->kind == EVAL_T_DECIMAL || type_is_string(type)) && d->scale > type->decimals &&
		!decimal_round(d, type->decimals, DECIMAL_HALF_UP, d))
		d->scale = type->decimals; /* cannot be: fewer digits always fit */
}

/* Was it made an integer when the statement was prepared?  It must be one, and have room in the column. */
static bool made_ahead(const struct comparison *how, const struct eval_value *v)
{
	size_t used;
	double d;

	if (how->ahead == NOT_AHEAD || v->kind != EVAL_STRING)
		return false;
	d = text_to_double(v->s, &used);
	return d == rint(d) && fabs(d) < 0x1p63 && (d >= 0 || how->ahead == AHEAD_SIGNED);
}

int compare_as(struct run *run, const struct comparison *how, const struct eval_type *at,
	const struct eval_value *a, const struct eval_type *bt, const struct eval_value *b,
	bool *null)
{
	*null = false;
	if (run->strict && (made_ahead(how, a) || made_ahead(how, b))) {
		int order;

		run->strict = false;
		order = compare_as(run, how, at, a, bt, b, null);
		run->strict = true;
		return order;
	}
	switch ((enum eval_type_kind)how->as.kind) {
	case EVAL_T_STRING:
	case EVAL_T_ENUM:
	case EVAL_T_SET:
	case EVAL_T_JSON: {
		struct span x = text_in(run, at, a, how->collation);
		struct span y = text_in(run, bt, b, how->collation);
		bool unknown = false;
		int c = collation_compare(how->collation, x, y, &unknown);

		if (unknown)
			run_gives_up(run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
		return c;
	}
	case EVAL_T_NULL:
	case EVAL_T_INT:
	case EVAL_T_BIT:
	case EVAL_T_YEAR: {
		struct eval_value x = to_integer(run, at, a), y = to_integer(run, bt, b);

		if (at->kind == EVAL_T_BIT || bt->kind == EVAL_T_BIT)
			compared_bits_refused(run, &(struct compared){at, &x}, &(struct compared){bt, &y});
		if (how->year)
			as_year(run, how->year == 1 ? &x : &y);
		return compare_integers(&x, &y);
	}
	case EVAL_T_DECIMAL: {
		struct decimal x, y;

		if (year_and_fraction_refused(run, how))
			return 0;
		x = to_decimal(run, at, a);
		y = to_decimal(run, bt, b);
		if (how->rounds) {
			round_to(at, &x);
			round_to(bt, &y);
		}
		compared_decimals_refused(run, how, &(struct compared){at, a},
			&(struct compared){bt, b}, &x, &y);
		return decimal_compare(&x, &y);
	}
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE: {
		double x, y;

		if (year_and_fraction_refused(run, how))
			return 0;
		x = to_double(run, at, a);
		y = to_double(run, bt, b);
		compared_doubles_refused(run, how, a, b, x, y);
		if (how->within && fabs(x - y) < how->within)
			return 0;
		return sign_of(x > y, x < y);
	}
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP: {
		struct eval_value x, y;
		int64_t i, j;

		if (!time_operand(run, at, a, eval_kind_of(&how->as), &x) ||
			!time_operand(run, bt, b, eval_kind_of(&how->as), &y)) {
			*null = true;
			return 0;
		}
		i = time_pack(&x);
		j = time_pack(&y);
		return sign_of(i > j, i < j);
	}
	}
	return 0;
}

bool order_satisfies(enum sql_op op, int order)
{
	switch (op) {
	case SQL_OP_EQ:
	case SQL_OP_NULL_EQ:
		return order == 0;
	case SQL_OP_NE:
		return order != 0;
	case SQL_OP_LT:
		return order < 0;
	case SQL_OP_LE:
		return order <= 0;
	case SQL_OP_GT:
		return order > 0;
	case SQL_OP_GE:
		return order >= 0;
	default:
		return false;
	}
}

void note_ahead(struct compiler *c, const struct node *column, const struct node *constant,
	struct comparison *how)
{
	if (!is_bigint_column(column) || !type_is_string(&constant->type) || !may_be_constant(constant))
		return;
	if (c->env->flavour == SQL_MARIADB)
		how->ahead = column->type.is_unsigned ? AHEAD_UNSIGNED : AHEAD_SIGNED;
	else
		c->cut_constant |= !constant->constant || constant_is_cut(c, constant);
}

void as_operator(
	struct compiler *c, const struct node *a, const struct node *b, struct comparison *how)
{
	uint8_t da = type_is_int(&a->type) ? 0 : a->type.decimals;
	uint8_t db = type_is_int(&b->type) ? 0 : b->type.decimals;

	how->rounds = c->env->flavour == SQL_MARIADB;
	note_ahead(c, a, b, how);
	note_ahead(c, b, a, how);
	/* A constant string beside a DECIMAL that is not constant is read as a DECIMAL. */
	if (how->as.kind == EVAL_T_DOUBLE &&
		((a->type.kind == EVAL_T_DECIMAL && !a->constant && type_is_string(&b->type) &&
			 b->constant) ||
			(b->type.kind == EVAL_T_DECIMAL && !b->constant &&
				type_is_string(&a->type) && a->constant)))
		how->as = type_decimal(65, 0);
	if (how->as.kind == EVAL_T_DOUBLE && da < EVAL_NOT_FIXED && db < EVAL_NOT_FIXED)
		how->within = 5 / pow(10, (da > db ? da : db) + 1);
}

bool operator_comparison_of(
	struct compiler *c, const struct node *a, const struct node *b, struct comparison *out)
{
	if (!comparison_of(c, a, b, out) || subquery_comparison_refused(c, a, b))
		return false;
	as_operator(c, a, b, out);
	return true;
}

void compare_alone(struct run *run, const struct comparison *how, const struct eval_type *type,
	const struct eval_value *v)
{
	bool null;

	if (run->strict && v->kind == EVAL_STRING && !type_is_temporal(&how->as) && !made_ahead(how, v))
		(void)compare_as(run, how, type, v, type, v, &null);
}

static struct eval_value run_compare(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value a = node_run(n->args[0], f), b;
	bool null;
	int order;

	if (run_erred(f->run) && constant_error_refused(f->run, n->args[0], how))
		return EVAL_NULL_VALUE;
	if (a.kind == EVAL_NULL && n->op != SQL_OP_NULL_EQ)
		return EVAL_NULL_VALUE;
	b = node_run(n->args[1], f);
	if (run_erred(f->run) && compared_error_refused(f->run, n->args, &a, how))
		return EVAL_NULL_VALUE;
	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL) {
		const struct eval_type *at = &n->args[0]->type, *bt = &n->args[1]->type;

		if (null_and_date_refused(f->run, how, b.kind == EVAL_NULL ? at : NULL,
			    a.kind == EVAL_NULL ? bt : NULL))
			return EVAL_NULL_VALUE;
		if (bt->kind != EVAL_T_NULL)
			compare_alone(f->run, how, at, &a);
		/* MariaDB asks the second as well, MySQL beside <=> in a query only. */
		if (at->kind != EVAL_T_NULL &&
			(f->run->env->flavour == SQL_MARIADB || n->op == SQL_OP_NULL_EQ)) {
			bool failed = f->run->failed;

			compare_alone(f->run, how, bt, &b);
			if (!failed && second_error_refused(f->run, &a))
				return EVAL_NULL_VALUE;
		}
		if (n->op == SQL_OP_NULL_EQ)
			return truth(a.kind == b.kind);
		return EVAL_NULL_VALUE;
	}
	order = compare_as(f->run, how, &n->args[0]->type, &a, &n->args[1]->type, &b, &null);
	if (null) {
		if (n->op == SQL_OP_NULL_EQ)
			return run_gives_up(f->run, LIMIT_NOT_DATE_OR_TIME_COMPARED_WITH_ONE);
		return EVAL_NULL_VALUE;
	}
	return truth(order_satisfies(n->op, order));
}

/* ---- rows ---- */

static struct eval_value run_row(const struct node *n, struct frame *f)
{
	(void)n;
	return run_error(f->run, ER_OPERAND_COLUMNS, "a row where a value is wanted");
}

bool node_is_row(const struct node *n)
{
	return n->fn == run_row;
}

struct node *compile_row(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_row, e, e->u.call.args.count);

	return compile_list(c, &e->u.call.args, n->args) ? n : NULL;
}

/* (a, b) op (c, d): args are a, c, b, d. */
static struct eval_value run_compare_rows(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	bool unknown = false, null;

	for (uint32_t i = 0; i + 1 < n->arg_count; i += 2) {
		const struct node *l = n->args[i], *r = n->args[i + 1];
		struct eval_value a = node_run(l, f), b = EVAL_NULL_VALUE;
		int order;

		if (a.kind != EVAL_NULL || n->op == SQL_OP_NULL_EQ || r->constant)
			b = node_run(r, f);
		row_error_refused(f->run, &a);
		if (conversion_error_refused(f->run, &l->type, &r->type) || f->run->failed)
			return EVAL_NULL_VALUE;
		if (a.kind == EVAL_NULL || b.kind == EVAL_NULL) {
			if (null_and_date_refused(f->run, &how[i / 2], &l->type, &r->type))
				return EVAL_NULL_VALUE;
			compare_alone(f->run, &how[i / 2], &l->type, &a);
			if (n->op == SQL_OP_NULL_EQ) {
				compare_alone(f->run, &how[i / 2], &r->type, &b);
				if (a.kind != b.kind)
					return truth(false);
				continue;
			}
			/* Equality may still be refuted by a later pair; order is not known. */
			if (n->op != SQL_OP_EQ && n->op != SQL_OP_NE)
				return EVAL_NULL_VALUE;
			unknown = true;
			continue;
		}
		if (row_values_refused(f->run, &a, &b))
			return EVAL_NULL_VALUE;
		order = compare_as(f->run, &how[i / 2], &l->type, &a, &r->type, &b, &null);
		if (null)
			return run_gives_up(f->run, LIMIT_NOT_DATE_OR_TIME_COMPARED_WITH_ONE);
		if (order == 0)
			continue;
		if (n->op == SQL_OP_EQ || n->op == SQL_OP_NULL_EQ)
			return truth(false);
		if (n->op == SQL_OP_NE)
			return truth(true);
		return truth(order_satisfies(n->op, order));
	}
	if (unknown)
		return EVAL_NULL_VALUE;
	return truth(order_satisfies(n->op, 0));
}

/* The values of one place of two rows.  `among`: of several rows in IN. */
static bool compile_row_pair(
	struct compiler *c, struct node **pair, bool among, struct comparison *how)
{
	if (row_pair_refused(c, pair))
		return false;
	if (row_constants_refused(c, pair))
		return false;
	if ((among && row_among_refused(c, pair)) ||
		!operator_comparison_of(c, pair[0], pair[1], how) ||
		row_comparison_refused(c, pair, how))
		return false;
	how->year = 0;
	how->ahead = NOT_AHEAD;
	if (!among)
		return true;
	how->rounds = false; /* among several rows a DECIMAL has all its digits */
	if (row_comparison_among_refused(c, pair, how))
		return false;
	if (how->as.kind == EVAL_T_STRING && c->env->flavour == SQL_MARIADB &&
		type_is_string(&pair[0]->type))
		how->collation = pair[0]->type.collation;
	return true;
}

static struct node *compile_compare_rows(struct compiler *c, const struct sql_expr *e,
	enum sql_op op, struct node *l, struct node *r)
{
	struct node *n = node_new(c, run_compare_rows, e, 2 * l->arg_count);
	struct comparison *how = arena_zero(c->arena, (l->arg_count + 1) * sizeof(*how));
	bool among = e->kind == SQL_EXPR_IN && e->u.in.list.count > 1;

	if (!node_is_row(l) || !node_is_row(r) || l->arg_count != r->arg_count)
		return compile_error(c, ER_OPERAND_COLUMNS, "rows of different sizes");
	for (uint32_t i = 0; i < l->arg_count; i++) {
		n->args[2 * i] = l->args[i];
		n->args[2 * i + 1] = r->args[i];
		if (!compile_row_pair(c, &n->args[2 * i], among, &how[i]))
			return NULL;
	}
	n->op = (uint8_t)op;
	n->type = type_bool();
	n->u.data = how;
	return n;
}

/* Columns of two tables. */
static bool joins_tables(const struct node *l, const struct node *r)
{
	return l->column && r->column &&
	       (l->u.at.table != r->u.at.table || l->u.at.depth != r->u.at.depth);
}

/* Is it a text of the outer query that is compared under its own collation?  Then it is as good as its
 * equals. */
static bool is_outer_text(const struct node *side, const struct comparison *how)
{
	return side->column && side->u.at.depth == 1 && type_is_string(&side->type) &&
	       how->as.kind == EVAL_T_STRING && how->collation == side->type.collation &&
	       how->collation != COLLATION_BINARY;
}

struct node *compile_compare(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r)
{
	bool equal = op == SQL_OP_EQ || op == SQL_OP_NULL_EQ;
	struct node *n;
	struct comparison *how;

	if (node_is_row(l) || node_is_row(r))
		return compile_compare_rows(c, e, op, l, r);
	if (l->type.kind == EVAL_T_JSON || r->type.kind == EVAL_T_JSON)
		return compile_json_compare(c, e, op, l, r);
	n = node_new(c, run_compare, e, 2);
	how = arena_zero(c->arena, sizeof(*how));
	n->args[0] = l;
	n->args[1] = r;
	n->op = (uint8_t)op;
	n->type = type_bool();
	if (!operator_comparison_of(c, l, r, how) ||
		index_lookup_refused(c, l, r, equal) || index_lookup_refused(c, r, l, equal))
		return NULL;
	n->u.data = how;
	if (equal && joins_tables(l, r)) {
		how->joins = c->env->flavour == SQL_MYSQL;
		if (join_key_refused(c, n->args))
			return NULL;
	}
	for (int i = 0; i < 2; i++) {
		if (c->scope && c->scope->outer_text && is_outer_text(n->args[i], how))
			c->scope->outer_text--;
	}
	return n;
}

bool node_is_comparison(const struct node *n)
{
	return n->fn == run_compare;
}

static bool note_row(void *ctx, const struct sql_expr *e)
{
	bool *found = ctx;

	*found |= e->kind == SQL_EXPR_ROW;
	return true;
}

static bool is_row_comparison(const struct node *n)
{
	bool found = false;

	if (n->fn == run_compare_rows)
		return true;
	if (n->expr && n->expr->kind == SQL_EXPR_SUBQUERY)
		sql_walk_expr(n->expr, &(struct sql_visitor){.expr = note_row, .ctx = &found});
	return found;
}

bool compares_rows(const struct node *n)
{
	return node_any(n, is_row_comparison);
}
