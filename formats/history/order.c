/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The second half of building a history: transactions by begin, operations by transaction, what was
 * undone, who counts as committed, and the version order of every object.  docs/history.md has the
 * rules in words; the numbers below are theirs.
 *
 * Everything is linear in the size of the history: counting sorts, one pass an array, one walk an
 * object; memory beside the history is 4 bytes an operation, object or transaction at a time.
 */
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "history/build.h"

enum {
	PARTS = 2, /* of what is done at the same time */
	PREFETCH_AHEAD = 16,
	/* Up to so many operations a transaction's own writes are searched one by one. */
	SMALL_TXN = 24,
	DISCARD_OPS = 1 << 18,
};

/* What a row may be that was not there; together, since they are looked up together. */
struct ends {
	uint32_t unborn;
	uint32_t dead; /* the DEAD version; NONE or SEVERAL */
	bool begun;    /* it has a recorded initial version */
};

/* What the passes share.  Each of a transaction's versions is written by it alone, so passes over
 * different transactions do not touch the same ones. */
struct finishing {
	struct history_build *build;
	struct history *history;
	uint32_t txns[PARTS + 1]; /* bounds of the parts, by about the same number of operations */
	struct ends *ends; /* by object; NULL: no row was read that was not there */
	uint64_t *unsure; /* by version: its writer's outcome is unknown */
	uint32_t ops_without_txn;
	uint64_t reads_undecided[PARTS];
};

#define SEVERAL BUILD_NIL

/* ---- transactions by begin ---- */

/* Sorts ids by key, stable, least significant digit first. */
static void radix_sort(const uint32_t *keys, uint32_t *ids, uint32_t count)
{
	uint32_t *other = mem_realloc(NULL, count, sizeof(*other));

	for (unsigned shift = 0; shift < 32; shift += 11) {
		uint32_t starts[2049] = {0};
		uint32_t *swap;

		for (uint32_t i = 0; i < count; i++)
			starts[(keys[ids[i]] >> shift & 2047) + 1]++;
		for (unsigned d = 0; d < 2048; d++)
			starts[d + 1] += starts[d];
		for (uint32_t i = 0; i < count; i++)
			other[starts[keys[ids[i]] >> shift & 2047]++] = ids[i];
		swap = ids;
		ids = other;
		other = swap;
	}
	/* Three passes: the result is in what the caller passed as the other array. */
	memcpy(other, ids, count * sizeof(*ids));
	free(ids);
}

static bool txns_are_sorted(const struct history *history)
{
	for (uint32_t t = 1; t < history->txn_count; t++) {
		if (history->txns[t].begin_seq < history->txns[t - 1].begin_seq)
			return false;
	}
	return true;
}

static void renumber(uint32_t *txn, const uint32_t *fresh)
{
	if (*txn != HISTORY_NONE)
		*txn = fresh[*txn];
}

static void sort_txns(struct history_build *build)
{
	struct history *history = build->history;
	uint32_t count = history->txn_count;
	uint32_t *keys, *ids, *fresh;
	struct history_txn *sorted;

	if (txns_are_sorted(history))
		return;
	keys = mem_realloc(NULL, count, sizeof(*keys));
	ids = mem_realloc(NULL, count, sizeof(*ids));
	for (uint32_t t = 0; t < count; t++) {
		keys[t] = history->txns[t].begin_seq;
		ids[t] = t;
	}
	radix_sort(keys, ids, count);
	fresh = keys;
	sorted = mem_realloc(NULL, count, sizeof(*sorted));
	for (uint32_t i = 0; i < count; i++) {
		sorted[i] = history->txns[ids[i]];
		fresh[ids[i]] = i;
	}
	free(ids);
	free(history->txns);
	history->txns = sorted;
	for (uint32_t i = 0; i < history->stmt_count; i++)
		renumber(&history->stmts[i].txn, fresh);
	for (uint32_t i = 0; i < history->op_count; i++)
		renumber(&history->ops[i].txn, fresh);
	for (uint32_t i = 0; i < history->version_count; i++)
		renumber(&history->versions[i].txn, fresh);
	for (uint32_t i = 0; i < history->predicate_count; i++)
		renumber(&history->predicates[i].txn, fresh);
	for (size_t i = 0; i < history->undo_count; i++)
		renumber(&history->undos[i].txn, fresh);
	free(fresh);
}

static void link_sessions(struct history *history)
{
	uint32_t *last = mem_realloc(NULL, history->session_count, sizeof(*last));
	struct history_counts *counts = &history->counts;

	memset(last, 0xff, history->session_count * sizeof(*last));
	for (uint32_t t = 0; t < history->txn_count; t++) {
		struct history_txn *txn = &history->txns[t];
		uint32_t before = last[txn->session];
		uint16_t both = HISTORY_TXN_NO_BEGIN | HISTORY_TXN_NO_END;

		if (before == HISTORY_NONE) {
			history->sessions[txn->session].first_txn = t;
		} else {
			struct history_txn *b = &history->txns[before];

			b->next_in_session = t;
			if (b->end_seq > txn->begin_seq && !(b->flags & HISTORY_TXN_NO_END))
				counts->txns_overlapping++;
		}
		last[txn->session] = t;
		counts->txns_mixed += (txn->flags & HISTORY_TXN_MIXED) != 0;
		counts->txns_undeclared += (txn->flags & both) == both;
		counts->unfinished_txns += (txn->flags & HISTORY_TXN_NO_END) != 0;
		counts->unknown_outcomes += txn->outcome == TXN_UNKNOWN;
	}
	free(last);
}

/* ---- operations by transaction ---- */

/* The transaction an operation belongs to: its probe's, else its statement's.  NONE where it has
 * none, or one of another session. */
