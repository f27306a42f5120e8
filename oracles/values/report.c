/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/report.h"

#include <string.h>

#include "values/edges.h"

/* Of a contradiction between many, so much is said in words. */
enum { CORE_TXNS_MAX = 12, CORE_OPS_MAX = 20 };

static struct span text(struct verdict *out, struct buf *buf)
{
	struct span s = arena_copy(&out->arena, buf_span(buf));

	buf_clear(buf);
	return s;
}

static void add_txn(const struct values *v, uint32_t t, struct buf *buf)
{
	if (t == VALUES_NONE)
		buf_add_str(buf, "nobody");
	else if (t >= v->txn_count)
		buf_add_str(buf, "the initial state");
	else if (v->txns[t].id == UINT64_MAX)
		buf_printf(buf, "an aborted transaction of session %lld",
			(long long)v->sessions[v->txns[t].session].number);
	else
		buf_printf(buf, "T%llu", (unsigned long long)v->txns[t].id);
}

static void add_key(const struct values *v, uint32_t key, struct buf *buf)
{
	buf_add_str(buf, "key ");
	values_atom_text(v, v->keys[key].atom, buf);
}

static void add_item(const struct values *v, uint32_t item, struct buf *buf)
{
	if (item == VALUES_NONE)
		buf_add_str(buf, "the initial value");
	else
		values_atom_text(v, v->items[item].atom, buf);
}

/* What an external read saw of others; NONE: the initial state. */
static uint32_t read_item(const struct facts *f, uint32_t op)
{
	const struct values *v = f->v;
	const struct values_op *o = &v->ops[op];

	if (o->kind == VALUES_READ)
		return f->state[o->value] == WRITER_INITIAL ? VALUES_NONE : o->value;
	if (f->seen[op] == 0)
		return VALUES_NONE;
	if (o->flags & VALUES_OP_OWN_LIST)
		return v->lists[o->value + f->seen[op]];
	return v->order[v->keys[o->key].first_order + f->seen[op] - 1];
}

/* A write of the key by t; for lists the first one, for registers the last. */
static uint32_t written_item(const struct facts *f, uint32_t t, uint32_t key)
{
	const struct values *v = f->v;
	uint32_t found = VALUES_NONE;

	for (uint32_t i = 0; i < v->txns[t].op_count; i++) {
		const struct values_op *op = &v->ops[v->txns[t].first_op + i];

		if (!values_is_write(op) || op->key != key)
			continue;
		if (op->kind == VALUES_APPEND)
			return op->value;
		found = op->value;
	}
	return found;
}

struct words {
	const struct facts *f;
	struct verdict *out;
	struct buf buf;
};

static void say_read(struct words *w, uint32_t op)
{
	const struct values *v = w->f->v;
	uint32_t item = read_item(w->f, op);

	add_txn(v, v->ops[op].txn, &w->buf);
	buf_add_str(&w->buf, " read ");
	add_key(v, v->ops[op].key, &w->buf);
	if (v->ops[op].kind == VALUES_READ_LIST) {
		buf_add_str(&w->buf,
			item == VALUES_NONE ? " as an empty list" : " as a list that ends in ");
		if (item != VALUES_NONE)
			add_item(v, item, &w->buf);
	} else {
		buf_add_str(&w->buf, " as ");
		add_item(v, item, &w->buf);
	}
}

static void say_write(struct words *w, uint32_t t, uint32_t key, uint32_t item)
{
	const struct values *v = w->f->v;
	bool list = (v->keys[key].flags & VALUES_KEY_LIST) != 0;

	add_txn(v, t, &w->buf);
	buf_add_str(&w->buf, list ? " appended " : " wrote ");
	add_item(v, item, &w->buf);
}

static void data_edge(
	struct words *w, const struct cycle_step *s, bool inferred, struct finding_edge *e)
{
	const struct values *v = w->f->v;
	uint32_t op = s->detail & ~EDGE_SOFT, key, item;

	if (s->detail == VALUES_NONE) {
		add_txn(v, s->from, &w->buf);
		buf_add_str(&w->buf, " and ");
		add_txn(v, s->to, &w->buf);
		buf_add_str(&w->buf, " write a key in common and may not overlap: the first must "
				     "have ended before the "
				     "other began");
		e->sentence = text(w->out, &w->buf);
		return;
	}
	key = v->ops[op].key;

