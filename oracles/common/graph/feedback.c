/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/graph/feedback.h"

#include <igraph.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"

/* igraph fails for want of memory, or by a bug of its own; its own handler would abort without a word of ours. */
static void must(igraph_error_t error)
{
	if (error != IGRAPH_SUCCESS)
		BUG("igraph: %s", igraph_strerror(error));
}

static void igraph_failed(const char *reason, const char *file, int line, igraph_error_t error)
{
	(void)reason;
	(void)file;
	(void)line;
	(void)error; /* must() says it */
}

/* Arrows of leave_out (NULL: none) are not in it. */
static void graph_of(igraph_t *graph, const struct arrow *arrows, uint32_t arrow_count, uint32_t node_count,
	const bool *leave_out)
{
	igraph_vector_int_t ends;

	igraph_set_error_handler(igraph_failed);
	must(igraph_vector_int_init(&ends, 0));
	must(igraph_vector_int_reserve(&ends, 2 * (igraph_integer_t)arrow_count));
	for (uint32_t i = 0; i < arrow_count; i++) {
		if (leave_out && leave_out[i])
			continue;
		must(igraph_vector_int_push_back(&ends, arrows[i].from));
		must(igraph_vector_int_push_back(&ends, arrows[i].to));
	}
	must(igraph_create(graph, &ends, node_count, IGRAPH_DIRECTED));
	igraph_vector_int_destroy(&ends);
}

/* ---- what was taken out in vain ---- */

/* Arrows by the node that they leave. */
struct leaving {
	uint32_t *head, *arrow;
};

static struct leaving leaving_of(const struct arrow *arrows, uint32_t arrow_count, uint32_t node_count)
{
	struct leaving by = {
		.head = mem_zero((size_t)node_count + 2, sizeof(*by.head)), .arrow = mem_zero(arrow_count + 1, sizeof(*by.arrow))};

	for (uint32_t i = 0; i < arrow_count; i++)
		by.head[arrows[i].from + 2]++;
	for (uint32_t v = 0; v < node_count; v++)
		by.head[v + 2] += by.head[v + 1];
	for (uint32_t i = 0; i < arrow_count; i++)
		by.arrow[by.head[arrows[i].from + 1]++] = i;
	return by;
}

/* Is there a way by arrows that are not removed?  `seen` and `stack` have a place a node; seen[v] == round: was met. */
static bool reaches(const struct arrow *arrows, const struct leaving *by, const bool *removed, uint32_t from, uint32_t to,
	uint32_t *seen, uint32_t round, uint32_t *stack)
{
	uint32_t top = 0;

	stack[top++] = from;
	seen[from] = round;
	while (top) {
		uint32_t v = stack[--top];

		if (v == to)
			return true;
		for (uint32_t k = by->head[v]; k < by->head[v + 1]; k++) {
			uint32_t i = by->arrow[k], next = arrows[i].to;

			if (removed[i] || seen[next] == round)
				continue;
			seen[next] = round;
			stack[top++] = next;
		}
	}
	return false;
}

/* An arrow that closes no cycle with those that are left can stay. */
static void put_back(const struct arrow *arrows, uint32_t arrow_count, uint32_t node_count, bool *removed)
{
	struct leaving by = leaving_of(arrows, arrow_count, node_count);
	uint32_t *seen = mem_zero((size_t)node_count + 1, sizeof(*seen));
	uint32_t *stack = mem_zero((size_t)node_count + 1, sizeof(*stack)), round = 0;

	for (uint32_t i = 0; i < arrow_count; i++) {
		if (removed[i])
			removed[i] = reaches(arrows, &by, removed, arrows[i].to, arrows[i].from, seen, ++round, stack);
	}
	mem_free(by.head);
	mem_free(by.arrow);
	mem_free(seen);
	mem_free(stack);
}

enum feedback_quality feedback_find(
	const struct arrow *arrows, uint32_t arrow_count, uint32_t node_count, bool *removed)
{
	bool exact = node_count <= FEEDBACK_EXACT_NODES, minimal = arrow_count <= FEEDBACK_MINIMAL_ARROWS;
	igraph_vector_int_t found;
	igraph_t graph;

	for (uint32_t i = 0; i < arrow_count; i++)
		removed[i] = false;
	if (node_count > FEEDBACK_NODES_MAX || arrow_count > FEEDBACK_ARROWS_MAX)
		return FEEDBACK_NONE;
	graph_of(&graph, arrows, arrow_count, node_count, NULL);
	must(igraph_vector_int_init(&found, 0));
	must(igraph_feedback_arc_set(&graph, &found, NULL, exact ? IGRAPH_FAS_EXACT_IP : IGRAPH_FAS_APPROX_EADES));
	for (igraph_integer_t i = 0; i < igraph_vector_int_size(&found); i++)
		removed[VECTOR(found)[i]] = true;
	igraph_vector_int_destroy(&found);
	igraph_destroy(&graph);
	if (exact)
		return FEEDBACK_SMALLEST;
	if (minimal)
		put_back(arrows, arrow_count, node_count, removed);
	return minimal ? FEEDBACK_MINIMAL : FEEDBACK_FOUND;
}

bool layers_place(const struct arrow *arrows, uint32_t arrow_count, uint32_t node_count, const bool *removed, double *x,
	double *y)
{
	enum { SWEEPS = 100 }; /* over the layers, to have fewer arrows cross; igraph's default */
	igraph_matrix_t places;
	igraph_t graph;

	if (node_count > LAYERS_NODES_MAX || arrow_count > LAYERS_ARROWS_MAX)
		return false;
	graph_of(&graph, arrows, arrow_count, node_count, removed);
	must(igraph_matrix_init(&places, 0, 0));
	must(igraph_layout_sugiyama(&graph, &places, NULL, NULL, NULL, 1, 1, SWEEPS, NULL));
	/* After the nodes come the bends of long arrows, which are drawn straight here. */
	for (uint32_t v = 0; v < node_count; v++) {
		x[v] = MATRIX(places, v, 0);
		y[v] = MATRIX(places, v, 1);
	}
	igraph_matrix_destroy(&places);
	igraph_destroy(&graph);
	return true;
}

const char *feedback_quality_name(enum feedback_quality quality)
{
	switch (quality) {
	case FEEDBACK_SMALLEST:
		return "smallest";
	case FEEDBACK_MINIMAL:
		return "minimal";
	case FEEDBACK_FOUND:
		return "found";
	case FEEDBACK_NONE:
		break;
	}
	return "none";
}
