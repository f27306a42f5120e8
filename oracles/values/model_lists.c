/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists as a question to the solver: the transaction that made each place, and in which order what no transaction read was
 * appended. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "values/model_internal.h"

static void add_place_op(struct model *m, uint32_t op, uint32_t literal)
{
	MEM_RESERVE(m->place_ops, m->place_op_count + 1, m->place_op_capacity);
	m->place_ops[m->place_op_count++] = (struct place_op){op, literal};
}

/* Which appends may have made a place of the list.  An element that occurs once and was appended
 * once is certain. */
static void list_place(struct model *m, uint32_t at)
{
	uint32_t item = m->v->order[at], op;
	struct item_writes w = model_item_writes(m, item);
	struct place *p = &m->places[at];
	bool outside = false;

	p->first = (uint32_t)m->place_op_count;
	while ((op = model_next_write(&w)) != VALUES_NONE) {
		uint32_t t = m->v->ops[op].txn;

		if (!m->live[t])
			continue;
		outside |= !inside(m, t);
		add_place_op(m, op, TRUE_LITERAL);
	}
	/* Made by a transaction that is not looked at, perhaps: nothing is said, nor where the others'
	 * appends of the element are. */
	if (outside) {
		m->place_op_count = p->first;
		m->floating[item] = 1;
	}
	p->count = (uint32_t)m->place_op_count - p->first;
	if (p->count == 1 && m->live[m->v->ops[m->place_ops[p->first].op].txn] == 1)
		return;
	for (uint32_t i = 0; i < p->count; i++) {
		struct place_op *o = &m->place_ops[p->first + i];
		uint32_t t = m->v->ops[o->op].txn;

		o->literal = 2 * solver_variable(m->solver, true);
		if (m->counted[t] != TRUE_LITERAL)
			solver_clause(m->solver, (uint32_t[]){o->literal ^ 1, m->counted[t]}, 2, t);
		for (uint32_t k = 0; k < i; k++)
			model_forbid(m,
				(uint32_t[]){o->literal, m->place_ops[p->first + k].literal}, 2, t);
	}
	if (p->count) {
		uint32_t *any = mem_realloc(NULL, p->count, sizeof(*any));

		for (uint32_t i = 0; i < p->count; i++)
			any[i] = m->place_ops[p->first + i].literal;
		solver_clause(m->solver, any, p->count, m->v->ops[m->place_ops[p->first].op].txn);
		mem_free(any);
	}
}

/* An append of a list, where it may be. */
struct spot {
	uint32_t at, place, literal; /* in places; in place_ops */
};

struct list_scratch {
	struct spot *spots; /* by operation, sorted */
	size_t spot_count, spot_capacity;
	struct place_op *tail; /* appends that are, or may be, after the list */
	size_t tail_count, tail_capacity;
	uint32_t *pairs; /* of the tail: literal that the second comes before the first */
	size_t pair_capacity;
};

static int compare_spots(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return x->place != y->place ? (x->place < y->place ? -1 : 1)
				    : (x->at > y->at) - (x->at < y->at);
}

/* One append is at one place at most; not in the order that its transaction made them is against
 * what a transaction sees of itself (PL-SI). */
static void place_clauses(struct model *m, const struct list_scratch *l)
{
	bool internal = is_internal(m->level);

	for (size_t i = 0; i < l->spot_count; i++) {
		const struct spot *a = &l->spots[i];
		uint32_t t = m->v->ops[a->place].txn;

		for (size_t k = i + 1; k < l->spot_count; k++) {
			const struct spot *b = &l->spots[k];
			uint32_t pair[2] = {a->literal, b->literal};

			if (m->v->ops[b->place].txn != t)
				break;
			if (a->literal == TRUE_LITERAL && b->literal == TRUE_LITERAL)
				continue;
			if (a->place == b->place ||
				(internal && a->place < b->place && a->at > b->at))
				model_forbid(m, pair, 2, t);
		}
	}
}

