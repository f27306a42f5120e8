/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace reduce: the smallest part of a trace or a history that shows the same, without a server. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/output.h"
#include "commands/commands.h"
#include "commands/input_format.h"
#include "commands/output_path.h"
#include "import/export.h"
#include "report/reduce_history.h"
#include "report/reduce_trace.h"

/* In the order of enum export_format. */
static const char *const to_words[] = {"elle", "plume", "dbcop", "json", NULL};
static const char *const same_words[] = {"class", "shape", NULL};

/* Where nearly all of a trace is needed, each part is nearly as large as the trace. */
#define TRACE_TIME_NS UINT64_C(60000000000)

struct reduce_options {
	int from, to, same;
	uint64_t time;
	const char *finding, *output;
	bool whole_txns;
	struct judge_options judge;
};

static bool sink(void *context, struct buf *out)
{
	(void)context;
	return output_write(out);
}

/* The format to write in: that of the history, where it can be written. */
static bool choose_format(const struct reduce_options *o, enum export_format *out)
{
	static const struct {
		enum import_format from;
		enum export_format to;
	} same[] = {{IMPORT_ELLE, EXPORT_ELLE}, {IMPORT_PLUME, EXPORT_PLUME}, {IMPORT_DBCOP, EXPORT_DBCOP}};

	if (o->to >= 0) {
		*out = (enum export_format)o->to;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		if (same[i].from != from_format(o->from))
			continue;
		*out = same[i].to;
		return true;
	}
	return false;
}

static enum exit_status reduce_values(const struct reduce_options *o, const char *path, enum export_format format)
{
	struct reduce_history_options options = {
		.finding = o->finding, .by_class = o->same == 0, .time_ns = o->time};
	struct reduce_history_summary summary;
	struct values v = {0}, part = {0};
	enum exit_status status = EXIT_STATUS_OK;
	uint64_t begin = clock_mono_ns();
	struct err err;

	interrupt_watch();
	if (!import_path(from_format(o->from), path, NULL, &v, &err) || !reduce_history(&v, &options, &part, &summary, &err) ||
		(summary.found && !values_export(&part, format, sink, NULL, &err))) {
		output_message("%s", err.text);
		status = err_exit_status(&err);
	} else if (!summary.found) {
		output_message("%s: no anomaly%s%s: there is nothing to reduce", path, o->finding ? " of the class or id " : "",
			o->finding ? o->finding : "");
		status = EXIT_STATUS_INCOMPLETE;
	} else {
		output_message("%s: %s: %u of %u transactions, %u of %u keys are left (%u in the witness); %" PRIu64
			       " parts judged, %.1f s%s",
			path, summary.shape, part.txn_count, v.txn_count, part.key_count, v.key_count, summary.witness,
			summary.tests, (double)(clock_mono_ns() - begin) / 1e9,
			summary.whole ? "" : "; ended early: this is the best so far");
		if (!summary.whole)
			status = EXIT_STATUS_INCOMPLETE;
	}
	values_release(&part);
	values_release(&v);
	return status;
}

static void show_tried(void *progress, uint64_t parts, size_t txns, size_t stmts)
{
	(void)parts;
	(void)txns;
	progress_phase(progress, "statements in the part", stmts, 0, false);
}

static enum exit_status reduce_recording(const struct reduce_options *o, const char *path)
{
	struct progress progress;
	struct reduce_trace_options options = {.judge = &o->judge,
		.finding = o->finding,
		.by_class = o->same == 0,
		.whole_txns = o->whole_txns,
		.time_ns = o->time ? o->time : TRACE_TIME_NS,
		.tried = show_tried,
		.context = &progress};
	struct reduce_trace_summary s;
	uint64_t begin = clock_mono_ns();
	struct err err;
	bool ok;

	interrupt_watch();
	progress_begin(&progress, o->judge.progress, "reducing", false);
	ok = reduce_trace(path, o->output, &options, &s, &err);
	progress_end(&progress);
	if (!ok) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	if (!s.found) {
		output_message("%s: no finding%s%s: there is nothing to reduce", path,
			o->finding ? " of the class or id " : "", o->finding ? o->finding : "");
		return EXIT_STATUS_INCOMPLETE;
	}
	output_message("%s: %s %s: %" PRIu64 " of %" PRIu64 " transactions, %" PRIu64 " of %" PRIu64 " statements, %" PRIu64
		       " of %" PRIu64 " initial rows are left; %" PRIu64 " parts judged, %.1f s%s",
		path, s.id, s.shape, s.after.txns, s.before.txns, s.after.stmts, s.before.stmts, s.after.rows, s.before.rows,
		s.parts, (double)(clock_mono_ns() - begin) / 1e9, s.whole ? "" : "; ended early: this is the best so far (--time)");
	return s.whole ? EXIT_STATUS_OK : EXIT_STATUS_INCOMPLETE;
}

