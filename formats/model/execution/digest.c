/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The canonical digest of an execution.  In it: which session sent what and which was answered, in the order of
 * the begins; which of several sessions answered first between two of them is chance (a COMMIT lets
 * a waiting session go on before it is answered itself), so there sessions stand by name; answers,
 * errors, warnings, what was blocked on whom; transactions with level and outcome; the tables' rows
 * before and after.  Not in it: times, the numbers that connections, transactions and records got,
 * the server's version and variables, types and lengths in result heads, the text of errors (it
 * names threads and files), and the recorder's own statements.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/siphash.h"
#include "model/execution/execution.h"

enum { BLOCKERS_MAX = 1000 }; /* looked at, of one statement */

struct event {
	uint64_t seq;
	uint64_t round; /* begins before it */
	enum { EVENT_BEGIN, EVENT_END, EVENT_TXN } kind;
	uint32_t session;
	size_t index;
};

struct digest {
	struct siphash sip;
	struct map txns; /* number to order of appearance */
	uint32_t txn_count;
};

static void add_u64(struct digest *d, uint64_t value)
{
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
	siphash_add(&d->sip, bytes, sizeof(bytes));
}

static void add_span(struct digest *d, struct span s)
{
	add_u64(d, s.ptr ? s.len : UINT64_MAX);
	siphash_add(&d->sip, s.ptr, s.len);
}

/* Values by meaning: an encoder may choose other widths for the same number. */
static void add_row(struct digest *d, struct span row)
{
	struct mp mp = mp_over(row);
	uint32_t count = mp_array(&mp);
	struct buf one = BUF_INIT;

	add_u64(d, count);
	for (uint32_t i = 0; i < count; i++) {
		struct value value;

		if (!value_read(&mp, &value))
			break;
		buf_clear(&one);
		value_pack(&one, &value);
		add_span(d, buf_span(&one));
	}
	buf_release(&one);
}

static void add_rows(struct digest *d, const struct execution_rows *rows)
{
	add_u64(d, rows->total);
	add_u64(d, rows->count);
	for (size_t i = 0; i < rows->count; i++)
		add_row(d, rows->rows[i]);
}

static void add_column_names(struct digest *d, struct span columns)
{
	struct mp mp = mp_over(columns);
	uint32_t count = columns.ptr ? mp_array(&mp) : 0;

	add_u64(d, count);
	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct span column = mp_raw(&mp);
		struct mp inner = mp_over(column);

		if (mp_array(&inner))
			add_span(d, mp_bytes(&inner));
	}
}

static uint64_t txn_order(struct digest *d, uint64_t txn)
{
	uint32_t *slot;

	if (!txn)
		return 0;
	slot = map_at(&d->txns, txn);
	if (*slot == MAP_NONE)
		*slot = ++d->txn_count;
	return *slot;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The blockers' indexes, sorted: the order they were seen in is chance. */
static void add_blockers(struct digest *d, const struct execution *e, struct span blockers)
{
	struct mp mp = mp_over(blockers);
	uint32_t told = blockers.ptr ? mp_array(&mp) : 0;
	uint32_t count = told < BLOCKERS_MAX ? told : BLOCKERS_MAX;
	uint64_t *found = mem_zero((size_t)count + 1, sizeof(*found));

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		uint64_t number = mp_uint(&mp);

		for (size_t j = 0; j < e->session_count; j++)
			if (e->sessions[j].number == number)
				found[i] = j + 1;
	}
	qsort(found, count, sizeof(*found), by_number);
	add_u64(d, count);
	for (uint32_t i = 0; i < count; i++)
		add_u64(d, found[i]);
	mem_free(found);
}

static void add_begin(struct digest *d, const struct execution *e, const struct execution_stmt *s)
{
	add_span(d, e->sessions[s->session].name);
	add_u64(d, s->ordinal);
	add_u64(d, s->record.command);
	add_span(d, s->sql);
	add_span(d, s->record.params);
}

