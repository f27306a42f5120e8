/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server's binary log, read beside a recording of its sessions: what each transaction wrote, in
 * the order of the commits, as `logged` records (docs/trace-format.md).
 *
 * Sessions tell the names of their commits, for which they need binlog_track_sql().  Which
 * transaction is which is for the reader of the trace to say: nothing here waits for a session, and no session waits
 * for the log.
 *
 * A thread of its own reads.  Connections that break are made again, behind the last whole
 * transaction; what the server no longer has, or was not asked for in the end, is noted as missing.
 */
#ifndef BINLOG_BESIDE_H
#define BINLOG_BESIDE_H

#include "binlog/server.h"
#include "binlog/transactions.h"
#include "trace/writer.h"
#include "wire/values.h"

struct binlog_beside;

struct binlog_beside_options {
	struct db_login login;
	struct db_address address;
	const char *node;
	struct trace_writer *writer;
	struct values_limits values;
	uint32_t server_id;   /* of the replica that we seem to be */
	uint32_t first_table; /* the first number for tables that the trace does not have yet */
};

struct binlog_beside_summary {
	struct binlog_counts counts;
	uint64_t bytes, gaps, reconnects;
};

/* Makes a session's answers tell the names of its commits; NULL: the server cannot. */
const char *binlog_track_sql(const struct binlog_state *state);

/* Appends what the recorder says of itself to a server record's variables; how many pairs. */
uint32_t binlog_beside_variables(struct buf *pairs, bool all_writers);

/* Asks the server what it has; refuses what cannot be evidence, and says what to set.  The log will be read
 * from this moment on. */
struct binlog_beside *binlog_beside_new(
	const struct binlog_beside_options *options, struct err *err) MUST_CHECK;
const struct binlog_state *binlog_beside_state(const struct binlog_beside *beside);
/* It was not started. */
void binlog_beside_free(struct binlog_beside *beside);
/* Before it is started: a table that the trace has, by that number. */
void binlog_beside_table(
	struct binlog_beside *beside, struct span database, struct span name, uint32_t number);
/* Asks for the log, which may be refused, and begins to read it. */
bool binlog_beside_start(struct binlog_beside *beside, struct err *err) MUST_CHECK;
/* Reads what the server has now, and ends. */
void binlog_beside_end(struct binlog_beside *beside, struct binlog_beside_summary *summary);

#endif
