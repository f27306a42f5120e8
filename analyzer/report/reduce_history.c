/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/reduce_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/mem.h"
#include "common/shape.h"
#include "model/values/subset.h"
#include "reduce/ddmin.h"
#include "values/check.h"

enum { RINGS_MAX = 4, LEVEL_TXN = 0, LEVEL_KEY = 1, LEVEL_OP = 2, EXAMPLES = 5 };

struct reducing {
	const struct values *v;
	const struct reduce_history_options *options;
	struct reduce_history_summary *summary;
	struct buf wanted; /* what must be the same */
	uint8_t *in;       /* by transaction: it is in the part */
	uint32_t *txns;    /* the part, ascending */
	size_t count;
	uint8_t *keep_op; /* by operation of the history */
	uint64_t begin_ns;
	const char *level; /* that the anomaly was found by judging; NULL: all of them */
	struct err *err;
};

static void print_same(const struct reducing *r, const struct finding *f, struct buf *out)
{
	if (r->options->by_class)
		finding_print_kind(f, out);
	else
		finding_print_shape(f, out);
}

static bool is_over(const struct reducing *r)
{
	return interrupt_seen() || (r->options->time_ns && clock_mono_ns() - r->begin_ns >= r->options->time_ns);
}

/* ---- judging ---- */

static bool shows(struct reducing *r, const struct values *part)
{
	struct values_options options = {.examples = EXAMPLES, .level = r->level};
	struct buf text = BUF_INIT;
	struct verdict verdict;
	bool same = false;

	r->summary->tests++;
	verdict_init(&verdict);
	values_judge(part, &options, &verdict);
	for (size_t i = 0; i < verdict.finding_count && !same; i++) {
		buf_clear(&text);
		print_same(r, &verdict.findings[i], &text);
		same = span_eq(buf_span(&text), buf_span(&r->wanted));
	}
	verdict_release(&verdict);
	buf_release(&text);
	return same;
}

static bool part_shows(struct reducing *r, const uint32_t *txns, size_t count, const uint8_t *keep_op)
{
	struct values part = {0};
	bool same = values_subset(r->v, txns, count, keep_op, &part, r->err) && shows(r, &part);

	values_release(&part);
	return same;
}

/* ---- the witness and what is around it ---- */

static void list_part(struct reducing *r)
{
	r->count = 0;
	for (uint32_t t = 0; t < r->v->txn_count; t++)
		if (r->in[t])
			r->txns[r->count++] = t;
}

static void take_named(struct reducing *r, const struct finding *f)
{
	struct span names[FINDING_CONCERNED_MAX];
	uint32_t count = finding_concerned(f, names);
	struct map ids = MAP_INIT;

	for (uint32_t i = 0; i < count; i++) {
		char number[32];

		snprintf(number, sizeof(number), "%.*s", (int)names[i].len - 1, names[i].ptr + 1);
		map_put(&ids, strtoull(number, NULL, 10), 1);
	}
	for (uint32_t t = 0; t < r->v->txn_count; t++)
		r->in[t] = map_get(&ids, r->v->txns[t].id) != MAP_NONE;
	map_release(&ids);
	list_part(r);
	r->summary->witness = (uint32_t)r->count;
}

static void take_writers(struct reducing *r, uint32_t item)
{
	const struct values *v = r->v;

	if (!v->items[item].write_count)
		return;
	r->in[v->ops[v->items[item].first_write].txn] = 1;
	for (uint32_t d = v->items[item].write_count > 1 ? values_first_dup(v, item) : v->dup_count;
		d < v->dup_count && v->dups[d].item == item; d++)
		r->in[v->ops[v->dups[d].op].txn] = 1;
}

