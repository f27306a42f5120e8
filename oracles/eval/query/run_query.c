/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries run: rows joined, filtered, grouped, sorted, cut. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/limits/value_guards.h"
#include "eval/operator/comparison.h"
#include "eval/query/query.h"
#include "eval/query/run_query.h"
#include "server/errors.h"

/* ---- order ---- */

struct eval_value materialized(struct run *run, const struct eval_type *type, struct eval_value v)
{
	struct decimal d;

	v = require_known(run, v);
	if (kept_value_refused(run, type, &v))
		return EVAL_NULL_VALUE;
	if (v.kind != EVAL_DECIMAL || type->kind != EVAL_T_DECIMAL ||
		v.dec->scale <= type->decimals ||
		!decimal_round(v.dec, type->decimals, DECIMAL_HALF_UP, &d))
		return v;
	return make_decimal(run, &d);
}

int order_values(struct run *run, const struct eval_type *type, const struct eval_value *a,
	const struct eval_value *b)
{
	struct comparison how = {.as = *type, .collation = type->collation};
	bool null;

	if (a->kind == EVAL_NULL || b->kind == EVAL_NULL)
		return (a->kind != EVAL_NULL) - (b->kind != EVAL_NULL);
	/* For eval_order: some order that is total. */
	if (a->kind == EVAL_OPAQUE || b->kind == EVAL_OPAQUE)
		return a->kind == b->kind ? (a->u > b->u) - (a->u < b->u)
					  : (a->kind == EVAL_OPAQUE) - (b->kind == EVAL_OPAQUE);
	/* Most keys are texts, and need no conversion. */
	if (type->kind == EVAL_T_STRING && a->kind == EVAL_STRING && b->kind == EVAL_STRING &&
		a->collation == type->collation && b->collation == type->collation) {
		bool unknown = false;
		int c = collation_compare(type->collation, a->s, b->s, &unknown);

		if (unknown)
			run_gives_up(run, LIMIT_CHARACTERS_WHOSE_WEIGHT_IS_NOT_KNOWN);
		return c;
	}
	if (type->kind == EVAL_T_ENUM || type->kind == EVAL_T_SET)
		how.as = type_int(true); /* by number */
	ordered_type_refused(run, type);
	return compare_as(run, &how, type, a, type, b, &null);
}

int compare_keys(struct run *run, const struct select_order *order, uint32_t count,
	const struct eval_value *a, const struct eval_value *b)
{
	for (uint32_t i = 0; i < count; i++) {
		int c = order_values(run, &order[i].node->type, &a[i], &b[i]);

		if (c)
			return order[i].desc ? -c : c;
	}
	return 0;
}

static int compare_sorted(const void *pa, const void *pb, void *ctx)
{
	const struct sort *s = ctx;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = 0;

	/* What comparing makes stays until the end. */
	if (!run_has_room(s->run))
		return (a > b) - (a < b);
	if (s->order) {
		c = compare_keys(s->run, s->order, s->count, s->keys[a], s->keys[b]);
	} else {
		for (uint32_t i = 0; i < s->count && !c; i++)
			c = order_values(s->run, &s->types[i], &s->keys[a][i], &s->keys[b][i]);
	}
	return c ? c : (a > b) - (a < b);
}

/* Rows mostly come in the order of their primary key, which is often what is asked for. */
static bool is_sorted(const struct sort *s, const uint32_t *index, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (compare_sorted(&index[i - 1], &index[i], (void *)(uintptr_t)s) > 0)
			return false;
	}
	return true;
}

uint32_t *sort_rows(const struct sort *s, size_t count)
{
	uint32_t *index = arena_alloc(s->run->arena, (count + 1) * sizeof(*index));

	for (size_t i = 0; i < count; i++)
		index[i] = (uint32_t)i;
	if (!is_sorted(s, index, count))
		qsort_r(index, count, sizeof(*index), compare_sorted, (void *)(uintptr_t)s);
	return index;
}

bool equal_keys(const struct sort *s, uint32_t a, uint32_t b)
{
	if (s->order)
		return compare_keys(s->run, s->order, s->count, s->keys[a], s->keys[b]) == 0;
	for (uint32_t i = 0; i < s->count; i++) {
		if (order_values(s->run, &s->types[i], &s->keys[a][i], &s->keys[b][i]))
			return false;
	}
	return true;
}

bool rows_are_same(const struct eval_value *a, const struct eval_value *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (!eval_same(&a[i], &b[i]))
			return false;
	}
	return true;
}

/* ---- the rows of a SELECT ---- */

const struct eval_value *run_nodes(
	struct node *const *nodes, uint32_t count, struct frame *f)
{
	struct eval_value *values = arena_alloc(f->run->arena, (count + 1) * sizeof(*values));

