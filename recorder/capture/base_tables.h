/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where values come from: which names are base tables, and whether a statement takes values from
 * them only.  For --redact by column: through a view, a stored function, a table made of a query, a
 * value gets another name than that of its column, and nothing in the answer tells.  So only tables
 * that were read before the first client are certain, and every other name may be a view.
 *
 * Thread: origin_add before the workers run; then read only, but for the doubt.
 */
#ifndef CAPTURE_BASE_TABLES_H
#define CAPTURE_BASE_TABLES_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/span.h"
#include "sql/sql.h"

struct origin {
	char **names; /* "database\0table", sorted once all are there */
	size_t *lengths;
	size_t count, capacity, length_capacity;
	bool sorted;
	/* A name or a column may have become another one's: no table is certain any more. */
	atomic_bool doubt;
};

void origin_add(struct origin *origin, struct span database, struct span table);
void origin_sort(struct origin *origin);
void origin_release(struct origin *origin);

/* Is it a base table for sure?  Names are compared byte by byte.  origin NULL: none is known. */
bool origin_knows(const struct origin *origin, struct span database, struct span table);
/* Does the text read and write base tables only, and compute with the server's own functions only?
 * database: the session's; SPAN_NONE: not known.  A statement that may make another thing of a known
 * name raises the doubt. */
bool origin_is_certain(struct origin *origin, struct span text, struct span database,
	const struct sql_options *options);

#endif
