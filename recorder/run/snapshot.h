/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a trace needs to know of the server besides the sessions: its variables, the tables, and
 * their content at a moment.  Asked on the control connection while nothing else runs.
 */
#ifndef RUN_SNAPSHOT_H
#define RUN_SNAPSHOT_H

#include <mysql.h>

#include "base/err.h"
#include "capture/worker.h"
#include "instrument/tables.h"

enum { SNAPSHOT_TABLES_MAX = 10000 };

struct snapshot {
	MYSQL *control;
	struct trace_producer *producer;
	const char *node, *address, *database;
	uint64_t rows_max; /* of a table */
	struct values_limits limits;
	const struct instrument_tables *instrument; /* NULL: none is prepared */
	bool logged;      /* the binary log is read beside the sessions */
	bool definitions; /* rows come with SHOW CREATE TABLE, too */
	/* Tables by number, in the order of their names. */
	char **tables;
	size_t table_count, table_capacity;
};

/* The server record: version and the variables that change what statements mean. */
bool snapshot_server(struct snapshot *s, struct err *err) MUST_CHECK;
/* Schema records of all tables of the database. */
bool snapshot_schema(struct snapshot *s, struct err *err) MUST_CHECK;
/* Reads definitions and rows as they are: before either, where snapshot_schema was not called. */
bool snapshot_session(struct snapshot *s, struct err *err) MUST_CHECK;
/* Their rows.  A table that was dropped since is left out. */
bool snapshot_rows(struct snapshot *s, const char *moment, struct err *err) MUST_CHECK;
void snapshot_release(struct snapshot *s);

#endif
