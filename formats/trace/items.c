/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a trace's blocks: walked as a whole (trace_next_block), in file order, or merged
 * by seq in a window of blocks (trace_next_item).
 */
#include <stdlib.h>

#include "base/bug.h"
#include "base/mem.h"
#include "trace/reader_internal.h"

enum {
	HELD_OVERHEAD = 256, /* what a block in the ordering window costs beside its bytes */
	HELD_FREE_MAX = 32,
	REPEATED_MAX = 4096,
};

/* ---- records ---- */

static void note_gap(struct trace_reader *reader, const struct trace_item *item)
{
	struct mp mp = item->mp;
	struct record_gap gap;

	if (!record_gap_read(&mp, item->left, &gap))
		return;
	if (span_eq_str(gap.reason, "rotated"))
		reader->removed_records = gap.records;
	else
		reader->totals.lost_records += gap.records;
}

static struct block_cursor cursor_of(
	const struct trace_reader *reader, const struct trace_block *block, struct span records)
{
	return (struct block_cursor){
		.mp = mp_over(records),
		.left = block->record_count,
		.count = block->record_count,
		.offset = block->offset,
		.file_offset = reader->strung + block->offset,
		.body = reader->body,
		.segment = reader->input.current,
		.context = block->info.context,
		.watermark = block->info.watermark,
	};
}

/* The next record.  False at the block's end, or with `bad` set when what follows is no record. */
static bool cursor_next(struct block_cursor *cursor, struct trace_item *item, bool *bad)
{
	struct mp mp = cursor->mp;

	*bad = false;
	if (!cursor->left) {
		*bad = mp.p != mp.end;
		return false;
	}
	if (record_begin(&mp, &item->kind, &item->left)) {
		item->mp = mp;
		if (record_skip_fields(&mp, item->left)) {
			item->whole = span_of(cursor->mp.p, (size_t)(mp.p - cursor->mp.p));
			item->mp.end = mp.p;
			cursor->mp.p = mp.p;
			cursor->left--;
			return true;
		}
	}
	*bad = true;
	return false;
}

/* A bad record in a sound block: what follows it in the block is lost. */
static enum trace_next bad_record(
	struct trace_reader *reader, struct block_cursor *cursor, struct err *err)
{
	uint32_t left = cursor->left, number = cursor->count - left + 1;

	cursor->left = 0;
	cursor->mp.p = cursor->mp.end;
	if (!left)
		return reader_damaged(reader, err, cursor->offset, 0,
			"more bytes than its %u records in the block", cursor->count);
	return reader_damaged(reader, err, cursor->offset, 0,
		"record %u of %u in the block is malformed; it and the records after it are lost",
		number, cursor->count);
}

/* ---- the interface: blocks ---- */

/* Walks the records of a block that is given out whole; cuts it at the first bad one. */
static void block_walk(struct trace_reader *reader, struct trace_block *block)
{
	struct block_cursor cursor = cursor_of(reader, block, block->records);
	struct trace_item item;
	bool bad;

	while (cursor_next(&cursor, &item, &bad)) {
		reader->totals.records++;
		if (item.kind == RECORD_GAP && !cursor.context)
			note_gap(reader, &item);
	}
	if (!bad)
		return;
	block->record_count -= cursor.left;
	block->records.len = (size_t)((const char *)cursor.mp.p - block->records.ptr);
	reader->error_pending = bad_record(reader, &cursor, &reader->error) != TRACE_NEXT_OK;
}

enum trace_next trace_next_block(
	struct trace_reader *reader, struct trace_block *block, struct err *err)
{
	enum trace_next next;

	if (reader->error_pending) {
		reader->error_pending = false;
		*err = reader->error;
		return TRACE_NEXT_ERROR;
	}
	next = reader_next_block(reader, block, err);
	if (next == TRACE_NEXT_OK && !reader->options.unwalked)
		block_walk(reader, block);
	return next;
}

enum trace_next trace_block_bad(struct trace_reader *reader, const struct trace_block *block,
	uint32_t index, struct err *err)
{
	struct block_cursor cursor = cursor_of(reader, block, block->records);

	CHECK(index <= block->record_count);
	cursor.left = block->record_count - index;
	return bad_record(reader, &cursor, err);
}

/* ---- the interface: items ---- */

static uint64_t item_seq(const struct trace_item *item, uint64_t otherwise)
{
	struct mp mp = item->mp;
	uint64_t seq = item->left ? mp_uint(&mp) : 0;

	return mp.bad || !item->left ? otherwise : seq;
}

/* A record of a context block may come again in a later block, of this segment or the next, when a
 * producer held the original while the segment began.  Remembers those of a context block that is
 * given out. */
