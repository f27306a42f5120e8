/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isotrace check: is this history isolated as it should be?
 */
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "commands.h"
#include "import/import.h"
#include "values/check.h"
#include "verdict_out.h"

enum check_format { FORMAT_TEXT, FORMAT_JSON };
static const char *const format_words[] = {"text", "json", NULL};
/* In the order of enum import_format, behind the one for our own traces. */
static const char *const from_words[] = {"trace", "elle", "elle-json", "plume", "awdit", "dbcop",
	"dbcop-json", "cobra", "viper", "chronos", NULL};

struct check_options {
	int format, from;
	const char *level;
	uint64_t examples, budget;
};

/* Names that people use for levels. */
static const struct {
	const char *alias, *level;
} aliases[] = {
	{"read-uncommitted", "PL-1"},
	{"read-committed", "PL-2"},
	{"consistent-view", "PL-2+"},
	{"repeatable-read", "PL-2.99"},
	{"snapshot-isolation", "PL-SI"},
	{"serializable", "PL-3"},
	{"strong-session-snapshot-isolation", "strong-session-PL-SI"},
	{"strong-session-serializable", "strong-session-PL-3"},
	{"strong-snapshot-isolation", "strong-PL-SI"},
	{"strict-serializable", "strong-PL-3"},
};

static const char *level_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		if (strcmp(aliases[i].alias, name) == 0)
			return aliases[i].level;
	}
	return name;
}

/* Findings that do not refute the level asked for are allowed by it. */
static void ask_for(struct verdict *verdict, const char *level)
{
	for (size_t i = 0; i < verdict->finding_count; i++) {
		struct finding *f = &verdict->findings[i];

		if (values_level_implies(level, f->level))
			continue;
		/* Broken reads break every level of Biswas and Enea's too. */
		if (strncmp(level, "be-", 3) == 0 && strcmp(f->level, "PL-2") == 0 &&
			f->edge_count == 0)
			continue;
		f->severity = SEVERITY_DOCUMENTED;
		f->rule = "allowed by the level asked for";
	}
	verdict_sort(verdict);
}

static enum exit_status check_values(
	const struct command *command, const struct check_options *options, const char *path)
{
	enum import_format format = (enum import_format)(options->from - 1);
	struct verdict_context context = {.input = path, .format = from_words[options->from]};
	struct values_options judge = {
		.examples = (uint32_t)options->examples, .budget = options->budget};
	struct values v = {0};
	struct verdict verdict;
	struct buf out = BUF_INIT;
	struct err err;
	bool known = false;

	if (!import_path(format, path, &v, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	verdict_init(&verdict);
	values_judge(&v, &judge, &verdict);
	context.transactions = v.txn_count;
	context.operations = v.op_count;
	context.level = options->level ? level_named(options->level) : NULL;
	for (size_t i = 0; context.level && i < verdict.level_count; i++)
		known |= strcmp(verdict.levels[i].name, context.level) == 0;
	if (context.level && !known) {
		context.status = command_misused(command,
			"level %s: not a level, or not one that this history can be judged by",
			options->level);
	} else {
		if (context.level)
			ask_for(&verdict, context.level);
		verdict_conclude(&context, &verdict);
		if (options->format == FORMAT_JSON) {
			struct json json;

			json_init(&json, &out, 2);
			verdict_json(&json, &context, &verdict);
			buf_add_char(&out, '\n');
		} else {
			verdict_text(&out, &context, &verdict);
		}
		(void)!output_write(&out);
	}
	buf_release(&out);
	verdict_release(&verdict);
	values_release(&v);
	return context.status;
}

static enum exit_status check_run(const struct command *command, int argc, char **argv)
{
	struct check_options options = {.examples = 5};
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count != 1)
		return command_misused(
			command, count ? "check takes one history" : "which history?");
	if (options.from == 0)
		return command_misused(
			command, "give --from FORMAT: which tool wrote the history?");
	return check_values(command, &options, args[0]);
}

static const struct option_def check_table[] = {
	OPTION_HEADING("Input"),
	{.name = "from",
		.argument = "FORMAT",
		OPTION_CHOICE(struct check_options, from),
		.choices = from_words,
		.help = "the tool whose history this is"},
	OPTION_HEADING("Judgement"),
	{.name = "level",
		.argument = "LEVEL",
		OPTION_STRING(struct check_options, level),
		.help = "the level that must hold: PL-3 or serializable, PL-SI or "
			"snapshot-isolation, "
			"be-CC, strong-session-PL-3 ...; without it every level that the history "
			"can be "
			"judged by"},
	{.name = "budget",
		.argument = "N",
		OPTION_UINT(struct check_options, budget),
		.help = "edges that the search for a shortest witness may look at, a class and "
			"component; changes no verdict"},
	OPTION_HEADING("Output"),
	{.name = "format",
		.letter = 'f',
		OPTION_CHOICE(struct check_options, format),
		.choices = format_words,
		.preset = "text",
		.help = "text for people, or one JSON document"},
	{.name = "examples",
		.argument = "N",
		OPTION_UINT(struct check_options, examples),
		.min = 1,
		.max = 1000,
		.preset = "5",
		.help = "findings of one class that are listed; the others are counted"},
	OPTION_END,
};

static const struct command_example examples[] = {
	{"check --from=elle history.edn", "every level, with a witness for each that fails"},
	{"check --from=plume hist.txt --level=snapshot-isolation", "exit status 1 when it fails"},
	{"check --from=cobra logs/ --format=json | jq .levels", "for a program"},
	{NULL, NULL},
};

const struct command check_command = {
	.name = "check",
	.summary = "judges a history: which isolation levels hold, and why the others do not",
	.arguments = "HISTORY",
	.description =
		"Judges the histories of other tools: Elle and Jepsen (EDN, JSON), Plume and "
		"PolySI text,\n"
		"AWDIT text, dbcop (bincode, JSON), Cobra and Viper logs, Chronos JSON.  Prints "
		"the "
		"levels that\n"
		"hold and those that fail, each failure with a shortest witness, one sentence an "
		"edge, and what\n"
		"could not be decided.",
	.options = check_table,
	.examples = examples,
	.run = check_run,
	.files = true,
};
