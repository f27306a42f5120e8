/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which events of an order come before which: a table that answers at once.
 *
 * The transactions are put into chains, each of which the order has one after the other: sessions
 * where their order counts, else what the first edges happen to string together (greedily, in a
 * topological order).  A row of an event then has one number for each chain: how many of the
 * chain's events come before it.  So n events and k chains take 2 nk bytes.  Where there would be so many
 * chains that a matrix of bits is smaller, the table is that matrix.
 */
#ifndef VALUES_REACH_H
#define VALUES_REACH_H

#include "values/schedule.h"

/* Events of one chain at most: places are 16 bits. */
enum { REACH_CHAIN_MAX = 32766 };

/* The edges by their start, and an order of the events that they respect. */
struct reach_edges {
	const struct precedence *all;
	const uint32_t *head, *out; /* out: numbers of edges, those from n at head[n] .. head[n + 1] */
	const uint32_t *order;
};

struct reach {
	uint32_t node_count;
	uint32_t events; /* of a transaction: 1, or 2: a start and a commit */
	uint32_t chain_count;
	size_t width;    /* of a row: numbers, or words of bits */
	uint32_t *chain; /* by transaction; NULL: bits */
	int16_t *place;  /* by event: its place in its chain */
	int16_t *clock;  /* rows: how many events of the chain come before */
	uint64_t *bits;  /* rows: the events that come after */
};

/* Chooses chains, or bits.  By transaction: does it count, and the one before it in its session, or
 * VALUES_NONE.  False: the table would take more than `bytes`. */
bool reach_plan(struct reach *r, const struct reach_edges *edges, uint32_t node_count,
	uint32_t events, const uint8_t *counts, const uint32_t *before, uint64_t bytes);
void reach_release(struct reach *r);
/* Fills the table anew; returns how many words that took. */
uint64_t reach_close(struct reach *r, const struct reach_edges *edges);
/* Where events stand in the middle of all orders, as it were: by event, how many come before it, and
 * how many do not come after it, together.  By transaction: does it count?  Returns how many words
 * that took. */
uint64_t reach_middle(const struct reach *r, const uint8_t *counts, uint32_t *middle);
/* Of the table. */
size_t reach_size(const struct reach *r);
/* A copy of the table, and back. */
void *reach_save(const struct reach *r);
void reach_restore(struct reach *r, const void *saved);

/* Lists of transactions, list k at head[k] .. head[k + 1], by chains: sorts them by chain and place,
 * and finds where in them each chain begins: groups[group_head[k]] .., with one more after the last.
 * With bits each is alone.  Free both arrays. */
void reach_group(const struct reach *r, const uint32_t *head, uint32_t count, uint32_t *txns,
	uint32_t **group_head, uint32_t **groups);

/* Does `from` come before `to`? */
static inline bool reach_before(const struct reach *r, uint32_t from, uint32_t to)
{
	if (r->chain)
		return r->clock[to * r->width + r->chain[r->events == 2 ? from / 2 : from]] >
		       r->place[from];
	return r->bits[from * r->width + to / 64] >> to % 64 & 1;
}

#endif
