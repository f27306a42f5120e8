/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a question to the solver is about: the transactions that are live, their reads with all that
 * may have written what was read, and the writers of each register. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "values/model_internal.h"

enum { PREDICATE_WORK_MAX = 1 << 28 };

struct item_writes model_item_writes(const struct model *m, uint32_t item)
{
	const struct values *v = m->v;
	struct item_writes w = {m, item, v->dup_count, true};

	if (v->items[item].write_count > 1)
		w.dup = values_first_dup(v, item);
	return w;
}

uint32_t model_next_write(struct item_writes *w)
{
	const struct values *v = w->m->v;

	for (;;) {
		uint32_t op;

		if (w->first) {
			w->first = false;
			op = v->items[w->item].first_write;
		} else if (w->dup < v->dup_count && v->dups[w->dup].item == w->item) {
			op = v->dups[w->dup++].op;
		} else {
			return VALUES_NONE;
		}
		if (op == VALUES_NONE)
			return op;
		if (v->txns[v->ops[op].txn].outcome != VALUES_ABORTED)
			return op;
	}
}

/* What lists a transaction read that does not count for sure was not looked at. */
static bool reads_lists(const struct values *v, uint32_t t)
{
	for (uint32_t i = 0; i < v->txns[t].op_count; i++) {
		if (v->ops[v->txns[t].first_op + i].kind == VALUES_READ_LIST)
			return true;
	}
	return false;
}

/* A predicate read that did not return a key may have seen what an unknown transaction wrote there,
 * or that it deleted it. */
static void find_missed_writers(struct model *m, uint32_t *queue, uint32_t *tail)
{
	const struct values *v = m->v;

	for (uint32_t p = 0; p < v->predicate_count; p++) {
		for (uint32_t i = 0; i < v->op_count; i++) {
			uint32_t t = v->ops[i].txn;

			if (!values_is_write(&v->ops[i]) || m->live[t] ||
				v->txns[t].outcome != VALUES_UNKNOWN ||
				!(m->f->notes[i] & OP_FINAL) ||
				values_matches(v, &v->predicates[p], v->ops[i].value))
				continue;
			m->live[t] = 2;
			queue[(*tail)++] = t;
		}
	}
}

/* Unknown transactions that a live one may have read from are live perhaps, and so on. */
static void find_live(struct model *m)
{
	const struct values *v = m->v;
	uint32_t *queue = mem_realloc(NULL, v->txn_count, sizeof(*queue)), tail = 0;
	bool unknown = false;

	m->live = mem_zero(v->txn_count, 1);
	for (uint32_t t = 0; t < v->txn_count; t++) {
		m->live[t] = m->f->counts[t];
		unknown |= !m->live[t] && v->txns[t].outcome == VALUES_UNKNOWN;
		if (m->live[t])
			queue[tail++] = t;
	}
	if (unknown && (uint64_t)v->predicate_count * v->op_count > PREDICATE_WORK_MAX)
		m->incomplete = true;
	else if (unknown && is_internal(m->level))
		find_missed_writers(m, queue, &tail);
	for (uint32_t at = 0; unknown && at < tail; at++) {
		const struct values_txn *txn = &v->txns[queue[at]];

		for (uint32_t i = txn->first_op; i < txn->first_op + txn->op_count; i++) {
			const struct values_op *op = &v->ops[i];
			uint32_t first = op->value, count = 1, write;
			const uint32_t *items = &first;

			if (op->kind == VALUES_READ_LIST && !(op->flags & VALUES_OP_OWN_LIST)) {
				items = v->order + v->keys[op->key].first_order;
				count = op->value;
			} else if (op->kind != VALUES_READ) {
				continue;
			}
			for (uint32_t e = 0; e < count; e++) {
				struct item_writes w = model_item_writes(m, items[e]);

				while ((write = model_next_write(&w)) != VALUES_NONE) {
					uint32_t t = v->ops[write].txn;

					if (m->live[t])
						continue;
					m->live[t] = 2;
					queue[tail++] = t;
					m->incomplete |= reads_lists(v, t);
				}
			}
		}
	}
	mem_free(queue);
}

