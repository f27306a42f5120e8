/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/values/subset.h"

#include "base/search.h"

struct taking {
	const struct values *v;
	const uint32_t *txns;
	size_t count;
	const uint8_t *keep_op;
	struct values_builder b;
};

static bool has_txn(const struct taking *t, uint32_t txn)
{
	size_t at = FIRST_WHERE(i, 0, t->count, t->txns[i] >= txn);

	return at < t->count && t->txns[at] == txn;
}

static bool has_op(const struct taking *t, uint32_t op)
{
	return has_txn(t, t->v->ops[op].txn) && (!t->keep_op || t->keep_op[op]);
}

/* Whether the value is there without the others: initial, written by none, or by one of these. */
static bool has_item(const struct taking *t, uint32_t item)
{
	const struct values_item *i = &t->v->items[item];

	if (i->initial || !i->write_count || has_op(t, i->first_write))
		return true;
	for (uint32_t d = i->write_count > 1 ? values_first_dup(t->v, item) : t->v->dup_count;
		d < t->v->dup_count && t->v->dups[d].item == item; d++)
		if (has_op(t, t->v->dups[d].op))
			return true;
	return false;
}

/* ---- into the new history ---- */

static uint32_t new_atom(struct taking *t, uint32_t atom)
{
	struct buf text = BUF_INIT;
	uint32_t made;

	if (!(atom & VALUES_ATOM_TEXT))
		return values_atom_of_uint(&t->b, atom);
	values_atom_text(t->v, atom, &text);
	made = values_atom_of_text(&t->b, buf_span(&text));
	buf_release(&text);
	return made;
}

static uint32_t new_key(struct taking *t, uint32_t key)
{
	return values_key_of_atom(&t->b, new_atom(t, t->v->keys[key].atom));
}

static uint32_t new_item(struct taking *t, uint32_t item)
{
	const struct values_item *i = &t->v->items[item];
	uint32_t key = new_key(t, i->key), atom = new_atom(t, i->atom);

	return i->initial ? values_initial_item(&t->b, key, atom) : values_item_of(&t->b, key, atom);
}

static void add_list(struct taking *t, const struct values_op *op, bool committed)
{
	const struct values *v = t->v;
	bool own = op->flags & VALUES_OP_OWN_LIST;
	const uint32_t *items = own ? v->lists + op->value + 1 : v->order + v->keys[op->key].first_order;
	uint32_t count = own ? v->lists[op->value] : op->value;

	t->b.own_count = 0;
	for (uint32_t i = 0; i < count; i++)
		if (has_item(t, items[i]))
			values_own_add(&t->b, new_item(t, items[i]));
	values_add_list_read(&t->b, new_key(t, op->key), committed);
}

static void add_predicate(struct taking *t, const struct values_op *op)
{
	const struct values_predicate *p = &t->v->predicates[op->value];

	values_add_predicate(&t->b, (enum values_predicate_kind)p->kind, p->a, p->b);
	for (uint32_t i = 0; i < p->match_count; i++)
		if (has_item(t, t->v->matches[p->first_match + i]))
			values_add_match(&t->b, new_item(t, t->v->matches[p->first_match + i]));
}

static void add_op(struct taking *t, const struct values_op *op, bool committed)
{
	if (op->flags & VALUES_OP_MATCH)
		return; /* comes with its predicate */
	switch ((enum values_op_kind)op->kind) {
	case VALUES_PREDICATE:
		add_predicate(t, op);
		break;
	case VALUES_READ_LIST:
		add_list(t, op, committed);
		break;
	case VALUES_READ:
		if (has_item(t, op->value))
			values_add_op(&t->b, VALUES_READ, new_key(t, op->key), new_item(t, op->value));
		break;
	case VALUES_DELETE:
		if (op->value == VALUES_NONE)
			values_add_op(&t->b, VALUES_DELETE, new_key(t, op->key), VALUES_NONE);
		else
			values_add_delete(&t->b, new_key(t, op->key));
		break;
	case VALUES_WRITE:
	case VALUES_APPEND:
	case VALUES_INSERT:
		values_add_op(&t->b, (enum values_op_kind)op->kind, new_key(t, op->key), new_item(t, op->value));
		break;
	}
}

static void add_txn(struct taking *t, uint32_t number)
{
	const struct values_txn *txn = &t->v->txns[number];
	struct values_txn *made;

	values_begin_txn(&t->b);
	for (uint32_t i = 0; i < txn->op_count; i++)
		if (!t->keep_op || t->keep_op[txn->first_op + i])
			add_op(t, &t->v->ops[txn->first_op + i], txn->outcome == VALUES_COMMITTED);
	made = values_end_txn(&t->b, values_session_of(&t->b, t->v->sessions[txn->session].number), txn->id,
		(enum values_outcome)txn->outcome);
	made->invoke = txn->invoke;
	made->complete = txn->complete;
	if (t->v->stamps)
		values_add_stamp(&t->b, &t->v->stamps[number]);
}

bool values_subset(const struct values *v, const uint32_t *txns, size_t count, const uint8_t *keep_op, struct values *out,
	struct err *err)
{
	struct taking t = {.v = v, .txns = txns, .count = count, .keep_op = keep_op};
	bool ok;

	values_builder_init(&t.b);
	t.b.v.has_real_time = v->has_real_time;
	t.b.v.has_sessions = v->has_sessions;
	t.b.v.closed = v->closed;
	for (size_t i = 0; i < count; i++)
		add_txn(&t, txns[i]);
	ok = values_finish(&t.b, out, err);
	values_builder_release(&t.b);
	return ok;
}
