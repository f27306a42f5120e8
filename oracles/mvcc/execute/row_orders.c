/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/execute/row_orders.h"

#include <string.h>

#include "mvcc/execute/write.h"
#include "mvcc/search/search.h"
#include "mvcc/search/state_digest.h"
#include "mvcc/solver.h"

struct written {
	const struct store_table *table;
	const struct store_record *record;
	const struct eval_value *image;
	bool unknown, fresh;
};

struct trial {
	struct write_answer a;
	struct written *written;
	size_t count;
	uint32_t way;
};

void nth_order(uint32_t way, size_t count, uint32_t *order)
{
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	/* Which of the rest comes next, again and again. */
	for (size_t i = 0; i < count; i++) {
		size_t left = count - i, at = i + way % left;
		uint32_t next = order[at];

		way /= (uint32_t)left;
		memmove(order + i + 1, order + i, (at - i) * sizeof(*order));
		order[i] = next;
	}
}

static const struct store_table *table_of(const struct mvcc *m, const struct store_record *record)
{
	for (uint32_t i = 0; i < m->store.table_count; i++) {
		const struct store_table *t = &m->store.tables[i];

		if ((record->id < t->count && t->records[record->id] == record) || t->others == record)
			return t;
	}
	return NULL;
}

static void run_rows(struct mvcc *m, const uint32_t *order, size_t count, row_step *each, void *ctx,
	struct write_answer *a)
{
	for (size_t i = 0; i < count && a->status == EVAL_OK && a->held_by == STORE_NONE; i++)
		each(m, ctx, order[i], a);
}

/* What was written since `before`: of each record the last. */
static void collect(struct mvcc *m, const struct store_undo *before, struct trial *t)
{
	const struct store_undo *undo = m->store.txns[m->now.txn].undo;
	size_t max = 0;

	for (const struct store_undo *u = undo; u != before; u = u->previous)
		max++;
	t->written = arena_alloc(&m->scratch, (max + 1) * sizeof(*t->written));
	for (const struct store_undo *u = undo; u != before; u = u->previous) {
		bool there = false;

		for (size_t i = 0; i < t->count && !there; i++)
			there = t->written[i].record == u->record;
		if (!there)
			t->written[t->count++] = (struct written){table_of(m, u->record), u->record,
				u->record->newest->image, u->record->newest->unknown, !u->version->previous};
	}
}

static bool same_written(const struct written *a, const struct written *b)
{
	if (a->table != b->table || !a->table || a->unknown != b->unknown || !a->image != !b->image)
		return false;
	if (a->record != b->record &&
		(!a->record->key.ptr ? !a->fresh || !b->fresh : !span_eq(a->record->key, b->record->key)))
		return false;
	return !a->image || same_row(a->table->def, a->image, b->image);
}

static bool same_trial(const struct trial *a, const struct trial *b)
{
	if (a->a.status != b->a.status || a->a.error != b->a.error || a->a.affected != b->a.affected ||
		a->a.held_record != b->a.held_record || a->a.conflict != b->a.conflict)
		return false;
	if (a->a.status != EVAL_OK || a->a.held_by != STORE_NONE)
		return true;
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		size_t left = 0, right = 0;

		for (size_t j = 0; j < a->count; j++) {
			left += same_written(&a->written[i], &a->written[j]);
			right += same_written(&a->written[i], &b->written[j]);
		}
		if (left != right)
			return false;
	}
	return true;
}

void rows_in_orders(struct mvcc *m, size_t number, row_step *each, void *ctx, struct write_answer *a)
{
	enum { ROWS_MAX = 4, WAYS_MAX = 24 };
	struct trial trials[WAYS_MAX];
	uint32_t *order = arena_alloc(&m->scratch, (number + 1) * sizeof(*order));
	uint32_t ways = 1, found = 0, pick;
	const struct store_undo *before = m->store.txns[m->now.txn].undo;
	struct write_answer start = *a;
	const struct state_mark mark = state_mark(m);
	size_t locks = m->wanted.count;
	uint64_t opaque_count = m->opaque_count;
	bool trying = m->now.trying, open = number > ROWS_MAX;

	for (uint32_t i = 2; i <= number && i <= ROWS_MAX; i++)
		ways *= i;
	if (number <= 1 || trying) {
		/* In a trial of something else: one order is as good as another, but not known. */
		m->now.trial_open |= trying && number > 1;
		nth_order(0, number, order);
		run_rows(m, order, number, each, ctx, a);
		return;
	}
	m->now.trying = true;
	m->now.trial_open = false;
	for (uint32_t way = 0; way < ways && !open; way++) {
		struct trial *t = &trials[found];
		bool there = false;

		*t = (struct trial){.a = start, .way = way};
		nth_order(way, number, order);
		run_rows(m, order, number, each, ctx, &t->a);
		collect(m, before, t);
		for (uint32_t i = 0; i < found && !there; i++)
			there = same_trial(&trials[i], t);
		found += !there;
		state_return(m, &mark);
		m->wanted.count = locks;
		m->opaque_count = opaque_count;
	}
	m->now.trying = false;
	open |= m->now.trial_open;
	if (open)
		found = 1; /* in the order in which they were found, or it is not known */
	pick = choose(m, found + open);
	if (pick == found) {
		answer_unsupported(a, REASON_TRIGGER_ROW_ORDER);
		return;
	}
	nth_order(open ? 0 : trials[pick].way, number, order);
	run_rows(m, order, number, each, ctx, a);
}
