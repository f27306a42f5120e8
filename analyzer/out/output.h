/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One output of isotrace check: a format, and where it goes.  Histories are added one by one, and
 * the file appears whole at the end, or not at all.
 */
#ifndef OUT_OUTPUT_H
#define OUT_OUTPUT_H

#include "out/formats.h"
#include "report/judge_trace.h"

enum sheet_format {
	SHEET_TEXT,
	SHEET_JSON,
	SHEET_NDJSON,
	SHEET_JUNIT,
	SHEET_TAP,
	SHEET_SARIF,
	SHEET_DOT,
	SHEET_GRAPHML,
	SHEET_HTML,
};
extern const char *const sheet_formats[];

struct sheet {
	enum sheet_format format;
	const char *path; /* NULL or "-": standard output */
	bool tell;        /* say on standard output where it was written */
	struct page page; /* text */
	struct buf out;
	uint64_t histories, number;
	struct junit junit;
	struct sarif sarif;
	struct json json; /* html */
};

/* "sarif:out.sarif", or a path alone whose ending says the format. */
bool sheet_parse(struct sheet *sheet, const char *spec, struct err *err) MUST_CHECK;
void sheet_begin(struct sheet *sheet);
/* `judged` is NULL for the history of another tool. */
bool sheet_add(struct sheet *sheet, const struct verdict_context *context,
	const struct verdict *verdict, struct judged *judged, struct err *err) MUST_CHECK;
/* Writes it and releases. */
bool sheet_end(struct sheet *sheet, struct err *err) MUST_CHECK;
void sheet_release(struct sheet *sheet);

#endif
