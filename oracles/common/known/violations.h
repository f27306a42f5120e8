/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the server of a recording kept its contract, as the oracle mvcc sees it: for what
 * compares recordings (diff, corpus) and needs no more than that.
 */
#ifndef COMMON_KNOWN_VIOLATIONS_H
#define COMMON_KNOWN_VIOLATIONS_H

#include "model/execution/execution.h"
#include "scenario/scenario.h"

enum { KNOWN_CLASSES_MAX = 16 };

struct known_violations {
	const char *classes[KNOWN_CLASSES_MAX]; /* distinct, sorted */
	size_t count;
	bool decided; /* everything was: no violation means that there is none */
	uint64_t open; /* what was not */
	char reason[120]; /* of most of that */
};

/* False when the contract of the server is not known. */
bool known_violations(
	const struct execution *e, struct known_violations *out, struct err *err) MUST_CHECK;
/* The name of the contract that the recording's server is under. */
const char *known_contract(const struct execution *e);

/* Whether these are the classes that stand after the expected verdict's word. */
bool known_violations_expected(
	const struct known_violations *found, const struct scenario_verdict *expected) MUST_CHECK;
void known_violations_print(const struct known_violations *found, struct buf *out);

#endif
