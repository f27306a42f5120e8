/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/frame.h"

#include <zstd.h>

#include "base/crc32c.h"
#include "trace/format.h"
#include "trace/msgpack_cursor.h"

enum { HEAD_SIZE = TRACE_EXT_HEAD_SIZE + TRACE_BLOCK_HEAD_SIZE };

uint32_t frame_checksum(const unsigned char *frame, size_t size, uint32_t version)
{
	uint32_t crc = crc32c(0, frame + TRACE_EXT_HEAD_SIZE - 1, 1);

	if (version >= TRACE_VERSION_MARKER_CHECKED)
		crc = crc32c(crc, frame + TRACE_EXT_HEAD_SIZE, TRACE_MARKER_SIZE);
	return crc32c(crc, frame + HEAD_SIZE - 4, size - HEAD_SIZE + 4);
}

const char *frame_content_size(
	const unsigned char *frame, size_t size, uint32_t version, size_t *content)
{
	const unsigned char *body = frame + HEAD_SIZE;
	unsigned long long stated = ZSTD_getFrameContentSize(body, size - HEAD_SIZE);

	if (stated == ZSTD_CONTENTSIZE_ERROR || stated == ZSTD_CONTENTSIZE_UNKNOWN)
		return "a block's compressed data is malformed";
	if (stated > TRACE_BLOCK_RAW_MAX)
		return "a block claims to be larger than any block may be";
	if (version != 1 && stated > (unsigned long long)size * TRACE_RATIO_MAX)
		return "a block claims to have shrunk more than any block may";
	if (ZSTD_findFrameCompressedSize(body, size - HEAD_SIZE) != size - HEAD_SIZE)
		return "a block's compressed data is not one whole frame";
	*content = (size_t)stated;
	return NULL;
}

bool frame_is_sound(const unsigned char *frame, size_t size, uint32_t version)
{
	uint32_t stated = (uint32_t)mp_load_be(frame + HEAD_SIZE - 8, 4);

	if (version)
		return frame_checksum(frame, size, version) == stated;
	return frame_checksum(frame, size, TRACE_VERSION) == stated ||
	       frame_checksum(frame, size, 1) == stated;
}
