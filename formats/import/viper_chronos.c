/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two JSON formats of one object a transaction.
 *
 * Viper: a directory of J<n>.log, one a session, one transaction a line:
 *	{"value": [["r", key, value, flag], ["w", key, value, flag], ["i", ...], ["d", ...],
 *	           ["range", low, high, [[key, value] or {"id": key, "val": value} ...], [...]]]}
 * The flag after a write says whether it was done.  One that was not is left out; a transaction
 * all of whose writes were not done has aborted.  A null or 0 read is the initial value, and so is
 * what the transaction marked "isInitial" wrote.  Without such a transaction the history began with
 * a filled database, and a value that no transaction wrote is the initial one (Viper reads it so).  The two
 * lists of a range are the rows it returned and the deleted ones that it saw; both are plain reads
 * here.  What it did not return is not kept, and the range is counted in records_ignored.
 *
 * Chronos: one array of
 *	{"tid":, "sid":, "sts":{"p":,"l":}, "cts":{"p":,"l":}, "ops":[{"t":"w|r|a","k":,"v":}]}
 * with v an integer, null (initial) or an array (a list read); numbers may be strings.  Where no
 * read found null, 0 is initial (Chronos' --initial_value is null or 0 "in most cases").
 */
#include "import/import.h"
#include "import/scan.h"

struct objects {
	struct scan s;
	struct values_builder *b;
	int64_t session; /* Viper: the file */
	uint64_t id;
	bool initial;      /* Viper: in the transaction that filled the database */
	uint32_t undone;   /* Viper: writes of this transaction that were not done */
	uint32_t done;
};

/* A key or a value. */
static const char *atom(struct objects *o, const char *p, uint32_t *out)
{
	struct scan *s = &o->s;
	const char *q;

	if (scan_is(*p, SCAN_DIGIT)) {
		int64_t number;
		struct scan quiet = *s;

		quiet.err = NULL;
		q = scan_int(&quiet, p, &number);
		s->more = quiet.more;
		if (q) {
			*out = values_atom_of_int(o->b, number);
			return q;
		}
		if (quiet.more)
			return NULL;
	}
	q = scan_skip(s, p);
	if (q)
		*out = values_atom_of_text(o->b, span_of(p, (size_t)(q - p)));
	return q;
}

static const char *item_read(struct objects *o, const char *p, uint32_t key)
{
	uint32_t value;

	if (scan_is_nil(&o->s, p)) {
		values_add_initial_read(o->b, key);
		return scan_skip(&o->s, p);
	}
	if (!(p = atom(o, p, &value)))
		return NULL;
	if (o->initial) {
		values_initial_item(o->b, key, value);
		return p;
	}
	value = value == 0 ? values_initial_item(o->b, key, 0) : values_item_of(o->b, key, value);
	values_add_op(o->b, VALUES_READ, key, value);
	return p;
}

/* One row of a range: [key, value ...] or {"id": key, "val": value ...}. */
static const char *range_row(struct objects *o, const char *p)
{
	struct scan *s = &o->s;
	uint32_t key = VALUES_NONE;
	const char *value = NULL;
	bool object = *p == '{';
	struct span name;

	if (*p != '[' && *p != '{')
		return scan_expected(s, p, "a row of a range");
	p++;
	for (int i = 0; !scan_close(s, &p); i++) {
		bool is_key = i == 0, is_value = i == 1;

		if (!p)
			return NULL;
		if (object) {
			if (!(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
				return NULL;
			is_key = span_eq_str(name, "id");
			is_value = span_eq_str(name, "val");
		}
		if (is_key) {
			if (!(p = atom(o, p, &key)))
				return NULL;
			key = values_key_of_atom(o->b, key);
			continue;
		}
		if (is_value)
			value = p;
		if (!(p = scan_skip(s, p)))
			return NULL;
	}
	if (!p)
		return NULL;
	if (key == VALUES_NONE || !value)
		return scan_fail(s, p, "a row of a range without key or value");
	return item_read(o, value, key) ? p : NULL;
}

static const char *range(struct objects *o, const char *p)
{
	struct scan *s = &o->s;

	while (!scan_close(s, &p)) {
		if (!p)
			return NULL;
		if (*p == '[') {
			p++;
			while (!scan_close(s, &p)) {
				if (!p || !(p = range_row(o, p)))
					return NULL;
			}
		} else {
			p = scan_skip(s, p);
		}
		if (!p)
			return NULL;
	}
	if (p)
		o->b->v.counts.records_ignored += !o->initial;
	return p;
}

/* After key and value: flags, and what an insert read.  The last one tells whether a write was
 * done. */
static const char *viper_flags(struct objects *o, const char *p, bool *done)
{
	struct scan *s = &o->s;

	*done = true;
	while (p && !scan_close(s, &p)) {
		const char *at = p;

		if (p)
			p = scan_skip(s, p);
		if (p)
			*done = !(p - at == 5 && memcmp(at, "false", 5) == 0);
	}
	return p;
}

static const char *viper_write(struct objects *o, const char *p, char f, uint32_t key)
{
	struct scan *s = &o->s;
	enum values_op_kind kind = f == 'i' ? VALUES_INSERT : VALUES_WRITE;
	uint32_t value = VALUES_NONE;
	bool done;

	if (f == 'd' && (*p == ']' || scan_is_nil(s, p))) {
		kind = VALUES_DELETE;
	} else {
		/* A delete with a value leaves a tombstone that reads can name. */
		if (!(p = atom(o, p, &value)))
			return NULL;
		if (o->initial)
			values_initial_item(o->b, key, value);
		value = values_item_of(o->b, key, value);
	}
	p = viper_flags(o, p, &done);
	if (!p || o->initial)
		return p;
	values_add_op(o->b, kind, key, value);
	if (!done)
		o->b->v.ops[o->b->v.op_count - 1].flags |= VALUES_OP_UNDONE;
	o->done += done;
	o->undone += !done;
	return p;
}

static const char *viper_op(struct objects *o, const char *p)
{
	struct scan *s = &o->s;
	struct span f;
	uint32_t key;
	bool done;

	p = scan_open(s, p, '[', "an operation");
	if (!p || !(p = scan_blank(s, p)) || !(p = scan_name(s, p, &f)))
		return NULL;
	if (span_eq_str(f, "range"))
		return range(o, p);
	if (f.len != 1 || !strchr("rwid", f.ptr[0]))
		return scan_fail(s, p, "expected an operation r, w, i, d or range");
	if (!(p = scan_blank(s, p)) || !(p = atom(o, p, &key)) || !(p = scan_blank(s, p)))
		return NULL;
	key = values_key_of_atom(o->b, key);
	if (f.ptr[0] == 'r')
		return (p = item_read(o, p, key)) ? viper_flags(o, p, &done) : NULL;
	return viper_write(o, p, f.ptr[0], key);
}

/* Leaves out the writes that were not done, except when none was: then nothing was. */
static void viper_drop_undone(struct objects *o)
{
	struct values *v = &o->b->v;
	uint32_t to = o->b->mark_ops;

	for (uint32_t i = to; i < v->op_count; i++) {
		bool keep = !(v->ops[i].flags & VALUES_OP_UNDONE) || o->done == 0;

		v->ops[i].flags &= (uint8_t)~VALUES_OP_UNDONE;
		if (keep)
			v->ops[to++] = v->ops[i];
	}
	v->op_count = to;
}

static const char *viper_txn(void *context, const char *p)
{
	struct objects *o = context;
	struct scan *s = &o->s;
	struct span name;
	bool has_value = false;
	const char *start = p;

	values_begin_txn(o->b);
	o->done = o->undone = 0;
	p = scan_open(s, p, '{', "a transaction");
	while (p && !scan_close(s, &p)) {
		if (!p || !(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
			break;
		if (span_eq_str(name, "isInitial") && !o->initial && *p == 't') {
			/* Once more, knowing it. */
			values_drop_txn(o->b);
			o->initial = true;
			p = viper_txn(context, start);
			o->initial = false;
			return p;
		}
		if (!span_eq_str(name, "value")) {
			p = scan_skip(s, p);
			continue;
		}
		has_value = true;
		p = scan_open(s, p, '[', "an array of operations");
		while (p && !scan_close(s, &p)) {
			if (p)
				p = viper_op(o, p);
		}
	}
	if (p && !has_value)
		p = scan_fail(s, p, "a transaction without \"value\"");
	if (!p) {
		values_drop_txn(o->b);
		return NULL;
	}
	if (o->initial) {
		o->b->initial_rule = VALUES_INITIAL_KNOWN;
		o->b->has_initial_txn = true;
		values_drop_txn(o->b);
		return p;
	}
	if (o->undone)
		viper_drop_undone(o);
	values_end_txn(o->b, values_session_of(o->b, o->session), o->id++,
		o->undone && !o->done ? VALUES_ABORTED : VALUES_COMMITTED);
	return p;
}

bool viper_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	struct objects o = {.s = {.json = true, .err = err}, .b = b, .session = session};

	o.id = b->v.txn_count;
	b->v.has_sessions = true;
	if (!b->has_initial_txn)
		b->initial_rule = VALUES_INITIAL_UNWRITTEN;
	return scan_records(&o.s, in, true, viper_txn, &o, err);
}

/* ------------------------------------------------------------------------------- Chronos */

static const char *hybrid(struct objects *o, const char *p, uint64_t *physical, uint32_t *logical)
{
	struct scan *s = &o->s;
	struct span name;
	uint64_t l = 0;

	p = scan_open(s, p, '{', "a timestamp");
	while (p && !scan_close(s, &p)) {
		if (!p || !(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
			return NULL;
		if (span_eq_str(name, "p"))
			p = scan_uint(s, p, physical);
		else if (span_eq_str(name, "l"))
			p = scan_uint(s, p, &l);
		else
			p = scan_skip(s, p);
	}
	if (p && l > UINT32_MAX)
		return scan_fail(s, p, "a logical clock beyond 32 bits");
	*logical = (uint32_t)l;
	return p;
}

static const char *list_read(struct objects *o, const char *p, uint32_t key)
{
	o->b->own_count = 0;
	p++;
	while (!scan_close(&o->s, &p)) {
		uint32_t value;

		if (!p || !(p = atom(o, p, &value)))
			return NULL;
		value = values_item_of(o->b, key, value);
		values_own_add(o->b, value);
	}
	if (p)
		values_add_list_read(o->b, key, true);
	return p;
}

static const char *chronos_op(struct objects *o, const char *p)
{
	struct scan *s = &o->s;
	struct span name, type = SPAN_NONE;
	const char *value = NULL;
	uint32_t key = VALUES_NONE, atom_id;

	p = scan_open(s, p, '{', "an operation");
	while (p && !scan_close(s, &p)) {
		if (!p || !(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
			return NULL;
		if (span_eq_str(name, "t")) {
			p = scan_name(s, p, &type);
		} else if (span_eq_str(name, "k")) {
			if (!(p = atom(o, p, &key)))
				return NULL;
			key = values_key_of_atom(o->b, key);
		} else {
			if (span_eq_str(name, "v"))
				value = p;
			p = scan_skip(s, p);
		}
	}
	if (!p)
		return NULL;
	if (type.len != 1 || !strchr("rwa", type.ptr[0]) || key == VALUES_NONE)
		return scan_fail(s, p, "expected an operation with t (r, w or a) and k");
	if (type.ptr[0] == 'r') {
		if (!value || scan_is_nil(s, value))
			values_add_initial_read(o->b, key);
		else if (*value == '[')
			return list_read(o, value, key) ? p : NULL;
		else if (!atom(o, value, &atom_id))
			return NULL;
		else
			values_add_op(o->b, VALUES_READ, key, values_item_of(o->b, key, atom_id));
		return p;
	}
	if (!value || scan_is_nil(s, value))
		return scan_fail(s, p, "a write without v");
	if (!atom(o, value, &atom_id))
		return NULL;
	values_add_op(o->b, type.ptr[0] == 'w' ? VALUES_WRITE : VALUES_APPEND, key,
		values_item_of(o->b, key, atom_id));
	return p;
}

static const char *chronos_txn(void *context, const char *p)
{
	struct objects *o = context;
	struct scan *s = &o->s;
	struct span name;
	struct values_stamp stamp = {0};
	int64_t session = 0;
	uint64_t tid = o->id;
	bool start = false, commit = false;

	values_begin_txn(o->b);
	p = scan_open(s, p, '{', "a transaction");
	while (p && !scan_close(s, &p)) {
		if (!p || !(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
			break;
		if (span_eq_str(name, "ops")) {
			p = scan_open(s, p, '[', "an array of operations");
			while (p && !scan_close(s, &p)) {
				if (p)
					p = chronos_op(o, p);
			}
		} else if (span_eq_str(name, "sid")) {
			p = scan_int(s, p, &session);
		} else if (span_eq_str(name, "tid")) {
			p = scan_uint(s, p, &tid);
		} else if (span_eq_str(name, "sts")) {
			start = true;
			p = hybrid(o, p, &stamp.start, &stamp.start_logical);
		} else if (span_eq_str(name, "cts")) {
			commit = true;
			p = hybrid(o, p, &stamp.commit, &stamp.commit_logical);
		} else {
			p = scan_skip(s, p);
		}
	}
	if (p && (!start || !commit))
		p = scan_fail(s, p, "a transaction without sts or cts");
	if (!p) {
		values_drop_txn(o->b);
		return NULL;
	}
	o->id++;
	values_end_txn(o->b, values_session_of(o->b, session), tid, VALUES_COMMITTED);
	values_add_stamp(o->b, &stamp);
	return p;
}

bool chronos_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	struct objects o = {.s = {.json = true, .err = err}, .b = b};

	(void)session;
	b->v.has_sessions = true;
	b->initial_rule = VALUES_INITIAL_ZERO;
	return scan_records(&o.s, in, true, chronos_txn, &o, err);
}
