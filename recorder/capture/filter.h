/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to record: sessions, by user and by database at login, and statements, by the tables they
 * name.  Perl-compatible patterns, matched anywhere in the name.
 *
 * A session is recorded whole or not at all.  A statement that names tables, and none that is
 * wanted, keeps its place, times and transaction, but not its text, parameters and rows.
 *
 * Shared by workers, read only.
 */
#ifndef CAPTURE_FILTER_H
#define CAPTURE_FILTER_H

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"
#include "sql/sql.h"

struct filter_pattern {
	void *code; /* pcre2_code; NULL: none given */
};

struct filter {
	struct filter_pattern user, not_user, database, not_database, table, not_table;
};

/* text NULL: no pattern.  `option` is named in the message. */
bool filter_compile(struct filter_pattern *pattern, const char *option, const char *text,
	struct err *err) MUST_CHECK;
void filter_pattern_release(struct filter_pattern *pattern);
bool filter_matches(const struct filter_pattern *pattern, struct span text);

bool filter_wants(const struct filter *filter, struct span user, struct span database);
/* Matched as "database.table". */
bool filter_wants_table(const struct filter *filter, struct span database, struct span table);
/* database: the session's.  A text that cannot be read or names no table is wanted. */
bool filter_wants_statement(const struct filter *filter, struct span text, struct span database,
	const struct sql_options *options);
void filter_release(struct filter *filter);

#endif
