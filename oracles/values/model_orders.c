/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of two writers of a register is first: a variable of the solver, unless the order is known
 * or does not matter. */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/mem.h"
#include "base/search.h"
#include "values/model_internal.h"

/* The table of pairs has four bytes for each. */
enum { PAIRS_MAX = 1 << 26 };

/* While the table is made: a variable is to come. */
#define PAIR_OPEN (SOLVER_NONE - 1)
/* The order of these two matters to no read. */
#define PAIR_FREE SOLVER_NONE

static size_t pair_index(const struct model *m, uint32_t key, uint32_t x, uint32_t y)
{
	return m->pair_base[key] + (size_t)y * (y - 1) / 2 + x;
}

/* The entry of one writer for another, by their places in writers; NULL: their order is not open. */
static struct open_pair *find_open(const struct model *m, uint32_t a, uint32_t b)
{
	uint32_t end = m->open_head[a + 1];
	uint32_t at = FIRST_WHERE(
		i, m->open_head[a], end, m->open[i].other >= m->rank[b]);

	return at < end && m->open[at].other == m->rank[b] ? &m->open[at] : NULL;
}

static uint32_t before_by_chain(const struct model *m, uint32_t a, uint32_t b)
{
	const struct open_pair *open = find_open(m, a, b);
	bool known = model_known(m, m->writers[a], m->writers[b], EDGE_WW);

	if (open)
		return open->literal;
	CHECK(known || model_known(m, m->writers[b], m->writers[a], EDGE_WW));
	return known ? TRUE_LITERAL : TRUE_LITERAL ^ 1;
}

uint32_t model_before(const struct model *m, uint32_t key, uint32_t a, uint32_t b)
{
	uint32_t x = a < b ? a : b, y = a < b ? b : a, literal;

	if (m->by_chain)
		return before_by_chain(m, m->writer_head[key] + a, m->writer_head[key] + b);
	literal = m->pairs[pair_index(m, key, x, y)];
	CHECK(literal != PAIR_FREE);
	return literal ^ (a > b);
}

uint32_t model_writer_place(const struct model *m, uint32_t key, uint32_t txn)
{
	uint32_t first = m->writer_head[key], end = m->writer_head[key + 1];
	/* They stand by operation, and so by transaction. */
	uint32_t at = FIRST_WHERE(i, first, end, m->writers[i] >= txn);

	return at < end && m->writers[at] == txn ? at - first : VALUES_NONE;
}

/* The writers whose version some read may have seen, and for each of them a transaction that has
 * seen it for certain: NONE, or if there are several, SEVERAL. */
#define SEVERAL (VALUES_NONE - 1)

static void find_readers(struct model *m)
{
	uint32_t total = m->writer_head[m->v->key_count];

	m->is_read = mem_zero(total, 1);
	m->reads_itself = mem_zero(total, 1);
	m->reader = mem_realloc(NULL, total, sizeof(uint32_t));
	memset(m->reader, 0xff, total * sizeof(uint32_t));
	for (size_t i = 0; i < m->read_count; i++) {
		const struct read *r = &m->reads[i];
		uint32_t own = model_writer_place(m, r->key, r->txn);

		if (own != VALUES_NONE)
			m->reads_itself[m->writer_head[r->key] + own] = 1;
		for (uint32_t c = 0; c < r->count; c++) {
			uint32_t from = m->candidates[r->first + c].txn, at;

			if (from == INITIAL_STATE)
				continue;
			at = model_writer_place(m, r->key, from);
			if (at == VALUES_NONE)
				continue;
			at += m->writer_head[r->key];
			m->is_read[at] = 1;
			if (r->count == 1 && m->live[from] == 1 && m->live[r->txn] == 1 &&
				m->reader[at] != r->txn)
				m->reader[at] =
					m->reader[at] == VALUES_NONE ? r->txn : SEVERAL;
		}
	}
}

/* Serializability asks for one order of all transactions, so that versions that no transaction read
 * have one by themselves.  Times give an order that counts. */
