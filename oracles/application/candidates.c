/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "application/candidates.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/interrupt.h"
#include "base/mem.h"
#include "base/search.h"

/* More are of no use to a reader, and would fill the memory. */
enum { CANDIDATES_MAX = 4 << 20, MISSES_MAX = 16 << 20 };

/* A read that did not see a version of another transaction that ran at the same time. */
struct missing {
	uint32_t txn, other, stmt, version, position;
};

struct finder {
	const struct history *history;
	const struct accesses *accesses;
	struct candidates *out;
	uint32_t *writes, *first_write; /* versions by transaction, and so by row */
	uint32_t *first_begins;         /* accesses_first_begins() */
	uint32_t *by_row;               /* reads by transaction, then by row, then in their order */
	struct missing *missing;
	size_t missing_count, missing_capacity;
	struct map by_pair; /* first entry of `missing` of a pair */
};

static struct candidate *add(struct finder *f, enum anomaly anomaly)
{
	struct candidates *out = f->out;

	if (out->count >= CANDIDATES_MAX) {
		out->cut++;
		return NULL;
	}
	MEM_RESERVE(out->list, out->count + 1, out->capacity);
	out->list[out->count] = (struct candidate){.anomaly = anomaly,
		.read = ACCESS_NONE,
		.then = ACCESS_NONE,
		.missed = ACCESS_NONE,
		.wrote = ACCESS_NONE,
		.seen = ACCESS_NONE,
		.position = ACCESS_NONE,
		.other_read = ACCESS_NONE,
		.other_position = ACCESS_NONE};
	return &out->list[out->count++];
}

/* Did the two run at the same time?  Else one would have seen the other. */
static bool overlap(const struct history *h, uint32_t a, uint32_t b)
{
	return b != ACCESS_NONE && h->txns[a].begin_seq <= h->txns[b].end_seq && h->txns[b].begin_seq <= h->txns[a].end_seq;
}

static uint32_t begin_of(const struct history *h, uint32_t stmt)
{
	return h->stmts[stmt].begin_seq;
}

static const struct access_version *version_at(const struct accesses *a, uint32_t row, uint32_t position)
{
	return &a->versions[a->rows[row].first + position];
}

/* ---- by transaction ---- */

static void index_reads(struct finder *f)
{
	const struct accesses *a = f->accesses;
	uint32_t *first = mem_zero((size_t)f->history->txn_count + 2, sizeof(*first));

	for (size_t i = 0; i < a->read_count; i++)
		first[a->reads[i].txn + 1]++;
	for (uint32_t t = 0; t < f->history->txn_count; t++)
		first[t + 1] += first[t];
	f->out->first_read = first;
}

static int by_txn_and_row(const void *a, const void *b, void *reads)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct access_read *x = (const struct access_read *)reads + i, *y = (const struct access_read *)reads + k;

	if (x->txn != y->txn)
		return x->txn < y->txn ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (i > k) - (i < k);
}

static void sort_reads(struct finder *f)
{
	const struct accesses *a = f->accesses;

	f->by_row = mem_realloc(NULL, a->read_count + 1, sizeof(*f->by_row));
	for (size_t i = 0; i < a->read_count; i++)
		f->by_row[i] = (uint32_t)i;
	if (a->read_count)
		qsort_r(f->by_row, a->read_count, sizeof(*f->by_row), by_txn_and_row, a->reads);
}

/* The place in by_row of the first read of the row by T; then those follow that are of the same. */
static uint32_t first_of_row(const struct finder *f, uint32_t txn, uint32_t row)
{
	return FIRST_WHERE(i, f->out->first_read[txn], f->out->first_read[txn + 1],
		f->accesses->reads[f->by_row[i]].row >= row);
}

/* The next read of T of the row; NULL: there is no more. */
static const struct access_read *next_of_row(const struct finder *f, uint32_t txn, uint32_t row, uint32_t *at)
{
	const struct access_read *read;

	if (*at >= f->out->first_read[txn + 1])
		return NULL;
	read = &f->accesses->reads[f->by_row[(*at)++]];
	return read->row == row ? read : NULL;
}

