/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A regular expression (PCRE2) for bytes from outside: what is no UTF-8 is stepped over, and the
 * work on one text is bounded, since a pattern may take exponential time.  One thread.
 */
#ifndef BASE_PATTERN_H
#define BASE_PATTERN_H

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

struct pattern;

/* `what` begins the message: the option that the pattern came with. */
struct pattern *pattern_new(const char *text, const char *what, struct err *err) MUST_CHECK;
void pattern_free(struct pattern *pattern);
bool pattern_matches(struct pattern *pattern, struct span s);
/* Texts that were too costly to decide; they counted as not matching. */
uint64_t pattern_failures(const struct pattern *pattern);

#endif
