/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The second half of building a history: transactions by begin, operations by transaction, what was
 * undone, which count as committed; then the version orders (version_order.c).  history.md has the
 * rules in words; the numbers below are theirs.
 *
 * Everything is linear in the size of the history: counting sorts, one pass an array, one walk an
 * object; memory beside the history is 4 bytes an operation, object or transaction at a time.
 */
#include "model/history/finish.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/parallel.h"

enum {
	/* Up to so many operations a transaction's own writes are searched one by one. */
	SMALL_TXN = 24,
	DISCARD_OPS = 1 << 18,
	OPS_AHEAD = 4 * PREFETCH_AHEAD,
};

/* What a row may be that was not there, and what must be known of the deletion: together, since
 * they are looked up together, and objects are read in no order. */
struct ends {
	uint32_t unborn;
	uint32_t dead;         /* the DEAD version; NONE or SEVERAL */
	uint32_t begin_seq;    /* of its statement; 0: not known */
	uint32_t session : 24; /* of its statement; DEAD_ANY: there is none */
	uint32_t begun : 8;    /* it has a recorded initial version */
};

#define DEAD_ANY 0xffffffu /* sessions are fewer */

/* What the passes share.  Each of a transaction's versions is written by it alone, so passes over
 * different transactions do not touch the same ones. */
struct finishing {
	struct history_build *build;
	struct history *history;
	uint32_t txns[FINISH_PARTS +
		      1];  /* bounds of the parts, by about the same number of operations */
	struct ends *ends; /* by object; NULL: no row was read that was not there */
	uint32_t *fresh;   /* by the id that a transaction had: the one it has; NULL: the same */
	uint32_t *unknown; /* transactions of unknown outcome */
	size_t unknown_count, unknown_capacity;
	uint64_t *unsure; /* by version: its writer's outcome is unknown */
	uint32_t ops_without_txn;
	uint64_t reads_undecided[FINISH_PARTS];
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
	mem_free(ids);
}

static bool txns_are_sorted(const struct history *history)
{
	for (uint32_t t = 1; t < history->txn_count; t++) {
		if (history->txns[t].begin_seq < history->txns[t - 1].begin_seq)
			return false;
	}
	return true;
}

/* Puts what stands at ids[i] at i, in place: a second array of transactions would be memory that
 * is not mapped yet, which costs more than to move them.  Leaves ids[i] == i. */
static void permute(struct history_txn *txns, uint32_t *ids, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct history_txn first = txns[i];
		uint32_t to = i;

		while (ids[to] != i) {
			uint32_t from = ids[to];

			txns[to] = txns[from];
			ids[to] = to;
			to = from;
		}
		if (to != i)
			txns[to] = first;
		ids[to] = to;
	}
}

static void sort_txns(struct finishing *all)
{
	struct history *history = all->history;
	uint32_t count = history->txn_count;
	uint32_t *keys, *ids;

	if (txns_are_sorted(history))
		return;
	keys = mem_realloc(NULL, count, sizeof(*keys));
	ids = mem_realloc(NULL, count, sizeof(*ids));
	for (uint32_t t = 0; t < count; t++) {
		keys[t] = history->txns[t].begin_seq;
		ids[t] = t;
	}
	radix_sort(keys, ids, count);
	all->fresh = keys;
	for (uint32_t i = 0; i < count; i++)
		all->fresh[ids[i]] = i;
	permute(history->txns, ids, count);
	mem_free(ids);
}

static uint32_t fresh_txn(const struct finishing *all, uint32_t txn)
{
	return all->fresh && txn != HISTORY_NONE ? all->fresh[txn] : txn;
}

static void link_sessions(struct finishing *all)
{
	struct history *history = all->history;
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
		if (txn->outcome == TXN_UNKNOWN) {
			MEM_RESERVE(all->unknown, all->unknown_count + 1, all->unknown_capacity);
			all->unknown[all->unknown_count++] = t;
		}
	}
	counts->unknown_outcomes = all->unknown_count;
	mem_free(last);
}

/* Everything else that names a transaction, but for operations; and what else there is to say of
 * statements, of which there are most. */
static void renumber(struct finishing *all)
{
	struct history *history = all->history;
	struct history_counts *counts = &history->counts;

	for (uint32_t i = 0; i < history->stmt_count; i++) {
		struct history_stmt *stmt = &history->stmts[i];
		uint32_t flags = stmt->flags;

		stmt->txn = fresh_txn(all, stmt->txn);
		counts->stmts_without_probe +=
			(flags & HISTORY_STMT_DATA) &&
			!(flags & (HISTORY_STMT_PROBE | HISTORY_STMT_INJECTED));
		history_check_stmt(history, i);
	}
	if (!all->fresh)
		return;
	for (uint32_t i = 0; i < history->version_count; i++)
		history->versions[i].txn = fresh_txn(all, history->versions[i].txn);
	for (uint32_t i = 0; i < history->predicate_count; i++)
		history->predicates[i].txn = fresh_txn(all, history->predicates[i].txn);
	for (size_t i = 0; i < history->undo_count; i++)
		history->undos[i].txn = fresh_txn(all, history->undos[i].txn);
}

