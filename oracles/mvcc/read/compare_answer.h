/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recorded rows against expected ones (semantics.md, section 5).
 */
#ifndef MVCC_READ_COMPARE_ANSWER_H
#define MVCC_READ_COMPARE_ANSWER_H

#include "eval/eval.h"
#include "mvcc/search/schedule.h"

struct mvcc;

/* As SELECT prints them; one that only the server knows is any but NULL. */
bool compare_value(const struct eval_type *type, const struct eval_value *a, const struct eval_value *b);
/* *undecided: cannot be compared (rows left out, values redacted). */
bool compare_result(struct mvcc *m, const struct eval_result *expected,
	const struct execution_rows *recorded, bool *undecided) MUST_CHECK;
/* Is every recorded row one of those expected, each at most as often? */
bool compare_within(struct mvcc *m, const struct eval_result *expected,
	const struct execution_rows *recorded, bool *undecided);
bool compare_has_duplicates(
	struct mvcc *m, const struct eval_result *expected, const struct execution_rows *recorded);
enum { COMPARE_ODD_ROWS_MAX = 1000 };
/* Marks the recorded rows that were not expected and the expected ones that are missing; `unexpected` and
 * `missing` have a place a row.  False: not known, or there are too many. */
bool compare_unexpected_rows(struct mvcc *m, const struct eval_result *expected,
	const struct execution_rows *recorded, bool *unexpected, bool *missing) MUST_CHECK;
/* The table's final rows against what is committed in the store. */
/* Has the row values that were not computed (EVAL_OPAQUE_NOT_COMPUTED)? */
bool compare_is_uncomputed(const struct eval_value *row, uint32_t width);
/* Why it could not be decided whether an answer is what was recorded. */
uint32_t compare_reason(const struct mvcc *m);
bool compare_final(struct mvcc *m, uint32_t table, const struct execution_rows *final,
	struct eval_result *expected, bool *undecided) MUST_CHECK;
/* Recorded rows as values of those types; false: not all of them were recorded so. */
bool typed_rows(struct arena *arena, const struct eval_type *types, uint32_t width,
	const struct execution_rows *recorded, const struct eval_value *const **rows,
	size_t *count);
/* The same, for longer than the recorded rows are in memory. */
bool lasting_rows(struct arena *arena, const struct eval_type *types, uint32_t width,
	const struct execution_rows *recorded, const struct eval_value *const **rows,
	size_t *count) MUST_CHECK;
/* Rows of a result that has the table's columns, decoded, as long as the arena.  False: not all there. */
bool result_rows(struct mvcc *m, struct arena *arena, const struct eval_table *def,
	const struct execution_rows *recorded, const struct eval_value *const **rows,
	size_t *count) MUST_CHECK;
/* Calls `each` for every recorded row of a table, decoded into the arena.  False: not all are there. */
typedef void content_row_fn(void *ctx, const struct eval_value *row);
bool content_rows(struct mvcc *m, struct arena *arena, const struct eval_table *def,
	const struct execution_rows *content, content_row_fn *each, void *ctx) MUST_CHECK;

#endif
