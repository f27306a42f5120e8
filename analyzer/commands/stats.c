/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isotrace stats: what is in a trace, counted.  One pass, bounded memory (trace_stats.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/output_path.h"
#include "commands/trace_input.h"
#include "model/execution/execution.h"
#include "out/text_table.h"
#include "report/trace_stats.h"

enum stats_format { FORMAT_TEXT, FORMAT_JSON };
static const char *const format_words[] = {"text", "json", NULL};

struct stats_options {
	struct output_options output;
	int format;
	uint64_t top;
	bool salvage, digest;
};

static const double quantiles[] = {0.5, 0.9, 0.99, 0.999};
enum { QUANTILES_IN_TEXT = 3 };
static const char *const quantile_keys[] = {"p50", "p90", "p99", "p999"};

/* ---- text ---- */

/* Lists longer than --top are cut, and say so. */
static size_t list_end(const struct stats_options *options, size_t count)
{
	return count > options->top ? (size_t)options->top : count;
}

static void cut_line(
	struct buf *out, const struct stats_options *options, size_t count, const char *what)
{
	if (count > options->top)
		buf_printf(
			out, "  ... and %zu more %s (--top)\n", count - (size_t)options->top, what);
}

static void add_clean(struct buf *out, struct span text)
{
	text_add(out, text, 200, TEXT_FOLD);
}

static void trace_text(
	struct buf *out, const struct trace_source *source, const struct stats *stats)
{
	const struct trace_header *header = trace_reader_header(source->reader);
	struct trace_totals totals;
	char first[CLOCK_RFC3339_SIZE], last[CLOCK_RFC3339_SIZE];

	trace_reader_totals(source->reader, &totals);
	buf_add_str(out, "Trace ");
	add_clean(out, span_str(source->path));
	buf_add_str(out, ", recorded by ");
	add_clean(out, header->recorder_ref);
	buf_add_str(out, "\n  ");
	if (stats->any_at) {
		buf_printf(out, "%s to %s, ",
			clock_rfc3339(source_wall_ns(source, stats->first_at), first),
			clock_rfc3339(source_wall_ns(source, stats->last_at), last));
		text_add_duration(out, stats->last_at - stats->first_at);
		buf_add_str(out, "\n  ");
	}
	text_add_counted(out, totals.records, "record", "records");
	buf_add_str(out, " in ");
	text_add_counted(out, totals.blocks, "block", "blocks");
	buf_add_str(out, " of ");
	text_add_counted(out, totals.segments, "segment", "segments");
	buf_add_str(out, "; ");
	text_add_size(out, totals.bytes_raw);
	buf_add_str(out, " in ");
	text_add_size(out, totals.bytes_file);
	buf_add_str(out, " of file\n");
	if (source->end == TRACE_NEXT_END && totals.clean && !totals.lost_records) {
		buf_add_str(out, "  complete: closed in order, no damage, nothing lost\n");
		return;
	}
	buf_add_str(out, "  INCOMPLETE: ");
	text_add_counted(out, totals.bytes_damaged, "byte damaged", "bytes damaged");
	buf_add_str(out, ", ");
	text_add_counted(out, totals.bytes_torn, "byte torn off", "bytes torn off");
	buf_add_str(out, ", ");
	text_add_counted(out, totals.lost_records - totals.removed_records, "record lost", "records lost");
	buf_add_str(out, " while recording");
	if (totals.removed_records) {
		buf_add_str(out, ", ");
		text_add_counted(out, totals.removed_records, "record", "records");
		buf_add_str(out, " removed with the oldest segments");
	}
	buf_printf(out, "%s\n", totals.has_footer ? "" : ", no clean end");
}

static void tally_text(struct buf *out, const struct stats_options *options,
	const struct stats_tally *tally, const char *heading, const char *what)
{
	struct table table;

	if (tally->count == 0 && tally->others.count == 0)
		return;
	table_begin(&table, "lr", heading);
	for (size_t i = 0; i < list_end(options, tally->count); i++) {
		table_text(&table, tally->items[i].name_ref);
		table_count(&table, tally->items[i].count);
	}
	if (tally->others.count) {
		table_str(&table, "others");
		table_count(&table, tally->others.count);
	}
	table_end(&table, out);
	cut_line(out, options, tally->count, what);
}

static void sessions_text(
	struct buf *out, const struct stats_options *options, const struct stats *stats)
{
	buf_add_str(out, "\nSessions: ");
	if (stats->session.seen_is_least)
		buf_add_str(out, "more than ");
	text_add_count(out, stats->session.seen);
	buf_add_str(out, "; ");
	text_add_counted(out, stats->session.opened, "opened, ", "opened, ");
	text_add_counted(out, stats->session.closed, "closed", "closed");
	if (stats->session.ended) {
		buf_add_str(out, ", ");
		text_add_counted(out, stats->session.ended, "ended by the server", "ended by the server");
	}
	if (stats->session.opaque) {
		buf_add_str(out, ", ");
		text_add_counted(out, stats->session.opaque, "NOT READ to its end", "NOT READ to their end");
	}
	buf_add_char(out, '\n');
	tally_text(out, options, &stats->session.groups, "user|opened", "users");
}

static uint64_t open_transactions(const struct stats *stats)
{
	return stats->txn.begun > stats->txn.ended ? stats->txn.begun - stats->txn.ended : 0;
}

static void latency_row(struct table *table, const struct histogram *histogram)
{
	for (size_t i = 0; i < QUANTILES_IN_TEXT; i++)
		table_duration(table, histogram_quantile(histogram, quantiles[i]));
	table_duration(table, histogram->max);
	table_duration(table, histogram->sum);
}

static void transactions_text(
	struct buf *out, const struct stats_options *options, const struct stats *stats)
{
	static const char *const outcomes[] = {"unknown", "committed", "rolled back"};
	struct table table;
	uint64_t ends = stats->txn.ended + stats->txn.autocommit;

	buf_add_str(out, "\nTransactions: ");
	text_add_counted(out, ends, "ended", "ended");
	buf_add_str(out, " (");
	text_add_count(out, stats->txn.autocommit);
	buf_add_str(out, " of them single statements), ");
	text_add_count(out, open_transactions(stats));
	buf_add_str(out, " still open at the end\n");
	if (ends == 0)
		return;
	table_begin(&table, "lrrr", "level|committed|rolled back|outcome unknown");
	for (uint8_t level = 0; level < STATS_LEVELS; level++) {
		const uint64_t *by = stats->txn.by[level];

		if (by[0] + by[1] + by[2] == 0)
			continue;
		table_str(&table, level ? txn_level_name(level) : "level not known");
		table_count(&table, by[TXN_COMMITTED]);
		table_count(&table, by[TXN_ABORTED]);
		table_count(&table, by[TXN_UNKNOWN]);
	}
	table_end(&table, out);
	if (stats->txn.ended) {
		table_begin(&table, "lrrrrrr", "duration|count|p50|p90|p99|max|total");
		for (size_t i = 0; i < STATS_OUTCOMES; i++) {
			size_t outcome = (i + 1) % STATS_OUTCOMES; /* unknown last */

			if (stats->txn.duration[outcome].count == 0)
				continue;
			table_str(&table, outcomes[outcome]);
			table_count(&table, stats->txn.duration[outcome].count);
			latency_row(&table, &stats->txn.duration[outcome]);
		}
		table_end(&table, out);
	}
	tally_text(out, options, &stats->txn.reasons, "not committed because of|count", "reasons");
}

/* How valid a workload is: statements that fail, or find nothing, test little. */
static void alpha_text(struct buf *out, const struct stats *stats)
{
	uint64_t all = 0, touched = 0, failed = 0;

	for (size_t i = 0; i < stats->stmt.kind_count; i++) {
		const struct stats_kind *kind = &stats->stmt.kinds[i];

		if (!stats_kind_has_rows(kind))
			continue;
		all += kind->count;
		touched += kind->touched;
		failed += kind->errors;
	}
	if (!all)
		return;
	buf_printf(out, "  Alpha %.3f: ", (double)touched / (double)all);
	text_add_count(out, touched);
	buf_add_str(out, " of ");
	text_add_count(out, all);
	buf_add_str(out, " statements on rows touched one");
	for (size_t i = 0; i < stats->stmt.kind_count; i++) {
		const struct stats_kind *kind = &stats->stmt.kinds[i];

		if (stats_kind_has_rows(kind))
			buf_printf(out, ", %s %.3f", kind->name, (double)kind->touched / (double)kind->count);
	}
	buf_add_str(out, "; ");
	text_add_count(out, failed);
	buf_add_str(out, " failed, ");
	text_add_count(out, all - touched - failed);
	buf_add_str(out, " found no row or got no answer\n");
}

static void statements_text(
	struct buf *out, const struct stats_options *options, const struct stats *stats)
{
	struct table table;

	buf_add_str(out, "\nStatements: ");
	text_add_count(out, stats->stmt.count);
	buf_add_str(out, ", ");
	text_add_counted(out, stats->stmt.errors, "failed, ", "failed, ");
	text_add_count(out, stats->stmt.no_reply);
	buf_add_str(out, " without a reply");
	if (stats->stmt.injected) {
		buf_add_str(out, "; ");
		text_add_count(out, stats->stmt.injected);
		buf_add_str(out, " of the recorder's own, not counted here");
	}
	buf_add_char(out, '\n');
	if (stats->stmt.count == 0)
		return;
	table_begin(&table, "lrrrrrrrrr", "kind|count|failed|rows|changed|p50|p90|p99|max|total");
	for (size_t i = 0; i < list_end(options, stats->stmt.kind_count); i++) {
		const struct stats_kind *kind = &stats->stmt.kinds[i];

		table_str(&table, kind->name);
		table_count(&table, kind->count);
		table_count(&table, kind->errors);
		table_count(&table, kind->rows);
		table_count(&table, kind->affected);
		latency_row(&table, &kind->latency);
	}
	table_str(&table, "all");
	table_count(&table, stats->stmt.count);
	table_count(&table, stats->stmt.errors);
	table_count(&table, stats->stmt.rows);
	table_count(&table, stats->stmt.affected);
	latency_row(&table, &stats->stmt.latency);
	table_end(&table, out);
	cut_line(out, options, stats->stmt.kind_count, "kinds");
	buf_add_str(out,
		"  Times are from the first byte sent to the last byte received; percentiles are "
		"within 0.8 %.\n");
	alpha_text(out, stats);
	if (stats->stmt.cut + stats->stmt.not_kept + stats->stmt.opaque) {
		buf_add_str(out, "  Kept in part: ");
		text_add_counted(out, stats->stmt.cut, "text cut, ", "texts cut, ");
		text_add_counted(out, stats->stmt.not_kept, "result left out, ", "results left out, ");
		text_add_counted(out, stats->stmt.opaque, "not read\n", "not read\n");
	}
}

static void blocked_text(struct buf *out, const struct stats *stats)
{
	buf_add_str(out, "\nBlocked: ");
	if (!stats->stmt.blocked_watched) {
		buf_add_str(out, "this recording has no information about lock waits\n");
		return;
	}
	text_add_count(out, stats->stmt.blocked_count);
	buf_add_str(out, " of ");
	text_add_count(out, stats->stmt.blocked_watched);
	buf_add_str(out, " watched statements waited, ");
	text_add_duration(out, stats->stmt.blocked.sum);
	buf_add_str(out, " in all");
	if (stats->stmt.blocked_count) {
		buf_add_str(out, "; median ");
		text_add_duration(out, histogram_quantile(&stats->stmt.blocked, 0.5));
		buf_add_str(out, ", longest ");
		text_add_duration(out, stats->stmt.blocked.max);
	}
	buf_add_char(out, '\n');
}

static void errors_text(
	struct buf *out, const struct stats_options *options, const struct stats *stats)
{
	struct table table;

	if (stats->stmt.error_count == 0)
		return;
	buf_add_str(out, "\nErrors\n");
	table_begin(&table, "rlrl", "code|state|count|the first one");
	for (size_t i = 0; i < list_end(options, stats->stmt.error_count); i++) {
		const struct stats_error *error = &stats->stmt.errors_by[i];
		char code[16];

		snprintf(code, sizeof(code), "%" PRIu32, error->code);
		table_str(&table, code);
		table_str(&table, error->sqlstate);
		table_count(&table, error->count);
		table_str(&table, error->text);
	}
	if (stats->stmt.errors_others) {
		table_str(&table, "others");
		table_str(&table, "");
		table_count(&table, stats->stmt.errors_others);
		table_str(&table, "");
	}
	table_end(&table, out);
	cut_line(out, options, stats->stmt.error_count, "codes");
}

static void table_name(struct buf *out, const struct stats *stats, uint32_t number)
{
	const struct names_table *known = names_table(stats->names, number);

	buf_clear(out);
	if (!known) {
		buf_printf(out, "table %" PRIu32, number);
		return;
	}
	buf_add_span(out, known->database_ref);
	buf_add_str(out, known->database_ref.len ? "." : "");
	buf_add_span(out, known->name_ref);
}

static void probes_text(
	struct buf *out, const struct stats_options *options, const struct stats *stats)
{
	struct buf name = BUF_INIT;
	struct table table;

	if (stats->probe.count == 0)
		return;
	buf_add_str(out, "\nProbes: ");
	text_add_count(out, stats->records[RECORD_PROBE]);
	buf_add_char(out, '\n');
	table_begin(&table, "lllrr", "table|kind|exact|count|rows");
	for (size_t i = 0; i < list_end(options, stats->probe.count); i++) {
		const struct stats_probe *probe = &stats->probe.items[i];

		table_name(&name, stats, probe->table);
		table_text(&table, buf_span(&name));
		table_str(&table, probe_kind_name(probe->kind));
		table_str(&table, probe->exact ? "yes" : "no");
		table_count(&table, probe->count);
		table_count(&table, probe->rows);
	}
	if (stats->probe.others) {
		table_str(&table, "others");
		table_str(&table, "");
		table_str(&table, "");
		table_count(&table, stats->probe.others);
		table_count(&table, stats->probe.others_rows);
	}
	table_end(&table, out);
	cut_line(out, options, stats->probe.count, "lines");
	buf_release(&name);
}

static void records_text(struct buf *out, const struct stats *stats)
{
	bool first = true;

	buf_add_str(out, "\nRecords: ");
	for (uint32_t kind = 0; kind < RECORD_KIND_COUNT; kind++) {
		if (!stats->records[kind])
			continue;
		buf_add_str(out, first ? "" : ", ");
		text_add_count(out, stats->records[kind]);
		buf_printf(out, " %s", record_kind_name(kind));
		first = false;
	}
	if (stats->unknown_kinds) {
		buf_add_str(out, first ? "" : ", ");
		text_add_count(out, stats->unknown_kinds);
		buf_add_str(out, " of kinds that this version does not know");
		first = false;
	}
	buf_add_str(out, first ? "none\n" : "\n");
}

static void report_text(struct buf *out, const struct stats_options *options,
	const struct trace_source *source, const struct stats *stats)
{
	trace_text(out, source, stats);
	sessions_text(out, options, stats);
	transactions_text(out, options, stats);
	statements_text(out, options, stats);
	blocked_text(out, stats);
	errors_text(out, options, stats);
	probes_text(out, options, stats);
	if (stats->records[RECORD_CLUSTER]) {
		buf_add_str(out, "\nCluster events\n");
		tally_text(out, options, &stats->cluster, "what|count", "kinds");
	}
	if (stats->gap.count) {
		buf_add_str(out, "\nGaps: ");
		text_add_counted(out, stats->gap.records, "record lost", "records lost");
		if (stats->gap.removed) {
			buf_add_str(out, ", ");
			text_add_counted(out, stats->gap.removed, "record", "records");
			buf_add_str(out, " removed with the oldest segments");
		}
		buf_add_char(out, '\n');
		tally_text(out, options, &stats->gap.reasons, "reason|gaps", "reasons");
	}
	records_text(out, stats);
}

/* ---- JSON ---- */

static void uint_json(struct json *json, const char *key, uint64_t value)
{
	json_key(json, key);
	json_uint(json, value);
}

static void histogram_json(struct json *json, const char *key, const struct histogram *histogram)
{
	json_key(json, key);
	json_begin_object(json);
	uint_json(json, "count", histogram->count);
	uint_json(json, "sum_ns", histogram->sum);
	uint_json(json, "min_ns", histogram->min);
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++) {
		char name[16];

		snprintf(name, sizeof(name), "%s_ns", quantile_keys[i]);
		uint_json(json, name, histogram_quantile(histogram, quantiles[i]));
	}
	uint_json(json, "max_ns", histogram->max);
	json_end_object(json);
}

