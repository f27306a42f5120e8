/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison of two executions, for people and for programs (`isotrace.diff/1`). */
#ifndef OUT_DIFF_OUT_H
#define OUT_DIFF_OUT_H

#include "base/json.h"
#include "differential/differential.h"

/* What a statement was answered, in words: "blocked, then ok 1". */
void answer_text(struct buf *out, const struct execution_stmt *stmt);
/* Rows in words, at most rows_max of them: "(1,2) (3,4)". */
void rows_text(struct buf *out, const struct execution_rows *rows, size_t rows_max);

/* An execution as a side: its contract, and whether it kept that, where mvcc can tell. */
struct diff_side diff_side_of(const struct execution *e);

/* Side by side, `columns` wide; without `all`, only what differs. */
void diff_text(struct buf *out, const struct differential *d, const char *const paths[2],
	size_t columns, bool all);
/* `schedule`: every statement, too. */
void diff_json(
	struct json *json, const struct differential *d, const char *const paths[2], bool schedule);

#endif
