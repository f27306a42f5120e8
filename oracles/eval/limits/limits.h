/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the evaluator refuses to compute, in one list: the .def files of this folder, by subject.
 *
 *	LIMIT(NAME, MariaDB releases, MySQL releases, "reason", "example")
 *
 * The guards of this folder refuse by name (guards.h: by text and types; value_guards.h: by values).  A
 * rule asks its guard and gives up where that says so.  It names a limit itself only where one of its own
 * steps has no answer (run_gives_up(), compile_gives_up()).
 *
 * The reason is what the user reads.  It has no values in it, so that refusals can be counted by it.
 *
 * The releases are those in which the limit can be met.  The example is a statement that meets it
 * (statements before it, separated by "; ", prepare it; see tests/sql/eval_limits.c).  The test
 * `eval limits` checks that the example is refused for that reason on a release of the list, and on
 * no other release.  It also keeps docs/internals/sql-exclusions.md equal to the list.
 *
 * One limit has no example: EXPRESSION_NOT_MODELLED is for what the parser never gives the evaluator
 * and for what the system's libraries lack.
 */
#ifndef EVAL_LIMITS_H
#define EVAL_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sql/sql.h"

enum eval_limit {
	LIMIT_NONE,
#define LIMIT(name, mariadb, mysql, reason, example) LIMIT_##name,
#include "eval/limits/limits.def"
#undef LIMIT
	LIMIT_COUNT,
};

/* The first and the last release, both included; first > last: none. */
struct limit_releases {
	uint32_t first, last;
};

struct limit_info {
	const char *name, *subject;
	struct limit_releases mariadb, mysql;
	const char *reason, *example;
};

const struct limit_info *limit_info(enum eval_limit limit);
/* Can a server of this flavour and release meet the limit? */
bool limit_covers(enum eval_limit limit, enum sql_flavour flavour, uint32_t version);

#endif