static void tally_json(struct json *json, const char *key, const struct stats_tally *tally)
{
	json_key(json, key);
	json_begin_array(json);
	for (size_t i = 0; i < tally->count; i++) {
		json_begin_object(json);
		json_key(json, "name");
		json_string(json, tally->items[i].name_ref);
		uint_json(json, "count", tally->items[i].count);
		json_end_object(json);
	}
	json_end_array(json);
}

static void time_json(
	struct json *json, const struct trace_source *source, const struct stats *stats)
{
	char text[CLOCK_RFC3339_SIZE];

	json_key(json, "time");
	json_begin_object(json);
	uint_json(json, "first_ns", stats->first_at);
	uint_json(json, "last_ns", stats->last_at);
	uint_json(json, "span_ns", stats->last_at - stats->first_at);
	json_key(json, "first");
	json_str(json, clock_rfc3339(source_wall_ns(source, stats->first_at), text));
	json_key(json, "last");
	json_str(json, clock_rfc3339(source_wall_ns(source, stats->last_at), text));
	json_end_object(json);
}

static void sessions_json(struct json *json, const struct stats *stats)
{
	json_key(json, "sessions");
	json_begin_object(json);
	uint_json(json, "seen", stats->session.seen);
	json_key(json, "seen_is_least");
	json_bool(json, stats->session.seen_is_least);
	uint_json(json, "opened", stats->session.opened);
	uint_json(json, "closed", stats->session.closed);
	uint_json(json, "changed", stats->session.changed);
	uint_json(json, "ended_by_server", stats->session.ended);
	uint_json(json, "opaque", stats->session.opaque);
	tally_json(json, "users", &stats->session.groups);
	uint_json(json, "users_others", stats->session.groups.others.count);
	json_end_object(json);
}

