/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A few tables with their rows, as a source for the evaluator. */
#ifndef TESTS_SQL_EVAL_TABLES_H
#define TESTS_SQL_EVAL_TABLES_H

#include "eval/eval.h"

enum { EVAL_TABLES_MAX = 16 };

struct eval_tables {
	struct eval_table *list[EVAL_TABLES_MAX];
	struct eval_rows contents[EVAL_TABLES_MAX];
	unsigned count;
};

static inline const struct eval_table *eval_tables_find(void *ctx, const struct sql_table_name *name)
{
	struct eval_tables *tables = ctx;

	for (unsigned i = 0; i < tables->count; i++) {
		if (span_eq(tables->list[i]->name, name->name))
			return tables->list[i];
	}
	return NULL;
}

static inline bool eval_tables_rows(void *ctx, const struct eval_table *table,
	const struct sql_table_ref *ref, struct eval_rows *out)
{
	struct eval_tables *tables = ctx;

	(void)ref;
	for (unsigned i = 0; i < tables->count; i++) {
		if (tables->list[i] == table) {
			*out = tables->contents[i];
			return true;
		}
	}
	return false;
}

static inline struct eval_source eval_tables_source(struct eval_tables *tables)
{
	return (struct eval_source){eval_tables_find, eval_tables_rows, tables};
}

#endif
