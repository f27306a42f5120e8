/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of UPDATE and DELETE that their text shows. */
#include "eval/limits/guards.h"

/* ---- one table ---- */

static bool names_several_tables(const struct guarded *g)
{
	return !g->ref || g->ref->next || g->ref->kind != SQL_TABLE_NAME;
}

static bool names_a_part(const struct guarded *g)
{
	return g->ref->u.name.partitions || g->ref->u.name.portion.ptr ||
	       g->ref->system_time != SQL_SYSTEM_TIME_NONE;
}

static bool has_with(const struct guarded *g)
{
	return g->with;
}

bool change_refused(struct compiler *c, const struct sql_table_ref *ref, const struct sql_with *with)
{
	static const struct guard guards[] = {
		{LIMIT_SEVERAL_TABLES, names_several_tables},
		{LIMIT_PARTITION_FOR_PORTION_OF, names_a_part},
		{LIMIT_WITH_BEFORE_UPDATE_OR_DELETE, has_with},
	};
	struct guarded g = {.env = c->env, .ref = ref, .with = with};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

static bool deletes_history(const struct guarded *g)
{
	return g->del->before || (g->del->flags & SQL_DML_HISTORY);
}

static bool deletes_from_several(const struct guarded *g)
{
	return g->del->targets;
}

bool delete_refused(struct compiler *c, const struct sql_delete *del)
{
	static const struct guard guards[] = {
		{LIMIT_DELETE_HISTORY, deletes_history},
		{LIMIT_SEVERAL_TABLES, deletes_from_several},
	};
	struct guarded g = {.env = c->env, .del = del};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}

/* ---- several tables ---- */

static bool is_another_statement(const struct guarded *g)
{
	return g->stmt->kind != SQL_STMT_UPDATE && g->stmt->kind != SQL_STMT_DELETE;
}

static bool is_sorted_or_cut(const struct guarded *g)
{
	return g->stmt->kind == SQL_STMT_UPDATE ? g->stmt->u.update->order || g->stmt->u.update->limit
						: g->stmt->u.del->order || g->stmt->u.del->limit;
}

bool join_change_refused(struct compiler *c, const struct sql_stmt *stmt)
{
	static const struct guard guards[] = {
		{LIMIT_NOT_UPDATE_OR_DELETE, is_another_statement},
		{LIMIT_ORDER_BY_OR_LIMIT_OVER_SEVERAL_TABLES, is_sorted_or_cut},
	};
	struct guarded g = {.env = c->env, .stmt = stmt};

	return guards_refuse(c, &g, guards, ARRAY_LEN(guards));
}
