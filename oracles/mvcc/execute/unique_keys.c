/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unique keys: which row is in the way of another, and which errors that gives. */
#include "mvcc/execute/write.h"
#include "mvcc/solver.h"
#include "server/errors.h"

static bool has_key(const struct store_table *table, const struct eval_index *index,
	const struct store_version *v, const struct eval_value *row)
{
	return store_alive(v) && store_key_equal(table->def, index, v->image, row);
}

/* Does it depend on an open transaction whether the key is taken?  A writer of the row that
 * left a secondary key as it was holds no lock on its entry. */
static bool foreign_claim(const struct mvcc *m, const struct store_table *table,
	const struct eval_index *index, const struct store_record *record,
	const struct eval_value *row)
{
	const struct store_version *v = record->newest;
	const struct store_version *committed;

	if (!v || v->txn == m->now.txn || !store_is_active(&m->store, v->txn))
		return false;
	committed = store_current(&m->store, record, m->now.txn);
	if (index == table->cluster)
		return has_key(table, index, v, row) || has_key(table, index, committed, row);
	return has_key(table, index, v, row) != has_key(table, index, committed, row);
}

struct duplicate find_duplicate(struct mvcc *m, struct store_table *table,
	const struct eval_index *index, const struct eval_value *row,
	const struct store_record *self)
{
	struct duplicate d = {NULL, STORE_NONE};
	struct store_record *only = NULL;
	bool clustered = index == table->cluster;

	if (clustered) {
		only = store_find(&m->store, table, row);
		if (!only)
			return d;
	}
	for (uint32_t i = 0; i < (clustered ? 1 : table->count); i++) {
		struct store_record *record = clustered ? only : table->records[i];
		const struct store_version *v;

		if (record == self)
			continue;
		if (foreign_claim(m, table, index, record, row)) {
			d.record = record;
			d.waits_for = record->newest->txn;
			return d;
		}
		v = store_current(&m->store, record, m->now.txn);
		if (store_alive(v) && store_key_equal(table->def, index, v->image, row)) {
			d.record = record;
			return d;
		}
	}
	return d;
}

const struct change *change_of(
	const struct change *changes, size_t count, const struct store_record *record)
{
	for (size_t i = 0; i < count; i++) {
		if (changes[i].record == record)
			return &changes[i];
	}
	return NULL;
}

void test_unique(struct mvcc *m, struct store_table *table, const struct change *changes,
	size_t count, struct write_answer *a)
{
	for (size_t i = 0; i < count; i++) {
		const struct change *c = &changes[i];

		if (c->new && c->changed && opaque_key(m, table, c->new)) {
			answer_unsupported(a, REASON_OPAQUE_KEYS);
			return;
		}
		for (uint32_t u = 0; c->new && c->changed &&u < table->unique_count; u++) {
			const struct eval_index *index = table->uniques[u];

			if (key_is_partial(index)) {
				answer_unsupported(a, REASON_PARTIAL_KEYS);
				return;
			}
			if (store_key_equal(table->def, index, c->old, c->new))
				continue;
			if (store_odd_keys(table, c->new)) {
				answer_unsupported(a, REASON_UNWEIGHTED_KEYS);
				return;
			}
			for (uint32_t r = 0; r < table->count; r++) {
				struct store_record *record = table->records[r];
				const struct change *other;
				const struct store_version *v;

				if (record == c->record)
					continue;
				if (foreign_claim(m, table, index, record, c->new))
					held(a, record->newest->txn, table, record);
				v = store_current(&m->store, record, m->now.txn);
				if (!store_alive(v))
					continue;
				other = change_of(changes, count, record);
				if (!other || !other->changed) {
					if (store_key_equal(table->def, index, v->image, c->new))
						write_error(a, ER_DUP_ENTRY);
				} else {
					if (store_key_equal(table->def, index, v->image, c->new))
						a->order_matters = true;
					if (other->new &&store_key_equal(
						    table->def, index, other->new, c->new))
						write_error(a, ER_DUP_ENTRY);
				}
			}
		}
	}
}
