/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history that is loaded from a simulated trace, against what really happened.  What the loader
 * states must be true; what it leaves open is counted, and must be little.
 */
#include "unit/unit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/history/load.h"
#include "sim/sim.h"
#include "trace/value.h"

struct compare {
	const struct twin_history *truth;
	const struct twin_result *result;
	struct history h;
	uint32_t txn[TWIN_TXN_MAX]; /* by the truth's index: the history's */
	uint64_t orders, orders_known, reads, reads_open;
	uint64_t seed;
	int discipline;
};

#define MUST(c, cond)                                                                              \
	do {                                                                                       \
		if (!(cond))                                                                       \
			ck_abort_msg("%s, seed %llu: %s",                                          \
				sim_discipline_name((enum sim_discipline)(c)->discipline),         \
				(unsigned long long)(c)->seed, #cond);                             \
	} while (0)

static uint64_t key_of(const struct history *h, uint32_t object)
{
	struct mp mp = mp_over(history_bytes(h, h->objects[object].key));

	return mp_uint(&mp);
}

static uint32_t find_object(const struct compare *c, const struct twin_object *o)
{
	for (uint32_t i = 0; i < c->h.object_count; i++)
		if (c->h.tables[c->h.objects[i].table].number == o->table &&
			key_of(&c->h, i) == (uint64_t)o->key)
			return i;
	return HISTORY_NONE;
}

/* The same version, as far as the trace names it: unborn and dead ones have no name. */
static bool same_version(const struct compare *c, uint32_t version, uint32_t truth)
{
	const struct history_version *v = &c->h.versions[version];
	const struct twin_version *t = &c->truth->versions[truth];

	if (t->unborn)
		return v->flags & HISTORY_VERSION_UNBORN;
	if (!t->exists)
		return v->flags & HISTORY_VERSION_DEAD && v->txn == c->txn[t->txn];
	return v->name == t->name && !(v->flags & HISTORY_VERSION_NAMELESS);
}

static void compare_txns(struct compare *c)
{
	MUST(c, c->h.txn_count == c->truth->txn_count);
	for (size_t i = 0; i < c->truth->txn_count; i++) {
		const struct twin_txn *t = &c->truth->txns[i];
		const struct history_txn *found = NULL;

		for (uint32_t k = 0; k < c->h.txn_count; k++) {
			if (c->h.txns[k].number == t->number) {
				c->txn[i] = k;
				found = &c->h.txns[k];
			}
		}
		MUST(c, found);
		MUST(c, found->outcome == t->outcome);
		MUST(c, found->level == t->level);
		MUST(c, c->h.sessions[found->session].number == t->session);
		/* As early, or earlier; as late, or later: real time proves no more than it should.
		 */
		MUST(c, found->begin_seq + c->h.seq_base <= t->begin_seq);
		MUST(c, found->end_seq + c->h.seq_base >= t->end_seq || t->end_seq == UINT64_MAX);
		MUST(c, !history_committed(&c->h, c->txn[i]) || c->result->committed[i]);
	}
	for (size_t a = 0; a < c->truth->txn_count; a++) {
		if (c->truth->txns[a].outcome == TXN_UNKNOWN)
			continue;
		for (size_t b = 0; b < c->truth->txn_count; b++)
			MUST(c, (c->h.txns[c->txn[a]].end_seq <= c->h.txns[c->txn[b]].begin_seq) ==
					(c->truth->txns[a].end_seq < c->truth->txns[b].begin_seq));
	}
}

/* Whether a transaction wrote it that the twin counts as committed and the loader does not. */
static bool written_by_unproven(const struct compare *c, uint32_t object)
{
	for (size_t v = 0; v < c->truth->version_count; v++) {
		const struct twin_version *t = &c->truth->versions[v];

		if (t->object == object && t->txn != TWIN_NONE && c->result->committed[t->txn] &&
			!history_committed(&c->h, c->txn[t->txn]))
			return true;
	}
	return false;
}

static void compare_orders(struct compare *c)
{
	for (uint32_t o = 0; o < c->truth->object_count; o++) {
		uint32_t object = find_object(c, &c->truth->objects[o]);
		const struct history_object *ho;
		uint32_t installed = 0;

		if (object == HISTORY_NONE)
			continue;
		ho = &c->h.objects[object];
		/* A row's absence at the end shows that a transaction of unknown outcome deleted
		 * it; the loader need not conclude that. */
		if (written_by_unproven(c, o))
			continue;
		c->orders++;
		c->orders_known += ho->order_known;
		if (!ho->order_known)
			continue;
		for (uint32_t v = 0; v < c->truth->version_count; v++) {
			uint32_t position = c->result->position[v];

			if (c->truth->versions[v].object != o || position == TWIN_NONE)
				continue;
			installed++;
			MUST(c, position < ho->installed_count);
			MUST(c, same_version(c, c->h.order[ho->first_order + position], v));
		}
		MUST(c, installed == ho->installed_count);
	}
}

/* The reads of one transaction, in order. */
static void compare_reads(struct compare *c, uint32_t txn)
{
	const struct history_txn *t = &c->h.txns[c->txn[txn]];
	uint32_t at = t->first_op;

	for (size_t i = 0; i < c->truth->op_count; i++) {
		const struct twin_op *op = &c->truth->ops[i];

		if (op->txn != txn || op->kind != TWIN_READ)
			continue;
		while (at < t->first_op + t->op_count && c->h.ops[at].kind != HISTORY_READ)
			at++;
		MUST(c, at < t->first_op + t->op_count);
		c->reads++;
		MUST(c, c->h.ops[at].flags & HISTORY_OP_EXACT);
		MUST(c, c->h.ops[at].read_kind == op->read_kind);
		MUST(c, !(c->h.ops[at].flags & HISTORY_OP_ABSENT) ==
				c->truth->versions[op->version].exists);
		if (c->h.ops[at].version == HISTORY_NONE)
			c->reads_open++;
		else
			MUST(c, same_version(c, c->h.ops[at].version, op->version));
		at++;
	}
}

START_TEST(loaded_histories_are_true)
{
	char path[] = "/tmp/isosim-history-XXXXXX";
	int fd = mkstemp(path);
	uint64_t orders = 0, known = 0, reads = 0, open = 0;

	ck_assert_int_ge(fd, 0);
	for (int d = 0; d < SIM_DISCIPLINE_COUNT; d++) {
		for (uint64_t seed = 1; seed <= 60; seed++) {
			struct twin_history truth = TWIN_HISTORY_INIT;
			struct history_load_options loading = {0};
			struct twin_result result;
			struct compare c = {.truth = &truth, .result = &result};
			struct sim_options o;
			struct err err;

			sim_defaults(&o);
			o.discipline = (enum sim_discipline)d;
			o.seed = c.seed = seed;
			c.discipline = d;
			o.transactions = 50;
			o.keys = 5 + (uint32_t)seed;
			o.tables = 1 + seed % 2;
			o.predicate_keys = 0;
			o.insert = o.delete = 0.08;
			o.pk_update = 0.04;
			o.savepoint = 0.1;
			o.unknown = seed % 2 ? 0.1 : 0;
			o.lock_timeout_ns = seed % 3 ? 0 : 20000;
			ck_assert(sim_write(&o, path, 0, &truth, NULL, NULL, &err));
			twin_check_edges(&truth, &result);
			ck_assert_msg(history_load(&c.h, path, &loading, &err), "%s", err.text);
			history_check(&c.h);
			MUST(&c, c.h.complete);
			MUST(&c, c.h.counts.records_skipped == 0 && c.h.counts.rows_skipped == 0);
			MUST(&c, c.h.counts.unwritten_versions == 0);
			compare_txns(&c);
			compare_orders(&c);
			for (uint32_t txn = 0; txn < truth.txn_count; txn++)
				compare_reads(&c, txn);
			orders += c.orders;
			known += c.orders_known;
			reads += c.reads;
			open += c.reads_open;
			history_release(&c.h);
			twin_result_release(&result);
			twin_history_release(&truth);
		}
	}
	printf("# orders: %llu of %llu known; reads: %llu of %llu left open\n",
		(unsigned long long)known, (unsigned long long)orders, (unsigned long long)open,
		(unsigned long long)reads);
	/* Only keys that were deleted and inserted again may be open. */
	ck_assert_uint_ge(known * 10, orders * 8);
	ck_assert_uint_le(open * 10, reads);
	close(fd);
	remove(path);
}
END_TEST

UNIT_MAIN("sim_history", loaded_histories_are_true)