static bool only_reads_matter(const struct model *m)
{
	return (m->level == MODEL_PL_3 || m->level == MODEL_PL_2_99) && !m->v->stamps;
}

/* Cursor stability forbids cycles of dependencies, which an order of all transactions has none of,
 * and versions between what a transaction read and what it read or wrote of the same key. */
static bool is_free(const struct model *m, uint32_t writer)
{
	return !m->v->stamps && !m->is_read[writer] &&
	       (m->level == MODEL_PL_3 || m->level == MODEL_PL_2_99 ||
		       (m->level == MODEL_PL_CS && !m->reads_itself[writer]));
}

static uint32_t classify(const struct model *m, uint32_t key, uint32_t x, uint32_t y)
{
	uint32_t first = m->writer_head[key];
	uint32_t a = m->writers[first + x], b = m->writers[first + y];

	if (m->hints && model_known(m, a, b, EDGE_WW))
		return TRUE_LITERAL;
	if (m->hints && model_known(m, b, a, EDGE_WW))
		return TRUE_LITERAL ^ 1;
	if (is_free(m, first + x) && is_free(m, first + y))
		return PAIR_FREE;
	return PAIR_OPEN;
}

static void pair_edge(struct model *m, uint32_t key, uint32_t x, uint32_t y, uint32_t literal);

/* ---- with hints by chains: in each chain the writers before, those whose order is open, those after */

uint32_t model_first_after(const struct model *m, uint32_t g, uint32_t txn)
{
	return FIRST_WHERE(i, m->groups[g], m->groups[g + 1],
		m->by_chain[i] != txn && model_known(m, txn, m->by_chain[i], EDGE_WW));
}

static void find_open_pairs(struct model *m, uint32_t key, uint32_t a)
{
	uint32_t txn = m->writers[a];

	for (uint32_t g = m->group_head[key]; g < m->group_head[key + 1]; g++) {
		uint32_t first = FIRST_WHERE(i, m->groups[g], m->groups[g + 1],
			!model_known(m, m->by_chain[i], txn, EDGE_WW));
		uint32_t end = model_first_after(m, g, txn);

		for (uint32_t i = first; i < end; i++) {
			uint32_t place = model_writer_place(m, key, m->by_chain[i]);

			if (m->by_chain[i] == txn ||
				(is_free(m, a) && is_free(m, m->writer_head[key] + place)))
				continue;
			MEM_RESERVE(m->open, m->open_count + 1, m->open_capacity);
			m->open[m->open_count++] = (struct open_pair){i, PAIR_OPEN};
		}
	}
}

/* All writers must count: of others the order says nothing. */
static bool may_use_chains(const struct model *m)
{
	bool may = m->hints && m->hints->reach->chain && !m->v->stamps;

	for (uint32_t w = 0; may && w < m->writer_head[m->v->key_count]; w++)
		may = m->f->counts[m->writers[w]];
	return may;
}

static uint64_t classify_by_chain(struct model *m)
{
	uint32_t keys = m->v->key_count, total = m->writer_head[keys];

	m->by_chain = mem_dup(m->writers, total * sizeof(uint32_t));
	reach_group(m->hints->reach, m->writer_head, keys, m->by_chain, &m->group_head, &m->groups);
	m->rank = mem_realloc(NULL, total, sizeof(uint32_t));
	m->open_head = mem_zero((size_t)total + 1, sizeof(uint32_t));
	for (uint32_t k = 0; k < keys; k++) {
		for (uint32_t i = m->writer_head[k]; i < m->writer_head[k + 1]; i++)
			m->rank[m->writer_head[k] + model_writer_place(m, k, m->by_chain[i])] = i;
	}
	for (uint32_t k = 0; k < keys; k++) {
		for (uint32_t a = m->writer_head[k]; a < m->writer_head[k + 1]; a++) {
			m->open_head[a] = (uint32_t)m->open_count;
			find_open_pairs(m, k, a);
			if (m->open_count > 2 * model_places_max(m))
				return UINT64_MAX;
		}
	}
	m->open_head[total] = (uint32_t)m->open_count;
	return m->open_count;
}