/* The append of the same element that its transaction made before this one, or NONE. */
static uint32_t equal_before(const struct values *v, uint32_t op)
{
	uint32_t first = v->txns[v->ops[op].txn].first_op;

	for (uint32_t i = op; i-- > first;) {
		if (v->ops[i].kind == VALUES_APPEND && v->ops[i].value == v->ops[op].value)
			return i;
	}
	return VALUES_NONE;
}

/* One element that a transaction appended twice: nothing tells the two apart, so they stand in the
 * order in which it made them.  Otherwise half of what it appended could pass for the whole. */
static void equal_clauses(struct model *m, const struct list_scratch *l)
{
	for (size_t i = 0; i < l->spot_count; i++) {
		const struct spot *b = &l->spots[i];
		uint32_t before = equal_before(m->v, b->place), any[64];
		uint32_t count = 0;

		if (before == VALUES_NONE)
			continue;
		any[count++] = b->literal ^ 1;
		for (size_t k = i; k-- > 0 && l->spots[k].place >= before;) {
			if (l->spots[k].place != before || l->spots[k].at >= b->at)
				continue;
			if (count == ARRAY_LEN(any)) {
				m->incomplete = true;
				return;
			}
			any[count++] = l->spots[k].literal;
		}
		solver_clause(m->solver, any, count, m->v->ops[b->place].txn);
	}
}

static void gather_list(struct model *m, uint32_t key, struct list_scratch *l)
{
	const struct values_key *k = &m->v->keys[key];

	l->spot_count = 0;
	for (uint32_t e = 0; e < m->f->list_end[key]; e++) {
		const struct place *p = &m->places[k->first_order + e];

		for (uint32_t i = 0; i < p->count; i++) {
			MEM_RESERVE(l->spots, l->spot_count + 1, l->spot_capacity);
			l->spots[l->spot_count++] = (struct spot){k->first_order + e,
				m->place_ops[p->first + i].op, m->place_ops[p->first + i].literal};
		}
	}
	if (l->spot_count)
		qsort(l->spots, l->spot_count, sizeof(*l->spots), compare_spots);
}

/* The literal that an append is after the list; the constants where that is known. */
static uint32_t tail_literal(struct model *m, const struct list_scratch *l, uint32_t op)
{
	size_t low = FIRST_WHERE(i, 0, l->spot_count, l->spots[i].place >= op), count = 0;
	uint32_t any[64];

	for (; low < l->spot_count && l->spots[low].place == op; low++) {
		if (l->spots[low].literal == TRUE_LITERAL)
			return TRUE_LITERAL ^ 1;
		if (count == 62) {
			m->incomplete = true;
			return TRUE_LITERAL ^ 1;
		}
		any[count++] = l->spots[low].literal;
	}
	if (count == 0)
		return TRUE_LITERAL;
	any[count] = 2 * solver_variable(m->solver, true);
	solver_clause(m->solver, any, (uint32_t)count + 1, m->v->ops[op].txn);
	for (size_t i = 0; i < count; i++)
		model_forbid(m, (uint32_t[]){any[i], any[count]}, 2, m->v->ops[op].txn);
	return any[count];
}

/* ww edges between what may be next to each other, looking over places no transaction is known for. */
static uint32_t list_chain(struct model *m, uint32_t key)
{
	const struct values_key *k = &m->v->keys[key];
	uint32_t last = VALUES_NONE;

	for (uint32_t e = 0; e < m->f->list_end[key]; e++) {
		const struct place *p = &m->places[k->first_order + e];

		if (p->count == 0)
			continue;
		for (uint32_t i = 0; last != VALUES_NONE && i < p->count; i++) {
			const struct place_op *b = &m->place_ops[p->first + i];
			const struct place *q = &m->places[last];

			for (uint32_t o = 0; o < q->count; o++) {
				const struct place_op *a = &m->place_ops[q->first + o];

				model_edge(m, m->v->ops[a->op].txn, m->v->ops[b->op].txn, EDGE_WW,
					b->op, a->literal, b->literal);
			}
		}
		last = k->first_order + e;
	}
	return last;
}

