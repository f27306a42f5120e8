/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "values/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/search.h"
#include "values/edges.h"
#include "values/model_internal.h"

enum {
	SHRINK_MAX = 400, /* transactions of a core that is made smaller one by one */
	SHRINK_STEPS = 50 * 1000 * 1000,
};

/* --------------------------------------------------------------------- clauses and edges */

void model_forbid(struct model *m, const uint32_t *literals, uint32_t count, uint32_t who)
{
	uint32_t out[16], kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (literals[i] == (TRUE_LITERAL ^ 1))
			return; /* never all of them */
		if (literals[i] != TRUE_LITERAL)
			out[kept++] = literals[i] ^ 1;
	}
	solver_clause(m->solver, out, kept, who);
}

/* The ends of an edge between two transactions, or what numbers them. */
static uint32_t edge_start(const struct model *m, uint32_t from, enum edge_kind kind)
{
	return m->shape == SHAPE_FLAT ? from : 2 * from + (kind != EDGE_RW);
}

static uint32_t edge_end(const struct model *m, uint32_t to, enum edge_kind kind)
{
	if (m->shape == SHAPE_FLAT)
		return to;
	return 2 * to + (kind == EDGE_RW || (kind == EDGE_WW && m->shape == SHAPE_PREFIX));
}

/* Is there a way of known edges?  An anti-dependency counts as a dependency only where all cycles
 * are forbidden. */
bool model_known(const struct model *m, uint32_t from, uint32_t to, enum edge_kind kind)
{
	return m->f->counts[from] && m->f->counts[to] &&
	       (kind != EDGE_RW || (m->level != MODEL_PL_2PLUS && !places_matter(m))) &&
	       reach_before(m->hints->reach, edge_start(m, from, kind), edge_end(m, to, kind));
}

/* Is there a way back, so that the edge would close a cycle?  Where places matter, an
 * anti-dependency closes only some. */
static bool known_not(const struct model *m, uint32_t from, uint32_t to, enum edge_kind kind)
{
	return m->f->counts[from] && m->f->counts[to] &&
	       (kind != EDGE_RW || !places_matter(m)) &&
	       reach_before(m->hints->reach, edge_end(m, to, kind), edge_start(m, from, kind));
}

/* Does the transaction do something before the place where an edge could arrive?  Else no
 * anti-dependency from there is on a cycle that counts. */
static bool arrives_before(const struct model *m, uint32_t txn, uint32_t place)
{
	for (uint32_t i = m->v->txns[txn].first_op; i < place; i++) {
		if (m->f->notes[i] & (OP_EXTERNAL | OP_FINAL))
			return true;
	}
	return false;
}

void model_edge(struct model *m, uint32_t from, uint32_t to, enum edge_kind kind, uint32_t place,
	uint32_t first, uint32_t second)
{
	uint32_t literals[SOLVER_EDGE_LITERALS], count = 0;
	uint32_t all[4] = {first, second, m->counted[from], m->counted[to]};

	if (from == to ||
		(places_matter(m) && kind == EDGE_RW && !m->f->has_lists &&
			!arrives_before(m, from, place)))
		return;
	for (int i = 0; i < 4; i++) {
		if (all[i] == (TRUE_LITERAL ^ 1))
			return;
		if (all[i] != TRUE_LITERAL)
			literals[count++] = all[i];
	}
	if (m->hints && !places_matter(m) && model_known(m, from, to, kind))
		return;
	if (m->hints && known_not(m, from, to, kind))
		model_forbid(m, literals, count, from);
	else
		solver_edge(m->solver, edge_start(m, m->dense[from], kind),
			edge_end(m, m->dense[to], kind),
			kind == EDGE_RW ? SOLVER_ANTI : SOLVER_DEPENDENCY, place, literals, count);
}

/* ------------------------------------------------------------------ sessions, real time */

static void session_edges(struct model *m)
{
	const struct values *v = m->v;

	for (uint32_t s = 0; s < v->session_count; s++) {
		const uint32_t *txns = v->session_txns + v->sessions[s].first_txn;

		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			if (!inside(m, txns[i]))
				continue;
			/* Back to the last that counts for sure. */
			for (uint32_t k = i; k-- > 0;) {
				if (!inside(m, txns[k]))
					continue;
				model_edge(m, txns[k], txns[i], EDGE_ORDER, 0, TRUE_LITERAL,
					TRUE_LITERAL);
				if (m->live[txns[k]] == 1)
					break;
			}
		}
	}
}

