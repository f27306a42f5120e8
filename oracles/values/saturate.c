/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/saturate.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "values/saturate_internal.h"

enum { ROUNDS_MAX = 1000, PAIR_WRITERS_MAX = 512, PAIR_WORK = 8 };

static void add(
	struct saturation *s, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t detail)
{
	struct precedence *p = &s->edges;

	if (from == to)
		return;
	MEM_RESERVE(p->edges, p->count + 1, s->edge_capacity);
	p->edges[p->count++] = (struct precedence_edge){from, to, detail, (uint8_t)kind};
}

/* ----------------------------------------------------------------------- the beginning */

static bool is_read(const struct saturation *s, uint32_t i)
{
	return s->v->ops[i].kind == VALUES_READ && (s->f->notes[i] & OP_EXTERNAL);
}

/* The last writes of keys, by the key or by what was written: a counting sort. */
static uint32_t *group_writers(
	const struct saturation *s, bool by_item, uint32_t groups, uint32_t **writers)
{
	const struct values *v = s->v;
	uint32_t *head = mem_zero((size_t)groups + 2, sizeof(*head));

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < v->op_count; i++) {
			const struct values_op *op = &v->ops[i];
			uint32_t group = by_item ? op->value : op->key;

			if (!values_is_write(op) || !(s->f->notes[i] & OP_FINAL) ||
				!s->f->counts[op->txn] || group == VALUES_NONE)
				continue;
			if (pass == 0)
				head[group + 2]++;
			else
				(*writers)[head[group + 1]++] = op->txn;
		}
		if (pass == 1)
			break;
		for (uint32_t g = 0; g < groups; g++)
			head[g + 2] += head[g + 1];
		*writers = mem_realloc(NULL, head[groups + 1], sizeof(**writers));
	}
	return head;
}

static void index_writers(struct saturation *s)
{
	s->writer_head = group_writers(s, false, s->v->key_count, &s->writers);
	s->item_head = group_writers(s, true, s->v->item_count, &s->item_writers);
}

/* By item: did a transaction write it that may not have committed? */
static uint8_t *perhaps_written(const struct saturation *s)
{
	const struct values *v = s->v;
	uint8_t *perhaps = mem_zero(v->item_count, 1);

	for (uint32_t i = 0; i < v->op_count; i++) {
		const struct values_op *op = &v->ops[i];

		if (values_is_write(op) && op->value != VALUES_NONE && !s->f->counts[op->txn] &&
			v->txns[op->txn].outcome == VALUES_UNKNOWN)
			perhaps[op->value] = 1;
	}
	return perhaps;
}

/* The transactions that may have written what op i read. */
static void find_candidates(struct saturation *s, uint32_t i)
{
	const struct values *v = s->v;
	const struct values_op *op = &v->ops[i];
	struct open_read *open;

	MEM_RESERVE(s->open, s->open_count + 1, s->open_capacity);
	open = &s->open[s->open_count++];
	*open = (struct open_read){i, (uint32_t)s->candidate_count, 0};
	for (uint32_t w = s->item_head[op->value]; w < s->item_head[op->value + 1]; w++) {
		if (s->item_writers[w] == op->txn)
			continue;
		MEM_RESERVE(s->candidates, s->candidate_count + 1, s->candidate_capacity);
		s->candidates[s->candidate_count++] = s->item_writers[w];
		open->count++;
	}
	if (v->items[op->value].initial) {
		MEM_RESERVE(s->candidates, s->candidate_count + 1, s->candidate_capacity);
		s->candidates[s->candidate_count++] = SOURCE_INITIAL;
		open->count++;
	}
}

/* Every transaction that writes the key comes after a reader of what it held initially. */
static void initial_edges(struct saturation *s, uint32_t i)
{
	const struct values_op *op = &s->v->ops[i];

	for (uint32_t w = s->writer_head[op->key]; w < s->writer_head[op->key + 1]; w++) {
		if (s->writers[w] != op->txn)
			add(s, start_of(s, op->txn), commit_of(s, s->writers[w]), GRAPH_RW, i);
	}
}

