/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a version satisfy a predicate?  Unborn and dead versions satisfy nothing (semantics, section
 * 2).  What the statement itself saw is taken from its recorded matches; any other version is
 * judged by evaluating the WHERE clause on its image.  Never guessed: MATCH_UNKNOWN.
 */
#ifndef ADYA_MATCH_H
#define ADYA_MATCH_H

#include "history/history.h"

enum match {
	MATCH_NO,
	MATCH_YES,
	MATCH_UNKNOWN,
};

struct matcher;

struct matcher *matcher_new(const struct history *history);
void matcher_free(struct matcher *matcher);
/* By evaluation alone. */
enum match matcher_test(
	struct matcher *matcher, const struct history_predicate *predicate, uint32_t version);

#endif
