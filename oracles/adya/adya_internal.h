/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the oracle share; adya.h is for other folders. */
#ifndef ADYA_ADYA_INTERNAL_H
#define ADYA_ADYA_INTERNAL_H

#include "adya/adya.h"
#include "adya/dependencies.h"

/* Findings of one class and severity past the limit are counted on the last one listed. */
struct limiter {
	enum finding_class class;
	enum severity severity;
	uint32_t listed;
	uint64_t more;
};

/* Why a statement is not decided. */
enum open_reason {
	OPEN_NOT, /* it is decided, or there is nothing to decide */
	OPEN_STOPPED,
	OPEN_INEXACT,
	OPEN_ORDER,
	OPEN_TESTS,
	OPEN_NO_PROBE,
	OPEN_UNVERIFIED,
	OPEN_NO_VERSION,
	OPEN_NO_EXPLANATION,
	OPEN_WRITTEN_OUTSIDE,
	OPEN_WRITE_NOT_RECORDED,
	OPEN_WRITER_INEXACT,
	OPEN_UNKNOWN_OUTCOME,
	OPEN_PERHAPS_REPLACED,
	OPEN_OWN_WRITES,
	OPEN_WRITES,
	OPEN_ORDER_OF_WRITES,
	OPEN_CHAIN,
	OPEN_ALSO_OUTSIDE,
	OPEN_MIXED,
	OPEN_UNEXPLAINED,
	OPEN_REASON_COUNT
};

struct adya {
	const struct history *history;
	const struct adya_options *options;
	struct verdict *verdict;
	struct dependencies dependencies;
	struct limiter limiters[128];
	uint32_t limiter_count;
	bool seen_g1a, seen_g1b;
	/* Sessions that are not in the trace may have written too. */
	bool other_writers;
	/* What the names of versions that recorded sessions wrote begin with; 0: not told. */
	uint64_t tag;
	/* A statement changed rows, and what it changed is not in the trace; or may have. */
	bool unseen_anywhere;
	uint8_t *open; /* by statement: enum open_reason */
	bool stopped;  /* by an interruption: what was found is not all */
};

/* A read of the statement is not decided. */
static inline void adya_open(struct adya *a, uint32_t stmt, enum open_reason reason)
{
	if (stmt != HISTORY_NONE && a->open[stmt] == OPEN_NOT)
		a->open[stmt] = (uint8_t)reason;
}

/* A version that a session wrote which was not recorded: its name says so. */
static inline bool adya_is_foreign(const struct adya *a, uint32_t version)
{
	const struct history_version *v = &a->history->versions[version];

	return a->tag && v->flags & HISTORY_VERSION_UNWRITTEN && !v->name_is_bytes &&
	       v->name >> VERSION_TAG_SHIFT != a->tag;
}

/* Were all writes of a table seen?  Else a version that no transaction wrote, or that is missing, may be
 * the work of a recorded statement. */
static inline bool adya_sees_writes(const struct adya *a, uint32_t table)
{
	return !a->unseen_anywhere && !history_unseen_in(a->history, table);
}

/* What only holds if every session that wrote was recorded. */
enum severity adya_weigh(const struct adya *a, enum severity severity);

#define SAY(a, ...) arena_printf(&(a)->verdict->arena, __VA_ARGS__)

/* NULL when enough of this kind are listed; the rest are counted.  class is a constant. */
struct finding *adya_add(struct adya *a, enum finding_class class, enum severity severity,
	const char *rule, uint8_t level);
/* Counts one more finding about a read of `txn` whose sentence would not be printed; false: it is to be
 * added.  Not for what adya_weigh() has a say in. */
bool adya_has_enough(struct adya *a, enum finding_class class, uint32_t txn);
void adya_set_txns(struct adya *a, struct finding *finding, const uint32_t *txns, uint32_t count);
/* A finding about one read of `txn`, concerning another transaction (or none); `own`: a version
 * that it should have seen, or saw as well; NONE. */
void adya_add_read(struct adya *a, enum finding_class class, uint32_t txn, uint32_t other,
	const struct history_op *op, uint32_t own, const char *explanation);

/* The same by a read that is not proven: reported only if it would be a violation. */
void adya_suspect_read(struct adya *a, enum finding_class class, uint32_t txn, uint32_t other,
	const struct history_op *op, const char *explanation);

/* snapshots.c: what one transaction saw, by itself.  Wrong reads and own writes, which asks nothing of
 * the graph; then snapshots and split statements, which does. */
void judge_operations(struct adya *a);
void judge_snapshots(struct adya *a);

#endif