static bool writes_row(const struct finder *f, uint32_t txn, uint32_t row)
{
	uint32_t end = f->first_write[txn + 1];
	uint32_t at = FIRST_WHERE(i, f->first_write[txn], end, f->accesses->versions[f->writes[i]].row >= row);

	return at < end && f->accesses->versions[f->writes[at]].row == row;
}

static void index_writes(struct finder *f)
{
	const struct accesses *a = f->accesses;
	uint32_t *first = mem_zero((size_t)f->history->txn_count + 2, sizeof(*first)), *at;

	for (uint32_t i = 0; i < a->version_count; i++)
		if (a->versions[i].txn != ACCESS_NONE)
			first[a->versions[i].txn + 1]++;
	for (uint32_t t = 0; t < f->history->txn_count; t++)
		first[t + 1] += first[t];
	f->writes = mem_realloc(NULL, (size_t)first[f->history->txn_count] + 1, sizeof(*f->writes));
	at = mem_dup(first, ((size_t)f->history->txn_count + 1) * sizeof(*first));
	for (uint32_t i = 0; i < a->version_count; i++)
		if (a->versions[i].txn != ACCESS_NONE)
			f->writes[at[a->versions[i].txn]++] = i;
	f->first_write = first;
	mem_free(at);
}

/* ---- lost updates ---- */

/* T's write of the row came after the other's: always so where probes tell the order; else T's lock was held from its
 * write to its end, and the other's write was answered before that end was sent, so it was before T's write. */
static bool is_certainly_before(const struct access_version *other, const struct access_version *mine)
{
	return other->written < mine->ending;
}

/* Versions that another transaction put between what T read, at most `high`, and what it then met at `met`. */
static void add_lost(struct finder *f, const struct access_read *read, uint32_t met, uint32_t then, uint32_t wrote,
	enum outcome outcome)
{
	const struct accesses *a = f->accesses;

	for (uint32_t p = read->high + 1; p <= met; p++) {
		const struct access_version *v = version_at(a, read->row, p);
		struct candidate *c;

		if (v->txn == ACCESS_NONE || v->txn == read->txn ||
			(wrote != ACCESS_NONE && !is_certainly_before(v, &a->versions[wrote])))
			continue;
		c = add(f, ANOMALY_LOST_UPDATE);
		if (!c)
			return;
		c->outcome = outcome;
		c->txn = read->txn;
		c->other = v->txn;
		c->read = read->stmt;
		c->then = then;
		c->missed = a->rows[read->row].first + p;
		c->wrote = wrote;
		c->position = read->high;
	}
}

/* The last plain read of the row by T before a statement, where it did not see what that then met; and whether
 * another read of T did. */
static const struct access_read *stale_read(
	const struct finder *f, uint32_t txn, uint32_t row, uint32_t met, uint32_t before, bool *fresh)
{
	const struct access_read *stale = NULL, *read;
	uint32_t at = first_of_row(f, txn, row);

	*fresh = false;
	while ((read = next_of_row(f, txn, row, &at)) != NULL) {
		if (read->kind == ACCESS_NO_CHANGE || begin_of(f->history, read->stmt) >= begin_of(f->history, before))
			continue;
		if (read->high >= met)
			*fresh = true; /* or perhaps, where several versions are possible */
		else if (read->kind == ACCESS_PLAIN)
			stale = read;
	}
	return stale;
}

static void find_lost_updates(struct finder *f, uint32_t txn)
{
	const struct accesses *a = f->accesses;
	const struct access_read *stale;
	bool fresh;

	for (uint32_t i = f->first_write[txn]; i < f->first_write[txn + 1]; i++) {
		const struct access_version *v = &a->versions[f->writes[i]];
		uint32_t position = f->writes[i] - a->rows[v->row].first;

		if (position == 0 || v->stmt == ACCESS_NONE)
			continue;
		stale = stale_read(f, txn, v->row, position - 1, v->stmt, &fresh);
		if (stale)
			add_lost(f, stale, position - 1, v->stmt, f->writes[i], fresh ? OUTCOME_FRESH : OUTCOME_WRITTEN);
	}
	for (uint32_t i = f->out->first_read[txn]; i < f->out->first_read[txn + 1]; i++) {
		const struct access_read *found = &a->reads[i];

		if (found->kind != ACCESS_NO_CHANGE)
			continue;
		stale = stale_read(f, txn, found->row, found->low, found->stmt, &fresh);
		if (stale && !fresh)
			add_lost(f, stale, found->low, found->stmt, ACCESS_NONE, OUTCOME_NO_CHANGE);
	}
}

