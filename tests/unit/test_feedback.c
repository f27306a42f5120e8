/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Feedback arc sets against brute force, and layered drawings, on random graphs. */
#include "common/graph/feedback.h"
#include "random.h"
#include "unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { NODES_MAX = 400, ARROWS_MAX = 2000 };

static struct random numbers;

static uint32_t below(uint32_t limit)
{
	return (uint32_t)random_below(&numbers, limit);
}

/* A ring, so that it is one component, and others at random; none twice. */
static uint32_t make(struct arrow *arrows, uint32_t nodes, uint32_t more)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < nodes; i++)
		arrows[count++] = (struct arrow){i, (i + 1) % nodes};
	for (uint32_t i = 0; i < more; i++) {
		struct arrow a = {below(nodes), below(nodes)};
		bool there = a.from == a.to;

		for (uint32_t k = 0; k < count && !there; k++)
			there = arrows[k].from == a.from && arrows[k].to == a.to;
		if (!there)
			arrows[count++] = a;
	}
	return count;
}

/* By taking away nodes that no arrow leads to, again and again. */
static bool is_acyclic(const struct arrow *arrows, uint32_t count, uint32_t nodes, const bool *removed)
{
	bool gone[NODES_MAX] = {false};
	uint32_t left = nodes;

	for (bool again = true; again;) {
		again = false;
		for (uint32_t v = 0; v < nodes; v++) {
			bool entered = gone[v];

			for (uint32_t i = 0; i < count && !entered; i++)
				entered = !removed[i] && arrows[i].to == v && !gone[arrows[i].from];
			if (entered)
				continue;
			gone[v] = again = true;
			left--;
		}
	}
	return left == 0;
}

static uint32_t count_of(const bool *removed, uint32_t count)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++)
		n += removed[i];
	return n;
}

START_TEST(of_few_nodes_it_is_the_smallest)
{
	struct arrow arrows[32];
	bool removed[32], tried[32];

	for (uint32_t seed = 1; seed <= 150; seed++) {
		uint32_t nodes, count, best, smallest = UINT32_MAX;

		numbers.state = seed;
		nodes = 3 + below(4);
		count = make(arrows, nodes, below(8));
		ck_assert_int_eq(feedback_find(arrows, count, nodes, removed), FEEDBACK_SMALLEST);
		UNIT_REQUIRE(is_acyclic(arrows, count, nodes, removed));
		best = count_of(removed, count);
		for (uint32_t set = 0; set < 1u << count; set++) {
			uint32_t size = (uint32_t)__builtin_popcount(set);

			if (size >= smallest)
				continue;
			for (uint32_t i = 0; i < count; i++)
				tried[i] = set >> i & 1;
			if (is_acyclic(arrows, count, nodes, tried))
				smallest = size;
		}
		ck_assert_uint_eq(best, smallest);
	}
}
END_TEST

START_TEST(of_many_nodes_none_of_it_can_stay)
{
	static struct arrow arrows[ARROWS_MAX];
	static bool removed[ARROWS_MAX];

	for (uint32_t seed = 1; seed <= 12; seed++) {
		uint32_t nodes, count;

		numbers.state = seed;
		nodes = FEEDBACK_EXACT_NODES + 1 + below(60);
		count = make(arrows, nodes, nodes + below(nodes));
		ck_assert_int_eq(feedback_find(arrows, count, nodes, removed), FEEDBACK_MINIMAL);
		UNIT_REQUIRE(is_acyclic(arrows, count, nodes, removed));
		for (uint32_t i = 0; i < count; i++) {
			if (!removed[i])
				continue;
			removed[i] = false;
			UNIT_REQUIRE(!is_acyclic(arrows, count, nodes, removed));
			removed[i] = true;
		}
	}
}
END_TEST

START_TEST(what_is_too_large_is_left_alone)
{
	static struct arrow arrows[FEEDBACK_NODES_MAX + 1];
	static bool removed[FEEDBACK_NODES_MAX + 1];
	double x[1], y[1];

	memset(removed, 1, sizeof(removed));
	for (uint32_t i = 0; i <= FEEDBACK_NODES_MAX; i++)
		arrows[i] = (struct arrow){i, (i + 1) % (FEEDBACK_NODES_MAX + 1)};
	ck_assert_int_eq(feedback_find(arrows, FEEDBACK_NODES_MAX + 1, FEEDBACK_NODES_MAX + 1, removed), FEEDBACK_NONE);
	ck_assert_uint_eq(count_of(removed, FEEDBACK_NODES_MAX + 1), 0);
	ck_assert(!layers_place(arrows, LAYERS_NODES_MAX + 1, LAYERS_NODES_MAX + 1, removed, x, y));
}
END_TEST

START_TEST(arrows_lead_down_and_nodes_stand_apart)
{
	static struct arrow arrows[ARROWS_MAX];
	static bool removed[ARROWS_MAX];
	double x[LAYERS_NODES_MAX], y[LAYERS_NODES_MAX];

	for (uint32_t seed = 1; seed <= 40; seed++) {
		uint32_t nodes, count;

		numbers.state = seed;
		nodes = 3 + below(LAYERS_NODES_MAX - 2);
		count = make(arrows, nodes, below(2 * nodes));
		ck_assert_int_ne(feedback_find(arrows, count, nodes, removed), FEEDBACK_NONE);
		ck_assert(layers_place(arrows, count, nodes, removed, x, y));
		for (uint32_t i = 0; i < count; i++)
			UNIT_REQUIRE(removed[i] || y[arrows[i].from] < y[arrows[i].to]);
		for (uint32_t a = 0; a < nodes; a++) {
			for (uint32_t b = 0; b < a; b++)
				UNIT_REQUIRE(y[a] != y[b] || fabs(x[a] - x[b]) > 0.5);
		}
	}
}
END_TEST

UNIT_MAIN("feedback", of_few_nodes_it_is_the_smallest, of_many_nodes_none_of_it_can_stay, what_is_too_large_is_left_alone,
	arrows_lead_down_and_nodes_stand_apart)