struct instant {
	uint64_t at;
	uint32_t txn;
};

static int compare_instants(const void *a, const void *b)
{
	const struct instant *x = a, *y = b;

	return x->at != y->at ? (x->at < y->at ? -1 : 1) : (x->txn > y->txn) - (x->txn < y->txn);
}

/* Points in time after the transactions' nodes, one a begin, each before the next. */
static void realtime_edges(struct model *m, uint32_t first_node)
{
	const struct values *v = m->v;
	uint64_t *begin = mem_zero(v->txn_count, sizeof(*begin));
	uint64_t *end = mem_zero(v->txn_count, sizeof(*end));
	struct instant *begins = mem_zero(m->live_count, sizeof(*begins));
	bool events = m->shape != SHAPE_FLAT;
	enum solver_kind kind = m->level == MODEL_FCV ? SOLVER_FREE : SOLVER_DEPENDENCY;

	edges_times(m->f, begin, end);
	for (uint32_t n = 0; n < m->live_count; n++)
		begins[n] = (struct instant){begin[m->of_node[n]], m->of_node[n]};
	if (m->live_count)
		qsort(begins, m->live_count, sizeof(*begins), compare_instants);
	for (uint32_t i = 0; i < m->live_count; i++) {
		uint32_t n = m->dense[begins[i].txn];

		if (i)
			solver_edge(
				m->solver, first_node + i - 1, first_node + i, kind, 0, NULL, 0);
		solver_edge(m->solver, first_node + i, events ? 2 * n : n, kind, 0, NULL, 0);
	}
	for (uint32_t n = 0; n < m->live_count; n++) {
		uint32_t t = m->of_node[n];
		/* The first that began after its end. */
		uint32_t next = FIRST_WHERE(i, 0, m->live_count, begins[i].at > end[t]);

		if (next < m->live_count && end[t] != UINT64_MAX)
			solver_edge(m->solver, events ? 2 * n + 1 : n, first_node + next, kind, 0,
				&m->counted[t], m->counted[t] != TRUE_LITERAL);
	}
	mem_free(begin);
	mem_free(end);
	mem_free(begins);
}

/* --------------------------------------------------------------------------- registers */

static bool reads_matter(const struct model *m)
{
	return m->level != MODEL_PL_1;
}

static bool orders_are_asked(const struct model *m)
{
	return (m->level >= MODEL_PL_CS && m->level <= MODEL_FCV) ||
	       (m->v->stamps && m->level <= MODEL_FCV);
}

static uint32_t event_of(const struct model *m, uint32_t t, bool commits)
{
	return m->shape == SHAPE_FLAT ? t : 2 * t + commits;
}

/* With hints: the last candidate before the reader, which is the one to try first. */
static uint32_t likely_writer(const struct model *m, const struct read *r)
{
	uint32_t best = 0, best_place = 0;

	for (uint32_t k = 0; m->hints && k < r->count; k++) {
		uint32_t from = m->candidates[r->first + k].txn;
		uint32_t place =
			from == INITIAL_STATE ? 0 : m->hints->place[event_of(m, from, true)] + 1;

		if (place >= best_place && place <= m->hints->place[event_of(m, r->txn, false)]) {
			best = k;
			best_place = place;
		}
	}
	return best;
}

/* The read's choice of a writer: exactly one. */
static void choose_writers(struct model *m)
{
	for (size_t i = 0; i < m->read_count; i++) {
		const struct read *r = &m->reads[i];
		struct candidate *c = r->count ? m->candidates + r->first : NULL;
		uint32_t *any, likely = likely_writer(m, r);

		if (r->count == 1 && (c->txn == INITIAL_STATE || m->live[c->txn] == 1))
			continue;
		any = mem_realloc(NULL, (size_t)r->count + 1, sizeof(*any));
		for (uint32_t k = 0; k < r->count; k++) {
			c[k].literal = 2 * solver_variable(m->solver, !m->hints || k == likely);
			any[k] = c[k].literal;
			if (c[k].txn != INITIAL_STATE && m->counted[c[k].txn] != TRUE_LITERAL)
				solver_clause(m->solver,
					(uint32_t[]){c[k].literal ^ 1, m->counted[c[k].txn]}, 2,
					r->txn);
			for (uint32_t o = 0; o < k; o++)
				model_forbid(
					m, (uint32_t[]){c[k].literal, c[o].literal}, 2, r->txn);
		}
		any[r->count] = m->counted[r->txn] ^ 1;
		solver_clause(
			m->solver, any, r->count + (m->counted[r->txn] != TRUE_LITERAL), r->txn);
		mem_free(any);
	}
}

