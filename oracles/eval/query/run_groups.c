/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a SELECT with groups: GROUP BY, aggregates, WITH ROLLUP. */
#include <string.h>

#include "eval/limits/value_guards.h"
#include "eval/query/query.h"
#include "eval/query/run_query.h"

/* The rows of one group. */
struct group {
	const uint32_t *members;
	size_t count;
	uint32_t kept; /* WITH ROLLUP: the keys from here on are NULL */
	const struct eval_value *aggregates;
};

/* In a row of WITH ROLLUP the keys from `kept` on are NULL. */
static void null_keys(const struct eval_query *q, struct frame *f, uint32_t kept)
{
	for (uint32_t k = kept; k < q->group_count; k++) {
		const struct node *key = q->group[k].node;
		uint32_t t = key->u.at.table, count = q->scope_tables[t].column_count;
		struct eval_value *row;

		if (!f->rows[t])
			continue;
		row = arena_alloc(f->run->arena, (count + 1) * sizeof(*row));
		memcpy(row, f->rows[t], count * sizeof(*row));
		row[key->u.at.column] = EVAL_NULL_VALUE;
		f->rows[t] = row;
	}
}

/* One group: its columns must be the same whichever of its rows they are taken from.  `w`: what its
 * window functions ask for is taken instead. */
static bool select_group(const struct eval_query *q, struct frame *f, const struct eval_rows *rows,
	const uint32_t *matches, const struct group *group, struct output *out,
	struct window_rows *w)
{
	const struct eval_value *first = NULL, *first_keys = NULL;
	uint32_t width = w ? q->window_inputs : q->column_count;
	bool kept = false;

	f->aggregates = group->aggregates;
	f->rollup = q->rollup ? q : NULL;
	f->rollup_kept = group->kept;
	f->no_row = !group->count;
	for (size_t i = 0; i < (group->count ? group->count : 1); i++) {
		const struct eval_value *columns, *keys = NULL;
		bool keep;

		if (group->count)
			frame_set(q, f, rows, matches + group->members[i] * q->table_count);
		else
			memset(f->rows, 0, q->table_count * sizeof(*f->rows));
		if (q->rollup)
			null_keys(q, f, group->kept);
		keep = f->windows || !q->having || node_is_true(q->having, f);
		if (i && keep != kept) {
			run_gives_up(f->run, LIMIT_COLUMN_THAT_GROUP_BY_LEAVES_OPEN);
			break;
		}
		kept = keep;
		if (!keep)
			continue;
		columns = w ? run_inputs(q, f) : run_nodes(q->items, q->column_count, f);
		if (!w)
			keys = run_order_keys(q, f);
		if (!first) {
			first = columns;
			first_keys = keys;
		} else if (!rows_are_same(first, columns, width) ||
			   (!w && !rows_are_same(first_keys, keys, q->order_count))) {
			run_gives_up(f->run, LIMIT_COLUMN_THAT_GROUP_BY_LEAVES_OPEN);
			break;
		}
	}
	f->aggregates = NULL;
	f->rollup = NULL;
	if (first && w) {
		w->inputs[w->count++] = first;
	} else if (first) {
		out->rows[out->count] = first;
		out->keys[out->count++] = first_keys;
	}
	return !f->run->failed;
}

/* The groups are known: their columns, with window functions over the groups that HAVING keeps. */
static bool output_groups(const struct eval_query *q, struct frame *f, const struct eval_rows *rows,
	const uint32_t *matches, struct group *groups, size_t count, struct output *out)
{
	const struct eval_value *const *windows = NULL;

	*out = output_for(f->run, count);
	if (q->window_count) {
		struct window_rows w = {
			.inputs = arena_alloc(f->run->arena, (count + 1) * sizeof(*w.inputs))};
		size_t kept = 0;

		for (size_t i = 0; i < count; i++) {
			size_t before = w.count;

			if (!select_group(q, f, rows, matches, &groups[i], NULL, &w))
				return false;
			if (w.count != before)
				groups[kept++] = groups[i];
		}
		count = kept;
		windows = run_windows(q, f->run, w.inputs, count);
	}
	for (size_t i = 0; i < count && !f->run->failed; i++) {
		f->windows = windows ? windows[i] : NULL;
		select_group(q, f, rows, matches, &groups[i], out, NULL);
	}
	f->windows = NULL;
	return !f->run->failed;
}

