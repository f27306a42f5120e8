/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What reader.c and items.c share: the reader, from the inside. */
#ifndef TRACE_READER_INTERNAL_H
#define TRACE_READER_INTERNAL_H

#include <zstd.h>

#include "base/attr.h"
#include "trace/input.h"
#include "trace/reader.h"

enum { MISSING_MAX = 256, STREAMS_MAX = 1024 };

/* Block numbers [first, end) that were passed over. */
struct missing {
	uint64_t first, end;
};

/* Records of one block, being given out. */
struct block_cursor {
	struct mp mp;
	uint32_t left, count; /* records to come; in all */
	uint64_t offset;      /* of the block */
	uint64_t file_offset; /* the same in the file, which may have several segments one after the other */
	const unsigned char *body; /* the block's bytes, with its own record */
	uint64_t segment;     /* index of the input's segment */
	bool context;
	uint64_t watermark;
};

/* A block in the ordering window. */
struct held {
	struct held *next; /* of the same producer, or free */
	struct buf bytes;
	struct block_cursor cursor;
	struct trace_item item; /* the record the cursor stands at */
	uint64_t seq;
};

/* The blocks of one producer in the window, oldest first. */
struct stream {
	uint32_t producer;
	struct held *first, *last;
};

struct trace_reader {
	struct trace_reader_options options;
	struct input input;
	struct trace_header header;
	struct buf header_bytes;
	bool header_known, footer_seen, torn_seen, ended;
	bool goes_on; /* the last footer says that another segment follows */
	bool marker_known;
	uint64_t segment_records; /* in blocks of this segment so far, block records not counted */
	uint64_t segment_damage;  /* totals.damages when the segment began */
	uint32_t segment_last;    /* number of the segment before; 0: none */
	unsigned char trace_id[16];
	bool trace_id_known;
	bool complete_before; /* everything of the trace before this segment has been read */
	uint64_t block_next;  /* number the next block should have */
	bool after_damage;    /* a jump of block numbers is explained */
	struct missing missing[MISSING_MAX];
	size_t missing_count;
	bool error_pending; /* a block with a bad record was given out: now fail */
	struct err error;

	ZSTD_DCtx *zstd;
	struct buf raw;
	const unsigned char *body; /* of the block that was decoded last */
	uint64_t strung; /* bytes of the file before this segment */
	size_t frame_used; /* bytes of the window that the block given out last takes */

	struct trace_damage *damage;
	size_t damage_count, damage_capacity;
	struct trace_totals totals;
	uint64_t removed_records; /* by the newest gap record of reason "rotated" */

	struct block_cursor cursor; /* file order */
	uint64_t *repeated;   /* seqs of context records that may come again */
	size_t repeated_count, repeated_capacity;

	struct stream streams[STREAMS_MAX]; /* a heap by the seq of their first record */
	size_t stream_count;
	struct held *held_free;
	size_t held_free_count;
	size_t held_bytes;
	struct held *given; /* whose record was given out last */
	uint64_t watermark, given_seq;
	bool all_read;
};

/* ---- reader.c ---- */

/* Damage that is no torn tail ends the reading, unless salvaging. */
PRINTF_LIKE(5, 6)
enum trace_next reader_damaged(struct trace_reader *reader, struct err *err, uint64_t offset,
	uint64_t size, const char *fmt, ...);
/* The next sound block; its records are not looked at. */
enum trace_next reader_next_block(
	struct trace_reader *reader, struct trace_block *block, struct err *err);

/* ---- items.c ---- */

void reader_release_items(struct trace_reader *reader);

#endif
