/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which rows of each of its tables a statement need look at, by the conditions that AND joins. */
#ifndef MVCC_PLAN_LOOKUPS_H
#define MVCC_PLAN_LOOKUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mvcc;
struct plan;
struct sql_expr;
struct sql_query;
struct store_record;
struct store_table;

/* Of UPDATE and DELETE of one table, without subqueries. */
void plan_lookups_change(struct mvcc *m, struct plan *plan, const struct sql_expr *where);
/* Of a SELECT. */
void plan_lookups_query(struct mvcc *m, struct plan *plan, const struct sql_query *query);
/* The records of the table that the current plan need look at, in the table's order.  False: all. */
bool lookup_records(struct mvcc *m, struct store_table *table, struct store_record ***out, size_t *count);

#endif
