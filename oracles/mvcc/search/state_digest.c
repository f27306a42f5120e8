/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two digests of the state that the trail restores.  Both are made from the lists of trailed fields (*_TRAILED in
 * store.h, solver.h and foreign_keys.h), so that a field that can change cannot be left out by oversight.
 *
 * state_digest: equal for two states from which the rest of the schedule goes on in the same way.  Most orders of
 * statements that overlap lead to the same state, and a search that found no way from one need not try from it again.
 * Whatever decides about what is to come is in it.  Counts of commits are in it only as far as they are compared.
 * What was done before the first choice is the same in every order that is left, and is not in it: transactions that
 * were over by then, and rows that were neither written nor locked since.  So its cost does not grow with the trace.
 *
 * state_fingerprint: everything, as it is.  Going back must restore it exactly, which builds with
 * -Dexpensive_checks=true test: each time where the schedule is short, else at some of the marks, so that the cost stays
 * linear.  A field that one return did not restore is noticed at a later one.
 */
#include "mvcc/search/state_digest.h"

#include "base/buf.h"
#include "base/bug.h"
#include "eval/value/decimal.h"
#include "mvcc/explain/explain.h"
#include "mvcc/plan/foreign_key_list.h"
#include "mvcc/solver.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return hash_mix(hash ^ word ^ hash_seed, 0x9e3779b97f4a7c15u) + hash * 0xd6e8feb86659fd93u;
}

static uint64_t mix_span(uint64_t hash, struct span s)
{
	return mix(mix(hash, s.len), s.len ? hash_bytes(s.ptr, s.len) : 0);
}

static uint64_t mix_value(uint64_t hash, const struct eval_value *v)
{
	uint64_t bits;

	hash = mix(hash, v->kind);
	switch ((enum eval_kind)v->kind) {
	case EVAL_NULL:
		return hash;
	case EVAL_INT:
	case EVAL_UINT:
	case EVAL_OPAQUE:
		return mix(hash, v->u);
	case EVAL_DOUBLE:
		memcpy(&bits, &v->d, sizeof(bits));
		return mix(hash, bits);
	case EVAL_DECIMAL:
		hash = mix(hash, (uint64_t)v->dec->neg << 16 | (uint64_t)v->dec->scale << 8 | v->dec->count);
		return mix(hash, hash_bytes(v->dec->words, v->dec->count * sizeof(v->dec->words[0])));
	case EVAL_STRING:
		return mix_span(mix(hash, v->collation), v->s);
	case EVAL_DATE:
	case EVAL_TIME:
	case EVAL_DATETIME:
		hash = mix(hash, (uint64_t)v->t.year << 32 | (uint64_t)v->t.month << 24 | (uint64_t)v->t.day << 16 |
					 (uint64_t)v->t.neg << 8 | v->decimals);
		return mix(hash, (uint64_t)v->t.hour << 48 | (uint64_t)v->t.minute << 40 |
					 (uint64_t)v->t.second << 32 | v->t.micro);
	}
	return hash;
}

static uint64_t mix_row(uint64_t hash, const struct eval_table *def, const struct eval_value *row)
{
	if (!row)
		return mix(hash, 0);
	for (uint32_t c = 0; c < def->column_count; c++)
		hash = mix_value(hash, &row[c]);
	return mix(hash, 1);
}

/* Numbers of commits: what all open transactions have seen, and from where on the order of commits matters, since
 * a statement under way has yet to choose how many of them it sees. */
enum { RECENT_MAX = 256 };

struct commits {
	uint32_t all_saw, order_from, fixed;
	uint32_t first_wait; /* event at which the first of the statements under way was sent */
	uint32_t recent[RECENT_MAX]; /* transactions that committed after the first, and are not over for good */
	uint32_t count;
};

static bool is_there(const struct store_txn *t)
{
	return t->state == STORE_ACTIVE && (t->began != STORE_NONE || t->used || t->tables || t->undo || t->hidden);
}

