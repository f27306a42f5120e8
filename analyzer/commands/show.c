/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isotrace show: the timeline of a trace, filtered.
 *
 * The records stream through: memory is bounded by the timeline's window, the names' limits, and
 * HELD_BYTES_MAX of results that wait for their statement.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/output_path.h"
#include "commands/record_filter.h"
#include "commands/trace_input.h"
#include "report/describe_record.h"
#include "report/node_lanes.h"
#include "report/timeline.h"
#include "report/trace_names.h"

enum {
	SESSIONS_MAX = 16384, /* sessions that may have results waiting; a power of two */
	PREVIEW_BYTES_MAX = 1500,
	HELD_BYTES_MAX = 32 * 1024 * 1024,
};

enum show_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_NDJSON };
static const char *const format_words[] = {"text", "json", "ndjson", NULL};
static const char *const layout_words[] = {"auto", "columns", "lines", NULL};

struct show_options {
	struct filter_options filter;
	struct output_options output;
	int format, layout;
	uint64_t limit, width;
	bool salvage, probes, full, cluster;
};

/* Results come before the statement that they belong to (it is recorded when it ended), or after.
 */
struct show_session {
	uint32_t id;
	uint32_t number;    /* the statement whose results wait */
	struct buf preview; /* text: their first rows */
	uint64_t preview_rows;
	uint64_t rows;
	struct buf held;      /* JSON: their records, until the statement decides */
	uint32_t last_number; /* the newest statement, and whether it passed the filter */
	bool last_passed;
};

struct show {
	const struct show_options *options;
	struct trace_source source;
	struct names *names;
	struct record_filter *filter;
	struct timeline *timeline; /* text only */
	struct json json;
	struct buf out, line, more;
	struct show_session *sessions[SESSIONS_MAX];
	size_t held_bytes;
	uint64_t shown, unread, omitted;
};

static struct show_session *session_at(struct show *show, uint32_t id)
{
	struct show_session **slot = &show->sessions[id % SESSIONS_MAX];

	if (!*slot)
		*slot = mem_zero(1, sizeof(**slot));
	if ((*slot)->id != id) {
		show->held_bytes -= (*slot)->held.len;
		buf_release(&(*slot)->held);
		buf_release(&(*slot)->preview);
		**slot = (struct show_session){.id = id};
	}
	return *slot;
}

static size_t columns(const struct show *show)
{
	return timeline_text_max(show->timeline);
}

/* ---- JSON ---- */

static void put_record(struct show *show, struct span whole)
{
	struct mp mp = mp_over(whole);

	if (show->options->format == FORMAT_NDJSON)
		json_init(&show->json, &show->out, 0);
	if (!record_json(&show->json, &mp))
		show->unread++;
	if (show->options->format == FORMAT_NDJSON)
		buf_add_char(&show->out, '\n');
	show->shown++;
}

static void release_held(struct show *show, struct show_session *session, bool passed)
{
	struct mp mp = mp_over(buf_span(&session->held));

	while (passed && mp_left(&mp) > 0 && !mp.bad)
		put_record(show, mp_raw(&mp));
	show->held_bytes -= session->held.len;
	buf_release(&session->held);
}

/* ---- results ---- */

/* The rows of a result, for the statement's line. */
static void preview_result(struct show *show, const struct record_result *result)
{
	struct show_session *session = session_at(show, result->session);
	struct buf part = BUF_INIT;
	struct mp mp = mp_over(result->rows);
	uint32_t rows = result->rows.ptr ? mp_array(&mp) : 0;

	if (session->number != result->number) {
		buf_clear(&session->preview);
		session->preview_rows = session->rows = 0;
		session->number = result->number;
	}
	if (result->set && result->part == 0 && session->preview.len < PREVIEW_BYTES_MAX)
		buf_add_str(&session->preview, session->preview.len ? " |" : "|");
	if (session->preview.len < PREVIEW_BYTES_MAX) {
		session->preview_rows += describe_rows(
			&part, result->rows, PREVIEW_BYTES_MAX - session->preview.len);
		if (part.len)
			buf_printf(&session->preview, "%s%s", session->preview.len ? " " : "",
				part.data);
	}
	session->rows +=
		result->last && result->total > rows && result->part == 0 ? result->total : rows;
	buf_release(&part);
}

