/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Levels of small histories from their definitions, everything tried out: every choice of writers,
 * every version order, every serial order, every interleaving of starts and commits, every commit
 * order.  The twin of the values oracle; knows nothing of it.
 */
#ifndef VALUES_BRUTE_H
#define VALUES_BRUTE_H

#include <stdbool.h>

enum { TXNS = 6, OPS = 4, KEYS = 4, LIST = 12 };
enum kind {
	R,
	W,
	GONE,     /* left out of the question */
	EVIDENCE, /* a list that only shows the order of appends */
	P,        /* all values mod 2 = value; list: by key what matched, 0 nothing, -1 not asked.
		     Its matches are also reads, after it */
};

struct op {
	enum kind kind;
	int key, value;      /* registers: value, 0 initial */
	int list[LIST], len; /* lists: what was read */
	bool match;          /* a read that is a match of the predicate before it */
};

struct txn {
	struct op ops[OPS];
	int count, session, outcome; /* 0 committed, 1 aborted, 2 unknown */
	int invoke, complete;
};

struct hist {
	struct txn t[TXNS];
	int n;
	bool lists;
	bool closed; /* registers with predicates; 0 is also what a deletion writes */
	bool counts[TXNS];
	bool sure[TXNS]; /* counts whatever can be seen */
};

enum guarantee { SG_RYW, SG_MR, SG_MW, SG_WFR, SG_PRAM, SG_COUNT };
enum be_level { BE_RC, BE_RA, BE_CC, BE_PREFIX, BE_SI, BE_SER, BE_COUNT };

/* By order: none, sessions, sessions and real time. */
struct answers {
	bool pl1[3], pl2[3], pl2plus[3], pl299[3], si[3], pl3[3];
	bool cs, monotonic, fcv;
	bool be[BE_COUNT];
	bool sg[SG_COUNT];
};

/* A strong variant's order: 1 session, 2 session and real time. */
bool precedes(const struct hist *h, int a, int b, int order);
bool writes_key(const struct hist *h, int t, int key);

/* Sets h->counts as it goes. */
void brute(struct hist *h, struct answers *out);

/* The same history with only some transactions (bits): reads that a transaction left out may explain are
 * left out too, and their elements of lists.  Lists that others read still show the order.
 * With `places` lists stay whole, and the others only do nothing in their sessions.
 * False: an element may be of a transaction left out or of one of the part, or what a reader saw of its
 * own cannot be told any more. */
bool brute_part(const struct hist *h, unsigned part, bool places, struct hist *out);

#endif