/* False: there are too many. */
static bool commits_of(const struct mvcc *m, struct commits *c)
{
	c->order_from = m->store.commits;
	c->count = 0;
	c->first_wait = m->search.event;
	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		const struct stmt_run *run = &m->runs[m->search.in_flight[i]];

		if (run->state == STMT_DONE)
			continue;
		lower_to(&c->order_from, run->begin_commits);
		lower_to(&c->first_wait, run->begin_event);
	}
	c->all_saw = c->order_from;
	c->fixed = m->search.fixed_commits;
	for (size_t i = 0; i < m->search.live_count; i++) {
		const struct store_txn *t = &m->store.txns[m->search.live[i]];

		if (!is_there(t))
			continue;
		lower_to(&c->all_saw, t->first_commits);
		if (t->view == STORE_NONE)
			continue;
		lower_to(&c->all_saw, t->view);
		lower_to(&c->all_saw, t->view_low);
		lower_to(&c->all_saw, t->view_high);
	}
	for (size_t i = 0; i < m->search.live_count; i++) {
		const struct store_txn *t = &m->store.txns[m->search.live[i]];

		if (t->state != STORE_COMMITTED || t->commit_no <= c->all_saw || t->commit_no <= c->fixed ||
			!(t->undo || t->hidden))
			continue;
		if (c->count == RECENT_MAX)
			return false;
		c->recent[c->count++] = m->search.live[i];
	}
	return true;
}

/* Which commits a read view has seen. */
static uint64_t mix_seen(uint64_t hash, const struct mvcc *m, const struct commits *c, uint32_t number)
{
	if (number >= c->order_from)
		return mix(hash, (uint64_t)1 << 32 | (number - c->order_from));
	/* Commits have the same numbers up to this in every order that is left. */
	hash = mix(hash, number < c->fixed ? number : c->fixed);
	for (uint32_t i = 0; i < c->count; i++) {
		if (m->store.txns[c->recent[i]].commit_no <= number)
			hash = mix(hash, c->recent[i]);
	}
	return mix(hash, 0);
}

static uint64_t mix_version(uint64_t hash, const struct eval_table *def, const struct store_version *v)
{
	return mix_row(mix(hash, (uint64_t)v->unknown << 1 | v->maybe), def, v->image);
}

/* All versions that an open transaction may yet see, or look at because of those. */
static uint64_t chain(
	const struct mvcc *m, const struct commits *c, const struct store_table *table, const struct store_record *record)
{
	uint64_t hash = 0, locks = 0;
	const struct store_version *v = record->newest;
	bool seen = false, fixed = false;

	for (; v; v = v->previous) {
		const struct store_txn *t = &m->store.txns[v->txn];

		seen = t->state == STORE_COMMITTED && t->commit_no <= c->all_saw;
		/* Rows without keys are told apart by what is in them. */
		fixed = table->cluster && t->state == STORE_COMMITTED && t->commit_no <= c->fixed;
		if ((seen || fixed) && !table->has_unknown_rows)
			break;
		hash = mix_version(mix(mix(hash, v->txn), v->stmt), table->def, v);
		if (table->has_unknown_rows)
			hash = mix(hash, t->commit_no);
	}
	if (v && seen && v->image)
		hash = mix_version(mix(hash, 2), table->def, v);
	/* What is under a version that was there before the first choice is the same, too. */
	if (v && fixed && !seen)
		hash = mix(mix(mix(hash, 3), v->txn), v->stmt);
	for (const struct store_lock *l = record->locks; l; l = l->next) {
		if (store_is_active(&m->store, l->txn))
			locks += mix(mix(mix(1, l->txn), l->mode), l->stmt);
	}
	hash = hash || locks ? mix(hash, locks) : 0;
	/* One that is not there is as none. */
	return hash ? mix_span(hash, record->key) : 0;
}

/* Are the rows that were not written or locked lately as they were?  Rows that are not known are learnt without that, and
 * rows without keys cannot be told apart. */
static bool only_recent_differ(const struct store_table *table)
{
	return table->cluster && !table->has_unknown_rows;
}

static uint64_t mix_rows(const struct mvcc *m, const struct commits *c, const struct store_table *table)
{
	bool recent = only_recent_differ(table);
	uint32_t count = recent ? table->recent_count : table->count;
	uint64_t rows = 0;

	for (uint32_t i = 0; table->def && i < count; i++) {
		const struct store_record *record = recent ? table->recent[i] : table->records[i];

		if (record->id < table->count && table->records[record->id] == record)
			rows += chain(m, c, table, record);
	}
	return rows;
}

