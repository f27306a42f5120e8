/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checksum of a block's frame (trace/format.h).  Since version 2 it covers the marker, so that a
 * block of one file that gets into another does not pass, even with the other's marker put on it.
 */
#ifndef TRACE_FRAME_H
#define TRACE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* frame: the whole of it, `size` bytes from the ext byte on; version: of its segment's header. */
uint32_t frame_checksum(const unsigned char *frame, size_t size, uint32_t version);
/* Whether the stated one matches; version 0: the header is lost, any will do. */
bool frame_is_sound(const unsigned char *frame, size_t size, uint32_t version);
/* Of a compressed one: how many bytes it becomes.  NULL, or the cause why it is not decompressed.  Writers
 * of version 1 knew no TRACE_RATIO_MAX: what they recorded is read. */
const char *frame_content_size(
	const unsigned char *frame, size_t size, uint32_t version, size_t *content);

#endif
