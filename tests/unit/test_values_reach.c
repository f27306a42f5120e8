/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of what comes before what, as chains and as bits, against a search. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "random.h"
#include "values/reach.h"

enum { NODES_MAX = 800 };

struct dag {
	struct precedence all;
	uint32_t *head, *out, *order, *before;
	uint8_t *counts;
	uint32_t nodes;
	size_t capacity;
};

static void add(struct dag *d, uint32_t from, uint32_t to)
{
	MEM_RESERVE(d->all.edges, d->all.count + 1, d->capacity);
	d->all.edges[d->all.count++] = (struct precedence_edge){from, to, 0, 0};
}

/* Edges lead to higher numbers, so that the numbers are an order. */
static void sort(struct dag *d)
{
	free(d->head);
	free(d->out);
	d->head = mem_zero(d->nodes + 2, sizeof(uint32_t));
	d->out = mem_zero(d->all.count + 1, sizeof(uint32_t));
	for (size_t e = 0; e < d->all.count; e++)
		d->head[d->all.edges[e].from + 2]++;
	for (uint32_t n = 0; n < d->nodes; n++)
		d->head[n + 2] += d->head[n + 1];
	for (size_t e = 0; e < d->all.count; e++)
		d->out[d->head[d->all.edges[e].from + 1]++] = (uint32_t)e;
}

static void make(struct dag *d, uint32_t nodes, uint32_t events)
{
	memset(d, 0, sizeof(*d));
	d->nodes = nodes;
	d->order = mem_zero(nodes, sizeof(uint32_t));
	d->before = mem_zero(nodes, sizeof(uint32_t));
	d->counts = mem_zero(nodes, 1);
	for (uint32_t n = 0; n < nodes; n++) {
		d->order[n] = n;
		d->before[n] = VALUES_NONE;
		d->counts[n] = 1;
	}
	for (uint32_t t = 0; events == 2 && t < nodes / 2; t++)
		add(d, 2 * t, 2 * t + 1);
}

static void release(struct dag *d)
{
	free(d->all.edges);
	free(d->head);
	free(d->out);
	free(d->order);
	free(d->before);
	free(d->counts);
}

static struct reach_edges edges_of(const struct dag *d)
{
	return (struct reach_edges){&d->all, d->head, d->out, d->order};
}

/* Every pair, by a search from every node, and what the pairs add up to. */
static void compare(const struct dag *d, const struct reach *r)
{
	static uint8_t seen[NODES_MAX];
	static uint32_t expected[NODES_MAX], middle[NODES_MAX];

	for (uint32_t n = 0; n < d->nodes; n++)
		expected[n] = d->nodes;
	for (uint32_t root = 0; root < d->nodes; root++) {
		memset(seen, 0, d->nodes);
		seen[root] = 1;
		for (uint32_t n = root; n < d->nodes; n++) {
			for (uint32_t i = d->head[n]; seen[n] && i < d->head[n + 1]; i++)
				seen[d->all.edges[d->out[i]].to] = 1;
		}
		for (uint32_t n = 0; n < d->nodes; n++)
			ck_assert_msg(reach_before(r, root, n) == (seen[n] && n != root),
				"%u before %u", root, n);
		for (uint32_t n = root + 1; n < d->nodes; n++) {
			expected[root] -= seen[n];
			expected[n] += seen[n];
		}
	}
	reach_middle(r, d->counts, middle);
	for (uint32_t n = 0; n < d->nodes; n++)
		ck_assert_uint_eq(middle[n], expected[n]);
}

/* A random order, its table, more edges, the table again.  True: the table was one of bits. */
static bool check(struct random *random, uint32_t txns, uint32_t events, uint32_t sparse)
{
	struct dag d;
	struct reach r;
	struct reach_edges edges;
	uint32_t sessions = 1 + (uint32_t)random_below(random, txns);
	void *saved;
	bool bits;

	make(&d, txns * events, events);
	for (uint32_t t = sessions; random_below(random, 2) && t < txns; t++) {
		d.before[t] = t - sessions;
		add(&d, (t - sessions) * events + events - 1, t * events);
	}
	for (uint32_t i = 0; i < d.nodes / sparse; i++) {
		uint32_t a = (uint32_t)random_below(random, d.nodes);
		uint32_t b = (uint32_t)random_below(random, d.nodes);

		if (a != b)
			add(&d, a < b ? a : b, a < b ? b : a);
	}
	sort(&d);
	edges = edges_of(&d);
	ck_assert(reach_plan(&r, &edges, d.nodes, events, d.counts, d.before, UINT64_MAX));
	reach_close(&r, &edges);
	compare(&d, &r);
	saved = reach_save(&r);
	for (uint32_t i = 0; i < d.nodes; i++) {
		uint32_t a = (uint32_t)random_below(random, d.nodes - 1);

		add(&d, a, a + 1 + (uint32_t)random_below(random, d.nodes - a - 1));
	}
	sort(&d);
	edges = edges_of(&d);
	reach_close(&r, &edges);
	compare(&d, &r);
	reach_restore(&r, saved);
	ck_assert_int_eq(memcmp(saved, r.chain ? (void *)r.clock : (void *)r.bits, reach_size(&r)), 0);
	bits = r.chain == NULL;
	free(saved);
	reach_release(&r);
	release(&d);
	return bits;
}

START_TEST(random_orders)
{
	struct random random = {7};
	int bits = 0;

	for (int i = 0; i < 50; i++)
		check(&random, 2 + (uint32_t)random_below(&random, 60), 1 + (uint32_t)i % 2,
			1 + (uint32_t)i % 5);
	/* Hardly any order: more chains than bits. */
	for (int i = 0; i < 4; i++)
		bits += check(&random, NODES_MAX / 2, 1 + (uint32_t)i % 2, 4);
	ck_assert_int_gt(bits, 0);
}
END_TEST

/* A chain that is longer than places can say goes on as another. */
START_TEST(long_chain)
{
	enum { LONG = REACH_CHAIN_MAX + 1000 };
	struct dag d;
	struct reach r;
	struct reach_edges edges;

	make(&d, LONG, 1);
	for (uint32_t n = 1; n < LONG; n++) {
		d.before[n] = n - 1;
		add(&d, n - 1, n);
	}
	sort(&d);
	edges = edges_of(&d);
	ck_assert(reach_plan(&r, &edges, d.nodes, 1, d.counts, d.before, UINT64_MAX));
	reach_close(&r, &edges);
	ck_assert_uint_eq(r.chain_count, 2);
	for (uint32_t n = 0; n < LONG; n += 97) {
		ck_assert(!reach_before(&r, n, n));
		ck_assert(n == 0 || reach_before(&r, 0, n));
		ck_assert(n == 0 || !reach_before(&r, n, n - 1));
		ck_assert(n == LONG - 1 || reach_before(&r, n, LONG - 1));
	}
	reach_release(&r);
	ck_assert(!reach_plan(&r, &edges, d.nodes, 1, d.counts, d.before, 1000));
	release(&d);
}
END_TEST

UNIT_MAIN("values_reach", random_orders, long_chain)