static void transactions_json(struct json *json, const struct stats *stats)
{
	json_key(json, "transactions");
	json_begin_object(json);
	uint_json(json, "begun", stats->txn.begun);
	uint_json(json, "ended", stats->txn.ended + stats->txn.autocommit);
	uint_json(json, "autocommit", stats->txn.autocommit);
	uint_json(json, "open", open_transactions(stats));
	uint_json(json, "read_only", stats->txn.read_only);
	uint_json(json, "consistent_snapshot", stats->txn.snapshot);
	uint_json(json, "savepoints", stats->txn.savepoints);
	uint_json(json, "rollbacks_to_savepoint", stats->txn.rollbacks_to);
	json_key(json, "levels");
	json_begin_array(json);
	for (uint8_t level = 0; level < STATS_LEVELS; level++) {
		const uint64_t *by = stats->txn.by[level];

		if (by[0] + by[1] + by[2] == 0)
			continue;
		json_begin_object(json);
		json_key(json, "level");
		json_str(json, txn_level_name(level));
		uint_json(json, "committed", by[TXN_COMMITTED]);
		uint_json(json, "aborted", by[TXN_ABORTED]);
		uint_json(json, "unknown", by[TXN_UNKNOWN]);
		json_end_object(json);
	}
	json_end_array(json);
	histogram_json(json, "committed", &stats->txn.duration[TXN_COMMITTED]);
	histogram_json(json, "aborted", &stats->txn.duration[TXN_ABORTED]);
	histogram_json(json, "unknown", &stats->txn.duration[TXN_UNKNOWN]);
	tally_json(json, "not_committed", &stats->txn.reasons);
	uint_json(json, "not_committed_others", stats->txn.reasons.others.count);
	json_end_object(json);
}

