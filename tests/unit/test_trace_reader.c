/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader on input that is wrong in ways that checksums do not show: forged blocks, blocks that
 * are missing or twice there, segments of other traces, files that are no traces at all.
 */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/frame.h"
#include "trace_make.h"

/* ---- reading forged bytes ---- */

struct outcome {
	bool opened, failed;
	uint64_t notes, items, unknown;
	uint64_t seqs[64]; /* of the notes */
	struct trace_totals totals;
	struct err err;
	size_t damage_count;
	struct trace_damage damage[8];
};

static void take_note(struct outcome *out, const struct trace_item *item)
{
	struct mp mp = item->mp;
	struct record_note note;

	ck_assert(record_note_read(&mp, item->left, &note));
	if (out->notes < ARRAY_LEN(out->seqs))
		out->seqs[out->notes] = note.seq;
	out->notes++;
}

static void read_path(
	const char *path, const struct trace_reader_options *options, struct outcome *out)
{
	const struct trace_damage *damage;
	struct trace_reader *reader;
	struct trace_item item;
	enum trace_next next;

	memset(out, 0, sizeof(*out));
	reader = trace_reader_open(path, options, &out->err);
	if (!reader)
		return;
	out->opened = true;
	while ((next = trace_next_item(reader, &item, &out->err)) == TRACE_NEXT_OK) {
		out->items++;
		if (item.kind == RECORD_NOTE)
			take_note(out, &item);
		else if (!record_kind_name(item.kind))
			out->unknown++;
	}
	out->failed = next == TRACE_NEXT_ERROR;
	trace_reader_totals(reader, &out->totals);
	out->damage_count = trace_reader_damage(reader, &damage);
	for (size_t i = 0; i < out->damage_count && i < ARRAY_LEN(out->damage); i++)
		out->damage[i] = damage[i];
	trace_reader_close(reader);
}

static void read_bytes(const struct buf *bytes, bool salvage, bool ordered, struct outcome *out)
{
	struct trace_reader_options options = {.salvage = salvage, .ordered = ordered};
	char *dir = temp_dir(), *path = temp_path(dir, "x.itr");

	file_store(path, bytes->data, bytes->len);
	read_path(path, &options, out);
	free(path);
	temp_dir_remove(dir);
}

/* Damaged without salvage, read past with it; the cause is named in both. */
static void expect_damage(
	const struct buf *bytes, const char *cause, uint64_t notes_before, uint64_t notes_in_all)
{
	struct outcome out;

	for (int ordered = 0; ordered < 2; ordered++) {
		read_bytes(bytes, false, ordered, &out);
		ck_assert(out.opened && out.failed);
		ck_assert_msg(strstr(out.err.text, cause) && strstr(out.err.text, "at byte") &&
				      strstr(out.err.text, "--salvage"),
			"%s", out.err.text);
		ck_assert_uint_ne(out.err.offset, ERR_NO_OFFSET);
		ck_assert_uint_eq(out.notes, notes_before);
		ck_assert(!out.totals.clean);
		read_bytes(bytes, true, ordered, &out);
		ck_assert(out.opened && !out.failed);
		ck_assert_uint_ge(out.damage_count, 1);
		ck_assert_msg(strstr(out.damage[0].cause, cause), "%s", out.damage[0].cause);
		ck_assert_uint_eq(out.notes, notes_in_all);
		ck_assert(!out.totals.clean);
	}
}

/* Three notes in block 0, the forged frame, three notes in block 2. */
static void around(struct buf *file, unsigned char type, uint32_t count, struct span body)
{
	unsigned char marker[16];

	buf_clear(file);
	forge_header(file, 1, marker);
	forge_block(file, marker, 0, 1, 3);
	forge_frame(file, marker, type, count, body);
	forge_block(file, marker, 2, 10, 3);
}

static struct buf squeeze(struct span raw)
{
	struct buf out = BUF_INIT;

	out.len = ZSTD_compress(buf_reserve(&out, ZSTD_compressBound(raw.len)),
		ZSTD_compressBound(raw.len), raw.ptr, raw.len, 1);
	return out;
}

/* ---- forged blocks ---- */

