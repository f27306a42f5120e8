/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two JSON formats of one object a transaction.
 *
 * Viper: a directory of J<n>.log, one a session, one transaction a line:
 *	{"value": [["r", key, value, flag], ["w", key, value, flag], ["i", ...], ["d", ...],
 *	           ["range", low, high, [[key, value] or {"id": key, "val": value} ...] ...]]}
 * A null or 0 read is the initial value.  What a range did not return is not kept: its rows are
 * plain reads here, and the range is counted in records_ignored.  Everything committed.
 *
 * Chronos: one array of
 *	{"tid":, "sid":, "sts":{"p":,"l":}, "cts":{"p":,"l":}, "ops":[{"t":"w|r|a","k":,"v":}]}
 * with v an integer, null (initial) or an array (a list read); numbers may be strings.
 */
#include "import/import.h"
#include "import/scan.h"

struct objects {
	struct scan s;
	struct values_builder *b;
	int64_t session; /* Viper: the file */
	uint64_t id;
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
	bool rows = false;

	while (!scan_close(s, &p)) {
		if (!p)
			return NULL;
		if (*p == '[' && !rows) {
			rows = true;
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
		o->b->v.counts.records_ignored++;
	return p;
}

static const char *viper_op(struct objects *o, const char *p)
{
	struct scan *s = &o->s;
	struct span f;
	uint32_t key, value;

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
	if (f.ptr[0] == 'r') {
		p = item_read(o, p, key);
	} else if (f.ptr[0] == 'd' && (*p == ']' || scan_is_nil(s, p))) {
		values_add_op(o->b, VALUES_DELETE, key, VALUES_NONE);
	} else {
		/* A delete with a value leaves a tombstone that reads can name. */
		p = atom(o, p, &value);
		if (p) {
			value = values_item_of(o->b, key, value);
			values_add_op(
				o->b, f.ptr[0] == 'i' ? VALUES_INSERT : VALUES_WRITE, key, value);
		}
	}
	while (p && !scan_close(s, &p)) {
		if (p)
			p = scan_skip(s, p); /* flags, what an insert read */
	}
	return p;
}

static const char *viper_txn(void *context, const char *p)
{
	struct objects *o = context;
	struct scan *s = &o->s;
	struct span name;
	bool has_value = false;

	values_begin_txn(o->b);
	p = scan_open(s, p, '{', "a transaction");
	while (p && !scan_close(s, &p)) {
		if (!p || !(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
			break;
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
	values_end_txn(o->b, values_session_of(o->b, o->session), o->id++, VALUES_COMMITTED);
	return p;
}

bool viper_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	struct objects o = {.s = {.json = true, .err = err}, .b = b, .session = session};

	o.id = b->v.txn_count;
	b->v.has_sessions = true;
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
	return scan_records(&o.s, in, true, chronos_txn, &o, err);
}
