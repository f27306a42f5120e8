/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What page_data.c gathers of one trace and page_json.c writes.  No other file looks inside. */
#ifndef REPORT_PAGE_DATA_INTERNAL_H
#define REPORT_PAGE_DATA_INTERNAL_H

#include "base/map.h"
#include "report/judge_trace.h"
#include "report/trace_names.h"

enum {
	STMTS_MAX = 20000, /* of the transactions in findings */
	BUCKETS = 240,     /* of the overview */
	EVENTS_MAX = 500,  /* of the cluster, and notes */
	SQL_MAX = 2000,    /* bytes of one statement */
	ANSWER_MAX = 600,  /* ... of its rows */
	VARIABLES_MAX = 200,
	TABLES_MAX = 50,
	INITIAL_ROWS_MAX = 50, /* of a table */
	INITIAL_BYTES_MAX = 8000,
};

struct shown_stmt {
	uint32_t txn; /* in the history */
	uint32_t session, number;
	uint64_t begin, end, blocked;
	uint32_t error;
	bool seen;
	bool snapshot; /* its read view is the transaction's, or its own */
	struct span sql;
	struct buf answer;
};

struct bucket {
	uint64_t stmts, errors, sum_ns, max_ns;
};

struct event {
	uint64_t begin, at;
	struct span text;
};

/* A table's rows before the recording, as the VALUES of an INSERT. */
struct initial {
	uint32_t table; /* number in the trace */
	struct buf values;
	uint64_t rows, left_out;
};

struct report_facts {
	const struct judged *judged;
	struct arena arena;
	struct names *names;
	bool *involved;     /* by transaction */
	bool *has_snapshot; /* ... was seen to take one */
	struct shown_stmt *stmts;
	size_t stmt_count, stmt_capacity;
	uint64_t stmts_left_out;
	struct map by_number; /* (session, number): index of stmts */
	struct bucket buckets[BUCKETS];
	uint64_t first_ns, width_ns;
	struct node_lanes *lanes;
	struct event events[EVENTS_MAX];
	size_t event_count;
	struct initial initial[TABLES_MAX];
	size_t initial_count;
	uint64_t base_ns; /* times on the page count from here */
};

void report_facts_json(
	struct json *json, struct report_facts *facts, const struct verdict_context *context);

#endif