START_TEST(sound_forgery_reads)
{
	struct buf body = BUF_INIT, file = BUF_INIT, packed;
	struct outcome out;

	forge_body(&body, 1, 1, 4, 8, 4);
	around(&file, TRACE_EXT_RAW, 5, buf_span(&body));
	read_bytes(&file, false, false, &out);
	ck_assert(out.opened && !out.failed);
	ck_assert_uint_eq(out.notes, 10);
	packed = squeeze(buf_span(&body));
	around(&file, TRACE_EXT_ZSTD, 5, buf_span(&packed));
	read_bytes(&file, false, true, &out);
	ck_assert(out.opened && !out.failed);
	ck_assert_uint_eq(out.notes, 10);
	/* There is no footer, and that is reported. */
	ck_assert_uint_eq(out.damage_count, 1);
	ck_assert(strstr(out.damage[0].cause, "no footer"));
	ck_assert(out.damage[0].torn_tail);
	buf_release(&body);
	buf_release(&file);
	buf_release(&packed);
}
END_TEST

START_TEST(forged_compression)
{
	struct buf body = BUF_INIT, file = BUF_INIT, packed, two = BUF_INIT;
	char *zeros = calloc(1, TRACE_BLOCK_RAW_MAX + 1);

	forge_body(&body, 1, 1, 4, 8, 4);
	/* Not zstd at all. */
	around(&file, TRACE_EXT_ZSTD, 5, buf_span(&body));
	expect_damage(&file, "compressed data is malformed", 3, 6);
	/* Larger than any block: 80 MiB and a byte in some kilobytes. */
	packed = squeeze(span_of(zeros, TRACE_BLOCK_RAW_MAX + 1));
	ck_assert_uint_lt(packed.len, 100000);
	around(&file, TRACE_EXT_ZSTD, 5, buf_span(&packed));
	expect_damage(&file, "larger than any block may be", 3, 6);
	buf_release(&packed);
	/* Two frames in one. */
	packed = squeeze(buf_span(&body));
	buf_add_span(&two, buf_span(&packed));
	buf_add_span(&two, buf_span(&packed));
	around(&file, TRACE_EXT_ZSTD, 5, buf_span(&two));
	expect_damage(&file, "not one whole frame", 3, 6);
	/* A content size that is not true: the frame says one byte less or more. */
	ck_assert_uint_lt((unsigned char)packed.data[5], 250);
	packed.data[5]--;
	around(&file, TRACE_EXT_ZSTD, 5, buf_span(&packed));
	expect_damage(&file, "cannot be decompressed", 3, 6);
	packed.data[5] = (char)(packed.data[5] + 2);
	around(&file, TRACE_EXT_ZSTD, 5, buf_span(&packed));
	expect_damage(&file, "cannot be decompressed", 3, 6);
	/* Cut short inside. */
	packed.data[5]--;
	around(&file, TRACE_EXT_ZSTD, 5, span_of(packed.data, packed.len - 1));
	expect_damage(&file, "not one whole frame", 3, 6);
	free(zeros);
	buf_release(&body);
	buf_release(&file);
	buf_release(&packed);
	buf_release(&two);
}
END_TEST

START_TEST(forged_counts_and_records)
{
	struct buf body = BUF_INIT, file = BUF_INIT;
	struct record_note note = {.seq = 4};

	forge_body(&body, 1, 1, 4, 8, 4);
	around(&file, TRACE_EXT_RAW, 0, buf_span(&body));
	expect_damage(&file, "number of records is impossible", 3, 6);
	around(&file, TRACE_EXT_RAW, UINT32_MAX, buf_span(&body));
	expect_damage(&file, "number of records is impossible", 3, 6);
	around(&file, TRACE_EXT_RAW, 4, buf_span(&body)); /* one fewer than there are */
	expect_damage(&file, "more bytes than its 3 records", 6, 9);
	around(&file, TRACE_EXT_RAW, 6, buf_span(&body)); /* one more */
	expect_damage(&file, "record 5 of 5 in the block is malformed", 7, 10);
	/* The first record is no block record. */
	buf_clear(&body);
	record_note_pack(&body, &note);
	around(&file, TRACE_EXT_RAW, 1, buf_span(&body));
	expect_damage(&file, "does not begin with its block record", 3, 6);
	around(&file, TRACE_EXT_RAW, 1, SPAN_LIT(""));
	expect_damage(&file, "does not begin with its block record", 3, 6);
	/* A record in the middle is no record: those before it are kept. */
	buf_clear(&body);
	forge_body(&body, 1, 1, 4, 8, 2);
	buf_add_str(&body, "\x93\x0a\xc1\x01");
	note.seq = 6;
	record_note_pack(&body, &note);
	around(&file, TRACE_EXT_RAW, 5, buf_span(&body));
	expect_damage(&file, "record 3 of 4 in the block is malformed", 5, 8);
	/* An array longer than the block. */
	buf_clear(&body);
	forge_body(&body, 1, 1, 4, 8, 2);
	buf_add(&body, "\xdd\x7f\xff\xff\xff\x0a", 6);
	around(&file, TRACE_EXT_RAW, 4, buf_span(&body));
	expect_damage(&file, "record 3 of 3 in the block is malformed", 5, 8);
	/* A type of block that we do not know. */
	buf_clear(&body);
	forge_body(&body, 1, 1, 4, 8, 2);
	around(&file, 7, 3, buf_span(&body));
	expect_damage(&file, "unknown type 7", 3, 6);
	buf_release(&body);
	buf_release(&file);
}
END_TEST

