/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/adya.h"

#include <stdlib.h>
#include <string.h>

#include "adya/adya_internal.h"
#include "adya/components.h"
#include "adya/levels.h"
#include "adya/sentences.h"
#include "adya/witness.h"
#include "base/bug.h"
#include "base/interrupt.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "trace/value.h"

enum { PER_CLASS_DEFAULT = 100, PREFETCH_AHEAD = 16 };

/* ---- adding findings ---- */

static struct limiter *limiter_of(struct adya *a, enum finding_class class, enum severity severity)
{
	for (uint32_t i = 0; i < a->limiter_count; i++) {
		if (a->limiters[i].class == class && a->limiters[i].severity == severity)
			return &a->limiters[i];
	}
	CHECK(a->limiter_count < ARRAY_LEN(a->limiters));
	a->limiters[a->limiter_count] = (struct limiter){class, severity, 0, 0};
	return &a->limiters[a->limiter_count++];
}

struct finding *adya_add(struct adya *a, enum finding_class class, enum severity severity,
	const char *rule, uint8_t level)
{
	struct limiter *limiter = limiter_of(a, class, severity);
	uint32_t max = a->options->per_class_max ? a->options->per_class_max : PER_CLASS_DEFAULT;
	struct finding *finding;

	if (limiter->listed == max) {
		limiter->more++;
		return NULL;
	}
	limiter->listed++;
	finding = verdict_add(a->verdict, FOUND_BY_ADYA, class);
	finding->severity = severity;
	finding->rule = rule;
	finding->level = txn_level_name(level);
	return finding;
}

bool adya_has_enough(struct adya *a, enum finding_class class, uint32_t txn)
{
	uint32_t max = a->options->per_class_max ? a->options->per_class_max : PER_CLASS_DEFAULT;
	const char *rule;
	struct limiter *limiter = limiter_of(a, class,
		contract_judge(a->options->contract, a->history->txns[txn].level, class, &rule));

	if (limiter->listed < max)
		return false;
	limiter->more++;
	return true;
}

void adya_set_txns(struct adya *a, struct finding *finding, const uint32_t *txns, uint32_t count)
{
	struct arena *arena = &a->verdict->arena;

	finding->transactions = arena_alloc(arena, count * sizeof(*finding->transactions));
	finding->transaction_count = count;
	for (uint32_t i = 0; i < count; i++)
		finding->transactions[i] = say_txn(arena, a->history, txns[i]);
}

static void add_read(struct adya *a, enum finding_class class, enum severity severity,
	const char *rule, uint32_t txn, uint32_t other, const struct history_op *op, uint32_t own,
	const char *explanation)
{
	struct witness witness = {.history = a->history, .arena = &a->verdict->arena};
	uint32_t txns[2] = {txn, other};
	struct finding *finding =
		adya_add(a, class, severity, rule, a->history->txns[txn].level);

	if (!finding)
		return;
	adya_set_txns(a, finding, txns, other == HISTORY_NONE || other == txn ? 1 : 2);
	witness_write(&witness, op->version);
	if (own != HISTORY_NONE)
		witness_write(&witness, own);
	witness_read(&witness, txn, op->stmt, op->version);
	witness_finish(&witness, finding);
	finding->explanation = span_str(explanation);
	finding_seal(finding);
}

void adya_add_read(struct adya *a, enum finding_class class, uint32_t txn, uint32_t other,
	const struct history_op *op, uint32_t own, const char *explanation)
{
	uint8_t level = a->history->txns[txn].level;
	const char *rule;
	enum severity severity = contract_judge(a->options->contract, level, class, &rule);

	/* That no session wrote it is known only where all sessions were recorded. */
	if (a->history->versions[op->version].flags & HISTORY_VERSION_UNWRITTEN)
		severity = adya_weigh(a, severity);
	add_read(a, class, severity, rule, txn, other, op, own, explanation);
}

void adya_suspect_read(struct adya *a, enum finding_class class, uint32_t txn, uint32_t other,
	const struct history_op *op, const char *explanation)
{
	uint8_t level = a->history->txns[txn].level;
	const char *rule;

	if (contract_judge(a->options->contract, level, class, &rule) == SEVERITY_VIOLATION)
		add_read(a, class, SEVERITY_SUSPICION, NULL, txn, other, op, HISTORY_NONE,
			explanation);
}

/* ---- who wrote ---- */

/* What the recorder said of itself beside the server's variables (docs/trace-format.md). */
static void read_writers(struct adya *a)
{
	struct value value;

	if (history_variable(a->history, VERSION_TAG_VARIABLE, &value) &&
		value.type == VALUE_UINT && value.u >> (64 - VERSION_TAG_SHIFT) == 0)
		a->tag = value.u;
	a->other_writers = history_variable(a->history, WRITERS_VARIABLE, &value) &&
			   !span_eq_str(value.bytes, WRITERS_ALL);
}

/* Changed rows without a probe; or was a transaction of its own, whose answer never came: it may
 * have been executed. */
