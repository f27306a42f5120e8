/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A verdict for people and for programs.  The JSON is `isotrace.check/1` (docs/oracles/values.md,
 * design section 6): keys are only ever added.
 */
#ifndef VERDICT_OUT_H
#define VERDICT_OUT_H

#include "base/err.h"
#include "base/json.h"
#include "verdict.h"

/* Which findings make a verdict "violated". */
enum fail_on { FAIL_ON_VIOLATION, FAIL_ON_SUSPICION, FAIL_ON_DOCUMENTED, FAIL_ON_NONE };

struct verdict_context {
	const char *input;  /* path */
	const char *format; /* of a foreign history, or "trace" */
	const char *level;  /* the level asked for; NULL: all */
	enum fail_on fail_on;
	uint64_t transactions, operations;
	/* Of traces; zero elsewhere. */
	uint64_t sessions, committed, objects;
	struct span server; /* version; SPAN_NONE: not known */
	bool damaged;       /* something of the trace is missing: damage, a torn tail, a gap */
	bool color;
	/* Filled by verdict_conclude. */
	const char *conclusion; /* "ok", "violated", "incomplete" */
	enum exit_status status;
};

/* Decides conclusion and exit status.  Violated: a finding counts (fail_on), or, where no contract
 * says what was promised, the level asked for fails, or any does.  Incomplete: the level asked for
 * is undecided, or without one anything is. */
void verdict_conclude(struct verdict_context *context, const struct verdict *verdict);
void verdict_text(
	struct buf *out, const struct verdict_context *context, const struct verdict *verdict);
void verdict_json(
	struct json *json, const struct verdict_context *context, const struct verdict *verdict);
/* One testsuite element: a failure for each violation; else one testcase, an error when the
 * evidence is incomplete. */
void verdict_junit(
	struct buf *out, const struct verdict_context *context, const struct verdict *verdict);

#endif