/* trace_next_block gives the good part of such a block, then fails. */
START_TEST(block_reading_keeps_the_good_part)
{
	struct buf body = BUF_INIT, file = BUF_INIT, good = BUF_INIT;
	struct record_note note = {.seq = 4, .at = 1, .text = SPAN_LIT("forged note")};
	struct trace_reader *reader;
	struct trace_block block;
	char *dir = temp_dir(), *path = temp_path(dir, "x.itr");
	struct err err;

	record_note_pack(&good, &note);
	forge_body(&body, 1, 1, 4, 8, 2);
	buf_add_str(&body, "\xc1");
	around(&file, TRACE_EXT_RAW, 4, buf_span(&body));
	file_store(path, file.data, file.len);
	reader = trace_reader_open(path, NULL, &err);
	ck_assert(reader != NULL);
	ck_assert_int_eq(trace_next_block(reader, &block, &err), TRACE_NEXT_OK);
	ck_assert_uint_eq(block.record_count, 3);
	ck_assert_int_eq(trace_next_block(reader, &block, &err), TRACE_NEXT_OK);
	ck_assert_uint_eq(block.record_count, 2);
	ck_assert_uint_eq(block.records.len, 2 * good.len);
	ck_assert_int_eq(trace_next_block(reader, &block, &err), TRACE_NEXT_ERROR);
	ck_assert(strstr(err.text, "record 3 of 3"));
	trace_reader_close(reader);
	/* Bytes after the last record are not given out either. */
	body.len--;
	around(&file, TRACE_EXT_RAW, 2, buf_span(&body));
	file_store(path, file.data, file.len);
	reader = trace_reader_open(path, NULL, &err);
	ck_assert(reader != NULL);
	ck_assert_int_eq(trace_next_block(reader, &block, &err), TRACE_NEXT_OK);
	ck_assert_int_eq(trace_next_block(reader, &block, &err), TRACE_NEXT_OK);
	ck_assert_uint_eq(block.record_count, 1);
	ck_assert_uint_eq(block.records.len, good.len);
	ck_assert_int_eq(trace_next_block(reader, &block, &err), TRACE_NEXT_ERROR);
	ck_assert(strstr(err.text, "more bytes than its 1 records"));
	trace_reader_close(reader);
	free(path);
	temp_dir_remove(dir);
	buf_release(&good);
	buf_release(&body);
	buf_release(&file);
}
END_TEST

START_TEST(block_numbers_are_checked)
{
	unsigned char marker[16];
	struct buf file = BUF_INIT;
	struct outcome out;

	/* 0, 1, 1, 2: the second comes twice, and is given out once. */
	forge_header(&file, 1, marker);
	forge_block(&file, marker, 0, 1, 2);
	forge_block(&file, marker, 1, 3, 2);
	forge_block(&file, marker, 1, 3, 2);
	forge_block(&file, marker, 2, 5, 2);
	expect_damage(&file, "block 1 comes a second time", 4, 6);
	/* 0, 3: two are missing. */
	buf_clear(&file);
	forge_header(&file, 1, marker);
	forge_block(&file, marker, 0, 1, 2);
	forge_block(&file, marker, 3, 7, 2);
	expect_damage(&file, "blocks 1 to 2 are missing before this one", 2, 4);
	/* 0, 2, 1: nothing is missing in the end, and nothing is left out. */
	buf_clear(&file);
	forge_header(&file, 1, marker);
	forge_block(&file, marker, 0, 1, 2);
	forge_block(&file, marker, 2, 5, 2);
	forge_block(&file, marker, 1, 3, 2);
	forge_block(&file, marker, 1, 3, 2);
	forge_block(&file, marker, UINT64_MAX, 7, 2);
	read_bytes(&file, true, false, &out);
	ck_assert_uint_eq(out.notes, 8);
	ck_assert_uint_eq(
		out.damage_count, 5); /* missing, out of place, twice, missing, no footer */
	buf_release(&file);
}
END_TEST

