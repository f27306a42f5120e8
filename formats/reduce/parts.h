/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a scenario that can go: sessions, tables, transactions, statements, rows of the setup.  As units of
 * reduce/ddmin.h, with what each needs: a statement its session, its transaction and the tables that it names; COMMIT
 * and BEGIN may go together, which leaves statements that commit by themselves.
 */
#ifndef REDUCE_PARTS_H
#define REDUCE_PARTS_H

#include "reduce/ddmin.h"
#include "reduce/script.h"

enum part_level {
	PART_SESSION,
	PART_TABLE,
	PART_TRANSACTION,
	PART_BRACKET, /* BEGIN and the end of the transaction, together */
	PART_STATEMENT,
	PART_FINAL,
	PART_SETUP, /* statements of the setup that are neither tables nor rows */
	PART_ROW,
};

struct parts {
	const struct scenario *scenario;
	struct sql_options sql;
	struct ddmin_unit *units;
	size_t unit_count, unit_capacity;
	struct ddmin_need *needs;
	size_t need_count, need_capacity;
	/* By statement of the script: its unit; of an INSERT of rows in the setup its first row's. */
	uint32_t *unit_of;
	uint32_t *rows_of; /* how many rows; 0: it is one unit */
	size_t stmt_count, setup_count;
};

/* doubts: of each statement of the schedule how little it is believed to matter (ddmin_unit); NULL: nothing is known.
 * The scenario must outlive the parts. */
void parts_open(struct parts *out, const struct scenario *scenario, const struct sql_options *sql, const uint8_t *doubts);
void parts_release(struct parts *parts);
/* The scenario of those units. */
bool parts_build(const struct parts *parts, const bool *kept, struct scenario *out, struct err *err) MUST_CHECK;

#endif
