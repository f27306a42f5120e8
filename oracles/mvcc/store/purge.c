/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/store/purge.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "mvcc/store/access_path.h"

/* A table is looked at after so many writes, and so many for each of its records: looking then costs less than what was
 * written.  A build that checks does it all the time. */
#ifdef ISOTRACE_EXPENSIVE_CHECKS
enum { WRITES_MIN = 16, WRITES_PER_RECORD = 0 };
#else
enum { WRITES_MIN = 1024, WRITES_PER_RECORD = 2 };
#endif

/* Was it over before the search's first choice? */
static bool ended_for_good(const struct store *store, const struct purge_limits *limits, uint32_t txn)
{
	const struct store_txn *t = &store->txns[txn];

	return t->state != STORE_ACTIVE && t->ended_at < limits->event;
}

static bool is_seen_by_all(
	const struct store *store, const struct purge_limits *limits, const struct store_version *v)
{
	return !v->unknown && !v->maybe && store->txns[v->txn].state == STORE_COMMITTED &&
	       store->txns[v->txn].commit_no <= limits->commits && (!v->txn || ended_for_good(store, limits, v->txn));
}

static bool is_gone(const struct store *store, const struct purge_limits *limits, const struct store_record *record)
{
	const struct store_version *v = record->newest;

	if (record->touched >= limits->event)
		return false;
	for (const struct store_lock *l = record->locks; l; l = l->next) {
		if (!ended_for_good(store, limits, l->txn))
			return false;
	}
	return !v || (!v->image && is_seen_by_all(store, limits, v));
}

/* The trail has counts of records from after those that are moved were made: they change as the count itself. */
static void move_counts(struct store *store, struct store_table *table, uint32_t old_count)
{
	uint32_t shift = table->count - old_count; /* modulo 2^32 */

	for (size_t i = 0; i < store->trail.count; i++) {
		struct trail_entry *entry = &store->trail.entries[i];

		if (entry->at == &table->count)
			entry->old = (uint32_t)entry->old + shift;
	}
	store->purges++;
}

/* Records have new numbers. */
static void number_records(struct store_table *table)
{
	map_release(&table->by_key);
	table->by_key = MAP_INIT;
	map_reserve(&table->by_key, table->count);
	for (uint32_t i = 0; i < table->count; i++) {
		table->records[i]->id = i;
		map_put(&table->by_key, table->records[i]->key_hash, i);
	}
}

void store_remember(struct store_table *table, struct store_record *record)
{
	uint32_t *slot = map_at(&table->purged_by_key, record->key_hash);

	/* It was here before, or another key has the same hash: that one is not found any more and made anew. */
	if (*slot != MAP_NONE && table->purged[*slot] == record)
		return;
	MEM_RESERVE(table->purged, table->purged_count + 1u, table->purged_capacity);
	*slot = table->purged_count;
	table->purged[table->purged_count++] = record;
}

static void put_aside(struct store_table *table, struct store_record *record)
{
	record->id = STORE_NONE;
	store_remember(table, record);
}

static void drop_touches(const struct store *store, const struct purge_limits *limits, struct store_table *table)
{
	struct store_touch *last = table->touches;

	while (last && last->next) {
		if (ended_for_good(store, limits, last->next->txn) && store_is_past(store, last->next->txn))
			last->next = last->next->next;
		else
			last = last->next;
	}
}

/* ---- access paths ---- */

struct filter {
	struct store *store;
	const struct store_table *table;
	const struct purge_limits *limits;
};

static bool is_aside(const struct store_table *table, const struct store_record *record)
{
	return record->id >= table->count || table->records[record->id] != record;
}

/* Can a lookup of these values still want the record?  One that may be taken back to an earlier version is left as it is. */
static bool is_wanted(void *ctx, const struct store_path *path, const struct store_record *record, const uint64_t *hash)
{
	const struct filter *f = ctx;
	uint64_t other;

	if (record->touched >= f->limits->event)
		return true;
	if (is_aside(f->table, record))
		return false;
	for (const struct store_version *v = record->newest; v && hash; v = v->previous) {
		if (v->image && store_path_hash(f->store, f->table, path, v->image, &other) && other == *hash)
			return true;
		if (is_seen_by_all(f->store, f->limits, v))
			return false;
	}
	return !hash;
}

