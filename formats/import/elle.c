/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Elle and Jepsen histories: EDN, and the same as JSON (elle-cli).
 *
 * One map an operation, one after the other or all in one vector.  :type :process :index :f :value
 * are read, every other key is ignored.  :value is a vector of micro-operations:
 *	[:r k nil]  [:r k]  [:r k v]  [:r k [e ...]]  [:w k v]  [:append k e]
 *	[:insert k v]  [:delete k]  [:delete k nil]  [:rp predicate {k v ...}]  (closed predicate)
 * A read of a completed operation without a result is a read of nil.
 * An :invoke pairs with the next completion of its process.  A completion with a vector as :value
 * is taken from there, else from its invocation.  Operations of processes that are no numbers
 * (:nemesis) are counted and ignored.
 *
 * The hot path.  A list-append history is mostly lists, each a prefix of another.  For every key
 *the longest list so far is kept as the input wrote it; a read is compared with it byte by byte,
 *and only what is longer is taken apart.  The comparison is memcmp's speed, so reading costs less
 *than tokenising.  Whatever does not compare (other spacing, a real difference) is taken apart.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "import/import.h"
#include "import/scan.h"

#define LIST_TEXT_MAX ((size_t)1 << 31)
enum { EXPECTED_MAX = 16 };

enum op_type { OP_NONE, OP_INVOKE, OP_OK, OP_FAIL, OP_INFO };

/* The invocation of a process that has not completed. */
struct pending {
	struct buf text; /* of its :value */
	uint64_t index;
	uint32_t invoke;
	bool open;
};

struct elle {
	struct scan s;
	struct values_builder *b;
	struct pending *pending; /* by session */
	size_t pending_count, pending_capacity;
	uint32_t expected[EXPECTED_MAX]; /* keys of the last invocation */
	uint32_t expected_count;
	uint32_t position;
	uint32_t nameless; /* position of an open invocation without a process; NONE */
	bool invokes;
};

/* The map of one operation. */
struct op_map {
	enum op_type type;
	bool has_process, other_process, has_index, init, parsed;
	int64_t process;
	uint64_t index;
	const char *value; /* start of the form, or NULL */
	const char *value_end;
};

static const char *atom_slow(struct elle *e, const char *p, uint32_t *out)
{
	struct scan *s = &e->s;
	struct span text;
	const char *q;

	if (p == s->end)
		return scan_end(s, p);
	if (scan_is(*p, SCAN_DELIMITER) && *p != '"') {
		q = scan_skip(s, p);
		if (!q)
			return NULL;
		text = span_of(p, (size_t)(q - p));
	} else if (*p == '"') {
		q = scan_string(s, p, &text);
		if (!q)
			return NULL;
		text = span_of(p, (size_t)(q - p));
	} else {
		q = scan_token(s, p, &text);
		if (!q)
			return NULL;
		if (scan_is(*p, SCAN_DIGIT) || *p == '-') {
			struct scan quiet = *s;
			int64_t number;

			quiet.err = NULL;
			if (scan_int(&quiet, p, &number) == q) {
				*out = values_atom_of_int(e->b, number);
				return q;
			}
		}
	}
	*out = values_atom_of_text(e->b, text);
	return q;
}

/* A key or a value. */
static inline const char *atom(struct elle *e, const char *p, uint32_t *out)
{
	uint32_t x = 0;
	const char *q = p;

	while (scan_is(*q, SCAN_DIGIT) && q - p < 9)
		x = x * 10 + (uint32_t)(*q++ - '0');
	if (LIKELY(q != p && scan_is(*q, SCAN_DELIMITER) && q != e->s.end)) {
		*out = x;
		return q;
	}
	return atom_slow(e, p, out);
}

/* Bytes that are equal, up to `len`. */
static size_t common_bytes(const char *a, const char *b, size_t len)
{
	size_t n = 0;

	while (len - n >= 64 && memcmp(a + n, b + n, 64) == 0)
		n += 64;
	while (len - n >= 8) {
		uint64_t x, y;

		memcpy(&x, a + n, 8);
		memcpy(&y, b + n, 8);
		if (x != y)
			return n + (size_t)__builtin_ctzll(x ^ y) / 8;
		n += 8;
	}
	while (n < len && a[n] == b[n])
		n++;
	return n;
}