static void kinds_json(struct json *json, const struct stats *stats)
{
	json_key(json, "kinds");
	json_begin_array(json);
	for (size_t i = 0; i < stats->stmt.kind_count; i++) {
		const struct stats_kind *kind = &stats->stmt.kinds[i];

		json_begin_object(json);
		json_key(json, "kind");
		json_str(json, kind->name);
		uint_json(json, "count", kind->count);
		uint_json(json, "errors", kind->errors);
		uint_json(json, "no_reply", kind->no_reply);
		uint_json(json, "rows", kind->rows);
		uint_json(json, "affected", kind->affected);
		uint_json(json, "touched", kind->touched);
		uint_json(json, "blocked", kind->blocked);
		uint_json(json, "blocked_ns", kind->blocked_ns);
		histogram_json(json, "latency", &kind->latency);
		json_end_object(json);
	}
	json_end_array(json);
}

static void errors_json(struct json *json, const struct stats *stats)
{
	json_key(json, "errors_by_code");
	json_begin_array(json);
	for (size_t i = 0; i < stats->stmt.error_count; i++) {
		const struct stats_error *error = &stats->stmt.errors_by[i];

		json_begin_object(json);
		uint_json(json, "code", error->code);
		json_key(json, "sqlstate");
		json_string(json, span_str(error->sqlstate));
		uint_json(json, "count", error->count);
		json_key(json, "text");
		json_string(json, span_str(error->text));
		json_end_object(json);
	}
	json_end_array(json);
	uint_json(json, "errors_others", stats->stmt.errors_others);
}

