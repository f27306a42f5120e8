/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/guarantees.h"

#include <stdlib.h>

#include "base/mem.h"

uint32_t guarantee_read_end(const struct facts *f, uint32_t op)
{
	const struct values *v = f->v;
	const struct values_txn *txn = &v->txns[v->ops[op].txn];
	const uint32_t *list = v->order + v->keys[v->ops[op].key].first_order;
	uint32_t end = v->ops[op].value;
	bool own = false;

	for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++)
		own |= v->ops[i].kind == VALUES_APPEND && v->ops[i].key == v->ops[op].key;
	while (own && end && facts_writer(f, list[end - 1]) == v->ops[op].txn)
		end--;
	return end;
}

uint32_t guarantee_append_place(const struct facts *f, uint32_t op)
{
	const struct values_op *o = &f->v->ops[op];

	return f->position[o->value] < f->list_end[o->key] ? f->position[o->value] : UINT32_MAX;
}

bool guarantee_read_counts(const struct facts *f, uint32_t op)
{
	const struct values_op *o = &f->v->ops[op];

	return o->kind == VALUES_READ_LIST && f->counts[o->txn] &&
	       !(o->flags & VALUES_OP_OWN_LIST) && o->value <= f->list_end[o->key];
}

/* The furthest that a session has come with a key, and by which transaction; valid for one session. */
struct mark {
	uint32_t at, txn; /* at: 0 nowhere, else place + 1, saturated */
};

struct key_marks {
	uint32_t session;
	struct mark wrote, writes, read; /* writes: of the current transaction */
};

static uint32_t above(uint32_t place)
{
	return place == UINT32_MAX ? place : place + 1;
}

static void raise(struct mark *mark, uint32_t at, uint32_t txn)
{
	if (at > mark->at)
		*mark = (struct mark){at, txn};
}

static void breach(struct guarantee_breach *b, const struct mark *mark, uint32_t txn)
{
	if (b->first == VALUES_NONE)
		*b = (struct guarantee_breach){mark->txn, txn};
}

static void one_op(const struct facts *f, uint32_t i, struct key_marks *k,
	struct guarantee_breach breaches[GUARANTEE_COUNT])
{
	const struct values_op *op = &f->v->ops[i];

	if (k->writes.at && k->writes.txn != op->txn) {
		raise(&k->wrote, k->writes.at, k->writes.txn);
		k->writes = (struct mark){0, 0};
	}
	if (op->kind == VALUES_APPEND) {
		uint32_t at = above(guarantee_append_place(f, i));

		if (k->wrote.at > at)
			breach(&breaches[GUARANTEE_MW], &k->wrote, op->txn);
		if (k->read.at >= at && at != UINT32_MAX)
			breach(&breaches[GUARANTEE_WFR], &k->read, op->txn);
		raise(&k->writes, at, op->txn);
	} else if (guarantee_read_counts(f, i)) {
		uint32_t end = guarantee_read_end(f, i);

		if (k->wrote.at > end)
			breach(&breaches[GUARANTEE_RYW], &k->wrote, op->txn);
		if (k->read.at > end)
			breach(&breaches[GUARANTEE_MR], &k->read, op->txn);
		raise(&k->read, end, op->txn);
	}
}

static bool all_breached(const struct guarantee_breach breaches[GUARANTEE_COUNT])
{
	for (int g = 0; g < GUARANTEE_COUNT; g++) {
		if (breaches[g].first == VALUES_NONE)
			return false;
	}
	return true;
}

bool guarantees_of_lists(const struct facts *f, struct guarantee_breach breaches[GUARANTEE_COUNT])
{
	const struct values *v = f->v;
	struct key_marks *marks;

	if (f->has_registers || f->ambiguous_list || !f->has_lists)
		return false;
	marks = mem_zero(v->key_count, sizeof(*marks));
	for (uint32_t k = 0; k < v->key_count; k++)
		marks[k].session = VALUES_NONE;
	for (int g = 0; g < GUARANTEE_COUNT; g++)
		breaches[g] = (struct guarantee_breach){VALUES_NONE, VALUES_NONE};
	for (uint32_t s = 0; s < v->session_count; s++) {
		for (uint32_t i = 0; i < v->sessions[s].txn_count && !all_breached(breaches); i++) {
			uint32_t t = v->session_txns[v->sessions[s].first_txn + i];

			for (uint32_t o = 0; f->counts[t] && o < v->txns[t].op_count; o++) {
				uint32_t op = v->txns[t].first_op + o;
				struct key_marks *k;

				if (v->ops[op].kind == VALUES_PREDICATE)
					continue;
				k = &marks[v->ops[op].key];
				if (k->session != s)
					*k = (struct key_marks){.session = s};
				one_op(f, op, k, breaches);
			}
		}
	}
	mem_free(marks);
	return true;
}
