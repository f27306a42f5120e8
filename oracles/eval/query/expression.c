/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single expressions over one row, and the order of two values. */
#include "eval/query/query.h"

bool eval_order_known(const struct eval_type *type, const struct eval_value *a,
	const struct eval_value *b, int *order)
{
	struct eval_outcome outcome = {0};
	struct arena arena = ARENA_INIT;
	struct eval_env env = {0};
	struct run run = run_begin(&env, NULL, &arena, &outcome);

	*order = order_values(&run, type, a, b);
	arena_release(&arena);
	return !run.failed;
}

int eval_order(const struct eval_type *type, const struct eval_value *a, const struct eval_value *b)
{
	int c;

	/* Characters of unknown weight: some order that is total. */
	if (!eval_order_known(type, a, b, &c) && a->kind == EVAL_STRING && b->kind == EVAL_STRING)
		c = span_cmp(a->s, b->s);
	return c;
}

void scope_table_columns(struct compiler *c, struct scope_table *t, const struct eval_table *table)
{
	struct span *names;
	struct eval_type *types;

	t->names = table->names;
	t->types = table->types;
	if (table->types)
		return;
	names = arena_alloc(c->arena, (table->column_count + 1) * sizeof(*names));
	types = arena_alloc(c->arena, (table->column_count + 1) * sizeof(*types));
	for (uint32_t i = 0; i < table->column_count; i++) {
		names[i] = table->columns[i].name;
		types[i] = table->columns[i].type;
	}
	t->names = names;
	t->types = types;
}

struct scope *scope_of_table(struct compiler *c, const struct eval_table *table, struct span alias)
{
	struct scope *scope = arena_zero(c->arena, sizeof(*scope));
	struct scope_table *t = arena_zero(c->arena, 2 * sizeof(*t));

	*t = (struct scope_table){.db = table->db,
		.alias = alias.ptr ? alias : table->name,
		.base = table,
		.column_count = table->column_count};
	scope_table_columns(c, t, table);
	scope->tables = t;
	scope->table_count = 1;
	return scope;
}

struct eval_expr *eval_expr_compile(struct arena *arena, const struct sql_expr *expr,
	const struct eval_table *table, struct span alias, const struct eval_env *env,
	const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);
	struct eval_expr *out = arena_zero(arena, sizeof(*out));

	c.scope = table ? scope_of_table(&c, table, alias) : arena_zero(arena, sizeof(*c.scope));
	out->node = compile_value(&c, expr);
	return out->node ? out : NULL;
}

const struct eval_type *eval_expr_type(const struct eval_expr *expr)
{
	return &expr->node->type;
}

bool expr_carry(const struct eval_expr *expr, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const struct eval_value *row, struct eval_value *out,
	struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct frame f = {.run = &run, .rows = &row};

	*out = shown(&run, node_carry(expr->node, &f));
	return !run.failed;
}

bool eval_expr_run(const struct eval_expr *expr, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const struct eval_value *row, struct eval_value *out,
	struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct frame f = {.run = &run, .rows = &row};

	*out = shown(&run, node_run(expr->node, &f));
	return !run.failed;
}

bool eval_expr_test(const struct eval_expr *expr, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const struct eval_value *row, enum eval_truth *truth,
	struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct frame f = {.run = &run, .rows = &row};
	struct eval_value v;

	/* A condition of a stored program: what strict mode makes of a warning there is for the caller. */
	run.strict = env->locals != NULL;
	v = node_run(expr->node, &f);
	if (!run.failed)
		*truth = v.kind == EVAL_NULL                    ? EVAL_UNKNOWN
			 : to_bool(&run, &expr->node->type, &v) ? EVAL_TRUE
								: EVAL_FALSE;
	return !run.failed;
}