static void place_edges(struct model *m, uint32_t place, uint32_t txn, enum edge_kind kind,
	uint32_t op, uint32_t literal)
{
	const struct place *p = &m->places[place];

	for (uint32_t i = 0; i < p->count; i++) {
		const struct place_op *o = &m->place_ops[p->first + i];
		uint32_t other = m->v->ops[o->op].txn;

		if (kind == EDGE_RW)
			model_edge(m, txn, other, kind, op, o->literal, literal);
		else
			model_edge(m, other, txn, kind, op, o->literal, literal);
	}
}

/* What is after the list: after its last, in an order that is open. */
static void list_tail(struct model *m, uint32_t last, struct list_scratch *l)
{
	const struct values *v = m->v;

	MEM_RESERVE(l->pairs, l->tail_count * l->tail_count, l->pair_capacity);
	for (size_t i = 0; i < l->tail_count; i++) {
		uint32_t t = v->ops[l->tail[i].op].txn;

		if (last != VALUES_NONE)
			place_edges(m, last, t, EDGE_WW, l->tail[i].op, l->tail[i].literal);
		for (size_t k = 0; k < i; k++) {
			uint32_t u = v->ops[l->tail[k].op].txn, var;

			if (u == t)
				continue;
			var = solver_order_variable(
				m->solver, model_commit_node(m, u), model_commit_node(m, t));
			l->pairs[i * l->tail_count + k] = 2 * var;
			l->pairs[k * l->tail_count + i] = 2 * var + 1;
			/* Both after the list, and one of them first: joined into one literal. */
			for (uint32_t way = 0; way < 2; way++) {
				uint32_t join = 2 * var + way;

				if (l->tail[i].literal != TRUE_LITERAL ||
					l->tail[k].literal != TRUE_LITERAL) {
					join = 2 * solver_variable(m->solver, false);
					solver_clause(m->solver,
						(uint32_t[]){(2 * var + way) ^ 1,
							l->tail[i].literal ^ 1,
							l->tail[k].literal ^ 1, join},
						4, t);
				}
				model_edge(m, way ? t : u, way ? u : t, EDGE_WW,
					l->tail[way ? k : i].op, join, TRUE_LITERAL);
			}
		}
	}
}

/* The literal that a tail's append comes before every one of the transaction's own there: for
 * PL-FCV the next version does not count when it is the reader's own (see read_edges). */
static uint32_t before_own(struct model *m, const struct list_scratch *l, size_t k, uint32_t txn)
{
	uint32_t all = TRUE_LITERAL;

	for (size_t o = 0; o < l->tail_count; o++) {
		uint32_t one;

		if (m->v->ops[l->tail[o].op].txn != txn)
			continue;
		one = l->pairs[o * l->tail_count + k];
		if (l->tail[o].literal != TRUE_LITERAL) { /* or that one is not in the tail */
			uint32_t either = 2 * solver_variable(m->solver, false);

			solver_clause(m->solver, (uint32_t[]){one ^ 1, either}, 2, txn);
			solver_clause(m->solver, (uint32_t[]){l->tail[o].literal, either}, 2, txn);
			one = either;
		}
		all = model_both(m, all, one, txn);
	}
	return all;
}

/* Is one of the transaction's appends somewhere, at a place that is not known? */
static bool has_floating(const struct model *m, uint32_t txn, uint32_t key)
{
	const struct values_txn *t = &m->v->txns[txn];

	for (uint32_t i = t->first_op; i < t->first_op + t->op_count; i++) {
		const struct values_op *op = &m->v->ops[i];

		if (op->kind == VALUES_APPEND && op->key == key && m->floating[op->value])
			return true;
	}
	return false;
}

