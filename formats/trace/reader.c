/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a trace, in three layers:
 * - frames: segments, headers, block frames, checksums, scanning after damage (segment_begin,
 *   frame_check, frame_scan, next_frame);
 * - blocks: decompression, the block record, block numbers, footers (block_decode,
 *   reader_next_block);
 * - items.c: records in file order, or merged by seq.
 *
 * Nothing is decoded before its checksum was found right; nothing is allocated by what an unchecked
 * length says.  What a checksum covers may still be forged, so the layers above trust no value.
 */
#include "trace/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/mem.h"
#include "trace/format.h"
#include "trace/frame.h"
#include "trace/reader_internal.h"

enum { DAMAGE_KEPT_MAX = 1000 };
#define ORDER_BYTES_DEFAULT ((size_t)256 * 1024 * 1024)
/* How much may be checksummed in vain while scanning: so many times the bytes scanned, and this. */
enum { SCAN_FACTOR = 16, SCAN_FREE = 256 * 1024 * 1024 };

/* ---- damage ---- */

static const char *segment_name(const struct trace_reader *reader)
{
	return reader->input.segments[reader->input.current].name;
}

PRINTF_LIKE(5, 6)
static struct trace_damage *note_damage(struct trace_reader *reader, uint64_t offset, uint64_t size,
	bool torn, const char *fmt, ...)
{
	struct trace_damage *damage;
	va_list ap;

	reader->totals.damages++;
	reader->totals.bytes_damaged += torn ? 0 : size;
	reader->totals.bytes_torn += torn ? size : 0;
	reader->torn_seen |= torn;
	if (reader->damage_count == DAMAGE_KEPT_MAX)
		return NULL;
	MEM_RESERVE(reader->damage, reader->damage_count + 1, reader->damage_capacity);
	damage = &reader->damage[reader->damage_count++];
	damage->segment = segment_name(reader);
	damage->offset = offset;
	damage->size = size;
	damage->torn_tail = torn;
	va_start(ap, fmt);
	vsnprintf(damage->cause, sizeof(damage->cause), fmt, ap);
	va_end(ap);
	return damage;
}

enum trace_next reader_damaged(struct trace_reader *reader, struct err *err, uint64_t offset,
	uint64_t size, const char *fmt, ...)
{
	char cause[160];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cause, sizeof(cause), fmt, ap);
	va_end(ap);
	note_damage(reader, offset, size, false, "%s", cause);
	if (reader->options.salvage)
		return TRACE_NEXT_OK;
	err_set_at(err, ERR_FORMAT, offset,
		"%s is damaged at byte %" PRIu64
		": %s. Use --salvage to read the sound records after it",
		segment_name(reader), offset, cause);
	reader->ended = true;
	return TRACE_NEXT_ERROR;
}

/* ---- frames ---- */

/* Looks at the block frame at the window's start; its size in *size when it is sound.  Else NULL is
 * not returned but the cause, in `text` where it has numbers. */
static const char *frame_check(
	struct trace_reader *reader, size_t *size, uint64_t *checksummed, char text[96])
{
	struct input *input = &reader->input;
	const size_t head = TRACE_EXT_HEAD_SIZE + TRACE_BLOCK_HEAD_SIZE;
	size_t left = input_need(input, head);
	const unsigned char *p = input_bytes(input);
	uint64_t length;

	if (left >= 1 && p[0] != 0xc9) {
		snprintf(text, 96, "no block begins here (byte 0x%02x)", p[0]);
		return text;
	}
	if (left < head)
		return "the segment ends inside a block's head";
	length = mp_load_be(p + 1, 4);
	if (length < TRACE_BLOCK_HEAD_SIZE || length > TRACE_BLOCK_STORED_MAX) {
		snprintf(text, 96, "a block's length is impossible (%" PRIu64 " bytes)", length);
		return text;
	}
	if (memcmp(p + TRACE_EXT_HEAD_SIZE, reader->header.marker,
		    reader->marker_known ? TRACE_MARKER_SIZE : TRACE_MARKER_PREFIX_SIZE) != 0)
		return "a block's marker is wrong";
	*size = TRACE_EXT_HEAD_SIZE + (size_t)length;
	left = input_need(input, *size);
	p = input_bytes(input);
	if (left < *size) {
		snprintf(
			text, 96, "a block of %zu bytes, of which only %zu are there", *size, left);
		return text;
	}
	*checksummed += length;
	if (!frame_is_sound(p, *size, reader->header_known ? reader->header.version : 0))
		return "a block's checksum does not match";
	if (p[5] != TRACE_EXT_ZSTD && p[5] != TRACE_EXT_RAW) {
		snprintf(text, 96, "a block of unknown type %d, perhaps of a newer isorec", p[5]);
		return text;
	}
	return NULL;
}

