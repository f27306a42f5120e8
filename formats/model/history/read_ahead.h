/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a trace ahead: one thread reads, checks, decompresses and decodes blocks while the caller
 * puts together what they say.  At most AHEAD_BLOCKS wait, so memory stays bounded.  While the
 * caller has nothing to do it gets blocks that are not decoded yet, and does that itself: so both
 * have work until the end.
 *
 * Threads: the helper owns the reader between ahead_begin and ahead_end; the caller owns the block
 * it got until it asks for the next one.  The mutex protects everything else.
 */
#ifndef MODEL_HISTORY_READ_AHEAD_H
#define MODEL_HISTORY_READ_AHEAD_H

#include "model/history/decode.h"
#include "trace/reader.h"

enum {
	AHEAD_BLOCKS = 4,
	AHEAD_RECORDS = 1024, /* of records in memory: so many are a block */
};

struct read_ahead;

/* NULL when no thread can be had: read without. */
struct read_ahead *read_ahead_begin(struct trace_reader *reader);
struct read_ahead *read_ahead_begin_memory(struct span records);
/* As trace_next_block; *block is valid until the next call. */
enum trace_next read_ahead_next(struct read_ahead *ahead, struct trace_block *block, struct err *err);
/* What is in the block that ahead_next gave out last; of records in memory, in the next block. */
const struct decoded *read_ahead_decoded(struct read_ahead *ahead);
/* The reader's progress and clock anchor when the block given out last was read. */
struct read_ahead_place {
	uint64_t done, all, wall_ns, mono_ns;
};
struct read_ahead_place read_ahead_place(const struct read_ahead *ahead);
struct read_ahead_place read_ahead_place_of(const struct trace_reader *reader);
/* Stops the helper; the reader is the caller's again, somewhere ahead.  NULL is allowed. */
void read_ahead_end(struct read_ahead *ahead);

#endif
