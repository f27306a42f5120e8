/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which sessions to record, by user and by database at login: Perl-compatible patterns, matched
 * anywhere in the name.  A session is recorded whole or not at all.  Shared by workers, read only.
 */
#ifndef CAPTURE_FILTER_H
#define CAPTURE_FILTER_H

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

struct filter_pattern {
	void *code; /* pcre2_code; NULL: none given */
};

struct filter {
	struct filter_pattern user, not_user, database, not_database;
};

/* text NULL: no pattern.  `option` is named in the message. */
bool filter_compile(struct filter_pattern *pattern, const char *option, const char *text,
	struct err *err) MUST_CHECK;
bool filter_wants(const struct filter *filter, struct span user, struct span database);
void filter_release(struct filter *filter);

#endif
