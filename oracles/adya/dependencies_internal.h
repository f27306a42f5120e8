/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files that draw dependencies share; dependencies.h is for other files. */
#ifndef ADYA_DEPENDENCIES_INTERNAL_H
#define ADYA_DEPENDENCIES_INTERNAL_H

#include "adya/dependencies.h"
#include "adya/explanation.h"
#include "adya/multi_table_predicate.h"
#include "adya/positions.h"
#include "adya/predicate_match.h"
#include "adya/version_chain.h"
#include "common/graph/graph.h"

/* What a read of a version leads to.  It stands by itself, since reads come by transaction and
 * versions, objects and orders lie elsewhere: one place to look at instead of five. */
struct link {
	uint32_t writer; /* node; GRAPH_NONE */
	uint32_t next;   /* node that installed the next version, or a LINK_ value */
};

#define LINK_LAST      GRAPH_NONE       /* no node of the graph */
#define LINK_ASIDE     (GRAPH_NONE - 1) /* not in the order */
#define LINK_UNORDERED (GRAPH_NONE - 2) /* the object's order is not known */

struct dependency_builder {
	struct dependencies *out;
	const struct history *history;
	struct graph_builder graph;
	struct link *links; /* by version */
	struct matcher *matcher;
	struct chains chains;
	struct multi_table *multi_table; /* NULL: no predicate over several tables was met yet */
	bool is_multi_table;       /* ... and the current one is one */
	uint64_t tests_left;
	bool inexact, unseen, others, timed;
	const struct meter *meter;
	uint32_t *writer_of; /* by table: the only transaction that wrote it; NONE, SEVERAL */
	uint32_t *objects_of, *objects_head; /* objects by table */
	wide *keys_of;                       /* of objects_of, where sorted[table] */
	bool *sorted;                        /* by table: keys are integers, in order */
	uint32_t *seen, *seen_stamp;         /* by object: the version in the predicate's set */
	bool *seen_matches;
	bool *touched; /* by object: writes that were not seen may have changed it; NULL: none */
	uint32_t stamp;
	struct predicate_index *index;
	uint32_t *candidate, candidate_stamp; /* by object: it can satisfy the predicate */
	/* By object: the operation of the current transaction that wrote it last, where own_stamp is its node + 1. */
	uint32_t *own, *own_stamp;
};

#define SEVERAL (HISTORY_NONE - 1)

/* One predicate at one object. */
struct look {
	uint32_t op, predicate, node, object;
	const struct history_predicate *p;
	const struct chain *chain; /* NULL: the object's order is not known */
	uint32_t seen;             /* the version it saw; NONE: not recorded */
	enum match seen_match;     /* ... as its result tells; UNKNOWN: it does not */
	bool absent;               /* all that is known is that the row was not there */
};

/* predicate_dependencies.c */
void predicates_init(struct dependency_builder *b);
void predicates_release(struct dependency_builder *b);
void add_predicate(struct dependency_builder *b, uint32_t op, uint32_t node);
/* Makes the predicate of an operation the one that look_test() speaks of.  False: its condition is not
 * known or not modelled; then no version's match with it is known. */
bool choose_predicate(struct dependency_builder *b, uint32_t op);
/* What the predicate says of one object. */
struct look look_at(struct dependency_builder *b, uint32_t op, uint32_t node, uint32_t object);
/* Does the version at this place of the object's order satisfy the predicate? */
/* The versions around a place that match as it does: from *first to before *end.  Of a predicate over one table that is
 * not known to have seen any of them. */
void look_run(struct dependency_builder *b, const struct look *look, uint32_t place, uint32_t *first, uint32_t *end);
/* As look_test(), of any version of the object, installed or not. */
enum match look_test_version(struct dependency_builder *b, const struct look *look, uint32_t version);
enum match look_test(struct dependency_builder *b, const struct look *look, uint32_t place);

/* dependencies.c */
/* Says how far it is, and notes an interruption. */
void go_on(struct dependency_builder *b, const char *phase, uint64_t done, uint64_t all);
void count_undecided(struct dependency_builder *b, enum undecided why, uint32_t stmt);
static inline uint32_t node_of_version(const struct dependency_builder *b, uint32_t version)
{
	uint32_t txn = b->history->versions[version].txn;

	return txn == HISTORY_NONE ? GRAPH_NONE : b->out->node_of[txn];
}
void add_edge(struct dependency_builder *b, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t detail);

#endif
