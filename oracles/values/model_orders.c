/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of two writers of a register is first: a variable of the solver, unless the order is known
 * or does not matter. */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
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

uint32_t model_before(const struct model *m, uint32_t key, uint32_t a, uint32_t b)
{
	uint32_t x = a < b ? a : b, y = a < b ? b : a, literal = m->pairs[pair_index(m, key, x, y)];

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

uint64_t model_classify_pairs(struct model *m)
{
	const struct values *v = m->v;
	uint32_t *open = mem_zero(m->writer_head[v->key_count], sizeof(*open));
	uint64_t total = 0, size = 0;

	m->pair_base = mem_zero((size_t)v->key_count + 1, sizeof(*m->pair_base));
	for (uint32_t k = 0; k < v->key_count; k++) {
		uint64_t count = m->writer_head[k + 1] - m->writer_head[k];

		m->pair_base[k] = total;
		total += count * (count - (count > 0)) / 2;
	}
	if (total > PAIRS_MAX) {
		free(open);
		return UINT64_MAX;
	}
	find_readers(m);
	m->pairs = mem_realloc(NULL, total, sizeof(*m->pairs));
	for (uint32_t k = 0; k < v->key_count; k++) {
		uint32_t first = m->writer_head[k], count = m->writer_head[k + 1] - first;

		for (uint32_t y = 1; y < count; y++) {
			for (uint32_t x = 0; x < y; x++) {
				uint32_t *pair = &m->pairs[pair_index(m, k, x, y)];

				*pair = classify(m, k, x, y);
				open[first + x] += *pair == PAIR_OPEN;
				open[first + y] += *pair == PAIR_OPEN;
				size += 2 * (*pair == PAIR_OPEN);
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
	free(open);
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
	for (uint32_t k = 0; k < m->v->key_count; k++) {
		const uint32_t *writers = m->writers + m->writer_head[k];
		uint32_t count = m->writer_head[k + 1] - m->writer_head[k];

		for (uint32_t y = 1; y < count; y++) {
			for (uint32_t x = 0; x < y; x++) {
				uint32_t *pair = &m->pairs[pair_index(m, k, x, y)], var;

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
