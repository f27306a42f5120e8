/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/values/from_history.h"

#include <string.h>

#include "base/bug.h"

static bool is_initial(const struct history_version *version)
{
	return (version->flags & (HISTORY_VERSION_UNBORN | HISTORY_VERSION_INITIAL)) != 0;
}

/* Values count from 1: 0 is the initial one in formats that have no nil. */
static uint32_t version_item(struct values_builder *b, uint32_t key, uint32_t version)
{
	return values_item_of(b, key, version + 1);
}

static void add_op(struct values_builder *b, const struct history *h, const struct history_op *op,
	struct from_history_counts *counts)
{
	uint32_t key;

	if (op->kind == HISTORY_PREDICATE) {
		counts->predicates++;
		return;
	}
	if (op->version == HISTORY_NONE) {
		counts->absent_reads++;
		return;
	}
	if (op->flags & HISTORY_OP_UNDONE) {
		counts->undone_writes++;
		return;
	}
	key = values_key_of_atom(b, op->object);
	if (op->kind == HISTORY_WRITE)
		values_add_op(b, VALUES_WRITE, key, version_item(b, key, op->version));
	else if (is_initial(&h->versions[op->version]))
		values_add_initial_read(b, key);
	else
		values_add_op(b, VALUES_READ, key, version_item(b, key, op->version));
}

static enum values_outcome outcome_of(const struct history *h, uint32_t t)
{
	if (history_committed(h, t))
		return VALUES_COMMITTED;
	return h->txns[t].outcome == TXN_UNKNOWN ? VALUES_UNKNOWN : VALUES_ABORTED;
}

bool values_from_history(struct values *out, const struct history *h,
	struct from_history_counts *counts, struct err *err)
{
	struct values_builder b;
	bool ok;

	memset(counts, 0, sizeof(*counts));
	if (h->version_count >= VALUES_COUNT_MAX || h->object_count >= VALUES_COUNT_MAX)
		return err_set(err, ERR_LIMIT, "more than %u versions or objects; export a part",
			VALUES_COUNT_MAX);
	values_builder_init(&b);
	b.v.has_sessions = true;
	b.v.has_real_time = true;
	for (uint32_t t = 0; t < h->txn_count; t++) {
		const struct history_txn *txn = &h->txns[t];
		struct values_txn *made;

		values_begin_txn(&b);
		for (uint32_t i = 0; i < txn->op_count; i++)
			add_op(&b, h, &h->ops[txn->first_op + i], counts);
		made = values_end_txn(&b, values_session_of(&b, h->sessions[txn->session].number),
			txn->number, outcome_of(h, t));
		/* Where the trace does not have them they say nothing. */
		made->invoke = txn->flags & HISTORY_TXN_NO_BEGIN ? VALUES_NONE : txn->begin_seq;
		made->complete = txn->flags & HISTORY_TXN_NO_END ? VALUES_NONE : txn->end_seq;
	}
	ok = values_finish(&b, out, err);
	values_builder_release(&b);
	return ok;
}
