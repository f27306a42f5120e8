/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a version satisfy a predicate?  Unborn and dead versions satisfy nothing (semantics.md,
 * section 2).  What the statement itself saw is taken from its recorded matches; any other version
 * is judged by evaluating the WHERE clause on its image.  Never guessed: MATCH_UNKNOWN.
 *
 * Integers, which most predicates are made of, are evaluated by predicate_match_int.h; what it does not know
 * by the evaluator that the solver has too (eval/eval.h).
 */
#ifndef ADYA_PREDICATE_MATCH_H
#define ADYA_PREDICATE_MATCH_H

#include "adya/predicate_index.h"
#include "adya/predicate_match_int.h"
#include "eval/eval.h"
#include "model/history/history.h"

enum match {
	MATCH_NO,
	MATCH_YES,
	MATCH_UNKNOWN,
};

/* A version's row as far as most predicates look at it. */
enum { MATCH_COLUMNS = 3 };
enum match_row_state {
	MATCH_ROW_ABSENT,  /* unborn or dead */
	MATCH_ROW_UNKNOWN, /* no image of it was recorded */
	MATCH_ROW_INTS,    /* its first columns are in `values` */
	MATCH_ROW_OTHER,   /* ask matcher_test */
};
struct match_row {
	int64_t values[MATCH_COLUMNS];
	uint8_t types[MATCH_COLUMNS]; /* of struct operand */
	uint8_t state;                /* enum match_row_state */
};

struct matcher;

struct matcher *matcher_new(const struct history *history);
void matcher_free(struct matcher *matcher);
/* The predicate that the calls below speak of. */
void matcher_choose(struct matcher *matcher, const struct history_predicate *predicate);
/* By evaluation alone. */
enum match matcher_test(struct matcher *matcher, uint32_t version);
/* The same of a version whose row is known. */
enum match matcher_test_row(
	struct matcher *matcher, uint32_t version, const struct match_row *row);
/* The first place from `at` on, by steps of 1 or -1, whose version gives another answer; `end`: none before it. */
uint32_t matcher_run(struct matcher *matcher, const uint32_t *versions, const struct match_row *rows, uint32_t at,
	uint32_t end, int step, enum match match);
/* Of a version of any table. */
void matcher_row(struct matcher *matcher, uint32_t version, struct match_row *row);
/* Objects whose key, an integer, is outside [*low, *high] never satisfy it.  False: it does not
 * restrict the table's key, or that is not one integer. */
bool matcher_key_range(struct matcher *matcher, wide *low, wide *high);

/* What it says of columns; NULL: nothing that is known. */
const struct index_terms *matcher_terms(const struct matcher *matcher);
/* The columns of a table, in the order of images. */
const struct int_names *matcher_names(struct matcher *matcher, uint32_t table);

/* For predicates over several tables (multi_table_predicate.h). */
const struct eval_table *matcher_definition(struct matcher *matcher, uint32_t table);
/* The row of a version as values of its table's columns, in `arena`; NULL: not known. */
const struct eval_value *matcher_values(
	struct matcher *matcher, uint32_t version, struct arena *arena);
const struct eval_env *matcher_env(const struct matcher *matcher);
const struct sql_options *matcher_options(const struct matcher *matcher);

/* An object's key where it is one integer. */
bool object_key_int(const struct history *history, uint32_t object, wide *key);

#endif
