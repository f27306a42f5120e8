/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What saturate.c, which finds out what reads force, shares with saturate_choose.c, which decides
 * the rest. */
#ifndef VALUES_SATURATE_INTERNAL_H
#define VALUES_SATURATE_INTERNAL_H

#include "values/reach.h"
#include "values/saturate.h"
#include "values/schedule.h"

/* Words of the table that choices may cost, about a second; a look at one pair, which is mostly a
 * cache miss, counts as several. */
#define WORK_MAX ((uint64_t)1000 * 1000 * 1000)

/* Where a read came from, beside transactions. */
#define SOURCE_OPEN    VALUES_NONE /* one of several */
#define SOURCE_INITIAL (VALUES_NONE - 1)

/* A read of a value that several transactions wrote. */
struct open_read {
	uint32_t op;
	uint32_t first, count; /* in candidates: transactions, or SOURCE_INITIAL */
};

struct saturation {
	const struct facts *f;
	const struct values *v;
	enum saturation_level level;
	bool snapshot; /* events are starts and commits */
	uint32_t node_count;
	struct precedence edges; /* all of them, unsorted */
	size_t edge_capacity;
	uint32_t *head, *out; /* CSR of edge numbers by their start */
	uint32_t *order;      /* topological */
	struct reach reach;
	uint32_t *writer_head, *writers; /* by key: transactions that write it */
	uint32_t *by_chain;              /* the same, one chain after the other, each in its order */
	uint32_t *group_head, *groups;   /* by key: where the chains begin in by_chain */
	uint32_t *item_head, *item_writers; /* by item: those whose last write it is */
	uint32_t *source;                   /* by op, of external reads */
	struct open_read *open;
	size_t open_count, open_capacity;
	uint32_t *candidates;
	size_t candidate_count, candidate_capacity;
	uint32_t *trail; /* open reads with a source, in the order in which they got it */
	size_t trail_count;
	uint32_t *place;    /* by node: in a topological order near to `priority` */
	uint32_t *priority; /* by transaction: when it may have run, as its session went on */
	uint64_t work, work_max;
	uint64_t forcing, forcing_max; /* the same, of all that was forced */
	uint64_t *more; /* beyond WORK_MAX, where reads have several candidates */
	bool deciding;  /* what is added is a choice, to be taken back perhaps */
	bool chosen;    /* some source was found by leaving out the others */
	bool vague;     /* some read may be of a transaction that perhaps did not commit */
	bool conflict;  /* some read has no source left */
};

static inline uint32_t start_of(const struct saturation *s, uint32_t t)
{
	return s->snapshot ? 2 * t : t;
}

static inline uint32_t commit_of(const struct saturation *s, uint32_t t)
{
	return s->snapshot ? 2 * t + 1 : t;
}

/* What comes after the commit of the writer of the version before: the start, or where transactions
 * that write one key may overlap (prefix consistency) the commit. */
static inline uint32_t after_ww(const struct saturation *s, uint32_t t)
{
	return s->level == SATURATE_PREFIX ? commit_of(s, t) : start_of(s, t);
}

/* Are dependencies the only edges? */
static inline bool saturation_depends(const struct saturation *s)
{
	return s->level == SATURATE_PL_2PLUS || s->level == SATURATE_PL_2L;
}

/* Does an order of all events show an execution (schedule.h)? */
static inline bool saturation_executes(const struct saturation *s)
{
	return s->level == SATURATE_PL_3 || s->level == SATURATE_PL_SI;
}

static inline bool reaches(const struct saturation *s, uint32_t from, uint32_t to)
{
	return reach_before(&s->reach, from, to);
}

/* Work was done: words of the table. */
void saturation_spend(struct saturation *s, uint64_t words);
/* An edge that is not implied yet; true: it is new. */
bool saturation_add(
	struct saturation *s, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t detail);
/* The edges by their start: head, out. */
void saturation_sort(struct saturation *s);
/* The table anew.  False: there is a cycle. */
bool saturation_close(struct saturation *s);
/* Can the read have come from there, as far as the order is known? */
bool saturation_possible(struct saturation *s, uint32_t op, uint32_t from);
/* It came from there. */
void saturation_take(struct saturation *s, uint32_t op, uint32_t from);
/* Did the forcing end at a bound?  Then not all is forced. */
bool saturation_tired(const struct saturation *s);
/* Forces until nothing changes.  False: a cycle, or a read without a source. */
bool saturation_settle(struct saturation *s);

void saturation_priorities(struct saturation *s);
/* Places of all events in an order that follows the edges, and else the priorities. */
void saturation_places(struct saturation *s);
/* Decides what is open.  True: every key is ordered, every read has a source and there is no cycle,
 * which proves the level, and `commits` has the places of the commits.  False proves nothing. */
bool saturation_decide(struct saturation *s, uint32_t *commits);

#endif