static void statements_json(struct json *json, const struct stats *stats)
{
	json_key(json, "statements");
	json_begin_object(json);
	uint_json(json, "count", stats->stmt.count);
	uint_json(json, "injected", stats->stmt.injected);
	uint_json(json, "errors", stats->stmt.errors);
	uint_json(json, "no_reply", stats->stmt.no_reply);
	uint_json(json, "warnings", stats->stmt.warnings);
	uint_json(json, "text_cut", stats->stmt.cut);
	uint_json(json, "result_not_kept", stats->stmt.not_kept);
	uint_json(json, "opaque", stats->stmt.opaque);
	uint_json(json, "rows", stats->stmt.rows);
	uint_json(json, "affected", stats->stmt.affected);
	uint_json(json, "reply_bytes", stats->stmt.reply_bytes);
	histogram_json(json, "latency", &stats->stmt.latency);
	histogram_json(json, "first_byte", &stats->stmt.first_byte);
	histogram_json(json, "injected_latency", &stats->stmt.injected_latency);
	kinds_json(json, stats);
	errors_json(json, stats);
	uint_json(json, "blocked_watched", stats->stmt.blocked_watched);
	uint_json(json, "blocked", stats->stmt.blocked_count);
	histogram_json(json, "blocked_time", &stats->stmt.blocked);
	json_end_object(json);
}

