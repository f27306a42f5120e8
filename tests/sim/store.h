/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulator's store: versions, visibility and locks.
 *
 * An object is a key of a table, whether or not it has a row; its chain holds versions from the
 * newest to the oldest that some snapshot may still need.  At most one transaction has uncommitted
 * versions in a chain, at its front, because writing takes an exclusive lock that is kept to the
 * transaction's end (rule W).  A commit stamps them with the next number of one counter and drops
 * all but the last of each object.
 *
 * Why each discipline is what it says (phenomena of semantics.md, section 3; "commit order" is the
 * order of the stamps, and each stamp is given between the sending and the answer of the COMMIT):
 *
 * All: by rule W the versions of an object are installed in commit order, so ww edges follow
 * commit order and there is no G0, with session and real-time edges neither: a transaction that was
 * answered before another began has the smaller stamp.
 *
 * READ UNCOMMITTED (PL-1): plain reads return the front of the chain, whichever transaction wrote it.  G1a, G1b
 * and G1c happen.
 *
 * READ COMMITTED (PL-2): every statement evaluates on the newest committed versions, and the
 * transaction's own, at the one moment it takes effect.  What is read was committed before, as the
 * last version of its transaction: no G1a, no G1b, and wr edges follow commit order as well: no
 * G1c.  A statement that must wait for a lock starts over when it gets it, so it never mixes two
 * moments.
 *
 * REPEATABLE READ (InnoDB's): plain reads come from the snapshot, writes and locking reads act as
 * at READ COMMITTED.  PL-2 by the same argument, and plain reads of a transaction agree on one
 * snapshot; G-single arises through current writes.
 *
 * SNAPSHOT ISOLATION: all reads come from the snapshot of stamp s, plus own writes; a write or
 * locking read of an object whose newest committed version is newer than s fails with error 1020
 * and the whole transaction is rolled back (the first updater wins).  ww and wr edges Ti -> Tj mean
 * stamp(Ti) <= s(Tj); an rw edge Ti -> Tj means s(Ti) < stamp(Tj).  Going round a cycle in which no
 * two rw edges follow each other, each rw edge Tj -> Tk is followed by an edge Tk -> Tl with
 * stamp(Tk) <= s(Tl): so s(Tj) < stamp(Tk) <= s(Tl), and over a dependency Tj -> Tk alone
 * s(Tj) < stamp(Tj) <= s(Tk): s rises all the way round, which no cycle can.  Hence no G1c,
 * G-single or G-nonadjacent.  Over a session or real-time edge s does not fall, and rises after a
 * writer, so their variants are excluded as well.
 *
 * SERIALIZABLE: strict two-phase locking.  Reads by key take a shared lock on the object, row or no
 * row; predicates take a shared lock on the whole table, which the intention lock of every writer
 * of that table conflicts with.  All locks are kept to the end, so every edge, item or predicate,
 * follows commit order: no G0 to G2, with session and real-time edges neither.
 *
 * Deadlocks are found when a session starts to wait: a cycle of waiting sessions is always closed
 * by a new wait, since a session that is granted a lock is not waiting.  The victim is that
 * session.
 */
#ifndef SIM_STORE_H
#define SIM_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_NONE   UINT32_MAX
#define STORE_NEWEST UINT64_MAX

struct store_version {
	uint64_t name;
	uint64_t stamp; /* of the commit; 0: not committed */
	int64_t value;
	uint32_t older; /* or NONE */
	uint32_t owner; /* session, while not committed */
	uint32_t truth; /* number in the ground truth; NONE where none is kept */
	bool dead;
};

enum store_lock_mode { LOCK_IS, LOCK_IX, LOCK_S, LOCK_SIX, LOCK_X };

struct store_lock {
	uint32_t object;
	uint32_t owner;
	uint32_t next_of_object, next_of_owner; /* or NONE */
	enum store_lock_mode mode;
};

struct store_object {
	uint32_t newest; /* version or NONE: unborn */
	uint32_t locks;  /* lock or NONE */
	uint32_t truth;  /* number in the ground truth; NONE: not there yet */
};

struct store_session {
	uint32_t locks;     /* first of its locks, or NONE */
	uint32_t waits_for; /* object, or NONE */
	enum store_lock_mode waits_mode;
	uint64_t snapshot; /* STORE_NEWEST: none */
	uint32_t visited;  /* mark of the deadlock search */
	uint32_t *written; /* objects with versions of its own, newest last, with repeats */
	size_t written_count, written_capacity;
};

struct store {
	struct store_object *objects;
	size_t object_count;
	struct store_version *versions;
	size_t version_count, version_capacity;
	uint32_t free_version;
	struct store_lock *locks;
	size_t lock_count, lock_capacity;
	uint32_t free_lock;
	struct store_session *sessions;
	uint32_t session_count;
	uint32_t visit; /* of the latest deadlock search */
	uint64_t stamp; /* of the latest commit */
	uint64_t next_name;
	size_t versions_in_use, versions_peak;
};

void store_init(struct store *store, size_t objects, uint32_t sessions);
void store_release(struct store *store);

/* Versions as a number, or NONE where the object is unborn for the reader. */
uint32_t store_newest(const struct store *store, uint32_t object);
/* The newest that was committed up to `stamp`, or the session's own. */
uint32_t store_visible(
	const struct store *store, uint32_t object, uint64_t stamp, uint32_t session);
static inline bool store_exists(const struct store *store, uint32_t version)
{
	return version != STORE_NONE && !store->versions[version].dead;
}

/* Puts a committed version there before the run. */
uint32_t store_load(struct store *store, uint32_t object, int64_t value);
/* The session holds the exclusive lock. */
uint32_t store_write(
	struct store *store, uint32_t session, uint32_t object, int64_t value, bool dead);
void store_commit(struct store *store, uint32_t session);
/* Takes back the newest writes until `written_count` are left. */
void store_undo_to(struct store *store, uint32_t session, size_t written_count);
/* After commit or undo: gives up locks and snapshot. */
void store_end(struct store *store, uint32_t session);

enum store_grant { GRANT_OK, GRANT_WAIT, GRANT_DEADLOCK };
/* WAIT and DEADLOCK leave the session's locks as they were. */
enum store_grant store_lock(
	struct store *store, uint32_t session, uint32_t object, enum store_lock_mode mode);
/* Whether a waiting session would get its lock now. */
bool store_grantable(const struct store *store, uint32_t session);
/* One of those it waits for. */
uint32_t store_blocker(const struct store *store, uint32_t session);

#endif
