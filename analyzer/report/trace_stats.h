/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics of a trace, gathered in one pass in bounded memory.
 *
 * Every list that the trace could make grow has a limit (STATS_*_MAX); what comes after it is full
 * is added up under "others", so totals are always right.
 *
 * The recorder's own statements (STMT_INJECTED) are counted apart and appear nowhere else.
 */
#ifndef REPORT_TRACE_STATS_H
#define REPORT_TRACE_STATS_H

#include "base/map.h"
#include "base/strtab.h"
#include "report/histogram.h"
#include "report/trace_names.h"
#include "trace/reader.h"

enum {
	STATS_KINDS_MAX = 64,
	STATS_GROUPS_MAX = 1000,
	STATS_ERRORS_MAX = 500,
	STATS_PROBES_MAX = 2000,
	STATS_REASONS_MAX = 100,
	STATS_SESSIONS_MAX = 262144, /* to tell sessions that were seen from each other */
	STATS_LEVELS = 5,
	STATS_OUTCOMES = 3,
};

/* Statements of a kind: the SQL keyword, or the protocol's command. */
struct stats_kind {
	char name[24];
	uint64_t count, errors, no_reply, rows, affected, touched, blocked, blocked_ns;
	struct histogram latency; /* of those that were answered */
};

/* Reads or writes rows: counts for alpha, the share of those that touched one. */
bool stats_kind_has_rows(const struct stats_kind *kind);

struct stats_error {
	uint32_t code;
	char sqlstate[6];
	char text[100]; /* of the first */
	uint64_t count;
};

struct stats_probe {
	uint8_t kind;
	bool exact;
	uint32_t table;
	uint64_t count, rows;
};

/* Something counted by name. */
struct stats_count {
	struct span name_ref; /* owned by the tally */
	uint64_t count, amount;
};

struct stats_tally {
	struct strtab names;
	struct stats_count *items; /* by id in names, which has the empty string as 0 */
	size_t count, capacity, max;
	struct stats_count others;
};

struct stats {
	struct names *names;
	uint64_t records[RECORD_KIND_COUNT], unknown_kinds, malformed;
	uint64_t first_at, last_at; /* of all records with a time */
	bool any_at;

	struct {
		uint64_t seen, opened, closed, opaque, changed, ended;
		bool seen_is_least; /* more than STATS_SESSIONS_MAX: some may be counted twice */
		struct map ids;
		struct stats_tally groups; /* "user on node" */
	} session;

	struct {
		uint64_t begun, ended, autocommit, read_only, snapshot, savepoints, rollbacks_to;
		uint64_t by[STATS_LEVELS][STATS_OUTCOMES];
		struct histogram duration[STATS_OUTCOMES]; /* without autocommit */
		struct stats_tally reasons;                /* of the ends that were no commit */
	} txn;

	struct {
		uint64_t count, injected, no_reply, errors, warnings, cut, not_kept, opaque;
		uint64_t rows, affected, reply_bytes;
		uint64_t blocked_watched, blocked_count;
		struct stats_kind kinds[STATS_KINDS_MAX + 1]; /* the last one: others */
		size_t kind_count;
		struct histogram latency, first_byte, blocked, injected_latency;
		struct stats_error errors_by[STATS_ERRORS_MAX];
		size_t error_count;
		struct map error_index;
		uint64_t errors_others;
	} stmt;

	struct {
		uint64_t records, rows_kept, rows_total, digests;
	} result;

	struct {
		struct stats_probe items[STATS_PROBES_MAX];
		size_t count;
		struct map index;
		uint64_t others, others_rows;
	} probe;

	struct {
		uint64_t count, records, bytes;
		struct stats_tally reasons;
		uint64_t removed; /* with segments that --max-total removed */
	} gap;

	struct {
		uint64_t parts, rows, incomplete;
	} table_rows;

	struct stats_tally cluster, notes;
};

struct stats *stats_new(void);
void stats_free(struct stats *stats);
void stats_take(struct stats *stats, const struct trace_item *item);
/* Sorts the lists for printing: by count, then by name; call once, at the end. */
void stats_sort(struct stats *stats);

#endif
