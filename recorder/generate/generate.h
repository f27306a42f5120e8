/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a model, a seed and a number to a scenario: tables with rows, transactions that meet, and an order of their
 * statements (docs/workload-models.md).
 *
 * The same model, dialect, seed and number give the same bytes, on every machine and in any order of calls.
 *
 * Statements are about a row that is there (a pivot).  Conditions are evaluated by oracles/eval, so that they are true
 * for it by construction: one that is false is negated, one that is NULL is asked for IS NULL.  Two transactions that
 * are to meet get one condition for both (full), the condition of one or another one (partial), or each its own that is
 * true for one row (row): FSF, PSF and CTC of "Understanding Transaction Bugs in Database Systems" and its tool Fucci.
 */
#ifndef GENERATE_GENERATE_H
#define GENERATE_GENERATE_H

#include "generate/dialect.h"
#include "scenario/scenario.h"
#include "workload/grammar.h"
#include "workload/model.h"
#include "workload/table_plan.h"

/* What a case has been given: a bit for each word of each feature (case_tag). */
enum { CASE_TAGS_MAX = 192 };

struct case_tags {
	uint64_t bits[CASE_TAGS_MAX / 64];
};

struct generate_options {
	const struct model *model;
	/* NULL: tables and statements are the model's.  Otherwise the tables are the plan's and the statements texts of the
	 * grammar; the model says how many, at which levels and in which order. */
	const struct grammar *grammar;
	const struct table_plan *tables;
	const struct dialect *dialect;
	uint64_t seed;
	uint64_t orders; /* so many cases, one after the other, have the same transactions in different orders; 0: 1 */
	const char *prefix; /* of the ids; NULL: model and seed */
};

/* On true the scenario is the caller's to release. */
bool generate_case(const struct generate_options *options, uint64_t number, struct scenario *out,
	struct case_tags *tags, struct err *err) MUST_CHECK;

/* The number of a word's tag; those of a feature follow each other. */
unsigned case_tag(enum model_feature feature, unsigned word);
unsigned case_tag_count(void);
/* "assign=key" */
void case_tag_print(unsigned tag, struct buf *out);
/* Whether the model can give it at all. */
bool case_tag_possible(const struct model *model, unsigned tag);

static inline bool case_has(const struct case_tags *tags, unsigned tag)
{
	return tags->bits[tag / 64] >> tag % 64 & 1;
}

#endif