/* Entries of a writer. */
static uint32_t open_of(const struct model *m, uint32_t writer)
{
	return m->open_head[writer + 1] - m->open_head[writer];
}

/* Does the writer read something after it wrote?  Else it does not matter where an edge to it
 * arrives. */
static bool reads_later(const struct model *m, uint32_t writer)
{
	const struct values_txn *txn = &m->v->txns[m->writers[writer]];

	for (uint32_t i = m->writer_op[writer] + 1; i < txn->first_op + txn->op_count; i++) {
		if (m->f->notes[i] & OP_EXTERNAL)
			return true;
	}
	return false;
}

/* Where places matter: orders that are known are edges too, to the first later writer of each
 * chain, which has the others of its chain after it. */
static void known_orders(struct model *m)
{
	for (uint32_t k = 0; k < m->v->key_count; k++) {
		for (uint32_t a = m->writer_head[k]; a < m->writer_head[k + 1]; a++) {
			for (uint32_t g = m->group_head[k]; g < m->group_head[k + 1]; g++) {
				uint32_t first = model_first_after(m, g, m->writers[a]), place;

				if (first == m->groups[g + 1])
					continue;
				place = model_writer_place(m, k, m->by_chain[first]);
				if (reads_later(m, m->writer_head[k] + place))
					pair_edge(m, k, a - m->writer_head[k], place, TRUE_LITERAL);
			}
		}
	}
}

static void order_by_chain(struct model *m)
{
	if (places_matter(m))
		known_orders(m);
	for (uint32_t k = 0; k < m->v->key_count; k++) {
		for (uint32_t a = m->writer_head[k]; a < m->writer_head[k + 1]; a++) {
			for (uint32_t i = m->open_head[a]; i < m->open_head[a + 1]; i++) {
				uint32_t place = model_writer_place(m, k, m->by_chain[m->open[i].other]);
				uint32_t b = m->writer_head[k] + place, var;

				if (m->open[i].literal != PAIR_OPEN)
					continue;
				var = solver_order_variable(m->solver,
					model_commit_node(m, m->writers[a]),
					model_commit_node(m, m->writers[b]));
				m->open[i].literal = 2 * var;
				find_open(m, b, a)->literal = 2 * var + 1;
				pair_edge(m, k, a - m->writer_head[k], place, 2 * var);
				pair_edge(m, k, place, a - m->writer_head[k], 2 * var + 1);
			}
		}
	}
}

static uint64_t size_by_chain(struct model *m)
{
	uint64_t size = classify_by_chain(m);

	for (uint32_t k = 0; places_matter(m) && size != UINT64_MAX && k < m->v->key_count; k++)
		size += (uint64_t)(m->writer_head[k + 1] - m->writer_head[k]) *
			(m->group_head[k + 1] - m->group_head[k]);

	for (size_t i = 0; i < m->read_count && size != UINT64_MAX; i++) {
		const struct read *r = &m->reads[i];

		for (uint32_t c = 0; c < r->count; c++) {
			uint32_t from = m->candidates[r->first + c].txn;
			uint32_t at = from == INITIAL_STATE ? VALUES_NONE
							    : model_writer_place(m, r->key, from);

			size += m->group_head[r->key + 1] - m->group_head[r->key];
			size += at == VALUES_NONE ? 0 : open_of(m, m->writer_head[r->key] + at);
		}
	}
	return size;
}

