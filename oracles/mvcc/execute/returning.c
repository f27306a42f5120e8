/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * INSERT, REPLACE and DELETE ... RETURNING (MariaDB, "INSERT...RETURNING", "DELETE"): the answer is the rows
 * that came into the table, as they are then, or those that were deleted.  What IGNORE left out is not among
 * them; what ON DUPLICATE KEY UPDATE met is.  Object-relational mappers read the AUTO_INCREMENT value so, and
 * the server then tells it nowhere else.
 */
#include "mvcc/execute/returning.h"

#include "mvcc/execute/write.h"
#include "mvcc/read/compare_answer.h"
#include "mvcc/solver.h"

struct returning {
	const struct eval_table *def;
	uint32_t count;
	bool in_order; /* VALUES: as they were given */
	struct eval_type *types;
	struct eval_expr **exprs; /* NULL: the column */
	uint32_t *columns;
};

static bool query_found(void *ctx, const struct sql_query *query)
{
	(void)query;
	*(bool *)ctx = true;
	return true;
}

static bool add_item(struct mvcc *m, struct returning *r, const struct sql_expr *e)
{
	struct eval_outcome outcome = {0};
	bool asks = false;
	uint32_t column = e->kind == SQL_EXPR_COLUMN && !e->negated
				  ? eval_table_column(r->def, e->u.column.name)
				  : UINT32_MAX;

	if (column != UINT32_MAX) {
		r->columns[r->count] = column;
		r->types[r->count++] = r->def->columns[column].type;
		return true;
	}
	sql_walk_expr(e, &(struct sql_visitor){.query = query_found, .ctx = &asks});
	if (asks)
		return false;
	r->exprs[r->count] = eval_expr_compile(
		&m->catalog.arena, e, r->def, SPAN_NONE, &m->now.env, &m->source, &outcome);
	if (!r->exprs[r->count])
		return false;
	r->types[r->count] = *eval_expr_type(r->exprs[r->count]);
	r->count++;
	return true;
}

bool plan_returning(struct mvcc *m, struct plan *plan, const struct sql_item *items,
	const struct eval_table *def, bool in_order)
{
	struct returning *r = arena_zero(&m->catalog.arena, sizeof(*r));
	size_t max = 0;

	for (const struct sql_item *item = items; item; item = item->next)
		max += item->expr->kind == SQL_EXPR_STAR ? def->column_count : 1;
	r->def = def;
	r->in_order = in_order;
	r->types = arena_zero(&m->catalog.arena, (max + 1) * sizeof(*r->types));
	r->exprs = arena_zero(&m->catalog.arena, (max + 1) * sizeof(*r->exprs));
	r->columns = arena_zero(&m->catalog.arena, (max + 1) * sizeof(*r->columns));
	for (const struct sql_item *item = items; item; item = item->next) {
		if (item->expr->kind != SQL_EXPR_STAR) {
			if (!add_item(m, r, item->expr))
				return false;
			continue;
		}
		for (uint32_t c = 0; c < def->column_count; c++) {
			if (def->columns[c].invisible)
				continue;
			r->columns[r->count] = c;
			r->types[r->count++] = def->columns[c].type;
		}
	}
	plan->returning = r;
	return true;
}

uint64_t returning_auto_increment(struct mvcc *m, const struct plan *plan, size_t row)
{
	const struct execution_rows *recorded = schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]);
	const struct returning *r = plan->returning;
	const struct eval_value *const *rows;
	size_t count;

	if (!r || !recorded || !recorded->complete)
		return 0;
	for (uint32_t i = 0; i < r->count; i++) {
		if (r->exprs[i] || !r->def->columns[r->columns[i]].auto_increment)
			continue;
		if (!typed_rows(&m->scratch, r->types, r->count, recorded, &rows, &count) ||
			count <= row)
			return 0;
		switch (rows[row][i].kind) {
		case EVAL_INT:
			return rows[row][i].i > 0 ? (uint64_t)rows[row][i].i : 0;
		case EVAL_UINT:
			return rows[row][i].u;
		default:
			return 0;
		}
	}
	return 0;
}

void returning_row(struct mvcc *m, struct write_answer *a, const struct eval_value *row)
{
	struct returned *one;

	if (!m->now.plan->returning)
		return;
	one = arena_alloc(&m->scratch, sizeof(*one));
	*one = (struct returned){row, NULL};
	*(a->returned ? &a->returned_last->next : &a->returned) = one;
	a->returned_last = one;
	a->returned_count++;
}

bool returning_fits(struct mvcc *m, const struct write_answer *a, struct eval_result *expected,
	bool *undecided)
{
	const struct returning *r = m->now.plan->returning;
	const struct eval_value **rows =
		arena_alloc(&m->scratch, (a->returned_count + 1) * sizeof(*rows));
	uint32_t *groups = arena_zero(&m->scratch, (a->returned_count + 1) * sizeof(*groups));
	size_t count = 0;

	for (const struct returned *one = a->returned; one; one = one->next, count++) {
		struct eval_value *row = arena_alloc(&m->scratch, (r->count + 1) * sizeof(*row));
		struct eval_outcome outcome = {0};

		for (uint32_t i = 0; i < r->count; i++) {
			if (!r->exprs[i]) {
				row[i] = one->row[r->columns[i]];
			} else if (!eval_expr_run(r->exprs[i], &m->scratch, &m->now.env, &m->source,
					   one->row, &row[i], &outcome)) {
				*undecided = true;
				return false;
			}
		}
		rows[count] = row;
		groups[count] = r->in_order ? (uint32_t)count : 0;
	}
	*expected = (struct eval_result){.column_count = r->count,
		.types = r->types,
		.rows = rows,
		.row_count = count,
		.order_group = groups};
	return compare_result(m, expected, schedule_result(m->schedule, &m->schedule->stmts[m->now.stmt]), undecided);
}
