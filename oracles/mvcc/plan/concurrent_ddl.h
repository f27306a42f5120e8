/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements that overlap changes of definitions. */
#ifndef MVCC_PLAN_CONCURRENT_DDL_H
#define MVCC_PLAN_CONCURRENT_DDL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct mvcc;
struct schedule_stmt;
struct session_settings;

/* Statements that overlap changes of definitions.  Before and after define_after(); `settings` and `opened` by
 * session. */
void concurrent_ddl_before(struct mvcc *m, uint32_t change, struct session_settings *settings, bool *opened);
void concurrent_ddl_after(struct mvcc *m, uint32_t change, const struct session_settings *settings);
/* When all plans are made. */
void concurrent_ddl_begin(struct mvcc *m);
/* Gives a statement that is under way the plan that goes with what was executed. */
void concurrent_ddl_replan(struct mvcc *m, uint32_t stmt);
/* Does its plan depend on the change? */
bool concurrent_ddl_matters(const struct mvcc *m, uint32_t stmt, uint32_t change);
/* Did it succeed with a name that is none after the change? */
bool concurrent_ddl_must_precede(const struct mvcc *m, uint32_t stmt, uint32_t change);
/* What a statement says, to make a plan of. */
struct span plan_text(const struct schedule_stmt *stmt);

#endif