/* A result that comes after its statement gets a line of its own. */
static void show_late_result(struct show *show, const struct record_result *result)
{
	buf_clear(&show->line);
	buf_clear(&show->more);
	buf_printf(&show->more, "#%" PRIu32 " ", result->number);
	if (!describe_rows(&show->more, result->rows, PREVIEW_BYTES_MAX))
		buf_add_str(&show->more, "no rows");
	text_add(&show->line, buf_span(&show->more), columns(show), TEXT_FOLD);
	timeline_cell(show->timeline, result->seq, result->at, result->session, STYLE_PLAIN, false,
		buf_span(&show->line));
	show->shown++;
}

static void on_result(struct show *show, const struct trace_item *item,
	const struct record_result *result, bool passed)
{
	struct show_session *session = session_at(show, result->session);
	bool late = session->last_number == result->number && result->number;
	bool waits = filter_needs_stmt(show->filter);

	if (late)
		passed = waits ? session->last_passed : passed;
	if (show->options->format == FORMAT_TEXT) {
		if (!late)
			preview_result(show, result);
		else if (passed)
			show_late_result(show, result);
		return;
	}
	if (late || !waits) {
		if (passed)
			put_record(show, item->whole);
		return;
	}
	if (session->number != result->number)
		release_held(show, session, false);
	session->number = result->number;
	if (show->held_bytes + item->whole.len > HELD_BYTES_MAX) {
		show->omitted++;
		return;
	}
	buf_add_span(&session->held, item->whole);
	show->held_bytes += item->whole.len;
}

/* ---- statements ---- */

static enum timeline_style stmt_style(const struct record_stmt *stmt)
{
	if (stmt->error || stmt->flags & STMT_NO_REPLY)
		return STYLE_ERROR;
	if (stmt->blocked_ns)
		return STYLE_BLOCKED;
	return stmt->flags & STMT_INJECTED ? STYLE_QUIET : STYLE_PLAIN;
}

static void show_stmt(
	struct show *show, const struct record_stmt *stmt, struct show_session *session)
{
	struct timeline_stmt row = {.seq = stmt->seq,
		.at = stmt->at,
		.begin_seq = stmt->begin_seq,
		.begin = stmt->begin,
		.session = stmt->session,
		.number = stmt->number};
	struct span rows = SPAN_NONE;

	if (session->number == stmt->number && session->preview.len) {
		if (session->preview_rows < stmt->rows)
			buf_printf(&session->preview, " \xe2\x80\xa6 %" PRIu64 " rows", stmt->rows);
		rows = buf_span(&session->preview);
	}
	buf_clear(&show->line);
	buf_clear(&show->more);
	describe_stmt(&show->line, show->names, stmt, columns(show));
	describe_outcome(&show->more, stmt, rows, columns(show));
	row.style = stmt_style(stmt);
	row.text = buf_span(&show->line);
	row.result = buf_span(&show->more);
	timeline_stmt(show->timeline, &row);
}

static void on_stmt(struct show *show, const struct trace_item *item,
	const struct record_stmt *stmt, bool passed)
{
	struct show_session *session = session_at(show, stmt->session);

	names_learn_stmt(show->names, stmt);
	session->last_number = stmt->number;
	session->last_passed = passed;
	if (show->options->format == FORMAT_TEXT) {
		if (passed) {
			show_stmt(show, stmt, session);
			show->shown++;
		}
	} else {
		if (session->held.len)
			release_held(show, session, passed && session->number == stmt->number);
		if (passed)
			put_record(show, item->whole);
	}
	buf_clear(&session->preview);
	session->preview_rows = session->rows = 0;
	session->number = 0;
}

/* ---- the kinds of records ---- */

static bool txn_is_error(const struct record_txn *txn)
{
	return txn->event == TXN_END &&
	       (txn->outcome == TXN_UNKNOWN ||
		       (txn->outcome == TXN_ABORTED && txn->reason.len >= 5 &&
			       memcmp(txn->reason.ptr, "error", 5) == 0));
}

/* The words of a record, into show->line, and where they go. */
struct placed {
	uint64_t seq, at;
	bool across;
	uint32_t session, number;
	enum timeline_style style;
	bool closes, is_txn, hidden;
};

