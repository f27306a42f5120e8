/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "eval/value/collation.h"
#include "mvcc/store/store.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "mvcc/store/access_path.h"
#include "mvcc/store/purge.h"

/* ---- the trail ---- */

void trail_put(struct trail *trail, void *at, uint32_t size)
{
	struct trail_entry *entry;

	MEM_RESERVE(trail->entries, trail->count + 1, trail->capacity);
	entry = &trail->entries[trail->count++];
	entry->at = at;
	entry->size = size;
	entry->old = 0;
	memcpy(&entry->old, at, size);
}

void trail_undo(struct trail *trail, size_t mark)
{
	CHECK(mark <= trail->count);
	while (trail->count > mark) {
		const struct trail_entry *entry = &trail->entries[--trail->count];

		memcpy(entry->at, &entry->old, entry->size);
	}
}

/* ---- tables ---- */

void store_init(struct store *store, uint32_t table_count, uint32_t txn_count)
{
	*store = (struct store){.arena = ARENA_INIT, .key = BUF_INIT};
	store->tables = mem_zero(table_count + 1, sizeof(*store->tables));
	store->table_count = table_count;
	store->table_capacity = table_count + 1;
	store->txns = mem_zero((size_t)txn_count + 1, sizeof(*store->txns));
	store->txn_count = txn_count + 1;
	for (uint32_t i = 0; i < store->txn_count; i++) {
		store->txns[i].view = STORE_NONE;
		store->txns[i].view_stmt = STORE_NONE;
		store->txns[i].ended_at = STORE_NONE;
		store->txns[i].began = STORE_NONE;
	}
	store->txns[0].state = STORE_COMMITTED;
	store->txns[0].ended_at = 0;
}

uint32_t store_add_table(struct store *store)
{
	MEM_RESERVE(store->tables, store->table_count + 1, store->table_capacity);
	memset(&store->tables[store->table_count], 0, sizeof(*store->tables));
	return store->table_count++;
}

void store_release(struct store *store)
{
	for (uint32_t i = 0; i < store->table_count; i++) {
		mem_free(store->tables[i].records);
		mem_free(store->tables[i].retired);
		mem_free(store->tables[i].recent);
		map_release(&store->tables[i].by_key);
		store_paths_release(&store->tables[i]);
		store_purged_release(&store->tables[i]);
	}
	mem_free(store->tables);
	mem_free(store->txns);
	mem_free(store->trail.entries);
	buf_release(&store->key);
	arena_release(&store->arena);
}

static bool plain_columns(const struct eval_index *index)
{
	for (uint32_t i = 0; i < index->count; i++) {
		if (index->columns[i] == UINT32_MAX)
			return false;
	}
	return true;
}

/* A UNIQUE key that can stand for the primary one: whole columns, none of them nullable. */
static bool can_cluster(const struct eval_table *def, const struct eval_index *index)
{
	if (!index->unique || !plain_columns(index))
		return false;
	for (uint32_t i = 0; i < index->count; i++) {
		if (def->columns[index->columns[i]].nullable || index->lengths[i])
			return false;
	}
	return true;
}

void store_table_init(struct store_table *table, struct eval_table *def, struct arena *arena)
{
	table->def = def;
	table->uniques = arena_zero(arena, (def->index_count + 1) * sizeof(*table->uniques));
	for (uint32_t i = 0; i < def->index_count; i++) {
		const struct eval_index *index = &def->indexes[i];

		if (index->primary || index->unique)
			table->uniques[table->unique_count++] = index;
		if (index->primary)
			table->cluster = index;
		else
			table->has_secondary = true;
	}
	for (uint32_t i = 0; !table->cluster && i < def->index_count; i++) {
		if (can_cluster(def, &def->indexes[i]))
			table->cluster = &def->indexes[i];
	}
}

