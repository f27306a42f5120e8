/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/block_at.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/frame.h"
#include "trace/input.h"

enum { SLOTS = 256, HEAD_SIZE = TRACE_EXT_HEAD_SIZE + TRACE_BLOCK_HEAD_SIZE };

/* A block in memory. */
struct slot {
	uint64_t offset;
	uint32_t segment;
	bool used;
	uint64_t asked; /* when, last */
	struct buf bytes;
};

struct trace_blocks {
	struct input input; /* for its list of segments */
	int *fds;           /* by segment; -1: not open */
	ZSTD_DCtx *zstd;
	struct buf frame;
	struct slot slots[SLOTS];
	struct slot *last;
	size_t kept;
	uint64_t clock;
};

struct trace_blocks *trace_blocks_open(const char *path, struct err *err)
{
	struct trace_blocks *blocks = mem_zero(1, sizeof(*blocks));

	blocks->input.fd = -1;
	blocks->zstd = mem_must(ZSTD_createDCtx());
	if (!input_open(&blocks->input, path, err)) {
		trace_blocks_close(blocks);
		return NULL;
	}
	blocks->fds = mem_zero(blocks->input.count + 1, sizeof(*blocks->fds));
	for (size_t i = 0; i < blocks->input.count; i++) {
		blocks->fds[i] = -1;
		if (!blocks->input.segments[i].path) {
			(void)err_set(err, ERR_UNSUPPORTED, "standard input cannot be read again");
			trace_blocks_close(blocks);
			return NULL;
		}
	}
	return blocks;
}

void trace_blocks_close(struct trace_blocks *blocks)
{
	if (!blocks)
		return;
	for (size_t i = 0; blocks->fds && i < blocks->input.count; i++) {
		if (blocks->fds[i] >= 0)
			close(blocks->fds[i]);
	}
	for (size_t i = 0; i < SLOTS; i++)
		buf_release(&blocks->slots[i].bytes);
	mem_free(blocks->fds);
	input_release(&blocks->input);
	ZSTD_freeDCtx(blocks->zstd);
	buf_release(&blocks->frame);
	mem_free(blocks);
}

