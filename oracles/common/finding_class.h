/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The classes of findings, as codes.  Their names are for people and files alone: nothing compares them.
 *
 * What is worst and seen at a glance comes first: the weaker the level that forbids a class, the earlier it stands.
 * Cycles that only the order of sessions, or real time, closes are classes of their own.
 */
#ifndef COMMON_FINDING_CLASS_H
#define COMMON_FINDING_CLASS_H

#include <stdbool.h>

#include "base/span.h"
#include "common/graph/cycles.h"

#define FINDING_CLASSES(X)                                                                         \
	X(CLASS_GARBAGE_READ, "garbage-read")                                                  \
	X(CLASS_FUTURE_READ, "future-read")                                                    \
	X(CLASS_LOST_VERSION, "lost-version")                                                  \
	X(CLASS_DUPLICATE_ROW, "duplicate-row")                                                \
	X(CLASS_OWN_WRITE, "own-write")                                                        \
	X(CLASS_OWN_WRITE_SHOWS, "own-write-shows")                                            \
	X(CLASS_G0, "G0")                                                                      \
	X(CLASS_G0_REALTIME, "G0-realtime")                                                    \
	X(CLASS_G0_SESSION, "G0-session")                                                      \
	X(CLASS_G1A, "G1a")                                                                    \
	X(CLASS_G1B, "G1b")                                                                    \
	X(CLASS_G1C, "G1c")                                                                    \
	X(CLASS_G1C_REALTIME, "G1c-realtime")                                                  \
	X(CLASS_G1C_SESSION, "G1c-session")                                                    \
	X(CLASS_WRONG_RESULT, "wrong-result")                                                  \
	X(CLASS_UNSTABLE_SNAPSHOT, "unstable-snapshot")                                        \
	X(CLASS_G_MONOTONIC, "G-monotonic")                                                    \
	X(CLASS_G_CURSOR, "G-cursor")                                                          \
	X(CLASS_G_SINGLE, "G-single")                                                          \
	X(CLASS_G_SINGLE_REALTIME, "G-single-realtime")                                        \
	X(CLASS_G_SINGLE_SESSION, "G-single-session")                                          \
	X(CLASS_G_NONADJACENT, "G-nonadjacent")                                                \
	X(CLASS_G_NONADJACENT_REALTIME, "G-nonadjacent-realtime")                              \
	X(CLASS_G_NONADJACENT_SESSION, "G-nonadjacent-session")                                \
	X(CLASS_G2_ITEM, "G2-item")                                                            \
	X(CLASS_G2_ITEM_REALTIME, "G2-item-realtime")                                          \
	X(CLASS_G2_ITEM_SESSION, "G2-item-session")                                            \
	X(CLASS_G2, "G2")                                                                      \
	X(CLASS_G2_REALTIME, "G2-realtime")                                                    \
	X(CLASS_G2_SESSION, "G2-session")                                                      \
	X(CLASS_G_SIA, "G-SIa")                                                                \
	X(CLASS_G_SIB, "G-SIb")                                                                \
	X(CLASS_CURRENT_WRITE, "current-write")                                                \
	X(CLASS_DELETED_ROW_STAYS, "deleted-row-stays")                                        \
	X(CLASS_DIRTY_READ, "dirty-read")                                                      \
	X(CLASS_DIRTY_UPDATE, "dirty-update")                                                  \
	X(CLASS_DUPLICATE_ELEMENTS, "duplicate-elements")                                      \
	X(CLASS_INCOMPATIBLE_ORDER, "incompatible-order")                                      \
	X(CLASS_INTERNAL, "internal")                                                          \
	X(CLASS_LOST_UPDATE, "lost-update")                                                    \
	X(CLASS_MISSING_LOCK, "missing-lock")                                                  \
	X(CLASS_NEEDLESS_BLOCK, "needless-block")                                              \
	X(CLASS_NEEDLESS_DEADLOCK, "needless-deadlock")                                        \
	X(CLASS_NO_AUTOCOMMIT, "no-autocommit")                                                \
	X(CLASS_NOOP_UPDATE, "noop-update")                                                    \
	X(CLASS_NOT_PL_1, "not-PL-1")                                                          \
	X(CLASS_NOT_PL_2, "not-PL-2")                                                          \
	X(CLASS_NOT_PL_2PLUS, "not-PL-2+")                                                     \
	X(CLASS_NOT_PL_2_99, "not-PL-2.99")                                                    \
	X(CLASS_NOT_SI, "not-SI")                                                              \
	X(CLASS_NOT_SERIALIZABLE, "not-serializable")                                          \
	X(CLASS_READ_SKEW, "read-skew")                                                        \
	X(CLASS_SPLIT_STATEMENT, "split-statement")                                            \
	X(CLASS_SPLIT_STATEMENT_GAP, "split-statement-gap")                                    \
	X(CLASS_WRITE_SKEW, "write-skew")                                                      \
	X(CLASS_WRONG_ERROR, "wrong-error")                                                    \
	X(CLASS_WRONG_SQL, "wrong-sql")                                                        \
	/* Of clusters (oracle sync); they are in no set of a level. */                        \
	X(CLASS_LOST_COMMIT, "lost-commit")                                                    \
	X(CLASS_RESURRECTED, "resurrected")                                                    \
	X(CLASS_DUPLICATE_APPLY, "duplicate-apply")                                            \
	X(CLASS_DIVERGENT, "divergent")                                                        \
	X(CLASS_BROKEN_CONSTRAINT, "broken-constraint")                                        \
	X(CLASS_CRASH, "crash")                                                                \
	X(CLASS_HANG, "hang")                                                                  \
	X(CLASS_NO_RECOVERY, "no-recovery")

enum finding_class {
#define X(class, name) class,
	FINDING_CLASSES(X)
#undef X
	CLASS_LEVEL, /* a level does not hold, and nothing more can be said: it has the level's name */
	FINDING_CLASS_COUNT
};

/* Sets of classes are 64 bits (common/contract.h): what a level promises, and apart from it what a cluster does. */
_Static_assert(CLASS_WRONG_SQL < 64, "a bit a class");

/* Is it about a cluster, and no matter of a level? */
static inline bool finding_class_is_cluster(enum finding_class class)
{
	return class >= CLASS_LOST_COMMIT && class <= CLASS_NO_RECOVERY;
}

/* NULL for CLASS_LEVEL. */
const char *finding_class_name(enum finding_class class);
/* False: no class is called so. */
bool finding_class_named(struct span name, enum finding_class *out);

enum finding_class finding_class_of_cycle(enum cycle_class cycle, enum cycle_order order);
/* The class of the same cycle without an order, and which order closed it. */
enum finding_class finding_class_base(enum finding_class class, enum cycle_order *order);

/* Another name for what a finding is, beside its class. */
enum finding_variant { VARIANT_NONE, VARIANT_LOST_UPDATE };

/* NULL for VARIANT_NONE. */
const char *finding_variant_name(enum finding_variant variant);

/* Which oracle made a finding; several where they agree. */
enum finding_oracle { FOUND_BY_NONE, FOUND_BY_ADYA, FOUND_BY_MVCC, FOUND_BY_ADYA_AND_MVCC, FOUND_BY_VALUES,
	FOUND_BY_APPLICATION, FOUND_BY_SYNC };

const char *finding_oracle_name(enum finding_oracle oracle);

#endif
