/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where values come from: which names are base tables, and whether a statement takes values from
 * them only.  For --redact by column: through a view, a stored function, a table made of a query, a
 * value gets another name than that of its column, and nothing in the answer tells.  So only tables
 * that were read before the first client are certain, and every other name may be a view.
 *
 * Thread: base_tables_add before the workers run; then read only, but for the doubt.
 */
#ifndef CAPTURE_BASE_TABLES_H
#define CAPTURE_BASE_TABLES_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/span.h"
#include "sql/sql.h"

struct base_tables {
	char **names; /* "database\0table", sorted once all are there */
	size_t *lengths;
	size_t count, capacity, length_capacity;
	bool sorted;
	/* A name or a column may have become another one's: no table is certain any more. */
	atomic_bool doubt;
};

void base_tables_add(struct base_tables *base_tables, struct span database, struct span table);
void base_tables_sort(struct base_tables *base_tables);
void base_tables_release(struct base_tables *base_tables);

/* Is it a base table for sure?  Names are compared byte by byte.  base_tables NULL: none is known. */
bool base_tables_knows(const struct base_tables *base_tables, struct span database, struct span table);
/* Does the text read and write base tables only, and compute with the server's own functions only?
 * database: the session's; SPAN_NONE: not known.  A statement that may make another thing of a known
 * name raises the doubt. */
bool base_tables_is_certain(struct base_tables *base_tables, struct span text, struct span database,
	const struct sql_options *options);

#endif
