/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What holds a component together: a small set of arrows whose removal leaves no cycle (a feedback arc set), and a
 * drawing of the component in layers.  The only file of the product that calls igraph.
 *
 * The smallest such set is NP-hard to find.  igraph finds it by integer programming for few nodes; the heuristic of
 * Eades, Lin and Smyth (1993) is near-linear, and what it takes out in vain is put back here where that is affordable.
 * The limits are from measurements (docs/oracles/adya.md).
 */
#ifndef COMMON_GRAPH_FEEDBACK_H
#define COMMON_GRAPH_FEEDBACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

enum {
	FEEDBACK_EXACT_NODES = 20,       /* 0.14 s with 71 arrows; 1.2 s at 30 nodes */
	FEEDBACK_MINIMAL_ARROWS = 10000, /* one search an arrow taken out */
	FEEDBACK_NODES_MAX = 20000,      /* 0.3 s; at 100,000 nodes 4 to 17 s */
	FEEDBACK_ARROWS_MAX = 100000,
	LAYERS_NODES_MAX = 60, /* a page shows no more; 0.1 s */
	LAYERS_ARROWS_MAX = 240,
};

enum feedback_quality {
	FEEDBACK_SMALLEST, /* no smaller set does it */
	FEEDBACK_MINIMAL,  /* no arrow of it can stay, but another set may be smaller */
	FEEDBACK_FOUND,    /* it does it */
	FEEDBACK_NONE,     /* not looked for: too large */
};

/* At most one for each pair of nodes in each direction, and none from a node to itself. */
struct arrow {
	uint32_t from, to;
};

/* Marks the arrows of the set in removed[], which has a place an arrow. */
enum feedback_quality feedback_find(
	const struct arrow *arrows, uint32_t arrow_count, uint32_t node_count, bool *removed) MUST_CHECK;

/* A place for each node, in layers from above (y, from 0) and within them (x), such that most arrows lead down; those
 * of removed[] lead up.  False: too large to draw. */
bool layers_place(const struct arrow *arrows, uint32_t arrow_count, uint32_t node_count, const bool *removed, double *x,
	double *y) MUST_CHECK;

const char *feedback_quality_name(enum feedback_quality quality);

#endif