/* The number of elements whose text ends at `at`, or 0. */
static size_t count_to(const struct values_list *list, size_t at)
{
	size_t i = FIRST_WHERE(k, 0, list->count, list->ends[k] >= at);

	return i < list->count && list->ends[i] == at ? i + 1 : 0;
}

/* Adds one element to the longest list of a key; [sep, end) is its text with what stands before. */
static void extend_list(struct values_list *list, uint32_t item, const char *sep, const char *end)
{
	size_t len = (size_t)(end - sep);

	MEM_RESERVE(list->items, list->count + 1, list->capacity);
	MEM_RESERVE(list->ends, list->count + 1, list->ends_capacity);
	MEM_RESERVE(list->text, list->text_len + len, list->text_capacity);
	memcpy(list->text + list->text_len, sep, len);
	list->text_len += len;
	list->items[list->count] = item;
	list->ends[list->count] = (uint32_t)list->text_len;
	list->count++;
}

/* All elements one by one. */
static const char *list_slow(struct elle *e, const char *p, uint32_t key, bool extend)
{
	struct values_builder *b = e->b;
	struct values_list *list;
	const char *sep = p;
	size_t known = b->key_lists[key].count;
	bool same = true;

	b->own_count = 0;
	while (!scan_close(&e->s, &p)) {
		uint32_t value, item;

		if (!p)
			return NULL;
		p = atom(e, p, &value);
		if (!p)
			return NULL;
		item = values_item_of(b, key, value);
		list = &b->key_lists[key];
		same = same && (b->own_count >= known || list->items[b->own_count] == item);
		values_own_add(b, item);
		/* The first `known` elements were the same, so this one is new at the end. */
		if (extend && same && b->own_count > known) {
			if (list->text_len >= LIST_TEXT_MAX)
				return scan_fail(&e->s, p, "a list longer than 2 GiB");
			extend_list(list, item, sep, p);
		}
		sep = p;
	}
	if (!p)
		return NULL;
	values_add_list_read(b, key, extend);
	return p;
}

/* p stands after the opening bracket. */
static const char *list_read(struct elle *e, const char *p, uint32_t key, bool extend)
{
	struct values_builder *b = e->b;
	struct values_list *list = &b->key_lists[key];
	size_t left = (size_t)(e->s.end - p);
	size_t n = common_bytes(p, list->text, left < list->text_len ? left : list->text_len);
	size_t count;

	if (n == left)
		return scan_end(&e->s, p + n);
	if (p[n] == ']') {
		count = n == 0 ? 0 : n == list->text_len ? list->count : count_to(list, n);
		if (count || n == 0) {
			b->v.keys[key].flags |= VALUES_KEY_LIST;
			values_add_op(b, VALUES_READ_LIST, key, (uint32_t)count);
			return p + n + 1;
		}
	}
	if (!extend || n < list->text_len || (n && !scan_is(p[n], SCAN_BLANK)))
		return list_slow(e, p, key, extend);
	/* It goes on where the longest ended. */
	p += n;
	for (;;) {
		const char *sep = p;
		uint32_t value, item;

		if (scan_close(&e->s, &p))
			break;
		if (!p)
			return NULL;
		p = atom(e, p, &value);
		if (!p)
			return NULL;
		item = values_item_of(b, key, value);
		list = &b->key_lists[key];
		if (list->text_len >= LIST_TEXT_MAX)
			return scan_fail(&e->s, p, "a list longer than 2 GiB");
		extend_list(list, item, sep, p);
	}
	b->v.keys[key].flags |= VALUES_KEY_LIST;
	values_add_op(b, VALUES_READ_LIST, key, (uint32_t)list->count);
	return p;
}