static struct span cluster_key(
	struct store *store, const struct store_table *table, const struct eval_value *row)
{
	buf_clear(&store->key);
	for (uint32_t i = 0; i < table->cluster->count; i++) {
		uint32_t column = table->cluster->columns[i];
		size_t at = store->key.len;
		uint32_t len;

		buf_add(&store->key, "\0\0\0", 4);
		eval_key(&table->def->columns[column].type, &row[column], &store->key);
		len = (uint32_t)(store->key.len - at - 4);
		memcpy(store->key.data + at, &len, 4);
	}
	return buf_span(&store->key);
}

struct store_record *store_find(
	struct store *store, struct store_table *table, const struct eval_value *row)
{
	struct span key;
	uint32_t number;

	if (!table->cluster)
		return NULL;
	key = cluster_key(store, table, row);
	number = map_get(&table->by_key, hash_bytes(key.ptr, key.len));
	/* Entries of records that the trail took back stay in the map. */
	if (number >= table->count || !span_eq(table->records[number]->key, key))
		return NULL;
	return table->records[number];
}

bool store_odd_keys(struct store_table *table, const struct eval_value *row)
{
	for (uint32_t u = 0; u < table->unique_count && !table->odd_keys; u++) {
		const struct eval_index *index = table->uniques[u];

		for (uint32_t i = 0; i < index->count; i++) {
			const struct eval_value *v = index->columns[i] == UINT32_MAX
							     ? NULL
							     : &row[index->columns[i]];

			/* Beside itself every character is looked at. */
			if (v && v->kind == EVAL_STRING)
				(void)collation_compare(
					v->collation, v->s, v->s, &table->odd_keys);
		}
	}
	return table->odd_keys;
}

/* What was said of all keys that had no record holds for one that has one from now on. */
static void copy_versions(
	struct store *store, struct store_record *record, const struct store_version *from)
{
	struct store_version **at = &record->newest;

	for (; from; from = from->previous) {
		*at = arena_alloc(&store->arena, sizeof(**at));
		**at = *from;
		(*at)->previous = NULL;
		at = &(*at)->previous;
	}
}

static void touch_record(struct store *store, struct store_record *record)
{
	struct store_table *table = &store->tables[record->table];

	record->touched = store->event;
	if (record->is_recent)
		return;
	record->is_recent = true;
	MEM_RESERVE(table->recent, table->recent_count + 1u, table->recent_capacity);
	table->recent[table->recent_count++] = record;
}

void store_settle(struct store *store, uint32_t event)
{
	store->settled = event;
	for (uint32_t i = 0; i < store->table_count; i++) {
		struct store_table *table = &store->tables[i];
		uint32_t kept = 0;

		for (uint32_t r = 0; r < table->recent_count; r++) {
			struct store_record *record = table->recent[r];

			record->is_recent = record->touched >= event;
			if (record->is_recent)
				table->recent[kept++] = record;
		}
		table->recent_count = kept;
	}
}

static void add_record(struct store *store, struct store_table *table, struct store_record *record)
{
	record->id = table->count;
	touch_record(store, record);
	if (table->cluster)
		map_put(&table->by_key, record->key_hash, table->count);
	MEM_RESERVE(table->records, table->count + 1u, table->capacity);
	table->records[table->count] = record;
	TRAIL_SET(&store->trail, TABLE, table, count, table->count + 1);
}

struct store_record *store_record_for(
	struct store *store, struct store_table *table, const struct eval_value *row)
{
	struct store_record *record = store_find(store, table, row);
	struct span key = SPAN_NONE;
	uint64_t hash = 0;

	if (record)
		return record;
	(void)store_odd_keys(table, row);
	if (table->cluster) {
		key = cluster_key(store, table, row);
		hash = hash_bytes(key.ptr, key.len);
		record = table->others ? NULL : store_find_purged(table, hash, key);
	}
	if (!record) {
		record = arena_zero(&store->arena, sizeof(*record));
		record->table = (uint32_t)(table - store->tables);
		record->key = key.ptr ? arena_copy(&store->arena, key) : SPAN_NONE;
		record->key_hash = hash;
		if (table->others)
			copy_versions(store, record, table->others->newest);
		else if (table->cluster && store->event)
			store_remember(table, record);
	}
	add_record(store, table, record);
	return record;
}

