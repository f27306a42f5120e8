/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The manual, "Type Conversion in Expression Evaluation" and "Comparison Functions and Operators":
 * two strings are compared as strings, two integers as integers, DECIMAL with DECIMAL or integer as
 * DECIMAL, temporal values as such with whatever can be read as one, and everything else as DOUBLE.
 */
#include "sql/compare.h"

#include "sql/temporal.h"

/* ---- how to compare ---- */

enum cmp_class { CMP_STRING, CMP_INT, CMP_DECIMAL, CMP_REAL, CMP_TIME, CMP_NULL };

static enum cmp_class class_of(const struct eval_type *type)
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

bool aggregate_collation(struct compiler *c, struct node **args, uint32_t count,
	const char *operation, uint16_t *collation, uint8_t *coercibility)
{
	uint16_t coll = c->env->collation_connection;
	uint8_t level = 7;

	for (uint32_t i = 0; i < count; i++) {
		const struct eval_type *t = &args[i]->type;
		uint16_t other = type_is_string(t) ? t->collation : c->env->collation_connection;
		uint8_t mine = type_is_string(t) ? t->coercibility : t->kind == EVAL_T_NULL ? 6 : 5;
		enum charset a, b;

		if (other == COLLATION_NONE) {
			compile_unsupported(c, "a collation that is not modelled");
			return false;
		}
		if (level == 7 || other == coll) {
			if (level == 7 || mine < level)
				level = mine;
			coll = other;
			continue;
		}
		a = collation_charset(coll);
		b = collation_charset(other);
		if (coll == COLLATION_BINARY || other == COLLATION_BINARY) {
			/* Binary wins unless the other is stronger. */
			bool take = other == COLLATION_BINARY ? mine <= level : mine < level;

			if (take)
				coll = other;
			if (mine < level)
				level = mine;
			continue;
		}
		if (mine != level) {
			if (mine < level) {
				coll = other;
				level = mine;
			}
			continue;
		}
		if (level == 0) {
			compile_error(c, 1267, operation);
			return false;
		}
		if (a == b) {
			if (collation_is_bin(coll) || collation_is_bin(other)) {
				coll = collation_is_bin(coll) ? coll : other;
			} else if (level >= 4) {
				compile_unsupported(c, "literals of different collations");
				return false;
			} else {
				compile_error(c, 1267, operation);
				return false;
			}
			continue;
		}
		/* The wider set wins: ascii, latin1, utf8mb3, utf8mb4. */
		if (b > a)
			coll = other;
	}
	*collation = coll;
	if (coercibility)
		*coercibility = level == 7 ? 4 : level;
	return true;
}

bool comparison_of(
	struct compiler *c, const struct node *a, const struct node *b, struct comparison *out)
{
	enum cmp_class x = class_of(&a->type), y = class_of(&b->type);
	struct node *pair[2] = {(struct node *)(uintptr_t)a, (struct node *)(uintptr_t)b};
	bool mysql = c->env->flavour == SQL_MYSQL;

