/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table/parquet.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bug.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/version.h"

enum { GROUP_ROWS_MAX = 128 * 1024, GROUP_BYTES_MAX = 32 * 1024 * 1024 };
enum { ZSTD_LEVEL = 3 };

/* parquet.thrift */
enum { TYPE_BOOLEAN = 0, TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { REPETITION_OPTIONAL = 1 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_TIMESTAMP = 8, LOGICAL_INTEGER = 10 };
enum { TIME_UNIT_NANOS = 3 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3 };
enum { PAGE_DATA = 0 };
enum { CODEC_ZSTD = 6 };

/* Values of one column that wait for their row group. */
struct chunk {
	struct buf values;  /* PLAIN, of those that are not NULL */
	struct buf levels;  /* runs that are over: 1 for a value, 0 for NULL */
	uint64_t run;       /* length of the one that is not */
	bool run_of_values; /* what it is of */
	uint64_t bits;      /* BOOLEAN: values that make no whole byte yet */
	unsigned bit_count;
};

/* Where a column's values of one row group stand in the file. */
struct chunk_place {
	uint64_t offset, raw_size, size;
};

struct group {
	uint64_t rows, raw_size;
	struct chunk_place *places; /* one a column */
};

struct parquet {
	const struct data_table *table;
	struct chunk *chunks;
	uint64_t rows; /* in them */
	uint64_t bytes_out;
	struct group *groups;
	size_t group_count, group_capacity;
	ZSTD_CCtx *zstd;
};

/* ---- Thrift's compact protocol ---- */

enum { THRIFT_TRUE = 1, THRIFT_FALSE = 2, THRIFT_I8 = 3, THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8,
	THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

enum { THRIFT_DEPTH_MAX = 8 };

struct thrift {
	struct buf *out;
	int last[THRIFT_DEPTH_MAX]; /* number of the field before, by depth of structs */
	int depth;
};

static void put_varint(struct buf *out, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		buf_add_char(out, (char)(n | 0x80));
	buf_add_char(out, (char)n);
}

static void put_zigzag(struct buf *out, int64_t n)
{
	put_varint(out, (uint64_t)n << 1 ^ (uint64_t)(n >> 63));
}

static void thrift_field(struct thrift *t, int number, int type)
{
	int *last = &t->last[t->depth];

	CHECK(number > *last && number - *last <= 15);
	buf_add_char(t->out, (char)((number - *last) << 4 | type));
	*last = number;
}

static void thrift_i32(struct thrift *t, int number, int32_t value)
{
	thrift_field(t, number, THRIFT_I32);
	put_zigzag(t->out, value);
}

static void thrift_i64(struct thrift *t, int number, uint64_t value)
{
	thrift_field(t, number, THRIFT_I64);
	put_zigzag(t->out, (int64_t)value);
}

static void thrift_bytes(struct thrift *t, const char *text)
{
	size_t len = strlen(text);

	put_varint(t->out, len);
	buf_add(t->out, text, len);
}

static void thrift_text(struct thrift *t, int number, const char *text)
{
	thrift_field(t, number, THRIFT_BINARY);
	thrift_bytes(t, text);
}

/* An element of a list, or what is in a field of that type. */
static void thrift_begin(struct thrift *t)
{
	CHECK(t->depth + 1 < THRIFT_DEPTH_MAX);
	t->last[++t->depth] = 0;
}

static void thrift_begin_field(struct thrift *t, int number)
{
	thrift_field(t, number, THRIFT_STRUCT);
	thrift_begin(t);
}

static void thrift_end(struct thrift *t)
{
	buf_add_char(t->out, 0);
	t->depth--;
}

static void thrift_empty(struct thrift *t, int number)
{
	thrift_begin_field(t, number);
	thrift_end(t);
}

static void thrift_list(struct thrift *t, int number, int type, size_t count)
{
	thrift_field(t, number, THRIFT_LIST);
	if (count < 15) {
		buf_add_char(t->out, (char)(count << 4 | (unsigned)type));
	} else {
		buf_add_char(t->out, (char)(0xf0 | type));
		put_varint(t->out, count);
	}
}

/* ---- rows ---- */

struct parquet *parquet_new(const struct data_table *table)
{
	struct parquet *p = mem_zero(1, sizeof(*p));

