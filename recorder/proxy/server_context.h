/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an analyzer needs to know beside the sessions: each node's variables, the tables, and their
 * rows before and after.  Read through the recorder's own connection (libmysqlclient), before the
 * first client connects and after the last one has gone; never while sessions run.
 *
 * Rows are read in one consistent snapshot of the node, in primary-key order where there is one.
 */
#ifndef PROXY_SERVER_CONTEXT_H
#define PROXY_SERVER_CONTEXT_H

#include "capture/node.h"
#include "capture/worker.h"
#include "db/connect.h"
#include "instrument/tables.h"

enum { CONTEXT_TABLES_MAX = 10000 };

struct server_context_options {
	struct db_login login;        /* without a user there is no context */
	const char *const *databases; /* NULL or empty: all but the server's own */
	size_t database_count;
	uint64_t rows_max; /* of a table; 0: no rows; UINT64_MAX: as many as bytes_max allows */
	const char *snapshot_rows; /* the same as it was given, for messages */
	uint64_t bytes_max; /* of the rows of all tables, at one moment; UINT64_MAX: any */
	const struct values_limits *values;
	struct instrument_tables *instrument; /* prepared tables; NULL: they are not looked for */
	bool logged; /* the binary log is read beside the sessions ... */
	bool all_writers; /* ... and has all that is written */
	const struct filter *filter; /* of tables; NULL: all */
	const struct redact *redact; /* NULL: none */
};

struct context_table {
	struct buf database, name, columns; /* columns: of the primary key, quoted, with commas */
};

/* Tables of the trace, by number from 1. */
struct server_context {
	const struct server_context_options *options;
	struct trace_writer *writer;
	struct trace_producer *producer;
	struct context_table *tables;
	size_t count, capacity;
	bool programs_told;
	uint64_t row_bytes; /* kept of this moment */
	size_t cut_count; /* tables of which rows were left out for being too many */
	size_t first_cut; /* its number, where there is one */
};

void server_context_init(struct server_context *context, const struct server_context_options *options,
	struct trace_writer *writer, struct trace_producer *producer);
/* The server record of a node; fills the node's isolation level. */
bool server_context_server(struct server_context *context, struct capture_node *node,
	const struct db_address *address, struct err *err) MUST_CHECK;
/* Schema records of all tables that are not known yet; a second time: of those made since. */
bool server_context_schema(struct server_context *context, struct capture_node *node,
	const struct db_address *address, struct err *err) MUST_CHECK;
/* Rows records of all tables; moment: "initial" or "final". */
bool server_context_rows(struct server_context *context, struct capture_node *node,
	const struct db_address *address, const char *moment, struct err *err) MUST_CHECK;
void server_context_release(struct server_context *context);

#endif