/* Moves the window to the next sound block after its start.  False: there is none, and the window
 * is at the end of the segment. */
static bool frame_scan(struct trace_reader *reader, bool *gave_up)
{
	struct input *input = &reader->input;
	uint64_t scanned_from = input->offset, checksummed = 0;
	const size_t match = reader->marker_known ? TRACE_MARKER_SIZE : TRACE_MARKER_PREFIX_SIZE;
	const void *marker = reader->marker_known ? (const void *)reader->header.marker
						  : (const void *)TRACE_MARKER_PREFIX;

	*gave_up = false;
	if (input_need(input, 1))
		input_skip(input, 1);
	for (;;) {
		size_t left = input_need(input, TRACE_EXT_HEAD_SIZE + match), size;
		const unsigned char *p = input_bytes(input), *found;
		uint64_t limit = SCAN_FREE + SCAN_FACTOR * (input->offset - scanned_from);
		char text[96];

		if (left < TRACE_EXT_HEAD_SIZE + match) {
			input_skip(input, left);
			return false;
		}
		found = memmem(p + TRACE_EXT_HEAD_SIZE, left - TRACE_EXT_HEAD_SIZE, marker, match);
		if (!found) {
			input_skip(input, left - (TRACE_EXT_HEAD_SIZE + match - 1));
			continue;
		}
		input_skip(input, (size_t)(found - p) - TRACE_EXT_HEAD_SIZE);
		if (checksummed > limit)
			*gave_up = true;
		else if (!frame_check(reader, &size, &checksummed, text))
			return true;
		input_skip(input, 1);
	}
}

static void segment_reset(struct trace_reader *reader)
{
	memset(&reader->header, 0, sizeof(reader->header));
	memcpy(reader->header.marker, TRACE_MARKER_PREFIX, TRACE_MARKER_PREFIX_SIZE);
	reader->header_known = reader->marker_known = false;
	reader->footer_seen = reader->torn_seen = false;
	reader->block_next = 0;
	reader->after_damage = false;
	reader->missing_count = 0;
	reader->segment_records = 0;
	reader->segment_damage = reader->totals.damages;
	reader->totals.segments++;
}

/* Takes the header at the window's start, keeping a copy of its bytes. */
static enum header_result take_header(struct trace_reader *reader, const char **cause)
{
	struct input *input = &reader->input;
	enum header_result result;
	size_t size = 0;

	*cause = "the segment ends inside its header";
	do {
		struct span bytes = span_of(input_bytes(input), input_left(input));

		result = trace_header_parse(bytes, &reader->header, &size, cause);
	} while (result == HEADER_SHORT && input_more(input));
	if (result != HEADER_OK) {
		uint32_t version = reader->header.version;

		memset(&reader->header, 0, sizeof(reader->header));
		memcpy(reader->header.marker, TRACE_MARKER_PREFIX, TRACE_MARKER_PREFIX_SIZE);
		reader->header.version = version;
		if (result == HEADER_SHORT)
			*cause = "the segment ends inside its header";
		return result;
	}
	buf_clear(&reader->header_bytes);
	buf_add(&reader->header_bytes, input_bytes(input), size);
	(void)trace_header_parse(buf_span(&reader->header_bytes), &reader->header, &size, cause);
	input_skip(input, size);
	reader->header_known = reader->marker_known = true;
	return HEADER_OK;
}

/* Does this segment follow the one before?  Says so where it does not. */
static enum trace_next check_succession(struct trace_reader *reader, struct err *err)
{
	const struct trace_header *header = &reader->header;
	uint32_t last = reader->segment_last, number = header->segment;
	enum trace_next next = TRACE_NEXT_OK;