	out->collation = COLLATION_BINARY;
	if (node_is_row(a) || node_is_row(b)) {
		compile_error(c, 1241, "a row where a value is wanted");
		return false;
	}
	if (a->type.kind == EVAL_T_JSON || b->type.kind == EVAL_T_JSON) {
		compile_unsupported(c, "comparing JSON values");
		return false;
	}
	/* 0x41 is a number beside a number. */
	if (a->type.hybrid && (y == CMP_INT || y == CMP_DECIMAL || y == CMP_REAL))
		x = CMP_INT;
	if (b->type.hybrid && (x == CMP_INT || x == CMP_DECIMAL || x == CMP_REAL))
		y = CMP_INT;
	if (x == CMP_NULL)
		x = y;
	if (y == CMP_NULL)
		y = x;
	if (x == CMP_STRING && y == CMP_STRING) {
		out->as = type_string(COLLATION_BINARY, 4, 0);
		return aggregate_collation(c, pair, 2, "comparison", &out->collation, NULL);
	}
	if (x == CMP_TIME || y == CMP_TIME) {
		bool time = (x != CMP_TIME || a->type.kind == EVAL_T_TIME) &&
			    (y != CMP_TIME || b->type.kind == EVAL_T_TIME);

		if (mysql && x != y) {
			compile_unsupported(c, "MySQL: comparing a date or time with another type");
			return false;
		}
		out->as = type_temporal(time ? EVAL_T_TIME : EVAL_T_DATETIME, 6);
		return true;
	}
	if (x == CMP_INT && y == CMP_INT)
		out->as = type_int(false);
	else if ((x == CMP_INT || x == CMP_DECIMAL) && (y == CMP_INT || y == CMP_DECIMAL))
		out->as = type_decimal(65, 0);
	else if (x == CMP_NULL)
		out->as = type_int(false);
	else
		out->as = type_double();
	return true;
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
		run_unsupported(run, "text that the other character set lacks");
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

int compare_as(struct run *run, const struct comparison *how, const struct eval_type *at,
	const struct eval_value *a, const struct eval_type *bt, const struct eval_value *b,
	bool *null)
{
	*null = false;
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
			run_unsupported(run, "characters whose weight is not known");
		return c;
	}
	case EVAL_T_NULL:
	case EVAL_T_INT:
	case EVAL_T_BIT:
	case EVAL_T_YEAR: {
		struct eval_value x = to_integer(run, at, a), y = to_integer(run, bt, b);

		return compare_integers(&x, &y);
	}
	case EVAL_T_DECIMAL: {
		struct decimal x = to_decimal(run, at, a), y = to_decimal(run, bt, b);

		return decimal_compare(&x, &y);
	}
	case EVAL_T_FLOAT:
	case EVAL_T_DOUBLE: {
		double x = to_double(run, at, a), y = to_double(run, bt, b);

		return sign_of(x > y, x < y);
	}
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP: {
		struct eval_value x, y;
		int64_t i, j;

		if (!time_from_value(run, at, a, eval_kind_of(&how->as), &x) ||
			!time_from_value(run, bt, b, eval_kind_of(&how->as), &y)) {
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

static struct eval_value truth(bool b)
{
	return eval_int(b);
}

static struct eval_value run_compare(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value a = node_run(n->args[0], f), b;
	bool null;
	int order;

	if (a.kind == EVAL_NULL && n->op != SQL_OP_NULL_EQ)
		return EVAL_NULL_VALUE;
	b = node_run(n->args[1], f);
	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL) {
		if (n->op == SQL_OP_NULL_EQ)
			return truth(a.kind == b.kind);
		return EVAL_NULL_VALUE;
	}
	order = compare_as(f->run, how, &n->args[0]->type, &a, &n->args[1]->type, &b, &null);
	if (null) {
		if (n->op == SQL_OP_NULL_EQ)
			return run_unsupported(f->run, "<=> of a string that is no date");
		return EVAL_NULL_VALUE;
	}
	return truth(order_satisfies(n->op, order));
}

/* ---- rows ---- */

static struct eval_value run_row(const struct node *n, struct frame *f)
{
	(void)n;
	return run_error(f->run, 1241, "a row where a value is wanted");
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
		struct eval_value a = node_run(l, f), b = node_run(r, f);
		int order;

		if (f->run->failed)
			return EVAL_NULL_VALUE;
		if (a.kind == EVAL_NULL || b.kind == EVAL_NULL) {
			if (n->op == SQL_OP_NULL_EQ) {
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
		order = compare_as(f->run, &how[i / 2], &l->type, &a, &r->type, &b, &null);
		if (null)
			return run_unsupported(f->run, "a row with a string that is no date");
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

static struct node *compile_compare_rows(struct compiler *c, const struct sql_expr *e,
	enum sql_op op, struct node *l, struct node *r)
{
	struct node *n = node_new(c, run_compare_rows, e, 2 * l->arg_count);
	struct comparison *how = arena_zero(c->arena, (l->arg_count + 1) * sizeof(*how));

	if (!node_is_row(l) || !node_is_row(r) || l->arg_count != r->arg_count)
		return compile_error(c, 1241, "rows of different sizes");
	for (uint32_t i = 0; i < l->arg_count; i++) {
		if (node_is_row(l->args[i]) || node_is_row(r->args[i]))
			return compile_unsupported(c, "rows within rows");
		n->args[2 * i] = l->args[i];
		n->args[2 * i + 1] = r->args[i];
		if (!comparison_of(c, l->args[i], r->args[i], &how[i]))
			return NULL;
	}
	n->op = (uint8_t)op;
	n->type = type_bool();
	n->u.data = how;
	return n;
}

struct node *compile_compare(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r)
{
	struct node *n;
	struct comparison *how;

	if (node_is_row(l) || node_is_row(r))
		return compile_compare_rows(c, e, op, l, r);
	n = node_new(c, run_compare, e, 2);
	how = arena_zero(c->arena, sizeof(*how));
	n->args[0] = l;
	n->args[1] = r;
	n->op = (uint8_t)op;
	n->type = type_bool();
	if (!comparison_of(c, l, r, how))
		return NULL;
	n->u.data = how;
	return n;
}

/* ---- AND, OR, XOR, NOT ---- */

static struct eval_value run_and(const struct node *n, struct frame *f)
{
	bool unknown = false;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);

		if (v.kind == EVAL_NULL)
			unknown = true;
		else if (!to_bool(f->run, &n->args[i]->type, &v))
			return truth(false);
		if (f->run->failed)
			break;
	}
	return unknown ? EVAL_NULL_VALUE : truth(true);
}

static struct eval_value run_or(const struct node *n, struct frame *f)
{
	bool unknown = false;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);

		if (v.kind == EVAL_NULL)
			unknown = true;
		else if (to_bool(f->run, &n->args[i]->type, &v))
			return truth(true);
		if (f->run->failed)
			break;
	}
	return unknown ? EVAL_NULL_VALUE : truth(false);
}

static struct eval_value run_xor(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b = node_run(n->args[1], f);

	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	return truth(
		to_bool(f->run, &n->args[0]->type, &a) != to_bool(f->run, &n->args[1]->type, &b));
}

static struct eval_value run_not(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL)
		return v;
	return truth(!to_bool(f->run, &n->args[0]->type, &v));
}

