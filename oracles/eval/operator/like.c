/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x LIKE pattern ESCAPE c. */
#include "eval/compile.h"
#include "eval/operator/comparison.h"

#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"
#include "eval/value/release.h"
#include "server/errors.h"

static struct eval_value run_like(const struct node *n, struct frame *f)
{
	struct eval_value a = node_run(n->args[0], f), b;
	bool unknown = false, match;
	struct span text, pattern;

	if (a.kind == EVAL_NULL)
		return a;
	b = node_run(n->args[1], f);
	if (constant_pattern_refused(f->run, n->args[1]))
		return EVAL_NULL_VALUE;
	if (b.kind == EVAL_NULL)
		return EVAL_NULL_VALUE;
	text = text_in(f->run, &n->args[0]->type, &a, n->collation);
	pattern = text_in(f->run, &n->args[1]->type, &b, n->collation);
	match = collation_like(n->collation, text, pattern, (int)n->u.number, &unknown);
	if (unknown)
		return run_gives_up(f->run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
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
		return compile_error(c, ER_OPERAND_COLUMNS, "a row where a value is wanted");
	if (like_refused(c, n->args))
		return NULL;
	n->u.number = c->env->mode & EVAL_MODE_NO_BACKSLASH_ESCAPES ? -1 : '\\';
	if (e->u.between.high) {
		struct node *escape = compile_expr(c, e->u.between.high);

		if (!escape)
			return NULL;
		if (escape_refused(c, escape))
			return NULL;
		if (escape->u.value.s.len)
			n->u.number = (unsigned char)escape->u.value.s.ptr[0];
		else
			n->u.number = c->env->mode & EVAL_MODE_NO_BACKSLASH_ESCAPES ? -1 : '\\';
	}
	if (!aggregate_collation(c, n->args, 2, OPERATION_COMPARES, &n->collation, NULL))
		return NULL;
	n->aux = e->negated;
	n->type = type_bool();
	return n;
}
