/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What WHERE says of primary keys and of integer columns. */
#ifndef MVCC_PLAN_KEY_RANGES_H
#define MVCC_PLAN_KEY_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eval_value;
struct key_set;
struct mvcc;
struct plan;
struct ranges;
struct sql_expr;
struct store_record;
struct store_table;

/* What WHERE says of primary keys, as plan->reach */
void plan_key_set(struct mvcc *m, struct plan *plan, const struct sql_expr *where);
/* What it says of an integer column, as plan->ranges */
void plan_ranges(struct mvcc *m, struct plan *plan, const struct sql_expr *where);
/* Those of the current plan, where the table is large enough to care; NULL: any row. */
const struct ranges *ranges_for(const struct mvcc *m, const struct store_table *table);
bool ranges_allow(const struct ranges *ranges, const struct eval_value *row);
/* Does WHERE say nothing else? */
bool key_set_is_all(const struct key_set *key_set);
/* How many keys it allows. */
uint64_t key_set_size(const struct key_set *key_set);
/* Is it about one key, of one column? */
bool key_set_single(const struct key_set *key_set, int64_t *key);
/* Writes the number-th key into *row (made where it is NULL); false: there are not so many. */
bool key_set_key(struct mvcc *m, const struct store_table *table, const struct key_set *key_set,
	uint64_t number, struct eval_value **row);
/* The records of the keys that the current plan allows; its key_set is not NULL. */
size_t key_set_records(struct mvcc *m, struct store_table *table, struct store_record ***out);

#endif