/* A read of the key's list: after what it saw, before what it did not. */
static void list_read(struct model *m, uint32_t i, const struct list_scratch *l)
{
	const struct values_op *op = &m->v->ops[i];
	uint32_t first = m->v->keys[op->key].first_order, end = m->f->list_end[op->key];
	uint32_t seen = m->f->seen[i], e;

	for (e = seen; e > 0 && m->places[first + e - 1].count == 0;)
		e--;
	if (e > 0)
		place_edges(m, first + e - 1, op->txn, EDGE_WR, i, TRUE_LITERAL);
	/* Not the other's intermediate version, and nothing of its own that comes later. */
	for (uint32_t p = 0; p < op->value && p < end; p++) {
		const struct place *place = &m->places[first + p];

		for (uint32_t k = 0; place->count > 1 && k < place->count; k++) {
			const struct place_op *o = &m->place_ops[place->first + k];
			bool mine = m->v->ops[o->op].txn == op->txn;

			/* Its own earlier ones are after what it saw of others. */
			if ((mine && (o->op > i || (is_internal(m->level) && p < seen))) ||
				(!mine && p + 1 == seen && !(m->f->notes[o->op] & OP_FINAL)))
				model_forbid(m, &o->literal, 1, op->txn);
		}
	}
	if (!has_anti(m->level) || (m->level == MODEL_FCV && has_floating(m, op->txn, op->key)))
		return;
	for (e = seen; e < end && m->places[first + e].count == 0;)
		e++;
	if (e < end) {
		place_edges(m, first + e, op->txn, EDGE_RW, i, TRUE_LITERAL);
		return;
	}
	for (size_t k = 0; k < l->tail_count; k++) {
		uint32_t t = m->v->ops[l->tail[k].op].txn, earlier = TRUE_LITERAL;

		if (m->level == MODEL_FCV && t != op->txn)
			earlier = before_own(m, l, k, op->txn);
		model_edge(m, op->txn, t, EDGE_RW, i, l->tail[k].literal, earlier);
	}
}

/* Cursor stability on a list: having read up to `seen`, the own append, or a later read, is not
 * after what another transaction appended there (and for the read: not after two of them). */
static void cursor_list(struct model *m, uint32_t i, const struct list_scratch *l)
{
	const struct values *v = m->v;
	const struct values_op *op = &v->ops[i];
	const struct values_txn *txn = &v->txns[op->txn];
	uint32_t first = v->keys[op->key].first_order, end = m->f->list_end[op->key];
	uint32_t seen = m->f->seen[i], next = seen;

	while (next < end && m->places[first + next].count == 0)
		next++;
	for (uint32_t a = 0; next < end && a < m->places[first + next].count; a++) {
		const struct place_op *other = &m->place_ops[m->places[first + next].first + a];

		if (v->ops[other->op].txn == op->txn)
			continue;
		for (size_t s = 0; s < l->spot_count; s++) {
			if (v->ops[l->spots[s].place].txn == op->txn &&
				l->spots[s].at > first + next)
				model_forbid(m, (uint32_t[]){other->literal, l->spots[s].literal},
					2, op->txn);
		}
		for (size_t s = 0; s < l->tail_count; s++) {
			if (v->ops[l->tail[s].op].txn == op->txn)
				model_forbid(m, (uint32_t[]){other->literal, l->tail[s].literal}, 2,
					op->txn);
		}
		/* A later state that it read as well, made by a third. */
		for (uint32_t k = txn->first_op; k < txn->first_op + txn->op_count; k++) {
			uint32_t top = m->f->seen[k];

			if (v->ops[k].kind != VALUES_READ_LIST || v->ops[k].key != op->key ||
				top < next + 2)
				continue;
			while (top > next + 1 && m->places[first + top - 1].count == 0)
				top--;
			for (uint32_t b = 0; top > next + 1 && b < m->places[first + top - 1].count;
				b++) {
				const struct place_op *third =
					&m->place_ops[m->places[first + top - 1].first + b];

				if (v->ops[third->op].txn != op->txn &&
					v->ops[third->op].txn != v->ops[other->op].txn)
					model_forbid(m,
						(uint32_t[]){other->literal, third->literal}, 2,
						op->txn);
			}
		}
	}
	/* All of the list was seen; the own append is after it: no other transaction's comes between. */
	for (size_t s = 0; next >= end && s < l->tail_count; s++) {
		if (v->ops[l->tail[s].op].txn != op->txn)
			continue;
		for (size_t k = 0; k < l->tail_count; k++) {
			uint32_t t = v->ops[l->tail[k].op].txn;

			/* As an edge: there is none the other way then. */
			if (t != op->txn)
				model_edge(m, op->txn, t, EDGE_WW, i, l->tail[s].literal,
					l->tail[k].literal);
		}
	}
}

