/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "table/table_out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "table/parquet.h"

struct table_out {
	enum table_format format;
	const struct data_table *table;
	table_sink *sink;
	void *context;
	struct buf bytes;
	struct parquet *parquet; /* NULL: another format */
};

/* RFC 4180 puts texts in quotes that have a quote, a comma or a line's end; so are empty texts here, which
 * then differ from NULL. */
static void csv_text(struct buf *out, struct span text)
{
	const char *end = text.ptr + text.len;
	bool quoted = text.len == 0;

	for (const char *p = text.ptr; p < end && !quoted; p++)
		quoted = *p == '"' || *p == ',' || *p == '\n' || *p == '\r';
	if (quoted)
		buf_add_char(out, '"');
	for (const char *p = text.ptr; p < end;) {
		size_t step = utf8_step((const unsigned char *)p, (size_t)(end - p));

		if (*p == '"')
			buf_add_char(out, '"');
		if (step)
			buf_add(out, p, step);
		else
			buf_add_str(out, "\xef\xbf\xbd");
		p += step ? step : 1;
	}
	if (quoted)
		buf_add_char(out, '"');
}

static void csv_row(struct table_out *out, const struct cell *cells)
{
	char moment[CLOCK_RFC3339_SIZE];

	for (size_t i = 0; i < out->table->column_count; i++) {
		if (i)
			buf_add_char(&out->bytes, ',');
		if (cells[i].is_null)
			continue;
		switch (out->table->columns[i].type) {
		case COLUMN_UINT:
			buf_printf(&out->bytes, "%" PRIu64, cells[i].number);
			break;
		case COLUMN_BOOL:
			buf_add_str(&out->bytes, cells[i].number ? "true" : "false");
			break;
		case COLUMN_TEXT:
			csv_text(&out->bytes, cells[i].text);
			break;
		case COLUMN_TIME:
			buf_add_str(&out->bytes, clock_rfc3339(cells[i].number, moment));
			break;
		}
	}
	buf_add_str(&out->bytes, "\r\n");
}

static void csv_head(struct table_out *out)
{
	for (size_t i = 0; i < out->table->column_count; i++)
		buf_printf(&out->bytes, "%s%s", i ? "," : "", out->table->columns[i].name);
	buf_add_str(&out->bytes, "\r\n");
}

static void ndjson_row(struct table_out *out, const struct cell *cells)
{
	char moment[CLOCK_RFC3339_SIZE];
	struct json json;

	json_init(&json, &out->bytes, 0);
	json_begin_object(&json);
	for (size_t i = 0; i < out->table->column_count; i++) {
		json_key(&json, out->table->columns[i].name);
		if (cells[i].is_null) {
			json_null(&json);
			continue;
		}
		switch (out->table->columns[i].type) {
		case COLUMN_UINT:
			json_uint(&json, cells[i].number);
			break;
		case COLUMN_BOOL:
			json_bool(&json, cells[i].number);
			break;
		case COLUMN_TEXT:
			json_string(&json, cells[i].text);
			break;
		case COLUMN_TIME:
			json_str(&json, clock_rfc3339(cells[i].number, moment));
			break;
		}
	}
	json_end_object(&json);
	buf_add_char(&out->bytes, '\n');
}

struct table_out *table_out_new(
	enum table_format format, const struct data_table *table, table_sink *sink, void *context)
{
	struct table_out *out = mem_zero(1, sizeof(*out));

	CHECK(table->column_count <= DATA_COLUMNS_MAX);
	*out = (struct table_out){.format = format, .table = table, .sink = sink, .context = context};
	if (format == TABLE_CSV)
		csv_head(out);
	if (format == TABLE_PARQUET)
		out->parquet = parquet_new(table);
	return out;
}

static bool pass_on(struct table_out *out)
{
	return out->bytes.len == 0 || out->sink(out->context, &out->bytes);
}

bool table_out_row(struct table_out *out, const struct cell *cells)
{
	enum { ENOUGH = 64 * 1024 };

	switch (out->format) {
	case TABLE_CSV:
		csv_row(out, cells);
		break;
	case TABLE_NDJSON:
		ndjson_row(out, cells);
		break;
	case TABLE_PARQUET:
		if (!parquet_row(out->parquet, cells))
			return true;
		parquet_flush(out->parquet, &out->bytes);
		return pass_on(out);
	}
	return out->bytes.len < ENOUGH || pass_on(out);
}

bool table_out_end(struct table_out *out)
{
	if (out->parquet) {
		parquet_flush(out->parquet, &out->bytes);
		parquet_end(out->parquet, &out->bytes);
	}
	return pass_on(out);
}

void table_out_free(struct table_out *out)
{
	if (!out)
		return;
	if (out->parquet)
		parquet_free(out->parquet);
	buf_release(&out->bytes);
	mem_free(out);
}
