/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The syntax tree of an expression to nodes: literals, names, operators. */
#include "base/bug.h"
#include "eval/compile.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/arithmetic.h"
#include "eval/operator/comparison.h"
#include "eval/value/release.h"
#include "server/errors.h"

enum { COMPILE_DEPTH_MAX = 1000, CONSTANTS_RUN_MAX = 50 };

bool compile_list(struct compiler *c, const struct sql_exprs *list, struct node **out)
{
	for (const struct sql_expr *e = list->first; e; e = e->next) {
		*out = compile_expr(c, e);
		if (!*out++)
			return false;
	}
	return true;
}

struct node *compile_value(struct compiler *c, const struct sql_expr *e)
{
	struct node *n = compile_expr(c, e);

	return n && node_is_row(n) ? compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted") : n;
}

/* ---- operators ---- */

static struct node *compile_unary(struct compiler *c, const struct sql_expr *e)
{
	struct node *arg = compile_expr(c, e->u.binary.left), *n;

	if (!arg)
		return NULL;
	switch (e->op) {
	case SQL_OP_NOT:
	case SQL_OP_BANG:
		return compile_not(c, e, arg);
	case SQL_OP_NEG:
		return node_is_row(arg) ? compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted")
					: compile_negate(c, e, arg);
	case SQL_OP_PLUS:
		return arg;
	case SQL_OP_BIT_NOT:
		return node_is_row(arg) ? compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted")
					: compile_bit_not(c, e, arg);
	case SQL_OP_BINARY:
		n = compile_cast(c, e);
		return n;
	default:
		return compile_gives_up(c, LIMIT_EXPRESSION_NOT_MODELLED);
	}
}

/* The other side of a comparison or of IN. */
static struct node *compile_beside(struct compiler *c, const struct sql_expr *e, const struct node *other)
{
	struct node *n;

	c->bytes = other->column && type_is_bytes(&other->type);
	n = compile_expr(c, e);
	c->bytes = false;
	return n;
}

static struct node *compile_binary(struct compiler *c, const struct sql_expr *e)
{
	struct node *l, *r;

	switch (e->op) {
	case SQL_OP_REGEXP:
		return compile_regexp(c, e);
	case SQL_OP_JSON_EXTRACT:
	case SQL_OP_JSON_UNQUOTE:
		return compile_json_arrow(c, e);
	default:
		break;
	}
	l = compile_expr(c, e->u.binary.left);
	if (!l)
		return NULL;
	if (sql_expr_compares(e)) {
		r = compile_beside(c, e->u.binary.right, l);
		return r ? compile_compare(c, e, e->op, l, r) : NULL;
	}
	r = compile_expr(c, e->u.binary.right);
	if (!r)
		return NULL;
	if (e->op == SQL_OP_OR || e->op == SQL_OP_XOR || e->op == SQL_OP_AND)
		return compile_logic(c, e, e->op, l, r);
	if (node_is_row(l) || node_is_row(r))
		return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	if (e->op == SQL_OP_CONCAT)
		return compile_concat(c, e, l, r);
	return compile_arithmetic(c, e, e->op, l, r);
}

static struct eval_value run_values_column(const struct node *n, struct frame *f)
{
	return f->insert ? require_known(f->run, f->insert[n->u.at.column]) : EVAL_NULL_VALUE;
}

/* VALUES(c) in ON DUPLICATE KEY UPDATE. */
static struct node *compile_values(struct compiler *c, const struct sql_expr *e)
{
	const struct eval_table *table = NULL;
	struct node *n;
	uint32_t column;

	for (struct scope *s = c->scope; s && !table; s = s->outer)
		table = s->insert_table;
	if (insert_values_refused(c, table, e->u.binary.left))
		return NULL;
	column = eval_table_column(table, e->u.binary.left->u.column.name);
	if (column == UINT32_MAX)
		return compile_error(c, ER_BAD_FIELD_ERROR, "unknown column");
	n = node_column(c, e, 0, 0, column, &table->columns[column].type);
	n->fn = run_values_column;
	return n;
}

/* DEFAULT(c), of a column that has a literal as its default, or none. */
static struct node *compile_default(struct compiler *c, const struct sql_expr *e)
{
	struct node *of = e->u.binary.left ? compile_expr(c, e->u.binary.left) : NULL, *value;
	const struct eval_table *table;
	const struct eval_column *column;
	struct eval_outcome outcome = {0};
	struct eval_value stored = EVAL_NULL_VALUE;

