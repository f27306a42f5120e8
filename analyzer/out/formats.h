/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats of isotrace check, each in a file of its own: what is written of one history, and
 * around all of them.  Which of them, and where to: out/output.h.
 */
#ifndef OUT_FORMATS_H
#define OUT_FORMATS_H

#include "out/draw_finding.h"
#include "out/junit.h"
#include "report/conclusion.h"

void verdict_text(struct buf *out, const struct page *page, const struct verdict_context *context,
	const struct verdict *verdict);

/* Lines of JSON: one of type "verdict", then one of type "finding" for each. */
/* The first and the last line of a share, and one for a history that could not be judged. */
struct check_share;
void share_begin_ndjson(struct buf *out, const struct check_share *share);
void share_fail_ndjson(struct buf *out, uint64_t history, const char *input, enum exit_status status);
void share_end_ndjson(struct buf *out, const struct check_share *share, uint64_t judged, enum exit_status status);
/* `history`: its place in the list of which a share is judged, or NULL. */
void verdict_ndjson(struct buf *out, const struct verdict_context *context, const struct verdict *verdict,
	const uint64_t *history);

/* A testsuite: a testcase for each finding, failed when it counts and else skipped, and one for the
 * verdict as a whole, an error when the evidence is incomplete. */
void verdict_junit(struct junit *junit, const struct verdict_context *context,
	const struct verdict *verdict);

/* TAP 14: a test for each finding, not ok when it counts, with a YAML block; and one for the
 * verdict.  `number` counts the tests of all histories. */
void tap_begin(struct buf *out);
void verdict_tap(struct buf *out, const struct verdict_context *context,
	const struct verdict *verdict, uint64_t *number);
void tap_end(struct buf *out, uint64_t number);

/* SARIF 2.1.0: one run, a rule for each class that was found, a code flow for each cycle. */
enum { SARIF_RULES_MAX = 128 };

struct sarif {
	struct json json;
	struct sarif_rule {
		enum finding_class class;
		const char *name, *level; /* constants */
	} rules[SARIF_RULES_MAX];
	unsigned rule_count;
	struct buf notes; /* notifications, written at the end: one a line */
};

void sarif_begin(struct sarif *sarif, struct buf *out);
void verdict_sarif(struct sarif *sarif, const struct verdict_context *context,
	const struct verdict *verdict);
void sarif_end(struct sarif *sarif, struct buf *out);

/* The witnesses as graphs; `number` counts the findings of all histories. */
void dot_begin(struct buf *out);
void verdict_dot(struct buf *out, const struct verdict_context *context,
	const struct verdict *verdict, uint64_t *number);
void dot_end(struct buf *out);
void graphml_begin(struct buf *out);
void verdict_graphml(struct buf *out, const struct verdict_context *context,
	const struct verdict *verdict, uint64_t *number);
void graphml_end(struct buf *out);

#endif
