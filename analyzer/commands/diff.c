/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace diff: the differential oracle, on two recordings of one schedule. */
#include <stdio.h>

#include "base/output.h"
#include "commands/commands.h"
#include "commands/output_path.h"
#include "commands/trace_input.h"
#include "out/diff_out.h"
#include "out/html.h"

enum diff_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_HTML };
static const char *const format_words[] = {"text", "json", "html", NULL};
enum diff_fail { FAIL_VIOLATION, FAIL_DIFFERENCE, FAIL_NONE };
static const char *const fail_words[] = {"violation", "difference", "none", NULL};

struct diff_options {
	int format, fail_on;
	const char *output;
	bool salvage, brief;
};

static enum exit_status status_of(const struct diff_options *options, const struct differential *d)
{
	bool complete = d->sides[0].e->complete && d->sides[1].e->complete && !d->not_compared;

	if (options->fail_on == FAIL_DIFFERENCE && d->item_count)
		return EXIT_STATUS_VIOLATION;
	switch (d->conclusion) {
	case DIFF_SAME:
	case DIFF_COMPAT:
		break;
	case DIFF_VIOLATION:
		return options->fail_on == FAIL_NONE ? EXIT_STATUS_OK : EXIT_STATUS_VIOLATION;
	case DIFF_UNDECIDED:
		return EXIT_STATUS_INCOMPLETE;
	}
	return complete ? EXIT_STATUS_OK : EXIT_STATUS_INCOMPLETE;
}

static enum exit_status print_diff(const struct diff_options *options, const struct differential *d,
	const char *const paths[2])
{
	struct buf out = BUF_INIT;

	struct json json;

	switch ((enum diff_format)options->format) {
	case FORMAT_JSON:
		json_init(&json, &out, 2);
		diff_json(&json, d, paths, false);
		buf_add_char(&out, '\n');
		break;
	case FORMAT_HTML:
		html_begin(&json, &out);
		html_differences(&json);
		diff_json(&json, d, paths, true);
		html_end(&json, &out);
		break;
	case FORMAT_TEXT:
		diff_text(&out, d, paths, output_columns(), !options->brief);
		break;
	}
	(void)!output_write(&out);
	buf_release(&out);
	return output_finish(status_of(options, d));
}

static enum exit_status diff_run(const struct command *command, int argc, char **argv)
{
	struct diff_options options = {0};
	struct execution_load_options load;
	struct execution e[2] = {{.arena = ARENA_INIT}, {.arena = ARENA_INIT}};
	struct diff_side sides[2] = {0};
	const char *paths[2];
	struct differential d;
	struct err err;
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count != 2)
		return command_misused(command, "diff takes two traces");
	if (!target_open(options.output, (const char *const *)args, 2, &err))
		return command_failed(command, &err);
	load = (struct execution_load_options){.salvage = options.salvage};
	for (int i = 0; i < 2; i++) {
		paths[i] = args[i];
		if (!execution_load(&e[i], paths[i], &load, &err)) {
			output_message("%s", err.text);
			execution_release(&e[0]);
			return err_exit_status(&err);
		}
		sides[i] = diff_side_of(&e[i]);
	}
	if (differential_compare(&d, sides, &err)) {
		status = print_diff(&options, &d, paths);
		differential_release(&d);
	} else {
		output_message("%s and %s: %s", paths[0], paths[1], err.text);
		status = err_exit_status(&err);
	}
	execution_release(&e[0]);
	execution_release(&e[1]);
	return status;
}

static const struct option_def diff_table[] = {
	OPTION_HEADING("Output"),
	FORMAT_OPTION(struct diff_options, format_words,
		"side by side for people, one JSON document, or a page for the browser"),
	{.name = "brief",
		.letter = 'b',
		OPTION_FLAG(struct diff_options, brief),
		.help = "text: only the statements that were answered differently"},
	{.name = "fail-on",
		OPTION_CHOICE(struct diff_options, fail_on),
		.choices = fail_words,
		.preset = "violation",
		.help = "what makes the exit status 1"},
	TARGET_OPTION(struct diff_options, output),
	OPTION_HEADING("Input"),
	SALVAGE_OPTION(struct diff_options, salvage),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"diff old/lost-update-RR.itr new/lost-update-RR.itr", "what does the new release do?"},
	{"diff -f html a.itr b.itr -o diff.html", "for the browser"},
	{"diff --fail-on=difference a.itr b.itr", "for a script: 1 when anything differs"},
	{NULL, NULL},
};

const struct command diff_command = {
	.name = "diff",
	.summary = "compares two executions of one schedule",
	.arguments = "A B",
	.description =
		"Compares two recordings of one schedule, on two servers or two releases,\n"
		"statement by statement: what was blocked, deadlocks, errors, warnings, results,\n"
		"and the tables at the end.  The first difference is judged; later ones\n"
		"may follow from it.\n"
		"\n"
		"compat: both kept their contracts.  violation: one broke its own.  undecided\n"
		"(exit status 3): neither was seen to break its contract, and for one of them not\n"
		"everything could be judged.",
	.options = diff_table,
	.examples = examples,
	.run = diff_run,
	.files = true,
};
