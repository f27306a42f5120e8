/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace slice: a part of a trace, which is a trace. */
#include <inttypes.h>
#include <stdio.h>

#include "base/output.h"
#include "commands/commands.h"
#include "commands/output_path.h"
#include "commands/record_filter.h"
#include "report/slice_trace.h"
#include "trace/reader.h"

struct slice_options {
	struct option_strings session, txn, table;
	const char *from, *to, *output;
};

/* The moment on both clocks that the trace has. */
static bool read_anchor(const char *path, uint64_t *mono_ns, uint64_t *wall_ns, struct err *err)
{
	struct trace_reader *reader = trace_reader_open(path, NULL, err);

	if (!reader)
		return false;
	*mono_ns = trace_reader_header(reader)->clock_mono_ns;
	*wall_ns = trace_reader_header(reader)->clock_wall_ns;
	trace_reader_close(reader);
	return true;
}

static bool read_conditions(const struct slice_options *o, const char *path, struct span *tables,
	struct slice_conditions *out, struct err *err)
{
	uint64_t mono_ns, wall_ns;

	*out = (struct slice_conditions){.sessions = MAP_INIT, .txns = MAP_INIT, .tables = tables, .to = UINT64_MAX};
	for (size_t i = 0; i < o->table.count; i++)
		tables[out->table_count++] = span_str(o->table.items[i]);
	return read_anchor(path, &mono_ns, &wall_ns, err) &&
	       filter_add_numbers(&out->sessions, &o->session, 'S', UINT32_MAX, "--session", err) &&
	       filter_add_numbers(&out->txns, &o->txn, 'T', UINT64_MAX, "--txn", err) &&
	       (!o->from || filter_parse_moment(o->from, "--from", mono_ns, wall_ns, &out->from, err)) &&
	       (!o->to || filter_parse_moment(o->to, "--to", mono_ns, wall_ns, &out->to, err));
}

static void print_words(const struct slice_options *o, struct buf *out)
{
	static const char *const names[] = {"session", "txn", "table"};
	const struct option_strings *lists[] = {&o->session, &o->txn, &o->table};

	buf_add_str(out, "isotrace slice");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (size_t k = 0; k < lists[i]->count; k++)
			buf_printf(out, " --%s=%s", names[i], lists[i]->items[k]);
	if (o->from)
		buf_printf(out, " --from=%s", o->from);
	if (o->to)
		buf_printf(out, " --to=%s", o->to);
}

static enum exit_status slice(const struct command *command, const struct slice_options *o, const char *path)
{
	struct span tables[OPTION_STRINGS_MAX];
	struct slice_conditions conditions;
	struct slice_summary summary;
	struct buf words = BUF_INIT;
	struct err err;
	bool ok = read_conditions(o, path, tables, &conditions, &err);

	print_words(o, &words);
	ok = ok && slice_trace(path, o->output, &conditions, words.data, &summary, &err);
	buf_release(&words);
	map_release(&conditions.sessions);
	map_release(&conditions.txns);
	if (!ok)
		return command_failed(command, &err);
	output_message("%s: %" PRIu64 " of %" PRIu64 " transactions, and what %" PRIu64 " others wrote into their tables: %" PRIu64
		       " of %" PRIu64 " statements",
		o->output, summary.txns_kept, summary.txns, summary.writers, summary.stmts_kept, summary.stmts);
	return EXIT_STATUS_OK;
}

static enum exit_status slice_run(const struct command *command, int argc, char **argv)
{
	struct slice_options o = {.output = NULL};
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &o, argc, argv, &args, &count, &status))
		return status;
	if (count != 1)
		return command_misused(command, count ? "slice takes one trace" : "which trace?");
	if (!o.output)
		return command_misused(command, "give --output FILE: where does the part go?");
	if (!o.session.count && !o.txn.count && !o.table.count && !o.from && !o.to)
		return command_misused(command, "give --session, --txn, --table, --from or --to: which part?");
	if (!target_allowed(o.output, (const char *const *)args, 1, &err))
		return command_failed(command, &err);
	return slice(command, &o, args[0]);
}

static const struct option_def slice_table[] = {
	{.name = "session",
		.letter = 's',
		.argument = "N[,N...]",
		OPTION_STRINGS(struct slice_options, session),
		.help = "transactions of these sessions (S1 and 1 are the same)"},
	{.name = "txn",
		.alias = "transaction",
		.letter = 't',
		.argument = "N[,N...]",
		OPTION_STRINGS(struct slice_options, txn),
		.help = "these transactions (T1 and 1 are the same)"},
	{.name = "table",
		.argument = "NAME",
		OPTION_STRINGS(struct slice_options, table),
		.help = "transactions of which a statement names this table; several: any of them"},
	{.name = "from",
		.argument = "TIME",
		OPTION_STRING(struct slice_options, from),
		.help = "transactions that ended at or after this: an offset from the trace's start (1.5s, 200ms) or a moment "
			"(2026-11-16T01:58:00Z)"},
	{.name = "to",
		.argument = "TIME",
		OPTION_STRING(struct slice_options, to),
		.help = "transactions that began at or before this"},
	{.name = "output",
		.letter = 'o',
		.argument = "FILE",
		.files = true,
		OPTION_STRING(struct slice_options, output),
		.help = "the new trace; must not be there"},
	OPTION_END,
};

static const struct command_example examples[] = {
	{"slice --from 60s --to 70s run.itr -o ten-seconds.itr", "ten seconds of a recording"},
	{"slice --txn T17,T21 run.itr -o two.itr", "the transactions of a finding"},
	{"slice --table stock --session 3,4 run.itr -o part.itr", "two sessions, where they touch a table"},
	{NULL, NULL},
};

const struct command slice_command = {
	.name = "slice",
	.summary = "cuts a trace by time, session, table or transaction into a smaller one",
	.arguments = "TRACE",
	.description = "Writes a trace that has some transactions of another one, whole, with what is known of\n"
		       "their server, tables and sessions. All conditions that are given must hold. What other\n"
		       "transactions wrote into the tables that these touch stays, too, without what they read: so\n"
		       "the part shows no violation that the whole does not have.",
	.options = slice_table,
	.examples = examples,
	.run = slice_run,
	.files = true,
};
