/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a trace: a file, a directory of segments, or standard input ("-").
 *
 * Blocks are checked (marker, CRC-32C, bounds) before anything in them is decoded.  What is damaged
 * is reported with offset and cause, never skipped in silence:
 * - a last block that is not whole is a torn tail: the rest of the trace is read, the torn bytes
 * are counted, and the trace is incomplete;
 * - damage in the middle ends the reading with an error, or, with `salvage`, is stepped over to the
 *   next block that checks out, the gap counted.
 * Memory is bounded whatever the file says: one block at a time, raw size at most
 * TRACE_BLOCK_RAW_MAX.
 *
 * Order: records come as they stand in the file; with `ordered`, by seq across producers, which
 * costs a bounded window (order_bytes_max).
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "trace/header.h"
#include "trace/record.h"

struct trace_reader_options {
	bool salvage;
	bool ordered;
	/* trace_next_block gives blocks out without walking over their records first: for a caller
	 * that does so himself, tells trace_block_bad what he finds, and counts gap records. */
	bool unwalked;
	size_t order_bytes_max; /* 0: the default */
};

struct trace_damage {
	const char *segment; /* file name, owned by the reader */
	uint64_t offset, size;
	bool torn_tail; /* at the end of the segment */
	char cause[160];
};

/* A verified block, decompressed. */
struct trace_block {
	struct record_block info;
	struct span records;   /* info's own record not included; valid until the next call */
	uint32_t record_count; /* in `records` */
	uint64_t offset;       /* of the block in its segment */
};

/* Where a record stands in the files of a trace (block_at.h). */
struct trace_place {
	uint64_t offset;  /* of its block, in the segment's file */
	uint32_t segment; /* number of the file, from 0 */
	uint32_t at;      /* of the record, in the block's bytes */
};

struct trace_item {
	uint32_t kind;     /* perhaps one we do not know: skip it */
	uint32_t left;     /* fields after the kind */
	struct mp mp;      /* stands at the first field; pass a copy to record_X_read */
	struct span whole; /* the record's bytes; valid until the next call */
};

struct trace_totals {
	uint64_t bytes_file, bytes_raw, blocks, records;
	uint64_t bytes_damaged, bytes_torn;
	uint64_t lost_records; /* by gap records, those of removed segments among them */
	uint64_t removed_records; /* with segments that --max-total removed */
	uint64_t out_of_order; /* records past the ordered window */
	uint64_t damages;      /* found, also past the number that is kept */
	uint32_t segments;
	bool clean; /* every segment ended with its footer, no damage */
	bool has_footer; /* the last one ended with its footer */
};

struct trace_reader;

/* NULL and err when it cannot be opened or is no trace. */
struct trace_reader *trace_reader_open(
	const char *path, const struct trace_reader_options *options, struct err *err) MUST_CHECK;
void trace_reader_close(struct trace_reader *reader);
/* Of the segment being read; all zero but the marker when salvage found it lost. */
const struct trace_header *trace_reader_header(const struct trace_reader *reader);

enum trace_next {
	TRACE_NEXT_OK,
	TRACE_NEXT_END,   /* look at trace_reader_totals for how complete it was */
	TRACE_NEXT_ERROR, /* damage, without salvage; err says where and what to do */
};

/* Use one of the two, not both. */
enum trace_next trace_next_block(
	struct trace_reader *reader, struct trace_block *block, struct err *err) MUST_CHECK;
/* With `unwalked`: record `index` of the block given out last is malformed, or, where index is its
 * record_count, bytes follow the last one.  OK with salvage, when the damage is noted and reading goes
 * on with the next block; else ERROR. */
enum trace_next trace_block_bad(struct trace_reader *reader, const struct trace_block *block,
	uint32_t index, struct err *err) MUST_CHECK;
/* Keeps the records of the block given out last beyond the next call, in `bytes`, by copying them
 * only where that must be: where they are then. */
struct span trace_block_keep(
	struct trace_reader *reader, const struct trace_block *block, struct buf *bytes) MUST_CHECK;
enum trace_next trace_next_item(
	struct trace_reader *reader, struct trace_item *item, struct err *err) MUST_CHECK;
/* Of the record that trace_next_item gave out last; not with `ordered`. */
struct trace_place trace_item_place(const struct trace_reader *reader, const struct trace_item *item);

void trace_reader_totals(const struct trace_reader *reader, struct trace_totals *out);
size_t trace_reader_damage(const struct trace_reader *reader, const struct trace_damage **out);
/* Bytes read of bytes in all (0: not known, a pipe), for progress. */
void trace_reader_progress(const struct trace_reader *reader, uint64_t *done, uint64_t *all);

#endif