static void repeats_note(struct trace_reader *reader, const struct trace_block *block)
{
	struct block_cursor cursor = cursor_of(reader, block, block->records);
	struct trace_item item;
	bool bad;

	while (reader->repeated_count < REPEATED_MAX && cursor_next(&cursor, &item, &bad)) {
		uint64_t seq = item_seq(&item, 0);

		if (seq >= block->info.watermark) {
			MEM_RESERVE(reader->repeated, reader->repeated_count + 1,
				reader->repeated_capacity);
			reader->repeated[reader->repeated_count++] = seq;
		}
	}
}

/* True when this record was given out before. */
static bool item_repeats(
	struct trace_reader *reader, const struct block_cursor *cursor, uint64_t seq)
{
	if (cursor->context)
		return false;
	for (size_t i = 0; i < reader->repeated_count; i++) {
		if (reader->repeated[i] == seq) {
			reader->repeated[i] = reader->repeated[--reader->repeated_count];
			return true;
		}
	}
	return false;
}

/* Forgets those that cannot come again. */
static void repeats_prune(struct trace_reader *reader, uint64_t watermark)
{
	size_t kept = 0;

	for (size_t i = 0; i < reader->repeated_count; i++) {
		if (reader->repeated[i] >= watermark)
			reader->repeated[kept++] = reader->repeated[i];
	}
	reader->repeated_count = kept;
}

static enum trace_next next_item_plain(
	struct trace_reader *reader, struct trace_item *item, struct err *err)
{
	struct block_cursor *cursor = &reader->cursor;

	for (;;) {
		enum trace_next next = TRACE_NEXT_OK;
		struct trace_block block;
		bool bad;

		if (cursor_next(cursor, item, &bad)) {
			if (UNLIKELY(reader->repeated_count) &&
				item_repeats(reader, cursor, item_seq(item, 0)))
				continue;
			return TRACE_NEXT_OK;
		}
		if (bad) {
			next = bad_record(reader, cursor, err);
		} else {
			if (reader->repeated_count && !cursor->context)
				repeats_prune(reader, cursor->watermark);
			next = reader_next_block(reader, &block, err);
			if (next == TRACE_NEXT_OK) {
				if (block.info.context)
					repeats_note(reader, &block);
				*cursor = cursor_of(reader, &block, block.records);
			}
		}
		if (next != TRACE_NEXT_OK)
			return next;
	}
}

struct trace_place trace_item_place(const struct trace_reader *reader, const struct trace_item *item)
{
	const struct block_cursor *cursor = &reader->cursor;

	CHECK(!reader->options.ordered);
	return (struct trace_place){.offset = cursor->file_offset,
		.segment = (uint32_t)cursor->segment,
		.at = (uint32_t)((const unsigned char *)item->whole.ptr - cursor->body)};
}

/* ---- the ordering window ---- */

static struct held *held_take(struct trace_reader *reader)
{
	struct held *held = reader->held_free;

	if (!held)
		return mem_zero(1, sizeof(*held));
	reader->held_free = held->next;
	reader->held_free_count--;
	held->next = NULL;
	return held;
}

static void held_drop(struct trace_reader *reader, struct held *held)
{
	reader->held_bytes -= held->bytes.len + HELD_OVERHEAD;
	if (reader->held_free_count >= HELD_FREE_MAX || held->bytes.capacity > 1024 * 1024) {
		buf_release(&held->bytes);
		mem_free(held);
		return;
	}
	held->next = reader->held_free;
	reader->held_free = held;
	reader->held_free_count++;
}

static uint64_t stream_seq(const struct trace_reader *reader, size_t i)
{
	return reader->streams[i].first->seq;
}

static void stream_swap(struct trace_reader *reader, size_t i, size_t k)
{
	struct stream stream = reader->streams[i];

	reader->streams[i] = reader->streams[k];
	reader->streams[k] = stream;
}

static void stream_up(struct trace_reader *reader, size_t i)
{
	while (i && stream_seq(reader, i) < stream_seq(reader, (i - 1) / 2)) {
		stream_swap(reader, i, (i - 1) / 2);
		i = (i - 1) / 2;
	}
}

static void stream_down(struct trace_reader *reader, size_t i)
{
	for (;;) {
		size_t low = i;

		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < reader->stream_count; k++) {
			if (stream_seq(reader, k) < stream_seq(reader, low))
				low = k;
		}
		if (low == i)
			return;
		stream_swap(reader, i, low);
		i = low;
	}
}

/* Stands a held block at its next record.  False: it has none left. */
static bool held_advance(
	struct trace_reader *reader, struct held *held, enum trace_next *next, struct err *err)
{
	bool bad;

	*next = TRACE_NEXT_OK;
	while (cursor_next(&held->cursor, &held->item, &bad)) {
		held->seq = item_seq(&held->item, held->seq);
		if (UNLIKELY(reader->repeated_count) &&
			item_repeats(reader, &held->cursor, held->seq))
			continue;
		return true;
	}
	if (bad)
		*next = bad_record(reader, &held->cursor, err);
	return false;
}

struct span trace_block_keep(
	struct trace_reader *reader, const struct trace_block *block, struct buf *bytes)
{
	struct buf spare = *bytes;

