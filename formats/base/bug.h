/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assertions.  CHECK stays on in every build: a wrong answer costs more than the branch.
 * CHECK_SLOW is for checks that change the running time of the function they stand in; they
 * are compiled in with -Dexpensive_checks=true only.
 *
 * A failed assertion is a bug of ours: it says what to report and exits with status 5
 * (semantics.md, section 10), through abort() when ISOTRACE_ABORT is set, for a core dump.
 */
#ifndef BASE_BUG_H
#define BASE_BUG_H

#include "base/attr.h"

#define CHECK(cond)                                                                              \
	do {                                                                                     \
		if (UNLIKELY(!(cond)))                                                           \
			bug_report(__FILE__, __LINE__, __func__, "%s", #cond);                   \
	} while (0)

#define BUG(...) bug_report(__FILE__, __LINE__, __func__, __VA_ARGS__)

#ifdef ISOTRACE_EXPENSIVE_CHECKS
#define CHECK_SLOW(cond) CHECK(cond)
#else
#define CHECK_SLOW(cond)                                                                         \
	do {                                                                                     \
	} while (0 && (cond))
#endif

NORETURN void bug_report(const char *file, int line, const char *func, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

#endif
