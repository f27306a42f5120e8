/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regular expressions (PCRE2) with groups, for texts that are what they should be: UTF-8 where
 * REGEX_UTF is given.  The work on one text is bounded, as a pattern may take exponential time.
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/span.h"

enum regex_flag {
	REGEX_CASELESS = 1 << 0,
	REGEX_UTF = 1 << 1, /* characters, and \w \d \s by Unicode's properties */
};

enum { REGEX_GROUPS = 10 };

struct regex;

struct regex_match {
	size_t from[REGEX_GROUPS], to[REGEX_GROUPS]; /* bytes; SIZE_MAX: a group not taken */
	unsigned count;                              /* groups of the pattern, the whole included */
};

enum regex_result { REGEX_NONE, REGEX_FOUND, REGEX_FAILED /* too costly, or no UTF-8 */ };

/* In the arena, or, where that is NULL, for regex_free().  NULL: not a pattern. */
struct regex *regex_new(struct arena *arena, struct span pattern, unsigned flags);
void regex_free(struct regex *regex);
/* The first match from byte `start` on. */
enum regex_result regex_find(
	const struct regex *regex, struct span text, size_t start, struct regex_match *match);

#endif
