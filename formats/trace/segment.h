/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One segment file being written: header, framed blocks, index, footer.  Used by the writer's
 * background thread alone (and by trace_writer_open before that thread runs).
 *
 * Invariant: `offset` is the end of the last whole block; what a failed write
 * leaves after it is cut off again, so a segment is readable up to `offset` at every moment.
 */
#ifndef TRACE_SEGMENT_H
#define TRACE_SEGMENT_H

#include <zstd.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "trace/header.h"
#include "trace/record.h"
#include "trace/writer.h"

/* An entry of the footer's index: one block, or several in a row once the index is full. */
struct segment_run {
	uint64_t offset, size, records, first_seq, last_seq, first_at, last_at;
};

enum {
	SEGMENT_RUNS_MAX = 16384, /* then neighbours are joined: the index is bounded */
	/* Left free before a block's records, for the block record and the frame's head: a block
	 * that is not compressed is written from where it stands. */
	SEGMENT_ROOM = 96,
	/* Compression must save one byte of so many, a fast level more: a user who chose it wants to save
	 * time ... */
	SEGMENT_SAVING_MIN = 16,
	SEGMENT_SAVING_MIN_FAST = 4,
	/* ... or at most so many blocks are not tried. */
	SEGMENT_LEAVE_ALONE_MAX = 32,
	/* Bytes after which the kernel is asked to begin with the writing: see segment_start_writing. */
	SEGMENT_START_SIZE = 1 << 20,
};

struct segment {
	const struct trace_io *io;
	int fd;        /* -1: none */
	bool cuttable; /* a regular file: a torn block can be cut off */
	char *path;
	struct trace_header header;
	bool anchored; /* header's clocks are given, not taken from the system */
	uint64_t offset, blocks, records, bytes_raw, lost;
	uint64_t repeated; /* records of context blocks */
	uint64_t first_seq, last_seq;
	uint64_t counts[RECORD_KIND_COUNT];
	struct segment_run *runs;
	size_t run_count, run_blocks; /* blocks a run has: doubled at each joining */
	size_t last_run_blocks;
	bool unsynced;
	uint64_t started; /* up to here the kernel was asked to begin with the writing */
};

/* What a block of records has beside its bytes. */
struct segment_block {
	struct record_block info; /* block number and watermark are filled here and by the caller */
	uint32_t records;
	uint32_t counts[RECORD_KIND_COUNT];
	uint64_t lost; /* records that gap records of this block say were dropped or lost */
};

struct segment_codec {
	ZSTD_CCtx *zstd;     /* NULL: raw blocks, or: */
	struct idle_compress *idle; /* NULL: compressed by the writer itself */
	uint64_t idle_until_ns; /* when the next block is due */
	unsigned saving_min; /* one byte of so many */
	struct buf frame;
	/* Blocks that hardly shrank: so many are left as they are before the next is tried. */
	unsigned left_alone, leave_alone;
};

void segment_init(struct segment *segment, const struct trace_io *io);
/* Creates the file and writes the header, or leaves no file.  header.marker is chosen here. */
bool segment_create(
	struct segment *segment, const char *path, bool overwrite, struct err *err) MUST_CHECK;
/* `body` begins with SEGMENT_ROOM free bytes.  On failure the file ends where it did before. */
bool segment_write(struct segment *segment, struct segment_codec *codec,
	struct segment_block *block, struct buf *body, struct err *err) MUST_CHECK;
/* The bytes that the next block of this raw size takes at most. */
uint64_t segment_block_size_max(size_t raw);
bool segment_footer(struct segment *segment, struct segment_codec *codec, const char *reason,
	uint64_t seq, uint64_t watermark, struct err *err) MUST_CHECK;
/* Asks the kernel to begin with the writing of what was appended, and does not wait for it.  Else a
 * second's bytes wait for segment_sync(), and a server whose log is on the same disk waits for all of
 * them with its next commit. */
void segment_start_writing(struct segment *segment);
bool segment_sync(struct segment *segment, struct err *err) MUST_CHECK;
/* Takes away what was appended after `size`. */
void segment_cut(struct segment *segment, uint64_t size);
/* Closes the file; the counters stay. */
bool segment_end(struct segment *segment, bool sync, struct err *err) MUST_CHECK;
void segment_release(struct segment *segment);

#endif