/* A write that found nothing any more is of no harm where the program gives up then: something must have been written
 * after it. */
static void find_gone(struct finder *f)
{
	const struct accesses *a = f->accesses;

	for (size_t i = 0; i < a->gone_count && !interrupt_seen(); i++) {
		const struct access_found_gone *gone = &a->gone[i];
		bool fresh, goes_on = false;
		const struct access_read *stale =
			stale_read(f, gone->txn, gone->row, gone->position + 1, gone->stmt, &fresh);

		for (uint32_t k = f->first_write[gone->txn]; k < f->first_write[gone->txn + 1]; k++) {
			uint32_t stmt = a->versions[f->writes[k]].stmt;

			goes_on |= stmt != ACCESS_NONE && begin_of(f->history, stmt) > begin_of(f->history, gone->stmt);
		}
		if (stale && !fresh && goes_on)
			add_lost(f, stale, gone->position + 1, gone->stmt, ACCESS_NONE, OUTCOME_GONE);
	}
}

/* ---- skew ---- */

static void add_missing(struct finder *f, uint32_t txn, uint32_t stmt, uint32_t version, uint32_t position)
{
	const struct access_version *v = &f->accesses->versions[version];

	if (v->txn == ACCESS_NONE || v->txn == txn || !overlap(f->history, txn, v->txn))
		return;
	if (f->missing_count >= MISSES_MAX) {
		f->out->cut++;
		return;
	}
	MEM_RESERVE(f->missing, f->missing_count + 1, f->missing_capacity);
	f->missing[f->missing_count++] = (struct missing){txn, v->txn, stmt, version, position};
}

/* Whether T read the row again, later, and saw more of it: then it knows. */
static bool is_read_again(const struct finder *f, const struct access_read *read, uint32_t position)
{
	uint32_t at = first_of_row(f, read->txn, read->row);
	const struct access_read *other;

	while ((other = next_of_row(f, read->txn, read->row, &at)) != NULL)
		if (other->high >= position && begin_of(f->history, other->stmt) > begin_of(f->history, read->stmt))
			return true;
	return false;
}

/* Of a row that T writes, too, more is known from its write than from its read: these are lost updates, or none.
 * Where all later versions are of transactions that began after T ended, none of them matters. */
static void find_missing(struct finder *f)
{
	const struct accesses *a = f->accesses;

	for (size_t i = 0; i < a->read_count && !interrupt_seen(); i++) {
		const struct access_read *read = &a->reads[i];
		const struct access_row *row = &a->rows[read->row];

		if (read->kind != ACCESS_PLAIN || read->high + 1 >= row->count || writes_row(f, read->txn, read->row))
			continue;
		for (uint32_t p = read->high + 1; p < row->count; p++) {
			if (f->first_begins[row->first + p] > f->history->txns[read->txn].end_seq)
				break;
			if (overlap(f->history, read->txn, version_at(a, read->row, p)->txn) && !is_read_again(f, read, p))
				add_missing(f, read->txn, read->stmt, row->first + p, read->high);
		}
	}
	for (size_t i = 0; i < a->miss_count; i++) {
		const struct access_miss *miss = &a->misses[i];

		if (!writes_row(f, miss->txn, a->versions[miss->version].row))
			add_missing(f, miss->txn, miss->stmt, miss->version, ACCESS_NONE);
	}
}

static int by_pair(const void *a, const void *b)
{
	const struct missing *x = a, *y = b;
	uint64_t first = candidate_pair(x->txn, x->other), second = candidate_pair(y->txn, y->other);

	if (first != second)
		return first < second ? -1 : 1;
	if (x->version != y->version)
		return x->version < y->version ? -1 : 1;
	return (x->stmt > y->stmt) - (x->stmt < y->stmt);
}