/* {k v ...} of a predicate read, or of :init when initial. */
static const char *pairs(struct elle *e, const char *p, bool initial)
{
	struct values_builder *b = e->b;

	p = scan_open(&e->s, p, '{', "a map of keys and values");
	if (!p)
		return NULL;
	while (!scan_close(&e->s, &p)) {
		uint32_t key, value, item;
		bool nil;

		if (!p || !(p = atom(e, p, &key)) || !(p = scan_blank(&e->s, p)))
			return NULL;
		nil = scan_is_nil(&e->s, p);
		if (!(p = atom(e, p, &value)))
			return NULL;
		key = values_key_of_atom(b, key);
		item = values_item_of(b, key, value);
		if (initial) {
			b->v.items[item].initial = 1;
			b->v.keys[key].initial_item = item;
			b->v.closed = true;
		} else if (!nil) {
			values_add_match(b, item);
		}
	}
	return p;
}

/* :true, [:= v], [:mod n m]; then the matches. */
static const char *predicate_read(struct elle *e, const char *p, enum op_type type)
{
	struct scan *s = &e->s;
	struct span name;
	int64_t x = 0, y = 0;
	enum values_predicate_kind kind = VALUES_PREDICATE_TRUE;

	p = scan_blank(s, p);
	if (!p)
		return NULL;
	if (*p == '[') {
		p = scan_blank(s, p + 1);
		if (!p || !(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)) ||
			!(p = scan_int(s, p, &x)) || !(p = scan_blank(s, p)))
			return NULL;
		if (span_eq_str(name, "mod")) {
			kind = VALUES_PREDICATE_MOD;
			if (!(p = scan_int(s, p, &y)) || !(p = scan_blank(s, p)))
				return NULL;
			if (x == 0)
				return scan_fail(s, p, "a predicate modulo 0");
		} else if (span_eq_str(name, "=")) {
			kind = VALUES_PREDICATE_EQUAL;
		} else {
			return scan_fail(s, p, "an unknown predicate `%.*s'",
				name.len < 40 ? (int)name.len : 40, name.ptr);
		}
		if (*p != ']')
			return scan_expected(s, p, "the end of the predicate");
		p++;
	} else {
		p = scan_name(s, p, &name);
		if (!p)
			return NULL;
		if (!span_eq_str(name, "true"))
			return scan_fail(s, p, "an unknown predicate `%.*s'",
				name.len < 40 ? (int)name.len : 40, name.ptr);
	}
	p = scan_blank(s, p);
	if (!p)
		return NULL;
	if (*p != '{' || (type != OP_OK && type != OP_INFO)) {
		e->b->v.counts.reads_unknown += type == OP_INFO;
		return *p == ']' ? p : scan_skip(s, p);
	}
	values_add_predicate(e->b, kind, x, y);
	return pairs(e, p, false);
}

static const char *item_read(struct elle *e, const char *p, uint32_t key, enum op_type type)
{
	uint32_t value;

	p = scan_blank(&e->s, p);
	if (!p)
		return NULL;
	if (p == e->s.end)
		return scan_end(&e->s, p);
	if (type == OP_FAIL)
		return *p == ']' || *p == ')' ? p : scan_skip(&e->s, p);
	if (*p == '[' || *p == '(')
		return list_read(e, p + 1, key, type == OP_OK);
	if (*p == '{' && p[-1] == '#') /* after a key, at least */
		return scan_fail(&e->s, p, "a read of a set is not supported: it has no order");
	if (type == OP_INFO && (*p == ']' || *p == ')' || scan_is_nil(&e->s, p))) {
		e->b->v.counts.reads_unknown++;
		return *p == ']' || *p == ')' ? p : scan_skip(&e->s, p);
	}
	if (*p == ']' || *p == ')') { /* to Clojure what is not there is nil */
		values_add_nil_read(e->b, key);
		return p;
	}
	if (scan_is_nil(&e->s, p)) {
		values_add_nil_read(e->b, key);
		return p + (e->s.json ? 4 : 3);
	}
	p = atom(e, p, &value);
	if (!p)
		return NULL;
	value = values_item_of(e->b, key, value);
	values_add_op(e->b, VALUES_READ, key, value);
	return p;
}

static const char *item_write(struct elle *e, const char *p, uint32_t key, enum values_op_kind kind)
{
	uint32_t value;

	p = scan_blank(&e->s, p);
	if (!p)
		return NULL;
	if (*p == ']')
		return scan_fail(&e->s, p, "a write without a value");
	p = atom(e, p, &value);
	if (!p)
		return NULL;
	value = values_item_of(e->b, key, value);
	values_add_op(e->b, kind, key, value);
	return p;
}

