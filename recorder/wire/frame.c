/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "wire/frame.h"

#include "base/mem.h"
#include "wire/proto.h"

void frame_init(struct frame *f, struct wire_budget *budget)
{
	*f = (struct frame){.budget = budget};
}

static void kept_account(struct frame *f, size_t before)
{
	if (f->budget)
		f->budget->used += f->kept.capacity - before;
}

static void kept_clear(struct frame *f)
{
	size_t before = f->kept.capacity;

	if (f->secret && f->kept.data)
		mem_wipe(f->kept.data, f->kept.capacity);
	if (before > WIRE_BUFFER_IDLE_MAX)
		buf_release(&f->kept);
	else
		buf_clear(&f->kept);
	kept_account(f, before);
}

void frame_forget_kept(struct frame *f)
{
	if (!f->inside)
		kept_clear(f);
}

void frame_release(struct frame *f)
{
	size_t before = f->kept.capacity;

	if (f->kept.data)
		mem_wipe(f->kept.data, f->kept.capacity);
	buf_release(&f->kept);
	kept_account(f, before);
}

static void keep(struct frame *f, struct span part, size_t keep_max)
{
	size_t before = f->kept.capacity, take = part.len;

	if (f->budget && f->budget->used > f->budget->max && keep_max > WIRE_PACKET_KEEP_SMALL)
		keep_max = WIRE_PACKET_KEEP_SMALL;
	if (f->cut)
		take = 0;
	else if (take > keep_max - (f->kept.len < keep_max ? f->kept.len : keep_max))
		take = keep_max - (f->kept.len < keep_max ? f->kept.len : keep_max);
	if (take) {
		/* The part's length is known: no doubling past what will come. */
		buf_add(&f->kept, part.ptr, take);
		kept_account(f, before);
	}
	if (take < part.len) {
		if (!f->cut) {
			f->cut = true;
			siphash_init(&f->digest, NULL, false);
			siphash_add(&f->digest, f->kept.data, f->kept.len);
		}
		siphash_add(&f->digest, part.ptr + take, part.len - take);
	}
}

static struct span take(struct span *bytes, size_t len)
{
	struct span s = span_of(bytes->ptr, len < bytes->len ? len : bytes->len);

	bytes->ptr += s.len;
	bytes->len -= s.len;
	return s;
}

/* True when the header of a part is complete. */
static bool read_head(struct frame *f, struct span *bytes)
{
	struct span s = take(bytes, (size_t)(PROTO_HEAD_SIZE - f->head_len));

	memcpy(f->head + f->head_len, s.ptr, s.len);
	f->head_len = (uint8_t)(f->head_len + s.len);
	if (f->head_len < PROTO_HEAD_SIZE)
		return false;
	f->head_len = 0;
	f->left = f->head[0] | (uint32_t)f->head[1] << 8 | (uint32_t)f->head[2] << 16;
	if (!f->inside) {
		kept_clear(f);
		f->inside = true;
		f->seq = f->head[3];
		f->joined = f->cut = false;
		f->total = 0;
	} else {
		f->joined = true;
	}
	f->more = f->left == PROTO_PAYLOAD_MAX;
	f->part = true;
	return true;
}

bool frame_next_pieces(struct frame *f, struct span *bytes, size_t keep_max, struct packet *out)
{
	while (bytes->len || (f->part && f->left == 0)) {
		struct span part;

		if (!f->part && !read_head(f, bytes))
			return false;
		part = take(bytes, f->left);
		/* Only its header had come before. */
		if (part.len == f->left && !f->more && !f->joined && f->total == 0 &&
			part.len <= keep_max && !f->stream) {
			f->inside = f->part = false;
			*out = (struct packet){.payload = part, .total = part.len, .seq = f->seq};
			return true;
		}
		f->total += part.len;
		f->left -= (uint32_t)part.len;
		if (part.len && f->stream)
			siphash_add(f->stream, part.ptr, part.len);
		else if (part.len)
			keep(f, part, keep_max);
		if (f->left)
			return false;
		f->part = false;
		if (f->more)
			continue;
		f->inside = false;
		*out = (struct packet){.payload = buf_span(&f->kept),
			.total = f->total,
			.seq = f->seq,
			.cut = f->cut,
			.joined = f->joined};
		if (f->cut) {
			unsigned char digest[8];

			siphash_final(&f->digest, digest);
			memcpy(&out->digest, digest, 8);
		}
		return true;
	}
	return false;
}
