/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The `values` oracle: isolation levels of a history that tells values, not versions.
 *
 * docs/oracles/values.md has the definitions.  In short: a read is matched with the writes of its
 * value; version orders are taken from the data where it gives them (lists, read-before-write,
 * timestamps); Adya's levels are then decided by components of the dependency graph
 * (common/graph/cycles.h), Biswas and Enea's by the edges their axioms force.  What a level needs and the
 * data does not give makes the level undecided, never guessed.
 */
#ifndef VALUES_CHECK_H
#define VALUES_CHECK_H

#include "base/meter.h"
#include "common/verdict.h"
#include "model/values/values.h"
#include "values/levels.h"

struct values_options {
	bool no_session;   /* leave out the strong session variants */
	bool no_realtime;  /* leave out the strong variants */
	bool no_weak;      /* leave out Biswas and Enea's levels */
	bool any_initial;  /* reads of what no transaction wrote say nothing */
	bool first;        /* the first violation is enough; so it is where one level is asked for */
	const char *level; /* judge this one (values_level_named) and report of the others only what it
			      implies; NULL: all */
	uint64_t budget;   /* of cycles_find; 0: the default */
	uint32_t examples; /* findings of one class that are listed; 0: the default */
	const struct meter *meter; /* how far it is; NULL: not wanted */
};

void values_judge(
	const struct values *v, const struct values_options *options, struct verdict *out);

#endif