/* The read came from there. */
static void source_edges(struct saturation *s, uint32_t i)
{
	if (s->source[i] == SOURCE_INITIAL)
		initial_edges(s, i);
	else
		add(s, commit_of(s, s->source[i]), start_of(s, s->v->ops[i].txn), GRAPH_WR, i);
}

static void known_edges(struct saturation *s, enum cycle_order order)
{
	const struct values *v = s->v;
	uint8_t *perhaps = perhaps_written(s);

	for (uint32_t t = 0; s->snapshot && t < v->txn_count; t++)
		add(s, start_of(s, t), commit_of(s, t), GRAPH_SESSION, 0);
	for (uint32_t k = 0; order != CYCLE_PLAIN && k < v->session_count; k++) {
		uint32_t last = VALUES_NONE;

		for (uint32_t i = 0; i < v->sessions[k].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[k].first_txn + i];

			if (!s->f->counts[t])
				continue;
			if (last != VALUES_NONE)
				add(s, commit_of(s, last), start_of(s, t), GRAPH_SESSION, 0);
			last = t;
		}
	}
	for (uint32_t i = 0; i < v->op_count; i++) {
		const struct values_op *op = &v->ops[i];

		if (!is_read(s, i) || !s->f->counts[op->txn])
			continue;
		s->source[i] = facts_writer(s->f, op->value);
		if (s->f->state[op->value] == WRITER_INITIAL)
			s->source[i] = SOURCE_INITIAL;
		if (s->source[i] != SOURCE_OPEN) {
			source_edges(s, i);
		} else {
			s->vague |= perhaps[op->value];
			find_candidates(s, i);
		}
	}
	free(perhaps);
	s->trail = mem_realloc(NULL, s->open_count, sizeof(*s->trail));
}

/* ------------------------------------------------------------------------ reachability */

void saturation_sort(struct saturation *s)
{
	const struct precedence *p = &s->edges;

	memset(s->head, 0, ((size_t)s->node_count + 2) * sizeof(*s->head));
	s->out = mem_realloc(s->out, p->count, sizeof(*s->out));
	for (size_t e = 0; e < p->count; e++)
		s->head[p->edges[e].from + 2]++;
	for (uint32_t n = 0; n < s->node_count; n++)
		s->head[n + 2] += s->head[n + 1];
	for (size_t e = 0; e < p->count; e++)
		s->out[s->head[p->edges[e].from + 1]++] = (uint32_t)e;
}

