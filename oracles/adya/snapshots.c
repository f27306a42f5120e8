/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one transaction saw, judged by itself: reads of what no transaction may see, of what it did itself,
 * of more than one snapshot, of rows before and after one commit (semantics.md, section 3).
 */
#include <stdlib.h>

#include "adya/adya_internal.h"
#include "adya/sentences.h"
#include "adya/witness.h"
#include "base/interrupt.h"
#include "base/mem.h"

/* No transaction wrote it: certain only when everything was recorded. */
static void judge_unwritten(struct adya *a, uint32_t txn, const struct history_op *op)
{
	const struct history *h = a->history;
	struct arena *arena = &a->verdict->arena;
	const struct history_version *v = &h->versions[op->version];

	if (!(v->flags & HISTORY_VERSION_UNWRITTEN))
		return;
	if (!h->complete || h->counts.opaque_sessions || adya_is_foreign(a, op->version) ||
		!adya_sees_writes(a, h->objects[v->object].table) ||
		!h->tables[h->objects[v->object].table].has_initial_rows) {
		bool ours = a->tag && !v->name_is_bytes && v->name >> VERSION_TAG_SHIFT == a->tag;

		adya_open(a, op->stmt,
			ours && !adya_sees_writes(a, h->objects[v->object].table) ? OPEN_WRITE_NOT_RECORDED
										  : OPEN_WRITTEN_OUTSIDE);
		return;
	}
	adya_add_read(a, CLASS_GARBAGE_READ, txn, HISTORY_NONE, op, HISTORY_NONE,
		SAY(a, "%.*s read version %.*s of %.*s (%.*s). Nobody wrote it.",
			SPAN_ARG(say_txn(arena, h, txn)),
			SPAN_ARG(say_version(arena, h, op->version)),
			SPAN_ARG(say_object(arena, h, v->object)),
			SPAN_ARG(say_stmt(arena, h, op->stmt))));
}

/* "T2 read version v3 of t(1) (statement 4 of session 2), MORE T1 END" */
static void add_bad_read(struct adya *a, enum finding_class class, uint32_t txn,
	const struct history_op *op, const char *before, const char *more, const char *end)
{
	const struct history *h = a->history;
	struct arena *arena = &a->verdict->arena;
	const struct history_version *v = &h->versions[op->version];

	if (adya_has_enough(a, class, txn))
		return;
	adya_add_read(a, class, txn, v->txn, op, HISTORY_NONE,
		SAY(a, "%.*s %s version %.*s of %.*s (%.*s)%s %.*s %s.",
			SPAN_ARG(say_txn(arena, h, txn)), before,
			SPAN_ARG(say_version(arena, h, op->version)),
			SPAN_ARG(say_object(arena, h, v->object)),
			SPAN_ARG(say_stmt(arena, h, op->stmt)), more,
			SPAN_ARG(say_txn(arena, h, v->txn)), end));
}

