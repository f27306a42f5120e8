/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What it costs to find the arrows that hold a component together, by its size, and to place it in layers.
 *
 * The components are rings with as many arrows more, most of them short, as those of real histories are: a transaction
 * depends mostly on those around it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "common/graph/feedback.h"

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int by_ends(const void *a, const void *b)
{
	const struct arrow *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static uint32_t make(struct arrow *arrows, uint32_t nodes, uint32_t more)
{
	uint32_t count = 0, kept = 0;

	for (uint32_t i = 0; i < nodes; i++)
		arrows[count++] = (struct arrow){i, (i + 1) % nodes};
	for (uint32_t i = 0; i < more; i++) {
		uint32_t from = (uint32_t)rand() % nodes;
		uint32_t to = i % 10 ? (from + 1 + (uint32_t)rand() % 20) % nodes : (uint32_t)rand() % nodes;

		if (from != to)
			arrows[count++] = (struct arrow){from, to};
	}
	qsort(arrows, count, sizeof(*arrows), by_ends);
	for (uint32_t i = 0; i < count; i++) {
		if (!kept || by_ends(&arrows[kept - 1], &arrows[i]) != 0)
			arrows[kept++] = arrows[i];
	}
	return kept;
}

int main(void)
{
	static const uint32_t sizes[] = {10, FEEDBACK_EXACT_NODES, 60, 1000, FEEDBACK_NODES_MAX, 100000};

	srand(1);
	printf("%8s %8s  %-9s %8s %10s %10s\n", "nodes", "arrows", "quality", "removed", "find", "layers");
	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		uint32_t nodes = sizes[s], removed_count = 0;
		struct arrow *arrows = mem_zero((size_t)nodes * 2 + 1, sizeof(*arrows));
		bool *removed = mem_zero((size_t)nodes * 2 + 1, sizeof(*removed));
		double *x = mem_zero(nodes, sizeof(*x)), *y = mem_zero(nodes, sizeof(*y));
		uint32_t count = make(arrows, nodes, nodes);
		double start = seconds(), found, placed;
		enum feedback_quality quality = feedback_find(arrows, count, nodes, removed);
		bool drawn;

		found = seconds();
		drawn = layers_place(arrows, count, nodes, removed, x, y);
		placed = seconds();
		for (uint32_t i = 0; i < count; i++)
			removed_count += removed[i];
		printf("%8u %8u  %-9s %8u %8.2f ms", nodes, count, feedback_quality_name(quality), removed_count,
			(found - start) * 1e3);
		printf(drawn ? " %8.2f ms\n" : "      none\n", (placed - found) * 1e3);
		free(arrows);
		free(removed);
		free(x);
		free(y);
	}
	return 0;
}
