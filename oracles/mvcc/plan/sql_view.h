/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The views of the trace. */
#ifndef MVCC_PLAN_SQL_VIEW_H
#define MVCC_PLAN_SQL_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct mvcc;
struct plan;
struct session_settings;
struct sql_expr;
struct sql_stmt;

/* The views of the trace */
void views_open(struct mvcc *m);
/* Of a view that was not expanded. */
bool view_has_text(const struct mvcc *m, struct span database, struct span name);
/* Puts the queries of views in the place of their names, where the statement reads them, and tables in the place of
 * views that it writes.  True: they may have literals of another collation than the session's. */
bool views_expand(struct mvcc *m, struct plan *plan, struct sql_stmt *stmt, const struct session_settings *settings);
/* A AND b; either may be NULL */
struct sql_expr *both_conditions(struct mvcc *m, struct sql_expr *a, struct sql_expr *b);

#endif
