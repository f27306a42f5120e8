/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace check: is this history isolated as it should be? */
#include <string.h>

#include "base/output.h"
#include "commands/commands.h"
#include "commands/judge_histories.h"
#include "commands/output_path.h"

enum { SHEETS_MAX = 16 };

struct check_options {
	struct histories_options histories;
	int format; /* enum sheet_format */
	struct option_strings outputs;
	bool verbose, quiet;
	struct output_options output;
};

/* Standard output, unless --quiet or an -o takes it, and what -o asks for. */
static bool choose_outputs(
	const struct check_options *options, struct check_output *outputs, size_t *count, struct err *err)
{
	bool out_taken = options->quiet;

	*count = 0;
	for (size_t i = 0; i < options->outputs.count; i++) {
		if (*count == SHEETS_MAX - 1)
			return err_set(err, ERR_USAGE, "more than %d outputs", SHEETS_MAX - 1);
		if (!check_output_parse(&outputs[*count], options->outputs.items[i], err))
			return false;
		if (strcmp(outputs[*count].path, "-") == 0) {
			if (out_taken && !options->quiet)
				return err_set(err, ERR_USAGE, "two outputs to standard output");
			out_taken = true;
		}
		(*count)++;
	}
	if (!out_taken)
		outputs[(*count)++] = (struct check_output){
			.format = (enum check_output_format)options->format, .out = BUF_INIT};
	for (size_t i = 0; i < *count; i++) {
		bool terminal = !outputs[i].path;

		outputs[i].page = (struct page){
			.columns = terminal ? output_columns() : 100,
			.color = terminal && output_color((enum output_when)options->output.color),
			.verbose = options->verbose};
	}
	return true;
}

static enum exit_status check_run(const struct command *command, int argc, char **argv)
{
	struct check_options options = {.histories.judge.examples = 5};
	struct check_output outputs[SHEETS_MAX];
	size_t output_count;
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count == 0)
		return command_misused(command, "which history?");
	if (!choose_outputs(&options, outputs, &output_count, &err))
		return command_misused(command, "%s", err.text);
	for (size_t i = 0; i < output_count; i++) {
		for (int k = 0; k < count && outputs[i].format == SHEET_HTML; k++) {
			if (strcmp(args[k], "-") == 0 && options.histories.from <= FROM_TRACE)
				return command_misused(command,
					"the trace must be a file for a page: it is read twice");
		}
	}
	options.histories.judge.progress = (enum output_when)options.output.progress;
	return histories_check(command, &options.histories, args, count, outputs, output_count);
}

static const struct option_def check_table[] = {
	HISTORIES_OPTIONS(struct check_options, histories),
	OPTION_HEADING("Output"),
	FORMAT_OPTION(struct check_options, check_output_formats,
		"on standard output: text for people, JSON, JSON lines, JUnit or TAP for a "
		"build server, SARIF for code hosts, the witnesses as graphs, or a page"),
	{.name = "output",
		.letter = 'o',
		.argument = "FORMAT:FILE",
		OPTION_STRINGS(struct check_options, outputs),
		.files = true,
		.help = "write a file too; the format may be left out where the file's ending says "
			"it; may be given several times"},
	{.name = "verbose",
		.letter = 'v',
		OPTION_FLAG(struct check_options, verbose),
		.help = "text: draw every witness, not only the first"},
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct check_options, quiet),
		.help = "nothing on standard output: the exit status and files only"},
	OUTPUT_OPTIONS(struct check_options, output),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"check run.itr", "by what the recorded server promises"},
	{"check runs/*.itr", "several, one after the other; the exit status is the worst"},
	{"check --for=application run.itr", "lost updates and write skew in your own code"},
	{"check --oracle=mvcc run.itr", "execute a scenario's run again and compare every answer"},
	{"check --contract=adya run.itr", "by the textbook levels"},
	{"check --from=elle history.edn", "every level, with a witness for each that fails"},
	{"check --from=plume hist.txt --level=snapshot-isolation", "exit status 1 when it fails"},
	{"check --from=cobra logs/ --format=json | jq .levels", "for a program"},
	{"check run.itr -o sarif:run.sarif -o junit:run.xml", "text here, and two files"},
	{NULL, NULL},
};

const struct command check_command = {
	.name = "check",
	.summary = "judges a history: which isolation levels hold, and why the others do not",
	.arguments = "HISTORY...",
	.description =
		"Judges a trace (by row versions where instrumentation recorded them, else by\n"
		"executing it again on a model), or the history of another tool:\n"
		"Elle and Jepsen (EDN, JSON), Plume and PolySI text, AWDIT text, dbcop "
		"(bincode, JSON),\n"
		"Cobra and Viper logs, Chronos JSON.  Prints the levels that hold and those "
		"that fail, each\n"
		"failure with a shortest witness, one sentence an edge, and what could not be "
		"decided.\n"
		"\n"
		"With --for=application: lost updates, write skew and read skew in the code of\n"
		"those who use the server, though the level allows them.",
	.options = check_table,
	.examples = examples,
	.run = check_run,
	.files = true,
};