static void place(struct show *show, const struct placed *placed)
{
	if (placed->hidden)
		return;
	if (placed->across)
		timeline_across(show->timeline, placed->seq, placed->at, placed->style,
			buf_span(&show->line));
	else if (placed->is_txn)
		timeline_txn(show->timeline, placed->seq, placed->at, placed->session,
			placed->number, placed->style, buf_span(&show->line));
	else
		timeline_cell(show->timeline, placed->seq, placed->at, placed->session,
			placed->style, placed->closes, buf_span(&show->line));
	show->shown++;
}

/* A record that is no statement and no result passed, or not. */
static void emit(
	struct show *show, const struct trace_item *item, bool passed, const struct placed *placed)
{
	if (!passed)
		return;
	if (show->options->format != FORMAT_TEXT)
		put_record(show, item->whole);
	else
		place(show, placed);
}

static bool wants_text(const struct show *show, bool passed)
{
	return passed && show->options->format == FORMAT_TEXT;
}

static bool passes(struct show *show, const struct filter_facts *facts)
{
	return filter_passes(show->filter, facts);
}

#define READ(kind)                                                                                 \
	struct record_##kind record;                                                               \
	struct mp mp = item->mp;                                                                   \
                                                                                                   \
	if (!record_##kind##_read(&mp, item->left, &record))                                       \
		return false;                                                                      \
	struct filter_facts facts = {.at = record.at};                                             \
	bool passed;                                                                               \
	buf_clear(&show->line)

static bool take_server(struct show *show, const struct trace_item *item)
{
	READ(server);
	facts.texts[0] = record.version;
	passed = passes(show, &facts);
	if (wants_text(show, passed))
		describe_server(&show->line, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .across = true, .style = STYLE_QUIET});
	return true;
}

static bool take_schema(struct show *show, const struct trace_item *item)
{
	READ(schema);
	names_learn_schema(show->names, &record);
	facts.table = names_table(show->names, record.table);
	facts.texts[0] = record.create_text;
	passed = passes(show, &facts);
	if (wants_text(show, passed))
		describe_schema(&show->line, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .across = true, .style = STYLE_QUIET});
	return true;
}

static bool take_rows(struct show *show, const struct trace_item *item)
{
	READ(rows);
	facts.table = names_table(show->names, record.table);
	passed = passes(show, &facts);
	if (wants_text(show, passed))
		describe_table_rows(&show->line, show->names, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .across = true, .style = STYLE_QUIET});
	return true;
}

static bool take_session(struct show *show, const struct trace_item *item)
{
	READ(session);
	names_learn_session(show->names, &record);
	facts.has_session = true;
	facts.session = record.session;
	facts.is_error = record.event == SESSION_OPAQUE;
	facts.texts[0] = record.reason;
	passed = passes(show, &facts);
	if (wants_text(show, passed))
		describe_session(&show->line, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .session = record.session,
			.style = STYLE_QUIET, .closes = record.event == SESSION_CLOSED});
	return true;
}

static bool take_stmt(struct show *show, const struct trace_item *item)
{
	READ(stmt);
	facts.has_session = true;
	facts.session = record.session;
	facts.txn = record.txn;
	facts.begin = record.begin;
	facts.is_error = record.error || record.flags & STMT_NO_REPLY;
	facts.sql = facts.texts[0] = names_stmt_text(show->names, &record);
	facts.texts[1] = record.error_text;
	passed = passes(show, &facts);
	on_stmt(show, item, &record, passed);
	return true;
}

static bool take_result(struct show *show, const struct trace_item *item)
{
	READ(result);
	facts.has_session = true;
	facts.session = record.session;
	/* Conditions on the statement are asked when it comes: on_result. */
	passed = passes(show, &facts);
	on_result(show, item, &record, passed);
	return true;
}

static bool take_probe(struct show *show, const struct trace_item *item)
{
	READ(probe);
	facts.has_session = true;
	facts.session = record.session;
	facts.txn = record.txn;
	facts.begin = record.begin;
	facts.table = names_table(show->names, record.table);
	facts.texts[0] = record.predicate;
	passed = passes(show, &facts);
	if (wants_text(show, passed) && show->options->probes)
		describe_probe(&show->line, show->names, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .session = record.session,
			.style = STYLE_QUIET, .hidden = !show->options->probes});
	return true;
}

