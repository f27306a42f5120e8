/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One output of isotrace check: a format, and where it goes.  Histories are added one by one, and
 * the file appears whole at the end, or not at all.
 */
#ifndef OUT_OUTPUT_H
#define OUT_OUTPUT_H

#include "base/shard.h"
#include "out/formats.h"
#include "report/judge_trace.h"

enum check_output_format {
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
extern const char *const check_output_formats[];

/* Which part of a list of histories is judged here, for isotrace merge. */
struct check_share {
	struct shard shard;
	uint64_t histories; /* of the whole list */
	uint64_t list;      /* a digest of their names */
};

struct check_output {
	enum check_output_format format;
	const char *path; /* NULL or "-": standard output */
	bool tell;        /* say on standard output where it was written */
	struct page page; /* text */
	const struct check_share *share; /* NULL: the whole list */
	uint64_t at;                     /* ... in which this history is, from 0 */
	enum exit_status status;         /* ... and what they come to, before the end */
	struct buf out;
	uint64_t histories, number;
	struct junit junit;
	struct sarif sarif;
	struct json json; /* html */
};

/* "sarif:out.sarif", or a path alone whose ending says the format. */
bool check_output_parse(struct check_output *output, const char *spec, struct err *err) MUST_CHECK;
void check_output_begin(struct check_output *output);
/* `judged` is NULL for the history of another tool. */
bool check_output_add(struct check_output *output, const struct verdict_context *context,
	const struct verdict *verdict, struct judged *judged, struct err *err) MUST_CHECK;
/* A history that could not be judged: an output that is merged says so. */
void check_output_fail(struct check_output *output, const char *input, enum exit_status status);
/* Writes it and releases. */
bool check_output_end(struct check_output *output, struct err *err) MUST_CHECK;
void check_output_release(struct check_output *output);

#endif
