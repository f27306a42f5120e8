/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/clock.h"
#include "base/mem.h"
#include "trace/format.h"
#include "trace/frame.h"
#include "trace/pack.h"
#include "trace/idle_compress.h"

/* ---- system calls ---- */

static ssize_t real_write(void *data, int fd, const void *ptr, size_t len)
{
	(void)data;
	return write(fd, ptr, len);
}

static int real_datasync(void *data, int fd)
{
	(void)data;
	return fdatasync(fd);
}

static int real_truncate(void *data, int fd, uint64_t size)
{
	(void)data;
	return ftruncate(fd, (off_t)size);
}

static const struct trace_io real_io = {real_write, real_datasync, real_truncate, NULL};

/* 0, or errno.  Goes on after short writes and signals. */
static int write_all(struct segment *segment, const void *ptr, size_t len)
{
	const char *p = ptr;

	while (len) {
		ssize_t n = segment->io->write(segment->io->data, segment->fd, p, len);

		if (n > 0) {
			p += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			struct pollfd wait = {.fd = segment->fd, .events = POLLOUT};

			poll(&wait, 1, -1);
		} else if (n == 0) {
			return ENOSPC; /* a write that takes nothing will not take more later */
		} else if (errno != EINTR) {
			return errno;
		}
	}
	return 0;
}

/* Appends whole or not at all, as far as the file can be cut. */
static bool append(struct segment *segment, const void *ptr, size_t len, struct err *err)
{
	int errnum = write_all(segment, ptr, len);

	if (!errnum) {
		segment->offset += len;
		segment->unsynced = true;
		return true;
	}
	if (segment->cuttable) {
		int cut = segment->io->truncate(segment->io->data, segment->fd, segment->offset);

		/* A tail that stays is no harm: the reader calls it torn.  But the next append must
		 * not land after it. */
		(void)cut;
		(void)lseek(segment->fd, (off_t)segment->offset, SEEK_SET);
	}
	return err_set_errno(err, errnum, "cannot write to %s", segment->path);
}

/* ---- creation ---- */

void segment_init(struct segment *segment, const struct trace_io *io)
{
	memset(segment, 0, sizeof(*segment));
	segment->io = io ? io : &real_io;
	segment->fd = -1;
}

