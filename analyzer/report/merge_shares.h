/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Verdicts of several machines as one: what `isotrace check --shard=I/N --format=ndjson` wrote, put together.
 *
 * Any shares in any order, and what a merge wrote is a share, too: merging is associative and commutative, and a whole
 * result has the same bytes for any number of shares.  Lines are kept as they are.  What is missing is told, and never
 * taken for well.
 */
#ifndef REPORT_MERGE_SHARES_H
#define REPORT_MERGE_SHARES_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"

/* A history's lines. */
struct merged_history {
	struct span verdict;   /* "ok", "violated" ...; SPAN_NONE: no share has it, or it could not be judged */
	struct span input;     /* its name; SPAN_NONE: no share has it */
	struct span lines;     /* its verdict's and its findings', each with its end */
	enum exit_status status;
	bool failed;           /* it could not be judged */
};

struct merged_finding {
	struct span class, severity, known, first; /* known: "MDEV-1, MYSQL-2"; first: the first history with it */
	uint64_t count, histories, last;           /* last: the history that was counted last, and one */
};

struct merged {
	struct arena arena;
	struct merged_history *histories;
	uint64_t history_count;
	uint32_t of; /* shares; 0: nothing was read yet */
	char digest[17]; /* of the list */
	bool *ended; /* by share, from 0: it was read to its end */
	bool *seen;
	struct merged_finding *findings; /* kinds of them, the gravest and commonest first once concluded */
	size_t finding_count, finding_capacity;
	/* Filled by merged_conclude. */
	enum exit_status status;
	uint64_t missing; /* histories that no share has */
	uint32_t shares_missing, shares_cut;
};

void merged_init(struct merged *m);
/* Reads a file of lines.  False: it is none, or of another list, or says something else of a history than one before. */
bool merged_add(struct merged *m, const char *path, struct err *err) MUST_CHECK;
void merged_conclude(struct merged *m);
/* As the one share of one, where nothing is missing. */
void merged_ndjson(const struct merged *m, struct buf *out);
void merged_release(struct merged *m);

#endif