static bool writes_unseen(const struct history *h, const struct history_stmt *stmt)
{
	if (stmt->flags & (HISTORY_STMT_PROBE | HISTORY_STMT_INJECTED))
		return false;
	/* What it wrote beside that would have a probe, unless the trace ends before. */
	if (stmt->flags & HISTORY_STMT_ELSEWHERE && h->complete)
		return false;
	if (stmt->flags & HISTORY_STMT_CHANGED)
		return true;
	return stmt->flags & HISTORY_STMT_NO_REPLY &&
	       (stmt->txn == HISTORY_NONE || (h->txns[stmt->txn].flags & HISTORY_TXN_AUTOCOMMIT &&
						     h->txns[stmt->txn].outcome == TXN_UNKNOWN));
}

static void look_for_unseen(struct adya *a)
{
	const struct history *h = a->history;

	/* What is missing may have written, also after the end of what is there: records of several
	 * sessions do not stand in the order of what they tell. */
	a->unseen_anywhere = !h->complete;
	for (uint32_t i = 0; i < h->stmt_count && !a->unseen_anywhere; i++)
		a->unseen_anywhere = writes_unseen(h, &h->stmts[i]);
}

enum severity adya_weigh(const struct adya *a, enum severity severity)
{
	return a->other_writers && severity == SEVERITY_VIOLATION ? SEVERITY_SUSPICION : severity;
}

static const char *weighed_words(const struct adya *a)
{
	return a->other_writers
		       ? " A session that was not recorded may have done it: who knows that "
			 "there was none records with --all-writers."
		       : "";
}

/* ---- lost versions ---- */

/* Who shows it: the version's writer, or, where no write is known, who overwrote it. */
static uint32_t txn_that_shows(const struct history *h, uint32_t version)
{
	const struct history_object *o = &h->objects[h->versions[version].object];

	if (h->versions[version].txn != HISTORY_NONE)
		return h->versions[version].txn;
	for (uint32_t i = 0; i < o->order_count; i++) {
		const struct history_version *later = &h->versions[h->order[o->first_order + i]];

		if (later->previous == version && later->txn != HISTORY_NONE)
			return later->txn;
	}
	return HISTORY_NONE;
}

static void add_lost(struct adya *a, uint32_t version, const char *explanation)
{
	struct witness witness = {.history = a->history, .arena = &a->verdict->arena};
	uint32_t txn = txn_that_shows(a->history, version);
	uint8_t level = txn == HISTORY_NONE ? LEVEL_UNKNOWN : a->history->txns[txn].level;
	const char *rule;
	enum severity severity =
		adya_weigh(a, contract_judge(a->options->contract, level, CLASS_LOST_VERSION, &rule));
	struct finding *finding = adya_add(a, CLASS_LOST_VERSION, severity, rule, level);

	if (!finding)
		return;
	adya_set_txns(a, finding, &txn, txn != HISTORY_NONE);
	witness_write(&witness, version);
	witness_finish(&witness, finding);
	finding->explanation = span_str(explanation);
	finding_seal(finding);
}

/* A transaction of unknown outcome wrote the object, and no read is known to have seen it: it may
 * have committed after all, and then its write is what is missing. */
static bool has_unknown_writer(const struct history *h, const struct history_object *o)
{
	for (uint32_t i = 0; i < o->order_count; i++) {
		uint32_t txn = h->versions[h->order[o->first_order + i]].txn;

		if (txn != HISTORY_NONE && ((h->txns[txn].outcome == TXN_UNKNOWN &&
						    !history_committed(h, txn)) ||
						   h->txns[txn].flags & HISTORY_TXN_MIXED))
			return true;
	}
	return false;
}

static bool has_foreign_version(const struct adya *a, const struct history_object *o)
{
	for (uint32_t i = 0; i < o->order_count; i++)
		if (adya_is_foreign(a, a->history->order[o->first_order + i]))
			return true;
	return false;
}

/* Statements that wrote the object are not decided. */
static void open_writers(struct adya *a, const struct history_object *o, enum open_reason reason)
{
	for (uint32_t i = 0; i < o->order_count; i++)
		adya_open(a, a->history->versions[a->history->order[o->first_order + i]].stmt, reason);
}

/* The chain of an object contradicts itself (semantics.md, section 1). */
static void judge_broken_order(struct adya *a, uint32_t object)
{
	const struct history *h = a->history;
	const struct history_object *o = &h->objects[object];
	struct arena *arena = &a->verdict->arena;
	const char *what = NULL;

	switch ((enum history_order_problem)o->order_problem) {
	case HISTORY_ORDER_FORK:
		what = "two committed writes overwrote the same version";
		break;
	case HISTORY_ORDER_BROKEN:
		what = "a committed write overwrote a version that no committed write left";
		break;
	case HISTORY_ORDER_CYCLE:
		what = "the versions overwrite each other in a circle";
		break;
	case HISTORY_ORDER_UNKNOWN:
	case HISTORY_ORDER_UNDECIDED:
		open_writers(a, o, OPEN_ORDER_OF_WRITES);
		return;
	case HISTORY_ORDER_OK:
		return;
	}
	if (!h->complete || h->counts.opaque_sessions || has_unknown_writer(h, o) ||
		!adya_sees_writes(a, o->table)) {
		open_writers(a, o, OPEN_CHAIN);
		return;
	}
	if (has_foreign_version(a, o)) {
		open_writers(a, o, OPEN_ALSO_OUTSIDE);
		return;
	}
	CHECK(o->problem_version != HISTORY_NONE);
	add_lost(a, o->problem_version,
		SAY(a, "The versions of %.*s do not form a chain: %s (seen at version %.*s).%s",
			SPAN_ARG(say_object(arena, h, object)), what,
			SPAN_ARG(say_version(arena, h, o->problem_version)), weighed_words(a)));
}

