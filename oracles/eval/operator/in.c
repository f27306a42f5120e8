/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x IN (list), (x, y) IN (rows).  IN (SELECT ...) is in subquery.c. */
#include "eval/compile.h"
#include "eval/operator/comparison.h"

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"
#include "server/errors.h"

static struct eval_value run_in_any(const struct node *n, struct frame *f, struct eval_value left)
{
	const struct comparison *how = n->u.data;
	bool unknown = false, null;

	if (left.kind == EVAL_NULL) {
		for (uint32_t i = 1; i < n->arg_count; i++) {
			if (null_in_texts_refused(f->run, &n->args[i]->type, &how[i]))
				break;
			if (n->args[i]->literal || f->run->failed)
				continue;
			(void)node_run(n->args[i], f);
			error_in_list_refused(f->run);
		}
		return left;
	}
	for (uint32_t i = 1; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);
		int order;

		error_in_list_refused(f->run);
		if (f->run->failed)
			return EVAL_NULL_VALUE;
		if (v.kind == EVAL_NULL) {
			if (null_and_date_refused(f->run, &how[i], &n->args[0]->type, NULL))
				return EVAL_NULL_VALUE;
			if (n->args[i]->type.kind != EVAL_T_NULL)
				compare_alone(f->run, &how[i], &n->args[0]->type, &left);
			unknown = true;
			continue;
		}
		if (value_in_list_refused(f->run, &how[i], &left, &v))
			return EVAL_NULL_VALUE;
		order = compare_as(
			f->run, &how[i], &n->args[0]->type, &left, &n->args[i]->type, &v, &null);
		if (conversion_in_list_refused(f->run, n, i, &how[i]))
			return EVAL_NULL_VALUE;
		if (null)
			return run_gives_up(f->run, LIMIT_NOT_DATE_OR_TIME_COMPARED_WITH_ONE);
		if (order == 0)
			return truth(!n->aux);
	}
	return unknown ? EVAL_NULL_VALUE : truth(n->aux);
}

/* Does MariaDB sort the list when the statement is prepared?  All are constants then, and compared in one
 * type; what is no number is made one without an error in strict mode. */
static enum comparison_sorted is_sorted_list(
	struct compiler *c, const struct node *n, const struct comparison *how)
{
	const struct eval_type *left = &n->args[0]->type;
	enum comparison_sorted sorted = SORTED;
	uint8_t all = EVAL_T_NULL;

	if (c->env->flavour != SQL_MARIADB || n->arg_count < 3)
		return NOT_SORTED;
	for (uint32_t i = 1; i < n->arg_count; i++) {
		const struct eval_type *t = &n->args[i]->type;
		uint8_t as = how[i].as.kind;

		if (t->kind == EVAL_T_NULL && may_be_constant(n->args[i]))
			continue;
		/* b'100' is a text beside an integer. */
		if (as == EVAL_T_INT && (t->hybrid || (eval_kind_of(left) == EVAL_UINT) != (eval_kind_of(t) == EVAL_UINT)))
			as = EVAL_T_DECIMAL;
		if (!may_be_constant(n->args[i]) || type_is_temporal(&how[i].as) ||
			(all != EVAL_T_NULL && as != all))
			return NOT_SORTED;
		if (!n->args[i]->constant)
			sorted = MAY_BE_SORTED;
		all = as;
	}
	return sorted;
}

static struct eval_value run_in(const struct node *n, struct frame *f)
{
	const struct comparison *how = n->u.data;
	struct eval_value left = node_run(n->args[0], f), v;

	if (n->arg_count == 2 && constant_error_refused(f->run, n->args[0], &how[1]))
		return EVAL_NULL_VALUE;
	if (how->sorted == NOT_SORTED || !f->run->strict)
		return run_in_any(n, f, left);
	if (how->sorted == MAY_BE_SORTED) {
		bool failed = f->run->failed;

		v = run_in_any(n, f, left);
		if (!failed)
			error_in_list_refused(f->run);
		return v;
	}
	for (uint32_t i = 1; i < n->arg_count && left.kind != EVAL_NULL; i++) {
		if (n->args[i]->type.kind != EVAL_T_NULL)
			compare_alone(f->run, &how[i], &n->args[0]->type, &left);
	}
	if (f->run->failed)
		return EVAL_NULL_VALUE;
	f->run->strict = false;
	v = run_in_any(n, f, left);
	f->run->strict = true;
	return v;
}

/* (a, b) IN ((1, 2), (3, 4)): an OR of row comparisons. */
static struct eval_value run_in_rows(const struct node *n, struct frame *f)
{
	bool unknown = false;

