/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each level means here:
 *  - PL-1, PL-2, PL-CS, PL-2L, PL-2+, PL-FCV, PL-2.99: some choice of writers and version orders
 * has no forbidden cycle in the dependency graph, whose edges are drawn from the definitions.
 *  - PL-SI: some interleaving of starts and commits explains every read by a snapshot, without two
 *    concurrent writers of a key.
 *  - PL-3: some serial order explains every read.
 *  - be-...: some commit order satisfies Biswas and Enea's axiom, checked as written.
 *  - session guarantees: some choice of writers and version orders keeps them, a key at a time.
 */
#include "values_brute_internal.h"

#include <stdint.h>
#include <string.h>

/* ------------------------------------------------------------------ what the twin knows */

bool brute_wrote(const struct hist *h, int t, int key, int value)
{
	for (int q = 0; q < h->t[t].count; q++) {
		const struct op *w = &h->t[t].ops[q];

		if (w->kind == W && w->key == key && w->value == value)
			return true;
	}
	return false;
}

int brute_final_op(const struct hist *h, int t, int key)
{
	int op = -1;

	for (int k = 0; k < h->t[t].count; k++) {
		if (h->t[t].ops[k].kind == W && h->t[t].ops[k].key == key)
			op = k;
	}
	return op;
}

static int final_value(const struct hist *h, int t, int key)
{
	return h->t[t].ops[brute_final_op(h, t, key)].value;
}

static bool matches(int value, int rest)
{
	return value && value % 2 == rest;
}

bool writes_key(const struct hist *h, int t, int key)
{
	for (int k = 0; k < h->t[t].count; k++) {
		if (h->t[t].ops[k].kind == W && h->t[t].ops[k].key == key)
			return true;
	}
	return false;
}

/* Which transactions count: committed, or unknown and read by one that counts.  Where an unknown one is one of
 * several that can have written the value it only may count: those are returned as bits. */
static unsigned find_counting(struct hist *h)
{
	unsigned maybe = 0;

	for (int i = 0; i < h->n; i++)
		h->counts[i] = h->t[i].outcome == 0 || h->sure[i];
	for (int i = 0; i < h->n; i++) {
		for (int k = 0; h->t[i].outcome == 0 && k < h->t[i].count; k++) {
			const struct op *o = &h->t[i].ops[k];
			int len = h->lists ? o->len : 1;

			for (int e = 0; (o->kind == R || o->kind == EVIDENCE) && e < len; e++) {
				int value = h->lists ? o->list[e] : o->value;
				int writers = !h->lists && value == 0; /* initially there */
				unsigned unknown = 0;

				for (int j = 0; j < h->n; j++) {
					if (!brute_wrote(h, j, o->key, value) ||
						h->t[j].outcome == 1)
						continue;
					writers++;
					if (h->t[j].outcome == 2)
						unknown |= 1u << j;
				}
				if (writers > 1)
					maybe |= unknown;
				for (int j = 0; writers == 1 && j < h->n; j++)
					h->counts[j] |= unknown >> j & 1;
			}
		}
	}
	/* Or a predicate may have missed a key because of them. */
	for (int i = 0; i < h->n; i++) {
		for (int k = 0; h->t[i].outcome == 0 && k < h->t[i].count; k++) {
			const struct op *o = &h->t[i].ops[k];

			for (int j = 0; o->kind == P && j < h->n; j++) {
				for (int key = 0; key < KEYS; key++) {
					if (h->t[j].outcome == 2 && o->list[key] == 0 &&
						writes_key(h, j, key) &&
						!matches(final_value(h, j, key), o->value))
						maybe |= 1u << j;
				}
			}
		}
	}
	for (int i = 0; i < h->n; i++) {
		if (h->counts[i])
			maybe &= ~(1u << i);
	}
	return maybe;
}

static bool wrote_before(const struct hist *h, int t, int k, int value)
{
	for (int q = 0; q < k; q++) {
		const struct op *w = &h->t[t].ops[q];

		if (w->kind == W && w->key == h->t[t].ops[k].key && w->value == value)
			return true;
	}
	return false;
}

