/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The definition of a table as the server tells it, packed as the record `schema` has it
 * (docs/trace-format.md).
 */
#ifndef DB_TABLE_SCHEMA_H
#define DB_TABLE_SCHEMA_H

#include <mysql.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "trace/record.h"

struct table_schema {
	struct buf columns, keys, foreign_keys, create_text;
	struct buf primary_key;   /* empty: none */
	struct buf triggers;      /* empty: the server does not say */
	struct buf primary_names; /* for ORDER BY: quoted, with commas; empty: no primary key */
	char **names;             /* of the columns */
	size_t name_count, name_capacity;
};

/* Reads everything.  `prepared`: without the version column that `isorec prepare` has added. */
bool table_schema_read(MYSQL *db, struct span database, struct span table, bool prepared,
	struct table_schema *out, struct err *err) MUST_CHECK;
/* Columns and keys alone. */
bool table_schema_read_keys(MYSQL *db, struct span database, struct span table, bool prepared,
	struct table_schema *out, struct err *err) MUST_CHECK;
/* Fills the record with all of it; it borrows from the schema. */
void table_schema_fill(const struct table_schema *schema, struct record_schema *record);
void table_schema_release(struct table_schema *schema);

#endif
