/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * isotrace report: one page that a browser shows from disk, without a network.
 *
 * What comes from the trace is data: JSON in a script element that is not run, with every "<"
 * written as \u003c so that it cannot end the element.  The page's own script turns it into text.
 * The policy in the page allows that one script and that one style sheet, by their hashes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "commands.h"
#include "judge.h"
#include "page.inc"
#include "report_data.h"

struct report_options {
	struct judge_options judge;
	const char *output;
	struct output_options terminal;
};

static void add_lines(struct buf *out, const char *const *lines)
{
	for (; *lines; lines++)
		buf_add_str(out, *lines);
}

static void add_data(struct buf *out, struct span json)
{
	for (size_t i = 0; i < json.len; i++) {
		if (json.ptr[i] == '<')
			buf_add_str(out, "\\u003c");
		else
			buf_add_char(out, json.ptr[i]);
	}
}

static void page(struct buf *out, struct span json)
{
	buf_add_str(out,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src '" REPORT_JS_HASH "'; style-src '" REPORT_CSS_HASH
		"'; base-uri 'none'; form-action 'none'\">\n"
		"<title>isotrace report</title>\n<style>");
	add_lines(out, report_css);
	buf_add_str(out,
		"</style>\n</head>\n<body>\n<main><p>This page needs JavaScript, which it brings "
		"along; isotrace check prints the same findings as text.</p></main>\n"
		"<script type=\"application/json\" id=\"data\">");
	add_data(out, json);
	buf_add_str(out, "</script>\n<script>");
	add_lines(out, report_js);
	buf_add_str(out, "</script>\n</body>\n</html>\n");
}

/* Whole or not at all: beside its place first, then renamed. */
static bool store(const char *path, struct span bytes, struct err *err)
{
	char beside[4096];
	FILE *file;
	bool ok;

	snprintf(beside, sizeof(beside), "%s.part", path);
	file = fopen(beside, "wb");
	if (!file)
		return err_set_errno(err, errno, "cannot make %s", beside);
	ok = fwrite(bytes.ptr, 1, bytes.len, file) == bytes.len;
	ok = fclose(file) == 0 && ok;
	if (!ok || rename(beside, path) != 0) {
		int why = errno;

		unlink(beside);
		return err_set_errno(err, why, "cannot write %s", path);
	}
	return true;
}

/* One trace as JSON.  The exit status is what isotrace check would have. */
static enum exit_status add_trace(
	struct json *json, const char *path, const struct report_options *options)
{
	enum exit_status status;
	struct judged judged;
	struct err err;

	err_clear(&err);
	if (!judge_trace(&judged, path, &options->judge, &err)) {
		output_message("%s", err.text);
		return err_exit_status(&err);
	}
	verdict_conclude(&judged.context, &judged.verdict);
	status = judged.context.status;
	if (!report_data(json, &judged, path, options->judge.salvage, &err)) {
		output_message("%s", err.text);
		status = err_exit_status(&err);
	}
	judged_release(&judged);
	return status;
}

static enum exit_status report(const struct report_options *options, char **paths, int count)
{
	enum exit_status worst = EXIT_STATUS_OK;
	struct buf data = BUF_INIT, out = BUF_INIT;
	struct json json;
	struct err err;

	json_init(&json, &data, 0);
	json_begin_object(&json);
	json_key(&json, "schema");
	json_str(&json, "isotrace.report/1");
	json_key(&json, "traces");
	json_begin_array(&json);
	for (int i = 0; i < count; i++) {
		enum exit_status one = add_trace(&json, paths[i], options);

		if (one == EXIT_STATUS_INPUT || one == EXIT_STATUS_USAGE) {
			buf_release(&data);
			return one;
		}
		worst = exit_status_weight(one) > exit_status_weight(worst) ? one : worst;
	}
	json_end_array(&json);
	json_end_object(&json);
	page(&out, buf_span(&data));
	buf_release(&data);
	if (strcmp(options->output, "-") == 0) {
		(void)!output_write(&out);
	} else if (!store(options->output, buf_span(&out), &err)) {
		output_message("%s", err.text);
		worst = EXIT_STATUS_INPUT;
	}
	buf_release(&out);
	return worst;
}

static enum exit_status report_run(const struct command *command, int argc, char **argv)
{
	struct report_options options = {.judge.examples = 1000, .output = "report.html"};
	enum exit_status status;
	char **args;
	int count;

	if (!command_parse(command, &options, argc, argv, &args, &count, &status))
		return status;
	if (count == 0)
		return command_misused(command, "which trace?");
	for (int i = 0; i < count; i++) {
		if (strcmp(args[i], "-") == 0)
			return command_misused(
				command, "the trace must be a file: it is read twice");
	}
	options.judge.progress = (enum output_when)options.terminal.progress;
	return report(&options, args, count);
}

static const struct option_def report_table[] = {
	OPTION_HEADING("Judgement, as for isotrace check"),
	JUDGE_OPTIONS(struct report_options, judge),
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
	{NULL, NULL},
};

const struct command report_command = {
	.name = "report",
	.summary = "a page for the browser: verdict, findings drawn, what was checked",
	.arguments = "TRACE...",
	.description =
		"Judges the traces as isotrace check does and writes one HTML file that needs no "
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
