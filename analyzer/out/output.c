/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out/output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/output.h"
#include "base/text.h"
#include "out/html.h"
#include "report/page_data.h"

const char *const check_output_formats[] = {
	"text", "json", "ndjson", "junit", "tap", "sarif", "dot", "graphml", "html", NULL};

static bool format_named(struct span name, enum check_output_format *format)
{
	for (int i = 0; check_output_formats[i]; i++) {
		if (span_eq_str(name, check_output_formats[i])) {
			*format = (enum check_output_format)i;
			return true;
		}
	}
	return false;
}

bool check_output_parse(struct check_output *output, const char *spec, struct err *err)
{
	static const struct {
		const char *ending;
		enum check_output_format format;
	} endings[] = {{".txt", SHEET_TEXT}, {".json", SHEET_JSON}, {".ndjson", SHEET_NDJSON},
		{".xml", SHEET_JUNIT}, {".tap", SHEET_TAP}, {".sarif", SHEET_SARIF},
		{".dot", SHEET_DOT}, {".gv", SHEET_DOT}, {".graphml", SHEET_GRAPHML},
		{".html", SHEET_HTML}, {".htm", SHEET_HTML}};
	const char *colon = strchr(spec, ':');
	size_t len = strlen(spec);

	*output = (struct check_output){.path = spec, .out = BUF_INIT};
	if (colon && format_named(span_of(spec, (size_t)(colon - spec)), &output->format)) {
		output->path = colon + 1;
		if (*output->path)
			return true;
		return err_set(err, ERR_USAGE, "%s: which file?", spec);
	}
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t ending = strlen(endings[i].ending);

		if (len > ending && strcmp(spec + len - ending, endings[i].ending) == 0) {
			output->format = endings[i].format;
			return true;
		}
	}
	return err_set(err, ERR_USAGE,
		"%s: which format?  Write FORMAT:FILE, for example sarif:%s", spec, spec);
}

void check_output_begin(struct check_output *output)
{
	switch (output->format) {
	case SHEET_JUNIT:
		junit_begin(&output->junit, &output->out);
		break;
	case SHEET_TAP:
		tap_begin(&output->out);
		break;
	case SHEET_SARIF:
		sarif_begin(&output->sarif, &output->out);
		break;
	case SHEET_DOT:
		dot_begin(&output->out);
		break;
	case SHEET_GRAPHML:
		graphml_begin(&output->out);
		break;
	case SHEET_HTML:
		html_begin(&output->json, &output->out);
		break;
	case SHEET_NDJSON:
		if (output->share)
			share_begin_ndjson(&output->out, output->share);
		break;
	case SHEET_TEXT:
	case SHEET_JSON:
		break;
	}
}

bool check_output_add(struct check_output *output, const struct verdict_context *context,
	const struct verdict *verdict, struct judged *judged, struct err *err)
{
	struct json json;

	switch (output->format) {
	case SHEET_TEXT:
		if (output->histories)
			buf_add_char(&output->out, '\n');
		verdict_text(&output->out, &output->page, context, verdict);
		break;
	case SHEET_JSON:
		json_init(&json, &output->out, 2);
		verdict_json(&json, context, verdict);
		buf_add_char(&output->out, '\n');
		break;
	case SHEET_NDJSON:
		verdict_ndjson(&output->out, context, verdict, output->share ? &output->at : NULL);
		break;
	case SHEET_JUNIT:
		verdict_junit(&output->junit, context, verdict);
		break;
	case SHEET_TAP:
		verdict_tap(&output->out, context, verdict, &output->number);
		break;
	case SHEET_SARIF:
		verdict_sarif(&output->sarif, context, verdict);
		break;
	case SHEET_DOT:
		verdict_dot(&output->out, context, verdict, &output->number);
		break;
	case SHEET_GRAPHML:
		verdict_graphml(&output->out, context, verdict, &output->number);
		break;
	case SHEET_HTML:
		if (!judged)
			report_foreign(&output->json, context, verdict);
		else if (!report_data(&output->json, judged, context, err))
			return false;
		break;
	}
	output->histories++;
	return true;
}

void check_output_fail(struct check_output *output, const char *input, enum exit_status status)
{
	if (output->format == SHEET_NDJSON && output->share)
		share_fail_ndjson(&output->out, output->at, input, status);
}

static void finish(struct check_output *output)
{
	switch (output->format) {
	case SHEET_JUNIT:
		junit_end(&output->junit);
		break;
	case SHEET_TAP:
		tap_end(&output->out, output->number);
		break;
	case SHEET_SARIF:
		sarif_end(&output->sarif, &output->out);
		break;
	case SHEET_DOT:
		dot_end(&output->out);
		break;
	case SHEET_GRAPHML:
		graphml_end(&output->out);
		break;
	case SHEET_HTML:
		html_end(&output->json, &output->out);
		break;
	case SHEET_NDJSON:
		if (output->share)
			share_end_ndjson(&output->out, output->share, output->histories, output->status);
		break;
	case SHEET_TEXT:
	case SHEET_JSON:
		break;
	}
}

bool check_output_end(struct check_output *output, struct err *err)
{
	bool ok = true;
	size_t size;

	finish(output);
	size = output->out.len;
	if (!output->path || strcmp(output->path, "-") == 0) {
		(void)!output_write(&output->out); /* output_finish reports a failure */
	} else {
		ok = file_replace(output->path, buf_span(&output->out), err);
		if (ok && output->tell) {
			buf_clear(&output->out);
			buf_printf(&output->out, "wrote %s, ", output->path);
			text_add_size(&output->out, size);
			buf_add_str(&output->out, ": open it in a browser\n");
			(void)!output_write(&output->out);
		}
	}
	buf_release(&output->out);
	return ok;
}

void check_output_release(struct check_output *output)
{
	if (output->format == SHEET_SARIF)
		buf_release(&output->sarif.notes);
	if (output->format == SHEET_JUNIT)
		junit_release(&output->junit);
	buf_release(&output->out);
}
