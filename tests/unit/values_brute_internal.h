/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two halves of the twin share: values_brute.c and values_brute_lists.c. */
#ifndef VALUES_BRUTE_INTERNAL_H
#define VALUES_BRUTE_INTERNAL_H

#include "values_brute.h"

enum { READS_MAX = TXNS * OPS, DEPS_MAX = 4 * TXNS * OPS };
enum dep_kind { WW, WR, RW };

/* A dependency, drawn exactly as Adya has it; op is the one at its head for ww and wr, the read for
 * rw. */
struct dep {
	enum dep_kind kind;
	int from, to, key, op;
};

/* One external read and its source: a transaction, or -1 for the initial state. */
struct source {
	int txn, op, from;
	bool silent; /* says nothing about versions: no final version explains it */
};

struct search {
	const struct hist *h;
	struct answers *out;
	struct source reads[READS_MAX];
	int read_count;
	int order[KEYS][TXNS * OPS]; /* registers: transactions; lists: t * OPS + op */
	int order_len[KEYS];
	int agreed[KEYS]; /* lists: elements that all reads agree on */
	struct dep deps[DEPS_MAX];
	int dep_count;
};

/* What a session did with a key: version read, or written; higher is later. */
struct happening {
	int txn, op, key, low, high; /* lists: a transaction's appends may have several places */
	bool write;
};

bool brute_wrote(const struct hist *h, int t, int key, int value);
/* The transaction's last write of the key; -1: none. */
int brute_final_op(const struct hist *h, int t, int key);
/* Where it is in the order being tried; -1: not there. */
int brute_place_of(const struct search *s, int key, int what);
void brute_dep(struct search *s, enum dep_kind kind, int from, int to, int key, int op);
/* Adya's levels of the dependencies drawn. */
void brute_judge_graph(struct search *s, bool g1);
void brute_judge_session(struct search *s, const struct happening *all, int count, bool *bad);

/* How far the reads of a key agree with each other, and with what was appended. */
int brute_agreed(const struct hist *h, int key);
void brute_list_orders(struct search *s, int key);
/* One element more often in a read than it was appended. */
bool brute_repeats(const struct hist *h);

#endif