/* A block after the footer is no part of the trace's order. */
START_TEST(nothing_follows_the_footer)
{
	unsigned char marker[16];
	struct buf file = BUF_INIT, body = BUF_INIT;
	struct record_block info = {.block = 1};
	struct record_footer footer = {.seq = 9, .blocks = 1, .records = 2};
	struct outcome out;

	forge_header(&file, 1, marker);
	forge_block(&file, marker, 0, 1, 2);
	record_block_pack(&body, &info);
	record_footer_pack(&body, &footer);
	forge_frame(&file, marker, TRACE_EXT_RAW, 2, buf_span(&body));
	read_bytes(&file, false, false, &out);
	ck_assert(out.totals.clean);
	forge_block(&file, marker, 2, 10, 2);
	expect_damage(&file, "a block after the footer", 2, 4);
	/* A footer that counts otherwise is reported, and is no reason to stop. */
	buf_clear(&file);
	buf_clear(&body);
	footer.records = 3;
	forge_header(&file, 1, marker);
	forge_block(&file, marker, 0, 1, 2);
	record_block_pack(&body, &info);
	record_footer_pack(&body, &footer);
	forge_frame(&file, marker, TRACE_EXT_RAW, 2, buf_span(&body));
	read_bytes(&file, false, false, &out);
	ck_assert(!out.failed && !out.totals.clean);
	ck_assert(strstr(out.damage[0].cause, "the footer counts 1 blocks and 3 records"));
	buf_release(&file);
	buf_release(&body);
}
END_TEST

/* ---- newer and unusual traces ---- */

START_TEST(newer_traces_are_read_as_far_as_possible)
{
	unsigned char marker[16];
	struct buf file = BUF_INIT, body = BUF_INIT;
	msgpack_packer pk = pack_into(&body);
	struct record_block info = {.producer = 1, .first_seq = 1, .last_seq = 3, .watermark = 4};
	struct record_note note = {.seq = 1};
	struct outcome out;

	forge_header(&file, 1, marker);
	record_block_pack(&body, &info);
	record_note_pack(&body, &note);
	/* A kind of the future, with seq in its place. */
	msgpack_pack_array(&pk, 4);
	pack_uint(&pk, 77);
	pack_uint(&pk, 2);
	pack_str(&pk, SPAN_LIT("something new"));
	msgpack_pack_map(&pk, 0);
	/* And a note with fields of the future. */
	msgpack_pack_array(&pk, 9);
	pack_uint(&pk, RECORD_NOTE);
	pack_uint(&pk, 3);
	for (int i = 0; i < 7; i++)
		msgpack_pack_nil(&pk);
	forge_frame(&file, marker, TRACE_EXT_RAW, 4, buf_span(&body));
	for (int ordered = 0; ordered < 2; ordered++) {
		read_bytes(&file, false, ordered, &out);
		ck_assert(!out.failed);
		ck_assert_uint_eq(out.items, 3);
		ck_assert_uint_eq(out.unknown, 1);
		ck_assert_uint_eq(out.notes, 2);
		ck_assert_uint_eq(out.seqs[1], 3);
	}
	buf_release(&file);
	buf_release(&body);
}
END_TEST

/* A header with the given version and one more entry than we know. */
static void odd_header(struct buf *out, uint32_t version, unsigned char marker[16])
{
	msgpack_packer pk = pack_into(out);
	uint32_t crc;

	memcpy(marker, TRACE_MARKER_PREFIX "abcdefgh", 16);
	msgpack_pack_map(&pk, 7);
	pack_str(&pk, SPAN_LIT("magic"));
	pack_str(&pk, SPAN_LIT("isotrace"));
	pack_str(&pk, SPAN_LIT("compression of the future"));
	msgpack_pack_array(&pk, 1);
	pack_bool(&pk, true);
	pack_str(&pk, SPAN_LIT("marker"));
	pack_bin(&pk, span_of(marker, 16));
	pack_str(&pk, SPAN_LIT("version"));
	pack_uint(&pk, version);
	pack_str(&pk, SPAN_LIT("segment"));
	pack_uint(&pk, 1);
	pack_str(&pk, SPAN_LIT("trace"));
	pack_bin(&pk, SPAN_LIT("0123456789abcdef"));
	crc = crc32c(0, out->data, out->len);
	pack_str(&pk, SPAN_LIT("crc"));
	msgpack_pack_fix_uint32(&pk, crc);
}