static void probes_json(struct json *json, const struct stats *stats)
{
	struct buf name = BUF_INIT;

	json_key(json, "probes");
	json_begin_array(json);
	for (size_t i = 0; i < stats->probe.count; i++) {
		const struct stats_probe *probe = &stats->probe.items[i];

		table_name(&name, stats, probe->table);
		json_begin_object(json);
		json_key(json, "table");
		json_string(json, buf_span(&name));
		json_key(json, "kind");
		json_str(json, probe_kind_name(probe->kind));
		json_key(json, "exact");
		json_bool(json, probe->exact);
		uint_json(json, "count", probe->count);
		uint_json(json, "rows", probe->rows);
		json_end_object(json);
	}
	json_end_array(json);
	uint_json(json, "probes_others", stats->probe.others);
	buf_release(&name);
}

static void report_json(
	struct buf *out, const struct trace_source *source, const struct stats *stats)
{
	struct json json;

	json_init(&json, out, 2);
	json_begin_object(&json);
	json_key(&json, "schema");
	json_str(&json, "isotrace.stats/1");
	json_key(&json, "input");
	source_json(&json, source);
	source_evidence_json(&json, source);
	json_key(&json, "quantile_error_max");
	json_double(&json, HISTOGRAM_ERROR);
	time_json(&json, source, stats);
	sessions_json(&json, stats);
	transactions_json(&json, stats);
	statements_json(&json, stats);
	json_key(&json, "results");
	json_begin_object(&json);
	uint_json(&json, "records", stats->result.records);
	uint_json(&json, "rows_kept", stats->result.rows_kept);
	uint_json(&json, "rows_total", stats->result.rows_total);
	uint_json(&json, "digests", stats->result.digests);
	json_end_object(&json);
	probes_json(&json, stats);
	json_key(&json, "table_rows");
	json_begin_object(&json);
	uint_json(&json, "parts", stats->table_rows.parts);
	uint_json(&json, "rows", stats->table_rows.rows);
	uint_json(&json, "incomplete", stats->table_rows.incomplete);
	json_end_object(&json);
	tally_json(&json, "cluster_events", &stats->cluster);
	tally_json(&json, "notes", &stats->notes);
	json_key(&json, "gaps");
	json_begin_object(&json);
	uint_json(&json, "count", stats->gap.count);
	uint_json(&json, "records", stats->gap.records);
	uint_json(&json, "removed", stats->gap.removed);
	uint_json(&json, "bytes", stats->gap.bytes);
	tally_json(&json, "reasons", &stats->gap.reasons);
	json_end_object(&json);
	json_key(&json, "records");
	json_begin_object(&json);
	for (uint32_t kind = 0; kind < RECORD_KIND_COUNT; kind++) {
		if (stats->records[kind])
			uint_json(&json, record_kind_name(kind), stats->records[kind]);
	}
	uint_json(&json, "unknown", stats->unknown_kinds);
	uint_json(&json, "malformed", stats->malformed);
	json_end_object(&json);
	json_end_object(&json);
	buf_add_char(out, '\n');
}