/* Of several that can have written a value that was read, one did. */
static bool somebody_counts(const struct hist *h)
{
	for (int i = 0; i < h->n; i++) {
		for (int k = 0; h->t[i].outcome == 0 && k < h->t[i].count; k++) {
			const struct op *o = &h->t[i].ops[k];
			int len = h->lists ? o->len : 1;

			for (int e = 0; (o->kind == R || o->kind == EVIDENCE) && e < len; e++) {
				int value = h->lists ? o->list[e] : o->value;
				bool possible = false, chosen = !h->lists && value == 0;

				for (int j = 0; j < h->n; j++) {
					if (!brute_wrote(h, j, o->key, value) ||
						(j == i && !h->lists &&
							!wrote_before(h, i, k, value)) ||
						(j != i && !h->lists &&
							final_value(h, j, o->key) != value))
						continue;
					possible |= h->t[j].outcome != 1;
					chosen |= h->counts[j];
				}
				if (possible && !chosen)
					return false;
			}
		}
	}
	return true;
}

bool precedes(const struct hist *h, int a, int b, int order)
{
	if (order >= 1 && a < b && h->t[a].session == h->t[b].session)
		return true;
	return order == 2 && h->t[a].outcome == 0 && h->t[a].complete < h->t[b].invoke;
}

/* ------------------------------------------------------------------------------- PL-3 */

struct store {
	int state[KEYS][32], len[KEYS];
};

/* Does the predicate return what it did? */
static bool matches_are(const struct op *o, const struct store *store)
{
	for (int key = 0; key < KEYS; key++) {
		int value = store->len[key] ? store->state[key][store->len[key] - 1] : 0;

		if (o->list[key] >= 0 && o->list[key] != (matches(value, o->value) ? value : 0))
			return false;
	}
	return true;
}

/* Runs one transaction on a snapshot; false when a read differs.  Unknown ones' reads are not
 * known. */
static bool run(const struct hist *h, int t, const struct store *snapshot)
{
	struct store own = *snapshot;

	for (int k = 0; k < h->t[t].count; k++) {
		const struct op *o = &h->t[t].ops[k];

		if (o->kind == W) {
			if (!h->lists)
				own.len[o->key] = 0;
			own.state[o->key][own.len[o->key]++] = o->value;
		} else if (o->kind == P && !h->t[t].outcome) {
			if (!matches_are(o, &own))
				return false;
		} else if (h->t[t].outcome || o->kind != R) {
			continue;
		} else if (h->lists) {
			if (o->len != own.len[o->key] || memcmp(o->list, own.state[o->key],
								 (size_t)o->len * sizeof(int)) != 0)
				return false;
		} else if (o->value !=
			   (own.len[o->key] ? own.state[o->key][own.len[o->key] - 1] : 0)) {
			return false;
		}
	}
	return true;
}

static void apply(const struct hist *h, int t, struct store *store)
{
	for (int k = 0; k < h->t[t].count; k++) {
		const struct op *o = &h->t[t].ops[k];

		if (o->kind != W)
			continue;
		if (!h->lists)
			store->len[o->key] = 0;
		store->state[o->key][store->len[o->key]++] = o->value;
	}
}

/* Does the end agree with the lists that others read? */
static bool agrees(const struct hist *h, const struct store *store)
{
	for (int at = 0; at < h->n * OPS; at++) {
		const struct op *o = &h->t[at / OPS].ops[at % OPS];

		if (o->kind == EVIDENCE &&
			(o->len > store->len[o->key] || memcmp(o->list, store->state[o->key],
								(size_t)o->len * sizeof(int)) != 0))
			return false;
	}
	return true;
}

static bool serial(const struct hist *h, int order, unsigned done, const struct store *store)
{
	bool complete = true;

	for (int t = 0; t < h->n; t++) {
		struct store next;
		bool ready = h->counts[t] && !(done >> t & 1);

		complete &= !ready;
		for (int u = 0; ready && u < h->n; u++)
			ready = u == t || !h->counts[u] || (done >> u & 1) ||
				!precedes(h, u, t, order);
		if (!ready || !run(h, t, store))
			continue;
		next = *store;
		apply(h, t, &next);
		if (serial(h, order, done | 1u << t, &next))
			return true;
	}
	return complete && agrees(h, store);
}