static uint32_t op_txn(const struct history *history, const struct history_op *op)
{
	uint32_t txn = op->txn;

	if (op->stmt == HISTORY_NONE)
		return txn;
	if (txn == HISTORY_NONE)
		txn = history->stmts[op->stmt].txn;
	if (txn != HISTORY_NONE && history->txns[txn].session != history->stmts[op->stmt].session)
		txn = HISTORY_NONE;
	return txn;
}

static void forget_op(struct history *history, const struct history_op *op)
{
	history->counts.ops_without_txn++;
	if (op->kind == HISTORY_WRITE) {
		struct history_version *v = &history->versions[op->version];

		v->flags |= HISTORY_VERSION_UNWRITTEN;
		v->txn = HISTORY_NONE;
		v->stmt = HISTORY_NONE;
	} else if (op->kind == HISTORY_PREDICATE) {
		history->predicates[op->predicate].txn = HISTORY_NONE;
	}
}

/* Those without a transaction stand behind the others; returns how many. */
static uint32_t group_ops(struct history *history)
{
	uint32_t total = 0, lonely = 0;
	size_t gone = 0; /* bytes of the operations that were given back */
	struct history_op *grouped;

	for (uint32_t i = 0; i < history->op_count; i++) {
		struct history_op *op = &history->ops[i];
		uint32_t txn = op_txn(history, op);

		if (UNLIKELY(txn != op->txn)) {
			op->txn = txn;
			if (op->kind == HISTORY_WRITE)
				history->versions[op->version].txn = txn;
			else if (op->kind == HISTORY_PREDICATE)
				history->predicates[op->predicate].txn = txn;
		}
		if (txn != HISTORY_NONE)
			history->txns[txn].op_count++;
	}
	for (uint32_t t = 0; t < history->txn_count; t++) {
		history->txns[t].first_op = total;
		total += history->txns[t].op_count;
		history->txns[t].op_count = 0;
	}
	grouped = mem_realloc(NULL, history->op_count, sizeof(*grouped));
	for (uint32_t i = 0; i < history->op_count; i++) {
		const struct history_op *op = &history->ops[i];

		if (op->txn != HISTORY_NONE) {
			struct history_txn *txn = &history->txns[op->txn];

			grouped[txn->first_op + txn->op_count++] = *op;
		} else {
			grouped[total + lonely++] = *op;
		}
		/* Transactions that are open at the same time are few: the pages of what was moved
		 * are those that the next ones need. */
		if (i % DISCARD_OPS == DISCARD_OPS - 1)
			gone = mem_discard(
				history->ops, gone, (size_t)(i + 1) * sizeof(*history->ops));
	}
	free(history->ops);
	history->ops = grouped;
	history->op_count = total;
	return lonely;
}

/* Where an operation stands in its transaction: by statement, reads before writes (invariant 2). */
static uint64_t op_place(const struct history *history, const struct history_op *op)
{
	uint64_t number = op->stmt == HISTORY_NONE ? 0 : history->stmts[op->stmt].number;

	return number << 1 | (op->kind == HISTORY_WRITE);
}

/* Stable merge sort of a run that came out of order; rare. */
static void sort_run(const struct history *history, struct history_op *ops, uint32_t count,
	struct history_op *spare)
{
	uint32_t half = count / 2, i = 0, j = half, k = 0;

	if (count < 2)
		return;
	sort_run(history, ops, half, spare);
	sort_run(history, ops + half, count - half, spare);
	memcpy(spare, ops, half * sizeof(*ops));
	while (i < half && j < count)
		ops[k++] = op_place(history, &ops[j]) < op_place(history, &spare[i]) ? ops[j++]
										     : spare[i++];
	memcpy(ops + k, spare + i, (half - i) * sizeof(*ops));
}

static void undo_op(struct history *history, struct history_op *op)
{
	if (op->kind != HISTORY_WRITE)
		return;
	op->flags |= HISTORY_OP_UNDONE;
	history->versions[op->version].flags |= HISTORY_VERSION_UNDONE;
}

/* On the way, since it looks at each operation's statement: rule 10. */
static void sort_ops(void *data, unsigned part)
{
	const struct finishing *all = data;
	struct history *history = all->history;

	for (uint32_t t = all->txns[part]; t < all->txns[part + 1]; t++) {
		struct history_op *ops = history->ops + history->txns[t].first_op;
		uint32_t count = history->txns[t].op_count;
		uint64_t last = 0;
		bool sorted = true;

		for (uint32_t i = 0; i < count; i++) {
			uint64_t place = op_place(history, &ops[i]);

			if (ops[i].stmt != HISTORY_NONE && history->stmts[ops[i].stmt].error)
				undo_op(history, &ops[i]);
			sorted &= place >= last;
			last = place;
		}
		if (UNLIKELY(!sorted)) {
			struct history_op *spare = mem_realloc(NULL, count / 2 + 1, sizeof(*spare));

			sort_run(history, ops, count, spare);
			free(spare);
		}
	}
}

/* ---- what was taken back ---- */

