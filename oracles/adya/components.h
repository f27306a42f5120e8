/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds the components of the dependency graph together in which cycles were found. */
#ifndef ADYA_COMPONENTS_H
#define ADYA_COMPONENTS_H

#include "adya/dependencies.h"
#include "common/graph/cycles.h"
#include "common/verdict.h"

/* Adds the components of three or more transactions.  Two that depend on each other are shown by their finding. */
void components_add(struct verdict *verdict, const struct history *history, const struct dependencies *dependencies,
	const struct cycles *cycles);

#endif
