/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/text.h"
#include "out/html.h"
#include "report/page_data.h"

const char *const sheet_formats[] = {
	"text", "json", "ndjson", "junit", "tap", "sarif", "dot", "graphml", "html", NULL};

static bool format_named(struct span name, enum sheet_format *format)
{
	for (int i = 0; sheet_formats[i]; i++) {
		if (span_eq_str(name, sheet_formats[i])) {
			*format = (enum sheet_format)i;
			return true;
		}
	}
	return false;
}

bool sheet_parse(struct sheet *sheet, const char *spec, struct err *err)
{
	static const struct {
		const char *ending;
		enum sheet_format format;
	} endings[] = {{".txt", SHEET_TEXT}, {".json", SHEET_JSON}, {".ndjson", SHEET_NDJSON},
		{".xml", SHEET_JUNIT}, {".tap", SHEET_TAP}, {".sarif", SHEET_SARIF},
		{".dot", SHEET_DOT}, {".gv", SHEET_DOT}, {".graphml", SHEET_GRAPHML},
		{".html", SHEET_HTML}, {".htm", SHEET_HTML}};
	const char *colon = strchr(spec, ':');
	size_t len = strlen(spec);

	*sheet = (struct sheet){.path = spec, .out = BUF_INIT};
	if (colon && format_named(span_of(spec, (size_t)(colon - spec)), &sheet->format)) {
		sheet->path = colon + 1;
		if (*sheet->path)
			return true;
		return err_set(err, ERR_USAGE, "%s: which file?", spec);
	}
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t ending = strlen(endings[i].ending);

		if (len > ending && strcmp(spec + len - ending, endings[i].ending) == 0) {
			sheet->format = endings[i].format;
			return true;
		}
	}
	return err_set(err, ERR_USAGE,
		"%s: which format?  Write FORMAT:FILE, for example sarif:%s", spec, spec);
}

void sheet_begin(struct sheet *sheet)
{
	switch (sheet->format) {
	case SHEET_JUNIT:
		junit_begin(&sheet->junit, &sheet->out);
		break;
	case SHEET_TAP:
		tap_begin(&sheet->out);
		break;
	case SHEET_SARIF:
		sarif_begin(&sheet->sarif, &sheet->out);
		break;
	case SHEET_DOT:
		dot_begin(&sheet->out);
		break;
	case SHEET_GRAPHML:
		graphml_begin(&sheet->out);
		break;
	case SHEET_HTML:
		html_begin(&sheet->json, &sheet->out);
		break;
	case SHEET_TEXT:
	case SHEET_JSON:
	case SHEET_NDJSON:
		break;
	}
}

bool sheet_add(struct sheet *sheet, const struct verdict_context *context,
	const struct verdict *verdict, struct judged *judged, struct err *err)
{
	struct json json;

	switch (sheet->format) {
	case SHEET_TEXT:
		if (sheet->histories)
			buf_add_char(&sheet->out, '\n');
		verdict_text(&sheet->out, &sheet->page, context, verdict);
		break;
	case SHEET_JSON:
		json_init(&json, &sheet->out, 2);
		verdict_json(&json, context, verdict);
		buf_add_char(&sheet->out, '\n');
		break;
	case SHEET_NDJSON:
		verdict_ndjson(&sheet->out, context, verdict);
		break;
	case SHEET_JUNIT:
		verdict_junit(&sheet->junit, context, verdict);
		break;
	case SHEET_TAP:
		verdict_tap(&sheet->out, context, verdict, &sheet->number);
		break;
	case SHEET_SARIF:
		verdict_sarif(&sheet->sarif, context, verdict);
		break;
	case SHEET_DOT:
		verdict_dot(&sheet->out, context, verdict, &sheet->number);
		break;
	case SHEET_GRAPHML:
		verdict_graphml(&sheet->out, context, verdict, &sheet->number);
		break;
	case SHEET_HTML:
		if (!judged)
			report_foreign(&sheet->json, context, verdict);
		else if (!report_data(&sheet->json, judged, context, err))
			return false;
		break;
	}
	sheet->histories++;
	return true;
}

static void finish(struct sheet *sheet)
{
	switch (sheet->format) {
	case SHEET_JUNIT:
		junit_end(&sheet->junit);
		break;
	case SHEET_TAP:
		tap_end(&sheet->out, sheet->number);
		break;
	case SHEET_SARIF:
		sarif_end(&sheet->sarif, &sheet->out);
		break;
	case SHEET_DOT:
		dot_end(&sheet->out);
		break;
	case SHEET_GRAPHML:
		graphml_end(&sheet->out);
		break;
	case SHEET_HTML:
		html_end(&sheet->json, &sheet->out);
		break;
	case SHEET_TEXT:
	case SHEET_JSON:
	case SHEET_NDJSON:
		break;
	}
}

/* Whole or not at all: beside its place first, then renamed.  What is no plain file, such as
 * /dev/stderr, is written as it is. */
static bool store(const char *path, struct span bytes, struct err *err)
{
	struct buf beside = BUF_INIT;
	FILE *file;
	bool ok;

	buf_printf(&beside, "%s.part", path);
	if (strncmp(path, "/dev/", 5) == 0)
		buf_clear(&beside);
	file = fopen(beside.len ? beside.data : path, "wb");
	if (!file) {
		(void)!err_set_errno(err, errno, "cannot make %s", path);
		buf_release(&beside);
		return false;
	}
	ok = fwrite(bytes.ptr, 1, bytes.len, file) == bytes.len;
	ok = fclose(file) == 0 && ok;
	ok = ok && (!beside.len || rename(beside.data, path) == 0);
	if (!ok) {
		(void)!err_set_errno(err, errno, "cannot write %s", path);
		if (beside.len)
			unlink(beside.data);
	}
	buf_release(&beside);
	return ok;
}

bool sheet_end(struct sheet *sheet, struct err *err)
{
	bool ok = true;
	size_t size;

	finish(sheet);
	size = sheet->out.len;
	if (!sheet->path || strcmp(sheet->path, "-") == 0) {
		(void)!output_write(&sheet->out); /* output_finish reports a failure */
	} else {
		ok = store(sheet->path, buf_span(&sheet->out), err);
		if (ok && sheet->tell) {
			buf_clear(&sheet->out);
			buf_printf(&sheet->out, "wrote %s, ", sheet->path);
			text_add_size(&sheet->out, size);
			buf_add_str(&sheet->out, ": open it in a browser\n");
			(void)!output_write(&sheet->out);
		}
	}
	buf_release(&sheet->out);
	return ok;
}

void sheet_release(struct sheet *sheet)
{
	if (sheet->format == SHEET_SARIF)
		buf_release(&sheet->sarif.notes);
	if (sheet->format == SHEET_JUNIT)
		junit_release(&sheet->junit);
	buf_release(&sheet->out);
}