static bool take_txn(struct show *show, const struct trace_item *item)
{
	READ(txn);
	facts.has_session = true;
	facts.session = record.session;
	facts.txn = record.txn;
	facts.is_error = txn_is_error(&record);
	facts.texts[0] = record.reason;
	passed = passes(show, &facts);
	if (wants_text(show, passed))
		describe_txn(&show->line, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .session = record.session,
			.number = record.number, .is_txn = true,
			.style = facts.is_error ? STYLE_ERROR : STYLE_PLAIN,
			/* A statement that committed by itself says so by being there. */
			.hidden = record.autocommit && record.outcome == TXN_COMMITTED});
	return true;
}

static bool take_cluster(struct show *show, const struct trace_item *item)
{
	READ(cluster);
	facts.begin = record.begin;
	facts.texts[0] = record.what;
	facts.texts[1] = record.detail;
	passed = passes(show, &facts);
	if (wants_text(show, passed))
		describe_cluster(&show->line, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .across = true, .style = STYLE_NOTICE});
	return true;
}

static bool take_note(struct show *show, const struct trace_item *item)
{
	READ(note);
	facts.texts[0] = record.text;
	facts.texts[1] = record.topic;
	passed = passes(show, &facts);
	if (wants_text(show, passed))
		describe_note(&show->line, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .across = true, .style = STYLE_NOTICE});
	return true;
}

static bool take_program(struct show *show, const struct trace_item *item)
{
	READ(program);
	facts.texts[0] = record.create_text;
	facts.texts[1] = record.name;
	passed = passes(show, &facts);
	if (wants_text(show, passed))
		describe_program(&show->line, &record, columns(show));
	emit(show, item, passed, &(struct placed){record.seq, record.at, .across = true, .style = STYLE_QUIET});
	return true;
}

static bool take_logged(struct show *show, const struct trace_item *item)
{
	READ(logged);
	facts.table = names_table(show->names, record.table);
	facts.texts[0] = record.text;
	facts.texts[1] = record.gtid;
	passed = passes(show, &facts);
	if (wants_text(show, passed) && show->options->probes)
		describe_logged(&show->line, show->names, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .across = true, .style = STYLE_QUIET,
			.hidden = !show->options->probes});
	return true;
}

static bool take_gap(struct show *show, const struct trace_item *item)
{
	READ(gap);
	facts.is_gap = true;
	facts.begin = record.begin;
	passed = passes(show, &facts);
	if (wants_text(show, passed))
		describe_gap(&show->line, &record, columns(show));
	emit(show, item, passed,
		&(struct placed){record.seq, record.at, .across = true,
			.style = record.records ? STYLE_ERROR : STYLE_QUIET});
	return true;
}

/* False: the record's fields are not what its kind says. */
static bool take(struct show *show, const struct trace_item *item)
{
	if (item->kind >= RECORD_KIND_COUNT)
		return true;
	switch ((enum record_kind)item->kind) {
	case RECORD_BLOCK:
	case RECORD_FOOTER:
		return true; /* the file's own, not the database's */
	case RECORD_SERVER:
		return take_server(show, item);
	case RECORD_SCHEMA:
		return take_schema(show, item);
	case RECORD_ROWS:
		return take_rows(show, item);
	case RECORD_SESSION:
		return take_session(show, item);
	case RECORD_STMT:
		return take_stmt(show, item);
	case RECORD_RESULT:
		return take_result(show, item);
	case RECORD_PROBE:
		return take_probe(show, item);
	case RECORD_TXN:
		return take_txn(show, item);
	case RECORD_CLUSTER:
		return take_cluster(show, item);
	case RECORD_NOTE:
		return take_note(show, item);
	case RECORD_GAP:
		return take_gap(show, item);
	case RECORD_PROGRAM:
		return take_program(show, item);
	case RECORD_LOGGED:
		return take_logged(show, item);
	}
	BUG("record kind %u", item->kind);
}

/* ---- the command ---- */

static void begin_document(struct show *show)
{
	char wall[CLOCK_RFC3339_SIZE];
	const struct trace_header *header = trace_reader_header(show->source.reader);

	switch ((enum show_format)show->options->format) {
	case FORMAT_TEXT:
		buf_add_str(&show->out, "# ");
		text_add(&show->out, span_str(show->source.path), TEXT_NO_LIMIT, TEXT_PLAIN);
		buf_printf(&show->out, ": recorded by ");
		text_add(&show->out, header->recorder_ref, 60, TEXT_PLAIN);
		buf_printf(&show->out, ", second 0 is %s\n",
			clock_rfc3339(show->source.wall_ns, wall));
		break;
	case FORMAT_JSON:
		json_init(&show->json, &show->out, 0);
		json_begin_object(&show->json);
		json_key(&show->json, "schema");
		json_str(&show->json, "isotrace.show/1");
		json_key(&show->json, "input");
		source_json(&show->json, &show->source);
		json_key(&show->json, "records");
		json_begin_array(&show->json);
		break;
	case FORMAT_NDJSON:
		break;
	}
}