static void number_live(struct model *m)
{
	const struct values *v = m->v;

	m->turn = mem_zero(v->txn_count, sizeof(uint32_t));
	for (uint32_t s = 0; s < v->session_count; s++) {
		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++)
			m->turn[v->session_txns[v->sessions[s].first_txn + i]] = i;
	}
	m->dense = mem_realloc(NULL, v->txn_count, sizeof(uint32_t));
	m->of_node = mem_realloc(NULL, v->txn_count, sizeof(uint32_t));
	m->live_count = 0;
	for (uint32_t t = 0; t < v->txn_count; t++) {
		m->dense[t] = VALUES_NONE;
		if (!inside(m, t))
			continue;
		m->of_node[m->live_count] = t;
		m->dense[t] = m->live_count++;
	}
}

/* Does the transaction write the item before (or after) an operation of its own? */
static bool writes_item(const struct model *m, uint32_t from, uint32_t to, uint32_t item)
{
	for (uint32_t i = from; i < to; i++) {
		if (values_is_write(&m->v->ops[i]) && m->v->ops[i].value == item)
			return true;
	}
	return false;
}

static bool is_external(const struct model *m, uint32_t i)
{
	const struct values_op *op = &m->v->ops[i];

	if (m->f->counts[op->txn])
		return (m->f->notes[i] & OP_EXTERNAL) != 0;
	if (m->f->any_initial && m->f->state[op->value] == WRITER_NOBODY)
		return false;
	return !writes_item(m, m->v->txns[op->txn].first_op, i, op->value);
}

static void add_candidate(struct model *m, uint32_t txn)
{
	MEM_RESERVE(m->candidates, m->candidate_count + 1, m->candidate_capacity);
	m->candidates[m->candidate_count++] = (struct candidate){txn, TRUE_LITERAL};
}

/* The transactions that may have written what op i read.  Own later writes and intermediate ones are no candidates:
 * every level from PL-2 on forbids them.  False: a transaction outside the part is concerned. */
static bool find_candidates(struct model *m, uint32_t i, struct read *r)
{
	const struct values_op *op = &m->v->ops[i];
	struct item_writes w = model_item_writes(m, op->value);
	uint32_t write;

	*r = (struct read){op->txn, i, op->key, (uint32_t)m->candidate_count, 0};
	if (m->v->items[op->value].initial)
		add_candidate(m, INITIAL_STATE);
	while ((write = model_next_write(&w)) != VALUES_NONE) {
		uint32_t t = m->v->ops[write].txn;

		if (t == op->txn || !m->live[t] || !(m->f->notes[write] & OP_FINAL))
			continue;
		if (!inside(m, t)) {
			m->candidate_count = r->first;
			return false;
		}
		add_candidate(m, t);
	}
	r->count = (uint32_t)m->candidate_count - r->first;
	return true;
}

/* What the transaction itself wrote to the key before op i; NONE: nothing. */
static uint32_t own_write_before(const struct model *m, uint32_t i, uint32_t key)
{
	for (uint32_t o = i; o-- > m->v->txns[m->v->ops[i].txn].first_op;) {
		if (values_is_write(&m->v->ops[o]) && m->v->ops[o].key == key)
			return o;
	}
	return VALUES_NONE;
}

/* A predicate read that did not return the key saw a version that does not match: one more read,
 * of any of these.  False: nothing is to be said. */
static bool unmatched_read(struct model *m, uint32_t i, uint32_t key, struct read *r)
{
	const struct values *v = m->v;
	const struct values_predicate *p = &v->predicates[v->ops[i].value];
	uint32_t own = own_write_before(m, i, key), initial = v->keys[key].initial_item;

	*r = (struct read){v->ops[i].txn, i, key, (uint32_t)m->candidate_count, 0};
	for (uint32_t k = 0; k < p->match_count; k++) {
		if (v->items[v->matches[p->first_match + k]].key == key)
			return false;
	}
	if (own != VALUES_NONE) /* if it matches, nothing explains the read */
		return values_matches(v, p, v->ops[own].value);
	if (initial == VALUES_NONE || !values_matches(v, p, initial))
		add_candidate(m, INITIAL_STATE);
	for (uint32_t w = m->all_head[key]; w < m->all_head[key + 1]; w++) {
		const struct values_op *op = &v->ops[m->all_writes[w]];

		if (op->txn == r->txn || values_matches(v, p, op->value))
			continue;
		if (!inside(m, op->txn)) {
			m->candidate_count = r->first;
			return false;
		}
		add_candidate(m, op->txn);
	}
	r->count = (uint32_t)m->candidate_count - r->first;
	m->incomplete |= m->candidate_count > model_places_max(m);
	return true;
}

