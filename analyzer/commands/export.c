/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isotrace export: a trace, or another tool's history, written in the form of another tool.  Each
 * target is a function in the table below.
 */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/output.h"
#include "commands/commands.h"
#include "commands/export_tables.h"
#include "commands/export_values.h"
#include "commands/input_format.h"
#include "commands/output_path.h"
#include "commands/trace_input.h"
#include "model/execution/execution.h"
#include "scenario/scenario.h"

struct export_options {
	int to, from, table;
	const char *output;
	bool expect, skip, salvage, list_columns;
	int progress; /* enum output_when */
};

/* ---- scenario ---- */

static enum exit_status export_scenario(const struct export_options *options, const char *path)
{
	const struct execution_load_options load = {.salvage = options->salvage};
	const struct execution_scenario_options how = {
		.expect = options->expect, .skip = options->skip};
	struct execution e;
	struct scenario scenario;
	struct buf out = BUF_INIT;
	struct err err;
	uint64_t skipped;
	enum exit_status status = EXIT_STATUS_OK;

	if (!execution_load(&e, path, &load, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	if (!execution_to_scenario(&e, &how, &scenario, &skipped, &err)) {
		output_message("%s: %s%s", path, err.text,
			options->skip ? "" : "; --skip leaves these statements out");
		execution_release(&e);
		return err_exit_status(&err);
	}
	if (skipped) {
		output_message("%s: %" PRIu64 " statement%s left out", path, skipped,
			skipped == 1 ? " was" : "s were");
		status = EXIT_STATUS_INCOMPLETE;
	}
	if (!e.complete) {
		output_message("%s: the trace is incomplete: %s", path, e.damage);
		status = EXIT_STATUS_INCOMPLETE;
	}
	scenario_print(&scenario, &out);
	(void)!output_write(&out);
	buf_release(&out);
	scenario_release(&scenario);
	execution_release(&e);
	return status;
}

/* ---- other checkers, graphs ---- */

static struct export_source source_of(const struct export_options *options, const char *path)
{
	return (struct export_source){path, options->from, options->salvage, options->skip};
}

#define TARGET(name, call)                                                                         \
	static enum exit_status export_##name(                                                     \
		const struct export_options *options, const char *path)                            \
	{                                                                                          \
		struct export_source source = source_of(options, path);                            \
		return call;                                                                       \
	}
TARGET(elle, export_values(&source, EXPORT_ELLE))
TARGET(plume, export_values(&source, EXPORT_PLUME))
TARGET(dbcop, export_values(&source, EXPORT_DBCOP))
TARGET(json, export_values(&source, EXPORT_JSON))
TARGET(dot, export_graph(&source, false))
TARGET(graphml, export_graph(&source, true))
#undef TARGET

/* ---- tables ---- */

#define TABLES(name, kind)                                                                         \
	static enum exit_status export_##name(                                                     \
		const struct export_options *options, const char *path)                            \
	{                                                                                          \
		return export_tables(&(struct export_tables){.path = path,                         \
			.output = options->output,                                                 \
			.format = kind,                                                            \
			.table = options->table,                                                   \
			.salvage = options->salvage,                                               \
			.progress = options->progress});                                     \
	}
TABLES(csv, TABLE_CSV)
TABLES(ndjson, TABLE_NDJSON)
TABLES(parquet, TABLE_PARQUET)
#undef TABLES

/* ---- the list of forms ---- */

enum { TO_SCENARIO, TO_CSV = 7, TO_NDJSON, TO_PARQUET };
static const char *const to_words[] = {"scenario", "elle", "plume", "dbcop", "json", "dot", "graphml",
	"csv", "ndjson", "parquet", NULL};
static enum exit_status (*const targets[])(
	const struct export_options *options, const char *path) = {export_scenario, export_elle,
	export_plume, export_dbcop, export_json, export_dot, export_graphml, export_csv, export_ndjson, export_parquet};

/* All tables go to a folder, one goes where other forms go. */
static bool target_of_tables(const struct export_options *o, const char *path, struct err *err)
{
	if (o->table >= 0) {
		if (o->to == TO_PARQUET && !o->output && isatty(STDOUT_FILENO))
			return err_set(err, ERR_USAGE, "Parquet is not for a terminal: give --output FILE");
		return target_open(o->output, &path, 1, err);
	}
	if (!o->output)
		return err_set(err, ERR_USAGE, "give --output FOLDER for all tables, or --table for one");
	return target_allowed(o->output, &path, 1, err);
}

