/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "adya/version_chain.h"

#include <stdlib.h>

#include "base/mem.h"

enum { PREFETCH_VERSIONS = 16 };

void chains_init(struct chains *chains, const struct history *history, struct matcher *matcher)
{
	*chains = (struct chains){.history = history, .matcher = matcher, .arena = ARENA_INIT};
	chains->of = mem_zero(history->object_count, sizeof(struct chain *));
}

void chains_release(struct chains *chains)
{
	mem_free(chains->of);
	arena_release(&chains->arena);
}

bool version_is_absent(const struct history *h, uint32_t version)
{
	return h->versions[version].flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_DEAD);
}

uint32_t only_absent_version(const struct history *h, const struct history_object *o)
{
	uint32_t found = HISTORY_NONE;

	for (uint32_t i = 0; i < o->order_count && i < PREFETCH_VERSIONS; i++)
		MEM_PREFETCH(&h->versions[h->order[o->first_order + i]]);
	for (uint32_t i = 0; i < o->order_count; i++) {
		uint32_t version = h->order[o->first_order + i];

		if (!version_is_absent(h, version))
			continue;
		if (found != HISTORY_NONE)
			return HISTORY_NONE;
		found = version;
	}
	return found;
}

static uint32_t begin_seq_of(const struct history *h, uint32_t version)
{
	uint32_t stmt = h->versions[version].stmt;

	return stmt == HISTORY_NONE ? 0 : h->stmts[stmt].begin_seq;
}

/* Position 1, as unborn is 0. */
bool object_was_there(const struct history *h, const struct history_object *o)
{
	const uint32_t both = HISTORY_VERSION_INITIAL | HISTORY_VERSION_UNWRITTEN;

	return o->installed_count > 1 &&
	       (h->versions[h->order[o->first_order + 1]].flags & both) == HISTORY_VERSION_INITIAL;
}

/* Images and statements of the versions of an object lie far apart: asked for together, not one by
 * one. */
static void prefetch_versions(const struct history *h, const struct history_object *o)
{
	for (uint32_t i = 0; i < o->order_count && i < PREFETCH_VERSIONS; i++) {
		const struct history_version *v = &h->versions[h->order[o->first_order + i]];

		__builtin_prefetch(h->pool + (size_t)v->image * HISTORY_POOL_UNIT);
		if (v->stmt != HISTORY_NONE)
			__builtin_prefetch(&h->stmts[v->stmt].begin_seq);
	}
}

static uint32_t end_of_writer(const struct history *h, uint32_t version)
{
	const struct history_version *v = &h->versions[version];

	if (v->txn == HISTORY_NONE)
		return v->flags & HISTORY_VERSION_UNWRITTEN ? HISTORY_NONE : 0;
	return h->txns[v->txn].outcome == TXN_UNKNOWN ? HISTORY_NONE : h->txns[v->txn].end_seq;
}

static uint32_t begin_of_writer(const struct history *h, uint32_t version)
{
	uint32_t txn = h->versions[version].txn;

	return txn == HISTORY_NONE ? 0 : h->txns[txn].begin_seq;
}

static void set_times(struct chains *chains, const struct history_object *o, struct chain *chain)
{
	const struct history *h = chains->history;
	uint32_t *ended = arena_alloc(&chains->arena, (o->installed_count + 1) * sizeof(*ended));
	uint32_t *begun = arena_alloc(&chains->arena, (o->installed_count + 1) * sizeof(*begun));
	uint32_t last = 0, first = HISTORY_NONE;

	for (uint32_t i = 0; i < o->installed_count; i++) {
		uint32_t end = end_of_writer(h, chain->order[i]);

		ended[i] = last = end > last ? end : last;
	}
	begun[o->installed_count] = first;
	for (uint32_t i = o->installed_count; i-- > 0;) {
		uint32_t begin = begin_of_writer(h, chain->order[i]);

		begun[i] = first = begin < first ? begin : first;
	}
	chain->ended = ended;
	chain->begun = begun;
	for (uint32_t i = o->installed_count; i < o->order_count; i++) {
		uint32_t end = end_of_writer(h, chain->order[i]), begin = begin_of_writer(h, chain->order[i]);

		if (end > chain->hidden_ended)
			chain->hidden_ended = end;
		if (begin < chain->hidden_begun)
			chain->hidden_begun = begin;
	}
}

const struct chain *chains_make(struct chains *chains, uint32_t object)
{
	const struct history *h = chains->history;
	const struct history_object *o = &h->objects[object];
	struct chain *chain = arena_alloc(&chains->arena, sizeof(*chain));
	uint32_t *seqs = arena_alloc(&chains->arena, o->installed_count * sizeof(*seqs));
	struct match_row *rows = arena_alloc(&chains->arena, o->installed_count * sizeof(*rows));

	*chain = (struct chain){
		.order = h->order + o->first_order,
		.begin_seq = seqs,
		.rows = rows,
		.count = o->installed_count,
		.only_absent = only_absent_version(h, o),
		.hidden_seq = HISTORY_NONE,
		.hidden_begun = HISTORY_NONE,
		.born = object_was_there(h, o),
	};
	prefetch_versions(h, o);
	for (uint32_t i = 0; i < o->installed_count; i++) {
		seqs[i] = begin_seq_of(h, chain->order[i]);
		matcher_row(chains->matcher, chain->order[i], &rows[i]);
	}
	for (uint32_t i = o->installed_count; i < o->order_count; i++) {
		uint32_t seq = begin_seq_of(h, chain->order[i]);

		if (version_is_absent(h, chain->order[i]) && seq < chain->hidden_seq)
			chain->hidden_seq = seq;
	}
	set_times(chains, o, chain);
	chains->of[object] = chain;
	return chain;
}
