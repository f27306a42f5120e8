/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/dependencies_internal.h"

#include <stdlib.h>

#include "base/interrupt.h"
#include "base/mem.h"
#include "server/flavour.h"

enum { PREFETCH_AHEAD = 32, ASKED_EVERY = 1024 };

void go_on(struct dependency_builder *b, const char *phase, uint64_t done, uint64_t all)
{
	meter_things(b->meter, phase, done, all);
	b->out->stopped |= interrupt_seen();
}

uint32_t version_next(const struct history *history, uint32_t version)
{
	const struct history_version *v = &history->versions[version];
	const struct history_object *o = &history->objects[v->object];

	if (!o->order_known || v->position == HISTORY_NONE || v->position + 1 >= o->installed_count)
		return HISTORY_NONE;
	return history->order[o->first_order + v->position + 1];
}

void count_undecided(struct dependency_builder *b, enum undecided why, uint32_t stmt)
{
	struct dependencies *out = b->out;

	out->undecided[why]++;
	if (!out->open)
		out->open = mem_zero(b->history->stmt_count, sizeof(*out->open));
	if (stmt != HISTORY_NONE)
		out->open[stmt] = (uint8_t)(why + 1);
}

void add_edge(
	struct dependency_builder *b, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t detail)
{
	if (from != GRAPH_NONE && to != GRAPH_NONE)
		graph_builder_add(&b->graph, from, to, kind, detail);
}

/* Who reads it, reads from its writer: not from one that replaced it or took it back. */
static struct link link_to(const struct dependency_builder *b, uint32_t version, uint32_t node, uint32_t next)
{
	uint16_t passing = HISTORY_VERSION_INTERMEDIATE | HISTORY_VERSION_UNDONE;

	if (b->history->versions[version].flags & passing)
		node = GRAPH_NONE;
	return (struct link){node, next};
}

/* ww: Ti installs x_i and Tj installs the next version of x.  On the way, what reads lead to. */
static void add_write_edges(struct dependency_builder *b)
{
	const struct history *h = b->history;

	b->links = mem_realloc(NULL, h->version_count, sizeof(*b->links));
	for (uint32_t o = 0; o < h->object_count; o++) {
		const struct history_object *object = &h->objects[o];
		const uint32_t *order = h->order + object->first_order;
		uint32_t before = GRAPH_NONE;

		for (uint32_t i = 0, ahead = object->first_order + PREFETCH_AHEAD;
			i < object->order_count && ahead < h->order_count; i++, ahead++) {
			MEM_PREFETCH(&h->versions[h->order[ahead]]);
			__builtin_prefetch(&b->links[h->order[ahead]], 1);
		}
		for (uint32_t i = 0; i < object->order_count && !object->order_known; i++)
			b->links[order[i]] =
				link_to(b, order[i], node_of_version(b, order[i]), LINK_UNORDERED);
		if (!object->order_known)
			continue;
		for (uint32_t i = 0; i < object->installed_count; i++) {
			uint32_t node = node_of_version(b, order[i]);

			b->links[order[i]] = link_to(b, order[i], node, LINK_LAST);
			if (i > 0) {
				b->links[order[i - 1]].next = node;
				add_edge(b, before, node, GRAPH_WW, order[i]);
			}
			before = node;
		}
		for (uint32_t i = object->installed_count; i < object->order_count; i++)
			b->links[order[i]] = (struct link){GRAPH_NONE, LINK_ASIDE};
	}
}

/* A read of one key found no row: unborn, or one of several deletions. */
static void add_no_row(struct dependency_builder *b, const struct history_op *op)
{
	if (!b->history->objects[op->object].order_known)
		count_undecided(b, UNDECIDED_ORDER, op->stmt);
	else
		explanation_add(&b->out->explanation,
			&(struct meeting){.op = (uint32_t)(op - b->history->ops),
				.object = op->object,
				.kind = MEETING_NO_ROW});
}

/* wr: Ti installs x_i and Tj reads x_i.  rw: Ti reads x_k and Tj installs the next version. */
static void add_read(struct dependency_builder *b, uint32_t node, const struct history_op *op)
{
	struct link link;

	if (!(op->flags & HISTORY_OP_EXACT)) {
		count_undecided(b, UNDECIDED_INEXACT, op->stmt);
		if (!b->inexact)
			return;
	}
	if (op->version == HISTORY_NONE) {
		add_no_row(b, op);
		return;
	}
	link = b->links[op->version];
	if (link.next == LINK_ASIDE) {
		/* Aborted, intermediate, or its own: G1a and G1b judge these, the graph does not.
		 */
		b->out->decided++;
		return;
	}
	add_edge(b, link.writer, node, GRAPH_WR, op->version);
	if (link.next == LINK_UNORDERED) {
		count_undecided(b, UNDECIDED_ORDER, op->stmt);
		return;
	}
	add_edge(b, node, link.next, GRAPH_RW, op->version);
	b->out->decided++;
}

/* MySQL and MariaDB roll an engine back whole that joined the transaction after the savepoint
 * (ha_rollback_to_savepoint in sql/handler.cc; its row locks are gone, as innodb_trx shows). */
bool dependencies_released(const struct history *h)
{
	return server_has_innodb(server_flavour_named(strtab_get(&h->strings, h->flavour)));
}