/* ---- operations by transaction ---- */

/* The transaction an operation belongs to, as it was numbered: its probe's, else its statement's.
 * NONE where it has none, or one of another session. */
static uint32_t op_txn(const struct finishing *all, const struct history_op *op)
{
	const struct history *history = all->history;
	uint32_t txn = op->txn;

	if (op->stmt == HISTORY_NONE)
		return txn;
	if (txn == HISTORY_NONE)
		txn = history->stmts[op->stmt].txn;
	if (txn != HISTORY_NONE &&
		history->txns[fresh_txn(all, txn)].session != history->stmts[op->stmt].session)
		txn = HISTORY_NONE;
	return txn;
}

static void forget_op(struct finishing *all, const struct history_op *op)
{
	struct history *history = all->history;

	history->counts.ops_without_txn++;
	if (op->kind == HISTORY_WRITE) {
		struct history_version *v = &history->versions[op->version];

		if (all->ends && all->ends[v->object].dead == op->version)
			all->ends[v->object].begin_seq = 0;
		v->flags |= HISTORY_VERSION_UNWRITTEN;
		v->txn = HISTORY_NONE;
		v->stmt = HISTORY_NONE;
	} else if (op->kind == HISTORY_PREDICATE) {
		history->predicates[op->predicate].txn = HISTORY_NONE;
	}
}

/* Says of each operation and of each transaction what the other is. */
static void count_ops(struct finishing *all)
{
	struct history *history = all->history;

	for (uint32_t i = 0; i < history->op_count; i++) {
		struct history_op *op = &history->ops[i];
		uint32_t txn = op_txn(all, op);

		if (UNLIKELY(txn != op->txn)) {
			if (op->kind == HISTORY_WRITE)
				history->versions[op->version].txn = txn;
			else if (op->kind == HISTORY_PREDICATE)
				history->predicates[op->predicate].txn = txn;
		}
		op->txn = fresh_txn(all, txn);
		if (txn != HISTORY_NONE)
			history->txns[op->txn].op_count++;
	}
}

/* Those without a transaction stand after the others. */
static void group_ops(struct finishing *all)
{
	struct history *history = all->history;
	uint32_t total = 0, lonely = 0;
	size_t gone = 0; /* bytes of the operations that were given back */
	struct history_op *grouped;
	size_t capacity = 0;

	for (uint32_t t = 0; t < history->txn_count; t++) {
		history->txns[t].first_op = total;
		total += history->txns[t].op_count;
		history->txns[t].op_count = 0;
	}
	/* Some memory, be there no operations: callers add to the pointer. */
	grouped = mem_grow_small(NULL, history->op_count, &capacity, sizeof(*grouped));
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
	mem_free(history->ops);
	history->ops = grouped;
	history->op_count = total;
	all->ops_without_txn = lonely;
}