/* G1a, G1b, future-read, garbage-read: what a committed transaction may not have read. */
static void judge_read(struct adya *a, uint32_t txn, const struct history_op *op)
{
	const struct history *h = a->history;
	const struct history_version *v = &h->versions[op->version];

	if (v->txn == HISTORY_NONE) {
		judge_unwritten(a, txn, op);
		return;
	}
	if (v->txn == txn)
		return;
	/* A call, or several statements in one text, may have been several transactions. */
	if (!(v->flags & HISTORY_VERSION_EXACT) || h->txns[v->txn].flags & HISTORY_TXN_MIXED) {
		adya_open(a, op->stmt, OPEN_WRITER_INEXACT);
		return;
	}
	/* What ROLLBACK TO took back was rolled back, whatever became of its transaction. */
	if (h->txns[v->txn].outcome == TXN_ABORTED || v->flags & HISTORY_VERSION_UNDONE) {
		a->seen_g1a = true;
		add_bad_read(a, CLASS_G1A, txn, op, "committed after it read", ", which",
			"wrote and then rolled back");
	} else if (!history_committed(h, v->txn)) {
		/* One of G1a and G1b, or neither: its writer's outcome is not known. */
		adya_open(a, op->stmt, OPEN_UNKNOWN_OUTCOME);
	} else if (v->flags & HISTORY_VERSION_REPLACED) {
		a->seen_g1b = true;
		add_bad_read(a, CLASS_G1B, txn, op, "committed after it read", ", which",
			"itself replaced before it committed");
	} else if (v->flags & HISTORY_VERSION_INTERMEDIATE) {
		adya_open(a, op->stmt, OPEN_PERHAPS_REPLACED);
	}
	if (v->stmt != HISTORY_NONE && op->stmt != HISTORY_NONE &&
		h->stmts[v->stmt].begin_seq > h->stmts[op->stmt].end_seq)
		add_bad_read(a, CLASS_FUTURE_READ, txn, op, "read", " before the statement of",
			"that wrote it was sent");
}

/* A probe that is not exact read what no transaction may see: its statement perhaps did as well. */
static void judge_inexact_read(struct adya *a, uint32_t txn, const struct history_op *op)
{
	const struct history *h = a->history;
	struct arena *arena = &a->verdict->arena;
	const struct history_version *v = &h->versions[op->version];
	bool aborted;

	if (v->txn == HISTORY_NONE || v->txn == txn || !(v->flags & HISTORY_VERSION_EXACT) ||
		h->txns[v->txn].flags & HISTORY_TXN_MIXED)
		return;
	aborted = h->txns[v->txn].outcome == TXN_ABORTED || v->flags & HISTORY_VERSION_UNDONE;
	if (!aborted && !(history_committed(h, v->txn) && v->flags & HISTORY_VERSION_REPLACED))
		return;
	adya_suspect_read(a, aborted ? CLASS_G1A : CLASS_G1B, txn, v->txn, op,
		SAY(a,
			"A probe beside a statement of %.*s (%.*s) read version %.*s of %.*s, which "
			"%.*s %s. This is not proven: the probe is not exact, and its statement may "
			"have seen another version.",
			SPAN_ARG(say_txn(arena, h, txn)), SPAN_ARG(say_stmt(arena, h, op->stmt)),
			SPAN_ARG(say_version(arena, h, op->version)),
			SPAN_ARG(say_object(arena, h, v->object)),
			SPAN_ARG(say_txn(arena, h, v->txn)),
			aborted ? "wrote and then rolled back"
				: "itself replaced before it committed"));
}

/* Cheap first: nearly all reads are of a version that its writer left and committed. */
static bool read_needs_judging(const struct history *h, uint32_t txn, const struct history_op *op)
{
	const struct history_version *v = &h->versions[op->version];

	if (v->txn == HISTORY_NONE)
		return v->flags & HISTORY_VERSION_UNWRITTEN;
	if (v->txn == txn)
		return false;
	if (h->txns[v->txn].outcome == TXN_ABORTED ||
		v->flags & (HISTORY_VERSION_INTERMEDIATE | HISTORY_VERSION_UNDONE))
		return true;
	/* Whose transaction was over is not from the future; its statement is far away in memory. */
	return v->stmt != HISTORY_NONE && op->stmt != HISTORY_NONE &&
	       h->txns[v->txn].end_seq > h->stmts[op->stmt].end_seq &&
	       h->stmts[v->stmt].begin_seq > h->stmts[op->stmt].end_seq;
}

enum { PREFETCH_AHEAD = 32 };

/* ---- own writes ---- */

/* The current transaction, and what it took back of its own. */
struct own_txn {
	uint32_t txn;
	/* By its operations: the write of the same object before a write; made where it took something
	 * back. */
	uint32_t *earlier;
	size_t earlier_capacity;
};

