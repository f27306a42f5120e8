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

struct verdict_context {
	const char *input;  /* path */
	const char *format; /* of a foreign history, or NULL */
	const char *level;  /* the level asked for; NULL: all */
	uint64_t transactions, operations;
	/* Filled by verdict_conclude. */
	const char *conclusion; /* "ok", "violated", "incomplete" */
	enum exit_status status;
};

/* Decides conclusion and exit status: violated when a finding is a violation or the level asked for
 * fails; incomplete when the level asked for, or without one any level, is undecided or something
 * was not decided. */
void verdict_conclude(struct verdict_context *context, const struct verdict *verdict);
void verdict_text(
	struct buf *out, const struct verdict_context *context, const struct verdict *verdict);
void verdict_json(
	struct json *json, const struct verdict_context *context, const struct verdict *verdict);

#endif
