/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scalar subqueries, IN, EXISTS, ANY and ALL. */
#include <math.h>

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "server/errors.h"

struct subquery {
	struct eval_query *query;
	struct comparison how;
	enum sql_quantifier quantifier;
};

/* A query that needs no outer row is run once. */
static bool result_of(const struct subquery *s, struct frame *f, struct eval_result *out)
{
	struct cached_query *cached;

	if (s->query->outer_reach == 0) {
		for (cached = f->run->cached; cached; cached = cached->next) {
			if (cached->query == s->query) {
				*out = cached->result;
				return true;
			}
		}
	}
	if (correlated_subquery_refused(f, s->query))
		return false;
	if (!run_query(s->query, f->run, f, out))
		return false;
	if (out->open_count) {
		run_gives_up(f->run, LIMIT_LIMIT_THAT_CUTS_BETWEEN_EQUAL_ROWS);
		return false;
	}
	if (s->query->outer_reach == 0) {
		cached = arena_alloc(f->run->arena, sizeof(*cached));
		*cached = (struct cached_query){s->query, *out, f->run->cached};
		f->run->cached = cached;
	}
	return true;
}

static struct eval_value run_scalar(const struct node *n, struct frame *f)
{
	struct eval_result r;

	if (!result_of(n->u.data, f, &r) || !r.row_count)
		return EVAL_NULL_VALUE;
	if (r.row_count > 1)
		return run_error(f->run, ER_SUBQUERY_NO_1_ROW, "a subquery with more than one row");
	return require_known(f->run, r.rows[0][0]);
}

const struct node *subquery_item(const struct node *n)
{
	const struct subquery *s = n->u.data;

	return (n->guarded ? n->guarded : n->fn) == run_scalar && s->query->kind == QUERY_SELECT ? s->query->items[0] : NULL;
}

static struct eval_value run_quantified(const struct node *n, struct frame *f);

static struct eval_value run_exists(const struct node *n, struct frame *f)
{
	struct eval_result r;

	if (!result_of(n->u.data, f, &r))
		return EVAL_NULL_VALUE;
	return eval_int((r.row_count > 0) != n->aux);
}

/* Asked of a run that has failed: what it said is kept. */
static bool may_be_null(const struct node *n, struct frame *f)
{
	struct eval_outcome before = *f->run->outcome;
	struct eval_value v;
	bool null;

	f->run->failed = false;
	v = node_run(n, f);
	null = v.kind == EVAL_NULL || f->run->failed;
	*f->run->outcome = before;
	f->run->failed = true;
	return null;
}

static bool same_room(const struct eval_type *a, const struct eval_type *b)
{
	return a->kind == b->kind && a->bytes == b->bytes && a->is_unsigned == b->is_unsigned &&
	       a->decimals == b->decimals && a->length <= b->length;
}

bool node_asks_outer(const struct node *n)
{
	node_fn *fn = n->guarded ? n->guarded : n->fn;
	const struct subquery *s = n->u.data;

	return (fn == run_scalar || fn == run_exists || fn == run_quantified) && s->query->outer_reach > 0;
}

/* left op ANY (...), left op ALL (...); IN is = ANY, NOT IN its negation. */
static struct eval_value run_quantified(const struct node *n, struct frame *f)
{
	const struct subquery *s = n->u.data;
	struct eval_result r;
	struct eval_value left;
	bool all = s->quantifier == SQL_ALL, unknown = false, null;

