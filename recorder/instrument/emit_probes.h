/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probe records of a statement that is over, from its plan and from what was seen of its rows. */
#ifndef INSTRUMENT_EMIT_PROBES_H
#define INSTRUMENT_EMIT_PROBES_H

#include "instrument/plan.h"

/* A statement whose probes are to be written. */
struct probed {
	uint32_t number;       /* in its session */
	uint8_t read_kind;     /* enum probe_read_kind of a plain read: probed_read_kind() */
	bool lost;             /* something of its log is missing */
	bool failed;           /* ... and what of it stayed is not known */
	struct span predicate; /* SPAN_NONE: not known */
	bool changed_known, warnings;
	uint64_t changed; /* rows, as the server says */
};

/* What a plain SELECT sees, by the level it runs at; asked before it is sent. */
uint8_t probed_read_kind(const struct capture *capture, const struct stmt_plan *plan);

/* The rows that came are all that its condition gives only if nothing cut them off. */
void probed_forget_predicate(struct probed *stmt, struct stmt_plan *plan);
/* LIMIT cut rows off, perhaps: what came are the first ones. */
void probed_take_first_rows(
	struct probed *stmt, struct stmt_plan *plan, const struct buf *first_rows);

/* One probe, of `count` rows. */
void probed_emit(struct capture *capture, const struct probed *stmt, enum probe_kind kind,
	const struct instrument_table *table, struct record_probe probe, const struct buf *rows,
	uint32_t count);
/* The condition by which a table was read is not known, or spans tables: the probe counts as one
 * that is not decided. */
#define PROBED_UNKNOWN "?"
/* What comes before a query that read rows which are not listed (docs/trace-format.md). */
#define PROBED_PART_OF "PART OF "
void probed_emit_unknown(
	struct capture *capture, const struct probed *stmt, const struct instrument_table *table);
/* ... of all tables that were read without being seen. */
void probed_emit_blind(
	struct capture *capture, const struct probed *stmt, const struct stmt_plan *plan);
const struct table_probes *probed_rows(
	const struct statement_probes *probes, const struct instrument_table *table);

/* It wrote, or may have written, rows that no probe saw: a probe without rows for each table that
 * may be concerned, so that the writes that were seen are not taken for all. */
void probed_emit_unseen(struct capture *capture, const struct probed *stmt,
	const struct stmt_plan *plan, const struct instrument_tables *tables);

/* ... of tables that foreign keys may have changed with it. */
void probed_emit_fired(struct capture *capture, const struct probed *stmt,
	const struct instrument_tables *tables);

/* After the statement's own record. */
void probed_emit_reads(struct capture *capture, const struct probed *stmt,
	const struct stmt_plan *plan, const struct statement_probes *probes);
void probed_emit_writes(struct capture *capture, const struct probed *stmt,
	const struct stmt_plan *plan, const struct statement_probes *probes);

#endif