uint64_t model_classify_pairs(struct model *m)
{
	const struct values *v = m->v;
	uint32_t *open;
	uint64_t total = 0, size = 0;

	find_readers(m);
	if (may_use_chains(m))
		return size_by_chain(m);
	open = mem_zero(m->writer_head[v->key_count], sizeof(*open));
	m->pair_base = mem_zero((size_t)v->key_count + 1, sizeof(*m->pair_base));
	for (uint32_t k = 0; k < v->key_count; k++) {
		uint64_t count = m->writer_head[k + 1] - m->writer_head[k];

		m->pair_base[k] = total;
		total += count * (count - (count > 0)) / 2;
	}
	if (total > PAIRS_MAX * m->f->scale) {
		mem_free(open);
		return UINT64_MAX;
	}
	m->pairs = mem_realloc(NULL, total, sizeof(*m->pairs));
	for (uint32_t k = 0; k < v->key_count; k++) {
		uint32_t first = m->writer_head[k], count = m->writer_head[k + 1] - first;

		for (uint32_t y = 1; y < count; y++) {
			for (uint32_t x = 0; x < y; x++) {
				uint32_t *pair = &m->pairs[pair_index(m, k, x, y)];

				*pair = classify(m, k, x, y);
				open[first + x] += *pair == PAIR_OPEN;
				open[first + y] += *pair == PAIR_OPEN;
				size += *pair == PAIR_OPEN ? 2 : places_matter(m);
			}
		}
	}
	for (size_t i = 0; i < m->read_count; i++) {
		const struct read *r = &m->reads[i];

		for (uint32_t c = 0; c < r->count; c++) {
			uint32_t from = m->candidates[r->first + c].txn;
			uint32_t at = from == INITIAL_STATE ? VALUES_NONE
							    : model_writer_place(m, r->key, from);

			size += at == VALUES_NONE || r->count > 1
					? m->writer_head[r->key + 1] - m->writer_head[r->key]
					: open[m->writer_head[r->key] + at];
		}
	}
	mem_free(open);
	return size;
}

/* The edge from x's writer to y's, both ends of a pair whose variable is new.  Where a transaction
 * has certainly read x's version, its own edge to y's writer leads there too, and for all cycles
 * alike that is enough. */
static void pair_edge(struct model *m, uint32_t key, uint32_t x, uint32_t y, uint32_t literal)
{
	uint32_t first = m->writer_head[key], reader = m->reader[first + x];
	uint32_t to = m->writers[first + y];

	if (only_reads_matter(m) && reader != VALUES_NONE && reader != to)
		return;
	model_edge(m, m->writers[first + x], to, EDGE_WW, m->writer_op[first + y], literal,
		TRUE_LITERAL);
}

/* With times the order is known: by commit. */
static void order_by_stamps(struct model *m, uint32_t a, uint32_t b, uint32_t var)
{
	const struct values_stamp *x = &m->v->stamps[a], *y = &m->v->stamps[b];
	bool later = x->commit != y->commit ? x->commit > y->commit
					    : x->commit_logical > y->commit_logical;

	if (x->commit != y->commit || x->commit_logical != y->commit_logical)
		solver_clause(m->solver, &(uint32_t){2 * var + later}, 1, a);
}

void model_order_registers(struct model *m)
{
	if (m->by_chain) {
		order_by_chain(m);
		return;
	}
	for (uint32_t k = 0; k < m->v->key_count; k++) {
		const uint32_t *writers = m->writers + m->writer_head[k];
		uint32_t count = m->writer_head[k + 1] - m->writer_head[k];

		for (uint32_t y = 1; y < count; y++) {
			for (uint32_t x = 0; x < y; x++) {
				uint32_t *pair = &m->pairs[pair_index(m, k, x, y)], var;

				if (places_matter(m) && *pair != PAIR_OPEN)
					pair_edge(m, k, *pair == TRUE_LITERAL ? x : y,
						*pair == TRUE_LITERAL ? y : x, TRUE_LITERAL);
				if (*pair != PAIR_OPEN)
					continue;
				var = solver_order_variable(m->solver, model_commit_node(m, writers[x]),
					model_commit_node(m, writers[y]));
				*pair = 2 * var;
				pair_edge(m, k, x, y, 2 * var);
				pair_edge(m, k, y, x, 2 * var + 1);
				if (m->v->stamps)
					order_by_stamps(m, writers[x], writers[y], var);
			}
		}
	}
}
