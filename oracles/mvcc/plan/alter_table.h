/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The definition that ALTER TABLE makes of another. */
#ifndef MVCC_PLAN_ALTER_TABLE_H
#define MVCC_PLAN_ALTER_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct mvcc;
struct sql_alter;
struct sql_create_table;

/* The definition that ALTER TABLE makes of another; NULL: not modelled */
struct altered {
	const struct sql_create_table *create;
	/* By column of the new table: the one it was, or UINT32_MAX. */
	const uint32_t *origins;
	bool drops_rows; /* which rows are left is not known */
	bool renames;    /* a column has another name */
};

bool alter_definition(struct mvcc *m, const struct sql_create_table *old,
	const struct sql_alter *actions, struct altered *out);

#endif
