/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracle `adya`: builds the direct serialization graph of a history whose versions are known,
 * and says which of Adya's phenomena are in it (semantics.md, sections 1 to 4).
 *
 * Nodes are committed transactions; an unknown outcome counts as committed only where a read saw
 * its writes.  Certain edges rest on exact probes, and findings on certain edges alone.  So every cycle
 * reported is real; but for suspicions: cycles that are there only with reads of items that are not
 * exact, and that would be violations.
 *
 * A read that may have met one of several versions gets one of them by an explanation (explanation.h).  A
 * level holds where an explanation satisfies it.  Statements for which none was found are undecided, and
 * named.
 */
#ifndef ADYA_ADYA_H
#define ADYA_ADYA_H

#include "base/meter.h"
#include "common/contract.h"
#include "common/verdict.h"
#include "model/history/history.h"

struct dependencies;

#define EXPLANATIONS_DEFAULT ((uint64_t)64)

struct adya_options {
	const struct contract *contract;
	bool session, realtime; /* the strong variants too */
	uint32_t per_class_max; /* findings listed a class; 0: the default */
	uint64_t budget;        /* of the search for witnesses (common/graph/cycles.h); 0: the default */
	uint64_t explanations;  /* tried after the first one, for levels and for the contract; 0: the default */
	uint64_t tests_max;     /* (predicate, version) tests; 0: the default (dependencies.h) */
	/* Did another oracle verify the answer of this statement?  Then it needs no verification here.  NULL: none
	 * did. */
	bool (*is_verified)(const void *context, uint32_t session, uint32_t number);
	const void *context;
	/* Called with the graph of certain dependencies before it is released (dependencies.h).  NULL: not wanted. */
	void (*drawn)(void *context, const struct dependencies *dependencies);
	void *drawn_context;
	const struct meter *meter; /* how far it is; NULL: not wanted */
};

/* An interruption (base/interrupt.h) ends it early: findings are those until then, and no statement is decided. */
void adya_check(
	const struct history *history, const struct adya_options *options, struct verdict *verdict);

#endif
