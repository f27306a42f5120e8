/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read committed, read atomic and causal consistency as Biswas and Enea define them (OOPSLA 2019,
 * "On the complexity of checking transactional consistency"): the levels be-RC, be-RA, be-CC.
 *
 * A level holds when reads are consistent in themselves and some total commit order contains
 * session order, read-from and, for every transaction t3 that reads x from t1 and every other t2
 * that wrote x and stands in the level's relation to t3, t2 before t1.  The relation does not
 * depend on the commit order, so that the edges it forces are one pass and the level is their
 * acyclicity.  Not all edges are added, only as many as imply the rest (as Moldrup and others, PLDI
 * 2025):
 *  - be-RC: t3 read from t2 earlier.  For each t2 and x only the first read of x after the first
 *    read from t2; and consecutive reads of one key.
 *  - be-RA: t2 is in t3's session before it, or t3 reads from it.  Of the session only the last
 *    writer of x.
 *  - be-CC: t2 happens before t3 by session order and reads.  Of each session only the last writer
 *    of x that does.
 */
#ifndef VALUES_WEAK_H
#define VALUES_WEAK_H

#include "common/verdict.h"
#include "values/facts.h"

enum weak_level { WEAK_RC, WEAK_RA, WEAK_CC };
enum { WEAK_LEVEL_COUNT = 3 };

/* Decides all of them up to `strongest`, with a witness for each that fails; undecided where a level
 * depends on which of several transactions wrote the value read.  Registers only.
 * `first`: one violation of `strongest` is enough; when there is one, the others stay undecided. */
void weak_judge(const struct facts *facts, enum weak_level strongest, uint32_t examples, bool first,
	enum level_answer answers[WEAK_LEVEL_COUNT], struct verdict *out);

#endif
