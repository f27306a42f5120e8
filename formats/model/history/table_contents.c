/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/history/table_contents.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "trace/pack.h"

enum {
	KEY_COLUMNS_MAX = 64, /* the servers allow 16 */
	BATCH_ROWS = 32,
};

struct row_shape {
	uint32_t key_columns[KEY_COLUMNS_MAX]; /* places in a row */
	uint32_t key_count;
	bool whole; /* rows have all columns, in the schema's order */
};

/* The name of a schema's column. */
static struct span column_name(struct span columns, uint32_t index)
{
	struct mp mp = mp_over(columns);
	uint32_t count = mp_array(&mp);

	if (index >= count || !record_skip_fields(&mp, index))
		return SPAN_NONE;
	return mp_array(&mp) ? mp_bytes(&mp) : SPAN_NONE;
}

static uint32_t place_of(struct span names, struct span name)
{
	struct mp mp = mp_over(names);
	uint32_t count = mp_array(&mp);

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct span at = mp_bytes(&mp);

		if (at.ptr && name.ptr && span_eq(at, name))
			return i;
	}
	return HISTORY_NONE;
}

/* False: the table has no primary key, or the rows do not have it. */
static bool shape_of(const struct history *history, uint32_t schema, struct span columns,
	struct row_shape *shape)
{
	struct mp mp = mp_over(history_bytes(history, schema));
	struct record_schema record;
	uint32_t kind, left;

	if (!record_begin(&mp, &kind, &left) || !record_schema_read(&mp, left, &record))
		return false;
	mp = mp_over(record.primary_key);
	shape->key_count = mp_array(&mp);
	shape->whole = !columns.ptr;
	if (shape->key_count == 0 || shape->key_count > KEY_COLUMNS_MAX)
		return false;
	for (uint32_t i = 0; i < shape->key_count; i++) {
		uint32_t column = mp_u32(&mp);

		shape->key_columns[i] =
			shape->whole ? column
				     : place_of(columns, column_name(record.columns, column));
		if (mp.bad || shape->key_columns[i] == HISTORY_NONE)
			return false;
	}
	return true;
}

/* The encoded key of a row; SPAN_NONE when the row does not have it.  mp goes past the row. */
static struct span row_key(struct contents *contents, struct mp *mp, const struct row_shape *shape)
{
	struct span parts[KEY_COLUMNS_MAX] = {SPAN_NONE};
	uint32_t found = 0, count = mp_array(mp);
	msgpack_packer pk;

	for (uint32_t i = 0; i < count && !mp->bad; i++) {
		struct span value = mp_raw(mp);

		for (uint32_t k = 0; k < shape->key_count; k++) {
			if (shape->key_columns[k] == i && value.ptr) {
				parts[k] = value;
				found++;
			}
		}
	}
	if (mp->bad || found != shape->key_count)
		return SPAN_NONE;
	if (found == 1)
		return parts[0];
	buf_clear(&contents->key);
	pk = pack_into(&contents->key);
	msgpack_pack_array(&pk, found);
	for (uint32_t k = 0; k < found; k++)
		pack_raw(&pk, parts[k]);
	return buf_span(&contents->key);
}

/* Rows on their way into the history; as in load.c, what a whole batch of them needs is fetched
 * before the first one is looked up. */
struct content_batch {
	uint32_t table;
	bool initial;
	unsigned count;
	struct content_row {
		struct build_key key; /* short */
		uint32_t object;      /* where it is known already; else NONE */
		struct span name, image;
	} rows[BATCH_ROWS];
};

static void content_row(struct contents *contents, uint32_t object, struct span name,
	struct span image, bool initial)
{
	uint32_t version = build_version_at(contents->build, object, name);

	if (image.ptr && contents->images)
		build_image(contents->build, version, image);
	if (initial)
		build_initial(contents->build, version);
	else
		contents->build->history->versions[version].flags |= HISTORY_VERSION_FINAL;
}

static void content_flush(struct contents *contents, struct content_batch *batch)
{
	struct history_build *build = contents->build;

	/* Objects are made in the last step, each with its version: ids are given out by row. */
	for (unsigned i = 0; i < batch->count; i++) {
		struct content_row *row = &batch->rows[i];

		row->object = build_object_known(build, &row->key);
		if (row->object != HISTORY_NONE)
			__builtin_prefetch(&build->states[row->object], 1);
	}
	for (unsigned i = 0; i < batch->count; i++) {
		const struct content_row *row = &batch->rows[i];

		/* It is marked, whether its name is known or has to be looked at. */
		if (row->object != HISTORY_NONE)
			MEM_PREFETCH(&build->history->versions[build->states[row->object].newest]);
	}
	for (unsigned i = 0; i < batch->count; i++) {
		const struct content_row *row = &batch->rows[i];
		uint32_t object = row->object != HISTORY_NONE ? row->object
							      : build_object_find(build, &row->key);

		content_row(contents, object, row->name, row->image, batch->initial);
	}
	batch->count = 0;
}