	if (!reader->trace_id_known) {
		memcpy(reader->trace_id, header->trace_id, sizeof(reader->trace_id));
		reader->trace_id_known = true;
	} else if (memcmp(reader->trace_id, header->trace_id, sizeof(reader->trace_id)) != 0) {
		uint64_t at = reader->input.done;
		uint64_t size = reader->input.segments[reader->input.current].size;

		/* Its sessions and transactions have the same numbers, and are others. */
		note_damage(reader, at, size > at ? size - at : 0, false,
			"another trace begins here, and was left out with all that follows");
		if (reader->options.salvage)
			return TRACE_NEXT_END;
		err_set_at(err, ERR_FORMAT, at,
			"%s holds several traces: another one begins at byte %" PRIu64
			". Put each into a file of its own, or use --salvage to read the first",
			segment_name(reader), at);
		reader->ended = true;
		return TRACE_NEXT_ERROR;
	}
	if (next == TRACE_NEXT_OK && last && number != last + 1) {
		reader->complete_before = false;
		if (number <= last)
			next = reader_damaged(
				reader, err, 0, 0, "segment %u follows segment %u", number, last);
		else if (number == last + 2)
			next = reader_damaged(reader, err, 0, 0,
				"segment %u is missing before this one", last + 1);
		else
			next = reader_damaged(reader, err, 0, 0,
				"segments %u to %u are missing before this one", last + 1,
				number - 1);
	} else if (!last && number > 1) {
		/* Reported, but no reason to stop: --max-total removes the oldest ones. */
		reader->complete_before = false;
		note_damage(reader, 0, 0, false,
			"segments 1 to %u are not there (removed by the limit on the total size, "
			"or "
			"not copied)",
			number - 1);
	}
	reader->segment_last = number;
	return next;
}

static void set_not_a_trace(struct trace_reader *reader, struct err *err)
{
	struct input *input = &reader->input;
	size_t left = input_need(input, 512);
	const char *advice;
	const char *what = input_looks_like(span_of(input_bytes(input), left), &advice);

	err_set_at(err, left ? ERR_FOREIGN : ERR_EMPTY, input->offset,
		"%s is no isotrace trace: it %s %s (at byte %" PRIu64 "); %s", segment_name(reader),
		left ? "looks like" : "is", what, input->offset, advice);
}

/* Says what is wrong with a header that cannot be used. */
static enum trace_next bad_header(
	struct trace_reader *reader, enum header_result result, const char *cause, struct err *err)
{
	struct input *input = &reader->input;
	bool first = input->current == 0 && reader->totals.segments == 1;
	uint64_t offset = input->offset;
	bool gave_up, found;

	if (result == HEADER_NEWER) {
		err_set_at(err, ERR_UNSUPPORTED, offset,
			"%s is a trace of format version %u; this program reads up to version %d. "
			"Use "
			"an isotrace as new as the isorec that recorded it",
			segment_name(reader), reader->header.version, TRACE_VERSION);
		reader->ended = true;
		return TRACE_NEXT_ERROR;
	}
	if (result == HEADER_NONE)
		cause = "no header begins here";
	if (first && !reader->options.salvage) {
		if (result == HEADER_NONE || input_left(input) == 0)
			set_not_a_trace(reader, err);
		else
			err_set_at(err, ERR_FORMAT, offset,
				"%s is damaged at byte %" PRIu64
				": %s. Use --salvage to read the blocks that are sound",
				segment_name(reader), offset, cause);
		reader->ended = true;
		return TRACE_NEXT_ERROR;
	}
	found = frame_scan(reader, &gave_up);
	if (!found && first && input->count == 1 && !gave_up &&
		(result == HEADER_NONE || input->offset == 0)) {
		err_set_at(err, input->offset ? ERR_FOREIGN : ERR_EMPTY, offset,
			input->offset
				? "%s is no isotrace trace: it has neither a header nor any block"
				: "%s is no isotrace trace: it is empty",
			segment_name(reader));
		reader->ended = true;
		return TRACE_NEXT_ERROR;
	}
	reader->complete_before = false;
	reader->after_damage = true;
	if (input->segments[input->current].number)
		reader->segment_last = input->segments[input->current].number;
	if (!found) {
		note_damage(reader, offset, input->offset - offset, true, "%s", cause);
		return TRACE_NEXT_OK;
	}
	return reader_damaged(reader, err, offset, input->offset - offset, "%s", cause);
}

/* The window is at the start of a segment. */
static enum trace_next segment_begin(struct trace_reader *reader, struct err *err)
{
	enum header_result result;
	enum trace_next next;
	const char *cause;

	segment_reset(reader);
	result = take_header(reader, &cause);
	if (result == HEADER_OK) {
		next = check_succession(reader, err);
		reader->segment_damage = reader->totals.damages;
	} else {
		next = bad_header(reader, result, cause, err);
	}
	return next;
}

