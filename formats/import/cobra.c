/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cobra's logs: a directory of T<n>.log, one a session, big endian:
 *	'S' txn(8)                                      begin
 *	'W' write-id(8) key(8) value(8)
 *	'R' writer-txn(8) write-id(8) key(8) value(8)
 *	'C' txn(8)                                      commit
 * In one mode 8 bytes of time follow S and C; which mode a file has is told by which of the two
 * readings of its beginning makes sense.
 *
 * A read is matched by (writer transaction, write id), never by the hash of its value: hashes of
 * equal values are equal.  0xbebeebee is the initial write, 0xdeadbeef a read of nothing (initial
 * too); reads of the garbage collection's markers tell nothing and are dropped.  Logs that were
 * recorded without write ids have 0xabddefee for every id, in W and in R: there the hash of the
 * value is all there is, and writes of equal values cannot be distinguished.  No transaction aborts;
 * one that does not end in the log has an unknown outcome.
 */
#include <stdio.h>

#include "import/binary.h"
#include "import/import.h"

#define ID_INITIAL 0xbebeebeeu
#define ID_NULL    0xdeadbeefu
#define ID_GC_1    0x23332333u
#define ID_GC_2    0x66666666u
#define ID_ANY     0xabddefeeu

enum { PROBE_RECORDS = 16 };

struct cobra {
	struct window *in;
	struct values_builder *b;
	struct err *err;
	uint32_t session;
	size_t stamp; /* bytes after S and C */
	uint64_t txn;
	bool open;
};

/* Length of the record that begins with c, 0: there is no such. */
static size_t record_size(char c, size_t stamp)
{
	switch (c) {
	case 'S':
	case 'C':
		return 9 + stamp;
	case 'W':
		return 25;
	case 'R':
		return 33;
	default:
		return 0;
	}
}

/* How many records of the window make sense with this stamp size. */
static int plausible(const struct window *in, size_t stamp)
{
	size_t at = in->pos;
	int count = 0;

	while (count < PROBE_RECORDS && at < in->len) {
		size_t size = record_size(in->data[at], stamp);

		if (size == 0)
			return -1;
		at += size;
		count++;
	}
	return count;
}

static uint32_t write_item(
	struct values_builder *b, uint32_t key, uint64_t txn, uint64_t id, uint64_t value)
{
	char text[40];
	int len = id == ID_ANY
			  ? snprintf(text, sizeof(text), "#%llx", (unsigned long long)value)
			  : snprintf(text, sizeof(text), "%llx.%llx", (unsigned long long)txn,
				    (unsigned long long)id);

	return values_item_of(b, key, values_atom_of_text(b, span_of(text, (size_t)len)));
}

static void read_record(
	struct cobra *c, uint64_t writer, uint64_t id, uint32_t key, uint64_t value)
{
	if (id == ID_INITIAL || id == ID_NULL || writer == ID_INITIAL || writer == ID_NULL)
		values_add_initial_read(c->b, key);
	else if (id == ID_GC_1 || id == ID_GC_2 || writer == ID_GC_1 || writer == ID_GC_2)
		c->b->v.counts.reads_unknown++;
	else
		values_add_op(c->b, VALUES_READ, key, write_item(c->b, key, writer, id, value));
}

static bool record(struct cobra *c, const char *p)
{
	struct values_builder *b = c->b;
	uint64_t a = get_be64(p + 1);
	uint32_t key;

	if (*p == 'S') {
		if (c->open)
			return err_set(c->err, ERR_FORMAT, "a transaction begins inside another");
		c->open = true;
		c->txn = a;
		values_begin_txn(b);
		return true;
	}
	if (!c->open)
		return err_set(c->err, ERR_FORMAT, "a `%c' record outside a transaction", *p);
	if (*p == 'C') {
		if (a != c->txn)
			return err_set(c->err, ERR_FORMAT, "transaction %llx commits inside %llx",
				(unsigned long long)a, (unsigned long long)c->txn);
		values_end_txn(b, c->session, c->txn, VALUES_COMMITTED);
		c->open = false;
	} else if (*p == 'W') {
		key = values_key_of_atom(b, values_atom_of_uint(b, get_be64(p + 9)));
		values_add_op(b, VALUES_WRITE, key,
			write_item(b, key, c->txn, a, get_be64(p + 17)));
	} else {
		key = values_key_of_atom(b, values_atom_of_uint(b, get_be64(p + 17)));
		read_record(c, a, get_be64(p + 9), key, get_be64(p + 25));
	}
	return true;
}

bool cobra_read(struct window *in, struct values_builder *b, int64_t session, struct err *err)
{
	struct cobra c = {.in = in, .b = b, .err = err};
	int without, with;

	c.session = values_session_of(b, session);
	b->v.has_sessions = true;
	while (!in->eof && in->len < PROBE_RECORDS * 64) {
		if (!window_more(in, err))
			return false;
	}
	without = plausible(in, 0);
	with = plausible(in, 8);
	c.stamp = without < 0 && with > 0 ? 8 : 0;
	for (;;) {
		size_t size = in->pos < in->len ? record_size(in->data[in->pos], c.stamp) : 0;

		if (in->pos < in->len && size == 0) {
			err_set(err, ERR_FORMAT,
				"expected a record S, W, R or C, found byte 0x%02x",
				(unsigned char)in->data[in->pos]);
			return window_error(in, NULL, err);
		}
		if (in->len - in->pos < size || in->pos == in->len) {
			if (!in->eof) {
				if (!window_more(in, err))
					return false;
				continue;
			}
			if (in->pos == in->len)
				break;
			err_set(err, ERR_FORMAT, "the input ends inside a record");
			return window_error(in, NULL, err);
		}
		if (!record(&c, in->data + in->pos))
			return window_error(in, NULL, err);
		in->pos += size;
	}
	if (c.open) {
		values_end_txn(b, c.session, c.txn, VALUES_UNKNOWN);
		b->v.counts.open_txns++;
	}
	return true;
}
