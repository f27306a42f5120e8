/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/saturate.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/mem.h"
#include "base/search.h"
#include "values/saturate_internal.h"

enum { ROUNDS_MAX = 1000, PAIR_WRITERS_MAX = 512, PAIR_WORK = 8, CYCLES_TRIED = 1000 };

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

/* Every transaction that writes the key comes after a reader of what it held initially: the first
 * of each chain does. */
static void initial_edges(struct saturation *s, uint32_t i)
{
	const struct values_op *op = &s->v->ops[i];

	for (uint32_t g = s->group_head[op->key]; g < s->group_head[op->key + 1]; g++) {
		uint32_t first = s->by_chain[s->groups[g]];

		if (first != op->txn)
			add(s, start_of(s, op->txn), commit_of(s, first), GRAPH_RW, i);
	}
}

/* The read came from there. */
static void source_edges(struct saturation *s, uint32_t i)
{
	if (s->source[i] != SOURCE_INITIAL)
		add(s, commit_of(s, s->source[i]), start_of(s, s->v->ops[i].txn), GRAPH_WR, i);
	else if (!saturation_depends(s)) /* there it is no dependency */
		initial_edges(s, i);
}

/* All that is known but what follows from reads of initial values.  `before`: by transaction, the
 * one before it in its session. */
static void known_edges(struct saturation *s, enum cycle_order order, uint32_t *before)
{
	const struct values *v = s->v;
	uint8_t *perhaps = perhaps_written(s);

	for (uint32_t t = 0; s->snapshot && t < v->txn_count; t++) {
		if (s->f->counts[t])
			add(s, start_of(s, t), commit_of(s, t), GRAPH_SESSION, 0);
	}
	for (uint32_t k = 0; order != CYCLE_PLAIN && k < v->session_count; k++) {
		uint32_t last = VALUES_NONE;

		for (uint32_t i = 0; i < v->sessions[k].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[k].first_txn + i];

			if (!s->f->counts[t])
				continue;
			before[t] = last;
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
		if (s->source[i] == SOURCE_OPEN) {
			s->vague |= perhaps[op->value];
			find_candidates(s, i);
		} else if (s->source[i] != SOURCE_INITIAL) {
			source_edges(s, i);
		}
	}
	mem_free(perhaps);
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
static bool sort_events(struct saturation *s)
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
	mem_free(missing);
	return tail == s->node_count;
}

void saturation_spend(struct saturation *s, uint64_t words)
{
	s->work += words;
	s->forcing += words;
}

bool saturation_close(struct saturation *s)
{
	struct reach_edges edges;

	if (!sort_events(s))
		return false;
	edges = (struct reach_edges){&s->edges, s->head, s->out, s->order};
	saturation_spend(s, reach_close(&s->reach, &edges));
	return true;
}

/* The table, once the first edges are there and without a cycle. */
static bool plan_table(struct saturation *s, const uint32_t *before, uint64_t bytes)
{
	struct reach_edges edges = {&s->edges, s->head, s->out, s->order};

	return reach_plan(&s->reach, &edges, s->node_count, s->snapshot ? 2 : 1, s->f->counts,
		before, bytes);
}