/* A literal that is true when both are. */
uint32_t model_both(struct model *m, uint32_t a, uint32_t b, uint32_t who)
{
	uint32_t joined;

	if (a == TRUE_LITERAL || b == TRUE_LITERAL)
		return a == TRUE_LITERAL ? b : a;
	joined = 2 * solver_variable(m->solver, false);
	solver_clause(m->solver, (uint32_t[]){a ^ 1, b ^ 1, joined}, 3, who);
	return joined;
}

/* With hints: writers that the reader certainly did not see, the first of them. */
struct missed {
	uint32_t txns[16], count;
};

/* An anti-dependency to the writer says nothing new where another one goes to a writer that is known
 * to come before it. */
static bool is_new(const struct model *m, struct missed *missed, uint32_t txn)
{
	for (uint32_t i = 0; i < missed->count; i++) {
		if (model_known(m, missed->txns[i], txn, EDGE_WW))
			return false;
	}
	if (missed->count < 16)
		missed->txns[missed->count++] = txn;
	return true;
}

/* The same by chains: the pairs that are open, and of each chain the first that is known to come
 * later. */
static void missed_by_chain(struct model *m, const struct read *r, const struct candidate *c)
{
	uint32_t at = c->txn == INITIAL_STATE ? VALUES_NONE
					      : model_writer_place(m, r->key, c->txn);

	if (at != VALUES_NONE) {
		at += m->writer_head[r->key];
		for (uint32_t i = m->open_head[at]; i < m->open_head[at + 1]; i++) {
			uint32_t other = m->by_chain[m->open[i].other];

			if (other != r->txn)
				model_edge(m, r->txn, other, EDGE_RW, r->op, c->literal,
					m->open[i].literal);
		}
	}
	for (uint32_t g = m->group_head[r->key]; g < m->group_head[r->key + 1]; g++) {
		uint32_t first = at == VALUES_NONE ? m->groups[g] : model_first_after(m, g, c->txn);

		if (first < m->groups[g + 1] && m->by_chain[first] != r->txn)
			model_edge(m, r->txn, m->by_chain[first], EDGE_RW, r->op, c->literal,
				TRUE_LITERAL);
	}
}

/* wr and rw edges of one read.  Anti-dependencies go to every later writer, which is the same as to
 * the next one where ww edges lead on from there; only for PL-FCV it is not, when the next one is
 * the reader itself. */
static void read_edges(struct model *m, const struct read *r)
{
	struct missed missed = {.count = 0};
	uint32_t count = m->writer_head[r->key + 1] - m->writer_head[r->key];
	const uint32_t *writers = m->writers + m->writer_head[r->key];
	uint32_t own = model_writer_place(m, r->key, r->txn);

	for (uint32_t i = 0; i < r->count; i++) {
		const struct candidate *c = &m->candidates[r->first + i];
		uint32_t place = VALUES_NONE;

		if (c->txn != INITIAL_STATE) {
			model_edge(m, c->txn, r->txn, EDGE_WR, r->op, c->literal, TRUE_LITERAL);
			place = model_writer_place(m, r->key, c->txn);
		}
		if (m->by_chain) {
			missed_by_chain(m, r, c);
			continue;
		}
		for (uint32_t o = 0; has_anti(m->level) && o < count; o++) {
			uint32_t later;

			if (o == place || writers[o] == r->txn)
				continue;
			later = place == VALUES_NONE ? TRUE_LITERAL : model_before(m, r->key, place, o);
			if (m->level == MODEL_FCV && own != VALUES_NONE)
				later = model_both(m, later, model_before(m, r->key, o, own), r->txn);
			if (m->hints && later == TRUE_LITERAL && c->literal == TRUE_LITERAL &&
				!is_new(m, &missed, writers[o]))
				continue;
			model_edge(m, r->txn, writers[o], EDGE_RW, r->op, c->literal, later);
		}
	}
}

/* ---- cursor stability: no transaction between the version read and the own one, or the other one read */

