/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DISTINCT, UNION, INTERSECT, EXCEPT and recursive CTEs run. */
#include <math.h>
#include <string.h>

#include "eval/limits/value_guards.h"
#include "eval/query/query.h"
#include "eval/query/run_query.h"

/* ---- DISTINCT, set operations ---- */

bool make_distinct(const struct eval_query *q, struct run *run, struct output *o)
{
	struct sort sort = {
		.run = run, .count = q->column_count, .keys = o->rows, .types = q->types};
	uint32_t *index;
	struct output out = output_for(run, o->count);

	for (size_t i = 0; i < o->count; i++) {
		struct eval_value *row =
			arena_alloc(run->arena, (q->column_count + 1) * sizeof(*row));

		for (uint32_t k = 0; k < q->column_count; k++)
			row[k] = materialized(run, &q->types[k], o->rows[i][k]);
		o->rows[i] = row;
	}
	index = sort_rows(&sort, o->count);
	for (size_t i = 0; i < o->count; i++) {
		if (i && equal_keys(&sort, index[i - 1], index[i])) {
			if (!rows_are_same(o->rows[index[i - 1]], o->rows[index[i]], q->column_count))
				run_gives_up(run, LIMIT_DISTINCT_AMONG_TEXTS_EQUAL_AND_DIFFER);
			continue;
		}
		out.rows[out.count] = o->rows[index[i]];
		out.keys[out.count++] = o->keys[index[i]];
	}
	*o = out;
	return !run->failed;
}

static bool run_side(const struct eval_query *q, const struct eval_query *side, struct run *run,
	const struct frame *outer, struct eval_result *out)
{
	if (!run_query(side, run, outer, out))
		return false;
	if (out->open_count) {
		run_gives_up(run, LIMIT_LIMIT_THAT_CUTS_BETWEEN_EQUAL_ROWS);
		return false;
	}
	for (size_t i = 0; i < out->row_count; i++) {
		struct eval_value *row =
			arena_alloc(run->arena, (q->column_count + 1) * sizeof(*row));

		for (uint32_t k = 0; k < q->column_count; k++) {
			struct eval_value v = require_known(run, out->rows[i][k]);

			set_value_refused(run, &side->types[k], &v, &q->types[k]);
			row[k] = materialized(
				run, &q->types[k], to_type(run, &side->types[k], &v, &q->types[k]));
		}
		((const struct eval_value **)(uintptr_t)out->rows)[i] = row;
	}
	return !run->failed;
}

bool run_set_op(
	const struct eval_query *q, struct run *run, const struct frame *outer, struct output *out)
{
	struct eval_result left, right;
	const struct eval_value **all;
	struct sort sort = {.run = run, .count = q->column_count, .types = q->types};
	uint32_t *index;
	size_t total, from = 0;

	if (!run_side(q, q->left, run, outer, &left) || !run_side(q, q->right, run, outer, &right))
		return false;
	total = left.row_count + right.row_count;
	if (total > run->rows_max) {
		run_gives_up(run, LIMIT_MORE_ROWS_THAN_BOUND_ALLOWS);
		return false;
	}
	*out = output_for(run, total);
	all = arena_alloc(run->arena, (total + 1) * sizeof(*all));
	for (size_t i = 0; i < total; i++)
		all[i] = i < left.row_count ? left.rows[i] : right.rows[i - left.row_count];
	if (q->op == SQL_UNION && q->all) {
		memcpy(out->rows, all, total * sizeof(*all));
		out->count = total;
	} else {
		sort.keys = all;
		index = sort_rows(&sort, total);
		while (from < total && !run->failed) {
			size_t to = from + 1, l = index[from] < left.row_count, r = !l, keep = 1;

			for (; to < total && equal_keys(&sort, index[from], index[to]); to++) {
				if (index[to] < left.row_count)
					l++;
				else
					r++;
				if (!rows_are_same(all[index[from]], all[index[to]], q->column_count))
					run_gives_up(
						run, LIMIT_DISTINCT_AMONG_TEXTS_EQUAL_AND_DIFFER);
			}
			if (q->op == SQL_INTERSECT)
				keep = q->all ? (l < r ? l : r) : (l && r);
			else if (q->op == SQL_EXCEPT)
				keep = q->all ? (l > r ? l - r : 0) : (l && !r);
			while (keep--)
				out->rows[out->count++] = all[index[from]];
			from = to;
		}
	}
	return !run->failed;
}