static int undo_order(const void *a, const void *b)
{
	const struct history_undo *x = a, *y = b;

	if (x->txn != y->txn)
		return x->txn < y->txn ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

/* Rule 9: intervals and operations of a transaction both run by statement number. */
static void undo_savepoints(struct history *history)
{
	size_t u = 0;

	if (history->undo_count)
		qsort(history->undos, history->undo_count, sizeof(*history->undos), undo_order);
	while (u < history->undo_count) {
		const struct history_txn *txn = &history->txns[history->undos[u].txn];
		uint32_t t = history->undos[u].txn;
		uint32_t to = 0; /* the furthest end of the intervals that began before this op */
		uint32_t released = 0; /* ... of those before which no table was touched */
		bool touched = false;

		for (uint32_t i = 0; i < txn->op_count; i++) {
			struct history_op *op = &history->ops[txn->first_op + i];
			uint64_t number = op_place(history, op) >> 1;

			for (; u < history->undo_count && history->undos[u].txn == t &&
				history->undos[u].from < number;
				u++) {
				to = history->undos[u].to > to ? history->undos[u].to : to;
				if (!touched && history->undos[u].to > released)
					released = history->undos[u].to;
			}
			if (number < to)
				undo_op(history, op);
			if (number < released)
				op->flags |= HISTORY_OP_RELEASED;
			else
				touched = true;
		}
		while (u < history->undo_count && history->undos[u].txn == t)
			u++;
	}
}

/* ---- versions by object ---- */

static void prefetch_object(const struct history *history, uint32_t version)
{
	if (version < history->version_count)
		__builtin_prefetch(&history->objects[history->versions[version].object], 1);
}

/* For rows that were not there.  The unborn version is the object's first by id (build.c). */
static void note_ends(struct finishing *all, uint32_t id)
{
	const struct history_version *v = &all->history->versions[id];
	struct ends *ends = &all->ends[v->object];

	if (v->flags & HISTORY_VERSION_UNBORN)
		*ends = (struct ends){.unborn = id, .dead = HISTORY_NONE};
	if (v->flags & HISTORY_VERSION_DEAD)
		ends->dead = ends->dead == HISTORY_NONE ? id : SEVERAL;
	if (v->flags & HISTORY_VERSION_INITIAL)
		ends->begun = true;
}

/* The order array: versions by object, by id; so the unborn one is first. */
static void group_versions(struct finishing *all)
{
	struct history *history = all->history;
	uint32_t total = 0;

	if (all->build->absent_count)
		all->ends = mem_realloc(NULL, history->object_count, sizeof(*all->ends));
	for (uint32_t o = 0; o < history->object_count; o++) {
		history->objects[o].first_order = total;
		total += history->objects[o].order_count;
		history->objects[o].order_count = 0;
	}
	history->order = mem_realloc(NULL, total, sizeof(*history->order));
	history->order_count = total;
	for (uint32_t v = 0; v < history->version_count; v++) {
		struct history_object *object = &history->objects[history->versions[v].object];

		prefetch_object(history, v + PREFETCH_AHEAD);
		history->order[object->first_order + object->order_count++] = v;
		if (all->ends && (history->versions[v].flags &
					 (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD |
						 HISTORY_VERSION_INITIAL)))
			note_ends(all, v);
	}
}

/* ---- own writes: intermediate versions, own deletions, rows that were not there ---- */

/* The latest write of each object by the transaction at hand; for large ones. */
struct own {
	uint32_t txn; /* whose; NONE: nobody's yet */
	uint32_t op;
};

struct own_pass {
	struct history *history;
	const struct finishing *all;
	struct own *own; /* by object; NULL until a large transaction comes */
	uint32_t writes[SMALL_TXN]; /* of the transaction at hand, if it is small */
	unsigned write_count;
	uint64_t reads_undecided;
};

/* The latest write of the object by the transaction so far, as an operation; NONE. */
static uint32_t own_before(const struct own_pass *pass, uint32_t t, uint32_t object)
{
	const struct history *history = pass->history;

	if (history->txns[t].op_count > SMALL_TXN)
		return pass->own[object].txn == t ? pass->own[object].op : HISTORY_NONE;
	for (unsigned k = pass->write_count; k-- > 0;) {
		if (history->ops[pass->writes[k]].object == object)
			return pass->writes[k];
	}
	return HISTORY_NONE;
}

/* Rule 12: the version an absent read saw, where only one is possible. */
static uint32_t absent_version(
	const struct own_pass *pass, uint32_t t, const struct history_op *op, uint32_t own)
{
	const struct history *history = pass->history;
	const struct ends *ends = &pass->all->ends[op->object];
	uint32_t dead = ends->dead;

	if (own != HISTORY_NONE) {
		uint32_t version = history->ops[own].version;

		if (history->versions[version].flags & HISTORY_VERSION_DEAD)
			return version;
	}
	if (dead == SEVERAL)
		return HISTORY_NONE;
	if (dead != HISTORY_NONE) {
		const struct history_version *d = &history->versions[dead];
		bool later = d->txn == t; /* not an own deletion of before, so one to come */

		/* ... or one that was taken back, before this read or after it. */
		if (later && (d->flags & HISTORY_VERSION_UNDONE))
			return HISTORY_NONE;

		if (!later && d->stmt != HISTORY_NONE && op->stmt != HISTORY_NONE)
			later = history->stmts[d->stmt].begin_seq >
				history->stmts[op->stmt].end_seq;
		if (!later)
			return ends->begun ? dead : HISTORY_NONE;
	}
	return ends->unborn;
}

/* What absent_version will look at for operations to come: the ends of the object, then the
 * deletion that they name, then its statement. */
static void prefetch_absent(const struct own_pass *pass, uint32_t i)
{
	enum { STEP = 2 * PREFETCH_AHEAD };
	const struct history *history = pass->history;
	const struct ends *ends = pass->all->ends;
	const struct history_op *op = &history->ops[i];
	uint32_t dead, stmt;

	if (!ends || i + 3 * STEP >= history->op_count)
		return;
	if (op[3 * STEP].flags & HISTORY_OP_ABSENT)
		MEM_PREFETCH(&ends[op[3 * STEP].object]);
	if (op[2 * STEP].flags & HISTORY_OP_ABSENT) {
		dead = ends[op[2 * STEP].object].dead;
		if (dead < SEVERAL)
			MEM_PREFETCH(&history->versions[dead]);
	}
	if (op[STEP].flags & HISTORY_OP_ABSENT) {
		dead = ends[op[STEP].object].dead;
		stmt = dead < SEVERAL ? history->versions[dead].stmt : HISTORY_NONE;
		if (stmt != HISTORY_NONE)
			MEM_PREFETCH(&history->stmts[stmt]);
	}
}

static void own_txn(struct own_pass *pass, uint32_t t)
{
	struct history *history = pass->history;
	const struct history_txn *txn = &history->txns[t];

	if (txn->op_count > SMALL_TXN && !pass->own) {
		pass->own = mem_realloc(NULL, history->object_count, sizeof(*pass->own));
		memset(pass->own, 0xff, history->object_count * sizeof(*pass->own));
	}
	pass->write_count = 0;
	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
		struct history_op *op = &history->ops[i];
		struct history_version *v;
		uint32_t own;

		prefetch_absent(pass, i);
		if (op->kind == HISTORY_READ && (op->flags & HISTORY_OP_ABSENT)) {
			op->version = absent_version(pass, t, op, own_before(pass, t, op->object));
			pass->reads_undecided += op->version == HISTORY_NONE;
			continue;
		}
		if (op->kind != HISTORY_WRITE || (op->flags & HISTORY_OP_UNDONE))
			continue;
		own = own_before(pass, t, op->object);
		v = &history->versions[op->version];
		if (own != HISTORY_NONE) {
			uint32_t before = history->ops[own].version;

			history->versions[before].flags |= HISTORY_VERSION_INTERMEDIATE;
			/* Rule 6: what this transaction inserts where it deleted before. */
			if (v->previous == BUILD_NIL &&
				(history->versions[before].flags & HISTORY_VERSION_DEAD))
				v->previous = before;
		}
		if (txn->op_count > SMALL_TXN)
			pass->own[op->object] = (struct own){t, i};
		else
			pass->writes[pass->write_count++] = i;
	}
}