static void end_document(struct show *show)
{
	if (show->options->format == FORMAT_TEXT) {
		timeline_take(show->timeline, &show->out, true);
	} else if (show->options->format == FORMAT_JSON) {
		json_end_array(&show->json);
		json_key(&show->json, "totals");
		json_begin_object(&show->json);
		json_key(&show->json, "shown");
		json_uint(&show->json, show->shown);
		json_key(&show->json, "read");
		json_uint(&show->json, show->source.items);
		json_key(&show->json, "results_omitted");
		json_uint(&show->json, show->omitted);
		json_key(&show->json, "records_malformed");
		json_uint(&show->json, show->unread);
		json_key(&show->json, "match_failures");
		json_uint(&show->json, filter_match_failures(show->filter));
		source_evidence_json(&show->json, &show->source);
		json_end_object(&show->json);
		json_end_object(&show->json);
		buf_add_char(&show->out, '\n');
	}
}

/* What the filters could not do must be said. */
static enum exit_status report_limits(const struct show *show, enum exit_status status)
{
	uint64_t failures = filter_match_failures(show->filter);

	if (show->omitted)
		output_message(
			"%" PRIu64
			" result records were left out: they waited for their statement, "
			"and more than %d MiB did; filter by session or time only to see them",
			show->omitted, HELD_BYTES_MAX >> 20);
	if (failures)
		output_message("--match: the pattern was too costly on %" PRIu64
			       " texts; they were taken "
			       "as not matching: try a simpler pattern",
			failures);
	if (show->unread)
		output_message("%" PRIu64
			       " records are malformed, although the checksum of their block is right. This is a bug of the program that wrote the trace; please report it",
			show->unread);
	/* A program sees for itself that there is nothing. */
	if (show->timeline && !show->shown && show->source.items &&
		filter_any(&show->options->filter))
		output_message("nothing passes the filters, of %" PRIu64 " records that were read",
			show->source.items);
	if (status == EXIT_STATUS_OK && (show->omitted || failures || show->unread))
		return EXIT_STATUS_INCOMPLETE;
	return status;
}

/* The nodes' lives instead of the sessions'. */
static enum exit_status run_cluster(struct show *show)
{
	size_t width = show->options->width ? show->options->width : output_columns();
	struct node_lanes *lanes = node_lanes_new();
	struct record_cluster record;
	enum exit_status status;
	struct trace_item item;

	while (source_next(&show->source, &item)) {
		struct mp mp = item.mp;

		if (item.kind == RECORD_CLUSTER && record_cluster_read(&mp, item.left, &record))
			node_lanes_take(lanes, &record);
	}
	status = source_finish(&show->source);
	if (node_lanes_finish(lanes))
		node_lanes_print(lanes, show->source.mono_ns, width, &show->out);
	else if (status == EXIT_STATUS_OK)
		output_message("the trace says nothing of what happened to nodes");
	(void)!output_write(&show->out);
	node_lanes_free(lanes);
	return status;
}

static enum exit_status run(struct show *show)
{
	struct trace_item item;
	enum exit_status status;
	bool writable = true;

	begin_document(show);
	while (writable && (show->options->limit == 0 || show->shown < show->options->limit) &&
		source_next(&show->source, &item)) {
		if (!take(show, &item))
			show->unread++;
		if (show->timeline)
			timeline_take(show->timeline, &show->out, false);
		writable = output_write_some(&show->out);
	}
	if (!writable)
		return EXIT_STATUS_OK; /* output_finish says why, where there is something to say */
	end_document(show);
	(void)!output_write(&show->out);
	status = source_finish(&show->source);
	return report_limits(show, status);
}

