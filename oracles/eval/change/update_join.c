/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UPDATE and DELETE of several tables. */
#include <string.h>

#include "eval/change/change.h"
#include "eval/limits/guards.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "server/errors.h"

/* ---- UPDATE and DELETE of several tables ---- */

struct eval_join {
	struct eval_query *query;
	bool *target;
	struct assignment *set;
	uint32_t set_count;
	unsigned flags;
};

struct reads {
	const struct sql_assign *set, *own;
	bool found;
};

/* Does an expression read a column that another assignment of the statement writes? */
static bool reads_assigned(void *ctx, const struct sql_expr *e)
{
	struct reads *r = ctx;

	if (e->kind != SQL_EXPR_COLUMN)
		return true;
	for (const struct sql_assign *a = r->set; a; a = a->next) {
		if (a != r->own && span_ieq(a->target->u.column.name, e->u.column.name))
			r->found = true;
	}
	return true;
}

bool eval_reads_assigned(const struct sql_assign *set)
{
	bool found = false;

	for (const struct sql_assign *a = set; a && !found; a = a->next) {
		struct reads r = {set, a, false};

		sql_walk_expr(a->value, &(struct sql_visitor){.expr = reads_assigned, .ctx = &r});
		found = r.found;
	}
	return found;
}

static bool on_reads_assigned(void *ctx, const struct sql_table_ref *ref)
{
	if (ref->kind == SQL_TABLE_JOIN && ref->u.join.on)
		sql_walk_expr(ref->u.join.on, &(struct sql_visitor){.expr = reads_assigned, .ctx = ctx});
	return true;
}

/* MariaDB before 11.1 may write rows of one of several tables before it has joined all of them. */
static bool meets_own_writes(const struct compiler *c, const struct eval_join *join, const struct sql_stmt *stmt)
{
	struct reads r = {stmt->u.update->set, NULL, false};
	bool several = false;

	for (uint32_t i = 1; i < join->set_count; i++)
		several |= join->set[i].table != join->set[0].table;
	if (!several || c->env->flavour != SQL_MARIADB || c->env->version >= 110100)
		return false;
	sql_walk_stmt(stmt, &(struct sql_visitor){.table_ref = on_reads_assigned, .ctx = &r});
	if (stmt->u.update->where)
		sql_walk_expr(stmt->u.update->where, &(struct sql_visitor){.expr = reads_assigned, .ctx = &r});
	return r.found;
}

static bool mark_targets(struct compiler *c, struct eval_join *join, const struct sql_delete *del)
{
	for (const struct sql_table_name *t = del->targets; t; t = t->next) {
		bool found = false;

		for (uint32_t i = 0; i < join->query->table_count && !found; i++) {
			const struct scope_table *st = &join->query->scope_tables[i];

			if (!st->base || !scope_names_table(c, st, t->db, t->name))
				continue;
			join->target[i] = found = true;
		}
		if (!found) {
			compile_error(c, ER_UNKNOWN_TABLE, "unknown table");
			return false;
		}
	}
	return true;
}

struct eval_join *eval_join_compile(struct arena *arena, const struct sql_stmt *stmt,
	const struct eval_env *env, const struct eval_source *source, struct eval_outcome *outcome)
{
	struct compiler c = compiler_begin(arena, env, source, outcome);
	struct eval_join *join = arena_zero(arena, sizeof(*join));
	struct eval_query *q = arena_zero(arena, sizeof(*q));
	struct scope *scope = arena_zero(arena, sizeof(*scope));
	bool update = stmt->kind == SQL_STMT_UPDATE;
	const struct sql_with *with;
	const struct cte *ctes = NULL;
	const struct sql_expr *where;

	if (join_change_refused(&c, stmt))
		return NULL;
	with = update ? stmt->u.update->with : stmt->u.del->with;
	where = update ? stmt->u.update->where : stmt->u.del->where;
	join->query = q;
	join->flags = EVAL_ASSIGN_UPDATE;
	if ((update ? stmt->u.update->flags : stmt->u.del->flags) & SQL_DML_IGNORE)
		join->flags |= EVAL_ASSIGN_IGNORE;
	if (!compile_ctes(&c, with, NULL, &ctes))
		return NULL;
	c.ctes = ctes;
	c.scope = scope;
	if (!compile_from(&c, q, update ? stmt->u.update->tables : stmt->u.del->from, scope, ctes))
		return NULL;
	join->target = arena_zero(arena, q->table_count + 1);
	if ((where && !(q->where = compile_condition(&c, where))) || hidden_rows_refused(&c, q))
		return NULL;
	if (!update)
		return mark_targets(&c, join, stmt->u.del) ? join : NULL;
	if (!compile_assignments(&c, stmt->u.update->set, &join->set, &join->set_count))
		return NULL;
	for (uint32_t i = 0; i < join->set_count; i++) {
		const struct assignment *a = &join->set[i];
		const struct eval_column *column = &scope->tables[a->table].base->columns[a->column];

		if (computed_default_refused(outcome, env, !a->value && is_computed_default(column)))
			return NULL;
	}
	if (joined_update_refused(outcome, env,
		    eval_reads_assigned(stmt->u.update->set) || meets_own_writes(&c, join, stmt)))
		return NULL;
	for (uint32_t i = 0; i < q->table_count; i++) {
		if (updated_join_refused(outcome, env, q->tables[i].base))
			return NULL;
	}
	for (uint32_t i = 0; i < join->set_count; i++)
		join->target[join->set[i].table] = true;
	return join;
}

uint32_t eval_join_table_count(const struct eval_join *join)
{
	return join->query->table_count;
}

const struct eval_table *eval_join_table(const struct eval_join *join, uint32_t table)
{
	return join->query->tables[table].base;
}

bool eval_join_is_target(const struct eval_join *join, uint32_t table)
{
	return join->target[table];
}

bool eval_join_run(const struct eval_join *join, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, const uint32_t **matches, size_t *count,
	struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct eval_rows *rows = arena_zero(arena, (join->query->table_count + 1) * sizeof(*rows));
	struct frame f = {.run = &run};
	uint32_t *found;

	f.rows = arena_zero(arena, (join->query->table_count + 1) * sizeof(*f.rows));
	if (!run_from(join->query, &f, rows, &found, count))
		return false;
	*matches = found;
	return true;
}

bool eval_join_apply(const struct eval_join *join, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, uint32_t table, const struct eval_value *const *rows,
	const struct eval_value **out, bool *changed, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);
	struct frame f = {.run = &run};
	uint32_t count = join->query->table_count;

	f.rows = arena_alloc(arena, (count + 1) * sizeof(*f.rows));
	memcpy(f.rows, rows, count * sizeof(*f.rows));
	return assign_row(&run, join->query->tables[table].base, table, join->set, join->set_count, &f,
		false, join->flags, rows[table], out, changed);
}
