/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace that a command reads: opening it, progress, and at the end an honest word about how
 * complete it was.  Messages and exit status are the same for all commands.
 */
#ifndef COMMANDS_TRACE_INPUT_H
#define COMMANDS_TRACE_INPUT_H

#include "base/json.h"
#include "base/options.h"
#include "base/output.h"
#include "trace/reader.h"

struct trace_source {
	struct trace_reader *reader;
	const char *path;
	struct progress progress;
	struct err err;
	enum trace_next
		end; /* how the reading ended: END or ERROR; OK when the command stopped it */
	uint64_t mono_ns, wall_ns; /* the anchor of the first segment: one moment, both clocks */
	uint64_t items;
	bool salvage;
};

/* False: it was said why, exit with *status. */
bool source_open(struct trace_source *source, const char *path, bool salvage, bool ordered,
	int progress, bool result_scrolls, enum exit_status *status) MUST_CHECK;
/* False at the end, or where the trace is damaged; source_finish knows. */
bool source_next(struct trace_source *source, struct trace_item *item) MUST_CHECK;
/* Says on standard error what is damaged, torn or lost; returns the exit status. */
enum exit_status source_finish(struct trace_source *source);
void source_close(struct trace_source *source);

/* A moment of the trace on the wall clock. */
uint64_t source_wall_ns(const struct trace_source *source, uint64_t at);
/* Keys of the object "input": which trace this is. */
void source_json(struct json *json, const struct trace_source *source);
/* Key "evidence": how complete the trace was. */
void source_evidence_json(struct json *json, const struct trace_source *source);

/* --salvage, a bool of the command's options. */
#define SALVAGE_OPTION(struct_type, member)                                                        \
	{                                                                                          \
		.name = "salvage", OPTION_FLAG(struct_type, member),                               \
		.help = "step over damage in the middle of a trace instead of ending there"        \
	}

#endif