/* The writers of what the part read, and the readers of what it wrote. */
static void grow(struct reducing *r)
{
	const struct values *v = r->v;
	uint8_t *written = mem_zero(v->item_count + 1, 1);

	for (size_t i = 0; i < r->count; i++) {
		const struct values_txn *t = &v->txns[r->txns[i]];

		for (uint32_t k = 0; k < t->op_count; k++) {
			const struct values_op *op = &v->ops[t->first_op + k];

			if (op->kind == VALUES_READ)
				take_writers(r, op->value);
			else if (op->kind == VALUES_READ_LIST && !(op->flags & VALUES_OP_OWN_LIST) && op->value)
				take_writers(r, v->order[v->keys[op->key].first_order + op->value - 1]);
			else if (values_is_write(op) && op->value != VALUES_NONE)
				written[op->value] = 1;
		}
	}
	for (uint32_t i = 0; i < v->op_count; i++)
		if (v->ops[i].kind == VALUES_READ && written[v->ops[i].value])
			r->in[v->ops[i].txn] = 1;
	mem_free(written);
	list_part(r);
}

/* All that touch a key of the part. */
static void grow_by_keys(struct reducing *r)
{
	uint8_t *keys = mem_zero(r->v->key_count + 1, 1);

	for (uint32_t i = 0; i < r->v->op_count; i++)
		if (r->in[r->v->ops[i].txn] && r->v->ops[i].key != VALUES_NONE)
			keys[r->v->ops[i].key] = 1;
	for (uint32_t i = 0; i < r->v->op_count; i++)
		if (r->v->ops[i].key != VALUES_NONE && keys[r->v->ops[i].key])
			r->in[r->v->ops[i].txn] = 1;
	mem_free(keys);
	list_part(r);
}

/* A part that shows it, as small as looking around the witness gives. */
static void find_part(struct reducing *r)
{
	for (unsigned ring = 0; !is_over(r) && !part_shows(r, r->txns, r->count, NULL); ring++) {
		size_t before = r->count;

		if (ring < RINGS_MAX)
			grow(r);
		else
			grow_by_keys(r);
		if (r->count == before || ring > RINGS_MAX + 1)
			break;
	}
	if (part_shows(r, r->txns, r->count, NULL))
		return;
	memset(r->in, 1, r->v->txn_count);
	list_part(r);
}

/* ---- units ---- */

/* Transactions of the part, then their keys, then their operations. */
struct units {
	struct reducing *r;
	struct ddmin_unit *units;
	struct ddmin_need *needs;
	uint32_t *ops; /* of the history, beside the units from first_op on */
	size_t count, need_count, first_op;
	uint32_t *chosen; /* scratch: transactions */
};

static void make_units(struct units *u, struct reducing *r)
{
	const struct values *v = r->v;
	struct map keys = MAP_INIT;
	size_t ops = 0;

	for (size_t i = 0; i < r->count; i++)
		ops += v->txns[r->txns[i]].op_count;
	*u = (struct units){.r = r};
	u->units = mem_zero(r->count + 2 * ops + 1, sizeof(*u->units));
	u->needs = mem_zero(2 * ops + 1, sizeof(*u->needs));
	u->ops = mem_zero(ops + 1, sizeof(*u->ops));
	u->chosen = mem_zero(r->count + 1, sizeof(*u->chosen));
	for (; u->count < r->count; u->count++)
		u->units[u->count] = (struct ddmin_unit){.level = LEVEL_TXN, .doubt = 1};
	for (size_t i = 0; i < r->count; i++)
		for (uint32_t k = 0; k < v->txns[r->txns[i]].op_count; k++) {
			uint32_t key = v->ops[v->txns[r->txns[i]].first_op + k].key;

			if (map_get(&keys, key) != MAP_NONE)
				continue;
			map_put(&keys, key, (uint32_t)u->count);
			u->units[u->count++] = (struct ddmin_unit){.level = LEVEL_KEY, .doubt = 1};
		}
	u->first_op = u->count;
	for (size_t i = 0; i < r->count; i++)
		for (uint32_t k = 0; k < v->txns[r->txns[i]].op_count; k++) {
			uint32_t op = v->txns[r->txns[i]].first_op + k;

			u->ops[u->count - u->first_op] = op;
			u->needs[u->need_count++] = (struct ddmin_need){(uint32_t)u->count, (uint32_t)i};
			u->needs[u->need_count++] = (struct ddmin_need){(uint32_t)u->count, map_get(&keys, v->ops[op].key)};
			u->units[u->count++] = (struct ddmin_unit){.level = LEVEL_OP, .doubt = 1};
		}
	map_release(&keys);
}