START_TEST(headers_of_other_versions)
{
	unsigned char marker[16];
	struct buf file = BUF_INIT;
	struct outcome out;

	odd_header(&file, TRACE_VERSION, marker);
	forge_block(&file, marker, 0, 1, 2);
	read_bytes(&file, false, false, &out);
	ck_assert(out.opened && !out.failed);
	ck_assert_uint_eq(out.notes, 2);
	buf_clear(&file);
	odd_header(&file, TRACE_VERSION + 1, marker);
	forge_block(&file, marker, 0, 1, 2);
	read_bytes(&file, false, false, &out);
	ck_assert(!out.opened);
	ck_assert_msg(strstr(out.err.text, "format version 3") &&
			      strstr(out.err.text, "reads up to version 2"),
		"%s", out.err.text);
	ck_assert_int_eq(out.err.code, ERR_UNSUPPORTED);
	read_bytes(&file, true, false, &out);
	ck_assert(!out.opened); /* salvage mends damage, not versions */
	buf_release(&file);
}
END_TEST

/* Puts the checksum of another version onto the frame that begins at `at`. */
static void check_as(struct buf *file, size_t at, uint32_t version)
{
	unsigned char *frame = (unsigned char *)file->data + at;
	uint32_t crc = frame_checksum(frame, file->len - at, version);

	for (int i = 0; i < 4; i++)
		frame[22 + i] = (unsigned char)(crc >> (24 - 8 * i));
}

/* Some kilobytes must not name the memory that a reader takes; but version 1 wrote such blocks. */
START_TEST(blocks_shrink_so_far_at_most)
{
	static const char zeros[1 << 20];
	unsigned char marker[16];
	struct buf file = BUF_INIT, packed = BUF_INIT;
	size_t at, content = 0;

	packed.len = ZSTD_compress(buf_reserve(&packed, ZSTD_compressBound(sizeof(zeros))),
		ZSTD_compressBound(sizeof(zeros)), zeros, sizeof(zeros), 3);
	odd_header(&file, 1, marker);
	at = file.len;
	forge_frame(&file, marker, TRACE_EXT_ZSTD, 1, buf_span(&packed));
	for (uint32_t version = 0; version <= TRACE_VERSION; version++) {
		const char *cause = frame_content_size(
			(const unsigned char *)file.data + at, file.len - at, version, &content);

		ck_assert_int_eq(cause == NULL, version == 1);
	}
	ck_assert_uint_eq(content, sizeof(zeros));
	buf_release(&file);
	buf_release(&packed);
}
END_TEST

/* The checksum of version 1 leaves the marker out: a block of another file passed with this one's. */
START_TEST(grafted_blocks_are_refused)
{
	unsigned char marker[16], other[16];
	struct buf file = BUF_INIT;
	struct outcome out;
	size_t at;

	for (uint32_t version = 1; version <= TRACE_VERSION; version++) {
		buf_clear(&file);
		odd_header(&file, version, marker);
		memcpy(other, TRACE_MARKER_PREFIX "ABCDEFGH", 16);
		at = file.len;
		forge_block(&file, other, 0, 1, 2);
		check_as(&file, at, version);
		memcpy(file.data + at + 6, marker, 16);
		read_bytes(&file, false, false, &out);
		ck_assert_uint_eq(out.notes, version == 1 ? 2 : 0);
		/* Its own block is read, whatever the version. */
		file.len = at;
		forge_block(&file, marker, 0, 1, 2);
		check_as(&file, at, version);
		read_bytes(&file, false, false, &out);
		ck_assert_uint_eq(out.notes, 2);
	}
	buf_release(&file);
}
END_TEST

START_TEST(lost_header_is_salvaged)
{
	unsigned char marker[16];
	struct buf file = BUF_INIT;
	struct outcome out;

	forge_header(&file, 1, marker);
	forge_block(&file, marker, 0, 1, 3);
	forge_block(&file, marker, 1, 4, 3);
	file.data[20] ^= 1;
	read_bytes(&file, false, false, &out);
	ck_assert(!out.opened);
	ck_assert(strstr(out.err.text, "header") && strstr(out.err.text, "--salvage"));
	read_bytes(&file, true, false, &out);
	ck_assert(out.opened && !out.failed);
	ck_assert_uint_eq(out.notes, 6);
	/* Without its first bytes it begins in the middle of nothing. */
	memmove(file.data, file.data + 10, file.len - 10);
	file.len -= 10;
	read_bytes(&file, true, false, &out);
	ck_assert_uint_eq(out.notes, 6);
	buf_release(&file);
}
END_TEST

