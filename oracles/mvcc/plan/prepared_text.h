/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User variables and prepared statements of SQL. */
#ifndef MVCC_PLAN_PREPARED_TEXT_H
#define MVCC_PLAN_PREPARED_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct mvcc;
struct plan;
struct session_settings;
struct sql_stmt;

/* The values of a session's user variables, for compiling; NULL: of none */
void variables_in_sight(struct mvcc *m, const struct session_settings *s);
/* A user variable's value as a text; false: not known, or NULL. */
bool variable_text(const struct session_settings *s, struct span name, struct span *text, bool *is_string);
/* ... and all of them in a text, where the statement may name some; in m->scratch. */
struct span variables_named(struct mvcc *m, const struct session_settings *s, struct span text);

/* Does it assign user variables in its select list alone, each once, and read none of them? */
bool assigns_items(const struct sql_stmt *stmt);
/* What a statement that was answered leaves of prepared statements and user variables */
void prepared_after(
	struct mvcc *m, struct session_settings *s, const struct plan *plan, bool failed);
/* The text that EXECUTE stands for; SPAN_NONE: is none, or not known. */
struct span prepared_text(
	struct mvcc *m, const struct session_settings *s, const struct plan *plan);

#endif