/* The segment is over: was that its end? */
static void segment_finish(struct trace_reader *reader)
{
	reader->totals.bytes_file += reader->input.offset;
	if (!reader->footer_seen && !reader->torn_seen)
		note_damage(reader, reader->input.offset, 0, true,
			"no footer: the recorder was killed, or is still writing");
	/* A segment that was read whole, with the context it began with, leaves nothing out. */
	reader->complete_before = reader->totals.damages == reader->segment_damage;
}

/* Opens the next file of a directory; END after the last. */
static enum trace_next next_segment(struct trace_reader *reader, struct err *err)
{
	struct input *input = &reader->input;

	while (input->current + 1 < input->count) {
		const struct input_segment *segment = &input->segments[input->current + 1];

		if (!input_select(input, input->current + 1, err)) {
			reader->ended = true;
			return TRACE_NEXT_ERROR;
		}
		reader->strung = 0;
		if (!segment->header_read || !reader->trace_id_known ||
			memcmp(segment->trace_id, reader->trace_id, sizeof(reader->trace_id)) == 0)
			return segment_begin(reader, err);
		/* Only with salvage: see check_directory. */
		note_damage(reader, 0, segment->size, false,
			"this segment belongs to another trace and was left out");
	}
	if (reader->footer_seen && reader->goes_on)
		note_damage(reader, input->offset, 0, true,
			"the trace continues in segment %u, which is missing",
			reader->segment_last + 1);
	return TRACE_NEXT_END;
}

/* The window stands at something that is no sound block. */
static enum trace_next frame_bad(struct trace_reader *reader, const char *cause, struct err *err)
{
	struct input *input = &reader->input;
	uint64_t offset = input->offset;
	char copy[128];
	bool gave_up, found;

	snprintf(copy, sizeof(copy), "%s", cause);
	found = frame_scan(reader, &gave_up);
	if (gave_up)
		snprintf(copy, sizeof(copy), "%s, and too many false blocks follow", cause);
	reader->after_damage = true;
	if (!found) {
		note_damage(reader, offset, input->offset - offset, true, "%s", copy);
		return TRACE_NEXT_OK;
	}
	return reader_damaged(reader, err, offset, input->offset - offset, "%s", copy);
}

/* Moves on to the next sound frame and says its size; END after the last segment. */
static enum trace_next next_frame(struct trace_reader *reader, size_t *size, struct err *err)
{
	struct input *input = &reader->input;

	if (reader->frame_used) {
		input_skip(input, reader->frame_used);
		reader->frame_used = 0;
	}
	for (;;) {
		enum trace_next next = TRACE_NEXT_OK;
		uint64_t checksummed = 0;
		const char *cause;
		char text[96];

		if (input_need(input, 1) == 0) {
			if (input->failure.code != ERR_NONE) {
				*err = input->failure;
				reader->ended = true;
				return TRACE_NEXT_ERROR;
			}
			segment_finish(reader);
			next = next_segment(reader, err);
		} else if (reader->footer_seen && *input_bytes(input) != 0xc9) {
			/* Segments that were strung together: cat *.itr | isotrace ... - */
			segment_finish(reader);
			input->done += input->offset;
			reader->strung += input->offset;
			input->offset = 0;
			next = segment_begin(reader, err);
		} else if (!(cause = frame_check(reader, size, &checksummed, text))) {
			return TRACE_NEXT_OK;
		} else {
			next = frame_bad(reader, cause, err);
		}
		if (next != TRACE_NEXT_OK)
			return next;
	}
}

/* ---- blocks ---- */

/* The block's body, decompressed.  NULL, or the cause why not. */
static const char *body_decode(
	struct trace_reader *reader, const unsigned char *frame, size_t size, struct span *body)
{
	const size_t head = TRACE_EXT_HEAD_SIZE + TRACE_BLOCK_HEAD_SIZE;
	const char *cause;
	size_t content, n;

	*body = span_of(frame + head, size - head);
	if (frame[5] == TRACE_EXT_RAW)
		return NULL;
	cause = frame_content_size(
		frame, size, reader->header_known ? reader->header.version : 0, &content);
	if (cause)
		return cause;
	buf_clear(&reader->raw);
	n = ZSTD_decompressDCtx(reader->zstd, buf_reserve(&reader->raw, content), content, body->ptr,
		body->len);
	if (ZSTD_isError(n) || n != content)
		return "a block cannot be decompressed";
	reader->raw.len = n;
	*body = buf_span(&reader->raw);
	return NULL;
}