bool store_same_record(struct store *store, const struct store_table *table,
	const struct eval_value *a, const struct eval_value *b)
{
	(void)store;
	if (!table->cluster)
		return true;
	for (uint32_t i = 0; i < table->cluster->count; i++) {
		uint32_t column = table->cluster->columns[i];

		if (eval_order(&table->def->columns[column].type, &a[column], &b[column]) != 0)
			return false;
	}
	return true;
}

bool key_is_partial(const struct eval_index *index)
{
	for (uint32_t i = 0; i < index->count; i++) {
		if (index->columns[i] == UINT32_MAX || index->lengths[i])
			return true;
	}
	return false;
}

bool store_key_equal(const struct eval_table *def, const struct eval_index *index,
	const struct eval_value *a, const struct eval_value *b)
{
	for (uint32_t i = 0; i < index->count; i++) {
		uint32_t column = index->columns[i];

		if (a[column].kind == EVAL_NULL || b[column].kind == EVAL_NULL ||
			eval_order(&def->columns[column].type, &a[column], &b[column]) != 0)
			return false;
	}
	return true;
}

/* ---- transactions ---- */

void store_write(struct store *store, uint32_t txn, uint32_t stmt, struct store_record *record,
	const struct eval_value *image)
{
	struct store_version *version = arena_alloc(&store->arena, sizeof(*version));
	struct store_txn *t = &store->txns[txn];
	struct store_version *on = record->newest;

	*version = (struct store_version){
		image, on, on && on->txn == txn ? on->under : on, txn, stmt, 0, false};
	TRAIL_SET(&store->trail, RECORD, record, newest, version);
	touch_record(store, record);
	store->tables[record->table].writes++;
	store->writes++;
	if (image)
		store_path_add(store, &store->tables[record->table], record, image, on ? on->image : NULL);
	if (txn) {
		struct store_undo *undo = arena_alloc(&store->arena, sizeof(*undo));

		*undo = (struct store_undo){t->undo, record, version};
		TRAIL_SET(&store->trail, TXN, t, undo, undo);
		TRAIL_SET(&store->trail, TXN, t, undo_count, t->undo_count + 1);
	}
}

/* Takes one version out of its chain, wherever it stands: what a violation wrote on top stays. */
static void unlink_version(struct store *store, const struct store_undo *undo)
{
	struct store_version *above = undo->record->newest;

	touch_record(store, undo->record);
	if (above == undo->version) {
		TRAIL_SET(&store->trail, RECORD, undo->record, newest, undo->version->previous);
		return;
	}
	while (above && above->previous != undo->version)
		above = above->previous;
	if (above)
		TRAIL_SET(&store->trail, VERSION, above, previous, undo->version->previous);
}

void store_rollback_to(struct store *store, uint32_t txn, struct store_undo *undo, uint32_t count)
{
	struct store_txn *t = &store->txns[txn];

	while (t->undo && t->undo != undo) {
		unlink_version(store, t->undo);
		TRAIL_SET(&store->trail, TXN, t, undo, t->undo->previous);
	}
	TRAIL_SET(&store->trail, TXN, t, undo_count, count);
}

static void end(struct store *store, uint32_t txn, uint32_t state, uint32_t event)
{
	struct store_txn *t = &store->txns[txn];

	TRAIL_SET(&store->trail, TXN, t, state, state);
	TRAIL_SET(&store->trail, TXN, t, ended_at, event);
}

void store_commit(struct store *store, uint32_t txn, uint32_t event)
{
	struct store_txn *t = &store->txns[txn];

	end(store, txn, STORE_COMMITTED, event);
	/* Only writers move what others see. */
	if (t->undo || t->hidden)
		TRAIL_SET(&store->trail, STORE, store, commits, store->commits + 1);
	TRAIL_SET(&store->trail, TXN, t, commit_no, store->commits);
}

void store_rollback(struct store *store, uint32_t txn, uint32_t event)
{
	store_rollback_to(store, txn, NULL, 0);
	end(store, txn, STORE_ABORTED, event);
}

