/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that run a query share: rows, their order, groups. */
#ifndef EVAL_QUERY_RUN_QUERY_H
#define EVAL_QUERY_RUN_QUERY_H

#include "eval/query/query.h"

struct sort {
	struct run *run;
	const struct select_order *order;
	uint32_t count;
	const struct eval_value *const *keys;
	const struct eval_type *types; /* instead of order: whole rows */
};

struct output {
	const struct eval_value **rows; /* the columns */
	const struct eval_value **keys; /* of ORDER BY */
	size_t count;
};

/* Where the values of window functions go, when all rows have given their inputs. */
struct window_rows {
	const struct eval_value **inputs;
	size_t count;
};

uint32_t *sort_rows(const struct sort *s, size_t count);
bool equal_keys(const struct sort *s, uint32_t a, uint32_t b);
bool rows_are_same(const struct eval_value *a, const struct eval_value *b, uint32_t count);
const struct eval_value *run_nodes(
	struct node *const *nodes, uint32_t count, struct frame *f);
const struct eval_value *run_order_keys(const struct eval_query *q, struct frame *f);
struct output output_for(struct run *run, size_t count);
const struct eval_value *run_inputs(const struct eval_query *q, struct frame *f);
bool select_groups(const struct eval_query *q, struct frame *f, const struct eval_rows *rows,
	const uint32_t *matches, size_t count, struct output *out);
bool make_distinct(const struct eval_query *q, struct run *run, struct output *o);
/* Rows of both sides in one list; `from` tells the sides apart.  How often a row remains: UNION
 * once or all, INTERSECT the lesser count, EXCEPT the difference (the ALL forms), or once. */
bool run_set_op(
	const struct eval_query *q, struct run *run, const struct frame *outer, struct output *out);
bool run_recursive(
	const struct eval_query *q, struct run *run, const struct frame *outer, struct output *out);

#endif
