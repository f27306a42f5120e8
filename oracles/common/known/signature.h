/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known bugs in findings: which entry of the corpus a finding is an instance of, whatever its
 * tables, values and sessions are called.
 *
 * Header lines of an entry (corpus/bugs, built into the program):
 *
 *	# id: MDEV-32898
 *	# known: MDEV-32898, MYSQL-113228         the reports of it; without this line the id
 *	# signature: CLASS [TRAIT...]             several lines are alternatives
 *	# status: open in MariaDB 10.11, error 1020 in 11.8; MySQL: "a serious bug"
 *	# expect: RELEASE [LEVEL,...] = VERDICT   as for the corpus (docs/corpus.md)
 *	# affects: RELEASE [LEVEL,...]            where else it is, though this schedule does not
 *	                                          show it
 *
 * A finding matches when it is of that class, has all those traits (FINDING_TRAITS of verdict.h),
 * and the entry expects the anomaly to show on its release at its level: the same finding on
 * a release that is said not to have the bug is something else, and stays without a number.
 */
#ifndef COMMON_KNOWN_SIGNATURE_H
#define COMMON_KNOWN_SIGNATURE_H

#include "common/verdict.h"
#include "model/execution/execution.h"

/* Gives the findings of the oracle mvcc their `known`.  Call before verdict_join. */
void known_attach(struct verdict *verdict, const struct execution *e);

/* The entries as they are built in: NULL-terminated.  For the tests. */
extern const char *const known_entries[];

#endif
