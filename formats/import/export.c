/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/export.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/mem.h"

enum { FLUSH_SIZE = 1 << 16 };

struct writer {
	const struct values *v;
	struct buf out;
	export_sink *sink;
	void *context;
	struct err *err;
};

static bool flush(struct writer *w, bool always)
{
	if (w->out.len < FLUSH_SIZE && !(always && w->out.len))
		return true;
	if (!w->sink(w->context, &w->out))
		return err_set(w->err, ERR_IO, "the export could not be written");
	return true;
}

static const uint32_t *list_items(
	const struct values *v, const struct values_op *op, uint32_t *count)
{
	if (op->flags & VALUES_OP_OWN_LIST) {
		*count = v->lists[op->value];
		return v->lists + op->value + 1;
	}
	*count = op->value;
	return v->order + v->keys[op->key].first_order;
}

static bool is_nil(const struct values *v, uint32_t item)
{
	return v->items[item].initial && v->items[item].write_count == 0;
}

/* ------------------------------------------------------------------------------- Elle */

/* An atom as EDN: JSON's words are not always EDN's. */
static void edn_atom(struct writer *w, uint32_t atom)
{
	values_atom_text(w->v, atom, &w->out);
}

static void edn_predicate(struct writer *w, const struct values_predicate *p)
{
	switch ((enum values_predicate_kind)p->kind) {
	case VALUES_PREDICATE_TRUE:
		buf_add_str(&w->out, "[:rp :true {");
		break;
	case VALUES_PREDICATE_EQUAL:
		buf_printf(&w->out, "[:rp [:= %lld] {", (long long)p->a);
		break;
	case VALUES_PREDICATE_MOD:
		buf_printf(&w->out, "[:rp [:mod %lld %lld] {", (long long)p->a, (long long)p->b);
		break;
	}
	for (uint32_t m = 0; m < p->match_count; m++) {
		const struct values_item *item = &w->v->items[w->v->matches[p->first_match + m]];

		if (m)
			buf_add_char(&w->out, ' ');
		edn_atom(w, w->v->keys[item->key].atom);
		buf_add_char(&w->out, ' ');
		edn_atom(w, item->atom);
	}
	buf_add_str(&w->out, "}]");
}

static void edn_op(struct writer *w, const struct values_op *op, bool invoke)
{
	static const char *const names[] = {[VALUES_READ] = "r",
		[VALUES_WRITE] = "w",
		[VALUES_READ_LIST] = "r",
		[VALUES_APPEND] = "append",
		[VALUES_INSERT] = "insert",
		[VALUES_DELETE] = "delete",
		[VALUES_PREDICATE] = "rp"};
	uint32_t count;
	const uint32_t *items;

	if (op->kind == VALUES_PREDICATE) {
		edn_predicate(w, &w->v->predicates[op->value]);
		return;
	}
	buf_printf(&w->out, "[:%s ", names[op->kind]);
	edn_atom(w, w->v->keys[op->key].atom);
	if (op->kind == VALUES_DELETE) {
		buf_add_char(&w->out, ']');
		return;
	}
	buf_add_char(&w->out, ' ');
	if (!values_is_write(op) && invoke) {
		buf_add_str(&w->out, "nil");
	} else if (op->kind == VALUES_READ_LIST) {
		items = list_items(w->v, op, &count);
		buf_add_char(&w->out, '[');
		for (uint32_t i = 0; i < count; i++) {
			if (i)
				buf_add_char(&w->out, ' ');
			edn_atom(w, w->v->items[items[i]].atom);
		}
		buf_add_char(&w->out, ']');
	} else if (op->kind == VALUES_READ && is_nil(w->v, op->value)) {
		buf_add_str(&w->out, "nil");
	} else {
		edn_atom(w, w->v->items[op->value].atom);
	}
	buf_add_char(&w->out, ']');
}

struct event {
	uint32_t at, txn;
	bool invoke;
};

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->txn > y->txn) - (x->txn < y->txn);
}

static bool edn_event(struct writer *w, const struct event *e, uint32_t index)
{
	static const char *const types[] = {"ok", "fail", "info"};
	const struct values_txn *t = &w->v->txns[e->txn];

	buf_printf(&w->out, "{:index %u, :type :%s, :process %lld, :f :txn, :value [", index,
		e->invoke ? "invoke" : types[t->outcome],
		(long long)w->v->sessions[t->session].number);
	for (uint32_t i = 0; i < t->op_count; i++) {
		if (w->v->ops[t->first_op + i].flags & VALUES_OP_MATCH)
			continue;
		if (i)
			buf_add_char(&w->out, ' ');
		edn_op(w, &w->v->ops[t->first_op + i], e->invoke);
	}
	buf_add_str(&w->out, "]}\n");
	return flush(w, false);
}

