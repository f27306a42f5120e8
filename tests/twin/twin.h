/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The brute-force twin: every phenomenon of a small history, found by transcribing the definitions
 * and enumerating all cycles.  It shares no code with the oracles and is far too slow for anything
 * but tests; the oracles are compared with it, history by history.
 *
 * The history it takes is explicit: each read names the version it returned, each write the one it
 * overwrote, unborn and dead versions included, so that nothing is ever undecided here.  Builders:
 * by hand in a test (twin_* functions below), or the simulator, which fills it in with what really
 * happened (tests/sim/sim.h).
 *
 * Definitions: semantics.md, sections 1 to 3; the predicate edges are those of Adya, Liskov and
 * O'Neil (ICDE 2000).  Where those texts leave a choice, this twin has made it:
 *  a. A version that was undone by ROLLBACK TO SAVEPOINT and read by another committed transaction
 *     is a G1a: what was rolled back was read.
 *  b. A transaction of unknown outcome counts as committed when another transaction read one of its
 *     versions, saw it with a predicate, or overwrote it (overwriting names the version, so it was
 *     seen), or when the final rows show it, be it by the absence of a row that it deleted.  A
 *     dirty read proves nothing: the version may have been rolled back right after.
 *  c. Uninstalled versions (aborted, undone, intermediate) take no part in edges, only in G1a, G1b
 *     and own-write.
 *  d. An object whose chain forks or does not link up is a lost-version; it has no order, so it
 *     makes wr edges and no others.
 *  e. A snapshot read of x_k needs the writer of x_k in the snapshot and the writer of the next
 *     version out of it.  unstable-snapshot: the snapshot reads of one REPEATABLE READ transaction
 *     (reads of its own writes aside) need some W in and some N out although N came first: N is W,
 *     N's COMMIT was answered before W's was sent, or W depends on N by ww and wr edges and not the
 *     other way round as well.
 */
#ifndef TWIN_H
#define TWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "trace/record.h"

#define TWIN_NONE UINT32_MAX

struct twin_txn {
	uint64_t number; /* in the trace */
	uint32_t session;
	uint64_t begin_seq;
	uint64_t end_seq;    /* UINT64_MAX: never answered */
	uint64_t commit_seq; /* when its COMMIT was sent; 0: never */
	uint8_t level;       /* enum txn_level */
	uint8_t outcome;     /* enum txn_outcome, as the trace has it */
};

struct twin_object {
	uint32_t table;
	int64_t key;
	uint32_t unborn; /* its version before the first */
	uint32_t final;  /* what the final rows show, an unborn or dead version where they have
			    no such row; TWIN_NONE: not recorded */
};

struct twin_version {
	uint32_t object;
	uint32_t txn;      /* TWIN_NONE: initial, unborn, or never written */
	uint32_t previous; /* TWIN_NONE: none (unborn, initial) */
	uint64_t name;     /* the version column's value; 0: none (unborn, dead) */
	uint64_t stmt_seq; /* when its statement was sent */
	int64_t value;
	bool exists; /* neither unborn nor dead */
	bool unborn, initial;
	uint64_t undone_seq; /* when ROLLBACK TO took it back; 0: never */
	bool garbage;        /* no transaction wrote it */
};

enum twin_op_kind { TWIN_READ, TWIN_WRITE, TWIN_PREDICATE };

struct twin_op {
	enum twin_op_kind kind;
	uint32_t txn;
	uint32_t stmt;               /* number, unique in the history; one statement, one number */
	uint64_t begin_seq, end_seq; /* of the statement */
	uint32_t version;            /* READ, WRITE */
	uint32_t predicate;          /* PREDICATE */
	uint8_t read_kind;           /* enum probe_read_kind; READ, PREDICATE */
};

/* `column` between low and high, on a table.  Objects that are not in the set were unborn... unless
 * a dead version of theirs is in it. */
struct twin_predicate {
	uint32_t table;
	bool by_key; /* the key column, else the value column */
	int64_t low, high;
	uint32_t first, count; /* in set[]: every version seen that is not UNBORN */
	bool write;            /* of an UPDATE, a DELETE or a locking read */
};

