/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What SET of a session's variables does to results: a line for each variable (session_variables.c). */
#ifndef MVCC_PLAN_SESSION_VARIABLES_H
#define MVCC_PLAN_SESSION_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "sql/sql.h"

struct mvcc;
struct plan;
struct session_settings;

/* What depends on variables that a session has set to what is not modelled: bits of session_settings.altered.  Only
 * statements that have such a thing are unsupported. */
enum variable_dependent {
	DEPENDS_GROUP_CONCAT = 1 << 0, /* GROUP_CONCAT, JSON_ARRAYAGG, JSON_OBJECTAGG: how long they may be */
	DEPENDS_DIVISION = 1 << 1,     /* decimals of /, AVG, variances */
	DEPENDS_WEEKS = 1 << 2,        /* WEEK() without a mode */
	DEPENDS_NAMES = 1 << 3,        /* names of days and months */
	DEPENDS_SORTING = 1 << 4,      /* how much of a long text ORDER BY, GROUP BY and DISTINCT look at */
	DEPENDS_REGEXP = 1 << 5,       /* REGEXP and its functions */
	DEPENDS_KEYS = 1 << 6,         /* AES_ENCRYPT(), PASSWORD() */
	DEPENDS_WINDOWS = 1 << 7,      /* functions with OVER */
	DEPENDS_RECURSION = 1 << 8,    /* WITH RECURSIVE */
	DEPENDS_CHECKS = 1 << 9,       /* writes to tables with CHECKs */
	DEPENDS_TIMESTAMPS = 1 << 10,  /* writes to tables with a TIMESTAMP; definitions */
	DEPENDS_DEFINITIONS = 1 << 11, /* CREATE TABLE and the like: what they make */
};

/* A variable that changes neither results nor effects of what is modelled, or in a way that is */
bool variable_is_followed(
	struct mvcc *m, const struct sql_set_item *item, const struct session_settings *settings);
/* SET of such variables alone, and of user variables */
bool variables_are_followed(
	struct mvcc *m, const struct sql_stmt *stmt, const struct session_settings *settings);
/* ... of variables that change nothing at all. */
bool variables_change_nothing(
	struct mvcc *m, const struct sql_set *set, const struct session_settings *settings);
/* SET of a variable that decides about little: true, and *out, with what depends on it altered or as it was. */
bool variable_alters(const struct mvcc *m, const struct session_settings *s,
	const struct sql_set_item *item, struct session_settings *out);
/* Why a statement depends on what its session has altered; REASON_NONE: it does not. */
uint32_t variables_concern(const struct mvcc *m, const struct plan *plan);

#endif