/* A recorded row may hold a whole trace; scanning must not take its blocks for ours. */
START_TEST(traces_inside_traces)
{
	unsigned char marker[16], other[16];
	struct buf file = BUF_INIT, inner = BUF_INIT, body = BUF_INIT;
	struct record_block info = {.block = 1, .producer = 1};
	struct record_cluster blob = {.seq = 4};
	size_t spoil;
	struct outcome out;

	memcpy(other, TRACE_MARKER_PREFIX "otherone", 16);
	forge_block(&inner, other, 0, 50, 5);
	forge_header(&file, 1, marker);
	forge_block(&file, marker, 0, 1, 3);
	record_block_pack(&body, &info);
	blob.detail = buf_span(&inner);
	record_cluster_pack(&body, &blob);
	spoil = file.len + 40;
	forge_frame(&file, marker, TRACE_EXT_RAW, 2, buf_span(&body));
	forge_block(&file, marker, 2, 10, 3);
	file.data[spoil] ^= 1;
	read_bytes(&file, true, false, &out);
	ck_assert_uint_eq(out.notes, 6);
	buf_release(&file);
	buf_release(&inner);
	buf_release(&body);
}
END_TEST

/* Millions of false block starts, each claiming 80 MB: scanning gives up in time and says so. */
START_TEST(scanning_is_bounded)
{
	unsigned char marker[16];
	struct buf file = BUF_INIT;
	struct outcome out;

	forge_header(&file, 1, marker);
	for (int i = 0; i < 200000; i++) {
		char head[30] = {(char)0xc9, 0, 0x2f, (char)0xff, (char)0xff, 1};

		memcpy(head + 6, marker, 16);
		buf_add(&file, head, sizeof(head));
	}
	read_bytes(&file, true, false, &out);
	ck_assert_uint_eq(out.notes, 0);
	ck_assert_uint_eq(out.damage_count, 1);
	ck_assert_msg(
		strstr(out.damage[0].cause, "too many false blocks"), "%s", out.damage[0].cause);
	buf_release(&file);
}
END_TEST

/* One producer a block: the merge has a limit of streams, and no record is lost by it. */
START_TEST(many_producers)
{
	unsigned char marker[16];
	struct buf file = BUF_INIT;
	struct outcome out;

	forge_header(&file, 1, marker);
	for (uint32_t i = 0; i < 5000; i++) {
		struct buf body = BUF_INIT;

		/* All watermarks zero: the window can never be emptied by them. */
		forge_body(&body, i, i, 20000 - 2 * i, 0, 2);
		forge_frame(&file, marker, TRACE_EXT_RAW, 3, buf_span(&body));
		buf_release(&body);
	}
	read_bytes(&file, false, true, &out);
	ck_assert(!out.failed);
	ck_assert_uint_eq(out.notes, 10000);
	ck_assert_uint_gt(out.totals.out_of_order, 0);
	buf_release(&file);
}
END_TEST

/* ---- no traces ---- */