	if (c->failed)
		return NULL;
	if (default_refused(c, of))
		return NULL;
	table = c->scope->tables[of->u.at.table].base;
	column = &table->columns[of->u.at.column];
	if (default_of_column_refused(c, column))
		return NULL;
	if (column->dflt) {
		value = compile_expr(c, column->dflt);
		if (!value)
			return NULL;
		if (!eval_column_assign(c->arena, c->env, table, of->u.at.column, &value->type,
			    &value->u.value, 0, &stored, &outcome))
			return compile_gives_up(c, LIMIT_DEFAULT_OF_NOT_LITERAL);
	}
	value = node_literal(c, e, column->type, stored);
	value->literal = false;
	return value;
}

static bool all_constant(const struct node *n)
{
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!n->args[i]->constant)
			return false;
	}
	return true;
}

static struct node *compile_kind(struct compiler *c, const struct sql_expr *e)
{
	struct node *arg;

	switch ((enum sql_expr_kind)e->kind) {
	case SQL_EXPR_LITERAL:
		return compile_literal(c, e);
	case SQL_EXPR_COLUMN:
		return compile_column(c, e);
	case SQL_EXPR_STAR:
		return compile_error(c, ER_PARSE_ERROR, "* where a value is wanted");
	case SQL_EXPR_PARAM:
	case SQL_EXPR_USER_VAR:
		return compile_variable(c, e);
	case SQL_EXPR_UNARY:
		return compile_unary(c, e);
	case SQL_EXPR_BINARY:
		return compile_binary(c, e);
	case SQL_EXPR_IS:
		arg = compile_expr(c, e->u.binary.left);
		return arg ? compile_is(c, e, arg) : NULL;
	case SQL_EXPR_IN:
		return e->u.in.query ? compile_subquery(c, e) : compile_in_list(c, e);
	case SQL_EXPR_BETWEEN:
		return compile_between(c, e);
	case SQL_EXPR_LIKE:
		return compile_like(c, e);
	case SQL_EXPR_QUANTIFIED:
	case SQL_EXPR_EXISTS:
	case SQL_EXPR_SUBQUERY:
		return compile_subquery(c, e);
	case SQL_EXPR_ROW:
		return compile_row(c, e);
	case SQL_EXPR_CASE:
		return compile_case(c, e);
	case SQL_EXPR_CALL:
		return compile_call(c, e);
	case SQL_EXPR_CAST:
		return compile_cast(c, e);
	case SQL_EXPR_CONVERT_USING:
		return compile_convert_using(c, e);
	case SQL_EXPR_COLLATE:
		return compile_collate(c, e);
	case SQL_EXPR_INTERVAL:
	case SQL_EXPR_DATE_FUNC:
		return compile_interval(c, e);
	case SQL_EXPR_EXTRACT:
		return compile_extract(c, e);
	case SQL_EXPR_TRIM:
		return compile_trim(c, e);
	case SQL_EXPR_POSITION:
		return compile_position(c, e);
	case SQL_EXPR_DEFAULT:
		return compile_default(c, e);
	case SQL_EXPR_VALUES:
		return compile_values(c, e);
	case SQL_EXPR_ASSIGN:
		return compile_assignment(c, e);
	case SQL_EXPR_SYSTEM_VAR:
	case SQL_EXPR_MATCH:
	case SQL_EXPR_SEQUENCE:
	case SQL_EXPR_ODBC:
		break; /* construct_refused() */
	}
	return NULL;
}

/* A constant that fails may be computed before the rows are, and where a constant is NULL the rest
 * may not be computed at all: whether there is an error depends on optimizers. */
static void note_constant(struct compiler *c, const struct node *n)
{
	struct eval_outcome outcome = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};

	if (n->type.kind == EVAL_T_NULL) {
		c->null_constant = true;
	} else if (n->arg_count && c->constants_run < CONSTANTS_RUN_MAX) {
		c->constants_run++;
		if (node_run(n, &f).kind == EVAL_NULL && !run.failed)
			c->null_constant = true;
		if (run.failed)
			c->failing_constant = true;
		c->erring_constant |= run_erred(&run);
		if (!run.failed) {
			run.strict = true;
			(void)node_run(n, &f);
			c->cut_constant |= run.failed;
		}
	}
}

