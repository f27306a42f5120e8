/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dates and times that are parameters. */
#ifndef MVCC_PLAN_TEMPORAL_PARAMS_H
#define MVCC_PLAN_TEMPORAL_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;
struct plan;

bool temporal_params_are_plain(const struct mvcc *m, const struct plan *plan);

#endif