/* Where something was taken back: the own version that the current read has to see; NONE: none.
 * `last`: the transaction's last write of the object before it. */
static uint32_t own_latest(
	const struct history *h, const struct own_txn *own, uint32_t last, const struct history_op *read)
{
	for (; last != HISTORY_NONE; last = own->earlier[last - h->txns[own->txn].first_op]) {
		const struct history_op *op = &h->ops[last];

		if (!(op->flags & HISTORY_OP_UNDONE) || !history_is_taken_back(h, op, read->stmt))
			return op->version;
	}
	return HISTORY_NONE;
}

/* Its latest write may be one that no probe saw. */
static bool knows_own(struct adya *a, const struct history_op *read)
{
	if (adya_sees_writes(a, a->history->objects[read->object].table))
		return true;
	adya_open(a, read->stmt, OPEN_OWN_WRITES);
	return false;
}

/* Such a transaction is looked at closely: what it has to see depends on when it asks. */
static void judge_own_undone(
	struct adya *a, const struct own_txn *own, uint32_t last, const struct history_op *op)
{
	const struct history *h = a->history;
	struct arena *arena = &a->verdict->arena;
	uint32_t latest = own_latest(h, own, last, op);
	bool its_own = h->versions[op->version].txn == own->txn;

	if (latest == op->version || (latest == HISTORY_NONE && !its_own) ||
		(latest != HISTORY_NONE &&
			!(h->versions[latest].flags & HISTORY_VERSION_EXACT)) ||
		!knows_own(a, op))
		return;
	if (latest == HISTORY_NONE)
		adya_add_read(a, CLASS_OWN_WRITE, own->txn, HISTORY_NONE, op, HISTORY_NONE,
			SAY(a,
				"%.*s wrote version %.*s of %.*s, took it back, and then read it "
				"(%.*s).",
				SPAN_ARG(say_txn(arena, h, own->txn)),
				SPAN_ARG(say_version(arena, h, op->version)),
				SPAN_ARG(say_object(arena, h, op->object)),
				SPAN_ARG(say_stmt(arena, h, op->stmt))));
	else
		adya_add_read(a, CLASS_OWN_WRITE, own->txn, h->versions[op->version].txn, op, latest,
			SAY(a, "%.*s wrote version %.*s of %.*s and then read version %.*s (%.*s).",
				SPAN_ARG(say_txn(arena, h, own->txn)),
				SPAN_ARG(say_version(arena, h, latest)),
				SPAN_ARG(say_object(arena, h, op->object)),
				SPAN_ARG(say_version(arena, h, op->version)),
				SPAN_ARG(say_stmt(arena, h, op->stmt))));
}

/* What an object looked like to the current transaction, without clearing between them. */
struct own_view {
	uint32_t stamp;   /* transaction + 1 */
	uint32_t written; /* its latest own version ... */
	uint32_t write;   /* ... and the operation that wrote it */
	uint32_t read_stmt, read_version;
};

/* own-write: after its own write of an object, a transaction sees that version and no other. */
static void judge_own(
	struct adya *a, const struct own_view *view, uint32_t txn, const struct history_op *op)
{
	const struct history *h = a->history;
	struct arena *arena = &a->verdict->arena;
	uint32_t own = view->written;

	if (own == HISTORY_NONE || own == op->version || !knows_own(a, op))
		return;
	adya_add_read(a, CLASS_OWN_WRITE, txn, h->versions[op->version].txn, op, own,
		SAY(a, "%.*s wrote version %.*s of %.*s and then read version %.*s (%.*s).",
			SPAN_ARG(say_txn(arena, h, txn)), SPAN_ARG(say_version(arena, h, own)),
			SPAN_ARG(say_object(arena, h, op->object)),
			SPAN_ARG(say_version(arena, h, op->version)),
			SPAN_ARG(say_stmt(arena, h, op->stmt))));
}

