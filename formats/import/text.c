/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Line formats.
 *
 * Plume, PolySI, IsoVista: one operation a line, `r(key,value,session,txn)` or `w(...)`, unsigned
 * integers; a transaction's number is unique in the file; -1 marks operations of aborted
 * transactions.  Every key holds 0 initially.  Blank lines occur.  IsoVista's recordings spell that
 * out: their first transaction writes 0 to every key.  It is taken for what it is, the initial state;
 * as a transaction like others it might come at any time, and a read of 0 would prove nothing.
 *
 * AWDIT's tests: `w k v` and `r k v` lines, `-----` ends a transaction, `=====` ends a session.
 * Nothing is initial: the first writes are spelled out.
 */
#include <string.h>

#include "import/import.h"

struct lines {
	struct values_builder *b;
	struct err *err;
	/* Plume */
	struct map txn_of_number;
	uint64_t last_number;
	uint32_t last_txn;
	int64_t last_session_number;
	uint32_t last_session;
	bool fills, other; /* the first transaction wrote initial values; it did something else */
	/* AWDIT */
	int64_t session;
	uint64_t txn_number;
	bool in_txn;
};

/* Takes one line without its newline; on failure *bad is the place. */
typedef bool line_fn(struct lines *l, const char *p, const char *end, const char **bad);

static bool complain(struct lines *l, const char **bad, const char *at, const char *what)
{
	*bad = at;
	return err_set(l->err, ERR_FORMAT, "expected %s", what);
}

/* Whole lines of the window, then more of them.  A last line without newline counts. */
static bool each_line(struct lines *l, struct window *in, line_fn *fn, struct err *err)
{
	if (!window_skip_mark(in, err))
		return false;
	for (;;) {
		const char *p, *stop, *bad = NULL;

		if (!in->eof && !window_more(in, err))
			return false;
		p = in->data + in->pos;
		stop = in->data + in->len;
		while (p < stop) {
			const char *newline = memchr(p, '\n', (size_t)(stop - p));
			const char *end = newline ? newline : stop;

			if (!newline && !in->eof)
				break;
			if (!fn(l, p, end, &bad))
				return window_error(in, bad, err);
			p = newline ? newline + 1 : stop;
		}
		in->pos = (size_t)(p - in->data);
		if (in->eof)
			return true;
	}
}

/* An unsigned integer at *p; false when there is none or it is beyond 64 bits. */
static bool take_uint(const char **p, const char *end, uint64_t *out)
{
	const char *q = *p;
	uint64_t x = 0;

	while (q < end && *q >= '0' && *q <= '9') {
		if (__builtin_mul_overflow(x, (uint64_t)10, &x) ||
			__builtin_add_overflow(x, (uint64_t)(*q - '0'), &x))
			return false;
		q++;
	}
	if (q == *p)
		return false;
	*p = q;
	*out = x;
	return true;
}

static const char *blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

static uint32_t plume_txn(struct lines *l, uint32_t session, uint64_t number, bool aborted)
{
	uint32_t *slot;

	if (aborted)
		return values_open_txn(l->b, session, UINT64_MAX, VALUES_ABORTED);
	if (number == l->last_number && l->last_txn != VALUES_NONE)
		return l->last_txn;
	slot = map_at(&l->txn_of_number, number);
	if (*slot == MAP_NONE)
		*slot = values_open_txn(l->b, session, number, VALUES_COMMITTED);
	l->last_number = number;
	l->last_txn = *slot;
	return *slot;
}