/* ------------------------------------------------------------------------------ PL-SI */

struct si {
	const struct hist *h;
	int order;
	unsigned started, committed;
	unsigned committed_at_start[TXNS];
};

static bool conflict(const struct hist *h, int a, int b)
{
	for (int key = 0; key < KEYS; key++) {
		if (writes_key(h, a, key) && writes_key(h, b, key))
			return true;
	}
	return false;
}

static bool interleave(struct si *s, const struct store *store)
{
	const struct hist *h = s->h;
	bool complete = true;

	for (int t = 0; t < h->n; t++) {
		bool ready = h->counts[t] && !(s->committed >> t & 1);

		complete &= !ready;
		if (!ready)
			continue;
		if (!(s->started >> t & 1)) {
			for (int u = 0; ready && u < h->n; u++)
				ready = u == t || !h->counts[u] || (s->committed >> u & 1) ||
					!precedes(h, u, t, s->order);
			if (!ready || !run(h, t, store))
				continue;
			s->started |= 1u << t;
			s->committed_at_start[t] = s->committed;
			if (interleave(s, store))
				return true;
			s->started &= ~(1u << t);
		} else {
			struct store next = *store;

			for (int u = 0; ready && u < h->n; u++)
				ready = !((s->committed & ~s->committed_at_start[t]) >> u & 1) ||
					!conflict(h, t, u);
			if (!ready)
				continue;
			apply(h, t, &next);
			s->committed |= 1u << t;
			if (interleave(s, &next))
				return true;
			s->committed &= ~(1u << t);
		}
	}
	return complete && agrees(h, store);
}

/* --------------------------------------------------------------- dependency graphs */

void brute_dep(struct search *s, enum dep_kind kind, int from, int to, int key, int op)
{
	if (from != to)
		s->deps[s->dep_count++] = (struct dep){kind, from, to, key, op};
}

static void edge(uint8_t m[TXNS], int from, int to)
{
	if (from != to)
		m[from] |= (uint8_t)(1u << to);
}

static void close_over(uint8_t m[TXNS])
{
	for (int k = 0; k < TXNS; k++) {
		for (int i = 0; i < TXNS; i++) {
			if (m[i] >> k & 1)
				m[i] |= m[k];
		}
	}
}

static bool acyclic(const uint8_t m[TXNS])
{
	uint8_t reach[TXNS];

	memcpy(reach, m, sizeof(reach));
	close_over(reach);
	for (int i = 0; i < TXNS; i++) {
		if (reach[i] >> i & 1)
			return false;
	}
	return true;
}

/* G-cursor: a cycle of edges of one object, one of them rw, at least one ww. */
static bool has_cursor(const struct search *s)
{
	for (int key = 0; key < KEYS; key++) {
		/* States: transaction and whether a ww was passed. */
		bool reach[2 * TXNS][2 * TXNS] = {{false}};

		for (int i = 0; i < s->dep_count; i++) {
			const struct dep *d = &s->deps[i];

			if (d->key != key || d->kind == RW)
				continue;
			reach[2 * d->from][2 * d->to + (d->kind == WW)] = true;
			reach[2 * d->from + 1][2 * d->to + 1] = true;
		}
		for (int k = 0; k < 2 * s->h->n; k++) {
			for (int a = 0; a < 2 * s->h->n; a++) {
				for (int b = 0; b < 2 * s->h->n; b++)
					reach[a][b] |= reach[a][k] && reach[k][b];
			}
		}
		for (int i = 0; i < s->dep_count; i++) {
			const struct dep *d = &s->deps[i];

			if (d->key == key && d->kind == RW && reach[2 * d->to][2 * d->from + 1])
				return true;
		}
	}
	return false;
}

/* G-monotonic: an rw edge leaves a read, and what leads back arrives at an operation before it. */
static bool has_monotonic(const struct search *s, const uint8_t reach[TXNS])
{
	for (int i = 0; i < s->dep_count; i++) {
		const struct dep *rw = &s->deps[i];

		for (int k = 0; rw->kind == RW && k < s->dep_count; k++) {
			const struct dep *d = &s->deps[k];

			if (d->kind != RW && d->to == rw->from && d->op < rw->op &&
				(d->from == rw->to || (reach[rw->to] >> d->from & 1)))
				return true;
		}
	}
	return false;
}