static bool add_group(const struct eval_query *q, struct frame *f, const struct eval_rows *rows,
	const uint32_t *matches, const uint32_t *members, size_t count, struct group *out)
{
	struct eval_value *aggregates =
		arena_zero(f->run->arena, (q->aggregate_count + 1) * sizeof(*aggregates));

	*out = (struct group){members, count, q->group_count, aggregates};
	return run_aggregates(q, f, matches, members, count, rows, aggregates);
}

/* MariaDB (Cached_item_decimal) counts a NULL that comes after a DECIMAL for the same group, where it sorts
 * to group: before a DESC. */
static bool loses_null_groups(const struct eval_query *q, struct run *run,
	const struct eval_value *const *keys, size_t count)
{
	bool desc = false;

	for (uint32_t k = 0; k < q->order_count; k++)
		desc |= q->order[k].desc;
	for (uint32_t k = 0; k < q->group_count; k++)
		desc |= q->group[k].desc;
	for (uint32_t k = 0; k < q->group_count && desc; k++) {
		if (q->group[k].node->type.kind != EVAL_T_DECIMAL || q->group[k].node->column)
			continue;
		for (size_t i = 0; i < count; i++) {
			if (keys[i][k].kind == EVAL_NULL && null_groups_refused(run))
				return true;
		}
	}
	return false;
}

/* WITH ROLLUP: the rows whose first `kept` keys are equal, for each number of them. */
static bool add_rollups(const struct eval_query *q, struct frame *f, const struct eval_rows *rows,
	const uint32_t *matches, const struct sort *sort, const uint32_t *index, size_t count,
	struct group *groups, size_t *group_count)
{
	if (!count && rollup_of_nothing_refused(f->run))
		return false;
	for (uint32_t kept = 0; kept < q->group_count; kept++) {
		struct sort prefix = *sort;
		size_t from = 0;

		prefix.count = kept;
		while (from < count && run_step(f->run)) {
			size_t to = from + 1;

			while (to < count && equal_keys(&prefix, index[from], index[to]))
				to++;
			if (!add_group(q, f, rows, matches, index + from, to - from,
				    &groups[*group_count]))
				return false;
			groups[(*group_count)++].kept = kept;
			from = to;
		}
	}
	return !f->run->failed;
}

static bool aggregates_computed(const struct eval_query *q)
{
	for (const struct aggregate *a = q->aggregates; a; a = a->next) {
		for (uint32_t i = 0; i < a->arg_count; i++) {
			if (a->args[i]->arg_count)
				return true;
		}
	}
	return false;
}

bool select_groups(const struct eval_query *q, struct frame *f, const struct eval_rows *rows,
	const uint32_t *matches, size_t count, struct output *out)
{
	const struct eval_value **keys = arena_alloc(f->run->arena, (count + 1) * sizeof(*keys));
	size_t most = count * (q->rollup ? q->group_count + 1 : 1);
	struct group *groups = arena_alloc(f->run->arena, (most + 1) * sizeof(*groups));
	struct sort sort = {.run = f->run, .order = q->group, .count = q->group_count};
	uint32_t *index;
	size_t from = 0, group_count = 0;

	for (size_t i = 0; i < count && run_step(f->run); i++) {
		struct eval_value *key =
			arena_alloc(f->run->arena, (q->group_count + 1) * sizeof(*key));

		frame_set(q, f, rows, matches + i * q->table_count);
		for (uint32_t k = 0; k < q->group_count; k++)
			key[k] = materialized(
				f->run, &q->group[k].node->type, node_run(q->group[k].node, f));
		keys[i] = key;
	}
	group_error_refused(f->run, aggregates_computed(q));
	if (f->run->failed || loses_null_groups(q, f->run, keys, count))
		return false;
	sort.keys = keys;
	index = sort_rows(&sort, count);
	if (!count && !q->group_count &&
		!add_group(q, f, rows, matches, NULL, 0, &groups[group_count++]))
		return false;
	while (from < count && !f->run->failed) {
		size_t to = from + 1;

		while (to < count && equal_keys(&sort, index[from], index[to]))
			to++;
		if (!add_group(q, f, rows, matches, index + from, to - from,
			    &groups[group_count++]))
			return false;
		from = to;
	}
	if (q->rollup && !f->run->failed &&
		!add_rollups(q, f, rows, matches, &sort, index, count, groups, &group_count))
		return false;
	return !f->run->failed && output_groups(q, f, rows, matches, groups, group_count, out);
}
