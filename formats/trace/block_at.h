/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of a trace read again by their place (struct trace_place, which the reader tells of each record), in any order.
 * The blocks that were asked for last stay in memory, up to TRACE_BLOCKS_KEPT bytes: a caller that goes forward through the trace,
 * and back a little at times, reads each block once.
 *
 * One thread.
 */
#ifndef TRACE_BLOCK_AT_H
#define TRACE_BLOCK_AT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/span.h"
#include "trace/reader.h"

#define TRACE_BLOCKS_KEPT ((size_t)32 * 1024 * 1024)

struct trace_blocks;

/* NULL and err: it cannot be opened, or is no file. */
struct trace_blocks *trace_blocks_open(const char *path, struct err *err) MUST_CHECK;
void trace_blocks_close(struct trace_blocks *blocks);
/* The record's bytes; valid until the next call.  False: the file was changed since it was read. */
bool trace_record_at(
	struct trace_blocks *blocks, struct trace_place place, struct span *record, struct err *err) MUST_CHECK;

#endif