	if (reader->raw.data && block->records.ptr >= reader->raw.data &&
		block->records.ptr < reader->raw.data + reader->raw.len) {
		*bytes = reader->raw; /* decompressed: no copy needed */
		reader->raw = spare;
		return block->records;
	}
	buf_clear(bytes);
	buf_add_span(bytes, block->records);
	return buf_span(bytes);
}

/* A block joins its producer's stream. */
static enum trace_next window_add(
	struct trace_reader *reader, const struct trace_block *block, struct err *err)
{
	struct held *held = held_take(reader);
	enum trace_next next;
	size_t i = 0;

	held->cursor = cursor_of(reader, block, trace_block_keep(reader, block, &held->bytes));
	reader->held_bytes += held->bytes.len + HELD_OVERHEAD;
	held->seq = 0;
	if (block->info.context)
		repeats_note(reader, block);
	if (block->info.watermark > reader->watermark)
		reader->watermark = block->info.watermark;
	if (!held_advance(reader, held, &next, err)) {
		held_drop(reader, held);
		return next;
	}
	while (i < reader->stream_count && reader->streams[i].producer != block->info.producer)
		i++;
	if (i < reader->stream_count) {
		reader->streams[i].last->next = held;
		reader->streams[i].last = held;
		return next;
	}
	CHECK(reader->stream_count < STREAMS_MAX);
	reader->streams[reader->stream_count++] = (struct stream){block->info.producer, held, held};
	stream_up(reader, i);
	return next;
}

/* The record given out last is done with: its stream moves on. */
static enum trace_next window_advance(struct trace_reader *reader, struct err *err)
{
	struct stream *stream = &reader->streams[0];
	struct held *held = reader->given;
	enum trace_next next;

	if (!held)
		return TRACE_NEXT_OK;
	reader->given = NULL;
	CHECK(reader->stream_count && stream->first == held);
	if (!held_advance(reader, held, &next, err)) {
		stream->first = held->next;
		held_drop(reader, held);
		if (!stream->first)
			*stream = reader->streams[--reader->stream_count];
	}
	if (reader->stream_count)
		stream_down(reader, 0);
	return next;
}

static bool window_full(const struct trace_reader *reader)
{
	return reader->held_bytes > reader->options.order_bytes_max ||
	       reader->stream_count == STREAMS_MAX;
}

/* Damage, without salvage: what is in the window is sound and comes first. */
static void window_close(struct trace_reader *reader, enum trace_next next, const struct err *err)
{
	if (next == TRACE_NEXT_OK)
		return;
	reader->all_read = reader->ended = true;
	if (next == TRACE_NEXT_ERROR && !reader->error_pending) {
		reader->error = *err;
		reader->error_pending = true;
	}
}

static enum trace_next next_item_ordered(
	struct trace_reader *reader, struct trace_item *item, struct err *err)
{
	window_close(reader, window_advance(reader, err), err);
	for (;;) {
		enum trace_next next;
		struct trace_block block;

		if (reader->stream_count &&
			(reader->all_read || stream_seq(reader, 0) < reader->watermark ||
				window_full(reader))) {
			reader->given = reader->streams[0].first;
			*item = reader->given->item;
			if (reader->given->cursor.context)
				return TRACE_NEXT_OK;
			if (reader->given->seq < reader->given_seq)
				reader->totals.out_of_order++;
			else
				reader->given_seq = reader->given->seq;
			if (UNLIKELY(reader->repeated_count))
				repeats_prune(reader, reader->given_seq);
			return TRACE_NEXT_OK;
		}
		if (reader->all_read && reader->error_pending) {
			reader->error_pending = false;
			*err = reader->error;
			return TRACE_NEXT_ERROR;
		}
		if (reader->all_read)
			return TRACE_NEXT_END;
		next = reader_next_block(reader, &block, err);
		if (next == TRACE_NEXT_OK)
			next = window_add(reader, &block, err);
		window_close(reader, next, err);
	}
}

enum trace_next trace_next_item(
	struct trace_reader *reader, struct trace_item *item, struct err *err)
{
	enum trace_next next = reader->options.ordered ? next_item_ordered(reader, item, err)
						       : next_item_plain(reader, item, err);

	if (next == TRACE_NEXT_OK) {
		reader->totals.records++;
		if (UNLIKELY(item->kind == RECORD_GAP))
			note_gap(reader, item);
	}
	return next;
}

/* ---- the end ---- */

void reader_release_items(struct trace_reader *reader)
{
	struct held *held;

	for (size_t i = 0; i < reader->stream_count; i++) {
		while ((held = reader->streams[i].first)) {
			reader->streams[i].first = held->next;
			buf_release(&held->bytes);
			mem_free(held);
		}
	}
	while ((held = reader->held_free)) {
		reader->held_free = held->next;
		buf_release(&held->bytes);
		mem_free(held);
	}
	mem_free(reader->repeated);
}