static void own_writes(void *data, unsigned part)
{
	struct finishing *all = data;
	struct own_pass pass = {.history = all->history, .all = all};

	for (uint32_t t = all->txns[part]; t < all->txns[part + 1]; t++) {
		own_txn(&pass, t);
		history_check_txn(all->history, t);
	}
	all->reads_undecided[part] = pass.reads_undecided;
	free(pass.own);
}

/* ---- who counts as committed ---- */

static bool bit_get(const uint64_t *bits, uint32_t i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static void bit_set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= (uint64_t)1 << (i % 64);
}

static uint64_t *bits_new(uint32_t count)
{
	return mem_zero((size_t)count / 64 + 1, sizeof(uint64_t));
}

static void observe(struct history *history, const uint64_t *unsure, uint32_t version, uint32_t by)
{
	uint32_t txn;

	if (version >= history->version_count || LIKELY(!bit_get(unsure, version)))
		return;
	txn = history->versions[version].txn;
	/* The other part may do the same. */
	if (txn != by)
		__atomic_fetch_or(
			&history->txns[txn].flags, HISTORY_TXN_OBSERVED, __ATOMIC_RELAXED);
}

/* What transactions of unknown outcome wrote. */
static void mark_unsure(struct finishing *all)
{
	struct history *history = all->history;

	all->unsure = bits_new(history->version_count);
	for (uint32_t t = 0; t < history->txn_count; t++) {
		struct history_txn *txn = &history->txns[t];

		if (txn->outcome != TXN_UNKNOWN)
			continue;
		for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
			const struct history_op *op = &history->ops[i];

			if (op->kind != HISTORY_WRITE)
				continue;
			bit_set(all->unsure, op->version);
			if (history->versions[op->version].flags & HISTORY_VERSION_FINAL)
				txn->flags |= HISTORY_TXN_OBSERVED;
		}
	}
}

static void observe_part(void *data, unsigned part)
{
	const struct finishing *all = data;
	struct history *history = all->history;
	const uint64_t *unsure = all->unsure;
	uint64_t versions = history->version_count, ops = history->op_count;

	for (uint64_t i = versions * part / PARTS; i < versions * (part + 1) / PARTS; i++)
		observe(history, unsure, history->versions[i].previous, history->versions[i].txn);
	for (uint64_t i = ops * part / PARTS; i < ops * (part + 1) / PARTS; i++) {
		const struct history_op *op = &history->ops[i];

		if (op->kind == HISTORY_READ && op->read_kind != PROBE_READ_DIRTY)
			observe(history, unsure, op->version, op->txn);
		if (op->kind == HISTORY_PREDICATE && op->read_kind != PROBE_READ_DIRTY) {
			const struct history_predicate *p = &history->predicates[op->predicate];

			for (uint32_t k = 0; k < p->match_count; k++)
				observe(history, unsure,
					history->predicate_versions[p->first_match + k], op->txn);
			for (uint32_t k = 0; k < p->set_count; k++)
				observe(history, unsure,
					history->predicate_versions[p->first_set + k], op->txn);
		}
	}
}

/* Rule 13. */
static void observe_unknown(struct finishing *all)
{
	struct history *history = all->history;

	if (!history->counts.unknown_outcomes)
		return;
	mark_unsure(all);
	parallel_run(observe_part, all, PARTS);
	free(all->unsure);
	for (uint32_t t = 0; t < history->txn_count; t++)
		history->counts.unknown_counted_committed +=
			(history->txns[t].flags & HISTORY_TXN_OBSERVED) != 0;
}

/* ---- the order of an object's versions ---- */

/* What stands before a version, found by following `previous` over what does not stand. */
#define BEFORE_ROOT    UINT32_MAX       /* no row */
#define BEFORE_UNKNOWN (UINT32_MAX - 1) /* not recorded, or not exactly */
#define BEFORE_CYCLE   (UINT32_MAX - 2)
#define BEFORE_UNSEEN  (UINT32_MAX - 3) /* not looked at */
#define BEFORE_OPEN    (UINT32_MAX - 4) /* on the walk at hand */
#define BEFORE_MAX     (UINT32_MAX - 5) /* the largest that is an index */