/* Fills `block` from the frame at the window's start.  NULL, or the cause why not. */
static const char *block_decode(struct trace_reader *reader, size_t size, struct trace_block *block)
{
	const unsigned char *frame = input_bytes(&reader->input);
	uint32_t kind = 0, left = 0;
	struct span body;
	struct mp mp;
	const char *cause = body_decode(reader, frame, size, &body);

	memset(block, 0, sizeof(*block));
	block->offset = reader->input.offset;
	if (cause)
		return cause;
	reader->body = (const unsigned char *)body.ptr;
	mp = mp_over(body);
	if (!record_begin(&mp, &kind, &left) || kind != RECORD_BLOCK ||
		!record_block_read(&mp, left, &block->info))
		return "a block does not begin with its block record";
	block->record_count = (uint32_t)mp_load_be(frame + TRACE_EXT_HEAD_SIZE + 20, 4);
	if (block->record_count == 0 || block->record_count - 1 > mp_left(&mp))
		return "a block's number of records is impossible";
	block->record_count--;
	block->records = span_of(mp.p, mp_left(&mp));
	return NULL;
}

/* Is the number one that was passed over?  Then it is not missing any more. */
static bool take_missing(struct trace_reader *reader, uint64_t number)
{
	for (size_t i = 0; i < reader->missing_count; i++) {
		struct missing *m = &reader->missing[i];

		if (number < m->first || number >= m->end)
			continue;
		if (reader->missing_count < MISSING_MAX)
			reader->missing[reader->missing_count++] =
				(struct missing){number + 1, m->end};
		m->end = number;
		return true;
	}
	/* With a full list nothing can be called a repetition. */
	return reader->missing_count == MISSING_MAX;
}

/* Compares the block's number with the expected one.  *skip: its records were given out before. */
static enum trace_next check_number(
	struct trace_reader *reader, const struct trace_block *block, bool *skip, struct err *err)
{
	uint64_t number = block->info.block, want = reader->block_next;
	bool explained = reader->after_damage;

	*skip = false;
	reader->after_damage = false;
	if (number == want) {
		reader->block_next++;
		return TRACE_NEXT_OK;
	}
	if (number < want) {
		*skip = !take_missing(reader, number);
		return reader_damaged(reader, err, block->offset, 0,
			*skip ? "block %" PRIu64 " comes a second time"
			      : "block %" PRIu64 " is out of place",
			number);
	}
	if (reader->missing_count < MISSING_MAX)
		reader->missing[reader->missing_count++] = (struct missing){want, number};
	reader->block_next = number == UINT64_MAX ? number : number + 1;
	if (explained) {
		struct trace_damage *last =
			reader->damage_count ? &reader->damage[reader->damage_count - 1] : NULL;

		if (last && last->offset + last->size == block->offset) {
			size_t used = strlen(last->cause);

			snprintf(last->cause + used, sizeof(last->cause) - used,
				" (%" PRIu64 " block%s lost)", number - want,
				number - want == 1 ? "" : "s");
		}
		return TRACE_NEXT_OK;
	}
	return reader_damaged(reader, err, block->offset, 0,
		"blocks %" PRIu64 " to %" PRIu64 " are missing before this one", want, number - 1);
}

/* A footer stands alone in its block.  True when this is one. */
static bool check_footer(struct trace_reader *reader, const struct trace_block *block)
{
	struct mp mp = mp_over(block->records);
	struct record_footer footer;
	uint32_t kind, left;

	if (block->record_count != 1 || !record_begin(&mp, &kind, &left) || kind != RECORD_FOOTER ||
		!record_footer_read(&mp, left, &footer))
		return false;
	if (reader->totals.damages == reader->segment_damage && reader->header_known &&
		(footer.blocks != block->info.block || footer.records != reader->segment_records))
		note_damage(reader, block->offset, 0, false,
			"the footer counts %" PRIu64 " blocks and %" PRIu64 " records, but %" PRIu64
			" and %" PRIu64 " are there",
			footer.blocks, footer.records, block->info.block, reader->segment_records);
	reader->footer_seen = true;
	reader->goes_on = span_eq_str(footer.reason, "rotated");
	return true;
}

/* The header is lost: a marker that two blocks in a row have is the segment's.  One is not enough,
 * it may be spoilt itself, for the checksum does not cover it. */
static void learn_marker(struct trace_reader *reader, const unsigned char *marker)
{
	if (memcmp(reader->header.marker, marker, TRACE_MARKER_SIZE) == 0)
		reader->marker_known = true;
	memcpy(reader->header.marker, marker, TRACE_MARKER_SIZE);
}