static void cursor_between(struct model *m, uint32_t key, const struct candidate *low,
	uint32_t high, uint32_t high_literal, uint32_t who)
{
	uint32_t count = m->writer_head[key + 1] - m->writer_head[key];
	const uint32_t *writers = m->writers + m->writer_head[key];
	uint32_t a = low->txn == INITIAL_STATE ? VALUES_NONE : model_writer_place(m, key, low->txn);
	uint32_t b = model_writer_place(m, key, high);

	for (uint32_t o = 0; b != VALUES_NONE && o < count; o++) {
		if (o == a || o == b || writers[o] == who)
			continue;
		model_forbid(m,
			(uint32_t[]){low->literal, high_literal, model_before(m, key, o, b),
				a == VALUES_NONE ? TRUE_LITERAL : model_before(m, key, a, o),
				m->counted[writers[o]], m->counted[high], m->counted[who]},
			7, who);
	}
}

static void cursor_registers(struct model *m)
{
	for (size_t i = 0; i < m->read_count; i++) {
		const struct read *r = &m->reads[i];

		for (uint32_t c = 0; c < r->count; c++) {
			const struct candidate *low = &m->candidates[r->first + c];

			cursor_between(m, r->key, low, r->txn, TRUE_LITERAL, r->txn);
			for (size_t k = m->reads_of[r->txn]; k < m->reads_of[r->txn + 1]; k++) {
				const struct read *other = &m->reads[k];

				for (uint32_t d = 0;
					other != r && other->key == r->key && d < other->count;
					d++) {
					const struct candidate *high =
						&m->candidates[other->first + d];

					if (high->txn != INITIAL_STATE && high->txn != low->txn)
						cursor_between(m, r->key, low, high->txn,
							high->literal, r->txn);
				}
			}
		}
	}
}

/* --------------------------------------------------------------------------------- all */

/* Edges and clauses that would be made; UINT64_MAX: too many. */
static uint64_t size_of(struct model *m)
{
	uint64_t size = orders_are_asked(m) ? model_classify_pairs(m) : 0;

	for (size_t i = 0; i < m->read_count && size != UINT64_MAX; i++)
		size += (uint64_t)m->reads[i].count * m->reads[i].count;
	return size;
}

static void set_priorities(const struct model *m, uint64_t *priority, uint32_t node_count)
{
	const struct values *v = m->v;

	for (uint32_t n = 0; n < node_count; n++)
		priority[n] = UINT64_MAX;
	for (uint32_t s = 0; s < v->session_count; s++) {
		uint64_t total = v->sessions[s].txn_count;

		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[s].first_txn + i], n;
			uint64_t p = m->f->guide ? m->f->guide[t]
				     : v->stamps ? v->stamps[t].commit
				     : v->has_real_time && v->txns[t].complete != VALUES_NONE
					     ? v->txns[t].complete
					     : ((uint64_t)i << 32) / total;

			if (!inside(m, t))
				continue;
			n = m->dense[t];
			for (int c = 0; c < 2; c++)
				priority[event_of(m, n, c)] =
					m->hints ? m->hints->place[event_of(m, t, c)] : p;
		}
	}
}

/* Where in the transaction `to` a known edge arrives: at the read, or where it writes the key of
 * the read that forces the order. */
static uint32_t hinted_place(const struct model *m, const struct precedence_edge *e, uint32_t to)
{
	uint32_t key, at;

	if (e->kind != GRAPH_WW)
		return e->detail;
	key = m->v->ops[e->detail].key;
	at = model_writer_place(m, key, to);
	CHECK(at != VALUES_NONE);
	return m->writer_op[m->writer_head[key] + at];
}

static void hinted_edges(struct model *m)
{
	for (size_t e = 0; m->hints && e < m->hints->edges->count; e++) {
		uint32_t from = m->hints->edges->edges[e].from, to = m->hints->edges->edges[e].to;
		bool flat = m->shape == SHAPE_FLAT;
		uint32_t a = m->dense[flat ? from : from / 2], b = m->dense[flat ? to : to / 2];

		if (a != VALUES_NONE && b != VALUES_NONE)
			solver_edge(m->solver, flat ? a : 2 * a + from % 2,
				flat ? b : 2 * b + to % 2, SOLVER_DEPENDENCY,
				places_matter(m)
					? hinted_place(m, &m->hints->edges->edges[e], to)
					: 0,
				NULL, 0);
	}
}

