/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of committed transactions of which one did not see what the other wrote, and acted on what it saw.  Every
 * candidate is a cycle of certain dependencies (semantics.md, section 2), so no serial execution explains it; whether
 * the application is the worse for it, the statements tell (judge.c).
 *
 *	lost update	T reads x, another transaction overwrites it, T overwrites that: r(x) w'(x) w(x); P4 of Berenson et
 *			al., "A Critique of ANSI SQL Isolation Levels", 1995
 *	write skew	T reads x and writes y, another one reads y and writes x, neither sees the other's write: A5B
 *	read skew	T reads x before and y after another transaction wrote both: A5A
 */
#ifndef APPLICATION_CANDIDATES_H
#define APPLICATION_CANDIDATES_H

#include "common/accesses.h"
#include "model/history/history.h"

enum anomaly { ANOMALY_LOST_UPDATE, ANOMALY_WRITE_SKEW, ANOMALY_READ_SKEW, ANOMALY_COUNT };

/* What T did about the row, for a lost update. */
enum outcome {
	OUTCOME_WRITTEN,   /* it installed a version over the other's */
	OUTCOME_NO_CHANGE, /* its UPDATE set what was there already */
	OUTCOME_GONE,      /* its write did not find the row any more */
	OUTCOME_FRESH,     /* it read the row again before, and saw what it then overwrote */
};

struct candidate {
	enum anomaly anomaly;
	enum outcome outcome;
	uint32_t txn, other;
	uint32_t read;   /* T's statement that did not see `missed` */
	uint32_t then;   /* ... that wrote, or (read skew) saw `seen` */
	uint32_t missed; /* the other's version */
	uint32_t wrote;  /* T's version: over the other's; write skew: the one that the other missed.  ACCESS_NONE: none */
	uint32_t seen;   /* read skew: the other's version that T saw */
	uint32_t position; /* of the version that `read` saw, at most; ACCESS_NONE: a read by a condition, of many rows */
	uint32_t other_read; /* write skew: the statement of the other that did not see `wrote` */
	uint32_t other_position;
};

struct candidates {
	struct candidate *list;
	size_t count, capacity;
	uint32_t *first_read; /* by transaction of the history, one more: its reads among those of the accesses */
	uint64_t cut;         /* pairs that were not looked at, because there are too many */
};

/* A key for the two transactions, in this order. */
static inline uint64_t candidate_pair(uint32_t txn, uint32_t other)
{
	return (uint64_t)txn << 32 | other;
}

void candidates_find(struct candidates *out, const struct history *history, const struct accesses *accesses);
void candidates_release(struct candidates *candidates);

#endif