/* ---- recursive CTEs ---- */

enum { ROUNDS_MAX = 900, RECURSIVE_ROWS_MAX = 20000 }; /* servers: 1,000 rounds */

/* Does the value fit into the column that the start has made?  What does not is cut, or an error. */
static bool fits(const struct eval_type *type, const struct eval_value *v)
{
	uint32_t bits = 8u * (type->bytes && type->bytes < 4 ? type->bytes : 4u);
	size_t chars = 0;

	if (v->kind == EVAL_INT)
		return v->i < (int64_t)1 << (bits - 1) && v->i >= -((int64_t)1 << (bits - 1));
	if (v->kind == EVAL_UINT && type->is_unsigned)
		return type->bytes >= 8 || v->u < (uint64_t)1 << 8u * type->bytes;
	if (v->kind == EVAL_UINT)
		return v->u < (uint64_t)1 << (bits - 1);
	if (v->kind == EVAL_DECIMAL)
		return decimal_digits(v->dec) <= type->length;
	if (v->kind != EVAL_STRING)
		return true;
	for (size_t i = 0; i < v->s.len; i++)
		chars += (v->s.ptr[i] & 0xc0) != 0x80;
	return chars <= type->length;
}

static bool is_known(struct run *run, const struct eval_query *q, const struct output *out,
	const struct eval_value *row)
{
	for (size_t i = 0; i < out->count && run_step(run); i++) {
		bool equal = true;

		for (uint32_t k = 0; k < q->column_count && equal; k++)
			equal = order_values(run, &q->types[k], &out->rows[i][k], &row[k]) == 0;
		if (equal && !rows_are_same(out->rows[i], row, q->column_count))
			run_gives_up(run, LIMIT_DISTINCT_AMONG_TEXTS_EQUAL_AND_DIFFER);
		if (equal)
			return true;
	}
	return false;
}

/* Adds the rows of one round that are new; false: failed. */
static bool add_round(const struct eval_query *q, struct run *run, const struct eval_query *from,
	const struct eval_result *round, struct output *out)
{
	if (round->open_count)
		run_gives_up(run, LIMIT_LIMIT_THAT_CUTS_BETWEEN_EQUAL_ROWS);
	for (size_t i = 0; i < round->row_count && run_step(run); i++) {
		struct eval_value *row =
			arena_alloc(run->arena, (q->column_count + 1) * sizeof(*row));

		for (uint32_t k = 0; k < q->column_count; k++) {
			struct eval_value v = require_known(run, round->rows[i][k]);

			row[k] = materialized(
				run, &q->types[k], to_type(run, &from->types[k], &v, &q->types[k]));
			recursive_value_refused(run, from != q->right || fits(&q->types[k], &row[k]));
		}
		if (!q->all && is_known(run, q, out, row))
			continue;
		if (out->count >= RECURSIVE_ROWS_MAX) {
			run_gives_up(run, LIMIT_RECURSIVE_CTE_OF_MANY_ROWS);
			return false;
		}
		out->rows[out->count++] = row;
	}
	return !run->failed;
}

bool run_recursive(
	const struct eval_query *q, struct run *run, const struct frame *outer, struct output *out)
{
	struct eval_rows before = q->cte->working;
	struct eval_result round;
	size_t from = 0;
	bool strict = run->strict;

	*out = output_for(run, RECURSIVE_ROWS_MAX);
	/* MySQL stores the rows as INSERT does: what is cut in a conversion is an error. */
	run->strict |= run->env->flavour == SQL_MYSQL;
	if (run_query(q->left, run, outer, &round))
		add_round(q, run, q->left, &round, out);
	for (unsigned i = 0; from < out->count && !run->failed; i++) {
		size_t to = out->count;

		if (i >= ROUNDS_MAX) {
			run_gives_up(run, LIMIT_RECURSIVE_CTE_OF_MANY_ROUNDS);
			break;
		}
		q->cte->working = (struct eval_rows){
			(const struct eval_value *const *)out->rows + from, to - from};
		if (!run_query(q->right, run, outer, &round) ||
			!add_round(q, run, q->right, &round, out))
			break;
		from = to;
	}
	q->cte->working = before;
	run->strict = strict;
	recursive_error_refused(run);
	return !run->failed;
}
