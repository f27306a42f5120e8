/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a value history says before any order is asked for: which transactions count as committed, the writer of
 * what was read, and everything that is wrong with a single read.
 *
 * Which transactions count: committed ones, and those of unknown outcome that a transaction that
 * counts has read from (semantics.md, section 1).
 */
#ifndef VALUES_FACTS_H
#define VALUES_FACTS_H

#include "common/finding_class.h"
#include "model/values/values.h"

enum writer_state {
	WRITER_ONE,     /* exactly one transaction that counts wrote it */
	WRITER_INITIAL, /* it is what the key held before */
	WRITER_ABORTED, /* only aborted transactions wrote it */
	WRITER_NOBODY,
	WRITER_SEVERAL, /* more than one candidate */
};

/* Everything that is wrong without a cycle. */
enum anomaly_class {
	ANOMALY_G1A,
	ANOMALY_G1B,
	ANOMALY_GARBAGE,
	ANOMALY_INTERNAL,
	ANOMALY_FUTURE,
	ANOMALY_LOST_UPDATE,
	ANOMALY_DUPLICATE,
	ANOMALY_INCOMPATIBLE,
	ANOMALY_DIRTY_UPDATE,
};
enum { ANOMALY_CLASS_COUNT = 9 };

enum finding_class anomaly_finding_class(enum anomaly_class class);

enum { ANOMALY_EXAMPLES_MAX = 8 };

/* One occurrence.  What the fields mean depends on the class; NONE where nothing is meant. */
struct anomaly {
	uint32_t txn, op; /* the one that read, or wrote second */
	uint32_t other;   /* transaction read from, or first writer */
	uint32_t key, item;
};

struct anomalies {
	uint64_t count;
	struct anomaly examples[ANOMALY_EXAMPLES_MAX];
};

enum op_note {
	OP_FINAL = 1 << 0,    /* a write: the transaction's last of this key */
	OP_EXTERNAL = 1 << 1, /* a read that the transaction's own writes do not explain */
	OP_BLIND = 1 << 2,    /* a first write of a key that the transaction had not read before, or
				 had read a version of unknown writer */
};

enum item_care {
	ITEM_SEVERAL = 1,      /* WRITER_SEVERAL */
	ITEM_INTERMEDIATE = 2, /* WRITER_ONE, which wrote the key again */
};

struct facts {
	const struct values *v;
	uint8_t *counts;      /* by transaction: it counts as committed */
	uint8_t *state;       /* by item: enum writer_state */
	uint32_t *writer;     /* by item: op; with WRITER_ONE */
	uint32_t *writer_txn; /* by item: the transaction; NONE without WRITER_ONE */
	uint8_t *care;        /* by item: enum item_care, what is rarely so, for a quick look */
	uint8_t *notes;       /* by op: enum op_note */
	uint32_t *seen;       /* by op: what an external list read saw of others: how many items */
	uint32_t *overwriter; /* by item: the transaction that read it and then wrote the key */
	uint32_t *overwriter_initial; /* by key: the same for what it held initially */
	uint32_t *next;         /* by item: what that transaction wrote last; with overwriter */
	uint32_t *next_initial; /* by key */
	uint32_t *list_end;     /* by key: items of its list that all reads agree on */
	uint32_t *position;     /* by item: place in its key's list; NONE */
	struct anomalies anomalies[ANOMALY_CLASS_COUNT];
	uint64_t scale;  /* how many times as large as by default a question to the solver may be */
	uint32_t *guide; /* by transaction: its commit's place in some execution with snapshots that
			    explains every read; NULL: none is known */
	uint64_t reads, reads_ambiguous;
	uint64_t unknown_counted;
	uint64_t own_missed; /* reads that miss the transaction's own write: in ANOMALY_INTERNAL */
	uint64_t left_out;   /* reads of registers with values that no transaction wrote */
	bool any_initial;    /* ... which say nothing; else they are garbage */
	bool has_lists, has_registers;
	bool repeats;        /* some list has an element twice */
	bool ambiguous_list; /* some element was appended by several */
};

/* `any_initial`: a register may have held anything before, or got it from where nothing was recorded:
 * a read of what no transaction wrote has no writer and is nothing wrong (Elle's view). */
void facts_find(struct facts *facts, const struct values *v, bool any_initial);
void facts_release(struct facts *facts);

/* The transaction that wrote an item, or NONE. */
static inline uint32_t facts_writer(const struct facts *facts, uint32_t item)
{
	return facts->writer_txn[item];
}

#endif