/* [:delete k], and [:delete k nil] of generators whose micro-operations all have three parts. */
static const char *item_delete(struct elle *e, const char *p, uint32_t key)
{
	values_add_delete(e->b, key);
	p = scan_blank(&e->s, p);
	return p && p != e->s.end && scan_is_nil(&e->s, p) ? scan_skip(&e->s, p) : p;
}

/* One micro-operation, p after its bracket. */
static const char *micro_op(struct elle *e, const char *p, enum op_type type)
{
	struct scan *s = &e->s;
	struct span f;
	uint32_t key = 0;

	p = scan_blank(s, p);
	if (!p || !(p = scan_name(s, p, &f)))
		return NULL;
	if (span_eq_str(f, "rp")) {
		p = predicate_read(e, p, type);
	} else {
		p = scan_blank(s, p);
		if (!p)
			return NULL;
		if (*p == ']')
			return scan_fail(s, p, "a micro-operation without a key");
		p = atom(e, p, &key);
		if (!p)
			return NULL;
		key = values_key_of_atom(e->b, key);
		if (f.len == 1 && f.ptr[0] == 'r')
			p = item_read(e, p, key, type);
		else if (f.len == 6 && memcmp(f.ptr, "append", 6) == 0)
			p = item_write(e, p, key, VALUES_APPEND);
		else if (f.len == 1 && f.ptr[0] == 'w')
			p = item_write(e, p, key, VALUES_WRITE);
		else if (span_eq_str(f, "insert"))
			p = item_write(e, p, key, VALUES_INSERT);
		else if (span_eq_str(f, "delete"))
			p = item_delete(e, p, key);
		else
			return scan_fail(s, p,
				"the micro-operation `%.*s' is not supported (append, w, r, "
				"insert, "
				"delete and rp are)",
				f.len < 40 ? (int)f.len : 40, f.ptr);
	}
	if (!p)
		return NULL;
	if (!scan_close(s, &p))
		return p ? scan_expected(s, p, "the end of the micro-operation") : NULL;
	return p;
}

static const char *micro_ops(struct elle *e, const char *p, enum op_type type)
{
	p = scan_open(&e->s, p, '[', "a vector of micro-operations");
	while (p && !scan_close(&e->s, &p)) {
		if (p)
			p = scan_open(&e->s, p, '[',
				"a micro-operation (this is no history of transactions)");
		if (p)
			p = micro_op(e, p, type);
	}
	return p;
}

static struct pending *pending_of(struct elle *e, uint32_t session)
{
	MEM_RESERVE(e->pending, session + 1, e->pending_capacity);
	while (e->pending_count <= session)
		e->pending[e->pending_count++] = (struct pending){BUF_INIT, 0, VALUES_NONE, false};
	return &e->pending[session];
}

/* The micro-operations of an invocation, from the copy that was kept. */
static bool parse_pending(struct elle *e, struct pending *pending, enum op_type type)
{
	struct scan saved = e->s;
	const char *p;

	if (pending->text.len == 0)
		return true;
	e->s.end = pending->text.data + pending->text.len;
	e->s.eof = true;
	p = micro_ops(e, pending->text.data, type);
	e->s.end = saved.end;
	e->s.eof = saved.eof;
	e->s.bad = NULL;
	return p != NULL;
}

static const enum values_outcome outcome_of[] = {
	[OP_OK] = VALUES_COMMITTED, [OP_FAIL] = VALUES_ABORTED, [OP_INFO] = VALUES_UNKNOWN};

/* What Clojure made of a lazy sequence is printed in round brackets. */
static bool opens_vector(const struct scan *s, const char *p)
{
	return *p == '[' || (*p == '(' && !s->json);
}

