/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Framing: bytes of one direction, in any pieces, become logical packets.
 *
 * A packet on the wire is a 3-byte little-endian length, a sequence number and the payload; a
 * length of 0xffffff says that the next one continues it, so a logical packet may have any size and
 * ends with a shorter, perhaps empty, packet.  A packet that lies whole in the bytes given is not
 * copied. At most keep_max bytes of a longer one are; then the length and a digest of all of it are
 * known.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/siphash.h"
#include "wire/limits.h"
#include "wire/proto.h"

struct packet {
	struct span payload; /* all of it, or a prefix when cut; valid until the next call */
	uint64_t total;      /* payload bytes */
	uint64_t digest;     /* of all payload bytes, when cut */
	uint8_t seq;         /* of its first part */
	bool cut;
	bool joined; /* more than one part: the first had the length 0xffffff */
};

struct frame {
	unsigned char head[4];
	uint8_t head_len;
	uint8_t seq;
	bool inside; /* a logical packet has begun: its first header was read */
	bool part;   /* in the payload of a part */
	bool more;   /* this part will be continued */
	bool joined;
	bool cut;
	uint32_t left; /* of the part's payload */
	uint64_t total;
	struct buf kept;
	struct siphash digest;
	struct wire_budget *budget; /* may be NULL */
	bool secret;                /* wipe what was kept */
	struct siphash *stream;     /* not NULL: payloads go here and are not kept */
};

void frame_init(struct frame *f, struct wire_budget *budget);
/* Gives memory back, wiped. */
void frame_release(struct frame *f);
/* Nothing of a packet has been seen. */
static inline bool frame_idle(const struct frame *f)
{
	return !f->inside && f->head_len == 0;
}

bool frame_next_pieces(
	struct frame *f, struct span *bytes, size_t keep_max, struct packet *out) MUST_CHECK;

/* Eats from the front of *bytes.  True: a packet is complete, in *out. */
ALWAYS_INLINE MUST_CHECK bool frame_next(
	struct frame *f, struct span *bytes, size_t keep_max, struct packet *out)
{
	/* The common case: the packet lies whole in what was read. */
	if (LIKELY(bytes->len >= PROTO_HEAD_SIZE && frame_idle(f) && !f->kept.len && !f->stream)) {
		const unsigned char *head = (const unsigned char *)bytes->ptr;
		size_t len = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;

		if (LIKELY(len <= bytes->len - PROTO_HEAD_SIZE && len <= keep_max &&
			    len != PROTO_PAYLOAD_MAX)) {
			*out = (struct packet){
				.payload = span_of(bytes->ptr + PROTO_HEAD_SIZE, len),
				.total = len,
				.seq = head[3]};
			*bytes = span_of(bytes->ptr + PROTO_HEAD_SIZE + len,
				bytes->len - PROTO_HEAD_SIZE - len);
			return true;
		}
	}
	return frame_next_pieces(f, bytes, keep_max, out);
}

/* The payload of the first of some packets that lie whole in the bytes; eats it. */
ALWAYS_INLINE struct span wire_packet_take(struct span *packets)
{
	const unsigned char *head = (const unsigned char *)packets->ptr;
	size_t len = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16;
	struct span payload = span_of(packets->ptr + PROTO_HEAD_SIZE, len);

	*packets = span_of(payload.ptr + len, packets->len - PROTO_HEAD_SIZE - len);
	return payload;
}

void frame_forget_kept(struct frame *f);

/* The packet was dealt with: large or secret copies are given back. */
static inline void frame_forget(struct frame *f)
{
	if (UNLIKELY(f->kept.len))
		frame_forget_kept(f);
}

#endif