/* A run of versions from one that had no row before it to one that nothing overwrote. */
struct life {
	uint32_t first, last; /* indexes among the object's versions */
	uint32_t start;       /* the first one that was written here; NONE: none was */
	uint64_t rank;        /* to sort by */
};

struct order_pass {
	struct history *history;
	uint64_t *committed; /* by transaction */
	/* For the object at hand, by index among its versions. */
	uint32_t *before, *next, *stack, *sorted;
	bool *stands;
	size_t capacity;
	struct life *lives;
	size_t life_count, life_capacity;
	uint32_t *ids, count;
	struct history_object *object;
	uint64_t unknown, unwritten; /* for history_counts */
};

static bool stands(const struct order_pass *pass, const struct history_version *v)
{
	uint16_t not_last = HISTORY_VERSION_INTERMEDIATE | HISTORY_VERSION_UNDONE;

	if (v->flags & (HISTORY_VERSION_INITIAL | HISTORY_VERSION_UNBORN))
		return true;
	return v->txn != HISTORY_NONE && !(v->flags & not_last) && bit_get(pass->committed, v->txn);
}

enum { DIRECT_STEPS_MAX = 8 };

/* Most objects: what stands came in version order, each naming the one before, perhaps over a few
 * versions that do not stand.  False: look closer. */
static bool order_directly(struct order_pass *pass)
{
	struct history_version *versions = pass->history->versions;
	uint32_t last = pass->ids[0], k = 1;

	for (uint32_t i = 1; i < pass->count; i++) {
		struct history_version *v = &versions[pass->ids[i]];
		uint32_t p = v->previous;

		if (!stands(pass, v)) {
			/* Nobody's: perhaps the initial one. */
			if (v->flags & HISTORY_VERSION_UNWRITTEN)
				return false;
			continue;
		}
		if (v->flags & HISTORY_VERSION_DUPLICATE)
			return false;
		if (v->flags & HISTORY_VERSION_INITIAL) {
			if (k > 1)
				return false;
		} else {
			if (!(v->flags & HISTORY_VERSION_EXACT))
				return false;
			for (int step = 0; p != last; step++) {
				if (p == BUILD_NIL && k == 1)
					break;
				if (step == DIRECT_STEPS_MAX || p >= BUILD_NIL ||
					stands(pass, &versions[p]) ||
					!(versions[p].flags & HISTORY_VERSION_EXACT))
					return false;
				p = versions[p].previous;
			}
		}
		last = pass->ids[i];
		pass->sorted[k++] = i;
	}
	pass->object->installed_count = k;
	return true;
}

static void order_reserve(struct order_pass *pass, uint32_t count)
{
	size_t fresh = pass->capacity ? pass->capacity : 64;

	if (count <= pass->capacity)
		return;
	while (fresh < count)
		fresh *= 2;
	pass->capacity = fresh;
	pass->before = mem_realloc(pass->before, fresh, sizeof(*pass->before));
	pass->next = mem_realloc(pass->next, fresh, sizeof(*pass->next));
	pass->stack = mem_realloc(pass->stack, fresh, sizeof(*pass->stack));
	pass->sorted = mem_realloc(pass->sorted, fresh, sizeof(*pass->sorted));
	pass->stands = mem_realloc(pass->stands, fresh, sizeof(*pass->stands));
}

static struct history_version *version_of(const struct order_pass *pass, uint32_t i)
{
	return &pass->history->versions[pass->ids[i]];
}

/* Where the walk from version i ends, as far as i alone tells: an index to go on from, or a
 * BEFORE_ value. */
static uint32_t step_before(const struct order_pass *pass, uint32_t i)
{
	const struct history_version *v = version_of(pass, i);

	if (v->flags & HISTORY_VERSION_INITIAL)
		return BEFORE_ROOT;
	if (!(v->flags & HISTORY_VERSION_EXACT) || v->previous == HISTORY_NONE)
		return BEFORE_UNKNOWN;
	if (v->previous == BUILD_NIL)
		return BEFORE_ROOT;
	return pass->history->versions[v->previous].position;
}

/* Fills before[i] and that of everything on the way; each version is walked over once. */
static void walk_before(struct order_pass *pass, uint32_t i)
{
	uint32_t depth = 0, result;

	for (;;) {
		uint32_t step;

		pass->before[i] = BEFORE_OPEN;
		pass->stack[depth++] = i;
		step = step_before(pass, i);
		if (step > BEFORE_MAX) {
			result = step;
			break;
		}
		if (pass->stands[step] ||
			(version_of(pass, step)->flags & HISTORY_VERSION_UNWRITTEN)) {
			result = step == 0 ? BEFORE_ROOT : step;
			break;
		}
		if (pass->before[step] == BEFORE_OPEN) {
			result = BEFORE_CYCLE;
			break;
		}
		if (pass->before[step] != BEFORE_UNSEEN) {
			result = pass->before[step];
			break;
		}
		i = step;
	}
	while (depth)
		pass->before[pass->stack[--depth]] = result;
}

static bool order_problem(struct order_pass *pass, enum history_order_problem problem, uint32_t i)
{
	pass->object->order_problem = (uint8_t)problem;
	pass->object->problem_version = pass->ids[i];
	return false;
}