struct node *compile_logic(struct compiler *c, const struct sql_expr *e, enum sql_op op,
	struct node *l, struct node *r)
{
	struct node *n = node_new(c,
		op == SQL_OP_AND  ? run_and
		: op == SQL_OP_OR ? run_or
				  : run_xor,
		e, 2);

	if (node_is_row(l) || node_is_row(r))
		return compile_error(c, 1241, "a row where a value is wanted");
	n->args[0] = l;
	n->args[1] = r;
	n->op = (uint8_t)op;
	n->type = type_bool();
	return n;
}

struct node *compile_not(struct compiler *c, const struct sql_expr *e, struct node *arg)
{
	struct node *n = node_new(c, run_not, e, 1);

	if (node_is_row(arg))
		return compile_error(c, 1241, "a row where a value is wanted");
	n->args[0] = arg;
	n->op = SQL_OP_NOT;
	n->type = type_bool();
	return n;
}

static struct eval_value run_is(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);
	bool is = false;

	switch (n->op) {
	case SQL_OP_IS_TRUE:
		is = v.kind != EVAL_NULL && to_bool(f->run, &n->args[0]->type, &v);
		break;
	case SQL_OP_IS_FALSE:
		is = v.kind != EVAL_NULL && !to_bool(f->run, &n->args[0]->type, &v);
		break;
	default:
		is = v.kind == EVAL_NULL;
		break;
	}
	return truth(is != n->aux);
}

struct node *compile_is(struct compiler *c, const struct sql_expr *e, struct node *arg)
{
	struct node *n = node_new(c, run_is, e, 1);

	if (e->op == SQL_OP_IS_JSON)
		return compile_unsupported(c, "IS JSON");
	if (node_is_row(arg))
		return compile_error(c, 1241, "a row where a value is wanted");
	n->args[0] = arg;
	n->op = e->op;
	n->aux = e->negated;
	n->type = type_bool();
	return n;
}