	if (!result_of(s, f, &r)) {
		subquery_error_refused(f->run, f->run->strict || may_be_null(n->args[0], f));
		return EVAL_NULL_VALUE;
	}
	if (!r.row_count)
		return eval_int(all != n->aux);
	left = node_run(n->args[0], f);
	if (left.kind == EVAL_NULL)
		return left;
	if (quantified_rows_refused(f->run, (enum sql_op)n->op, &r))
		return EVAL_NULL_VALUE;
	for (size_t i = 0; i < r.row_count && run_step(f->run); i++) {
		const struct eval_value *v = &r.rows[i][0];
		bool yes = false;

		if (v->kind == EVAL_OPAQUE)
			return require_known(f->run, *v);
		if (quantified_pair_refused(f->run, (enum sql_op)n->op, &s->how, &left, v))
			return EVAL_NULL_VALUE;
		if (v->kind == EVAL_NULL) {
			unknown = true;
			compare_alone(f->run, &s->how, &n->args[0]->type, &left);
		} else {
			yes = order_satisfies((enum sql_op)n->op,
				compare_as(f->run, &s->how, &n->args[0]->type, &left, &r.types[0], v,
					&null));
		}
		/* A constant may have been converted when the statement was prepared. */
		if (subquery_error_refused(f->run, f->run->strict))
			return EVAL_NULL_VALUE;
		if (v->kind == EVAL_NULL)
			continue;
		if (null)
			return run_gives_up(f->run, LIMIT_NOT_DATE_OR_TIME_COMPARED_WITH_ONE);
		if (yes != all)
			return eval_int(!all != n->aux);
	}
	if (unknown && n->op == (all ? SQL_OP_NE : SQL_OP_EQ) &&
		null_in_subquery_refused(
			f->run, n->args[0], same_room(&n->args[0]->type, &r.types[0])))
		return EVAL_NULL_VALUE;
	if (unknown)
		return EVAL_NULL_VALUE;
	return eval_int(all != n->aux);
}

/* (SELECT ...) as a value. */
static struct node *compile_scalar(
	struct compiler *c, const struct sql_expr *e, struct node *n, const struct subquery *s)
{
	const struct eval_query *q = s->query;

	if (scalar_subquery_refused(c, e, q))
		return NULL;
	n->type = q->types[0];
	/* Without tables it is the expression itself. */
	n->type.own_scale &= q->kind == QUERY_SELECT && !q->table_count && !q->where && !q->limit &&
			     !q->grouped;
	/* Kept as IF keeps it. */
	n->type.merged |=
		n->type.kind == EVAL_T_TIME || (n->type.kind == EVAL_T_INT && n->type.is_unsigned);
	if (!type_is_string(&n->type))
		n->type.coercibility = 5;
	return n;
}

/* left IN (SELECT ...), left op ANY (SELECT ...), left op ALL (SELECT ...). */
static struct node *compile_quantified(struct compiler *c, const struct sql_expr *e, struct node *n,
	struct subquery *s, struct node *left)
{
	struct node *pair[2] = {left, node_column(c, NULL, 0, 0, 0, &s->query->types[0])};

	if (quantified_collations_refused(c, e, s->query, pair))
		return NULL;
	if (!operator_comparison_of(c, left, pair[1], &s->how))
		return NULL;
	s->how.ahead = NOT_AHEAD;
	if (quantified_subquery_refused(c, e, s->query, pair, &s->how))
		return NULL;
	n->fn = run_quantified;
	n->arg_count = 1;
	n->args[0] = left;
	n->op = e->kind == SQL_EXPR_IN ? SQL_OP_EQ : e->op;
	s->quantifier = e->kind == SQL_EXPR_IN ? SQL_ANY : (enum sql_quantifier)e->quantifier;
	s->how.joins = c->env->flavour == SQL_MYSQL && (n->op == SQL_OP_EQ || n->op == SQL_OP_NE);
	return n;
}

struct node *compile_subquery(struct compiler *c, const struct sql_expr *e)
{
	struct subquery *s = arena_zero(c->arena, sizeof(*s));
	struct node *n = node_new(c, run_scalar, e, 0), *left = NULL;

	if (e->kind == SQL_EXPR_IN || e->kind == SQL_EXPR_QUANTIFIED) {
		left = compile_expr(c, e->u.in.left);
		if (!left)
			return NULL;
		if (row_and_subquery_refused(c, left))
			return NULL;
	}
	s->query = compile_query(c, e->u.in.query, c->scope, c->ctes);
	if (!s->query)
		return NULL;
	/* Names from farther out pass through this query's scope too. */
	if (s->query->outer_reach > 1 && c->scope->outer_reach < s->query->outer_reach - 1)
		c->scope->outer_reach = s->query->outer_reach - 1;
	n->u.data = s;
	n->type = type_bool();
	n->aux = e->negated;
	if (e->kind == SQL_EXPR_EXISTS) {
		n->fn = run_exists;
		return n;
	}
	if (s->query->column_count != 1) {
		if (!wide_subquery_refused(c, e))
			compile_error(c, ER_OPERAND_COLUMNS, "a subquery with several columns");
		return NULL;
	}
	if (any_subquery_refused(c, e, s->query))
		return NULL;
	return e->kind == SQL_EXPR_SUBQUERY ? compile_scalar(c, e, n, s)
					    : compile_quantified(c, e, n, s, left);
}