/* Rule 15: a version that nobody wrote begins the object, where that can be. */
static bool presume_initial(struct order_pass *pass)
{
	uint32_t reached = 0, unwritten = 0, standing = 0, initial = 0;

	for (uint32_t i = 1; i < pass->count; i++) {
		if (version_of(pass, i)->flags & HISTORY_VERSION_INITIAL)
			initial = i;
	}
	for (uint32_t i = 1; i < pass->count; i++) {
		uint16_t flags = version_of(pass, i)->flags;
		uint32_t b = pass->before[i];

		if (flags & HISTORY_VERSION_UNWRITTEN) {
			unwritten = unwritten == 0 ? i : BEFORE_MAX;
			continue;
		}
		if (!pass->stands[i])
			continue;
		standing++;
		if (b <= BEFORE_MAX && (version_of(pass, b)->flags & HISTORY_VERSION_UNWRITTEN)) {
			if (reached && reached != b)
				return order_problem(pass, HISTORY_ORDER_BROKEN, i);
			if (initial || (version_of(pass, b)->flags & HISTORY_VERSION_DEAD) ||
				pass->history->tables[pass->object->table].has_initial_rows)
				return order_problem(pass, HISTORY_ORDER_BROKEN, i);
			reached = b;
		}
	}
	if (pass->history->tables[pass->object->table].has_initial_rows)
		return true;
	if (!reached && !standing && unwritten && unwritten != BEFORE_MAX &&
		!(version_of(pass, unwritten)->flags & HISTORY_VERSION_DEAD))
		reached = unwritten;
	if (reached) {
		version_of(pass, reached)->flags |= HISTORY_VERSION_INITIAL;
		pass->stands[reached] = true;
		pass->before[reached] = BEFORE_ROOT;
	}
	return true;
}

/* What no order can be made from, the plainest first (docs/history.md, rule 16). */
static bool check_links(struct order_pass *pass)
{
	uint32_t initial = 0;

	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i] && (version_of(pass, i)->flags & HISTORY_VERSION_DUPLICATE))
			return order_problem(pass, HISTORY_ORDER_BROKEN, i);
	}
	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i] && pass->before[i] == BEFORE_UNKNOWN)
			return order_problem(pass, HISTORY_ORDER_UNKNOWN, i);
	}
	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i] && pass->before[i] == BEFORE_CYCLE)
			return order_problem(pass, HISTORY_ORDER_CYCLE, i);
	}
	if (!presume_initial(pass))
		return false;
	for (uint32_t i = 1; i < pass->count; i++) {
		if (!pass->stands[i])
			continue;
		if (version_of(pass, i)->flags & HISTORY_VERSION_INITIAL) {
			if (initial)
				return order_problem(pass, HISTORY_ORDER_BROKEN, i);
			initial = i;
		}
		if (pass->before[i] > BEFORE_MAX)
			continue;
		if (pass->next[pass->before[i]] != HISTORY_NONE)
			return order_problem(pass, HISTORY_ORDER_FORK, i);
		pass->next[pass->before[i]] = i;
	}
	return true;
}

/* Splits what stands into lives; what no life reaches goes round in a circle. */
static bool find_lives(struct order_pass *pass)
{
	uint32_t seen = 0, standing = 0;

	pass->life_count = 0;
	for (uint32_t i = 1; i < pass->count; i++) {
		struct life life = {i, i, HISTORY_NONE, 0};

		standing += pass->stands[i];
		if (!pass->stands[i] || pass->before[i] != BEFORE_ROOT)
			continue;
		for (uint32_t k = i; k != HISTORY_NONE; k = pass->next[k]) {
			pass->stack[seen++] = k;
			life.last = k;
			if (life.start == HISTORY_NONE &&
				!(version_of(pass, k)->flags & HISTORY_VERSION_INITIAL))
				life.start = k;
		}
		MEM_RESERVE(pass->lives, pass->life_count + 1, pass->life_capacity);
		pass->lives[pass->life_count++] = life;
	}
	if (seen == standing)
		return true;
	/* Marks what was seen, to name the first that was not. */
	for (uint32_t k = 0; k < seen; k++)
		pass->stands[pass->stack[k]] = false;
	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i])
			return order_problem(pass, HISTORY_ORDER_CYCLE, i);
	}
	BUG("a circle without a member");
}

static uint32_t start_end_seq(const struct order_pass *pass, const struct life *life)
{
	uint32_t stmt =
		life->start == HISTORY_NONE ? HISTORY_NONE : version_of(pass, life->start)->stmt;

	return stmt == HISTORY_NONE ? HISTORY_NONE : pass->history->stmts[stmt].end_seq;
}

static bool ends_dead(const struct order_pass *pass, const struct life *life)
{
	return version_of(pass, life->last)->flags & HISTORY_VERSION_DEAD;
}

static bool is_initial(const struct order_pass *pass, const struct life *life)
{
	uint16_t both = HISTORY_VERSION_INITIAL | HISTORY_VERSION_UNWRITTEN;

	return (version_of(pass, life->first)->flags & both) == HISTORY_VERSION_INITIAL;
}

/* Did the statement that wrote version i surely begin after life a's first write was answered? */
static bool began_after(const struct order_pass *pass, uint32_t i, const struct life *a)
{
	uint32_t stmt = i == HISTORY_NONE ? HISTORY_NONE : version_of(pass, i)->stmt;

	return stmt != HISTORY_NONE &&
	       pass->history->stmts[stmt].begin_seq > start_end_seq(pass, a);
}

/* b was not over before a began. */
static bool not_over_before(
	const struct order_pass *pass, const struct life *b, const struct life *a)
{
	return !ends_dead(pass, b) || began_after(pass, b->last, a) ||
	       began_after(pass, b->start, a);
}

/* Marks the last versions of lives that a transaction of unknown outcome perhaps deleted. */
#define NEXT_PERHAPS (HISTORY_NONE - 1)