	for (uint32_t i = 0; i < count; i++) {
		values[i] = shown(f->run, node_carry(nodes[i], f));
		if (values[i].kind == EVAL_DECIMAL) /* to a query around it, it is a DECIMAL */
			values[i].decimals = EVAL_REAL_SAME;
	}
	return values;
}

const struct eval_value *run_order_keys(const struct eval_query *q, struct frame *f)
{
	struct eval_value *keys = arena_alloc(f->run->arena, (q->order_count + 1) * sizeof(*keys));

	for (uint32_t i = 0; i < q->order_count; i++) {
		keys[i] = materialized(
			f->run, &q->order[i].node->type, node_run(q->order[i].node, f));
		order_key_refused(f, q->order[i].node, &keys[i]);
	}
	return keys;
}

struct output output_for(struct run *run, size_t count)
{
	return (struct output){arena_alloc(run->arena, (count + 1) * sizeof(void *)),
		arena_alloc(run->arena, (count + 1) * sizeof(void *)), 0};
}

const struct eval_value *run_inputs(const struct eval_query *q, struct frame *f)
{
	struct eval_value *values =
		arena_zero(f->run->arena, (q->window_inputs + 1) * sizeof(*values));

	window_collect(q, f, values);
	return values;
}

static bool select_rows(const struct eval_query *q, struct frame *f, const struct eval_rows *rows,
	uint32_t *matches, size_t count, struct output *out)
{
	const struct eval_value *const *windows = NULL;
	struct window_rows w = {0};

	*out = output_for(f->run, count);
	if (q->window_count) {
		w.inputs = arena_alloc(f->run->arena, (count + 1) * sizeof(*w.inputs));
		for (size_t i = 0; i < count && run_step(f->run); i++) {
			uint32_t *match = matches + i * q->table_count;

			frame_set(q, f, rows, match);
			if (q->having && !node_is_true(q->having, f))
				continue;
			memmove(matches + w.count * q->table_count, match,
				q->table_count * sizeof(*match));
			w.inputs[w.count++] = run_inputs(q, f);
		}
		count = w.count;
		windows = run_windows(q, f->run, w.inputs, count);
	}
	for (size_t i = 0; i < count && run_step(f->run); i++) {
		frame_set(q, f, rows, matches + i * q->table_count);
		if (windows)
			f->windows = windows[i];
		else if (q->having && !node_is_true(q->having, f))
			continue;
		out->rows[out->count] = run_nodes(q->items, q->column_count, f);
		out->keys[out->count++] = run_order_keys(q, f);
	}
	f->windows = NULL;
	return !f->run->failed;
}

static bool run_values(const struct eval_query *q, struct frame *f, struct output *out)
{
	*out = output_for(f->run, q->row_count);
	for (size_t i = 0; i < q->row_count; i++) {
		struct eval_value *row =
			arena_alloc(f->run->arena, (q->column_count + 1) * sizeof(*row));

		for (uint32_t k = 0; k < q->column_count; k++) {
			struct eval_value v = node_run(q->rows[i][k], f);

			row[k] = to_type(f->run, &q->rows[i][k]->type, &v, &q->types[k]);
		}
		out->rows[out->count++] = row;
	}
	return !f->run->failed;
}

static void set_keys(const struct eval_query *q, struct frame *f, struct output *out)
{
	for (size_t i = 0; i < out->count; i++) {
		f->rows[0] = out->rows[i];
		out->keys[i] = run_order_keys(q, f);
	}
}

/* ---- ORDER BY and LIMIT ---- */

bool run_limit(struct run *run, const struct node *node, uint64_t *out)
{
	struct frame f = {.run = run};
	struct eval_value v = node_run(node, &f);

	if ((v.kind != EVAL_INT || v.i < 0) && v.kind != EVAL_UINT) {
		if (!run->failed)
			run_error(run, ER_WRONG_ARGUMENTS, "LIMIT that is no number");
		return false;
	}
	*out = v.u;
	return true;
}