	if (dates_in_rows_refused(f->run, n))
		return EVAL_NULL_VALUE;
	/* Of several rows the left one is computed first, and whole. */
	for (uint32_t i = 0; n->arg_count > 1 && i < n->args[0]->arg_count; i += 2) {
		(void)node_run(n->args[0]->args[i], f);
		if (f->run->failed)
			return EVAL_NULL_VALUE;
	}
	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);

		if (v.kind == EVAL_NULL)
			unknown = true;
		else if (v.i)
			return truth(!n->aux);
		/* What a comparison did not ask for, the server may have computed before. */
		for (uint32_t k = 1; k < n->args[i]->arg_count && n->arg_count > 1; k += 2) {
			if (f->run->failed || !n->args[i]->args[k]->arg_count)
				continue;
			(void)node_run(n->args[i]->args[k], f);
			error_in_row_refused(f->run);
		}
	}
	return unknown ? EVAL_NULL_VALUE : truth(n->aux);
}

/* (a, b) IN ((1, 2), ...). */
static struct node *compile_in_rows(
	struct compiler *c, const struct sql_expr *e, struct node *left, struct node *const *list)
{
	uint32_t count = e->u.in.list.count;
	struct node *rows = node_new(c, run_in_rows, e, count);

	if (rows_in_list_refused(c, count))
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		rows->args[i] = compile_compare(c, e, SQL_OP_EQ, left, list[i]);
		if (!rows->args[i]) {
			row_collations_refused(c, count);
			return NULL;
		}
		if (row_in_list_refused(c, left, list[i], rows->args, i, count))
			return NULL;
	}
	rows->aux = e->negated;
	rows->type = type_bool();
	return rows;
}

bool in_list_compares_texts(const struct eval_env *env, struct node *const *args, uint32_t count,
	const struct comparison *how)
{
	for (uint32_t i = 1; i < count; i++) {
		/* MariaDB leaves NULL out. */
		if (how[i].as.kind == EVAL_T_STRING &&
			(env->flavour == SQL_MYSQL || args[i]->type.kind != EVAL_T_NULL))
			return true;
	}
	return false;
}

/* How the left side is compared with each value of the list. */
static bool compare_with_each(struct compiler *c, struct node *n, struct comparison *how)
{
	struct node *left = n->args[0];

	for (uint32_t i = 1; i < n->arg_count; i++) {
		/* x IN (y) is x = y. */
		if (n->arg_count == 2 ? !operator_comparison_of(c, left, n->args[i], &how[i])
				      : !comparison_type_of(c, left, n->args[i], &how[i]))
			return false;
		if (index_lookup_refused(c, left, n->args[i], true))
			return false;
	}
	return !in_list_refused(c, n, how);
}

/* What MySQL does with the constants when the statement is prepared. */
static void prepare_constants(struct compiler *c, const struct node *n, struct comparison *how)
{
	for (uint32_t i = 1; i < n->arg_count; i++) {
		/* Texts are made DOUBLEs. */
		if (how[i].as.kind != EVAL_T_STRING && n->args[i]->constant &&
			type_is_string(&n->args[i]->type))
			c->cut_constant |= constant_is_cut(c, n->args[i]);
		/* A constant is a year beside y = 5 and y IN (5) only. */
		if (n->arg_count > 2)
			how[i].year = 0;
	}
}

struct node *compile_in_list(struct compiler *c, const struct sql_expr *e)
{
	uint32_t count = e->u.in.list.count;
	struct node *n = node_new(c, run_in, e, count + 1), *left;
	struct comparison *how = arena_zero(c->arena, (count + 1) * sizeof(*how));
	uint16_t collation;
	bool listed;

	left = compile_expr(c, e->u.in.left);
	if (!left)
		return NULL;
	c->bytes = left->column && type_is_bytes(&left->type);
	listed = compile_list(c, &e->u.in.list, n->args + 1);
	c->bytes = false;
	if (!listed)
		return NULL;
	if (node_is_row(left))
		return compile_in_rows(c, e, left, n->args + 1);
	n->aux = e->negated;
	n->type = type_bool();
	n->args[0] = left;
	if (!compare_with_each(c, n, how))
		return NULL;
	if (c->env->flavour == SQL_MYSQL)
		prepare_constants(c, n, how);
	if (count == 1) /* the servers make it an = */
		as_operator(c, left, n->args[1], &how[1]);
	if (in_list_compares_texts(c->env, n->args, n->arg_count, how)) { /* one collation for all */
		if (!aggregate_collation(c, n->args, count + 1, OPERATION_COMPARES, &collation, NULL))
			return NULL;
		for (uint32_t i = 1; i <= count; i++)
			how[i].collation = collation;
	}
	how->sorted = is_sorted_list(c, n, how);
	n->u.data = how;
	return n;
}