	add_key(v, key, &w->buf);
	e->object = text(w->out, &w->buf);
	if (s->kind == GRAPH_WR) {
		item = read_item(w->f, op);
		add_item(v, item, &w->buf);
		e->from_version = e->to_version = text(w->out, &w->buf);
		say_read(w, op);
		buf_add_str(&w->buf, ", and ");
		say_write(w, s->from, key, written_item(w->f, s->from, key));
	} else if (s->kind == GRAPH_RW) {
		item = written_item(w->f, s->to, key);
		add_item(v, read_item(w->f, op), &w->buf);
		e->from_version = text(w->out, &w->buf);
		add_item(v, item, &w->buf);
		e->to_version = text(w->out, &w->buf);
		say_read(w, op);
		buf_add_str(&w->buf, ", the state before ");
		say_write(w, s->to, key, item);
	} else if (inferred) {
		/* The level's axiom: the read of `op` says that s->to wrote last. */
		say_read(w, op);
		buf_add_str(&w->buf, " from ");
		add_txn(v, s->to, &w->buf);
		buf_add_str(&w->buf, ", though it comes after ");
		add_txn(v, s->from, &w->buf);
		buf_add_str(&w->buf, ", which wrote the key too: so ");
		add_txn(v, s->from, &w->buf);
		buf_add_str(&w->buf, " must come before ");
		add_txn(v, s->to, &w->buf);
	} else {
		item = written_item(w->f, s->from, key);
		add_item(v, item, &w->buf);
		e->from_version = text(w->out, &w->buf);
		add_item(v, v->ops[op].value, &w->buf);
		e->to_version = text(w->out, &w->buf);
		say_write(w, s->from, key, item);
		buf_add_str(&w->buf, " to ");
		add_key(v, key, &w->buf);
		buf_add_str(&w->buf, ", and after it ");
		say_write(w, s->to, key, v->ops[op].value);
	}
	e->sentence = text(w->out, &w->buf);
}

static void edge(struct words *w, const struct cycle_step *s, bool inferred, struct finding_edge *e)
{
	const struct values *v = w->f->v;

	*e = (struct finding_edge){.object = SPAN_NONE};
	add_txn(v, s->from, &w->buf);
	e->from = text(w->out, &w->buf);
	add_txn(v, s->to, &w->buf);
	e->to = text(w->out, &w->buf);
	e->dependency = s->kind;
	e->kind =
		span_str(inferred && s->kind == GRAPH_WW ? "forced ww" : graph_kind_name(s->kind));
	if (s->kind == GRAPH_SESSION || s->kind == GRAPH_REALTIME) {
		add_txn(v, s->from, &w->buf);
		if (s->from >= v->txn_count) {
			buf_add_str(&w->buf, " comes before every transaction");
		} else if (s->kind == GRAPH_SESSION) {
			buf_printf(&w->buf, " came before ");
			add_txn(v, s->to, &w->buf);
			buf_printf(&w->buf, " in session %lld",
				(long long)v->sessions[v->txns[s->from].session].number);
		} else {
			buf_add_str(&w->buf, " had ended before ");
			add_txn(v, s->to, &w->buf);
			buf_add_str(&w->buf, " began");
		}
		e->sentence = text(w->out, &w->buf);
		return;
	}
	data_edge(w, s, inferred, e);
}

struct finding *report_cycle(const struct facts *f, const struct cycle *cycle,
	enum finding_class class, const char *level, bool inferred, struct verdict *out)
{
	struct words w = {f, out, BUF_INIT};
	struct finding *finding = verdict_add(out, FOUND_BY_VALUES, class);

