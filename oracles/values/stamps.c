/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/stamps.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "values/report.h"

static int compare_stamped(const void *a, const void *b)
{
	const struct stamped *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->commit != y->commit)
		return x->commit < y->commit ? -1 : 1;
	if (x->logical != y->logical)
		return x->logical < y->logical ? -1 : 1;
	return (x->op > y->op) - (x->op < y->op);
}

struct stamped *stamps_writes(const struct facts *f, size_t *count)
{
	const struct values *v = f->v;
	struct stamped *all = mem_realloc(NULL, v->op_count, sizeof(*all));

	*count = 0;
	for (uint32_t i = 0; i < v->op_count; i++) {
		const struct values_op *op = &v->ops[i];

		if (values_is_write(op) && f->counts[op->txn] && (f->notes[i] & OP_FINAL))
			all[(*count)++] = (struct stamped){v->stamps[op->txn].commit,
				v->stamps[op->txn].commit_logical, op->key, i};
	}
	qsort(all, *count, sizeof(*all), compare_stamped);
	return all;
}

enum { INTERFERENCE, MISSED, KIND_COUNT };
static const enum finding_class classes[KIND_COUNT] = {CLASS_G_SIA, CLASS_G_SIB};

struct replay {
	const struct facts *f;
	const struct values *v;
	struct stamped *writes;
	uint32_t *head; /* by key: its first in writes; key_count + 1 */
	struct anomalies found[KIND_COUNT];
};

static int compare_moments(uint64_t a, uint32_t a_logical, uint64_t b, uint32_t b_logical)
{
	if (a != b)
		return a < b ? -1 : 1;
	return (a_logical > b_logical) - (a_logical < b_logical);
}

/* Did a commit before b started (-1), at the same moment (0) or later (1)? */
static int commit_to_start(const struct values *v, uint32_t a, uint32_t b)
{
	return compare_moments(v->stamps[a].commit, v->stamps[a].commit_logical, v->stamps[b].start,
		v->stamps[b].start_logical);
}

static void found(struct replay *r, int kind, struct anomaly anomaly)
{
	struct anomalies *a = &r->found[kind];

	if (a->count < ANOMALY_EXAMPLES_MAX)
		a->examples[a->count] = anomaly;
	a->count++;
}

static uint32_t writer_at(const struct replay *r, uint32_t at)
{
	return r->v->ops[r->writes[at].op].txn;
}

/* A transaction that overlaps an earlier writer of the key also overlaps the last one before that. */
static void judge_writers(struct replay *r, uint32_t key)
{
	for (uint32_t i = r->head[key] + 1; i < r->head[key + 1]; i++) {
		uint32_t first = writer_at(r, i - 1), second = writer_at(r, i);

		if (commit_to_start(r->v, first, second) > 0 &&
			!(stamps_tie(&r->writes[i - 1], &r->writes[i]) &&
				commit_to_start(r->v, second, first) <= 0))
			found(r, INTERFERENCE,
				(struct anomaly){second, VALUES_NONE, first, key,
					r->v->ops[r->writes[i].op].value});
	}
}

/* How many of the key's writes were committed when t started; those of that very moment only if
 * `equal`. */
static uint32_t visible(const struct replay *r, uint32_t key, uint32_t t, bool equal)
{
	return FIRST_WHERE(i, r->head[key], r->head[key + 1],
		commit_to_start(r->v, writer_at(r, i), t) >= (equal ? 1 : 0));
}

/* Is the item what the key showed when its first `until` writes were committed?  Of several with
 * the same stamp each may be the last. */
static bool shows(const struct replay *r, uint32_t key, uint32_t until, uint32_t t, uint32_t item)
{
	uint32_t last = until;

	while (last > r->head[key] && writer_at(r, last - 1) == t)
		last--;
	if (last == r->head[key])
		return r->v->items[item].initial;
	for (uint32_t i = last; i-- > r->head[key];) {
		if (!stamps_tie(&r->writes[i], &r->writes[last - 1]))
			break;
		if (r->v->ops[r->writes[i].op].value == item)
			return true;
	}
	return false;
}

