/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "base/json.h"
#include "base/mem.h"

enum { FLUSH_SIZE = 1 << 16 };

struct writer {
	const struct values *v;
	struct buf out;
	export_sink *sink;
	void *context;
	struct err *err;
	bool init; /* Elle: initial values are written, else they are nil */
	/* Formats of integers: some key, or value, is none, and all get their number here. */
	bool number_keys, number_items;
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

/* Will EDN read this as one word, or is it a form that was read from EDN or JSON? */
static bool is_edn_word(struct span s)
{
	static const char others[] = "*+!_?<>=.$&%/-:";
	size_t sign = s.len && s.ptr[0] == '-';

	if (s.len == 0)
		return false;
	if (s.ptr[0] == '"' || s.ptr[0] == '[' || s.ptr[0] == '{' || s.ptr[0] == '(')
		return true;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];

		if (!char_is_digit(c) && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
			!memchr(others, c, sizeof(others) - 1))
			return false;
		/* What begins as a number must be one. */
		if (s.len > sign && char_is_digit(s.ptr[sign]) && i >= sign && !char_is_digit(c) &&
			c != '.')
			return false;
	}
	return true;
}

/* An atom as EDN; what other formats have and EDN would not read (Cobra's #5f87) as a string. */
static void edn_atom(struct writer *w, uint32_t atom)
{
	size_t start = w->out.len;
	struct buf text = BUF_INIT;

	values_atom_text(w->v, atom, &w->out);
	if (is_edn_word(span_of(w->out.data + start, w->out.len - start)))
		return;
	buf_add(&text, w->out.data + start, w->out.len - start);
	w->out.len = start;
	buf_add_char(&w->out, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '"' || text.data[i] == '\\')
			buf_add_char(&w->out, '\\');
		buf_add_char(&w->out, text.data[i]);
	}
	buf_add_char(&w->out, '"');
	buf_release(&text);
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
	} else if (op->kind == VALUES_READ && !w->init && is_nil(w->v, op->value)) {
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

/* Initial values matter where predicates look at them, and where a transaction wrote one of them again.
 */
static bool needs_init(const struct values *v)
{
	bool again = false;

	for (uint32_t k = 0; k < v->key_count; k++) {
		uint32_t item = v->keys[k].initial_item;

		again |= item != VALUES_NONE && v->items[item].write_count > 0 &&
			 !(v->keys[k].flags & VALUES_KEY_LIST);
	}
	return again || v->closed;
}

static void edn_init(struct writer *w)
{
	const struct values *v = w->v;
	const char *blank = "";

	buf_add_str(&w->out, "{:type :ok, :process 0, :f :init, :value {");
	for (uint32_t k = 0; k < v->key_count; k++) {
		if (v->keys[k].initial_item == VALUES_NONE)
			continue;
		buf_add_str(&w->out, blank);
		edn_atom(w, v->keys[k].atom);
		buf_add_char(&w->out, ' ');
		edn_atom(w, v->items[v->keys[k].initial_item].atom);
		blank = " ";
	}
	buf_add_str(&w->out, "}}\n");
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
	w->init = needs_init(v);
	if (w->init)
		edn_init(w);
	for (size_t i = 0; i < count && ok; i++)
		ok = edn_event(w, &events[i], (uint32_t)i);
	mem_free(events);
	return ok;
}

/* -------------------------------------------------------------- registers of integers */

/* Does some key, or some value that is not initial, need a number? */
static void find_numbers(struct writer *w)
{
	const struct values *v = w->v;
	int64_t number;

	for (uint32_t k = 0; k < v->key_count; k++)
		w->number_keys |= !values_atom_int(v, v->keys[k].atom, &number) || number < 0;
	for (uint32_t i = 0; i < v->item_count; i++)
		w->number_items |= !v->items[i].initial &&
				   (!values_atom_int(v, v->items[i].atom, &number) || number <= 0);
}

/* The number of a register's value; the initial one is 0. */
static int64_t item_number(const struct writer *w, uint32_t item)
{
	int64_t number;

	if (w->v->items[item].initial)
		return 0;
	if (!w->number_items && values_atom_int(w->v, w->v->items[item].atom, &number))
		return number;
	return (int64_t)item + 1;
}

static int64_t key_number(const struct writer *w, uint32_t key)
{
	int64_t number;

	if (!w->number_keys && values_atom_int(w->v, w->v->keys[key].atom, &number))
		return number;
	return key;
}

static bool is_plain(struct writer *w, const struct values_op *op)
{
	if (op->kind != VALUES_READ && op->kind != VALUES_WRITE)
		return err_set(w->err, ERR_UNSUPPORTED,
			"transaction %llu: a list, insert, delete or predicate; this format holds "
			"only "
			"registers",
			(unsigned long long)w->v->txns[op->txn].id);
	return true;
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

				ok = is_plain(w, op);
				if (ok)
					buf_printf(&w->out, "%c(%lld,%lld,%u,%lld)\n",
						op->kind == VALUES_READ ? 'r' : 'w',
						(long long)key_number(w, op->key),
						(long long)item_number(w, op->value), s,
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

		if (!is_plain(w, op))
			return false;
		buf_add_char(&w->out, op->kind == VALUES_WRITE);
		put_le64(&w->out, (uint64_t)key_number(w, op->key));
		put_le64(&w->out, (uint64_t)item_number(w, op->value));
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
	struct writer w = {.v = v, .out = BUF_INIT, .sink = sink, .context = context, .err = err};
	bool ok = false;

	if (format == EXPORT_PLUME || format == EXPORT_DBCOP)
		find_numbers(&w);
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