static void make_solver(struct model *m)
{
	const struct values *v = m->v;
	uint32_t txn_nodes = is_guarantee(m->level)   ? m->writer_head[v->key_count]
			     : m->shape == SHAPE_FLAT ? m->live_count
						      : 2 * m->live_count;
	uint32_t nodes = txn_nodes + (m->order == CYCLE_REALTIME ? m->live_count : 0);
	uint64_t *priority = mem_zero(nodes, sizeof(*priority));
	uint32_t truth;

	if (!is_guarantee(m->level))
		set_priorities(m, priority, nodes);
	m->solver = solver_new(nodes,
		m->level == MODEL_PL_2PLUS || m->level == MODEL_FCV ? SOLVER_SINGLE
		: m->level == MODEL_PL_2L                           ? SOLVER_MONOTONIC
								    : SOLVER_ANY,
		priority);
	mem_free(priority);
	truth = solver_variable(m->solver, true);
	CHECK(truth == TRUE_LITERAL / 2);
	solver_clause(m->solver, &(uint32_t){TRUE_LITERAL}, 1, SOLVER_NONE);
	m->counted = mem_zero(v->txn_count, sizeof(uint32_t));
	for (uint32_t t = 0; t < v->txn_count; t++) {
		if (inside(m, t) && m->live[t] == 2)
			m->counted[t] = 2 * solver_variable(m->solver, false);
	}
	for (uint32_t n = 0; m->shape != SHAPE_FLAT && n < m->live_count; n++)
		solver_edge(m->solver, 2 * n, 2 * n + 1, SOLVER_DEPENDENCY, 0, NULL, 0);
	if (is_guarantee(m->level))
		return;
	hinted_edges(m);
	if ((m->order != CYCLE_PLAIN || is_weak(m->level) || m->level == MODEL_PREFIX) &&
		m->level != MODEL_FCV)
		session_edges(m);
	if (m->order == CYCLE_REALTIME)
		realtime_edges(m, txn_nodes);
}

static void fill_solver(struct model *m)
{
	if (reads_matter(m))
		choose_writers(m);
	if (is_guarantee(m->level)) {
		model_guarantees(m);
		return;
	}
	if (orders_are_asked(m))
		model_order_registers(m);
	for (size_t i = 0; reads_matter(m) && i < m->read_count; i++) {
		read_edges(m, &m->reads[i]);
		if (is_weak(m->level))
			model_weak_read(m, &m->reads[i]);
	}
	if (m->level == MODEL_PL_CS)
		cursor_registers(m);
	if (m->f->has_lists)
		model_lists(m);
}

static void release(struct model *m)
{
	if (m->solver)
		solver_free(m->solver);
	mem_free(m->live);
	mem_free(m->turn);
	mem_free(m->dense);
	mem_free(m->of_node);
	mem_free(m->counted);
	mem_free(m->reads);
	mem_free(m->candidates);
	mem_free(m->reads_of);
	mem_free(m->writer_head);
	mem_free(m->writers);
	mem_free(m->writer_op);
	mem_free(m->pair_base);
	mem_free(m->pairs);
	mem_free(m->by_chain);
	mem_free(m->group_head);
	mem_free(m->groups);
	mem_free(m->rank);
	mem_free(m->open_head);
	mem_free(m->open);
	mem_free(m->is_read);
	mem_free(m->reads_itself);
	mem_free(m->reader);
	mem_free(m->all_head);
	mem_free(m->all_writes);
	mem_free(m->places);
	mem_free(m->place_ops);
	mem_free(m->floating);
}

struct blame {
	const struct model *m;
	uint8_t *txns;
};

static void blame_node(struct blame *b, uint32_t node)
{
	uint32_t n = b->m->shape == SHAPE_FLAT ? node : node / 2;

	if (is_guarantee(b->m->level))
		b->txns[b->m->writers[node]] = 1;
	else if (node < b->m->live_count * (b->m->shape == SHAPE_FLAT ? 1u : 2u))
		b->txns[b->m->of_node[n]] = 1;
}

static void blame_edge(void *context, const struct solver_edge *edge)
{
	blame_node(context, edge->from);
	blame_node(context, edge->to);
}

static void blame_clause(void *context, uint32_t tag)
{
	((struct blame *)context)->txns[tag] = 1;
}

static void tell_commits(const struct model *m)
{
	for (uint32_t n = 0; n < m->live_count; n++)
		m->hints->commits[m->of_node[n]] =
			solver_place(m->solver, model_commit_node(m, m->of_node[n]));
}