/* ---- the command ---- */

/* Two traces with the same digest tell of the same execution, up to times and ids. */
static enum exit_status print_digests(
	const struct stats_options *options, char **paths, int count)
{
	const struct execution_load_options load = {.salvage = options->salvage};
	enum exit_status status = EXIT_STATUS_OK;
	struct buf out = BUF_INIT;

	for (int i = 0; i < count; i++) {
		struct execution e;
		struct err err;
		char digest[33];

		if (!execution_load(&e, paths[i], &load, &err)) {
			output_message("%s", err.text);
			status = EXIT_STATUS_INPUT;
			continue;
		}
		execution_digest(&e, digest);
		buf_printf(&out, "%s  ", digest);
		add_clean(&out, span_str(paths[i]));
		buf_add_char(&out, '\n');
		if (!e.complete) {
			output_message("%s: the trace is incomplete: %s", paths[i], e.damage);
			if (status == EXIT_STATUS_OK)
				status = EXIT_STATUS_INCOMPLETE;
		}
		execution_release(&e);
	}
	(void)!output_write(&out);
	buf_release(&out);
	return output_finish(status);
}

static enum exit_status stats_run(const struct command *command, int argc, char **argv)
{
	struct stats_options options = {.top = 20};
	struct trace_source source;
	struct stats *stats;
	struct trace_item item;
	struct buf out = BUF_INIT;
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (options.digest && count)
		return print_digests(&options, args, count);
	if (count != 1)
		return command_misused(command, count ? "stats takes one trace" : "which trace?");
	if (!source_open(&source, args[0], options.salvage, false, options.output.progress, false,
		    &status))
		return status;
	stats = stats_new();
	while (source_next(&source, &item))
		stats_take(stats, &item);
	stats_sort(stats);
	status = source_finish(&source);
	if (stats->malformed) {
		output_message("%" PRIu64
			       " records are malformed, although the checksum of their block is right. This is a bug of the program that wrote the trace; please report it",
			stats->malformed);
		if (status == EXIT_STATUS_OK)
			status = EXIT_STATUS_INCOMPLETE;
	}
	if (options.format == FORMAT_JSON)
		report_json(&out, &source, stats);
	else
		report_text(&out, &options, &source, stats);
	(void)!output_write(&out);
	buf_release(&out);
	stats_free(stats);
	source_close(&source);
	return status;
}

static const struct option_def stats_table[] = {
	OPTION_HEADING("Output"),
	FORMAT_OPTION(struct stats_options, format_words,
		"tables for people, or one JSON document with every number"),
	{.name = "top",
		.argument = "N",
		OPTION_UINT(struct stats_options, top),
		.min = 1,
		.preset = "20",
		.help = "text: at most N lines of each list"},
	{.name = "digest",
		OPTION_FLAG(struct stats_options, digest),
		.help = "print instead, for one or more traces, a digest of what happened that "
			"does not depend on times, ids and the server's version"},
	OUTPUT_OPTIONS(struct stats_options, output),
	OPTION_HEADING("Input"),
	SALVAGE_OPTION(struct stats_options, salvage),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"stats run.itr", "what is in this trace"},
	{"stats run.itr --format=json | jq '.statements.latency'", "numbers for a program"},
	{"stats - <run.itr", "from standard input"},
	{"stats --digest *.itr", "which of these recordings are the same?"},
	{NULL, NULL},
};

const struct command stats_command = {
	.name = "stats",
	.summary = "counts, latencies, errors, lock waits, and how complete the trace is",
	.arguments = "TRACE",
	.description = "Counts what is in a trace: sessions, transactions by isolation level and "
		       "outcome,\n"
		       "statements by kind with their latencies, errors, lock waits, probes, and "
		       "what is damaged\n"
		       "or missing.  TRACE is a file, a directory of segments, or - for standard "
		       "input; a trace\n"
		       "of any size is read in bounded memory.",
	.options = stats_table,
	.examples = examples,
	.run = stats_run,
	.files = true,
};
