/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/trace_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

/* Damage is reported line by line up to this many; then only counted. */
enum { DAMAGE_LINES_MAX = 10 };

bool source_open(struct trace_source *source, const char *path, bool salvage, bool ordered,
	int progress, bool result_scrolls, enum exit_status *status)
{
	const struct trace_reader_options options = {.salvage = salvage, .ordered = ordered};
	const struct trace_header *header;

	*source = (struct trace_source){.path = path, .salvage = salvage, .end = TRACE_NEXT_OK};
	err_clear(&source->err);
	source->reader = trace_reader_open(path, &options, &source->err);
	if (!source->reader) {
		output_message("%s", source->err.text);
		*status = err_exit_status(&source->err);
		return false;
	}
	header = trace_reader_header(source->reader);
	source->mono_ns = header->clock_mono_ns;
	source->wall_ns = header->clock_wall_ns;
	progress_begin(&source->progress, progress, "reading", result_scrolls);
	return true;
}

bool source_next(struct trace_source *source, struct trace_item *item)
{
	if (source->progress.on && source->items % 1024 == 0) {
		uint64_t done, all;

		trace_reader_progress(source->reader, &done, &all);
		progress_update(&source->progress, done, all);
	}
	source->end = trace_next_item(source->reader, item, &source->err);
	if (source->end != TRACE_NEXT_OK)
		return false;
	source->items++;
	return true;
}

static void report_damage(const struct trace_source *source)
{
	const struct trace_damage *damage;
	size_t count = trace_reader_damage(source->reader, &damage);

	for (size_t i = 0; i < count && i < DAMAGE_LINES_MAX; i++) {
		/* The damage that ended the reading is reported by the error. */
		if (source->end == TRACE_NEXT_ERROR && i + 1 == count &&
			damage[i].offset == source->err.offset)
			continue;
		output_message("%s: %s at byte %" PRIu64 ": %" PRIu64 " bytes not read: %s",
			damage[i].segment, damage[i].torn_tail ? "torn tail" : "damage",
			damage[i].offset, damage[i].size, damage[i].cause);
	}
	if (count > DAMAGE_LINES_MAX)
		output_message(
			"%s: %zu more damaged places", source->path, count - DAMAGE_LINES_MAX);
}

enum exit_status source_finish(struct trace_source *source)
{
	struct trace_totals totals;

	progress_end(&source->progress);
	/* A command that stopped early did not see the end, and says nothing about it. */
	if (source->end == TRACE_NEXT_OK)
		return EXIT_STATUS_OK;
	report_damage(source);
	if (source->end == TRACE_NEXT_ERROR) {
		output_message("%s", source->err.text);
		return source->err.code == ERR_FORMAT ? EXIT_STATUS_INCOMPLETE
						      : err_exit_status(&source->err);
	}
	trace_reader_totals(source->reader, &totals);
	if (totals.removed_records)
		output_message("%s: the limit on the total size removed %" PRIu64 " records",
			source->path, totals.removed_records);
	if (totals.lost_records > totals.removed_records)
		output_message("%s: the recorder lost %" PRIu64
			       " records: see the gaps in 'isotrace "
			       "show'",
			source->path, totals.lost_records - totals.removed_records);
	if (totals.clean && !totals.lost_records)
		return EXIT_STATUS_OK;
	if (!totals.has_footer && !totals.bytes_damaged && !totals.bytes_torn)
		output_message(
			"%s: the trace has no footer: the recording was cut short, or is still "
			"running",
			source->path);
	return EXIT_STATUS_INCOMPLETE;
}

void source_close(struct trace_source *source)
{
	trace_reader_close(source->reader);
	source->reader = NULL;
}

uint64_t source_wall_ns(const struct trace_source *source, uint64_t at)
{
	/* Unsigned arithmetic: also right for moments before the anchor. */
	return source->wall_ns + (at - source->mono_ns);
}

void source_json(struct json *json, const struct trace_source *source)
{
	const struct trace_header *header = trace_reader_header(source->reader);
	char text[CLOCK_RFC3339_SIZE];
	char id[2 * sizeof(header->trace_id) + 1];

	for (size_t i = 0; i < sizeof(header->trace_id); i++)
		snprintf(id + 2 * i, 3, "%02x", header->trace_id[i]);
	json_begin_object(json);
	json_key(json, "path");
	json_string(json, span_str(source->path));
	json_key(json, "trace_id");
	json_str(json, id);
	json_key(json, "version");
	json_uint(json, header->version);
	json_key(json, "recorder");
	json_string(json, header->recorder_ref);
	json_key(json, "mono_ns");
	json_uint(json, source->mono_ns);
	json_key(json, "wall_ns");
	json_uint(json, source->wall_ns);
	json_key(json, "wall");
	json_str(json, clock_rfc3339(source->wall_ns, text));
	json_end_object(json);
}

static void damage_json(struct json *json, const struct trace_source *source)
{
	const struct trace_damage *damage;
	size_t count = trace_reader_damage(source->reader, &damage);

	json_begin_array(json);
	for (size_t i = 0; i < count; i++) {
		json_begin_object(json);
		json_key(json, "segment");
		json_string(json, span_str(damage[i].segment));
		json_key(json, "offset");
		json_uint(json, damage[i].offset);
		json_key(json, "size");
		json_uint(json, damage[i].size);
		json_key(json, "torn_tail");
		json_bool(json, damage[i].torn_tail);
		json_key(json, "cause");
		json_str(json, damage[i].cause);
		json_end_object(json);
	}
	json_end_array(json);
}

void source_evidence_json(struct json *json, const struct trace_source *source)
{
	struct trace_totals totals;

	trace_reader_totals(source->reader, &totals);
	json_key(json, "evidence");
	json_begin_object(json);
	json_key(json, "read_to_the_end");
	json_bool(json, source->end == TRACE_NEXT_END);
	json_key(json, "clean");
	json_bool(json, source->end == TRACE_NEXT_END && totals.clean);
	json_key(json, "error");
	if (source->end == TRACE_NEXT_ERROR)
		json_str(json, source->err.text);
	else
		json_null(json);
	json_key(json, "segments");
	json_uint(json, totals.segments);
	json_key(json, "blocks");
	json_uint(json, totals.blocks);
	json_key(json, "records");
	json_uint(json, totals.records);
	json_key(json, "bytes_file");
	json_uint(json, totals.bytes_file);
	json_key(json, "bytes_raw");
	json_uint(json, totals.bytes_raw);
	json_key(json, "bytes_damaged");
	json_uint(json, totals.bytes_damaged);
	json_key(json, "bytes_torn");
	json_uint(json, totals.bytes_torn);
	json_key(json, "lost_records");
	json_uint(json, totals.lost_records);
	json_key(json, "out_of_order");
	json_uint(json, totals.out_of_order);
	json_key(json, "damage");
	damage_json(json, source);
	json_end_object(json);
}