/* Every final write of a register by a live transaction, by key, whatever part is looked at. */
static void index_writes(struct model *m)
{
	const struct values *v = m->v;
	uint32_t *fill = NULL;

	m->all_head = mem_zero((size_t)v->key_count + 1, sizeof(uint32_t));
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < v->op_count; i++) {
			const struct values_op *op = &v->ops[i];

			if (!values_is_write(op) || !(m->f->notes[i] & OP_FINAL) ||
				!m->live[op->txn])
				continue;
			if (pass == 0)
				m->all_head[op->key + 1]++;
			else
				m->all_writes[fill[op->key]++] = i;
		}
		if (pass)
			break;
		for (uint32_t k = 0; k < v->key_count; k++)
			m->all_head[k + 1] += m->all_head[k];
		m->all_writes = mem_realloc(NULL, m->all_head[v->key_count], sizeof(uint32_t));
		fill = mem_dup(m->all_head, v->key_count * sizeof(*fill));
	}
	mem_free(fill);
}

static void add_read(struct model *m, const struct read *read)
{
	MEM_RESERVE(m->reads, m->read_count + 1, m->read_capacity);
	m->reads[m->read_count++] = *read;
}

static void find_reads(struct model *m)
{
	const struct values *v = m->v;

	bool predicates = v->predicate_count && is_internal(m->level);

	if (predicates)
		index_writes(m);
	m->reads_of = mem_zero((size_t)v->txn_count + 1, sizeof(uint32_t));
	for (uint32_t t = 0; t < v->txn_count; t++) {
		m->reads_of[t] = (uint32_t)m->read_count;
		for (uint32_t i = v->txns[t].first_op;
			inside(m, t) && i < v->txns[t].first_op + v->txns[t].op_count; i++) {
			struct read r;

			for (uint32_t k = 0; predicates && v->ops[i].kind == VALUES_PREDICATE &&
					     !m->incomplete && k < v->key_count;
				k++) {
				if (unmatched_read(m, i, k, &r))
					add_read(m, &r);
			}
			if (v->ops[i].kind != VALUES_READ || is_list(v, v->ops[i].key) ||
				!is_external(m, i) || !find_candidates(m, i, &r) ||
				(r.count == 0 && is_guarantee(m->level)))
				continue;
			add_read(m, &r);
		}
	}
	m->reads_of[v->txn_count] = (uint32_t)m->read_count;
}

static bool is_register_write(const struct model *m, uint32_t i)
{
	const struct values_op *op = &m->v->ops[i];

	return values_is_write(op) && op->kind != VALUES_APPEND && (m->f->notes[i] & OP_FINAL) &&
	       !is_list(m->v, op->key) && inside(m, op->txn);
}

static void find_register_writers(struct model *m)
{
	const struct values *v = m->v;
	uint32_t *fill;

	m->writer_head = mem_zero((size_t)v->key_count + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < v->op_count; i++) {
		if (is_register_write(m, i))
			m->writer_head[v->ops[i].key + 1]++;
	}
	for (uint32_t k = 0; k < v->key_count; k++)
		m->writer_head[k + 1] += m->writer_head[k];
	m->writers = mem_realloc(NULL, m->writer_head[v->key_count], sizeof(uint32_t));
	m->writer_op = mem_realloc(NULL, m->writer_head[v->key_count], sizeof(uint32_t));
	fill = mem_dup(m->writer_head, v->key_count * sizeof(*fill));
	for (uint32_t i = 0; i < v->op_count; i++) {
		if (!is_register_write(m, i))
			continue;
		m->writers[fill[v->ops[i].key]] = v->ops[i].txn;
		m->writer_op[fill[v->ops[i].key]++] = i;
	}
	mem_free(fill);
}

void model_open(struct model *m)
{
	find_live(m);
	number_live(m);
	find_reads(m);
	find_register_writers(m);
}