/* The last installed version must be what the final rows show. */
static void judge_final(struct adya *a, uint32_t object)
{
	const struct history *h = a->history;
	const struct history_object *o = &h->objects[object];
	struct arena *arena = &a->verdict->arena;
	uint32_t last, shown = HISTORY_NONE;
	struct span seen;

	if (!o->order_known || !h->tables[o->table].has_final_rows || !h->complete)
		return;
	last = h->order[o->first_order + o->installed_count - 1];
	for (uint32_t i = 0; i < o->order_count; i++) {
		if (h->versions[h->order[o->first_order + i]].flags & HISTORY_VERSION_FINAL)
			shown = h->order[o->first_order + i];
	}
	if (shown == last)
		return;
	if (shown == HISTORY_NONE &&
		h->versions[last].flags & (HISTORY_VERSION_DEAD | HISTORY_VERSION_UNBORN))
		return;
	if (has_unknown_writer(h, o))
		return;
	if (!adya_sees_writes(a, o->table)) {
		open_writers(a, o, OPEN_CHAIN);
		return;
	}
	if (has_foreign_version(a, o)) {
		open_writers(a, o, OPEN_ALSO_OUTSIDE);
		return;
	}
	seen = shown == HISTORY_NONE ? SPAN_LIT("no row") : say_version(arena, h, shown);
	add_lost(a, last,
		SAY(a, "The last version of %.*s is %.*s, but the final rows show %.*s.%s",
			SPAN_ARG(say_object(arena, h, object)),
			SPAN_ARG(say_version(arena, h, last)), SPAN_ARG(seen), weighed_words(a)));
}

/* ---- cycles ---- */

static uint8_t weakest_level(const struct adya *a, const struct cycle *cycle)
{
	uint8_t weakest = LEVEL_SERIALIZABLE;

	for (uint32_t i = 0; i < cycle->length; i++) {
		uint32_t txn = a->dependencies.txn_of[cycle->steps[i].from];

		if (a->history->txns[txn].level < weakest)
			weakest = a->history->txns[txn].level;
	}
	return weakest;
}

/* Both ends of the missed write are plain reads of one transaction: it saw two snapshots, which no
 * rule about current writes excuses (semantics.md, section 4, RR). */
static bool reads_two_snapshots(const struct adya *a, const struct cycle *cycle)
{
	const struct history *h = a->history;

	for (uint32_t i = 0; i < cycle->length; i++) {
		const struct cycle_step *out = &cycle->steps[i];
		const struct cycle_step *in =
			&cycle->steps[(i + cycle->length - 1) % cycle->length];
		uint32_t txn = a->dependencies.txn_of[out->from];
		const struct history_op *read, *other;

		if (out->kind != GRAPH_RW || in->kind != GRAPH_WR)
			continue;
		read = find_op(h, txn, HISTORY_READ, out->detail);
		other = find_op(h, txn, HISTORY_READ, in->detail);
		if (read && other && read->read_kind == PROBE_READ_SNAPSHOT &&
			other->read_kind == PROBE_READ_SNAPSHOT &&
			h->txns[txn].level == LEVEL_REPEATABLE_READ)
			return true;
	}
	return false;
}

/* Did the transaction read the version by an UPDATE that found the row and left it as it was? */
static bool wrote_nothing(const struct history *h, uint32_t txn, uint32_t version)
{
	const struct history_op *op = find_op(h, txn, HISTORY_READ, version);

	return op && op->stmt != HISTORY_NONE && h->stmts[op->stmt].flags & HISTORY_STMT_WRITES;
}

/* Did the transaction read what it then overwrote?  A locking read before the write, say. */
static bool read_before(const struct history *h, uint32_t txn, uint32_t version)
{
	const struct history_version *v = &h->versions[version];

	return find_op(h, txn, HISTORY_READ, h->order[h->objects[v->object].first_order + v->position - 1]) != NULL;
}

/* Two transactions read the same version and both overwrote it, be it with the same values, and neither had read what
 * the other wrote (semantics.md, section 3). */
