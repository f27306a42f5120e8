/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A binary log alone as a trace: its transactions in the order of their commits, with their rows.
 */
#ifndef BINLOG_RECORD_H
#define BINLOG_RECORD_H

#include "binlog/server.h"
#include "binlog/transactions.h"
#include "trace/writer.h"

struct binlog_record_options {
	const char *output;
	bool overwrite;
	bool all_writers; /* the user says that nothing was written past the log */
	uint64_t value_keep_max;
	int compression_level;
	/* A server: the definitions, and in a live recording the log. */
	bool connect;
	struct db_login login;
	struct db_address address;
	enum binlog_start start;
	const char *gtids;
	uint32_t server_id;
	bool wait; /* for more, when the log has ended */
	const char *const *files;
	size_t file_count;
};

struct binlog_record_summary {
	struct binlog_counts counts;
	uint64_t bytes, events, gaps, reconnects;
	uint32_t keyless_tables;
	struct trace_writer_stats trace;
};

/* `stop` is looked at between events, and about once a second. */
bool binlog_record(const struct binlog_record_options *options, const volatile int *stop,
	struct binlog_record_summary *summary, struct err *err) MUST_CHECK;

#endif