	finding->severity = SEVERITY_VIOLATION;
	finding->level = level;
	finding->transaction_count = finding->edge_count = cycle->length;
	finding->transactions = arena_zero(&out->arena, cycle->length * sizeof(struct span));
	finding->edges = arena_zero(&out->arena, cycle->length * sizeof(struct finding_edge));
	for (uint32_t i = 0; i < cycle->length; i++) {
		edge(&w, &cycle->steps[i], inferred, &finding->edges[i]);
		finding->transactions[i] = finding->edges[i].from;
	}
	for (uint32_t i = 0; i < cycle->length; i++) {
		if (i)
			buf_add_str(&w.buf, i + 1 == cycle->length ? ". But " : ". ");
		buf_add_span(&w.buf, finding->edges[i].sentence);
	}
	buf_add_str(&w.buf, ": each must come before the next, and the last before the first.");
	finding->explanation = text(out, &w.buf);
	buf_release(&w.buf);
	finding_seal(finding);
	return finding;
}

static void say_predicate(struct words *w, uint32_t number)
{
	const struct values *v = w->f->v;
	const struct values_predicate *p = &v->predicates[number];

	buf_add_str(&w->buf, "read where ");
	switch ((enum values_predicate_kind)p->kind) {
	case VALUES_PREDICATE_TRUE:
		buf_add_str(&w->buf, "true");
		break;
	case VALUES_PREDICATE_EQUAL:
		buf_printf(&w->buf, "value = %lld", (long long)p->a);
		break;
	case VALUES_PREDICATE_MOD:
		buf_printf(&w->buf, "value mod %lld = %lld", (long long)p->a, (long long)p->b);
		break;
	}
	buf_add_str(&w->buf, p->match_count ? " and saw" : " and saw nothing");
	for (uint32_t i = 0; i < p->match_count; i++) {
		uint32_t item = v->matches[p->first_match + i];

		buf_add_str(&w->buf, i ? ", " : " ");
		add_item(v, item, &w->buf);
		buf_add_str(&w->buf, " of ");
		add_key(v, v->items[item].key, &w->buf);
	}
}

/* What a transaction did, in its own words. */
static void say_txn(struct words *w, uint32_t t)
{
	const struct values *v = w->f->v;
	struct buf *b = &w->buf;

	add_txn(v, t, b);
	for (uint32_t i = 0; i < v->txns[t].op_count; i++) {
		uint32_t at = v->txns[t].first_op + i, item = VALUES_NONE;
		const struct values_op *op = &v->ops[at];

		if (op->kind == VALUES_PREDICATE) {
			buf_add_str(b, i ? ", " : " ");
			say_predicate(w, op->value);
			continue;
		}
		if (op->flags & VALUES_OP_MATCH)
			continue;
		if (i == CORE_OPS_MAX) {
			buf_add_str(b, ", and more");
			break;
		}
		buf_add_str(b, i ? ", " : " ");
		if (values_is_write(op)) {
			buf_add_str(b, op->kind == VALUES_APPEND ? "appended " : "wrote ");
			add_item(v, op->value, b);
			buf_add_str(b, " to ");
			add_key(v, op->key, b);
			continue;
		}
		buf_add_str(b, "read ");
		add_key(v, op->key, b);
		buf_add_str(b, " as ");
		if (op->kind == VALUES_READ) {
			add_item(v, op->value, b);
			continue;
		}
		item = w->f->counts[t] ? read_item(w->f, at) : VALUES_NONE;
		buf_add_str(b, item == VALUES_NONE ? "an empty list" : "a list up to ");
		if (item != VALUES_NONE)
			add_item(v, item, b);
	}
	if (v->txns[t].op_count == 0)
		buf_add_str(b, " did nothing");
}

struct finding *report_core(const struct facts *f, const struct model_core *core,
	enum finding_class class, const char *level, struct verdict *out)
{
	struct words w = {f, out, BUF_INIT};
	struct finding *finding = verdict_add(out, FOUND_BY_VALUES, class);
	uint32_t told = core->count < CORE_TXNS_MAX ? core->count : CORE_TXNS_MAX;

