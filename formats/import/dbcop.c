/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dbcop's histories.
 *
 * Bincode, little endian, no padding: five u64 (id, sessions, variables, transactions a session,
 * events a transaction); three strings (u64 length, bytes: database, start, end); u64 sessions;
 * each: u64 transactions; each: u64 events, each (u8 write, u64 variable, u64 value, u8 success);
 * then u8 success.  An event without success is ignored.  Every variable is 0 initially.
 *
 * JSON (dbcop 0.2): {"params":..., "data":[SESSION...]} or the bare array; SESSION is an array of
 * {"events":[{"Read":{"variable":0,"version":1}} or {"Write":{...}}], "committed":true}; a null
 * version is the uninitialised one.
 */
#include "import/binary.h"
#include "import/import.h"
#include "import/scan.h"

enum {
	EVENT_SIZE = 1 + 8 + 8 + 1,
	STRING_MAX = 1 << 16,
};

static bool fail(
	struct window *in, const char *at, struct err *err, enum err_code code, const char *message)
{
	err_set(err, code, "%s", message);
	return window_error(in, at, err);
}

/* At least `need` bytes from pos on. */
static bool have(struct window *in, uint64_t need, struct err *err)
{
	if (need > WINDOW_RECORD_MAX)
		return fail(in, NULL, err, ERR_LIMIT, "a transaction of more than 256 MiB");
	while (in->len - in->pos < need) {
		if (in->eof)
			return fail(in, NULL, err, ERR_FORMAT, "the input ends inside a record");
		if (!window_more(in, err))
			return false;
	}
	return true;
}

static bool take_u64(struct window *in, uint64_t *out, struct err *err)
{
	if (!have(in, 8, err))
		return false;
	*out = get_le64(in->data + in->pos);
	in->pos += 8;
	return true;
}

static bool take_bool(struct window *in, bool *out, struct err *err)
{
	if (!have(in, 1, err))
		return false;
	if ((unsigned char)in->data[in->pos] > 1)
		return fail(in, NULL, err, ERR_FORMAT, "expected a byte 0 or 1");
	*out = in->data[in->pos++] == 1;
	return true;
}

static bool header(struct window *in, struct err *err)
{
	uint64_t len;

	for (int i = 0; i < 5; i++) {
		if (!take_u64(in, &len, err))
			return false;
	}
	for (int i = 0; i < 3; i++) {
		if (!take_u64(in, &len, err))
			return false;
		if (len > STRING_MAX)
			return fail(in, NULL, err, ERR_LIMIT, "a string of the header is too long");
		if (!have(in, len, err))
			return false;
		in->pos += len;
	}
	return true;
}

static bool event(struct window *in, struct values_builder *b, struct err *err)
{
	bool write = false, success = false;
	uint64_t variable = 0, value = 0;
	uint32_t key, atom, item;

	if (!have(in, EVENT_SIZE, err) || !take_bool(in, &write, err) ||
		!take_u64(in, &variable, err) || !take_u64(in, &value, err) ||
		!take_bool(in, &success, err))
		return false;
	if (!success)
		return true;
	key = values_key_of_atom(b, values_atom_of_uint(b, variable));
	atom = values_atom_of_uint(b, value);
	item = value == 0 ? values_initial_item(b, key, atom) : values_item_of(b, key, atom);
	values_add_op(b, write ? VALUES_WRITE : VALUES_READ, key, item);
	return true;
}

static bool transaction(
	struct window *in, struct values_builder *b, uint32_t session, uint64_t id, struct err *err)
{
	uint64_t events;
	bool success;

	if (!take_u64(in, &events, err))
		return false;
	values_begin_txn(b);
	for (uint64_t i = 0; i < events; i++) {
		if (!event(in, b, err))
			return false;
	}
	if (!take_bool(in, &success, err))
		return false;
	values_end_txn(b, session, id, success ? VALUES_COMMITTED : VALUES_ABORTED);
	return true;
}

bool dbcop_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	uint64_t sessions, txns, id = 0;

	(void)session;
	b->v.has_sessions = true;
	if (!header(in, err) || !take_u64(in, &sessions, err))
		return false;
	for (uint64_t s = 0; s < sessions; s++) {
		/* An empty session costs 8 bytes of input, so the loop is bounded by the file. */
		if (!take_u64(in, &txns, err))
			return false;
		for (uint64_t t = 0; t < txns; t++) {
			if (!transaction(in, b, values_session_of(b, (int64_t)s), id++, err))
				return false;
		}
	}
	if (in->pos == in->len && !in->eof && !window_more(in, err))
		return false;
	if (in->pos != in->len)
		return fail(in, NULL, err, ERR_FORMAT, "bytes after the last session");
	return true;
}

/* ---------------------------------------------------------------------------------- JSON */

enum place { AT_START, IN_OBJECT, IN_SESSIONS, IN_SESSION, BEHIND };

