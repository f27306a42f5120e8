/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where commits and views stand on one line of time.
 *
 * A *view* is what a read sees: of a snapshot read at REPEATABLE READ or above the transaction's one
 * snapshot, of any other read the committed state while its statement ran.  The trace says in which
 * interval each commit and each view lies; what was read says that some commits came before a view and
 * others after it.  positions_settle() gives each the latest moment that all of this allows.  Where any
 * choice of moments satisfies the intervals and the constraints, this one does: every moment of a
 * satisfying choice is at most as late, so no lower end of an interval is missed.
 *
 * Positions say which version of a row to try first where the evidence allows several (semantics.md, section
 * 2a).  They prove nothing by themselves.
 */
#ifndef ADYA_POSITIONS_H
#define ADYA_POSITIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/history/history.h"

/* A place and its key before positions were settled again. */
struct place_moved {
	uint32_t place;
	uint64_t before;
};

struct positions {
	const struct history *history;
	uint32_t txn_count; /* committed transactions, numbered as nodes of the dependency graph */
	/* By node. */
	uint32_t *commit_begin, *commit_end;     /* the interval of the commit */
	uint32_t *snapshot_begin, *snapshot_end; /* the interval of the snapshot; HISTORY_NONE: it took none */
	/* Constraints: `from` comes before `to`.  Numbers as place_of_...() give them. */
	uint32_t *from, *to;
	size_t count, from_capacity, to_capacity;
	/* By place, once settled: what is smaller comes first. */
	uint64_t *key;
	/* Whose keys the last positions_settle() changed; of the first one, nothing. */
	struct place_moved *moved;
	size_t moved_count, moved_capacity;
	/* By place: it takes part in constraints that contradict the times.  NULL: none does. */
	bool *contradicts;
};

/* `txn_of` has the history's transaction of each node. */
void positions_init(struct positions *positions, const struct history *history, const uint32_t *txn_of,
	uint32_t txn_count);
void positions_release(struct positions *positions);

/* Places of commits and views in `key`. */
static inline uint32_t place_of_commit(uint32_t node)
{
	return node;
}


/* Is the view of such a read the one snapshot of its transaction? */
static inline bool view_is_snapshot(const struct history_txn *txn, uint8_t read_kind)
{
	return read_kind == PROBE_READ_SNAPSHOT && txn->level >= LEVEL_REPEATABLE_READ;
}

/* Does such a read keep what it saw locked until its transaction ends?  Then what it saw was still current when
 * that committed, and the commit is where it stands. */
static inline bool view_is_locked(const struct history_txn *txn, uint8_t read_kind)
{
	return read_kind == PROBE_READ_CURRENT && txn->level >= LEVEL_REPEATABLE_READ;
}

/* The view of a read of transaction `node`.  `stmt` is not HISTORY_NONE. */
static inline uint32_t place_of_view(const struct positions *positions, uint32_t node, uint32_t stmt,
	const struct history_txn *txn, uint8_t read_kind)
{
	if (view_is_locked(txn, read_kind))
		return place_of_commit(node);
	return view_is_snapshot(txn, read_kind) ? positions->txn_count + node : 2 * positions->txn_count + stmt;
}

/* The interval of a place. */
uint32_t positions_begin(const struct positions *positions, uint32_t place);
uint32_t positions_end(const struct positions *positions, uint32_t place);

/* The commit of `node` came before the view, or after it. */
void positions_seen(struct positions *positions, uint32_t node, uint32_t view);
void positions_missed(struct positions *positions, uint32_t node, uint32_t view);
/* One commit came before another. */
void positions_follow(struct positions *positions, uint32_t before, uint32_t after);

/* Gives every commit and view its key.  May be called again after more constraints. */
void positions_settle(struct positions *positions);
/* Keys are large, and made again by positions_settle(). */
void positions_forget(struct positions *positions);

/* Is it one of the places that constraints push before the beginning of an interval, be it its own? */
static inline bool positions_contradict(const struct positions *positions, uint32_t place)
{
	return positions->contradicts && positions->contradicts[place];
}

#endif
