/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sequences of operations: random ones, and others made of them. */
#ifndef CLUSTER_EXPLORE_MUTATE_H
#define CLUSTER_EXPLORE_MUTATE_H

#include "cluster/drive/ops.h"
#include "workload/random_source.h"

enum { SEQUENCE_MAX = 8, SEQUENCE_LINE = 128, MUTATE_STATES_MAX = 64 };

struct sequence {
	char lines[SEQUENCE_MAX][SEQUENCE_LINE]; /* of [operations], without their ends */
	unsigned count;
};

struct mutator {
	const struct ops *base;  /* whose kind, nodes and network are meant */
	bool links;              /* links may be changed */
	struct random_source random;
	char states[MUTATE_STATES_MAX][64]; /* that nodes were seen in: an operation may wait for one */
	unsigned state_count;
};

/* The steps of a text; those past SEQUENCE_MAX are left out. */
void sequence_of_ops(struct sequence *out, const struct ops *ops);
/* Inserts or replaces an operation, and leaves out those that can never be applicable then. */
void mutate(struct mutator *m, struct sequence *s);
void mutator_saw_state(struct mutator *m, struct span state);
/* The base's header with the sequence. */
void sequence_print(const struct ops *base, const struct sequence *s, uint64_t seed, struct buf *out);

#endif
