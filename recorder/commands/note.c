/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `isorec note`: tells a running recorder what happens around it. */
#include <string.h>

#include "base/output.h"
#include "cluster/control.h"
#include "commands/recorder_commands.h"

struct note_options {
	const char *control, *node, *topic, *event, *begin, *end;
	bool quiet;
};

static const struct option_def note_table[] = {
	{.name = "control",
		.argument = "PATH",
		.files = true,
		OPTION_STRING(struct note_options, control),
		.help = "the socket that the recorder was given with --control"},
	{.name = "node",
		.letter = 'n',
		.argument = "NAME",
		OPTION_STRING(struct note_options, node),
		.help = "the node it happens to, as the recorder names it"},
	{.name = "topic",
		.letter = 't',
		.argument = "WORD",
		OPTION_STRING(struct note_options, topic),
		.help = "of a note: what it is about"},
	{.name = "begin",
		.argument = "OPERATION",
		OPTION_STRING(struct note_options, begin),
		.help = "an operation on the node begins"},
	{.name = "end",
		.argument = "OPERATION",
		OPTION_STRING(struct note_options, end),
		.help = "... and has ended; the trace then says how long it took"},
	{.name = "event",
		.argument = "NAME",
		OPTION_STRING(struct note_options, event),
		.help = "something happened to the node"},
	{.name = "quiet",
		.letter = 'q',
		OPTION_FLAG(struct note_options, quiet),
		.help = "do not print the sequence number of the record"},
	OPTION_END,
};

static const struct command_example note_examples[] = {
	{"note --control /tmp/rec.sock --topic load 'ramping up to 64 clients'",
		"a note in the trace"},
	{"note --control /tmp/rec.sock --node n2 --begin stop",
		"before a test harness stops a node; --end stop after it"},
	{NULL, NULL},
};

/* A line of the request; a value has one line. */
static bool add(struct buf *request, const char *word, const char *value)
{
	if (!value)
		return true;
	if (strchr(value, '\n'))
		return false;
	buf_printf(request, "%s %s\n", word, value);
	return true;
}

static enum exit_status run(const struct command *command, int argc, char **argv)
{
	struct note_options options = {.control = NULL};
	struct buf request = BUF_INIT, answer = BUF_INIT;
	enum exit_status status = EXIT_STATUS_OK;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (!options.control)
		return command_misused(command, "which recorder? Name its --control socket");
	if (count > 1)
		return command_misused(
			command, "one text only: put it in quotes (unexpected: %s)", args[1]);
	if ((options.begin != NULL) + (options.end != NULL) + (options.event != NULL) > 1)
		return command_misused(command, "--begin, --end and --event exclude one another");
	if (!count && !options.topic && !options.begin && !options.end && !options.event)
		return command_misused(command, "nothing to note");
	if (!add(&request, "topic", options.topic) || !add(&request, "node", options.node) ||
		!add(&request, "begin", options.begin) || !add(&request, "end", options.end) ||
		!add(&request, "event", options.event) ||
		!add(&request, "text", count ? args[0] : NULL)) {
		buf_release(&request);
		return command_misused(command, "a text has one line");
	}
	buf_add_char(&request, '\n');
	if (!control_ask(options.control, buf_span(&request), &answer, &err)) {
		output_message("%s", err.text);
		status = err_exit_status(&err);
	} else if (strncmp(answer.data, "ok ", 3) != 0) {
		output_message("the recorder refuses: %.*s", (int)answer.len - 1, answer.data);
		status = EXIT_STATUS_USAGE;
	} else if (!options.quiet) {
		struct buf out = BUF_INIT;

		buf_add_str(&out, answer.data + 3);
		(void)!output_write(&out); /* output_finish tells */
		buf_release(&out);
	}
	buf_release(&request);
	buf_release(&answer);
	return output_finish(status);
}

const struct command note_command = {
	.name = "note",
	.summary = "leaves a note in the trace of a running recorder",
	.arguments = "[TEXT]",
	.description =
		"Tells a recorder that was started with --control what happens around it: what a\n"
		"test harness does to nodes, or anything worth remembering. Returns when the "
		"record\n"
		"is made, and prints its sequence number and time (nanoseconds, monotonic clock):\n"
		"whatever begins afterwards comes later in the trace.",
	.options = note_table,
	.examples = note_examples,
	.run = run,
};