static bool has_single(const struct search *s, const uint8_t reach[TXNS])
{
	for (int i = 0; i < s->dep_count; i++) {
		const struct dep *d = &s->deps[i];

		if (d->kind == RW && (reach[d->to] >> d->from & 1))
			return true;
	}
	return false;
}

void brute_judge_graph(struct search *s, bool g1)
{
	const struct hist *h = s->h;

	for (int order = 0; order < 3; order++) {
		uint8_t ww[TXNS] = {0}, d[TXNS], all[TXNS], start[TXNS];
		bool single, dependencies = true;

		for (int i = 0; i < h->n; i++) {
			for (int j = 0; j < h->n; j++) {
				if (i != j && h->counts[i] && h->counts[j] &&
					precedes(h, i, j, order))
					edge(ww, i, j);
			}
		}
		memcpy(d, ww, sizeof(d));
		memset(start, 0, sizeof(start));
		for (int i = 0; i < s->dep_count; i++) {
			if (s->deps[i].kind == WW)
				edge(ww, s->deps[i].from, s->deps[i].to);
			if (s->deps[i].kind != RW)
				edge(d, s->deps[i].from, s->deps[i].to);
			if (s->deps[i].kind != RW)
				edge(start, s->deps[i].from, s->deps[i].to);
		}
		memcpy(all, d, sizeof(all));
		for (int i = 0; i < s->dep_count; i++)
			edge(all, s->deps[i].from, s->deps[i].to);
		if (acyclic(ww))
			s->out->pl1[order] = true;
		if (g1)
			continue;
		if (order == 2 && acyclic(start)) { /* G-SIb: real time alone */
			for (int i = 0; i < h->n; i++) {
				for (int j = 0; j < h->n; j++) {
					if (h->counts[i] && h->counts[j] && h->t[i].outcome == 0 &&
						h->t[i].complete < h->t[j].invoke)
						edge(start, i, j);
				}
			}
			close_over(start);
			s->out->fcv |= !has_single(s, start);
		}
		dependencies = acyclic(d);
		if (!dependencies)
			continue;
		s->out->pl2[order] = true;
		if (acyclic(all))
			s->out->pl299[order] = true;
		close_over(d);
		single = has_single(s, d);
		s->out->pl2plus[order] |= !single;
		if (order == 0) {
			s->out->cs |= !has_cursor(s);
			s->out->monotonic |= !has_monotonic(s, d);
		}
	}
}

/* -------------------------------------------------------------------- session guarantees */

void brute_judge_session(struct search *s, const struct happening *all, int count, bool *bad)
{
	for (int b = 0; b < count; b++) {
		for (int a = 0; a < count; a++) {
			const struct happening *x = &all[a], *y = &all[b];
			bool same = x->txn == y->txn;

			if (x->key != y->key ||
				s->h->t[x->txn].session != s->h->t[y->txn].session ||
				x->txn > y->txn || (same && x->op >= y->op))
				continue;
			if (x->write && !y->write && !same)
				bad[SG_RYW] |= y->low < x->high;
			if (!x->write && !y->write)
				bad[SG_MR] |= y->low < x->high;
			if (x->write && y->write && !same)
				bad[SG_MW] |= y->low < x->high;
			if (!x->write && y->write)
				bad[SG_WFR] |= y->low <= x->high;
		}
	}
	bad[SG_PRAM] = bad[SG_RYW] || bad[SG_MR] || bad[SG_MW];
}

int brute_place_of(const struct search *s, int key, int what)
{
	for (int i = 0; i < s->order_len[key]; i++) {
		if (s->order[key][i] == what)
			return i;
	}
	return -1;
}

/* ---- registers ---- */