static bool is_lost_update(const struct adya *a, const struct cycle *cycle)
{
	const struct history *h = a->history;

	if (cycle->class != CYCLE_G_SINGLE || cycle->length != 2)
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		const struct cycle_step *rw = &cycle->steps[i], *then = &cycle->steps[1 - i];
		uint32_t txn;

		if (rw->kind != GRAPH_RW || (then->kind != GRAPH_WW && then->kind != GRAPH_WR) ||
			h->versions[rw->detail].object != h->versions[then->detail].object)
			continue;
		txn = a->dependencies.txn_of[then->to];
		if (then->kind == GRAPH_WW ? !read_before(h, txn, then->detail) : wrote_nothing(h, txn, then->detail))
			return true;
	}
	return false;
}

static struct span say_cycle(struct adya *a, const struct finding *finding)
{
	struct buf text = BUF_INIT;
	struct span kept;

	for (uint32_t i = 0; i < finding->edge_count; i++) {
		const struct finding_edge *edge = &finding->edges[i];
		bool last = i + 1 == finding->edge_count;

		buf_add_str(&text, i == 0 ? "" : last ? "However, " : "Then ");
		buf_printf(&text, "%.*s < %.*s, because %.*s%s", SPAN_ARG(edge->from),
			SPAN_ARG(edge->to), SPAN_ARG(edge->sentence),
			last ? ": a contradiction. " : ". ");
	}
	kept = arena_copy(&a->verdict->arena, span_of(text.data, text.len - 1));
	buf_release(&text);
	return kept;
}

/* What the contract says of a cycle.  Each is reported in its most specific class, but to Adya
 * every cycle whose anti-dependencies are of items is a G2-item, be there one of them or many:
 * where a level says nothing of the narrow class, it is judged as that. */
static enum severity judge_cycle(const struct adya *a, const struct cycle *cycle, uint8_t level,
	enum finding_class class, const char **rule)
{
	bool narrow = cycle->class == CYCLE_G_SINGLE || cycle->class == CYCLE_G_NONADJACENT;
	enum severity severity, wide;
	const char *ignored;

	if (cycle->class == CYCLE_G_SINGLE && reads_two_snapshots(a, cycle))
		class = CLASS_UNSTABLE_SNAPSHOT;
	severity = contract_judge(a->options->contract, level, class, rule);
	if (!narrow || cycle->order != CYCLE_PLAIN || severity == SEVERITY_VIOLATION ||
		*rule != contract_not_promised || !cycle_is_of_items(cycle->steps, cycle->length))
		return severity;
	wide = contract_judge(a->options->contract, level, CLASS_G2_ITEM, &ignored);
	if (wide == SEVERITY_VIOLATION)
		*rule = NULL;
	return wide == SEVERITY_VIOLATION ? wide : severity;
}

static void add_cycle(struct adya *a, const struct cycle *cycle, bool suspected)
{
	enum finding_class class = finding_class_of_cycle(cycle->class, cycle->order);
	const char *rule;
	uint8_t level = weakest_level(a, cycle);
	struct arena *arena = &a->verdict->arena;
	struct witness witness = {.history = a->history, .arena = arena};
	enum severity severity;
	struct finding *finding;
	uint32_t *txns;

	severity = judge_cycle(a, cycle, level, class, &rule);
	/* Of a class the shortest is enough, unless only this one is forbidden. */
	if ((suspected || cycle->longer) && severity != SEVERITY_VIOLATION)
		return;
	if (suspected)
		severity = SEVERITY_SUSPICION;
	finding = adya_add(a, class, severity, rule, level);
	if (!finding)
		return;
	txns = arena_alloc(arena, cycle->length * sizeof(*txns));
	finding->edges = arena_alloc(arena, cycle->length * sizeof(*finding->edges));
	finding->edge_count = cycle->length;
	for (uint32_t i = 0; i < cycle->length; i++) {
		txns[i] = a->dependencies.txn_of[cycle->steps[i].from];
		say_edge(
			&finding->edges[i], arena, a->history, &a->dependencies, &cycle->steps[i]);
		witness_cycle_step(&witness, &a->dependencies, &cycle->steps[i]);
	}
	witness_finish(&witness, finding);
	adya_set_txns(a, finding, txns, cycle->length);
	if (is_lost_update(a, cycle))
		finding->variant = VARIANT_LOST_UPDATE;
	finding->explanation = say_cycle(a, finding);
	if (suspected)
		finding->caveat = SPAN_LIT(
			"This is not proven: at least one of the reads is known only by a "
			"probe that is not exact, and may have seen other versions than its "
			"statement; or by the absence of a row, which a session that was not "
			"recorded may have deleted.");
	finding_seal(finding);
}

/* ---- cycles of the stronger levels ---- */

/* By node: the strongest level at which a violation through it was reported, by class, of any rw
 * edges and of items only. */
struct shown {
	uint8_t level[CYCLE_CLASS_COUNT][2];
};

static bool is_shown(const struct cycle *cycle, uint8_t level, const struct shown *shown)
{
	bool items = cycle_is_of_items(cycle->steps, cycle->length);

	for (uint32_t i = 0; i < cycle->length; i++) {
		if (shown[cycle->steps[i].from].level[cycle->class][items] >= level)
			return true;
	}
	return false;
}

