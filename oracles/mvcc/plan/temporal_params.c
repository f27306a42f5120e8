/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dates and times that are parameters of a prepared statement.  They stand in its text as literals of their type, and are
 * the same where they are compared, or assigned to a column of such a type.  Elsewhere how many decimals they have is
 * a matter of its own: MySQL has six in the type and shows those of the value, MariaDB none in what a UNION or a function
 * makes of one that has some (seen on 10.11, 11.8 and 9.7).
 */
#include "mvcc/plan/temporal_params.h"

#include "mvcc/solver.h"

struct moments {
	const struct eval_table *table; /* that is written; NULL: none */
	uint32_t all, safe;
};

static bool is_moment(const struct sql_expr *e)
{
	return e && e->kind == SQL_EXPR_LITERAL &&
	       (e->u.literal.kind == SQL_LIT_TIMESTAMP || e->u.literal.kind == SQL_LIT_TIME);
}

static bool count(void *ctx, const struct sql_expr *e)
{
	struct moments *found = ctx;

	found->all += is_moment(e);
	if (sql_expr_compares(e))
		found->safe += is_moment(e->u.binary.left) + is_moment(e->u.binary.right);
	else if (e->kind == SQL_EXPR_BETWEEN)
		found->safe += is_moment(e->u.between.low) + is_moment(e->u.between.high);
	for (const struct sql_expr *i = e->kind == SQL_EXPR_IN ? e->u.in.list.first : NULL; i; i = i->next)
		found->safe += is_moment(i);
	return true;
}

static bool is_temporal(const struct eval_table *table, uint32_t column)
{
	if (!table || column >= table->column_count)
		return false;
	switch (table->columns[column].type.kind) {
	case EVAL_T_DATE:
	case EVAL_T_TIME:
	case EVAL_T_DATETIME:
	case EVAL_T_TIMESTAMP:
		return true;
	default:
		return false;
	}
}

static void count_assigned(struct moments *found, const struct sql_assign *set)
{
	for (; set; set = set->next)
		found->safe += is_moment(set->value) && found->table &&
			       is_temporal(found->table, eval_table_column(found->table, set->target->u.column.name));
}

/* VALUES (...): by the list of columns, or by their places. */
static void count_inserted(struct moments *found, const struct sql_insert *insert)
{
	for (const struct sql_values_row *row = insert->rows; row; row = row->next) {
		const struct sql_expr *name = insert->columns.first;
		uint32_t place = 0;

		for (const struct sql_expr *e = row->values.first; e; e = e->next) {
			uint32_t column = name && found->table ? eval_table_column(found->table, name->u.column.name)
							       : place;

			found->safe += is_moment(e) && is_temporal(found->table, column);
			name = name ? name->next : NULL;
			place++;
		}
	}
}

bool temporal_params_are_plain(const struct mvcc *m, const struct plan *plan)
{
	const struct sql_stmt *stmt = plan->stmt;
	struct moments found = {0};

	if (plan->table_count && plan->written[0])
		found.table = m->store.tables[plan->tables[0]].def;
	sql_walk_stmt(stmt, &(struct sql_visitor){.expr = count, .ctx = &found});
	if (stmt->kind == SQL_STMT_UPDATE) {
		count_assigned(&found, stmt->u.update->set);
	} else if (stmt->kind == SQL_STMT_INSERT || stmt->kind == SQL_STMT_REPLACE) {
		count_assigned(&found, stmt->u.insert->set);
		count_assigned(&found, stmt->u.insert->on_duplicate);
		count_inserted(&found, stmt->u.insert);
	}
	return found.safe >= found.all;
}