	p->table = table;
	p->chunks = mem_zero(table->column_count, sizeof(*p->chunks));
	p->zstd = mem_must(ZSTD_createCCtx());
	return p;
}

void parquet_free(struct parquet *p)
{
	for (size_t i = 0; i < p->table->column_count; i++) {
		buf_release(&p->chunks[i].values);
		buf_release(&p->chunks[i].levels);
	}
	for (size_t i = 0; i < p->group_count; i++)
		mem_free(p->groups[i].places);
	mem_free(p->groups);
	mem_free(p->chunks);
	ZSTD_freeCCtx(p->zstd);
	mem_free(p);
}

static void put_le(struct buf *out, uint64_t n, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_add_char(out, (char)(n >> 8 * i));
}

/* The page on encodings, run length encoding: a run is its length, one bit up, and its value in
 * as many bytes as its width needs. */
static void end_run(struct chunk *chunk)
{
	if (chunk->run) {
		put_varint(&chunk->levels, chunk->run << 1);
		buf_add_char(&chunk->levels, chunk->run_of_values);
	}
	chunk->run = 0;
}

static void put_level(struct chunk *chunk, bool value)
{
	if (chunk->run_of_values != value)
		end_run(chunk);
	chunk->run_of_values = value;
	chunk->run++;
}

static void put_text(struct buf *out, struct span text)
{
	size_t at = out->len;

	put_le(out, 0, 4);
	for (const char *p = text.ptr, *end = p + text.len; p < end;) {
		size_t step = utf8_step((const unsigned char *)p, (size_t)(end - p));

		if (step)
			buf_add(out, p, step);
		else
			buf_add_str(out, "\xef\xbf\xbd");
		p += step ? step : 1;
	}
	for (unsigned i = 0; i < 4; i++)
		out->data[at + i] = (char)((out->len - at - 4) >> 8 * i);
}

static void put_bits(struct chunk *chunk)
{
	if (chunk->bit_count)
		buf_add_char(&chunk->values, (char)chunk->bits);
	chunk->bits = 0;
	chunk->bit_count = 0;
}

static void put_bool(struct chunk *chunk, bool value)
{
	chunk->bits |= (uint64_t)value << chunk->bit_count;
	if (++chunk->bit_count == 8)
		put_bits(chunk);
}

bool parquet_row(struct parquet *p, const struct cell *cells)
{
	size_t bytes = 0;

	for (size_t i = 0; i < p->table->column_count; i++) {
		struct chunk *chunk = &p->chunks[i];

		put_level(chunk, !cells[i].is_null);
		if (!cells[i].is_null) {
			switch (p->table->columns[i].type) {
			case COLUMN_UINT:
			case COLUMN_TIME:
				put_le(&chunk->values, cells[i].number, 8);
				break;
			case COLUMN_BOOL:
				put_bool(chunk, cells[i].number);
				break;
			case COLUMN_TEXT:
				put_text(&chunk->values, cells[i].text);
				break;
			}
		}
		bytes += chunk->values.len;
	}
	p->rows++;
	return p->rows >= GROUP_ROWS_MAX || bytes >= GROUP_BYTES_MAX;
}

/* ---- row groups ---- */

static void put_page_header(struct buf *out, uint64_t rows, size_t raw_size, size_t size)
{
	struct thrift t = {.out = out};

	thrift_i32(&t, 1, PAGE_DATA);
	thrift_i32(&t, 2, (int32_t)raw_size);
	thrift_i32(&t, 3, (int32_t)size);
	thrift_begin_field(&t, 5); /* DataPageHeader */
	thrift_i32(&t, 1, (int32_t)rows);
	thrift_i32(&t, 2, ENCODING_PLAIN);
	thrift_i32(&t, 3, ENCODING_RLE); /* definition levels */
	thrift_i32(&t, 4, ENCODING_RLE); /* repetition levels, of which there are none */
	thrift_end(&t);
	buf_add_char(out, 0);
}

static struct chunk_place put_chunk(struct parquet *p, struct chunk *chunk, struct buf *out)
{
	struct chunk_place place = {.offset = p->bytes_out};
	struct buf page = BUF_INIT, packed = BUF_INIT;
	size_t begin = out->len, header, room, n;