	finding->severity = SEVERITY_VIOLATION;
	finding->level = level;
	finding->transactions = arena_zero(&out->arena, core->count * sizeof(struct span));
	finding->transaction_count = core->count;
	for (uint32_t i = 0; i < core->count; i++) {
		add_txn(f->v, core->txns[i], &w.buf);
		finding->transactions[i] = text(out, &w.buf);
	}
	for (uint32_t i = 0; i < told; i++) {
		say_txn(&w, core->txns[i]);
		buf_add_str(&w.buf, i + 1 == told ? "" : ". ");
	}
	if (told < core->count)
		buf_printf(&w.buf, ". %u more take part", core->count - told);
	buf_printf(&w.buf,
		": whatever order the versions have, and whoever of several wrote a value, %s "
		"fails for these transactions.",
		level);
	finding->explanation = text(out, &w.buf);
	buf_release(&w.buf);
	finding_seal(finding);
	return finding;
}

/* ---------------------------------------------------------------- without a cycle */

static void explain(struct words *w, enum anomaly_class class, const struct anomaly *a)
{
	const struct values *v = w->f->v;
	struct buf *b = &w->buf;

	switch (class) {
	case ANOMALY_G1A:
	case ANOMALY_G1B:
	case ANOMALY_GARBAGE:
		add_txn(v, a->txn, b);
		buf_add_str(b, " read ");
		add_key(v, a->key, b);
		buf_add_str(b, (v->keys[a->key].flags & VALUES_KEY_LIST) ? " and saw " : " as ");
		add_item(v, a->item, b);
		if (class == ANOMALY_GARBAGE) {
			buf_add_str(b, ", which no transaction wrote.");
			if (!(v->keys[a->key].flags & VALUES_KEY_LIST))
				buf_add_str(b, " (Elle would take it for what the key held before the "
					       "history began; --initial=any does so too.)");
			return;
		}
		buf_add_str(b, ", which ");
		add_txn(v, a->other, b);
		buf_add_str(
			b, class == ANOMALY_G1A ? " wrote and took back." : " overwrote itself.");
		return;
	case ANOMALY_INTERNAL:
		if (a->op == VALUES_NONE) {
			say_write(w, a->txn, a->key, a->item);
			buf_add_str(b, " to ");
			add_key(v, a->key, b);
			buf_add_str(b,
				", and reads show its appends in another order than it made them.");
			return;
		}
		say_read(w, a->op);
		buf_add_str(
			b, ", which does not agree with its own last read or write of the key.");
		return;
	case ANOMALY_FUTURE:
		add_txn(v, a->txn, b);
		buf_add_str(b, " read from ");
		add_key(v, a->key, b);
		buf_add_str(b, " what it wrote itself only afterwards.");
		return;
	case ANOMALY_LOST_UPDATE:
		add_txn(v, a->other, b);
		buf_add_str(b, " and ");
		add_txn(v, a->txn, b);
		buf_add_str(b, " both read ");
		add_key(v, a->key, b);
		buf_add_str(b, " as ");
		add_item(v, a->item, b);
		buf_add_str(b, " and then both wrote it.");
		return;
	case ANOMALY_DUPLICATE:
		add_txn(v, a->txn, b);
		buf_add_str(b, " read ");
		add_key(v, a->key, b);
		buf_add_str(b, " with ");
		add_item(v, a->item, b);
		buf_add_str(b, " in it twice.");
		return;
	case ANOMALY_INCOMPATIBLE:
		add_txn(v, a->txn, b);
		buf_add_str(b, " read ");
		add_key(v, a->key, b);
		buf_add_str(b, " with ");
		add_item(v, a->item, b);
		buf_add_str(b, " where other reads have another element.");
		return;
	case ANOMALY_DIRTY_UPDATE:
		add_txn(v, a->txn, b);
		buf_add_str(b, " appended ");
		add_item(v, a->item, b);
		buf_add_str(b, " to ");
		add_key(v, a->key, b);
		buf_add_str(b, " behind what ");
		add_txn(v, a->other, b);
		buf_add_str(b, " wrote and took back.");
		return;
	}
}

static const char *refuted_level(enum anomaly_class class)
{
	switch (class) {
	case ANOMALY_G1A:
	case ANOMALY_G1B:
	case ANOMALY_GARBAGE:
	case ANOMALY_FUTURE:
	case ANOMALY_INCOMPATIBLE:
	case ANOMALY_DIRTY_UPDATE:
		return "PL-2";
	case ANOMALY_INTERNAL:
		return "PL-SI";
	case ANOMALY_LOST_UPDATE:
		return "PL-CS";
	case ANOMALY_DUPLICATE:
		return "PL-1";
	}
	return NULL;
}