static bool export_elle(struct writer *w)
{
	const struct values *v = w->v;
	struct event *events = mem_realloc(NULL, 2 * (size_t)v->txn_count, sizeof(*events));
	size_t count = 0;
	bool ok = true;

	for (uint32_t t = 0; t < v->txn_count; t++) {
		uint32_t complete = v->has_real_time ? v->txns[t].complete : t;

		if (v->has_real_time && v->txns[t].invoke != VALUES_NONE)
			events[count++] = (struct event){v->txns[t].invoke, t, true};
		/* What never completed has no completion. */
		if (complete != VALUES_NONE)
			events[count++] = (struct event){complete, t, false};
	}
	qsort(events, count, sizeof(*events), compare_events);
	for (size_t i = 0; i < count && ok; i++)
		ok = edn_event(w, &events[i], (uint32_t)i);
	free(events);
	return ok;
}

/* -------------------------------------------------------------- registers of integers */

/* The number of a register's value; the initial one is 0. */
static bool item_number(struct writer *w, uint32_t t, uint32_t item, int64_t *number)
{
	const struct values_item *i = &w->v->items[item];

	if (is_nil(w->v, item)) {
		*number = 0;
		return true;
	}
	if (!values_atom_int(w->v, i->atom, number) || *number < 0 || (*number == 0 && !i->initial))
		return err_set(w->err, ERR_UNSUPPORTED,
			"transaction %llu: a value that is no positive integer; this format holds "
			"only those",
			(unsigned long long)w->v->txns[t].id);
	return true;
}

static bool key_number(struct writer *w, uint32_t t, uint32_t key, int64_t *number)
{
	if (!values_atom_int(w->v, w->v->keys[key].atom, number) || *number < 0)
		return err_set(w->err, ERR_UNSUPPORTED,
			"transaction %llu: a key that is no number; this format holds only those",
			(unsigned long long)w->v->txns[t].id);
	return true;
}

static bool plain_op(struct writer *w, const struct values_op *op, int64_t *key, int64_t *value)
{
	if (op->kind != VALUES_READ && op->kind != VALUES_WRITE)
		return err_set(w->err, ERR_UNSUPPORTED,
			"transaction %llu: a list, insert, delete or predicate; this format holds "
			"only "
			"registers",
			(unsigned long long)w->v->txns[op->txn].id);
	return key_number(w, op->txn, op->key, key) && item_number(w, op->txn, op->value, value);
}

static bool export_plume(struct writer *w)
{
	const struct values *v = w->v;
	bool ok = true;

	for (uint32_t s = 0; s < v->session_count; s++) {
		for (uint32_t i = 0; ok && i < v->sessions[s].txn_count; i++) {
			uint32_t t = v->session_txns[v->sessions[s].first_txn + i];

			if (v->txns[t].outcome == VALUES_UNKNOWN)
				return err_set(w->err, ERR_UNSUPPORTED,
					"transaction %llu: its outcome is not known; this format "
					"has no "
					"word for that",
					(unsigned long long)v->txns[t].id);
			for (uint32_t k = 0; ok && k < v->txns[t].op_count; k++) {
				const struct values_op *op = &v->ops[v->txns[t].first_op + k];
				int64_t key, value;

				ok = plain_op(w, op, &key, &value);
				if (ok)
					buf_printf(&w->out, "%c(%lld,%lld,%u,%lld)\n",
						op->kind == VALUES_READ ? 'r' : 'w', (long long)key,
						(long long)value, s,
						v->txns[t].outcome == VALUES_ABORTED
							? -1LL
							: (long long)t);
			}
			ok = ok && flush(w, false);
		}
	}
	return ok;
}

static void put_le64(struct buf *out, uint64_t x)
{
	char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(x >> 8 * i);
	buf_add(out, bytes, 8);
}

static bool dbcop_txn(struct writer *w, uint32_t t)
{
	const struct values_txn *txn = &w->v->txns[t];

	if (txn->outcome == VALUES_UNKNOWN)
		return err_set(w->err, ERR_UNSUPPORTED,
			"transaction %llu: its outcome is not known; this format has no word for "
			"that",
			(unsigned long long)txn->id);
	put_le64(&w->out, txn->op_count);
	for (uint32_t k = 0; k < txn->op_count; k++) {
		const struct values_op *op = &w->v->ops[txn->first_op + k];
		int64_t key, value;

		if (!plain_op(w, op, &key, &value))
			return false;
		buf_add_char(&w->out, op->kind == VALUES_WRITE);
		put_le64(&w->out, (uint64_t)key);
		put_le64(&w->out, (uint64_t)value);
		buf_add_char(&w->out, 1);
	}
	buf_add_char(&w->out, txn->outcome == VALUES_COMMITTED);
	return flush(w, false);
}