static void mark_shown(const struct adya *a, const struct cycle *cycle, struct shown *shown)
{
	bool items = cycle_is_of_items(cycle->steps, cycle->length);
	uint8_t level = weakest_level(a, cycle);
	const char *rule;

	if (cycle->order != CYCLE_PLAIN ||
		judge_cycle(a, cycle, level, finding_class_of_cycle(cycle->class, CYCLE_PLAIN), &rule) !=
			SEVERITY_VIOLATION)
		return;
	for (uint32_t i = 0; i < cycle->length; i++) {
		for (int k = 0; k <= items; k++) {
			uint8_t *at = &shown[cycle->steps[i].from].level[cycle->class][k];

			*at = *at < level ? level : *at;
		}
	}
}

/* Cycles among the transactions of `level` and above. */
static void find_at_level(const struct adya *a, uint8_t level, struct cycles *cycles)
{
	struct graph strong;
	uint32_t *origin = cut_level(a, &a->dependencies.graph, level, &strong);

	cycles_find(cycles, &strong, &(struct cycles_options){.budget = a->options->budget});
	for (size_t i = 0; i < cycles->count; i++) {
		for (uint32_t k = 0; k < cycles->cycles[i].length; k++) {
			struct cycle_step *step = &cycles->cycles[i].steps[k];

			step->from = origin[step->from];
			step->to = origin[step->to];
		}
	}
	mem_free(origin);
	graph_release(&strong);
}

/*
 * A cycle is judged by its weakest transaction, and the shortest of a component may pass through one
 * that was promised little, where a longer one does not.  So each level is looked at once more
 * without the transactions of weaker ones, and what is forbidden there is added.
 */
static void add_of_stronger_levels(struct adya *a, const struct cycles *all)
{
	const struct history *h = a->history;
	struct shown *shown;
	unsigned levels = 0;

	for (uint32_t v = 0; all->count && v < a->dependencies.graph.txn_count; v++)
		levels |= 1u << h->txns[a->dependencies.txn_of[v]].level;
	levels &= levels - 1; /* the weakest was looked at with all */
	if (!levels)
		return;
	shown = mem_zero(a->dependencies.graph.txn_count, sizeof(*shown));
	for (size_t i = 0; i < all->count; i++)
		mark_shown(a, &all->cycles[i], shown);
	for (uint8_t level = 0; levels >> level; level++) {
		struct cycles cycles;

		if (!(levels >> level & 1))
			continue;
		find_at_level(a, level, &cycles);
		for (size_t i = 0; i < cycles.count; i++) {
			struct cycle *cycle = &cycles.cycles[i];

			cycle->longer = true; /* than one that is reported: a violation or nothing */
			if (is_shown(cycle, level, shown))
				continue;
			add_cycle(a, cycle, false);
			mark_shown(a, cycle, shown);
		}
		cycles_release(&cycles);
	}
	mem_free(shown);
}

/* ---- suspicions ---- */

/* An edge of a read that no exact probe tells of, or that only recorded sessions explain. */
static bool is_inexact(const struct adya *a, const struct cycle_step *step)
{
	const struct history *h = a->history;
	const struct history_txn *t;

	if (step->kind == GRAPH_PREDICATE_WR || step->kind == GRAPH_PREDICATE_RW)
		return a->other_writers && a->dependencies.predicate_edges[step->detail].forced;
	if (step->kind != GRAPH_WR && step->kind != GRAPH_RW)
		return false;
	t = &h->txns[a->dependencies.txn_of[step->kind == GRAPH_WR ? step->to : step->from]];
	for (uint32_t i = t->first_op; i < t->first_op + t->op_count; i++) {
		const struct history_op *op = &h->ops[i];

		if (op->kind == HISTORY_READ && op->version == step->detail &&
			op->flags & HISTORY_OP_EXACT)
			return false;
	}
	return true;
}

static bool is_suspicious(const struct adya *a, const struct cycle *cycle, const bool *reported)
{
	bool inexact = false, news = false;

	for (uint32_t i = 0; i < cycle->length; i++) {
		inexact |= is_inexact(a, &cycle->steps[i]);
		news |= !reported[cycle->steps[i].from];
	}
	return inexact && news;
}

/* The same graph with the edges of inexact reads of items: cycles that need one, and that have
 * transactions which no cycle of exact edges has. */
static void add_suspicions(struct adya *a, const struct cycles *exact)
{
	struct dependencies proven = a->dependencies;
	bool *reported = mem_zero(a->history->txn_count, sizeof(*reported));
	struct cycles cycles;

	for (size_t i = 0; i < exact->count; i++)
		for (uint32_t k = 0; k < exact->cycles[i].length; k++)
			reported[exact->cycles[i].steps[k].from] = true;
	/* Nodes have the same numbers in both. */
	dependencies_build(&a->dependencies, a->history,
		&(struct dependencies_options){.inexact = true,
			.unseen = a->unseen_anywhere,
			.others = a->other_writers});
	cycles_find(&cycles, &a->dependencies.graph,
		&(struct cycles_options){.budget = a->options->budget});
	for (size_t i = 0; i < cycles.count; i++)
		if (is_suspicious(a, &cycles.cycles[i], reported))
			add_cycle(a, &cycles.cycles[i], true);
	cycles_release(&cycles);
	dependencies_release(&a->dependencies);
	a->dependencies = proven;
	mem_free(reported);
}