static void judge_register_read(struct replay *r, uint32_t i)
{
	const struct values_op *op = &r->v->ops[i];
	uint32_t low = visible(r, op->key, op->txn, false), high = visible(r, op->key, op->txn, true);
	uint32_t from = VALUES_NONE;

	/* Broken reads are broken without any time. */
	if (r->f->state[op->value] == WRITER_ABORTED || r->f->state[op->value] == WRITER_NOBODY)
		return;
	for (uint32_t until = low; until <= high; until++) {
		if (shows(r, op->key, until, op->txn, op->value))
			return;
	}
	for (uint32_t w = r->head[op->key]; w < r->head[op->key + 1]; w++) {
		if (r->v->ops[r->writes[w].op].value == op->value && writer_at(r, w) != op->txn &&
			(from == VALUES_NONE || w < high))
			from = w;
	}
	if (from != VALUES_NONE && from >= high)
		found(r, INTERFERENCE,
			(struct anomaly){op->txn, i, writer_at(r, from), op->key, op->value});
	else if (low > r->head[op->key])
		found(r, MISSED,
			(struct anomaly){op->txn, i, writer_at(r, low - 1), op->key,
				r->v->ops[r->writes[low - 1].op].value});
}

/* The list is the version order; it must be that of the commits, and the read one of its states. */
static void judge_list(struct replay *r, uint32_t key)
{
	const struct values *v = r->v;
	uint32_t last = VALUES_NONE;

	for (uint32_t e = 0; e < r->f->list_end[key]; e++) {
		uint32_t item = v->order[v->keys[key].first_order + e];
		uint32_t t = facts_writer(r->f, item);

		if (t == VALUES_NONE)
			continue;
		/* When they overlap, judge_writers has seen them. */
		if (last != VALUES_NONE && last != t && commit_to_start(v, t, last) <= 0 &&
			commit_to_start(v, last, t) > 0)
			found(r, INTERFERENCE, (struct anomaly){t, VALUES_NONE, last, key, item});
		last = t;
	}
}

static void judge_list_read(struct replay *r, uint32_t i)
{
	const struct values *v = r->v;
	const struct values_op *op = &v->ops[i];
	uint32_t seen = r->f->seen[i], first = v->keys[op->key].first_order;
	uint32_t until = visible(r, op->key, op->txn, false), writer;

	if (seen > r->f->list_end[op->key] || (op->flags & VALUES_OP_OWN_LIST))
		return; /* other reads contradict it */
	if (seen) {
		writer = facts_writer(r->f, v->order[first + seen - 1]);
		if (writer != VALUES_NONE && commit_to_start(v, writer, op->txn) > 0)
			found(r, INTERFERENCE,
				(struct anomaly){
					op->txn, i, writer, op->key, v->order[first + seen - 1]});
	}
	/* The last one that it must have seen. */
	while (until > r->head[op->key] && writer_at(r, until - 1) == op->txn)
		until--;
	if (until > r->head[op->key]) {
		uint32_t item = v->ops[r->writes[until - 1].op].value;

		if (r->f->state[item] == WRITER_ONE &&
			(r->f->position[item] == VALUES_NONE || r->f->position[item] >= seen))
			found(r, MISSED,
				(struct anomaly){
					op->txn, i, writer_at(r, until - 1), op->key, item});
	}
}

static void index_keys(struct replay *r, size_t count)
{
	r->head = mem_zero((size_t)r->v->key_count + 1, sizeof(*r->head));
	for (size_t i = 0; i < count; i++)
		r->head[r->writes[i].key + 1]++;
	for (uint32_t k = 0; k < r->v->key_count; k++)
		r->head[k + 1] += r->head[k];
}

enum level_answer stamps_judge(const struct facts *f, uint32_t examples, struct verdict *out)
{
	const struct values *v = f->v;
	struct replay r = {.f = f, .v = v};
	size_t count;
	bool fails = false;

	r.writes = stamps_writes(f, &count);
	index_keys(&r, count);
	for (uint32_t k = 0; k < v->key_count; k++) {
		judge_writers(&r, k);
		if (v->keys[k].flags & VALUES_KEY_LIST)
			judge_list(&r, k);
	}
	for (uint32_t i = 0; i < v->op_count; i++) {
		if (!(f->notes[i] & OP_EXTERNAL))
			continue;
		if (v->ops[i].kind == VALUES_READ_LIST)
			judge_list_read(&r, i);
		else if (v->ops[i].kind == VALUES_READ)
			judge_register_read(&r, i);
	}
	for (int k = 0; k < KIND_COUNT; k++) {
		report_timed(f, &r.found[k], classes[k], examples, out);
		fails |= r.found[k].count > 0;
	}
	mem_free(r.writes);
	mem_free(r.head);
	return fails ? LEVEL_FAILS : f->ambiguous_list ? LEVEL_UNDECIDED : LEVEL_HOLDS;
}