/* Every edge that is known from the beginning, and the table.  False: a cycle, or too large. */
static bool begin(struct saturation *s, enum cycle_order order, uint64_t bytes, bool *too_large)
{
	uint32_t *before = mem_realloc(NULL, s->v->txn_count, sizeof(*before));
	bool fine;

	memset(before, 0xff, s->v->txn_count * sizeof(*before));
	known_edges(s, order, before);
	fine = sort_events(s);
	if (fine && !plan_table(s, before, bytes)) {
		*too_large = true;
		fine = false;
	}
	mem_free(before);
	if (!fine)
		return false;
	s->by_chain = mem_dup(s->writers, s->writer_head[s->v->key_count] * sizeof(uint32_t));
	reach_group(&s->reach, s->writer_head, s->v->key_count, s->by_chain, &s->group_head, &s->groups);
	for (uint32_t i = 0; i < s->v->op_count; i++) {
		if (s->source[i] == SOURCE_INITIAL)
			source_edges(s, i);
	}
	return saturation_close(s);
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

/* Has t3 seen t2 when it reads op?  For PL-2L only by what it read before (G-monotonic: the cycle
 * comes back to an earlier place of t3's than the anti-dependency leaves from). */
static bool has_seen(struct saturation *s, uint32_t op, uint32_t t2)
{
	uint32_t t3 = s->v->ops[op].txn;

	if (s->level != SATURATE_PL_2L)
		return reaches(s, commit_of(s, t2), start_of(s, t3));
	saturation_spend(s, PAIR_WORK * (op - s->v->txns[t3].first_op));
	for (uint32_t i = s->v->txns[t3].first_op; i < op; i++) {
		uint32_t from = s->source[i];

		if (from < SOURCE_INITIAL && (from == t2 || reaches(s, t2, from)))
			return true;
	}
	return false;
}

/* t3 reads op from t1; w are the writers of the key in one chain.  The last of them that t3 has
 * seen, or that cannot come after t1, comes before t1, and with it all before. */
static bool force_before(
	struct saturation *s, uint32_t op, uint32_t t1, const uint32_t *w, uint32_t count)
{
	uint32_t seen = FIRST_WHERE(i, 0, count, !has_seen(s, op, w[i]));
	bool changed = false;

	if (seen && w[seen - 1] != t1)
		changed |= saturation_add(
			s, commit_of(s, w[seen - 1]), after_ww(s, t1), GRAPH_WW, op);
	if (s->level == SATURATE_PL_SI) {
		uint32_t begun = FIRST_WHERE(i, 0, count,
			w[i] != t1 && !reaches(s, start_of(s, w[i]), commit_of(s, t1)));

		if (begun && w[begun - 1] != t1)
			changed |= saturation_add(
				s, commit_of(s, w[begun - 1]), start_of(s, t1), GRAPH_WW, op);
	}
	return changed;
}

/* The first of them that cannot come before t1 comes after it, and t3 did not see it. */
static bool force_after(
	struct saturation *s, uint32_t op, uint32_t t1, const uint32_t *w, uint32_t count)
{
	uint32_t t3 = s->v->ops[op].txn, t2;
	uint32_t at = FIRST_WHERE(
		i, 0, count, w[i] == t1 || reaches(s, after_ww(s, t1), commit_of(s, w[i])));
	bool changed = false;

	at += at < count && w[at] == t1;
	if (at == count)
		return false;
	t2 = w[at];
	changed |= saturation_add(s, commit_of(s, t1), after_ww(s, t2), GRAPH_WW, op);
	if (t2 != t3)
		changed |= saturation_add(s, start_of(s, t3), commit_of(s, t2), GRAPH_RW, op);
	return changed;
}

/* What held initially is read: no writer may have been seen.  By the edges of initial_edges that is
 * a cycle; for PL-2+ there are none, and the anti-dependency closes it: one, so that a cycle has one. */
static bool check_initial(struct saturation *s, uint32_t op, const uint32_t *w)
{
	uint32_t t3 = s->v->ops[op].txn;

	if (!saturation_depends(s) || w[0] == t3 || !has_seen(s, op, w[0]))
		return false;
	add(s, t3, w[0], GRAPH_RW, op);
	return true;
}

static bool force_reads(struct saturation *s)
{
	const struct values *v = s->v;
	bool changed = false;

	for (uint32_t i = 0; i < v->op_count; i++) {
		uint32_t t1 = s->source[i], key = v->ops[i].key;

		if (t1 == SOURCE_OPEN)
			continue;
		saturation_spend(s, PAIR_WORK * (s->group_head[key + 1] - s->group_head[key]));
		for (uint32_t g = s->group_head[key]; g < s->group_head[key + 1]; g++) {
			const uint32_t *w = s->by_chain + s->groups[g];
			uint32_t count = s->groups[g + 1] - s->groups[g];

			if (t1 == SOURCE_INITIAL) {
				if (check_initial(s, i, w))
					return true;
				continue;
			}
			changed |= force_before(s, i, t1, w, count);
			if (!saturation_depends(s))
				changed |= force_after(s, i, t1, w, count);
		}
	}
	return changed;
}

/* Can the read have come from there, as far as the order is known? */
bool saturation_possible(struct saturation *s, uint32_t op, uint32_t from)
{
	uint32_t t3 = s->v->ops[op].txn, key = s->v->ops[op].key;
	bool initial = from == SOURCE_INITIAL;
	uint32_t older = initial ? 0 : after_ww(s, from);

	if (!initial && reaches(s, start_of(s, t3), commit_of(s, from)))
		return false;
	saturation_spend(s, PAIR_WORK * (s->writer_head[key + 1] - s->writer_head[key]));
	for (uint32_t w = s->writer_head[key]; w < s->writer_head[key + 1]; w++) {
		uint32_t t2 = s->writers[w];

		/* A transaction between the two. */
		if (t2 != t3 && t2 != from && reaches(s, commit_of(s, t2), start_of(s, t3)) &&
			(initial || reaches(s, older, commit_of(s, t2))))
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

/* Two writers of a key do not overlap under snapshot isolation: the first of a chain that cannot
 * end before x begins, begins after it. */
static bool force_pair(struct saturation *s, uint32_t x, const uint32_t *w, uint32_t count)
{
	uint32_t at = FIRST_WHERE(
		i, 0, count, w[i] == x || reaches(s, start_of(s, x), commit_of(s, w[i])));

	at += at < count && w[at] == x;
	return at < count && saturation_add(s, commit_of(s, x), start_of(s, w[at]), GRAPH_WW,
				     VALUES_NONE);
}

static bool force_pairs(struct saturation *s)
{
	bool changed = false;

	for (uint32_t k = 0; s->level == SATURATE_PL_SI && k < s->v->key_count; k++) {
		uint32_t first = s->writer_head[k], end = s->writer_head[k + 1];
		uint64_t groups = s->group_head[k + 1] - s->group_head[k];

		/* Each alone in its chain: too many pairs. */
		if (groups * (end - first) > (uint64_t)PAIR_WRITERS_MAX * PAIR_WRITERS_MAX)
			continue;
		saturation_spend(s, PAIR_WORK * groups * (end - first));
		for (uint32_t a = first; a < end; a++) {
			for (uint32_t g = s->group_head[k]; g < s->group_head[k + 1]; g++)
				changed |= force_pair(s, s->writers[a], s->by_chain + s->groups[g],
					s->groups[g + 1] - s->groups[g]);
		}
	}
	return changed;
}

bool saturation_tired(const struct saturation *s)
{
	return (s->open_count && s->work > s->work_max) ||
	       (!s->deciding && s->forcing > s->forcing_max) || interrupt_seen();
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

/* Breadth first from one node after the other. */
struct cycle_search {
	const struct saturation *s;
	uint8_t *inside;         /* by node: on a cycle, or between two */
	uint32_t *seen;          /* by node: the root of the last search that came here */
	uint32_t *parent;        /* by node: edge */
	uint32_t *queue, *depth; /* depth by place in the queue */
};

/* What a topological sort reaches from neither end lies on or between cycles. */
static void find_inside(struct cycle_search *c)
{
	const struct saturation *s = c->s;
	uint32_t *degree = mem_zero(s->node_count, sizeof(*degree)), *from = c->parent;
	uint32_t *head = mem_zero((size_t)s->node_count + 2, sizeof(*head));
	uint32_t *into = mem_realloc(NULL, s->edges.count, sizeof(*into)), tail = 0;

	memset(c->inside, 1, s->node_count);
	for (size_t e = 0; e < s->edges.count; e++) {
		degree[s->edges.edges[e].to]++;
		head[s->edges.edges[e].to + 2]++;
	}
	for (uint32_t n = 0; n < s->node_count; n++)
		head[n + 2] += head[n + 1];
	for (size_t e = 0; e < s->edges.count; e++)
		into[head[s->edges.edges[e].to + 1]++] = s->edges.edges[e].from;
	for (int backward = 0; backward < 2; backward++) {
		tail = 0;
		for (uint32_t n = 0; backward && n < s->node_count; n++) {
			degree[n] = 0;
			for (uint32_t i = s->head[n]; i < s->head[n + 1]; i++)
				degree[n] += c->inside[s->edges.edges[s->out[i]].to];
		}
		for (uint32_t n = 0; n < s->node_count; n++) {
			if (c->inside[n] && degree[n] == 0)
				from[tail++] = n;
		}
		for (uint32_t at = 0; at < tail; at++) {
			uint32_t n = from[at];

			c->inside[n] = 0;
			for (uint32_t i = s->head[n]; !backward && i < s->head[n + 1]; i++) {
				if (--degree[s->edges.edges[s->out[i]].to] == 0)
					from[tail++] = s->edges.edges[s->out[i]].to;
			}
			for (uint32_t i = head[n]; backward && i < head[n + 1]; i++) {
				if (c->inside[into[i]] && --degree[into[i]] == 0)
					from[tail++] = into[i];
			}
		}
	}
	mem_free(degree);
	mem_free(head);
	mem_free(into);
}

/* The shortest cycle through one node; returns its length in edges, which are left in `path`. */
static uint32_t cycle_through(
	struct cycle_search *c, uint32_t root, uint32_t *path, uint32_t limit)
{
	const struct saturation *s = c->s;
	uint32_t tail = 0, length = 0, closing = VALUES_NONE;

	c->depth[tail] = 0;
	c->queue[tail++] = root;
	for (uint32_t at = 0; at < tail && closing == VALUES_NONE && c->depth[at] < limit; at++) {
		uint32_t n = c->queue[at];

		for (uint32_t i = s->head[n]; i < s->head[n + 1] && closing == VALUES_NONE; i++) {
			uint32_t to = s->edges.edges[s->out[i]].to;

			if (to == root) {
				closing = s->out[i];
			} else if (c->inside[to] && c->seen[to] != root) {
				c->seen[to] = root;
				c->parent[to] = s->out[i];
				c->depth[tail] = c->depth[at] + 1;
				c->queue[tail++] = to;
			}
		}
	}
	for (uint32_t e = closing; e != VALUES_NONE; e = c->parent[s->edges.edges[e].from]) {
		path[length++] = e;
		if (s->edges.edges[e].from == root)
			break;
	}
	return length;
}

/* Some nodes on cycles are tried; the shortest cycle found is reported, transactions only. */
static void find_cycle(struct saturation *s, struct cycle *cycle)
{
	uint32_t *path = mem_realloc(NULL, s->node_count, sizeof(*path));
	uint32_t *best = mem_realloc(NULL, s->node_count, sizeof(*best));
	uint32_t best_length = 0, tries = 0;
	struct cycle_search c = {.s = s};

	c.inside = mem_realloc(NULL, s->node_count, 1);
	c.seen = mem_realloc(NULL, s->node_count, sizeof(uint32_t));
	c.parent = mem_realloc(NULL, s->node_count, sizeof(uint32_t));
	c.queue = mem_realloc(NULL, s->node_count, sizeof(uint32_t));
	c.depth = mem_realloc(NULL, s->node_count, sizeof(uint32_t));
	memset(c.seen, 0xff, s->node_count * sizeof(uint32_t));
	find_inside(&c);
	for (uint32_t n = 0; n < s->node_count && tries < CYCLES_TRIED; n++) {
		uint32_t length;

		if (!c.inside[n])
			continue;
		tries++;
		length = cycle_through(&c, n, path, best_length ? best_length - 1 : s->node_count);
		if (length && (!best_length || length < best_length)) {
			best_length = length;
			memcpy(best, path, length * sizeof(*best));
		}
		/* Between two cycles there is none. */
		tries -= !best_length;
	}
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
	mem_free(c.inside);
	mem_free(c.seen);
	mem_free(c.parent);
	mem_free(c.queue);
	mem_free(c.depth);
	mem_free(path);
	mem_free(best);
}

/* The solver, which begins with what is known. */
static enum level_answer ask_model(
	struct saturation *s, enum cycle_order order, struct saturation_result *result)
{
	static const enum model_level models[] = {
		MODEL_PL_3, MODEL_PL_SI, MODEL_PL_2PLUS, MODEL_PREFIX, MODEL_PL_2L};
	struct model_hints hints = {&s->edges, s->place, &s->reach,
		saturation_executes(s) ? result->commits : NULL};
	uint64_t steps = result->steps;

	/* With a transaction that perhaps did not commit, what was left out may have been it. */
	if (s->vague)
		return LEVEL_UNDECIDED;
	/* Where no execution is known to begin with: the table knows more than sessions side by side. */
	if (!s->f->guide)
		saturation_spend(s, reach_middle(&s->reach, s->f->counts, s->priority));
	saturation_places(s);
	return model_decide(s->f, models[s->level], order, &hints, &steps, &result->core);
}

static void release(struct saturation *s)
{
	reach_release(&s->reach);
	mem_free(s->edges.edges);
	mem_free(s->head);
	mem_free(s->out);
	mem_free(s->order);
	mem_free(s->writer_head);
	mem_free(s->writers);
	mem_free(s->by_chain);
	mem_free(s->group_head);
	mem_free(s->groups);
	mem_free(s->item_head);
	mem_free(s->item_writers);
	mem_free(s->source);
	mem_free(s->open);
	mem_free(s->candidates);
	mem_free(s->trail);
	mem_free(s->place);
	mem_free(s->priority);
}

enum level_answer saturate(const struct facts *f, enum cycle_order order,
	enum saturation_level level, struct saturation_result *result)
{
	const struct values *v = f->v;
	struct saturation s = {.f = f,
		.v = v,
		.level = level,
		.snapshot = level == SATURATE_PL_SI || level == SATURATE_PREFIX,
		.work_max = WORK_MAX,
		.forcing_max = result->forcing,
		.more = result->more};
	enum level_answer answer = LEVEL_UNDECIDED;
	bool acyclic;

	result->cycle = (struct cycle){0};
	result->core = (struct model_core){0};
	result->too_large = false;
	if (v->txn_count == 0)
		return LEVEL_UNDECIDED;
	s.node_count = s.snapshot ? 2 * v->txn_count : v->txn_count;
	s.head = mem_zero((size_t)s.node_count + 2, sizeof(uint32_t));
	s.order = mem_realloc(NULL, s.node_count, sizeof(uint32_t));
	s.place = mem_realloc(NULL, s.node_count, sizeof(uint32_t));
	s.source = mem_realloc(NULL, v->op_count, sizeof(uint32_t));
	memset(s.source, 0xff, v->op_count * sizeof(uint32_t));
	index_writers(&s);
	saturation_priorities(&s);
	acyclic = begin(&s, order, result->bytes, &result->too_large);
	acyclic = acyclic && saturation_settle(&s);
	if (result->too_large || (level == SATURATE_PL_2L && s.open_count)) {
		/* Nothing was looked at; or for PL-2L, what is left out among several writers goes
		 * by the order without places. */
	} else if (!acyclic && level == SATURATE_PL_2L) {
		/* The cycle says nothing of places: the solver finds one that does. */
	} else if (!acyclic && !s.chosen && !s.conflict) {
		answer = LEVEL_FAILS;
		find_cycle(&s, &result->cycle);
	} else if (!acyclic) {
		/* It fails, but which transactions show it is the solver's to say. */
	} else if (saturation_executes(&s) &&
		   schedule_guided(f, s.snapshot, &s.edges, result->commits)) {
		answer = LEVEL_HOLDS;
	} else {
		answer = ask_model(&s, order, result);
		/* PL-2L forces more than is found: orders without a contradiction prove nothing. */
		if (answer == LEVEL_UNDECIDED && level != SATURATE_PL_2L &&
			saturation_decide(&s, result->commits))
			answer = LEVEL_HOLDS;
	}
	release(&s);
	return answer;
}