/* ---- BETWEEN ---- */

static struct eval_value run_between(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value v[3];
	bool null, at_least = false, at_most = false, low_known, high_known;
	bool result;

	for (int i = 0; i < 3; i++)
		v[i] = node_run(n->args[i], f);
	if (v[0].kind == EVAL_NULL || (v[1].kind == EVAL_NULL && v[2].kind == EVAL_NULL))
		return EVAL_NULL_VALUE;
	low_known = v[1].kind != EVAL_NULL;
	high_known = v[2].kind != EVAL_NULL;
	if (low_known)
		at_least = compare_as(f->run, how, &n->args[0]->type, &v[0], &n->args[1]->type,
				   &v[1], &null) >= 0;
	if (low_known && null)
		return run_unsupported(f->run, "BETWEEN with a string that is no date");
	if (high_known)
		at_most = compare_as(f->run, how, &n->args[0]->type, &v[0], &n->args[2]->type,
				  &v[2], &null) <= 0;
	if (high_known && null)
		return run_unsupported(f->run, "BETWEEN with a string that is no date");
	if (low_known && high_known)
		result = at_least && at_most;
	else if (low_known && !at_least)
		result = false;
	else if (high_known && !at_most)
		result = false;
	else
		return EVAL_NULL_VALUE;
	return truth(result != n->aux);
}

/* The three are compared in one type. */
static bool between_comparison(struct compiler *c, struct node **args, struct comparison *out)
{
	struct comparison low, high;
	bool string;

	if (!comparison_of(c, args[0], args[1], &low) || !comparison_of(c, args[0], args[2], &high))
		return false;
	*out = low;
	string = low.as.kind == EVAL_T_STRING;
	if (type_is_temporal(&low.as) || type_is_temporal(&high.as)) {
		struct comparison both;

		if (!comparison_of(c, args[1], args[2], &both))
			return false;
		if (low.as.kind != high.as.kind ||
			(type_is_temporal(&both.as) && both.as.kind != low.as.kind)) {
			compile_unsupported(c, "BETWEEN with different temporal types");
			return false;
		}
		return true;
	}
	if (string && high.as.kind == EVAL_T_STRING)
		return aggregate_collation(c, args, 3, "between", &out->collation, NULL);
	if (low.as.kind == high.as.kind)
		return true;
	if (args[1]->type.kind == EVAL_T_NULL) {
		*out = high;
		return true;
	}
	if (args[2]->type.kind == EVAL_T_NULL)
		return true;
	if (low.as.kind == EVAL_T_DOUBLE || high.as.kind == EVAL_T_DOUBLE || string ||
		high.as.kind == EVAL_T_STRING)
		out->as = type_double();
	else
		out->as = type_decimal(65, 0);
	return true;
}

struct node *compile_between(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_between, e, 3);
	struct comparison *how = arena_zero(c->arena, sizeof(*how));

	n->args[0] = compile_expr(c, e->u.between.left);
	n->args[1] = compile_expr(c, e->u.between.low);
	n->args[2] = compile_expr(c, e->u.between.high);
	if (!n->args[0] || !n->args[1] || !n->args[2])
		return NULL;
	if (node_is_row(n->args[0]) || node_is_row(n->args[1]) || node_is_row(n->args[2]))
		return compile_error(c, 1241, "a row where a value is wanted");
	if (!between_comparison(c, n->args, how))
		return NULL;
	n->aux = e->negated;
	n->type = type_bool();
	n->u.data = how;
	return n;
}

/* ---- IN (list) ---- */

static struct eval_value run_in(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value left = node_run(n->args[0], f);
	bool unknown = false, null;

	if (left.kind == EVAL_NULL)
		return left;
	for (uint32_t i = 1; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);
		int order;

		if (f->run->failed)
			return EVAL_NULL_VALUE;
		if (v.kind == EVAL_NULL) {
			unknown = true;
			continue;
		}
		order = compare_as(
			f->run, &how[i], &n->args[0]->type, &left, &n->args[i]->type, &v, &null);
		if (null)
			return run_unsupported(f->run, "IN with a string that is no date");
		if (order == 0)
			return truth(!n->aux);
	}
	return unknown ? EVAL_NULL_VALUE : truth(n->aux);
}

