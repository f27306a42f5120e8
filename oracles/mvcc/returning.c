/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INSERT ... VALUES ... RETURNING columns (MariaDB, "INSERT...RETURNING"): the answer is the rows that
 * came into the table, in the order in which they were given.  Object-relational mappers read the
 * AUTO_INCREMENT value so, and the server then tells it nowhere else.
 */
#include "mvcc/compare.h"
#include "mvcc/solver.h"

static uint32_t column_of(const struct eval_table *def, struct span name)
{
	for (uint32_t c = 0; c < def->column_count; c++)
		if (span_ieq(def->columns[c].name, name))
			return c;
	return UINT32_MAX;
}

bool plan_returning(struct mvcc *m, struct plan *plan)
{
	const struct sql_insert *insert = plan->stmt->u.insert;
	const struct eval_table *def = eval_insert_table(plan->insert);

	if (plan->stmt->kind != SQL_STMT_INSERT || insert->query || insert->on_duplicate ||
		insert->flags & SQL_DML_IGNORE)
		return false;
	plan->returning =
		arena_alloc(&m->plans_arena, (def->column_count + 1) * sizeof(*plan->returning));
	for (const struct sql_item *item = insert->returning; item; item = item->next) {
		uint32_t column = item->expr->kind == SQL_EXPR_COLUMN && !item->expr->negated
					  ? column_of(def, item->expr->u.column.name)
					  : UINT32_MAX;

		if (column == UINT32_MAX || plan->returning_count == def->column_count)
			return false;
		plan->returning[plan->returning_count++] = column;
	}
	return true;
}

static struct eval_type *types_of(
	struct mvcc *m, const struct plan *plan, const struct eval_table *def)
{
	struct eval_type *types =
		arena_alloc(&m->scratch, (plan->returning_count + 1) * sizeof(*types));

	for (uint32_t i = 0; i < plan->returning_count; i++)
		types[i] = def->columns[plan->returning[i]].type;
	return types;
}

uint64_t returning_number(struct mvcc *m, const struct plan *plan)
{
	const struct execution_rows *recorded = m->schedule->stmts[m->now_stmt].result;
	const struct eval_table *def;
	const struct eval_value *const *rows;
	size_t count;

	if (!plan->returning_count || !recorded || !recorded->complete)
		return 0;
	def = eval_insert_table(plan->insert);
	for (uint32_t i = 0; i < plan->returning_count; i++) {
		if (!def->columns[plan->returning[i]].auto_increment)
			continue;
		if (!typed_rows(&m->scratch, types_of(m, plan, def), plan->returning_count,
			    recorded, &rows, &count) ||
			!count)
			return 0;
		switch (rows[0][i].kind) {
		case EVAL_INT:
			return rows[0][i].i > 0 ? (uint64_t)rows[0][i].i : 0;
		case EVAL_UINT:
			return rows[0][i].u;
		default:
			return 0;
		}
	}
	return 0;
}

bool returning_fits(struct mvcc *m, const struct write_answer *a, struct eval_result *expected,
	bool *undecided)
{
	const struct plan *plan = m->now_plan;
	const struct eval_table *def = eval_insert_table(plan->insert);
	const struct eval_value **rows =
		arena_alloc(&m->scratch, (a->inserted_count + 1) * sizeof(*rows));
	uint32_t *groups = arena_alloc(&m->scratch, (a->inserted_count + 1) * sizeof(*groups));

	*expected = (struct eval_result){.column_count = plan->returning_count,
		.types = types_of(m, plan, def),
		.rows = rows,
		.row_count = a->inserted_count,
		.order_group = groups};
	for (size_t r = 0; r < a->inserted_count; r++) {
		struct eval_value *row =
			arena_alloc(&m->scratch, (plan->returning_count + 1) * sizeof(*row));

		for (uint32_t i = 0; i < plan->returning_count; i++)
			row[i] = a->inserted[r][plan->returning[i]];
		rows[r] = row;
		groups[r] = (uint32_t)r;
	}
	return compare_result(m, expected, m->schedule->stmts[m->now_stmt].result, undecided);
}