static enum exit_status reduce_run(const struct command *command, int argc, char **argv)
{
	struct reduce_options o = {.to = -1, .same = 1};
	enum export_format format;
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &o, argc, argv, &args, &count, &status))
		return status;
	if (count != 1)
		return command_misused(command, count ? "one history at a time" : "which history?");
	o.from = from_resolve(o.from, args[0]);
	if (o.from == FROM_TRACE) {
		if (!o.output || strcmp(o.output, "-") == 0)
			return command_misused(command, "give --output FILE: where does the small trace go?");
		if (o.to >= 0)
			return command_misused(command, "--to is for histories of other tools; a trace stays a trace");
		return target_allowed(o.output, (const char *const *)args, 1, &err) ? reduce_recording(&o, args[0])
										      : command_failed(command, &err);
	}
	if (!choose_format(&o, &format))
		return command_misused(command, "a history of %s cannot be written: give --to elle, plume, dbcop or json",
			import_format_name(from_format(o.from)));
	if (!target_open(o.output, (const char *const *)args, 1, &err))
		return command_failed(command, &err);
	return reduce_values(&o, args[0], format);
}

static const struct option_def reduce_table[] = {
	{.name = "finding",
		.argument = "CLASS|ID",
		OPTION_STRING(struct reduce_options, finding),
		.preset = "the gravest",
		.help = "which finding, as isotrace check names it"},
	{.name = "same",
		.argument = "HOW",
		OPTION_CHOICE(struct reduce_options, same),
		.choices = same_words,
		.preset = "shape",
		.help = "what must stay: the class and the level; or also the kinds of dependencies of its cycle, in order, and of "
			"a trace's finding its transactions, its statement, and what that should have answered"},
	{.name = "time",
		.argument = "TIME",
		OPTION_DURATION(struct reduce_options, time),
		.preset = "no end; 1m for traces",
		.help = "stop after so long, and write the best"},
	{.name = "whole-transactions",
		OPTION_FLAG(struct reduce_options, whole_txns),
		.help = "of a trace, leave out transactions and initial rows, and no statement of a transaction that stays: what a "
			"server needs to do the same again is more than what proves it (isorec reduce begins with this)"},
	{.name = "from",
		.argument = "FORMAT",
		OPTION_CHOICE(struct reduce_options, from),
		.choices = from_words,
		.preset = "auto",
		.help = FROM_HELP},
	{.name = "to",
		.argument = "FORMAT",
		OPTION_CHOICE(struct reduce_options, to),
		.choices = to_words,
		.preset = "that of the history",
		.help = "Elle's EDN, Plume's text, dbcop's bincode, or JSON lines"},
	TARGET_OPTION(struct reduce_options, output),
	JUDGE_OPTIONS(struct reduce_options, judge),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"reduce history.edn -o small.edn", "of Elle's history what its anomaly needs"},
	{"reduce run.itr -o small.itr", "of a recording the transactions, statements and rows that its gravest finding needs"},
	{"reduce --finding G-single --time 1m hist.txt", "one class, for a minute at most"},
	{NULL, NULL},
};

const struct command reduce_command = {
	.name = "reduce",
	.summary = "cuts a trace or a history down to what its anomaly needs",
	.arguments = "TRACE|HISTORY",
	.description = "Judges a trace, or another tool's history, and looks for the smallest part that shows the same: of\n"
		       "a trace the fewest transactions, statements and initial rows; of a history the fewest\n"
		       "transactions, keys and operations, where values of the transactions that are left out are\n"
		       "taken out of what the others read. No server is needed; isorec reduce makes a scenario.",
	.exit_status = "  0  reduced\n"
		       "  2  wrong usage\n"
		       "  3  nothing of the kind was found, or the time was over: the best so far is written\n"
		       "  4  the input cannot be read, or the format cannot hold it\n"
		       "  5  a bug in isotrace; the message says what to report",
	.options = reduce_table,
	.examples = examples,
	.run = reduce_run,
	.files = true,
};