static void add_end(struct digest *d, const struct execution *e, const struct execution_stmt *s)
{
	const struct record_stmt *r = &s->record;

	add_span(d, e->sessions[s->session].name);
	add_u64(d, s->ordinal);
	add_u64(d, r->flags & (STMT_NO_REPLY | STMT_TEXT_CUT | STMT_NOT_KEPT));
	add_u64(d, txn_order(d, r->txn));
	add_u64(d, r->affected);
	add_u64(d, r->insert_id);
	add_u64(d, r->warnings);
	add_u64(d, r->error);
	add_span(d, r->sqlstate);
	add_u64(d, execution_blocked(s));
	add_blockers(d, e, r->blockers);
	add_u64(d, s->set_count);
	for (uint32_t i = 0; i < s->set_count; i++) {
		add_column_names(d, s->sets[i].columns);
		add_rows(d, &s->sets[i]);
	}
}

static void add_txn(struct digest *d, const struct execution *e, const struct execution_txn *t)
{
	const struct record_txn *r = &t->record;

	add_span(d, e->sessions[t->session].name);
	add_u64(d, txn_order(d, r->txn));
	add_u64(d, r->event);
	add_u64(d, r->level);
	add_u64(d, (uint64_t)r->read_only | (uint64_t)r->consistent_snapshot << 1 |
			   (uint64_t)r->autocommit << 2);
	add_u64(d, r->outcome);
	add_span(d, r->name);
	add_span(d, r->reason);
}

static int event_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->seq != y->seq)
		return x->seq < y->seq ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

static int canonical_order(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->round != y->round)
		return x->round < y->round ? -1 : 1;
	if ((x->kind == EVENT_BEGIN) != (y->kind == EVENT_BEGIN))
		return x->kind == EVENT_BEGIN ? -1 : 1;
	if (x->session != y->session)
		return x->session < y->session ? -1 : 1;
	return event_order(a, b);
}

static struct event *collect(const struct execution *e, size_t *count)
{
	struct event *events = mem_zero(2 * e->stmt_count + e->txn_count + 1, sizeof(*events));
	uint64_t round = 0;
	size_t n = 0;

	for (size_t i = 0; i < e->stmt_count; i++) {
		const struct execution_stmt *s = &e->stmts[i];

		events[n++] = (struct event){s->record.begin_seq, 0, EVENT_BEGIN, s->session, i};
		events[n++] = (struct event){s->record.seq, 0, EVENT_END, s->session, i};
	}
	for (size_t i = 0; i < e->txn_count; i++)
		events[n++] =
			(struct event){e->txns[i].record.seq, 0, EVENT_TXN, e->txns[i].session, i};
	qsort(events, n, sizeof(*events), event_order);
	for (size_t i = 0; i < n; i++) {
		round += events[i].kind == EVENT_BEGIN;
		events[i].round = round;
	}
	qsort(events, n, sizeof(*events), canonical_order);
	*count = n;
	return events;
}

void execution_digest(const struct execution *e, char out[33])
{
	static const unsigned char key[16] = "isotrace digest";
	struct digest d = {.txns = MAP_INIT};
	unsigned char bytes[16];
	struct event *events;
	size_t count;

	siphash_init(&d.sip, key, true);
	events = collect(e, &count);
	for (size_t i = 0; i < count; i++) {
		add_u64(&d, events[i].kind);
		switch (events[i].kind) {
		case EVENT_BEGIN:
			add_begin(&d, e, &e->stmts[events[i].index]);
			break;
		case EVENT_END:
			add_end(&d, e, &e->stmts[events[i].index]);
			break;
		case EVENT_TXN:
			add_txn(&d, e, &e->txns[events[i].index]);
			break;
		}
	}
	for (size_t i = 0; i < e->table_count; i++) {
		add_span(&d, e->tables[i].schema.name);
		add_rows(&d, &e->tables[i].initial);
		add_rows(&d, &e->tables[i].final);
	}
	mem_free(events);
	map_release(&d.txns);
	siphash_final(&d.sip, bytes);
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}