/* The next block whose records are to be given out. */
enum trace_next reader_next_block(
	struct trace_reader *reader, struct trace_block *block, struct err *err)
{
	for (;;) {
		enum trace_next next;
		const char *cause;
		bool skip = false;
		size_t size;

		if (reader->ended)
			return TRACE_NEXT_END;
		next = next_frame(reader, &size, err);
		if (next != TRACE_NEXT_OK) {
			reader->ended = true;
			return next;
		}
		reader->frame_used = size;
		if (!reader->marker_known)
			learn_marker(reader, input_bytes(&reader->input) + TRACE_EXT_HEAD_SIZE);
		cause = block_decode(reader, size, block);
		if (cause) {
			reader->after_damage = true;
			next = reader_damaged(reader, err, reader->input.offset, size, "%s", cause);
			if (next != TRACE_NEXT_OK)
				return next;
			continue;
		}
		if (reader->footer_seen)
			next = reader_damaged(
				reader, err, block->offset, 0, "a block after the footer");
		if (next == TRACE_NEXT_OK)
			next = check_number(reader, block, &skip, err);
		if (next != TRACE_NEXT_OK)
			return next;
		(void)check_footer(reader, block);
		reader->totals.blocks++;
		reader->totals.bytes_raw += block->records.len;
		reader->segment_records += block->record_count;
		/* What earlier segments said needs no repetition. */
		if (!skip && !(block->info.context && reader->complete_before))
			return TRACE_NEXT_OK;
	}
}

/* ---- opening, closing, asking ---- */

/* Segments of other traces in the directory are an error; with salvage they are left out. */
static bool check_directory(struct trace_reader *reader, const char *path, struct err *err)
{
	struct input *input = &reader->input;
	const struct input_segment *first = NULL;

	for (size_t i = 0; i < input->count; i++) {
		const struct input_segment *s = &input->segments[i];

		if (!s->header_read)
			continue;
		if (!first)
			first = s;
		if (memcmp(first->trace_id, s->trace_id, sizeof(s->trace_id)) != 0 &&
			!reader->options.salvage)
			return err_set(err, ERR_FORMAT,
				"%s holds segments of different traces (%s and %s): name one file, "
				"or all where several are taken (%s/*.itr), or put each trace into "
				"a directory of its own",
				path, first->name, s->name, path);
	}
	return true;
}

struct trace_reader *trace_reader_open(
	const char *path, const struct trace_reader_options *options, struct err *err)
{
	struct trace_reader *reader = mem_zero(1, sizeof(*reader));

	if (options)
		reader->options = *options;
	if (!reader->options.order_bytes_max)
		reader->options.order_bytes_max = ORDER_BYTES_DEFAULT;
	reader->complete_before = false;
	reader->zstd = mem_must(ZSTD_createDCtx());
	reader->input.fd = -1;
	if (input_open(&reader->input, path, err) && check_directory(reader, path, err) &&
		input_select(&reader->input, 0, err)) {
		enum trace_next next = segment_begin(reader, err);

		if (reader->input.failure.code != ERR_NONE)
			*err = reader->input.failure;
		else if (next == TRACE_NEXT_OK)
			return reader;
	}
	trace_reader_close(reader);
	return NULL;
}

void trace_reader_close(struct trace_reader *reader)
{
	if (!reader)
		return;
	reader_release_items(reader);
	input_release(&reader->input);
	ZSTD_freeDCtx(reader->zstd);
	buf_release(&reader->raw);
	buf_release(&reader->header_bytes);
	mem_free(reader->damage);
	mem_free(reader);
}

const struct trace_header *trace_reader_header(const struct trace_reader *reader)
{
	return &reader->header;
}

void trace_reader_totals(const struct trace_reader *reader, struct trace_totals *out)
{
	*out = reader->totals;
	out->lost_records += reader->removed_records;
	out->removed_records = reader->removed_records;
	out->has_footer = reader->ended && reader->footer_seen;
	if (!reader->ended)
		out->bytes_file += reader->input.offset;
	out->clean = reader->ended && reader->totals.damages == 0;
}

size_t trace_reader_damage(const struct trace_reader *reader, const struct trace_damage **out)
{
	*out = reader->damage;
	return reader->damage_count;
}

void trace_reader_progress(const struct trace_reader *reader, uint64_t *done, uint64_t *all)
{
	const struct input *input = &reader->input;

	*done = input->done + input->offset;
	*all = 0;
	for (size_t i = 0; i < input->count; i++)
		*all += input->segments[i].size;
}