/* Is there a choice for these transactions?  On SOLVER_NO `blamed` gets those it rests on. */
static enum solver_answer ask(const struct facts *f, enum model_level level, enum cycle_order order,
	const uint8_t *only, const struct model_hints *hints, uint64_t *steps, uint8_t *blamed)
{
	struct model m = {
		.f = f, .v = f->v, .level = level, .order = order, .only = only, .hints = hints};
	enum solver_answer answer = SOLVER_UNDECIDED;

	if (*steps == 0)
		return answer;
	m.shape = level == MODEL_PL_SI    ? SHAPE_SI
		  : level == MODEL_PREFIX ? SHAPE_PREFIX
					  : SHAPE_FLAT;
	for (uint32_t k = 0; k < m.v->key_count; k++)
		m.incomplete |= is_list(m.v, k) && (m.v->keys[k].flags & VALUES_KEY_REGISTER);
	model_open(&m);
	if (size_of(&m) <= model_places_max(&m)) {
		make_solver(&m);
		fill_solver(&m);
		if (!m.incomplete)
			answer = level == MODEL_CC ? model_solve_causal(&m, steps)
						   : solver_run(m.solver, steps);
		if (answer == SOLVER_YES && hints && hints->commits)
			tell_commits(&m);
		if (answer == SOLVER_NO && blamed) {
			struct blame b = {&m, blamed};

			solver_core(m.solver, blame_edge, blame_clause, &b);
		}
	}
	release(&m);
	return answer;
}

/* Leaves out one transaction after the other, as long as there is still no choice. */
static void shrink(const struct facts *f, enum model_level level, enum cycle_order order,
	uint8_t *part, uint64_t steps)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < f->v->txn_count; t++)
		count += part[t];
	for (uint32_t t = 0; count <= SHRINK_MAX && t < f->v->txn_count && steps; t++) {
		if (!part[t])
			continue;
		part[t] = 0;
		part[t] = ask(f, level, order, part, NULL, &steps, NULL) != SOLVER_NO;
	}
}

/* All transactions that those in the part may have read from. */
static void add_writers(const struct facts *f, uint8_t *part)
{
	const struct values *v = f->v;
	uint8_t *wanted = mem_zero(v->item_count, 1);

	for (uint32_t i = 0; i < v->op_count; i++) {
		if (v->ops[i].kind == VALUES_READ && part[v->ops[i].txn])
			wanted[v->ops[i].value] = 1;
	}
	for (uint32_t i = 0; i < v->op_count; i++) {
		if (values_is_write(&v->ops[i]) && v->ops[i].value != VALUES_NONE &&
			wanted[v->ops[i].value])
			part[v->ops[i].txn] = 1;
	}
	mem_free(wanted);
}

/* Do those that were blamed alone have no choice, or else with those they read from?  If not, the
 * part becomes all transactions. */
static bool is_enough(const struct facts *f, enum model_level level, enum cycle_order order,
	uint8_t *part, uint64_t *steps)
{
	if (ask(f, level, order, part, NULL, steps, NULL) == SOLVER_NO)
		return true;
	add_writers(f, part);
	if (ask(f, level, order, part, NULL, steps, NULL) == SOLVER_NO)
		return true;
	memset(part, 1, f->v->txn_count);
	return false;
}

enum level_answer model_decide(const struct facts *f, enum model_level level,
	enum cycle_order order, const struct model_hints *hints, uint64_t *steps,
	struct model_core *core)
{
	uint32_t txns = f->v->txn_count;
	uint8_t *part = mem_zero(txns, 1);
	enum solver_answer answer = ask(f, level, order, NULL, hints, steps, part);

	*core = (struct model_core){0};
	if (answer == SOLVER_NO) {
		uint64_t more = SHRINK_STEPS;

		if (!is_enough(f, level, order, part, &more) && hints) {
			/* Hints do not say what they rest on. */
			memset(part, 0, txns);
			if (ask(f, level, order, NULL, NULL, &more, part) != SOLVER_NO ||
				!is_enough(f, level, order, part, &more))
				memset(part, 1, txns);
		}
		shrink(f, level, order, part, more);
		core->txns = mem_realloc(NULL, txns, sizeof(uint32_t));
		for (uint32_t t = 0; t < txns; t++) {
			if (part[t] && (f->counts[t] || f->v->txns[t].outcome == VALUES_UNKNOWN))
				core->txns[core->count++] = t;
		}
	}
	mem_free(part);
	return answer == SOLVER_YES  ? LEVEL_HOLDS
	       : answer == SOLVER_NO ? LEVEL_FAILS
				     : LEVEL_UNDECIDED;
}