static void guarantees_of_registers(struct search *s)
{
	const struct hist *h = s->h;
	struct happening all[2 * TXNS * OPS];
	int count = 0;
	bool bad[SG_COUNT] = {false};

	for (int i = 0; i < s->read_count; i++) {
		const struct source *r = &s->reads[i];
		int key = h->t[r->txn].ops[r->op].key;
		int place = r->from < 0 ? -1 : brute_place_of(s, key, r->from);

		if (!r->silent)
			all[count++] = (struct happening){r->txn, r->op, key, place, place, false};
	}
	for (int t = 0; t < h->n; t++) {
		for (int key = 0; h->counts[t] && key < KEYS; key++) {
			int place = brute_place_of(s, key, t);

			if (place >= 0)
				all[count++] = (struct happening){
					t, brute_final_op(h, t, key), key, place, place, true};
		}
	}
	brute_judge_session(s, all, count, bad);
	for (int g = 0; g < SG_COUNT; g++)
		s->out->sg[g] |= !bad[g];
}

static void judge_registers(struct search *s, bool g1, bool guarantees)
{
	const struct hist *h = s->h;

	s->dep_count = 0;
	for (int key = 0; key < KEYS; key++) {
		for (int i = 0; i + 1 < s->order_len[key]; i++)
			brute_dep(s, WW, s->order[key][i], s->order[key][i + 1], key,
				brute_final_op(h, s->order[key][i + 1], key));
	}
	for (int i = 0; i < s->read_count; i++) {
		const struct source *r = &s->reads[i];
		int key = h->t[r->txn].ops[r->op].key, next = 0;

		if (r->from >= 0) {
			brute_dep(s, WR, r->from, r->txn, key, r->op);
			next = brute_place_of(s, key, r->from) + 1;
		}
		if (next < s->order_len[key])
			brute_dep(s, RW, r->txn, s->order[key][next], key, r->op);
	}
	brute_judge_graph(s, g1);
	if (guarantees)
		guarantees_of_registers(s);
}

static void version_orders(struct search *s, int key, unsigned used, bool g1, bool guarantees)
{
	bool complete = true;

	if (key == KEYS) {
		judge_registers(s, g1, guarantees);
		return;
	}
	for (int t = 0; t < s->h->n; t++) {
		if (!s->h->counts[t] || (used >> t & 1) || !writes_key(s->h, t, key))
			continue;
		complete = false;
		s->order[key][s->order_len[key]++] = t;
		version_orders(s, key, used | 1u << t, g1, guarantees);
		s->order_len[key]--;
	}
	if (complete)
		version_orders(s, key + 1, 0, g1, guarantees);
}

/* Biswas and Enea's axiom for one commit order. */
static bool related(const struct search *s, int level, int t2, const struct source *read,
	const uint8_t causal[TXNS], const uint8_t direct[TXNS], const int place[TXNS])
{
	const struct hist *h = s->h;
	int t3 = read->txn;

	if (level == BE_SER)
		return place[t2] < place[t3];
	if (level >= BE_PREFIX) {
		for (int t4 = 0; t4 < h->n; t4++) {
			if (!h->counts[t4] || t4 == t3 || place[t2] > place[t4])
				continue;
			if (direct[t4] >> t3 & 1)
				return true;
			if (level == BE_SI && place[t4] < place[t3] && conflict(h, t4, t3))
				return true;
		}
		return false;
	}
	if (level == BE_CC)
		return causal[t2] >> t3 & 1;
	if (level == BE_RA && t2 < t3 && h->t[t2].session == h->t[t3].session)
		return true;
	for (int i = 0; i < s->read_count; i++) {
		const struct source *r = &s->reads[i];

		if (r->txn == t3 && r->from == t2 && (level == BE_RA || r->op < read->op))
			return true;
	}
	return false;
}

static bool axiom(const struct search *s, int level, const int place[TXNS],
	const uint8_t causal[TXNS], const uint8_t direct[TXNS])
{
	const struct hist *h = s->h;

	for (int i = 0; i < s->read_count; i++) {
		const struct source *r = &s->reads[i];
		int key = h->t[r->txn].ops[r->op].key;

		for (int t2 = 0; t2 < h->n; t2++) {
			if (!h->counts[t2] || t2 == r->from || t2 == r->txn ||
				!writes_key(h, t2, key) ||
				!related(s, level, t2, r, causal, direct, place))
				continue;
			if (r->from < 0 || place[t2] > place[r->from])
				return false;
		}
	}
	return true;
}