/* Of constants and the current time alone. */
static bool is_of_clock(const struct node *n)
{
	const struct sql_expr *e = n->expr;

	if (n->constant || (n->carries && !n->column && e && e->kind == SQL_EXPR_CALL))
		return true;
	if (!n->arg_count || (e && ((e->kind == SQL_EXPR_IN && e->u.in.query) || e->kind == SQL_EXPR_QUANTIFIED)))
		return false;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (!is_of_clock(n->args[i]))
			return false;
	}
	return true;
}

/* What has the current time in it is a constant to MariaDB, too. */
static void note_clock(struct compiler *c, const struct node *n)
{
	struct eval_outcome outcome = {0};
	struct run run = compile_run(c, &outcome);
	struct frame f = {.run = &run};

	if (!n->arg_count || c->env->flavour != SQL_MARIADB || c->constants_run >= CONSTANTS_RUN_MAX ||
		!is_of_clock(n))
		return;
	c->constants_run++;
	run.strict = true;
	(void)node_run(n, &f);
	c->cut_constant |= run_erred(&run);
}

/* MySQL 5.6 computes the arguments after a NULL, too. */
static bool fails_within(const struct node *n, struct frame *f)
{
	struct run *run = f->run;
	struct eval_outcome before = *run->outcome;
	bool fails = false;

	for (uint32_t i = 0; i < n->arg_count && !fails; i++) {
		(void)node_run(n->args[i], f);
		fails = run_erred(run);
		*run->outcome = before;
		run->failed = false;
		fails = fails || fails_within(n->args[i], f);
	}
	return fails;
}

static struct eval_value run_guarded(const struct node *n, struct frame *f)
{
	struct run *run = f->run;
	bool failed = run->failed;
	struct eval_value v = n->guarded(n, f);

	if (failed)
		return v;
	if (guarded_value_refused(run, n, n->asks_all && !run->failed && fails_within(n, f)))
		return EVAL_NULL_VALUE;
	return v;
}

/* A whole expression, not an operand, that may meet an error which a server reports at another time. */
static void guard_whole(struct compiler *c, const struct sql_expr *e, struct node *n)
{
	if ((!n->arg_count && e->kind != SQL_EXPR_SUBQUERY) || node_is_row(n) ||
		!(c->null_constant || c->failing_constant || c->cut_constant || mysql_5(c->env)))
		return;
	n->asks_all = mysql_5(c->env);
	n->with_null = c->null_constant;
	n->with_failing = c->failing_constant;
	/* A value that is all constant is computed when it is stored. */
	n->with_cut = c->cut_constant && (!n->constant || c->env->flavour == SQL_MYSQL);
	n->guarded = n->fn;
	n->fn = run_guarded;
}

static bool is_quantified(const struct sql_expr *e)
{
	return (e->kind == SQL_EXPR_IN && e->u.in.query) || e->kind == SQL_EXPR_QUANTIFIED;
}

static struct node *compile_nested(struct compiler *c, const struct sql_expr *e)
{
	bool bytes = c->bytes;
	struct node *n;

	if (++c->depth > COMPILE_DEPTH_MAX)
		return compile_gives_up(c, LIMIT_EXPRESSION_NESTED_TOO_DEEPLY);
	c->bytes = bytes && e->kind == SQL_EXPR_LITERAL;
	n = construct_refused(c, e) ? NULL : compile_kind(c, e);
	c->bytes = bytes;
	c->depth--;
	if (!n && !c->failed)
		compile_gives_up(c, LIMIT_EXPRESSION_NOT_MODELLED);
	return c->failed ? NULL : n;
}

struct node *compile_expr(struct compiler *c, const struct sql_expr *e)
{
	struct node *n;

	if (c->failed)
		return NULL;
	if (!c->depth) {
		c->failing_before |= c->failing_constant;
		c->null_constant = c->failing_constant = c->cut_constant = false;
		c->constants_run = 0;
	}
	n = compile_nested(c, e);
	if (!n)
		return NULL;
	for (uint32_t i = 0; i < n->arg_count; i++)
		n->args[i]->nested = true;
	if (expression_refused(c, e, n))
		return NULL;
	e = n->expr ? n->expr : e; /* +x is x */
	n->constant |= !n->literal && n->arg_count && !n->carries && !is_quantified(e) && all_constant(n);
	if (n->constant)
		note_constant(c, n);
	else
		note_clock(c, n);
	if (c->depth)
		return n;
	if (!n->constant && failing_constant_refused(c))
		return NULL;
	guard_whole(c, e, n);
	return n;
}
