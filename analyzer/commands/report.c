/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace report: what isotrace check finds, as a page for the browser (out/html.h). */
#include <string.h>

#include "commands/commands.h"
#include "commands/judge_histories.h"

struct report_options {
	struct histories_options histories;
	const char *output;
	struct output_options terminal;
};

static enum exit_status report_run(const struct command *command, int argc, char **argv)
{
	struct report_options options = {
		.histories.judge.examples = 1000, .output = "report.html"};
	struct check_output check_output = {.format = SHEET_HTML, .out = BUF_INIT};
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count == 0)
		return command_misused(command, "which trace?");
	for (int i = 0; i < count; i++) {
		if (strcmp(args[i], "-") == 0 && options.histories.from <= FROM_TRACE)
			return command_misused(
				command, "the trace must be a file: it is read twice");
	}
	check_output.path = options.output;
	check_output.tell = true;
	options.histories.judge.progress = (enum output_when)options.terminal.progress;
	return histories_check(command, &options.histories, args, count, &check_output, 1);
}

static const struct option_def report_table[] = {
	HISTORIES_OPTIONS(struct report_options, histories),
	OPTION_HEADING("Output"),
	{.name = "output",
		.letter = 'o',
		.argument = "FILE",
		OPTION_STRING(struct report_options, output),
		.preset = "report.html",
		.files = true,
		.help = "where the page goes; - for standard output"},
	OUTPUT_OPTIONS(struct report_options, terminal),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"report run.itr -o run.html", "then open run.html in a browser"},
	{"report runs/*.itr -o all.html", "several traces on one page"},
	{"report --from=elle history.edn -o elle.html", "the history of another tool"},
	{NULL, NULL},
};

const struct command report_command = {
	.name = "report",
	.summary = "a page for the browser: verdict, findings drawn, what was checked",
	.arguments = "HISTORY...",
	.description =
		"Judges the histories as isotrace check does and writes one HTML file that needs no "
		"network:\n"
		"the verdict, each finding with its cycle, the timeline of its transactions, "
		"their\n"
		"statements and a bug report to copy, what was not decided, and the whole "
		"recording.",
	.options = report_table,
	.examples = examples,
	.run = report_run,
	.files = true,
};