static void commit_orders(struct search *s, int place[TXNS], int count, unsigned done,
	const uint8_t direct[TXNS], const uint8_t causal[TXNS])
{
	bool complete = true;

	for (int t = 0; t < s->h->n; t++) {
		bool ready = s->h->counts[t] && !(done >> t & 1);

		complete &= !ready;
		for (int u = 0; ready && u < s->h->n; u++)
			ready = (done >> u & 1) || !(direct[u] >> t & 1);
		if (!ready)
			continue;
		place[t] = count;
		commit_orders(s, place, count + 1, done | 1u << t, direct, causal);
	}
	for (int level = 0; complete && level < BE_COUNT; level++)
		s->out->be[level] |= axiom(s, level, place, causal, direct);
}

static void judge_be(struct search *s)
{
	uint8_t direct[TXNS] = {0}, causal[TXNS];
	int place[TXNS];

	for (int i = 0; i < s->h->n; i++) {
		for (int j = 0; j < s->h->n; j++) {
			if (i != j && s->h->counts[i] && s->h->counts[j] && precedes(s->h, i, j, 1))
				edge(direct, i, j);
		}
	}
	for (int i = 0; i < s->read_count; i++) {
		if (s->reads[i].from >= 0)
			edge(direct, s->reads[i].from, s->reads[i].txn);
	}
	memcpy(causal, direct, sizeof(causal));
	close_over(causal);
	if (acyclic(direct))
		commit_orders(s, place, 0, 0, direct, causal);
}

/* What is chosen so far: `g1` a read that PL-2 forbids, `own_missed` one that misses the own write,
 * `wasteful` a choice other than a final version where there is one. */
struct chosen {
	bool g1, own_missed, wasteful;
};

/* Also of one that only may count. */
static bool has_final_source(const struct hist *h, int t, const struct op *o)
{
	bool any = o->value == 0;

	for (int u = 0; u < h->n; u++)
		any |= u != t && h->t[u].outcome != 1 && brute_wrote(h, u, o->key, o->value) &&
		       final_value(h, u, o->key) == o->value;
	return any;
}

/* Tries every source of every read; `at` counts over all operations. */
static void sources(struct search *s, int at, struct chosen chosen)
{
	const struct hist *h = s->h;
	int t = at / OPS, k = at % OPS, own = -1;
	const struct op *o;
	bool any = false, final;

	if (t == h->n) {
		version_orders(s, 0, 0, chosen.g1, !chosen.wasteful);
		if (!chosen.g1 && !chosen.own_missed)
			judge_be(s);
		return;
	}
	o = &h->t[t].ops[k];
	if (!h->counts[t] || h->t[t].outcome || k >= h->t[t].count || o->kind != R) {
		sources(s, at + 1, chosen);
		return;
	}
	for (int q = 0; q < k; q++) {
		if (h->t[t].ops[q].kind == W && h->t[t].ops[q].key == o->key)
			own = q;
	}
	/* Its own earlier write of the value explains the read; only the last one should. */
	for (int q = 0; q < k; q++) {
		if (h->t[t].ops[q].kind == W && h->t[t].ops[q].key == o->key &&
			h->t[t].ops[q].value == o->value) {
			chosen.own_missed |= h->t[t].ops[own].value != o->value;
			sources(s, at + 1, chosen);
			return;
		}
	}
	chosen.own_missed |= own >= 0;
	final = has_final_source(h, t, o);
	for (int u = -1; u < h->n; u++) {
		struct chosen now = chosen;
		bool bad;

		if (u < 0 ? o->value != 0 : !h->counts[u] || !brute_wrote(h, u, o->key, o->value))
			continue;
		any = true;
		bad = u >= 0 && (u == t || final_value(h, u, o->key) != o->value);
		now.g1 |= bad;
		now.wasteful |= bad && final;
		if (u == t) { /* its own later write: a future read */
			sources(s, at + 1, now);
			continue;
		}
		s->reads[s->read_count++] = (struct source){t, k, u, bad};
		sources(s, at + 1, now);
		s->read_count--;
	}
	if (!any) { /* aborted or garbage */
		chosen.g1 = true;
		sources(s, at + 1, chosen);
	}
}

