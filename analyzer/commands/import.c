/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace import: another tool's history, read and written again for yet another tool. */
#include <stdio.h>

#include "base/output.h"
#include "commands/commands.h"
#include "commands/input_format.h"
#include "commands/output_path.h"
#include "import/export.h"

/* In the order of enum export_format. */
static const char *const to_words[] = {"elle", "plume", "dbcop", "json", NULL};

struct import_options {
	int from, to;
	const char *output;
};

static bool sink(void *context, struct buf *out)
{
	(void)context;
	return output_write(out);
}

static enum exit_status import_run(const struct command *command, int argc, char **argv)
{
	struct import_options options = {.to = EXPORT_JSON};
	struct values v = {0};
	struct err err;
	enum exit_status status = EXIT_STATUS_OK;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count != 1)
		return command_misused(
			command, count ? "import takes one history" : "which history?");
	options.from = from_resolve(options.from, args[0]);
	if (options.from == FROM_TRACE)
		return command_misused(command,
			"%s does not begin like the history of a known tool: give --from FORMAT, or isotrace export for a trace",
			args[0]);
	if (!target_open(options.output, (const char *const *)args, 1, &err))
		return command_failed(command, &err);
	if (!import_path(from_format(options.from), args[0], NULL, &v, &err) ||
		!values_export(&v, (enum export_format)options.to, sink, NULL, &err)) {
		output_message("%s", err.text);
		status = err_exit_status(&err);
	}
	values_release(&v);
	return status;
}

static const struct option_def import_table[] = {
	{.name = "from",
		.argument = "FORMAT",
		OPTION_CHOICE(struct import_options, from),
		.choices = from_words,
		.preset = "auto",
		.help = FROM_HELP},
	{.name = "to",
		.argument = "FORMAT",
		OPTION_CHOICE(struct import_options, to),
		.choices = to_words,
		.preset = "json",
		.help = "Elle's EDN, Plume's text, dbcop's bincode, or JSON lines"},
	TARGET_OPTION(struct import_options, output),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"import --from=plume hist.txt --to=elle -o hist.edn", "for Elle to check"},
	{"import --from=elle history.edn | jq -c .ops", "look at the operations"},
	{NULL, NULL},
};

const struct command import_command = {
	.name = "import",
	.summary = "reads another tool's history and writes it for one more",
	.arguments = "HISTORY",
	.description = "Reads a history of Elle, Plume, AWDIT, dbcop, Cobra, Viper or Chronos and "
		       "writes it\n"
		       "for one more tool.  What a format cannot hold is refused, never changed.",
	.options = import_table,
	.examples = examples,
	.run = import_run,
	.files = true,
};
