/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frame of a trace file, shared by writer and reader.  docs/trace-format.md is the
 * specification; this is its short form.
 *
 * file   := header block* ; each a complete msgpack object, so any msgpack library can walk it
 * header := map { "magic": "isotrace", "version": 2, "recorder": str, "trace": bin16 (same in all
 *           segments), "segment": n, "marker": bin16, "mono_ns": n, "wall_ns": n, "facts": map,
 *           "crc": n (last; CRC-32C of the header's bytes before this pair's key) }
 * block  := ext32, always the five-byte length form 0xc9, type 1 (zstd) or 2 (raw), of:
 *             marker        16 bytes
 *             crc           4 bytes, big-endian: CRC-32C of the ext type byte, then (since version
 *                           2) of the marker, then of all payload bytes after this field
 *             record count  4 bytes, big-endian, the block record included
 *             body          records, as they are or as one zstd frame that states its content size,
 *                           at most 64 times the block's
 * The first record of a body is the block record (kind 0).
 *
 * marker := 89 49 54 52 0d 0a 1a 0a, then 8 random bytes a file.  The fixed half finds blocks even
 * when the header is lost; the random half keeps recorded data from looking like a block.
 */
#ifndef TRACE_FORMAT_H
#define TRACE_FORMAT_H

#include <stdint.h>

#define TRACE_MAGIC "isotrace"
#define TRACE_MARKER_PREFIX "\x89ITR\r\n\x1a\n"

enum {
	TRACE_VERSION = 2,
	TRACE_VERSION_MARKER_CHECKED = 2, /* since then the checksum covers the marker */
	TRACE_EXT_ZSTD = 1,
	TRACE_EXT_RAW = 2,
	TRACE_MARKER_SIZE = 16,
	TRACE_MARKER_PREFIX_SIZE = 8,
	TRACE_EXT_HEAD_SIZE = 6,                        /* 0xc9, length, type */
	TRACE_BLOCK_HEAD_SIZE = TRACE_MARKER_SIZE + 8,  /* marker, crc, record count */
	TRACE_HEADER_SIZE_MAX = 1024 * 1024,
	TRACE_BLOCK_SIZE_DEFAULT = 128 * 1024,
	TRACE_BLOCK_STORED_MAX = 80 * 1024 * 1024,      /* one record may be a 64 MB statement */
	TRACE_BLOCK_RAW_MAX = 80 * 1024 * 1024,
	/* A block becomes at most so many times as large when it is decompressed.  What would shrink
	 * further is stored as it is: else some kilobytes name the memory that a reader takes. */
	TRACE_RATIO_MAX = 64,
};

#endif