static enum exit_status export_run(const struct command *command, int argc, char **argv)
{
	struct export_options options = {.to = -1, .table = -1};
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (options.list_columns)
		return export_list_columns();
	if (count != 1)
		return command_misused(command, count ? "export takes one trace" : "which trace?");
	if (options.to < 0)
		return command_misused(command, "give --to FORMAT: what shall it become?");
	options.from = from_resolve(options.from, args[0]);
	if (options.from != FROM_TRACE && (options.to == TO_SCENARIO || options.to >= TO_CSV))
		return command_misused(command, "%s made of a trace, not of other histories",
			options.to == TO_SCENARIO ? "a scenario is" : "tables are");
	if (options.table >= 0 && options.to < TO_CSV)
		return command_misused(command, "--table goes with --to=csv, ndjson or parquet");
	if (options.to >= TO_CSV ? !target_of_tables(&options, args[0], &err)
				 : !target_open(options.output, (const char *const *)args, 1, &err))
		return command_failed(command, &err);
	return targets[options.to](&options, args[0]);
}

static const struct option_def export_table[] = {
	{.name = "to",
		.argument = "FORMAT",
		OPTION_CHOICE(struct export_options, to),
		.choices = to_words,
		.help = "scenario: what isorec run executes again; elle, plume, dbcop: a history "
			"for these checkers; json: one object a transaction; dot, graphml: the "
			"dependency graph; csv, ndjson, parquet: tables"},
	{.name = "table",
		.argument = "NAME",
		OPTION_CHOICE(struct export_options, table),
		.choices = export_table_words,
		.preset = "all, into a folder",
		.help = "csv, ndjson, parquet: this table alone"},
	{.name = "list-columns",
		OPTION_FLAG(struct export_options, list_columns),
		.help = "print the tables and what their columns are"},
	{.name = "from",
		.argument = "FORMAT",
		OPTION_CHOICE(struct export_options, from),
		.choices = from_words,
		.preset = "auto",
		.help = FROM_HELP},
	{.name = "expect",
		OPTION_FLAG(struct export_options, expect),
		.help = "scenario: with the recorded answers as expectations"},
	{.name = "skip",
		OPTION_FLAG(struct export_options, skip),
		.help = "leave out what the form cannot hold: statements that were cut, redacted or are "
			"no SQL; transactions of unknown outcome"},
	SALVAGE_OPTION(struct export_options, salvage),
	TARGET_OPTION(struct export_options, output),
	PROGRESS_OPTION(struct export_options, progress),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"export --to=scenario run.itr -o run.scn", "a text to edit and to run again"},
	{"export --to=scenario --expect run.itr", "... that also says what came back"},
	{"export --to=elle run.itr -o run.edn", "a second opinion, by Elle"},
	{"export --to=parquet run.itr -o tables", "five files for DuckDB, pandas, Spark"},
	{"export --to=csv --table=statements run.itr | head", "one table"},
	{"export --from=elle --to=dot history.edn | dot -Tsvg >history.svg", "a picture"},
	{NULL, NULL},
};

const struct command export_command = {
	.name = "export",
	.summary = "writes a trace or history in another form",
	.arguments = "TRACE",
	.description =
		"Writes a trace, or another tool's history, in another form.\n"
		"\n"
		"scenario: the statements in the order they were sent, with the sessions' levels\n"
		"and the tables' definitions and content from before, as isorec run takes them.\n"
		"Parameters of prepared statements are put into the text.\n"
		"\n"
		"elle, plume, dbcop, json: who read and wrote what, for other checkers.  Of\n"
		"a trace, objects become numbered keys and versions the values of registers.\n"
		"Other keys and values are numbered where the form has only integers.\n"
		"What the form has no word for (predicates) is left out and counted; what\n"
		"would change the verdict is refused.\n"
		"\n"
		"dot, graphml: transactions and the dependencies between them.\n"
		"\n"
		"csv, ndjson, parquet: statements, transactions, versions, edges and findings as\n"
		"tables, each a file in a folder, or one of them (--table).",
	.options = export_table,
	.examples = examples,
	.run = export_run,
	.files = true,
};