/* False: there is a cycle. */
bool saturation_close(struct saturation *s)
{
	uint32_t *missing = mem_zero(s->node_count, sizeof(*missing));
	uint32_t tail = 0;

	saturation_sort(s);
	for (size_t e = 0; e < s->edges.count; e++)
		missing[s->edges.edges[e].to]++;
	for (uint32_t n = 0; n < s->node_count; n++) {
		if (missing[n] == 0)
			s->order[tail++] = n;
	}
	for (uint32_t at = 0; at < tail; at++) {
		for (uint32_t i = s->head[s->order[at]]; i < s->head[s->order[at] + 1]; i++) {
			uint32_t to = s->edges.edges[s->out[i]].to;

			if (--missing[to] == 0)
				s->order[tail++] = to;
		}
	}
	free(missing);
	if (tail < s->node_count)
		return false;
	memset(s->reach, 0, s->node_count * s->words * sizeof(*s->reach));
	for (uint32_t at = s->node_count; at-- > 0;) {
		uint32_t n = s->order[at];
		uint64_t *row = s->reach + n * s->words;

		for (uint32_t i = s->head[n]; i < s->head[n + 1]; i++) {
			uint32_t to = s->edges.edges[s->out[i]].to;
			const uint64_t *other = s->reach + to * s->words;

			if (row[to / 64] >> to % 64 & 1)
				continue; /* it and all after it are there */
			for (size_t w = 0; w < s->words; w++)
				row[w] |= other[w];
			s->work += s->words;
			row[to / 64] |= (uint64_t)1 << to % 64;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------------ forcing */

bool saturation_add(
	struct saturation *s, uint32_t from, uint32_t to, enum graph_kind kind, uint32_t detail)
{
	if (from == to || reaches(s, from, to))
		return false;
	add(s, from, to, kind, detail);
	return true;
}

/* t3 reads op from t1; t2 writes the key too. */
static bool force(struct saturation *s, uint32_t op, uint32_t t1, uint32_t t2)
{
	uint32_t t3 = s->v->ops[op].txn;
	bool before_ok = !reaches(s, start_of(s, t1), commit_of(s, t2)) && t1 != t2;
	bool after_ok = !reaches(s, start_of(s, t2), commit_of(s, t1)) &&
			(t2 == t3 || !reaches(s, commit_of(s, t2), start_of(s, t3)));
	bool changed = false;

	if (!before_ok) { /* so t2 is after, and t3 did not see it */
		changed |= saturation_add(s, commit_of(s, t1), start_of(s, t2), GRAPH_WW, op);
		if (t2 != t3)
			changed |=
				saturation_add(s, start_of(s, t3), commit_of(s, t2), GRAPH_RW, op);
	}
	if (!after_ok)
		changed |= saturation_add(s, commit_of(s, t2), start_of(s, t1), GRAPH_WW, op);
	return changed;
}

static bool force_reads(struct saturation *s)
{
	const struct values *v = s->v;
	bool changed = false;

	for (uint32_t i = 0; i < v->op_count; i++) {
		uint32_t t1 = s->source[i], key = v->ops[i].key;

		if (t1 == SOURCE_OPEN || t1 == SOURCE_INITIAL)
			continue;
		s->work += PAIR_WORK * (s->writer_head[key + 1] - s->writer_head[key]);
		for (uint32_t w = s->writer_head[key]; w < s->writer_head[key + 1]; w++) {
			if (s->writers[w] != t1)
				changed |= force(s, i, t1, s->writers[w]);
		}
	}
	return changed;
}

/* Can the read have come from there, as far as the order is known? */
bool saturation_possible(struct saturation *s, uint32_t op, uint32_t from)
{
	uint32_t t3 = s->v->ops[op].txn, key = s->v->ops[op].key;
	bool initial = from == SOURCE_INITIAL;

	if (!initial && reaches(s, start_of(s, t3), commit_of(s, from)))
		return false;
	s->work += PAIR_WORK * (s->writer_head[key + 1] - s->writer_head[key]);
	for (uint32_t w = s->writer_head[key]; w < s->writer_head[key + 1]; w++) {
		uint32_t t2 = s->writers[w];

		/* A transaction between the two. */
		if (t2 != t3 && t2 != from && reaches(s, commit_of(s, t2), start_of(s, t3)) &&
			(initial || reaches(s, start_of(s, from), commit_of(s, t2))))
			return false;
	}
	return true;
}

void saturation_take(struct saturation *s, uint32_t op, uint32_t from)
{
	s->source[op] = from;
	s->trail[s->trail_count++] = op;
	source_edges(s, op);
}

/* Reads of values that several wrote: candidates that the order excludes are left out, and the last
 * one is it. */
static bool force_sources(struct saturation *s)
{
	bool changed = false;

	for (size_t i = 0; i < s->open_count; i++) {
		struct open_read *r = &s->open[i];
		uint32_t left = 0, last = SOURCE_OPEN;

		if (s->source[r->op] != SOURCE_OPEN)
			continue;
		for (uint32_t c = 0; c < r->count; c++) {
			uint32_t from = s->candidates[r->first + c];

			if (!saturation_possible(s, r->op, from))
				continue;
			last = from;
			if (!s->deciding)
				s->candidates[r->first + left] = from;
			left++;
		}
		if (!s->deciding)
			r->count = left;
		s->conflict |= left == 0;
		if (left != 1)
			continue;
		s->chosen = changed = true;
		saturation_take(s, r->op, last);
	}
	return changed;
}

/* Two writers of a key do not overlap under snapshot isolation. */
static bool force_pairs(struct saturation *s)
{
	bool changed = false;

	for (uint32_t k = 0; s->snapshot && k < s->v->key_count; k++) {
		uint32_t first = s->writer_head[k], end = s->writer_head[k + 1];

		for (uint32_t a = first; end - first <= PAIR_WRITERS_MAX && a < end; a++) {
			for (uint32_t b = first; b < end; b++) {
				uint32_t x = s->writers[a], y = s->writers[b];

				if (x != y && reaches(s, start_of(s, x), commit_of(s, y)) &&
					!reaches(s, commit_of(s, x), start_of(s, y))) {
					add(s, commit_of(s, x), start_of(s, y), GRAPH_WW,
						VALUES_NONE);
					changed = true;
				}
			}
		}
	}
	return changed;
}

/* With reads of several possible sources the forcing itself is bounded: then not all is forced. */
bool saturation_tired(const struct saturation *s)
{
	return s->open_count && s->work > s->work_max;
}

/* Forces until nothing changes.  False: a cycle, or a read without a source. */
bool saturation_settle(struct saturation *s)
{
	bool fine = true, changed = true;

	for (int round = 0; fine && changed && round < ROUNDS_MAX; round++) {
		/* Many candidates for many reads: what is forced so far is right, and not all. */
		if (saturation_tired(s))
			break;
		changed = force_reads(s);
		changed |= force_pairs(s);
		changed |= force_sources(s);
		fine = !s->conflict && (!changed || saturation_close(s));
	}
	return fine;
}

/* ------------------------------------------------------------------------ contradiction */

/* The shortest cycle through one node, breadth first; returns its length in edges, which are left
 * in `path`. */
static uint32_t cycle_through(struct saturation *s, uint32_t root, uint32_t *path, uint32_t limit)
{
	uint32_t *parent = mem_realloc(NULL, s->node_count, sizeof(*parent)); /* edge */
	uint32_t *queue = mem_realloc(NULL, s->node_count, sizeof(*queue));
	uint32_t *depth = mem_zero(s->node_count, sizeof(*depth));
	uint32_t tail = 0, length = 0, closing = VALUES_NONE;

	memset(parent, 0xff, s->node_count * sizeof(*parent));
	queue[tail++] = root;
	for (uint32_t at = 0; at < tail && closing == VALUES_NONE && depth[queue[at]] < limit;
		at++) {
		uint32_t n = queue[at];

		for (uint32_t i = s->head[n]; i < s->head[n + 1] && closing == VALUES_NONE; i++) {
			uint32_t to = s->edges.edges[s->out[i]].to;

			if (to == root) {
				closing = s->out[i];
			} else if (parent[to] == VALUES_NONE) {
				parent[to] = s->out[i];
				depth[to] = depth[n] + 1;
				queue[tail++] = to;
			}
		}
	}
	for (uint32_t e = closing; e != VALUES_NONE; e = parent[s->edges.edges[e].from]) {
		path[length++] = e;
		if (s->edges.edges[e].from == root)
			break;
	}
	free(parent);
	free(queue);
	free(depth);
	return length;
}

/* Some nodes on cycles are tried; the shortest cycle found is reported, transactions only. */
static void find_cycle(struct saturation *s, struct cycle *cycle)
{
	uint32_t *path = mem_realloc(NULL, s->node_count, sizeof(*path));
	uint32_t *best = mem_realloc(NULL, s->node_count, sizeof(*best));
	uint32_t best_length = 0, tries = 0;
	uint32_t *missing = mem_zero(s->node_count, sizeof(*missing));

	/* What Kahn's sort does not reach from both ends lies on or between cycles. */
	for (size_t e = 0; e < s->edges.count; e++)
		missing[s->edges.edges[e].to]++;
	for (uint32_t n = 0; n < s->node_count && tries < 200; n++) {
		uint32_t length;

		if (missing[n] == 0 || s->head[n] == s->head[n + 1])
			continue;
		length = cycle_through(s, n, path, best_length ? best_length - 1 : s->node_count);
		tries += length > 0;
		if (length && (!best_length || length < best_length)) {
			best_length = length;
			memcpy(best, path, length * sizeof(*best));
		}
	}
	free(missing);
	*cycle = (struct cycle){.class = CYCLE_G2_ITEM};
	cycle->steps = mem_zero(best_length, sizeof(*cycle->steps));
	for (uint32_t i = best_length; i-- > 0;) {
		const struct precedence_edge *e = &s->edges.edges[best[i]];
		uint32_t from = s->snapshot ? e->from / 2 : e->from,
			 to = s->snapshot ? e->to / 2 : e->to;

		if (from != to)
			cycle->steps[cycle->length++] =
				(struct cycle_step){from, to, e->detail, (enum graph_kind)e->kind};
	}
	free(path);
	free(best);
}

/* The solver, which begins with what is known. */
static enum level_answer ask_model(
	struct saturation *s, enum cycle_order order, struct saturation_result *result)
{
	struct model_hints hints = {&s->edges, s->place, result->commits};
	uint64_t steps = result->steps;

	/* With a transaction that perhaps did not commit, what was left out may have been it. */
	if (s->vague)
		return LEVEL_UNDECIDED;
	saturation_places(s);
	return model_decide(
		s->f, s->snapshot ? MODEL_PL_SI : MODEL_PL_3, order, &hints, &steps, &result->core);
}

enum level_answer saturate(const struct facts *f, enum cycle_order order, bool snapshot,
	struct saturation_result *result)
{
	const struct values *v = f->v;
	struct saturation s = {
		.f = f, .v = v, .snapshot = snapshot, .work_max = WORK_MAX, .more = result->more};
	enum level_answer answer = LEVEL_UNDECIDED;
	bool acyclic;

	result->cycle = (struct cycle){0};
	result->core = (struct model_core){0};
	if (v->txn_count > SATURATE_TXNS_MAX || v->txn_count == 0)
		return LEVEL_UNDECIDED;
	s.node_count = snapshot ? 2 * v->txn_count : v->txn_count;
	s.words = (s.node_count + 63) / 64;
	s.head = mem_zero((size_t)s.node_count + 2, sizeof(uint32_t));
	s.order = mem_realloc(NULL, s.node_count, sizeof(uint32_t));
	s.reach = mem_realloc(NULL, s.node_count * s.words, sizeof(uint64_t));
	s.place = mem_realloc(NULL, s.node_count, sizeof(uint32_t));
	s.source = mem_realloc(NULL, v->op_count, sizeof(uint32_t));
	memset(s.source, 0xff, v->op_count * sizeof(uint32_t));
	index_writers(&s);
	saturation_priorities(&s);
	known_edges(&s, order);
	acyclic = saturation_close(&s);
	acyclic = acyclic && saturation_settle(&s);
	if (!acyclic && !s.chosen && !s.conflict) {
		answer = LEVEL_FAILS;
		find_cycle(&s, &result->cycle);
	} else if (!acyclic) {
		/* It fails, but which transactions show it is the solver's to say. */
	} else if (schedule_guided(f, snapshot, &s.edges, result->commits)) {
		answer = LEVEL_HOLDS;
	} else {
		answer = ask_model(&s, order, result);
		if (answer == LEVEL_UNDECIDED && saturation_decide(&s, result->commits))
			answer = LEVEL_HOLDS;
	}
	free(s.edges.edges);
	free(s.head);
	free(s.out);
	free(s.order);
	free(s.reach);
	free(s.writer_head);
	free(s.writers);
	free(s.item_head);
	free(s.item_writers);
	free(s.source);
	free(s.open);
	free(s.candidates);
	free(s.trail);
	free(s.place);
	free(s.priority);
	return answer;
}
