/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page of isotrace report shows of one history, as JSON: the verdict as isotrace check has
 * it, everything that the transactions of its findings did, and the trace as a whole in a few
 * hundred buckets of time.  Bounded, whatever the size of the trace.
 */
#ifndef REPORT_PAGE_DATA_H
#define REPORT_PAGE_DATA_H

#include "base/err.h"
#include "base/json.h"
#include "report/judge_trace.h"

/* Reads the trace once more, from context->input. */
bool report_data(struct json *json, struct judged *judged, const struct verdict_context *context,
	struct err *err) MUST_CHECK;
/* A history of another tool: there is nothing but the verdict. */
void report_foreign(
	struct json *json, const struct verdict_context *context, const struct verdict *verdict);

#endif