/* ---- levels and coverage ---- */

/* Something that may have written is not in the trace, or what it wrote is not known: no order of versions is
 * certain to be whole. */
static bool has_open_writes(const struct adya *a)
{
	const struct history_counts *counts = &a->history->counts;

	return !a->history->complete || counts->orders_unknown || counts->unseen_writes || counts->txns_mixed ||
	       counts->lost_records || counts->opaque_sessions;
}

/* PL-1 asks nothing of reads.  `reads`: a read is open, or its edges are not in the graph. */
static bool is_in_doubt(bool writes, bool reads, int level)
{
	return writes || (reads && level != CYCLE_PL_1);
}

static void add_levels(struct adya *a, const struct level_answers *answers, bool open_reads)
{
	static const char *const names[CYCLE_ORDER_COUNT][CYCLE_LEVEL_COUNT] = {
		{"PL-1", "PL-2", "PL-2+", "PL-2.99", "PL-SI", "PL-3"},
		{"strong-session-PL-1", "strong-session-PL-2", "strong-session-PL-2+",
			"strong-session-PL-2.99", "strong-session-PL-SI", "strong-session-PL-3"},
		{"strong-PL-1", "strong-PL-2", "strong-PL-2+", "strong-PL-2.99", "strong-PL-SI",
			"strong-PL-3"}};
	bool open_writes = has_open_writes(a);

	for (int order = 0; order < CYCLE_ORDER_COUNT; order++) {
		if ((order == CYCLE_SESSION && !a->options->session) ||
			(order == CYCLE_REALTIME && !a->options->realtime))
			continue;
		for (int level = 0; level < CYCLE_LEVEL_COUNT; level++) {
			enum level_answer answer = answers->levels[order][level];

			/* PL-2 and up forbid G1a and G1b as well. */
			if (level >= CYCLE_PL_2 && (a->seen_g1a || a->seen_g1b))
				answer = LEVEL_FAILS;
			if (answer == LEVEL_HOLDS &&
				(a->stopped || is_in_doubt(open_writes,
						       open_reads || a->dependencies.explanation.is_dirty, level)))
				answer = LEVEL_UNDECIDED;
			verdict_level(a->verdict, names[order][level], answer);
		}
	}
}

static const char *const open_reasons[OPEN_REASON_COUNT] = {
	[OPEN_STOPPED] = "statements that were not come to before the interruption",
	[OPEN_INEXACT] = "reads with an inexact probe",
	[OPEN_ORDER] = "reads of rows whose versions have no known order",
	[OPEN_TESTS] = "predicates past the limit of tests (--predicate-tests)",
	[OPEN_NO_PROBE] = "statements without a probe",
	[OPEN_UNVERIFIED] = "reads of which the probe does not tell all rows exactly",
	[OPEN_NO_VERSION] = "reads that no version of a row explains",
	[OPEN_NO_EXPLANATION] = "reads of several possible versions, of which none was found that keeps the contract",
	[OPEN_WRITTEN_OUTSIDE] = "reads of versions written outside the trace",
	[OPEN_WRITE_NOT_RECORDED] = "reads of versions whose writing was recorded, but not what it wrote",
	[OPEN_WRITER_INEXACT] = "reads of versions whose writer is not known exactly",
	[OPEN_UNKNOWN_OUTCOME] = "reads from transactions of unknown outcome",
	[OPEN_PERHAPS_REPLACED] = "reads of versions that a write which is not known exactly may have replaced",
	[OPEN_OWN_WRITES] = "own writes that are perhaps not all known",
	[OPEN_WRITES] = "writes that are not known exactly",
	[OPEN_ORDER_OF_WRITES] = "writes of rows whose versions have no known order",
	[OPEN_CHAIN] = "writes of rows whose versions form no chain, which something unrecorded may explain",
	[OPEN_ALSO_OUTSIDE] = "writes of rows that sessions which were not recorded wrote, too",
	[OPEN_UNEXPLAINED] = "reads of rows that no committed transaction left so, which something unrecorded may explain",
	[OPEN_MIXED] = "statements of transactions that a CALL, an EXECUTE or several statements in one text may have "
		       "ended and begun anew",
};

static bool is_judged(const struct history_stmt *stmt)
{
	return stmt->flags & (HISTORY_STMT_DATA | HISTORY_STMT_PROBE) && !(stmt->flags & HISTORY_STMT_INJECTED);
}

static bool is_verified(const struct adya *a, const struct history_stmt *stmt)
{
	return a->options->is_verified && a->options->is_verified(a->options->context,
						  a->history->sessions[stmt->session].number, stmt->number);
}