static size_t choose(struct units *u, const bool *kept)
{
	size_t count = 0;

	for (size_t i = 0; i < u->r->count; i++)
		if (kept[i])
			u->chosen[count++] = u->r->txns[i];
	for (size_t i = u->first_op; i < u->count; i++)
		u->r->keep_op[u->ops[i - u->first_op]] = kept[i];
	return count;
}

static size_t test_units(void *ctx, bool *const *candidates, size_t count)
{
	struct units *u = ctx;

	for (size_t i = 0; i < count; i++) {
		if (is_over(u->r))
			return DDMIN_STOP;
		if (part_shows(u->r, u->chosen, choose(u, candidates[i]), u->r->keep_op))
			return i;
	}
	return DDMIN_NONE;
}

static bool reduce_part(struct reducing *r, struct values *out)
{
	struct units u;
	bool *kept, ok;

	make_units(&u, r);
	kept = mem_alloc(u.count + 1);
	memset(kept, true, u.count + 1);
	r->summary->whole = ddmin_run(
		&(struct ddmin){.units = u.units, .count = u.count, .needs = u.needs, .need_count = u.need_count,
			.test = test_units, .ctx = &u},
		kept);
	ok = values_subset(r->v, u.chosen, choose(&u, kept), r->keep_op, out, r->err);
	mem_free(kept);
	mem_free(u.units);
	mem_free(u.needs);
	mem_free(u.ops);
	mem_free(u.chosen);
	return ok;
}

/* ---- all ---- */

static const struct finding *choose_finding(const struct verdict *verdict, const char *wanted)
{
	for (size_t i = 0; i < verdict->finding_count; i++) {
		const struct finding *f = &verdict->findings[i];

		if (!wanted || strcmp(finding_name(f), wanted) == 0 || strcmp(f->id, wanted) == 0)
			return f;
	}
	return NULL;
}

/* One level is judged in time that grows with the history, all of them together not always: the simple ones come
 * first, and what they show is the gravest. */
static const char *const levels[] = {"PL-1", "PL-2", "PL-CS", "PL-2+", "PL-2.99", "PL-3", NULL};

bool reduce_history(const struct values *v, const struct reduce_history_options *options, struct values *out,
	struct reduce_history_summary *summary, struct err *err)
{
	struct reducing r = {.v = v, .options = options, .summary = summary, .begin_ns = clock_mono_ns(), .err = err};
	const struct finding *finding = NULL;
	struct verdict verdict;
	bool ok = true;

	*summary = (struct reduce_history_summary){.tests = 0};
	*out = (struct values){0};
	verdict_init(&verdict);
	for (size_t i = 0; i < ARRAY_LEN(levels) && !finding; i++) {
		struct values_options judge = {.examples = EXAMPLES, .level = levels[i]};

		r.level = levels[i];
		summary->tests++;
		verdict_release(&verdict);
		verdict_init(&verdict);
		values_judge(v, &judge, &verdict);
		finding = choose_finding(&verdict, options->finding);
	}
	summary->found = finding != NULL;
	if (finding) {
		struct buf shape = BUF_INIT;

		r.in = mem_zero(v->txn_count + 1, 1);
		r.txns = mem_zero(v->txn_count + 1, sizeof(*r.txns));
		r.keep_op = mem_zero(v->op_count + 1, 1);
		finding_print_shape(finding, &shape);
		snprintf(summary->shape, sizeof(summary->shape), "%s", shape.data);
		buf_release(&shape);
		print_same(&r, finding, &r.wanted);
		take_named(&r, finding);
		find_part(&r);
		ok = reduce_part(&r, out);
		mem_free(r.in);
		mem_free(r.txns);
		mem_free(r.keep_op);
	}
	verdict_release(&verdict);
	buf_release(&r.wanted);
	return ok;
}
