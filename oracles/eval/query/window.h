/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A compiled window function. */
#ifndef EVAL_QUERY_WINDOW_H
#define EVAL_QUERY_WINDOW_H

#include "eval/query/query.h"

enum window_kind {
	WINDOW_AGGREGATE,
	WINDOW_ROW_NUMBER,
	WINDOW_RANK,
	WINDOW_DENSE_RANK,
	WINDOW_PERCENT_RANK,
	WINDOW_CUME_DIST,
	WINDOW_NTILE,
	WINDOW_LAG,
	WINDOW_LEAD,
	WINDOW_FIRST_VALUE,
	WINDOW_LAST_VALUE,
	WINDOW_NTH_VALUE,
};

struct window {
	enum window_kind kind;
	struct eval_type type;
	struct aggregate *aggregate;
	struct node *value, *otherwise; /* LAG(value, number, otherwise) and the like */
	uint64_t number;
	/* PARTITION BY, then ORDER BY. */
	struct select_order *keys;
	uint32_t partition_count, key_count;
	enum sql_frame_unit unit;
	enum sql_frame_place from, to;
	uint64_t from_n, to_n;
	uint32_t input; /* where its keys and arguments are among a row's inputs */
	struct window *next;
};

/* Do its values depend on a frame? */
static inline bool window_is_framed(const struct window *w)
{
	return w->kind == WINDOW_AGGREGATE || w->kind == WINDOW_FIRST_VALUE ||
	       w->kind == WINDOW_LAST_VALUE || w->kind == WINDOW_NTH_VALUE;
}

#endif
