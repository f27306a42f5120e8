/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace reader.  The first byte of the input chooses what the rest is:
 *   bit 0-1  0: a file as it is; 1: block bodies, each after a byte of frame type and two of
 * length, that get a frame with the right checksum; 2: a file whose frames' checksums are mended
 *            where their lengths allow; 3: one record
 *   bit 2    salvage
 *   bit 3    ordered, with a small window
 *   bit 4    read by blocks
 * Nothing may crash, and what is given out must be well-formed; memory is limited by libFuzzer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "trace/format.h"
#include "trace/frame.h"
#include "trace_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_record(struct span whole)
{
	static struct buf text;
	struct mp mp = mp_over(whole);
	struct json json;

	buf_clear(&text);
	json_init(&json, &text, 0);
	(void)record_json(&json, &mp);
	CHECK(text.len && text.data[text.len - 1] == '}');
	CHECK(utf8_valid(buf_span(&text)));
}

/* Bodies after a type and a length each; the frames around them are sound. */
static void frame_bodies(struct buf *file, const uint8_t *data, size_t size)
{
	unsigned char marker[16];

	forge_header(file, 1, marker);
	while (size >= 4) {
		size_t len = (size_t)data[1] << 8 | data[2];
		uint32_t count = data[3];

		if (len > size - 4)
			len = size - 4;
		forge_frame(file, marker, data[0] & 1 ? TRACE_EXT_ZSTD : TRACE_EXT_RAW, count,
			span_of(data + 4, len));
		data += 4 + len;
		size -= 4 + len;
	}
}

/* Walks the frames as far as they go and mends header and checksums. */
static void mend(struct buf *file)
{
	unsigned char *p = (unsigned char *)file->data;
	struct mp mp = mp_over(buf_span(file));
	uint32_t crc;

	if (!mp_skip(&mp))
		return;
	if (mp.p - p > 9) {
		crc = crc32c(0, p, (size_t)(mp.p - p) - 9);
		for (int i = 0; i < 4; i++)
			p[mp.p - p - 4 + i] = (unsigned char)(crc >> (24 - 8 * i));
	}
	while (mp_left(&mp) >= 30 && *mp.p == 0xc9) {
		unsigned char *frame = p + (mp.p - p);
		size_t len = 6 + (size_t)mp_load_be(frame + 1, 4);

		if (len < 30 || len > mp_left(&mp))
			return;
		crc = frame_checksum(frame, len, TRACE_VERSION);
		for (int i = 0; i < 4; i++)
			frame[22 + i] = (unsigned char)(crc >> (24 - 8 * i));
		mp.p += len;
	}
}

static void read_blocks(struct trace_reader *reader)
{
	struct trace_block block;
	struct err err;

	while (trace_next_block(reader, &block, &err) == TRACE_NEXT_OK) {
		struct mp mp = mp_over(block.records);

		for (uint32_t i = 0; i < block.record_count; i++) {
			const unsigned char *start = mp.p;

			CHECK(mp_skip(&mp));
			walk_record(span_of(start, (size_t)(mp.p - start)));
		}
		CHECK(mp_left(&mp) == 0);
	}
}

static void read_items(struct trace_reader *reader)
{
	enum trace_next next;
	struct trace_item item;
	struct err err;

	while ((next = trace_next_item(reader, &item, &err)) == TRACE_NEXT_OK)
		walk_record(item.whole);
	if (next == TRACE_NEXT_ERROR)
		CHECK(err.text[0]);
}

static void read_file(const char *path, const struct trace_reader_options *options, bool blocks)
{
	const struct trace_damage *damage;
	struct trace_reader *reader;
	struct trace_totals totals;
	struct err err;
	size_t count;

	err_clear(&err);
	reader = trace_reader_open(path, options, &err);
	if (!reader) {
		CHECK(err.text[0]);
		return;
	}
	if (blocks)
		read_blocks(reader);
	else
		read_items(reader);
	trace_reader_totals(reader, &totals);
	count = trace_reader_damage(reader, &damage);
	CHECK(count <= totals.damages);
	for (size_t i = 0; i < count; i++)
		CHECK(damage[i].cause[0] && damage[i].segment[0]);
	trace_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	static char path[32];
	struct trace_reader_options options = {0};
	struct buf file = BUF_INIT;

	if (size < 1 || size > 1 << 18)
		return 0;
	if (fd < 0) {
		fd = memfd_create("fuzz", 0);
		CHECK(fd >= 0);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	options.salvage = data[0] & 4;
	options.ordered = data[0] & 8;
	options.order_bytes_max = 10000;
	switch (data[0] & 3) {
	case 1:
		frame_bodies(&file, data + 1, size - 1);
		break;
	case 3:
		walk_record(span_of(data + 1, size - 1));
		return 0;
	default:
		buf_add(&file, data + 1, size - 1);
		if (data[0] & 2)
			mend(&file);
	}
	CHECK(ftruncate(fd, 0) == 0);
	CHECK(pwrite(fd, file.data, file.len, 0) == (ssize_t)file.len);
	read_file(path, &options, data[0] & 16);
	buf_release(&file);
	return 0;
}
