/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isotrace check: is this history isolated as it should be?  Our own traces go to the oracle adya
 * and are judged by the contract of the server; other tools' histories go to the oracle values.
 */
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "commands.h"
#include "import/import.h"
#include "judge.h"
#include "values/check.h"
#include "verdict_out.h"

enum check_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT };
static const char *const format_words[] = {"text", "json", "junit", NULL};
static const char *const fail_words[] = {"violation", "suspicion", "documented", "none", NULL};
/* In the order of enum import_format, behind the one for our own traces. */
static const char *const from_words[] = {"trace", "elle", "elle-json", "plume", "awdit", "dbcop",
	"dbcop-json", "cobra", "viper", "chronos", NULL};

struct check_options {
	int format, from;
	int fail_on; /* enum fail_on */
	const char *level;
	struct judge_options judge;
	struct output_options output;
};

/* Names that people use for levels. */
static const struct {
	const char *alias, *level;
} aliases[] = {
	{"read-uncommitted", "PL-1"},
	{"read-committed", "PL-2"},
	{"cursor-stability", "PL-CS"},
	{"monotonic-view", "PL-2L"},
	{"consistent-view", "PL-2+"},
	{"forward-consistent-view", "PL-FCV"},
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

static bool has_level(const struct verdict *verdict, const char *level)
{
	for (size_t i = 0; i < verdict->level_count; i++) {
		if (strcmp(verdict->levels[i].name, level) == 0)
			return true;
	}
	return false;
}

/* The end of every check: what it comes to, and out with it. */
static enum exit_status conclude(const struct command *command, const struct check_options *options,
	struct verdict_context *context, struct verdict *verdict, struct buf *out)
{
	struct json json;

	context->fail_on = (enum fail_on)options->fail_on;
	context->color = output_color((enum output_when)options->output.color);
	context->level = options->level ? level_named(options->level) : NULL;
	if (context->level && !has_level(verdict, context->level))
		return command_misused(command,
			"level %s: not a level, or not one that this history can be judged by",
			options->level);
	if (context->level && verdict->contract)
		context->fail_on = FAIL_ON_NONE; /* the level decides, not the contract */
	else if (context->level)
		ask_for(verdict, context->level);
	verdict_conclude(context, verdict);
	switch ((enum check_format)options->format) {
	case FORMAT_TEXT:
		if (out->len)
			buf_add_char(out, '\n');
		verdict_text(out, context, verdict);
		break;
	case FORMAT_JSON:
		json_init(&json, out, 2);
		verdict_json(&json, context, verdict);
		buf_add_char(out, '\n');
		break;
	case FORMAT_JUNIT:
		verdict_junit(out, context, verdict);
		break;
	}
	return context->status;
}

/* ---- other tools' histories ---- */

static enum exit_status check_values(const struct command *command,
	const struct check_options *options, const char *path, struct buf *out)
{
	enum import_format format = (enum import_format)(options->from - 1);
	struct verdict_context context = {.input = path, .format = from_words[options->from]};
	struct values_options judge = {
		.examples = (uint32_t)options->judge.examples, .budget = options->judge.budget};
	struct values v = {0};
	struct verdict verdict;
	enum exit_status status;
	struct err err;

	if (!import_path(format, path, &v, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	verdict_init(&verdict);
	values_judge(&v, &judge, &verdict);
	context.transactions = v.txn_count;
	context.operations = v.op_count;
	status = conclude(command, options, &context, &verdict, out);
	verdict_release(&verdict);
	values_release(&v);
	return status;
}

/* ---- traces ---- */

static enum exit_status check_trace(const struct command *command,
	const struct check_options *options, const char *path, struct buf *out)
{
	struct judged judged;
	enum exit_status status;
	struct err err;

	err_clear(&err);
	if (!judge_trace(&judged, path, &options->judge, &err)) {
		output_message("%s", err.text);
		if (err.code == ERR_FORMAT && !judged.loaded)
			output_message("a history of another tool needs --from, see isotrace check "
				       "--help");
		return err_exit_status(&err);
	}
	status = conclude(command, options, &judged.context, &judged.verdict, out);
	judged_release(&judged);
	return status;
}

static enum exit_status check_run(const struct command *command, int argc, char **argv)
{
	struct check_options options = {.judge.examples = 5};
	enum exit_status status, worst = EXIT_STATUS_OK;
	struct buf out = BUF_INIT;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count == 0)
		return command_misused(command, "which history?");
	options.judge.progress = (enum output_when)options.output.progress;
	if (options.format == FORMAT_JUNIT)
		buf_add_str(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
	for (int i = 0; i < count; i++) {
		enum exit_status one = options.from == 0
					       ? check_trace(command, &options, args[i], &out)
					       : check_values(command, &options, args[i], &out);

		worst = exit_status_weight(one) > exit_status_weight(worst) ? one : worst;
	}
	if (options.format == FORMAT_JUNIT)
		buf_add_str(&out, "</testsuites>\n");
	if (worst != EXIT_STATUS_USAGE)
		(void)!output_write(&out);
	buf_release(&out);
	return worst;
}

static const struct option_def check_table[] = {
	OPTION_HEADING("Input"),
	{.name = "from",
		.argument = "FORMAT",
		OPTION_CHOICE(struct check_options, from),
		.choices = from_words,
		.preset = "trace",
		.help = "the tool whose history this is"},
	OPTION_HEADING("Judgement"),
	{.name = "fail-on",
		.argument = "WHAT",
		OPTION_CHOICE(struct check_options, fail_on),
		.choices = fail_words,
		.preset = "violation",
		.help = "violation, suspicion, documented or none: the least severity that makes "
			"the "
			"exit status 1"},
	{.name = "level",
		.argument = "LEVEL",
		OPTION_STRING(struct check_options, level),
		.help = "the level that must hold: PL-3 or serializable, PL-SI or "
			"snapshot-isolation, "
			"be-CC, strong-session-PL-3 ...; without it every level that the history "
			"can be "
			"judged by"},
	JUDGE_OPTIONS(struct check_options, judge),
	OPTION_HEADING("Output"),
	{.name = "format",
		.letter = 'f',
		OPTION_CHOICE(struct check_options, format),
		.choices = format_words,
		.preset = "text",
		.help = "text for people, one JSON document, or JUnit for a build server"},
	OUTPUT_OPTIONS(struct check_options, output),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"check run.itr", "by what the recorded server promises"},
	{"check runs/*.itr", "several, one after the other; the exit status is the worst"},
	{"check --oracle=mvcc run.itr", "execute a scenario's run again and compare every answer"},
	{"check --contract=adya run.itr", "by the textbook levels"},
	{"check --from=elle history.edn", "every level, with a witness for each that fails"},
	{"check --from=plume hist.txt --level=snapshot-isolation", "exit status 1 when it fails"},
	{"check --from=cobra logs/ --format=json | jq .levels", "for a program"},
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
		"decided.",
	.options = check_table,
	.examples = examples,
	.run = check_run,
	.files = true,
};