static uint64_t mix_table(uint64_t hash, const struct mvcc *m, const struct commits *c, const struct store_table *table)
{
	uint64_t rows = mix_rows(m, c, table), touches = 0, reads = 0;

#define TABLE_VALUE(field) hash = mix(hash, table->field);
#define TABLE_APART(field)
#define TABLE_UNUSED(field)
#define X(field, how) TABLE_##how(field)
	TABLE_TRAILED(X)
#undef X
	hash = mix(hash, table->known_since > c->all_saw ? table->known_since : 0);
	for (const struct store_touch *t = table->touches; t; t = t->next) {
		if (store_is_active(&m->store, t->txn))
			touches += mix(mix(1, t->txn), t->mode);
	}
	for (const struct store_read *r = table->reads; r; r = r->next) {
		if (store_is_active(&m->store, r->txn))
			reads += mix(mix(1, r->txn), r->stmt);
	}
	hash = mix(mix(mix(hash, rows), touches), reads);
	return table->def && table->others ? mix(hash, chain(m, c, table, table->others)) : hash;
}

static uint64_t mix_txn(uint64_t hash, const struct mvcc *m, const struct commits *c, uint32_t number)
{
	const struct store_txn *t = &m->store.txns[number];
	uint64_t meant = 0;

	hash = mix(hash, number);
#define TXN_VALUE(field) hash = mix(hash, t->field);
#define TXN_COMMITS(field) hash = t->view == STORE_NONE ? mix(hash, 0) : mix_seen(mix(hash, 1), m, c, t->field);
#define TXN_APART(field)
#define TXN_UNUSED(field)
#define X(field, how) TXN_##how(field)
	TXN_TRAILED(X)
#undef X
	hash = mix_seen(hash, m, c, t->first_commits);
	for (const struct store_meant *s = t->meant; s; s = s->next)
		meant += mix_span(1, s->record->key);
	hash = mix(hash, meant);
	for (const struct store_savepoint *s = t->savepoints; s; s = s->previous)
		hash = mix(mix(mix(mix_span(hash, s->name), s->undo_count), s->gone), s->used);
	return hash;
}

/* A transaction that has ended.  When it did matters to waits that had begun before (lock_possible). */
static uint64_t mix_ended(const struct store_txn *t, uint32_t number, const struct commits *c)
{
	return mix(mix(mix(1, number), t->state), t->ended_at >= c->first_wait ? t->ended_at : 0);
}

bool state_digest(const struct mvcc *m, uint64_t at, uint64_t *digest)
{
	uint64_t hash = mix(mix(0, m->search.event), at), ended = 0;
	struct commits c;

	if (!commits_of(m, &c))
		return false;
	for (size_t i = 0; i < m->search.in_flight_count; i++) {
		const struct stmt_run *run = &m->runs[m->search.in_flight[i]];

		hash = mix(mix(hash, m->search.in_flight[i]), run->state);
		if (run->state != STMT_DONE)
			hash = mix(mix(mix(hash, run->begin_commits - c.order_from), run->committed), (uintptr_t)run->plan);
	}
	hash = mix(hash, m->store.commits - c.order_from);
	hash = mix(hash, c.order_from < c.fixed ? c.order_from : c.fixed);
	for (size_t i = 0; i < m->search.live_count; i++) {
		uint32_t number = m->search.live[i];
		const struct store_txn *t = &m->store.txns[number];

		if (is_there(t))
			hash = mix_txn(hash, m, &c, number);
		else if (t->state != STORE_ACTIVE)
			ended += mix_ended(t, number, &c);
	}
	hash = mix(hash, ended);
	for (uint32_t i = 0; i < c.count; i++) {
		uint32_t number = m->store.txns[c.recent[i]].commit_no;

		if (number > c.order_from)
			hash = mix(mix(hash, c.recent[i]), number - c.order_from);
	}
	for (uint32_t i = 0; i < m->store.table_count; i++)
		hash = mix_table(hash, m, &c, &m->store.tables[i]);
	for (size_t i = 0; i < m->schedule->execution->session_count; i++)
		hash = mix(hash, m->sessions[i].unmodelled);
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++)
		hash = mix(hash, m->catalog.foreign_keys[i].alive);
	*digest = hash;
	return true;
}

uint64_t state_digest_size(const struct mvcc *m)
{
	uint64_t size = m->search.live_count;

	for (uint32_t i = 0; i < m->store.table_count; i++) {
		const struct store_table *table = &m->store.tables[i];

		size += only_recent_differ(table) ? table->recent_count : table->count;
	}
	return size;
}