/* --------------------------------------------------------------------------------- all */

static void judge_choice(struct hist *h, struct answers *out)
{
	struct search s = {.h = h, .out = out};
	struct store empty = {.len = {0}};

	for (int key = 0; h->lists && key < KEYS; key++)
		s.agreed[key] = brute_agreed(h, key);
	if (!h->lists)
		sources(&s, 0, (struct chosen){false, false, false});
	else
		brute_list_orders(&s, 0);
	for (int order = 0; order < 3; order++) {
		struct si si = {.h = h, .order = order};

		out->si[order] |= interleave(&si, &empty);
		out->pl3[order] |= serial(h, order, 0, &empty);
	}
}

void brute(struct hist *h, struct answers *out)
{
	unsigned maybe = find_counting(h), part = 0;
	bool counts[TXNS];

	memset(out, 0, sizeof(*out));
	memcpy(counts, h->counts, sizeof(counts));
	do {
		for (int t = 0; t < h->n; t++)
			h->counts[t] = counts[t] || (part >> t & 1);
		if (somebody_counts(h))
			judge_choice(h, out);
		part = (part - maybe) & maybe; /* the next subset */
	} while (part);
	if (h->lists && brute_repeats(h)) {
		bool sg[SG_COUNT];

		memcpy(sg, out->sg, sizeof(sg));
		memset(out, 0, sizeof(*out));
		memcpy(out->sg, sg, sizeof(sg));
	}
}

bool brute_part(const struct hist *h, unsigned part, bool places, struct hist *out)
{
	bool exact = true;

	*out = *h;
	find_counting(out);
	memcpy(out->sure, out->counts, sizeof(out->sure));
	for (int t = 0; places && t < h->n; t++) {
		if (part >> t & 1)
			continue;
		out->t[t].session = 100 + t;
		for (int k = 0; k < h->t[t].count; k++) {
			if (h->t[t].ops[k].kind == R)
				out->t[t].ops[k].kind = EVIDENCE;
		}
	}
	if (places)
		return true;
	for (int t = 0; t < h->n; t++) {
		for (int k = 0; k < h->t[t].count; k++) {
			struct op *o = &out->t[t].ops[k];
			int kept = 0;

			/* Keys of which a transaction that was left out may have written what did not match. */
			for (int key = 0; o->kind == P && (part >> t & 1) && key < KEYS; key++) {
				bool own = false;

				for (int q = 0; q < k; q++)
					own |= h->t[t].ops[q].kind == W &&
					       h->t[t].ops[q].key == key;
				for (int u = 0; u < h->n; u++) {
					if (!own && !(part >> u & 1) && h->t[u].outcome != 1 &&
						writes_key(h, u, key) &&
						!matches(final_value(h, u, key), o->value))
						o->list[key] = -1;
				}
			}
			if (!(part >> t & 1))
				o->kind = h->lists && o->kind == R ? EVIDENCE : GONE;
			for (int e = 0; (o->kind == R || o->kind == EVIDENCE) &&
					e < (h->lists ? o->len : 1);
				e++) {
				int value = h->lists ? o->list[e] : o->value;
				bool outside = false, within = false;

				for (int u = 0; u < h->n; u++)
					within |= (part >> u & 1) && h->t[u].outcome != 1 &&
						  brute_wrote(h, u, o->key, value);
				for (int u = 0; u < h->n; u++)
					outside |= !(part >> u & 1) && h->t[u].outcome != 1 &&
						   brute_wrote(h, u, o->key, value) &&
						   (h->lists || final_value(h, u, o->key) == value);
				exact &= !(h->lists && outside &&
					   (within || writes_key(h, t, o->key)));
				if (outside && !h->lists)
					o->kind = GONE;
				else if (!outside && h->lists)
					o->list[kept++] = value;
			}
			if (h->lists)
				o->len = kept;
		}
	}
	return exact;
}