static bool plume_line(struct lines *l, const char *p, const char *end, const char **bad)
{
	uint64_t field[4];
	bool aborted = false, read;
	uint32_t key, atom, item, txn;

	p = blanks(p, end);
	if (p == end)
		return true;
	if (end - p < 2 || (*p != 'r' && *p != 'w' && *p != 'R' && *p != 'W') || p[1] != '(')
		return complain(l, bad, p, "r(key,value,session,txn) or w(...)");
	read = *p == 'r' || *p == 'R';
	p += 2;
	for (int i = 0; i < 4; i++) {
		p = blanks(p, end);
		if (i == 3 && end - p > 1 && p[0] == '-' && p[1] == '1') {
			aborted = true;
			p++;
		}
		if (!take_uint(&p, end, &field[i]))
			return complain(l, bad, p, "an unsigned integer of at most 64 bits");
		p = blanks(p, end);
		if (p == end || *p != (i < 3 ? ',' : ')'))
			return complain(l, bad, p, i < 3 ? "`,'" : "`)'");
		p++;
	}
	if (blanks(p, end) != end)
		return complain(l, bad, p, "the end of the line");
	if (field[2] > INT64_MAX)
		return complain(l, bad, p, "a session number of at most 63 bits");
	if ((int64_t)field[2] != l->last_session_number) {
		l->last_session = values_session_of(l->b, (int64_t)field[2]);
		l->last_session_number = (int64_t)field[2];
	}
	txn = plume_txn(l, l->last_session, field[3], aborted);
	if (l->b->v.txns[txn].session != l->last_session)
		return complain(l, bad, p, "one session a transaction");
	key = values_key_of_atom(l->b, values_atom_of_uint(l->b, field[0]));
	atom = values_atom_of_uint(l->b, field[1]);
	item = field[1] == 0 ? values_initial_item(l->b, key, atom)
			     : values_item_of(l->b, key, atom);
	values_add_op_to(l->b, txn, read ? VALUES_READ : VALUES_WRITE, key, item);
	if (txn == 0) {
		l->fills |= !read && field[1] == 0 && !aborted;
		l->other |= read || field[1] != 0 || aborted;
	}
	return true;
}

/* Leaves the first transaction without operations: what it wrote is the initial state. */
static void drop_first(struct values *v)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < v->op_count; i++) {
		if (v->ops[i].txn != 0)
			v->ops[to++] = v->ops[i];
	}
	v->op_count = to;
}

bool plume_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	struct lines l = {.b = b, .err = err, .last_txn = VALUES_NONE, .last_session_number = -1};
	bool ok = each_line(&l, in, plume_line, err);

	(void)session;
	if (ok && l.fills && !l.other)
		drop_first(&b->v);
	map_release(&l.txn_of_number);
	b->v.has_sessions = true;
	return ok;
}

static void awdit_end(struct lines *l)
{
	if (l->in_txn)
		values_end_txn(l->b, values_session_of(l->b, l->session), l->txn_number++,
			VALUES_COMMITTED);
	l->in_txn = false;
}

static bool awdit_line(struct lines *l, const char *p, const char *end, const char **bad)
{
	uint64_t k, v;
	uint32_t key, item;
	bool read;

	while (end > p && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (p == end)
		return true;
	if (*p == '-' || *p == '=') {
		for (const char *q = p; q < end; q++) {
			if (*q != *p)
				return complain(l, bad, q, "a line of `-' or of `='");
		}
		awdit_end(l);
		l->session += *p == '=';
		return true;
	}
	if (end - p < 5 || (*p != 'r' && *p != 'w') || p[1] != ' ')
		return complain(l, bad, p, "`r KEY VALUE', `w KEY VALUE', a line of `-' or of `='");
	read = *p == 'r';
	p = blanks(p + 1, end);
	if (!take_uint(&p, end, &k))
		return complain(l, bad, p, "a key: an unsigned integer of at most 64 bits");
	p = blanks(p, end);
	if (!take_uint(&p, end, &v))
		return complain(l, bad, p, "a value: an unsigned integer of at most 64 bits");
	if (p != end)
		return complain(l, bad, p, "the end of the line");
	if (!l->in_txn)
		values_begin_txn(l->b);
	l->in_txn = true;
	key = values_key_of_atom(l->b, values_atom_of_uint(l->b, k));
	item = values_item_of(l->b, key, values_atom_of_uint(l->b, v));
	values_add_op(l->b, read ? VALUES_READ : VALUES_WRITE, key, item);
	return true;
}

bool awdit_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	struct lines l = {.b = b, .err = err};
	bool ok = each_line(&l, in, awdit_line, err);

	(void)session;
	if (ok)
		awdit_end(&l);
	b->v.has_sessions = true;
	return ok;
}
