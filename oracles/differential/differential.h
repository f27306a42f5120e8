/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The differential oracle: two executions of one schedule, compared statement by statement
 * (semantics.md, section 6; after DT2, "Differentially Testing Database Transactions for Fun and
 * Profit", whose third class, errors and warnings, is two here).
 *
 * Sessions are matched by name, or by their order where a recorder gave no names; statements by
 * their number in the session.  The first discrepancy in the order of the schedule is the one that
 * is judged: everything after it may follow from it, and is listed as that.
 *
 * Verdict: `violation` when an oracle found that a side broke its own contract; `compat` when both
 * kept theirs, as an oracle says.  Everything else is undecided: that the two contracts name the
 * first discrepancy says nothing of the rest.
 *
 * Two executions at other isolation levels are compared as well, and said to be that: what they
 * answer differently is then what the levels promise, before it is anything else.
 */
#ifndef DIFFERENTIAL_DIFFERENTIAL_H
#define DIFFERENTIAL_DIFFERENTIAL_H

#include "model/execution/execution.h"

enum diff_class {
	DIFF_BLOCKED,  /* one waited, the other did not */
	DIFF_DEADLOCK, /* one was a deadlock's victim */
	DIFF_ERROR,    /* other errors, and answers that never came */
	DIFF_WARNING,
	DIFF_RESULT, /* rows, or the number of changed ones */
	DIFF_FINAL,  /* a table's content at the end */
};

enum diff_cause {
	DIFF_CAUSE_LOCKS,    /* lock mechanism */
	DIFF_CAUSE_VICTIM,   /* aborted transaction chosen */
	DIFF_CAUSE_SNAPSHOT, /* snapshot creation */
	DIFF_CAUSE_LEVELS,   /* the two did not run at the same isolation levels */
	DIFF_CAUSE_OTHER,
};

/* Whether a side kept its contract, as another oracle judged it. */
enum diff_side_verdict {
	DIFF_SIDE_UNDECIDED,
	DIFF_SIDE_KEPT,
	DIFF_SIDE_BROKEN,
};

enum diff_conclusion {
	DIFF_SAME,
	DIFF_COMPAT,
	DIFF_VIOLATION,
	DIFF_UNDECIDED,
};

struct diff_side {
	const struct execution *e;
	const char *contract; /* name */
	enum diff_side_verdict verdict;
	char why[120]; /* what the other oracle found, or could not decide; empty: nothing */
};

/* A statement of the schedule on both sides; an index, or EXECUTION_NONE where it was not sent. */
struct diff_pair {
	uint32_t stmt[2];
	uint32_t session; /* of the first side, or of the second when only that has it */
	bool differs;
	enum diff_class class_; /* when it differs */
};

struct diff_item {
	enum diff_class class_;
	uint32_t pair;     /* index, or EXECUTION_NONE for DIFF_FINAL */
	uint32_t table[2]; /* DIFF_FINAL: index, or EXECUTION_NONE where a side lacks it */
};

struct differential {
	struct diff_side sides[2];
	struct diff_pair *pairs; /* in the order of the first side's begins */
	size_t pair_count, pair_capacity;
	struct diff_item *items; /* discrepancies, in that order, final states last */
	size_t item_count, item_capacity;
	enum diff_cause cause;   /* of the first */
	const char *rule;        /* the contracts' difference that explains it; NULL: none */
	const char *explanation; /* a sentence */
	uint64_t not_compared;   /* answers whose rows were not kept */
	/* The first pair that did not run at one isolation level; EXECUTION_NONE: all did. */
	uint32_t levels_pair;
	enum diff_conclusion conclusion;
};

/* sides[].e, contract, verdict and why are the caller's.  False when these are not two executions
 * of one schedule. */
bool differential_compare(
	struct differential *out, const struct diff_side sides[2], struct err *err) MUST_CHECK;
void differential_release(struct differential *d);

const char *diff_class_name(enum diff_class class_);
const char *diff_cause_name(enum diff_cause cause);
const char *diff_conclusion_name(enum diff_conclusion conclusion);

/* Internal: the parts of the comparison. */
/* The class in which two answers differ first; false when they do not.  *not_compared is counted
 * up where rows are missing. */
bool diff_answers(const struct execution_stmt *a, const struct execution_stmt *b,
	enum diff_class *out, uint64_t *not_compared) MUST_CHECK;
/* Equal as multisets of rows, numbers by value. */
bool diff_rows_equal(const struct execution_rows *a, const struct execution_rows *b) MUST_CHECK;
/* Fills levels_pair. */
void diff_find_levels(struct differential *d);
/* Fills cause, rule and explanation from the first item. */
void diff_find_cause(struct differential *d);

#endif
