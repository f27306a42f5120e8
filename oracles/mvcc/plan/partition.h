/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PARTITION (...) as a condition. */
#ifndef MVCC_PLAN_PARTITION_H
#define MVCC_PLAN_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;
struct session_settings;
struct sql_stmt;

/* Makes a condition of PARTITION (...), where it is certain which one */
void partitions_expand(struct mvcc *m, struct sql_stmt *stmt, const struct session_settings *settings);

#endif