static void mark_perhaps_deleted(struct order_pass *pass)
{
	uint16_t gone = HISTORY_VERSION_INTERMEDIATE | HISTORY_VERSION_UNDONE;

	for (uint32_t i = 1; i < pass->count; i++) {
		const struct history_version *v = version_of(pass, i);
		uint32_t p;

		if (!(v->flags & HISTORY_VERSION_DEAD) || (v->flags & gone) || pass->stands[i] ||
			v->previous >= BUILD_NIL || v->txn == HISTORY_NONE ||
			pass->history->txns[v->txn].outcome != TXN_UNKNOWN)
			continue;
		p = pass->history->versions[v->previous].position;
		if (pass->next[p] == HISTORY_NONE)
			pass->next[p] = NEXT_PERHAPS;
	}
}

/* The life that nothing ended is the last one only if nothing can have ended it: no transaction of
 * unknown outcome deleted it, and no other life began after it was there. */
static bool may_be_last(struct order_pass *pass)
{
	const struct life *last = &pass->lives[pass->life_count - 1];
	bool perhaps = pass->next[last->last] == NEXT_PERHAPS;

	if (ends_dead(pass, last))
		return true;
	for (size_t k = 0; k + 1 < pass->life_count; k++) {
		const struct life *life = &pass->lives[k];

		if (is_initial(pass, life) || life->start == HISTORY_NONE)
			continue;
		if (perhaps)
			return order_problem(pass, HISTORY_ORDER_UNDECIDED, last->first);
		if (began_after(pass, life->start, last))
			return order_problem(pass, HISTORY_ORDER_BROKEN, life->first);
	}
	return true;
}

