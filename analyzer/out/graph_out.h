/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dependency graphs for programs that draw or analyse them: Graphviz' DOT, GraphML. */
#ifndef OUT_GRAPH_OUT_H
#define OUT_GRAPH_OUT_H

#include "base/buf.h"
#include "common/graph/graph.h"

/* Names, for the writer: nodes that are transactions, and what a data edge is about. */
struct graph_words {
	void (*node)(void *context, uint32_t node, struct buf *out);
	void (*object)(void *context, uint32_t edge, struct buf *out);
	void *context;
};

/* To standard output.  Points in time are nodes too.  False: the output is gone. */
bool graph_dot(const struct graph *graph, const struct graph_words *words) MUST_CHECK;
bool graph_graphml(const struct graph *graph, const struct graph_words *words) MUST_CHECK;

#endif
