/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Biswas and Enea's axioms as a question to the solver, where the writer of what was read is open.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "values/model_internal.h"

static bool writes_key(const struct model *m, uint32_t t, uint32_t key)
{
	return model_writer_place(m, key, t) != VALUES_NONE;
}

/* t2 stands in the level's relation to the reader: so it comes before the one read from. */
static void axiom(struct model *m, const struct read *r, uint32_t t2, uint32_t literal)
{
	for (uint32_t i = 0; i < r->count; i++) {
		const struct candidate *c = &m->candidates[r->first + i];

		if (c->txn == t2)
			continue;
		if (c->txn == INITIAL_STATE)
			model_forbid(m,
				(uint32_t[]){
					c->literal, literal, m->counted[t2], m->counted[r->txn]},
				4, r->txn);
		else
			model_edge(m, t2, c->txn, EDGE_WW, r->op, c->literal, literal);
	}
}

void model_weak_read(struct model *m, const struct read *r)
{
	const struct values *v = m->v;

	for (size_t k = m->reads_of[r->txn]; k < m->reads_of[r->txn + 1]; k++) {
		const struct read *other = &m->reads[k];

		if (other == r || (m->level == MODEL_RC && other->op > r->op))
			continue;
		for (uint32_t i = 0; i < other->count; i++) {
			const struct candidate *c = &m->candidates[other->first + i];

			if (c->txn != INITIAL_STATE && writes_key(m, c->txn, r->key))
				axiom(m, r, c->txn, c->literal);
		}
	}
	if (m->level == MODEL_RC)
		return;
	for (uint32_t w = m->writer_head[r->key]; w < m->writer_head[r->key + 1]; w++) {
		uint32_t t2 = m->writers[w];

		if (t2 != r->txn && v->txns[t2].session == v->txns[r->txn].session &&
			m->turn[t2] < m->turn[r->txn])
			axiom(m, r, t2, TRUE_LITERAL);
	}
}

/* Causal: what happens before depends on the choices, so it is added answer by answer. */
struct causal {
	struct model *m;
	uint32_t *parent;         /* by transaction: the one it came from; itself for the root */
	uint32_t *parent_literal; /* that edge's */
	uint32_t *queue;
};

/* Everything before `root` by sessions and the reads chosen, backwards. */
static uint32_t happened_before(struct causal *c, uint32_t root)
{
	struct model *m = c->m;
	const struct values *v = m->v;
	uint32_t tail = 0;

	memset(c->parent, 0xff, v->txn_count * sizeof(*c->parent));
	c->parent[root] = root;
	c->queue[tail++] = root;
	for (uint32_t at = 0; at < tail; at++) {
		uint32_t t = c->queue[at];

		for (uint32_t r = m->reads_of[t]; r < m->reads_of[t + 1]; r++) {
			for (uint32_t i = 0; i < m->reads[r].count; i++) {
				const struct candidate *x = &m->candidates[m->reads[r].first + i];

				if (x->txn == INITIAL_STATE || c->parent[x->txn] != VALUES_NONE ||
					!solver_true(m->solver, x->literal))
					continue;
				c->parent[x->txn] = t;
				c->parent_literal[x->txn] = x->literal;
				c->queue[tail++] = x->txn;
			}
		}
		for (uint32_t u = 0; u < v->sessions[v->txns[t].session].txn_count; u++) {
			uint32_t x = v->session_txns[v->sessions[v->txns[t].session].first_txn + u];

			if (x == t)
				break;
			if (!inside(m, x) || c->parent[x] != VALUES_NONE ||
				!solver_true(m->solver, m->counted[x]))
				continue;
			c->parent[x] = t;
			c->parent_literal[x] = TRUE_LITERAL;
			c->queue[tail++] = x;
		}
	}
	return tail;
}

struct causal_edge {
	uint32_t t2, read;
	uint32_t first, count; /* literals of the path */
};

/* Tells the solver what the present choices force: t2, which happened before the reader, before the
 * writer it read from. */
static void causal_round(struct causal *c)
{
	struct model *m = c->m;
	struct causal_edge *found = NULL;
	size_t count = 0, capacity = 0;
	uint32_t *literals = NULL;
	size_t literal_count = 0, literal_capacity = 0;

	for (uint32_t t = 0; t < m->v->txn_count; t++) {
		if (!inside(m, t) || !solver_true(m->solver, m->counted[t]) ||
			m->reads_of[t] == m->reads_of[t + 1])
			continue;
		happened_before(c, t);
		for (uint32_t r = m->reads_of[t]; r < m->reads_of[t + 1]; r++) {
			uint32_t key = m->reads[r].key;

			for (uint32_t w = m->writer_head[key]; w < m->writer_head[key + 1]; w++) {
				uint32_t t2 = m->writers[w];
				struct causal_edge e = {t2, r, (uint32_t)literal_count, 0};

				if (t2 == t || c->parent[t2] == VALUES_NONE || c->parent[t2] == t)
					continue; /* one step: the relation of be-RA */
				for (uint32_t x = t2; x != t; x = c->parent[x]) {
					if (c->parent_literal[x] == TRUE_LITERAL)
						continue;
					MEM_RESERVE(literals, literal_count + 1, literal_capacity);
					literals[literal_count++] = c->parent_literal[x];
					e.count++;
				}
				MEM_RESERVE(found, count + 1, capacity);
				found[count++] = e;
			}
		}
	}
	for (size_t i = 0; i < count; i++) {
		const struct causal_edge *e = &found[i];
		uint32_t path = TRUE_LITERAL;

		if (e->count) {
			uint32_t *clause = mem_realloc(NULL, (size_t)e->count + 1, sizeof(*clause));

			path = 2 * solver_variable(m->solver, false);
			for (uint32_t k = 0; k < e->count; k++)
				clause[k] = literals[e->first + k] ^ 1;
			clause[e->count] = path;
			solver_clause(m->solver, clause, e->count + 1, e->t2);
			mem_free(clause);
		}
		axiom(m, &m->reads[e->read], e->t2, path);
	}
	mem_free(found);
	mem_free(literals);
}

/* Answers are made of choices; the solver hears what an answer's choices force, until one comes again: then
 * it can be kept.  There are finitely many. */
enum solver_answer model_solve_causal(struct model *m, uint64_t *steps)
{
	struct causal c = {.m = m};
	size_t choices = m->candidate_count, told = 0, capacity = 0;
	uint8_t *answers = NULL; /* `choices` bytes each */
	enum solver_answer answer;
	bool again = false;

	c.parent = mem_realloc(NULL, m->v->txn_count, sizeof(uint32_t));
	c.parent_literal = mem_realloc(NULL, m->v->txn_count, sizeof(uint32_t));
	c.queue = mem_realloc(NULL, m->v->txn_count, sizeof(uint32_t));
	while (!again && (answer = solver_run(m->solver, steps)) == SOLVER_YES) {
		uint8_t *now;

		MEM_RESERVE(answers, (told + 1) * choices, capacity);
		now = answers + told * choices;
		for (size_t i = 0; i < choices; i++)
			now[i] = solver_true(m->solver, m->candidates[i].literal);
		again = choices == 0 && told;
		for (size_t i = 0; i < told && choices; i++)
			again |= memcmp(answers + i * choices, now, choices) == 0;
		if (again)
			break;
		*steps -= *steps > m->v->op_count ? m->v->op_count : *steps;
		told++;
		causal_round(&c);
	}
	mem_free(c.parent);
	mem_free(c.parent_literal);
	mem_free(c.queue);
	mem_free(answers);
	return answer;
}