static bool open_file(struct segment *segment, const char *path, bool overwrite, struct err *err)
{
	struct stat st;

	/* A link may lead to a file of another user's choice.  /dev/stdout is one of the system's. */
	int follow = strncmp(path, "/dev/", 5) == 0 ? 0 : O_NOFOLLOW;

	segment->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | follow, 0600);
	if (segment->fd < 0 && errno == ELOOP && follow)
		return err_set(err, ERR_USAGE,
			"%s is a symbolic link: name the file that it stands for", path);
	if (segment->fd < 0)
		return err_set_errno(err, errno, "cannot create the trace %s", path);
	if (fstat(segment->fd, &st) < 0)
		return err_set_errno(err, errno, "cannot look at the trace %s", path);
	segment->cuttable = S_ISREG(st.st_mode);
	if (!segment->cuttable)
		return true; /* a pipe or a device */
	/* The lock goes away with the descriptor, also after a kill. */
	if (flock(segment->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_set(err, ERR_USAGE, "%s is being written by another recorder", path);
	if (st.st_size && !overwrite)
		return err_set(err, ERR_USAGE,
			"%s exists and is not empty: choose another name, or remove it", path);
	if (st.st_size && ftruncate(segment->fd, 0) < 0)
		return err_set_errno(err, errno, "cannot empty %s", path);
	/* Data of the recorded database is in there: for its owner only, whatever it was before. */
	if (fchmod(segment->fd, 0600) < 0)
		return err_set_errno(err, errno, "cannot restrict the access to %s", path);
	return true;
}

static bool random_bytes(void *ptr, size_t len, struct err *err)
{
	if (getrandom(ptr, len, 0) != (ssize_t)len)
		return err_set_errno(err, errno, "cannot get %zu random bytes", len);
	return true;
}

bool segment_create(struct segment *segment, const char *path, bool overwrite, struct err *err)
{
	struct trace_header *header = &segment->header;
	struct buf bytes = BUF_INIT;
	bool ok;

	segment->path = mem_strdup(path);
	if (!open_file(segment, path, overwrite, err))
		return false;
	memcpy(header->marker, TRACE_MARKER_PREFIX, TRACE_MARKER_PREFIX_SIZE);
	if (!random_bytes(header->marker + TRACE_MARKER_PREFIX_SIZE,
		    TRACE_MARKER_SIZE - TRACE_MARKER_PREFIX_SIZE, err))
		return false;
	header->version = TRACE_VERSION;
	if (!segment->anchored) {
		header->clock_mono_ns = clock_mono_ns();
		header->clock_wall_ns = clock_wall_ns();
	}
	trace_header_pack(&bytes, header);
	if (bytes.len > TRACE_HEADER_SIZE_MAX) {
		buf_release(&bytes);
		return err_set(err, ERR_LIMIT, "the facts for the trace's header are too long");
	}
	ok = append(segment, bytes.data, bytes.len, err);
	buf_release(&bytes);
	if (!ok && segment->cuttable) {
		(void)unlink(path);
		close(segment->fd); /* nothing may be written to it any more */
		segment->fd = -1;
	}
	return ok;
}

/* ---- the index ---- */

static void run_join(struct segment_run *into, const struct segment_run *next)
{
	into->size += next->size;
	into->records += next->records;
	into->last_at = next->last_at > into->last_at ? next->last_at : into->last_at;
	into->first_at = next->first_at < into->first_at ? next->first_at : into->first_at;
	into->last_seq = next->last_seq > into->last_seq ? next->last_seq : into->last_seq;
	into->first_seq = next->first_seq < into->first_seq ? next->first_seq : into->first_seq;
}

static void index_add(struct segment *segment, const struct segment_run *run)
{
	if (segment->run_count && segment->last_run_blocks < segment->run_blocks) {
		run_join(&segment->runs[segment->run_count - 1], run);
		segment->last_run_blocks++;
		return;
	}
	if (segment->run_count == SEGMENT_RUNS_MAX) {
		for (size_t i = 0; i < SEGMENT_RUNS_MAX; i += 2) {
			segment->runs[i / 2] = segment->runs[i];
			run_join(&segment->runs[i / 2], &segment->runs[i + 1]);
		}
		segment->run_count = SEGMENT_RUNS_MAX / 2;
		segment->run_blocks *= 2;
	}
	if (!segment->runs) {
		segment->runs = mem_zero(SEGMENT_RUNS_MAX, sizeof(*segment->runs));
		segment->run_blocks = 1;
	}
	segment->runs[segment->run_count++] = *run;
	segment->last_run_blocks = 1;
}

/* ---- blocks ---- */

uint64_t segment_block_size_max(size_t raw)
{
	/* What does not shrink is stored as it is. */
	return TRACE_EXT_HEAD_SIZE + TRACE_BLOCK_HEAD_SIZE + SEGMENT_ROOM + (uint64_t)raw;
}

static void store_be32(char *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (char)(value >> (24 - 8 * i));
}

enum { FRAME_HEAD_SIZE = TRACE_EXT_HEAD_SIZE + TRACE_BLOCK_HEAD_SIZE };

/* Puts the block record right before the records; returns the whole body. */
static struct span body_complete(const struct segment_block *block, struct buf *body)
{
	struct buf record = BUF_INIT;
	size_t start;

	record_block_pack(&record, &block->info);
	CHECK(FRAME_HEAD_SIZE + record.len <= SEGMENT_ROOM);
	start = SEGMENT_ROOM - record.len;
	memcpy(body->data + start, record.data, record.len);
	buf_release(&record);
	return span_of(body->data + start, body->len - start);
}

/* Fills in the head of a frame whose body stands after it; returns the frame. */
static struct span frame_complete(
	const struct segment *segment, char *p, unsigned char type, uint32_t records, size_t stored)
{
	size_t size = FRAME_HEAD_SIZE + stored;

	p[0] = (char)0xc9;
	store_be32(p + 1, (uint32_t)(TRACE_BLOCK_HEAD_SIZE + stored));
	p[5] = (char)type;
	memcpy(p + TRACE_EXT_HEAD_SIZE, segment->header.marker, TRACE_MARKER_SIZE);
	store_be32(p + FRAME_HEAD_SIZE - 4, records);
	store_be32(p + FRAME_HEAD_SIZE - 8,
		frame_checksum((const unsigned char *)p, size, segment->header.version));
	return span_of(p, size);
}

/* Rows of random data do not shrink: then time is spent on a block once in a while only. */
static bool worth_trying(struct segment_codec *codec)
{
	if (!codec->zstd && !codec->idle)
		return false;
	if (codec->left_alone >= codec->leave_alone)
		return true;
	codec->left_alone++;
	return false;
}

static bool did_shrink(struct segment_codec *codec, size_t before, size_t after)
{
	codec->left_alone = 0;
	if (!ZSTD_isError(after) && before > (FRAME_HEAD_SIZE + after) * TRACE_RATIO_MAX)
		return false; /* no reader takes it */
	if (!ZSTD_isError(after) && after < before - before / codec->saving_min) {
		codec->leave_alone = 0;
		return true;
	}
	codec->leave_alone = codec->leave_alone ? codec->leave_alone * 2 : 1;
	if (codec->leave_alone > SEGMENT_LEAVE_ALONE_MAX)
		codec->leave_alone = SEGMENT_LEAVE_ALONE_MAX;
	return false;
}

/* The finished block, in codec->frame or, where it stays as it is, around its body. */
static struct span frame_build(struct segment *segment, struct segment_codec *codec,
	struct segment_block *block, struct buf *buf)
{
	struct span body = body_complete(block, buf);
	uint32_t records = block->records + 1;

	if (codec->idle && worth_trying(codec)) {
		size_t n;
		char *p;

		/* What was not done in time says nothing of how it shrinks. */
		if (idle_compress(codec->idle, body, FRAME_HEAD_SIZE, codec->idle_until_ns, &p, &n) &&
			did_shrink(codec, body.len, n))
			return frame_complete(segment, p, TRACE_EXT_ZSTD, records, n);
	} else if (!codec->idle && worth_trying(codec)) {
		size_t room = ZSTD_compressBound(body.len), n;
		char *p;

		buf_clear(&codec->frame);
		p = buf_reserve(&codec->frame, FRAME_HEAD_SIZE + room);
		n = ZSTD_compress2(codec->zstd, p + FRAME_HEAD_SIZE, room, body.ptr, body.len);
		if (did_shrink(codec, body.len, n))
			return frame_complete(segment, p, TRACE_EXT_ZSTD, records, n);
	}
	return frame_complete(segment, buf->data + (body.ptr - buf->data) - FRAME_HEAD_SIZE,
		TRACE_EXT_RAW, records, body.len);
}

bool segment_write(struct segment *segment, struct segment_codec *codec,
	struct segment_block *block, struct buf *body, struct err *err)
{
	struct segment_run run = {
		.offset = segment->offset,
		.records = block->records,
		.first_seq = block->info.first_seq,
		.last_seq = block->info.last_seq,
		.first_at = block->info.first_at,
		.last_at = block->info.last_at,
	};
	struct span frame;

	block->info.block = segment->blocks;
	CHECK(body->len >= SEGMENT_ROOM);
	frame = frame_build(segment, codec, block, body);
	if (!append(segment, frame.ptr, frame.len, err))
		return false;
	run.size = frame.len;
	index_add(segment, &run);
	segment->blocks++;
	segment->records += block->records;
	segment->bytes_raw += body->len - SEGMENT_ROOM;
	segment->lost += block->lost;
	for (size_t i = 0; i < RECORD_KIND_COUNT; i++)
		segment->counts[i] += block->counts[i];
	/* Records that context blocks repeat belong to older segments. */
	if (block->info.context)
		segment->repeated += block->records;
	else if (block->info.last_seq) {
		if (!segment->first_seq || block->info.first_seq < segment->first_seq)
			segment->first_seq = block->info.first_seq;
		if (block->info.last_seq > segment->last_seq)
			segment->last_seq = block->info.last_seq;
	}
	return true;
}

static void pack_counts(struct buf *out, const struct segment *segment)
{
	msgpack_packer pk = pack_into(out);
	uint32_t used = 0;

	for (size_t i = 0; i < RECORD_KIND_COUNT; i++)
		used += segment->counts[i] != 0;
	msgpack_pack_map(&pk, used);
	for (size_t i = 0; i < RECORD_KIND_COUNT; i++) {
		if (segment->counts[i]) {
			pack_uint(&pk, i);
			pack_uint(&pk, segment->counts[i]);
		}
	}
}

static void pack_index(struct buf *out, const struct segment *segment)
{
	msgpack_packer pk = pack_into(out);

	msgpack_pack_array(&pk, segment->run_count);
	for (size_t i = 0; i < segment->run_count; i++) {
		const struct segment_run *run = &segment->runs[i];

		msgpack_pack_array(&pk, 7);
		pack_uint(&pk, run->offset);
		pack_uint(&pk, run->size);
		pack_uint(&pk, run->records);
		pack_uint(&pk, run->first_seq);
		pack_uint(&pk, run->last_seq);
		pack_uint(&pk, run->first_at);
		pack_uint(&pk, run->last_at);
	}
}

bool segment_footer(struct segment *segment, struct segment_codec *codec, const char *reason,
	uint64_t seq, uint64_t watermark, struct err *err)
{
	struct buf counts = BUF_INIT, index = BUF_INIT, body = BUF_INIT;
	struct segment_block block = {.records = 1};
	struct record_footer footer = {
		.seq = seq,
		.at = clock_mono_ns(),
		.blocks = segment->blocks,
		.records = segment->records,
		.bytes = segment->bytes_raw,
		.reason = span_str(reason),
		.lost = segment->lost,
	};
	bool ok;

	if (segment->anchored && segment->run_count)
		footer.at = segment->runs[segment->run_count - 1].last_at;
	pack_counts(&counts, segment);
	pack_index(&index, segment);
	footer.counts = buf_span(&counts);
	footer.index = buf_span(&index);
	memset(buf_reserve(&body, SEGMENT_ROOM), 0, SEGMENT_ROOM);
	body.len = SEGMENT_ROOM;
	record_footer_pack(&body, &footer);
	block.info.first_seq = block.info.last_seq = seq;
	block.info.watermark = watermark;
	block.info.first_at = block.info.last_at = footer.at;
	block.counts[RECORD_FOOTER] = 1;
	ok = segment_write(segment, codec, &block, &body, err);
	buf_release(&counts);
	buf_release(&index);
	buf_release(&body);
	return ok;
}

/* ---- ending ---- */

void segment_start_writing(struct segment *segment)
{
	uint64_t from = segment->started;

	if (segment->offset - from < SEGMENT_START_SIZE || !segment->cuttable ||
		segment->io != &real_io)
		return;
	segment->started = segment->offset;
	/* Only a wish: the next fdatasync reports what goes wrong. */
	(void)sync_file_range(segment->fd, (off_t)from, (off_t)(segment->offset - from),
		SYNC_FILE_RANGE_WRITE);
}

bool segment_sync(struct segment *segment, struct err *err)
{
	if (!segment->unsynced || !segment->cuttable)
		return true;
	segment->unsynced = false;
	if (segment->io->datasync(segment->io->data, segment->fd) == 0)
		return true;
	return err_set_errno(err, errno, "cannot flush %s to the disk", segment->path);
}

void segment_cut(struct segment *segment, uint64_t size)
{
	if (segment->cuttable && segment->fd >= 0 &&
		segment->io->truncate(segment->io->data, segment->fd, size) == 0)
		segment->offset = size;
}

bool segment_end(struct segment *segment, bool sync, struct err *err)
{
	bool ok = !sync || segment->fd < 0 || segment_sync(segment, err);

	if (segment->fd >= 0) {
		/* A network file system may say only now that it could not keep the data. */
		if (close(segment->fd) < 0 && errno != EINTR && ok)
			ok = err_set_errno(err, errno, "cannot close %s", segment->path);
		segment->fd = -1;
	}
	return ok;
}

void segment_release(struct segment *segment)
{
	if (segment->fd >= 0)
		close(segment->fd);
	mem_free(segment->path);
	mem_free(segment->runs);
	segment_init(segment, segment->io);
}
