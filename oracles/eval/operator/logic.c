/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Three-valued logic: AND, OR, XOR, NOT, IS. */
#include "eval/compile.h"
#include "eval/operator/comparison.h"

#include <math.h>

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
			/* Where NULL is as good as false (WHERE, IF) the rest is not asked for. */
			if (unknown && run_erred(f->run))
				run_open_error(f->run, LIMIT_ERROR_BEHIND_NULL_AND);
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
	if (f->run->env->flavour == SQL_MARIADB && mariadb_2026(f->run->env) != 1 &&
		(b.kind != EVAL_NULL || f->run->strict) &&
		!(type_is_int(&n->args[0]->type) && type_is_int(&n->args[1]->type)))
		return run_unsupported(f->run, LIMIT_XOR_OF_OTHER_THAN_INTEGERS_IN_OLDER_RELEASES);
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
	/* NOT NOT x is x <> 0 to MariaDB, which compares what is printed. */
	if (v.kind == EVAL_DECIMAL && n->args[0]->type.kind == EVAL_T_DECIMAL &&
		v.dec->scale > n->args[0]->type.decimals && v.dec->count) {
		struct decimal printed;

		if (decimal_round(v.dec, n->args[0]->type.decimals, DECIMAL_HALF_UP, &printed) &&
			!printed.count)
			return run_unsupported(f->run, LIMIT_NOT_OF_QUOTIENT_ALMOST_ZERO);
	}
	/* CAST(0.3 AS CHAR) has no decimals then. */
	if (v.kind == EVAL_STRING && n->args[0]->type.decimals < EVAL_NOT_FIXED) {
		size_t used;
		double d = text_to_double(v.s, &used);

		if (d != 0 && fabs(d) < 0.5)
			return run_unsupported(f->run, LIMIT_NOT_OF_TEXT_ALMOST_ZERO);
	}
	/* To MySQL it is x = 0, which DOUBLEs with decimals almost are. */
	if (v.kind == EVAL_DOUBLE && v.d != 0 && n->args[0]->type.kind == EVAL_T_DOUBLE &&
		n->args[0]->type.decimals < EVAL_NOT_FIXED &&
		fabs(v.d) < 5 / pow(10, n->args[0]->type.decimals + 1))
		return run_unsupported(f->run, LIMIT_NOT_OF_DOUBLE_ALMOST_ZERO);
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
		return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	if (n->fn == run_xor && !(type_is_int(&l->type) && type_is_int(&r->type)) &&
		compile_mysql_5(c, LIMIT_MYSQL5_XOR_OF_OTHER_THAN_INTEGERS))
		return NULL;
	if (c->env->flavour == SQL_MARIADB && c->env->version < 100600 && l->literal &&
		type_is_string(&l->type) && r->constant && !r->literal)
		return compile_unsupported(c, LIMIT_MARIADB_10_5_STRING_LITERAL_AND_OR_OR_CONSTANT);
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

/* Numbers that a condition, or AND and OR beside a constant, make integers of: 0.3 is false then. */
static bool has_fraction(const struct node *n)
{
	if (n->fn == run_and || n->fn == run_or)
		return has_fraction(n->args[0]) || has_fraction(n->args[1]);
	return !type_is_int(&n->type) && n->type.kind != EVAL_T_NULL;
}

/* (~0) + HEX(i), COALESCE(db, ~0): in a condition MariaDB keeps a constant that is computed as a signed number (seen
 * on 10.11). */
static bool loses_sign(const struct node *n)
{
	bool computes = n->expr && (n->expr->kind == SQL_EXPR_BINARY || n->type.merged) &&
			n->type.kind == EVAL_T_DOUBLE;

	for (uint32_t i = 0; computes && i < n->arg_count; i++) {
		const struct node *arg = n->args[i];

		if (arg->constant && !arg->literal && type_is_int(&arg->type) &&
			arg->type.is_unsigned)
			return true;
	}
	return false;
}

struct node *compile_condition(struct compiler *c, const struct sql_expr *e)
{
	struct node *n;