/* duplicate-row: one result, two versions of one object. */
static void judge_duplicate(
	struct adya *a, const struct own_view *view, uint32_t txn, const struct history_op *op)
{
	const struct history *h = a->history;
	struct arena *arena = &a->verdict->arena;

	if (op->probe != PROBE_READ)
		return;
	if (view->read_stmt == op->stmt && op->stmt != HISTORY_NONE &&
		view->read_version != op->version)
		adya_add_read(a, CLASS_DUPLICATE_ROW, txn, HISTORY_NONE, op, view->read_version,
			SAY(a,
				"%.*s got %.*s twice in one result, at versions %.*s and %.*s "
				"(%.*s).",
				SPAN_ARG(say_txn(arena, h, txn)),
				SPAN_ARG(say_object(arena, h, op->object)),
				SPAN_ARG(say_version(arena, h, view->read_version)),
				SPAN_ARG(say_version(arena, h, op->version)),
				SPAN_ARG(say_stmt(arena, h, op->stmt))));
}

static struct own_view *view_touch(struct own_view *views, uint32_t txn, uint32_t object)
{
	struct own_view *view = &views[object];

	if (view->stamp != txn + 1)
		*view = (struct own_view){
			txn + 1, HISTORY_NONE, HISTORY_NONE, HISTORY_NONE, HISTORY_NONE};
	return view;
}

/* Fetches what judge_txn will look at for later operations: first the version, then who wrote
 * it. */
static void prefetch_op(const struct history *h, const struct own_view *views, uint32_t i)
{
	const struct history_op *op = &h->ops[i];
	const struct history_version *v;

	if (i + 2 * PREFETCH_AHEAD >= h->op_count)
		return;
	if (op[2 * PREFETCH_AHEAD].kind != HISTORY_PREDICATE) {
		__builtin_prefetch(&views[op[2 * PREFETCH_AHEAD].object], 1);
		if (op[2 * PREFETCH_AHEAD].version != HISTORY_NONE)
			MEM_PREFETCH(&h->versions[op[2 * PREFETCH_AHEAD].version]);
	}
	if (op[PREFETCH_AHEAD].kind != HISTORY_READ || op[PREFETCH_AHEAD].version == HISTORY_NONE)
		return;
	v = &h->versions[op[PREFETCH_AHEAD].version];
	if (v->txn != HISTORY_NONE)
		MEM_PREFETCH(&h->txns[v->txn]);
}

static void judge_txn(struct adya *a, struct own_view *views, struct own_txn *own)
{
	const struct history *h = a->history;
	uint32_t t = own->txn;
	const struct history_txn *txn = &h->txns[t];
	bool committed = dependencies_has(h, t), undone = false;

	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++)
		undone |= h->ops[i].kind == HISTORY_WRITE && h->ops[i].flags & HISTORY_OP_UNDONE;
	if (undone)
		MEM_RESERVE(own->earlier, (size_t)txn->op_count, own->earlier_capacity);
	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
		const struct history_op *op = &h->ops[i];
		struct own_view *view;

		prefetch_op(h, views, i);
		if (op->kind == HISTORY_PREDICATE)
			continue;
		view = view_touch(views, t, op->object);
		if (op->kind == HISTORY_WRITE) {
			if (undone)
				own->earlier[i - txn->first_op] = view->write;
			view->write = i;
			/* Where it is not certain, what it has to see is not either. */
			view->written = op->flags & HISTORY_OP_EXACT ? op->version : HISTORY_NONE;
			continue;
		}
		if (op->version == HISTORY_NONE)
			continue;
		if (!(op->flags & HISTORY_OP_EXACT)) {
			if (committed)
				judge_inexact_read(a, t, op);
			continue;
		}
		if (committed && read_needs_judging(h, t, op))
			judge_read(a, t, op);
		if (undone)
			judge_own_undone(a, own, view->write, op);
		else
			judge_own(a, view, t, op);
		judge_duplicate(a, view, t, op);
		view->read_stmt = op->stmt;
		view->read_version = op->version;
	}
}