uint64_t state_of_txn(const struct mvcc *m, uint32_t txn)
{
	const struct store_txn *t = &m->store.txns[txn];
	uint64_t hash = mix(mix(mix(mix(0, t->state), t->hidden), t->tables), t->undo_count), locks = 0;

	for (const struct store_undo *u = t->undo; u; u = u->previous) {
		const struct store_table *table = &m->store.tables[u->record->table];

		hash = mix(mix_span(mix(hash, u->record->table), u->record->key), u->version->stmt);
		hash = table->def ? mix_version(hash, table->def, u->version) : mix(hash, (uintptr_t)u->version);
	}
	for (const struct store_lock *l = t->held; l; l = l->held_before)
		locks += mix(mix(mix_span(mix(1, l->record->table), l->record->key), l->mode), l->stmt);
	for (const struct store_meant *s = t->meant; s; s = s->next)
		locks += mix_span(2, s->record->key);
	return mix(hash, locks);
}

/* ---- the fingerprint ---- */

/* Each step is a bijection of `hash`: a single field that is not as it was is always noticed. */
#define MIX_FIELD(field, how) hash = ((hash << 29 | hash >> 35) ^ (uint64_t)(object->field)) * 0x9e3779b97f4a7c15u;

static uint64_t fingerprint_record(uint64_t hash, const struct store_record *record)
{
	{
		const struct store_record *object = record;

		RECORD_TRAILED(MIX_FIELD)
	}
	for (const struct store_version *object = record->newest; object; object = object->previous) {
		VERSION_TRAILED(MIX_FIELD)
	}
	return hash;
}

static uint64_t fingerprint_table(uint64_t hash, const struct store_table *object)
{
	TABLE_TRAILED(MIX_FIELD)
	for (uint32_t i = 0; i < object->count; i++)
		hash = fingerprint_record(hash, object->records[i]);
	return object->others ? fingerprint_record(hash, object->others) : hash;
}

static uint64_t fingerprint_txn(uint64_t hash, const struct store_txn *txn)
{
	{
		const struct store_txn *object = txn;

		TXN_TRAILED(MIX_FIELD)
	}
	for (const struct store_savepoint *object = txn->savepoints; object; object = object->previous) {
		SAVEPOINT_TRAILED(MIX_FIELD)
	}
	return hash;
}

static uint64_t fingerprint_store(uint64_t hash, const struct store *store)
{
	{
		const struct store *object = store;

		STORE_TRAILED(MIX_FIELD)
	}
	for (uint32_t i = 0; i < store->txn_count; i++)
		hash = fingerprint_txn(hash, &store->txns[i]);
	for (uint32_t i = 0; i < store->table_count; i++)
		hash = fingerprint_table(hash, &store->tables[i]);
	for (uint32_t i = 0; store->savepoints && i < SAVEPOINT_HASHES; i++) {
		const struct store_savepoint_list *object = &store->savepoints[i];

		/* The lists are made, empty, when the first savepoint is looked for. */
		if (!object->first)
			continue;
		hash = mix(hash, i);
		SAVEPOINT_LIST_TRAILED(MIX_FIELD)
	}
	return hash;
}

uint64_t state_fingerprint(const struct mvcc *m)
{
	uint64_t hash = fingerprint_store(1, &m->store);

	for (size_t i = 0; i < m->schedule->stmt_count; i++) {
		const struct stmt_run *object = &m->runs[i];

		RUN_TRAILED(MIX_FIELD)
	}
	for (size_t i = 0; i < m->schedule->execution->session_count; i++) {
		const struct session_run *object = &m->sessions[i];

		SESSION_TRAILED(MIX_FIELD)
	}
	for (size_t i = 0; i < m->catalog.foreign_key_count; i++) {
		const struct foreign *object = &m->catalog.foreign_keys[i];

		FOREIGN_KEY_TRAILED(MIX_FIELD)
	}
	return hash;
}

/* ---- going back ---- */

enum { FINGERPRINT_ALWAYS = 64 }; /* statements of a schedule whose marks are all tested */

static bool is_tested(const struct mvcc *m)
{
	uint64_t stride = m->schedule->stmt_count / FINGERPRINT_ALWAYS;

	return STATE_CHECKS && (stride < 2 || mix(m->store.trail.count, m->note_count) % stride == 0);
}

struct state_mark state_mark(const struct mvcc *m)
{
	struct state_mark mark = {
		.trail = m->store.trail.count, .notes = m->note_count, .purges = m->store.purges};

	mark.tested = is_tested(m);
	if (mark.tested)
		mark.fingerprint = state_fingerprint(m);
	return mark;
}

void state_return(struct mvcc *m, const struct state_mark *mark)
{
	trail_undo(&m->store.trail, mark->trail);
	notes_drop(m, mark->notes);
	CHECK_SLOW(!mark->tested || mark->purges != m->store.purges || state_fingerprint(m) == mark->fingerprint);
}
