/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compression by what the machine has left: a thread of the lowest priority compresses one block at
 * a time, and the writer gives up waiting when the block is due.  Where the processors are busy
 * with anything else, blocks stay as they are.
 *
 * One thread asks.
 */
#ifndef TRACE_IDLE_COMPRESS_H
#define TRACE_IDLE_COMPRESS_H

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"

struct idle_compress;

/* NULL and err: the thread cannot be started. */
struct idle_compress *idle_compress_begin(int level, struct err *err);
void idle_compress_end(struct idle_compress *c);
/* The body as one zstd frame, with `room` free bytes before it, valid until the next call.  False:
 * it was not done by `deadline_ns` (monotonic clock), or the body before it is still being worked
 * on. */
bool idle_compress(struct idle_compress *c, struct span body, size_t room, uint64_t deadline_ns,
	char **frame, size_t *len) MUST_CHECK;
/* Processor time so far. */
uint64_t idle_compress_cost_ns(struct idle_compress *c);

#endif