/* Cuts to LIMIT.  Where it cuts between rows of any order, the result has all candidates (`open`). */
static bool cut_rows(const struct eval_query *q, struct run *run, struct eval_result *r,
	uint32_t *groups, const struct eval_value **rows)
{
	uint64_t limit = UINT64_MAX, offset = 0;
	size_t count = r->row_count, from, to, start, end;

	if ((q->limit && !run_limit(run, q->limit, &limit)) ||
		(q->offset && !run_limit(run, q->offset, &offset)))
		return false;
	from = offset > count ? count : (size_t)offset;
	to = limit > count - from ? count : from + (size_t)limit;
	r->rows = rows + from;
	r->row_count = to - from;
	r->order_group = groups ? groups + from : NULL;
	if (from == to)
		return true;
	/* The rows that are equal to the first and to the last one kept. */
	for (start = from; start > 0 && (!groups || groups[start - 1] == groups[from]); start--)
		;
	for (end = to; end < count && (!groups || groups[end] == groups[to - 1]); end++)
		;
	/* OFFSET and LIMIT in a row of equals: any of them may be those that are passed over. */
	if (start < from && (!groups || groups[from] == groups[to - 1])) {
		r->open_from = 0;
		r->open = rows + start;
		r->open_count = end - start;
		return true;
	}
	for (size_t i = start; i < from; i++) {
		if (!rows_are_same(rows[i], rows[from], q->column_count)) {
			run_gives_up(run, LIMIT_OFFSET_THAT_CUTS_BETWEEN_EQUAL_ROWS);
			return false;
		}
	}
	if (start < from) {
		for (size_t i = from + 1; i < count && (!groups || groups[i] == groups[from]);
			i++) {
			if (!rows_are_same(rows[i], rows[from], q->column_count)) {
				run_gives_up(run, LIMIT_OFFSET_THAT_CUTS_BETWEEN_EQUAL_ROWS);
				return false;
			}
		}
	}
	if (end > to) {
		bool differ = false;
		size_t first = to - 1;

		while (first > from && (!groups || groups[first - 1] == groups[to - 1]))
			first--;
		for (size_t i = first; i < end; i++)
			differ |= !rows_are_same(rows[i], rows[first], q->column_count);
		if (differ) {
			r->open_from = first - from;
			r->open = rows + first;
			r->open_count = end - first;
		}
	}
	return true;
}

static bool finish_rows(
	const struct eval_query *q, struct run *run, struct output *out, struct eval_result *r)
{
	const struct eval_value **rows = out->rows;
	uint32_t *groups = NULL;

	if (buffered_rows_refused(run, q, out))
		return false;
	memset(r, 0, sizeof(*r));
	r->column_count = q->column_count;
	r->names = q->names;
	r->types = q->types;
	r->row_count = out->count;
	if (q->order_count) {
		struct sort sort = {
			.run = run, .order = q->order, .count = q->order_count, .keys = out->keys};
		uint32_t *index = sort_rows(&sort, out->count);

		rows = arena_alloc(run->arena, (out->count + 1) * sizeof(*rows));
		groups = arena_alloc(run->arena, (out->count + 1) * sizeof(*groups));
		for (size_t i = 0; i < out->count; i++) {
			rows[i] = out->rows[index[i]];
			groups[i] =
				i == 0 ? 0
				       : groups[i - 1] + !equal_keys(&sort, index[i - 1], index[i]);
		}
	}
	r->rows = rows;
	r->order_group = groups;
	if (run->failed)
		return false;
	return !(q->limit || q->offset) || cut_rows(q, run, r, groups, rows);
}

static bool run_whole(const struct eval_query *q, struct run *run, const struct frame *outer,
	struct eval_result *result)
{
	struct frame f = {.run = run, .outer = outer};
	struct eval_rows *rows = arena_zero(run->arena, (q->table_count + 1) * sizeof(*rows));
	struct output out = {0};
	uint32_t *matches;
	size_t count;
	bool good = false;

	f.rows = arena_zero(run->arena, (q->table_count + 1) * sizeof(*f.rows));
	switch (q->kind) {
	case QUERY_SELECT:
		if (!run_from(q, &f, rows, &matches, &count))
			return false;
		good = q->grouped ? select_groups(q, &f, rows, matches, count, &out)
				  : select_rows(q, &f, rows, matches, count, &out);
		if (!good)
			rollup_error_refused(run, q);
		if (good && q->distinct) {
			if (distinct_rows_refused(run, q, out.count))
				return false;
			good = make_distinct(q, run, &out);
		}
		break;
	case QUERY_SET_OP:
		good = run_set_op(q, run, outer, &out);
		if (good)
			set_keys(q, &f, &out);
		break;
	case QUERY_RECURSIVE:
		good = run_recursive(q, run, outer, &out);
		for (size_t i = 0; good && i < out.count; i++)
			out.keys[i] = NULL;
		break;
	case QUERY_VALUES:
		good = run_values(q, &f, &out);
		if (good)
			set_keys(q, &f, &out);
		break;
	}
	return good && !run->failed && finish_rows(q, run, &out, result) && !run->failed;
}

bool run_query(const struct eval_query *q, struct run *run, const struct frame *outer,
	struct eval_result *result)
{
	bool good = run_whole(q, run, outer, result);

	if (!good)
		limit_error_refused(run, q);
	return good;
}

bool eval_query_run(const struct eval_query *query, struct arena *arena, const struct eval_env *env,
	const struct eval_source *source, struct eval_result *result, struct eval_outcome *outcome)
{
	struct run run = run_begin(env, source, arena, outcome);

	memset(result, 0, sizeof(*result));
	return run_query(query, &run, NULL, result) && !run.failed;
}
