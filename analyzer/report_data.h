/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the page of isotrace report shows of one trace, as JSON: the verdict as isotrace check has
 * it, everything that the transactions of its findings did, and the trace as a whole in a few
 * hundred buckets of time.  Bounded, whatever the size of the trace.
 */
#ifndef REPORT_DATA_H
#define REPORT_DATA_H

#include "base/attr.h"
#include "base/json.h"
#include "judge.h"

/* Writes one object.  Reads the trace once more; false and err when that fails. */
bool report_data(struct json *json, struct judged *judged, const char *path, bool salvage,
	struct err *err) MUST_CHECK;

#endif