void judge_operations(struct adya *a)
{
	const struct history *h = a->history;
	struct own_txn own = {0};
	struct own_view *views = mem_zero(h->object_count, sizeof(*views));

	for (uint32_t t = 0; t < h->txn_count && !interrupt_seen(); t++) {
		own.txn = t;
		if (!(h->txns[t].flags & HISTORY_TXN_MIXED))
			judge_txn(a, views, &own);
	}
	mem_free(own.earlier);
	mem_free(views);
}

/* ---- snapshots ---- */

enum {
	SEARCH_STEPS = 4096, /* edges followed for one transaction */
	SEARCH_STEPS_ALL = 20 * 1000 * 1000,
	SPLIT_VERSIONS = 64, /* versions around the one seen that are looked at for one row */
};

/* What the snapshot of one transaction, or the view of one statement, must have in it and must not
 * have.  Stamped, so that nothing is cleared between them. */
struct snapshot {
	uint32_t stamp;
	uint32_t *in, *out;                 /* by transaction: the stamp */
	uint32_t *in_version, *out_version; /* ... and which version says so */
	uint32_t *ins, *outs;               /* those that are stamped */
	uint32_t in_count, out_count;
	uint32_t *commit_begin; /* by transaction: a moment before its commit was done */
	uint32_t *reached, *queue, *source; /* of the search, by node; reached: stamp */
	uint32_t *goal;                     /* by transaction: stamp of the search back */
	uint32_t search_stamp, goal_stamp;
	uint64_t steps_left;
};

/* A snapshot read needs its version's writer in the snapshot and the next one's out of it. */
static void need(const struct history *h, struct snapshot *s, uint32_t reader, uint32_t version)
{
	const struct history_version *v = &h->versions[version];
	uint32_t next;

	if (v->position == HISTORY_NONE || v->txn == reader || !h->objects[v->object].order_known)
		return;
	if (v->txn != HISTORY_NONE && s->in[v->txn] != s->stamp) {
		s->in[v->txn] = s->stamp;
		s->in_version[v->txn] = version;
		s->ins[s->in_count++] = v->txn;
	}
	next = version_next(h, version);
	if (next == HISTORY_NONE)
		return;
	next = h->versions[next].txn;
	if (next != HISTORY_NONE && next != reader && s->out[next] != s->stamp) {
		s->out[next] = s->stamp;
		s->out_version[next] = version;
		s->outs[s->out_count++] = next;
	}
}

static void need_all(struct adya *a, struct snapshot *s, uint32_t reader)
{
	const struct history *h = a->history;
	const struct history_txn *t = &h->txns[reader];
	bool releases = dependencies_released(h);

	s->stamp++;
	s->in_count = s->out_count = 0;
	for (uint32_t i = t->first_op; i < t->first_op + t->op_count; i++) {
		const struct history_op *op = &h->ops[i];
		const struct history_predicate *p;

		if (op->kind == HISTORY_WRITE || op->read_kind != PROBE_READ_SNAPSHOT ||
			!(op->flags & HISTORY_OP_EXACT) ||
			(releases && op->flags & HISTORY_OP_RELEASED))
			continue;
		if (op->kind == HISTORY_READ) {
			if (op->version != HISTORY_NONE)
				need(h, s, reader, op->version);
			continue;
		}
		p = &h->predicates[op->predicate];
		for (uint32_t k = 0; k < p->match_count; k++)
			need(h, s, reader, h->predicate_versions[p->first_match + k]);
		for (uint32_t k = 0; k < p->set_count; k++)
			need(h, s, reader, h->predicate_versions[p->first_set + k]);
	}
}

/* Does a transaction whose `goals` entry is `stamp` depend, over ww and wr edges, on one of `from`?
 * Which on which.  False also when the search is cut short. */
