/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which rows of a table can satisfy a predicate: by the values that columns have in any of their versions.
 *
 * A predicate that says `w = 3 AND d = 5 AND o BETWEEN 10 AND 20` is satisfied by no row of which no version has
 * such values.  An index is made for the columns that are compared with constants, when they first are: all
 * columns that are equal to one, and one column of a range.  Only comparisons are used whose outcome is
 * certain whatever the column's type and collation: integers with integers, and texts of printable ASCII
 * characters, which are equal in no collation unless they are so without case and trailing blanks.  A row
 * with a version of any other value is in every answer.
 */
#ifndef ADYA_PREDICATE_INDEX_H
#define ADYA_PREDICATE_INDEX_H

#include "adya/predicate_match_int.h"
#include "model/history/history.h"

enum { INDEX_TERMS_MAX = 8 };

/* What a predicate says of one column, if it is to be satisfied. */
struct index_term {
	uint32_t column; /* in images */
	bool is_text;    /* equal to the text whose hash is `hash`; else within [low, high] */
	bool is_set, is_number; /* of a text: `hash` is known; it is a number, which is `low` */
	uint64_t hash;
	int64_t low, high;
};

struct index_terms {
	struct index_term terms[INDEX_TERMS_MAX];
	uint32_t count;
	bool never; /* two terms contradict each other: no row satisfies it */
};

/* Adds what an expression that must be true says. */
void index_terms_add(struct index_terms *terms, const struct sql_expr *expr, const struct int_names *names);

struct predicate_index;

struct predicate_index *predicate_index_new(
	const struct history *history, const uint32_t *objects_of, const uint32_t *objects_head);
void predicate_index_free(struct predicate_index *index);
/* The rows of the table that may satisfy the terms, each once, until the next call.  False: the terms restrict
 * nothing. */
bool predicate_index_find(struct predicate_index *index, uint32_t table, const struct index_terms *terms,
	const uint32_t **objects, uint32_t *count);

#endif
