/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "out/html.h"

#include "base/version.h"
#include "page.inc"

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

void html_begin(struct json *json, struct buf *out)
{
	json_init(json, out, 0);
	json_begin_object(json);
	json_key(json, "schema");
	json_str(json, "isotrace.report/1");
	json_key(json, "version");
	json_str(json, ISOTRACE_VERSION);
	json_key(json, "traces");
	json_begin_array(json);
}

void html_differences(struct json *json)
{
	json_end_array(json);
	json_key(json, "differences");
	json_begin_array(json);
}

void html_end(struct json *json, struct buf *out)
{
	struct buf page = BUF_INIT;

	json_end_array(json);
	json_end_object(json);
	buf_add_str(&page,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta name=\"generator\" content=\"isotrace " ISOTRACE_VERSION "\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"script-src '" PAGE_JS_HASH "'; style-src '" PAGE_CSS_HASH
		"'; base-uri 'none'; form-action 'none'\">\n"
		"<title>isotrace report</title>\n<style>");
	add_lines(&page, page_css);
	buf_add_str(&page,
		"</style>\n</head>\n<body>\n<main id=\"main\"><p>This page needs JavaScript, which "
		"it brings along; isotrace check prints the same findings as text.</p></main>\n"
		"<script type=\"application/json\" id=\"data\">");
	add_data(&page, buf_span(out));
	buf_add_str(&page, "</script>\n<script>");
	add_lines(&page, page_js);
	buf_add_str(&page, "</script>\n</body>\n</html>\n");
	buf_release(out);
	*out = page;
}