struct twin_history {
	struct twin_txn *txns;
	struct twin_object *objects;
	struct twin_version *versions;
	struct twin_op *ops; /* in the order they happened */
	struct twin_predicate *predicates;
	uint32_t *set;
	size_t txn_count, object_count, version_count, op_count, predicate_count, set_count;
	size_t txn_capacity, object_capacity, version_capacity, op_capacity, predicate_capacity,
		set_capacity;
};

#define TWIN_HISTORY_INIT ((struct twin_history){0})

uint32_t twin_add_txn(struct twin_history *h, const struct twin_txn *txn);
/* With its unborn version. */
uint32_t twin_add_object(struct twin_history *h, uint32_t table, int64_t key);
uint32_t twin_add_version(struct twin_history *h, const struct twin_version *version);
uint32_t twin_add_op(struct twin_history *h, const struct twin_op *op);
uint32_t twin_add_predicate(struct twin_history *h, const struct twin_predicate *predicate);
void twin_add_to_set(struct twin_history *h, uint32_t version);
void twin_history_clear(struct twin_history *h);
void twin_history_release(struct twin_history *h);

/* Phenomena.  The cycle classes are ordered from the most to the least specific. */
enum twin_class {
	TWIN_G0,
	TWIN_G1C,
	TWIN_G_SINGLE,
	TWIN_G_NONADJACENT,
	TWIN_G2_ITEM,
	TWIN_G2,
	TWIN_CYCLE_CLASSES,
	TWIN_G1A = TWIN_CYCLE_CLASSES,
	TWIN_G1B,
	TWIN_LOST_UPDATE,
	TWIN_GARBAGE_READ,
	TWIN_FUTURE_READ,
	TWIN_OWN_WRITE,
	TWIN_UNSTABLE_SNAPSHOT,
	TWIN_DUPLICATE_ROW,
	TWIN_SPLIT_STATEMENT,
	TWIN_LOST_VERSION,
	TWIN_CLASSES,
};

enum twin_strength { TWIN_PLAIN, TWIN_SESSION, TWIN_REALTIME, TWIN_STRENGTHS };

enum twin_edge {
	TWIN_EDGE_WW = 1,
	TWIN_EDGE_WR = 2,
	TWIN_EDGE_RW = 4, /* item */
	TWIN_EDGE_PRED_WR = 8,
	TWIN_EDGE_PRED_RW = 16,
	TWIN_EDGE_SESSION = 32,
	TWIN_EDGE_REALTIME = 64,
};

enum { TWIN_TXN_MAX = 64, TWIN_CYCLE_MAX = 64 };

/* One finding.  A cycle's transactions are in edge order; else the ones concerned. */
struct twin_finding {
	enum twin_class class;
	enum twin_strength strength;
	uint32_t txns[TWIN_CYCLE_MAX];
	uint8_t edges[TWIN_CYCLE_MAX]; /* from txns[i] to the next; cycles only */
	uint32_t txn_count;
	uint32_t version; /* or NONE */
};

struct twin_result {
	/* A cycle of exactly this class exists, each hop by an edge of one's choice. */
	bool exists[TWIN_CLASSES][TWIN_STRENGTHS];
	/* Shortest of each class and strength that is the most specific for its transactions. */
	struct twin_finding *findings;
	size_t finding_count, finding_capacity;
	bool committed[TWIN_TXN_MAX];
	/* By version: its index in the order of its object's installed versions; NONE: it is not
	 * installed, or the object has no order. */
	uint32_t *position;
	uint8_t edge[TWIN_TXN_MAX][TWIN_TXN_MAX]; /* enum twin_edge, by txn index */
	uint64_t cycles;                          /* enumerated */
	bool cut;       /* gave up: too many cycles or paths; exists[] is a lower bound */
	uint64_t steps; /* of the enumeration */
};

/* At most TWIN_TXN_MAX transactions; more is a bug of the caller.  The first finds only what is
 * committed, version orders and edges: no phenomena but lost-version, G1a and G1b. */
void twin_check_edges(const struct twin_history *h, struct twin_result *result);
void twin_check(const struct twin_history *h, struct twin_result *result);
void twin_result_release(struct twin_result *result);

/* "G-single", "G0-realtime". */
void twin_class_print(struct buf *out, enum twin_class class, enum twin_strength strength);
/* The whole history, for a failed test's message. */
void twin_history_print(struct buf *out, const struct twin_history *h);

#endif