START_TEST(other_files_are_named)
{
	static const struct {
		struct span bytes;
		const char *what, *advice;
	} cases[] = {
		{{"", 0}, "is empty", "the recorder wrote nothing"},
		{{"\x1f\x8b\x08\0\0\0\0\0", 8}, "gzip", "zcat"},
		{{"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello", 14}, "zstd", "zstdcat"},
		{{"hello, this is text\n", 20}, "text", "isotrace import"},
		{{"{\"kind\":\"stmt\"}\n", 16}, "text", "isotrace import"},
		{{"\xd4\xc3\xb2\xa1\2\0\4\0", 8}, "pcap", "isorec proxy"},
		{{"\x0a\x0d\x0d\x0a\0\0\0\0", 8}, "pcapng", "isorec proxy"},
		{{"\xfe"
		  "bin\0\0\0\0\x0f",
			 9},
			"binary log", "isorec proxy"},
		{{"\x83\xa1"
		  "a\1\xa1"
		  "b\2\xa1"
		  "c\3",
			 10},
			"binary data", "name a trace"},
		{{"\x7f"
		  "ELF\2\1\1\0",
			 8},
			"program", "name a trace"},
		{{"\x89"
		  "ITR",
			 4},
			"binary data", "name a trace"},
	};
	struct outcome out;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf bytes = BUF_INIT;

		buf_add_span(&bytes, cases[i].bytes);
		read_bytes(&bytes, false, false, &out);
		ck_assert(!out.opened);
		ck_assert_msg(strstr(out.err.text, cases[i].what) &&
				      strstr(out.err.text, cases[i].advice) &&
				      strstr(out.err.text, "is no isotrace trace"),
			"case %zu: %s", i, out.err.text);
		read_bytes(&bytes, true, false, &out);
		ck_assert_msg(!out.opened, "case %zu", i);
		ck_assert_str_ne(out.err.text, "");
		buf_release(&bytes);
	}
	read_path("/no/such/file.itr", NULL, &out);
	ck_assert(!out.opened && out.err.errnum);
}
END_TEST

/* ---- directories ---- */

static void store_segment(const char *dir, const char *name, uint32_t segment, uint8_t id,
	uint64_t first_seq, bool footer)
{
	struct trace_header header = {.version = TRACE_VERSION, .segment = segment};
	struct buf file = BUF_INIT, body = BUF_INIT;
	struct record_block info = {.block = 1};
	struct record_footer end = {.seq = first_seq + 3, .blocks = 1, .records = 3};
	char *path = temp_path(dir, name);

	memcpy(header.marker, TRACE_MARKER_PREFIX "12345678", 16);
	memset(header.trace_id, id, 16);
	trace_header_pack(&file, &header);
	forge_block(&file, header.marker, 0, first_seq, 3);
	if (footer) {
		record_block_pack(&body, &info);
		record_footer_pack(&body, &end);
		forge_frame(&file, header.marker, TRACE_EXT_RAW, 2, buf_span(&body));
	}
	file_store(path, file.data, file.len);
	buf_release(&file);
	buf_release(&body);
	free(path);
}

static void read_dir(const char *dir, bool salvage, struct outcome *out)
{
	struct trace_reader_options options = {.salvage = salvage};

	read_path(dir, &options, out);
}

START_TEST(directories_read_as_one_trace)
{
	struct outcome out;
	char *dir = temp_dir(), *path;

	read_dir(dir, false, &out);
	ck_assert(!out.opened && strstr(out.err.text, "without segments"));
	/* Order by number, also past six digits and whatever the names. */
	store_segment(dir, "1000000.itr", 3, 1, 21, true);
	store_segment(dir, "999999.itr", 2, 1, 11, true);
	store_segment(dir, "renamed.itr", 1, 1, 1, true);
	path = temp_path(dir, "notes.txt");
	file_store(path, "x", 1); /* not ours */
	free(path);
	read_dir(dir, false, &out);
	ck_assert_msg(out.opened && !out.failed, "%s", out.err.text);
	ck_assert_uint_eq(out.notes, 9);
	ck_assert_uint_eq(out.seqs[3], 11);
	ck_assert_uint_eq(out.totals.segments, 3);
	ck_assert(out.totals.clean);
	temp_dir_remove(dir);
}
END_TEST