/* Those with the name's hash. */
static struct store_savepoint_list *savepoints_like(struct store *store, uint32_t txn, struct span name)
{
	uint64_t hash = txn;

	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ ((unsigned char)name.ptr[i] | 0x20)) * 0x100000001b3u;
	if (!store->savepoints)
		store->savepoints = arena_zero(&store->arena, SAVEPOINT_HASHES * sizeof(*store->savepoints));
	return &store->savepoints[(hash ^ hash >> 32) % SAVEPOINT_HASHES];
}

static struct store_savepoint *find_savepoint(struct store *store, uint32_t txn, struct span name)
{
	struct store_savepoint_list *list = savepoints_like(store, txn, name);
	struct store_savepoint *s;

	/* What is gone is not looked at again and again. */
	while (list->first && list->first->gone)
		TRAIL_SET(&store->trail, SAVEPOINT_LIST, list, first, list->first->same);
	s = list->first;
	while (s && (s->gone || s->txn != txn || !span_ieq(s->name, name)))
		s = s->same;
	return s;
}

/* Those that were made after it go. */
static void leave_savepoints(struct store *store, uint32_t txn, const struct store_savepoint *to)
{
	struct store_savepoint *s = store->txns[txn].savepoints;

	for (; s && s != to; s = s->previous) {
		if (!s->gone)
			TRAIL_SET(&store->trail, SAVEPOINT, s, gone, 1);
	}
}

/* A savepoint of the same name is replaced: it goes, those around it stay. */
void store_savepoint(struct store *store, uint32_t txn, struct span name)
{
	struct store_txn *t = &store->txns[txn];
	struct store_savepoint *made = arena_alloc(&store->arena, sizeof(*made));
	struct store_savepoint *old = find_savepoint(store, txn, name);
	struct store_savepoint_list *list = savepoints_like(store, txn, name);

	if (old)
		TRAIL_SET(&store->trail, SAVEPOINT, old, gone, 1);
	*made = (struct store_savepoint){
		t->savepoints, list->first, name, txn, 0, t->undo, t->undo_count, t->used};
	TRAIL_SET(&store->trail, SAVEPOINT_LIST, list, first, made);
	TRAIL_SET(&store->trail, TXN, t, savepoints, made);
}

bool store_savepoint_rollback(struct store *store, uint32_t txn, struct span name)
{
	struct store_savepoint *s = find_savepoint(store, txn, name);

	if (!s)
		return false;
	store_rollback_to(store, txn, s->undo, s->undo_count);
	leave_savepoints(store, txn, s);
	TRAIL_SET(&store->trail, TXN, &store->txns[txn], savepoints, s);
	return true;
}

enum store_use store_savepoint_use(struct store *store, uint32_t txn, struct span name)
{
	struct store_savepoint *s = find_savepoint(store, txn, name);

	/* One that is older than the transaction was made before the engine came, or not. */
	return s ? (enum store_use)s->used : STORE_MAYBE_USED;
}

void store_part_ended(struct store *store, uint32_t txn, uint32_t stmt)
{
	struct store_txn *t = &store->txns[txn];

	TRAIL_SET(&store->trail, TXN, t, view, STORE_NONE);
	TRAIL_SET(&store->trail, TXN, t, locks_from, stmt);
	TRAIL_SET(&store->trail, TXN, t, used, (uint32_t)STORE_UNUSED);
}

void store_savepoint_release(struct store *store, uint32_t txn, struct span name)
{
	struct store_savepoint *s = find_savepoint(store, txn, name);

	if (!s)
		return;
	leave_savepoints(store, txn, s->previous);
	TRAIL_SET(&store->trail, TXN, &store->txns[txn], savepoints, s->previous);
}

/* ---- locks ---- */

static bool is_held(const struct store *store, const struct store_lock *lock)
{
	return store_is_active(store, lock->txn) &&
		lock->stmt >= store->txns[lock->txn].locks_from;
}

void store_lock(struct store *store, uint32_t txn, uint32_t stmt, struct store_record *record,
	enum store_lock_mode mode)
{
	struct store_lock *lock = record->locks, *made;