/* (a, b) IN ((1, 2), (3, 4)): an OR of row comparisons. */
static struct eval_value run_in_rows(const struct node *n, struct frame *f)
{
	bool unknown = false;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);

		if (v.kind == EVAL_NULL)
			unknown = true;
		else if (v.i)
			return truth(!n->aux);
	}
	return unknown ? EVAL_NULL_VALUE : truth(n->aux);
}

struct node *compile_in_list(struct compiler *c, const struct sql_expr *e)
{
	uint32_t count = e->u.in.list.count;
	struct node *n = node_new(c, run_in, e, count + 1), *left;
	struct comparison *how = arena_zero(c->arena, (count + 1) * sizeof(*how));
	bool strings = true;

	left = compile_expr(c, e->u.in.left);
	if (!left || !compile_list(c, &e->u.in.list, n->args + 1))
		return NULL;
	n->aux = e->negated;
	n->type = type_bool();
	if (node_is_row(left)) {
		struct node *rows = node_new(c, run_in_rows, e, count);

		for (uint32_t i = 0; i < count; i++) {
			rows->args[i] = compile_compare(c, e, SQL_OP_EQ, left, n->args[i + 1]);
			if (!rows->args[i])
				return NULL;
		}
		rows->aux = e->negated;
		rows->type = type_bool();
		return rows;
	}
	n->args[0] = left;
	for (uint32_t i = 1; i <= count; i++) {
		if (!comparison_of(c, left, n->args[i], &how[i]))
			return NULL;
		strings &= how[i].as.kind == EVAL_T_STRING;
	}
	if (strings) { /* one collation for all */
		uint16_t collation;

		if (!aggregate_collation(c, n->args, count + 1, "in", &collation, NULL))
			return NULL;
		for (uint32_t i = 1; i <= count; i++)
			how[i].collation = collation;
	}
	n->u.data = how;
	return n;
}

/* ---- LIKE ---- */

static struct eval_value run_like(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b = node_run(n->args[1], f);
	bool unknown = false, match;
	struct span text, pattern;

	if (a.kind == EVAL_NULL || b.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	text = text_in(f->run, &n->args[0]->type, &a, n->collation);
	pattern = text_in(f->run, &n->args[1]->type, &b, n->collation);
	match = collation_like(n->collation, text, pattern, (int)n->u.number, &unknown);
	if (unknown)
		return run_unsupported(f->run, "characters whose weight is not known");
	return truth(match != n->aux);
}

struct node *compile_like(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = node_new(c, run_like, e, 2);

	n->args[0] = compile_expr(c, e->u.between.left);
	n->args[1] = compile_expr(c, e->u.between.low);
	if (!n->args[0] || !n->args[1])
		return NULL;
	if (node_is_row(n->args[0]) || node_is_row(n->args[1]))
		return compile_error(c, 1241, "a row where a value is wanted");
	n->u.number = c->env->mode & EVAL_MODE_NO_BACKSLASH_ESCAPES ? -1 : '\\';
	if (e->u.between.high) {
		struct node *escape = compile_expr(c, e->u.between.high);

		if (!escape)
			return NULL;
		if (!escape->literal || escape->type.kind != EVAL_T_STRING ||
			escape->u.value.s.len > 1 ||
			(escape->u.value.s.len && (unsigned char)escape->u.value.s.ptr[0] >= 0x80))
			return compile_unsupported(c, "ESCAPE that is not one ASCII character");
		if (escape->u.value.s.len)
			n->u.number = (unsigned char)escape->u.value.s.ptr[0];
		else
			n->u.number = c->env->mode & EVAL_MODE_NO_BACKSLASH_ESCAPES ? -1 : '\\';
	}
	if (!aggregate_collation(c, n->args, 2, "like", &n->collation, NULL))
		return NULL;
	n->aux = e->negated;
	n->type = type_bool();
	return n;
}
