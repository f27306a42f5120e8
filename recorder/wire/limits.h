/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one session may make the recorder keep.  Every limit has a name and a default; what is past
 * it is relayed all the same, and the trace says that it was left out.
 */
#ifndef WIRE_LIMITS_H
#define WIRE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

enum {
	/* Bytes of one packet kept for parsing; of a longer one a prefix, the length and a digest.
	 */
	WIRE_PACKET_KEEP_MAX = 16 * 1024 * 1024,
	/* The same once the worker's share of --buffer is used up. */
	WIRE_PACKET_KEEP_SMALL = 64 * 1024,
	/* Greetings, logins and authentication packets. */
	WIRE_HANDSHAKE_KEEP_MAX = 64 * 1024,
	/* Commands sent ahead of their answers. */
	WIRE_PIPELINE_MAX = 4096,
	/* Bytes of such commands, kept until their turn. */
	WIRE_PIPELINE_BYTES_MAX = 16 * 1024 * 1024,
	/* Columns of a result set; the servers' own limit is 4096. */
	WIRE_COLUMNS_MAX = 65535,
	WIRE_COLUMN_BYTES_MAX = 8 * 1024 * 1024,
	/* Prepared statements of a session; the servers' default for all sessions is 16382. */
	WIRE_STATEMENTS_MAX = 65536,
	WIRE_STATEMENT_BYTES_MAX = 32 * 1024 * 1024,
	/* Bytes of one parameter sent with SEND_LONG_DATA; past it length and digest are kept. */
	WIRE_LONG_DATA_KEEP_MAX = 1024 * 1024,
	WIRE_LONG_DATA_PARAMS_MAX = 1024,
	/* A buffer larger than this is given back once it is empty. */
	WIRE_BUFFER_IDLE_MAX = 16 * 1024,
	/* Uncompressed size of one frame of the compressed protocol is 3 bytes on the wire. */
	WIRE_COMPRESSED_FRAME_MAX = 0xffffff,
};

/* Bytes of packets that the sessions of one worker may hold together (owner: the worker). */
struct wire_budget {
	size_t used, max;
};

#endif