static bool depends(struct adya *a, struct snapshot *s, const uint32_t *from, uint32_t from_count,
	const uint32_t *goals, uint32_t stamp, uint32_t *source, uint32_t *target)
{
	const struct graph *g = &a->dependencies.graph;
	uint32_t head = 0, tail = 0, steps = 0;

	s->search_stamp++;
	for (uint32_t i = 0; i < from_count; i++) {
		uint32_t node = a->dependencies.node_of[from[i]];

		if (node == GRAPH_NONE || s->reached[node] == s->search_stamp)
			continue;
		s->reached[node] = s->search_stamp;
		s->source[node] = from[i];
		s->queue[tail++] = node;
	}
	while (head < tail) {
		uint32_t node = s->queue[head++];

		for (uint32_t e = g->head[node]; e < g->head[node + 1]; e++) {
			uint32_t to = g->to[e], txn;

			if (steps++ == SEARCH_STEPS || s->steps_left == 0)
				return false;
			s->steps_left--;
			if (!(1u << g->kind[e] & GRAPH_MASK_DEPENDENCY) ||
				s->reached[to] == s->search_stamp)
				continue;
			txn = a->dependencies.txn_of[to];
			s->reached[to] = s->search_stamp;
			s->source[to] = s->source[node];
			s->queue[tail++] = to;
			if (goals[txn] == stamp) {
				*source = s->source[to];
				*target = txn;
				return true;
			}
		}
	}
	return false;
}

static void add_unstable(struct adya *a, const struct snapshot *s, uint32_t reader, uint32_t out,
	uint32_t in, const char *why)
{
	const struct history *h = a->history;
	struct arena *arena = &a->verdict->arena;
	struct witness witness = {.history = h, .arena = arena};
	uint32_t txns[3] = {reader, out, in}, kept = s->in_version[in],
		 missed = s->out_version[out];
	struct span me = say_txn(arena, h, reader), early = say_txn(arena, h, out);
	struct span late = say_txn(arena, h, in);
	const char *rule;
	enum severity severity = contract_judge(
		a->options->contract, h->txns[reader].level, CLASS_UNSTABLE_SNAPSHOT, &rule);
	struct finding *finding =
		adya_add(a, CLASS_UNSTABLE_SNAPSHOT, severity, rule, h->txns[reader].level);

	if (!finding)
		return;
	adya_set_txns(a, finding, txns, in == out ? 2 : 3);
	witness_read(&witness, reader, HISTORY_NONE, missed);
	witness_write(&witness, version_next(h, missed));
	witness_write(&witness, kept);
	witness_read(&witness, reader, HISTORY_NONE, kept);
	witness_finish(&witness, finding);
	finding->explanation = span_str(SAY(a,
		"%.*s read version %.*s of %.*s, so that what %.*s wrote was in its snapshot; it "
		"also "
		"read version %.*s of %.*s, which %.*s overwrote, so that what %.*s wrote was not. "
		"But %s. No one snapshot has both.",
		SPAN_ARG(me), SPAN_ARG(say_version(arena, h, kept)),
		SPAN_ARG(say_object(arena, h, h->versions[kept].object)), SPAN_ARG(late),
		SPAN_ARG(say_version(arena, h, missed)),
		SPAN_ARG(say_object(arena, h, h->versions[missed].object)), SPAN_ARG(early),
		SPAN_ARG(early), why));
	finding_seal(finding);
}

/* semantics.md, section 3: two snapshot reads of one REPEATABLE READ transaction need two different
 * snapshots.  One that must be in (w) and one that must be out (n) contradict each other when n is
 * w, when n's commit was answered before w's was sent, or when w depends on n and n not on w. */
