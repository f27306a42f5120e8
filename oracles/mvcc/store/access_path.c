/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mvcc/store/access_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"
#include "eval/value/collation.h"
#include "mvcc/store/store.h"

enum path_value { PATH_KEYED, PATH_NULL, PATH_ODD };

/* Of one column.  ODD: what it equals is not known (an opaque one, characters without a weight). */
static enum path_value hash_value(struct store *store, const struct eval_type *type, const struct eval_value *v,
	uint64_t *hash)
{
	bool unknown = false;

	if (v->kind == EVAL_NULL)
		return PATH_NULL;
	if (v->kind == EVAL_OPAQUE)
		return PATH_ODD;
	if (type->kind == EVAL_T_INT && (v->kind == EVAL_INT || v->kind == EVAL_UINT)) {
		*hash = hash_mix(*hash ^ v->u ^ hash_seed, 0x9e3779b97f4a7c15u);
		return PATH_KEYED;
	}
	if (v->kind == EVAL_STRING)
		(void)collation_compare(v->collation, v->s, v->s, &unknown);
	if (unknown)
		return PATH_ODD;
	buf_clear(&store->key);
	eval_key(type, v, &store->key);
	*hash = hash_mix(*hash ^ hash_bytes(store->key.data, store->key.len), 0x9e3779b97f4a7c15u);
	return PATH_KEYED;
}

static enum path_value hash_row(struct store *store, const struct store_table *table, const struct store_path *path,
	const struct eval_value *row, uint64_t *hash)
{
	enum path_value found = PATH_KEYED;

	*hash = path->count;
	for (uint32_t i = 0; i < path->count && found == PATH_KEYED; i++)
		found = hash_value(store, &table->def->columns[path->columns[i]].type, &row[path->columns[i]], hash);
	return found;
}

bool store_path_hash(struct store *store, const struct store_table *table, const struct store_path *path,
	const struct eval_value *row, uint64_t *hash)
{
	return hash_row(store, table, path, row, hash) == PATH_KEYED;
}

/* Is it among the newest entries already?  A search that goes back writes the same again. */
static bool is_there(const struct store_path *path, uint32_t at, const struct store_record *record)
{
	enum { LOOKED_AT = 4 };

	for (int i = 0; i < LOOKED_AT && at != MAP_NONE; i++, at = path->entries[at].next) {
		if (path->entries[at].record == record)
			return true;
	}
	return false;
}

/* Under these values already, by the version before: most changes leave most columns as they are. */
static bool has_same_values(struct store *store, const struct store_table *table, const struct store_path *path,
	const struct eval_value *before, enum path_value kind, uint64_t hash)
{
	uint64_t other;

	return before && hash_row(store, table, path, before, &other) == kind && (kind == PATH_ODD || other == hash);
}

static void add_to(struct store *store, const struct store_table *table, struct store_path *path,
	struct store_record *record, const struct eval_value *image, const struct eval_value *before)
{
	uint64_t hash;
	enum path_value kind = hash_row(store, table, path, image, &hash);
	uint32_t *first;

	if (kind == PATH_NULL || has_same_values(store, table, path, before, kind, hash))
		return;
	first = kind == PATH_ODD ? &path->odd : map_at(&path->first, hash);
	if (is_there(path, *first, record))
		return;
	MEM_RESERVE(path->entries, path->entry_count + 1, path->entry_capacity);
	path->entries[path->entry_count] = (struct path_entry){record, *first};
	*first = (uint32_t)path->entry_count++;
}

void store_path_add(struct store *store, struct store_table *table, struct store_record *record,
	const struct eval_value *image, const struct eval_value *before)
{
	for (uint32_t i = 0; i < table->path_count; i++)
		add_to(store, table, &table->paths[i], record, image, before);
}

struct store_path *store_path(struct store *store, struct store_table *table, const uint32_t *columns, uint32_t count)
{
	struct store_path *path;

	for (uint32_t i = 0; i < table->path_count; i++) {
		if (table->paths[i].count == count &&
			memcmp(table->paths[i].columns, columns, count * sizeof(*columns)) == 0)
			return &table->paths[i];
	}
	if (table->path_count == PATHS_MAX || count > PATH_COLUMNS_MAX)
		return NULL;
	if (!table->paths)
		table->paths = mem_zero(PATHS_MAX, sizeof(*table->paths));
	path = &table->paths[table->path_count++];
	*path = (struct store_path){.count = count, .first = MAP_INIT, .odd = MAP_NONE};
	memcpy(path->columns, columns, count * sizeof(*columns));
	for (uint32_t i = 0; i < table->count; i++) {
		for (const struct store_version *v = table->records[i]->newest; v; v = v->previous) {
			if (v->image)
				add_to(store, table, path, table->records[i], v->image, NULL);
		}
	}
	return path;
}

/* The entries from `at` on that are kept, in their order, in the array that is made anew. */
static uint32_t filter_list(struct store *store, struct store_path *path, const struct path_entry *old, uint32_t at,
	bool (*keeps)(void *ctx, const struct store_path *path, const struct store_record *record, const uint64_t *hash),
	void *ctx, const uint64_t *hash)
{
	uint32_t first = MAP_NONE, *link = &first;

	store->lookups++;
	for (; at != MAP_NONE; at = old[at].next) {
		/* Once is enough. */
		if (old[at].record->seen == store->lookups || !keeps(ctx, path, old[at].record, hash))
			continue;
		old[at].record->seen = store->lookups;
		path->entries[path->entry_count] = (struct path_entry){old[at].record, MAP_NONE};
		*link = (uint32_t)path->entry_count;
		link = &path->entries[path->entry_count++].next;
	}
	return first;
}

static void filter_path(struct store *store, struct store_path *path,
	bool (*keeps)(void *ctx, const struct store_path *path, const struct store_record *record, const uint64_t *hash),
	void *ctx)
{
	struct path_entry *old = path->entries;
	struct map old_first = path->first;

	path->entries = mem_realloc(NULL, path->entry_count, sizeof(*path->entries));
	path->entry_capacity = path->entry_count;
	path->entry_count = 0;
	path->first = MAP_INIT;
	for (size_t i = 0; old_first.slots && i <= old_first.mask; i++) {
		const struct map_slot *slot = &old_first.slots[i];
		uint32_t first;

		if (slot->value == MAP_NONE)
			continue;
		first = filter_list(store, path, old, slot->value, keeps, ctx, &slot->key);
		if (first != MAP_NONE)
			map_put(&path->first, slot->key, first);
	}
	path->odd = filter_list(store, path, old, path->odd, keeps, ctx, NULL);
	map_release(&old_first);
	mem_free(old);
}

void store_paths_filter(struct store *store, struct store_table *table,
	bool (*keeps)(void *ctx, const struct store_path *path, const struct store_record *record, const uint64_t *hash),
	void *ctx)
{
	for (uint32_t i = 0; i < table->path_count; i++)
		filter_path(store, &table->paths[i], keeps, ctx);
}

void store_paths_release(struct store_table *table)
{
	for (uint32_t i = 0; i < table->path_count; i++) {
		map_release(&table->paths[i].first);
		mem_free(table->paths[i].entries);
	}
	mem_free(table->paths);
}
