/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records whose content follows from two numbers, so that a test can tell whether what it reads is
 * what was sent; and block frames made by hand, to forge what no writer writes.
 */
#ifndef TRACE_MAKE_H
#define TRACE_MAKE_H

#include <inttypes.h>
#include <stdio.h>
#include <zstd.h>

#include "base/crc32c.h"
#include "random.h"
#include "trace/format.h"
#include "trace/header.h"
#include "trace/pack.h"
#include "trace/reader.h"
#include "trace/record.h"
#include "trace/writer.h"
#include "trace_util.h"

/* ---- numbered records ---- */

enum { NUMBERED_TEXT_MAX = 2000 };

/* Text of the note `number` of thread `thread`: partly random, so that it does not all shrink. */
static inline struct span numbered_text(
	uint32_t thread, uint64_t number, char text[NUMBERED_TEXT_MAX])
{
	struct random random = {number * 1000003 + thread};
	size_t len = random_below(&random, 16) ? random_below(&random, 120)
					       : random_below(&random, NUMBERED_TEXT_MAX);

	for (size_t i = 0; i < len; i++)
		text[i] = random_below(&random, 3) ? (char)('a' + i % 26)
						   : (char)random_next(&random);
	return span_of(text, len);
}

static inline uint64_t numbered_emit(
	struct trace_producer *producer, uint32_t thread, uint64_t number)
{
	char text[NUMBERED_TEXT_MAX];
	struct buf data = BUF_INIT;
	msgpack_packer pk = pack_into(&data);
	struct record_note note = {.source = SPAN_LIT("test"), .topic = SPAN_LIT("numbered")};
	uint64_t seq;

	msgpack_pack_array(&pk, 2);
	pack_uint(&pk, thread);
	pack_uint(&pk, number);
	note.text = numbered_text(thread, number, text);
	note.data = buf_span(&data);
	seq = trace_emit_note(producer, &note);
	buf_release(&data);
	return seq;
}

/* False when the item is no numbered note; fails when it is one and not what was sent. */
static inline bool numbered_read(
	const struct trace_item *item, uint32_t *thread, uint64_t *number, uint64_t *seq)
{
	char text[NUMBERED_TEXT_MAX];
	struct mp mp = item->mp, data;
	struct record_note note;

	if (item->kind != RECORD_NOTE)
		return false;
	HOLDS(record_note_read(&mp, item->left, &note));
	if (!span_eq_str(note.topic, "numbered"))
		return false;
	data = mp_over(note.data);
	EQUAL(mp_array(&data), 2);
	*thread = mp_u32(&data);
	*number = mp_uint(&data);
	*seq = note.seq;
	HOLDS(!data.bad);
	HOLDS(span_eq(note.text, numbered_text(*thread, *number, text)));
	HOLDS(span_eq_str(note.source, "test"));
	return true;
}

/* ---- forged files ---- */

static inline void forge_header(struct buf *out, uint32_t segment, unsigned char marker[16])
{
	struct trace_header header = {
		.version = TRACE_VERSION, .recorder_ref = SPAN_LIT("forged"), .segment = segment};

	memcpy(marker, TRACE_MARKER_PREFIX "\1\2\3\4\5\6\7\10", 16);
	memcpy(header.marker, marker, 16);
	memset(header.trace_id, 0x42, 16);
	trace_header_pack(out, &header);
}

/* A frame with a right checksum around whatever the body is. */
static inline void forge_frame(struct buf *out, const unsigned char marker[16], unsigned char type,
	uint32_t count, struct span body)
{
	unsigned char head[30];
	uint32_t length = (uint32_t)(24 + body.len), crc;

	head[0] = 0xc9;
	for (int i = 0; i < 4; i++) {
		head[1 + i] = (unsigned char)(length >> (24 - 8 * i));
		head[26 + i] = (unsigned char)(count >> (24 - 8 * i));
	}
	head[5] = type;
	memcpy(head + 6, marker, 16);
	crc = crc32c(crc32c(0, &type, 1), marker, 16);
	crc = crc32c(crc32c(crc, head + 26, 4), body.ptr, body.len);
	for (int i = 0; i < 4; i++)
		head[22 + i] = (unsigned char)(crc >> (24 - 8 * i));
	buf_add(out, head, sizeof(head));
	buf_add_span(out, body);
}

/* The body of a block with `count` notes, their seq counting up from first_seq. */
static inline void forge_body(struct buf *out, uint32_t producer, uint64_t block,
	uint64_t first_seq, uint64_t watermark, uint32_t count)
{
	struct record_block info = {.producer = producer,
		.block = block,
		.first_seq = first_seq,
		.last_seq = first_seq + count - 1,
		.watermark = watermark};

	record_block_pack(out, &info);
	for (uint32_t i = 0; i < count; i++) {
		struct record_note note = {
			.seq = first_seq + i, .at = 1, .text = SPAN_LIT("forged note")};

		record_note_pack(out, &note);
	}
}

static inline void forge_block(struct buf *out, const unsigned char marker[16], uint64_t block,
	uint64_t first_seq, uint32_t count)
{
	struct buf body = BUF_INIT;

	forge_body(&body, 1, block, first_seq, first_seq + count, count);
	forge_frame(out, marker, TRACE_EXT_RAW, count + 1, buf_span(&body));
	buf_release(&body);
}

#endif
