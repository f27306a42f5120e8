/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making nodes, and failing while an expression is compiled. */
#include <string.h>

#include "base/bug.h"
#include "eval/compile.h"
#include "eval/value/release.h"

struct compiler compiler_begin(struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, struct eval_outcome *outcome)
{
	memset(outcome, 0, sizeof(*outcome));
	return (struct compiler){.arena = arena, .env = env, .source = source, .outcome = outcome};
}

void *compile_unsupported(struct compiler *c, enum eval_limit limit)
{
	CHECK_SLOW(c->failed || limit_covers(limit, c->env->flavour, c->env->version));
	c->failed = true;
	return outcome_unsupported(c->outcome, limit);
}

void *compile_gives_up(struct compiler *c, enum eval_limit limit)
{
	return compile_unsupported(c, limit);
}

void *compile_passes_on(struct compiler *c, const struct eval_outcome *other)
{
	return other->status == EVAL_ERROR ? compile_error(c, other->error, other->reason)
					   : compile_unsupported(c, other->limit);
}

struct run compile_run(const struct compiler *c, struct eval_outcome *outcome)
{
	return (struct run){.env = c->env,
		.source = c->source,
		.arena = c->arena,
		.outcome = outcome,
		.steps_max = 1000,
		.bytes_max = c->arena->total + 64 * 1024 * 1024,
		.rows_max = 1000};
}

struct node *compile_error(struct compiler *c, unsigned error, const char *what)
{
	/* Which is computed by then, or is not. */
	if (c->failing_constant || c->failing_before)
		return compile_gives_up(c, LIMIT_ONE_OF_SEVERAL_ERRORS_WITH_CONSTANT_THAT_FAILS);
	c->failed = true;
	return outcome_error(c->outcome, error, what);
}

struct node *node_new(
	struct compiler *c, node_fn *fn, const struct sql_expr *expr, uint32_t arg_count)
{
	struct node *n = arena_zero(c->arena, sizeof(*n));

	n->fn = fn;
	n->expr = expr;
	n->arg_count = arg_count;
	n->args = arena_zero(c->arena, (arg_count + 1) * sizeof(*n->args));
	return n;
}

bool node_any(const struct node *n, bool (*is)(const struct node *n))
{
	if (!n)
		return false;
	if (is(n))
		return true;
	for (uint32_t i = 0; i < n->arg_count; i++) {
		if (node_any(n->args[i], is))
			return true;
	}
	return false;
}

bool compile_mysql_has(struct compiler *c, enum mysql_change change)
{
	int has = mysql_has(c->env, change);

	if (has < 0)
		compile_unsupported(c, mysql_change_limit(change));
	return has > 0;
}

