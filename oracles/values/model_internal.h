/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the question to the solver share: model.c, model_open.c, model_lists.c,
 * model_weak.c, model_guarantees.c. */
#ifndef VALUES_MODEL_INTERNAL_H
#define VALUES_MODEL_INTERNAL_H

#include "base/mem.h"
#include "values/model.h"
#include "values/solver.h"

enum {
	TRUE_LITERAL = 0,
	MODEL_PLACES_MAX = 24 * 1000 * 1000, /* edges and clauses; more is not tried (--budget) */
};

#define INITIAL_STATE (VALUES_NONE - 1)

/* How dependencies become edges of events. */
enum shape {
	SHAPE_FLAT,   /* a node a transaction */
	SHAPE_SI,     /* start and commit; writers of a key one after the other */
	SHAPE_PREFIX, /* start and commit; writers of a key commit one after the other */
};

enum edge_kind { EDGE_WW, EDGE_WR, EDGE_RW, EDGE_ORDER };

/* A transaction that may have written what was read, and the literal that says it did. */
struct candidate {
	uint32_t txn, literal; /* INITIAL_STATE: what the key held at first */
};

struct read {
	uint32_t txn, op, key;
	uint32_t first, count; /* candidates */
};

/* A place of a list: the appends that may have made it. */
struct place {
	uint32_t first, count; /* in place_ops */
};

struct place_op {
	uint32_t op, literal;
};

/* Two writers of a key whose order is open. */
struct open_pair {
	uint32_t other;   /* place in by_chain */
	uint32_t literal; /* that it comes later */
};

struct model {
	const struct facts *f;
	const struct values *v;
	enum model_level level;
	enum cycle_order order;
	enum shape shape;
	const uint8_t *only; /* by transaction; NULL: all */
	const struct model_hints *hints;
	struct solver *solver;
	uint8_t *live;     /* by transaction: 1 counts, 2 perhaps */
	uint32_t *turn;    /* by transaction: its place in its session */
	uint32_t *dense;   /* by transaction: its number among those that are live */
	uint32_t *of_node; /* the other way */
	uint32_t live_count;
	uint32_t *counted; /* by transaction: literal that it counts */
	struct read *reads;
	size_t read_count, read_capacity;
	struct candidate *candidates;
	size_t candidate_count, candidate_capacity;
	uint32_t *reads_of;              /* by transaction: reads; txn_count + 1 */
	uint32_t *writer_head, *writers; /* by key: transactions that write the register */
	uint32_t *writer_op;
	uint32_t *all_head, *all_writes; /* by key: writes of all live transactions; with predicates */
	uint64_t *pair_base;             /* by key: its first pair of writers */
	uint32_t *pairs;                 /* by pair: the literal that says the order (model_orders.c) */
	/* With hints by chains: only pairs whose order is open have an entry. */
	uint32_t *by_chain, *group_head, *groups; /* of the writers, as reach_group() makes them */
	uint32_t *rank;                           /* as writers: place in by_chain */
	uint32_t *open_head;                      /* as writers: entries */
	struct open_pair *open;
	size_t open_count, open_capacity;
	uint8_t *is_read;                /* as writers: a read may have seen the version */
	uint8_t *reads_itself;           /* as writers: the writer read the key */
	uint32_t *reader;                /* as writers: one that certainly saw the version */
	struct place *places;            /* by place in v->order */
	uint8_t *floating;               /* by item: nothing is said on where it is in its list */
	struct place_op *place_ops;
	size_t place_op_count, place_op_capacity;
	bool incomplete; /* something cannot be asked */
};

static inline bool is_weak(enum model_level level)
{
	return level >= MODEL_RC && level <= MODEL_CC;
}

static inline bool is_guarantee(enum model_level level)
{
	return level >= MODEL_RYW;
}

/* Does the level ask that a transaction sees its own as it made it? */
static inline bool is_internal(enum model_level level)
{
	return level >= MODEL_PL_3 && level <= MODEL_PL_SI;
}

/* Do anti-dependencies take part in the cycles that are forbidden? */
static inline bool has_anti(enum model_level level)
{
	return level >= MODEL_PL_2L && level <= MODEL_FCV;
}

/* Fills live, turn, dense, of_node, reads, candidates, writers. */
void model_open(struct model *m);

/* The writes of an item by transactions that may have committed. */
struct item_writes {
	const struct model *m;
	uint32_t item, dup;
	bool first;
};

struct item_writes model_item_writes(const struct model *m, uint32_t item);
uint32_t model_next_write(struct item_writes *w);

/* Edges and clauses of a question; more is not tried. */
static inline uint64_t model_places_max(const struct model *m)
{
	return MODEL_PLACES_MAX * m->f->scale;
}

/* Is the transaction part of the question? */
static inline bool inside(const struct model *m, uint32_t t)
{
	return m->live[t] && (!m->only || m->only[t]);
}

static inline bool is_list(const struct values *v, uint32_t key)
{
	return (v->keys[key].flags & VALUES_KEY_LIST) != 0;
}

static inline uint32_t model_commit_node(const struct model *m, uint32_t t)
{
	return m->shape == SHAPE_FLAT ? m->dense[t] : 2 * m->dense[t] + 1;
}

/* Place of a transaction among the writers of a register; NONE. */
uint32_t model_writer_place(const struct model *m, uint32_t key, uint32_t txn);
/* The pairs of writers that need an order.  Returns how many edges orders and reads will have;
 * UINT64_MAX: too many pairs. */
uint64_t model_classify_pairs(struct model *m);
/* Their variables; the edge goes with the answer. */
void model_order_registers(struct model *m);
/* Literal that the a-th writer of the key comes before the b-th. */
uint32_t model_before(const struct model *m, uint32_t key, uint32_t a, uint32_t b);
/* With pairs in chains: the first writer of group g that is known to come after this one; the end of
 * the group: none. */
uint32_t model_first_after(const struct model *m, uint32_t g, uint32_t txn);
/* Does it matter where in a transaction an edge arrives?  Then an edge between two whose order is
 * known may still say something. */
static inline bool places_matter(const struct model *m)
{
	return m->level == MODEL_PL_2L;
}

/* With hints: would the edge say what is known? */
bool model_known(const struct model *m, uint32_t from, uint32_t to, enum edge_kind kind);

/* A clause that says "not all of these"; constants are left out.  `who` is blamed. */
void model_forbid(struct model *m, const uint32_t *literals, uint32_t count, uint32_t who);
/* A literal that is true when both are. */
uint32_t model_both(struct model *m, uint32_t a, uint32_t b, uint32_t who);
/* A dependency that is there when both literals are true (and both transactions count). */
void model_edge(struct model *m, uint32_t from, uint32_t to, enum edge_kind kind, uint32_t place,
	uint32_t first, uint32_t second);

/* Lists: orders, reads, and what cursor stability asks of them. */
void model_lists(struct model *m);
/* The axioms of be-RC, be-RA and be-CC, a read. */
void model_weak_read(struct model *m, const struct read *read);
enum solver_answer model_solve_causal(struct model *m, uint64_t *steps);
/* Session guarantees; nodes are the writers of registers. */
void model_guarantees(struct model *m);

#endif