static void judge_snapshot(struct adya *a, struct snapshot *s, uint32_t reader)
{
	const struct history *h = a->history;
	struct arena *arena = &a->verdict->arena;
	uint32_t first = HISTORY_NONE, last = HISTORY_NONE, n, w, ignored;

	for (uint32_t i = 0; i < s->out_count; i++) {
		uint32_t txn = s->outs[i];

		if (s->in[txn] == s->stamp) {
			add_unstable(a, s, reader, txn, txn, "these are one transaction");
			return;
		}
		if (h->txns[txn].outcome == TXN_COMMITTED &&
			(first == HISTORY_NONE || h->txns[txn].end_seq < h->txns[first].end_seq))
			first = txn;
	}
	for (uint32_t i = 0; i < s->in_count; i++) {
		uint32_t txn = s->ins[i];

		if (last == HISTORY_NONE || s->commit_begin[txn] > s->commit_begin[last])
			last = txn;
	}
	if (first == HISTORY_NONE || last == HISTORY_NONE)
		return;
	if (h->txns[first].end_seq < s->commit_begin[last]) {
		add_unstable(a, s, reader, first, last,
			SAY(a, "%.*s's commit was answered before %.*s's was sent",
				SPAN_ARG(say_txn(arena, h, first)),
				SPAN_ARG(say_txn(arena, h, last))));
		return;
	}
	if (!depends(a, s, s->outs, s->out_count, s->in, s->stamp, &n, &w))
		return;
	/* The other way round as well: a circle of information flow, in which nothing is first. */
	s->goal[n] = ++s->goal_stamp;
	if (depends(a, s, &w, 1, s->goal, s->goal_stamp, &ignored, &ignored))
		return;
	add_unstable(a, s, reader, n, w,
		SAY(a, "%.*s depends on %.*s", SPAN_ARG(say_txn(arena, h, w)),
			SPAN_ARG(say_txn(arena, h, n))));
}

/* ---- split statements ---- */

/* The row was seen at this version, which is one with a row (what a statement did not find has no
 * probe): who had been there, and who came later. */
static void place_around(const struct history *h, struct snapshot *s, uint32_t version)
{
	const struct history_version *v = &h->versions[version];
	const struct history_object *o = &h->objects[v->object];
	uint32_t from, to;

	if (v->position == HISTORY_NONE || !o->order_known)
		return;
	from = v->position < SPLIT_VERSIONS ? 0 : v->position - SPLIT_VERSIONS;
	to = o->installed_count - v->position <= SPLIT_VERSIONS ? o->installed_count
								: v->position + SPLIT_VERSIONS;
	for (uint32_t i = from; i < to; i++) {
		uint32_t other = h->order[o->first_order + i], txn = h->versions[other].txn;

		if (txn == HISTORY_NONE)
			continue;
		if (i <= v->position && s->in[txn] != s->stamp) {
			s->in[txn] = s->stamp;
			s->in_version[txn] = version;
			s->ins[s->in_count++] = txn;
		} else if (i > v->position && s->out[txn] != s->stamp) {
			s->out[txn] = s->stamp;
			s->out_version[txn] = version;
		}
	}
}

static void add_split(
	struct adya *a, const struct snapshot *s, const struct history_predicate *p, uint32_t other)
{
	const struct history *h = a->history;
	struct arena *arena = &a->verdict->arena;
	struct witness witness = {.history = h, .arena = arena};
	uint32_t txns[2] = {p->txn, other}, after = s->in_version[other],
		 before = s->out_version[other];
	uint8_t level = h->txns[p->txn].level;
	const char *rule;
	enum severity severity =
		contract_judge(a->options->contract, level, CLASS_SPLIT_STATEMENT, &rule);
	struct finding *finding = adya_add(a, CLASS_SPLIT_STATEMENT, severity, rule, level);