/* False, with errno; 0: the file has ended. */
static bool read_at(int fd, char *out, size_t size, uint64_t offset)
{
	while (size) {
		ssize_t n = pread(fd, out, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = 0;
		if (n <= 0)
			return false;
		out += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return true;
}

static bool changed(const struct trace_blocks *blocks, uint32_t segment, struct err *err)
{
	return err_set(err, ERR_FORMAT, "the trace %s was changed since it was loaded",
		segment < blocks->input.count ? blocks->input.segments[segment].name : "");
}

static bool not_read(const struct trace_blocks *blocks, uint32_t segment, struct err *err)
{
	if (!errno)
		return changed(blocks, segment, err);
	return err_set_errno(err, errno, "cannot read the trace %s", blocks->input.segments[segment].path);
}

/* The frame of a block, checked. */
static bool read_frame(struct trace_blocks *blocks, const struct slot *slot, struct err *err)
{
	const unsigned char *p;
	uint64_t length;
	int *fd;

	if (slot->segment >= blocks->input.count)
		return changed(blocks, slot->segment, err);
	fd = &blocks->fds[slot->segment];
	if (*fd < 0)
		*fd = open(blocks->input.segments[slot->segment].path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return err_set_errno(
			err, errno, "cannot open the trace %s", blocks->input.segments[slot->segment].path);
	buf_clear(&blocks->frame);
	if (!read_at(*fd, buf_reserve(&blocks->frame, HEAD_SIZE), HEAD_SIZE, slot->offset))
		return not_read(blocks, slot->segment, err);
	blocks->frame.len = HEAD_SIZE;
	p = (const unsigned char *)blocks->frame.data;
	length = mp_load_be(p + 1, 4);
	if (p[0] != 0xc9 || length < TRACE_BLOCK_HEAD_SIZE || length > TRACE_BLOCK_STORED_MAX)
		return changed(blocks, slot->segment, err);
	length -= TRACE_BLOCK_HEAD_SIZE;
	if (!read_at(*fd, buf_reserve(&blocks->frame, length), length, slot->offset + HEAD_SIZE))
		return not_read(blocks, slot->segment, err);
	blocks->frame.len += length;
	p = (const unsigned char *)blocks->frame.data;
	/* Its version was checked when it was loaded. */
	if (!frame_is_sound(p, blocks->frame.len, 0))
		return changed(blocks, slot->segment, err);
	return true;
}

static bool fill_slot(struct trace_blocks *blocks, struct slot *slot, struct err *err)
{
	struct span body;
	size_t content, n;

	if (!read_frame(blocks, slot, err))
		return false;
	body = span_of(blocks->frame.data + HEAD_SIZE, blocks->frame.len - HEAD_SIZE);
	buf_clear(&slot->bytes);
	if (((const unsigned char *)blocks->frame.data)[5] == TRACE_EXT_RAW) {
		buf_add_span(&slot->bytes, body);
		return true;
	}
	/* How far it may have shrunk was checked when it was loaded. */
	if (frame_content_size((const unsigned char *)blocks->frame.data, blocks->frame.len, 1, &content))
		return changed(blocks, slot->segment, err);
	n = ZSTD_decompressDCtx(blocks->zstd, buf_reserve(&slot->bytes, content), content, body.ptr, body.len);
	if (ZSTD_isError(n) || n != content)
		return changed(blocks, slot->segment, err);
	slot->bytes.len = n;
	return true;
}

/* The one that was asked for longest ago gives way. */
static struct slot *oldest(struct trace_blocks *blocks, bool filled)
{
	struct slot *found = NULL;

	for (size_t i = 0; i < SLOTS; i++) {
		struct slot *s = &blocks->slots[i];

		if (!s->used && !filled)
			return s;
		if (s->used && (!found || s->asked < found->asked))
			found = s;
	}
	return found;
}

static void empty_slot(struct trace_blocks *blocks, struct slot *slot)
{
	blocks->kept -= slot->bytes.len;
	slot->used = false;
	buf_release(&slot->bytes);
}

static struct slot *slot_of(struct trace_blocks *blocks, uint32_t segment, uint64_t offset, struct err *err)
{
	struct slot *slot;

	if (blocks->last && blocks->last->used && blocks->last->offset == offset && blocks->last->segment == segment)
		return blocks->last;
	for (size_t i = 0; i < SLOTS; i++) {
		slot = &blocks->slots[i];
		if (slot->used && slot->offset == offset && slot->segment == segment)
			return slot;
	}
	slot = oldest(blocks, false);
	if (slot->used)
		empty_slot(blocks, slot);
	slot->segment = segment;
	slot->offset = offset;
	if (!fill_slot(blocks, slot, err))
		return NULL;
	slot->used = true;
	slot->asked = ++blocks->clock;
	blocks->kept += slot->bytes.len;
	while (blocks->kept > TRACE_BLOCKS_KEPT && oldest(blocks, true) != slot)
		empty_slot(blocks, oldest(blocks, true));
	return slot;
}

bool trace_record_at(struct trace_blocks *blocks, struct trace_place place, struct span *record, struct err *err)
{
	struct slot *slot = slot_of(blocks, place.segment, place.offset, err);
	struct mp mp;

	if (!slot)
		return false;
	blocks->last = slot;
	slot->asked = ++blocks->clock;
	if (place.at >= slot->bytes.len)
		return changed(blocks, place.segment, err);
	mp = mp_over(span_of(slot->bytes.data + place.at, slot->bytes.len - place.at));
	*record = mp_raw(&mp);
	return record->ptr ? true : changed(blocks, place.segment, err);
}
