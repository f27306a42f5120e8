/* SPDX-License-Identifier: GPL-2.0-or-later */
/* isotrace corpus: whether the stored recordings of known bugs hold, and what changed between two
 * recordings of all of them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/output.h"
#include "commands/commands.h"
#include "commands/output_path.h"
#include "out/corpus_out.h"

enum corpus_format { FORMAT_TEXT, FORMAT_JSON, FORMAT_JUNIT, FORMAT_HTML };
static const char *const format_words[] = {"text", "json", "junit", "html", NULL};

struct corpus_options {
	int format;
	const char *output;
	bool all;
};

static enum exit_status complain(const struct err *err)
{
	output_message("%s", err->text);
	return err_exit_status(err);
}

static void print(struct buf *out)
{
	(void)!output_write(out);
	buf_release(out);
}

/* ---- verify ---- */

static enum exit_status print_checks(
	const struct corpus_options *options, const struct corpus_checks *checks)
{
	struct buf out = BUF_INIT;
	struct json json;

	switch ((enum corpus_format)options->format) {
	case FORMAT_TEXT:
	case FORMAT_HTML: /* refused before */
		corpus_checks_text(&out, checks, options->all);
		break;
	case FORMAT_JSON:
		json_init(&json, &out, 2);
		corpus_checks_json(&json, checks);
		buf_add_char(&out, '\n');
		break;
	case FORMAT_JUNIT:
		corpus_checks_junit(&out, checks);
		break;
	}
	print(&out);
	return output_finish(checks->failed ? EXIT_STATUS_VIOLATION : EXIT_STATUS_OK);
}

static enum exit_status verify(
	const struct corpus_options *options, const char *folder, const char *recorded)
{
	struct corpus_scenarios scenarios;
	struct corpus_recordings recordings;
	struct corpus_checks checks = {.scenarios = &scenarios, .recordings = &recordings};
	enum exit_status status;
	struct err err;

	if (!corpus_scenarios_load(&scenarios, folder, &err)) {
		(void)complain(&err);
		output_message("name the folder of the scenarios, corpus/ of the source tree: "
			       "isotrace corpus verify FOLDER [RECORDED]");
		return err_exit_status(&err);
	}
	if (!corpus_recordings_load(&recordings, recorded, &err)) {
		corpus_scenarios_release(&scenarios);
		return complain(&err);
	}
	checks.items = mem_zero(recordings.count, sizeof(*checks.items));
	for (; checks.count < recordings.count; checks.count++) {
		struct corpus_check *check = &checks.items[checks.count];

		corpus_verify(&scenarios, &recordings.items[checks.count], check);
		checks.failed += !check->ok;
	}
	status = print_checks(options, &checks);
	for (size_t i = 0; i < checks.count; i++)
		buf_release(&checks.items[i].why);
	mem_free(checks.items);
	corpus_recordings_release(&recordings);
	corpus_scenarios_release(&scenarios);
	return status;
}

/* ---- compare ---- */

static enum exit_status print_comparison(
	const struct corpus_options *options, const struct corpus_comparison *c)
{
	struct buf out = BUF_INIT;
	struct json json;

	switch ((enum corpus_format)options->format) {
	case FORMAT_TEXT:
		corpus_comparison_text(&out, c, options->all);
		break;
	case FORMAT_JSON:
		json_init(&json, &out, 2);
		corpus_comparison_json(&json, c);
		buf_add_char(&out, '\n');
		break;
	case FORMAT_JUNIT:
		corpus_comparison_junit(&out, c);
		break;
	case FORMAT_HTML:
		corpus_comparison_html(&out, c);
		break;
	}
	print(&out);
	return output_finish(c->by[CORPUS_NEW]       ? EXIT_STATUS_VIOLATION
			     : c->by[CORPUS_NOT_RUN] ? EXIT_STATUS_INCOMPLETE
						     : EXIT_STATUS_OK);
}

static enum exit_status compare(
	const struct corpus_options *options, const char *old_path, const char *new_path)
{
	struct corpus_recordings old, new_;
	struct corpus_comparison c;
	enum exit_status status;
	struct err err;

	if (!corpus_recordings_load(&old, old_path, &err))
		return complain(&err);
	if (!corpus_recordings_load(&new_, new_path, &err)) {
		corpus_recordings_release(&old);
		return complain(&err);
	}
	status = corpus_compare(&c, &old, &new_, &err) ? print_comparison(options, &c)
						       : complain(&err);
	corpus_comparison_release(&c);
	corpus_recordings_release(&old);
	corpus_recordings_release(&new_);
	return status;
}

static enum exit_status corpus_run(const struct command *command, int argc, char **argv)
{
	struct corpus_options options = {0};
	enum exit_status status;
	struct err err;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count >= 1 && strcmp(args[0], "verify") == 0) {
		const char *folder = count > 1 ? args[1] : "corpus";

		if (count > 3)
			return command_misused(command, "verify takes at most two folders");
		if (options.format == FORMAT_HTML)
			return command_misused(
				command, "a page is made of a comparison, not by verify");
		if (!target_open(options.output, NULL, 0, &err))
			return command_failed(command, &err);
		return verify(&options, folder, count == 3 ? args[2] : folder);
	}
	if (count != 2)
		return command_misused(command,
			"corpus takes two folders of recordings, or: verify [FOLDER [RECORDED]]");
	if (!target_open(options.output, NULL, 0, &err))
		return command_failed(command, &err);
	return compare(&options, args[0], args[1]);
}

static const struct option_def corpus_table[] = {
	FORMAT_OPTION(struct corpus_options, format_words,
		"tables for people, one JSON document, JUnit for a build server, or a "
		"page (html; of a comparison)"),
	{.name = "all",
		.letter = 'a',
		OPTION_FLAG(struct corpus_options, all),
		.help = "text: also what is unchanged, or as expected"},
	TARGET_OPTION(struct corpus_options, output),
	OPTION_END,
};

static const struct command_example examples[] = {
	{"corpus verify corpus", "do the stored recordings still say what they should?"},
	{"corpus runs/10.11 runs/11.8", "what changed between two releases?"},
	{"corpus runs/10.11 runs/11.8 -f html -o changes.html", "... to send around"},
	{NULL, NULL},
};

const struct command corpus_command = {
	.name = "corpus",
	.summary = "what changed between two recordings of the known bugs",
	.arguments = "OLD NEW | verify [FOLDER [RECORDED]]",
	.description =
		"OLD NEW: two folders that isorec corpus recorded, on two releases.  For each\n"
		"scenario and level: new (the anomaly shows now and did not before), fixed,\n"
		"changed (answers differ, the anomaly shows as before or not), unchanged, or not\n"
		"run on both.  The exit status is 1 when something is new.\n"
		"\n"
		"verify: judges every recording below RECORDED (FOLDER itself) again, without a\n"
		"server, by what the scenarios below FOLDER (corpus) expect of that release and\n"
		"level.",
	.options = corpus_table,
	.examples = examples,
	.run = corpus_run,
	.files = true,
};
