/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Most of a trace are results.  An oracle that judges a long one statement by statement needs few of them at a
 * time, so they stay in the trace: of each part only its place is kept.  The results that were asked for last are
 * in memory.
 */
#include "model/execution/results.h"

#include <stdlib.h>

#include "base/mem.h"
#include "trace/block_at.h"

struct part {
	struct trace_place place;
	uint32_t next;
};

/* The results of one statement, read. */
struct kept {
	const struct execution_stmt *stmt; /* NULL: none */
	uint64_t asked;
	struct buf bytes;
	struct execution_rows *sets;
	uint32_t count;
	size_t capacity;
};

struct execution_results {
	struct trace_blocks *blocks;
	struct part *parts;
	size_t part_count, part_capacity;
	struct kept kept[EXECUTION_RESULTS_KEPT];
	uint64_t clock;
	struct err failed; /* the first time that a record could not be read again */
};

struct execution_results *results_open(const char *path)
{
	struct execution_results *results;
	struct err err;
	struct trace_blocks *blocks = trace_blocks_open(path, &err);

	if (!blocks)
		return NULL;
	results = mem_zero(1, sizeof(*results));
	results->blocks = blocks;
	return results;
}

void results_close(struct execution_results *results)
{
	if (!results)
		return;
	for (size_t i = 0; i < EXECUTION_RESULTS_KEPT; i++) {
		struct kept *k = &results->kept[i];

		for (size_t s = 0; s < k->capacity; s++)
			mem_free(k->sets[s].rows);
		mem_free(k->sets);
		buf_release(&k->bytes);
	}
	trace_blocks_close(results->blocks);
	mem_free(results->parts);
	mem_free(results);
}

uint32_t results_add(struct execution_results *results, struct trace_place place, uint32_t next)
{
	MEM_RESERVE(results->parts, results->part_count + 1, results->part_capacity);
	results->parts[results->part_count] = (struct part){place, next};
	return (uint32_t)results->part_count++;
}

/* ---- sets of parts ---- */

void rows_add(struct execution_rows *out, struct span rows)
{
	struct mp mp = mp_over(rows);
	uint32_t count = rows.ptr ? mp_array(&mp) : 0;

	for (uint32_t i = 0; i < count && !mp.bad; i++) {
		struct span row = mp_raw(&mp);

		if (!row.ptr)
			break;
		MEM_RESERVE(out->rows, out->count + 1, out->capacity);
		out->rows[out->count++] = row;
	}
}

static int by_part(const void *a, const void *b)
{
	const struct record_result *const *x = a, *const *y = b;

	if ((*x)->set != (*y)->set)
		return (*x)->set < (*y)->set ? -1 : 1;
	return ((*x)->part > (*y)->part) - ((*x)->part < (*y)->part);
}

uint32_t results_count(const struct record_result **parts, size_t count)
{
	uint32_t sets = 0;

	qsort(parts, count, sizeof(*parts), by_part);
	for (size_t i = 0; i < count; i++)
		sets += i == 0 || parts[i]->set != parts[i - 1]->set;
	return sets;
}

void results_join(const struct record_stmt *stmt, const struct record_result **parts, size_t count,
	struct execution_rows *sets)
{
	for (size_t i = 0, set = 0; i < count; i++) {
		struct execution_rows *out;

		if (i && parts[i]->set != parts[i - 1]->set)
			set++;
		out = &sets[set];
		if (parts[i]->columns.ptr)
			out->columns = parts[i]->columns;
		rows_add(out, parts[i]->rows);
		if (parts[i]->last) {
			out->total = parts[i]->total;
			out->complete = out->total == out->count && !(stmt->status & STATUS_CURSOR_EXISTS);
		}
	}
}

/* ---- asking ---- */

/* Who asks treats it as not recorded; whether anything failed is asked at the end. */
static bool record_again(struct execution_results *results, uint32_t part, struct span *record)
{
	struct err err;

	if (trace_record_at(results->blocks, results->parts[part].place, record, &err))
		return true;
	if (!results->failed.code)
		results->failed = err;
	return false;
}

bool execution_read_failed(const struct execution *e, struct err *err)
{
	if (!e->results || !e->results->failed.code)
		return false;
	*err = e->results->failed;
	return true;
}

/* Copies the records of the parts; those that are read again may take their blocks' place. */
static bool copy_parts(struct execution_results *results, struct kept *k, uint32_t part, size_t *count)
{
	struct span record;

	buf_clear(&k->bytes);
	for (*count = 0; part != EXECUTION_NONE; part = results->parts[part].next, ++*count) {
		if (!record_again(results, part, &record))
			return false;
		buf_add_span(&k->bytes, record);
	}
	return true;
}

static void read_sets(struct kept *k, size_t count)
{
	struct record_result *records = mem_zero(count + 1, sizeof(*records));
	const struct record_result **parts = mem_zero(count + 1, sizeof(*parts));
	struct mp mp = mp_over(buf_span(&k->bytes));
	size_t read = 0;

	for (size_t i = 0; i < count; i++) {
		struct mp fields = mp_over(mp_raw(&mp));
		uint32_t kind, left;

		if (record_begin(&fields, &kind, &left) && kind == RECORD_RESULT &&
			record_result_read(&fields, left, &records[read])) {
			parts[read] = &records[read];
			read++;
		}
	}
	k->count = results_count(parts, read);
	while (k->capacity < k->count) {
		size_t capacity = k->capacity;

		MEM_RESERVE(k->sets, k->count, k->capacity);
		memset(k->sets + capacity, 0, (k->capacity - capacity) * sizeof(*k->sets));
	}
	for (uint32_t i = 0; i < k->count; i++)
		k->sets[i] = (struct execution_rows){.rows = k->sets[i].rows, .capacity = k->sets[i].capacity};
	results_join(&k->stmt->record, parts, read, k->sets);
	mem_free(records);
	mem_free(parts);
}

