/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of UPDATE and DELETE that their text shows. */
#include "eval/change/change.h"
#include "eval/limits/guards.h"
#include "eval/limits/value_guards.h"

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

/* ---- SET ---- */

/* MySQL computes constants when it prepares the statement.  The error of one is reported before that of an
 * assignment to the left of it. */
bool assignment_error_refused(
	struct run *run, const struct assignment *set, uint32_t count, uint32_t failed)
{
	for (uint32_t i = failed + 1; i < count; i++) {
		if (run->outcome->status == EVAL_ERROR && run->env->flavour == SQL_MYSQL && set[i].value &&
			(set[i].value->with_failing || set[i].value->with_cut)) {
			run_open_error(run, LIMIT_MYSQL_ONE_OF_SEVERAL_ERRORS_IN_ASSIGNMENTS);
			return true;
		}
	}
	return false;
}

/* ---- INSERT ---- */

bool insert_clauses_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct sql_insert *insert)
{
	return outcome_refuses(o, env, LIMIT_PARTITION, insert->partitions) ||
	       outcome_refuses(o, env, LIMIT_INSERT_DELAYED, insert->flags & SQL_DML_DELAYED);
}

bool query_into_column_refused(
	struct eval_outcome *o, const struct eval_env *env, const struct eval_column *column)
{
	return outcome_refuses(o, env, LIMIT_QUERY_INTO_GENERATED_COLUMNS, column->generated);
}

bool early_read_refused(struct compiler *c, bool reads)
{
	return compile_refuses(c, LIMIT_VALUE_THAT_READS_COLUMN_OF_NEW_ROW_BEFORE_HAS_ONE, reads);
}

bool later_row_refused(struct compiler *c, bool reads_table)
{
	return compile_refuses(c, LIMIT_LATER_ROW_OF_INSERT_THAT_READS_TABLE, reads_table);
}

/* The names may be those of the query's tables. */
bool duplicate_error_refused(struct compiler *c, const struct sql_insert *insert)
{
	return compile_reopens(c, LIMIT_ON_DUPLICATE_KEY_UPDATE_WITH_QUERY_COLUMNS, insert->query);
}

/* ---- UPDATE of several tables ---- */

/* MySQL may not have read the columns that it is computed from (seen on 8.0 and 9.7: NULL). */
bool computed_default_refused(struct eval_outcome *o, const struct eval_env *env, bool computed)
{
	return outcome_refuses(
		o, env, LIMIT_MYSQL_DEFAULT_COMPUTED_IN_UPDATE_OF_SEVERAL_TABLES, computed);
}

bool joined_update_refused(struct eval_outcome *o, const struct eval_env *env, bool reads_written)
{
	return outcome_refuses(
		o, env, LIMIT_UPDATE_OF_SEVERAL_TABLES_THAT_READS_WRITTEN, reads_written);
}

/* The rows of a derived table are made while the statement runs, and are not kept. */
bool updated_join_refused(struct eval_outcome *o, const struct eval_env *env, bool of_base_table)
{
	return outcome_refuses(o, env, LIMIT_UPDATE_JOINED_WITH_DERIVED_TABLE, !of_base_table);
}