	end_run(chunk);
	put_bits(chunk);
	put_le(&page, chunk->levels.len, 4);
	buf_add_span(&page, buf_span(&chunk->levels));
	buf_add_span(&page, buf_span(&chunk->values));
	room = ZSTD_compressBound(page.len);
	n = ZSTD_compressCCtx(p->zstd, buf_reserve(&packed, room), room, page.data, page.len, ZSTD_LEVEL);
	CHECK(!ZSTD_isError(n)); /* there is room, and nothing else can fail */
	packed.len = n;
	put_page_header(out, p->rows, page.len, packed.len);
	header = out->len - begin;
	buf_add_span(out, buf_span(&packed));
	place.raw_size = header + page.len;
	place.size = out->len - begin;
	buf_release(&page);
	buf_release(&packed);
	buf_clear(&chunk->values);
	buf_clear(&chunk->levels);
	p->bytes_out += place.size;
	return place;
}

static void put_magic(struct parquet *p, struct buf *out)
{
	buf_add_str(out, "PAR1");
	p->bytes_out += 4;
}

void parquet_flush(struct parquet *p, struct buf *out)
{
	struct group group = {.rows = p->rows};

	if (p->bytes_out == 0)
		put_magic(p, out);
	if (p->rows == 0)
		return;
	group.places = mem_zero(p->table->column_count, sizeof(*group.places));
	for (size_t i = 0; i < p->table->column_count; i++) {
		group.places[i] = put_chunk(p, &p->chunks[i], out);
		group.raw_size += group.places[i].raw_size;
	}
	MEM_RESERVE(p->groups, p->group_count + 1, p->group_capacity);
	p->groups[p->group_count++] = group;
	p->rows = 0;
}

/* ---- metadata ---- */

static int physical_type(enum column_type type)
{
	switch (type) {
	case COLUMN_UINT:
	case COLUMN_TIME:
		return TYPE_INT64;
	case COLUMN_BOOL:
		return TYPE_BOOLEAN;
	case COLUMN_TEXT:
		return TYPE_BYTE_ARRAY;
	}
	BUG("no type %d", type);
}

/* The page on logical types; converted types are what older readers know instead. */
static void put_logical_type(struct thrift *t, enum column_type type)
{
	if (type == COLUMN_UINT || type == COLUMN_TEXT)
		thrift_i32(t, 6, type == COLUMN_UINT ? CONVERTED_UINT_64 : CONVERTED_UTF8);
	if (type == COLUMN_BOOL)
		return;
	thrift_begin_field(t, 10);
	switch (type) {
	case COLUMN_UINT:
		thrift_begin_field(t, LOGICAL_INTEGER);
		thrift_field(t, 1, THRIFT_I8);
		buf_add_char(t->out, 64); /* bits */
		thrift_field(t, 2, THRIFT_FALSE); /* signed */
		thrift_end(t);
		break;
	case COLUMN_TIME:
		thrift_begin_field(t, LOGICAL_TIMESTAMP);
		thrift_field(t, 1, THRIFT_TRUE); /* UTC */
		thrift_begin_field(t, 2);
		thrift_empty(t, TIME_UNIT_NANOS);
		thrift_end(t);
		thrift_end(t);
		break;
	case COLUMN_TEXT:
		thrift_empty(t, LOGICAL_STRING);
		break;
	case COLUMN_BOOL:
		break;
	}
	thrift_end(t);
}

static void put_schema(struct thrift *t, const struct data_table *table)
{
	thrift_list(t, 2, THRIFT_STRUCT, 1 + table->column_count);
	thrift_begin(t);
	thrift_text(t, 4, table->name);
	thrift_i32(t, 5, (int32_t)table->column_count);
	thrift_end(t);
	for (size_t i = 0; i < table->column_count; i++) {
		thrift_begin(t);
		thrift_i32(t, 1, physical_type(table->columns[i].type));
		thrift_i32(t, 3, REPETITION_OPTIONAL);
		thrift_text(t, 4, table->columns[i].name);
		put_logical_type(t, table->columns[i].type);
		thrift_end(t);
	}
}

static void put_column_chunk(
	struct thrift *t, const struct data_column *column, const struct group *group, const struct chunk_place *place)
{
	thrift_begin(t);
	thrift_i64(t, 2, place->offset);
	thrift_begin_field(t, 3); /* ColumnMetaData */
	thrift_i32(t, 1, physical_type(column->type));
	thrift_list(t, 2, THRIFT_I32, 2);
	put_zigzag(t->out, ENCODING_PLAIN);
	put_zigzag(t->out, ENCODING_RLE);
	thrift_list(t, 3, THRIFT_BINARY, 1);
	thrift_bytes(t, column->name);
	thrift_i32(t, 4, CODEC_ZSTD);
	thrift_i64(t, 5, group->rows);
	thrift_i64(t, 6, place->raw_size);
	thrift_i64(t, 7, place->size);
	thrift_i64(t, 9, place->offset);
	thrift_end(t);
	thrift_end(t);
}

void parquet_end(struct parquet *p, struct buf *out)
{
	struct thrift t = {.out = out};
	size_t begin = out->len;
	uint64_t rows = 0;

	for (size_t i = 0; i < p->group_count; i++)
		rows += p->groups[i].rows;
	thrift_i32(&t, 1, 1); /* version */
	put_schema(&t, p->table);
	thrift_i64(&t, 3, rows);
	thrift_list(&t, 4, THRIFT_STRUCT, p->group_count);
	for (size_t i = 0; i < p->group_count; i++) {
		const struct group *group = &p->groups[i];

		thrift_begin(&t);
		thrift_list(&t, 1, THRIFT_STRUCT, p->table->column_count);
		for (size_t k = 0; k < p->table->column_count; k++)
			put_column_chunk(&t, &p->table->columns[k], group, &group->places[k]);
		thrift_i64(&t, 2, group->raw_size);
		thrift_i64(&t, 3, group->rows);
		thrift_end(&t);
	}
	thrift_text(&t, 6, "isotrace " ISOTRACE_VERSION);
	buf_add_char(out, 0);
	put_le(out, out->len - begin, 4);
	buf_add_str(out, "PAR1");
}
