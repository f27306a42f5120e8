/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes as probes tell them: every version is known. */
#ifndef APPLICATION_HISTORY_ACCESSES_H
#define APPLICATION_HISTORY_ACCESSES_H

#include "common/accesses.h"
#include "model/history/history.h"

struct dependencies;

/* The history must outlive them.  `dependencies`: for reads by conditions; NULL: without them. */
void accesses_of_history(struct accesses *out, const struct history *history, const struct dependencies *dependencies);

#endif