struct dbcop {
	struct scan s;
	struct values_builder *b;
	enum place place;
	bool object; /* the sessions stand in an object */
	int64_t session;
	uint64_t id;
};

/* {"Read":{"variable":0,"version":1}} */
static const char *json_event(struct dbcop *d, const char *p)
{
	struct scan *s = &d->s;
	struct span name;
	uint64_t variable = 0, version = 0;
	bool has_variable = false, has_version = false, nil = false, write;
	uint32_t key;

	p = scan_open(s, p, '{', "an event");
	if (!p || !(p = scan_blank(s, p)) || !(p = scan_name(s, p, &name)))
		return NULL;
	write = span_eq_str(name, "Write");
	if (!write && !span_eq_str(name, "Read"))
		return scan_fail(s, p, "expected an event named Read or Write");
	p = scan_open(s, p, '{', "variable and version");
	while (p && !scan_close(s, &p)) {
		if (!p || !(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
			return NULL;
		if (span_eq_str(name, "variable")) {
			has_variable = true;
			p = scan_uint(s, p, &variable);
		} else if (span_eq_str(name, "version")) {
			nil = scan_is_nil(s, p);
			has_version = true;
			p = nil ? scan_skip(s, p) : scan_uint(s, p, &version);
		} else {
			p = scan_skip(s, p);
		}
	}
	if (!p)
		return NULL;
	if (!has_variable || (!has_version && write) || (nil && write))
		return scan_fail(s, p, "an event without variable or version");
	if (!scan_close(s, &p))
		return p ? scan_expected(s, p, "the end of the event") : NULL;
	key = values_key_of_atom(d->b, values_atom_of_uint(d->b, variable));
	if (nil || !has_version) {
		values_add_initial_read(d->b, key);
	} else {
		uint32_t item = values_item_of(d->b, key, values_atom_of_uint(d->b, version));

		values_add_op(d->b, write ? VALUES_WRITE : VALUES_READ, key, item);
	}
	return p;
}

static const char *json_txn(struct dbcop *d, const char *p)
{
	struct scan *s = &d->s;
	struct span name, word;
	bool committed = true, has_events = false;

	values_begin_txn(d->b);
	p = scan_open(s, p, '{', "a transaction");
	while (p && !scan_close(s, &p)) {
		if (!p || !(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
			break;
		if (span_eq_str(name, "events")) {
			has_events = true;
			p = scan_open(s, p, '[', "an array of events");
			while (p && !scan_close(s, &p)) {
				if (p)
					p = json_event(d, p);
			}
		} else if (span_eq_str(name, "committed")) {
			p = scan_token(s, p, &word);
			committed = p && span_eq_str(word, "true");
		} else {
			p = scan_skip(s, p);
		}
	}
	if (p && !has_events)
		p = scan_fail(s, p, "a transaction without events");
	if (!p) {
		values_drop_txn(d->b);
		return NULL;
	}
	values_end_txn(d->b, values_session_of(d->b, d->session), d->id++,
		committed ? VALUES_COMMITTED : VALUES_ABORTED);
	return p;
}

static const char *json_step(void *context, const char *p)
{
	struct dbcop *d = context;
	struct scan *s = &d->s;
	struct span name;

	switch (d->place) {
	case AT_START:
		d->object = *p == '{';
		if (*p != '{' && *p != '[')
			return scan_expected(s, p, "an object or an array of sessions");
		d->place = d->object ? IN_OBJECT : IN_SESSIONS;
		return p + 1;
	case IN_OBJECT:
		if (*p == '}') {
			d->place = BEHIND;
			return p + 1;
		}
		if (!(p = scan_name(s, p, &name)) || !(p = scan_blank(s, p)))
			return NULL;
		if (p == s->end)
			return scan_end(s, p);
		if (!span_eq_str(name, "data"))
			return scan_skip(s, p);
		if (*p != '[')
			return scan_expected(s, p, "an array of sessions");
		d->place = IN_SESSIONS;
		return p + 1;
	case IN_SESSIONS:
		if (*p != '[' && *p != ']')
			return scan_expected(s, p, "a session: an array of transactions");
		d->place = *p == '[' ? IN_SESSION : d->object ? IN_OBJECT : BEHIND;
		return p + 1;
	case IN_SESSION:
		if (*p != ']')
			return json_txn(d, p);
		d->place = IN_SESSIONS;
		d->session++;
		return p + 1;
	case BEHIND:
		break;
	}
	return scan_fail(s, p, "there is text after the history");
}

bool dbcop_json_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	struct dbcop d = {.s = {.json = true, .err = err}, .b = b};

	(void)session;
	b->v.has_sessions = true;
	if (!scan_records(&d.s, in, false, json_step, &d, err))
		return false;
	if (d.place != BEHIND)
		return fail(in, NULL, err, ERR_FORMAT, "the input ends inside the history");
	return true;
}
