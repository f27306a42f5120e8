/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The oracle `adya`: builds the direct serialization graph of a history whose versions are known,
 * and says which of Adya's phenomena are in it (semantics.md, sections 1 to 4).
 *
 * Nodes are committed transactions; an unknown outcome counts as committed only where somebody saw
 * its writes.  Edges rest on exact probes; what rests on an inexact one, on an object without a
 * known version order, or on a predicate that cannot be evaluated is counted as undecided and draws
 * no edge.  So every cycle reported is real; but for suspicions: cycles that are there only with
 * reads of items that are not exact, and that would be violations.
 */
#ifndef ADYA_ADYA_H
#define ADYA_ADYA_H

#include "common/contract.h"
#include "common/verdict.h"
#include "model/history/history.h"

struct adya_options {
	const struct contract *contract;
	bool session, realtime; /* the strong variants too */
	uint32_t per_class_max; /* findings listed a class; 0: the default */
	uint64_t budget;        /* of the search for witnesses (common/graph/cycles.h); 0: the default */
};

void adya_check(
	const struct history *history, const struct adya_options *options, struct verdict *verdict);

#endif