	/* Drop those of transactions that have ended, from the front: the list stays short. */
	while (lock && !is_held(store, lock))
		lock = lock->next;
	for (struct store_lock *l = lock; l; l = l->next) {
		if (l->txn == txn && is_held(store, l) && l->mode >= (uint32_t)mode)
			return;
	}
	/* A record that only this transaction knows goes away with a rollback to a savepoint, and
	 * its locks with it; the version says enough. */
	if (!store_alive(store_current(store, record, 0)))
		return;
	touch_record(store, record);
	made = arena_alloc(&store->arena, sizeof(*made));
	*made = (struct store_lock){lock, store->txns[txn].held, record, txn, mode, stmt};
	TRAIL_SET(&store->trail, RECORD, record, locks, made);
	TRAIL_SET(&store->trail, TXN, &store->txns[txn], held, made);
}

uint32_t store_lock_conflict(const struct store *store, uint32_t txn,
	const struct store_record *record, enum store_lock_mode mode)
{
	/* The writer of the newest version holds it until it ends. */
	if (record->newest && record->newest->txn != txn &&
		store_is_active(store, record->newest->txn))
		return record->newest->txn;
	for (const struct store_lock *l = record->locks; l; l = l->next) {
		if (l->txn != txn && is_held(store, l) && !store->txns[l->txn].prepared &&
			(l->mode == STORE_LOCK_X || mode == STORE_LOCK_X))
			return l->txn;
	}
	return STORE_NONE;
}

enum { LIST_LOOKED = 16 }; /* entries of a list that are looked at before a new one comes in front */

/* As many are dropped as come, so that the list stays short. */
static void drop_past_touches(struct store *store, struct store_table *table)
{
	struct store_touch *last = table->touches, *next;

	while (last && store_is_past(store, last->txn))
		last = last->next;
	if (last != table->touches)
		TRAIL_SET(&store->trail, TABLE, table, touches, last);
	for (unsigned looked = 0; last && looked < LIST_LOOKED; looked++) {
		next = last->next;
		if (next && store_is_past(store, next->txn))
			TRAIL_SET(&store->trail, TOUCH, last, next, next->next);
		else
			last = next;
	}
}

/* Reads of transactions that have ended say nothing. */
static void drop_ended_reads(struct store *store, struct store_table *table)
{
	struct store_read *last = table->reads, *next;

	while (last && !store_is_active(store, last->txn))
		last = last->next;
	if (last != table->reads)
		TRAIL_SET(&store->trail, TABLE, table, reads, last);
	for (unsigned looked = 0; last && looked < LIST_LOOKED; looked++) {
		next = last->next;
		if (next && !store_is_active(store, next->txn))
			TRAIL_SET(&store->trail, READ, last, next, next->next);
		else
			last = next;
	}
}

void store_touch(struct store *store, uint32_t txn, struct store_table *table, uint32_t mode)
{
	struct store_txn *t = &store->txns[txn];
	uint64_t bit = store_table_bit((uint32_t)(table - store->tables));
	struct store_touch *made;
	unsigned looked = 0;

	if (!(t->tables & bit))
		TRAIL_SET(&store->trail, TXN, t, tables, t->tables | bit);

	drop_past_touches(store, table);
	/* A second entry for the same transaction does no harm. */
	for (struct store_touch *o = table->touches; o && looked < LIST_LOOKED; o = o->next, looked++) {
		if (o->txn == txn && o->mode >= mode)
			return;
	}
	made = arena_alloc(&store->arena, sizeof(*made));
	*made = (struct store_touch){table->touches, txn, mode};
	TRAIL_SET(&store->trail, TABLE, table, touches, made);
}

void store_read(struct store *store, uint32_t txn, uint32_t stmt, struct store_table *table)
{
	struct store_read *made = arena_alloc(&store->arena, sizeof(*made));

	drop_ended_reads(store, table);
	*made = (struct store_read){table->reads, txn, stmt, store->txns[txn].undo};
	TRAIL_SET(&store->trail, TABLE, table, reads, made);
}
