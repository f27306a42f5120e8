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

#include "capture/capture.h"
#include "instrument/tables.h"

enum {
	BACKDROP_TABLES_MAX = 10000,
	BACKDROP_COLUMNS_MAX = 4096,
};

struct backdrop_options {
	const char *user, *password;  /* user NULL: no context */
	const char *const *databases; /* NULL or empty: all but the server's own */
	size_t database_count;
	uint64_t rows_max; /* of a table; 0: no rows */
	uint64_t connect_timeout_ns;
	unsigned answer_timeout_s; /* of each statement; 0: none */
	bool tls;           /* where the server has it */
	const char *tls_ca; /* NULL: any certificate will do */
	const struct values_limits *values;
	struct instrument_tables *instrument; /* prepared tables; NULL: they are not looked for */
	const struct filter *filter; /* of tables; NULL: all */
	const struct redact *redact; /* NULL: none */
};

/* How to reach a node: a host and port, or a socket file. */
struct backdrop_address {
	const char *host;
	unsigned port;
	const char *socket;
};

struct backdrop_table {
	struct buf database, name, columns; /* columns: of the primary key, quoted, with commas */
};

/* Tables of the trace, by number from 1. */
struct backdrop {
	const struct backdrop_options *options;
	struct trace_writer *writer;
	struct trace_producer *producer;
	struct backdrop_table *tables;
	size_t count, capacity;
	bool programs_told;
	size_t cut_count; /* tables of which rows were left out for being too many */
	size_t first_cut; /* its number, where there is one */
};

/* A connection of the recorder's own; NULL and err. */
struct st_mysql *backdrop_connect(const struct backdrop_options *options,
	const struct capture_node *node, const struct backdrop_address *address,
	struct err *err) MUST_CHECK;

void backdrop_init(struct backdrop *context, const struct backdrop_options *options,
	struct trace_writer *writer, struct trace_producer *producer);
/* The server record of a node; fills the node's isolation level. */
bool backdrop_server(struct backdrop *context, struct capture_node *node,
	const struct backdrop_address *address, struct err *err) MUST_CHECK;
/* Whether a routine, trigger or event of the node sets levels, or may, as its body is not shown. */
void backdrop_hidden_levels(struct st_mysql *db, struct capture_node *node);
/* Schema records of all tables that are not known yet; a second time: of those made since. */
bool backdrop_schema(struct backdrop *context, struct capture_node *node,
	const struct backdrop_address *address, struct err *err) MUST_CHECK;
/* Rows records of all tables; moment: "initial" or "final". */
bool backdrop_rows(struct backdrop *context, struct capture_node *node,
	const struct backdrop_address *address, const char *moment, struct err *err) MUST_CHECK;
void backdrop_release(struct backdrop *context);

#endif
