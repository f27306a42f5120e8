/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Three-valued logic: AND, OR, XOR, NOT, IS. */
#include "eval/compile.h"
#include "eval/operator/comparison.h"

#include <math.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"
#include "eval/value/temporal.h"
#include "server/errors.h"

static struct eval_value run_and(const struct node *n, struct frame *f)
{
	bool unknown = false;

	for (uint32_t i = 0; i < n->arg_count; i++) {
		struct eval_value v = node_run(n->args[i], f);
		bool is = v.kind != EVAL_NULL && to_bool(f->run, &n->args[i]->type, &v);

		if (v.kind == EVAL_NULL)
			unknown = true;
		else if (!is && !f->run->failed)
			return truth(false);
		if (f->run->failed) {
			if (unknown)
				error_after_null_refused(f->run);
			break;
		}
	}
	return unknown ? EVAL_NULL_VALUE : truth(true);
}

bool node_is_and(const struct node *n)
{
	return (n->guarded ? n->guarded : n->fn) == run_and;
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
	struct eval_value a = node_run(n->args[0], f), b;

	if (a.kind == EVAL_NULL) /* the second is not asked for */
		return a;
	(void)to_bool(f->run, &n->args[0]->type, &a); /* an error in strict mode comes first */
	b = node_run(n->args[1], f);
	if (xor_refused(f->run, n->args, &b))
		return EVAL_NULL_VALUE;
	if (b.kind == EVAL_NULL)
		return b;
	return truth(
		to_bool(f->run, &n->args[0]->type, &a) != to_bool(f->run, &n->args[1]->type, &b));
}

static struct eval_value run_not(const struct node *n, struct frame *f)
{
	struct eval_value v = node_run(n->args[0], f);

	if (v.kind == EVAL_NULL)
		return v;
	if (denied_value_refused(f->run, &n->args[0]->type, &v))
		return EVAL_NULL_VALUE;
	return truth(!to_bool(f->run, &n->args[0]->type, &v));
}

bool node_is_and_or(const struct node *n)
{
	return n->fn == run_and || n->fn == run_or;
}

bool node_is_not(const struct node *n)
{
	return n->fn == run_not;
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
		return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	if (logic_refused(c, op, l, r))
		return NULL;
	/* In a condition MySQL looks at such an operand when the statement is prepared. */
	for (uint32_t i = 0; i < 2 && op != SQL_OP_XOR && c->env->flavour == SQL_MYSQL; i++) {
		const struct node *operand = i ? r : l;

		if (operand->constant && type_is_string(&operand->type))
			c->cut_constant |= constant_is_cut(c, operand);
	}
	n->args[0] = l;
	n->args[1] = r;
	n->op = (uint8_t)op;
	n->type = type_bool();
	return n;
}

struct node *compile_condition(struct compiler *c, const struct sql_expr *e)
{
	struct node *n;

	c->erring_constant = false;
	c->constants_run = 0;
	n = compile_value(c, e);
	return n && condition_refused(c, n) ? NULL : n;
}

struct node *compile_not(struct compiler *c, const struct sql_expr *e, struct node *arg)
{
	struct node *n = node_new(c, run_not, e, 1);

	if (not_refused(c, e, arg))
		return NULL;
	if (node_is_row(arg))
		return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	n->args[0] = arg;
	n->op = SQL_OP_NOT;
	n->type = type_bool();
	return n;
}

bool run_asks_null(const struct node *arg, struct frame *f, const struct eval_value *v)
{
	asked_for_null_refused(f->run, arg, v);
	if (v->kind == EVAL_OPAQUE && v->decimals == EVAL_OPAQUE_PERHAPS_NULL)
		run_gives_up(f->run, LIMIT_TIMES_THAT_ONLY_SERVER_KNOWS);
	return v->kind == EVAL_NULL;
}

static struct eval_value run_is(const struct node *n, struct frame *f)
{
	bool of_truth = n->op == SQL_OP_IS_TRUE || n->op == SQL_OP_IS_FALSE;
	struct eval_value v = of_truth ? node_run(n->args[0], f) : node_carry(n->args[0], f);
	bool is = false;

	switch (n->op) {
	case SQL_OP_IS_TRUE:
		is = v.kind != EVAL_NULL && to_bool(f->run, &n->args[0]->type, &v);
		break;
	case SQL_OP_IS_FALSE:
		is = v.kind != EVAL_NULL && !to_bool(f->run, &n->args[0]->type, &v);
		break;
	default:
		is = run_asks_null(n->args[0], f, &v);
		break;
	}
	return truth(is != n->aux);
}

struct node *compile_is(struct compiler *c, const struct sql_expr *e, struct node *arg)
{
	struct node *n = node_new(c, run_is, e, 1);

	if (e->op == SQL_OP_IS_JSON)
		return compile_gives_up(c, LIMIT_EXPRESSION_NOT_MODELLED);
	if (node_is_row(arg))
		return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	if (is_refused(c, e->op, arg))
		return NULL;
	n->args[0] = arg;
	n->op = e->op;
	n->aux = e->negated;
	n->type = type_bool();
	return n;
}