/* The sets of a statement, in memory; NULL: they cannot be read any more. */
static const struct kept *sets_of(struct execution_results *results, const struct execution_stmt *stmt)
{
	struct kept *k = &results->kept[0];
	size_t count;

	for (size_t i = 0; i < EXECUTION_RESULTS_KEPT; i++) {
		if (results->kept[i].stmt == stmt) {
			results->kept[i].asked = ++results->clock;
			return &results->kept[i];
		}
		if (results->kept[i].asked < k->asked)
			k = &results->kept[i];
	}
	k->stmt = NULL;
	if (!copy_parts(results, k, stmt->first_part, &count))
		return NULL;
	k->stmt = stmt;
	k->asked = ++results->clock;
	read_sets(k, count);
	return k;
}

const struct execution_rows *execution_set(const struct execution *e, const struct execution_stmt *stmt, uint32_t set)
{
	const struct kept *k;

	if (!e->results)
		return set < stmt->set_count ? &stmt->sets[set] : NULL;
	if (stmt->first_part == EXECUTION_NONE)
		return NULL;
	k = sets_of(e->results, stmt);
	return k && set < k->count ? &k->sets[set] : NULL;
}

uint32_t execution_set_count(const struct execution *e, const struct execution_stmt *stmt)
{
	const struct kept *k;

	if (!e->results)
		return stmt->set_count;
	k = stmt->first_part == EXECUTION_NONE ? NULL : sets_of(e->results, stmt);
	return k ? k->count : 0;
}

/* ---- the rows of tables ---- */

struct span row_cut(struct span row, uint32_t own, struct buf *bytes)
{
	struct mp mp = mp_over(row);
	uint32_t count = mp_array(&mp);
	const unsigned char *start = mp.p;

	if (!own || mp.bad || count <= own || own > 0xffff)
		return row;
	for (uint32_t k = 0; k < own; k++)
		(void)mp_skip(&mp);
	buf_clear(bytes);
	buf_add_char(bytes, (char)0xdc); /* array 16 */
	buf_add_char(bytes, (char)(own >> 8));
	buf_add_char(bytes, (char)own);
	buf_add_span(bytes, span_of(start, (size_t)(mp.p - start)));
	return buf_span(bytes);
}

/* One part. */
static bool each_of_part(const struct execution_rows *content, struct span record, execution_row_fn *each, void *ctx,
	struct buf *bytes)
{
	struct record_rows r;
	struct mp mp = mp_over(record);
	uint32_t kind, left, count;

	if (!record_begin(&mp, &kind, &left) || kind != RECORD_ROWS || !record_rows_read(&mp, left, &r))
		return false;
	mp = mp_over(r.rows);
	count = r.rows.ptr ? mp_array(&mp) : 0;
	for (uint32_t i = 0; i < count; i++) {
		struct span row = mp_raw(&mp);

		if (!row.ptr || !each(ctx, row_cut(row, content->own, bytes)))
			return false;
	}
	return true;
}

static bool each_in_trace(
	struct execution_results *results, const struct execution_rows *content, execution_row_fn *each, void *ctx)
{
	struct buf bytes = BUF_INIT, copy = BUF_INIT;
	uint32_t *parts = NULL;
	size_t count = 0, capacity = 0;
	bool good = true;

	for (uint32_t at = content->first_part; at != EXECUTION_NONE; at = results->parts[at].next) {
		MEM_RESERVE(parts, count + 1, capacity);
		parts[count++] = at;
	}
	while (count && good) {
		struct span record;

		good = record_again(results, parts[--count], &record);
		/* What is done with a row may read another record. */
		buf_clear(&copy);
		if (good)
			buf_add_span(&copy, record);
		good = good && each_of_part(content, buf_span(&copy), each, ctx, &bytes);
	}
	mem_free(parts);
	buf_release(&bytes);
	buf_release(&copy);
	return good;
}

bool execution_each_row(
	const struct execution *e, const struct execution_rows *content, execution_row_fn *each, void *ctx)
{
	if (e->results)
		return each_in_trace(e->results, content, each, ctx);
	for (size_t i = 0; i < content->count; i++) {
		if (!each(ctx, content->rows[i]))
			return false;
	}
	return true;
}

struct gathering {
	struct arena *arena;
	struct execution_rows *out;
	size_t room;
};

static bool gather_row(void *ctx, struct span row)
{
	struct gathering *g = ctx;

	if (g->out->count == g->room)
		return false;
	g->out->rows[g->out->count++] = arena_copy(g->arena, row);
	return true;
}

bool execution_whole_content(const struct execution *e, const struct execution_rows *content, struct arena *arena,
	struct execution_rows *out)
{
	struct gathering g = {arena, out, content->count};

	*out = *content;
	if (!e->results)
		return true;
	out->rows = arena_alloc(arena, (content->count + 1) * sizeof(*out->rows));
	out->count = 0;
	return execution_each_row(e, content, gather_row, &g);
}