	c->erring_constant = false;
	c->constants_run = 0;
	n = compile_value(c, e);
	/* Constants of a condition are computed before any row is looked at, needed or not, where there is none, too. */
	if (n && c->erring_constant)
		return compile_unsupported(c, LIMIT_CONSTANT_THAT_FAILS_IN_CONDITION);
	if (n && c->env->flavour == SQL_MARIADB && node_any(n, loses_sign))
		return compile_unsupported(c, LIMIT_UNSIGNED_CONSTANT_AS_DOUBLE_IN_CONDITION);
	if (n && has_fraction(n) &&
		(mysql_5(c->env) || (c->env->flavour == SQL_MARIADB && c->env->version < 100600)))
		return compile_unsupported(c, LIMIT_CONDITION_NOT_INTEGER_IN_OLDER_RELEASES);
	return n;
}

static bool is_any_or_all(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_QUANTIFIED && (e->op != SQL_OP_EQ || e->quantifier == SQL_ALL);
}

static bool is_strcmp(const struct sql_expr *e)
{
	return e->kind == SQL_EXPR_CALL && !e->u.call.db.ptr &&
	       span_ieq_str(e->u.call.name, "strcmp");
}

/* Something `is` that is denied in what is denied. */
static bool denies_again(
	const struct sql_expr *e, bool denied, bool (*is)(const struct sql_expr *e))
{
	if (e->kind == SQL_EXPR_UNARY && (e->op == SQL_OP_NOT || e->op == SQL_OP_BANG))
		return denies_again(e->u.binary.left, true, is);
	if (e->kind == SQL_EXPR_BINARY && (e->op == SQL_OP_AND || e->op == SQL_OP_OR))
		return denies_again(e->u.binary.left, denied, is) ||
		       denies_again(e->u.binary.right, denied, is);
	return denied && is(e);
}

struct node *compile_not(struct compiler *c, const struct sql_expr *e, struct node *arg)
{
	struct node *n = node_new(c, run_not, e, 1);

	/* NOT (NOT (x <= ANY (...))): all but MySQL 9.7 turn ANY and ALL about once, and the
	 * comparison twice. */
	if ((c->env->flavour == SQL_MARIADB || c->env->version < 90700) &&
		denies_again(e->u.binary.left, false, is_any_or_all))
		return compile_unsupported(c, LIMIT_NOT_OF_NOT_OF_ANY_OR_ALL);
	/* MariaDB drops both, in conditions, also where it is no truth value that is left: WHERE !!2 = 1. */
	if (c->env->flavour == SQL_MARIADB && arg->fn == run_not && !arg->args[0]->type.is_bool)
		return compile_unsupported(c, LIMIT_NOT_OF_NOT_OF_NOT_TRUTH_VALUE);
	/* A truth value to MySQL, which drops both: -1. */
	if (c->env->flavour == SQL_MYSQL && denies_again(e->u.binary.left, false, is_strcmp))
		return compile_unsupported(c, LIMIT_MYSQL_NOT_OF_NOT_OF_STRCMP);
	if (node_is_row(arg))
		return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	n->args[0] = arg;
	n->op = SQL_OP_NOT;
	n->type = type_bool();
	return n;
}

bool run_asks_null(const struct node *arg, struct frame *f, const struct eval_value *v)
{
	if (run_erred(f->run)) {
		/* What cannot be NULL is not computed. */
		run_open_error(f->run, LIMIT_ERROR_IN_WHAT_IS_NULL_ASKS);
	}
	/* In a condition a column that is NOT NULL is then NULL, in some. */
	if (arg->column && (v->kind == EVAL_DATE || v->kind == EVAL_DATETIME) && date_is_zero(&v->t))
		run_unsupported(f->run, LIMIT_IS_NULL_OF_COLUMN_ZERO_DATE);
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
		return compile_unsupported(c, LIMIT_EXPRESSION_NOT_MODELLED);
	if (node_is_row(arg))
		return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	if (c->env->flavour == SQL_MARIADB && e->op != SQL_OP_IS_TRUE && e->op != SQL_OP_IS_FALSE &&
		compares_rows(arg))
		return compile_unsupported(c, LIMIT_IS_NULL_OF_COMPARISON_OF_ROWS);
	n->args[0] = arg;
	n->op = e->op;
	n->aux = e->negated;
	n->type = type_bool();
	return n;
}