static int life_order(const void *a, const void *b)
{
	const struct life *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Rule 17: the lives of an object one after the other.  All but the last end in a deletion; the one
 * with the recorded initial version is first; time decides between the others, where it can. */
static bool order_lives(struct order_pass *pass)
{
	struct life *lives = pass->lives;
	size_t alive = 0, perhaps = 0;

	for (size_t k = 0; k < pass->life_count; k++) {
		bool initial = is_initial(pass, &lives[k]), dead = ends_dead(pass, &lives[k]);

		lives[k].rank = (uint64_t)(initial ? 0
					   : dead  ? 1
						   : 2)
					<< 32 |
				start_end_seq(pass, &lives[k]);
	}
	qsort(lives, pass->life_count, sizeof(*lives), life_order);
	mark_perhaps_deleted(pass);
	for (size_t k = 0; k + 1 < pass->life_count; k++) {
		if (!ends_dead(pass, &lives[k])) {
			alive++;
			perhaps += pass->next[lives[k].last] == NEXT_PERHAPS;
		}
	}
	if (alive)
		return order_problem(pass,
			alive == perhaps ? HISTORY_ORDER_UNDECIDED : HISTORY_ORDER_BROKEN,
			lives[pass->life_count - 1].first);
	if (!may_be_last(pass))
		return false;
	for (size_t k = 0; k + 1 < pass->life_count; k++) {
		const struct life *a = &lives[k], *b = &lives[k + 1];

		/* The deletion began after what follows it was there. */
		if (not_over_before(pass, a, b))
			return order_problem(pass, HISTORY_ORDER_BROKEN, b->first);
		if (!is_initial(pass, a) && !not_over_before(pass, b, a))
			return order_problem(pass, HISTORY_ORDER_UNKNOWN, b->first);
	}
	return true;
}

/* Rule 18: what of it was committed is not known. */
static bool order_is_mixed(struct order_pass *pass)
{
	for (uint32_t i = 1; i < pass->count; i++) {
		uint32_t txn = version_of(pass, i)->txn;

		if (txn != HISTORY_NONE && pass->history->txns[txn].flags & HISTORY_TXN_MIXED) {
			order_problem(pass, HISTORY_ORDER_UNKNOWN, i);
			return true;
		}
	}
	return false;
}

/* Any object: follows the links, looks for what contradicts itself, and puts the lives in order. */
static bool order_closely(struct order_pass *pass)
{
	uint32_t k = 1;

	for (uint32_t i = 0; i < pass->count; i++) {
		version_of(pass, i)->position = i;
		pass->stands[i] = stands(pass, version_of(pass, i));
		pass->before[i] = BEFORE_UNSEEN;
		pass->next[i] = HISTORY_NONE;
	}
	for (uint32_t i = 1; i < pass->count; i++) {
		if (pass->stands[i])
			walk_before(pass, i);
	}
	if (!check_links(pass) || !find_lives(pass))
		return false;
	if (pass->life_count > 1 && !order_lives(pass))
		return false;
	for (size_t n = 0; n < pass->life_count; n++) {
		uint32_t last = n ? pass->lives[n - 1].last : 0;
		struct history_version *first = version_of(pass, pass->lives[n].first);

		/* Rule 6: an INSERT overwrote the deletion before it. */
		if (first->previous == BUILD_NIL)
			first->previous = pass->ids[last];
		for (uint32_t i = pass->lives[n].first; i < NEXT_PERHAPS; i = pass->next[i])
			pass->sorted[k++] = i;
	}
	pass->object->installed_count = k;
	return true;
}

/* Writes the order down: what stands by `sorted`, the rest by id. */
static void order_write(struct order_pass *pass)
{
	struct history_object *object = pass->object;
	bool known = object->order_known;
	bool any_dead = false;
	uint32_t installed = known ? object->installed_count : 1;
	uint32_t rest = installed;
	uint32_t first = installed > 1 ? pass->sorted[1] : 0;

	for (uint32_t i = 0; i < pass->count; i++) {
		struct history_version *v = version_of(pass, i);

		v->position = HISTORY_NONE;
		any_dead |= (v->flags & HISTORY_VERSION_DEAD) != 0;
		if (stands(pass, v))
			v->flags |= HISTORY_VERSION_INSTALLED;
		else if (v->flags & HISTORY_VERSION_UNWRITTEN)
			pass->unwritten++;
	}
	pass->sorted[0] = 0;
	for (uint32_t k = 0; k < installed; k++)
		version_of(pass, pass->sorted[k])->position = k;
	for (uint32_t i = 0; i < pass->count; i++) {
		struct history_version *v = version_of(pass, i);

		/* Nothing was there: unborn, where the object never died. */
		if (v->previous == BUILD_NIL)
			v->previous = any_dead && i != first ? HISTORY_NONE : pass->ids[0];
		if (v->position == HISTORY_NONE)
			pass->stack[rest++] = pass->ids[i];
	}
	for (uint32_t k = 0; k < installed; k++)
		pass->stack[k] = pass->ids[pass->sorted[k]];
	memcpy(pass->ids, pass->stack, pass->count * sizeof(*pass->ids));
}

static void order_range(struct order_pass *pass, uint32_t from, uint32_t to)
{
	struct history *history = pass->history;
	uint32_t end = to < history->object_count ? history->objects[to].first_order
						  : history->order_count;

	for (uint32_t o = from; o < to; o++) {
		struct history_object *object = &history->objects[o];
		uint32_t ahead = object->first_order + PREFETCH_AHEAD;

		for (uint32_t k = 0; k < object->order_count; k++, ahead++) {
			if (ahead < end)
				MEM_PREFETCH(&history->versions[history->order[ahead]]);
		}
		pass->object = object;
		pass->ids = history->order + object->first_order;
		pass->count = object->order_count;
		order_reserve(pass, pass->count + 1);
		object->order_known = !(history->counts.txns_mixed && order_is_mixed(pass)) &&
				      (order_directly(pass) || order_closely(pass));
		pass->unknown += !object->order_known;
		if (!object->order_known)
			object->installed_count = 1;
		order_write(pass);
		history_check_object(history, o);
	}
	free(pass->before);
	free(pass->next);
	free(pass->stack);
	free(pass->sorted);
	free(pass->stands);
	free(pass->lives);
}

struct order_objects {
	struct order_pass passes[PARTS];
	uint32_t bounds[PARTS + 1]; /* objects of each */
};

static void order_part(void *data, unsigned part)
{
	struct order_objects *all = data;

	order_range(&all->passes[part], all->bounds[part], all->bounds[part + 1]);
}

/* An order concerns the versions of its object and nothing else, so objects can be put in order at
 * the same time; each part has about the same number of versions. */
static void order_objects(struct history *history, uint64_t *committed)
{
	struct order_objects all = {.bounds = {0}};
	uint32_t o = 0;

	for (unsigned part = 0; part < PARTS; part++) {
		uint64_t end = (uint64_t)history->order_count * (part + 1) / PARTS;

		all.passes[part] = (struct order_pass){.history = history, .committed = committed};
		while (o < history->object_count && history->objects[o].first_order < end)
			o++;
		all.bounds[part + 1] = o;
	}
	parallel_run(order_part, &all, PARTS);
	for (unsigned part = 0; part < PARTS; part++) {
		history->counts.orders_unknown += all.passes[part].unknown;
		history->counts.unwritten_versions += all.passes[part].unwritten;
	}
}

static void count_rest(struct history *history)
{
	struct history_counts *counts = &history->counts;

	for (uint32_t i = 0; i < history->stmt_count; i++) {
		uint32_t flags = history->stmts[i].flags;

		counts->stmts_without_probe +=
			(flags & HISTORY_STMT_DATA) &&
			!(flags & (HISTORY_STMT_PROBE | HISTORY_STMT_INJECTED));
	}
	for (uint32_t i = 0; i < history->session_count; i++)
		counts->opaque_sessions += history->sessions[i].opaque;
	for (uint32_t i = 0; i < history->predicate_count; i++) {
		uint32_t stmt = history->predicates[i].stmt;

		if (stmt != HISTORY_NONE && (history->stmts[stmt].flags & HISTORY_STMT_WRITES))
			history->predicates[i].flags |= HISTORY_PREDICATE_WRITE;
	}
}

/* Which versions an object has depends on nothing that happens to operations meanwhile. */
static void group_part(void *data, unsigned part)
{
	struct finishing *all = data;

	if (part > 0) {
		group_versions(all);
		return;
	}
	sort_txns(all->build);
	link_sessions(all->history);
	all->ops_without_txn = group_ops(all->history);
}

static void choose_parts(struct finishing *all)
{
	const struct history *history = all->history;
	uint32_t t = 0;

	for (unsigned part = 0; part < PARTS; part++) {
		uint64_t end = (uint64_t)history->op_count * (part + 1) / PARTS;

		while (t < history->txn_count &&
			(part + 1 == PARTS || history->txns[t].first_op < end))
			t++;
		all->txns[part + 1] = t;
	}
}

void build_orders(struct history_build *build)
{
	struct history *history = build->history;
	struct finishing all = {.build = build, .history = history};
	uint64_t *committed;

	parallel_run(group_part, &all, 2);
	for (uint32_t i = 0; i < all.ops_without_txn; i++)
		forget_op(history, &history->ops[history->op_count + i]);
	choose_parts(&all);
	parallel_run(sort_ops, &all, PARTS);
	undo_savepoints(history);
	parallel_run(own_writes, &all, PARTS);
	for (unsigned part = 0; part < PARTS; part++)
		history->counts.reads_undecided += all.reads_undecided[part];
	free(all.ends);
	observe_unknown(&all);
	committed = bits_new(history->txn_count);
	for (uint32_t t = 0; t < history->txn_count; t++) {
		if (history_committed(history, t))
			bit_set(committed, t);
	}
	order_objects(history, committed);
	free(committed);
	count_rest(history);
	history_check_rest(history);
}
