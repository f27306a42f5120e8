/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predicates over several tables: does a version take part in the result of a query, with the rows
 * that its statement saw of the other tables (semantics.md, section 2: the clause together with the
 * version sets of every table in it)?
 *
 * Which versions it saw of them is known of rows that it returned.  Of any other row it saw one of
 * those that there can have been when it ended.  As the queries are monotone (predicate_shape.h), a result
 * from rows that were certainly there is certain, and so is that there is none even with all that
 * may have been there.  Between the two it is MATCH_UNKNOWN.
 *
 * This takes for granted that the statement saw one version of each row.  Reads at READ UNCOMMITTED
 * and locking ones at READ COMMITTED, which unlocks rows between two looks at them, may not have:
 * who asks leaves these out.  Nor has a locking read at REPEATABLE READ of a table that stands in it
 * twice: FOR UPDATE locks no rows of subqueries (manuals, "Locking Reads"), and with OF not even all of
 * its own tables; the others are read by the snapshot.
 */
#ifndef ADYA_MULTI_TABLE_PREDICATE_H
#define ADYA_MULTI_TABLE_PREDICATE_H

#include "adya/predicate_match.h"
#include "model/history/history.h"

/* How texts begin (docs/trace-format.md). */
#define JOINT_LISTED   "SELECT "
#define JOINT_UNLISTED "PART OF "

struct multi_table;

struct multi_table_options {
	bool unseen; /* any table may have versions that are not in the history */
	bool others; /* sessions that were not recorded may have written */
};

struct multi_table *multi_table_new(const struct history *history, struct matcher *matcher,
	const struct multi_table_options *options);
void multi_table_free(struct multi_table *multi_table);
/* Is this predicate such a one? */
bool multi_table_is(const struct history *history, const struct history_predicate *predicate);
/* The predicate that the calls below speak of.  False: its query is not understood. */
bool multi_table_choose(struct multi_table *multi_table, uint32_t predicate);
/* Of a version of the predicate's table. */
enum match multi_table_test(struct multi_table *multi_table, uint32_t version);
/* Rows that took part are all listed as its matches. */
bool multi_table_is_listed(const struct multi_table *multi_table);
/* Some table is mentioned more than once. */
bool multi_table_meets_itself(const struct multi_table *multi_table);
/* Not listed, and what the rows hold is in the result. */
bool multi_table_reads_values(const struct multi_table *multi_table);
/* One more row that takes part need not change the result: DISTINCT, IN, EXISTS.  Then a locking
 * read need not have looked at all of them. */
bool multi_table_is_vague(const struct multi_table *multi_table);
/* The version of the object that some listed predicate of its statement saw; NONE. */
uint32_t multi_table_seen(const struct multi_table *multi_table, uint32_t object);
/* As matcher_key_range(). */
bool multi_table_key_range(const struct multi_table *multi_table, wide *low, wide *high);
/* What it says of columns of its table.  False: the table is mentioned more than once. */
bool multi_table_terms(struct multi_table *multi_table, struct index_terms *terms);
/* Combinations of rows looked at since the last call. */
uint64_t multi_table_cost(struct multi_table *multi_table);

#endif
