/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header of a segment (docs/trace-format.md, "Header"): packing and parsing.
 */
#ifndef TRACE_HEADER_H
#define TRACE_HEADER_H

#include <stdint.h>

#include "base/buf.h"
#include "base/span.h"

struct trace_header {
	uint32_t version;
	struct span recorder_ref;              /* owned by the reader */
	struct span facts_ref;                 /* raw msgpack map, owned by the reader */
	uint64_t clock_mono_ns, clock_wall_ns; /* the same moment on both clocks */
	uint32_t segment;
	unsigned char marker[16];
	unsigned char trace_id[16]; /* the same in all segments of a trace */
};

enum header_result {
	HEADER_OK,
	HEADER_SHORT,   /* a header as far as it goes; more bytes are needed */
	HEADER_NONE,    /* these bytes are no header */
	HEADER_DAMAGED, /* it begins like one; cause says what is wrong */
	HEADER_NEWER,   /* sound, and of a version that we do not read (out->version) */
};

void trace_header_pack(struct buf *out, const struct trace_header *header);
/* `bytes` may go on after the header; *size gets the header's.  Spans of out point into bytes. */
enum header_result trace_header_parse(
	struct span bytes, struct trace_header *out, size_t *size, const char **cause);

#endif