static bool export_dbcop(struct writer *w)
{
	const struct values *v = w->v;
	static const char *const strings[] = {
		"isotrace", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"};
	uint64_t numbers[5] = {0, v->session_count, v->key_count, 0, 0};

	for (int i = 0; i < 5; i++)
		put_le64(&w->out, numbers[i]);
	for (int i = 0; i < 3; i++) {
		struct span s = span_str(strings[i]);

		put_le64(&w->out, s.len);
		buf_add_span(&w->out, s);
	}
	put_le64(&w->out, v->session_count);
	for (uint32_t s = 0; s < v->session_count; s++) {
		put_le64(&w->out, v->sessions[s].txn_count);
		for (uint32_t i = 0; i < v->sessions[s].txn_count; i++) {
			if (!dbcop_txn(w, v->session_txns[v->sessions[s].first_txn + i]))
				return false;
		}
	}
	return true;
}

/* ------------------------------------------------------------------------- JSON lines */

static void json_atom(struct json *json, struct writer *w, uint32_t atom)
{
	struct buf text = BUF_INIT;
	int64_t number;

	if (values_atom_int(w->v, atom, &number)) {
		json_int(json, number);
		return;
	}
	values_atom_text(w->v, atom, &text);
	json_string(json, buf_span(&text));
	buf_release(&text);
}

static void json_op(struct json *json, struct writer *w, const struct values_op *op)
{
	static const char *const names[] = {[VALUES_READ] = "read",
		[VALUES_WRITE] = "write",
		[VALUES_READ_LIST] = "read",
		[VALUES_APPEND] = "append",
		[VALUES_INSERT] = "insert",
		[VALUES_DELETE] = "delete",
		[VALUES_PREDICATE] = "predicate"};
	uint32_t count;
	const uint32_t *items;

	json_begin_object(json);
	json_key(json, "op");
	json_str(json, names[op->kind]);
	if (op->kind != VALUES_PREDICATE) {
		json_key(json, "key");
		json_atom(json, w, w->v->keys[op->key].atom);
	}
	if (op->kind == VALUES_READ_LIST) {
		json_key(json, "list");
		json_begin_array(json);
		items = list_items(w->v, op, &count);
		for (uint32_t i = 0; i < count; i++)
			json_atom(json, w, w->v->items[items[i]].atom);
		json_end_array(json);
	} else if (op->kind != VALUES_DELETE && op->kind != VALUES_PREDICATE) {
		json_key(json, "value");
		if (op->kind == VALUES_READ && is_nil(w->v, op->value))
			json_null(json);
		else
			json_atom(json, w, w->v->items[op->value].atom);
	}
	json_end_object(json);
}

static bool export_json(struct writer *w)
{
	static const char *const outcomes[] = {"committed", "aborted", "unknown"};
	const struct values *v = w->v;
	bool ok = true;

	for (uint32_t t = 0; ok && t < v->txn_count; t++) {
		struct json json;

		json_init(&json, &w->out, 0);
		json_begin_object(&json);
		json_key(&json, "id");
		json_uint(&json, v->txns[t].id);
		json_key(&json, "session");
		json_int(&json, v->sessions[v->txns[t].session].number);
		json_key(&json, "outcome");
		json_str(&json, outcomes[v->txns[t].outcome]);
		if (v->has_real_time && v->txns[t].invoke != VALUES_NONE) {
			json_key(&json, "invoke");
			json_uint(&json, v->txns[t].invoke);
		}
		if (v->has_real_time && v->txns[t].complete != VALUES_NONE) {
			json_key(&json, "complete");
			json_uint(&json, v->txns[t].complete);
		}
		json_key(&json, "ops");
		json_begin_array(&json);
		for (uint32_t i = 0; i < v->txns[t].op_count; i++)
			json_op(&json, w, &v->ops[v->txns[t].first_op + i]);
		json_end_array(&json);
		json_end_object(&json);
		buf_add_char(&w->out, '\n');
		ok = flush(w, false);
	}
	return ok;
}

bool values_export(const struct values *v, enum export_format format, export_sink *sink,
	void *context, struct err *err)
{
	struct writer w = {v, BUF_INIT, sink, context, err};
	bool ok = false;

	switch (format) {
	case EXPORT_ELLE:
		ok = export_elle(&w);
		break;
	case EXPORT_PLUME:
		ok = export_plume(&w);
		break;
	case EXPORT_DBCOP:
		ok = export_dbcop(&w);
		break;
	case EXPORT_JSON:
		ok = export_json(&w);
		break;
	}
	ok = ok && flush(&w, true);
	buf_release(&w.out);
	return ok;
}
