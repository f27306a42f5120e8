/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The compressed protocol, one direction: frames of compressed length 3, sequence 1, uncompressed
 * length 3 (0: stored), then the bytes, zlib or zstd.  A frame may hold parts of several packets.
 * The relay forwards the frames as they are; this makes the plain bytes of a copy.
 */
#ifndef WIRE_COMPRESS_H
#define WIRE_COMPRESS_H

#include "base/attr.h"
#include "base/buf.h"
#include "wire/limits.h"

enum wire_compression { COMPRESSION_NONE, COMPRESSION_ZLIB, COMPRESSION_ZSTD };

struct wire_inflate {
	enum wire_compression kind;
	unsigned char head[7];
	uint8_t head_len;
	uint32_t stored, plain; /* lengths of the frame being read */
	struct buf in, out;
};

/* Eats from the front of *bytes.  True: *out has the plain bytes of a frame, valid until the next
 * call.  False with *bad: the frame is damaged; else more is needed. */
bool wire_inflate_next(
	struct wire_inflate *inflate, struct span *bytes, struct span *out, bool *bad) MUST_CHECK;
void wire_inflate_release(struct wire_inflate *inflate);

#endif