/* Why a statement is open, from all that was found out about it. */
static enum open_reason open_reason_of(const struct adya *a, const struct level_answers *answers, uint32_t i)
{
	static const enum open_reason of[UNDECIDED_COUNT] = {[UNDECIDED_INEXACT] = OPEN_INEXACT,
		[UNDECIDED_ORDER] = OPEN_ORDER,
		[UNDECIDED_BUDGET] = OPEN_TESTS};
	const struct dependencies *d = &a->dependencies;
	const struct history_stmt *stmt = &a->history->stmts[i];

	if (a->stopped)
		return OPEN_STOPPED;
	if (stmt->flags & HISTORY_STMT_DATA && !(stmt->flags & HISTORY_STMT_PROBE))
		return OPEN_NO_PROBE;
	if (a->open[i] != OPEN_NOT)
		return (enum open_reason)a->open[i];
	if (stmt->txn != HISTORY_NONE && a->history->txns[stmt->txn].flags & HISTORY_TXN_MIXED)
		return OPEN_MIXED;
	if (stmt->flags & HISTORY_STMT_UNEXPLAINED)
		return OPEN_UNEXPLAINED;
	if (stmt->flags & HISTORY_STMT_UNSEEN)
		return OPEN_WRITES;
	if (d->open && d->open[i])
		return of[d->open[i] - 1];
	if (d->explanation.impossible_in && d->explanation.impossible_in[i])
		return OPEN_NO_VERSION;
	if (d->explanation.unknown_in && d->explanation.unknown_in[i])
		return OPEN_UNKNOWN_OUTCOME;
	if (answers->open && answers->open[i])
		return OPEN_NO_EXPLANATION;
	if (d->explanation.unverified && d->explanation.unverified[i])
		return OPEN_UNVERIFIED;
	return OPEN_NOT;
}

/* Are the edges of such a statement in the graph of an explanation? */
static bool has_edges(enum open_reason reason)
{
	return reason == OPEN_NOT || reason == OPEN_UNVERIFIED || reason == OPEN_NO_EXPLANATION;
}

/* Counts statements.  True: the graph lacks edges of some.  The example of a reason is the statement that was sent
 * first, wherever its record stands. */
static bool add_statements(struct adya *a, const struct level_answers *answers)
{
	const struct history *h = a->history;
	uint64_t counts[OPEN_REASON_COUNT] = {0};
	uint32_t first[OPEN_REASON_COUNT] = {0};
	bool *sessions = mem_zero(h->session_count, sizeof(*sessions)), lacks = false;

	for (uint32_t i = 0; i < h->stmt_count; i++) {
		enum open_reason reason;

		if (!is_judged(&h->stmts[i]))
			continue;
		reason = open_reason_of(a, answers, i);
		lacks |= !has_edges(reason);
		if (reason == OPEN_NOT || (reason != OPEN_STOPPED && is_verified(a, &h->stmts[i]))) {
			a->verdict->decided++;
			continue;
		}
		lacks |= reason == OPEN_UNVERIFIED;
		a->verdict->open_sessions += !sessions[h->stmts[i].session];
		sessions[h->stmts[i].session] = true;
		if (!counts[reason]++ || h->stmts[i].begin_seq < h->stmts[first[reason]].begin_seq)
			first[reason] = i;
	}
	for (int reason = OPEN_NOT + 1; reason < OPEN_REASON_COUNT; reason++) {
		const struct history_stmt *stmt = &h->stmts[first[reason]];

		verdict_undecided(a->verdict, open_reasons[reason], counts[reason]);
		if (counts[reason])
			verdict_example(a->verdict, open_reasons[reason],
				&(struct finding_step){.stmt = first[reason],
					.session = h->sessions[stmt->session].number,
					.number = stmt->number},
				NULL);
	}
	mem_free(sessions);
	return lacks;
}

static void add_coverage(struct adya *a)
{
	const struct history *h = a->history;
	struct verdict *v = a->verdict;

	verdict_undecided(
		v, "transactions of which statements may be lost", h->counts.txns_holed);
	verdict_undecided(v, "records lost while recording", h->counts.lost_records);
	/* Once: it is not known how many decisions the missing bytes would have been. */
	verdict_undecided(v, "a damaged or torn part of the trace",
		h->counts.damaged_bytes + h->counts.torn_bytes > 0);
	verdict_undecided(v, "sessions that were not read", h->counts.opaque_sessions);
}

static void judge_objects(struct adya *a)
{
	const struct history *h = a->history;

	for (uint32_t o = 0; o < h->object_count; o++) {
		const struct history_object *object = &h->objects[o];

		for (uint32_t i = 0, ahead = object->first_order + PREFETCH_AHEAD;
			i < object->order_count && ahead < h->order_count; i++, ahead++)
			__builtin_prefetch(&h->versions[h->order[ahead]].flags);
		if (!object->order_known)
			judge_broken_order(a, o);
		judge_final(a, o);
	}
}

/* Things that know nothing of each other, two at a time: what asks nothing of the graph is judged
 * while that is made; then cycles are searched in it, and written down later.  Only the second part
 * of the one and the first part of the other write into the verdict. */
struct judging {
	struct adya *a;
	struct cycles *cycles;
	bool timed; /* the graph is made without what real time tells */
	bool found; /* the cycles were */
};