/* The transactions and the explanation, which stands in w->buf. */
static void add_anomaly(struct words *w, const struct anomaly *a, enum finding_class class,
	const char *level, uint64_t similar)
{
	const struct values *v = w->f->v;
	struct verdict *out = w->out;
	struct finding *finding = verdict_add(out, FOUND_BY_VALUES, class);

	finding->explanation = text(out, &w->buf);
	finding->severity = SEVERITY_VIOLATION;
	finding->level = level;
	finding->transactions = arena_zero(&out->arena, 2 * sizeof(struct span));
	add_txn(v, a->txn, &w->buf);
	finding->transactions[finding->transaction_count++] = text(out, &w->buf);
	if (a->other != VALUES_NONE && a->other != a->txn) {
		add_txn(v, a->other, &w->buf);
		finding->transactions[finding->transaction_count++] = text(out, &w->buf);
	}
	finding->similar = similar;
	finding_seal(finding);
}

static uint64_t listed_of(const struct anomalies *all, uint32_t examples)
{
	uint64_t listed = all->count < ANOMALY_EXAMPLES_MAX ? all->count : ANOMALY_EXAMPLES_MAX;

	return listed < examples ? listed : examples;
}

void report_anomalies(const struct facts *f, uint32_t examples, struct verdict *out)
{
	struct words w = {f, out, BUF_INIT};

	for (int c = 0; c < ANOMALY_CLASS_COUNT; c++) {
		const struct anomalies *all = &f->anomalies[c];
		uint64_t listed = listed_of(all, examples);

		for (uint64_t i = 0; i < listed; i++) {
			explain(&w, (enum anomaly_class)c, &all->examples[i]);
			add_anomaly(&w, &all->examples[i],
				anomaly_finding_class((enum anomaly_class)c),
				refuted_level((enum anomaly_class)c),
				i == 0 ? all->count - listed : 0);
		}
	}
	buf_release(&w.buf);
}

/* ------------------------------------------------------------------- against the times */

static void add_moment(struct buf *buf, uint64_t physical, uint32_t logical)
{
	buf_printf(buf, "%llu", (unsigned long long)physical);
	if (logical)
		buf_printf(buf, ".%u", logical);
}

static void add_times(struct words *w, uint32_t t)
{
	const struct values_stamp *s = &w->f->v->stamps[t];

	add_txn(w->f->v, t, &w->buf);
	buf_add_str(&w->buf, " (");
	add_moment(&w->buf, s->start, s->start_logical);
	buf_add_str(&w->buf, " to ");
	add_moment(&w->buf, s->commit, s->commit_logical);
	buf_add_str(&w->buf, ")");
}

void report_timed(const struct facts *f, const struct anomalies *all, enum finding_class class,
	uint32_t examples, struct verdict *out)
{
	struct words w = {f, out, BUF_INIT};
	uint64_t listed = listed_of(all, examples);
	bool missed = class == CLASS_G_SIB;

	for (uint64_t i = 0; i < listed; i++) {
		const struct anomaly *a = &all->examples[i];

		if (a->op == VALUES_NONE) {
			add_times(&w, a->other);
			buf_add_str(&w.buf, " and ");
			add_times(&w, a->txn);
			buf_add_str(&w.buf, " both wrote ");
			add_key(f->v, a->key, &w.buf);
			buf_add_str(&w.buf, " in this order, and the first had not committed when "
					    "the second started.");
		} else {
			add_times(&w, a->txn);
			buf_add_str(&w.buf, ": ");
			say_read(&w, a->op);
			buf_add_str(&w.buf, missed ? ", and missed what " : ", which is of ");
			add_times(&w, a->other);
			if (missed) {
				buf_add_str(&w.buf, " wrote, ");
				add_item(f->v, a->item, &w.buf);
				buf_add_str(&w.buf, ", and had committed before.");
			} else {
				buf_add_str(&w.buf, " and was not committed then.");
			}
		}
		add_anomaly(&w, a, class, "timed-PL-SI", i == 0 ? all->count - listed : 0);
	}
	buf_release(&w.buf);
}
