/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoder of binary logs on arbitrary bytes.  Input: a file of a binary log; the mutator
 * changes whole events and mends their lengths, and checksums are not verified.  Beyond not
 * crashing: what a row is told to be is well-formed, and has as many values as its table has
 * columns.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "binlog/tables.h"
#include "binlog/transactions.h"
#include "mutate_units.h"
#include "trace/pack.h"
#include "trace/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An event: a header of 19 bytes with its length at offset 9.  The magic number is a unit. */
static size_t event_length(const uint8_t *data, size_t left)
{
	size_t length;

	if (left >= BINLOG_MAGIC_SIZE && !memcmp(data,
						 "\xfe"
						 "bin",
						 BINLOG_MAGIC_SIZE))
		return BINLOG_MAGIC_SIZE;
	length = left >= BINLOG_HEAD_SIZE ? binlog_event_size(span_of(data, BINLOG_HEAD_SIZE))
					  : left;
	return length && length < left ? length : left;
}

static void mend_event(uint8_t *event, size_t old_size, size_t new_size)
{
	(void)old_size;
	for (unsigned i = 0; new_size >= BINLOG_HEAD_SIZE && i < 4; i++)
		event[9 + i] = (uint8_t)(new_size >> (8 * i));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned seed)
{
	static const struct unit_shape events = {event_length, mend_event, BINLOG_HEAD_SIZE, 4096};

	return mutate_units(&events, data, size, size_max, seed);
}

static void check_rows(struct binlog_table_rows *rows)
{
	struct mp mp;
	uint32_t count;

	pack_array_close(&rows->rows, 0, rows->count);
	mp = mp_over(buf_span(&rows->rows));
	count = mp_array(&mp);
	CHECK(count == rows->count);
	for (uint32_t i = 0; i < count; i++) {
		struct probe_row row;
		struct span images[2];

		CHECK(probe_row_read(&mp, &row));
		images[0] = row.image;
		images[1] = row.old_image;
		for (unsigned k = 0; k < 2; k++) {
			struct mp image = mp_over(images[k]);
			uint32_t values = images[k].ptr ? mp_array(&image) : 0;

			for (uint32_t v = 0; v < values; v++) {
				struct value value;

				CHECK(value_read(&image, &value));
			}
			CHECK(!image.bad && image.p == image.end);
		}
	}
	CHECK(!mp.bad && mp.p == mp.end);
}

static void on_txn(void *ctx, struct binlog_txn *txn)
{
	(void)ctx;
	for (size_t i = 0; i < txn->group_count; i++)
		for (size_t k = 0; k < txn->groups[i].table_count; k++)
			check_rows(&txn->groups[i].tables[k]);
}

static void on_text(void *ctx, struct span text)
{
	uint64_t *sum = ctx;

	for (size_t i = 0; i < text.len; i++)
		*sum = *sum * 31 + (unsigned char)text.ptr[i];
}

static void on_define(void *ctx, struct record_schema *record)
{
	on_text(ctx, record->columns);
}

static const struct binlog_txns_sink sink = {
	.txn = on_txn, .gap = on_text, .before_file = on_text, .format = on_text};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct binlog_options options = {.values = {1000}, .trust_checksums = true};
	uint64_t sum = 0;
	struct binlog_tables *tables = binlog_tables_new(NULL, 1, on_define, &sum);
	struct binlog_txns *txns = binlog_txns_new(&sink, &sum, tables, &options);
	struct err err;

	if (size >= BINLOG_MAGIC_SIZE && binlog_magic(span_of(data, size), &err)) {
		data += BINLOG_MAGIC_SIZE;
		size -= BINLOG_MAGIC_SIZE;
	}
	while (size >= BINLOG_HEAD_SIZE) {
		uint32_t length = binlog_event_size(span_of(data, size));
		char *copy;

		if (!length || length > size)
			break;
		/* In memory of its own, so that a read beyond its end is seen. */
		copy = malloc(length);
		CHECK(copy);
		memcpy(copy, data, length);
		(void)!binlog_txns_event(txns, span_of(copy, length), &err);
		free(copy);
		data += length;
		size -= length;
	}
	binlog_txns_free(txns);
	binlog_tables_free(tables);
	return sum == 1;
}