START_TEST(directories_with_faults)
{
	struct outcome out;
	char *dir = temp_dir(), *path;

	/* 1, 3: one is missing. */
	store_segment(dir, "000001.itr", 1, 1, 1, true);
	store_segment(dir, "000003.itr", 3, 1, 21, true);
	read_dir(dir, false, &out);
	ck_assert(out.failed && strstr(out.err.text, "segment 2 is missing"));
	ck_assert_uint_eq(out.notes, 3);
	read_dir(dir, true, &out);
	ck_assert_uint_eq(out.notes, 6);
	ck_assert(strstr(out.damage[0].cause, "segment 2 is missing"));
	/* 3 alone: reported, and read. */
	path = temp_path(dir, "000001.itr");
	ck_assert_int_eq(unlink(path), 0);
	free(path);
	read_dir(dir, false, &out);
	ck_assert(!out.failed && !out.totals.clean);
	ck_assert_uint_eq(out.notes, 3);
	ck_assert(strstr(out.damage[0].cause, "segments 1 to 2 are not there"));
	/* Another trace's beside it. */
	store_segment(dir, "000004.itr", 4, 2, 31, true);
	read_dir(dir, false, &out);
	ck_assert(!out.opened && strstr(out.err.text, "different traces") &&
		  strstr(out.err.text, "000004.itr"));
	read_dir(dir, true, &out);
	ck_assert_uint_eq(out.notes, 3);
	ck_assert(strstr(out.damage[1].cause, "belongs to another trace"));
	/* The same number twice. */
	store_segment(dir, "000004.itr", 3, 1, 31, true);
	read_dir(dir, false, &out);
	ck_assert(out.failed && strstr(out.err.text, "segment 3 follows segment 3"));
	/* A last segment that a killed recorder had just begun: empty, or half a header. */
	path = temp_path(dir, "000004.itr");
	file_store(path, "", 0);
	read_dir(dir, false, &out);
	ck_assert(!out.failed && !out.totals.clean);
	ck_assert_uint_eq(out.notes, 3);
	file_store(path, "\x8a\xa5magic\xa8isotr", 13);
	read_dir(dir, false, &out);
	ck_assert(!out.failed && !out.totals.clean);
	ck_assert_uint_eq(out.totals.bytes_torn, 13);
	free(path);
	temp_dir_remove(dir);
}
END_TEST

/* cat *.itr | isotrace ... - */
START_TEST(strung_segments_read_as_one_trace)
{
	struct buf all = BUF_INIT;
	char *dir = temp_dir();
	struct outcome out;

	for (uint32_t i = 1; i <= 3; i++) {
		char *path = temp_path(dir, "x.itr");
		struct buf one;

		store_segment(dir, "x.itr", i, 1, i * 10, true);
		one = file_load(path);
		buf_add_span(&all, buf_span(&one));
		buf_release(&one);
		free(path);
	}
	read_bytes(&all, false, true, &out);
	ck_assert(out.opened && !out.failed);
	ck_assert_uint_eq(out.notes, 9);
	ck_assert_uint_eq(out.totals.segments, 3);
	ck_assert(out.totals.clean);
	ck_assert_uint_eq(out.totals.bytes_file, all.len);
	buf_release(&all);
	temp_dir_remove(dir);
}
END_TEST

/* ---- pipes that give little at a time ---- */

struct dribble {
	int fd;
	struct buf bytes;
};

static void *dribble(void *arg)
{
	struct dribble *d = arg;

	for (size_t at = 0; at < d->bytes.len;) {
		size_t n = 1 + at % 37;

		if (n > d->bytes.len - at)
			n = d->bytes.len - at;
		if (write(d->fd, d->bytes.data + at, n) != (ssize_t)n)
			abort();
		at += n;
	}
	close(d->fd);
	return NULL;
}

START_TEST(standard_input_in_small_pieces)
{
	struct dribble d = {.bytes = BUF_INIT};
	unsigned char marker[16];
	struct outcome out;
	pthread_t thread;
	int fds[2];

	forge_header(&d.bytes, 1, marker);
	for (uint64_t i = 0; i < 50; i++)
		forge_block(&d.bytes, marker, i, 1 + 5 * i, 5);
	buf_add_str(&d.bytes, "\xc9");
	ck_assert_int_eq(pipe(fds), 0);
	ck_assert_int_ge(dup2(fds[0], STDIN_FILENO), 0);
	close(fds[0]);
	d.fd = fds[1];
	ck_assert_int_eq(pthread_create(&thread, NULL, dribble, &d), 0);
	read_path("-", NULL, &out);
	pthread_join(thread, NULL);
	ck_assert(out.opened && !out.failed);
	ck_assert_uint_eq(out.notes, 250);
	ck_assert_uint_eq(out.totals.bytes_torn, 1);
	ck_assert_str_eq(out.damage[0].segment == NULL ? "" : out.damage[0].cause,
		"the segment ends inside a block's head");
	buf_release(&d.bytes);
}
END_TEST

UNIT_MAIN("trace_reader", sound_forgery_reads, forged_compression, forged_counts_and_records,
	block_reading_keeps_the_good_part, block_numbers_are_checked, nothing_follows_the_footer,
	newer_traces_are_read_as_far_as_possible, headers_of_other_versions, grafted_blocks_are_refused,
	blocks_shrink_so_far_at_most,
	lost_header_is_salvaged, traces_inside_traces, scanning_is_bounded, many_producers,
	other_files_are_named, directories_read_as_one_trace, directories_with_faults,
	strung_segments_read_as_one_trace, standard_input_in_small_pieces)
