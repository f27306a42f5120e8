/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UPDATE and DELETE of one table. */
#include <stdlib.h>

#include "eval/change/change.h"
#include "eval/limits/guards.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "eval/value/temporal.h"

/* ---- UPDATE and DELETE of one table ---- */

struct eval_change {
	const struct eval_table *table;
	struct node *where;
	struct assignment *set;
	uint32_t set_count;
	struct select_order *order;
	uint32_t order_count;
	struct node *limit;
	unsigned flags;
	bool is_delete;
};

static struct eval_change *change_compile(struct compiler *c, const struct sql_table_ref *ref,
	const struct sql_with *with, const struct sql_expr *where, const struct sql_order *order,
	const struct sql_limit *limit, const struct sql_assign *set, uint32_t flags)
{
	struct eval_change *change = arena_zero(c->arena, sizeof(*change));
	struct node *offset;

	if (change_refused(c, ref, with))
		return NULL;
	change->table = c->source ? c->source->table(c->source->ctx, &ref->u.name.table) : NULL;
	if (!change->table)
		return outcome_error(c->outcome, 1146, "no such table");
	change->flags = EVAL_ASSIGN_UPDATE | (flags & SQL_DML_IGNORE ? EVAL_ASSIGN_IGNORE : 0);
	c->scope = scope_of_table(c, change->table, ref->alias);
	if (where && !(change->where = compile_condition(c, where)))
		return NULL;
	if (!compile_assignments(c, set, &change->set, &change->set_count) ||
		!compile_order(c, order, &change->order, &change->order_count) ||
		!compile_limit(c, limit, &change->limit, &offset))
		return NULL;
	return change;
}

struct eval_change *eval_update_compile(struct arena *arena, const struct sql_update *update,
	const struct eval_env *env, const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);

	return change_compile(&c, update->tables, update->with, update->where, update->order,
		update->limit, update->set, update->flags);
}

struct eval_change *eval_delete_compile(struct arena *arena, const struct sql_delete *del,
	const struct eval_env *env, const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);
	struct eval_change *change;

	if (delete_refused(&c, del))
		return NULL;
	change = change_compile(
		&c, del->from, del->with, del->where, del->order, del->limit, NULL, del->flags);
	if (change)
		change->is_delete = true;
	return change;
}

const struct eval_table *eval_change_table(const struct eval_change *change)
{
	return change->table;
}

/* A string that is the same for every row. */
static bool is_constant_string(const struct node *n)
{
	return n->constant && type_is_string(&n->type);
}

/* Strict mode for a condition.  MariaDB turns it on when it begins to change rows.  Constants that
 * were converted before, when the condition was resolved and optimized, only brought warnings;
 * which those are (all of `WHERE 'a'`, of `id = 'a'`, not of `id + 'a'`) is not modelled.  A
 * DELETE never turns it on (mysql_delete in sql/sql_delete.cc). */
static void begin_strict_condition(struct run *run, const struct eval_change *change)
{
	run->strict = is_strict_mode(run->env, change->flags);
	if (run->env->flavour != SQL_MARIADB)
		return;
	if (change->is_delete || change->where->constant)
		run->strict = false;
	else
		run->folded = node_any(change->where, is_constant_string);
}

bool eval_change_test(const struct eval_change *change, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, const struct eval_value *row,
	enum eval_truth *truth, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct frame f = {.run = &run, .rows = &row};
	struct eval_value v;

	*truth = EVAL_TRUE;
	if (!change->where)
		return true;
	begin_strict_condition(&run, change);
	v = node_run(change->where, &f);
	if (v.kind == EVAL_NULL)
		*truth = EVAL_UNKNOWN;
	else
		*truth = to_bool(&run, &change->where->type, &v) ? EVAL_TRUE : EVAL_FALSE;
	return !run.failed;
}

bool eval_change_apply(const struct eval_change *change, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, const struct eval_value *row,
	const struct eval_value **out, bool *changed, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	const struct eval_value *rows = row;
	struct frame f = {.run = &run, .rows = &rows};

	return assign_row(&run, change->table, 0, change->set, change->set_count, &f, true,
		change->flags, row, out, changed);
}

struct change_sort {
	struct run *run;
	const struct eval_change *change;
	const struct eval_value *const *keys;
};

static int compare_changes(const void *pa, const void *pb, void *ctx)
{
	const struct change_sort *s = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = compare_keys(
		s->run, s->change->order, s->change->order_count, s->keys[a], s->keys[b]);

	return c ? c : (a > b) - (a < b);
}

bool eval_change_limit(const struct eval_change *change, struct arena *arena,
	const struct eval_env *env, const struct eval_source *source, struct eval_rows rows,
	uint32_t *order, size_t *count, bool *open, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	const struct eval_value **keys = arena_alloc(arena, (rows.count + 1) * sizeof(*keys));
	struct change_sort sort = {&run, change, keys};
	uint64_t limit = UINT64_MAX;

	*open = false;
	*count = rows.count;
	for (size_t i = 0; i < rows.count; i++) {
		const struct eval_value *view = rows.row[i];
		struct frame f = {.run = &run, .rows = &view};
		struct eval_value *key =
			arena_alloc(arena, (change->order_count + 1) * sizeof(*key));

		for (uint32_t k = 0; k < change->order_count; k++)
			key[k] = node_run(change->order[k].node, &f);
		keys[i] = key;
		order[i] = (uint32_t)i;
	}
	if (rows.count > 1)
		qsort_r(order, rows.count, sizeof(*order), compare_changes, &sort);
	if (change->limit && !run_limit(&run, change->limit, &limit))
		return false;
	if (limit < rows.count) {
		*count = (size_t)limit;
		*open = limit > 0 && compare_keys(&run, change->order, change->order_count,
					     keys[order[limit - 1]], keys[order[limit]]) == 0;
	}
	return !run.failed;
}