static void show_release(struct show *show)
{
	for (size_t i = 0; i < SESSIONS_MAX; i++) {
		if (show->sessions[i]) {
			buf_release(&show->sessions[i]->preview);
			buf_release(&show->sessions[i]->held);
			mem_free(show->sessions[i]);
		}
	}
	timeline_free(show->timeline);
	filter_free(show->filter);
	names_free(show->names);
	buf_release(&show->out);
	buf_release(&show->line);
	buf_release(&show->more);
	source_close(&show->source);
	mem_free(show);
}

static enum exit_status show_run(const struct command *command, int argc, char **argv)
{
	struct show_options options = {.format = FORMAT_TEXT};
	struct show *show;
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count != 1)
		return command_misused(command, count ? "show takes one trace" : "which trace?");
	show = mem_zero(1, sizeof(*show));
	show->options = &options;
	if (!source_open(&show->source, args[0], options.salvage, true, options.output.progress,
		    true, &status)) {
		mem_free(show);
		return status;
	}
	if (options.cluster) {
		status = run_cluster(show);
		show_release(show);
		return status;
	}
	show->names = names_new();
	err_clear(&err);
	show->filter =
		filter_new(&options.filter, show->source.mono_ns, show->source.wall_ns, &err);
	if (!show->filter) {
		status = command_misused(command, "%s", err.text);
	} else {
		if (options.format == FORMAT_TEXT)
			show->timeline = timeline_new(
				&(struct timeline_options){
					.width = options.width ? options.width : output_columns(),
					.layout = options.layout,
					.color = output_color(options.output.color),
					.full = options.full,
					.anchor_ns = show->source.mono_ns,
				},
				show->names);
		status = run(show);
	}
	show_release(show);
	return status;
}

static const struct option_def show_table[] = {
	OPTION_HEADING("Filters (a record must pass all that are given)"),
	FILTER_OPTIONS(struct show_options, filter),
	{.name = "limit",
		.letter = 'n',
		.argument = "N",
		OPTION_UINT(struct show_options, limit),
		.min = 1,
		.help = "stop after N records"},
	OPTION_HEADING("Output"),
	{.name = "cluster",
		OPTION_FLAG(struct show_options, cluster),
		.help = "the nodes instead of the sessions: states, operations, faults and links, a lane a node"},
	FORMAT_OPTION(struct show_options, format_words,
		"the timeline as text; all fields as one JSON document; or one JSON object "
		"a line"),
	{.name = "layout",
		OPTION_CHOICE(struct show_options, layout),
		.choices = layout_words,
		.preset = "auto",
		.help = "text: a column for each session where they fit; columns even when "
			"narrow; or a line for each event"},
	{.name = "full",
		OPTION_FLAG(struct show_options, full),
		.help = "text: wrap long statements and results instead of cutting them"},
	{.name = "probes",
		OPTION_FLAG(struct show_options, probes),
		.help = "text: show the instrumentation's reads too"},
	{.name = "width",
		.argument = "N",
		OPTION_UINT(struct show_options, width),
		.min = 40,
		.max = 2000,
		.preset = "the terminal's, $COLUMNS, or 100",
		.help = "text: columns to use"},
	OUTPUT_OPTIONS(struct show_options, output),
	OPTION_HEADING("Input"),
	SALVAGE_OPTION(struct show_options, salvage),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"show run.itr | less", "the whole timeline"},
	{"show run.itr --session=1,2 --from=1.5s --to=2s", "two sessions, half a second"},
	{"show run.itr --txn=42 --full --probes", "everything about one transaction"},
	{"show run.itr --errors-only --match='(?i)deadlock|lock wait'", "lock errors"},
	{"show run.itr --table=shop.orders --format=ndjson | jq .text", "for programs"},
	{"show flush.itr --cluster", "what happened to the nodes of a cluster"},
	{"show - --salvage <broken.itr", "what can still be read of a damaged trace"},
	{NULL, NULL},
};

const struct command show_command = {
	.name = "show",
	.summary = "the timeline: what each session did, and with which result",
	.arguments = "TRACE",
	.description = "Shows a trace as a timeline: a column for each session, time downwards.  A "
		       "statement that\n"
		       "others overlap takes two rows, its beginning and its end; blocked ones say "
		       "for how long\n"
		       "and by whom.  TRACE is a file, a directory of segments, or - for standard "
		       "input; a trace\n"
		       "of any size is shown in bounded memory.",
	.options = show_table,
	.examples = examples,
	.run = show_run,
	.files = true,
};
