/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histories whose transactions carry the times of their snapshots and commits (Chronos).
 *
 * Then snapshot isolation needs no search: Adya's PL-SI (thesis, 4.3) asks that every ww and wr
 * dependency leads from a transaction that committed before the other one started (else G-SIa,
 * interference), and that no transaction missed a commit from before it started (else G-SIb, missed
 * effects).  With the order of commits as the version order that is: two writers of a key never
 * overlap, and every read sees what its start time shows.  Values are compared, so that equal values
 * of several writers do no harm.  Equal stamps say nothing about which came first: what either order
 * explains is fine.
 */
#ifndef VALUES_STAMPS_H
#define VALUES_STAMPS_H

#include "common/verdict.h"
#include "values/facts.h"

/* The last write of a key by a transaction that counts. */
struct stamped {
	uint64_t commit;
	uint32_t logical, key, op;
};

/* All of them, registers and lists, by key and then by commit; free it. */
struct stamped *stamps_writes(const struct facts *facts, size_t *count);
static inline bool stamps_tie(const struct stamped *a, const struct stamped *b)
{
	return a->key == b->key && a->commit == b->commit && a->logical == b->logical;
}

/* PL-SI as the stamps have it, with its findings: "timed-PL-SI". */
enum level_answer stamps_judge(const struct facts *facts, uint32_t examples, struct verdict *out);

#endif