static void draw(struct adya *a, bool timed)
{
	dependencies_build(&a->dependencies, a->history,
		&(struct dependencies_options){.session = a->options->session,
			.realtime = a->options->realtime,
			.timed = timed,
			.unseen = a->unseen_anywhere,
			.others = a->other_writers,
			.tests_max = a->options->tests_max,
			.meter = a->options->meter});
}

static void find_cycles(const struct adya *a, struct cycles *cycles)
{
	cycles_find(cycles, &a->dependencies.graph,
		&(struct cycles_options){.session = a->options->session,
			.realtime = a->options->realtime,
			.budget = a->options->budget});
}

static void graph_part(void *data, unsigned part)
{
	const struct judging *all = data;

	if (part > 0) {
		judge_operations(all->a);
		judge_objects(all->a);
	} else {
		draw(all->a, all->timed);
	}
}

static void judge_part(void *data, unsigned part)
{
	const struct judging *all = data;
	struct adya *a = all->a;

	if (part == 0)
		judge_snapshots(a);
	else if (!all->found)
		find_cycles(a, all->cycles);
}

/*
 * Most edges follow from real time, and the number of those that predicates draw grows with that of the reads times that of the
 * rows.  So explanations do without them at first (dependencies_options.timed).  Where all that holds in these also holds with the
 * order of real time, the edges change nothing.  Else all are drawn.
 */
static bool can_be_timed(const struct adya *a)
{
	return a->options->realtime && !a->options->drawn && !a->options->contract->untimed && !a->other_writers &&
	       !a->unseen_anywhere && !has_open_writes(a);
}

/* Decides the levels by the graph without what was left out.  False: that has to be drawn. */
static bool decide_timed(struct adya *a, struct judging *judging, struct level_answers *answers)
{
	if (!a->dependencies.timed)
		return true;
	find_cycles(a, judging->cycles);
	levels_decide(a, judging->cycles, true, answers);
	judging->found = levels_bear_what_was_left_out(answers);
	if (judging->found)
		return true;
	levels_release(answers);
	cycles_release(judging->cycles);
	dependencies_release(&a->dependencies);
	*answers = (struct level_answers){.open = NULL};
	return false;
}

/* Begins a phase.  False: an interruption wants no more of them. */
static bool goes_on(struct adya *a, const char *phase)
{
	meter_things(a->options->meter, phase, 0, 0);
	a->stopped |= a->dependencies.stopped || interrupt_seen();
	return !a->stopped;
}

void adya_check(
	const struct history *history, const struct adya_options *options, struct verdict *verdict)
{
	struct adya a = {.history = history, .options = options, .verdict = verdict};
	struct level_answers answers = {.open = NULL};
	struct cycles cycles = {.cycles = NULL};
	struct judging judging = {.a = &a, .cycles = &cycles};
	bool lacks_edges;

	a.open = mem_zero(history->stmt_count, sizeof(*a.open));
	read_writers(&a);
	look_for_unseen(&a);
	judging.timed = can_be_timed(&a);
	parallel_run(graph_part, &judging, 2);
	meter_things(options->meter, "looking for cycles", 0, 0);
	if (!a.dependencies.stopped && !decide_timed(&a, &judging, &answers))
		draw(&a, false);
	if (!a.dependencies.stopped)
		parallel_run(judge_part, &judging, 2);
	for (size_t i = 0; i < cycles.count; i++)
		add_cycle(&a, &cycles.cycles[i], false);
	if (goes_on(&a, "looking for cycles of each level"))
		add_of_stronger_levels(&a, &cycles);
	if (goes_on(&a, "trying explanations") && !judging.found)
		levels_decide(&a, &cycles, !has_open_writes(&a), &answers);
	else if (!judging.found)
		memcpy(answers.levels, cycles.levels, sizeof(answers.levels));
	if ((a.dependencies.undecided[UNDECIDED_INEXACT] || a.dependencies.left_to_others) &&
		goes_on(&a, "looking for suspicions"))
		add_suspicions(&a, &cycles);
	for (uint32_t i = 0; i < a.limiter_count; i++) {
		/* The count goes to the last one listed of its kind. */
		for (size_t f = verdict->finding_count; a.limiters[i].more && f-- > 0;) {
			if (verdict->findings[f].class == a.limiters[i].class &&
				verdict->findings[f].severity == a.limiters[i].severity) {
				verdict->findings[f].similar = a.limiters[i].more;
				break;
			}
		}
	}
	if (goes_on(&a, "looking at components"))
		components_add(verdict, history, &a.dependencies, &cycles);
	verdict->chosen = a.dependencies.explanation.meeting_count;
	lacks_edges = add_statements(&a, &answers);
	add_coverage(&a);
	add_levels(&a, &answers, lacks_edges);
	verdict->contract = options->contract->name;
	verdict_sort(verdict);
	if (options->drawn && !a.stopped)
		options->drawn(options->drawn_context, &a.dependencies);
	levels_release(&answers);
	cycles_release(&cycles);
	dependencies_release(&a.dependencies);
	mem_free(a.open);
}