static void add_all_versions(struct store *store, struct store_table *table)
{
	for (uint32_t i = 0; i < table->count; i++) {
		for (const struct store_version *v = table->records[i]->newest; v; v = v->previous) {
			if (v->image)
				store_path_add(store, table, table->records[i], v->image, NULL);
		}
	}
}

/* ---- tables ---- */

static bool can_purge(const struct store_table *table)
{
	return table->def && table->cluster && !table->unknown && !table->has_unknown_rows && !table->others &&
	       !table->odd_keys && !table->hidden_key;
}

static void purge_table(struct store *store, struct store_table *table, const struct purge_limits *limits)
{
	uint32_t old_count = table->count, kept = 0;

	for (uint32_t i = 0; i < old_count; i++) {
		struct store_record *record = table->records[i];

		if (is_gone(store, limits, record))
			put_aside(table, record);
		else
			table->records[kept++] = record;
	}
	drop_touches(store, limits, table);
	if (kept < old_count) {
		table->count = kept;
		move_counts(store, table, old_count);
		number_records(table);
	}
	store_paths_filter(store, table, is_wanted, &(struct filter){store, table, limits});
}

void store_purge(struct store *store, const struct purge_limits *limits)
{
	/* No table has had enough of them; and there may be many tables. */
	if (store->writes < WRITES_MIN)
		return;
	store->writes = 0;
	for (uint32_t i = 0; i < store->table_count && !store->keeps_all; i++) {
		struct store_table *table = &store->tables[i];

		if (table->writes < WRITES_MIN + (uint64_t)WRITES_PER_RECORD * table->count || !can_purge(table))
			continue;
		purge_table(store, table, limits);
		table->writes = 0;
	}
}

/* Was its key inserted again, with a record of its own? */
static bool is_replaced(const struct store_table *table, const struct store_record *record)
{
	uint32_t number = map_get(&table->by_key, record->key_hash);

	return number < table->count && span_eq(table->records[number]->key, record->key);
}

static void restore_table(struct store *store, struct store_table *table)
{
	uint32_t old_count = table->count, back = 0;
	struct store_record **records = mem_realloc(NULL, (size_t)old_count + table->purged_count, sizeof(struct store_record *));

	for (uint32_t i = 0; i < table->purged_count; i++) {
		struct store_record *record = table->purged[i];

		/* One without versions was made in a way that was taken back. */
		if (record->newest && is_aside(table, record) && !is_replaced(table, record))
			records[back++] = record;
	}
	if (!back) {
		mem_free(records);
		return;
	}
	if (old_count)
		memcpy(records + back, table->records, old_count * sizeof(*records));
	table->retired = table->records; /* a statement may be looking at it */
	table->records = records;
	table->capacity = (size_t)old_count + table->purged_count;
	table->count = old_count + back;
	move_counts(store, table, old_count);
	number_records(table);
	add_all_versions(store, table);
}

void store_restore(struct store *store)
{
	for (uint32_t i = 0; i < store->table_count && !store->keeps_all; i++) {
		if (store->tables[i].purged_count)
			restore_table(store, &store->tables[i]);
	}
	store->keeps_all = true;
}

struct store_record *store_find_purged(const struct store_table *table, uint64_t hash, struct span key)
{
	uint32_t number = map_get(&table->purged_by_key, hash);

	return number != MAP_NONE && span_eq(table->purged[number]->key, key) ? table->purged[number] : NULL;
}

void store_purged_release(struct store_table *table)
{
	mem_free(table->purged);
	map_release(&table->purged_by_key);
	table->purged = NULL;
	table->purged_count = 0;
	table->purged_capacity = 0;
	table->purged_by_key = MAP_INIT;
}
