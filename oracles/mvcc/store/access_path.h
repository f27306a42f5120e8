/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access paths: the records of a table by the values of some of its columns, so that a statement with `a = 5 AND b = 6`
 * looks at few rows of a large table.
 *
 * A path has every record under the values of every version that it ever had, and those that were taken back as well,
 * but for what no transaction can meet any more (purge.h).  So a lookup gives all rows that can match, and some that do
 * not: the caller tests them.  It is therefore nothing that the trail would have to restore.  A path is made when a plan first asks for it.
 */
#ifndef MVCC_STORE_ACCESS_PATH_H
#define MVCC_STORE_ACCESS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct eval_value;
struct store;
struct store_record;
struct store_table;

enum { PATH_COLUMNS_MAX = 8, PATHS_MAX = 16 };

struct path_entry {
	struct store_record *record;
	uint32_t next; /* of the same values; MAP_NONE: none */
};

struct store_path {
	uint32_t columns[PATH_COLUMNS_MAX], count;
	struct map first; /* hash of the values to the newest entry */
	struct path_entry *entries;
	size_t entry_count, entry_capacity;
	uint32_t odd; /* entry of the newest record with values that cannot be compared; MAP_NONE: none */
};

/* The path by these columns, made where there is none yet; NULL: there are too many. */
struct store_path *store_path(struct store *store, struct store_table *table, const uint32_t *columns, uint32_t count);
void store_paths_release(struct store_table *table);
/* Drops the entries that `keeps` says no to, and those that are there twice.  `hash` is of the values that the entry stands under; NULL: they cannot be
 * compared. */
void store_paths_filter(struct store *store, struct store_table *table,
	bool (*keeps)(void *ctx, const struct store_path *path, const struct store_record *record, const uint64_t *hash),
	void *ctx);
/* The record has a version with this image, on one with the image `before`, which was added; NULL: there is none. */
void store_path_add(struct store *store, struct store_table *table, struct store_record *record,
	const struct eval_value *image, const struct eval_value *before);
/* Of the values of a row in the path's columns.  False: one is NULL, which equals nothing. */
bool store_path_hash(struct store *store, const struct store_table *table, const struct store_path *path,
	const struct eval_value *row, uint64_t *hash);

#endif