/* Sessions take turns, so the statements of a transaction are not side by side. */
static void prefetch_stmt(const struct history *history, const struct history_op *op)
{
	if (op->stmt != HISTORY_NONE)
		__builtin_prefetch(&history->stmts[op->stmt]);
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

			if (history->op_count - history->txns[t].first_op - i > OPS_AHEAD)
				prefetch_stmt(history, &ops[i + OPS_AHEAD]);
			if (ops[i].stmt != HISTORY_NONE && history->stmts[ops[i].stmt].error)
				undo_op(history, &ops[i]);
			sorted &= place >= last;
			last = place;
		}
		if (UNLIKELY(!sorted)) {
			struct history_op *spare = mem_realloc(NULL, count / 2 + 1, sizeof(*spare));

			sort_run(history, ops, count, spare);
			mem_free(spare);
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
	if (v->flags & HISTORY_VERSION_DEAD) {
		const struct history_stmt *stmt =
			v->stmt != HISTORY_NONE ? &all->history->stmts[v->stmt] : NULL;

		ends->dead = ends->dead == HISTORY_NONE ? id : SEVERAL;
		ends->begin_seq = stmt ? stmt->begin_seq : 0;
		ends->session = stmt ? stmt->session : DEAD_ANY;
	}
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

/* The latest write of each object by the current transaction; for large ones. */
struct own {
	uint32_t txn; /* whose it is; NONE: not known yet */
	uint32_t op;
};

struct own_pass {
	struct history *history;
	const struct finishing *all;
	struct own *own;            /* by object; NULL until a large transaction comes */
	uint32_t writes[SMALL_TXN]; /* of the current transaction, if it is small */
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
	/* A deletion that is lost, or is not known exactly, is possible too. */
	if (dead == SEVERAL || !history->complete)
		return HISTORY_NONE;
	/* Objects are far apart in memory: only where there is something to ask them. */
	if (history->counts.unseen_writes &&
		history_unseen_in(history, history->objects[op->object].table))
		return HISTORY_NONE;
	if (dead != HISTORY_NONE) {
		bool later = false;

		/* An own one is a statement of the same session (op_txn). */
		if (ends->session == history->txns[t].session || ends->session == DEAD_ANY) {
			const struct history_version *d = &history->versions[dead];

			/* Not an own deletion of before, so one to come, or one that was taken
			 * back, before this read or after it. */
			later = d->txn == t;
			if (later && (d->flags & HISTORY_VERSION_UNDONE))
				return HISTORY_NONE;
		}
		if (!later && op->stmt != HISTORY_NONE)
			later = ends->begin_seq > history->stmts[op->stmt].end_seq;
		if (!later)
			return ends->begun ? dead : HISTORY_NONE;
	}
	return ends->unborn;
}

/* What absent_version and history_check_txn will look at for operations to come. */
static void prefetch_own(const struct own_pass *pass, uint32_t i)
{
	const struct history *history = pass->history;
	const struct history_op *op;

	if (history->op_count - i <= OPS_AHEAD)
		return;
	op = &history->ops[i + OPS_AHEAD];
	prefetch_stmt(history, op);
	if (pass->all->ends && (op->flags & HISTORY_OP_ABSENT))
		__builtin_prefetch(&pass->all->ends[op->object]);
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

		prefetch_own(pass, i);
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
			if (op->flags & HISTORY_OP_EXACT)
				history->versions[before].flags |= HISTORY_VERSION_REPLACED;
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
	mem_free(pass.own);
}

/* ---- which transactions count as committed ---- */

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
	for (size_t k = 0; k < all->unknown_count; k++) {
		struct history_txn *txn = &history->txns[all->unknown[k]];

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

	for (uint64_t i = versions * part / FINISH_PARTS; i < versions * (part + 1) / FINISH_PARTS;
		i++)
		observe(history, unsure, history->versions[i].previous, history->versions[i].txn);
	for (uint64_t i = ops * part / FINISH_PARTS; i < ops * (part + 1) / FINISH_PARTS; i++) {
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
	parallel_run(observe_part, all, FINISH_PARTS);
	mem_free(all->unsure);
	for (size_t k = 0; k < all->unknown_count; k++)
		history->counts.unknown_counted_committed +=
			(history->txns[all->unknown[k]].flags & HISTORY_TXN_OBSERVED) != 0;
}

/* ---- all of it ---- */

static void count_rest(struct history *history)
{
	struct history_counts *counts = &history->counts;

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
	sort_txns(all);
	link_sessions(all);
	count_ops(all);
}

static void move_part(void *data, unsigned part)
{
	if (part > 0)
		renumber(data);
	else
		group_ops(data);
}

static void choose_parts(struct finishing *all)
{
	const struct history *history = all->history;
	uint32_t t = 0;

	for (unsigned part = 0; part < FINISH_PARTS; part++) {
		uint64_t end = (uint64_t)history->op_count * (part + 1) / FINISH_PARTS;

		while (t < history->txn_count &&
			(part + 1 == FINISH_PARTS || history->txns[t].first_op < end))
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
	parallel_run(move_part, &all, 2);
	mem_free(all.fresh);
	for (uint32_t i = 0; i < all.ops_without_txn; i++)
		forget_op(&all, &history->ops[history->op_count + i]);
	choose_parts(&all);
	parallel_run(sort_ops, &all, FINISH_PARTS);
	undo_savepoints(history);
	parallel_run(own_writes, &all, FINISH_PARTS);
	for (unsigned part = 0; part < FINISH_PARTS; part++)
		history->counts.reads_undecided += all.reads_undecided[part];
	mem_free(all.ends);
	observe_unknown(&all);
	mem_free(all.unknown);
	committed = bits_new(history->txn_count);
	for (uint32_t t = 0; t < history->txn_count; t++) {
		if (history_committed(history, t))
			bit_set(committed, t);
	}
	order_objects(history, committed);
	mem_free(committed);
	count_rest(history);
	history_check_rest(history);
}