/* What the transaction sees of the row from here on, until ROLLBACK TO takes it back. */
static void note_own_write(struct dependency_builder *b, uint32_t node, uint32_t op)
{
	uint32_t object = b->history->ops[op].object;

	if (!b->own)
		return;
	b->own[object] = op;
	b->own_stamp[object] = node + 1;
}

static void add_read_edges(struct dependency_builder *b)
{
	const struct history *h = b->history;
	bool releases = dependencies_released(h);

	for (uint32_t node = 0; node < b->graph.txn_count && !b->out->stopped; node++) {
		const struct history_txn *t = &h->txns[b->out->txn_of[node]];

		if (node % ASKED_EVERY == 0)
			go_on(b, "drawing dependencies", node, b->graph.txn_count);
		for (uint32_t i = t->first_op; i < t->first_op + t->op_count; i++) {
			const struct history_op *op = &h->ops[i];
			uint32_t ahead = i + PREFETCH_AHEAD;

			if (ahead < h->op_count && h->ops[ahead].kind == HISTORY_READ &&
				h->ops[ahead].version != HISTORY_NONE)
				__builtin_prefetch(&b->links[h->ops[ahead].version]);
			if (releases && op->flags & HISTORY_OP_RELEASED)
				continue; /* it was no part of what committed */
			if (op->kind == HISTORY_READ) {
				add_read(b, node, op);
			} else if (op->kind == HISTORY_PREDICATE) {
				add_predicate(b, i, node);
			} else {
				b->out->decided++;
				note_own_write(b, node, i);
			}
		}
	}
}

/* ---- the orders beside the data ---- */

static void add_session_edges(struct dependency_builder *b)
{
	const struct history *h = b->history;

	uint32_t *last = mem_realloc(NULL, h->session_count, sizeof(*last));

	for (uint32_t s = 0; s < h->session_count; s++)
		last[s] = GRAPH_NONE;
	/* A session's transactions are numbered in its order (history.h, invariant 3). */
	for (uint32_t node = 0; node < b->graph.txn_count; node++) {
		uint32_t s = h->txns[b->out->txn_of[node]].session;

		add_edge(b, last[s], node, GRAPH_SESSION, 0);
		last[s] = node;
	}
	mem_free(last);
}

static void add_realtime_edges(struct dependency_builder *b)
{
	const struct history *h = b->history;
	uint32_t count = b->graph.txn_count;
	uint64_t *begin = mem_realloc(NULL, count, sizeof(*begin));
	uint64_t *end = mem_realloc(NULL, count, sizeof(*end));

	for (uint32_t node = 0; node < count; node++) {
		const struct history_txn *t = &h->txns[b->out->txn_of[node]];

		begin[node] = t->begin_seq;
		/* Without an answered commit nothing is known to come after it. */
		end[node] = t->outcome == TXN_COMMITTED ? t->end_seq : UINT64_MAX;
	}
	graph_builder_realtime(&b->graph, begin, end);
	mem_free(begin);
	mem_free(end);
}

static void release_builder(struct dependencies *dependencies)
{
	if (dependencies->builder)
		predicates_release(dependencies->builder);
	mem_free(dependencies->builder);
	dependencies->builder = NULL;
}

void dependencies_build(struct dependencies *out, const struct history *history,
	const struct dependencies_options *options)
{
	struct dependency_builder *b = mem_zero(1, sizeof(*b));
	uint32_t count = 0;

	*out = (struct dependencies){.builder = b};
	b->out = out;
	b->history = history;
	b->inexact = options->inexact;
	b->unseen = options->unseen;
	b->others = options->others;
	b->timed = options->timed;
	out->timed = options->timed ? history : NULL;
	b->meter = options->meter;
	b->tests_left = options->tests_max ? options->tests_max : PREDICATE_TESTS_DEFAULT;
	out->node_of = mem_realloc(NULL, history->txn_count, sizeof(*out->node_of));
	out->txn_of = mem_realloc(NULL, history->txn_count, sizeof(*out->txn_of));
	for (uint32_t t = 0; t < history->txn_count; t++) {
		out->node_of[t] = GRAPH_NONE;
		if (dependencies_has(history, t)) {
			out->node_of[t] = count;
			out->txn_of[count++] = t;
		}
	}
	graph_builder_init(&b->graph, count);
	if (history->predicate_count)
		predicates_init(b);
	add_write_edges(b);
	add_read_edges(b);
	if (out->explanation.meeting_count && !b->inexact && !out->stopped)
		explanation_choose(out);
	mem_free(b->links);
	b->links = NULL;
	if (options->session)
		add_session_edges(b);
	if (options->realtime)
		add_realtime_edges(b);
	graph_build(&out->graph, &b->graph);
	if (!out->explanation.meeting_count)
		release_builder(out);
}

void dependencies_release(struct dependencies *dependencies)
{
	release_builder(dependencies);
	explanation_release(&dependencies->explanation);
	graph_release(&dependencies->graph);
	mem_free(dependencies->node_of);
	mem_free(dependencies->txn_of);
	mem_free(dependencies->predicate_edges);
	mem_free(dependencies->open);
	*dependencies = (struct dependencies){0};
}