static const char *map_entry(struct elle *e, const char *p, struct op_map *op)
{
	struct scan *s = &e->s;
	struct span name, word;
	int64_t number;

	if (!(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
		return NULL;
	if (p == s->end)
		return scan_end(s, p);
	if (span_eq_str(name, "value")) {
		op->value = p;
		/* An :info operation may be the nemesis's, whose :value is anything: wait for the
		 * :process. */
		if (opens_vector(s, p) && !op->init && !op->other_process &&
			(op->type == OP_OK || op->type == OP_FAIL ||
				(op->type == OP_INFO && op->has_process))) {
			op->parsed = true;
			p = micro_ops(e, p, op->type);
		} else {
			p = scan_skip(s, p);
		}
		op->value_end = p;
		return p;
	}
	if (span_eq_str(name, "type")) {
		const char *at = p;

		if (!(p = scan_name(s, p, &word)))
			return NULL;
		op->type = span_eq_str(word, "invoke") ? OP_INVOKE
			   : span_eq_str(word, "ok")   ? OP_OK
			   : span_eq_str(word, "fail") ? OP_FAIL
			   : span_eq_str(word, "info") ? OP_INFO
						       : OP_NONE;
		if (op->type == OP_NONE)
			return scan_expected(s, at, "a :type of invoke, ok, fail or info");
		return p;
	}
	if (span_eq_str(name, "process")) {
		op->has_process = scan_is(*p, SCAN_DIGIT) || *p == '-';
		op->other_process = !op->has_process;
		return op->has_process ? scan_int(s, p, &op->process) : scan_skip(s, p);
	}
	if (span_eq_str(name, "index") && scan_is(*p, SCAN_DIGIT)) {
		if (!(p = scan_int(s, p, &number)))
			return NULL;
		op->index = (uint64_t)number;
		op->has_index = true;
		return p;
	}
	if (span_eq_str(name, "f") && !scan_is(*p, SCAN_DELIMITER)) {
		if (!(p = scan_name(s, p, &word)))
			return NULL;
		op->init = span_eq_str(word, "init");
		return p;
	}
	return scan_skip(s, p);
}

/* Most of the time of a history of many keys is waiting for memory: everything about a key that was
 * not used for a while.  The invocation tells which keys the completion is going to need, so they
 * are fetched now; what they point to, at the next invocation. */
static void expect_keys(struct elle *e, const char *p, const char *end)
{
	const struct values_builder *b = e->b;

	for (uint32_t i = 0; i < e->expected_count; i++) {
		const struct values_list *list = &b->key_lists[e->expected[i]];

		__builtin_prefetch(list->text);
		__builtin_prefetch(list->text + list->text_len);
		__builtin_prefetch(list->item_of_number + list->number_count);
		__builtin_prefetch(list->items + list->count);
	}
	e->expected_count = 0;
	/* A key stands after the first blank of a micro-operation.  A wrong one would do no harm.
	 */
	while (e->expected_count < EXPECTED_MAX && (p = memchr(p, '[', (size_t)(end - p)))) {
		uint32_t x = 0, key;

		while (p < end && !scan_is(*p, SCAN_BLANK))
			p++;
		while (p < end && scan_is(*p, SCAN_BLANK))
			p++;
		for (; p < end && scan_is(*p, SCAN_DIGIT); p++)
			x = x * 10 + (uint32_t)(*p - '0');
		key = values_key_of_number(b, x);
		if (key == VALUES_NONE)
			continue;
		MEM_PREFETCH(&b->key_lists[key]);
		MEM_PREFETCH(&b->v.keys[key]);
		e->expected[e->expected_count++] = key;
	}
}

/* An invocation: its text is kept until the completion. */
static const char *invoked(struct elle *e, const struct op_map *op, const char *p)
{
	struct pending *pending = pending_of(e, values_session_of(e->b, op->process));

	if (pending->open)
		return scan_fail(&e->s, op->value ? op->value : p,
			"process %lld invokes while its previous operation is open; a process does one "
			"operation at a time: give the open one its completion (:info, where it is not "
			"known what became of it), or each session a number of its own",
			(long long)op->process);
	buf_clear(&pending->text);
	if (op->value && opens_vector(&e->s, op->value)) {
		buf_add(&pending->text, op->value, (size_t)(op->value_end - op->value));
		expect_keys(e, op->value, op->value_end);
	}
	pending->index = op->has_index ? op->index : e->position;
	pending->invoke = e->position;
	pending->open = true;
	e->invokes = true;
	return p;
}

static const char *completed(struct elle *e, const struct op_map *op, const char *p)
{
	uint32_t session = values_session_of(e->b, op->process);
	struct pending *pending = pending_of(e, session);
	struct values_txn *txn;

	if (!op->parsed && op->value && opens_vector(&e->s, op->value)) {
		if (!micro_ops(e, op->value, op->type))
			return NULL;
	} else if (!op->parsed && op->type == OP_OK) {
		if (!op->value)
			return scan_fail(&e->s, p,
				"an :ok operation without a :value: not a history of transactions");
		return scan_expected(&e->s, op->value,
			"a vector of micro-operations (this is no history of transactions)");
	} else if (!op->parsed && pending->open) {
		if (!parse_pending(e, pending, op->type))
			return NULL;
	}
	txn = values_end_txn(
		e->b, session, op->has_index ? op->index : e->position, outcome_of[op->type]);
	txn->invoke = pending->open ? pending->invoke : VALUES_NONE;
	txn->complete = e->position;
	pending->open = false;
	return p;
}

/* Transactions without a process are a session each.  An invocation goes with the next completion
 * that has no process either, as Elle pairs them. */
static const char *name_process(struct elle *e, struct op_map *op, const char *p)
{
	bool open = e->nameless != VALUES_NONE;

	if (op->type == OP_INVOKE && open)
		return scan_fail(&e->s, p,
			"an invocation without a :process while another is open: the next completion may belong to either");
	op->has_process = true;
	op->process = (int64_t)(open ? e->nameless : e->position);
	e->nameless = op->type == OP_INVOKE ? e->position : VALUES_NONE;
	return p;
}

static const char *operation(void *context, const char *p)
{
	struct elle *e = context;
	struct op_map op = {0};

	values_begin_txn(e->b);
	p = scan_open(&e->s, p, '{', "an operation (a map)");
	while (p && !scan_close(&e->s, &p)) {
		if (p)
			p = map_entry(e, p, &op);
	}
	if (p && op.type == OP_NONE)
		p = scan_fail(&e->s, p, "an operation without a :type");
	if (p && op.init && op.value && *op.value == '{') {
		if (!pairs(e, op.value, true))
			return NULL;
		op.other_process = true;
	}
	if (p && !op.has_process && !op.other_process)
		p = name_process(e, &op, p);
	if (p && op.other_process) {
		values_drop_txn(e->b);
		e->b->v.counts.records_ignored++;
	} else if (p) {
		p = op.type == OP_INVOKE ? invoked(e, &op, p) : completed(e, &op, p);
	}
	if (!p)
		values_drop_txn(e->b);
	else if (++e->position >= VALUES_COUNT_MAX)
		return scan_fail(&e->s, p, "more than %u operations", VALUES_COUNT_MAX);
	return p;
}

/* What was invoked and never completed may have committed. */
static bool close_open(struct elle *e, struct window *in, struct err *err)
{
	for (size_t s = 0; s < e->pending_count; s++) {
		struct pending *pending = &e->pending[s];

		if (!pending->open)
			continue;
		values_begin_txn(e->b);
		if (!parse_pending(e, pending, OP_INFO))
			return window_error(in, NULL, err);
		values_end_txn(e->b, (uint32_t)s, pending->index, VALUES_UNKNOWN)->invoke =
			pending->invoke;
		e->b->v.counts.open_txns++;
	}
	return true;
}

static bool read_all(struct window *in, struct values_builder *b, bool json, struct err *err)
{
	struct elle e = {.s = {.json = json, .err = err}, .b = b, .nameless = VALUES_NONE};
	bool ok;

	ok = scan_records(&e.s, in, true, operation, &e, err) && close_open(&e, in, err);
	b->v.has_real_time = e.invokes;
	b->v.has_sessions = true;
	for (size_t i = 0; i < e.pending_count; i++)
		buf_release(&e.pending[i].text);
	mem_free(e.pending);
	return ok;
}

bool elle_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	(void)session;
	return read_all(in, b, false, err);
}

bool elle_json_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	(void)session;
	return read_all(in, b, true, err);
}