/* All pairs of what the one and what the other missed are candidates: which of them matter, the statements tell. */
static void add_write_skew(struct finder *f, size_t mine, size_t theirs)
{
	enum { EACH_MAX = 16 };
	const struct missing *m = f->missing;
	uint32_t txn = m[mine].txn, other = m[mine].other;

	for (size_t i = mine; i < f->missing_count && i < mine + EACH_MAX && m[i].txn == txn && m[i].other == other; i++) {
		for (size_t k = theirs; k < f->missing_count && k < theirs + EACH_MAX && m[k].txn == other && m[k].other == txn;
			k++) {
			struct candidate *c = add(f, ANOMALY_WRITE_SKEW);

			if (!c)
				return;
			c->txn = txn;
			c->other = other;
			c->read = m[i].stmt;
			c->missed = m[i].version;
			c->position = m[i].position;
			c->wrote = m[k].version;
			c->then = f->accesses->versions[m[k].version].stmt;
			c->other_read = m[k].stmt;
			c->other_position = m[k].position;
		}
	}
}

static void find_write_skew(struct finder *f)
{
	for (size_t i = 0; i < f->missing_count && !interrupt_seen(); i++) {
		const struct missing *m = &f->missing[i];
		uint32_t back;

		if (i && m[-1].txn == m->txn && m[-1].other == m->other)
			continue;
		back = map_get(&f->by_pair, candidate_pair(m->other, m->txn));
		if (m->txn < m->other && back != MAP_NONE)
			add_write_skew(f, i, back);
	}
}

/* T saw a version of the other, and by another statement did not see another one. */
static void find_read_skew(struct finder *f)
{
	const struct accesses *a = f->accesses;

	for (size_t i = 0; i < a->read_count && !interrupt_seen(); i++) {
		const struct access_read *read = &a->reads[i];
		const struct access_version *v = version_at(a, read->row, read->low);
		uint32_t first;

		if (read->kind == ACCESS_NO_CHANGE || read->low != read->high || v->txn == ACCESS_NONE || v->txn == read->txn)
			continue;
		first = map_get(&f->by_pair, candidate_pair(read->txn, v->txn));
		for (size_t k = first; first != MAP_NONE && k < f->missing_count && f->missing[k].txn == read->txn &&
					f->missing[k].other == v->txn;
			k++) {
			const struct missing *m = &f->missing[k];
			struct candidate *c;

			if (m->stmt == read->stmt || a->versions[m->version].row == read->row)
				continue;
			c = add(f, ANOMALY_READ_SKEW);
			if (!c)
				return;
			c->txn = read->txn;
			c->other = v->txn;
			c->read = m->stmt;
			c->then = read->stmt;
			c->missed = m->version;
			c->position = m->position;
			c->seen = a->rows[read->row].first + read->low;
		}
	}
}

void candidates_find(struct candidates *out, const struct history *history, const struct accesses *accesses)
{
	struct finder f = {.history = history, .accesses = accesses, .out = out};

	*out = (struct candidates){0};
	index_reads(&f);
	sort_reads(&f);
	index_writes(&f);
	f.first_begins = accesses_first_begins(accesses, history);
	for (uint32_t t = 0; t < history->txn_count && !interrupt_seen(); t++)
		find_lost_updates(&f, t);
	find_gone(&f);
	find_missing(&f);
	if (f.missing_count)
		qsort(f.missing, f.missing_count, sizeof(*f.missing), by_pair);
	for (size_t i = f.missing_count; i-- > 0;)
		map_put(&f.by_pair, candidate_pair(f.missing[i].txn, f.missing[i].other), (uint32_t)i);
	find_write_skew(&f);
	find_read_skew(&f);
	map_release(&f.by_pair);
	mem_free(f.by_row);
	mem_free(f.first_begins);
	mem_free(f.writes);
	mem_free(f.first_write);
	mem_free(f.missing);
}

void candidates_release(struct candidates *candidates)
{
	mem_free(candidates->list);
	mem_free(candidates->first_read);
	*candidates = (struct candidates){0};
}
