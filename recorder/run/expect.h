/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a statement ended as its scenario expects. */
#ifndef RUN_EXPECT_H
#define RUN_EXPECT_H

#include "run/client.h"
#include "scenario/scenario.h"

/* True when it did; otherwise `why` says what came instead. */
bool expect_met(const struct scenario_expect *expect, const struct client *client, struct buf *why);
/* The rows of the client's last statement as (1,'a') (2,NULL), at most `rows_max` of them. */
void expect_print_rows(const struct client *client, uint64_t rows_max, struct buf *out);

#endif
