/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results that stay in the trace, and are read again when a caller asks for them.  Inside the execution. */
#ifndef MODEL_EXECUTION_RESULTS_H
#define MODEL_EXECUTION_RESULTS_H

#include "base/buf.h"
#include "model/execution/execution.h"

/* NULL: the trace cannot be read again (a pipe). */
struct execution_results *results_open(const char *path);
void results_close(struct execution_results *results);
/* A part of a result; its number.  `next`: of the part of the same statement that came before, or EXECUTION_NONE. */
uint32_t results_add(struct execution_results *results, struct trace_place place, uint32_t next);

/* The first `own` values of a row, in `bytes`; the row itself where it has no more. */
struct span row_cut(struct span row, uint32_t own, struct buf *bytes);
/* Adds the elements of an encoded array of rows. */
void rows_add(struct execution_rows *out, struct span rows);
/* The sets of a statement from its parts, which it sorts. */
void results_join(const struct record_stmt *stmt, const struct record_result **parts, size_t count,
	struct execution_rows *sets);
uint32_t results_count(const struct record_result **parts, size_t count);

#endif