static void content_add(struct contents *contents, struct content_batch *batch, struct span key,
	struct span name, struct span image)
{
	struct content_row *row = &batch->rows[batch->count];

	if (!build_key_short(batch->table, key, &row->key)) {
		/* A key of several columns stands in a place that the next one needs. */
		content_flush(contents, batch);
		content_row(contents, build_object_at(contents->build, batch->table, key), name,
			image, batch->initial);
		return;
	}
	build_prefetch(&contents->build->objects, row->key.hash);
	row->name = name;
	row->image = image;
	if (++batch->count == BATCH_ROWS)
		content_flush(contents, batch);
}

/* Complete when the parts came one after the other up to the last, with nothing left out. */
static void content_part(struct contents *contents, uint32_t table,
	const struct record_rows *record, bool initial, bool sound)
{
	struct history_table *t = &contents->build->history->tables[table];
	struct content_state *state;

	if (contents->count < contents->build->history->table_count) {
		MEM_RESERVE(contents->states, contents->build->history->table_count,
			contents->capacity);
		while (contents->count < contents->build->history->table_count)
			contents->states[contents->count++] = (struct content_state){{0, 0}};
	}
	state = &contents->states[table];
	if (record->part == 0)
		state->next[initial] = 0;
	if (!sound || record->part != state->next[initial]) {
		state->next[initial] = HISTORY_NONE;
		return;
	}
	state->next[initial]++;
	if (!record->last || !record->complete)
		return;
	if (initial)
		t->has_initial_rows = true;
	else
		t->has_final_rows = true;
}

static void content(
	struct contents *contents, uint32_t table, const struct record_rows *record, bool initial)
{
	struct history *history = contents->build->history;
	struct mp rows = mp_over(record->rows), versions = mp_over(record->versions);
	uint32_t count = mp_array(&rows);
	uint32_t named = record->versions.ptr ? mp_array(&versions) : 0;
	bool sound = record->versions.ptr || count == 0;
	struct content_batch batch = {.table = table, .initial = initial};
	struct row_shape shape;

	if (!shape_of(history, contents->build->schemas[table], record->columns, &shape)) {
		history->counts.rows_skipped += count;
		return;
	}
	for (uint32_t i = 0; i < count && !rows.bad; i++) {
		const unsigned char *start = rows.p;
		struct span key = row_key(contents, &rows, &shape);
		struct span name = i < named ? mp_raw(&versions) : SPAN_NONE;
		struct span image = span_of(start, (size_t)(rows.p - start));

		if (key.ptr && name.ptr) {
			content_add(contents, &batch, key, name, shape.whole ? image : SPAN_NONE);
		} else {
			history->counts.rows_skipped++;
			sound = false;
		}
	}
	content_flush(contents, &batch);
	content_part(contents, table, record, initial, sound && !rows.bad);
}

bool contents_take(struct contents *contents, struct mp *mp, uint32_t left, struct span whole)
{
	struct history *history = contents->build->history;
	struct record_rows record;
	bool initial, final;
	uint32_t table;

	if (!record_rows_read(mp, left, &record))
		return false;
	initial = span_eq_str(record.moment, "initial");
	final = span_eq_str(record.moment, "final");
	table = build_table_at(contents->build, record.table);
	if (table == HISTORY_NONE) {
		history->counts.records_skipped++;
	} else if (!initial && !final) {
		/* A moment of the driver's: not ours to judge. */
	} else if (contents->build->schemas[table]) {
		content(contents, table, &record, initial);
	} else if (contents->deferred.len + whole.len <= HISTORY_DEFERRED_MAX) {
		buf_add_span(&contents->deferred, whole);
		contents->deferred_count++;
	} else {
		history->counts.records_skipped++;
	}
	return true;
}

/* What waited for a schema that came later, or never. */
void contents_finish(struct contents *contents)
{
	struct mp mp = mp_over(buf_span(&contents->deferred));

	for (uint32_t i = 0; i < contents->deferred_count; i++) {
		struct record_rows record;
		uint32_t kind, left, table;
		bool ok = record_begin(&mp, &kind, &left) && record_rows_read(&mp, left, &record);

		CHECK(ok);
		table = build_table_at(contents->build, record.table);
		if (contents->build->schemas[table]) {
			content(contents, table, &record, span_eq_str(record.moment, "initial"));
		} else {
			struct mp rows = mp_over(record.rows);

			contents->build->history->counts.rows_skipped += mp_array(&rows);
		}
	}
}

void contents_release(struct contents *contents)
{
	mem_free(contents->states);
	buf_release(&contents->deferred);
	buf_release(&contents->key);
}