void model_lists(struct model *m)
{
	const struct values *v = m->v;
	struct list_scratch l = {0};
	uint32_t *head = mem_zero((size_t)v->key_count + 1, sizeof(*head)), *ops, *fill;

	m->places = mem_zero(v->order_count, sizeof(*m->places));
	m->floating = mem_zero(v->item_count, 1);
	for (uint32_t k = 0; k < v->key_count; k++) {
		for (uint32_t e = 0; is_list(v, k) && e < m->f->list_end[k]; e++)
			list_place(m, v->keys[k].first_order + e);
	}
	for (uint32_t i = 0; i < v->op_count; i++) {
		if (v->ops[i].kind != VALUES_PREDICATE)
			head[v->ops[i].key + 1]++;
	}
	for (uint32_t k = 0; k < v->key_count; k++)
		head[k + 1] += head[k];
	ops = mem_realloc(NULL, head[v->key_count], sizeof(*ops));
	fill = mem_dup(head, v->key_count * sizeof(*fill));
	for (uint32_t i = 0; i < v->op_count; i++) {
		if (v->ops[i].kind != VALUES_PREDICATE)
			ops[fill[v->ops[i].key]++] = i;
	}
	for (uint32_t k = 0; k < v->key_count; k++) {
		uint32_t last;

		if (!is_list(v, k))
			continue;
		gather_list(m, k, &l);
		place_clauses(m, &l);
		equal_clauses(m, &l);
		l.tail_count = 0;
		for (uint32_t i = head[k]; i < head[k + 1]; i++) {
			uint32_t literal;

			if (v->ops[ops[i]].kind != VALUES_APPEND ||
				!inside(m, v->ops[ops[i]].txn) || m->floating[v->ops[ops[i]].value])
				continue;
			literal = tail_literal(m, &l, ops[i]);
			if (literal == (TRUE_LITERAL ^ 1))
				continue;
			MEM_RESERVE(l.tail, l.tail_count + 1, l.tail_capacity);
			l.tail[l.tail_count++] = (struct place_op){ops[i], literal};
		}
		last = list_chain(m, k);
		list_tail(m, last, &l);
		for (uint32_t i = head[k]; m->level != MODEL_PL_1 && i < head[k + 1]; i++) {
			const struct values_op *op = &v->ops[ops[i]];

			if (op->kind != VALUES_READ_LIST || !m->f->counts[op->txn] ||
				!inside(m, op->txn) || (op->flags & VALUES_OP_OWN_LIST) ||
				m->f->seen[ops[i]] > m->f->list_end[k])
				continue;
			list_read(m, ops[i], &l);
			if (m->level == MODEL_PL_CS)
				cursor_list(m, ops[i], &l);
		}
	}
	mem_free(head);
	mem_free(ops);
	mem_free(fill);
	mem_free(l.spots);
	mem_free(l.tail);
	mem_free(l.pairs);
}
