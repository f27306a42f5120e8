/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preparing tables for instrumentation, and undoing it: version columns and triggers
 * (docs/instrumentation.md).
 *
 * The triggers, on each table:
 *   BEFORE INSERT   gives the row a version (and its hidden key)
 *   BEFORE UPDATE   gives it a new one if any column really changes, byte by byte: an UPDATE that
 *                   changes nothing stays one that changes nothing
 *   AFTER INSERT, UPDATE, DELETE   append what was done to the session's log (instrument/trigger_log.h), if
 *                   the session has one: sessions that are not recorded have none
 * They come after the application's own triggers for the same event and see what those made of the
 * row.  For select mode there are the first two only, which name the versions as MARK_VARIABLE
 * says.
 */
#ifndef INSTRUMENT_PREPARE_H
#define INSTRUMENT_PREPARE_H

#include "instrument/tables.h"

/* What became of a table. */
enum prepare_outcome {
	PREPARE_DONE,
	PREPARE_ALREADY, /* was as it should be */
	PREPARE_SKIPPED, /* a view, a sequence: nothing to instrument */
	PREPARE_REFUSED, /* cannot be instrumented; why says what to do */
};

struct prepare_options {
	const char *database;
	const char *table;         /* NULL: all of the database */
	enum instrument_mode mode; /* trigger or select */
	bool add_key;              /* a hidden primary key where there is none */
	bool dry_run;              /* only tell what would be done */
	/* Called for each table. `sql` in a dry run: the statements. */
	void (*tell)(void *ctx, const char *database, const char *table,
		enum prepare_outcome outcome, const char *why);
	void (*tell_sql)(void *ctx, const char *sql);
	void *ctx;
};

struct prepare_summary {
	size_t done, already, skipped, refused;
};

/* False when the server fails; refusals are in the summary.  Changes the connection's sql_mode. */
bool prepare_database(MYSQL *mysql, const struct prepare_options *options,
	struct prepare_summary *summary, struct err *err) MUST_CHECK;
/* Takes everything away again that prepare_database added. */
bool unprepare_database(MYSQL *mysql, const struct prepare_options *options,
	struct prepare_summary *summary, struct err *err) MUST_CHECK;

#endif