	if (!finding)
		return;
	adya_set_txns(a, finding, txns, 2);
	witness_read(&witness, p->txn, p->stmt, before);
	witness_write(&witness, version_next(h, before));
	witness_write(&witness, after);
	witness_read(&witness, p->txn, p->stmt, after);
	witness_finish(&witness, finding);
	finding->explanation = span_str(SAY(a,
		"One statement of %.*s (%.*s) judged %.*s at version %.*s, as it was before %.*s "
		"committed, and %.*s at version %.*s, as it was after that.",
		SPAN_ARG(say_txn(arena, h, p->txn)), SPAN_ARG(say_stmt(arena, h, p->stmt)),
		SPAN_ARG(say_object(arena, h, h->versions[before].object)),
		SPAN_ARG(say_version(arena, h, before)), SPAN_ARG(say_txn(arena, h, other)),
		SPAN_ARG(say_object(arena, h, h->versions[after].object)),
		SPAN_ARG(say_version(arena, h, after))));
	finding_seal(finding);
}

/* semantics.md, section 3: one UPDATE or DELETE judged some rows before and others after the same
 * foreign commit. */
static void judge_split(struct adya *a, struct snapshot *s, const struct history_predicate *p)
{
	const struct history *h = a->history;

	s->stamp++;
	s->in_count = 0;
	for (uint32_t k = 0; k < p->match_count; k++)
		place_around(h, s, h->predicate_versions[p->first_match + k]);
	for (uint32_t k = 0; k < p->set_count; k++)
		place_around(h, s, h->predicate_versions[p->first_set + k]);
	for (uint32_t i = 0; i < s->in_count; i++) {
		uint32_t txn = s->ins[i];

		if (s->out[txn] == s->stamp && txn != p->txn) {
			add_split(a, s, p, txn);
			return;
		}
	}
}

/* ---- all of it ---- */

static void snapshot_init(struct snapshot *s, const struct history *h, uint32_t nodes)
{
	uint32_t *all = mem_zero(8 * ((size_t)h->txn_count + 1), sizeof(*all));
	size_t step = (size_t)h->txn_count + 1;

	*s = (struct snapshot){.in = all,
		.out = all + step,
		.in_version = all + 2 * step,
		.out_version = all + 3 * step,
		.ins = all + 4 * step,
		.outs = all + 5 * step,
		.commit_begin = all + 6 * step,
		.goal = all + 7 * step,
		.reached = mem_zero(nodes, sizeof(uint32_t)),
		.queue = mem_realloc(NULL, nodes, sizeof(uint32_t)),
		.source = mem_realloc(NULL, nodes, sizeof(uint32_t)),
		.steps_left = SEARCH_STEPS_ALL};
	for (uint32_t i = 0; i < h->stmt_count; i++) {
		uint32_t txn = h->stmts[i].txn;

		if (txn != HISTORY_NONE && h->stmts[i].begin_seq > s->commit_begin[txn])
			s->commit_begin[txn] = h->stmts[i].begin_seq;
	}
}

void judge_snapshots(struct adya *a)
{
	const struct history *h = a->history;
	struct snapshot s;

	snapshot_init(&s, h, a->dependencies.graph.node_count);
	for (uint32_t t = 0; t < h->txn_count && !interrupt_seen(); t++) {
		if (h->txns[t].level != LEVEL_REPEATABLE_READ || h->txns[t].op_count < 2 ||
			h->txns[t].flags & HISTORY_TXN_MIXED)
			continue;
		need_all(a, &s, t);
		if (s.in_count && s.out_count)
			judge_snapshot(a, &s, t);
	}
	for (uint32_t i = 0; i < h->predicate_count && !interrupt_seen(); i++) {
		const struct history_predicate *p = &h->predicates[i];

		if (p->txn != HISTORY_NONE && p->flags & HISTORY_PREDICATE_WRITE &&
			p->flags & HISTORY_PREDICATE_EXACT &&
			!(h->txns[p->txn].flags & HISTORY_TXN_MIXED))
			judge_split(a, &s, p);
	}
	mem_free(s.in);
	mem_free(s.reached);
	mem_free(s.queue);
	mem_free(s.source);
}
